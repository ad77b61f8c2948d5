/* SPDX-License-Identifier: MIT */
/* What programs expect of a POSIX file system, one check a behaviour. A check runs in a process and a directory of its
 * own, as root, and says what it misses. */
#ifndef FALLSFS_TEST_MOUNT_POSIX_H
#define FALLSFS_TEST_MOUNT_POSIX_H

#include "layout/base.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

struct check {
    const char *name;
    void (*run)(void);
};

/* What a program of checks consists of, NULL at the end; posix.c runs it. */
extern const struct check *const all_checks[];

extern const struct check checks_of_names[], checks_of_data[], checks_of_rights[], checks_of_times[];

/* Ends the check. */
_Noreturn void missed(const char *file, int line, const char *what);

#define EXPECT(condition)                           \
    do {                                            \
        if (!(condition))                           \
            missed(__FILE__, __LINE__, #condition); \
    } while (0)

/* The call fails with this error. */
#define EXPECT_ERROR(error, call)                                   \
    do {                                                            \
        errno = 0;                                                  \
        if ((call) >= 0 || errno != (error))                        \
            missed(__FILE__, __LINE__, #call ", expected " #error); \
    } while (0)

/* From here on, with so many supplementary groups 3000, 3001, ... */
void become(uid_t uid, gid_t gid, int n_groups);

/* A new file with these bytes; gives the descriptor. */
int make_file(const char *name, mode_t mode, const char *bytes);

/* Runs it in a child and waits; 0 is success. */
int in_child(int (*run)(void));

void pause_ms(unsigned ms);

#endif
