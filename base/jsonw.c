#include "base/jsonw.h"

#include <math.h>

/* The well-formed UTF-8 sequences: Unicode Standard 15, table 3-7 (first byte, second byte, length). */
static const struct {
    unsigned char first_min, first_max, second_min, second_max;
    size_t length;
} UTF8[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the character at `text`, 0 if it is not UTF-8. Stops at the NUL. */
static size_t character_length(const char *text)
{
    unsigned char first = (unsigned char)text[0], second;
    if (first < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof(UTF8) / sizeof(UTF8[0]); i++) {
        if (first < UTF8[i].first_min || first > UTF8[i].first_max)
            continue;
        second = (unsigned char)text[1];
        if (second < UTF8[i].second_min || second > UTF8[i].second_max)
            return 0;
        for (size_t j = 2; j < UTF8[i].length; j++)
            if (((unsigned char)text[j] & 0xc0) != 0x80)
                return 0;
        return UTF8[i].length;
    }
    return 0;
}

static void add_text(struct ms_buf *out, const char *text)
{
    size_t n;
    ms_buf_puts(out, "\"");
    for (; *text; text += n ? n : 1) {
        unsigned char c = (unsigned char)*text;
        n = character_length(text);
        if (!n)
            ms_buf_puts(out, "\\ufffd");
        else if (c == '"' || c == '\\')
            ms_buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            ms_buf_printf(out, "\\u%04x", c);
        else
            ms_buf_add(out, text, n);
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
