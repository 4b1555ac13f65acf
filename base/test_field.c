/* test_field.c - field.h: each kind there and back, limits, and what must be refused. */
#include "tests/mstest.h"

#include "base/field.h"

#include <float.h>

struct sample {
    bool flag;
    int64_t count;
    double bandwidth_Bps;
    double ratio;
    int colour;
    uint32_t scopes;
    char name[MS_TEXT_MAX];
    struct ms_int_list list;
    struct ms_figure hbm;
};

static const char *const COLOURS[] = {"red", "green", "blue", NULL};
static const char *const SCOPES[] = {"moe_act", "layernorm", "mla_up_proj", NULL};

static const struct ms_field INNER[] = {
    {.name = "ratio",
     .kind = MS_FIELD_REAL,
     .offset = offsetof(struct sample, ratio),
     .min = 0.25,
     .max = 0.75,
     .default_text = "0.5"},
};

enum { FLAG, COUNT, BANDWIDTH, COLOUR, SCOPE, NAME, LIST, HBM, SECTION, N_FIELDS };
static const struct ms_field FIELDS[N_FIELDS] = {
    [FLAG] = {.name = "flag",
              .kind = MS_FIELD_BOOL,
              .offset = offsetof(struct sample, flag),
              .default_text = "true"},
    [COUNT] = {.name = "micro-batch-size",
               .alias = "mbs",
               .kind = MS_FIELD_INT,
               .offset = offsetof(struct sample, count),
               .min = 1,
               .max = 4096,
               .default_text = "3"},
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = MS_FIELD_REAL,
                   .quantity = MS_QUANTITY_BANDWIDTH,
                   .offset = offsetof(struct sample, bandwidth_Bps),
                   .default_text = "400 Gb/s"},
    [COLOUR] = {.name = "colour",
                .kind = MS_FIELD_ENUM,
                .names = COLOURS,
                .offset = offsetof(struct sample, colour),
                .default_text = "green"},
    [SCOPE] = {.name = "recompute",
               .kind = MS_FIELD_FLAGS,
               .names = SCOPES,
               .offset = offsetof(struct sample, scopes)},
    [NAME] = {.name = "name",
              .kind = MS_FIELD_STRING,
              .offset = offsetof(struct sample, name),
              .default_text = "deep"},
    [LIST] = {.name = "scaling",
              .kind = MS_FIELD_INT_LIST,
              .offset = offsetof(struct sample, list),
              .min = 1,
              .max = 1000000},
    [HBM] = {.name = "hbm",
             .kind = MS_FIELD_FIGURE,
             .quantity = MS_QUANTITY_BANDWIDTH,
             .offset = offsetof(struct sample, hbm),
             .min = 1,
             .max = 1e15},
    [SECTION] = {.name = "inner", .kind = MS_FIELD_SECTION, .sub = INNER, .n_sub = 1},
};

static void accept(int field, struct sample *s, const char *text)
{
    struct ms_error err = {0};
    ms_assert_ok(ms_field_parse(&FIELDS[field], s, text, "w", &err), &err);
}

/* Refused with place and a text that contains `part`; the object is as it was. */
static void refuse(int field, const char *text, const char *part)
{
    struct sample s, before;
    struct ms_error err = {0};
    memset(&s, 0x2a, sizeof(s));
    memcpy(&before, &s, sizeof(s));
    if (ms_field_parse(&FIELDS[field], &s, text, "f.yaml:3:k", &err) != MS_E_INPUT)
        print_error("%s '%s' was not refused\n", FIELDS[field].name, text);
    assert_int_equal(err.code, MS_E_INPUT);
    assert_string_equal(err.where, "f.yaml:3:k");
    ms_assert_says(&err, part);
    assert_memory_equal(&s, &before, sizeof(s));
}

static void test_bool(void **state)
{
    struct sample s = {0};
    (void)state;
    accept(FLAG, &s, "true");
    assert_true(s.flag);
    accept(FLAG, &s, "no");
    assert_false(s.flag);
    accept(FLAG, &s, "yes");
    assert_true(s.flag);
    accept(FLAG, &s, "false");
    assert_false(s.flag);
    refuse(FLAG, "1", "true or false");
    refuse(FLAG, "True", "true or false");
    refuse(FLAG, "", "true or false");
}

static void test_int_and_its_limits(void **state)
{
    struct sample s = {0};
    (void)state;
    accept(COUNT, &s, "1");
    assert_int_equal(s.count, 1);
    accept(COUNT, &s, "4096");
    assert_int_equal(s.count, 4096);
    refuse(COUNT, "0", "nearest legal value 1");
    refuse(COUNT, "-7", "nearest legal value 1");
    refuse(COUNT, "4097", "nearest legal value 4096");
    refuse(COUNT, "450GBps", "450GBps");
    refuse(COUNT, "2.0", "not an integer");
    refuse(COUNT, "0x10", "not an integer");
    refuse(COUNT, "1e3", "not an integer");
    refuse(COUNT, "", "not an integer");
    refuse(COUNT, "99999999999999999999", "too large");
}

static void test_real_has_its_unit(void **state)
{
    struct sample s = {0};
    (void)state;
    accept(BANDWIDTH, &s, "450GBps");
    ms_assert_close(s.bandwidth_Bps, 450e9, DBL_EPSILON, 0);
    refuse(BANDWIDTH, "450", "unit");
    refuse(BANDWIDTH, "450 GB", "unit");
    refuse(BANDWIDTH, "-1 GB/s", "negative");
    refuse(BANDWIDTH, "1e999 GB/s", "1e999");
    refuse(BANDWIDTH, "nan GB/s", "nan");
}

static void test_real_limits_belong_to_it(void **state)
{
    struct sample s = {0};
    struct ms_error err = {0};
    (void)state;
    ms_assert_ok(ms_field_parse(&INNER[0], &s, "0.75", "w", &err), &err);
    ms_assert_close(s.ratio, 0.75, 0, 0);
    assert_int_equal(ms_field_parse(&INNER[0], &s, "0.7501", "w", &err), MS_E_INPUT);
    ms_assert_says(&err, "0.25 to 0.75");
    ms_assert_says(&err, "nearest legal value 0.75");
    assert_int_equal(ms_field_parse(&INNER[0], &s, "0", "w", &err), MS_E_INPUT);
    ms_assert_says(&err, "nearest legal value 0.25");
    ms_assert_close(s.ratio, 0.75, 0, 0);
}

static void test_enum_lists_the_legal_names(void **state)
{
    struct sample s = {0};
    (void)state;
    accept(COLOUR, &s, "blue");
    assert_int_equal(s.colour, 2);
    refuse(COLOUR, "Blue", "red, green, blue");
    refuse(COLOUR, "", "red, green, blue");
    refuse(COLOUR, "2", "red, green, blue");
    refuse(COLOUR, "blue ", "red, green, blue");
}

static void test_flags(void **state)
{
    struct sample s = {.scopes = 5};
    (void)state;
    accept(SCOPE, &s, "none");
    assert_int_equal(s.scopes, 0);
    accept(SCOPE, &s, "mla_up_proj,moe_act");
    assert_int_equal(s.scopes, 1 << 2 | 1 << 0);
    accept(SCOPE, &s, "layernorm,layernorm");
    assert_int_equal(s.scopes, 1 << 1);
    refuse(SCOPE, "moe_act,", "moe_act, layernorm, mla_up_proj");
    refuse(SCOPE, ",moe_act", "not one of");
    refuse(SCOPE, "moe_act,,layernorm", "not one of");
    refuse(SCOPE, "moe_act,none", "none");
    refuse(SCOPE, "moe_act, layernorm", "not one of");
    refuse(SCOPE, "", "not one of");
}

static void test_string_limit(void **state)
{
    struct sample s = {0};
    char text[MS_TEXT_MAX + 1];
    (void)state;
    memset(text, 'q', sizeof(text));
    text[MS_TEXT_MAX - 1] = '\0';
    accept(NAME, &s, text);
    assert_string_equal(s.name, text);
    accept(NAME, &s, "");
    assert_string_equal(s.name, "");
    text[MS_TEXT_MAX - 1] = 'q';
    text[MS_TEXT_MAX] = '\0';
    refuse(NAME, text, "255");
}

static void test_int_list(void **state)
{
    struct sample s = {0};
    char text[1024];
    (void)state;
    accept(LIST, &s, "64,128,1000000");
    assert_int_equal(s.list.n, 3);
    assert_int_equal(s.list.at[1], 128);
    assert_int_equal(s.list.at[2], 1000000);
    accept(LIST, &s, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
    assert_int_equal(s.list.n, MS_LIST_MAX);
    assert_int_equal(s.list.at[15], 16);
    accept(LIST, &s, "");
    assert_int_equal(s.list.n, 0);
    refuse(LIST, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "16");
    refuse(LIST, "64,", "not an integer");
    refuse(LIST, "64,,128", "not an integer");
    refuse(LIST, "64,0", "nearest legal value 1");
    refuse(LIST, "64 128", "not an integer");
    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refuse(LIST, text, "too long");
}

/* A bare value for a figure counts as unverified: nobody said where it is from. */
static void test_figure_from_one_value(void **state)
{
    struct sample s = {0};
    (void)state;
    accept(HBM, &s, "7.7 TB/s");
    ms_assert_close(s.hbm.value, 7.7e12, DBL_EPSILON, 0);
    ms_assert_close(s.hbm.unverified, 7.7e12, DBL_EPSILON, 0);
    assert_true(isnan(s.hbm.measured) && isnan(s.hbm.derived) && isnan(s.hbm.datasheet));
    assert_true(strlen(s.hbm.source) > 0);
    refuse(HBM, "7.7 TB", "unit");
    refuse(HBM, "0 B/s", "nearest legal value 1");
}

static void test_section_takes_no_value(void **state)
{
    (void)state;
    refuse(SECTION, "3", "mapping");
}

/* format(parse(text)) == text for canonical texts, and an empty list or flag set is readable again. */
static void test_format_is_the_inverse(void **state)
{
    static const struct {
        int field;
        const char *text;
    } cases[] = {
        {FLAG, "true"},    {FLAG, "false"},         {COUNT, "17"},
        {COLOUR, "blue"},  {SCOPE, "none"},         {SCOPE, "moe_act,mla_up_proj"},
        {NAME, "a, b: c"}, {LIST, "64,128,7"},      {LIST, "5"},
        {LIST, ""},        {BANDWIDTH, "900 GB/s"}, {HBM, "7.7 TB/s"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample s = {0};
        struct ms_buf out = {0};
        ms_buf_puts(&out, "=");
        accept(cases[i].field, &s, cases[i].text);
        ms_field_format(&FIELDS[cases[i].field], &s, &out);
        assert_string_equal(out.text + 1, cases[i].text);
        ms_buf_free(&out);
    }
}

static void test_defaults_reach_into_sections(void **state)
{
    struct sample s = {0};
    (void)state;
    ms_fields_defaults(FIELDS, N_FIELDS, &s);
    assert_true(s.flag);
    assert_int_equal(s.count, 3);
    ms_assert_close(s.bandwidth_Bps, 50e9, 0, 0);
    assert_int_equal(s.colour, 1);
    assert_string_equal(s.name, "deep");
    ms_assert_close(s.ratio, 0.5, 0, 0);
    assert_int_equal(s.scopes, 0);
    assert_int_equal(s.list.n, 0);
}

static void test_find_by_name_and_alias(void **state)
{
    (void)state;
    assert_ptr_equal(ms_fields_find(FIELDS, N_FIELDS, "micro-batch-size"), &FIELDS[COUNT]);
    assert_ptr_equal(ms_fields_find(FIELDS, N_FIELDS, "micro_batch-size"), &FIELDS[COUNT]);
    assert_ptr_equal(ms_fields_find(FIELDS, N_FIELDS, "mbs"), &FIELDS[COUNT]);
    assert_null(ms_fields_find(FIELDS, N_FIELDS, "micro-batch-siz"));
    assert_null(ms_fields_find(FIELDS, N_FIELDS, "micro-batch-sizes"));
    assert_null(ms_fields_find(FIELDS, N_FIELDS, "Mbs"));
    assert_null(ms_fields_find(FIELDS, N_FIELDS, ""));
    assert_null(ms_fields_find(FIELDS, 0, "flag"));
}

static void test_nearest(void **state)
{
    char endless[4096];
    (void)state;
    assert_string_equal(ms_fields_nearest(FIELDS, N_FIELDS, "bandwith"), "bandwidth");
    assert_string_equal(ms_fields_nearest(FIELDS, N_FIELDS, "color"), "colour");
    assert_string_equal(ms_fields_nearest(FIELDS, N_FIELDS, "micro-bach-sizes"),
                        "micro-batch-size");
    assert_null(ms_fields_nearest(FIELDS, N_FIELDS, "zzzzzz"));
    assert_null(ms_fields_nearest(FIELDS, N_FIELDS, ""));
    memset(endless, 'f', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_null(ms_fields_nearest(FIELDS, N_FIELDS, endless));
}

static void test_names_find(void **state)
{
    (void)state;
    assert_int_equal(ms_names_find(COLOURS, "red"), 0);
    assert_int_equal(ms_names_find(COLOURS, "blue"), 2);
    assert_int_equal(ms_names_find(COLOURS, "blu"), -1);
    assert_int_equal(ms_names_find(COLOURS, ""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bool),
        cmocka_unit_test(test_int_and_its_limits),
        cmocka_unit_test(test_real_has_its_unit),
        cmocka_unit_test(test_real_limits_belong_to_it),
        cmocka_unit_test(test_enum_lists_the_legal_names),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_string_limit),
        cmocka_unit_test(test_int_list),
        cmocka_unit_test(test_figure_from_one_value),
        cmocka_unit_test(test_section_takes_no_value),
        cmocka_unit_test(test_format_is_the_inverse),
        cmocka_unit_test(test_defaults_reach_into_sections),
        cmocka_unit_test(test_find_by_name_and_alias),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_names_find),
    };
    return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
