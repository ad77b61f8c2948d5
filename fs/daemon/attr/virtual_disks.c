/* SPDX-License-Identifier: MIT */
/* user.falls.disks, of any directory: the disks of the volume, and orders about them.
 *
 *     getfattr -n user.falls.disks --only-values DIRECTORY          d0 in - /mnt/d0, a line each
 *     getfattr -n user.falls.disks.json --only-values DIRECTORY     and the volume, and how often each has failed
 *     setfattr -n user.falls.disks -v 'add pool=ssd /mnt/d4' DIRECTORY
 *     setfattr -n user.falls.disks -v 'leave d2' DIRECTORY          its files are moved, then it goes; also stay, drop
 *     setfattr -n user.falls.disks -v balance DIRECTORY             plan balance, plan leave d2: only look
 */
#include "fs/core/change/membership.h"
#include "fs/core/change/refill.h"
#include "fs/core/volume/space.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/mover/drop_disk.h"
#include "fs/daemon/mover/mover.h"
#include "fs/daemon/say/log.h"
#include "fs/json/json.h"

#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE "user.falls.disks"
#define POOL      "pool="
#define PLAN      "plan "

static const char *state_of(const struct disk *disk)
{
    static const char *const name[] = { [DISK_IN] = "in", [DISK_LEAVING] = "leaving", [DISK_GONE] = "gone" };

    if (disk->standing != DISK_GONE && !disk_is_present(disk))
        return "absent";
    return disk->standing == DISK_IN && disk_is_read_only(disk) ? "read-only" : name[disk->standing];
}

/* Prints a line for each disk. The path is last, since it may have any bytes; a newline in it is shown as '?'. */
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

#define LONG_ACTIONS 4096 /* bytes: of many disks the first ones tell enough, and the value has room for the others */

/* Prints what to do about each disk that new bytes cannot go to, for lack of room or inodes or as it is read-only. */
static void json_actions(struct json *json, const struct fs *fs)
{
    size_t len = 0;

    json_open(json, "actions", '[');
    for (uint32_t i = 0; i < fs->volume->n_disks && !fs->read_only && len < LONG_ACTIONS; i++) {
        const struct disk *disk = &fs->volume->disk[i];
        char text[SPACE_ADVICE];
        struct statvfs space;

        if (disk_is_present(disk) && space_of_disk(disk, &space) == 0 &&
            space_advice(&(struct space_of){ i, i == fs->volume->home, disk_is_read_only(disk), &space }, text)) {
            json_string(json, NULL, text);
            len += strlen(text);
        }
    }
    json_close(json, ']');
}

/* Tells programs of the disks: what the lines of user.falls.disks have, and more. */
int disks_json_get(const struct virtual_call *call, FILE *out)
{
    const struct volume *volume = call->fs->volume;
    char hex[2 * DISK_UUID_SIZE + 1];
    struct json json;

    json_begin(&json, out);
    hex_print(volume->uuid, DISK_UUID_SIZE, hex);
    json_string(&json, "volume", hex);
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];

        json_open(&json, NULL, '{');
        json_string(&json, "path", disk->path);
        json_string(&json, "state", state_of(disk));
        json_string(&json, "pool", disk->pool);
        if (disk_is_read_only(disk))
            json_bool(&json, "read_only", true);
        if (i == volume->home)
            json_bool(&json, "home", true);
        json_u64(&json, "errors", disk->watch != NULL ? atomic_load(&disk->watch->n_troubles) : 0);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_actions(&json, call->fs);
    json_u64(&json, "files_to_fill", refills_count(call->fs->refills));
    json_end(&json);
    return 0;
}

/* -- orders -- */

/* Refuses a directory on a fallsfs mount: a disk of the volume on the volume itself would wait for itself. */
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
    r = membership_add(call->fs, member, &index, &error);
    if (r < 0)
        return virtual_refuse(call, r, "%s", error.why);
    log_note("%s has joined the volume as d%" PRIu32, member->path, index);
    return 0;
}

/* Carries out "add WORD", where WORD is "pool=NAME /path" or a path alone. */
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

/* Refuses a number that is no disk of the volume, or one that has left. */
static int check_disk(const struct virtual_call *call, uint32_t index)
{
    if (index >= call->fs->volume->n_disks || call->fs->volume->disk[index].standing == DISK_GONE)
        return virtual_refuse(call, -ENODEV, "the volume has no disk d%" PRIu32, index);
    return 0;
}

static int drop(const struct virtual_call *call, uint32_t index)
{
    int r = check_disk(call, index);

    return r < 0 ? r : drop_disk(call->fs, index, call->why);
}

static int set_leaving(const struct virtual_call *call, uint32_t index, bool leaves)
{
    struct volume_error error;
    int r = membership_set_leaving(call->fs, index, leaves, &error);

    return r < 0 ? virtual_refuse(call, r, "%s", error.why) : 0;
}

/* Carries out "leave", or plans it. The disk is marked as leaving first; when the mover does not start, the mark goes
 * again, so that no disk leaves without anybody moving its files. */
static int leave(const struct virtual_call *call, uint32_t index, struct move_order *order)
{
    struct volume *volume = call->fs->volume;
    int r = check_disk(call, index);
    bool leaves_already;

    if (r < 0)
        return r;
    order->kind = MOVE_LEAVE;
    order->disk = index;
    if (order->is_plan && index == volume->home)
        return virtual_refuse(call, -EPERM, "d%" PRIu32 " is the home disk, which has the names: it cannot leave",
                              index);
    if (order->is_plan)
        return mover_start(call->mover, order, call->why);
    leaves_already = volume->disk[index].standing == DISK_LEAVING;
    r = leaves_already ? 0 : set_leaving(call, index, true);
    if (r == 0)
        r = mover_start(call->mover, order, call->why);
    if (r < 0 && !leaves_already) {
        struct volume_error ignored;

        (void) membership_set_leaving(call->fs, index, false, &ignored);
    }
    return r;
}

static int stay(const struct virtual_call *call, uint32_t index)
{
    int r = check_disk(call, index);

    if (r == 0 && call->fs->volume->disk[index].standing == DISK_LEAVING)
        (void) mover_stop(call->mover, MOVE_LEAVE);
    return r < 0 ? r : set_leaving(call, index, false);
}

/* Carries out an order about one disk, such as "leave d2". */
static int order_disk(const struct virtual_call *call, const char *value, struct move_order *order)
{
    uint32_t index;
    char word[8];
    int used = 0;

    if (sscanf(value, "%7s d%" SCNu32 "%n", word, &index, &used) == 2 && value[used] == 0) {
        if (strcmp(word, "leave") == 0)
            return leave(call, index, order);
        if (strcmp(word, "stay") == 0)
            return stay(call, index);
        if (strcmp(word, "drop") == 0)
            return drop(call, index);
    }
    return virtual_refuse(call, -EINVAL,
                          "say 'add /mnt/d4', or leave, stay or drop and a disk, as 'leave d2', or balance, or stop; "
                          "'limit=50M' or 'plan' may stand before leave and balance");
}

static int carry_out(const struct virtual_call *call, const char *value)
{
    struct move_order order = { .kind = MOVE_BALANCE, .disk = UINT32_MAX, .user = call->cred.uid };
    int r;

    if (call->cred.uid != 0 && call->cred.uid != geteuid())
        return virtual_refuse(call, -EPERM, "only root and who mounted may add and remove disks");
    if (strncmp(value, "add ", 4) == 0)
        return add(call, value + 4 + strspn(value + 4, " "));
    r = virtual_read_limit(call, &value, &order.limit);
    if (r < 0)
        return r;
    order.is_plan = strncmp(value, PLAN, strlen(PLAN)) == 0;
    value += order.is_plan ? strlen(PLAN) : 0;
    if (strcmp(value, "balance") == 0)
        return mover_start(call->mover, &order, call->why);
    if (strcmp(value, "stop") == 0)
        return mover_stop(call->mover, MOVE_BALANCE) ? 0
                                                     : virtual_refuse(call, -EINVAL, "no balance goes on, and no plan");
    return order_disk(call, value, &order);
}

/* A timeout becomes -EIO, so that the request is not parked and run again: an order that was carried out in part must
 * not be begun anew. */
int disks_set(const struct virtual_call *call, const char *value, size_t len)
{
    int r = carry_out(call, value);

    (void) len;
    return r == -ETIMEDOUT ? -EIO : r;
}
