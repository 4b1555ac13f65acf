/* test_layout.c - rank formulas against a plain enumeration of Megatron's rank order, tiers
 * against counting, every refusal with its recommendation tried, and the pipeline layout
 * strings. */
#include "tests/mstest.h"

#include "model/layout.h"

struct fixture {
    struct ms_recipe recipe;
    struct ms_arch arch;
    struct ms_topology topo;
    struct ms_cluster cluster;
    struct ms_layout layout;
    struct ms_error err;
};

/* Sizes of one case; 0 means 1 (gpus_per_domain: all of 72). gbs is 16 per GPU unless given. */
struct sizes {
    int64_t gpus, tp, cp, ep, etp, pp, vp, mbs, gbs, seq_len, gpus_per_domain, mtp;
};

static int64_t or_one(int64_t n)
{
    return n ? n : 1;
}

/* 96 layers, 48 heads, 96 experts of 1536 columns. */
static void set_up(struct fixture *f, const struct sizes *s)
{
    struct ms_recipe *r = &f->recipe;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    memset(f, 0, sizeof(*f));
    ms_fields_defaults(fields, n, r);
    f->arch = (struct ms_arch){
        .n_layers = 96, .heads = 48, .n_experts = 96, .topk = 4, .moe_ffn = 1536, .hidden = 1024};
    r->gpus = s->gpus;
    r->tp = or_one(s->tp);
    r->cp = or_one(s->cp);
    r->ep = or_one(s->ep);
    r->etp = or_one(s->etp);
    r->pp = or_one(s->pp);
    r->vp = or_one(s->vp);
    r->mbs = or_one(s->mbs);
    r->gbs = s->gbs ? s->gbs : 16 * s->gpus;
    r->seq_len = s->seq_len ? s->seq_len : 5040;
    r->mtp = s->mtp;
    r->schedule = r->vp > 1 ? MS_SCHEDULE_INTERLEAVED : MS_SCHEDULE_1F1B;
    ms_assert_ok(ms_topology_load("gb300_nvl72", &f->topo, &f->err), &f->err);
    ms_assert_ok(ms_cluster_init(&f->topo, s->gpus, s->gpus_per_domain, 0, &f->cluster, &f->err),
                 &f->err);
}

static enum ms_status init(struct fixture *f)
{
    return ms_layout_init(&f->cluster, &f->arch, &f->recipe, &f->layout, &f->err);
}

static struct fixture *load(const struct sizes *s)
{
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    set_up(f, s);
    ms_assert_ok(init(f), &f->err);
    return f;
}

static const struct sizes LEGAL[] = {
    {.gpus = 1},
    {.gpus = 144, .tp = 3, .cp = 2, .ep = 12, .pp = 2},
    {.gpus = 96, .tp = 4, .ep = 6, .etp = 2, .pp = 4},
    {.gpus = 240, .tp = 2, .cp = 5, .ep = 4, .etp = 3, .pp = 2, .seq_len = 140},
    {.gpus = 256, .ep = 32, .pp = 2, .vp = 8, .gpus_per_domain = 64},
    {.gpus = 1008, .tp = 6, .ep = 24, .pp = 7, .mbs = 3, .gbs = 360},
    {.gpus = 64, .cp = 4, .ep = 32},
};
enum { N_LEGAL = sizeof(LEGAL) / sizeof(LEGAL[0]) };

/* --- ranks and groups ------------------------------------------------------------------------- */

/* Coordinates of a rank in the two grids, found by counting ranks up in Megatron's order. */
struct place {
    int64_t tp, cp, dp, etp, ep, edp, pp;
};

static void enumerate(const struct ms_layout *l, struct place *places)
{
    int64_t rank = 0;
    for (int64_t pp = 0; pp < l->pp; pp++)
        for (int64_t dp = 0; dp < l->dp; dp++)
            for (int64_t cp = 0; cp < l->cp; cp++)
                for (int64_t tp = 0; tp < l->tp; tp++)
                    places[rank++] = (struct place){.tp = tp, .cp = cp, .dp = dp, .pp = pp};
    assert_int_equal(rank, l->cluster->gpus);
    rank = 0;
    for (int64_t pp = 0; pp < l->pp; pp++)
        for (int64_t edp = 0; edp < l->edp; edp++)
            for (int64_t ep = 0; ep < l->ep; ep++)
                for (int64_t etp = 0; etp < l->etp; etp++, rank++) {
                    assert_int_equal(places[rank].pp, pp);
                    places[rank].etp = etp;
                    places[rank].ep = ep;
                    places[rank].edp = edp;
                }
    assert_int_equal(rank, l->cluster->gpus);
}

/* True if two ranks differ at most in what the group runs over. */
static bool same_group(enum ms_group_kind kind, const struct place *a, const struct place *b)
{
    bool dense = a->tp == b->tp && a->cp == b->cp && a->dp == b->dp, stage = a->pp == b->pp;
    switch (kind) {
    case MS_GROUP_TP:
        return stage && a->cp == b->cp && a->dp == b->dp;
    case MS_GROUP_CP:
        return stage && a->tp == b->tp && a->dp == b->dp;
    case MS_GROUP_DP:
        return stage && a->tp == b->tp;
    case MS_GROUP_EP:
        return stage && a->etp == b->etp && a->edp == b->edp;
    case MS_GROUP_ETP:
        return stage && a->ep == b->ep && a->edp == b->edp;
    case MS_GROUP_EDP:
        return stage && a->ep == b->ep && a->etp == b->etp;
    case MS_GROUP_PP:
        return dense;
    case MS_N_GROUPS:
    default:
        fail();
        return false;
    }
}

static void check_group(const struct ms_layout *l, enum ms_group_kind kind, int64_t rank,
                        const struct place *places)
{
    int64_t size = ms_layout_group_size(l, kind), i = 0;
    for (int64_t other = 0; other < l->cluster->gpus; other++) {
        if (!same_group(kind, &places[rank], &places[other]))
            continue;
        assert_true(i < size);
        assert_int_equal(ms_layout_member(l, kind, rank, i), other); /* ascending */
        i++;
    }
    assert_int_equal(i, size);
}

static void test_ranks(void **state)
{
    (void)state;
    static struct place places[1024];
    for (int c = 0; c < N_LEGAL; c++) {
        struct fixture *f = load(&LEGAL[c]);
        enumerate(&f->layout, places);
        for (int kind = 0; kind < MS_N_GROUPS; kind++)
            for (int64_t rank = 0; rank < LEGAL[c].gpus; rank++)
                check_group(&f->layout, (enum ms_group_kind)kind, rank, places);
        free(f);
    }
}

/* Whether the group of `rank` has it as first member; all members agree on the group, and one is
 * `rank`. */
static bool leads_group(const struct ms_layout *l, enum ms_group_kind kind, int64_t rank)
{
    int64_t first = ms_layout_member(l, kind, rank, 0), found = 0;
    for (int64_t i = 0; i < ms_layout_group_size(l, kind); i++) {
        int64_t member = ms_layout_member(l, kind, rank, i);
        assert_in_range(member, 0, l->cluster->gpus - 1);
        assert_int_equal(ms_layout_member(l, kind, member, 0), first);
        found += member == rank;
    }
    assert_int_equal(found, 1);
    return first == rank;
}

/* Every rank is in one group of each kind, whichever member asks. */
static void test_groups_partition_the_world(void **state)
{
    (void)state;
    for (int c = 0; c < N_LEGAL; c++) {
        struct fixture *f = load(&LEGAL[c]);
        for (int k = 0; k < MS_N_GROUPS; k++) {
            enum ms_group_kind kind = (enum ms_group_kind)k;
            int64_t firsts = 0;
            for (int64_t rank = 0; rank < LEGAL[c].gpus; rank++)
                firsts += leads_group(&f->layout, kind, rank);
            assert_int_equal(firsts * ms_layout_group_size(&f->layout, kind), LEGAL[c].gpus);
        }
        free(f);
    }
}

/* A cell is closed under TP, CP, EP and ETP, and no smaller block of ranks is. */
static void test_cells(void **state)
{
    (void)state;
    static const enum ms_group_kind inside[] = {MS_GROUP_TP, MS_GROUP_CP, MS_GROUP_EP,
                                                MS_GROUP_ETP};
    for (int c = 0; c < N_LEGAL; c++) {
        struct fixture *f = load(&LEGAL[c]);
        const struct ms_layout *l = &f->layout;
        int64_t dense = l->tp * l->cp, expert = l->ep * l->etp, smallest = 1;
        while (smallest % dense || smallest % expert)
            smallest++;
        assert_int_equal(l->cell_ranks, smallest);
        assert_int_equal(l->cell_ranks * l->n_cells, l->stage_ranks);
        assert_int_equal(l->stage_ranks * l->pp, LEGAL[c].gpus);
        for (int64_t cell = 0; cell < l->pp * l->n_cells; cell++) {
            int64_t first = ms_layout_cell_first(l, cell / l->n_cells, cell % l->n_cells);
            assert_int_equal(first, cell * smallest);
            for (int64_t rank = first; rank < first + smallest; rank++)
                for (size_t k = 0; k < 4; k++)
                    for (int64_t i = 0; i < ms_layout_group_size(l, inside[k]); i++)
                        assert_in_range(ms_layout_member(l, inside[k], rank, i), first,
                                        first + smallest - 1);
        }
        free(f);
    }
}

static struct ms_group count_domains(const struct fixture *f, enum ms_group_kind kind, int64_t rank,
                                     int64_t gpus_per_domain)
{
    static int64_t in_domain[1024];
    struct ms_group g = {.n_ranks = ms_layout_group_size(&f->layout, kind)};
    memset(in_domain, 0, sizeof(in_domain));
    for (int64_t i = 0; i < g.n_ranks; i++) {
        int64_t n = ++in_domain[ms_layout_member(&f->layout, kind, rank, i) / gpus_per_domain];
        g.n_domains += n == 1;
        g.ranks_per_domain = n > g.ranks_per_domain ? n : g.ranks_per_domain;
    }
    return g;
}

static void test_tiers(void **state)
{
    (void)state;
    static const int64_t domains[] = {72, 64, 8, 48};
    for (size_t d = 0; d < 4; d++) {
        struct fixture *f = load(&(struct sizes){
            .gpus = 576, .tp = 2, .cp = 2, .ep = 32, .pp = 3, .gpus_per_domain = domains[d]});
        for (int k = 0; k < MS_N_GROUPS; k++) {
            struct ms_group worst, most = {0};
            for (int64_t rank = 0; rank < 576; rank++) {
                struct ms_group g = ms_layout_group(&f->layout, (enum ms_group_kind)k, rank);
                struct ms_group e = count_domains(f, (enum ms_group_kind)k, rank, domains[d]);
                assert_int_equal(g.n_ranks, e.n_ranks);
                assert_int_equal(g.n_domains, e.n_domains);
                assert_int_equal(g.ranks_per_domain, e.ranks_per_domain);
                most = e.n_domains > most.n_domains ? e : most;
            }
            worst = ms_layout_worst_group(&f->layout, (enum ms_group_kind)k);
            assert_int_equal(worst.n_domains, most.n_domains);
        }
        free(f);
    }
}

/* EP 32 in racks of 72 straddles a border (ranks 64 to 95), in racks of 64 it never does. */
static void test_rack_of_72_and_64(void **state)
{
    (void)state;
    struct fixture *f = load(&(struct sizes){.gpus = 576, .ep = 32});
    struct ms_group g = ms_layout_worst_group(&f->layout, MS_GROUP_EP);
    assert_int_equal(g.n_domains, 2);
    assert_int_equal(g.ranks_per_domain, 16); /* ranks 128 to 159: 16 and 16 */
    g = ms_layout_group(&f->layout, MS_GROUP_EP, 80);
    assert_int_equal(g.n_domains, 2);
    assert_int_equal(g.ranks_per_domain, 24); /* ranks 64 to 95: 8 and 24 */
    free(f);
    f = load(&(struct sizes){.gpus = 576, .ep = 32, .gpus_per_domain = 64});
    assert_int_equal(ms_layout_worst_group(&f->layout, MS_GROUP_EP).n_domains, 1);
    assert_int_equal(ms_layout_worst_group(&f->layout, MS_GROUP_DP).n_domains, 9);
    free(f);
}

static void test_batch(void **state)
{
    (void)state;
    struct fixture *f = load(&(struct sizes){.gpus = 240,
                                             .tp = 2,
                                             .cp = 5,
                                             .ep = 4,
                                             .etp = 3,
                                             .pp = 2,
                                             .mbs = 3,
                                             .gbs = 360,
                                             .seq_len = 140});
    assert_int_equal(f->layout.dp, 12);
    assert_int_equal(f->layout.edp, 10);
    assert_int_equal(f->layout.n_microbatches, 10);
    assert_int_equal(f->layout.tokens_per_rank, 42);
    free(f);
}

/* --- refusals
 * ---------------------------------------------------------------------------------- */

/* The number after `label` in the message. */
static int64_t number_after(const struct ms_error *err, const char *label)
{
    const char *at = strstr(err->text, label);
    if (!at) {
        print_error("no '%s' in: %s: %s\n", label, err->where, err->text);
        fail();
        return -1;
    }
    return strtoll(at + strlen(label), NULL, 10);
}

/* Sets the option that the error is about to what it recommends. */
static void obey(struct fixture *f)
{
    struct ms_recipe *r = &f->recipe;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const struct ms_field *field = ms_fields_find(fields, n, f->err.where + 2);
    char label[512], value[32];
    snprintf(label, sizeof(label), "nearest legal value of %s is ", f->err.where);
    snprintf(value, sizeof(value), "%lld", (long long)number_after(&f->err, label));
    assert_non_null(field);
    ms_assert_ok(ms_field_parse(field, r, value, f->err.where, &f->err), &f->err);
    if (strcmp(field->name, "gpus") != 0)
        return;
    r->gbs = 16 * r->gpus;
    ms_assert_ok(ms_cluster_init(&f->topo, r->gpus, 0, 0, &f->cluster, &f->err), &f->err);
}

static void test_divisions_recommend(void **state)
{
    (void)state;
    static const struct {
        struct sizes sizes;
        const char *option, *has; /* the option blamed; numbers named */
        int64_t nearest;
    } cases[] = {
        {{.gpus = 100, .tp = 4, .pp = 4},
         "--gpus",
         "100 GPUs do not divide by TP x CP x PP = 16",
         96},
        {{.gpus = 104, .tp = 4, .pp = 4}, "--gpus", "104 GPUs", 96}, /* tie: the smaller */
        {{.gpus = 100, .tp = 3, .ep = 32},
         "--gpus",
         "100 GPUs",
         96}, /* multiple of both 3 and 32 */
        {{.gpus = 96, .ep = 32, .pp = 2},
         "--gpus",
         "96 GPUs do not divide by ETP x EP x PP = 64",
         64},
        {{.gpus = 3, .pp = 8}, "--gpus", "3 GPUs", 8},
        {{.gpus = 96, .ep = 36}, "--ep", "96 experts do not divide by EP = 36", 32},
        {{.gpus = 64, .ep = 40}, "--ep", "96 experts", 32}, /* 48 would not divide the GPUs */
        {{.gpus = 96, .tp = 32}, "--tp", "48 attention heads do not divide by TP = 32", 24},
        {{.gpus = 64, .tp = 64}, "--tp", "48 attention heads", 16}, /* 48, 24 do not divide 64 */
        {{.gpus = 96, .etp = 5}, "--etp", "1536 columns of an expert do not divide by ETP = 5", 4},
        {{.gpus = 8, .cp = 2, .seq_len = 4095},
         "--seq-len",
         "4095 tokens do not divide by 2 CP x TP = 4",
         4096},
        {{.gpus = 8, .tp = 8, .seq_len = 3}, "--seq-len", "3 tokens do not divide by TP = 8", 8},
        {{.gpus = 24, .mbs = 2, .gbs = 100},
         "--gbs",
         "100 sequences do not divide by MBS x DP = 48",
         96},
        {{.gpus = 24, .mbs = 2, .gbs = 7}, "--gbs", "7 sequences", 48},
        {{.gpus = 24, .pp = 4, .vp = 2, .gbs = 60},
         "--gbs",
         "10 microbatches do not divide by PP (interleaved schedule) = 4",
         48},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f = malloc(sizeof(*f));
        char label[64];
        assert_non_null(f);
        set_up(f, &cases[i].sizes);
        assert_int_equal(init(f), MS_E_USAGE);
        assert_string_equal(f->err.where, cases[i].option);
        ms_assert_says(&f->err, cases[i].has);
        snprintf(label, sizeof(label), "nearest legal value of %s is ", cases[i].option);
        assert_int_equal(number_after(&f->err, label), cases[i].nearest);
        obey(f);
        ms_assert_ok(init(f), &f->err);
        free(f);
    }
}

/* No value between the one given and the one recommended is legal. */
static void test_recommended_gbs_is_nearest(void **state)
{
    (void)state;
    for (int64_t gbs = 1; gbs < 200; gbs++) {
        struct fixture *f = malloc(sizeof(*f));
        int64_t best = 0, nearest;
        assert_non_null(f);
        set_up(f, &(struct sizes){.gpus = 24, .pp = 4, .vp = 2, .mbs = 2, .gbs = gbs});
        for (int64_t other = 1; other < 400; other++) {
            f->recipe.gbs = other;
            if (init(f) == MS_OK && (!best || llabs(other - gbs) < llabs(best - gbs)))
                best = other;
        }
        f->recipe.gbs = gbs;
        if (init(f) != MS_OK) {
            nearest = number_after(&f->err, "nearest legal value of --gbs is ");
            assert_int_equal(llabs(nearest - gbs), llabs(best - gbs));
        } else {
            assert_int_equal(best, gbs);
        }
        free(f);
    }
}

/* Random sizes: following the recommendations ends in a legal layout, each step mending what it
 * blamed. */
static void test_random_sizes_can_be_mended(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    int refused = 0;
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    for (int c = 0; c < 3000; c++) {
        int64_t n[8];
        int steps = 0;
        for (int i = 0; i < 8; i++) { /* xorshift64 */
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            n[i] = (int64_t)(seed >> 33);
        }
        set_up(f, &(struct sizes){.gpus = 1 + n[0] % 3000,
                                  .tp = 1 + n[1] % 9,
                                  .cp = 1 + n[2] % 5,
                                  .ep = 1 + n[3] % 100,
                                  .etp = 1 + n[4] % 4,
                                  .pp = 1 + n[5] % 9,
                                  .mbs = 1 + n[6] % 4,
                                  .gbs = 1 + n[7] % 9000});
        while (init(f) != MS_OK) {
            refused += steps == 0;
            assert_in_range(++steps, 1, 8);
            obey(f);
        }
    }
    assert_true(refused > 2000);
    free(f);
}

static void test_other_refusals(void **state)
{
    (void)state;
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    set_up(f, &(struct sizes){.gpus = 24, .pp = 4, .vp = 2});
    f->recipe.schedule = MS_SCHEDULE_1F1B;
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "interleaved");
    set_up(f, &(struct sizes){.gpus = 24, .vp = 2});
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "use --vp 1");
    set_up(f, &(struct sizes){.gpus = 1024, .pp = 64, .vp = 16});
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "1024 model chunks");
    ms_assert_says(&f->err, "512");
    set_up(f, &(struct sizes){.gpus = 192, .pp = 192});
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "96 layers cannot fill PP x VP = 192 chunks");
    /* A number of GPUs that all sizes divide would exceed the largest cluster. */
    set_up(f, &(struct sizes){.gpus = 24, .cp = 1 << 12, .pp = 512, .seq_len = 1 << 13});
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "no legal value up to 1048576");
    /* Nothing is written, and no message is asked for. */
    memset(&f->layout, 0x5a, sizeof(f->layout));
    assert_int_equal(ms_layout_init(&f->cluster, &f->arch, &f->recipe, &f->layout, NULL),
                     MS_E_USAGE);
    for (size_t i = 0; i < sizeof(f->layout); i++)
        assert_int_equal(((const unsigned char *)&f->layout)[i], 0x5a);
    free(f);
}

static void test_undecided_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *option;
        size_t offset;
    } sizes[] = {
        {"--tp", offsetof(struct ms_recipe, tp)},
        {"--pp", offsetof(struct ms_recipe, pp)},
        {"--vp", offsetof(struct ms_recipe, vp)},
        {"--cp", offsetof(struct ms_recipe, cp)},
        {"--ep", offsetof(struct ms_recipe, ep)},
        {"--etp", offsetof(struct ms_recipe, etp)},
        {"--mbs", offsetof(struct ms_recipe, mbs)},
        {"--gbs", offsetof(struct ms_recipe, gbs)},
        {"--seq-len", offsetof(struct ms_recipe, seq_len)},
    };
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const int64_t zero = 0;
        set_up(f, &(struct sizes){.gpus = 8});
        memcpy((char *)&f->recipe + sizes[i].offset, &zero, sizeof(zero));
        assert_int_equal(init(f), MS_E_USAGE);
        assert_string_equal(f->err.where, sizes[i].option);
        ms_assert_says(&f->err, "smallest legal value is 1");
    }
    free(f);
}

/* Dense models have one "expert"; ETP means nothing for them. */
static void test_dense_model(void **state)
{
    (void)state;
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    set_up(f, &(struct sizes){.gpus = 8, .ep = 2, .etp = 2});
    f->arch.n_experts = f->arch.moe_ffn = 0;
    assert_int_equal(init(f), MS_E_USAGE);
    assert_string_equal(f->err.where, "--ep");
    obey(f);
    ms_assert_ok(init(f), &f->err);
    assert_int_equal(f->layout.ep, 1);
    free(f);
}

/* --- stages
 * ------------------------------------------------------------------------------------ */

static void check_stages(const struct ms_chunk *chunks, int64_t n, int64_t n_layers, int64_t n_mtp)
{
    int64_t next = 0, mtp = 0;
    for (int64_t g = 0; g < n; g++) {
        assert_int_equal(chunks[g].embedding, g == 0);
        assert_int_equal(chunks[g].loss, g == n - 1);
        assert_int_equal(chunks[g].first_layer, next);
        next += chunks[g].n_layers;
        mtp += chunks[g].n_mtp;
    }
    assert_int_equal(next, n_layers);
    assert_int_equal(mtp, n_mtp);
    assert_int_equal(chunks[n - 1].n_mtp, n_mtp);
}

static void test_even_stages(void **state)
{
    (void)state;
    static const int64_t layers[] = {8, 27, 48, 61, 94};
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    for (size_t i = 0; i < 5; i++)
        for (int64_t pp = 1; pp <= 16; pp++)
            for (int64_t vp = 1; vp <= (pp > 1 ? 4 : 1); vp++)
                for (int64_t mtp = 0; mtp <= 3; mtp++) {
                    int64_t n = pp * vp, size = (layers[i] + mtp) / n;
                    if (n > layers[i])
                        continue;
                    set_up(f, &(struct sizes){.gpus = pp, .pp = pp, .vp = vp, .mtp = mtp});
                    f->arch.n_layers = layers[i];
                    ms_assert_ok(init(f), &f->err);
                    check_stages(f->layout.chunks, n, layers[i], mtp);
                    for (int64_t g = 0; g < n; g++) {
                        const struct ms_chunk *c = &f->layout.chunks[g];
                        assert_ptr_equal(ms_layout_chunk(&f->layout, g % pp, g / pp), c);
                        assert_true(c->n_layers >= 1);
                        assert_true(c->n_layers <= size + 1);
                        if (mtp < size) /* MTP modules count as layers */
                            assert_in_range(c->n_layers + c->n_mtp, size, size + 1);
                    }
                }
    free(f);
}

static void test_layout_strings(void **state)
{
    (void)state;
    struct ms_chunk chunks[32];
    struct ms_error err = {0};
    ms_assert_ok(ms_layout_parse_stages("Et*4|(t*4|)*14tmL", 16, 61, 1, chunks, &err), &err);
    check_stages(chunks, 16, 61, 1);
    for (int g = 0; g < 15; g++)
        assert_int_equal(chunks[g].n_layers, 4);
    assert_int_equal(chunks[15].n_layers, 1);
    ms_assert_ok(ms_layout_parse_stages("Et*4|(tttt|)*14tL", 16, 61, 0, chunks, &err), &err);
    check_stages(chunks, 16, 61, 0);
    ms_assert_ok(ms_layout_parse_stages("Et*3|(tt|)*29m|L", 32, 61, 1, chunks, &err), &err);
    assert_int_equal(chunks[30].n_mtp, 1); /* alone in its chunk */
    assert_int_equal(chunks[30].n_layers, 0);
    assert_int_equal(chunks[31].n_mtp, 0);
    assert_true(chunks[31].loss && !chunks[30].loss);
    ms_assert_ok(ms_layout_parse_stages("EtL", 1, 1, 0, chunks, &err), &err);
    check_stages(chunks, 1, 1, 0);
    /* nested groups: ((tt)*2|)*3 = three chunks of four */
    ms_assert_ok(ms_layout_parse_stages("E((tt)*2|)*3tmmL", 4, 13, 2, chunks, &err), &err);
    assert_int_equal(chunks[1].n_layers, 4);
    assert_int_equal(chunks[3].first_layer, 12);
    ms_assert_ok(ms_layout_parse_stages("E((((((((t))))))))L", 1, 1, 0, chunks, &err), &err);
    ms_assert_ok(ms_layout_parse_stages("Et()*7|tL", 2, 2, 0, chunks, &err), &err);
}

static void test_wrong_layout_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"E(t|tL", "not closed"},
        {"E(t|(tL", "not closed"},
        {"Et)|tL", "')' without '('"},
        {"Et|x|L", "'x' is none of"},
        {"Et |tL", "' ' is none of"},
        {"*2Et|tL", "'*' is none of"},
        {"Et*0|tL", "'*' needs a count of 1 to 16384"},
        {"Et*|tL", "'*' needs a count"},
        {"Et*-1|tL", "'*' needs a count"},
        {"Et*+1|tL", "'*' needs a count"},
        {"Et*999999999|tL", "'*' needs a count"},
        {"Et*99999999999999999999999999|tL", "'*' needs a count"},
        {"Et*16384|tL", "over 16384 symbols"},
        {"E((t*200)*200)*200|tL", "over 16384 symbols"},
        {"E(((((((((t)))))))))|tL", "over 8 deep"},
        {"", "has 1 chunks (parts between |); 2 are needed"},
        {"EttL", "has 1 chunks"},
        {"Et|t|L", "has 3 chunks"},
        {"Et|ttL", "has 3 layers (t); 2 are needed"},
        {"Et|L", "has 1 layers"},
        {"Et|tmL", "has 1 MTP modules (m; see --mtp); 0 are needed"},
        {"t|EtL", "one E must be in the first chunk"},
        {"t|tL", "one E must be"},
        {"EEt|tL", "one E must be"},
        {"EtL|t", "one L in the last"},
        {"Et|tLL", "one L in the last"},
        {"(t)E|tL", "must stand in this order"},
        {"Et|Lt", "must stand in this order"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_chunk chunks[2] = {{.first_layer = -7}, {.first_layer = -7}};
        struct ms_error err = {0};
        assert_int_equal(ms_layout_parse_stages(cases[i].text, 2, 2, 0, chunks, &err), MS_E_USAGE);
        assert_string_equal(err.where, "--pp-layout");
        ms_assert_says(&err, cases[i].says);
        assert_int_equal(chunks[0].first_layer, -7);
        assert_int_equal(chunks[1].first_layer, -7);
    }
}

static void test_layout_uses_the_string(void **state)
{
    (void)state;
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    set_up(f, &(struct sizes){.gpus = 4, .pp = 2});
    snprintf(f->recipe.pp_layout, sizeof(f->recipe.pp_layout), "Et*40|t*56L");
    ms_assert_ok(init(f), &f->err);
    assert_int_equal(f->layout.chunks[0].n_layers, 40);
    snprintf(f->recipe.pp_layout, sizeof(f->recipe.pp_layout), "Et*40|t*55L");
    assert_int_equal(init(f), MS_E_USAGE);
    ms_assert_says(&f->err, "has 95 layers");
    free(f);
}

static void test_print(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "576 GPUs in 8 NVLink domains of 72; order tp-cp-ep-dp-pp",
        "18 replicas of 1 stages x 32 ranks; 16 microbatches of 5040 tokens a rank",
        "inside one NVLink domain",
        "crosses domains",
        "one GPU",
        "0 to 95",
        "embedding, loss"};
    struct fixture *f = load(&(struct sizes){.gpus = 576, .tp = 1, .ep = 32, .etp = 1});
    struct ms_buf text = {0};
    ms_layout_print(&f->layout, &text);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (i == 2)
            continue; /* nothing of this layout lies inside one rack */
        if (!strstr(text.text, parts[i]))
            print_error("no '%s' in\n%s\n", parts[i], text.text);
        assert_non_null(strstr(text.text, parts[i]));
    }
    assert_null(strstr(text.text, parts[2]));
    ms_buf_free(&text);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_groups_partition_the_world),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_rack_of_72_and_64),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_divisions_recommend),
        cmocka_unit_test(test_recommended_gbs_is_nearest),
        cmocka_unit_test(test_random_sizes_can_be_mended),
        cmocka_unit_test(test_other_refusals),
        cmocka_unit_test(test_undecided_sizes),
        cmocka_unit_test(test_dense_model),
        cmocka_unit_test(test_even_stages),
        cmocka_unit_test(test_layout_strings),
        cmocka_unit_test(test_wrong_layout_strings),
        cmocka_unit_test(test_layout_uses_the_string),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
