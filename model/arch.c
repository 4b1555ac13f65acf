/* arch.c - fills struct ms_arch from a config.json, and finds the built-in ones.
 *
 * arch_keys.c reads the keys; here they become widths, experts and layers, and are checked against
 * each other. Nothing is guessed: a key that is needed and absent, or keys that disagree, are an
 * error. docs/models.md lists the keys. Counting is in arch_count.c, printing in arch_show.c.
 */
#include "model/arch.h"

#include "model/arch_keys.h"

#include "base/data.h"
#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 4 << 20, PATH_LIMIT = 4096 };
#define PARAMS_MAX    9007199254740992.0 /* 2^53: counts are exact in a double up to here */
#define MODELS_FOLDER "model/models"
#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))

/* --- widths ----------------------------------------------------------------------------------- */

static enum ms_status fill_sizes(const struct ms_arch_keys *r, struct ms_arch *a)
{
    static const enum ms_arch_int_key needed[] = {MS_KEY_HIDDEN, MS_KEY_N_LAYERS, MS_KEY_VOCAB,
                                                  MS_KEY_HEADS};
    for (size_t i = 0; i < COUNT(needed); i++) {
        enum ms_status status = ms_arch_keys_need(r, needed[i]);
        if (status != MS_OK)
            return status;
    }
    a->hidden = r->value[MS_KEY_HIDDEN];
    a->n_layers = r->value[MS_KEY_N_LAYERS];
    a->vocab = r->value[MS_KEY_VOCAB];
    a->heads = r->value[MS_KEY_HEADS];
    a->n_mtp = ms_arch_keys_or(r, MS_KEY_N_MTP, 0);
    return MS_OK;
}

static enum ms_status fill_mla(const struct ms_arch_keys *r, struct ms_arch *a)
{
    static const enum ms_arch_int_key needed[] = {MS_KEY_QK_NOPE, MS_KEY_QK_ROPE, MS_KEY_V_DIM};
    for (size_t i = 0; i < COUNT(needed); i++) {
        enum ms_status status = ms_arch_keys_need(r, needed[i]);
        if (status != MS_OK)
            return status;
    }
    a->attention = MS_ATTENTION_MLA;
    a->q_lora_rank = ms_arch_keys_or(r, MS_KEY_Q_LORA, 0);
    a->kv_lora_rank = r->value[MS_KEY_KV_LORA];
    a->qk_nope_head_dim = r->value[MS_KEY_QK_NOPE];
    a->qk_rope_head_dim = r->value[MS_KEY_QK_ROPE];
    a->v_head_dim = r->value[MS_KEY_V_DIM];
    a->kv_heads = a->heads;
    a->head_dim = a->qk_nope_head_dim + a->qk_rope_head_dim;
    return MS_OK;
}

static enum ms_status fill_gqa(const struct ms_arch_keys *r, struct ms_arch *a)
{
    a->attention = MS_ATTENTION_GQA;
    a->kv_heads = ms_arch_keys_or(r, MS_KEY_KV_HEADS, a->heads);
    if (a->heads % a->kv_heads != 0)
        return ms_arch_keys_fail(r, r->key[MS_KEY_KV_HEADS], "%lld does not divide %s %lld",
                                 (long long)a->kv_heads, r->key[MS_KEY_HEADS], (long long)a->heads);
    if (!ms_arch_keys_given(r, MS_KEY_HEAD_DIM) && a->hidden % a->heads != 0)
        return ms_arch_keys_fail(
            r, r->key[MS_KEY_HEAD_DIM], "is missing, and %s %lld is not a multiple of %s %lld",
            r->key[MS_KEY_HIDDEN], (long long)a->hidden, r->key[MS_KEY_HEADS], (long long)a->heads);
    a->head_dim = ms_arch_keys_or(r, MS_KEY_HEAD_DIM, a->hidden / a->heads);
    return MS_OK;
}

/* All heads together are a width too. */
static enum ms_status check_heads(const struct ms_arch_keys *r, const struct ms_arch *a)
{
    int64_t qk = ms_arch_qk_dim(a), v = ms_arch_v_dim(a), wider = qk > v ? qk : v;
    if ((double)a->heads * (double)wider <= MS_ARCH_DIM_MAX)
        return MS_OK;
    return ms_arch_keys_fail(r, r->key[MS_KEY_HEADS], "%lld heads of %lld are wider than %.0f",
                             (long long)a->heads, (long long)wider, MS_ARCH_DIM_MAX);
}

static bool flag_or(const struct ms_arch_keys *r, enum ms_arch_bool_key k, uint32_t family_flag)
{
    return r->flag[k] == MS_ARCH_ABSENT ? (r->family & family_flag) != 0 : r->flag[k] == 1;
}

static void fill_flags(const struct ms_arch_keys *r, struct ms_arch *a)
{
    const char *method = ms_arch_keys_text(r, "topk_method");
    const char *norm = ms_arch_keys_text(r, "qk_norm_type");
    bool all_bias = r->flag[MS_KEY_LINEAR_BIAS] == 1;
    bool wide = (r->family & MS_FAMILY_QK_NORM_WIDE) || (norm && strcmp(norm, "per_layer") == 0);
    a->tied_embeddings = flag_or(r, MS_KEY_TIED, MS_FAMILY_TIED);
    a->head_bias = flag_or(r, MS_KEY_HEAD_BIAS, 0);
    a->attention_bias =
        all_bias || r->flag[MS_KEY_QKV_BIAS] == 1 ||
        (r->flag[MS_KEY_QKV_BIAS] == MS_ARCH_ABSENT &&
         r->flag[MS_KEY_LINEAR_BIAS] == MS_ARCH_ABSENT && (r->family & MS_FAMILY_QKV_BIAS));
    a->attention_out_bias =
        (all_bias && !(r->family & MS_FAMILY_NO_OUT_BIAS)) ||
        (r->flag[MS_KEY_LINEAR_BIAS] == MS_ARCH_ABSENT && (r->family & MS_FAMILY_OUT_BIAS));
    a->qk_norm = a->attention == MS_ATTENTION_GQA && flag_or(r, MS_KEY_QK_NORM, MS_FAMILY_QK_NORM);
    if (a->qk_norm && !(r->family & MS_FAMILY_QK_NORM_BARE))
        a->qk_norm_params = (wide ? a->heads + a->kv_heads : 2) * a->head_dim;
    a->attention_sinks = r->family & MS_FAMILY_SINKS;
    a->expert_bias = r->family & MS_FAMILY_EXPERT_BIAS;
    a->mlp_bias = flag_or(r, MS_KEY_MLP_BIAS, 0);
    a->norm_bias = r->family & MS_FAMILY_NORM_BIAS;
    a->norms_per_layer = r->family & MS_FAMILY_FOUR_NORMS ? 4 : 2;
    a->shared_gate = r->family & MS_FAMILY_SHARED_GATE;
    a->router_bias = method ? strcmp(method, "noaux_tc") == 0
                            : flag_or(r, MS_KEY_ROUTER_BIAS, MS_FAMILY_ROUTER_BIAS);
}

/* --- experts ---------------------------------------------------------------------------------- */

static enum ms_status fill_groups(const struct ms_arch_keys *r, struct ms_arch *a)
{
    int64_t groups = ms_arch_keys_or(r, MS_KEY_GROUPS, 1);
    int64_t used = ms_arch_keys_or(r, MS_KEY_TOPK_GROUPS, 1);
    a->n_groups = groups ? groups : 1;
    a->topk_groups = used ? used : 1;
    if (a->n_experts % a->n_groups != 0)
        return ms_arch_keys_fail(r, r->key[MS_KEY_GROUPS], "%lld does not divide %s %lld",
                                 (long long)a->n_groups, r->key[MS_KEY_N_EXPERTS],
                                 (long long)a->n_experts);
    if (a->topk_groups > a->n_groups)
        return ms_arch_keys_fail(r, r->key[MS_KEY_TOPK_GROUPS], "%lld is more than %s %lld",
                                 (long long)a->topk_groups, r->key[MS_KEY_GROUPS],
                                 (long long)a->n_groups);
    if (a->topk > a->n_experts / a->n_groups * a->topk_groups)
        return ms_arch_keys_fail(
            r, r->key[MS_KEY_TOPK], "%lld is more than the %lld experts of %lld groups",
            (long long)a->topk, (long long)(a->n_experts / a->n_groups * a->topk_groups),
            (long long)a->topk_groups);
    return MS_OK;
}

/* The total width is given as such, or as a number of shared experts of one width. */
static enum ms_status fill_shared(const struct ms_arch_keys *r, struct ms_arch *a)
{
    int64_t n = ms_arch_keys_or(r, MS_KEY_N_SHARED, r->family & MS_FAMILY_SHARED_ONE ? 1 : 0);
    int64_t each = ms_arch_keys_or(r, MS_KEY_SHARED_EACH, a->moe_ffn);
    double product = (double)n * (double)each;
    if (product > MS_ARCH_DIM_MAX)
        return ms_arch_keys_fail(r, r->key[MS_KEY_N_SHARED],
                                 "%lld experts of width %lld are wider than %.0f", (long long)n,
                                 (long long)each, MS_ARCH_DIM_MAX);
    a->shared_ffn = ms_arch_keys_or(r, MS_KEY_SHARED_FFN, n * each);
    if (ms_arch_keys_given(r, MS_KEY_SHARED_FFN) && ms_arch_keys_given(r, MS_KEY_N_SHARED) &&
        n != 1 && a->shared_ffn != n * each)
        return ms_arch_keys_fail(r, r->key[MS_KEY_SHARED_FFN],
                                 "%lld is neither absent nor %s %lld x the width of one, %lld",
                                 (long long)a->shared_ffn, r->key[MS_KEY_N_SHARED], (long long)n,
                                 (long long)each);
    return MS_OK;
}

static enum ms_status fill_experts(const struct ms_arch_keys *r, struct ms_arch *a)
{
    enum ms_arch_int_key width =
        ms_arch_keys_given(r, MS_KEY_MOE_FFN) ? MS_KEY_MOE_FFN : MS_KEY_FFN;
    enum ms_status status;
    a->n_groups = a->topk_groups = 1;
    a->n_experts = ms_arch_keys_or(r, MS_KEY_N_EXPERTS, 0);
    if (!a->n_experts)
        return MS_OK;
    status = ms_arch_keys_need(r, MS_KEY_TOPK);
    if (status == MS_OK)
        status = ms_arch_keys_need(r, width);
    if (status != MS_OK)
        return status;
    a->topk = r->value[MS_KEY_TOPK];
    a->moe_ffn = r->value[width];
    if (a->topk < 1 || a->topk > a->n_experts)
        return ms_arch_keys_fail(r, r->key[MS_KEY_TOPK], "%lld is outside 1 to %s %lld",
                                 (long long)a->topk, r->key[MS_KEY_N_EXPERTS],
                                 (long long)a->n_experts);
    status = fill_groups(r, a);
    return status == MS_OK ? fill_shared(r, a) : status;
}

/* --- which layers have experts ---------------------------------------------------------------- */

/* Checks that `key` is a list (of `n` entries; -1: any number); *out is NULL if it is absent. */
static enum ms_status find_list(const struct ms_arch_keys *r, const char *key, int64_t n,
                                const json_t **out)
{
    const json_t *list = ms_arch_keys_find(r, key);
    *out = NULL;
    if (!list)
        return MS_OK;
    if (!json_is_array(list))
        return ms_arch_keys_fail(r, key, "is %s; must be a list", ms_arch_keys_type(list));
    if (n >= 0 && json_array_size(list) != (size_t)n)
        return ms_arch_keys_fail(r, key, "has %zu entries; must have one per layer, %lld",
                                 json_array_size(list), (long long)n);
    *out = list;
    return MS_OK;
}

/* Reads a list of layer numbers: listed[i] for i < n. */
static enum ms_status read_layer_numbers(const struct ms_arch_keys *r, const char *key, int64_t n,
                                         bool *listed, bool *present)
{
    const json_t *list;
    enum ms_status status = find_list(r, key, -1, &list);
    memset(listed, 0, (size_t)n * sizeof(*listed));
    *present = list != NULL;
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= n)
            return ms_arch_keys_fail(r, key, "entry %zu is not a layer number, 0 to %lld", i,
                                     (long long)n - 1);
        listed[json_integer_value(v)] = true;
    }
    return status;
}

/* Reads a list of one 0 or 1 per layer. */
static enum ms_status read_layer_bits(const struct ms_arch_keys *r, const char *key, int64_t n,
                                      bool *bits, bool *present)
{
    const json_t *list;
    enum ms_status status = find_list(r, key, n, &list);
    *present = list != NULL;
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || (json_integer_value(v) != 0 && json_integer_value(v) != 1))
            return ms_arch_keys_fail(r, key, "entry %zu is not 0 or 1", i);
        bits[i] = json_integer_value(v) == 1;
    }
    return status;
}

/* Layers by number: layer i has experts if every rule that the config gives says so. Sources:
 * DeepSeek i >= first_k_dense_replace and i % moe_layer_freq == 0; Qwen, Ernie (i+1) % step == 0;
 * Llama 4 (i+1) % interleave_moe_layer_step == 0. */
static bool moe_by_number(const struct ms_arch_keys *r, int64_t i, bool use_interleave)
{
    int64_t last = ms_arch_keys_or(r, MS_KEY_LAST_MOE, MS_LAYERS_MAX);
    return i >= ms_arch_keys_or(r, MS_KEY_FIRST_MOE, 0) && i <= last &&
           i % ms_arch_keys_or(r, MS_KEY_MOE_FREQ, 1) == 0 &&
           (i + 1) % ms_arch_keys_or(r, MS_KEY_SPARSE_STEP, 1) == 0 &&
           (!use_interleave || (i + 1) % ms_arch_keys_or(r, MS_KEY_INTERLEAVE, 1) == 0);
}

static enum ms_status apply_moe_words(const struct ms_arch_keys *r, struct ms_arch *a)
{
    static const char *const words[] = {"dense", "sparse", "moe", NULL};
    const json_t *list;
    enum ms_status status = find_list(r, "mlp_layer_types", a->n_layers, &list);
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        int word = text ? ms_names_find(words, text) : -1;
        if (word < 0)
            return ms_arch_keys_fail(r, "mlp_layer_types", "entry %zu is not dense, sparse or moe",
                                     i);
        a->layers[i].moe = a->layers[i].moe && word != 0;
    }
    return status;
}

static enum ms_status fill_moe_layers(const struct ms_arch_keys *r, struct ms_arch *a)
{
    bool dense[MS_LAYERS_MAX], moe[MS_LAYERS_MAX], bits[MS_LAYERS_MAX];
    bool has_dense = false, has_moe = false, has_bits = false;
    enum ms_status status;
    if (ms_arch_keys_given(r, MS_KEY_FIRST_MOE) && r->value[MS_KEY_FIRST_MOE] > a->n_layers)
        return ms_arch_keys_fail(
            r, r->key[MS_KEY_FIRST_MOE], "%lld is more than %s; nearest legal value %lld",
            (long long)r->value[MS_KEY_FIRST_MOE], r->key[MS_KEY_N_LAYERS], (long long)a->n_layers);
    status = read_layer_numbers(r, "mlp_only_layers", a->n_layers, dense, &has_dense);
    if (status == MS_OK)
        status = read_layer_numbers(r, "moe_layers", a->n_layers, moe, &has_moe);
    if (status == MS_OK && json_is_array(ms_arch_keys_find(r, "moe_layer_freq")))
        status = read_layer_bits(r, "moe_layer_freq", a->n_layers, bits, &has_bits);
    if (status != MS_OK)
        return status;
    for (int64_t i = 0; i < a->n_layers; i++)
        a->layers[i].moe = a->n_experts && moe_by_number(r, i, !has_moe) &&
                           (!has_dense || !dense[i]) && (!has_moe || moe[i]) &&
                           (!has_bits || bits[i]);
    return apply_moe_words(r, a);
}

/* --- which layers see less than the whole context --------------------------------------------- */

static enum ms_status spans_from_types(const struct ms_arch_keys *r, struct ms_arch *a)
{
    static const char *const words[] = {"full_attention",    "attention",
                                        "global_attention",  "sliding_attention",
                                        "chunked_attention", NULL};
    enum { SLIDING = 3, CHUNKED = 4 };
    const json_t *list;
    enum ms_status status = find_list(r, "layer_types", a->n_layers, &list);
    for (int64_t i = 0; status == MS_OK && i < a->n_layers; i++) {
        const char *text = json_string_value(json_array_get(list, (size_t)i));
        int word = text ? ms_names_find(words, text) : -1;
        enum ms_arch_int_key span = word == CHUNKED ? MS_KEY_CHUNK : MS_KEY_WINDOW;
        if (word < 0)
            return ms_arch_keys_fail(
                r, "layer_types",
                "entry %lld is '%s': only full, sliding and chunked attention are modelled",
                (long long)i, text ? text : "not a string");
        if (word < SLIDING)
            continue;
        if (ms_arch_keys_or(r, span, 0) < 1)
            return ms_arch_keys_fail(r, r->key[span],
                                     "is missing, but layer_types entry %lld is '%s'", (long long)i,
                                     text);
        a->layers[i].attention_span = r->value[span];
        a->layers[i].chunked = word == CHUNKED;
    }
    return status;
}

/* Llama 4: no_rope_layers has 1 for chunked layers; if absent or empty every 4th is global. */
static enum ms_status spans_chunked(const struct ms_arch_keys *r, struct ms_arch *a)
{
    const int64_t step = ms_arch_keys_or(r, MS_KEY_GLOBAL_STEP, 4);
    bool local[MS_LAYERS_MAX] = {false}, has_local = false;
    const json_t *list = ms_arch_keys_find(r, "no_rope_layers");
    if (list && !(json_is_array(list) && json_array_size(list) == 0)) {
        enum ms_status status =
            read_layer_bits(r, "no_rope_layers", a->n_layers, local, &has_local);
        if (status != MS_OK)
            return status;
    }
    for (int64_t i = 0; i < a->n_layers; i++) {
        bool chunked = has_local ? local[i] : (i + 1) % step != 0;
        a->layers[i].attention_span = chunked ? r->value[MS_KEY_CHUNK] : 0;
        a->layers[i].chunked = chunked;
    }
    return MS_OK;
}

/* Mistral: all layers; Qwen with use_sliding_window: from max_window_layers on; Gemma, GPT-OSS: all
 * but every n-th. */
static void spans_sliding(const struct ms_arch_keys *r, struct ms_arch *a)
{
    int64_t window = r->flag[MS_KEY_USE_WINDOW] == 0 ? 0 : ms_arch_keys_or(r, MS_KEY_WINDOW, 0);
    int64_t from = r->flag[MS_KEY_USE_WINDOW] == 1 ? ms_arch_keys_or(r, MS_KEY_WINDOW_FROM, 0) : 0;
    int64_t pattern =
        ms_arch_keys_or(r, MS_KEY_WINDOW_PATTERN, r->family & MS_FAMILY_ALTERNATE ? 2 : 0);
    for (int64_t i = from; i < a->n_layers; i++)
        if (!pattern || (i + 1) % pattern != 0)
            a->layers[i].attention_span = window;
}

static enum ms_status fill_spans(const struct ms_arch_keys *r, struct ms_arch *a)
{
    if (ms_arch_keys_find(r, "layer_types"))
        return spans_from_types(r, a);
    if (ms_arch_keys_given(r, MS_KEY_CHUNK))
        return spans_chunked(r, a);
    spans_sliding(r, a);
    return MS_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Widths that no layer uses are zero, and dense layers must have one. */
static enum ms_status settle_mlps(const struct ms_arch_keys *r, struct ms_arch *a)
{
    int64_t n_moe = ms_arch_n_moe_layers(a);
    if (n_moe == 0) {
        a->n_experts = a->topk = a->moe_ffn = a->shared_ffn = 0;
        a->n_groups = a->topk_groups = 1;
        a->shared_gate = a->router_bias = a->expert_bias = false;
    }
    if (!a->shared_ffn)
        a->shared_gate = false;
    if (n_moe == a->n_layers)
        return MS_OK;
    if (!ms_arch_keys_given(r, MS_KEY_DENSE_FFN) && !ms_arch_keys_given(r, MS_KEY_FFN))
        return ms_arch_keys_fail(r, r->key[MS_KEY_FFN],
                                 "is missing: the width of the %lld dense layers",
                                 (long long)(a->n_layers - n_moe));
    a->dense_ffn =
        ms_arch_keys_given(r, MS_KEY_DENSE_FFN) ? r->value[MS_KEY_DENSE_FFN] : r->value[MS_KEY_FFN];
    return MS_OK;
}

static enum ms_status check_size(const struct ms_arch_keys *r, const struct ms_arch *a)
{
    struct ms_params params;
    ms_arch_params(a, &params);
    if (params.total_with_mtp <= PARAMS_MAX)
        return MS_OK;
    return ms_arch_keys_fail(r, r->key[MS_KEY_HIDDEN],
                             "the model has %.3g parameters, more than %.3g", params.total_with_mtp,
                             PARAMS_MAX);
}

static enum ms_status fill(struct ms_arch_keys *r, struct ms_arch *a)
{
    enum ms_status status = ms_arch_keys_read(r);
    if (status == MS_OK)
        status = fill_sizes(r, a);
    if (status == MS_OK)
        status = ms_arch_keys_given(r, MS_KEY_KV_LORA) ? fill_mla(r, a) : fill_gqa(r, a);
    if (status == MS_OK)
        status = check_heads(r, a);
    if (status != MS_OK)
        return status;
    fill_flags(r, a);
    status = fill_experts(r, a);
    if (status == MS_OK)
        status = fill_moe_layers(r, a);
    if (status == MS_OK)
        status = fill_spans(r, a);
    if (status == MS_OK)
        status = settle_mlps(r, a);
    return status == MS_OK ? check_size(r, a) : status;
}

/* "dir/kimi-k2.json" is kimi-k2, and "dir/config.json" is dir. */
static void set_name(const char *path, struct ms_arch *a)
{
    static const char plain[] = "/config.json", suffix[] = ".json";
    const size_t n_plain = sizeof(plain) - 1, n_suffix = sizeof(suffix) - 1;
    size_t end = strlen(path), begin;
    if (end > n_plain && strcmp(path + end - n_plain, plain) == 0)
        end -= n_plain;
    else if (end > n_suffix && strcmp(path + end - n_suffix, suffix) == 0)
        end -= n_suffix;
    for (begin = end; begin > 0 && path[begin - 1] != '/';)
        begin--;
    snprintf(a->name, sizeof(a->name), "%.*s", (int)(end - begin), path + begin);
}

enum ms_status ms_arch_parse(const char *name, const struct ms_buf *json, struct ms_arch *out,
                             struct ms_error *err)
{
    struct ms_error unused;
    struct ms_arch_keys r = {.path = name, .err = err ? err : &unused};
    struct ms_arch a = {0};
    const char *type;
    enum ms_status status;
    json_error_t at;
    json_t *root =
        json_loadb(json->text ? json->text : "", json->length, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        char where[sizeof(r.err->where)];
        snprintf(where, sizeof(where), "%s:%d", name, at.line);
        return ms_fail(err, MS_E_INPUT, where, "is not valid JSON: %s", at.text);
    }
    if (!json_is_object(root)) {
        status =
            ms_fail(err, MS_E_INPUT, name, "is %s; must be an object", ms_arch_keys_type(root));
        json_decref(root);
        return status;
    }
    r.top = root;
    status = fill(&r, &a);
    if (status == MS_OK) {
        type = json_string_value(json_object_get(root, "model_type"));
        snprintf(a.model_type, sizeof(a.model_type), "%s", type ? type : "");
        set_name(name, &a);
        *out = a;
    }
    json_decref(root);
    return status;
}

/* --- files and built-in names ----------------------------------------------------------------- */

char **ms_arch_names(void)
{
    return ms_data_list(MODELS_FOLDER, ".json");
}

static enum ms_status load_file(const char *path, struct ms_arch *out, struct ms_error *err)
{
    struct ms_buf text = {0};
    enum ms_status status = ms_file_read(path, CONFIG_MAX_BYTES, &text, err);
    if (status == MS_OK)
        status = ms_arch_parse(path, &text, out, err);
    ms_buf_free(&text);
    return status;
}

/* A folder means its config.json. */
static enum ms_status load_path(const char *path, struct ms_arch *out, struct ms_error *err)
{
    char inner[PATH_LIMIT];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if ((size_t)snprintf(inner, sizeof(inner), "%.*s/config.json", (int)n, path) >= sizeof(inner))
        return ms_fail(err, MS_E_INPUT, path, "the name is too long");
    return load_file(ms_file_exists(inner) ? inner : path, out, err);
}

/* Equal but for case and '-', '_', '.'. */
static bool same_model_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "-_.");
        b += strspn(b, "-_.");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

/* True if the model file's "aliases" have `name`. */
static bool has_alias(const char *file, const char *name)
{
    char path[PATH_LIMIT];
    bool found = false;
    json_t *root, *alias;
    size_t i;
    if (ms_data_path(MODELS_FOLDER, file, ".json", path, sizeof(path), NULL) != MS_OK)
        return false;
    root = json_load_file(path, 0, NULL);
    json_array_foreach(json_object_get(root, "aliases"), i, alias)
    {
        if (json_is_string(alias) && same_model_name(json_string_value(alias), name))
            found = true;
    }
    json_decref(root);
    return found;
}

/* Index of the built-in model called `name`, or -1. */
static int find_builtin(char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (same_model_name(names[i], name))
            return i;
    for (int i = 0; names[i]; i++)
        if (has_alias(names[i], name))
            return i;
    return -1;
}

static enum ms_status fail_name(char *const *names, const char *name, struct ms_error *err)
{
    struct ms_buf legal = {0};
    enum ms_status status;
    for (int i = 0; names[i]; i++)
        ms_buf_printf(&legal, "%s%s", i ? ", " : "", names[i]);
    status = ms_fail(err, MS_E_INPUT, "--model",
                     "there is no model '%.60s'; give a path of a config.json or one of %s", name,
                     legal.text ? legal.text : "(none found)");
    ms_buf_free(&legal);
    return status;
}

enum ms_status ms_arch_load(const char *name_or_path, struct ms_arch *out, struct ms_error *err)
{
    char path[PATH_LIMIT];
    enum ms_status status;
    char **names;
    int i;
    if (ms_data_is_path(name_or_path, ".json"))
        return load_path(name_or_path, out, err);
    names = ms_arch_names();
    i = find_builtin(names, name_or_path);
    if (i < 0)
        status = fail_name(names, name_or_path, err);
    else
        status = ms_data_path(MODELS_FOLDER, names[i], ".json", path, sizeof(path), err);
    ms_data_list_free(names);
    return status == MS_OK ? load_file(path, out, err) : status;
}
