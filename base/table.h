/* table.h - aligned text tables for people: a header row, cells, columns padded to the widest cell.
 * A format string gives each column's side: 'l' left, 'r' right. Cells are copied. */
#ifndef MS_BASE_TABLE_H
#define MS_BASE_TABLE_H

#include "base/buf.h"

struct ms_table;

/* `sides` has one character per column. */
struct ms_table *ms_table_new(const char *sides);
/* Adds the next cell, row by row, left to right. */
MS_PRINTF(2, 3) void ms_table_cell(struct ms_table *table, const char *fmt, ...);
/* Appends all rows to `out`, each line indented by `indent`; no line ends in spaces. */
void ms_table_print(const struct ms_table *table, int indent, struct ms_buf *out);
void ms_table_free(struct ms_table *table); /* accepts NULL */

#endif
