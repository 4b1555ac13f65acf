#include "sim/segment.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD, BACKWARD, DEFERRED, N_THREADS };
enum { COMPUTE, COMM, N_STREAMS };

/* One issuer of ops. The deferred thread has no list: it takes what the others passed over. */
struct thread {
    const struct ms_ops *ops;
    size_t next;
    bool busy; /* its last op is still running */
};

struct running {
    const struct ms_op *op; /* NULL: the stream is idle */
    const struct ms_ops *ops;
    int thread;
    double left_s;
    double start_s;
};

struct machine {
    struct thread threads[N_THREADS];
    struct running streams[N_STREAMS];
    const struct ms_op **deferred; /* queue; entries belong to deferred_ops of the same index */
    const struct ms_ops **deferred_ops;
    size_t n_deferred, next_deferred;
    double now_s;
    struct ms_segment *out;
    struct ms_span *spans;
    size_t n_spans;
};

/* Moves deferrable ops at the head of a thread into the queue, so that the head is a real next op. */
static void pass_over_deferrable(struct machine *m, struct thread *t)
{
    while (t->ops && t->next < t->ops->n && t->ops->at[t->next].deferrable) {
        m->deferred[m->n_deferred] = &t->ops->at[t->next++];
        m->deferred_ops[m->n_deferred++] = t->ops;
    }
}

/* The op that thread `i` would run on `stream` now, or NULL. */
static const struct ms_op *ready_op(struct machine *m, int i, int stream)
{
    struct thread *t = &m->threads[i];
    const struct ms_op *op;
    if (t->busy)
        return NULL;
    if (i == DEFERRED)
        return stream == COMPUTE && m->next_deferred < m->n_deferred ? m->deferred[m->next_deferred]
                                                                     : NULL;
    pass_over_deferrable(m, t);
    if (!t->ops || t->next == t->ops->n)
        return NULL;
    op = &t->ops->at[t->next];
    return op->comm == (stream == COMM) ? op : NULL;
}

/* Backward first: other stages wait for it, and its exchanges open the gaps that forward fills. */
static void start_ops(struct machine *m, int stream)
{
    static const int order[N_THREADS] = {BACKWARD, FORWARD, DEFERRED};
    for (int k = 0; k < N_THREADS && !m->streams[stream].op; k++) {
        int i = order[k];
        const struct ms_op *op = ready_op(m, i, stream);
        if (!op)
            continue;
        m->threads[i].busy = true;
        m->streams[stream] = (struct running){
            op, i == DEFERRED ? m->deferred_ops[m->next_deferred] : m->threads[i].ops, i,
            op->time_s, m->now_s};
        if (i == DEFERRED)
            m->next_deferred++;
        else
            m->threads[i].next++;
    }
}

static void finish_op(struct machine *m, struct running *r)
{
    m->threads[r->thread].busy = false;
    if (m->spans)
        m->spans[m->n_spans++] = (struct ms_span){r->op, r->ops, r->start_s, m->now_s};
    r->op = NULL;
}

/* Lets both streams run to the next end of an op; books the interval to what was exposed in it. */
static void advance(struct machine *m)
{
    struct running *compute = &m->streams[COMPUTE], *comm = &m->streams[COMM];
    double rate = comm->op ? 1 - comm->op->sm_share : 1;
    double to_compute = compute->op ? compute->left_s / rate : (double)INFINITY;
    double to_comm = comm->op ? comm->left_s : (double)INFINITY;
    double dt = fmin(to_compute, to_comm);
    const struct ms_op *exposed = compute->op ? compute->op : comm->op;
    m->out->breakdown_s[exposed->category] += dt;
    if (compute->op && comm->op)
        m->out->hidden_comm_s += dt;
    m->now_s += dt;
    compute->left_s -= dt * rate;
    comm->left_s -= dt;
    if (to_compute <= to_comm)
        finish_op(m, compute);
    if (to_comm <= to_compute)
        finish_op(m, comm);
}

static void add_amounts(const struct ms_ops *ops, int64_t cell_ranks, double *deviation_s,
                        struct ms_segment *out)
{
    for (size_t i = 0; ops && i < ops->n; i++) {
        const struct ms_op *op = &ops->at[i];
        deviation_s[op->category] += op->time_s * op->relative_uncertainty;
        out->work_flop += op->work_flop;
        out->hbm_bytes += op->hbm_bytes;
        out->compute_s += op->comm ? 0 : op->time_s;
        out->extrapolated |= op->extrapolated;
        for (int64_t r = 0; op->ports_at >= 0 && r < cell_ranks; r++) {
            const struct ms_port_bytes *p = &ops->ports[op->ports_at + r];
            out->mean_bytes.nvlink_send += p->nvlink_send / (double)cell_ranks;
            out->mean_bytes.nvlink_receive += p->nvlink_receive / (double)cell_ranks;
            out->mean_bytes.nic_send += p->nic_send / (double)cell_ranks;
            out->mean_bytes.nic_receive += p->nic_receive / (double)cell_ranks;
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct ms_span *x = a, *y = b;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

void ms_segment_run(const struct ms_ops *forward, const struct ms_ops *backward, int64_t cell_ranks,
                    struct ms_segment *out, struct ms_span *spans)
{
    struct machine m = {.out = out, .spans = spans};
    size_t n = (forward ? forward->n : 0) + (backward ? backward->n : 0);
    double deviation_s[MS_N_CATEGORIES] = {0};
    *out = (struct ms_segment){0};
    m.threads[FORWARD].ops = forward;
    m.threads[BACKWARD].ops = backward;
    m.deferred = ms_calloc(n, sizeof(*m.deferred));
    m.deferred_ops = ms_calloc(n, sizeof(*m.deferred_ops));
    for (;;) {
        start_ops(&m, COMM);
        start_ops(&m, COMPUTE);
        if (!m.streams[COMPUTE].op && !m.streams[COMM].op)
            break;
        advance(&m);
    }
    out->time_s = m.now_s;
    add_amounts(forward, cell_ranks, deviation_s, out);
    add_amounts(backward, cell_ranks, deviation_s, out);
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        out->variance_s2 += deviation_s[c] * deviation_s[c];
    if (spans)
        qsort(spans, m.n_spans, sizeof(*spans), by_start);
    MS_REQUIRE(!spans || m.n_spans == n);
    free(m.deferred);
    free(m.deferred_ops);
}
