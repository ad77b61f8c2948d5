/* SPDX-License-Identifier: MIT */
/* What a newer fallsfs made: it is neither used nor taken for damage, and fsck leaves it alone. */
#include "fs/core/file/file.h"
#include "fs/core/stub/copy.h"
#include "fs/core/tree/tree.h"
#include "fs/fsck/check.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const struct cred cred = { .umask = 022 };

/* -- a volume with two files -- */

static void make_file(struct world *world, const char *name)
{
    char bytes[300];
    struct inode *inode;
    struct file *file;
    struct stat st;

    memset(bytes, name[0], sizeof bytes);
    cr_assert_eq(tree_create(world->fs, inodes_root(world->fs->inodes), name, 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(world->fs, file, bytes, sizeof bytes, 0), (ssize_t) sizeof bytes);
    cr_assert_eq(file_sync(world->fs, file, false), 0);
    file_put(world->fs, file);
    inode_unref(world->fs->inodes, inode);
}

static void make(struct world *world)
{
    cr_assert_eq(world_init(world, 2, "stripe(64)", 0, 1), 0);
    cr_assert_eq(world_mount(world), 0);
    make_file(world, "f");
    make_file(world, "g");
    world_unmount(world);
}

static void access_record(struct world *world, const char *path, uint8_t bytes[RECORD_MAX], size_t *len, bool store)
{
    struct sim_disk *disk = sim_disk(world->sim, 0);
    int root = sim_root(disk);
    ssize_t n = (ssize_t) *len;

    if (store)
        cr_assert_eq(sim_ops.set_xattr(disk, root, path, RECORD_XATTR, bytes, *len, 0), 0);
    else
        n = sim_ops.get_xattr(disk, root, path, RECORD_XATTR, bytes, RECORD_MAX);
    cr_assert(n > 0);
    *len = (size_t) n;
    (void) sim_ops.close(disk, root);
}

/* Makes a record as the next version might: longer by so many bytes. Returns its length. */
static size_t make_newer(uint8_t bytes[RECORD_MAX], size_t longer)
{
    size_t len = RECORD_SIZE + longer;
    uint64_t sum;

    memset(bytes + RECORD_SIZE - 8, 0xa5, longer);
    bytes[8] = RECORD_VERSION + 1;
    sum = XXH3_64bits(bytes, len - 8);
    for (int i = 0; i < 8; i++)
        bytes[len - 8 + (size_t) i] = (uint8_t) (sum >> 8 * i);
    return len;
}

static void make_stub_newer(struct world *world, size_t longer)
{
    uint8_t bytes[RECORD_MAX];
    size_t len = 0;

    access_record(world, ".fallsfs/ns/f", bytes, &len, false);
    len = make_newer(bytes, longer);
    access_record(world, ".fallsfs/ns/f", bytes, &len, true);
}

/* -- the check -- */

struct heard {
    char text[2048];
};

static void hear(void *arg, const struct finding *finding)
{
    struct heard *heard = arg;
    size_t len = strlen(heard->text);

    snprintf(heard->text + len, sizeof heard->text - len, "%s %s: %s: %s\n",
             finding->fate == FINDING_LEFT ? "left" : "fixed", finding->kind,
             finding->path != NULL ? finding->path : "", finding->what);
}

static void run_fsck(struct world *world, struct heard *heard)
{
    struct check check = { .repair = true, .copies = true, .tell = hear, .arg = heard };
    struct volume_error error;
    struct volume *volume;
    struct member member[2];

    heard->text[0] = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct sim_disk *disk = sim_disk(world->sim, i);

        member[i] =
            (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = i == 0 ? "d0" : "d1" };
    }
    cr_assert_eq(volume_open(member, 2, 0, &volume, &error), 0, "%s", error.why);
    cr_assert_eq(check_volume(&check, volume), 0);
    volume_free(volume);
    for (unsigned i = 0; i < 2; i++)
        (void) sim_ops.close(member[i].ctx, member[i].dir);
}

/* Prints all objects, and what lies in lost directories: not the stamps, nor todo/. */
static char *print_all(struct world *world)
{
    cleanup(freep) char *text = NULL;
    char *kept = calloc(1, 1 << 16), *rest, *line;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (unsigned i = 0; i < 2; i++)
        sim_print(sim_disk(world->sim, i), out);
    fclose(out);
    for (rest = text; (line = strsep(&rest, "\n")) != NULL;)
        if (strstr(line, ".fallsfs/obj/") != NULL || strstr(line, "lost") != NULL)
            strcat(strcat(kept, line), "\n");
    return kept;
}

/* -- stubs -- */

ParameterizedTestParameters(newer, stub)
{
    static size_t longer[] = { 0, 64, 3000 };

    return cr_make_param_array(size_t, longer, ARRAY_SIZE(longer));
}

ParameterizedTest(size_t *longer, newer, stub)
{
    static struct world world;
    struct heard heard;
    struct inode *inode, *root;
    uint8_t before[RECORD_MAX], after[RECORD_MAX];
    size_t len = 0, len_after = 0;
    cleanup(freep) char *objects = NULL, *objects_after = NULL;
    struct stat st;

    make(&world);
    make_stub_newer(&world, *longer);
    objects = print_all(&world);
    access_record(&world, ".fallsfs/ns/f", before, &len, false);

    cr_assert_eq(world_mount(&world), 0);
    root = inodes_root(world.fs->inodes);
    cr_expect_eq(tree_lookup(world.fs, root, "f", &inode, &st), -EPROTONOSUPPORT);
    cr_expect_eq(tree_unlink(world.fs, root, "f"), -EPROTONOSUPPORT);
    cr_expect_eq(tree_rename(world.fs, root, "g", root, "f", 0), -EPROTONOSUPPORT);
    cr_assert_eq(tree_lookup(world.fs, root, "g", &inode, &st), 0);
    cr_expect_eq(st.st_size, 300);
    inode_unref(world.fs->inodes, inode);
    world_unmount(&world);

    run_fsck(&world, &heard);
    cr_expect_not_null(strstr(heard.text, "left unreadable: f: cannot read its record: made by a newer fallsfs"), "%s",
                       heard.text);
    objects_after = print_all(&world);
    cr_expect_str_eq(objects, objects_after);
    access_record(&world, ".fallsfs/ns/f", after, &len_after, false);
    cr_expect(len == len_after && memcmp(before, after, len) == 0);
    world_done(&world);
}

/* A record whose sum does not fit is damaged, whatever version it shows. */
Test(newer, damaged_stub)
{
    static struct world world;
    struct inode *inode;
    struct stat st;

    make(&world);
    make_stub_newer(&world, 0);
    cr_assert_eq(sim_flip_xattr(sim_disk(world.sim, 0), ".fallsfs/ns/f", RECORD_XATTR, 1000), 0);
    cr_assert_eq(world_mount(&world), 0);
    cr_expect_eq(tree_lookup(world.fs, inodes_root(world.fs->inodes), "f", &inode, &st), 0);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* A removed file with a newer record stays: the newer fallsfs knows what to do with it. */
Test(newer, stub_in_todo)
{
    static struct world world;
    struct sim_disk *disk;
    cleanup(freep) char *objects = NULL, *objects_after = NULL;
    uint8_t bytes[RECORD_MAX];
    struct heard heard;
    size_t len = 0;
    char name[64] = ".fallsfs/todo/";
    int root;

    make(&world);
    access_record(&world, ".fallsfs/ns/f", bytes, &len, false);
    hex_print(bytes + 16, ID_SIZE, name + strlen(name));
    make_stub_newer(&world, 64);
    disk = sim_disk(world.sim, 0);
    root = sim_root(disk);
    cr_assert_eq(sim_ops.rename(disk, root, ".fallsfs/ns/f", root, name, 0), 0);
    (void) sim_ops.close(disk, root);
    objects = print_all(&world);
    run_fsck(&world, &heard);
    cr_expect_not_null(strstr(heard.text, "made by a newer fallsfs"), "%s", heard.text);
    cr_assert_eq(world_mount(&world), 0);
    world_unmount(&world);
    objects_after = print_all(&world);
    cr_expect_str_eq(objects, objects_after);
    access_record(&world, name, bytes, &len, false);
    world_done(&world);
}

/* -- copies -- */

/* A newer copy may know more of the file than an older one: it is not changed, and no older one is taken in its
 * stead. */
Test(newer, copy)
{
    static struct world world;
    struct heard heard;
    cleanup(freep) char *objects = NULL, *objects_after = NULL, *copy = NULL;
    uint8_t bytes[RECORD_MAX];
    char path[64], line[64];
    size_t len = 0;

    make(&world);
    access_record(&world, ".fallsfs/ns/f", bytes, &len, false);
    memcpy(path, ".fallsfs/obj/00/", 17);
    hex_print(bytes + 16, ID_SIZE, path + 16);
    strcat(path, ".m");
    copy = sim_peek(sim_disk(world.sim, 1), path, &len);
    cr_assert_not_null(copy);
    (void) make_newer((uint8_t *) copy, 0);
    snprintf(line, sizeof line, "%016" PRIx64 "\n", (uint64_t) XXH3_64bits(copy, len - 18));
    memcpy(copy + len - 17, line, 17);
    cr_assert_eq(sim_poke(sim_disk(world.sim, 1), path, 0, copy, len), 0);
    cr_assert_eq(copy_decode(copy, len, &(struct copy){ 0 }), -EPROTONOSUPPORT);
    objects = print_all(&world);

    run_fsck(&world, &heard);
    cr_expect_not_null(strstr(heard.text, "cannot write a copy of its record: made by a newer fallsfs"), "%s",
                       heard.text);
    for (uint64_t bit = 1000; bit < 1003; bit++) /* a single flipped bit would be repaired */
        cr_assert_eq(sim_flip_xattr(sim_disk(world.sim, 0), ".fallsfs/ns/f", RECORD_XATTR, bit), 0);
    run_fsck(&world, &heard);
    cr_expect_not_null(
        strstr(heard.text, "left record: f: its record is damaged, and there are copies made by a newer"), "%s",
        heard.text);
    objects_after = print_all(&world);
    cr_expect_str_eq(objects, objects_after);
    world_done(&world);
}
