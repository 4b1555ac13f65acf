/* units.h - numbers with units as text, both ways. The only place where prefixes and bits exist.
 *
 * K/M/G/T/P are powers of 1000, Ki/Mi/Gi/Ti powers of 1024; `b` is bit, `B` is byte; case matters.
 * Everything inside the program is SI: bytes, bytes/s, flop/s, seconds, watts, hertz.
 */
#ifndef MS_BASE_UNITS_H
#define MS_BASE_UNITS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum ms_quantity {
    MS_QUANTITY_RATIO,     /* plain number, no unit */
    MS_QUANTITY_SIZE,      /* "141 GiB", "4096 B" -> bytes */
    MS_QUANTITY_BANDWIDTH, /* "450 GB/s", "400 Gb/s", "450GBps" -> bytes/s */
    MS_QUANTITY_FLOPS,     /* "2500 TFLOP/s" -> flop/s */
    MS_QUANTITY_TIME,      /* "3.3 us" -> seconds */
    MS_QUANTITY_POWER,     /* "1400 W", "135 kW" -> watts */
    MS_QUANTITY_FREQUENCY, /* "1965 MHz" -> hertz */
};

/* Reads `text` as a `quantity`. The whole text must be consumed; NaN, infinities and negative values,
 * a missing or foreign unit are MS_E_INPUT with `where` in the error. `*value` [SI] on success only. */
MS_MUST_CHECK enum ms_status ms_units_parse(const char *text, enum ms_quantity quantity,
                                            const char *where, double *value, struct ms_error *err);

/* Strict decimal integer: optional '-', digits, nothing else; overflow is an error. */
MS_MUST_CHECK enum ms_status ms_units_parse_int(const char *text, const char *where, int64_t *value,
                                                struct ms_error *err);

/* Writes `value` so that ms_units_parse() reads the same double back, e.g. "900 GB/s". */
void ms_units_format(double value, enum ms_quantity quantity, char *buf, size_t n);

#endif
