/* account.h - where the step's time went, seen from one rank, so that the parts sum to the step.
 *
 * The *critical* cell is the one with the most work in its slots (first stage, first replica on a tie): the
 * one that holds the step back. Its slots contribute what was exposed in them; a gap before a slot is a
 * send or a gather where one of those kept it waiting, else bubble; after the last slot come gradient
 * reduction, optimizer and gathers, and waiting for other stages (bubble).
 */
#ifndef MS_SIM_ACCOUNT_H
#define MS_SIM_ACCOUNT_H

#include "sim/program.h"

struct ms_account {
    double step_time_s;
    double breakdown_s[MS_N_CATEGORIES]; /* sums to step_time_s */
    double hidden_comm_s;                /* under compute or while the cell did other work */
    double variance_s2;                  /* of step_time_s, from the ops' uncertainties */
    int64_t stage, replica;              /* the critical cell */
    bool extrapolated;
};

void ms_account_make(const struct ms_program *program, const struct ms_schedule_times *times,
                     struct ms_account *out);

#endif
