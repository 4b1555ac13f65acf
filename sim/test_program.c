/* Tests of ops.h, step.h, program.h, account.h, defaults.h and timeline.h on one small model: counts of work
 * that can be done by hand, and what must hold between the stages of a simulation. */
#include "tests/mstest.h"

#include "base/mem.h"
#include "sim/account.h"
#include "sim/defaults.h"
#include "sim/estimate.h"
#include "sim/ops.h"
#include "sim/program.h"
#include "sim/step.h"
#include "sim/timeline.h"

#include <jansson.h>

/* DeepSeek-V2-Lite on H200s with the given sizes; everything a step needs. */
struct fixture {
    struct ms_prediction p;
    struct ms_step step;
};

static struct fixture *fixture_new(int64_t gpus, int64_t ep, int64_t pp, uint32_t overlap)
{
    struct fixture *f = ms_calloc(1, sizeof(*f));
    struct ms_recipe *r = &f->p.recipe;
    struct ms_error err;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    ms_fields_defaults(fields, n, r);
    snprintf(r->model, sizeof(r->model), "deepseek-v2-lite");
    snprintf(r->topology, sizeof(r->topology), "hgx_h200");
    r->gpus = gpus;
    r->ep = ep;
    r->pp = pp;
    r->gbs = 4 * gpus;
    r->dispatcher = MS_DISPATCHER_DEEPEP;
    r->overlap = overlap;
    r->cuda_graph = MS_GRAPH_FULL;
    ms_assert_ok(ms_topology_load(r->topology, &f->p.topo, &err), &err);
    ms_assert_ok(ms_arch_load(r->model, &f->p.arch, &err), &err);
    ms_assert_ok(ms_device_load(&f->p.topo, &f->p.device, &err), &err);
    ms_assert_ok(ms_cluster_init(&f->p.topo, gpus, 0, 0, &f->p.cluster, &err), &err);
    ms_assert_ok(ms_layout_init(&f->p.cluster, &f->p.arch, r, &f->p.layout, &err), &err);
    ms_assert_ok(ms_step_init(r, &f->p.arch, &f->p.layout, &f->p.device, &f->step, &err), &err);
    return f;
}

static void fixture_free(struct fixture *f)
{
    ms_step_fini(&f->step);
    free(f);
}

/* GEMM and attention work of all chunks is what the FLOP count says: forward once, backward twice (the
 * attention core 2.5 times), the router counted here and not there. */
static void test_work_matches_flop_count(void **state)
{
    struct fixture *f = fixture_new(8, 8, 1, 0);
    struct ms_ops ops = {0};
    struct ms_flops flops;
    double work[2] = {0, 0}, tokens = (double)f->p.layout.tokens_per_rank, core, forward;
    (void)state;
    ms_arch_flops(&f->p.arch, f->p.recipe.seq_len, 0, &flops);
    for (int pass = 0; pass <= 1; pass++) {
        ms_ops_clear(&ops);
        ms_ops_chunk(&f->step, &(struct ms_work){.pass = (enum ms_pass)pass}, &ops);
        for (size_t i = 0; i < ops.n; i++)
            work[pass] += ops.at[i].work_flop;
    }
    core = flops.attention_core * tokens;
    forward = (flops.total_train / 3 + flops.router) * tokens;
    ms_assert_close(work[0], forward, 1e-6, 0);
    ms_assert_close(work[1], 2 * (forward - core) + 2.5 * core, 1e-6, 0);
    ms_ops_free(&ops);
    fixture_free(f);
}

/* Full recomputation adds exactly the forward ops to backward; selected modules add theirs only. */
static void test_recompute(void **state)
{
    struct fixture *f = fixture_new(8, 8, 1, 0);
    struct ms_work forward = {.pass = MS_PASS_FORWARD}, backward = {.pass = MS_PASS_BACKWARD};
    struct ms_ops f_ops = {0}, plain = {0}, full = {0}, up = {0};
    double layers_s = 0, recomputed_s = 0;
    size_t n_up = 0;
    (void)state;
    ms_ops_chunk(&f->step, &forward, &f_ops);
    ms_ops_chunk(&f->step, &backward, &plain);
    f->p.recipe.recompute = MS_RECOMPUTE_FULL;
    ms_ops_chunk(&f->step, &backward, &full);
    f->p.recipe.recompute = MS_RECOMPUTE_MLA_UP_PROJ;
    ms_ops_chunk(&f->step, &backward, &up);
    for (size_t i = 0; i < f_ops.n; i++)
        layers_s += f_ops.at[i].layer >= 0 ? f_ops.at[i].time_s : 0;
    for (size_t i = 0; i < full.n; i++)
        recomputed_s += full.at[i].category == MS_CAT_RECOMPUTE ? full.at[i].time_s : 0;
    ms_assert_close(recomputed_s, layers_s, 1e-9, 0);
    for (size_t i = 0; i < up.n; i++)
        n_up += up.at[i].category == MS_CAT_RECOMPUTE;
    assert_int_equal(n_up, up.n - plain.n);
    assert_int_equal(n_up, 108); /* 4 in 27 layers: latent norms, q up, kv up, rope */
    ms_ops_free(&f_ops);
    ms_ops_free(&plain);
    ms_ops_free(&full);
    ms_ops_free(&up);
    fixture_free(f);
}

/* Groups of one node lie whole; groups of 16 are split over two nodes, all in the same way. */
static void test_patterns(void **state)
{
    struct fixture *whole = fixture_new(32, 8, 1, 0), *split = fixture_new(32, 16, 1, 0);
    (void)state;
    assert_int_equal(whole->step.n_patterns, 1);
    assert_int_equal(whole->step.patterns[0].domain[7], 0);
    assert_int_equal(split->step.n_patterns, 1);
    assert_int_equal(split->step.patterns[0].domain[7], 0);
    assert_int_equal(split->step.patterns[0].domain[8], 1);
    assert_true(ms_step_same_cell(&whole->step, 0, 0, 3));
    fixture_free(whole);
    fixture_free(split);
}

/* 2 stages, 16 microbatches: 32 passes a stage in as many slots, a send per pass and boundary, one replica. */
static void test_program_counts(void **state)
{
    struct fixture *f = fixture_new(16, 8, 2, MS_OVERLAP_DP);
    struct ms_program *p = ms_program_new(&f->step, false);
    int64_t n[MS_TASK_OPTIMIZER + 1] = {0}, mb = f->p.layout.n_microbatches;
    (void)state;
    for (size_t i = 0; i < p->n_tasks; i++)
        n[p->tasks[i].kind]++;
    assert_int_equal(mb, 8);
    assert_int_equal(p->n_replicas, 1);
    assert_int_equal(n[MS_TASK_SLOT], 4 * mb);
    assert_int_equal(n[MS_TASK_P2P], 2 * mb);
    assert_int_equal(n[MS_TASK_OPTIMIZER], 2);
    /* per stage: dense gradients and parameters over 8 ranks; experts have EDP 1; one norm */
    assert_int_equal(n[MS_TASK_COLLECTIVE], 5);
    ms_program_free(p);
    fixture_free(f);
}

/* With merging, forward and backward share slots and nothing is lost. */
static void test_merged_slots(void **state)
{
    struct fixture *f = fixture_new(16, 8, 2, MS_OVERLAP_EP);
    struct ms_program *p = ms_program_new(&f->step, false);
    int64_t passes = 0, merged = 0;
    (void)state;
    for (int64_t slot = 0; slot < p->n_slots[1]; slot++) {
        struct ms_work w;
        bool forward = ms_program_slot_work(p, 0, 1, slot, MS_PASS_FORWARD, &w);
        bool backward = ms_program_slot_work(p, 0, 1, slot, MS_PASS_BACKWARD, &w);
        passes += forward + backward;
        merged += forward && backward;
    }
    assert_int_equal(passes, 16);
    assert_int_equal(merged, 7); /* one warm-up pass on the last stage */
    ms_program_free(p);
    fixture_free(f);
}

/* The account adds up to the longest path, and the bubble of 1F1B is (PP - 1) slots at either end. */
static void test_account_and_bubble(void **state)
{
    struct fixture *f = fixture_new(16, 8, 2, 0);
    struct ms_program *p = ms_program_new(&f->step, false);
    struct ms_schedule_times times = {ms_calloc(p->n_tasks, sizeof(double)),
                                      ms_calloc(p->n_tasks, sizeof(double))};
    struct ms_account a;
    struct ms_error err;
    double sum_s = 0, last_s = 0, first_forward_s, first_backward_s, comm_s;
    (void)state;
    ms_assert_ok(ms_estimate_run(p, &times, &err), &err);
    ms_account_make(p, &times, &a);
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        sum_s += a.breakdown_s[c];
    for (size_t i = 0; i < p->n_tasks; i++)
        last_s = fmax(last_s, times.end_s[i]);
    ms_assert_close(a.step_time_s, last_s, 1e-12, 0);
    ms_assert_close(sum_s, last_s, 1e-9, 0);
    assert_int_equal(a.stage, 1); /* it has the output head */
    first_forward_s = p->tasks[ms_program_slot(p, 0, 0, 0)].clock_s;
    first_backward_s = p->tasks[ms_program_slot(p, 0, 0, p->n_slots[0] - 1)].clock_s;
    comm_s = a.breakdown_s[MS_CAT_PP_COMM] + a.breakdown_s[MS_CAT_DP_COMM];
    assert_true(a.breakdown_s[MS_CAT_BUBBLE] + comm_s >= first_forward_s + first_backward_s - 1e-9);
    assert_true(a.breakdown_s[MS_CAT_BUBBLE] <= 1.2 * (first_forward_s + first_backward_s));
    free(times.start_s);
    free(times.end_s);
    ms_program_free(p);
    fixture_free(f);
}

/* The timeline is JSON; every rank of the replica has its slots; no event ends after the step. */
static void test_timeline(void **state)
{
    struct fixture *f = fixture_new(16, 8, 2, MS_OVERLAP_EP);
    struct ms_program *p = ms_program_new(&f->step, false);
    struct ms_schedule_times times = {ms_calloc(p->n_tasks, sizeof(double)),
                                      ms_calloc(p->n_tasks, sizeof(double))};
    struct ms_error err;
    struct ms_buf text = {0};
    json_t *root, *event;
    size_t i;
    int64_t slots[16] = {0};
    double end_us = 0, last_s = 0;
    (void)state;
    ms_assert_ok(ms_estimate_run(p, &times, &err), &err);
    ms_timeline_write(p, &times, 0, &text);
    root = json_loadb(text.text, text.length, 0, NULL);
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        json_int_t rank = json_integer_value(json_object_get(event, "pid"));
        const char *category = json_string_value(json_object_get(event, "cat"));
        if (!category)
            continue;
        end_us = fmax(end_us, json_number_value(json_object_get(event, "ts")) +
                                  json_number_value(json_object_get(event, "dur")));
        slots[rank] += strcmp(category, "slot") == 0;
    }
    for (size_t t = 0; t < p->n_tasks; t++)
        last_s = fmax(last_s, times.end_s[t]);
    ms_assert_close(end_us, last_s * 1e6, 1e-6, 0);
    for (int rank = 0; rank < 16; rank++)
        assert_int_equal(slots[rank], p->n_slots[rank / 8]);
    json_decref(root);
    ms_buf_free(&text);
    free(times.start_s);
    free(times.end_s);
    ms_program_free(p);
    fixture_free(f);
}

/* Without a shipped recipe sizes are chosen: EP fills the node, the fewest stages fit, each choice is noted;
 * sizes that the user gave are left alone. */
static void test_defaults(void **state)
{
    struct fixture *f = fixture_new(32, 8, 1, 0);
    struct ms_recipe given_recipe;
    struct ms_error err;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    (void)state;
    ms_fields_defaults(fields, n, &f->p.recipe);
    snprintf(f->p.recipe.model, MS_TEXT_MAX, "deepseek-v2-lite");
    snprintf(f->p.recipe.topology, MS_TEXT_MAX, "hgx_h200");
    f->p.recipe.gpus = 32;
    given_recipe = f->p.recipe;
    ms_assert_ok(ms_defaults_fill(&f->p, &err), &err);
    assert_string_equal(f->p.known_recipe, "");
    assert_int_equal(f->p.recipe.ep, 8);
    assert_int_equal(f->p.recipe.pp, 1);
    assert_int_equal(f->p.recipe.gbs, 16 * 32);
    assert_int_equal(f->p.recipe.precision, MS_DTYPE_BF16); /* no MXFP8 units */
    assert_true(f->p.assumptions.n >= 3);
    f->p.recipe = given_recipe;
    f->p.recipe.ep = 4;
    f->p.given[ms_fields_find(fields, n, "ep") - fields] = true;
    ms_assert_ok(ms_defaults_fill(&f->p, &err), &err);
    assert_int_equal(f->p.recipe.ep, 4);
    fixture_free(f);
}

/* However a built-in model is spelled, its shipped recipe is found. */
static void test_recipe_by_alias(void **state)
{
    struct ms_prediction *p = ms_calloc(1, sizeof(*p));
    struct ms_recipe r = {.gpus = 0};
    const bool given[MS_RECIPE_FIELDS_MAX] = {false};
    struct ms_error err;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    (void)state;
    ms_fields_defaults(fields, n, &r);
    snprintf(r.model, sizeof(r.model), "DeepSeekV3");
    r.fidelity = MS_FIDELITY_ESTIMATE;
    ms_assert_ok(ms_predict(&r, given, NULL, p, &err), &err);
    assert_string_equal(p->known_recipe, "deepseek-v3@gb300_nvl72");
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_matches_flop_count),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_program_counts),
        cmocka_unit_test(test_merged_slots),
        cmocka_unit_test(test_account_and_bubble),
        cmocka_unit_test(test_timeline),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_recipe_by_alias),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
