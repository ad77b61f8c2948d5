/* SPDX-License-Identifier: MIT */
/* Operations on attributes, and on the file system as a whole. */
#include "fs/daemon/ops/ops.h"

#include "fs/core/change/room_watch.h"
#include "fs/daemon/attr/virtual.h"
#include "fs/daemon/trace/tracing.h"

#include <string.h>

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    struct stat st;
    int r = tree_stat(the_mount->fs, held_ino.inode, &st);

    (void) fi;
    reply_attr(req, r, &st);
}

static int set_size(struct inode *inode, uint64_t size)
{
    struct file *file;
    int r = file_get(the_mount->fs, inode, &file);

    if (r == 0) {
        kernel_end_changes(inode);
        r = file_truncate(the_mount->fs, file, size);
        file_put(the_mount->fs, file);
    }
    return r;
}

/* Says how to set an atime or mtime: to now, to time, or not at all. given and now are the bits of to_set for it. */
static struct timespec time_to_set(int to_set, int given, int now, struct timespec time)
{
    if ((to_set & now) != 0)
        return (struct timespec){ .tv_nsec = UTIME_NOW };
    return (to_set & given) != 0 ? time : (struct timespec){ .tv_nsec = UTIME_OMIT };
}

int set_times(struct inode *inode, const struct stat *attr, int to_set)
{
    struct timespec times[2] = {
        time_to_set(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
        time_to_set(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim),
    };

    if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
        return 0;
    return tree_set_times(the_mount->fs, inode, times);
}

static int set_attr(struct inode *inode, const struct stat *attr, int to_set, const struct cred *cred)
{
    int r = 0;

    /* With nothing to set, it is chown(-1, -1), which clears set-user-ID bits all the same. */
    if ((to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0 || (to_set & ~FUSE_SET_ATTR_CTIME) == 0)
        r = tree_chown(the_mount->fs, inode, (to_set & FUSE_SET_ATTR_UID) != 0 ? attr->st_uid : (uid_t) -1,
                       (to_set & FUSE_SET_ATTR_GID) != 0 ? attr->st_gid : (gid_t) -1);
    if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = MIN(tree_drop_privileges(the_mount->fs, inode, cred), 0);
    if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = set_size(inode, (uint64_t) attr->st_size);
    /* The mode comes after owner and size, whose changes may clear bits of it. */
    if (r == 0 && (to_set & FUSE_SET_ATTR_MODE) != 0)
        r = tree_chmod(the_mount->fs, inode, attr->st_mode);
    return r == 0 ? set_times(inode, attr, to_set) : r;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    struct inode *inode = held_ino.inode;
    struct stat st;
    struct cred cred = cred_of(req);
    int r = set_attr(inode, attr, to_set, &cred);

    (void) fi;
    if ((to_set & FUSE_SET_ATTR_UID) != 0)
        tracing_changed(the_mount->tracing);
    if (r == 0)
        r = tree_stat(the_mount->fs, inode, &st);
    reply_attr(req, r, &st);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    struct statvfs st;
    int r = room_statfs(the_mount->fs->room, held_ino.inode, &st);

    reply_statfs(req, r, &st);
}

/* -- extended attributes -- */

#define MAX_VALUE 65536

static void reply_value(fuse_req_t req, ssize_t n, const char *value, size_t size)
{
    if (n < 0)
        reply_status(req, (int) n);
    else if (size == 0)
        reply_xattr_size(req, (size_t) n);
    else
        reply_bytes(req, value, (size_t) n);
}

struct virtual_call virtual_call_of(fuse_req_t req, struct inode *inode, char *why)
{
    *why = 0;
    return (struct virtual_call){
        .fs = the_mount->fs,
        .inode = inode,
        .last_errors = the_mount->last_errors,
        .handles = the_mount->handles,
        .mover = the_mount->mover,
        .tracing = the_mount->tracing,
        .cred = cred_of(req),
        .in_group = request_now()->in_group,
        .allow = the_mount->layout_allow,
        .max_jobs = the_mount->options->limit_jobs,
        .why = why,
    };
}

static void get_virtual(fuse_req_t req, struct inode *inode, const char *name, size_t size)
{
    cleanup(freep) char *value = NULL;
    char why[LAST_ERROR_SIZE];
    struct virtual_call call = virtual_call_of(req, inode, why);
    ssize_t n = virtual_get(&call, name, &value);

    reply_value(req, size > 0 && n > (ssize_t) size ? -ERANGE : n, value, size);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    cleanup(freep) char *value = NULL;

    if (virtual_is(name)) {
        get_virtual(req, held_ino.inode, name, size);
        return;
    }
    value = size > 0 ? malloc(MIN(size, MAX_VALUE)) : NULL;
    if (size > 0 && value == NULL)
        reply_status(req, -ENOMEM);
    else
        reply_value(req, tree_get_xattr(the_mount->fs, held_ino.inode, name, value, MIN(size, MAX_VALUE)), value, size);
}

/* Lists the attributes that the home disk has, and those of ours that are listed. */
static ssize_t list(fuse_req_t req, struct inode *inode, char *names, size_t size)
{
    char why[LAST_ERROR_SIZE];
    struct virtual_call call = virtual_call_of(req, inode, why);
    ssize_t n = tree_list_xattr(the_mount->fs, inode, call.cred.uid == 0, names, MAX_VALUE);

    if (n >= 0)
        n = (ssize_t) virtual_list(&call, names, (size_t) n, MAX_VALUE);
    return size > 0 && n > (ssize_t) size ? -ERANGE : n > MAX_VALUE ? -E2BIG : n;
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    cleanup(freep) char *names = malloc(MAX_VALUE);

    if (names == NULL)
        reply_status(req, -ENOMEM);
    else
        reply_value(req, list(req, held_ino.inode, names, size), names, size);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    char why[LAST_ERROR_SIZE];
    struct virtual_call call = virtual_call_of(req, held_ino.inode, why);

    if (virtual_is(name)) {
        reply_status(req, virtual_set(&call, name, value, size, flags));
        return;
    }
    reply_status(req, tree_set_xattr(the_mount->fs, held_ino.inode, name, value, size, flags, &call.cred));
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    char why[LAST_ERROR_SIZE];
    struct virtual_call call = virtual_call_of(req, held_ino.inode, why);

    if (virtual_is(name)) {
        reply_status(req, virtual_remove(&call, name));
        return;
    }
    reply_status(req, tree_remove_xattr(the_mount->fs, held_ino.inode, name));
}

void ops_add_attr(struct fuse_lowlevel_ops *ops)
{
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->statfs = op_statfs;
    ops->getxattr = op_getxattr;
    ops->listxattr = op_listxattr;
    ops->setxattr = op_setxattr;
    ops->removexattr = op_removexattr;
}
