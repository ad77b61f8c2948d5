/* SPDX-License-Identifier: MIT */
/* Ioctls, for the sources that share them: those that are answered at once (ops_ioctl.c), and those that ask for
 * sections, which may wait for others (ops_sections.c). */
#ifndef FALLSFS_FS_DAEMON_OPS_OPS_IOCTL_H
#define FALLSFS_FS_DAEMON_OPS_OPS_IOCTL_H

#include "fs/daemon/group/sections.h"
#include "fs/daemon/ops/ops.h"

/* An ioctl on its way: what came, what goes back. */
struct call {
    fuse_req_t req;
    struct handle *handle;
    uint64_t number; /* of the handle */
    const void *in;
};

/* Who makes a call, as groups know callers. The handle has its sections. */
struct caller call_caller(const struct call *call);

/* Each answers the call, now or when it need not wait any longer. */
void ioctl_section(struct call *call);
void ioctl_falls(struct call *call);
void ioctl_list(struct call *call);
void ioctl_round(struct call *call);
void ioctl_wait(struct call *call);
void ioctl_test(struct call *call);

#endif
