/* npy.h - strict reader and writer of NumPy's .npy (v1, v2, v3), C order, little-endian integers. */
#ifndef MS_TRACES_NPY_H
#define MS_TRACES_NPY_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

enum { MS_NPY_DIMS_MAX = 8 };

/* A view of a file mapped into memory; element size 1, 2, 4 or 8 bytes. uint64 is refused, so that every
 * element fits int64_t. */
struct ms_npy {
    void *map; /* whole file; owned */
    size_t map_bytes;
    const void *data; /* into map; may be unaligned */
    char kind;        /* 'u' or 'i' */
    int item_bytes;
    int n_dims;
    int64_t shape[MS_NPY_DIMS_MAX];
    int64_t n_items;
};

/* Opens `path`. MS_E_INPUT with what and where (byte offset) for: not NPY, unknown version, header that
 * is no plain dict, Fortran order, floats or other dtypes, big-endian, shape that overflows, data shorter or
 * longer than the shape says. Close with ms_npy_close. */
MS_MUST_CHECK enum ms_status ms_npy_open(const char *path, struct ms_npy *out,
                                         struct ms_error *err);
/* The same over bytes in memory (borrowed; close is still to be called and does nothing). */
MS_MUST_CHECK enum ms_status ms_npy_parse(const char *name, const void *bytes, size_t n_bytes,
                                          struct ms_npy *out, struct ms_error *err);
void ms_npy_close(struct ms_npy *npy); /* accepts a zeroed one */

int64_t ms_npy_at(const struct ms_npy *npy, int64_t i); /* element i in C order */
/* Elements first..first+n-1 in C order into `out` [n]: the fast way through a large file. */
void ms_npy_read(const struct ms_npy *npy, int64_t first, int64_t n, int64_t *out);

/* Appends a v1.0 file of uint8/uint16/int32 (`kind`, `item_bytes`) items to `out`. */
void ms_npy_write(const void *items, char kind, int item_bytes, const int64_t *shape, int n_dims,
                  struct ms_buf *out);

#endif
