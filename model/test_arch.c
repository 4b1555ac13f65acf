/* test_arch.c - reading config.json: every spelling of every family, and every refusal. */
#include "tests/mstest.h"

#include "model/arch.h"

#include "base/data.h"
#include "base/file.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

/* A small MoE model; tests change it by a patch, in which null removes a key. */
static const char BASE[] =
    "{\"model_type\": \"unheard_of\", \"hidden_size\": 96, \"num_hidden_layers\": 6,"
    " \"vocab_size\": 1009, \"num_attention_heads\": 12, \"num_key_value_heads\": 3,"
    " \"intermediate_size\": 130, \"num_experts\": 10, \"num_experts_per_tok\": 3}";

static enum ms_status parse_text(const char *text, struct ms_arch *a, struct ms_error *err)
{
    struct ms_buf buf = {0};
    enum ms_status status;
    ms_buf_puts(&buf, text);
    status = ms_arch_parse("dir/some-model.json", &buf, a, err);
    ms_buf_free(&buf);
    return status;
}

static enum ms_status parse_patched(const char *patch, struct ms_arch *a, struct ms_error *err)
{
    json_t *base = json_loads(BASE, 0, NULL), *change = json_loads(patch, 0, NULL);
    enum ms_status status;
    char *text;
    assert_non_null(change);
    json_object_update(base, change);
    text = json_dumps(base, 0);
    status = parse_text(text, a, err);
    free(text);
    json_decref(base);
    json_decref(change);
    return status;
}

static struct ms_arch patched(const char *patch)
{
    struct ms_arch a;
    struct ms_error err;
    ms_assert_ok(parse_patched(patch, &a, &err), &err);
    return a;
}

/* "mmd..." for the layers: m has experts, d has none. */
static void assert_layers(const struct ms_arch *a, const char *pattern)
{
    assert_int_equal(a->n_layers, strlen(pattern));
    for (int64_t i = 0; i < a->n_layers; i++)
        if (a->layers[i].moe != (pattern[i] == 'm'))
            fail_msg("layer %d: pattern %s", (int)i, pattern);
}

static void test_base(void **state)
{
    struct ms_arch a = patched("{}");
    (void)state;
    assert_string_equal(a.name, "some-model");
    assert_string_equal(a.model_type, "unheard_of");
    assert_int_equal(a.hidden, 96);
    assert_int_equal(a.vocab, 1009);
    assert_int_equal(a.heads, 12);
    assert_int_equal(a.kv_heads, 3);
    assert_int_equal(a.head_dim, 8); /* hidden / heads */
    assert_int_equal(a.moe_ffn, 130);
    assert_int_equal(a.dense_ffn, 0); /* no dense layer */
    assert_int_equal(a.n_experts, 10);
    assert_int_equal(a.topk, 3);
    assert_int_equal(a.n_groups, 1);
    assert_int_equal(a.shared_ffn, 0);
    assert_false(a.tied_embeddings);
    assert_layers(&a, "mmmmmm");
}

/* All spellings of one meaning give the same value. */
struct spelling {
    const char *patch;
    size_t offset;
    int64_t expected;
};
#define MEMBER(m) offsetof(struct ms_arch, m)
static const struct spelling SPELLINGS[] = {
    {"{\"num_experts\": null, \"n_routed_experts\": 20}", MEMBER(n_experts), 20},
    {"{\"num_experts\": null, \"num_local_experts\": 20}", MEMBER(n_experts), 20},
    {"{\"num_experts\": null, \"moe_num_experts\": 20}", MEMBER(n_experts), 20},
    {"{\"num_experts\": null, \"ffn_config\": {\"moe_num_experts\": 20}}", MEMBER(n_experts), 20},
    {"{\"num_experts_per_tok\": null, \"experts_per_token\": 5}", MEMBER(topk), 5},
    {"{\"num_experts_per_tok\": null, \"moe_topk\": 5}", MEMBER(topk), 5},
    {"{\"num_experts_per_tok\": null, \"moe_k\": 5}", MEMBER(topk), 5},
    {"{\"num_experts_per_tok\": null, \"top_k\": 5}", MEMBER(topk), 5},
    {"{\"num_experts_per_tok\": null, \"ffn_config\": {\"moe_top_k\": 5}}", MEMBER(topk), 5},
    {"{\"top_k\": 50}", MEMBER(topk), 3}, /* a sampling default in old files */
    {"{\"experts_per_token\": 3}", MEMBER(topk), 3},
    {"{\"moe_topk\": [3, 3, 3, 3, 3, 3]}", MEMBER(topk), 3},
    {"{\"moe_intermediate_size\": 70}", MEMBER(moe_ffn), 70},
    {"{\"expert_intermediate_size\": 70}", MEMBER(moe_ffn), 70},
    {"{\"intermediate_size\": null, \"ffn_config\": {\"ffn_hidden_size\": 70}}", MEMBER(moe_ffn),
     70},
    {"{\"n_shared_experts\": 2, \"moe_intermediate_size\": 70}", MEMBER(shared_ffn), 140},
    {"{\"num_shared_experts\": 2}", MEMBER(shared_ffn), 260},
    {"{\"num_shared_expert\": [2, 2, 2, 2, 2, 2]}", MEMBER(shared_ffn), 260},
    {"{\"moe_num_shared_experts\": 2}", MEMBER(shared_ffn), 260},
    {"{\"shared_expert_intermediate_size\": 333}", MEMBER(shared_ffn), 333},
    {"{\"shared_intermediate_size\": 0}", MEMBER(shared_ffn), 0},
    {"{\"num_shared_experts\": 3, \"moe_shared_expert_intermediate_size\": 50}", MEMBER(shared_ffn),
     150},
    {"{\"hidden_size\": null, \"d_model\": 192}", MEMBER(hidden), 192},
    {"{\"num_attention_heads\": null, \"n_heads\": 6}", MEMBER(heads), 6},
    {"{\"num_key_value_heads\": null}", MEMBER(kv_heads), 12},
    {"{\"num_key_value_heads\": null, \"attn_config\": {\"kv_n_heads\": 4}}", MEMBER(kv_heads), 4},
    {"{\"head_dim\": 40}", MEMBER(head_dim), 40},
    {"{\"attention_head_dim\": 40}", MEMBER(head_dim), 40},
    {"{\"num_nextn_predict_layers\": 2}", MEMBER(n_mtp), 2},
    {"{\"num_mtp_modules\": 3}", MEMBER(n_mtp), 3},
    {"{\"n_group\": 5, \"topk_group\": 2}", MEMBER(n_groups), 5},
    {"{\"n_group\": 5, \"topk_group\": 2}", MEMBER(topk_groups), 2},
    {"{\"num_experts\": 0}", MEMBER(topk), 0},
    {"{\"num_experts\": 0}", MEMBER(dense_ffn), 130},
    {"{\"first_k_dense_replace\": 6}", MEMBER(n_experts), 0}, /* all dense after all */
    {"{\"first_k_dense_replace\": 1, \"dense_intermediate_size\": 77}", MEMBER(dense_ffn), 77},
    {"{\"model_type\": \"olmoe\"}", MEMBER(qk_norm_params), 120},
    {"{\"model_type\": \"qwen3_moe\"}", MEMBER(qk_norm_params), 16},
    {"{\"use_qk_norm\": true}", MEMBER(qk_norm_params), 16},
    {"{\"use_qk_norm\": true, \"qk_norm_type\": \"per_layer\"}", MEMBER(qk_norm_params), 120},
    {"{\"model_type\": \"llama4_text\", \"use_qk_norm\": true}", MEMBER(qk_norm_params), 0},
    {"{\"model_type\": \"llama4_text\"}", MEMBER(shared_ffn), 130},
    {"{\"model_type\": \"glm4\"}", MEMBER(norms_per_layer), 4},
};

static void test_spellings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(SPELLINGS) / sizeof(SPELLINGS[0]); i++) {
        struct ms_arch a = patched(SPELLINGS[i].patch);
        int64_t value;
        memcpy(&value, (const char *)&a + SPELLINGS[i].offset, sizeof(value));
        if (value != SPELLINGS[i].expected)
            fail_msg("%s gives %lld, not %lld", SPELLINGS[i].patch, (long long)value,
                     (long long)SPELLINGS[i].expected);
    }
}

static const struct {
    const char *patch, *layers;
} PATTERNS[] = {
    {"{\"first_k_dense_replace\": 2}", "ddmmmm"},
    {"{\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2}", "ddmdmd"},
    {"{\"moe_layer_freq\": 1}", "mmmmmm"},
    {"{\"moe_layer_freq\": [0, 1, 1, 0, 1, 1]}", "dmmdmm"},
    {"{\"decoder_sparse_step\": 3}", "ddmddm"},
    {"{\"mlp_only_layers\": [0, 4]}", "dmmmdm"},
    {"{\"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]}", "dmdddm"},
    {"{\"interleave_moe_layer_step\": 2}", "dmdmdm"},
    {"{\"interleave_moe_layer_step\": 2, \"moe_layers\": [0, 5]}", "mddddm"},
    {"{\"moe_layers\": []}", "dddddd"},
    {"{\"moe_layer_start_index\": 1, \"moe_layer_end_index\": 4, \"moe_layer_interval\": 1}",
     "dmmmmd"},
    {"{\"moe_layer_start_index\": 1, \"moe_layer_end_index\": -1}", "dmmmmm"},
    {"{\"mlp_layer_types\": [\"dense\", \"sparse\", \"moe\", \"dense\", \"sparse\", \"sparse\"]}",
     "dmmdmm"},
};

static void test_layer_patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(PATTERNS) / sizeof(PATTERNS[0]); i++) {
        struct ms_arch a = patched(PATTERNS[i].patch);
        assert_layers(&a, PATTERNS[i].layers);
    }
}

/* Span of each of the six layers; 0 = all; negative = chunk. */
static const struct {
    const char *patch;
    int spans[6];
} SPANS[] = {
    {"{}", {0}},
    {"{\"sliding_window\": 50}", {50, 50, 50, 50, 50, 50}},
    {"{\"sliding_window\": 50, \"use_sliding_window\": false}", {0}},
    {"{\"sliding_window\": 50, \"use_sliding_window\": true, \"max_window_layers\": 4}",
     {0, 0, 0, 0, 50, 50}},
    {"{\"sliding_window\": 50, \"max_window_layers\": 6}", {50, 50, 50, 50, 50, 50}},
    {"{\"sliding_window\": 50, \"sliding_window_pattern\": 3}", {50, 50, 0, 50, 50, 0}},
    {"{\"sliding_window\": 50, \"model_type\": \"gpt_oss\"}", {50, 0, 50, 0, 50, 0}},
    {"{\"attention_chunk_size\": 64}", {-64, -64, -64, 0, -64, -64}},
    {"{\"attention_chunk_size\": 64, \"no_rope_layer_interval\": 2}", {-64, 0, -64, 0, -64, 0}},
    {"{\"attention_chunk_size\": 64, \"no_rope_layers\": []}", {-64, -64, -64, 0, -64, -64}},
    {"{\"attention_chunk_size\": 64, \"no_rope_layers\": [0, 1, 1, 1, 0, 1]}",
     {0, -64, -64, -64, 0, -64}},
    {"{\"sliding_window\": 50, \"attention_chunk_size\": 64, \"layer_types\": [\"full_attention\","
     "\"sliding_attention\", \"chunked_attention\", \"attention\", \"full_attention\","
     "\"sliding_attention\"]}",
     {0, 50, -64, 0, 0, 50}},
};

static void test_spans(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(SPANS) / sizeof(SPANS[0]); k++) {
        struct ms_arch a = patched(SPANS[k].patch);
        for (int i = 0; i < 6; i++) {
            int span = (int)a.layers[i].attention_span * (a.layers[i].chunked ? -1 : 1);
            if (span != SPANS[k].spans[i])
                fail_msg("%s: layer %d has %d", SPANS[k].patch, i, span);
        }
    }
}

static const char MLA[] =
    "{\"kv_lora_rank\": 24, \"qk_nope_head_dim\": 16, \"qk_rope_head_dim\": 4,"
    " \"v_head_dim\": 10, \"q_lora_rank\": null, \"num_key_value_heads\": 7}";

static void test_mla(void **state)
{
    struct ms_arch a = patched(MLA);
    (void)state;
    assert_int_equal(a.attention, MS_ATTENTION_MLA);
    assert_int_equal(a.q_lora_rank, 0);
    assert_int_equal(ms_arch_qk_dim(&a), 20);
    assert_int_equal(ms_arch_v_dim(&a), 10);
    assert_int_equal(a.kv_heads, 12); /* MLA has one key and value per head */
}

/* Flags that model_type or keys decide. */
static void test_flags(void **state)
{
    struct ms_arch a = patched("{\"model_type\": \"gpt_oss\"}");
    (void)state;
    assert_true(a.attention_bias && a.attention_out_bias && a.attention_sinks);
    assert_true(a.expert_bias && a.router_bias);
    a = patched("{\"model_type\": \"qwen2_moe\", \"shared_expert_intermediate_size\": 99}");
    assert_true(a.attention_bias && !a.attention_out_bias && a.shared_gate);
    a = patched("{\"model_type\": \"qwen2_moe\", \"qkv_bias\": false}");
    assert_false(a.attention_bias || a.shared_gate);
    a = patched("{\"model_type\": \"glm4_moe\", \"attention_bias\": true}");
    assert_true(a.attention_bias && !a.attention_out_bias && a.router_bias);
    a = patched(
        "{\"attention_bias\": true, \"lm_head_bias\": true, \"tie_word_embeddings\": true}");
    assert_true(a.attention_bias && a.attention_out_bias && a.head_bias && a.tied_embeddings);
    a = patched("{\"topk_method\": \"noaux_tc\"}");
    assert_true(a.router_bias && !a.attention_bias);
    a = patched("{\"model_type\": \"deepseek_v3\", \"topk_method\": \"greedy\"}");
    assert_false(a.router_bias);
    a = patched("{\"use_routing_bias\": true, \"mlp_bias\": true}");
    assert_true(a.router_bias && a.mlp_bias);
    a = patched("{\"model_type\": \"phimoe\"}");
    assert_true(a.norm_bias);
    a = patched("{\"model_type\": \"ernie4_5_moe\"}");
    assert_true(a.tied_embeddings);
}

static void test_nested(void **state)
{
    static const char *const parts[] = {"text_config", "language_config", "llm_config"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct ms_buf text = {0};
        struct ms_arch a;
        struct ms_error err;
        ms_buf_printf(
            &text,
            "{\"model_type\": \"seer\", \"tie_word_embeddings\": true, \"hidden_size\": 1, "
            "\"vision_config\": {\"hidden_size\": 5}, \"%s\": %s}",
            parts[i], BASE);
        ms_assert_ok(parse_text(text.text, &a, &err), &err);
        assert_string_equal(a.model_type, "seer");
        assert_int_equal(a.hidden, 96);
        assert_true(a.tied_embeddings);
        ms_buf_free(&text);
    }
}

/* A patch, the key that the message must name, and what it must say. */
static const struct {
    const char *patch, *where, *says;
} FAULTS[] = {
    {"{\"hidden_size\": null}", ":hidden_size", "is missing"},
    {"{\"num_hidden_layers\": null}", ":num_hidden_layers", "is missing"},
    {"{\"vocab_size\": null}", ":vocab_size", "is missing"},
    {"{\"num_attention_heads\": null}", ":num_attention_heads", "is missing"},
    {"{\"num_experts_per_tok\": null}", ":num_experts_per_tok", "is missing"},
    {"{\"intermediate_size\": null}", ":intermediate_size", "is missing"},
    {"{\"intermediate_size\": null, \"moe_intermediate_size\": 9, \"first_k_dense_replace\": 1}",
     ":intermediate_size", "the 1 dense layers"},
    {"{\"hidden_size\": 96.5}", ":hidden_size", "is a real number; must be an integer"},
    {"{\"hidden_size\": 96.0}", ":hidden_size", "is a real number; must be an integer"},
    {"{\"hidden_size\": \"96\"}", ":hidden_size", "is a string; must be an integer"},
    {"{\"hidden_size\": true}", ":hidden_size", "is true; must be an integer"},
    {"{\"hidden_size\": []}", ":hidden_size", "is a list"},
    {"{\"hidden_size\": {}}", ":hidden_size", "is an object"},
    {"{\"hidden_size\": 0}", ":hidden_size", "0 is outside 1 to 2147483648; nearest legal value 1"},
    {"{\"vocab_size\": 2147483649}", ":vocab_size", "nearest legal value 2147483648"},
    {"{\"num_hidden_layers\": 1025}", ":num_hidden_layers", "nearest legal value 1024"},
    {"{\"num_hidden_layers\": -3}", ":num_hidden_layers", "nearest legal value 1"},
    {"{\"num_nextn_predict_layers\": 65}", ":num_nextn_predict_layers", "nearest legal value 64"},
    {"{\"num_key_value_heads\": 5}", ":num_key_value_heads",
     "5 does not divide num_attention_heads 12"},
    {"{\"num_attention_heads\": 9}", ":head_dim", "not a multiple"},
    {"{\"num_experts_per_tok\": 11}", ":num_experts_per_tok", "11 is outside 1 to num_experts 10"},
    {"{\"num_experts_per_tok\": 0}", ":num_experts_per_tok", "0 is outside 1"},
    {"{\"experts_per_token\": 4}", ":experts_per_token", "is 4, but num_experts_per_tok is 3"},
    {"{\"moe_topk\": [3, 3, 2, 3, 3, 3]}", ":moe_topk", "differs from layer to layer"},
    {"{\"moe_topk\": [3, 3]}", ":moe_topk", "has 2 entries; must have one per layer, 6"},
    {"{\"n_group\": 3}", ":n_group", "3 does not divide num_experts 10"},
    {"{\"n_group\": 5, \"topk_group\": 6}", ":topk_group", "6 is more than n_group 5"},
    {"{\"n_group\": 5, \"topk_group\": 1}", ":num_experts_per_tok",
     "3 is more than the 2 experts of 1"},
    {"{\"n_shared_experts\": 2, \"shared_expert_intermediate_size\": 50}",
     ":shared_expert_intermediate_size", "neither absent nor n_shared_experts 2"},
    {"{\"n_shared_experts\": 2147483648}", ":n_shared_experts", "wider than"},
    {"{\"first_k_dense_replace\": 7}", ":first_k_dense_replace", "nearest legal value 6"},
    {"{\"mlp_only_layers\": [6]}", ":mlp_only_layers", "entry 0 is not a layer number, 0 to 5"},
    {"{\"mlp_only_layers\": 3}", ":mlp_only_layers", "is an integer; must be a list"},
    {"{\"moe_layers\": [1, -1]}", ":moe_layers", "entry 1"},
    {"{\"moe_layer_freq\": [1, 0]}", ":moe_layer_freq",
     "has 2 entries; must have one per layer, 6"},
    {"{\"moe_layer_freq\": [1, 0, 2, 1, 1, 1]}", ":moe_layer_freq", "entry 2 is not 0 or 1"},
    {"{\"moe_layer_freq\": \"all\"}", ":moe_layer_freq", "is a string"},
    {"{\"mlp_layer_types\": [\"moe\", \"moe\", \"moe\", \"moe\", \"moe\", \"mamba\"]}",
     ":mlp_layer_types", "entry 5"},
    {"{\"decoder_sparse_step\": 0}", ":decoder_sparse_step", "nearest legal value 1"},
    {"{\"layer_types\": [\"full_attention\"]}", ":layer_types", "has 1 entries"},
    {"{\"layer_types\": \"full_attention\"}", ":layer_types", "must be a list"},
    {"{\"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\","
     "\"full_attention\", \"full_attention\", \"full_attention\"]}",
     ":sliding_window", "layer_types entry 0 is 'sliding_attention'"},
    {"{\"layer_types\": [\"chunked_attention\", \"full_attention\", \"full_attention\","
     "\"full_attention\", \"full_attention\", \"full_attention\"]}",
     ":attention_chunk_size", "is missing"},
    {"{\"layer_types\": [\"full_attention\", 7, \"full_attention\", \"full_attention\","
     "\"full_attention\", \"full_attention\"]}",
     ":layer_types", "entry 1 is 'not a string'"},
    {"{\"attention_chunk_size\": 64, \"no_rope_layers\": [1, 0]}", ":no_rope_layers",
     "has 2 entries"},
    {"{\"tie_word_embeddings\": 1}", ":tie_word_embeddings", "must be true or false"},
    {"{\"num_attention_heads\": 2147483648, \"num_key_value_heads\": null, \"head_dim\": 2}",
     ":num_attention_heads", "2147483648 heads of 2 are wider than"},
    {"{\"kv_lora_rank\": 24}", ":qk_nope_head_dim", "is missing"},
    {"{\"hidden_size\": 2147483648, \"head_dim\": 128, \"num_hidden_layers\": 1024,"
     " \"num_experts\": 1000000}",
     ":hidden_size", "parameters, more than"},
};

static void assert_refused(const char *patch, const char *where, const char *says)
{
    struct ms_arch a;
    struct ms_error err;
    memset(&a, 0x5a, sizeof(a));
    if (parse_patched(patch, &a, &err) != MS_E_INPUT)
        fail_msg("%s was accepted", patch);
    if (!strstr(err.where, where) || strncmp(err.where, "dir/some-model.json:", 20) != 0)
        fail_msg("%s: place is %s", patch, err.where);
    ms_assert_says(&err, says);
    assert_int_equal(a.n_layers, INT64_C(0x5a5a5a5a5a5a5a5a)); /* outputs only on success */
}

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++)
        assert_refused(FAULTS[i].patch, FAULTS[i].where, FAULTS[i].says);
}

/* Features whose cost is not modelled: never approximated in silence. */
static const char *const UNMODELLED[][2] = {
    {"{\"hybrid_override_pattern\": \"MEM*EM\"}", ":hybrid_override_pattern"},
    {"{\"mamba_d_state\": 128}", ":mamba_d_state"},
    {"{\"ssm_state_size\": 128}", ":ssm_state_size"},
    {"{\"attn_layer_period\": 8}", ":attn_layer_period"},
    {"{\"linear_num_value_heads\": 32}", ":linear_num_value_heads"},
    {"{\"linear_attn_config\": {\"kda_layers\": [1, 2]}}", ":linear_attn_config"},
    {"{\"full_attention_interval\": 4}", ":full_attention_interval"},
    {"{\"index_topk\": 2048}", ":index_topk"},
    {"{\"o_lora_rank\": 1024}", ":o_lora_rank"},
    {"{\"moe_latent_size\": 1024}", ":moe_latent_size"},
    {"{\"conv_L_cache\": 3}", ":conv_L_cache"},
    {"{\"use_cla\": true}", ":use_cla"},
    {"{\"is_encoder_decoder\": true}", ":is_encoder_decoder"},
    {"{\"attn_type_list\": [1, 1, 0, 1, 1, 1]}", ":attn_type_list"},
    {"{\"layer_types\": [\"linear_attention\", \"linear_attention\", \"linear_attention\","
     "\"full_attention\", \"linear_attention\", \"linear_attention\"]}",
     ":layer_types"},
    {"{\"layer_types\": [\"mamba\", \"attention\", \"mamba\", \"attention\", \"mamba\", "
     "\"mamba\"]}",
     ":layer_types"},
    {"{\"hidden_act\": \"relu2\"}", ":hidden_act"},
    {"{\"mlp_hidden_act\": \"relu2\"}", ":mlp_hidden_act"},
    {"{\"model_type\": \"gpt2\"}", ":model_type"},
    {"{\"model_type\": \"afmoe\"}", ":model_type"},
    {"{\"num_experts\": null}", ":num_experts_per_tok"}, /* experts under an unknown name */
    {"{\"num_experts\": null, \"num_experts_per_tok\": null, \"moe_width\": 7}", ":moe_width"},
    {"{\"moe_every_n_layers\": 2}", ":moe_every_n_layers"},
    {"{\"expert_layer_period\": 2}", ":expert_layer_period"},
};

static void test_unmodelled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(UNMODELLED) / sizeof(UNMODELLED[0]); i++)
        assert_refused(UNMODELLED[i][0], UNMODELLED[i][1], "");
}

/* The same keys switched off are no obstacle. */
static void test_switched_off(void **state)
{
    struct ms_arch a =
        patched("{\"use_cla\": false, \"mamba_d_state\": null, \"index_topk\": 0,"
                " \"hybrid_override_pattern\": \"\", \"linear_attn_config\": {},"
                " \"attn_type_list\": [1, 1, 1, 1, 1, 1], \"hidden_act\": \"silu\"}");
    (void)state;
    assert_int_equal(a.n_experts, 10);
}

static void assert_text_fails(const char *text, const char *where, const char *says)
{
    struct ms_arch a;
    struct ms_error err;
    assert_int_equal(parse_text(text, &a, &err), MS_E_INPUT);
    ms_assert_says(&err, where);
    ms_assert_says(&err, says);
}

static void test_syntax(void **state)
{
    (void)state;
    assert_text_fails("{\n\"hidden_size\": 1,\n\"vocab_size\": }", "some-model.json:3",
                      "not valid JSON");
    assert_text_fails("{\"hidden_size\": 1,\n\"hidden_size\": 2}", "some-model.json:2",
                      "duplicate");
    assert_text_fails("", "some-model.json:1", "not valid JSON");
    assert_text_fails("[1]", "some-model.json", "is a list; must be an object");
    assert_text_fails("{} {}", "some-model.json:1", "not valid JSON");
    assert_text_fails("{\"text_config\": {\"hidden_size\": \"x\"}}", ":text_config.hidden_size",
                      "is a string");
}

/* A file cut anywhere is an error, not a crash or a model. */
static void test_truncated(void **state)
{
    (void)state;
    for (size_t n = 0; n + 1 < sizeof(BASE) - 1; n++) {
        struct ms_buf cut = {0};
        struct ms_arch a;
        struct ms_error err;
        ms_buf_add(&cut, BASE, n);
        assert_int_equal(ms_arch_parse("cut", &cut, &a, &err), MS_E_INPUT);
        ms_buf_free(&cut);
    }
}

static void write_file(const char *path, const char *text, size_t n)
{
    struct ms_buf buf = {0};
    struct ms_error err;
    ms_buf_add(&buf, text, n);
    ms_assert_ok(ms_file_write(path, &buf, &err), &err);
    ms_buf_free(&buf);
}

/* However long the path, the key is named. */
static void test_long_path(void **state)
{
    char name[1000];
    struct ms_buf text = {0};
    struct ms_arch a;
    struct ms_error err;
    (void)state;
    memset(name, 'x', sizeof(name));
    memcpy(name + sizeof(name) - 8, "/m.json", 8);
    ms_buf_puts(&text, "{\"hidden_size\": 7.5}");
    assert_int_equal(ms_arch_parse(name, &text, &a, &err), MS_E_INPUT);
    ms_assert_says(&err, "/m.json:hidden_size");
    ms_buf_free(&text);
}

static void test_paths(void **state)
{
    char dir[] = "/tmp/test_arch.XXXXXX", path[64];
    static char big[(4 << 20) + 1];
    struct ms_arch a;
    struct ms_error err;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/config.json", dir);
    assert_int_equal(ms_arch_load(path, &a, &err), MS_E_INPUT); /* missing */
    ms_assert_says(&err, path);
    assert_int_equal(ms_arch_load(dir, &a, &err), MS_E_INPUT); /* a folder without one */
    write_file(path, BASE, sizeof(BASE) - 1);
    ms_assert_ok(ms_arch_load(dir, &a, &err), &err);
    assert_string_equal(a.name,
                        strrchr(dir, '/') + 1); /* the folder's name says more than "config" */
    ms_assert_ok(ms_arch_load(path, &a, &err), &err);
    assert_int_equal(a.n_experts, 10);
    memset(big, ' ', sizeof(big));
    write_file(path, big, sizeof(big));
    assert_int_equal(ms_arch_load(path, &a, &err), MS_E_INPUT);
    ms_assert_says(&err, "limit of 4194304 bytes");
    unlink(path);
    rmdir(dir);
}

static void test_names(void **state)
{
    static const char *const same[][2] = {{"deepseek-v3", "deepseek-v3"},
                                          {"DeepSeekV3", "deepseek-v3"},
                                          {"deepseek_v3", "deepseek-v3"},
                                          {"Qwen3-235B-A22B", "qwen3-235b"},
                                          {"llama3.1-405b", "llama3-405b"},
                                          {"LLAMA3_8B", "llama3-8b"},
                                          {"Llama4-Maverick-400B-A17B", "llama4-maverick"},
                                          {"Grok1-314B", "grok-1"},
                                          {"Moonlight-16B-A3B", "moonlight-16b"},
                                          {"Mixtral-8x22B", "mixtral-8x22b"},
                                          {"Mixtral-8x22B-G8T8", "mixtral-8x22b-g8t8"}};
    struct ms_arch a;
    struct ms_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        ms_assert_ok(ms_arch_load(same[i][0], &a, &err), &err);
        assert_string_equal(a.name, same[i][1]);
    }
    assert_int_equal(ms_arch_load("deepseek-v9", &a, &err), MS_E_INPUT);
    ms_assert_says(&err, "deepseek-v9");
    ms_assert_says(&err, "kimi-k2");
    assert_int_equal(ms_arch_load("", &a, &err), MS_E_INPUT);
    assert_int_equal(ms_arch_load("...", &a, &err), MS_E_INPUT);
}

/* Each built-in model equals the configuration published with the model, but for the name. */
static void test_builtin_matches_published(void **state)
{
    static const char *const pairs[][2] = {
        {"deepseek-v3", "deepseek-ai--DeepSeek-V3"},
        {"kimi-k2", "moonshotai--Kimi-K2-Instruct"},
        {"qwen3-235b", "Qwen--Qwen3-235B-A22B"},
        {"qwen3-30b", "Qwen--Qwen3-30B-A3B"},
        {"gpt-oss-120b", "openai--gpt-oss-120b"},
        {"gpt-oss-20b", "openai--gpt-oss-20b"},
        {"mixtral-8x7b", "mistralai--Mixtral-8x7B-v0.1"},
        {"llama3-8b", "meta-llama--Meta-Llama-3.1-8B"},
        {"llama3-70b", "meta-llama--Meta-Llama-3.1-70B"},
        {"llama3-405b", "meta-llama--Meta-Llama-3.1-405B"},
        {"llama4-scout", "meta-llama--Llama-4-Scout-17B-16E-Instruct"}};
    const char *shared = ms_test_shared();
    (void)state;
    if (!shared)
        skip();
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct ms_arch a = {0}, b = {0};
        struct ms_error err;
        char path[4200];
        snprintf(path, sizeof(path), "%s/hf_configs/%s.json", shared, pairs[i][1]);
        ms_assert_ok(ms_arch_load(pairs[i][0], &a, &err), &err);
        ms_assert_ok(ms_arch_load(path, &b, &err), &err);
        assert_string_equal(b.name, pairs[i][1]);
        memset(a.name, 0, sizeof(a.name) + sizeof(a.model_type));
        memset(b.name, 0, sizeof(b.name) + sizeof(b.model_type));
        if (memcmp(&a, &b, sizeof(a)) != 0) /* NOLINT: both were zeroed, padding too */
            fail_msg("%s differs from %s", pairs[i][0], pairs[i][1]);
    }
}

/* Every configuration of the published folder is read. */
static void test_all_published(void **state)
{
    const char *shared = ms_test_shared();
    char **names;
    int n = 0;
    (void)state;
    if (!shared)
        skip();
    setenv("MOESIM_DATADIR", shared, 1);
    names = ms_data_list("hf_configs", ".json");
    unsetenv("MOESIM_DATADIR");
    for (; names[n]; n++) {
        struct ms_arch a;
        struct ms_error err;
        char path[4400];
        snprintf(path, sizeof(path), "%s/hf_configs/%s.json", shared, names[n]);
        ms_assert_ok(ms_arch_load(path, &a, &err), &err);
    }
    ms_data_list_free(names);
    assert_true(n >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_layer_patterns),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_mla),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_unmodelled),
        cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_builtin_matches_published),
        cmocka_unit_test(test_all_published),
    };
    return cmocka_run_group_tests_name("arch", tests, NULL, NULL);
}
