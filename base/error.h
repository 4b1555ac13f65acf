/* error.h - statuses and the one error object that travels up to main.
 *
 * A function that can fail returns `enum ms_status` and takes a `struct ms_error *err` last. Whoever
 * first decides that something is an error fills `err` through ms_fail() and logs nothing; callers
 * pass the status on; main prints the error once. Outputs are written only on success.
 */
#ifndef MS_BASE_ERROR_H
#define MS_BASE_ERROR_H

#include <stdio.h>

#define MS_MUST_CHECK                   __attribute__((warn_unused_result))
#define MS_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))

/* What kind of failure it is; ms_status_exit() maps it to the exit status of cli.md. */
enum ms_status {
    MS_OK = 0,
    MS_E_USAGE,   /* option or argument is wrong: exit 2 */
    MS_E_INPUT,   /* a file the user gave is wrong: exit 2 */
    MS_E_NO,      /* the answer is no (does not fit, check failed): exit 1 */
    MS_E_UNKNOWN, /* a model has no answer for this input: exit 2 */
    MS_E_RUNTIME, /* I/O, memory, internal: exit 3 */
};

struct ms_error {
    enum ms_status code;
    char where[256]; /* "file:line:key", "--option", or "" */
    char text[512];  /* what, value, limit, nearest legal value */
};

/* Exit status of the process for `status` (0, 1, 2 or 3). */
int ms_status_exit(enum ms_status status);

/* Fills `err` (may be NULL) and returns `code`. `where` may be NULL. `code` is never MS_OK.
 * Longer texts are cut; control characters become '?', so that an error is one line. */
MS_MUST_CHECK MS_PRINTF(4, 5) enum ms_status
    ms_fail(struct ms_error *err, enum ms_status code, const char *where, const char *fmt, ...);

/* Prints "moesim: error: where: text" on one line. */
void ms_error_print(FILE *to, const struct ms_error *err);

/* Always on: a broken invariant is a bug in moesim, not in the input. Prints and aborts. */
#define MS_REQUIRE(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ms_require_failed(__FILE__, __LINE__, #condition);                                     \
    } while (0)
__attribute__((noreturn)) void ms_require_failed(const char *file, int line, const char *text);

#endif
