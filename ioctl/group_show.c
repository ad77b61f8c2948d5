/* SPDX-License-Identifier: MIT */
/* Groups as their users, and those who look after the mount, see them. */
#include "ioctl/group_parts.h"

/* Groups are listed newest first, and newer ones have larger numbers. */
static const struct group *find_next(const struct groups *groups, uint32_t uid, uint64_t after)
{
    const struct group *found = NULL;

    for (const struct group *group = groups->first; group != NULL && group->id > after; group = group->next)
        if (!group->alone && (uid == 0 || uid == group->user->uid))
            found = group;
    return found;
}

static void set_missing(struct fallsfs_ioc_groups *shown, uint32_t rank)
{
    shown->missing[rank / 8] |= (uint8_t) (1u << rank % 8);
}

static void show_failed(const struct group_stats *stats, struct fallsfs_ioc_groups *shown)
{
    shown->state = FALLSFS_GROUP_FAILED;
    shown->error = (uint32_t) -stats->error;
    shown->n_missing = stats->n_culprits;
    for (uint32_t i = 0; i < MIN(stats->n_culprits, GROUP_CULPRITS); i++)
        set_missing(shown, stats->culprit[i]);
}

static void show_round(const struct round *round, uint64_t now, struct fallsfs_ioc_groups *shown)
{
    shown->state = round->state == ROUND_OPEN ? FALLSFS_GROUP_WAITS : FALLSFS_GROUP_AT_WORK;
    shown->seq = round->seq;
    shown->direction = round->write ? FALLSFS_WRITE : FALLSFS_READ;
    shown->ns_since = now - round->first_ask;
    shown->ns_left = round->no_deadline || round->deadline == UINT64_MAX ? FALLSFS_NO_DEADLINE
                                                                         : round->deadline - MIN(now, round->deadline);
    shown->n_missing = round->n - round->n_asked;
    for (uint32_t i = 0; i < round->n; i++)
        if (!round->entry[i].asked)
            set_missing(shown, i);
}

static void show(const struct group *group, uint64_t now, struct fallsfs_ioc_groups *shown)
{
    const struct round *round = group->rounds;

    *shown = (struct fallsfs_ioc_groups){ .version = FALLSFS_IOCTL_VERSION,
                                          .group = group->id,
                                          .uid = group->user->uid,
                                          .nranks = group->terms.nranks,
                                          .joined = group->n_here,
                                          .state = FALLSFS_GROUP_IDLE };
    while (round != NULL && round->state == ROUND_OVER)
        round = round->next;
    if (round != NULL)
        show_round(round, now, shown);
    else if (group->error != 0)
        show_failed(&group->stats, shown);
}

bool groups_show(struct groups *groups, uint32_t uid, uint64_t after, struct fallsfs_ioc_groups *ret_shown,
                 uint64_t *ret_file)
{
    const struct group *group;

    pthread_mutex_lock(&groups->lock);
    group = find_next(groups, uid, after);
    if (group != NULL) {
        show(group, groups->ops.now(groups->ctx), ret_shown);
        *ret_file = group->file;
    }
    pthread_mutex_unlock(&groups->lock);
    return group != NULL;
}
