/* SPDX-License-Identifier: MIT */
/* What clang must refuse, each fault by its own macro, and what it must let pass, without any. */
#include "fs/core/disk/mutex.h"

struct list {
    struct mutex lock;
    struct mutex *other;
    int n;
};

static int count(struct list *list) REQUIRES(list->lock)
{
    return list->n;
}

static int count_other(const struct list *list) REQUIRES(list->other)
{
    return list->n;
}

static void begin(struct list *list) ACQUIRE(list->lock)
{
    mutex_lock(&list->lock);
}

static void end(struct list *list) RELEASE(list->lock)
{
    mutex_unlock(&list->lock);
}

int look(struct list *list);
int look(struct list *list)
{
    int n = 0;

    begin(list);
    n += count(list);
#ifndef NO_UNLOCK
    end(list);
#endif
#ifdef NO_LOCK
    n += count(list);
#endif
    mutex_lock(list->other);
#ifdef LOCKS_TWICE
    mutex_lock(list->other);
#endif
    n += count_other(list);
    mutex_unlock(list->other);
#ifdef UNLOCKS_TWICE
    mutex_unlock(list->other);
#endif
    if (mutex_try_lock(&list->lock)) {
        n += count(list);
        end(list);
    }
    return n;
}
