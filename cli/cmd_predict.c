/* cmd_predict.c - `moesim predict`: reads settings, predicts, prints one report or by-product.
 *
 * Nothing is written unless everything succeeded: the timeline goes to its file first, then main writes
 * the report. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"
#include "sim/predict.h"

#include <stdlib.h>
#include <string.h>

static const char ABOUT[] =
    "Predicts one training step. Everything has a default; the report says which were chosen. "
    "A setting comes from the command line, else from --recipe, else from the recipe that comes "
    "with moesim for this model and system, else it is chosen or has the default shown. Exit "
    "status 1 says that the step was predicted but does not fit in GPU memory.";

static const char *const FORMATS[] = {"table", "json", "csv", NULL};
enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };
static const char *const DUMPS[] = {"none", "layout", "traffic", "ops", "platform", NULL};

/* Options of predict that are not settings of the step. */
struct settings {
    char recipe[MS_TEXT_MAX];
    int format; /* enum format */
    char timeline[MS_TEXT_MAX];
    int64_t timeline_replica;
    struct ms_int_list scaling;
    bool print_config;
    int dump; /* enum ms_dump */
    bool quiet;
};
#define AT(member) .offset = offsetof(struct settings, member)
enum {
    SET_RECIPE,
    SET_FORMAT,
    SET_TIMELINE,
    SET_TIMELINE_REPLICA,
    SET_SCALING,
    SET_PRINT_CONFIG,
    SET_DUMP,
    SET_QUIET,
    N_SETTINGS
};
static const struct ms_field SETTINGS[N_SETTINGS] = {
    [SET_RECIPE] = {.name = "recipe",
                    .kind = MS_FIELD_STRING,
                    AT(recipe),
                    .help = "YAML file of settings, as --print-config prints"},
    [SET_FORMAT] = {.name = "format",
                    .kind = MS_FIELD_ENUM,
                    AT(format),
                    .names = FORMATS,
                    .default_text = "table",
                    .help = "how to print the prediction"},
    [SET_TIMELINE] = {.name = "timeline",
                      .kind = MS_FIELD_STRING,
                      AT(timeline),
                      .help = "also write a Chrome trace (JSON; Perfetto reads it) to this file"},
    [SET_TIMELINE_REPLICA] = {.name = "timeline-replica",
                              .kind = MS_FIELD_INT,
                              AT(timeline_replica),
                              .min = 0,
                              .max = 1 << 20,
                              .default_text = "0",
                              .help = "which simulated replica the timeline shows"},
    [SET_SCALING] = {.name = "scaling",
                     .kind = MS_FIELD_INT_LIST,
                     AT(scaling),
                     .min = 1,
                     .max = 1 << 20,
                     .help = "also a weak scaling curve over these numbers of GPUs"},
    [SET_PRINT_CONFIG] = {.name = "print-config",
                          .kind = MS_FIELD_BOOL,
                          AT(print_config),
                          .default_text = "false",
                          .help = "print every effective setting instead, for --recipe"},
    [SET_DUMP] = {.name = "dump",
                  .kind = MS_FIELD_ENUM,
                  AT(dump),
                  .names = DUMPS,
                  .default_text = "none",
                  .help = "print a stage of the computation instead"},
    [SET_QUIET] = {.name = "quiet",
                   .kind = MS_FIELD_BOOL,
                   AT(quiet),
                   .default_text = "false",
                   .help = "no warnings on stderr"},
};

/* Everything of one run; large. */
struct job {
    struct settings settings;
    bool settings_given[N_SETTINGS];
    struct ms_recipe recipe;
    bool given[MS_RECIPE_FIELDS_MAX];
    struct ms_prediction prediction;
    struct ms_scaling_point scaling[MS_SCALING_MAX];
    struct ms_buf timeline, dump;
};

static enum ms_status parse(struct job *job, int argc, char **argv, bool *done, struct ms_buf *out,
                            struct ms_error *err)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    const struct ms_option_group groups[] = {
        {"Settings of the step, also keys of a recipe file:", fields, n, &job->recipe, job->given},
        {"What to print:", SETTINGS, N_SETTINGS, &job->settings, job->settings_given},
    };
    const struct ms_options options = {
        "moesim predict", "[OPTION...]", ABOUT, groups, 2, NULL, 0, NULL};
    return ms_options_parse(&options, argc, argv, done, out, err);
}

/* Options that exclude each other, or need each other. */
static enum ms_status check_settings(const struct job *job, struct ms_error *err)
{
    const struct settings *s = &job->settings;
    const bool curve = s->scaling.n > 0, timeline = job->settings_given[SET_TIMELINE];
    const bool dump = s->dump != MS_DUMP_NONE, other = s->print_config || dump;
    const struct {
        bool wrong;
        const char *option, *text;
    } rules[] = {
        {s->print_config && dump, "--print-config",
         "does not go with --dump: both print instead "
         "of the report"},
        {other && job->settings_given[SET_FORMAT], "--format",
         "is for the report, which --print-config and --dump leave out"},
        {other && curve, "--scaling",
         "is part of the report, which --print-config and --dump leave out"},
        {timeline && !s->timeline[0], "--timeline", "needs the name of a file"},
        {timeline && strcmp(s->timeline, "-") == 0, "--timeline",
         "needs the name of a file: stdout has the report"},
        {job->settings_given[SET_TIMELINE_REPLICA] && !timeline, "--timeline-replica",
         "needs --timeline"},
        {job->settings_given[SET_RECIPE] && !s->recipe[0], "--recipe", "needs the name of a file"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return ms_fail(err, MS_E_USAGE, rules[i].option, "%s", rules[i].text);
    return MS_OK;
}

/* Once to know --recipe and to refuse a bad command line before any file is read; then the file, and the
 * command line again on top of it. */
static enum ms_status read_settings(struct job *job, int argc, char **argv, bool *done,
                                    struct ms_buf *out, struct ms_error *err)
{
    size_t n;
    const struct ms_field *fields = ms_recipe_fields(&n);
    enum ms_status status;
    MS_REQUIRE(n <= MS_RECIPE_FIELDS_MAX);
    ms_fields_defaults(fields, n, &job->recipe);
    ms_fields_defaults(SETTINGS, N_SETTINGS, &job->settings);
    status = parse(job, argc, argv, done, out, err);
    if (status == MS_OK && !*done)
        status = check_settings(job, err);
    if (status != MS_OK || *done || !job->settings_given[SET_RECIPE])
        return status;
    memset(job->given, 0, sizeof(job->given));
    ms_fields_defaults(fields, n, &job->recipe);
    status = ms_recipe_read(job->settings.recipe, &job->recipe, job->given, err);
    if (status != MS_OK)
        return status;
    return parse(job, argc, argv, done, out, err);
}

static enum ms_status predict(struct job *job, struct ms_error *err)
{
    const struct settings *s = &job->settings;
    const struct ms_predict_extras extras = {
        .timeline = job->settings_given[SET_TIMELINE] ? &job->timeline : NULL,
        .timeline_replica = s->timeline_replica,
        .dump = s->dump != MS_DUMP_NONE ? &job->dump : NULL,
        .dump_what = s->dump,
    };
    enum ms_status status = ms_predict(&job->recipe, job->given, &extras, &job->prediction, err);
    if (status == MS_OK && s->scaling.n)
        status = ms_predict_scaling(&job->recipe, job->given, &s->scaling, job->scaling, err);
    if (status == MS_OK && extras.timeline)
        status = ms_file_write(s->timeline, &job->timeline, err);
    return status;
}

/* Whether it fits was asked by whoever asked for the report. */
static enum ms_status print(const struct job *job, struct ms_buf *out)
{
    static void (*const printers[])(const struct ms_report *, struct ms_buf *) = {
        [FORMAT_TABLE] = ms_report_table,
        [FORMAT_JSON] = ms_report_json,
        [FORMAT_CSV] = ms_report_csv,
    };
    const struct ms_prediction *p = &job->prediction;
    const struct ms_report report = {p, job->scaling, job->settings.scaling.n};
    if (job->settings.print_config) {
        ms_recipe_print(&p->recipe, out);
        return MS_OK;
    }
    if (job->settings.dump != MS_DUMP_NONE) {
        ms_buf_add(out, job->dump.text ? job->dump.text : "", job->dump.length);
        return MS_OK;
    }
    printers[job->settings.format](&report, out);
    if (p->memory.fits)
        return MS_OK;
    ms_log(MS_LOG_WARN, "does not fit: pipeline stage %lld needs %.1f GiB of the %.1f GiB of a GPU",
           (long long)p->memory.stage, p->memory.peak_bytes / 0x1p30,
           p->memory.capacity_bytes / 0x1p30);
    return MS_E_NO;
}

enum ms_status ms_cmd_predict(int argc, char **argv, struct ms_buf *out, struct ms_error *err)
{
    struct job *job = ms_calloc(1, sizeof(*job));
    bool done = false;
    enum ms_status status = read_settings(job, argc, argv, &done, out, err);
    if (status != MS_OK || done)
        goto out;
    ms_log_set_level(job->settings.quiet ? MS_LOG_QUIET : MS_LOG_WARN);
    status = predict(job, err);
    if (status == MS_OK)
        status = print(job, out);
out:
    ms_buf_free(&job->timeline);
    ms_buf_free(&job->dump);
    free(job);
    return status;
}
