/* ops_layer.c - the dense part of a layer (norms, attention, MLP), the ends of the model (embedding, head
 * and loss, multi-token prediction), and the walk over a chunk. Bytes are counted in BF16 activations: each
 * elementwise kernel reads its inputs and writes its outputs once. */
#include "base/mem.h"
#include "sim/ops_emit.h"

#include <math.h>

static enum ms_dtype dense_dtype(const struct ms_emitter *e)
{
    return (enum ms_dtype)e->step->recipe->precision;
}

/* RMSNorm with the residual sum before it: forward reads x and residual, writes sum and normed;
 * backward reads x, dy and the residual gradient, writes dx. */
static void emit_norm(struct ms_emitter *e, const char *name)
{
    double pass = 2 * ms_emit_tokens(e) * (double)e->step->arch->hidden;
    e->category = MS_CAT_NORM;
    e->graph = MS_GRAPH_ATTN;
    e->recompute = MS_RECOMPUTE_LAYERNORM;
    ms_emit_memory(e, name, 4 * pass, 4 * pass);
    e->recompute = 0;
}

/* Sequence parallelism: gather tokens before a block's first GEMM, scatter the sum after its last. The
 * same two run in backward with the roles swapped. `gemm` is what --overlap tp hides it under. */
static void emit_tp(struct ms_emitter *e, enum ms_collective op, const struct ms_linear *gemm)
{
    double bytes = 2 * ms_emit_all_tokens(e) * (double)e->step->arch->hidden, hidden_s = 0;
    if (e->step->recipe->overlap & MS_OVERLAP_TP)
        hidden_s =
            ms_cost_gemm(e->step->device, &(struct ms_gemm){gemm->m, gemm->n, gemm->k, gemm->dtype})
                .time_s;
    ms_emit_collective(e, "tp", MS_CAT_TP_COMM, MS_GROUP_TP,
                       &(struct ms_collective_shape){.op = op, .size_bytes = bytes}, hidden_s);
}

static struct ms_cost core_cost(const struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    const struct ms_recipe *r = e->step->recipe;
    double qk = (double)ms_arch_qk_dim(a), v = (double)ms_arch_v_dim(a);
    double context =
        ms_arch_attention_core_flop(a, e->kind, r->seq_len) / (2 * (double)a->heads * (qk + v));
    return ms_cost_attention(
        e->step->device,
        &(struct ms_attention){.batch = (double)r->mbs,
                               .seq_len = (double)r->seq_len / (double)r->cp,
                               .context = context,
                               .heads = (double)a->heads / (double)r->tp,
                               .kv_heads = fmax(1, (double)a->kv_heads / (double)r->tp),
                               .qk_dim = qk,
                               .v_dim = v,
                               .backward = ms_emit_backward(e),
                               .fp8 = r->fp8_attention});
}

/* Bytes of keys and values that all ranks of a CP group hold together for one microbatch. */
static double kv_bytes(const struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double heads = (double)(a->attention == MS_ATTENTION_MLA ? a->heads : a->kv_heads);
    return 2 * (double)(e->step->recipe->mbs * e->step->recipe->seq_len) *
           fmax(1, heads / (double)e->step->layout->tp) *
           (double)(ms_arch_qk_dim(a) + ms_arch_v_dim(a));
}

static void emit_core(struct ms_emitter *e)
{
    struct ms_cost cost = core_cost(e);
    double passes = ms_emit_backward(e) ? 2 : 1; /* keys and values again, and their gradients */
    e->recompute = MS_RECOMPUTE_CORE_ATTN;
    ms_emit_cost(e, "core_attention", MS_CAT_ATTENTION, &cost, 1);
    e->recompute = 0;
    ms_emit_collective(e, "kv_exchange", MS_CAT_CP_COMM, MS_GROUP_CP,
                       &(struct ms_collective_shape){.op = MS_COLLECTIVE_ALL_GATHER,
                                                     .size_bytes = passes * kv_bytes(e)},
                       cost.time_s);
}

/* Latent projections down (not split by TP), norms of the latents, projections up, RoPE and joining of
 * the parts of each head. */
static void emit_mla_projections(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_all_tokens(e), h = (double)a->hidden, tp = (double)e->step->layout->tp;
    double heads = (double)a->heads / tp, qk = (double)ms_arch_qk_dim(a);
    double nope = (double)a->qk_nope_head_dim, rope = (double)a->qk_rope_head_dim;
    double v = (double)a->v_head_dim, q_rank = (double)a->q_lora_rank;
    double kv_rank = (double)a->kv_lora_rank;
    enum ms_dtype d = dense_dtype(e);
    const struct ms_linear q_down = {"q_down_proj", t, q_rank, h, d, false};
    const struct ms_linear kv_down = {"kv_down_proj", t, kv_rank + rope, h, d, q_rank > 0};
    const struct ms_linear q_up = {"q_up_proj", t,          heads * qk, q_rank > 0 ? q_rank : h,
                                   d,           q_rank <= 0};
    const struct ms_linear kv_up = {"kv_up_proj", t, heads * (nope + v), kv_rank, d, false};
    double latents = 2 * t * (q_rank + kv_rank);
    double join = 2 * t * heads * (2 * rope + nope + qk); /* rotate q, join k */
    if (!ms_emit_backward(e)) {
        if (q_rank > 0)
            ms_emit_linear(e, &q_down);
        ms_emit_linear(e, &kv_down);
        e->recompute = MS_RECOMPUTE_MLA_UP_PROJ;
        ms_emit_memory(e, "latent_norms", 2 * latents, 0);
        ms_emit_linear(e, &q_up);
        ms_emit_linear(e, &kv_up);
        ms_emit_memory(e, "rope_join", join, 0);
        e->recompute = 0;
        return;
    }
    ms_emit_memory(e, "rope_join", 0, join);
    ms_emit_linear(e, &kv_up);
    ms_emit_linear(e, &q_up);
    ms_emit_memory(e, "latent_norms", 0, 3 * latents);
    ms_emit_linear(e, &kv_down);
    if (q_rank > 0)
        ms_emit_linear(e, &q_down);
}

static void emit_gqa_projections(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_all_tokens(e), tp = (double)e->step->layout->tp;
    double q = (double)(a->heads * a->head_dim) / tp;
    double kv = fmax((double)a->kv_heads / tp, 1) * (double)a->head_dim;
    double rotate = 2 * t * (q + kv) * (a->qk_norm ? 4 : 2);
    const struct ms_linear qkv = {"qkv_proj",     t,    q + 2 * kv, (double)a->hidden,
                                  dense_dtype(e), false};
    if (!ms_emit_backward(e))
        ms_emit_linear(e, &qkv);
    ms_emit_memory(e, "rope", rotate, rotate);
    if (ms_emit_backward(e))
        ms_emit_linear(e, &qkv);
}

static void emit_projections(struct ms_emitter *e)
{
    if (e->step->arch->attention == MS_ATTENTION_MLA)
        emit_mla_projections(e);
    else
        emit_gqa_projections(e);
}

static void emit_attention(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    const struct ms_linear out = {
        "out_proj",        ms_emit_all_tokens(e),
        (double)a->hidden, (double)(a->heads * ms_arch_v_dim(a)) / (double)e->step->layout->tp,
        dense_dtype(e),    false};
    e->category = MS_CAT_ATTENTION;
    e->graph = MS_GRAPH_ATTN;
    if (!ms_emit_backward(e)) {
        emit_tp(e, MS_COLLECTIVE_ALL_GATHER, &out);
        emit_projections(e);
        emit_core(e);
        ms_emit_linear(e, &out);
        emit_tp(e, MS_COLLECTIVE_REDUCE_SCATTER, &out);
        return;
    }
    emit_tp(e, MS_COLLECTIVE_ALL_GATHER, &out);
    ms_emit_linear(e, &out);
    emit_core(e);
    emit_projections(e);
    emit_tp(e, MS_COLLECTIVE_REDUCE_SCATTER, &out);
}

static void emit_dense_mlp(struct ms_emitter *e)
{
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_all_tokens(e), h = (double)a->hidden;
    double f = (double)a->dense_ffn / (double)e->step->layout->tp;
    const struct ms_linear fc1 = {"mlp_fc1", t, 2 * f, h, dense_dtype(e), false};
    const struct ms_linear fc2 = {"mlp_fc2", t, h, f, dense_dtype(e), false};
    e->category = MS_CAT_DENSE_FFN;
    e->graph = MS_GRAPH_MLP;
    e->recompute = MS_RECOMPUTE_MLP;
    emit_tp(e, MS_COLLECTIVE_ALL_GATHER, &fc1);
    ms_emit_linear(e, ms_emit_backward(e) ? &fc2 : &fc1);
    ms_emit_memory(e, "mlp_activation", t * f * 2 * 3, t * f * 2 * 5);
    ms_emit_linear(e, ms_emit_backward(e) ? &fc1 : &fc2);
    emit_tp(e, MS_COLLECTIVE_REDUCE_SCATTER, &fc2);
    e->recompute = 0;
}

static void emit_ffn(struct ms_emitter *e, int64_t moe_layer)
{
    if (e->kind->moe)
        ms_emit_moe(e, moe_layer);
    else
        emit_dense_mlp(e);
}

static void emit_layer_once(struct ms_emitter *e, int64_t moe_layer)
{
    if (!ms_emit_backward(e)) {
        emit_norm(e, "input_norm");
        emit_attention(e);
        emit_norm(e, "pre_mlp_norm");
        emit_ffn(e, moe_layer);
        return;
    }
    emit_ffn(e, moe_layer);
    emit_norm(e, "pre_mlp_norm");
    emit_attention(e);
    emit_norm(e, "input_norm");
}

/* Forward ops of the recomputed modules once more, as the first thing of the layer's backward. */
static void emit_recompute(struct ms_emitter *e, int64_t moe_layer)
{
    uint32_t modules = e->step->recipe->recompute;
    struct ms_work forward = *e->work;
    const struct ms_work *backward = e->work;
    size_t first = e->ops->n, kept = first;
    if (!modules)
        return;
    forward.pass = MS_PASS_FORWARD;
    e->work = &forward;
    emit_layer_once(e, moe_layer);
    e->work = backward;
    for (size_t i = first; i < e->ops->n; i++) {
        struct ms_op op = e->ops->at[i];
        if (!(modules & MS_RECOMPUTE_FULL) && !(op.recompute & modules))
            continue;
        op.category = MS_CAT_RECOMPUTE;
        op.deferrable = false;
        e->ops->at[kept++] = op;
    }
    e->ops->n = kept;
}

/* Without a CUDA graph the host launches every kernel: what it is slower than the GPU is waiting. */
static void emit_host(struct ms_emitter *e, size_t first)
{
    uint32_t graphs = e->step->recipe->cuda_graph;
    double kernels = 0, busy_s = 0;
    struct ms_cost wait = {.relative_uncertainty = 0.3};
    for (size_t i = first; i < e->ops->n; i++) {
        const struct ms_op *op = &e->ops->at[i];
        busy_s += op->time_s;
        if (!(graphs & (MS_GRAPH_FULL | op->graph)))
            kernels += op->n_kernels;
    }
    wait.time_s = kernels * e->step->device->host_launch.value - busy_s;
    if (wait.time_s > 0)
        ms_emit_cost(e, "host_launch", MS_CAT_HOST, &wait, 0);
}

static void emit_layer(struct ms_emitter *e, int64_t moe_layer)
{
    size_t first = e->ops->n;
    if (ms_emit_backward(e))
        emit_recompute(e, moe_layer);
    emit_layer_once(e, moe_layer);
    emit_host(e, first);
}

static void emit_embedding(struct ms_emitter *e)
{
    double bytes = 2 * ms_emit_tokens(e) * (double)e->step->arch->hidden;
    e->layer = -1;
    e->category = MS_CAT_OTHER;
    ms_emit_memory(e, "embedding", 2 * bytes, 3 * bytes);
}

/* Final norm, output head, cross entropy: logits are written, read twice and rewritten in FP32 and BF16.
 * Source: passes of Megatron's fused cross entropy, counted. */
static void emit_loss(struct ms_emitter *e)
{
    const struct ms_recipe *r = e->step->recipe;
    const struct ms_arch *a = e->step->arch;
    double t = ms_emit_all_tokens(e), vocab = (double)a->vocab / (double)e->step->layout->tp;
    const struct ms_linear head = {"output_head",
                                   t,
                                   vocab,
                                   (double)a->hidden,
                                   r->fp8_output_proj ? dense_dtype(e) : MS_DTYPE_BF16,
                                   false};
    e->layer = -1;
    emit_norm(e, "final_norm");
    e->category = MS_CAT_LOSS;
    if (!ms_emit_backward(e))
        ms_emit_linear(e, &head);
    ms_emit_memory(e, "cross_entropy", t * vocab * 10, t * vocab * 6);
    if (ms_emit_backward(e))
        ms_emit_linear(e, &head);
}

/* A multi-token-prediction module: two norms, projection 2h -> h, one layer like the model's last, and the
 * shared head with its loss. Its routing is taken to be that of the last MoE layer. */
static void emit_mtp(struct ms_emitter *e, int64_t n_moe)
{
    const struct ms_arch *a = e->step->arch;
    double h = (double)a->hidden;
    const struct ms_linear join = {"mtp_proj", ms_emit_tokens(e), h, 2 * h, dense_dtype(e), false};
    e->kind = &a->layers[a->n_layers - 1];
    e->layer = -1;
    if (ms_emit_backward(e)) {
        emit_loss(e);
        emit_layer(e, n_moe - 1);
    }
    e->category = MS_CAT_OTHER;
    e->graph = MS_GRAPH_ATTN;
    ms_emit_linear(e, &join);
    if (!ms_emit_backward(e)) {
        emit_layer(e, n_moe - 1);
        emit_loss(e);
    }
}

static int64_t moe_layers_before(const struct ms_arch *arch, int64_t layer)
{
    int64_t n = 0;
    for (int64_t i = 0; i < layer; i++)
        n += arch->layers[i].moe;
    return n;
}

static void emit_layers(struct ms_emitter *e, const struct ms_chunk *chunk)
{
    const struct ms_arch *a = e->step->arch;
    bool backward = ms_emit_backward(e);
    for (int64_t i = 0; i < chunk->n_layers; i++) {
        int64_t layer = chunk->first_layer + (backward ? chunk->n_layers - 1 - i : i);
        e->layer = layer;
        e->kind = &a->layers[layer];
        emit_layer(e, moe_layers_before(a, layer));
    }
}

void ms_ops_chunk(const struct ms_step *step, const struct ms_work *work, struct ms_ops *ops)
{
    const struct ms_chunk *chunk = ms_layout_chunk(step->layout, work->stage, work->v);
    struct ms_emitter e = {.step = step, .work = work, .ops = ops};
    int64_t n_moe = ms_arch_n_moe_layers(step->arch);
    bool backward = work->pass == MS_PASS_BACKWARD;
    if (chunk->embedding && !backward)
        emit_embedding(&e);
    for (int64_t i = 0; backward && i < chunk->n_mtp; i++)
        emit_mtp(&e, n_moe);
    if (chunk->loss && backward)
        emit_loss(&e);
    emit_layers(&e, chunk);
    if (chunk->loss && !backward)
        emit_loss(&e);
    for (int64_t i = 0; !backward && i < chunk->n_mtp; i++)
        emit_mtp(&e, n_moe);
    if (chunk->embedding && backward)
        emit_embedding(&e);
}
