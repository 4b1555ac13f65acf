/* device.h - what one GPU of a system achieves: the constants of the cost models, with their sources.
 *
 * Constants live in model/calibration/NAME.json (named by the topology's `calibration`), one figure each
 * with kind and source; peaks and port bandwidths come from the topology. No number is hidden in code.
 */
#ifndef MS_MODEL_DEVICE_H
#define MS_MODEL_DEVICE_H

#include "topologies/topology.h"

/* Number formats of matrix work: names of --precision. */
enum ms_dtype {
    MS_DTYPE_BF16,
    MS_DTYPE_FP8_CS,    /* FP8, current scaling per tensor */
    MS_DTYPE_FP8_BLOCK, /* FP8, 1x128 and 128x128 blocks */
    MS_DTYPE_MXFP8,     /* FP8, 1x32 blocks, scales in hardware */
    MS_DTYPE_NVFP4,
    MS_N_DTYPES
};
extern const char *const MS_DTYPE_NAMES[]; /* "bf16", "fp8-cs", ..., NULL */

/* Bytes of one element with its share of block scales: 2, 1, 1.03125, 1.03125, 0.5625.
 * Source: facts on block formats in docs/costs.md (1x128 FP32 scales, 1x32 E8M0, 1x16 E4M3). */
double ms_dtype_bytes(enum ms_dtype dtype);

/* Constants of matrix kernels in one format. */
struct ms_gemm_constants {
    struct ms_figure peak;    /* [flop/s] of large dense GEMMs, kernel only; 0: no such format */
    struct ms_figure grouped; /* ratio: achieved by expert GEMMs / dense at large sizes, <= 1 */
    struct ms_figure launch;  /* [s] fixed time of one kernel inside a graph */
    struct ms_figure fill; /* [elements of k] work lost per tile to fill and drain the pipeline */
    /* Smallest step of the number of waves: 0.25 where a library also has quarter tiles, 1 for whole
     * tiles, 2 for tiles of twice the size. */
    struct ms_figure wave_step;
    struct ms_figure quantize_bandwidth; /* [B/s] quantising BF16 to this format; 0 for BF16 */
    struct ms_figure spread;             /* ratio: one standard deviation of time about the form */
};

/* What the topology's figures were where the constants were taken: see ms_device_load. */
struct ms_device_reference {
    double peak_bf16, peak_fp8, peak_mxfp8, peak_nvfp4;    /* [flop/s] */
    double hbm_bandwidth, nvlink_bandwidth, nic_bandwidth; /* [B/s] */
};

struct ms_device {
    const struct ms_topology *topo; /* borrowed */
    char name[MS_TEXT_MAX];         /* of the calibration */
    struct ms_device_reference reference;
    struct ms_gemm_constants gemm[MS_N_DTYPES];
    struct ms_figure tile_m, tile_n; /* output tile of the dense and grouped kernels */
    struct ms_figure
        attention_forward; /* [flop/s] causal training attention, BF16, long sequences */
    struct ms_figure attention_backward;    /* [flop/s] */
    struct ms_figure attention_forward_fp8; /* [flop/s] with FP8 operands; 0: no such kernel */
    struct ms_figure attention_backward_fp8;
    struct ms_figure
        attention_forward_fill; /* [keys] work lost per query: diagonal tiles, softmax ends */
    struct ms_figure attention_backward_fill;
    struct ms_figure attention_forward_fp8_fill;
    struct ms_figure attention_backward_fp8_fill;
    struct ms_figure attention_spread; /* ratio, as gemm.spread */
    struct ms_figure memory_bandwidth; /* [B/s] achieved by memory-bound kernels */
    struct ms_figure memory_launch;    /* [s] fixed time of one memory-bound kernel */
    struct ms_figure memory_spread;
    struct ms_figure quantize_launch; /* [s] fixed time of one quantising kernel */
    struct ms_figure amax_bandwidth;  /* [B/s] of the amax pass of per-tensor current scaling */
    struct ms_figure amax_launch;     /* [s] */
    struct ms_figure host_launch;     /* [s] CPU time to launch one kernel without CUDA graphs */
    struct ms_figure
        ring_bandwidth; /* [B/s] bus bandwidth of ring collectives over NVLink, many ranks */
    struct ms_figure
        collective_own_share;           /* ratio: time of a rank's own share / of one it receives */
    struct ms_figure nic_bandwidth;     /* [B/s] usable of one NIC by collectives and p2p */
    struct ms_figure collective_launch; /* [s] fixed time of one NCCL collective */
    struct ms_figure ring_step_nvlink;  /* [s] latency of a ring step inside a domain */
    struct ms_figure ring_step_nic;     /* [s] between domains */
    struct ms_figure collective_ramp; /* [s per ring step] ramp-up intercept of large collectives */
    struct ms_figure nvls_latency;    /* [s] of one NVLS all-reduce */
    struct ms_figure nvls_ramp;       /* [s per rank of the domain] ramp-up intercept of NVLS */
    struct ms_figure domain_ramp; /* [s per further domain] ramp-up of NVLS with a tree on top */
    struct ms_figure collective_spread;
    struct ms_figure
        exchange_alltoall; /* [B/s] NCCL grouped send/recv, counting a rank's own share */
    struct ms_figure exchange_alltoall_launch; /* [s] fixed time, with the ramp-up of large ones */
    struct ms_figure exchange_alltoall_per_rank; /* [s] */
    struct ms_figure exchange_fused; /* [B/s] DeepEP, Hybrid-EP, NCCL EP over NVLink, enough SMs */
    struct ms_figure
        exchange_per_sm; /* [B/s] Hybrid-EP and NCCL EP move per SM, own share counted */
    struct ms_figure exchange_per_sm_deepep; /* [B/s] the same of DeepEP */
    struct ms_figure exchange_nic;           /* [B/s] usable of one NIC by an exchange */
    struct ms_figure
        exchange_launch; /* [s] fixed time of one Hybrid-EP or NCCL EP dispatch or combine */
    struct ms_figure exchange_launch_deepep; /* [s] the same of DeepEP, launched without a graph */
    struct ms_figure exchange_per_rank;      /* [s] added per EP rank (index exchange, flags) */
    struct ms_figure exchange_spread;
};

/* Field table of the calibration file; *n entries. */
const struct ms_field *ms_device_fields(size_t *n);

/* Reads the calibration the topology names: a built-in NAME, or a path (anything with '/' or ".json").
 * Rates are scaled by topology figure / reference figure, so that a topology with another peak or port
 * (H800, a what-if) has the same efficiency. A format that the GPU or the calibration lacks has peak 0.
 * MS_E_INPUT with file:line:key, or file:key where an achieved rate exceeds the topology's own figure.
 * `*out` borrows `topo` and is written on success only. */
MS_MUST_CHECK enum ms_status ms_device_load(const struct ms_topology *topo, struct ms_device *out,
                                            struct ms_error *err);

#endif
