/* commands.c - the table of subcommands and the choice among them. */
#include "cli/commands.h"

#include "base/field.h"

#include <string.h>

static const struct ms_command COMMANDS[] = {
    {"predict", "predict one training step (the command if none is named)", ms_cmd_predict},
    {"topology", "list, show and check descriptions of systems", ms_cmd_topology},
    {"model", "list and show models: parameters, FLOP per token, layers", ms_cmd_model},
    {"help", "explain moesim or one of its commands", ms_cmd_help},
};
enum { N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

const struct ms_command *ms_commands_list(size_t *n)
{
    *n = N_COMMANDS;
    return COMMANDS;
}

static enum ms_status fail_unknown(const char *name, struct ms_error *err)
{
    const char *names[N_COMMANDS];
    struct ms_buf known = {0};
    const char *nearest;
    enum ms_status status;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        names[i] = COMMANDS[i].name;
        ms_buf_printf(&known, "%s%s", i ? ", " : "", COMMANDS[i].name);
    }
    nearest = ms_names_nearest(names, N_COMMANDS, name);
    status = ms_fail(err, MS_E_USAGE, NULL, "unknown command '%.60s'%s%s%s known commands: %s",
                     name, nearest ? "; did you mean '" : ";", nearest ? nearest : "",
                     nearest ? "'?" : "", known.text);
    ms_buf_free(&known);
    return status;
}

enum ms_status ms_commands_find(const char *name, const struct ms_command **out,
                                struct ms_error *err)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            *out = &COMMANDS[i];
            return MS_OK;
        }
    }
    return fail_unknown(name, err);
}

enum ms_status ms_commands_run(int argc, char **argv, struct ms_buf *out, struct ms_error *err)
{
    static char help[] = "help";
    char *help_argv[] = {help, NULL};
    const struct ms_command *command;
    enum ms_status status;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        ms_cmd_help_version(out);
        return MS_OK;
    }
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return ms_cmd_help(1, help_argv, out, err);
    if (argc < 2 || argv[1][0] == '-')
        return ms_cmd_predict(argc, argv, out, err);
    status = ms_commands_find(argv[1], &command, err);
    if (status != MS_OK)
        return status;
    return command->run(argc - 1, argv + 1, out, err);
}
