/* SPDX-License-Identifier: MIT */
/* A wait ends at its time, not before and not never; what one thread has locked, no other gets. */
#include "fs/core/disk/mutex.h"
#include "layout/base.h"

#include <criterion/criterion.h>

#define SHORT 30    /* ms: waits that shall end by themselves */
#define LONG  60000 /* ms: waits that somebody shall end */

struct shared {
    struct mutex lock;
    struct cond came;
    bool is_there; /* lock */
    bool is_busy;  /* lock; until the test ends it */
};

static struct shared shared;

static void init(void)
{
    mutex_init(&shared.lock);
    cond_init(&shared.came);
}

static void done(void)
{
    cond_done(&shared.came);
    mutex_done(&shared.lock);
}

TestSuite(mutex, .init = init, .fini = done);

static void *come(void *arg)
{
    (void) arg;
    mutex_lock(&shared.lock);
    shared.is_there = true;
    cond_signal(&shared.came);
    mutex_unlock(&shared.lock);
    return NULL;
}

/* Holds the lock until the test says that it is no longer busy. */
static void *hold(void *arg)
{
    struct mutex *mutex = arg;

    mutex_lock(mutex);
    mutex_lock(&shared.lock);
    shared.is_there = true;
    cond_broadcast(&shared.came);
    while (shared.is_busy)
        cond_wait(&shared.came, &shared.lock);
    mutex_unlock(&shared.lock);
    mutex_unlock(mutex);
    return NULL;
}

static pthread_t start(void *(*run)(void *arg), void *arg)
{
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, run, arg), 0);
    return thread;
}

static void await_the_other(void)
{
    mutex_lock(&shared.lock);
    while (!shared.is_there)
        cond_wait(&shared.came, &shared.lock);
    mutex_unlock(&shared.lock);
}

static void end_the_other(pthread_t thread)
{
    mutex_lock(&shared.lock);
    shared.is_busy = false;
    cond_broadcast(&shared.came);
    mutex_unlock(&shared.lock);
    (void) pthread_join(thread, NULL);
}

static bool try(struct mutex *mutex)
{
    if (!mutex_try_lock(mutex))
        return false;
    mutex_unlock(mutex);
    return true;
}

static bool lock_in(struct mutex *mutex, uint64_t ms)
{
    if (!mutex_lock_in_ms(mutex, ms))
        return false;
    mutex_unlock(mutex);
    return true;
}

Test(mutex, a_wait_ends_at_its_time_and_not_before)
{
    uint64_t begin = clock_ns(), until = clock_in_ms(SHORT);

    mutex_lock(&shared.lock);
    while (cond_wait_until_ms(&shared.came, &shared.lock, until)) /* a wake-up may be spurious */
        ;
    mutex_unlock(&shared.lock);
    cr_expect_geq(clock_ns() - begin, UINT64_C(1000000) * SHORT);
}

Test(mutex, a_wait_for_what_is_past_ends_at_once)
{
    uint64_t begin = clock_ns();

    mutex_lock(&shared.lock);
    cr_expect(!cond_wait_until_ms(&shared.came, &shared.lock, clock_ms()));
    mutex_unlock(&shared.lock);
    cr_expect_lt(clock_ns() - begin, UINT64_C(1000000) * LONG);
}

Test(mutex, who_waits_is_woken)
{
    uint64_t until = clock_in_ms(LONG);
    bool in_time = true;
    pthread_t thread;

    mutex_lock(&shared.lock); /* so that the other comes while this one waits */
    thread = start(come, NULL);
    while (!shared.is_there && in_time)
        in_time = cond_wait_until_ms(&shared.came, &shared.lock, until);
    mutex_unlock(&shared.lock);
    cr_expect(in_time);
    (void) pthread_join(thread, NULL);
}

Test(mutex, what_another_thread_has_is_not_to_be_had)
{
    uint64_t begin = clock_ns();
    struct mutex mutex;
    pthread_t thread;

    mutex_init(&mutex);
    shared.is_busy = true;
    cr_expect(try(&mutex));
    thread = start(hold, &mutex);
    await_the_other();
    cr_expect(!try(&mutex));
    cr_expect(!lock_in(&mutex, SHORT));
    cr_expect_geq(clock_ns() - begin, UINT64_C(1000000) * SHORT);
    end_the_other(thread);
    cr_expect(try(&mutex));
    cr_expect(lock_in(&mutex, LONG));
    mutex_done(&mutex);
}

Test(mutex, a_recursive_one_is_its_thread_s_again_and_nobody_else_s)
{
    struct mutex mutex;
    pthread_t thread;

    mutex_init_recursive(&mutex);
    mutex_lock(&mutex);
    cr_expect(try(&mutex));
    mutex_unlock(&mutex);
    shared.is_busy = true;
    thread = start(hold, &mutex);
    await_the_other();
    cr_expect(!try(&mutex));
    end_the_other(thread);
    mutex_done(&mutex);
}

Test(clock, units_are_of_one_clock)
{
    for (int i = 0; i < 1000; i++) {
        uint64_t ns = clock_ns(), us = clock_us(), ms = clock_in_ms(0);

        cr_assert_geq(us, ns / 1000);
        cr_assert_gt(ms, us / 1000);
        cr_assert_leq(clock_ms(), clock_ns() / 1000000);
        cr_assert_geq(clock_ms() + LONG, ms); /* a clock may be behind by a tick */
    }
}

Test(clock, a_moment_on_the_wall_is_a_moment)
{
    for (uint64_t ms = 0; ms < 5000; ms += 37) {
        struct timespec before = clock_wall(), when = clock_wall_in_ms(ms), after = clock_wall();
        int64_t ns = when.tv_sec * INT64_C(1000000000) + when.tv_nsec - (int64_t) ms * 1000000;

        cr_assert(when.tv_nsec >= 0 && when.tv_nsec < 1000000000);
        cr_assert_geq(ns, before.tv_sec * INT64_C(1000000000) + before.tv_nsec);
        cr_assert_leq(ns, after.tv_sec * INT64_C(1000000000) + after.tv_nsec);
    }
}
