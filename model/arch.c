/* arch.c - reads a Hugging Face config.json into struct ms_arch.
 *
 * Families name the same thing differently, so reading is four tables and a loop over each: REFUSED
 * (features whose cost is not modelled), INTS and BOOLS (a meaning and the keys that carry it), FAMILIES
 * (what a model_type implies without saying so). What kind each layer is comes last. Nothing is guessed:
 * a key that is needed and absent, or two keys that disagree, is an error. docs/models.md lists the keys.
 * Counting is in arch_count.c, printing in arch_show.c.
 */
#include "model/arch.h"

#include "base/data.h"
#include "base/file.h"

#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 4 << 20, PATH_LIMIT = 4096, N_NAMES = 10 };
#define DIM_MAX       2147483648.0 /* 2^31: no width is near it, and products stay exact enough */
#define PARAMS_MAX    9007199254740992.0 /* 2^53: counts are exact in a double up to here */
#define MODELS_FOLDER "model/models"
#define COUNT(a)      (sizeof(a) / sizeof((a)[0]))
#define ABSENT        (-1)

/* --- what is refused ------------------------------------------------------------------------- */

struct refusal {
    const char *key; /* ending in '*': any key that starts so; "a.b": nested */
    const char *why;
};

#define WHY_SSM    "state-space (Mamba) layers are not modelled"
#define WHY_LINEAR "linear-attention layers are not modelled"
#define WHY_SPARSE "sparse or compressed attention is not modelled"
#define WHY_LAYERS "layers of different shapes are not modelled"

/* In force unless null, false, 0 or empty. Sources: the configuration classes of transformers. */
static const struct refusal REFUSED[] = {
    {"hybrid_override_pattern", WHY_SSM},               /* Nemotron-H, Nemotron-3 */
    {"mamba_*", WHY_SSM},                               /* Bamba, Granite-4, Falcon-H1, Jamba */
    {"ssm_*", WHY_SSM},                                 /* Nemotron-H, Zamba */
    {"state_size", WHY_SSM},                            /* Mamba */
    {"time_step_rank", WHY_SSM},                        /* Mamba */
    {"attn_layer_period", WHY_SSM},                     /* Jamba */
    {"layers_block_type", WHY_SSM},                     /* Zamba, Bamba */
    {"lru_width", "recurrent layers are not modelled"}, /* RecurrentGemma */
    {"conv_L_cache", "convolution layers are not modelled"}, /* LFM2 */
    {"linear_attn_config", WHY_LINEAR},                      /* Kimi-Linear */
    {"linear_num_*", WHY_LINEAR},                            /* Qwen3-Next */
    {"linear_key_head_dim", WHY_LINEAR},                     /* Qwen3-Next */
    {"full_attention_interval", WHY_LINEAR},                 /* Qwen3-Next */
    {"layer_group_size", WHY_LINEAR},                        /* Ring-linear */
    {"index_topk", WHY_SPARSE},                              /* DeepSeek-V3.2 */
    {"index_n_heads", WHY_SPARSE},                           /* DeepSeek-V3.2 */
    {"compress_ratios", WHY_SPARSE},                         /* DeepSeek-V4 */
    {"o_lora_rank", WHY_SPARSE},                             /* DeepSeek-V4 */
    {"sparse_attention_config", WHY_SPARSE},
    {"hybrid_layer_pattern", WHY_LAYERS}, /* MiMo-V2: other heads in window layers */
    {"block_configs", WHY_LAYERS},        /* Nemotron-NAS */
    {"moe_layers_enum", WHY_LAYERS},      /* Step-3 */
    {"num_kv_shared_layers", "key/value sharing between layers is not modelled"}, /* Gemma-3n */
    {"use_cla", "key/value sharing between layers is not modelled"},             /* Hunyuan-Large */
    {"share_q_dim", "factorised query projections are not modelled"},            /* Step-3 */
    {"moe_latent_size", "experts in a latent width are not modelled"},           /* Nemotron-3 */
    {"parallel_attn_mlp_res", "a dense MLP beside the experts is not modelled"}, /* Arctic */
    {"zero_expert_num", "experts without work are not modelled"},                /* LongCat */
    {"hc_mult", "hyper-connections are not modelled"},                           /* DeepSeek-V4 */
    {"cross_attention_layers", "cross-attention layers are not modelled"},       /* Llama-3.2 */
    {"is_encoder_decoder", "encoder-decoder models are not modelled"},           /* T5 */
};

/* --- keys ------------------------------------------------------------------------------------ */

enum int_key {
    HIDDEN,
    N_LAYERS,
    VOCAB,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    FFN,
    DENSE_FFN,
    MOE_FFN,
    N_EXPERTS,
    TOPK,
    N_SHARED,
    SHARED_FFN,
    SHARED_EACH,
    FIRST_MOE,
    LAST_MOE,
    SPARSE_STEP,
    MOE_FREQ,
    INTERLEAVE,
    WINDOW,
    WINDOW_FROM,
    WINDOW_PATTERN,
    CHUNK,
    GLOBAL_STEP,
    Q_LORA,
    KV_LORA,
    QK_NOPE,
    QK_ROPE,
    V_DIM,
    GROUPS,
    TOPK_GROUPS,
    N_MTP,
    N_INT_KEYS
};

struct int_row {
    const char
        *names[N_NAMES]; /* the first one present counts; others must agree, but for "?name" */
    double min, max;
    bool per_layer; /* a list has its own reader */
};

static const struct int_row INTS[N_INT_KEYS] = {
    [HIDDEN] = {{"hidden_size", "d_model", "n_embd", "dim"}, 1, DIM_MAX, false},
    [N_LAYERS] = {{"num_hidden_layers", "num_layers", "n_layers", "n_layer"},
                  1,
                  MS_LAYERS_MAX,
                  false},
    [VOCAB] = {{"vocab_size", "padded_vocab_size"}, 1, DIM_MAX, false},
    [HEADS] = {{"num_attention_heads", "n_heads", "n_head"}, 1, DIM_MAX, false},
    [KV_HEADS] = {{"num_key_value_heads", "num_kv_heads", "n_kv_heads", "attn_config.kv_n_heads"},
                  1,
                  DIM_MAX,
                  false},
    [HEAD_DIM] = {{"head_dim", "attention_head_dim", "kv_channels"}, 1, DIM_MAX, false},
    [FFN] = {{"intermediate_size", "ffn_hidden_size", "ffn_config.ffn_hidden_size"},
             1,
             DIM_MAX,
             false},
    [DENSE_FFN] = {{"intermediate_size_mlp", "dense_intermediate_size"}, 1, DIM_MAX, false},
    [MOE_FFN] = {{"moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size",
                  "expert_ffn_hidden_size"},
                 1,
                 DIM_MAX,
                 false},
    [N_EXPERTS] = {{"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts",
                    "num_routed_experts", "num_moe_experts", "ffn_config.moe_num_experts"},
                   0,
                   DIM_MAX,
                   false},
    [TOPK] = {{"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk",
               "moe_top_k", "moe_k", "num_selected_experts", "ffn_config.moe_top_k", "?top_k"},
              0,
              DIM_MAX,
              false},
    [N_SHARED] = {{"n_shared_experts", "num_shared_experts", "num_shared_expert",
                   "moe_num_shared_experts"},
                  0,
                  DIM_MAX,
                  false},
    [SHARED_FFN] = {{"shared_expert_intermediate_size", "shared_intermediate_size"},
                    0,
                    DIM_MAX,
                    false},
    [SHARED_EACH] = {{"moe_shared_expert_intermediate_size"}, 1, DIM_MAX, false},
    [FIRST_MOE] = {{"first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"},
                   0,
                   MS_LAYERS_MAX,
                   false},
    [LAST_MOE] = {{"moe_layer_end_index"}, -1, MS_LAYERS_MAX, false},
    [SPARSE_STEP] = {{"decoder_sparse_step", "moe_layer_interval", "moe_layer_frequency"},
                     1,
                     MS_LAYERS_MAX,
                     false},
    [MOE_FREQ] = {{"moe_layer_freq"}, 1, MS_LAYERS_MAX, true},
    [INTERLEAVE] = {{"interleave_moe_layer_step"}, 1, MS_LAYERS_MAX, false},
    [WINDOW] = {{"sliding_window"}, 0, DIM_MAX, false},
    [WINDOW_FROM] = {{"max_window_layers"}, 0, MS_LAYERS_MAX, false},
    [WINDOW_PATTERN] = {{"sliding_window_pattern", "_sliding_window_pattern"},
                        1,
                        MS_LAYERS_MAX,
                        false},
    [CHUNK] = {{"attention_chunk_size"}, 1, DIM_MAX, false},
    [GLOBAL_STEP] = {{"no_rope_layer_interval"}, 1, MS_LAYERS_MAX, false},
    [Q_LORA] = {{"q_lora_rank"}, 0, DIM_MAX, false},
    [KV_LORA] = {{"kv_lora_rank"}, 1, DIM_MAX, false},
    [QK_NOPE] = {{"qk_nope_head_dim"}, 1, DIM_MAX, false},
    [QK_ROPE] = {{"qk_rope_head_dim"}, 0, DIM_MAX, false},
    [V_DIM] = {{"v_head_dim"}, 1, DIM_MAX, false},
    [GROUPS] = {{"n_group"}, 0, DIM_MAX, false},
    [TOPK_GROUPS] = {{"topk_group"}, 0, DIM_MAX, false},
    [N_MTP] = {{"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_layers"}, 0, 64, false},
};

enum bool_key {
    TIED,
    LINEAR_BIAS,
    QKV_BIAS,
    QK_NORM,
    USE_WINDOW,
    MLP_BIAS,
    ROUTER_BIAS,
    HEAD_BIAS,
    N_BOOL_KEYS
};

static const char *const BOOLS[N_BOOL_KEYS][N_NAMES] = {
    [TIED] = {"tie_word_embeddings"},
    [LINEAR_BIAS] = {"attention_bias", "use_bias"},
    [QKV_BIAS] = {"qkv_bias", "use_qkv_bias", "add_qkv_bias"},
    [QK_NORM] = {"use_qk_norm", "qk_norm", "qk_layernorm", "use_qk_layernorm"},
    [USE_WINDOW] = {"use_sliding_window"},
    [MLP_BIAS] = {"mlp_bias"},
    [ROUTER_BIAS] = {"use_routing_bias", "moe_router_enable_expert_bias", "moe_use_aux_free"},
    [HEAD_BIAS] = {"lm_head_bias"},
};

/* --- what a model_type implies where its config is silent ------------------------------------- */

enum {
    F_TIED = 1 << 0, /* shared embedding unless the config says otherwise */
    F_QKV_BIAS = 1 << 1,
    F_OUT_BIAS = 1 << 2,
    F_NO_OUT_BIAS = 1 << 3, /* attention_bias means q, k, v only */
    F_QK_NORM = 1 << 4,
    F_QK_NORM_WIDE = 1 << 5, /* over all heads at once */
    F_QK_NORM_BARE = 1 << 6, /* without weights */
    F_SHARED_GATE = 1 << 7,
    F_SHARED_ONE = 1 << 8, /* one shared expert as wide as a routed one */
    F_SINKS = 1 << 9,
    F_EXPERT_BIAS = 1 << 10,
    F_ROUTER_BIAS = 1 << 11,
    F_NORM_BIAS = 1 << 12,
    F_FOUR_NORMS = 1 << 13,
    F_ALTERNATE = 1 << 14,       /* every other layer has the window */
    F_TWO_MATRIX = 1 << 15,      /* refused: MLPs without a gate */
    F_OTHER_ATTENTION = 1 << 16, /* refused: gated, or a mixture of heads */
};

struct family {
    const char *model_type;
    uint32_t flags;
};

/* Source: the modelling files of transformers (v4.55) and of the model repositories. */
static const struct family FAMILIES[] = {
    {"deepseek_v3", F_ROUTER_BIAS},
    {"kimi_k2", F_ROUTER_BIAS},
    {"glm4_moe", F_ROUTER_BIAS | F_NO_OUT_BIAS},
    {"dots1", F_ROUTER_BIAS | F_QK_NORM},
    {"minimax_m2", F_QK_NORM_WIDE},
    {"qwen2", F_QKV_BIAS | F_NO_OUT_BIAS},
    {"qwen2_moe", F_QKV_BIAS | F_NO_OUT_BIAS | F_SHARED_GATE},
    {"qwen3", F_QK_NORM},
    {"qwen3_moe", F_QK_NORM},
    {"qwen3_vl_text", F_QK_NORM},
    {"qwen3_vl_moe_text", F_QK_NORM},
    {"olmoe", F_QK_NORM | F_QK_NORM_WIDE},
    {"olmo2", F_QK_NORM | F_QK_NORM_WIDE},
    {"gpt_oss", F_QKV_BIAS | F_OUT_BIAS | F_SINKS | F_EXPERT_BIAS | F_ROUTER_BIAS | F_ALTERNATE},
    {"llama4_text", F_SHARED_ONE | F_QK_NORM_BARE},
    {"llama4", F_SHARED_ONE | F_QK_NORM_BARE},
    {"phimoe", F_NORM_BIAS},
    {"ernie4_5", F_TIED},
    {"ernie4_5_moe", F_TIED},
    {"glm4", F_FOUR_NORMS | F_NO_OUT_BIAS},
    {"grok-1", F_FOUR_NORMS},
    {"gemma", F_TIED},
    {"gemma2", F_TIED | F_FOUR_NORMS | F_ALTERNATE},
    {"gemma3_text", F_TIED | F_FOUR_NORMS | F_QK_NORM},
    {"exaone4", F_QK_NORM},
    {"gpt2", F_TWO_MATRIX},
    {"gptj", F_TWO_MATRIX},
    {"gpt_neox", F_TWO_MATRIX},
    {"gpt_bigcode", F_TWO_MATRIX},
    {"opt", F_TWO_MATRIX},
    {"bloom", F_TWO_MATRIX},
    {"falcon", F_TWO_MATRIX},
    {"mpt", F_TWO_MATRIX},
    {"phi", F_TWO_MATRIX},
    {"starcoder2", F_TWO_MATRIX},
    {"nemotron", F_TWO_MATRIX},
    {"arcee", F_TWO_MATRIX},
    {"bert", F_TWO_MATRIX},
    {"roberta", F_TWO_MATRIX},
    {"afmoe", F_OTHER_ATTENTION},
    {"jetmoe", F_OTHER_ATTENTION},
    {"qwen3_next", F_OTHER_ATTENTION},
};

/* --- reader ---------------------------------------------------------------------------------- */

struct reader {
    const char *path;
    const json_t *top;    /* the whole file; borrowed */
    const json_t *config; /* where the widths are: `top` or a part of it such as text_config */
    const char *prefix;   /* "" or "text_config." */
    struct ms_error *err;
    int64_t value[N_INT_KEYS];   /* ABSENT if not given (LAST_MOE too: -1 means the last layer) */
    const char *key[N_INT_KEYS]; /* the name it was given under, else the usual name */
    int flag[N_BOOL_KEYS];       /* 0, 1 or ABSENT */
    uint32_t family;
};

MS_MUST_CHECK MS_PRINTF(3, 4) static enum ms_status
    fail_at(const struct reader *r, const char *key, const char *fmt, ...)
{
    char where[sizeof(r->err->where)], text[sizeof(r->err->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(where, sizeof(where), "%s:%s%s", r->path, r->prefix, key);
    return ms_fail(r->err, MS_E_INPUT, where, "%s", text);
}

static const char *type_name(const json_t *v)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list",       [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null"};
    return names[json_typeof(v)];
}

/* The value of `key` or "object.key"; NULL if absent or null. */
static const json_t *find_in(const json_t *object, const char *key)
{
    const char *dot = strchr(key, '.');
    char outer[64];
    const json_t *v;
    if (dot) {
        snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
        object = json_object_get(object, outer);
        key = dot + 1;
    }
    v = json_object_get(object, key);
    return json_is_null(v) ? NULL : v;
}

static const json_t *find(const struct reader *r, const char *key)
{
    return find_in(r->config, key);
}

/* A string that belongs to the model as a whole: from the inner config, else from the file. */
static const char *text_of(const struct reader *r, const char *key)
{
    const char *text = json_string_value(find(r, key));
    return text ? text : json_string_value(find_in(r->top, key));
}

static bool given(const struct reader *r, enum int_key k)
{
    return r->value[k] != ABSENT;
}

static int64_t value_or(const struct reader *r, enum int_key k, int64_t otherwise)
{
    return given(r, k) ? r->value[k] : otherwise;
}

MS_MUST_CHECK static enum ms_status need(const struct reader *r, enum int_key k)
{
    if (given(r, k))
        return MS_OK;
    return fail_at(r, r->key[k], "is missing");
}

/* One integer, or a list with one entry per layer that are all the same (Hunyuan). */
static enum ms_status read_int(const struct reader *r, const char *name, const json_t *v,
                               const struct int_row *row, int64_t *out)
{
    if (json_is_array(v) && json_array_size(v)) {
        const json_t *first = json_array_get(v, 0);
        for (size_t i = 1; i < json_array_size(v); i++)
            if (!json_equal(json_array_get(v, i), first))
                return fail_at(r, name,
                               "differs from layer to layer (entries 0 and %zu): " WHY_LAYERS, i);
        if (given(r, N_LAYERS) && json_array_size(v) != (size_t)r->value[N_LAYERS])
            return fail_at(r, name, "has %zu entries; must have one per layer, %lld",
                           json_array_size(v), (long long)r->value[N_LAYERS]);
        v = first;
    }
    if (!json_is_integer(v))
        return fail_at(r, name, "is %s; must be an integer", type_name(v));
    if ((double)json_integer_value(v) < row->min || (double)json_integer_value(v) > row->max)
        return fail_at(r, name, "%lld is outside %.0f to %.0f; nearest legal value %.0f",
                       (long long)json_integer_value(v), row->min, row->max,
                       (double)json_integer_value(v) < row->min ? row->min : row->max);
    *out = json_integer_value(v);
    return MS_OK;
}

static enum ms_status read_int_row(struct reader *r, enum int_key k)
{
    const struct int_row *row = &INTS[k];
    r->value[k] = ABSENT;
    r->key[k] = row->names[0];
    for (int i = 0; i < N_NAMES && row->names[i]; i++) {
        bool fallback = row->names[i][0] == '?';
        const char *name = row->names[i] + fallback;
        const json_t *v = find(r, name);
        enum ms_status status;
        int64_t x = 0;
        if (!v || (fallback && given(r, k)) || (row->per_layer && json_is_array(v)))
            continue;
        status = read_int(r, name, v, row, &x);
        if (status != MS_OK)
            return status;
        if (given(r, k) && r->value[k] != x)
            return fail_at(r, name, "is %lld, but %s is %lld", (long long)x, r->key[k],
                           (long long)r->value[k]);
        if (!given(r, k))
            r->key[k] = name;
        r->value[k] = x;
    }
    return MS_OK;
}

static enum ms_status read_bool_row(struct reader *r, enum bool_key k)
{
    r->flag[k] = ABSENT;
    for (int i = 0; i < N_NAMES && BOOLS[k][i]; i++) {
        const char *name = BOOLS[k][i];
        const json_t *v = find(r, name);
        if (!v && k == TIED)
            v = find_in(r->top, name);
        if (!v)
            continue;
        if (!json_is_boolean(v))
            return fail_at(r, name, "is %s; must be true or false", type_name(v));
        if (r->flag[k] != 1)
            r->flag[k] = json_is_true(v);
    }
    return MS_OK;
}

static enum ms_status read_keys(struct reader *r)
{
    enum ms_status status = MS_OK;
    for (int k = 0; k < N_INT_KEYS && status == MS_OK; k++)
        status = read_int_row(r, (enum int_key)k);
    for (int k = 0; k < N_BOOL_KEYS && status == MS_OK; k++)
        status = read_bool_row(r, (enum bool_key)k);
    return status;
}

/* --- refusals -------------------------------------------------------------------------------- */

static bool in_force(const json_t *v)
{
    if (json_is_integer(v))
        return json_integer_value(v) != 0;
    if (json_is_object(v))
        return json_object_size(v) != 0;
    if (json_is_array(v))
        return json_array_size(v) != 0;
    if (json_is_string(v))
        return json_string_length(v) != 0;
    return v && !json_is_false(v) && !json_is_null(v);
}

static bool matches(const char *pattern, const char *key)
{
    size_t n = strlen(pattern);
    return pattern[n - 1] == '*' ? strncmp(pattern, key, n - 1) == 0 : strcmp(pattern, key) == 0;
}

static enum ms_status refuse_keys(const struct reader *r)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, v)
    {
        for (size_t i = 0; i < COUNT(REFUSED); i++)
            if (matches(REFUSED[i].key, key) && in_force(v))
                return fail_at(r, key, "is set: %s", REFUSED[i].why);
    }
    return MS_OK;
}

/* Activations of MLPs without a gate; gated ones use silu, gelu or gelu_pytorch_tanh. */
static enum ms_status refuse_activation(const struct reader *r)
{
    static const char *const keys[] = {"hidden_act", "mlp_hidden_act", "activation_function", NULL};
    static const char *const plain[] = {"relu",      "relu2",      "gelu_new",
                                        "gelu_fast", "quick_gelu", NULL};
    for (int i = 0; keys[i]; i++) {
        const char *text = json_string_value(find(r, keys[i]));
        if (text && ms_names_find(plain, text) >= 0)
            return fail_at(r, keys[i],
                           "is '%s': MLPs without a gate (two matrices) are not modelled", text);
    }
    return MS_OK;
}

/* MiniMax-01: 0 is linear attention, 1 is softmax attention. */
static enum ms_status refuse_attention_types(const struct reader *r)
{
    const json_t *list = find(r, "attn_type_list");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) != 1)
            return fail_at(r, "attn_type_list",
                           "entry %zu is not 1 (softmax attention): " WHY_LINEAR, i);
    return MS_OK;
}

static enum ms_status refuse_family(const struct reader *r)
{
    if (r->family & F_TWO_MATRIX)
        return fail_at(r, "model_type", "'%s' has MLPs without a gate (two matrices): not modelled",
                       text_of(r, "model_type"));
    if (r->family & F_OTHER_ATTENTION)
        return fail_at(r, "model_type", "'%s' has attention with a gate or a router: not modelled",
                       text_of(r, "model_type"));
    return MS_OK;
}

/* A config that speaks of experts under unknown keys must not pass for a dense one. */
static enum ms_status refuse_unknown_experts(const struct reader *r)
{
    const char *key;
    json_t *v;
    for (int i = 0; i < N_NAMES && INTS[N_EXPERTS].names[i]; i++)
        if (find(r, INTS[N_EXPERTS].names[i]))
            return MS_OK;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, v)
    {
        bool speaks = strstr(key, "expert") || strncmp(key, "moe_", 4) == 0;
        if (speaks && json_is_integer(v) && json_integer_value(v) > 1)
            return fail_at(r, key,
                           "is given, but no number of experts (%s, %s, %s, %s, ...; 0 for a dense model)",
                           INTS[N_EXPERTS].names[0], INTS[N_EXPERTS].names[1],
                           INTS[N_EXPERTS].names[2], INTS[N_EXPERTS].names[3]);
    }
    return MS_OK;
}

static bool is_int_key(const char *key)
{
    for (int k = 0; k < N_INT_KEYS; k++)
        for (int i = 0; i < N_NAMES && INTS[k].names[i]; i++)
            if (strcmp(INTS[k].names[i], key) == 0)
                return true;
    return false;
}

/* Nor may a rule for which layers have experts be overlooked. */
static enum ms_status refuse_unknown_pattern(const struct reader *r)
{
    static const char *const words[] = {"layer", "freq", "every", "interval", "step", "period"};
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, v)
    {
        bool about = false,
             rule = json_is_array(v) ? json_array_size(v) > 0 : json_integer_value(v) > 1;
        for (size_t i = 0; i < COUNT(words); i++)
            about = about || strstr(key, words[i]);
        if (!about || !rule || !(strstr(key, "moe") || strstr(key, "expert")))
            continue;
        if (!is_int_key(key) && strcmp(key, "moe_layers") != 0)
            return fail_at(r, key,
                           "seems to say which layers have experts, in a way that is not known");
    }
    return MS_OK;
}

static enum ms_status refuse_unmodelled(const struct reader *r)
{
    static enum ms_status (*const checks[])(const struct reader *) = {refuse_keys,
                                                                      refuse_family,
                                                                      refuse_activation,
                                                                      refuse_attention_types,
                                                                      refuse_unknown_experts,
                                                                      refuse_unknown_pattern};
    enum ms_status status = MS_OK;
    for (size_t i = 0; i < COUNT(checks) && status == MS_OK; i++)
        status = checks[i](r);
    return status;
}

/* --- widths ---------------------------------------------------------------------------------- */

static enum ms_status fill_sizes(const struct reader *r, struct ms_arch *a)
{
    static const enum int_key needed[] = {HIDDEN, N_LAYERS, VOCAB, HEADS};
    for (size_t i = 0; i < COUNT(needed); i++) {
        enum ms_status status = need(r, needed[i]);
        if (status != MS_OK)
            return status;
    }
    a->hidden = r->value[HIDDEN];
    a->n_layers = r->value[N_LAYERS];
    a->vocab = r->value[VOCAB];
    a->heads = r->value[HEADS];
    a->n_mtp = value_or(r, N_MTP, 0);
    return MS_OK;
}

static enum ms_status fill_mla(const struct reader *r, struct ms_arch *a)
{
    static const enum int_key needed[] = {QK_NOPE, QK_ROPE, V_DIM};
    for (size_t i = 0; i < COUNT(needed); i++) {
        enum ms_status status = need(r, needed[i]);
        if (status != MS_OK)
            return status;
    }
    a->attention = MS_ATTENTION_MLA;
    a->q_lora_rank = value_or(r, Q_LORA, 0);
    a->kv_lora_rank = r->value[KV_LORA];
    a->qk_nope_head_dim = r->value[QK_NOPE];
    a->qk_rope_head_dim = r->value[QK_ROPE];
    a->v_head_dim = r->value[V_DIM];
    a->kv_heads = a->heads;
    a->head_dim = a->qk_nope_head_dim + a->qk_rope_head_dim;
    return MS_OK;
}

static enum ms_status fill_gqa(const struct reader *r, struct ms_arch *a)
{
    a->attention = MS_ATTENTION_GQA;
    a->kv_heads = value_or(r, KV_HEADS, a->heads);
    if (a->heads % a->kv_heads != 0)
        return fail_at(r, r->key[KV_HEADS], "%lld does not divide %s %lld", (long long)a->kv_heads,
                       r->key[HEADS], (long long)a->heads);
    if (!given(r, HEAD_DIM) && a->hidden % a->heads != 0)
        return fail_at(r, r->key[HEAD_DIM], "is missing, and %s %lld is not a multiple of %s %lld",
                       r->key[HIDDEN], (long long)a->hidden, r->key[HEADS], (long long)a->heads);
    a->head_dim = value_or(r, HEAD_DIM, a->hidden / a->heads);
    return MS_OK;
}

static bool flag_or(const struct reader *r, enum bool_key k, uint32_t family_flag)
{
    return r->flag[k] == ABSENT ? (r->family & family_flag) != 0 : r->flag[k] == 1;
}

static void fill_flags(const struct reader *r, struct ms_arch *a)
{
    const char *method = text_of(r, "topk_method"), *norm = text_of(r, "qk_norm_type");
    bool all_bias = r->flag[LINEAR_BIAS] == 1;
    bool wide = (r->family & F_QK_NORM_WIDE) || (norm && strcmp(norm, "per_layer") == 0);
    a->tied_embeddings = flag_or(r, TIED, F_TIED);
    a->head_bias = flag_or(r, HEAD_BIAS, 0);
    a->attention_bias =
        all_bias || r->flag[QKV_BIAS] == 1 ||
        (r->flag[QKV_BIAS] == ABSENT && r->flag[LINEAR_BIAS] == ABSENT && (r->family & F_QKV_BIAS));
    a->attention_out_bias = (all_bias && !(r->family & F_NO_OUT_BIAS)) ||
                            (r->flag[LINEAR_BIAS] == ABSENT && (r->family & F_OUT_BIAS));
    a->qk_norm = a->attention == MS_ATTENTION_GQA && flag_or(r, QK_NORM, F_QK_NORM);
    if (a->qk_norm && !(r->family & F_QK_NORM_BARE))
        a->qk_norm_params = (wide ? a->heads + a->kv_heads : 2) * a->head_dim;
    a->attention_sinks = r->family & F_SINKS;
    a->expert_bias = r->family & F_EXPERT_BIAS;
    a->mlp_bias = flag_or(r, MLP_BIAS, 0);
    a->norm_bias = r->family & F_NORM_BIAS;
    a->norms_per_layer = r->family & F_FOUR_NORMS ? 4 : 2;
    a->shared_gate = r->family & F_SHARED_GATE;
    a->router_bias =
        method ? strcmp(method, "noaux_tc") == 0 : flag_or(r, ROUTER_BIAS, F_ROUTER_BIAS);
}

/* --- experts --------------------------------------------------------------------------------- */

static enum ms_status fill_groups(const struct reader *r, struct ms_arch *a)
{
    int64_t groups = value_or(r, GROUPS, 1), used = value_or(r, TOPK_GROUPS, 1);
    a->n_groups = groups ? groups : 1;
    a->topk_groups = used ? used : 1;
    if (a->n_experts % a->n_groups != 0)
        return fail_at(r, r->key[GROUPS], "%lld does not divide %s %lld", (long long)a->n_groups,
                       r->key[N_EXPERTS], (long long)a->n_experts);
    if (a->topk_groups > a->n_groups)
        return fail_at(r, r->key[TOPK_GROUPS], "%lld is more than %s %lld",
                       (long long)a->topk_groups, r->key[GROUPS], (long long)a->n_groups);
    if (a->topk > a->n_experts / a->n_groups * a->topk_groups)
        return fail_at(r, r->key[TOPK], "%lld is more than the %lld experts of %lld groups",
                       (long long)a->topk, (long long)(a->n_experts / a->n_groups * a->topk_groups),
                       (long long)a->topk_groups);
    return MS_OK;
}

/* The total width is given as such, or as a number of shared experts of one width. */
static enum ms_status fill_shared(const struct reader *r, struct ms_arch *a)
{
    int64_t n = value_or(r, N_SHARED, r->family & F_SHARED_ONE ? 1 : 0);
    int64_t each = value_or(r, SHARED_EACH, a->moe_ffn);
    double product = (double)n * (double)each;
    if (product > DIM_MAX)
        return fail_at(r, r->key[N_SHARED], "%lld experts of width %lld are wider than %.0f",
                       (long long)n, (long long)each, DIM_MAX);
    a->shared_ffn = value_or(r, SHARED_FFN, n * each);
    if (given(r, SHARED_FFN) && given(r, N_SHARED) && n != 1 && a->shared_ffn != n * each)
        return fail_at(r, r->key[SHARED_FFN],
                       "%lld is neither absent nor %s %lld x the width of one, %lld",
                       (long long)a->shared_ffn, r->key[N_SHARED], (long long)n, (long long)each);
    return MS_OK;
}

static enum ms_status fill_experts(const struct reader *r, struct ms_arch *a)
{
    enum int_key width = given(r, MOE_FFN) ? MOE_FFN : FFN;
    enum ms_status status;
    a->n_groups = a->topk_groups = 1;
    a->n_experts = value_or(r, N_EXPERTS, 0);
    if (!a->n_experts)
        return MS_OK;
    status = need(r, TOPK);
    if (status == MS_OK)
        status = need(r, width);
    if (status != MS_OK)
        return status;
    a->topk = r->value[TOPK];
    a->moe_ffn = r->value[width];
    if (a->topk < 1 || a->topk > a->n_experts)
        return fail_at(r, r->key[TOPK], "%lld is outside 1 to %s %lld", (long long)a->topk,
                       r->key[N_EXPERTS], (long long)a->n_experts);
    status = fill_groups(r, a);
    return status == MS_OK ? fill_shared(r, a) : status;
}

/* --- which layers have experts ---------------------------------------------------------------- */

/* Checks that `key`, if there, is a list (of `n` entries; -1: any number); *out is NULL if absent. */
static enum ms_status find_list(const struct reader *r, const char *key, int64_t n,
                                const json_t **out)
{
    const json_t *list = find(r, key);
    *out = NULL;
    if (!list)
        return MS_OK;
    if (!json_is_array(list))
        return fail_at(r, key, "is %s; must be a list", type_name(list));
    if (n >= 0 && json_array_size(list) != (size_t)n)
        return fail_at(r, key, "has %zu entries; must have one per layer, %lld",
                       json_array_size(list), (long long)n);
    *out = list;
    return MS_OK;
}

/* Reads a list of layer numbers: listed[i] for i < n. */
static enum ms_status read_layer_numbers(const struct reader *r, const char *key, int64_t n,
                                         bool *listed, bool *present)
{
    const json_t *list;
    enum ms_status status = find_list(r, key, -1, &list);
    memset(listed, 0, (size_t)n * sizeof(*listed));
    *present = list != NULL;
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= n)
            return fail_at(r, key, "entry %zu is not a layer number, 0 to %lld", i,
                           (long long)n - 1);
        listed[json_integer_value(v)] = true;
    }
    return status;
}

/* Reads a list of one 0 or 1 per layer. */
static enum ms_status read_layer_bits(const struct reader *r, const char *key, int64_t n,
                                      bool *bits, bool *present)
{
    const json_t *list;
    enum ms_status status = find_list(r, key, n, &list);
    *present = list != NULL;
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || (json_integer_value(v) != 0 && json_integer_value(v) != 1))
            return fail_at(r, key, "entry %zu is not 0 or 1", i);
        bits[i] = json_integer_value(v) == 1;
    }
    return status;
}

/* Layers by number: layer i has experts if every rule that the config gives says so. Sources: DeepSeek
 * i >= first_k_dense_replace and i % moe_layer_freq == 0; Qwen, Ernie (i+1) % step == 0; Llama 4
 * (i+1) % interleave_moe_layer_step == 0. */
static bool moe_by_number(const struct reader *r, int64_t i, bool use_interleave)
{
    int64_t last = value_or(r, LAST_MOE, MS_LAYERS_MAX);
    return i >= value_or(r, FIRST_MOE, 0) && i <= last && i % value_or(r, MOE_FREQ, 1) == 0 &&
           (i + 1) % value_or(r, SPARSE_STEP, 1) == 0 &&
           (!use_interleave || (i + 1) % value_or(r, INTERLEAVE, 1) == 0);
}

static enum ms_status apply_moe_words(const struct reader *r, struct ms_arch *a)
{
    static const char *const words[] = {"dense", "sparse", "moe", NULL};
    const json_t *list;
    enum ms_status status = find_list(r, "mlp_layer_types", a->n_layers, &list);
    for (size_t i = 0; status == MS_OK && i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        int word = text ? ms_names_find(words, text) : -1;
        if (word < 0)
            return fail_at(r, "mlp_layer_types", "entry %zu is not dense, sparse or moe", i);
        a->layers[i].moe = a->layers[i].moe && word != 0;
    }
    return status;
}

static enum ms_status fill_moe_layers(const struct reader *r, struct ms_arch *a)
{
    bool dense[MS_LAYERS_MAX], moe[MS_LAYERS_MAX], bits[MS_LAYERS_MAX];
    bool has_dense = false, has_moe = false, has_bits = false;
    enum ms_status status;
    if (given(r, FIRST_MOE) && r->value[FIRST_MOE] > a->n_layers)
        return fail_at(r, r->key[FIRST_MOE], "%lld is more than %s; nearest legal value %lld",
                       (long long)r->value[FIRST_MOE], r->key[N_LAYERS], (long long)a->n_layers);
    status = read_layer_numbers(r, "mlp_only_layers", a->n_layers, dense, &has_dense);
    if (status == MS_OK)
        status = read_layer_numbers(r, "moe_layers", a->n_layers, moe, &has_moe);
    if (status == MS_OK && json_is_array(find(r, "moe_layer_freq")))
        status = read_layer_bits(r, "moe_layer_freq", a->n_layers, bits, &has_bits);
    if (status != MS_OK)
        return status;
    for (int64_t i = 0; i < a->n_layers; i++)
        a->layers[i].moe = a->n_experts && moe_by_number(r, i, !has_moe) &&
                           (!has_dense || !dense[i]) && (!has_moe || moe[i]) &&
                           (!has_bits || bits[i]);
    return apply_moe_words(r, a);
}

/* --- which layers see less than the whole context ---------------------------------------------- */

static enum ms_status spans_from_types(const struct reader *r, struct ms_arch *a)
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
        enum int_key span = word == CHUNKED ? CHUNK : WINDOW;
        if (word < 0)
            return fail_at(
                r, "layer_types",
                "entry %lld is '%s': only full, sliding and chunked attention are modelled",
                (long long)i, text ? text : "not a string");
        if (word < SLIDING)
            continue;
        if (value_or(r, span, 0) < 1)
            return fail_at(r, r->key[span], "is missing, but layer_types entry %lld is '%s'",
                           (long long)i, text);
        a->layers[i].attention_span = r->value[span];
        a->layers[i].chunked = word == CHUNKED;
    }
    return status;
}

/* Llama 4: no_rope_layers has 1 for chunked layers; if absent or empty every 4th layer is global. */
static enum ms_status spans_chunked(const struct reader *r, struct ms_arch *a)
{
    const int64_t step = value_or(r, GLOBAL_STEP, 4);
    bool local[MS_LAYERS_MAX], has_local = false;
    const json_t *list = find(r, "no_rope_layers");
    if (list && !(json_is_array(list) && json_array_size(list) == 0)) {
        enum ms_status status =
            read_layer_bits(r, "no_rope_layers", a->n_layers, local, &has_local);
        if (status != MS_OK)
            return status;
    }
    for (int64_t i = 0; i < a->n_layers; i++) {
        bool chunked = has_local ? local[i] : (i + 1) % step != 0;
        a->layers[i].attention_span = chunked ? r->value[CHUNK] : 0;
        a->layers[i].chunked = chunked;
    }
    return MS_OK;
}

/* Mistral: all layers; Qwen with use_sliding_window: from max_window_layers on; Gemma, GPT-OSS: all but
 * every n-th. */
static void spans_sliding(const struct reader *r, struct ms_arch *a)
{
    int64_t window = r->flag[USE_WINDOW] == 0 ? 0 : value_or(r, WINDOW, 0);
    int64_t from = r->flag[USE_WINDOW] == 1 ? value_or(r, WINDOW_FROM, 0) : 0;
    int64_t pattern = value_or(r, WINDOW_PATTERN, r->family & F_ALTERNATE ? 2 : 0);
    for (int64_t i = from; i < a->n_layers; i++)
        if (!pattern || (i + 1) % pattern != 0)
            a->layers[i].attention_span = window;
}

static enum ms_status fill_spans(const struct reader *r, struct ms_arch *a)
{
    if (find(r, "layer_types"))
        return spans_from_types(r, a);
    if (given(r, CHUNK))
        return spans_chunked(r, a);
    spans_sliding(r, a);
    return MS_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Widths that no layer uses are zero, and dense layers must have one. */
static enum ms_status settle_mlps(const struct reader *r, struct ms_arch *a)
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
    if (!given(r, DENSE_FFN) && !given(r, FFN))
        return fail_at(r, r->key[FFN], "is missing: the width of the %lld dense layers",
                       (long long)(a->n_layers - n_moe));
    a->dense_ffn = given(r, DENSE_FFN) ? r->value[DENSE_FFN] : r->value[FFN];
    return MS_OK;
}

static enum ms_status check_size(const struct reader *r, const struct ms_arch *a)
{
    struct ms_params params;
    ms_arch_params(a, &params);
    if (params.total_with_mtp <= PARAMS_MAX)
        return MS_OK;
    return fail_at(r, r->key[HIDDEN], "the model has %.3g parameters, more than %.3g",
                   params.total_with_mtp, PARAMS_MAX);
}

static enum ms_status fill(struct reader *r, struct ms_arch *a)
{
    enum ms_status status = refuse_unmodelled(r);
    if (status == MS_OK)
        status = read_keys(r);
    if (status == MS_OK)
        status = fill_sizes(r, a);
    if (status == MS_OK)
        status = given(r, KV_LORA) ? fill_mla(r, a) : fill_gqa(r, a);
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

static uint32_t family_of(const json_t *config)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    for (size_t i = 0; type && i < COUNT(FAMILIES); i++)
        if (strcmp(FAMILIES[i].model_type, type) == 0)
            return FAMILIES[i].flags;
    return 0;
}

/* Multi-modal models keep the language model's config in a part of the file. */
static void choose_config(struct reader *r)
{
    static const struct {
        const char *key, *prefix;
    } parts[] = {{"text_config", "text_config."},
                 {"language_config", "language_config."},
                 {"llm_config", "llm_config."}};
    r->config = r->top;
    r->prefix = "";
    for (size_t i = 0; i < COUNT(parts) && r->config == r->top; i++) {
        const json_t *part = find_in(r->top, parts[i].key);
        if (json_is_object(part) && json_object_size(part)) {
            r->config = part;
            r->prefix = parts[i].prefix;
        }
    }
    r->family = family_of(r->config);
    if (!r->family)
        r->family = family_of(r->top);
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
    struct reader r = {.path = name, .err = err ? err : &unused};
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
        status = ms_fail(err, MS_E_INPUT, name, "is %s; must be an object", type_name(root));
        json_decref(root);
        return status;
    }
    r.top = root;
    choose_config(&r);
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

/* --- files and built-in names ------------------------------------------------------------------ */

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
