/* SPDX-License-Identifier: MIT */
/* Processes that each write files of their own on a mount whose end they may meet; a test's model says what can be in
 * one. */
#ifndef FALLSFS_TEST_MOUNT_WRITER_H
#define FALLSFS_TEST_MOUNT_WRITER_H

#include "test/support/rng.h"

#define N_WRITERS 4
#define N_FILES   3 /* of each */
#define MAX_SIZE  (96 << 10)
#define MAX_WRITE (20 << 10)

struct content {
    bool there;
    uint64_t size;
    uint8_t data[MAX_SIZE]; /* zero from size on */
};

/* False, with errno, when what is there cannot be read. */
bool content_read(const char *path, struct content *content);

struct name {
    char s[256];
};

const char *name_of(struct name *name, const char *top, unsigned writer, unsigned file, const char *suffix);

struct writer {
    unsigned number;
    const char *top;
    struct rng rng;
    int fd[N_FILES]; /* -1: not open */
};

/* Writers of the same seed do different things. */
struct writer writer_new(unsigned number, const char *top, uint64_t seed);

/* False, with errno, when the file cannot be opened; one that is open stays so. */
bool writer_open(struct writer *writer, unsigned file);

/* An error of close is not looked at: the model says what must have happened. */
void writer_close(struct writer *writer, unsigned file);

#endif
