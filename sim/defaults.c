#include "sim/defaults.h"

#include "base/data.h"

#include <string.h>

static size_t field_index(const char *name)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n), *f = ms_fields_find(fields, n, name);
    MS_REQUIRE(f);
    return (size_t)(f - fields);
}

static bool is_given(const struct ms_prediction *p, const char *name)
{
    return p->given[field_index(name)];
}

static bool sizes_given(const struct ms_prediction *p)
{
    static const char *const sizes[] = {"tp", "pp", "vp", "cp", "ep", "etp"};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (is_given(p, sizes[i]))
            return true;
    return false;
}

/* The widest EP that is a power of two, divides the experts and the GPUs, and stays inside one domain. */
static int64_t choose_ep(const struct ms_prediction *p)
{
    const struct ms_recipe *r = &p->recipe;
    int64_t ep = 1, domain = r->gpus_per_domain ? r->gpus_per_domain : p->topo.domain.gpus;
    while (p->arch.n_experts && 2 * ep <= domain && p->arch.n_experts % (2 * ep) == 0 &&
           r->gpus % (2 * ep) == 0)
        ep *= 2;
    return ep;
}

/* True if the recipe makes a legal layout whose memory fits. */
static bool fits(const struct ms_prediction *p, const struct ms_recipe *recipe)
{
    struct ms_cluster cluster;
    struct ms_layout layout;
    struct ms_memory memory;
    if (ms_cluster_init(&p->topo, recipe->gpus, recipe->gpus_per_domain,
                        recipe->spare_gpus_per_domain, &cluster, NULL) != MS_OK ||
        ms_layout_init(&cluster, &p->arch, recipe, &layout, NULL) != MS_OK)
        return false;
    ms_memory_predict(&layout, recipe, &p->device, 1, &memory);
    return memory.fits;
}

static void choose_sizes(struct ms_prediction *p)
{
    struct ms_recipe *r = &p->recipe;
    int64_t domain = p->topo.domain.gpus;
    r->ep = choose_ep(p);
    if (!r->gpus_per_domain && r->gpus > domain && domain % r->ep) {
        r->gpus_per_domain = domain / r->ep * r->ep; /* no group is split over two domains */
        ms_notes_add(&p->assumptions,
                     "%lld of %lld GPUs of each NVLink domain are used, so that EP "
                     "groups stay whole",
                     (long long)r->gpus_per_domain, (long long)domain);
    }
    r->vp = 1;
    r->schedule = MS_SCHEDULE_1F1B;
    r->pp_layout[0] = '\0';
    for (r->pp = 1; 2 * r->pp <= p->arch.n_layers && 2 * r->pp * r->ep <= r->gpus; r->pp *= 2)
        if (fits(p, r))
            break;
    ms_notes_add(&p->assumptions,
                 "EP %lld and PP %lld were chosen: the widest EP inside one NVLink "
                 "domain, the fewest stages that fit",
                 (long long)r->ep, (long long)r->pp);
}

static void choose_formats(struct ms_prediction *p)
{
    struct ms_recipe *r = &p->recipe;
    bool mxfp8 = p->device.gemm[MS_DTYPE_MXFP8].peak.value > 0;
    if (!is_given(p, "precision")) {
        r->precision = mxfp8 ? MS_DTYPE_MXFP8 : MS_DTYPE_BF16;
        ms_notes_add(&p->assumptions, "precision %s was chosen", MS_DTYPE_NAMES[r->precision]);
    }
    if (!is_given(p, "dispatcher") && r->ep > 1) {
        r->dispatcher = MS_DISPATCHER_HYBRIDEP;
        ms_notes_add(&p->assumptions, "dispatcher hybridep was chosen");
    }
    if (!is_given(p, "cuda-graph"))
        r->cuda_graph = MS_GRAPH_FULL;
}

/* A setting of the shipped recipe that does not go with one the user gave gives way. */
static void reconcile(struct ms_prediction *p)
{
    struct ms_recipe *r = &p->recipe;
    bool stages = is_given(p, "pp") || is_given(p, "vp") || is_given(p, "mtp");
    if (stages && !is_given(p, "pp-layout"))
        r->pp_layout[0] = '\0';
    if (is_given(p, "pp") && !is_given(p, "vp") && !is_given(p, "pp-layout"))
        r->vp = 1;
    if (!is_given(p, "schedule"))
        r->schedule = r->vp > 1 ? MS_SCHEDULE_INTERLEAVED : MS_SCHEDULE_1F1B;
    if (is_given(p, "precision") && r->precision == MS_DTYPE_BF16 && !is_given(p, "fp8-attention"))
        r->fp8_attention = false;
}

enum ms_status ms_defaults_fill(struct ms_prediction *out, struct ms_error *err)
{
    struct ms_recipe *r = &out->recipe;
    enum ms_status status;
    bool legal;
    if (!ms_data_is_path(r->model, ".json")) /* however it was spelled */
        snprintf(r->model, sizeof(r->model), "%s", out->arch.name);
    status = ms_recipe_apply_known(r, out->given, out->known_recipe, err);
    if (status != MS_OK)
        return status;
    reconcile(out);
    if (!is_given(out, "gbs") || r->gbs == 0) {
        r->gbs = 16 * r->gpus;
        ms_notes_add(&out->assumptions, "global batch: 16 sequences per GPU");
    }
    legal = out->known_recipe[0] && r->gpus % (r->etp * r->ep * r->pp) == 0;
    if (legal || sizes_given(out)) {
        if (out->known_recipe[0])
            ms_notes_add(&out->assumptions, "settings not given come from the recipe %s",
                         out->known_recipe);
        return MS_OK;
    }
    out->known_recipe[0] = '\0';
    choose_formats(out);
    choose_sizes(out);
    choose_formats(out);
    return MS_OK;
}
