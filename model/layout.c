#include "model/layout.h"

#include "base/table.h"

#include <stdlib.h>
#include <string.h>

const char *const MS_GROUP_NAMES[MS_N_GROUPS] = {
    [MS_GROUP_TP] = "TP", [MS_GROUP_CP] = "CP",      [MS_GROUP_EP] = "EP",   [MS_GROUP_ETP] = "ETP",
    [MS_GROUP_PP] = "PP", [MS_GROUP_DP] = "DP x CP", [MS_GROUP_EDP] = "EDP",
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* The divisor of n nearest to x, the smaller one on a tie. */
static int64_t nearest_divisor(int64_t n, int64_t x)
{
    for (int64_t d = 0; d <= n; d++) {
        if (x - d >= 1 && n % (x - d) == 0)
            return x - d;
        if (x + d <= n && n % (x + d) == 0)
            return x + d;
    }
    return 1;
}

/* The positive multiple of m nearest to x. */
static int64_t nearest_multiple(int64_t m, int64_t x)
{
    int64_t below = x / m * m;
    if (below < m)
        return m;
    return x - below <= below + m - x ? below : below + m;
}

/* One division that must come out: `value` must be a multiple of `by`. */
struct division {
    const char *option; /* the option to change */
    const char *what;   /* "GPUs", "experts", ... */
    int64_t value;      /* the dividend */
    const char *parts;  /* what the divisor is made of */
    int64_t by;
    int64_t fix_value; /* current value of `option` */
    int64_t fix_of;    /* option must divide this (> 0), or be a multiple of -fix_of (< 0) */
};

static enum ms_status check_division(const struct division *d, struct ms_error *err)
{
    if (d->value % d->by == 0)
        return MS_OK;
    return ms_fail(err, MS_E_USAGE, d->option,
                   "%lld %s do not divide by %s = %lld; nearest legal value of %s is %lld",
                   (long long)d->value, d->what, d->parts, (long long)d->by, d->option,
                   (long long)(d->fix_of > 0 ? nearest_divisor(d->fix_of, d->fix_value)
                                             : nearest_multiple(-d->fix_of, d->fix_value)));
}

static enum ms_status check_divisions(const struct ms_layout *l, const struct ms_recipe *r,
                                      struct ms_error *err)
{
    const struct ms_arch *a = l->arch;
    int64_t gpus = l->cluster->gpus, dense = l->tp * l->cp * l->pp, expert = l->etp * l->ep * l->pp;
    int64_t experts = a->n_experts ? a->n_experts : 1;
    const struct division divisions[] = {
        {"--gpus", "GPUs", gpus, "TP x CP x PP", dense, gpus, -dense},
        {"--ep", "experts", experts, "EP", l->ep, l->ep, experts},
        {"--gpus", "GPUs", gpus, "ETP x EP x PP", expert, gpus, -expert},
        {"--tp", "attention heads", a->heads, "TP", l->tp, l->tp, a->heads},
        {"--etp", "columns of an expert", experts > 1 ? a->moe_ffn : l->etp, "ETP", l->etp, l->etp,
         a->moe_ffn ? a->moe_ffn : 1},
        {"--seq-len", "tokens", r->seq_len, l->cp > 1 ? "2 CP x TP" : "TP",
         (l->cp > 1 ? 2 * l->cp : 1) * l->tp, r->seq_len, -(l->cp > 1 ? 2 * l->cp : 1) * l->tp},
    };
    for (size_t i = 0; i < sizeof(divisions) / sizeof(divisions[0]); i++) {
        enum ms_status status = check_division(&divisions[i], err);
        if (status != MS_OK)
            return status;
    }
    return MS_OK;
}

static enum ms_status check_batch(struct ms_layout *l, const struct ms_recipe *r,
                                  struct ms_error *err)
{
    int64_t per_pass = r->mbs * l->dp;
    enum ms_status status = check_division(
        &(struct division){"--gbs", "sequences", r->gbs, "MBS x DP", per_pass, r->gbs, -per_pass},
        err);
    if (status != MS_OK)
        return status;
    l->n_microbatches = r->gbs / per_pass;
    l->tokens_per_rank = r->mbs * r->seq_len / (l->tp * l->cp);
    if (r->schedule == MS_SCHEDULE_INTERLEAVED && l->n_microbatches % l->pp)
        return check_division(&(struct division){"--gbs", "microbatches", l->n_microbatches,
                                                 "PP (interleaved schedule)", l->pp, r->gbs,
                                                 -per_pass * l->pp},
                              err);
    return MS_OK;
}

static enum ms_status check_schedule(const struct ms_layout *l, const struct ms_recipe *r,
                                     struct ms_error *err)
{
    int64_t n_chunks = l->pp * l->vp;
    if (l->vp > 1 && r->schedule != MS_SCHEDULE_INTERLEAVED)
        return ms_fail(err, MS_E_USAGE, "--vp",
                       "%lld virtual stages need --schedule interleaved; with 1f1b use --vp 1",
                       (long long)l->vp);
    if (l->vp > 1 && l->pp == 1)
        return ms_fail(err, MS_E_USAGE, "--vp", "%lld virtual stages need --pp over 1; use --vp 1",
                       (long long)l->vp);
    if (n_chunks > MS_CHUNKS_MAX)
        return ms_fail(err, MS_E_USAGE, "--pp", "PP x VP = %lld model chunks; the limit is %d",
                       (long long)n_chunks, MS_CHUNKS_MAX);
    return MS_OK;
}

/* Even stages: decoder layers and MTP modules count alike, the surplus goes to the first chunks. */
static enum ms_status even_stages(const struct ms_layout *l, const struct ms_recipe *r,
                                  struct ms_chunk *chunks, struct ms_error *err)
{
    int64_t n = l->pp * l->vp, units = l->arch->n_layers + r->mtp, next = 0;
    if (l->arch->n_layers < n)
        return ms_fail(
            err, MS_E_USAGE, "--pp",
            "%lld layers cannot fill PP x VP = %lld chunks; nearest legal value of PP x VP "
            "is %lld",
            (long long)l->arch->n_layers, (long long)n, (long long)l->arch->n_layers);
    for (int64_t g = 0; g < n; g++) {
        int64_t size = units / n + (g < units % n);
        bool last = g == n - 1;
        chunks[g] = (struct ms_chunk){.embedding = g == 0, .loss = last, .first_layer = next};
        chunks[g].n_layers = last ? l->arch->n_layers - next : size;
        if (next + chunks[g].n_layers > l->arch->n_layers)
            chunks[g].n_layers = l->arch->n_layers - next;
        chunks[g].n_mtp = last ? r->mtp : 0;
        next += chunks[g].n_layers;
    }
    return MS_OK;
}

static void take_sizes(const struct ms_cluster *cluster, const struct ms_recipe *r,
                       struct ms_layout *l)
{
    l->tp = r->tp;
    l->cp = r->cp;
    l->ep = r->ep;
    l->etp = r->etp;
    l->pp = r->pp;
    l->vp = r->vp;
    l->stage_ranks = cluster->gpus / r->pp;
}

enum ms_status ms_layout_init(const struct ms_cluster *cluster, const struct ms_arch *arch,
                              const struct ms_recipe *recipe, struct ms_layout *out,
                              struct ms_error *err)
{
    struct ms_layout l = {.cluster = cluster, .arch = arch};
    enum ms_status status;
    int64_t dense, expert;
    take_sizes(cluster, recipe, &l);
    status = check_schedule(&l, recipe, err);
    if (status == MS_OK)
        status = check_divisions(&l, recipe, err);
    if (status != MS_OK)
        return status;
    dense = l.tp * l.cp;
    expert = l.etp * l.ep;
    l.dp = l.stage_ranks / dense;
    l.edp = l.stage_ranks / expert;
    l.cell_ranks = dense / gcd(dense, expert) * expert;
    l.n_cells = l.stage_ranks / l.cell_ranks;
    MS_REQUIRE(l.cell_ranks * l.n_cells * l.pp == cluster->gpus);
    status = check_batch(&l, recipe, err);
    if (status != MS_OK)
        return status;
    if (recipe->pp_layout[0])
        status = ms_layout_parse_stages(recipe->pp_layout, l.pp * l.vp, arch->n_layers, recipe->mtp,
                                        l.chunks, err);
    else
        status = even_stages(&l, recipe, l.chunks, err);
    if (status == MS_OK)
        *out = l;
    return status;
}

const struct ms_chunk *ms_layout_chunk(const struct ms_layout *layout, int64_t stage, int64_t v)
{
    return &layout->chunks[v * layout->pp + stage];
}

int64_t ms_layout_cell_first(const struct ms_layout *layout, int64_t stage, int64_t cell)
{
    return stage * layout->stage_ranks + cell * layout->cell_ranks;
}

int64_t ms_layout_group_size(const struct ms_layout *layout, enum ms_group_kind kind)
{
    const int64_t sizes[MS_N_GROUPS] = {
        [MS_GROUP_TP] = layout->tp,   [MS_GROUP_CP] = layout->cp,
        [MS_GROUP_EP] = layout->ep,   [MS_GROUP_ETP] = layout->etp,
        [MS_GROUP_PP] = layout->pp,   [MS_GROUP_DP] = layout->dp * layout->cp,
        [MS_GROUP_EDP] = layout->edp,
    };
    return sizes[kind];
}

/* Distance between neighbours of a group in rank numbers: all groups are arithmetic progressions. */
static int64_t group_stride(const struct ms_layout *layout, enum ms_group_kind kind)
{
    const int64_t strides[MS_N_GROUPS] = {
        [MS_GROUP_TP] = 1,
        [MS_GROUP_CP] = layout->tp,
        [MS_GROUP_EP] = layout->etp,
        [MS_GROUP_ETP] = 1,
        [MS_GROUP_PP] = layout->stage_ranks,
        [MS_GROUP_DP] = layout->tp,
        [MS_GROUP_EDP] = layout->etp * layout->ep,
    };
    return strides[kind];
}

int64_t ms_layout_member(const struct ms_layout *layout, enum ms_group_kind kind, int64_t rank,
                         int64_t i)
{
    int64_t stride = group_stride(layout, kind), size = ms_layout_group_size(layout, kind);
    int64_t base = kind == MS_GROUP_PP ? 0 : rank / layout->stage_ranks * layout->stage_ranks;
    int64_t index = (rank - base) / stride % size;
    return rank + (i - index) * stride;
}

struct ms_group ms_layout_group(const struct ms_layout *layout, enum ms_group_kind kind,
                                int64_t rank)
{
    struct ms_group group = {.n_ranks = ms_layout_group_size(layout, kind)};
    int64_t run = 0, domain = -1;
    for (int64_t i = 0; i < group.n_ranks; i++) { /* members ascend, so domains come in runs */
        int64_t d = ms_cluster_domain(layout->cluster, ms_layout_member(layout, kind, rank, i));
        run = d == domain ? run + 1 : 1;
        group.n_domains += d != domain;
        domain = d;
        if (run > group.ranks_per_domain)
            group.ranks_per_domain = run;
    }
    return group;
}

struct ms_group ms_layout_worst_group(const struct ms_layout *layout, enum ms_group_kind kind)
{
    struct ms_group worst = {0};
    for (int64_t rank = 0; rank < layout->cluster->gpus; rank++) {
        struct ms_group group;
        if (ms_layout_member(layout, kind, rank, 0) != rank)
            continue; /* each group once, by its first member */
        group = ms_layout_group(layout, kind, rank);
        if (group.n_domains > worst.n_domains ||
            (group.n_domains == worst.n_domains && group.ranks_per_domain < worst.ranks_per_domain))
            worst = group;
    }
    return worst;
}

/* Expands repeats of `*text` into `out`, up to the end or the closing parenthesis. */
static enum ms_status expand_stages(const char **text, int depth, struct ms_buf *out,
                                    struct ms_error *err)
{
    enum { SYMBOLS_MAX = 1 << 14, DEPTH_MAX = 8 };
    while (**text && **text != ')') {
        size_t start = out->length, length;
        long repeat = 1;
        if (**text == '(') {
            enum ms_status status;
            ++*text;
            if (depth == DEPTH_MAX)
                return ms_fail(err, MS_E_USAGE, "--pp-layout", "parentheses nest over %d deep",
                               DEPTH_MAX);
            status = expand_stages(text, depth + 1, out, err);
            if (status != MS_OK)
                return status;
            if (**text != ')')
                return ms_fail(err, MS_E_USAGE, "--pp-layout", "'(' is not closed");
        } else if (strchr("EtmL|", **text)) {
            ms_buf_add(out, *text, 1);
        } else {
            return ms_fail(err, MS_E_USAGE, "--pp-layout",
                           "'%c' is none of E, t, m, L, |, (, ), *N", **text);
        }
        ++*text;
        if (**text == '*') {
            char *end;
            repeat = strtol(*text + 1, &end, 10);
            if (end == *text + 1 || repeat < 1 || repeat > SYMBOLS_MAX)
                return ms_fail(err, MS_E_USAGE, "--pp-layout", "'*' needs a count of 1 to %d",
                               SYMBOLS_MAX);
            *text = end;
        }
        length = out->length - start;
        for (long i = 1; i < repeat; i++) {
            char copy[SYMBOLS_MAX];
            if (length + out->length > SYMBOLS_MAX)
                return ms_fail(err, MS_E_USAGE, "--pp-layout", "over %d symbols", SYMBOLS_MAX);
            memcpy(copy, out->text + start, length);
            ms_buf_add(out, copy, length);
        }
    }
    return MS_OK;
}

static enum ms_status fail_count(const char *what, int64_t has, int64_t wanted,
                                 struct ms_error *err)
{
    return ms_fail(err, MS_E_USAGE, "--pp-layout", "has %lld %s; %lld are needed", (long long)has,
                   what, (long long)wanted);
}

enum ms_status ms_layout_parse_stages(const char *text, int64_t n_chunks, int64_t n_layers,
                                      int64_t n_mtp, struct ms_chunk *chunks, struct ms_error *err)
{
    struct ms_chunk parsed[MS_CHUNKS_MAX] = {{0}};
    struct ms_buf flat = {0};
    int64_t g = 0, layers = 0, mtp = 0, embeddings = 0, losses = 0;
    enum ms_status status;
    MS_REQUIRE(n_chunks >= 1 && n_chunks <= MS_CHUNKS_MAX);
    ms_buf_puts(&flat, "");
    status = expand_stages(&text, 0, &flat, err);
    if (status == MS_OK && *text == ')')
        status = ms_fail(err, MS_E_USAGE, "--pp-layout", "')' without '('");
    for (const char *p = flat.text; status == MS_OK && *p; p++) {
        struct ms_chunk *c = &parsed[g < n_chunks ? g : n_chunks - 1];
        c->embedding |= *p == 'E';
        c->loss |= *p == 'L';
        c->n_layers += *p == 't';
        c->n_mtp += *p == 'm';
        embeddings += *p == 'E';
        losses += *p == 'L';
        layers += *p == 't';
        mtp += *p == 'm';
        g += *p == '|';
    }
    ms_buf_free(&flat);
    if (status != MS_OK)
        return status;
    if (g + 1 != n_chunks)
        return fail_count("chunks (parts between |)", g + 1, n_chunks, err);
    if (layers != n_layers)
        return fail_count("layers (t)", layers, n_layers, err);
    if (mtp != n_mtp)
        return fail_count("MTP modules (m; see --mtp)", mtp, n_mtp, err);
    if (embeddings != 1 || losses != 1 || !parsed[0].embedding || !parsed[n_chunks - 1].loss)
        return ms_fail(err, MS_E_USAGE, "--pp-layout",
                       "E must be in the first chunk and L in the last");
    for (int64_t i = 0, next = 0; i < n_chunks; next += parsed[i++].n_layers)
        parsed[i].first_layer = next;
    memcpy(chunks, parsed, (size_t)n_chunks * sizeof(*chunks));
    return MS_OK;
}

static const char *tier_text(const struct ms_group *group)
{
    if (group->n_ranks == 1)
        return "one GPU";
    return group->n_domains == 1 ? "inside one NVLink domain" : "crosses domains";
}

static void print_stages(const struct ms_layout *layout, struct ms_buf *out)
{
    struct ms_table *table = ms_table_new("rrlrr");
    static const char *const head[] = {"stage", "virtual", "layers", "MTP", "ends"};
    for (size_t i = 0; i < 5; i++)
        ms_table_cell(table, "%s", head[i]);
    for (int64_t g = 0; g < layout->pp * layout->vp; g++) {
        const struct ms_chunk *c = &layout->chunks[g];
        ms_table_cell(table, "%lld", (long long)(g % layout->pp));
        ms_table_cell(table, "%lld", (long long)(g / layout->pp));
        if (c->n_layers)
            ms_table_cell(table, "%lld to %lld", (long long)c->first_layer,
                          (long long)(c->first_layer + c->n_layers - 1));
        else
            ms_table_cell(table, "none");
        ms_table_cell(table, "%lld", (long long)c->n_mtp);
        ms_table_cell(table, "%s",
                      c->embedding && c->loss ? "embedding, loss"
                      : c->embedding          ? "embedding"
                      : c->loss               ? "loss"
                                              : "");
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
}

void ms_layout_print(const struct ms_layout *layout, struct ms_buf *out)
{
    struct ms_table *table = ms_table_new("lrrrl");
    static const char *const head[] = {"group", "ranks", "domains", "per domain", "tier"};
    ms_buf_printf(out,
                  "%lld GPUs in %lld NVLink domains of %lld; order tp-cp-ep-dp-pp\n"
                  "%lld replicas of %lld stages x %lld ranks; %lld microbatches of %lld tokens a "
                  "rank\n\nGroups (the worst spread one of each kind)\n",
                  (long long)layout->cluster->gpus, (long long)layout->cluster->n_domains,
                  (long long)layout->cluster->gpus_per_domain, (long long)layout->n_cells,
                  (long long)layout->pp, (long long)layout->cell_ranks,
                  (long long)layout->n_microbatches, (long long)layout->tokens_per_rank);
    for (size_t i = 0; i < 5; i++)
        ms_table_cell(table, "%s", head[i]);
    for (int kind = 0; kind < MS_N_GROUPS; kind++) {
        struct ms_group g = ms_layout_worst_group(layout, (enum ms_group_kind)kind);
        ms_table_cell(table, "%s", MS_GROUP_NAMES[kind]);
        ms_table_cell(table, "%lld", (long long)g.n_ranks);
        ms_table_cell(table, "%lld", (long long)g.n_domains);
        ms_table_cell(table, "%lld", (long long)g.ranks_per_domain);
        ms_table_cell(table, "%s", tier_text(&g));
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
    ms_buf_puts(out, "\nStages\n");
    print_stages(layout, out);
}
