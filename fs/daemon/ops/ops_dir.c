/* SPDX-License-Identifier: MIT */
/* Operations on open directories. A listing has the home disk's names, in its order and with its offsets. */
#include "fs/daemon/ops/ops.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    serve(req);

    cleanup(held_done) struct held held_ino = hold(ino);
    struct handle *handle = handle_new(the_mount->handles, the_mount->fs, held_ino.inode, NULL, NULL,
                                       (struct handle_way){ .flags = fi->flags });
    int r = handle != NULL ? charge_handle(req, handle) : -ENOMEM;

    if (r == 0)
        r = tree_open_dir(the_mount->fs, handle->inode, &handle->dir_fd);
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

/* A reply to readdir as it is put together. */
struct listing {
    fuse_req_t req;
    struct handle *handle;
    bool plus;
    char *buf;
    size_t size, used;
    struct inode **entered; /* with a reference each: those that the reply tells the kernel of */
    uint32_t n_entered;
};

static bool enter(struct listing *listing, struct inode *inode)
{
    if (!array_grow(listing->entered, listing->n_entered))
        return false;
    listing->entered[listing->n_entered++] = inode;
    return true;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Whether the kernel most likely knows this name's attributes already. If it does not, it asks for them: nothing
 * depends on this guess. */
static bool is_told(const struct listing *listing, const struct dirent64 *entry)
{
    return inodes_has_told(the_mount->fs->inodes, listing->handle->inode, entry->d_name, entry->d_ino);
}

/* Adds an entry with its attributes, so that the kernel need not ask for them. False: there is no room for it. */
static bool add_plus(struct listing *listing, const struct dirent64 *entry)
{
    struct fuse_entry_param param = { .attr = { .st_ino = entry->d_ino, .st_mode = (mode_t) entry->d_type << 12 } };
    size_t room = listing->size - listing->used, n;
    struct inode *inode = NULL;
    struct stat st;

    /* A name that has gone meanwhile, or cannot be looked at, is listed without attributes. */
    if (!is_dots(entry->d_name) && !is_told(listing, entry) &&
        tree_lookup(the_mount->fs, listing->handle->inode, entry->d_name, &inode, &st) == 0)
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

/* The least ratio of the lengths of an entry with attributes and of one without. */
#define PLUS_LENGTH 5

static int list(struct listing *listing, off_t off)
{
    _Alignas(struct dirent64) char entries[16384];
    const struct disk *home = fs_home(the_mount->fs);
    int64_t at = disk_call(home, seek, listing->handle->dir_fd, (uint64_t) off, SEEK_SET);
    bool room = true;

    while (at >= 0 && room) {
        /* Reads from the home disk about as many entries as fit into the reply. An entry of a reply is never shorter
         * than the disk's, with attributes it is several times as long; what finds no room is read again by the next
         * request, for which the disk sorts its names anew. */
        size_t room_left = (listing->size - listing->used) / (listing->plus ? PLUS_LENGTH : 1);
        size_t want = MIN(sizeof entries, MAX(room_left, 512));
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

/* Replies, and counts each inode told as looked up; when the kernel has not taken the reply, the counts are undone. */
static void reply_listing(struct listing *listing)
{
    struct inodes *inodes = the_mount->fs->inodes;
    bool told = deadlines_may_reply();

    if (told)
        request_ends(listing->req, 0);
    for (uint32_t i = 0; told && i < listing->n_entered; i++) {
        inode_looked_up(inodes, listing->entered[i]);
        atomic_store(&listing->entered[i]->pages.is_told, true);
    }
    if (told && !reply_claimed(listing->req, listing->buf, listing->used))
        for (uint32_t i = 0; i < listing->n_entered; i++)
            file_forget(the_mount->fs, listing->entered[i], 1);
}

static void read_dir(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    struct listing listing = { .req = req, .handle = handle, .plus = plus, .size = size };
    int r = -ENOMEM;

    listing.buf = malloc(size);
    if (listing.buf != NULL) {
        mutex_lock(&handle->dir_lock);
        r = list(&listing, off);
        mutex_unlock(&handle->dir_lock);
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
