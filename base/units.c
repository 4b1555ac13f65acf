#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *suffix;
    double factor;
};

/* For each quantity: the suffixes, smallest first; the first is the one used for odd values. */
static const struct unit RATIO[] = {{"", 1}, {NULL, 0}};
static const struct unit SIZE[] = {
    {"B", 1},        {"KB", 1e3},     {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9}, {"TB", 1e12},
    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0}};
static const struct unit BANDWIDTH[] = {
    {"B/s", 1},        {"KB/s", 1e3},      {"MB/s", 1e6},     {"GB/s", 1e9},      {"TB/s", 1e12},
    {"Bps", 1},        {"KBps", 1e3},      {"MBps", 1e6},     {"GBps", 1e9},      {"TBps", 1e12},
    {"b/s", 0.125},    {"Mb/s", 0.125e6},  {"Gb/s", 0.125e9}, {"Tb/s", 0.125e12}, {"Mbps", 0.125e6},
    {"Gbps", 0.125e9}, {"Tbps", 0.125e12}, {"GiB/s", 0x1p30}, {NULL, 0}};
static const struct unit FLOPS[] = {{"FLOP/s", 1},     {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12},
                                    {"PFLOP/s", 1e15}, {"GFLOPS", 1e9},  {"TFLOPS", 1e12},
                                    {"PFLOPS", 1e15},  {NULL, 0}};
static const struct unit TIME[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                   {"ns", 1e-9}, {"h", 3600},  {NULL, 0}};
static const struct unit POWER[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
static const struct unit FREQUENCY[] = {{"Hz", 1}, {"MHz", 1e6}, {"GHz", 1e9}, {NULL, 0}};

static const struct {
    const char *name;
    const char *example;
    const struct unit *units;
} QUANTITIES[] = {
    [MS_QUANTITY_RATIO] = {"plain number", "0.85", RATIO},
    [MS_QUANTITY_SIZE] = {"size", "141 GiB", SIZE},
    [MS_QUANTITY_BANDWIDTH] = {"bandwidth", "450 GB/s", BANDWIDTH},
    [MS_QUANTITY_FLOPS] = {"compute rate", "2500 TFLOP/s", FLOPS},
    [MS_QUANTITY_TIME] = {"time", "3.3 us", TIME},
    [MS_QUANTITY_POWER] = {"power", "1400 W", POWER},
    [MS_QUANTITY_FREQUENCY] = {"frequency", "1965 MHz", FREQUENCY},
};

/* Decimal syntax only: strtod also takes hexadecimal, "inf" and "nan", which no config means. */
static size_t number_length(const char *text)
{
    size_t n = strspn(text, "+-0123456789.");
    if (n && (text[n] == 'e' || text[n] == 'E') &&
        (isdigit((unsigned char)text[n + 1]) ||
         (strchr("+-", text[n + 1]) && text[n + 1] && isdigit((unsigned char)text[n + 2]))))
        n += 2 + strspn(text + n + 2, "0123456789");
    return n;
}

enum ms_status ms_units_parse(const char *text, enum ms_quantity quantity, const char *where,
                              double *value, struct ms_error *err)
{
    const struct unit *u;
    char number[64];
    size_t n;
    double x;
    char *end;
    while (isspace((unsigned char)*text))
        text++;
    n = number_length(text);
    if (!n || n >= sizeof(number))
        goto bad;
    memcpy(number, text, n);
    number[n] = '\0';
    x = strtod(number, &end);
    if (*end || !isfinite(x))
        goto bad;
    if (x < 0 || signbit(x))
        return ms_fail(err, MS_E_INPUT, where, "'%.60s' is negative; a %s is at least 0", text,
                       QUANTITIES[quantity].name);
    text += n;
    while (*text == ' ')
        text++;
    for (u = QUANTITIES[quantity].units; u->suffix; u++) {
        if (strcmp(text, u->suffix) == 0) {
            if (!isfinite(x * u->factor))
                goto bad;
            *value = x * u->factor;
            return MS_OK;
        }
    }
    return ms_fail(err, MS_E_INPUT, where,
                   "'%.40s' after the number is not a unit of %s (as in '%s')", text,
                   QUANTITIES[quantity].name, QUANTITIES[quantity].example);
bad:
    return ms_fail(err, MS_E_INPUT, where, "'%.60s' is not a %s (as in '%s')", text,
                   QUANTITIES[quantity].name, QUANTITIES[quantity].example);
}

enum ms_status ms_units_parse_int(const char *text, const char *where, int64_t *value,
                                  struct ms_error *err)
{
    const char *digits = text + (*text == '-');
    long long x;
    if (!*digits || digits[strspn(digits, "0123456789")] != '\0')
        return ms_fail(err, MS_E_INPUT, where, "'%.60s' is not an integer", text);
    errno = 0;
    x = strtoll(text, NULL, 10);
    if (errno)
        return ms_fail(err, MS_E_INPUT, where, "'%.60s' is too large an integer", text);
    *value = (int64_t)x;
    return MS_OK;
}

/* Writes the shortest text that reads back as `value`; false if 17 digits do not suffice. */
static int reads_back(double value, double factor, char *number, size_t n)
{
    char plain[64];
    int digits = 0;
    do
        snprintf(number, n, "%.*g", ++digits, value / factor);
    while (digits < 17 && strtod(number, NULL) * factor != value);
    if (strtod(number, NULL) * factor != value)
        return 0;
    /* One digit of 900 is 9e+02; people write 900. */
    snprintf(plain, sizeof(plain), "%.15g", value / factor);
    if (strlen(plain) <= strlen(number) && strtod(plain, NULL) * factor == value)
        snprintf(number, n, "%s", plain);
    return 1;
}

void ms_units_format(double value, enum ms_quantity quantity, char *buf, size_t n)
{
    const struct unit *best = QUANTITIES[quantity].units, *u;
    char number[64], shortest[64];
    reads_back(value, best->factor, shortest, sizeof(shortest));
    for (u = best + 1; u->suffix; u++) {
        if (reads_back(value, u->factor, number, sizeof(number)) &&
            strlen(number) < strlen(shortest)) {
            best = u;
            memcpy(shortest, number, sizeof(number));
        }
    }
    snprintf(buf, n, "%s%s%s", shortest, best->suffix[0] ? " " : "", best->suffix);
}
