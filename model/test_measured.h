/* test_measured.h - for the tests of the cost models: devices of built-in topologies, and a strict reader
 * of the published tables of measured kernel times (CSV without quotes, one header line). */
#ifndef MS_MODEL_TEST_MEASURED_H
#define MS_MODEL_TEST_MEASURED_H

#include "tests/mstest.h"

#include "base/mem.h"
#include "model/device.h"

enum { MS_TEST_COLUMNS = 24, MS_TEST_LINE = 1024 };

/* A row as text, with the header's names. */
struct ms_test_row {
    const char *names[MS_TEST_COLUMNS], *cells[MS_TEST_COLUMNS];
    int n_names, n_cells;
};

typedef void (*ms_test_row_fn)(const struct ms_test_row *row, void *context);

static inline int ms_test_split(char *line, const char *cells[MS_TEST_COLUMNS])
{
    int n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *cell; (cell = strsep(&line, ","));) {
        assert_true(n < MS_TEST_COLUMNS);
        cells[n++] = cell;
    }
    return n;
}

static inline const char *ms_test_text(const struct ms_test_row *row, const char *name)
{
    for (int i = 0; i < row->n_names; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->cells[i];
    fail_msg("no column '%s'", name);
    return NULL;
}

/* The cell as a number; anything but one number fails the test. */
static inline double ms_test_number(const struct ms_test_row *row, const char *name)
{
    const char *text = ms_test_text(row, name);
    char *end;
    double x = strtod(text, &end);
    assert_true(end != text && !*end && isfinite(x));
    return x;
}

/* Calls `each` for every row of FOLDER/measured/NAME. */
static inline void ms_test_read_csv(const char *folder, const char *name, ms_test_row_fn each,
                                    void *context)
{
    char path[4096], header[MS_TEST_LINE], line[MS_TEST_LINE];
    struct ms_test_row row = {.n_cells = 0};
    FILE *f;
    snprintf(path, sizeof(path), "%s/measured/%s", folder, name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(header, sizeof(header), f));
    row.n_names = ms_test_split(header, row.names);
    while (fgets(line, sizeof(line), f)) {
        row.n_cells = ms_test_split(line, row.cells);
        assert_int_equal(row.n_cells, row.n_names);
        each(&row, context);
    }
    fclose(f);
}

/* Errors |predicted / measured - 1|, collected. */
struct ms_test_errors {
    double *at;
    size_t n, capacity;
};

static inline void ms_test_error_add(struct ms_test_errors *errors, double predicted,
                                     double measured)
{
    ms_grow((void **)&errors->at, &errors->capacity, errors->n, sizeof(*errors->at));
    errors->at[errors->n++] = fabs(predicted / measured - 1);
}

static inline int ms_test_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints and checks median and 90th percentile of at least `n_least` errors; frees them. */
static inline void ms_test_errors_check(struct ms_test_errors *errors, const char *what,
                                        size_t n_least, double median_most, double p90_most)
{
    double median, p90;
    assert_true(errors->n >= n_least && errors->n > 0);
    MS_REQUIRE(errors->at);
    qsort(errors->at, errors->n, sizeof(*errors->at), ms_test_compare);
    median = errors->at[errors->n / 2];
    p90 = errors->at[errors->n * 9 / 10];
    print_message("%-44s n %6zu  median %5.1f %%  p90 %5.1f %%\n", what, errors->n, 100 * median,
                  100 * p90);
    if (median > median_most || p90 > p90_most)
        fail_msg("%s: median %.3f (at most %.3f), p90 %.3f (at most %.3f)", what, median,
                 median_most, p90, p90_most);
    free(errors->at);
    *errors = (struct ms_test_errors){0};
}

/* A built-in topology and its device; free both with free(). */
struct ms_test_system {
    struct ms_topology topo;
    struct ms_device device;
};

static inline struct ms_test_system *ms_test_system_new(const char *topology)
{
    struct ms_test_system *system = ms_calloc(1, sizeof(*system));
    struct ms_error err;
    ms_assert_ok(ms_topology_load(topology, &system->topo, &err), &err);
    ms_assert_ok(ms_device_load(&system->topo, &system->device, &err), &err);
    return system;
}

/* Built-in topologies by the system name of the tables. */
static const struct {
    const char *system, *topology;
} MS_TEST_SYSTEMS[] = {
    {"gb200", "gb200_nvl72"}, {"gb300", "gb300_nvl72"}, {"b200", "hgx_b200"},
    {"b300", "hgx_b300"},     {"h100", "hgx_h100"},     {"h200", "hgx_h200"},
};
enum { MS_TEST_N_SYSTEMS = sizeof(MS_TEST_SYSTEMS) / sizeof(MS_TEST_SYSTEMS[0]) };

#endif
