/* test_error.c - error.h: exit statuses, cutting, one line. */
#include "tests/mstest.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The table of exit statuses in the manual. */
static void test_exit_statuses(void **state)
{
    (void)state;
    assert_int_equal(ms_status_exit(MS_OK), 0);
    assert_int_equal(ms_status_exit(MS_E_NO), 1);
    assert_int_equal(ms_status_exit(MS_E_USAGE), 2);
    assert_int_equal(ms_status_exit(MS_E_INPUT), 2);
    assert_int_equal(ms_status_exit(MS_E_UNKNOWN), 2);
    assert_int_equal(ms_status_exit(MS_E_RUNTIME), 3);
}

static void test_fail_fills_and_returns(void **state)
{
    struct ms_error err = {0};
    (void)state;
    assert_int_equal(ms_fail(&err, MS_E_NO, "a.yaml:3:k", "%d of %s", 7, "eight"), MS_E_NO);
    assert_int_equal(err.code, MS_E_NO);
    assert_string_equal(err.where, "a.yaml:3:k");
    assert_string_equal(err.text, "7 of eight");
    assert_int_equal(ms_fail(&err, MS_E_USAGE, NULL, "x"), MS_E_USAGE);
    assert_string_equal(err.where, "");
    assert_int_equal(ms_fail(NULL, MS_E_INPUT, "w", "nobody listens"), MS_E_INPUT);
}

static void test_fail_cuts_long_texts(void **state)
{
    struct ms_error err = {0};
    char longest[2000];
    (void)state;
    memset(longest, 'y', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(ms_fail(&err, MS_E_INPUT, longest, "%s", longest), MS_E_INPUT);
    assert_int_equal(strlen(err.where), sizeof(err.where) - 1);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void print_to(char *out, size_t n, const struct ms_error *err)
{
    FILE *f = fmemopen(out, n, "w");
    assert_non_null(f);
    ms_error_print(f, err);
    fclose(f);
}

static void test_print_is_one_line(void **state)
{
    struct ms_error err = {0};
    char out[1024];
    (void)state;
    assert_int_equal(ms_fail(&err, MS_E_INPUT, "f\n1", "'%s'", "a\nb\x1b[2J\tc"), MS_E_INPUT);
    print_to(out, sizeof(out), &err);
    assert_string_equal(out, "moesim: error: f?1: 'a?b?[2J?c'\n");
    assert_int_equal(ms_fail(&err, MS_E_USAGE, NULL, "plain"), MS_E_USAGE);
    print_to(out, sizeof(out), &err);
    assert_string_equal(out, "moesim: error: plain\n");
}

/* A broken invariant ends the process by SIGABRT and names the condition. */
static void test_require_aborts_and_says_why(void **state)
{
    int fds[2], status;
    char out[512];
    ssize_t n;
    pid_t pid;
    (void)state;
    MS_REQUIRE(1 + 1 == 2);
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        MS_REQUIRE(1 + 1 == 3);
        _exit(0);
    }
    close(fds[1]);
    n = read(fds[0], out, sizeof(out) - 1);
    close(fds[0]);
    assert_true(n > 0);
    out[n] = '\0';
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(out, "1 + 1 == 3"));
    assert_non_null(strstr(out, "test_error.c"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_statuses),
        cmocka_unit_test(test_fail_fills_and_returns),
        cmocka_unit_test(test_fail_cuts_long_texts),
        cmocka_unit_test(test_print_is_one_line),
        cmocka_unit_test(test_require_aborts_and_says_why),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
