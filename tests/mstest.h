/* mstest.h - what every unit test includes: CMocka with its four headers, and comparison of doubles
 * (CMocka 1.1.5's own float comparison casts to float and is banned). */
#ifndef MS_TESTS_MSTEST_H
#define MS_TESTS_MSTEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* |actual - expected| <= absolute + relative |expected|; prints both on failure. */
#define ms_assert_close(actual, expected, relative, absolute)                                      \
    ms_assert_close_at((actual), (expected), (relative), (absolute), #actual, __FILE__, __LINE__)

static inline void ms_assert_close_at(double actual, double expected, double relative,
                                      double absolute, const char *text, const char *file, int line)
{
    if (fabs(actual - expected) <= absolute + relative * fabs(expected))
        return;
    print_error("%s is %.17g, expected %.17g (relative %g, absolute %g)\n", text, actual, expected,
                relative, absolute);
    _fail(file, line);
}

/* The status is MS_OK, or the error is printed. */
#define ms_assert_ok(status, err)                                                                  \
    do {                                                                                           \
        if ((status) != MS_OK) {                                                                   \
            ms_error_print(stderr, (err));                                                         \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

/* The error text or place contains `part`. */
#define ms_assert_says(err, part)                                                                  \
    do {                                                                                           \
        if (!strstr((err)->text, (part)) && !strstr((err)->where, (part))) {                       \
            print_error("'%s: %s' does not say '%s'\n", (err)->where, (err)->text, (part));        \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

/* The folder of reference data beside the checkout, or NULL (tests then skip, saying so). */
static inline const char *ms_test_shared(void)
{
    static char path[4096];
    FILE *f;
    snprintf(path, sizeof(path), "%s/../shared/README.md", MS_SOURCE_DATADIR);
    f = fopen(path, "r");
    if (!f)
        return NULL;
    fclose(f);
    path[strlen(path) - strlen("/README.md")] = '\0';
    return path;
}

#endif
