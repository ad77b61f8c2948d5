/* SPDX-License-Identifier: MIT */
/* Watches: who waits for a disk, and for how long. Many threads wait at once, and none is told of a wait that never
 * was. */
#include "fs/core/disk/watch.h"

#include <criterion/criterion.h>

#define PATIENCE  8000
#define MS        UINT64_C(1000000) /* ns */
#define THREADS   4
#define N_WATCHES 20000

static struct watch *fresh[N_WATCHES];
static pthread_barrier_t begin;

/* Takes and leaves a seat of each watch, while the other threads do; returns how often it was refused. */
static void *sit_everywhere(void *arg)
{
    uintptr_t n_refused = 0;
    uint64_t began;

    (void) arg;
    (void) pthread_barrier_wait(&begin);
    for (size_t i = 0; i < N_WATCHES; i++) {
        int seat = watch_enter(fresh[i], &began);

        n_refused += seat < 0;
        watch_leave(fresh[i], seat, clock_ns());
    }
    return (void *) n_refused; // NOLINT(performance-no-int-to-ptr)
}

Test(watch, nobody_who_has_just_come_has_waited)
{
    pthread_t thread[THREADS];
    uintptr_t n_refused = 0;

    (void) pthread_barrier_init(&begin, NULL, THREADS);
    for (size_t i = 0; i < N_WATCHES; i++)
        cr_assert_eq(watch_new(PATIENCE, NULL, &fresh[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, sit_everywhere, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *result;

        cr_assert_eq(pthread_join(thread[i], &result), 0);
        n_refused += (uintptr_t) result;
    }
    cr_expect_eq(n_refused, 0, "a disk that answers was taken for dead %zu times", (size_t) n_refused);
    for (size_t i = 0; i < N_WATCHES; i++)
        watch_free(fresh[i]);
    (void) pthread_barrier_destroy(&begin);
}

/* A thread that takes a seat sets its clock a moment later: until then nobody may read a time there. */
Test(watch, a_seat_is_taken_before_its_clock_is_set)
{
    struct watch *watch;

    cr_assert_eq(watch_new(PATIENCE, NULL, &watch), 0);
    atomic_store(&watch->taken, UINT64_MAX);
    cr_expect_eq(watch_oldest(watch), 0);
    cr_expect_eq(watch_refuses(watch), 0);
    watch_free(watch);
}

Test(watch, a_disk_that_does_not_answer)
{
    struct watch *watch;
    uint64_t now = clock_ns(), began;
    int seat;

    cr_assert_eq(watch_new(PATIENCE, NULL, &watch), 0);
    seat = watch_enter(watch, &began);
    cr_assert_eq(seat, 0);
    atomic_store(&watch->since[seat], now - (WATCH_STALL + 100) * MS);
    cr_expect_eq(watch_refuses(watch), -ETIMEDOUT, "stalled");
    for (int i = 1; i < 8; i++)
        cr_expect_eq(watch_enter(watch, &began), i, "a few may wait");
    cr_expect_eq(watch_enter(watch, &began), WATCH_STALLED, "not all");
    atomic_store(&watch->since[seat], now - PATIENCE * MS);
    cr_expect_eq(watch_refuses(watch), -EIO, "dead");
    cr_expect_eq(watch_enter(watch, &began), WATCH_DEAD);
    watch_leave(watch, seat, clock_ns());
    cr_expect_eq(watch_refuses(watch), 0, "it has answered");
    cr_expect_eq(watch_enter(watch, &began), seat, "and may be asked again");
    cr_expect_eq(watch->n_refused, 2, "who was not let in is counted");
    watch_free(watch);
}

static void let_time_pass(void)
{
    uint64_t now = clock_ns();

    while (clock_ns() < now + 50 * MS)
        ;
}

/* Calls that are under way at once are counted once; a call that is not over counts as far as it is. */
Test(watch, how_long_a_disk_is_busy)
{
    struct watch *watch;
    uint64_t began, first, second, before, busy;

    cr_assert_eq(watch_new(PATIENCE, NULL, &watch), 0);
    cr_expect_eq(watch_busy(watch), 0);
    let_time_pass();
    before = clock_ns();
    cr_assert_eq(watch_enter(watch, &first), 0);
    cr_assert_eq(watch_enter(watch, &second), 1);
    let_time_pass();
    busy = watch_busy(watch);
    cr_expect(busy >= 49 * MS && busy <= clock_ns() - before, "%" PRIu64, busy);
    watch_leave(watch, 0, clock_ns());
    let_time_pass();
    watch_leave(watch, 1, clock_ns());
    busy = watch_busy(watch);
    cr_expect(busy >= 99 * MS && busy <= clock_ns() - before, "%" PRIu64, busy);
    let_time_pass();
    cr_expect_eq(watch_busy(watch), busy, "nothing is under way");
    atomic_store(&watch->taken, UINT64_MAX);
    cr_assert_eq(watch_enter(watch, &began), WATCH_CROWDED);
    let_time_pass();
    watch_leave(watch, WATCH_CROWDED, clock_ns());
    cr_expect(watch_busy(watch) >= busy + 49 * MS, "who has no seat counts, too");
    atomic_store(&watch->taken, 0);
    watch_free(watch);
}

Test(watch, what_may_pile_up_for_a_disk)
{
    static const struct {
        uint64_t bytes, us, backlog;
    } cases[] = {
        { 8 << 20, 400000, 8 << 20 },       /* 20 MB/s */
        { 8 << 20, 131072, 16000000 },      /* 64 MB/s */
        { 8 << 20, 10, UINT64_C(8) << 24 }, /* memory */
        { 1, 0, 8 << 20 },
        { 0, 5, 8 << 20 }, /* no speed was found out */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct watch *watch;

        cr_assert_eq(watch_new(PATIENCE, NULL, &watch), 0);
        cr_expect_eq(watch_backlog(watch, 8 << 20), 8 << 20, "what is not known may be slow");
        cr_assert(watch_begin_measure(watch));
        cr_expect_not(watch_begin_measure(watch), "one at a time");
        cr_expect_not(watch_is_idle(watch));
        watch_end_measure(watch, cases[i].bytes, cases[i].us);
        cr_expect_eq(watch_backlog(watch, 8 << 20), cases[i].backlog, "case %zu: %" PRIu64, i,
                     watch_backlog(watch, 8 << 20));
        cr_assert(watch_begin_measure(watch), "again");
        watch_free(watch);
    }
    cr_expect_eq(watch_backlog(NULL, 64), 64);
    cr_expect_not(watch_begin_measure(NULL));
}
