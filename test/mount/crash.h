/* SPDX-License-Identifier: MIT */
/* For tests in which something ends under processes that write: the daemon, the disks. Its files, what can be in one,
 * and the daemon's life. */
#ifndef FALLSFS_TEST_MOUNT_CRASH_H
#define FALLSFS_TEST_MOUNT_CRASH_H

#include "layout/base.h"

#include <sys/types.h>

#define N_WRITERS 4
#define N_FILES   3 /* of each */
#define MAX_SIZE  (96 << 10)
#define MAX_WRITE (20 << 10)
#define MAX_DISKS 8

struct content {
    bool there;
    uint64_t size;
    uint8_t data[MAX_SIZE]; /* zero from size on */
};

struct name {
    char s[256];
};

const char *name_of(struct name *name, const char *top, unsigned writer, unsigned file, const char *suffix);

/* False, with errno, when what is there cannot be read. */
bool content_read(const char *path, struct content *content);

void sleep_us(uint64_t us);

struct daemon {
    char *fallsfs, *top;
    char *disk[MAX_DISKS];
    int n_disks;
};

/* layout as in -o. */
pid_t daemon_start(const struct daemon *daemon, const char *layout);

/* Until somebody serves the mount; false, said, when nobody does. */
bool daemon_wait(const struct daemon *daemon, pid_t pid);

void daemon_kill(pid_t pid);

#endif
