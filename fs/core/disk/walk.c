/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define READ_SIZE 8192
#define MAX_OPEN  32

/* A directory that the walk has entered and not left yet. Only the deepest MAX_OPEN of them and the one where the walk
 * began are open. The others have all their names in memory, and ".." of the directory below leads back to them. */
struct level {
    int fd;          /* -1: closed */
    bool all_read;   /* there are no more names to read from the disk, or they cannot be read */
    int error;       /* why the rest of the names cannot be read; 0: nothing is wrong */
    size_t path_len; /* of the directory's own path */
    struct stat st;
    char *names; /* as read_dir gives them; those from at to n are still to come */
    size_t n, at, room;
};

struct walk {
    const struct disk *disk;
    struct level *level;
    uint32_t n_levels;
    bool enter; /* walk_next first enters the directory that path names */
    bool ended;
    struct stat st;
    char *path;
    size_t room;
};

/* Reads more names of a directory, behind those in memory: their bytes, 0 at the end of the directory, or -errno. */
static ssize_t read_more(const struct walk *walk, struct level *level)
{
    ssize_t n;

    if (level->n + READ_SIZE > level->room) {
        size_t room = 2 * level->room + READ_SIZE;
        char *names = realloc(level->names, room);

        if (names == NULL)
            return -ENOMEM;
        level->names = names;
        level->room = room;
    }
    n = disk_call(walk->disk, read_dir, level->fd, level->names + level->n, READ_SIZE);
    level->n += n > 0 ? (size_t) n : 0;
    return n;
}

/* Closes a directory while deeper ones are walked, with its remaining names in no more memory than they need. */
static void close_level(const struct walk *walk, struct level *level)
{
    ssize_t n = 1;
    char *names;

    level->n -= level->at;
    memmove(level->names, level->names + level->at, level->n);
    level->at = 0;
    while (n > 0)
        n = read_more(walk, level);
    level->error = (int) n;
    level->all_read = true;
    disk_close(walk->disk, &level->fd);
    level->fd = -1;
    names = realloc(level->names, MAX(level->n, 1));
    if (names != NULL) {
        level->names = names;
        level->room = MAX(level->n, 1);
    }
}

/* Opens a closed directory again, as ".." of the one below it. When somebody has moved the one below, that leads
 * elsewhere: then the names that are left are given up, with an error. */
static void open_level_again(const struct walk *walk, struct level *level, int below)
{
    struct stat st;
    int fd = below >= 0 ? disk_call(walk->disk, open, below, "..", O_RDONLY | O_DIRECTORY, 0) : -ESTALE;
    int r = fd < 0 ? fd : disk_call(walk->disk, stat, fd, "", &st);

    if (r == 0 && (st.st_dev != level->st.st_dev || st.st_ino != level->st.st_ino))
        r = -ESTALE;
    if (r == 0) {
        level->fd = fd;
        return;
    }
    disk_close(walk->disk, &fd);
    level->error = r;
    level->at = level->n;
}

/* Enters the directory fd, which belongs to the walk unless this fails. */
static int push(struct walk *walk, int fd, const struct stat *st, size_t path_len)
{
    char *names = malloc(READ_SIZE);

    if (names == NULL)
        return -ENOMEM;
    if (!array_grow(walk->level, walk->n_levels)) {
        free(names);
        return -ENOMEM;
    }
    walk->level[walk->n_levels++] =
        (struct level){ .fd = fd, .path_len = path_len, .st = *st, .names = names, .room = READ_SIZE };
    if (walk->n_levels > MAX_OPEN + 1 && walk->level[walk->n_levels - 1 - MAX_OPEN].fd >= 0)
        close_level(walk, &walk->level[walk->n_levels - 1 - MAX_OPEN]);
    return 0;
}

static void pop(struct walk *walk)
{
    struct level *level = &walk->level[--walk->n_levels];

    if (walk->n_levels > 0 && walk->level[walk->n_levels - 1].fd < 0)
        open_level_again(walk, &walk->level[walk->n_levels - 1], level->fd);
    disk_close(walk->disk, &level->fd);
    free(level->names);
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
    while (walk->n_levels > 0) {
        struct level *level = &walk->level[--walk->n_levels];

        disk_close(walk->disk, &level->fd);
        free(level->names);
    }
    free(walk->level);
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

/* Makes walk->path the path of a name in the level's directory. */
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
    const struct level *level = &walk->level[depth];

    *entry = (struct walk_entry){ .dir = level->fd,
                                  .name = walk->path + level->path_len + (level->path_len > 0),
                                  .path = walk->path,
                                  .depth = depth,
                                  .st = *st };
}

/* The next name in a level's directory; NULL, with *ret_error set, when there are no more or they cannot be read. */
static const struct dirent64 *next_name(const struct walk *walk, struct level *level, int *ret_error)
{
    for (;;) {
        const struct dirent64 *dirent;

        if (level->at == level->n && !level->all_read) {
            ssize_t n;

            level->at = level->n = 0;
            n = read_more(walk, level);
            level->all_read = n <= 0;
            level->error = (int) MIN(n, 0);
        }
        if (level->at == level->n) {
            *ret_error = level->error;
            return NULL;
        }
        dirent = (const void *) (level->names + level->at);
        level->at += dirent->d_reclen;
        if (strcmp(dirent->d_name, ".") != 0 && strcmp(dirent->d_name, "..") != 0)
            return dirent;
    }
}

/* Enters the directory that was handed out last. When that fails, walk_next makes an entry of the failure. */
static int go_in(struct walk *walk)
{
    const struct level *level = &walk->level[walk->n_levels - 1];
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
    const struct level *level = &walk->level[walk->n_levels - 1];
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
    level = &walk->level[walk->n_levels - 1];
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
