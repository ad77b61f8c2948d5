/* SPDX-License-Identifier: MIT */
/* Why orders were refused, kept for who gave them: setxattr has room for a number only, user.falls.lasterror has the
 * words. Another process may ask, as getfattr does after setfattr: of the same user, about the same file. */
#ifndef FALLSFS_FS_DAEMON_REASONS_H
#define FALLSFS_FS_DAEMON_REASONS_H

#include "layout/base.h"

#include <sys/types.h>

#define REASONS_KEPT     1024
#define REASONS_PER_USER 64
#define REASON_SIZE      512

struct asker {
    uid_t uid;
    pid_t pid;
    uint64_t ino; /* of what the order was about */
};

struct reasons;

int reasons_new(struct reasons **ret_reasons);
void reasons_free(struct reasons *reasons);

/* The newest of a user about a file replaces what the same process was told before; the oldest go. */
void reasons_note(struct reasons *reasons, const struct asker *asker, const char *why);

/* All is well again. */
void reasons_clear(struct reasons *reasons, const struct asker *asker);

/* What the process itself was told, else any other of the same user; false when there is nothing to tell. */
bool reasons_find(struct reasons *reasons, const struct asker *asker, char ret_why[static REASON_SIZE]);

#endif
