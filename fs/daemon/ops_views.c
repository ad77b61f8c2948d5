/* SPDX-License-Identifier: MIT */
/* Operations on what lies below .falls. The kernel's numbers for it are no inodes', so each operation that names one is
 * taken from whoever else has it; open files are handles like all others. */
#include "fs/core/view_texts.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/view_nodes.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define TOP_NAME     ".falls"
#define VIEWS_NAME   "views"
#define TICKETS_NAME "open"

static struct fuse_lowlevel_ops others;

static bool is_node(fuse_ino_t ino)
{
    return (ino & NODE_BIT) != 0;
}

/* A name that cannot be made, changed or removed. */
static bool is_fixed(fuse_ino_t parent, const char *name)
{
    return is_node(parent) || (parent == FUSE_ROOT_ID && strcmp(name, TOP_NAME) == 0);
}

static void node_putp(struct node **node)
{
    node_put(the_mount->nodes, *node);
}

static struct node *node_of(fuse_ino_t ino)
{
    return nodes_find(the_mount->nodes, ino);
}

/* -- attributes -- */

static int stat_node(const struct node *node, struct stat *st)
{
    bool is_file = node->inode->fmt == S_IFREG;
    int r = tree_stat(the_mount->fs, node->inode, st);

    if (r < 0)
        return r;
    st->st_ino = node_ino(node->kind, node->inode, node->name);
    if (node_is_view(node)) {
        st->st_size = (off_t) view_len(file_view_view(node->file_view), (uint64_t) st->st_size);
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

/* Names come and go with what they mirror, of which the kernel knows nothing: it asks each time. */
static void reply_node(fuse_req_t req, int r, struct node *node)
{
    struct fuse_entry_param entry = { 0 };

    if (r == 0)
        r = stat_node(node, &entry.attr);
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    entry.ino = node->nodeid;
    node_looked_up(the_mount->nodes, node);
    if (!keeper_may_reply() || fuse_reply_entry(req, &entry) < 0)
        node_forget(the_mount->nodes, node->nodeid, 1);
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
    else if (keeper_may_reply())
        fuse_reply_attr(req, &st, 0);
}

/* Who opens a view to write it anew asks for it to be cut: that means nothing, as with a disk. Really cut it cannot be:
 * the bytes behind the cut are the file's. */
static int set_len(const struct node *node, uint64_t len, bool is_opening)
{
    struct file *file;
    int r;

    if (len == 0 && is_opening)
        return 0;
    r = file_get(the_mount->fs, node->inode, &file);
    if (r == 0) {
        r = file_view_grow(node->file_view, file, len);
        file_put(the_mount->fs, file);
    }
    return r;
}

static int set_attr(const struct node *node, const struct cred *cred, const struct stat *attr, int to_set, bool is_open)
{
    int r = 0;

    if (!node_is_view(node) || (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
        return -EPERM;
    if (node->kind == NODE_TICKET && (to_set & FUSE_SET_ATTR_SIZE) == 0)
        return -EPERM; /* times are for who owns the file, not the ticket */
    if ((to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = tree_drop_privileges(the_mount->fs, node->inode, cred);
    if (r < 0)
        return r;
    if ((to_set & FUSE_SET_ATTR_SIZE) != 0)
        r = set_len(node, (uint64_t) attr->st_size, !is_open);
    else
        r = set_times(node->inode, attr, to_set);
    (void) fuse_lowlevel_notify_inval_inode(the_mount->session, node->inode->nodeid, -1, 0);
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
    else if (keeper_may_reply())
        fuse_reply_attr(req, &st, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    others.statfs(req, is_node(ino) ? FUSE_ROOT_ID : ino);
}

/* How the accesses through a view were served: that of a view which is a subfile costs no gathering. */
static int print_counts(const struct node *node, char *text, size_t size)
{
    struct file_view_counts counts = file_view_counts(node->file_view);

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
    bool has_rights = node->kind == NODE_VIEW || (node->kind == NODE_MIRROR && node->inode->fmt == S_IFDIR);
    char value[4096];
    ssize_t n = -ENODATA;

    if (node_is_view(node) && strcmp(name, "user.falls.stats") == 0)
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

/* -- finding -- */

static bool note_one(void *arg, const char *name)
{
    (void) arg, (void) name;
    return false;
}

/* 0, or -ENOENT: nothing of it is to be seen here. */
static int check_mirrored(struct inode *inode)
{
    int r;

    if (inode->fmt == S_IFDIR)
        return 0;
    r = inode->fmt == S_IFREG ? view_texts_visit(the_mount->fs, inode, note_one, NULL) : -ENODATA;
    return r == -ENODATA ? -ENOENT : r;
}

static int look_up_mirrored(struct inode *dir, const char *name, struct node **ret_node)
{
    struct fs *fs = the_mount->fs;
    struct inode *inode;
    struct stat st;
    int r = tree_lookup(fs, dir, name, &inode, &st);

    if (r < 0)
        return r;
    r = check_mirrored(inode);
    if (r == 0)
        r = nodes_enter(the_mount->nodes, NODE_MIRROR, inode, ret_node);
    inode_unref(fs->inodes, inode);
    return r;
}

static int look_up_view(struct inode *inode, const char *name, struct node **ret_node)
{
    cleanup(freep) char *text = NULL;
    int r = view_texts_get(the_mount->fs, inode, name, &text);

    if (r == 0)
        r = nodes_enter_view(the_mount->nodes, inode, name, text, ret_node);
    return r == -ENODATA ? -ENOENT : r;
}

static int look_up_in_top(struct inode *root, const char *name, struct node **ret_node)
{
    if (strcmp(name, VIEWS_NAME) == 0)
        return nodes_enter(the_mount->nodes, NODE_MIRROR, root, ret_node);
    return strcmp(name, TICKETS_NAME) == 0 ? nodes_enter(the_mount->nodes, NODE_TICKETS, root, ret_node) : -ENOENT;
}

static int look_up_ticket(const char *name, struct node **ret_node)
{
    *ret_node = nodes_find_ticket(the_mount->nodes, name);
    return *ret_node != NULL ? 0 : -ENOENT;
}

static int look_up(const struct node *parent, const char *name, struct node **ret_node)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -ESTALE;
    if (parent->kind == NODE_TOP)
        return look_up_in_top(parent->inode, name, ret_node);
    if (parent->kind == NODE_TICKETS)
        return look_up_ticket(name, ret_node);
    if (node_is_view(parent))
        return -ENOTDIR;
    return parent->inode->fmt == S_IFDIR ? look_up_mirrored(parent->inode, name, ret_node)
                                         : look_up_view(parent->inode, name, ret_node);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (!is_fixed(parent, name)) {
        others.lookup(req, parent, name);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *dir = is_node(parent) ? node_of(parent) : NULL;
    cleanup(node_putp) struct node *node = NULL;
    fuse_ino_t text = dir != NULL && dir->kind == NODE_TOP ? text_find(name) : 0;
    int r = -ESTALE;

    if (text != 0) {
        reply_text(req, text);
        return;
    }
    if (dir != NULL)
        r = look_up(dir, name, &node);
    else if (!is_node(parent))
        r = nodes_enter(the_mount->nodes, NODE_TOP, inodes_root(the_mount->fs->inodes), &node);
    reply_node(req, r, node);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
    if (!is_node(ino)) {
        others.forget(req, ino, n);
        return;
    }
    node_forget(the_mount->nodes, ino, n);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forget)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (is_node(forget[i].ino))
            node_forget(the_mount->nodes, forget[i].ino, forget[i].nlookup);
        else
            forget[n++] = forget[i];
    others.forget_multi(req, n, forget);
}

/* -- changing names: that is done where they are mirrored from -- */

static void refuse(fuse_req_t req)
{
    serve(req);
    reply_status(req, -EPERM);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.mkdir(req, parent, name, mode);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.mknod(req, parent, name, mode, dev);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.symlink(req, target, parent, name);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.create(req, parent, name, mode, fi);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    if (is_node(ino) || is_fixed(parent, name))
        refuse(req);
    else
        others.link(req, ino, parent, name);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.unlink(req, parent, name);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (is_fixed(parent, name))
        refuse(req);
    else
        others.rmdir(req, parent, name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                      unsigned flags)
{
    if (is_fixed(parent, name) || is_fixed(new_parent, new_name))
        refuse(req);
    else
        others.rename(req, parent, name, new_parent, new_name, flags);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    if (is_node(ino))
        refuse(req);
    else
        others.readlink(req, ino);
}

/* -- opening -- */

static int check_open(const struct node *node, int how)
{
    if (!node_is_view(node))
        return -EISDIR;
    if (how != O_RDONLY && the_mount->fs->read_only)
        return -EROFS;
    if (node->kind == NODE_TICKET && node->ticket.can_open != O_RDWR && node->ticket.can_open != how)
        return -EACCES; /* root, too: the descriptor says no */
    return 0;
}

static int open_view(struct node *node, struct fuse_file_info *fi)
{
    struct file *file;
    int r = check_open(node, fi->flags & O_ACCMODE);

    if (r == 0)
        r = file_get(the_mount->fs, node->inode, &file);
    if (r == 0)
        r = open_file(node->inode, file, node->file_view, fi);
    if (r == 0)
        atomic_store(&node->is_opened, true);
    return r;
}

/* Past the kernel's cache, which knows nothing of the file that it is a view of. */
static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.open(req, ino, fi);
        return;
    }
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    int r = open_view(node, fi);

    if (r < 0) {
        reply_status(req, r);
        return;
    }
    fi->direct_io = 1;
    if (!keeper_may_reply() || fuse_reply_open(req, fi) < 0)
        handles_drop(the_mount->handles, fi->fh);
}

/* -- directories: made anew for each request, so nothing is kept open -- */

struct listing {
    fuse_req_t req;
    bool plus;
    char *buf;
    size_t size, used;
    off_t off, at; /* names before off were told already */
};

/* False when there is no room for more. */
static bool add(struct listing *listing, const char *name, uint64_t ino, mode_t mode)
{
    struct fuse_entry_param param = { .attr = { .st_ino = ino, .st_mode = mode } };
    size_t room = listing->size - listing->used, n;

    if (listing->at++ < listing->off)
        return true;
    n = listing->plus
            ? fuse_add_direntry_plus(listing->req, listing->buf + listing->used, room, name, &param, listing->at)
            : fuse_add_direntry(listing->req, listing->buf + listing->used, room, name, &param.attr, listing->at);
    if (n > room)
        return false;
    listing->used += n;
    return true;
}

static bool add_mirrored(struct listing *listing, struct inode *dir, const struct dirent64 *entry)
{
    struct fs *fs = the_mount->fs;
    struct inode *inode;
    struct stat st;
    bool room = true;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || tree_hides(fs, entry->d_name) ||
        (entry->d_type != DT_DIR && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) ||
        tree_lookup(fs, dir, entry->d_name, &inode, &st) < 0)
        return true;
    if (check_mirrored(inode) == 0)
        room = add(listing, entry->d_name, node_ino(NODE_MIRROR, inode, NULL), S_IFDIR);
    inode_unref(fs->inodes, inode);
    return room;
}

static int list_mirrored(struct listing *listing, struct inode *dir)
{
    _Alignas(struct dirent64) char entries[16384];
    const struct disk *home = fs_home(the_mount->fs);
    bool room = true;
    ssize_t n = 0;
    int fd, r = tree_open_dir(the_mount->fs, dir, &fd);

    if (r < 0)
        return r;
    while (room && (n = disk_call(home, read_dir, fd, entries, sizeof entries)) > 0)
        for (ssize_t i = 0; room && i < n;) {
            const struct dirent64 *entry = (const void *) (entries + i);

            i += entry->d_reclen;
            room = add_mirrored(listing, dir, entry);
        }
    disk_close(home, &fd);
    return n < 0 ? (int) n : 0;
}

struct view_listing {
    struct listing *listing;
    const struct inode *inode;
};

static bool add_view(void *arg, const char *name)
{
    struct view_listing *views = arg;

    return add(views->listing, name, node_ino(NODE_VIEW, views->inode, name), S_IFREG);
}

static int list(struct listing *listing, const struct node *node)
{
    struct view_listing views = { listing, node->inode };
    int r;

    if (!add(listing, ".", node_ino(node->kind, node->inode, NULL), S_IFDIR) || !add(listing, "..", NODE_BIT, S_IFDIR))
        return 0;
    if (node->kind == NODE_TOP) { /* tickets are nobody's to look for */
        bool room = add(listing, VIEWS_NAME, node_ino(NODE_MIRROR, node->inode, NULL), S_IFDIR);

        for (uint32_t i = 0; room && text_name(i) != NULL; i++)
            room = add(listing, text_name(i), text_find(text_name(i)), S_IFREG);
        return 0;
    }
    if (node->kind == NODE_TICKETS)
        return 0;
    if (node->inode->fmt == S_IFDIR)
        return list_mirrored(listing, node->inode);
    r = view_texts_visit(the_mount->fs, node->inode, add_view, &views);
    return r == -ENODATA ? 0 : r;
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
    serve(req);

    cleanup(node_putp) struct node *node = node_of(ino);
    cleanup(freep) char *buf = malloc(size);
    struct listing listing = { .req = req, .plus = plus, .buf = buf, .size = size, .off = off };
    int r = buf == NULL ? -ENOMEM : list(&listing, node);

    if (r < 0)
        reply_status(req, r);
    else
        reply_bytes(req, buf, listing.used);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.opendir(req, ino, fi);
        return;
    }
    serve(req);
    reply_directory(req, fi);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.releasedir(req, ino, fi);
        return;
    }
    serve(req);
    reply_status(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    if (!is_node(ino)) {
        others.fsyncdir(req, ino, datasync, fi);
        return;
    }
    serve(req);
    reply_status(req, 0);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    if (is_node(ino))
        read_dir(req, ino, size, off, false);
    else
        others.readdir(req, ino, size, off, fi);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    if (is_node(ino))
        read_dir(req, ino, size, off, true);
    else
        others.readdirplus(req, ino, size, off, fi);
}

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
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->statfs = op_statfs;
    ops->getxattr = op_getxattr;
    ops->listxattr = op_listxattr;
    ops->setxattr = op_setxattr;
    ops->removexattr = op_removexattr;
    ops->mkdir = op_mkdir;
    ops->mknod = op_mknod;
    ops->symlink = op_symlink;
    ops->create = op_create;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->readlink = op_readlink;
    ops->open = op_open;
    ops->opendir = op_opendir;
    ops->releasedir = op_releasedir;
    ops->fsyncdir = op_fsyncdir;
    ops->readdir = op_readdir;
    ops->readdirplus = op_readdirplus;
    ops->ioctl = op_ioctl;
}
