/* SPDX-License-Identifier: MIT */
#include "fs/core/migrate.h"

#include "fs/core/file_store.h"
#include "fs/core/file_text.h"
#include "fs/core/journal.h"
#include "fs/core/subfile.h"
#include "fs/core/target.h"

#include <string.h>
#include <unistd.h>

/* Of a window, so many bytes are copied at a time. */
#define PIECE (UINT64_C(1) << 20)

static uint64_t piece_of(const struct fs *fs)
{
    return MIN(fs->window, PIECE);
}

void migration_init(struct migration *migration, struct fs *fs, struct file *file)
{
    *migration = (struct migration){ .fs = fs, .file = file };
}

void migration_done(struct migration *migration)
{
    free(migration->buf);
    migration->buf = NULL;
}

/* -- the record -- */

/* Stores a change of the record durably, or takes it back. meta is held, and io exclusively: others look without meta.
 */
static int store_durably(struct migration *migration, const struct record *changed)
{
    struct file *file = migration->file;
    struct record before = file->record;
    int r;

    file->record = *changed;
    r = file_store(migration->fs, file);
    if (r < 0)
        file->record = before;
    else
        r = file_sync_stub(migration->fs, file);
    return r;
}

static struct record get_record(struct file *file)
{
    struct record record;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    return record;
}

/* The same for what nobody looks at but with meta: how far it got, and what is to become of it. */
static int store_progress(struct migration *migration, uint64_t migrated, uint32_t flags)
{
    struct record *record = &migration->file->record;
    const uint64_t migrated_before = record->migrated;
    const uint32_t flags_before = record->target_flags;
    int r;

    record->migrated = migrated;
    record->target_flags = flags;
    r = file_store(migration->fs, migration->file);
    if (r == 0)
        return file_sync_stub(migration->fs, migration->file);
    record->migrated = migrated_before;
    record->target_flags = flags_before;
    return r;
}

int migration_pause(struct migration *migration, bool pause)
{
    const struct record *record = &migration->file->record;
    int r = 0;

    pthread_mutex_lock(&migration->file->meta);
    if (record_migrates(record))
        r = store_progress(migration, record->migrated,
                           (record->target_flags & ~(uint32_t) TARGET_PAUSED) | (pause ? TARGET_PAUSED : 0));
    pthread_mutex_unlock(&migration->file->meta);
    return r;
}

/* Of a generation before, also one that was switched from. */
static int remove_old(struct migration *migration)
{
    struct file *file = migration->file;
    int r;

    pthread_mutex_lock(&file->sync_lock);
    r = file_remove_old(migration->fs, file);
    pthread_mutex_unlock(&file->sync_lock);
    return r;
}

/* -- the beginning -- */

/* io is held exclusively. */
static int set_target(struct migration *migration, const struct file_layout *layout, uint16_t rotate)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    memcpy(record.target_layout, layout->hash, HASH_SIZE);
    record.target_rotate = rotate;
    record.target_flags = 0;
    record.target_limit = record_pack_limit(migration->limit);
    record.migrated = 0;
    record.state = record.state == RECORD_OK ? RECORD_MIGR : record.state;
    r = store_durably(migration, &record);
    pthread_mutex_unlock(&file->meta);
    return r < 0 ? r : target_attach(migration->fs, file);
}

static int begin(struct migration *migration, const struct file_layout *layout, uint16_t rotate)
{
    struct file *file = migration->file;
    int r = journal_add(migration->fs, file);

    if (r < 0)
        return r;
    r = file_begin_cut(file);
    if (r < 0)
        return r;
    r = set_target(migration, layout, rotate);
    file_end_cut(file);
    return r;
}

static bool has_layout(struct migration *migration, const struct file_layout *layout)
{
    struct record record;
    struct file_layout *now = file_look(migration->fs, migration->file, &record);
    bool has = file_layout_equals(now, layout);

    layouts_put(migration->fs->layouts, now);
    return has;
}

int migration_begin(struct migration *migration, const struct file_layout *layout, bool rotates)
{
    struct file *file = migration->file;
    struct record record = get_record(file);
    uint16_t rotate = file_layout_rotate(layout, rotates, record.id);
    int r;

    if (migration->fs->read_only)
        return -EROFS;
    if (record_migrates(&record))
        return -EBUSY;
    if (record.rotate == rotate && has_layout(migration, layout))
        return 1;
    r = remove_old(migration);
    if (r == 0)
        r = begin(migration, layout, rotate);
    if (r < 0) {
        record = get_record(file);
        if (record_migrates(&record))
            (void) migration_give_up(migration);
        else
            (void) journal_drop(migration->fs, file->inode, &record);
    }
    return r;
}

/* -- copying -- */

/* All subfiles of the target's generation, whoever left them. */
static int remove_target(struct migration *migration)
{
    struct record record = get_record(migration->file);
    struct file_layout *layout;
    int r = layouts_get(migration->fs->layouts, record.target_layout, &layout);

    if (r == -EIO || r == -EUCLEAN)
        return 0; /* no text, no place to look for: fsck finds them by their names */
    if (r < 0)
        return r;
    r = subfile_remove_target(migration->fs, &record, layout);
    layouts_put(migration->fs->layouts, layout);
    return r;
}

/* What an earlier mount copied and its record tells of is there; what lies behind is nobody's. */
static int prepare_slot(struct migration *migration, struct file *to, uint32_t slot, uint64_t migrated)
{
    uint64_t want = file_layout_len(to->layout, slot, migrated), len;
    int r = subfile_len(migration->fs, to, slot, &len);

    if (r == 0 && len > want)
        r = subfile_set_len(migration->fs, to, slot, want);
    return r == 0 && len < want ? -EUCLEAN : r;
}

/* It is not, after all. */
static int start_over(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    record.migrated = 0;
    r = store_durably(migration, &record);
    pthread_mutex_unlock(&file->meta);
    if (r < 0)
        return r;
    subfile_close_all(migration->fs, file->target->file);
    atomic_store(&file->target->done, 0);
    return 0;
}

/* Bytes that are lost would look like a hole, and be one in the new generation. */
static int check_whole(struct migration *migration)
{
    struct file *file = migration->file;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file->n_slots; slot++) {
        uint64_t must, len;

        pthread_mutex_lock(&file->meta);
        must = file_must_have(file, slot);
        pthread_mutex_unlock(&file->meta);
        if (must == 0)
            continue;
        r = subfile_len(migration->fs, file, slot, &len);
        if (r == 0 && len < must)
            r = -EIO;
    }
    return r;
}

static int prepare_target(struct migration *migration)
{
    struct file *file = migration->file, *to = file->target->file;
    uint64_t done = MIN(atomic_load(&file->target->done), file_size(file));
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++)
        if (!to->sub[slot].kept && !to->sub[slot].absent)
            r = prepare_slot(migration, to, slot, done);
    if (r == -EUCLEAN)
        r = start_over(migration);
    if (r == 0 && atomic_load(&file->target->done) == 0)
        r = remove_target(migration);
    return r;
}

static int prepare(struct migration *migration)
{
    struct file *file = migration->file;
    int r = file_begin_cut(file);

    if (r < 0)
        return r;
    r = check_whole(migration);
    if (r == 0)
        r = prepare_target(migration);
    file->target->prepared = r == 0;
    file_end_cut(file);
    return r < 0 ? r : 1;
}

/* Holes may be long: the next data is looked for, with nobody else at work. */
static int skip_hole(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done;
    int64_t next;
    int r = file_begin_cut(file);

    if (r < 0)
        return r;
    migration->is_in_hole = false;
    done = atomic_load(&file->target->done); /* what the file has grown by since is behind it */
    next = file_next_data(migration->fs, file, done);
    if (next > (int64_t) done)
        atomic_store(&file->target->done, (uint64_t) next);
    file_end_cut(file);
    return next < 0 ? (int) next : 1;
}

/* Disks are asked for all of it at once: what is copied then stays in the cache nearest to the processor. */
static void prefetch(struct migration *migration, uint64_t lo, uint64_t hi)
{
    cleanup(file_store_done) struct file_store file_store = { .fs = migration->fs, .file = migration->file };
    struct store store = file_store_of(&file_store);

    if (!migration->file->target->keeps_any)
        store.ops->prefetch(store.ctx, hi - lo, lo);
}

/* TARGET_EMPTY: all of it is a hole. */
static int copy_pieces(struct migration *migration, uint64_t lo, uint64_t hi)
{
    bool is_empty = lo < hi;
    int r = 0;

    for (uint64_t n; r >= 0 && lo < hi; lo += n) {
        n = MIN(piece_of(migration->fs), hi - lo);
        r = target_copy(migration->fs, migration->file, lo, lo + n, true, migration->buf);
        is_empty = is_empty && r == TARGET_EMPTY;
    }
    return r < 0 ? r : is_empty ? TARGET_EMPTY : 0;
}

/* The range is locked. */
static int copy_locked(struct migration *migration, uint64_t lo, uint64_t hi)
{
    struct file *file = migration->file;
    int r;

    pthread_rwlock_rdlock(&file->io);
    hi = MIN(hi, file_size(file));
    r = copy_pieces(migration, lo, hi);
    if (r >= 0)
        atomic_store(&file->target->done, MAX(lo, hi));
    pthread_rwlock_unlock(&file->io);
    return r;
}

static int copy_window(struct migration *migration, uint64_t lo)
{
    struct file *file = migration->file;
    uint64_t window = migration->fs->window, hi = lo - lo % window + window;
    int r = ranges_lock(&file->ranges, lo, hi);

    if (r < 0)
        return r;
    prefetch(migration, lo, hi);
    r = copy_locked(migration, lo, hi);
    ranges_unlock(&file->ranges, lo, hi);
    if (r < 0)
        return r;
    migration->unconfirmed += hi - lo;
    migration->is_in_hole = r == TARGET_EMPTY;
    return migration->unconfirmed >= migration->fs->confirm ? migration_confirm(migration) : 1;
}

/* All that there was is copied; what comes from now on goes to both. What somebody appended meanwhile is copied with
 * nobody else at work, if it is not much. */
static int reach_end(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done, size;
    int r = ranges_lock(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    done = atomic_load(&file->target->done);
    size = file_size(file);
    if (done < size && size - done <= migration->fs->window) {
        r = copy_locked(migration, done, size);
        done = atomic_load(&file->target->done);
    }
    if (r >= 0 && done >= size)
        atomic_store(&file->target->done, UINT64_MAX);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return r < 0 ? r : 1;
}

/* -- how far it got -- */

/* Subfiles as long as they must be if all below migrated is there, and durable. */
static int make_durable(struct migration *migration, uint64_t migrated)
{
    struct file *to = migration->file->target->file;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++) {
        uint64_t want = file_layout_len(to->layout, slot, migrated), len;

        if (to->sub[slot].kept || want == 0)
            continue;
        r = subfile_len(migration->fs, to, slot, &len);
        if (r == 0 && len < want)
            r = subfile_set_len(migration->fs, to, slot, want);
    }
    return r < 0 ? r : file_sync_subfiles(migration->fs, to);
}

/* Everybody who writes says where, in target->lowest. */
static int look_at_done(struct migration *migration, uint64_t *ret_done)
{
    struct file *file = migration->file;
    int r = ranges_lock(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    *ret_done = MIN(atomic_load(&file->target->done), file_size(file));
    atomic_store(&file->target->lowest, UINT64_MAX);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return 0;
}

static int tell_done(struct migration *migration, uint64_t done)
{
    struct file *file = migration->file;
    int r = ranges_lock(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    r = store_progress(migration, MIN(done, atomic_load(&file->target->lowest)), file->record.target_flags);
    pthread_mutex_unlock(&file->meta);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return r;
}

/* Both generations are durable up to there before the record says so: a crash would take from one what the other kept.
 */
int migration_confirm(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done;
    int r;

    if (file->target == NULL || !file->target->prepared || atomic_load(&file->target->error) != 0)
        return 1;
    r = look_at_done(migration, &done);
    if (r == 0)
        r = file_sync(migration->fs, file, false);
    if (r == 0)
        r = make_durable(migration, done);
    if (r == 0)
        r = tell_done(migration, done);
    migration->unconfirmed = 0;
    return r < 0 ? r : 1;
}

/* -- the switch -- */

/* The record of the new generation. meta is held. */
static struct record switched(const struct file *file)
{
    const struct record *to = &file->target->file->record;
    struct record record = file->record;

    memcpy(record.old_layout, record.layout, HASH_SIZE);
    memcpy(record.layout, to->layout, HASH_SIZE);
    record.old_rotate = record.rotate;
    record.rotate = to->rotate;
    record.oldest_gen = record.gen;
    record.gen = to->gen;
    record.bits = record.durable = to->bits;
    record.dirty = to->dirty;
    record.durable_size = record.size;
    record.padded = true;
    record_end_migration(&record);
    return record;
}

/* The file gets the target's subfiles, the target those that were the file's. meta is held. */
static void exchange(struct file *file)
{
    struct file *to = file->target->file;
    struct file_layout *layout = file->layout;
    struct subfile *sub = file->sub;
    struct record record = file->record;
    uint32_t n_slots = file->n_slots;

    file->layout = to->layout;
    file->sub = to->sub;
    file->n_slots = to->n_slots;
    to->layout = layout;
    to->sub = sub;
    to->n_slots = n_slots;
    to->record = file->stored; /* its rotation tells where those are */
    to->record.rotate = record.old_rotate;
    file->strict = record.size;
    file->strict_bits = record.bits;
}

/* A subfile that stays gets the name it has in the new generation; it loses the other one with the old generation. */
static int link_kept(struct migration *migration, uint32_t slot, uint32_t from)
{
    struct fs *fs = migration->fs;
    struct file *file = migration->file, *to = file->target->file;
    char old[OBJECT_PATH], new[OBJECT_PATH];
    const struct disk *disk = NULL;
    int fd, r = subfile_open(fs, file, from, SUBFILE_READ, &fd);

    if (r == 0)
        r = subfile_disk(fs, file, from, &disk);
    if (r < 0 || fd < 0)
        return r;
    object_path(fs->volume, file->record.id, file->record.gen, from, file->layout, old);
    object_path(fs->volume, to->record.id, to->record.gen, slot, to->layout, new);
    r = disk_call(disk, link, disk->root, old, disk->root, new);
    if (r < 0 && r != -EEXIST)
        return r;
    bits_mark(&to->record.bits, slot);
    object_path(fs->volume, file->record.id, 0, OBJECT_DIR, file->layout, old);
    return file_text_sync_dir(disk, old);
}

/* With io held exclusively; what stays must be as durable as what was copied. */
static int link_all_kept(struct migration *migration)
{
    struct file *file = migration->file, *to = file->target->file;
    int r = 0;

    if (!file->target->keeps_any)
        return 0;
    r = file_pad(migration->fs, file);
    if (r == 0)
        r = file_sync_subfiles(migration->fs, file);
    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++)
        if (to->sub[slot].kept)
            r = link_kept(migration, slot, file->target->kept_from[slot]);
    return r;
}

/* What is known of subfiles that stay goes along. meta is held. */
static void take_kept(struct file *file)
{
    struct file *to = file->target->file;

    for (uint32_t slot = 0; slot < to->n_slots; slot++) {
        struct subfile *old;

        if (!to->sub[slot].kept)
            continue;
        old = &file->sub[file->target->kept_from[slot]];
        to->sub[slot] = *old;
        to->sub[slot].writing = false; /* who would say so knows the other name only */
        *old = (struct subfile){ .fd = -1, .absent = true };
    }
}

/* io is held exclusively; the target is whole and durable. The sync may fail: either record is right. */
static int store_switch(struct migration *migration, struct target **ret_old)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    pthread_mutex_lock(&file->meta);
    record = switched(file);
    r = store_durably(migration, &record);
    if (file->record.gen == record.gen) {
        take_kept(file);
        exchange(file);
        *ret_old = steal(file->target);
        atomic_store(&file->migrates, false);
    }
    pthread_mutex_unlock(&file->meta);
    return r;
}

static int switch_locked(struct migration *migration, struct target **ret_old)
{
    struct file *file = migration->file, *to = file->target->file;
    uint64_t blocks = 0;
    int r;

    if (file->record.state == RECORD_TRUNC) /* only changes under io */
        r = file_finish_cut(migration->fs, file);
    else
        r = atomic_load(&file->target->error);
    if (r < 0)
        return r;
    to->record.size = file_size(file);
    r = file_pad(migration->fs, to);
    if (r == 0)
        r = file_sync_subfiles(migration->fs, to);
    if (r == 0)
        r = link_all_kept(migration);
    if (r < 0)
        return r;
    if (!file->target->keeps_any && file_count_blocks(migration->fs, to, &blocks)) {
        pthread_mutex_lock(&file->meta);
        file->record.blocks = blocks;
        file->written = 0;
        pthread_mutex_unlock(&file->meta);
    }
    return store_switch(migration, ret_old);
}

static int switch_over(struct migration *migration)
{
    struct file *file = migration->file;
    struct target *old = NULL;
    int r;

    if (!migration->is_synced) {
        r = file_sync_subfiles(migration->fs, file->target->file);
        migration->is_synced = r == 0;
        return r < 0 ? r : 1;
    }
    r = file_begin_cut(file);
    if (r < 0)
        return r;
    r = switch_locked(migration, &old);
    file_end_cut(file);
    target_free(migration->fs, old);
    return old != NULL ? 1 : r;
}

/* -- the end -- */

static int clean_up(struct migration *migration)
{
    return remove_old(migration) < 0 ? -EAGAIN : 0;
}

int migration_step(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record = get_record(file);
    struct target *target = file->target;
    uint64_t done;
    int r;

    if (!record_migrates(&record))
        return clean_up(migration);
    if (target == NULL)
        return -EUCLEAN; /* given up, or its layout is lost */
    r = atomic_load(&target->error);
    if (r == 0 && migration->buf == NULL && (migration->buf = malloc(piece_of(migration->fs))) == NULL)
        r = -ENOMEM;
    if (r < 0)
        return r;
    if (!target->prepared)
        return prepare(migration);
    done = atomic_load(&target->done);
    if (done == UINT64_MAX)
        return switch_over(migration);
    if (migration->is_in_hole)
        return skip_hole(migration);
    return done < file_size(file) ? copy_window(migration, done) : reach_end(migration);
}

/* io is held exclusively. From here on nobody writes to the target, so nobody may believe in it. */
static int detach(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    record.target_flags |= TARGET_GIVEN_UP;
    record.migrated = 0;
    r = store_durably(migration, &record);
    pthread_mutex_unlock(&file->meta);
    return r;
}

static int end_record(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r = file_begin_cut(file);

    if (r < 0)
        return r;
    pthread_mutex_lock(&file->meta);
    record = file->record;
    record_end_migration(&record);
    r = store_durably(migration, &record);
    pthread_mutex_unlock(&file->meta);
    file_end_cut(file);
    return r;
}

int migration_give_up(struct migration *migration)
{
    struct file *file = migration->file;
    struct target *target = NULL;
    struct record record = get_record(file);
    int r = 0;

    if (!record_migrates(&record))
        return 0;
    if ((record.target_flags & TARGET_GIVEN_UP) == 0 || file->target != NULL) {
        r = file_begin_cut(file);
        if (r < 0)
            return r;
        r = detach(migration);
        if (r == 0) {
            target = steal(file->target);
            atomic_store(&file->migrates, false);
        }
        file_end_cut(file);
        target_free(migration->fs, target);
    }
    if (r == 0)
        r = remove_target(migration);
    return r < 0 ? r : end_record(migration);
}

void migration_progress(struct migration *migration, uint64_t *ret_done, uint64_t *ret_total)
{
    struct file *file = migration->file;

    pthread_rwlock_rdlock(&file->io);
    *ret_total = file_size(file);
    *ret_done = file->target == NULL ? *ret_total : MIN(atomic_load(&file->target->done), *ret_total);
    pthread_rwlock_unlock(&file->io);
}
