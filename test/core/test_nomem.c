/* SPDX-License-Identifier: MIT */
/* Random programs one operation of which runs out of memory: at its first allocation, its second, and so on until it
 * gets by; for a moment, or until it is over. It works or fails with -ENOMEM; everything is there afterwards, and goes
 * on. A lock left behind is a test that hangs, leaked memory is found by the sanitizer build. */
#include "test/core/world.h"

#include "fs/core/change/room_watch.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file.h"
#include "fs/core/stub/copy.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/reap.h"
#include "fs/core/tree/tree.h"
#include "test/support/failmalloc.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

/* The parts of a program: steps, but part KILL kills the daemon and mounts again, and the last ones are an orderly
 * remount. */
enum {
    KILL = 8,
    UNMOUNT = 17,
    MOUNT,
    N_PARTS,
};

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 2, "stripe(64)", 0 },
    { 3, "stripe(1,3)", 0 },
    { 3, "stripe(128) disp 100", SIM_LACKS_TMPFILE },
    { 4, "var(10,200,30)", 0 },
};

struct shortage {
    unsigned part, at; /* allocation number at of that part of the program fails */
    bool persistent;
};

static void kill_daemon(struct world *world)
{
    sim_crash_at(world->sim, world->sim->calls + 1);
    world_abandon(world);
    sim_kill(world->sim);
}

static void run_part(struct world *world, struct rng *rng, unsigned part)
{
    if (part == UNMOUNT)
        world_unmount(world);
    else if (part == MOUNT || part == KILL)
        (void) world_mount(world);
    else
        world_step(world, rng);
}

/* Runs a part while memory is short. True: an allocation was refused. */
static bool run_short_part(struct world *world, struct rng *rng, const struct shortage *shortage)
{
    bool refused;

    world->faulty = true;
    failmalloc_arm(shortage->at, shortage->persistent);
    run_part(world, rng, shortage->part);
    refused = failmalloc_disarm();
    world->faulty = false;
    if (shortage->part != UNMOUNT && world->fs == NULL && world->why[0] == 0)
        (void) world_mount(world);
    if (shortage->part != UNMOUNT && world->why[0] == 0)
        world_check(world);
    return refused;
}

static bool run_program(struct world *world, uint64_t seed, const struct shortage *shortage)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    bool refused = false;

    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) < 0 ||
        world_mount(world) < 0)
        return false;
    world->only_error = -ENOMEM;
    world->migrates = seed % 2 == 0;
    world->replicates = seed % 4 == 0;
    for (unsigned part = 0; part < N_PARTS && world->why[0] == 0; part++) {
        if (part == KILL)
            kill_daemon(world);
        if (part == shortage->part)
            refused = run_short_part(world, &rng, shortage);
        else
            run_part(world, &rng, part);
    }
    if (world->why[0] == 0)
        world_check(world);
    world_abandon(world);
    return refused;
}

static bool survives(uint64_t seed, const struct shortage *shortage)
{
    static struct world world;
    bool refused = run_program(&world, seed, shortage);

    cr_assert(world.why[0] == 0, RNG_SEED ", part %u without its allocation %u%s (%s): %s\n%s", seed, shortage->part,
              shortage->at, shortage->persistent ? " and all that follow" : "", world.layout, world.why, world.program);
    cr_assert_eq(sim_n_open(world.sim), 0, RNG_SEED ", part %u, allocation %u: a descriptor is left", seed,
                 shortage->part, shortage->at);
    world_done(&world);
    return refused;
}

#define SHARDS 4

ParameterizedTestParameters(nomem, nothing_is_lost)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, nomem, nothing_is_lost, .timeout = 3000)
{
    uint64_t n_refused = 0;

    for (struct rng rng = rng_shard_from_env(1000, *shard, SHARDS); rng_next(&rng);) {
        struct shortage shortage = { .part = (unsigned) rng_below(&rng, N_PARTS), .persistent = rng_chance(&rng, 50) };

        do {
            shortage.at++;
            n_refused++;
        } while (survives(rng.seed, &shortage));
        n_refused--;
    }
    cr_expect_gt(n_refused, 0, "nothing was refused: this tests nothing");
}

/* -- operations one by one, also those that programs have not -- */

/* What operations find: the file "a", which is open; "b"; "empty"; and "fresh", with bytes that were not synced. */
struct stage {
    struct world *world;
    struct fs *fs;
    struct inode *root, *inode, *made, *fresh;
    struct file *file, *made_file;
    struct stat st;
};

struct deed {
    const char *name;
    int (*act)(struct stage *stage);           /* done while memory is short */
    void (*check)(struct stage *stage, int r); /* checks what came of it, and undoes it */
};

static const struct cred somebody = { .umask = 022 };

static bool is_there(const struct stage *stage, const char *name)
{
    struct inode *inode;
    struct stat st;
    int r = tree_lookup(stage->fs, stage->root, name, &inode, &st);

    if (r == 0)
        inode_unref(stage->fs->inodes, inode);
    cr_assert(r == 0 || r == -ENOENT, "%s: %s", name, strerror(-r));
    return r == 0;
}

/* Expects that an inode is known by that name in memory, without asking a disk. */
static void check_called(const struct stage *stage, struct inode *inode, const char *name)
{
    cleanup(freep) char *path = NULL;

    cr_assert_eq(inode_path(stage->fs->inodes, inode, &path), 0);
    cr_expect_str_eq(path, name);
}

static int create(struct stage *stage)
{
    return tree_create(stage->fs, stage->root, "new", 0644, &somebody, &stage->made, &stage->st, &stage->made_file);
}

static int make_dir(struct stage *stage)
{
    return tree_mkdir(stage->fs, stage->root, "new", 0755, &somebody, &stage->made, &stage->st);
}

static int make_symlink(struct stage *stage)
{
    return tree_symlink(stage->fs, stage->root, "new", "somewhere", &somebody, &stage->made, &stage->st);
}

static void check_made(struct stage *stage, int r)
{
    cr_assert_eq(is_there(stage, "new"), r == 0, "made, and told %d", r);
    if (r < 0)
        return;
    check_called(stage, stage->made, "new");
    if (stage->made_file != NULL)
        file_put(stage->fs, stage->made_file);
    stage->made_file = NULL;
    r = stage->made->fmt == S_IFDIR ? tree_rmdir(stage->fs, stage->root, "new")
                                    : tree_unlink(stage->fs, stage->root, "new");
    inode_unref(stage->fs->inodes, stage->made);
    cr_assert_eq(r, 0);
}

static int make_link(struct stage *stage)
{
    return tree_link(stage->fs, stage->inode, stage->root, "new", &stage->st);
}

static void check_link(struct stage *stage, int r)
{
    cr_assert_eq(is_there(stage, "new"), r == 0, "made, and told %d", r);
    if (r == 0) {
        cr_expect_eq(stage->st.st_nlink, 2);
        cr_assert_eq(tree_unlink(stage->fs, stage->root, "new"), 0);
    }
    cr_assert(is_there(stage, "a"));
    check_called(stage, stage->inode, "a");
}

static int move(struct stage *stage)
{
    return tree_rename(stage->fs, stage->root, "a", stage->root, "new", 0);
}

static void check_moved(struct stage *stage, int r)
{
    check_called(stage, stage->inode, r == 0 ? "new" : "a");
    cr_assert_eq(is_there(stage, "new"), r == 0);
    cr_assert_eq(is_there(stage, "a"), r != 0);
    if (r == 0)
        cr_assert_eq(tree_rename(stage->fs, stage->root, "new", stage->root, "a", 0), 0);
}

static int swap(struct stage *stage)
{
    return tree_rename(stage->fs, stage->root, "a", stage->root, "b", RENAME_EXCHANGE);
}

static void check_swapped(struct stage *stage, int r)
{
    check_called(stage, stage->inode, r == 0 ? "b" : "a");
    if (r == 0)
        cr_assert_eq(tree_rename(stage->fs, stage->root, "b", stage->root, "a", RENAME_EXCHANGE), 0);
}

/* Makes the file "fresh", with bytes that were not synced, and closes it. */
static void make_fresh(struct stage *stage)
{
    struct file *file;

    cr_assert_eq(tree_create(stage->fs, stage->root, "fresh", 0644, &somebody, &stage->fresh, &stage->st, &file), 0);
    cr_assert_eq(file_write(stage->fs, file, "fresh bytes", 11, 0), 11);
    file_put(stage->fs, file);
}

static int replace(struct stage *stage)
{
    return tree_rename(stage->fs, stage->root, "fresh", stage->root, "b", 0);
}

/* A file that replaces another one has its bytes durable before it gets the name. */
static void check_replaced(struct stage *stage, int r)
{
    struct file *file;

    check_called(stage, stage->fresh, r == 0 ? "b" : "fresh");
    cr_assert_eq(is_there(stage, "fresh"), r != 0);
    if (r < 0)
        return;
    cr_assert_eq(file_get(stage->fs, stage->fresh, &file), 0);
    cr_expect_eq(file->record.durable_size, 11, "it replaces another file before its bytes are durable");
    file_put(stage->fs, file);
    inode_unref(stage->fs->inodes, stage->fresh);
    make_fresh(stage);
}

static int find(struct stage *stage)
{
    return tree_lookup(stage->fs, stage->root, "b", &stage->made, &stage->st);
}

static void check_found(struct stage *stage, int r)
{
    if (r < 0)
        return;
    check_called(stage, stage->made, "b");
    inode_unref(stage->fs->inodes, stage->made);
}

static void check_nothing(struct stage *stage, int r)
{
    (void) stage;
    (void) r;
}

static int list_attributes(struct stage *stage)
{
    char list[256];

    return (int) MIN(tree_list_xattr(stage->fs, stage->inode, true, list, sizeof list), 0);
}

static int ask_for_space(struct stage *stage)
{
    struct statvfs st;

    return room_statfs(stage->fs->room, NULL, &st);
}

static int read_layout(struct stage *stage)
{
    cleanup(freep) char *text = NULL;
    size_t len;

    return layouts_read_text(stage->fs->layouts, stage->file->now->layout->hash, &text, &len);
}

static int add_layout(struct stage *stage)
{
    struct file_layout *layout;
    struct layout_error error;
    bool rotates;
    int r = layouts_add(stage->fs->layouts, "stripe(100) on d1,d0", &layout, &rotates, &error);

    if (r == 0)
        layouts_put(stage->fs->layouts, layout);
    return r;
}

static int set_layout_of(struct stage *stage, struct file *file, const char *text)
{
    struct layout_error error;
    struct chosen_layout choice;
    int r = layouts_add(stage->fs->layouts, text, &choice.layout, &choice.rotates, &error);

    if (r < 0)
        return r;
    r = file_set_layout(stage->fs, file, choice.layout, choice.rotates);
    layouts_put(stage->fs->layouts, choice.layout);
    return r;
}

/* Sets the layout of an empty file to another one and back, so that there is something to do each time. */
static int set_layout(struct stage *stage)
{
    struct inode *inode;
    struct file *file;
    struct stat st;
    int r = tree_lookup(stage->fs, stage->root, "empty", &inode, &st);

    if (r < 0)
        return r;
    r = file_get(stage->fs, inode, &file);
    if (r == 0) {
        r = set_layout_of(stage, file, "one on d1");
        if (r == 0)
            r = set_layout_of(stage, file, "stripe(10,2) on d0,d1");
        file_put(stage->fs, file);
    }
    inode_unref(stage->fs->inodes, inode);
    return r;
}

static int set_default(struct stage *stage)
{
    struct inode *root = inodes_root(stage->fs->inodes);
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    int r = defaults_set(stage->fs, root, "one on d1", &error);

    if (r == 0)
        r = defaults_get(stage->fs, root, &text);
    if (r == 0)
        r = ask_for_space(stage);
    return r == 0 ? defaults_remove(stage->fs, root) : r;
}

static int walk_all(struct stage *stage)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(fs_home(stage->fs), stage->fs->volume->ns, &walk);

    while (r == 0 && (r = walk_next(walk, &entry)) > 0)
        r = MIN(entry.error, 0);
    return r;
}

static int copy_record(struct stage *stage)
{
    struct copy copy = { 0 };
    cleanup(freep) char *bytes = NULL;
    size_t len;
    int r = copy_encode(&stage->file->record, &(struct stat){ .st_mode = S_IFREG }, "a", &bytes, &len);

    if (r == 0)
        r = copy_decode(bytes, len, &copy);
    copy_done(&copy);
    return r;
}

static int print_stamp(struct stage *stage)
{
    struct stamp stamp = { 0 };
    cleanup(freep) char *text = NULL;
    int r = stamp_print(&stage->fs->volume->stamp, &text);

    if (r == 0)
        r = stamp_parse(text, strlen(text), &stamp);
    stamp_done(&stamp);
    return r;
}

static const struct deed deeds[] = {
    { "create", create, check_made },
    { "mkdir", make_dir, check_made },
    { "symlink", make_symlink, check_made },
    { "link", make_link, check_link },
    { "rename", move, check_moved },
    { "exchange", swap, check_swapped },
    { "replace", replace, check_replaced },
    { "look-up", find, check_found },
    { "listxattr", list_attributes, check_nothing },
    { "statfs", ask_for_space, check_nothing },
    { "reading a layout", read_layout, check_nothing },
    { "adding a layout", add_layout, check_nothing },
    { "setting a layout", set_layout, check_nothing },
    { "a directory's layout", set_default, check_nothing },
    { "walking", walk_all, check_nothing },
    { "a copy", copy_record, check_nothing },
    { "a stamp", print_stamp, check_nothing },
};

static void do_one(struct stage *stage, const struct deed *deed, bool persistent)
{
    for (unsigned n = 1;; n++) {
        bool refused;
        int r;

        failmalloc_arm(n, persistent);
        r = deed->act(stage);
        refused = failmalloc_disarm();
        cr_expect(r == 0 || (refused && r == -ENOMEM), "%s without allocation %u: %s", deed->name, n, strerror(-r));
        deed->check(stage, r);
        if (!refused) {
            cr_expect_gt(n, 1, "%s allocates nothing: this tests nothing", deed->name);
            return;
        }
    }
}

static void set_stage(struct stage *stage, struct world *world)
{
    struct inode *other;

    cr_assert_eq(world_init(world, 3, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
    *stage = (struct stage){ .world = world, .fs = world->fs, .root = inodes_root(world->fs->inodes) };
    cr_assert_eq(tree_create(stage->fs, stage->root, "a", 0644, &somebody, &stage->inode, &stage->st, &stage->file), 0);
    cr_assert_eq(tree_create(stage->fs, stage->root, "b", 0644, &somebody, &other, &stage->st, NULL), 0);
    inode_unref(stage->fs->inodes, other);
    cr_assert_eq(tree_create(stage->fs, stage->root, "empty", 0644, &somebody, &other, &stage->st, NULL), 0);
    inode_unref(stage->fs->inodes, other);
    cr_assert_eq(file_write(stage->fs, stage->file, "some bytes", 10, 100), 10);
    make_fresh(stage);
}

static void leave_stage(struct stage *stage)
{
    inode_unref(stage->fs->inodes, stage->inode);
    inode_unref(stage->fs->inodes, stage->fresh);
    world_abandon(stage->world);
}

Test(nomem, either_done_or_not)
{
    static struct world world;
    struct stage stage;

    set_stage(&stage, &world);
    for (size_t i = 0; i < ARRAY_SIZE(deeds); i++)
        for (int persistent = 0; persistent < 2; persistent++)
            do_one(&stage, &deeds[i], persistent);
    file_put(stage.fs, stage.file);
    leave_stage(&stage);
    cr_expect_eq(sim_n_open(world.sim), 0);
    world_done(&world);
}

static unsigned n_listed(const struct stage *stage)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    unsigned n = 0;

    cr_assert_eq(walk_new(fs_home(stage->fs), stage->fs->volume->todo, &walk), 0);
    while (walk_next(walk, &entry) > 0)
        n++;
    return n;
}

/* Where memory lacks to note that a file is to be removed, the next mount removes it; where it lacks to do so, the next
 * try does. */
Test(nomem, removed_some_time_later)
{
    static struct world world;
    unsigned n_left = 0, n_forgotten = 0;
    bool refused = true;

    for (unsigned n = 1; refused; n++) {
        struct stage stage;

        set_stage(&stage, &world);
        cr_assert_eq(file_sync(stage.fs, stage.file, false), 0);
        file_put(stage.fs, stage.file);
        failmalloc_arm(n, false);
        cr_assert_eq(tree_unlink(stage.fs, stage.root, "a"), 0);
        refused = failmalloc_disarm();
        n_left += n_listed(&stage);
        reaper_retry(stage.fs->reaper);
        n_forgotten += n_listed(&stage);
        leave_stage(&stage);
        cr_assert_eq(world_mount(&world), 0);
        stage.fs = world.fs;
        cr_expect_eq(n_listed(&stage), 0, "the next mount forgets it, too");
        world_abandon(&world);
        world_done(&world);
    }
    cr_expect_eq(n_left, 2);
    cr_expect_eq(n_forgotten, 1);
}
