/* SPDX-License-Identifier: MIT */
/* What the daemon and the kernel agree on when the kernel first asks, with INIT, beyond what every libfuse can say:
 *   HANDLE_KILLPRIV_V2      we clear set-user-ID, set-group-ID and capabilities when a file changes, so the kernel need
 *                           not look before each single write whether there is something to clear;
 *   DIRECT_IO_ALLOW_MMAP    what is open for direct I/O may be mapped shared, and sees what others have mapped;
 *   read-ahead              the smaller one of what the reply says and what the mount's device has.
 * libfuse has words for the flags since 3.17. Before, they are put into the reply on its way through, by custom I/O,
 * which a libfuse may refuse. What could not be agreed is said once, and told in .falls/kernel as long as the mount is
 * there. */
#ifndef FALLSFS_FS_DAEMON_KERNEL_KERNEL_IO_H
#define FALLSFS_FS_DAEMON_KERNEL_KERNEL_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fuse_conn_info;
struct fuse_session;

/* Takes the replies of a session into its hands. To be called after mounting, before the first request. */
void kernel_io_use(struct fuse_session *session);

/* Asks for capabilities, while the reply to INIT is made: for those in want as far as they are offered, not for those
 * in do_not_want, for what is listed above, and to read ahead so many bytes on the mount at path. */
void kernel_io_agree(struct fuse_conn_info *conn, uint64_t want, uint64_t do_not_want, const char *path,
                     uint32_t read_ahead);

/* Whether the kernel keeps direct I/O and mappings of one file together. */
bool kernel_io_maps_direct(void);

/* Prints a line for each thing that could not be agreed: what that costs, and why. */
void kernel_io_print_missed(FILE *out);

#endif
