/* SPDX-License-Identifier: MIT */
#include "fs/daemon/reasons.h"

#include <pthread.h>
#include <stdio.h>

struct reason {
    struct asker asker;
    uint64_t when; /* 0: free */
    char why[REASON_SIZE];
};

struct reasons {
    pthread_mutex_t lock;
    uint64_t now;                       /* lock; counts what was noted */
    struct reason reason[REASONS_KEPT]; /* lock */
};

int reasons_new(struct reasons **ret_reasons)
{
    struct reasons *reasons = calloc(1, sizeof *reasons);

    if (reasons == NULL)
        return -ENOMEM;
    pthread_mutex_init(&reasons->lock, NULL);
    *ret_reasons = reasons;
    return 0;
}

void reasons_free(struct reasons *reasons)
{
    if (reasons == NULL)
        return;
    pthread_mutex_destroy(&reasons->lock);
    free(reasons);
}

static bool is_about(const struct reason *reason, const struct asker *asker)
{
    return reason->when > 0 && reason->asker.uid == asker->uid && reason->asker.ino == asker->ino;
}

/* What the new one takes the place of: the same process's, else the user's oldest when that has its share, else any
 * free one, else the oldest. */
static struct reason *place_for(struct reasons *reasons, const struct asker *asker)
{
    struct reason *oldest = &reasons->reason[0], *users_oldest = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < REASONS_KEPT; i++) {
        struct reason *reason = &reasons->reason[i];

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
    return n >= REASONS_PER_USER ? users_oldest : oldest;
}

void reasons_note(struct reasons *reasons, const struct asker *asker, const char *why)
{
    struct reason *reason;

    pthread_mutex_lock(&reasons->lock);
    reason = place_for(reasons, asker);
    reason->asker = *asker;
    reason->when = ++reasons->now;
    snprintf(reason->why, sizeof reason->why, "%s", why);
    pthread_mutex_unlock(&reasons->lock);
}

void reasons_clear(struct reasons *reasons, const struct asker *asker)
{
    pthread_mutex_lock(&reasons->lock);
    for (uint32_t i = 0; i < REASONS_KEPT; i++)
        if (is_about(&reasons->reason[i], asker))
            reasons->reason[i].when = 0;
    pthread_mutex_unlock(&reasons->lock);
}

bool reasons_find(struct reasons *reasons, const struct asker *asker, char ret_why[static REASON_SIZE])
{
    const struct reason *best = NULL;

    pthread_mutex_lock(&reasons->lock);
    for (uint32_t i = 0; i < REASONS_KEPT; i++) {
        const struct reason *reason = &reasons->reason[i];
        bool is_own = reason->asker.pid == asker->pid;

        if (!is_about(reason, asker))
            continue;
        if (best == NULL || (is_own && best->asker.pid != asker->pid) ||
            (is_own == (best->asker.pid == asker->pid) && reason->when > best->when))
            best = reason;
    }
    if (best != NULL)
        snprintf(ret_why, REASON_SIZE, "%s", best->why);
    pthread_mutex_unlock(&reasons->lock);
    return best != NULL;
}
