/* memory.c - adds up the bytes on one GPU, tensor by tensor.
 *
 * Activations are tables of tensors: elements, bytes of each, and the recompute modules that
 * drop them. The peak of a stage follows its schedule pass by pass, because chunks differ (dense
 * layers, MTP). What is counted, what is assumed, and how it compares with published figures:
 * docs/memory.md.
 */
#include "model/memory.h"

#include <math.h>

static const double BF16_BYTES = 2, FP32_BYTES = 4;
/* FP32 master weight and two FP32 Adam moments. Source: Megatron-Core distributed optimizer with
 * FP32 moments; reproduces the optimizer part of arXiv 2603.07685 (docs/memory.md). */
static const double OPTIMIZER_BYTES = 12;
/* Router per expert and token: logits, scores and probabilities in FP32, the map of choices in
 * one byte. */
static const double ROUTER_BYTES = 13;
/* Per row sent to an expert: its probability in FP32 and its place in INT32. */
static const double ROW_BYTES = 8;
/* Logits in BF16 and their FP32 copy, which becomes the softmax kept for backward. */
static const double LOGIT_BYTES = 6;
/* CUDA context, NCCL's channels, cuBLAS and attention workspaces. Assumed, not measured. */
static const double CONTEXT_BYTES = 4e9;
/* Pools that CUDA graphs keep. Source: arXiv 2603.07685, "about 7 GB" for partial graphs;
 * whole-step graphs are assumed to need as much. */
static const double GRAPH_BYTES = 7e9;
/* Layers whose gathered weights are on the GPU at a time with ZeRO 3: the current one and the
 * next. */
static const double GATHERED_LAYERS = 2;

/* What every count below needs. */
struct inputs {
    const struct ms_layout *layout;
    const struct ms_recipe *recipe;
    const struct ms_arch *arch;
    struct ms_params params;
};

static struct inputs gather_inputs(const struct ms_layout *layout, const struct ms_recipe *recipe)
{
    struct inputs in = {.layout = layout, .recipe = recipe, .arch = layout->arch};
    ms_arch_params(layout->arch, &in.params);
    return in;
}

static const struct ms_layer_kind *last_kind(const struct ms_arch *arch)
{
    return &arch->layers[arch->n_layers - 1]; /* an MTP layer is like it */
}

/* --- parameters ------------------------------------------------------------------------------- */

/* Parameters on one rank. `matrices`: GEMM weights of layers, kept in --precision; `other`: the
 * rest of the dense part, kept in BF16. */
struct rank_params {
    double matrices, other, expert;
};

static void add_params(struct rank_params *sum, const struct rank_params *p, double n)
{
    sum->matrices += n * p->matrices;
    sum->other += n * p->other;
    sum->expert += n * p->expert;
}

/* Parameters of one layer's attention that every TP rank holds whole. */
static double unsplit_attention(const struct ms_arch *a)
{
    double n = (double)a->qk_norm_params + (a->attention_out_bias ? (double)a->hidden : 0);
    double down = (double)(a->q_lora_rank + a->kv_lora_rank + a->qk_rope_head_dim);
    if (a->attention != MS_ATTENTION_MLA)
        return n;
    n += (double)a->hidden * down + (double)(a->q_lora_rank + a->kv_lora_rank);
    return n + (a->attention_bias ? down : 0);
}

/* A rank holds one key-value head at least: what that adds where TP exceeds their number. */
static double repeated_kv_heads(const struct ms_layout *l)
{
    const struct ms_arch *a = l->arch;
    double share = (double)a->kv_heads / (double)l->tp;
    if (a->attention == MS_ATTENTION_MLA || share >= 1)
        return 0;
    return 2 * (1 - share) * (double)a->head_dim *
           ((double)a->hidden + (a->attention_bias ? 1 : 0));
}

static struct rank_params layer_params(const struct inputs *in, const struct ms_layer_kind *kind)
{
    const struct ms_layout *l = in->layout;
    const struct ms_params *p = &in->params;
    double tp = (double)l->tp, whole = unsplit_attention(in->arch);
    double gate = in->arch->shared_gate ? (double)in->arch->hidden : 0;
    struct rank_params n = {
        .matrices = whole + (p->attention - whole) / tp + repeated_kv_heads(l),
        .other = p->norms,
    };
    if (!kind->moe) {
        n.matrices += p->dense_mlp / tp;
        return n;
    }
    n.matrices += (p->shared - gate) / tp;
    n.other += p->router + gate;
    n.expert = p->expert * (double)in->arch->n_experts / (double)(l->ep * l->etp);
    return n;
}

/* The ends of the model and its MTP modules. Megatron-Core gives a stage with MTP modules its
 * own copies of embedding and head; tied embeddings are copied to the loss stage. */
static struct rank_params end_params(const struct inputs *in, const struct ms_chunk *chunk)
{
    const struct ms_params *p = &in->params;
    double tp = (double)in->layout->tp, norm = p->final_norm;
    double head = in->arch->tied_embeddings && !chunk->embedding ? p->head + p->embedding : p->head;
    struct rank_params sum = {0}, layer;
    if (chunk->embedding || chunk->n_mtp)
        sum.other += p->embedding / tp;
    if (chunk->loss || chunk->n_mtp)
        sum.other += head / tp;
    if (chunk->loss)
        sum.other += norm;
    if (!chunk->n_mtp)
        return sum;
    layer = layer_params(in, last_kind(in->arch));
    layer.matrices += (p->mtp_extra - 3 * norm) / tp; /* projection 2h x h; its norms are whole */
    layer.other += 3 * norm;
    add_params(&sum, &layer, (double)chunk->n_mtp);
    return sum;
}

static struct rank_params chunk_params(const struct inputs *in, const struct ms_chunk *chunk)
{
    struct rank_params sum = end_params(in, chunk);
    for (int64_t i = 0; i < chunk->n_layers; i++) {
        struct rank_params layer = layer_params(in, &in->arch->layers[chunk->first_layer + i]);
        add_params(&sum, &layer, 1);
    }
    return sum;
}

struct ms_rank_params ms_memory_chunk_params(const struct ms_layout *layout,
                                             const struct ms_chunk *chunk)
{
    struct inputs in = gather_inputs(layout, NULL);
    struct rank_params n = chunk_params(&in, chunk);
    return (struct ms_rank_params){.dense = n.matrices + n.other, .expert = n.expert};
}

/* --- activations ------------------------------------------------------------------------------ */

/* One tensor that a layer's forward keeps for its backward. */
struct tensor {
    double elements, bytes; /* bytes of one element */
    uint32_t dropped_by;    /* enum ms_recompute: any of these computes it again instead */
};

static double kept_bytes(const struct tensor *tensors, size_t n, uint32_t recompute)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (!(tensors[i].dropped_by & recompute))
            sum += tensors[i].elements * tensors[i].bytes;
    return sum;
}

#define KEPT_BYTES(tensors, recompute)                                                             \
    kept_bytes(tensors, sizeof(tensors) / sizeof((tensors)[0]), recompute)

static double local_tokens(const struct inputs *in)
{
    return (double)in->layout->tokens_per_rank;
}

/* Tokens of the TP group: a rank holds a TP-th of the width of what is computed of them. */
static double group_tokens(const struct inputs *in)
{
    return (double)(in->layout->tokens_per_rank * in->layout->tp);
}

/* Bytes per element that `readers` dense GEMMs keep of one shared input: BF16 once, or a
 * quantised columnwise copy each. Source: TransformerEngine linear modules. */
static double input_bytes(const struct ms_recipe *r, double readers)
{
    enum ms_dtype dtype = (enum ms_dtype)r->precision;
    return dtype == MS_DTYPE_BF16 ? BF16_BYTES : readers * ms_dtype_bytes(dtype);
}

static double core_bytes(const struct ms_recipe *r)
{
    return r->fp8_attention ? ms_dtype_bytes(MS_DTYPE_FP8_CS) : BF16_BYTES;
}

static double mla_bytes(const struct inputs *in, uint32_t recompute)
{
    const struct ms_arch *a = in->arch;
    double t = local_tokens(in), width = (double)a->heads * (double)in->layout->tokens_per_rank;
    double latent = (double)(a->q_lora_rank + a->kv_lora_rank);
    double qkv = (double)(2 * ms_arch_qk_dim(a) + ms_arch_v_dim(a));
    const struct tensor tensors[] = {
        {t * (double)a->hidden, BF16_BYTES, 0}, /* norm's input */
        {t * (double)a->hidden, input_bytes(in->recipe, 2), MS_RECOMPUTE_LAYERNORM}, /* two down */
        {t * (latent + (double)a->qk_rope_head_dim), BF16_BYTES, 0},
        {t * latent, input_bytes(in->recipe, 1), MS_RECOMPUTE_MLA_UP_PROJ}, /* normed */
        {width * qkv, core_bytes(in->recipe), MS_RECOMPUTE_MLA_UP_PROJ},
        {width * (double)a->v_head_dim, BF16_BYTES, 0}, /* core's output, input of out_proj */
        {width, FP32_BYTES, MS_RECOMPUTE_CORE_ATTN},    /* log-sum-exp */
    };
    return KEPT_BYTES(tensors, recompute);
}

static double gqa_bytes(const struct inputs *in, uint32_t recompute)
{
    const struct ms_arch *a = in->arch;
    double t = local_tokens(in), all = group_tokens(in), tp = (double)in->layout->tp;
    double heads = (double)a->heads / tp, kv_heads = fmax(1, (double)a->kv_heads / tp);
    double dim = (double)a->head_dim;
    const struct tensor tensors[] = {
        {t * (double)a->hidden, BF16_BYTES, 0}, /* norm's input */
        {t * (double)a->hidden, input_bytes(in->recipe, 1), MS_RECOMPUTE_LAYERNORM},
        {a->qk_norm ? all * dim * (heads + kv_heads) : 0, BF16_BYTES, 0}, /* before their norm */
        {all * dim * (heads + 2 * kv_heads), core_bytes(in->recipe), 0},
        {all * dim * heads, BF16_BYTES, 0},                /* core's output, input of out_proj */
        {all * heads, FP32_BYTES, MS_RECOMPUTE_CORE_ATTN}, /* log-sum-exp */
    };
    return KEPT_BYTES(tensors, recompute);
}

static double dense_mlp_bytes(const struct inputs *in, uint32_t recompute)
{
    const struct ms_arch *a = in->arch;
    double h = local_tokens(in) * (double)a->hidden;
    double f = local_tokens(in) * (double)a->dense_ffn;
    double quantised = input_bytes(in->recipe, 1);
    double input = recompute & MS_RECOMPUTE_MLP ? BF16_BYTES : quantised; /* of the checkpoint */
    const struct tensor tensors[] = {
        {h, BF16_BYTES, 0},
        {h, input, MS_RECOMPUTE_LAYERNORM},
        {2 * f, BF16_BYTES, MS_RECOMPUTE_MLP},
        {f, quantised, MS_RECOMPUTE_MLP},
    };
    return KEPT_BYTES(tensors, recompute);
}

/* Rows that the experts of one rank compute, `expert_load` times the mean unless capacity
 * decides. */
static double expert_rows(const struct inputs *in, double expert_load)
{
    const struct ms_recipe *r = in->recipe;
    double mean = local_tokens(in) * (double)(in->arch->topk * in->layout->etp);
    if (r->expert_gemm == MS_EXPERT_GEMM_PADDED && r->capacity_factor > 0)
        return mean * r->capacity_factor;
    return mean * (r->capacity_factor > 0 ? fmin(expert_load, r->capacity_factor) : expert_load);
}

static double moe_bytes(const struct inputs *in, uint32_t recompute, double expert_load)
{
    const struct ms_arch *a = in->arch;
    double t = local_tokens(in), h = (double)a->hidden, rows = expert_rows(in, expert_load);
    double ffn = (double)a->moe_ffn / (double)in->layout->etp;
    double expert_input = ms_dtype_bytes(ms_recipe_expert_dtype(in->recipe));
    double shared = t * (double)a->shared_ffn, quantised = input_bytes(in->recipe, 1);
    bool own_copy = a->shared_ffn > 0 && in->recipe->precision != MS_DTYPE_BF16;
    const struct tensor tensors[] = {
        {t * h, BF16_BYTES, 0},                      /* norm's input */
        {t * h, BF16_BYTES, MS_RECOMPUTE_LAYERNORM}, /* router's input */
        {own_copy ? t * h : 0, quantised, MS_RECOMPUTE_LAYERNORM | MS_RECOMPUTE_MOE},
        {t * (double)a->n_experts, ROUTER_BYTES, MS_RECOMPUTE_MOE},
        {rows, ROW_BYTES, MS_RECOMPUTE_MOE},
        {rows * h, expert_input, MS_RECOMPUTE_MOE}, /* permuted tokens */
        {rows * 2 * ffn, BF16_BYTES, MS_RECOMPUTE_MOE},
        {rows * ffn, expert_input, MS_RECOMPUTE_MOE | MS_RECOMPUTE_MOE_ACT},
        {2 * shared, BF16_BYTES, MS_RECOMPUTE_MOE},
        {shared, quantised, MS_RECOMPUTE_MOE},
    };
    return KEPT_BYTES(tensors, recompute);
}

static double layer_bytes(const struct inputs *in, const struct ms_layer_kind *kind,
                          uint32_t recompute, double expert_load)
{
    double input = local_tokens(in) * (double)in->arch->hidden * BF16_BYTES;
    double outer_norms = (double)(in->arch->norms_per_layer - 2) * input;
    if (recompute & MS_RECOMPUTE_FULL)
        return input;
    return outer_norms +
           (in->arch->attention == MS_ATTENTION_MLA ? mla_bytes(in, recompute)
                                                    : gqa_bytes(in, recompute)) +
           (kind->moe ? moe_bytes(in, recompute, expert_load) : dense_mlp_bytes(in, recompute));
}

double ms_memory_layer_activations(const struct ms_layout *layout, const struct ms_recipe *recipe,
                                   const struct ms_layer_kind *kind, double expert_load)
{
    struct inputs in = {.layout = layout, .recipe = recipe, .arch = layout->arch};
    MS_REQUIRE(expert_load >= 0);
    return layer_bytes(&in, kind, recipe->recompute, expert_load);
}

/* What one microbatch keeps in one chunk: layers, MTP modules, and the inputs of the heads. */
static double chunk_bytes(const struct inputs *in, const struct ms_chunk *chunk, double expert_load)
{
    const struct ms_recipe *r = in->recipe;
    double h = local_tokens(in) * (double)in->arch->hidden, sum = 0, module;
    double head = h * (BF16_BYTES + (r->fp8_output_proj ? input_bytes(r, 1) : BF16_BYTES));
    for (int64_t i = 0; i < chunk->n_layers; i++)
        sum +=
            layer_bytes(in, &in->arch->layers[chunk->first_layer + i], r->recompute, expert_load);
    module = layer_bytes(in, last_kind(in->arch), r->recompute, expert_load) + head +
             2 * h * (BF16_BYTES + input_bytes(r, 1)); /* two norms' inputs, projection's input */
    return sum + (double)chunk->n_mtp * module + (chunk->loss ? head : 0);
}

/* --- the schedule ----------------------------------------------------------------------------- */

int64_t ms_memory_in_flight(const struct ms_layout *layout, int64_t stage)
{
    int64_t total = layout->n_microbatches * layout->vp, n = layout->pp - stage;
    MS_REQUIRE(stage >= 0 && stage < layout->pp);
    if (layout->vp > 1)
        n = 2 * (n - 1) + (layout->vp - 1) * layout->pp + 1;
    return n < total ? n : total;
}

/* Virtual stage of the k-th forward pass of a stage: microbatches go through in groups of PP. */
static int64_t virtual_stage(const struct ms_layout *l, int64_t k)
{
    return l->vp > 1 ? k % (l->pp * l->vp) / l->pp : 0;
}

/* A merged slot of --overlap ep runs a forward and a backward pass layer against layer: what it
 * holds over the passes in flight is one layer. */
static double merged_bytes(const struct inputs *in, const struct ms_chunk *chunk,
                           double expert_load)
{
    uint32_t recompute = in->recipe->recompute;
    double widest = 0;
    if (!(in->recipe->overlap & MS_OVERLAP_EP))
        return 0;
    for (int64_t i = 0; i < chunk->n_layers; i++)
        widest = fmax(widest, layer_bytes(in, &in->arch->layers[chunk->first_layer + i], recompute,
                                          expert_load));
    return widest;
}

/* Most bytes held: in-flight passes first, then a backward and a forward in turn. The order
 * repeats after PP x VP passes, so one period of the steady state shows the maximum. */
static double peak_activations(const struct inputs *in, int64_t stage, double expert_load)
{
    const struct ms_layout *l = in->layout;
    double chunk[MS_CHUNKS_MAX] = {0}, held = 0, merged = 0, peak;
    int64_t total = l->n_microbatches * l->vp, period = l->pp * l->vp;
    int64_t warm = ms_memory_in_flight(l, stage);
    for (int64_t v = 0; v < l->vp; v++) {
        const struct ms_chunk *c = ms_layout_chunk(l, stage, v);
        chunk[v] = chunk_bytes(in, c, expert_load);
        merged = fmax(merged, merged_bytes(in, c, expert_load));
    }
    for (int64_t k = 0; k < warm; k++)
        held += chunk[virtual_stage(l, k)];
    peak = held;
    for (int64_t k = warm; k < total && k < warm + period; k++) {
        held += chunk[virtual_stage(l, k)] - chunk[l->vp - 1 - virtual_stage(l, k - warm)];
        peak = fmax(peak, held);
    }
    return peak + (total > warm ? merged : 0);
}

/* --- the parts of one stage ------------------------------------------------------------------- */

/* Copies of a GEMM weight: BF16, or quantised row- and columnwise copies in its place
 * (Megatron's fp8-param-gather: the FP32 master is in the optimizer). With BF16 beside them,
 * published runs of DeepSeek-V3 on GB200 and GB300 would not have fitted: docs/memory.md. */
static double weight_bytes(enum ms_dtype dtype)
{
    return dtype == MS_DTYPE_BF16 ? BF16_BYTES : 2 * ms_dtype_bytes(dtype);
}

/* Dense parts are replicated over DP x CP, experts over EDP: shares of them from `from_zero` on. */
struct shares {
    double dense, expert;
};

static struct shares zero_shares(const struct inputs *in, int64_t from_zero)
{
    const struct ms_layout *l = in->layout;
    if (in->recipe->zero < from_zero)
        return (struct shares){1, 1};
    return (struct shares){1 / (double)(l->dp * l->cp), 1 / (double)l->edp};
}

static double params_bytes(const struct inputs *in, const struct rank_params *n)
{
    return n->matrices * weight_bytes((enum ms_dtype)in->recipe->precision) +
           n->other * BF16_BYTES + n->expert * weight_bytes(ms_recipe_expert_dtype(in->recipe));
}

/* The weights of the model's largest layer, not sharded by ZeRO. */
static double largest_layer_bytes(const struct inputs *in)
{
    double largest = 0;
    for (int64_t i = 0; i < in->arch->n_layers; i++) {
        struct rank_params n = layer_params(in, &in->arch->layers[i]);
        largest = fmax(largest, params_bytes(in, &n));
    }
    return largest;
}

static double weights_bytes(const struct inputs *in, const struct rank_params *n)
{
    struct shares share = zero_shares(in, 3);
    struct rank_params held = {n->matrices * share.dense, n->other * share.dense,
                               n->expert * share.expert};
    double gathered = in->recipe->zero >= 3 ? GATHERED_LAYERS * largest_layer_bytes(in) : 0;
    return params_bytes(in, &held) + gathered;
}

/* Copies of tokens that a dispatcher's buffers hold: of every token of the EP group (registered
 * once for the worst case), and of every row of this rank (send and receive buffers of one
 * exchange). */
struct exchange_copies {
    double group, rows;
};
static const struct exchange_copies EXCHANGE_COPIES[MS_N_DISPATCHERS] = {
    [MS_DISPATCHER_ALLTOALL] = {0, 2}, [MS_DISPATCHER_ALLGATHER] = {1, 0},
    [MS_DISPATCHER_DEEPEP] = {0, 1},   [MS_DISPATCHER_HYBRIDEP] = {2, 0},
    [MS_DISPATCHER_NCCL_EP] = {2, 0},
};

static double exchange_bytes(const struct inputs *in, double expert_load)
{
    const struct exchange_copies *copies = &EXCHANGE_COPIES[in->recipe->dispatcher];
    double tokens = copies->group * (double)in->layout->ep * local_tokens(in) +
                    copies->rows * expert_rows(in, expert_load);
    return in->layout->ep > 1 ? tokens * (double)in->arch->hidden * BF16_BYTES : 0;
}

/* While one layer runs backward: gradients of its widest tensors, and what it computed again. */
static double backward_bytes(const struct inputs *in, const struct ms_layer_kind *kind,
                             double expert_load)
{
    const struct ms_arch *a = in->arch;
    double t = local_tokens(in), h = (double)a->hidden;
    double gradients = kind->moe ? expert_rows(in, expert_load) *
                                       (h + 2 * (double)a->moe_ffn / (double)in->layout->etp)
                                 : t * (h + 2 * (double)a->dense_ffn);
    return gradients * BF16_BYTES + layer_bytes(in, kind, 0, expert_load) -
           layer_bytes(in, kind, in->recipe->recompute, expert_load);
}

static double chunk_buffers(const struct inputs *in, const struct ms_chunk *chunk,
                            double expert_load)
{
    double logits = local_tokens(in) * (double)in->arch->vocab * LOGIT_BYTES;
    double heads = (double)chunk->n_mtp + (chunk->loss ? 1 : 0), backward = 0;
    bool moe = chunk->n_mtp && last_kind(in->arch)->moe;
    for (int64_t i = 0; i < chunk->n_layers; i++) {
        const struct ms_layer_kind *kind = &in->arch->layers[chunk->first_layer + i];
        backward = fmax(backward, backward_bytes(in, kind, expert_load));
        moe |= kind->moe;
    }
    if (chunk->n_mtp)
        backward = fmax(backward, backward_bytes(in, last_kind(in->arch), expert_load));
    return heads * logits + backward + (moe ? exchange_bytes(in, expert_load) : 0);
}

static struct ms_memory_parts stage_parts(const struct inputs *in, int64_t stage,
                                          double expert_load)
{
    double gradient = in->recipe->grad_reduce_dtype == MS_GRAD_FP32 ? FP32_BYTES : BF16_BYTES;
    struct shares zero1 = zero_shares(in, 1), zero2 = zero_shares(in, 2);
    struct ms_memory_parts parts = {0};
    struct rank_params n = {0};
    for (int64_t v = 0; v < in->layout->vp; v++) {
        const struct ms_chunk *chunk = ms_layout_chunk(in->layout, stage, v);
        struct rank_params c = chunk_params(in, chunk);
        add_params(&n, &c, 1);
        parts.buffers = fmax(parts.buffers, chunk_buffers(in, chunk, expert_load));
    }
    parts.weights = weights_bytes(in, &n);
    parts.gradients = gradient * ((n.matrices + n.other) * zero2.dense + n.expert * zero2.expert);
    parts.optimizer =
        OPTIMIZER_BYTES * ((n.matrices + n.other) * zero1.dense + n.expert * zero1.expert);
    parts.activations = peak_activations(in, stage, expert_load);
    parts.reserve = CONTEXT_BYTES + (in->recipe->cuda_graph ? GRAPH_BYTES : 0);
    return parts;
}

void ms_memory_predict(const struct ms_layout *layout, const struct ms_recipe *recipe,
                       const struct ms_device *device, double hottest_rank_load,
                       struct ms_memory *out)
{
    struct inputs in = gather_inputs(layout, recipe);
    struct ms_memory m = {.capacity_bytes = device->topo->gpu.hbm_capacity.value};
    MS_REQUIRE(isfinite(hottest_rank_load) && hottest_rank_load >= 0);
    for (int64_t stage = 0; stage < layout->pp; stage++) {
        struct ms_memory_parts p = stage_parts(&in, stage, hottest_rank_load);
        double sum = p.weights + p.gradients + p.optimizer + p.activations + p.buffers + p.reserve;
        MS_REQUIRE(isfinite(sum) && sum > 0);
        m.stage_peak_bytes[stage] = sum;
        if (sum <= m.peak_bytes)
            continue;
        m.peak_bytes = sum;
        m.stage = stage;
        m.parts = p;
    }
    m.rank = ms_layout_cell_first(layout, m.stage, 0);
    m.fits = m.peak_bytes <= m.capacity_bytes;
    *out = m;
}
