/* SPDX-License-Identifier: MIT */
/* Texts below .falls: what the daemon knows, for any program that can read a file. They are made anew for each read, as
 * those of /proc are. The kernel's numbers for them are no inodes' and no nodes', so each operation that can name one
 * is taken from whoever else has it. */
#include "fs/daemon/config.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/view_nodes.h"
#include "fs/daemon/virtual.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define TEXT_BIT (NODE_BIT | NODE_BIT >> 1)

static struct fuse_lowlevel_ops others;

/* A node's number as well, for operations of ops_views.c that are the same for all of them: no attributes, no names. */
static bool is_text(fuse_ino_t ino)
{
    return (ino & TEXT_BIT) == TEXT_BIT;
}

/* -- what they say -- */

/* As the volume is now: disks may have joined and left since it was mounted. */
static int print_config(const struct virtual_call *call, FILE *out)
{
    const struct volume *volume = call->fs->volume;
    cleanup(freep) const char **path = calloc(volume->n_disks, sizeof *path);
    uint32_t n = 0;

    if (path == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (volume->disk[i].standing != DISK_GONE)
            path[n++] = volume->disk[i].path;
    return config_print(out, the_mount->options, path, n);
}

static const struct text {
    const char *name;
    int (*print)(const struct virtual_call *call, FILE *out);
} texts[] = {
    { "config", print_config },
    { "disks", disks_get },
    { "jobs", jobs_get_all },
};

const char *text_name(uint32_t i)
{
    return i < ARRAY_SIZE(texts) ? texts[i].name : NULL;
}

fuse_ino_t text_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (strcmp(texts[i].name, name) == 0)
            return TEXT_BIT | i;
    return 0;
}

/* The caller frees it. */
static int make(fuse_req_t req, fuse_ino_t ino, char **ret_text, size_t *ret_len)
{
    char why[REASON_SIZE];
    struct virtual_call call = virtual_call_of(req, inodes_root(the_mount->fs->inodes), why);
    FILE *out = open_memstream(ret_text, ret_len);
    int r;

    if (out == NULL)
        return -ENOMEM;
    r = texts[ino & ~TEXT_BIT].print(&call, out);
    return fclose(out) != 0 ? -ENOMEM : r;
}

/* -- operations -- */

static int stat_text(fuse_req_t req, fuse_ino_t ino, struct stat *st)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    int r = make(req, ino, &text, &len);

    if (r == 0)
        r = tree_stat(the_mount->fs, inodes_root(the_mount->fs->inodes), st);
    if (r < 0)
        return r;
    st->st_ino = ino;
    st->st_mode = S_IFREG | 0444;
    st->st_nlink = 1;
    st->st_size = (off_t) len;
    st->st_blocks = 0;
    return 0;
}

void reply_text(fuse_req_t req, fuse_ino_t text)
{
    struct fuse_entry_param entry = { .ino = text };
    int r = stat_text(req, text, &entry.attr);

    if (r < 0)
        reply_status(req, r);
    else if (keeper_may_reply())
        (void) fuse_reply_entry(req, &entry); /* nothing is held for the kernel: nothing to take back */
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;
    int r;

    if (!is_text(ino)) {
        others.getattr(req, ino, fi);
        return;
    }
    serve(req);
    r = stat_text(req, ino, &st);
    if (r < 0)
        reply_status(req, r);
    else if (keeper_may_reply())
        fuse_reply_attr(req, &st, 0);
}

/* All that would change one, or asks for what it has not. */
static void refuse(fuse_req_t req, int r)
{
    serve(req);
    reply_status(req, r);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    if (is_text(ino))
        refuse(req, -EPERM);
    else
        others.setattr(req, ino, attr, to_set, fi);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    if (is_text(ino))
        refuse(req, -ENODATA);
    else
        others.getxattr(req, ino, name, size);
}

/* Past the kernel's cache: it is another text each time. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_text(ino)) {
        others.open(req, ino, fi);
        return;
    }
    serve(req);
    fi->direct_io = 1;
    if ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0)
        reply_status(req, -EACCES); /* root, too */
    else if (keeper_may_reply())
        (void) fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    if (!is_text(ino)) {
        others.read(req, ino, size, off, fi);
        return;
    }
    serve(req);

    cleanup(freep) char *text = NULL;
    size_t len = 0;
    int r = make(req, ino, &text, &len);
    size_t from = MIN((size_t) off, len);

    if (r < 0)
        reply_status(req, r);
    else
        reply_bytes(req, text + from, MIN(size, len - from));
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (is_text(ino))
        refuse(req, 0);
    else
        others.flush(req, ino, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (is_text(ino))
        refuse(req, 0);
    else
        others.release(req, ino, fi);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    if (is_text(ino))
        refuse(req, 0);
    else
        others.fsync(req, ino, datasync, fi);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    if (is_text(ino))
        refuse(req, -EINVAL);
    else
        others.lseek(req, ino, off, whence, fi);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
                               fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len, int flags)
{
    if (is_text(ino_in))
        refuse(req, -EXDEV); /* the kernel reads and writes instead */
    else
        others.copy_file_range(req, ino_in, off_in, fi_in, ino_out, off_out, fi_out, len, flags);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
                     const void *in, size_t in_size, size_t out_size)
{
    if (is_text(ino))
        refuse(req, -ENOTTY);
    else
        others.ioctl(req, ino, cmd, arg, fi, flags, in, in_size, out_size);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *handle)
{
    if (!is_text(ino)) {
        others.poll(req, ino, fi, handle);
        return;
    }
    serve(req);
    if (handle != NULL)
        fuse_pollhandle_destroy(handle);
    if (keeper_may_reply())
        fuse_reply_poll(req, POLLIN | POLLRDNORM);
}

void ops_add_texts(struct fuse_lowlevel_ops *ops)
{
    others = *ops;
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->getxattr = op_getxattr;
    ops->open = op_open;
    ops->read = op_read;
    ops->flush = op_flush;
    ops->release = op_release;
    ops->fsync = op_fsync;
    ops->lseek = op_lseek;
    ops->copy_file_range = op_copy_file_range;
    ops->ioctl = op_ioctl;
    ops->poll = op_poll;
}
