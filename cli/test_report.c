/* test_report.c - reports of a prediction filled by hand: JSON against its schema, CSV against JSON, the
 * table's width, order, sums and reasons. */
#include "tests/mstest.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/report.h"

#include <jansson.h>

/* Seconds by category; uneven on purpose, and their sum is exact to rounding. */
static const double TIMES_S[MS_N_CATEGORIES] = {
    [MS_CAT_ATTENTION] = 0.731,  [MS_CAT_DENSE_FFN] = 0.0137,  [MS_CAT_SHARED_EXPERT] = 0.0591,
    [MS_CAT_ROUTER] = 0.0113,    [MS_CAT_PERMUTE] = 0.107,     [MS_CAT_QUANTIZE] = 0.211,
    [MS_CAT_NORM] = 0.0503,      [MS_CAT_EXPERT_GEMM] = 0.977, [MS_CAT_DISPATCH] = 0.389,
    [MS_CAT_COMBINE] = 0.401,    [MS_CAT_PP_COMM] = 0.0071,    [MS_CAT_LOSS] = 0.0673,
    [MS_CAT_OPTIMIZER] = 0.0031, [MS_CAT_BUBBLE] = 0.217,
};

static void fill_sizes(struct ms_prediction *p)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    ms_fields_defaults(fields, n, &p->recipe);
    p->recipe.gpus = 384;
    p->recipe.ep = 24;
    p->recipe.pp = 3;
    p->recipe.gbs = 3072;
    p->recipe.overlap = MS_OVERLAP_DP;
    p->layout = (struct ms_layout){.tp = 1,
                                   .cp = 2,
                                   .ep = 24,
                                   .etp = 1,
                                   .pp = 3,
                                   .vp = 1,
                                   .dp = 64,
                                   .edp = 5,
                                   .n_microbatches = 48};
    p->cluster = (struct ms_cluster){&p->topo, 384, 70, 6};
    p->topo.domain.gpus = 72;
    snprintf(p->topo.name, sizeof(p->topo.name), "rack");
    snprintf(p->topo.description, sizeof(p->topo.description),
             "a rack, described at such length that the line must be broken somewhere");
    snprintf(p->arch.name, sizeof(p->arch.name), "model-7b");
    p->arch.hidden = 2048;
    p->arch.vocab = 65536;
    p->arch.n_layers = 3;
    p->arch.heads = p->arch.kv_heads = 16;
    p->arch.head_dim = 128;
    p->arch.moe_ffn = 768;
    p->arch.dense_ffn = 6144;
    p->arch.norms_per_layer = 2;
    p->arch.layers[2].moe = true;
    p->arch.n_experts = 96;
    p->arch.topk = 6;
}

static void fill_results(struct ms_prediction *p)
{
    memcpy(p->breakdown_s, TIMES_S, sizeof(TIMES_S));
    for (int i = 0; i < MS_N_CATEGORIES; i++)
        p->step_time_s += TIMES_S[i];
    p->step_time_low_s = 2.917;
    p->step_time_high_s = 3.613;
    p->tokens_per_s_per_gpu = 10097.3;
    p->model_tflops_per_gpu = 987.6;
    p->hardware_tflops_per_gpu = 1011.9;
    p->mfu = 0.3951;
    p->gflop_per_token = 97.81;
    p->bubble_fraction = 0.0671;
    p->exposed_comm_s = 0.7971;
    p->hidden_comm_s = 0.0311;
    p->memory = (struct ms_memory){.capacity_bytes = 288 * 0x1p30,
                                   .peak_bytes = 217.3 * 0x1p30,
                                   .fits = true,
                                   .stage = 1,
                                   .rank = 128,
                                   .parts = {70.1 * 0x1p30, 60.2 * 0x1p30, 20.3 * 0x1p30,
                                             50.4 * 0x1p30, 6.1 * 0x1p30, 10.2 * 0x1p30}};
    p->routing = (struct ms_routing_summary){1.83, 1.31, 5.17, 1.29, 58};
    snprintf(p->routing_note, sizeof(p->routing_note), "loads drawn at random");
    p->tier_bytes_per_rank[MS_TIER_DOMAIN] = 1.371e12;
    p->tier_bytes_per_rank[MS_TIER_SCALE_OUT] = 7.93e10;
    p->critical_rank = 131;
    p->n_tasks = 1234567;
    p->n_replicas = 1;
}

/* Caller frees. */
static struct ms_prediction *prediction(void)
{
    struct ms_prediction *p = ms_calloc(1, sizeof(*p));
    fill_sizes(p);
    fill_results(p);
    snprintf(p->assumptions.text[0], MS_TEXT_MAX, "the \"first\", with a comma");
    snprintf(p->assumptions.text[1], MS_TEXT_MAX,
             "the second is long enough that it has to be broken into two lines of the table, "
             "whatever the width of the bullet in front of it may be");
    p->assumptions.n = 2;
    return p;
}

static const struct ms_scaling_point SCALING[] = {{64, 3.1, 10700.5, 1},
                                                  {384, 3.2449, 10097.3, 0.94363}};

/* --- JSON against docs/schema/predict.schema.json ------------------------------------------------- */

static bool is_type(const json_t *value, const char *type)
{
    return (strcmp(type, "object") == 0 && json_is_object(value)) ||
           (strcmp(type, "array") == 0 && json_is_array(value)) ||
           (strcmp(type, "string") == 0 && json_is_string(value)) ||
           (strcmp(type, "integer") == 0 && json_is_integer(value)) ||
           (strcmp(type, "number") == 0 && json_is_number(value)) ||
           (strcmp(type, "boolean") == 0 && json_is_boolean(value));
}

static bool type_matches(const json_t *value, const json_t *type)
{
    size_t i;
    json_t *one;
    if (json_is_string(type))
        return is_type(value, json_string_value(type));
    json_array_foreach(type, i, one) if (is_type(value, json_string_value(one))) return true;
    return false;
}

static void require(bool ok, const char *path, const char *what)
{
    if (!ok)
        print_error("%s: %s\n", path, what);
    assert_true(ok);
}

static void check_bounds(const json_t *value, const json_t *schema, const char *path)
{
    const json_t *least = json_object_get(schema, "minimum");
    const json_t *above = json_object_get(schema, "exclusiveMinimum");
    const json_t *most = json_object_get(schema, "maximum");
    double x = json_number_value(value);
    require(!least || x >= json_number_value(least), path, "below minimum");
    require(!above || x > json_number_value(above), path, "not above exclusiveMinimum");
    require(!most || x <= json_number_value(most), path, "above maximum");
}

static void check_enum(const json_t *value, const json_t *schema, const char *path)
{
    const json_t *names = json_object_get(schema, "enum");
    bool found = !names;
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) found = found || json_equal(name, value);
    require(found, path, "not in enum");
}

static void check(const json_t *value, const json_t *schema, const char *path);

static void check_object(json_t *value, const json_t *schema, const char *path)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    char below[512];
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, item) require(
        json_object_get(value, json_string_value(item)) != NULL, path, json_string_value(item));
    json_object_foreach(value, key, item)
    {
        const json_t *sub = json_object_get(properties, key);
        snprintf(below, sizeof(below), "%.250s.%.250s", path, key);
        require(sub || !json_is_false(others), below, "not in the schema");
        if (sub || json_is_object(others))
            check(item, sub ? sub : others, below);
    }
}

static void check_array(const json_t *value, const json_t *schema, const char *path)
{
    const json_t *least = json_object_get(schema, "minItems");
    const json_t *most = json_object_get(schema, "maxItems");
    json_int_t n = (json_int_t)json_array_size(value);
    json_t *item;
    size_t i;
    require(!least || n >= json_integer_value(least), path, "too few items");
    require(!most || n <= json_integer_value(most), path, "too many items");
    json_array_foreach(value, i, item) check(item, json_object_get(schema, "items"), path);
}

/* The part of JSON Schema 2020-12 that the file uses. */
static void check(const json_t *value, const json_t *schema, const char *path)
{
    require(type_matches(value, json_object_get(schema, "type")), path, "wrong type");
    check_enum(value, schema, path);
    if (json_is_number(value))
        check_bounds(value, schema, path);
    else if (json_is_object(value))
        check_object((json_t *)(uintptr_t)value, schema, path);
    else if (json_is_array(value))
        check_array(value, schema, path);
}

static json_t *parse_json(const char *text)
{
    json_error_t err;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &err);
    if (!root)
        print_error("line %d: %s\n%s", err.line, err.text, text);
    assert_non_null(root);
    return root;
}

static json_t *json_of(const struct ms_prediction *p, int64_t n_scaling)
{
    struct ms_buf out = {0};
    json_t *root;
    ms_report_json(&(struct ms_report){p, SCALING, n_scaling}, &out);
    assert_int_equal(out.text[out.length - 1], '\n');
    root = parse_json(out.text);
    ms_buf_free(&out);
    return root;
}

static double number_at(const json_t *root, const char *object, const char *key)
{
    const json_t *at = object ? json_object_get(root, object) : root;
    const json_t *value = json_object_get(at, key);
    if (!json_is_number(value))
        print_error("%s.%s is no number\n", object ? object : "", key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void json_fits_its_schema(void **state)
{
    struct ms_prediction *p = prediction();
    struct ms_buf text = {0};
    struct ms_error err;
    json_t *root, *schema;
    (void)state;
    ms_assert_ok(
        ms_file_read(MS_SOURCE_DATADIR "/docs/schema/predict.schema.json", 1 << 20, &text, &err),
        &err);
    schema = parse_json(text.text);
    for (int64_t n = 0; n <= 2; n++) {
        root = json_of(p, n);
        check(root, schema, "$");
        json_decref(root);
    }
    json_decref(schema);
    ms_buf_free(&text);
    free(p);
}

static void breakdown_has_every_category_and_sums_to_the_step(void **state)
{
    struct ms_prediction *p = prediction();
    json_t *root = json_of(p, 0), *item;
    const char *key;
    double sum_s = 0;
    (void)state;
    assert_int_equal(json_object_size(json_object_get(root, "breakdown_s")), MS_N_CATEGORIES);
    json_object_foreach(json_object_get(root, "breakdown_s"), key, item) sum_s +=
        json_number_value(item);
    ms_assert_close(sum_s, number_at(root, NULL, "step_time_s"), 1e-9, 0);
    ms_assert_close(number_at(root, "breakdown_s", "combine"), 0.401, 1e-10, 0);
    json_decref(root);
    free(p);
}

static void json_values_are_those_of_the_prediction(void **state)
{
    struct ms_prediction *p = prediction();
    json_t *root = json_of(p, 2), *points = json_object_get(root, "scaling");
    (void)state;
    assert_string_equal(json_string_value(json_object_get(root, "topology")), "rack");
    assert_string_equal(json_string_value(json_object_get(root, "model")), "model-7b");
    assert_string_equal(json_string_value(json_object_get(root, "fidelity")), "step");
    ms_assert_close(number_at(root, NULL, "gpus"), 384, 0, 0);
    ms_assert_close(number_at(root, NULL, "mfu"), 0.3951, 1e-10, 0);
    ms_assert_close(number_at(root, NULL, "hidden_comm_s"), 0.0311, 1e-10, 0);
    ms_assert_close(number_at(root, "memory", "peak_bytes"), 217.3 * 0x1p30, 1e-9, 0);
    ms_assert_close(number_at(root, "routing", "max_over_mean_rank"), 1.31, 1e-10, 0);
    ms_assert_close(number_at(root, "traffic", "nvlink"), 1.371e12, 1e-10, 0);
    ms_assert_close(number_at(root, "traffic", "scale_out"), 7.93e10, 1e-10, 0);
    assert_int_equal(json_array_size(points), 2);
    ms_assert_close(number_at(json_array_get(points, 1), NULL, "efficiency"), 0.94363, 1e-9, 0);
    ms_assert_close(
        json_number_value(json_array_get(json_object_get(root, "step_time_interval_s"), 1)), 3.613,
        1e-10, 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "assumptions"), 0)),
                        "the \"first\", with a comma");
    json_decref(root);
    free(p);
}

static void config_has_every_setting(void **state)
{
    struct ms_prediction *p = prediction();
    json_t *root = json_of(p, 0), *config = json_object_get(root, "config");
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    (void)state;
    assert_int_equal(json_object_size(config), n);
    for (size_t i = 0; i < n; i++)
        assert_non_null(json_object_get(config, fields[i].name));
    assert_int_equal(json_integer_value(json_object_get(config, "ep")), 24);
    assert_true(json_is_false(json_object_get(config, "no-dedup")));
    assert_string_equal(json_string_value(json_object_get(config, "overlap")), "dp");
    json_decref(root);
    free(p);
}

/* --- CSV ------------------------------------------------------------------------------------------ */

/* Cells of one line by RFC 4180, counted; `*end` is after it. Copies cell `wanted` into `cell`. */
static size_t count_cells(const char *line, size_t wanted, char cell[512], const char **end)
{
    size_t n = 1, at = 0;
    bool quoted = false;
    for (; *line && (quoted || *line != '\n'); line++) {
        if (*line == '"' && quoted && line[1] == '"')
            line++;
        else if (*line == '"') {
            quoted = !quoted;
            continue;
        } else if (*line == ',' && !quoted) {
            n++;
            continue;
        }
        if (n - 1 == wanted && at < 511)
            cell[at++] = *line;
    }
    cell[at] = '\0';
    *end = line + (*line == '\n');
    return n;
}

static void csv_cell(const char *csv, const char *name, char value[512])
{
    const char *row;
    char head[512];
    size_t n = count_cells(csv, 0, head, &row);
    for (size_t i = 0; i < n; i++) {
        const char *end;
        count_cells(csv, i, head, &end);
        if (strcmp(head, name) == 0) {
            count_cells(row, i, value, &end);
            return;
        }
    }
    print_error("no column %s\n", name);
    fail();
}

static void csv_has_as_many_cells_as_headers(void **state)
{
    struct ms_prediction *p = prediction();
    struct ms_buf out = {0};
    const char *row, *end;
    char cell[512];
    size_t n;
    (void)state;
    ms_report_csv(&(struct ms_report){p, SCALING, 2}, &out);
    n = count_cells(out.text, 0, cell, &row);
    assert_true(n > 80);
    assert_int_equal(count_cells(row, 0, cell, &end), n);
    assert_string_equal(cell, "rack");
    assert_int_equal(*end, '\0');
    ms_buf_free(&out);
    free(p);
}

static void csv_cells_stand_under_their_key(void **state)
{
    static const struct {
        const char *column, *value;
    } cells[] = {
        {"gpus", "384"},
        {"config.ep", "24"},
        {"config.no-dedup", "false"},
        {"config.pp-layout", ""},
        {"step_time_interval_s.1", "3.613"},
        {"breakdown_s.combine", "0.401"},
        {"memory.fits", "true"},
        {"traffic.nvlink", "1.371e+12"},
        {"scaling.1.gpus", "384"},
        {"scaling.0.efficiency", "1"},
        {"warnings", ""},
    };
    struct ms_prediction *p = prediction();
    struct ms_buf out = {0};
    char value[512];
    (void)state;
    ms_report_csv(&(struct ms_report){p, SCALING, 2}, &out);
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        csv_cell(out.text, cells[i].column, value);
        assert_string_equal(value, cells[i].value);
    }
    csv_cell(out.text, "assumptions", value);
    assert_non_null(strstr(value, "the \"first\", with a comma; the second"));
    ms_buf_free(&out);
    free(p);
}

/* --- the table ------------------------------------------------------------------------------------ */

static char *table_of(const struct ms_prediction *p, int64_t n_scaling)
{
    struct ms_buf out = {0};
    ms_report_table(&(struct ms_report){p, SCALING, n_scaling}, &out);
    return out.text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("no '%s' in\n%s", part, text);
    assert_non_null(strstr(text, part));
}

static void table_is_80_columns_wide(void **state)
{
    struct ms_prediction *p = prediction();
    char *text;
    (void)state;
    memset(p->arch.name, 'm', MS_TEXT_MAX - 1); /* a file may be called that */
    text = table_of(p, 2);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, "\n");
        if (n > 80)
            print_error("%zu columns: %.*s\n", n, (int)n, line);
        assert_true(n <= 80);
        assert_true(n == 0 || line[n - 1] != ' ');
    }
    free(text);
    free(p);
}

static void table_says_what_was_run_and_what_came_out(void **state)
{
    static const char *const parts[] = {
        "One training step of model-7b on 384 GPUs of rack",
        "3.245 s (80 % interval 2.917 s to 3.613 s)",
        "10,097 tokens/s per GPU; 3,877,363 tokens/s in all",
        "987.6 TFLOPS per GPU; 1011.9 done by the hardware",
        "39.5 % of the dense bf16 peak",
        "217.3 GiB of 288.0 GiB per GPU: fits (70.7 GiB to spare)",
        "384 in 6 NVLink domains, up to 70 of each domain's 72",
        "TP 1 x CP 2 x PP 3 x DP 64",
        "EP 24 x ETP 1 x PP 3 x EDP 5; top 6 of 96 experts",
        "3,072 sequences of 4,096 tokens; 48 microbatches of 1",
        "step: 1,234,567 tasks, 1 replica run",
        "hottest expert 1.830 x mean, hottest rank 1.310 x mean",
        "a token visits 5.170 distinct ranks in 1.290 NVLink domains",
        "1371.000 GB",
        "fullest GPU (rank 128, pipeline stage 1): fits",
        "  - the \"first\", with a comma\n",
    };
    struct ms_prediction *p = prediction();
    char *text = table_of(p, 0);
    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        assert_has(text, parts[i]);
    assert_null(strstr(text, "Weak scaling"));
    assert_null(strstr(text, "Warnings"));
    free(text);
    free(p);
}

/* The rows of the breakdown: name and milliseconds; returns how many before "step". */
static size_t breakdown_rows(const char *text, char names[][64], double *time_ms, double *step_ms)
{
    const char *line = strstr(text, "Where the time goes");
    char *end;
    size_t n = 0;
    assert_non_null(line);
    line += strcspn(line, "\n") + 1;
    line += strcspn(line, "\n") + 1; /* units */
    for (;; line += strcspn(line, "\n") + 1, n++) {
        assert_true(n <= MS_N_CATEGORIES);
        line += strspn(line, " ");
        snprintf(names[n], 64, "%.*s", (int)strcspn(line, " \n"), line);
        time_ms[n] = strtod(line + strcspn(line, " \n"), &end);
        assert_true(end > line + strlen(names[n]));
        if (strcmp(names[n], "step") == 0)
            break;
    }
    *step_ms = time_ms[n];
    return n;
}

static void breakdown_is_sorted_and_sums_up(void **state)
{
    struct ms_prediction *p = prediction();
    char *text = table_of(p, 0), names[MS_N_CATEGORIES + 1][64];
    double time_ms[MS_N_CATEGORIES + 1], step_ms, sum_ms = 0;
    size_t n = breakdown_rows(text, names, time_ms, &step_ms);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        sum_ms += time_ms[i];
        assert_true(i == 0 || time_ms[i] <= time_ms[i - 1]);
    }
    ms_assert_close(sum_ms, step_ms, 0, 1e-3 * MS_N_CATEGORIES);
    ms_assert_close(step_ms, 3244.9, 0, 1e-3);
    assert_string_equal(names[0], "expert_gemm");
    ms_assert_close(time_ms[0], 977, 0, 1e-9);
    free(text);
    free(p);
}

/* CP 2 and DP 64 have communication without exposed time: shown, with a reason. TP 1 has none, and there
 * is no offload: not shown. */
static void configured_dimensions_show_even_at_zero(void **state)
{
    struct ms_prediction *p = prediction();
    char *text = table_of(p, 0), names[MS_N_CATEGORIES + 1][64];
    double time_ms[MS_N_CATEGORIES + 1], step_ms;
    size_t n = breakdown_rows(text, names, time_ms, &step_ms), cp = 0, dp = 0;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        cp += strcmp(names[i], "cp_comm") == 0;
        dp += strcmp(names[i], "dp_comm") == 0;
        assert_string_not_equal(names[i], "tp_comm");
        assert_string_not_equal(names[i], "offload");
    }
    assert_int_equal(cp, 1);
    assert_int_equal(dp, 1);
    assert_int_equal(n, 16);
    assert_has(text, "none exposed on the critical path");
    assert_has(text, "all under compute (--overlap dp,param)");
    free(text);
    free(p);
}

static void does_not_fit_is_said_twice(void **state)
{
    struct ms_prediction *p = prediction();
    char *text;
    (void)state;
    p->memory.peak_bytes = 301.5 * 0x1p30;
    p->memory.fits = false;
    snprintf(p->warnings.text[0], MS_TEXT_MAX, "too much");
    p->warnings.n = 1;
    text = table_of(p, 0);
    assert_has(text, "301.5 GiB of 288.0 GiB per GPU: DOES NOT FIT (13.5 GiB too much)");
    assert_has(text, "pipeline stage 1): DOES NOT FIT");
    assert_has(text, "Warnings\n  - too much\n");
    free(text);
    free(p);
}

static void scaling_has_a_row_for_each_size(void **state)
{
    struct ms_prediction *p = prediction();
    char *text = table_of(p, 2);
    (void)state;
    assert_has(text, "Weak scaling");
    assert_has(text, "   64    3.100 s            10,700         100.0\n");
    assert_has(text, "  384    3.245 s            10,097          94.4\n");
    free(text);
    free(p);
}

static void dense_models_have_no_experts(void **state)
{
    struct ms_prediction *p = prediction();
    char *text;
    (void)state;
    p->arch.n_experts = p->arch.topk = 0;
    p->arch.layers[2].moe = false;
    p->routing = (struct ms_routing_summary){0};
    p->breakdown_s[MS_CAT_DISPATCH] = p->breakdown_s[MS_CAT_COMBINE] = 0;
    text = table_of(p, 0);
    assert_null(strstr(text, "expert parallel"));
    assert_null(strstr(text, "dispatch"));
    assert_null(strstr(text, "combine"));
    assert_null(strstr(text, "Routing"));
    free(text);
    free(p);
}

static void reports_are_deterministic(void **state)
{
    struct ms_prediction *p = prediction();
    char *a = table_of(p, 2), *b = table_of(p, 2);
    (void)state;
    assert_string_equal(a, b);
    free(a);
    free(b);
    free(p);
}

static void convention_counts_mtp_modules(void **state)
{
    struct ms_prediction *p = prediction();
    struct ms_buf one = {0};
    (void)state;
    p->recipe.mtp = 1;
    ms_report_flop_convention(&p->recipe, &one);
    assert_has(one.text, "1 MTP module counted");
    assert_has(one.text, "causal attention counted half");
    ms_buf_free(&one);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_fits_its_schema),
        cmocka_unit_test(breakdown_has_every_category_and_sums_to_the_step),
        cmocka_unit_test(json_values_are_those_of_the_prediction),
        cmocka_unit_test(config_has_every_setting),
        cmocka_unit_test(csv_has_as_many_cells_as_headers),
        cmocka_unit_test(csv_cells_stand_under_their_key),
        cmocka_unit_test(table_is_80_columns_wide),
        cmocka_unit_test(table_says_what_was_run_and_what_came_out),
        cmocka_unit_test(breakdown_is_sorted_and_sums_up),
        cmocka_unit_test(configured_dimensions_show_even_at_zero),
        cmocka_unit_test(does_not_fit_is_said_twice),
        cmocka_unit_test(scaling_has_a_row_for_each_size),
        cmocka_unit_test(dense_models_have_no_experts),
        cmocka_unit_test(reports_are_deterministic),
        cmocka_unit_test(convention_counts_mtp_modules),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
