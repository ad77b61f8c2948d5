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

#define SUBFILE_LEN_UNKNOWN UINT64_MAX

struct subfile {
    int fd;       /* meta; -1: not open */
    bool absent;  /* meta; looked for and not there */
    bool opening; /* meta; somebody waits for its disk; opened tells when that is over */
    uint64_t len; /* meta; or SUBFILE_LEN_UNKNOWN */
};

struct file {
    struct inode *inode;
    uint32_t n_users; /* inode->lock */
    bool kept;        /* inode->lock; without users, since its record could not be stored */
    struct file_layout *layout;
    uint32_t n_slots;

    pthread_mutex_t sync_lock;
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
    struct subfile sub[];
};

/* The file of an inode, loaded if need be, until file_put. -EUCLEAN its record or layout is damaged, -ESTALE it is gone
 * for good. */
int file_get(struct fs *fs, struct inode *inode, struct file **ret_file);
void file_put(struct fs *fs, struct file *file);

/* The same for a file that was just made with this record. */
int file_get_made(struct fs *fs, struct inode *inode, const struct record *record, struct file **ret_file);

/* The end of the mount: nobody will close the file any more, if it is in use. The inode's references are not counted.
 */
int file_end(struct fs *fs, struct inode *inode);

/* Bytes read, fewer only at the end of the file; or an error, if it is with any of them. */
ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off);

/* Bytes written, fewer when a disk was full or failed behind them, or the error. */
ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off);

/* Both keep to I6: the size is the old one or the new one, and what was cut off never comes back. */
int file_truncate(struct fs *fs, struct file *file, uint64_t size);

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

/* Syncs the subfiles that changed: all begin before one is waited for. io is held. */
int file_sync_subfiles(struct fs *fs, struct file *file);

/* Syncs the stub with its record. */
int file_sync_stub(struct fs *fs, struct file *file);

/* Removes, some time later, what generations before the current one left. */
void file_reap_old(struct fs *fs, struct file *file);

/* The record of a stub: dir and path as disk.h has them. */
int file_read_record(struct fs *fs, int dir, const char *path, struct record *ret_record);
int file_write_record(struct fs *fs, int dir, const char *path, const struct record *record, int flags);

#endif
