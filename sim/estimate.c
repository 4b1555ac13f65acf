#include "sim/estimate.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Depth-first with an explicit stack; state 0 new, 1 open, 2 done. */
static bool visit(const struct ms_program *p, int64_t root, char *state, int64_t *stack,
                  int64_t *order, int64_t *n)
{
    int64_t depth = 0;
    stack[depth++] = root;
    while (depth) {
        int64_t id = stack[depth - 1];
        const struct ms_task *t = &p->tasks[id];
        int64_t waiting = -1;
        state[id] = 1;
        for (int64_t i = 0; i < t->n_deps && waiting < 0; i++) {
            int64_t dep = p->deps[t->deps_at + i];
            if (state[dep] == 1)
                return false;
            if (state[dep] == 0)
                waiting = dep;
        }
        if (waiting >= 0) {
            stack[depth++] = waiting;
            continue;
        }
        state[id] = 2;
        order[(*n)++] = id;
        depth--;
    }
    return true;
}

/* Tasks in an order in which each follows its dependencies, [n_tasks]; false if there is a cycle. */
static bool find_order(const struct ms_program *program, int64_t *order)
{
    char *state = ms_calloc(program->n_tasks, 1);
    int64_t *stack = ms_calloc(program->n_tasks + 1, sizeof(*stack));
    int64_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < program->n_tasks; i++)
        if (!state[i])
            ok = visit(program, (int64_t)i, state, stack, order, &n);
    free(state);
    free(stack);
    return ok;
}

/* A flow alone: the narrower of two NVLink ports. */
static double alone_s(const struct ms_program *p, const struct ms_task *t)
{
    if (t->kind != MS_TASK_FLOW)
        return t->clock_s;
    return t->flow_bytes / p->step->cluster->topo->domain.nvlink_bandwidth.value;
}

enum ms_status ms_estimate_run(const struct ms_program *program, struct ms_schedule_times *times,
                               struct ms_error *err)
{
    int64_t *order = ms_calloc(program->n_tasks, sizeof(*order));
    bool ok = find_order(program, order);
    for (size_t i = 0; ok && i < program->n_tasks; i++) {
        const struct ms_task *t = &program->tasks[order[i]];
        double start_s = 0;
        for (int64_t d = 0; d < t->n_deps; d++)
            start_s = fmax(start_s, times->end_s[program->deps[t->deps_at + d]]);
        times->start_s[order[i]] = start_s;
        times->end_s[order[i]] = start_s + alone_s(program, t);
    }
    free(order);
    if (!ok)
        return ms_fail(err, MS_E_RUNTIME, NULL,
                       "internal error: the pipeline schedule waits for itself");
    return MS_OK;
}
