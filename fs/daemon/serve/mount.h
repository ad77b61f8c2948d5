/* SPDX-License-Identifier: MIT */
/* A mounted volume: what all rooms of the daemon share. */
#ifndef FALLSFS_FS_DAEMON_SERVE_MOUNT_H
#define FALLSFS_FS_DAEMON_SERVE_MOUNT_H

#include "fs/core/fs.h"
#include "fs/core/tree/tree.h"
#include "fs/daemon/config/options.h"
#include "fs/daemon/serve/deadlines.h"
#include "ioctl/group.h"

struct accounts;
struct buffers;
struct collect;
struct nodes;
struct processes;
struct last_errors;
struct mover;
struct tracing;
struct troubles;
struct views;

#define MAX_REQUEST (1 << 20) /* bytes of one read or write */

struct mount {
    struct fs *fs;
    const struct options *options;
    struct handles *handles;
    struct deadlines *deadlines;
    struct groups *groups;
    struct collect *collect;
    struct buffers *buffers;
    struct processes *processes;
    struct last_errors *last_errors;
    struct mover *mover;
    struct tracing *tracing;
    struct troubles *troubles;
    struct nodes *nodes;
    struct accounts *accounts;
    struct views *views;
    enum layout_allow layout_allow;
    gid_t layout_gid;
    struct fuse_session *session;
    pid_t guard;
    uint64_t life;        /* a random number, never 0 */
    uint32_t generation;  /* tells apart the numbers that the kernel knows inodes by: they begin anew with each mount */
    double timeout;       /* seconds the kernel may believe what it was told: nobody else changes anything */
    bool direct_io;       /* files are open past the kernel's page cache */
    uint32_t max_waiting; /* how many of the threads that serve the kernel may wait for it */
    uint32_t max_read;    /* bytes of one read request; 0: the kernel's choice */
};

/* The mount, the only one of the process. A request can be gone before its operation is over, when it was answered in
 * its place: nothing is asked of it after the operation has waited for a disk. */
extern struct mount *the_mount;

/* Begins an operation: its request is served from now on. */
static inline void serve(fuse_req_t req)
{
    deadlines_begin(the_mount->deadlines, req);
}

/* An inode that the kernel names, held while the operation works on it: the kernel names only those it was told of and
 * has not forgotten, but may lose interest meanwhile, when a disk takes too long. */
struct held {
    struct inodes *inodes;
    struct inode *inode;
};

/* Holds the inode with this number; inode NULL: there is none. */
static inline struct held hold(fuse_ino_t ino)
{
    struct inodes *inodes = the_mount->fs->inodes;

    return (struct held){ inodes, inodes_find(inodes, ino) };
}

/* Holds an inode whose attributes the kernel asks for, or will not know after the operation: the next listing tells
 * them anew. */
static inline struct held hold_untold(fuse_ino_t ino)
{
    struct held held = hold(ino);

    if (held.inode != NULL)
        atomic_store(&held.inode->pages.is_told, false);
    return held;
}

static inline void held_done(struct held *held)
{
    inode_unref(held->inodes, held->inode);
}

/* The handle of an open file or directory, with a reference. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return deadlines_handle(the_mount->deadlines, fi);
}

/* Lets go of a handle, if there is one: those of other processes may be gone. */
static inline void handle_putp(struct handle **handle)
{
    if (*handle != NULL)
        handle_put(*handle);
}

struct cred cred_of(fuse_req_t req);

#endif
