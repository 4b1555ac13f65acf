/* fuzz_npy.c - libFuzzer target: any bytes as an NPY file. Build: clang -fsanitize=fuzzer,address,undefined.
 * What is accepted must be consistent: its size is what the shape says, and every item can be read.
 */
#include "base/mem.h"
#include "traces/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ms_error err = {0};
    struct ms_npy npy = {0};
    int64_t product = 1, *items;
    if (ms_npy_parse("fuzz", data, size, &npy, &err) != MS_OK) {
        MS_REQUIRE(err.code == MS_E_INPUT && err.where[0] && err.text[0]);
        return 0;
    }
    for (int i = 0; i < npy.n_dims; i++) /* an empty array may have other dimensions of any size */
        product = npy.shape[i] == 0 || product == 0 ? 0 : product;
    for (int i = 0; i < npy.n_dims && product; i++)
        product *= npy.shape[i];
    MS_REQUIRE(product == npy.n_items);
    MS_REQUIRE((const uint8_t *)npy.data + npy.n_items * npy.item_bytes == data + size);
    items = ms_calloc((size_t)npy.n_items, sizeof(*items));
    ms_npy_read(&npy, 0, npy.n_items, items);
    for (int64_t i = 0; i < npy.n_items; i++)
        MS_REQUIRE(items[i] == ms_npy_at(&npy, i));
    free(items);
    ms_npy_close(&npy);
    return 0;
}
