/* jsonw.h - writes JSON into a buffer as it goes, without building a tree. Numbers that are not finite
 * are a bug (a result may not be NaN) and abort. Keys are NULL inside arrays. Bytes of a text that are
 * not UTF-8 (file names) become U+FFFD, so that the output is always valid. */
#ifndef MS_BASE_JSONW_H
#define MS_BASE_JSONW_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { MS_JSONW_DEPTH_MAX = 16 };

struct ms_jsonw {
    struct ms_buf *out; /* borrowed */
    int depth;
    bool has_items[MS_JSONW_DEPTH_MAX];
    bool compact; /* no line breaks: one object per line in streams */
};

void ms_jsonw_open(struct ms_jsonw *w, const char *key, char bracket); /* '{' or '[' */
void ms_jsonw_close(struct ms_jsonw *w, char bracket);                 /* '}' or ']' */
void ms_jsonw_string(struct ms_jsonw *w, const char *key, const char *text);
void ms_jsonw_number(struct ms_jsonw *w, const char *key, double value); /* 10 significant digits */
void ms_jsonw_int(struct ms_jsonw *w, const char *key, int64_t value);
void ms_jsonw_bool(struct ms_jsonw *w, const char *key, bool value);

#endif
