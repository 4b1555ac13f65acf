/* test_mem.c - mem.h: zeroing, growth, arena alignment, and the end of the process when memory is out. */
#include "tests/mstest.h"

#include "base/mem.h"

#include <sys/wait.h>
#include <unistd.h>

/* Under AddressSanitizer: a request that is too large returns NULL, as in the C library. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): the name that the sanitizer looks for */
const char *__asan_default_options(void);
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_calloc_and_strdup(void **state)
{
    unsigned char *p = ms_calloc(37, 3);
    char *copy = ms_strdup("expert");
    void *nothing = ms_calloc(0, 8);
    (void)state;
    for (size_t i = 0; i < (size_t)37 * 3; i++)
        assert_int_equal(p[i], 0);
    assert_string_equal(copy, "expert");
    assert_non_null(nothing);
    free(p);
    free(copy);
    free(nothing);
}

static void test_realloc_keeps_contents(void **state)
{
    int64_t *p = ms_realloc(NULL, 5, sizeof(*p));
    (void)state;
    for (int64_t i = 0; i < 5; i++)
        p[i] = i * 7;
    p = ms_realloc(p, 5000, sizeof(*p));
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(p[i], i * 7);
    p = ms_realloc(p, 0, sizeof(*p));
    assert_non_null(p);
    free(p);
}

static void test_grow_makes_the_index_valid(void **state)
{
    size_t capacity = 0, changes = 0;
    void *p = NULL;
    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        size_t before = capacity;
        ms_grow(&p, &capacity, i, sizeof(int));
        assert_true(capacity > i);
        changes += capacity != before;
        ((int *)p)[i] = (int)i; /* ASan sees it if the index is not there */
    }
    for (int i = 0; i < 5000; i++)
        assert_int_equal(((int *)p)[i], i);
    assert_true(changes < 20); /* amortised: doubling from 16 to 8192 takes 10 */
    free(p);
}

static void test_arena_is_zeroed_aligned_and_apart(void **state)
{
    static const size_t sizes[] = {1, 7, 16, 17, 100, 1023, 65536, 1 << 20, (1 << 20) + 1, 5 << 20};
    enum { N = sizeof(sizes) / sizeof(sizes[0]), N_PIECES = 3 * N };
    struct ms_arena *arena = ms_arena_new();
    unsigned char *at[N_PIECES];
    (void)state;
    for (size_t i = 0; i < N_PIECES; i++) {
        at[i] = ms_arena_alloc(arena, sizes[i % N], 1);
        assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < sizes[i % N]; j++)
            if (at[i][j] != 0)
                fail();
        memset(at[i], (int)i + 1, sizes[i % N]);
    }
    for (size_t i = 0; i < N_PIECES; i++)
        for (size_t j = 0; j < sizes[i % N]; j++)
            if (at[i][j] != i + 1)
                fail();
    assert_non_null(ms_arena_alloc(arena, 0, 8));
    ms_arena_free(arena);
    ms_arena_free(NULL);
}

static void out_in_calloc(void)
{
    free(ms_calloc(SIZE_MAX / 2, 3));
}

static void out_in_realloc(void)
{
    free(ms_realloc(NULL, SIZE_MAX / 2, 3));
}

static void out_in_grow(void)
{
    size_t capacity = 0;
    void *p = NULL;
    ms_grow(&p, &capacity, SIZE_MAX / 2 + 1, 1);
    free(p);
}

static void out_in_arena(void)
{
    ms_arena_free(ms_arena_alloc(ms_arena_new(), SIZE_MAX / 2, 3));
}

/* Exit status of a child that runs `body` with stderr going to `out`. */
static int run_child(void (*body)(void), char *out, size_t n)
{
    int fds[2], status;
    ssize_t got;
    pid_t pid;
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        alarm(10);
        body();
        _exit(0);
    }
    close(fds[1]);
    got = read(fds[0], out, n - 1);
    close(fds[0]);
    out[got > 0 ? got : 0] = '\0';
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Sizes that overflow size_t: one line and exit 3, never a small block or an endless loop. */
static void test_overflow_ends_with_status_3(void **state)
{
    static void (*const bodies[])(void) = {out_in_calloc, out_in_realloc, out_in_grow,
                                           out_in_arena};
    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        char out[512];
        int status = run_child(bodies[i], out, sizeof(out));
        assert_int_equal(status, 3);
        assert_non_null(strstr(out, "out of memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calloc_and_strdup),
        cmocka_unit_test(test_realloc_keeps_contents),
        cmocka_unit_test(test_grow_makes_the_index_valid),
        cmocka_unit_test(test_arena_is_zeroed_aligned_and_apart),
        cmocka_unit_test(test_overflow_ends_with_status_3),
    };
    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
