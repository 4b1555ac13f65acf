#include "sim/engine.h"

#include "base/mem.h"
#include "sim/platform.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/exec.h>
#include <simgrid/host.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Clock hosts for tasks in flight: slots of all cells, a few sends and collectives of each. */
enum { CLOCKS_PER_CELL = 8, CLOCKS_SPARE = 256 };

/* AddressSanitizer does not follow SimGrid's own switching of stacks; threads it does. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONTEXT_FACTORY "thread"
#endif
#endif
#ifndef CONTEXT_FACTORY
#define CONTEXT_FACTORY "raw"
#endif

static const char PLATFORM_TAIL[] = "</zone>\n</platform>\n";

/* What the one actor works with. */
struct run {
    const struct ms_program *program;
    double *start_s, *end_s; /* shared with the parent */
    int64_t *n_done;         /* shared with the parent */
    bool *leader;            /* [gpus + 1] the rank's ports stand for the following ones, too */
    int64_t *n_waiting;      /* [n_tasks] dependencies not ended */
    int64_t *after_at;       /* [n_tasks + 1] into after: who waits for a task */
    int64_t *after;
    sg_exec_t *flying; /* tasks in flight, their ids and clocks, in order of start */
    int64_t *flying_id, *flying_clock;
    int64_t n_flying;
    int64_t *free_clocks;
    int64_t n_free, n_clocks;
    sg_host_t *clocks;
    /* one task's hosts and amounts */
    sg_host_t *hosts;
    double *flops, *bytes;
    size_t host_capacity, flop_capacity, byte_capacity;
    int64_t n_hosts;
    int64_t ready_at, n_ready; /* queue of startable tasks */
    int64_t *ready;
};

static int64_t clock_count(const struct ms_program *p)
{
    int64_t cells = 0;
    for (size_t i = 0; i < p->n_tasks; i++)
        cells += p->tasks[i].kind == MS_TASK_SLOT && p->tasks[i].slot == 0;
    cells = CLOCKS_PER_CELL * cells + CLOCKS_SPARE;
    return cells < (int64_t)p->n_tasks ? cells : (int64_t)p->n_tasks;
}

/* The cluster's platform without latencies, and a zone of clock hosts. */
static void write_platform(const struct ms_program *p, int64_t n_clocks, struct ms_buf *out)
{
    struct ms_cluster cluster = *p->step->cluster;
    struct ms_topology topo = *cluster.topo;
    bool flows = false, *wanted = ms_calloc((size_t)cluster.gpus, sizeof(*wanted));
    for (size_t i = 0; i < p->n_tasks; i++) {
        if (p->tasks[i].kind != MS_TASK_FLOW)
            continue;
        flows = wanted[p->tasks[i].from] = wanted[p->tasks[i].to] = true;
    }
    for (size_t i = 0; i < p->n_ranges; i++)
        memset(wanted + p->ranges[i].first, true, (size_t)p->ranges[i].n);
    topo.domain.nvlink_latency.value = 0;
    topo.scale_out.nic_latency.value = topo.scale_out.stage_latency.value = 0;
    cluster.topo = &topo;
    ms_platform_write(&cluster, flows, wanted, out);
    free(wanted);
    out->length -= strlen(PLATFORM_TAIL);
    MS_REQUIRE(strcmp(out->text + out->length, PLATFORM_TAIL) == 0);
    ms_buf_puts(out, "<zone id=\"clocks\" routing=\"None\">\n");
    for (int64_t i = 0; i < n_clocks; i++)
        ms_buf_printf(out, "<host id=\"clock-%lld\" speed=\"1f\"/>\n", (long long)i);
    ms_buf_printf(out, "</zone>\n%s", PLATFORM_TAIL);
}

static sg_host_t host_named(const char *kind, int64_t a, int64_t b)
{
    char name[96];
    sg_host_t host;
    if (b >= 0)
        snprintf(name, sizeof(name), "%s-%lld-%lld", kind, (long long)a, (long long)b);
    else
        snprintf(name, sizeof(name), "%s-%lld", kind, (long long)a);
    host = sg_host_by_name(name);
    MS_REQUIRE(host);
    return host;
}

/* Place of `host` in the task's list; switches come again and again, so look from the end. */
static int64_t use_host(struct run *run, sg_host_t host)
{
    for (int64_t i = run->n_hosts; i-- > 0;)
        if (run->hosts[i] == host)
            return i;
    ms_grow((void **)&run->hosts, &run->host_capacity, (size_t)run->n_hosts, sizeof(sg_host_t));
    run->hosts[run->n_hosts] = host;
    return run->n_hosts++;
}

/* One amount of bytes from a host to another, collected before the matrix can be sized. */
struct pair {
    int64_t from, to;
    double bytes;
};
struct pairs {
    struct pair *at;
    size_t n, capacity;
};

static void add_pair(struct run *run, struct pairs *pairs, sg_host_t from, sg_host_t to,
                     double bytes)
{
    if (bytes <= 0)
        return;
    ms_grow((void **)&pairs->at, &pairs->capacity, pairs->n, sizeof(*pairs->at));
    pairs->at[pairs->n] = (struct pair){use_host(run, from), 0, bytes};
    pairs->at[pairs->n++].to = use_host(run, to);
}

/* Neighbours that are in the same ranges of every task carry the same bytes at every moment, so their ports
 * are always equally loaded: the first of them stands for all. This marks those first ranks. Links that
 * they share (spine) still get the bytes of every rank. Test: test_alike_ranks. */
static bool *mark_leaders(const struct ms_program *p)
{
    bool *leader = ms_calloc((size_t)p->step->cluster->gpus + 1, sizeof(*leader));
    for (size_t i = 0; i < p->n_ranges; i++) {
        leader[p->ranges[i].first] = true;
        leader[p->ranges[i].first + p->ranges[i].n] = true;
    }
    return leader;
}

static void add_spine(struct run *run, struct pairs *pairs, const struct ms_port_bytes *b,
                      int64_t rank)
{
    const struct ms_cluster *c = run->program->step->cluster;
    int64_t unit = ms_cluster_unit(c, rank);
    sg_host_t leaf = host_named("leaf", unit, ms_cluster_rail(c, rank));
    sg_host_t core = host_named("core", unit, -1);
    add_pair(run, pairs, leaf, core, b->nic_send);
    add_pair(run, pairs, core, leaf, b->nic_receive);
}

static void add_rank(struct run *run, struct pairs *pairs, const struct ms_port_bytes *b,
                     int64_t rank)
{
    const struct ms_cluster *c = run->program->step->cluster;
    if (b->nvlink_send > 0 || b->nvlink_receive > 0) {
        sg_host_t gpu = host_named("gpu", rank, -1);
        sg_host_t nvswitch = host_named("nvswitch", ms_cluster_domain(c, rank), -1);
        add_pair(run, pairs, gpu, nvswitch, b->nvlink_send);
        add_pair(run, pairs, nvswitch, gpu, b->nvlink_receive);
    }
    if (b->nic_send > 0 || b->nic_receive > 0) {
        sg_host_t nic = host_named("nic", rank, -1);
        sg_host_t leaf = host_named("leaf", ms_cluster_unit(c, rank), ms_cluster_rail(c, rank));
        add_pair(run, pairs, nic, leaf, b->nic_send);
        add_pair(run, pairs, leaf, nic, b->nic_receive);
    }
}

static sg_exec_t make_exec(struct run *run, const struct ms_task *t, int64_t clock)
{
    struct pairs pairs = {0};
    size_t n;
    sg_exec_t exec;
    run->n_hosts = 0;
    if (clock >= 0)
        use_host(run, run->clocks[clock]);
    if (t->kind == MS_TASK_FLOW)
        add_pair(run, &pairs, host_named("gpu", t->from, -1), host_named("gpu", t->to, -1),
                 t->flow_bytes);
    for (int64_t i = 0; i < t->n_ranges; i++) {
        const struct ms_range *range = &run->program->ranges[t->ranges_at + i];
        for (int64_t r = 0; r < range->n; r++) {
            if (run->leader[range->first + r])
                add_rank(run, &pairs, &range->bytes, range->first + r);
            if (t->crosses_unit)
                add_spine(run, &pairs, &range->bytes, range->first + r);
        }
    }
    n = (size_t)run->n_hosts;
    ms_grow((void **)&run->flops, &run->flop_capacity, n, sizeof(double));
    ms_grow((void **)&run->bytes, &run->byte_capacity, n * n, sizeof(double));
    memset(run->flops, 0, n * sizeof(double));
    memset(run->bytes, 0, n * n * sizeof(double));
    if (clock >= 0)
        run->flops[0] = t->clock_s;
    for (size_t i = 0; i < pairs.n; i++)
        run->bytes[(size_t)pairs.at[i].from * n + (size_t)pairs.at[i].to] += pairs.at[i].bytes;
    exec = sg_actor_parallel_exec_init((int)n, run->hosts, run->flops, run->bytes);
    free(pairs.at);
    return exec;
}

static void end_task(struct run *run, int64_t id)
{
    run->end_s[id] = simgrid_get_clock();
    ++*run->n_done;
    for (int64_t i = run->after_at[id]; i < run->after_at[id + 1]; i++)
        if (--run->n_waiting[run->after[i]] == 0)
            run->ready[run->n_ready++] = run->after[i];
}

static void start_ready(struct run *run)
{
    while (run->ready_at < run->n_ready) {
        int64_t id = run->ready[run->ready_at++];
        const struct ms_task *t = &run->program->tasks[id];
        int64_t clock = -1;
        run->start_s[id] = simgrid_get_clock();
        if (t->clock_s <= 0 && t->flow_bytes <= 0) {
            end_task(run, id); /* joins take no time */
            continue;
        }
        if (t->clock_s > 0) {
            MS_REQUIRE(run->n_free > 0);
            clock = run->free_clocks[--run->n_free];
        }
        run->flying[run->n_flying] = make_exec(run, t, clock);
        sg_exec_start(run->flying[run->n_flying]);
        run->flying_id[run->n_flying] = id;
        run->flying_clock[run->n_flying++] = clock;
    }
}

static void wait_for_one(struct run *run)
{
    ssize_t i = sg_exec_wait_any(run->flying, (size_t)run->n_flying);
    int64_t id, last = run->n_flying - 1;
    MS_REQUIRE(i >= 0 && i <= last);
    id = run->flying_id[i];
    if (run->flying_clock[i] >= 0)
        run->free_clocks[run->n_free++] = run->flying_clock[i];
    run->flying[i] = run->flying[last];
    run->flying_id[i] = run->flying_id[last];
    run->flying_clock[i] = run->flying_clock[last];
    run->n_flying = last;
    end_task(run, id);
}

static void act(int argc, char **argv)
{
    struct run *run = sg_actor_self_get_data();
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < run->program->n_tasks; i++)
        if (run->n_waiting[i] == 0)
            run->ready[run->n_ready++] = (int64_t)i;
    for (start_ready(run); run->n_flying; start_ready(run))
        wait_for_one(run);
}

/* Who waits for whom, by counting sort of the dependency lists. */
static void invert_dependencies(struct run *run)
{
    const struct ms_program *p = run->program;
    size_t n = p->n_tasks, n_deps = 0;
    int64_t *at;
    for (size_t i = 0; i < n; i++)
        n_deps += (size_t)p->tasks[i].n_deps;
    run->n_waiting = ms_calloc(n, sizeof(*run->n_waiting));
    run->after_at = ms_calloc(n + 1, sizeof(*run->after_at));
    run->after = ms_calloc(n_deps, sizeof(*run->after));
    for (size_t i = 0; i < n; i++)
        for (int64_t d = 0; d < p->tasks[i].n_deps; d++)
            run->after_at[p->deps[p->tasks[i].deps_at + d] + 1]++;
    for (size_t i = 0; i < n; i++)
        run->after_at[i + 1] += run->after_at[i];
    at = ms_calloc(n, sizeof(*at));
    memcpy(at, run->after_at, n * sizeof(*at));
    for (size_t i = 0; i < n; i++) {
        run->n_waiting[i] = p->tasks[i].n_deps;
        for (int64_t d = 0; d < p->tasks[i].n_deps; d++)
            run->after[at[p->deps[p->tasks[i].deps_at + d]]++] = (int64_t)i;
    }
    free(at);
}

static void prepare(struct run *run)
{
    size_t n = run->program->n_tasks, clocks = (size_t)run->n_clocks;
    invert_dependencies(run);
    run->leader = mark_leaders(run->program);
    run->ready = ms_calloc(n, sizeof(*run->ready));
    run->flying = ms_calloc(n, sizeof(sg_exec_t));
    run->flying_id = ms_calloc(n, sizeof(int64_t));
    run->flying_clock = ms_calloc(n, sizeof(int64_t));
    run->free_clocks = ms_calloc(clocks, sizeof(int64_t));
    run->clocks = ms_calloc(clocks, sizeof(sg_host_t));
    for (int64_t i = 0; i < run->n_clocks; i++) {
        run->clocks[i] = host_named("clock", i, -1);
        run->free_clocks[run->n_free++] = run->n_clocks - 1 - i;
    }
}

/* The child: loads the platform from memory, runs the actor and leaves without cleaning up. */
__attribute__((noreturn)) static void run_child(struct run *run)
{
    char path[64], name[] = "moesim", model[] = "--cfg=host/model:ptask_L07";
    char precision[] = "--cfg=surf/precision:1e-13", quiet[] = "--log=root.thres:critical";
    char contexts[] = "--cfg=contexts/factory:" CONTEXT_FACTORY;
    char *argv[] = {name, model, precision, contexts, quiet, NULL};
    int argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1;
    struct ms_buf xml = {0};
    int fd = memfd_create("platform", 0);
    run->n_clocks = clock_count(run->program);
    write_platform(run->program, run->n_clocks, &xml);
    if (fd < 0 || write(fd, xml.text, xml.length) != (ssize_t)xml.length)
        _exit(3);
    ms_buf_free(&xml);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    simgrid_init(&argc, argv);
    simgrid_load_platform(path);
    prepare(run);
    {
        sg_actor_t actor = sg_actor_init("engine", run->clocks[0]);
        sg_actor_set_data(actor, run);
        sg_actor_start(actor, act, 0, NULL);
    }
    simgrid_run();
    _exit(0);
}

enum ms_status ms_engine_run(const struct ms_program *program, struct ms_schedule_times *times,
                             struct ms_error *err)
{
    struct run run = {.program = program};
    size_t n = program->n_tasks, bytes = (2 * n + 1) * sizeof(double);
    enum ms_status status = MS_OK;
    int wait_status = 0;
    double *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    if (shared == MAP_FAILED)
        return ms_fail(err, MS_E_RUNTIME, NULL, "no memory for the simulation's results");
    run.start_s = shared;
    run.end_s = shared + n;
    run.n_done = (int64_t *)(void *)(shared + 2 * n);
    fflush(NULL);
    child = fork();
    if (child == 0)
        run_child(&run);
    if (child < 0 || waitpid(child, &wait_status, 0) != child || wait_status != 0)
        status =
            ms_fail(err, MS_E_RUNTIME, NULL, "the simulation stopped with status %d", wait_status);
    else if (*run.n_done != (int64_t)n)
        status = ms_fail(err, MS_E_RUNTIME, NULL,
                         "internal error: %lld of %zu tasks wait for each other",
                         (long long)((int64_t)n - *run.n_done), n);
    if (status == MS_OK) {
        memcpy(times->start_s, run.start_s, n * sizeof(double));
        memcpy(times->end_s, run.end_s, n * sizeof(double));
    }
    munmap(shared, bytes);
    return status;
}
