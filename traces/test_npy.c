/* test_npy.c - NPY reader and writer. Expected bytes are written out by hand from NumPy's format
 * description; where the reference folder is present, files written by NumPy itself are compared. */
#include "tests/mstest.h"

#include "base/file.h"
#include "traces/npy.h"

#include <unistd.h>

#define DICT_U2 "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }"
#define DATA_U2 "\x01\x00\x02\x01\xff\xff\x00\x80\x07\x00\x39\x30" /* 1 258 65535 32768 7 12345 */

/* A file of `version` around `dict` (a line feed is added) and `n` bytes of data. */
static struct ms_buf npy_file(int version, const char *dict, const char *data, size_t n)
{
    struct ms_buf file = {0};
    size_t length = strlen(dict) + 1;
    unsigned char head[12] = {0x93,
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              (unsigned char)version,
                              0,
                              (unsigned char)(length & 255),
                              (unsigned char)(length >> 8),
                              0,
                              0};
    ms_buf_add(&file, (const char *)head, version == 1 ? 10 : 12);
    ms_buf_puts(&file, dict);
    ms_buf_add(&file, "\n", 1);
    ms_buf_add(&file, data, n);
    return file;
}

/* Parses a copy of exactly that size, so that a sanitizer sees a read past the end; the data is gone after. */
static enum ms_status parse_exact(const struct ms_buf *file, size_t n, struct ms_npy *npy,
                                  struct ms_error *err)
{
    char *copy = malloc(n ? n : 1);
    enum ms_status status;
    memcpy(copy, file->text, n);
    status = ms_npy_parse("t.npy", copy, n, npy, err);
    free(copy);
    return status;
}

static void reads_all_versions(void **state)
{
    static const int64_t EXPECTED[] = {1, 258, 65535, 32768, 7, 12345};
    (void)state;
    for (int version = 1; version <= 3; version++) {
        struct ms_buf file = npy_file(version, DICT_U2, DATA_U2, 12);
        struct ms_error err = {0};
        struct ms_npy npy;
        int64_t middle[3];
        ms_assert_ok(ms_npy_parse("t.npy", file.text, file.length, &npy, &err), &err);
        assert_int_equal(npy.kind, 'u');
        assert_int_equal(npy.item_bytes, 2);
        assert_int_equal(npy.n_dims, 2);
        assert_int_equal(npy.shape[0], 2);
        assert_int_equal(npy.shape[1], 3);
        assert_int_equal(npy.n_items, 6);
        for (int64_t i = 0; i < 6; i++)
            assert_int_equal(ms_npy_at(&npy, i), EXPECTED[i]);
        ms_npy_read(&npy, 2, 3, middle);
        assert_memory_equal(middle, EXPECTED + 2, sizeof(middle));
        ms_npy_close(&npy);
        ms_npy_close(&npy);
        ms_buf_free(&file);
    }
}

static void reads_each_dtype_to_its_ends(void **state)
{
    static const struct {
        const char *descr;
        int bytes;
        int64_t low, high; /* of an all-zero-but-top-bit item, and of an all-ones-but-top-bit one */
    } CASES[] = {
        {"|u1", 1, 0x80, 0x7f},
        {"<u1", 1, 0x80, 0x7f},
        {"|i1", 1, -128, 127},
        {"<u2", 2, 0x8000, 0x7fff},
        {"<i2", 2, -32768, 32767},
        {"<u4", 4, 0x80000000, 0x7fffffff},
        {"<i4", 4, INT32_MIN, INT32_MAX},
        {"<i8", 8, INT64_MIN, INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t n = (size_t)CASES[i].bytes;
        char dict[128], data[16];
        struct ms_buf file;
        struct ms_error err = {0};
        struct ms_npy npy;
        snprintf(dict, sizeof(dict), "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"%s\"}",
                 CASES[i].descr);
        memset(data, 0, n);
        data[n - 1] = (char)0x80;
        memset(data + n, 0xff, n);
        data[2 * n - 1] = 0x7f;
        file = npy_file(1, dict, data, 2 * n);
        ms_assert_ok(ms_npy_parse("t.npy", file.text, file.length, &npy, &err), &err);
        assert_int_equal(npy.kind, CASES[i].descr[1]);
        assert_true(ms_npy_at(&npy, 0) == CASES[i].low);
        assert_true(ms_npy_at(&npy, 1) == CASES[i].high);
        ms_npy_close(&npy);
        ms_buf_free(&file);
    }
}

static void reads_scalars_and_empty_arrays(void **state)
{
    static const struct {
        const char *shape;
        size_t bytes;
        int dims;
    } CASES[] = {{"()", 4, 0}, {"(0,)", 0, 1}, {"(3, 0, 9223372036854775807)", 0, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char dict[128];
        struct ms_buf file;
        struct ms_error err = {0};
        struct ms_npy npy;
        snprintf(dict, sizeof(dict), "{'descr': '<i4', 'fortran_order': False, 'shape': %s}",
                 CASES[i].shape);
        file = npy_file(2, dict, "\x2a\x00\x00\x00", CASES[i].bytes);
        ms_assert_ok(ms_npy_parse("t.npy", file.text, file.length, &npy, &err), &err);
        assert_int_equal(npy.n_dims, CASES[i].dims);
        assert_int_equal(npy.n_items, CASES[i].bytes / 4);
        if (npy.n_items)
            assert_int_equal(ms_npy_at(&npy, 0), 42);
        ms_buf_free(&file);
    }
}

static void refuses_bad_headers(void **state)
{
#define ORDER_SHAPE "'fortran_order': False, 'shape': (6,)"
    static const struct {
        const char *dict, *says;
    } CASES[] = {
        {"{'descr': '<f4', " ORDER_SHAPE "}", "dtype '<f4' (floating point)"},
        {"{'descr': '<f2', " ORDER_SHAPE "}", "accepted are '|u1', '|i1', '<u2'"},
        {"{'descr': '<c8', " ORDER_SHAPE "}", "complex"},
        {"{'descr': '|b1', " ORDER_SHAPE "}", "bool"},
        {"{'descr': '|O', " ORDER_SHAPE "}", "dtype '|O' (object)"},
        {"{'descr': '<U7', " ORDER_SHAPE "}", "text"},
        {"{'descr': '|S7', " ORDER_SHAPE "}", "bytes"},
        {"{'descr': '|V7', " ORDER_SHAPE "}", "structured"},
        {"{'descr': '<M8[s]', " ORDER_SHAPE "}", "datetime"},
        {"{'descr': '<u8', " ORDER_SHAPE "}", "dtype '<u8' (unsigned integer of that size)"},
        {"{'descr': '>u2', " ORDER_SHAPE "}", "dtype '>u2' is big-endian"},
        {"{'descr': '>i8', " ORDER_SHAPE "}", "big-endian"},
        {"{'descr': 'u2', " ORDER_SHAPE "}", "dtype 'u2'"},
        {"{'descr': '|u2', " ORDER_SHAPE "}", "dtype '|u2'"},
        {"{'descr': '', " ORDER_SHAPE "}", "dtype '' is not known"},
        {"{'descr': '<q4', " ORDER_SHAPE "}", "dtype '<q4' is not known"},
        {"{'descr': [('a', '<u2')], " ORDER_SHAPE "}", "structured dtype"},
        {"{'descr': '<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', " ORDER_SHAPE "}", "too long"},
        {"{'descr': '<u\\x32', " ORDER_SHAPE "}", "not plain"},
        {"{'descr': '<u2", "not plain"},
        {"{'descr': 5, " ORDER_SHAPE "}", "a quoted string expected"},
        {"{'descr' '<u2', " ORDER_SHAPE "}", "':' expected"},
        {"{'descr': '<u2' " ORDER_SHAPE "}", "'}' expected or ','"},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (6,)}", "Fortran order"},
        {"{'descr': '<u2', 'fortran_order': 0, 'shape': (6,)}", "neither True nor False"},
        {"{'descr': '<u2', 'shape': (6,)}", "lacks key 'fortran_order'"},
        {"{}", "lacks key 'descr'"},
        {"{'descr': '<u2', 'descr': '<u2', " ORDER_SHAPE "}", "key 'descr' is there twice"},
        {"{'descr': '<u2', 'extra': 1, " ORDER_SHAPE "}", "unknown key 'extra'"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': 6}", "'(' expected"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (6)}", "not a tuple"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (-6,)}", "tuple of integers"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (06,)}", "tuple of integers"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (2 3)}", "tuple of integers"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (,)}", "tuple of integers"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (6L,)}", "tuple of integers"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}", "more than 8"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775808,)}",
         "overflows 63 bits"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3037000500, 3037000500)}",
         "product of 'shape' overflows"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4611686018427387904,)}",
         "size of the data overflows"},
        {"{'descr': '<u2', " ORDER_SHAPE "} x", "does not end in spaces and a line feed"},
        {"('descr', '<u2')", "'{' expected"},
        {"", "'{' expected"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct ms_buf file = npy_file(1, CASES[i].dict, DATA_U2, 12);
        struct ms_error err = {0};
        struct ms_npy npy = {.n_items = -77};
        assert_int_equal(parse_exact(&file, file.length, &npy, &err), MS_E_INPUT);
        ms_assert_says(&err, CASES[i].says);
        ms_assert_says(&err, "t.npy:byte ");
        assert_int_equal(npy.n_items, -77); /* written on success only */
        ms_buf_free(&file);
    }
}

static void says_where(void **state)
{
    struct ms_buf file =
        npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", DATA_U2, 12);
    struct ms_error err = {0};
    struct ms_npy npy;
    (void)state;
    assert_int_equal(parse_exact(&file, file.length, &npy, &err), MS_E_INPUT);
    assert_string_equal(err.where, "t.npy:byte 20"); /* 10 before the dict, 10 of "{'descr': " */
    ms_buf_free(&file);
}

static void refuses_magic_and_version(void **state)
{
    static const struct {
        size_t at;
        char byte;
        const char *says;
    } CASES[] = {{0, 'N', "does not begin with"}, {5, 'y', "does not begin with"},
                 {6, 0, "version 0.0"},           {6, 4, "version 4.0"},
                 {7, 1, "version 1.1"},           {8, 5, "ends inside a string"},
                 {9, 1, "the header should have"}};
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct ms_buf file = npy_file(1, DICT_U2, DATA_U2, 12);
        struct ms_error err = {0};
        struct ms_npy npy;
        file.text[CASES[i].at] = CASES[i].byte;
        assert_int_equal(parse_exact(&file, file.length, &npy, &err), MS_E_INPUT);
        ms_assert_says(&err, CASES[i].says);
        ms_buf_free(&file);
    }
}

static void refuses_every_truncation_and_trailing_bytes(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        struct ms_buf file = npy_file(version, DICT_U2, DATA_U2, 12);
        struct ms_error err = {0};
        struct ms_npy npy;
        for (size_t n = 0; n < file.length; n++)
            assert_int_equal(parse_exact(&file, n, &npy, &err), MS_E_INPUT);
        ms_assert_says(&err, "the shape needs 12 bytes, the file has 11");
        ms_buf_add(&file, "abc", 3);
        assert_int_equal(parse_exact(&file, file.length, &npy, &err), MS_E_INPUT);
        ms_assert_says(&err, "3 bytes too many: the shape needs 12, the file has 15");
        ms_buf_free(&file);
    }
}

static void writes_what_numpy_writes(void **state)
{
    static const uint16_t ITEMS[] = {1, 258, 65535};
    static const int64_t SHAPE[] = {3};
    /* numpy.save(f, numpy.array([1, 258, 65535], dtype='<u2')): padded to 128 bytes by 1.0 rules */
    static const char HEAD[] = "\x93NUMPY\x01\x00\x76\x00"
                               "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
    struct ms_buf file = {0};
    (void)state;
    ms_npy_write(ITEMS, 'u', 2, SHAPE, 1, &file);
    assert_int_equal(file.length, 128 + 6);
    assert_memory_equal(file.text, HEAD, sizeof(HEAD) - 1);
    for (size_t i = sizeof(HEAD) - 1; i < 127; i++)
        assert_int_equal(file.text[i], ' ');
    assert_int_equal(file.text[127], '\n');
    assert_memory_equal(file.text + 128, "\x01\x00\x02\x01\xff\xff", 6);
    ms_buf_free(&file);
}

static void reads_back_what_it_writes(void **state)
{
    static const int32_t ITEMS[] = {5, -1, INT32_MIN, 17, 0, 99, INT32_MAX, 3, 1, 2, -7, 8};
    static const int64_t SHAPE[] = {2, 3, 2};
    struct ms_buf file = {0};
    struct ms_error err = {0};
    struct ms_npy npy;
    (void)state;
    for (int dims = 0; dims <= 3; dims++) {
        int64_t n = 1;
        for (int i = 0; i < dims; i++)
            n *= SHAPE[i];
        ms_npy_write(ITEMS, 'i', 4, SHAPE, dims, &file);
        ms_assert_ok(ms_npy_parse("t.npy", file.text, file.length, &npy, &err), &err);
        assert_int_equal(npy.n_dims, dims);
        assert_int_equal(npy.n_items, n);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(ms_npy_at(&npy, i), ITEMS[i]);
        ms_buf_free(&file);
    }
}

static void opens_files(void **state)
{
    static const uint8_t ITEMS[] = {9, 200, 31};
    static const int64_t SHAPE[] = {1, 3};
    char path[] = "/tmp/ms_test_npy_XXXXXX";
    int fd = mkstemp(path);
    struct ms_buf file = {0};
    struct ms_error err = {0};
    struct ms_npy npy;
    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ms_npy_open(path, &npy, &err), MS_E_INPUT);
    ms_assert_says(&err, "is empty");
    ms_npy_write(ITEMS, 'u', 1, SHAPE, 2, &file);
    ms_assert_ok(ms_file_write(path, &file, &err), &err);
    ms_assert_ok(ms_npy_open(path, &npy, &err), &err);
    assert_int_equal(ms_npy_at(&npy, 1), 200);
    ms_npy_close(&npy);
    assert_null(npy.map);
    file.length--;
    ms_assert_ok(ms_file_write(path, &file, &err), &err);
    assert_int_equal(ms_npy_open(path, &npy, &err), MS_E_INPUT);
    ms_assert_says(&err, path);
    unlink(path);
    assert_int_equal(ms_npy_open(path, &npy, &err), MS_E_INPUT);
    ms_assert_says(&err, "cannot open");
    assert_int_equal(ms_npy_open("/tmp", &npy, &err), MS_E_INPUT);
    ms_assert_says(&err, "not a regular file");
    ms_buf_free(&file);
}

/* A file saved by NumPy, read and written again, is the same byte for byte. */
static void rewrites_a_numpy_file(void **state)
{
    char path[4200];
    struct ms_buf original = {0}, copy = {0};
    struct ms_error err = {0};
    struct ms_npy npy;
    (void)state;
    if (!ms_test_shared())
        skip();
    snprintf(path, sizeof(path), "%s/traces/deepseek-v2-lite-esft/law_ids.npy", ms_test_shared());
    ms_assert_ok(ms_npy_open(path, &npy, &err), &err);
    ms_assert_ok(ms_file_read(path, 1 << 24, &original, &err), &err);
    assert_int_equal(npy.n_items, 8327 * 26 * 6);
    ms_npy_write(npy.data, npy.kind, npy.item_bytes, npy.shape, npy.n_dims, &copy);
    assert_int_equal(copy.length, original.length);
    assert_memory_equal(copy.text, original.text, original.length);
    ms_npy_close(&npy);
    ms_buf_free(&original);
    ms_buf_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_versions),
        cmocka_unit_test(reads_each_dtype_to_its_ends),
        cmocka_unit_test(reads_scalars_and_empty_arrays),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(says_where),
        cmocka_unit_test(refuses_magic_and_version),
        cmocka_unit_test(refuses_every_truncation_and_trailing_bytes),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(reads_back_what_it_writes),
        cmocka_unit_test(opens_files),
        cmocka_unit_test(rewrites_a_numpy_file),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
