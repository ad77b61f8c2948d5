/* SPDX-License-Identifier: MIT */
/* Memory that the daemon can reach, for what is on its way between a program's memory and a file. The program's own is
 * never assumed to be shared. A stage is one caller's at a time; idle ones are kept for the next, of whatever file.
 *
 *     memory of any type  <── gather, scatter ──>  stage  <── daemon ──>  file
 */
#ifndef FALLSFS_IOCTL_MPI_STAGE_H
#define FALLSFS_IOCTL_MPI_STAGE_H

#include "ioctl/client/fallsfs.h"
#include "layout/base.h"

#define STAGE_LEAST (UINT64_C(1) << 20)
#define STAGE_MOST  (UINT64_C(64) << 20) /* unless cb_buffer_size says something else */

struct stage;

/* At least len bytes; NULL without memory. */
struct stage *stage_take(uint64_t len);
uint8_t *stage_bytes(const struct stage *stage);
void stage_give(struct stage *stage);

/* Whether the daemon of that file can be shown such memory. */
bool stage_is_shown(int fd);

/* Frees what is idle, and has been shown through a descriptor that is about to be closed, among others. */
void stage_forget_all(void);

#endif
