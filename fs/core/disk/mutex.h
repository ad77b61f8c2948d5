/* SPDX-License-Identifier: MIT */
/* Locks that the compiler knows. A function says what its callers must hold, behind its parameters, and clang refuses a
 * call without it, and a way out of a function that forgets to unlock:
 *
 *     static void list_put(struct list *list, struct item *item) REQUIRES(list->lock)
 *     {
 *         ...
 *         cond_signal(&list->came);
 *     }
 *
 *     mutex_lock(&list->lock);
 *     list_put(list, item);
 *     mutex_unlock(&list->lock);
 *
 *     REQUIRES(m)    callers hold m          ACQUIRE(m)    takes m, and gives it to the caller
 *     EXCLUDES(m)    callers do not          RELEASE(m)    gives up what the caller holds
 *     NO_LOCK_ANALYSIS                       the function is not looked into; a comment says why
 *
 * gcc has no such analysis: for it the words are empty. What it cannot see is said by comments as ever: rwlocks, locks
 * that are taken on some ways through a function only, and one lock that has two names, as meta of a file has in its
 * generations. Fields name their lock in a comment, too. */
#ifndef FALLSFS_FS_CORE_DISK_MUTEX_H
#define FALLSFS_FS_CORE_DISK_MUTEX_H

#include "layout/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#ifdef __clang__
#define LOCK_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define LOCK_ATTRIBUTE(...)
#endif

#define REQUIRES(...)         LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...)         LOCK_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...)          LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(got, ...) LOCK_ATTRIBUTE(try_acquire_capability(got, __VA_ARGS__))
#define RELEASE(...)          LOCK_ATTRIBUTE(release_capability(__VA_ARGS__))
#define NO_LOCK_ANALYSIS      LOCK_ATTRIBUTE(no_thread_safety_analysis)

struct LOCK_ATTRIBUTE(capability("mutex")) mutex {
    pthread_mutex_t lock;
};

/* A thread waits for a change of what a mutex guards. Its waits end by the steady clock. */
struct cond {
    pthread_cond_t cond;
};

#define MUTEX_INITIALIZER         \
    {                             \
        PTHREAD_MUTEX_INITIALIZER \
    }

static inline void mutex_init(struct mutex *mutex)
{
    (void) pthread_mutex_init(&mutex->lock, NULL);
}

/* Makes one that a thread may take again while it has it. */
static inline void mutex_init_recursive(struct mutex *mutex)
{
    pthread_mutexattr_t attr;

    (void) pthread_mutexattr_init(&attr);
    (void) pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    (void) pthread_mutex_init(&mutex->lock, &attr);
    (void) pthread_mutexattr_destroy(&attr);
}

static inline void mutex_done(struct mutex *mutex)
{
    (void) pthread_mutex_destroy(&mutex->lock);
}

static inline void mutex_lock(struct mutex *mutex) ACQUIRE(*mutex) NO_LOCK_ANALYSIS
{
    (void) pthread_mutex_lock(&mutex->lock);
}

static inline void mutex_unlock(struct mutex *mutex) RELEASE(*mutex) NO_LOCK_ANALYSIS
{
    (void) pthread_mutex_unlock(&mutex->lock);
}

/* False: somebody has it. */
static inline bool mutex_try_lock(struct mutex *mutex) TRY_ACQUIRE(true, *mutex) NO_LOCK_ANALYSIS
{
    return pthread_mutex_trylock(&mutex->lock) == 0;
}

/* False: somebody has had it for so many milliseconds. */
static inline bool mutex_lock_in_ms(struct mutex *mutex, uint64_t ms) TRY_ACQUIRE(true, *mutex) NO_LOCK_ANALYSIS
{
    const struct timespec until = clock_wall_in_ms(ms); /* ThreadSanitizer sees only locks that wait by this clock */

    return pthread_mutex_timedlock(&mutex->lock, &until) == 0;
}

static inline void cond_init(struct cond *cond)
{
    pthread_condattr_t attr;

    (void) pthread_condattr_init(&attr);
    (void) pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void) pthread_cond_init(&cond->cond, &attr);
    (void) pthread_condattr_destroy(&attr);
}

static inline void cond_done(struct cond *cond)
{
    (void) pthread_cond_destroy(&cond->cond);
}

/* Wakes one of those that wait, or all. */
static inline void cond_signal(struct cond *cond)
{
    (void) pthread_cond_signal(&cond->cond);
}

static inline void cond_broadcast(struct cond *cond)
{
    (void) pthread_cond_broadcast(&cond->cond);
}

/* Gives up the mutex until it is woken, maybe for nothing: the caller looks again. */
static inline void cond_wait(struct cond *cond, struct mutex *mutex) REQUIRES(*mutex)
{
    (void) pthread_cond_wait(&cond->cond, &mutex->lock);
}

/* Waits no longer than until the steady clock says until_ms. False: it does. */
static inline bool cond_wait_until_ms(struct cond *cond, struct mutex *mutex, uint64_t until_ms) REQUIRES(*mutex)
{
    const struct timespec until = { .tv_sec = (time_t) (until_ms / 1000),
                                    .tv_nsec = (long) (until_ms % 1000) * 1000000 };

    return pthread_cond_timedwait(&cond->cond, &mutex->lock, &until) != ETIMEDOUT;
}

#endif
