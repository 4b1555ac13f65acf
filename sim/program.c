#include "sim/program.h"

#include "base/mem.h"
#include "sim/program_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ms_task ms_program_task(enum ms_task_kind kind, enum ms_category category, const char *name,
                               int64_t stage, int64_t replica)
{
    return (struct ms_task){.kind = kind,
                            .category = category,
                            .name = name,
                            .stage = stage,
                            .replica = replica,
                            .slot = -1,
                            .segment = -1,
                            .from = -1,
                            .to = -1};
}

int64_t ms_program_add(struct ms_program *p, const struct ms_task *task)
{
    MS_REQUIRE(isfinite(task->clock_s) && task->clock_s >= 0);
    ms_grow((void **)&p->tasks, &p->task_capacity, p->n_tasks, sizeof(*p->tasks));
    p->tasks[p->n_tasks] = *task;
    p->tasks[p->n_tasks].ranges_at = (int64_t)p->n_ranges;
    return (int64_t)p->n_tasks++;
}

/* Ranges belong to the task added last. */
void ms_program_range(struct ms_program *p, int64_t task, const struct ms_range *range)
{
    MS_REQUIRE(task == (int64_t)p->n_tasks - 1);
    ms_grow((void **)&p->ranges, &p->range_capacity, p->n_ranges, sizeof(*p->ranges));
    p->ranges[p->n_ranges++] = *range;
    p->tasks[task].n_ranges++;
}

void ms_program_edge(struct ms_program *p, int64_t before, int64_t after)
{
    MS_REQUIRE(before >= 0 && after >= 0 && before != after);
    ms_grow((void **)&p->edges, &p->edge_capacity, p->n_edges, sizeof(*p->edges));
    p->edges[p->n_edges++] = (struct ms_edge){before, after};
}

int64_t ms_program_slot_index(const struct ms_program *p, int64_t replica, int64_t stage,
                              int64_t slot)
{
    const struct ms_layout *l = p->step->layout;
    int64_t stride = 2 * l->n_microbatches * l->vp; /* the most slots a stage can have */
    return (replica * l->pp + stage) * stride + slot;
}

int64_t ms_program_slot(const struct ms_program *program, int64_t replica, int64_t stage,
                        int64_t slot)
{
    return program->slot_task[ms_program_slot_index(program, replica, stage, slot)];
}

int64_t ms_program_slot_first(const struct ms_program *program, int64_t replica, int64_t stage,
                              int64_t slot)
{
    return program->slot_first[ms_program_slot_index(program, replica, stage, slot)];
}

bool ms_program_slot_work(const struct ms_program *program, int64_t replica, int64_t stage,
                          int64_t slot, enum ms_pass pass, struct ms_work *out)
{
    const struct ms_slot *s = &program->slots[stage][slot];
    bool forward = pass == MS_PASS_FORWARD;
    *out = (struct ms_work){.pass = pass,
                            .stage = stage,
                            .v = forward ? s->forward_v : s->backward_v,
                            .cell = program->replicas[replica],
                            .microbatch = forward ? s->forward_mb : s->backward_mb};
    return out->microbatch >= 0;
}

void ms_program_slot_ops(const struct ms_program *program, int64_t replica, int64_t stage,
                         int64_t slot, struct ms_ops *forward, struct ms_ops *backward)
{
    struct ms_work work;
    ms_ops_clear(forward);
    ms_ops_clear(backward);
    if (ms_program_slot_work(program, replica, stage, slot, MS_PASS_FORWARD, &work))
        ms_ops_chunk(program->step, &work, forward);
    if (ms_program_slot_work(program, replica, stage, slot, MS_PASS_BACKWARD, &work))
        ms_ops_chunk(program->step, &work, backward);
}

static int64_t *pass_entry(const struct ms_program *p, int64_t stage, enum ms_pass pass,
                           int64_t microbatch, int64_t v)
{
    const struct ms_layout *l = p->step->layout;
    return &p->slot_of[((stage * 2 + pass) * l->n_microbatches + microbatch) * l->vp + v];
}

int64_t ms_program_find_slot(const struct ms_program *p, int64_t stage, enum ms_pass pass,
                             int64_t microbatch, int64_t v)
{
    return *pass_entry(p, stage, pass, microbatch, v);
}

/* Replicas are alike if on every stage their cells are placed alike and their sends cross the same tiers,
 * and routing is the same everywhere. */
static bool replicas_alike(const struct ms_step *step, int64_t a, int64_t b)
{
    const struct ms_layout *l = step->layout;
    if (!step->uniform)
        return false;
    for (int64_t stage = 0; stage < l->pp; stage++) {
        int64_t next = (stage + 1) % l->pp;
        if (!ms_step_same_cell(step, stage, a, b))
            return false;
        for (int64_t r = 0; next != stage && r < l->cell_ranks; r++)
            if (ms_cluster_tier(l->cluster, ms_layout_cell_first(l, stage, a) + r,
                                ms_layout_cell_first(l, next, a) + r) !=
                ms_cluster_tier(l->cluster, ms_layout_cell_first(l, stage, b) + r,
                                ms_layout_cell_first(l, next, b) + r))
                return false;
    }
    return true;
}

static void choose_replicas(struct ms_program *p)
{
    const struct ms_layout *l = p->step->layout;
    p->replicas = ms_calloc((size_t)l->n_cells, sizeof(*p->replicas));
    for (int64_t cell = 0; cell < l->n_cells && p->n_replicas < MS_REPLICAS_MAX; cell++) {
        bool known = false;
        for (int64_t i = 0; i < p->n_replicas && !known; i++)
            known = replicas_alike(p->step, p->replicas[i], cell);
        if (!known)
            p->replicas[p->n_replicas++] = cell;
    }
}

static void make_schedules(struct ms_program *p)
{
    const struct ms_layout *l = p->step->layout;
    bool merge = (p->step->recipe->overlap & MS_OVERLAP_EP) != 0;
    size_t n;
    p->slots = ms_calloc((size_t)l->pp, sizeof(*p->slots));
    p->n_slots = ms_calloc((size_t)l->pp, sizeof(*p->n_slots));
    p->slot_of = ms_calloc((size_t)(2 * l->pp * l->n_microbatches * l->vp), sizeof(*p->slot_of));
    for (int64_t stage = 0; stage < l->pp; stage++) {
        p->n_slots[stage] = ms_schedule_stage(l, merge, stage, &p->slots[stage]);
        for (int64_t i = 0; i < p->n_slots[stage]; i++) {
            const struct ms_slot *s = &p->slots[stage][i];
            if (s->forward_mb >= 0)
                *pass_entry(p, stage, MS_PASS_FORWARD, s->forward_mb, s->forward_v) = i;
            if (s->backward_mb >= 0)
                *pass_entry(p, stage, MS_PASS_BACKWARD, s->backward_mb, s->backward_v) = i;
        }
    }
    n = (size_t)ms_program_slot_index(p, p->n_replicas, 0, 0);
    p->slot_first = ms_calloc(n, sizeof(*p->slot_first));
    p->slot_task = ms_calloc(n, sizeof(*p->slot_task));
}

/* Sorts edges by their later task (counting sort, stable) into the dependency lists. */
static void list_dependencies(struct ms_program *p)
{
    p->deps = ms_calloc(p->n_edges, sizeof(*p->deps));
    for (size_t i = 0; i < p->n_edges; i++)
        p->tasks[p->edges[i].after].n_deps++;
    for (size_t i = 0, at = 0; i < p->n_tasks; i++) {
        p->tasks[i].deps_at = (int64_t)at;
        at += (size_t)p->tasks[i].n_deps;
        p->tasks[i].n_deps = 0;
    }
    for (size_t i = 0; i < p->n_edges; i++) {
        struct ms_task *t = &p->tasks[p->edges[i].after];
        p->deps[t->deps_at + t->n_deps++] = p->edges[i].before;
    }
    free(p->edges);
    p->edges = NULL;
    p->n_edges = p->edge_capacity = 0;
}

struct ms_program *ms_program_new(const struct ms_step *step, bool flow)
{
    struct ms_program *p = ms_calloc(1, sizeof(*p));
    struct ms_sharing sharing;
    p->step = step;
    choose_replicas(p);
    make_schedules(p);
    ms_program_find_sharing(p, &sharing);
    ms_program_add_slots(p, &sharing, flow);
    ms_program_add_p2p(p);
    ms_program_add_update(p);
    list_dependencies(p);
    return p;
}

void ms_program_free(struct ms_program *p)
{
    if (!p)
        return;
    for (int64_t i = 0; p->slots && i < p->step->layout->pp; i++)
        free(p->slots[i]);
    free(p->slots);
    free(p->n_slots);
    free(p->slot_of);
    free(p->slot_first);
    free(p->slot_task);
    free(p->replicas);
    free(p->tasks);
    free(p->segments);
    free(p->ranges);
    free(p->edges);
    free(p->deps);
    free(p);
}
