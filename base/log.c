#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum ms_log_level log_level = MS_LOG_WARN;

void ms_log_set_level(enum ms_log_level level)
{
    log_level = level;
}

void ms_log(enum ms_log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"", "warning", "info", "debug"};
    va_list args;
    if (level > log_level || level == MS_LOG_QUIET)
        return;
    fprintf(stderr, "moesim: %s: ", names[level]);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}
