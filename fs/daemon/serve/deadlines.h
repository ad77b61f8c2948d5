/* SPDX-License-Identifier: MIT */
/* Sees to it that every request is answered in time. A thread that waits for a disk cannot answer; a request that no
 * thread works on is parked until the disk answers again, whatever it asks for.
 *
 *     deadlines_begin ── works ── deadlines_may_reply: yes ── replies                         in time
 *     deadlines_begin ── works ... the thread: -EIO ... deadlines_may_reply: no               too late: nobody is told
 *     deadlines_begin ── a disk is stalled ── deadlines_park ── deadlines_end ... the thread: runs it again, and again
 *
 * What an operation waits for. home is the home disk; disks are those that the file lies on.
 *
 *     lookup getattr readdirplus     home; disks of a file that was not closed well, to learn its length
 *     readdir readlink getxattr listxattr removexattr fsyncdir opendir statfs    home, or nothing
 *     mknod mkdir create symlink link unlink rmdir rename    home: parked before they begin, never in their midst
 *     open                           home; disks, as lookup
 *     setattr, also of O_TRUNC       home; disks that are to be cut, and writers of the file
 *     setxattr                       home; of user.falls.layout and migrate all that have the layout's text
 *     read write fallocate lseek copy_file_range fsync flush      disks; home for the record
 *     release                        closes them, is answered before and never fails
 *     ioctl poll                     other ranks: collect.h has a deadline and tries of its own */
#ifndef FALLSFS_FS_DAEMON_SERVE_DEADLINES_H
#define FALLSFS_FS_DAEMON_SERVE_DEADLINES_H

#include "fs/daemon/serve/requests.h"

/* The result of an operation that another thread had better do, not one that serves the kernel. */
#define REQUEST_ELSEWHERE (-EINPROGRESS)

struct deadlines;
struct troubles;

/* Makes deadlines, without their thread. timeout: seconds a request may take; 0: for ever. */
int deadlines_new(struct fs *fs, struct handles *handles, struct troubles *troubles, uint32_t timeout,
                  struct deadlines **ret_deadlines);
int deadlines_start(struct deadlines *deadlines);
void deadlines_free(struct deadlines *deadlines);

/* Notes that this thread serves req, the request of request_now, from now on. */
void deadlines_begin(struct deadlines *deadlines, fuse_req_t req);

/* Whether this thread may reply to what it serves; if not, the thread of the deadlines has replied already. Ends what
 * deadlines_begin began. */
bool deadlines_may_reply(void);

/* Parks a request instead of replying -ETIMEDOUT or REQUEST_ELSEWHERE: it is run again some time later, or at once on
 * another thread. False: there is no room for it, or it is none that can be parked. */
bool deadlines_park(struct deadlines *deadlines, int r);

/* Notes that the operation has returned: what it has parked may be run from now on. */
void deadlines_end(struct deadlines *deadlines);

/* How many requests are parked, and how many bytes they take. */
void deadlines_count(struct deadlines *deadlines, uint64_t *ret_n, uint64_t *ret_bytes);

/* Finds the handle of an open file or directory, with a reference. NULL: there is none, or not any more. */
struct handle *deadlines_handle(struct deadlines *deadlines, const struct fuse_file_info *fi);

#endif
