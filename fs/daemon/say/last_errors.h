/* SPDX-License-Identifier: MIT */
/* Why orders were refused, kept for who gave them: setxattr has room for a number only, user.falls.lasterror has the
 * words. Another process may ask, as getfattr does after setfattr: of the same user, about the same file. */
#ifndef FALLSFS_FS_DAEMON_SAY_LAST_ERRORS_H
#define FALLSFS_FS_DAEMON_SAY_LAST_ERRORS_H

#include "layout/base.h"

#include <sys/types.h>

#define LAST_ERRORS_KEPT     1024
#define LAST_ERRORS_PER_USER 64
#define LAST_ERROR_SIZE      512

struct asker {
    uid_t uid;
    pid_t pid;
    uint64_t ino; /* number of the file that the order was about */
};

struct last_errors;

int last_errors_new(struct last_errors **ret_last_errors);
void last_errors_free(struct last_errors *last_errors);

/* Keeps why an order was refused. It replaces what the same process was told about the same file before; the oldest
 * reasons go when there are too many. */
void last_errors_note(struct last_errors *last_errors, const struct asker *asker, const char *why);

/* Forgets what processes of the user were told about the file, since an order of theirs was carried out. */
void last_errors_clear(struct last_errors *last_errors, const struct asker *asker);

/* Finds what the process was told about a file, or else what another process of the same user was; false: there is
 * nothing to tell. */
bool last_errors_find(struct last_errors *last_errors, const struct asker *asker, char ret_why[static LAST_ERROR_SIZE]);

#endif
