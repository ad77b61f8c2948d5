/* SPDX-License-Identifier: MIT */
#include "fs/core/change/give_way.h"

#include "fs/core/change/room_watch.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file_replicas.h"
#include "fs/core/stub/replica_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define NEEDED (UINT64_C(8) << 20) /* bytes of any one request; those that writes keep right go for no more */

struct giving {
    struct fs *fs;
    bool *full;   /* disks; NULL: none is any more */
    uint64_t low; /* of these bytes */
    bool updated;
    uint32_t n;
};

static void look_again(struct giving *giving, uint32_t n)
{
    giving->n += n;
    if (n == 0)
        return;
    free(giving->full);
    giving->full = room_full_disks(giving->fs, giving->low);
}

/* -- files in use -- */

/* Whether a file has replicas, as far as this mount knows; whose records nobody has read are found on the disks. */
static bool may_have_some(struct inode *inode)
{
    bool may;

    mutex_lock(&inode->lock);
    may = (inode->file != NULL && inode->file->replicas != NULL) || atomic_load(&inode->is_followed);
    mutex_unlock(&inode->lock);
    return may;
}

static void visit(void *arg, struct inode *inode)
{
    struct giving *giving = arg;
    struct file *file;

    if (giving->full == NULL || inode->fmt != S_IFREG || !may_have_some(inode) ||
        file_get(giving->fs, inode, &file) < 0)
        return;
    look_again(giving, file_give_way(giving->fs, file, giving->full, giving->updated));
    file_put(giving->fs, file);
}

/* -- others -- */

/* Whether a name is that of a replica's subfile. */
static bool read_name(const char *name, uint8_t ret_id[static ID_SIZE], uint32_t *ret_number)
{
    char hex[2 * ID_SIZE + 1];
    int used = 0;

    return strlen(name) > 2 * ID_SIZE && strspn(name, "0123456789abcdef") == 2 * ID_SIZE &&
           sscanf(name, "%32[0-9a-f].r%" SCNu32 ".%n", hex, ret_number, &used) == 2 && used > 0 &&
           hex_parse(hex, ID_SIZE, ret_id) == 0;
}

struct looking {
    const uint8_t *id;
    bool is_in_use;
};

static void compare(void *arg, struct inode *inode)
{
    struct looking *looking = arg;

    if (inode->fmt != S_IFREG)
        return;
    mutex_lock(&inode->lock);
    looking->is_in_use |= inode->file != NULL && memcmp(inode->file->record.id, looking->id, ID_SIZE) == 0;
    mutex_unlock(&inode->lock);
}

static bool is_in_use(struct fs *fs, const uint8_t id[ID_SIZE])
{
    struct looking looking = { .id = id };

    inodes_visit(fs->inodes, compare, &looking);
    return looking.is_in_use;
}

/* The replica that may go of a file that has no second copy; NULL: it stays. */
static struct replica_entry *find(struct replica_map *map, uint32_t number, bool updated)
{
    struct replica_entry *found = NULL;

    for (uint32_t i = 0; i < map->n; i++) {
        const uint16_t flags = map->replica[i].flags;

        if ((flags & REPLICA_COPY) != 0)
            return NULL;
        if (map->replica[i].number == number && ((flags & REPLICA_UPDATE) != 0) == updated)
            found = &map->replica[i];
    }
    return found;
}

/* Tells the disk that a replica is to go, or, where there is no room for that, that it has nothing. */
static int end(struct fs *fs, struct replica_map *map, struct replica_entry *entry)
{
    const struct replica_places places = { .first = fs_home(fs) };
    const uint64_t before = MAX(windows_end(&entry->right), 1);
    int r;

    replica_entry_done(entry);
    r = replica_map_update(fs->volume, &places, map, 0, before);
    if (r < 0)
        return r;
    entry->flags |= REPLICA_ENDED;
    (void) replica_map_replace(fs->volume, &places, map); /* else it is filled again when there is room */
    return 0;
}

/* Drops a replica of a file that nobody uses. Who begins to use it meanwhile does not find the subfiles of what its map
 * calls right, and reads the file. */
static uint32_t drop_unused(struct fs *fs, const uint8_t id[ID_SIZE], uint32_t number, bool updated)
{
    struct file_layout *layout;
    struct replica_entry *entry;
    struct replica_map map;
    uint32_t n = 0;

    if (is_in_use(fs, id) || replica_map_read_one(fs->volume, fs_home(fs), id, &map) < 0)
        return 0;
    entry = find(&map, number, updated);
    if (entry != NULL && layouts_get(fs->layouts, entry->layout, &layout) == 0) {
        n = end(fs, &map, entry) == 0;
        if (n > 0)
            (void) replica_remove_subfiles(fs->volume, id, entry, layout);
        layouts_put(fs->layouts, layout);
    }
    replica_map_done(&map);
    return n;
}

/* Goes through the subfiles on a disk, as long as it is full. */
static void look_through(struct giving *giving, const struct disk *disk)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int dir = disk_call(disk, open, disk->root, "obj", O_RDONLY | O_DIRECTORY, 0);
    int r = dir < 0 ? dir : walk_new(disk, dir, &walk);

    while (r >= 0 && giving->full != NULL && giving->full[disk->index] && (r = walk_next(walk, &entry)) > 0) {
        uint8_t id[ID_SIZE];
        uint32_t number;

        if (entry.error == 0 && S_ISREG(entry.st.st_mode) && read_name(entry.name, id, &number))
            look_again(giving, drop_unused(giving->fs, id, number, giving->updated));
    }
    walk_free(steal(walk));
    disk_close(disk, &dir);
}

/* -- both -- */

uint32_t replicas_give_way(struct fs *fs, bool looks_further)
{
    struct giving giving = { .fs = fs };

    if (!volume_has_replicas(fs->volume))
        return 0;
    for (int updated = 0; updated < 2; updated++) {
        giving.updated = updated != 0;
        giving.low = giving.updated ? NEEDED : ROOM_LOW;
        free(giving.full);
        giving.full = room_full_disks(fs, giving.low);
        inodes_visit(fs->inodes, visit, &giving);
        for (uint32_t i = 0; looks_further && i < fs->volume->n_disks; i++)
            if (giving.full != NULL && giving.full[i])
                look_through(&giving, &fs->volume->disk[i]);
    }
    free(giving.full);
    return giving.n;
}
