/* report.c - a prediction as sections of text for people, 80 columns wide. Each section is one function;
 * ms_report_table() lists them in order. What scripts read is report_json.c. */
#include "cli/report.h"

#include "base/table.h"
#include "cli/wrap.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum {
    KEY_COLUMNS = 12, /* of the names in front of values */
    BAR_COLUMNS = 32, /* of the bar of a part that takes the whole step */
};

/* "  key         text", wrapped. */
MS_PRINTF(3, 4)
static void line(struct ms_buf *out, const char *key, const char *fmt, ...)
{
    char whole[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(whole, sizeof(whole), fmt, args);
    va_end(args);
    ms_buf_printf(out, "  %-*s", KEY_COLUMNS, key);
    ms_wrap(whole, 2 + KEY_COLUMNS, 2 + KEY_COLUMNS, out);
}

static void heading(struct ms_buf *out, const char *text)
{
    ms_buf_printf(out, "\n%s\n", text);
}

/* A buffer for one number as text. */
struct number {
    char text[48];
};

/* 1234567 as "1,234,567". */
static struct number grouped(double x)
{
    struct number digits, out;
    size_t n, at = 0;
    snprintf(digits.text, sizeof(digits.text), "%.0f", x < 0 ? 0 : x);
    n = strlen(digits.text);
    for (size_t i = 0; i < n && at + 2 < sizeof(out.text); i++) {
        out.text[at++] = digits.text[i];
        if ((n - i) % 3 == 1 && i + 1 < n)
            out.text[at++] = ',';
    }
    out.text[at] = '\0';
    return out;
}

static struct number grouped_int(int64_t n)
{
    return grouped((double)n);
}

static struct number duration(double time_s)
{
    struct number out;
    if (time_s >= 100)
        snprintf(out.text, sizeof(out.text), "%.1f s", time_s);
    else if (time_s >= 1)
        snprintf(out.text, sizeof(out.text), "%.3f s", time_s);
    else if (time_s >= 1e-3)
        snprintf(out.text, sizeof(out.text), "%.3f ms", time_s * 1e3);
    else
        snprintf(out.text, sizeof(out.text), "%.3f us", time_s * 1e6);
    return out;
}

/* A buffer for one setting as text. */
struct setting {
    char text[MS_TEXT_MAX];
};

void ms_report_setting(const struct ms_recipe *recipe, const char *name, struct ms_buf *out)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const struct ms_field *field = ms_fields_find(fields, n, name);
    MS_REQUIRE(field);
    ms_field_format(field, recipe, out);
}

static struct setting setting(const struct ms_recipe *recipe, const char *name)
{
    struct setting out = {""};
    struct ms_buf text = {0};
    ms_report_setting(recipe, name, &text);
    snprintf(out.text, sizeof(out.text), "%s", text.length ? text.text : "");
    ms_buf_free(&text);
    return out;
}

void ms_report_flop_convention(const struct ms_recipe *recipe, struct ms_buf *out)
{
    ms_buf_puts(out, "multiply-add is 2 flop; forward and backward are 3 x forward; causal "
                     "attention counted half; ");
    ms_buf_printf(out, "%lld MTP module%s counted; ", (long long)recipe->mtp,
                  recipe->mtp == 1 ? "" : "s");
    ms_buf_puts(out, "router and recomputation not counted");
}

static void memory_verdict(const struct ms_memory *m, struct ms_buf *out)
{
    double spare = (m->capacity_bytes - m->peak_bytes) / 0x1p30;
    line(out, "memory", "%.1f GiB of %.1f GiB per GPU: %s (%.1f GiB %s)", m->peak_bytes / 0x1p30,
         m->capacity_bytes / 0x1p30, m->fits ? "fits" : "DOES NOT FIT", fabs(spare),
         spare >= 0 ? "to spare" : "too much");
}

static void section_headline(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    struct ms_buf title = {0};
    ms_buf_printf(&title, "One training step of %s on %s GPUs of %s", p->arch.name,
                  grouped_int(p->recipe.gpus).text, p->topo.name);
    ms_wrap(title.text, 0, 2, out);
    ms_buf_puts(out, "\n");
    line(out, "step time", "%s (80 %% interval %s to %s)", duration(p->step_time_s).text,
         duration(p->step_time_low_s).text, duration(p->step_time_high_s).text);
    line(out, "throughput", "%s tokens/s per GPU; %s tokens/s in all",
         grouped(p->tokens_per_s_per_gpu).text,
         grouped(p->tokens_per_s_per_gpu * (double)p->recipe.gpus).text);
    line(out, "model", "%.1f TFLOPS per GPU; %.1f done by the hardware, recomputation included",
         p->model_tflops_per_gpu, p->hardware_tflops_per_gpu);
    line(out, "MFU", "%.1f %% of the dense %s peak", 100 * p->mfu,
         setting(&p->recipe, "precision").text);
    memory_verdict(&p->memory, out);
    ms_buf_free(&title);
}

static void line_parallel(const struct ms_prediction *p, struct ms_buf *out)
{
    const struct ms_layout *l = &p->layout;
    line(out, "parallel",
         "TP %lld x CP %lld x PP %lld x DP %lld, %lld virtual stage%s per rank%s%s",
         (long long)l->tp, (long long)l->cp, (long long)l->pp, (long long)l->dp, (long long)l->vp,
         l->vp == 1 ? "" : "s", p->recipe.pp_layout[0] ? "; layout " : "", p->recipe.pp_layout);
    if (p->arch.n_experts)
        line(out, "experts", "EP %lld x ETP %lld x PP %lld x EDP %lld; top %lld of %lld experts",
             (long long)l->ep, (long long)l->etp, (long long)l->pp, (long long)l->edp,
             (long long)p->arch.topk, (long long)p->arch.n_experts);
}

static void line_batch(const struct ms_prediction *p, struct ms_buf *out)
{
    const struct ms_recipe *r = &p->recipe;
    line(out, "batch", "%s sequences of %s tokens; %s microbatches of %lld per data-parallel rank",
         grouped_int(r->gbs).text, grouped_int(r->seq_len).text,
         grouped_int(p->layout.n_microbatches).text, (long long)r->mbs);
}

/* Only a fused dispatcher holds SMs of its own choice. */
static void line_exchange(const struct ms_recipe *r, struct ms_buf *out)
{
    struct number sms = {""};
    if (r->dispatcher >= MS_DISPATCHER_DEEPEP)
        snprintf(sms.text, sizeof(sms.text), ", %lld SMs", (long long)r->dispatcher_sms);
    line(out, "dispatcher", "%s%s%s; expert GEMMs %s%s", setting(r, "dispatcher").text, sms.text,
         r->no_dedup ? ", one copy per expert" : "", setting(r, "expert-gemm").text,
         r->fused_expert_mlp ? ", fused" : "");
}

static void lines_how(const struct ms_prediction *p, struct ms_buf *out)
{
    const struct ms_recipe *r = &p->recipe;
    const bool moe = p->arch.n_experts > 0;
    line(out, "precision", "%s%s%s%s%s", setting(r, "precision").text, moe ? "; experts " : "",
         moe ? MS_DTYPE_NAMES[ms_recipe_expert_dtype(r)] : "",
         r->fp8_attention ? "; attention core FP8" : "",
         r->fp8_output_proj ? "; output head too" : "");
    if (moe)
        line_exchange(r, out);
    line(out, "schedule", "%s; overlap %s; CUDA graphs %s", setting(r, "schedule").text,
         setting(r, "overlap").text, setting(r, "cuda-graph").text);
    line(out, "state", "ZeRO %lld; gradients reduced in %s; recomputed %s", (long long)r->zero,
         setting(r, "grad-reduce-dtype").text, setting(r, "recompute").text);
    line(out, "recipe", "%s", p->known_recipe[0] ? p->known_recipe : "none that comes with moesim");
    line(out, "fidelity", "%s: %s tasks, %s replica%s run", setting(r, "fidelity").text,
         grouped_int(p->n_tasks).text, grouped_int(p->n_replicas).text,
         p->n_replicas == 1 ? "" : "s");
}

static void section_what(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    struct ms_params params;
    ms_arch_params(&p->arch, &params);
    heading(out, "What was run");
    line(out, "model", "%s: %.4g B parameters, %.4g B active; %.4g GFLOP/token", p->arch.name,
         params.total / 1e9, params.active / 1e9, p->gflop_per_token);
    line(out, "system", "%s: %s", p->topo.name, p->topo.description);
    line(out, "GPUs", "%s in %s NVLink domain%s, up to %lld of each domain's %lld",
         grouped_int(p->cluster.gpus).text, grouped_int(p->cluster.n_domains).text,
         p->cluster.n_domains == 1 ? "" : "s", (long long)p->cluster.gpus_per_domain,
         (long long)p->topo.domain.gpus);
    line_parallel(p, out);
    line_batch(p, out);
    lines_how(p, out);
}

/* Which parallel dimension causes which communication, and what hides it. */
static const struct {
    enum ms_category category;
    enum ms_group_kind group, other_group;
    uint32_t overlap;
    const char *option; /* --overlap value that hides it; NULL if the schedule does */
} DIMENSIONS[] = {
    {MS_CAT_DISPATCH, MS_GROUP_EP, MS_GROUP_EP, MS_OVERLAP_EP, "ep"},
    {MS_CAT_COMBINE, MS_GROUP_EP, MS_GROUP_EP, MS_OVERLAP_EP, "ep"},
    {MS_CAT_TP_COMM, MS_GROUP_TP, MS_GROUP_ETP, MS_OVERLAP_TP, "tp"},
    {MS_CAT_CP_COMM, MS_GROUP_CP, MS_GROUP_CP, 0, NULL},
    {MS_CAT_PP_COMM, MS_GROUP_PP, MS_GROUP_PP, 0, NULL},
    {MS_CAT_DP_COMM, MS_GROUP_DP, MS_GROUP_EDP, MS_OVERLAP_DP | MS_OVERLAP_PARAM, "dp,param"},
};
enum { N_DIMENSIONS = sizeof(DIMENSIONS) / sizeof(DIMENSIONS[0]) };

/* Why a configured dimension's communication takes no exposed time; NULL if it is not configured. */
static const char *why_zero(const struct ms_prediction *p, enum ms_category category,
                            char out[MS_TEXT_MAX])
{
    for (size_t i = 0; i < N_DIMENSIONS; i++) {
        if (DIMENSIONS[i].category != category ||
            (ms_layout_group_size(&p->layout, DIMENSIONS[i].group) <= 1 &&
             ms_layout_group_size(&p->layout, DIMENSIONS[i].other_group) <= 1))
            continue;
        if (category <= MS_CAT_COMBINE && !p->arch.n_experts)
            return NULL;
        if (p->recipe.overlap & DIMENSIONS[i].overlap)
            snprintf(out, MS_TEXT_MAX, "all under compute (--overlap %s)", DIMENSIONS[i].option);
        else
            snprintf(out, MS_TEXT_MAX, "none exposed on the critical path");
        return out;
    }
    return NULL;
}

/* Categories by time, longest first; equal ones in their own order. */
static void sort_categories(const double *time_s, int order[MS_N_CATEGORIES])
{
    for (int i = 0; i < MS_N_CATEGORIES; i++) {
        int j = i;
        for (; j > 0 && time_s[order[j - 1]] < time_s[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

static void breakdown_row(struct ms_table *table, const char *name, double time_s, double share,
                          const char *note)
{
    static const char bar[BAR_COLUMNS + 1] = "################################";
    ms_table_cell(table, "%s", name);
    ms_table_cell(table, "%.3f", time_s * 1e3);
    ms_table_cell(table, "%.1f", 100 * share);
    ms_table_cell(table, "%s%.*s", note, (int)lround(fmin(fmax(share, 0), 1) * BAR_COLUMNS), bar);
}

static void section_breakdown(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    struct ms_table *table = ms_table_new("lrrl");
    int order[MS_N_CATEGORIES];
    double sum_s = 0;
    char why[MS_TEXT_MAX];
    sort_categories(p->breakdown_s, order);
    heading(out, "Where the time goes (critical rank; communication only where exposed)");
    ms_table_cell(table, "%s", "");
    ms_table_cell(table, "ms");
    ms_table_cell(table, "%%");
    ms_table_cell(table, "%s", "");
    for (int i = 0; i < MS_N_CATEGORIES; i++) {
        double time_s = p->breakdown_s[order[i]];
        const char *note = time_s != 0 ? "" : why_zero(p, (enum ms_category)order[i], why);
        sum_s += time_s;
        if (note)
            breakdown_row(table, MS_CATEGORY_NAMES[order[i]], time_s, time_s / p->step_time_s,
                          note);
    }
    ms_table_cell(table, "step");
    ms_table_cell(table, "%.3f", sum_s * 1e3);
    ms_table_cell(table, "%.1f", 100 * sum_s / p->step_time_s);
    ms_table_cell(table, "sum of the above");
    ms_table_print(table, 2, out);
    ms_table_free(table);
    line(out, "comm", "%s exposed, %s under compute; critical rank %lld",
         duration(p->exposed_comm_s).text, duration(p->hidden_comm_s).text,
         (long long)p->critical_rank);
}

static void section_memory(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_memory *m = &report->prediction->memory;
    const struct {
        const char *name;
        double bytes;
    } rows[] = {
        {"weights", m->parts.weights},     {"gradients", m->parts.gradients},
        {"optimizer", m->parts.optimizer}, {"activations", m->parts.activations},
        {"buffers", m->parts.buffers},     {"reserve", m->parts.reserve},
        {"peak", m->peak_bytes},           {"capacity", m->capacity_bytes},
    };
    struct ms_table *table = ms_table_new("lrr");
    ms_buf_printf(out, "\nMemory of the fullest GPU (rank %lld, pipeline stage %lld): %s\n",
                  (long long)m->rank, (long long)m->stage, m->fits ? "fits" : "DOES NOT FIT");
    ms_table_cell(table, "%s", "");
    ms_table_cell(table, "GiB");
    ms_table_cell(table, "%% of GPU");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ms_table_cell(table, "%s", rows[i].name);
        ms_table_cell(table, "%.2f", rows[i].bytes / 0x1p30);
        ms_table_cell(table, "%.1f", 100 * rows[i].bytes / m->capacity_bytes);
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
}

static void section_routing(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    const struct ms_routing_summary *r = &p->routing;
    if (!r->layers)
        return;
    heading(out, "Routing (means over MoE layers)");
    line(out, "source", "%s; %lld MoE layers", p->routing_note, (long long)r->layers);
    line(out, "imbalance", "hottest expert %.3f x mean, hottest rank %.3f x mean",
         r->max_over_mean_expert, r->max_over_mean_rank);
    line(out, "spread", "a token visits %.3f distinct ranks in %.3f NVLink domains",
         r->distinct_ranks_per_token, r->distinct_domains_per_token);
}

static void section_traffic(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    heading(out, "Traffic (sent by the mean rank in a step)");
    for (int tier = 0; tier < MS_N_TIERS; tier++) {
        double bytes = p->tier_bytes_per_rank[tier];
        if (tier == MS_TIER_GPU && bytes == 0)
            continue;
        line(out, MS_TIER_NAMES[tier], "%.3f GB, %.2f GB/s over the step", bytes / 1e9,
             bytes / 1e9 / p->step_time_s);
    }
}

static void section_scaling(const struct ms_report *report, struct ms_buf *out)
{
    static const char *const head[] = {"GPUs", "step time", "tokens/s per GPU", "efficiency %"};
    struct ms_table *table;
    if (!report->n_scaling)
        return;
    heading(out, "Weak scaling (batch in proportion; efficiency against the first)");
    table = ms_table_new("rrrr");
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (int64_t i = 0; i < report->n_scaling; i++) {
        const struct ms_scaling_point *point = &report->scaling[i];
        ms_table_cell(table, "%lld", (long long)point->gpus);
        ms_table_cell(table, "%s", duration(point->step_time_s).text);
        ms_table_cell(table, "%s", grouped(point->tokens_per_s_per_gpu).text);
        ms_table_cell(table, "%.1f", 100 * point->efficiency);
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
}

static void bullets(struct ms_buf *out, const char *title, const struct ms_notes *notes)
{
    if (!notes->n)
        return;
    heading(out, title);
    for (int64_t i = 0; i < notes->n; i++) {
        ms_buf_puts(out, "  - ");
        ms_wrap(notes->text[i], 4, 4, out);
    }
}

static void section_notes(const struct ms_report *report, struct ms_buf *out)
{
    const struct ms_prediction *p = report->prediction;
    struct ms_buf convention = {0};
    bullets(out, "Warnings", &p->warnings);
    bullets(out, "Extrapolated", &p->extrapolated);
    bullets(out, "Assumptions", &p->assumptions);
    heading(out, "How FLOP are counted");
    ms_report_flop_convention(&p->recipe, &convention);
    ms_buf_puts(out, "  ");
    ms_wrap(convention.text, 2, 2, out);
    ms_buf_free(&convention);
}

void ms_report_table(const struct ms_report *report, struct ms_buf *out)
{
    static void (*const sections[])(const struct ms_report *, struct ms_buf *) = {
        section_headline, section_what,    section_breakdown, section_memory,
        section_routing,  section_traffic, section_scaling,   section_notes,
    };
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        sections[i](report, out);
}
