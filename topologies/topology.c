/* topology.c - reads, checks and prints system descriptions. One field table drives all three; what
 * a single range cannot say (divisibility, NVLS and its rate) stands in the table of check_counts()
 * and in the few checks after it. Read the tables, then ms_topology_parse(), then printing. */
#include "topologies/topology.h"

#include "base/data.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char FOLDER[] = "topologies";
static const char SUFFIX[] = ".yaml";
static const char *const GENERATIONS[] = {"hopper", "blackwell", NULL};

enum {
    WIDTH = 100,           /* columns of show and list */
    PATH_SIZE = 4096,      /* PATH_MAX of Linux */
    DESCRIPTION_WIDTH = 50 /* of the list; what its other columns leave */
};

/* Rows of the tables below. A figure's bounds keep out zero and slips of a prefix, not hardware. */
#define MEMBER(path) offsetof(struct ms_topology, path)
#define COUNT(key, path, most, text)                                                               \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_INT, .offset = MEMBER(path), .min = 1, .max = most,          \
        .required = true, .help = text                                                             \
    }
#define TEXT(key, path, text)                                                                      \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_STRING, .offset = MEMBER(path), .required = true,            \
        .help = text                                                                               \
    }
#define FLAG(key, path, fallback, text)                                                            \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_BOOL, .offset = MEMBER(path), .default_text = fallback,      \
        .help = text                                                                               \
    }
#define FIGURE(key, path, what, least, most, must, text)                                           \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_FIGURE, .offset = MEMBER(path),                              \
        .quantity = MS_QUANTITY_##what, .min = least, .max = most, .required = must, .help = text  \
    }
#define PEAK(key, path, must, text)      FIGURE(key, path, FLOPS, 1e9, 1e18, must, text)
#define BANDWIDTH(key, path, must, text) FIGURE(key, path, BANDWIDTH, 1e6, 1e15, must, text)
#define CAPACITY(key, path, text)        FIGURE(key, path, SIZE, 1e6, 1e15, true, text)
#define LATENCY(key, path, text)         FIGURE(key, path, TIME, 0, 1, true, text)

static const struct ms_field GPU[] = {
    COUNT("sm_count", gpu.sm_count, 4096, "streaming multiprocessors"),
    PEAK("peak_bf16", gpu.peak_bf16, true, "dense BF16 peak"),
    PEAK("peak_fp8", gpu.peak_fp8, false, "dense FP8 peak; leave out if the GPU has none"),
    PEAK("peak_mxfp8", gpu.peak_mxfp8, false, "dense MXFP8 peak; leave out if none"),
    PEAK("peak_nvfp4", gpu.peak_nvfp4, false, "dense NVFP4 peak; leave out if none"),
    PEAK("peak_fp32", gpu.peak_fp32, true, "FP32 peak outside tensor cores"),
    CAPACITY("hbm_capacity", gpu.hbm_capacity, "GPU memory"),
    BANDWIDTH("hbm_bandwidth", gpu.hbm_bandwidth, true, "GPU memory, read + write"),
    FIGURE("power_max", gpu.power_max, POWER, 1, 1e5, true, "GPU power limit"),
};

static const struct ms_field DOMAIN[] = {
    COUNT("gpus", domain.gpus, 1024, "GPUs joined by one NVLink fabric"),
    {.name = "trays",
     .kind = MS_FIELD_INT,
     .offset = MEMBER(domain.trays),
     .min = 1,
     .max = 1024,
     .default_text = "1",
     .help = "compute trays (nodes) of the domain"},
    BANDWIDTH("nvlink_bandwidth", domain.nvlink_bandwidth, true, "one GPU's port, one direction"),
    LATENCY("nvlink_latency", domain.nvlink_latency, "one way, inside a kernel"),
    FLAG("nvls", domain.nvls, "false", "in-switch reduction and multicast"),
    BANDWIDTH("nvls_busbw", domain.nvls_busbw, false, "all-reduce bus bandwidth with nvls"),
};

static const struct ms_field HOST[] = {
    COUNT("gpus", host.gpus, 1024, "GPUs that share one host memory"),
    BANDWIDTH("link_bandwidth", host.link_bandwidth, true, "GPU to host, one direction"),
    BANDWIDTH("memory_bandwidth", host.memory_bandwidth, true, "host memory, both directions"),
    CAPACITY("memory_capacity", host.memory_capacity, "memory of one host"),
};

static const struct ms_field SCALE_OUT[] = {
    TEXT("fabric", scale_out.fabric, "network between domains, for people"),
    BANDWIDTH("nic_bandwidth", scale_out.nic_bandwidth, true, "NIC per GPU, one direction"),
    LATENCY("nic_latency", scale_out.nic_latency, "one way through one leaf"),
    LATENCY("stage_latency", scale_out.stage_latency, "added by leaf-spine-leaf over one leaf"),
    FLAG("rail_optimized", scale_out.rail_optimized, "true",
         "NIC of position p in each tray goes to leaf group p"),
    COUNT("rails", scale_out.rails, 1024, "leaf groups of a unit = GPU positions per tray"),
    COUNT("unit_domains", scale_out.unit_domains, 65536, "NVLink domains of a scalable unit"),
    FIGURE("oversubscription", scale_out.oversubscription, RATIO, 1, 1000, true,
           "leaf down / leaf up capacity; 1 = non-blocking"),
    COUNT("max_gpus", scale_out.max_gpus, 1 << 20, "largest documented system"),
};

#define SECTION(key, table, text)                                                                  \
    {                                                                                              \
        .name = key, .kind = MS_FIELD_SECTION, .required = true, .help = text, .sub = table,       \
        .n_sub = sizeof(table) / sizeof(table[0])                                                  \
    }
static const struct ms_field TOPOLOGY[] = {
    TEXT("name", name, "short name"),
    TEXT("description", description, "one line for people"),
    TEXT("gpu_generation", gpu_generation, "hopper or blackwell: picks kernel families"),
    TEXT("calibration", calibration, "calibration file name without .json"),
    SECTION("gpu", GPU, "one GPU"),
    SECTION("domain", DOMAIN, "the NVLink domain"),
    SECTION("host", HOST, "CPU and memory that GPUs offload to"),
    SECTION("scale_out", SCALE_OUT, "the network between domains"),
};
enum { N_TOPOLOGY = sizeof(TOPOLOGY) / sizeof(TOPOLOGY[0]) };

const struct ms_field *ms_topology_fields(size_t *n)
{
    *n = N_TOPOLOGY;
    return TOPOLOGY;
}

static const struct ms_figure *figure_of(const struct ms_topology *topo,
                                         const struct ms_field *field)
{
    return (const struct ms_figure *)(const void *)((const char *)topo + field->offset);
}

/* All figures absent: value 0 and no value known. */
static void clear_figures(const struct ms_field *fields, size_t n, struct ms_topology *topo)
{
    static const struct ms_figure absent = {0,           (double)NAN, (double)NAN,
                                            (double)NAN, (double)NAN, ""};
    for (size_t i = 0; i < n; i++) {
        if (fields[i].kind == MS_FIELD_SECTION)
            clear_figures(fields[i].sub, fields[i].n_sub, topo);
        else if (fields[i].kind == MS_FIELD_FIGURE)
            memcpy((char *)topo + fields[i].offset, &absent, sizeof(absent));
    }
}

/* "file:key" for faults that concern the whole description rather than one line. */
static const char *place(const char *name, const char *key, char out[MS_TEXT_MAX])
{
    snprintf(out, MS_TEXT_MAX, "%.200s:%s", name, key);
    return out;
}

static int64_t nearest_divisor(int64_t total, int64_t wanted)
{
    int64_t best = 1;
    for (int64_t d = 1; d <= total; d++)
        if (total % d == 0 && llabs(d - wanted) < llabs(best - wanted))
            best = d;
    return best;
}

static enum ms_status check_counts(const char *name, const struct ms_topology *t,
                                   struct ms_error *err)
{
    const int64_t tray = t->domain.gpus / t->domain.trays;
    const struct {
        const char *key, *what;
        int64_t total, part;
    } checks[] = {
        {"domain.trays", "GPUs of the domain", t->domain.gpus, t->domain.trays},
        {"host.gpus", "GPUs of a tray", tray, t->host.gpus},
        {"scale_out.rails", "GPUs of a tray", tray, t->scale_out.rails},
    };
    char at[MS_TEXT_MAX];
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        if (checks[i].total % checks[i].part != 0)
            return ms_fail(err, MS_E_INPUT, place(name, checks[i].key, at),
                           "%lld does not divide the %lld %s; nearest legal value %lld",
                           (long long)checks[i].part, (long long)checks[i].total, checks[i].what,
                           (long long)nearest_divisor(checks[i].total, checks[i].part));
    return MS_OK;
}

static enum ms_status check_texts(const char *name, const struct ms_topology *t,
                                  struct ms_error *err)
{
    char at[MS_TEXT_MAX];
    if (!t->name[0])
        return ms_fail(err, MS_E_INPUT, place(name, "name", at), "is empty");
    if (!t->calibration[0])
        return ms_fail(err, MS_E_INPUT, place(name, "calibration", at),
                       "is empty; give a calibration file name without .json, such as gb300");
    if (ms_names_find(GENERATIONS, t->gpu_generation) < 0)
        return ms_fail(err, MS_E_INPUT, place(name, "gpu_generation", at),
                       "'%.60s' is not one of %s, %s", t->gpu_generation, GENERATIONS[0],
                       GENERATIONS[1]);
    return MS_OK;
}

static enum ms_status check(const char *name, const struct ms_topology *t, struct ms_error *err)
{
    char at[MS_TEXT_MAX];
    enum ms_status status = check_texts(name, t, err);
    if (status == MS_OK)
        status = check_counts(name, t, err);
    if (status != MS_OK)
        return status;
    if (t->domain.nvls && !(t->domain.nvls_busbw.value > 0))
        return ms_fail(err, MS_E_INPUT, place(name, "domain.nvls_busbw", at),
                       "is missing though domain.nvls is true; give it or set nvls to false");
    if (!t->domain.nvls && t->domain.nvls_busbw.value > 0)
        return ms_fail(err, MS_E_INPUT, place(name, "domain.nvls_busbw", at),
                       "is %.6g GB/s though domain.nvls is false; leave it out or set nvls to true",
                       t->domain.nvls_busbw.value / 1e9);
    return MS_OK;
}

enum ms_status ms_topology_parse(const char *name, const struct ms_buf *text,
                                 struct ms_topology *out, struct ms_error *err)
{
    struct ms_topology topo;
    enum ms_status status;
    memset(&topo, 0, sizeof(topo));
    clear_figures(TOPOLOGY, N_TOPOLOGY, &topo);
    ms_fields_defaults(TOPOLOGY, N_TOPOLOGY, &topo);
    status = ms_yaml_read_text(name, text, TOPOLOGY, N_TOPOLOGY, &topo, NULL, err);
    if (status == MS_OK)
        status = check(name, &topo, err);
    if (status == MS_OK)
        *out = topo;
    return status;
}

/* The known name that contains `name` (h200: hgx_h200), else the one of least edit distance; or
 * NULL. */
static const char *nearest_name(char *const *names, const char *name)
{
    size_t n = 0;
    for (; names[n]; n++)
        if (name[0] && strcasestr(names[n], name))
            return names[n];
    return ms_names_nearest((const char *const *)names, n, name);
}

static enum ms_status fail_unknown(const char *name, struct ms_error *err)
{
    char **names = ms_data_list(FOLDER, SUFFIX);
    const char *nearest = nearest_name(names, name);
    struct ms_buf known = {0};
    enum ms_status status;
    for (size_t i = 0; names[i]; i++)
        ms_buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
    status = ms_fail(err, MS_E_INPUT, NULL,
                     "there is no topology '%.60s'%s%s%s Known: %.300s; or give the path of a file",
                     name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?" : ".", known.length ? known.text : "none");
    ms_buf_free(&known);
    ms_data_list_free(names);
    return status;
}

enum ms_status ms_topology_load(const char *name_or_path, struct ms_topology *out,
                                struct ms_error *err)
{
    char found[PATH_SIZE];
    const char *path = name_or_path;
    struct ms_buf text = {0};
    enum ms_status status;
    if (!ms_data_is_path(name_or_path, SUFFIX)) {
        if (ms_data_path(FOLDER, name_or_path, SUFFIX, found, sizeof(found), NULL) != MS_OK)
            return fail_unknown(name_or_path, err);
        path = found;
    }
    status = ms_file_read(path, MS_YAML_MAX_BYTES, &text, err);
    if (status == MS_OK)
        status = ms_topology_parse(path, &text, out, err);
    ms_buf_free(&text);
    return status;
}

/* Units of print, the same for all rows so that columns compare: GiB for memory, else decimal. */
static const struct {
    const char *name;
    double factor;
} PRINT_UNITS[] = {
    [MS_QUANTITY_RATIO] = {"", 1},           [MS_QUANTITY_SIZE] = {"GiB", 0x1p30},
    [MS_QUANTITY_BANDWIDTH] = {"GB/s", 1e9}, [MS_QUANTITY_FLOPS] = {"TFLOP/s", 1e12},
    [MS_QUANTITY_TIME] = {"us", 1e-6},       [MS_QUANTITY_POWER] = {"W", 1},
    [MS_QUANTITY_FREQUENCY] = {"MHz", 1e6},
};

static void cell_figure(struct ms_table *table, double value, enum ms_quantity quantity)
{
    if (isnan(value))
        ms_table_cell(table, "-");
    else
        ms_table_cell(table, "%.6g", value / PRINT_UNITS[quantity].factor);
}

static void list_row(struct ms_table *table, const struct ms_topology *t)
{
    const struct ms_figure *fp4 = &t->gpu.peak_nvfp4;
    ms_table_cell(table, "%s", t->name);
    ms_table_cell(table, "%lld", (long long)t->domain.gpus);
    cell_figure(table, t->gpu.peak_bf16.value, MS_QUANTITY_FLOPS);
    cell_figure(table, fp4->value > 0 ? fp4->value : (double)NAN, MS_QUANTITY_FLOPS);
    cell_figure(table, t->domain.nvlink_bandwidth.value, MS_QUANTITY_BANDWIDTH);
    cell_figure(table, t->scale_out.nic_bandwidth.value, MS_QUANTITY_BANDWIDTH);
    ms_table_cell(table, "%.*s", DESCRIPTION_WIDTH, t->description);
}

enum ms_status ms_topology_list(struct ms_buf *out, struct ms_error *err)
{
    static const char *const head[] = {"NAME",   "GPUS", "BF16",       "NVFP4",
                                       "NVLINK", "NIC",  "DESCRIPTION"};
    char **names = ms_data_list(FOLDER, SUFFIX);
    struct ms_table *table = ms_table_new("lrrrrrl");
    enum ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (size_t i = 0; names[i] && status == MS_OK; i++) {
        struct ms_topology topo;
        status = ms_topology_load(names[i], &topo, err);
        if (status == MS_OK)
            list_row(table, &topo);
    }
    if (status == MS_OK) {
        ms_table_print(table, 0, out);
        ms_buf_puts(out,
                    "\nGPUS per NVLink domain. Per GPU: dense peaks in TFLOP/s; NVLINK and NIC "
                    "usable, one\ndirection, in GB/s.\n");
    }
    ms_table_free(table);
    ms_data_list_free(names);
    return status;
}

/* Which of the known values is the one in use. */
static const char *kind_of(const struct ms_figure *f)
{
    const struct {
        const char *name;
        double value;
    } kinds[] = {{"measured", f->measured},
                 {"derived", f->derived},
                 {"datasheet", f->datasheet},
                 {"unverified", f->unverified}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!isnan(kinds[i].value))
            return kinds[i].name;
    return "-";
}

static void show_figure(struct ms_table *table, const struct ms_field *field,
                        const struct ms_figure *f)
{
    const double values[] = {f->measured, f->derived, f->datasheet, f->unverified};
    const char *kind = kind_of(f);
    ms_table_cell(table, "%s", field->name);
    if (kind[0] == '-')
        ms_table_cell(table, "none");
    else
        cell_figure(table, f->value, field->quantity);
    ms_table_cell(table, "%s", PRINT_UNITS[field->quantity].name);
    ms_table_cell(table, "%s", kind);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        cell_figure(table, values[i], field->quantity);
}

static void show_plain(struct ms_table *table, const struct ms_field *field,
                       const struct ms_topology *topo)
{
    struct ms_buf text = {0};
    ms_field_format(field, topo, &text);
    ms_table_cell(table, "%s", field->name);
    ms_table_cell(table, "%s", text.text);
    for (int i = 0; i < 6; i++)
        ms_table_cell(table, "%s", "");
    ms_buf_free(&text);
}

/* Appends `text` word by word, starting in column `column`, later lines indented by `indent`. */
static void wrap(const char *text, size_t column, size_t indent, struct ms_buf *out)
{
    const char *separator = "";
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column + strlen(separator) + n > WIDTH && column > indent) {
            ms_buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            separator = "";
        }
        ms_buf_puts(out, separator);
        ms_buf_add(out, p, n);
        column += strlen(separator) + n;
        separator = " ";
        p += n;
        p += strspn(p, " ");
    }
    ms_buf_puts(out, "\n");
}

/* "key: text", wrapped. */
static void show_text(size_t indent, const char *key, const char *text, struct ms_buf *out)
{
    ms_buf_printf(out, "%*s%s: ", (int)indent, "", key);
    wrap(text, indent + strlen(key) + 2, indent + 4, out);
}

static void show_section(const struct ms_field *section, const struct ms_topology *topo,
                         struct ms_buf *out)
{
    static const char *const head[] = {"",         "used",    "unit",      "kind",
                                       "measured", "derived", "datasheet", "unverified"};
    struct ms_table *table = ms_table_new("lrllrrrr");
    ms_buf_printf(out, "\n%s: %s\n", section->name, section->help);
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        ms_table_cell(table, "%s", head[i]);
    for (size_t i = 0; i < section->n_sub; i++) {
        const struct ms_field *f = &section->sub[i];
        if (f->kind == MS_FIELD_FIGURE)
            show_figure(table, f, figure_of(topo, f));
        else if (f->kind == MS_FIELD_STRING)
            show_text(2, f->name, (const char *)topo + f->offset, out);
        else
            show_plain(table, f, topo);
    }
    ms_table_print(table, 2, out);
    ms_table_free(table);
    ms_buf_puts(out, "  sources\n");
    for (size_t i = 0; i < section->n_sub; i++) {
        const struct ms_field *f = &section->sub[i];
        if (f->kind == MS_FIELD_FIGURE && figure_of(topo, f)->source[0])
            show_text(4, f->name, figure_of(topo, f)->source, out);
    }
}

void ms_topology_show(const struct ms_topology *topo, struct ms_buf *out)
{
    for (size_t i = 0; i < N_TOPOLOGY; i++) {
        const struct ms_field *f = &TOPOLOGY[i];
        if (f->kind == MS_FIELD_SECTION)
            show_section(f, topo, out);
        else
            show_text(0, f->name, (const char *)topo + f->offset, out);
    }
}
