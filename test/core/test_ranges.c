/* SPDX-License-Identifier: MIT */
/* Ranges: who waits for whom is counted, of programs alone. */
#include "fs/core/file/ranges.h"

#include <criterion/criterion.h>
#include <sched.h>

struct waiter {
    struct ranges *ranges;
    int (*lock)(struct ranges *ranges, uint64_t lo, uint64_t hi);
};

static void *wait_for_it(void *arg)
{
    const struct waiter *waiter = arg;

    cr_assert_eq(waiter->lock(waiter->ranges, 50, 150), 0);
    ranges_unlock(waiter->ranges, 50, 150);
    return NULL;
}

/* One thread holds a range until another waits for it. */
static void block(struct ranges *ranges, int (*lock)(struct ranges *ranges, uint64_t lo, uint64_t hi))
{
    struct waiter waiter = { ranges, lock };
    pthread_t thread;

    cr_assert_eq(ranges_lock(ranges, 0, 100), 0);
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &waiter), 0);
    while (atomic_load(&ranges->n) < 2)
        (void) sched_yield();
    ranges_unlock(ranges, 0, 100);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(ranges, what_programs_wait_is_counted)
{
    struct tally all = { .ns = 0 };
    struct ranges ranges;

    ranges_init(&ranges, &all);
    cr_assert_eq(ranges_lock(&ranges, 0, 100), 0);
    cr_assert_eq(ranges_lock(&ranges, 100, 200), 0, "one does not touch the other");
    ranges_unlock(&ranges, 0, 100);
    ranges_unlock(&ranges, 100, 200);
    cr_assert_eq(ranges_wait(&ranges, 0, 200), 0);
    cr_expect_eq(ranges.n_waits, 0, "nobody was in the way");
    block(&ranges, ranges_lock);
    cr_expect_eq(ranges.n_waits, 1);
    cr_expect_gt(ranges.waited_ns, 0);
    cr_expect_eq(tally_look(&all).n, 1);
    cr_expect_eq(tally_look(&all).ns, ranges.waited_ns);
    block(&ranges, ranges_lock_behind);
    cr_expect_eq(ranges.n_waits, 1, "work in the background may wait");
    ranges_done(&ranges);
}
