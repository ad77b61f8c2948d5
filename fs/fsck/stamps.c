/* SPDX-License-Identifier: MIT */
#include "fs/fsck/stamps.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/volume/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT (1 << 20)

/* One member's .fallsfs. */
struct candidate {
    const struct member *member;
    struct disk disk;
    struct stamp stamp; /* when good */
    bool good, damaged;
    char *text; /* of a damaged one, as far as it can be read */
};

struct candidates {
    uint32_t n, n_good, n_damaged;
    struct candidate *at;
};

static void candidates_done(struct candidates *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct candidate *one = &all->at[i];

        disk_close(&one->disk, &one->disk.lock);
        disk_close_root(&one->disk);
        stamp_done(&one->stamp);
        free(one->text);
    }
    free(all->at);
}

static int look_at(struct candidate *one, struct volume_error *error)
{
    struct disk *disk = &one->disk;
    size_t len;
    int r;

    disk->root = disk_call(disk, open, one->member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (disk->root < 0)
        return 0;
    r = member_read_stamp(one->member, disk, &one->stamp, error);
    one->good = r == 0;
    one->damaged = r == -EUCLEAN || r == -ENODEV;
    if (one->damaged)
        (void) file_text_read(disk, STAMP_NAME, MAX_TEXT, &one->text, &len);
    return r == -EPROTONOSUPPORT || r == -ENOMEM ? r : 0;
}

static int candidates_init(struct candidates *all, const struct member member[], uint32_t n, struct volume_error *error)
{
    int r = 0;

    *all = (struct candidates){ .at = calloc(n, sizeof *all->at) };
    if (all->at == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    for (; r == 0 && all->n < n; all->n++) {
        struct candidate *one = &all->at[all->n];

        one->member = &member[all->n];
        one->disk = (struct disk){ .ops = one->member->ops, .ctx = one->member->ctx, .root = -1, .lock = -1 };
        r = look_at(one, error);
        all->n_good += one->good;
        all->n_damaged += one->damaged;
    }
    return r;
}

/* -- whose is it -- */

static const struct stamp *newest(const struct candidates *all)
{
    const struct stamp *stamp = NULL;

    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].good && (stamp == NULL || stamp_is_newer(&all->at[i].stamp, stamp)))
            stamp = &all->at[i].stamp;
    return stamp;
}

/* Finds the one index that no good stamp has; false when the stamps do not agree, or leave another number of
 * indices. */
static bool missing_index(const struct candidates *all, const struct stamp *stamp, uint32_t *ret_index)
{
    uint32_t n_free = stamp->n_disks;

    if (all->n != stamp_n_members(stamp) || all->n_good + 1 != all->n)
        return false;
    for (uint32_t index = 0; index < stamp->n_disks; index++) {
        bool taken = stamp->disk[index].standing == DISK_GONE;

        for (uint32_t i = 0; i < all->n; i++) {
            const struct stamp *other = &all->at[i].stamp;

            if (!all->at[i].good)
                continue;
            if (memcmp(other->volume, stamp->volume, DISK_UUID_SIZE) != 0 || other->n_disks != stamp->n_disks)
                return false;
            taken |= other->index == index;
        }
        n_free -= taken;
        if (!taken)
            *ret_index = index;
    }
    return n_free == 1;
}

/* Whether a line of the damaged text gives the key another value. */
static bool contradicts(const char *text, const char *key, uint64_t value, const char *quote)
{
    char line[64];
    const char *at;

    snprintf(line, sizeof line, "\n%s = %s", key, quote);
    at = strstr(text, line);
    if (at == NULL)
        return false;
    snprintf(line, sizeof line, "\n%s = %s%" PRIu64 "%s;", key, quote, value, quote);
    return strncmp(at, line, strlen(line)) != 0;
}

static bool has_dirs(const struct disk *disk, bool is_home)
{
    static const char *const name[] = { "obj", "layout", "ns", "todo", "tmp" };
    struct stat st;

    for (size_t i = 0; i < (is_home ? ARRAY_SIZE(name) : 2); i++)
        if (disk_call(disk, stat, disk->root, name[i], &st) < 0 || !S_ISDIR(st.st_mode))
            return false;
    return true;
}

/* Whether this is beyond doubt the disk with that index: what is left of its own text says so, or, where nothing is
 * left, it lies where that disk was last. */
static bool is_it(const struct candidate *one, const struct stamp *stamp, uint32_t index)
{
    char hex[2 * DISK_UUID_SIZE + 1];

    hex_print(stamp->volume, DISK_UUID_SIZE, hex);
    if (!has_dirs(&one->disk, index == stamp->home))
        return false;
    if (one->text != NULL &&
        (contradicts(one->text, "index", index, "") || contradicts(one->text, "epoch", stamp->epoch, "\"")))
        return false;
    if (one->text != NULL && strstr(one->text, hex) != NULL)
        return true;
    return strcmp(one->member->path, stamp->disk[index].path) == 0;
}

/* -- writing it -- */

static int lock_all(struct candidates *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct disk *disk = &all->at[i].disk;
        int r;

        if (disk->root < 0)
            continue;
        disk->lock = disk_call(disk, open, disk->root, "lock", O_RDWR, 0);
        if (disk->lock < 0)
            continue; /* volume_open complains */
        r = disk_call(disk, lock, disk->lock);
        if (r < 0)
            return r == -EAGAIN ? -EBUSY : r;
    }
    return 0;
}

static int rewrite(const struct candidate *one, const struct stamp *stamp, uint32_t index)
{
    struct stamp copy = *stamp;

    copy.index = index;
    return stamp_write(&one->disk, &copy);
}

static void tell(struct check *check, const struct candidate *one, enum finding_fate fate, bool done, const char *what)
{
    const struct finding finding = { .kind = "stamp",
                                     .fate = fate,
                                     .done = done,
                                     .path = NULL,
                                     .object = one->member->path,
                                     .disk = UINT32_MAX,
                                     .what = what };

    check->n_fixed += fate == FINDING_FIXED;
    check->n_left += fate == FINDING_LEFT;
    check->tell(check->arg, &finding);
}

static int repair(struct check *check, struct candidates *all, const struct candidate *one)
{
    const struct stamp *stamp = newest(all);
    uint32_t index = 0;
    int r = 0;

    if (all->n_damaged > 1 || stamp == NULL || !missing_index(all, stamp, &index)) {
        tell(check, one, FINDING_LEFT, false,
             "the stamp is damaged, and only one of a volume can be written anew: name all disks, the others whole");
        return 0;
    }
    if (!is_it(one, stamp, index)) {
        tell(check, one, FINDING_LEFT, false,
             "the stamp is damaged, and nothing proves that this is the disk the others miss: mount it where it was "
             "last, if it is");
        return 0;
    }
    if (check->repair)
        r = lock_all(all);
    if (check->repair && r == 0)
        r = rewrite(one, stamp, index);
    if (r == 0)
        tell(check, one, FINDING_FIXED, check->repair, "the stamp is damaged: is written anew from the others");
    return r;
}

/* Whether this is what a crash has left of a disk that had left the volume: volume_open says so. */
static bool is_gone(const struct candidates *all, const struct candidate *one)
{
    const struct stamp *stamp = newest(all);
    struct stat st;

    return stamp != NULL && one->text == NULL && disk_call(&one->disk, stat, one->disk.root, "obj", &st) == -ENOENT &&
           stamp_find_gone(stamp, one->member->path) >= 0;
}

int stamps_check(struct check *check, const struct member member[], uint32_t n, struct volume_error *ret_error)
{
    cleanup(candidates_done) struct candidates all;
    int r = candidates_init(&all, member, n, ret_error);

    for (uint32_t i = 0; r == 0 && i < all.n; i++) {
        if (!all.at[i].damaged || is_gone(&all, &all.at[i]))
            continue;
        r = repair(check, &all, &all.at[i]);
        if (r == -EBUSY)
            volume_fail(ret_error, r, "the volume is in use: unmount it first");
        else if (r < 0)
            volume_fail(ret_error, r, "cannot write the stamp of %s: %s", all.at[i].member->path, strerror(-r));
    }
    return r;
}
