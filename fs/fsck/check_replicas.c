/* SPDX-License-Identifier: MIT */
#include "fs/fsck/check_replicas.h"

#include "fs/core/stub/objects.h"

#include <stdio.h>
#include <string.h>

/* -- the map -- */

static int store_map(struct checked_replicas *replicas)
{
    const struct checking *checking = replicas->checking;
    int r = checking->check->repair ? replica_map_replace(checking->volume, &replicas->places, &replicas->map) : 0;

    return r > 0 ? -EIO : r; /* one of the two places could not be written */
}

/* A map as it lies in one place. */
struct found_map {
    const struct disk *disk;
    struct replica_map map;
    int r; /* of reading it */
};

static bool is_readable(const struct found_map *found)
{
    return found->r == 0 || found->r == -ENOENT || found->r == -EUCLEAN;
}

static void tell_unreadable(struct checked_replicas *replicas, const struct found_map *found, const char *object)
{
    const struct spot spot = { replicas->path, object, found->disk->index };

    checking_tell_left(replicas->checking, "unreadable", &spot, "cannot read the map of its replicas: %s",
                       volume_strerror(-found->r));
    replicas->is_unknown = true;
}

static void tell_unusable(struct checked_replicas *replicas, int r)
{
    const struct spot spot = { .path = replicas->path, .disk = NO_DISK };

    checking_tell_left(replicas->checking, "unreadable", &spot, "cannot use the map of its replicas: %s",
                       volume_strerror(-r));
    replicas->is_unknown = true;
}

/* Removes damaged maps where there is no other that is whole. */
static void remove_damaged(struct checked_replicas *replicas, const struct found_map *found, const char *object)
{
    const struct spot spot = { replicas->path, object, found->disk->index };
    int r = replicas->checking->check->repair ? object_remove(found->disk, object) : 0;

    checking_tell_fix(replicas->checking, "map", &spot, r,
                      "the map of its replicas is damaged, and there is no other: is removed. The file itself has all "
                      "its bytes; what replicas had is no longer needed");
}

static void write_anew(struct checked_replicas *replicas, const struct found_map *found, const char *object)
{
    const struct spot spot = { replicas->path, object, found->disk->index };
    int r = store_map(replicas);

    checking_tell_fix(replicas->checking, "map", &spot, r,
                      "the map of its replicas is %s here: is written anew from the other one. The file itself has all "
                      "its bytes, and replicas are filled again",
                      found->r == -ENOENT ? "missing" : "damaged");
}

/* Takes the map over that is whole, with the bits that count. A crash may have come before the second one was written;
 * the first one is never missing beside a second. */
static int take_whole(struct checked_replicas *replicas, struct found_map *found, uint32_t n,
                      const struct record *record, const char *object)
{
    struct found_map *whole = found[0].r == 0 ? &found[0] : &found[1], *other = n < 2 ? NULL : &found[whole == found];
    int r = 0;

    replicas->map = whole->map;
    whole->map = (struct replica_map){ 0 };
    if (other != NULL && other->r == 0)
        r = replica_map_join(&replicas->map, &other->map, record->gen);
    else if (other != NULL)
        replica_map_doubt(&replicas->map);
    if (!replica_map_is_of(&replicas->map, record->gen))
        replica_map_void(&replicas->map);
    if (other != NULL && (other->r == -EUCLEAN || (other == found && other->r == -ENOENT)))
        write_anew(replicas, other, object);
    return r;
}

static int take_map(struct checked_replicas *replicas, struct found_map *found, uint32_t n, const struct record *record)
{
    char object[OBJECT_PATH];
    bool any_whole = false;

    replica_map_path(replicas->checking->volume, record->id, object);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i].r == -ENOMEM)
            return -ENOMEM;
        if (!is_readable(&found[i]))
            tell_unreadable(replicas, &found[i], object);
        any_whole |= found[i].r == 0;
    }
    if (replicas->is_unknown)
        return 0;
    if (any_whole)
        return take_whole(replicas, found, n, record, object);
    for (uint32_t i = 0; i < n; i++)
        if (found[i].r == -EUCLEAN)
            remove_damaged(replicas, &found[i], object);
    return 0;
}

static int read_maps(struct checked_replicas *replicas, const struct record *record)
{
    const struct disk *const place[] = { replicas->places.first, replicas->places.second };
    struct found_map found[ARRAY_SIZE(place)] = { 0 };
    uint32_t n = 0;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(place); i++)
        if (place[i] != NULL) {
            found[n].disk = place[i];
            found[n].r = replica_map_read_one(replicas->checking->volume, place[i], record->id, &found[n].map);
            n++;
        }
    r = take_map(replicas, found, n, record);
    for (uint32_t i = 0; i < n; i++)
        replica_map_done(&found[i].map);
    return r;
}

/* A record that came back from a copy may be of a generation before the map's: the file gets to that generation again,
 * and has other bytes then. */
static int end_later_generation(struct checked_replicas *replicas, const struct record *record)
{
    struct replica_map *map = &replicas->map;

    if (map->n == 0 || replica_map_is_of(map, record->gen) || map->gen < record->gen)
        return 0;
    map->gen = map->also_gen = record->gen;
    return store_map(replicas);
}

/* -- its replicas -- */

static void drop_entry(struct checked_replicas *replicas, uint32_t at)
{
    struct replica_map *map = &replicas->map;

    replica_entry_done(&map->replica[at]);
    map->n--;
    for (uint32_t i = at; i < map->n; i++)
        map->replica[i] = map->replica[i + 1];
    map->replica[map->n] = (struct replica_entry){ 0 };
}

/* Takes a replica out of the map whose layout no disk has any more: nobody can tell where its bytes are. */
static void drop_lost(struct checked_replicas *replicas, uint32_t at)
{
    const struct spot spot = { .path = replicas->path, .disk = NO_DISK };
    uint32_t number = replicas->map.replica[at].number;
    int r;

    drop_entry(replicas, at);
    r = store_map(replicas);
    checking_tell_fix(replicas->checking, "replica", &spot, r,
                      "the layout of its replica %" PRIu32
                      " is lost, no disk has the text: the replica is dropped. The file itself has all its bytes",
                      number);
}

static int find_layouts(struct checked_replicas *replicas)
{
    uint32_t i = 0;

    while (i < replicas->map.n) {
        struct file_layout *layout;
        int r = layouts_get(replicas->checking->layouts, replicas->map.replica[i].layout, &layout);

        if (r == -EIO || r == -EUCLEAN)
            drop_lost(replicas, i);
        else if (r < 0)
            return r;
        else
            replicas->layout[i++] = layout;
    }
    return 0;
}

/* Forgets all that is known of the replicas but the fact that there may be some. */
static void forget(struct checked_replicas *replicas)
{
    for (uint32_t i = 0; i < replicas->map.n; i++)
        layouts_put(replicas->checking->layouts, replicas->layout[i]);
    replica_map_done(&replicas->map);
}

int checked_replicas_find(struct checking *checking, const char *path, const struct record *record,
                          const struct file_layout *layout, struct checked_replicas *ret_replicas)
{
    struct checked_replicas replicas = { .checking = checking, .path = path };
    const struct placed_layout laying = { layout, record->rotate };
    int r;

    replicas.places = replica_places(checking->volume, &laying);
    replicas.is_there = record->has_map || replicas.places.has_second;
    r = replicas.is_there ? read_maps(&replicas, record) : 0;
    if (r == 0)
        r = end_later_generation(&replicas, record);
    if (r == 0)
        r = find_layouts(&replicas);
    if (r < 0)
        forget(&replicas);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        tell_unusable(&replicas, r);
    *ret_replicas = replicas;
    return 0;
}

void checked_replicas_done(struct checked_replicas *replicas)
{
    forget(replicas);
    *replicas = (struct checked_replicas){ 0 };
}

int checked_replicas_own(const struct checked_replicas *replicas, struct owner_replicas **ret_owned)
{
    struct owner_replicas *owned = NULL;

    if (replicas->is_there && (owned = calloc(1, sizeof *owned)) == NULL)
        return -ENOMEM;
    *ret_owned = owned;
    if (owned == NULL)
        return 0;
    owned->is_unknown = replicas->is_unknown;
    owned->second = replicas->places.second != NULL ? replicas->places.second->index : UINT32_MAX;
    for (uint32_t i = 0; !owned->is_unknown && i < replicas->map.n; i++) {
        struct file_layout *layout = layouts_ref(replicas->checking->layouts, replicas->layout[i]);

        owned->replica[owned->n++] =
            (struct owner_replica){ replicas->map.replica[i].number, replicas->map.replica[i].rotate, layout };
    }
    return 0;
}

/* -- what changes the file -- */

static bool clear_entry(struct replica_entry *entry, uint64_t window)
{
    bool any =
        windows_has_any(&entry->right, window, WINDOWS_MAX) || windows_has_any(&entry->safe, window, WINDOWS_MAX);

    windows_remove(&entry->right, window, WINDOWS_MAX);
    windows_remove(&entry->safe, window, WINDOWS_MAX);
    return any;
}

int checked_replicas_clear(struct checked_replicas *replicas, uint64_t from)
{
    bool any = false;

    if (replicas->is_unknown)
        return -EIO;
    for (uint32_t i = 0; i < replicas->map.n; i++)
        any |= clear_entry(&replicas->map.replica[i], MIN(from >> replicas->map.shift, WINDOWS_MAX));
    return any ? store_map(replicas) : 0;
}

static int cut_replica(const struct checked_replicas *replicas, uint32_t at, uint64_t size)
{
    const struct volume *volume = replicas->checking->volume;
    const struct file_layout *layout = replicas->layout[at];
    const struct replica_map *map = &replicas->map;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file_layout_slots(layout); slot++) {
        const struct disk *disk = file_layout_on(layout, volume, map->replica[at].rotate, slot);
        char object[OBJECT_PATH];

        object_path(volume, map->id, REPLICA_GEN | map->replica[at].number, slot, layout, object);
        r = checking_cut(disk, object, file_layout_len(layout, slot, size));
    }
    return r;
}

int checked_replicas_cut(const struct checked_replicas *replicas, uint64_t size)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < replicas->map.n; i++)
        r = cut_replica(replicas, i, size);
    return r;
}

/* -- a subfile of a replica -- */

/* How long a subfile of a replica is; 0: there is none. -EUCLEAN: what is there is not that subfile. */
static int look_at(const struct checked_replicas *replicas, uint32_t at, uint32_t slot, const struct disk *disk,
                   const char *object, uint64_t *ret_len)
{
    const struct object_stamp stamp = { replicas->map.id, REPLICA_GEN | replicas->map.replica[at].number, slot };
    struct stat st;
    int r = disk_call(disk, stat, disk->root, object, &st);

    *ret_len = 0;
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    if (!S_ISREG(st.st_mode) || object_check_stamp(disk, disk->root, object, &stamp, false) < 0)
        return -EUCLEAN;
    *ret_len = (uint64_t) st.st_size;
    return 0;
}

static const struct disk *find_object(const struct checked_replicas *replicas, uint32_t at, uint32_t slot,
                                      char ret_object[static OBJECT_PATH])
{
    const struct volume *volume = replicas->checking->volume;
    const struct replica_entry *entry = &replicas->map.replica[at];

    object_path(volume, replicas->map.id, REPLICA_GEN | entry->number, slot, replicas->layout[at], ret_object);
    return file_layout_on(replicas->layout[at], volume, entry->rotate, slot);
}

/* The byte of the file that a window begins with. */
static uint64_t first_byte(const struct checked_replicas *replicas, uint64_t window)
{
    unsigned shift = replicas->map.shift;

    return window > UINT64_MAX >> shift ? UINT64_MAX : window << shift;
}

static bool has_window(const struct replica_entry *entry, uint64_t window)
{
    return windows_has(&entry->right, window) || windows_has(&entry->safe, window);
}

/* How far a replica has all bytes of a subfile, by its bits. */
static uint64_t run_from(const struct checked_replicas *replicas, const struct replica_entry *entry,
                         const struct nest *nest, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t window = nest_select(nest, from) >> replicas->map.shift;

        if (!has_window(entry, window))
            break;
        from = nest_rank(nest, first_byte(replicas, window + 1));
    }
    return MIN(from, to);
}

/* Finds the second copy of a file that lies so; map.n: it has none. */
static uint32_t find_copy(const struct checked_replicas *replicas, const struct placed_layout *laying)
{
    const struct replica_map *map = &replicas->map;
    uint32_t i = 0;

    for (; i < map->n; i++)
        if ((map->replica[i].flags & (REPLICA_COPY | REPLICA_ENDED)) == REPLICA_COPY &&
            memcmp(map->replica[i].layout, laying->layout->hash, HASH_SIZE) == 0 && map->replica[i].lo == 0 &&
            map->replica[i].hi == UINT64_MAX &&
            map->replica[i].rotate == file_layout_copy_rotate(laying->layout, laying->rotate))
            break;
    return i;
}

bool checked_replicas_copy_has(const struct checked_replicas *replicas, const struct placed_layout *laying,
                               uint32_t slot, uint64_t from, uint64_t to, struct second_copy *ret_copy)
{
    const struct nest *nest = file_layout_nest(laying->layout, slot);
    uint32_t at = replicas->is_unknown ? replicas->map.n : find_copy(replicas, laying);
    uint64_t len;

    if (at == replicas->map.n)
        return false;
    ret_copy->disk = find_object(replicas, at, slot, ret_copy->object);
    if (look_at(replicas, at, slot, ret_copy->disk, ret_copy->object, &len) < 0)
        return false;
    ret_copy->len = run_from(replicas, &replicas->map.replica[at], nest, from, MIN(MIN(len, to), nest->size));
    return ret_copy->len > from;
}

/* -- what replicas must have -- */

/* How long the subfile of a slot of a replica must be, by its bits: what is right is as long as the file was when that
 * was told, what is safe as an fsync has confirmed. */
static uint64_t must_have(const struct checked_replicas *replicas, uint32_t at, uint32_t slot, const struct told *told)
{
    const struct replica_entry *entry = &replicas->map.replica[at];
    uint64_t right = MIN(told->size, first_byte(replicas, windows_end(&entry->right)));
    uint64_t safe = MIN(told->durable_size, first_byte(replicas, windows_end(&entry->safe)));

    return file_layout_len(replicas->layout[at], slot, MIN(entry->hi, MAX(right, safe)));
}

static void tell_lacking(struct checked_replicas *replicas, uint32_t at, uint32_t slot, const struct spot *spot,
                         uint64_t len, bool lacks_bytes)
{
    struct replica_entry *entry = &replicas->map.replica[at];
    uint64_t first = nest_select(file_layout_nest(replicas->layout[at], slot), len);
    const char *how = len > 0 ? "short" : "missing";
    int r;

    if (lacks_bytes) {
        checking_tell_left(replicas->checking, "replica", spot,
                           "a subfile of replica %" PRIu32
                           " is %s: the replica can be filled again when the file has its own bytes back",
                           entry->number, how);
        return;
    }
    (void) clear_entry(entry, first >> replicas->map.shift);
    r = store_map(replicas);
    checking_tell_fix(replicas->checking, "replica", spot, r,
                      "a subfile of replica %" PRIu32
                      " is %s: the file itself has the bytes, and the replica will be filled again",
                      entry->number, how);
}

static void check_slot(struct checked_replicas *replicas, uint32_t at, uint32_t slot, const struct told *told)
{
    char object[OBJECT_PATH];
    const struct disk *disk = find_object(replicas, at, slot, object);
    const struct spot spot = { replicas->path, object, disk->index };
    uint64_t len, must;
    int r = look_at(replicas, at, slot, disk, object, &len);

    if (r == -EUCLEAN)
        checking_tell_aside(replicas->checking, "foreign", &spot,
                            "what stands for a subfile of a replica is something else");
    else if (r < 0)
        checking_tell_left(replicas->checking, "unreadable", &spot, "cannot look at a subfile of a replica: %s",
                           strerror(-r));
    must = r == 0 || r == -EUCLEAN ? must_have(replicas, at, slot, told) : 0;
    if (len < must)
        tell_lacking(replicas, at, slot, &spot, len, told->lacks_bytes);
}

void checked_replicas_check(struct checked_replicas *replicas, const struct told *told)
{
    for (uint32_t i = 0; i < replicas->map.n; i++)
        for (uint32_t slot = 0; slot < file_layout_slots(replicas->layout[i]); slot++)
            check_slot(replicas, i, slot, told);
}
