/* wrap.h - text broken into lines of at most 80 columns, between words. UTF-8 characters count as one
 * column. */
#ifndef MS_CLI_WRAP_H
#define MS_CLI_WRAP_H

#include "base/buf.h"

enum { MS_WRAP_COLUMNS = 80 };

/* Appends `text` at column `column` of a begun line; further lines are indented by `indent`, which is less
 * than 80. Spaces between words become one. A word longer than a line is broken. Ends the line. */
void ms_wrap(const char *text, size_t column, size_t indent, struct ms_buf *out);

#endif
