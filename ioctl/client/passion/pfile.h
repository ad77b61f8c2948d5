/* SPDX-License-Identifier: MIT */
/* An open file of an array: the file itself, the views of parts of it, the groups that ask together.
 *
 *     PASSION_open("FILE:3")      fd ─── FILE, where the header is
 *                                 views ─── array(...) element 3, one for each OCAD that it was used with
 *     PASSION_open("FILE")        fd ─── FILE
 *                                 crews ─── the first 4 processes, the first 16, ...: as PASSION_global_read says
 */
#ifndef FALLSFS_IOCTL_CLIENT_PASSION_PFILE_H
#define FALLSFS_IOCTL_CLIENT_PASSION_PFILE_H

#include "ioctl/client/passion/ocad.h"
#include "ioctl/client/passion/who.h"

struct PFILE {
    struct who who; /* when it was opened */
    int fd;
    uint64_t header;
    bool is_part;     /* of the process that its name says, else of this one; or of none */
    bool is_view;     /* and so of the file's bytes, on a mount; else it is a file of its own */
    bool is_new;      /* this process made it, and it has no layout of its own yet */
    uint64_t process; /* in its name */
    struct view *views;
    struct crew *crews;
    PREFETCH *prefetches; /* under way */
    REUSE *reuses;
    uint8_t *staging; /* memory for what lies in Array with holes */
    size_t staging_len;
};

/* -EINVAL: it is NULL, as PASSION_open gives it when it fails. */
int pfile_check(const PFILE *file);

/* Whose part its local array is. */
uint64_t pfile_process(const PFILE *file);

/* A local array. Its file may have room for more than the process has: an OCLA, whose rows are longer then. */
struct local {
    struct array part;             /* what the process has, with the header */
    uint64_t room[ARRAY_MAX_DIMS]; /* indexes in the file */
    int fd;                        /* of the file's bytes */
};

int pfile_local(PFILE *file, const OCAD *ocad, struct local *ret_local);

/* The group of the first n processes; NULL: this one alone. */
int pfile_group(PFILE *file, int n, struct fallsfs_group **ret_group);

/* Leaves it, so that the others do not wait for this process, which cannot go on; they do the same then. */
void pfile_leave(PFILE *file, int n);

/* Memory for so many bytes until the next call; NULL. */
uint8_t *pfile_staging(PFILE *file, size_t len);

/* Both are one file. */
bool pfile_is_same(const PFILE *a, const PFILE *b);

/* prefetch.c, reuse.c: finish what is under way before the file is closed. */
void prefetches_finish(PFILE *file);
void reuses_finish(PFILE *file);

#endif
