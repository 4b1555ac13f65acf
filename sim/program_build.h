/* program_build.h - the inside of program.h: appending tasks, ranges and edges. For program*.c only. */
#ifndef MS_SIM_PROGRAM_BUILD_H
#define MS_SIM_PROGRAM_BUILD_H

#include "sim/program.h"

/* Which tiers other tasks than the slots use, and when: decides which slots carry bytes. */
struct ms_sharing {
    bool p2p_nvlink, p2p_nic; /* pipeline sends, all step long */
    bool dp_nvlink, dp_nic;   /* gradient and parameter collectives */
    double gather_s;          /* how long parameter gathers run into the step */
};

/* A task that takes no time, of no slot, segment or flow: the caller sets what it has. */
struct ms_task ms_program_task(enum ms_task_kind kind, enum ms_category category, const char *name,
                               int64_t stage, int64_t replica);
int64_t ms_program_add(struct ms_program *p, const struct ms_task *task);
void ms_program_range(struct ms_program *p, int64_t task, const struct ms_range *range);
void ms_program_edge(struct ms_program *p, int64_t before, int64_t after);

/* Place of a slot in program->slot_first and slot_task. */
int64_t ms_program_slot_index(const struct ms_program *p, int64_t replica, int64_t stage,
                              int64_t slot);

/* Slots of all stages and replicas with their order. program_slots.c */
void ms_program_add_slots(struct ms_program *p, const struct ms_sharing *sharing, bool flow);
/* Sends between stages. program_comm.c */
void ms_program_add_p2p(struct ms_program *p);
/* Gradient reduction, optimizer, parameter gathers. program_comm.c */
void ms_program_add_update(struct ms_program *p);
void ms_program_find_sharing(const struct ms_program *p, struct ms_sharing *out);

/* Slot of `stage` that holds the pass; every pass has exactly one. */
int64_t ms_program_find_slot(const struct ms_program *p, int64_t stage, enum ms_pass pass,
                             int64_t microbatch, int64_t v);

#endif
