/* SPDX-License-Identifier: MIT */
/* user.falls.disks, of any directory: the disks of the volume, and orders about them.
 *
 *     getfattr -n user.falls.disks --only-values DIRECTORY          d0 in - /mnt/d0, a line each
 *     setfattr -n user.falls.disks -v 'add pool=ssd /mnt/d4' DIRECTORY
 *     setfattr -n user.falls.disks -v 'leave d2' DIRECTORY          also stay, drop: it has no subfiles any more
 */
#include "fs/core/members.h"
#include "fs/daemon/log.h"
#include "fs/daemon/virtual.h"

#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE "user.falls.disks"
#define POOL      "pool="

static const char *state_of(const struct disk *disk)
{
    static const char *const name[] = { [DISK_IN] = "in", [DISK_LEAVING] = "leaving", [DISK_GONE] = "gone" };

    return disk->standing == DISK_GONE || disk_is_present(disk) ? name[disk->standing] : "absent";
}

/* A line each: the path is last, since it may have any bytes, but a newline is shown as '?'. */
int disks_get(const struct virtual_call *call, FILE *out)
{
    const struct volume *volume = call->fs->volume;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];

        fprintf(out, "d%" PRIu32 " %s %s ", i, state_of(disk), disk->pool[0] != 0 ? disk->pool : "-");
        for (const char *at = disk->path; *at != 0; at++)
            fputc(*at == '\n' ? '?' : *at, out);
        fputc('\n', out);
    }
    return 0;
}

/* -- orders -- */

/* A disk inside a mount of ours would wait for itself. */
static int check_place(const struct virtual_call *call, const struct member *member)
{
    if (fgetxattr(member->dir, ATTRIBUTE, NULL, 0) >= 0)
        return virtual_refuse(call, -EINVAL, "%s lies on a fallsfs mount: a disk is a directory elsewhere",
                              member->path);
    return 0;
}

static int add_member(const struct virtual_call *call, struct member *member)
{
    struct volume_error error;
    uint32_t index;
    int r = check_place(call, member);

    if (r < 0)
        return r;
    r = members_add(call->fs, member, &index, &error);
    if (r < 0)
        return virtual_refuse(call, r, "%s", error.why);
    log_note("%s has joined the volume as d%" PRIu32, member->path, index);
    return 0;
}

/* "pool=NAME /path", or the path alone. */
static int add(const struct virtual_call *call, const char *word)
{
    cleanup(freep) char *pool = NULL;
    struct member member;
    int r;

    if (strncmp(word, POOL, strlen(POOL)) == 0) {
        size_t len = strcspn(word += strlen(POOL), " ");

        pool = strndup(word, len);
        if (pool == NULL)
            return -ENOMEM;
        if (!stamp_is_pool(pool))
            return virtual_refuse(
                call, -EINVAL, "'%s' is no pool's name: that has letters, digits, '_', '-' and '.', 63 at most", pool);
        word += len + strspn(word + len, " ");
    }
    if (word[0] != '/')
        return virtual_refuse(call, -EINVAL, "say which directory joins, as in 'add /mnt/d4': from the root");
    r = member_open(word, &member);
    if (r < 0)
        return virtual_refuse(call, r, "cannot open %s: %s", word, strerror(-r));
    member.pool = pool;
    r = add_member(call, &member);
    member_close(&member);
    return r;
}

static int drop(const struct virtual_call *call, uint32_t index)
{
    struct volume_error error;
    struct member member;
    uint64_t left;
    int r;

    if (index >= call->fs->volume->n_disks)
        return virtual_refuse(call, -ENODEV, "the volume has no disk d%" PRIu32, index);
    r = member_open(call->fs->volume->disk[index].path, &member);
    if (r < 0)
        return virtual_refuse(call, r, "cannot open %s: %s", call->fs->volume->disk[index].path, strerror(-r));
    workers_settle(call->fs->workers); /* what was moved away is removed in the background */
    r = members_drop(call->fs, index, &member, &left, &error);
    member_close(&member);
    if (r < 0)
        return virtual_refuse(call, r, "%s", error.why);
    if (error.why[0] != 0)
        log_warning("%s", error.why);
    else
        log_note("d%" PRIu32 " has left the volume", index);
    return 0;
}

static int set_leaving(const struct virtual_call *call, uint32_t index, bool leaves)
{
    struct volume_error error;
    int r = members_set_leaving(call->fs, index, leaves, &error);

    return r < 0 ? virtual_refuse(call, r, "%s", error.why) : 0;
}

int disks_set(const struct virtual_call *call, const char *value, size_t len)
{
    uint32_t index;
    char word[8];
    int used = 0;

    (void) len;
    if (call->cred.uid != 0 && call->cred.uid != geteuid())
        return virtual_refuse(call, -EPERM, "only root and who mounted may add and remove disks");
    if (strncmp(value, "add ", 4) == 0)
        return add(call, value + 4 + strspn(value + 4, " "));
    if (sscanf(value, "%7s d%" SCNu32 "%n", word, &index, &used) == 2 && value[used] == 0) {
        if (strcmp(word, "leave") == 0 || strcmp(word, "stay") == 0)
            return set_leaving(call, index, word[0] == 'l');
        if (strcmp(word, "drop") == 0)
            return drop(call, index);
    }
    return virtual_refuse(call, -EINVAL, "say 'add /mnt/d4', or leave, stay or drop and a disk, as 'leave d2'");
}
