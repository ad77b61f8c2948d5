/* SPDX-License-Identifier: MIT */
#include "test/support/simfs.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FDS         4096 /* also what generations of descriptors count in */
#define MAX_GENERATIONS (INT_MAX / MAX_FDS - 1)
#define MAX_SYMLINKS    40

/* -- descriptors: a slot and how often it was used, so that no number means two things -- */

static int free_slot(struct sim *sim)
{
    for (unsigned i = 0; i < sim->n_fds; i++)
        if (sim->fds[i].fd < 0)
            return (int) i;
    if (sim->n_fds == MAX_FDS)
        return -EMFILE;
    sim->fds = sim_realloc(sim->fds, (sim->n_fds + 1) * sizeof sim->fds[0]);
    sim->fds[sim->n_fds] = (struct sim_fd){ .fd = -1 };
    return (int) sim->n_fds++;
}

int simpath_open(struct sim_disk *disk, uint32_t ino, int flags)
{
    int slot = free_slot(disk->sim);
    struct sim_fd *fd;

    if (slot < 0)
        return slot;
    fd = &disk->sim->fds[slot];
    *fd = (struct sim_fd){ .disk = disk, .ino = ino, .flags = flags, .generation = fd->generation + 1 };
    fd->fd = (int) (fd->generation % MAX_GENERATIONS + 1) * MAX_FDS + slot;
    return fd->fd;
}

struct sim_fd *simpath_fd(struct sim_disk *disk, int fd)
{
    unsigned slot = (unsigned) fd % MAX_FDS;
    struct sim_fd *found = fd >= 0 && slot < disk->sim->n_fds ? &disk->sim->fds[slot] : NULL;

    return found != NULL && found->fd == fd && found->disk == disk ? found : NULL;
}

unsigned simpath_n_open(const struct sim *sim)
{
    unsigned n = 0;

    for (unsigned i = 0; i < sim->n_fds; i++)
        n += sim->fds[i].fd >= 0;
    return n;
}

bool simpath_full(const struct sim *sim)
{
    return simpath_n_open(sim) == MAX_FDS;
}

bool simpath_elsewhere(struct sim_disk *disk, int fd)
{
    unsigned slot = (unsigned) fd % MAX_FDS;

    return fd >= 0 && slot < disk->sim->n_fds && disk->sim->fds[slot].fd == fd && disk->sim->fds[slot].disk != disk;
}

bool simpath_in_use(struct sim_disk *disk, uint32_t ino)
{
    for (unsigned i = 0; i < disk->sim->n_fds; i++)
        if (disk->sim->fds[i].fd >= 0 && disk->sim->fds[i].disk == disk && disk->sim->fds[i].ino == ino)
            return true;
    return false;
}

void simpath_close_all(struct sim *sim)
{
    for (unsigned i = 0; i < sim->n_fds; i++)
        sim->fds[i].fd = -1;
}

/* -- names -- */

static int walk(struct sim_disk *disk, uint32_t dir, const char *path, unsigned depth, struct sim_place *ret_place);

static bool is_dir(const struct sim_disk *disk, uint32_t ino)
{
    return S_ISDIR(simimage_inode(disk->now, ino)->attr.mode);
}

/* The directory above one; 0 for a removed directory whose parent is gone, too. */
static uint32_t parent_of(const struct sim_disk *disk, uint32_t dir)
{
    uint32_t parent = simimage_inode(disk->now, dir)->parent;

    return simimage_inode(disk->now, parent) != NULL ? parent : 0;
}

static int look(struct sim_disk *disk, struct sim_place *place)
{
    if (!is_dir(disk, place->dir))
        return -ENOTDIR;
    if (place->last == SIM_LAST_DOT)
        place->ino = place->dir;
    else if (place->last == SIM_LAST_DOT_DOT)
        place->ino = parent_of(disk, place->dir);
    else if (place->len <= NAME_MAX)
        place->ino = simimage_lookup(disk->now, place->dir, place->name, place->len);
    return 0;
}

int simpath_absent(const struct sim_disk *disk, const struct sim_place *place)
{
    bool gone = simimage_inode(disk->now, place->dir)->nlink == 0;

    return place->len > NAME_MAX && !gone ? -ENAMETOOLONG : -ENOENT;
}

/* Finds what a name inside a path leads to. */
static int step(struct sim_disk *disk, const struct sim_place *place, unsigned depth, uint32_t *ret_ino)
{
    const struct sim_inode *inode = simimage_inode(disk->now, place->ino);
    struct sim_place end;
    int r;

    if (place->ino == 0)
        return simpath_absent(disk, place);
    if (!S_ISLNK(inode->attr.mode)) {
        *ret_ino = place->ino;
        return 0;
    }
    if (depth == MAX_SYMLINKS)
        return -ELOOP;
    r = walk(disk, place->dir, inode->target->bytes, depth + 1, &end);
    return r < 0 ? r : step(disk, &end, depth + 1, ret_ino);
}

static enum sim_last kind_of(const char *name, size_t len)
{
    if (len == 1 && name[0] == '.')
        return SIM_LAST_DOT;
    return len == 2 && name[0] == '.' && name[1] == '.' ? SIM_LAST_DOT_DOT : SIM_LAST_NAME;
}

static int walk(struct sim_disk *disk, uint32_t dir, const char *path, unsigned depth, struct sim_place *ret_place)
{
    assert(*path != '/'); /* nobody who goes through struct disk_ops has any business there */
    for (;;) {
        struct sim_place place = { .dir = dir, .name = path, .len = strcspn(path, "/") };
        int r;

        place.last = kind_of(place.name, place.len);
        r = look(disk, &place);
        path += place.len + strspn(path + place.len, "/");
        if (r < 0)
            return r;
        if (*path == 0) {
            *ret_place = place;
            return 0;
        }
        r = step(disk, &place, depth, &dir);
        if (r < 0)
            return r;
    }
}

int simpath_place(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place)
{
    const struct sim_fd *fd;

    if (*path == 0)
        return -ENOENT;
    if (strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    fd = simpath_fd(disk, dir);
    return fd == NULL ? -EBADF : walk(disk, fd->ino, path, 0, ret_place);
}

int simpath_place_beneath(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place)
{
    const struct sim_fd *fd;

    if (*path == 0)
        return -ENOENT;
    if (strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    fd = simpath_fd(disk, dir);
    /* The walk starts as if so many symlinks had been followed that the next one is too many. */
    return fd == NULL ? -EBADF : walk(disk, fd->ino, path, MAX_SYMLINKS, ret_place);
}

int simpath_find(struct sim_disk *disk, int dir, const char *path, uint32_t *ret_ino)
{
    const struct sim_fd *fd = simpath_fd(disk, dir);
    struct sim_place place;
    int r;

    if (fd == NULL)
        return -EBADF;
    if (*path == 0) {
        *ret_ino = fd->ino;
        return 0;
    }
    r = simpath_place(disk, dir, path, &place);
    if (r < 0)
        return r;
    if (place.ino == 0)
        return simpath_absent(disk, &place);
    *ret_ino = place.ino;
    return 0;
}
