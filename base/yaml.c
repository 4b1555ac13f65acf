#include "base/yaml.h"

#include "base/file.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

/* Levels of nesting; the deepest field table has four. */
enum { DEPTH_MAX = 32 };

/* Where the settings of one mapping go. */
struct target {
    const struct ms_field *fields;
    size_t n;
    void *object;
    bool *given; /* may be NULL */
};

/* What every level of the walk needs. */
struct reader {
    const char *name;
    yaml_document_t *doc;
    struct ms_error *err;
};

static const char *where(const struct reader *r, const yaml_node_t *node, const char *key,
                         char out[MS_TEXT_MAX])
{
    snprintf(out, MS_TEXT_MAX, "%.120s:%zu%s%.100s", r->name, node->start_mark.line + 1,
             key[0] ? ":" : "", key);
    return out;
}

static const char *scalar(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* A scalar without a NUL inside: the rest of the program works with C strings. */
static bool is_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && strlen(scalar(node)) == node->data.scalar.length;
}

/* The key of pair `p` as text, checked to be unique within the mapping. */
static enum ms_status pair_key(const struct reader *r, const yaml_node_t *map,
                               const yaml_node_pair_t *p, const char **key)
{
    const yaml_node_t *k = yaml_document_get_node(r->doc, p->key);
    char at[MS_TEXT_MAX];
    if (!is_text(k))
        return ms_fail(r->err, MS_E_INPUT, where(r, k, "", at), "a key must be plain text");
    for (const yaml_node_pair_t *q = map->data.mapping.pairs.start; q < p; q++)
        if (strcmp(scalar(yaml_document_get_node(r->doc, q->key)), scalar(k)) == 0)
            return ms_fail(r->err, MS_E_INPUT, where(r, k, scalar(k), at), "the key stands twice");
    *key = scalar(k);
    return MS_OK;
}

static const struct ms_field FIGURE_FIELDS[] = {
    {.name = "measured", .kind = MS_FIELD_REAL, .offset = offsetof(struct ms_figure, measured)},
    {.name = "derived", .kind = MS_FIELD_REAL, .offset = offsetof(struct ms_figure, derived)},
    {.name = "datasheet", .kind = MS_FIELD_REAL, .offset = offsetof(struct ms_figure, datasheet)},
    {.name = "unverified", .kind = MS_FIELD_REAL, .offset = offsetof(struct ms_figure, unverified)},
    {.name = "source",
     .kind = MS_FIELD_STRING,
     .offset = offsetof(struct ms_figure, source),
     .required = true},
};
enum { N_FIGURE_FIELDS = sizeof(FIGURE_FIELDS) / sizeof(FIGURE_FIELDS[0]) };

static enum ms_status read_mapping(const struct reader *r, const yaml_node_t *map,
                                   const char *prefix, const struct target *to);

static enum ms_status read_figure(const struct reader *r, const yaml_node_t *map, const char *path,
                                  const struct ms_field *field, void *object)
{
    struct ms_figure figure = {nan(""), nan(""), nan(""), nan(""), nan(""), ""};
    struct ms_field fields[N_FIGURE_FIELDS];
    char at[MS_TEXT_MAX];
    enum ms_status status;
    memcpy(fields, FIGURE_FIELDS, sizeof(fields));
    for (size_t i = 0; i < N_FIGURE_FIELDS; i++) {
        fields[i].quantity = field->quantity;
        fields[i].min = field->min;
        fields[i].max = field->max;
    }
    status = read_mapping(r, map, path, &(struct target){fields, N_FIGURE_FIELDS, &figure, NULL});
    if (status != MS_OK)
        return status;
    {
        const double by_trust[] = {figure.measured, figure.derived, figure.datasheet,
                                   figure.unverified};
        for (int i = 3; i >= 0; i--)
            if (!isnan(by_trust[i]))
                figure.value = by_trust[i];
    }
    if (isnan(figure.value))
        return ms_fail(r->err, MS_E_INPUT, where(r, map, path, at),
                       "has no value: give measured, derived, datasheet or unverified");
    memcpy((char *)object + field->offset, &figure, sizeof(figure));
    return MS_OK;
}

static enum ms_status read_value(const struct reader *r, const yaml_node_t *value, const char *path,
                                 const struct ms_field *field, void *object)
{
    char at[MS_TEXT_MAX];
    if (value->type == YAML_MAPPING_NODE && field->kind == MS_FIELD_SECTION)
        return read_mapping(r, value, path,
                            &(struct target){field->sub, field->n_sub, object, NULL});
    if (value->type == YAML_MAPPING_NODE && field->kind == MS_FIELD_FIGURE)
        return read_figure(r, value, path, field, object);
    if (!is_text(value))
        return ms_fail(r->err, MS_E_INPUT, where(r, value, path, at), "must be a single value");
    return ms_field_parse(field, object, scalar(value), where(r, value, path, at), r->err);
}

static enum ms_status read_pair(const struct reader *r, const yaml_node_t *map,
                                const yaml_node_pair_t *p, const char *prefix,
                                const struct target *to)
{
    const yaml_node_t *key_node = yaml_document_get_node(r->doc, p->key);
    char path[MS_TEXT_MAX], at[MS_TEXT_MAX];
    const struct ms_field *field;
    const char *key = NULL, *nearest;
    enum ms_status status = pair_key(r, map, p, &key);
    if (status != MS_OK)
        return status;
    snprintf(path, sizeof(path), "%.120s%s%.80s", prefix, prefix[0] ? "." : "", key);
    field = ms_fields_find(to->fields, to->n, key);
    if (!field) {
        nearest = ms_fields_nearest(to->fields, to->n, key);
        return ms_fail(r->err, MS_E_INPUT, where(r, key_node, path, at), "unknown key%s%s%s",
                       nearest ? "; did you mean '" : "", nearest ? nearest : "",
                       nearest ? "'?" : "");
    }
    for (const yaml_node_pair_t *q = map->data.mapping.pairs.start; q < p; q++)
        if (ms_fields_find(field, 1, scalar(yaml_document_get_node(r->doc, q->key))))
            return ms_fail(r->err, MS_E_INPUT, where(r, key_node, path, at),
                           "the setting '%s' stands twice, under two names", field->name);
    if (to->given)
        to->given[field - to->fields] = true;
    return read_value(r, yaml_document_get_node(r->doc, p->value), path, field, to->object);
}

static bool has_key(const struct reader *r, const yaml_node_t *map, const struct ms_field *field)
{
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++)
        if (ms_fields_find(field, 1, scalar(yaml_document_get_node(r->doc, p->key))))
            return true;
    return false;
}

static enum ms_status read_mapping(const struct reader *r, const yaml_node_t *map,
                                   const char *prefix, const struct target *to)
{
    char at[MS_TEXT_MAX];
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        enum ms_status status = read_pair(r, map, p, prefix, to);
        if (status != MS_OK)
            return status;
    }
    for (size_t i = 0; i < to->n; i++)
        if (to->fields[i].required && !has_key(r, map, &to->fields[i]))
            return ms_fail(r->err, MS_E_INPUT, where(r, map, prefix, at), "the key '%s' is missing",
                           to->fields[i].name);
    return MS_OK;
}

static enum ms_status read_document(const struct reader *r, const struct target *to)
{
    const yaml_node_t *root = yaml_document_get_root_node(r->doc);
    char at[MS_TEXT_MAX];
    if (!root)
        return ms_fail(r->err, MS_E_INPUT, r->name, "is empty; a mapping of keys is expected");
    if (root->type != YAML_MAPPING_NODE)
        return ms_fail(r->err, MS_E_INPUT, where(r, root, "", at), "must be a mapping of keys");
    return read_mapping(r, root, "", to);
}

static enum ms_status fail_parser(const yaml_parser_t *parser, const char *name,
                                  struct ms_error *err)
{
    char at[MS_TEXT_MAX];
    snprintf(at, sizeof(at), "%.120s:%zu", name, parser->problem_mark.line + 1);
    return ms_fail(err, MS_E_INPUT, at, "is not valid YAML: %s",
                   parser->problem ? parser->problem : "unreadable");
}

/* What is wrong with this event for a plain file of settings, or NULL. `depth` and `documents` count. */
static const char *objection(const yaml_event_t *event, int *depth, int *documents)
{
    const yaml_char_t *anchor = NULL;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++*documents > 1 ? "a second document starts; only one is read" : NULL;
    case YAML_ALIAS_EVENT:
        return "aliases (*name) are not allowed; write the value out";
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        ++*depth;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        ++*depth;
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        --*depth;
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
    if (anchor)
        return "anchors (&name) are not allowed; write the value out";
    return *depth > DEPTH_MAX ? "is nested too deeply" : NULL;
}

/* Walks the whole stream once before anything is built from it: the document API would resolve aliases,
 * also circular ones, and stop after the first document. */
static enum ms_status check_events(const char *name, const struct ms_buf *text,
                                   struct ms_error *err)
{
    int depth = 0, documents = 0;
    bool at_end = false;
    enum ms_status status = MS_OK;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return ms_fail(err, MS_E_RUNTIME, name, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->text, text->length);
    while (status == MS_OK && !at_end) {
        const char *problem;
        yaml_event_t event;
        char at[MS_TEXT_MAX];
        if (!yaml_parser_parse(&parser, &event)) {
            status = fail_parser(&parser, name, err);
            break;
        }
        problem = objection(&event, &depth, &documents);
        snprintf(at, sizeof(at), "%.120s:%zu", name, event.start_mark.line + 1);
        if (problem)
            status = ms_fail(err, MS_E_INPUT, at, "%s", problem);
        at_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): the interface has seven arguments */
enum ms_status ms_yaml_read_text(const char *name, const struct ms_buf *text,
                                 const struct ms_field *fields, size_t n, void *object, bool *given,
                                 struct ms_error *err)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    enum ms_status status = check_events(name, text, err);
    if (status != MS_OK)
        return status;
    if (!yaml_parser_initialize(&parser))
        return ms_fail(err, MS_E_RUNTIME, name, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text->text, text->length);
    if (!yaml_parser_load(&parser, &doc)) {
        status = fail_parser(&parser, name, err);
    } else {
        struct reader r = {name, &doc, err};
        status = read_document(&r, &(struct target){fields, n, object, given});
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    return status;
}

enum ms_status ms_yaml_read(const char *path, const struct ms_field *fields, size_t n, void *object,
                            bool *given, struct ms_error *err)
{
    struct ms_buf text = {0};
    enum ms_status status = ms_file_read(path, MS_YAML_MAX_BYTES, &text, err);
    if (status == MS_OK)
        status = ms_yaml_read_text(path, &text, fields, n, object, given, err);
    ms_buf_free(&text);
    return status;
}
