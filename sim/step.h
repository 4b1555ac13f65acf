/* step.h - the inputs of one simulated step, gathered and checked once; every stage of the simulation
 * reads them and changes nothing.
 *
 * Order to read sim/: step.h (inputs), ops.h (what one chunk does, kernel by kernel), segment.h (kernels
 * on two streams), schedule.h (order of microbatches), program.h (tasks and their dependencies),
 * engine.h and estimate.h (when each task runs), account.h (where the time went), predict.h (all of it).
 */
#ifndef MS_SIM_STEP_H
#define MS_SIM_STEP_H

#include "model/cost.h"
#include "model/layout.h"
#include "traces/traffic.h"

/* Routing of all EP groups whose ranks lie in domains the same way ("pattern"). */
struct ms_pattern {
    int64_t *domain;                   /* [ep], renumbered from 0 */
    struct ms_traffic_source *traffic; /* NULL for dense models */
};

struct ms_step {
    const struct ms_recipe *recipe; /* borrowed, as all of these */
    const struct ms_arch *arch;
    const struct ms_cluster *cluster;
    const struct ms_layout *layout;
    const struct ms_device *device;
    struct ms_group worst_group[MS_N_GROUPS]; /* ms_layout_worst_group of each kind */
    int64_t groups_per_cell;                  /* EP groups (of one etp index) in a cell */
    struct ms_pattern *patterns;
    int64_t n_patterns;
    int64_t *pattern_of;         /* [pp][n_cells][groups_per_cell] */
    struct ms_traffic **traffic; /* scratch [groups_per_cell]: loads of one layer */
    bool uniform;                /* routing is the same for all layers, microbatches and groups */
};

/* Opens the routing. MS_E_USAGE or MS_E_INPUT from ms_traffic_open, or for a format, dispatcher or option
 * the system cannot run (no NVFP4 units, FP8 attention without such kernels, ...). */
MS_MUST_CHECK enum ms_status ms_step_init(const struct ms_recipe *recipe,
                                          const struct ms_arch *arch,
                                          const struct ms_layout *layout,
                                          const struct ms_device *device, struct ms_step *out,
                                          struct ms_error *err);
void ms_step_fini(struct ms_step *step);

/* Pattern of group `group` of cell `cell` of `stage`. */
int64_t ms_step_pattern(const struct ms_step *step, int64_t stage, int64_t cell, int64_t group);

/* True if two cells of a stage are placed alike, so that with uniform routing they behave alike. */
bool ms_step_same_cell(const struct ms_step *step, int64_t stage, int64_t a, int64_t b);

#endif
