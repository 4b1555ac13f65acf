/* test_jsonw.c - jsonw.h: everything it writes is read back with jansson, an independent parser. */
#include "tests/mstest.h"

#include "base/jsonw.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static json_t *parse(const struct ms_buf *text)
{
    json_error_t error;
    json_t *root =
        json_loadb(text->text, text->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!root)
        print_error("%s in %s\n", error.text, text->text);
    assert_non_null(root);
    return root;
}

/* Writes {"key": text} and asserts that a parser finds `expected`. */
static void check_string(const char *text, const char *expected)
{
    struct ms_buf out = {0};
    struct ms_jsonw w = {.out = &out};
    json_t *root;
    ms_jsonw_open(&w, NULL, '{');
    ms_jsonw_string(&w, text, "as key");
    ms_jsonw_string(&w, "as value:", text);
    ms_jsonw_close(&w, '}');
    root = parse(&out);
    assert_string_equal(json_string_value(json_object_get(root, "as value:")), expected);
    assert_string_equal(json_string_value(json_object_get(root, expected)), "as key");
    json_decref(root);
    ms_buf_free(&out);
}

static void test_every_byte_survives(void **state)
{
    (void)state;
    check_string("", "");
    check_string("a \"quoted\" \\ back/slash", "a \"quoted\" \\ back/slash");
    for (int c = 1; c < 0x80; c++) {
        const char text[] = {'<', (char)c, '>', '\0'};
        check_string(text, text);
    }
    check_string("\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80",
                 "\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80");
}

/* Each of these is ill-formed by the Unicode Standard (table 3-7); R is U+FFFD. */
#define R "\xef\xbf\xbd"
static void test_what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    check_string("a\xff"
                 "b",
                 "a" R "b");
    check_string("\x80", R);
    check_string("\xc0\xaf", R R);             /* overlong '/' */
    check_string("\xe0\x80\xaf", R R R);       /* overlong */
    check_string("\xed\xa0\x80", R R R);       /* surrogate */
    check_string("\xf4\x90\x80\x80", R R R R); /* above U+10FFFF */
    check_string("\xf5\x80\x80\x80", R R R R);
    check_string("x\xe2\x82", "x" R R); /* ends early */
    check_string("x\xe2\x82y", "x" R R "y");
    check_string("\xc2", R);
    check_string("\xf0\x9f\x98", R R R);
}

static void write_sample(struct ms_jsonw *w)
{
    ms_jsonw_open(w, NULL, '{');
    ms_jsonw_number(w, "time_s", 0.0123456789012);
    ms_jsonw_int(w, "largest", INT64_MAX);
    ms_jsonw_int(w, "smallest", INT64_MIN);
    ms_jsonw_bool(w, "yes", true);
    ms_jsonw_bool(w, "no", false);
    ms_jsonw_open(w, "empty", '[');
    ms_jsonw_close(w, ']');
    ms_jsonw_open(w, "rows", '[');
    for (int i = 0; i < 3; i++) {
        ms_jsonw_open(w, NULL, '{');
        ms_jsonw_int(w, "i", i);
        ms_jsonw_close(w, '}');
    }
    ms_jsonw_number(w, NULL, 2.5);
    ms_jsonw_string(w, NULL, "last");
    ms_jsonw_close(w, ']');
    ms_jsonw_open(w, "nothing", '{');
    ms_jsonw_close(w, '}');
    ms_jsonw_close(w, '}');
}

static void check_sample(const json_t *root)
{
    const json_t *rows = json_object_get(root, "rows");
    ms_assert_close(json_real_value(json_object_get(root, "time_s")), 0.0123456789012, 1e-9, 0);
    assert_true(json_integer_value(json_object_get(root, "largest")) == INT64_MAX);
    assert_true(json_integer_value(json_object_get(root, "smallest")) == INT64_MIN);
    assert_true(json_is_true(json_object_get(root, "yes")));
    assert_true(json_is_false(json_object_get(root, "no")));
    assert_int_equal(json_array_size(json_object_get(root, "empty")), 0);
    assert_int_equal(json_object_size(json_object_get(root, "nothing")), 0);
    assert_int_equal(json_array_size(rows), 5);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, i), "i")), i);
    assert_string_equal(json_string_value(json_array_get(rows, 4)), "last");
    assert_int_equal(json_object_size(root), 8);
}

static void test_nesting_both_forms(void **state)
{
    (void)state;
    for (int compact = 0; compact < 2; compact++) {
        struct ms_buf out = {0};
        struct ms_jsonw w = {.out = &out, .compact = compact};
        json_t *root;
        write_sample(&w);
        assert_int_equal(w.depth, 0);
        assert_int_equal(strchr(out.text, '\n') != NULL, !compact);
        root = parse(&out);
        check_sample(root);
        json_decref(root);
        ms_buf_free(&out);
    }
}

/* "10 significant digits": relative error at most half a unit of the tenth digit. */
static void test_numbers(void **state)
{
    static const double values[] = {
        0, 1, -2.5, 1e-300, 1.7976e308, 3.14159265358979, 123456789012345.0, 6.02214076e23, -0.1};
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct ms_buf out = {0};
        struct ms_jsonw w = {.out = &out};
        json_t *root;
        ms_jsonw_open(&w, NULL, '[');
        ms_jsonw_number(&w, NULL, values[i]);
        ms_jsonw_close(&w, ']');
        root = parse(&out);
        ms_assert_close(json_number_value(json_array_get(root, 0)), values[i], 5e-10, 0);
        json_decref(root);
        ms_buf_free(&out);
    }
}

enum misuse { NOT_A_NUMBER, INFINITE, TOO_DEEP, CLOSED_TOO_OFTEN, N_MISUSES };

static void misuse(enum misuse which)
{
    struct ms_buf out = {0};
    struct ms_jsonw w = {.out = &out};
    ms_jsonw_open(&w, NULL, '[');
    if (which == NOT_A_NUMBER)
        ms_jsonw_number(&w, NULL, nan(""));
    if (which == INFINITE)
        ms_jsonw_number(&w, NULL, -HUGE_VAL);
    for (int i = 0; which == TOO_DEEP && i < MS_JSONW_DEPTH_MAX; i++)
        ms_jsonw_open(&w, NULL, '[');
    for (int i = 0; which == CLOSED_TOO_OFTEN && i < 2; i++)
        ms_jsonw_close(&w, ']');
}

static void test_misuse_aborts(void **state)
{
    (void)state;
    for (int i = 0; i < N_MISUSES; i++) {
        int status;
        pid_t pid;
        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            misuse((enum misuse)i);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_survives),
        cmocka_unit_test(test_what_is_not_utf8_is_replaced),
        cmocka_unit_test(test_nesting_both_forms),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_misuse_aborts),
    };
    return cmocka_run_group_tests_name("jsonw", tests, NULL, NULL);
}
