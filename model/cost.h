/* cost.h - time and resources of one kernel: closed forms with few parameters.
 *
 * All are pure functions of a device (its calibration) and a shape. They return what a kernel takes when
 * it has the GPU for itself; sharing and waiting are the engine's business. Times never fall below
 * flop / peak or bytes / bandwidth. A result outside the fitted range sets `extrapolated`.
 */
#ifndef MS_MODEL_COST_H
#define MS_MODEL_COST_H

#include "model/device.h"

struct ms_cost {
    double time_s;
    double work_flop;            /* useful work */
    double hbm_bytes;            /* read + written */
    double relative_uncertainty; /* one standard deviation of time, as a fraction */
    bool extrapolated;
};

/* Adds b to a: times and amounts sum, uncertainties weigh by time. */
void ms_cost_add(struct ms_cost *a, const struct ms_cost *b);

/* C[m,n] = A[m,k] B[k,n], output BF16. */
struct ms_gemm {
    double m, n, k; /* >= 0; any 0 gives no time */
    enum ms_dtype dtype;
};

/* Dense GEMM: max(tiles, bytes) + launch, where
 *   tiles = waves x time of one tile over k + fill on one SM, waves = ceil(ceil(m/tile_m)
 *           ceil(n/tile_n) / SMs), rounded up to a multiple of wave_step rather than of 1,
 *   bytes = (A + B at dtype + C at 2 bytes) / memory bandwidth.
 * Quantising A is not inside (ms_cost_quantize). MS_REQUIREs that the device has the format. */
struct ms_cost ms_cost_gemm(const struct ms_device *device, const struct ms_gemm *gemm);

/* How the experts of one rank are computed: names of --expert-gemm. */
enum ms_expert_gemm { MS_EXPERT_GEMM_GROUPED, MS_EXPERT_GEMM_LOOP, MS_EXPERT_GEMM_PADDED };

/* The same GEMM for `n_experts` experts with `tokens[i]` rows each (assignments, may be 0 or fractional
 * expectations): grouped: the tiles of all experts share the waves, each expert's rows are padded to
 * tile_m; loop: one GEMM per expert; padded: every expert computes `capacity` rows, whatever `tokens`
 * says (work_flop counts the rows that hold tokens). All three at `grouped` times the dense rate.
 * `gemm->m` unused. An expert without rows costs nothing, not even its weights' bytes. */
struct ms_cost ms_cost_grouped_gemm(const struct ms_device *device, const struct ms_gemm *gemm,
                                    enum ms_expert_gemm how, const double *tokens,
                                    int64_t n_experts, double capacity);

/* Core attention of `batch` sequences on one rank, causal, no projections. */
struct ms_attention {
    double batch, seq_len; /* sequences, tokens each (queries of this rank) */
    double context;        /* mean number of keys a query sees, e.g. (seq_len + 1) / 2 */
    double heads, kv_heads, qk_dim, v_dim;
    bool backward, fp8;
};
/* Work 2 batch seq_len context heads (qk_dim + v_dim), backward 2.5 times that, over the achieved rate;
 * time is that of context + fill keys, or of the bytes if longer. MS_REQUIREs an FP8 kernel if `fp8`. */
struct ms_cost ms_cost_attention(const struct ms_device *device, const struct ms_attention *a);

/* A memory-bound kernel that moves `bytes` in `n_kernels` launches. */
struct ms_cost ms_cost_memory(const struct ms_device *device, double bytes, double n_kernels);

/* Quantising m x k BF16 elements to `dtype` (both directions: `copies` outputs, e.g. row- and column-wise):
 * read 2 B, write copies x ms_dtype_bytes per element at the format's quantize_bandwidth; per-tensor
 * current scaling adds an amax pass of 2 B. BF16 costs nothing. MS_REQUIREs the format otherwise. */
struct ms_cost ms_cost_quantize(const struct ms_device *device, enum ms_dtype dtype, double m,
                                double k, double copies);

/* A collective over `n_ranks` ranks of which `ranks_per_domain` share a domain. */
enum ms_collective {
    MS_COLLECTIVE_ALL_REDUCE,
    MS_COLLECTIVE_ALL_GATHER,
    MS_COLLECTIVE_REDUCE_SCATTER,
    MS_N_COLLECTIVES
};
struct ms_collective_shape {
    enum ms_collective op;
    int64_t n_ranks;          /* >= 1; 1 gives no time */
    int64_t ranks_per_domain; /* >= 1; == n_ranks: all inside one domain */
    double size_bytes;        /* the larger buffer of a rank */
};
/* What a collective takes and loads: the faster of two algorithms.
 * Ring: launch + steps x latency + transfer + min(ramp x steps, transfer), bytes per port (n-1)/n size
 * (all-reduce: twice that) plus own_share/n size copied locally. Across domains the NIC carries each ring's
 * crossing: with g = ranks_per_domain parallel rings (rails), NIC bytes per rank =
 * size (n_domains-1)/n_domains / g (all-reduce: twice), and transfer is the longer of the two tiers.
 * NVLS (all-reduce of >= 8 ranks in a domain that has it): each port sends and receives size bytes at the
 * topology's nvls_busbw; between domains a tree on top over the NICs. NCCL 2.29 does all-gather and
 * reduce-scatter at ring speed also where NVLS exists. Source: NCCL tuning model, docs/costs.md. */
struct ms_collective_cost {
    double time_s;       /* alone on idle links */
    double latency_s;    /* the part of it that no bandwidth shortens */
    double nvlink_bytes; /* through each rank's NVLink port, each direction */
    double nic_bytes;    /* through each rank's NIC, each direction */
    double relative_uncertainty;
};
struct ms_collective_cost ms_cost_collective(const struct ms_device *device,
                                             const struct ms_collective_shape *shape);

/* Point-to-point of `bytes` over one tier: launch + latency + bytes / bandwidth of the port as NCCL's
 * send/recv uses it. 0 bytes take no time. */
double ms_cost_p2p(const struct ms_device *device, bool across_domains, double bytes);

/* How experts' tokens travel: names of --dispatcher. */
enum ms_dispatcher {
    MS_DISPATCHER_ALLTOALL,  /* NCCL grouped send/recv: one copy per (token, expert) assignment */
    MS_DISPATCHER_ALLGATHER, /* every rank gets all tokens of the group */
    MS_DISPATCHER_DEEPEP,    /* fused, de-duplicated: one copy per destination rank or domain */
    MS_DISPATCHER_HYBRIDEP,
    MS_DISPATCHER_NCCL_EP,
    MS_N_DISPATCHERS
};
extern const char *const MS_DISPATCHER_NAMES[]; /* "alltoall", ..., NULL */

/* Rates and fixed time of one dispatch or combine on one rank. The time of an exchange is
 * fixed_s + max over ports (bytes / rate); the engine finds it from per-rank bytes. */
struct ms_exchange_rates {
    double fixed_s;
    double nvlink_Bps; /* for bytes to *other* ranks: <= NVLink port bandwidth, and for fused ones
                        * <= sms x exchange_per_sm x (ep-1)/ep: an SM also copies the rank's own share */
    double nic_Bps;
    double relative_uncertainty; /* of the time */
};
/* MS_REQUIREs sms >= 1 for the fused dispatchers and ep >= 1. `fixed_s` contains the ramp-up of a large
 * NCCL all-to-all: below about 20 MB per rank it is 30 us too long. */
struct ms_exchange_rates ms_cost_exchange_rates(const struct ms_device *device,
                                                enum ms_dispatcher dispatcher, int64_t sms,
                                                int64_t ep);

#endif
