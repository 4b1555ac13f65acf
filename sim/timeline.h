/* timeline.h - one replica's step as Chrome trace events, which Perfetto opens.
 *
 * A process per rank, a thread per stream: slots, compute, exchange, pipeline sends, gradients and
 * parameters. The first rank of each stage shows every kernel; the others show their slots and, where ranks
 * differ, their own expert GEMMs and exchanges. Times are microseconds.
 */
#ifndef MS_SIM_TIMELINE_H
#define MS_SIM_TIMELINE_H

#include "sim/program.h"

/* Appends the JSON text. `replica` is an index into program->replicas. For programs not built for flow. */
void ms_timeline_write(const struct ms_program *program, const struct ms_schedule_times *times,
                       int64_t replica, struct ms_buf *out);

#endif
