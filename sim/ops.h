/* ops.h - what one model chunk does for one microbatch, kernel by kernel, on the ranks of one cell.
 *
 * All ranks of a cell do the same kernels and meet at every dispatch and combine, so an op carries the
 * time of the cell's slowest rank; where ranks differ (expert GEMMs, exchanges) it also carries each
 * rank's own time or bytes. Times are for a GPU that does nothing else; what runs beside what is
 * segment.h's business. A pure function of its arguments: the same call gives the same ops.
 */
#ifndef MS_SIM_OPS_H
#define MS_SIM_OPS_H

#include "sim/step.h"

/* Where time goes: keys of `breakdown_s` in the JSON output. */
enum ms_category {
    MS_CAT_ATTENTION,
    MS_CAT_DENSE_FFN,
    MS_CAT_SHARED_EXPERT,
    MS_CAT_ROUTER,
    MS_CAT_PERMUTE,
    MS_CAT_QUANTIZE,
    MS_CAT_NORM,
    MS_CAT_EXPERT_GEMM,
    MS_CAT_DISPATCH,
    MS_CAT_COMBINE,
    MS_CAT_TP_COMM,
    MS_CAT_CP_COMM,
    MS_CAT_PP_COMM,
    MS_CAT_DP_COMM,
    MS_CAT_LOSS,
    MS_CAT_OPTIMIZER,
    MS_CAT_OFFLOAD,
    MS_CAT_RECOMPUTE,
    MS_CAT_HOST,
    MS_CAT_BUBBLE,
    MS_CAT_OTHER,
    MS_N_CATEGORIES
};
extern const char *const MS_CATEGORY_NAMES[MS_N_CATEGORIES];
bool ms_category_is_comm(enum ms_category category);

enum ms_pass { MS_PASS_FORWARD, MS_PASS_BACKWARD };

/* Bytes through one rank's ports. */
struct ms_port_bytes {
    double nvlink_send, nvlink_receive, nic_send, nic_receive;
};

struct ms_op {
    const char *name; /* static text */
    enum ms_category category;
    int64_t layer;      /* decoder layer; -1: embedding, loss, MTP projection */
    bool comm;          /* expert exchange: runs on the communication stream */
    bool deferrable;    /* weight gradient: nothing in this chunk waits for it */
    uint32_t recompute; /* MS_RECOMPUTE_* modules that this forward op belongs to */
    uint32_t graph;     /* MS_GRAPH_* scope that launches it */
    double time_s;      /* slowest rank of the cell */
    double work_flop;   /* mean over ranks */
    double hbm_bytes;   /* mean over ranks */
    double n_kernels;
    double sm_share; /* fraction of the SMs a communication op holds */
    double relative_uncertainty;
    bool extrapolated;
    int64_t ranks_at; /* index into ops->rank_time_s, [cell_ranks] from there; -1: all alike */
    int64_t ports_at; /* index into ops->ports, [cell_ranks] from there; -1: none */
};

struct ms_ops {
    struct ms_op *at;
    size_t n, capacity;
    double *rank_time_s;
    size_t n_rank_times, rank_capacity;
    struct ms_port_bytes *ports;
    size_t n_ports, port_capacity;
};

/* Which work: microbatch `microbatch` through virtual chunk `v` of `stage`, on cell `cell`. */
struct ms_work {
    enum ms_pass pass;
    int64_t stage, v, cell, microbatch;
};

/* Appends the ops of `work` in the order of one stream. Backward includes recomputation. */
void ms_ops_chunk(const struct ms_step *step, const struct ms_work *work, struct ms_ops *ops);
void ms_ops_clear(struct ms_ops *ops); /* keeps the memory */
void ms_ops_free(struct ms_ops *ops);

/* Appends the op list of stage `stage`, one microbatch, cell 0 (--dump ops). */
void ms_ops_print(const struct ms_step *step, struct ms_buf *out);

#endif
