/* test_device.c - calibration files: what they hold, how they follow the topology, every error. */
#include "model/test_measured.h"

#include "base/file.h"

#include <unistd.h>

static void dtype_bytes(void **state)
{
    (void)state;
    /* 7168 elements: 7168 + 56 FP32 scales, 7168 + 224 E8M0 scales, 3584 + 448 E4M3 scales. */
    ms_assert_close(7168 * ms_dtype_bytes(MS_DTYPE_BF16), 14336, 1e-12, 0);
    ms_assert_close(7168 * ms_dtype_bytes(MS_DTYPE_FP8_CS), 7168, 1e-12, 0);
    ms_assert_close(7168 * ms_dtype_bytes(MS_DTYPE_FP8_BLOCK), 7392, 1e-12, 0);
    ms_assert_close(7168 * ms_dtype_bytes(MS_DTYPE_MXFP8), 7392, 1e-12, 0);
    ms_assert_close(7168 * ms_dtype_bytes(MS_DTYPE_NVFP4), 4032, 1e-12, 0);
    assert_string_equal(MS_DTYPE_NAMES[MS_DTYPE_FP8_CS], "fp8-cs");
    assert_null(MS_DTYPE_NAMES[MS_N_DTYPES]);
}

/* Every figure present is measured or derived, by exactly one of the two, and names its source. */
static int check_figures(const struct ms_field *fields, size_t n, const struct ms_device *device)
{
    int n_figures = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ms_figure *f =
            (const struct ms_figure *)((const char *)device + fields[i].offset);
        if (fields[i].kind == MS_FIELD_SECTION)
            n_figures += check_figures(fields[i].sub, fields[i].n_sub, device);
        if (fields[i].kind != MS_FIELD_FIGURE || !f->source[0])
            continue;
        assert_true(isnan(f->measured) != isnan(f->derived));
        assert_true(isnan(f->datasheet) && isnan(f->unverified));
        assert_true(strlen(f->source) > 10);
        n_figures++;
    }
    return n_figures;
}

static void shipped_files(void **state)
{
    size_t n;
    const struct ms_field *fields = ms_device_fields(&n);
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        bool blackwell = strcmp(s->topo.gpu_generation, "blackwell") == 0;
        assert_string_equal(s->device.name, MS_TEST_SYSTEMS[i].system);
        assert_ptr_equal(s->device.topo, &s->topo);
        assert_true(check_figures(fields, n, &s->device) >= 50);
        for (int d = 0; d < MS_N_DTYPES; d++)
            assert_int_equal(s->device.gemm[d].peak.value > 0, blackwell || d < MS_DTYPE_MXFP8);
        free(s);
    }
}

/* The shipped references are the shipped topologies: no rate is rescaled on its own system, so the value
 * in use is the one in the file. */
static void own_system_is_not_scaled(void **state)
{
    (void)state;
    for (int i = 0; i < MS_TEST_N_SYSTEMS; i++) {
        struct ms_test_system *s = ms_test_system_new(MS_TEST_SYSTEMS[i].topology);
        const struct ms_device *d = &s->device;
        ms_assert_close(d->gemm[MS_DTYPE_BF16].peak.value, d->gemm[MS_DTYPE_BF16].peak.measured,
                        1e-12, 0);
        ms_assert_close(d->ring_bandwidth.value, d->ring_bandwidth.measured, 1e-12, 0);
        ms_assert_close(d->exchange_nic.value, d->exchange_nic.derived, 1e-12, 0);
        ms_assert_close(d->amax_bandwidth.value, d->amax_bandwidth.measured, 1e-12, 0);
        free(s);
    }
}

/* The H800 is an H100 with a slower port (arXiv 2505.09343: 160 of 200 GB/s usable; H100 370). */
static void h800_has_h100_efficiency(void **state)
{
    struct ms_test_system *h100 = ms_test_system_new("hgx_h100"),
                          *h800 = ms_test_system_new("h800");
    (void)state;
    assert_string_equal(h800->device.name, "h100");
    ms_assert_close(h800->device.ring_bandwidth.value / h100->device.ring_bandwidth.value,
                    160.0 / 370.0, 1e-9, 0);
    ms_assert_close(h800->device.gemm[MS_DTYPE_BF16].peak.value,
                    h100->device.gemm[MS_DTYPE_BF16].peak.value, 1e-12, 0);
    free(h100);
    free(h800);
}

static void what_if_scales(void **state)
{
    struct ms_test_system *s = ms_test_system_new("gb200_nvl72");
    struct ms_device *faster = ms_calloc(1, sizeof(*faster));
    struct ms_topology topo = s->topo;
    struct ms_error err;
    (void)state;
    topo.gpu.peak_bf16.value *= 1.75;
    topo.gpu.peak_nvfp4.value = 0;
    topo.scale_out.nic_bandwidth.value *= 3;
    ms_assert_ok(ms_device_load(&topo, faster, &err), &err);
    ms_assert_close(faster->gemm[MS_DTYPE_BF16].peak.value,
                    1.75 * s->device.gemm[MS_DTYPE_BF16].peak.value, 1e-12, 0);
    ms_assert_close(faster->attention_backward.value, 1.75 * s->device.attention_backward.value,
                    1e-12, 0);
    ms_assert_close(faster->gemm[MS_DTYPE_FP8_CS].peak.value,
                    s->device.gemm[MS_DTYPE_FP8_CS].peak.value, 1e-12, 0);
    ms_assert_close(faster->nic_bandwidth.value, 3 * s->device.nic_bandwidth.value, 1e-12, 0);
    assert_true(faster->gemm[MS_DTYPE_NVFP4].peak.value == 0);
    free(faster);
    free(s);
}

/* A copy of h100.json with the first `from` replaced by `to`, loaded for the H100 topology. */
static void load_changed(const char *from, const char *to, const char *says, const char *says_too)
{
    char path[] = "/tmp/ms_test_device_XXXXXX.json", source[4096];
    struct ms_test_system *s = ms_test_system_new("hgx_h100");
    struct ms_buf text = {0}, changed = {0};
    struct ms_error err;
    const char *at;
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    snprintf(source, sizeof(source), "%s/model/calibration/h100.json", MS_SOURCE_DATADIR);
    ms_assert_ok(ms_file_read(source, 1 << 20, &text, &err), &err);
    at = strstr(text.text, from);
    assert_non_null(at);
    ms_buf_add(&changed, text.text, (size_t)(at - text.text));
    ms_buf_puts(&changed, to);
    ms_buf_puts(&changed, at + strlen(from));
    ms_assert_ok(ms_file_write(path, &changed, &err), &err);
    snprintf(s->topo.calibration, sizeof(s->topo.calibration), "%s", path);
    memset(&s->device, 0x5a, sizeof(s->device));
    if (says) {
        assert_int_equal(ms_device_load(&s->topo, &s->device, &err), MS_E_INPUT);
        ms_assert_says(&err, path);
        ms_assert_says(&err, says);
        ms_assert_says(&err, says_too);
        for (size_t i = 0; i < sizeof(s->device); i++)
            assert_int_equal(((const unsigned char *)&s->device)[i], 0x5a);
    } else {
        ms_assert_ok(ms_device_load(&s->topo, &s->device, &err), &err);
    }
    unlink(path);
    ms_buf_free(&text);
    ms_buf_free(&changed);
    free(s);
}

static void file_by_path_and_its_errors(void **state)
{
    (void)state;
    load_changed("\"h100\"", "\"mine\"", NULL, NULL);
    load_changed("\"836 TFLOP/s\"", "\"1836 TFLOP/s\"", "gemm.bf16.peak", "989");
    load_changed("\"836 TFLOP/s\"", "\"836 GB/s\"", "gemm.bf16.peak.measured", "not a unit");
    load_changed("\"836 TFLOP/s\"", "\"0.836 TFLOP/s\"", "gemm.bf16.peak.measured", "nearest");
    load_changed("\"wave_step\"", "\"wave_steps\"", "wave_steps", "wave_step");
    load_changed("\"tile\": {", "\"tile\": {\"q\": 1,", "tile", "q");
    load_changed("\"host\": {", "\"hosts\": {", "hosts", "host");
    load_changed("\"measured\": \"836 TFLOP/s\",", "", "gemm.bf16.peak", "has no value");
    load_changed("\"356 GB/s\"", "\"371 GB/s\"", "collective.ring_bandwidth", "nearest legal");
}

static void unknown_calibration(void **state)
{
    struct ms_test_system *s = ms_test_system_new("hgx_h100");
    struct ms_error err;
    (void)state;
    snprintf(s->topo.calibration, sizeof(s->topo.calibration), "h1000");
    assert_int_equal(ms_device_load(&s->topo, &s->device, &err), MS_E_INPUT);
    ms_assert_says(&err, "h1000");
    ms_assert_says(&err, "calibration");
    snprintf(s->topo.calibration, sizeof(s->topo.calibration), "/nowhere/x.json");
    assert_int_equal(ms_device_load(&s->topo, &s->device, &err), MS_E_INPUT);
    ms_assert_says(&err, "/nowhere/x.json");
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtype_bytes),
        cmocka_unit_test(shipped_files),
        cmocka_unit_test(own_system_is_not_scaled),
        cmocka_unit_test(h800_has_h100_efficiency),
        cmocka_unit_test(what_if_scales),
        cmocka_unit_test(file_by_path_and_its_errors),
        cmocka_unit_test(unknown_calibration),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
