/* test_log.c - log.h: what each level lets through, and the form of a line. */
#include "tests/mstest.h"

#include "base/log.h"

#include <unistd.h>

/* Runs one message of every level at log level `level`; returns what came out on stderr. */
static void capture(enum ms_log_level level, char *out, size_t n)
{
    int saved = dup(STDERR_FILENO);
    FILE *f = tmpfile();
    size_t got;
    assert_true(saved >= 0 && f);
    fflush(stderr);
    dup2(fileno(f), STDERR_FILENO);
    ms_log_set_level(level);
    ms_log(MS_LOG_QUIET, "never");
    ms_log(MS_LOG_WARN, "w%d", 1);
    ms_log(MS_LOG_INFO, "i%d", 2);
    ms_log(MS_LOG_DEBUG, "d%d", 3);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    got = fread(out, 1, n - 1, f);
    out[got] = '\0';
    fclose(f);
}

static void test_levels(void **state)
{
    static const char *const expected[] = {
        [MS_LOG_QUIET] = "",
        [MS_LOG_WARN] = "moesim: warning: w1\n",
        [MS_LOG_INFO] = "moesim: warning: w1\nmoesim: info: i2\n",
        [MS_LOG_DEBUG] = "moesim: warning: w1\nmoesim: info: i2\nmoesim: debug: d3\n",
    };
    (void)state;
    for (int level = MS_LOG_QUIET; level <= MS_LOG_DEBUG; level++) {
        char out[256];
        capture((enum ms_log_level)level, out, sizeof(out));
        assert_string_equal(out, expected[level]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
