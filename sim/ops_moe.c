/* ops_moe.c - the Mixture-of-Experts part of a layer: router, dispatch, experts, combine, shared expert.
 *
 * Forward order: router, [sort], dispatch, [ETP gather], permute, experts, unpermute, [ETP scatter],
 * combine, [sum], shared expert. Backward runs the same list from the end; the exchanges then carry
 * gradients the other way: what combine collected is sent out, what dispatch sent is collected. */
#include "base/mem.h"
#include "sim/ops_emit.h"

#include <math.h>
#include <string.h>

/* Index and weight of each chosen expert travel with a token. Source: NCCL EP, int64 + FP32. */
static const double METADATA_BYTES_PER_CHOICE = 12;
/* Elementwise passes of the router over [tokens, experts] in FP32: scores, bias, groups, top-k, weights.
 * Source: kernels of Megatron-Core's unfused router, counted. */
static const double ROUTER_PASSES = 6;

static double copy_bytes(const struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    return 2 * (double)a->hidden + METADATA_BYTES_PER_CHOICE * (double)a->topk;
}

void ms_emit_load_traffic(struct ms_emitter *e, int64_t moe_layer)
{
    const struct ms_step *s = e->step;
    for (int64_t g = 0; g < s->groups_per_cell; g++) {
        int64_t pattern = ms_step_pattern(s, e->work->stage, e->work->cell, g);
        ms_traffic_get(s->patterns[pattern].traffic, moe_layer, e->work->microbatch,
                       e->work->cell * s->groups_per_cell + g, s->traffic[g]);
    }
}

/* Cost of one op on EP rank `i` with `traffic`; what differs between ranks is decided by these. */
typedef struct ms_cost (*rank_cost_fn)(const struct ms_emitter *e, const struct ms_traffic *traffic,
                                       int64_t i, const void *shape);

/* Reserves [cell_ranks] per-rank times and returns where they start. */
static int64_t reserve_ranks(struct ms_ops *ops, int64_t n)
{
    int64_t at = (int64_t)ops->n_rank_times;
    ops->n_rank_times += (size_t)n;
    ms_grow((void **)&ops->rank_time_s, &ops->rank_capacity, ops->n_rank_times, sizeof(double));
    return at;
}

/* Emits one op that every rank of the cell does with its own load; the slowest decides its time. */
static struct ms_op *emit_by_rank(struct ms_emitter *e, const char *name, enum ms_category category,
                                  rank_cost_fn cost_of, const void *shape, double n_kernels)
{
    const struct ms_layout *l = e->step->layout;
    int64_t n = e->step->uniform ? 1 : l->ep * e->step->groups_per_cell;
    int64_t at = e->step->uniform ? -1 : reserve_ranks(e->ops, l->cell_ranks);
    struct ms_cost slowest = {0};
    double flop = 0, bytes = 0;
    struct ms_op *op;
    for (int64_t r = 0; r < n; r++) {
        struct ms_cost c = cost_of(e, e->step->traffic[r / l->ep], r % l->ep, shape);
        for (int64_t j = 0; at >= 0 && j < l->etp; j++)
            e->ops->rank_time_s[at + r * l->etp + j] = c.time_s;
        flop += c.work_flop / (double)n;
        bytes += c.hbm_bytes / (double)n;
        if (c.time_s >= slowest.time_s)
            slowest = c;
    }
    slowest.work_flop = flop;
    slowest.hbm_bytes = bytes;
    op = ms_emit_cost(e, name, category, &slowest, n_kernels);
    op->ranks_at = at;
    return op;
}

/* A memory-bound kernel: bytes per assignment, per copy received, and per own token. */
struct move {
    double assignment_bytes, copy_bytes, token_bytes;
};

static double received_copies(const struct ms_emitter *e, const struct ms_traffic *traffic,
                              int64_t i)
{
    const struct ms_port_copies *p = &traffic->ports[i];
    return (p->nvlink_receive + p->nic_receive + p->local) * (double)e->step->layout->etp;
}

static double assignments(const struct ms_emitter *e, const struct ms_traffic *traffic, int64_t i)
{
    const struct ms_step *s = e->step;
    double mean = ms_emit_tokens(e) * (double)(s->arch->topk * s->layout->etp);
    if (s->recipe->expert_gemm == MS_EXPERT_GEMM_PADDED)
        return mean * s->recipe->capacity_factor;
    return traffic->rank_tokens[i] * (double)s->layout->etp;
}

static struct ms_cost move_cost(const struct ms_emitter *e, const struct ms_traffic *traffic,
                                int64_t i, const void *shape)
{
    const struct move *m = shape;
    double bytes = m->assignment_bytes * assignments(e, traffic, i) +
                   m->copy_bytes * received_copies(e, traffic, i) +
                   m->token_bytes * ms_emit_tokens(e);
    return ms_cost_memory(e->step->device, bytes, 1);
}

static void emit_move(struct ms_emitter *e, const char *name, enum ms_category category,
                      const struct move *m)
{
    emit_by_rank(e, name, category, move_cost, m, 1);
}

/* Quantising the rows of all assignments, `width` elements each. */
static struct ms_cost quantize_cost(const struct ms_emitter *e, const struct ms_traffic *traffic,
                                    int64_t i, const void *shape)
{
    const double *width = shape;
    return ms_cost_quantize(e->step->device, ms_recipe_expert_dtype(e->step->recipe),
                            assignments(e, traffic, i), *width, 2);
}

static void emit_expert_quantize(struct ms_emitter *e, double width)
{
    if (ms_recipe_expert_dtype(e->step->recipe) != MS_DTYPE_BF16)
        emit_by_rank(e, "quantize_experts", MS_CAT_QUANTIZE, quantize_cost, &width, 1);
}

/* One grouped GEMM over the local experts; `accumulate` adds the gradient's HBM traffic. */
struct expert_gemm {
    double n, k;
    bool weight_gradient;
};

static struct ms_cost expert_gemm_cost(const struct ms_emitter *e, const struct ms_traffic *traffic,
                                       int64_t i, const void *shape)
{
    enum { LOCAL_MAX = 4096 };
    const struct expert_gemm *g = shape;
    const struct ms_step *s = e->step;
    int64_t local = s->arch->n_experts / s->layout->ep;
    double tokens[LOCAL_MAX];
    double capacity = ms_emit_tokens(e) * (double)(s->arch->topk * s->layout->etp) / (double)local *
                      s->recipe->capacity_factor;
    struct ms_gemm gemm = {.n = g->n, .k = g->k, .dtype = ms_recipe_expert_dtype(s->recipe)};
    struct ms_cost cost;
    MS_REQUIRE(local <= LOCAL_MAX);
    for (int64_t x = 0; x < local; x++)
        tokens[x] = traffic->expert_tokens[i * local + x] * (double)s->layout->etp;
    cost = ms_cost_grouped_gemm(s->device, &gemm, (enum ms_expert_gemm)s->recipe->expert_gemm,
                                tokens, local, capacity);
    if (g->weight_gradient)
        ms_emit_accumulate(e, g->n * g->k * (double)local, &cost);
    return cost;
}

/* Forward one grouped GEMM, backward its data gradient and weight gradient. */
static void emit_expert_linear(struct ms_emitter *e, const char *name, double n, double k)
{
    const struct ms_recipe *r = e->step->recipe;
    int64_t local = e->step->arch->n_experts / e->step->layout->ep;
    double kernels = r->expert_gemm == MS_EXPERT_GEMM_LOOP ? (double)local : 1;
    struct expert_gemm forward = {n, k, false}, data = {k, n, false}, weight = {n, k, true};
    if (!ms_emit_backward(e)) {
        emit_by_rank(e, name, MS_CAT_EXPERT_GEMM, expert_gemm_cost, &forward, kernels);
        return;
    }
    emit_by_rank(e, name, MS_CAT_EXPERT_GEMM, expert_gemm_cost, &data, kernels);
    emit_by_rank(e, name, MS_CAT_EXPERT_GEMM, expert_gemm_cost, &weight, kernels)->deferrable =
        (r->overlap & MS_OVERLAP_WGRAD) != 0;
}

/* Width of an expert on one ETP rank; checked to divide. */
static double expert_width(const struct ms_step *s)
{
    int64_t width = s->arch->moe_ffn / s->layout->etp;
    return (double)width;
}

/* SwiGLU over [assignments, 2 ffn]: forward reads 2 and writes 1, backward reads 3 and writes 2. */
static void emit_activation(struct ms_emitter *e)
{
    const struct ms_step *s = e->step;
    double ffn = expert_width(s);
    struct move m = {.assignment_bytes = 2 * ffn * (ms_emit_backward(e) ? 5 : 3)};
    if (s->recipe->fused_expert_mlp)
        return; /* in the epilogue of the first GEMM, quantisation of its output too */
    e->recompute = MS_RECOMPUTE_MOE | MS_RECOMPUTE_MOE_ACT;
    emit_move(e, "expert_activation", MS_CAT_EXPERT_GEMM, &m);
    e->recompute = MS_RECOMPUTE_MOE;
}

static void emit_experts(struct ms_emitter *e)
{
    const struct ms_step *s = e->step;
    double h = (double)s->arch->hidden, ffn = expert_width(s);
    e->graph = MS_GRAPH_MOE;
    if (!ms_emit_backward(e)) {
        emit_expert_quantize(e, h);
        emit_expert_linear(e, "expert_fc1", 2 * ffn, h);
        emit_activation(e);
        if (!s->recipe->fused_expert_mlp)
            emit_expert_quantize(e, ffn);
        emit_expert_linear(e, "expert_fc2", h, ffn);
        return;
    }
    emit_expert_quantize(e, h);
    emit_expert_linear(e, "expert_fc2", h, ffn);
    emit_activation(e);
    if (!s->recipe->fused_expert_mlp)
        emit_expert_quantize(e, 2 * ffn);
    emit_expert_linear(e, "expert_fc1", 2 * ffn, h);
}

/* Port bytes of a dispatch; mirrored for a combine. */
static struct ms_port_bytes port_bytes(const struct ms_port_copies *c, double bytes, bool mirrored)
{
    struct ms_port_bytes p = {c->nvlink_send * bytes, c->nvlink_receive * bytes,
                              c->nic_send * bytes, c->nic_receive * bytes};
    if (mirrored)
        p = (struct ms_port_bytes){p.nvlink_receive, p.nvlink_send, p.nic_receive, p.nic_send};
    return p;
}

static double port_time(const struct ms_port_bytes *p, const struct ms_exchange_rates *rates)
{
    return fmax(fmax(p->nvlink_send, p->nvlink_receive) / rates->nvlink_Bps,
                fmax(p->nic_send, p->nic_receive) / rates->nic_Bps);
}

static void emit_exchange(struct ms_emitter *e, const char *name, enum ms_category category,
                          bool mirrored)
{
    const struct ms_step *s = e->step;
    const struct ms_layout *l = s->layout;
    struct ms_exchange_rates rates = ms_cost_exchange_rates(
        s->device, (enum ms_dispatcher)s->recipe->dispatcher, s->recipe->dispatcher_sms, l->ep);
    int64_t ports_at = (int64_t)e->ops->n_ports, ranks_at;
    struct ms_cost cost = {.relative_uncertainty = rates.relative_uncertainty};
    struct ms_op *op;
    if (l->ep == 1)
        return;
    ranks_at = reserve_ranks(e->ops, l->cell_ranks);
    e->ops->n_ports += (size_t)l->cell_ranks;
    ms_grow((void **)&e->ops->ports, &e->ops->port_capacity, e->ops->n_ports,
            sizeof(*e->ops->ports));
    for (int64_t r = 0; r < l->cell_ranks; r++) {
        const struct ms_traffic *t = s->traffic[r / (l->ep * l->etp)];
        struct ms_port_bytes *p = &e->ops->ports[ports_at + r];
        *p = port_bytes(&t->ports[r / l->etp % l->ep], copy_bytes(e), mirrored);
        e->ops->rank_time_s[ranks_at + r] = rates.fixed_s + port_time(p, &rates);
        cost.time_s = fmax(cost.time_s, e->ops->rank_time_s[ranks_at + r]);
    }
    e->graph = MS_GRAPH_MOE;
    op = ms_emit_cost(e, name, category, &cost, 2);
    op->comm = true;
    op->sm_share = (double)s->recipe->dispatcher_sms / (double)s->device->topo->gpu.sm_count;
    op->ranks_at = ranks_at;
    op->ports_at = ports_at;
}

static void emit_router(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_tokens(e), scores = t * (double)a->n_experts * 4 * ROUTER_PASSES;
    e->category = MS_CAT_ROUTER;
    e->graph = MS_GRAPH_MOE_ROUTER;
    if (!ms_emit_backward(e))
        ms_emit_linear(e, &(struct ms_linear){"router_gate", t, (double)a->n_experts,
                                              (double)a->hidden, MS_DTYPE_BF16, false});
    ms_emit_memory(e, "router_topk", scores, scores);
    if (ms_emit_backward(e))
        ms_emit_linear(e, &(struct ms_linear){"router_gate", t, (double)a->n_experts,
                                              (double)a->hidden, MS_DTYPE_BF16, false});
}

/* NCCL's all-to-all sends sorted copies: the sender makes one per assignment (and sums them on return). */
static void emit_sender_sort(struct ms_emitter *e, const char *name)
{
    const struct ms_arch *a = e->step->arch;
    struct move m = {.token_bytes = 2 * (double)a->hidden * (1 + (double)a->topk)};
    e->graph = MS_GRAPH_MOE_PREPROCESS;
    if (e->step->recipe->dispatcher == MS_DISPATCHER_ALLTOALL)
        emit_move(e, name, MS_CAT_PERMUTE, &m);
}

/* From received copies to rows in expert order, or back: read one side, write the other. */
static void emit_permute(struct ms_emitter *e, const char *name)
{
    double row = 2 * (double)e->step->arch->hidden;
    struct move m = {.assignment_bytes = row, .copy_bytes = row};
    e->graph = MS_GRAPH_MOE;
    emit_move(e, name, MS_CAT_PERMUTE, &m);
}

/* Expert tensor parallelism: every ETP rank needs the rows that all of them received. */
static void emit_etp(struct ms_emitter *e, enum ms_collective op)
{
    double rows = ms_emit_tokens(e) * (double)(e->step->arch->topk * e->step->layout->etp);
    ms_emit_collective(e, "etp", MS_CAT_TP_COMM, MS_GROUP_ETP,
                       &(struct ms_collective_shape){
                           .op = op, .size_bytes = rows * 2 * (double)e->step->arch->hidden},
                       0);
}

static void emit_shared(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_all_tokens(e), tp = (double)e->step->layout->tp;
    double f = (double)a->shared_ffn / tp, h = (double)a->hidden;
    enum ms_dtype dtype = (enum ms_dtype)e->step->recipe->precision;
    struct ms_linear fc1 = {"shared_fc1", t, 2 * f, h, dtype, false};
    struct ms_linear fc2 = {"shared_fc2", t, h, f, dtype, false};
    if (a->shared_ffn <= 0)
        return;
    e->category = MS_CAT_SHARED_EXPERT;
    e->graph = MS_GRAPH_MLP;
    e->deferrable = !ms_emit_backward(e) && (e->step->recipe->overlap & MS_OVERLAP_SHARED);
    ms_emit_linear(e, ms_emit_backward(e) ? &fc2 : &fc1);
    ms_emit_memory(e, "shared_activation", t * f * 2 * 3, t * f * 2 * 5);
    ms_emit_linear(e, ms_emit_backward(e) ? &fc1 : &fc2);
    e->deferrable = false;
}

void ms_emit_moe(struct ms_emitter *e, int64_t moe_layer)
{
    bool early_shared = (e->step->recipe->overlap & MS_OVERLAP_SHARED) != 0;
    ms_emit_load_traffic(e, moe_layer);
    e->recompute = MS_RECOMPUTE_MOE;
    if (!ms_emit_backward(e)) {
        emit_router(e);
        if (early_shared)
            emit_shared(e);
        emit_sender_sort(e, "sort_tokens");
        emit_exchange(e, "dispatch", MS_CAT_DISPATCH, false);
        emit_etp(e, MS_COLLECTIVE_ALL_GATHER);
        emit_permute(e, "permute");
        emit_experts(e);
        emit_permute(e, "unpermute");
        emit_etp(e, MS_COLLECTIVE_REDUCE_SCATTER);
        emit_exchange(e, "combine", MS_CAT_COMBINE, true);
        emit_sender_sort(e, "sum_tokens");
        if (!early_shared)
            emit_shared(e);
    } else {
        emit_sender_sort(e, "sum_tokens");
        emit_exchange(e, "combine", MS_CAT_COMBINE, false);
        emit_etp(e, MS_COLLECTIVE_ALL_GATHER);
        emit_permute(e, "unpermute");
        emit_experts(e);
        emit_permute(e, "permute");
        emit_etp(e, MS_COLLECTIVE_REDUCE_SCATTER);
        emit_exchange(e, "dispatch", MS_CAT_DISPATCH, true);
        emit_sender_sort(e, "sort_tokens");
        emit_shared(e);
        emit_router(e);
    }
    e->recompute = 0;
}
