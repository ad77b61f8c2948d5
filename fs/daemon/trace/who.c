/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/who.h"

int who_new(struct who **ret_who)
{
    struct who *who = calloc(1, sizeof *who);

    if (who == NULL)
        return -ENOMEM;
    mutex_init(&who->lock);
    *ret_who = who;
    return 0;
}

void who_free(struct who *who)
{
    if (who == NULL)
        return;
    mutex_done(&who->lock);
    free(who);
}

void who_is(struct who *who, pid_t tid, struct process_identity *ret_identity)
{
    struct who_known *known = &who->known[(uint32_t) tid % WHO_THREADS];
    uint64_t now = clock_ms();
    bool is_known;

    mutex_lock(&who->lock);
    is_known = known->tid == tid && now < known->until;
    if (is_known)
        *ret_identity = known->identity;
    mutex_unlock(&who->lock);
    if (is_known)
        return;
    if (process_identify(tid, ret_identity) < 0)
        *ret_identity = (struct process_identity){ .pid = tid };
    mutex_lock(&who->lock);
    *known = (struct who_known){ tid, now + WHO_MS, *ret_identity };
    mutex_unlock(&who->lock);
}
