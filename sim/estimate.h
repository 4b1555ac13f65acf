/* estimate.h - runs a program without contention: every task takes its closed form and starts when its
 * dependencies have ended (longest path). O(tasks + dependencies). Agrees with the engine where no port is
 * shared. */
#ifndef MS_SIM_ESTIMATE_H
#define MS_SIM_ESTIMATE_H

#include "sim/program.h"

/* Fills times->start_s and end_s [n_tasks] (caller's arrays). MS_E_RUNTIME if the dependencies have a
 * cycle, which is a fault of the schedule. */
MS_MUST_CHECK enum ms_status ms_estimate_run(const struct ms_program *program,
                                             struct ms_schedule_times *times, struct ms_error *err);

#endif
