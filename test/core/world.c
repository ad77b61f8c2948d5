/* SPDX-License-Identifier: MIT */
#include "test/core/world.h"

#include "fs/core/defaults.h"
#include "fs/core/file.h"
#include "fs/core/jobs.h"
#include "fs/core/members.h"
#include "fs/core/random.h"
#include "fs/core/tree.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const name_of[WORLD_NAMES] = { "a", "b", "c", "a", "b", "c" };
#define UNKNOWN_INO UINT64_MAX

static const struct cred nobody_special = { .umask = 022 };

PRINTF_LIKE(2, 3) static void wrong(struct world *world, const char *fmt, ...)
{
    va_list list;

    if (world->why[0] != 0)
        return;
    va_start(list, fmt);
    vsnprintf(world->why, sizeof world->why, fmt, list);
    va_end(list);
}

PRINTF_LIKE(2, 3) static void note(struct world *world, const char *fmt, ...)
{
    size_t len = strlen(world->program);
    va_list list;

    va_start(list, fmt);
    vsnprintf(world->program + len, sizeof world->program - len, fmt, list);
    va_end(list);
}

/* What failed did so for a reason. */
static bool may_fail(const struct world *world, int64_t r)
{
    return world->sim->down || (world->faulty && (world->only_error == 0 || r == world->only_error));
}

static struct inode *parent_of(const struct world *world, int name)
{
    return name < WORLD_NAMES / 2 ? inodes_root(world->fs->inodes) : world->dir;
}

static struct world_names *names(struct world *world)
{
    return &world->state[world->n_states - 1];
}

/* -- life -- */

static struct member member_of(struct world *world, unsigned i)
{
    static const char *const path[] = { "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7" };
    struct sim_disk *disk = sim_disk(world->sim, i);

    return (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = path[i] };
}

static void close_member(struct member *member)
{
    if (member->dir >= 0)
        (void) member->ops->close(member->ctx, member->dir);
}

/* Those that are in the volume. */
static unsigned members(struct world *world, struct member member[])
{
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(world->in); i++)
        if (world->in[i])
            member[n++] = member_of(world, i);
    return n;
}

static void close_members(struct member member[], unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close_member(&member[i]);
}

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
        wrong(world, "format: %s", error.why);
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

/* The list that a crash has left has the disk or has it not; who has the right one can mount. */
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
    const struct fs_options options = {
        .layout = world->layout, .max_fds = 16, .behind = 64, .window = 256, .confirm = 512
    };
    struct volume_error error = { "" };
    struct volume *volume;
    int r = open_unsure(world, &volume, &error);

    if (r == 0)
        r = fs_new(volume, &options, &world->fs, &error);
    if (r == 0) {
        r = find_dir(world);
        if (r < 0)
            world_abandon(world);
    }
    if (r < 0 && !may_fail(world, r))
        wrong(world, "mount: %s (%s)", error.why, strerror(-r));
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

/* What is there now is all there may be. */
static void settle_file(struct world_file *file)
{
    memset(file->may_size, 0, sizeof file->may_size);
    file->may_size[file->size] = true;
    for (uint64_t i = 0; i < WORLD_SPAN; i++)
        file->may[i] = i < file->size ? UINT32_C(1) << file->now[i] : 1;
}

static void settle_names(struct world *world)
{
    world->state[0] = *names(world);
    world->n_states = 1;
}

void world_unmount(struct world *world)
{
    int r;

    forget_open(world);
    r = fs_free(world->fs);
    world->fs = NULL;
    if (r < 0) {
        if (!may_fail(world, r))
            wrong(world, "unmount: %s", strerror(-r));
        return;
    }
    for (int i = 0; i < world->n_files; i++)
        settle_file(&world->file[i]);
    settle_names(world);
}

/* Of the states of names those stay that keep what a sync has promised; the current one always does. */
static void keep_states(struct world *world, bool (*keeps)(const struct world_names *, const struct world_names *, int),
                        int what)
{
    struct world_names now = *names(world);
    int n = 0;

    for (int i = 0; i < world->n_states; i++)
        if (keeps(&world->state[i], &now, what))
            world->state[n++] = world->state[i];
    world->n_states = n;
}

/* A file that was synced has a name. */
static bool keeps_file(const struct world_names *state, const struct world_names *now, int file)
{
    bool named = false, is_named = false;

    for (int i = 0; i < WORLD_NAMES; i++) {
        named |= state->file[i] == file;
        is_named |= now->file[i] == file;
    }
    return named || !is_named;
}

/* A directory that was synced has the names it had: those of the half that name lies in. */
static bool keeps_directory(const struct world_names *state, const struct world_names *now, int name)
{
    int first = name < WORLD_NAMES / 2 ? 0 : WORLD_NAMES / 2;

    return memcmp(state->file + first, now->file + first, WORLD_NAMES / 2 * sizeof state->file[0]) == 0;
}

/* -- checks -- */

/* What a name was found to lead to. */
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
            wrong(world, "%s: cannot be opened: %s", name, strerror((int) -n));
        return;
    }
    n = file_read(world->fs, file, found->bytes, sizeof found->bytes, 0);
    if (n == (ssize_t) file_size(file))
        found->readable = true;
    else if (!world->faulty)
        wrong(world, "%s: reading gives %zd, its size is %" PRIu64, name, n, file_size(file));
    if (found->readable && found->size != (uint64_t) n && !world->faulty)
        wrong(world, "%s: stat says %" PRIu64 " bytes, there are %zd", name, found->size, n);
    file_put(world->fs, file);
}

static void find(struct world *world, int name, struct found *found)
{
    struct inode *inode;
    struct stat st;
    int r = tree_lookup(world->fs, parent_of(world, name), name_of[name], &inode, &st);

    found->there = found->readable = false;
    if (r == 0) {
        found->there = true;
        found->ino = st.st_ino;
        found->size = (uint64_t) st.st_size;
        read_whole(world, inode, name_of[name], found);
        inode_unref(world->fs->inodes, inode);
    } else if (r != -ENOENT && !world->faulty) {
        wrong(world, "%s: cannot be looked up: %s", name_of[name], strerror(-r));
    }
}

/* Why this cannot be that file; NULL: it can. */
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

/* Names of one file have one number, those of two have two, also where nobody heard which. */
static bool are_links(const struct world_names *state, const struct found found[])
{
    for (int i = 0; i < WORLD_NAMES; i++)
        for (int k = 0; k < i; k++)
            if (found[i].there && found[k].there &&
                (state->file[i] == state->file[k]) != (found[i].ino == found[k].ino))
                return false;
    return true;
}

/* Numbers of files may be used again: equal numbers make equal names likely, the bytes certain. */
static bool are_names(const struct world *world, const struct world_names *state, const struct found found[])
{
    for (int i = 0; i < WORLD_NAMES; i++) {
        const struct world_file *model = state->file[i] >= 0 ? &world->file[state->file[i]] : NULL;

        if ((model != NULL) != found[i].there)
            return false;
        if (model != NULL && model->ino != found[i].ino && model->ino != UNKNOWN_INO)
            return false;
        /* One whose number nobody heard of is still one file. */
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

/* The model becomes what was found. */
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

/* Bytes and size are those the model has now, not only some they may be. */
static void expect_now(struct world *world, int name, const struct found *found)
{
    const struct world_file *model = &world->file[names(world)->file[name]];

    if (!found->there || !found->readable || found->size != model->size)
        wrong(world, "%s: has %" PRIu64 " bytes now, had %" PRIu64, name_of[name], found->size, model->size);
    for (uint64_t i = 0; world->why[0] == 0 && i < model->size; i++)
        if (found->bytes[i] != model->now[i])
            wrong(world, "%s: byte %" PRIu64 " of %" PRIu64 " is %u now, was %u", name_of[name], i, model->size,
                  found->bytes[i], model->now[i]);
}

void world_check_same(struct world *world)
{
    static struct found found;

    for (int i = 0; world->why[0] == 0 && i < WORLD_NAMES; i++) {
        if (names(world)->file[i] < 0)
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
        wrong(world, "the names lead to%s: %s", text, why);
    else if (!world->faulty)
        wrong(world, "the names lead to%s, which they did at no moment since the last that is durable", text);
}

/* -- operations -- */

/* A new state of names, which may or may not come back if the machine goes down meanwhile. */
static struct world_names *next_state(struct world *world)
{
    if (world->n_states == WORLD_STATES) {
        /* The oldest state in the middle is given up: programs are shorter than that. */
        memmove(&world->state[0], &world->state[1], (WORLD_STATES - 1) * sizeof world->state[0]);
        world->n_states--;
    }
    world->state[world->n_states] = world->state[world->n_states - 1];
    return &world->state[world->n_states++];
}

/* Names do not change any more once an operation has run out of memory. */
static void forget_state(struct world *world, int r)
{
    if (r == -ENOMEM && world->only_error == -ENOMEM)
        world->n_states--;
}

/* An operation fails only when a disk does; then it may have happened or not. */
static void unless_failed(struct world *world, int r, const char *what)
{
    if (r < 0 && !may_fail(world, r))
        wrong(world, "%s: %s", what, strerror(-r));
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
    settle_file(model);
    next_state(world)->file[name] = world->n_files;
    note(world, "create %d as file %d\n", name, world->n_files);
    r = tree_create(world->fs, parent_of(world, name), name_of[name], 0644, &nobody_special, &inode, &st, NULL);
    world->n_files++;
    if (inode != NULL) {
        model->ino = inode->ino;
        inode_unref(world->fs->inodes, inode);
    } else {
        model->ino = UNKNOWN_INO; /* it may be there, under a number nobody heard of */
    }
    forget_state(world, r);
    unless_failed(world, r, "create");
}

static int open_model(struct world *world, int name, struct world_file **ret_model)
{
    struct world_file *model = &world->file[names(world)->file[name]];
    struct stat st;
    int r = 0;

    *ret_model = model;
    if (!model->open) {
        r = tree_lookup(world->fs, parent_of(world, name), name_of[name], &model->inode, &st);
        if (r == 0 && (r = file_get(world->fs, model->inode, &model->file)) < 0)
            inode_unref(world->fs->inodes, model->inode);
        model->open = r == 0;
        if (r == 0 && !may_fail(world, 0) && (uint64_t) st.st_size != file_size(model->file))
            wrong(world, "%s: stat says %" PRId64 " bytes, there are %" PRIu64, name_of[name], (int64_t) st.st_size,
                  file_size(model->file));
    }
    if (r < 0 && !may_fail(world, r))
        wrong(world, "%s: cannot be opened: %s", name_of[name], strerror(-r));
    return r;
}

static void do_close(struct world *world, int name)
{
    struct world_file *model = &world->file[names(world)->file[name]];

    if (!model->open)
        return;
    note(world, "close %d\n", name);
    file_put(world->fs, model->file);
    inode_unref(world->fs->inodes, model->inode);
    model->open = false;
}

/* Bytes may arrive before what was done earlier does: from the shortest the file may be, it grows up to their end. */
static void may_grow_to(struct world_file *model, uint64_t end)
{
    uint64_t size = 0;

    while (!model->may_size[size])
        size++;
    for (; size <= end; size++)
        model->may_size[size] = true;
}

/* The bytes from the old end on are a hole now, if nothing else. */
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
    note(world, "write %" PRIu64 " at %" PRIu64 " of %u\n", len, off, value);
    may_grow_to(model, off + len);
    for (uint64_t i = off; i < off + len; i++)
        model->may[i] |= UINT32_C(1) << value;
    for (uint64_t i = model->size; i < off + len; i++)
        model->may[i] |= 1;
    n = file_write(world->fs, model->file, bytes, len, off);
    if (world->sim->down)
        return;
    if (n != (ssize_t) len && !may_fail(world, n))
        wrong(world, "write of %" PRIu64 " gives %zd", len, n);
    if (n > 0) {
        grow(model, off + (uint64_t) n);
        memset(model->now + off, value, (size_t) n);
    }
}

static void do_truncate(struct world *world, struct world_file *model, uint64_t size)
{
    int r;

    note(world, "truncate to %" PRIu64 "\n", size);
    model->may_size[size] = true;
    for (uint64_t i = MIN(size, model->size); i < WORLD_SPAN; i++)
        model->may[i] |= 1;
    r = file_truncate(world->fs, model->file, size);
    if (world->sim->down)
        return;
    if (r < 0 && !may_fail(world, r))
        wrong(world, "truncate: %s", strerror(-r));
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

    note(world, "punch %" PRIu64 " at %" PRIu64 "\n", len, off);
    for (uint64_t i = off; i < off + len; i++)
        model->may[i] |= 1;
    r = file_allocate(world->fs, model->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
    if (world->sim->down)
        return;
    if (r < 0 && !may_fail(world, r))
        wrong(world, "punch: %s", strerror(-r));
    if (r == 0)
        memset(model->now + off, 0, len);
}

static const char *any_layout(struct rng *rng)
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

    return text[rng_below(rng, ARRAY_SIZE(text))];
}

/* Layouts change nothing that the model knows of. */
static void do_set_layout(struct world *world, struct rng *rng, struct world_file *model)
{
    const char *text = any_layout(rng);
    struct layout_error error;
    struct choice choice;
    int r;

    note(world, "layout %s\n", text);
    r = layouts_add(world->fs->layouts, text, &choice.layout, &choice.rotates, &error);
    if (r == 0) {
        r = file_set_layout(world->fs, model->file, choice.layout, choice.rotates);
        layouts_put(world->fs->layouts, choice.layout);
    }
    if (world->sim->down || (r == -ENOTEMPTY && model->size > 0) || (r == -EBUSY && world->migrates))
        return;
    if (r < 0 && !may_fail(world, r))
        wrong(world, "layout %s: %s", text, strerror(-r));
}

static void do_set_default(struct world *world, struct rng *rng, int name)
{
    const char *text = any_layout(rng);
    struct layout_error error;
    int r;

    if (rng_chance(rng, 30)) {
        note(world, "no layout for the directory of %d\n", name);
        r = defaults_remove(world->fs, parent_of(world, name));
        r = r == -ENODATA ? 0 : r;
    } else {
        note(world, "layout %s for the directory of %d\n", text, name);
        r = defaults_set(world->fs, parent_of(world, name), text, &error);
    }
    if (r < 0 && !world->sim->down && !may_fail(world, r))
        wrong(world, "layout of a directory: %s", strerror(-r));
}

/* Its bytes, and its name, will come back. */
static void do_sync(struct world *world, struct rng *rng, struct world_file *model)
{
    bool data_only = rng_chance(rng, 50);
    int r;

    note(world, "%s\n", data_only ? "fdatasync" : "fsync");
    r = file_sync(world->fs, model->file, data_only);
    if (r == 0 && !world->sim->down) {
        settle_file(model);
        keep_states(world, keeps_file, (int) (model - world->file));
    } else if (r < 0 && !may_fail(world, r)) {
        wrong(world, "fsync: %s", strerror(-r));
    }
}

static void do_migrate(struct world *world, struct rng *rng, const struct world_file *model)
{
    const char *text = any_layout(rng);
    struct file_layout *layout;
    struct layout_error error;
    uint64_t number;
    bool rotates;
    int r = layouts_add(world->fs->layouts, text, &layout, &rotates, &error);

    note(world, "migrate to %s\n", text);
    if (r == 0) {
        r = jobs_add(world->fs->jobs, model->inode, layout, rotates, 0, &number);
        layouts_put(world->fs->layouts, layout);
    }
    if (r < 0 && r != -EBUSY && !may_fail(world, r))
        wrong(world, "migrate: %s", strerror(-r));
}

/* Some steps of jobs that are under way, or an order to one. */
static void do_jobs(struct world *world, struct rng *rng)
{
    uint64_t n = rng_below(rng, rng_chance(rng, 80) ? 4 : 20);
    struct job_view view = { .number = 0 };
    struct inode *inode;

    if (rng_chance(rng, 90)) {
        note(world, "%" PRIu64 " steps of jobs\n", n);
        while (n-- > 0 && jobs_step(world->fs->jobs))
            ;
        return;
    }
    while (jobs_next(world->fs->jobs, view.number, &view, &inode)) {
        enum job_order order = (enum job_order) rng_below(rng, 3);

        inode_unref(world->fs->inodes, inode);
        note(world, "order %u to job %" PRIu64 "\n", order, view.number);
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
    struct member member = member_of(world, i);
    struct volume_error error;
    uint32_t index;
    int r;

    note(world, "disk %u joins\n", i);
    world->unsure = (int) i;
    r = members_add(world->fs, &member, &index, &error);
    close_member(&member);
    if (r == 0 && !world->sim->down) {
        world->in[i] = true;
        world->unsure = -1;
    } else if (r < 0 && !may_fail(world, r)) {
        wrong(world, "disk %u does not join: %s", i, error.why);
    }
}

/* Where in the volume's list disk i of the machine is now. */
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

    note(world, "disk %u %s\n", i, leaves ? "is to leave" : "stays");
    r = members_set_leaving(world->fs, index_of(world, i), leaves, &error);
    if (r < 0 && r != -EPERM && !may_fail(world, r))
        wrong(world, "disk %u cannot leave: %s", i, error.why);
}

static void move_file(struct world *world, int name)
{
    struct world_file *model;
    struct layout_error error;
    struct choice choice;
    uint64_t number;
    int r;

    if (open_model(world, name, &model) < 0)
        return;
    note(world, "file %d moves away\n", names(world)->file[name]);
    r = members_choose(world->fs, model->inode, &choice, &error);
    if (r == 0 && choice.layout != NULL) {
        r = jobs_add(world->fs->jobs, model->inode, choice.layout, choice.rotates, 0, &number);
        layouts_put(world->fs->layouts, choice.layout);
    }
    if (r < 0 && r != -EBUSY && !may_fail(world, r))
        wrong(world, "moving away: %s", strerror(-r));
}

static void do_drop(struct world *world, unsigned i)
{
    struct member member = member_of(world, i);
    struct volume_error error;
    uint64_t left;
    int r;

    note(world, "disk %u leaves\n", i);
    world->unsure = (int) i;
    r = members_drop(world->fs, index_of(world, i), &member, &left, &error);
    close_member(&member);
    if (r == 0)
        world->in[i] = false;
    if ((r == 0 && !world->sim->down) || r == -EBUSY)
        world->unsure = -1;
    if (r < 0 && r != -EBUSY && r != -EPERM && !may_fail(world, r))
        wrong(world, "disk %u does not leave: %s", i, error.why);
}

static void do_disks(struct world *world, struct rng *rng)
{
    unsigned i = 1 + (unsigned) rng_below(rng, world->n_disks + WORLD_SPARE - 1);
    const struct volume *volume = world->fs->volume;
    uint32_t index = index_of(world, i);

    if (world->unsure >= 0)
        return; /* one thing after the other: the machine is down, or a disk has failed */
    if (!world->in[i]) {
        do_join(world, i);
    } else if (volume->disk[index].standing != DISK_LEAVING || rng_chance(rng, 10)) {
        do_leave(world, i, volume->disk[index].standing != DISK_LEAVING);
    } else {
        for (int name = 0; name < WORLD_NAMES && !world->sim->down; name++)
            if (names(world)->file[name] >= 0)
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
    note(world, "file %d: ", names(world)->file[name]);
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

    note(world, "unlink %d\n", name);
    next_state(world)->file[name] = -1;
    r = tree_unlink(world->fs, parent_of(world, name), name_of[name]);
    forget_state(world, r);
    unless_failed(world, r, "unlink");
}

static void do_rename(struct world *world, int name, int to)
{
    struct world_names *before = names(world), *after;
    int moved = before->file[name], r;

    note(world, "rename %d to %d\n", name, to);
    if (moved == before->file[to])
        return; /* nothing would happen */
    after = next_state(world);
    after->file[to] = moved;
    after->file[name] = -1;
    r = tree_rename(world->fs, parent_of(world, name), name_of[name], parent_of(world, to), name_of[to], 0);
    forget_state(world, r);
    unless_failed(world, r, "rename");
}

static void do_link(struct world *world, int name, int to)
{
    struct world_file *model;
    struct stat st;
    int r;

    if (names(world)->file[to] >= 0 || open_model(world, name, &model) < 0)
        return;
    note(world, "link %d to %d\n", name, to);
    next_state(world)->file[to] = names(world)->file[name];
    r = tree_link(world->fs, model->inode, parent_of(world, to), name_of[to], &st);
    forget_state(world, r);
    unless_failed(world, r, "link");
}

static void do_sync_dir(struct world *world, int name)
{
    int r;

    note(world, "fsync of directory of %d\n", name);
    r = tree_sync_dir(world->fs, parent_of(world, name));
    if (r == 0 && !world->sim->down)
        keep_states(world, keeps_directory, name);
}

void world_step(struct world *world, struct rng *rng)
{
    int name = (int) rng_below(rng, WORLD_NAMES), other = (int) rng_below(rng, WORLD_NAMES);
    uint64_t what = rng_below(rng, 20);

    if (world->migrates) {
        name %= 2; /* the more happens to each */
        if (rng_chance(rng, 40))
            do_jobs(world, rng);
        if (world->changes_disks && rng_chance(rng, 30))
            do_disks(world, rng);
    }
    if (names(world)->file[name] < 0)
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
        wrong(world, "a name went while its file was open: an NFS client would have made another of it");
}
