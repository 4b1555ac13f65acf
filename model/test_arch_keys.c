/* Tests of arch_keys.h: where a key is looked for, whatever file it stands in. What a whole config becomes is
 * in test_arch.c. */
#include "tests/mstest.h"

#include "model/arch_keys.h"

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_nested_and_alternative_names(void **state)
{
    struct ms_error err;
    json_t *top =
        parse("{\"model_type\": \"made\", \"text_config\": {\"d_model\": 640, \"n_layer\": 7,"
              "\"n_head\": 10, \"vocab_size\": 1000, \"intermediate_size\": 900,"
              "\"tie_word_embeddings\": true}}");
    struct ms_arch_keys r = {.path = "f.json", .top = top, .err = &err};
    (void)state;
    ms_assert_ok(ms_arch_keys_read(&r), &err);
    assert_string_equal(r.prefix, "text_config.");
    assert_int_equal(r.value[MS_KEY_HIDDEN], 640);
    assert_int_equal(r.value[MS_KEY_N_LAYERS], 7);
    assert_string_equal(r.key[MS_KEY_HEADS], "n_head");
    assert_int_equal(r.flag[MS_KEY_TIED], 1);
    assert_int_equal(r.flag[MS_KEY_QK_NORM], MS_ARCH_ABSENT);
    assert_false(ms_arch_keys_given(&r, MS_KEY_N_EXPERTS));
    assert_int_equal(ms_arch_keys_or(&r, MS_KEY_N_EXPERTS, 42), 42);
    assert_string_equal(ms_arch_keys_text(&r, "model_type"), "made");
    assert_null(ms_arch_keys_find(&r, "absent"));
    json_decref(top);
}

static void test_faults_name_file_and_key(void **state)
{
    static const char *const texts[] = {
        "{\"hidden_size\": \"640\"}",
        "{\"hidden_size\": 640.5}",
        "{\"hidden_size\": -1}",
        "{\"hidden_size\": 640, \"d_model\": 641}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ms_error err = {0};
        json_t *top = parse(texts[i]);
        struct ms_arch_keys r = {.path = "f.json", .top = top, .err = &err};
        assert_int_equal(ms_arch_keys_read(&r), MS_E_INPUT);
        ms_assert_says(&err, "f.json");
        ms_assert_says(&err, i < 3 ? "hidden_size" : "d_model");
        json_decref(top);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_and_alternative_names),
        cmocka_unit_test(test_faults_name_file_and_key),
    };
    return cmocka_run_group_tests_name("arch_keys", tests, NULL, NULL);
}
