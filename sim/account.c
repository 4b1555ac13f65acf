#include "sim/account.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static void find_critical(const struct ms_program *p, struct ms_account *out)
{
    int64_t pp = p->step->layout->pp, n = p->n_replicas * pp, critical = 0;
    double *work_s = ms_calloc((size_t)n, sizeof(*work_s)); /* [n_replicas][pp] */
    for (size_t i = 0; i < p->n_tasks; i++) {
        const struct ms_task *t = &p->tasks[i];
        if (t->kind == MS_TASK_SLOT || t->kind == MS_TASK_OP)
            work_s[t->replica * pp + t->stage] += t->clock_s;
    }
    for (int64_t cell = 1; cell < n; cell++)
        if (work_s[cell] > work_s[critical] * (1 + 1e-9))
            critical = cell;
    out->replica = critical / pp;
    out->stage = critical % pp;
    free(work_s);
}

/* The gap [from_s, to_s] before `task`: up to when its last-ending send or gather ended it was that. */
static void book_gap(const struct ms_program *p, const struct ms_schedule_times *times,
                     int64_t task, double from_s, double to_s, struct ms_account *out)
{
    const struct ms_task *t = &p->tasks[task], *last = NULL;
    double started_s = to_s, comm_s;
    for (int64_t d = 0; d < t->n_deps; d++) {
        int64_t dep = p->deps[t->deps_at + d];
        const struct ms_task *before = &p->tasks[dep];
        bool comm = before->kind == MS_TASK_P2P || before->kind == MS_TASK_COLLECTIVE;
        if (comm && times->end_s[dep] >= to_s * (1 - 1e-12)) {
            last = before;
            started_s = times->start_s[dep];
        }
    }
    comm_s = last ? to_s - fmax(started_s, from_s) : 0;
    if (last)
        out->breakdown_s[last->category] += comm_s;
    out->breakdown_s[MS_CAT_BUBBLE] += to_s - from_s - comm_s;
}

/* A slot that took longer than its closed form shared ports with gradients, parameters or sends. */
static void book_slot(const struct ms_program *p, const struct ms_task *t, double time_s,
                      struct ms_account *out)
{
    const struct ms_segment *s = &p->segments[t->segment];
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        out->breakdown_s[c] += s->breakdown_s[c];
    out->breakdown_s[p->step->layout->pp > 1 ? MS_CAT_PP_COMM : MS_CAT_DP_COMM] +=
        fmax(0, time_s - s->time_s);
    out->hidden_comm_s += s->hidden_comm_s;
    out->variance_s2 += s->variance_s2 + 2 * sqrt(out->variance_s2 * s->variance_s2);
    out->extrapolated |= s->extrapolated;
}

/* Flow: the ops of the slot were tasks, in order of start; what none covers is booked as other. */
static void book_ops(const struct ms_program *p, const struct ms_schedule_times *times,
                     int64_t slot, double from_s, double to_s, struct ms_account *out)
{
    double at_s = from_s;
    for (size_t i = 0; i < p->n_tasks; i++) {
        const struct ms_task *t = &p->tasks[i];
        double end_s = fmin(times->end_s[i], to_s);
        if (t->slot != slot || t->stage != out->stage || t->replica != out->replica ||
            (t->kind != MS_TASK_OP && t->kind != MS_TASK_FLOW) || end_s <= at_s)
            continue;
        out->breakdown_s[t->category] += end_s - at_s;
        at_s = end_s;
    }
    out->breakdown_s[MS_CAT_OTHER] += to_s - at_s;
}

static double book_slots(const struct ms_program *p, const struct ms_schedule_times *times,
                         struct ms_account *out)
{
    double now_s = 0;
    for (int64_t slot = 0; slot < p->n_slots[out->stage]; slot++) {
        int64_t first = ms_program_slot_first(p, out->replica, out->stage, slot);
        int64_t last = ms_program_slot(p, out->replica, out->stage, slot);
        book_gap(p, times, first, now_s, times->start_s[first], out);
        now_s = times->end_s[last];
        if (p->tasks[last].kind == MS_TASK_SLOT)
            book_slot(p, &p->tasks[last], now_s - times->start_s[first], out);
        else
            book_ops(p, times, slot, times->start_s[first], now_s, out);
    }
    return now_s;
}

struct tail_task {
    double start_s, end_s;
    enum ms_category category;
};

static int by_start(const void *a, const void *b)
{
    const struct tail_task *x = a, *y = b;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* After the last slot: the stage's own collectives and optimizer in order; holes are waiting. */
static void book_tail(const struct ms_program *p, const struct ms_schedule_times *times,
                      double now_s, struct ms_account *out)
{
    struct tail_task *tail = ms_calloc(p->n_tasks, sizeof(*tail));
    size_t n = 0;
    for (size_t i = 0; i < p->n_tasks; i++) {
        const struct ms_task *t = &p->tasks[i];
        bool own = (t->stage == out->stage || t->stage < 0) &&
                   (t->replica == out->replica || t->replica < 0);
        if (own && (t->kind == MS_TASK_COLLECTIVE || t->kind == MS_TASK_OPTIMIZER))
            tail[n++] = (struct tail_task){times->start_s[i], times->end_s[i], t->category};
    }
    qsort(tail, n, sizeof(*tail), by_start);
    for (size_t i = 0; i < n; i++) {
        double shown_s = tail[i].end_s - fmax(tail[i].start_s, now_s);
        if (tail[i].category == MS_CAT_DP_COMM)
            out->hidden_comm_s += tail[i].end_s - tail[i].start_s - fmax(shown_s, 0);
        if (tail[i].end_s <= now_s)
            continue;
        if (tail[i].start_s > now_s)
            out->breakdown_s[MS_CAT_BUBBLE] += tail[i].start_s - now_s;
        out->breakdown_s[tail[i].category] += shown_s;
        now_s = tail[i].end_s;
    }
    out->breakdown_s[MS_CAT_BUBBLE] += out->step_time_s - now_s;
    free(tail);
}

void ms_account_make(const struct ms_program *program, const struct ms_schedule_times *times,
                     struct ms_account *out)
{
    double now_s, sum_s = 0;
    *out = (struct ms_account){0};
    for (size_t i = 0; i < program->n_tasks; i++)
        out->step_time_s = fmax(out->step_time_s, times->end_s[i]);
    find_critical(program, out);
    now_s = book_slots(program, times, out);
    book_tail(program, times, now_s, out);
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        sum_s += out->breakdown_s[c];
    MS_REQUIRE(fabs(sum_s - out->step_time_s) <= 1e-6 * out->step_time_s);
}
