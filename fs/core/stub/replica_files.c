/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/replica_files.h"

#include "fs/core/disk/file_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* -- places -- */

struct replica_places replica_places(const struct volume *volume, const struct placed_layout *laying)
{
    struct replica_places places = { .first = volume_home(volume) };
    uint16_t rotate;

    if (laying->layout->layout->copies < 2)
        return places;
    places.has_second = true;
    rotate = file_layout_copy_rotate(laying->layout, laying->rotate);
    for (uint32_t slot = 0; places.second == NULL && slot < file_layout_slots(laying->layout); slot++) {
        const struct disk *disk = file_layout_on(laying->layout, volume, rotate, slot);

        if (disk->index != volume->home)
            places.second = disk;
    }
    /* A file with one element may have its copy on the home disk: then it has itself on another. */
    for (uint32_t slot = 0; places.second == NULL && slot < file_layout_slots(laying->layout); slot++) {
        const struct disk *disk = file_layout_on(laying->layout, volume, laying->rotate, slot);

        if (disk->index != volume->home)
            places.second = disk;
    }
    if (places.second != NULL && !disk_is_present(places.second))
        places.second = NULL;
    return places;
}

void replica_map_path(const struct volume *volume, const uint8_t id[ID_SIZE], char ret_path[static OBJECT_PATH])
{
    char hex[2 * ID_SIZE + 1];
    size_t len;

    object_path(volume, id, 0, OBJECT_DIR, NULL, ret_path);
    len = strlen(ret_path);
    hex_print(id, ID_SIZE, hex);
    snprintf(ret_path + len, OBJECT_PATH - len, "/%s.r", hex);
}

/* -- reading -- */

int replica_map_read_one(const struct volume *volume, const struct disk *disk, const uint8_t id[ID_SIZE],
                         struct replica_map *ret_map)
{
    cleanup(freep) char *bytes = NULL;
    struct replica_map map;
    char path[OBJECT_PATH];
    size_t len;
    int r;

    replica_map_path(volume, id, path);
    r = file_text_read(disk, path, REPLICA_MAP_MAX, &bytes, &len);
    if (r == 0)
        r = replica_map_decode((const uint8_t *) bytes, len, &map);
    if (r < 0)
        return r;
    if (memcmp(map.id, id, ID_SIZE) != 0) {
        replica_map_done(&map);
        return -EUCLEAN;
    }
    *ret_map = map;
    return 0;
}

static bool is_none(int r)
{
    return r == -ENOENT || r == -EUCLEAN || r == -EIO;
}

/* Reads the second map, and makes one of both. */
static int add_second(const struct volume *volume, const struct replica_places *places, const uint8_t id[ID_SIZE],
                      uint64_t gen, struct replica_map *map, bool has_first, bool *ret_differ)
{
    struct replica_map second;
    int r = replica_map_read_one(volume, places->second, id, &second);

    if (r < 0 && !is_none(r))
        return r;
    *ret_differ = !has_first || r < 0 || second.series != map->series;
    if (r == -EIO && has_first)
        return 0; /* the disk is lost: the other map counts alone */
    if (r < 0) {
        replica_map_doubt(map);
        return has_first ? 0 : -ENOENT;
    }
    if (has_first) {
        r = replica_map_join(map, &second, gen);
        replica_map_done(&second);
        return r;
    }
    *map = second;
    replica_map_doubt(map);
    return 0;
}

int replica_map_read(const struct volume *volume, const struct replica_places *places, const uint8_t id[ID_SIZE],
                     uint64_t gen, struct replica_map *ret_map, bool *ret_differ)
{
    struct replica_map map = { 0 };
    bool has_first;
    int r = disk_is_present(places->first) ? replica_map_read_one(volume, places->first, id, &map) : -ENOENT;

    if (r < 0 && !is_none(r))
        return r;
    has_first = r == 0;
    *ret_differ = false;
    if (places->second != NULL)
        r = add_second(volume, places, id, gen, &map, has_first, ret_differ);
    else if (!has_first)
        r = -ENOENT;
    if (r < 0) {
        replica_map_done(&map);
        return r;
    }
    if (!replica_map_is_of(&map, gen))
        replica_map_void(&map);
    *ret_map = map;
    return 0;
}

/* -- writing -- */

static int write_block(const struct disk *disk, int fd, const struct replica_map *map, uint32_t replica, uint32_t block)
{
    uint8_t bytes[REPLICA_MAP_BLOCK];
    uint64_t off = replica_block_off(map, replica, block), done = 0;

    replica_map_encode_block(map, replica, block, bytes);
    while (done < sizeof bytes) {
        struct iovec iov = { bytes + done, sizeof bytes - done };
        ssize_t n = disk_call(disk, pwritev, fd, &iov, 1, off + done);

        if (n <= 0)
            return n < 0 ? (int) n : -EIO;
        done += (uint64_t) n;
    }
    return 0;
}

static int update_one(const struct volume *volume, const struct disk *disk, const struct replica_map *map, uint64_t lo,
                      uint64_t hi)
{
    char path[OBJECT_PATH];
    int fd, r = 0;

    replica_map_path(volume, map->id, path);
    fd = disk_call(disk, open, disk->root, path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fd;
    for (uint32_t block = replica_block_of(lo); r == 0 && block <= replica_block_of(hi - 1); block++)
        for (uint32_t i = 0; r == 0 && i < map->n; i++)
            r = write_block(disk, fd, map, i, block);
    if (r == 0)
        r = disk_call(disk, sync, fd, SYNC_DATA);
    disk_close(disk, &fd);
    return r;
}

int replica_map_update(const struct volume *volume, const struct replica_places *places, const struct replica_map *map,
                       uint64_t lo, uint64_t hi)
{
    int r = update_one(volume, places->first, map, lo, hi);

    if (r == 0 && places->has_second)
        r = places->second == NULL || update_one(volume, places->second, map, lo, hi) < 0 ? REPLICA_MAP_BEHIND : 0;
    return r;
}

int replica_map_replace(const struct volume *volume, const struct replica_places *places, struct replica_map *map)
{
    size_t len = replica_map_len(map);
    cleanup(freep) uint8_t *bytes = malloc(len);
    char path[OBJECT_PATH];
    int r;

    if (bytes == NULL)
        return -ENOMEM;
    map->series++;
    replica_map_encode(map, bytes);
    replica_map_path(volume, map->id, path);
    r = file_text_replace(places->first, path, (const char *) bytes, len);
    if (r == 0 && places->has_second)
        r = places->second == NULL || file_text_replace(places->second, path, (const char *) bytes, len) < 0
                ? REPLICA_MAP_BEHIND
                : 0;
    return r;
}

/* -- removing -- */

static int remove_one(const struct disk *disk, const char *path, const char *dir)
{
    int r = object_remove(disk, path);

    return r == -ENOENT ? 0 : r < 0 ? r : file_text_sync_dir(disk, dir);
}

/* Removes a map from one disk, and what a crash may have left of one that was to take its place. */
static int remove_map(const struct disk *disk, const char *path, const char *dir)
{
    char fresh[OBJECT_PATH + 8];

    snprintf(fresh, sizeof fresh, "%s.new", path);
    (void) object_remove(disk, fresh);
    return remove_one(disk, path, dir);
}

int replica_map_remove(const struct volume *volume, const struct replica_places *places, const uint8_t id[ID_SIZE])
{
    char path[OBJECT_PATH], dir[OBJECT_PATH];
    int r, second = 0;

    replica_map_path(volume, id, path);
    object_path(volume, id, 0, OBJECT_DIR, NULL, dir);
    r = remove_map(places->first, path, dir);
    if (places->second != NULL)
        second = remove_map(places->second, path, dir);
    return r < 0 ? r : second;
}

int replica_remove_subfiles(const struct volume *volume, const uint8_t id[ID_SIZE], const struct replica_entry *entry,
                            const struct file_layout *layout)
{
    int first = 0;

    for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
        const struct disk *disk = file_layout_on(layout, volume, entry->rotate, slot);
        char path[OBJECT_PATH], dir[OBJECT_PATH];
        int r;

        object_path(volume, id, REPLICA_GEN | entry->number, slot, layout, path);
        object_path(volume, id, 0, OBJECT_DIR, layout, dir);
        r = disk->standing == DISK_GONE ? 0 : disk_is_present(disk) ? remove_one(disk, path, dir) : -EIO;
        first = first != 0 ? first : r;
    }
    return first;
}

/* Removes the subfiles of a replica whose layout may be lost: then nobody knows where they are, and fsck finds them. */
static int remove_entry(const struct volume *volume, struct layouts *layouts, const uint8_t id[ID_SIZE],
                        const struct replica_entry *entry)
{
    struct file_layout *layout;
    int r = layouts_get(layouts, entry->layout, &layout);

    if (r == -EIO || r == -EUCLEAN)
        return 0;
    if (r < 0)
        return r;
    r = replica_remove_subfiles(volume, id, entry, layout);
    layouts_put(layouts, layout);
    return r;
}

/* Finds the places of the map of a file with this record, and how the file lies; none: it has no map. */
static int find_places(const struct volume *volume, struct layouts *layouts, const struct record *record,
                       struct replica_places *ret_places)
{
    struct placed_layout laying = { .rotate = record->rotate };
    struct file_layout *layout;
    int r = layouts_get(layouts, record->layout, &layout);

    if (r < 0)
        return r;
    laying.layout = layout;
    *ret_places = replica_places(volume, &laying);
    layouts_put(layouts, layout);
    if (!record->has_map && !ret_places->has_second)
        *ret_places = (struct replica_places){ 0 };
    return 0;
}

/* Removes the second copy that a file may have got since its map was written, if it had one, which gets this number. */
static int remove_unwritten(const struct volume *volume, struct layouts *layouts, const struct record *record,
                            uint32_t number)
{
    struct replica_entry entry = { .number = number };
    struct file_layout *layout;
    int r = layouts_get(layouts, record->layout, &layout);

    if (r < 0)
        return r;
    entry.rotate = file_layout_copy_rotate(layout, record->rotate);
    r = replica_remove_subfiles(volume, record->id, &entry, layout);
    layouts_put(layouts, layout);
    return r;
}

int replicas_remove_all(const struct volume *volume, struct layouts *layouts, const struct record *record)
{
    struct replica_places places;
    struct replica_map map = { .next = 1 };
    bool differ;
    int r = find_places(volume, layouts, record, &places);

    if (r < 0 || places.first == NULL)
        return r;
    r = replica_map_read(volume, &places, record->id, record->gen, &map, &differ);
    if (r == -ENOENT)
        r = 0;
    for (uint32_t i = 0; i < map.n; i++) {
        int entry = remove_entry(volume, layouts, record->id, &map.replica[i]);

        r = r != 0 ? r : entry;
    }
    if (r == 0 && places.has_second)
        r = remove_unwritten(volume, layouts, record, map.next);
    replica_map_done(&map);
    return r < 0 ? r : replica_map_remove(volume, &places, record->id);
}

/* -- layouts -- */

static int add_layouts(const struct volume *volume, const struct disk *disk, const uint8_t id[ID_SIZE],
                       struct hashes *hashes)
{
    struct replica_map map;
    int r = replica_map_read_one(volume, disk, id, &map);

    if (r < 0)
        return r == -ENOENT || r == -EUCLEAN ? 0 : r;
    for (uint32_t i = 0; r == 0 && i < map.n; i++)
        r = hashes_add(hashes, map.replica[i].layout);
    replica_map_done(&map);
    return r;
}

int replicas_add_layouts(const struct volume *volume, struct layouts *layouts, const struct record *record,
                         struct hashes *hashes)
{
    struct replica_places places;
    int r = find_places(volume, layouts, record, &places);

    if (r == -EIO || r == -EUCLEAN) /* the file's own layout is lost: the map on the home disk may be there still */
        places = (struct replica_places){ .first = record->has_map ? volume_home(volume) : NULL };
    else if (r < 0)
        return r;
    r = places.first != NULL && disk_is_present(places.first) ? add_layouts(volume, places.first, record->id, hashes)
                                                              : 0;
    return r == 0 && places.second != NULL ? add_layouts(volume, places.second, record->id, hashes) : r;
}
