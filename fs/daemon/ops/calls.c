/* SPDX-License-Identifier: MIT */
/* Each operation as the kernel calls it: call_NAME makes a request of it, run_NAME carries that out, now or later, by
 * what the ops_*.c have. */
#include "fs/daemon/attr/virtual_call.h"
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/serve/mount.h"

static struct fuse_lowlevel_ops others;

static void run_lookup(const struct request *request)
{
    others.lookup(request->req, request->ino, request->name);
}

static void call_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    request_serve(
        &(struct request){ .operation = OPERATION_LOOKUP, .run = run_lookup, .req = req, .ino = parent, .name = name });
}

static void run_getattr(const struct request *request)
{
    others.getattr(request->req, request->ino, request->fi);
}

static void call_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(
        &(struct request){ .operation = OPERATION_GETATTR, .run = run_getattr, .req = req, .ino = ino, .fi = fi });
}

static void run_setattr(const struct request *request)
{
    others.setattr(request->req, request->ino, request->attr, (int) request->number, request->fi);
}

static void call_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_SETATTR,
                                     .run = run_setattr,
                                     .req = req,
                                     .ino = ino,
                                     .attr = attr,
                                     .number = (unsigned) to_set,
                                     .fi = fi });
}

static void run_readlink(const struct request *request)
{
    others.readlink(request->req, request->ino);
}

static void call_readlink(fuse_req_t req, fuse_ino_t ino)
{
    request_serve(&(struct request){ .operation = OPERATION_READLINK, .run = run_readlink, .req = req, .ino = ino });
}

static void run_mknod(const struct request *request)
{
    others.mknod(request->req, request->ino, request->name, request->number, request->dev);
}

static void call_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    request_serve(&(struct request){ .operation = OPERATION_MKNOD,
                                     .run = run_mknod,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name,
                                     .number = mode,
                                     .dev = dev });
}

static void run_mkdir(const struct request *request)
{
    others.mkdir(request->req, request->ino, request->name, request->number);
}

static void call_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    request_serve(&(struct request){ .operation = OPERATION_MKDIR,
                                     .run = run_mkdir,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name,
                                     .number = mode });
}

static void run_unlink(const struct request *request)
{
    others.unlink(request->req, request->ino, request->name);
}

static void call_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    request_serve(&(struct request){ .operation = OPERATION_UNLINK,
                                     .run = run_unlink,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name });
}

static void run_rmdir(const struct request *request)
{
    others.rmdir(request->req, request->ino, request->name);
}

static void call_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    request_serve(&(struct request){ .operation = OPERATION_RMDIR,
                                     .run = run_rmdir,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name });
}

static void run_symlink(const struct request *request)
{
    others.symlink(request->req, request->other_name, request->ino, request->name);
}

static void call_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    request_serve(&(struct request){ .operation = OPERATION_SYMLINK,
                                     .run = run_symlink,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name,
                                     .other_name = target });
}

static void run_rename(const struct request *request)
{
    others.rename(request->req, request->ino, request->name, request->other_ino, request->other_name, request->flags);
}

static void call_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                        const char *new_name, unsigned flags)
{
    request_serve(&(struct request){ .operation = OPERATION_RENAME,
                                     .run = run_rename,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name,
                                     .other_ino = new_parent,
                                     .other_name = new_name,
                                     .flags = flags });
}

static void run_link(const struct request *request)
{
    others.link(request->req, request->ino, request->other_ino, request->name);
}

static void call_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    request_serve(&(struct request){ .operation = OPERATION_LINK,
                                     .run = run_link,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = ino,
                                     .other_ino = parent,
                                     .name = name });
}

static void run_open(const struct request *request)
{
    others.open(request->req, request->ino, request->fi);
}

static void call_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_OPEN, .run = run_open, .req = req, .ino = ino, .fi = fi });
}

static void run_read(const struct request *request)
{
    others.read(request->req, request->ino, request->size, request->off, request->fi);
}

static void call_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_READ,
                                     .access = text_is(ino) ? REQUEST_NEITHER : REQUEST_READS,
                                     .run = run_read,
                                     .req = req,
                                     .ino = ino,
                                     .size = size,
                                     .off = off,
                                     .fi = fi });
}

static void run_write(const struct request *request)
{
    others.write(request->req, request->ino, request->data, request->size, request->off, request->fi);
}

static void call_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                       struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_WRITE,
                                     .run = run_write,
                                     .access = REQUEST_WRITES,
                                     .req = req,
                                     .ino = ino,
                                     .data = data,
                                     .size = size,
                                     .off = off,
                                     .fi = fi });
}

static void run_flush(const struct request *request)
{
    others.flush(request->req, request->ino, request->fi);
}

static void call_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(
        &(struct request){ .operation = OPERATION_FLUSH, .run = run_flush, .req = req, .ino = ino, .fi = fi });
}

static void run_release(const struct request *request)
{
    others.release(request->req, request->ino, request->fi);
}

static void call_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(
        &(struct request){ .operation = OPERATION_RELEASE, .run = run_release, .req = req, .ino = ino, .fi = fi });
}

static void run_fsync(const struct request *request)
{
    others.fsync(request->req, request->ino, (int) request->number, request->fi);
}

static void call_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_FSYNC,
                                     .run = run_fsync,
                                     .req = req,
                                     .ino = ino,
                                     .number = (unsigned) data_only,
                                     .fi = fi });
}

static void run_opendir(const struct request *request)
{
    others.opendir(request->req, request->ino, request->fi);
}

static void call_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(
        &(struct request){ .operation = OPERATION_OPENDIR, .run = run_opendir, .req = req, .ino = ino, .fi = fi });
}

static void run_readdir(const struct request *request)
{
    others.readdir(request->req, request->ino, request->size, request->off, request->fi);
}

static void call_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_READDIR,
                                     .run = run_readdir,
                                     .req = req,
                                     .ino = ino,
                                     .size = size,
                                     .off = off,
                                     .fi = fi });
}

static void run_readdirplus(const struct request *request)
{
    others.readdirplus(request->req, request->ino, request->size, request->off, request->fi);
}

static void call_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_READDIRPLUS,
                                     .run = run_readdirplus,
                                     .req = req,
                                     .ino = ino,
                                     .size = size,
                                     .off = off,
                                     .fi = fi });
}

static void run_releasedir(const struct request *request)
{
    others.releasedir(request->req, request->ino, request->fi);
}

static void call_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    request_serve(&(struct request){
        .operation = OPERATION_RELEASEDIR, .run = run_releasedir, .req = req, .ino = ino, .fi = fi });
}

static void run_fsyncdir(const struct request *request)
{
    others.fsyncdir(request->req, request->ino, (int) request->number, request->fi);
}

static void call_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_FSYNCDIR,
                                     .run = run_fsyncdir,
                                     .req = req,
                                     .ino = ino,
                                     .number = (unsigned) data_only,
                                     .fi = fi });
}

static void run_statfs(const struct request *request)
{
    others.statfs(request->req, request->ino);
}

static void call_statfs(fuse_req_t req, fuse_ino_t ino)
{
    request_serve(&(struct request){ .operation = OPERATION_STATFS, .run = run_statfs, .req = req, .ino = ino });
}

/* Whether the caller is in the group that may give layouts; true where the question does not matter: for other
 * attributes, or when no group is named. It is asked at once, since req may be answered, and gone, later. */
static bool is_in_group(fuse_req_t req, const char *name)
{
    cleanup(freep) gid_t *group = NULL;
    int n = 0;

    if (!virtual_is(name) || the_mount->layout_allow != ALLOW_GROUP || cred_of(req).gid == the_mount->layout_gid)
        return true;
    n = MAX(fuse_req_getgroups(req, 0, NULL), 0);
    group = calloc((size_t) n + 1, sizeof *group);
    if (group != NULL)
        n = MIN(n, fuse_req_getgroups(req, n, group)); /* groups may have changed since the first call */
    for (int i = 0; group != NULL && i < n; i++)
        if (group[i] == the_mount->layout_gid)
            return true;
    return false;
}

static void run_setxattr(const struct request *request)
{
    others.setxattr(request->req, request->ino, request->name, request->data, request->size, (int) request->flags);
}

static void call_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    request_serve(&(struct request){ .operation = OPERATION_SETXATTR,
                                     .run = run_setxattr,
                                     .req = req,
                                     .in_group = is_in_group(req, name),
                                     .ino = ino,
                                     .name = name,
                                     .data = value,
                                     .size = size,
                                     .flags = (unsigned) flags });
}

static void run_getxattr(const struct request *request)
{
    others.getxattr(request->req, request->ino, request->name, request->size);
}

static void call_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    request_serve(&(struct request){
        .operation = OPERATION_GETXATTR, .run = run_getxattr, .req = req, .ino = ino, .name = name, .size = size });
}

static void run_listxattr(const struct request *request)
{
    others.listxattr(request->req, request->ino, request->size);
}

static void call_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    request_serve(&(struct request){
        .operation = OPERATION_LISTXATTR, .run = run_listxattr, .req = req, .ino = ino, .size = size });
}

static void run_removexattr(const struct request *request)
{
    others.removexattr(request->req, request->ino, request->name);
}

static void call_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    request_serve(&(struct request){ .operation = OPERATION_REMOVEXATTR,
                                     .run = run_removexattr,
                                     .req = req,
                                     .in_group = is_in_group(req, name),
                                     .ino = ino,
                                     .name = name });
}

static void run_create(const struct request *request)
{
    others.create(request->req, request->ino, request->name, request->number, request->fi);
}

static void call_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_CREATE,
                                     .run = run_create,
                                     .kind = REQUEST_ONCE,
                                     .req = req,
                                     .ino = parent,
                                     .name = name,
                                     .number = mode,
                                     .fi = fi });
}

static void run_ioctl(const struct request *request)
{
    others.ioctl(request->req, request->ino, request->number, request->arg, request->fi, request->flags, request->data,
                 request->size, request->out_size);
}

static void call_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi,
                       unsigned flags, const void *in, size_t in_size, size_t out_size)
{
    request_serve(&(struct request){ .operation = OPERATION_IOCTL,
                                     .run = run_ioctl,
                                     .kind = REQUEST_STAYS,
                                     .req = req,
                                     .ino = ino,
                                     .number = cmd,
                                     .arg = arg,
                                     .fi = fi,
                                     .flags = flags,
                                     .data = in,
                                     .size = in_size,
                                     .out_size = out_size });
}

static void run_poll(const struct request *request)
{
    others.poll(request->req, request->ino, request->fi, request->poll);
}

static void call_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *handle)
{
    request_serve(&(struct request){ .operation = OPERATION_POLL,
                                     .run = run_poll,
                                     .kind = REQUEST_STAYS,
                                     .req = req,
                                     .ino = ino,
                                     .fi = fi,
                                     .poll = handle });
}

static void run_fallocate(const struct request *request)
{
    others.fallocate(request->req, request->ino, (int) request->number, request->off, request->other_off, request->fi);
}

static void call_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_FALLOCATE,
                                     .run = run_fallocate,
                                     .req = req,
                                     .ino = ino,
                                     .number = (unsigned) mode,
                                     .off = off,
                                     .other_off = len,
                                     .fi = fi });
}

static void run_lseek(const struct request *request)
{
    others.lseek(request->req, request->ino, request->off, (int) request->number, request->fi);
}

static void call_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    request_serve(&(struct request){ .operation = OPERATION_LSEEK,
                                     .run = run_lseek,
                                     .req = req,
                                     .ino = ino,
                                     .off = off,
                                     .number = (unsigned) whence,
                                     .fi = fi });
}

static void run_copy_file_range(const struct request *request)
{
    others.copy_file_range(request->req, request->other_ino, request->other_off, request->other_fi, request->ino,
                           request->off, request->fi, request->size, (int) request->flags);
}

static void call_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in, struct fuse_file_info *fi_in,
                                 fuse_ino_t ino_out, off_t off_out, struct fuse_file_info *fi_out, size_t len,
                                 int flags)
{
    request_serve(&(struct request){ .operation = OPERATION_COPY_FILE_RANGE,
                                     .run = run_copy_file_range,
                                     .access = REQUEST_COPIES,
                                     .req = req,
                                     .ino = ino_out,
                                     .off = off_out,
                                     .fi = fi_out,
                                     .other_ino = ino_in,
                                     .other_off = off_in,
                                     .other_fi = fi_in,
                                     .size = len,
                                     .flags = (unsigned) flags });
}

void ops_add_requests(struct fuse_lowlevel_ops *ops)
{
    others = *ops;
    ops->lookup = call_lookup;
    ops->getattr = call_getattr;
    ops->setattr = call_setattr;
    ops->readlink = call_readlink;
    ops->mknod = call_mknod;
    ops->mkdir = call_mkdir;
    ops->unlink = call_unlink;
    ops->rmdir = call_rmdir;
    ops->symlink = call_symlink;
    ops->rename = call_rename;
    ops->link = call_link;
    ops->open = call_open;
    ops->read = call_read;
    ops->write = call_write;
    ops->flush = call_flush;
    ops->release = call_release;
    ops->fsync = call_fsync;
    ops->opendir = call_opendir;
    ops->readdir = call_readdir;
    ops->readdirplus = call_readdirplus;
    ops->releasedir = call_releasedir;
    ops->fsyncdir = call_fsyncdir;
    ops->statfs = call_statfs;
    ops->setxattr = call_setxattr;
    ops->getxattr = call_getxattr;
    ops->listxattr = call_listxattr;
    ops->removexattr = call_removexattr;
    ops->create = call_create;
    ops->ioctl = call_ioctl;
    ops->poll = call_poll;
    ops->fallocate = call_fallocate;
    ops->lseek = call_lseek;
    ops->copy_file_range = call_copy_file_range;
}
