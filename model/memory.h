/* memory.h - bytes on a GPU: weights, gradients, optimizer state, activations, buffers; per stage, for the
 * fullest rank of each.
 *
 * Peak = what the stage holds when most microbatches are in flight under its schedule. The hottest rank
 * of a stage holds `hottest_rank_load` times the mean of expert activations (1 for balanced routing).
 */
#ifndef MS_MODEL_MEMORY_H
#define MS_MODEL_MEMORY_H

#include "model/device.h"
#include "model/layout.h"

struct ms_memory_parts {
    double weights;     /* as trained: BF16 or FP8 copies of the parameters held on the GPU */
    double gradients;   /* accumulated gradients in the reduction format (FP32 or BF16) */
    double optimizer;   /* FP32 master weights, two moments, sharded by ZeRO over DP and EDP */
    double activations; /* kept for backward, all microbatches in flight */
    double buffers;     /* exchange and collective buffers, logits, one layer's temporaries */
    double reserve;     /* CUDA context, NCCL, allocator fragmentation, graphs */
};

struct ms_memory {
    double capacity_bytes;
    double peak_bytes;
    bool fits;
    int64_t stage;        /* of the fullest rank */
    int64_t rank;         /* first rank of that stage */
    struct ms_memory_parts parts; /* of that rank */
    double stage_peak_bytes[MS_CHUNKS_MAX]; /* [pp] */
};

/* Bytes of activations that one layer keeps for backward on one rank for one microbatch, after
 * recomputation. `expert_load` multiplies what is kept per expert assignment. */
double ms_memory_layer_activations(const struct ms_layout *layout, const struct ms_recipe *recipe,
                                   const struct ms_layer_kind *kind, double expert_load);

/* Parameters that one rank of `stage` holds, dense and expert apart, over all its chunks. */
struct ms_rank_params {
    double dense, expert;
};
struct ms_rank_params ms_memory_chunk_params(const struct ms_layout *layout,
                                             const struct ms_chunk *chunk);

/* Microbatch-chunks whose activations stage `stage` holds at the worst moment (1F1B: PP - stage;
 * interleaved: 2 (PP - stage - 1) + (VP - 1) PP + 1, plus 1 with EP overlap), at most all. Source:
 * Megatron-Core pipeline schedules; arXiv 2104.04473. */
int64_t ms_memory_in_flight(const struct ms_layout *layout, const struct ms_recipe *recipe,
                            int64_t stage);

void ms_memory_predict(const struct ms_layout *layout, const struct ms_recipe *recipe,
                       const struct ms_device *device, double hottest_rank_load,
                       struct ms_memory *out);

#endif
