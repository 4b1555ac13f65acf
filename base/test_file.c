/* test_file.c - file.h: limits of reading; a write happens whole or not at all and leaves no rubbish. */
#include "tests/mstest.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A fresh folder for each test, with a file "old" that holds "before". */
struct place {
    char dir[64];
    char old[96];
};

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    static struct place place;
    snprintf(place.dir, sizeof(place.dir), "/tmp/ms_file_XXXXXX");
    if (!mkdtemp(place.dir))
        return -1;
    snprintf(place.old, sizeof(place.old), "%s/old", place.dir);
    put(place.old, "before");
    *state = &place;
    return 0;
}

static int n_entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int teardown(void **state)
{
    const struct place *place = *state;
    DIR *d = opendir(place->dir);
    const struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", place->dir, e->d_name);
        if (unlink(path) != 0)
            rmdir(path);
    }
    if (d)
        closedir(d);
    return rmdir(place->dir);
}

static void assert_holds(const char *path, const char *text)
{
    struct ms_buf got = {0};
    struct ms_error err = {0};
    ms_assert_ok(ms_file_read(path, 1 << 20, &got, &err), &err);
    assert_string_equal(got.text, text);
    ms_buf_free(&got);
}

/* A write of "after" to `path` fails as the user's mistake and changes nothing in the folder. */
static void refuse_write(const struct place *place, const char *path)
{
    struct ms_buf text = {0};
    struct ms_error err = {0};
    int before = n_entries(place->dir);
    ms_buf_puts(&text, "after");
    assert_int_equal(ms_file_write(path, &text, &err), MS_E_USAGE);
    assert_memory_equal(err.where, path, strnlen(path, sizeof(err.where) - 1));
    assert_true(strlen(err.text) > 0);
    assert_int_equal(n_entries(place->dir), before);
    assert_holds(place->old, "before");
    ms_buf_free(&text);
}

static void test_read_limits(void **state)
{
    const struct place *place = *state;
    struct ms_buf got = {0};
    struct ms_error err = {0};
    ms_assert_ok(ms_file_read(place->old, 6, &got, &err), &err);
    assert_string_equal(got.text, "before");
    ms_buf_free(&got);
    assert_int_equal(ms_file_read(place->old, 5, &got, &err), MS_E_INPUT);
    assert_string_equal(err.where, place->old);
    ms_assert_says(&err, "5 bytes");
    assert_null(got.text);
}

static void test_read_of_what_is_no_file(void **state)
{
    const struct place *place = *state;
    char path[128];
    struct ms_buf got = {0};
    struct ms_error err = {0};
    assert_int_equal(ms_file_read(place->dir, 100, &got, &err), MS_E_INPUT);
    assert_int_equal(ms_file_read("/dev/zero", 100, &got, &err), MS_E_INPUT);
    snprintf(path, sizeof(path), "%s/absent", place->dir);
    assert_int_equal(ms_file_read(path, 100, &got, &err), MS_E_INPUT);
    ms_assert_says(&err, "No such file");
    snprintf(path, sizeof(path), "%s/pipe", place->dir);
    assert_int_equal(mkfifo(path, 0600), 0); /* a pipe without a writer must not hang the reader */
    assert_int_equal(ms_file_read(path, 100, &got, &err), MS_E_INPUT);
    assert_null(got.text);
}

static void test_read_empty_and_binary(void **state)
{
    const struct place *place = *state;
    char path[128];
    struct ms_buf got = {0}, text = {0};
    struct ms_error err = {0};
    snprintf(path, sizeof(path), "%s/empty", place->dir);
    put(path, "");
    ms_assert_ok(ms_file_read(path, 0, &got, &err), &err);
    assert_int_equal(got.length, 0);
    assert_string_equal(got.text, "");
    ms_buf_free(&got);
    for (int i = 0; i < 300000; i++)
        ms_buf_add(&text, (const char[]){(char)(i * 31 % 256)}, 1);
    ms_assert_ok(ms_file_write(path, &text, &err), &err);
    ms_assert_ok(ms_file_read(path, 300000, &got, &err), &err);
    assert_int_equal(got.length, text.length);
    assert_memory_equal(got.text, text.text, text.length);
    ms_buf_free(&got);
    ms_buf_free(&text);
}

static void test_write_replaces_and_keeps_the_mode(void **state)
{
    const struct place *place = *state;
    struct ms_buf text = {0};
    struct ms_error err = {0};
    struct stat st;
    assert_int_equal(chmod(place->old, 0640), 0);
    ms_buf_puts(&text, "after");
    ms_assert_ok(ms_file_write(place->old, &text, &err), &err);
    assert_holds(place->old, "after");
    assert_int_equal(stat(place->old, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(n_entries(place->dir), 1);
    ms_buf_free(&text);
}

static void test_new_files_obey_the_umask(void **state)
{
    const struct place *place = *state;
    struct ms_buf text = {0};
    struct ms_error err = {0};
    struct stat st;
    char path[128];
    mode_t before = umask(027);
    snprintf(path, sizeof(path), "%s/new", place->dir);
    ms_assert_ok(ms_file_write(path, &text, &err), &err); /* an empty buffer is an empty file */
    assert_int_equal(umask(before), 027);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(st.st_size, 0);
}

static void test_write_through_a_symbolic_link(void **state)
{
    const struct place *place = *state;
    struct ms_buf text = {0};
    struct ms_error err = {0};
    struct stat st;
    char path[128];
    snprintf(path, sizeof(path), "%s/link", place->dir);
    assert_int_equal(symlink("old", path), 0);
    ms_buf_puts(&text, "after");
    ms_assert_ok(ms_file_write(path, &text, &err), &err);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_holds(place->old, "after");
    ms_buf_free(&text);
}

static void test_write_to_impossible_places(void **state)
{
    const struct place *place = *state;
    char path[6000];
    refuse_write(place, place->dir); /* a folder */
    refuse_write(place, "/dev/full");
    snprintf(path, sizeof(path), "%s/absent/x", place->dir);
    refuse_write(place, path);
    snprintf(path, sizeof(path), "%s/old/x", place->dir);
    refuse_write(place, path);
    refuse_write(place, "");
    refuse_write(place, "/proc/moesim");
    snprintf(path, sizeof(path), "%s/%0300d", place->dir, 0);
    refuse_write(place, path);
    memset(path, 'y', 5000);
    path[5000] = '\0';
    {
        struct ms_buf text = {0};
        struct ms_error err = {0};
        assert_int_equal(ms_file_write(path, &text, &err), MS_E_USAGE);
    }
}

/* Root may write anywhere: these two need another user, so the body runs in a child that became one. */
static void test_write_without_permission(void **state)
{
    const struct place *place = *state;
    struct ms_buf text = {0};
    struct ms_error err = {0};
    char path[128];
    int status;
    pid_t pid;
    ms_buf_puts(&text, "after");
    snprintf(path, sizeof(path), "%s/new", place->dir);
    assert_int_equal(chmod(place->dir, 0555), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(9);
        if (ms_file_write(path, &text, &err) != MS_E_USAGE || access(path, F_OK) == 0)
            _exit(1);
        _exit(ms_file_write(place->old, &text, &err) == MS_E_USAGE ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(place->dir, 0755), 0);
    ms_buf_free(&text);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 9)
        skip(); /* a root that cannot give up its rights */
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_holds(place->old, "before");
    assert_int_equal(n_entries(place->dir), 1);
}

/* The disk gets full halfway: played by a file size limit in a child. */
static void test_write_that_breaks_off(void **state)
{
    const struct place *place = *state;
    int status;
    pid_t pid;
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit limit = {1000, 1000};
        struct ms_buf text = {0};
        struct ms_error err = {0};
        signal(SIGXFSZ, SIG_IGN);
        for (int i = 0; i < 1000; i++)
            ms_buf_puts(&text, "after");
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(9);
        status = ms_file_write(place->old, &text, &err) == MS_E_USAGE && strlen(err.text) > 0;
        ms_buf_free(&text);
        _exit(status ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_holds(place->old, "before");
    assert_int_equal(n_entries(place->dir), 1);
}

/* "-" is stdout; there a failure is one at run time. */
static void test_stdout(void **state)
{
    const struct place *place = *state;
    struct ms_buf text = {0};
    struct ms_error err = {0};
    int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
    int file = open(place->old, O_WRONLY | O_TRUNC);
    enum ms_status to_file, to_full;
    assert_true(saved >= 0 && full >= 0 && file >= 0);
    ms_buf_puts(&text, "result\n");
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    to_file = ms_file_write("-", &text, &err);
    dup2(full, STDOUT_FILENO);
    to_full = ms_file_write("-", &text, &err);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(full);
    close(file);
    assert_int_equal(to_file, MS_OK);
    assert_holds(place->old, "result\n");
    assert_int_equal(to_full, MS_E_RUNTIME);
    assert_string_equal(err.where, "stdout");
    ms_buf_free(&text);
}

static void test_exists(void **state)
{
    const struct place *place = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/absent", place->dir);
    assert_true(ms_file_exists(place->old));
    assert_false(ms_file_exists(path));
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_read_limits),
        WITH_PLACE(test_read_of_what_is_no_file),
        WITH_PLACE(test_read_empty_and_binary),
        WITH_PLACE(test_write_replaces_and_keeps_the_mode),
        WITH_PLACE(test_new_files_obey_the_umask),
        WITH_PLACE(test_write_through_a_symbolic_link),
        WITH_PLACE(test_write_to_impossible_places),
        WITH_PLACE(test_write_without_permission),
        WITH_PLACE(test_write_that_breaks_off),
        WITH_PLACE(test_stdout),
        WITH_PLACE(test_exists),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
