/* ops_emit.h - the inside of ops.h: how a module of a layer writes down its kernels. For ops*.c only. */
#ifndef MS_SIM_OPS_EMIT_H
#define MS_SIM_OPS_EMIT_H

#include "sim/ops.h"

/* Where in the model the emitter stands; tags every op it emits. */
struct ms_emitter {
    const struct ms_step *step;
    const struct ms_work *work;
    struct ms_ops *ops;
    const struct ms_layer_kind *kind;
    int64_t layer;      /* decoder layer, or -1 */
    uint32_t graph;     /* scope of the module being emitted */
    uint32_t recompute; /* modules that the op being emitted belongs to */
    enum ms_category category;
    bool deferrable; /* everything emitted now may run later in the chunk */
};

/* Name and shape of C[m,n] = A[m,k] B[k,n] in the model's forward direction. */
struct ms_linear {
    const char *name;
    double m, n, k;
    enum ms_dtype dtype;
    bool quantized_input; /* A was quantised before (shared by two projections) */
};

double ms_emit_tokens(const struct ms_emitter *e);     /* of one rank, sequence-parallel */
double ms_emit_all_tokens(const struct ms_emitter *e); /* of one rank's attention and dense GEMMs */
bool ms_emit_backward(const struct ms_emitter *e);

/* Appends one op of `cost` in `category` and returns it for further marking. */
struct ms_op *ms_emit_cost(struct ms_emitter *e, const char *name, enum ms_category category,
                           const struct ms_cost *cost, double n_kernels);
/* A memory-bound kernel of the current module: `forward_bytes` or `backward_bytes` by the pass. */
void ms_emit_memory(struct ms_emitter *e, const char *name, double forward_bytes,
                    double backward_bytes);
/* Quantises m x k once, row- and column-wise; nothing for BF16. */
void ms_emit_quantize(struct ms_emitter *e, enum ms_dtype dtype, double m, double k);
/* Forward: quantise input, GEMM. Backward: quantise gradient, data gradient, weight gradient. */
void ms_emit_linear(struct ms_emitter *e, const struct ms_linear *linear);
/* A weight-gradient GEMM also reads and writes the accumulated gradient of `n_weights`: raises its cost. */
void ms_emit_accumulate(const struct ms_emitter *e, double n_weights, struct ms_cost *cost);
/* A collective of the current module over a group of the layout; `hidden_s` of it runs under compute. */
void ms_emit_collective(struct ms_emitter *e, const char *name, enum ms_category category,
                        enum ms_group_kind kind, const struct ms_collective_shape *shape,
                        double hidden_s);
/* Traffic of the layer's EP groups in this cell, loaded into step->traffic. */
void ms_emit_load_traffic(struct ms_emitter *e, int64_t moe_layer);

/* Appends the ops of the MoE part of a layer, forward or backward. ops_moe.c */
void ms_emit_moe(struct ms_emitter *e, int64_t moe_layer);

#endif
