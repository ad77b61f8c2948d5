/* SPDX-License-Identifier: MIT */
#include "fs/core/file/file_replicas.h"

#include "fs/core/file/replicas.h"
#include "fs/core/file/subfiles.h"

#include <string.h>

/* -- adding -- */

static uint32_t count_asked(const struct replica_map *map)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < map->n; i++)
        n += (map->replica[i].flags & (REPLICA_COPY | REPLICA_ENDED)) == 0;
    return n;
}

/* Holds the text of a replica's layout, as a record holds that of its file: for as long as this mount lasts. */
static void hold(struct fs *fs, const struct file_layout *layout)
{
    struct record record = { 0 };

    record_lay_out(&record, layout, 0);
    layouts_hold(fs->layouts, &record);
}

/* Makes the record tell that there is a map. */
static int store_has_map(struct fs *fs, struct file *file)
{
    struct record record;
    int r = 0;

    mutex_lock(&file->meta);
    record = *file_record(file);
    record.has_map = true;
    if (!file->record.has_map)
        r = file_store_changed(fs, file, &record);
    mutex_unlock(&file->meta);
    return r < 0 ? r : file_sync_stub(fs, file);
}

/* Takes the last replica back out of the list. */
static void undo(struct fs *fs, struct replicas *replicas)
{
    replicas->map.n--;
    replica_done(fs, &replicas->replica[replicas->map.n]);
    replica_entry_done(&replicas->map.replica[replicas->map.n]);
    replicas->shall_replace = true;
}

static int add_to(struct fs *fs, struct file *file, struct replicas *replicas, const struct replica_asked *asked)
{
    struct replica_entry entry = {
        .flags = asked->updates ? REPLICA_UPDATE : 0, .rotate = asked->rotate, .lo = asked->lo, .hi = asked->hi
    };
    int r = count_asked(&replicas->map) == REPLICAS_USERS ? -EUSERS : 0;

    memcpy(entry.layout, asked->layout->hash, HASH_SIZE);
    if (r == 0)
        r = replicas_add(fs, file, replicas, &entry);
    if (r < 0)
        return r;
    hold(fs, asked->layout);
    mutex_lock(&replicas->changing);
    r = replicas_write_list(fs, file, replicas);
    mutex_unlock(&replicas->changing);
    if (r == 0)
        r = store_has_map(fs, file);
    if (r < 0)
        undo(fs, replicas);
    return r;
}

/* The caller holds io exclusively. */
static int add_locked(struct fs *fs, struct file *file, const struct replica_asked *asked, uint32_t *ret_number)
{
    struct replicas *replicas = file->replicas;
    int r = replicas == NULL ? replicas_new(fs, file, &replicas) : 0;

    if (r < 0)
        return r;
    r = add_to(fs, file, replicas, asked);
    if (r < 0 && file->replicas == NULL) {
        replicas_free(fs, replicas);
        return r;
    }
    file->replicas = replicas;
    if (r < 0)
        return r;
    *ret_number = replicas->map.replica[replicas->map.n - 1].number;
    return replicas_agree(fs, file, replicas);
}

int file_add_replica(struct fs *fs, struct file *file, const struct replica_asked *asked, uint32_t *ret_number)
{
    int r = fs->read_only ? -EROFS : file_try_alone(fs, file);

    if (r < 0)
        return r;
    r = add_locked(fs, file, asked, ret_number);
    file_end_alone(file);
    if (r == 0)
        fs->calls->follow(fs, file->inode);
    return r;
}

/* -- dropping -- */

/* Finds a replica; UINT32_MAX: there is none with that number. */
static uint32_t find(const struct replicas *replicas, uint32_t number)
{
    for (uint32_t i = 0; replicas != NULL && i < replicas->map.n; i++)
        if (replicas->map.replica[i].number == number)
            return i;
    return UINT32_MAX;
}

/* Has no disk call windows of a replica right that has none in memory; before: one more than the highest it had. Needs
 * no room, as the list does that tells that the replica goes. */
static int clear_in_place(struct fs *fs, struct replicas *replicas, uint64_t before) REQUIRES(replicas->changing)
{
    int r = before > 0 ? replica_map_update(fs->volume, &replicas->places, &replicas->map, 0, before) : 0;

    return MIN(r, 0);
}

/* Notes durably that a replica is to go. Where that fails the disks may call windows right, and so it stays. io is held
 * exclusively. */
static int end_locked(struct fs *fs, struct file *file, uint32_t i)
{
    struct replicas *replicas = file->replicas;
    struct replica_entry *entry = &replicas->map.replica[i];
    const uint64_t end = MAX(windows_end(&entry->right), windows_end(&entry->safe));
    struct windows right = entry->right, safe = entry->safe;
    bool was_lost = replicas->replica[i].is_lost;
    int r;

    mutex_lock(&replicas->changing);
    mutex_lock(&replicas->lock);
    entry->flags |= REPLICA_ENDED;
    entry->right = entry->safe = (struct windows){ 0 };
    replicas->replica[i].is_lost = true;
    mutex_unlock(&replicas->lock);
    r = replicas_write_list(fs, file, replicas);
    if (r == -ENOSPC)
        r = clear_in_place(fs, replicas, end);
    mutex_lock(&replicas->lock);
    if (r < 0) {
        entry->flags &= (uint16_t) ~REPLICA_ENDED;
        entry->right = right;
        entry->safe = safe;
        replicas->replica[i].is_lost = was_lost;
    } else {
        windows_done(&right);
        windows_done(&safe);
    }
    mutex_unlock(&replicas->lock);
    mutex_unlock(&replicas->changing);
    return r < 0 ? r : replicas_agree(fs, file, replicas);
}

/* Takes a replica out of the list whose subfiles have gone. io is held exclusively. */
static int take_out_locked(struct fs *fs, struct file *file, uint32_t i)
{
    struct replicas *replicas = file->replicas;
    struct replica_map *map = &replicas->map;
    int r;

    mutex_lock(&replicas->changing);
    replica_done(fs, &replicas->replica[i]);
    replica_entry_done(&map->replica[i]);
    map->n--;
    memmove(&map->replica[i], &map->replica[i + 1], (map->n - i) * sizeof map->replica[0]);
    memmove(&replicas->replica[i], &replicas->replica[i + 1], (map->n - i) * sizeof replicas->replica[0]);
    memset(&map->replica[map->n], 0, sizeof map->replica[0]);
    memset(&replicas->replica[map->n], 0, sizeof replicas->replica[0]);
    r = replicas_write_list(fs, file, replicas);
    mutex_unlock(&replicas->changing);
    return r;
}

/* What a replica that is to go has left: its subfiles, by their names. */
struct left {
    uint8_t id[ID_SIZE];
    struct replica_entry entry;
    struct file_layout *layout; /* with a reference; NULL: nobody knows it */
};

static struct left what_is_left(struct fs *fs, struct file *file, uint32_t i)
{
    const struct generation *generation;
    struct left left = { 0 };

    pthread_rwlock_rdlock(&file->io);
    generation = file->replicas->replica[i].generation;
    memcpy(left.id, file->record.id, ID_SIZE);
    left.entry = file->replicas->map.replica[i]; /* which has no bits */
    if (generation != NULL)
        left.layout = layouts_ref(fs->layouts, generation->layout);
    pthread_rwlock_unlock(&file->io);
    return left;
}

/* Removes a replica that is to go: its subfiles, and its place in the list. Nobody else takes it out meanwhile, as that
 * is done by who has sync_lock. */
static int remove_ended(struct fs *fs, struct file *file, uint32_t i) REQUIRES(file->sync_lock)
{
    struct left left = what_is_left(fs, file, i);
    int r = left.layout == NULL ? 0 : replica_remove_subfiles(fs->volume, left.id, &left.entry, left.layout);

    if (left.layout != NULL)
        layouts_put(fs->layouts, left.layout);
    if (r == 0)
        r = file_begin_alone(file);
    if (r < 0)
        return r;
    r = take_out_locked(fs, file, i);
    file_end_alone(file);
    return r;
}

static int drop_locked(struct fs *fs, struct file *file, uint32_t number) REQUIRES(file->sync_lock)
{
    uint32_t i;
    int r = file_try_alone(fs, file);

    if (r < 0)
        return r;
    i = find(file->replicas, number);
    if (i == UINT32_MAX)
        r = -ENOENT;
    else if (replica_is_copy(file, &file->replicas->map.replica[i]))
        r = -EPERM;
    else
        r = end_locked(fs, file, i);
    file_end_alone(file);
    if (r == 0 && remove_ended(fs, file, i) < 0)
        fs->calls->follow(fs, file->inode);
    return r;
}

int file_drop_replica(struct fs *fs, struct file *file, uint32_t number)
{
    int r;

    if (fs->read_only)
        return -EROFS;
    r = file_lock_sync(fs, file);
    if (r != 0)
        return r;
    r = drop_locked(fs, file, number);
    mutex_unlock(&file->sync_lock);
    return r;
}

/* -- giving way -- */

/* Whether a replica lies on one of these disks. */
static bool lies_on(const struct fs *fs, const struct generation *generation, const bool on[])
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++)
        if (on[file_layout_on(generation->layout, fs->volume, generation->rotate, slot)->index])
            return true;
    return false;
}

static bool gives_way(const struct fs *fs, const struct replicas *replicas, uint32_t i, const bool on[], bool updated)
{
    const uint16_t flags = replicas->map.replica[i].flags;

    return (flags & (REPLICA_COPY | REPLICA_ENDED)) == 0 && ((flags & REPLICA_UPDATE) != 0) == updated &&
           replicas->replica[i].generation != NULL && lies_on(fs, replicas->replica[i].generation, on);
}

/* Ends what gives way, and closes it, so that its room is free once it is removed. ret_gone: which they are. */
static uint32_t end_those(struct fs *fs, struct file *file, const bool on[], bool updated,
                          bool ret_gone[static REPLICAS_MAX])
{
    struct replicas *replicas = file->replicas;
    uint32_t n = 0;

    for (uint32_t i = 0; i < REPLICAS_MAX; i++) {
        ret_gone[i] = i < replicas->map.n && gives_way(fs, replicas, i, on, updated) && end_locked(fs, file, i) == 0;
        if (!ret_gone[i])
            continue;
        subfiles_close(fs, replicas->replica[i].generation);
        n++;
    }
    return n;
}

uint32_t file_give_way(struct fs *fs, struct file *file, const bool on[], bool updated)
{
    bool gone[REPLICAS_MAX];
    uint32_t n;

    if (file->replicas == NULL || file_lock_sync(fs, file) != 0)
        return 0;
    n = file_lock_io(fs, file) == 0 ? 1 : 0;
    if (n > 0) {
        n = end_those(fs, file, on, updated, gone);
        pthread_rwlock_unlock(&file->io);
    }
    pthread_rwlock_rdlock(&file->io);
    /* Who has sync_lock alone takes some out of the list. */
    for (uint32_t i = 0; n > 0 && i < file->replicas->map.n; i++)
        if (gone[i])
            (void) replica_remove_subfiles(fs->volume, file->record.id, &file->replicas->map.replica[i],
                                           file->replicas->replica[i].generation->layout);
    pthread_rwlock_unlock(&file->io);
    mutex_unlock(&file->sync_lock);
    if (n > 0)
        fs->calls->follow(fs, file->inode);
    return n;
}

/* -- tidying -- */

/* Whether all that the file has is told to be right in its second copy. */
static bool has_whole_copy(struct file *file)
{
    struct replicas *replicas = file->replicas;
    uint64_t size = file_size(file), from, to;
    bool whole = file->now->layout->layout->copies < 2;

    mutex_lock(&replicas->changing);
    for (uint32_t i = 0; !whole && i < replicas->map.n; i++)
        whole = replica_is_copy(file, &replicas->map.replica[i]) &&
                (!replica_span(&replicas->map, &replicas->map.replica[i], 0, size, &from, &to) ||
                 windows_has_all(&replicas->map.replica[i].safe, from, to));
    mutex_unlock(&replicas->changing);
    return whole;
}

/* Ends the second copies of how the file lay before. */
static int end_former(struct fs *fs, struct file *file)
{
    int r = file_begin_alone(file);

    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < file->replicas->map.n; i++) {
        const struct replica_entry *entry = &file->replicas->map.replica[i];

        if ((entry->flags & (REPLICA_COPY | REPLICA_ENDED)) == REPLICA_COPY && !replica_is_copy(file, entry))
            r = end_locked(fs, file, i);
    }
    file_end_alone(file);
    return r;
}

static bool has_former(struct file *file)
{
    bool has = false;

    pthread_rwlock_rdlock(&file->io);
    for (uint32_t i = 0; !has && i < file->replicas->map.n; i++)
        has = (file->replicas->map.replica[i].flags & (REPLICA_COPY | REPLICA_ENDED)) == REPLICA_COPY &&
              !replica_is_copy(file, &file->replicas->map.replica[i]);
    has = has && has_whole_copy(file);
    pthread_rwlock_unlock(&file->io);
    return has;
}

/* Finds a replica that is to go; UINT32_MAX: there is none. */
static uint32_t find_ended(struct file *file)
{
    uint32_t found = UINT32_MAX;

    pthread_rwlock_rdlock(&file->io);
    for (uint32_t i = 0; file->replicas != NULL && found == UINT32_MAX && i < file->replicas->map.n; i++)
        if ((file->replicas->map.replica[i].flags & REPLICA_ENDED) != 0)
            found = i;
    pthread_rwlock_unlock(&file->io);
    return found;
}

bool file_has_ended_replicas(struct file *file)
{
    return find_ended(file) != UINT32_MAX;
}

int file_tidy_replicas(struct fs *fs, struct file *file)
{
    uint32_t i;
    int r = 0;

    if (file->replicas == NULL)
        return 0;
    mutex_lock(&file->sync_lock);
    if (has_former(file))
        r = end_former(fs, file);
    while (r == 0 && (i = find_ended(file)) != UINT32_MAX)
        r = remove_ended(fs, file, i);
    mutex_unlock(&file->sync_lock);
    return r;
}

/* -- telling -- */

static void view_one(struct fs *fs, struct file *file, uint32_t i, uint64_t size, struct replica_view *ret_view)
{
    struct replicas *replicas = file->replicas;
    const struct replica_entry *entry = &replicas->map.replica[i];
    const struct replica *replica = &replicas->replica[i];
    const uint64_t window = UINT64_C(1) << replicas->map.shift;
    uint64_t from, to;

    *ret_view = (struct replica_view){ .number = entry->number,
                                       .flags = entry->flags,
                                       .rotate = entry->rotate,
                                       .asked_lo = entry->lo,
                                       .asked_hi = entry->hi,
                                       .lo = MIN(entry->lo, size),
                                       .hi = MIN(entry->hi, size),
                                       .blocks = replica->blocks,
                                       .is_lost = replica->is_lost,
                                       .is_failing = replica->is_failing,
                                       .error = replica->error };
    if (replica->generation != NULL)
        ret_view->layout = layouts_ref(fs->layouts, replica->generation->layout);
    if (!replica_span(&replicas->map, entry, 0, size, &from, &to))
        return;
    for (uint64_t k = from; k < to; k++) {
        uint64_t bytes = MIN((k + 1) * window, ret_view->hi) - MAX(k * window, ret_view->lo);

        ret_view->has += !replica->is_lost && !windows_has(&replica->wrong, k) ? bytes : 0;
        ret_view->right += windows_has(&entry->right, k) ? bytes : 0;
    }
}

uint32_t file_view_replicas(struct fs *fs, struct file *file, struct replica_view ret_view[static REPLICAS_MAX])
{
    struct replicas *replicas = file->replicas; /* who has some once has them as long as it is in use */
    uint64_t size = file_size(file);
    uint32_t n = 0;

    if (replicas == NULL)
        return 0;
    pthread_rwlock_rdlock(&file->io);
    (void) replicas_count_blocks(fs, file);
    mutex_lock(&replicas->changing);
    mutex_lock(&file->meta);
    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; i < replicas->map.n; i++)
        if ((replicas->map.replica[i].flags & REPLICA_ENDED) == 0)
            view_one(fs, file, i, size, &ret_view[n++]);
    mutex_unlock(&replicas->lock);
    mutex_unlock(&file->meta);
    mutex_unlock(&replicas->changing);
    pthread_rwlock_unlock(&file->io);
    return n;
}

uint32_t file_count_replicas(struct file *file)
{
    uint32_t n = 0;

    if (file->replicas == NULL)
        return 0;
    pthread_rwlock_rdlock(&file->io);
    for (uint32_t i = 0; i < file->replicas->map.n; i++)
        n += (file->replicas->map.replica[i].flags & REPLICA_ENDED) == 0;
    pthread_rwlock_unlock(&file->io);
    return n;
}

void replica_view_done(struct fs *fs, struct replica_view *view)
{
    if (view->layout != NULL)
        layouts_put(fs->layouts, steal(view->layout));
}
