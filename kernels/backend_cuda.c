/* backend_cuda.c - the CUDA runtime that was linked and the GPUs it sees. */
#include "kernels/backend.h"

#include <cuda_runtime_api.h>

void ms_backend_cuda(struct ms_backend *out)
{
    int version = 0, n_gpus = 0;
    cudaError_t error = cudaGetDeviceCount(&n_gpus);
    *out = (struct ms_backend){.name = "cuda", .compiled_in = true};
    if (error != cudaSuccess)
        n_gpus = 0;
    cudaRuntimeGetVersion(&version); /* 1000 major + 10 minor; 0 if it fails */
    out->usable = n_gpus > 0;
    snprintf(out->detail, sizeof(out->detail), "CUDA runtime %d.%d, %d GPU%s%s%s%s", version / 1000,
             version % 1000 / 10, n_gpus, n_gpus == 1 ? "" : "s", error == cudaSuccess ? "" : " (",
             error == cudaSuccess ? "" : cudaGetErrorString(error),
             error == cudaSuccess ? "" : ")");
}
