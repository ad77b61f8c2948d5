/* SPDX-License-Identifier: MIT */
/* Who is told why an order was refused. */
#include "fs/daemon/say/last_errors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct asker ann = { 1000, 1, 5 }, anns_other = { 1000, 2, 5 }, anns_third = { 1000, 3, 5 },
                          anns_file = { 1000, 1, 6 }, bob = { 2000, 1, 5 };

static struct last_errors *made(void)
{
    struct last_errors *last_errors;

    cr_assert_eq(last_errors_new(&last_errors), 0);
    return last_errors;
}

static void expect(struct last_errors *last_errors, const struct asker *asker, const char *want)
{
    char why[LAST_ERROR_SIZE] = "";
    bool found = last_errors_find(last_errors, asker, why);

    cr_expect(found == (want != NULL) && (want == NULL || strcmp(why, want) == 0), "%s instead of %s",
              found ? why : "nothing", want != NULL ? want : "nothing");
}

Test(last_errors, the_own_ones_first)
{
    struct last_errors *last_errors = made();

    expect(last_errors, &ann, NULL);
    last_errors_note(last_errors, &ann, "first");
    last_errors_note(last_errors, &anns_other, "second");
    expect(last_errors, &ann, "first");
    expect(last_errors, &anns_other, "second");
    expect(last_errors, &anns_third, "second");
    expect(last_errors, &anns_file, NULL);
    expect(last_errors, &bob, NULL);
    last_errors_note(last_errors, &ann, "third");
    expect(last_errors, &ann, "third");
    expect(last_errors, &anns_third, "third");
    last_errors_note(last_errors, &bob, "another's");
    expect(last_errors, &bob, "another's");
    last_errors_clear(last_errors, &ann);
    expect(last_errors, &ann, NULL);
    expect(last_errors, &anns_other, NULL);
    expect(last_errors, &bob, "another's");
    last_errors_free(last_errors);
}

/* However many one user is refused, others keep theirs; the newest are there. */
Test(last_errors, nobody_drives_others_out)
{
    struct last_errors *last_errors = made();
    char why[32];

    last_errors_note(last_errors, &bob, "kept");
    for (unsigned i = 0; i < 3 * LAST_ERRORS_KEPT; i++) {
        const struct asker asker = { 1000, 1, 100 + i };

        snprintf(why, sizeof why, "%u", i);
        last_errors_note(last_errors, &asker, why);
        expect(last_errors, &asker, why);
    }
    expect(last_errors, &bob, "kept");
    for (unsigned i = 3 * LAST_ERRORS_KEPT - LAST_ERRORS_PER_USER; i < 3 * LAST_ERRORS_KEPT; i++) {
        snprintf(why, sizeof why, "%u", i);
        expect(last_errors, &(struct asker){ 1000, 1, 100 + i }, why);
    }
    expect(last_errors, &(struct asker){ 1000, 1, 100 }, NULL);
    /* Many users have as many places as there are. */
    for (unsigned i = 0; i < 2 * LAST_ERRORS_KEPT; i++)
        last_errors_note(last_errors, &(struct asker){ 3000 + i, 1, 5 }, "crowd");
    expect(last_errors, &(struct asker){ 3000 + 2 * LAST_ERRORS_KEPT - 1, 1, 5 }, "crowd");
    expect(last_errors, &bob, NULL);
    last_errors_free(last_errors);
}
