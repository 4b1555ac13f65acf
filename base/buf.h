/* buf.h - a growing text buffer; every result is composed in one before a byte is written. */
#ifndef MS_BASE_BUF_H
#define MS_BASE_BUF_H

#include "base/error.h"

#include <stddef.h>

/* Zero-initialise to start empty. `text` is NUL-terminated once something was added. */
struct ms_buf {
    char *text;
    size_t length;
    size_t capacity;
};

void ms_buf_add(struct ms_buf *buf, const char *text, size_t n);
void ms_buf_puts(struct ms_buf *buf, const char *text);
MS_PRINTF(2, 3) void ms_buf_printf(struct ms_buf *buf, const char *fmt, ...);
void ms_buf_free(struct ms_buf *buf);

#endif
