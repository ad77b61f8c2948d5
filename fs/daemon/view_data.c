/* SPDX-License-Identifier: MIT */
#include "fs/daemon/view_data.h"

#include "fs/daemon/mount.h"

/* Of the workers so many may wait for the kernel: what we wait for is done through files, which need others. */
#define WORKERS 8

/* The kernel waits for whoever is at work on a page, and has us write: most threads must be free to serve that. */
static atomic_uint n_waiting[2];

static bool may_wait(const struct request *request)
{
    if (atomic_fetch_add(&n_waiting[request->again], 1) < (request->again ? WORKERS : the_mount->max_waiting))
        return true;
    atomic_fetch_sub(&n_waiting[request->again], 1);
    return false;
}

static void done_waiting(const struct request *request)
{
    atomic_fetch_sub(&n_waiting[request->again], 1);
}

/* There will be room, another time if not elsewhere. */
static ssize_t later(const struct request *request)
{
    return request->again ? -ETIMEDOUT : REQUEST_ELSEWHERE;
}

/* The part of the file that a request is about. */
struct range {
    uint64_t lo, hi;
};

static struct range range_of(const struct request *request)
{
    struct range range;

    file_view_range(request->handle->file_view, request->off, request->size, &range.lo, &range.hi);
    return range;
}

static bool is_mapped(const struct request *request)
{
    return atomic_load(&request->handle->inode->n_read_write) > 0;
}

ssize_t view_data_read(struct request *request, void *buf)
{
    const struct handle *handle = request->handle;

    if (is_mapped(request)) {
        struct range range = range_of(request);

        if (!may_wait(request))
            return later(request);
        forget_cached(handle, range.lo, range.hi);
        done_waiting(request);
    }
    return file_view_read(handle->file_view, handle->file, buf, request->size, request->off);
}

ssize_t view_data_write(struct request *request)
{
    const struct handle *handle = request->handle;
    struct range range = range_of(request);
    ssize_t n;

    if (!may_wait(request))
        return later(request);
    if (is_mapped(request))
        forget_cached(handle, range.lo, range.hi);
    n = file_view_write(handle->file_view, handle->file, request->data, request->size, request->off);
    forget_cached(handle, range.lo, range.hi);
    done_waiting(request);
    return n;
}
