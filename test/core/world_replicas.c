/* SPDX-License-Identifier: MIT */
/* Replicas in a world: they come and go, are filled, and have what the file has wherever they say so. */
#include "test/core/same_replicas.h"
#include "test/core/world_parts.h"

#include "fs/core/change/refill.h"
#include "fs/core/change/repair.h"
#include "fs/core/file/file_replicas.h"
#include "fs/core/file/replicas.h"

#include "fs/core/disk/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char *any_layout(struct rng *rng)
{
    static const char *const text[] = { "one", "stripe(9)", "stripe(64) disp 10", "stripe(100,5)", "stripe(50) on d0" };

    return text[rng_below(rng, ARRAY_SIZE(text))];
}

static void add(struct world *world, struct rng *rng, const struct world_file *model)
{
    struct replica_asked asked = { .rotate = (uint16_t) rng_below(rng, 3), .updates = rng_chance(rng, 50) };
    const char *text = any_layout(rng);
    struct layout_error error;
    struct volume_error why = { "" };
    uint32_t number;
    bool rotates;
    int r = volume_begin_replicas(world->fs->volume, &why);

    asked.lo = rng_chance(rng, 70) ? 0 : rng_below(rng, WORLD_SPAN);
    asked.hi = rng_chance(rng, 70) ? UINT64_MAX : asked.lo + 1 + rng_below(rng, WORLD_SPAN);
    world_note(world, "replica %s from %" PRIu64 " to %" PRIu64 "%s\n", text, asked.lo, asked.hi,
               asked.updates ? ", updated" : "");
    if (r == 0)
        r = layouts_add(world->fs->layouts, text, &asked.layout, &rotates, &error);
    if (r == 0) {
        r = file_add_replica(world->fs, model->file, &asked, &number);
        layouts_put(world->fs->layouts, asked.layout);
    }
    if (r < 0 && r != -EUSERS && r != -EBUSY && !world_may_fail(world, r))
        world_wrong(world, "replica %s: %s", text, strerror(-r));
}

static void drop(struct world *world, struct rng *rng, const struct world_file *model)
{
    struct replica_view view[REPLICAS_MAX];
    uint32_t n = file_view_replicas(world->fs, model->file, view), number = 0;
    int r;

    if (n > 0)
        number = view[rng_below(rng, n)].number;
    for (uint32_t i = 0; i < n; i++)
        replica_view_done(world->fs, &view[i]);
    if (n == 0)
        return;
    world_note(world, "drop replica %u\n", number);
    r = file_drop_replica(world->fs, model->file, number);
    if (r < 0 && r != -EPERM && !world_may_fail(world, r))
        world_wrong(world, "drop: %s", strerror(-r));
}

void world_replicate(struct world *world, struct rng *rng, const struct world_file *model)
{
    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        add(world, rng, model);
        break;
    case 2:
        drop(world, rng, model);
        break;
    default:
        world_note(world, "refill\n");
        (void) refills_step(world->fs->refills);
        break;
    }
}

/* -- a disk that is lost -- */

/* Removes all subfiles from a disk. */
static void remove_objects(struct world *world, unsigned index)
{
    struct sim_disk *sim_disk_i = sim_disk(world->sim, index);
    struct disk disk = { .ops = &sim_ops, .ctx = sim_disk_i, .root = -1, .lock = -1 };
    cleanup(walk_freep) struct walk *walk = NULL;
    int root = sim_root(sim_disk_i),
        objects = sim_ops.open(sim_disk_i, root, ".fallsfs/obj", O_RDONLY | O_DIRECTORY, 0);
    struct walk_entry entry;
    int r = walk_new(&disk, objects, &walk);

    while (r >= 0 && (r = walk_next(walk, &entry)) > 0) {
        char path[300];

        if (S_ISDIR(entry.st.st_mode) || strlen(entry.name) < 2 * ID_SIZE + 3) /* a map or a copy of a record */
            continue;
        snprintf(path, sizeof path, ".fallsfs/obj/%s", entry.path);
        (void) sim_delete(sim_disk_i, path);
    }
    (void) sim_ops.close(sim_disk_i, objects);
    (void) sim_ops.close(sim_disk_i, root);
}

static void check_name(struct world *world, int name)
{
    const struct world_file *model = &world->file[world_now(world)->file[name]];
    struct inode *inode;
    struct file *file;
    struct stat st;
    int r = tree_lookup(world->fs, world_parent(world, name), world_name[name], &inode, &st);

    if (r == 0) {
        r = file_get(world->fs, inode, &file);
        inode_unref(world->fs->inodes, inode);
    }
    if (r < 0) {
        world_wrong(world, "%s: cannot be opened with a disk lost: %s", world_name[name], strerror(-r));
        return;
    }
    for (uint64_t off = 0; world->why[0] == 0 && off < MIN(model->kept_size, WORLD_SPAN); off++) {
        uint8_t byte = 0;
        ssize_t n = file_read(world->fs, file, &byte, 1, off);

        if (model->kept[off] && (n != 1 || byte >= WORLD_VALUES || (model->may[off] >> byte & 1) == 0))
            world_wrong(world, "%s: byte %" PRIu64 ", which was durable once, is read as %u (%zd) with a disk lost",
                        world_name[name], off, byte, n);
    }
    file_put(world->fs, file);
}

static void check_names(struct world *world)
{
    for (int name = 0; world->why[0] == 0 && name < WORLD_NAMES; name++)
        if (world_now(world)->file[name] >= 0)
            check_name(world, name);
}

/* Has a file repaired, and its replicas filled. */
static int repair(struct world *world, struct inode *inode)
{
    struct layout_error error = { 0 };
    struct file_layout *layout = NULL;
    uint32_t start;
    uint64_t number;
    int r = repair_choose(world->fs, inode, &layout, &start, &error);

    if (r == 0 && layout != NULL) {
        r = jobs_add(world->fs->jobs, inode, layout, start, 0, &world_asker, &number);
        layouts_put(world->fs->layouts, layout);
        world_finish_jobs(world);
    }
    for (int i = 0; i < 2 && refills_step(world->fs->refills); i++)
        ;
    return r;
}

/* Repairs all files. A disk that fails may leave none that has room for a second copy. */
static bool repair_all(struct world *world)
{
    bool done = true;

    world_note(world, "repair\n");
    for (int name = 0; world->why[0] == 0 && name < WORLD_NAMES; name++) {
        struct inode *inode;
        struct stat st;
        int r;

        if (world_now(world)->file[name] < 0 ||
            tree_lookup(world->fs, world_parent(world, name), world_name[name], &inode, &st) < 0)
            continue;
        r = repair(world, inode);
        inode_unref(world->fs->inodes, inode);
        done = done && r >= 0;
        if (r < 0 && r != -EEXIST && r != -ENOSPC)
            world_wrong(world, "%s: repair: %s", world_name[name], strerror(-r));
    }
    return done;
}

void world_lose_disk(struct world *world, struct rng *rng)
{
    unsigned index = (unsigned) rng_below(rng, world->n_disks), next = (unsigned) rng_below(rng, world->n_disks);
    bool fails = index > 0 && rng_chance(rng, 50);

    world_note(world, "disk %u %s\n", index, fails ? "fails" : "loses its subfiles");
    if (!fails)
        remove_objects(world, index);
    if (world_mount(world) < 0)
        return;
    if (fails)
        sim_fail(world->sim, world->sim->calls + 1, EIO, true, (int) index);
    check_names(world);
    if (world->why[0] == 0 && repair_all(world)) {
        check_names(world);
        sim_heal(world->sim);
        world_abandon(world);
        if (world->why[0] == 0 && world_mount(world) == 0) {
            world_abandon(world); /* whose end has all files whole that were looked for */
            world_note(world, "disk %u loses its subfiles\n", next);
            remove_objects(world, next);
            if (world_mount(world) == 0)
                check_names(world);
        }
    }
    sim_heal(world->sim);
    world_abandon(world);
}

/* -- checks -- */

void world_check_replicas(struct world *world, struct inode *inode, const char *name)
{
    uint8_t bytes[WORLD_SPAN];
    char why[SAME_WHY] = "";
    struct file *file;
    int r = 0;

    if (file_get(world->fs, inode, &file) < 0)
        return;
    if (file->replicas != NULL && file_read(world->fs, file, bytes, sizeof bytes, 0) >= 0)
        r = same_replicas(world->fs, file, bytes, why);
    file_put(world->fs, file);
    if (r < 0 && (r == -EUCLEAN || !world_may_fail(world, r)))
        world_wrong(world, "%s: %s", name, why[0] != 0 ? why : strerror(-r));
}
