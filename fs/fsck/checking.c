/* SPDX-License-Identifier: MIT */
#include "fs/fsck/checking.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- findings -- */

static void tell(struct checking *checking, const char *kind, const struct spot *spot, enum finding_fate fate, int r,
                 const char *fmt, va_list list)
{
    struct check *check = checking->check;
    struct finding finding = { .kind = kind,
                               .fate = fate == FINDING_FIXED && r < 0 ? FINDING_LEFT : fate,
                               .done = check->repair && fate == FINDING_FIXED && r == 0,
                               .path = spot->path,
                               .object = spot->object,
                               .disk = spot->disk };
    char what[1024];
    int n = vsnprintf(what, sizeof what, fmt, list);

    if (r < 0 && n >= 0 && (size_t) n < sizeof what)
        snprintf(what + n, sizeof what - (size_t) n, "; cannot repair it: %s", strerror(-r));
    finding.what = what;
    check->n_fixed += finding.fate == FINDING_FIXED;
    check->n_left += finding.fate == FINDING_LEFT;
    check->n_noted += finding.fate == FINDING_NOTE;
    check->tell(check->arg, &finding);
}

void checking_tell_fix(struct checking *checking, const char *kind, const struct spot *spot, int r, const char *fmt,
                       ...)
{
    va_list list;

    va_start(list, fmt);
    tell(checking, kind, spot, FINDING_FIXED, r, fmt, list);
    va_end(list);
}

void checking_tell_left(struct checking *checking, const char *kind, const struct spot *spot, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    tell(checking, kind, spot, FINDING_LEFT, 0, fmt, list);
    va_end(list);
}

void checking_tell_note(struct checking *checking, const char *kind, const struct spot *spot, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    tell(checking, kind, spot, FINDING_NOTE, 0, fmt, list);
    va_end(list);
}

/* -- putting aside -- */

#define MAX_NAMESAKES 1000

int checking_put_aside(const struct disk *disk, const char *object)
{
    const char *slash = strrchr(object, '/'), *name = slash != NULL ? slash + 1 : object;
    int r = disk_call(disk, mkdir, disk->root, "lost", 0700);

    if (r < 0 && r != -EEXIST)
        return r;
    for (unsigned i = 0; i < MAX_NAMESAKES; i++) {
        char to[NAME_MAX + 32];
        struct stat st;

        snprintf(to, sizeof to, i == 0 ? "lost/%.200s" : "lost/%.200s.%u", name, i);
        r = disk_call(disk, stat, disk->root, to, &st);
        if (r == -ENOENT)
            return disk_call(disk, rename, disk->root, object, disk->root, to, 0);
        if (r < 0)
            return r;
    }
    return -EEXIST;
}

void checking_tell_aside(struct checking *checking, const char *kind, const struct spot *spot, const char *why)
{
    const struct disk *disk = &checking->volume->disk[spot->disk];
    int r = checking->check->repair ? checking_put_aside(disk, spot->object) : 0;

    checking_tell_fix(checking, kind, spot, r, "%s: goes to lost/", why);
}

/* -- cutting -- */

int checking_cut(const struct disk *disk, const char *object, uint64_t len)
{
    struct stat st;
    int fd, r = disk_call(disk, stat, disk->root, object, &st);

    if (r < 0 || !S_ISREG(st.st_mode) || (uint64_t) st.st_size <= len)
        return r == -ENOENT ? 0 : r;
    fd = disk_call(disk, open, disk->root, object, O_WRONLY | O_NONBLOCK, 0);
    r = fd < 0 ? fd : disk_call(disk, truncate, fd, len);
    if (r == 0)
        r = disk_call(disk, sync, fd, SYNC_DATA);
    disk_close(disk, &fd);
    return r;
}

/* -- flat directories -- */

int checking_next(struct checking *checking, struct walk *walk, const struct spot *dir, struct walk_entry *ret_entry)
{
    int r;

    while ((r = walk_next(walk, ret_entry)) > 0) {
        walk_skip(walk);
        if (ret_entry->error == 0)
            return 1;
        checking->keep_orphans = true; /* of a file that was not seen */
        checking_tell_left(checking, "unreadable", dir, "cannot be read: %s", strerror(-ret_entry->error));
    }
    return r;
}
