/* yaml.h - reads a YAML mapping into a struct by its field table (field.h), with the line of each fault.
 *
 * libyaml's document API keeps every node's line, which libcyaml drops after loading; that is why this
 * sits on libyaml. Unknown, duplicate and missing keys, anchors, nested surprises and files over
 * MS_YAML_MAX_BYTES are errors. All scalars are text to us: 450GBps never becomes 450.
 */
#ifndef MS_BASE_YAML_H
#define MS_BASE_YAML_H

#include "base/field.h"

enum { MS_YAML_MAX_BYTES = 1 << 20 };

/* Reads file `path` into `object`. Members whose key is absent keep their value (set defaults first),
 * unless `required`. `given` (may be NULL) has n entries: true where the top-level key was present.
 * On error `object` is in an unspecified state. MS_E_INPUT with "path:line:key". */
MS_MUST_CHECK enum ms_status ms_yaml_read(const char *path, const struct ms_field *fields, size_t n,
                                          void *object, bool *given, struct ms_error *err);

/* The same from text already in memory; `name` stands for the file in messages. */
MS_MUST_CHECK enum ms_status ms_yaml_read_text(const char *name, const struct ms_buf *text,
                                               const struct ms_field *fields, size_t n,
                                               void *object, bool *given, struct ms_error *err);

#endif
