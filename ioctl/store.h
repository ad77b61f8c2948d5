/* SPDX-License-Identifier: MIT */
/* All that a collective asks of the file it works on; the daemon and the tests each supply one. Offsets are the file's:
 * where bytes lie on disks is the store's own affair. Functions are called by several threads at once. */
#ifndef FALLSFS_IOCTL_STORE_H
#define FALLSFS_IOCTL_STORE_H

#include "layout/base.h"

/* What is wanted of bytes that are moved together with the holes between them. */
struct selection {
    /* Whether bytes of [lo, hi) are selected, and whether others are not: flags. */
    unsigned (*look)(const struct selection *selection, uint64_t lo, uint64_t hi);
    uint64_t left_out; /* the store adds the bytes that it has not moved */
};

#define SELECTED     1u
#define NOT_SELECTED 2u

struct store_ops {
    /* All len bytes: zeros in holes and past the end of the file. only: a disk of whose bytes none is selected need not
     * be asked, and they are left in buf as they are; NULL: all are wanted. */
    int (*read)(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only);

    /* All len bytes; the file grows. */
    int (*write)(void *ctx, const void *buf, size_t len, uint64_t file_off);

    /* Whether of each disk's bytes among these all are selected or none, so that write_only may do without the holes.
     * NULL, as write_only is then: never. */
    bool (*is_apart)(void *ctx, size_t len, uint64_t file_off, const struct selection *only);

    /* What is selected of len bytes, the last of which is; the file grows. -EAGAIN: not all is written, since by now
     * a disk has both. */
    int (*write_only)(void *ctx, const void *buf, size_t len, uint64_t file_off, struct selection *only);

    /* A collective is about to write between these bytes. NULL: the store need not know. */
    int (*will_write)(void *ctx, uint64_t file_off, uint64_t len);

    uint64_t (*size)(void *ctx);

    /* Bytes of the file that are in memory anyway, from file_off on: how many of the len lie one after the other there,
     * and where; 0 when that is not so and read or write is the way. They stay until unmap, which is told how many from
     * file_off on were changed. Never past the end of the file. */
    size_t (*map)(void *ctx, size_t len, uint64_t file_off, bool writes, void **ret_addr);
    void (*unmap)(void *ctx, size_t changed, uint64_t file_off);

    /* These bytes will be read soon, with this selection: their disks may begin. */
    void (*prefetch)(void *ctx, uint64_t len, uint64_t file_off, const struct selection *only);

    /* Keeps all others, members of this collective too, from writing to the range until unlock. */
    int (*lock)(void *ctx, uint64_t file_off, uint64_t len);
    void (*unlock)(void *ctx, uint64_t file_off, uint64_t len);

    /* Which disk has the byte, and how many bytes from there on it has alone. */
    uint32_t (*disk)(void *ctx, uint64_t file_off, uint64_t *ret_len);
};

/* What read and write take, in ns: a call, and each KiB. Map has failed then, so what is read comes from a disk; what
 * is written goes to memory first. */
struct store_cost {
    uint64_t read_call, read_kib, write_call, write_kib;
};

struct store {
    const struct store_ops *ops;
    void *ctx;
    uint32_t n_disks;
    uint64_t stripe; /* domains are best cut at its multiples; 0: no matter where */
    struct store_cost cost;
};

#endif
