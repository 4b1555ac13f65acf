/* segment.h - one task of a pipeline schedule: a forward pass, a backward pass, or both merged, laid out on
 * a compute stream and a communication stream of one cell.
 *
 * Two threads of work (forward and backward) issue their ops in order; each stream runs one op at a
 * time; a thread waits for its own last op. Weight gradients that --overlap wgrad defers form a third
 * thread that fills gaps of the compute stream. While a communication op runs it holds its SMs, and compute
 * beside it runs at the rate 1 - sm_share. With a single thread this is plain sequence.
 * Source of the scheme: Megatron-Core combined 1F1B (--overlap-moe-expert-parallel-comm).
 */
#ifndef MS_SIM_SEGMENT_H
#define MS_SIM_SEGMENT_H

#include "sim/ops.h"

/* When one op ran. */
struct ms_span {
    const struct ms_op *op;
    const struct ms_ops *ops; /* the list it is in */
    double start_s, end_s;    /* from the start of the segment */
};

struct ms_segment {
    double time_s;
    double breakdown_s[MS_N_CATEGORIES]; /* exposed; sums to time_s */
    double hidden_comm_s;                /* communication that ran under compute */
    double compute_s;                    /* time of all compute ops alone, slowest ranks */
    double work_flop, hbm_bytes;         /* mean rank */
    double variance_s2;                  /* of time_s, ops of one category taken as correlated */
    struct ms_port_bytes mean_bytes;     /* of a rank */
    bool extrapolated;
};

/* Runs `forward` and/or `backward` (either may be NULL or empty). `spans` (may be NULL) receives one entry
 * per op, forward->n + backward->n of them, in order of start. */
void ms_segment_run(const struct ms_ops *forward, const struct ms_ops *backward, int64_t cell_ranks,
                    struct ms_segment *out, struct ms_span *spans);

#endif
