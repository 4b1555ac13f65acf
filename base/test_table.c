/* test_table.c - table.h: alignment by screen columns, indents, no blanks at line ends. */
#include "tests/mstest.h"

#include "base/table.h"

static void test_aligns_left_and_right(void **state)
{
    struct ms_table *table = ms_table_new("lr");
    struct ms_buf out = {0};
    (void)state;
    ms_table_cell(table, "%s", "part");
    ms_table_cell(table, "time");
    ms_table_cell(table, "expert_gemm");
    ms_table_cell(table, "%.1f", 7.25);
    ms_table_cell(table, "x");
    ms_table_cell(table, "%d", 12345);
    ms_table_print(table, 3, &out);
    assert_string_equal(out.text, "   part          time\n"
                                  "   expert_gemm    7.2\n"
                                  "   x            12345\n");
    ms_buf_free(&out);
    ms_table_free(table);
}

/* Two-byte characters take one column; a line never ends in blanks, also with an empty last cell. */
static void test_counts_characters_not_bytes(void **state)
{
    struct ms_table *table = ms_table_new("ll");
    struct ms_buf out = {0};
    (void)state;
    ms_table_cell(table, "\xc2\xb5s");
    ms_table_cell(table, "a");
    ms_table_cell(table, "abc");
    ms_table_cell(table, "b");
    ms_table_cell(table, "z");
    ms_table_cell(table, "%s", "");
    ms_table_print(table, 0, &out);
    assert_string_equal(out.text, "\xc2\xb5s   a\nabc  b\nz\n");
    ms_buf_free(&out);
    ms_table_free(table);
}

static void test_appends_and_copies_cells(void **state)
{
    struct ms_table *table = ms_table_new("r");
    struct ms_buf out = {0};
    char cell[8] = "abc";
    (void)state;
    ms_buf_puts(&out, "before\n");
    ms_table_cell(table, "%s", cell);
    memset(cell, 'x', 3);
    ms_table_print(table, 0, &out);
    assert_string_equal(out.text, "before\nabc\n");
    ms_buf_free(&out);
    ms_table_free(table);
    ms_table_free(NULL);
}

static void test_empty_table_prints_nothing(void **state)
{
    struct ms_table *table = ms_table_new("lrl");
    struct ms_buf out = {0};
    (void)state;
    ms_table_print(table, 4, &out);
    assert_int_equal(out.length, 0);
    ms_table_free(table);
}

/* Every line of a large table has the same width, and printing it takes no quadratic time: 60,000
 * rows with the widths searched anew for each cell would take minutes. */
static void test_many_rows(void **state)
{
    struct ms_table *table = ms_table_new("rr");
    struct ms_buf out = {0};
    size_t n_lines = 0;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        ms_table_cell(table, "%d", i * 7919 % 60013);
        ms_table_cell(table, "%d", i);
    }
    ms_table_print(table, 1, &out);
    for (const char *line = out.text; *line; n_lines++) {
        size_t length = strcspn(line, "\n");
        assert_int_equal(length, 1 + 5 + 2 + 5);
        line += length + 1;
    }
    assert_int_equal(n_lines, 60000);
    ms_buf_free(&out);
    ms_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aligns_left_and_right),
        cmocka_unit_test(test_counts_characters_not_bytes),
        cmocka_unit_test(test_appends_and_copies_cells),
        cmocka_unit_test(test_empty_table_prints_nothing),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
