/* engine.h - runs a program on SimGrid: the only place that knows SimGrid.
 *
 * Every task is one SimGrid parallel task (host model ptask_L07). Its closed-form time is work on a clock
 * host that it has for itself, its bytes go through the ports of its ranks; all parts progress together and
 * the most contended port decides, so a task alone takes its closed form and tasks that share a port slow
 * each other. Latencies are in the closed forms, so links have none here. A flow (fidelity flow) is a task
 * of two ranks. One actor starts tasks as their dependencies end.
 *
 * SimGrid can run once per process, so each run is a child process; times come back in shared memory.
 */
#ifndef MS_SIM_ENGINE_H
#define MS_SIM_ENGINE_H

#include "sim/program.h"

/* Fills times->start_s and end_s [n_tasks] (caller's arrays). Uses of `program`: tasks, ranges, deps and
 * step->cluster. MS_E_RUNTIME if the child fails or tasks are left that wait for each other. */
MS_MUST_CHECK enum ms_status ms_engine_run(const struct ms_program *program,
                                           struct ms_schedule_times *times, struct ms_error *err);

#endif
