/* test_arch_show.c - the JSON of `model show` read back, the text and the list. */
#include "tests/mstest.h"

#include "model/arch.h"

#include "base/data.h"

#include <jansson.h>

static struct ms_arch load(const char *name)
{
    struct ms_arch a;
    struct ms_error err;
    ms_assert_ok(ms_arch_load(name, &a, &err), &err);
    return a;
}

static json_t *show(const struct ms_arch *a, int64_t seq_len, int64_t n_mtp)
{
    struct ms_buf out = {0};
    json_t *root;
    ms_arch_show(a, seq_len, n_mtp, true, &out);
    root = json_loads(out.text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    ms_buf_free(&out);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v))
        fail_msg("no number %s", key);
    return json_number_value(v);
}

/* Embedding, head, last norm and the layers add up to the total; so do the parts of the work. */
static void test_json_adds_up(void **state)
{
    struct ms_arch a = load("deepseek-v3");
    json_t *root = show(&a, 4096, 1), *v;
    const json_t *parts = json_object_get(root, "params");
    double sum = number(parts, "embedding") + number(parts, "head") + number(parts, "final_norm");
    double layers = 0, work = 0;
    const char *key;
    size_t i;
    (void)state;
    json_array_foreach(json_object_get(root, "layers"), i, v)
    {
        sum += number(v, "count") * number(v, "params");
        layers += number(v, "count");
        ms_assert_close(number(v, "params_all"), number(v, "count") * number(v, "params"), 0, 0);
    }
    ms_assert_close(sum, number(root, "total_params"), 0, 0);
    ms_assert_close(layers, 61, 0, 0);
    ms_assert_close(number(root, "total_params"), 671026419200.0, 0,
                    0); /* the published checkpoint */
    json_object_foreach(json_object_get(root, "gflop_per_token_parts"), key, v) work +=
        json_number_value(v);
    ms_assert_close(work, number(root, "gflop_per_token"), 1e-8, 0);
    ms_assert_close(number(root, "gflop_per_token"), 260.0, 0.001, 0); /* Megatron-Bridge: 260.02 */
    assert_non_null(strstr(json_string_value(json_object_get(root, "flop_convention")), "1 MTP"));
    json_decref(root);
}

static void assert_group(const json_t *layers, size_t i, const char *kind, double count)
{
    const json_t *group = json_array_get(layers, i);
    assert_string_equal(json_string_value(json_object_get(group, "kind")), kind);
    ms_assert_close(number(group, "count"), count, 0, 0);
}

static void test_json_groups(void **state)
{
    struct ms_arch a = load("llama4-maverick");
    json_t *root = show(&a, 4096, 0);
    const json_t *layers = json_object_get(root, "layers");
    (void)state;
    /* 48 layers, experts in every 2nd, all keys in every 4th: 24 dense and chunked, 12 + 12 with
     * experts */
    assert_int_equal(json_array_size(layers), 3);
    assert_group(layers, 0, "dense, chunk 8192", 24);
    assert_group(layers, 1, "moe, chunk 8192", 12);
    assert_group(layers, 2, "moe", 12);
    assert_non_null(strstr(json_string_value(json_object_get(root, "flop_convention")), "no MTP"));
    json_decref(root);
    a = load("gpt-oss-20b");
    root = show(&a, 4096, 0);
    layers = json_object_get(root, "layers");
    assert_group(layers, 0, "moe, window 128", 12);
    assert_group(layers, 1, "moe", 12);
    json_decref(root);
}

static void test_text(void **state)
{
    static const char *const expected[] = {
        "deepseek-v3 (deepseek_v3)", "671.026 B", "with MTP",           "MLA: 128 heads",
        "256 of width 2048, top-8",  "S = 4096",  "router, not counted"};
    struct ms_arch a = load("deepseek-v3");
    struct ms_buf out = {0};
    (void)state;
    ms_arch_show(&a, 4096, 0, false, &out);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        if (!strstr(out.text, expected[i]))
            fail_msg("'%s' is not in\n%s", expected[i], out.text);
    ms_buf_free(&out);
}

static void test_list(void **state)
{
    char **names = ms_arch_names();
    struct ms_buf out = {0};
    struct ms_error err;
    int lines = 0, n = 0;
    (void)state;
    ms_assert_ok(ms_arch_list(&out, &err), &err);
    for (; names[n]; n++)
        assert_non_null(strstr(out.text, names[n]));
    for (const char *p = out.text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, n + 1);
    assert_true(n >= 17);
    ms_data_list_free(names);
    ms_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_adds_up),
        cmocka_unit_test(test_json_groups),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests_name("arch_show", tests, NULL, NULL);
}
