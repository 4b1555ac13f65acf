/* test_topology.c - the shipped descriptions against published figures, and every way a file can be
 * wrong. Expected figures: NVIDIA spec tables and reference architectures, arXiv 2505.09343,
 * nvidia-smi totals in ai-dynamo/aiconfigurator 095f58a5; typed here, not read from the YAML. */
#include "tests/mstest.h"

#include "base/data.h"
#include "topologies/topology.h"

#include <unistd.h>

/* A small description that is right; the tests below spoil one line of it at a time. */
static const char GOOD[] =
    "name: small\n"
    "description: four GPUs\n"
    "gpu_generation: hopper\n"
    "calibration: h100\n"
    "gpu:\n"
    "  sm_count: 97\n"
    "  peak_bf16: {datasheet: 517 TFLOP/s, source: s1}\n"
    "  peak_fp32: 31 TFLOP/s\n"
    "  hbm_capacity: {datasheet: 37 GiB, source: s2}\n"
    "  hbm_bandwidth: {measured: 1.3 TB/s, datasheet: 1.7 TB/s, source: s3}\n"
    "  power_max: {datasheet: 350 W, source: s4}\n"
    "domain:\n"
    "  gpus: 12\n"
    "  trays: 3\n"
    "  nvlink_bandwidth: {derived: 211 GB/s, datasheet: 270 GB/s, source: s5}\n"
    "  nvlink_latency: {measured: 1.9 us, source: s6}\n"
    "  nvls: true\n"
    "  nvls_busbw: {measured: 330 GB/s, source: s7}\n"
    "host:\n"
    "  gpus: 2\n"
    "  link_bandwidth: {measured: 23 GB/s, source: s8}\n"
    "  memory_bandwidth: {measured: 190 GB/s, source: s9}\n"
    "  memory_capacity: {datasheet: 256 GB, source: s10}\n"
    "scale_out:\n"
    "  fabric: Ethernet\n"
    "  nic_bandwidth: {datasheet: 200 Gb/s, source: s11}\n"
    "  nic_latency: {measured: 3.6 us, source: s12}\n"
    "  stage_latency: {measured: 2 us, source: s13}\n"
    "  rails: 4\n"
    "  unit_domains: 5\n"
    "  oversubscription: {datasheet: 3, source: s14}\n"
    "  max_gpus: 480\n";

static enum ms_status parse(const char *text, struct ms_topology *topo, struct ms_error *err)
{
    struct ms_buf buf = {0};
    enum ms_status status;
    ms_buf_puts(&buf, text);
    status = ms_topology_parse("mine.yaml", &buf, topo, err);
    ms_buf_free(&buf);
    return status;
}

/* GOOD with its first `from` replaced by `to`. Caller frees. */
static char *edited(const char *from, const char *to)
{
    struct ms_buf buf = {0};
    const char *at = strstr(GOOD, from);
    assert_non_null(at);
    ms_buf_add(&buf, GOOD, (size_t)(at - GOOD));
    ms_buf_puts(&buf, to);
    ms_buf_puts(&buf, at + strlen(from));
    return buf.text;
}

static void parses_text_in_memory(void **state)
{
    struct ms_topology t;
    struct ms_error err;
    (void)state;
    ms_assert_ok(parse(GOOD, &t, &err), &err);
    assert_string_equal(t.name, "small");
    assert_int_equal(t.gpu.sm_count, 97);
    assert_int_equal(t.domain.gpus, 12);
    assert_true(t.domain.nvls);
    assert_true(t.scale_out.rail_optimized);
    ms_assert_close(t.gpu.hbm_capacity.value, 37.0 * 1073741824.0, 0, 0);
    ms_assert_close(t.scale_out.nic_bandwidth.value, 25e9, 0, 0);
    ms_assert_close(t.scale_out.oversubscription.value, 3, 0, 0);
    assert_string_equal(t.domain.nvlink_bandwidth.source, "s5");
}

/* measured > derived > datasheet > unverified, and all known values stay. */
static void value_is_the_most_trusted(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"{unverified: 4 GB/s, datasheet: 3 GB/s, derived: 2 GB/s, measured: 1 GB/s, source: s}",
         1},
        {"{unverified: 4 GB/s, datasheet: 3 GB/s, derived: 2 GB/s, source: s}", 2},
        {"{unverified: 4 GB/s, datasheet: 3 GB/s, source: s}", 3},
        {"{unverified: 4 GB/s, source: s}", 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = edited("{measured: 23 GB/s, source: s8}", cases[i].text);
        struct ms_topology t;
        struct ms_error err;
        ms_assert_ok(parse(text, &t, &err), &err);
        ms_assert_close(t.host.link_bandwidth.value, cases[i].value * 1e9, 0, 0);
        ms_assert_close(t.host.link_bandwidth.unverified, 4e9, 0, 0);
        assert_int_equal(isnan(t.host.link_bandwidth.measured), cases[i].value > 1);
        free(text);
    }
}

static void formats_a_gpu_lacks_are_zero(void **state)
{
    struct ms_topology t;
    struct ms_error err;
    (void)state;
    ms_assert_ok(parse(GOOD, &t, &err), &err);
    ms_assert_close(t.gpu.peak_nvfp4.value, 0, 0, 0);
    assert_true(isnan(t.gpu.peak_nvfp4.datasheet));
    assert_true(isnan(t.gpu.peak_nvfp4.measured));
}

struct fault {
    const char *from, *to;
    const char *says[3]; /* all must appear in the message */
};

static void check_fault(const struct fault *f)
{
    char *text = edited(f->from, f->to);
    struct ms_topology t, before;
    struct ms_error err = {0};
    memset(&t, 0x5a, sizeof(t));
    memcpy(&before, &t, sizeof(t));
    assert_int_equal(parse(text, &t, &err), MS_E_INPUT);
    assert_memory_equal(&t, &before, sizeof(t));
    ms_assert_says(&err, "mine.yaml:");
    for (size_t i = 0; i < 3 && f->says[i]; i++)
        ms_assert_says(&err, f->says[i]);
    free(text);
}

/* Faults of one line: the place is file:line:key. */
static void faulty_lines(void **state)
{
    static const struct fault faults[] = {
        {"{derived: 211 GB/s,",
         "{derived: -211 GB/s,",
         {"mine.yaml:15:domain.nvlink_bandwidth.derived", "negative"}},
        {"gpus: 12", "gpus: 450GBps", {"mine.yaml:13:domain.gpus", "450GBps", "not an integer"}},
        {"gpus: 12", "gpus: 12.5", {"mine.yaml:13:domain.gpus", "not an integer"}},
        {"gpus: 12", "gpus: 0", {"mine.yaml:13:domain.gpus", "nearest legal value 1"}},
        {"gpus: 12", "gpus: 1025", {"mine.yaml:13:domain.gpus", "nearest legal value 1024"}},
        {"  sm_count: 97\n", "", {"'sm_count' is missing"}},
        {"calibration: h100\n", "", {"'calibration' is missing"}},
        {"  fabric: Ethernet\n", "", {"'fabric' is missing"}},
        {"power_max", "power_maxx", {"mine.yaml:11:gpu.power_maxx", "unknown key", "'power_max'"}},
        {"sm_count: 97\n", "sm_count: 97\n  sm_count: 97\n", {"mine.yaml:7:sm_count", "twice"}},
        {"37 GiB", "37 GB/s", {"mine.yaml:9:gpu.hbm_capacity.datasheet", "not a unit of size"}},
        {"1.3 TB/s", "1.3", {"mine.yaml:10:gpu.hbm_bandwidth.measured", "not a unit of bandwidth"}},
        {"350 W", "350 us", {"mine.yaml:11:gpu.power_max.datasheet", "not a unit of power"}},
        {"1.9 us", "1.9 GB", {"mine.yaml:16:domain.nvlink_latency.measured", "unit of time"}},
        {"{measured: 23 GB/s,",
         "{measured: 0 GB/s,",
         {"mine.yaml:21:host.link_bandwidth.measured", "outside"}},
        {"37 GiB", "0 B", {"mine.yaml:9:gpu.hbm_capacity.datasheet", "outside"}},
        {"517 TFLOP/s", "0 TFLOP/s", {"mine.yaml:7:gpu.peak_bf16.datasheet", "outside"}},
        {"{datasheet: 3, ",
         "{datasheet: 0.5, ",
         {"scale_out.oversubscription", "nearest legal value 1"}},
        {"datasheet: 350 W, source: s4",
         "datasheet: 350 W",
         {"gpu.power_max", "'source' is missing"}},
        {"{datasheet: 350 W, source: s4}", "{source: s4}", {"gpu.power_max", "has no value"}},
        {"rails: 4", "rails: [4]", {"mine.yaml:29:scale_out.rails", "single value"}},
        {"nvls: true", "nvls: maybe", {"mine.yaml:17:domain.nvls", "true or false"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        check_fault(&faults[i]);
}

/* Faults of the whole: the place is file:key. */
static void senseless_descriptions(void **state)
{
    static const struct fault faults[] = {
        {"trays: 3", "trays: 5", {"mine.yaml:domain.trays", "5 does not divide the 12", "value 4"}},
        {"trays: 3", "trays: 40", {"mine.yaml:domain.trays", "40 does not divide", "value 12"}},
        {"gpus: 2", "gpus: 3", {"mine.yaml:host.gpus", "3 does not divide the 4 GPUs of a tray"}},
        {"rails: 4", "rails: 3", {"mine.yaml:scale_out.rails", "3 does not divide the 4"}},
        {"nvls: true", "nvls: false", {"mine.yaml:domain.nvls_busbw", "330 GB/s", "nvls is false"}},
        {"  nvls_busbw: {measured: 330 GB/s, source: s7}\n",
         "",
         {"mine.yaml:domain.nvls_busbw", "missing"}},
        {"hopper", "volta", {"mine.yaml:gpu_generation", "volta", "hopper, blackwell"}},
        {"calibration: h100", "calibration: ''", {"mine.yaml:calibration", "empty"}},
        {"name: small", "name: ''", {"mine.yaml:name", "empty"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        check_fault(&faults[i]);
}

static void trays_and_nvls_may_be_left_out(void **state)
{
    char *text = edited("  trays: 3\n", "");
    struct ms_topology t;
    struct ms_error err;
    (void)state;
    ms_assert_ok(parse(text, &t, &err), &err);
    assert_int_equal(t.domain.trays, 1);
    free(text);
    text = edited("  nvls: true\n  nvls_busbw: {measured: 330 GB/s, source: s7}\n", "");
    ms_assert_ok(parse(text, &t, &err), &err);
    assert_false(t.domain.nvls);
    ms_assert_close(t.domain.nvls_busbw.value, 0, 0, 0);
    free(text);
}

static void empty_and_broken_texts(void **state)
{
    static const char *const texts[] = {"", "- a\n", "name: {", "gpu: 3\n", "name: x\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ms_topology t;
        struct ms_error err = {0};
        assert_int_equal(parse(texts[i], &t, &err), MS_E_INPUT);
        ms_assert_says(&err, "mine.yaml");
    }
}

static struct ms_topology load(const char *name)
{
    struct ms_topology t;
    struct ms_error err;
    ms_assert_ok(ms_topology_load(name, &t, &err), &err);
    return t;
}

/* Published figures of the shipped systems. TFLOP/s dense, GB/s per direction. */
static const struct published {
    const char *name, *calibration;
    int64_t sm_count, gpus, trays, gpus_per_host, rails, unit_domains;
    double bf16, fp8, mxfp8, nvfp4;      /* 0: the GPU has no such format */
    double nvlink_sheet, nvlink_used;    /* sheet; nvbandwidth, nccl-tests #212, arXiv 2505.09343 */
    double nic_sheet, nic_used;          /* used: nccl-tests #267, 97 % of 800 Gb/s */
    double memory_bytes, host_link_used; /* nvidia-smi or GiB of the sheet; host to device */
    double power_W;
} PUBLISHED[] = {
    {"gb200_nvl72", "gb200", 152, 72, 18, 2, 4, 8, 2500, 5000, 5000, 10000, 900, 770, 50, 48.5,
     198674743296.0, 201, 1200},
    {"gb300_nvl72", "gb300", 152, 72, 18, 2, 4, 8, 2500, 5000, 5000, 15000, 900, 770, 100, 97,
     298013687808.0, 359, 1400},
    {"hgx_b200", "b200", 148, 8, 1, 4, 8, 32, 2250, 4500, 4500, 9000, 900, 770, 50, 48.5,
     178.4 * 1073741824.0, 52, 1000},
    {"hgx_b300", "b300", 148, 8, 1, 4, 8, 72, 2250, 4500, 4500, 14000, 900, 770, 100, 97,
     288400343040.0, 104, 1100},
    {"hgx_h100", "h100", 132, 8, 1, 4, 8, 32, 989, 1979, 0, 0, 450, 370, 50, 48.5, 85899345920.0,
     51, 700},
    {"hgx_h200", "h200", 132, 8, 1, 4, 8, 32, 989, 1979, 0, 0, 450, 370, 50, 48.5, 151397597184.0,
     52, 700},
    {"h800", "h100", 132, 8, 1, 4, 8, 32, 989, 1979, 0, 0, 200, 160, 50, 48.5, 85899345920.0, 51,
     700},
};
enum { N_PUBLISHED = sizeof(PUBLISHED) / sizeof(PUBLISHED[0]) };

static void shipped_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        const struct published *p = &PUBLISHED[i];
        struct ms_topology t = load(p->name);
        assert_string_equal(t.name, p->name);
        assert_string_equal(t.calibration, p->calibration);
        assert_int_equal(t.gpu.sm_count, p->sm_count);
        assert_int_equal(t.domain.gpus, p->gpus);
        assert_int_equal(t.domain.trays, p->trays);
        assert_int_equal(t.host.gpus, p->gpus_per_host);
        assert_int_equal(t.scale_out.rails, p->rails);
        assert_int_equal(t.scale_out.unit_domains, p->unit_domains);
        assert_true(t.scale_out.rail_optimized);
        assert_true(t.domain.nvls);
    }
}

static void shipped_figures(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        const struct published *p = &PUBLISHED[i];
        struct ms_topology t = load(p->name);
        ms_assert_close(t.gpu.peak_bf16.value, p->bf16 * 1e12, 1e-15, 0);
        ms_assert_close(t.gpu.peak_fp8.value, p->fp8 * 1e12, 1e-15, 0);
        ms_assert_close(t.gpu.peak_mxfp8.value, p->mxfp8 * 1e12, 1e-15, 0);
        ms_assert_close(t.gpu.peak_nvfp4.value, p->nvfp4 * 1e12, 1e-15, 0);
        ms_assert_close(t.gpu.hbm_capacity.value, p->memory_bytes, 1e-15, 0);
        ms_assert_close(t.gpu.power_max.value, p->power_W, 1e-15, 0);
        ms_assert_close(t.domain.nvlink_bandwidth.datasheet, p->nvlink_sheet * 1e9, 1e-15, 0);
        ms_assert_close(t.domain.nvlink_bandwidth.value, p->nvlink_used * 1e9, 1e-15, 0);
        ms_assert_close(t.scale_out.nic_bandwidth.datasheet, p->nic_sheet * 1e9, 1e-15, 0);
        ms_assert_close(t.scale_out.nic_bandwidth.value, p->nic_used * 1e9, 1e-15, 0);
        ms_assert_close(t.scale_out.oversubscription.value, 1, 0, 0);
        ms_assert_close(t.scale_out.stage_latency.value, 0.9e-6, 1e-15, 0);
        ms_assert_close(t.host.link_bandwidth.value, p->host_link_used * 1e9, 1e-15, 0);
    }
}

/* coreweave/nccl-tests and Verda: 835 and 919 GB/s; NCCL's constant 40.1 GB/s on 18 links; STREAM
 * triad 763 GB/s on two Grace CPUs; sheets 8 and 3.35 TB/s. */
static void shipped_figures_of_some(void **state)
{
    struct ms_topology gb200 = load("gb200_nvl72"), gb300 = load("gb300_nvl72");
    struct ms_topology h100 = load("hgx_h100");
    (void)state;
    ms_assert_close(gb200.domain.nvls_busbw.value, 835e9, 1e-15, 0);
    ms_assert_close(gb300.domain.nvls_busbw.value, 919e9, 1e-15, 0);
    ms_assert_close(gb200.domain.nvlink_bandwidth.derived, 18 * 40.1e9, 1e-3, 0);
    ms_assert_close(gb200.host.memory_bandwidth.value, 763e9 / 2, 1e-15, 0);
    ms_assert_close(gb200.host.memory_capacity.value, 480e9, 1e-15, 0);
    ms_assert_close(gb300.gpu.hbm_bandwidth.datasheet, 8e12, 1e-15, 0);
    ms_assert_close(h100.gpu.hbm_bandwidth.datasheet, 3.35e12, 1e-15, 0);
    ms_assert_close(h100.gpu.hbm_bandwidth.value, 3.18e12, 1e-15, 0);
    assert_string_equal(h100.gpu_generation, "hopper");
    assert_string_equal(gb300.gpu_generation, "blackwell");
    assert_int_equal(gb300.scale_out.max_gpus, 9216);
}

/* Every figure of every shipped file has a source, and what is achieved stays below the sheet. */
static void shipped_figures_have_sources(void **state)
{
    size_t n_sections;
    const struct ms_field *sections = ms_topology_fields(&n_sections);
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED * n_sections; i++) {
        const struct ms_topology t = load(PUBLISHED[i / n_sections].name);
        const struct ms_field *section = &sections[i % n_sections];
        for (size_t k = 0; k < section->n_sub; k++) {
            struct ms_figure f;
            if (section->sub[k].kind != MS_FIELD_FIGURE)
                continue;
            memcpy(&f, (const char *)&t + section->sub[k].offset, sizeof(f));
            assert_true(f.value == 0 || strlen(f.source) > 10);
            assert_true(isnan(f.datasheet) || f.value <= f.datasheet);
        }
    }
}

static void every_shipped_file_is_tested(void **state)
{
    char **names = ms_data_list("topologies", ".yaml");
    size_t n = 0;
    (void)state;
    for (; names[n]; n++) {
        struct ms_topology t = load(names[n]);
        assert_string_equal(t.name, names[n]);
    }
    assert_int_equal(n, N_PUBLISHED);
    ms_data_list_free(names);
}

static void unknown_names(void **state)
{
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"h200", "did you mean 'hgx_h200'"},
        {"gb300_nv172", "did you mean 'gb300_nvl72'"},
        {"GB200", "did you mean 'gb200_nvl72'"},
        {"quantum", "'quantum'. Known: gb200_nvl72"},
        {"", "Known: gb200_nvl72"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_topology t;
        struct ms_error err = {0};
        assert_int_equal(ms_topology_load(cases[i].name, &t, &err), MS_E_INPUT);
        ms_assert_says(&err, cases[i].says);
        ms_assert_says(&err, "gb200_nvl72, gb300_nvl72, h800, hgx_b200, hgx_b300, hgx_h100");
    }
}

static void loads_by_path(void **state)
{
    char path[] = "/tmp/ms_topology_XXXXXX.yaml";
    const int fd = mkstemps(path, 5);
    struct ms_topology t;
    struct ms_error err = {0};
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, GOOD, strlen(GOOD)), strlen(GOOD));
    close(fd);
    ms_assert_ok(ms_topology_load(path, &t, &err), &err);
    assert_int_equal(t.gpu.sm_count, 97);
    unlink(path);
    assert_int_equal(ms_topology_load(path, &t, &err), MS_E_INPUT);
    ms_assert_says(&err, path);
}

static void assert_narrow(const struct ms_buf *text)
{
    for (const char *line = text->text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
}

static void lists_all(void **state)
{
    struct ms_buf out = {0};
    struct ms_error err;
    (void)state;
    ms_assert_ok(ms_topology_list(&out, &err), &err);
    for (size_t i = 0; i < N_PUBLISHED; i++)
        assert_non_null(strstr(out.text, PUBLISHED[i].name));
    assert_non_null(strstr(out.text, "gb300_nvl72    72  2500  15000     770    97  GB300"));
    assert_non_null(strstr(out.text, "hgx_h100        8   989      -     370  48.5  HGX H100"));
    assert_narrow(&out);
    ms_buf_free(&out);
}

/* Runs of spaces become one: widths of columns are the table's business. */
static void squeeze(struct ms_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->length; i++)
        if (text->text[i] != ' ' || n == 0 || text->text[n - 1] != ' ')
            text->text[n++] = text->text[i];
    text->text[n] = '\0';
    text->length = n;
}

static void shows_values_kinds_and_sources(void **state)
{
    static const char *const lines[] = {
        "\n used unit kind measured derived datasheet unverified\n",
        "\n peak_nvfp4 none TFLOP/s - - - - -\n",
        "\n hbm_bandwidth 1300 GB/s measured 1300 - 1700 -\n",
        "\n hbm_capacity 37 GiB datasheet - - 37 -\n",
        "\n peak_fp32 31 TFLOP/s unverified - - - 31\n",
        "\n nvlink_bandwidth 211 GB/s derived - 211 270 -\n",
        "\n nvlink_latency 1.9 us measured 1.9 - - -\n",
        "\n oversubscription 3 datasheet - - 3 -\n",
        "\n nvlink_bandwidth: s5\n",
        "\n peak_fp32: as given in the file\n",
        "\n fabric: Ethernet\n",
        "\n rail_optimized true\n",
        "\n gpus 12\n",
    };
    struct ms_topology t;
    struct ms_buf out = {0};
    struct ms_error err;
    size_t missing = 0;
    (void)state;
    ms_assert_ok(parse(GOOD, &t, &err), &err);
    ms_topology_show(&t, &out);
    squeeze(&out);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (strstr(out.text, lines[i]))
            continue;
        print_error("no line '%s'\n", lines[i]);
        missing++;
    }
    ms_buf_free(&out);
    assert_int_equal(missing, 0);
}

static void shown_text_is_narrow(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        struct ms_topology t = load(PUBLISHED[i].name);
        struct ms_buf out = {0};
        ms_topology_show(&t, &out);
        assert_narrow(&out);
        ms_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_text_in_memory),
        cmocka_unit_test(value_is_the_most_trusted),
        cmocka_unit_test(formats_a_gpu_lacks_are_zero),
        cmocka_unit_test(faulty_lines),
        cmocka_unit_test(senseless_descriptions),
        cmocka_unit_test(trays_and_nvls_may_be_left_out),
        cmocka_unit_test(empty_and_broken_texts),
        cmocka_unit_test(shipped_counts),
        cmocka_unit_test(shipped_figures),
        cmocka_unit_test(shipped_figures_of_some),
        cmocka_unit_test(shipped_figures_have_sources),
        cmocka_unit_test(every_shipped_file_is_tested),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(loads_by_path),
        cmocka_unit_test(lists_all),
        cmocka_unit_test(shows_values_kinds_and_sources),
        cmocka_unit_test(shown_text_is_narrow),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
