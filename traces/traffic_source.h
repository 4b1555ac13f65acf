/* traffic_source.h - the inside of traffic.h: what a source of routing is (a small vtable), where the ranks
 * of a group lie, and how copies go through ports. For the files traffic*.c only.
 *
 * Order to read: this, traffic.c (opens and checks), traffic_ports.c (one source rank's tokens through the
 * ports), traffic_hits.c (expected hits), traffic_generate.c, traffic_trace.c.
 */
#ifndef MS_TRACES_TRAFFIC_SOURCE_H
#define MS_TRACES_TRAFFIC_SOURCE_H

#include "base/field.h"
#include "base/mem.h"
#include "traces/traffic.h"

/* The NVLink domains of a group, numbered 0..n_domains-1 in order of their first rank. */
struct ms_traffic_map {
    int64_t ep, n_domains;
    int64_t *domain;   /* [ep] number of the rank's domain */
    int64_t *position; /* [ep] place of the rank among those of its domain, by rank number */
    int64_t *first; /* [n_domains + 1] members of domain d: members[first[d]] .. [first[d+1] - 1] */
    int64_t *members; /* [ep] */
};

/* Where the tokens of one source rank go. Amounts in tokens, or assignments. */
struct ms_traffic_hits {
    double *ranks;       /* [ep] tokens with at least one expert on the rank */
    double *domains;     /* [n_domains] tokens with at least one expert in the domain */
    double *assignments; /* [ep] (token, expert) pairs on the rank */
};

struct ms_traffic_source_kind {
    bool uniform;
    void (*get)(struct ms_traffic_source *source, int64_t layer, int64_t microbatch, int64_t group,
                struct ms_traffic *out);
    void (*free)(struct ms_traffic_source *source); /* what the arena does not own; may be NULL */
};

/* Every kind of source begins with this; all of it lives in `arena`. */
struct ms_traffic_source {
    const struct ms_traffic_source_kind *kind;
    struct ms_arena *arena;
    struct ms_traffic_shape shape; /* `domain` is NULL: see map */
    struct ms_traffic_map map;
    char note[MS_TEXT_MAX];
};

/* The user's name for the setting, in messages. */
#define MS_TRAFFIC_OPTION "--trace"

/* traffic.c */

/* A source of `bytes` (its struct) with everything but the kind filled in. */
void *ms_traffic_source_new(size_t bytes, const struct ms_traffic_shape *shape);
/* Assignments of each rank from those of each expert (contiguous placement), times `factor`. */
void ms_traffic_sum_ranks(const struct ms_traffic_shape *shape, const double *experts,
                          double factor, double *ranks);

/* traffic_ports.c */

void ms_traffic_ports_map(struct ms_arena *arena, int64_t ep, const int64_t *domain,
                          struct ms_traffic_map *out);
/* Adds the copies of one source rank's tokens to `ports`, for the two dispatchers that follow the routing. */
void ms_traffic_ports_add(const struct ms_traffic_map *map, enum ms_copies copies, int64_t source,
                          const struct ms_traffic_hits *hits, struct ms_port_copies *ports);
/* All-gather of `tokens` per rank: sets all ports. */
void ms_traffic_ports_all(const struct ms_traffic_map *map, double tokens,
                          struct ms_port_copies *ports);

/* traffic_hits.c */

struct ms_traffic_hits ms_traffic_hits_new(struct ms_arena *arena,
                                           const struct ms_traffic_map *map);

/* P(none of `n_chosen` experts among the k of a token) under even routing: C(E - n, k) / C(E, k). */
double ms_traffic_hits_miss(double n_experts, int64_t topk, double n_chosen);

/* P(hit) of each rank and domain, from inclusion probabilities: independent inclusion of each expert
 * with its own probability, given that exactly k are included. The balanced case of it is the
 * hypergeometric formula. */
struct ms_traffic_hits_model {
    int64_t n_experts, topk;
    const struct ms_traffic_map *map; /* borrowed */
    double *ranks, *domains;          /* polynomials of degree topk, one per rank and domain */
    double *before, *after; /* products of those before and after each; one more than ranks */
};
void ms_traffic_hits_model_init(struct ms_arena *arena, const struct ms_traffic_map *map,
                                int64_t n_experts, int64_t topk, struct ms_traffic_hits_model *out);
/* `inclusion` [n_experts] in [0, 1] sums to topk. Writes probabilities and assignments per token.
 * O(E k + ep k^2). Not thread-safe (scratch in the model). */
void ms_traffic_hits_from_inclusion(struct ms_traffic_hits_model *model, const double *inclusion,
                                    struct ms_traffic_hits *hits);

/* traffic_generate.c */

struct ms_traffic_source *ms_traffic_generate_balanced(const struct ms_traffic_shape *shape);
MS_MUST_CHECK enum ms_status ms_traffic_generate_dirichlet(const char *cv_text,
                                                           const struct ms_traffic_shape *shape,
                                                           struct ms_traffic_source **out,
                                                           struct ms_error *err);

/* traffic_trace.c */

MS_MUST_CHECK enum ms_status ms_traffic_trace_open(const char *path,
                                                   const struct ms_traffic_shape *shape,
                                                   struct ms_traffic_source **out,
                                                   struct ms_error *err);

#endif
