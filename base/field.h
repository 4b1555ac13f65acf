/* field.h - one table describes the members of a struct; everything that reads or prints such a struct
 * is a loop over the table: command-line options, YAML files, --print-config, JSON, help texts.
 *
 * A new setting is therefore one line in one table, and cannot be forgotten in one of the places.
 */
#ifndef MS_BASE_FIELD_H
#define MS_BASE_FIELD_H

#include "base/buf.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

enum { MS_TEXT_MAX = 256, MS_LIST_MAX = 16 };

/* A hardware figure: every value known for it, with its source; `value` is the one the model uses:
 * measured if there is one, else derived, else datasheet, else unverified. Absent ones are NaN. */
struct ms_figure {
    double value;
    double measured, derived, datasheet, unverified;
    char source[MS_TEXT_MAX];
};

/* A short list of integers, as in --scaling 64,128. */
struct ms_int_list {
    int64_t at[MS_LIST_MAX];
    int64_t n;
};

enum ms_field_kind {
    MS_FIELD_BOOL,     /* bool: "true" or "false" */
    MS_FIELD_INT,      /* int64_t in [min, max] */
    MS_FIELD_REAL,     /* double in [min, max], of `quantity` */
    MS_FIELD_ENUM,     /* int: index in `names` (NULL-terminated) */
    MS_FIELD_FLAGS,    /* uint32_t: bit i is names[i]; text is "a,b" or "none" */
    MS_FIELD_STRING,   /* char[MS_TEXT_MAX] */
    MS_FIELD_INT_LIST, /* struct ms_int_list: "64,128", each in [min, max] */
    MS_FIELD_FIGURE,   /* struct ms_figure; in YAML a mapping of values and their source */
    MS_FIELD_SECTION,  /* no member: groups `sub` under a key; offsets count from the same base */
};

struct ms_field {
    const char *name;  /* YAML key, long option, JSON key; words joined by '-' or '_' */
    const char *alias; /* a second accepted name (Megatron's spelling), or NULL */
    enum ms_field_kind kind;
    size_t offset; /* offsetof(struct, member) */
    enum ms_quantity quantity;
    const char *const *names; /* of MS_FIELD_ENUM and MS_FIELD_FLAGS */
    double min, max;          /* INT, REAL, INT_LIST, FIGURE; min == max == 0 means no bound */
    bool required;            /* in a file: missing is an error */
    const char *default_text; /* NULL: all-zero is the default */
    const char *help;         /* one line */
    const struct ms_field *sub;
    size_t n_sub;
};

/* Sets the member of `object` that `field` describes from `text`; MS_E_USAGE-or-INPUT errors carry
 * `where` and name value, limits and legal values. Not for sections. */
MS_MUST_CHECK enum ms_status ms_field_parse(const struct ms_field *field, void *object,
                                            const char *text, const char *where,
                                            struct ms_error *err);

/* Appends the member's value as ms_field_parse() reads it. */
void ms_field_format(const struct ms_field *field, const void *object, struct ms_buf *out);

/* Sets all members to their defaults. A default that does not parse is a bug and aborts. */
void ms_fields_defaults(const struct ms_field *fields, size_t n, void *object);

/* The field called `name` (or alias; '-' and '_' are the same), or NULL. */
const struct ms_field *ms_fields_find(const struct ms_field *fields, size_t n, const char *name);

/* The one of `n` names closest to `name` by edit distance, the first of several, for "did you mean". NULL if
 * none is close. */
const char *ms_names_nearest(const char *const *names, size_t n, const char *name);

/* The same among the names of fields (without aliases). */
const char *ms_fields_nearest(const struct ms_field *fields, size_t n, const char *name);

/* Index of `text` in the NULL-terminated `names`, or -1. */
int ms_names_find(const char *const *names, const char *text);

#endif
