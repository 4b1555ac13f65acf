/* test_yaml.c - yaml.h: what is read, and that every other shape of file is refused with its line. */
#include "tests/mstest.h"

#include "base/mem.h"
#include "base/yaml.h"

#include <float.h>
#include <time.h>
#include <unistd.h>

struct sample {
    int64_t gpus;
    double bandwidth_Bps;
    char name[MS_TEXT_MAX];
    struct ms_figure hbm;
    int64_t rails;
};

static const struct ms_field INNER[] = {
    {.name = "rails",
     .alias = "planes",
     .kind = MS_FIELD_INT,
     .offset = offsetof(struct sample, rails)},
    {.name = "hbm",
     .kind = MS_FIELD_FIGURE,
     .quantity = MS_QUANTITY_BANDWIDTH,
     .offset = offsetof(struct sample, hbm)},
};

enum { GPUS, BANDWIDTH, NAME, FABRIC, N_FIELDS };
static const struct ms_field FIELDS[N_FIELDS] = {
    [GPUS] = {.name = "gpus",
              .alias = "world-size",
              .kind = MS_FIELD_INT,
              .offset = offsetof(struct sample, gpus),
              .required = true},
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = MS_FIELD_REAL,
                   .quantity = MS_QUANTITY_BANDWIDTH,
                   .offset = offsetof(struct sample, bandwidth_Bps)},
    [NAME] = {.name = "name", .kind = MS_FIELD_STRING, .offset = offsetof(struct sample, name)},
    [FABRIC] = {.name = "fabric", .kind = MS_FIELD_SECTION, .sub = INNER, .n_sub = 2},
};

static enum ms_status read_bytes(const char *text, size_t n, struct sample *s, bool *given,
                                 struct ms_error *err)
{
    struct ms_buf buf = {0};
    enum ms_status status;
    ms_buf_add(&buf, text, n);
    status = ms_yaml_read_text("t.yaml", &buf, FIELDS, N_FIELDS, s, given, err);
    ms_buf_free(&buf);
    return status;
}

/* Refused as MS_E_INPUT at `where`, with `part` in the text. */
static void refuse_bytes(const char *text, size_t n, const char *where, const char *part)
{
    struct sample s = {0};
    struct ms_error err = {0};
    if (read_bytes(text, n, &s, NULL, &err) != MS_E_INPUT)
        print_error("was not refused: %.100s\n", text);
    assert_int_equal(err.code, MS_E_INPUT);
    assert_string_equal(err.where, where);
    ms_assert_says(&err, part);
}

static void refuse(const char *text, const char *where, const char *part)
{
    refuse_bytes(text, strlen(text), where, part);
}

static void test_reads_a_file_of_settings(void **state)
{
    static const char text[] = "# a comment\n"
                               "world_size: 1024   # by its other name\n"
                               "bandwidth: \"450GBps\"\n"
                               "name: 'two words'\n"
                               "fabric:\n"
                               "  planes: 8\n"
                               "  hbm: {datasheet: 8 TB/s, measured: 7.1 TB/s, source: a page}\n";
    struct sample s = {.rails = 1};
    bool given[N_FIELDS] = {false};
    struct ms_error err = {0};
    (void)state;
    ms_assert_ok(read_bytes(text, strlen(text), &s, given, &err), &err);
    assert_int_equal(s.gpus, 1024);
    ms_assert_close(s.bandwidth_Bps, 450e9, DBL_EPSILON, 0);
    assert_string_equal(s.name, "two words");
    assert_int_equal(s.rails, 8);
    ms_assert_close(s.hbm.value, 7.1e12, DBL_EPSILON, 0);
    ms_assert_close(s.hbm.datasheet, 8e12, DBL_EPSILON, 0);
    assert_true(isnan(s.hbm.derived) && isnan(s.hbm.unverified));
    assert_string_equal(s.hbm.source, "a page");
    assert_true(given[GPUS] && given[BANDWIDTH] && given[NAME] && given[FABRIC]);
}

static void test_absent_keys_keep_their_value(void **state)
{
    struct sample s = {.bandwidth_Bps = 7.5, .name = "old", .rails = 3};
    bool given[N_FIELDS] = {false};
    struct ms_error err = {0};
    (void)state;
    ms_assert_ok(read_bytes("gpus: 5\n", 8, &s, given, &err), &err);
    assert_int_equal(s.gpus, 5);
    ms_assert_close(s.bandwidth_Bps, 7.5, 0, 0);
    assert_string_equal(s.name, "old");
    assert_int_equal(s.rails, 3);
    assert_true(given[GPUS]);
    assert_false(given[BANDWIDTH] || given[NAME] || given[FABRIC]);
}

/* measured, else derived, else datasheet, else unverified (field.h). */
static void test_figure_uses_the_most_trusted_value(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"gpus: 1\nfabric: {hbm: {unverified: 1 B/s, source: s}}", 1},
        {"gpus: 1\nfabric: {hbm: {unverified: 1 B/s, datasheet: 2 B/s, source: s}}", 2},
        {"gpus: 1\nfabric: {hbm: {datasheet: 2 B/s, derived: 3 B/s, source: s}}", 3},
        {"gpus: 1\nfabric: {hbm: {measured: 4 B/s, derived: 3 B/s, source: s}}", 4},
        {"gpus: 1\nfabric: {hbm: 5 B/s}", 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sample s = {0};
        struct ms_error err = {0};
        ms_assert_ok(read_bytes(cases[i].text, strlen(cases[i].text), &s, NULL, &err), &err);
        ms_assert_close(s.hbm.value, cases[i].value, 0, 0);
    }
    refuse("gpus: 1\nfabric:\n  hbm: {source: s}\n", "t.yaml:3:fabric.hbm", "no value");
    refuse("gpus: 1\nfabric:\n  hbm: {measured: 1 B/s}\n", "t.yaml:3:fabric.hbm",
           "'source' is missing");
    refuse("gpus: 1\nfabric:\n  hbm: {measured: 1 B, source: s}\n", "t.yaml:3:fabric.hbm.measured",
           "unit");
}

static void test_keys_duplicate_unknown_missing(void **state)
{
    (void)state;
    refuse("gpus: 1\nname: a\ngpus: 2\n", "t.yaml:3:gpus", "twice");
    refuse("gpus: 1\nworld-size: 2\n", "t.yaml:2:world-size", "twice");
    refuse("gpus: 1\nfabric:\n  rails: 1\n  rails: 2\n", "t.yaml:4:rails", "twice");
    refuse("gpus: 1\nfabric:\n  rails: 1\n  planes: 2\n", "t.yaml:4:fabric.planes", "twice");
    refuse("gpus: 1\n\nbandwith: 1 B/s\n", "t.yaml:3:bandwith", "did you mean 'bandwidth'");
    refuse("gpus: 1\nfabric:\n  rials: 1\n", "t.yaml:3:fabric.rials", "rails");
    refuse("gpus: 1\nzzzzzzzzz: 1\n", "t.yaml:2:zzzzzzzzz", "unknown key");
    refuse("gpus: 1\nrails: 1\n", "t.yaml:2:rails", "unknown key");
    refuse("# nothing\nname: a\n", "t.yaml:2", "'gpus' is missing");
    refuse("gpus: 1\n? [a, b]\n: 2\n", "t.yaml:2", "plain text");
    refuse("gpus: 1\n? {a: b}\n: 2\n", "t.yaml:2", "plain text");
}

static void test_values_of_the_wrong_kind(void **state)
{
    (void)state;
    refuse("gpus: 450GBps\n", "t.yaml:1:gpus", "450GBps");
    refuse("gpus: 1e3\n", "t.yaml:1:gpus", "integer");
    refuse("gpus:\n", "t.yaml:1:gpus", "integer");
    refuse("gpus: ~\n", "t.yaml:1:gpus", "integer");
    refuse("gpus: [1, 2]\n", "t.yaml:1:gpus", "single value");
    refuse("gpus: {a: 1}\n", "t.yaml:1:gpus", "single value");
    refuse("gpus: 1\nbandwidth: 450\n", "t.yaml:2:bandwidth", "unit");
    refuse("gpus: 1\nbandwidth: .nan\n", "t.yaml:2:bandwidth", ".nan");
    refuse("gpus: 1\nbandwidth: .inf\n", "t.yaml:2:bandwidth", ".inf");
    refuse("gpus: 1\nfabric: 7\n", "t.yaml:2:fabric", "mapping");
    refuse("gpus: 1\nfabric:\n- rails\n", "t.yaml:3:fabric", "single value");
}

static void test_roots_that_are_no_mapping(void **state)
{
    (void)state;
    refuse("", "t.yaml", "empty");
    refuse("\n\n", "t.yaml", "empty");
    refuse("# only a comment\n", "t.yaml", "empty");
    refuse("just text\n", "t.yaml:1", "mapping");
    refuse("\n- a\n- b\n", "t.yaml:2", "mapping");
    refuse("gpus: 1\n---\ngpus: 2\n", "t.yaml:2", "second document");
    refuse("gpus: 1\n...\n---\ngpus: 2\n", "t.yaml:3", "second document");
}

static void test_anchors_and_aliases(void **state)
{
    (void)state;
    refuse("gpus: &n 1\n", "t.yaml:1", "anchors");
    refuse("gpus: 1\nfabric: &f\n  rails: 1\n", "t.yaml:2", "anchors");
    refuse("&root\ngpus: 1\nfabric: *root\n", "t.yaml:1", "anchors");
    refuse("gpus: 1\nfabric: &f {rails: 1, hbm: *f}\n", "t.yaml:2", "anchors");
    refuse("gpus: 1\nname: *nobody\n", "t.yaml:2", "aliases");
    refuse("- &a [x, x]\n- &b [*a, *a]\n- [*b, *b]\n", "t.yaml:1", "anchors");
}

static void test_syntax_errors_have_a_line(void **state)
{
    (void)state;
    refuse("gpus: 1\nname: [a\n", "t.yaml:3", "not valid YAML");
    refuse("gpus: 1\nname: \"a\n", "t.yaml:3", "not valid YAML");
    refuse("gpus: 1\n\tname: a\n", "t.yaml:2", "not valid YAML");
    refuse("gpus: 1\nname: a: b\n", "t.yaml:2", "not valid YAML");
    refuse("gpus: 1\n---\n]\n", "t.yaml:2", "second document");
}

static void test_bytes_that_are_no_text(void **state)
{
    static const char nul[] = "gpus: 1\nname: a\0b\n";
    static const char escaped[] = "gpus: 1\nname: \"a\\0b\"\n";
    static const char escaped_key[] = "gpus: 1\n\"na\\0me\": b\n";
    struct sample s = {0};
    struct ms_error err = {0};
    (void)state;
    assert_int_equal(read_bytes(nul, sizeof(nul) - 1, &s, NULL, &err), MS_E_INPUT);
    ms_assert_says(&err, "not valid YAML");
    refuse(escaped, "t.yaml:2:name", "single value");
    refuse(escaped_key, "t.yaml:2", "plain text");
    assert_int_equal(read_bytes("gpus: \xff\xfe\n", 9, &s, NULL, &err), MS_E_INPUT);
    assert_int_equal(read_bytes("\xff\xfeg", 3, &s, NULL, &err), MS_E_INPUT);
}

/* 500,000 brackets or nested mappings: refused at the 33rd level, without deep recursion, at once. */
static void test_deep_nesting(void **state)
{
    static const char *const pieces[] = {"[", "{a: ", "- ", "? "};
    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct ms_buf text = {0};
        struct sample s = {0};
        struct ms_error err = {0};
        clock_t start = clock();
        ms_buf_puts(&text, "gpus: 1\nname:\n ");
        while (text.length < MS_YAML_MAX_BYTES / 2)
            ms_buf_puts(&text, pieces[i]);
        assert_int_equal(ms_yaml_read_text("t.yaml", &text, FIELDS, N_FIELDS, &s, NULL, &err),
                         MS_E_INPUT);
        ms_assert_says(&err, "nested too deeply");
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
        ms_buf_free(&text);
    }
}

static void write_padded(const char *path, size_t n_bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("gpus: 7\n#", f);
    for (size_t i = 9; i < n_bytes; i++)
        fputc('x', f);
    assert_int_equal(fclose(f), 0);
}

static void test_size_limit_of_files(void **state)
{
    char path[] = "/tmp/ms_yaml_XXXXXX";
    struct sample s = {0};
    struct ms_error err = {0};
    int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    write_padded(path, MS_YAML_MAX_BYTES);
    ms_assert_ok(ms_yaml_read(path, FIELDS, N_FIELDS, &s, NULL, &err), &err);
    assert_int_equal(s.gpus, 7);
    write_padded(path, MS_YAML_MAX_BYTES + 1);
    assert_int_equal(ms_yaml_read(path, FIELDS, N_FIELDS, &s, NULL, &err), MS_E_INPUT);
    ms_assert_says(&err, "1048576");
    unlink(path);
    assert_int_equal(ms_yaml_read(path, FIELDS, N_FIELDS, &s, NULL, &err), MS_E_INPUT);
    assert_string_equal(err.where, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_a_file_of_settings),
        cmocka_unit_test(test_absent_keys_keep_their_value),
        cmocka_unit_test(test_figure_uses_the_most_trusted_value),
        cmocka_unit_test(test_keys_duplicate_unknown_missing),
        cmocka_unit_test(test_values_of_the_wrong_kind),
        cmocka_unit_test(test_roots_that_are_no_mapping),
        cmocka_unit_test(test_anchors_and_aliases),
        cmocka_unit_test(test_syntax_errors_have_a_line),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_size_limit_of_files),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
