/* schedule.h - the order in which one pipeline stage works through microbatches and chunks.
 *
 * 1F1B and interleaved 1F1B as Megatron-Core's pipeline schedules do them (arXiv 2104.04473 section 2.2).
 * With --overlap ep a forward and a backward pass of the steady state are merged into one slot; that needs
 * one more warm-up pass.
 */
#ifndef MS_SIM_SCHEDULE_H
#define MS_SIM_SCHEDULE_H

#include "model/layout.h"

/* One slot of a stage: forward of (forward_mb, forward_v) and/or backward; -1 where absent. */
struct ms_slot {
    int64_t forward_mb, forward_v;
    int64_t backward_mb, backward_v;
};

/* Slots of `stage` in order, at most 2 n_microbatches vp of them. Caller frees `*out`. */
int64_t ms_schedule_stage(const struct ms_layout *layout, bool merge, int64_t stage,
                          struct ms_slot **out);

#endif
