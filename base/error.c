#include "base/error.h"

#include <stdarg.h>
#include <stdlib.h>

int ms_status_exit(enum ms_status status)
{
    switch (status) {
    case MS_OK:
        return 0;
    case MS_E_NO:
        return 1;
    case MS_E_USAGE:
    case MS_E_INPUT:
    case MS_E_UNKNOWN:
        return 2;
    case MS_E_RUNTIME:
        return 3;
    }
    return 3;
}

/* Text from the user's files must not break the line or drive his terminal. */
static void print_only(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

enum ms_status ms_fail(struct ms_error *err, enum ms_status code, const char *where,
                       const char *fmt, ...)
{
    if (err) {
        va_list args;
        err->code = code;
        snprintf(err->where, sizeof(err->where), "%s", where ? where : "");
        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
        print_only(err->where);
        print_only(err->text);
    }
    return code;
}

void ms_error_print(FILE *to, const struct ms_error *err)
{
    fprintf(to, "moesim: error: %s%s%s\n", err->where, err->where[0] ? ": " : "", err->text);
}

void ms_require_failed(const char *file, int line, const char *text)
{
    fprintf(stderr, "moesim: internal error at %s:%d: %s does not hold\n", file, line, text);
    abort();
}
