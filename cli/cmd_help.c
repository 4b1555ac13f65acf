/* cmd_help.c - `moesim help`, `moesim --help` and `moesim --version`. */
#include "base/buf.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "kernels/backend.h"

#include <string.h>

static const char ABOUT[] =
    "Without COMMAND, an overview; with it, the same as `moesim COMMAND --help`.";
static const char OVERVIEW_HEAD[] =
    "moesim predicts how long a training step of a large Mixture-of-Experts model\n"
    "takes on GPU clusters such as NVL72 systems, where the time goes, whether it\n"
    "fits in memory, and how sure that is.\n"
    "\n"
    "Usage: moesim [predict] [OPTION...]\n"
    "       moesim COMMAND [ARGUMENT...] [OPTION...]\n"
    "\n"
    "Commands:\n";
static const char OVERVIEW_TAIL[] =
    "\n"
    "Examples:\n"
    "  moesim --topology gb300_nvl72 --gpus 1024\n"
    "  moesim --model qwen3-235b --topology gb200_nvl72 --gpus 256 --format json\n"
    "  moesim --scaling 64,128,256,512,1024\n"
    "  moesim --print-config > run.yaml; moesim --recipe run.yaml --ep 32\n"
    "  moesim topology list\n"
    "  moesim model show deepseek-v3\n"
    "\n"
    "`moesim help COMMAND` lists the options of a command; see also man moesim.\n"
    "Exit status: 0 done; 1 the answer is no (does not fit); 2 wrong usage or input;\n"
    "3 failure at run time.\n";

static void overview(struct ms_buf *out)
{
    size_t n;
    const struct ms_command *commands = ms_commands_list(&n);
    ms_buf_puts(out, OVERVIEW_HEAD);
    for (size_t i = 0; i < n; i++)
        ms_buf_printf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    ms_buf_puts(out, OVERVIEW_TAIL);
}

/* Runs `name` with the single option `option`. */
static enum ms_status ask(const char *name, const char *option, struct ms_buf *out,
                          struct ms_error *err)
{
    char command_name[MS_TEXT_MAX], word[MS_TEXT_MAX];
    char *argv[] = {command_name, word, NULL};
    const struct ms_command *command;
    enum ms_status status = ms_commands_find(name, &command, err);
    if (status != MS_OK)
        return status;
    snprintf(command_name, sizeof(command_name), "%s", name);
    snprintf(word, sizeof(word), "%s", option);
    return command->run(2, argv, out, err);
}

static void command_names(struct ms_buf *out)
{
    size_t n;
    const struct ms_command *commands = ms_commands_list(&n);
    for (size_t i = 0; i < n; i++)
        ms_buf_printf(out, "%s\n", commands[i].name);
}

enum ms_status ms_cmd_help(int argc, char **argv, struct ms_buf *out, struct ms_error *err)
{
    struct flags {
        bool commands, options;
    } flags = {false, false};
    const struct ms_field fields[] = {
        {.name = "commands",
         .kind = MS_FIELD_BOOL,
         .offset = offsetof(struct flags, commands),
         .help = "only the names of the commands, for shell completion"},
        {.name = "options",
         .kind = MS_FIELD_BOOL,
         .offset = offsetof(struct flags, options),
         .help = "only the options of COMMAND and the names they take, for shell completion"},
    };
    const struct ms_option_group group = {"Options:", fields, 2, &flags, NULL};
    const char *name = NULL;
    size_t n = 0;
    bool done;
    enum ms_status status = ms_options_parse(
        &(struct ms_options){"moesim help", "[COMMAND]", ABOUT, &group, 1, &name, 1, &n}, argc,
        argv, &done, out, err);
    if (status != MS_OK || done)
        return status;
    if (flags.commands)
        command_names(out);
    else if (flags.options)
        return ask(n ? name : "predict", "--list-options", out, err);
    else if (n)
        return ask(name, "--help", out, err);
    else
        overview(out);
    return MS_OK;
}

void ms_cmd_help_version(struct ms_buf *out)
{
    ms_buf_puts(out, "moesim " MS_VERSION "\n"
                     "Licence GPL-3.0-or-later: GNU GPL version 3 or later "
                     "<https://gnu.org/licenses/gpl.html>.\n"
                     "This is free software: you are free to change and redistribute it.\n"
                     "There is NO WARRANTY, to the extent permitted by law.\n\n");
    ms_backend_print(out);
}
