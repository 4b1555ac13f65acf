/* traffic_hits.c - how many ranks and domains a token's experts fall into, expected.
 *
 * Even routing has a closed form. For uneven loads, give expert e the factor (1 - q_e) + q_e z, where q_e
 * is the probability that a token chooses it: the coefficient of z^j in the product over a set of experts
 * is the probability that j of them are chosen if choices were independent. Given that a token chooses
 * exactly k, it misses set S with probability
 *     [z^0] S(z) * [z^k] (product of all others)(z) / [z^k] (product of all)(z).
 * All terms are positive and at most 1: no cancellation, no overflow.
 */
#include "traces/traffic_source.h"

#include <math.h>
#include <string.h>

double ms_traffic_hits_miss(double n_experts, int64_t topk, double n_chosen)
{
    double miss = 1;
    for (int64_t i = 0; i < topk; i++)
        miss *= fmax(0, n_experts - n_chosen - (double)i) / (n_experts - (double)i);
    return miss;
}

struct ms_traffic_hits ms_traffic_hits_new(struct ms_arena *arena, const struct ms_traffic_map *map)
{
    return (struct ms_traffic_hits){
        .ranks = ms_arena_alloc(arena, (size_t)map->ep, sizeof(double)),
        .domains = ms_arena_alloc(arena, (size_t)map->n_domains, sizeof(double)),
        .assignments = ms_arena_alloc(arena, (size_t)map->ep, sizeof(double)),
    };
}

static double *polynomials(struct ms_arena *arena, int64_t n, int64_t degree)
{
    return ms_arena_alloc(arena, (size_t)(n * (degree + 1)), sizeof(double));
}

void ms_traffic_hits_model_init(struct ms_arena *arena, const struct ms_traffic_map *map,
                                int64_t n_experts, int64_t topk, struct ms_traffic_hits_model *out)
{
    MS_REQUIRE(n_experts % map->ep == 0 && topk >= 1 && topk <= n_experts);
    *out = (struct ms_traffic_hits_model){
        .n_experts = n_experts,
        .topk = topk,
        .map = map,
        .ranks = polynomials(arena, map->ep, topk),
        .domains = polynomials(arena, map->n_domains, topk),
        .before = polynomials(arena, map->ep + 1, topk),
        .after = polynomials(arena, map->ep + 1, topk),
    };
}

static void set_one(double *p, int64_t degree)
{
    memset(p, 0, (size_t)(degree + 1) * sizeof(*p));
    p[0] = 1;
}

/* p *= (1 - q) + q z, up to the degree. */
static void times_expert(double *p, int64_t degree, double q)
{
    for (int64_t j = degree; j > 0; j--)
        p[j] = p[j] * (1 - q) + p[j - 1] * q;
    p[0] *= 1 - q;
}

/* out = a * b, up to the degree. */
static void times(const double *a, const double *b, int64_t degree, double *out)
{
    for (int64_t j = 0; j <= degree; j++) {
        double sum = 0;
        for (int64_t i = 0; i <= j; i++)
            sum += a[i] * b[j - i];
        out[j] = sum;
    }
}

/* hit[i] = 1 - P(set i is missed), for the `n` sets whose polynomials are `sets`. */
static void hits_of_sets(struct ms_traffic_hits_model *m, const double *sets, int64_t n,
                         double *hit)
{
    int64_t k = m->topk, width = k + 1;
    set_one(m->before, k);
    for (int64_t i = 0; i < n; i++)
        times(m->before + i * width, sets + i * width, k, m->before + (i + 1) * width);
    set_one(m->after + n * width, k);
    for (int64_t i = n - 1; i >= 0; i--)
        times(m->after + (i + 1) * width, sets + i * width, k, m->after + i * width);
    for (int64_t i = 0; i < n; i++) {
        const double *left = m->before + i * width, *right = m->after + (i + 1) * width;
        double others = 0;
        for (int64_t j = 0; j <= k; j++)
            others += left[j] * right[k - j];
        hit[i] = fmax(0, 1 - sets[i * width] * others / m->before[n * width + k]);
    }
}

/* The polynomial of each domain is the product of those of its ranks. */
static void multiply_domains(struct ms_traffic_hits_model *m)
{
    int64_t k = m->topk, width = k + 1;
    for (int64_t d = 0; d < m->map->n_domains; d++) {
        double *product = m->domains + d * width;
        set_one(product, k);
        for (int64_t i = m->map->first[d]; i < m->map->first[d + 1]; i++) {
            times(product, m->ranks + m->map->members[i] * width, k, m->before);
            memcpy(product, m->before, (size_t)width * sizeof(*product));
        }
    }
}

void ms_traffic_hits_from_inclusion(struct ms_traffic_hits_model *m, const double *inclusion,
                                    struct ms_traffic_hits *hits)
{
    int64_t per_rank = m->n_experts / m->map->ep, width = m->topk + 1;
    for (int64_t r = 0; r < m->map->ep; r++) {
        double *p = m->ranks + r * width;
        double sum = 0;
        set_one(p, m->topk);
        for (int64_t e = r * per_rank; e < (r + 1) * per_rank; e++) {
            times_expert(p, m->topk, inclusion[e]);
            sum += inclusion[e];
        }
        hits->assignments[r] = sum;
    }
    hits_of_sets(m, m->ranks, m->map->ep, hits->ranks);
    /* The condition on k shifts the inclusions a little: a rank is never hit by more than it computes. */
    for (int64_t r = 0; r < m->map->ep; r++)
        hits->ranks[r] = fmin(hits->ranks[r], hits->assignments[r]);
    if (m->map->n_domains == 1) {
        hits->domains[0] = 1;
        return;
    }
    multiply_domains(m);
    hits_of_sets(m, m->domains, m->map->n_domains, hits->domains);
}
