/* test_data.c - data.h: order of the places searched, sorted lists, and what counts as a path. */
#include "tests/mstest.h"

#include "base/data.h"

#include <sys/stat.h>
#include <unistd.h>

struct place {
    char root[64];
    char folder[96];
};

static int make(const struct place *place, const char *name)
{
    char path[256];
    FILE *f;
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    f = fopen(path, "w");
    return f ? fclose(f) : -1;
}

/* $MOESIM_DATADIR is a fresh folder with topologies/{b,a,c.x}.yaml and two files that are none. */
static int setup(void **state)
{
    static const char *const names[] = {"b.yaml", "a.yaml", "c.x.yaml", ".yaml", "notes.txt"};
    static struct place place;
    snprintf(place.root, sizeof(place.root), "/tmp/ms_data_XXXXXX");
    if (!mkdtemp(place.root))
        return -1;
    snprintf(place.folder, sizeof(place.folder), "%s/topologies", place.root);
    if (mkdir(place.folder, 0755) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (make(&place, names[i]) != 0)
            return -1;
    *state = &place;
    return setenv("MOESIM_DATADIR", place.root, 1);
}

static int teardown(void **state)
{
    static const char *const names[] = {"b.yaml", "a.yaml", "c.x.yaml", ".yaml", "notes.txt"};
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", place->folder, names[i]);
        unlink(path);
    }
    unsetenv("MOESIM_DATADIR");
    return rmdir(place->folder) | rmdir(place->root);
}

static void test_environment_comes_first(void **state)
{
    const struct place *place = *state;
    char path[4096], expected[256];
    struct ms_error err = {0};
    snprintf(expected, sizeof(expected), "%s/a.yaml", place->folder);
    ms_assert_ok(ms_data_path("topologies", "a", ".yaml", path, sizeof(path), &err), &err);
    assert_string_equal(path, expected);
}

/* What is not under $MOESIM_DATADIR is still found in the source tree. */
static void test_source_tree_comes_next(void **state)
{
    char path[4096];
    struct ms_error err = {0};
    (void)state;
    ms_assert_ok(ms_data_path("base", "data", ".h", path, sizeof(path), &err), &err);
    assert_string_equal(path, MS_SOURCE_DATADIR "/base/data.h");
    unsetenv("MOESIM_DATADIR");
    ms_assert_ok(ms_data_path("base", "data", ".c", path, sizeof(path), &err), &err);
    assert_string_equal(path, MS_SOURCE_DATADIR "/base/data.c");
}

static void test_names_that_are_not_there(void **state)
{
    static const char *const names[] = {"nonesuch", "..", "../topologies/a", "a.yaml", "/a", "A"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[4096];
        struct ms_error err = {0};
        assert_int_equal(ms_data_path("topologies", names[i], ".yaml", path, sizeof(path), &err),
                         MS_E_INPUT);
        ms_assert_says(&err, names[i]);
        ms_assert_says(&err, "topologies");
    }
}

/* A path that does not fit is an error, never a cut path. */
static void test_short_output(void **state)
{
    char path[8];
    struct ms_error err = {0};
    (void)state;
    assert_int_equal(ms_data_path("topologies", "a", ".yaml", path, sizeof(path), &err),
                     MS_E_INPUT);
}

static void test_list_is_sorted_and_clean(void **state)
{
    char **names = ms_data_list("topologies", ".yaml");
    (void)state;
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_string_equal(names[2], "c.x");
    assert_null(names[3]);
    ms_data_list_free(names);
    names = ms_data_list("nonesuch", ".yaml");
    assert_non_null(names);
    assert_null(names[0]);
    ms_data_list_free(names);
    ms_data_list_free(NULL);
}

static void test_what_is_a_path(void **state)
{
    (void)state;
    assert_true(ms_data_is_path("./a", ".yaml"));
    assert_true(ms_data_is_path("x/y", ".yaml"));
    assert_true(ms_data_is_path("a.yaml", ".yaml"));
    assert_false(ms_data_is_path("gb300_nvl72", ".yaml"));
    assert_false(ms_data_is_path(".yaml", ".yaml"));
    assert_false(ms_data_is_path("yaml", ".yaml"));
    assert_false(ms_data_is_path("", ".yaml"));
    assert_false(ms_data_is_path("a.json", ".yaml"));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_environment_comes_first),  WITH_PLACE(test_source_tree_comes_next),
        WITH_PLACE(test_names_that_are_not_there), WITH_PLACE(test_short_output),
        WITH_PLACE(test_list_is_sorted_and_clean), cmocka_unit_test(test_what_is_a_path),
    };
    return cmocka_run_group_tests_name("data", tests, NULL, NULL);
}
