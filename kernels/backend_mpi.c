/* backend_mpi.c - the MPI library that was linked. The version may be asked for before MPI_Init. */
#include "kernels/backend.h"

#include <mpi.h>
#include <string.h>

void ms_backend_mpi(struct ms_backend *out)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    *out = (struct ms_backend){.name = "mpi", .compiled_in = true};
    out->usable = MPI_Get_library_version(version, &length) == MPI_SUCCESS;
    version[strcspn(version, ",\n")] = '\0'; /* some go on for lines with how they were built */
    snprintf(out->detail, sizeof(out->detail), "%.*s", MS_BACKEND_DETAIL_MAX - 1, version);
}
