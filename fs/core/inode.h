/* SPDX-License-Identifier: MIT */
/* An inode is what the kernel, or somebody in here, remembers of a name in ns/: a directory, a stub, anything. It knows
 * one name that leads to it, so that a descriptor can be opened when needed and closed when there are too many.
 *
 *     nodeid 7  ──>  inode { ino 1234, parent ──> inode { ... }, name "a.dat" }  ──>  descriptor, maybe
 *
 * When that name goes while the inode is remembered, its descriptor stays open for good. Not where files need names
 * (disk->nameless): there an open descriptor makes the client of NFS keep another name for the file, or makes a rename
 * over it two steps. So nobody holds a descriptor of what loses a name, and a file in use gets a name in todo/. */
#ifndef FALLSFS_FS_CORE_INODE_H
#define FALLSFS_FS_CORE_INODE_H

#include "fs/core/layouts.h"

#include <pthread.h>
#include <stdatomic.h>

#define INODE_ROOT 1 /* nodeid of the root */

struct file;
struct task;

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
    atomic_uint n_read_write;      /* handles through which it may be mapped to be written */
    atomic_int write_error;        /* of bytes written behind, which the next fsync tells; 0: none */
    _Atomic uint32_t forgotten;    /* when the kernel was last told to forget bytes; fs/daemon/refills.h */
    atomic_bool has_no_privileges; /* known to have no set-user-ID, set-group-ID, capabilities to clear */
    atomic_bool is_listed;         /* another link in todo/, that of journal.h; changes with inode->lock */
    atomic_bool has_spare; /* a link in todo/ since a name went, besides the names it has; until nobody uses it */
    struct task *job;      /* the last one, as long as it is told of; the lock of jobs.c */

    /* inodes->lock from here on */
    uint64_t n_lookup;    /* what the kernel holds */
    uint32_t n_refs;      /* what is held in here, children included */
    struct inode *parent; /* NULL with a name: it lies in todo/ */
    char *name;
    bool gone;         /* the last name is */
    bool hashed;       /* found by its number */
    bool withheld;     /* nobody gets a descriptor */
    struct stat *last; /* what is told of it when nothing leads to it; or NULL */
    bool name_is_new;  /* since the directory was last synced */
    int fd;            /* O_PATH, or -1 */
    uint32_t fd_users;
    bool knows_own;    /* of directories: own is what it has, or that it has none */
    struct choice own; /* what is made below is laid out by; layout NULL: what is above says */
    struct inode *hash_next, *older, *newer;
};

struct inodes;

/* The root's descriptor is the volume's; layouts outlive them. */
int inodes_new(struct volume *volume, struct layouts *layouts, uint32_t max_fds, struct inodes **ret_inodes);
void inodes_free(struct inodes *inodes);

struct inode *inodes_root(struct inodes *inodes);

/* By the kernel's number; takes a reference. NULL when there is none. */
struct inode *inodes_find(struct inodes *inodes, uint64_t nodeid);

/* By the stub's number; takes a reference. NULL when nobody remembers it. */
struct inode *inodes_find_ino(struct inodes *inodes, uint64_t ino);

/* The inode that parent has under this name, remembered from now on, with a reference for the caller. */
int inodes_enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode);

/* The same for a name in todo/. */
int inodes_enter_todo(struct inodes *inodes, const char *name, const struct stat *st, struct inode **ret_inode);

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

/* Around a call that changes what something is called and saying so here. inode_renamed takes the name: get memory for
 * it before the call. */
void inodes_naming_begin(struct inodes *inodes);
void inodes_naming_end(struct inodes *inodes);
void inode_renamed(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name);

/* Around a call that takes a name of an inode, its last one or not, and saying so here. Waits until nobody has a
 * descriptor of it any more: whoever has one must not wait for inode->lock or above. Where files may be nameless it
 * holds one, which then stays. */
int inode_withhold(struct inodes *inodes, struct inode *inode, bool is_last);
void inode_release(struct inodes *inodes, struct inode *inode);

/* Whether this is the name that leads to it. */
bool inode_is_named(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name);

/* The inode is no longer called that, but has other names; todo: the one it has in todo/, or NULL. */
void inode_unnamed(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name,
                   const char *todo);

/* The last name has gone; st is how it was, which is remembered of what is no file. */
void inode_buried(struct inodes *inodes, struct inode *inode, const struct stat *st, const char *todo);

/* What was known of it when its last name went; -ESTALE: nothing. */
int inode_last_stat(struct inodes *inodes, struct inode *inode, struct stat *ret_stat);

bool inode_is_gone(struct inodes *inodes, struct inode *inode);

/* What a directory has of its own; takes the reference to the layout. */
void inode_know_own(struct inodes *inodes, struct inode *dir, const struct choice *own);
void inode_forget_own(struct inodes *inodes, struct inode *dir);

/* A directory that has just been made has none, unless somebody has given it one already. */
void inode_is_new_dir(struct inodes *inodes, struct inode *dir);

/* The nearest directory, from dir upwards, that has an own layout, with a reference to both. Or, with layout NULL, one
 * on the way of which that is not known. NULL when none has, so far up as names lead. */
struct inode *inode_nearest_own(struct inodes *inodes, struct inode *dir, struct choice *ret_own);

/* What it is in, with a reference; NULL when no name leads there, and of the root. */
struct inode *inode_parent(struct inodes *inodes, struct inode *inode);

/* From the root, without a slash in front; -ESTALE without a name. */
int inode_path(struct inodes *inodes, struct inode *inode, char **ret_path);

/* True, once, when the name has not been synced; the parent then comes with a reference. */
bool inode_take_new_name(struct inodes *inodes, struct inode *inode, struct inode **ret_parent);
void inode_name_is_new(struct inodes *inodes, struct inode *inode);

/* Calls visit for every inode, each with a reference. */
void inodes_visit(struct inodes *inodes, void (*visit)(void *arg, struct inode *inode), void *arg);

#endif
