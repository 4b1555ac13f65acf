/* backend_openblas.c - the OpenBLAS that was linked and the kernels it chose for this CPU. */
#include "kernels/backend.h"

#include <cblas.h>
#include <string.h>

void ms_backend_openblas(struct ms_backend *out)
{
    *out = (struct ms_backend){.name = "openblas", .compiled_in = true, .usable = true};
    snprintf(out->detail, sizeof(out->detail), "%.*s", MS_BACKEND_DETAIL_MAX - 1,
             openblas_get_config());
    for (size_t n = strlen(out->detail); n && out->detail[n - 1] == ' '; n--)
        out->detail[n - 1] = '\0';
}
