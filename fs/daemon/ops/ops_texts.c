/* SPDX-License-Identifier: MIT */
/* Texts below .falls: what the daemon knows, for any program that can read a file. As with /proc, a text is made anew
 * for each read, or, where it must be whole (open_texts.h), for each open. The kernel's numbers for texts are neither
 * inodes' nor nodes', so each operation that may get one is taken over here, and passed on when it is about something
 * else. */
#include "fs/daemon/attr/virtual.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/config/config.h"
#include "fs/daemon/kernel/kernel_io.h"
#include "fs/daemon/metrics/exposition.h"
#include "fs/daemon/metrics/open_files.h"
#include "fs/daemon/metrics/stats.h"
#include "fs/daemon/ops/open_texts.h"
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/view/view_nodes.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BIT (NODE_BIT | NODE_BIT >> 1)

static struct fuse_lowlevel_ops others;

/* Whether a number is a text's. It has the bit of nodes as well: operations that do the same for texts as for nodes are
 * those of ops_views.c, such as listing no attributes. */
bool text_is(fuse_ino_t ino)
{
    return (ino & TEXT_BIT) == TEXT_BIT;
}

/* -- what they say -- */

/* Prints the configuration with the disks of now: some may have joined or left since the mount. */
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

static int print_kernel(const struct virtual_call *call, FILE *out)
{
    (void) call;
    kernel_io_print_missed(out);
    return 0;
}

/* Nobody knows how long it is: it is read by ops_trace.c. */
static int print_nothing(const struct virtual_call *call, FILE *out)
{
    (void) call, (void) out;
    return 0;
}

static int print_metrics(const struct virtual_call *call, FILE *out)
{
    (void) call;
    return exposition_print(out);
}

static int print_stats(const struct virtual_call *call, FILE *out)
{
    (void) call;
    return stats_print(out);
}

static int print_open(const struct virtual_call *call, FILE *out)
{
    return open_files_print(call->cred.uid, out);
}

static const struct text {
    const char *name;
    int (*print)(const struct virtual_call *call, FILE *out);
    bool is_whole; /* it is made when it is opened; how long it is nobody knows before */
} texts[] = {
    { "config", .print = print_config },
    { "costs.json", .print = costs_json_get, .is_whole = true },
    { "disks", .print = disks_get },
    { "jobs", .print = jobs_get_all },
    { "kernel", .print = print_kernel },
    { "open.json", .print = print_open, .is_whole = true },
    { "metrics", .print = print_metrics, .is_whole = true },
    { "stats.json", .print = print_stats, .is_whole = true },
    { "trace", .print = print_nothing },
};

static const struct text *text_of(fuse_ino_t ino)
{
    return &texts[ino & ~TEXT_BIT];
}

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

/* Makes the text that a number stands for; the caller frees it, also after an error. */
static int make(fuse_req_t req, fuse_ino_t ino, char **ret_text, size_t *ret_len)
{
    char why[LAST_ERROR_SIZE];
    struct virtual_call call = virtual_call_of(req, inodes_root(the_mount->fs->inodes), why);
    FILE *out = open_memstream(ret_text, ret_len);
    int r;

    if (out == NULL)
        return -ENOMEM;
    r = text_of(ino)->print(&call, out);
    return fclose(out) != 0 ? -ENOMEM : r;
}

/* -- operations -- */

/* The attributes of a text that is made when it is opened. */
static void stat_whole(struct stat *st)
{
    struct timespec now = clock_wall();

    *st = (struct stat){ .st_uid = geteuid(), .st_gid = getegid(), .st_blksize = 4096 };
    st->st_atim = st->st_mtim = st->st_ctim = now;
}

/* The attributes of a text that is made for each read. */
static int stat_made(fuse_req_t req, fuse_ino_t ino, struct stat *st, size_t *ret_len)
{
    cleanup(freep) char *text = NULL;
    int r = make(req, ino, &text, ret_len);

    return r < 0 ? r : tree_stat(the_mount->fs, inodes_root(the_mount->fs->inodes), st);
}

static int stat_text(fuse_req_t req, fuse_ino_t ino, struct stat *st)
{
    size_t len = 0;
    int r = 0;

    if (text_of(ino)->is_whole)
        stat_whole(st);
    else
        r = stat_made(req, ino, st, &len);
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
    struct fuse_entry_param entry = { .ino = text, .generation = the_mount->generation };
    int r = stat_text(req, text, &entry.attr);

    if (r < 0)
        reply_status(req, r);
    else
        (void) reply_other(req, &entry); /* a reply not taken undoes nothing: texts have no references */
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;
    int r;

    if (!text_is(ino)) {
        others.getattr(req, ino, fi);
        return;
    }
    serve(req);
    r = stat_text(req, ino, &st);
    if (r < 0)
        reply_status(req, r);
    else
        reply_other_attr(req, &st);
}

/* Replies r to an operation that is about a text and does nothing. */
static void refuse(fuse_req_t req, int r)
{
    serve(req);
    reply_status(req, r);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    if (text_is(ino))
        refuse(req, -EPERM);
    else
        others.setattr(req, ino, attr, to_set, fi);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    if (text_is(ino))
        refuse(req, -ENODATA);
    else
        others.getxattr(req, ino, name, size);
}

/* Makes a text that is to stay as it is while it is open. */
static int open_whole(fuse_req_t req, fuse_ino_t ino, uint64_t *ret_number)
{
    char *text = NULL;
    size_t len;
    int r = make(req, ino, &text, &len);

    if (r == 0)
        return open_texts_add(cred_of(req).uid, text, len, ret_number);
    free(text);
    return r;
}

/* Opens a text past the kernel's cache, since each read may get another text. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!text_is(ino)) {
        others.open(req, ino, fi);
        return;
    }
    serve(req);

    bool writes = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0;
    int r = writes ? -EACCES : 0; /* root's rights do not help */

    fi->direct_io = 1;
    if (r == 0 && text_of(ino)->is_whole)
        r = open_whole(req, ino, &fi->fh);
    if (r < 0)
        reply_status(req, r);
    else if (!reply_other_opened(req, fi) && text_of(ino)->is_whole)
        open_texts_drop(fi->fh);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    if (!text_is(ino)) {
        others.read(req, ino, size, off, fi);
        return;
    }
    serve(req);

    cleanup(freep) char *text = NULL;
    bool is_whole = text_of(ino)->is_whole;
    size_t len = 0;
    int r = is_whole ? open_texts_read(fi->fh, (size_t) off, size, &text, &len) : make(req, ino, &text, &len);
    size_t from = is_whole ? 0 : MIN((size_t) off, len);

    if (r < 0)
        reply_status(req, r);
    else
        reply_bytes(req, text + from, MIN(size, len - from));
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (text_is(ino))
        refuse(req, 0);
    else
        others.flush(req, ino, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (text_is(ino) && text_of(ino)->is_whole)
        open_texts_drop(fi->fh);
    if (text_is(ino))
        refuse(req, 0);
    else
        others.release(req, ino, fi);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    if (text_is(ino))
        refuse(req, 0);
    else
        others.fsync(req, ino, datasync, fi);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    if (text_is(ino))
        refuse(req, -EINVAL);
    else
        others.lseek(req, ino, off, whence, fi);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
                               fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len, int flags)
{
    if (text_is(ino_in))
        refuse(req, -EXDEV); /* the kernel reads and writes instead */
    else
        others.copy_file_range(req, ino_in, off_in, fi_in, ino_out, off_out, fi_out, len, flags);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
                     const void *in, size_t in_size, size_t out_size)
{
    if (text_is(ino))
        refuse(req, -ENOTTY);
    else
        others.ioctl(req, ino, cmd, arg, fi, flags, in, in_size, out_size);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *handle)
{
    if (!text_is(ino)) {
        others.poll(req, ino, fi, handle);
        return;
    }
    serve(req);
    if (handle != NULL)
        fuse_pollhandle_destroy(handle);
    reply_poll(req, POLLIN | POLLRDNORM);
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
