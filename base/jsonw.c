#include "base/jsonw.h"

#include <math.h>

static void add_text(struct ms_buf *out, const char *text)
{
    ms_buf_puts(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            ms_buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            ms_buf_printf(out, "\\u%04x", c);
        else
            ms_buf_add(out, text, 1);
    }
    ms_buf_puts(out, "\"");
}

static void new_line(struct ms_jsonw *w)
{
    if (w->compact)
        return;
    ms_buf_printf(w->out, "\n%*s", 2 * w->depth, "");
}

static void begin_item(struct ms_jsonw *w, const char *key)
{
    if (w->depth) {
        if (w->has_items[w->depth])
            ms_buf_puts(w->out, ",");
        w->has_items[w->depth] = true;
        new_line(w);
    }
    if (key) {
        add_text(w->out, key);
        ms_buf_puts(w->out, ": ");
    }
}

void ms_jsonw_open(struct ms_jsonw *w, const char *key, char bracket)
{
    begin_item(w, key);
    ms_buf_add(w->out, &bracket, 1);
    MS_REQUIRE(w->depth + 1 < MS_JSONW_DEPTH_MAX);
    w->has_items[++w->depth] = false;
}

void ms_jsonw_close(struct ms_jsonw *w, char bracket)
{
    bool had = w->has_items[w->depth];
    MS_REQUIRE(w->depth > 0);
    w->depth--;
    if (had)
        new_line(w);
    ms_buf_add(w->out, &bracket, 1);
}

void ms_jsonw_string(struct ms_jsonw *w, const char *key, const char *text)
{
    begin_item(w, key);
    add_text(w->out, text);
}

void ms_jsonw_number(struct ms_jsonw *w, const char *key, double value)
{
    MS_REQUIRE(isfinite(value));
    begin_item(w, key);
    ms_buf_printf(w->out, "%.10g", value);
}

void ms_jsonw_int(struct ms_jsonw *w, const char *key, int64_t value)
{
    begin_item(w, key);
    ms_buf_printf(w->out, "%lld", (long long)value);
}

void ms_jsonw_bool(struct ms_jsonw *w, const char *key, bool value)
{
    begin_item(w, key);
    ms_buf_puts(w->out, value ? "true" : "false");
}
