/* traffic_generate.c - routing without a trace: balanced, and Dirichlet loads of a given spread.
 *
 * Random streams: each draw has its own splitmix64 stream, seeded by a hash of what it is for, so that
 * results do not depend on the order of calls. splitmix64: Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014, with the constants of Vigna's reference code.
 */
#include "traces/traffic_source.h"

#include "base/units.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t next(void *state)
{
    uint64_t *s = state;
    *s += 0x9e3779b97f4a7c15u;
    return mix(*s);
}

static void stream_set(void *state, unsigned long seed)
{
    *(uint64_t *)state = seed;
}

static unsigned long stream_get(void *state)
{
    return (unsigned long)(next(state) >> 32);
}

static double stream_get_double(void *state)
{
    return (double)(next(state) >> 11) * 0x1p-53;
}

static const gsl_rng_type SPLITMIX64 = {
    .name = "splitmix64",
    .max = 0xffffffff,
    .min = 0,
    .size = sizeof(uint64_t),
    .set = stream_set,
    .get = stream_get,
    .get_double = stream_get_double,
};

/* The seed of the stream for `keys` under the user's seed. */
static uint64_t stream_seed(uint64_t seed, const int64_t *keys, size_t n)
{
    uint64_t h = next(&seed);
    for (size_t i = 0; i < n; i++) {
        h ^= (uint64_t)keys[i];
        h = next(&h);
    }
    return h;
}

/* Fills `out` from experts' loads and the expected hits of one token, the same for every source rank. */
static void expect_traffic(const struct ms_traffic_source *source, struct ms_traffic_hits *hits,
                           struct ms_traffic *out)
{
    const struct ms_traffic_shape *s = &source->shape;
    const struct ms_traffic_map *map = &source->map;
    double tokens = (double)s->tokens_per_rank;
    ms_traffic_sum_ranks(s, out->expert_tokens, 1, out->rank_tokens);
    out->distinct_ranks = 0;
    out->distinct_domains = 0;
    for (int64_t r = 0; r < s->ep; r++) {
        out->distinct_ranks += hits->ranks[r];
        hits->ranks[r] *= tokens;
        hits->assignments[r] *= tokens;
    }
    for (int64_t d = 0; d < map->n_domains; d++) {
        out->distinct_domains += hits->domains[d];
        hits->domains[d] *= tokens;
    }
    if (s->copies == MS_COPIES_ALL) {
        ms_traffic_ports_all(map, tokens, out->ports);
        return;
    }
    memset(out->ports, 0, (size_t)s->ep * sizeof(*out->ports));
    for (int64_t r = 0; r < s->ep; r++)
        ms_traffic_ports_add(map, s->copies, r, hits, out->ports);
}

struct balanced {
    struct ms_traffic_source base;
    struct ms_traffic *traffic; /* the same for every call */
};

static void balanced_get(struct ms_traffic_source *source, int64_t layer, int64_t microbatch,
                         int64_t group, struct ms_traffic *out)
{
    const struct ms_traffic_shape *s = &source->shape;
    const struct ms_traffic *t = ((const struct balanced *)source)->traffic;
    (void)layer;
    (void)microbatch;
    (void)group;
    memcpy(out->expert_tokens, t->expert_tokens, (size_t)s->n_experts * sizeof(*t->expert_tokens));
    memcpy(out->rank_tokens, t->rank_tokens, (size_t)s->ep * sizeof(*t->rank_tokens));
    memcpy(out->ports, t->ports, (size_t)s->ep * sizeof(*t->ports));
    out->distinct_ranks = t->distinct_ranks;
    out->distinct_domains = t->distinct_domains;
}

static void balanced_free(struct ms_traffic_source *source)
{
    ms_traffic_delete(((struct balanced *)source)->traffic);
}

static const struct ms_traffic_source_kind BALANCED = {
    .uniform = true, .get = balanced_get, .free = balanced_free};

struct ms_traffic_source *ms_traffic_generate_balanced(const struct ms_traffic_shape *shape)
{
    struct balanced *b = ms_traffic_source_new(sizeof(*b), shape);
    const struct ms_traffic_map *map = &b->base.map;
    struct ms_traffic_hits hits = ms_traffic_hits_new(b->base.arena, map);
    double n = (double)shape->n_experts, per_rank = n / (double)shape->ep;
    double k = (double)shape->topk;
    b->base.kind = &BALANCED;
    snprintf(b->base.note, sizeof(b->base.note),
             "balanced routing: every expert gets the same, exact expectations");
    b->traffic = ms_traffic_new(shape);
    for (int64_t e = 0; e < shape->n_experts; e++)
        b->traffic->expert_tokens[e] = (double)shape->ep * (double)shape->tokens_per_rank * k / n;
    for (int64_t r = 0; r < shape->ep; r++) {
        hits.ranks[r] = 1 - ms_traffic_hits_miss(n, shape->topk, per_rank);
        hits.assignments[r] = k * per_rank / n;
    }
    for (int64_t d = 0; d < map->n_domains; d++) {
        double ranks = (double)(map->first[d + 1] - map->first[d]);
        hits.domains[d] = 1 - ms_traffic_hits_miss(n, shape->topk, ranks * per_rank);
    }
    expect_traffic(&b->base, &hits, b->traffic);
    return &b->base;
}

struct dirichlet {
    struct ms_traffic_source base;
    double *loads;     /* [n_moe_layers][n_experts] shares, sum 1, each at most 1 / topk */
    unsigned *counts;  /* [n_experts] scratch */
    double *inclusion; /* [n_experts] scratch */
    struct ms_traffic_hits hits;
    struct ms_traffic_hits_model model;
};

__extension__ typedef unsigned __int128 wide_uint;

/* No expert gets more than one copy of each token: what is above `limit` goes to the others by their room. */
static void cut_counts(unsigned *counts, int64_t n, unsigned limit)
{
    uint64_t surplus = 0, room = 0, room_so_far = 0, given = 0;
    for (int64_t e = 0; e < n; e++) {
        if (counts[e] > limit) {
            surplus += counts[e] - limit;
            counts[e] = limit;
        }
        room += limit - counts[e];
    }
    MS_REQUIRE(surplus <= room);
    for (int64_t e = 0; e < n && surplus; e++) {
        uint64_t due;
        room_so_far += limit - counts[e];
        due = (uint64_t)((wide_uint)surplus * room_so_far / room);
        counts[e] += (unsigned)(due - given);
        given = due;
    }
}

static void dirichlet_get(struct ms_traffic_source *source, int64_t layer, int64_t microbatch,
                          int64_t group, struct ms_traffic *out)
{
    struct dirichlet *d = (struct dirichlet *)source;
    const struct ms_traffic_shape *s = &source->shape;
    const int64_t keys[] = {1, layer, microbatch, group};
    uint64_t state = stream_seed(s->seed, keys, sizeof(keys) / sizeof(keys[0]));
    const gsl_rng rng = {.type = &SPLITMIX64, .state = &state};
    int64_t tokens = s->ep * s->tokens_per_rank;
    gsl_ran_multinomial(&rng, (size_t)s->n_experts, (unsigned)(tokens * s->topk),
                        d->loads + layer * s->n_experts, d->counts);
    cut_counts(d->counts, s->n_experts, (unsigned)tokens);
    for (int64_t e = 0; e < s->n_experts; e++) {
        out->expert_tokens[e] = d->counts[e];
        d->inclusion[e] = d->counts[e] / (double)tokens;
    }
    ms_traffic_hits_from_inclusion(&d->model, d->inclusion, &d->hits);
    expect_traffic(source, &d->hits, out);
}

static const struct ms_traffic_source_kind DIRICHLET = {.uniform = false, .get = dirichlet_get};

/* Shares above `limit` are cut to it and the others grow in proportion, until none is above. */
static bool cut_shares(double *shares, int64_t n, double limit)
{
    bool cut = false, again = true;
    while (again) {
        double fixed = 0, rest = 0;
        again = false;
        for (int64_t e = 0; e < n; e++) {
            if (shares[e] >= limit)
                fixed += limit;
            else
                rest += shares[e];
        }
        for (int64_t e = 0; e < n; e++) {
            again = again || shares[e] > limit;
            shares[e] = shares[e] >= limit || rest <= 0 ? fmin(shares[e], limit)
                                                        : shares[e] * (1 - fixed) / rest;
        }
        cut = cut || again;
    }
    return cut;
}

/* Draws the load of each layer; returns in how many a share was cut. */
static int64_t draw_loads(struct dirichlet *d, double cv)
{
    const struct ms_traffic_shape *s = &d->base.shape;
    double n = (double)s->n_experts;
    double alpha = cv > 0 ? ((n - 1) / (cv * cv) - 1) / n : 0;
    int64_t n_cut = 0;
    for (int64_t e = 0; e < s->n_experts; e++)
        d->inclusion[e] = alpha;
    for (int64_t layer = 0; layer < s->n_moe_layers; layer++) {
        double *loads = d->loads + layer * s->n_experts;
        const int64_t keys[] = {0, layer};
        uint64_t state = stream_seed(s->seed, keys, sizeof(keys) / sizeof(keys[0]));
        const gsl_rng rng = {.type = &SPLITMIX64, .state = &state};
        if (alpha > 0)
            gsl_ran_dirichlet(&rng, (size_t)s->n_experts, d->inclusion, loads);
        for (int64_t e = 0; e < s->n_experts && !(alpha > 0); e++)
            loads[e] = 1 / n;
        n_cut += cut_shares(loads, s->n_experts, 1 / (double)s->topk);
    }
    return n_cut;
}

static enum ms_status parse_cv(const char *text, const struct ms_traffic_shape *shape, double *cv,
                               struct ms_error *err)
{
    double limit = sqrt((double)shape->n_experts - 1), value;
    int64_t assignments = shape->ep * shape->tokens_per_rank * shape->topk;
    if (ms_units_parse(text, MS_QUANTITY_RATIO, MS_TRAFFIC_OPTION, &value, NULL) != MS_OK)
        return ms_fail(err, MS_E_USAGE, MS_TRAFFIC_OPTION,
                       "'%.60s' is no coefficient of variation (as in dirichlet:0.5)", text);
    if (value > 0 && value >= limit)
        return ms_fail(err, MS_E_USAGE, MS_TRAFFIC_OPTION,
                       "a coefficient of variation of %g is out of reach: with %lld experts it is "
                       "below %g",
                       value, (long long)shape->n_experts, limit);
    if (assignments > UINT_MAX)
        return ms_fail(err, MS_E_USAGE, MS_TRAFFIC_OPTION,
                       "%lld assignments per group and microbatch are more than dirichlet's limit "
                       "of %u; use 'balanced' or fewer tokens",
                       (long long)assignments, UINT_MAX);
    *cv = value;
    return MS_OK;
}

enum ms_status ms_traffic_generate_dirichlet(const char *cv_text,
                                             const struct ms_traffic_shape *shape,
                                             struct ms_traffic_source **out, struct ms_error *err)
{
    size_t n = (size_t)shape->n_experts;
    struct dirichlet *d;
    struct ms_arena *arena;
    int64_t n_cut;
    double cv = 0;
    enum ms_status status = parse_cv(cv_text, shape, &cv, err);
    if (status != MS_OK)
        return status;
    d = ms_traffic_source_new(sizeof(*d), shape);
    arena = d->base.arena;
    d->base.kind = &DIRICHLET;
    d->loads = ms_arena_alloc(arena, (size_t)shape->n_moe_layers * n, sizeof(*d->loads));
    d->counts = ms_arena_alloc(arena, n, sizeof(*d->counts));
    d->inclusion = ms_arena_alloc(arena, n, sizeof(*d->inclusion));
    d->hits = ms_traffic_hits_new(arena, &d->base.map);
    ms_traffic_hits_model_init(arena, &d->base.map, shape->n_experts, shape->topk, &d->model);
    n_cut = draw_loads(d, cv);
    n = (size_t)snprintf(d->base.note, sizeof(d->base.note),
                         "generated routing: Dirichlet expert loads with CV %g in each layer, "
                         "constant in time, plus sampling noise (seed %llu)",
                         cv, (unsigned long long)shape->seed);
    if (n_cut)
        snprintf(d->base.note + n, sizeof(d->base.note) - n,
                 "; in %lld layers an expert reached every token and was cut", (long long)n_cut);
    *out = &d->base;
    return MS_OK;
}
