#include "sim/predict.h"

#include "base/mem.h"
#include "base/table.h"
#include "sim/account.h"
#include "sim/defaults.h"
#include "sim/engine.h"
#include "sim/estimate.h"
#include "sim/platform.h"
#include "sim/timeline.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations of an 80 % interval of a normal distribution. */
static const double Z_80 = 1.2815515655446004;
/* What the closed forms leave out, as a fraction of the step: root mean square of ln(measured / predicted) on
 * the two published steps that test_predict.c checks (0.20 and 0.19; both predictions are low). */
static const double MODEL_FORM_DEVIATION = 0.2;

void ms_notes_add(struct ms_notes *notes, const char *fmt, ...)
{
    va_list args;
    char text[MS_TEXT_MAX];
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    for (int64_t i = 0; i < notes->n; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    if (notes->n < MS_NOTES_MAX)
        memcpy(notes->text[notes->n++], text, sizeof(text));
}

/* Everything a prediction needs while it is made. */
struct maker {
    struct ms_prediction *out;
    struct ms_step step;
    struct ms_program *program;
    struct ms_schedule_times times;
};

static enum ms_status load(struct ms_prediction *out, struct ms_error *err)
{
    struct ms_recipe *r = &out->recipe;
    enum ms_status status = ms_topology_load(r->topology, &out->topo, err);
    if (status == MS_OK)
        status = ms_arch_load(r->model, &out->arch, err);
    if (status == MS_OK)
        status = ms_device_load(&out->topo, &out->device, err);
    if (status == MS_OK)
        status = ms_defaults_fill(out, err);
    if (status == MS_OK) /* after the recipe, which may say how many GPUs of a domain are used */
        status = ms_cluster_init(&out->topo, r->gpus, r->gpus_per_domain, r->spare_gpus_per_domain,
                                 &out->cluster, err);
    if (status == MS_OK)
        status = ms_layout_init(&out->cluster, &out->arch, r, &out->layout, err);
    return status;
}

static double max_over_mean(const double *x, int64_t n)
{
    double max = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        max = fmax(max, x[i]);
        sum += x[i];
    }
    return sum > 0 ? max * (double)n / sum : 1;
}

/* Mean over MoE layers of what microbatch 0 of the first group sees; the hottest rank of all layers. */
static void summarise_routing(struct maker *m, double *hottest)
{
    struct ms_routing_summary *s = &m->out->routing;
    const struct ms_layout *l = &m->out->layout;
    *hottest = 1;
    s->layers = ms_arch_n_moe_layers(&m->out->arch);
    if (!s->layers)
        return;
    for (int64_t layer = 0; layer < s->layers; layer++) {
        struct ms_traffic *t = m->step.traffic[0];
        double share = 1 / (double)s->layers, rank;
        ms_traffic_get(m->step.patterns[0].traffic, layer, 0, 0, t);
        rank = max_over_mean(t->rank_tokens, l->ep);
        s->max_over_mean_expert += share * max_over_mean(t->expert_tokens, m->out->arch.n_experts);
        s->max_over_mean_rank += share * rank;
        s->distinct_ranks_per_token += share * t->distinct_ranks;
        s->distinct_domains_per_token += share * t->distinct_domains;
        *hottest = fmax(*hottest, rank);
    }
    snprintf(m->out->routing_note, sizeof(m->out->routing_note), "%s",
             ms_traffic_note(m->step.patterns[0].traffic));
}

static void dump_traffic(struct maker *m, struct ms_buf *out)
{
    static const char *const head[] = {"layer",          "max/mean expert", "max/mean rank",
                                       "distinct ranks", "domains",         "NVLink in max",
                                       "NIC in max"};
    struct ms_table *table = ms_table_new("rrrrrrr");
    const struct ms_layout *l = &m->out->layout;
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (int64_t layer = 0; layer < m->out->routing.layers; layer++) {
        struct ms_traffic *t = m->step.traffic[0];
        double nvlink = 0, nic = 0;
        ms_traffic_get(m->step.patterns[0].traffic, layer, 0, 0, t);
        for (int64_t i = 0; i < l->ep; i++) {
            nvlink = fmax(nvlink, t->ports[i].nvlink_receive);
            nic = fmax(nic, t->ports[i].nic_receive);
        }
        ms_table_cell(table, "%lld", (long long)layer);
        ms_table_cell(table, "%.4f", max_over_mean(t->expert_tokens, m->out->arch.n_experts));
        ms_table_cell(table, "%.4f", max_over_mean(t->rank_tokens, l->ep));
        ms_table_cell(table, "%.4f", t->distinct_ranks);
        ms_table_cell(table, "%.4f", t->distinct_domains);
        ms_table_cell(table, "%.1f", nvlink);
        ms_table_cell(table, "%.1f", nic);
    }
    ms_buf_printf(out,
                  "Expert-parallel group 0, microbatch 0: %lld ranks, %lld tokens each; copies "
                  "per dispatch (%s)\n",
                  (long long)l->ep, (long long)l->tokens_per_rank, m->out->routing_note);
    ms_table_print(table, 0, out);
    ms_table_free(table);
}

static void dump(struct maker *m, const struct ms_predict_extras *extras)
{
    switch (extras->dump ? extras->dump_what : MS_DUMP_NONE) {
    case MS_DUMP_LAYOUT:
        ms_layout_print(&m->out->layout, extras->dump);
        break;
    case MS_DUMP_TRAFFIC:
        dump_traffic(m, extras->dump);
        break;
    case MS_DUMP_OPS:
        ms_ops_print(&m->step, extras->dump);
        break;
    case MS_DUMP_PLATFORM:
        ms_platform_write(&m->out->cluster, false, NULL, extras->dump);
        break;
    default:
        break;
    }
}

static enum ms_status run(struct maker *m, struct ms_error *err)
{
    int fidelity = m->out->recipe.fidelity;
    m->program = ms_program_new(&m->step, fidelity == MS_FIDELITY_FLOW);
    m->times.start_s = ms_calloc(m->program->n_tasks, sizeof(double));
    m->times.end_s = ms_calloc(m->program->n_tasks, sizeof(double));
    if (fidelity == MS_FIDELITY_ESTIMATE)
        return ms_estimate_run(m->program, &m->times, err);
    return ms_engine_run(m->program, &m->times, err);
}

static void fill_rates(struct ms_prediction *out, const struct ms_program *program)
{
    const struct ms_recipe *r = &out->recipe;
    const struct ms_figure *peaks[MS_N_DTYPES] = {
        [MS_DTYPE_BF16] = &out->topo.gpu.peak_bf16,
        [MS_DTYPE_FP8_CS] = &out->topo.gpu.peak_fp8,
        [MS_DTYPE_FP8_BLOCK] = &out->topo.gpu.peak_fp8,
        [MS_DTYPE_MXFP8] = &out->topo.gpu.peak_mxfp8,
        [MS_DTYPE_NVFP4] = &out->topo.gpu.peak_nvfp4,
    };
    struct ms_flops flops;
    ms_arch_flops(&out->arch, r->seq_len, r->mtp, &flops);
    out->gflop_per_token = flops.total_train * 1e-9;
    out->tokens_per_s_per_gpu = (double)(r->gbs * r->seq_len) / out->step_time_s / (double)r->gpus;
    out->model_tflops_per_gpu = out->tokens_per_s_per_gpu * flops.total_train * 1e-12;
    out->hardware_tflops_per_gpu = program->work_flop_per_rank / out->step_time_s * 1e-12;
    out->mfu = out->model_tflops_per_gpu * 1e12 / peaks[r->precision]->value;
    out->tier_bytes_per_rank[MS_TIER_DOMAIN] = program->nvlink_bytes_per_rank;
    out->tier_bytes_per_rank[MS_TIER_SCALE_OUT] = program->nic_bytes_per_rank;
}

static void fill_times(struct ms_prediction *out, const struct maker *m)
{
    struct ms_account account;
    double deviation;
    ms_account_make(m->program, &m->times, &account);
    out->step_time_s = account.step_time_s;
    memcpy(out->breakdown_s, account.breakdown_s, sizeof(out->breakdown_s));
    out->bubble_fraction = account.breakdown_s[MS_CAT_BUBBLE] / account.step_time_s;
    out->hidden_comm_s = account.hidden_comm_s;
    for (int c = 0; c < MS_N_CATEGORIES; c++)
        if (ms_category_is_comm((enum ms_category)c))
            out->exposed_comm_s += account.breakdown_s[c];
    deviation = sqrt(account.variance_s2 / (account.step_time_s * account.step_time_s) +
                     MODEL_FORM_DEVIATION * MODEL_FORM_DEVIATION);
    out->step_time_low_s = account.step_time_s * exp(-Z_80 * deviation);
    out->step_time_high_s = account.step_time_s * exp(Z_80 * deviation);
    out->critical_rank =
        ms_layout_cell_first(&out->layout, account.stage, m->program->replicas[account.replica]);
    out->n_tasks = (int64_t)m->program->n_tasks;
    out->n_replicas = m->program->n_replicas;
    if (account.extrapolated)
        ms_notes_add(&out->extrapolated,
                     "some kernels have shapes outside those their constants were measured on");
}

static void fill_notes(struct ms_prediction *out, const struct ms_step *step)
{
    const struct ms_recipe *r = &out->recipe;
    struct ms_group ep = step->worst_group[MS_GROUP_EP];
    if (out->routing.layers)
        ms_notes_add(&out->assumptions, "routing: %s", out->routing_note);
    ms_notes_add(&out->assumptions,
                 "kernel times from constants of %s; the interval adds %.0f %%, the error on two "
                 "published steps, for what the model leaves out",
                 out->topo.calibration, 100 * MODEL_FORM_DEVIATION);
    if (out->n_replicas < out->layout.n_cells)
        ms_notes_add(&out->assumptions, "%lld of %lld replicas simulated, %s",
                     (long long)out->n_replicas, (long long)out->layout.n_cells,
                     out->n_replicas == MS_REPLICAS_MAX
                         ? "a sample: the slowest of all may be slower"
                         : "the others are alike");
    if (r->precision != MS_DTYPE_BF16)
        ms_notes_add(&out->assumptions, "BF16 stay: router, %s%sexchange, gradients of activations",
                     r->fp8_attention ? "" : "core attention, ",
                     r->fp8_output_proj ? "" : "output head, ");
    if (r->mtp)
        ms_notes_add(&out->assumptions, "an MTP module routes as the last MoE layer does");
    if (!out->memory.fits)
        ms_notes_add(&out->warnings, "does not fit: stage %lld needs %.1f GiB of %.1f GiB",
                     (long long)out->memory.stage, out->memory.peak_bytes / 0x1p30,
                     out->memory.capacity_bytes / 0x1p30);
    if (ep.n_domains > 1)
        ms_notes_add(&out->warnings,
                     "EP groups of %lld ranks cross up to %lld NVLink domains (of %lld GPUs used)",
                     (long long)ep.n_ranks, (long long)ep.n_domains,
                     (long long)out->cluster.gpus_per_domain);
}

/* A result that cannot be is a fault, never an answer. */
static enum ms_status check_result(const struct ms_prediction *out, struct ms_error *err)
{
    double exchanged =
        out->tier_bytes_per_rank[MS_TIER_DOMAIN] + out->tier_bytes_per_rank[MS_TIER_SCALE_OUT];
    if (!isfinite(out->step_time_s) || out->step_time_s <= 0 || !isfinite(out->mfu))
        return ms_fail(err, MS_E_RUNTIME, NULL, "internal error: step time %g s", out->step_time_s);
    if (out->mfu > 1)
        return ms_fail(err, MS_E_RUNTIME, NULL, "internal error: %.1f %% of peak", 100 * out->mfu);
    if (out->layout.ep > 1 && out->routing.layers && exchanged <= 0)
        return ms_fail(err, MS_E_RUNTIME, NULL, "internal error: EP %lld without communication",
                       (long long)out->layout.ep);
    return MS_OK;
}

static enum ms_status make(struct maker *m, const struct ms_predict_extras *extras,
                           struct ms_error *err)
{
    struct ms_prediction *out = m->out;
    double hottest;
    enum ms_status status =
        ms_step_init(&out->recipe, &out->arch, &out->layout, &out->device, &m->step, err);
    if (status != MS_OK)
        return status;
    summarise_routing(m, &hottest);
    ms_memory_predict(&out->layout, &out->recipe, &out->device, hottest, &out->memory);
    dump(m, extras);
    status = run(m, err);
    if (status != MS_OK)
        return status;
    fill_times(out, m);
    fill_rates(out, m->program);
    fill_notes(out, &m->step);
    if (extras->timeline) {
        if (out->recipe.fidelity == MS_FIDELITY_FLOW)
            return ms_fail(err, MS_E_USAGE, "--timeline", "is for fidelity estimate and step");
        if (extras->timeline_replica >= m->program->n_replicas)
            return ms_fail(
                err, MS_E_USAGE, "--timeline-replica", "%lld is not simulated; there are 0 to %lld",
                (long long)extras->timeline_replica, (long long)m->program->n_replicas - 1);
        ms_timeline_write(m->program, &m->times, extras->timeline_replica, extras->timeline);
    }
    return check_result(out, err);
}

enum ms_status ms_predict(const struct ms_recipe *recipe, const bool *given,
                          const struct ms_predict_extras *extras, struct ms_prediction *out,
                          struct ms_error *err)
{
    static const struct ms_predict_extras none;
    struct maker m = {.out = out};
    enum ms_status status;
    size_t n;
    ms_recipe_fields(&n);
    memset(out, 0, sizeof(*out));
    out->recipe = *recipe;
    memcpy(out->given, given, n * sizeof(*given));
    status = load(out, err);
    if (status == MS_OK)
        status = make(&m, extras ? extras : &none, err);
    ms_program_free(m.program);
    free(m.times.start_s);
    free(m.times.end_s);
    ms_step_fini(&m.step);
    return status;
}

enum ms_status ms_predict_scaling(const struct ms_recipe *recipe, const bool *given,
                                  const struct ms_int_list *gpus, struct ms_scaling_point *out,
                                  struct ms_error *err)
{
    struct ms_prediction *p = ms_calloc(1, sizeof(*p));
    enum ms_status status = MS_OK;
    for (int64_t i = 0; i < gpus->n && status == MS_OK; i++) {
        struct ms_recipe r = *recipe;
        r.gpus = gpus->at[i];
        r.gbs = recipe->gbs * r.gpus / recipe->gpus;
        status = ms_predict(&r, given, NULL, p, err);
        if (status == MS_OK)
            out[i] = (struct ms_scaling_point){r.gpus, p->step_time_s, p->tokens_per_s_per_gpu, 1};
        if (status == MS_OK && i > 0)
            out[i].efficiency = p->tokens_per_s_per_gpu / out[0].tokens_per_s_per_gpu;
    }
    free(p);
    return status;
}
