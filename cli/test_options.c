/* test_options.c - options made from a field table: every kind, both spellings, each refusal. */
#include "tests/mstest.h"

#include "cli/options.h"

/* A struct with a member of every kind that a command line can set. */
struct thing {
    int64_t size, other;
    double factor;
    bool fast;
    int colour;
    uint32_t parts;
    char name[MS_TEXT_MAX];
    struct ms_int_list list;
};
static const char *const COLOURS[] = {"red", "green", NULL};
static const char *const PARTS[] = {"head", "arm", "leg", NULL};
#define AT(member) .offset = offsetof(struct thing, member)
static const struct ms_field FIELDS[] = {
    {.name = "size",
     .alias = "size-of-thing",
     .kind = MS_FIELD_INT,
     AT(size),
     .min = 1,
     .max = 99,
     .default_text = "7",
     .help = "how large"},
    {.name = "other-size", .kind = MS_FIELD_INT, AT(other), .help = "how large the other is"},
    {.name = "factor", .kind = MS_FIELD_REAL, AT(factor), .default_text = "1.5", .help = "times"},
    {.name = "no-wait", .alias = "at-once", .kind = MS_FIELD_BOOL, AT(fast), .help = "do not wait"},
    {.name = "colour",
     .kind = MS_FIELD_ENUM,
     AT(colour),
     .names = COLOURS,
     .default_text = "red",
     .help = "paint"},
    {.name = "parts",
     .kind = MS_FIELD_FLAGS,
     AT(parts),
     .names = PARTS,
     .default_text = "none",
     .help = "what it has"},
    {.name = "name", .kind = MS_FIELD_STRING, AT(name), .help = "what it is called"},
};
static const struct ms_field MORE_FIELDS[] = {
    {.name = "numbers", .kind = MS_FIELD_INT_LIST, AT(list), .help = "some numbers"},
};
enum { N = sizeof(FIELDS) / sizeof(FIELDS[0]), WORDS_MAX = 16 };

struct parsed {
    struct thing thing;
    bool given[N], given_more[1];
    const char *arguments[2];
    size_t n_arguments;
    bool done;
    char words[WORDS_MAX][64];
    struct ms_buf out;
    struct ms_error err;
};

/* Parses `line`, words apart by one space, as what follows "prog". */
static enum ms_status parse(struct parsed *p, const char *line)
{
    const struct ms_option_group groups[] = {
        {"First:", FIELDS, N, &p->thing, p->given},
        {"More:", MORE_FIELDS, 1, &p->thing, p->given_more},
    };
    const struct ms_options options = {
        "prog", "[A]\n[A B]", "Does things.", groups, 2, p->arguments, 2, &p->n_arguments};
    char *argv[WORDS_MAX + 1] = {p->words[0]};
    int argc = 1;
    memset(p, 0, sizeof(*p));
    snprintf(p->words[0], sizeof(p->words[0]), "prog");
    while (*line) {
        size_t n = strcspn(line, " ");
        assert_true(argc < WORDS_MAX);
        snprintf(p->words[argc], sizeof(p->words[argc]), "%.*s", (int)n, line);
        argv[argc] = p->words[argc];
        argc++;
        line += n + (line[n] == ' ');
    }
    ms_fields_defaults(FIELDS, N, &p->thing);
    return ms_options_parse(&options, argc, argv, &p->done, &p->out, &p->err);
}

static void parse_ok(struct parsed *p, const char *line)
{
    ms_assert_ok(parse(p, line), &p->err);
}

static void fails_saying(const char *line, const char *where, const char *text)
{
    struct parsed p;
    enum ms_status status = parse(&p, line);
    assert_true(status == MS_E_USAGE || status == MS_E_INPUT);
    assert_int_equal(ms_status_exit(status), 2);
    assert_string_equal(p.err.where, where);
    ms_assert_says(&p.err, text);
    assert_null(p.out.text);
}

static void nothing_given_leaves_defaults(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "");
    assert_int_equal(p.thing.size, 7);
    ms_assert_close(p.thing.factor, 1.5, 0, 0);
    assert_false(p.thing.fast);
    for (int i = 0; i < N; i++)
        assert_false(p.given[i]);
    assert_false(p.done);
    assert_int_equal(p.n_arguments, 0);
}

static void every_kind_is_set(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size 31 --factor=0.37 --no-wait --colour green --parts arm,leg --name=x=y "
                 "--numbers 64,5,3");
    assert_int_equal(p.thing.size, 31);
    ms_assert_close(p.thing.factor, 0.37, 0, 0);
    assert_true(p.thing.fast);
    assert_int_equal(p.thing.colour, 1);
    assert_int_equal(p.thing.parts, 1 << 1 | 1 << 2);
    assert_string_equal(p.thing.name, "x=y");
    assert_int_equal(p.thing.list.n, 3);
    assert_int_equal(p.thing.list.at[1], 5);
}

static void given_marks_exactly_what_was_given(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size=7 --parts none --numbers 1");
    for (int i = 0; i < N; i++)
        assert_int_equal(p.given[i], i == 0 || i == 5);
    assert_true(p.given_more[0]);
}

static void alias_is_another_spelling(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size-of-thing 12 --at-once");
    assert_int_equal(p.thing.size, 12);
    assert_true(p.given[0]);
    assert_true(p.thing.fast);
}

static void bool_takes_no_word_but_a_value_after_equals(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--no-wait --no-wait=false");
    assert_false(p.thing.fast);
    parse_ok(&p, "--no-wait true");
    assert_true(p.thing.fast);
    assert_int_equal(p.n_arguments, 1);
    assert_string_equal(p.arguments[0], "true");
}

static void last_of_a_repeated_option_counts(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size 4 --size-of-thing=5");
    assert_int_equal(p.thing.size, 5);
}

/* "--size" is itself an option though it begins "--size-of-thing"; "--numb" begins one option only. */
static void exact_name_and_unique_beginning(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size 9 --numb 2");
    assert_int_equal(p.thing.size, 9);
    assert_int_equal(p.thing.list.at[0], 2);
    fails_saying("--n 3", "--n", "may stand for --no-wait, --name, --numbers");
}

static void arguments_are_collected_anywhere(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "one --size 3 -- --two");
    assert_int_equal(p.n_arguments, 2);
    assert_string_equal(p.arguments[0], "one");
    assert_string_equal(p.arguments[1], "--two");
    fails_saying("one two three", "", "'three' is one argument too many");
}

static void bad_values_name_option_and_limit(void **state)
{
    (void)state;
    fails_saying("--size 0", "--size", "nearest legal value 1");
    fails_saying("--size 3x", "--size", "'3x' is not an integer");
    fails_saying("--size=", "--size", "not an integer");
    fails_saying("--colour blue", "--colour", "red, green");
    fails_saying("--parts arm,toe", "--parts", "'toe' is not one of head, arm, leg");
    fails_saying("--no-wait=perhaps", "--no-wait", "not true or false");
    fails_saying("--numbers 4,,5", "--numbers", "'' is not an integer");
}

static void unknown_options_get_the_nearest(void **state)
{
    (void)state;
    fails_saying("--siez 3", "--siez", "did you mean '--size'?");
    fails_saying("--colr=red", "--colr", "did you mean '--colour'?");
    fails_saying("--size-of-thong 3", "--size-of-thong", "did you mean '--size-of-thing'?");
    fails_saying("--size 3 --completely-different", "--completely-different", "see `prog --help`");
    fails_saying("one --siez", "--siez", "did you mean '--size'?");
}

static void missing_and_needless_values(void **state)
{
    (void)state;
    fails_saying("--factor 2 --size", "--size", "a value must follow");
    fails_saying("--fac", "--fac", "a value must follow");
    fails_saying("--help=3", "--help", "takes no value");
}

static void short_options_do_not_exist(void **state)
{
    (void)state;
    fails_saying("-s", "-s", "no short options");
    fails_saying("--size 3 -xyz", "-xyz", "no short options");
    fails_saying("one -xyz --size 3", "-xyz", "no short options");
    fails_saying("-xyz", "-xyz", "no short options");
}

static void help_has_every_option_in_80_columns(void **state)
{
    static const char *const parts[] = {
        "Usage: prog [A]\n   or: prog [A B]\n",
        "Does things.",
        "First:\n",
        "More:\n",
        "--size N, --size-of-thing N",
        "how large (default: 7)",
        "--no-wait[=false], --at-once[=false]",
        "paint; one of red, green (default: red)",
        "what it has; any of head, arm, leg (default: none)",
        "--numbers N,...",
        "--help",
    };
    struct parsed p;
    (void)state;
    parse_ok(&p, "--size 3 --help --unknown");
    assert_true(p.done);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(p.out.text, parts[i]))
            print_error("no '%s' in\n%s", parts[i], p.out.text);
        assert_non_null(strstr(p.out.text, parts[i]));
    }
    for (const char *line = p.out.text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    ms_buf_free(&p.out);
}

static void list_is_for_completion(void **state)
{
    struct parsed p;
    (void)state;
    parse_ok(&p, "--list-options");
    assert_true(p.done);
    assert_string_equal(p.out.text,
                        "--size\n--size-of-thing\n--other-size\n--factor\n--no-wait\n--at-once\n"
                        "--colour red green\n--parts head arm leg\n--name\n--numbers\n--help\n");
    ms_buf_free(&p.out);
}

static void verbs(void **state)
{
    static const char *const known[] = {"list", "show", NULL};
    static const char *const words[] = {"show", "x"}, *const wrong[] = {"shov", "x"};
    static const char *const list[] = {"list", "x"};
    struct ms_error err;
    int verb = -1;
    (void)state;
    ms_assert_ok(ms_options_verb("thing", known, words, 2, &verb, &err), &err);
    assert_int_equal(verb, 1);
    ms_assert_ok(ms_options_verb("thing", known, list, 1, &verb, &err), &err);
    assert_int_equal(verb, 0);
    assert_int_equal(ms_options_verb("thing", known, words, 1, &verb, &err), MS_E_USAGE);
    ms_assert_says(&err, "show needs a name");
    assert_int_equal(ms_options_verb("thing", known, list, 2, &verb, &err), MS_E_USAGE);
    ms_assert_says(&err, "list takes no argument");
    assert_int_equal(ms_options_verb("thing", known, wrong, 2, &verb, &err), MS_E_USAGE);
    ms_assert_says(&err, "'shov' is not one of list, show");
    assert_int_equal(ms_options_verb("thing", known, NULL, 0, &verb, &err), MS_E_USAGE);
    ms_assert_says(&err, "list, show");
    assert_int_equal(verb, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_leaves_defaults),
        cmocka_unit_test(every_kind_is_set),
        cmocka_unit_test(given_marks_exactly_what_was_given),
        cmocka_unit_test(alias_is_another_spelling),
        cmocka_unit_test(bool_takes_no_word_but_a_value_after_equals),
        cmocka_unit_test(last_of_a_repeated_option_counts),
        cmocka_unit_test(exact_name_and_unique_beginning),
        cmocka_unit_test(arguments_are_collected_anywhere),
        cmocka_unit_test(bad_values_name_option_and_limit),
        cmocka_unit_test(unknown_options_get_the_nearest),
        cmocka_unit_test(missing_and_needless_values),
        cmocka_unit_test(short_options_do_not_exist),
        cmocka_unit_test(help_has_every_option_in_80_columns),
        cmocka_unit_test(list_is_for_completion),
        cmocka_unit_test(verbs),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
