/* backend.c - the list of backends and how it is printed; each backend is a file of its own. */
#include "kernels/backend.h"

void ms_backend_all(struct ms_backend out[MS_BACKEND_COUNT])
{
    static void (*const backends[MS_BACKEND_COUNT])(struct ms_backend *) = {
        ms_backend_cuda, ms_backend_mpi, ms_backend_openblas};
    for (int i = 0; i < MS_BACKEND_COUNT; i++)
        backends[i](&out[i]);
}

void ms_backend_print(struct ms_buf *out)
{
    struct ms_backend backends[MS_BACKEND_COUNT];
    ms_backend_all(backends);
    for (int i = 0; i < MS_BACKEND_COUNT; i++)
        ms_buf_printf(out, "%-8s  %s\n", backends[i].name, backends[i].detail);
}
