#include "base/field.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *member(const struct ms_field *field, void *object)
{
    return (char *)object + field->offset;
}

static const void *member_const(const struct ms_field *field, const void *object)
{
    return (const char *)object + field->offset;
}

int ms_names_find(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

static enum ms_status fail_name(const struct ms_field *field, const char *text, const char *where,
                                struct ms_error *err)
{
    struct ms_buf legal = {0};
    enum ms_status status;
    for (int i = 0; field->names[i]; i++)
        ms_buf_printf(&legal, "%s%s", i ? ", " : "", field->names[i]);
    status = ms_fail(err, MS_E_INPUT, where, "'%.60s' is not one of %s", text, legal.text);
    ms_buf_free(&legal);
    return status;
}

static enum ms_status check_range(const struct ms_field *field, double x, const char *text,
                                  const char *where, struct ms_error *err)
{
    if ((field->min == 0 && field->max == 0) || (x >= field->min && x <= field->max))
        return MS_OK;
    return ms_fail(err, MS_E_INPUT, where,
                   "'%.60s' is outside %.10g to %.10g; nearest legal value %.10g", text, field->min,
                   field->max, x < field->min ? field->min : field->max);
}

static enum ms_status parse_int(const struct ms_field *field, const char *text, const char *where,
                                int64_t *out, struct ms_error *err)
{
    int64_t x = 0;
    enum ms_status status = ms_units_parse_int(text, where, &x, err);
    if (status == MS_OK)
        status = check_range(field, (double)x, text, where, err);
    if (status == MS_OK)
        *out = x;
    return status;
}

static enum ms_status parse_real(const struct ms_field *field, const char *text, const char *where,
                                 double *out, struct ms_error *err)
{
    double x = 0;
    enum ms_status status = ms_units_parse(text, field->quantity, where, &x, err);
    if (status == MS_OK)
        status = check_range(field, x, text, where, err);
    if (status == MS_OK)
        *out = x;
    return status;
}

/* Calls `each` for every comma-separated word of `text`. */
static enum ms_status split(const struct ms_field *field, const char *text, const char *where,
                            void *out, struct ms_error *err,
                            enum ms_status (*each)(const struct ms_field *, const char *,
                                                   const char *, void *, struct ms_error *))
{
    enum ms_status status = MS_OK;
    const char *p = text;
    while (status == MS_OK) {
        char word[MS_TEXT_MAX];
        size_t n = strcspn(p, ",");
        if (n >= sizeof(word))
            return ms_fail(err, MS_E_INPUT, where, "'%.60s...' is too long", text);
        memcpy(word, p, n);
        word[n] = '\0';
        status = each(field, word, where, out, err);
        if (!p[n])
            break;
        p += n + 1;
    }
    return status;
}

static enum ms_status add_flag(const struct ms_field *field, const char *word, const char *where,
                               void *out, struct ms_error *err)
{
    uint32_t *flags = out;
    int i = ms_names_find(field->names, word);
    if (i < 0)
        return fail_name(field, word, where, err);
    *flags |= UINT32_C(1) << i;
    return MS_OK;
}

static enum ms_status add_int(const struct ms_field *field, const char *word, const char *where,
                              void *out, struct ms_error *err)
{
    struct ms_int_list *list = out;
    if (list->n == MS_LIST_MAX)
        return ms_fail(err, MS_E_INPUT, where, "more than %d values", MS_LIST_MAX);
    return parse_int(field, word, where, &list->at[list->n++], err);
}

static enum ms_status parse_bool(const char *text, const char *where, bool *out,
                                 struct ms_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", NULL};
    int i = ms_names_find(words, text);
    if (i < 0)
        return ms_fail(err, MS_E_INPUT, where, "'%.60s' is not true or false", text);
    *out = i % 2 == 1;
    return MS_OK;
}

static enum ms_status parse_list(const struct ms_field *field, void *object, const char *text,
                                 const char *where, struct ms_error *err)
{
    enum ms_status status;
    if (field->kind == MS_FIELD_FLAGS) {
        uint32_t flags = 0;
        status =
            strcmp(text, "none") == 0 ? MS_OK : split(field, text, where, &flags, err, add_flag);
        if (status == MS_OK)
            *(uint32_t *)member(field, object) = flags;
    } else {
        struct ms_int_list list = {{0}, 0};
        status = *text ? split(field, text, where, &list, err, add_int) : MS_OK;
        if (status == MS_OK)
            *(struct ms_int_list *)member(field, object) = list;
    }
    return status;
}

static enum ms_status parse_figure(const struct ms_field *field, struct ms_figure *figure,
                                   const char *text, const char *where, struct ms_error *err)
{
    struct ms_figure f = {0, nan(""), nan(""), nan(""), nan(""), ""};
    enum ms_status status = parse_real(field, text, where, &f.value, err);
    if (status != MS_OK)
        return status;
    f.unverified = f.value;
    snprintf(f.source, sizeof(f.source), "as given in the file");
    *figure = f;
    return MS_OK;
}

enum ms_status ms_field_parse(const struct ms_field *field, void *object, const char *text,
                              const char *where, struct ms_error *err)
{
    void *p = member(field, object);
    int i;
    switch (field->kind) {
    case MS_FIELD_BOOL:
        return parse_bool(text, where, p, err);
    case MS_FIELD_INT:
        return parse_int(field, text, where, p, err);
    case MS_FIELD_REAL:
        return parse_real(field, text, where, p, err);
    case MS_FIELD_ENUM:
        i = ms_names_find(field->names, text);
        if (i < 0)
            return fail_name(field, text, where, err);
        *(int *)p = i;
        return MS_OK;
    case MS_FIELD_STRING:
        if (strlen(text) >= MS_TEXT_MAX)
            return ms_fail(err, MS_E_INPUT, where, "longer than %d characters", MS_TEXT_MAX - 1);
        memset(p, 0, MS_TEXT_MAX);
        memcpy(p, text, strlen(text));
        return MS_OK;
    case MS_FIELD_FLAGS:
    case MS_FIELD_INT_LIST:
        return parse_list(field, object, text, where, err);
    case MS_FIELD_FIGURE:
        return parse_figure(field, p, text, where, err);
    case MS_FIELD_SECTION:
        break;
    }
    return ms_fail(err, MS_E_INPUT, where, "a single value stands where a mapping belongs");
}

static void format_flags(const struct ms_field *field, uint32_t flags, struct ms_buf *out)
{
    const char *separator = "";
    if (!flags)
        ms_buf_puts(out, "none");
    for (int i = 0; field->names[i]; i++) {
        if (!(flags >> i & 1))
            continue;
        ms_buf_printf(out, "%s%s", separator, field->names[i]);
        separator = ",";
    }
}

void ms_field_format(const struct ms_field *field, const void *object, struct ms_buf *out)
{
    const void *p = member_const(field, object);
    const struct ms_int_list *list = p;
    char text[64];
    switch (field->kind) {
    case MS_FIELD_BOOL:
        ms_buf_puts(out, *(const bool *)p ? "true" : "false");
        break;
    case MS_FIELD_INT:
        ms_buf_printf(out, "%lld", (long long)*(const int64_t *)p);
        break;
    case MS_FIELD_REAL:
    case MS_FIELD_FIGURE: /* a figure starts with its value in use */
        ms_units_format(*(const double *)p, field->quantity, text, sizeof(text));
        ms_buf_puts(out, text);
        break;
    case MS_FIELD_ENUM:
        ms_buf_puts(out, field->names[*(const int *)p]);
        break;
    case MS_FIELD_STRING:
        ms_buf_puts(out, p);
        break;
    case MS_FIELD_FLAGS:
        format_flags(field, *(const uint32_t *)p, out);
        break;
    case MS_FIELD_INT_LIST:
        for (int64_t i = 0; i < list->n; i++)
            ms_buf_printf(out, "%s%lld", i ? "," : "", (long long)list->at[i]);
        if (!list->n)
            ms_buf_puts(out, "");
        break;
    case MS_FIELD_SECTION:
        break;
    }
}

void ms_fields_defaults(const struct ms_field *fields, size_t n, void *object)
{
    for (size_t i = 0; i < n; i++) {
        if (fields[i].kind == MS_FIELD_SECTION)
            ms_fields_defaults(fields[i].sub, fields[i].n_sub, object);
        else if (fields[i].default_text)
            MS_REQUIRE(ms_field_parse(&fields[i], object, fields[i].default_text, NULL, NULL) ==
                       MS_OK);
    }
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
            return false;
    return *a == *b;
}

const struct ms_field *ms_fields_find(const struct ms_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (same_name(fields[i].name, name) ||
            (fields[i].alias && same_name(fields[i].alias, name)))
            return &fields[i];
    return NULL;
}

/* Levenshtein distance, one row at a time; names longer than the row count as far away. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= sizeof(row) / sizeof(row[0]))
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; *a; a++, i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *ms_names_nearest(const char *const *names, size_t n, const char *name)
{
    size_t best = strlen(name) / 2 + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(name, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *ms_fields_nearest(const struct ms_field *fields, size_t n, const char *name)
{
    const char **names = ms_calloc(n, sizeof(*names)), *nearest;
    for (size_t i = 0; i < n; i++)
        names[i] = fields[i].name;
    nearest = ms_names_nearest(names, n, name);
    free(names);
    return nearest;
}
