/* test_memory.c - a tiny model added up by hand, published memory of real runs, and properties.
 * The schedule's in-flight counts are compared with a literal replay of Megatron-Core's pipeline
 * loops. */
#include "tests/mstest.h"

#include "model/memory.h"

static const double GIB = 1073741824;

struct fixture {
    struct ms_recipe recipe;
    struct ms_arch arch;
    struct ms_topology topo;
    struct ms_cluster cluster;
    struct ms_layout layout;
    struct ms_device device;
    struct ms_memory memory;
};

/* Sets "name=value name=value ..." over the defaults; gbs is 16 per GPU unless set. */
static void set_recipe(struct ms_recipe *recipe, const char *settings)
{
    struct ms_error err = {0};
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    ms_fields_defaults(fields, n, recipe);
    for (const char *p = settings; *p;) {
        char name[64], value[MS_TEXT_MAX];
        const struct ms_field *field;
        assert_int_equal(sscanf(p, "%63[^=]=%255[^ ]", name, value), 2);
        field = ms_fields_find(fields, n, name);
        assert_non_null(field);
        ms_assert_ok(ms_field_parse(field, recipe, value, name, &err), &err);
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    if (recipe->gbs == 0)
        recipe->gbs = 16 * recipe->gpus;
}

/* The rest of the fixture follows from its recipe and, if set before, its model. */
static void finish(struct fixture *f)
{
    struct ms_error err = {0};
    const struct ms_recipe *r = &f->recipe;
    ms_assert_ok(ms_topology_load(r->topology, &f->topo, &err), &err);
    if (f->arch.n_layers == 0)
        ms_assert_ok(ms_arch_load(r->model, &f->arch, &err), &err);
    ms_assert_ok(ms_cluster_init(&f->topo, r->gpus, r->gpus_per_domain, r->spare_gpus_per_domain,
                                 &f->cluster, &err),
                 &err);
    ms_assert_ok(ms_layout_init(&f->cluster, &f->arch, r, &f->layout, &err), &err);
    f->device.topo = &f->topo;
    ms_memory_predict(&f->layout, r, &f->device, 1, &f->memory);
}

/* Owned by the caller: free(). */
static struct fixture *load(const char *settings)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    set_recipe(&f->recipe, settings);
    finish(f);
    return f;
}

static double layer(const struct fixture *f, bool moe, double load_factor)
{
    struct ms_layer_kind kind = {.moe = moe};
    return ms_memory_layer_activations(&f->layout, &f->recipe, &kind, load_factor);
}

static double parts_sum(const struct ms_memory_parts *p)
{
    return p->weights + p->gradients + p->optimizer + p->activations + p->buffers + p->reserve;
}

/* Dense and expert parameters of all chunks of a stage. */
static struct ms_rank_params stage_params(const struct fixture *f, int64_t stage)
{
    struct ms_rank_params sum = {0, 0};
    for (int64_t v = 0; v < f->layout.vp; v++) {
        struct ms_rank_params c =
            ms_memory_chunk_params(&f->layout, ms_layout_chunk(&f->layout, stage, v));
        sum.dense += c.dense;
        sum.expert += c.expert;
    }
    return sum;
}

/* --- a tiny model, by hand
 * --------------------------------------------------------------------- */

/* Layer 0 dense, layer 1 MoE. Per layer: attention 2*8*2*(4+2) = 192, norms 2*8 = 16; dense MLP
 * 3*8*12 = 288; router 8*4 = 32, shared expert 3*8*10 = 240, one of 4 experts 3*8*6 = 144.
 * Embedding and head 32*8 = 256, final norm 8. */
static struct fixture *load_tiny(const char *settings)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->arch = (struct ms_arch){.hidden = 8,
                               .vocab = 32,
                               .n_layers = 2,
                               .attention = MS_ATTENTION_GQA,
                               .norms_per_layer = 2,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 2,
                               .dense_ffn = 12,
                               .moe_ffn = 6,
                               .shared_ffn = 10,
                               .n_experts = 4,
                               .topk = 2,
                               .n_groups = 1,
                               .topk_groups = 1};
    f->arch.layers[1].moe = true;
    set_recipe(&f->recipe, settings);
    finish(f);
    return f;
}

static void test_tiny_parts(void **state)
{
    (void)state;
    struct fixture *f = load_tiny("topology=hgx_h100 gpus=4 ep=2 mbs=3 seq-len=16 gbs=24");
    const struct ms_memory_parts *p = &f->memory.parts;
    struct ms_rank_params n = stage_params(f, 0);
    /* 256 + 256 + 8 + 2*(192 + 16) + 288 + 32 + 240; 4 experts on EP 2 */
    ms_assert_close(n.dense, 1496, 0, 0);
    ms_assert_close(n.expert, 288, 0, 0);
    ms_assert_close(p->weights, 2 * 1784, 0, 0);
    ms_assert_close(p->gradients, 4 * 1784, 0, 0);
    ms_assert_close(p->optimizer, 12 * (1496.0 / 4 + 288.0 / 2), 0, 0); /* DP 4, EDP 2 */
    /* Bytes per token. Attention: norm in 16, out 16, q k v 32, out 16, log-sum-exp 16 = 96.
     * Dense MLP: 16 + 16 + 48 + 24 = 104. MoE: 16 + 16 + router 52 + 2 rows of (8 + 16 + 24 + 12)
     * + shared 40 + 20 = 264. Final norm's and head's input 32. 48 tokens. */
    ms_assert_close(layer(f, false, 1), 48 * 200, 0, 0);
    ms_assert_close(layer(f, true, 1), 48 * 360, 0, 0);
    ms_assert_close(p->activations, 48 * (200 + 360 + 32), 0, 0);
    /* Logits 48*32*6, gradients of 96 rows of 8 + 12 in BF16, two exchange buffers of 96 rows. */
    ms_assert_close(p->buffers, 9216 + 3840 + 3072, 0, 0);
    ms_assert_close(f->memory.peak_bytes, parts_sum(p), 1e-15, 0);
    ms_assert_close(f->memory.peak_bytes, f->memory.stage_peak_bytes[0], 0, 0);
    ms_assert_close(f->memory.capacity_bytes, f->topo.gpu.hbm_capacity.value, 0, 0);
    assert_true(f->memory.fits);
    assert_int_equal(f->memory.rank, 0);
    free(f);
}

static void test_tiny_tensor_parallel(void **state)
{
    (void)state;
    struct fixture *f = load_tiny("topology=hgx_h100 gpus=4 tp=2 ep=2 seq-len=16 gbs=4");
    struct ms_rank_params n = stage_params(f, 0);
    /* 128 + 128 + 8 + 2*(96 + 16) + 144 + 32 + 120: norms and router are whole */
    ms_assert_close(n.dense, 784, 0, 0);
    ms_assert_close(n.expert, 288, 0, 0);
    free(f);
    /* TP 4 over 2 key-value heads: each rank holds one, 2*8*2 = 32 instead of 16 per layer. */
    f = load_tiny("topology=hgx_h100 gpus=4 tp=4 ep=2 seq-len=16 gbs=4");
    n = stage_params(f, 0);
    ms_assert_close(n.dense, 64 + 64 + 8 + 2 * (32 + 32 + 16) + 72 + 32 + 60, 0, 0);
    free(f);
}

/* Quantised inputs: attention and MLP norms' outputs, activations and permuted rows at 1 + 1/32
 * bytes; the shared expert keeps a copy of the router's input. FP8 attention: q, k, v at 1 byte. */
static void test_tiny_quantised(void **state)
{
    (void)state;
    struct fixture *f =
        load_tiny("topology=gb200_nvl72 gpus=4 ep=2 seq-len=16 gbs=4 precision=mxfp8 "
                  "fp8-attention=true");
    const double q = 1.03125;
    double attention = 16 + 8 * q + 16 + 16 + 16;
    ms_assert_close(layer(f, false, 1), 16 * (attention + 16 + 8 * q + 48 + 12 * q), 1e-15, 0);
    ms_assert_close(layer(f, true, 1),
                    16 * (attention + 32 + 8 * q + 52 + 2 * (8 + 8 * q + 24 + 6 * q) + 40 + 10 * q),
                    1e-15, 0);
    /* GEMM weights as two copies of 1.03125 B; norms 2*16 + 8, router 32, ends 512 in BF16 */
    ms_assert_close(f->memory.parts.weights, 2 * q * (2 * 192 + 288 + 240 + 288) + 2 * 584, 1e-15,
                    0);
    free(f);
    /* Experts alone in BF16. */
    f = load_tiny("topology=gb200_nvl72 gpus=4 ep=2 seq-len=16 gbs=4 precision=mxfp8 "
                  "expert-precision=bf16");
    ms_assert_close(f->memory.parts.weights, 2 * q * (2 * 192 + 288 + 240) + 2 * 288 + 2 * 584,
                    1e-15, 0);
    free(f);
}

static void test_tiny_zero(void **state)
{
    (void)state;
    static const double optimizer[] = {12 * 1784, 12 * 518, 12 * 518, 12 * 518};
    static const double gradients[] = {4 * 1784, 4 * 1784, 4 * 518, 4 * 518};
    /* ZeRO 3: shards and two gathered copies of the MoE layer 192 + 16 + 32 + 240 + 288 = 768 */
    static const double weights[] = {2 * 1784, 2 * 1784, 2 * 1784, 2 * 518 + 2 * 2 * 768};
    for (int64_t zero = 0; zero <= 3; zero++) {
        char settings[128];
        struct fixture *f;
        snprintf(settings, sizeof(settings), "topology=hgx_h100 gpus=4 ep=2 seq-len=16 zero=%d",
                 (int)zero);
        f = load_tiny(settings);
        ms_assert_close(f->memory.parts.optimizer, optimizer[zero], 0, 0);
        ms_assert_close(f->memory.parts.gradients, gradients[zero], 0, 0);
        ms_assert_close(f->memory.parts.weights, weights[zero], 0, 0);
        free(f);
    }
}

/* MTP: projection 2*8*8 and three norms, one more MoE layer; embedding and head again where the
 * chunk has none. Tied embeddings: the loss stage has the copy. */
static void test_tiny_ends(void **state)
{
    (void)state;
    const double mtp = 128 + 24 + 192 + 16 + 32 + 240;
    struct fixture *f =
        load_tiny("topology=hgx_h100 gpus=4 pp=2 ep=2 seq-len=16 mtp=1 pp-layout=Et|tmL");
    ms_assert_close(stage_params(f, 0).dense, 256 + 192 + 16 + 288, 0, 0);
    ms_assert_close(stage_params(f, 1).dense, 256 + 256 + 8 + 192 + 16 + 32 + 240 + mtp, 0, 0);
    ms_assert_close(stage_params(f, 1).expert, 2 * 288, 0, 0);
    free(f);
    f = load_tiny("topology=hgx_h100 gpus=4 pp=4 ep=1 seq-len=16 mtp=1 pp-layout=Et|t|m|L");
    ms_assert_close(stage_params(f, 2).dense, 256 + 256 + mtp, 0, 0);
    ms_assert_close(stage_params(f, 3).dense, 256 + 8, 0, 0);
    f->arch.tied_embeddings = true;
    ms_assert_close(stage_params(f, 3).dense, 256 + 8, 0, 0);
    ms_assert_close(stage_params(f, 0).dense, 256 + 192 + 16 + 288, 0, 0);
    free(f);
    f = load_tiny("topology=hgx_h100 gpus=4 ep=2 seq-len=16");
    f->arch.tied_embeddings = true; /* one stage: one table */
    ms_assert_close(stage_params(f, 0).dense, 1496 - 256, 0, 0);
    free(f);
}

static void test_expert_rows(void **state)
{
    (void)state;
    struct fixture *f = load_tiny("topology=hgx_h100 gpus=4 ep=2 seq-len=16");
    const double row = 8 + 16 + 24 + 12, mean = 32, rest = 16 * 360 - mean * row;
    double last = 0;
    for (int i = 0; i <= 20; i++) {
        double bytes = layer(f, true, 0.25 * i);
        ms_assert_close(bytes, rest + 0.25 * i * mean * row, 1e-15, 0);
        assert_true(bytes >= last);
        last = bytes;
    }
    assert_true(layer(f, false, 3) == layer(f, false, 1));
    f->recipe.capacity_factor = 1.5; /* dropped above */
    ms_assert_close(layer(f, true, 1.2), rest + 1.2 * mean * row, 1e-15, 0);
    ms_assert_close(layer(f, true, 4), rest + 1.5 * mean * row, 1e-15, 0);
    f->recipe.expert_gemm = MS_EXPERT_GEMM_PADDED; /* always the capacity */
    ms_assert_close(layer(f, true, 0.5), rest + 1.5 * mean * row, 1e-15, 0);
    free(f);
}

/* --- published figures ------------------------------------------------------------------------ */

/* Megatron-Core MoE paper, arXiv 2603.07685: DeepSeek-V3, BF16, PP4 VPP4 EP64, 256 GPUs: weights
 * and gradients 36.4, optimizer 32.1, activations 131.0 "GB" before savings; memory-efficient
 * permutation, which is always on here, saves 26.3. They fit pipeline rank 2 (16 MoE layers, 15
 * chunks of 4 in flight) in GiB, with FP32 gradients and moments. */
static const char PAPER[] = "topology=gb300_nvl72 gpus=256 gpus-per-domain=64 pp=4 vp=4 ep=64 "
                            "schedule=interleaved pp-layout=Et*4|(t*4|)*14tL";

static double paper_activations(const char *more)
{
    char settings[512];
    struct fixture *f;
    double bytes;
    snprintf(settings, sizeof(settings), "%s%s", PAPER, more);
    f = load(settings);
    bytes = (double)ms_memory_in_flight(&f->layout, 2) * 4 * layer(f, true, 1);
    free(f);
    return bytes;
}

static void test_published_parts(void **state)
{
    (void)state;
    struct fixture *f = load(PAPER);
    struct ms_rank_params n = stage_params(f, 2);
    double gradients_and_weights = 6 * (n.dense + n.expert);
    double optimizer = 12 * (n.dense / 64 + n.expert / 1); /* DP 64, EDP 1 */
    double activations = paper_activations("");
    assert_int_equal(ms_memory_in_flight(&f->layout, 2), 15);
    ms_assert_close(gradients_and_weights, 36.4 * GIB, 0.02, 0);
    ms_assert_close(optimizer, 32.1 * GIB, 0.02, 0);
    ms_assert_close(activations, (131.0 - 26.3) * GIB, 0.02, 0);
    /* What the prediction of that stage has on top: buffers and reserve. */
    assert_true(f->memory.stage_peak_bytes[2] > gradients_and_weights + optimizer + activations);
    ms_assert_close(f->memory.stage_peak_bytes[2], (199.5 - 26.3) * GIB, 0.05, 0);
    free(f);
}

static void test_published_savings(void **state)
{
    (void)state;
    double bf16 = paper_activations(""), fp8 = paper_activations(" precision=mxfp8");
    ms_assert_close(bf16 - fp8, 16 * GIB, 0.15, 0);
    ms_assert_close(fp8 - paper_activations(" precision=mxfp8 recompute=mla_up_proj"), 30.4 * GIB,
                    0.05, 0);
    ms_assert_close(fp8 - paper_activations(" precision=mxfp8 recompute=moe_act"), 3.8 * GIB, 0.05,
                    0);
    ms_assert_close(fp8 - paper_activations(" precision=mxfp8 recompute=layernorm"), 8.2 * GIB,
                    0.05, 0);
}

/* Runs that were published, so they fitted. */
static const struct {
    const char *settings;
} FITTED[] = {
    /* Megatron-Bridge 26.04, DeepSeek-V3: two sequences a microbatch on GB300; partial graphs on
     * GB200 */
    {"topology=gb300_nvl72 gpus=256 gpus-per-domain=64 pp=2 vp=8 ep=32 mbs=2 schedule=interleaved "
     "pp-layout=Et*4|(t*4|)*14tmL mtp=1 precision=mxfp8 dispatcher=hybridep grad-reduce-dtype=bf16 "
     "recompute=mla_up_proj"},
    {"topology=gb200_nvl72 gpus=256 gpus-per-domain=64 pp=4 vp=4 ep=64 schedule=interleaved "
     "pp-layout=Et*4|(t*4|)*14tmL mtp=1 precision=mxfp8 dispatcher=hybridep grad-reduce-dtype=bf16 "
     "recompute=mlp cuda-graph=attn,moe_router,moe_preprocess"},
    {"topology=hgx_b200 gpus=256 pp=16 ep=8 mtp=1 precision=mxfp8 dispatcher=hybridep "
     "grad-reduce-dtype=bf16 recompute=mla_up_proj"},
    /* Megatron-Bridge 25.11, BF16 */
    {"topology=gb300_nvl72 gpus=256 gpus-per-domain=64 pp=2 vp=4 ep=32 schedule=interleaved "
     "grad-reduce-dtype=bf16"},
    {"model=gpt-oss-120b topology=gb300_nvl72 gpus=64 gpus-per-domain=64 ep=64 mbs=2 seq-len=8192 "
     "gbs=1280 grad-reduce-dtype=bf16 cuda-graph=attn,moe_router,moe_preprocess"},
    /* MLPerf Training v6.0 */
    {"topology=gb200_nvl72 gpus=512 gbs=15360 gpus-per-domain=64 tp=2 pp=4 vp=4 ep=32 mtp=1 "
     "schedule=interleaved pp-layout=Et*4|(t*4|)*14tmL precision=mxfp8 dispatcher=hybridep "
     "recompute=mlp overlap=ep,wgrad,dp,param cuda-graph=full grad-reduce-dtype=bf16"},
    /* Megatron-Bridge 26.04, Qwen3-235B in FP8 on H100 */
    {"model=qwen3-235b topology=hgx_h100 gpus=256 gbs=8192 tp=2 pp=8 vp=4 ep=32 precision=fp8-cs "
     "schedule=interleaved overlap=ep,dp,param grad-reduce-dtype=bf16"},
};

static void test_published_runs_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(FITTED) / sizeof(FITTED[0]); i++) {
        struct fixture *f = load(FITTED[i].settings);
        if (!f->memory.fits)
            print_error("%s: %g of %g GB\n", FITTED[i].settings, f->memory.peak_bytes / 1e9,
                        f->memory.capacity_bytes / 1e9);
        assert_true(f->memory.fits);
        free(f);
    }
}

/* The shipped recipes at the sizes of their sources. */
static void test_shipped_recipes_fit(void **state)
{
    (void)state;
    static const struct {
        const char *model, *topology;
        int64_t gpus, gbs;
    } runs[] = {
        {"deepseek-v3", "gb300_nvl72", 256, 4096}, {"deepseek-v3", "gb200_nvl72", 256, 4096},
        {"deepseek-v3", "hgx_b200", 256, 4096},    {"deepseek-v3", "hgx_b300", 256, 4096},
        {"deepseek-v3", "hgx_h100", 1024, 8192},   {"qwen3-235b", "gb300_nvl72", 256, 8192},
        {"qwen3-235b", "gb200_nvl72", 256, 8192},  {"qwen3-235b", "hgx_b300", 256, 8192},
        {"qwen3-235b", "hgx_h100", 256, 2048},     {"qwen3-30b", "gb300_nvl72", 8, 512},
        {"qwen3-30b", "gb200_nvl72", 8, 512},      {"qwen3-30b", "hgx_b200", 8, 512},
        {"qwen3-30b", "hgx_b300", 8, 512},         {"qwen3-30b", "hgx_h100", 16, 1024},
        {"gpt-oss-120b", "gb200_nvl72", 64, 1280}, {"gpt-oss-120b", "gb300_nvl72", 64, 1280},
        {"gpt-oss-120b", "hgx_b300", 64, 1280},    {"gpt-oss-120b", "hgx_h100", 64, 1280},
        {"mixtral-8x7b", "hgx_h100", 64, 256},     {"mixtral-8x22b", "hgx_h100", 128, 256},
    };
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        char settings[256], used[MS_TEXT_MAX];
        bool given[MS_RECIPE_FIELDS_MAX] = {false};
        struct ms_error err = {0};
        struct fixture *f = calloc(1, sizeof(*f));
        assert_non_null(f);
        snprintf(settings, sizeof(settings), "model=%s topology=%s gpus=%d gbs=%d", runs[i].model,
                 runs[i].topology, (int)runs[i].gpus, (int)runs[i].gbs);
        set_recipe(&f->recipe, settings);
        ms_assert_ok(ms_recipe_apply_known(&f->recipe, given, used, &err), &err);
        assert_string_not_equal(used, "");
        finish(f);
        if (!f->memory.fits)
            print_error("%s: %g GB\n", settings, f->memory.peak_bytes / 1e9);
        assert_true(f->memory.fits);
        assert_true(f->memory.peak_bytes > 0.2 * f->memory.capacity_bytes);
        free(f);
    }
}

static void test_what_cannot_fit(void **state)
{
    (void)state;
    struct fixture *f = load("topology=hgx_h100 gpus=256 pp=1 ep=8 precision=fp8-block");
    assert_false(f->memory.fits);
    free(f);
    /* 256 GB300 with no recomputation fit; with 16-sequence microbatches they do not. */
    f = load(
        "topology=gb300_nvl72 gpus=256 gpus-per-domain=64 pp=2 vp=8 ep=32 precision=mxfp8 mtp=1 "
        "schedule=interleaved pp-layout=Et*4|(t*4|)*14tmL dispatcher=hybridep");
    assert_true(f->memory.fits);
    free(f);
    f = load(
        "topology=gb300_nvl72 gpus=256 gpus-per-domain=64 pp=2 vp=8 ep=32 precision=mxfp8 mtp=1 "
        "schedule=interleaved pp-layout=Et*4|(t*4|)*14tmL dispatcher=hybridep mbs=16");
    assert_false(f->memory.fits);
    free(f);
}

/* --- the schedule ----------------------------------------------------------------------------- */

/* What a stage holds over a step, replayed as in Megatron-Core's schedules.py: warm-up forward
 * passes, then one forward and one backward in turn (with EP overlap one warm-up more, and the
 * two layer against layer), then what is left. `bytes` of a pass of each virtual stage. */
struct replay {
    int64_t most_chunks; /* passes at once, a merged pair counted once */
    double most_bytes;
};

static int64_t replay_chunk(const struct fixture *f, int64_t k, bool forward)
{
    int64_t group = f->layout.pp * f->layout.vp, v;
    if (f->layout.vp == 1)
        return 0;
    v = k % group / f->layout.pp;
    return forward ? v : f->layout.vp - 1 - v;
}

static struct replay replay_stage(const struct fixture *f, int64_t stage, const double *bytes,
                                  double layer_bytes)
{
    const struct ms_layout *l = &f->layout;
    int64_t total = l->n_microbatches * l->vp, held = 0, f_next = 0, b_next = 0;
    int64_t warmup = l->vp == 1 ? l->pp - stage - 1 : (l->pp - stage - 1) * 2 + (l->vp - 1) * l->pp;
    bool merge = f->recipe.overlap & MS_OVERLAP_EP;
    struct replay r = {0, 0};
    double now = 0;
    warmup += merge;
    while (b_next < total) {
        bool forward = f_next < total, backward = f_next >= warmup || !forward;
        if (forward && merge && backward) { /* the forward is one layer ahead of the backward */
            r.most_bytes = fmax(r.most_bytes, now + layer_bytes);
            now += bytes[replay_chunk(f, f_next++, true)] - bytes[replay_chunk(f, b_next++, false)];
            continue;
        }
        if (forward) {
            now += bytes[replay_chunk(f, f_next++, true)];
            held++;
        }
        r.most_chunks = held > r.most_chunks ? held : r.most_chunks;
        r.most_bytes = fmax(r.most_bytes, now);
        if (backward) {
            now -= bytes[replay_chunk(f, b_next++, false)];
            held--;
        }
    }
    ms_assert_close(now, 0, 0, 1e-3);
    return r;
}

static void test_in_flight(void **state)
{
    (void)state;
    static const double ones[MS_CHUNKS_MAX] = {0};
    for (int64_t pp = 1; pp <= 8; pp *= 2) {
        for (int64_t vp = 1; vp <= (pp > 1 ? 6 : 1); vp++) {
            for (int64_t rounds = 1; rounds <= 5; rounds += 2) {
                struct fixture *f;
                char settings[200];
                snprintf(settings, sizeof(settings),
                         "topology=gb300_nvl72 gpus=%d pp=%d vp=%d gbs=%d schedule=%s",
                         (int)(2 * pp), (int)pp, (int)vp, (int)(2 * pp * rounds),
                         vp > 1 ? "interleaved" : "1f1b");
                f = load(settings);
                for (int64_t stage = 0; stage < pp; stage++)
                    assert_int_equal(ms_memory_in_flight(&f->layout, stage),
                                     replay_stage(f, stage, ones, 0).most_chunks);
                free(f);
            }
        }
    }
}

/* Activations of the fullest stage, with chunks of different kinds. */
static void test_peak_follows_schedule(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "topology=gb300_nvl72 gpus=64 pp=4 vp=4 schedule=interleaved gpus-per-domain=64",
        "topology=gb300_nvl72 gpus=64 pp=4 vp=4 schedule=interleaved overlap=ep",
        "topology=gb300_nvl72 gpus=64 pp=8 vp=1 recompute=moe",
        "topology=gb300_nvl72 gpus=64 pp=1 overlap=ep,dp",
        "topology=gb300_nvl72 gpus=64 pp=1 overlap=ep gbs=64", /* nothing to merge with */
        "topology=gb300_nvl72 gpus=64 pp=2 vp=20 schedule=interleaved recompute=full gbs=256",
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        struct fixture *f = load(settings[i]);
        double bytes[MS_CHUNKS_MAX] = {0}, widest = 0;
        int64_t stage = f->memory.stage;
        for (int64_t v = 0; v < f->layout.vp; v++) {
            const struct ms_chunk *c = ms_layout_chunk(&f->layout, stage, v);
            for (int64_t k = 0; k < c->n_layers; k++) {
                double one = layer(f, f->arch.layers[c->first_layer + k].moe, 1);
                bytes[v] += one;
                widest = fmax(widest, one);
            }
            bytes[v] += c->loss ? 4.0 * (double)(f->layout.tokens_per_rank * f->arch.hidden) : 0;
        }
        ms_assert_close(f->memory.parts.activations,
                        replay_stage(f, stage, bytes, widest).most_bytes, 1e-12, 0);
        free(f);
    }
}

/* --- properties ------------------------------------------------------------------------------- */

/* Adding a module never adds bytes, in any format and for both kinds of attention. */
static void test_recompute_never_increases(void **state)
{
    (void)state;
    static const char *const models[] = {"deepseek-v3", "qwen3-235b"};
    enum { ALL = 1 << 7 };
    for (int i = 0; i < 2 * MS_N_DTYPES; i++) {
        char settings[128];
        struct fixture *f;
        snprintf(settings, sizeof(settings),
                 "model=%s topology=gb300_nvl72 gpus=64 ep=32 precision=%s", models[i % 2],
                 MS_DTYPE_NAMES[i / 2]);
        f = load(settings);
        for (uint32_t mask = 0; mask < ALL; mask++) {
            double before[2];
            int first = f->arch.dense_ffn == 0; /* no dense layers: MoE alone */
            f->recipe.recompute = mask;
            for (int moe = first; moe < 2; moe++)
                before[moe] = layer(f, moe, 1.3);
            for (uint32_t bit = 1; bit < ALL; bit <<= 1) {
                f->recipe.recompute = mask | bit;
                for (int moe = first; moe < 2; moe++)
                    assert_true(layer(f, moe, 1.3) <= before[moe]);
            }
        }
        f->recipe.recompute = MS_RECOMPUTE_FULL | MS_RECOMPUTE_MOE; /* the layer's input */
        ms_assert_close(layer(f, true, 1.3), 2.0 * 4096 * (double)f->arch.hidden, 0, 0);
        free(f);
    }
}

static void test_parallel_sizes_divide(void **state)
{
    (void)state;
    struct fixture *one = load("model=qwen3-235b topology=gb300_nvl72 gpus=64 ep=8");
    /* 94 layers of router, two norms, q and k norm; the final norm */
    const double whole = 94 * (128 * 4096 + 2 * 4096 + 2 * 128) + 4096;
    for (int64_t n = 2; n <= 4; n *= 2) { /* 4 key-value heads */
        char settings[128];
        struct fixture *tp, *cp, *etp;
        snprintf(settings, sizeof(settings),
                 "model=qwen3-235b topology=gb300_nvl72 gpus=64 ep=8 tp=%d", (int)n);
        tp = load(settings);
        snprintf(settings, sizeof(settings),
                 "model=qwen3-235b topology=gb300_nvl72 gpus=64 ep=8 cp=%d", (int)n);
        cp = load(settings);
        snprintf(settings, sizeof(settings),
                 "model=qwen3-235b topology=gb300_nvl72 gpus=64 ep=8 etp=%d", (int)n);
        etp = load(settings);
        ms_assert_close(layer(tp, true, 1), layer(one, true, 1) / (double)n, 1e-12, 0);
        ms_assert_close(layer(cp, true, 1), layer(one, true, 1) / (double)n, 1e-12, 0);
        /* Experts are split by EP x ETP and not by TP; the dense part the other way round. */
        ms_assert_close(stage_params(tp, 0).expert, stage_params(one, 0).expert, 0, 0);
        ms_assert_close(stage_params(etp, 0).expert, stage_params(one, 0).expert / (double)n, 0, 0);
        ms_assert_close(stage_params(etp, 0).dense, stage_params(one, 0).dense, 0, 0);
        ms_assert_close(stage_params(tp, 0).dense,
                        whole + (stage_params(one, 0).dense - whole) / (double)n, 1e-12, 0);
        /* CP shares the dense optimizer like DP does. */
        ms_assert_close(cp->memory.parts.optimizer, one->memory.parts.optimizer, 1e-12, 0);
        free(tp);
        free(cp);
        free(etp);
    }
    free(one);
}

/* Parameters of all ranks of one replica: nothing lost, and nothing twice with TP 1. */
static void test_params_are_conserved(void **state)
{
    (void)state;
    static const char *const models[] = {"deepseek-v3", "qwen3-30b", "gpt-oss-120b", "mixtral-8x7b",
                                         "llama3-8b"};
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        char settings[128];
        struct ms_params p;
        struct fixture *f;
        double sum = 0;
        int ep = i == 4 ? 1 : 4;
        snprintf(settings, sizeof(settings), "model=%s topology=gb300_nvl72 gpus=32 pp=4 ep=%d",
                 models[i], ep);
        f = load(settings);
        ms_arch_params(&f->arch, &p);
        for (int64_t stage = 0; stage < 4; stage++)
            sum += stage_params(f, stage).dense + ep * stage_params(f, stage).expert;
        ms_assert_close(sum, p.total, 1e-12, 0);
        free(f);
    }
}

static void test_more_stages_hold_less(void **state)
{
    (void)state;
    double last = HUGE_VAL;
    for (int pp = 1; pp <= 32; pp *= 2) {
        char settings[128];
        struct fixture *f;
        double most = 0;
        snprintf(settings, sizeof(settings), "topology=gb300_nvl72 gpus=64 ep=2 pp=%d mtp=1", pp);
        f = load(settings);
        for (int64_t stage = 0; stage < pp; stage++)
            most = fmax(most, stage_params(f, stage).dense + stage_params(f, stage).expert);
        assert_true(most < last);
        last = most;
        /* The fullest stage is the one reported. */
        for (int64_t stage = 0; stage < pp; stage++)
            assert_true(f->memory.stage_peak_bytes[stage] <= f->memory.peak_bytes);
        ms_assert_close(f->memory.stage_peak_bytes[f->memory.stage], f->memory.peak_bytes, 0, 0);
        assert_int_equal(f->memory.rank, f->memory.stage * 64 / pp);
        free(f);
    }
}

static void test_hot_rank_needs_more(void **state)
{
    (void)state;
    struct fixture *f = load("topology=gb300_nvl72 gpus=64 pp=4 ep=16 dispatcher=alltoall");
    double last = 0;
    for (int i = 0; i <= 8; i++) {
        ms_memory_predict(&f->layout, &f->recipe, &f->device, 0.5 * i, &f->memory);
        assert_true(f->memory.peak_bytes > last);
        last = f->memory.peak_bytes;
    }
    free(f);
}

/* Buffers: bytes added by each dispatcher, for one microbatch of 4096 tokens of 7168 in BF16. */
static void test_buffers(void **state)
{
    (void)state;
    const double token = 4096.0 * 7168 * 2;
    static const double copies[MS_N_DISPATCHERS] = {
        [MS_DISPATCHER_ALLTOALL] = 2 * 8, [MS_DISPATCHER_ALLGATHER] = 16,
        [MS_DISPATCHER_DEEPEP] = 8,       [MS_DISPATCHER_HYBRIDEP] = 32,
        [MS_DISPATCHER_NCCL_EP] = 32,
    };
    struct fixture *f = load("topology=gb300_nvl72 gpus=64 ep=1"), *g;
    double without = f->memory.parts.buffers;
    free(f);
    for (int d = 0; d < MS_N_DISPATCHERS; d++) {
        char settings[128];
        snprintf(settings, sizeof(settings), "topology=gb300_nvl72 gpus=64 ep=16 dispatcher=%s",
                 MS_DISPATCHER_NAMES[d]);
        g = load(settings);
        ms_assert_close(g->memory.parts.buffers - without, copies[d] * token, 1e-9, 0);
        free(g);
    }
    /* Recomputation brings one layer's dropped tensors back while it runs backward. */
    f = load("topology=gb300_nvl72 gpus=64 ep=1 recompute=full");
    g = load("topology=gb300_nvl72 gpus=64 ep=1");
    ms_assert_close(f->memory.parts.buffers - without, layer(g, true, 1) - layer(f, true, 1), 1e-9,
                    0);
    assert_true(f->memory.parts.reserve == g->memory.parts.reserve);
    free(g);
    g = load("topology=gb300_nvl72 gpus=64 ep=1 cuda-graph=attn");
    ms_assert_close(g->memory.parts.reserve - f->memory.parts.reserve, 7e9, 0, 0); /* paper */
    free(f);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_parts),
        cmocka_unit_test(test_tiny_tensor_parallel),
        cmocka_unit_test(test_tiny_quantised),
        cmocka_unit_test(test_tiny_zero),
        cmocka_unit_test(test_tiny_ends),
        cmocka_unit_test(test_expert_rows),
        cmocka_unit_test(test_published_parts),
        cmocka_unit_test(test_published_savings),
        cmocka_unit_test(test_published_runs_fit),
        cmocka_unit_test(test_shipped_recipes_fit),
        cmocka_unit_test(test_what_cannot_fit),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_peak_follows_schedule),
        cmocka_unit_test(test_recompute_never_increases),
        cmocka_unit_test(test_parallel_sizes_divide),
        cmocka_unit_test(test_params_are_conserved),
        cmocka_unit_test(test_more_stages_hold_less),
        cmocka_unit_test(test_hot_rank_needs_more),
        cmocka_unit_test(test_buffers),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
