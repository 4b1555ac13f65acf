/* log.h - one voice on stderr: warnings and notes; never results. The level is the only global. */
#ifndef MS_BASE_LOG_H
#define MS_BASE_LOG_H

#include "base/error.h"

enum ms_log_level { MS_LOG_QUIET, MS_LOG_WARN, MS_LOG_INFO, MS_LOG_DEBUG };

void ms_log_set_level(enum ms_log_level level);
MS_PRINTF(2, 3) void ms_log(enum ms_log_level level, const char *fmt, ...);

#endif
