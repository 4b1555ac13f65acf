/* backend_openblas_none.c - stands in for backend_openblas.c where the build has none. */
#include "kernels/backend.h"

void ms_backend_openblas(struct ms_backend *out)
{
    *out = (struct ms_backend){
        .name = "openblas",
        .detail = "not built in (configure with -Dopenblas=enabled; needs OpenBLAS, e.g. "
                  "libopenblas-dev)",
    };
}
