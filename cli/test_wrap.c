/* test_wrap.c - lines of at most 80 columns that keep every word. */
#include "tests/mstest.h"

#include "cli/wrap.h"

/* Columns of the longest line: characters that are no UTF-8 continuation. */
static size_t longest_line(const char *text)
{
    size_t longest = 0, n = 0;
    for (; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void short_text_stays_on_its_line(void **state)
{
    struct ms_buf out = {0};
    (void)state;
    ms_buf_puts(&out, "key ");
    ms_wrap("  two   words ", 4, 4, &out);
    assert_string_equal(out.text, "key two words\n");
    ms_buf_free(&out);
}

static void empty_text_ends_the_line(void **state)
{
    struct ms_buf out = {0};
    (void)state;
    ms_wrap("", 0, 3, &out);
    assert_string_equal(out.text, "\n");
    ms_buf_free(&out);
}

/* 8 words of 10 letters and 7 spaces are 87 columns: the last word goes to the next line. */
static void breaks_between_words(void **state)
{
    static const char words[] = "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee ffffffffff "
                                "gggggggggg hhhhhhhhhh";
    struct ms_buf out = {0};
    (void)state;
    ms_wrap(words, 0, 3, &out);
    assert_string_equal(out.text, "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee "
                                  "ffffffffff gggggggggg\n   hhhhhhhhhh\n");
    ms_buf_free(&out);
}

/* From column 3 on, 7 words of 10 and 6 spaces end in column 79, one letter more fits, two do not. */
static void uses_the_last_column(void **state)
{
    static const char seven[] = "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd eeeeeeeeee ffffffffff";
    struct ms_buf fits = {0}, too_long = {0}, text = {0};
    (void)state;
    ms_buf_printf(&text, "%s ggggggggggg", seven);
    ms_wrap(text.text, 3, 3, &fits);
    assert_null(strstr(fits.text, "\n "));
    ms_buf_puts(&text, "h");
    ms_wrap(text.text, 3, 3, &too_long);
    assert_non_null(strstr(too_long.text, "\n   ggggggggggg"));
    ms_buf_free(&fits);
    ms_buf_free(&too_long);
    ms_buf_free(&text);
}

static void breaks_a_word_longer_than_a_line(void **state)
{
    struct ms_buf word = {0}, out = {0}, joined = {0};
    (void)state;
    for (int i = 0; i < 203; i++)
        ms_buf_printf(&word, "%d", i % 10);
    ms_wrap(word.text, 7, 5, &out);
    assert_int_equal(longest_line(out.text), 80);
    for (const char *p = out.text; *p; p++)
        if (*p != '\n' && *p != ' ')
            ms_buf_add(&joined, p, 1);
    assert_string_equal(joined.text, word.text);
    ms_buf_free(&word);
    ms_buf_free(&out);
    ms_buf_free(&joined);
}

/* 80 two-byte characters fill a line; none is cut in half. */
static void counts_characters_not_bytes(void **state)
{
    struct ms_buf word = {0}, out = {0};
    (void)state;
    for (int i = 0; i < 97; i++)
        ms_buf_puts(&word, "\xc3\xa9");
    ms_wrap(word.text, 0, 0, &out);
    assert_int_equal(out.length, 2 * 97 + 2);
    assert_int_equal(out.text[160], '\n');
    ms_buf_free(&word);
    ms_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_text_stays_on_its_line),
        cmocka_unit_test(empty_text_ends_the_line),
        cmocka_unit_test(breaks_between_words),
        cmocka_unit_test(uses_the_last_column),
        cmocka_unit_test(breaks_a_word_longer_than_a_line),
        cmocka_unit_test(counts_characters_not_bytes),
    };
    return cmocka_run_group_tests_name("wrap", tests, NULL, NULL);
}
