/* SPDX-License-Identifier: MIT */
/* Reading and writing a file through a view of it.
 *
 *     the view is a subfile    one read or write of that subfile, of as many bytes as are asked for
 *     long runs                one read or write of the file for each
 *     short runs               the part of the file from the first to the last, holes included, gathered or scattered;
 *                              to be written it is read first, with the range locked
 *
 * Bytes outside the view keep what they have. */
#ifndef FALLSFS_FS_CORE_VIEW_FILE_VIEW_H
#define FALLSFS_FS_CORE_VIEW_FILE_VIEW_H

#include "fs/core/file/file.h"
#include "fs/core/view/view.h"

struct file_view;

/* How accesses were served so far, piece by piece. */
struct file_view_counts {
    uint64_t as_subfile, as_runs, gathered;
};

/* Counts how accesses are served, in any thread. */
struct file_view_counters {
    atomic_uint_least64_t as_subfile, as_runs, gathered;
};

/* Makes a file_view of a view, of which it keeps a reference. The counters outlive it. */
int file_view_new(struct fs *fs, struct view *view, struct file_view_counters *counters,
                  struct file_view **ret_file_view);
void file_view_free(struct file_view *file_view);

const struct view *file_view_view(const struct file_view *file_view);
struct file_view_counts file_view_counts(struct file_view_counters *counters);

/* Reads and writes bytes of the view; off counts them. Results as those of file_read and file_write. */
ssize_t file_view_read(struct file_view *file_view, struct file *file, void *buf, size_t len, uint64_t off);
ssize_t file_view_write(struct file_view *file_view, struct file *file, const void *buf, size_t len, uint64_t off);

/* Makes the file so long that the view has len bytes. Bytes cannot be taken out of a view: -EINVAL when it is longer.
 */
int file_view_grow(struct fs *fs, const struct view *view, struct file *file, uint64_t len);

/* Finds data or a hole of the view; whence is SEEK_DATA or SEEK_HOLE. Where data and holes of the file are many and
 * small against those of the view, holes may pass for data. */
int64_t file_view_seek(struct file_view *file_view, struct file *file, uint64_t off, int whence);

/* The part of the file that an access may touch: [*ret_lo, *ret_hi), empty when that lies past its last byte. */
void file_view_range(const struct file_view *file_view, uint64_t off, uint64_t len, uint64_t *ret_lo, uint64_t *ret_hi);

#endif
