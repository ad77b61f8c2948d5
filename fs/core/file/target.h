/* SPDX-License-Identifier: MIT */
/* The generation that a migration fills, beside the one that is in use:
 *
 *     now     7  ##################################      all bytes; every read and every write
 *     next    8  ##############|                         those below done; every write there, too
 *                              done
 *
 * Nobody reads the target before it is whole and a record says so. What is done to the file is done to the target as
 * far as it goes, after the file: a failure there is the migration's, never the user's. Who writes to a file that
 * migrates has his range locked, so that both generations see overlapping writes in one order.
 *
 * A file has its target attached only while somebody copies: it has descriptors. While the migration waits, rests or is
 * paused the record alone tells how far both have the same bytes, and a write below that makes it tell less. */
#ifndef FALLSFS_FS_CORE_FILE_TARGET_H
#define FALLSFS_FS_CORE_FILE_TARGET_H

#include "fs/core/file/file.h"
#include "fs/core/file/fill.h"

struct target {
    struct generation *generation;
    bool *keeps; /* for each slot of the file: its subfile will be the target's, too */
    bool keeps_any;
    uint32_t *kept_from; /* for each slot of the target that is kept: the slot of the file that it comes from */
    struct solid *solid; /* of the thread that copies; for each slot of the file; forgotten where holes may come */
    bool prepared;       /* of the thread that copies; subfiles of an earlier mount have been looked at */
    atomic_uint_least64_t done;   /* below it both have the same bytes; UINT64_MAX: everywhere, behind the end, too */
    atomic_uint_least64_t lowest; /* the lowest byte written since the copying thread last set this to UINT64_MAX */
    atomic_int error;             /* why the migration cannot go on */
};

/* Has writes from now on mind the target that the record of a file tells of, if it tells of one that was not given up.
 * io is held exclusively, or nobody uses the file yet. */
void target_expect(struct file *file);

/* Gives a file that target, for who copies; the file may be left without one: nobody knows the target's layout. io is
 * held exclusively. */
int target_attach(struct fs *fs, struct file *file);

/* Takes the target from a file until it is attached again, and returns it, to be freed, or NULL. What the record does
 * not tell of will be copied again. io is held exclusively. */
struct target *target_detach(struct file *file);

void target_free(struct fs *fs, struct target *target);

/* To be called before bytes from file_off on change: a crash must not make anybody believe that the target has them. io
 * is held. */
int target_will_change(struct fs *fs, struct file *file, uint64_t file_off);

/* Does to the target what a write of len bytes has done to the file. The first written bytes are what buf says; the
 * others may be anything. io and the range are held. */
void target_write(struct fs *fs, struct file *file, const void *buf, uint64_t file_off, uint64_t len, uint64_t written);

/* Does to the target what a cut, or an allocation, has done to the file. io is held exclusively. */
void target_cut(struct fs *fs, struct file *file, uint64_t size);
void target_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len);

/* Notes why the migration cannot go on. Does nothing when there is none. */
void target_fail(struct file *file, int error);

#define TARGET_EMPTY 1

/* Copies bytes [lo, hi) from the file to the target; buf has room for them. fresh: the target never had anything there,
 * so holes stay holes, and TARGET_EMPTY tells that there was nothing but a hole. io and the range are held. */
int target_copy(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi, bool fresh, void *buf);

#endif
