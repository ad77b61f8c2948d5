/* SPDX-License-Identifier: MIT */
#include "fs/core/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define BUF_SIZE 8192

struct level {
    int fd;
    size_t path_len; /* of the directory's own path */
    struct stat st;
    ssize_t n, at;
    _Alignas(struct dirent64) char buf[BUF_SIZE];
};

struct walk {
    const struct disk *disk;
    struct level *level[WALK_MAX_DEPTH];
    uint32_t n_levels;
    bool enter; /* the directory that path names, before anything else */
    bool ended;
    struct stat st;
    char *path;
    size_t room;
};

static int push(struct walk *walk, int fd, const struct stat *st, size_t path_len)
{
    struct level *level = walk->n_levels < WALK_MAX_DEPTH ? malloc(sizeof *level) : NULL;

    if (level == NULL)
        return walk->n_levels < WALK_MAX_DEPTH ? -ENOMEM : -ELOOP;
    level->fd = fd;
    level->path_len = path_len;
    level->st = *st;
    level->n = level->at = 0;
    walk->level[walk->n_levels++] = level;
    return 0;
}

static void pop(struct walk *walk)
{
    struct level *level = walk->level[--walk->n_levels];

    disk_close(walk->disk, &level->fd);
    free(level);
}

int walk_new(const struct disk *disk, int dir, struct walk **ret_walk)
{
    cleanup(walk_freep) struct walk *walk = calloc(1, sizeof *walk);
    struct stat st = { 0 };
    int fd, r = walk == NULL ? -ENOMEM : 0;

    if (r < 0)
        return r;
    walk->disk = disk;
    walk->room = 256;
    walk->path = calloc(1, walk->room);
    fd = walk->path != NULL ? disk_call(disk, open, dir, ".", O_RDONLY | O_DIRECTORY, 0) : -ENOMEM;
    if (fd < 0)
        return fd;
    r = push(walk, fd, &st, 0);
    if (r < 0) {
        disk_close(disk, &fd);
        return r;
    }
    *ret_walk = steal(walk);
    return 0;
}

void walk_free(struct walk *walk)
{
    if (walk == NULL)
        return;
    while (walk->n_levels > 0)
        pop(walk);
    free(walk->path);
    free(walk);
}

void walk_freep(struct walk **walk)
{
    walk_free(*walk);
}

void walk_skip(struct walk *walk)
{
    walk->enter = false;
}

/* Puts name behind the path of the level. */
static int set_path(struct walk *walk, const struct level *level, const char *name)
{
    size_t len = strlen(name), at = level->path_len + (level->path_len > 0);

    if (at + len + 1 > walk->room) {
        size_t room = 2 * walk->room + len + 1;
        char *path = realloc(walk->path, room);

        if (path == NULL)
            return -ENOMEM;
        walk->path = path;
        walk->room = room;
    }
    if (at > 0)
        walk->path[at - 1] = '/';
    memcpy(walk->path + at, name, len + 1);
    return 0;
}

static void describe(const struct walk *walk, uint32_t depth, const struct stat *st, struct walk_entry *entry)
{
    const struct level *level = walk->level[depth];

    *entry = (struct walk_entry){ .dir = level->fd,
                                  .name = walk->path + level->path_len + (level->path_len > 0),
                                  .path = walk->path,
                                  .depth = depth,
                                  .st = *st };
}

/* The name in a level that comes next; NULL at its end, or when it cannot be read. */
static const struct dirent64 *next_name(const struct walk *walk, struct level *level, int *ret_error)
{
    for (;;) {
        const struct dirent64 *dirent;

        if (level->at >= level->n) {
            level->at = 0;
            level->n = disk_call(walk->disk, read_dir, level->fd, level->buf, sizeof level->buf);
            if (level->n <= 0) {
                *ret_error = (int) level->n;
                level->n = 0;
                return NULL;
            }
        }
        dirent = (const void *) (level->buf + level->at);
        level->at += dirent->d_reclen;
        if (strcmp(dirent->d_name, ".") != 0 && strcmp(dirent->d_name, "..") != 0)
            return dirent;
    }
}

/* Goes into the directory that was handed out last; a failure is an entry of its own. */
static int go_in(struct walk *walk)
{
    const struct level *level = walk->level[walk->n_levels - 1];
    const char *name = walk->path + level->path_len + (level->path_len > 0);
    int fd = disk_call(walk->disk, open, level->fd, name, O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : push(walk, fd, &walk->st, strlen(walk->path));

    walk->enter = false;
    if (r < 0)
        disk_close(walk->disk, &fd);
    return r;
}

static int leave(struct walk *walk, int error, struct walk_entry *entry)
{
    const struct level *level = walk->level[walk->n_levels - 1];
    struct stat st = level->st;

    walk->path[level->path_len] = 0;
    walk->ended = walk->n_levels == 1;
    if (walk->ended && error == 0)
        return 0;
    if (!walk->ended)
        pop(walk);
    describe(walk, walk->n_levels - 1, &st, entry);
    entry->leaving = true;
    entry->error = error;
    return 1;
}

int walk_next(struct walk *walk, struct walk_entry *ret_entry)
{
    const struct dirent64 *dirent;
    struct level *level;
    int r = walk->enter ? go_in(walk) : 0, error = 0;

    if (walk->ended)
        return 0;
    level = walk->level[walk->n_levels - 1];
    if (r < 0) {
        describe(walk, walk->n_levels - 1, &walk->st, ret_entry);
        ret_entry->leaving = true;
        ret_entry->error = r;
        return 1;
    }
    dirent = next_name(walk, level, &error);
    if (dirent == NULL)
        return leave(walk, error, ret_entry);
    r = set_path(walk, level, dirent->d_name);
    if (r < 0)
        return r;
    r = disk_call(walk->disk, stat, level->fd, walk->path + level->path_len + (level->path_len > 0), &walk->st);
    walk->enter = r == 0 && S_ISDIR(walk->st.st_mode);
    describe(walk, walk->n_levels - 1, &walk->st, ret_entry);
    ret_entry->error = r;
    return 1;
}
