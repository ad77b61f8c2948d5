/* SPDX-License-Identifier: MIT */
/* The file that disks are measured with: whose it is, where it is asked, and that nothing of it stays. */
#include "fs/ctl/ask/scratch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define OTHER 1000 /* a user who is not root */

struct place {
    char top[32], root[48];
};

static void place_init(struct place *place)
{
    snprintf(place->top, sizeof place->top, "/var/tmp/fallsfs.XXXXXX");
    cr_assert_not_null(mkdtemp(place->top));
    snprintf(place->root, sizeof place->root, "%s/.fallsfs", place->top);
    cr_assert_eq(mkdir(place->root, 0700), 0);
}

/* Only what is empty can be removed. */
static void place_done(const struct place *place)
{
    cr_expect_eq(rmdir(place->root), 0, "something was left behind");
    cr_expect_eq(rmdir(place->top), 0);
}

Test(scratch, is_asked_where_it_was_written)
{
    struct place place;
    struct scratch scratch;
    char why[ATTRS_WHY];

    place_init(&place);
    cr_assert_eq(scratch_init(&scratch, place.top, SCRATCH_LEAST, 0, why), 0, "%s", why);
    cr_expect(scratch.size == SCRATCH_LEAST && scratch.n_spots >= 2 && scratch.following >= 4 * SCRATCH_REQUEST);
    cr_expect_leq(scratch.following, scratch.size / 4);
    cr_expect_leq(scratch.size / 4 + scratch.n_spots * scratch.stride, scratch.size);
    for (uint32_t bytes = scratch.unit; bytes <= SCRATCH_REQUEST; bytes *= 2)
        for (int kind = 0; kind < 4; kind++) {
            uint64_t ns = 0;
            uint32_t n = 0;

            cr_assert_eq(scratch_ask(&scratch, kind & 1, bytes, (kind & 2) != 0, 0, &n, &ns), 0);
            cr_expect(n == 1 && ns > 0, "without time there is one request");
            cr_assert_eq(scratch_ask(&scratch, kind & 1, bytes, (kind & 2) != 0, UINT64_C(1) << 40, &n, &ns), 0);
            cr_expect(n > 1 && n <= SCRATCH_REQUESTS, "with time there are more: %u", n);
        }
    scratch_done(&scratch);
    place_done(&place);
}

Test(scratch, is_of_who_owns_the_disk)
{
    struct place place;
    struct scratch scratch;
    char why[ATTRS_WHY];
    struct stat st;

    if (geteuid() != 0)
        cr_skip("root alone acts as others");
    place_init(&place);
    cr_assert(chown(place.top, OTHER, OTHER) == 0 && chown(place.root, OTHER, OTHER) == 0);
    cr_assert_eq(scratch_init(&scratch, place.top, SCRATCH_LEAST, 0, why), 0, "%s", why);
    cr_expect(fstat(scratch.fd, &st) == 0 && st.st_uid == OTHER && st.st_nlink == 0);
    scratch_done(&scratch);
    cr_expect_eq(chown(place.root, 0, 0), 0, "root is root again");
    place_done(&place);
}

Test(scratch, of_one_at_a_time)
{
    struct place place;
    struct scratch scratch, other;
    char why[ATTRS_WHY] = "";

    place_init(&place);
    cr_assert_eq(scratch_init(&scratch, place.top, SCRATCH_LEAST, 0, why), 0, "%s", why);
    cr_expect_eq(scratch_init(&other, place.top, SCRATCH_LEAST, 0, why), -EBUSY, "%s", why);
    scratch_done(&scratch);
    cr_expect_eq(scratch_init(&other, place.top, SCRATCH_LEAST, 0, why), 0, "%s", why);
    scratch_done(&other);
    place_done(&place);
}

Test(scratch, wants_a_disk)
{
    struct scratch scratch;
    char why[ATTRS_WHY] = "";

    cr_expect_eq(scratch_init(&scratch, "/var/tmp/fallsfs.nowhere", SCRATCH_LEAST, 0, why), -ENOENT);
    cr_expect(why[0] != 0);
    cr_expect_eq(scratch_init(&scratch, "/var/tmp", SCRATCH_LEAST - 1, 0, why), -ENOENT, "no .fallsfs");
}
