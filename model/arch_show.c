/* arch_show.c - prints architectures: `moesim model list` and `moesim model show`, for people and
 * as JSON. */
#include "model/arch.h"

#include "base/data.h"
#include "base/jsonw.h"
#include "base/table.h"

#include <string.h>

enum { LIST_SEQ_LEN = 4096 }; /* tokens per sequence of the figures in the list */

/* A run of layers that are alike, in the order of first appearance. */
struct layer_group {
    struct ms_layer_kind kind;
    int64_t count;
};

static bool same_kind(const struct ms_layer_kind *a, const struct ms_layer_kind *b)
{
    return a->moe == b->moe && a->attention_span == b->attention_span && a->chunked == b->chunked;
}

/* Writes up to n_layers groups; returns how many. */
static int64_t group_layers(const struct ms_arch *a, struct layer_group *groups)
{
    int64_t n = 0, g;
    for (int64_t i = 0; i < a->n_layers; i++) {
        for (g = 0; g < n && !same_kind(&groups[g].kind, &a->layers[i]); g++)
            continue;
        if (g == n)
            groups[n++] = (struct layer_group){a->layers[i], 0};
        groups[g].count++;
    }
    return n;
}

static void kind_text(const struct ms_layer_kind *kind, char *out, size_t n)
{
    const char *mlp = kind->moe ? "moe" : "dense";
    if (kind->attention_span)
        snprintf(out, n, "%s, %s %lld", mlp, kind->chunked ? "chunk" : "window",
                 (long long)kind->attention_span);
    else
        snprintf(out, n, "%s", mlp);
}

static double layer_params(const struct ms_arch *a, const struct ms_params *p, bool moe)
{
    double mlp = moe ? p->router + (double)a->n_experts * p->expert + p->shared : p->dense_mlp;
    return p->attention + p->norms + mlp;
}

static void convention_text(int64_t seq_len, int64_t n_mtp, struct ms_buf *out)
{
    ms_buf_printf(
        out,
        "Megatron: 3 x forward, 2 flop per multiply-add; active GEMM weights with one output "
        "head, causal attention halved (S/2 keys per query at S = %lld; window W: W - W^2/2S); "
        "embedding, router, norms and recompute not counted; ",
        (long long)seq_len);
    if (n_mtp)
        ms_buf_printf(out, "%lld MTP module(s) counted: a layer, 2h x h, and a head each",
                      (long long)n_mtp);
    else
        ms_buf_puts(out, "no MTP");
}

/* --- the parts, once for both forms ----------------------------------------------------------- */

struct part {
    const char *key;
    size_t offset;
};

static const struct part PARAM_PARTS[] = {
    {"embedding", offsetof(struct ms_params, embedding)},
    {"head", offsetof(struct ms_params, head)},
    {"final_norm", offsetof(struct ms_params, final_norm)},
    {"attention_per_layer", offsetof(struct ms_params, attention)},
    {"norms_per_layer", offsetof(struct ms_params, norms)},
    {"dense_mlp_per_layer", offsetof(struct ms_params, dense_mlp)},
    {"router_per_layer", offsetof(struct ms_params, router)},
    {"expert", offsetof(struct ms_params, expert)},
    {"shared_per_layer", offsetof(struct ms_params, shared)},
    {"mtp_extra", offsetof(struct ms_params, mtp_extra)},
};

static const struct part FLOP_PARTS[] = {
    {"attention_proj", offsetof(struct ms_flops, attention_proj)},
    {"attention_core", offsetof(struct ms_flops, attention_core)},
    {"dense_mlp", offsetof(struct ms_flops, dense_mlp)},
    {"experts", offsetof(struct ms_flops, experts)},
    {"shared", offsetof(struct ms_flops, shared)},
    {"head", offsetof(struct ms_flops, head)},
    {"mtp", offsetof(struct ms_flops, mtp)},
};

enum {
    N_PARAM_PARTS = sizeof(PARAM_PARTS) / sizeof(PARAM_PARTS[0]),
    N_FLOP_PARTS = sizeof(FLOP_PARTS) / sizeof(FLOP_PARTS[0])
};

static double part_value(const struct part *part, const void *object)
{
    double x;
    memcpy(&x, (const char *)object + part->offset, sizeof(x));
    return x;
}

static double train_gflop(double forward_flop)
{
    return 3 * forward_flop / 1e9;
}

/* --- JSON ------------------------------------------------------------------------------------- */

struct int_part {
    const char *key;
    int64_t value;
};

static void json_ints(struct ms_jsonw *w, const struct int_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ms_jsonw_int(w, parts[i].key, parts[i].value);
}

static void json_attention(struct ms_jsonw *w, const struct ms_arch *a)
{
    const struct int_part gqa[] = {
        {"heads", a->heads}, {"kv_heads", a->kv_heads}, {"head_dim", a->head_dim}};
    const struct int_part mla[] = {{"heads", a->heads},
                                   {"q_lora_rank", a->q_lora_rank},
                                   {"kv_lora_rank", a->kv_lora_rank},
                                   {"qk_nope_head_dim", a->qk_nope_head_dim},
                                   {"qk_rope_head_dim", a->qk_rope_head_dim},
                                   {"v_head_dim", a->v_head_dim}};
    bool is_mla = a->attention == MS_ATTENTION_MLA;
    ms_jsonw_open(w, "attention", '{');
    ms_jsonw_string(w, "kind", is_mla ? "mla" : "gqa");
    if (is_mla)
        json_ints(w, mla, sizeof(mla) / sizeof(mla[0]));
    else
        json_ints(w, gqa, sizeof(gqa) / sizeof(gqa[0]));
    ms_jsonw_close(w, '}');
}

static void json_shape(struct ms_jsonw *w, const struct ms_arch *a)
{
    const struct int_part shape[] = {
        {"hidden", a->hidden},       {"vocab", a->vocab},
        {"n_layers", a->n_layers},   {"n_moe_layers", ms_arch_n_moe_layers(a)},
        {"n_mtp", a->n_mtp},         {"dense_ffn", a->dense_ffn},
        {"moe_ffn", a->moe_ffn},     {"shared_ffn", a->shared_ffn},
        {"n_experts", a->n_experts}, {"topk", a->topk},
        {"n_groups", a->n_groups},   {"topk_groups", a->topk_groups}};
    ms_jsonw_string(w, "name", a->name);
    ms_jsonw_string(w, "model_type", a->model_type);
    json_ints(w, shape, sizeof(shape) / sizeof(shape[0]));
    ms_jsonw_bool(w, "tied_embeddings", a->tied_embeddings);
    json_attention(w, a);
}

static void json_layers(struct ms_jsonw *w, const struct ms_arch *a, const struct ms_params *p)
{
    struct layer_group groups[MS_LAYERS_MAX];
    int64_t n = group_layers(a, groups);
    ms_jsonw_open(w, "layers", '[');
    for (int64_t g = 0; g < n; g++) {
        double each = layer_params(a, p, groups[g].kind.moe);
        char text[64];
        kind_text(&groups[g].kind, text, sizeof(text));
        ms_jsonw_open(w, NULL, '{');
        ms_jsonw_string(w, "kind", text);
        ms_jsonw_bool(w, "moe", groups[g].kind.moe);
        ms_jsonw_int(w, "attention_span", groups[g].kind.attention_span);
        ms_jsonw_int(w, "count", groups[g].count);
        ms_jsonw_int(w, "params", (int64_t)each);
        ms_jsonw_int(w, "params_all", (int64_t)each * groups[g].count);
        ms_jsonw_close(w, '}');
    }
    ms_jsonw_close(w, ']');
}

static void json_params(struct ms_jsonw *w, const struct ms_arch *a, const struct ms_params *p)
{
    ms_jsonw_int(w, "total_params", (int64_t)p->total);
    ms_jsonw_int(w, "total_params_with_mtp", (int64_t)p->total_with_mtp);
    ms_jsonw_int(w, "active_params", (int64_t)p->active);
    ms_jsonw_int(w, "active_params_without_embedding", (int64_t)p->active_without_embedding);
    json_layers(w, a, p);
    ms_jsonw_open(w, "params", '{');
    for (size_t i = 0; i < N_PARAM_PARTS; i++)
        ms_jsonw_int(w, PARAM_PARTS[i].key, (int64_t)part_value(&PARAM_PARTS[i], p));
    ms_jsonw_close(w, '}');
}

static void show_json(const struct ms_arch *a, int64_t seq_len, int64_t n_mtp, struct ms_buf *out)
{
    struct ms_jsonw w = {.out = out};
    struct ms_buf convention = {0};
    struct ms_params p;
    struct ms_flops f;
    ms_arch_params(a, &p);
    ms_arch_flops(a, seq_len, n_mtp, &f);
    ms_jsonw_open(&w, NULL, '{');
    json_shape(&w, a);
    json_params(&w, a, &p);
    ms_jsonw_int(&w, "seq_len", seq_len);
    ms_jsonw_int(&w, "mtp", n_mtp);
    ms_jsonw_number(&w, "gflop_per_token", f.total_train / 1e9);
    ms_jsonw_open(&w, "gflop_per_token_parts", '{');
    for (size_t i = 0; i < N_FLOP_PARTS; i++)
        ms_jsonw_number(&w, FLOP_PARTS[i].key, train_gflop(part_value(&FLOP_PARTS[i], &f)));
    ms_jsonw_close(&w, '}');
    ms_jsonw_number(&w, "router_gflop_per_token", train_gflop(f.router));
    convention_text(seq_len, n_mtp, &convention);
    ms_jsonw_string(&w, "flop_convention", convention.text);
    ms_jsonw_close(&w, '}');
    ms_buf_puts(out, "\n");
    ms_buf_free(&convention);
}

/* --- text ------------------------------------------------------------------------------------- */

static void text_shape(const struct ms_arch *a, struct ms_buf *out)
{
    ms_buf_printf(out, "%s (%s)\n", a->name, a->model_type[0] ? a->model_type : "no model_type");
    ms_buf_printf(out, "  hidden %lld, vocabulary %lld%s, %lld layers + %lld MTP\n",
                  (long long)a->hidden, (long long)a->vocab, a->tied_embeddings ? " (tied)" : "",
                  (long long)a->n_layers, (long long)a->n_mtp);
    if (a->attention == MS_ATTENTION_MLA)
        ms_buf_printf(
            out,
            "  attention MLA: %lld heads, q rank %lld, kv rank %lld, head %lld + %lld, v %lld\n",
            (long long)a->heads, (long long)a->q_lora_rank, (long long)a->kv_lora_rank,
            (long long)a->qk_nope_head_dim, (long long)a->qk_rope_head_dim,
            (long long)a->v_head_dim);
    else
        ms_buf_printf(out, "  attention GQA: %lld heads, %lld key/value heads of %lld\n",
                      (long long)a->heads, (long long)a->kv_heads, (long long)a->head_dim);
    if (a->n_experts)
        ms_buf_printf(
            out,
            "  experts: %lld of width %lld, top-%lld (%lld of %lld groups), shared width %lld\n",
            (long long)a->n_experts, (long long)a->moe_ffn, (long long)a->topk,
            (long long)a->topk_groups, (long long)a->n_groups, (long long)a->shared_ffn);
    if (a->dense_ffn)
        ms_buf_printf(out, "  dense MLP width %lld\n", (long long)a->dense_ffn);
}

static void text_layers(const struct ms_arch *a, const struct ms_params *p, struct ms_buf *out)
{
    struct layer_group groups[MS_LAYERS_MAX];
    struct ms_table *table = ms_table_new("lrrr");
    static const char *const head[] = {"layers", "count", "params each [M]", "params [B]"};
    int64_t n = group_layers(a, groups);
    for (int i = 0; i < 4; i++)
        ms_table_cell(table, "%s", head[i]);
    for (int64_t g = 0; g < n; g++) {
        double each = layer_params(a, p, groups[g].kind.moe);
        char text[64];
        kind_text(&groups[g].kind, text, sizeof(text));
        ms_table_cell(table, "%s", text);
        ms_table_cell(table, "%lld", (long long)groups[g].count);
        ms_table_cell(table, "%.3f", each / 1e6);
        ms_table_cell(table, "%.3f", each * (double)groups[g].count / 1e9);
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
}

static void text_flops(const struct ms_flops *f, int64_t seq_len, struct ms_buf *out)
{
    struct ms_table *table = ms_table_new("lr");
    ms_table_cell(table, "GFLOP per token, S = %lld", (long long)seq_len);
    ms_table_cell(table, "%.3f", f->total_train / 1e9);
    for (size_t i = 0; i < N_FLOP_PARTS; i++) {
        ms_table_cell(table, "  %s", FLOP_PARTS[i].key);
        ms_table_cell(table, "%.3f", train_gflop(part_value(&FLOP_PARTS[i], f)));
    }
    ms_table_cell(table, "  (router, not counted)");
    ms_table_cell(table, "%.3f", train_gflop(f->router));
    ms_table_print(table, 2, out);
    ms_table_free(table);
}

static void show_text(const struct ms_arch *a, int64_t seq_len, int64_t n_mtp, struct ms_buf *out)
{
    struct ms_params p;
    struct ms_flops f;
    ms_arch_params(a, &p);
    ms_arch_flops(a, seq_len, n_mtp, &f);
    text_shape(a, out);
    ms_buf_puts(out, "\n");
    text_layers(a, &p, out);
    ms_buf_printf(
        out, "\n  parameters %.3f B, active %.3f B (%.3f B without the input embedding)%s",
        p.total / 1e9, p.active / 1e9, p.active_without_embedding / 1e9, a->n_mtp ? "" : "\n\n");
    if (a->n_mtp)
        ms_buf_printf(out, ", with MTP %.3f B\n\n", p.total_with_mtp / 1e9);
    text_flops(&f, seq_len, out);
    ms_buf_puts(out, "\n  Counted as: ");
    convention_text(seq_len, n_mtp, out);
    ms_buf_puts(out, "\n");
}

void ms_arch_show(const struct ms_arch *arch, int64_t seq_len, int64_t n_mtp, bool json,
                  struct ms_buf *out)
{
    if (json)
        show_json(arch, seq_len, n_mtp, out);
    else
        show_text(arch, seq_len, n_mtp, out);
}

/* --- list ------------------------------------------------------------------------------------- */

static void list_row(struct ms_table *table, const struct ms_arch *a)
{
    struct ms_params p;
    struct ms_flops f;
    ms_arch_params(a, &p);
    ms_arch_flops(a, LIST_SEQ_LEN, 0, &f);
    ms_table_cell(table, "%s", a->name);
    ms_table_cell(table, "%lld", (long long)a->n_layers);
    ms_table_cell(table, "%lld", (long long)a->hidden);
    ms_table_cell(table, "%lld", (long long)a->n_experts);
    ms_table_cell(table, "%lld", (long long)a->topk);
    ms_table_cell(table, "%.1f", p.total / 1e9);
    ms_table_cell(table, "%.1f", p.active / 1e9);
    ms_table_cell(table, "%.1f", f.total_train / 1e9);
}

enum ms_status ms_arch_list(struct ms_buf *out, struct ms_error *err)
{
    static const char *const head[] = {"model", "layers",     "hidden",     "experts",
                                       "top-k", "params [B]", "active [B]", "GFLOP/token at 4096"};
    struct ms_table *table = ms_table_new("lrrrrrrr");
    enum ms_status status = MS_OK;
    char **names = ms_arch_names();
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (int i = 0; names[i] && status == MS_OK; i++) {
        struct ms_arch a;
        status = ms_arch_load(names[i], &a, err);
        if (status == MS_OK)
            list_row(table, &a);
    }
    if (status == MS_OK)
        ms_table_print(table, 0, out);
    ms_data_list_free(names);
    ms_table_free(table);
    return status;
}
