/* SPDX-License-Identifier: MIT */
/* Replicas are synced with their file, and filled from it. */
#include "fs/core/file/replicas.h"

#include "fs/core/file/fill.h"
#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/transfer.h"

#include <fcntl.h>

#include <linux/falloc.h>

#define PIECE (UINT64_C(1) << 20) /* bytes that are copied at a time */

/* Whether a sync is for this replica. */
static bool is_one_of(const struct file *file, uint32_t i, enum replicas_which which)
{
    const struct replica_entry *entry = &file->replicas->map.replica[i];

    return (entry->flags & REPLICA_ENDED) == 0 && file->replicas->replica[i].generation != NULL &&
           (which == REPLICAS_ALL || replica_is_copy(file, entry));
}

/* -- padding -- */

/* How much of the file a replica is to have. meta is held. */
static uint64_t reach(const struct file *file, uint32_t i)
{
    return MIN(file->record.size, file->replicas->map.replica[i].hi);
}

bool replicas_need_padding(struct file *file, enum replicas_which which)
{
    bool need = false;

    for (uint32_t i = 0; !need && file->replicas != NULL && i < file->replicas->map.n; i++)
        need = is_one_of(file, i, which) && !file->replicas->replica[i].is_lost &&
               (subfiles_have_tails(file->replicas->replica[i].generation) ||
                subfiles_need_padding(file->replicas->replica[i].generation, reach(file, i)));
    return need;
}

/* Makes all windows of a replica wrong that may have been written since the disks were told that they are right. */
static void doubt(struct file *file, uint32_t i)
{
    struct replicas *replicas = file->replicas;
    const uint64_t size = file_size(file);

    mutex_lock(&replicas->lock);
    replica_doubt(&replicas->map, &replicas->map.replica[i], size, &replicas->replica[i]);
    mutex_unlock(&replicas->lock);
}

/* Notes that nobody knows what a replica has of what was written lately. The user is told where it is his second copy:
 * what he writes is to have one; what that has safely it still has. */
static int fail(struct file *file, uint32_t i, bool was_synced, int error)
{
    struct replicas *replicas = file->replicas;

    if (error == -ETIMEDOUT)
        return error; /* the disk was not even asked */
    replicas->replica[i].error = error;
    if (!replica_is_copy(file, &replicas->map.replica[i])) {
        replicas->replica[i].is_lost = true;
        return 0;
    }
    if (was_synced)
        doubt(file, i);
    return error;
}

int replicas_pad(struct fs *fs, struct file *file, enum replicas_which which)
{
    int first = 0;

    for (uint32_t i = 0; file->replicas != NULL && i < file->replicas->map.n; i++) {
        uint64_t size;
        int r;

        if (!is_one_of(file, i, which) || file->replicas->replica[i].is_lost)
            continue;
        mutex_lock(&file->meta);
        size = reach(file, i);
        mutex_unlock(&file->meta);
        r = subfiles_cut_now(fs, file->replicas->replica[i].generation);
        if (r == 0)
            r = subfiles_pad(fs, file->replicas->replica[i].generation, size);
        r = r < 0 ? fail(file, i, false, r) : 0;
        first = first != 0 ? first : r;
    }
    return first;
}

/* -- what a sync covers -- */

/* Notes the windows of a replica that have all bytes now. -ENOMEM. */
static int cover(struct replicas *replicas, uint32_t i, uint64_t size) REQUIRES(replicas->lock)
{
    const struct replica_map *map = &replicas->map;
    struct replica *replica = &replicas->replica[i];
    uint64_t from, to;

    windows_done(&replica->covered);
    windows_done(&replica->still);
    if (replica->is_lost || !replica_span(map, &map->replica[i], 0, size, &from, &to))
        return 0;
    if (!windows_add(&replica->covered, from, to))
        return -ENOMEM;
    for (uint64_t window = windows_next(&replica->wrong, from); window < to;
         window = windows_next(&replica->wrong, window + 1))
        windows_remove(&replica->covered, window, window + 1);
    return windows_copy(&replica->covered, &replica->still);
}

int replicas_begin_sync(struct file *file, enum replicas_which which)
{
    struct replicas *replicas = file->replicas;
    uint64_t size;
    int r = 0;

    if (replicas == NULL)
        return 0;
    replicas->synced_size = size = file_size(file);
    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; r == 0 && i < replicas->map.n; i++)
        if (is_one_of(file, i, which))
            r = cover(replicas, i, size);
    mutex_unlock(&replicas->lock);
    return r;
}

/* Whether the second copy covers the whole file: else an fsync would confirm what it has not. */
static bool is_covered(struct file *file, uint32_t i)
{
    struct replicas *replicas = file->replicas;
    uint64_t from, to;
    bool is;

    mutex_lock(&replicas->lock);
    is = !replica_span(&replicas->map, &replicas->map.replica[i], 0, replicas->synced_size, &from, &to) ||
         windows_has_all(&replicas->replica[i].covered, from, to);
    mutex_unlock(&replicas->lock);
    return is;
}

/* -- telling the disks -- */

/* Takes out of still what somebody is changing who began before the sync. */
static void leave_out_changing(struct file *file, struct replica *replica, unsigned shift)
{
    for (uint64_t window = windows_next(&replica->still, 0); window < WINDOWS_MAX;
         window = windows_next(&replica->still, window + 1))
        if (ranges_block(&file->ranges, window << shift, (window + 1) << shift))
            windows_remove(&replica->still, window, window + 1);
}

/* Makes the map tell what the sync has covered: *ret_changed when that is more than before. From here on whoever wants
 * to change a window that is told to be right has that taken back first. */
static int note_right(struct file *file, struct replicas *replicas, uint32_t i, enum replicas_which which,
                      bool *ret_changed) REQUIRES(replicas->lock)
{
    struct replica_entry *entry = &replicas->map.replica[i];
    struct replica *replica = &replicas->replica[i];
    bool tells_safe = replica_is_copy(file, entry) && !windows_has_those(&entry->safe, &replica->covered);

    leave_out_changing(file, replica, replicas->map.shift);
    if (!tells_safe && (which == REPLICAS_COPY || windows_has_those(&entry->right, &replica->still)))
        return 0;
    *ret_changed = true;
    if (!windows_or(&replica->right, &replica->still) || !windows_or(&entry->right, &replica->still))
        return -ENOMEM;
    return tells_safe && !windows_or(&entry->safe, &replica->covered) ? -ENOMEM : 0;
}

/* Notes what subfiles must have from now on, by what the disks are told. */
static void demand(struct file *file, uint32_t i)
{
    struct generation *generation = file->replicas->replica[i].generation;
    const struct replica_map *map = &file->replicas->map;

    mutex_lock(&file->meta);
    generation->strict = MAX(generation->strict, replica_demand(map, &map->replica[i], file->replicas->synced_size,
                                                                file->replicas->synced_size));
    generation->strict_bits = generation->durable = generation->bits;
    mutex_unlock(&file->meta);
}

static int write_map(struct fs *fs, const struct file *file, struct replicas *replicas) REQUIRES(replicas->changing)
{
    uint64_t end = 1;
    int r;

    if (replicas->shall_replace)
        return replicas_write_list(fs, file, replicas);
    for (uint32_t i = 0; i < replicas->map.n; i++)
        end = MAX(end, MAX(windows_end(&replicas->map.replica[i].right), windows_end(&replicas->map.replica[i].safe)));
    r = replica_map_update(fs->volume, &replicas->places, &replicas->map, 0, end);
    replicas->shall_replace = r != 0;
    return MIN(r, 0);
}

static int tell(struct fs *fs, struct file *file, enum replicas_which which)
{
    struct replicas *replicas = file->replicas;
    bool changed = false;
    int r = 0;

    mutex_lock(&replicas->changing);
    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; r == 0 && i < replicas->map.n; i++)
        if (is_one_of(file, i, which) && !replicas->replica[i].is_lost)
            r = note_right(file, replicas, i, which, &changed);
    mutex_unlock(&replicas->lock);
    if (r == 0 && changed)
        r = write_map(fs, file, replicas);
    for (uint32_t i = 0; r == 0 && changed && i < replicas->map.n; i++)
        if (is_one_of(file, i, which) && !replicas->replica[i].is_lost)
            demand(file, i);
    mutex_unlock(&replicas->changing);
    return r;
}

int replicas_end_sync(struct fs *fs, struct file *file, enum replicas_which which)
{
    struct replicas *replicas = file->replicas;
    int first = 0;

    if (replicas == NULL)
        return 0;
    for (uint32_t i = 0; i < replicas->map.n; i++) {
        bool is_copy = replica_is_copy(file, &replicas->map.replica[i]);
        int r = 0;

        if (is_one_of(file, i, which) && !replicas->replica[i].is_lost)
            r = subfiles_sync(fs, replicas->replica[i].generation);
        if (r < 0)
            r = fail(file, i, true, r);
        if (r == 0 && is_copy && (replicas->replica[i].is_lost || !is_covered(file, i)))
            r = -EIO;
        first = first != 0 ? first : r;
    }
    return first < 0 ? first : tell(fs, file, which);
}

/* -- filling -- */

/* Makes a hole in a replica where the file has one. */
static int dig(struct fs *fs, struct generation *to, uint64_t lo, uint64_t hi)
{
    return subfiles_allocate(fs, to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, lo, hi - lo);
}

/* Copies a piece of the file to a replica. What a second copy has safely it keeps meanwhile: there is no hole dug where
 * bytes will be. */
static int copy_piece(struct fs *fs, struct file *file, struct generation *to, bool is_safe, uint64_t lo, uint64_t hi,
                      void *buf)
{
    cleanup(plan_done) struct plan plan = { 0 };
    bool full = false, empty = false;
    int r = plan_init(&plan, file->now->layout, lo, hi - lo, buf);

    if (r == 0)
        r = fill_look_for_holes(fs, file->now, &plan, NULL, &full, &empty);
    if (r == 0 && !full && !is_safe && (r = dig(fs, to, lo, hi)) == -EOPNOTSUPP) {
        full = true;
        empty = false;
        r = 0;
    }
    if (r < 0 || (empty && !is_safe))
        return r;
    r = transfer_run(fs, file->now, &plan, false);
    if (r == 0)
        r = transfer_finish_read(fs, file->now, &plan);
    plan_done(&plan); /* the plan of fill_write takes its memory */
    return r < 0 ? r : fill_write(fs, to, lo, hi, buf, !full && !is_safe);
}

static bool is_safe(struct file *file, uint32_t i, uint64_t window)
{
    bool safe;

    mutex_lock(&file->replicas->changing);
    safe = windows_has(&file->replicas->map.replica[i].safe, window);
    mutex_unlock(&file->replicas->changing);
    return safe;
}

/* A window that a replica lacks. */
struct lack {
    uint32_t i, number; /* of the replica, in the list and for good */
    unsigned shift;
    uint64_t lo, hi; /* where its bytes are */
};

static int copy_window(struct fs *fs, struct file *file, const struct lack *lack, void *buf)
{
    struct generation *to = file->replicas->replica[lack->i].generation;
    const bool safe = is_safe(file, lack->i, lack->lo >> lack->shift);
    int r = 0;

    for (uint64_t lo = lack->lo, n; r == 0 && lo < lack->hi; lo += n) {
        n = MIN(PIECE - lo % PIECE, lack->hi - lo);
        r = copy_piece(fs, file, to, safe, lo, lo + n, buf);
    }
    return r;
}

/* Finds the next window that a replica lacks, from *cursor on. false: there is none. */
static bool find_wrong(struct file *file, enum replicas_which which, uint64_t *cursor, struct lack *ret_lack)
{
    struct replicas *replicas = file->replicas;
    const uint64_t size = file_size(file);
    bool found = false;

    mutex_lock(&replicas->lock);
    for (; !found && *cursor < (uint64_t) replicas->map.n * WINDOWS_MAX; ++*cursor) {
        const unsigned shift = replicas->map.shift;
        uint32_t i = (uint32_t) (*cursor / WINDOWS_MAX);
        const struct replica_entry *entry = &replicas->map.replica[i];
        uint64_t window = *cursor % WINDOWS_MAX, next;

        next = is_one_of(file, i, which) && !replicas->replica[i].is_lost
                   ? windows_next(&replicas->replica[i].wrong, window)
                   : WINDOWS_MAX;
        *cursor = i * (uint64_t) WINDOWS_MAX + MIN(next, WINDOWS_MAX - 1);
        *ret_lack = (struct lack){ i, entry->number, shift, MAX(next << shift, entry->lo),
                                   MIN(MIN((next + 1) << shift, size), entry->hi) };
        found = next < WINDOWS_MAX && ret_lack->lo < ret_lack->hi;
    }
    mutex_unlock(&replicas->lock);
    return found;
}

bool replicas_lack_copy(struct file *file)
{
    uint64_t cursor = 0;
    struct lack lack;

    return file->replicas != NULL && find_wrong(file, REPLICAS_COPY, &cursor, &lack);
}

/* Whether the window is still to be filled, now that nobody changes the file there: the list may be another one, and so
 * may its windows, and how many bytes are in this one. */
static bool is_still_wrong(struct file *file, enum replicas_which which, struct lack *lack)
{
    uint64_t cursor = lack->i * (uint64_t) WINDOWS_MAX + (lack->lo >> lack->shift);
    struct lack now;

    if (file->replicas == NULL || !find_wrong(file, which, &cursor, &now) || now.number != lack->number ||
        now.shift != lack->shift || now.lo != lack->lo)
        return false;
    *lack = now;
    return true;
}

/* Notes that a replica has a window, unless it has grown meanwhile. */
static void note_filled(struct file *file, const struct lack *lack)
{
    const uint64_t window = lack->lo >> lack->shift;
    struct replicas *replicas = file->replicas;

    mutex_lock(&replicas->lock);
    if (replicas->map.shift == lack->shift)
        windows_remove(&replicas->replica[lack->i].wrong, window, window + 1);
    mutex_unlock(&replicas->lock);
}

/* Fills a window with its range locked, so that nobody changes the file there: writes that began before have ended once
 * io was held exclusively. */
static int fill_locked(struct fs *fs, struct file *file, enum replicas_which which, struct lack *lack, void *buf)
{
    int r = file_lock_io(fs, file);

    if (r < 0)
        return r;
    pthread_rwlock_unlock(&file->io);
    pthread_rwlock_rdlock(&file->io);
    if (is_still_wrong(file, which, lack)) {
        r = copy_window(fs, file, lack, buf);
        if (r == 0)
            note_filled(file, lack);
        if (r != -ETIMEDOUT)
            file->replicas->replica[lack->i].error = r;
    }
    pthread_rwlock_unlock(&file->io);
    return r;
}

int replicas_fill(struct fs *fs, struct file *file, enum replicas_which which, uint64_t *cursor)
{
    cleanup(freep) void *buf = NULL;
    struct lack lack;
    uint64_t begin, end;
    int r;

    pthread_rwlock_rdlock(&file->io);
    if (file->replicas == NULL || !find_wrong(file, which, cursor, &lack)) {
        pthread_rwlock_unlock(&file->io);
        return 0;
    }
    pthread_rwlock_unlock(&file->io);
    buf = malloc(PIECE);
    if (buf == NULL)
        return -ENOMEM;
    begin = lack.lo >> lack.shift << lack.shift;
    end = begin + (UINT64_C(1) << lack.shift);
    r = ranges_lock_behind(&file->ranges, begin, end);
    if (r < 0)
        return r;
    r = fill_locked(fs, file, which, &lack, buf);
    ranges_unlock(&file->ranges, begin, end);
    return r < 0 ? r : 1;
}

/* -- what is lost -- */

static bool is_lost(struct fs *fs, struct generation *generation, uint32_t slot)
{
    bool lacks;

    return subfile_lacks(fs, generation, slot, UINT64_MAX, &lacks) == 0 && lacks;
}

/* Lets subfiles that are lost be made again; whether there are any. */
static bool demand_no_more(struct fs *fs, struct generation *generation)
{
    bool any = false;

    for (uint32_t slot = 0; slot < generation->n_slots; slot++)
        if (is_lost(fs, generation, slot)) {
            mutex_lock(generation->meta);
            bits_clear(&generation->strict_bits, slot);
            mutex_unlock(generation->meta);
            any = true;
        }
    return any;
}

/* Whether the file itself has all it must have: what it lacks is filled from replicas, and not the other way. */
static bool is_whole(struct fs *fs, struct file *file)
{
    bool whole = true;

    for (uint32_t slot = 0; whole && slot < file->now->n_slots; slot++)
        whole = !is_lost(fs, file->now, slot);
    return whole;
}

/* Makes a replica lack all it has, though what it has safely stays where it is until it is written again. io is held
 * exclusively. */
static int fill_again(struct fs *fs, struct file *file, uint32_t i)
{
    struct replicas *replicas = file->replicas;
    uint64_t from, to;
    int r = 0;

    if (!demand_no_more(fs, replicas->replica[i].generation))
        return 0;
    mutex_lock(&replicas->changing);
    windows_remove(&replicas->map.replica[i].right, 0, WINDOWS_MAX);
    r = write_map(fs, file, replicas);
    mutex_lock(&replicas->lock);
    if (r == 0)
        windows_done(&replicas->replica[i].right);
    if (replica_span(&replicas->map, &replicas->map.replica[i], 0, file->record.size, &from, &to))
        replica_mark_wrong(&replicas->replica[i], from, to);
    mutex_unlock(&replicas->lock);
    mutex_unlock(&replicas->changing);
    fs->calls->follow(fs, file->inode);
    return r;
}

int replicas_verify(struct fs *fs, struct file *file)
{
    int r = fs->read_only ? -EROFS : file_begin_alone(file);

    if (r < 0)
        return r;
    if (file->replicas != NULL && is_whole(fs, file))
        for (uint32_t i = 0; r == 0 && i < file->replicas->map.n; i++)
            if (is_one_of(file, i, REPLICAS_ALL))
                r = fill_again(fs, file, i);
    file_end_alone(file);
    return r;
}
