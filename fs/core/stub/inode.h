/* SPDX-License-Identifier: MIT */
/* An inode is what the kernel, or somebody in here, remembers of a name in ns/: a directory, a stub, anything. It knows
 * one name that leads to it, so that a descriptor can be opened when needed and closed when there are too many.
 *
 *     nodeid 7  ──>  inode { ino 1234, parent ──> inode { ... }, name "a.dat" }  ──>  descriptor, maybe
 *
 * When that name goes while the inode is remembered, its descriptor stays open for good. Not where files need names
 * (disk->nameless): there an open descriptor makes the client of NFS keep another name for the file, or makes a rename
 * over it two steps. So nobody holds a descriptor of what loses a name, and a file in use gets a name in todo/. */
#ifndef FALLSFS_FS_CORE_STUB_INODE_H
#define FALLSFS_FS_CORE_STUB_INODE_H

#include "fs/core/disk/mutex.h"
#include "fs/core/volume/want.h"

#include <stdatomic.h>

#define INODE_ROOT 1 /* nodeid of the root */

struct file;
struct job;

/* What becomes of a regular file's bytes once its last name has gone (file/file_use.c). inode->lock guards it. */
struct inode_end {
    struct record *grave; /* of a file that was not in use when its name went: what is to be reaped; or NULL */
    bool is_unlisted;     /* it had no bytes when its name went, and is not in todo/ */
    bool is_awaited;      /* the reaper has been told that its bytes will go */
    bool is_reaped;       /* its bytes have gone, or are the reaper's by now */
};

/* What the copier knows of the copy of a file's record (tree/copier.h). */
struct inode_copy {
    atomic_bool is_due;     /* the copier has been told to write it */
    atomic_bool lacks_name; /* no name was known, or one that is no more: the next one to be found is told */
    atomic_bool unsynced;   /* it was written, and no fsync has made it durable */
    atomic_bool moves;      /* the next one will be written to another disk than the present one is on */
};

/* What is known of a stub's attributes, and need not be found out or done again (tree/tree_attr.c). */
struct inode_attr {
    atomic_bool was_read;          /* since it changed: reading need not move atime again */
    atomic_bool atime_is_old;      /* set by hand: the next one to read shall be noticed */
    atomic_bool has_no_privileges; /* known to have no set-user-ID, set-group-ID, capabilities to clear */
};

/* What the daemon notes of the kernel: its pages of the file and what it has been told of it (fs/daemon/serve). */
struct inode_pages {
    atomic_uint direct;         /* handles that write past the kernel's pages (direct.c) */
    _Atomic uint32_t forgotten; /* when the kernel was last told to forget bytes (page_races.c) */
    atomic_uint n_read_write;   /* handles through which it may be mapped to be written (handle.c) */
    atomic_uint_least64_t end;  /* so long, at least, the kernel knows the file to be (kernel_cache.c) */
    atomic_bool was_cut;        /* end is not to be believed: the file may have become shorter since */
    atomic_bool is_told;        /* the kernel has had its attributes in a listing, and nothing changed them since */
};

struct inode {
    uint64_t nodeid;
    uint64_t ino; /* of the stub: what users see */
    struct mutex lock;
    mode_t fmt;             /* S_IFREG, S_IFDIR, ... */
    atomic_int write_error; /* of bytes written behind, which the next fsync tells; 0: none (file/file_behind.c) */
    struct file *file;      /* inode->lock; of regular files in use */
    struct job *job;        /* the last one, as long as it is told of; the lock of change/jobs.c */
    struct inode_end end;
    struct inode_pages pages;
    struct inode_copy copy;
    struct inode_attr attr;

    /* Links in todo/, which users do not see; both change with inode->lock held. */
    atomic_bool is_followed; /* listed as one whose replicas have something to follow (refill.h) */
    atomic_bool is_listed;   /* as one on its way to another layout (journal.h) */
    atomic_bool has_spare;   /* since a name went, besides the names it has; until nobody uses it (todo.h) */

    /* inodes->lock from here on. Who remembers it (inode.c). */
    uint64_t n_lookup;       /* what the kernel holds */
    struct inode *hash_next; /* of those found by a number like this one */
    uint32_t n_refs;         /* what is held in here, children included */
    bool hashed;             /* it is found by its number */

    /* What it is called (inode_name.c). */
    struct inode *parent; /* NULL with a name: it lies in todo/ */
    char *name;
    struct stat *last; /* what is told of it when nothing leads to it; or NULL */
    bool name_is_new;  /* since the directory was last synced */
    bool gone;         /* the last name is */

    /* Its descriptor (inode_fd.c). */
    int fd; /* O_PATH, or -1 */
    uint32_t fd_users;
    bool withheld;               /* nobody gets a descriptor */
    struct inode *older, *newer; /* among those whose descriptor may be closed */

    /* Of a directory: what is made below it is laid out by (inode_own.c). */
    struct want *own;              /* NULL: what is above says */
    bool knows_own;                /* own is what it has, or that it has none */
    bool had_own;                  /* once */
    size_t own_bytes;              /* as inodes->own_bytes has counted it */
    struct inode *colder, *warmer; /* among those that have own */
};

struct inodes;

/* Makes the table of inodes of a volume, with its root. The table lends out the descriptor of the root from the volume,
 * which must outlive it, as must the layouts that directories have. */
int inodes_new(struct volume *volume, uint32_t max_fds, struct inodes **ret_inodes);
void inodes_free(struct inodes *inodes);

struct inode *inodes_root(struct inodes *inodes);

/* Finds an inode by the number that the kernel knows, with a reference. NULL: there is none. */
struct inode *inodes_find(struct inodes *inodes, uint64_t nodeid);

/* Finds an inode by its stub's number, with a reference. NULL: nobody remembers it. */
struct inode *inodes_find_ino(struct inodes *inodes, uint64_t ino);

/* Finds the inode that parent has under this name, or remembers it from now on, with a reference for the caller. */
int inodes_enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode);

/* Finds the inode that has this name in todo/, or remembers it from now on, with a reference for the caller. */
int inodes_enter_todo(struct inodes *inodes, const char *name, const struct stat *st, struct inode **ret_inode);

/* Whether the kernel knows the regular file with this number by this name, and has been told its attributes
 * (pages.is_told). */
bool inodes_has_told(struct inodes *inodes, const struct inode *parent, const char *name, uint64_t ino);

void inode_ref(struct inodes *inodes, struct inode *inode);
void inode_unref(struct inodes *inodes, struct inode *inode);

/* Counts what the kernel holds of an inode: one more, n fewer, whether anything. Who has it hold fewer calls
 * file_forget, not inode_forget. */
void inode_looked_up(struct inodes *inodes, struct inode *inode);
void inode_forget(struct inodes *inodes, struct inode *inode, uint64_t n);
bool inode_is_known(struct inodes *inodes, struct inode *inode);

/* Gives a descriptor of the inode until inode_close. -ESTALE: it cannot be found any more. */
int inode_open(struct inodes *inodes, struct inode *inode, int *ret_fd);
void inode_close(struct inodes *inodes, struct inode *inode);

/* Gives the inode a descriptor, which somebody had opened anyway. */
void inode_adopt_fd(struct inodes *inodes, struct inode *inode, int fd);

/* To be called around a call to the home disk that changes a name, and what tells the table of it. inode_renamed takes
 * name: get memory for it before that call. */
void inodes_naming_begin(struct inodes *inodes);
void inodes_naming_end(struct inodes *inodes);
void inode_renamed(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name);

/* To be called around a call to the home disk that takes a name of an inode, its last one or not, and what tells the
 * table of it. inode_withhold waits until nobody has a descriptor of the inode: whoever has one must not wait for
 * inode->lock or above. Where files may be nameless it holds one itself, which then stays. */
int inode_withhold(struct inodes *inodes, struct inode *inode, bool is_last);
void inode_release(struct inodes *inodes, struct inode *inode);

/* Whether this is the name by which the table knows the inode. */
bool inode_is_named(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name);

/* Tells the table that the inode has lost this name, but has others; todo: the one it has in todo/, or NULL. */
void inode_unnamed(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name,
                   const char *todo);

/* Tells the table that the last name of the inode has gone; todo: its name in todo/, or NULL. st is how it was, which
 * is remembered of what is no file. */
void inode_buried(struct inodes *inodes, struct inode *inode, const struct stat *st, const char *todo);

/* What was known of an inode when its last name went; -ESTALE: nothing. */
int inode_last_stat(struct inodes *inodes, struct inode *inode, struct stat *ret_stat);

bool inode_is_gone(struct inodes *inodes, struct inode *inode);

/* Notes the layout that a directory has of its own, or with NULL that it has none, and takes the reference; or forgets
 * what was noted. Of many it forgets those that nobody has asked for lately, so that no number of directories takes
 * more memory than INODES_OWN_BYTES, and that of one. */
#define INODES_OWN_BYTES (UINT64_C(16) << 20)
void inode_know_own(struct inodes *inodes, struct inode *dir, struct want *own);
void inode_forget_own(struct inodes *inodes, struct inode *dir);

/* Notes that a directory that has just been made has no layout of its own, unless somebody has given it one already. */
void inode_is_new_dir(struct inodes *inodes, struct inode *dir);

/* Finds the nearest directory, from dir upwards, that has a layout of its own, with a reference to both. *ret_own NULL:
 * of this directory on the way nobody knows yet whether it has one. NULL: no directory has one, as far up as names
 * lead. */
struct inode *inode_nearest_own(struct inodes *inodes, struct inode *dir, struct want **ret_own);

/* The directory that an inode is in, with a reference. NULL: no name leads to the inode, or it is the root. */
struct inode *inode_parent(struct inodes *inodes, struct inode *inode);

/* The path of an inode from the root, without a slash in front. -ESTALE: it has no name. */
int inode_path(struct inodes *inodes, struct inode *inode, char **ret_path);

/* True, once, when the name of an inode has not been synced; its directory then comes with a reference. */
bool inode_take_new_name(struct inodes *inodes, struct inode *inode, struct inode **ret_parent);
void inode_name_is_new(struct inodes *inodes, struct inode *inode);

/* Calls visit for every inode, each with a reference. */
void inodes_visit(struct inodes *inodes, void (*visit)(void *arg, struct inode *inode), void *arg);

#endif
