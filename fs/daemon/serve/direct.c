/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/direct.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* The bits of inode->pages.direct: pages were read while somebody wrote directly; and how many writers there are. */
#define PAGE_READ 1
#define WRITER    2

void direct_begin(const struct handle *handle)
{
    if (handle->writes_directly)
        atomic_fetch_add(&handle->inode->pages.direct, WRITER);
}

/* The note of pages read goes with the last writer. */
void direct_end(const struct handle *handle)
{
    unsigned was, is;

    if (!handle->writes_directly)
        return;
    was = atomic_load(&handle->inode->pages.direct);
    do
        is = was - WRITER < WRITER ? 0 : was - WRITER;
    while (!atomic_compare_exchange_weak(&handle->inode->pages.direct, &was, is));
}

/* The kernel names a lock owner where a program's own memory is read into or written from; for its own pages it names
 * none. */
bool direct_is(const struct fuse_file_info *fi)
{
    return !fi->writepage && fi->lock_owner != 0;
}

void direct_page_read(struct inode *inode)
{
    unsigned was = atomic_load(&inode->pages.direct);

    while (was >= WRITER && (was & PAGE_READ) == 0)
        if (atomic_compare_exchange_weak(&inode->pages.direct, &was, was | PAGE_READ))
            break;
}

/* A handle that did not write directly when it was opened may do so later, by fcntl(2): then nobody has noted which
 * pages were read, and some may have been. */
bool direct_meets_pages(const struct handle *handle)
{
    return !handle->writes_directly || (atomic_load(&handle->inode->pages.direct) & PAGE_READ) != 0;
}
