/* SPDX-License-Identifier: MIT */
/* Operations on attributes, and on the file system as a whole. */
#include "fs/daemon/mount.h"

#include "fs/core/space.h"

#include <string.h>

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
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
        r = file_truncate(the_mount->fs, file, size);
        file_put(the_mount->fs, file);
    }
    return r;
}

/* An atime or mtime to set: now, given, or left alone. */
static struct timespec time_to_set(int to_set, int given, int now, struct timespec time)
{
    if ((to_set & now) != 0)
        return (struct timespec){ .tv_nsec = UTIME_NOW };
    return (to_set & given) != 0 ? time : (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static int set_attr(struct inode *inode, const struct stat *attr, int to_set, const struct cred *cred)
{
    struct timespec times[2] = {
        time_to_set(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
        time_to_set(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim),
    };
    int r = 0;

    /* Nothing to set is chown to nobody new, which clears set-user-ID bits all the same. */
    if ((to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0 || (to_set & ~FUSE_SET_ATTR_CTIME) == 0)
        r = tree_chown(the_mount->fs, inode, (to_set & FUSE_SET_ATTR_UID) != 0 ? attr->st_uid : (uid_t) -1,
                       (to_set & FUSE_SET_ATTR_GID) != 0 ? attr->st_gid : (gid_t) -1);
    if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = MIN(tree_drop_privileges(the_mount->fs, inode, cred), 0);
    if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = set_size(inode, (uint64_t) attr->st_size);
    /* After the others, which may clear bits of it. */
    if (r == 0 && (to_set & FUSE_SET_ATTR_MODE) != 0)
        r = tree_chmod(the_mount->fs, inode, attr->st_mode);
    if (r == 0 && (times[0].tv_nsec != UTIME_OMIT || times[1].tv_nsec != UTIME_OMIT))
        r = tree_set_times(the_mount->fs, inode, times);
    return r;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    struct inode *inode = held_ino.inode;
    struct stat st;
    struct cred cred = cred_of(req);
    int r = set_attr(inode, attr, to_set, &cred);

    (void) fi;
    if (r == 0)
        r = tree_stat(the_mount->fs, inode, &st);
    reply_attr(req, r, &st);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    serve(req);

    struct statvfs st;
    int r = space_statfs(the_mount->fs, &st);

    (void) ino;
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

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    cleanup(freep) char *value = size > 0 ? malloc(MIN(size, MAX_VALUE)) : NULL;

    if (size > 0 && value == NULL)
        reply_status(req, -ENOMEM);
    else
        reply_value(req, tree_get_xattr(the_mount->fs, held_ino.inode, name, value, MIN(size, MAX_VALUE)), value, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    cleanup(freep) char *list = size > 0 ? malloc(MIN(size, MAX_VALUE)) : NULL;

    if (size > 0 && list == NULL)
        reply_status(req, -ENOMEM);
    else
        reply_value(
            req,
            tree_list_xattr(the_mount->fs, held_ino.inode, fuse_req_ctx(req)->uid == 0, list, MIN(size, MAX_VALUE)),
            list, size);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    reply_status(req, tree_set_xattr(the_mount->fs, held_ino.inode, name, value, size, flags));
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
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
