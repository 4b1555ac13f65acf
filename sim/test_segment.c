/* Tests of segment.h: timelines worked out by hand. */
#include "tests/mstest.h"

#include "sim/segment.h"

static struct ms_op compute(enum ms_category category, double time_s)
{
    return (struct ms_op){.name = "k",
                          .category = category,
                          .time_s = time_s,
                          .relative_uncertainty = 0.1,
                          .ranks_at = -1,
                          .ports_at = -1};
}

static struct ms_op exchange(double time_s, double sm_share)
{
    struct ms_op op = compute(MS_CAT_DISPATCH, time_s);
    op.comm = true;
    op.sm_share = sm_share;
    return op;
}

static struct ms_op deferred(double time_s)
{
    struct ms_op op = compute(MS_CAT_EXPERT_GEMM, time_s);
    op.deferrable = true;
    return op;
}

static double sum(const double *x)
{
    double s = 0;
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        s += x[c];
    return s;
}

static void test_one_list_is_a_sequence(void **state)
{
    struct ms_op at[] = {compute(MS_CAT_NORM, 0.3), exchange(1.1, 0.25),
                         compute(MS_CAT_EXPERT_GEMM, 0.7)};
    struct ms_ops ops = {.at = at, .n = 3};
    struct ms_segment s;
    struct ms_span spans[3];
    (void)state;
    ms_segment_run(&ops, NULL, 8, &s, spans);
    ms_assert_close(s.time_s, 2.1, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_NORM], 0.3, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_DISPATCH], 1.1, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_EXPERT_GEMM], 0.7, 1e-12, 0);
    ms_assert_close(s.hidden_comm_s, 0, 0, 1e-15);
    ms_assert_close(spans[2].start_s, 1.4, 1e-12, 0);
    /* categories independent of each other: 0.1 sqrt(0.3^2 + 1.1^2 + 0.7^2) */
    ms_assert_close(s.variance_s2, 0.01 * (0.09 + 1.21 + 0.49), 1e-12, 0);
}

/* Backward: compute 1, exchange 2 (holds 1/4 of the SMs). Forward: compute 3. Backward's compute goes first
 * (0 to 1); then its exchange runs 1 to 3 beside forward's compute at rate 3/4: 1.5 s of work done at 3,
 * the other 1.5 s end at 4.5. */
static void test_overlap_slows_compute(void **state)
{
    struct ms_op f[] = {compute(MS_CAT_ATTENTION, 3)};
    struct ms_op b[] = {compute(MS_CAT_NORM, 1), exchange(2, 0.25)};
    struct ms_ops forward = {.at = f, .n = 1}, backward = {.at = b, .n = 2};
    struct ms_segment s;
    (void)state;
    ms_segment_run(&forward, &backward, 8, &s, NULL);
    ms_assert_close(s.time_s, 4.5, 1e-12, 0);
    ms_assert_close(s.hidden_comm_s, 2, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_ATTENTION], 3.5, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_DISPATCH], 0, 0, 1e-15);
    ms_assert_close(sum(s.breakdown_s), s.time_s, 1e-12, 0);
}

/* Two exchanges cannot run at once: 2 + 2 s on the one communication stream. */
static void test_exchanges_queue(void **state)
{
    struct ms_op f[] = {exchange(2, 0.1)}, b[] = {exchange(2, 0.1)};
    struct ms_ops forward = {.at = f, .n = 1}, backward = {.at = b, .n = 1};
    struct ms_segment s;
    (void)state;
    ms_segment_run(&forward, &backward, 8, &s, NULL);
    ms_assert_close(s.time_s, 4, 1e-12, 0);
    ms_assert_close(s.breakdown_s[MS_CAT_DISPATCH], 4, 1e-12, 0);
}

/* A deferred weight gradient of 1.5 s fills the gap of an exchange of 2 s (no SMs held): 0.5 + 2 + 0.5. In
 * sequence it would take 4.5 s. */
static void test_deferred_fills_gap(void **state)
{
    struct ms_op b[] = {compute(MS_CAT_NORM, 0.5), deferred(1.5), exchange(2, 0),
                        compute(MS_CAT_NORM, 0.5)};
    struct ms_ops backward = {.at = b, .n = 4};
    struct ms_segment s;
    (void)state;
    ms_segment_run(NULL, &backward, 8, &s, NULL);
    ms_assert_close(s.time_s, 3.0, 1e-12, 0);
    b[1].deferrable = false;
    ms_segment_run(NULL, &backward, 8, &s, NULL);
    ms_assert_close(s.time_s, 4.5, 1e-12, 0);
}

/* What is left over runs at the end: nothing is lost. */
static void test_deferred_is_flushed(void **state)
{
    struct ms_op b[] = {deferred(1), deferred(2)};
    struct ms_ops backward = {.at = b, .n = 2};
    struct ms_segment s;
    (void)state;
    ms_segment_run(NULL, &backward, 8, &s, NULL);
    ms_assert_close(s.time_s, 3, 1e-12, 0);
}

static double random_unit(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (double)(*x >> 11) * 0x1p-53;
}

/* Properties over random lists: never faster than either stream's work, never slower than all in sequence
 * with compute slowed throughout; parts sum to the whole; spans of a stream do not overlap. */
static void test_bounds(void **state)
{
    enum { N = 40 };
    uint64_t x = 99;
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        struct ms_op at[2 * N];
        struct ms_ops forward = {.at = at, .n = N}, backward = {.at = at + N, .n = N};
        struct ms_span spans[2 * N];
        struct ms_segment s;
        double stream_s[2] = {0, 0}, end_s[2] = {0, 0};
        for (int i = 0; i < 2 * N; i++) {
            bool comm = random_unit(&x) < 0.3;
            at[i] = comm ? exchange(random_unit(&x), 0.2) : compute(MS_CAT_NORM, random_unit(&x));
            at[i].deferrable = !comm && random_unit(&x) < 0.2;
            stream_s[comm] += at[i].time_s;
        }
        ms_segment_run(&forward, &backward, 8, &s, spans);
        assert_true(s.time_s >= fmax(stream_s[0], stream_s[1]) - 1e-9);
        assert_true(s.time_s <= stream_s[0] / 0.8 + stream_s[1] + 1e-9);
        ms_assert_close(sum(s.breakdown_s), s.time_s, 1e-9, 0);
        ms_assert_close(s.compute_s, stream_s[0], 1e-9, 0);
        for (int i = 0; i < 2 * N; i++) {
            bool comm = spans[i].op->comm;
            assert_true(spans[i].start_s >= end_s[comm] - 1e-12);
            end_s[comm] = spans[i].end_s;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_list_is_a_sequence), cmocka_unit_test(test_overlap_slows_compute),
        cmocka_unit_test(test_exchanges_queue),        cmocka_unit_test(test_deferred_fills_gap),
        cmocka_unit_test(test_deferred_is_flushed),    cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
