/* program_slots.c - the slots of every stage as tasks: their segments (computed once where routing is
 * uniform), their order, and for fidelity flow the ops and flows inside them. */
#include "base/mem.h"
#include "sim/program_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scratch and memory of the walk over slots. */
struct builder {
    struct ms_program *p;
    const struct ms_sharing *sharing;
    bool flow;
    struct ms_ops forward, backward;
    int64_t *cache; /* [replica][stage][vp + 1][vp + 1] segment + 1, for uniform routing */
};

static int64_t *cached(struct builder *b, int64_t replica, int64_t stage, const struct ms_slot *s)
{
    const struct ms_layout *l = b->p->step->layout;
    int64_t n = l->vp + 1;
    return &b->cache[((replica * l->pp + stage) * n + s->forward_v + 1) * n + s->backward_v + 1];
}

static void fill_ops(struct builder *b, int64_t replica, int64_t stage, int64_t slot)
{
    ms_program_slot_ops(b->p, replica, stage, slot, &b->forward, &b->backward);
}

/* Segment of a slot: index into program->segments. */
static int64_t slot_segment(struct builder *b, int64_t replica, int64_t stage, int64_t slot)
{
    struct ms_program *p = b->p;
    int64_t *known = cached(b, replica, stage, &p->slots[stage][slot]);
    if (p->step->uniform && *known)
        return *known - 1;
    fill_ops(b, replica, stage, slot);
    ms_grow((void **)&p->segments, &p->segment_capacity, p->n_segments, sizeof(*p->segments));
    ms_segment_run(&b->forward, &b->backward, p->step->layout->cell_ranks,
                   &p->segments[p->n_segments], NULL);
    *known = (int64_t)++p->n_segments;
    return (int64_t)p->n_segments - 1;
}

/* Bytes of a slot on the tiers where other tasks can meet it: sends all step long, gradients and parameters
 * if `update` says that they may be on their way. */
static void add_slot_ranges(struct builder *b, int64_t task, bool update)
{
    struct ms_program *p = b->p;
    const struct ms_layout *l = p->step->layout;
    const struct ms_sharing *s = b->sharing;
    const struct ms_task *t = &p->tasks[task];
    struct ms_range range = {ms_layout_cell_first(l, t->stage, p->replicas[t->replica]),
                             l->cell_ranks, p->segments[t->segment].mean_bytes};
    if (!s->p2p_nvlink && !(update && s->dp_nvlink))
        range.bytes.nvlink_send = range.bytes.nvlink_receive = 0;
    if (!s->p2p_nic && !(update && s->dp_nic))
        range.bytes.nic_send = range.bytes.nic_receive = 0;
    if (range.bytes.nvlink_send > 0 || range.bytes.nic_send > 0)
        ms_program_range(p, task, &range);
}

static void count_segment(struct ms_program *p, const struct ms_segment *s)
{
    double share = 1.0 / (double)(p->n_replicas * p->step->layout->pp);
    p->nvlink_bytes_per_rank += s->mean_bytes.nvlink_send * share;
    p->nic_bytes_per_rank += s->mean_bytes.nic_send * share;
    p->work_flop_per_rank += s->work_flop * share;
}

static int64_t add_task(struct builder *b, const struct ms_task *task, int64_t after)
{
    int64_t id = ms_program_add(b->p, task);
    if (after >= 0)
        ms_program_edge(b->p, after, id);
    return id;
}

static int64_t add_join(struct builder *b, const struct ms_task *slot, int64_t after)
{
    struct ms_task join = *slot;
    join.kind = MS_TASK_JOIN;
    join.segment = -1;
    join.clock_s = 0;
    return add_task(b, &join, after);
}

/* Time of an exchange before any byte moves. */
static double rates_fixed_s(const struct builder *b)
{
    const struct ms_step *s = b->p->step;
    return ms_cost_exchange_rates(s->device, (enum ms_dispatcher)s->recipe->dispatcher,
                                  s->recipe->dispatcher_sms, s->layout->ep)
        .fixed_s;
}

/* Bytes of each pair [n][n] with the given row and column sums and an empty diagonal, by proportional
 * fitting from equal shares. Caller frees. */
static double *pair_bytes(const struct ms_port_bytes *ports, int64_t n)
{
    enum { ROUNDS = 50 };
    double *bytes = ms_calloc((size_t)(n * n), sizeof(*bytes));
    for (int64_t i = 0; i < n * n; i++)
        bytes[i] = i / n == i % n ? 0 : 1;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        bool rows = round % 2 == 0;
        int64_t step = rows ? 1 : n;
        for (int64_t i = 0; i < n; i++) {
            double *line = bytes + (rows ? i * n : i), sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += line[j * step];
            for (int64_t j = 0; j < n && sum > 0; j++)
                line[j * step] *= (rows ? ports[i].nvlink_send : ports[i].nvlink_receive) / sum;
        }
    }
    return bytes;
}

/* An exchange as its fixed time and then one flow per pair of ranks, scaled so that the busiest port
 * alone needs the op's time. Returns the task that ends it; `*first_task` opens it. */
static int64_t add_flows(struct builder *b, const struct ms_task *like, const struct ms_ops *ops,
                         const struct ms_op *op, int64_t *first_task)
{
    const struct ms_layout *l = b->p->step->layout;
    const struct ms_port_bytes *ports = &ops->ports[op->ports_at];
    int64_t n = l->cell_ranks, join_id;
    int64_t first = ms_layout_cell_first(l, like->stage, b->p->replicas[like->replica]);
    double busiest = 0, bandwidth = l->cluster->topo->domain.nvlink_bandwidth.value;
    double *bytes = pair_bytes(ports, n), fixed_s = rates_fixed_s(b);
    struct ms_task task = *like;
    task.clock_s = fixed_s;
    *first_task = add_task(b, &task, -1);
    join_id = add_join(b, like, *first_task);
    for (int64_t i = 0; i < n; i++)
        busiest = fmax(busiest, fmax(ports[i].nvlink_send, ports[i].nvlink_receive));
    task.kind = MS_TASK_FLOW;
    task.clock_s = 0;
    for (int64_t i = 0; i < n * n; i++) {
        task.from = first + i / n;
        task.to = first + i % n;
        task.flow_bytes = bytes[i] * (op->time_s - fixed_s) * bandwidth / busiest;
        if (task.flow_bytes > 0)
            ms_program_edge(b->p, add_task(b, &task, *first_task), join_id);
    }
    free(bytes);
    return join_id;
}

/* The last op before spans[i] on its stream (same_list false) or of its list, which it waits for. */
static int64_t waits_for(const struct ms_span *spans, const int64_t *ids, size_t i, bool same_list)
{
    for (size_t j = i; j-- > 0;) {
        bool alike = same_list ? spans[j].ops == spans[i].ops && !spans[j].op->deferrable
                               : spans[j].op->comm == spans[i].op->comm;
        if (alike && spans[j].end_s <= spans[i].start_s)
            return ids[j];
    }
    return -1;
}

static int64_t add_op(struct builder *b, const struct ms_task *slot, const struct ms_span *span,
                      int64_t *first_task)
{
    struct ms_task task = *slot;
    task.kind = MS_TASK_OP;
    task.category = span->op->category;
    task.name = span->op->name;
    task.segment = -1;
    task.clock_s = 0;
    if (span->op->ports_at >= 0)
        return add_flows(b, &task, span->ops, span->op, first_task);
    task.clock_s = span->end_s - span->start_s;
    *first_task = add_task(b, &task, -1);
    return *first_task;
}

/* The ops of a slot in the order of their start, between a task that opens and one that closes it. */
static int64_t add_slot_ops(struct builder *b, const struct ms_task *slot, int64_t after,
                            int64_t *first)
{
    int64_t *ids, last;
    struct ms_segment segment;
    struct ms_span *spans;
    size_t n;
    fill_ops(b, slot->replica, slot->stage, slot->slot);
    n = b->forward.n + b->backward.n;
    spans = ms_calloc(n, sizeof(*spans));
    ids = ms_calloc(n, sizeof(*ids));
    ms_segment_run(&b->forward, &b->backward, b->p->step->layout->cell_ranks, &segment, spans);
    *first = add_join(b, slot, after);
    for (size_t i = 0; i < n; i++) {
        int64_t on_stream = waits_for(spans, ids, i, false);
        int64_t in_list = waits_for(spans, ids, i, true);
        int64_t opens;
        ids[i] = add_op(b, slot, &spans[i], &opens);
        ms_program_edge(b->p, on_stream >= 0 ? on_stream : *first, opens);
        if (in_list >= 0 && in_list != on_stream)
            ms_program_edge(b->p, in_list, opens);
    }
    last = add_join(b, slot, -1);
    for (size_t i = 0; i < n; i++)
        ms_program_edge(b->p, ids[i], last);
    free(ids);
    free(spans);
    return last;
}

static struct ms_task slot_task(const struct builder *b, int64_t replica, int64_t stage,
                                int64_t slot, int64_t segment)
{
    const struct ms_slot *s = &b->p->slots[stage][slot];
    const char *name = s->backward_mb < 0  ? "forward"
                       : s->forward_mb < 0 ? "backward"
                                           : "forward+backward";
    struct ms_task task = ms_program_task(MS_TASK_SLOT, MS_CAT_OTHER, name, stage, replica);
    task.slot = slot;
    task.segment = segment;
    task.clock_s = b->p->segments[segment].time_s;
    return task;
}

static void add_stage(struct builder *b, int64_t replica, int64_t stage)
{
    struct ms_program *p = b->p;
    int64_t after = -1, last_mb = p->step->layout->n_microbatches - 1;
    bool reducing = false; /* gradients of some chunk are complete */
    double elapsed_s = 0;  /* work of the slots before: a lower bound of the slot's start */
    for (int64_t slot = 0; slot < p->n_slots[stage]; slot++) {
        int64_t segment = slot_segment(b, replica, stage, slot), first;
        int64_t index = ms_program_slot_index(p, replica, stage, slot);
        struct ms_task task = slot_task(b, replica, stage, slot, segment);
        bool gathering = p->step->recipe->zero == 3 || elapsed_s < 2 * b->sharing->gather_s;
        if (b->flow) {
            after = add_slot_ops(b, &task, after, &first);
        } else {
            first = after = add_task(b, &task, after);
            add_slot_ranges(b, after, gathering || reducing);
        }
        p->slot_first[index] = first;
        p->slot_task[index] = after;
        elapsed_s += task.clock_s;
        reducing |= p->slots[stage][slot].backward_mb == last_mb;
        count_segment(p, &p->segments[segment]);
    }
}

void ms_program_add_slots(struct ms_program *p, const struct ms_sharing *sharing, bool flow)
{
    const struct ms_layout *l = p->step->layout;
    struct builder b = {.p = p, .sharing = sharing, .flow = flow};
    b.cache =
        ms_calloc((size_t)(p->n_replicas * l->pp * (l->vp + 1) * (l->vp + 1)), sizeof(*b.cache));
    for (int64_t replica = 0; replica < p->n_replicas; replica++)
        for (int64_t stage = 0; stage < l->pp; stage++)
            add_stage(&b, replica, stage);
    free(b.cache);
    ms_ops_free(&b.forward);
    ms_ops_free(&b.backward);
}
