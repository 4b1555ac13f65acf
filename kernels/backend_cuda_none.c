/* backend_cuda_none.c - stands in for backend_cuda.c where the build has none. */
#include "kernels/backend.h"

void ms_backend_cuda(struct ms_backend *out)
{
    *out = (struct ms_backend){
        .name = "cuda",
        .detail = "not built in (configure with -Dcuda=enabled; needs the CUDA toolkit)",
    };
}
