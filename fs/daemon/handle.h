/* SPDX-License-Identifier: MIT */
/* What the kernel's open files and directories are in here. The kernel knows a handle by number, never by address. */
#ifndef FALLSFS_FS_DAEMON_HANDLE_H
#define FALLSFS_FS_DAEMON_HANDLE_H

#include "fs/core/file_view.h"

struct node;
struct sections;

struct handle {
    struct fs *fs;
    atomic_uint refs; /* the kernel's, and those of requests at work */
    struct inode *inode;
    struct file *file;           /* NULL: a directory */
    int flags;                   /* of open */
    struct file_view *file_view; /* offsets are this view's; NULL: the file's */
    atomic_uint seen_errors;
    pthread_mutex_t dir_lock; /* one reader of a directory at a time */
    int dir_fd;
    _Atomic(struct sections *) sections; /* NULL: nobody has asked for any */
    _Atomic(struct node *) ticket;       /* with a reference, until release; NULL: no view has been asked for */
};

struct handles;

int handles_new(struct handles **ret_handles);
void handles_free(struct handles *handles);

/* Takes the handle over, with its reference; its number is never 0. */
int handles_add(struct handles *handles, struct handle *handle, uint64_t *ret_number);

/* With one reference; takes the file over, which is NULL for a directory; file_view as above. NULL without memory. */
struct handle *handle_new(struct fs *fs, struct inode *inode, struct file *file, struct file_view *file_view,
                          int flags);

/* With a reference. A request may outlast the kernel's interest in it: a disk took too long. */
struct handle *handles_get(struct handles *handles, uint64_t number);
void handle_ref(struct handle *handle);
void handle_put(struct handle *handle);

/* The kernel lets go of it. */
void handles_drop(struct handles *handles, uint64_t number);

#endif
