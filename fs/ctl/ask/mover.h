/* SPDX-License-Identifier: MIT */
/* An order to move files in bulk: a command asks the mount for it, and shows how far the mount is. The order goes on
 * when the command ends.
 *
 *     fallsctl disk balance   ──  user.falls.disks, of the mount       ──┐
 *     fallsctl migrate DIR    ──  user.falls.migrate, of the directory ──┴──>  the mover of the mount
 *     the bar, the failures   <──────────────  user.falls.jobs.json  ────────────────┘ */
#ifndef FALLSFS_FS_CTL_ASK_MOVER_H
#define FALLSFS_FS_CTL_ASK_MOVER_H

#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/talk/paths.h"

struct mover_asked {
    const char *path;  /* which the mount is asked at: its top, or the directory whose files are to be moved */
    const char *order; /* balance; leave d2; or, of a directory, what its files are to get */
    const char *limit; /* bytes a second each file may take; NULL: what users leave */
    bool is_below;     /* the order is about the directory */
    bool is_plan;      /* the mount only looks */
};

struct mover_failure {
    char *file; /* from the top of the mount on; NULL: who asked may not know its name */
    char *why;
};

/* What became of an order. */
struct mover_info {
    char state[16];    /* done, failed, cancelled; paused: nobody waits for it */
    char *why, *error; /* what else there is to say, and what ended it; or NULL */
    uint64_t files;    /* that were looked at */
    uint64_t moved;    /* that were given jobs */
    uint64_t failed;   /* that could not be moved; of these, failure[] tells the first ones */
    uint64_t bytes;    /* that were copied, of balance and leave */
    uint32_t n_disks;  /* of balance and leave */
    uint64_t *before;  /* bytes of files on each disk */
    uint64_t *after;   /* likewise */
    uint32_t n_failures;
    struct mover_failure *failure;
};

/* Asks for an order, and finds its number. Who asks again for what goes on already gets the number of that. -errno: the
 * mount refuses, ret_why says why; -EBUSY: another order goes on. */
int mover_ask(const struct mover_asked *asked, uint64_t *ret_number, char ret_why[static ATTRS_WHY]);

/* Waits until the order is over, or paused, with a bar on a terminal unless the mount only looks. -errno: the mount
 * does not tell of it any more, ret_why says why. */
int mover_wait(const struct mover_asked *asked, uint64_t number, struct mover_info *ret_info,
               char ret_why[static ATTRS_WHY]);
void mover_done(struct mover_info *info);

/* Tells of the files that an order about disks could not move, with what becomes of them. */
void mover_tell_failures(const struct mover_asked *asked, const struct mover_info *info, const char *stays,
                         struct paths *paths);

/* One of the orders that a mount tells of. The texts live as long as what mover_list read. */
struct mover_row {
    uint64_t number, user, files, moved, failed, done, total, rate, limit;
    const char *order, *state;
    const char *disk, *directory; /* that it is about; the directory from the top of the mount on; or NULL */
    bool is_plan;
    bool is_open; /* neither done, cancelled nor failed */
};

struct json_object;

/* Reads the orders that a mount tells of, to be freed by json_read_done. */
int mover_list(const char *path, struct json_object **ret_all);

/* Gives the next of those that are the caller's, or for root of all, and moves *at behind it. False: none is left. */
bool mover_next(const struct json_object *all, size_t *at, struct mover_row *ret_row);

/* Whether a limit that was typed is bytes a second; NULL is. */
bool mover_is_rate(const char *limit);

#endif
