/* SPDX-License-Identifier: MIT */
/* Operations on open directories: the home disk's own, in its order, with its offsets. */
#include "fs/daemon/mount.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    struct handle *handle = handle_new(the_mount->fs, held_ino.inode, NULL, NULL, fi->flags);
    int r = handle != NULL ? tree_open_dir(the_mount->fs, handle->inode, &handle->dir_fd) : -ENOMEM;

    if (r == 0)
        r = handles_add(the_mount->handles, handle, &fi->fh);
    if (r < 0) {
        if (handle != NULL)
            handle_put(handle);
        reply_status(req, r);
        return;
    }
    reply_directory(req, fi);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    (void) ino;
    handles_drop(the_mount->handles, fi->fh);
    reply_status(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);

    (void) ino, (void) datasync;
    reply_status(req, disk_call(fs_home(handle->fs), sync, handle->dir_fd, SYNC_ALL));
}

/* A reply on its way. */
struct listing {
    fuse_req_t req;
    struct handle *handle;
    bool plus;
    char *buf;
    size_t size, used;
    struct inode **entered; /* with a reference each: what the kernel will know of */
    uint32_t n_entered;
};

static bool enter(struct listing *listing, struct inode *inode)
{
    struct inode **entered = realloc(listing->entered, (listing->n_entered + 1) * sizeof(struct inode *));

    if (entered == NULL)
        return false;
    listing->entered = entered;
    entered[listing->n_entered++] = inode;
    return true;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* With attributes, so that the kernel need not ask for each. False when the entry finds no room. */
static bool add_plus(struct listing *listing, const struct dirent64 *entry)
{
    struct fuse_entry_param param = { .attr = { .st_ino = entry->d_ino, .st_mode = (mode_t) entry->d_type << 12 } };
    size_t room = listing->size - listing->used, n;
    struct inode *inode = NULL;
    struct stat st;

    /* What went meanwhile, or cannot be looked at, is listed without. */
    if (!is_dots(entry->d_name) && tree_lookup(the_mount->fs, listing->handle->inode, entry->d_name, &inode, &st) == 0)
        param = entry_of(inode, &st);
    n = fuse_add_direntry_plus(listing->req, listing->buf + listing->used, room, entry->d_name, &param, entry->d_off);
    if (n > room || (inode != NULL && !enter(listing, inode))) {
        inode_unref(the_mount->fs->inodes, inode);
        return false;
    }
    listing->used += n;
    return true;
}

static bool add_name(struct listing *listing, const struct dirent64 *entry)
{
    struct stat st = { .st_ino = entry->d_ino, .st_mode = (mode_t) entry->d_type << 12 };
    size_t n = fuse_add_direntry(listing->req, listing->buf + listing->used, listing->size - listing->used,
                                 entry->d_name, &st, entry->d_off);

    if (n > listing->size - listing->used)
        return false;
    listing->used += n;
    return true;
}

static int list(struct listing *listing, off_t off)
{
    _Alignas(struct dirent64) char entries[16384];
    const struct disk *home = fs_home(the_mount->fs);
    int64_t at = disk_call(home, seek, listing->handle->dir_fd, (uint64_t) off, SEEK_SET);
    bool room = true;

    while (at >= 0 && room) {
        /* No more than the reply may hold: entries there are never shorter than here. */
        size_t want = MIN(sizeof entries, MAX(listing->size - listing->used, 512));
        ssize_t n = disk_call(home, read_dir, listing->handle->dir_fd, entries, want);

        if (n <= 0) {
            if (n < 0 && n != -EINVAL && listing->used == 0)
                return (int) n;
            break;
        }
        for (ssize_t i = 0; room && i < n;) {
            const struct dirent64 *entry = (const void *) (entries + i);

            i += entry->d_reclen;
            if (!tree_hides(the_mount->fs, entry->d_name))
                room = listing->plus ? add_plus(listing, entry) : add_name(listing, entry);
        }
    }
    return (int) MIN(at, 0);
}

/* What is told becomes the kernel's to forget; what it did not hear of is forgotten at once. */
static void reply_listing(struct listing *listing)
{
    struct inodes *inodes = the_mount->fs->inodes;
    bool told = keeper_may_reply();

    for (uint32_t i = 0; told && i < listing->n_entered; i++)
        inode_looked_up(inodes, listing->entered[i]);
    if (told && fuse_reply_buf(listing->req, listing->buf, listing->used) < 0)
        for (uint32_t i = 0; i < listing->n_entered; i++)
            inode_forget(inodes, listing->entered[i], 1);
}

static void read_dir(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    struct listing listing = { .req = req, .handle = handle, .plus = plus, .size = size };
    int r = -ENOMEM;

    listing.buf = malloc(size);
    if (listing.buf != NULL) {
        pthread_mutex_lock(&handle->dir_lock);
        r = list(&listing, off);
        pthread_mutex_unlock(&handle->dir_lock);
    }
    if (r < 0)
        reply_status(req, r);
    else
        reply_listing(&listing);
    for (uint32_t i = 0; i < listing.n_entered; i++)
        inode_unref(the_mount->fs->inodes, listing.entered[i]);
    free(listing.entered);
    free(listing.buf);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    serve(req);

    (void) ino;
    read_dir(req, size, off, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    serve(req);

    (void) ino;
    read_dir(req, size, off, fi, true);
}

void ops_add_dir(struct fuse_lowlevel_ops *ops)
{
    ops->opendir = op_opendir;
    ops->releasedir = op_releasedir;
    ops->fsyncdir = op_fsyncdir;
    ops->readdir = op_readdir;
    ops->readdirplus = op_readdirplus;
}
