/* options.h - command-line options made from field tables (base/field.h) at run time: parsing, --help and
 * the list that shell completion reads are loops over the same tables as recipe files and reports.
 *
 * Every field is a long option `--name VALUE` or `--name=VALUE`, its alias another spelling of it, and a bool
 * `--name` or `--name=false`. The last one of a repeated option counts. A unique beginning of a name is
 * taken for the name. Built on argp.
 */
#ifndef MS_CLI_OPTIONS_H
#define MS_CLI_OPTIONS_H

#include "base/field.h"

/* The options of one table, and what they set. */
struct ms_option_group {
    const char *title; /* heading in --help */
    const struct ms_field *fields;
    size_t n;
    void *object; /* that the fields describe; defaults already set */
    bool *given;  /* [n] set to true where the option was given; NULL: nobody asks */
};

struct ms_options {
    const char *command; /* "moesim predict" */
    const char *usage;   /* what may follow, in --help; a line for each form */
    const char *about;   /* what the command does, for --help */
    const struct ms_option_group *groups;
    size_t n_groups;
    const char **arguments; /* [max_arguments] receives the others, borrowed from argv */
    size_t max_arguments;   /* one more is an error */
    size_t *n_arguments;    /* receives how many there are; may be NULL if max_arguments is 0 */
};

/* Reads argv[1..argc-1] (argv may be permuted) into the groups' objects. With --help, or --list-options
 * for completion, the text is appended to `out`, `*done` is true and the rest of argv is not read.
 * MS_E_USAGE or MS_E_INPUT names the option, for an unknown one the nearest; the objects are then in an
 * unspecified state. */
MS_MUST_CHECK enum ms_status ms_options_parse(const struct ms_options *options, int argc,
                                              char **argv, bool *done, struct ms_buf *out,
                                              struct ms_error *err);

/* Which of the NULL-terminated `verbs` the first argument is: the first verb ("list") takes no argument
 * after it, the others one. MS_E_USAGE with the legal ones; `*verb` on success only. */
MS_MUST_CHECK enum ms_status ms_options_verb(const char *command, const char *const *verbs,
                                             const char *const *arguments, size_t n_arguments,
                                             int *verb, struct ms_error *err);

#endif
