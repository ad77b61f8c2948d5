/* SPDX-License-Identifier: MIT */
/* A plan is what one request asks of the subfiles. However many runs a range of the file has, what it takes of one
 * subfile is contiguous there, so a plan has one share, one read or write, for each subfile it touches.
 *
 *     file bytes     0 0 1 1 2 2 0 0 1 1          share 0: 4 bytes of subfile 0, in two pieces of the buffer
 *     buffer         a b c d e f g h i j          share 1: 4 bytes of subfile 1, ...
 *
 * Where the pieces are long, a share lists them for a vectored call. Where they are short it is packed: it goes through
 * memory of its own, and the layout's gather and scatter move the bytes. */
#ifndef FALLSFS_FS_CORE_FILE_PLAN_H
#define FALLSFS_FS_CORE_FILE_PLAN_H

#include "fs/core/volume/file_layouts.h"
#include "ioctl/store.h"

#include <sys/uio.h>

struct share {
    uint32_t slot;
    uint64_t sub_off, len;
    uint32_t n_iov;
    struct iovec *iov;
    uint64_t done; /* bytes read or written so far */
    int error;     /* why not all of them: -errno, or 0 at the subfile's end */
    bool is_long;  /* after writing: so much is there that its disk should begin to write it */
};

struct plan {
    const struct file_layout *layout;
    uint64_t file_off, len;
    uint8_t *buf;
    bool packed;
    uint32_t n_shares;
    struct share *share;
    struct iovec *iov;
    uint8_t *scratch;
    struct share only; /* the share of a request that is one run */
    struct iovec only_iov;
};

/* Makes a plan for the len bytes of the file from file_off on, which are read to buf, or written from it. -EFBIG: past
 * the last byte a layout can reach. */
int plan_init(struct plan *plan, const struct file_layout *layout, uint64_t file_off, uint64_t len, void *buf);
void plan_done(struct plan *plan);

/* Takes the shares out of a plan whose subfiles have nothing that is selected, and adds their bytes to those left out.
 * must_be_apart: -EAGAIN when some subfile has selected bytes and others. */
int plan_select(struct plan *plan, struct selection *only, bool must_be_apart);

/* Why the first share that was not done to its end was not; 0: all were. */
int plan_error(const struct plan *plan);

/* How many bytes of its range a plan leaves out. */
uint64_t plan_left_out(const struct plan *plan);

/* Makes a plan for a part of one subfile, as it lies there. plan_prefix knows nothing of such a plan. */
void plan_init_share(struct plan *plan, const struct file_layout *layout, uint32_t slot, uint64_t sub_off, uint64_t len,
                     void *buf);

/* Moves the bytes of a packed plan: plan_gather those to be written into the shares, plan_scatter those that were read
 * out of a share. */
void plan_gather(struct plan *plan);
void plan_scatter(struct plan *plan, const struct share *share);

/* How many bytes of the file, from file_off on, lie before the first one that was not done. */
uint64_t plan_prefix(const struct plan *plan);

/* Fills with zeros what a share did not read. */
void plan_zero_rest(struct share *share);

#endif
