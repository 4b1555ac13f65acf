/* test_units.c - units.h: every suffix, everything that must be refused, and the way back. */
#include "tests/mstest.h"

#include "base/units.h"

#include <float.h>

static const enum ms_quantity ALL[] = {
    MS_QUANTITY_RATIO, MS_QUANTITY_SIZE,  MS_QUANTITY_BANDWIDTH, MS_QUANTITY_FLOPS,
    MS_QUANTITY_TIME,  MS_QUANTITY_POWER, MS_QUANTITY_FREQUENCY,
};
enum { N_ALL = sizeof(ALL) / sizeof(ALL[0]) };

/* Expected values by the definitions of the SI and IEC prefixes and 8 bits to the byte. */
static void test_parses_every_unit(void **state)
{
    static const struct {
        const char *text;
        enum ms_quantity quantity;
        double value;
    } cases[] = {
        {"0", MS_QUANTITY_RATIO, 0},
        {"0.385", MS_QUANTITY_RATIO, 0.385},
        {"1.7e-3", MS_QUANTITY_RATIO, 0.0017},
        {"2.5E+2", MS_QUANTITY_RATIO, 250},
        {".5", MS_QUANTITY_RATIO, 0.5},
        {"3.", MS_QUANTITY_RATIO, 3},
        {" 7", MS_QUANTITY_RATIO, 7},
        {"4097 B", MS_QUANTITY_SIZE, 4097},
        {"3KB", MS_QUANTITY_SIZE, 3000},
        {"3kB", MS_QUANTITY_SIZE, 3000},
        {"1.5 MB", MS_QUANTITY_SIZE, 1500000},
        {"288 GB", MS_QUANTITY_SIZE, 288e9},
        {"17 TB", MS_QUANTITY_SIZE, 17e12},
        {"5 KiB", MS_QUANTITY_SIZE, 5120},
        {"126 MiB", MS_QUANTITY_SIZE, 126.0 * 1048576},
        {"141 GiB", MS_QUANTITY_SIZE, 141.0 * 1073741824},
        {"3 TiB", MS_QUANTITY_SIZE, 3.0 * 1099511627776},
        {"450 GB/s", MS_QUANTITY_BANDWIDTH, 450e9},
        {"450GBps", MS_QUANTITY_BANDWIDTH, 450e9},
        {"450   GB/s", MS_QUANTITY_BANDWIDTH, 450e9},
        {"400 Gb/s", MS_QUANTITY_BANDWIDTH, 50e9},
        {"800Gbps", MS_QUANTITY_BANDWIDTH, 100e9},
        {"1.6 Tb/s", MS_QUANTITY_BANDWIDTH, 200e9},
        {"9 b/s", MS_QUANTITY_BANDWIDTH, 1.125},
        {"100 Mbps", MS_QUANTITY_BANDWIDTH, 12.5e6},
        {"7.7 TB/s", MS_QUANTITY_BANDWIDTH, 7.7e12},
        {"3 GiB/s", MS_QUANTITY_BANDWIDTH, 3221225472.0},
        {"7 B/s", MS_QUANTITY_BANDWIDTH, 7},
        {"2500 TFLOP/s", MS_QUANTITY_FLOPS, 2.5e15},
        {"15 PFLOPS", MS_QUANTITY_FLOPS, 15e15},
        {"67 GFLOP/s", MS_QUANTITY_FLOPS, 67e9},
        {"3.3 us", MS_QUANTITY_TIME, 3.3e-6},
        {"250ns", MS_QUANTITY_TIME, 250e-9},
        {"12 ms", MS_QUANTITY_TIME, 0.012},
        {"9 s", MS_QUANTITY_TIME, 9},
        {"1.5 h", MS_QUANTITY_TIME, 5400},
        {"1400 W", MS_QUANTITY_POWER, 1400},
        {"135 kW", MS_QUANTITY_POWER, 135000},
        {"1.2 MW", MS_QUANTITY_POWER, 1.2e6},
        {"1965 MHz", MS_QUANTITY_FREQUENCY, 1.965e9},
        {"2.1 GHz", MS_QUANTITY_FREQUENCY, 2.1e9},
        {"60 Hz", MS_QUANTITY_FREQUENCY, 60},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_error err = {0};
        double value = -1;
        ms_assert_ok(ms_units_parse(cases[i].text, cases[i].quantity, "t", &value, &err), &err);
        ms_assert_close(value, cases[i].value, 4 * DBL_EPSILON, 0);
    }
}

static void refuse(const char *text, enum ms_quantity quantity)
{
    struct ms_error err = {0};
    double value = 12345.5;
    enum ms_status status = ms_units_parse(text, quantity, "file:7:key", &value, &err);
    if (status != MS_E_INPUT)
        print_error("'%s' as quantity %d gave status %d\n", text, (int)quantity, (int)status);
    assert_int_equal(status, MS_E_INPUT);
    assert_int_equal(err.code, MS_E_INPUT);
    assert_string_equal(err.where, "file:7:key");
    assert_true(strlen(err.text) > 0);
    assert_true(value == 12345.5); /* outputs are written on success only */
}

/* No quantity takes any of these, with or without its own unit. */
static void test_refuses_what_is_no_number(void **state)
{
    static const char *const numbers[] = {
        "",      " ",     "nan",   "NaN", "inf", "INF",   "infinity", "-1",  "-0",  "-1e-300",
        "1e999", "0x10",  "0x1p4", "1e",  "1e+", "1..2",  "1.2.3",    "--1", "+-1", "1-2",
        "1,5",   "1_000", "e5",    ".",   "+",   "1e5e5", "NULL",     "~",   "1/2", "\xc2\xb5",
    };
    static const char *const units[] = {"", " B", " GB/s", " TFLOP/s", " us", " W", " MHz"};
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        for (size_t q = 0; q < N_ALL; q++) {
            char text[64];
            snprintf(text, sizeof(text), "%s%s", numbers[i], units[q]);
            refuse(text, ALL[q]);
        }
    }
}

static void test_refuses_overflow_through_the_unit(void **state)
{
    (void)state;
    refuse("1e305 GB", MS_QUANTITY_SIZE);
    refuse("1e300 TFLOP/s", MS_QUANTITY_FLOPS);
}

/* A number longer than the parser's own buffer must not be cut silently. */
static void test_refuses_endless_digits(void **state)
{
    char text[600];
    (void)state;
    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuse(text, MS_QUANTITY_RATIO);
    memcpy(text + 200, " GB/s", sizeof(" GB/s"));
    refuse(text, MS_QUANTITY_BANDWIDTH);
}

static void test_refuses_missing_foreign_and_misspelt_units(void **state)
{
    static const struct {
        const char *text;
        enum ms_quantity quantity;
    } cases[] = {
        {"450GBps", MS_QUANTITY_RATIO},
        {"450", MS_QUANTITY_BANDWIDTH},
        {"450 GB", MS_QUANTITY_BANDWIDTH},
        {"450 GB/s", MS_QUANTITY_SIZE},
        {"450 gb/s", MS_QUANTITY_BANDWIDTH},
        {"450 GB/S", MS_QUANTITY_BANDWIDTH},
        {"450 G", MS_QUANTITY_BANDWIDTH},
        {"450 GB/s ", MS_QUANTITY_BANDWIDTH},
        {"450 GB/s x", MS_QUANTITY_BANDWIDTH},
        {"450 GB/s\n", MS_QUANTITY_BANDWIDTH},
        {"141 Gib", MS_QUANTITY_SIZE},
        {"141 gib", MS_QUANTITY_SIZE},
        {"0", MS_QUANTITY_TIME},
        {"3.3", MS_QUANTITY_TIME},
        {"3.3 US", MS_QUANTITY_TIME},
        {"3.3 Ms", MS_QUANTITY_TIME},
        {"3 min", MS_QUANTITY_TIME},
        {"1 mW", MS_QUANTITY_POWER},
        {"1400", MS_QUANTITY_POWER},
        {"1400 w", MS_QUANTITY_POWER},
        {"2 TFLOP", MS_QUANTITY_FLOPS},
        {"2 tflops", MS_QUANTITY_FLOPS},
        {"2 W", MS_QUANTITY_FREQUENCY},
        {"2 mHz", MS_QUANTITY_FREQUENCY},
        {"85%", MS_QUANTITY_RATIO},
        {"0.5 x", MS_QUANTITY_RATIO},
        {"1 ", MS_QUANTITY_SIZE},
        {"4 BB", MS_QUANTITY_SIZE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        refuse(cases[i].text, cases[i].quantity);
}

static void test_error_names_value_and_an_example(void **state)
{
    struct ms_error err = {0};
    double value;
    (void)state;
    assert_int_equal(ms_units_parse("450 GB", MS_QUANTITY_BANDWIDTH, "a", &value, &err),
                     MS_E_INPUT);
    ms_assert_says(&err, "GB");
    ms_assert_says(&err, "450 GB/s");
    ms_assert_says(&err, "bandwidth");
    assert_int_equal(ms_units_parse("-3 us", MS_QUANTITY_TIME, "a", &value, &err), MS_E_INPUT);
    ms_assert_says(&err, "-3 us");
    ms_assert_says(&err, "negative");
}

static void test_int(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"1027", 1027},
        {"-5", -5},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    static const char *const bad[] = {
        "",
        "-",
        "+5",
        " 5",
        "5 ",
        "5\n",
        "1e3",
        "1.0",
        "0x10",
        "450GBps",
        "nan",
        "inf",
        "--5",
        "5-",
        "1,000",
        "1_000",
        "five",
        "0b1",
        "5L",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999999999999999999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct ms_error err = {0};
        int64_t value = 77;
        ms_assert_ok(ms_units_parse_int(good[i].text, "t", &value, &err), &err);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ms_error err = {0};
        int64_t value = 77;
        assert_int_equal(ms_units_parse_int(bad[i], "w", &value, &err), MS_E_INPUT);
        assert_string_equal(err.where, "w");
        assert_true(value == 77);
    }
}

/* Deterministic 64-bit noise (splitmix64, Vigna 2015). */
static uint64_t noise(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void check_round_trip(double value, enum ms_quantity quantity)
{
    struct ms_error err = {0};
    double back = -1;
    char text[64];
    ms_units_format(value, quantity, text, sizeof(text));
    ms_assert_ok(ms_units_parse(text, quantity, "t", &back, &err), &err);
    if (back != value)
        print_error("%.17g was written as '%s' and read as %.17g\n", value, text, back);
    assert_true(back == value);
}

/* Any bit pattern that is a finite, non-negative double, in every quantity. */
static void test_format_round_trips_any_double(void **state)
{
    uint64_t seed = 20240607;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        uint64_t bits = noise(&seed) >> 1;
        double value;
        memcpy(&value, &bits, sizeof(value));
        for (size_t q = 0; isfinite(value) && q < N_ALL; q++)
            check_round_trip(value, ALL[q]);
    }
    for (size_t q = 0; q < N_ALL; q++) {
        check_round_trip(0, ALL[q]);
        check_round_trip(DBL_MAX, ALL[q]);
        check_round_trip(DBL_MIN, ALL[q]);
        check_round_trip(DBL_TRUE_MIN, ALL[q]);
    }
}

/* And values as people have them: 1 to 6 digits times a power of ten. */
static void test_format_round_trips_everyday_values(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        double value =
            (double)(noise(&seed) % 999999 + 1) * pow(10, (double)(noise(&seed) % 30) - 12);
        for (size_t q = 0; q < N_ALL; q++)
            check_round_trip(value, ALL[q]);
    }
}

/* What a person writes comes back as he wrote it, not in another unit with the same value. */
static void test_format_is_what_a_person_writes(void **state)
{
    static const struct {
        const char *text;
        enum ms_quantity quantity;
    } cases[] = {
        {"900 GB/s", MS_QUANTITY_BANDWIDTH}, {"7.7 TB/s", MS_QUANTITY_BANDWIDTH},
        {"135 kW", MS_QUANTITY_POWER},       {"3.3 us", MS_QUANTITY_TIME},
        {"5 us", MS_QUANTITY_TIME},          {"0.85", MS_QUANTITY_RATIO},
        {"2.5 PFLOP/s", MS_QUANTITY_FLOPS},  {"288 GB", MS_QUANTITY_SIZE},
        {"141 GiB", MS_QUANTITY_SIZE},       {"1965 MHz", MS_QUANTITY_FREQUENCY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_error err = {0};
        double value = 0;
        char text[64];
        ms_assert_ok(ms_units_parse(cases[i].text, cases[i].quantity, "t", &value, &err), &err);
        ms_units_format(value, cases[i].quantity, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_every_unit),
        cmocka_unit_test(test_refuses_what_is_no_number),
        cmocka_unit_test(test_refuses_overflow_through_the_unit),
        cmocka_unit_test(test_refuses_endless_digits),
        cmocka_unit_test(test_refuses_missing_foreign_and_misspelt_units),
        cmocka_unit_test(test_error_names_value_and_an_example),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_format_round_trips_any_double),
        cmocka_unit_test(test_format_round_trips_everyday_values),
        cmocka_unit_test(test_format_is_what_a_person_writes),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
