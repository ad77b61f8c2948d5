/* SPDX-License-Identifier: MIT */
/* What the mover is asked for, and what is told of an order. */
#ifndef FALLSFS_FS_DAEMON_MOVER_MOVE_ORDER_H
#define FALLSFS_FS_DAEMON_MOVER_MOVE_ORDER_H

#include "fs/core/change/jobs.h"
#include "fs/daemon/say/last_errors.h"

enum move_kind {
    MOVE_BELOW,   /* all files below a directory get what a word says */
    MOVE_BALANCE, /* files are moved until all disks are about as full */
    MOVE_LEAVE,   /* files are moved away from disks that are to leave, which then go */
};

/* Gives a file its job with the rights of who asked, as setting its attribute would. On failure ret_why may say why, or
 * stays empty. */
typedef int mover_begin_one(void *ctx, struct inode *inode, const char *word, uint64_t limit,
                            char ret_why[static LAST_ERROR_SIZE]);

struct move_order {
    enum move_kind kind;
    bool is_plan;           /* the mover only looks what would be moved: it decides all as if it moved it */
    uint32_t disk;          /* of MOVE_LEAVE; UINT32_MAX: all disks that are to leave */
    uint64_t limit;         /* bytes a second each file may take; 0: what users leave */
    uid_t user;             /* who asks */
    struct inode *dir;      /* of MOVE_BELOW */
    const char *word;       /* of MOVE_BELOW: what files are to get */
    mover_begin_one *begin; /* of MOVE_BELOW */
    void *ctx;              /* of begin; the mover frees it with the order, also when it refuses the order */
};

struct move_view {
    struct job_view job;            /* the sums of the order's jobs; number 0; the error of the last file that failed */
    uint64_t number, files, failed; /* of the order; files it has looked at, and could not move */
};

#endif
