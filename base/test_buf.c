/* test_buf.c - buf.h: growth, bytes that are not text, and reuse after free. */
#include "tests/mstest.h"

#include "base/buf.h"

static void test_grows_and_stays_terminated(void **state)
{
    struct ms_buf buf = {0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        ms_buf_printf(&buf, "%d,", i);
    assert_int_equal(buf.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(buf.text), buf.length);
    ms_buf_add(&buf, "a\0b", 3);
    assert_int_equal(buf.text[buf.length - 2], '\0');
    assert_int_equal(buf.text[buf.length], '\0');
    ms_buf_free(&buf);
    assert_null(buf.text);
    assert_int_equal(buf.length + buf.capacity, 0);
    ms_buf_free(&buf);
}

static void test_empty_additions(void **state)
{
    struct ms_buf buf = {0};
    (void)state;
    ms_buf_puts(&buf, "");
    assert_string_equal(buf.text, "");
    ms_buf_printf(&buf, "%s", "");
    assert_int_equal(buf.length, 0);
    ms_buf_printf(&buf, "%0*d", 100000, 7); /* longer than any fixed buffer */
    assert_int_equal(buf.length, 100000);
    assert_int_equal(buf.text[99999], '7');
    ms_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_and_stays_terminated),
        cmocka_unit_test(test_empty_additions),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
