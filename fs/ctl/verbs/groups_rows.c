/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/groups_rows.h"

#include <pwd.h>
#include <string.h>

static const char *const states[] = { "idle", "waits", "at work", "failed" };

const char *groups_state(const struct fallsfs_ioc_groups *group)
{
    return group->state < ARRAY_SIZE(states) ? states[group->state] : "?";
}

bool groups_has_round(const struct fallsfs_ioc_groups *group)
{
    return group->seq > 0;
}

static bool is_missing(const struct fallsfs_ioc_groups *group, uint32_t rank)
{
    return rank < MIN(group->nranks, FALLSFS_MAX_RANKS) && (group->missing[rank / 8] >> rank % 8 & 1) != 0;
}

bool groups_next_missing(const struct fallsfs_ioc_groups *group, uint32_t *first, uint32_t *ret_last)
{
    uint32_t n = MIN(group->nranks, FALLSFS_MAX_RANKS);

    while (*first < n && !is_missing(group, *first))
        ++*first;
    if (*first == n)
        return false;
    *ret_last = *first;
    while (is_missing(group, *ret_last + 1))
        ++*ret_last;
    return true;
}

const char *groups_user(uint32_t uid, char name[static GROUPS_USER])
{
    const struct passwd *entry = getpwuid(uid);

    snprintf(name, GROUPS_USER, "%" PRIu32, uid);
    return entry != NULL ? entry->pw_name : name;
}

char *groups_file(const char *target, const struct fallsfs_ioc_groups *group)
{
    char *path;

    if (group->path[0] == 0 || asprintf(&path, "%s/%s", target, group->path) < 0)
        return NULL;
    return path;
}

/* The ranks that are missing, as 0-3,7; "-" when none is. */
static char *missing_text(const struct fallsfs_ioc_groups *group)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    uint32_t n = 0, first = 0, last;

    if (out == NULL)
        return NULL;
    for (; groups_next_missing(group, &first, &last); first = last + 1) {
        fprintf(out, last > first ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, n > 0 ? "," : "", first, last);
        n += last - first + 1;
    }
    fputs(n < group->n_missing ? ",..." : n == 0 ? "-" : "", out);
    fclose(out);
    return text;
}

const struct column groups_columns[GROUPS_COLUMNS] = {
    { "MOUNTPOINT", COLUMN_CUT }, { "FILE", COLUMN_CUT },   { "USER", COLUMN_LEFT }, { "JOINED", COLUMN_RIGHT },
    { "ROUND", COLUMN_LEFT },     { "STATE", COLUMN_LEFT }, { "RANKS", COLUMN_CUT }, { "SINCE", COLUMN_RIGHT },
    { "LEFT", COLUMN_RIGHT },     { "ERROR", COLUMN_CUT },
};

static void add_seconds(struct table *table, bool is_known, uint64_t ns)
{
    if (is_known)
        table_addf(table, "%.1fs", (double) ns / 1e9);
    else
        table_add(table, "-");
}

void groups_add_row(struct table *table, const char *target, const struct fallsfs_ioc_groups *group)
{
    cleanup(freep) char *path = groups_file(target, group), *missing = missing_text(group);
    char name[GROUPS_USER];

    table_add(table, target);
    if (path != NULL)
        table_add(table, path);
    else
        table_addf(table, "%s (removed, inode %" PRIu64 ")", target, (uint64_t) group->inode);
    table_add(table, groups_user(group->uid, name));
    table_addf(table, "%" PRIu32 "/%" PRIu32, group->joined, group->nranks);
    if (groups_has_round(group))
        table_addf(table, "%" PRIu64 " %s", (uint64_t) group->seq,
                   group->direction == FALLSFS_WRITE ? "write" : "read");
    else
        table_add(table, "-");
    table_add(table, groups_state(group));
    table_add(table, missing != NULL ? missing : "?");
    add_seconds(table, groups_has_round(group), group->ns_since);
    add_seconds(table, groups_has_round(group) && group->ns_left != FALLSFS_NO_DEADLINE, group->ns_left);
    table_add(table, group->error != 0 ? strerror((int) group->error) : "");
}
