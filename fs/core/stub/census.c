/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/census.h"

#include "fs/core/disk/walk.h"
#include "fs/core/stub/stub.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* -- stubs -- */

static int fail(struct volume_error *error, int r, const char *dir, const char *path)
{
    const char *slash = path[0] != 0 ? "/" : "";

    if (r == -ENOMEM)
        return volume_fail(error, r, "out of memory");
    if (r == -EUCLEAN)
        return volume_fail(error, r,
                           "the record of %s%s%s is damaged, nobody knows what it needs: repair it with fsck.fallsfs "
                           "-y, or remove the file",
                           dir, slash, path);
    return volume_fail(error, r, "cannot read %s%s%s, nobody knows what is needed there: %s", dir, slash, path,
                       volume_strerror(-r));
}

/* Tells the census of one stub. A name that is not there any more has gone meanwhile, and is passed over. */
static int tell_stub(struct volume *volume, const char *dir, const struct walk_entry *entry,
                     const struct census *census, struct volume_error *error)
{
    struct record record;
    int r = entry->error;

    if (r == 0 && (entry->leaving || !S_ISREG(entry->st.st_mode)))
        return 0;
    if (r == 0)
        r = stub_read_record(volume, entry->dir, entry->name, &record);
    if (r == 0)
        return census->record(census->arg, &record);
    return r == -ENOENT ? 0 : fail(error, r, dir, entry->path);
}

static int tell_stubs(struct volume *volume, int fd, const char *dir, const struct census *census,
                      struct volume_error *error)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(volume_home(volume), fd, &walk), more = 0;

    while (r == 0 && (more = walk_next(walk, &entry)) > 0)
        r = tell_stub(volume, dir, &entry, census, error);
    if (r == 0 && more == 0)
        return 0;
    return error->why[0] != 0 ? r : fail(error, MIN(r, more), dir, "");
}

/* -- copies -- */

/* Whether an entry of obj/ is the copy of a record: ID.m, as copy_path has it. */
static bool is_copy(const struct walk_entry *entry, uint8_t ret_id[ID_SIZE])
{
    return S_ISREG(entry->st.st_mode) && strlen(entry->name) == 2 * ID_SIZE + 2 &&
           strcmp(entry->name + 2 * ID_SIZE, ".m") == 0 && hex_parse(entry->name, ID_SIZE, ret_id) == 0;
}

struct telling {
    int (*take)(void *arg, struct copy *copy);
    void *arg;
    int error; /* why something could not be read, rather that a newer fallsfs made it than others; 0: all could be */
};

static void note_error(struct telling *telling, int error)
{
    if (telling->error != -EPROTONOSUPPORT)
        telling->error = error;
}

static int tell_copy(struct telling *telling, const struct disk *disk, const char *path, const uint8_t id[ID_SIZE])
{
    cleanup(copy_done) struct copy copy = { 0 };
    char object[NAME_MAX + 8];
    int r;

    snprintf(object, sizeof object, "obj/%s", path);
    r = copy_read(disk, object, &copy);
    if (r == 0)
        return memcmp(copy.record.id, id, ID_SIZE) == 0 ? telling->take(telling->arg, &copy) : 0;
    if (r == -ENOMEM)
        return r;
    if (r != -EUCLEAN && r != -ENOENT)
        note_error(telling, r);
    return 0;
}

int census_copies(const struct disk *disk, int (*take)(void *arg, struct copy *copy), void *arg)
{
    struct telling telling = { take, arg, 0 };
    cleanup(walk_freep) struct walk *walk = NULL;
    int fd = disk_call(disk, open, disk->root, "obj", O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk);
    struct walk_entry entry;

    disk_close(disk, &fd);
    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        uint8_t id[ID_SIZE];

        r = 0;
        if (walk_lost_it(&entry))
            continue;
        if (entry.error < 0)
            note_error(&telling, entry.error);
        else if (entry.depth > 0 && S_ISDIR(entry.st.st_mode) && !entry.leaving)
            walk_skip(walk);
        else if (is_copy(&entry, id))
            r = tell_copy(&telling, disk, entry.path, id);
    }
    return r < 0 ? r : telling.error;
}

static int tell_const(void *arg, struct copy *copy)
{
    const struct census *census = arg;

    return census->copy(census->arg, copy);
}

static int tell_copies(struct volume *volume, const struct census *census, struct volume_error *error)
{
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r = disk_is_present(disk) ? census_copies(disk, tell_const, drop_const(census)) : 0;

        if (r < 0)
            return volume_fail(error, r, "cannot read all copies of records on d%" PRIu32 ": %s", i,
                               volume_strerror(-r));
    }
    return 0;
}

/* -- all of it -- */

static int check_disks(struct volume *volume, struct volume_error *error)
{
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (!disk_is_present(&volume->disk[i]) && volume->disk[i].standing != DISK_GONE)
            return volume_fail(error, -ENODEV, "disk d%" PRIu32 " is missing, nobody knows what is on it", i);
    return 0;
}

int census_take(struct volume *volume, const struct census *census, struct volume_error *ret_error)
{
    int r;

    ret_error->why[0] = 0;
    r = check_disks(volume, ret_error);
    if (r == 0)
        r = tell_stubs(volume, volume->ns, "ns", census, ret_error);
    if (r == 0)
        r = tell_stubs(volume, volume->todo, "todo", census, ret_error);
    if (r == 0 && census->copy != NULL)
        r = tell_copies(volume, census, ret_error);
    return r;
}

/* -- in a volume in use -- */

void census_note_move(const struct volume *volume, struct layouts *layouts, int dir, const char *name, mode_t fmt)
{
    struct record record;

    if (!layouts_are_noted(layouts) || (fmt != S_IFREG && fmt != S_IFDIR))
        return;
    if (fmt == S_IFREG && stub_read_record(volume, dir, name, &record) == 0)
        layouts_note_moved(layouts, &record);
    else
        layouts_note_moved(layouts, NULL);
}
