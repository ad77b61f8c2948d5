/* SPDX-License-Identifier: MIT */
/* A file is a regular file in use: its record and its subfiles, kept as long as somebody has it open or works on it.
 *
 *     inode ──> file { record, layout, subfile[slot] } ──> obj/XX/ID.GEN.I on the disks
 *
 * size lives in memory while the file is in use and goes to the record when it is settled: at fsync, at each close of a
 * writer, before somebody looks at its attributes. A subfile that must be there and is missing or short has lost bytes:
 * reading those is an error, never zeros. */
#ifndef FALLSFS_FS_CORE_FILE_H
#define FALLSFS_FS_CORE_FILE_H

#include "fs/core/fs.h"
#include "fs/core/ranges.h"

#define SUBFILE_LEN_UNKNOWN UINT64_MAX

struct plan;
struct target;

struct subfile {
    int fd;         /* meta; -1: not open */
    bool read_only; /* meta; fd is, since the disk was */
    bool absent;    /* meta; looked for and not there */
    bool opening;   /* meta; somebody waits for its disk; opened tells when that is over */
    bool kept;      /* io; of a migration: it has its bytes already, and gets those that are written */
    uint64_t len;   /* meta; or SUBFILE_LEN_UNKNOWN */
    /* meta; bytes written since its disk was last told to begin writing them, which somebody does just now */
    uint64_t unwritten;
    bool writing;
    uint8_t **chunk; /* meta; of the subfile in memory (subfile_map.h) */
    uint32_t n_chunks;
};

struct file {
    struct inode *inode;
    uint32_t n_users; /* inode->lock */
    bool kept;        /* inode->lock; without users, since its record could not be stored */
    /* io and meta, both to change them, either to look: a migration puts others in their place */
    struct file_layout *layout;
    uint32_t n_slots;
    struct subfile *sub; /* n_slots of them */

    pthread_mutex_t sync_lock;
    struct ranges ranges;
    pthread_rwlock_t io;
    pthread_mutex_t meta;           /* never waits for any disk but the home disk */
    pthread_cond_t opened;          /* of meta */
    struct record record;           /* meta; size is the file's size now */
    struct record stored;           /* meta; what the stub has */
    uint64_t strict;                /* meta; up to here the subfiles in strict_bits must be there, in full */
    struct record_bits strict_bits; /* meta */
    /* meta; stored records, and how many of them an fsync and the copier have seen */
    uint32_t n_stores, n_stores_synced, n_stores_copied;
    bool times_dirty;      /* meta; mtime is newer than the stub's */
    uint64_t written;      /* meta; bytes since blocks were counted */
    struct timespec mtime; /* meta */
    uint32_t n_errors;     /* meta; failed syncs so far */
    struct target *target; /* io; the generation that a migration fills; or NULL */
    atomic_bool migrates;  /* there is one: those who write say what, in ranges */
};

/* The file of an inode, loaded if need be, until file_put. -EUCLEAN its record or layout is damaged, -ESTALE it is gone
 * for good. */
int file_get(struct fs *fs, struct inode *inode, struct file **ret_file);

/* Whether an error of file_get tells of the file; any other tells of the moment. */
static inline bool file_is_lost(int error)
{
    return error == -EUCLEAN || error == -EIO || error == -ESTALE;
}

void file_put(struct fs *fs, struct file *file);

/* Another use of a file that is in use. */
void file_ref(struct fs *fs, struct file *file);

/* The same for a file that was just made with this record. */
int file_get_made(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file);

/* The end of the mount: nobody will close the file any more, if it is in use. The inode's references are not counted.
 */
int file_end(struct fs *fs, struct inode *inode);

/* The record as it is now, and the layout that goes with it, with a reference. */
struct file_layout *file_look(struct fs *fs, struct file *file, struct record *ret_record);

/* Bytes read, fewer only at the end of the file; or an error, if it is with any of them. */
ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off);

/* The same, where no byte has to find its place, into a pipe, which has nothing in it: that is then what is in it, and
 * it may be something that is of no use otherwise. */
ssize_t file_read_piped(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, int pipe,
                        size_t *ret_piped);

/* Bytes written, fewer when a disk was full or failed behind them, or the error. */
ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off);

/* The same of the bytes of one subfile, which lie one after the other there, while the file has that layout and is not
 * on its way to another: else -EAGAIN. */
ssize_t file_read_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot, void *buf,
                          size_t len, uint64_t sub_off);
ssize_t file_write_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot,
                           const void *buf, size_t len, uint64_t sub_off);

/* Lays an empty file out anew, at once and durably: what is written from now on lies where it says. A file that has
 * bytes keeps its layout: 0 when it is the same as far as those can tell, else -ENOTEMPTY. The layout stays the
 * caller's. */
int file_set_layout(struct fs *fs, struct file *file, struct file_layout *layout, bool rotates);

/* Both keep to I6: the size is the old one or the new one, and what was cut off never comes back. */
int file_truncate(struct fs *fs, struct file *file, uint64_t size);

/* The same, but a file that is longer already stays so. */
int file_grow(struct fs *fs, struct file *file, uint64_t size);

/* mode as fallocate has it: 0, KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE. */
int file_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len);

/* SEEK_DATA or SEEK_HOLE. */
int64_t file_seek(struct fs *fs, struct file *file, uint64_t off, int whence);

/* Makes size and times the stub's. */
int file_settle(struct fs *fs, struct file *file);

/* The same for a handle that is being closed: also counts blocks, which may wait for the disks. */
int file_flush(struct fs *fs, struct file *file);

/* 512-byte blocks, as far as that can be told without asking the disks. */
uint64_t file_blocks(struct file *file);

/* Makes everything written so far durable; data_only: not times. */
int file_sync(struct fs *fs, struct file *file, bool data_only);

/* Failed syncs so far; a handle that remembers fewer has something to hear of. */
uint32_t file_errors(struct file *file);

uint64_t file_size(struct file *file);

/* -- for the parts of this module -- */

/* How long the subfile of a slot must be, or its bytes are lost. meta is held. */
uint64_t file_must_have(const struct file *file, uint32_t slot);

/* A change of so many bytes, now. meta is held. */
void file_touch(struct file *file, uint64_t len);

/* Whether the record was stored since this was last asked, so that its copy is out of date. */
bool file_take_copy(struct file *file);

/* Stores the record as it is now, if it differs from what the stub has. meta is held. */
int file_store(struct fs *fs, struct file *file);

/* Whether existing subfiles are as long as the size demands. meta is held. */
bool file_is_padded(const struct file *file);

/* Makes existing subfiles as long as the size demands. io is held exclusively. */
int file_pad(struct fs *fs, struct file *file);

/* The same with all it takes: lengths tell how long a file is, so the stub's size is synced before. */
int file_pad_if_needed(struct fs *fs, struct file *file);

/* Cuts off what subfiles have behind the end of the file. io is held exclusively. */
int file_cut_tails(struct fs *fs, struct file *file);

/* That failed: it must be done before the file grows. */
void file_must_cut(struct file *file);

/* The same for a file whose record says that it is being cut; afterwards it says so no more. */
int file_finish_cut(struct fs *fs, struct file *file);

/* Syncs the subfiles that changed, all at once. io is held. */
int file_sync_subfiles(struct fs *fs, struct file *file);

/* A write under way. */
struct file_writing {
    uint64_t file_off, len;
    bool is_listed; /* in ranges: as long as a file migrates, two writes to one byte come one after the other */
};

/* Holds io, shared, for a write to that range that nobody's range lock keeps out, until file_end_write; -EROFS, or why
 * a cut that must go first cannot be made. */
int file_begin_write(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, struct file_writing *ret);
void file_end_write(struct file *file, const struct file_writing *writing);

/* Reads or writes the shares of a plan, as far as that goes. io is held. */
int file_run_plan(struct fs *fs, struct file *file, struct plan *plan, bool write);

/* Zeros for what subfiles do not have, unless it must be there; the first error. io is held. */
int file_finish_read(struct file *file, struct plan *plan);

/* Notes how long subfiles became. meta is held. */
void file_note_lengths(struct fs *fs, struct file *file, struct plan *plan);

/* The first data at or behind off; the file's size when there is none. io is held exclusively. */
int64_t file_next_data(struct fs *fs, struct file *file, uint64_t off);

/* fallocate on the subfiles. io is held exclusively. */
int file_allocate_subfiles(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len);

/* A file that nobody else knows of, and its end. Takes the layout. NULL without memory. */
struct file *file_new(struct inode *inode, struct file_layout *layout, const struct record *record);
void file_free(struct fs *fs, struct file *file);

/* 512-byte blocks, asked of the disks; false when they do not all answer promptly. io is held. */
bool file_count_blocks(struct fs *fs, struct file *file, uint64_t *ret_blocks);

/* So many bytes of a subfile were changed in memory, none behind its end. They are not a stream to be written behind:
 * who changes a page again would wait for its disk. io is held. */
void file_note_changed(struct file *file, uint32_t slot, uint64_t len);

/* Holds io exclusively, as soon as nobody has a range of the file locked; until file_end_cut. -ENOMEM. */
int file_begin_cut(struct file *file);
void file_end_cut(struct file *file);

/* So much was written to a subfile. Behind a long write the disk begins while it goes on, not when it is synced. meta
 * is held; true when file_write_behind is called for. */
bool file_note_unwritten(struct fs *fs, struct file *file, uint32_t slot, uint64_t len);

/* Has the disk of a subfile of that generation begin, some time later. */
void file_write_behind(struct fs *fs, struct file *file, uint64_t gen, uint32_t slot);

/* Syncs the stub with its record. */
int file_sync_stub(struct fs *fs, struct file *file);

/* Removes, some time later, what generations before the current one left. */
void file_reap_old(struct fs *fs, struct file *file);

/* The same now. sync_lock is held. */
int file_remove_old(struct fs *fs, struct file *file);

/* What a file has no more is a generation of its own, to be removed. io is held exclusively. */
int file_cut_to_nothing(struct fs *fs, struct file *file);

/* What slots have before anybody has looked for their subfiles; absent: there are none. NULL without memory. */
struct subfile *file_new_slots(uint32_t n_slots, bool absent);

/* The record of a stub: dir and path as disk.h has them. */
int file_read_record(struct fs *fs, int dir, const char *path, struct record *ret_record);
int file_write_record(struct fs *fs, int dir, const char *path, const struct record *record, int flags);

#endif
