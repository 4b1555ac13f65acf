/* memory.h - bytes on a GPU: weights, gradients, optimizer state, activations, buffers; per
 * stage, for the fullest rank of each.
 *
 * Peak = what the stage holds when most activations are in flight under its schedule. The
 * hottest rank of a stage holds `expert_load` times the mean of what is kept per expert row (1
 * for balanced routing). All sizes are bytes. What is counted, what is assumed, and how it
 * compares with published figures is in docs/memory.md. All functions are pure and thread-safe;
 * they borrow what they are given.
 */
#ifndef MS_MODEL_MEMORY_H
#define MS_MODEL_MEMORY_H

#include "model/device.h"
#include "model/layout.h"

struct ms_memory_parts {
    double weights;     /* BF16; FP8 or FP4 copies, row- and columnwise, in place of GEMM weights */
    double gradients;   /* accumulated gradients in the reduction format (FP32 or BF16) */
    double optimizer;   /* FP32 master weights and two moments, over DP x CP and EDP by ZeRO */
    double activations; /* kept for backward, all microbatches in flight */
    double buffers;     /* exchange buffers, logits, temporaries of one layer's backward */
    double reserve;     /* CUDA context, NCCL, workspaces; pools of CUDA graphs */
};

struct ms_memory {
    double capacity_bytes;        /* the topology's hbm_capacity */
    double peak_bytes;            /* sum of `parts` */
    bool fits;                    /* peak <= capacity */
    int64_t stage;                /* of the fullest rank; the first of several equal ones */
    int64_t rank;                 /* first rank of that stage */
    struct ms_memory_parts parts; /* of that rank */
    double stage_peak_bytes[MS_CHUNKS_MAX]; /* [pp] */
};

/* Bytes of activations that one layer keeps for backward on one rank for one microbatch, after
 * recomputation: inputs of each GEMM (BF16, or one quantised columnwise copy), q, k, v, output
 * and log-sum-exp of the attention core, inputs of norms and of SwiGLU, router probabilities.
 * Full recomputation keeps the layer's input. `expert_load` >= 0 multiplies what is kept per
 * expert row; with `capacity_factor` it is cut to it, with padded expert GEMMs replaced by it. */
double ms_memory_layer_activations(const struct ms_layout *layout, const struct ms_recipe *recipe,
                                   const struct ms_layer_kind *kind, double expert_load);

/* Parameters of one chunk that one rank holds, before ZeRO, dense and expert apart. Dense: split
 * over TP, but norms, router, MLA's down-projections and what has fewer key-value heads than TP
 * are whole on every rank; expert: over EP x ETP. A chunk with MTP modules has its own copies of
 * embedding and head. */
struct ms_rank_params {
    double dense, expert;
};
struct ms_rank_params ms_memory_chunk_params(const struct ms_layout *layout,
                                             const struct ms_chunk *chunk);

/* Microbatch-chunks whose activations `stage` (0 <= stage < pp) holds at the worst moment: 1F1B:
 * PP - stage; interleaved: 2 (PP - stage - 1) + (VP - 1) PP + 1; at most all. With EP overlap
 * the warm-up is one pass longer, but a forward then runs merged with the backward that frees as
 * much, layer against layer: the count stays, and one layer comes on top. Source: Megatron-Core
 * pipeline schedules; arXiv 2104.04473. */
int64_t ms_memory_in_flight(const struct ms_layout *layout, int64_t stage);

/* Fills `*out` for a layout made from `recipe`. `hottest_rank_load` finite and >= 0: expert rows
 * of the fullest rank over the mean. Of `device` only the topology is read. O(layers + pp^2 vp). */
void ms_memory_predict(const struct ms_layout *layout, const struct ms_recipe *recipe,
                       const struct ms_device *device, double hottest_rank_load,
                       struct ms_memory *out);

#endif
