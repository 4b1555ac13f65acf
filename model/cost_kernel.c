/* cost_kernel.c - time of compute kernels: dense and expert GEMMs, core attention, memory-bound kernels
 * and quantisation. Pure functions; every constant comes from the device. docs/costs.md derives them.
 *
 * Read tiles_s() first: dense and grouped GEMMs are the same sum of output tiles. */
#include "model/cost.h"

#include <math.h>

/* A span of shapes the constants were taken from; outside it a cost says `extrapolated`. */
struct range {
    double least, most;
};
/* GEMM rows of ai-dynamo/aiconfigurator 095f58a5: m 256..32768, n and k 512..16384. */
static const struct range GEMM_M = {256, 32768}, GEMM_NK = {512, 16384};
/* Rows per expert in the balanced MoE rows of the same source that the grouped form was judged on. */
static const struct range EXPERT_ROWS = {128, 32768};
/* cuDNN training attention, NVIDIA/cudnn-frontend 3929da2: S 2048..32768 causal, head dims 128..256. */
static const struct range ATTENTION_SEQ = {2048, 32768}, ATTENTION_DIM = {128, 256};
static const double ATTENTION_LEAST_CONTEXT = 1024; /* (2048 + 1) / 2 keys: S 2048, causal */
/* Bytes of one kernel: RMSNorm from 4 MB (cudnn-frontend) to quantising 32768 x 65536 (aiconfigurator). */
static const struct range KERNEL_BYTES = {4e6, 6.5e9};

/* Beyond its range a form is taken to be twice as uncertain (a choice, not a measurement). */
static const double EXTRAPOLATION_FACTOR = 2;
/* FLOP of attention backward over forward: five matrix products for two (FlashAttention-2,
 * arXiv 2307.08691 section 4.1). */
static const double BACKWARD_FACTOR = 2.5;
static const double BF16_BYTES = 2;

static bool outside(struct range range, double x)
{
    return x < range.least || x > range.most;
}

static void finish(struct ms_cost *cost, double spread, bool extrapolated)
{
    cost->extrapolated = extrapolated;
    cost->relative_uncertainty = spread * (extrapolated ? EXTRAPOLATION_FACTOR : 1);
    MS_REQUIRE(isfinite(cost->time_s) && cost->time_s >= 0);
}

void ms_cost_add(struct ms_cost *a, const struct ms_cost *b)
{
    double total_s = a->time_s + b->time_s;
    if (total_s > 0)
        a->relative_uncertainty =
            (a->relative_uncertainty * a->time_s + b->relative_uncertainty * b->time_s) / total_s;
    a->time_s = total_s;
    a->work_flop += b->work_flop;
    a->hbm_bytes += b->hbm_bytes;
    a->extrapolated |= b->extrapolated;
}

/* Output tiles of an m x n result. */
static double count_tiles(const struct ms_device *device, double m, double n)
{
    return ceil(m / device->tile_m.value) * ceil(n / device->tile_n.value);
}

/* Seconds of `tiles` output tiles over k, all SMs working in waves, at `rate_flops` of the whole GPU. */
static double tiles_s(const struct ms_device *device, const struct ms_gemm_constants *c,
                      double tiles, double k, double rate_flops)
{
    double slots = (double)device->topo->gpu.sm_count * c->wave_step.value;
    double waves = c->wave_step.value * ceil(tiles / slots);
    double tile_flop = 2 * device->tile_m.value * device->tile_n.value * (k + c->fill.value);
    return waves * tile_flop * (double)device->topo->gpu.sm_count / rate_flops;
}

static double gemm_bytes(const struct ms_gemm *gemm, double m)
{
    return ms_dtype_bytes(gemm->dtype) * (m * gemm->k + gemm->n * gemm->k) +
           BF16_BYTES * m * gemm->n;
}

static const struct ms_gemm_constants *constants(const struct ms_device *device,
                                                 const struct ms_gemm *gemm)
{
    MS_REQUIRE((unsigned)gemm->dtype < MS_N_DTYPES);
    MS_REQUIRE(device->gemm[gemm->dtype].peak.value > 0);
    MS_REQUIRE(gemm->n >= 0 && gemm->k >= 0);
    return &device->gemm[gemm->dtype];
}

/* One GEMM of m rows at `derate` times the dense rate; no rows, no time. */
static struct ms_cost gemm_cost(const struct ms_device *device, const struct ms_gemm *gemm,
                                double m, double derate, struct range rows)
{
    const struct ms_gemm_constants *c = constants(device, gemm);
    struct ms_cost cost = {0};
    double busy_s;
    MS_REQUIRE(m >= 0);
    if (m == 0 || gemm->n == 0 || gemm->k == 0)
        return cost;
    cost.work_flop = 2 * m * gemm->n * gemm->k;
    cost.hbm_bytes = gemm_bytes(gemm, m);
    busy_s = tiles_s(device, c, count_tiles(device, m, gemm->n), gemm->k, derate * c->peak.value);
    cost.time_s = fmax(busy_s, cost.hbm_bytes / device->memory_bandwidth.value) + c->launch.value;
    finish(&cost, c->spread.value,
           outside(rows, m) || outside(GEMM_NK, gemm->n) || outside(GEMM_NK, gemm->k));
    return cost;
}

struct ms_cost ms_cost_gemm(const struct ms_device *device, const struct ms_gemm *gemm)
{
    return gemm_cost(device, gemm, gemm->m, 1, GEMM_M);
}

/* What one grouped kernel computes. */
struct expert_work {
    double tiles, rows, bytes;
    double n_experts;   /* with rows */
    double useful_rows; /* rows that hold tokens */
};

/* All experts in one kernel: their tiles share the waves. */
static struct ms_cost grouped_kernel(const struct ms_device *device, const struct ms_gemm *gemm,
                                     const struct expert_work *work)
{
    const struct ms_gemm_constants *c = constants(device, gemm);
    struct ms_cost cost = {0};
    double busy_s;
    if (work->rows == 0 || gemm->n == 0 || gemm->k == 0)
        return cost;
    cost.work_flop = 2 * work->useful_rows * gemm->n * gemm->k;
    cost.hbm_bytes = work->bytes;
    busy_s = tiles_s(device, c, work->tiles, gemm->k, c->grouped.value * c->peak.value);
    cost.time_s = fmax(busy_s, work->bytes / device->memory_bandwidth.value) + c->launch.value;
    finish(&cost, c->spread.value,
           outside(EXPERT_ROWS, work->rows / work->n_experts) || outside(GEMM_NK, gemm->n) ||
               outside(GEMM_NK, gemm->k));
    return cost;
}

static struct ms_cost grouped_cost(const struct ms_device *device, const struct ms_gemm *gemm,
                                   const double *tokens, int64_t n_experts)
{
    struct expert_work work = {0};
    for (int64_t i = 0; i < n_experts; i++) {
        MS_REQUIRE(tokens[i] >= 0);
        if (tokens[i] == 0)
            continue;
        work.tiles += count_tiles(device, tokens[i], gemm->n);
        work.bytes += gemm_bytes(gemm, tokens[i]);
        work.rows += tokens[i];
        work.n_experts++;
    }
    work.useful_rows = work.rows;
    return grouped_kernel(device, gemm, &work);
}

static struct ms_cost loop_cost(const struct ms_device *device, const struct ms_gemm *gemm,
                                const double *tokens, int64_t n_experts)
{
    double derate = constants(device, gemm)->grouped.value;
    struct ms_cost cost = {0};
    for (int64_t i = 0; i < n_experts; i++) {
        struct ms_cost one = gemm_cost(device, gemm, tokens[i], derate, EXPERT_ROWS);
        ms_cost_add(&cost, &one);
    }
    return cost;
}

/* Every expert has `capacity` rows; rows without a token are computed too but are no useful work. */
static struct ms_cost padded_cost(const struct ms_device *device, const struct ms_gemm *gemm,
                                  const double *tokens, int64_t n_experts, double capacity)
{
    double n = (double)n_experts;
    struct expert_work work = {.tiles = n * count_tiles(device, capacity, gemm->n),
                               .rows = n * capacity,
                               .bytes = n * gemm_bytes(gemm, capacity),
                               .n_experts = n};
    MS_REQUIRE(capacity >= 0);
    for (int64_t i = 0; i < n_experts; i++)
        work.useful_rows += fmin(tokens[i], capacity);
    return grouped_kernel(device, gemm, &work);
}

struct ms_cost ms_cost_grouped_gemm(const struct ms_device *device, const struct ms_gemm *gemm,
                                    enum ms_expert_gemm how, const double *tokens,
                                    int64_t n_experts, double capacity)
{
    MS_REQUIRE(n_experts >= 0 && (tokens || n_experts == 0));
    MS_REQUIRE((unsigned)how <= MS_EXPERT_GEMM_PADDED);
    if (how == MS_EXPERT_GEMM_GROUPED)
        return grouped_cost(device, gemm, tokens, n_experts);
    if (how == MS_EXPERT_GEMM_LOOP)
        return loop_cost(device, gemm, tokens, n_experts);
    return padded_cost(device, gemm, tokens, n_experts, capacity);
}

/* Rate and fill by [fp8][backward]. */
static void attention_figures(const struct ms_device *device, const struct ms_attention *a,
                              double *rate_flops, double *fill)
{
    const struct ms_figure *rates[2][2] = {
        {&device->attention_forward, &device->attention_backward},
        {&device->attention_forward_fp8, &device->attention_backward_fp8},
    };
    const struct ms_figure *fills[2][2] = {
        {&device->attention_forward_fill, &device->attention_backward_fill},
        {&device->attention_forward_fp8_fill, &device->attention_backward_fp8_fill},
    };
    *rate_flops = rates[a->fp8][a->backward]->value;
    *fill = fills[a->fp8][a->backward]->value;
    MS_REQUIRE(*rate_flops > 0);
}

/* Forward: Q, K, V in, output and one FP32 log-sum-exp per row out. Backward: these and the output's
 * gradient in, gradients of Q, K, V out in BF16. */
static double attention_bytes(const struct ms_attention *a)
{
    double rows = a->batch * a->seq_len, element = a->fp8 ? 1 : BF16_BYTES;
    double qkv = rows * (a->heads * a->qk_dim + a->kv_heads * (a->qk_dim + a->v_dim));
    double output = rows * a->heads * a->v_dim, sums = 4 * rows * a->heads;
    if (a->backward)
        return element * (qkv + 2 * output) + BF16_BYTES * qkv + sums;
    return element * qkv + BF16_BYTES * output + sums;
}

struct ms_cost ms_cost_attention(const struct ms_device *device, const struct ms_attention *a)
{
    struct ms_cost cost = {0};
    double rate_flops, fill, key_flop;
    MS_REQUIRE(a->batch >= 0 && a->seq_len >= 0 && a->context >= 0 && a->heads >= 0);
    attention_figures(device, a, &rate_flops, &fill);
    key_flop = 2 * a->batch * a->seq_len * a->heads * (a->qk_dim + a->v_dim) *
               (a->backward ? BACKWARD_FACTOR : 1);
    if (key_flop == 0 || a->context == 0)
        return cost;
    cost.work_flop = key_flop * a->context;
    cost.hbm_bytes = attention_bytes(a);
    cost.time_s = fmax(key_flop * (a->context + fill) / rate_flops,
                       cost.hbm_bytes / device->memory_bandwidth.value);
    finish(&cost, device->attention_spread.value,
           outside(ATTENTION_SEQ, a->seq_len) || outside(ATTENTION_DIM, a->qk_dim) ||
               outside(ATTENTION_DIM, a->v_dim) || a->context < ATTENTION_LEAST_CONTEXT);
    return cost;
}

struct ms_cost ms_cost_memory(const struct ms_device *device, double bytes, double n_kernels)
{
    struct ms_cost cost = {.hbm_bytes = bytes};
    MS_REQUIRE(bytes >= 0 && n_kernels >= 0);
    cost.time_s = n_kernels * device->memory_launch.value + bytes / device->memory_bandwidth.value;
    finish(&cost, device->memory_spread.value,
           n_kernels > 0 && outside(KERNEL_BYTES, bytes / n_kernels));
    return cost;
}

struct ms_cost ms_cost_quantize(const struct ms_device *device, enum ms_dtype dtype, double m,
                                double k, double copies)
{
    struct ms_cost cost = {0};
    double elements = m * k, bytes;
    MS_REQUIRE((unsigned)dtype < MS_N_DTYPES && m >= 0 && k >= 0 && copies >= 0);
    if (dtype == MS_DTYPE_BF16 || elements == 0)
        return cost;
    MS_REQUIRE(device->gemm[dtype].quantize_bandwidth.value > 0);
    bytes = elements * (BF16_BYTES + copies * ms_dtype_bytes(dtype));
    cost.hbm_bytes = bytes;
    cost.time_s =
        device->quantize_launch.value + bytes / device->gemm[dtype].quantize_bandwidth.value;
    if (dtype == MS_DTYPE_FP8_CS) {
        cost.hbm_bytes += BF16_BYTES * elements;
        cost.time_s +=
            device->amax_launch.value + BF16_BYTES * elements / device->amax_bandwidth.value;
    }
    finish(&cost, device->memory_spread.value, outside(KERNEL_BYTES, bytes));
    return cost;
}
