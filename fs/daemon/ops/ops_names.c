/* SPDX-License-Identifier: MIT */
/* Operations on names. */
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/trace/tracing.h"

#include <limits.h>
#include <string.h>

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    struct fs *fs = the_mount->fs;
    struct inode *dir = held_parent.inode, *inode = NULL;
    struct stat st;
    int r = 0;

    /* An NFS server that has only a handle asks for "." and "..". */
    if (dir != NULL && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
        inode = dir;
        inode_ref(fs->inodes, inode);
        r = strcmp(name, ".") == 0 ? tree_stat(fs, inode, &st) : -ESTALE;
        if (r < 0)
            inode_unref(fs->inodes, inode);
    } else {
        r = dir == NULL ? -ESTALE : tree_lookup(fs, dir, name, &inode, &st);
    }
    reply_entry(req, r, inode, &st);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
    cleanup(held_done) struct held held = hold(ino);

    if (held.inode != NULL && ino != INODE_ROOT)
        file_forget(the_mount->fs, held.inode, n);
    reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forget)
{
    for (size_t i = 0; i < count; i++) {
        cleanup(held_done) struct held held = hold(forget[i].ino);

        if (held.inode != NULL && forget[i].ino != INODE_ROOT)
            file_forget(the_mount->fs, held.inode, forget[i].nlookup);
    }
    reply_none(req);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    struct cred cred = cred_of(req);
    struct inode *inode = NULL;
    struct stat st;
    int r = tree_mkdir(the_mount->fs, held_parent.inode, name, mode, &cred, &inode, &st);

    if (r == -ENOENT) /* the directory itself is gone: this must not be taken for a name that is not there */
        reply_status(req, r);
    else
        reply_entry(req, r, inode, &st);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    struct cred cred = cred_of(req);
    struct inode *inode = NULL;
    struct stat st;
    int r = tree_mknod(the_mount->fs, held_parent.inode, name, mode, dev, &cred, &inode, &st);

    if (r == -ENOENT)
        reply_status(req, r);
    else
        reply_entry(req, r, inode, &st);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    struct cred cred = cred_of(req);
    struct inode *inode = NULL;
    struct stat st;
    int r = tree_symlink(the_mount->fs, held_parent.inode, name, target, &cred, &inode, &st);

    if (r == -ENOENT)
        reply_status(req, r);
    else
        reply_entry(req, r, inode, &st);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold_untold(ino);
    cleanup(held_done) struct held held_parent = hold(parent);
    struct fs *fs = the_mount->fs;
    struct inode *inode = held_ino.inode;
    struct stat st;
    int r = tree_link(fs, inode, held_parent.inode, name, &st);

    if (r < 0) {
        reply_status(req, r);
        return;
    }
    inode_ref(fs->inodes, inode);
    reply_entry(req, 0, inode, &st);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    struct cred cred = cred_of(req);
    struct inode *inode;
    struct file *file;
    struct stat st;
    int r = tree_create(the_mount->fs, held_parent.inode, name, mode & 07777, &cred, &inode, &st, &file);

    if (r < 0) {
        reply_status(req, r);
        return;
    }
    r = open_file(req, inode, file, NULL, fi);
    if (r < 0) {
        (void) tree_unlink(the_mount->fs, held_parent.inode, name); /* for the kernel the file was not created */
        inode_unref(the_mount->fs->inodes, inode);
        reply_status(req, r);
        return;
    }
    reply_created(req, inode, &st, fi);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    reply_status(req, tree_unlink(the_mount->fs, held_parent.inode, name));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    reply_status(req, tree_rmdir(the_mount->fs, held_parent.inode, name));
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                      unsigned flags)
{
    serve(req);

    cleanup(held_done) struct held held_parent = hold(parent);
    cleanup(held_done) struct held held_new_parent = hold(new_parent);
    int r = tree_rename(the_mount->fs, held_parent.inode, name, held_new_parent.inode, new_name, flags);

    if (r == 0)
        tracing_changed(the_mount->tracing);
    reply_status(req, r);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    char target[PATH_MAX + 1];
    ssize_t n = tree_read_link(the_mount->fs, held_ino.inode, target, PATH_MAX);

    if (n < 0) {
        reply_status(req, (int) n);
        return;
    }
    target[n] = 0;
    reply_link(req, target);
}

void ops_add_names(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mkdir = op_mkdir;
    ops->mknod = op_mknod;
    ops->symlink = op_symlink;
    ops->link = op_link;
    ops->create = op_create;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->readlink = op_readlink;
}
