/* test_arch_count.c - parameters and work against published figures and counting by hand. */
#include "tests/mstest.h"

#include "model/arch.h"

#include "base/data.h"

static struct ms_arch load(const char *name)
{
    struct ms_arch a;
    struct ms_error err;
    ms_assert_ok(ms_arch_load(name, &a, &err), &err);
    return a;
}

static struct ms_arch parse(const char *text)
{
    struct ms_arch a;
    struct ms_error err;
    struct ms_buf buf = {0};
    ms_buf_puts(&buf, text);
    ms_assert_ok(ms_arch_parse("inline", &buf, &a, &err), &err);
    ms_buf_free(&buf);
    return a;
}

/* Parameters as published. `total` to the digits that the source prints; `rtol` covers its
 * rounding. */
struct published_params {
    const char *model;
    double total, total_rtol;
    double active, active_rtol;
    bool without_embedding; /* how the source counts active ones */
    const char *source;
};

static const struct published_params PARAMS[] = {
    {"deepseek-v3", 671e9, 0.001, 37e9, 0.02, false, "arXiv:2412.19437"},
    {"kimi-k2", 1.04e12, 0.015, 32e9, 0.03, false, "arXiv:2507.20534: 1.04 T, 32 B active"},
    {"deepseek-v2-lite", 15.7e9, 0.001, 2.4e9, 0.025, true,
     "arXiv:2405.04434: 15.7 B, 2.4 B active"},
    {"moonlight-16b", 16e9, 0.005, 3e9, 0.12, false, "arXiv:2502.16982: 3B/16B"},
    {"qwen3-235b", 235e9, 0.001, 22e9, 0.01, false, "arXiv:2505.09388: 235 B, 22 B active"},
    {"qwen3-30b", 30.5e9, 0.002, 3.3e9, 0.02, false, "Qwen3-30B-A3B model card: 30.5 B, 3.3 B"},
    {"qwen2-57b", 57.4e9, 0.001, 14.2e9, 0.01, false,
     "arXiv:2407.10671, Qwen2 blog: 57.41 B, 14.2 B"},
    {"gpt-oss-120b", 116.83e9, 5e-5, 5.13e9, 0.001, true, "arXiv:2508.10925 table 1"},
    {"gpt-oss-20b", 20.91e9, 3e-4, 3.61e9, 0.002, true, "arXiv:2508.10925 table 1"},
    {"mixtral-8x7b", 46.7e9, 0.001, 12.9e9, 0.002, false, "Mistral: 46.7 B, 12.9 B per token"},
    {"mixtral-8x22b", 141e9, 0.003, 39e9, 0.005, false, "Mistral: 141 B, 39 B active"},
    {"grok-1", 314e9, 0.006, 78.5e9, 0.07, false, "xAI: 314 B, \"25 % of the weights active\""},
    {"llama3-8b", 8.03e9, 1e-4, 8.03e9, 1e-4, false, "Llama-3.1-8B model card: 8.03 B"},
    {"llama3-70b", 70.6e9, 0.001, 70.6e9, 0.001, false, "Llama-3.1-70B model card: 70.6 B"},
    {"llama3-405b", 405e9, 0.003, 405e9, 0.003, false, "arXiv:2407.21783: 405 B"},
    {"llama4-scout", 107.8e9, 0.001, 17e9, 0.02, false,
     "Llama 4: 109 B with vision, 107.8 B text; 17 B"},
    {"llama4-maverick", 400e9, 0.01, 17e9, 0.02, false, "Llama 4: 400 B with vision, 17 B active"},
    {"olmoe-1b-7b", 6.9e9, 0.004, 1.3e9, 0.02, false, "arXiv:2409.02060: 6.9 B, 1.3 B active"},
};

static void test_published_params(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(PARAMS) / sizeof(PARAMS[0]); i++) {
        const struct published_params *t = &PARAMS[i];
        struct ms_arch a = load(t->model);
        struct ms_params p;
        double active;
        ms_arch_params(&a, &p);
        active = t->without_embedding ? p.active_without_embedding : p.active;
        print_message(
            "%-17s total %9.3f B published %9.2f (%+.2f%%)  active %7.3f B published %6.2f"
            " (%+.2f%%)  %s\n",
            t->model, p.total / 1e9, t->total / 1e9, 100 * (p.total / t->total - 1), active / 1e9,
            t->active / 1e9, 100 * (active / t->active - 1), t->source);
        ms_assert_close(p.total, t->total, t->total_rtol, 0);
        ms_assert_close(active, t->active, t->active_rtol, 0);
    }
}

/* Exact numbers of weights as commonly reported for the published checkpoints (DeepSeek-V3: the
 * main model), noted before the code was run; not re-read from the checkpoints. */
static void test_exact_params(void **state)
{
    static const struct {
        const char *model;
        double total;
    } exact[] = {
        {"llama3-8b", 8030261248.0},      {"llama3-70b", 70553706496.0},
        {"mixtral-8x7b", 46702792704.0},  {"mixtral-8x22b", 140630071296.0},
        {"qwen3-30b", 30532122624.0},     {"qwen3-235b", 235093634560.0},
        {"olmoe-1b-7b", 6919161856.0},    {"gpt-oss-20b", 20914757184.0},
        {"gpt-oss-120b", 116829156672.0}, {"deepseek-v2-lite", 15706484224.0},
        {"deepseek-v3", 671026419200.0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
        struct ms_arch a = load(exact[i].model);
        struct ms_params p;
        ms_arch_params(&a, &p);
        print_message("%-17s %.0f\n", exact[i].model, p.total);
        ms_assert_close(p.total, exact[i].total, 0, 0);
    }
}

/* DeepSeek-V3's README: 671 B of the main model and 14 B of the MTP module, of which 11.5 B are
 * its own and two copies of 0.9 B are the embedding and head that it shares (README_WEIGHTS.md). */
static void test_mtp_params(void **state)
{
    struct ms_arch a = load("deepseek-v3");
    struct ms_params p;
    (void)state;
    ms_arch_params(&a, &p);
    ms_assert_close(p.total_with_mtp - p.total, 11.5e9, 0.01, 0);
    ms_assert_close(p.total_with_mtp + p.embedding + p.head, 685e9, 0.001,
                    0); /* all that is stored */
    ms_assert_close(p.embedding, 0.9e9, 0.03, 0);
    ms_assert_close(p.mtp_extra, 2.0 * 7168 * 7168 + 3 * 7168, 0, 0);
    a.n_mtp = 0;
    ms_arch_params(&a, &p);
    ms_assert_close(p.total_with_mtp, p.total, 0, 0);
}

/* Families without a built-in model, by the keys that their configs use, against their names. */
static void test_other_families(void **state)
{
    static const struct {
        const char *config;
        double total, active, active_atol; /* about half a unit of the last digit given */
        bool without_embedding;
    } models[] = {
        /* GLM-4.5: 355B-A32B */
        {"{\"model_type\":\"glm4_moe\",\"attention_bias\":true,\"first_k_dense_replace\":3,\"head_"
         "dim\":128,"
         "\"hidden_size\":5120,\"intermediate_size\":12288,\"moe_intermediate_size\":1536,\"n_"
         "group\":1,"
         "\"n_routed_experts\":160,\"n_shared_experts\":1,\"num_attention_heads\":96,"
         "\"num_experts_per_tok\":8,\"num_hidden_layers\":92,\"num_key_value_heads\":8,"
         "\"num_nextn_predict_layers\":1,\"topk_group\":1,\"use_qk_norm\":true,\"vocab_size\":"
         "151552}",
         355e9, 32e9, 1e9, true},
        /* Hunyuan-A13B: 80B-A13B */
        {"{\"model_type\":\"hunyuan_v1_moe\",\"attention_head_dim\":128,\"hidden_size\":4096,"
         "\"intermediate_size\":3072,\"moe_intermediate_size\":3072,\"moe_topk\":8,\"num_experts\":"
         "64,"
         "\"num_shared_expert\":1,\"num_attention_heads\":32,\"num_hidden_layers\":32,"
         "\"num_key_value_heads\":8,\"use_qk_norm\":true,\"use_cla\":false,\"tie_word_embeddings\":"
         "true,"
         "\"vocab_size\":128167}",
         80e9, 13e9, 0.5e9, false},
        /* Ernie-4.5-21B-A3B, 21.8 B stored */
        {"{\"model_type\":\"ernie4_5_moe\",\"hidden_size\":2560,\"intermediate_size\":12288,"
         "\"moe_intermediate_size\":1536,\"moe_k\":6,\"moe_layer_end_index\":27,\"moe_layer_"
         "interval\":1,"
         "\"moe_layer_start_index\":1,\"moe_num_experts\":64,\"moe_num_shared_experts\":2,"
         "\"num_attention_heads\":20,\"num_hidden_layers\":28,\"num_key_value_heads\":4,"
         "\"tie_word_embeddings\":true,\"use_bias\":false,\"vocab_size\":103424}",
         21.8e9, 3e9, 0.5e9, false},
        /* MiniMax-M2: 230 B, 10 B active */
        {"{\"model_type\":\"minimax_m2\",\"head_dim\":128,\"hidden_size\":3072,\"intermediate_"
         "size\":1536,"
         "\"num_local_experts\":256,\"num_experts_per_tok\":8,\"num_attention_heads\":48,"
         "\"num_key_value_heads\":8,\"num_hidden_layers\":62,\"num_mtp_modules\":3,"
         "\"shared_intermediate_size\":0,\"use_qk_norm\":true,\"qk_norm_type\":\"per_layer\","
         "\"use_routing_bias\":true,\"vocab_size\":200064}",
         230e9, 10e9, 0.5e9, true},
        /* Phi-3.5-MoE: 41.9 B, 6.6 B active */
        {"{\"model_type\":\"phimoe\",\"attention_bias\":true,\"hidden_size\":4096,"
         "\"intermediate_size\":6400,\"lm_head_bias\":true,\"num_attention_heads\":32,"
         "\"num_experts_per_tok\":2,\"num_hidden_layers\":32,\"num_key_value_heads\":8,"
         "\"num_local_experts\":16,\"sliding_window\":131072,\"vocab_size\":32064}",
         41.9e9, 6.6e9, 0.1e9, false},
        /* DBRX: 132 B, 36 B active */
        {"{\"model_type\":\"dbrx\",\"attn_config\":{\"clip_qkv\":8,\"kv_n_heads\":8},\"d_model\":"
         "6144,"
         "\"ffn_config\":{\"ffn_hidden_size\":10752,\"moe_num_experts\":16,\"moe_top_k\":4},"
         "\"n_heads\":48,\"n_layers\":40,\"tie_word_embeddings\":false,\"vocab_size\":100352}",
         132e9, 36e9, 0.7e9, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        struct ms_arch a = parse(models[i].config);
        struct ms_params p;
        double active;
        ms_arch_params(&a, &p);
        active = models[i].without_embedding ? p.active_without_embedding : p.active;
        print_message("%-15s total %8.3f B published %6.1f, active %7.3f B published %5.1f\n",
                      a.model_type, p.total / 1e9, models[i].total / 1e9, active / 1e9,
                      models[i].active / 1e9);
        ms_assert_close(p.total, models[i].total, 0.01, 0);
        ms_assert_close(active, models[i].active, 0, models[i].active_atol);
    }
}

/* A model with every kind of bias, norm and layer, counted by hand:
 * hidden 10, 2 heads and 1 key/value head of 3, 3 layers (1 dense of 7, 2 with 4 experts of 5). */
static void test_params_by_hand(void **state)
{
    struct ms_arch a = parse(
        "{\"model_type\":\"gpt_oss\",\"hidden_size\":10,\"num_hidden_layers\":3,\"vocab_size\":11,"
        "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":3,\"dense_intermediate_"
        "size\":7,"
        "\"intermediate_size\":5,\"num_experts\":4,\"num_experts_per_tok\":3,\"mlp_bias\":true,"
        "\"n_shared_experts\":2,\"first_k_dense_replace\":1,\"lm_head_bias\":true,\"use_qk_norm\":"
        "true}");
    struct ms_params p;
    (void)state;
    ms_arch_params(&a, &p);
    /* q 60 + 6, k and v 2 (30 + 3), out 60 + 10, q and k norms 6, sinks 2 */
    ms_assert_close(p.attention, 66 + 66 + 70 + 6 + 2, 0, 0);
    ms_assert_close(p.norms, 20, 0, 0);
    ms_assert_close(p.dense_mlp, 3 * 70 + 7 + 7 + 10, 0, 0);
    ms_assert_close(p.expert, 3 * 50 + 5 + 5 + 10, 0, 0);
    ms_assert_close(p.shared, 3 * 100, 0, 0);
    ms_assert_close(p.router, 40 + 4, 0, 0);
    ms_assert_close(p.head, 110 + 11, 0, 0);
    ms_assert_close(p.total, 110 + 121 + 10 + 3 * 230 + 234 + 2 * (44 + 4 * 170 + 300), 0, 0);
    ms_assert_close(p.active, p.total - 2 * 170, 0, 0);
    ms_assert_close(p.active_without_embedding, p.active - 110, 0, 0);
}

static void test_tied(void **state)
{
    struct ms_arch a = load("llama3-8b");
    struct ms_params untied, tied;
    (void)state;
    ms_arch_params(&a, &untied);
    a.tied_embeddings = true;
    ms_arch_params(&a, &tied);
    ms_assert_close(untied.total - tied.total, 128256.0 * 4096, 0, 0);
    ms_assert_close(tied.head, 0, 0, 0);
    /* the one table is the output head as well, so that it works for every token */
    ms_assert_close(tied.active_without_embedding, tied.active, 0, 0);
}

/* GFLOP per token that Megatron-Bridge's tables imply (TFLOPS per GPU over tokens/s per GPU,
 * medians over the rows of NVIDIA-NeMo/Megatron-Bridge docs/performance-summary at 067f987d), and
 * those of arXiv:2505.09343 (DeepSeek-V3 without MTP), of arXiv:2603.07685v2 table 11 (Qwen3-235B
 * at 131072: 1150 TFLOPS, three digits, over 1556 tokens/s) and of the dgxc-benchmarking rows
 * (Grok-1). */
static const struct {
    const char *model;
    int64_t seq_len, n_mtp;
    double gflop, rtol;
} WORK[] = {
    {"deepseek-v3", 4096, 0, 249.8, 0.0005},  {"deepseek-v3", 4096, 1, 260.0, 0.0005},
    {"qwen3-235b", 4096, 0, 148.0, 0.0005},   {"qwen3-235b", 131072, 0, 739.07, 0.01},
    {"qwen3-30b", 4096, 0, 23.0, 0.0005},     {"kimi-k2", 4096, 0, 204.4, 0.0005},
    {"llama3-8b", 8192, 0, 51.5, 0.001},      {"llama3-70b", 8192, 0, 449, 0.001},
    {"llama3-405b", 8192, 0, 2524, 0.0005},   {"grok-1", 8192, 0, 521.2, 0.002},
    {"gpt-oss-120b", 4096, 0, 32.63, 0.0005},
};

static void test_published_flops(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(WORK) / sizeof(WORK[0]); i++) {
        struct ms_arch a = load(WORK[i].model);
        struct ms_flops f;
        ms_arch_flops(&a, WORK[i].seq_len, WORK[i].n_mtp, &f);
        print_message("%-13s S=%-6lld MTP %lld: %9.3f GFLOP/token, published %8.2f (%+.3f%%)\n",
                      WORK[i].model, (long long)WORK[i].seq_len, (long long)WORK[i].n_mtp,
                      f.total_train / 1e9, WORK[i].gflop,
                      100 * (f.total_train / 1e9 / WORK[i].gflop - 1));
        ms_assert_close(f.total_train / 1e9, WORK[i].gflop, WORK[i].rtol, 0);
    }
}

/* Megatron-Bridge printed 27.2 (S = 4096) and 30.8 (8192) GFLOP/token for GPT-OSS-120B up to
 * 26.04.01: what its model gives with two instead of three expert matrices and full attention
 * everywhere. */
static void test_old_gpt_oss_count(void **state)
{
    const double published[] = {27.2, 30.8};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ms_arch a = load("gpt-oss-120b");
        struct ms_flops f;
        for (int64_t l = 0; l < a.n_layers; l++)
            a.layers[l].attention_span = 0;
        ms_arch_flops(&a, 4096 << i, 0, &f);
        ms_assert_close((f.total_train - f.experts) / 1e9, published[i], 0.002, 0);
    }
}

/* The parts are what they are called, and the total is three times their sum without the router. */
static void test_flop_parts(void **state)
{
    struct ms_arch a =
        parse("{\"model_type\":\"qwen2_moe\",\"hidden_size\":10,\"num_hidden_layers\":3,\"vocab_"
              "size\":11,"
              "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":3,\"intermediate_"
              "size\":7,"
              "\"moe_intermediate_size\":5,\"num_experts\":4,\"num_experts_per_tok\":3,"
              "\"shared_expert_intermediate_size\":9,\"mlp_only_layers\":[0]}");
    struct ms_flops f;
    (void)state;
    ms_arch_flops(&a, 14, 2, &f);
    ms_assert_close(f.attention_proj, 3 * 2 * (60 + 30 + 30 + 60), 0, 0);
    ms_assert_close(f.attention_core, 3 * 2 * 7 * 2 * (3 + 3), 0, 0); /* 14 / 2 keys, two heads */
    ms_assert_close(f.dense_mlp, 2 * 3 * 70, 0, 0);
    ms_assert_close(f.experts, 2 * 2 * 3 * 3 * 50, 0, 0);
    ms_assert_close(f.shared, 2 * 2 * 3 * 90, 0, 0);
    ms_assert_close(f.head, 2 * 110, 0, 0);
    ms_assert_close(f.mtp, 2 * (2 * 180 + 168 + 2 * 450 + 2 * 270 + 2 * 200 + 220), 0, 0);
    ms_assert_close(f.router, 4 * 2 * (40 + 10), 0, 0); /* two layers, two modules, shared gate */
    ms_assert_close(f.total_train, 3 * (1080 + 504 + 420 + 1800 + 1080 + 220 + f.mtp), 0, 0);
}

/* Keys seen by each query, its own included, counted one by one. */
static double context_by_counting(const struct ms_layer_kind *layer, int64_t seq_len)
{
    double sum = 0;
    for (int64_t q = 0; q < seq_len; q++)
        for (int64_t k = 0; k <= q; k++) {
            bool seen = !layer->attention_span || q - k < layer->attention_span;
            if (layer->chunked)
                seen = q / layer->attention_span == k / layer->attention_span;
            sum += seen;
        }
    return sum / (double)seq_len;
}

/* The convention takes off half a key from every query on the rim of a triangle: all queries, but
 * with a window only those before it is full. */
static void test_context(void **state)
{
    static const int64_t seqs[] = {1, 2, 7, 64, 97}, spans[] = {0, 1, 5, 32, 64, 96, 97, 98, 1000};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 18; j++) {
            struct ms_layer_kind layer = {.attention_span = spans[j / 2],
                                          .chunked = j % 2 && spans[j / 2]};
            bool full_window =
                !layer.chunked && layer.attention_span > 0 && layer.attention_span < seqs[i];
            double rim = full_window ? (double)layer.attention_span / (double)seqs[i] : 1;
            ms_assert_close(ms_arch_mean_context(&layer, seqs[i]),
                            context_by_counting(&layer, seqs[i]) - rim / 2, 1e-12, 0);
        }
}

/* A window never gives more than full attention, grows with itself, and meets it where it covers
 * all. */
static void test_context_limits(void **state)
{
    double last = 0;
    (void)state;
    for (int64_t w = 1; w <= 4200; w += 13) {
        struct ms_layer_kind layer = {.attention_span = w};
        double x = ms_arch_mean_context(&layer, 4096);
        assert_true(x >= last && x <= 2048);
        last = x;
    }
    ms_assert_close(last, 2048, 0, 0);
}

/* MLA: DeepSeek-V3's core attention has 128 heads of 192 + 128. */
static void test_core_mla(void **state)
{
    struct ms_arch a = load("deepseek-v3");
    (void)state;
    ms_assert_close(ms_arch_attention_core_flop(&a, &a.layers[0], 4096), 2 * 2048.0 * 128 * 320, 0,
                    0);
}

/* Every built-in model: positive, active <= total, work at least 6 per active weight. */
static void test_properties(void **state)
{
    char **names = ms_arch_names();
    (void)state;
    assert_non_null(names[0]);
    for (int i = 0; names[i]; i++) {
        struct ms_arch a = load(names[i]);
        struct ms_params p;
        struct ms_flops f, longer;
        ms_arch_params(&a, &p);
        ms_arch_flops(&a, 4096, a.n_mtp, &f);
        ms_arch_flops(&a, 8192, a.n_mtp, &longer);
        assert_true(p.active > 0 && p.active <= p.total && p.total <= p.total_with_mtp);
        assert_true(f.total_train >
                    6 * (p.active_without_embedding - p.active_without_embedding / 50));
        assert_true(longer.total_train > f.total_train);
    }
    ms_data_list_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_params), cmocka_unit_test(test_exact_params),
        cmocka_unit_test(test_mtp_params),       cmocka_unit_test(test_other_families),
        cmocka_unit_test(test_params_by_hand),   cmocka_unit_test(test_tied),
        cmocka_unit_test(test_published_flops),  cmocka_unit_test(test_old_gpt_oss_count),
        cmocka_unit_test(test_flop_parts),       cmocka_unit_test(test_context),
        cmocka_unit_test(test_context_limits),   cmocka_unit_test(test_core_mla),
        cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests_name("arch_count", tests, NULL, NULL);
}
