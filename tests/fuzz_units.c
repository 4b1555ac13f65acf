/* fuzz_units.c - libFuzzer target: any text as a number with unit. The first byte picks the quantity. What is
 * accepted is finite and >= 0, and survives being printed and read again.
 */
#include "base/buf.h"
#include "base/units.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_quantity(const char *text, enum ms_quantity quantity)
{
    struct ms_error err = {0};
    double value = -1, again = -1;
    char printed[128];
    if (ms_units_parse(text, quantity, "fuzz", &value, &err) != MS_OK) {
        MS_REQUIRE(err.code == MS_E_INPUT && err.text[0] && value == -1);
        return;
    }
    MS_REQUIRE(isfinite(value) && value >= 0);
    ms_units_format(value, quantity, printed, sizeof(printed));
    MS_REQUIRE(ms_units_parse(printed, quantity, "fuzz", &again, &err) == MS_OK);
    MS_REQUIRE(again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { N_QUANTITIES = MS_QUANTITY_FREQUENCY + 1 };
    struct ms_buf text = {0};
    int64_t value = 0, again = 0;
    char printed[32];
    if (size == 0)
        return 0;
    ms_buf_add(&text, (const char *)data + 1, size - 1);
    check_quantity(text.text, (enum ms_quantity)(data[0] % N_QUANTITIES));
    if (ms_units_parse_int(text.text, "fuzz", &value, NULL) == MS_OK) {
        snprintf(printed, sizeof(printed), "%lld", (long long)value);
        MS_REQUIRE(ms_units_parse_int(printed, "fuzz", &again, NULL) == MS_OK && again == value);
    }
    ms_buf_free(&text);
    return 0;
}
