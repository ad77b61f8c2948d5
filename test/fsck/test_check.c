/* SPDX-License-Identifier: MIT */
/* The check in memory: random programs on simulated disks, interrupted anywhere. Whatever state they come back in,
 * looking writes nothing, no crash is taken for damage, a second run has nothing more to repair, an interrupted run can
 * be done again, and afterwards all that was promised is still there. */
#include "fs/core/change/jobs.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file.h"
#include "fs/core/fs.h"
#include "fs/core/stub/census.h"
#include "fs/core/stub/copy.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/tree.h"
#include "test/core/world.h"
#include "test/fsck/sim_fsck.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define STEPS  14
#define SHARDS 4

static const struct world_shape shapes[] = {
    { 1, "one", 0 },
    { 2, "stripe(64)", 0 },
    { 3, "stripe(7)", 0 },
    { 2, "stripe(100,5)", 0 },
    { 3, "stripe(128) disp 100", 0 },
    { 4, "var(10,200,30)", 0 },
    { 3, "stripe(7)", SIM_LACKS_TMPFILE },
};

/* -- programs -- */

static uint64_t run_program(struct world *world, uint64_t seed, uint64_t crash_at)
{
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    uint64_t before;

    if (world_init(world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) < 0)
        return 0;
    world->migrates = rng_chance(&rng, 50);
    before = world->sim->calls;
    if (crash_at > 0)
        sim_crash_at(world->sim, before + crash_at);
    if (world_mount(world) == 0) {
        for (int i = 0; i < STEPS && !world->sim->down && world->why[0] == 0; i++)
            world_step(world, &rng);
        if (!world->sim->down && rng_chance(&rng, 50))
            world_unmount(world);
    }
    return world->sim->calls - before;
}

#define WHERE         RNG_SEED " interrupted at call %" PRIu64 " (%s): "
#define OF(world, at) seed, at, (world)->layout

static void look(struct world *world, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .tell = hear, .arg = &heard };
    cleanup(freep) char *before = print_all(world->sim, world->n_disks), *after = NULL;
    int r = run_fsck(world->sim, world->n_disks, &check);

    after = print_all(world->sim, world->n_disks);
    cr_assert_eq(r, 0, WHERE "fsck -n: %s", OF(world, at), strerror(-r));
    cr_assert(strcmp(before, after) == 0, WHERE "fsck -n wrote something", OF(world, at));
    cr_assert(heard.left[0] == 0, WHERE "taken for damage: %s\n%s", OF(world, at), heard.left, world->program);
}

static void repair(struct world *world, struct rng *rng, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = {
        .repair = true, .copies = rng_chance(rng, 50), .free_orphans = rng_chance(rng, 50), .tell = hear, .arg = &heard
    };
    uint64_t before = world->sim->calls;
    int r;

    if (rng_chance(rng, 50)) {
        sim_crash_at(world->sim, before + 1 + rng_below(rng, 120));
        (void) run_fsck(world->sim, world->n_disks, &check);
        sim_crash(world->sim, rng);
        heard.left[0] = 0;
    }
    r = run_fsck(world->sim, world->n_disks, &check);
    cr_assert_eq(r, 0, WHERE "fsck -y: %s", OF(world, at), strerror(-r));
    cr_assert(heard.left[0] == 0, WHERE "not repaired: %s\n%s", OF(world, at), heard.left, world->program);
    r = run_fsck(world->sim, world->n_disks, &check);
    cr_assert(r == 0 && check.n_fixed == 0 && check.n_left == 0, WHERE "a second fsck -y repairs something\n%s",
              OF(world, at), world->program);
}

/* -- copies of records -- */

/* Says in why what is wrong with a file's copy on a disk: the copy must be where it belongs, nowhere else, and of the
 * record that the stub has. With hard links it may be missing, or of an older record: a file keeps the copy it had as
 * long as no name is known that leads to it. */
static void check_copy(struct world *world, struct fs *fs, const struct walk_entry *entry, uint32_t disk, char *why,
                       size_t size)
{
    struct file_layout *layout = NULL;
    struct record record;
    char object[OBJECT_PATH];
    struct copy copy = { 0 };
    int r = stub_read_record(fs->volume, entry->dir, entry->name, &record);

    if (r == 0)
        r = layouts_get(fs->layouts, record.layout, &layout);
    if (r < 0)
        snprintf(why, size, "%s: %s", entry->path, strerror(-r));
    if (r < 0)
        return;
    copy_path(fs->volume, record.id, object);
    r = copy_read(&fs->volume->disk[disk], object, &copy);
    if (copy_disk(fs->volume, &record, layout) != disk)
        r = r == -ENOENT ? 0 : -EEXIST;
    else if (r == 0 && memcmp(&copy.record, &record, sizeof record) != 0)
        r = -ESTALE;
    if (world->n_links > 0 && (r == -ENOENT || r == -ESTALE))
        r = 0;
    if (r < 0)
        snprintf(why, size, "%s: its copy on d%" PRIu32 ": %s", entry->path, disk, strerror(-r));
    copy_done(&copy);
    layouts_put(fs->layouts, layout);
}

/* Checks that every file has one copy, where it belongs. A copy whose file is gone is told by fsck itself. */
static void check_copies(struct world *world, char *why, size_t size)
{
    struct walk *walk = NULL;
    struct fs fs = { 0 };
    struct walk_entry entry;

    cr_assert_eq(open_volume(world->sim, world->n_disks, VOLUME_READ_ONLY, &fs.volume), 0);
    cr_assert_eq(layouts_new(fs.volume, &fs.layouts), 0);
    cr_assert_eq(walk_new(volume_home(fs.volume), fs.volume->ns, &walk), 0);
    while (walk_next(walk, &entry) > 0)
        for (uint32_t i = 0; S_ISREG(entry.st.st_mode) && i < fs.volume->n_disks; i++)
            check_copy(world, &fs, &entry, i, why, size);
    walk_free(walk);
    layouts_free(fs.layouts);
    volume_free(fs.volume);
}

/* -- texts of layouts -- */

/* What records, copies and maps of replicas name. */
struct used {
    struct volume *volume;
    struct layouts *layouts;
    struct hashes hashes;
};

static int note_record(void *arg, const struct record *record)
{
    struct used *used = arg;
    int r = hashes_add_record(&used->hashes, record);

    return r < 0 ? r : replicas_add_layouts(used->volume, used->layouts, record, &used->hashes);
}

static int note_copy(void *arg, const struct copy *copy)
{
    return note_record(arg, &copy->record);
}

static void check_texts_on(const struct disk *disk, const struct hashes *used, char *why, size_t size)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    size_t n = 0;
    int fd = disk_call(disk, open, disk->root, "layout", O_RDONLY | O_DIRECTORY, 0);

    cr_assert_eq(walk_new(disk, fd, &walk), 0);
    while (walk_next(walk, &entry) > 0) {
        uint8_t hash[HASH_SIZE] = { 0 };

        if (hex_parse(entry.name, HASH_SIZE, hash) < 0 || !hashes_has(used, hash))
            snprintf(why, size, "d%" PRIu32 " layout/%s is no file's", disk->index, entry.name);
        n++;
    }
    if (n < used->n)
        snprintf(why, size, "d%" PRIu32 " lacks texts of layouts that files have", disk->index);
    disk_close(disk, &fd);
}

/* Checks that every disk has the texts that records, their copies and maps name, and no others. */
static void check_texts(struct world *world, char *why, size_t size)
{
    struct used used = { 0 };
    const struct census census = { note_record, note_copy, &used };
    struct volume_error error = { "" };

    cr_assert_eq(open_volume(world->sim, world->n_disks, VOLUME_READ_ONLY, &used.volume), 0);
    cr_assert_eq(layouts_new(used.volume, &used.layouts), 0);
    cr_assert_eq(census_take(used.volume, &census, &error), 0, "%s", error.why);
    for (uint32_t i = 0; i < used.volume->n_disks; i++)
        check_texts_on(&used.volume->disk[i], &used.hashes, why, size);
    hashes_done(&used.hashes);
    layouts_free(used.layouts);
    volume_free(used.volume);
}

/* After an orderly end, with all jobs done, there is nothing to be repaired or removed. */
static void expect_nothing_left(struct world *world, uint64_t seed, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .tell = hear_all, .arg = &heard };

    cr_assert_eq(run_fsck(world->sim, world->n_disks, &check), 0, WHERE "fsck at the end", OF(world, at));
    cr_assert(heard.left[0] == 0, WHERE "after an orderly end: %s\n%s", OF(world, at), heard.left, world->program);
}

static void crash_once(uint64_t seed, uint64_t at)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed * 1000003 + at);
    char why[256] = "";

    (void) run_program(&world, seed, at);
    cr_assert(world.why[0] == 0, WHERE "%s", OF(&world, at), world.why);
    if (world.fs != NULL)
        world_abandon(&world);
    sim_crash(world.sim, &rng);
    look(&world, seed, at);
    repair(&world, &rng, seed, at);
    check_texts(&world, why, sizeof why);
    cr_assert(why[0] == 0, WHERE "after fsck -y: %s\n%s", OF(&world, at), why, world.program);
    cr_assert_eq(sim_n_open(world.sim), 0, WHERE "descriptors are left open", OF(&world, at));
    if (world_mount(&world) == 0) {
        world_check(&world);
        world_finish_jobs(&world);
        world_check_same(&world);
        world_unmount(&world);
    }
    cr_assert(world.why[0] == 0, WHERE "after fsck: %s\n%s", OF(&world, at), world.why, world.program);
    expect_nothing_left(&world, seed, at);
    world_done(&world);
}

/* -- what is lost -- */

/* Loses bytes that were durable. fsck must tell of them each time, whatever has crashed since, and reading them must be
 * an error after as many repairs as one likes. */
static void lose_once(uint64_t seed)
{
    static struct world world;
    struct rng rng = rng_from_seed(seed);
    size_t shape = rng_below(&rng, ARRAY_SIZE(shapes));
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear, .arg = &heard };
    struct world_lost lost;
    bool any = false;

    if (world_init(&world, shapes[shape].n_disks, shapes[shape].layout, shapes[shape].home_lacks, seed) == 0) {
        world_live(&world, &rng, 2 + (unsigned) rng_below(&rng, 3));
        any = world.why[0] == 0 && world_lose(&world, &rng, &lost);
    }
    for (int i = 0; any && i < 2 && world.why[0] == 0; i++) {
        /* A power cut may undo what has happened to names since they were last durable, and the file would not be
         * found. */
        if (world.n_states == 1 && rng_chance(&rng, 60)) {
            sim_crash_at(world.sim, world.sim->calls + 1 + rng_below(&rng, 120));
            (void) run_fsck(world.sim, world.n_disks, &check);
            sim_crash(world.sim, &rng);
        }
        heard.left[0] = 0;
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0, RNG_SEED, seed);
        if (world_mount(&world) == 0)
            world_check_lost(&world, &lost);
        world_abandon(&world);
        if (lost.n_promised > 0 && world.why[0] == 0)
            cr_assert(strncmp(heard.left, "missing", 7) == 0 || strncmp(heard.left, "short", 5) == 0,
                      RNG_SEED " (%s): fsck tells '%s'\n%s", seed, world.layout, heard.left, world.program);
    }
    cr_assert(world.why[0] == 0, RNG_SEED " (%s): %s\n%s", seed, world.layout, world.why, world.program);
    world_done(&world);
}

ParameterizedTestParameters(fsck, what_was_durable_is_told)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fsck, what_was_durable_is_told)
{
    for (struct rng rng = rng_shard_from_env(2000, *shard, SHARDS); rng_next(&rng);)
        lose_once(rng.seed);
}

ParameterizedTestParameters(fsck, an_orderly_end_leaves_nothing)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fsck, an_orderly_end_leaves_nothing)
{
    for (struct rng rng = rng_shard_from_env(600, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        char why[256] = "";
        bool one_mount;

        (void) run_program(&world, rng.seed, 0);
        one_mount = world.fs != NULL;
        if (world.fs == NULL)
            (void) world_mount(&world);
        world_finish_jobs(&world);
        world_check_same(&world);
        world_unmount(&world);
        cr_assert(world.why[0] == 0, WHERE "%s\n%s", rng.seed, UINT64_C(0), world.layout, world.why, world.program);
        expect_nothing_left(&world, rng.seed, 0);
        check_copies(&world, why, sizeof why);
        if (one_mount)
            check_texts(&world, why, sizeof why);
        cr_assert(why[0] == 0, WHERE "%s\n%s", rng.seed, UINT64_C(0), world.layout, why, world.program);
        world_done(&world);
    }
}

/* Makes one change to the only file; a copy of the record is written when the file is closed. */
static void change(struct world *world, struct rng *rng, struct inode *inode)
{
    static const char *const text[] = { "stripe(64)", "one on d1", "one on d2", "stripe(64) on d2,d0,d1" };
    struct layout_error error;
    struct chosen_layout choice;
    struct file *file;
    int r = file_get(world->fs, inode, &file);

    cr_assert_eq(r, 0, "%s", strerror(-r));
    switch (rng_below(rng, 5)) {
    case 0:
        r = file_truncate(world->fs, file, 0);
        break;
    case 1:
        r = layouts_add(world->fs->layouts, text[rng_below(rng, ARRAY_SIZE(text))], &choice.layout, &choice.rotates,
                        &error);
        cr_assert_eq(r, 0, "%s", error.why);
        r = file_set_layout(world->fs, file, choice.layout, choice.rotates);
        r = r == -ENOTEMPTY ? 0 : r;
        layouts_put(world->fs->layouts, choice.layout);
        break;
    default:
        r = MIN((int) file_write(world->fs, file, "bytes", 5, rng_below(rng, 190)), 0);
        break;
    }
    cr_assert_eq(r, 0, "%s", strerror(-r));
    file_put(world->fs, file);
}

Test(fsck, copies_follow_their_files)
{
    static const struct cred cred = { .umask = 022 };

    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        static struct world world;
        char why[256] = "";
        struct inode *inode;
        struct stat st;

        cr_assert_eq(world_init(&world, 3, "stripe(64)", 0, rng.seed), 0);
        cr_assert_eq(world_mount(&world), 0);
        cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, NULL), 0);
        for (int i = 0; i < 8; i++)
            change(&world, &rng, inode);
        inode_unref(world.fs->inodes, inode);
        if (rng_chance(&rng, 50))
            cr_assert_eq(tree_unlink(world.fs, inodes_root(world.fs->inodes), "f"), 0);
        cr_assert_eq(fs_free(steal(world.fs)), 0);
        expect_nothing_left(&world, rng.seed, 0);
        check_copies(&world, why, sizeof why);
        cr_assert(why[0] == 0, RNG_SEED ": %s", rng.seed, why);
        world_done(&world);
    }
}

/* Whatever a migration has come to, emptying the file leaves nothing of it. */
Test(fsck, a_file_emptied_while_it_is_migrated)
{
    static const struct cred cred = { .umask = 022 };

    for (int steps = 0; steps < 12; steps++) {
        static struct world world;
        struct layout_error error;
        struct chosen_layout choice;
        struct inode *inode;
        struct file *file;
        struct stat st;
        uint64_t number;

        cr_assert_eq(world_init(&world, 3, "one on d1", 0, 1), 0);
        cr_assert_eq(world_mount(&world), 0);
        cr_assert_eq(tree_create(world.fs, inodes_root(world.fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
        cr_assert_eq(file_write(world.fs, file, "bytes", 5, 600), 5);
        cr_assert_eq(layouts_add(world.fs->layouts, "stripe(7) on d0,d2", &choice.layout, &choice.rotates, &error), 0);
        cr_assert_eq(
            jobs_add(world.fs->jobs, inode, choice.layout, job_start(choice.rotates), 0, &world_asker, &number), 0);
        layouts_put(world.fs->layouts, choice.layout);
        for (int i = 0; i < steps; i++)
            (void) jobs_step(world.fs->jobs);
        cr_assert_eq(file_truncate(world.fs, file, 0), 0);
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode);
        world_finish_jobs(&world);
        cr_assert_eq(fs_free(steal(world.fs)), 0);
        expect_nothing_left(&world, 1, (uint64_t) steps);
        world_done(&world);
    }
}

static void read_record(struct world *world, uint8_t ret_bytes[RECORD_SIZE])
{
    struct sim_disk *disk = sim_disk(world->sim, 0);
    int root = sim_root(disk);

    cr_assert_eq(sim_ops.get_xattr(disk, root, ".fallsfs/ns/f", RECORD_XATTR, ret_bytes, RECORD_SIZE), RECORD_SIZE);
    (void) sim_ops.close(disk, root);
}

/* Makes one file, synced, in a volume that has ended well since. */
static void make_one_file(struct world *world)
{
    static const struct cred cred = { .umask = 022 };
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(world_init(world, 3, "stripe(7)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
    cr_assert_eq(tree_create(world->fs, inodes_root(world->fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(world->fs, file, "what must not be lost", 21, 0), 21);
    cr_assert_eq(file_sync(world->fs, file, false), 0);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    cr_assert_eq(fs_free(steal(world->fs)), 0);
}

static void expect_bytes(struct world *world)
{
    struct inode *inode;
    struct file *file;
    char bytes[32] = "";
    struct stat st;

    cr_assert_eq(world_mount(world), 0);
    cr_assert_eq(tree_lookup(world->fs, inodes_root(world->fs->inodes), "f", &inode, &st), 0);
    cr_assert_eq(file_get(world->fs, inode, &file), 0);
    cr_expect_eq(file_read(world->fs, file, bytes, sizeof bytes, 0), 21);
    cr_expect_str_eq(bytes, "what must not be lost");
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    cr_assert_eq(fs_free(steal(world->fs)), 0);
}

/* Each bit of a record is flipped in its turn: fsck makes the record what it was, to the last bit. */
Test(fsck, a_flipped_bit_of_a_record)
{
    static struct world world;
    uint8_t want[RECORD_SIZE], got[RECORD_SIZE];

    make_one_file(&world);
    read_record(&world, want);
    for (uint64_t bit = 0; bit < 8 * RECORD_SIZE; bit++) {
        struct heard heard = { "" };
        struct check look = { .tell = hear_all, .arg = &heard };
        struct check check = { .repair = true, .tell = hear, .arg = &heard };

        cr_assert_eq(sim_flip_xattr(sim_disk(world.sim, 0), ".fallsfs/ns/f", RECORD_XATTR, bit), 0);
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &look), 0);
        cr_expect(strstr(heard.left, "is flipped back") != NULL, "bit %" PRIu64 ": %s", bit, heard.left);
        heard.left[0] = 0;
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
        read_record(&world, got);
        cr_assert(heard.left[0] == 0 && check.n_fixed == 1, "bit %" PRIu64 ": %s", bit, heard.left);
        cr_assert(memcmp(want, got, RECORD_SIZE) == 0, "bit %" PRIu64 ": the record is another one", bit);
    }
    expect_nothing_left(&world, 1, 0);
    expect_bytes(&world);
    world_done(&world);
}

/* Two flipped bits, one of them in the id: the copy is found by its path, and no object is taken for an orphan. */
Test(fsck, a_record_whose_id_is_lost)
{
    static struct world world;

    for (uint64_t bit = 0; bit < UINT64_C(8) * ID_SIZE; bit++) {
        struct heard heard = { "" };
        struct check check = { .repair = true, .tell = hear, .arg = &heard };
        struct sim_disk *home;

        make_one_file(&world);
        home = sim_disk(world.sim, 0);
        cr_assert_eq(sim_flip_xattr(home, ".fallsfs/ns/f", RECORD_XATTR, 128 + bit), 0);
        cr_assert_eq(sim_flip_xattr(home, ".fallsfs/ns/f", RECORD_XATTR, 1999), 0);
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
        cr_expect(heard.left[0] == 0 && check.n_fixed == 1, "bit %" PRIu64 ": %s", bit, heard.left);
        expect_bytes(&world);
        world_done(&world);
    }
}

/* -- what a crash left undecided -- */

/* Writes a file, of which only the name is synced, and dies. */
static void write_and_die(struct world *world)
{
    static const struct cred cred = { .umask = 022 };
    struct inode *inode;
    struct file *file;
    struct stat st;

    cr_assert_eq(world_init(world, 3, "stripe(7)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
    cr_assert_eq(tree_create(world->fs, inodes_root(world->fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_sync(world->fs, file, false), 0);
    cr_assert_eq(file_write(world->fs, file, "what must not be lost", 21, 0), 21);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    sim_crash_at(world->sim, world->sim->calls + 1);
    world_abandon(world);
    sim_kill(world->sim);
}

/* Mounts, looks at nothing, and ends well. */
static void pass_by(struct world *world)
{
    cr_assert_eq(world_mount(world), 0);
    cr_assert_eq(fs_free(steal(world->fs)), 0);
}

static void delete_subfile(struct world *world, uint32_t slot)
{
    uint8_t bytes[RECORD_SIZE];
    char object[OBJECT_PATH], path[OBJECT_PATH + 16];
    struct file_layout *layout;
    struct layouts *layouts;
    struct volume *volume;
    struct record record;
    uint32_t disk;

    read_record(world, bytes);
    cr_assert_eq(record_decode(bytes, sizeof bytes, &record), 0);
    cr_assert_eq(open_volume(world->sim, world->n_disks, VOLUME_READ_ONLY, &volume), 0);
    cr_assert_eq(layouts_new(volume, &layouts), 0);
    cr_assert_eq(layouts_get(layouts, record.layout, &layout), 0);
    disk = file_layout_disk(layout, volume->home, record.rotate, slot);
    object_path(volume, record.id, record.gen, slot, layout, object);
    layouts_put(layouts, layout);
    layouts_free(layouts);
    volume_free(volume);
    snprintf(path, sizeof path, ".fallsfs/%s", object);
    cr_assert_eq(sim_delete(sim_disk(world->sim, disk), path), 0, "%s", path);
}

static ssize_t read_file(struct world *world)
{
    struct inode *inode;
    struct file *file;
    char bytes[32] = "";
    struct stat st;
    ssize_t n;

    cr_assert_eq(world_mount(world), 0);
    cr_assert_eq(tree_lookup(world->fs, inodes_root(world->fs->inodes), "f", &inode, &st), 0);
    cr_assert_eq(file_get(world->fs, inode, &file), 0);
    n = file_read(world->fs, file, bytes, sizeof bytes, 0);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
    cr_assert_eq(fs_free(steal(world->fs)), 0);
    return n;
}

/* What fsck -y has looked at after a crash is promised from then on: what is lost later is an error, and is told. */
Test(fsck, a_check_settles_what_a_crash_left_undecided)
{
    static struct world world;

    for (uint32_t slot = 0; slot < 3; slot++) {
        struct heard heard = { "" };
        struct check check = { .repair = true, .tell = hear, .arg = &heard };

        write_and_die(&world);
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
        cr_expect(check.n_fixed == 0 && check.n_left == 0, "nothing is wrong: %s", heard.left);
        pass_by(&world);
        pass_by(&world);
        delete_subfile(&world, slot);
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
        cr_expect(strncmp(heard.left, "missing", 7) == 0, "subfile %" PRIu32 ": fsck tells '%s'", slot, heard.left);
        cr_expect_eq(read_file(&world), -EIO, "subfile %" PRIu32 " is gone: no zeros", slot);
        world_done(&world);
    }
}

/* What is missing already when fsck looks is not decided by it: it may be put back. */
Test(fsck, a_check_settles_nothing_that_disagrees)
{
    static struct world world;
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear, .arg = &heard };
    uint8_t before[RECORD_SIZE], after[RECORD_SIZE];

    write_and_die(&world);
    delete_subfile(&world, 1);
    read_record(&world, before);
    cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
    read_record(&world, after);
    cr_expect(memcmp(before, after, RECORD_SIZE) == 0, "%s", heard.left);
    world_done(&world);
}

/* The check loses power at each of its calls: what the record promises by then is there. */
Test(fsck, a_check_that_settles_and_loses_power)
{
    static struct world world;
    unsigned n_settled = 0, n_not = 0;
    bool is_down = true;

    for (uint64_t at = 1; is_down; at++) {
        struct heard heard = { "" };
        struct check check = { .repair = true, .tell = hear, .arg = &heard };
        struct rng rng = rng_from_seed(at);
        uint8_t bytes[RECORD_SIZE];
        struct record record;

        write_and_die(&world);
        sim_crash_at(world.sim, world.sim->calls + at);
        (void) run_fsck(world.sim, world.n_disks, &check);
        is_down = world.sim->down;
        sim_crash(world.sim, &rng);
        read_record(&world, bytes);
        cr_assert_eq(record_decode(bytes, sizeof bytes, &record), 0);
        if (record.durable_size == 21) {
            expect_bytes(&world);
            n_settled++;
        } else {
            n_not++;
        }
        heard.left[0] = 0;
        cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
        cr_expect(heard.left[0] == 0, "power lost at call %" PRIu64 ": %s", at, heard.left);
        world_done(&world);
    }
    cr_expect(n_settled > 1 && n_not > 1, "settled %u times, %u not", n_settled, n_not);
}

/* -- texts that were being written -- */

/* Writes a text for a user, and dies at call number at of that; false: the text was written before. */
static bool die_writing_a_text(struct world *world, uint64_t at)
{
    struct file_layout *layout = NULL;
    struct layout_error error;
    bool rotates, is_down;

    make_one_file(world);
    cr_assert_eq(world_mount(world), 0);
    sim_crash_at(world->sim, world->sim->calls + at);
    (void) layouts_add(world->fs->layouts, "stripe(13)", &layout, &rotates, &error);
    is_down = world->sim->down;
    layouts_put(world->fs->layouts, layout);
    sim_crash_at(world->sim, world->sim->calls + 1);
    world_abandon(world);
    return is_down;
}

static void expect_clean(struct world *world, bool repair, uint64_t at)
{
    struct heard heard = { "" };
    struct check check = { .repair = repair, .tell = hear_unsound, .arg = &heard };

    cr_assert_eq(run_fsck(world->sim, world->n_disks, &check), 0);
    cr_expect(heard.left[0] == 0, "died at call %" PRIu64 ", fsck %s: %s", at, repair ? "-y" : "-n", heard.left);
}

static size_t n_unfinished(struct world *world)
{
    cleanup(freep) char *all = print_all(world->sim, world->n_disks);
    size_t n = 0;

    for (const char *at = all; (at = strstr(at, ".new ")) != NULL; at++)
        n++;
    return n;
}

static void recover_from_text(uint64_t at, bool power_fails, size_t *n_met)
{
    static struct world world;
    struct rng rng = rng_from_seed(at);

    (void) die_writing_a_text(&world, at);
    if (power_fails)
        sim_crash(world.sim, &rng);
    else
        sim_kill(world.sim);
    *n_met += n_unfinished(&world);
    expect_clean(&world, false, at);
    if (at % 2 == 0)
        expect_clean(&world, true, at);
    expect_bytes(&world);
    cr_expect_eq(n_unfinished(&world), 0, "died at call %" PRIu64 ": the next mount leaves the rest of a text", at);
    expect_clean(&world, false, at);
    expect_clean(&world, true, at);
    expect_nothing_left(&world, 1, at);
    world_done(&world);
}

/* What a dead writer leaves of a text belongs to no file: it is no damage, nobody needs to know of it, and the next
 * mount removes what is not even a whole text. */
Test(fsck, a_text_that_was_being_written)
{
    static struct world world;
    size_t n_met = 0;
    bool is_down = true;

    for (uint64_t at = 1; is_down; at++) {
        is_down = die_writing_a_text(&world, at);
        world_done(&world);
        recover_from_text(at, false, &n_met);
        recover_from_text(at, true, &n_met);
    }
    cr_expect_geq(n_met, 6, "on each of three disks, at more calls than one");
}

/* Each directory there is cannot be read once, and fsck says so. */
Test(fsck, what_cannot_be_read_is_told)
{
    static struct world world;
    struct heard heard = { "" };
    struct check check = { .tell = hear, .arg = &heard };
    uint64_t n_calls;

    (void) run_program(&world, 1, 0);
    if (world.fs != NULL)
        world_abandon(&world);
    n_calls = world.sim->calls;
    cr_assert_eq(run_fsck(world.sim, world.n_disks, &check), 0);
    n_calls = world.sim->calls - n_calls;
    for (uint64_t i = 1; i <= n_calls; i++) {
        uint64_t before = world.sim->calls, n_failed = world.sim->n_failed;
        const struct sim_fault fault = { before + i, EIO, false, -1, SIM_MASK(SIM_READ_DIR) };
        int r;

        sim_fail_calls(world.sim, &fault);
        r = run_fsck(world.sim, world.n_disks, &check);
        sim_heal(world.sim);
        if (world.sim->n_failed > n_failed)
            cr_expect(r < 0 || check.n_left > 0, "a directory cannot be read at call %" PRIu64 ": nobody says so", i);
    }
    cr_expect_geq(world.sim->n_failed, 6, "ns, todo, tmp, layout, obj and what is in it");
    world_done(&world);
}

ParameterizedTestParameters(fsck, a_crash_is_no_damage)
{
    static uint64_t shard[SHARDS] = { 0, 1, 2, 3 };

    return cr_make_param_array(uint64_t, shard, SHARDS);
}

ParameterizedTest(uint64_t *shard, fsck, a_crash_is_no_damage)
{
    const char *at = getenv("FALLSFS_CALL"); /* interrupt there alone */

    for (struct rng rng = rng_shard_from_env(800, *shard, SHARDS); rng_next(&rng);) {
        static struct world world;
        uint64_t n_calls = run_program(&world, rng.seed, 0);

        if (world.fs != NULL)
            world_abandon(&world);
        world_done(&world);
        for (int i = 0; i < 4 && at == NULL; i++)
            crash_once(rng.seed, 1 + rng_below(&rng, n_calls));
        if (at != NULL)
            crash_once(rng.seed, strtoull(at, NULL, 10));
    }
}
