#include "base/table.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct ms_table {
    char *sides;
    size_t n_columns;
    char **cells;
    size_t n_cells;
    size_t capacity;
};

struct ms_table *ms_table_new(const char *sides)
{
    struct ms_table *table = ms_calloc(1, sizeof(*table));
    table->sides = ms_strdup(sides);
    table->n_columns = strlen(sides);
    MS_REQUIRE(table->n_columns > 0);
    return table;
}

void ms_table_cell(struct ms_table *table, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ms_grow((void **)&table->cells, &table->capacity, table->n_cells, sizeof(table->cells[0]));
    table->cells[table->n_cells++] = ms_strdup(text);
}

/* Columns on the screen, not bytes: UTF-8 continuation bytes take no place. */
static size_t display_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t column_width(const struct ms_table *table, size_t column)
{
    size_t width = 0;
    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        size_t w = display_width(table->cells[i]);
        width = w > width ? w : width;
    }
    return width;
}

static void trim_line(struct ms_buf *out)
{
    while (out->length && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
}

void ms_table_print(const struct ms_table *table, int indent, struct ms_buf *out)
{
    size_t *widths = ms_calloc(table->n_columns, sizeof(*widths));
    MS_REQUIRE(table->n_cells % table->n_columns == 0);
    for (size_t i = 0; i < table->n_columns; i++)
        widths[i] = column_width(table, i);
    for (size_t i = 0; i < table->n_cells; i++) {
        size_t column = i % table->n_columns;
        int pad = (int)(widths[column] - display_width(table->cells[i]));
        ms_buf_printf(out, "%*s", column ? 2 : indent, "");
        if (table->sides[column] == 'r')
            ms_buf_printf(out, "%*s%s", pad, "", table->cells[i]);
        else
            ms_buf_printf(out, "%s%*s", table->cells[i], pad, "");
        if (column + 1 == table->n_columns) {
            trim_line(out);
            ms_buf_puts(out, "\n");
        }
    }
    free(widths);
}

void ms_table_free(struct ms_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->sides);
    free(table);
}
