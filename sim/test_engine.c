/* Tests of engine.h: hand-computed sharing, and the fast form of an exchange (one task, bytes per port)
 * against the reference (one flow per pair of ranks). */
#include "tests/mstest.h"

#include "base/mem.h"
#include "sim/engine.h"
#include "sim/estimate.h"

enum { GPUS_MAX = 64 };
static const double PORT_BPS = 700e9;

/* A program made by hand on one domain. */
struct bench {
    struct ms_topology topo;
    struct ms_cluster cluster;
    struct ms_step step;
    struct ms_program p;
};

static void figure(struct ms_figure *f, double value)
{
    *f = (struct ms_figure){.value = value};
}

static void bench_init(struct bench *b, int64_t gpus, int64_t per_domain)
{
    memset(b, 0, sizeof(*b));
    b->topo.domain.gpus = per_domain;
    b->topo.host.gpus = 1;
    b->topo.scale_out.rail_optimized = true;
    b->topo.scale_out.rails = per_domain;
    b->topo.scale_out.unit_domains = 2;
    figure(&b->topo.domain.nvlink_bandwidth, PORT_BPS);
    figure(&b->topo.host.link_bandwidth, 100e9);
    figure(&b->topo.host.memory_bandwidth, 100e9);
    figure(&b->topo.scale_out.nic_bandwidth, 50e9);
    figure(&b->topo.scale_out.oversubscription, 2);
    b->cluster =
        (struct ms_cluster){&b->topo, gpus, per_domain, (gpus + per_domain - 1) / per_domain};
    b->step.cluster = &b->cluster;
    b->p.step = &b->step;
}

static void bench_free(struct bench *b)
{
    free(b->p.tasks);
    free(b->p.ranges);
    free(b->p.deps);
}

static int64_t add_task(struct bench *b, struct ms_task task, const struct ms_range *ranges,
                        int64_t n_ranges)
{
    struct ms_program *p = &b->p;
    ms_grow((void **)&p->tasks, &p->task_capacity, p->n_tasks, sizeof(*p->tasks));
    task.ranges_at = (int64_t)p->n_ranges;
    task.n_ranges = n_ranges;
    for (int64_t i = 0; i < n_ranges; i++) {
        ms_grow((void **)&p->ranges, &p->range_capacity, p->n_ranges, sizeof(*p->ranges));
        p->ranges[p->n_ranges++] = ranges[i];
    }
    p->tasks[p->n_tasks] = task;
    return (int64_t)p->n_tasks++;
}

static void set_deps(struct bench *b, const int64_t *deps, size_t n)
{
    b->p.deps = ms_calloc(n, sizeof(*deps));
    memcpy(b->p.deps, deps, n * sizeof(*deps));
}

static double run_bench(struct bench *b, double *end_s)
{
    double start_s[8192], ends_s[8192], last_s = 0;
    struct ms_schedule_times times = {start_s, end_s ? end_s : ends_s};
    struct ms_error err;
    assert_true(b->p.n_tasks <= 8192);
    ms_assert_ok(ms_engine_run(&b->p, &times, &err), &err);
    for (size_t i = 0; i < b->p.n_tasks; i++)
        last_s = fmax(last_s, times.end_s[i]);
    return last_s;
}

static struct ms_range send_nvlink(int64_t rank, double bytes)
{
    return (struct ms_range){rank, 1, {.nvlink_send = bytes}};
}

/* Alone a task takes its clock, whatever it sends below the port's rate. */
static void test_alone(void **state)
{
    struct bench b;
    struct ms_range r = send_nvlink(3, 0.7 * PORT_BPS);
    (void)state;
    bench_init(&b, 8, 8);
    add_task(&b, (struct ms_task){.kind = MS_TASK_SLOT, .clock_s = 1.37}, &r, 1);
    ms_assert_close(run_bench(&b, NULL), 1.37, 1e-9, 0);
    bench_free(&b);
}

/* Two tasks of 1 s that each fill 70 % of one port share it: 1.4 s of bytes leave it after 1.4 s. A third on
 * another port is not touched. */
static void test_shared_port(void **state)
{
    struct bench b;
    struct ms_range r = send_nvlink(3, 0.7 * PORT_BPS), other = send_nvlink(4, 0.7 * PORT_BPS);
    double end_s[3];
    (void)state;
    bench_init(&b, 8, 8);
    add_task(&b, (struct ms_task){.clock_s = 1}, &r, 1);
    add_task(&b, (struct ms_task){.clock_s = 1}, &r, 1);
    add_task(&b, (struct ms_task){.clock_s = 1}, &other, 1);
    run_bench(&b, end_s);
    ms_assert_close(end_s[0], 1.4, 1e-9, 0);
    ms_assert_close(end_s[1], 1.4, 1e-9, 0);
    ms_assert_close(end_s[2], 1.0, 1e-9, 0);
    bench_free(&b);
}

/* A task that arrives later: A needs the port alone for 1 s, B for 0.5 s from t = 0.4 s on. From 0.4 both
 * have half a port, B's 0.5 s of port take until 1.4, A has by then 0.4 + 0.5 and ends at 1.5. */
static void test_late_arrival(void **state)
{
    struct bench b;
    struct ms_range a = send_nvlink(0, PORT_BPS), late = send_nvlink(0, 0.5 * PORT_BPS);
    const int64_t deps[] = {1};
    double end_s[3];
    (void)state;
    bench_init(&b, 8, 8);
    add_task(&b, (struct ms_task){.clock_s = 1e-9}, &a, 1);
    add_task(&b, (struct ms_task){.clock_s = 0.4}, NULL, 0);
    add_task(&b, (struct ms_task){.clock_s = 1e-9, .deps_at = 0, .n_deps = 1}, &late, 1);
    set_deps(&b, deps, 1);
    run_bench(&b, end_s);
    ms_assert_close(end_s[2], 1.4, 1e-9, 0);
    ms_assert_close(end_s[0], 1.5, 1e-9, 0);
    bench_free(&b);
}

/* Two domains on two rails: with oversubscription 2 a leaf's uplink (1 NIC each side of 2 on it: 2 x 50 / 2
 * = 50 GB/s) is shared by two senders of 50 GB each that cross the unit: 2 s; inside the unit 1 s. */
static void test_oversubscribed_spine(void **state)
{
    (void)state;
    for (int crosses = 0; crosses <= 1; crosses++) {
        struct bench b;
        struct ms_range ranges[] = {{0, 1, {.nic_send = 50e9}}, {2, 1, {.nic_send = 50e9}}};
        bench_init(&b, 4, 2);
        add_task(&b, (struct ms_task){.clock_s = 1e-9, .crosses_unit = crosses}, ranges, 2);
        ms_assert_close(run_bench(&b, NULL), crosses ? 2 : 1, 1e-8, 0);
        bench_free(&b);
    }
}

/* A range of many ranks is the same as one range per rank: alike ports are simulated once. Ranks 2 and 3
 * also send for another task, so they are not alike with 0 and 1. */
static void test_alike_ranks(void **state)
{
    double whole_s[2], parts_s[2];
    (void)state;
    for (int parts = 0; parts <= 1; parts++) {
        struct bench b;
        const struct ms_port_bytes bytes = {0.6 * PORT_BPS, 0.3 * PORT_BPS, 30e9, 20e9};
        struct ms_range whole = {0, 6, bytes}, other = {2, 2, bytes}, each[6];
        bench_init(&b, 8, 4);
        for (int64_t i = 0; i < 6; i++)
            each[i] = (struct ms_range){i, 1, bytes};
        add_task(&b, (struct ms_task){.clock_s = 1, .crosses_unit = true}, parts ? each : &whole,
                 parts ? 6 : 1);
        add_task(&b, (struct ms_task){.clock_s = 0.5, .crosses_unit = true}, &other, 1);
        run_bench(&b, parts ? parts_s : whole_s);
        bench_free(&b);
    }
    assert_true(whole_s[0] > 1); /* they do share */
    for (int i = 0; i < 2; i++)
        ms_assert_close(whole_s[i], parts_s[i], 1e-9, 0);
}

/* Without shared ports the engine and the estimate agree to rounding, for any graph of dependencies. */
static void test_agrees_with_estimate(void **state)
{
    enum { N = 200 };
    struct bench b;
    int64_t deps[2 * N];
    double start_s[N], end_s[N], estimate_s[N];
    struct ms_schedule_times times = {start_s, estimate_s};
    uint64_t x = 12345;
    struct ms_error err;
    (void)state;
    bench_init(&b, 8, 8);
    for (int64_t i = 0; i < N; i++) {
        struct ms_task task = {.deps_at = 2 * i, .n_deps = i ? 2 : 0};
        x = x * 6364136223846793005u + 1442695040888963407u;
        task.clock_s = (double)(x >> 40) * 1e-9;
        deps[2 * i] = i ? (int64_t)(x % (uint64_t)i) : 0;
        deps[2 * i + 1] = i ? (int64_t)((x >> 20) % (uint64_t)i) : 0;
        add_task(&b, task, NULL, 0);
    }
    set_deps(&b, deps, sizeof(deps) / sizeof(deps[0]));
    run_bench(&b, end_s);
    ms_assert_ok(ms_estimate_run(&b.p, &times, &err), &err);
    for (int i = 0; i < N; i++)
        ms_assert_close(end_s[i], estimate_s[i], 1e-9, 1e-12);
    bench_free(&b);
}

/* Tasks that wait for each other are an error of both, not a hang. */
static void test_cycle(void **state)
{
    struct bench b;
    const int64_t deps[] = {1, 0};
    double start_s[2], end_s[2];
    struct ms_schedule_times times = {start_s, end_s};
    struct ms_error err;
    (void)state;
    bench_init(&b, 8, 8);
    add_task(&b, (struct ms_task){.clock_s = 1, .deps_at = 0, .n_deps = 1}, NULL, 0);
    add_task(&b, (struct ms_task){.clock_s = 1, .deps_at = 1, .n_deps = 1}, NULL, 0);
    set_deps(&b, deps, 2);
    assert_int_equal(ms_engine_run(&b.p, &times, &err), MS_E_RUNTIME);
    ms_assert_says(&err, "wait for each other");
    assert_int_equal(ms_estimate_run(&b.p, &times, &err), MS_E_RUNTIME);
    bench_free(&b);
}

static double uniform(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (double)(*x >> 11) * 0x1p-53;
}

/* bytes[i][j] from rank i to j: receivers differ by a factor with mean 1 and deviation about `heat` (routing
 * has 0.1 to 0.7), each cell by +-`spread`. */
static void random_matrix(int64_t n, double heat, double spread, uint64_t *x,
                          double bytes[GPUS_MAX][GPUS_MAX])
{
    for (int64_t j = 0; j < n; j++) {
        double normal = 2 * (uniform(x) + uniform(x) + uniform(x) - 1.5);
        double column = 1e8 * exp(heat * normal);
        for (int64_t i = 0; i < n; i++)
            bytes[i][j] = i == j ? 0 : column * (1 + spread * (2 * uniform(x) - 1));
    }
}

/* The exchange as one task whose ranks each load their ports. */
static double exchange_step(int64_t n, double bytes[GPUS_MAX][GPUS_MAX])
{
    struct ms_range ranges[GPUS_MAX];
    struct bench b;
    double time_s;
    bench_init(&b, n, n);
    for (int64_t i = 0; i < n; i++) {
        ranges[i] = (struct ms_range){i, 1, {0, 0, 0, 0}};
        for (int64_t j = 0; j < n; j++) {
            ranges[i].bytes.nvlink_send += bytes[i][j];
            ranges[i].bytes.nvlink_receive += bytes[j][i];
        }
    }
    add_task(&b, (struct ms_task){.clock_s = 1e-9}, ranges, n);
    time_s = run_bench(&b, NULL);
    bench_free(&b);
    return time_s;
}

static double exchange_flow(int64_t n, double bytes[GPUS_MAX][GPUS_MAX])
{
    struct bench b;
    double time_s;
    bench_init(&b, n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (i != j)
                add_task(&b,
                         (struct ms_task){
                             .kind = MS_TASK_FLOW, .from = i, .to = j, .flow_bytes = bytes[i][j]},
                         NULL, 0);
    time_s = run_bench(&b, NULL);
    bench_free(&b);
    return time_s;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Differences of the two forms, sorted. The fast form is never slower: a lower bound by the busiest port. */
static void differences(int64_t n, int trials, double heat, double spread, double *difference)
{
    static double bytes[GPUS_MAX][GPUS_MAX];
    uint64_t x = 7u + (uint64_t)n;
    for (int t = 0; t < trials; t++) {
        double step_s, flow_s;
        random_matrix(n, heat, spread, &x, bytes);
        step_s = exchange_step(n, bytes);
        flow_s = exchange_flow(n, bytes);
        assert_true(step_s <= flow_s * (1 + 1e-9));
        difference[t] = flow_s / step_s - 1;
    }
    qsort(difference, (size_t)trials, sizeof(double), compare_doubles);
}

/* Routing skews columns; then the forms agree within 3 % in the median and 8 % at the 90th percentile. */
static void test_exchange_flow_and_step(void **state)
{
    static const struct {
        int64_t n;
        int trials;
    } cases[] = {{8, 40}, {16, 30}, {64, 1}};
    static const double heats[] = {0.05, 0.2, 0.5};
    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (size_t h = 0; h < sizeof(heats) / sizeof(heats[0]); h++) {
            double d[40];
            int n = cases[c].trials;
            differences(cases[c].n, n, heats[h], 0.2, d);
            print_message(
                "%2d ranks, heat %.2f, cells +-20 %%: flow over step: median %.4f, p90 %.4f\n",
                (int)cases[c].n, heats[h], d[n / 2], d[(n * 9 - 1) / 10]);
            assert_true(d[n / 2] <= 0.03);
            assert_true(d[(n * 9 - 1) / 10] <= 0.08);
        }
}

/* Wilder matrices: reported; here only that nothing is off by a factor. */
static void test_exchange_wild(void **state)
{
    double d[30];
    (void)state;
    differences(16, 30, 0.05, 1, d);
    print_message("16 ranks, cells +-100 %%: flow over step: median %.4f, p90 %.4f\n", d[15],
                  d[26]);
    assert_true(d[26] < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),         cmocka_unit_test(test_shared_port),
        cmocka_unit_test(test_late_arrival),  cmocka_unit_test(test_oversubscribed_spine),
        cmocka_unit_test(test_alike_ranks),   cmocka_unit_test(test_agrees_with_estimate),
        cmocka_unit_test(test_cycle),         cmocka_unit_test(test_exchange_flow_and_step),
        cmocka_unit_test(test_exchange_wild),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
