/* SPDX-License-Identifier: MIT */
#include "fs/daemon/view/view_data.h"

#include "fs/daemon/serve/kernel_cache.h"
#include "fs/daemon/serve/mount.h"

/* The bytes of the file, from lo up to but not including hi, that a request through a view may touch. */
struct range {
    uint64_t lo, hi;
};

static struct range range_of(const struct handle *handle, size_t size, uint64_t off)
{
    struct range range;

    file_view_range(handle->file_view, off, size, &range.lo, &range.hi);
    return range;
}

static bool is_mapped(const struct handle *handle)
{
    return atomic_load(&handle->inode->pages.n_read_write) > 0;
}

ssize_t view_data_read(const struct handle *handle, void *buf, size_t size, uint64_t off)
{
    if (is_mapped(handle)) {
        struct range range = range_of(handle, size, off);

        if (!request_may_wait())
            return request_later();
        forget_cached(handle, range.lo, range.hi);
        request_has_waited();
    }
    return file_view_read(handle->file_view, handle->file, buf, size, off);
}

ssize_t view_data_write(const struct handle *handle, const void *data, size_t size, uint64_t off)
{
    struct range range = range_of(handle, size, off);
    ssize_t n;

    if (!request_may_wait())
        return request_later();
    if (is_mapped(handle))
        forget_cached(handle, range.lo, range.hi);
    n = file_view_write(handle->file_view, handle->file, data, size, off);
    if (n > 0)
        kernel_learns_end(handle, MIN(range.hi, file_size(handle->file)));
    forget_cached(handle, range.lo, range.hi);
    request_has_waited();
    return n;
}
