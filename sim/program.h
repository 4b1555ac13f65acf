/* program.h - the step as tasks with dependencies: what the engine runs.
 *
 * A task is one slot of a stage's schedule on one cell, a pipeline send, a collective, the optimizer, or
 * (fidelity flow) one op or one flow. Alone it takes `clock_s`, a closed form; the bytes it moves through
 * ports only matter when others use the same ports at the same time, which is the engine's business.
 * Tasks that provably never share a port carry no bytes and cost the engine almost nothing.
 *
 * Replicas that are placed alike and see the same (balanced) routing are alike: one of each kind is
 * simulated. Collectives of a stage start when all its simulated cells are ready.
 */
#ifndef MS_SIM_PROGRAM_H
#define MS_SIM_PROGRAM_H

#include "sim/schedule.h"
#include "sim/segment.h"

/* At most so many replicas are simulated; the rest is taken to be like these. */
enum { MS_REPLICAS_MAX = 32 };

enum ms_task_kind {
    MS_TASK_SLOT,       /* a slot of the schedule: a whole segment */
    MS_TASK_OP,         /* one op of a slot (flow) */
    MS_TASK_FLOW,       /* bytes from one rank to another (flow) */
    MS_TASK_JOIN,       /* takes no time: waits for many */
    MS_TASK_P2P,        /* activations or gradients between stages */
    MS_TASK_COLLECTIVE, /* gradients, parameters */
    MS_TASK_OPTIMIZER,
};

/* Consecutive ranks with the same bytes through each one's ports. */
struct ms_range {
    int64_t first, n;
    struct ms_port_bytes bytes; /* per rank */
};

struct ms_task {
    enum ms_task_kind kind;
    enum ms_category category;
    const char *name;
    int64_t stage, replica; /* replica: index into program->replicas; -1: all of the stage */
    int64_t slot;           /* SLOT and OP: place in the stage's schedule; else -1 */
    double clock_s;
    int64_t segment; /* SLOT: index into program->segments; else -1 */
    int64_t ranges_at, n_ranges;
    bool crosses_unit; /* NIC bytes go through the spine */
    int64_t from, to;  /* FLOW: ranks; else -1 */
    double flow_bytes;
    int64_t deps_at, n_deps; /* into program->deps: tasks that must end first */
};

struct ms_edge {
    int64_t before, after;
};

struct ms_program {
    const struct ms_step *step; /* borrowed */
    int64_t *replicas;          /* [n_replicas] cell numbers that are simulated */
    int64_t n_replicas;
    struct ms_slot **slots;          /* [pp] schedules */
    int64_t *n_slots;                /* [pp] */
    int64_t *slot_of;                /* [pp][2][n_microbatches][vp]: slot of each pass */
    int64_t *slot_first, *slot_task; /* tasks that open and close each slot: see below */
    struct ms_task *tasks;
    size_t n_tasks, task_capacity;
    struct ms_segment *segments;
    size_t n_segments, segment_capacity;
    struct ms_range *ranges;
    size_t n_ranges, range_capacity;
    struct ms_edge *edges;
    size_t n_edges, edge_capacity;
    int64_t *deps;
    double nvlink_bytes_per_rank, nic_bytes_per_rank; /* sent per step by the mean rank */
    double work_flop_per_rank;                        /* mean over ranks, recompute included */
};

/* When tasks ran: arrays [n_tasks]. */
struct ms_schedule_times {
    double *start_s, *end_s;
};

/* Builds the program. `flow`: every op and every pair of ranks is a task of its own. */
struct ms_program *ms_program_new(const struct ms_step *step, bool flow);
void ms_program_free(struct ms_program *program); /* accepts NULL */

/* Task that closes slot `slot` of `stage` on simulated replica `replica`, and the one that opens it (the
 * same unless the program was built for flow). */
int64_t ms_program_slot(const struct ms_program *program, int64_t replica, int64_t stage,
                        int64_t slot);
int64_t ms_program_slot_first(const struct ms_program *program, int64_t replica, int64_t stage,
                              int64_t slot);

/* The work of a slot's passes: forward into *f, backward into *b; false where the pass is absent. */
bool ms_program_slot_work(const struct ms_program *program, int64_t replica, int64_t stage,
                          int64_t slot, enum ms_pass pass, struct ms_work *out);

/* Replaces both lists by the ops of the slot's passes; the list of an absent pass is empty. */
void ms_program_slot_ops(const struct ms_program *program, int64_t replica, int64_t stage,
                         int64_t slot, struct ms_ops *forward, struct ms_ops *backward);

#endif
