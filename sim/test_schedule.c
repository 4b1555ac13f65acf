/* Tests of schedule.h: the orders of Megatron-Core written out by hand, and what every schedule must be:
 * complete, in order, and free of waiting in a circle. */
#include "tests/mstest.h"

#include "sim/schedule.h"

static struct ms_layout layout_of(int64_t pp, int64_t vp, int64_t n_microbatches)
{
    return (struct ms_layout){.pp = pp, .vp = vp, .n_microbatches = n_microbatches};
}

/* "F0 F1 B0": passes as text, F/B, microbatch, chunk letter; merged slots joined by '+'. */
static void as_text(const struct ms_layout *l, bool merge, int64_t stage, char *out, size_t n)
{
    struct ms_slot *slots;
    int64_t n_slots = ms_schedule_stage(l, merge, stage, &slots);
    size_t at = 0;
    for (int64_t i = 0; i < n_slots; i++) {
        const struct ms_slot *s = &slots[i];
        if (s->forward_mb >= 0)
            at += (size_t)snprintf(out + at, n - at, "F%d%c", (int)s->forward_mb,
                                   (char)('a' + s->forward_v));
        if (s->forward_mb >= 0 && s->backward_mb >= 0)
            at += (size_t)snprintf(out + at, n - at, "+");
        if (s->backward_mb >= 0)
            at += (size_t)snprintf(out + at, n - at, "B%d%c", (int)s->backward_mb,
                                   (char)('a' + s->backward_v));
        at += (size_t)snprintf(out + at, n - at, "%s", i + 1 < n_slots ? " " : "");
    }
    free(slots);
}

/* Source: arXiv 2104.04473 figure 4, four stages. */
static void test_1f1b(void **state)
{
    struct ms_layout l = layout_of(4, 1, 6);
    char text[512];
    (void)state;
    as_text(&l, false, 0, text, sizeof(text));
    assert_string_equal(text, "F0a F1a F2a F3a B0a F4a B1a F5a B2a B3a B4a B5a");
    as_text(&l, false, 3, text, sizeof(text));
    assert_string_equal(text, "F0a B0a F1a B1a F2a B2a F3a B3a F4a B4a F5a B5a");
}

/* Interleaved, two stages of two chunks: stage 0 warms up with 2 (2 - 0 - 1) + (2 - 1) 2 = 4 passes. */
static void test_interleaved(void **state)
{
    struct ms_layout l = layout_of(2, 2, 4);
    char text[512];
    (void)state;
    as_text(&l, false, 0, text, sizeof(text));
    assert_string_equal(text, "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a");
    as_text(&l, false, 1, text, sizeof(text));
    assert_string_equal(text, "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a");
}

static void test_merged(void **state)
{
    struct ms_layout l = layout_of(2, 1, 4);
    char text[512];
    (void)state;
    as_text(&l, true, 1, text, sizeof(text));
    assert_string_equal(text, "F0a F1a+B0a F2a+B1a F3a+B2a B3a");
    as_text(&l, true, 0, text, sizeof(text));
    assert_string_equal(text, "F0a F1a F2a+B0a F3a+B1a B2a B3a");
}

/* Runs all stages greedily; a pass needs its neighbour's pass to have run. */
static void check_runs_through(const struct ms_layout *l, bool merge)
{
    enum { PASSES_MAX = 4096 };
    static bool done[2][PASSES_MAX];
    struct ms_slot *slots[16];
    int64_t n[16], next[16] = {0}, chunks = l->pp * l->vp, ran = 0, total = 0, before = -1;
    memset(done, 0, sizeof(done));
    assert_true(chunks * l->n_microbatches <= PASSES_MAX);
    for (int64_t s = 0; s < l->pp; s++)
        total += n[s] = ms_schedule_stage(l, merge, s, &slots[s]);
    while (ran != before) {
        before = ran;
        for (int64_t s = 0; s < l->pp; s++)
            while (next[s] < n[s]) {
                const struct ms_slot *x = &slots[s][next[s]];
                int64_t f = x->forward_v * l->pp + s, b = x->backward_v * l->pp + s;
                bool *fs = done[0] + (x->forward_mb < 0 ? 0 : x->forward_mb * chunks);
                bool *bs = done[1] + (x->backward_mb < 0 ? 0 : x->backward_mb * chunks);
                if (x->forward_mb >= 0 && f > 0 && !fs[f - 1])
                    break;
                if (x->backward_mb >= 0 && !done[0][x->backward_mb * chunks + b])
                    break; /* own forward first */
                if (x->backward_mb >= 0 && b < chunks - 1 && !bs[b + 1])
                    break;
                if (x->forward_mb >= 0) {
                    assert_false(fs[f]);
                    fs[f] = true;
                }
                if (x->backward_mb >= 0) {
                    assert_false(bs[b]);
                    bs[b] = true;
                }
                next[s]++;
                ran++;
            }
    }
    assert_int_equal(ran, total);
    for (int64_t i = 0; i < chunks * l->n_microbatches; i++)
        assert_true(done[0][i] && done[1][i]);
    for (int64_t s = 0; s < l->pp; s++)
        free(slots[s]);
}

static void test_every_schedule_runs_through(void **state)
{
    (void)state;
    for (int64_t pp = 1; pp <= 8; pp++)
        for (int64_t vp = 1; vp <= (pp > 1 ? 5 : 1); vp++)
            for (int64_t rounds = 1; rounds <= 4; rounds++)
                for (int merge = 0; merge <= 1; merge++) {
                    struct ms_layout l = layout_of(pp, vp, rounds * pp);
                    check_runs_through(&l, merge);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1f1b),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_every_schedule_runs_through),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
