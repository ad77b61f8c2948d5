/* SPDX-License-Identifier: MIT */
#include "fs/daemon/say/last_errors.h"

#include "fs/core/disk/mutex.h"

#include <stdio.h>

struct reason {
    struct asker asker;
    uint64_t when; /* 0: free */
    char why[LAST_ERROR_SIZE];
};

struct last_errors {
    struct mutex lock;
    uint64_t now;                           /* lock; counts what was noted */
    struct reason reason[LAST_ERRORS_KEPT]; /* lock */
};

int last_errors_new(struct last_errors **ret_last_errors)
{
    struct last_errors *last_errors = calloc(1, sizeof *last_errors);

    if (last_errors == NULL)
        return -ENOMEM;
    mutex_init(&last_errors->lock);
    *ret_last_errors = last_errors;
    return 0;
}

void last_errors_free(struct last_errors *last_errors)
{
    if (last_errors == NULL)
        return;
    mutex_done(&last_errors->lock);
    free(last_errors);
}

static bool is_about(const struct reason *reason, const struct asker *asker)
{
    return reason->when > 0 && reason->asker.uid == asker->uid && reason->asker.ino == asker->ino;
}

/* Chooses the place for a new reason: that of the same process about the same file; else, when the user has as many as
 * he may, that of his oldest; else a free one, or that of the oldest of all. */
static struct reason *place_for(struct last_errors *last_errors, const struct asker *asker) REQUIRES(last_errors->lock)
{
    struct reason *oldest = &last_errors->reason[0], *users_oldest = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < LAST_ERRORS_KEPT; i++) {
        struct reason *reason = &last_errors->reason[i];

        if (is_about(reason, asker) && reason->asker.pid == asker->pid)
            return reason;
        if (reason->when < oldest->when)
            oldest = reason;
        if (reason->when == 0 || reason->asker.uid != asker->uid)
            continue;
        n++;
        if (users_oldest == NULL || reason->when < users_oldest->when)
            users_oldest = reason;
    }
    return n >= LAST_ERRORS_PER_USER ? users_oldest : oldest;
}

void last_errors_note(struct last_errors *last_errors, const struct asker *asker, const char *why)
{
    struct reason *reason;

    mutex_lock(&last_errors->lock);
    reason = place_for(last_errors, asker);
    reason->asker = *asker;
    reason->when = ++last_errors->now;
    snprintf(reason->why, sizeof reason->why, "%s", why);
    mutex_unlock(&last_errors->lock);
}

void last_errors_clear(struct last_errors *last_errors, const struct asker *asker)
{
    mutex_lock(&last_errors->lock);
    for (uint32_t i = 0; i < LAST_ERRORS_KEPT; i++)
        if (is_about(&last_errors->reason[i], asker))
            last_errors->reason[i].when = 0;
    mutex_unlock(&last_errors->lock);
}

bool last_errors_find(struct last_errors *last_errors, const struct asker *asker, char ret_why[static LAST_ERROR_SIZE])
{
    const struct reason *best = NULL;

    mutex_lock(&last_errors->lock);
    for (uint32_t i = 0; i < LAST_ERRORS_KEPT; i++) {
        const struct reason *reason = &last_errors->reason[i];
        bool is_own = reason->asker.pid == asker->pid;

        if (!is_about(reason, asker))
            continue;
        if (best == NULL || (is_own && best->asker.pid != asker->pid) ||
            (is_own == (best->asker.pid == asker->pid) && reason->when > best->when))
            best = reason;
    }
    if (best != NULL)
        snprintf(ret_why, LAST_ERROR_SIZE, "%s", best->why);
    mutex_unlock(&last_errors->lock);
    return best != NULL;
}
