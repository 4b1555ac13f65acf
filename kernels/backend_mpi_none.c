/* backend_mpi_none.c - stands in for backend_mpi.c where the build has none. */
#include "kernels/backend.h"

void ms_backend_mpi(struct ms_backend *out)
{
    *out = (struct ms_backend){
        .name = "mpi",
        .detail = "not built in (configure with -Dmpi=enabled; needs an MPI library, e.g. "
                  "libopenmpi-dev)",
    };
}
