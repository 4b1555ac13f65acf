/* main.c - the moesim program: runs a command, writes its result, prints an error once.
 *
 * Exit status: 0 done, 1 the answer is no, 2 wrong usage or input, 3 failure at run time. */
#include "base/file.h"
#include "cli/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>

/* A reader that went away (| head) needs no message; a full disk does. */
static enum ms_status write_result(const struct ms_buf *out, bool *quiet, struct ms_error *err)
{
    enum ms_status status;
    errno = 0;
    status = ms_file_write("-", out, err);
    *quiet = status != MS_OK && errno == EPIPE;
    return status;
}

int main(int argc, char **argv)
{
    struct ms_buf out = {0};
    struct ms_error err = {MS_OK, "", ""};
    bool quiet = false;
    enum ms_status status, written;
    signal(SIGPIPE, SIG_IGN);
    status = ms_commands_run(argc, argv, &out, &err);
    if (status == MS_OK || status == MS_E_NO) {
        written = write_result(&out, &quiet, &err);
        if (written != MS_OK)
            status = written;
    }
    if (status != MS_OK && status != MS_E_NO && !quiet)
        ms_error_print(stderr, &err);
    ms_buf_free(&out);
    return ms_status_exit(status);
}
