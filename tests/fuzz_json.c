/* fuzz_json.c - libFuzzer target: any text as a model's config.json. What is accepted has sane counts. */
#include "model/arch.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_arch arch;
    struct ms_error err = {0};
    struct ms_buf text = {0};
    struct ms_params params;
    ms_buf_add(&text, (const char *)data, size);
    if (ms_arch_parse("fuzz", &text, &arch, &err) == MS_OK) {
        MS_REQUIRE(arch.n_layers >= 1 && arch.n_layers <= MS_LAYERS_MAX);
        MS_REQUIRE(arch.topk >= 0 && arch.topk <= arch.n_experts);
        ms_arch_params(&arch, &params);
        MS_REQUIRE(isfinite(params.total) && params.total > 0);
        MS_REQUIRE(params.active <= params.total);
    } else {
        MS_REQUIRE(err.code != MS_OK && err.text[0]);
    }
    ms_buf_free(&text);
    return 0;
}
