/* SPDX-License-Identifier: MIT */
/* Names that anybody may have chosen, as words of commands that are told: a shell gives them back. */
#include "fs/json/utf8.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>

/* What bash makes of a word, as an operand of printf. */
static void expect_back(const char *word, const char *want)
{
    cleanup(freep) char *shown = NULL, *command = NULL;
    char got[4096];
    size_t len, n;
    FILE *out = open_memstream(&shown, &len), *shell;

    cr_assert_not_null(out);
    utf8_print_word(out, word);
    cr_assert_eq(fclose(out), 0);
    for (const char *s = shown; *s != 0; s += MAX(utf8_len(s), 1))
        cr_assert_not(utf8_acts(s, utf8_len(s)), "what acts is shown: %s", shown);
    cr_assert_gt(asprintf(&command, "exec bash -c \"$(cat <<'EOT'\nprintf %%s %s\nEOT\n)\"", shown), 0);
    shell = popen(command, "re");
    cr_assert_not_null(shell);
    n = fread(got, 1, sizeof got - 1, shell);
    got[n] = 0;
    cr_assert_eq(pclose(shell), 0, "%s", shown);
    cr_assert_str_eq(got, want, "%s", shown);
}

Test(words, come_back_from_a_shell)
{
    static const char *const words[] = { "plain",   "/a/b.c", "a b",       "it's",         "$(true)",  "a\nb",
                                         "\x1b[1m", "a\\b",   "\xff\xfe'", "\xe2\x80\xae", "\xc3\xa4", "!x" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        expect_back(words[i], words[i]);
    expect_back("-x", "./-x");
    expect_back("-\n'", "./-\n'");
}

Test(words, random_ones)
{
    for (struct rng rng = rng_from_env(60); rng_next(&rng);) {
        char word[20] = "a";
        size_t n = rng_between(&rng, 1, sizeof word - 2);

        for (size_t i = 1; i < n; i++)
            word[i] = (char) rng_between(&rng, 1, 255);
        expect_back(word, word);
    }
}
