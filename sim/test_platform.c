/* test_platform.c - the platform text: what is counted by hand from the topology must stand in it.
 * That SimGrid accepts it is the engine's test. */
#include "tests/mstest.h"

#include "sim/platform.h"

static struct ms_topology topology(const char *name)
{
    struct ms_topology t;
    struct ms_error err;
    ms_assert_ok(ms_topology_load(name, &t, &err), &err);
    return t;
}

/* The XML for `gpus` GPUs of `t`. Caller frees. */
static struct ms_buf platform(const struct ms_topology *t, int64_t gpus, bool all_pairs)
{
    struct ms_cluster c;
    struct ms_error err;
    struct ms_buf out = {0};
    ms_assert_ok(ms_cluster_init(t, gpus, 0, 0, &c, &err), &err);
    ms_platform_write(&c, all_pairs, NULL, &out);
    return out;
}

static int64_t count(const struct ms_buf *text, const char *part)
{
    int64_t n = 0;
    for (const char *p = text->text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static void assert_once(const struct ms_buf *text, const char *const *parts)
{
    for (; *parts; parts++) {
        if (count(text, *parts) != 1) {
            print_error("'%s' stands %lld times\n", *parts, (long long)count(text, *parts));
            fail();
        }
    }
}

/* The number after `key` in the line of link `id`. */
static double link_number(const struct ms_buf *text, const char *id, const char *key)
{
    char start[96];
    const char *p;
    snprintf(start, sizeof(start), "<link id=\"%s\" ", id);
    p = strstr(text->text, start);
    assert_non_null(p);
    p = strstr(p, key);
    assert_non_null(p);
    return strtod(p + strlen(key), NULL);
}

static double bandwidth_of(const struct ms_buf *text, const char *id)
{
    return link_number(text, id, "bandwidth=\"");
}

static double latency_of(const struct ms_buf *text, const char *id)
{
    return link_number(text, id, "latency=\"");
}

/* 1,024 GPUs of racks of 72: 15 domains, 512 Grace CPUs, 2 units with 4 leaves each. */
static void counts_of_1024_gpus(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_buf text = platform(&t, 1024, false);
    (void)state;
    assert_int_equal(count(&text, "<zone "), 1 + 15 + 2);
    assert_int_equal(count(&text, "</zone>"), 1 + 15 + 2);
    assert_int_equal(count(&text, "<host id=\"gpu-"), 1024);
    assert_int_equal(count(&text, "<host id=\"nvswitch-"), 15);
    assert_int_equal(count(&text, "<host id=\"cpu-"), 512);
    assert_int_equal(count(&text, "<host id=\"nic-"), 1024);
    assert_int_equal(count(&text, "<host id=\"leaf-"), 8);
    assert_int_equal(count(&text, "<host id=\"core-"), 2);
    assert_int_equal(count(&text, "<host "), 1024 + 15 + 512 + 1024 + 8 + 2);
    assert_int_equal(count(&text, "speed=\"1f\""), count(&text, "<host "));
    /* nvl, c2c and nic up and down per GPU, one memory per CPU, spine up and down per leaf */
    assert_int_equal(count(&text, "<link "), 6 * 1024 + 512 + 2 * 8);
    assert_int_equal(count(&text, "sharing_policy=\"SHARED\""), count(&text, "<link "));
    assert_int_equal(count(&text, "<route "), 6 * 1024 + 2 * 8);
    assert_int_equal(count(&text, "symmetrical=\"NO\""), count(&text, "<route "));
    ms_buf_free(&text);
}

static void lines_of_every_kind(void **state)
{
    static const char *const lines[] = {
        "<platform version=\"4.1\">\n<zone id=\"world\" routing=\"None\">\n",
        "<zone id=\"domain-14\" routing=\"Full\">\n",
        "<zone id=\"unit-1\" routing=\"Full\">\n",
        "<host id=\"gpu-1023\" speed=\"1f\"/>\n",
        "<link id=\"nvl-up-1008\" bandwidth=\"770000000000Bps\" latency=\"8.75e-07s\" "
        "sharing_policy=\"SHARED\"/>\n",
        "<link id=\"nic-down-77\" bandwidth=\"48500000000Bps\" latency=\"1.4e-06s\" "
        "sharing_policy=\"SHARED\"/>\n",
        "<route src=\"gpu-73\" dst=\"nvswitch-1\" symmetrical=\"NO\">"
        "<link_ctn id=\"nvl-up-73\"/></route>\n",
        "<route src=\"nvswitch-1\" dst=\"gpu-73\" symmetrical=\"NO\">"
        "<link_ctn id=\"nvl-down-73\"/></route>\n",
        "<route src=\"gpu-73\" dst=\"cpu-36\" symmetrical=\"NO\">"
        "<link_ctn id=\"c2c-up-73\"/><link_ctn id=\"hostmem-36\"/></route>\n",
        "<route src=\"cpu-36\" dst=\"gpu-73\" symmetrical=\"NO\">"
        "<link_ctn id=\"hostmem-36\"/><link_ctn id=\"c2c-down-73\"/></route>\n",
        "<route src=\"nic-579\" dst=\"leaf-1-3\" symmetrical=\"NO\">"
        "<link_ctn id=\"nic-up-579\"/></route>\n",
        "<route src=\"leaf-1-3\" dst=\"nic-579\" symmetrical=\"NO\">"
        "<link_ctn id=\"nic-down-579\"/></route>\n",
        "<route src=\"leaf-0-2\" dst=\"core-0\" symmetrical=\"NO\">"
        "<link_ctn id=\"spine-up-0-2\"/></route>\n",
        "<route src=\"core-0\" dst=\"leaf-0-2\" symmetrical=\"NO\">"
        "<link_ctn id=\"spine-down-0-2\"/></route>\n",
        "</zone>\n</platform>\n",
        NULL,
    };
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_buf text = platform(&t, 1024, false);
    (void)state;
    assert_once(&text, lines);
    ms_buf_free(&text);
}

/* Paths add up to the topology's latencies; the first unit has 144 NICs a leaf, the second 112. */
static void figures_of_links(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_buf text = platform(&t, 1024, false);
    (void)state;
    ms_assert_close(latency_of(&text, "nvl-up-7") + latency_of(&text, "nvl-down-8"), 1.75e-6, 1e-14,
                    0);
    ms_assert_close(latency_of(&text, "nic-up-7") + latency_of(&text, "nic-down-8"), 2.8e-6, 1e-14,
                    0);
    ms_assert_close(latency_of(&text, "spine-up-0-1") + latency_of(&text, "spine-down-1-1"), 0.9e-6,
                    1e-14, 0);
    ms_assert_close(latency_of(&text, "c2c-up-7"), 0, 0, 0);
    ms_assert_close(bandwidth_of(&text, "c2c-up-7"), 201e9, 1e-14, 0);
    ms_assert_close(bandwidth_of(&text, "hostmem-3"), 381.5e9, 1e-14, 0);
    ms_assert_close(bandwidth_of(&text, "spine-up-0-1"), 576 / 4.0 * 48.5e9, 1e-14, 0);
    ms_assert_close(bandwidth_of(&text, "spine-down-1-3"), 448 / 4.0 * 48.5e9, 1e-14, 0);
    ms_buf_free(&text);
}

static void oversubscription_divides_the_spine(void **state)
{
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_buf text = platform(&t, 1024, false), half;
    (void)state;
    t.scale_out.oversubscription.value = 2;
    half = platform(&t, 1024, false);
    ms_assert_close(bandwidth_of(&half, "spine-up-0-1"), bandwidth_of(&text, "spine-up-0-1") / 2,
                    1e-14, 0);
    ms_assert_close(bandwidth_of(&half, "spine-down-1-3"), 112 * 48.5e9 / 2, 1e-14, 0);
    ms_assert_close(bandwidth_of(&half, "nic-up-9"), 48.5e9, 1e-14, 0);
    ms_buf_free(&text);
    ms_buf_free(&half);
}

/* 9 GPUs, domains of 8: 8 x 7 ordered pairs inside the first, none from the lone ninth. */
static void all_pairs_add_routes(void **state)
{
    static const char *const lines[] = {
        "<route src=\"gpu-3\" dst=\"gpu-5\" symmetrical=\"NO\">"
        "<link_ctn id=\"nvl-up-3\"/><link_ctn id=\"nvl-down-5\"/></route>\n",
        "<route src=\"gpu-5\" dst=\"gpu-3\" symmetrical=\"NO\">"
        "<link_ctn id=\"nvl-up-5\"/><link_ctn id=\"nvl-down-3\"/></route>\n",
        NULL,
    };
    struct ms_topology t = topology("hgx_b200");
    struct ms_buf few = platform(&t, 9, false), all = platform(&t, 9, true);
    (void)state;
    assert_int_equal(count(&all, "<route ") - count(&few, "<route "), 8 * 7);
    assert_int_equal(count(&all, "<link "), count(&few, "<link "));
    assert_int_equal(count(&few, "dst=\"gpu-8\""), 2); /* from its switch and its CPU */
    assert_int_equal(count(&all, "dst=\"gpu-8\""), 2);
    assert_once(&all, lines);
    ms_buf_free(&few);
    ms_buf_free(&all);
}

/* Only leaves with NICs exist: 3 GPUs of a tray of 4 use 3 rails. */
static void leaves_without_nics_are_left_out(void **state)
{
    struct ms_topology t = topology("gb300_nvl72");
    struct ms_buf text = platform(&t, 3, false);
    (void)state;
    assert_int_equal(count(&text, "<host id=\"leaf-"), 3);
    assert_int_equal(count(&text, "<host id=\"cpu-"), 2);
    ms_assert_close(bandwidth_of(&text, "spine-up-0-2"), 97e9, 1e-14, 0);
    ms_buf_free(&text);
}

/* Without rails each domain has a leaf of its own: 8 in the first unit, 7 in the second. */
static void one_leaf_per_domain_without_rails(void **state)
{
    static const char *const lines[] = {
        "<route src=\"nic-1023\" dst=\"leaf-1-6\" symmetrical=\"NO\">", NULL};
    struct ms_topology t = topology("gb200_nvl72");
    struct ms_buf text;
    (void)state;
    t.scale_out.rail_optimized = false;
    text = platform(&t, 1024, false);
    assert_int_equal(count(&text, "<host id=\"leaf-"), 8 + 7);
    ms_assert_close(bandwidth_of(&text, "spine-up-0-7"), 72 * 48.5e9, 1e-14, 0);
    ms_assert_close(bandwidth_of(&text, "spine-up-1-6"), 16 * 48.5e9, 1e-14, 0);
    assert_once(&text, lines);
    ms_buf_free(&text);
}

static void appends_and_repeats(void **state)
{
    struct ms_topology t = topology("h800");
    struct ms_buf a = platform(&t, 20, true), b = platform(&t, 20, true), c = {0};
    struct ms_cluster cluster;
    struct ms_error err;
    (void)state;
    assert_string_equal(a.text, b.text);
    ms_assert_ok(ms_cluster_init(&t, 20, 0, 0, &cluster, &err), &err);
    ms_buf_puts(&c, "before");
    ms_platform_write(&cluster, true, NULL, &c);
    assert_int_equal(c.length, a.length + 6);
    assert_string_equal(c.text + 6, a.text);
    ms_buf_free(&a);
    ms_buf_free(&b);
    ms_buf_free(&c);
}

/* Only the zones of wanted GPUs are written, and these as in the whole platform. */
static void leaves_out_unwanted_zones(void **state)
{
    struct ms_topology t = topology("gb300_nvl72");
    struct ms_buf some = {0}, all = platform(&t, 1024, false);
    struct ms_cluster cluster;
    struct ms_error err;
    bool wanted[1024] = {false};
    (void)state;
    ms_assert_ok(ms_cluster_init(&t, 1024, 0, 0, &cluster, &err), &err);
    wanted[72 + 5] = true; /* the second rack, in the first of two units */
    ms_platform_write(&cluster, false, wanted, &some);
    assert_non_null(strstr(some.text, "<zone id=\"domain-1\""));
    assert_null(strstr(some.text, "<zone id=\"domain-0\""));
    assert_non_null(strstr(some.text, "<zone id=\"unit-0\""));
    assert_null(strstr(some.text, "<zone id=\"unit-1\""));
    ms_assert_close(bandwidth_of(&some, "spine-up-0-1"), bandwidth_of(&all, "spine-up-0-1"), 0, 0);
    ms_buf_free(&some);
    ms_buf_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_1024_gpus),
        cmocka_unit_test(lines_of_every_kind),
        cmocka_unit_test(figures_of_links),
        cmocka_unit_test(oversubscription_divides_the_spine),
        cmocka_unit_test(all_pairs_add_routes),
        cmocka_unit_test(leaves_without_nics_are_left_out),
        cmocka_unit_test(leaves_out_unwanted_zones),
        cmocka_unit_test(one_leaf_per_domain_without_rails),
        cmocka_unit_test(appends_and_repeats),
    };
    return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}
