/* SPDX-License-Identifier: MIT */
/* The operations that random programs are made of. */
#include "test/core/world_parts.h"

#include "fs/core/change/jobs.h"
#include "fs/core/change/membership.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/tree.h"
#include "layout/map.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>

/* Drops the states of names that do not keep what a sync has promised; the current one always does. */
static void keep_states(struct world *world, bool (*keeps)(const struct world_names *, const struct world_names *, int),
                        int what)
{
    struct world_names now = *world_now(world);
    int n = 0;

    for (int i = 0; i < world->n_states; i++)
        if (keeps(&world->state[i], &now, what))
            world->state[n++] = world->state[i];
    world->n_states = n;
}

/* Whether a state keeps a synced file: the file has a name in it, if it has one now. */
static bool keeps_file(const struct world_names *state, const struct world_names *now, int file)
{
    bool named = false, is_named = false;

    for (int i = 0; i < WORLD_NAMES; i++) {
        named |= state->file[i] == file;
        is_named |= now->file[i] == file;
    }
    return named || !is_named;
}

/* Whether a state keeps a synced directory: the one that name lies in has the same names in it as now. */
static bool keeps_directory(const struct world_names *state, const struct world_names *now, int name)
{
    int first = name < WORLD_NAMES / 2 ? 0 : WORLD_NAMES / 2;

    return memcmp(state->file + first, now->file + first, WORLD_NAMES / 2 * sizeof state->file[0]) == 0;
}

/* Takes back the state of an operation that ran out of memory: it has changed no names, and will not. */
static void forget_state(struct world *world, int r)
{
    if (r == -ENOMEM && world->only_error == -ENOMEM)
        world->n_states--;
}

/* Expects that an operation fails only where it may; then it may have happened or not. */
static void unless_failed(struct world *world, int r, const char *what)
{
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "%s: %s", what, strerror(-r));
}

static void do_create(struct world *world, int name)
{
    struct world_file *model = &world->file[world->n_files];
    struct inode *inode = NULL;
    struct stat st;
    int r;

    if (world->n_files == WORLD_FILES)
        return;
    *model = (struct world_file){ .size = 0 };
    world_settle_file(model);
    world_next_state(world)->file[name] = world->n_files;
    world_note(world, "create %d as file %d\n", name, world->n_files);
    r = tree_create(world->fs, world_parent(world, name), world_name[name], 0644, &nobody_special, &inode, &st, NULL);
    world->n_files++;
    if (inode != NULL) {
        model->ino = inode->ino;
        inode_unref(world->fs->inodes, inode);
    } else {
        model->ino = UNKNOWN_INO; /* the file may be there, with a number that nobody was told */
    }
    forget_state(world, r);
    unless_failed(world, r, "create");
}

static int open_model(struct world *world, int name, struct world_file **ret_model)
{
    struct world_file *model = &world->file[world_now(world)->file[name]];
    struct stat st;
    int r = 0;

    *ret_model = model;
    if (!model->open) {
        r = tree_lookup(world->fs, world_parent(world, name), world_name[name], &model->inode, &st);
        if (r == 0 && (r = file_get(world->fs, model->inode, &model->file)) < 0)
            inode_unref(world->fs->inodes, model->inode);
        model->open = r == 0;
        model->unseen = model->unseen && r < 0;
        if (r == 0 && !world_may_fail(world, 0) && (uint64_t) st.st_size != file_size(model->file))
            world_wrong(world, "%s: stat says %" PRId64 " bytes, there are %" PRIu64, world_name[name],
                        (int64_t) st.st_size, file_size(model->file));
    }
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "%s: cannot be opened: %s", world_name[name], strerror(-r));
    return r;
}

static void do_close(struct world *world, int name)
{
    struct world_file *model = &world->file[world_now(world)->file[name]];

    if (!model->open)
        return;
    world_note(world, "close %d\n", name);
    file_put(world->fs, model->file);
    inode_unref(world->fs->inodes, model->inode);
    model->open = false;
    layouts_tidy(world->fs->layouts); /* as the daemon does from time to time */
}

/* Notes that after a write any size may come back, from the least that the file may have up to the end of the write. */
static void may_grow_to(struct world_file *model, uint64_t end)
{
    uint64_t size = 0;

    while (!model->may_size[size])
        size++;
    for (; size <= end; size++)
        model->may_size[size] = true;
}

/* Makes the model's file longer: the bytes from its old end on are a hole, unless they are written. */
static void grow(struct world_file *model, uint64_t size)
{
    for (uint64_t i = model->size; i < size; i++) {
        model->now[i] = 0;
        model->may[i] |= 1;
    }
    model->size = MAX(model->size, size);
}

static void do_write(struct world *world, struct rng *rng, struct world_file *model)
{
    uint8_t bytes[WORLD_SPAN];
    uint64_t off = rng_below(rng, WORLD_SPAN - 1), len = 1 + rng_below(rng, MIN(600, WORLD_SPAN - off));
    uint8_t value = (uint8_t) (1 + world->next_value++ % (WORLD_VALUES - 1));
    ssize_t n;

    if (rng_chance(rng, 40))
        off = MIN(model->size, WORLD_SPAN - len);
    memset(bytes, value, len);
    world_note(world, "write %" PRIu64 " at %" PRIu64 " of %u\n", len, off, value);
    may_grow_to(model, off + len);
    for (uint64_t i = off; i < off + len; i++)
        model->may[i] |= UINT32_C(1) << value;
    for (uint64_t i = model->size; i < off + len; i++)
        model->may[i] |= 1;
    n = file_write(world->fs, model->file, bytes, len, off);
    if (world->sim->down)
        return;
    if (n != (ssize_t) len && !world_may_fail(world, n))
        world_wrong(world, "write of %" PRIu64 " gives %zd", len, n);
    if (n > 0) {
        grow(model, off + (uint64_t) n);
        memset(model->now + off, value, (size_t) n);
    }
}

static void do_truncate(struct world *world, struct world_file *model, uint64_t size)
{
    int r;

    world_note(world, "truncate to %" PRIu64 "\n", size);
    model->may_size[size] = true;
    model->kept_size = MIN(model->kept_size, size);
    memset(model->kept + size, 0, WORLD_SPAN - size);
    for (uint64_t i = MIN(size, model->size); i < WORLD_SPAN; i++)
        model->may[i] |= 1;
    r = file_truncate(world->fs, model->file, size);
    if (world->sim->down)
        return;
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "truncate: %s", strerror(-r));
    if (r == 0) {
        for (uint64_t i = size; i < WORLD_SPAN; i++)
            model->now[i] = 0;
        model->size = size;
    }
}

static void do_punch(struct world *world, struct rng *rng, struct world_file *model)
{
    uint64_t off = rng_below(rng, WORLD_SPAN - 1), len = 1 + rng_below(rng, WORLD_SPAN - 1 - off);
    int r;

    world_note(world, "punch %" PRIu64 " at %" PRIu64 "\n", len, off);
    memset(model->kept + off, 0, len);
    for (uint64_t i = off; i < off + len; i++)
        model->may[i] |= 1;
    r = file_allocate(world->fs, model->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
    if (world->sim->down)
        return;
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "punch: %s", strerror(-r));
    if (r == 0)
        memset(model->now + off, 0, len);
}

static const char *any_copies(struct rng *rng)
{
    static const char *const text[] = { "one copies 2", "stripe(7) copies 2", "stripe(64) disp 10 copies 2",
                                        "stripe(100,5) copies 2" };

    return text[rng_below(rng, ARRAY_SIZE(text))];
}

static const char *any_layout(const struct world *world, struct rng *rng)
{
    static const char *const text[] = {
        "one",
        "stripe(7)",
        "stripe(64) disp 10",
        "stripe(32) disp 10",
        "stripe(64) disp 10 on d0",
        "stripe(100,5)",
        "one on d0",
        "{d0:(0,6,20,1);d0:(7,19,20,1)}",
        "{d0:(0,6,20,1);(7,19,20,1)}",
    };
    static char fresh[32];

    if (world->copies || (world->replicates && world->n_disks > 1 && rng_chance(rng, 30)))
        return any_copies(rng);
    if (rng_chance(rng, 30)) { /* mostly one that no file has had */
        snprintf(fresh, sizeof fresh, "stripe(%" PRIu64 ")", 20 + rng_below(rng, 200));
        return fresh;
    }
    return text[rng_below(rng, ARRAY_SIZE(text))];
}

/* Sets the layout of a file, which changes nothing that the model knows of. */
static void do_set_layout(struct world *world, struct rng *rng, struct world_file *model)
{
    const char *text = any_layout(world, rng);
    struct layout_error error;
    struct chosen_layout choice;
    int r;

    world_note(world, "layout %s\n", text);
    r = layouts_add(world->fs->layouts, text, &choice.layout, &choice.rotates, &error);
    if (r == 0) {
        r = file_set_layout(world->fs, model->file, choice.layout, choice.rotates);
        layouts_put(world->fs->layouts, choice.layout);
    }
    if (world->sim->down || (r == -ENOTEMPTY && model->size > 0) || (r == -EBUSY && world->migrates))
        return;
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "layout %s: %s", text, strerror(-r));
}

static void do_set_default(struct world *world, struct rng *rng, int name)
{
    const char *text = any_layout(world, rng);
    struct layout_error error;
    int r;

    if (rng_chance(rng, 30)) {
        world_note(world, "no layout for the directory of %d\n", name);
        r = defaults_remove(world->fs, world_parent(world, name));
        r = r == -ENODATA ? 0 : r;
    } else {
        world_note(world, "layout %s for the directory of %d\n", text, name);
        r = defaults_set(world->fs, world_parent(world, name), text, &error);
    }
    if (r < 0 && !world->sim->down && !world_may_fail(world, r))
        world_wrong(world, "layout of a directory: %s", strerror(-r));
}

/* Syncs a file: from then on its bytes and one of its names always come back. */
static void do_sync(struct world *world, struct rng *rng, struct world_file *model)
{
    bool data_only = rng_chance(rng, 50);
    int r;

    world_note(world, "%s\n", data_only ? "fdatasync" : "fsync");
    r = file_sync(world->fs, model->file, data_only);
    if (r == 0 && !world->sim->down) {
        world_settle_file(model);
        keep_states(world, keeps_file, (int) (model - world->file));
    } else if (r < 0 && !world_may_fail(world, r)) {
        world_wrong(world, "fsync: %s", strerror(-r));
    }
}

static void do_migrate(struct world *world, struct rng *rng, const struct world_file *model)
{
    const char *text = any_layout(world, rng);
    struct file_layout *layout;
    struct layout_error error;
    uint64_t number;
    bool rotates;
    int r = layouts_add(world->fs->layouts, text, &layout, &rotates, &error);

    world_note(world, "migrate to %s\n", text);
    if (r == 0) {
        r = jobs_add(world->fs->jobs, model->inode, layout, job_start(rotates), 0, &world_asker, &number);
        layouts_put(world->fs->layouts, layout);
    }
    if (r < 0 && r != -EBUSY && !world_may_fail(world, r))
        world_wrong(world, "migrate: %s", strerror(-r));
}

/* Does some steps of jobs that are under way, or gives each job an order. */
static void do_jobs(struct world *world, struct rng *rng)
{
    uint64_t n = rng_below(rng, rng_chance(rng, 80) ? 4 : 20);
    struct job_view view = { .number = 0 };
    struct inode *inode;

    if (rng_chance(rng, 90)) {
        world_note(world, "%" PRIu64 " steps of jobs\n", n);
        while (n-- > 0 && jobs_step(world->fs->jobs))
            ;
        return;
    }
    while (jobs_next(world->fs->jobs, view.number, &view, &inode)) {
        enum job_order order = (enum job_order) rng_below(rng, 3);

        inode_unref(world->fs->inodes, inode);
        world_note(world, "order %u to job %" PRIu64 "\n", order, view.number);
        (void) jobs_order(world->fs->jobs, view.number, order);
    }
}

void world_finish_jobs(struct world *world)
{
    while (!world->sim->down && jobs_step(world->fs->jobs))
        ;
}

/* -- disks that come and go -- */

static void do_join(struct world *world, unsigned i)
{
    struct member member = world_member(world, i);
    struct volume_error error;
    uint32_t index;
    int r;

    world_note(world, "disk %u joins\n", i);
    world->unsure = (int) i;
    r = membership_add(world->fs, &member, &index, &error);
    world_close_member(&member);
    if (r == 0 && !world->sim->down) {
        world->in[i] = true;
        world->unsure = -1;
    } else if (r < 0 && !world_may_fail(world, r)) {
        world_wrong(world, "disk %u does not join: %s", i, error.why);
    }
}

/* Finds the number that disk i of the machine has in the volume now; n_disks: it is not in it. */
static uint32_t index_of(const struct world *world, unsigned i)
{
    const struct volume *volume = world->fs->volume;
    uint32_t index = 0;

    while (index < volume->n_disks &&
           (volume->disk[index].standing == DISK_GONE || volume->disk[index].path[1] != '0' + (char) i))
        index++;
    return index;
}

static void do_leave(struct world *world, unsigned i, bool leaves)
{
    struct volume_error error;
    int r;

    world_note(world, "disk %u %s\n", i, leaves ? "is to leave" : "stays");
    r = membership_set_leaving(world->fs, index_of(world, i), leaves, &error);
    if (r < 0 && r != -EPERM && !world_may_fail(world, r))
        world_wrong(world, "disk %u cannot leave: %s", i, error.why);
}

static void move_file(struct world *world, int name)
{
    struct world_file *model;
    struct file_layout *layout;
    struct layout_error error;
    uint64_t number;
    uint32_t start;
    int r;

    if (open_model(world, name, &model) < 0)
        return;
    world_note(world, "file %d moves away\n", world_now(world)->file[name]);
    r = membership_choose(world->fs, model->inode, &layout, &start, &error);
    if (r == 0 && layout != NULL) {
        r = jobs_add(world->fs->jobs, model->inode, layout, start, 0, &world_asker, &number);
        layouts_put(world->fs->layouts, layout);
    }
    if (r < 0 && r != -EBUSY && !world_may_fail(world, r))
        world_wrong(world, "moving away: %s", strerror(-r));
}

static void do_drop(struct world *world, unsigned i)
{
    struct member member = world_member(world, i);
    struct volume_error error;
    uint64_t left;
    int r;

    world_note(world, "disk %u leaves\n", i);
    world->unsure = (int) i;
    r = membership_drop(world->fs, index_of(world, i), &member, &left, &error);
    world_close_member(&member);
    if (r == 0)
        world->in[i] = false;
    if ((r == 0 && !world->sim->down) || r == -EBUSY)
        world->unsure = -1;
    if (r < 0 && r != -EBUSY && r != -EPERM && !world_may_fail(world, r))
        world_wrong(world, "disk %u does not leave: %s", i, error.why);
}

static void do_disks(struct world *world, struct rng *rng)
{
    unsigned i = 1 + (unsigned) rng_below(rng, world->n_disks + WORLD_SPARE - 1);
    const struct volume *volume = world->fs->volume;
    uint32_t index = index_of(world, i);

    if (world->unsure >= 0)
        return; /* one change at a time: the last one was interrupted, or has failed */
    if (!world->in[i]) {
        do_join(world, i);
    } else if (volume->disk[index].standing != DISK_LEAVING || rng_chance(rng, 10)) {
        do_leave(world, i, volume->disk[index].standing != DISK_LEAVING);
    } else {
        for (int name = 0; name < WORLD_NAMES && !world->sim->down; name++)
            if (world_now(world)->file[name] >= 0)
                move_file(world, name);
        if (rng_chance(rng, 70))
            world_finish_jobs(world);
        if (!world->sim->down)
            do_drop(world, i);
    }
}

static void on_file(struct world *world, struct rng *rng, int name)
{
    struct world_file *model;

    if (open_model(world, name, &model) < 0)
        return;
    world_note(world, "file %d: ", world_now(world)->file[name]);
    if (world->replicates && rng_chance(rng, 40)) {
        world_replicate(world, rng, model);
        if (!world->sim->down)
            world_check_replicas(world, model->inode, world_name[name]);
        return;
    }
    switch (rng_below(rng, world->migrates ? 14 : 12)) {
    case 0:
    case 1:
        do_sync(world, rng, model);
        break;
    case 12:
    case 13:
        do_migrate(world, rng, model);
        break;
    case 2:
        do_truncate(world, model, rng_chance(rng, 30) ? 0 : rng_below(rng, WORLD_SPAN));
        break;
    case 4:
        do_truncate(world, model, 0);
        if (!world->sim->down)
            do_set_layout(world, rng, model);
        break;
    case 5:
        do_set_layout(world, rng, model);
        break;
    case 3:
        do_punch(world, rng, model);
        break;
    default:
        do_write(world, rng, model);
        break;
    }
}

static void do_unlink(struct world *world, int name)
{
    int r;

    world_note(world, "unlink %d\n", name);
    world_next_state(world)->file[name] = -1;
    r = tree_unlink(world->fs, world_parent(world, name), world_name[name]);
    forget_state(world, r);
    unless_failed(world, r, "unlink");
}

static void do_rename(struct world *world, int name, int to)
{
    struct world_names *before = world_now(world), *after;
    int moved = before->file[name], r;

    world_note(world, "rename %d to %d\n", name, to);
    if (moved == before->file[to])
        return; /* two names of one file: nothing would happen */
    after = world_next_state(world);
    after->file[to] = moved;
    after->file[name] = -1;
    r = tree_rename(world->fs, world_parent(world, name), world_name[name], world_parent(world, to), world_name[to], 0);
    forget_state(world, r);
    unless_failed(world, r, "rename");
}

static void do_link(struct world *world, int name, int to)
{
    struct world_file *model;
    struct stat st;
    int r;

    if (world_now(world)->file[to] >= 0 || open_model(world, name, &model) < 0)
        return;
    world_note(world, "link %d to %d\n", name, to);
    world->n_links++;
    world_next_state(world)->file[to] = world_now(world)->file[name];
    r = tree_link(world->fs, model->inode, world_parent(world, to), world_name[to], &st);
    forget_state(world, r);
    unless_failed(world, r, "link");
}

static void do_sync_dir(struct world *world, int name)
{
    int r;

    world_note(world, "fsync of directory of %d\n", name);
    r = tree_sync_dir(world->fs, world_parent(world, name));
    if (r == 0 && !world->sim->down)
        keep_states(world, keeps_directory, name);
}

void world_step(struct world *world, struct rng *rng)
{
    int name = (int) rng_below(rng, WORLD_NAMES), other = (int) rng_below(rng, WORLD_NAMES);
    uint64_t what = rng_below(rng, 20);

    if (world->migrates) {
        name %= 2; /* fewer files, so that more happens to each */
        if (rng_chance(rng, 40))
            do_jobs(world, rng);
        if (world->changes_disks && rng_chance(rng, 30))
            do_disks(world, rng);
    }
    if (world_now(world)->file[name] < 0)
        do_create(world, name);
    else if (what < 12)
        on_file(world, rng, name);
    else if (what < 14)
        do_close(world, name);
    else if (what < 16)
        do_unlink(world, name);
    else if (what < 18)
        do_rename(world, name, other);
    else if (what < 19)
        do_link(world, name, other);
    else if (rng_chance(rng, 50))
        do_sync_dir(world, name);
    else
        do_set_default(world, rng, name);
    if (world->sim->n_silly > 0)
        world_wrong(world, "a name went while its file was open: an NFS client would have made another of it");
}
