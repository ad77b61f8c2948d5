/* SPDX-License-Identifier: MIT */
/* The replicas of a file in use: further generations, in other layouts, which stay. The file is the truth.
 *
 *     now      # # # # # #          bytes of the file, by windows
 *     r1       # # . # # #          a window that lacks something is wrong: it is not read, and filled again later
 *                  wrong
 *
 * What is written to the file is written to a replica, too (update), or makes its windows wrong (drop). Who writes
 * where a replica follows has the range locked, so that both see overlapping writes in one order, and nobody reads a
 * replica where a range is locked: so no reader sees less than another one before him.
 *
 * What the disks say of a window is another matter (replica_map.h): that it is right is taken back, durably, before the
 * window changes, and told again when both are synced.
 *
 * Where nothing else is said io is held, and a file without replicas has NULL instead of all this. */
#ifndef FALLSFS_FS_CORE_FILE_REPLICAS_H
#define FALLSFS_FS_CORE_FILE_REPLICAS_H

#include "fs/core/disk/mutex.h"
#include "fs/core/file/file.h"
#include "fs/core/stub/replica_files.h"

struct plan;

struct replica {
    struct generation *generation; /* NULL: nobody knows its layout, and it is lost */
    struct windows wrong;          /* lock; those that lack bytes of the file */
    struct windows right;          /* lock; all that some disk may call right */
    struct windows covered;        /* of who syncs the file; those that had all bytes when the sync began */
    struct windows still;          /* lock; those of them that nobody has begun to change since */
    atomic_bool is_lost;           /* nobody knows what it has: all windows are wrong */
    atomic_bool is_failing;        /* it could not be read: so it is where the file cannot be read alone */
    atomic_int error; /* why it is lost, or why its last window could not be filled; 0: nobody knows of any */
    uint64_t blocks;  /* meta; that its subfiles took when they were last counted */
};

/* Lock order: io, changing, meta, lock. */
struct replicas {
    struct mutex changing; /* held while the map on the disks is changed */
    /* changing; what the disks are told. Its list of replicas changes with io held exclusively, too. */
    struct replica_map map;
    struct replica_places places;     /* io */
    bool shall_replace;               /* changing; the head on the disks is another one */
    bool is_new;                      /* the file was made a moment ago, and no disk has anything of it */
    atomic_uint_least64_t changed_at; /* clock_ms; when somebody last changed the file */
    uint64_t synced_size;             /* of who syncs the file; how long it was when the sync began */
    uint64_t blocks; /* the file's meta; that all took when they were last counted, or SUBFILE_LEN_UNKNOWN */
    struct mutex lock;
    struct replica replica[REPLICAS_MAX]; /* one for each of the map's */
};

/* Finds the replicas of a file that nobody uses yet. is_new: the file has just been made. -ENOMEM, -ETIMEDOUT,
 * -EPROTONOSUPPORT. */
int replicas_load(struct fs *fs, struct file *file, bool is_new);
void replicas_free(struct fs *fs, struct replicas *replicas);

/* How much they weigh, as file_weight. */
uint32_t replicas_weight(const struct replicas *replicas);

/* Whether windows are to be filled, or disks to be told what is right. */
bool replicas_are_due(struct file *file);

/* Whether replicas of a file with this record, which need not be in use, seem to lack something of it. */
bool replicas_lack(struct fs *fs, const struct record *record);

/* -- before and after bytes change -- */

/* Whether some replica gets what is written that does not lie as the file does: it gets whole pieces of the file. */
bool replicas_follow_apart(const struct file *file);

/* To be called before bytes [lo, hi) change. Where it fails they must not. */
int replicas_will_change(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi);

/* Has no disk call windows of [lo, hi) right, as much will be written there: so that this is done once. */
int replicas_take_back(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi);

/* To be called before the file grows to size without a byte being written. */
int replicas_will_grow(struct fs *fs, struct file *file, uint64_t size);

/* Does to the second copy what a plan has done to bytes [lo, hi) of the file: *written, how many bytes of the plan both
 * have, may become less. An error is the user's. */
int replicas_write_copy(struct fs *fs, struct file *file, const struct plan *plan, uint64_t lo, uint64_t hi,
                        uint64_t *written);

/* Does to the other replicas that follow what a plan has done to the file; the first written bytes are what its buffer
 * says, the others may be anything. */
void replicas_write(struct fs *fs, struct file *file, const struct plan *plan, uint64_t written);

/* To be called before the file is cut to size, and after it was; io is held exclusively. */
int replicas_will_cut(struct fs *fs, struct file *file, uint64_t size);
void replicas_cut(struct fs *fs, struct file *file, uint64_t size);

/* Cuts off what the replicas have behind the end of the file. io is held exclusively. */
void replicas_cut_tails(struct fs *fs, struct file *file);

/* Does to the replicas what an allocation has done to the file. An error of the second copy is the user's. io is held
 * exclusively. */
int replicas_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len);

/* Nobody knows what of these bytes a change has reached in the file, which failed: the replicas lack them all. */
void replicas_lose(struct file *file, uint64_t lo, uint64_t hi);

/* To be called before the record is stored that makes the file begin anew, as another generation without bytes; and
 * once its stub tells that durably. io is held exclusively. */
int replicas_will_restart(struct fs *fs, struct file *file, uint64_t gen);
void replicas_restart(struct fs *fs, struct file *file);

/* To be called before the record is stored that gives the file another generation with the same bytes, and after it
 * was. io is held exclusively. */
int replicas_will_switch(struct fs *fs, struct file *file, uint64_t gen);
int replicas_switched(struct fs *fs, struct file *file);

/* -- reading -- */

/* Bytes [lo, hi) of the file that could not be read. is_share: they were to be read as a part of one subfile. */
struct lacking {
    uint64_t lo, hi;
    bool is_share;
    int error;
};

/* Reads from a replica what a plan for the file could not read. */
int replicas_read_instead(struct fs *fs, struct file *file, const struct plan *plan, const struct lacking *lacking);

/* Reads like replicas_read_instead what a file is to have from now on that is made anew: of what no fsync had confirmed
 * that which is left. */
int replicas_read_for_good(struct fs *fs, struct file *file, const struct plan *plan, const struct lacking *lacking);

#define REPLICAS_NONE REPLICAS_MAX

/* What it takes to read a range from the file as it lies now, and from each replica, in ns; below 0: it is not read
 * there. */
struct replicas_costs {
    double now, of[REPLICAS_MAX];
    uint32_t best; /* that is read, or REPLICAS_NONE: the file as it lies now */
};

/* Finds that out for a range with this selection, as replicas_choose does, which chooses by it. io is held. */
void replicas_weigh(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, const struct selection *only,
                    bool is_section, struct replicas_costs *ret_costs);

/* Finds the generation that a range is best read from, with this selection, or NULL: now, or that of a replica.
 * is_section: it is read for somebody who wants parts of an array, and others may read others. */
struct generation *replicas_choose(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len,
                                   const struct selection *only, bool is_section);

/* Counts the 512-byte blocks that all replicas take; of one whose disks do not answer promptly, those it last had. io
 * is held. */
uint64_t replicas_count_blocks(struct fs *fs, struct file *file);

/* How many blocks they took when that was last done, or SUBFILE_LEN_UNKNOWN; 0 without replicas. */
uint64_t replicas_blocks(const struct file *file) REQUIRES(file->meta);

/* Notes that a replica could not be read. */
void replicas_note_failing(struct file *file, const struct generation *generation);

/* -- syncing and filling -- */

enum replicas_which { REPLICAS_COPY, REPLICAS_ALL };

/* Whether subfiles are to be padded before a sync; pads them, with io held exclusively. meta is held for the first. */
bool replicas_need_padding(struct file *file, enum replicas_which which);
int replicas_pad(struct fs *fs, struct file *file, enum replicas_which which);

/* To be called around the sync of the file's own subfiles: notes which windows the sync covers; syncs the replicas and
 * tells the disks what is right. Who calls has sync_lock. */
int replicas_begin_sync(struct file *file, enum replicas_which which);
int replicas_end_sync(struct fs *fs, struct file *file, enum replicas_which which);

/* Fills the next wrong window: 1 there may be more, 0 there was none, or an error. No lock is held. */
int replicas_fill(struct fs *fs, struct file *file, enum replicas_which which, uint64_t *cursor);

/* Whether the second copy lacks something that could be filled. io is held. */
bool replicas_lack_copy(struct file *file);

/* Has those replicas lack all that have lost a subfile, so that they are filled again. */
int replicas_verify(struct fs *fs, struct file *file);

/* Where to go on when replicas_fill could not fill a window, and has gone past it: with the next replica. */
static inline uint64_t replicas_fill_next(uint64_t cursor)
{
    return ((cursor - 1) / WINDOWS_MAX + 1) * WINDOWS_MAX;
}

/* -- for the parts of this module -- */

/* The windows that have bytes of [lo, hi) that a replica is to have: [*ret_from, *ret_to). false: there are none. */
bool replica_span(const struct replica_map *map, const struct replica_entry *entry, uint64_t lo, uint64_t hi,
                  uint64_t *ret_from, uint64_t *ret_to);

/* Whether an entry is the second copy of how the file lies now: the subfile of each slot has the same bytes. */
bool replica_is_copy(const struct file *file, const struct replica_entry *entry);

/* Adds a replica that has nothing yet. -EBUSY: the file has as many as it may have. io is held exclusively, or nobody
 * uses the file yet; so it is for the next ones. */
int replicas_add(struct fs *fs, struct file *file, struct replicas *replicas, const struct replica_entry *asked);

/* Sees to it that there is a second copy if the layout of the file asks for one. */
int replicas_agree(struct fs *fs, struct file *file, struct replicas *replicas);

/* Makes what a file without replicas needs to have some. */
int replicas_new(struct fs *fs, struct file *file, struct replicas **ret_replicas);

void replica_done(struct fs *fs, struct replica *replica);

/* Makes those windows of a file of size bytes wrong that no disk calls right. */
void replica_doubt(const struct replica_map *map, const struct replica_entry *entry, uint64_t size,
                   struct replica *replica);

/* Makes windows wrong. */
void replica_mark_wrong(struct replica *replica, uint64_t from, uint64_t to);

/* Writes the list of replicas and all bits, durably. */
int replicas_write_list(struct fs *fs, const struct file *file, struct replicas *replicas) REQUIRES(replicas->changing);

/* What its subfiles must have, by what the disks say of a file of size bytes, durable of which an fsync has confirmed.
 */
uint64_t replica_demand(const struct replica_map *map, const struct replica_entry *entry, uint64_t size,
                        uint64_t durable);

#endif
