/* test_cluster.c - where GPUs lie, against hand counts of racks and a brute-force walk. */
#include "tests/mstest.h"

#include "topologies/cluster.h"

static struct ms_topology topology(const char *name)
{
    struct ms_topology t;
    struct ms_error err;
    ms_assert_ok(ms_topology_load(name, &t, &err), &err);
    return t;
}

static struct ms_cluster cluster(const struct ms_topology *t, int64_t gpus, int64_t per_domain,
                                 int64_t spare)
{
    struct ms_cluster c;
    struct ms_error err;
    ms_assert_ok(ms_cluster_init(t, gpus, per_domain, spare, &c, &err), &err);
    assert_ptr_equal(c.topo, t);
    assert_int_equal(c.gpus, gpus);
    return c;
}

/* 14 x 72 + 16 = 1024. */
static void racks_of_72(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_cluster c = cluster(&t, 1024, 0, 0);
    (void)state;
    assert_int_equal(c.gpus_per_domain, 72);
    assert_int_equal(c.n_domains, 15);
    assert_int_equal(ms_cluster_domain(&c, 71), 0);
    assert_int_equal(ms_cluster_domain(&c, 72), 1);
    assert_int_equal(ms_cluster_domain(&c, 1007), 13);
    assert_int_equal(ms_cluster_domain(&c, 1008), 14);
    assert_int_equal(ms_cluster_position(&c, 1008), 0);
    assert_int_equal(ms_cluster_position(&c, 1023), 15);
    assert_int_equal(ms_cluster_unit(&c, 575), 0);
    assert_int_equal(ms_cluster_unit(&c, 576), 1);
    assert_int_equal(ms_cluster_unit(&c, 1023), 1);
}

static void racks_of_64(void **state)
{
    struct ms_topology t = topology("gb300_nvl72");
    struct ms_cluster c = cluster(&t, 1024, 64, 0), spare = cluster(&t, 1024, 0, 8);
    (void)state;
    assert_int_equal(c.gpus_per_domain, 64);
    assert_int_equal(c.n_domains, 16);
    assert_int_equal(spare.gpus_per_domain, 64);
    assert_int_equal(spare.n_domains, 16);
    assert_int_equal(ms_cluster_domain(&c, 1023), 15);
    assert_int_equal(ms_cluster_position(&c, 1023), 63);
    assert_int_equal(ms_cluster_unit(&c, 511), 0);
    assert_int_equal(ms_cluster_unit(&c, 512), 1);
    cluster(&t, 1024, 64, 8); /* 64 + 8 = 72 just fits */
}

static void hosts_of_two_gpus(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_cluster c = cluster(&t, 1024, 0, 0), odd = cluster(&t, 30, 7, 0);
    (void)state;
    for (int64_t g = 0; g < c.gpus; g++)
        assert_int_equal(ms_cluster_host(&c, g), g / 2); /* 72 is even: hosts simply count on */
    assert_int_equal(ms_cluster_host(&odd, 5), 2);
    assert_int_equal(ms_cluster_host(&odd, 6), 3); /* alone on the domain's fourth host */
    assert_int_equal(ms_cluster_host(&odd, 7), 4); /* the next domain has its own */
    assert_int_equal(ms_cluster_host(&odd, 29), 16);
}

static void hosts_of_four_gpus(void **state)
{
    struct ms_topology t = topology("hgx_h100");
    struct ms_cluster c = cluster(&t, 24, 0, 0);
    (void)state;
    assert_int_equal(c.n_domains, 3);
    assert_int_equal(ms_cluster_host(&c, 3), 0);
    assert_int_equal(ms_cluster_host(&c, 4), 1);
    assert_int_equal(ms_cluster_host(&c, 23), 5);
}

/* NIC of position p in each tray goes to leaf group p; without rails a domain has one leaf. */
static void rails(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_cluster c = cluster(&t, 1024, 0, 0);
    (void)state;
    for (int64_t g = 0; g < c.gpus; g++)
        assert_int_equal(ms_cluster_rail(&c, g), g % 4); /* trays of 4, racks of 18 trays */
    t.scale_out.rail_optimized = false;
    assert_int_equal(ms_cluster_rail(&c, 0), 0);
    assert_int_equal(ms_cluster_rail(&c, 71), 0);
    assert_int_equal(ms_cluster_rail(&c, 72), 1);
    assert_int_equal(ms_cluster_rail(&c, 575), 7);
    assert_int_equal(ms_cluster_rail(&c, 576), 0); /* the second unit starts anew */
    assert_int_equal(ms_cluster_rail(&c, 1023), 6);
}

static void rails_of_eight(void **state)
{
    struct ms_topology t = topology("h800");
    struct ms_cluster c = cluster(&t, 2048, 0, 0);
    (void)state;
    assert_int_equal(c.n_domains, 256);
    assert_int_equal(ms_cluster_rail(&c, 15), 7);
    assert_int_equal(ms_cluster_unit(&c, 255), 0); /* 32 nodes of 8 */
    assert_int_equal(ms_cluster_unit(&c, 256), 1);
}

static void tiers(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_cluster c = cluster(&t, 1024, 0, 0);
    (void)state;
    assert_int_equal(ms_cluster_tier(&c, 5, 5), MS_TIER_GPU);
    assert_int_equal(ms_cluster_tier(&c, 0, 71), MS_TIER_DOMAIN);
    assert_int_equal(ms_cluster_tier(&c, 71, 72), MS_TIER_SCALE_OUT);
    assert_int_equal(ms_cluster_tier(&c, 1023, 1008), MS_TIER_DOMAIN);
    assert_string_equal(MS_TIER_NAMES[MS_TIER_GPU], "gpu");
    assert_string_equal(MS_TIER_NAMES[MS_TIER_DOMAIN], "nvlink");
    assert_string_equal(MS_TIER_NAMES[MS_TIER_SCALE_OUT], "scale-out");
}

/* Filling domains one GPU at a time gives the same places. */
static void places_agree_with_a_walk(void **state)
{
    struct ms_topology t = topology("gb300_nvl72");
    struct ms_cluster c = cluster(&t, 1537, 59, 3);
    int64_t domain = 0, position = 0, count = 0;
    (void)state;
    for (int64_t g = 0; g < c.gpus; g++) {
        assert_int_equal(ms_cluster_domain(&c, g), domain);
        assert_int_equal(ms_cluster_position(&c, g), position);
        count += ms_cluster_tier(&c, 0, g) == MS_TIER_DOMAIN;
        if (++position == 59) {
            position = 0;
            domain++;
        }
    }
    assert_int_equal(c.n_domains, domain + 1);
    assert_int_equal(count, 58);
}

static void fewer_gpus_than_a_domain(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_cluster c = cluster(&t, 1, 0, 0);
    (void)state;
    assert_int_equal(c.n_domains, 1);
    assert_int_equal(ms_cluster_host(&c, 0), 0);
    c = cluster(&t, MS_GPUS_MAX, 0, 0);
    assert_int_equal(c.n_domains, 14564); /* 1048576 / 72 = 14563.6 */
}

static void refuses_impossible_sizes(void **state)
{
    static const struct {
        int64_t gpus, per_domain, spare;
        const char *where, *says, *nearest;
    } cases[] = {
        {0, 0, 0, "--gpus", "0 is outside 1 to 1048576", "nearest legal value 1"},
        {-3, 0, 0, "--gpus", "-3 is outside", "nearest legal value 1"},
        {1000000000, 0, 0, "--gpus", "1000000000", "nearest legal value 1048576"},
        {INT64_MAX, 0, 0, "--gpus", "9223372036854775807", "nearest legal value 1048576"},
        {1024, 73, 0, "--gpus-per-domain", "73 is outside 0 to 72", "nearest legal value 72"},
        {1024, -1, 0, "--gpus-per-domain", "-1", "nearest legal value 0"},
        {1024, 65, 8, "--gpus-per-domain", "65 used and 8 spare", "nearest legal value 64"},
        {1024, 0, 72, "--spare-gpus-per-domain", "72", "nearest legal value 71"},
        {1024, 0, -1, "--spare-gpus-per-domain", "-1", "nearest legal value 0"},
        {1024, INT64_MAX, INT64_MAX, "--spare-gpus-per-domain", "outside", "71"},
    };
    struct ms_topology t = topology("gb200_nvl72");
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_cluster c = {.gpus = -77};
        struct ms_error err = {0};
        assert_int_equal(
            ms_cluster_init(&t, cases[i].gpus, cases[i].per_domain, cases[i].spare, &c, &err),
            MS_E_USAGE);
        assert_string_equal(err.where, cases[i].where);
        ms_assert_says(&err, cases[i].says);
        ms_assert_says(&err, cases[i].nearest);
        assert_int_equal(c.gpus, -77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(racks_of_72),
        cmocka_unit_test(racks_of_64),
        cmocka_unit_test(hosts_of_two_gpus),
        cmocka_unit_test(hosts_of_four_gpus),
        cmocka_unit_test(rails),
        cmocka_unit_test(rails_of_eight),
        cmocka_unit_test(tiers),
        cmocka_unit_test(places_agree_with_a_walk),
        cmocka_unit_test(fewer_gpus_than_a_domain),
        cmocka_unit_test(refuses_impossible_sizes),
    };
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
