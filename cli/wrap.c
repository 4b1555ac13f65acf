/* wrap.c - text broken into lines of at most 80 columns. */
#include "cli/wrap.h"

#include <stdbool.h>
#include <string.h>

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t count_columns(const char *text, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += !is_continuation(text[i]);
    return columns;
}

/* Bytes of the longest piece of `text` [n] that fits in `columns`, at least one character. */
static size_t piece_that_fits(const char *text, size_t n, size_t columns)
{
    size_t i = 0;
    for (size_t used = 0; i < n; i++) {
        used += !is_continuation(text[i]);
        if (used > columns && i > 0 && !is_continuation(text[i]))
            break;
    }
    return i;
}

static void new_line(struct ms_buf *out, size_t indent, size_t *column)
{
    ms_buf_printf(out, "\n%*s", (int)indent, "");
    *column = indent;
}

/* Appends a word that is longer than a line, in pieces. */
static void add_pieces(const char *word, size_t n, size_t indent, size_t *column,
                       struct ms_buf *out)
{
    while (n) {
        size_t room = *column < MS_WRAP_COLUMNS ? MS_WRAP_COLUMNS - *column : 0;
        size_t piece = piece_that_fits(word, n, room);
        ms_buf_add(out, word, piece);
        *column += count_columns(word, piece);
        word += piece;
        n -= piece;
        if (n)
            new_line(out, indent, column);
    }
}

void ms_wrap(const char *text, size_t column, size_t indent, struct ms_buf *out)
{
    bool first = true; /* word of the line */
    MS_REQUIRE(indent < MS_WRAP_COLUMNS);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " "), columns = count_columns(text, n);
        if (column + !first + columns > MS_WRAP_COLUMNS && column > indent) {
            new_line(out, indent, &column);
            first = true;
        }
        if (!first) {
            ms_buf_puts(out, " ");
            column++;
        }
        add_pieces(text, n, indent, &column, out);
        first = false;
        text += n;
    }
    ms_buf_puts(out, "\n");
}
