#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct ms_buf *buf, size_t more)
{
    ms_grow((void **)&buf->text, &buf->capacity, buf->length + more, 1);
}

void ms_buf_add(struct ms_buf *buf, const char *text, size_t n)
{
    reserve(buf, n);
    memcpy(buf->text + buf->length, text, n);
    buf->length += n;
    buf->text[buf->length] = '\0';
}

void ms_buf_puts(struct ms_buf *buf, const char *text)
{
    ms_buf_add(buf, text, strlen(text));
}

void ms_buf_printf(struct ms_buf *buf, const char *fmt, ...)
{
    va_list args;
    int n;
    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    MS_REQUIRE(n >= 0);
    reserve(buf, (size_t)n);
    va_start(args, fmt);
    vsnprintf(buf->text + buf->length, (size_t)n + 1, fmt, args);
    va_end(args);
    buf->length += (size_t)n;
}

void ms_buf_free(struct ms_buf *buf)
{
    free(buf->text);
    *buf = (struct ms_buf){0};
}
