#include "sim/timeline.h"

#include "base/jsonw.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum track { TRACK_SLOTS, TRACK_COMPUTE, TRACK_EXCHANGE, TRACK_SENDS, TRACK_UPDATE, N_TRACKS };
static const char *const TRACK_NAMES[N_TRACKS] = {"slots", "compute", "exchange", "pipeline sends",
                                                  "gradients and parameters"};

struct writer {
    const struct ms_program *p;
    const struct ms_schedule_times *times;
    int64_t replica;
    struct ms_jsonw json;
};

static void event_start(struct writer *w, const char *phase, int64_t rank, enum track track)
{
    ms_jsonw_open(&w->json, NULL, '{');
    ms_jsonw_string(&w->json, "ph", phase);
    ms_jsonw_int(&w->json, "pid", rank);
    ms_jsonw_int(&w->json, "tid", track);
}

static void event_end(struct writer *w)
{
    ms_jsonw_close(&w->json, '}');
}

/* What is drawn on a track. */
struct bar {
    const char *name, *category;
    double start_s, end_s;
};

static void write_bar(struct writer *w, int64_t rank, enum track track, const struct bar *bar)
{
    event_start(w, "X", rank, track);
    ms_jsonw_string(&w->json, "name", bar->name);
    ms_jsonw_string(&w->json, "cat", bar->category);
    ms_jsonw_number(&w->json, "ts", bar->start_s * 1e6);
    ms_jsonw_number(&w->json, "dur", (bar->end_s - bar->start_s) * 1e6);
    event_end(w);
}

static void write_name(struct writer *w, int64_t rank, enum track track, const char *what,
                       const char *name)
{
    event_start(w, "M", rank, track);
    ms_jsonw_string(&w->json, "name", what);
    ms_jsonw_open(&w->json, "args", '{');
    ms_jsonw_string(&w->json, "name", name);
    ms_jsonw_close(&w->json, '}');
    event_end(w);
}

static void write_names(struct writer *w, int64_t stage, int64_t rank)
{
    char name[64];
    snprintf(name, sizeof(name), "rank %lld (stage %lld)", (long long)rank, (long long)stage);
    write_name(w, rank, TRACK_SLOTS, "process_name", name);
    for (int t = 0; t < N_TRACKS; t++)
        write_name(w, rank, (enum track)t, "thread_name", TRACK_NAMES[t]);
}

/* What rank `r` of the cell does in a span: all of it, or only what is its own. */
static void write_op(struct writer *w, const struct ms_span *s, int64_t rank, int64_t r,
                     double start_s, double scale)
{
    double from_s = start_s + scale * s->start_s, to_s = start_s + scale * s->end_s;
    if (r > 0 && (s->op->ranks_at < 0 || w->p->step->uniform))
        return;
    if (s->op->ranks_at >= 0 && s->op->time_s > 0)
        to_s = from_s + (to_s - from_s) * s->ops->rank_time_s[s->op->ranks_at + r] / s->op->time_s;
    write_bar(w, rank, s->op->comm ? TRACK_EXCHANGE : TRACK_COMPUTE,
              &(struct bar){s->op->name, MS_CATEGORY_NAMES[s->op->category], from_s, to_s});
}

/* One slot on all ranks of its cell, with the ops laid out again as they were costed. */
static void write_slot(struct writer *w, int64_t stage, int64_t slot, struct ms_ops *forward,
                       struct ms_ops *backward)
{
    const struct ms_program *p = w->p;
    int64_t id = ms_program_slot(p, w->replica, stage, slot), n = p->step->layout->cell_ranks;
    double start_s = w->times->start_s[id], time_s = w->times->end_s[id] - start_s;
    int64_t first = ms_layout_cell_first(p->step->layout, stage, p->replicas[w->replica]);
    struct ms_segment segment;
    struct ms_span *spans;
    size_t n_spans;
    ms_program_slot_ops(p, w->replica, stage, slot, forward, backward);
    n_spans = forward->n + backward->n;
    spans = ms_calloc(n_spans, sizeof(*spans));
    ms_segment_run(forward, backward, n, &segment, spans);
    for (int64_t r = 0; r < n; r++) {
        write_bar(w, first + r, TRACK_SLOTS,
                  &(struct bar){p->tasks[id].name, "slot", start_s, start_s + time_s});
        for (size_t i = 0; i < n_spans; i++)
            write_op(w, &spans[i], first + r, r, start_s,
                     segment.time_s > 0 ? time_s / segment.time_s : 1);
    }
    free(spans);
}

static void write_stage(struct writer *w, int64_t stage)
{
    const struct ms_program *p = w->p;
    int64_t first = ms_layout_cell_first(p->step->layout, stage, p->replicas[w->replica]);
    struct ms_ops forward = {0}, backward = {0};
    for (int64_t r = 0; r < p->step->layout->cell_ranks; r++)
        write_names(w, stage, first + r);
    for (int64_t slot = 0; slot < p->n_slots[stage]; slot++)
        write_slot(w, stage, slot, &forward, &backward);
    for (size_t i = 0; i < p->n_tasks; i++) {
        const struct ms_task *t = &p->tasks[i];
        bool own =
            (t->stage == stage || t->stage < 0) && (t->replica == w->replica || t->replica < 0);
        if (own && t->kind != MS_TASK_SLOT)
            write_bar(w, first, t->kind == MS_TASK_P2P ? TRACK_SENDS : TRACK_UPDATE,
                      &(struct bar){t->name, MS_CATEGORY_NAMES[t->category], w->times->start_s[i],
                                    w->times->end_s[i]});
    }
    ms_ops_free(&forward);
    ms_ops_free(&backward);
}

void ms_timeline_write(const struct ms_program *program, const struct ms_schedule_times *times,
                       int64_t replica, struct ms_buf *out)
{
    struct writer w = {.p = program, .times = times, .replica = replica};
    w.json = (struct ms_jsonw){.out = out, .compact = true};
    MS_REQUIRE(replica >= 0 && replica < program->n_replicas);
    ms_jsonw_open(&w.json, NULL, '{');
    ms_jsonw_string(&w.json, "displayTimeUnit", "ms");
    ms_jsonw_open(&w.json, "traceEvents", '[');
    for (int64_t stage = 0; stage < program->step->layout->pp; stage++)
        write_stage(&w, stage);
    ms_jsonw_close(&w.json, ']');
    ms_jsonw_close(&w.json, '}');
    ms_buf_puts(out, "\n");
}
