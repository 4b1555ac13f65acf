/* fuzz_yaml.c - libFuzzer target: any text as a topology, and as a mapping of every field kind. */
#include "base/yaml.h"
#include "topologies/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sample {
    bool on;
    int64_t count;
    double size_bytes;
    int colour;
    uint32_t parts;
    char name[MS_TEXT_MAX];
    struct ms_int_list list;
    struct ms_figure figure;
};

static const char *const COLOURS[] = {"red", "green", NULL};

#define MEMBER(field_name, member, field_kind)                                                     \
    .name = (field_name), .kind = (field_kind), .offset = offsetof(struct sample, member)

static const struct ms_field INNER[] = {
    {MEMBER("size", size_bytes, MS_FIELD_REAL), .quantity = MS_QUANTITY_SIZE, .max = 1e15},
    {MEMBER("figure", figure, MS_FIELD_FIGURE), .quantity = MS_QUANTITY_BANDWIDTH},
};

static const struct ms_field FIELDS[] = {
    {MEMBER("on", on, MS_FIELD_BOOL)},
    {MEMBER("count", count, MS_FIELD_INT), .alias = "number", .min = -5, .max = 100},
    {MEMBER("colour", colour, MS_FIELD_ENUM), .names = COLOURS},
    {MEMBER("parts", parts, MS_FIELD_FLAGS), .names = COLOURS},
    {MEMBER("name", name, MS_FIELD_STRING), .required = true},
    {MEMBER("list", list, MS_FIELD_INT_LIST), .min = 1, .max = 9},
    {.name = "inner",
     .kind = MS_FIELD_SECTION,
     .sub = INNER,
     .n_sub = sizeof(INNER) / sizeof(INNER[0])},
};

enum { N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_topology topo;
    struct sample sample = {0};
    bool given[N_FIELDS] = {false};
    struct ms_error err = {0};
    struct ms_buf text = {0};
    enum ms_status status;
    ms_buf_add(&text, (const char *)data, size);
    status = ms_topology_parse("fuzz", &text, &topo, &err);
    MS_REQUIRE(status == MS_OK || (status == MS_E_INPUT && err.text[0]));
    ms_fields_defaults(FIELDS, N_FIELDS, &sample);
    status = ms_yaml_read_text("fuzz", &text, FIELDS, N_FIELDS, &sample, given, &err);
    MS_REQUIRE(status == MS_OK || (status == MS_E_INPUT && err.text[0]));
    MS_REQUIRE(status != MS_OK || (sample.count >= -5 && sample.count <= 100));
    ms_buf_free(&text);
    return 0;
}
