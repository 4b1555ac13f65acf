/* traffic.h - who sends how many tokens to whom: loads of experts, ranks and ports for one MoE layer,
 * one microbatch and one expert-parallel group, from a routing trace or a generator.
 *
 * Words: a *token copy* is one token sent once to one rank. An *assignment* is one (token, expert) pair.
 * Token counts are doubles because the balanced generator works with exact expectations.
 *
 * EP rank r holds experts [r E/EP, (r+1) E/EP) (contiguous placement). Every source rank of the group has
 * `tokens_per_rank` tokens per microbatch. Combine is dispatch mirrored: send and receive swap.
 */
#ifndef MS_TRACES_TRAFFIC_H
#define MS_TRACES_TRAFFIC_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* How copies are counted: by the dispatcher. */
enum ms_copies {
    MS_COPIES_PER_ASSIGNMENT, /* flat all-to-all: one per (token, expert), each straight to its rank */
    MS_COPIES_PER_RANK, /* de-duplicated: one per distinct rank; to a remote domain one over the
                               * scale-out, landing on the rank of the sender's position there (position
                               * modulo ranks present), then one over NVLink per other distinct rank */
    MS_COPIES_ALL,      /* all-gather: every token to every rank; once into each remote domain,
                               * spread evenly over its NICs, then round its ranks over NVLink */
};

struct ms_traffic_shape {
    int64_t n_experts, topk;
    int64_t n_moe_layers; /* of the model; layer numbers are 0..n-1 */
    int64_t ep;           /* ranks of a group, divides n_experts */
    int64_t n_groups;     /* expert-parallel groups that work side by side (EDP) */
    int64_t n_microbatches;
    int64_t tokens_per_rank; /* per microbatch, before top-k */
    enum ms_copies copies;
    const int64_t
        *domain; /* [ep] NVLink domain of each rank of group 0, borrowed; other groups alike */
    uint64_t seed;
};

/* Copies through the ports of one rank at dispatch. Amounts in token copies. */
struct ms_port_copies {
    double nvlink_send, nvlink_receive;
    double nic_send, nic_receive;
    double local; /* own tokens kept on the same GPU */
};

struct ms_traffic {
    double *expert_tokens;        /* [n_experts] assignments over the whole group */
    double *rank_tokens;          /* [ep] assignments computed by each rank */
    struct ms_port_copies *ports; /* [ep] */
    double distinct_ranks;        /* mean per token, the sender's own included */
    double distinct_domains;      /* mean per token */
};

struct ms_traffic_source;

/* Opens `spec`: "balanced" (every expert gets the same; distinct ranks by the hypergeometric formula
 * of docs/traffic.md), "dirichlet:CV" (loads of each layer from a symmetric Dirichlet with that coefficient
 * of variation, multinomial per microbatch and group), or the path of an NPY file of ids [tokens, layers,
 * topk] or [tokens, topk] (used for every layer). Errors: MS_E_USAGE for an unknown spec or CV,
 * MS_E_INPUT for a file whose layers, ids or topk do not fit `shape`, with the numbers. A short trace is
 * repeated (ms_traffic_note says so). */
MS_MUST_CHECK enum ms_status ms_traffic_open(const char *spec, const struct ms_traffic_shape *shape,
                                             struct ms_traffic_source **out, struct ms_error *err);
void ms_traffic_free(struct ms_traffic_source *source); /* accepts NULL */

/* True if all layers, microbatches and groups have the same loads (balanced). */
bool ms_traffic_uniform(const struct ms_traffic_source *source);

/* A sentence on what was assumed ("balanced routing", "8,327 tokens repeated 126 times"). */
const char *ms_traffic_note(const struct ms_traffic_source *source);

/* Loads for (layer, microbatch, group) into arrays of `out` owned by the caller (ms_traffic_new).
 * Deterministic in (seed, layer, microbatch, group) alone, whatever the order of calls. One thread at a
 * time per source (scratch inside). */
void ms_traffic_get(struct ms_traffic_source *source, int64_t layer, int64_t microbatch,
                    int64_t group, struct ms_traffic *out);

struct ms_traffic *ms_traffic_new(const struct ms_traffic_shape *shape);
void ms_traffic_delete(struct ms_traffic *traffic); /* accepts NULL */

/* G (1 - C(E - E/G, k) / C(E, k)): expected number of `groups` equal groups of experts that k of E
 * distinct experts, drawn evenly, fall into. Source: DeepEP V2 get_expected_topk. */
double ms_traffic_expected_groups(int64_t n_experts, int64_t topk, int64_t groups);

#endif
