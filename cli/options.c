/* options.c - field tables as argp tables. argp only reads: its error messages are off, because an error is
 * one line with the nearest legal value and main prints it, and so is its --help, which sorts by letter.
 * Read struct parser, build(), on_key() in this order. */
#include "cli/options.h"

#include "base/mem.h"
#include "cli/wrap.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keys beyond characters, so that no option has a short form. */
enum { KEY_HELP = 1 << 9, KEY_LIST, KEY_FIRST_FIELD };

enum { HELP_COLUMN = 28 };

enum { FLAGS_OF_ARGP = ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP };

/* What the callback of argp needs. */
struct parser {
    const struct ms_options *options;
    struct argp_option *table;
    size_t n_table;
    size_t n_arguments;
    bool help, list;
    enum ms_status status;
    struct ms_error *err;
};

/* What stands for the value in --help. */
static const char *value_name(enum ms_field_kind kind)
{
    switch (kind) {
    case MS_FIELD_INT:
        return "N";
    case MS_FIELD_REAL:
    case MS_FIELD_FIGURE:
        return "X";
    case MS_FIELD_ENUM:
        return "NAME";
    case MS_FIELD_FLAGS:
        return "NAME,...";
    case MS_FIELD_INT_LIST:
        return "N,...";
    case MS_FIELD_BOOL:
        return "true|false";
    case MS_FIELD_STRING:
    case MS_FIELD_SECTION:
        break;
    }
    return "TEXT";
}

static void add_names(const struct ms_field *field, const char *separator, struct ms_buf *out)
{
    for (int i = 0; field->names && field->names[i]; i++)
        ms_buf_printf(out, "%s%s", i ? separator : "", field->names[i]);
}

static void add_field(struct parser *p, const struct ms_field *field, int key)
{
    struct argp_option *option = &p->table[p->n_table++];
    option->name = field->name;
    option->key = key;
    option->arg = value_name(field->kind);
    option->flags = field->kind == MS_FIELD_BOOL ? OPTION_ARG_OPTIONAL : 0;
    if (field->alias)
        p->table[p->n_table++] = (struct argp_option){.name = field->alias, .flags = OPTION_ALIAS};
}

/* Two rows for each field at most, help, list, and the end. */
static void build(struct parser *p)
{
    const struct ms_options *o = p->options;
    size_t rows = 3;
    int key = KEY_FIRST_FIELD;
    for (size_t g = 0; g < o->n_groups; g++)
        rows += 2 * o->groups[g].n;
    p->table = ms_calloc(rows, sizeof(*p->table));
    for (size_t g = 0; g < o->n_groups; g++)
        for (size_t i = 0; i < o->groups[g].n; i++)
            add_field(p, &o->groups[g].fields[i], key++);
    p->table[p->n_table++] = (struct argp_option){.name = "help", .key = KEY_HELP};
    p->table[p->n_table++] =
        (struct argp_option){.name = "list-options", .key = KEY_LIST, .flags = OPTION_HIDDEN};
}

/* The group that field number `i`, counted through all groups, is in; `*i` becomes its index there. */
static const struct ms_option_group *group_of(const struct ms_options *options, size_t *i)
{
    const struct ms_option_group *group = options->groups;
    while (*i >= group->n)
        *i -= group++->n;
    return group;
}

static error_t fail_if(struct parser *p, enum ms_status status)
{
    p->status = status;
    return status == MS_OK ? 0 : EINVAL;
}

static error_t set_field(struct parser *p, size_t i, const char *text)
{
    const struct ms_option_group *group = group_of(p->options, &i);
    char where[MS_TEXT_MAX];
    snprintf(where, sizeof(where), "--%s", group->fields[i].name);
    if (group->given)
        group->given[i] = true;
    return fail_if(
        p, ms_field_parse(&group->fields[i], group->object, text ? text : "true", where, p->err));
}

static error_t add_argument(struct parser *p, const char *text)
{
    if (p->n_arguments == p->options->max_arguments)
        return fail_if(p, ms_fail(p->err, MS_E_USAGE, NULL,
                                  "'%.100s' is one argument too many; see `%s --help`", text,
                                  p->options->command));
    p->options->arguments[p->n_arguments++] = text;
    return 0;
}

static bool is_listed(const struct argp_option *option)
{
    return option->name && !(option->flags & OPTION_HIDDEN);
}

static const char *nearest_option(const struct parser *p, const char *name)
{
    const char **names = ms_calloc(p->n_table, sizeof(*names)), *nearest;
    size_t n = 0;
    for (size_t i = 0; i < p->n_table; i++)
        if (is_listed(&p->table[i]))
            names[n++] = p->table[i].name;
    nearest = ms_names_nearest(names, n, name);
    free(names);
    return nearest;
}

/* Appends the options that begin with `name`; returns how many. */
static size_t add_matches(const struct parser *p, const char *name, struct ms_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_table; i++)
        if (is_listed(&p->table[i]) && strncmp(p->table[i].name, name, strlen(name)) == 0)
            ms_buf_printf(out, "%s--%s", n++ ? ", " : "", p->table[i].name);
    return n;
}

/* The row that `name` stands for exactly, or NULL; an alias takes after the row before it. */
static const struct argp_option *exact_option(const struct parser *p, const char *name)
{
    for (size_t i = 0; i < p->n_table; i++)
        if (p->table[i].name && strcmp(p->table[i].name, name) == 0)
            return p->table[i].flags & OPTION_ALIAS ? &p->table[i - 1] : &p->table[i];
    return NULL;
}

static enum ms_status fail_unknown(const struct parser *p, const char *name)
{
    const char *nearest = nearest_option(p, name);
    char where[MS_TEXT_MAX];
    snprintf(where, sizeof(where), "--%.100s", name);
    if (nearest)
        return ms_fail(p->err, MS_E_USAGE, where, "unknown option; did you mean '--%s'?", nearest);
    return ms_fail(p->err, MS_E_USAGE, where, "unknown option; see `%s --help`",
                   p->options->command);
}

/* argp says only that it could not go on at `text`: finds out why. */
static enum ms_status explain(const struct parser *p, const char *text)
{
    char where[MS_TEXT_MAX], name[MS_TEXT_MAX];
    const struct argp_option *exact;
    struct ms_buf matches = {0};
    enum ms_status status;
    size_t n;
    if (strncmp(text, "--", 2) != 0)
        return ms_fail(p->err, MS_E_USAGE, text, "there are no short options; see `%s --help`",
                       p->options->command);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text + 2, "="), text + 2);
    snprintf(where, sizeof(where), "--%.200s", name);
    exact = exact_option(p, name);
    n = add_matches(p, name, &matches);
    if (strchr(text, '=') && exact && !exact->arg)
        status = ms_fail(p->err, MS_E_USAGE, where, "takes no value");
    else if (exact || n == 1)
        status = ms_fail(p->err, MS_E_USAGE, where, "a value must follow");
    else if (n > 1)
        status = ms_fail(p->err, MS_E_USAGE, where, "may stand for %s", matches.text);
    else
        status = fail_unknown(p, name);
    ms_buf_free(&matches);
    return status;
}

/* What argp stopped at: the word before the next one, or that one if it is a run of short options. */
static const char *stopped_at(const struct argp_state *state)
{
    const char *before = state->argv[state->next - 1];
    const char *next = state->next < state->argc ? state->argv[state->next] : NULL;
    if (state->next == 1 || before[0] != '-')
        return next ? next : before;
    return before;
}

static error_t on_key(int key, char *arg, struct argp_state *state)
{
    struct parser *p = state->input;
    if (key >= KEY_FIRST_FIELD && key < ARGP_KEY_END)
        return set_field(p, (size_t)(key - KEY_FIRST_FIELD), arg);
    switch (key) {
    case KEY_HELP:
    case KEY_LIST:
        p->help = key == KEY_HELP;
        p->list = key == KEY_LIST;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_ARG:
        return add_argument(p, arg);
    case ARGP_KEY_ERROR:
        if (p->status == MS_OK)
            p->status = explain(p, stopped_at(state));
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "--tp N, --tensor-model-parallel-size N" */
static void add_spellings(const struct ms_field *field, struct ms_buf *out)
{
    const char *names[] = {field->name, field->alias};
    for (size_t i = 0; i < 2 && names[i]; i++) {
        ms_buf_printf(out, "%s--%s", i ? ", " : "", names[i]);
        if (field->kind == MS_FIELD_BOOL)
            ms_buf_puts(out, "[=false]");
        else
            ms_buf_printf(out, " %s", value_name(field->kind));
    }
}

/* One option: spellings, then from a fixed column on what it is, its legal names and its default. */
static void help_row(const char *spellings, const char *text, struct ms_buf *out)
{
    size_t n = strlen(spellings);
    if (n + 4 <= HELP_COLUMN)
        ms_buf_printf(out, "  %-*s", HELP_COLUMN - 2, spellings);
    else
        ms_buf_printf(out, "  %s\n%*s", spellings, HELP_COLUMN, "");
    ms_wrap(text, HELP_COLUMN, HELP_COLUMN, out);
}

static void help_field(const struct ms_field *field, struct ms_buf *out)
{
    struct ms_buf spellings = {0}, text = {0};
    add_spellings(field, &spellings);
    MS_REQUIRE(spellings.text);
    ms_buf_puts(&text, field->help);
    if (field->names) {
        ms_buf_puts(&text, field->kind == MS_FIELD_FLAGS ? "; any of " : "; one of ");
        add_names(field, ", ", &text);
    }
    if (field->default_text && field->default_text[0])
        ms_buf_printf(&text, " (default: %s)", field->default_text);
    help_row(spellings.text, text.text, out);
    ms_buf_free(&spellings);
    ms_buf_free(&text);
}

static void print_help(const struct ms_options *options, struct ms_buf *out)
{
    const char *usage = options->usage;
    for (const char *word = "Usage:"; *usage; word = "or:") {
        size_t n = strcspn(usage, "\n");
        ms_buf_printf(out, "%6s %s %.*s\n", word, options->command, (int)n, usage);
        usage += n + (usage[n] == '\n');
    }
    ms_buf_puts(out, "\n");
    ms_wrap(options->about, 0, 0, out);
    for (size_t g = 0; g < options->n_groups; g++) {
        ms_buf_printf(out, "\n%s\n", options->groups[g].title);
        for (size_t i = 0; i < options->groups[g].n; i++)
            help_field(&options->groups[g].fields[i], out);
    }
    ms_buf_puts(out, "\n");
    help_row("--help", "this text", out);
}

/* One option a line, with the names it takes if it takes names: for the completion script. */
static void print_list(const struct parser *p, struct ms_buf *out)
{
    for (size_t g = 0; g < p->options->n_groups; g++) {
        for (size_t i = 0; i < p->options->groups[g].n; i++) {
            const struct ms_field *field = &p->options->groups[g].fields[i];
            ms_buf_printf(out, "--%s%s", field->name, field->names ? " " : "");
            add_names(field, " ", out);
            ms_buf_puts(out, "\n");
            if (field->alias)
                ms_buf_printf(out, "--%s\n", field->alias);
        }
    }
    ms_buf_puts(out, "--help\n");
}

enum ms_status ms_options_parse(const struct ms_options *options, int argc, char **argv, bool *done,
                                struct ms_buf *out, struct ms_error *err)
{
    struct parser p = {.options = options, .err = err};
    struct argp argp = {.parser = on_key};
    error_t error;
    MS_REQUIRE(options->n_arguments || !options->max_arguments);
    build(&p);
    argp.options = p.table;
    error = argp_parse(&argp, argc, argv, FLAGS_OF_ARGP, NULL, &p);
    MS_REQUIRE((error != 0) == (p.status != MS_OK));
    if (p.status == MS_OK && p.help)
        print_help(options, out);
    if (p.status == MS_OK && p.list)
        print_list(&p, out);
    *done = p.help || p.list;
    if (options->n_arguments)
        *options->n_arguments = p.n_arguments;
    free(p.table);
    return p.status;
}

enum ms_status ms_options_verb(const char *command, const char *const *verbs,
                               const char *const *arguments, size_t n_arguments, int *verb,
                               struct ms_error *err)
{
    struct ms_buf known = {0};
    enum ms_status status = MS_OK;
    int found = n_arguments ? ms_names_find(verbs, arguments[0]) : -1;
    for (int i = 0; verbs[i]; i++)
        ms_buf_printf(&known, "%s%s", i ? ", " : "", verbs[i]);
    if (!n_arguments)
        status = ms_fail(err, MS_E_USAGE, command, "say which: %s", known.text);
    else if (found < 0)
        status =
            ms_fail(err, MS_E_USAGE, command, "'%.60s' is not one of %s", arguments[0], known.text);
    else if (found == 0 && n_arguments != 1)
        status = ms_fail(err, MS_E_USAGE, command, "%s takes no argument", verbs[0]);
    else if (found > 0 && n_arguments != 2)
        status = ms_fail(err, MS_E_USAGE, command, "%s needs a name or a file", verbs[found]);
    else
        *verb = found;
    ms_buf_free(&known);
    return status;
}
