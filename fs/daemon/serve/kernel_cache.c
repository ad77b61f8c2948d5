/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/kernel_cache.h"

#include "fs/daemon/serve/figures.h"
#include "fs/daemon/serve/mount.h"
#include "fs/daemon/serve/page_races.h"

#include <string.h>

void kernel_forgets_attributes(const struct inode *inode)
{
    figures_add(&figures.forgotten[FORGOTTEN_ATTRIBUTES], 1);
    (void) fuse_lowlevel_notify_inval_inode(the_mount->session, inode->nodeid, -1, 0);
}

int drop_privileges(const struct handle *handle, const struct cred *cred)
{
    int r = tree_drop_privileges(handle->fs, handle->inode, cred);

    if (r > 0)
        kernel_forgets_attributes(handle->inode);
    return MIN(r, 0);
}

/* How many threads tell the kernel to forget something, and whether nobody is to begin that any more. */
static atomic_uint n_telling;
static atomic_bool tells_no_more;

void kernel_forgets(const struct inode *inode, uint64_t lo, uint64_t hi)
{
    figures_add(&figures.forgotten[FORGOTTEN_PAGES], 1);
    atomic_fetch_add(&n_telling, 1);
    if (!atomic_load(&tells_no_more))
        (void) fuse_lowlevel_notify_inval_inode(the_mount->session, inode->nodeid, (off_t) lo, (off_t) (hi - lo));
    atomic_fetch_sub(&n_telling, 1);
}

void kernel_forgets_name(uint64_t parent, const char *name)
{
    figures_add(&figures.forgotten[FORGOTTEN_NAMES], 1);
    atomic_fetch_add(&n_telling, 1);
    if (!atomic_load(&tells_no_more))
        (void) fuse_lowlevel_notify_inval_entry(the_mount->session, parent, name, strlen(name));
    atomic_fetch_sub(&n_telling, 1);
}

bool kernel_is_forgetting(void)
{
    return atomic_load(&n_telling) > 0;
}

bool kernel_forgets_no_more(void)
{
    atomic_store(&tells_no_more, true);
    return kernel_is_forgetting();
}

void forget_cached(const struct handle *handle, uint64_t lo, uint64_t hi)
{
    uint32_t since;

    if (lo >= hi)
        return;
    since = page_races_forget(handle->inode);
    kernel_forgets(handle->inode, lo, hi);
    page_races_forgotten(handle->inode, lo, hi, since);
}

/* The kernel takes sizes with bytes alone. So it is given the last one, into its page of the file, which is forgotten
 * next; who has written that byte meanwhile is read as soon as that is done. */
static int store_last(const struct handle *handle, uint64_t end)
{
    char last;
    struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(sizeof last);
    ssize_t n = file_read(handle->fs, handle->file, &last, sizeof last, end - 1);
    int r = n < 0 ? (int) n : n == 0 ? -ENODATA : -ECANCELED;

    bytes.buf[0].mem = &last;
    atomic_fetch_add(&n_telling, 1);
    if (n > 0 && !atomic_load(&tells_no_more))
        r = fuse_lowlevel_notify_store(the_mount->session, handle->inode->nodeid, (off_t) (end - 1), &bytes, 0);
    atomic_fetch_sub(&n_telling, 1);
    return r;
}

void kernel_learns_end(const struct handle *handle, uint64_t end)
{
    struct inode_pages *pages = &handle->inode->pages;
    uint64_t known = atomic_load(&pages->end);

    if (end == 0 || (end <= known && !atomic_load(&pages->was_cut)) || store_last(handle, end) < 0)
        return;
    while (known < end && !atomic_compare_exchange_weak(&pages->end, &known, end))
        ;
}

void kernel_end_changes(struct inode *inode)
{
    atomic_store(&inode->pages.was_cut, true);
}

/* How many workers may wait for the kernel: what they wait for goes through files, which need other workers. */
#define WORKERS 8

/* How many requests wait for the kernel: on threads that serve it [0], and on workers [1]. The kernel waits for whoever
 * is at work on a page, and has us write pages: most threads must be free for that. */
static atomic_uint n_waiting[2];

bool request_may_wait(void)
{
    bool again = request_is_again();

    if (atomic_fetch_add(&n_waiting[again], 1) < (again ? WORKERS : the_mount->max_waiting))
        return true;
    atomic_fetch_sub(&n_waiting[again], 1);
    return false;
}

void request_has_waited(void)
{
    atomic_fetch_sub(&n_waiting[request_is_again()], 1);
}

/* A request that finds too many waiting is run by a worker; one that a worker runs is parked until a later look. */
ssize_t request_later(void)
{
    return request_is_again() ? -ETIMEDOUT : REQUEST_ELSEWHERE;
}
