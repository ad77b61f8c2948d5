/* SPDX-License-Identifier: MIT */
/* Tables, as people see them and as scripts read them. */
#include "fs/ctl/show/table.h"

#include <criterion/criterion.h>
#include <locale.h>

static const struct column columns[] = { { "DISK", COLUMN_LEFT }, { "PATH", COLUMN_LEFT }, { "SIZE", COLUMN_RIGHT } };

#define N ARRAY_SIZE(columns)

static char text[4096];

/* What a table of these paths looks like. */
static const char *print(const char *usual, const struct table_options *options, const char *const paths[], size_t n)
{
    cleanup(table_done) struct table table;
    FILE *out = fmemopen(text, sizeof text, "w");

    (void) setlocale(LC_CTYPE, "C.UTF-8");
    cr_assert_not_null(out);
    table_init(&table, columns, N, usual, options);
    for (size_t i = 0; i < n; i++) {
        table_addf(&table, "d%zu", i);
        table_add(&table, paths[i]);
        table_addf(&table, "%zu", 9 + i);
    }
    cr_assert_eq(table_print(&table, out), 0);
    fclose(out);
    return text;
}

static const char *print_two(const char *usual, const struct table_options *options)
{
    static const char *const paths[] = { "/a", "/b c" };

    return print(usual, options, paths, 2);
}

Test(table, columns_are_as_wide_as_what_is_in_them)
{
    cr_expect_str_eq(print_two(NULL, NULL), "DISK  PATH  SIZE\n"
                                            "d0    /a       9\n"
                                            "d1    /b c    10\n");
}

Test(table, the_usual_columns_are_some_of_them)
{
    cr_expect_str_eq(print_two("SIZE,DISK", NULL), "SIZE  DISK\n"
                                                   "   9  d0\n"
                                                   "  10  d1\n");
}

Test(table, columns_that_are_asked_for)
{
    cr_expect_str_eq(print_two("DISK", &(struct table_options){ .columns = "size,PATH" }), "SIZE  PATH\n"
                                                                                           "   9  /a\n"
                                                                                           "  10  /b c\n");
    cr_expect_str_eq(print_two("DISK", &(struct table_options){ .columns = "+SIZE" }), "DISK  SIZE\n"
                                                                                       "d0       9\n"
                                                                                       "d1      10\n");
}

Test(table, a_column_more_that_is_shown_already_is_shown_once)
{
    cr_expect_str_eq(print_two("SIZE,DISK", &(struct table_options){ .columns = "+size" }), "SIZE  DISK\n"
                                                                                            "   9  d0\n"
                                                                                            "  10  d1\n");
    cr_expect_str_eq(print_two("DISK", &(struct table_options){ .columns = "+SIZE,DISK,SIZE" }), "DISK  SIZE\n"
                                                                                                 "d0       9\n"
                                                                                                 "d1      10\n");
    cr_expect_str_eq(print_two("SIZE", &(struct table_options){ .columns = "DISK,DISK" }), "DISK  DISK\n"
                                                                                           "d0    d0\n"
                                                                                           "d1    d1\n");
}

Test(table, no_headings)
{
    const char *table = print_two("DISK,SIZE", &(struct table_options){ .no_headings = true });

    /* Before libsmartcols 2.41 columns stay as wide as their headings. */
    cr_expect(strcmp(table, "d0       9\nd1      10\n") == 0 || strcmp(table, "d0   9\nd1  10\n") == 0, "%s", table);
}

Test(table, raw_cells_are_one_word_each)
{
    static const char *const paths[] = { "/a b", "", "\\" };

    cr_expect_str_eq(print(NULL, &(struct table_options){ .raw = true }, paths, 3), "DISK PATH SIZE\n"
                                                                                    "d0 /a\\x20b 9\n"
                                                                                    "d1 - 10\n"
                                                                                    "d2 \\x5c 11\n");
}

/* Two columns each, none for what is put above the letter before. */
Test(table, any_script_stands_in_line)
{
    static const char *const paths[] = { "日本", "e\xcc\x81t\xc3\xa9", "한국어/x", "plain" };

    cr_expect_str_eq(print(NULL, NULL, paths, 4), "DISK  PATH      SIZE\n"
                                                  "d0    日本         9\n"
                                                  "d1    e\xcc\x81t\xc3\xa9         10\n"
                                                  "d2    한국어/x    11\n"
                                                  "d3    plain       12\n");
}

Test(table, nothing_acts_on_a_terminal)
{
    static const char *const paths[] = { "a\033[31m", "b\nc\td", "\x9b\xc2\x9b\xff", "\u202etxt.exe\u2066\u200f",
                                         "\u00e9\u2020" };
    const struct table_options raw = { .raw = true };

    cr_expect_str_eq(print("PATH", NULL, paths, 4), "PATH\n"
                                                    "a?[31m\n"
                                                    "b?c?d\n"
                                                    "????\n"
                                                    "???txt.exe??????\n");
    cr_expect_str_eq(print("PATH", &raw, paths, 4), "PATH\n"
                                                    "a?[31m\n"
                                                    "b?c?d\n"
                                                    "????\n"
                                                    "???txt.exe??????\n");
}

Test(table, one_without_rows_has_headings)
{
    cr_expect_str_eq(print(NULL, NULL, NULL, 0), "DISK  PATH  SIZE\n");
    cr_expect_str_eq(print(NULL, &(struct table_options){ .raw = true }, NULL, 0), "DISK PATH SIZE\n");
    text[0] = 0;
    cr_expect_str_eq(print(NULL, &(struct table_options){ .no_headings = true }, NULL, 0), "");
}

static bool is_taken(const char *list)
{
    const struct table_options options = { .columns = list };
    enum ctl_status status = CTL_OK;
    bool taken = table_check(&options, "df", columns, N, &status);

    cr_expect_eq(status, taken ? CTL_OK : CTL_USAGE);
    return taken;
}

Test(table, columns_that_are_not_there)
{
    char many[5 * (TABLE_MAX_SHOWN + 1) + 1] = "";

    cr_expect(is_taken(NULL));
    cr_expect(is_taken("DISK,path,DISK"));
    cr_expect(is_taken("+PATH"));
    cr_expect_not(is_taken(""));
    cr_expect_not(is_taken("DISKS"));
    cr_expect_not(is_taken("DISK,,PATH"));
    cr_expect_not(is_taken("DISK+PATH"));
    for (size_t i = 0; i < TABLE_MAX_SHOWN + 1; i++)
        snprintf(many + 5 * i, sizeof many - 5 * i, "DISK,");
    cr_expect_not(is_taken(many));
}
