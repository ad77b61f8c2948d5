/* SPDX-License-Identifier: MIT */
/* A file is a regular file in use: its record and its subfiles, kept as long as somebody has it open or works on it.
 *
 *     inode ──> file { record, now } ──> generation { layout, subfile[slot] } ──> obj/XX/ID.GEN.I on the disks
 *
 * size lives in memory while the file is in use and goes to the record when it is settled: at fsync, at each close of a
 * writer, before somebody looks at its attributes. A subfile that must be there and is missing or short has lost bytes:
 * reading those is an error, never zeros. */
#ifndef FALLSFS_FS_CORE_FILE_FILE_H
#define FALLSFS_FS_CORE_FILE_FILE_H

#include "fs/core/file/generation.h"
#include "fs/core/file/ranges.h"

struct given_up;
struct selection;
struct replicas;
struct target;

struct file {
    struct inode *inode;
    uint32_t n_users; /* inode->lock */
    /* inode->lock; it has no users, and stays since its record could not be stored, or its replicas are to be filled */
    bool kept;
    struct generation *now; /* io and meta, both to change it, either to look: a migration puts another in its place */
    struct target *next;    /* io; the generation that a migration fills, while somebody copies; or NULL */
    struct replicas *_Atomic replicas; /* io; or NULL */
    atomic_bool migrates;              /* the record tells of a target: who writes lists the range in ranges */
    atomic_bool follows;               /* some replica gets what is written: who writes lists the range, too */
    atomic_uint next_weight;           /* what the layout of next weighs, once there was one */

    struct mutex sync_lock;
    struct ranges ranges;
    atomic_uint_least64_t reread; /* bytes that were read so that writes could keep them, so far */
    pthread_rwlock_t io;
    struct mutex copying; /* held while the copy of its record is written or removed */
    struct mutex meta;    /* never waits for any disk but the home disk */
    struct cond opened;   /* of meta */
    struct record record; /* meta; what the stub is to have; file_record adds what the generation in use knows */
    struct record stored; /* meta; what the stub has */
    /* meta; how many records were stored, and how many of those an fsync and the copier have seen */
    uint32_t n_stores, n_stores_synced, n_stores_copied;
    bool times_dirty;      /* meta; mtime is newer than that of the stub */
    uint64_t written;      /* meta; bytes since blocks were counted */
    struct timespec mtime; /* meta */
    uint32_t n_errors;     /* meta; failed syncs so far */
    /* the stored record that last gave way to one that names other layouts, until the stub is synced; or NULL */
    _Atomic(struct given_up *) given_up;
};

/* Begins to use the file of an inode, which is loaded if nobody uses it, until file_put. -EUCLEAN: its record or layout
 * is damaged; -EPROTONOSUPPORT: a newer fallsfs made the record; -ESTALE: it is gone for good. */
int file_get(struct fs *fs, struct inode *inode, struct file **ret_file);

/* Whether an error of file_get tells that this file is lost; other errors tell of the moment. */
static inline bool file_is_lost(int error)
{
    return error == -EUCLEAN || error == -EPROTONOSUPPORT || error == -EIO || error == -ESTALE;
}

void file_put(struct fs *fs, struct file *file);

/* Adds a use of a file that is in use. */
void file_ref(struct fs *fs, struct file *file);

/* Begins to use a file that was just made with this record, like file_get. */
int file_get_made(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file);

/* Notes that the kernel holds n fewer of the inode. A file without a name goes when nobody uses it and the kernel has
 * forgotten it: one that somebody has just found by its name can be opened, though another takes that name meanwhile.
 */
void file_forget(struct fs *fs, struct inode *inode, uint64_t n);

/* Notes that the last name of a file has gone. record: what is to be reaped if nobody has the file in use; NULL:
 * nothing. is_listed: the file lies in todo/; if not, it had no bytes. */
void file_buried(struct fs *fs, struct inode *inode, const struct record *record, bool is_listed) REQUIRES(inode->lock);

/* Ends the use of a file at the end of the mount, when nobody will close it any more. The references of the inode are
 * not counted. */
int file_end(struct fs *fs, struct inode *inode);

/* Copies the record as it is now, and returns the layout that goes with it, with a reference. */
struct file_layout *file_look(struct fs *fs, struct file *file, struct record *ret_record);

/* Reads: how many bytes, fewer than len only at the end of the file, or an error, if there is one with any of them. */
ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off);

/* Reads like file_read, but for parts of an array: from those subfiles alone that have something that is selected, see
 * ioctl/store.h, NULL: everything is; and from the replica where that takes least. */
ssize_t file_read_only(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, struct selection *only);

/* Reads like file_read, but into a pipe, which is empty, where no byte has to be moved to its place. *ret_piped is how
 * much is then in the pipe: all that was read, or less, which is of no use: buf has all that was read then. */
ssize_t file_read_piped(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, int pipe,
                        size_t *ret_piped);

/* Writes: how many bytes, fewer than len when a disk was full or failed behind them, or an error. */
ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off);

/* Whether file_write_only can write what is selected of a range. */
bool file_is_apart(struct file *file, size_t len, uint64_t off, const struct selection *only);

/* Writes like file_write, but to those subfiles alone of whose bytes all are selected. -EAGAIN: there are others that
 * have selected bytes, or the file is on its way to another layout; nothing was written. NULL: everything is
 * selected. */
ssize_t file_write_only(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off,
                        struct selection *only);

/* Reads or writes bytes of one subfile, which lie one after the other there, as long as the file has that layout and is
 * not on its way to another: else -EAGAIN. */
ssize_t file_read_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot, void *buf,
                          size_t len, uint64_t sub_off);
ssize_t file_write_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot,
                           const void *buf, size_t len, uint64_t sub_off);

/* Gives an empty file another layout, at once and durably: what is written from now on lies where that says. A file
 * that has bytes keeps its layout: 0 when the two are the same as far as those bytes can tell, else -ENOTEMPTY. The
 * layout stays the caller's. */
int file_set_layout(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates);

/* Cuts or grows a file to this size. After a crash its size is the old one or the new one, and what was cut off never
 * comes back (I6). */
int file_truncate(struct fs *fs, struct file *file, uint64_t size);

/* Grows a file to this size, as safely as file_truncate; one that is longer already stays so. */
int file_grow(struct fs *fs, struct file *file, uint64_t size);

/* Does what fallocate does, in the modes 0, KEEP_SIZE, PUNCH_HOLE and ZERO_RANGE. */
int file_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len);

/* Finds data or a hole from off on; whence is SEEK_DATA or SEEK_HOLE. */
int64_t file_seek(struct fs *fs, struct file *file, uint64_t off, int whence);

/* Stores size and times in the stub, where they have changed. */
int file_settle(struct fs *fs, struct file *file);

/* Does all that the last close would do, so that the stub's ctime stands when a program has closed its file: settles,
 * pads, and counts blocks, which may wait for the disks. */
int file_flush(struct fs *fs, struct file *file);

/* How many 512-byte blocks a file takes, as far as that can be told without asking the disks. */
uint64_t file_blocks(struct file *file);

/* Counts the blocks of a file and stores how many there are, once its replicas have become larger or smaller. */
int file_count_blocks(struct fs *fs, struct file *file);

/* Makes everything written so far durable; with data_only all but the times. */
int file_sync(struct fs *fs, struct file *file, bool data_only);

/* Makes everything durable that was written so far, to the replicas too, and tells the disks what of these is right. */
int file_sync_replicas(struct fs *fs, struct file *file);

/* How many syncs have failed so far: a handle that has heard of fewer has something to hear. */
uint32_t file_errors(struct file *file);

uint64_t file_size(struct file *file);

/* How many slots for subfiles the file has. */
uint32_t file_slots(struct file *file);

/* What the layout of the file weighs, and the one it is on its way to. */
uint32_t file_weight(struct file *file);

/* How long the subfile of a slot must be, or bytes of the file are lost. */
uint64_t file_must_have(struct file *file, uint32_t slot);

/* -- for the parts of this module -- */

/* Notes that len bytes of the file were changed now. */
void file_touch(struct file *file, uint64_t len) REQUIRES(file->meta);

/* Whether the copy of the record is out of date: the record was stored since this was last asked. */
bool file_take_copy(struct file *file);

/* The record as it is now, with what the generation in use knows. meta is held, or nobody else changes the file. */
const struct record *file_record(struct file *file);

/* Stores the record as it is now, if it differs from what the stub has. */
int file_store(struct fs *fs, struct file *file) REQUIRES(file->meta);

/* Stores a changed record, which becomes the file's if that succeeds. io is held exclusively, too: others look without
 * meta. */
int file_store_changed(struct fs *fs, struct file *file, const struct record *changed) REQUIRES(file->meta);

/* Makes existing subfiles as long as the size demands: lengths tell how long a file is, so the stub's size is synced
 * before. */
int file_pad_if_needed(struct fs *fs, struct file *file);

/* Notes that what subfiles have behind the end of the file could not be cut off: it must be before the file grows. */
void file_must_cut(struct file *file);

/* Cuts off what subfiles have behind the end of a file whose record says that it is being cut, and makes the record say
 * so no more. io is held exclusively. */
int file_finish_cut(struct fs *fs, struct file *file);

/* A write under way. */
struct file_writing {
    uint64_t file_off, len;
    bool is_listed; /* in ranges, as the file migrates: two writes to one byte then come one after the other */
};

/* Begins a write to that range, which waits for range locks of others, and holds io, shared, until file_end_write.
 * -EROFS, or why a cut that must go first cannot be made. */
int file_begin_write(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, struct file_writing *ret);
void file_end_write(struct file *file, const struct file_writing *writing);

/* Makes another generation, which the record tells of already, the one in use, and returns the former one, which is the
 * caller's. io is held exclusively, too. */
struct generation *file_exchange(struct file *file, struct generation *generation) REQUIRES(file->meta);

/* Finds the first data at or behind off; the file's size when there is none. io is held exclusively. */
int64_t file_next_data(struct fs *fs, struct file *file, uint64_t off);

/* Notes that len bytes of a subfile were changed in memory, none behind its end. They are not written behind like a
 * stream: who changes a page again would wait for its disk. io is held. */
void file_note_changed(struct file *file, uint32_t slot, uint64_t len);

/* Waits until nobody has a range of the file locked, and holds io exclusively until file_end_alone. -ENOMEM. */
int file_begin_alone(struct file *file);
void file_end_alone(struct file *file);

/* Begins a cut like file_begin_alone, for who can come back later: while a disk of the file hangs it fails with
 * -ETIMEDOUT, or with -EIO when the disk has hung for longer than anybody waits. */
int file_try_alone(struct fs *fs, struct file *file);

/* Locks io exclusively, or sync_lock. Errors as file_try_alone. */
int file_lock_io(struct fs *fs, struct file *file);
int file_lock_sync(struct fs *fs, struct file *file) TRY_ACQUIRE(0, file->sync_lock);

/* Whether a cut is to be finished before anything else. */
bool file_is_to_be_cut(struct file *file);

/* Has the disk of a subfile of that generation begin to write what it was given, some time later. */
void file_write_behind(struct fs *fs, struct file *file, uint64_t gen, uint32_t slot);

/* Syncs the stub with its record. */
int file_sync_stub(struct fs *fs, struct file *file);

/* To be called around a sync of the stub: what records before the stored one named, they name no more once it is
 * synced. */
struct given_up *file_begin_sync_stub(struct file *file);
void file_end_sync_stub(struct fs *fs, struct given_up *given_up, bool is_synced);

/* Removes the subfiles of generations before the current one, some time later. */
void file_reap_old(struct fs *fs, struct file *file);

/* Removes the subfiles of generations before the current one, now. */
int file_remove_old(struct fs *fs, struct file *file) REQUIRES(file->sync_lock);

/* Cuts a file to nothing: the subfiles it had become an older generation, to be removed. io is held exclusively. */
int file_cut_to_nothing(struct fs *fs, struct file *file);

#endif
