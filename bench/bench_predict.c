/* bench_predict - how long predictions take, in this process: median of several runs of each case.
 *
 * Usage: bench_predict [RUNS]. Times are of this machine now; compare cases of one run with each other, or two
 * builds run in turn, not numbers of different days. */
#include "base/mem.h"
#include "sim/predict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct bench_case {
    const char *name;
    const char *settings[6][2];
};

static const struct bench_case CASES[] = {
    {"estimate, 1,024 GPUs", {{"fidelity", "estimate"}}},
    {"step, 1,024 GPUs, balanced", {{"fidelity", "step"}}},
    {"estimate, 1,024 GPUs, dirichlet:0.5", {{"fidelity", "estimate"}, {"trace", "dirichlet:0.5"}}},
    {"step, 1,024 GPUs, dirichlet:0.5", {{"fidelity", "step"}, {"trace", "dirichlet:0.5"}}},
    {"step, 1,024 GPUs, racks of 72", {{"fidelity", "step"}, {"gpus-per-domain", "72"}}},
    {"step, 8,192 GPUs, balanced", {{"fidelity", "step"}, {"gpus", "8192"}}},
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_case(const struct bench_case *c, int runs, struct ms_prediction *out)
{
    struct ms_recipe recipe;
    bool given[MS_RECIPE_FIELDS_MAX] = {false};
    double *time_s = ms_calloc((size_t)runs, sizeof(*time_s));
    struct ms_error err;
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    memset(&recipe, 0, sizeof(recipe));
    ms_fields_defaults(fields, n, &recipe);
    for (int i = 0; i < 6 && c->settings[i][0]; i++) {
        const struct ms_field *f = ms_fields_find(fields, n, c->settings[i][0]);
        MS_REQUIRE(f && ms_field_parse(f, &recipe, c->settings[i][1], "", &err) == MS_OK);
        given[f - fields] = true;
    }
    for (int i = 0; i < runs; i++) {
        double start_s = now_s();
        if (ms_predict(&recipe, given, NULL, out, &err) != MS_OK) {
            ms_error_print(stderr, &err);
            exit(1);
        }
        time_s[i] = now_s() - start_s;
    }
    qsort(time_s, (size_t)runs, sizeof(*time_s), compare);
    printf("%-40s %8.3f s   %lld tasks, %lld replicas\n", c->name, time_s[runs / 2],
           (long long)out->n_tasks, (long long)out->n_replicas);
    free(time_s);
}

int main(int argc, char **argv)
{
    int64_t runs = 3;
    struct ms_prediction *out = ms_calloc(1, sizeof(*out));
    struct rusage usage;
    if (argc > 1 &&
        (ms_units_parse_int(argv[1], NULL, &runs, NULL) != MS_OK || runs < 1 || runs > 1000)) {
        fprintf(stderr, "usage: bench_predict [RUNS]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        run_case(&CASES[i], (int)runs, out);
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("largest simulation process: %ld MiB\n", usage.ru_maxrss / 1024);
    free(out);
    return 0;
}
