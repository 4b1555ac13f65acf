/* test_commands.c - which command runs, what help, version and the man page say. What predictions say is
 * tested from outside (tests/e2e.sh). */
#include "tests/mstest.h"

#include "base/file.h"
#include "cli/commands.h"

enum { WORDS_MAX = 8 };

/* Runs `moesim LINE`, words apart by one space. */
static enum ms_status run(const char *line, struct ms_buf *out, struct ms_error *err)
{
    char words[WORDS_MAX][64] = {"moesim"};
    char *argv[WORDS_MAX + 1] = {words[0]};
    int argc = 1;
    *out = (struct ms_buf){0};
    while (*line) {
        size_t n = strcspn(line, " ");
        assert_true(argc < WORDS_MAX);
        snprintf(words[argc], sizeof(words[argc]), "%.*s", (int)n, line);
        argv[argc] = words[argc];
        argc++;
        line += n + (line[n] == ' ');
    }
    return ms_commands_run(argc, argv, out, err);
}

static void prints(const char *line, const char *part)
{
    struct ms_buf out;
    struct ms_error err;
    ms_assert_ok(run(line, &out, &err), &err);
    if (!strstr(out.text, part))
        print_error("moesim %s does not print '%s'\n", line, part);
    assert_non_null(strstr(out.text, part));
    ms_buf_free(&out);
}

static void refuses(const char *line, const char *part)
{
    struct ms_buf out;
    struct ms_error err;
    enum ms_status status = run(line, &out, &err);
    if (ms_status_exit(status) != 2)
        print_error("moesim %s: exit status %d\n", line, ms_status_exit(status));
    assert_int_equal(ms_status_exit(status), 2);
    ms_assert_says(&err, part);
    ms_buf_free(&out);
}

static void help_names_every_command(void **state)
{
    size_t n;
    const struct ms_command *commands = ms_commands_list(&n);
    (void)state;
    assert_true(n >= 4);
    for (size_t i = 0; i < n; i++) {
        char line[64];
        prints("help", commands[i].name);
        prints("--help", commands[i].summary);
        snprintf(line, sizeof(line), "help %s", commands[i].name);
        prints(line, "Usage: moesim ");
        snprintf(line, sizeof(line), "%s --help", commands[i].name);
        prints(line, "--help");
    }
}

static void version_names_licence_and_backends(void **state)
{
    (void)state;
    prints("--version", "moesim " MS_VERSION "\n");
    prints("--version", "GPL-3.0-or-later");
    prints("--version", "NO WARRANTY");
    prints("--version", "openblas");
}

static void unknown_commands_are_refused(void **state)
{
    static const char *const absent[] = {"replay x", "plan",      "sweep",   "compare",
                                         "trace",    "calibrate", "validate"};
    (void)state;
    refuses("predct", "did you mean 'predict'?");
    refuses("help modl", "did you mean 'model'?");
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        refuses(absent[i], "known commands: predict, topology, model, help");
}

static void first_option_means_predict(void **state)
{
    (void)state;
    refuses("--gpus 0", "--gpus");
    refuses("predict --gpus 0", "--gpus");
    refuses("predict extra", "'extra' is one argument too many");
    refuses("--unknown-thing", "unknown option");
}

static void options_that_exclude_each_other(void **state)
{
    (void)state;
    refuses("--print-config --dump ops", "does not go with --dump");
    refuses("--print-config --format json", "--format");
    refuses("--dump ops --scaling 8,16", "--scaling");
    refuses("--timeline=", "needs the name of a file");
    refuses("--timeline -", "stdout has the report");
    refuses("--timeline-replica 0", "needs --timeline");
    refuses("--recipe=", "--recipe");
    refuses("--recipe /nonexistent/recipe.yaml", "/nonexistent/recipe.yaml");
}

static void topologies(void **state)
{
    (void)state;
    prints("topology list", "gb300_nvl72");
    prints("topology show gb200_nvl72", "nvlink_bandwidth");
    prints("topology check gb200_nvl72", "gb200_nvl72: ok");
    refuses("topology show gb300", "did you mean 'gb300_nvl72'?");
    refuses("topology", "list, show, check");
    refuses("topology list --gpus 3", "unknown option");
}

static void models(void **state)
{
    (void)state;
    prints("model list", "deepseek-v3");
    prints("model show deepseek-v3", "671");
    prints("model show deepseek-v3 --format json --seq-len 8192", "\"total_params\": 671026419200");
    prints("model show deepseek-v3 --format json --seq-len 8192", "\"seq_len\": 8192");
    refuses("model show nobody-knows", "nobody-knows");
    refuses("model show deepseek-v3 --seq-len 0", "--seq-len");
    refuses("model list --mtp 1", "is an option of show");
}

static void completion_lists(void **state)
{
    (void)state;
    prints("help --commands", "predict\ntopology\nmodel\nhelp\n");
    prints("help --options model", "--format table json\n");
    prints("help --options", "--tensor-model-parallel-size\n");
}

/* The name as troff writes it: every '-' escaped. */
static void troff_name(const char *name, size_t n, struct ms_buf *out)
{
    for (size_t i = 0; i < n; i++)
        ms_buf_printf(out, "%s%c", name[i] == '-' ? "\\" : "", name[i]);
}

static void man_page_has_every_option(void **state)
{
    static const char *const lines[] = {"help --options predict", "help --options model"};
    struct ms_buf man = {0};
    struct ms_error err;
    (void)state;
    ms_assert_ok(ms_file_read(MS_SOURCE_DATADIR "/docs/moesim.1", 1 << 20, &man, &err), &err);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct ms_buf out;
        ms_assert_ok(run(lines[i], &out, &err), &err);
        for (const char *line = out.text; *line; line += strcspn(line, "\n") + 1) {
            struct ms_buf name = {0};
            troff_name(line, strcspn(line, " \n"), &name);
            ms_buf_puts(&name, "\\fR");
            if (!strstr(man.text, name.text))
                print_error("docs/moesim.1 lacks %s\n", name.text);
            assert_non_null(strstr(man.text, name.text));
            ms_buf_free(&name);
        }
        ms_buf_free(&out);
    }
    ms_buf_free(&man);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_every_command),
        cmocka_unit_test(version_names_licence_and_backends),
        cmocka_unit_test(unknown_commands_are_refused),
        cmocka_unit_test(first_option_means_predict),
        cmocka_unit_test(options_that_exclude_each_other),
        cmocka_unit_test(topologies),
        cmocka_unit_test(models),
        cmocka_unit_test(completion_lists),
        cmocka_unit_test(man_page_has_every_option),
    };
    return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
