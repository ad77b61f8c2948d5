/* SPDX-License-Identifier: MIT */
/* Operations on what lies below .falls. The kernel's numbers for nodes are no inodes', so each operation that names one
 * is taken over here, and passed on when it is about something else; open views are handles like open files. */
#include "fs/daemon/ops/ops_views.h"
#include "fs/daemon/view/views.h"

#include <fcntl.h>
#include <string.h>

static struct fuse_lowlevel_ops others;

static void view_putp(struct view **view)
{
    view_put(*view);
}

/* Gives the view of a node that is one, with a reference. */
static int get_view(const struct node *node, struct view **ret_view)
{
    if (node->kind == NODE_VIEW)
        return views_look(the_mount->views, node->text, ret_view);
    *ret_view = view_ref(drop_const(file_view_view(node->held->file_view)));
    return 0;
}

/* -- attributes -- */

int stat_node(const struct node *node, struct stat *st)
{
    cleanup(view_putp) struct view *view = NULL;
    bool is_file;
    int r = node != NULL ? tree_stat(the_mount->fs, node->inode, st) : -ESTALE;

    if (r == 0 && node_is_view(node))
        r = get_view(node, &view);
    if (r < 0)
        return r;
    is_file = node->inode->fmt == S_IFREG;
    st->st_ino = node_ino(node->kind, node->inode, node->name);
    if (view != NULL) {
        st->st_size = (off_t) view_len(view, (uint64_t) st->st_size);
        st->st_blocks = MIN(st->st_blocks, (st->st_size + 511) / 512);
        st->st_nlink = MIN(st->st_nlink, 1);
        st->st_mode &= S_IFMT | 0777;
        if (node->kind == NODE_TICKET) {
            st->st_mode = S_IFREG | node->ticket.mode;
            st->st_uid = node->ticket.uid;
            st->st_gid = node->ticket.gid;
        }
        return 0;
    }
    st->st_mode = S_IFDIR | (node->kind == NODE_TICKETS          ? 0111
                             : is_file || node->kind == NODE_TOP ? 0555
                                                                 : st->st_mode & 0555);
    st->st_nlink = 2;
    st->st_size = st->st_blocks = 0;
    return 0;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.getattr(req, ino, fi);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    struct stat st;
    int r = stat_node(node, &st);

    if (r < 0)
        reply_status(req, r);
    else
        reply_other_attr(req, &st);
}

/* Sets the length of a view. A cut to nothing by O_TRUNC is ignored, as block devices ignore it, so that programs that
 * write a file anew can write a view. Otherwise a view only grows: the bytes behind a cut are the file's. */
static int set_len(const struct node *node, uint64_t len, bool is_opening)
{
    cleanup(view_putp) struct view *view = NULL;
    struct file *file;
    int r;

    if (len == 0 && is_opening)
        return 0;
    r = get_view(node, &view);
    if (r == 0)
        r = file_get(the_mount->fs, node->inode, &file);
    if (r == 0) {
        r = file_view_grow(the_mount->fs, view, file, len);
        file_put(the_mount->fs, file);
    }
    return r;
}

static int set_attr(const struct node *node, const struct cred *cred, const struct stat *attr, int to_set, bool is_open)
{
    int r = 0;

    if (node == NULL)
        return -ESTALE;
    if (!node_is_view(node) || (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
        return -EPERM;
    if (node->kind == NODE_TICKET && (to_set & FUSE_SET_ATTR_SIZE) == 0)
        return -EPERM; /* the file's times are for its owner to set, not for who has a ticket */
    if ((to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = tree_drop_privileges(the_mount->fs, node->inode, cred);
    if (r < 0)
        return r;
    if ((to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = set_len(node, (uint64_t) attr->st_size, !is_open);
    else
        r = set_times(node->inode, attr, to_set);
    kernel_forgets_attributes(node->inode);
    return r;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.setattr(req, ino, attr, to_set, fi);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    struct stat st;
    struct cred cred = cred_of(req);
    int r = set_attr(node, &cred, attr, to_set, fi != NULL);

    if (r == 0)
        r = stat_node(node, &st);
    if (r < 0)
        reply_status(req, r);
    else
        reply_other_attr(req, &st);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    others.statfs(req, is_node(ino) ? FUSE_ROOT_ID : ino);
}

/* Prints how accesses through a view were served: as a subfile, as runs, or by gathering pieces. */
static int print_counts(struct node *node, char *text, size_t size)
{
    struct file_view_counts counts = file_view_counts(&node->counters);

    return snprintf(text, size, "subfile=%" PRIu64 " runs=%" PRIu64 " gathered=%" PRIu64, counts.as_subfile,
                    counts.as_runs, counts.gathered);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    if (!is_node(ino)) {
        others.getxattr(req, ino, name, size);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    bool has_rights =
        node != NULL && (node->kind == NODE_VIEW || (node->kind == NODE_MIRROR && node->inode->fmt == S_IFDIR));
    char value[4096];
    ssize_t n = node != NULL ? -ENODATA : -ESTALE;

    if (node != NULL && node_is_view(node) && strcmp(name, "user.falls.stats") == 0)
        n = print_counts(node, value, sizeof value);
    else if (has_rights && strcmp(name, "system.posix_acl_access") == 0)
        n = tree_get_xattr(the_mount->fs, node->inode, name, value, sizeof value);
    if (n >= 0 && size > 0 && (size_t) n > size)
        n = -ERANGE;
    if (n < 0)
        reply_status(req, (int) n);
    else if (size == 0)
        reply_xattr_size(req, (size_t) n);
    else
        reply_bytes(req, value, (size_t) n);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    if (!is_node(ino)) {
        others.listxattr(req, ino, size);
        return;
    }
    serve(req);
    if (size == 0)
        reply_xattr_size(req, 0);
    else
        reply_bytes(req, NULL, 0);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
    if (!is_node(ino)) {
        others.setxattr(req, ino, name, value, size, flags);
        return;
    }
    serve(req);
    reply_status(req, -EOPNOTSUPP);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    if (!is_node(ino)) {
        others.removexattr(req, ino, name);
        return;
    }
    serve(req);
    reply_status(req, -EOPNOTSUPP);
}

/* -- opening -- */

static int check_open(const struct node *node, int how)
{
    if (node == NULL)
        return -ESTALE;
    if (!node_is_view(node))
        return -EISDIR;
    if (how != O_RDONLY && the_mount->fs->read_only)
        return -EROFS;
    if (node->kind == NODE_TICKET && node->ticket.can_open != O_RDWR && node->ticket.can_open != how)
        return -EACCES; /* root's rights do not help: the descriptor that the ticket is from could not do that */
    return 0;
}

static void held_view_putp(struct held_view **held)
{
    held_view_put(*held);
}

/* Holds the view for an open. That of a ticket was charged when the ticket was made; another one is charged now. */
static int hold_view(fuse_req_t req, struct node *node, struct held_view **ret_held)
{
    const struct cred cred = cred_of(req);
    struct layout_error error;
    int r = 0;

    if (node->kind == NODE_TICKET)
        *ret_held = held_view_ref(node->held);
    else
        r = views_hold(the_mount->views, cred.uid, node->text, &node->counters, ret_held, &error);
    if (r == -EUSERS)
        note_too_many_views(req, node->inode);
    return r;
}

static int open_held(fuse_req_t req, struct node *node, struct held_view *held, struct fuse_file_info *fi)
{
    const struct handle_view view = { held->file_view, held_view_ref(held), node };
    struct file *file;
    int r = file_get(the_mount->fs, node->inode, &file);

    if (r < 0) {
        held_view_put(held);
        return r;
    }
    node_ref(the_mount->nodes, node);
    return open_file(req, node->inode, file, &view, fi);
}

static int open_view(fuse_req_t req, struct node *node, struct fuse_file_info *fi)
{
    cleanup(held_view_putp) struct held_view *held = NULL;
    int r = check_open(node, fi->flags & O_ACCMODE);

    if (r == 0)
        r = hold_view(req, node, &held);
    if (r == 0)
        r = open_held(req, node, held, fi);
    if (r == 0)
        atomic_store(&node->is_opened, true);
    return r;
}

/* Opens a view past the kernel's cache, which does not know that the view's bytes are the file's. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.open(req, ino, fi);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    int r = open_view(req, node, fi);

    if (r < 0) {
        reply_status(req, r);
        return;
    }
    fi->direct_io = 1;
    if (!reply_other_opened(req, fi))
        handles_drop(the_mount->handles, fi->fh);
}

/* -- which operations -- */

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
                     const void *in, size_t in_size, size_t out_size)
{
    if (!is_node(ino) || (flags & FUSE_IOCTL_DIR) == 0) {
        others.ioctl(req, ino, cmd, arg, fi, flags, in, in_size, out_size);
        return;
    }
    serve(req);
    reply_status(req, -ENOTTY);
}

void ops_add_views(struct fuse_lowlevel_ops *ops)
{
    others = *ops;
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->statfs = op_statfs;
    ops->getxattr = op_getxattr;
    ops->listxattr = op_listxattr;
    ops->setxattr = op_setxattr;
    ops->removexattr = op_removexattr;
    ops->open = op_open;
    ops->ioctl = op_ioctl;
    ops_add_view_names(ops);
}
