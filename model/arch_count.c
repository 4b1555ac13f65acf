/* arch_count.c - how many parameters an architecture has, and how much matrix work a token is.
 *
 * Everything is a sum of widths; no table of models. docs/models.md compares with published values.
 */
#include "model/arch.h"

/* All widths are at most 2^31, so that a product of two is exact enough, and the limit on total
 * parameters (arch.c) keeps the sums exact. */
static double product(int64_t a, int64_t b)
{
    return (double)a * (double)b;
}

int64_t ms_arch_qk_dim(const struct ms_arch *arch)
{
    return arch->attention == MS_ATTENTION_MLA ? arch->qk_nope_head_dim + arch->qk_rope_head_dim
                                               : arch->head_dim;
}

int64_t ms_arch_v_dim(const struct ms_arch *arch)
{
    return arch->attention == MS_ATTENTION_MLA ? arch->v_head_dim : arch->head_dim;
}

int64_t ms_arch_n_moe_layers(const struct ms_arch *arch)
{
    int64_t n = 0;
    for (int64_t i = 0; i < arch->n_layers; i++)
        n += arch->layers[i].moe;
    return n;
}

/* --- weights of the matrices ------------------------------------------------------------------ */

/* Multi-head latent attention. Source: arXiv:2405.04434 section 2.1: q (through q_lora_rank if
 * any), joint down-projection of k and v with the shared rotary key, up-projection, output. */
static double mla_weights(const struct ms_arch *a)
{
    double q_out = product(a->heads, ms_arch_qk_dim(a));
    double q = a->q_lora_rank ? (double)a->q_lora_rank * ((double)a->hidden + q_out)
                              : (double)a->hidden * q_out;
    double kv_down = (double)a->hidden * (double)(a->kv_lora_rank + a->qk_rope_head_dim);
    double kv_up = (double)a->kv_lora_rank * product(a->heads, a->qk_nope_head_dim + a->v_head_dim);
    return q + kv_down + kv_up + product(a->heads, a->v_head_dim) * (double)a->hidden;
}

static double gqa_weights(const struct ms_arch *a)
{
    return 2 * (double)a->hidden * (double)a->head_dim * (double)(a->heads + a->kv_heads);
}

static double attention_weights(const struct ms_arch *a)
{
    return a->attention == MS_ATTENTION_MLA ? mla_weights(a) : gqa_weights(a);
}

/* Gate, up and down. */
static double mlp_weights(const struct ms_arch *a, int64_t width)
{
    return 3 * product(a->hidden, width);
}

/* --- parameters ------------------------------------------------------------------------------- */

static double attention_bias_params(const struct ms_arch *a)
{
    double n = a->attention_out_bias ? (double)a->hidden : 0;
    if (!a->attention_bias)
        return n;
    if (a->attention == MS_ATTENTION_MLA)
        return n + (double)(a->q_lora_rank + a->kv_lora_rank + a->qk_rope_head_dim);
    return n + (double)a->head_dim * (double)(a->heads + 2 * a->kv_heads);
}

static double attention_params(const struct ms_arch *a)
{
    double n = attention_weights(a) + attention_bias_params(a) + (double)a->qk_norm_params;
    if (a->attention == MS_ATTENTION_MLA)
        n += (double)(a->q_lora_rank + a->kv_lora_rank); /* norms after the down-projections */
    return n + (a->attention_sinks ? (double)a->heads : 0);
}

static double mlp_params(const struct ms_arch *a, int64_t width, bool bias)
{
    return mlp_weights(a, width) + (bias ? 2 * (double)width + (double)a->hidden : 0);
}

static double layer_params(const struct ms_params *p, const struct ms_arch *a, bool moe)
{
    double mlp = moe ? p->router + (double)a->n_experts * p->expert + p->shared : p->dense_mlp;
    return p->attention + p->norms + mlp;
}

static void part_params(const struct ms_arch *a, struct ms_params *p)
{
    const double norm = (double)a->hidden * (a->norm_bias ? 2 : 1);
    p->embedding = product(a->vocab, a->hidden);
    p->head = (a->tied_embeddings ? 0 : product(a->vocab, a->hidden)) +
              (a->head_bias ? (double)a->vocab : 0);
    p->final_norm = norm;
    p->attention = attention_params(a);
    p->norms = norm * (double)a->norms_per_layer;
    if (a->dense_ffn)
        p->dense_mlp = mlp_params(a, a->dense_ffn, a->mlp_bias);
    if (a->n_experts) {
        p->router = product(a->hidden, a->n_experts) + (a->router_bias ? (double)a->n_experts : 0);
        p->expert = mlp_params(a, a->moe_ffn, a->expert_bias);
    }
    if (a->shared_ffn)
        p->shared = mlp_weights(a, a->shared_ffn) + (a->shared_gate ? (double)a->hidden : 0);
    /* Projection of [hidden state, embedding], their two norms, and the norm before the head.
     * Source: arXiv:2412.19437 section 2.2 and the weights of DeepSeek-V3's layer 61. */
    p->mtp_extra = 2 * product(a->hidden, a->hidden) + 3 * norm;
}

void ms_arch_params(const struct ms_arch *arch, struct ms_params *out)
{
    struct ms_params p = {0};
    double idle = (double)(arch->n_experts - arch->topk) * (double)ms_arch_n_moe_layers(arch);
    MS_REQUIRE(arch->n_layers > 0);
    part_params(arch, &p);
    p.total = p.embedding + p.head + p.final_norm;
    for (int64_t i = 0; i < arch->n_layers; i++)
        p.total += layer_params(&p, arch, arch->layers[i].moe);
    p.active = p.total - idle * p.expert;
    p.active_without_embedding = p.active - (arch->tied_embeddings ? 0 : p.embedding);
    p.total_with_mtp =
        p.total + (double)arch->n_mtp *
                      (p.mtp_extra + layer_params(&p, arch, arch->layers[arch->n_layers - 1].moe));
    *out = p;
}

/* --- work ------------------------------------------------------------------------------------- */

double ms_arch_mean_context(const struct ms_layer_kind *layer, int64_t seq_len)
{
    const double s = (double)seq_len, w = (double)layer->attention_span;
    int64_t rest;
    MS_REQUIRE(seq_len > 0);
    if (layer->attention_span == 0 || layer->attention_span >= seq_len)
        return s / 2;
    if (!layer->chunked)
        return w - w * w / (2 * s);
    rest = seq_len % layer->attention_span;
    return ((double)(seq_len - rest) * w + product(rest, rest)) / (2 * s);
}

double ms_arch_attention_core_flop(const struct ms_arch *arch, const struct ms_layer_kind *layer,
                                   int64_t seq_len)
{
    return 2 * ms_arch_mean_context(layer, seq_len) * (double)arch->heads *
           (double)(ms_arch_qk_dim(arch) + ms_arch_v_dim(arch));
}

/* Adds one layer's forward work to the parts of `f`. */
static void add_layer(const struct ms_arch *a, const struct ms_layer_kind *layer, int64_t seq_len,
                      struct ms_flops *f)
{
    f->attention_proj += 2 * attention_weights(a);
    f->attention_core += ms_arch_attention_core_flop(a, layer, seq_len);
    if (!layer->moe) {
        f->dense_mlp += 2 * mlp_weights(a, a->dense_ffn);
        return;
    }
    f->experts += 2 * (double)a->topk * mlp_weights(a, a->moe_ffn);
    f->shared += 2 * mlp_weights(a, a->shared_ffn);
    f->router += 2 * (product(a->hidden, a->n_experts) + (a->shared_gate ? (double)a->hidden : 0));
}

static double layer_sum(const struct ms_flops *f)
{
    return f->attention_proj + f->attention_core + f->dense_mlp + f->experts + f->shared;
}

void ms_arch_flops(const struct ms_arch *arch, int64_t seq_len, int64_t n_mtp, struct ms_flops *out)
{
    struct ms_flops f = {0}, module = {0};
    MS_REQUIRE(seq_len > 0 && n_mtp >= 0 && arch->n_layers > 0);
    for (int64_t i = 0; i < arch->n_layers; i++)
        add_layer(arch, &arch->layers[i], seq_len, &f);
    add_layer(arch, &arch->layers[arch->n_layers - 1], seq_len, &module);
    f.head = 2 * product(arch->vocab, arch->hidden);
    f.mtp = (double)n_mtp * (layer_sum(&module) + 4 * product(arch->hidden, arch->hidden) + f.head);
    f.router += (double)n_mtp * module.router;
    f.total_train = 3 * (layer_sum(&f) + f.head + f.mtp);
    *out = f;
}
