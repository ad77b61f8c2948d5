/* SPDX-License-Identifier: MIT */
/* The life of the texts of layouts: when they come, when they go, and who keeps them from going. */
#include "fs/core/change/prune.h"
#include "fs/core/file/file.h"
#include "fs/core/fs.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/hashes.h"
#include "fs/core/volume/layout_texts.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cred cred = { .umask = 022 };

/* Mounts a volume that has no text but that of new files. */
static void begin(struct world *world)
{
    cr_assert_eq(world_init(world, 2, "one", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
}

static void end(struct world *world)
{
    cr_assert_eq(fs_free(steal(world->fs)), 0);
    cr_assert_eq(sim_n_open(world->sim), 0);
    world_done(world);
}

static void remount(struct world *world)
{
    world_unmount(world);
    cr_assert_eq(world_mount(world), 0);
}

static struct inode *root(const struct world *world)
{
    return inodes_root(world->fs->inodes);
}

static void make(struct world *world, const char *name, const char *layout)
{
    struct layout_error error;
    struct chosen_layout choice;
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(tree_create(world->fs, root(world), name, 0644, &cred, &inode, &st, &file), 0);
    if (layout != NULL) {
        cr_assert_eq(layouts_add(world->fs->layouts, layout, &choice.layout, &choice.rotates, &error), 0);
        cr_assert_eq(file_set_layout(world->fs, file, choice.layout, choice.rotates), 0);
        layouts_put(world->fs->layouts, choice.layout);
    }
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
}

static uint64_t n_texts(const struct world *world)
{
    uint64_t n;

    cr_assert_eq(texts_count(world->fs, &n), 0);
    return n;
}

/* Computes the hash of a text as it is kept: a list of disks that somebody has typed has a blank behind it. */
static void hash_of(const char *typed, uint8_t ret_hash[static HASH_SIZE])
{
    char text[64];

    layout_text_hash(text, (size_t) snprintf(text, sizeof text, "%s ", typed), ret_hash);
}

static int remove_unused(const struct world *world, const char *text)
{
    uint8_t hash[HASH_SIZE];

    hash_of(text, hash);
    return layouts_remove_unused(world->fs->layouts, hash);
}

Test(texts, go_when_a_file_gets_another)
{
    static struct world world;
    char text[32];

    begin(&world);
    make(&world, "f", NULL);
    for (unsigned i = 1; i <= 100; i++) {
        struct layout_error error;
        struct chosen_layout choice;
        struct inode *inode;
        struct file *file;
        struct stat st;

        cr_assert_eq(tree_lookup(world.fs, root(&world), "f", &inode, &st), 0);
        cr_assert_eq(file_get(world.fs, inode, &file), 0);
        snprintf(text, sizeof text, "stripe(%u)", i);
        cr_assert_eq(layouts_add(world.fs->layouts, text, &choice.layout, &choice.rotates, &error), 0);
        cr_assert_eq(file_set_layout(world.fs, file, choice.layout, choice.rotates), 0);
        layouts_put(world.fs->layouts, choice.layout);
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode);
        cr_assert_eq(n_texts(&world), 2, "with layout %u", i);
    }
    end(&world);
}

/* A removed file's text stays until a sync: before, a crash could bring the name back, and the text must be there
 * then. */
Test(texts, of_a_removed_file_wait_for_a_sync)
{
    static struct world world;

    begin(&world);
    make(&world, "f", "stripe(1K)");
    cr_assert_eq(n_texts(&world), 2);
    cr_assert_eq(tree_unlink(world.fs, root(&world), "f"), 0);
    cr_assert_eq(n_texts(&world), 2);
    layouts_tidy(world.fs->layouts);
    cr_assert_eq(n_texts(&world), 1);
    end(&world);
}

Test(texts, many_that_wait_are_synced_for)
{
    static struct world world;
    char text[32];

    begin(&world);
    for (unsigned i = 1; i <= 300; i++) {
        snprintf(text, sizeof text, "stripe(%u)", i);
        make(&world, "f", text);
        cr_assert_eq(tree_unlink(world.fs, root(&world), "f"), 0);
        cr_assert_leq(n_texts(&world), 70, "after %u files", i);
    }
    end(&world);
}

/* Files that nobody has open keep their texts, however many they are. */
Test(texts, of_files_stay)
{
    static struct world world;
    char text[32], name[16];

    begin(&world);
    for (unsigned i = 1; i <= 300; i++) {
        snprintf(text, sizeof text, "stripe(%u)", i);
        snprintf(name, sizeof name, "f%u", i);
        make(&world, name, text);
    }
    layouts_tidy(world.fs->layouts);
    cr_assert_eq(n_texts(&world), 301);
    for (unsigned i = 1; i <= 300; i++) {
        struct inode *inode;
        struct file *file;
        struct stat st;

        snprintf(name, sizeof name, "f%u", i);
        cr_assert_eq(tree_lookup(world.fs, root(&world), name, &inode, &st), 0);
        cr_assert_eq(file_get(world.fs, inode, &file), 0, "%s", name);
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode);
    }
    end(&world);
}

/* After a failed sync of the home disk nobody knows which names would come back, so texts stay. */
Test(texts, stay_when_a_sync_fails)
{
    static struct world world;
    struct sim_fault fault = { .error = EIO, .disk = 0, .persistent = true, .calls = SIM_MASK(SIM_SYNC) };

    begin(&world);
    make(&world, "f", "stripe(1K)");
    cr_assert_eq(tree_unlink(world.fs, root(&world), "f"), 0);
    fault.at = world.sim->calls + 1;
    sim_fail_calls(world.sim, &fault);
    layouts_tidy(world.fs->layouts);
    sim_heal(world.sim);
    cr_assert_eq(n_texts(&world), 2);
    layouts_tidy(world.fs->layouts);
    cr_assert_eq(n_texts(&world), 1);
    end(&world);
}

/* Texts stay that were noted while names are gone through: those in use in memory, and those of files that were moved
 * or linked meanwhile. When a directory was moved, nothing can be told: -EAGAIN. */
Test(texts, that_are_noted_stay)
{
    static struct world world;
    struct inode *dir;
    struct stat st;

    begin(&world);
    make(&world, "moved", "stripe(1K) on d0");
    make(&world, "linked", "stripe(2K) on d0");
    make(&world, "gone", "stripe(3K) on d0");
    make(&world, "used", "stripe(4K) on d0");
    make(&world, "late", "stripe(5K) on d0");
    remount(&world);
    cr_assert_eq(tree_unlink(world.fs, root(&world), "gone"), 0);

    cr_assert_eq(layouts_begin_notes(world.fs->layouts), 0);
    cr_assert_eq(layouts_begin_notes(world.fs->layouts), -EBUSY);
    cr_assert_eq(tree_rename(world.fs, root(&world), "moved", world.dir, "moved", 0), 0);
    cr_assert_eq(tree_lookup(world.fs, root(&world), "linked", &dir, &st), 0);
    cr_assert_eq(tree_link(world.fs, dir, world.dir, "linked", &st), 0);
    inode_unref(world.fs->inodes, dir);
    make(&world, "more", "stripe(4K) on d0");
    cr_expect_eq(remove_unused(&world, "stripe(1K) on d0"), 0);
    cr_expect_eq(remove_unused(&world, "stripe(2K) on d0"), 0);
    cr_expect_eq(remove_unused(&world, "stripe(3K) on d0"), 1);
    cr_expect_eq(remove_unused(&world, "stripe(4K) on d0"), 0);
    cr_assert_eq(tree_rename(world.fs, root(&world), "d", root(&world), "e", 0), 0);
    cr_expect_eq(remove_unused(&world, "stripe(5K) on d0"), -EAGAIN);
    layouts_end_notes(world.fs->layouts);
    end(&world);
}

Test(texts, of_an_earlier_mount_are_pruned)
{
    static struct world world;
    struct volume_error error = { "" };
    uint64_t n;

    begin(&world);
    make(&world, "kept", "stripe(1K)");
    make(&world, "gone", "stripe(2K)");
    remount(&world);
    cr_assert_eq(tree_unlink(world.fs, root(&world), "gone"), 0);
    layouts_tidy(world.fs->layouts);
    cr_assert_eq(n_texts(&world), 3, "nobody knows who else may have it");
    cr_assert_eq(texts_prune(world.fs, &n, &error), 0, "%s", error.why);
    cr_assert_eq(n, 1);
    cr_assert_eq(n_texts(&world), 2);
    end(&world);
}

/* Has a name go between the reading of its directory and the look at what was read. */
static void lose_next_name(struct world *world)
{
    sim_fail_calls(world->sim, &(struct sim_fault){ .at = world->sim->calls + 4, /* calls: open, open, read, look */
                                                    .error = ENOENT,
                                                    .disk = 0,
                                                    .calls = SIM_MASK(SIM_STAT) });
}

Test(texts, that_go_while_they_are_listed_are_none)
{
    static struct world world;
    struct volume_error error = { "" };
    uint64_t n;

    begin(&world);
    make(&world, "f", "stripe(1K)");
    make(&world, "g", "stripe(2K)");
    lose_next_name(&world);
    cr_expect_eq(n_texts(&world), 2);
    cr_expect_eq(world.sim->n_failed, 1);
    lose_next_name(&world);
    cr_expect_eq(texts_prune(world.fs, &n, &error), 0, "%s", error.why);
    cr_expect_eq(world.sim->n_failed, 2);
    end(&world);
}

static bool is_on(const struct world *world, unsigned i, const char *text)
{
    char path[LAYOUT_PATH + 16] = ".fallsfs/";
    cleanup(freep) char *content = NULL;
    uint8_t hash[HASH_SIZE];
    size_t len;

    hash_of(text, hash);
    layouts_text_path(hash, path + strlen(path));
    content = sim_peek(sim_disk(world->sim, i), path, &len);
    return content != NULL;
}

/* Waits for a disk until it no longer counts as one that answers at once. */
static void hang(struct watch *watch)
{
    uint64_t began;

    cr_assert_geq(watch_enter(watch, &began), 0);
    while (watch_is_prompt(watch) && clock_ns() < began + UINT64_C(10000000000))
        usleep(10000);
}

/* A text that was made while a disk did not answer goes like any other, once that disk has said that it never had
 * it. */
Test(texts, that_a_slow_disk_was_not_asked_about_go_when_it_has_answered)
{
    static struct world world;
    struct watch *watch;

    begin(&world);
    cr_assert_eq(volume_watch(world.fs->volume, 60, NULL), 0);
    watch = world.fs->volume->disk[1].watch;
    hang(watch);
    make(&world, "f", "stripe(1K) on d0");
    cr_assert_eq(tree_unlink(world.fs, root(&world), "f"), 0);
    layouts_tidy(world.fs->layouts);
    cr_expect(is_on(&world, 0, "stripe(1K) on d0"), "the disk may have had it, for a file that is there");
    watch_leave(watch, 0, clock_ns());
    layouts_tidy(world.fs->layouts);
    layouts_tidy(world.fs->layouts);
    cr_expect(!is_on(&world, 0, "stripe(1K) on d0"));
    cr_expect(!is_on(&world, 1, "stripe(1K) on d0"));
    end(&world);
}

/* A text stays that only a slow disk has, as the others have lost it: a file that is there may need it, and
 * fsck may mend it. */
static void slow_disk_had_it(bool is_damaged)
{
    static struct world world;
    const struct volume *volume;
    char path[LAYOUT_PATH], whole[LAYOUT_PATH + 16];
    uint8_t hash[HASH_SIZE];
    struct watch *watch;

    begin(&world);
    make(&world, "kept", "stripe(1K) on d0");
    remount(&world);
    hash_of("stripe(1K) on d0", hash);
    layouts_text_path(hash, path);
    volume = world.fs->volume;
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (i != 1)
            cr_assert_eq(disk_call(&volume->disk[i], unlink, volume->disk[i].root, path, 0), 0);
    snprintf(whole, sizeof whole, ".fallsfs/%s", path);
    if (is_damaged)
        cr_assert_geq(sim_poke(sim_disk(world.sim, 1), whole, 0, "S", 1), 0);
    cr_assert_eq(volume_watch(world.fs->volume, 60, NULL), 0);
    watch = world.fs->volume->disk[1].watch;
    hang(watch);
    make(&world, "f", "stripe(1K) on d0");
    watch_leave(watch, 0, clock_ns());
    layouts_tidy(world.fs->layouts);
    cr_assert_eq(tree_unlink(world.fs, root(&world), "f"), 0);
    layouts_tidy(world.fs->layouts);
    layouts_tidy(world.fs->layouts);
    cr_expect(is_on(&world, 0, "stripe(1K) on d0"));
    cr_expect(is_on(&world, 1, "stripe(1K) on d0"));
    end(&world);
}

Test(texts, that_a_slow_disk_had_before_stay)
{
    slow_disk_had_it(false);
}

Test(texts, that_a_slow_disk_had_damaged_before_stay)
{
    slow_disk_had_it(true);
}

/* A disk that hangs is not waited for by files on other disks; it gets the text when it answers again. */
Test(texts, are_not_for_a_disk_that_hangs)
{
    static struct world world;
    struct watch *watch;

    begin(&world);
    cr_assert_eq(volume_watch(world.fs->volume, 60, NULL), 0);
    watch = world.fs->volume->disk[1].watch;
    hang(watch);
    make(&world, "f", "stripe(1K) on d0");
    cr_expect(is_on(&world, 0, "stripe(1K) on d0"));
    cr_expect(!is_on(&world, 1, "stripe(1K) on d0"), "nobody waits for it");
    layouts_tidy(world.fs->layouts);
    cr_expect(!is_on(&world, 1, "stripe(1K) on d0"), "nor does who keeps the time");
    watch_leave(watch, 0, clock_ns());
    layouts_tidy(world.fs->layouts);
    cr_expect(is_on(&world, 1, "stripe(1K) on d0"));
    end(&world);
}
