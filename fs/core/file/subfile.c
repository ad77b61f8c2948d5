/* SPDX-License-Identifier: MIT */
#include "fs/core/file/subfile.h"

#include "fs/core/stub/objects.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint32_t disk_index(const struct fs *fs, const struct generation *generation, uint32_t slot)
{
    return file_layout_disk(generation->layout, fs->volume->home, generation->rotate, slot);
}

int subfile_disk(struct fs *fs, const struct generation *generation, uint32_t slot, const struct disk **ret_disk)
{
    *ret_disk = &fs->volume->disk[disk_index(fs, generation, slot)];
    return disk_is_present(*ret_disk) ? 0 : trouble_tell(*ret_disk, TROUBLE_ABSENT, -EIO);
}

int subfile_lost(struct fs *fs, struct generation *generation, uint32_t slot)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct disk *disk = &fs->volume->disk[disk_index(fs, generation, slot)];
    bool is_there;

    mutex_lock(generation->meta);
    is_there = generation->sub[slot].fd >= 0;
    mutex_unlock(generation->meta);
    return trouble_tell(disk, is_there ? TROUBLE_SHORT : TROUBLE_MISSING, -EIO);
}

/* Checks that what was opened is what we made: a regular file with one name, or two if it may be linked. Anything else
 * was put there by somebody. */
static int check(const struct disk *disk, int fd, bool may_be_linked, uint64_t *ret_len)
{
    struct stat st;
    int r = disk_call(disk, stat, fd, "", &st);

    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_nlink > 1U + may_be_linked))
        r = -EUCLEAN;
    if (r == 0)
        *ret_len = (uint64_t) st.st_size;
    return r;
}

/* Opens the object at a path. On a disk that has become read-only, as after an error in its file system, it can still
 * be opened for reading. */
static int open_path(struct fs *fs, const struct disk *disk, const char *path, enum subfile_use use,
                     bool *ret_read_only)
{
    int flags = O_NONBLOCK | (use == SUBFILE_CREATE ? O_CREAT : 0), fd = -EROFS;

    *ret_read_only = fs->read_only;
    if (!fs->read_only)
        fd = disk_call(disk, open, disk->root, path, O_RDWR | flags, 0600);
    if (fd == -EROFS && use == SUBFILE_READ) {
        *ret_read_only = true;
        fd = disk_call(disk, open, disk->root, path, O_RDONLY | flags, 0);
    }
    /* These errors tell of a symlink, a device without driver, a socket, a directory. */
    if (fd == -ELOOP || fd == -ENXIO || fd == -ENODEV || fd == -EISDIR)
        return -EUCLEAN;
    return fd;
}

/* Notes what a disk has answered about a subfile, for all threads; fd -1: there is none. */
static int publish(struct generation *generation, uint32_t slot, int fd, bool read_only, uint64_t len)
{
    struct subfile *sub = &generation->sub[slot];

    mutex_lock(generation->meta);
    sub->fd = fd;
    sub->read_only = read_only;
    sub->absent = fd < 0;
    sub->has_tail = false;
    sub->len = len;
    if (fd >= 0)
        bits_mark(&generation->bits, slot);
    mutex_unlock(generation->meta);
    return 0;
}

static bool is_promised(struct generation *generation, uint32_t slot)
{
    bool promised;

    mutex_lock(generation->meta);
    promised = generation_must_have(generation, slot) > 0;
    mutex_unlock(generation->meta);
    return promised;
}

int subfile_check_write(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t sub_off)
{
    bool lost;

    mutex_lock(generation->meta);
    lost = generation->sub[slot].len < sub_off && generation->sub[slot].len < generation_must_have(generation, slot);
    mutex_unlock(generation->meta);
    return lost ? subfile_lost(fs, generation, slot) : 0;
}

/* Cuts off what is behind the end of a subfile that is being opened. Who cannot write there does not read it. */
static int cut_tail(struct generation *generation, uint32_t slot, const struct disk *disk, int fd, bool read_only,
                    uint64_t *len)
{
    uint64_t end = generation->sub[slot].end;
    int r = read_only ? 0 : disk_call(disk, truncate, fd, end);

    if (r == 0) {
        mutex_lock(generation->meta);
        bits_mark(&generation->dirty, slot);
        mutex_unlock(generation->meta);
        *len = end;
    }
    return r;
}

/* Opens a subfile that nobody has open. absent: there is none, as far as is known. One that is there nevertheless was
 * left by a generation of the same number that a crash has undone; its bytes are nobody's. */
static int open_anew(struct fs *fs, struct generation *generation, uint32_t slot, bool absent, enum subfile_use use)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct disk *disk;
    char path[OBJECT_PATH];
    const struct object_stamp stamp = { generation->id, generation->number, slot };
    bool read_only, may_be_linked;
    uint64_t len = 0, end;
    bool makes = use == SUBFILE_CREATE && !is_promised(generation, slot);
    int fd, r = subfile_disk(fs, generation, slot, &disk);

    if (r < 0)
        return r;
    mutex_lock(generation->meta);
    may_be_linked = generation->may_be_linked;
    end = generation->sub[slot].has_tail ? generation->sub[slot].end : UINT64_MAX;
    mutex_unlock(generation->meta);
    object_path(fs->volume, generation->id, generation->number, slot, generation->layout, path);
    /* A subfile that must be there is never made: if it is lost, an empty one would make zeros of its bytes. */
    fd = open_path(fs, disk, path, use == SUBFILE_CREATE && !makes ? SUBFILE_CHANGE : use, &read_only);
    if (fd == -ENOENT && makes)
        return trouble_tell(disk, TROUBLE_NOWHERE, -EIO);
    if (fd == -ENOENT)
        return use == SUBFILE_CREATE ? subfile_lost(fs, generation, slot) : publish(generation, slot, -1, false, 0);
    r = fd < 0 ? fd : check(disk, fd, may_be_linked, &len);
    if (r == 0 && absent && len > 0) {
        r = disk_call(disk, truncate, fd, 0);
        len = 0;
    }
    if (r == 0 && len > end)
        r = cut_tail(generation, slot, disk, fd, read_only, &len);
    if (r == 0 && len > 0)
        r = object_check_stamp(disk, fd, "", &stamp, may_be_linked);
    else if (r == 0 && use == SUBFILE_CREATE)
        object_put_stamp(disk, fd, "", &stamp);
    if (r < 0) {
        disk_close(disk, &fd);
        return r == -EUCLEAN ? trouble_tell(disk, TROUBLE_FOREIGN, r) : r;
    }
    return publish(generation, slot, fd, read_only, len);
}

/* Whether what is known of the subfile is enough for this use. meta is held. */
static bool is_known(const struct subfile *sub, enum subfile_use use)
{
    return sub->fd >= 0 || (sub->absent && use != SUBFILE_CREATE);
}

/* Waits while another thread opens the subfile, unless the disk refuses calls. */
static int wait_for_opening(struct fs *fs, struct generation *generation, uint32_t slot, enum subfile_use use)
    REQUIRES(generation->meta)
{
    const struct disk *disk;
    int r = subfile_disk(fs, generation, slot, &disk);

    while (r == 0 && generation->sub[slot].opening && !is_known(&generation->sub[slot], use)) {
        r = watch_refuses(disk->watch);
        if (r < 0)
            return r;
        (void) cond_wait_until_ms(generation->opened, generation->meta, clock_in_ms(WATCH_PROMPT));
    }
    return r;
}

static int refuse_to_write(struct fs *fs, const struct generation *generation, uint32_t slot)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct disk *disk;
    int r = fs->read_only ? -EROFS : subfile_disk(fs, generation, slot, &disk);

    return r < 0 ? r : trouble_tell(disk, TROUBLE_CALL, -EROFS);
}

int subfile_open(struct fs *fs, struct generation *generation, uint32_t slot, enum subfile_use use, int *ret_fd)
{
    struct subfile *sub = &generation->sub[slot];
    int r = 0;

    mutex_lock(generation->meta);
    if (!is_known(sub, use))
        r = wait_for_opening(fs, generation, slot, use);
    if (r == 0 && !is_known(sub, use)) {
        bool absent = sub->absent;

        sub->opening = true;
        mutex_unlock(generation->meta);
        r = open_anew(fs, generation, slot, absent, use);
        mutex_lock(generation->meta);
        sub->opening = false;
        cond_broadcast(generation->opened);
    }
    if (r == 0 && use != SUBFILE_READ && sub->fd >= 0 && sub->read_only)
        r = refuse_to_write(fs, generation, slot); /* the descriptor stays until nobody uses the file any more */
    *ret_fd = sub->fd;
    mutex_unlock(generation->meta);
    return r;
}

int subfile_len(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t *ret_len)
{
    int fd, r = subfile_open(fs, generation, slot, SUBFILE_READ, &fd);

    mutex_lock(generation->meta);
    *ret_len = generation->sub[slot].len;
    mutex_unlock(generation->meta);
    return r;
}

int subfile_lacks(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t end, bool *ret_lacks)
{
    uint64_t must, len = 0;
    int r;

    mutex_lock(generation->meta);
    must = MIN(generation_must_have(generation, slot), end);
    mutex_unlock(generation->meta);
    r = must > 0 ? subfile_len(fs, generation, slot, &len) : 0;
    *ret_lacks = r == 0 && len < must;
    return r;
}

int subfile_check_whole(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t end)
{
    bool lacks;
    int r = subfile_lacks(fs, generation, slot, end, &lacks);

    return r == 0 && lacks ? subfile_lost(fs, generation, slot) : r;
}

/* Checks that nobody has cut an open subfile by hand, whose length is known: growing it would make zeros of the bytes
 * that it had. */
static int check_not_cut(struct fs *fs, struct generation *generation, uint32_t slot, const struct disk *disk, int fd,
                         uint64_t len)
{
    struct stat st;
    uint64_t known;
    int r = disk_call(disk, stat, fd, "", &st);

    if (r < 0)
        return r;
    mutex_lock(generation->meta);
    known = generation->sub[slot].len;
    mutex_unlock(generation->meta);
    return known != SUBFILE_LEN_UNKNOWN && (uint64_t) st.st_size < MIN(known, len) ? subfile_lost(fs, generation, slot)
                                                                                   : 0;
}

int subfile_set_len(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t len)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct disk *disk;
    int fd, r = subfile_disk(fs, generation, slot, &disk);

    if (r == 0)
        r = subfile_open(fs, generation, slot, SUBFILE_CREATE, &fd);
    if (r == 0)
        r = check_not_cut(fs, generation, slot, disk, fd, len);
    if (r == 0)
        r = disk_call(disk, truncate, fd, len);
    if (r == 0) {
        mutex_lock(generation->meta);
        generation->sub[slot].len = len;
        bits_mark(&generation->dirty, slot);
        mutex_unlock(generation->meta);
    }
    return r;
}
