/* layout.c - checks the parallel sizes, deals layers out to stages, and counts where groups lie.
 *
 * Order to read: divisions (what must come out, and what to recommend if it does not), layout,
 * groups, pipeline layout strings, printing. docs/layout.md explains it with examples.
 */
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

/* --- divisions that must come out
 * --------------------------------------------------------------- */

/* The numbers that have to divide each other. */
struct sizes {
    int64_t gpus, tp, cp, ep, etp, pp, mbs, gbs, seq_len;
    int64_t heads, experts, columns; /* of the model; columns of an expert */
    bool interleaved;
};

/* Options that a message may tell to change: name, and where its value is in struct sizes. */
enum option { OPTION_TP, OPTION_EP, OPTION_ETP, OPTION_SEQ_LEN, OPTION_GPUS, OPTION_GBS };
static const struct {
    const char *name;
    size_t offset;
} OPTIONS[] = {
    [OPTION_TP] = {"--tp", offsetof(struct sizes, tp)},
    [OPTION_EP] = {"--ep", offsetof(struct sizes, ep)},
    [OPTION_ETP] = {"--etp", offsetof(struct sizes, etp)},
    [OPTION_SEQ_LEN] = {"--seq-len", offsetof(struct sizes, seq_len)},
    [OPTION_GPUS] = {"--gpus", offsetof(struct sizes, gpus)},
    [OPTION_GBS] = {"--gbs", offsetof(struct sizes, gbs)},
};

/* `value` must be a multiple of `by`; if not, `option` has to change. */
struct division {
    enum option option;
    const char *what; /* "GPUs", "experts", ... */
    int64_t value;
    const char *parts; /* what the divisor is made of */
    int64_t by;
};

/* The first DIVISIONS_OF_SIZES do not depend on the batch. Those of one option and the model come
 * first, so that the later ones can be mended by --gpus or --gbs alone. */
enum { DIVISIONS_OF_SIZES = 6, N_DIVISIONS = 8 };

static void list_divisions(const struct sizes *s, struct division out[N_DIVISIONS])
{
    int64_t dense = s->tp * s->cp * s->pp,
            pass = s->mbs * (s->gpus / dense > 0 ? s->gpus / dense : 1);
    const struct division all[N_DIVISIONS] = {
        {OPTION_TP, "attention heads", s->heads, "TP", s->tp},
        {OPTION_EP, "experts", s->experts, "EP", s->ep},
        {OPTION_ETP, "columns of an expert", s->columns, "ETP", s->etp},
        {OPTION_SEQ_LEN, "tokens", s->seq_len, s->cp > 1 ? "2 CP x TP" : "TP",
         (s->cp > 1 ? 2 * s->cp : 1) * s->tp},
        {OPTION_GPUS, "GPUs", s->gpus, "TP x CP x PP", dense},
        {OPTION_GPUS, "GPUs", s->gpus, "ETP x EP x PP", s->etp * s->ep * s->pp},
        {OPTION_GBS, "sequences", s->gbs, "MBS x DP", pass},
        {OPTION_GBS, "microbatches", s->gbs / pass, "PP (interleaved schedule)",
         s->interleaved ? s->pp : 1},
    };
    memcpy(out, all, sizeof(all));
}

/* Index of the first of the `n` divisions that does not come out, or n. */
static int64_t first_uneven(const struct sizes *s, int64_t n)
{
    struct division divisions[N_DIVISIONS];
    int64_t i = 0;
    list_divisions(s, divisions);
    while (i < n && divisions[i].value % divisions[i].by == 0)
        i++;
    return i;
}

/* Legal values of `option` are multiples of this; 0: there are none. */
static int64_t option_step(const struct sizes *s, enum option option)
{
    int64_t dense = s->tp * s->cp * s->pp, expert = s->etp * s->ep * s->pp;
    if (option == OPTION_SEQ_LEN)
        return (s->cp > 1 ? 2 * s->cp : 1) * s->tp;
    if (option == OPTION_GBS)
        return s->mbs * (s->gpus / dense) * (s->interleaved ? s->pp : 1);
    if (option != OPTION_GPUS)
        return 1;
    if (dense > MS_GPUS_MAX || expert > MS_GPUS_MAX)
        return 0;
    return dense / gcd(dense, expert) * expert;
}

static int64_t option_limit(const struct sizes *s, enum option option)
{
    const int64_t limits[] = {
        [OPTION_TP] = s->heads,      [OPTION_EP] = s->experts,
        [OPTION_ETP] = s->columns,   [OPTION_SEQ_LEN] = INT64_C(1) << 40,
        [OPTION_GPUS] = MS_GPUS_MAX, [OPTION_GBS] = INT64_C(1) << 40,
    };
    return limits[option];
}

/* True if all divisions up to and without number `end` come out with `value` for `option`. */
static bool is_legal(const struct sizes *sizes, enum option option, int64_t value, int64_t end)
{
    struct sizes tried = *sizes;
    memcpy((char *)&tried + OPTIONS[option].offset, &value, sizeof(value));
    return first_uneven(&tried, end) == end;
}

/* The value of `option` nearest to the present one with which the first `end` divisions come
 * out, the smaller of two; 0 if there is none. */
static int64_t nearest_legal(const struct sizes *s, enum option option, int64_t end)
{
    int64_t step = option_step(s, option), limit = option_limit(s, option), x, low, high;
    if (step == 0)
        return 0;
    memcpy(&x, (const char *)s + OPTIONS[option].offset, sizeof(x));
    if (x > limit)
        x = limit;
    low = x / step * step;
    high = low + step;
    while (low >= step || high <= limit) {
        bool down = low >= step && (high > limit || x - low <= high - x);
        int64_t value = down ? low : high;
        if (is_legal(s, option, value, end))
            return value;
        if (down)
            low -= step;
        else
            high += step;
    }
    return 0;
}

/* What the message recommends. GPUs, tokens and sequences are multiples of a step that mends
 * what failed; a parallel size should leave a layout that is legal in all respects, or as far as
 * sizes go. */
static int64_t recommend(const struct sizes *s, enum option option, int64_t failed)
{
    bool parallel = option == OPTION_TP || option == OPTION_EP || option == OPTION_ETP;
    int64_t value = parallel ? nearest_legal(s, option, N_DIVISIONS) : 0;
    if (parallel && value == 0)
        value = nearest_legal(s, option, DIVISIONS_OF_SIZES);
    return value ? value : nearest_legal(s, option, failed + 1);
}

static enum ms_status check_divisions(const struct sizes *s, struct ms_error *err)
{
    struct division divisions[N_DIVISIONS];
    const struct division *d;
    int64_t failed = first_uneven(s, N_DIVISIONS), value;
    if (failed == N_DIVISIONS)
        return MS_OK;
    if (!err)
        return MS_E_USAGE; /* a search asks; spare it the recommendation */
    list_divisions(s, divisions);
    d = &divisions[failed];
    value = recommend(s, d->option, failed);
    if (value == 0)
        return ms_fail(err, MS_E_USAGE, OPTIONS[d->option].name,
                       "%lld %s do not divide by %s = %lld; no legal value up to %lld",
                       (long long)d->value, d->what, d->parts, (long long)d->by,
                       (long long)option_limit(s, d->option));
    return ms_fail(err, MS_E_USAGE, OPTIONS[d->option].name,
                   "%lld %s do not divide by %s = %lld; nearest legal value of %s is %lld",
                   (long long)d->value, d->what, d->parts, (long long)d->by,
                   OPTIONS[d->option].name, (long long)value);
}

/* Sizes that nobody has chosen yet are 0. */
static enum ms_status check_decided(const struct ms_recipe *r, struct ms_error *err)
{
    const struct {
        const char *option;
        int64_t value;
    } sizes[] = {{"--tp", r->tp},   {"--pp", r->pp},   {"--vp", r->vp},
                 {"--cp", r->cp},   {"--ep", r->ep},   {"--etp", r->etp},
                 {"--mbs", r->mbs}, {"--gbs", r->gbs}, {"--seq-len", r->seq_len}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].value < 1)
            return ms_fail(err, MS_E_USAGE, sizes[i].option,
                           "%lld is not a size; the smallest legal value is 1",
                           (long long)sizes[i].value);
    return MS_OK;
}

/* --- layout
 * ------------------------------------------------------------------------------------ */

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

/* Even stages: decoder layers and MTP modules count alike, the surplus goes to the first chunks;
 * every chunk has a layer. */
static enum ms_status even_stages(const struct ms_layout *l, int64_t n_mtp, struct ms_chunk *chunks,
                                  struct ms_error *err)
{
    int64_t n = l->pp * l->vp, n_layers = l->arch->n_layers, units = n_layers + n_mtp, next = 0;
    if (n_layers < n)
        return ms_fail(err, MS_E_USAGE, "--pp",
                       "%lld layers cannot fill PP x VP = %lld chunks; nearest legal value of "
                       "PP x VP is %lld",
                       (long long)n_layers, (long long)n, (long long)n_layers);
    for (int64_t g = 0; g < n; g++) {
        int64_t size = units / n + (g < units % n), room = n_layers - next - (n - 1 - g);
        bool last = g == n - 1;
        chunks[g] = (struct ms_chunk){.embedding = g == 0, .loss = last, .first_layer = next};
        chunks[g].n_layers = last || size > room ? room : size;
        chunks[g].n_mtp = last ? n_mtp : 0;
        next += chunks[g].n_layers;
    }
    return MS_OK;
}

static struct sizes take_sizes(const struct ms_cluster *cluster, const struct ms_arch *a,
                               const struct ms_recipe *r)
{
    return (struct sizes){
        .gpus = cluster->gpus,
        .tp = r->tp,
        .cp = r->cp,
        .ep = r->ep,
        .etp = r->etp,
        .pp = r->pp,
        .mbs = r->mbs,
        .gbs = r->gbs,
        .seq_len = r->seq_len,
        .heads = a->heads,
        .experts = a->n_experts ? a->n_experts : 1,
        .columns = a->n_experts ? a->moe_ffn : r->etp,
        .interleaved = r->schedule == MS_SCHEDULE_INTERLEAVED,
    };
}

/* Everything that follows from sizes whose divisions come out. */
static void fill_sizes(const struct sizes *s, struct ms_layout *l)
{
    int64_t dense = s->tp * s->cp, expert = s->etp * s->ep;
    l->tp = s->tp;
    l->cp = s->cp;
    l->ep = s->ep;
    l->etp = s->etp;
    l->stage_ranks = s->gpus / s->pp;
    l->dp = l->stage_ranks / dense;
    l->edp = l->stage_ranks / expert;
    l->cell_ranks = dense / gcd(dense, expert) * expert;
    l->n_cells = l->stage_ranks / l->cell_ranks;
    MS_REQUIRE(l->cell_ranks * l->n_cells * s->pp == s->gpus);
    l->n_microbatches = s->gbs / (s->mbs * l->dp);
    l->tokens_per_rank = s->mbs * s->seq_len / dense;
}

enum ms_status ms_layout_init(const struct ms_cluster *cluster, const struct ms_arch *arch,
                              const struct ms_recipe *recipe, struct ms_layout *out,
                              struct ms_error *err)
{
    struct ms_layout l = {.cluster = cluster, .arch = arch, .pp = recipe->pp, .vp = recipe->vp};
    struct sizes sizes = take_sizes(cluster, arch, recipe);
    enum ms_status status = check_decided(recipe, err);
    if (status == MS_OK)
        status = check_schedule(&l, recipe, err);
    if (status == MS_OK)
        status = check_divisions(&sizes, err);
    if (status != MS_OK)
        return status;
    fill_sizes(&sizes, &l);
    if (recipe->pp_layout[0])
        status = ms_layout_parse_stages(recipe->pp_layout, l.pp * l.vp, arch->n_layers, recipe->mtp,
                                        l.chunks, err);
    else
        status = even_stages(&l, recipe->mtp, l.chunks, err);
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

/* Distance between neighbours of a group in rank numbers: all groups are arithmetic
 * progressions. */
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

/* --- pipeline layout strings
 * ------------------------------------------------------------------- */

enum { SYMBOLS_MAX = 1 << 14, DEPTH_MAX = 8 };
static const char SYMBOLS[] = "EtmL|";

/* Reads `*N` if it is there, else 1. */
static enum ms_status read_repeat(const char **text, int64_t *repeat, struct ms_error *err)
{
    int64_t n = 0;
    *repeat = 1;
    if (**text != '*')
        return MS_OK;
    for (++*text; **text >= '0' && **text <= '9'; ++*text)
        n = n > SYMBOLS_MAX ? n : 10 * n + (**text - '0');
    if (n < 1 || n > SYMBOLS_MAX)
        return ms_fail(err, MS_E_USAGE, "--pp-layout", "'*' needs a count of 1 to %d", SYMBOLS_MAX);
    *repeat = n;
    return MS_OK;
}

/* Appends `repeat` - 1 more copies of what `out` holds from `start`. */
static enum ms_status repeat_symbols(struct ms_buf *out, size_t start, int64_t repeat,
                                     struct ms_error *err)
{
    char copy[SYMBOLS_MAX];
    size_t length = out->length - start;
    if (out->length + length * (size_t)(repeat - 1) > SYMBOLS_MAX)
        return ms_fail(err, MS_E_USAGE, "--pp-layout", "over %d symbols", SYMBOLS_MAX);
    memcpy(copy, out->text + start, length); /* ms_buf_add may move the text */
    for (int64_t i = 1; i < repeat; i++)
        ms_buf_add(out, copy, length);
    return MS_OK;
}

static enum ms_status expand_stages(const char **text, int depth, struct ms_buf *out,
                                    struct ms_error *err);

/* One symbol or one group in parentheses, without its repeat. */
static enum ms_status expand_item(const char **text, int depth, struct ms_buf *out,
                                  struct ms_error *err)
{
    enum ms_status status;
    if (strchr(SYMBOLS, **text)) {
        ms_buf_add(out, (*text)++, 1);
        return MS_OK;
    }
    if (**text != '(')
        return ms_fail(err, MS_E_USAGE, "--pp-layout", "'%c' is none of E, t, m, L, |, (, ), *N",
                       **text);
    if (depth == DEPTH_MAX)
        return ms_fail(err, MS_E_USAGE, "--pp-layout", "parentheses nest over %d deep", DEPTH_MAX);
    ++*text;
    status = expand_stages(text, depth + 1, out, err);
    if (status == MS_OK && **text != ')')
        status = ms_fail(err, MS_E_USAGE, "--pp-layout", "'(' is not closed");
    if (status == MS_OK)
        ++*text;
    return status;
}

/* Expands repeats of `*text` into `out`, up to the end or the closing parenthesis. */
static enum ms_status expand_stages(const char **text, int depth, struct ms_buf *out,
                                    struct ms_error *err)
{
    enum ms_status status = MS_OK;
    while (status == MS_OK && **text && **text != ')') {
        size_t start = out->length;
        int64_t repeat = 1;
        status = expand_item(text, depth, out, err);
        if (status == MS_OK)
            status = read_repeat(text, &repeat, err);
        if (status == MS_OK)
            status = repeat_symbols(out, start, repeat, err);
    }
    return status;
}

static enum ms_status fail_count(const char *what, int64_t has, int64_t wanted,
                                 struct ms_error *err)
{
    return ms_fail(err, MS_E_USAGE, "--pp-layout", "has %lld %s; %lld are needed", (long long)has,
                   what, (long long)wanted);
}

/* How often each symbol stands in a layout string, by its place in SYMBOLS. */
enum { AT_E, AT_T, AT_M, AT_L, AT_BAR, N_SYMBOLS };

/* Deals symbols out to chunks; a chunk too many goes to the last one and is counted. `order` is
 * set to false unless E, t, m and L follow each other. */
static void deal_symbols(const char *flat, int64_t n_chunks, struct ms_chunk *chunks,
                         int64_t counts[N_SYMBOLS], bool *order)
{
    int64_t latest = 0;
    *order = true;
    for (const char *p = flat; *p; p++) {
        int64_t g = counts[AT_BAR], at = strchr(SYMBOLS, *p) - SYMBOLS;
        struct ms_chunk *c = &chunks[g < n_chunks ? g : n_chunks - 1];
        c->embedding |= at == AT_E;
        c->n_layers += at == AT_T;
        c->n_mtp += at == AT_M;
        c->loss |= at == AT_L;
        counts[at]++;
        if (at == AT_BAR)
            continue;
        *order = *order && at >= latest;
        latest = at;
    }
}

enum ms_status ms_layout_parse_stages(const char *text, int64_t n_chunks, int64_t n_layers,
                                      int64_t n_mtp, struct ms_chunk *chunks, struct ms_error *err)
{
    struct ms_chunk parsed[MS_CHUNKS_MAX] = {{0}};
    struct ms_buf flat = {0};
    int64_t counts[N_SYMBOLS] = {0};
    bool order = true;
    enum ms_status status;
    MS_REQUIRE(n_chunks >= 1 && n_chunks <= MS_CHUNKS_MAX);
    ms_buf_puts(&flat, "");
    status = expand_stages(&text, 0, &flat, err);
    if (status == MS_OK && *text == ')')
        status = ms_fail(err, MS_E_USAGE, "--pp-layout", "')' without '('");
    if (status == MS_OK)
        deal_symbols(flat.text, n_chunks, parsed, counts, &order);
    ms_buf_free(&flat);
    if (status != MS_OK)
        return status;
    if (counts[AT_BAR] + 1 != n_chunks)
        return fail_count("chunks (parts between |)", counts[AT_BAR] + 1, n_chunks, err);
    if (counts[AT_T] != n_layers)
        return fail_count("layers (t)", counts[AT_T], n_layers, err);
    if (counts[AT_M] != n_mtp)
        return fail_count("MTP modules (m; see --mtp)", counts[AT_M], n_mtp, err);
    if (counts[AT_E] != 1 || counts[AT_L] != 1 || !parsed[0].embedding ||
        !parsed[n_chunks - 1].loss)
        return ms_fail(err, MS_E_USAGE, "--pp-layout",
                       "one E must be in the first chunk and one L in the last");
    if (!order)
        return ms_fail(err, MS_E_USAGE, "--pp-layout", "E, t, m and L must stand in this order");
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
