/* SPDX-License-Identifier: MIT */
/* An inode is what the kernel, or somebody in here, remembers of a name in ns/: a directory, a stub, anything. It knows
 * one name that leads to it, so that a descriptor can be opened when needed and closed when there are too many.
 *
 *     nodeid 7  ──>  inode { ino 1234, parent ──> inode { ... }, name "a.dat" }  ──>  descriptor, maybe
 *
 * When the last name goes while the inode is remembered, its descriptor stays open for good. */
#ifndef FALLSFS_FS_CORE_INODE_H
#define FALLSFS_FS_CORE_INODE_H

#include "fs/core/volume.h"

#include <pthread.h>
#include <stdatomic.h>

#define INODE_ROOT 1 /* nodeid of the root */

struct file;

struct inode {
    uint64_t nodeid;
    uint64_t ino; /* of the stub: what users see */
    mode_t fmt;   /* S_IFREG, S_IFDIR, ... */
    pthread_mutex_t lock;
    struct file *file;             /* inode->lock; of regular files in use */
    bool reaped;                   /* inode->lock; the bytes are gone, too */
    atomic_bool read_since_change; /* reading need not move atime again */
    atomic_bool atime_is_old;      /* set by hand: the next one to read shall be noticed */
    atomic_bool copy_is_due;       /* the copier has been told */
    atomic_bool has_no_privileges; /* known to have no set-user-ID, set-group-ID, capabilities to clear */

    /* inodes->lock from here on */
    uint64_t n_lookup; /* what the kernel holds */
    uint32_t n_refs;   /* what is held in here, children included */
    struct inode *parent;
    char *name;
    bool gone;        /* the last name is */
    bool name_is_new; /* since the directory was last synced */
    int fd;           /* O_PATH, or -1 */
    uint32_t fd_users;
    struct inode *hash_next, *older, *newer;
};

struct inodes;

/* The root's descriptor is the volume's. */
int inodes_new(struct volume *volume, uint32_t max_fds, struct inodes **ret_inodes);
void inodes_free(struct inodes *inodes);

struct inode *inodes_root(struct inodes *inodes);

/* By the kernel's number; takes a reference. NULL when there is none. */
struct inode *inodes_find(struct inodes *inodes, uint64_t nodeid);

/* By the stub's number; takes a reference. NULL when nobody remembers it. */
struct inode *inodes_find_ino(struct inodes *inodes, uint64_t ino);

/* The inode that parent has under this name, remembered from now on, with a reference for the caller. */
int inodes_enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode);

void inode_ref(struct inodes *inodes, struct inode *inode);
void inode_unref(struct inodes *inodes, struct inode *inode);

/* What the kernel holds: one more, n fewer. */
void inode_looked_up(struct inodes *inodes, struct inode *inode);
void inode_forget(struct inodes *inodes, struct inode *inode, uint64_t n);

/* A descriptor of the inode until inode_close. -ESTALE when it cannot be found any more. */
int inode_open(struct inodes *inodes, struct inode *inode, int *ret_fd);
void inode_close(struct inodes *inodes, struct inode *inode);

/* Gives the inode a descriptor that somebody opened anyway. */
void inode_adopt_fd(struct inodes *inodes, struct inode *inode, int fd);

/* Around a call that changes what something is called and saying so here. Before the last name of an inode goes, hold a
 * descriptor with inode_open: it then stays. */
void inodes_naming_begin(struct inodes *inodes);
void inodes_naming_end(struct inodes *inodes);
void inode_renamed(struct inodes *inodes, struct inode *inode, struct inode *parent, const char *name);

/* The inode is no longer called that: it has other names, or is gone. */
void inode_unnamed(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name, bool gone);

bool inode_is_gone(struct inodes *inodes, struct inode *inode);

/* From the root, without a slash in front; -ESTALE without a name. */
int inode_path(struct inodes *inodes, struct inode *inode, char **ret_path);

/* True, once, when the name has not been synced; the parent then comes with a reference. */
bool inode_take_new_name(struct inodes *inodes, struct inode *inode, struct inode **ret_parent);
void inode_name_is_new(struct inodes *inodes, struct inode *inode);

/* Calls visit for every inode, each with a reference. */
void inodes_visit(struct inodes *inodes, void (*visit)(void *arg, struct inode *inode), void *arg);

#endif
