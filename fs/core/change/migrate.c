/* SPDX-License-Identifier: MIT */
#include "fs/core/change/migrate.h"

#include "fs/core/file/file_store.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/target.h"
#include "fs/core/stub/journal.h"
#include "fs/core/stub/objects.h"

#include <string.h>

/* The most bytes of a window that are copied at a time. */
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

/* clang does not analyse this: callers hold meta by the file's own name. */
int migration_store(struct migration *migration, const struct record *changed) NO_LOCK_ANALYSIS
{
    int r = file_store_changed(migration->fs, migration->file, changed);

    return r < 0 ? r : file_sync_stub(migration->fs, migration->file);
}

static struct record get_record(struct file *file)
{
    struct record record;

    mutex_lock(&file->meta);
    record = *file_record(file);
    mutex_unlock(&file->meta);
    return record;
}

/* Stores durably how far the migration has got, and its flags. The caller holds meta, but by the file's own name, so
 * clang does not analyse this. When storing fails, record has what it had before: nobody has looked at it without
 * meta. */
static int store_progress(struct migration *migration, uint64_t migrated, uint32_t flags) NO_LOCK_ANALYSIS
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

    mutex_lock(&migration->file->meta);
    if (record_migrates(record))
        r = store_progress(migration, record->migrated,
                           (record->target_flags & ~(uint32_t) TARGET_PAUSED) | (pause ? TARGET_PAUSED : 0));
    mutex_unlock(&migration->file->meta);
    return r;
}

/* Removes the subfiles of all generations before the current one, also of the one that has just been switched from. */
static int remove_old(struct migration *migration)
{
    struct file *file = migration->file;
    int r;

    mutex_lock(&file->sync_lock);
    r = file_remove_old(migration->fs, file);
    mutex_unlock(&file->sync_lock);
    return r;
}

/* Checks that the subfiles have all that was promised. Lost bytes must not be copied: they would be taken for a hole,
 * and be one in the new generation. */
static int check_whole(struct migration *migration)
{
    struct generation *now = migration->file->now;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < now->n_slots; slot++)
        r = subfile_check_whole(migration->fs, now, slot, UINT64_MAX);
    return r;
}

/* -- the beginning -- */

/* The caller holds io exclusively. */
static int set_target(struct migration *migration, const struct file_layout *layout, uint16_t rotate)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = *file_record(file);
    memcpy(record.target_layout, layout->hash, HASH_SIZE);
    record.target_rotate = rotate;
    record.target_flags = 0;
    record.target_limit = record_pack_limit(migration->limit);
    record.migrated = 0;
    record.state = record.state == RECORD_OK ? RECORD_MIGR : record.state;
    r = migration_store(migration, &record);
    mutex_unlock(&file->meta);
    if (r == 0)
        target_expect(file);
    return r;
}

static int begin(struct migration *migration, const struct file_layout *layout, uint16_t rotate)
{
    struct file *file = migration->file;
    int r = journal_add(migration->fs, file->inode, &file->record);

    if (r < 0)
        return r;
    r = file_begin_alone(file);
    if (r < 0)
        return r;
    r = set_target(migration, layout, rotate);
    file_end_alone(file);
    return r;
}

/* Whether the file has that layout already. One whose disks somebody has typed now, and nobody before, counts as
 * another layout: the file gets its text, though no byte is copied. */
static bool has_layout(struct migration *migration, const struct file_layout *layout)
{
    struct record record;
    struct file_layout *now = file_look(migration->fs, migration->file, &record);
    bool has = now->is_typed == layout->is_typed && file_layout_equals(now, layout);

    layouts_put(migration->fs->layouts, now);
    return has;
}

/* Whether a file has lost something that its replicas may have: it is made anew in the layout it has. */
static bool is_to_be_made_anew(struct migration *migration)
{
    return migration->file->replicas != NULL && check_whole(migration) < 0;
}

int migration_begin(struct migration *migration, const struct file_layout *layout, uint16_t rotate)
{
    struct file *file = migration->file;
    struct record record = get_record(file);
    int r;

    if (migration->fs->read_only)
        return -EROFS;
    if (record_migrates(&record))
        return -EBUSY;
    if (record.rotate == rotate && has_layout(migration, layout) && !is_to_be_made_anew(migration))
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

/* Removes all subfiles of the target's generation, whoever has left them. */
static int remove_target(struct migration *migration)
{
    struct record record = get_record(migration->file);
    struct file_layout *layout;
    int r = layouts_get(migration->fs->layouts, record.target_layout, &layout);

    if (r == -EIO || r == -EUCLEAN)
        return 0; /* without the layout's text nobody knows where they lie: fsck finds them by their names */
    if (r < 0)
        return r;
    r = objects_remove_target(migration->fs->volume, &record, layout);
    layouts_put(migration->fs->layouts, layout);
    return r;
}

/* Prepares a subfile of the target: it must have what an earlier mount has recorded as copied, else -EUCLEAN; what it
 * has behind that is cut off, as nobody knows what it is. */
static int prepare_slot(struct migration *migration, struct generation *to, uint32_t slot, uint64_t migrated)
{
    uint64_t want = file_layout_len(to->layout, slot, migrated), len;
    int r = subfile_len(migration->fs, to, slot, &len);

    if (r == 0 && len > want)
        r = subfile_set_len(migration->fs, to, slot, want);
    return r == 0 && len < want ? -EUCLEAN : r;
}

/* Begins the copying again at byte 0, since subfiles lack what the record says was copied. */
static int start_over(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = *file_record(file);
    record.migrated = 0;
    r = migration_store(migration, &record);
    mutex_unlock(&file->meta);
    if (r < 0)
        return r;
    subfiles_close(migration->fs, file->next->generation);
    atomic_store(&file->next->done, 0);
    return 0;
}

static int prepare_target(struct migration *migration)
{
    struct file *file = migration->file;
    struct generation *to = file->next->generation;
    uint64_t done = MIN(atomic_load(&file->next->done), file_size(file));
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++)
        if (!to->sub[slot].kept && !to->sub[slot].absent)
            r = prepare_slot(migration, to, slot, done);
    if (r == -EUCLEAN)
        r = start_over(migration);
    if (r == 0 && atomic_load(&file->next->done) == 0)
        r = remove_target(migration);
    return r;
}

static int prepare(struct migration *migration)
{
    struct file *file = migration->file;
    int r = file_begin_alone(file);

    if (r < 0)
        return r;
    r = file->replicas == NULL ? check_whole(migration) : 0; /* a replica may have what is lost */
    if (r == 0)
        r = prepare_target(migration);
    file->next->prepared = r == 0;
    file_end_alone(file);
    return r < 0 ? r : 1;
}

/* Skips a hole, which may be long: finds the next data while nobody else is at work on the file. */
static int skip_hole(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done;
    int64_t next;
    int r = file_begin_alone(file);

    if (r < 0)
        return r;
    migration->is_in_hole = false;
    done = atomic_load(&file->next->done); /* where the file has grown since, that is behind done */
    next = file_next_data(migration->fs, file, done);
    if (next > (int64_t) done)
        atomic_store(&file->next->done, (uint64_t) next);
    file_end_alone(file);
    if (next == -EIO && file->replicas != NULL)
        return 1; /* a disk of the file fails: it is gone through window by window */
    return next < 0 ? (int) next : 1;
}

/* Asks the disks for a whole window at once. The window is then copied by pieces, which stay in the cache nearest to
 * the processor. */
static void prefetch(struct migration *migration, uint64_t lo, uint64_t hi)
{
    cleanup(file_store_done) struct file_store file_store = { .fs = migration->fs, .file = migration->file };
    struct store store = file_store_of(&file_store);

    if (!migration->file->next->keeps_any)
        store.ops->prefetch(store.ctx, hi - lo, lo, NULL);
}

/* Copies from lo up to hi by pieces. TARGET_EMPTY: all of it was a hole. */
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

/* Copies from lo up to hi, or to the end of the file, and notes that this is done. The caller has locked the range. */
static int copy_locked(struct migration *migration, uint64_t lo, uint64_t hi)
{
    struct file *file = migration->file;
    int r;

    pthread_rwlock_rdlock(&file->io);
    hi = MIN(hi, file_size(file));
    r = copy_pieces(migration, lo, hi);
    if (r >= 0)
        atomic_store(&file->next->done, MAX(lo, hi));
    pthread_rwlock_unlock(&file->io);
    return r;
}

static int copy_window(struct migration *migration, uint64_t lo)
{
    struct file *file = migration->file;
    uint64_t window = migration->fs->window, hi = lo - lo % window + window;
    int r = ranges_lock_behind(&file->ranges, lo, hi);

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

/* Ends the copying: from now on all that is written goes to both generations. What somebody has appended meanwhile is
 * copied first, with all ranges locked, if it fits a window; else another window is copied as usual. */
static int reach_end(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done, size;
    int r = ranges_lock_behind(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    done = atomic_load(&file->next->done);
    size = file_size(file);
    if (done < size && size - done <= migration->fs->window) {
        r = copy_locked(migration, done, size);
        done = atomic_load(&file->next->done);
    }
    if (r >= 0 && done >= size)
        atomic_store(&file->next->done, UINT64_MAX);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return r < 0 ? r : 1;
}

/* -- how far it got -- */

/* Makes the target's subfiles durable, each at least as long as it is with all bytes below migrated. */
static int make_durable(struct migration *migration, uint64_t migrated)
{
    struct generation *to = migration->file->next->generation;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < to->n_slots; slot++) {
        uint64_t want = file_layout_len(to->layout, slot, migrated), len;

        if (to->sub[slot].kept || want == 0)
            continue;
        r = subfile_len(migration->fs, to, slot, &len);
        if (r == 0 && len < want)
            r = subfile_set_len(migration->fs, to, slot, want);
    }
    return r < 0 ? r : subfiles_sync(migration->fs, to);
}

/* Finds how far the copying is done. From here on target->lowest tells the lowest byte that somebody writes. */
static int look_at_done(struct migration *migration, uint64_t *ret_done)
{
    struct file *file = migration->file;
    int r = ranges_lock_behind(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    *ret_done = MIN(atomic_load(&file->next->done), file_size(file));
    atomic_store(&file->next->lowest, UINT64_MAX);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return 0;
}

static int tell_done(struct migration *migration, uint64_t done)
{
    struct file *file = migration->file;
    int r = ranges_lock_behind(&file->ranges, 0, UINT64_MAX);

    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    r = store_progress(migration, MIN(done, atomic_load(&file->next->lowest)), file->record.target_flags);
    mutex_unlock(&file->meta);
    ranges_unlock(&file->ranges, 0, UINT64_MAX);
    return r;
}

/* Syncs both generations before the record says how far the copying is done: else a crash could take bytes from one
 * generation that the other has kept. */
int migration_confirm(struct migration *migration)
{
    struct file *file = migration->file;
    uint64_t done;
    int r;

    if (file->next == NULL || !file->next->prepared || atomic_load(&file->next->error) != 0)
        return 1;
    r = look_at_done(migration, &done);
    if (r == 0)
        r = file_sync(migration->fs, file, false);
    if (r == -EIO && file->replicas != NULL)
        return 1; /* a disk of the file fails: what a replica has is copied, and a crash begins anew */
    if (r == 0)
        r = make_durable(migration, done);
    if (r == 0)
        r = tell_done(migration, done);
    migration->unconfirmed = 0;
    return r < 0 ? r : 1;
}

/* -- the end -- */

static int clean_up(struct migration *migration)
{
    int r = remove_old(migration);

    return r < 0 && r != -EROFS && r != -EIO ? -EAGAIN : r;
}

bool migration_has_switched(struct migration *migration)
{
    struct record record = get_record(migration->file);

    return !record_migrates(&record);
}

bool migration_is_given_up(struct migration *migration)
{
    struct record record = get_record(migration->file);

    return (record.target_flags & TARGET_GIVEN_UP) != 0 && migration->file->next == NULL;
}

/* Goes on where the record says that the copying is. */
static int attach(struct migration *migration)
{
    struct file *file = migration->file;
    int r = file_begin_alone(file);

    if (r < 0)
        return r;
    r = target_attach(migration->fs, file);
    file_end_alone(file);
    return r;
}

int migration_rest(struct migration *migration)
{
    struct file *file = migration->file;
    struct target *target;
    int r = migration_confirm(migration), begun = file_begin_alone(file);

    migration_done(migration);
    if (begun < 0)
        return begun;
    target = target_detach(file);
    file_end_alone(file);
    target_free(migration->fs, target);
    return MIN(r, 0);
}

int migration_step(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record = get_record(file);
    struct target *target = file->next;
    uint64_t done;
    int r;

    if (!record_migrates(&record))
        return clean_up(migration);
    if (target == NULL && (r = attach(migration)) < 0)
        return r;
    target = file->next;
    if (target == NULL)
        return -EUCLEAN; /* it was given up, or the layout's text is lost */
    r = atomic_load(&target->error);
    if (r == 0 && migration->buf == NULL && (migration->buf = malloc(piece_of(migration->fs))) == NULL)
        r = -ENOMEM;
    if (r < 0)
        return r;
    if (!target->prepared)
        return prepare(migration);
    done = atomic_load(&target->done);
    if (done == UINT64_MAX)
        return migration_switch(migration);
    if (migration->is_in_hole)
        return skip_hole(migration);
    return done < file_size(file) ? copy_window(migration, done) : reach_end(migration);
}

/* Records that the target is given up: from here on nobody writes to it, so nobody may believe in it any more. The
 * caller holds io exclusively. */
static int detach(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r;

    mutex_lock(&file->meta);
    record = *file_record(file);
    record.target_flags |= TARGET_GIVEN_UP;
    record.migrated = 0;
    r = migration_store(migration, &record);
    mutex_unlock(&file->meta);
    return r;
}

static int end_record(struct migration *migration)
{
    struct file *file = migration->file;
    struct record record;
    int r = file_begin_alone(file);

    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    record = *file_record(file);
    record_end_migration(&record);
    r = migration_store(migration, &record);
    mutex_unlock(&file->meta);
    file_end_alone(file);
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
    if ((record.target_flags & TARGET_GIVEN_UP) == 0 || file->next != NULL) {
        r = file_begin_alone(file);
        if (r < 0)
            return r;
        r = detach(migration);
        if (r == 0) {
            target = steal(file->next);
            atomic_store(&file->migrates, false);
        }
        file_end_alone(file);
        target_free(migration->fs, target);
    }
    if (r == 0)
        r = remove_target(migration);
    return r < 0 ? r : end_record(migration);
}

void migration_progress(struct migration *migration, uint64_t *ret_done, uint64_t *ret_total)
{
    struct file *file = migration->file;
    struct record record = get_record(file);

    pthread_rwlock_rdlock(&file->io);
    *ret_total = file_size(file);
    *ret_done = file->next != NULL         ? MIN(atomic_load(&file->next->done), *ret_total)
                : record_migrates(&record) ? MIN(record.migrated, *ret_total)
                                           : *ret_total;
    pthread_rwlock_unlock(&file->io);
}
