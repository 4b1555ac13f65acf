/* test_traffic.c - sources of routing against a reference that sends every token copy one by one, following
 * the words of traffic.h: exact for traces; for generators, weighted over all k-subsets of experts.
 */
#include "tests/mstest.h"

#include "base/file.h"
#include "traces/npy.h"
#include "traces/traffic.h"
#include "traces/traffic_source.h"

#include <unistd.h>

enum { RANKS_MAX = 16, TOPK_MAX = 8 };

/* ---- reference ------------------------------------------------------------------------------------ */

struct reference {
    double experts[64], ranks[RANKS_MAX], distinct_ranks, distinct_domains;
    struct ms_port_copies ports[RANKS_MAX];
};

/* The rank of `domain` at position `position` modulo the ranks present. */
static int64_t rank_at(const struct ms_traffic_shape *s, int64_t domain, int64_t position)
{
    int64_t n = 0, seen = 0;
    for (int64_t r = 0; r < s->ep; r++)
        n += s->domain[r] == domain;
    for (int64_t r = 0; r < s->ep; r++) {
        if (s->domain[r] == domain && seen++ == position % n)
            return r;
    }
    fail();
    return -1;
}

static void reference_send(const struct ms_traffic_shape *s, int64_t from, int64_t to,
                           double weight, struct reference *ref)
{
    if (from == to) {
        ref->ports[from].local += weight;
    } else if (s->domain[from] == s->domain[to]) {
        ref->ports[from].nvlink_send += weight;
        ref->ports[to].nvlink_receive += weight;
    } else {
        ref->ports[from].nic_send += weight;
        ref->ports[to].nic_receive += weight;
    }
}

static bool first_of_domain(const struct ms_traffic_shape *s, int64_t r)
{
    for (int64_t other = 0; other < r; other++) {
        if (s->domain[other] == s->domain[r])
            return false;
    }
    return true;
}

/* De-duplicated sending of a token that `needed` ranks want. */
static void reference_per_rank(const struct ms_traffic_shape *s, int64_t source, const bool *needed,
                               double weight, struct reference *ref)
{
    int64_t position = 0;
    for (int64_t r = 0; r < source; r++)
        position += s->domain[r] == s->domain[source];
    if (needed[source])
        reference_send(s, source, source, weight, ref);
    for (int64_t head = 0; head < s->ep; head++) {
        int64_t holder = source;
        bool hit = false;
        if (!first_of_domain(s, head))
            continue;
        for (int64_t r = 0; r < s->ep; r++)
            hit = hit || (needed[r] && s->domain[r] == s->domain[head]);
        if (!hit)
            continue;
        if (s->domain[head] != s->domain[source]) {
            holder = rank_at(s, s->domain[head], position);
            reference_send(s, source, holder, weight, ref);
        }
        for (int64_t r = 0; r < s->ep; r++) {
            if (needed[r] && s->domain[r] == s->domain[head] && r != holder)
                reference_send(s, holder, r, weight, ref);
        }
    }
}

/* All-gather: each domain gets one copy, a share to each of its ranks, which give it to their peers. */
static void reference_all(const struct ms_traffic_shape *s, int64_t source, double weight,
                          struct reference *ref)
{
    ref->ports[source].local += weight;
    for (int64_t r = 0; r < s->ep; r++) {
        double share = weight;
        int64_t peers = 0;
        for (int64_t p = 0; p < s->ep; p++)
            peers += s->domain[p] == s->domain[r];
        if (s->domain[r] != s->domain[source]) {
            share /= (double)peers;
            reference_send(s, source, r, share, ref);
        } else if (r != source) {
            continue;
        }
        for (int64_t p = 0; p < s->ep; p++) {
            if (p != r && s->domain[p] == s->domain[r])
                reference_send(s, r, p, share, ref);
        }
    }
}

/* One token of rank `source`, counted `weight` times. */
static void reference_token(const struct ms_traffic_shape *s, int64_t source, const int64_t *ids,
                            double weight, struct reference *ref)
{
    double mean = weight / (double)(s->ep * s->tokens_per_rank);
    bool needed[RANKS_MAX] = {false};
    for (int64_t i = 0; i < s->topk; i++) {
        int64_t r = ids[i] / (s->n_experts / s->ep);
        ref->experts[ids[i]] += weight;
        ref->ranks[r] += weight;
        needed[r] = true;
        if (s->copies == MS_COPIES_PER_ASSIGNMENT)
            reference_send(s, source, r, weight, ref);
    }
    for (int64_t r = 0; r < s->ep; r++) {
        bool domain_needed = false;
        ref->distinct_ranks += needed[r] ? mean : 0;
        for (int64_t p = 0; p < s->ep; p++)
            domain_needed = domain_needed || (needed[p] && s->domain[p] == s->domain[r]);
        ref->distinct_domains += first_of_domain(s, r) && domain_needed ? mean : 0;
    }
    if (s->copies == MS_COPIES_PER_RANK)
        reference_per_rank(s, source, needed, weight, ref);
    if (s->copies == MS_COPIES_ALL)
        reference_all(s, source, weight, ref);
}

/* The experts of bit set `set` into `ids`; returns the product of their `odds`, or 0 if they are not topk. */
static double subset(const struct ms_traffic_shape *s, unsigned set, const double *odds,
                     int64_t *ids)
{
    double weight = 1;
    int64_t n = 0;
    if (__builtin_popcount(set) != s->topk)
        return 0;
    for (int64_t e = 0; e < s->n_experts; e++) {
        if (set & 1u << e) {
            weight *= odds[e];
            ids[n++] = e;
        }
    }
    return weight;
}

/* All k-subsets, each with weight proportional to the product of `odds` over its experts. */
static void reference_subsets(const struct ms_traffic_shape *s, const double *odds,
                              struct reference *ref)
{
    int64_t ids[TOPK_MAX] = {0};
    double total = 0;
    *ref = (struct reference){0};
    for (unsigned set = 0; set < 1u << s->n_experts; set++)
        total += subset(s, set, odds, ids);
    for (unsigned set = 0; set < 1u << s->n_experts; set++) {
        double weight = subset(s, set, odds, ids) / total * (double)s->tokens_per_rank;
        for (int64_t r = 0; r < s->ep && weight > 0; r++)
            reference_token(s, r, ids, weight, ref);
    }
}

static void assert_ports(const struct ms_port_copies *actual, const struct ms_port_copies *expected,
                         double rtol)
{
    ms_assert_close(actual->nvlink_send, expected->nvlink_send, rtol, rtol);
    ms_assert_close(actual->nvlink_receive, expected->nvlink_receive, rtol, rtol);
    ms_assert_close(actual->nic_send, expected->nic_send, rtol, rtol);
    ms_assert_close(actual->nic_receive, expected->nic_receive, rtol, rtol);
    ms_assert_close(actual->local, expected->local, rtol, rtol);
}

static void assert_traffic(const struct ms_traffic_shape *s, const struct ms_traffic *actual,
                           const struct reference *ref, double rtol)
{
    for (int64_t r = 0; r < s->ep; r++)
        assert_ports(&actual->ports[r], &ref->ports[r], rtol);
    ms_assert_close(actual->distinct_ranks, ref->distinct_ranks, fmax(rtol, 1e-12), 0);
    ms_assert_close(actual->distinct_domains, ref->distinct_domains, fmax(rtol, 1e-12), 0);
}

/* ---- helpers -------------------------------------------------------------------------------------- */

/* xorshift64*, so that cases are the same everywhere. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static int64_t draw_below(uint64_t *state, int64_t n)
{
    return (int64_t)((draw(state) >> 11) % (uint64_t)n);
}

static double draw_unit(uint64_t *state)
{
    return ((double)(draw(state) >> 11) + 0.5) * 0x1p-53;
}

struct temporary {
    char path[64];
};

/* Writes ids as a file of items of `item_bytes` (1, 2: unsigned; 4: signed). */
static struct temporary write_ids(const int64_t *ids, int item_bytes, const int64_t *shape,
                                  int n_dims)
{
    struct temporary file = {"/tmp/ms_test_traffic_XXXXXX.npy"};
    int fd = mkstemps(file.path, 4);
    struct ms_buf text = {0};
    struct ms_error err = {0};
    int64_t n = 1;
    char *items;
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < n_dims; i++)
        n *= shape[i];
    items = malloc((size_t)(n * item_bytes) + 1);
    for (int64_t i = 0; i < n; i++) /* little-endian: the low bytes come first */
        memcpy(items + i * item_bytes, &ids[i], (size_t)item_bytes);
    ms_npy_write(items, item_bytes == 4 ? 'i' : 'u', item_bytes, shape, n_dims, &text);
    ms_assert_ok(ms_file_write(file.path, &text, &err), &err);
    ms_buf_free(&text);
    free(items);
    return file;
}

static struct ms_traffic_source *open_ok(const char *spec, const struct ms_traffic_shape *s)
{
    struct ms_traffic_source *source = NULL;
    struct ms_error err = {0};
    ms_assert_ok(ms_traffic_open(spec, s, &source, &err), &err);
    return source;
}

static void assert_open_fails(const char *spec, const struct ms_traffic_shape *s,
                              enum ms_status status, const char *says)
{
    struct ms_traffic_source *source = NULL;
    struct ms_error err = {0};
    assert_int_equal(ms_traffic_open(spec, s, &source, &err), status);
    assert_null(source);
    ms_assert_says(&err, says);
}

/* Sums that hold whatever the routing: a = send, b = receive. */
static void assert_conserved(const struct ms_traffic_shape *s, const struct ms_traffic *t)
{
    double assignments = (double)(s->ep * s->tokens_per_rank * s->topk), experts = 0, ranks = 0;
    struct ms_port_copies sum = {0};
    for (int64_t e = 0; e < s->n_experts; e++) {
        assert_true(t->expert_tokens[e] <= (double)(s->ep * s->tokens_per_rank) * (1 + 1e-12));
        experts += t->expert_tokens[e];
    }
    for (int64_t r = 0; r < s->ep; r++) {
        ranks += t->rank_tokens[r];
        sum.nvlink_send += t->ports[r].nvlink_send;
        sum.nvlink_receive += t->ports[r].nvlink_receive;
        sum.nic_send += t->ports[r].nic_send;
        sum.nic_receive += t->ports[r].nic_receive;
        sum.local += t->ports[r].local;
    }
    ms_assert_close(experts, assignments, 1e-12, 0);
    ms_assert_close(ranks, assignments, 1e-12, 0);
    ms_assert_close(sum.nvlink_send, sum.nvlink_receive, 1e-12, 0);
    ms_assert_close(sum.nic_send, sum.nic_receive, 1e-12, 0);
    if (s->copies == MS_COPIES_PER_ASSIGNMENT)
        ms_assert_close(sum.nvlink_send + sum.nic_send + sum.local, assignments, 1e-12, 0);
}

static double max_over_mean(const double *x, int64_t n)
{
    double max = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        max = fmax(max, x[i]);
        sum += x[i];
    }
    return max * (double)n / sum;
}

static const int64_t ONE_DOMAIN[64] = {0};

/* ---- expected groups and balanced ----------------------------------------------------------------- */

static void expected_groups_are_the_published_ones(void **state)
{
    /* E = 256, k = 8: DeepEP V2 get_expected_topk */
    static const struct {
        int64_t groups;
        double expected;
    } TABLE[] = {{1, 1},      {2, 1.993},  {4, 3.614},  {8, 5.295},
                 {16, 6.523}, {32, 7.267}, {64, 7.676}, {256, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        ms_assert_close(ms_traffic_expected_groups(256, 8, TABLE[i].groups), TABLE[i].expected, 0,
                        5e-4);
    ms_assert_close(ms_traffic_expected_groups(288, 8, 72), 7.71, 0, 5e-3);
    ms_assert_close(ms_traffic_expected_groups(6, 5, 2), 2, 1e-15, 0); /* 5 of 6 hit both halves */
}

static void balanced_is_the_mean_over_all_subsets(void **state)
{
    static const int64_t MAPS[][6] = {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1},   {4, 4, 4, 4, 9, 9},
                                      {0, 1, 2, 3, 4, 5}, {7, -2, 7, 7, 3, -2}, {1, 0, 0, 0, 0, 0}};
    double odds[12];
    (void)state;
    for (int e = 0; e < 12; e++)
        odds[e] = 1;
    for (size_t i = 0; i < 3 * sizeof(MAPS) / sizeof(MAPS[0]); i++) {
        struct ms_traffic_shape s = {.n_experts = 12,
                                     .topk = 5,
                                     .n_moe_layers = 3,
                                     .ep = 6,
                                     .n_groups = 2,
                                     .n_microbatches = 2,
                                     .tokens_per_rank = 37,
                                     .copies = (enum ms_copies)(i % 3),
                                     .domain = MAPS[i / 3]};
        struct ms_traffic_source *source = open_ok("balanced", &s);
        struct ms_traffic *t = ms_traffic_new(&s);
        struct reference ref;
        reference_subsets(&s, odds, &ref);
        ms_traffic_get(source, 2, 1, 1, t);
        assert_traffic(&s, t, &ref, 1e-12);
        assert_conserved(&s, t);
        for (int64_t e = 0; e < 12; e++)
            ms_assert_close(t->expert_tokens[e], 6 * 37 * 5 / 12.0, 1e-14, 0);
        ms_assert_close(t->distinct_ranks, ms_traffic_expected_groups(12, 5, 6), 1e-14, 0);
        assert_true(ms_traffic_uniform(source));
        assert_non_null(strstr(ms_traffic_note(source), "balanced"));
        ms_traffic_delete(t);
        ms_traffic_free(source);
    }
}

/* 64 ranks over racks of 16 and 48, DeepSeek-V3's numbers: remote copies as in the hierarchical formula. */
static void balanced_deepseek_over_two_racks(void **state)
{
    int64_t domain[64];
    struct ms_traffic_shape s = {.n_experts = 256,
                                 .topk = 8,
                                 .n_moe_layers = 58,
                                 .ep = 64,
                                 .n_groups = 1,
                                 .n_microbatches = 1,
                                 .tokens_per_rank = 4096,
                                 .copies = MS_COPIES_PER_RANK,
                                 .domain = domain};
    struct ms_traffic_source *source;
    struct ms_traffic *t = ms_traffic_new(&s);
    double out_of_small = 1, out_of_large = 1, received = 0;
    (void)state;
    for (int r = 0; r < 64; r++)
        domain[r] = r >= 16;
    for (int i = 0; i < 8; i++) { /* C(192, 8) / C(256, 8) and C(64, 8) / C(256, 8) */
        out_of_small *= (192.0 - i) / (256 - i);
        out_of_large *= (64.0 - i) / (256 - i);
    }
    source = open_ok("balanced", &s);
    ms_traffic_get(source, 0, 0, 0, t);
    ms_assert_close(t->ports[3].nic_send, 4096 * (1 - out_of_large), 1e-12, 0);
    ms_assert_close(t->ports[40].nic_send, 4096 * (1 - out_of_small), 1e-12, 0);
    /* 48 senders land on 16 ranks, three each; 16 senders land on the first 16 of the 48 */
    ms_assert_close(t->ports[3].nic_receive, 3 * 4096 * (1 - out_of_small), 1e-12, 0);
    ms_assert_close(t->ports[16].nic_receive, 4096 * (1 - out_of_large), 1e-12, 0);
    ms_assert_close(t->ports[32].nic_receive, 0, 0, 0);
    for (int r = 0; r < 64; r++)
        received += t->ports[r].nic_receive;
    ms_assert_close(received, 4096 * (16 * (1 - out_of_large) + 48 * (1 - out_of_small)), 1e-12, 0);
    ms_assert_close(t->distinct_ranks, 7.676, 0, 5e-4);
    ms_assert_close(t->distinct_domains, 2 - out_of_small - out_of_large, 1e-12, 0);
    ms_traffic_delete(t);
    ms_traffic_free(source);
}

/* ---- Dirichlet ------------------------------------------------------------------------------------ */

/* Expected copies from the loads it drew: independent inclusion, given exactly k, by enumeration. */
static void dirichlet_copies_are_conditional_inclusion(void **state)
{
    static const int64_t MAPS[][4] = {{0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 2}, {5, 5, 5, 1}};
    (void)state;
    for (size_t i = 0; i < 3 * sizeof(MAPS) / sizeof(MAPS[0]); i++) {
        struct ms_traffic_shape s = {.n_experts = 16,
                                     .topk = 5,
                                     .n_moe_layers = 2,
                                     .ep = 4,
                                     .n_groups = 2,
                                     .n_microbatches = 3,
                                     .tokens_per_rank = 211,
                                     .copies = (enum ms_copies)(i % 3),
                                     .domain = MAPS[i / 3],
                                     .seed = 11 + i};
        struct ms_traffic_source *source = open_ok("dirichlet:0.4", &s);
        struct ms_traffic *t = ms_traffic_new(&s);
        struct reference ref;
        double odds[16];
        ms_traffic_get(source, 1, 2, 1, t);
        assert_conserved(&s, t);
        for (int e = 0; e < 16; e++) {
            double q = t->expert_tokens[e] / (4 * 211);
            odds[e] = q / (1 - q);
        }
        reference_subsets(&s, odds, &ref);
        if (s.copies == MS_COPIES_PER_ASSIGNMENT) { /* these follow the loads themselves */
            for (int64_t r = 0; r < s.ep; r++)
                ms_assert_close(t->ports[r].local, t->rank_tokens[r] / 4, 1e-12, 0);
            ms_assert_close(t->distinct_ranks, ref.distinct_ranks, 1e-12, 0);
        } else {
            assert_traffic(&s, t, &ref, 1e-11);
        }
        assert_false(ms_traffic_uniform(source));
        ms_traffic_delete(t);
        ms_traffic_free(source);
    }
}

static bool same(const double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

static bool same_traffic(const struct ms_traffic_shape *s, const struct ms_traffic *a,
                         const struct ms_traffic *b)
{
    for (int64_t r = 0; r < s->ep; r++) {
        const struct ms_port_copies *p = &a->ports[r], *q = &b->ports[r];
        if (p->nvlink_send != q->nvlink_send || p->nvlink_receive != q->nvlink_receive ||
            p->nic_send != q->nic_send || p->nic_receive != q->nic_receive || p->local != q->local)
            return false;
    }
    return same(a->expert_tokens, b->expert_tokens, s->n_experts) &&
           same(a->rank_tokens, b->rank_tokens, s->ep) && a->distinct_ranks == b->distinct_ranks &&
           a->distinct_domains == b->distinct_domains;
}

static void dirichlet_is_deterministic_in_any_order(void **state)
{
    static const int64_t DOMAIN[8] = {0, 0, 0, 1, 1, 1, 1, 1};
    struct ms_traffic_shape s = {.n_experts = 64,
                                 .topk = 6,
                                 .n_moe_layers = 4,
                                 .ep = 8,
                                 .n_groups = 3,
                                 .n_microbatches = 3,
                                 .tokens_per_rank = 100,
                                 .copies = MS_COPIES_PER_RANK,
                                 .domain = DOMAIN,
                                 .seed = 5};
    struct ms_traffic_source *a = open_ok("dirichlet:0.7", &s), *b = open_ok("dirichlet:0.7", &s),
                             *c;
    struct ms_traffic *first = ms_traffic_new(&s), *other = ms_traffic_new(&s);
    (void)state;
    s.seed = 6;
    c = open_ok("dirichlet:0.7", &s);
    ms_traffic_get(a, 3, 1, 2, first);
    for (int64_t layer = 0; layer < 4; layer++) {
        ms_traffic_get(b, layer, 2, 0, other);
        assert_false(same_traffic(&s, first, other));
    }
    ms_traffic_get(b, 3, 1, 2, other);
    assert_true(same_traffic(&s, first, other));
    ms_traffic_get(b, 3, 2, 2, other); /* another microbatch */
    assert_false(same_traffic(&s, first, other));
    ms_traffic_get(b, 3, 1, 1, other); /* another group */
    assert_false(same_traffic(&s, first, other));
    ms_traffic_get(b, 3, 2, 1, other); /* the two swapped */
    assert_false(same_traffic(&s, first, other));
    ms_traffic_get(c, 3, 1, 2, other);
    assert_false(same_traffic(&s, first, other));
    ms_traffic_delete(first);
    ms_traffic_delete(other);
    ms_traffic_free(a);
    ms_traffic_free(b);
    ms_traffic_free(c);
}

/* The profile of a layer is constant in time and alike in groups: only sampling noise differs. */
static void dirichlet_profile_is_static(void **state)
{
    struct ms_traffic_shape s = {.n_experts = 64,
                                 .topk = 6,
                                 .n_moe_layers = 2,
                                 .ep = 8,
                                 .n_groups = 2,
                                 .n_microbatches = 2,
                                 .tokens_per_rank = 10000000,
                                 .copies = MS_COPIES_ALL,
                                 .domain = ONE_DOMAIN,
                                 .seed = 5};
    struct ms_traffic_source *source = open_ok("dirichlet:0.5", &s);
    struct ms_traffic *a = ms_traffic_new(&s), *b = ms_traffic_new(&s);
    double layers_apart = 0;
    (void)state;
    ms_traffic_get(source, 0, 0, 0, a);
    ms_traffic_get(source, 0, 1, 1, b);
    for (int e = 0; e < 64; e++) /* 6 standard deviations of the difference of two counts */
        ms_assert_close(b->expert_tokens[e], a->expert_tokens[e], 0,
                        6 * sqrt(2 * a->expert_tokens[e]) + 6);
    ms_traffic_get(source, 1, 0, 0, b);
    for (int e = 0; e < 64; e++)
        layers_apart += fabs(b->expert_tokens[e] - a->expert_tokens[e]) / 480e6;
    assert_true(layers_apart > 0.3);
    ms_traffic_delete(a);
    ms_traffic_delete(b);
    ms_traffic_free(source);
}

/* Mean over `s->n_moe_layers` draws of max/mean of experts (ep = 64) or ranks, and the CV of experts. */
static double dirichlet_skew(const char *spec, int64_t ep, double *cv)
{
    struct ms_traffic_shape s = {.n_experts = 64,
                                 .topk = 6,
                                 .n_moe_layers = 600,
                                 .ep = ep,
                                 .n_groups = 1,
                                 .n_microbatches = 1,
                                 .tokens_per_rank = 100000,
                                 .copies = MS_COPIES_ALL,
                                 .domain = ONE_DOMAIN,
                                 .seed = 1234};
    struct ms_traffic_source *source = open_ok(spec, &s);
    struct ms_traffic *t = ms_traffic_new(&s);
    double skew = 0, variance = 0;
    for (int64_t layer = 0; layer < s.n_moe_layers; layer++) {
        ms_traffic_get(source, layer, 0, 0, t);
        skew += max_over_mean(t->rank_tokens, ep) / (double)s.n_moe_layers;
        for (int e = 0; e < 64; e++)
            variance += pow(t->expert_tokens[e] * 64 / (double)(ep * 600000) - 1, 2) / 64 / 600;
    }
    *cv = sqrt(variance);
    ms_traffic_delete(t);
    ms_traffic_free(source);
    return skew;
}

/* max/mean per expert, EP8, EP16, EP32: another implementation's draws from the same distribution. */
static void dirichlet_skew_is_the_published_one(void **state)
{
    static const struct {
        const char *spec;
        double cv, expert, ep8, ep16, ep32;
    } TABLE[] = {{"dirichlet:0.51", 0.51, 2.61, 1.28, 1.51, 1.90},
                 {"dirichlet:0.55", 0.55, 2.77, 1.30, 1.55, 1.99},
                 {"dirichlet:1.17", 1.17, 5.65, 1.66, 2.28, 3.44}};
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++) {
        double cv;
        ms_assert_close(dirichlet_skew(TABLE[i].spec, 64, &cv), TABLE[i].expert, 0.1, 0);
        ms_assert_close(dirichlet_skew(TABLE[i].spec, 32, &cv), TABLE[i].ep32, 0.1, 0);
        ms_assert_close(dirichlet_skew(TABLE[i].spec, 16, &cv), TABLE[i].ep16, 0.1, 0);
        ms_assert_close(dirichlet_skew(TABLE[i].spec, 8, &cv), TABLE[i].ep8, 0.1, 0);
        ms_assert_close(cv, TABLE[i].cv, 0.03, 0);
    }
}

/* CV 0 leaves sampling noise: the variance of a multinomial count is n p (1 - p). */
static void dirichlet_zero_is_sampling_noise(void **state)
{
    double cv;
    (void)state;
    (void)dirichlet_skew("dirichlet:0", 8, &cv);
    ms_assert_close(cv, sqrt((1 - 1.0 / 64) / (8 * 600000 / 64.0)), 0.03, 0);
}

/* An expert cannot get more than one copy of each token, however skewed. */
static void dirichlet_cuts_impossible_loads(void **state)
{
    static const int64_t DOMAIN[4] = {0, 0, 0, 1};
    struct ms_traffic_shape s = {.n_experts = 64,
                                 .topk = 6,
                                 .n_moe_layers = 40,
                                 .ep = 4,
                                 .n_groups = 1,
                                 .n_microbatches = 1,
                                 .tokens_per_rank = 53,
                                 .copies = MS_COPIES_PER_RANK,
                                 .domain = DOMAIN,
                                 .seed = 3};
    struct ms_traffic_source *source = open_ok("dirichlet:5.5", &s);
    struct ms_traffic *t = ms_traffic_new(&s);
    int n_full = 0;
    (void)state;
    assert_non_null(strstr(ms_traffic_note(source), "was cut"));
    for (int64_t layer = 0; layer < 40; layer++) {
        ms_traffic_get(source, layer, 0, 0, t);
        assert_conserved(&s, t);
        for (int e = 0; e < 64; e++) {
            n_full += t->expert_tokens[e] == 4 * 53;
            assert_true(t->expert_tokens[e] == floor(t->expert_tokens[e]));
        }
        assert_true(t->distinct_ranks >= 1 - 1e-12 && t->distinct_ranks <= 4);
        assert_true(t->distinct_domains >= 1 - 1e-12 && t->distinct_domains <= 2);
    }
    assert_true(n_full > 10);
    ms_traffic_delete(t);
    ms_traffic_free(source);
    s.topk = 64; /* every token to every expert: nothing is left to chance */
    source = open_ok("dirichlet:1", &s);
    t = ms_traffic_new(&s);
    ms_traffic_get(source, 7, 0, 0, t);
    for (int e = 0; e < 64; e++)
        ms_assert_close(t->expert_tokens[e], 4 * 53, 0, 0);
    ms_assert_close(t->distinct_ranks, 4, 1e-12, 0);
    ms_traffic_delete(t);
    ms_traffic_free(source);
}

/* ---- traces --------------------------------------------------------------------------------------- */

/* k different ids, the lower ones more often. */
static void draw_ids(uint64_t *rng, int64_t n_experts, int64_t k, int64_t *ids)
{
    for (int64_t i = 0; i < k; i++) {
        bool again = true;
        while (again) {
            double u = draw_unit(rng);
            ids[i] = (int64_t)(u * u * (double)n_experts);
            again = false;
            for (int64_t j = 0; j < i; j++)
                again = again || ids[j] == ids[i];
        }
    }
}

static void reference_trace(const struct ms_traffic_shape *s, const int64_t *ids, int64_t n_tokens,
                            int64_t n_layers, const int64_t at[3], struct reference *ref)
{
    int64_t layer = n_layers == 1 ? 0 : at[0];
    *ref = (struct reference){0};
    for (int64_t r = 0; r < s->ep; r++) {
        for (int64_t i = 0; i < s->tokens_per_rank; i++) {
            int64_t slice = (at[1] * s->n_groups + at[2]) * s->ep + r;
            int64_t token = (slice * s->tokens_per_rank + i) % n_tokens;
            reference_token(s, r, ids + (token * n_layers + layer) * s->topk, 1, ref);
        }
    }
}

/* One random shape and trace; every (layer, microbatch, group) agrees exactly with the reference. */
static void check_random_trace(uint64_t *rng)
{
    static const int64_t EXPERTS[] = {4, 6, 8, 12, 24, 60};
    int64_t domain[RANKS_MAX], n_tokens = 1 + draw_below(rng, 150);
    struct ms_traffic_shape s = {.n_experts = EXPERTS[draw_below(rng, 6)],
                                 .n_moe_layers = 1 + draw_below(rng, 3),
                                 .n_groups = 1 + draw_below(rng, 3),
                                 .n_microbatches = 1 + draw_below(rng, 3),
                                 .tokens_per_rank = 1 + draw_below(rng, 80),
                                 .copies = (enum ms_copies)draw_below(rng, 3),
                                 .domain = domain};
    bool flat = draw_below(rng, 3) == 0;
    int64_t n_layers = flat ? 1 : s.n_moe_layers, n_kinds = 1 + draw_below(rng, 4);
    int64_t *ids;
    struct temporary file;
    struct ms_traffic_source *source;
    struct ms_traffic *t;
    do
        s.ep = 1 + draw_below(rng, 12);
    while (s.n_experts % s.ep != 0);
    s.topk = 1 + draw_below(rng, s.n_experts < 5 ? s.n_experts : 5);
    for (int64_t r = 0; r < s.ep; r++)
        domain[r] = draw_below(rng, n_kinds) * 5 - 3;
    ids = calloc((size_t)(n_tokens * n_layers * s.topk), sizeof(*ids));
    for (int64_t i = 0; i < n_tokens * n_layers; i++)
        draw_ids(rng, s.n_experts, s.topk, ids + i * s.topk);
    file =
        write_ids(ids, 1 << draw_below(rng, 3),
                  flat ? (int64_t[]){n_tokens, s.topk, 0} : (int64_t[]){n_tokens, n_layers, s.topk},
                  flat ? 2 : 3);
    source = open_ok(file.path, &s);
    unlink(file.path);
    t = ms_traffic_new(&s);
    for (int64_t i = 0; i < s.n_moe_layers * s.n_microbatches * s.n_groups; i++) {
        const int64_t at[3] = {i % s.n_moe_layers, i / s.n_moe_layers / s.n_groups,
                               i / s.n_moe_layers % s.n_groups};
        bool whole = s.copies != MS_COPIES_ALL; /* integers are exact; shares of a domain are not */
        struct reference ref;
        reference_trace(&s, ids, n_tokens, n_layers, at, &ref);
        ms_traffic_get(source, at[0], at[1], at[2], t);
        assert_traffic(&s, t, &ref, whole ? 0 : 1e-12);
        assert_conserved(&s, t);
        for (int64_t e = 0; e < s.n_experts; e++)
            assert_true(t->expert_tokens[e] == ref.experts[e]);
        for (int64_t r = 0; r < s.ep; r++)
            assert_true(t->rank_tokens[r] == ref.ranks[r]);
        for (int64_t r = 0; r < s.ep && n_kinds == 1; r++)
            assert_true(t->ports[r].nic_send == 0 && t->ports[r].nic_receive == 0);
    }
    ms_traffic_delete(t);
    ms_traffic_free(source);
    free(ids);
}

static void trace_agrees_with_sending_each_token(void **state)
{
    uint64_t rng = 20240607;
    (void)state;
    for (int i = 0; i < 150; i++)
        check_random_trace(&rng);
}

static void trace_says_what_it_assumed(void **state)
{
    static const int64_t IDS[] = {0, 1, 2, 3, 3, 0};
    struct ms_traffic_shape s = {.n_experts = 4,
                                 .topk = 2,
                                 .n_moe_layers = 7,
                                 .ep = 2,
                                 .n_groups = 5,
                                 .n_microbatches = 4,
                                 .tokens_per_rank = 1000,
                                 .copies = MS_COPIES_ALL,
                                 .domain = ONE_DOMAIN};
    struct temporary file = write_ids(IDS, 1, (const int64_t[]){3, 2}, 2);
    struct ms_traffic_source *source = open_ok(file.path, &s);
    (void)state;
    assert_false(ms_traffic_uniform(source));
    assert_non_null(strstr(ms_traffic_note(source), "3 tokens repeated 13,333 times"));
    assert_non_null(strstr(ms_traffic_note(source), "for a step of 40,000"));
    assert_non_null(strstr(ms_traffic_note(source), "its one layer used for all 7"));
    ms_traffic_free(source);
    s.n_groups = s.n_microbatches = s.tokens_per_rank = 1;
    source = open_ok(file.path, &s);
    assert_non_null(strstr(ms_traffic_note(source), "the first 2 of 3 tokens"));
    ms_traffic_free(source);
    s.tokens_per_rank = 2;
    source = open_ok(file.path, &s);
    assert_non_null(strstr(ms_traffic_note(source), "repeated 1.33 times"));
    ms_traffic_free(source);
    unlink(file.path);
}

static void refuses_traces_that_do_not_fit(void **state)
{
    static const struct {
        int64_t dims[4];
        int n_dims;
        int64_t at, value; /* one id changed */
        const char *says;
    } CASES[] = {
        {{5, 3, 2}, 3, 8, 6, "slot 0 has expert 6; the model has experts 0..5"},
        {{5, 3, 2}, 3, 27, -1, "token 4, layer 1"},
        {{5, 3, 2},
         3,
         27,
         -1,
         "slot 1 has expert -1; the model has experts 0..5 (-1 marks missing"},
        {{5, 3, 2}, 3, 29, 4, "expert 4 is in slots 0 and 1; a token's experts must differ"},
        {{5, 3, 2}, 3, 29, 4, "token 4, layer 2"},
        {{5, 2, 2}, 3, 0, 4, "has 2 layers, the model has 3 MoE layers"},
        {{5, 3, 1}, 3, 0, 4, "has 1 experts per token (last dimension), the model has top-2"},
        {{1, 3, 6}, 3, 0, 4, "are these counts per expert?"},
        {{0, 3, 2}, 3, 0, 4, "has no tokens"},
        {{30}, 1, 0, 4, "has 1 dimensions; ids are [tokens, layers, topk] or [tokens, topk]"},
        {{1, 5, 3, 2}, 4, 0, 4, "has 4 dimensions"},
    };
    struct ms_traffic_shape s = {.n_experts = 6,
                                 .topk = 2,
                                 .n_moe_layers = 3,
                                 .ep = 2,
                                 .n_groups = 1,
                                 .n_microbatches = 1,
                                 .tokens_per_rank = 4,
                                 .copies = MS_COPIES_PER_RANK,
                                 .domain = ONE_DOMAIN};
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct temporary file;
        int64_t ids[30];
        for (int j = 0; j < 30; j++)
            ids[j] = j % 2 ? 1 + j % 3 : 4 + j % 4 / 3;
        ids[CASES[i].at] = CASES[i].value;
        file = write_ids(ids, 4, CASES[i].dims, CASES[i].n_dims);
        assert_open_fails(file.path, &s, MS_E_INPUT, CASES[i].says);
        assert_open_fails(file.path, &s, MS_E_INPUT, file.path);
        unlink(file.path);
    }
}

static void refuses_bad_specs(void **state)
{
    struct ms_traffic_shape s = {.n_experts = 64,
                                 .topk = 6,
                                 .n_moe_layers = 3,
                                 .ep = 2,
                                 .n_groups = 1,
                                 .n_microbatches = 1,
                                 .tokens_per_rank = 4,
                                 .copies = MS_COPIES_PER_RANK,
                                 .domain = ONE_DOMAIN};
    (void)state;
    assert_open_fails("balanecd", &s, MS_E_USAGE, "'balanecd' is neither 'balanced' nor");
    assert_open_fails("", &s, MS_E_USAGE, "--trace");
    assert_open_fails("dirichlet", &s, MS_E_USAGE, "dirichlet:0.5");
    assert_open_fails("dirichlet:", &s, MS_E_USAGE, "no coefficient of variation");
    assert_open_fails("dirichlet:-1", &s, MS_E_USAGE, "'-1' is no coefficient of variation");
    assert_open_fails("dirichlet:nan", &s, MS_E_USAGE, "no coefficient of variation");
    assert_open_fails("dirichlet:0.5x", &s, MS_E_USAGE, "'0.5x'");
    assert_open_fails("dirichlet:7.94", &s, MS_E_USAGE, "with 64 experts it is below 7.93725");
    assert_open_fails("/nonexistent/ids.npy", &s, MS_E_INPUT, "cannot open");
    assert_open_fails("nonexistent.npy", &s, MS_E_INPUT, "cannot open");
    s.tokens_per_rank = 400000000;
    assert_open_fails("dirichlet:0.5", &s, MS_E_USAGE, "4800000000 assignments");
    s.tokens_per_rank = INT64_MAX / 12;
    assert_open_fails("balanced", &s, MS_E_USAGE, "limit of 2^62 assignments");
}

/* ---- model of hits against tokens ----------------------------------------------------------------- */

/* Tokens drawn without replacement (Gumbel top-k) from skewed weights: the conditional-inclusion model,
 * given nothing but the loads, finds the mean number of distinct ranks. */
static void hits_model_is_close_to_drawn_tokens(void **state)
{
    enum { E = 64, K = 6, EP = 16, TOKENS = 20000 };
    struct ms_arena *arena = ms_arena_new();
    struct ms_traffic_map map;
    struct ms_traffic_hits_model model;
    struct ms_traffic_hits hits;
    double log_weight[E], inclusion[E] = {0}, distinct = 0, predicted = 0;
    uint64_t rng = 77;
    (void)state;
    for (int e = 0; e < E; e++) /* log-normal, sigma .8 */
        log_weight[e] =
            0.8 * sqrt(-2 * log(draw_unit(&rng))) * cos(6.283185307179586 * draw_unit(&rng));
    for (int token = 0; token < TOKENS; token++) {
        double key[E];
        bool hit[EP] = {false};
        for (int e = 0; e < E; e++)
            key[e] = log_weight[e] - log(-log(draw_unit(&rng)));
        for (int i = 0; i < K; i++) {
            int best = 0;
            for (int e = 1; e < E; e++)
                best = key[e] > key[best] ? e : best;
            key[best] = -1e300;
            inclusion[best] += 1.0 / TOKENS;
            distinct += hit[best / (E / EP)] ? 0 : 1.0 / TOKENS;
            hit[best / (E / EP)] = true;
        }
    }
    ms_traffic_ports_map(arena, EP, ONE_DOMAIN, &map);
    ms_traffic_hits_model_init(arena, &map, E, K, &model);
    hits = ms_traffic_hits_new(arena, &map);
    ms_traffic_hits_from_inclusion(&model, inclusion, &hits);
    for (int r = 0; r < EP; r++)
        predicted += hits.ranks[r];
    ms_assert_close(predicted, distinct, 0.01, 0);
    ms_arena_free(arena);
}

/* ---- reference data ------------------------------------------------------------------------------- */

/* Ids of deepseek-ai/ESFT 579a7711, results/expert_scores: mean over 26 layers of max/mean and of distinct
 * ranks over the first whole multiple of 32 tokens, computed by another program. */
static void real_traces_have_known_skew(void **state)
{
    static const struct {
        const char *task;
        int64_t ep;
        double rank, expert, distinct;
    } TABLE[] = {
        {"law", 8, 1.385244, 3.521499, 4.553365},
        {"law", 16, 1.697115, 3.521499, 5.315352},
        {"law", 32, 2.348250, 3.521499, 5.763915},
        {"intent", 8, 1.440755, 3.815956, 4.558204},
        {"summary", 16, 1.829145, 4.283945, 5.352951},
        {"translation", 8, 1.694185, 5.634640, 4.538462},
        {"translation", 32, 3.543575, 5.634640, 5.752091},
    };
    (void)state;
    if (!ms_test_shared())
        skip();
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++) {
        struct ms_traffic_shape s = {.n_experts = 64,
                                     .topk = 6,
                                     .n_moe_layers = 26,
                                     .ep = TABLE[i].ep,
                                     .n_groups = 1,
                                     .n_microbatches = 1,
                                     .copies = MS_COPIES_PER_RANK,
                                     .domain = ONE_DOMAIN};
        double rank = 0, expert = 0, distinct = 0;
        struct ms_error err = {0};
        struct ms_npy npy;
        struct ms_traffic_source *source;
        struct ms_traffic *t = ms_traffic_new(&s);
        char path[4200];
        snprintf(path, sizeof(path), "%s/traces/deepseek-v2-lite-esft/%s_ids.npy", ms_test_shared(),
                 TABLE[i].task);
        ms_assert_ok(ms_npy_open(path, &npy, &err), &err);
        s.tokens_per_rank = npy.shape[0] / 32 * 32 / s.ep;
        ms_npy_close(&npy);
        source = open_ok(path, &s);
        for (int64_t layer = 0; layer < 26; layer++) {
            ms_traffic_get(source, layer, 0, 0, t);
            rank += max_over_mean(t->rank_tokens, s.ep) / 26;
            expert += max_over_mean(t->expert_tokens, 64) / 26;
            distinct += t->distinct_ranks / 26;
        }
        ms_assert_close(rank, TABLE[i].rank, 1e-6, 0);
        ms_assert_close(expert, TABLE[i].expert, 1e-6, 0);
        ms_assert_close(distinct, TABLE[i].distinct, 1e-6, 0);
        ms_traffic_delete(t);
        ms_traffic_free(source);
    }
}

static void free_accepts_null(void **state)
{
    (void)state;
    ms_traffic_free(NULL);
    ms_traffic_delete(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_groups_are_the_published_ones),
        cmocka_unit_test(balanced_is_the_mean_over_all_subsets),
        cmocka_unit_test(balanced_deepseek_over_two_racks),
        cmocka_unit_test(dirichlet_copies_are_conditional_inclusion),
        cmocka_unit_test(dirichlet_is_deterministic_in_any_order),
        cmocka_unit_test(dirichlet_profile_is_static),
        cmocka_unit_test(dirichlet_skew_is_the_published_one),
        cmocka_unit_test(dirichlet_zero_is_sampling_noise),
        cmocka_unit_test(dirichlet_cuts_impossible_loads),
        cmocka_unit_test(trace_agrees_with_sending_each_token),
        cmocka_unit_test(trace_says_what_it_assumed),
        cmocka_unit_test(refuses_traces_that_do_not_fit),
        cmocka_unit_test(refuses_bad_specs),
        cmocka_unit_test(hits_model_is_close_to_drawn_tokens),
        cmocka_unit_test(real_traces_have_known_skew),
        cmocka_unit_test(free_accepts_null),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
