/* arch_keys.c - tables of config.json's keys and the loops that read them; see arch_keys.h. */
#include "model/arch_keys.h"

#include <stdarg.h>
#include <string.h>

enum { N_NAMES = 10 };
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- what is refused -------------------------------------------------------------------------- */

struct refusal {
    const char *key; /* ending in '*': any key that starts so */
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

/* --- keys ------------------------------------------------------------------------------------- */

struct int_row {
    double min, max;
    const char *names[N_NAMES]; /* the first present counts, others must agree, but for "?name" */
};

static const struct int_row INTS[MS_KEY_N_INTS] = {
    [MS_KEY_HIDDEN] = {1, MS_ARCH_DIM_MAX, {"hidden_size", "d_model", "n_embd"}},
    [MS_KEY_N_LAYERS] = {1,
                         MS_LAYERS_MAX,
                         {"num_hidden_layers", "num_layers", "n_layers", "n_layer"}},
    [MS_KEY_VOCAB] = {1, MS_ARCH_DIM_MAX, {"vocab_size", "padded_vocab_size"}},
    [MS_KEY_HEADS] = {1, MS_ARCH_DIM_MAX, {"num_attention_heads", "n_heads", "n_head"}},
    [MS_KEY_KV_HEADS] = {1,
                         MS_ARCH_DIM_MAX,
                         {"num_key_value_heads", "num_kv_heads", "n_kv_heads",
                          "attn_config.kv_n_heads"}},
    [MS_KEY_HEAD_DIM] = {1, MS_ARCH_DIM_MAX, {"head_dim", "attention_head_dim", "kv_channels"}},
    [MS_KEY_FFN] = {1,
                    MS_ARCH_DIM_MAX,
                    {"intermediate_size", "ffn_hidden_size", "ffn_config.ffn_hidden_size"}},
    [MS_KEY_DENSE_FFN] = {1, MS_ARCH_DIM_MAX, {"intermediate_size_mlp", "dense_intermediate_size"}},
    [MS_KEY_MOE_FFN] = {1,
                        MS_ARCH_DIM_MAX,
                        {"moe_intermediate_size", "expert_intermediate_size", "moe_ffn_hidden_size",
                         "expert_ffn_hidden_size"}},
    [MS_KEY_N_EXPERTS] = {0,
                          MS_ARCH_DIM_MAX,
                          {"n_routed_experts", "num_local_experts", "num_experts",
                           "moe_num_experts", "num_routed_experts", "num_moe_experts",
                           "ffn_config.moe_num_experts"}},
    [MS_KEY_TOPK] = {0,
                     MS_ARCH_DIM_MAX,
                     {"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                      "moe_topk", "moe_top_k", "moe_k", "num_selected_experts",
                      "ffn_config.moe_top_k", "?top_k"}},
    [MS_KEY_N_SHARED] = {0,
                         MS_ARCH_DIM_MAX,
                         {"n_shared_experts", "num_shared_experts", "num_shared_expert",
                          "moe_num_shared_experts"}},
    [MS_KEY_SHARED_FFN] = {0,
                           MS_ARCH_DIM_MAX,
                           {"shared_expert_intermediate_size", "shared_intermediate_size"}},
    [MS_KEY_SHARED_EACH] = {1, MS_ARCH_DIM_MAX, {"moe_shared_expert_intermediate_size"}},
    [MS_KEY_FIRST_MOE] = {0,
                          MS_LAYERS_MAX,
                          {"first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"}},
    [MS_KEY_LAST_MOE] = {-1, MS_LAYERS_MAX, {"moe_layer_end_index"}},
    [MS_KEY_SPARSE_STEP] = {1,
                            MS_LAYERS_MAX,
                            {"decoder_sparse_step", "moe_layer_interval", "moe_layer_frequency"}},
    [MS_KEY_MOE_FREQ] = {1, MS_LAYERS_MAX, {"moe_layer_freq"}},
    [MS_KEY_INTERLEAVE] = {1, MS_LAYERS_MAX, {"interleave_moe_layer_step"}},
    [MS_KEY_WINDOW] = {0, MS_ARCH_DIM_MAX, {"sliding_window"}},
    [MS_KEY_WINDOW_FROM] = {0, MS_LAYERS_MAX, {"max_window_layers"}},
    [MS_KEY_WINDOW_PATTERN] = {1,
                               MS_LAYERS_MAX,
                               {"sliding_window_pattern", "_sliding_window_pattern"}},
    [MS_KEY_CHUNK] = {1, MS_ARCH_DIM_MAX, {"attention_chunk_size"}},
    [MS_KEY_GLOBAL_STEP] = {1, MS_LAYERS_MAX, {"no_rope_layer_interval"}},
    [MS_KEY_Q_LORA] = {0, MS_ARCH_DIM_MAX, {"q_lora_rank"}},
    [MS_KEY_KV_LORA] = {1, MS_ARCH_DIM_MAX, {"kv_lora_rank"}},
    [MS_KEY_QK_NOPE] = {1, MS_ARCH_DIM_MAX, {"qk_nope_head_dim"}},
    [MS_KEY_QK_ROPE] = {0, MS_ARCH_DIM_MAX, {"qk_rope_head_dim"}},
    [MS_KEY_V_DIM] = {1, MS_ARCH_DIM_MAX, {"v_head_dim"}},
    [MS_KEY_GROUPS] = {0, MS_ARCH_DIM_MAX, {"n_group"}},
    [MS_KEY_TOPK_GROUPS] = {0, MS_ARCH_DIM_MAX, {"topk_group"}},
    [MS_KEY_N_MTP] = {0, 64, {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_layers"}},
};

static const char *const BOOLS[MS_KEY_N_BOOLS][N_NAMES] = {
    [MS_KEY_TIED] = {"tie_word_embeddings"},
    [MS_KEY_LINEAR_BIAS] = {"attention_bias", "use_bias"},
    [MS_KEY_QKV_BIAS] = {"qkv_bias", "use_qkv_bias", "add_qkv_bias"},
    [MS_KEY_QK_NORM] = {"use_qk_norm", "qk_norm", "qk_layernorm", "use_qk_layernorm"},
    [MS_KEY_USE_WINDOW] = {"use_sliding_window"},
    [MS_KEY_MLP_BIAS] = {"mlp_bias"},
    [MS_KEY_ROUTER_BIAS] = {"use_routing_bias", "moe_router_enable_expert_bias",
                            "moe_use_aux_free"},
    [MS_KEY_HEAD_BIAS] = {"lm_head_bias"},
};

/* --- families --------------------------------------------------------------------------------- */

struct family {
    const char *model_type;
    uint32_t flags;
};

/* Source: the modelling files of transformers (v4.55) and of the model repositories. */
static const struct family FAMILIES[] = {
    {"deepseek_v3", MS_FAMILY_ROUTER_BIAS},
    {"kimi_k2", MS_FAMILY_ROUTER_BIAS},
    {"glm4_moe", MS_FAMILY_ROUTER_BIAS | MS_FAMILY_NO_OUT_BIAS},
    {"dots1", MS_FAMILY_ROUTER_BIAS | MS_FAMILY_QK_NORM},
    {"minimax_m2", MS_FAMILY_QK_NORM_WIDE},
    {"qwen2", MS_FAMILY_QKV_BIAS | MS_FAMILY_NO_OUT_BIAS},
    {"qwen2_moe", MS_FAMILY_QKV_BIAS | MS_FAMILY_NO_OUT_BIAS | MS_FAMILY_SHARED_GATE},
    {"qwen3", MS_FAMILY_QK_NORM},
    {"qwen3_moe", MS_FAMILY_QK_NORM},
    {"qwen3_vl_text", MS_FAMILY_QK_NORM},
    {"qwen3_vl_moe_text", MS_FAMILY_QK_NORM},
    {"olmoe", MS_FAMILY_QK_NORM | MS_FAMILY_QK_NORM_WIDE},
    {"olmo2", MS_FAMILY_QK_NORM | MS_FAMILY_QK_NORM_WIDE},
    {"gpt_oss", MS_FAMILY_QKV_BIAS | MS_FAMILY_OUT_BIAS | MS_FAMILY_SINKS | MS_FAMILY_EXPERT_BIAS |
                    MS_FAMILY_ROUTER_BIAS | MS_FAMILY_ALTERNATE},
    {"llama4_text", MS_FAMILY_SHARED_ONE | MS_FAMILY_QK_NORM_BARE},
    {"llama4", MS_FAMILY_SHARED_ONE | MS_FAMILY_QK_NORM_BARE},
    {"phimoe", MS_FAMILY_NORM_BIAS},
    {"ernie4_5", MS_FAMILY_TIED},
    {"ernie4_5_moe", MS_FAMILY_TIED},
    {"glm4", MS_FAMILY_FOUR_NORMS | MS_FAMILY_NO_OUT_BIAS},
    {"grok-1", MS_FAMILY_FOUR_NORMS},
    {"gemma", MS_FAMILY_TIED},
    {"gemma2", MS_FAMILY_TIED | MS_FAMILY_FOUR_NORMS | MS_FAMILY_ALTERNATE},
    {"gemma3_text", MS_FAMILY_TIED | MS_FAMILY_FOUR_NORMS | MS_FAMILY_QK_NORM},
    {"exaone4", MS_FAMILY_QK_NORM},
    {"gpt2", MS_FAMILY_TWO_MATRIX},
    {"gptj", MS_FAMILY_TWO_MATRIX},
    {"gpt_neox", MS_FAMILY_TWO_MATRIX},
    {"gpt_bigcode", MS_FAMILY_TWO_MATRIX},
    {"opt", MS_FAMILY_TWO_MATRIX},
    {"bloom", MS_FAMILY_TWO_MATRIX},
    {"falcon", MS_FAMILY_TWO_MATRIX},
    {"mpt", MS_FAMILY_TWO_MATRIX},
    {"phi", MS_FAMILY_TWO_MATRIX},
    {"starcoder2", MS_FAMILY_TWO_MATRIX},
    {"nemotron", MS_FAMILY_TWO_MATRIX},
    {"arcee", MS_FAMILY_TWO_MATRIX},
    {"bert", MS_FAMILY_TWO_MATRIX},
    {"roberta", MS_FAMILY_TWO_MATRIX},
    {"afmoe", MS_FAMILY_OTHER_ATTENTION},
    {"jetmoe", MS_FAMILY_OTHER_ATTENTION},
    {"qwen3_next", MS_FAMILY_OTHER_ATTENTION},
};

/* --- reader ----------------------------------------------------------------------------------- */

/* Of a long path the end is kept, so that the key is not cut off. */
enum ms_status ms_arch_keys_fail(const struct ms_arch_keys *r, const char *key, const char *fmt,
                                 ...)
{
    const size_t kept = 150, n = strlen(r->path);
    char where[sizeof(r->err->where)], text[sizeof(r->err->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(where, sizeof(where), "%s:%s%s", r->path + (n > kept ? n - kept : 0), r->prefix, key);
    return ms_fail(r->err, MS_E_INPUT, where, "%s", text);
}

const char *ms_arch_keys_type(const json_t *v)
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

const json_t *ms_arch_keys_find(const struct ms_arch_keys *r, const char *key)
{
    return find_in(r->config, key);
}

/* A string that belongs to the model as a whole: from the inner config, else from the file. */
const char *ms_arch_keys_text(const struct ms_arch_keys *r, const char *key)
{
    const char *text = json_string_value(ms_arch_keys_find(r, key));
    return text ? text : json_string_value(find_in(r->top, key));
}

bool ms_arch_keys_given(const struct ms_arch_keys *r, enum ms_arch_int_key k)
{
    return r->value[k] != MS_ARCH_ABSENT;
}

int64_t ms_arch_keys_or(const struct ms_arch_keys *r, enum ms_arch_int_key k, int64_t otherwise)
{
    return ms_arch_keys_given(r, k) ? r->value[k] : otherwise;
}

enum ms_status ms_arch_keys_need(const struct ms_arch_keys *r, enum ms_arch_int_key k)
{
    if (ms_arch_keys_given(r, k))
        return MS_OK;
    return ms_arch_keys_fail(r, r->key[k], "is missing");
}

/* --- values ----------------------------------------------------------------------------------- */

/* One integer, or a list with one entry per layer that are all the same (Hunyuan). */
static enum ms_status read_int(const struct ms_arch_keys *r, const char *name, const json_t *v,
                               const struct int_row *row, int64_t *out)
{
    if (json_is_array(v) && json_array_size(v)) {
        const json_t *first = json_array_get(v, 0);
        for (size_t i = 1; i < json_array_size(v); i++)
            if (!json_equal(json_array_get(v, i), first))
                return ms_arch_keys_fail(
                    r, name, "differs from layer to layer (entries 0 and %zu): " WHY_LAYERS, i);
        if (ms_arch_keys_given(r, MS_KEY_N_LAYERS) &&
            json_array_size(v) != (size_t)r->value[MS_KEY_N_LAYERS])
            return ms_arch_keys_fail(r, name, "has %zu entries; must have one per layer, %lld",
                                     json_array_size(v), (long long)r->value[MS_KEY_N_LAYERS]);
        v = first;
    }
    if (!json_is_integer(v))
        return ms_arch_keys_fail(r, name, "is %s; must be an integer", ms_arch_keys_type(v));
    if ((double)json_integer_value(v) < row->min || (double)json_integer_value(v) > row->max)
        return ms_arch_keys_fail(r, name, "%lld is outside %.0f to %.0f; nearest legal value %.0f",
                                 (long long)json_integer_value(v), row->min, row->max,
                                 (double)json_integer_value(v) < row->min ? row->min : row->max);
    *out = json_integer_value(v);
    return MS_OK;
}

static enum ms_status read_int_row(struct ms_arch_keys *r, enum ms_arch_int_key k)
{
    const struct int_row *row = &INTS[k];
    r->value[k] = MS_ARCH_ABSENT;
    r->key[k] = row->names[0];
    for (int i = 0; i < N_NAMES && row->names[i]; i++) {
        bool fallback = row->names[i][0] == '?';
        const char *name = row->names[i] + fallback;
        const json_t *v = ms_arch_keys_find(r, name);
        enum ms_status status;
        int64_t x = 0;
        if (!v || (fallback && ms_arch_keys_given(r, k)) ||
            (k == MS_KEY_MOE_FREQ && json_is_array(v)))
            continue;
        status = read_int(r, name, v, row, &x);
        if (status != MS_OK)
            return status;
        if (ms_arch_keys_given(r, k) && r->value[k] != x)
            return ms_arch_keys_fail(r, name, "is %lld, but %s is %lld", (long long)x, r->key[k],
                                     (long long)r->value[k]);
        if (!ms_arch_keys_given(r, k))
            r->key[k] = name;
        r->value[k] = x;
    }
    return MS_OK;
}

static enum ms_status read_bool_row(struct ms_arch_keys *r, enum ms_arch_bool_key k)
{
    r->flag[k] = MS_ARCH_ABSENT;
    for (int i = 0; i < N_NAMES && BOOLS[k][i]; i++) {
        const char *name = BOOLS[k][i];
        const json_t *v = ms_arch_keys_find(r, name);
        if (!v && k == MS_KEY_TIED)
            v = find_in(r->top, name);
        if (!v)
            continue;
        if (!json_is_boolean(v))
            return ms_arch_keys_fail(r, name, "is %s; must be true or false", ms_arch_keys_type(v));
        if (r->flag[k] != 1)
            r->flag[k] = json_is_true(v);
    }
    return MS_OK;
}

static enum ms_status read_keys(struct ms_arch_keys *r)
{
    enum ms_status status = MS_OK;
    for (int k = 0; k < MS_KEY_N_INTS && status == MS_OK; k++)
        status = read_int_row(r, (enum ms_arch_int_key)k);
    for (int k = 0; k < MS_KEY_N_BOOLS && status == MS_OK; k++)
        status = read_bool_row(r, (enum ms_arch_bool_key)k);
    return status;
}

/* --- refusals --------------------------------------------------------------------------------- */

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

static enum ms_status refuse_keys(const struct ms_arch_keys *r)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, v)
    {
        for (size_t i = 0; i < COUNT(REFUSED); i++)
            if (matches(REFUSED[i].key, key) && in_force(v))
                return ms_arch_keys_fail(r, key, "is set: %s", REFUSED[i].why);
    }
    return MS_OK;
}

/* Activations of MLPs without a gate; gated ones use silu, gelu or gelu_pytorch_tanh. */
static enum ms_status refuse_activation(const struct ms_arch_keys *r)
{
    static const char *const keys[] = {"hidden_act", "mlp_hidden_act", "activation_function", NULL};
    static const char *const plain[] = {"relu",      "relu2",      "gelu_new",
                                        "gelu_fast", "quick_gelu", NULL};
    for (int i = 0; keys[i]; i++) {
        const char *text = json_string_value(ms_arch_keys_find(r, keys[i]));
        if (text && ms_names_find(plain, text) >= 0)
            return ms_arch_keys_fail(
                r, keys[i], "is '%s': MLPs without a gate (two matrices) are not modelled", text);
    }
    return MS_OK;
}

/* MiniMax-01: 0 is linear attention, 1 is softmax attention. */
static enum ms_status refuse_attention_types(const struct ms_arch_keys *r)
{
    const json_t *list = ms_arch_keys_find(r, "attn_type_list");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) != 1)
            return ms_arch_keys_fail(r, "attn_type_list",
                                     "entry %zu is not 1 (softmax attention): " WHY_LINEAR, i);
    return MS_OK;
}

static enum ms_status refuse_family(const struct ms_arch_keys *r)
{
    if (r->family & MS_FAMILY_TWO_MATRIX)
        return ms_arch_keys_fail(r, "model_type",
                                 "'%s' has MLPs without a gate (two matrices): not modelled",
                                 ms_arch_keys_text(r, "model_type"));
    if (r->family & MS_FAMILY_OTHER_ATTENTION)
        return ms_arch_keys_fail(r, "model_type",
                                 "'%s' has attention with a gate or a router: not modelled",
                                 ms_arch_keys_text(r, "model_type"));
    return MS_OK;
}

/* A config that speaks of experts under unknown keys must not pass for a dense one. */
static enum ms_status refuse_unknown_experts(const struct ms_arch_keys *r)
{
    const char *key;
    json_t *v;
    for (int i = 0; i < N_NAMES && INTS[MS_KEY_N_EXPERTS].names[i]; i++)
        if (ms_arch_keys_find(r, INTS[MS_KEY_N_EXPERTS].names[i]))
            return MS_OK;
    json_object_foreach((json_t *)(uintptr_t)r->config, key, v)
    {
        bool speaks = strstr(key, "expert") || strncmp(key, "moe_", 4) == 0;
        if (speaks && json_is_integer(v) && json_integer_value(v) > 1)
            return ms_arch_keys_fail(
                r, key,
                "is given, but no number of experts (%s, %s, %s, %s, ...; 0 for a dense model)",
                INTS[MS_KEY_N_EXPERTS].names[0], INTS[MS_KEY_N_EXPERTS].names[1],
                INTS[MS_KEY_N_EXPERTS].names[2], INTS[MS_KEY_N_EXPERTS].names[3]);
    }
    return MS_OK;
}

static bool is_int_key(const char *key)
{
    for (int k = 0; k < MS_KEY_N_INTS; k++)
        for (int i = 0; i < N_NAMES && INTS[k].names[i]; i++)
            if (strcmp(INTS[k].names[i], key) == 0)
                return true;
    return false;
}

/* Nor may a rule for which layers have experts be overlooked. */
static enum ms_status refuse_unknown_pattern(const struct ms_arch_keys *r)
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
            return ms_arch_keys_fail(
                r, key, "seems to say which layers have experts, in a way that is not known");
    }
    return MS_OK;
}

static enum ms_status refuse_unmodelled(const struct ms_arch_keys *r)
{
    static enum ms_status (*const checks[])(const struct ms_arch_keys *) = {refuse_keys,
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

static uint32_t family_of(const json_t *config)
{
    const char *type = json_string_value(json_object_get(config, "model_type"));
    for (size_t i = 0; type && i < COUNT(FAMILIES); i++)
        if (strcmp(FAMILIES[i].model_type, type) == 0)
            return FAMILIES[i].flags;
    return 0;
}

/* Multi-modal models keep the language model's config in a part of the file. */
static void choose_config(struct ms_arch_keys *r)
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

enum ms_status ms_arch_keys_read(struct ms_arch_keys *r)
{
    enum ms_status status;
    choose_config(r);
    status = refuse_unmodelled(r);
    return status == MS_OK ? read_keys(r) : status;
}
