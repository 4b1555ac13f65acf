/* backend.h - which measuring backends this binary was built with, and whether they can run here.
 *
 * The backends run real kernels to fit and check the cost models: CUDA on GPUs, OpenBLAS and MPI on CPUs.
 * Each is compiled in or replaced by its backend_X_none.c; callers have no #ifdef. No GPU or no
 * driver is an answer, not an error. Thread-safe; no call initialises MPI or a CUDA context.
 */
#ifndef MS_KERNELS_BACKEND_H
#define MS_KERNELS_BACKEND_H

#include "base/buf.h"

#include <stdbool.h>

enum { MS_BACKEND_DETAIL_MAX = 160, MS_BACKEND_COUNT = 3 };

struct ms_backend {
    const char *name;                   /* "cuda", "mpi", "openblas" */
    bool compiled_in;                   /* false: `detail` says how to get it */
    bool usable;                        /* compiled in and able to run on this machine now */
    char detail[MS_BACKEND_DETAIL_MAX]; /* version and what was found, one line */
};

/* Fills `*out` for one backend. The sources: cudaGetDeviceCount, cudaRuntimeGetVersion,
 * MPI_Get_library_version, openblas_get_config. */
void ms_backend_cuda(struct ms_backend *out);
void ms_backend_mpi(struct ms_backend *out);
void ms_backend_openblas(struct ms_backend *out);

/* All of them, in the order of names above. */
void ms_backend_all(struct ms_backend out[MS_BACKEND_COUNT]);

/* Appends one line per backend, e.g. "cuda      CUDA runtime 13.0, 1 GPU". */
void ms_backend_print(struct ms_buf *out);

#endif
