/* test_recipe.c - the settings table: defaults, names and aliases, printing and reading back,
 * faults with their place, and the recipes that come with moesim. */
#include "tests/mstest.h"

#include "base/data.h"
#include "model/arch.h"
#include "model/recipe.h"
#include "topologies/topology.h"

#include <unistd.h>

static void set_defaults(struct ms_recipe *recipe)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    memset(recipe, 0, sizeof(*recipe));
    ms_fields_defaults(fields, n, recipe);
}

/* Sets a text member; bytes after its end are zero, so that structs compare by memcmp. */
static void set_text(char member[MS_TEXT_MAX], const char *text)
{
    memset(member, 0, MS_TEXT_MAX);
    snprintf(member, MS_TEXT_MAX, "%s", text);
}

/* Reads `text` as a recipe file over the defaults. */
static enum ms_status read_text(const char *text, struct ms_recipe *recipe, bool *given,
                                struct ms_error *err)
{
    char path[] = "/tmp/test_recipe_XXXXXX";
    int fd = mkstemp(path);
    enum ms_status status;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    set_defaults(recipe);
    status = ms_recipe_read(path, recipe, given, err);
    unlink(path);
    return status;
}

static int64_t index_of(const char *name)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const struct ms_field *field = ms_fields_find(fields, n, name);
    assert_non_null(field);
    return field - fields;
}

static void test_defaults(void **state)
{
    (void)state;
    struct ms_recipe r;
    set_defaults(&r);
    assert_string_equal(r.model, "deepseek-v3");
    assert_string_equal(r.topology, "gb300_nvl72");
    assert_int_equal(r.gpus, 1024);
    assert_int_equal(r.tp * r.pp * r.vp * r.cp * r.ep * r.etp * r.mbs, 1);
    assert_int_equal(r.gbs, 0);
    assert_int_equal(r.seq_len, 4096);
    assert_int_equal(r.precision, MS_DTYPE_BF16);
    assert_int_equal(ms_recipe_expert_dtype(&r), MS_DTYPE_BF16);
    assert_int_equal(r.dispatcher, MS_DISPATCHER_ALLTOALL);
    assert_int_equal(r.dispatcher_sms, 32);
    assert_int_equal(r.overlap, MS_OVERLAP_DP | MS_OVERLAP_PARAM);
    assert_int_equal(r.recompute, 0);
    assert_int_equal(r.cuda_graph, 0);
    assert_int_equal(r.schedule, MS_SCHEDULE_1F1B);
    assert_int_equal(r.zero, 1);
    assert_int_equal(r.grad_reduce_dtype, MS_GRAD_FP32);
    assert_int_equal(r.fidelity, MS_FIDELITY_STEP);
    assert_string_equal(r.trace, "balanced");
    assert_string_equal(r.pp_layout, "");
    assert_true(r.capacity_factor == 0);
}

/* Names of every value, against the enums they stand for. */
static void test_names_match_enums(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        const char *value;
        uint32_t expected;
    } cases[] = {
        {"precision", "fp8-cs", MS_DTYPE_FP8_CS},
        {"precision", "fp8-block", MS_DTYPE_FP8_BLOCK},
        {"precision", "mxfp8", MS_DTYPE_MXFP8},
        {"precision", "nvfp4", MS_DTYPE_NVFP4},
        {"dispatcher", "allgather", MS_DISPATCHER_ALLGATHER},
        {"dispatcher", "deepep", MS_DISPATCHER_DEEPEP},
        {"dispatcher", "hybridep", MS_DISPATCHER_HYBRIDEP},
        {"dispatcher", "nccl-ep", MS_DISPATCHER_NCCL_EP},
        {"expert-gemm", "loop", MS_EXPERT_GEMM_LOOP},
        {"expert-gemm", "padded", MS_EXPERT_GEMM_PADDED},
        {"recompute", "full", MS_RECOMPUTE_FULL},
        {"recompute", "mla_up_proj", MS_RECOMPUTE_MLA_UP_PROJ},
        {"recompute", "layernorm", MS_RECOMPUTE_LAYERNORM},
        {"recompute", "moe_act", MS_RECOMPUTE_MOE_ACT},
        {"recompute", "mlp", MS_RECOMPUTE_MLP},
        {"recompute", "moe", MS_RECOMPUTE_MOE},
        {"recompute", "core_attn", MS_RECOMPUTE_CORE_ATTN},
        {"recompute", "none", 0},
        {"overlap", "ep,wgrad", MS_OVERLAP_EP | MS_OVERLAP_WGRAD},
        {"overlap", "tp,dp,param,shared",
         MS_OVERLAP_TP | MS_OVERLAP_DP | MS_OVERLAP_PARAM | MS_OVERLAP_SHARED},
        {"cuda-graph", "full", MS_GRAPH_FULL},
        {"cuda-graph", "attn,mlp", MS_GRAPH_ATTN | MS_GRAPH_MLP},
        {"cuda-graph", "moe_router,moe_preprocess,moe",
         MS_GRAPH_MOE_ROUTER | MS_GRAPH_MOE_PREPROCESS | MS_GRAPH_MOE},
        {"schedule", "interleaved", MS_SCHEDULE_INTERLEAVED},
        {"fidelity", "estimate", MS_FIDELITY_ESTIMATE},
        {"fidelity", "flow", MS_FIDELITY_FLOW},
        {"grad-reduce-dtype", "bf16", MS_GRAD_BF16},
    };
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct ms_field *field = ms_fields_find(fields, n, cases[i].field);
        struct ms_error err = {0};
        struct ms_recipe r;
        uint32_t value;
        set_defaults(&r);
        ms_assert_ok(ms_field_parse(field, &r, cases[i].value, "", &err), &err);
        memcpy(&value, (char *)&r + field->offset, sizeof(value)); /* int or uint32_t */
        assert_int_equal(value, cases[i].expected);
    }
}

static void test_expert_precision(void **state)
{
    (void)state;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const struct ms_field *field = ms_fields_find(fields, n, "expert-precision");
    struct ms_recipe r;
    struct ms_error err = {0};
    set_defaults(&r);
    r.precision = MS_DTYPE_MXFP8;
    assert_int_equal(ms_recipe_expert_dtype(&r), MS_DTYPE_MXFP8);
    for (int dtype = 0; dtype < MS_N_DTYPES; dtype++) {
        ms_assert_ok(ms_field_parse(field, &r, MS_DTYPE_NAMES[dtype], "", &err), &err);
        assert_int_equal(ms_recipe_expert_dtype(&r), dtype);
    }
    ms_assert_ok(ms_field_parse(field, &r, "same", "", &err), &err);
    assert_int_equal(ms_recipe_expert_dtype(&r), MS_DTYPE_MXFP8);
}

/* The long Megatron spellings, with '-' or '_'. */
static void test_aliases(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"tensor-model-parallel-size", "tp"},
        {"pipeline_model_parallel_size", "pp"},
        {"virtual-pipeline-model-parallel-size", "vp"},
        {"context-parallel-size", "cp"},
        {"expert-model-parallel-size", "ep"},
        {"expert_tensor_parallel_size", "etp"},
        {"pipeline-model-parallel-layout", "pp-layout"},
        {"micro-batch-size", "mbs"},
        {"global-batch-size", "gbs"},
        {"seq-length", "seq-len"},
        {"moe-token-dispatcher-type", "dispatcher"},
        {"moe-hybridep-num-sms", "dispatcher-sms"},
        {"moe-expert-capacity-factor", "capacity-factor"},
        {"recompute-modules", "recompute"},
        {"cuda-graph-scope", "cuda-graph"},
        {"mtp-num-layers", "mtp"},
        {"fp8-dot-product-attention", "fp8-attention"},
        {"world-size", "gpus"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        assert_int_equal(index_of(pairs[i][0]), index_of(pairs[i][1]));
}

/* No two fields share a name, an alias or a member; every one has a help text and a default. */
static void test_table_is_sound(void **state)
{
    (void)state;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    assert_in_range(n, 30, MS_RECIPE_FIELDS_MAX);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(fields[i].help);
        assert_non_null(fields[i].default_text);
        assert_int_equal(index_of(fields[i].name), i);
        if (fields[i].alias)
            assert_int_equal(index_of(fields[i].alias), i);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(fields[i].offset, fields[k].offset);
    }
}

static void test_read(void **state)
{
    (void)state;
    struct ms_recipe r;
    struct ms_error err = {0};
    bool given[MS_RECIPE_FIELDS_MAX] = {false};
    ms_assert_ok(read_text("# a comment\nmodel: qwen3-30b\nexpert_model_parallel_size: 8\n"
                           "overlap: ep,dp\ncapacity-factor: 1.25\nno-dedup: true\n",
                           &r, given, &err),
                 &err);
    assert_string_equal(r.model, "qwen3-30b");
    assert_int_equal(r.ep, 8);
    assert_int_equal(r.overlap, MS_OVERLAP_EP | MS_OVERLAP_DP);
    assert_true(r.capacity_factor == 1.25);
    assert_true(r.no_dedup);
    assert_int_equal(r.gpus, 1024); /* not in the file: kept */
    assert_true(given[index_of("model")] && given[index_of("ep")] && given[index_of("no-dedup")]);
    assert_false(given[index_of("gpus")] || given[index_of("tp")]);
    ms_assert_ok(read_text("tp: 2\n", &r, NULL, &err), &err);
    assert_int_equal(r.tp, 2);
}

static void test_read_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *says;
    } cases[] = {
        {"tp: 2\nepp: 4\n", ":2:epp", "ep"},
        {"tp: 2\ntp: 4\n", ":2:tp", "twice"},
        {"tp: 0\n", ":1:tp", "1"},
        {"tp: -3\n", ":1:tp", "-3"},
        {"tp: two\n", ":1:tp", "two"},
        {"tp: 2.5\n", ":1:tp", "2.5"},
        {"mtp: 9\n", ":1:mtp", "8"},
        {"zero: 4\n", ":1:zero", "3"},
        {"precision: fp16\n", ":1:precision", "nvfp4"},
        {"recompute: mla_up_proj,everything\n", ":1:recompute", "everything"},
        {"schedule: zb-h9\n", ":1:schedule", "interleaved"},
        {"no-dedup: maybe\n", ":1:no-dedup", "maybe"},
        {"capacity-factor: -1\n", ":1:capacity-factor", "-1"},
        {"seed: 99999999999999999999\n", ":1:seed", "99999999999999999999"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_recipe r;
        struct ms_error err = {0};
        enum ms_status status = read_text(cases[i].text, &r, NULL, &err);
        if (status == MS_OK)
            print_error("accepted: %s\n", cases[i].text);
        assert_int_equal(ms_status_exit(status), 2);
        ms_assert_says(&err, cases[i].where);
        ms_assert_says(&err, cases[i].says);
    }
    struct ms_recipe r;
    struct ms_error err = {0};
    set_defaults(&r);
    assert_int_equal(ms_recipe_read("/no/such/recipe.yaml", &r, NULL, &err), MS_E_INPUT);
    ms_assert_says(&err, "/no/such/recipe.yaml");
}

/* Sets every field to a value that is not its default. */
static void set_all(struct ms_recipe *r, int variant)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    for (size_t i = 0; i < n; i++) {
        const struct ms_field *f = &fields[i];
        char *p = (char *)r + f->offset;
        const int64_t number = variant ? (int64_t)f->max : (int64_t)f->min + 1;
        int names = 0;
        switch (f->kind) {
        case MS_FIELD_BOOL:
            *(bool *)(void *)p = !*(bool *)(void *)p;
            break;
        case MS_FIELD_INT:
            memcpy(p, &number, sizeof(number));
            break;
        case MS_FIELD_REAL:
            *(double *)(void *)p = variant ? 1.0 / 3 : 17.25;
            break;
        case MS_FIELD_ENUM:
            while (f->names[names])
                names++;
            *(int *)(void *)p = variant ? names - 1 : 1;
            break;
        case MS_FIELD_FLAGS:
            while (f->names[names])
                names++;
            *(uint32_t *)(void *)p = variant ? (1u << names) - 1 : 5u;
            break;
        case MS_FIELD_STRING:
            set_text(p, variant ? "it's \"q\" \\n: #x\t, [a] {b} *c &d" : "x y");
            break;
        case MS_FIELD_INT_LIST:
        case MS_FIELD_FIGURE:
        case MS_FIELD_SECTION:
        default:
            fail_msg("kind of %s has no sample", f->name);
        }
    }
}

static void check_round_trip(const struct ms_recipe *recipe)
{
    struct ms_buf text = {0}, again = {0};
    struct ms_error err = {0};
    struct ms_recipe back;
    bool given[MS_RECIPE_FIELDS_MAX] = {false};
    size_t n;
    ms_recipe_fields(&n);
    ms_recipe_print(recipe, &text);
    ms_assert_ok(read_text(text.text, &back, given, &err), &err);
    for (size_t i = 0; i < n; i++)
        assert_true(given[i]);
    assert_memory_equal(&back, recipe, sizeof(back));
    ms_recipe_print(&back, &again);
    assert_string_equal(again.text, text.text);
    ms_buf_free(&text);
    ms_buf_free(&again);
}

static void test_print_reads_back(void **state)
{
    (void)state;
    struct ms_recipe r;
    set_defaults(&r);
    check_round_trip(&r);
    for (int variant = 0; variant < 2; variant++) {
        set_defaults(&r);
        set_all(&r, variant);
        check_round_trip(&r);
    }
    set_defaults(&r);
    memset(r.trace, 'n', MS_TEXT_MAX - 1); /* the longest text */
    set_text(r.model, "a\nb\r\x7f\x01 c:\\dir\\m");
    check_round_trip(&r);
}

/* One line per field, in the order of the table. */
static void test_print_order(void **state)
{
    (void)state;
    struct ms_buf text = {0};
    struct ms_recipe r;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const char *p;
    set_defaults(&r);
    ms_recipe_print(&r, &text);
    p = text.text;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(fields[i].name);
        assert_memory_equal(p, fields[i].name, length);
        assert_memory_equal(p + length, ": ", 2);
        p = strchr(p, '\n');
        assert_non_null(p++);
    }
    assert_string_equal(p, "");
    ms_buf_free(&text);
}

/* --- shipped recipes
 * --------------------------------------------------------------------------- */

/* Every file of model/recipes is MODEL@TOPOLOGY of a built-in model and topology, and applies. */
static void test_shipped_recipes_load(void **state)
{
    (void)state;
    char **names = ms_data_list("model/recipes", ".yaml");
    int n = 0;
    for (; names[n]; n++) {
        static struct ms_arch arch;
        static struct ms_topology topo;
        struct ms_recipe r, before;
        struct ms_error err = {0};
        bool given[MS_RECIPE_FIELDS_MAX] = {false};
        char used[MS_TEXT_MAX], model[100], topology[100];
        set_defaults(&r);
        assert_int_equal(sscanf(names[n], "%99[^@]@%99s", model, topology), 2);
        set_text(r.model, model);
        set_text(r.topology, topology);
        ms_assert_ok(ms_arch_load(r.model, &arch, &err), &err);
        ms_assert_ok(ms_topology_load(r.topology, &topo, &err), &err);
        assert_string_equal(arch.name, r.model);
        before = r;
        ms_assert_ok(ms_recipe_apply_known(&r, given, used, &err), &err);
        assert_string_equal(used, names[n]);
        /* What depends on the user's cluster and run is left alone. */
        assert_int_equal(r.gpus, before.gpus);
        assert_int_equal(r.gbs, before.gbs);
        assert_string_equal(r.model, before.model);
        assert_string_equal(r.topology, before.topology);
        assert_string_equal(r.trace, before.trace);
        assert_int_equal(r.schedule == MS_SCHEDULE_INTERLEAVED, r.vp > 1);
        assert_true(r.mtp <= arch.n_mtp);
        assert_int_equal(arch.n_experts % r.ep, 0);
        check_round_trip(&r);
    }
    assert_true(n >= 15);
    ms_data_list_free(names);
}

/* Megatron-Bridge 26.06, row of DeepSeek-V3 on 256 GB200. */
static void test_known_recipe_gives_way(void **state)
{
    (void)state;
    struct ms_recipe r;
    struct ms_error err = {0};
    bool given[MS_RECIPE_FIELDS_MAX] = {false};
    char used[MS_TEXT_MAX];
    set_defaults(&r);
    set_text(r.topology, "gb200_nvl72");
    given[index_of("topology")] = true;
    ms_assert_ok(ms_recipe_apply_known(&r, given, used, &err), &err);
    assert_string_equal(used, "deepseek-v3@gb200_nvl72");
    assert_int_equal(r.pp, 4);
    assert_int_equal(r.vp, 4);
    assert_int_equal(r.ep, 64);
    assert_int_equal(r.precision, MS_DTYPE_MXFP8);
    assert_int_equal(r.recompute, MS_RECOMPUTE_MLA_UP_PROJ);
    assert_int_equal(r.gpus_per_domain, 64);
    /* The user's own settings win. */
    set_defaults(&r);
    set_text(r.topology, "gb200_nvl72");
    r.ep = 32;
    given[index_of("ep")] = given[index_of("precision")] = true;
    ms_assert_ok(ms_recipe_apply_known(&r, given, used, &err), &err);
    assert_int_equal(r.ep, 32);
    assert_int_equal(r.precision, MS_DTYPE_BF16);
    assert_int_equal(r.pp, 4);
}

static void test_no_known_recipe(void **state)
{
    (void)state;
    static const char *const models[] = {"no-such-model", "./some/config.json", "../recipes/x"};
    for (size_t i = 0; i < 3; i++) {
        struct ms_recipe r, before;
        struct ms_error err = {0};
        bool given[MS_RECIPE_FIELDS_MAX] = {false};
        char used[MS_TEXT_MAX] = "before";
        set_defaults(&r);
        set_text(r.model, models[i]);
        memcpy(&before, &r, sizeof(r));
        ms_assert_ok(ms_recipe_apply_known(&r, given, used, &err), &err);
        assert_string_equal(used, "");
        assert_memory_equal(&r, &before, sizeof(r));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_names_match_enums),
        cmocka_unit_test(test_expert_precision),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_read_faults),
        cmocka_unit_test(test_print_reads_back),
        cmocka_unit_test(test_print_order),
        cmocka_unit_test(test_shipped_recipes_load),
        cmocka_unit_test(test_known_recipe_gives_way),
        cmocka_unit_test(test_no_known_recipe),
    };
    return cmocka_run_group_tests_name("recipe", tests, NULL, NULL);
}
