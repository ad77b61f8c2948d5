/* SPDX-License-Identifier: MIT */
#include "fs/core/file/file.h"

#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/target.h"
#include "fs/core/stub/stub.h"
#include "fs/core/stub/todo.h"
#include "fs/core/volume/promise.h"

/* -- loading -- */

/* Finds out by the subfiles' lengths how long a file is and which subfiles it has: a mount since its record was stored
 * did not end well, so the record may be behind. */
static int look_at_subfiles(struct fs *fs, struct file *file)
{
    struct generation *now = file->now;
    struct record_bits found = { 0 };
    uint64_t size = file->record.size;

    for (uint32_t slot = 0; slot < now->n_slots; slot++) {
        uint64_t len, must = generation_must_have(now, slot);
        int r = subfile_len(fs, now, slot, &len);

        if (r == -EIO || r == -EUCLEAN)
            len = 0; /* the disk is absent, or what is there is not ours: who reads those bytes gets an error */
        else if (r < 0)
            return r;
        if (len > 0) {
            const struct nest *nest = file_layout_nest(now->layout, slot);

            if (len > nest->size)
                return -EUCLEAN;
            size = MAX(size, nest_select(nest, len - 1) + 1);
        }
        if (must > 0 || now->sub[slot].fd >= 0 || r < 0)
            bits_mark(&found, slot);
    }
    if (file->record.state != RECORD_TRUNC) /* else what lies behind the recorded size is to be cut off */
        file->record.size = size;
    now->bits = now->dirty = found;
    return 0;
}

/* Passes over -EROFS: disks that have become read-only can be read, and for that nothing need be stored. */
static int unless_read_only(int r)
{
    return r == -EROFS ? 0 : r;
}

/* Passes over errors of disks that are read-only or fail, too: the record says until later that the file is to be cut,
 * and what others have of it can be read. */
static int unless_it_can_be_read(int r)
{
    return r == -EIO ? 0 : unless_read_only(r);
}

/* Brings a file back into the state it would have after an orderly close. */
static int recover(struct fs *fs, struct file *file)
{
    bool changed = record_may_be_behind(fs->volume, &file->record);
    int r = changed ? look_at_subfiles(fs, file) : 0;

    if (fs->read_only)
        return r;
    if (changed)
        atomic_store(&file->inode->copy.moves, true); /* the copy of the record may be on any disk */
    if (r == 0 && file->record.state == RECORD_TRUNC)
        r = unless_it_can_be_read(file_finish_cut(fs, file));
    if (r < 0 || !changed)
        return r;
    /* A disk that fails is no reason not to use the others. */
    file->record.padded = subfiles_pad(fs, file->now, file->record.size) == 0;
    /* Another epoch has the record stored even if nothing else has changed: that need not be found out again. */
    file->record.epoch = fs->volume->epoch;
    if (file->record.padded)
        generation_demand(file->now, file->record.size);
    mutex_lock(&file->meta);
    r = file_store(fs, file);
    mutex_unlock(&file->meta);
    return unless_read_only(r);
}

/* Makes what a file in use is in memory; takes the layout. NULL: no memory, and the layout stays the caller's. */
static struct file *new_file(struct fs *fs, struct inode *inode, struct file_layout *layout,
                             const struct record *record)
{
    struct file *file = calloc(1, sizeof *file);

    if (file == NULL)
        return NULL;
    file->now = generation_new(inode, layout, record, &file->meta, &file->opened);
    if (file->now == NULL) {
        free(file);
        return NULL;
    }
    file->inode = inode;
    file->record = file->stored = *record;
    file->n_stores = file->n_stores_copied = 1; /* nobody knows whether the stored record was synced */
    mutex_init(&file->sync_lock);
    ranges_init(&file->ranges, &fs->range_waits);
    pthread_rwlock_init(&file->io, NULL);
    mutex_init(&file->copying);
    mutex_init(&file->meta);
    cond_init(&file->opened);
    return file;
}

static void free_file(struct fs *fs, struct file *file)
{
    replicas_free(fs, file->replicas);
    subfiles_free(fs, file->now);
    target_free(fs, file->next);
    free(atomic_load(&file->given_up));
    mutex_done(&file->sync_lock);
    ranges_done(&file->ranges);
    pthread_rwlock_destroy(&file->io);
    cond_done(&file->opened);
    mutex_done(&file->copying);
    mutex_done(&file->meta);
    free(file);
}

static int with_layout(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, record->layout, &layout);

    if (r < 0)
        return r;
    *ret_file = new_file(fs, inode, layout, record);
    if (*ret_file == NULL)
        layouts_put(fs->layouts, layout);
    return *ret_file != NULL ? 0 : -ENOMEM;
}

/* Makes a record that an earlier mount stored say in full what it promises: so far its epoch told part of that, and the
 * next store gives it the present epoch. */
static void understand(const struct fs *fs, const struct promise *promise, struct record *record)
{
    record_keep_promise(record, promise);
    if (!record_may_be_behind(fs->volume, record))
        record->dirty = (struct record_bits){ 0 }; /* the mount that stored it ended with everything synced */
}

/* Notes what must be there, by the record alone. What the stub has is understood like the file's record, so that this
 * is no reason to store it. */
static void expect(const struct fs *fs, struct file *file)
{
    const struct record *record = &file->stored;
    const struct promise promise = record_promise(fs->volume, record);

    file->now->strict = promise.size;
    file->now->strict_bits = promise.bits;
    if (record->epoch < fs->volume->epoch) {
        understand(fs, &promise, &file->record);
        understand(fs, &promise, &file->stored);
        file->now->dirty = file->record.dirty;
        file->now->durable = file->record.durable;
    }
    if (record_may_be_behind(fs->volume, record))
        return;
    for (uint32_t slot = 0; slot < file->now->n_slots; slot++)
        if (!bits_has(&record->bits, slot))
            file->now->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
}

static int load(struct fs *fs, struct inode *inode, struct file **ret_file) REQUIRES(inode->lock)
{
    cleanup(errand_leave) struct errand before = errand_at(inode->nodeid, NO_SUBFILE);
    struct record record;
    struct file *file = NULL;
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = stub_read_record(fs->volume, fd, "", &record);
    inode_close(fs->inodes, inode);
    if (r == 0)
        r = with_layout(fs, inode, &record, &file);
    if (r == -EUCLEAN || r == -EPROTONOSUPPORT)
        return trouble_tell(fs_home(fs), TROUBLE_DAMAGED, r);
    if (r < 0)
        return r;
    if (record.epoch < fs->volume->epoch)
        layouts_hold(fs->layouts, &record); /* a text that it names may have been lost, and been made anew since */
    expect(fs, file);
    r = recover(fs, file);
    if (r == 0)
        r = replicas_load(fs, file, false);
    if (r == 0 && !fs->read_only)
        target_expect(file);
    if (r < 0) {
        free_file(fs, file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int file_get_made(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file)
{
    int r = 0;

    inode_ref(fs->inodes, inode);
    mutex_lock(&inode->lock);
    if (inode->file == NULL && (r = with_layout(fs, inode, record, &inode->file)) == 0) {
        expect(fs, inode->file);
        r = replicas_load(fs, inode->file, true);
        if (r < 0)
            free_file(fs, steal(inode->file));
    }
    if (r == 0)
        inode->file->n_users++;
    *ret_file = inode->file;
    mutex_unlock(&inode->lock);
    if (r < 0)
        inode_unref(fs->inodes, inode);
    return r;
}

/* Takes up what an earlier mount began with the file and did not end: old generations, a migration. */
static void finish_work(struct fs *fs, struct file *file)
{
    struct record record;

    mutex_lock(&file->meta);
    record = file->record;
    mutex_unlock(&file->meta);
    if (record.oldest_gen < record.gen)
        file_reap_old(fs, file);
    if (record_migrates(&record))
        fs->calls->moves(fs, file->inode);
}

int file_get(struct fs *fs, struct inode *inode, struct file **ret_file)
{
    bool first;
    int r = 0;

    if (inode->fmt != S_IFREG)
        return inode->fmt == S_IFDIR ? -EISDIR : -EINVAL;
    inode_ref(fs->inodes, inode);
    mutex_lock(&inode->lock);
    first = inode->file == NULL;
    if (first)
        r = inode->end.is_reaped ? -ESTALE : load(fs, inode, &inode->file);
    if (r == 0)
        inode->file->n_users++;
    *ret_file = inode->file;
    mutex_unlock(&inode->lock);
    if (r < 0)
        inode_unref(fs->inodes, inode);
    else if (first && !fs->read_only)
        finish_work(fs, *ret_file);
    return r;
}

void file_ref(struct fs *fs, struct file *file)
{
    inode_ref(fs->inodes, file->inode);
    mutex_lock(&file->inode->lock);
    file->n_users++;
    mutex_unlock(&file->inode->lock);
}

struct file_layout *file_look(struct fs *fs, struct file *file, struct record *ret_record)
{
    struct file_layout *layout;

    mutex_lock(&file->meta);
    *ret_record = *file_record(file);
    layout = layouts_ref(fs->layouts, file->now->layout);
    mutex_unlock(&file->meta);
    return layout;
}

/* Hands a file that has no name and no user to the reaper, with its bytes, if there are any. Returns what of it is in
 * memory, for the caller to free, or NULL. */
static struct file *reap(struct fs *fs, struct inode *inode, const struct record *record) REQUIRES(inode->lock)
{
    if (inode->end.is_unlisted && inode->file == NULL && record != NULL)
        (void) layouts_give_up(fs->layouts, record);
    else if (record != NULL)
        fs->calls->reap(fs, record, !inode->end.is_unlisted);
    if (inode->end.is_awaited)
        fs->calls->has(fs);
    inode->end.is_reaped = true;
    return steal(inode->file);
}

/* The record of a file that has lost its last name. */
static const struct record *record_of(const struct inode *inode) REQUIRES(inode->lock)
{
    return inode->file != NULL ? file_record(inode->file) : inode->end.grave;
}

/* Whether somebody uses the file of an inode, or the kernel can still ask for it. */
static bool is_wanted(struct fs *fs, struct inode *inode)
{
    return (inode->file != NULL && inode->file->n_users > 0) || inode_is_known(fs->inodes, inode);
}

/* Tells the reaper that the bytes of a file will go once the kernel lets go of it. */
static void await(struct fs *fs, struct inode *inode)
{
    fs->calls->await(fs, !inode->end.is_awaited);
    inode->end.is_awaited = true;
}

static void free_if_any(struct fs *fs, struct file *file)
{
    if (file != NULL)
        free_file(fs, file); /* closing subfiles may wait for their disks */
}

void file_forget(struct fs *fs, struct inode *inode, uint64_t n)
{
    struct file *file;

    inode_ref(fs->inodes, inode);
    inode_forget(fs->inodes, inode, n);
    if (inode->fmt == S_IFREG && inode_is_gone(fs->inodes, inode)) {
        mutex_lock(&inode->lock);
        file = inode->end.is_reaped || is_wanted(fs, inode) ? NULL : reap(fs, inode, record_of(inode));
        mutex_unlock(&inode->lock);
        free_if_any(fs, file);
    }
    inode_unref(fs->inodes, inode);
}

void file_buried(struct fs *fs, struct inode *inode, const struct record *record, bool is_listed)
{
    struct file *file = inode->file;

    if (file != NULL && file->kept) {
        file->kept = false;
        inode_unref(fs->inodes, inode);
    }
    inode->end.is_unlisted = !is_listed;
    if (!is_wanted(fs, inode)) {
        free_if_any(fs, reap(fs, inode, file != NULL ? file_record(file) : record));
        return;
    }
    if (file == NULL && record != NULL && (inode->end.grave = malloc(sizeof *record)) != NULL)
        *inode->end.grave = *record; /* without memory the next mount removes the bytes */
    if (is_listed)
        await(fs, inode); /* its last close may be on its way already */
}

/* Does what is to be done when the last user of a file goes: stores its record and makes its subfiles as long as they
 * must be. */
static int close_file(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    int r;

    if (fs->read_only)
        return 0;
    r = file_settle(fs, file);
    (void) file_pad_if_needed(fs, file); /* a record that does not say that they are is as good */
    if (r == 0)
        r = file_settle(fs, file);
    if (r == 0)
        todo_drop_spare(fs->inodes, fs->volume, inode, &file->record);
    return r;
}

#define KEPT_FILES  64 /* files at most that are kept for their replicas */
#define KEPT_WEIGHT 64

/* Whether a file is to stay in memory until its replicas have been filled: what is in memory tells which windows they
 * lack, where the disks may tell of fewer that they have. */
static bool is_followed(const struct fs *fs, struct file *file)
{
    return file->replicas != NULL && atomic_load(&file->inode->is_followed) &&
           atomic_load(&fs->n_followed) <= KEPT_FILES && file_weight(file) <= KEPT_WEIGHT &&
           file_size(file) >> file->replicas->map.shift > 0 && replicas_are_due(file);
}

/* The last user of a file that has names closes it; true when the file is in memory no longer. A file whose record
 * could not be stored is kept, with a hold on the inode: the next one to close it tries again. */
static bool close_last(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    bool was_kept = file->kept;

    file->kept = close_file(fs, file) < 0 || is_followed(fs, file);
    if (file->kept && !was_kept)
        inode_ref(fs->inodes, inode);
    if (file->kept)
        return false;
    inode->file = NULL;
    if (was_kept)
        inode_unref(fs->inodes, inode);
    return true;
}

/* The last user of a file without names closes it: it stays in memory until the kernel has forgotten it. Gives the file
 * to be freed, or NULL. */
static struct file *end_gone(struct fs *fs, struct inode *inode) REQUIRES(inode->lock)
{
    if (!is_wanted(fs, inode))
        return reap(fs, inode, record_of(inode));
    await(fs, inode);
    return NULL;
}

void file_put(struct fs *fs, struct file *file)
{
    struct inode *inode = file->inode;
    bool copy_is_due = false;

    mutex_lock(&inode->lock);
    assert(file->n_users > 0);
    if (--file->n_users == 0 && inode_is_gone(fs->inodes, inode))
        file = end_gone(fs, inode);
    else if (file->n_users == 0 && close_last(fs, file))
        copy_is_due = file_take_copy(file);
    else
        file = NULL;
    mutex_unlock(&inode->lock);
    free_if_any(fs, file);
    if (copy_is_due)
        fs->calls->copy(fs, inode);
    inode_unref(fs->inodes, inode);
}

int file_end(struct fs *fs, struct inode *inode)
{
    bool copy_is_due = false;
    struct file *file;
    int r = 0;

    mutex_lock(&inode->lock);
    if (inode_is_gone(fs->inodes, inode)) {
        file = inode->end.is_reaped ? NULL : reap(fs, inode, record_of(inode));
    } else {
        file = steal(inode->file);
        if (file != NULL) {
            r = close_file(fs, file);
            copy_is_due = file_take_copy(file);
        }
    }
    mutex_unlock(&inode->lock);
    free_if_any(fs, file);
    if (copy_is_due)
        fs->calls->copy(fs, inode);
    return r;
}
