/* device.c - reads a calibration file into struct ms_device, fits it to the topology and checks it.
 *
 * One field table says what a file holds; a second table (LINKS) says which topology figure each rate
 * belongs to, for scaling and for the check that nothing is faster than the hardware. */
#include "model/device.h"

#include "base/data.h"
#include "base/mem.h"
#include "base/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char FOLDER[] = "model/calibration", SUFFIX[] = ".json";
enum { PATH_SIZE = 4096 };

const char *const MS_DTYPE_NAMES[] = {"bf16", "fp8-cs", "fp8-block", "mxfp8", "nvfp4", NULL};

/* Element and its share of the block's scale. FP8: 1 B + FP32 per 128 or E8M0 per 32; NVFP4: 0.5 B + E4M3
 * per 16 (block formats of cuBLAS 12.9 and arXiv 2412.19437 section 3.3). */
static const double DTYPE_BYTES[MS_N_DTYPES] = {
    [MS_DTYPE_BF16] = 2.0,
    [MS_DTYPE_FP8_CS] = 1.0,
    [MS_DTYPE_FP8_BLOCK] = 1.0 + 4.0 / 128,
    [MS_DTYPE_MXFP8] = 1.0 + 1.0 / 32,
    [MS_DTYPE_NVFP4] = 0.5 + 1.0 / 16,
};

double ms_dtype_bytes(enum ms_dtype dtype)
{
    MS_REQUIRE((unsigned)dtype < MS_N_DTYPES);
    return DTYPE_BYTES[dtype];
}

/* Rows of the tables. Bounds keep out slips of a prefix, not hardware. */
#define MEMBER(path) offsetof(struct ms_device, path)
#define FIGURE(key, path, what, least, most, must, text)                                           \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_FIGURE, .offset = MEMBER(path),                              \
        .quantity = MS_QUANTITY_##what, .min = least, .max = most, .required = must, .help = text  \
    }
#define RATE(key, path, must, text)         FIGURE(key, path, FLOPS, 1e12, 1e18, must, text)
#define SPEED(key, path, text)              FIGURE(key, path, BANDWIDTH, 1e9, 1e15, true, text)
#define DELAY(key, path, text)              FIGURE(key, path, TIME, 0, 0.1, true, text)
#define RATIO(key, path, least, most, text) FIGURE(key, path, RATIO, least, most, true, text)
#define SPREAD(path)                                                                               \
    RATIO("spread", path, 0.001, 1, "one standard deviation of time, as a fraction")
#define REFERENCE(key, path, what, text)                                                           \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_REAL, .offset = MEMBER(reference.path),                      \
        .quantity = MS_QUANTITY_##what, .required = true, .help = text                             \
    }
#define SECTION(key, table, must, text)                                                            \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_SECTION, .required = must, .help = text, .sub = table,       \
        .n_sub = sizeof(table) / sizeof((table)[0])                                                \
    }

static const struct ms_field REFERENCE_FIELDS[] = {
    REFERENCE("peak_bf16", peak_bf16, FLOPS, "topology's BF16 peak where the constants were taken"),
    REFERENCE("peak_fp8", peak_fp8, FLOPS, "FP8 peak"),
    REFERENCE("peak_mxfp8", peak_mxfp8, FLOPS, "MXFP8 peak"),
    REFERENCE("peak_nvfp4", peak_nvfp4, FLOPS, "NVFP4 peak"),
    REFERENCE("hbm_bandwidth", hbm_bandwidth, BANDWIDTH, "GPU memory bandwidth"),
    REFERENCE("nvlink_bandwidth", nvlink_bandwidth, BANDWIDTH, "NVLink port"),
    REFERENCE("nic_bandwidth", nic_bandwidth, BANDWIDTH, "NIC"),
};

#define GEMM_COMMON(i)                                                                             \
    RATE("peak", gemm[i].peak, true, "large dense GEMMs"),                                         \
        RATIO("grouped", gemm[i].grouped, 0.1, 1, "expert GEMMs over dense ones"),                 \
        DELAY("launch", gemm[i].launch, "fixed time of a GEMM"),                                   \
        RATIO("fill", gemm[i].fill, 0, 1e5, "k lost to fill and drain a tile"),                    \
        RATIO("wave_step", gemm[i].wave_step, 0.01, 16, "smallest step of the wave count"),        \
        SPREAD(gemm[i].spread)
#define GEMM_QUANTIZED(i)                                                                          \
    GEMM_COMMON(i), SPEED("quantize_bandwidth", gemm[i].quantize_bandwidth, "quantising BF16 to it")
static const struct ms_field GEMM_BF16[] = {GEMM_COMMON(MS_DTYPE_BF16)};
static const struct ms_field GEMM_FP8_CS[] = {GEMM_QUANTIZED(MS_DTYPE_FP8_CS)};
static const struct ms_field GEMM_FP8_BLOCK[] = {GEMM_QUANTIZED(MS_DTYPE_FP8_BLOCK)};
static const struct ms_field GEMM_MXFP8[] = {GEMM_QUANTIZED(MS_DTYPE_MXFP8)};
static const struct ms_field GEMM_NVFP4[] = {GEMM_QUANTIZED(MS_DTYPE_NVFP4)};
static const struct ms_field GEMM_FIELDS[] = {
    SECTION("bf16", GEMM_BF16, true, "BF16"),
    SECTION("fp8_cs", GEMM_FP8_CS, false, "FP8, current scaling per tensor"),
    SECTION("fp8_block", GEMM_FP8_BLOCK, false, "FP8, 1x128 and 128x128 blocks"),
    SECTION("mxfp8", GEMM_MXFP8, false, "FP8, 1x32 blocks"),
    SECTION("nvfp4", GEMM_NVFP4, false, "FP4, 1x16 blocks"),
};

static const struct ms_field TILE_FIELDS[] = {
    RATIO("m", tile_m, 1, 4096, "rows of an output tile"),
    RATIO("n", tile_n, 1, 4096, "columns of an output tile"),
};

#define ATTENTION(key, path, must, text)                                                           \
    RATE(key, path, must, text),                                                                   \
        FIGURE(key "_fill", path##_fill, RATIO, 0, 1e5, must, "keys lost per query")
static const struct ms_field ATTENTION_FIELDS[] = {
    ATTENTION("forward", attention_forward, true, "causal forward, BF16"),
    ATTENTION("backward", attention_backward, true, "causal backward, BF16"),
    ATTENTION("forward_fp8", attention_forward_fp8, false, "causal forward, FP8"),
    ATTENTION("backward_fp8", attention_backward_fp8, false, "causal backward, FP8"),
    SPREAD(attention_spread),
};

static const struct ms_field MEMORY_FIELDS[] = {
    SPEED("bandwidth", memory_bandwidth, "memory-bound kernels"),
    DELAY("launch", memory_launch, "fixed time of a memory-bound kernel"),
    DELAY("quantize_launch", quantize_launch, "fixed time of a quantising kernel"),
    SPEED("amax_bandwidth", amax_bandwidth, "amax pass of current scaling"),
    DELAY("amax_launch", amax_launch, "fixed time of that pass"),
    SPREAD(memory_spread),
};

static const struct ms_field HOST_FIELDS[] = {
    DELAY("launch", host_launch, "CPU time to launch a kernel without a graph"),
};

static const struct ms_field COLLECTIVE_FIELDS[] = {
    SPEED("ring_bandwidth", ring_bandwidth, "bus bandwidth of rings over NVLink"),
    RATIO("own_share", collective_own_share, 0, 2,
          "time of a rank's own share over a received one"),
    SPEED("nic_bandwidth", nic_bandwidth, "usable of a NIC"),
    DELAY("launch", collective_launch, "fixed time of a collective"),
    DELAY("ring_step_nvlink", ring_step_nvlink, "latency of a ring step inside a domain"),
    DELAY("ring_step_nic", ring_step_nic, "latency of a ring step between domains"),
    DELAY("ramp", collective_ramp, "ramp-up per ring step"),
    DELAY("nvls_latency", nvls_latency, "latency of an NVLS all-reduce"),
    DELAY("nvls_ramp", nvls_ramp, "ramp-up of NVLS per rank of a domain"),
    DELAY("domain_ramp", domain_ramp, "ramp-up per further domain"),
    SPREAD(collective_spread),
};

static const struct ms_field EXCHANGE_FIELDS[] = {
    SPEED("alltoall", exchange_alltoall, "NCCL all-to-all, own share counted"),
    DELAY("alltoall_launch", exchange_alltoall_launch, "fixed time of a large NCCL all-to-all"),
    DELAY("alltoall_per_rank", exchange_alltoall_per_rank, "added per rank"),
    SPEED("fused", exchange_fused, "fused dispatchers over NVLink"),
    SPEED("per_sm", exchange_per_sm, "Hybrid-EP and NCCL EP per SM"),
    SPEED("per_sm_deepep", exchange_per_sm_deepep, "DeepEP per SM"),
    SPEED("nic", exchange_nic, "usable of a NIC by an exchange"),
    DELAY("launch", exchange_launch, "fixed time of a Hybrid-EP or NCCL EP dispatch or combine"),
    DELAY("launch_deepep", exchange_launch_deepep, "fixed time of a DeepEP dispatch or combine"),
    DELAY("per_rank", exchange_per_rank, "added per expert-parallel rank"),
    SPREAD(exchange_spread),
};

static const struct ms_field FIELDS[] = {
    {.name = "name",
     .kind = MS_FIELD_STRING,
     .offset = MEMBER(name),
     .required = true,
     .help = "system the constants belong to"},
    SECTION("reference", REFERENCE_FIELDS, true, "topology the constants were taken on"),
    SECTION("gemm", GEMM_FIELDS, true, "matrix kernels by format"),
    SECTION("tile", TILE_FIELDS, true, "output tile"),
    SECTION("attention", ATTENTION_FIELDS, true, "core attention"),
    SECTION("memory", MEMORY_FIELDS, true, "memory-bound and quantising kernels"),
    SECTION("host", HOST_FIELDS, true, "CPU side"),
    SECTION("collective", COLLECTIVE_FIELDS, true, "collectives"),
    SECTION("exchange", EXCHANGE_FIELDS, true, "expert exchange"),
};

const struct ms_field *ms_device_fields(size_t *n)
{
    *n = sizeof(FIELDS) / sizeof(FIELDS[0]);
    return FIELDS;
}

/* A rate of the device, and the figure of the topology that bounds and scales it. */
struct link {
    const char *key; /* in the file */
    enum ms_quantity quantity;
    size_t rate;      /* struct ms_figure in struct ms_device */
    size_t limit;     /* struct ms_figure in struct ms_topology */
    size_t reference; /* double in struct ms_device */
};
#define LINK(key, what, path, topo_path, reference_path)                                           \
    {                                                                                              \
        key, MS_QUANTITY_##what, MEMBER(path), offsetof(struct ms_topology, topo_path),            \
            MEMBER(reference.reference_path)                                                       \
    }
#define LINK_PEAK(key, path, peak) LINK(key, FLOPS, path, gpu.peak, peak)
#define LINK_HBM(key, path)        LINK(key, BANDWIDTH, path, gpu.hbm_bandwidth, hbm_bandwidth)
#define LINK_NVLINK(key, path)     LINK(key, BANDWIDTH, path, domain.nvlink_bandwidth, nvlink_bandwidth)
#define LINK_NIC(key, path)        LINK(key, BANDWIDTH, path, scale_out.nic_bandwidth, nic_bandwidth)
static const struct link LINKS[] = {
    LINK_PEAK("gemm.bf16.peak", gemm[MS_DTYPE_BF16].peak, peak_bf16),
    LINK_PEAK("gemm.fp8_cs.peak", gemm[MS_DTYPE_FP8_CS].peak, peak_fp8),
    LINK_PEAK("gemm.fp8_block.peak", gemm[MS_DTYPE_FP8_BLOCK].peak, peak_fp8),
    LINK_PEAK("gemm.mxfp8.peak", gemm[MS_DTYPE_MXFP8].peak, peak_mxfp8),
    LINK_PEAK("gemm.nvfp4.peak", gemm[MS_DTYPE_NVFP4].peak, peak_nvfp4),
    LINK_PEAK("attention.forward", attention_forward, peak_bf16),
    LINK_PEAK("attention.backward", attention_backward, peak_bf16),
    LINK_PEAK("attention.forward_fp8", attention_forward_fp8, peak_fp8),
    LINK_PEAK("attention.backward_fp8", attention_backward_fp8, peak_fp8),
    LINK_HBM("gemm.fp8_cs.quantize_bandwidth", gemm[MS_DTYPE_FP8_CS].quantize_bandwidth),
    LINK_HBM("gemm.fp8_block.quantize_bandwidth", gemm[MS_DTYPE_FP8_BLOCK].quantize_bandwidth),
    LINK_HBM("gemm.mxfp8.quantize_bandwidth", gemm[MS_DTYPE_MXFP8].quantize_bandwidth),
    LINK_HBM("gemm.nvfp4.quantize_bandwidth", gemm[MS_DTYPE_NVFP4].quantize_bandwidth),
    LINK_HBM("memory.bandwidth", memory_bandwidth),
    LINK_HBM("memory.amax_bandwidth", amax_bandwidth),
    LINK_NVLINK("collective.ring_bandwidth", ring_bandwidth),
    LINK_NVLINK("exchange.alltoall", exchange_alltoall),
    LINK_NVLINK("exchange.fused", exchange_fused),
    LINK_NIC("collective.nic_bandwidth", nic_bandwidth),
    LINK_NIC("exchange.nic", exchange_nic),
};
enum { N_LINKS = sizeof(LINKS) / sizeof(LINKS[0]) };

/* The same efficiency on a part with another limit; 0 where the part lacks the unit. Other values known
 * for the figure (`measured`, ...) keep what the file says. */
static void scale(struct ms_figure *rate, double limit, double reference)
{
    if (limit <= 0)
        rate->value = 0;
    else if (reference > 0 && fabs(limit - reference) > 1e-9 * reference)
        rate->value *= limit / reference;
}

static enum ms_status fail_too_fast(const struct ms_device *device, const struct link *link,
                                    double rate, double limit, const char *path,
                                    struct ms_error *err)
{
    char where[MS_TEXT_MAX], rate_text[64], limit_text[64];
    snprintf(where, sizeof(where), "%.150s:%s", path, link->key);
    ms_units_format(rate, link->quantity, rate_text, sizeof(rate_text));
    ms_units_format(limit, link->quantity, limit_text, sizeof(limit_text));
    return ms_fail(err, MS_E_INPUT, where,
                   "achieves %s, above the %s of topology '%.60s'; nearest legal value %s",
                   rate_text, limit_text, device->topo->name, limit_text);
}

static enum ms_status fit_to_topology(struct ms_device *device, const char *path,
                                      struct ms_error *err)
{
    for (int i = 0; i < N_LINKS; i++) {
        const struct link *link = &LINKS[i];
        struct ms_figure *rate = (struct ms_figure *)((char *)device + link->rate);
        const struct ms_figure *limit =
            (const struct ms_figure *)((const char *)device->topo + link->limit);
        const double *reference = (const double *)((const char *)device + link->reference);
        scale(rate, limit->value, *reference);
        if (rate->value > limit->value)
            return fail_too_fast(device, link, rate->value, limit->value, path, err);
    }
    return MS_OK;
}

static enum ms_status find_file(const char *name, char path[PATH_SIZE], struct ms_error *err)
{
    if (ms_data_is_path(name, SUFFIX)) {
        if ((size_t)snprintf(path, PATH_SIZE, "%s", name) >= PATH_SIZE)
            return ms_fail(err, MS_E_INPUT, NULL, "the path '%.60s...' is too long", name);
        return MS_OK;
    }
    if (ms_data_path(FOLDER, name, SUFFIX, path, PATH_SIZE, err) == MS_OK)
        return MS_OK;
    return ms_fail(err, MS_E_INPUT, NULL,
                   "there is no calibration '%.60s%s' in the data files that come with moesim",
                   name, SUFFIX);
}

enum ms_status ms_device_load(const struct ms_topology *topo, struct ms_device *out,
                              struct ms_error *err)
{
    struct ms_device *device = ms_calloc(1, sizeof(*device));
    char path[PATH_SIZE];
    size_t n;
    const struct ms_field *fields = ms_device_fields(&n);
    enum ms_status status = find_file(topo->calibration, path, err);
    if (status == MS_OK)
        status = ms_yaml_read(path, fields, n, device, NULL, err);
    device->topo = topo;
    if (status == MS_OK)
        status = fit_to_topology(device, path, err);
    if (status == MS_OK)
        *out = *device;
    free(device);
    return status;
}
