/* test_cost_kernel.c - kernel costs against hand-computed tiles, bounds of the hardware, published points
 * and, where the reference tables are there, every measured row. */
#include "model/test_measured.h"

#include "model/cost.h"

static const enum ms_dtype ALL_DTYPES[] = {MS_DTYPE_BF16, MS_DTYPE_FP8_CS, MS_DTYPE_FP8_BLOCK,
                                           MS_DTYPE_MXFP8, MS_DTYPE_NVFP4};

static double datasheet_peak(const struct ms_topology *topo, enum ms_dtype dtype)
{
    const struct ms_topology_gpu *g = &topo->gpu;
    const double peaks[MS_N_DTYPES] = {g->peak_bf16.value, g->peak_fp8.value, g->peak_fp8.value,
                                       g->peak_mxfp8.value, g->peak_nvfp4.value};
    return peaks[dtype];
}

/* A device with round constants: 10 SMs, 1 Pflop/s, 64 of k lost per tile, 5 us a kernel, whole waves. */
static struct ms_test_system *round_device(void)
{
    struct ms_test_system *s = ms_test_system_new("gb200_nvl72");
    struct ms_gemm_constants *c = &s->device.gemm[MS_DTYPE_BF16];
    s->topo.gpu.sm_count = 10;
    c->peak.value = 1e15;
    c->grouped.value = 0.8;
    c->fill.value = 64;
    c->launch.value = 5e-6;
    c->wave_step.value = 1;
    c->spread.value = 0.07;
    s->device.memory_bandwidth.value = 4e12;
    return s;
}

/* 300 x 500: 3 x 4 = 12 tiles of 128 x 128 on 10 SMs are 2 waves; an SM does 1e14 flop/s. */
static void gemm_by_hand(void **state)
{
    struct ms_test_system *s = round_device();
    const struct ms_gemm gemm = {.m = 300, .n = 500, .k = 7000, .dtype = MS_DTYPE_BF16};
    struct ms_cost cost = ms_cost_gemm(&s->device, &gemm);
    (void)state;
    ms_assert_close(cost.time_s, 2 * (2.0 * 128 * 128 * 7064) / 1e14 + 5e-6, 1e-12, 0);
    ms_assert_close(cost.work_flop, 2.1e9, 1e-12, 0);
    ms_assert_close(cost.hbm_bytes, 2.0 * (300 * 7000 + 500 * 7000 + 300 * 500), 1e-12, 0);
    assert_true(cost.extrapolated); /* n below 512 */
    ms_assert_close(cost.relative_uncertainty, 0.14, 1e-12, 0);
    s->device.gemm[MS_DTYPE_BF16].wave_step.value = 0.25; /* 1.2 waves round up to 1.25 */
    cost = ms_cost_gemm(&s->device, &gemm);
    ms_assert_close(cost.time_s, 1.25 * (2.0 * 128 * 128 * 7064) / 1e14 + 5e-6, 1e-12, 0);
    s->device.memory_bandwidth.value = 1e9; /* bound by its 11.5 MB */
    cost = ms_cost_gemm(&s->device, &gemm);
    ms_assert_close(cost.time_s, cost.hbm_bytes / 1e9 + 5e-6, 1e-12, 0);
    free(s);
}

static void gemm_range(void **state)
{
    struct ms_test_system *s = round_device();
    static const struct {
        double m, n, k;
        bool extrapolated;
    } cases[] = {{256, 512, 512, false},  {255, 512, 512, true},     {32768, 16384, 16384, false},
                 {32769, 512, 512, true}, {4096, 511, 512, true},    {4096, 16385, 512, true},
                 {4096, 7168, 511, true}, {4096, 7168, 16385, true}, {4097, 7168, 2048, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_cost c = ms_cost_gemm(&s->device, &(struct ms_gemm){.m = cases[i].m,
                                                                      .n = cases[i].n,
                                                                      .k = cases[i].k,
                                                                      .dtype = MS_DTYPE_BF16});
        assert_int_equal(c.extrapolated, cases[i].extrapolated);
        ms_assert_close(c.relative_uncertainty, c.extrapolated ? 0.14 : 0.07, 1e-12, 0);
    }
    free(s);
}

static void gemm_of_nothing(void **state)
{
    struct ms_test_system *s = ms_test_system_new("gb300_nvl72");
    const double one_expert[] = {0};
    (void)state;
    for (int zero = 0; zero < 3; zero++) {
        struct ms_gemm g = {.m = zero == 0 ? 0 : 777,
                            .n = zero == 1 ? 0 : 777,
                            .k = zero == 2 ? 0 : 777,
                            .dtype = MS_DTYPE_MXFP8};
        struct ms_cost c = ms_cost_gemm(&s->device, &g);
        assert_true(c.time_s == 0 && c.work_flop == 0 && c.hbm_bytes == 0 && !c.extrapolated);
    }
    for (int how = 0; how <= MS_EXPERT_GEMM_PADDED; how++) {
        struct ms_gemm g = {.n = 4096, .k = 7168, .dtype = MS_DTYPE_MXFP8};
        struct ms_cost c =
            ms_cost_grouped_gemm(&s->device, &g, (enum ms_expert_gemm)how, one_expert, 1, 0);
        assert_true(c.time_s == 0 && c.work_flop == 0 && c.hbm_bytes == 0);
        c = ms_cost_grouped_gemm(&s->device, &g, (enum ms_expert_gemm)how, NULL, 0, 100);
        assert_true(c.time_s == 0);
    }
    free(s);
}

/* Never faster than the datasheet's flop/s or the topology's bytes/s, monotone in every dimension. */
static void gemm_bounds_and_monotony(void **state)
{
    static const double sizes[] = {1, 129, 500, 1000, 2385, 7168, 20011};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS * MS_N_DTYPES; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i / MS_N_DTYPES].topology);
        enum ms_dtype dtype = ALL_DTYPES[i % MS_N_DTYPES];
        for (int j = 0; s->device.gemm[dtype].peak.value > 0 && j < N * N * N; j++) {
            struct ms_gemm g = {
                .m = sizes[j % N], .n = sizes[j / N % N], .k = sizes[j / N / N], .dtype = dtype};
            struct ms_gemm more_m = g, more_n = g, more_k = g;
            double time_s = ms_cost_gemm(&s->device, &g).time_s;
            double flop = 2 * g.m * g.n * g.k;
            double bytes = ms_dtype_bytes(dtype) * (g.m + g.n) * g.k + 2 * g.m * g.n;
            assert_true(time_s >= flop / datasheet_peak(&s->topo, dtype));
            assert_true(time_s >= bytes / s->topo.gpu.hbm_bandwidth.value);
            more_m.m += 37;
            more_n.n += 37;
            more_k.k += 37;
            assert_true(ms_cost_gemm(&s->device, &more_m).time_s >= time_s);
            assert_true(ms_cost_gemm(&s->device, &more_n).time_s >= time_s);
            assert_true(ms_cost_gemm(&s->device, &more_k).time_s > time_s);
        }
        free(s);
    }
}

/* A GEMM of many tiles and long k runs at the calibrated peak; nothing runs above it. */
static void gemm_reaches_its_peak(void **state)
{
    struct ms_test_system *s = ms_test_system_new("hgx_h200");
    const struct ms_gemm g = {.m = 1 << 16, .n = 1 << 16, .k = 1 << 20, .dtype = MS_DTYPE_FP8_CS};
    struct ms_cost c = ms_cost_gemm(&s->device, &g);
    (void)state;
    ms_assert_close(c.work_flop / c.time_s, s->device.gemm[MS_DTYPE_FP8_CS].peak.value, 2e-3, 0);
    assert_true(c.work_flop / c.time_s <= s->device.gemm[MS_DTYPE_FP8_CS].peak.value);
    free(s);
}

/* cuBLASLt FP8 with random data, Azure/AI-benchmarking-guide ND_GB200_v6 and ND_H200_v5, TFLOP/s: kernels
 * the constants were not fitted to. */
static void gemm_of_another_library(void **state)
{
    static const struct {
        const char *topology;
        double n, tflops;
    } points[] = {{"gb200_nvl72", 2048, 2243.6}, {"gb200_nvl72", 4096, 2834.6},
                  {"gb200_nvl72", 8192, 2876.6}, {"gb200_nvl72", 16384, 2906.9},
                  {"hgx_h200", 4096, 1249.1},    {"hgx_h200", 8192, 1300.6},
                  {"hgx_h200", 16384, 1366.3}};
    (void)state;
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        struct ms_test_system *s = ms_test_system_new(points[i].topology);
        double n = points[i].n;
        struct ms_cost c = ms_cost_gemm(
            &s->device, &(struct ms_gemm){.m = n, .n = n, .k = n, .dtype = MS_DTYPE_FP8_CS});
        ms_assert_close(c.work_flop / c.time_s / 1e12, points[i].tflops,
                        points[i].n < 4096 ? 0.4 : 0.2, 0);
        free(s);
    }
}

/* 3 experts of 300, 0 and 100.5 rows: 3 x 4 + 1 x 4 = 16 tiles, 2 waves, at 0.8 of 1 Pflop/s. */
static void grouped_by_hand(void **state)
{
    struct ms_test_system *s = round_device();
    const struct ms_gemm g = {.n = 500, .k = 7000, .dtype = MS_DTYPE_BF16};
    const double tokens[] = {300, 0, 100.5}, tile_s = 2.0 * 128 * 128 * 7064 / 0.8e14;
    struct ms_cost c = ms_cost_grouped_gemm(&s->device, &g, MS_EXPERT_GEMM_GROUPED, tokens, 3, 0);
    (void)state;
    ms_assert_close(c.time_s, 2 * tile_s + 5e-6, 1e-12, 0);
    ms_assert_close(c.work_flop, 2 * 400.5 * 500 * 7000, 1e-12, 0);
    ms_assert_close(c.hbm_bytes, 2 * (400.5 * 7000 + 2 * 500.0 * 7000 + 400.5 * 500), 1e-12, 0);
    c = ms_cost_grouped_gemm(&s->device, &g, MS_EXPERT_GEMM_LOOP, tokens, 3,
                             0); /* 12 and 4 tiles */
    ms_assert_close(c.time_s, (2 + 1) * tile_s + 2 * 5e-6, 1e-12, 0);
    c = ms_cost_grouped_gemm(&s->device, &g, MS_EXPERT_GEMM_PADDED, tokens, 3, 256); /* 3 x 8 */
    ms_assert_close(c.time_s, 3 * tile_s + 5e-6, 1e-12, 0);
    ms_assert_close(c.work_flop, 2 * (256 + 100.5) * 500 * 7000, 1e-12, 0);
    free(s);
}

static double grouped_s(const struct ms_device *device, enum ms_dtype dtype,
                        enum ms_expert_gemm how, const double *tokens, int64_t n)
{
    const struct ms_gemm g = {.n = 4096, .k = 7168, .dtype = dtype};
    return ms_cost_grouped_gemm(device, &g, how, tokens, n, 1111).time_s;
}

/* One expert is a dense GEMM at `grouped` of its rate; a loop of kernels is never faster than one. */
static void one_expert_and_loops(void **state)
{
    static const double sizes[] = {1, 127, 1000, 2385, 16384};
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS * MS_N_DTYPES; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i / MS_N_DTYPES].topology);
        enum ms_dtype dtype = ALL_DTYPES[i % MS_N_DTYPES];
        for (size_t j = 0; s->device.gemm[dtype].peak.value > 0 && j < 5; j++) {
            const double tokens[] = {sizes[j], sizes[(j + 2) % 5], 0.3, 0};
            double ratio = s->device.gemm[dtype].grouped.value;
            double dense =
                ms_cost_gemm(&s->device,
                             &(struct ms_gemm){.m = sizes[j], .n = 4096, .k = 7168, .dtype = dtype})
                    .time_s;
            double one = grouped_s(&s->device, dtype, MS_EXPERT_GEMM_GROUPED, tokens, 1);
            assert_true(one >= dense * (1 - 1e-12) && one <= dense / ratio * (1 + 1e-12));
            ms_assert_close(grouped_s(&s->device, dtype, MS_EXPERT_GEMM_LOOP, tokens, 1), one,
                            1e-12, 0);
            assert_true(grouped_s(&s->device, dtype, MS_EXPERT_GEMM_LOOP, tokens, 4) >
                        grouped_s(&s->device, dtype, MS_EXPERT_GEMM_GROUPED, tokens, 4));
        }
        free(s);
    }
}

static void padding_ignores_tokens(void **state)
{
    struct ms_test_system *s = ms_test_system_new("gb200_nvl72");
    const double few[] = {1, 2, 3, 4}, many[] = {5000, 0, 0, 999};
    (void)state;
    ms_assert_close(grouped_s(&s->device, MS_DTYPE_BF16, MS_EXPERT_GEMM_PADDED, few, 4),
                    grouped_s(&s->device, MS_DTYPE_BF16, MS_EXPERT_GEMM_PADDED, many, 4), 0, 0);
    free(s);
}

/* At equal total and rows that fill tiles, uneven loads are never faster than even ones: grouped costs
 * the same, a loop more. */
static void uneven_is_never_faster(void **state)
{
    static const double loads[][4] = {{2048, 2048, 2048, 2048},
                                      {8192, 0, 0, 0},
                                      {4096, 2048, 1024, 1024},
                                      {2049, 2047, 2048, 2048},
                                      {8000, 64, 64, 64}};
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        double even = grouped_s(&s->device, MS_DTYPE_BF16, MS_EXPERT_GEMM_GROUPED, loads[0], 4);
        for (size_t j = 1; j < sizeof(loads) / sizeof(loads[0]); j++)
            assert_true(grouped_s(&s->device, MS_DTYPE_BF16, MS_EXPERT_GEMM_GROUPED, loads[j], 4) >=
                        even * (1 - 1e-12));
        free(s);
    }
}

static struct ms_attention causal(double seq_len, double heads, double qk_dim, bool backward,
                                  bool fp8)
{
    return (struct ms_attention){.batch = 2,
                                 .seq_len = seq_len,
                                 .context = (seq_len + 1) / 2,
                                 .heads = heads,
                                 .kv_heads = heads,
                                 .qk_dim = qk_dim,
                                 .v_dim = 128,
                                 .backward = backward,
                                 .fp8 = fp8};
}

/* cuDNN 9.22 training attention, causal, batch 2, V of 128: NVIDIA/cudnn-frontend 3929da2
 * benchmark/sdpa_benchmark_training, microseconds. */
static void attention_published(void **state)
{
    static const struct {
        const char *topology;
        double seq_len, heads, qk_dim;
        bool backward, fp8;
        double time_us;
    } points[] = {
        {"gb200_nvl72", 4096, 128, 192, false, false, 977},
        {"gb200_nvl72", 4096, 128, 192, true, false, 3383},
        {"gb200_nvl72", 8192, 128, 192, false, true, 2294},
        {"gb200_nvl72", 8192, 128, 192, true, true, 7296},
        {"gb200_nvl72", 16384, 64, 128, true, false, 16554},
        {"gb300_nvl72", 4096, 128, 192, false, true, 493},
        {"gb300_nvl72", 4096, 128, 192, true, true, 1803},
        {"gb300_nvl72", 8192, 128, 192, false, false, 3013},
        {"gb300_nvl72", 8192, 128, 192, true, false, 11074},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        struct ms_test_system *s = ms_test_system_new(points[i].topology);
        struct ms_attention a = causal(points[i].seq_len, points[i].heads, points[i].qk_dim,
                                       points[i].backward, points[i].fp8);
        struct ms_cost c = ms_cost_attention(&s->device, &a);
        ms_assert_close(c.time_s * 1e6, points[i].time_us, 0.15, 0);
        assert_false(c.extrapolated);
        free(s);
    }
}

static void attention_bounds(void **state)
{
    static const double lengths[] = {1, 100, 2385, 8192, 100003};
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        double before_s = 0;
        for (int j = 0; j < 5; j++) {
            struct ms_attention forward = causal(lengths[j], 77, 192, false, false),
                                backward = causal(lengths[j], 77, 192, true, false);
            struct ms_cost f = ms_cost_attention(&s->device, &forward),
                           b = ms_cost_attention(&s->device, &backward);
            double flop = 2 * 2 * lengths[j] * (lengths[j] + 1) / 2 * 77 * 320;
            ms_assert_close(f.work_flop, flop, 1e-12, 0);
            ms_assert_close(b.work_flop, 2.5 * flop, 1e-12, 0);
            assert_true(f.time_s >= flop / s->topo.gpu.peak_bf16.value && f.time_s > before_s);
            assert_true(b.time_s >= 2.5 * flop / s->topo.gpu.peak_bf16.value);
            assert_true(f.time_s >= f.hbm_bytes / s->topo.gpu.hbm_bandwidth.value);
            assert_int_equal(f.extrapolated, j < 2 || j == 4);
            before_s = f.time_s;
        }
        free(s);
    }
}

static void attention_details(void **state)
{
    struct ms_test_system *s = ms_test_system_new("gb300_nvl72");
    struct ms_attention a = causal(4096, 128, 192, false, false);
    struct ms_cost all = ms_cost_attention(&s->device, &a), half;
    double rows = 2 * 4096;
    (void)state;
    /* Q, K, V and output in BF16, an FP32 sum per row and head. */
    ms_assert_close(all.hbm_bytes, rows * 128 * (2 * (192 + 192 + 128 + 128) + 4), 1e-12, 0);
    a.heads = a.kv_heads = 64;
    half = ms_cost_attention(&s->device, &a);
    ms_assert_close(2 * half.time_s, all.time_s, 1e-12, 0);
    a.context = 128; /* a sliding window */
    half = ms_cost_attention(&s->device, &a);
    assert_true(half.extrapolated && half.time_s < all.time_s / 2);
    a.batch = 0;
    assert_true(ms_cost_attention(&s->device, &a).time_s == 0);
    free(s);
}

/* cuDNN RMSNorm, read + write of BF16: NVIDIA/cudnn-frontend 3929da2 benchmark/norms, microseconds. */
static void memory_published(void **state)
{
    static const struct {
        const char *topology;
        double rows, columns, time_us;
    } points[] = {{"gb200_nvl72", 16384, 4096, 42}, {"gb200_nvl72", 8192, 5120, 28},
                  {"gb300_nvl72", 8192, 8192, 45},  {"gb300_nvl72", 8192, 4096, 22},
                  {"hgx_h200", 8192, 8192, 71},     {"hgx_h200", 2048, 4096, 10}};
    (void)state;
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        struct ms_test_system *s = ms_test_system_new(points[i].topology);
        double bytes = 4 * points[i].rows * points[i].columns;
        struct ms_cost c = ms_cost_memory(&s->device, bytes, 1);
        ms_assert_close(c.time_s * 1e6, points[i].time_us, 0.1, 0);
        ms_assert_close(c.hbm_bytes, bytes, 0, 0);
        assert_true(c.time_s >= bytes / s->topo.gpu.hbm_bandwidth.value && c.work_flop == 0);
        free(s);
    }
}

static void memory_limits(void **state)
{
    struct ms_test_system *s = ms_test_system_new("hgx_b200");
    struct ms_cost one = ms_cost_memory(&s->device, 2.385e8, 1),
                   seven = ms_cost_memory(&s->device, 2.385e8, 7);
    (void)state;
    assert_true(ms_cost_memory(&s->device, 0, 0).time_s == 0);
    ms_assert_close(seven.time_s - one.time_s, 6 * s->device.memory_launch.value, 1e-9, 0);
    assert_false(one.extrapolated);
    assert_true(ms_cost_memory(&s->device, 1e5, 1).extrapolated);
    assert_true(ms_cost_memory(&s->device, 1e11, 1).extrapolated);
    free(s);
}

static void quantize_amounts(void **state)
{
    struct ms_test_system *s = ms_test_system_new("gb200_nvl72");
    struct ms_cost once = ms_cost_quantize(&s->device, MS_DTYPE_MXFP8, 4096, 7168, 1),
                   twice = ms_cost_quantize(&s->device, MS_DTYPE_MXFP8, 4096, 7168, 2),
                   tensor = ms_cost_quantize(&s->device, MS_DTYPE_FP8_CS, 4096, 7168, 1);
    (void)state;
    ms_assert_close(once.hbm_bytes, 4096.0 * (2 * 7168 + 7392), 1e-12, 0);
    ms_assert_close(twice.hbm_bytes, 4096.0 * (2 * 7168 + 2 * 7392), 1e-12, 0);
    ms_assert_close(tensor.hbm_bytes, 4096.0 * 7168 * 5, 1e-12, 0); /* 2 + 2 read, 1 written */
    assert_true(once.time_s < twice.time_s && once.time_s < tensor.time_s);
    assert_true(once.time_s >= once.hbm_bytes / s->topo.gpu.hbm_bandwidth.value);
    assert_true(ms_cost_quantize(&s->device, MS_DTYPE_BF16, 4096, 7168, 2).time_s == 0);
    assert_true(ms_cost_quantize(&s->device, MS_DTYPE_MXFP8, 0, 7168, 2).time_s == 0);
    free(s);
}

static void sums(void **state)
{
    struct ms_cost a = {.time_s = 3, .work_flop = 10, .hbm_bytes = 5, .relative_uncertainty = 0.1},
                   b = {.time_s = 1,
                        .work_flop = 1,
                        .hbm_bytes = 7,
                        .relative_uncertainty = 0.3,
                        .extrapolated = true},
                   none = {0};
    (void)state;
    ms_cost_add(&a, &b);
    ms_assert_close(a.time_s, 4, 0, 0);
    ms_assert_close(a.work_flop, 11, 0, 0);
    ms_assert_close(a.hbm_bytes, 12, 0, 0);
    ms_assert_close(a.relative_uncertainty, (0.1 * 3 + 0.3) / 4, 1e-12, 0);
    assert_true(a.extrapolated);
    ms_cost_add(&none, &(struct ms_cost){0});
    assert_true(none.time_s == 0 && none.relative_uncertainty == 0 && !none.extrapolated);
}

/* --- every measured row: ai-dynamo/aiconfigurator 095f58a5, TensorRT-LLM 1.3.0rc20 ------------- */

/* Formats of the tables that the model has; others are weight-only kinds of inference. */
static const struct {
    const char *name;
    enum ms_dtype dtype;
} TABLE_DTYPES[] = {{"bfloat16", MS_DTYPE_BF16},
                    {"fp8", MS_DTYPE_FP8_CS},
                    {"fp8_block", MS_DTYPE_FP8_BLOCK},
                    {"nvfp4", MS_DTYPE_NVFP4}};
enum { N_TABLE_DTYPES = sizeof(TABLE_DTYPES) / sizeof(TABLE_DTYPES[0]) };

struct comparison {
    const char *system;
    const struct ms_device *device;
    struct ms_test_errors errors[N_TABLE_DTYPES];
};

static int table_dtype(const struct ms_test_row *row)
{
    for (int i = 0; i < N_TABLE_DTYPES; i++)
        if (strcmp(ms_test_text(row, "dtype"), TABLE_DTYPES[i].name) == 0)
            return i;
    return -1;
}

/* A Linear layer: quantise the input, GEMM. */
static void gemm_row(const struct ms_test_row *row, void *context)
{
    struct comparison *c = context;
    int i = table_dtype(row);
    struct ms_gemm g = {.m = ms_test_number(row, "m"),
                        .n = ms_test_number(row, "n"),
                        .k = ms_test_number(row, "k")};
    struct ms_cost cost, quantize;
    assert_true(i >= 0);
    g.dtype = TABLE_DTYPES[i].dtype;
    cost = ms_cost_gemm(c->device, &g);
    quantize = ms_cost_quantize(c->device, g.dtype, g.m, g.k, 1);
    ms_cost_add(&cost, &quantize);
    ms_test_error_add(&c->errors[i], cost.time_s, ms_test_number(row, "latency_ms") * 1e-3);
}

static void compare(const char *table, ms_test_row_fn each, size_t n_least, double median_most,
                    double p90_most)
{
    const char *shared = ms_test_shared();
    if (!shared) {
        print_message("no reference tables beside the checkout\n");
        skip();
    }
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        struct comparison c = {.system = MS_TEST_SYSTEMS[i].system, .device = &s->device};
        char name[64], what[128];
        snprintf(name, sizeof(name), table, MS_TEST_SYSTEMS[i].system);
        ms_test_read_csv(shared, name, each, &c);
        for (int d = 0; d < N_TABLE_DTYPES; d++) {
            snprintf(what, sizeof(what), "%s %s", name, TABLE_DTYPES[d].name);
            if (s->device.gemm[TABLE_DTYPES[d].dtype].peak.value > 0)
                ms_test_errors_check(&c.errors[d], what, n_least, median_most, p90_most);
            else
                assert_true(c.errors[d].n == 0);
        }
        free(s);
    }
}

static void measured_gemm(void **state)
{
    (void)state;
    compare("gemm_%s.csv", gemm_row, 1000, 0.10, 0.25);
}

/* What surrounds the two expert GEMMs of a measured MoE layer and is not this model's: a fixed time for
 * router softmax, top-k and index kernels, bytes per token of the group, and per assignment permute, the
 * activation and the weighted sum. Constants from the same rows (docs/costs.md). */
static const double MOE_FIXED_S = 27e-6, MOE_TOKEN_BYTES = 4 * 1.5, MOE_COPY_FACTOR = 1.7;
static const double MOE_LEAST_ROWS = 128; /* per expert: a training-like load */

static void moe_row(const struct ms_test_row *row, void *context)
{
    struct comparison *c = context;
    int i = table_dtype(row);
    double tokens = ms_test_number(row, "num_tokens"), hidden = ms_test_number(row, "hidden"),
           inter = ms_test_number(row, "inter") / ms_test_number(row, "etp"),
           experts = ms_test_number(row, "experts"), load[1024], copies, time_s;
    double rows = tokens * ms_test_number(row, "topk") / experts;
    int64_t n_local = (int64_t)(experts / ms_test_number(row, "ep"));
    struct ms_gemm up = {.n = 2 * inter, .k = hidden}, down = {.n = hidden, .k = inter};
    if (i < 0 || rows < MOE_LEAST_ROWS ||
        strcmp(ms_test_text(row, "distribution"), "balanced") != 0 ||
        strstr(ms_test_text(row, "kernel"), "nongated"))
        return;
    up.dtype = down.dtype = TABLE_DTYPES[i].dtype;
    assert_true(n_local >= 1 && n_local <= 1024);
    for (int64_t e = 0; e < n_local; e++)
        load[e] = rows;
    copies = rows * (double)n_local * (8 * hidden + 6 * inter);
    time_s = MOE_FIXED_S + (tokens * hidden * MOE_TOKEN_BYTES + MOE_COPY_FACTOR * copies) /
                               c->device->memory_bandwidth.value;
    time_s += ms_cost_grouped_gemm(c->device, &up, MS_EXPERT_GEMM_GROUPED, load, n_local, 0).time_s;
    time_s +=
        ms_cost_grouped_gemm(c->device, &down, MS_EXPERT_GEMM_GROUPED, load, n_local, 0).time_s;
    ms_test_error_add(&c->errors[i], time_s, ms_test_number(row, "latency_ms") * 1e-3);
}

static void measured_moe(void **state)
{
    (void)state;
    compare("moe_%s.csv", moe_row, 100, 0.25, 0.6);
}

/* Dynamic quantisation is the sum of two tables; this one holds the static part. */
static void quantize_row(const struct ms_test_row *row, void *context)
{
    struct comparison *c = context;
    double m = ms_test_number(row, "m"), k = ms_test_number(row, "k"), time_s;
    bool amax = strcmp(ms_test_text(row, "op"), "computescale") == 0;
    struct ms_cost cost;
    if (strcmp(ms_test_text(row, "system"), c->system) != 0 || m < 256 || k < 256)
        return;
    cost = ms_cost_quantize(c->device, MS_DTYPE_FP8_CS, m, k, 1);
    time_s = c->device->amax_launch.value + 2 * m * k / c->device->amax_bandwidth.value;
    ms_test_error_add(&c->errors[amax], amax ? time_s : cost.time_s - time_s,
                      ms_test_number(row, "latency_ms") * 1e-3);
}

static void measured_quantize(void **state)
{
    const char *shared = ms_test_shared();
    (void)state;
    if (!shared)
        skip();
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        struct comparison c = {.system = MS_TEST_SYSTEMS[i].system, .device = &s->device};
        ms_test_read_csv(shared, "quantize.csv", quantize_row, &c);
        ms_test_errors_check(&c.errors[0], c.system, 500, 0.1, 0.45);
        ms_test_errors_check(&c.errors[1], c.system, 500, 0.15, 0.4);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_by_hand),
        cmocka_unit_test(gemm_range),
        cmocka_unit_test(gemm_of_nothing),
        cmocka_unit_test(gemm_bounds_and_monotony),
        cmocka_unit_test(gemm_reaches_its_peak),
        cmocka_unit_test(gemm_of_another_library),
        cmocka_unit_test(grouped_by_hand),
        cmocka_unit_test(one_expert_and_loops),
        cmocka_unit_test(padding_ignores_tokens),
        cmocka_unit_test(uneven_is_never_faster),
        cmocka_unit_test(attention_published),
        cmocka_unit_test(attention_bounds),
        cmocka_unit_test(attention_details),
        cmocka_unit_test(memory_published),
        cmocka_unit_test(memory_limits),
        cmocka_unit_test(quantize_amounts),
        cmocka_unit_test(sums),
        cmocka_unit_test(measured_gemm),
        cmocka_unit_test(measured_moe),
        cmocka_unit_test(measured_quantize),
    };
    return cmocka_run_group_tests_name("cost_kernel", tests, NULL, NULL);
}
