#include "sim/step.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int64_t ms_step_pattern(const struct ms_step *step, int64_t stage, int64_t cell, int64_t group)
{
    return step->pattern_of[(stage * step->layout->n_cells + cell) * step->groups_per_cell + group];
}

bool ms_step_same_cell(const struct ms_step *step, int64_t stage, int64_t a, int64_t b)
{
    for (int64_t g = 0; g < step->groups_per_cell; g++)
        if (ms_step_pattern(step, stage, a, g) != ms_step_pattern(step, stage, b, g))
            return false;
    return true;
}

/* Domains of the EP group that starts at `first`, renumbered from 0 in order of appearance. */
static void group_domains(const struct ms_layout *l, int64_t first, int64_t *domain)
{
    int64_t base = ms_cluster_domain(l->cluster, first);
    for (int64_t i = 0; i < l->ep; i++)
        domain[i] = ms_cluster_domain(l->cluster, first + i * l->etp) - base;
}

static int64_t find_pattern(struct ms_step *step, const int64_t *domain)
{
    size_t bytes = (size_t)step->layout->ep * sizeof(*domain);
    struct ms_pattern *p;
    for (int64_t i = 0; i < step->n_patterns; i++)
        if (memcmp(step->patterns[i].domain, domain, bytes) == 0)
            return i;
    step->patterns =
        ms_realloc(step->patterns, (size_t)step->n_patterns + 1, sizeof(*step->patterns));
    p = &step->patterns[step->n_patterns];
    *p = (struct ms_pattern){.domain = ms_calloc((size_t)step->layout->ep, sizeof(*domain))};
    memcpy(p->domain, domain, bytes);
    return step->n_patterns++;
}

static void find_patterns(struct ms_step *step)
{
    const struct ms_layout *l = step->layout;
    int64_t *domain = ms_calloc((size_t)l->ep, sizeof(*domain)), n = 0;
    step->pattern_of =
        ms_calloc((size_t)(l->pp * l->n_cells * step->groups_per_cell), sizeof(*step->pattern_of));
    for (int64_t stage = 0; stage < l->pp; stage++)
        for (int64_t cell = 0; cell < l->n_cells; cell++)
            for (int64_t g = 0; g < step->groups_per_cell; g++) {
                group_domains(l, ms_layout_cell_first(l, stage, cell) + g * l->ep * l->etp, domain);
                step->pattern_of[n++] = find_pattern(step, domain);
            }
    free(domain);
}

static enum ms_copies copies_of(const struct ms_recipe *r)
{
    if (r->dispatcher == MS_DISPATCHER_ALLGATHER)
        return MS_COPIES_ALL;
    if (r->dispatcher == MS_DISPATCHER_ALLTOALL || r->no_dedup)
        return MS_COPIES_PER_ASSIGNMENT;
    return MS_COPIES_PER_RANK;
}

static enum ms_status open_routing(struct ms_step *step, struct ms_error *err)
{
    const struct ms_arch *a = step->arch;
    const struct ms_layout *l = step->layout;
    struct ms_traffic_shape shape = {
        .n_experts = a->n_experts,
        .topk = a->topk,
        .n_moe_layers = ms_arch_n_moe_layers(a),
        .ep = l->ep,
        .n_groups = l->edp,
        .n_microbatches = l->n_microbatches,
        .tokens_per_rank = l->tokens_per_rank,
        .copies = copies_of(step->recipe),
        .seed = (uint64_t)step->recipe->seed,
    };
    step->uniform = true;
    if (!shape.n_moe_layers)
        return MS_OK;
    step->traffic = ms_calloc((size_t)step->groups_per_cell, sizeof(*step->traffic));
    for (int64_t g = 0; g < step->groups_per_cell; g++)
        step->traffic[g] = ms_traffic_new(&shape);
    for (int64_t i = 0; i < step->n_patterns; i++) {
        enum ms_status status;
        shape.domain = step->patterns[i].domain;
        status = ms_traffic_open(step->recipe->trace, &shape, &step->patterns[i].traffic, err);
        if (status != MS_OK)
            return status;
        step->uniform &= ms_traffic_uniform(step->patterns[i].traffic);
    }
    return MS_OK;
}

/* A setting that this system or model cannot run, with what would. */
struct impossible {
    bool is_so;
    const char *option;
    const char *text;
};

static enum ms_status check_settings(const struct ms_step *s, struct ms_error *err)
{
    const struct ms_recipe *r = s->recipe;
    const struct ms_device *d = s->device;
    const struct impossible cases[] = {
        {d->gemm[r->precision].peak.value <= 0, "--precision",
         "this GPU has no units for this format; bf16 works everywhere"},
        {d->gemm[ms_recipe_expert_dtype(r)].peak.value <= 0, "--expert-precision",
         "this GPU has no units for this format; bf16 works everywhere"},
        {r->fp8_attention && d->attention_forward_fp8.value <= 0, "--fp8-attention",
         "there is no FP8 attention kernel for this GPU; leave it out"},
        {r->expert_gemm == MS_EXPERT_GEMM_PADDED && r->capacity_factor <= 0, "--expert-gemm",
         "padded needs --capacity-factor over 0"},
        {r->capacity_factor > 0 && r->expert_gemm != MS_EXPERT_GEMM_PADDED, "--capacity-factor",
         "needs --expert-gemm padded (dropless computes what arrives)"},
        {r->mtp > 0 && s->arch->n_mtp == 0, "--mtp",
         "this model has no multi-token-prediction modules; use --mtp 0"},
        {r->fidelity == MS_FIDELITY_FLOW && (s->cluster->gpus > 64 || s->cluster->n_domains > 1),
         "--fidelity",
         "flow simulates every pair of ranks and is for at most 64 GPUs of one domain; use step"},
        {r->zero == 3 && s->layout->pp > 1, "--zero",
         "3 (FSDP) is modelled without pipeline stages; use --pp 1"},
        {(r->overlap & MS_OVERLAP_WGRAD) && !(r->overlap & MS_OVERLAP_EP), "--overlap",
         "wgrad needs ep (deferred weight gradients fill the gaps of the expert exchange)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (cases[i].is_so)
            return ms_fail(err, MS_E_USAGE, cases[i].option, "%s", cases[i].text);
    return MS_OK;
}

enum ms_status ms_step_init(const struct ms_recipe *recipe, const struct ms_arch *arch,
                            const struct ms_layout *layout, const struct ms_device *device,
                            struct ms_step *out, struct ms_error *err)
{
    struct ms_step step = {.recipe = recipe,
                           .arch = arch,
                           .cluster = layout->cluster,
                           .layout = layout,
                           .device = device};
    enum ms_status status = check_settings(&step, err);
    if (status != MS_OK)
        return status;
    step.groups_per_cell = layout->cell_ranks / (layout->ep * layout->etp);
    for (int kind = 0; kind < MS_N_GROUPS; kind++)
        step.worst_group[kind] = ms_layout_worst_group(layout, (enum ms_group_kind)kind);
    find_patterns(&step);
    status = open_routing(&step, err);
    if (status != MS_OK) {
        ms_step_fini(&step);
        return status;
    }
    *out = step;
    return MS_OK;
}

void ms_step_fini(struct ms_step *step)
{
    for (int64_t i = 0; i < step->n_patterns; i++) {
        free(step->patterns[i].domain);
        ms_traffic_free(step->patterns[i].traffic);
    }
    free(step->patterns);
    free(step->pattern_of);
    for (int64_t g = 0; step->traffic && g < step->groups_per_cell; g++)
        ms_traffic_delete(step->traffic[g]);
    free(step->traffic);
    *step = (struct ms_step){0};
}
