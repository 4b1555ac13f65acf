/* npy.c - NumPy's .npy files. The header is a Python dict literal; only the plain form that NumPy writes is
 * read (three keys in any order, strings, True/False, a tuple of integers), by a cursor that knows its
 * byte offset for messages. Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
 * Read ms_npy_parse() first.
 */
#include "traces/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[6] = "\x93NUMPY";

enum {
    PREAMBLE_BYTES = 8, /* magic and version */
    HEADER_ALIGN = 64,  /* data starts at a multiple of it in written files */
    DESCR_MAX = 32,
};

static const struct dtype {
    const char *descr; /* without the byte order */
    char kind;
    int item_bytes;
} DTYPES[] = {{"u1", 'u', 1}, {"i1", 'i', 1}, {"u2", 'u', 2}, {"i2", 'i', 2},
              {"u4", 'u', 4}, {"i4", 'i', 4}, {"i8", 'i', 8}};

/* What the refused dtypes are called, by their kind letter. */
static const struct {
    char letter;
    const char *name;
} REFUSED[] = {{'f', "floating point"},
               {'c', "complex"},
               {'b', "bool"},
               {'O', "object"},
               {'S', "bytes"},
               {'a', "bytes"},
               {'U', "text"},
               {'V', "structured"},
               {'M', "datetime"},
               {'m', "timedelta"},
               {'u', "unsigned integer of that size"},
               {'i', "integer of that size"}};

#define ACCEPTED "accepted are '|u1', '|i1', '<u2', '<i2', '<u4', '<i4' and '<i8'"

struct cursor {
    const char *name;
    const char *bytes;
    size_t at, end;
};

struct header {
    bool fortran;
    struct ms_npy npy;
};

MS_MUST_CHECK MS_PRINTF(4, 5) static enum ms_status
    fail_at(const struct cursor *c, size_t at, struct ms_error *err, const char *fmt, ...)
{
    char where[256], text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(where, sizeof(where), "%.220s:byte %zu", c->name, at);
    return ms_fail(err, MS_E_INPUT, where, "%s", text);
}

static void skip_spaces(struct cursor *c)
{
    while (c->at < c->end && c->bytes[c->at] == ' ')
        c->at++;
}

/* Consumes `ch` after spaces, if it is next. */
static bool eat(struct cursor *c, char ch)
{
    skip_spaces(c);
    if (c->at >= c->end || c->bytes[c->at] != ch)
        return false;
    c->at++;
    return true;
}

static enum ms_status expect(struct cursor *c, char ch, const char *what, struct ms_error *err)
{
    if (eat(c, ch))
        return MS_OK;
    return fail_at(c, c->at, err, "the header is no plain dict: '%c' expected %s", ch, what);
}

/* A quoted string without escapes, at most DESCR_MAX - 1 printable characters. */
static enum ms_status read_string(struct cursor *c, char out[DESCR_MAX], struct ms_error *err)
{
    size_t n = 0;
    char quote;
    skip_spaces(c);
    if (c->at >= c->end || (c->bytes[c->at] != '\'' && c->bytes[c->at] != '"'))
        return fail_at(c, c->at, err, "the header is no plain dict: a quoted string expected");
    quote = c->bytes[c->at++];
    while (c->at < c->end && c->bytes[c->at] != quote) {
        char ch = c->bytes[c->at];
        if (ch < ' ' || ch > '~' || ch == '\\' || n + 1 >= DESCR_MAX)
            return fail_at(c, c->at, err, "the header has a string that is too long or not plain");
        out[n++] = ch;
        c->at++;
    }
    if (c->at >= c->end)
        return fail_at(c, c->at, err, "the header ends inside a string");
    c->at++;
    out[n] = '\0';
    return MS_OK;
}

static enum ms_status refuse_dtype(const struct cursor *c, size_t at, const char *descr,
                                   struct ms_error *err)
{
    char letter = descr[0] && strchr("<>|=", descr[0]) ? descr[1] : descr[0];
    if (descr[0] == '>')
        return fail_at(c, at, err, "dtype '%s' is big-endian; " ACCEPTED, descr);
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        if (letter && REFUSED[i].letter == letter)
            return fail_at(c, at, err, "dtype '%s' (%s) is not read; " ACCEPTED, descr,
                           REFUSED[i].name);
    }
    return fail_at(c, at, err, "dtype '%s' is not known; " ACCEPTED, descr);
}

static enum ms_status read_descr(struct cursor *c, struct header *h, struct ms_error *err)
{
    char descr[DESCR_MAX];
    enum ms_status status;
    size_t at;
    skip_spaces(c);
    at = c->at;
    if (c->at < c->end && c->bytes[c->at] == '[')
        return fail_at(c, at, err, "a structured dtype is not read; " ACCEPTED);
    if ((status = read_string(c, descr, err)) != MS_OK)
        return status;
    for (size_t i = 0; i < sizeof(DTYPES) / sizeof(DTYPES[0]); i++) {
        const struct dtype *d = &DTYPES[i];
        bool order_ok = descr[0] == '<' || (descr[0] == '|' && d->item_bytes == 1);
        if (order_ok && strcmp(descr + 1, d->descr) == 0) {
            h->npy.kind = d->kind;
            h->npy.item_bytes = d->item_bytes;
            return MS_OK;
        }
    }
    return refuse_dtype(c, at, descr, err);
}

static enum ms_status read_order(struct cursor *c, struct header *h, struct ms_error *err)
{
    static const char *const WORDS[] = {"False", "True"};
    skip_spaces(c);
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(WORDS[i]);
        if (c->end - c->at >= n && memcmp(c->bytes + c->at, WORDS[i], n) == 0) {
            c->at += n;
            h->fortran = i == 1;
            return MS_OK;
        }
    }
    return fail_at(c, c->at, err, "'fortran_order' is neither True nor False");
}

/* One non-negative decimal as Python writes it: no sign, no leading zero. */
static enum ms_status read_dim(struct cursor *c, int64_t *out, struct ms_error *err)
{
    int64_t value = 0;
    size_t start;
    skip_spaces(c);
    start = c->at;
    for (; c->at < c->end && c->bytes[c->at] >= '0' && c->bytes[c->at] <= '9'; c->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, c->bytes[c->at] - '0', &value))
            return fail_at(c, start, err, "a dimension of 'shape' overflows 63 bits");
    }
    if (c->at == start || (c->bytes[start] == '0' && c->at > start + 1))
        return fail_at(c, start, err, "'shape' is not a tuple of integers >= 0");
    *out = value;
    return MS_OK;
}

static enum ms_status read_shape(struct cursor *c, struct header *h, struct ms_error *err)
{
    enum ms_status status = expect(c, '(', "to begin 'shape'", err);
    bool comma = true;
    int n = 0;
    if (status != MS_OK)
        return status;
    while (!eat(c, ')')) {
        if (!comma)
            return fail_at(c, c->at, err, "'shape' is not a tuple of integers >= 0");
        if (n == MS_NPY_DIMS_MAX)
            return fail_at(c, c->at, err, "'shape' has more than %d dimensions", MS_NPY_DIMS_MAX);
        if ((status = read_dim(c, &h->npy.shape[n++], err)) != MS_OK)
            return status;
        comma = eat(c, ',');
    }
    if (n == 1 && !comma)
        return fail_at(c, c->at, err, "'shape' is a number in brackets, not a tuple");
    h->npy.n_dims = n;
    return MS_OK;
}

static const struct {
    const char *name;
    enum ms_status (*read)(struct cursor *c, struct header *h, struct ms_error *err);
} KEYS[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

enum { N_KEYS = sizeof(KEYS) / sizeof(KEYS[0]) };

/* One "'key': value" of the dict. `seen` has a bit per key. */
static enum ms_status read_entry(struct cursor *c, unsigned *seen, struct header *h,
                                 struct ms_error *err)
{
    char key[DESCR_MAX];
    size_t i, at = c->at;
    enum ms_status status = read_string(c, key, err);
    if (status == MS_OK)
        status = expect(c, ':', "after a key", err);
    if (status != MS_OK)
        return status;
    for (i = 0; i < N_KEYS && strcmp(key, KEYS[i].name) != 0; i++)
        ;
    if (i == N_KEYS)
        return fail_at(c, at, err,
                       "unknown key '%s'; a header has 'descr', 'fortran_order', 'shape'", key);
    if (*seen & 1u << i)
        return fail_at(c, at, err, "key '%s' is there twice", key);
    *seen |= 1u << i;
    return KEYS[i].read(c, h, err);
}

static enum ms_status read_dict(struct cursor *c, struct header *h, struct ms_error *err)
{
    enum ms_status status = expect(c, '{', "to begin it", err);
    unsigned seen = 0;
    while (status == MS_OK && !eat(c, '}')) {
        status = read_entry(c, &seen, h, err);
        if (status == MS_OK && !eat(c, ',')) {
            status = expect(c, '}', "or ',' after a value", err);
            break;
        }
    }
    if (status != MS_OK)
        return status;
    for (size_t i = 0; i < N_KEYS; i++) {
        if (!(seen & 1u << i))
            return fail_at(c, c->at, err, "the header lacks key '%s'", KEYS[i].name);
    }
    skip_spaces(c);
    if (c->at + 1 != c->end || c->bytes[c->at] != '\n')
        return fail_at(c, c->at, err, "the header does not end in spaces and a line feed");
    return MS_OK;
}

/* Magic, version and length: leaves the cursor at the dict and `c->end` at its end. */
static enum ms_status read_preamble(struct cursor *c, struct ms_error *err)
{
    const unsigned char *b = (const unsigned char *)c->bytes;
    size_t length_bytes, length = 0;
    if (c->end < PREAMBLE_BYTES)
        return fail_at(c, c->end, err, "is not an NPY file: %zu bytes are too few", c->end);
    if (memcmp(b, MAGIC, sizeof(MAGIC)) != 0)
        return fail_at(c, 0, err, "is not an NPY file: it does not begin with \\x93NUMPY");
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return fail_at(c, 6, err, "NPY version %d.%d is not read; 1.0, 2.0 and 3.0 are", b[6],
                       b[7]);
    length_bytes = b[6] == 1 ? 2 : 4;
    c->at = PREAMBLE_BYTES + length_bytes;
    if (c->end < c->at)
        return fail_at(c, c->end, err, "the file ends inside the header length");
    for (size_t i = 0; i < length_bytes; i++)
        length |= (size_t)b[PREAMBLE_BYTES + i] << 8 * i;
    if (length > c->end - c->at)
        return fail_at(c, c->end, err, "the header should have %zu bytes, the file has %zu of them",
                       length, c->end - c->at);
    c->end = c->at + length;
    return MS_OK;
}

/* n_items and the exact size of the data. */
static enum ms_status check_size(const struct cursor *c, size_t n_bytes, struct ms_npy *npy,
                                 struct ms_error *err)
{
    size_t have = n_bytes - c->end;
    int64_t n = 1, need;
    bool empty = false;
    for (int i = 0; i < npy->n_dims; i++)
        empty = empty || npy->shape[i] == 0;
    for (int i = 0; i < npy->n_dims && !empty; i++) {
        if (__builtin_mul_overflow(n, npy->shape[i], &n))
            return fail_at(c, c->end, err, "the product of 'shape' overflows 63 bits");
    }
    npy->n_items = empty ? 0 : n;
    if (__builtin_mul_overflow(npy->n_items, npy->item_bytes, &need))
        return fail_at(c, c->end, err, "the size of the data overflows 63 bits");
    if ((size_t)need > have)
        return fail_at(c, n_bytes, err,
                       "the data ends early: the shape needs %lld bytes, the file has %zu",
                       (long long)need, have);
    if ((size_t)need < have)
        return fail_at(c, c->end + (size_t)need, err,
                       "%zu bytes too many: the shape needs %lld, the file has %zu",
                       have - (size_t)need, (long long)need, have);
    return MS_OK;
}

enum ms_status ms_npy_parse(const char *name, const void *bytes, size_t n_bytes, struct ms_npy *out,
                            struct ms_error *err)
{
    struct cursor c = {.name = name, .bytes = bytes, .at = 0, .end = n_bytes};
    struct header h = {0};
    enum ms_status status = read_preamble(&c, err);
    if (status == MS_OK)
        status = read_dict(&c, &h, err);
    if (status == MS_OK && h.fortran)
        status = fail_at(&c, c.at, err,
                         "the array is in Fortran order; save it with numpy.ascontiguousarray");
    if (status == MS_OK)
        status = check_size(&c, n_bytes, &h.npy, err);
    if (status != MS_OK)
        return status;
    h.npy.data = c.bytes + c.end;
    *out = h.npy;
    return MS_OK;
}

static enum ms_status map_file(const char *path, void **map, size_t *n, struct ms_error *err)
{
    enum ms_status status = MS_OK;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ms_fail(err, MS_E_INPUT, path, "cannot open: %s", strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        status = ms_fail(err, MS_E_INPUT, path, "is not a regular file");
    } else if (st.st_size == 0) {
        status = ms_fail(err, MS_E_INPUT, path, "is not an NPY file: it is empty");
    } else {
        *n = (size_t)st.st_size;
        *map = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (*map == MAP_FAILED)
            status =
                ms_fail(err, MS_E_INPUT, path, "cannot map %zu bytes: %s", *n, strerror(errno));
    }
    close(fd);
    return status;
}

enum ms_status ms_npy_open(const char *path, struct ms_npy *out, struct ms_error *err)
{
    void *map = NULL;
    size_t n = 0;
    enum ms_status status = map_file(path, &map, &n, err);
    if (status != MS_OK)
        return status;
    status = ms_npy_parse(path, map, n, out, err);
    if (status != MS_OK) {
        munmap(map, n);
        return status;
    }
    out->map = map;
    out->map_bytes = n;
    return MS_OK;
}

void ms_npy_close(struct ms_npy *npy)
{
    if (npy->map)
        munmap(npy->map, npy->map_bytes);
    *npy = (struct ms_npy){0};
}

/* One loop per item type; the data may be unaligned, so items are copied out. */
#define READ_ITEMS(type)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                              \
        type item;                                                                                 \
        memcpy(&item, from + (size_t)i * sizeof(item), sizeof(item));                              \
        out[i] = (int64_t)item;                                                                    \
    }

void ms_npy_read(const struct ms_npy *npy, int64_t first, int64_t n, int64_t *out)
{
    const char *from;
    MS_REQUIRE(first >= 0 && n >= 0 && n <= npy->n_items && first <= npy->n_items - n);
    from = (const char *)npy->data + (size_t)first * (size_t)npy->item_bytes;
    switch (npy->item_bytes * 2 + (npy->kind == 'i')) {
    case 2:
        READ_ITEMS(uint8_t) break;
    case 3:
        READ_ITEMS(int8_t) break;
    case 4:
        READ_ITEMS(uint16_t) break;
    case 5:
        READ_ITEMS(int16_t) break;
    case 8:
        READ_ITEMS(uint32_t) break;
    case 9:
        READ_ITEMS(int32_t) break;
    case 17:
        READ_ITEMS(int64_t) break;
    default:
        MS_REQUIRE(npy->item_bytes == 0); /* not an opened file */
    }
}

int64_t ms_npy_at(const struct ms_npy *npy, int64_t i)
{
    int64_t item = 0;
    ms_npy_read(npy, i, 1, &item);
    return item;
}

void ms_npy_write(const void *items, char kind, int item_bytes, const int64_t *shape, int n_dims,
                  struct ms_buf *out)
{
    struct ms_buf dict = {0};
    size_t bytes = (size_t)item_bytes, start = out->length, header;
    MS_REQUIRE(kind == 'u' || kind == 'i');
    MS_REQUIRE(item_bytes == 1 || item_bytes == 2 || item_bytes == 4);
    MS_REQUIRE(n_dims >= 0 && n_dims <= MS_NPY_DIMS_MAX);
    ms_buf_printf(&dict, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                  item_bytes == 1 ? '|' : '<', kind, item_bytes);
    for (int i = 0; i < n_dims; i++) {
        MS_REQUIRE(shape[i] >= 0);
        ms_buf_printf(&dict, "%s%lld", i ? ", " : "", (long long)shape[i]);
        MS_REQUIRE(!__builtin_mul_overflow(bytes, (size_t)shape[i], &bytes));
    }
    ms_buf_puts(&dict, n_dims == 1 ? ",), }" : "), }");
    header =
        (PREAMBLE_BYTES + 2 + dict.length + 1 + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN;
    ms_buf_add(out, MAGIC, sizeof(MAGIC));
    ms_buf_add(out, "\x01\x00", 2);
    header -= PREAMBLE_BYTES + 2;
    ms_buf_add(out, (const char[]){(char)(header & 0xff), (char)(header >> 8)}, 2);
    ms_buf_add(out, dict.text, dict.length);
    while (out->length - start < PREAMBLE_BYTES + 2 + header - 1)
        ms_buf_add(out, " ", 1);
    ms_buf_add(out, "\n", 1);
    if (bytes)
        ms_buf_add(out, items, bytes);
    ms_buf_free(&dict);
}
