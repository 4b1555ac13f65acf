/* traffic.c - opens a source of routing, checks what it gives, and owns the arrays of struct ms_traffic.
 * The sources themselves: traffic_generate.c and traffic_trace.c.
 */
#include "traces/traffic_source.h"

#include "base/data.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of many doubles may differ in the last digits; more is a bug. */
static const double CONSERVATION_RTOL = 1e-9;

double ms_traffic_expected_groups(int64_t n_experts, int64_t topk, int64_t groups)
{
    double n = (double)n_experts, g = (double)groups;
    MS_REQUIRE(groups >= 1 && topk >= 0 && topk <= n_experts);
    return g * (1 - ms_traffic_hits_miss(n, topk, n / g));
}

static void check_shape(const struct ms_traffic_shape *s)
{
    MS_REQUIRE(s->n_experts >= 1 && s->topk >= 1 && s->topk <= s->n_experts);
    MS_REQUIRE(s->ep >= 1 && s->n_experts % s->ep == 0);
    MS_REQUIRE(s->n_moe_layers >= 1 && s->n_groups >= 1 && s->n_microbatches >= 1);
    MS_REQUIRE(s->tokens_per_rank >= 1 && s->domain);
    MS_REQUIRE(s->copies >= MS_COPIES_PER_ASSIGNMENT && s->copies <= MS_COPIES_ALL);
}

/* Token numbers of a whole step, and assignments, must fit 62 bits. */
static enum ms_status check_size(const struct ms_traffic_shape *s, struct ms_error *err)
{
    const int64_t factors[] = {s->n_microbatches,  s->n_groups, s->ep,
                               s->tokens_per_rank, s->topk,     2};
    int64_t product = 1;
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        if (__builtin_mul_overflow(product, factors[i], &product))
            return ms_fail(err, MS_E_USAGE, MS_TRAFFIC_OPTION,
                           "%lld microbatches x %lld groups x %lld ranks x %lld tokens x top-%lld "
                           "is more than the limit of 2^62 assignments",
                           (long long)factors[0], (long long)factors[1], (long long)factors[2],
                           (long long)factors[3], (long long)factors[4]);
    }
    return MS_OK;
}

void *ms_traffic_source_new(size_t bytes, const struct ms_traffic_shape *shape)
{
    struct ms_arena *arena = ms_arena_new();
    struct ms_traffic_source *source = ms_arena_alloc(arena, 1, bytes);
    source->arena = arena;
    source->shape = *shape;
    source->shape.domain = NULL;
    ms_traffic_ports_map(arena, shape->ep, shape->domain, &source->map);
    return source;
}

void ms_traffic_sum_ranks(const struct ms_traffic_shape *shape, const double *experts,
                          double factor, double *ranks)
{
    int64_t per_rank = shape->n_experts / shape->ep;
    for (int64_t r = 0; r < shape->ep; r++) {
        double sum = 0;
        for (int64_t e = r * per_rank; e < (r + 1) * per_rank; e++)
            sum += experts[e];
        ranks[r] = sum * factor;
    }
}

enum ms_status ms_traffic_open(const char *spec, const struct ms_traffic_shape *shape,
                               struct ms_traffic_source **out, struct ms_error *err)
{
    static const char DIRICHLET[] = "dirichlet:";
    enum ms_status status;
    check_shape(shape);
    if ((status = check_size(shape, err)) != MS_OK)
        return status;
    if (strcmp(spec, "balanced") == 0) {
        *out = ms_traffic_generate_balanced(shape);
        return MS_OK;
    }
    if (strncmp(spec, DIRICHLET, strlen(DIRICHLET)) == 0)
        return ms_traffic_generate_dirichlet(spec + strlen(DIRICHLET), shape, out, err);
    if (ms_data_is_path(spec, ".npy") || ms_file_exists(spec))
        return ms_traffic_trace_open(spec, shape, out, err);
    return ms_fail(
        err, MS_E_USAGE, MS_TRAFFIC_OPTION,
        "'%.200s' is neither 'balanced' nor 'dirichlet:CV' (as in dirichlet:0.5) nor a file", spec);
}

void ms_traffic_free(struct ms_traffic_source *source)
{
    if (!source)
        return;
    if (source->kind && source->kind->free)
        source->kind->free(source);
    ms_arena_free(source->arena);
}

bool ms_traffic_uniform(const struct ms_traffic_source *source)
{
    return source->kind->uniform;
}

const char *ms_traffic_note(const struct ms_traffic_source *source)
{
    return source->note;
}

static bool equal(double a, double b)
{
    return fabs(a - b) <= CONSERVATION_RTOL * fmax(fabs(a), fabs(b));
}

/* What is sent is received, and every assignment is computed once. */
static void check_conservation(const struct ms_traffic_shape *s, const struct ms_traffic *t)
{
    struct ms_port_copies sum = {0};
    double computed = 0;
    for (int64_t r = 0; r < s->ep; r++) {
        computed += t->rank_tokens[r];
        sum.nvlink_send += t->ports[r].nvlink_send;
        sum.nvlink_receive += t->ports[r].nvlink_receive;
        sum.nic_send += t->ports[r].nic_send;
        sum.nic_receive += t->ports[r].nic_receive;
    }
    MS_REQUIRE(equal(computed, (double)s->ep * (double)s->tokens_per_rank * (double)s->topk));
    MS_REQUIRE(equal(sum.nvlink_send, sum.nvlink_receive));
    MS_REQUIRE(equal(sum.nic_send, sum.nic_receive));
}

void ms_traffic_get(struct ms_traffic_source *source, int64_t layer, int64_t microbatch,
                    int64_t group, struct ms_traffic *out)
{
    const struct ms_traffic_shape *s = &source->shape;
    MS_REQUIRE(layer >= 0 && layer < s->n_moe_layers);
    MS_REQUIRE(microbatch >= 0 && microbatch < s->n_microbatches);
    MS_REQUIRE(group >= 0 && group < s->n_groups);
    source->kind->get(source, layer, microbatch, group, out);
    check_conservation(s, out);
}

struct ms_traffic *ms_traffic_new(const struct ms_traffic_shape *shape)
{
    struct ms_traffic *t = ms_calloc(1, sizeof(*t));
    t->expert_tokens = ms_calloc((size_t)shape->n_experts, sizeof(*t->expert_tokens));
    t->rank_tokens = ms_calloc((size_t)shape->ep, sizeof(*t->rank_tokens));
    t->ports = ms_calloc((size_t)shape->ep, sizeof(*t->ports));
    return t;
}

void ms_traffic_delete(struct ms_traffic *traffic)
{
    if (!traffic)
        return;
    free(traffic->expert_tokens);
    free(traffic->rank_tokens);
    free(traffic->ports);
    free(traffic);
}
