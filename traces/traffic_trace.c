/* traffic_trace.c - routing from a file of expert ids: exact counts of the tokens of each source rank.
 *
 * The tokens of the trace are dealt in order, microbatch by microbatch, group by group, rank by rank, and
 * start again when they end. What a slice of tokens sends where is the difference of two prefix counts.
 * Opening checks every id and stores, per layer, the counts of all tokens before every BLOCK-th one; a
 * query adds the few tokens between the block's start and the slice's edge, and whole repeats of the trace.
 *
 * A row of counts is [n_experts] assignments, [ep] tokens that hit the rank, [n_domains] that hit the
 * domain.
 */
#include "traces/traffic_source.h"

#include "traces/npy.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_TOKENS_MIN = 32 };
static const int64_t TABLE_BYTES_MAX = 256 << 20;

struct trace {
    struct ms_traffic_source base;
    struct ms_npy npy;
    int64_t n_tokens, n_layers; /* layers of the file; 1 for all if it has none */
    int64_t block_tokens, n_blocks;
    int64_t width;   /* entries of a row */
    uint32_t *table; /* [n_layers][n_blocks + 1][width] */
    int64_t *rank;   /* [n_experts] rank of each expert */
    /* scratch */
    int64_t *ids;         /* [n_layers * topk] of one token */
    int64_t *stamp;       /* [width] last (token, layer) that counted in the entry */
    int64_t now;          /* this (token, layer) */
    uint32_t *row;        /* [width] */
    int64_t *origin;      /* [width] counts before a group's first token */
    int64_t *begin, *end; /* [width] counts before the edges of one rank's slice */
    double *experts;      /* [n_experts] of one rank's slice */
    struct ms_traffic_hits hits;
};

/* Counts one token's ids into `row`. The ids are legal. */
static void count_token(struct trace *t, const int64_t *ids, uint32_t *row)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    uint32_t *ranks = row + s->n_experts, *domains = ranks + s->ep;
    int64_t *rank_stamp = t->stamp + s->n_experts, *domain_stamp = rank_stamp + s->ep;
    t->now++;
    for (int64_t i = 0; i < s->topk; i++) {
        int64_t r = t->rank[ids[i]], d = t->base.map.domain[r];
        row[ids[i]]++;
        ranks[r] += rank_stamp[r] != t->now;
        rank_stamp[r] = t->now;
        domains[d] += domain_stamp[d] != t->now;
        domain_stamp[d] = t->now;
    }
}

static enum ms_status fail_duplicate(const int64_t *ids, int64_t slot, const char *where,
                                     struct ms_error *err)
{
    int64_t first = 0;
    while (ids[first] != ids[slot])
        first++;
    return ms_fail(err, MS_E_INPUT, where,
                   "expert %lld is in slots %lld and %lld; a token's experts must differ",
                   (long long)ids[slot], (long long)first, (long long)slot);
}

/* The ids of one token and layer: in range and all different. */
static enum ms_status check_token(struct trace *t, int64_t token, int64_t layer, const char *path,
                                  struct ms_error *err)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    const int64_t *ids = t->ids + layer * s->topk;
    char where[256];
    int64_t i;
    t->now++;
    for (i = 0; i < s->topk; i++) {
        if (ids[i] < 0 || ids[i] >= s->n_experts || t->stamp[ids[i]] == t->now)
            break;
        t->stamp[ids[i]] = t->now;
    }
    if (i == s->topk)
        return MS_OK;
    snprintf(where, sizeof(where), "%.180s:token %lld, layer %lld", path, (long long)token,
             (long long)layer);
    if (ids[i] >= 0 && ids[i] < s->n_experts)
        return fail_duplicate(ids, i, where, err);
    return ms_fail(err, MS_E_INPUT, where,
                   "slot %lld has expert %lld; the model has experts 0..%lld%s", (long long)i,
                   (long long)ids[i], (long long)s->n_experts - 1,
                   ids[i] == -1 ? " (-1 marks missing tokens or slots: drop those tokens)" : "");
}

static uint32_t *table_row(const struct trace *t, int64_t layer, int64_t block)
{
    return t->table + (layer * (t->n_blocks + 1) + block) * t->width;
}

/* One pass over the file: checks and counts. Row b + 1 of a layer starts as row b and takes the tokens of
 * block b. */
static enum ms_status build_table(struct trace *t, const char *path, struct ms_error *err)
{
    int64_t k = t->base.shape.topk, per_token = t->n_layers * k;
    for (int64_t token = 0; token < t->n_tokens; token++) {
        int64_t block = token / t->block_tokens;
        ms_npy_read(&t->npy, token * per_token, per_token, t->ids);
        for (int64_t layer = 0; layer < t->n_layers; layer++) {
            uint32_t *row = table_row(t, layer, block + 1);
            enum ms_status status = check_token(t, token, layer, path, err);
            if (status != MS_OK)
                return status;
            if (token % t->block_tokens == 0)
                memcpy(row, row - t->width, (size_t)t->width * sizeof(*row));
            count_token(t, t->ids + layer * k, row);
        }
    }
    return MS_OK;
}

/* Blocks as small as the table's memory allows. */
static void size_table(struct trace *t)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    int64_t row_bytes;
    t->width = s->n_experts + s->ep + t->base.map.n_domains;
    row_bytes = t->width * (int64_t)sizeof(*t->table);
    t->block_tokens = BLOCK_TOKENS_MIN;
    for (;;) {
        t->n_blocks = (t->n_tokens + t->block_tokens - 1) / t->block_tokens;
        if (t->n_blocks == 1 || t->n_blocks + 1 <= TABLE_BYTES_MAX / (row_bytes * t->n_layers))
            return;
        t->block_tokens *= 2;
    }
}

static void allocate(struct trace *t)
{
    struct ms_arena *arena = t->base.arena;
    const struct ms_traffic_shape *s = &t->base.shape;
    size_t width;
    size_table(t);
    width = (size_t)t->width;
    t->table =
        ms_arena_alloc(arena, (size_t)(t->n_layers * (t->n_blocks + 1)) * width, sizeof(*t->table));
    t->ids = ms_arena_alloc(arena, (size_t)(t->n_layers * s->topk), sizeof(*t->ids));
    t->stamp = ms_arena_alloc(arena, width, sizeof(*t->stamp));
    t->rank = ms_arena_alloc(arena, (size_t)s->n_experts, sizeof(*t->rank));
    for (int64_t e = 0; e < s->n_experts; e++)
        t->rank[e] = e / (s->n_experts / s->ep);
    t->row = ms_arena_alloc(arena, width, sizeof(*t->row));
    t->origin = ms_arena_alloc(arena, width, sizeof(*t->origin));
    t->begin = ms_arena_alloc(arena, width, sizeof(*t->begin));
    t->end = ms_arena_alloc(arena, width, sizeof(*t->end));
    t->experts = ms_arena_alloc(arena, (size_t)s->n_experts, sizeof(*t->experts));
    t->hits = ms_traffic_hits_new(arena, &t->base.map);
}

/* Counts in `layer` of the first `n` tokens of the endlessly repeated trace. */
static void counts_before(struct trace *t, int64_t layer, int64_t n, int64_t *out)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    int64_t repeats = n / t->n_tokens, rest = n % t->n_tokens, block = rest / t->block_tokens;
    const uint32_t *whole = table_row(t, layer, t->n_blocks);
    memcpy(t->row, table_row(t, layer, block), (size_t)t->width * sizeof(*t->row));
    for (int64_t token = block * t->block_tokens; token < rest; token++) {
        ms_npy_read(&t->npy, (token * t->n_layers + layer) * s->topk, s->topk, t->ids);
        for (int64_t i = 0; i < s->topk; i++) /* checked on opening, but it is the user's file */
            MS_REQUIRE(t->ids[i] >= 0 && t->ids[i] < s->n_experts);
        count_token(t, t->ids, t->row);
    }
    for (int64_t i = 0; i < t->width; i++)
        out[i] = repeats * (int64_t)whole[i] + (int64_t)t->row[i];
}

static void subtract(const int64_t *end, const int64_t *begin, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(end[i] - begin[i]);
}

static double sum(const double *x, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++)
        total += x[i];
    return total;
}

/* Adds what the tokens between `begin` and `end` send from rank `source`. */
static void add_slice(struct trace *t, int64_t source, struct ms_traffic *out)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    const struct ms_traffic_map *map = &t->base.map;
    int64_t domains = s->n_experts + s->ep;
    subtract(t->end + s->n_experts, t->begin + s->n_experts, s->ep, t->hits.ranks);
    subtract(t->end + domains, t->begin + domains, map->n_domains, t->hits.domains);
    out->distinct_ranks += sum(t->hits.ranks, s->ep);
    out->distinct_domains += sum(t->hits.domains, map->n_domains);
    if (s->copies == MS_COPIES_PER_ASSIGNMENT) {
        subtract(t->end, t->begin, s->n_experts, t->experts);
        ms_traffic_sum_ranks(s, t->experts, 1, t->hits.assignments);
    }
    if (s->copies != MS_COPIES_ALL)
        ms_traffic_ports_add(map, s->copies, source, &t->hits, out->ports);
}

static void trace_get(struct ms_traffic_source *source, int64_t layer, int64_t microbatch,
                      int64_t group, struct ms_traffic *out)
{
    struct trace *t = (struct trace *)source;
    const struct ms_traffic_shape *s = &source->shape;
    int64_t file_layer = t->n_layers == 1 ? 0 : layer;
    int64_t tokens = s->ep * s->tokens_per_rank;
    int64_t start = (microbatch * s->n_groups + group) * tokens % t->n_tokens;
    out->distinct_ranks = 0;
    out->distinct_domains = 0;
    memset(out->ports, 0, (size_t)s->ep * sizeof(*out->ports));
    if (s->copies == MS_COPIES_ALL)
        ms_traffic_ports_all(&source->map, (double)s->tokens_per_rank, out->ports);
    counts_before(t, file_layer, start, t->origin);
    memcpy(t->end, t->origin, (size_t)t->width * sizeof(*t->end));
    for (int64_t r = 0; r < s->ep; r++) {
        int64_t *swap = t->begin;
        t->begin = t->end;
        t->end = swap;
        counts_before(t, file_layer, start + (r + 1) * s->tokens_per_rank, t->end);
        add_slice(t, r, out);
    }
    subtract(t->end, t->origin, s->n_experts, out->expert_tokens);
    ms_traffic_sum_ranks(s, out->expert_tokens, 1, out->rank_tokens);
    out->distinct_ranks /= (double)tokens;
    out->distinct_domains /= (double)tokens;
}

static void trace_free(struct ms_traffic_source *source)
{
    ms_npy_close(&((struct trace *)source)->npy);
}

static const struct ms_traffic_source_kind TRACE = {
    .uniform = false, .get = trace_get, .free = trace_free};

/* "8,327": at most 26 characters. */
static void group_digits(int64_t n, char out[32])
{
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%lld", (long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}

static void write_note(struct trace *t, const char *path)
{
    const struct ms_traffic_shape *s = &t->base.shape;
    const char *slash = strrchr(path, '/');
    int64_t need = s->n_microbatches * s->n_groups * s->ep * s->tokens_per_rank;
    char have_text[32], need_text[32], times_text[32], *note = t->base.note;
    size_t size = sizeof(t->base.note), n;
    group_digits(t->n_tokens, have_text);
    group_digits(need, need_text);
    group_digits(need / t->n_tokens, times_text);
    if (need / t->n_tokens < 10)
        snprintf(times_text, sizeof(times_text), "%.2f", (double)need / (double)t->n_tokens);
    n = (size_t)snprintf(note, size, "routing of %.80s: ", slash ? slash + 1 : path);
    if (need > t->n_tokens)
        n += (size_t)snprintf(note + n, size - n, "%s tokens repeated %s times for a step of %s",
                              have_text, times_text, need_text);
    else
        n +=
            (size_t)snprintf(note + n, size - n, "the first %s of %s tokens", need_text, have_text);
    if (t->npy.n_dims == 2 && s->n_moe_layers > 1)
        snprintf(note + n, size - n, ", its one layer used for all %lld",
                 (long long)s->n_moe_layers);
}

/* The file's shape against the model's. */
static enum ms_status check_dims(const struct ms_npy *npy, const struct ms_traffic_shape *s,
                                 const char *path, struct ms_error *err)
{
    int64_t k;
    if (npy->n_dims != 2 && npy->n_dims != 3)
        return ms_fail(err, MS_E_INPUT, path,
                       "has %d dimensions; ids are [tokens, layers, topk] or [tokens, topk]",
                       npy->n_dims);
    k = npy->shape[npy->n_dims - 1];
    if (k != s->topk)
        return ms_fail(err, MS_E_INPUT, path,
                       "has %lld experts per token (last dimension), the model has top-%lld%s",
                       (long long)k, (long long)s->topk,
                       k == s->n_experts ? "; are these counts per expert? ids are needed" : "");
    if (npy->n_dims == 3 && npy->shape[1] != s->n_moe_layers)
        return ms_fail(err, MS_E_INPUT, path, "has %lld layers, the model has %lld MoE layers",
                       (long long)npy->shape[1], (long long)s->n_moe_layers);
    if (npy->shape[0] == 0)
        return ms_fail(err, MS_E_INPUT, path, "has no tokens; at least 1 is needed");
    if (npy->shape[0] > UINT32_MAX)
        return ms_fail(err, MS_E_INPUT, path, "has %lld tokens; the limit is %lld",
                       (long long)npy->shape[0], (long long)UINT32_MAX);
    return MS_OK;
}

enum ms_status ms_traffic_trace_open(const char *path, const struct ms_traffic_shape *shape,
                                     struct ms_traffic_source **out, struct ms_error *err)
{
    struct ms_npy npy;
    struct trace *t;
    enum ms_status status = ms_npy_open(path, &npy, err);
    if (status != MS_OK)
        return status;
    if ((status = check_dims(&npy, shape, path, err)) != MS_OK) {
        ms_npy_close(&npy);
        return status;
    }
    t = ms_traffic_source_new(sizeof(*t), shape);
    t->base.kind = &TRACE;
    t->npy = npy;
    t->n_tokens = npy.shape[0];
    t->n_layers = npy.n_dims == 3 ? npy.shape[1] : 1;
    allocate(t);
    if ((status = build_table(t, path, err)) != MS_OK) {
        ms_traffic_free(&t->base);
        return status;
    }
    write_note(t, path);
    *out = &t->base;
    return MS_OK;
}
