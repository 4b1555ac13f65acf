/* ops.c - the list of ops, and what its entries are made of: GEMMs with their gradients, memory-bound
 * kernels, collectives. Which of them a layer has is in ops_layer.c and ops_moe.c. */
#include "sim/ops.h"

#include "base/mem.h"
#include "base/table.h"
#include "sim/ops_emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const MS_CATEGORY_NAMES[MS_N_CATEGORIES] = {
    [MS_CAT_ATTENTION] = "attention",
    [MS_CAT_DENSE_FFN] = "dense_ffn",
    [MS_CAT_SHARED_EXPERT] = "shared_expert",
    [MS_CAT_ROUTER] = "router",
    [MS_CAT_PERMUTE] = "permute",
    [MS_CAT_QUANTIZE] = "quantize",
    [MS_CAT_NORM] = "norm",
    [MS_CAT_EXPERT_GEMM] = "expert_gemm",
    [MS_CAT_DISPATCH] = "dispatch",
    [MS_CAT_COMBINE] = "combine",
    [MS_CAT_TP_COMM] = "tp_comm",
    [MS_CAT_CP_COMM] = "cp_comm",
    [MS_CAT_PP_COMM] = "pp_comm",
    [MS_CAT_DP_COMM] = "dp_comm",
    [MS_CAT_LOSS] = "loss",
    [MS_CAT_OPTIMIZER] = "optimizer",
    [MS_CAT_OFFLOAD] = "offload",
    [MS_CAT_RECOMPUTE] = "recompute",
    [MS_CAT_HOST] = "host",
    [MS_CAT_BUBBLE] = "bubble",
    [MS_CAT_OTHER] = "other",
};

bool ms_category_is_comm(enum ms_category category)
{
    return category == MS_CAT_DISPATCH || category == MS_CAT_COMBINE ||
           category == MS_CAT_TP_COMM || category == MS_CAT_CP_COMM || category == MS_CAT_PP_COMM ||
           category == MS_CAT_DP_COMM;
}

void ms_ops_clear(struct ms_ops *ops)
{
    ops->n = ops->n_rank_times = ops->n_ports = 0;
}

void ms_ops_free(struct ms_ops *ops)
{
    free(ops->at);
    free(ops->rank_time_s);
    free(ops->ports);
    *ops = (struct ms_ops){0};
}

double ms_emit_tokens(const struct ms_emitter *e)
{
    return (double)e->step->layout->tokens_per_rank;
}

double ms_emit_all_tokens(const struct ms_emitter *e)
{
    return (double)(e->step->layout->tokens_per_rank * e->step->layout->tp);
}

bool ms_emit_backward(const struct ms_emitter *e)
{
    return e->work->pass == MS_PASS_BACKWARD;
}

struct ms_op *ms_emit_cost(struct ms_emitter *e, const char *name, enum ms_category category,
                           const struct ms_cost *cost, double n_kernels)
{
    struct ms_ops *ops = e->ops;
    MS_REQUIRE(isfinite(cost->time_s) && cost->time_s >= 0);
    ms_grow((void **)&ops->at, &ops->capacity, ops->n, sizeof(*ops->at));
    ops->at[ops->n] = (struct ms_op){
        .name = name,
        .category = category,
        .layer = e->layer,
        .deferrable = e->deferrable,
        .recompute = e->recompute,
        .graph = e->graph,
        .time_s = cost->time_s,
        .work_flop = cost->work_flop,
        .hbm_bytes = cost->hbm_bytes,
        .n_kernels = n_kernels,
        .relative_uncertainty = cost->relative_uncertainty,
        .extrapolated = cost->extrapolated,
        .ranks_at = -1,
        .ports_at = -1,
    };
    return &ops->at[ops->n++];
}

void ms_emit_memory(struct ms_emitter *e, const char *name, double forward_bytes,
                    double backward_bytes)
{
    double bytes = ms_emit_backward(e) ? backward_bytes : forward_bytes;
    struct ms_cost cost;
    if (bytes <= 0)
        return;
    cost = ms_cost_memory(e->step->device, bytes, 1);
    ms_emit_cost(e, name, e->category, &cost, 1);
}

void ms_emit_quantize(struct ms_emitter *e, enum ms_dtype dtype, double m, double k)
{
    struct ms_cost cost;
    if (dtype == MS_DTYPE_BF16 || m * k <= 0)
        return;
    cost = ms_cost_quantize(e->step->device, dtype, m, k, 2);
    ms_emit_cost(e, "quantize", MS_CAT_QUANTIZE, &cost, 1);
}

void ms_emit_accumulate(const struct ms_emitter *e, double n_weights, struct ms_cost *cost)
{
    double element = e->step->recipe->grad_reduce_dtype == MS_GRAD_FP32 ? 4 : 2;
    struct ms_cost accumulate = ms_cost_memory(e->step->device, 2 * element * n_weights, 1);
    cost->time_s = fmax(cost->time_s, accumulate.time_s);
    cost->hbm_bytes += accumulate.hbm_bytes;
}

void ms_emit_linear(struct ms_emitter *e, const struct ms_linear *l)
{
    struct ms_gemm forward = {.m = l->m, .n = l->n, .k = l->k, .dtype = l->dtype};
    struct ms_gemm data = {.m = l->m, .n = l->k, .k = l->n, .dtype = l->dtype};
    struct ms_gemm weight = {.m = l->n, .n = l->k, .k = l->m, .dtype = l->dtype};
    struct ms_cost cost;
    if (!ms_emit_backward(e)) {
        if (!l->quantized_input)
            ms_emit_quantize(e, l->dtype, l->m, l->k);
        cost = ms_cost_gemm(e->step->device, &forward);
        ms_emit_cost(e, l->name, e->category, &cost, 1);
        return;
    }
    ms_emit_quantize(e, l->dtype, l->m, l->n);
    cost = ms_cost_gemm(e->step->device, &data);
    ms_emit_cost(e, l->name, e->category, &cost, 1);
    cost = ms_cost_gemm(e->step->device, &weight);
    ms_emit_accumulate(e, l->n * l->k, &cost);
    ms_emit_cost(e, l->name, e->category, &cost, 1)->deferrable =
        e->deferrable || (e->step->recipe->overlap & MS_OVERLAP_WGRAD);
}

void ms_emit_collective(struct ms_emitter *e, const char *name, enum ms_category category,
                        enum ms_group_kind kind, const struct ms_collective_shape *shape,
                        double hidden_s)
{
    int64_t first = ms_layout_cell_first(e->step->layout, e->work->stage, e->work->cell);
    struct ms_group group = ms_layout_group(e->step->layout, kind, first);
    struct ms_collective_shape s = *shape;
    struct ms_collective_cost c;
    struct ms_cost cost = {0};
    if (group.n_ranks <= 1)
        return;
    s.n_ranks = group.n_ranks;
    s.ranks_per_domain = group.ranks_per_domain;
    c = ms_cost_collective(e->step->device, &s);
    cost.time_s = fmax(c.time_s - hidden_s, c.latency_s);
    cost.relative_uncertainty = c.relative_uncertainty;
    ms_emit_cost(e, name, category, &cost, 1);
}

void ms_ops_print(const struct ms_step *step, struct ms_buf *out)
{
    struct ms_ops ops = {0};
    struct ms_table *table = ms_table_new("rrlrllrrr");
    static const char *const head[] = {"stage",    "v",       "pass",  "layer", "op",
                                       "category", "time us", "GFLOP", "HBM MB"};
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (int64_t g = 0; g < 2 * step->layout->pp * step->layout->vp; g++) {
        struct ms_work work = {.pass = (enum ms_pass)(g % 2),
                               .stage = g / 2 % step->layout->pp,
                               .v = g / 2 / step->layout->pp};
        ms_ops_clear(&ops);
        ms_ops_chunk(step, &work, &ops);
        for (size_t i = 0; i < ops.n; i++) {
            const struct ms_op *op = &ops.at[i];
            ms_table_cell(table, "%lld", (long long)work.stage);
            ms_table_cell(table, "%lld", (long long)work.v);
            ms_table_cell(table, "%s", work.pass == MS_PASS_FORWARD ? "F" : "B");
            ms_table_cell(table, "%lld", (long long)op->layer);
            ms_table_cell(table, "%s%s", op->name, op->deferrable ? " (deferrable)" : "");
            ms_table_cell(table, "%s", MS_CATEGORY_NAMES[op->category]);
            ms_table_cell(table, "%.2f", op->time_s * 1e6);
            ms_table_cell(table, "%.3f", op->work_flop * 1e-9);
            ms_table_cell(table, "%.3f", op->hbm_bytes * 1e-6);
        }
    }
    ms_table_print(table, 0, out);
    ms_table_free(table);
    ms_ops_free(&ops);
}
