/* SPDX-License-Identifier: MIT */
#include "test/core/world_parts.h"

#include "fs/core/change/refill.h"

#include "fs/core/disk/random.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const world_name[WORLD_NAMES] = { "a", "b", "c", "a", "b", "c" };

void world_wrong(struct world *world, const char *fmt, ...)
{
    va_list list;

    if (world->why[0] != 0)
        return;
    va_start(list, fmt);
    vsnprintf(world->why, sizeof world->why, fmt, list);
    va_end(list);
}

void world_note(struct world *world, const char *fmt, ...)
{
    size_t len = strlen(world->program);
    va_list list;

    va_start(list, fmt);
    vsnprintf(world->program + len, sizeof world->program - len, fmt, list);
    va_end(list);
}

bool world_may_fail(const struct world *world, int64_t r)
{
    return world->sim->down || (world->faulty && (world->only_error == 0 || r == world->only_error));
}

struct inode *world_parent(const struct world *world, int name)
{
    return name < WORLD_NAMES / 2 ? inodes_root(world->fs->inodes) : world->dir;
}

struct world_names *world_now(struct world *world)
{
    return &world->state[world->n_states - 1];
}

struct world_names *world_next_state(struct world *world)
{
    if (world->n_states == WORLD_STATES) {
        /* The oldest state is given up; programs are too short to need it. */
        memmove(&world->state[0], &world->state[1], (WORLD_STATES - 1) * sizeof world->state[0]);
        world->n_states--;
    }
    world->state[world->n_states] = world->state[world->n_states - 1];
    return &world->state[world->n_states++];
}

/* -- life -- */

struct member world_member(struct world *world, unsigned i)
{
    static const char *const path[] = { "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7" };
    struct sim_disk *disk = sim_disk(world->sim, i);

    return (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = path[i] };
}

void world_close_member(struct member *member)
{
    if (member->dir >= 0)
        (void) member->ops->close(member->ctx, member->dir);
}

/* Opens the disks that are in the volume; how many. */
static unsigned members(struct world *world, struct member member[])
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(world->in); i++)
        if (world->in[i])
            member[n++] = world_member(world, i);
    return n;
}

static void close_members(struct member member[], unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        world_close_member(&member[i]);
}

const struct job_asker world_asker = { 0, UINT64_MAX };

int world_init(struct world *world, unsigned n_disks, const char *layout, unsigned home_lacks, uint64_t seed)
{
    struct member member[8];
    struct volume_error error;
    unsigned n;
    int r;

    *world = (struct world){ .n_disks = n_disks, .layout = layout, .n_states = 1, .unsure = -1 };
    world->sim = sim_new(n_disks + WORLD_SPARE, seed);
    for (unsigned i = 0; i < n_disks; i++)
        world->in[i] = true;
    sim_disk_lacks(sim_disk(world->sim, 0), home_lacks);
    world->file = calloc(WORLD_FILES, sizeof *world->file);
    for (int i = 0; i < WORLD_NAMES; i++)
        world->state[0].file[i] = -1;
    random_from_seed(seed);
    n = members(world, member);
    r = volume_format(member, n, 0, 1, &error);
    close_members(member, n);
    if (r < 0)
        world_wrong(world, "format: %s", error.why);
    return r;
}

void world_done(struct world *world)
{
    sim_free(world->sim);
    free(world->file);
    world->sim = NULL;
    world->file = NULL;
}

static int find_dir(struct world *world)
{
    struct inode *root = inodes_root(world->fs->inodes);
    struct stat st;
    int r = tree_lookup(world->fs, root, "d", &world->dir, &st);

    if (r == -ENOENT) {
        r = tree_mkdir(world->fs, root, "d", 0755, &nobody_special, &world->dir, &st);
        if (r == 0)
            r = tree_sync_dir(world->fs, root);
    }
    return r;
}

static int open_volume(struct world *world, struct volume **ret_volume, struct volume_error *error)
{
    struct member member[8];
    unsigned n = members(world, member);
    int r = volume_open(member, n, 0, ret_volume, error);

    close_members(member, n);
    return r;
}

/* Opens the volume where a crash has left it unsure whether a disk is in it: whoever names the right disks can
 * mount. */
static int open_unsure(struct world *world, struct volume **ret_volume, struct volume_error *error)
{
    int r = open_volume(world, ret_volume, error);

    if (r == -ENODEV && world->unsure >= 0) {
        world->in[world->unsure] = !world->in[world->unsure];
        r = open_volume(world, ret_volume, error);
    }
    if (r == 0)
        world->unsure = -1;
    return r;
}

int world_mount(struct world *world)
{
    const struct fs_options options = { .layout = world->layout,
                                        .reserve = world->reserve,
                                        .max_fds = 16,
                                        .behind = 64,
                                        .window = 256,
                                        .confirm = 512,
                                        .replica_shift = 7 };
    struct volume_error error = { "" };
    struct volume *volume;
    int r = open_unsure(world, &volume, &error);

    if (r == 0)
        r = fs_new(volume, &options, &world->fs, &error);
    if (r == 0)
        refills_scan(world->fs->refills);
    if (r == 0) {
        r = find_dir(world);
        if (r < 0)
            world_abandon(world);
    }
    if (r < 0 && !world_may_fail(world, r))
        world_wrong(world, "mount: %s (%s)", error.why, strerror(-r));
    return r;
}

static void forget_open(struct world *world)
{
    for (int i = 0; i < world->n_files; i++) {
        struct world_file *file = &world->file[i];

        if (file->open) {
            file_put(world->fs, file->file);
            inode_unref(world->fs->inodes, file->inode);
        }
        file->open = false;
    }
}

void world_abandon(struct world *world)
{
    if (world->fs == NULL)
        return;
    forget_open(world);
    (void) fs_free(world->fs);
    world->fs = NULL;
}

void world_settle_file(struct world_file *file)
{
    memset(file->may_size, 0, sizeof file->may_size);
    file->may_size[file->size] = true;
    if (!file->unseen)
        file->kept_size = file->size;
    for (uint64_t i = 0; i < file->size && !file->unseen; i++)
        file->kept[i] |= file->now[i] != 0; /* a zero may be a hole's, of a subfile that was never there */
    for (uint64_t i = 0; i < WORLD_SPAN; i++)
        file->may[i] = i < file->size ? UINT32_C(1) << file->now[i] : 1;
}

static void settle_names(struct world *world)
{
    world->state[0] = *world_now(world);
    world->n_states = 1;
}

void world_unmount(struct world *world)
{
    int r;

    forget_open(world);
    r = fs_free(world->fs);
    world->fs = NULL;
    if (r < 0) {
        if (!world_may_fail(world, r))
            world_wrong(world, "unmount: %s", strerror(-r));
        return;
    }
    for (int i = 0; i < world->n_files; i++)
        world_settle_file(&world->file[i]);
    settle_names(world);
}

/* -- checks -- */

/* What a name leads to, as the file system says. */
struct found {
    bool there, readable;
    uint64_t ino, size;
    uint8_t bytes[WORLD_SPAN + 1];
};

static void read_whole(struct world *world, struct inode *inode, const char *name, struct found *found)
{
    struct file *file;
    ssize_t n = file_get(world->fs, inode, &file);

    if (n < 0) {
        if (!world->faulty)
            world_wrong(world, "%s: cannot be opened: %s", name, strerror((int) -n));
        return;
    }
    n = file_read(world->fs, file, found->bytes, sizeof found->bytes, 0);
    if (n == (ssize_t) file_size(file))
        found->readable = true;
    else if (!world->faulty)
        world_wrong(world, "%s: reading gives %zd, its size is %" PRIu64, name, n, file_size(file));
    if (found->readable && found->size != (uint64_t) n && !world->faulty)
        world_wrong(world, "%s: stat says %" PRIu64 " bytes, there are %zd", name, found->size, n);
    file_put(world->fs, file);
    world_check_replicas(world, inode, name);
}

static void find(struct world *world, int name, struct found *found)
{
    struct inode *inode;
    struct stat st;
    int r = tree_lookup(world->fs, world_parent(world, name), world_name[name], &inode, &st);

    found->there = found->readable = false;
    if (r == 0) {
        found->there = true;
        found->ino = st.st_ino;
        found->size = (uint64_t) st.st_size;
        read_whole(world, inode, world_name[name], found);
        inode_unref(world->fs->inodes, inode);
    } else if (r != -ENOENT && !world->faulty) {
        world_wrong(world, "%s: cannot be looked up: %s", world_name[name], strerror(-r));
    }
}

/* Says why what was found cannot be that file of the model; NULL: it can. */
static const char *differs(const struct world_file *model, const struct found *found, char why[static 128])
{
    if (found->size > WORLD_SPAN || !model->may_size[found->size]) {
        snprintf(why, 128, "its size is %" PRIu64 ", which it never had", found->size);
        return why;
    }
    for (uint64_t i = 0; i < found->size; i++)
        if (found->bytes[i] >= WORLD_VALUES || (model->may[i] >> found->bytes[i] & 1) == 0) {
            snprintf(why, 128, "byte %" PRIu64 " is %u, which may not be (%08" PRIx32 ")", i, found->bytes[i],
                     model->may[i]);
            return why;
        }
    return NULL;
}

/* Whether names of one file have one inode number, and names of two files have two, also where the model does not know
 * the numbers. */
static bool are_links(const struct world_names *state, const struct found found[])
{
    for (int i = 0; i < WORLD_NAMES; i++)
        for (int k = 0; k < i; k++)
            if (found[i].there && found[k].there &&
                (state->file[i] == state->file[k]) != (found[i].ino == found[k].ino))
                return false;
    return true;
}

/* Whether the names found may be those of a state. A number may be used again for another file, so equal numbers only
 * make it likely; the bytes decide. */
static bool are_names(const struct world *world, const struct world_names *state, const struct found found[])
{
    for (int i = 0; i < WORLD_NAMES; i++) {
        const struct world_file *model = state->file[i] >= 0 ? &world->file[state->file[i]] : NULL;

        if ((model != NULL) != found[i].there)
            return false;
        if (model != NULL && model->ino != found[i].ino && model->ino != UNKNOWN_INO)
            return false;
        /* Also a file whose number the model does not know has one number under all its names. */
        for (int j = 0; model != NULL && j < i; j++)
            if (found[j].there && (state->file[j] == state->file[i]) != (found[j].ino == found[i].ino))
                return false;
    }
    return are_links(state, found);
}

static const char *are_files(const struct world *world, const struct world_names *state, const struct found found[],
                             char why[static 128])
{
    const char *fault = NULL;

    for (int i = 0; fault == NULL && i < WORLD_NAMES; i++)
        if (found[i].readable)
            fault = differs(&world->file[state->file[i]], &found[i], why);
    return fault;
}

/* Makes the model what was found. */
static void adopt(struct world *world, const struct world_names *state, const struct found found[])
{
    struct world_names now = *state;

    for (int i = 0; i < WORLD_NAMES; i++) {
        struct world_file *model = &world->file[MAX(state->file[i], 0)];

        if (!found[i].readable)
            continue;
        model->ino = found[i].ino;
        model->size = found[i].size;
        memset(model->now, 0, sizeof model->now);
        memcpy(model->now, found[i].bytes, found[i].size);
    }
    world->state[0] = now;
    world->n_states = 1;
}

/* Expects the size and bytes that the model has now, not only some that they may be. */
static void expect_now(struct world *world, int name, const struct found *found)
{
    const struct world_file *model = &world->file[world_now(world)->file[name]];

    if (!found->there || !found->readable || found->size != model->size)
        world_wrong(world, "%s: has %" PRIu64 " bytes now, had %" PRIu64, world_name[name], found->size, model->size);
    for (uint64_t i = 0; world->why[0] == 0 && i < model->size; i++)
        if (found->bytes[i] != model->now[i])
            world_wrong(world, "%s: byte %" PRIu64 " of %" PRIu64 " is %u now, was %u", world_name[name], i,
                        model->size, found->bytes[i], model->now[i]);
}

void world_check_same(struct world *world)
{
    static struct found found;

    for (int i = 0; world->why[0] == 0 && i < WORLD_NAMES; i++) {
        if (world_now(world)->file[i] < 0)
            continue;
        find(world, i, &found);
        expect_now(world, i, &found);
    }
}

static void print_names(char *text, size_t size, const struct world *world, const struct found found[])
{
    text[0] = 0;
    for (int i = 0; i < WORLD_NAMES; i++) {
        int file = -1;

        for (int k = 0; found[i].there && k < world->n_files; k++)
            if (world->file[k].ino == found[i].ino)
                file = k;
        snprintf(text + strlen(text), size - strlen(text), " %d", file);
    }
}

void world_check(struct world *world)
{
    static struct found found[WORLD_NAMES];
    char text[128], why[128] = "";
    bool known = false;

    for (int i = 0; world->why[0] == 0 && i < WORLD_NAMES; i++)
        find(world, i, &found[i]);
    for (int i = world->n_states - 1; world->why[0] == 0 && i >= 0; i--) {
        if (!are_names(world, &world->state[i], found))
            continue;
        known = true;
        if (are_files(world, &world->state[i], found, why) == NULL) {
            adopt(world, &world->state[i], found);
            return;
        }
    }
    print_names(text, sizeof text, world, found);
    if (known)
        world_wrong(world, "the names lead to%s: %s", text, why);
    else if (!world->faulty)
        world_wrong(world, "the names lead to%s, which they did at no moment since the last that is durable", text);
}
