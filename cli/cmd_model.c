/* cmd_model.c - `moesim model`: what models are built in, and what a config.json means. */
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "model/arch.h"

#include <stdlib.h>

static const char USAGE[] = "list\nshow NAME|FILE [OPTION...]";
static const char ABOUT[] =
    "Models as read from a Hugging Face config.json. "
    "list prints the models that come with moesim; show prints layers, exact parameter counts and "
    "FLOP per token of one of them or of any config.json.";
static const char *const FORMATS[] = {"table", "json", NULL};

struct settings {
    int64_t seq_len, mtp;
    int format; /* index in FORMATS */
};
static const struct ms_field FIELDS[] = {
    {.name = "seq-len",
     .alias = "seq-length",
     .kind = MS_FIELD_INT,
     .offset = offsetof(struct settings, seq_len),
     .min = 1,
     .max = 1 << 24,
     .default_text = "4096",
     .help = "tokens per sequence, for the work of attention"},
    {.name = "mtp",
     .alias = "mtp-num-layers",
     .kind = MS_FIELD_INT,
     .offset = offsetof(struct settings, mtp),
     .min = 0,
     .max = 8,
     .default_text = "0",
     .help = "multi-token-prediction modules counted in FLOP"},
    {.name = "format",
     .kind = MS_FIELD_ENUM,
     .offset = offsetof(struct settings, format),
     .names = FORMATS,
     .default_text = "table",
     .help = "how to print"},
};
enum { N_FIELDS = sizeof(FIELDS) / sizeof(FIELDS[0]) };

static enum ms_status show(const char *name, const struct settings *settings, struct ms_buf *out,
                           struct ms_error *err)
{
    struct ms_arch *arch = ms_calloc(1, sizeof(*arch));
    enum ms_status status = ms_arch_load(name, arch, err);
    if (status == MS_OK)
        ms_arch_show(arch, settings->seq_len, settings->mtp, settings->format == 1, out);
    free(arch);
    return status;
}

/* Options of show mean nothing to list. */
static enum ms_status check_list(const bool *given, struct ms_error *err)
{
    char where[MS_TEXT_MAX];
    for (size_t i = 0; i < N_FIELDS; i++) {
        snprintf(where, sizeof(where), "--%s", FIELDS[i].name);
        if (given[i])
            return ms_fail(err, MS_E_USAGE, where, "is an option of show, not of list");
    }
    return MS_OK;
}

enum ms_status ms_cmd_model(int argc, char **argv, struct ms_buf *out, struct ms_error *err)
{
    static const char *const verbs[] = {"list", "show", NULL};
    const char *arguments[2] = {NULL, NULL};
    struct settings settings = {0};
    bool given[N_FIELDS] = {false}, done;
    const struct ms_option_group group = {"Options of show:", FIELDS, N_FIELDS, &settings, given};
    size_t n = 0;
    int verb = 0;
    enum ms_status status;
    ms_fields_defaults(FIELDS, N_FIELDS, &settings);
    status = ms_options_parse(
        &(struct ms_options){"moesim model", USAGE, ABOUT, &group, 1, arguments, 2, &n}, argc, argv,
        &done, out, err);
    if (status != MS_OK || done)
        return status;
    status = ms_options_verb("model", verbs, arguments, n, &verb, err);
    if (status != MS_OK)
        return status;
    if (verb == 1)
        return show(arguments[1], &settings, out, err);
    status = check_list(given, err);
    return status == MS_OK ? ms_arch_list(out, err) : status;
}
