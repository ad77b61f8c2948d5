/* SPDX-License-Identifier: MIT */
/* Memory that is somebody else's may be gone when it is touched: a file that was cut below its mapping, a disk that is
 * full, an error while a page is read. The kernel says so with SIGBUS, which would end the process. */
#ifndef FALLSFS_IOCTL_GUARD_H
#define FALLSFS_IOCTL_GUARD_H

#include "layout/base.h"

/* Once for the process, before the first guard_run: 0 or -errno. */
int guard_init(void);

/* Calls run, which only moves bytes: it is left where it stands when memory is not there. 0, or -EFAULT then. */
int guard_run(void (*run)(void *arg), void *arg);

#endif
