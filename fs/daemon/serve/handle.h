/* SPDX-License-Identifier: MIT */
/* What the kernel's open files and directories are in here. The kernel knows a handle by number, never by address. */
#ifndef FALLSFS_FS_DAEMON_SERVE_HANDLE_H
#define FALLSFS_FS_DAEMON_SERVE_HANDLE_H

#include "fs/core/view/file_view.h"

struct accounts;
struct held_view;
struct node;
struct sections;
struct stake;

/* What has been done by a handle. */
struct handle_use {
    atomic_uint_least64_t n_reads, read; /* read, written: bytes */
    atomic_uint_least64_t n_writes, written;
};

struct handle {
    struct handles *handles;
    struct fs *fs;
    atomic_uint refs; /* of the kernel, and of requests at work */
    struct inode *inode;
    struct file *file;           /* NULL: a directory */
    int flags;                   /* that it was opened with */
    uint32_t opened;             /* the number of this open, of all of files */
    bool past_cache;             /* the kernel answers no access itself */
    bool writes_directly;        /* past the kernel's pages (direct.h) */
    struct stake *stake;         /* who is charged for the descriptors that it may take; NULL: nobody yet */
    struct file_view *file_view; /* offsets are those of this view; NULL: of the file */
    struct held_view *held;      /* what the view was charged for, and the node it was opened by; NULL: no view */
    struct node *node;
    atomic_uint seen_errors;
    struct mutex dir_lock; /* one reader of a directory at a time */
    int dir_fd;
    _Atomic(struct sections *) sections; /* NULL: nobody has asked for any */
    uid_t uid;                           /* who opened it, and by which process; 0: one that cannot be seen from here */
    pid_t pid;
    struct handle_use use;
    atomic_uint_least64_t trace_tag; /* how it is traced (trace/tracing.c) */
    atomic_uint_least64_t trace_ino; /* which directory's trace that is of, or the file's own; 0: of none */
    atomic_uint trace_sample;        /* one of so many of its accesses is recorded */
    atomic_uint_least64_t trace_n;   /* accesses so far, of which some are recorded */
    atomic_uint trace_counted;       /* for which trace of every access it has been counted */
    _Atomic(struct node *) ticket;   /* with a reference, until release; NULL: no view has been asked for */
};

struct handles;

/* Called when a handle goes: the rooms above let go of what they have hung on it. */
struct handle_ends {
    void (*sections)(struct sections *sections);
    void (*view)(struct held_view *held, struct node *node); /* the node last: the view has its counters */
};

/* Makes an empty table of handles, which the accounts outlive. direct_io: whoever writes does so past the kernel's
 * pages. */
int handles_new(struct accounts *accounts, const struct handle_ends *ends, bool direct_io,
                struct handles **ret_handles);
void handles_free(struct handles *handles);

/* Adds a handle, with its reference, to the table, under a number that is never 0. */
int handles_add(struct handles *handles, struct handle *handle, uint64_t *ret_number);

/* How many files and how many directories are open. */
void handles_count(struct handles *handles, uint64_t *ret_files, uint64_t *ret_directories);

/* What is told of a file that is open. */
struct handle_told {
    uint64_t number, nodeid;
    uid_t uid;
    pid_t pid;
    int flags;
    bool is_view;
    uint64_t n_reads, read, n_writes, written;
};

/* Finds the files, max at most, by whose handles most bytes were moved, those of most first; of that user, or of all.
 * Returns how many. */
uint32_t handles_busiest(struct handles *handles, uid_t uid, bool all, struct handle_told told[], uint32_t max);

static inline void handle_note_read(struct handle *handle, uint64_t bytes)
{
    atomic_fetch_add_explicit(&handle->use.n_reads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&handle->use.read, bytes, memory_order_relaxed);
}

static inline void handle_note_write(struct handle *handle, uint64_t bytes)
{
    atomic_fetch_add_explicit(&handle->use.n_writes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&handle->use.written, bytes, memory_order_relaxed);
}

/* The view that a handle is of. */
struct handle_view {
    struct file_view *file_view;
    struct held_view *held;
    struct node *node;
};

/* How a file or directory is opened. */
struct handle_way {
    int flags;
    bool past_cache; /* the kernel is told so; with O_DIRECT or a view it does so anyway */
};

/* Makes a handle with one reference. It takes over the file, which is NULL for a directory, and what view has; NULL: no
 * view. NULL without memory. */
struct handle *handle_new(struct handles *handles, struct fs *fs, struct inode *inode, struct file *file,
                          const struct handle_view *view, struct handle_way way);

/* Charges the user for the descriptors that a handle may take here, until it goes: a file takes the same however often
 * the user has it open. -ENFILE: that would be too many. */
int handles_charge(struct handles *handles, struct handle *handle, uid_t uid);

/* Charges all who have a file open for a layout of this weight, where they are charged for less: the file is about to
 * get that layout. -ENFILE: that would be too much for one of them; others may be charged for it already, until they
 * close the file. */
int handles_recharge(struct handles *handles, const struct inode *inode, uint32_t weight);

/* Finds the handle with this number, with a reference: a request may outlast the kernel's interest in it when a disk
 * takes too long. */
struct handle *handles_get(struct handles *handles, uint64_t number);
void handle_ref(struct handle *handle);
void handle_put(struct handle *handle);

/* Calls visit for what each handle has of sections, as long as that is; visit closes nothing and waits for nobody. */
void handles_each_sections(struct handles *handles, void (*visit)(struct sections *sections));

/* The same for each handle. */
void handles_each(struct handles *handles, void (*visit)(void *ctx, struct handle *handle), void *ctx);

/* Drops the handle with this number, as the kernel has let go of it. */
void handles_drop(struct handles *handles, uint64_t number);

#endif
