/* SPDX-License-Identifier: MIT */
/* Replicas when a file comes into use, and goes. */
#include "fs/core/file/replicas.h"

#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/volume/promise.h"

#include <string.h>

static struct placed_layout laying_of(const struct file *file)
{
    return (struct placed_layout){ file->now->layout, file->now->rotate };
}

static bool wants_copy(const struct file *file)
{
    return file->now->layout->layout->copies > 1;
}

/* -- the map -- */

/* Makes the map of a file that has none. */
static void begin_map(const struct file *file, struct replica_map *map)
{
    *map = (struct replica_map){ .next = 1 };
    memcpy(map->id, file->record.id, ID_SIZE);
}

static int read_map(const struct fs *fs, struct file *file, bool is_new, struct replicas *replicas)
{
    struct replica_map *map = &replicas->map;
    const unsigned shift = replica_shift(fs->replica_shift, file->record.size);
    const uint64_t gen = file->record.gen;
    bool differ = false;
    int r = is_new ? -ENOENT : replica_map_read(fs->volume, &replicas->places, file->record.id, gen, map, &differ);

    if (r == -ENOMEM || r == -ETIMEDOUT || r == -EPROTONOSUPPORT)
        return r;
    replicas->shall_replace = r < 0 || differ || !replica_map_is_of(map, gen);
    if (r < 0)
        begin_map(file, map);
    if (map->shift < shift) { /* bits of smaller windows say nothing of larger ones */
        replica_map_void(map);
        map->shift = shift;
        replicas->shall_replace = true;
    }
    return 0;
}

/* -- what is known of each -- */

/* Makes the generation of a replica. Without the layout's text it is lost. */
static int make_generation(struct fs *fs, struct file *file, const struct replica_entry *entry, struct replica *replica)
{
    struct record record = { .rotate = entry->rotate, .gen = REPLICA_GEN | entry->number };
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, entry->layout, &layout);

    if (r == -EIO || r == -EUCLEAN) {
        replica->is_lost = true;
        return 0;
    }
    if (r < 0)
        return r;
    memcpy(record.id, file->record.id, ID_SIZE);
    memset(&record.bits, 0xff, sizeof record.bits); /* all are made once the replica is padded */
    record.oldest_gen = record.gen;
    replica->generation = generation_new(file->inode, layout, &record, &file->meta, &file->opened);
    if (replica->generation != NULL)
        return 0;
    layouts_put(fs->layouts, layout);
    return -ENOMEM;
}

uint64_t replica_demand(const struct replica_map *map, const struct replica_entry *entry, uint64_t size,
                        uint64_t durable)
{
    uint64_t right = MIN(size, windows_end(&entry->right) << map->shift);

    return MIN(entry->hi, MAX(right, MIN(durable, windows_end(&entry->safe) << map->shift)));
}

/* Notes which windows the disks say are right: the others are wrong. */
static int believe(const struct file *file, const struct replica_map *map, const struct replica_entry *entry,
                   struct replica *replica)
{
    int r = windows_copy(&entry->right, &replica->right);

    if (r < 0)
        return r;
    replica_doubt(map, entry, file->record.size, replica);
    if (replica->generation != NULL) {
        replica->generation->strict = replica_demand(map, entry, file->record.size, file->record.durable_size);
        replica->generation->strict_bits = replica->generation->bits;
    }
    return 0;
}

/* Whether a replica may have something behind the end of the file: not where its last window is right. */
static bool may_have_tails(const struct file *file, const struct replica_map *map, const struct replica_entry *entry)
{
    return file->record.size == 0 || !windows_has(&entry->right, (file->record.size - 1) >> map->shift);
}

static int take_up(struct fs *fs, struct file *file, struct replicas *replicas, uint32_t i)
{
    const struct replica_entry *entry = &replicas->map.replica[i];
    struct replica *replica = &replicas->replica[i];
    int r = make_generation(fs, file, entry, replica);

    if (r == 0 && (entry->flags & REPLICA_ENDED) != 0)
        replica->is_lost = true;
    if (r == 0)
        r = believe(file, &replicas->map, entry, replica);
    if (r == 0 && replica->generation != NULL && may_have_tails(file, &replicas->map, entry))
        subfiles_cut_later(fs, replica->generation, file->record.size);
    return r;
}

/* -- the second copy -- */

bool replica_is_copy(const struct file *file, const struct replica_entry *entry)
{
    return (entry->flags & (REPLICA_COPY | REPLICA_ENDED)) == REPLICA_COPY && wants_copy(file) &&
           memcmp(entry->layout, file->now->layout->hash, HASH_SIZE) == 0 &&
           entry->rotate == file_layout_copy_rotate(file->now->layout, file->now->rotate);
}

static bool has_copy(const struct file *file, const struct replica_map *map)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (replica_is_copy(file, &map->replica[i]))
            return true;
    return false;
}

int replicas_add(struct fs *fs, struct file *file, struct replicas *replicas, const struct replica_entry *asked)
{
    struct replica_map *map = &replicas->map;
    struct replica_entry *entry = &map->replica[map->n];
    struct replica *replica = &replicas->replica[map->n];
    int r;

    if (map->n == REPLICAS_MAX)
        return -EBUSY;
    *entry = *asked;
    entry->number = map->next;
    r = make_generation(fs, file, entry, replica);
    if (r == 0 && replica->generation != NULL && replicas->is_new)
        generation_has_none(replica->generation);
    else if (r == 0 && replica->generation != NULL)
        subfiles_cut_later(fs, replica->generation, 0); /* what lies there under its number is nobody's */
    if (r == 0)
        r = believe(file, map, entry, replica);
    if (r < 0) {
        replica_done(fs, replica);
        return r;
    }
    map->next++;
    map->n++;
    replicas->shall_replace = true;
    return 0;
}

int replicas_agree(struct fs *fs, struct file *file, struct replicas *replicas)
{
    struct replica_entry copy = { .flags = REPLICA_UPDATE | REPLICA_COPY, .hi = UINT64_MAX };
    const struct placed_layout laying = laying_of(file);
    bool follows = false;
    int r = 0;

    replicas->places = replica_places(fs->volume, &laying);
    if (wants_copy(file) && !has_copy(file, &replicas->map)) {
        copy.rotate = file_layout_copy_rotate(file->now->layout, file->now->rotate);
        memcpy(copy.layout, file->now->layout->hash, HASH_SIZE);
        r = replicas_add(fs, file, replicas, &copy);
    }
    for (uint32_t i = 0; i < replicas->map.n; i++)
        follows |= (replicas->map.replica[i].flags & (REPLICA_UPDATE | REPLICA_ENDED)) == REPLICA_UPDATE;
    atomic_store(&file->follows, follows);
    return r == -EBUSY ? 0 : r; /* those that wait to be removed make place */
}

/* -- life -- */

int replicas_new(struct fs *fs, struct file *file, struct replicas **ret_replicas)
{
    const struct placed_layout laying = laying_of(file);
    struct replicas *replicas = calloc(1, sizeof *replicas);

    if (replicas == NULL)
        return -ENOMEM;
    begin_map(file, &replicas->map);
    replicas->map.shift = replica_shift(fs->replica_shift, file->record.size);
    replicas->places = replica_places(fs->volume, &laying);
    replicas->shall_replace = true;
    replicas->blocks = SUBFILE_LEN_UNKNOWN;
    mutex_init(&replicas->changing);
    mutex_init(&replicas->lock);
    *ret_replicas = replicas;
    return 0;
}

static int load(struct fs *fs, struct file *file, bool is_new, struct replicas *replicas)
{
    int r = read_map(fs, file, is_new, replicas);

    for (uint32_t i = 0; r == 0 && i < replicas->map.n; i++)
        r = take_up(fs, file, replicas, i);
    return r < 0 ? r : replicas_agree(fs, file, replicas);
}

int replicas_load(struct fs *fs, struct file *file, bool is_new)
{
    struct replicas *replicas;
    int r;

    if (!file->record.has_map && !wants_copy(file))
        return 0;
    r = replicas_new(fs, file, &replicas);
    if (r < 0)
        return r;
    replicas->is_new = is_new;
    r = load(fs, file, is_new, replicas);
    if (r < 0) {
        replicas_free(fs, replicas);
        return r;
    }
    replicas->is_new = false;
    file->replicas = replicas;
    if (replicas_are_due(file))
        fs->calls->follow(fs, file->inode);
    return 0;
}

void replica_done(struct fs *fs, struct replica *replica)
{
    subfiles_free(fs, replica->generation);
    windows_done(&replica->wrong);
    windows_done(&replica->right);
    windows_done(&replica->covered);
    windows_done(&replica->still);
    replica->generation = NULL;
    replica->is_lost = replica->is_failing = false;
    replica->error = 0;
    replica->blocks = 0;
}

void replicas_free(struct fs *fs, struct replicas *replicas)
{
    if (replicas == NULL)
        return;
    for (uint32_t i = 0; i < REPLICAS_MAX; i++)
        replica_done(fs, &replicas->replica[i]);
    replica_map_done(&replicas->map);
    mutex_done(&replicas->changing);
    mutex_done(&replicas->lock);
    free(replicas);
}

/* Each replica has sets of windows, of 8 KiB at most, besides what its layout weighs. */
#define SETS_WEIGHT 8

uint32_t replicas_weight(const struct replicas *replicas)
{
    uint32_t weight = 0;

    for (uint32_t i = 0; replicas != NULL && i < replicas->map.n; i++)
        if (replicas->replica[i].generation != NULL)
            weight += SETS_WEIGHT + file_layout_weight(replicas->replica[i].generation->layout);
    return weight;
}

/* -- of files that are not in use -- */

static bool lacks(const struct replica_map *map, const struct replica_entry *entry, uint64_t size)
{
    uint64_t from, to;

    return (entry->flags & REPLICA_ENDED) != 0 ||
           (replica_span(map, entry, 0, size, &from, &to) && !windows_has_all(&entry->right, from, to));
}

/* Whether a file may have grown, by whole windows, without its record or its map telling that: a crash has come
 * between. */
static bool may_have_grown(const struct fs *fs, const struct replica_map *map, const struct record *record)
{
    return record_may_be_behind(fs->volume, record) && record->size % (UINT64_C(1) << map->shift) == 0;
}

bool replicas_lack(struct fs *fs, const struct record *record)
{
    struct placed_layout laying = { .rotate = record->rotate };
    struct file_layout *layout;
    struct replica_places places;
    struct replica_map map;
    bool lack, wants, differ;

    if (layouts_get(fs->layouts, record->layout, &layout) < 0)
        return false;
    laying.layout = layout;
    wants = layout->layout->copies > 1;
    places = replica_places(fs->volume, &laying);
    layouts_put(fs->layouts, layout);
    if (!record->has_map && !wants)
        return false;
    if (replica_map_read(fs->volume, &places, record->id, record->gen, &map, &differ) < 0)
        return wants && (record->size > 0 || record_may_be_behind(fs->volume, record));
    lack = may_have_grown(fs, &map, record);
    for (uint32_t i = 0; !lack && i < map.n; i++)
        lack = lacks(&map, &map.replica[i], record->size);
    replica_map_done(&map);
    return lack;
}
