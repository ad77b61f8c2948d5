/* SPDX-License-Identifier: MIT */
/* Names below .falls: finding and listing what they mirror. Nobody makes, changes or removes one here. */
#include "fs/core/view/view_texts.h"
#include "fs/daemon/ops/ops_views.h"

#include <dirent.h>
#include <string.h>

#define TOP_NAME     ".falls"
#define VIEWS_NAME   "views"
#define TICKETS_NAME "open"

static struct fuse_lowlevel_ops others;

/* Whether nobody can make, change or remove a name: .falls, and all names below it. */
static bool is_fixed(fuse_ino_t parent, const char *name)
{
    return is_node(parent) || (parent == FUSE_ROOT_ID && strcmp(name, TOP_NAME) == 0);
}

/* -- finding -- */

static bool note_one(void *arg, const char *name)
{
    (void) arg, (void) name;
    return false;
}

/* Checks that an inode is seen below .falls/views: a directory, or a file that has views. -ENOENT: it is not. */
static int check_mirrored(struct inode *inode)
{
    int r;

    if (inode->fmt == S_IFDIR)
        return 0;
    r = inode->fmt == S_IFREG ? view_texts_visit(the_mount->fs, inode, note_one, NULL) : -ENODATA;
    return r == -ENODATA ? -ENOENT : r;
}

static int look_up_mirrored(struct inode *dir, const struct node_place *place, struct node **ret_node)
{
    struct fs *fs = the_mount->fs;
    struct inode *inode;
    struct stat st;
    int r = tree_lookup(fs, dir, place->entry, &inode, &st);

    if (r < 0)
        return r;
    r = check_mirrored(inode);
    if (r == 0)
        r = nodes_enter(the_mount->nodes, NODE_MIRROR, inode, place, ret_node);
    inode_unref(fs->inodes, inode);
    return r;
}

static int look_up_view(struct inode *inode, const struct node_place *place, struct node **ret_node)
{
    cleanup(freep) char *text = NULL;
    int r = view_texts_get(the_mount->fs, inode, place->entry, &text);

    if (r == 0)
        r = nodes_enter_view(the_mount->nodes, inode, place, text, ret_node);
    return r == -ENODATA ? -ENOENT : r;
}

static int look_up_in_top(struct inode *root, const struct node_place *place, struct node **ret_node)
{
    if (strcmp(place->entry, VIEWS_NAME) == 0)
        return nodes_enter(the_mount->nodes, NODE_MIRROR, root, place, ret_node);
    return strcmp(place->entry, TICKETS_NAME) == 0 ? nodes_enter(the_mount->nodes, NODE_TICKETS, root, place, ret_node)
                                                   : -ENOENT;
}

static int look_up_ticket(const struct node_place *place, struct node **ret_node)
{
    *ret_node = nodes_find_ticket(the_mount->nodes, place->parent, place->entry);
    return *ret_node != NULL ? 0 : -ENOENT;
}

static int look_up(const struct node *parent, const char *name, struct node **ret_node)
{
    const struct node_place place = { parent->nodeid, name };

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -ESTALE;
    if (parent->kind == NODE_TOP)
        return look_up_in_top(parent->inode, &place, ret_node);
    if (parent->kind == NODE_TICKETS)
        return look_up_ticket(&place, ret_node);
    if (node_is_view(parent))
        return -ENOTDIR;
    return parent->inode->fmt == S_IFDIR ? look_up_mirrored(parent->inode, &place, ret_node)
                                         : look_up_view(parent->inode, &place, ret_node);
}

/* Replies with a node. The entry is not to be remembered (its timeout is 0): names come and go with what they mirror,
 * and the kernel is not told of that. */
static void reply_node(fuse_req_t req, int r, struct node *node)
{
    struct fuse_entry_param entry = { .generation = the_mount->generation };

    if (r == 0)
        r = stat_node(node, &entry.attr);
    if (r < 0) {
        reply_status(req, r);
        return;
    }
    entry.ino = node->nodeid;
    node_looked_up(the_mount->nodes, node);
    if (!reply_other(req, &entry))
        node_forget(the_mount->nodes, node->nodeid, 1);
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
    const struct node_place place = { parent, name };
    fuse_ino_t text = dir != NULL && dir->kind == NODE_TOP ? text_find(name) : 0;
    int r = -ESTALE;

    if (text != 0) {
        reply_text(req, text);
        return;
    }
    if (dir != NULL)
        r = look_up(dir, name, &node);
    else if (!is_node(parent))
        r = nodes_enter(the_mount->nodes, NODE_TOP, inodes_root(the_mount->fs->inodes), &place, &node);
    reply_node(req, r, node);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
    if (!is_node(ino)) {
        others.forget(req, ino, n);
        return;
    }
    node_forget(the_mount->nodes, ino, n);
    reply_none(req);
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

/* -- directories: made anew for each request, so nothing is kept open -- */

struct listing {
    fuse_req_t req;
    bool plus;
    char *buf;
    size_t size, used;
    off_t off, at; /* off: of the request, the names before it were told already; at: how many names were passed */
};

/* Adds a name, unless it was told already. False: there is no room for it. */
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
    if (node->kind == NODE_TOP) { /* the directory of tickets is not listed */
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
    int r = node == NULL ? -ESTALE : buf == NULL ? -ENOMEM : list(&listing, node);

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

void ops_add_view_names(struct fuse_lowlevel_ops *ops)
{
    others = *ops;
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mkdir = op_mkdir;
    ops->mknod = op_mknod;
    ops->symlink = op_symlink;
    ops->create = op_create;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->readlink = op_readlink;
    ops->opendir = op_opendir;
    ops->releasedir = op_releasedir;
    ops->fsyncdir = op_fsyncdir;
    ops->readdir = op_readdir;
    ops->readdirplus = op_readdirplus;
}
