/* SPDX-License-Identifier: MIT */
/* Random programs over many mounts; and reading files that have lost a part. */
#include "test/core/world_parts.h"

#include "fs/core/change/refill.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "layout/map.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* -- many mounts -- */

#define LIFE_STEPS 8
#define LIFE_CALLS 250 /* calls to disks after which a mount is interrupted, at most */

/* Looks at what a mount that ended badly has left, on a clone of the machine, and tells the model. After a kill what
 * was not durable may still go, so what was found is one more state that may come back; after a loss of power it is the
 * only one. */
static void look(struct world *world, bool killed)
{
    static struct world_file file[WORLD_FILES];
    struct world again = *world;

    memcpy(file, world->file, sizeof file);
    again.file = file;
    again.sim = sim_clone(world->sim);
    if (world_mount(&again) == 0)
        world_check(&again);
    world_abandon(&again);
    sim_free(again.sim);
    memcpy(world->file, file, sizeof file);
    for (int i = 0; i < world->n_files; i++)
        world->file[i].unseen = true;
    if (again.why[0] == 0 && killed) /* what was not durable may still go */
        *world_next_state(world) = again.state[0];
    else if (again.why[0] == 0)
        world->state[0] = again.state[0], world->n_states = 1;
    world->unsure = again.unsure;
    memcpy(world->in, again.in, sizeof world->in);
    memcpy(world->why, again.why, sizeof world->why);
}

static void end_badly(struct world *world, struct rng *rng)
{
    bool killed;

    sim_crash_at(world->sim, world->sim->calls + 1);
    world->sim->down = true;
    world_abandon(world);
    killed = rng_chance(rng, 50);
    world_note(world, killed ? "killed\n" : "power lost\n");
    if (killed)
        sim_kill(world->sim);
    else
        sim_crash(world->sim, rng);
    look(world, killed);
}

void world_live(struct world *world, struct rng *rng, unsigned n_mounts)
{
    while (n_mounts-- > 0 && world->why[0] == 0) {
        bool crashes = rng_chance(rng, 40);

        world_note(world, "mount\n");
        if (crashes)
            sim_crash_at(world->sim, world->sim->calls + 1 + rng_below(rng, LIFE_CALLS));
        if (world_mount(world) == 0)
            for (int i = 0; i < LIFE_STEPS && !world->sim->down && world->why[0] == 0; i++)
                world_step(world, rng);
        if (world->why[0] != 0)
            break;
        if (world->sim->down || rng_chance(rng, 30)) {
            end_badly(world, rng);
        } else {
            sim_crash_at(world->sim, 0);
            world_note(world, "unmount\n");
            world_unmount(world);
        }
    }
    if (world->fs != NULL)
        world_abandon(world);
}

/* -- loss -- */

static bool read_raw_record(struct world *world, int name, struct record *record)
{
    struct sim_disk *home = sim_disk(world->sim, 0);
    uint8_t bytes[RECORD_SIZE];
    int root = sim_root(home);
    char path[64];
    ssize_t n;

    snprintf(path, sizeof path, ".fallsfs/ns/%s%s", name < WORLD_NAMES / 2 ? "" : "d/", world_name[name]);
    n = sim_ops.get_xattr(home, root, path, RECORD_XATTR, bytes, sizeof bytes);
    (void) sim_ops.close(home, root);
    return n == RECORD_SIZE && record_decode(bytes, sizeof bytes, record) == 0;
}

/* Finds the subfile with this number, where the header has 0; false: there is none. */
static bool find_subfile(struct world *world, const struct record *record, unsigned number, struct world_lost *lost,
                         uint64_t *ret_len)
{
    char hex[2 * ID_SIZE + 1], path[128];

    hex_print(record->id, ID_SIZE, hex);
    if (number == 0)
        snprintf(lost->subfile, sizeof lost->subfile, "%s.%" PRIu64 ".h", hex, record->gen);
    else
        snprintf(lost->subfile, sizeof lost->subfile, "%s.%" PRIu64 ".%u", hex, record->gen, number - 1);
    snprintf(path, sizeof path, ".fallsfs/obj/00/%s", lost->subfile);
    for (lost->disk = 0; lost->disk < world->n_disks + WORLD_SPARE; lost->disk++) {
        size_t len;
        cleanup(freep) char *bytes = sim_peek(sim_disk(world->sim, lost->disk), path, &len);

        *ret_len = len;
        if (bytes != NULL)
            return true;
    }
    return false;
}

static void take_away(struct world *world, const struct world_lost *lost)
{
    struct sim_disk *disk = sim_disk(world->sim, lost->disk);
    char path[128];

    snprintf(path, sizeof path, ".fallsfs/obj/00/%s", lost->subfile);
    if (lost->len == 0)
        (void) sim_delete(disk, path);
    else
        (void) sim_cut(disk, path, lost->len);
    world_note(world, "of name %d, %s is lost from byte %" PRIu64 " on\n", lost->name, lost->subfile, lost->len);
}

#define MAX_SUBFILES 8

bool world_lose(struct world *world, struct rng *rng, struct world_lost *ret_lost)
{
    for (unsigned tries = 0; tries < 8 * WORLD_NAMES; tries++) {
        struct world_lost lost = { .name = (int) rng_below(rng, WORLD_NAMES) };
        struct record record;
        uint64_t len;

        if (world_now(world)->file[lost.name] < 0 || !read_raw_record(world, lost.name, &record) ||
            record_migrates(&record) || record.oldest_gen < record.gen ||
            !find_subfile(world, &record, (unsigned) rng_below(rng, MAX_SUBFILES), &lost, &len) || len == 0)
            continue;
        lost.len = rng_chance(rng, 60) ? 0 : rng_below(rng, len);
        take_away(world, &lost);
        *ret_lost = lost;
        return true;
    }
    return false;
}

/* Whether a byte of the file was in the part that was taken away. */
static bool was_lost(struct world *world, const struct file *file, const struct world_lost *lost, uint64_t off)
{
    char path[OBJECT_PATH];
    struct place place;

    (void) pattern_map(file->now->layout->pattern, off, &place);
    object_path(world->fs->volume, file->record.id, file->record.gen,
                file_layout_slot(file->now->layout, place.element), file->now->layout, path);
    return strcmp(strrchr(path, '/') + 1, lost->subfile) == 0 && place.sub_off >= lost->len;
}

static void check_byte(struct world *world, struct file *file, struct world_lost *lost, uint64_t off)
{
    const struct world_file *model = &world->file[world_now(world)->file[lost->name]];
    bool was = was_lost(world, file, lost, off);
    uint8_t byte = 0;
    ssize_t n = file_read(world->fs, file, &byte, 1, off);

    lost->n_promised += was && model->kept[off];
    if (was && n == 1 && file->replicas != NULL)
        was = false; /* a replica may have the byte, and then the right one */
    if (was && model->kept[off] && n != -EIO)
        world_wrong(world, "%s: byte %" PRIu64 ", which was durable once, is lost, and read as %u (%zd)",
                    world_name[lost->name], off, byte, n);
    if (!was && n != 1)
        world_wrong(world, "%s: byte %" PRIu64 " is not lost, and reading it gives %zd", world_name[lost->name], off,
                    n);
    if (!was && n == 1 && (byte >= WORLD_VALUES || (model->may[off] >> byte & 1) == 0))
        world_wrong(world, "%s: byte %" PRIu64 " is %u, which may not be", world_name[lost->name], off, byte);
}

void world_check_lost(struct world *world, struct world_lost *lost)
{
    const struct world_file *model = &world->file[world_now(world)->file[lost->name]];
    struct inode *inode;
    struct file *file;
    struct stat st;
    int r = tree_lookup(world->fs, world_parent(world, lost->name), world_name[lost->name], &inode, &st);

    if (r == 0) {
        r = file_get(world->fs, inode, &file);
        inode_unref(world->fs->inodes, inode);
    }
    if (r < 0) {
        world_wrong(world, "%s: of which a subfile is lost, cannot be opened: %s", world_name[lost->name],
                    strerror(-r));
        return;
    }
    if (file_size(file) < model->kept_size)
        world_wrong(world, "%s: of %" PRIu64 " bytes that were durable %" PRIu64 " are left", world_name[lost->name],
                    model->kept_size, file_size(file));
    lost->n_promised = 0;
    (void) refills_step(world->fs->refills); /* which must not take lost bytes for a hole */
    for (uint64_t off = 0; world->why[0] == 0 && off < MIN(file_size(file), WORLD_SPAN); off++)
        check_byte(world, file, lost, off);
    file_put(world->fs, file);
}
