/* SPDX-License-Identifier: MIT */
/* Who is told why an order was refused. */
#include "fs/daemon/reasons.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct asker ann = { 1000, 1, 5 }, anns_other = { 1000, 2, 5 }, anns_third = { 1000, 3, 5 },
                          anns_file = { 1000, 1, 6 }, bob = { 2000, 1, 5 };

static struct reasons *made(void)
{
    struct reasons *reasons;

    cr_assert_eq(reasons_new(&reasons), 0);
    return reasons;
}

static void expect(struct reasons *reasons, const struct asker *asker, const char *want)
{
    char why[REASON_SIZE] = "";
    bool found = reasons_find(reasons, asker, why);

    cr_expect(found == (want != NULL) && (want == NULL || strcmp(why, want) == 0), "%s instead of %s",
              found ? why : "nothing", want != NULL ? want : "nothing");
}

Test(reasons, the_own_ones_first)
{
    struct reasons *reasons = made();

    expect(reasons, &ann, NULL);
    reasons_note(reasons, &ann, "first");
    reasons_note(reasons, &anns_other, "second");
    expect(reasons, &ann, "first");
    expect(reasons, &anns_other, "second");
    expect(reasons, &anns_third, "second");
    expect(reasons, &anns_file, NULL);
    expect(reasons, &bob, NULL);
    reasons_note(reasons, &ann, "third");
    expect(reasons, &ann, "third");
    expect(reasons, &anns_third, "third");
    reasons_note(reasons, &bob, "another's");
    expect(reasons, &bob, "another's");
    reasons_clear(reasons, &ann);
    expect(reasons, &ann, NULL);
    expect(reasons, &anns_other, NULL);
    expect(reasons, &bob, "another's");
    reasons_free(reasons);
}

/* However many one user is refused, others keep theirs; the newest are there. */
Test(reasons, nobody_drives_others_out)
{
    struct reasons *reasons = made();
    char why[32];

    reasons_note(reasons, &bob, "kept");
    for (unsigned i = 0; i < 3 * REASONS_KEPT; i++) {
        const struct asker asker = { 1000, 1, 100 + i };

        snprintf(why, sizeof why, "%u", i);
        reasons_note(reasons, &asker, why);
        expect(reasons, &asker, why);
    }
    expect(reasons, &bob, "kept");
    for (unsigned i = 3 * REASONS_KEPT - REASONS_PER_USER; i < 3 * REASONS_KEPT; i++) {
        snprintf(why, sizeof why, "%u", i);
        expect(reasons, &(struct asker){ 1000, 1, 100 + i }, why);
    }
    expect(reasons, &(struct asker){ 1000, 1, 100 }, NULL);
    /* Many users have as many places as there are. */
    for (unsigned i = 0; i < 2 * REASONS_KEPT; i++)
        reasons_note(reasons, &(struct asker){ 3000 + i, 1, 5 }, "crowd");
    expect(reasons, &(struct asker){ 3000 + 2 * REASONS_KEPT - 1, 1, 5 }, "crowd");
    expect(reasons, &bob, NULL);
    reasons_free(reasons);
}
