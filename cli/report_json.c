/* report_json.c - a prediction for scripts. walk() goes through the keys once; a sink turns them into JSON
 * or, with nested keys joined by dots, into the header and the row of a CSV file. */
#include "cli/report.h"

#include "base/jsonw.h"

#include <math.h>
#include <string.h>

enum { KEY_MAX = 256, DEPTH_MAX = 8 };

/* Where values go. In CSV an element of a list is named by its index. */
struct sink {
    struct ms_jsonw *json; /* NULL: CSV */
    struct ms_buf head, row;
    char path[KEY_MAX]; /* of the open objects and lists, each followed by a dot */
    int depth;
    struct {
        size_t path_length; /* before it was opened */
        int64_t n_items;
    } open[DEPTH_MAX];
};

static void cell(struct ms_buf *out, const char *text)
{
    const char *separator = out->length ? "," : "";
    if (!strpbrk(text, ",\"\r\n")) {
        ms_buf_printf(out, "%s%s", separator, text);
        return;
    }
    ms_buf_printf(out, "%s\"", separator);
    for (; *text; text++)
        ms_buf_printf(out, "%s%c", *text == '"' ? "\"" : "", *text);
    ms_buf_puts(out, "\"");
}

/* The key, or the index of a list's next element. */
static void key_text(struct sink *s, const char *key, char out[KEY_MAX])
{
    int64_t index = s->open[s->depth].n_items++;
    if (key)
        snprintf(out, KEY_MAX, "%s", key);
    else
        snprintf(out, KEY_MAX, "%lld", (long long)index);
}

static void column(struct sink *s, const char *key, const char *value)
{
    char last[KEY_MAX], name[2 * KEY_MAX];
    key_text(s, key, last);
    snprintf(name, sizeof(name), "%s%s", s->path, last);
    cell(&s->head, name);
    cell(&s->row, value);
}

static void sink_open(struct sink *s, const char *key, char bracket)
{
    char last[KEY_MAX];
    size_t length = strlen(s->path);
    if (s->json) {
        ms_jsonw_open(s->json, key, bracket);
        return;
    }
    key_text(s, key, last);
    MS_REQUIRE(s->depth + 1 < DEPTH_MAX);
    s->depth++;
    s->open[s->depth].path_length = length;
    s->open[s->depth].n_items = 0;
    snprintf(s->path + length, sizeof(s->path) - length, "%s.", last);
}

static void sink_close(struct sink *s, char bracket)
{
    if (s->json) {
        ms_jsonw_close(s->json, bracket);
        return;
    }
    s->path[s->open[s->depth--].path_length] = '\0';
}

static void sink_string(struct sink *s, const char *key, const char *text)
{
    if (s->json)
        ms_jsonw_string(s->json, key, text);
    else
        column(s, key, text);
}

static void sink_number(struct sink *s, const char *key, double value)
{
    char text[64];
    MS_REQUIRE(isfinite(value));
    snprintf(text, sizeof(text), "%.10g", value);
    if (s->json)
        ms_jsonw_number(s->json, key, value);
    else
        column(s, key, text);
}

static void sink_int(struct sink *s, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    if (s->json)
        ms_jsonw_int(s->json, key, value);
    else
        column(s, key, text);
}

static void sink_bool(struct sink *s, const char *key, bool value)
{
    if (s->json)
        ms_jsonw_bool(s->json, key, value);
    else
        column(s, key, value ? "true" : "false");
}

/* A list of sentences; in CSV one cell, since their number differs from run to run. */
static void sink_notes(struct sink *s, const char *key, const struct ms_notes *notes)
{
    struct ms_buf joined = {0};
    if (s->json) {
        ms_jsonw_open(s->json, key, '[');
        for (int64_t i = 0; i < notes->n; i++)
            ms_jsonw_string(s->json, NULL, notes->text[i]);
        ms_jsonw_close(s->json, ']');
        return;
    }
    ms_buf_puts(&joined, "");
    for (int64_t i = 0; i < notes->n; i++)
        ms_buf_printf(&joined, "%s%s", i ? "; " : "", notes->text[i]);
    column(s, key, joined.text);
    ms_buf_free(&joined);
}

/* Settings keep their kind; those with a unit are text, so that they can be fed back. */
static void walk_setting(struct sink *s, const struct ms_field *field, const void *object)
{
    const char *at = (const char *)object + field->offset;
    struct ms_buf text = {0};
    ms_buf_puts(&text, "");
    ms_field_format(field, object, &text);
    if (field->kind == MS_FIELD_BOOL)
        sink_bool(s, field->name, *(const bool *)(const void *)at);
    else if (field->kind == MS_FIELD_INT)
        sink_int(s, field->name, *(const int64_t *)(const void *)at);
    else if (field->kind == MS_FIELD_REAL && field->quantity == MS_QUANTITY_RATIO)
        sink_number(s, field->name, *(const double *)(const void *)at);
    else
        sink_string(s, field->name, text.text);
    ms_buf_free(&text);
}

static void walk_config(struct sink *s, const struct ms_recipe *recipe)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    sink_open(s, "config", '{');
    for (size_t i = 0; i < n; i++)
        walk_setting(s, &fields[i], recipe);
    sink_close(s, '}');
}

static void walk_rates(struct sink *s, const struct ms_prediction *p)
{
    struct ms_buf convention = {0};
    sink_number(s, "step_time_s", p->step_time_s);
    sink_open(s, "step_time_interval_s", '[');
    sink_number(s, NULL, p->step_time_low_s);
    sink_number(s, NULL, p->step_time_high_s);
    sink_close(s, ']');
    sink_number(s, "tokens_per_s_per_gpu", p->tokens_per_s_per_gpu);
    sink_number(s, "model_tflops_per_gpu", p->model_tflops_per_gpu);
    sink_number(s, "hardware_tflops_per_gpu", p->hardware_tflops_per_gpu);
    sink_number(s, "mfu", p->mfu);
    sink_number(s, "gflop_per_token", p->gflop_per_token);
    ms_report_flop_convention(&p->recipe, &convention);
    sink_string(s, "flop_convention", convention.text);
    ms_buf_free(&convention);
    sink_number(s, "bubble_fraction", p->bubble_fraction);
}

static void walk_breakdown(struct sink *s, const struct ms_prediction *p)
{
    sink_open(s, "breakdown_s", '{');
    for (int i = 0; i < MS_N_CATEGORIES; i++)
        sink_number(s, MS_CATEGORY_NAMES[i], p->breakdown_s[i]);
    sink_close(s, '}');
    sink_number(s, "exposed_comm_s", p->exposed_comm_s);
    sink_number(s, "hidden_comm_s", p->hidden_comm_s);
}

static void walk_memory(struct sink *s, const struct ms_memory *m)
{
    sink_open(s, "memory", '{');
    sink_number(s, "capacity_bytes", m->capacity_bytes);
    sink_number(s, "peak_bytes", m->peak_bytes);
    sink_bool(s, "fits", m->fits);
    sink_int(s, "stage", m->stage);
    sink_int(s, "rank", m->rank);
    sink_open(s, "parts", '{');
    sink_number(s, "weights", m->parts.weights);
    sink_number(s, "gradients", m->parts.gradients);
    sink_number(s, "optimizer", m->parts.optimizer);
    sink_number(s, "activations", m->parts.activations);
    sink_number(s, "buffers", m->parts.buffers);
    sink_number(s, "reserve", m->parts.reserve);
    sink_close(s, '}');
    sink_close(s, '}');
}

static void walk_routing(struct sink *s, const struct ms_prediction *p)
{
    const struct ms_routing_summary *r = &p->routing;
    sink_open(s, "routing", '{');
    sink_string(s, "source", p->recipe.trace);
    sink_int(s, "layers", r->layers);
    sink_number(s, "max_over_mean_expert", r->max_over_mean_expert);
    sink_number(s, "max_over_mean_rank", r->max_over_mean_rank);
    sink_number(s, "distinct_ranks_per_token", r->distinct_ranks_per_token);
    sink_number(s, "distinct_domains_per_token", r->distinct_domains_per_token);
    sink_close(s, '}');
}

/* Bytes that the mean rank sends in a step, by tier. */
static void walk_traffic(struct sink *s, const struct ms_prediction *p)
{
    static const char *const keys[MS_N_TIERS] = {
        [MS_TIER_GPU] = "gpu", [MS_TIER_DOMAIN] = "nvlink", [MS_TIER_SCALE_OUT] = "scale_out"};
    sink_open(s, "traffic", '{');
    for (int i = 0; i < MS_N_TIERS; i++)
        sink_number(s, keys[i], p->tier_bytes_per_rank[i]);
    sink_close(s, '}');
}

static void walk_scaling(struct sink *s, const struct ms_report *report)
{
    sink_open(s, "scaling", '[');
    for (int64_t i = 0; i < report->n_scaling; i++) {
        const struct ms_scaling_point *point = &report->scaling[i];
        sink_open(s, NULL, '{');
        sink_int(s, "gpus", point->gpus);
        sink_number(s, "step_time_s", point->step_time_s);
        sink_number(s, "tokens_per_s_per_gpu", point->tokens_per_s_per_gpu);
        sink_number(s, "efficiency", point->efficiency);
        sink_close(s, '}');
    }
    sink_close(s, ']');
}

static void walk(struct sink *s, const struct ms_report *report)
{
    const struct ms_prediction *p = report->prediction;
    struct ms_buf fidelity = {0};
    ms_report_setting(&p->recipe, "fidelity", &fidelity);
    sink_string(s, "topology", p->topo.name);
    sink_int(s, "gpus", p->recipe.gpus);
    sink_string(s, "model", p->arch.name);
    walk_config(s, &p->recipe);
    sink_string(s, "fidelity", fidelity.text);
    walk_rates(s, p);
    walk_breakdown(s, p);
    walk_memory(s, &p->memory);
    walk_routing(s, p);
    walk_traffic(s, p);
    walk_scaling(s, report);
    sink_notes(s, "warnings", &p->warnings);
    sink_notes(s, "extrapolated", &p->extrapolated);
    sink_notes(s, "assumptions", &p->assumptions);
    ms_buf_free(&fidelity);
}

void ms_report_json(const struct ms_report *report, struct ms_buf *out)
{
    struct ms_jsonw json = {.out = out};
    struct sink sink = {.json = &json};
    ms_jsonw_open(&json, NULL, '{');
    walk(&sink, report);
    ms_jsonw_close(&json, '}');
    ms_buf_puts(out, "\n");
}

void ms_report_csv(const struct ms_report *report, struct ms_buf *out)
{
    struct sink sink = {0};
    walk(&sink, report);
    ms_buf_printf(out, "%s\n%s\n", sink.head.text, sink.row.text);
    ms_buf_free(&sink.head);
    ms_buf_free(&sink.row);
}
