/* commands.h - the subcommands of moesim. Each is a function from arguments to text; main.c writes it.
 *
 * argv[0] is the command's own name. Results are appended to `out`, which is written to stdout only if
 * the status is MS_OK or MS_E_NO (the answer is no, and stands in `out`).
 */
#ifndef MS_CLI_COMMANDS_H
#define MS_CLI_COMMANDS_H

#include "base/buf.h"

typedef enum ms_status ms_command_fn(int argc, char **argv, struct ms_buf *out,
                                     struct ms_error *err);

struct ms_command {
    const char *name;
    const char *summary; /* one line for `moesim help` */
    ms_command_fn *run;
};

/* All commands, in the order of help; *n entries. */
const struct ms_command *ms_commands_list(size_t *n);

/* The command called `name`; MS_E_USAGE with the nearest and all known names if there is none. */
MS_MUST_CHECK enum ms_status ms_commands_find(const char *name, const struct ms_command **out,
                                              struct ms_error *err);

/* Runs what the arguments of main ask for: a command, or predict if the first is an option or absent. */
ms_command_fn ms_commands_run;

/* cmd_predict.c: one training step. MS_E_NO if it does not fit in memory. */
ms_command_fn ms_cmd_predict;
/* cmd_topology.c: list | show NAME|FILE | check FILE */
ms_command_fn ms_cmd_topology;
/* cmd_model.c: list | show NAME|FILE */
ms_command_fn ms_cmd_model;
/* cmd_help.c: help [COMMAND]; with --options instead the options of COMMAND, for shell completion. */
ms_command_fn ms_cmd_help;

/* What --version prints: version, licence, what kernels can be measured with. */
void ms_cmd_help_version(struct ms_buf *out);

#endif
