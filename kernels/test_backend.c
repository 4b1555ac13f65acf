/* test_backend.c - backend.h: every backend answers, and what the build promises is what it says.
 * The build passes MS_TEST_CUDA, MS_TEST_MPI, MS_TEST_OPENBLAS as 0 or 1. */
#include "tests/mstest.h"

#include "kernels/backend.h"

static const bool BUILT[MS_BACKEND_COUNT] = {MS_TEST_CUDA, MS_TEST_MPI, MS_TEST_OPENBLAS};
static const char *const NAMES[MS_BACKEND_COUNT] = {"cuda", "mpi", "openblas"};

static void test_names_and_what_was_built(void **state)
{
    struct ms_backend all[MS_BACKEND_COUNT];
    (void)state;
    ms_backend_all(all);
    for (int i = 0; i < MS_BACKEND_COUNT; i++) {
        assert_string_equal(all[i].name, NAMES[i]);
        assert_int_equal(all[i].compiled_in, BUILT[i]);
    }
}

/* A backend that is not there says how to get it; one that is says its version. */
static void test_details(void **state)
{
    struct ms_backend all[MS_BACKEND_COUNT];
    (void)state;
    ms_backend_all(all);
    for (int i = 0; i < MS_BACKEND_COUNT; i++) {
        char hint[64];
        snprintf(hint, sizeof(hint), "-D%s=enabled", NAMES[i]);
        assert_true(strlen(all[i].detail) > 0);
        assert_int_equal(strstr(all[i].detail, hint) != NULL, !BUILT[i]);
        assert_null(strchr(all[i].detail, '\n'));
        assert_true(all[i].compiled_in || !all[i].usable);
        if (BUILT[i])
            assert_true(strpbrk(all[i].detail, "123456789") != NULL);
    }
}

/* A GPU is usable exactly where the driver has made a device for it. */
static void test_cuda_agrees_with_the_driver(void **state)
{
    struct ms_backend cuda;
    FILE *driver = fopen("/proc/driver/nvidia/version", "r");
    (void)state;
    ms_backend_cuda(&cuda);
    if (driver)
        fclose(driver);
    if (!BUILT[0])
        skip();
    if (!driver)
        assert_false(cuda.usable);
    assert_int_equal(cuda.usable, strstr(cuda.detail, " 0 GPUs") == NULL);
}

static void test_print_has_one_line_each(void **state)
{
    struct ms_buf out = {0};
    const char *line;
    (void)state;
    ms_backend_print(&out);
    line = out.text;
    for (int i = 0; i < MS_BACKEND_COUNT; i++) {
        struct ms_backend all[MS_BACKEND_COUNT];
        ms_backend_all(all);
        assert_int_equal(strncmp(line, NAMES[i], strlen(NAMES[i])), 0);
        assert_int_equal(strncmp(line + 10, all[i].detail, strlen(all[i].detail)), 0);
        line = strchr(line, '\n');
        assert_non_null(line);
        line++;
    }
    assert_int_equal(*line, '\0');
    ms_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_what_was_built),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_cuda_agrees_with_the_driver),
        cmocka_unit_test(test_print_has_one_line_each),
    };
    return cmocka_run_group_tests_name("backend", tests, NULL, NULL);
}
