/* SPDX-License-Identifier: MIT */
/* A file of MPI's that is ours, beside the MPI's own handle of it.
 *
 *     MPI_File ──> MPI's own: errhandler, info, amode, shared pointer; its view stays that of bytes
 *          │
 *          └─────> struct file: view and individual pointer; a descriptor for what a rank asks for alone;
 *                  the group for what all ask for
 *
 * After open, nothing here sends a message or waits in a barrier: ranks meet in their group. What is not ours to do is
 * done by the MPI: a collective call that needs its shared pointer or its atomic mode hands the file over to it for
 * good, with the view and the pointer as they are then. */
#ifndef FALLSFS_IOCTL_MPI_FILE_H
#define FALLSFS_IOCTL_MPI_FILE_H

#include "ioctl/client/fallsfs.h"
#include "ioctl/mpi/typemap.h"

#include <limits.h>
#include <mpi.h>
#include <pthread.h>

/* What a function here answers when the MPI's own is to be called. */
#define FILE_THEIRS INT_MIN

/* Text that a slot of the board has room for; longer ones are lists. */
#define VIEW_MAX_TEXT 640

/* One tile of a view as requests have it; of the same content, there is one. */
struct tile {
    unsigned refs; /* by atomic builtins */
    struct typemap *typemap;
    uint64_t id;                      /* among the lists of its file; 0: text */
    struct fallsfs_ioc_piece *pieces; /* of fallsfs_alloc; NULL: text */
    uint64_t n_pieces;
    char text[VIEW_MAX_TEXT]; /* empty: it overlaps itself, see dealing.h */
};

/* Never changes; who uses one has a reference. */
struct view {
    unsigned refs; /* by atomic builtins */
    MPI_Offset disp;
    MPI_Datatype etype, filetype; /* our own, unless they are predefined */
    uint64_t etype_size;
    struct tile *tile;
    uint32_t traced; /* its number in the trace; 0: it has none yet; trace.c has a lock for it */
};

/* Which way the bytes of a call go, and why that one. */
enum way {
    WAY_GROUP,
    WAY_INDEPENDENT, /* from here on, alone */
    WAY_ONE_RANK,    /* a collective call of one rank */
    WAY_NONBLOCKING,
    WAY_HINT,   /* it is not to be collective */
    WAY_SHARED, /* from here on, the MPI's: at the shared pointer */
    WAY_THEIRS, /* of a file that is the MPI's */
    N_WAYS,
};

struct counters {
    uint64_t calls, bytes;
};

#define FILE_TILES 4

struct file {
    unsigned refs;     /* by atomic builtins */
    struct file *next; /* of the same bucket: handles.c */
    MPI_File handle;
    char *name;
    int rank, n_ranks;
    char why[256]; /* it is not ours, or no longer; else how it is */
    int fd;        /* -1: never ours */
    int amode;
    bool no_sieving;              /* what the MPI writes is no more than it was asked for */
    bool shared_hint;             /* views are told to the MPI, too, for *_shared calls */
    bool alone_read, alone_write; /* collective calls are not to be collective */
    uint64_t max_stage;           /* bytes of copies at a time */
    uint64_t max_pieces;          /* of a list, at a time */
    uint32_t group_number;        /* the same for all ranks, and hardly another file's; never 0 */
    uint32_t traced, opened;      /* the file's number in the trace, 0: none, and that of this open */
    struct fallsfs_group *group;  /* NULL: one rank */
    pthread_mutex_t round;        /* one collective call at a time */

    pthread_mutex_t lock; /* of what follows; nothing is waited for under it */
    bool theirs;
    bool view_told; /* the MPI's handle has our view */
    struct view *view;
    bool view_refused; /* the program has set another one since, which was wrong */
    uint64_t position; /* bytes of the view's stream */
    struct tile *tile[FILE_TILES];
    uint64_t n_tiles; /* so far */
    bool split;       /* a begin without its end */
    bool split_write;
    uint64_t split_bytes;

    struct counters by[N_WAYS]; /* by atomic builtins */
};

/* -- handles.c: which files there are -- */

void mhandles_add(struct file *file);
void mhandles_remove(struct file *file);
struct file *mhandles_get(MPI_File handle); /* with a reference; NULL: none */
void mfile_put(struct file *file);

/* -- open.c -- */

/* As MPI_File_open; opener is the MPI's own. */
typedef int mpi_file_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *handle);
int mfile_open(mpi_file_open *opener, MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *handle);

/* What is to be given back before the MPI closes its own. */
void mfile_close(struct file *file);

/* -- view.c; all answer with MPI's codes or FILE_THEIRS -- */

int mfile_set_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                   MPI_Info info);
int mfile_get_view(struct file *file, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep);
int mfile_seek(struct file *file, MPI_Offset offset, int whence);
int mfile_get_position(struct file *file, MPI_Offset *offset);
int mfile_get_byte_offset(struct file *file, MPI_Offset offset, MPI_Offset *disp);

/* A first view, of bytes from the start on: 0, or -errno. */
int mview_init(struct file *file);
void mview_put(struct view *view);

/* What is remembered of views. */
void mfile_forget_tiles(struct file *file);

/* Hands the file over; a collective call. For what may be done by it, FILE_THEIRS; within a split call, MPI_ERR_IO. */
int mfile_hand_over(struct file *file, const char *why);

/* A call that needs the shared pointer, of one rank or collective: how has ACCESS_ALL then. */
int mfile_shared(struct file *file, unsigned how);

/* Remembers the view of a file that is the MPI's. */
void mfile_note_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     const char *datarep);

/* -- access.c -- */

enum access {
    ACCESS_WRITE = 1,
    ACCESS_AT = 2,  /* at an offset of its own */
    ACCESS_ALL = 4, /* collective */
    ACCESS_SPLIT = 8,
    ACCESS_LATER = 16,  /* nonblocking; never collective here, as others may wait for what comes after it */
    ACCESS_SHARED = 32, /* at the shared pointer */
};

/* buf is only read by what writes files. A collective call that cannot be made is an error of it on all ranks. */
int mfile_access(struct file *file, unsigned how, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype type,
                 MPI_Status *status, MPI_Request *request);
int mfile_access_end(struct file *file, bool write, MPI_Status *status); /* MPI_ERR_IO: no such one has begun */

/* -- sizes.c -- */

/* 0 or -errno. */
int mfile_size(const struct file *file, MPI_Offset *ret_size);

int mfile_get_size(struct file *file, MPI_Offset *size);
int mfile_preallocate(struct file *file, MPI_Offset size);
int mfile_sync(struct file *file);

/* -- info.c -- */

/* Adds what we have to say to what the MPI has said. */
void mfile_add_info(struct file *file, MPI_Info info);

/* A call is over, and has moved so many bytes. */
void mfile_count(struct file *file, enum way way, uint64_t bytes);

/* Whether the environment says FALLSFS_MPI=info, or off. */
bool info_is_wanted(void);
bool info_is_off(void);
void info_say(const struct file *file);

/* -- sieving.c: what the MPI writes of our files is what it was asked for, and nothing around it -- */

/* The hints that an MPI opens a file with, which may be ours; MPI_INFO_NULL: those that are given. To be freed. */
MPI_Info sieving_hints(MPI_Info info);

/* The same of hints that come once the file is open; MPI_INFO_NULL: there is nothing to change in them. */
MPI_Info sieving_later(const struct file *file, MPI_Info info);

/* Around each call that such a file is handed to the MPI for. */
void sieving_stop(void);
void sieving_go_on(void);

/* -- errors.c -- */

/* MPI's class of -errno; 0 is MPI_SUCCESS. */
int error_class(int r);

/* What shared pointers end with: of the class MPI_ERR_UNSUPPORTED_OPERATION, with words of ours. */
int error_shared(void);

#endif
