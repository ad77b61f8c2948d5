/* SPDX-License-Identifier: MIT */
#include "fs/fsck/orphans.h"

#include "fs/core/stub/census.h"
#include "fs/fsck/copies.h"
#include "fs/fsck/object_name.h"
#include "fs/fsck/rebuild.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A file without a name that has a copy of its record. */
struct nameless {
    uint8_t id[ID_SIZE];
    char *path;
    bool has_objects;
};

void orphans_done(struct orphans *orphans)
{
    for (size_t i = 0; i < orphans->n; i++)
        free(orphans->nameless[i].path);
    free(orphans->nameless);
    *orphans = (struct orphans){ 0 };
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct nameless *) a)->id, ((const struct nameless *) b)->id, ID_SIZE);
}

static struct nameless *find(const struct orphans *orphans, const uint8_t id[ID_SIZE])
{
    struct nameless key;

    memcpy(key.id, id, ID_SIZE);
    return orphans->n > 0 ? bsearch(&key, orphans->nameless, orphans->n, sizeof key, by_id) : NULL;
}

const char *orphans_path(const struct orphans *orphans, const uint8_t id[ID_SIZE])
{
    const struct nameless *nameless = find(orphans, id);

    return nameless != NULL && nameless->has_objects ? nameless->path : NULL;
}

/* -- who could still need an object -- */

static int note_record(void *arg, const struct record *record)
{
    const struct checking *checking = arg;

    return ids_find(&checking->ids, record->id) != NULL ? 0 : -ESTALE;
}

static int add(struct orphans *orphans, const struct copy *copy)
{
    struct nameless *more;

    if (!array_grow(orphans->nameless, orphans->n))
        return -ENOMEM;
    more = &orphans->nameless[orphans->n];
    *more = (struct nameless){ .path = strdup(copy->path) };
    memcpy(more->id, copy->record.id, ID_SIZE);
    if (more->path == NULL)
        return -ENOMEM;
    orphans->n++;
    return 0;
}

/* Notes the file of a copy, if it has no stub. Where the record promised nothing a crash may have taken the name, so
 * such a file is not noted. */
static int note_copy(void *arg, const struct copy *copy)
{
    struct checking *checking = arg;
    struct record record = copies_record(checking->volume, copy);

    return record.durable_size == 0 || ids_find(&checking->ids, record.id) != NULL ? 0 : add(&checking->orphans, copy);
}

/* -- names of objects, in obj/ and lost/ -- */

/* What to do with an object of a disk; path is below .fallsfs. */
typedef int act_fn(struct checking *checking, const struct disk *disk, const struct walk_entry *entry, const char *path,
                   const struct object_name *name);

static int each_object(struct checking *checking, const struct disk *disk, const char *dir, act_fn *act)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    int fd = disk_call(disk, open, disk->root, dir, O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk);
    struct walk_entry entry;

    disk_close(disk, &fd);
    if (r == -ENOENT)
        return 0;
    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        struct object_name name;
        char path[NAME_MAX + 16];

        r = entry.error;
        if (r < 0 || entry.leaving || !S_ISREG(entry.st.st_mode) || !object_name_parse_lost(entry.name, &name))
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry.path);
        r = act(checking, disk, &entry, path, &name);
    }
    return r;
}

static int each_disk(struct checking *checking, const char *dir, act_fn *act)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < checking->volume->n_disks; i++)
        if (disk_is_present(&checking->volume->disk[i]))
            r = each_object(checking, &checking->volume->disk[i], dir, act);
    return r;
}

static int note_lost_copy(struct checking *checking, const struct disk *disk, const struct walk_entry *entry,
                          const char *path, const struct object_name *name)
{
    cleanup(copy_done) struct copy copy = { 0 };
    int r = name->kind == OBJECT_COPY && !name->is_fresh ? copy_read(disk, path, &copy) : -EUCLEAN;

    (void) entry;
    return r == 0 ? note_copy(checking, &copy) : r == -EUCLEAN ? 0 : r;
}

static int note_object(struct checking *checking, const struct disk *disk, const struct walk_entry *entry,
                       const char *path, const struct object_name *name)
{
    struct nameless *nameless = object_name_is_subfile(name) ? find(&checking->orphans, name->id) : NULL;

    (void) disk;
    (void) entry;
    (void) path;
    if (nameless != NULL)
        nameless->has_objects = true;
    return 0;
}

/* Keeps one entry for each file: several copies of its record may have been found. */
static void drop_doubles(struct orphans *orphans)
{
    size_t kept = 0;

    if (orphans->n == 0)
        return;
    qsort(orphans->nameless, orphans->n, sizeof orphans->nameless[0], by_id);
    for (size_t i = 0; i < orphans->n; i++) {
        if (kept > 0 && by_id(&orphans->nameless[kept - 1], &orphans->nameless[i]) == 0)
            free(orphans->nameless[i].path);
        else
            orphans->nameless[kept++] = orphans->nameless[i];
    }
    orphans->n = kept;
}

static int find_nameless(struct checking *checking)
{
    int r = each_disk(checking, "lost", note_lost_copy);

    drop_doubles(&checking->orphans);
    if (r == 0 && checking->orphans.n > 0)
        r = each_disk(checking, "obj", note_object);
    if (r == 0 && checking->orphans.n > 0)
        r = each_disk(checking, "lost", note_object);
    return r;
}

static int count(struct checking *checking, struct volume_error *error)
{
    const struct census census = { note_record, note_copy, checking };
    int r;

    if (checking->keep_orphans)
        return volume_fail(error, -EIO, "not all stubs and records are sound and could be read");
    if (rebuild_is_unfinished(checking->volume))
        return volume_fail(error, -EBUSY, "names are missing: run fsck.fallsfs --home-lost again first");
    r = census_take(checking->volume, &census, error);
    if (r < 0)
        return r;
    r = find_nameless(checking);
    return r < 0 ? volume_fail(error, r, "cannot read all objects: %s", strerror(-r)) : 0;
}

int orphans_begin(struct checking *checking)
{
    const struct spot spot = { .disk = NO_DISK };
    struct volume_error error;
    int r;

    if (!checking->check->free_orphans)
        return 0;
    r = count(checking, &error);
    if (r < 0 && r != -ENOMEM)
        checking_tell_left(checking, "orphans", &spot, "none is removed: %s", error.why);
    checking->orphans.may_go = r == 0;
    return r == -ENOMEM ? r : 0;
}

/* -- whose is it -- */

/* Whether the owner's record has its copy on another disk, so that one on this disk is of no use. Unless the record is
 * settled a crash may have left the only copy on any disk. */
static bool has_copy_elsewhere(const struct checking *checking, const struct disk *disk, const struct owner *owner)
{
    const struct record record = { .bits = owner->bits, .rotate = owner->rotate };

    return owner->settled && owner->oldest_gen == owner->gen &&
           copy_disk(checking->volume, &record, owner->layout) != disk->index;
}

#define NEEDED       ((struct verdict){ NULL, false })
#define LEFT(text)   ((struct verdict){ text, true })
#define PLACED(text) ((struct verdict){ text, false })

/* Judges an object with an id that no stub has. */
static struct verdict judge_unowned(const struct checking *checking, const struct object_name *name)
{
    if (checking->keep_orphans)
        return NEEDED;
    if (orphans_path(&checking->orphans, name->id) != NULL)
        return PLACED("no file has this id, but a copy tells its path: it may have lost its name");
    return LEFT("no file has this id");
}

/* Judges something where no file has such a thing. A file that came back from a copy may have had it since. */
static struct verdict unneeded(const struct owner *owner, const char *why)
{
    return (struct verdict){ why, !owner->restored };
}

/* Judges a subfile of a generation or a replica that is laid out so. */
static struct verdict judge_slot(const struct checking *checking, const struct disk *disk,
                                 const struct object_name *name, const struct placed_layout *laying)
{
    uint32_t n_elements = laying->layout->pattern->n_elements, slot = name->is_header ? n_elements : name->slot;

    if (slot >= file_layout_slots(laying->layout) || (!name->is_header && slot >= n_elements))
        return PLACED("its file has no such element");
    if (file_layout_disk(laying->layout, checking->volume->home, laying->rotate, slot) != disk->index)
        return PLACED("its file has this element on another disk");
    return NEEDED;
}

static struct verdict judge_map(const struct checking *checking, const struct disk *disk, const struct owner *owner)
{
    if (owner->replicas == NULL)
        return unneeded(owner, "its file has no replicas");
    if (owner->replicas->is_unknown || disk->index == checking->volume->home || disk->index == owner->replicas->second)
        return NEEDED;
    return unneeded(owner, "its file has no map of replicas there");
}

static struct verdict judge_replica(const struct checking *checking, const struct disk *disk, const struct owner *owner,
                                    const struct object_name *name)
{
    const struct owner_replicas *replicas = owner->replicas;

    if (replicas != NULL && replicas->is_unknown)
        return NEEDED;
    if ((replicas == NULL || replicas->n == 0) && owner->layout->layout->copies > 1 && name->replica == 1) {
        /* the first replica is the second copy, whose map is written by the first fsync */
        const uint16_t rotate = file_layout_copy_rotate(owner->layout, owner->rotate);

        return judge_slot(checking, disk, name, &(struct placed_layout){ owner->layout, rotate });
    }
    for (uint32_t i = 0; replicas != NULL && i < replicas->n; i++) {
        const struct owner_replica *replica = &replicas->replica[i];

        if (replica->number == name->replica)
            return judge_slot(checking, disk, name, &(struct placed_layout){ replica->layout, replica->rotate });
    }
    return unneeded(owner, "its file has no such replica");
}

static struct verdict judge_subfile(const struct checking *checking, const struct disk *disk, const struct owner *owner,
                                    const struct object_name *name)
{
    struct verdict verdict;

    if (name->gen == owner->gen + 1 && owner->migrating)
        return NEEDED;
    if (name->gen > owner->gen && owner->restored)
        return PLACED("its file is of an earlier generation, as a copy had it");
    if (name->gen < owner->oldest_gen || name->gen > owner->gen)
        return LEFT("its file is of another generation");
    if (name->gen < owner->gen)
        return NEEDED; /* waits to be removed, maybe in another layout */
    verdict = judge_slot(checking, disk, name, &(struct placed_layout){ owner->layout, owner->rotate });
    if (verdict.why == NULL && owner->settled &&
        !bits_has(&owner->bits, name->is_header ? owner->layout->pattern->n_elements : name->slot))
        return LEFT("its file's record knows of no such subfile");
    return verdict;
}

struct verdict orphans_judge(const struct checking *checking, const struct disk *disk, const struct object_name *name)
{
    const struct owner *owner = ids_find(&checking->ids, name->id);

    if (name->is_fresh)
        return name->kind == OBJECT_COPY  ? LEFT("a copy of a record was never finished")
               : name->kind == OBJECT_MAP ? LEFT("a map of replicas was never finished")
                                          : LEFT("a subfile was never finished");
    if (owner == NULL)
        return judge_unowned(checking, name);
    if (owner->layout == NULL)
        return NEEDED;
    if (name->kind == OBJECT_COPY)
        return has_copy_elsewhere(checking, disk, owner) ? LEFT("its file has none there") : NEEDED;
    if (name->kind == OBJECT_MAP)
        return judge_map(checking, disk, owner);
    return name->kind == OBJECT_REPLICA ? judge_replica(checking, disk, owner, name)
                                        : judge_subfile(checking, disk, owner, name);
}

/* -- removing -- */

void orphans_free(struct checking *checking, const struct spot *spot, const struct stat *st, const char *why)
{
    const struct disk *disk = &checking->volume->disk[spot->disk];
    uint64_t room = (uint64_t) st->st_blocks * 512;
    int r = checking->check->repair ? disk_call(disk, unlink, disk->root, spot->object, 0) : 0;

    checking_tell_fix(checking, "orphan", spot, r, "%s: is removed, which frees %" PRIu64 " bytes", why, room);
    checking->check->n_freed += r == 0;
    checking->check->bytes_freed += r == 0 ? room : 0;
}

static int free_lost(struct checking *checking, const struct disk *disk, const struct walk_entry *entry,
                     const char *path, const struct object_name *name)
{
    const struct verdict verdict = orphans_judge(checking, disk, name);
    const struct spot spot = { .object = path, .disk = disk->index };

    if (verdict.nobody_needs_it)
        orphans_free(checking, &spot, &entry->st, verdict.why);
    return 0;
}

int check_lost(struct checking *checking)
{
    const struct spot spot = { .object = "lost", .disk = NO_DISK };
    int r = checking->orphans.may_go ? each_disk(checking, "lost", free_lost) : 0;

    if (r < 0 && r != -ENOMEM) {
        checking_tell_left(checking, "unreadable", &spot, "cannot be read: %s", strerror(-r));
        r = 0;
    }
    return r;
}
