/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/walk.h"
#include "fs/core/tree/tree.h"
#include "fs/ctl/verbs/extract.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define COPY_PREFIX 0700 /* a directory while it is being filled */

struct tree {
    struct extract *extract;
    const struct disk *home;
    const char *root; /* in the volume; empty or with a slash at its end */
    int dir;          /* of the copy, where the walk is */
};

/* Dresses the copy of a directory or a symlink, which must be complete. */
static void dress_entry(struct extract *extract, const char *path, int dir, const char *name)
{
    struct inode *inode;
    struct stat st;
    int r = extract_look_up(extract->fs, path, &inode, &st);

    if (r < 0) {
        extract_fail(extract, 0, "%s: its copy is without owner, mode and times: %s", path, strerror(-r));
        return;
    }
    extract_dress(extract, path, inode, &st, dir, name);
    inode_unref(extract->fs->inodes, inode);
}

/* The path of an entry from the volume's root; NULL: there was no memory, which has been said. */
static char *full_path(struct tree *tree, const struct walk_entry *entry)
{
    char *path;

    if (asprintf(&path, "%s%s", tree->root, entry->path) < 0) {
        extract_fail(tree->extract, 0, "out of memory");
        return NULL;
    }
    return path;
}

static void copy_link(struct tree *tree, const struct walk_entry *entry)
{
    cleanup(freep) char *path = full_path(tree, entry);
    char target[PATH_MAX + 1];
    ssize_t n = disk_call(tree->home, read_link, entry->dir, entry->name, target, sizeof target - 1);

    if (n >= 0) {
        target[n] = 0;
        n = symlinkat(target, tree->dir, entry->name) < 0 ? -errno : 0;
    }
    if (n < 0)
        extract_fail(tree->extract, 0, "%s%s: cannot copy the symlink: %s", tree->root, entry->path,
                     strerror((int) -n));
    else if (path != NULL)
        dress_entry(tree->extract, path, tree->dir, entry->name);
}

static void enter(struct tree *tree, const struct walk_entry *entry, struct walk *walk)
{
    int fd = -1;

    if (mkdirat(tree->dir, entry->name, COPY_PREFIX) == 0 || errno == EEXIST)
        fd = openat(tree->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        walk_skip(walk);
        extract_fail(tree->extract, 0, "%s%s: cannot make the directory: %s", tree->root, entry->path, strerror(errno));
        return;
    }
    close(tree->dir);
    tree->dir = fd;
}

static void leave(struct tree *tree, const struct walk_entry *entry)
{
    cleanup(freep) char *path = full_path(tree, entry);
    int up;

    if (entry->error < 0)
        extract_fail(tree->extract, 0, "%s%s: cannot read the directory: %s", tree->root, entry->path,
                     strerror(-entry->error));
    if (entry->name[0] == 0)
        return;
    up = openat(tree->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(tree->dir);
    tree->dir = up;
    if (path != NULL)
        dress_entry(tree->extract, path, tree->dir, entry->name);
}

static void copy_file(struct tree *tree, const struct walk_entry *entry)
{
    cleanup(freep) char *path = full_path(tree, entry);

    if (path != NULL)
        (void) extract_file(tree->extract, path, tree->dir, entry->name);
}

static void copy_entry(struct tree *tree, const struct walk_entry *entry, struct walk *walk)
{
    if (entry->leaving)
        leave(tree, entry);
    else if (entry->error < 0)
        extract_fail(tree->extract, 0, "%s%s: %s", tree->root, entry->path, strerror(-entry->error));
    else if (S_ISDIR(entry->st.st_mode))
        enter(tree, entry, walk);
    else if (S_ISLNK(entry->st.st_mode))
        copy_link(tree, entry);
    else if (S_ISREG(entry->st.st_mode))
        copy_file(tree, entry);
    else
        extract_fail(tree->extract, 0, "%s%s: is left out, it is neither file, directory nor symlink", tree->root,
                     entry->path);
}

/* Begins the walk at a path in the volume. */
static int start_walk(struct tree *tree, const char *path, struct walk **ret_walk)
{
    struct fs *fs = tree->extract->fs;
    struct inode *inode;
    struct stat st;
    int fd, r = extract_look_up(fs, path, &inode, &st);

    if (r < 0)
        return r;
    r = S_ISDIR(st.st_mode) ? tree_open_dir(fs, inode, &fd) : -ENOTDIR;
    inode_unref(fs->inodes, inode);
    if (r < 0)
        return r;
    r = walk_new(tree->home, fd, ret_walk);
    disk_close(tree->home, &fd);
    return r;
}

int extract_tree(struct extract *extract, const char *path)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    cleanup(freep) char *root = NULL;
    struct tree tree = { .extract = extract, .home = fs_home(extract->fs), .dir = -1 };
    struct walk_entry entry;
    int r;

    if (asprintf(&root, "%s%s", path, *path != 0 ? "/" : "") < 0)
        return root = NULL, extract_fail(extract, -ENOMEM, "out of memory");
    tree.root = root;
    r = start_walk(&tree, path, &walk);
    if (r < 0)
        return extract_fail(extract, r, "%s: %s", *path != 0 ? path : "/", volume_strerror(-r));
    if (mkdir(extract->out, COPY_PREFIX) < 0 && errno != EEXIST)
        return extract_fail(extract, -errno, "cannot make the directory %s: %s", extract->out, strerror(errno));
    tree.dir = open(extract->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree.dir < 0)
        return extract_fail(extract, -errno, "cannot open the directory %s: %s", extract->out, strerror(errno));
    while ((r = walk_next(walk, &entry)) > 0)
        copy_entry(&tree, &entry, walk);
    if (r == 0)
        dress_entry(extract, path, tree.dir, ".");
    close(tree.dir);
    return r;
}
