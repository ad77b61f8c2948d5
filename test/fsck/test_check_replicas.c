/* SPDX-License-Identifier: MIT */
/* fsck and replicas: maps and subfiles made by hand beside one file, then damaged, lost or cut short, and fsck
 * interrupted at each of its calls. No replica gets right that is not, no byte is lost that the file or its second copy
 * has, and a second run finds nothing more to repair. */
#include "fs/core/change/prune.h"
#include "fs/core/disk/random.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file.h"
#include "fs/core/fs.h"
#include "fs/core/stub/copy.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/tree.h"
#include "fs/fsck/rebuild.h"
#include "fs/fsck/stamps.h"
#include "test/fsck/sim_fsck.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define SHIFT 20 /* of windows */
#define SMALL UINT64_C(1000)
#define BIG   ((UINT64_C(5) << 19) + 77) /* two windows and a half */

/* A machine with a volume that has one file, f, and a disk more. */
struct rig {
    struct sim *sim;
    unsigned n_disks;
    unsigned list[SIM_FSCK_DISKS]; /* its disks, the home disk first */
    uint64_t size;                 /* of the file */
    uint64_t also_size;            /* it may be as long as that; 0: it may not */
    bool is_harmed;                /* until fsck has repaired that, bits may say what is not so */
};

/* How the file lies; the seed says where it starts. */
struct lying {
    unsigned n_disks;
    const char *layout;
    uint64_t size, seed;
};

static uint8_t content(uint64_t off)
{
    return (uint8_t) (1 + (off * 7 + off / 1024 * 13) % 251);
}

/* -- using it -- */

static int rig_open(const struct rig *rig, enum volume_flags flags, struct volume **ret_volume)
{
    struct member member[SIM_FSCK_DISKS] = { 0 };
    struct volume_error error = { "" };
    int r;

    open_members(rig->sim, rig->list, rig->n_disks, member);
    r = volume_open(member, rig->n_disks, flags, ret_volume, &error);
    close_members(member, rig->n_disks);
    return r;
}

/* An open volume, and what is known of the file. */
struct look {
    struct volume *volume;
    struct layouts *layouts;
    struct record record;
    struct file_layout *layout;
    struct placed_layout laying;
    struct replica_places places;
};

static void look_begin(const struct rig *rig, enum volume_flags flags, struct look *look)
{
    *look = (struct look){ 0 };
    cr_assert_eq(rig_open(rig, flags, &look->volume), 0);
    cr_assert_eq(layouts_new(look->volume, &look->layouts), 0);
    cr_assert_eq(stub_read_record(look->volume, look->volume->ns, "f", &look->record), 0);
    cr_assert_eq(layouts_get(look->layouts, look->record.layout, &look->layout), 0);
    look->laying = (struct placed_layout){ look->layout, look->record.rotate };
    look->places = replica_places(look->volume, &look->laying);
}

static int read_map(const struct look *look, struct replica_map *ret_map)
{
    bool differ;

    return replica_map_read(look->volume, &look->places, look->record.id, look->record.gen, ret_map, &differ);
}

static void look_end(struct look *look)
{
    layouts_put(look->layouts, look->layout);
    layouts_free(look->layouts);
    if ((look->volume->flags & VOLUME_READ_ONLY) == 0) {
        cr_assert_eq(volume_sync(look->volume), 0);
        cr_assert_eq(volume_end_epoch(look->volume), 0);
    }
    volume_free(look->volume);
}

static int rig_mount(const struct rig *rig, enum volume_flags flags, const char *layout, struct fs **ret_fs)
{
    const struct fs_options options = { .layout = layout, .max_fds = 16 };
    struct volume_error error = { "" };
    struct volume *volume;
    int r = rig_open(rig, flags, &volume);

    return r < 0 ? r : fs_new(volume, &options, ret_fs, &error);
}

static void write_file(struct fs *fs, uint64_t size)
{
    static const struct cred cred = { .umask = 022 };
    cleanup(freep) uint8_t *bytes = malloc(size);
    struct inode *inode;
    struct file *file;
    struct stat st;

    for (uint64_t i = 0; i < size; i++)
        bytes[i] = content(i);
    cr_assert_eq(tree_create(fs, inodes_root(fs->inodes), "f", 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(fs, file, (const char *) bytes, size, 0), (ssize_t) size);
    cr_assert_eq(file_sync(fs, file, false), 0);
    file_put(fs, file);
    inode_unref(fs->inodes, inode);
}

static void rig_make_so(struct rig *rig, const struct lying *lying)
{
    unsigned n_disks = lying->n_disks;
    struct member member[SIM_FSCK_DISKS] = { 0 };
    struct volume_error error = { "" };
    struct fs *fs = NULL;

    *rig = (struct rig){ .sim = sim_new(n_disks + 1, 1), .n_disks = n_disks, .size = lying->size };
    for (unsigned i = 0; i < n_disks; i++)
        rig->list[i] = i;
    random_from_seed(lying->seed);
    open_members(rig->sim, rig->list, n_disks, member);
    cr_assert_eq(volume_format(member, n_disks, 0, 1, &error), 0, "%s", error.why);
    close_members(member, n_disks);
    cr_assert_eq(rig_mount(rig, 0, lying->layout, &fs), 0, "%s", lying->layout);
    write_file(fs, lying->size);
    cr_assert_eq(fs_free(fs), 0);
}

static void rig_make(struct rig *rig, unsigned n_disks, const char *layout, uint64_t size)
{
    rig_make_so(rig, &(struct lying){ n_disks, layout, size, 1 });
}

static void rig_done(struct rig *rig)
{
    sim_free(rig->sim);
}

/* -- replicas by hand -- */

struct adding {
    uint16_t flags;
    const char *layout;            /* NULL: that of the file, for its second copy */
    uint64_t right_end, safe_from; /* windows that are right, from the first on; that are safe, to the last */
};

static void write_replica(const struct rig *rig, const struct look *look, const struct replica_entry *entry,
                          const struct file_layout *layout)
{
    for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
        uint32_t disk = file_layout_disk(layout, look->volume->home, entry->rotate, slot);
        uint64_t len = file_layout_len(layout, slot, rig->size);
        cleanup(freep) uint8_t *bytes = malloc(len + 1);
        char object[OBJECT_PATH], path[OBJECT_PATH + 16];

        for (uint64_t i = 0; i < len; i++)
            bytes[i] = content(nest_select(file_layout_nest(layout, slot), i));
        object_path(look->volume, look->record.id, REPLICA_GEN | entry->number, slot, layout, object);
        snprintf(path, sizeof path, ".fallsfs/%s", object);
        cr_assert_eq(sim_poke(sim_disk(rig->sim, rig->list[disk]), path, 0, bytes, len), 0);
    }
}

static void add_windows(const struct rig *rig, const struct adding *adding, struct replica_entry *entry)
{
    uint64_t end = (rig->size + (1U << SHIFT) - 1) >> SHIFT;

    if (adding->right_end > 0)
        cr_assert(windows_add(&entry->right, 0, MIN(adding->right_end, end)));
    if (adding->safe_from < end)
        cr_assert(windows_add(&entry->safe, adding->safe_from, end));
}

/* Finds the layout of a replica, whose text stays. */
static struct file_layout *find_layout(struct look *look, const char *text)
{
    struct file_layout *layout = NULL;
    struct layout_error error;
    struct record holder = { 0 };
    bool rotates;

    if (text == NULL)
        return layouts_ref(look->layouts, look->layout);
    cr_assert_eq(layouts_add(look->layouts, text, &layout, &rotates, &error), 0, "%s", error.why);
    record_lay_out(&holder, layout, 0);
    layouts_hold(look->layouts, &holder);
    return layout;
}

/* Finds the entry of a replica in the map, or begins a new one. */
static struct replica_entry *find_entry(struct replica_map *map, uint16_t flags)
{
    for (uint32_t i = 0; (flags & REPLICA_COPY) != 0 && i < map->n; i++)
        if ((map->replica[i].flags & REPLICA_COPY) != 0) {
            replica_entry_done(&map->replica[i]); /* whoever wrote the file has made it */
            return &map->replica[i];
        }
    map->replica[map->n] = (struct replica_entry){ .number = map->next++ };
    return &map->replica[map->n++];
}

/* Gives the file a replica, with bits of some windows, and returns its number. */
static uint32_t rig_add(const struct rig *rig, const struct adding *adding)
{
    struct replica_map map = { .shift = SHIFT };
    struct volume_error error;
    struct replica_entry *entry;
    struct file_layout *layout;
    struct look look;
    uint32_t number;

    look_begin(rig, 0, &look);
    memcpy(map.id, look.record.id, ID_SIZE);
    map.gen = map.also_gen = look.record.gen;
    (void) read_map(&look, &map);
    map.shift = SHIFT;
    layout = find_layout(&look, adding->layout);
    entry = find_entry(&map, adding->flags);
    number = entry->number;
    entry->flags = adding->flags;
    entry->hi = UINT64_MAX;
    entry->rotate = adding->layout == NULL ? file_layout_copy_rotate(layout, look.record.rotate) : 0;
    memcpy(entry->layout, layout->hash, HASH_SIZE);
    add_windows(rig, adding, entry);
    write_replica(rig, &look, entry, layout);
    layouts_put(look.layouts, layout);
    cr_assert_eq(volume_begin_replicas(look.volume, &error), 0);
    cr_assert_eq(replica_map_replace(look.volume, &look.places, &map), 0);
    replica_map_done(&map);
    look.record.has_map = true;
    cr_assert_eq(stub_write_record(look.volume, look.volume->ns, "f", &look.record, XATTR_REPLACE), 0);
    look_end(&look);
    return number;
}

static const struct adding in_columns = { 0, "stripe(13) on d0-d2", 100, 100 };
static const struct adding in_rows = { REPLICA_UPDATE, "one on d2", 100, 100 };
static const struct adding second_copy = { REPLICA_UPDATE | REPLICA_COPY, NULL, 100, 0 };

/* -- what is there -- */

/* Finds an object's path from the disk's root, and its disk. */
static unsigned find_object(const struct rig *rig, const char *name, char *ret_path, size_t size)
{
    for (unsigned i = 0; i < rig->n_disks; i++) {
        cleanup(freep) char *bytes = NULL;
        size_t len;

        snprintf(ret_path, size, ".fallsfs/obj/00/%s", name);
        bytes = sim_peek(sim_disk(rig->sim, rig->list[i]), ret_path, &len);
        if (bytes != NULL)
            return rig->list[i];
    }
    cr_assert(false, "there is no %s", name);
    return 0;
}

/* The name of an object of the file: with what stands behind the id. */
static void name_object(const struct rig *rig, const char *what, char *ret_name, size_t size)
{
    char id[2 * ID_SIZE + 1];
    struct look look;

    look_begin(rig, VOLUME_READ_ONLY, &look);
    hex_print(look.record.id, ID_SIZE, id);
    look_end(&look);
    snprintf(ret_name, size, "%s.%s", id, what);
}

/* Removes an object, or cuts it in half. */
static void harm(struct rig *rig, const char *what, bool cut)
{
    cleanup(freep) char *bytes = NULL;
    char name[96], path[128];
    struct sim_disk *disk;
    size_t len;

    name_object(rig, what, name, sizeof name);
    disk = sim_disk(rig->sim, find_object(rig, name, path, sizeof path));
    bytes = sim_peek(disk, path, &len);
    cr_assert_eq(cut ? sim_cut(disk, path, len / 2) : sim_delete(disk, path), 0, "%s", path);
    rig->is_harmed = true;
}

/* Reads what lies of a file or a replica, without asking any map; zeros where nothing is. Returns where it ends. */
static uint64_t read_raw(const struct rig *rig, const struct look *look, uint64_t gen,
                         const struct placed_layout *laying, uint8_t *bytes, uint64_t room)
{
    uint64_t end = 0;

    memset(bytes, 0, room);
    for (uint32_t slot = 0; slot < file_layout_slots(laying->layout); slot++) {
        uint32_t disk = file_layout_disk(laying->layout, look->volume->home, laying->rotate, slot);
        const struct nest *nest = file_layout_nest(laying->layout, slot);
        cleanup(freep) char *sub = NULL;
        char object[OBJECT_PATH], path[OBJECT_PATH + 16];
        size_t len = 0;

        object_path(look->volume, look->record.id, gen, slot, laying->layout, object);
        snprintf(path, sizeof path, ".fallsfs/%s", object);
        sub = sim_peek(sim_disk(rig->sim, rig->list[disk]), path, &len);
        for (uint64_t i = 0; sub != NULL && i < len && nest_select(nest, i) < room; i++)
            bytes[nest_select(nest, i)] = (uint8_t) sub[i];
        if (sub != NULL && len > 0)
            end = MAX(end, nest_select(nest, len - 1) + 1);
    }
    return end;
}

/* Checks that the windows of a replica that are right have what the file has, and nothing behind its end. */
static void check_windows(const struct rig *rig, const struct look *look, const struct replica_map *map,
                          const struct replica_entry *entry, const char *when)
{
    uint64_t room = MAX(rig->size, rig->also_size) + 5000, end;
    cleanup(freep) uint8_t *own = malloc(room), *other = malloc(room);
    struct file_layout *layout;

    cr_assert_eq(layouts_get(look->layouts, entry->layout, &layout), 0);
    end = read_raw(rig, look, look->record.gen, &look->laying, own, room);
    (void) read_raw(rig, look, REPLICA_GEN | entry->number, &(struct placed_layout){ layout, entry->rotate }, other,
                    room);
    layouts_put(look->layouts, layout);
    end = MAX(look->record.size, end);
    memset(own + MIN(end, room), 0, room - MIN(end, room));
    for (uint64_t i = 0; i < room; i++)
        if (windows_has(&entry->right, i >> map->shift))
            cr_assert_eq(own[i], other[i], "%s: byte %" PRIu64 " of replica %" PRIu32 " is not right", when, i,
                         entry->number);
}

/* A cut that somebody has begun: if any byte of the file has gone by now, the bits have gone before. */
static void expect_cut(const struct rig *rig, const struct look *look, const char *when)
{
    cleanup(freep) uint8_t *own = malloc(BIG);
    uint64_t end = read_raw(rig, look, look->record.gen, &look->laying, own, BIG);
    struct replica_map map = { 0 };
    bool any = false;

    for (uint64_t i = look->record.size; i < end; i++)
        any |= own[i] != content(i);
    if ((end < rig->also_size || any) && read_map(look, &map) == 0)
        for (uint32_t i = 0; i < map.n; i++)
            cr_assert_leq(windows_end(&map.replica[i].right) << map.shift, look->record.size, "%s", when);
    replica_map_done(&map);
}

/* Checks that bits are true, as far as that can be told. */
static void expect_true(const struct rig *rig, const char *when)
{
    struct replica_map map = { 0 };
    struct look look;

    look_begin(rig, VOLUME_READ_ONLY, &look);
    if (look.record.state == RECORD_TRUNC)
        expect_cut(rig, &look, when);
    else if (read_map(&look, &map) == 0)
        for (uint32_t i = 0; i < map.n; i++)
            check_windows(rig, &look, &map, &map.replica[i], when);
    replica_map_done(&map);
    look_end(&look);
}

/* How many windows of a replica have bits, of both kinds; -1: the map has no such replica. */
static int count_bits(const struct rig *rig, uint32_t number)
{
    struct replica_map map = { 0 };
    struct look look;
    int n = -1;

    look_begin(rig, VOLUME_READ_ONLY, &look);
    (void) read_map(&look, &map);
    for (uint32_t i = 0; i < map.n; i++)
        if (map.replica[i].number == number)
            n = (int) (windows_count(&map.replica[i].right, WINDOWS_MAX) +
                       windows_count(&map.replica[i].safe, WINDOWS_MAX));
    replica_map_done(&map);
    look_end(&look);
    return n;
}

/* -- checking it -- */

static int rig_fsck(const struct rig *rig, struct check *check)
{
    struct volume *volume;
    int r = rig_open(rig, check->repair ? 0 : VOLUME_READ_ONLY, &volume);

    return r < 0 ? r : check_and_close(check, volume);
}

static char *print_disks(const struct rig *rig)
{
    return print_all(rig->sim, rig->n_disks + 1);
}

/* Looks, which must change nothing, and hears what is said first. */
static void look_on(const struct rig *rig, struct heard *heard)
{
    struct check check = { .tell = hear_unsound, .arg = heard };
    cleanup(freep) char *before = print_disks(rig), *after = NULL;

    heard->left[0] = 0;
    cr_assert_eq(rig_fsck(rig, &check), 0);
    after = print_disks(rig);
    cr_assert_str_eq(before, after, "fsck -n changes something");
}

static void expect_sound(const struct rig *rig, const char *when)
{
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear_unsound, .arg = &heard };

    look_on(rig, &heard);
    cr_assert(heard.left[0] == 0, "%s: fsck -n: %s", when, heard.left);
    cr_assert_eq(rig_fsck(rig, &check), 0);
    cr_assert(heard.left[0] == 0, "%s: fsck -y: %s", when, heard.left);
}

/* The mounted file has its bytes, and its size. */
static void expect_file(const struct rig *rig, const char *when)
{
    uint64_t room = MAX(rig->size, rig->also_size) + 10;
    cleanup(freep) uint8_t *bytes = calloc(1, room);
    struct inode *inode;
    struct file *file;
    struct fs *fs;
    struct stat st;
    uint64_t n;

    cr_assert_eq(rig_mount(rig, 0, "stripe(64)", &fs), 0);
    cr_assert_eq(tree_lookup(fs, inodes_root(fs->inodes), "f", &inode, &st), 0, "%s", when);
    cr_assert_eq(file_get(fs, inode, &file), 0);
    n = (uint64_t) file_read(fs, file, (char *) bytes, room, 0);
    cr_assert(n >= rig->size && n <= MAX(rig->size, rig->also_size), "%s: %" PRIu64 " bytes", when, n);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(bytes[i], content(i), "%s: byte %" PRIu64, when, i);
    file_put(fs, file);
    inode_unref(fs->inodes, inode);
    cr_assert_eq(fs_free(fs), 0);
}

/* Repairs; says what was heard at first, also of what is repaired. */
static void repair(const struct rig *rig, struct heard *heard, const char *when)
{
    struct check check = { .repair = true, .tell = hear_unsound, .arg = heard };

    heard->left[0] = 0;
    cr_assert_eq(rig_fsck(rig, &check), 0, "%s", when);
    cr_assert_eq(check.n_left, 0, "%s: is left: %s", when, heard->left);
    expect_true(rig, when);
}

static void expect_repaired(const struct rig *rig, const char *kind, const char *when)
{
    struct heard looked, heard;

    look_on(rig, &looked);
    repair(rig, &heard, when);
    cr_assert(strncmp(heard.left, kind, strlen(kind)) == 0, "%s: fsck tells '%s'", when, heard.left);
    cr_assert_str_eq(looked.left, heard.left, "%s: -n and -y tell something else", when);
    expect_sound(rig, when);
}

/* The file is as it was, and using it leaves nothing to be repaired. */
static void expect_use(const struct rig *rig, const char *when)
{
    expect_file(rig, when);
    expect_true(rig, when);
    expect_sound(rig, when);
}

/* The call to die at after this one: all of them, or some. */
static uint64_t next_call(uint64_t at)
{
    return at + (getenv("FALLSFS_FULL") != NULL ? 1 : 1 + at * 7 % 9);
}

/* Repairs a copy of the machine that dies at one call of that after another: whatever comes back, bits are true, and
 * the next run repairs the rest. */
static void repair_and_die(const struct rig *rig, const char *when)
{
    bool is_down = true;

    for (uint64_t at = 1; is_down; at = next_call(at)) {
        struct heard heard = { "" };
        struct check check = { .repair = true, .tell = hear, .arg = &heard };
        struct rng rng = rng_from_seed(at);
        struct rig again = *rig;
        char here[128];

        snprintf(here, sizeof here, "%s, dead at call %" PRIu64, when, at);
        again.sim = sim_clone(rig->sim);
        sim_crash_at(again.sim, again.sim->calls + at);
        (void) rig_fsck(&again, &check);
        is_down = again.sim->down;
        if (at % 3 == 0)
            sim_kill(again.sim);
        else
            sim_crash(again.sim, &rng);
        if (!rig->is_harmed)
            expect_true(&again, here);
        repair(&again, &heard, here);
        expect_sound(&again, here);
        expect_use(&again, here);
        cr_assert_eq(sim_n_open(again.sim), 0, "%s: descriptors are left open", here);
        rig_done(&again);
    }
}

/* -- who is needed -- */

Test(replicas, are_needed)
{
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", BIG);
    cr_assert_eq(rig_add(&rig, &in_columns), 0);
    cr_assert_eq(rig_add(&rig, &in_rows), 1);
    expect_true(&rig, "as made");
    expect_sound(&rig, "as made");
    cr_expect_eq(count_bits(&rig, 0), 3);
    cr_expect_eq(count_bits(&rig, 1), 3);
    expect_file(&rig, "as made");
    expect_sound(&rig, "after a mount");
    rig_done(&rig);
}

/* Texts of replicas' layouts stay when those are removed that nobody needs, in a mount and by fsck. */
Test(replicas, texts_are_needed)
{
    struct volume_error error;
    struct rig rig;
    struct fs *fs;
    uint64_t n = 99;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    cr_assert_eq(rig_mount(&rig, 0, "stripe(64)", &fs), 0);
    cr_assert_eq(texts_prune(fs, &n, &error), 0, "%s", error.why);
    cr_expect_eq(n, 0, "the text of a replica was removed");
    cr_assert_eq(fs_free(fs), 0);
    expect_sound(&rig, "after the pruning");
    cr_expect_eq(count_bits(&rig, 0), 1);
    rig_done(&rig);
}

/* A replica whose layout no disk has any more is dropped. */
Test(replicas, a_text_that_is_lost)
{
    struct rig rig;
    struct look look;
    char path[LAYOUT_PATH], full[LAYOUT_PATH + 16];
    struct replica_map map;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    (void) rig_add(&rig, &in_rows);
    look_begin(&rig, VOLUME_READ_ONLY, &look);
    cr_assert_eq(read_map(&look, &map), 0);
    layouts_text_path(map.replica[0].layout, path);
    replica_map_done(&map);
    look_end(&look);
    snprintf(full, sizeof full, ".fallsfs/%s", path);
    for (unsigned i = 0; i < rig.n_disks; i++)
        cr_assert_eq(sim_delete(sim_disk(rig.sim, i), full), 0);
    expect_repaired(&rig, "replica", "a text is lost");
    cr_expect_eq(count_bits(&rig, 0), -1);
    cr_expect_eq(count_bits(&rig, 1), 1);
    expect_use(&rig, "a text is lost");
    rig_done(&rig);
}

struct stray_case {
    char what[16]; /* behind the id */
    unsigned disk;
    bool may_go; /* a crash may have left it; else somebody has put it there */
};

ParameterizedTestParameters(replicas, strays)
{
    static struct stray_case rows[] = {
        { "r7.0", 1, true },     { "r1.h", 0, true },  { "r", 1, true },     { "r", 2, true },     { "r.new", 0, true },
        { "r0.0.new", 1, true }, { "r0.1", 0, false }, { "r0.9", 1, false }, { "r0.h", 0, false },
    };

    return cr_make_param_array(struct stray_case, rows, ARRAY_SIZE(rows));
}

/* What no map lists goes to lost/, or is removed where that is asked for; what is listed stays. */
ParameterizedTest(struct stray_case *row, replicas, strays)
{
    for (int frees = 0; frees < 2; frees++) {
        struct heard heard = { "" };
        struct check check = { .repair = true, .free_orphans = frees, .tell = hear_unsound, .arg = &heard };
        cleanup(freep) char *left = NULL;
        char name[96], path[128];
        struct rig rig;
        size_t len;

        rig_make(&rig, 3, "stripe(64) on d0-d2", SMALL);
        (void) rig_add(&rig, &in_columns);
        name_object(&rig, row->what, name, sizeof name);
        snprintf(path, sizeof path, ".fallsfs/obj/00/%s", name);
        cr_assert_eq(sim_poke(sim_disk(rig.sim, row->disk), path, 0, "stray", 5), 0);
        cr_assert_eq(rig_fsck(&rig, &check), 0);
        cr_expect(strncmp(heard.left, "orphan", 6) == 0 && check.n_fixed == 1, "%s: %s", row->what, heard.left);
        snprintf(path, sizeof path, ".fallsfs/lost/%s", name);
        left = sim_peek(sim_disk(rig.sim, row->disk), path, &len);
        cr_expect((left == NULL) == (frees && row->may_go), "%s: %s", row->what, heard.left);
        expect_sound(&rig, row->what);
        cr_expect_eq(count_bits(&rig, 0), 1);
        rig_done(&rig);
    }
}

/* Of a file that is gone, all goes: its map and its replicas as its other objects. */
Test(replicas, of_no_file)
{
    struct heard heard = { "" };
    struct check check = { .repair = true, .free_orphans = true, .tell = hear_unsound, .arg = &heard };
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    for (unsigned i = 0; i < 3; i++) { /* without a copy of its record nobody would miss its name */
        char name[96], path[128];

        name_object(&rig, "m", name, sizeof name);
        snprintf(path, sizeof path, ".fallsfs/obj/00/%s", name);
        (void) sim_delete(sim_disk(rig.sim, i), path);
    }
    cr_assert_eq(sim_delete(sim_disk(rig.sim, 0), ".fallsfs/ns/f"), 0);
    cr_assert_eq(rig_fsck(&rig, &check), 0);
    cr_expect_eq(check.n_fixed, 3 + 3 + 1, "%s", heard.left);
    cr_expect_eq(check.n_left, 0);
    cr_assert_eq(rig_fsck(&rig, &check), 0);
    cr_expect_eq(check.n_fixed + check.n_left, 0);
    rig_done(&rig);
}

/* Removed with its last name, a file takes its replicas along, also when that comes after a crash. */
Test(replicas, of_a_file_that_was_being_removed)
{
    struct rig rig;
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear_unsound, .arg = &heard };
    char id[96];
    struct look look;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    name_object(&rig, "", id, sizeof id);
    id[2 * ID_SIZE] = 0;
    look_begin(&rig, 0, &look);
    cr_assert_eq(disk_call(volume_home(look.volume), rename, look.volume->ns, "f", look.volume->todo, id, 0), 0);
    look_end(&look);
    cr_assert_eq(rig_fsck(&rig, &check), 0);
    cr_expect(strncmp(heard.left, "todo", 4) == 0 && check.n_fixed == 1 && check.n_left == 0, "%s", heard.left);
    cr_assert_eq(rig_fsck(&rig, &check), 0);
    cr_expect_eq(check.n_fixed + check.n_left + check.n_objects, 0, "%" PRIu64 " objects are left", check.n_objects);
    rig_done(&rig);
}

/* -- what replicas lack -- */

struct lacking_case {
    char what[16];
    bool cut;
    int bits; /* of the replica, afterwards */
};

ParameterizedTestParameters(replicas, lack_bytes)
{
    static struct lacking_case rows[] = {
        { "r0.0", false, 0 }, { "r0.1", false, 0 }, { "r0.2", true, 0 }, { "r1.0", false, 0 }, { "r1.0", true, 0 },
    };

    return cr_make_param_array(struct lacking_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct lacking_case *row, replicas, lack_bytes)
{
    struct rig rig;
    uint32_t number = (uint32_t) (row->what[1] - '0');

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    (void) rig_add(&rig, &in_rows);
    harm(&rig, row->what, row->cut);
    repair_and_die(&rig, row->what);
    expect_repaired(&rig, "replica", row->what);
    cr_expect_eq(count_bits(&rig, number), row->bits);
    cr_expect_eq(count_bits(&rig, 1 - number), 1, "the other replica keeps its bits");
    expect_use(&rig, row->what);
    rig_done(&rig);
}

/* Windows before the bytes that are lacking keep their bits. */
Test(replicas, lack_the_last_windows)
{
    struct rig rig;
    char name[96], path[128];

    rig_make(&rig, 3, "stripe(64)", BIG);
    (void) rig_add(&rig, &in_rows);
    name_object(&rig, "r0.0", name, sizeof name);
    (void) find_object(&rig, name, path, sizeof path);
    cr_assert_eq(sim_cut(sim_disk(rig.sim, 2), path, (UINT64_C(1) << 20) + 5), 0);
    expect_repaired(&rig, "replica", "a replica is short");
    cr_expect_eq(count_bits(&rig, 0), 1);
    expect_use(&rig, "a replica is short");
    rig_done(&rig);
}

/* -- maps that are damaged -- */

static void flip_map(const struct rig *rig, unsigned disk, uint64_t bit)
{
    char name[96], path[128];

    name_object(rig, "r", name, sizeof name);
    snprintf(path, sizeof path, ".fallsfs/obj/00/%s", name);
    cr_assert_eq(sim_flip(sim_disk(rig->sim, disk), path, bit), 0);
}

/* Any bit of a map may be the other way: the file is whole, and what is believed of its replicas is true. */
Test(replicas, a_flipped_bit_of_a_map)
{
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    (void) rig_add(&rig, &in_rows);
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        uint64_t bit = rng_below(&rng, rng_chance(&rng, 50) ? 1600 : UINT64_C(8) * 3 * REPLICA_MAP_BLOCK);
        struct rig again = rig;
        struct heard heard;
        char when[64];

        snprintf(when, sizeof when, "bit %" PRIu64, bit);
        again.sim = sim_clone(rig.sim);
        flip_map(&again, 0, bit);
        look_on(&again, &heard);
        cr_assert((heard.left[0] != 0) == (bit < UINT64_C(8) * REPLICA_MAP_BLOCK), "%s: fsck -n: %s", when, heard.left);
        repair(&again, &heard, when);
        expect_sound(&again, when);
        expect_file(&again, when);
        rig_done(&again);
    }
    rig_done(&rig);
}

Test(replicas, a_damaged_map_and_crashes)
{
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    flip_map(&rig, 0, 77);
    repair_and_die(&rig, "a damaged map");
    expect_repaired(&rig, "map", "a damaged map");
    expect_use(&rig, "a damaged map");
    rig_done(&rig);
}

/* -- what changes how long the file is -- */

static void set_record(const struct rig *rig, void (*set)(struct record *record, uint64_t value), uint64_t value)
{
    struct look look;

    look_begin(rig, 0, &look);
    set(&look.record, value);
    cr_assert_eq(stub_write_record(look.volume, look.volume->ns, "f", &look.record, XATTR_REPLACE), 0);
    look_end(&look);
}

static void begin_cut(struct record *record, uint64_t size)
{
    record->state = RECORD_TRUNC;
    record->size = record->durable_size = size;
}

struct cut_case {
    uint64_t from, to;
    int bits;
};

ParameterizedTestParameters(replicas, a_cut_to_be_finished)
{
    static struct cut_case rows[] = {
        { SMALL, 700, 0 }, { SMALL, 0, 0 }, { BIG, 1 << 20, 1 }, { BIG, (1 << 20) + 1, 1 }, { BIG, 99, 0 },
    };

    return cr_make_param_array(struct cut_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct cut_case *row, replicas, a_cut_to_be_finished)
{
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", row->from);
    (void) rig_add(&rig, &in_columns);
    (void) rig_add(&rig, &in_rows);
    set_record(&rig, begin_cut, row->to);
    rig.size = row->to;
    rig.also_size = row->from;
    if (row->from == SMALL)
        repair_and_die(&rig, "a truncation");
    rig.also_size = 0;
    expect_repaired(&rig, "cut", "a truncation");
    cr_expect_eq(count_bits(&rig, 0), row->bits);
    cr_expect_eq(count_bits(&rig, 1), row->bits);
    expect_use(&rig, "a truncation");
    rig_done(&rig);
}

/* A file whose settled record says less than its subfiles have is cut, and so are its replicas. */
static void cut_short(struct record *record, uint64_t size)
{
    record->size = record->durable_size = size;
}

Test(replicas, a_file_that_is_too_long)
{
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    set_record(&rig, cut_short, 900);
    rig.size = 900;
    rig.also_size = SMALL; /* after a crash lengths count */
    repair_and_die(&rig, "too long");
    rig.also_size = 0;
    expect_repaired(&rig, "long", "too long");
    cr_expect_eq(count_bits(&rig, 0), 0);
    expect_use(&rig, "too long");
    rig_done(&rig);
}

/* Writes behind the end of the file without a sync, and dies. */
static void extend_and_die(struct rig *rig)
{
    struct inode *inode;
    struct file *file;
    struct fs *fs;
    struct stat st;
    uint8_t bytes[200];

    for (uint64_t i = 0; i < sizeof bytes; i++)
        bytes[i] = content(rig->size + i);
    cr_assert_eq(rig_mount(rig, 0, "stripe(64)", &fs), 0);
    cr_assert_eq(tree_lookup(fs, inodes_root(fs->inodes), "f", &inode, &st), 0);
    cr_assert_eq(file_get(fs, inode, &file), 0);
    cr_assert_eq(file_write(fs, file, (const char *) bytes, sizeof bytes, rig->size), (ssize_t) sizeof bytes);
    file_put(fs, file);
    inode_unref(fs->inodes, inode);
    sim_crash_at(rig->sim, rig->sim->calls + 1);
    (void) fs_free(fs);
    sim_kill(rig->sim);
    rig->size += sizeof bytes;
}

/* fsck promises the size that it sees after a crash: the window that the file ended in is another one then. Whoever
 * wrote to the file should have cleared its bit; it is not left to that. */
Test(replicas, a_size_that_is_settled)
{
    struct heard heard;
    struct rig rig;

    rig_make(&rig, 3, "stripe(64)", SMALL);
    (void) rig_add(&rig, &in_columns);
    extend_and_die(&rig);
    repair(&rig, &heard, "settled");
    cr_expect_eq(count_bits(&rig, 0), 0);
    expect_sound(&rig, "settled");
    expect_file(&rig, "settled");
    rig_done(&rig);
}

/* -- the second copy -- */

/* Skips a test where layouts cannot ask for copies yet. */
static void want_copies(void)
{
    static const char text[] = "one copies 2";
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    if (layout_parse(text, strlen(text), 1, &layout, &error) < 0)
        cr_skip_test("no layout has copies: %s", error.why);
}

struct copied_case {
    char layout[48];
    uint32_t n_slots;
};

static struct copied_case copied[] = {
    { "stripe(64) on d0-d2 copies 2", 3 },        { "stripe(128) disp 100 on d0-d2 copies 2", 4 },
    { "var(10,200,30) on d1,d0,d2 copies 2", 3 }, { "one on d0,d1 copies 2", 1 },
    { "stripe(7,2) on d0-d2 copies 2", 2 },
};

#define OF_FILE UINT32_MAX

/* The name of a subfile behind the id, of the file or of a replica; the fourth slot is the header. */
static const char *slot_name(uint32_t replica, uint32_t slot, char ret_what[static 32])
{
    int n = replica == OF_FILE ? snprintf(ret_what, 32, "0.") : snprintf(ret_what, 32, "r%" PRIu32 ".", replica);

    if (slot == 3)
        snprintf(ret_what + n, 32 - (size_t) n, "h");
    else
        snprintf(ret_what + n, 32 - (size_t) n, "%" PRIu32, slot);
    return ret_what;
}

ParameterizedTestParameters(replicas, give_back)
{
    return cr_make_param_array(struct copied_case, copied, ARRAY_SIZE(copied));
}

/* Each subfile that is missing or short comes back from the second copy, whatever interrupts that. */
ParameterizedTest(struct copied_case *row, replicas, give_back)
{
    want_copies();
    for (uint32_t i = 0; i < 2 * row->n_slots; i++) {
        bool cut = i >= row->n_slots && i % row->n_slots != 3;
        uint32_t copy, rows;
        struct rig rig;
        char what[32];

        rig_make(&rig, 3, row->layout, SMALL);
        copy = rig_add(&rig, &second_copy);
        rows = rig_add(&rig, &in_rows);
        expect_sound(&rig, row->layout);
        harm(&rig, slot_name(OF_FILE, i % row->n_slots, what), cut);
        repair_and_die(&rig, row->layout);
        expect_repaired(&rig, cut ? "short" : "missing", row->layout);
        cr_expect_eq(count_bits(&rig, copy), 2, "%s", row->layout);
        cr_expect_eq(count_bits(&rig, rows), 1, "%s", row->layout);
        expect_use(&rig, row->layout);
        rig_done(&rig);
    }
}

/* What the copy lacks is filled again, its maps are two. */
ParameterizedTestParameters(replicas, copies_lack_bytes)
{
    return cr_make_param_array(struct copied_case, copied, ARRAY_SIZE(copied));
}

ParameterizedTest(struct copied_case *row, replicas, copies_lack_bytes)
{
    want_copies();
    for (uint32_t slot = 0; slot < row->n_slots; slot++) {
        uint32_t copy;
        struct rig rig;
        char what[32];

        rig_make(&rig, 3, row->layout, SMALL);
        copy = rig_add(&rig, &second_copy);
        harm(&rig, slot_name(copy, slot, what), false);
        repair_and_die(&rig, row->layout);
        expect_repaired(&rig, "replica", row->layout);
        cr_expect_eq(count_bits(&rig, copy), 0, "%s", row->layout);
        expect_use(&rig, row->layout);
        rig_done(&rig);
    }
}

/* The disk of one of the two maps. */
static unsigned place_of(const struct rig *rig, bool second)
{
    struct look look;
    unsigned index;

    look_begin(rig, VOLUME_READ_ONLY, &look);
    cr_assert_not_null(look.places.second);
    index = second ? look.places.second->index : look.places.first->index;
    look_end(&look);
    return index;
}

Test(replicas, one_of_two_maps)
{
    want_copies();
    for (int i = 0; i < 4; i++) {
        uint32_t copy;
        struct rig rig;

        rig_make(&rig, 3, "stripe(64) on d0-d2 copies 2", SMALL);
        copy = rig_add(&rig, &second_copy);
        if (i < 2)
            flip_map(&rig, place_of(&rig, i == 1), 50);
        if (i == 2) {
            char name[96], path[128];

            name_object(&rig, "r", name, sizeof name);
            snprintf(path, sizeof path, ".fallsfs/obj/00/%s", name);
            cr_assert_eq(sim_delete(sim_disk(rig.sim, 0), path), 0);
        }
        if (i == 3) {
            flip_map(&rig, place_of(&rig, false), 50);
            flip_map(&rig, place_of(&rig, true), 50);
        }
        repair_and_die(&rig, "maps");
        expect_repaired(&rig, "map", "maps");
        cr_expect_eq(count_bits(&rig, copy), i == 3 ? -1 : 1, "case %d: what is safe is safe", i);
        expect_use(&rig, "maps");
        rig_done(&rig);
    }
}

/* Reads the file up to the first byte that cannot be read. */
static uint64_t readable(const struct rig *rig)
{
    uint64_t off = 0, step = 1000;
    struct inode *inode;
    struct file *file;
    struct fs *fs;
    struct stat st;
    char bytes[1000];

    cr_assert_eq(rig_mount(rig, VOLUME_READ_ONLY, "stripe(64)", &fs), 0);
    cr_assert_eq(tree_lookup(fs, inodes_root(fs->inodes), "f", &inode, &st), 0);
    cr_assert_eq(file_get(fs, inode, &file), 0);
    while (off < rig->size && file_read(fs, file, bytes, MIN(step, rig->size - off), off) > 0) {
        for (uint64_t i = 0; i < MIN(step, rig->size - off); i++)
            cr_assert_eq((uint8_t) bytes[i], content(off + i));
        off += MIN(step, rig->size - off);
    }
    file_put(fs, file);
    inode_unref(fs->inodes, inode);
    cr_assert_eq(fs_free(fs), 0);
    return off;
}

struct partly_case {
    uint64_t right_end, safe_from;
    uint64_t n_windows; /* that come back */
};

ParameterizedTestParameters(replicas, give_back_a_part)
{
    static struct partly_case rows[] = {
        { 0, 0, 3 }, { 100, 100, 3 }, { 1, 1, 3 }, { 1, 2, 1 }, { 2, 100, 2 }, { 0, 1, 0 }, { 0, 100, 0 },
    };

    return cr_make_param_array(struct partly_case, rows, ARRAY_SIZE(rows));
}

/* Windows that are neither right nor safe are lost, with all behind them in the same subfile: no zeros. */
ParameterizedTest(struct partly_case *row, replicas, give_back_a_part)
{
    const struct adding adding = { REPLICA_UPDATE | REPLICA_COPY, NULL, row->right_end, row->safe_from };
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear, .arg = &heard };
    struct rig rig;

    want_copies();
    rig_make(&rig, 3, "stripe(64K) on d0-d2 copies 2", BIG);
    (void) rig_add(&rig, &adding);
    harm(&rig, "0.1", false);
    for (int i = 0; i < 2; i++) {
        heard.left[0] = 0;
        cr_assert_eq(rig_fsck(&rig, &check), 0);
        cr_expect_eq(check.n_left, row->n_windows < 3, "%s", heard.left);
        cr_expect_eq(check.n_fixed, i == 0 && row->n_windows > 0);
        if (row->n_windows < 3)
            cr_expect(strncmp(heard.left, row->n_windows > 0 ? "short" : "missing", 5) == 0, "%s", heard.left);
    }
    if (row->n_windows == 3)
        expect_file(&rig, "all came back");
    else if (row->n_windows > 0)
        cr_expect_leq((row->n_windows << 20) - 1000, readable(&rig));
    rig_done(&rig);
}

/* Where both have lost something, what the copy still has is not given up: its bits stay. */
Test(replicas, both_have_lost_something)
{
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear, .arg = &heard };
    struct rig rig;
    char what[32];
    uint32_t copy;

    want_copies();
    rig_make(&rig, 3, "stripe(64) on d0-d2 copies 2", SMALL);
    copy = rig_add(&rig, &second_copy);
    harm(&rig, slot_name(OF_FILE, 1, what), false);
    harm(&rig, slot_name(copy, 1, what), false);
    harm(&rig, slot_name(copy, 2, what), true);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rig_fsck(&rig, &check), 0);
        cr_expect_eq(check.n_left, 3, "%s", heard.left);
        cr_expect_eq(check.n_fixed, 0);
    }
    cr_expect_eq(count_bits(&rig, copy), 2);
    rig_done(&rig);
}

/* Removes all objects that a disk has. */
static void lose_objects(struct rig *rig, uint32_t index)
{
    const struct disk *disk;
    struct walk_entry entry;
    struct walk *walk = NULL;
    struct look look;
    int fd;

    look_begin(rig, 0, &look);
    disk = &look.volume->disk[index];
    fd = disk_call(disk, open, disk->root, "obj/00", O_RDONLY | O_DIRECTORY, 0);
    cr_assert_eq(walk_new(disk, fd, &walk), 0);
    while (walk_next(walk, &entry) > 0)
        cr_assert_eq(disk_call(disk, unlink, entry.dir, entry.name, 0), 0, "%s", entry.name);
    walk_free(walk);
    disk_close(disk, &fd);
    look_end(&look);
    rig->is_harmed = true;
}

struct disk_case {
    char layout[48];
    uint32_t disk;
};

ParameterizedTestParameters(replicas, a_disk_without_objects)
{
    static struct disk_case rows[ARRAY_SIZE(copied) * 3];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        memcpy(rows[i].layout, copied[i / 3].layout, sizeof rows[i].layout);
        rows[i].disk = (uint32_t) (i % 3);
    }
    return cr_make_param_array(struct disk_case, rows, ARRAY_SIZE(rows));
}

/* Any one disk may lose all its objects, with maps and copies of records: files with two copies are whole again. */
ParameterizedTest(struct disk_case *row, replicas, a_disk_without_objects)
{
    struct heard heard;
    struct rig rig;

    want_copies();
    rig_make(&rig, 3, row->layout, SMALL);
    (void) rig_add(&rig, &second_copy);
    lose_objects(&rig, row->disk);
    repair_and_die(&rig, row->layout);
    repair(&rig, &heard, row->layout);
    expect_sound(&rig, row->layout);
    expect_use(&rig, row->layout);
    rig_done(&rig);
}

/* -- the home disk is lost -- */

/* fsck.fallsfs --home-lost -y, as main.c does it, also after it was interrupted. */
static int home_lost(struct rig *rig, struct check *check, struct volume_error *ret_error)
{
    struct member member[SIM_FSCK_DISKS] = { 0 };
    struct volume *volume = NULL;
    uint64_t fixed = 0, left = 0;
    bool is_rebuilt;
    int r;

    rig->list[0] = rig->n_disks; /* the spare disk */
    open_members(rig->sim, rig->list, rig->n_disks, member);
    r = rebuild_home(member, rig->n_disks, ret_error);
    is_rebuilt = r == -EINVAL && strstr(ret_error->why, "not lost") != NULL;
    if (r == 0 || is_rebuilt)
        r = stamps_check(check, member, rig->n_disks, ret_error);
    if (r == 0)
        r = volume_open(member, rig->n_disks, 0, &volume, ret_error);
    close_members(member, rig->n_disks);
    if (r == 0 && !is_rebuilt) {
        r = rebuild_names(check, volume);
        fixed = check->n_fixed;
        left = check->n_left;
    }
    if (r == 0)
        r = check_and_close(check, steal(volume));
    volume_free(volume);
    check->n_fixed += fixed;
    check->n_left += left;
    return r;
}

static void lose_home(const struct rig *rig, uint64_t at, bool *ret_down, const char *layout)
{
    struct heard heard = { "" };
    struct check check = { .repair = true, .tell = hear, .arg = &heard };
    struct rng rng = rng_from_seed(at);
    struct volume_error error = { "" };
    struct rig again = *rig;
    char when[128];

    snprintf(when, sizeof when, "%s, dead at call %" PRIu64, layout, at);
    again.sim = sim_clone(rig->sim);
    sim_disk_absent(sim_disk(again.sim, 0), true);
    sim_crash_at(again.sim, again.sim->calls + at);
    (void) home_lost(&again, &check, &error);
    check.n_fixed = check.n_left = 0;
    *ret_down = again.sim->down;
    if (at % 3 == 0)
        sim_kill(again.sim);
    else
        sim_crash(again.sim, &rng);
    heard.left[0] = 0;
    cr_assert_eq(home_lost(&again, &check, &error), 0, "%s: %s", when, error.why);
    cr_assert_eq(check.n_left, 0, "%s: %s", when, heard.left);
    expect_true(&again, when);
    expect_sound(&again, when);
    expect_use(&again, when);
    cr_assert_eq(sim_n_open(again.sim), 0, "%s: descriptors are left open", when);
    rig_done(&again);
}

/* Whether all bytes of the file lie on the home disk. */
static bool lies_at_home(const struct rig *rig)
{
    struct look look;
    bool all = true;

    look_begin(rig, VOLUME_READ_ONLY, &look);
    for (uint32_t slot = 0; slot < file_layout_slots(look.layout); slot++)
        all &= file_layout_disk(look.layout, look.volume->home, look.record.rotate, slot) == look.volume->home;
    look_end(&look);
    return all;
}

ParameterizedTestParameters(replicas, bring_the_home_disk_back)
{
    return cr_make_param_array(struct copied_case, copied, ARRAY_SIZE(copied));
}

/* Without the home disk a file with two copies is whole again, wherever it started, whatever interrupts that. */
ParameterizedTest(struct copied_case *row, replicas, bring_the_home_disk_back)
{
    bool at_home = false;

    want_copies();
    for (uint64_t seed = 1; seed <= 4; seed++) {
        bool is_down = true;
        struct rig rig;

        rig_make_so(&rig, &(struct lying){ 3, row->layout, SMALL, seed });
        (void) rig_add(&rig, &second_copy);
        at_home |= lies_at_home(&rig);
        for (uint64_t at = seed; is_down; at = next_call(at))
            lose_home(&rig, at, &is_down, row->layout);
        rig_done(&rig);
    }
    cr_expect(row->n_slots > 1 || at_home, "no file lay on the home disk alone");
}
