/* SPDX-License-Identifier: MIT */
/* A walk meets all of a tree, however deep, with few descriptors; directories that are moved meanwhile do not confuse
 * it. */
#include "fs/core/disk/walk.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_OPEN 48
#define DEEP      2500
#define N_WIDE    600 /* more names than one read of a directory returns */

/* A tree of numbered files below top, each of which a walk must meet once. */
struct tree {
    char top[64];
    int dir;
    struct disk disk;
    uint32_t n_files, n_dirs;
    uint8_t *met; /* for each file, how often it was met */
};

static void make_files(struct tree *tree, int dir, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "f%u", tree->n_files++);
        close(openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
}

/* Makes a directory in dir, which is closed, and opens it. */
static int make_dir(struct tree *tree, int dir, const char *name)
{
    int fd;

    cr_assert_eq(mkdirat(dir, name, 0700), 0);
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    close(dir);
    tree->n_dirs++;
    return fd;
}

/* Makes a chain of directories with files before and behind the way down. Where the walk has to close directories, some
 * have more names than one read returns. */
static void make_tree(struct tree *tree, unsigned depth)
{
    int dir;

    *tree = (struct tree){ .disk = { .ops = &disk_local_ops } };
    /* In memory if possible, as thousands of names are made and removed. */
    snprintf(tree->top, sizeof tree->top, "%s/fallsfs-test.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp");
    cr_assert_not_null(mkdtemp(tree->top));
    tree->dir = open(tree->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = dup(tree->dir);
    for (unsigned i = 0; i < depth; i++) {
        make_files(tree, dir, i % 1000 == 20 ? N_WIDE : i % 8 == 0);
        if (i % 7 == 0)
            close(make_dir(tree, dup(dir), "side"));
        dir = make_dir(tree, dir, "down");
    }
    make_files(tree, dir, 1);
    close(dir);
    tree->met = calloc(tree->n_files, 1);
    cr_assert_not_null(tree->met);
}

static unsigned count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

/* Removes a tree of any depth by a walk, each directory when the walk leaves it. */
static void remove_tree(struct tree *tree)
{
    struct walk *walk;
    struct walk_entry entry;

    cr_assert_eq(walk_new(&tree->disk, tree->dir, &walk), 0);
    while (walk_next(walk, &entry) > 0)
        if (entry.leaving || !S_ISDIR(entry.st.st_mode))
            cr_expect_eq(unlinkat(entry.dir, entry.name, entry.leaving ? AT_REMOVEDIR : 0), 0, "%s: %s", entry.name,
                         strerror(errno));
    walk_free(walk);
    close(tree->dir);
    cr_expect_eq(rmdir(tree->top), 0);
    free(tree->met);
}

Test(walk, meets_all_in_a_deep_tree_once)
{
    uint32_t n_entered = 0, n_left = 0, wrong = 0;
    unsigned before, most = 0;
    struct walk_entry entry;
    struct tree tree;
    struct walk *walk;

    make_tree(&tree, DEEP);
    before = count_open();
    cr_assert_eq(walk_new(&tree.disk, tree.dir, &walk), 0);
    while (walk_next(walk, &entry) > 0) {
        struct stat st;

        cr_assert_eq(entry.error, 0, "%s: %s", entry.name, strerror(-entry.error));
        cr_assert_eq(fstatat(entry.dir, entry.name, &st, AT_SYMLINK_NOFOLLOW), 0, "the directory it is in is told");
        wrong += st.st_ino != entry.st.st_ino;
        if (S_ISDIR(entry.st.st_mode) && entry.leaving)
            n_left++;
        else if (S_ISDIR(entry.st.st_mode))
            n_entered++;
        else
            tree.met[strtoul(entry.name + 1, NULL, 10)]++;
        if (n_entered % 100 == 0)
            most = MAX(most, count_open());
    }
    walk_free(walk);
    for (uint32_t i = 0; i < tree.n_files; i++)
        wrong += tree.met[i] != 1;
    cr_expect_eq(wrong, 0);
    cr_expect_eq(n_entered, tree.n_dirs);
    cr_expect_eq(n_left, tree.n_dirs);
    cr_expect_leq(most, before + MOST_OPEN, "%u descriptors, %u before", most, before);
    cr_expect_eq(count_open(), before);
    remove_tree(&tree);
}

/* When a directory is moved while the walk is in it, its way back leads elsewhere: directories above that the walk has
 * closed are reported as errors, and the walk goes on where it began. */
Test(walk, a_directory_that_is_moved_is_an_error)
{
    bool is_moved = false, is_told = false;
    struct walk_entry entry;
    struct tree tree;
    struct walk *walk;

    make_tree(&tree, 200);
    close(make_dir(&tree, dup(tree.dir), "elsewhere"));
    cr_assert_eq(walk_new(&tree.disk, tree.dir, &walk), 0);
    while (walk_next(walk, &entry) > 0) {
        if (!is_moved && entry.depth == 150) {
            static const char at[] = "down/down/down/down/down";

            is_moved = renameat(tree.dir, at, tree.dir, "elsewhere/down") == 0;
            cr_assert(is_moved);
        }
        is_told |= entry.error == -ESTALE;
    }
    walk_free(walk);
    cr_expect(is_moved && is_told);
    remove_tree(&tree);
}

Test(walk, nothing_is_gone_into_that_shall_not)
{
    uint32_t n_skipped = 0;
    struct walk_entry entry;
    struct tree tree;
    struct walk *walk;

    make_tree(&tree, 200);
    cr_assert_eq(walk_new(&tree.disk, tree.dir, &walk), 0);
    while (walk_next(walk, &entry) > 0)
        if (entry.depth == 50 && S_ISDIR(entry.st.st_mode) && !entry.leaving) {
            walk_skip(walk);
            n_skipped++;
        } else {
            cr_assert_leq(entry.depth, 50);
        }
    walk_free(walk);
    cr_expect_geq(n_skipped, 1);
    remove_tree(&tree);
}
