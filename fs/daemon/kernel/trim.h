/* SPDX-License-Identifier: MIT */
/* Memory that a crowd has left. What is freed between things that stay is kept by malloc for what comes, for ever; when
 * it is much, the system gets it back. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_TRIM_H
#define FALLSFS_FS_DAEMON_KERNEL_TRIM_H

#include <stdint.h>

/* Notes that so many bytes have been freed, or soon will be. */
void trim_note(uint64_t bytes);

/* Gives back what is free when enough has come together, which takes some milliseconds. Is called now and then. */
void trim_if_due(void);

#endif
