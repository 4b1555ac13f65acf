/* program_comm.c - what happens between cells: pipeline sends, gradient reduction, optimizer, parameter
 * gathers. Order of the update: reduce-scatter per chunk (dense, then experts) as its last gradient is
 * ready, norm of all gradients, optimizer, and the gather of new parameters, which --overlap param moves to
 * the start of the next step, where first forward passes wait for their chunk (a step in steady state). */
#include "base/mem.h"
#include "model/memory.h"
#include "sim/program_build.h"

#include <math.h>

/* Bytes the optimizer moves per FP32-mastered parameter: gradient 4, master 8, two moments 16, BF16 2. */
static const double OPTIMIZER_BYTES = 30;

static double hidden_bytes(const struct ms_step *s)
{
    return 2 * (double)s->layout->tokens_per_rank * (double)s->arch->hidden;
}

/* Ranges of a send: runs of ranks whose peer is on the same tier. */
static void add_send_ranges(struct ms_program *p, int64_t task, int64_t from, int64_t to)
{
    const struct ms_cluster *c = p->step->cluster;
    int64_t n = p->step->layout->cell_ranks, run;
    double bytes = hidden_bytes(p->step);
    for (int64_t r = 0; r < n; r += run) {
        enum ms_tier tier = ms_cluster_tier(c, from + r, to + r);
        bool nic = tier == MS_TIER_SCALE_OUT;
        struct ms_port_bytes send = {nic ? 0 : bytes, 0, nic ? bytes : 0, 0};
        struct ms_port_bytes receive = {0, nic ? 0 : bytes, 0, nic ? bytes : 0};
        for (run = 1; r + run < n && ms_cluster_tier(c, from + r + run, to + r + run) == tier;)
            run++;
        ms_program_range(p, task, &(struct ms_range){from + r, run, send});
        ms_program_range(p, task, &(struct ms_range){to + r, run, receive});
        p->tasks[task].crosses_unit |=
            nic && (ms_cluster_unit(c, from + r) != ms_cluster_unit(c, to + r) ||
                    ms_cluster_rail(c, from + r) != ms_cluster_rail(c, to + r));
    }
}

/* The pass of `work` hands its result to the neighbour that does the next pass of this microbatch. */
static void add_send(struct ms_program *p, int64_t replica, const struct ms_work *work,
                     int64_t slot)
{
    const struct ms_layout *l = p->step->layout;
    bool forward = work->pass == MS_PASS_FORWARD;
    int64_t chunk = work->v * l->pp + work->stage, next = chunk + (forward ? 1 : -1);
    int64_t from = ms_layout_cell_first(l, work->stage, work->cell), to, to_slot, id;
    struct ms_task task =
        ms_program_task(MS_TASK_P2P, MS_CAT_PP_COMM,
                        forward ? "send_activations" : "send_gradients", work->stage, replica);
    if (next < 0 || next >= l->pp * l->vp)
        return;
    to = ms_layout_cell_first(l, next % l->pp, work->cell);
    to_slot = ms_program_find_slot(p, next % l->pp, work->pass, work->microbatch, next / l->pp);
    for (int64_t r = 0; r < l->cell_ranks; r++)
        task.clock_s =
            fmax(task.clock_s,
                 ms_cost_p2p(p->step->device,
                             ms_cluster_tier(l->cluster, from + r, to + r) == MS_TIER_SCALE_OUT,
                             hidden_bytes(p->step)));
    id = ms_program_add(p, &task);
    add_send_ranges(p, id, from, to);
    ms_program_edge(p, ms_program_slot(p, replica, work->stage, slot), id);
    ms_program_edge(p, id, ms_program_slot_first(p, replica, next % l->pp, to_slot));
}

void ms_program_add_p2p(struct ms_program *p)
{
    const struct ms_layout *l = p->step->layout;
    for (int64_t replica = 0; replica < p->n_replicas && l->pp > 1; replica++)
        for (int64_t stage = 0; stage < l->pp; stage++)
            for (int64_t slot = 0; slot < p->n_slots[stage]; slot++)
                for (int pass = MS_PASS_FORWARD; pass <= MS_PASS_BACKWARD; pass++) {
                    struct ms_work work;
                    if (ms_program_slot_work(p, replica, stage, slot, (enum ms_pass)pass, &work))
                        add_send(p, replica, &work, slot);
                }
}

/* One collective of the gradients or parameters of a chunk. */
struct update {
    const char *name;
    enum ms_collective op;
    enum ms_group_kind group;
    double size_bytes;
};

static struct ms_collective_cost update_cost(const struct ms_program *p, const struct update *u)
{
    struct ms_group g = p->step->worst_group[u->group];
    return ms_cost_collective(p->step->device,
                              &(struct ms_collective_shape){.op = u->op,
                                                            .n_ranks = g.n_ranks,
                                                            .ranks_per_domain = g.ranks_per_domain,
                                                            .size_bytes = u->size_bytes});
}

/* Adds the collective on the ports of all simulated cells of the stage. -1 if there is nothing to do. */
static int64_t add_update(struct ms_program *p, int64_t stage, const struct update *u)
{
    const struct ms_layout *l = p->step->layout;
    struct ms_collective_cost cost;
    struct ms_task task = ms_program_task(MS_TASK_COLLECTIVE, MS_CAT_DP_COMM, u->name, stage, -1);
    int64_t id;
    if (u->size_bytes <= 0 || ms_layout_group_size(l, u->group) == 1)
        return -1;
    cost = update_cost(p, u);
    task.clock_s = cost.time_s;
    task.crosses_unit =
        cost.nic_bytes > 0 && l->cluster->n_domains > l->cluster->topo->scale_out.unit_domains;
    id = ms_program_add(p, &task);
    for (int64_t i = 0; i < p->n_replicas; i++)
        ms_program_range(p, id,
                         &(struct ms_range){ms_layout_cell_first(l, stage, p->replicas[i]),
                                            l->cell_ranks,
                                            {cost.nvlink_bytes, cost.nvlink_bytes, cost.nic_bytes,
                                             cost.nic_bytes}});
    p->nvlink_bytes_per_rank += cost.nvlink_bytes / (double)l->pp;
    p->nic_bytes_per_rank += cost.nic_bytes / (double)l->pp;
    return id;
}

static struct update chunk_update(const struct ms_program *p, int64_t stage, int64_t v, bool expert,
                                  bool gather)
{
    const struct ms_step *s = p->step;
    struct ms_rank_params params =
        ms_memory_chunk_params(s->layout, ms_layout_chunk(s->layout, stage, v));
    double element = gather || s->recipe->grad_reduce_dtype == MS_GRAD_BF16 ? 2 : 4;
    enum ms_collective reduce =
        s->recipe->zero ? MS_COLLECTIVE_REDUCE_SCATTER : MS_COLLECTIVE_ALL_REDUCE;
    return (struct update){
        .name = gather ? "gather_parameters" : "reduce_gradients",
        .op = gather ? MS_COLLECTIVE_ALL_GATHER : reduce,
        .group = expert ? MS_GROUP_EDP : MS_GROUP_DP,
        .size_bytes = element * (expert ? params.expert : params.dense),
    };
}

/* Every simulated cell of the stage has done the pass. */
static void after_pass(struct ms_program *p, int64_t stage, enum ms_pass pass, int64_t mb,
                       int64_t v, int64_t task)
{
    int64_t slot = ms_program_find_slot(p, stage, pass, mb, v);
    for (int64_t i = 0; i < p->n_replicas; i++)
        ms_program_edge(p, ms_program_slot(p, i, stage, slot), task);
}

static void after_stage(struct ms_program *p, int64_t stage, int64_t task)
{
    for (int64_t i = 0; i < p->n_replicas; i++)
        ms_program_edge(p, ms_program_slot(p, i, stage, p->n_slots[stage] - 1), task);
}

/* Reductions of a stage, one after the other; returns the last one or -1. */
static int64_t add_reductions(struct ms_program *p, int64_t stage)
{
    const struct ms_layout *l = p->step->layout;
    int64_t last = -1, end = l->n_microbatches - 1;
    bool overlap = (p->step->recipe->overlap & MS_OVERLAP_DP) != 0;
    for (int64_t v = l->vp - 1; v >= 0; v--)
        for (int expert = 0; expert <= 1; expert++) {
            struct update u = chunk_update(p, stage, v, expert != 0, false);
            int64_t id = add_update(p, stage, &u);
            if (id < 0)
                continue;
            if (overlap)
                after_pass(p, stage, MS_PASS_BACKWARD, end, v, id);
            else
                after_stage(p, stage, id);
            if (last >= 0)
                ms_program_edge(p, last, id);
            last = id;
        }
    return last;
}

/* Gathers of a stage's chunks, one after the other. With `early` each first forward pass waits for its
 * chunk's; else they follow task `after`. */
static void add_gathers(struct ms_program *p, int64_t stage, bool early, int64_t after)
{
    const struct ms_layout *l = p->step->layout;
    int64_t last = after;
    if (!p->step->recipe->zero)
        return;
    for (int64_t v = 0; v < l->vp; v++)
        for (int expert = 0; expert <= 1; expert++) {
            struct update u = chunk_update(p, stage, v, expert != 0, true);
            int64_t id = add_update(p, stage, &u);
            int64_t slot = ms_program_find_slot(p, stage, MS_PASS_FORWARD, 0, v);
            if (id < 0)
                continue;
            if (last >= 0)
                ms_program_edge(p, last, id);
            for (int64_t i = 0; early && i < p->n_replicas; i++)
                ms_program_edge(p, id, ms_program_slot_first(p, i, stage, slot));
            last = id;
        }
}

static struct ms_task optimizer_task(const struct ms_program *p, int64_t stage, int64_t replica)
{
    const struct ms_step *s = p->step;
    const struct ms_layout *l = s->layout;
    struct ms_task task =
        ms_program_task(MS_TASK_OPTIMIZER, MS_CAT_OPTIMIZER, "optimizer", stage, replica);
    double params = 0;
    for (int64_t v = 0; v < l->vp; v++) {
        struct ms_rank_params c = ms_memory_chunk_params(l, ms_layout_chunk(l, stage, v));
        double dense_shards = s->recipe->zero ? (double)(l->dp * l->cp) : 1;
        double expert_shards = s->recipe->zero ? (double)l->edp : 1;
        params += c.dense / dense_shards + c.expert / expert_shards;
    }
    task.clock_s = ms_cost_memory(s->device, OPTIMIZER_BYTES * params, 1).time_s;
    return task;
}

/* The norm over all gradients: every stage waits for every other. */
static int64_t add_gradient_norm(struct ms_program *p)
{
    const struct ms_layout *l = p->step->layout;
    struct ms_task task =
        ms_program_task(MS_TASK_COLLECTIVE, MS_CAT_DP_COMM, "gradient_norm", -1, -1);
    struct ms_collective_shape shape = {.op = MS_COLLECTIVE_ALL_REDUCE,
                                        .n_ranks = l->cluster->gpus,
                                        .ranks_per_domain = l->cluster->n_domains > 1
                                                                ? l->cluster->gpus_per_domain
                                                                : l->cluster->gpus,
                                        .size_bytes = 8};
    task.clock_s = ms_cost_collective(p->step->device, &shape).latency_s;
    return ms_program_add(p, &task);
}

/* The gathers (forward and backward) and the scatter (backward) of one pass under FSDP; returns the last. */
static int64_t add_fsdp_pass(struct ms_program *p, const struct ms_work *work, int64_t slot,
                             int64_t last)
{
    for (int part = 0; part < (work->pass == MS_PASS_BACKWARD ? 4 : 2); part++) {
        struct update u = chunk_update(p, 0, work->v, part % 2 == 1, part < 2);
        int64_t id = add_update(p, 0, &u);
        if (id < 0)
            continue;
        if (last >= 0)
            ms_program_edge(p, last, id);
        for (int64_t i = 0; i < p->n_replicas; i++) {
            if (slot > 0)
                ms_program_edge(p, ms_program_slot(p, i, 0, slot - 1), id);
            if (slot + 1 < p->n_slots[0])
                ms_program_edge(p, id, ms_program_slot_first(p, i, 0, slot + 1));
        }
        last = id;
    }
    return last;
}

/* FSDP: the parameters of each pass are gathered while it runs (layer by layer, one ahead), and backward
 * scatters gradients; the next pass waits for both. Returns the last collective or -1. */
static int64_t add_fsdp(struct ms_program *p)
{
    int64_t last = -1;
    for (int64_t slot = 0; slot < p->n_slots[0]; slot++)
        for (int pass = MS_PASS_FORWARD; pass <= MS_PASS_BACKWARD; pass++) {
            struct ms_work work;
            if (ms_program_slot_work(p, 0, 0, slot, (enum ms_pass)pass, &work))
                last = add_fsdp_pass(p, &work, slot, last);
        }
    return last;
}

void ms_program_add_update(struct ms_program *p)
{
    const struct ms_layout *l = p->step->layout;
    bool fsdp = p->step->recipe->zero == 3;
    bool early = (p->step->recipe->overlap & MS_OVERLAP_PARAM) != 0;
    int64_t norm = add_gradient_norm(p);
    int64_t fsdp_last = fsdp ? add_fsdp(p) : -1;
    for (int64_t stage = 0; stage < l->pp; stage++) {
        int64_t last = fsdp ? fsdp_last : add_reductions(p, stage);
        after_stage(p, stage, norm);
        if (last >= 0)
            ms_program_edge(p, last, norm);
        for (int64_t i = 0; i < p->n_replicas; i++) {
            struct ms_task task = optimizer_task(p, stage, i);
            last = ms_program_add(p, &task);
            ms_program_edge(p, norm, last);
        }
        if (!fsdp)
            add_gathers(p, stage, early, early ? -1 : last);
    }
}

void ms_program_find_sharing(const struct ms_program *p, struct ms_sharing *out)
{
    const struct ms_layout *l = p->step->layout;
    *out = (struct ms_sharing){0};
    for (int64_t stage = 0; stage < l->pp && l->pp > 1; stage++)
        for (int64_t i = 0; i < p->n_replicas; i++)
            for (int64_t r = 0; r < l->cell_ranks; r++) {
                int64_t next = (stage + 1) % l->pp;
                bool nic =
                    ms_cluster_tier(l->cluster, ms_layout_cell_first(l, stage, p->replicas[i]) + r,
                                    ms_layout_cell_first(l, next, p->replicas[i]) + r) ==
                    MS_TIER_SCALE_OUT;
                out->p2p_nic |= nic;
                out->p2p_nvlink |= !nic;
            }
    for (int64_t stage = 0; stage < l->pp; stage++) {
        double gather_s = 0;
        for (int64_t v = 0; v < l->vp; v++)
            for (int expert = 0; expert <= 1; expert++) {
                struct update u = chunk_update(p, stage, v, expert != 0, true);
                struct ms_collective_cost cost = update_cost(p, &u);
                out->dp_nvlink |= cost.nvlink_bytes > 0;
                out->dp_nic |= cost.nic_bytes > 0;
                gather_s += cost.time_s;
            }
        out->gather_s = fmax(out->gather_s, gather_s);
    }
}
