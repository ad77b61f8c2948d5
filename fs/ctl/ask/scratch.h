/* SPDX-License-Identifier: MIT */
/* A file without a name on a disk, which is written and read to find out how quick the disk is:
 *
 *     | following: written all through | spot |     | spot |     | spot |     | ... size
 *                                      '---- stride ---'
 *
 * Requests that follow each other lie in the first part, those apart in spots, which are spread over room that nothing
 * is written to: so there is far to go, and little to write. All of it is given back with the file, whatever ends the
 * process. Requests go past the system's cache where the disk's file system can do that (O_DIRECT); where it cannot,
 * bytes that were written are waited for, and those that are read leave the cache before. */
#ifndef FALLSFS_FS_CTL_ASK_SCRATCH_H
#define FALLSFS_FS_CTL_ASK_SCRATCH_H

#include "fs/core/disk/disk.h"
#include "fs/ctl/ask/attrs.h"

#define SCRATCH_REQUEST  (UINT32_C(1) << 20)  /* bytes: the largest */
#define SCRATCH_LEAST    (UINT64_C(16) << 20) /* bytes of the smallest file that tells anything */
#define SCRATCH_MOST     (UINT64_C(4) << 30)  /* of the largest, unless somebody wants another */
#define SCRATCH_SHARE    8                    /* no more than one part in so many of what is free */
#define SCRATCH_REQUESTS 16                   /* that are made and timed together, at most */

struct scratch {
    const char *path; /* of the disk */
    struct disk disk;
    struct cred owner; /* of the disk: whose the file is */
    bool is_owner;     /* this thread acts as him */
    int fd;
    bool direct;
    uint32_t unit; /* bytes of the smallest request, of which all are multiples */
    uint64_t size, following, stride;
    uint32_t n_spots, spot; /* the one that was asked for last */
    uint64_t next;          /* where the next following requests begin, if they fit there */
    char *buffer;           /* of SCRATCH_REQUEST */
};

/* Makes the file, of most bytes at most, and fills what requests will ask for, a part of it when it has taken longer
 * than ns. The file belongs to the owner of the disk, as whom the thread acts from then on until scratch_done.
 * -ENOSPC: there is too little room; others as they come; ret_why says why. path outlives it. */
int scratch_init(struct scratch *scratch, const char *path, uint64_t most, uint64_t ns, char ret_why[static ATTRS_WHY]);
void scratch_done(struct scratch *scratch);

enum scratch_how {
    SCRATCH_READ,
    SCRATCH_WRITE,
};

/* Makes some requests of so many bytes, each behind the one before or apart from it, until they have taken longer than
 * ns, and says how many there were and how long they take together, if each takes what is the median of them: somebody
 * else's request in between makes one of them long. Bytes that are written are on the disk by then, which counts. */
int scratch_ask(struct scratch *scratch, enum scratch_how how, uint32_t bytes, bool apart, uint64_t ns, uint32_t *ret_n,
                uint64_t *ret_ns);

#endif
