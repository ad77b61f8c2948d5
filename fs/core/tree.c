/* SPDX-License-Identifier: MIT */
#include "fs/core/tree.h"

#include "fs/core/file.h"
#include "fs/core/random.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

/* -- what users see of a stub -- */

/* Whether what the record says stands, without a look at the subfiles. */
static bool is_settled(const struct fs *fs, const struct record *record)
{
    return record->epoch > fs->volume->unclean && record->state != RECORD_TRUNC && record->oldest_gen == record->gen;
}

static void show(const struct record *record, struct stat *st)
{
    st->st_size = (off_t) record->size;
    st->st_blocks = (blkcnt_t) record->blocks;
    st->st_mode &= ~(mode_t) record->hidden_mode;
}

/* With the file in use, memory knows better than the stub; its times are brought up to date first. */
static int stat_loaded(struct fs *fs, struct file *file, struct stat *st)
{
    int fd = -1, r = file_settle(fs, file);

    if (r == -EROFS)
        r = 0;
    if (r == 0)
        r = inode_open(fs->inodes, file->inode, &fd);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), stat, fd, "", st);
    inode_close(fs->inodes, file->inode);
    pthread_mutex_lock(&file->meta);
    show(&file->record, st);
    pthread_mutex_unlock(&file->meta);
    st->st_blocks = (blkcnt_t) file_blocks(file);
    return r;
}

/* The file if it is in use. */
static struct file *loaded(struct fs *fs, struct inode *inode)
{
    struct file *file;

    pthread_mutex_lock(&inode->lock);
    file = inode->file;
    if (file != NULL) {
        file->n_users++;
        inode_ref(fs->inodes, inode);
    }
    pthread_mutex_unlock(&inode->lock);
    return file;
}

/* Completes what stat told of the stub at dir, path. */
static int complete(struct fs *fs, struct inode *inode, int dir, const char *path, struct stat *st)
{
    struct record record;
    struct file *file;
    int r;

    if (!S_ISREG(st->st_mode))
        return 0;
    file = loaded(fs, inode);
    if (file == NULL) {
        r = file_read_record(fs, dir, path, &record);
        if (r == -EUCLEAN) {
            st->st_size = st->st_blocks = 0; /* it can still be seen, and removed */
            return 0;
        }
        if (r < 0)
            return r;
        if (is_settled(fs, &record)) {
            show(&record, st);
            return 0;
        }
        r = file_get(fs, inode, &file);
        if (r < 0) {
            show(&record, st); /* who opens it hears of it */
            return 0;
        }
    }
    r = stat_loaded(fs, file, st);
    file_put(fs, file);
    return r;
}

int tree_stat(struct fs *fs, struct inode *inode, struct stat *ret_stat)
{
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), stat, fd, "", ret_stat);
    if (r == 0)
        r = complete(fs, inode, fd, "", ret_stat);
    inode_close(fs->inodes, inode);
    if (inode_is_gone(fs->inodes, inode))
        ret_stat->st_nlink = 0;
    return r;
}

/* -- finding -- */

static int enter(struct fs *fs, struct inode *parent, int dir, const char *name, struct inode **ret_inode,
                 struct stat *ret_stat)
{
    struct inode *inode = NULL;
    int r = disk_call(fs_home(fs), stat, dir, name, ret_stat);

    if (r == 0)
        r = inodes_enter(fs->inodes, parent, name, ret_stat, &inode);
    if (r != 0)
        return r;
    r = complete(fs, inode, dir, name, ret_stat);
    if (r < 0) {
        inode_unref(fs->inodes, inode);
        return r;
    }
    *ret_inode = inode;
    return 0;
}

int tree_lookup(struct fs *fs, struct inode *parent, const char *name, struct inode **ret_inode, struct stat *ret_stat)
{
    int dir, r = inode_open(fs->inodes, parent, &dir);

    if (r < 0)
        return r;
    r = enter(fs, parent, dir, name, ret_inode, ret_stat);
    inode_close(fs->inodes, parent);
    return r;
}

/* -- making -- */

static int new_record(struct fs *fs, struct record *record)
{
    *record = (struct record){ .epoch = fs->volume->epoch, .born = fs->volume->epoch, .padded = true };
    memcpy(record->layout, fs->default_layout->hash, HASH_SIZE);
    memcpy(record->old_layout, fs->default_layout->hash, HASH_SIZE);
    if (random_bytes(record->id, ID_SIZE) < 0)
        return -EIO;
    if (fs->default_rotates)
        record->rotate = (uint16_t) ((record->id[1] * 256U + record->id[2]) % fs->default_layout->n_list);
    return 0;
}

/* An ordinary user's daemon could not read its own records behind a mode that forbids it: the stub keeps the owner's
 * bits and the record hides them. */
static int open_up(struct fs *fs, int fd, struct record *record)
{
    struct stat st;
    int r;

    if (fs->privileged)
        return 0;
    r = disk_call(fs_home(fs), stat, fd, "", &st);
    if (r == 0 && (st.st_mode & 0600) != 0600) {
        record->hidden_mode = (uint16_t) (0600 & ~st.st_mode);
        r = disk_call(fs_home(fs), chmod, fd, "", (st.st_mode & 07777) | 0600);
    }
    return r;
}

/* A stub without a name, in the directory where it will have one, so that it inherits from there. */
static int open_unnamed(struct fs *fs, int dir, mode_t mode, const struct cred *cred)
{
    const struct disk *home = fs_home(fs);
    int r = disk_call(home, assume, cred), fd;

    if (r < 0)
        return r;
    fd = disk_call(home, open, dir, ".", O_TMPFILE | O_RDWR, mode);
    home->ops->resume(home->ctx);
    return fd;
}

static int create_unnamed(struct fs *fs, int dir, const char *name, mode_t mode, const struct cred *cred,
                          struct record *record, int *ret_fd)
{
    const struct disk *home = fs_home(fs);
    int fd = open_unnamed(fs, dir, mode, cred), r = fd < 0 ? fd : open_up(fs, fd, record);

    if (r == 0)
        r = file_write_record(fs, fd, "", record, XATTR_CREATE);
    if (r == 0)
        r = disk_call(home, link, fd, "", dir, name);
    if (r < 0)
        disk_close(home, &fd);
    *ret_fd = fd;
    return r;
}

/* Where a file cannot be made without a name (NFS): made in tmp/, given what it would have inherited. */
static int create_in_tmp(struct fs *fs, int dir, const char *name, mode_t mode, const struct cred *cred,
                         struct record *record, int *ret_fd)
{
    const struct disk *home = fs_home(fs);
    char temporary[2 * ID_SIZE + 1];
    struct stat st;
    int fd, r = disk_call(home, stat, dir, "", &st);

    if (r < 0)
        return r;
    hex_print(record->id, ID_SIZE, temporary);
    fd = disk_call(home, open, fs->volume->tmp, temporary, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    if (fs->privileged)
        r = disk_call(home, chown, fd, "", cred->uid, (st.st_mode & S_ISGID) != 0 ? st.st_gid : cred->gid);
    if (r == 0)
        r = disk_call(home, chmod, fd, "", mode & ~cred->umask & 07777);
    if (r == 0)
        r = open_up(fs, fd, record);
    if (r == 0)
        r = file_write_record(fs, fd, "", record, XATTR_CREATE);
    /* Moved, not linked: NFS keeps the name of an open file that is removed. The kernel lets nobody else make it here.
     */
    if (r == 0 && disk_call(home, stat, dir, name, &st) != -ENOENT)
        r = -EEXIST;
    if (r == 0)
        r = disk_call(home, rename, fs->volume->tmp, temporary, dir, name, 0);
    if (r < 0) {
        (void) disk_call(home, unlink, fs->volume->tmp, temporary, 0); /* or the next mount does */
        disk_close(home, &fd);
    }
    *ret_fd = fd;
    return r;
}

int tree_create(struct fs *fs, struct inode *parent, const char *name, mode_t mode, const struct cred *cred,
                struct inode **ret_inode, struct stat *ret_stat, struct file **ret_file)
{
    const struct disk *home = fs_home(fs);
    struct record record;
    int dir, fd, r = fs->read_only ? -EROFS : new_record(fs, &record);

    if (r == 0)
        r = inode_open(fs->inodes, parent, &dir);
    if (r < 0)
        return r;
    r = home->tmpfile ? create_unnamed(fs, dir, name, mode, cred, &record, &fd)
                      : create_in_tmp(fs, dir, name, mode, cred, &record, &fd);
    inode_close(fs->inodes, parent);
    if (r < 0)
        return r;
    r = disk_call(home, stat, fd, "", ret_stat);
    if (r == 0)
        r = inodes_enter(fs->inodes, parent, name, ret_stat, ret_inode);
    if (r < 0) {
        disk_close(home, &fd);
        return r;
    }
    show(&record, ret_stat);
    inode_adopt_fd(fs->inodes, *ret_inode, fd);
    inode_name_is_new(fs->inodes, *ret_inode);
    r = ret_file != NULL ? file_get_made(fs, *ret_inode, &record, ret_file) : 0;
    if (r < 0)
        inode_unref(fs->inodes, *ret_inode);
    return r;
}

/* What mkdir, mknod and symlink differ in. */
struct making {
    mode_t mode;
    dev_t dev;
    const char *target;
};

static int make(struct fs *fs, int dir, const char *name, const struct making *what)
{
    const struct disk *home = fs_home(fs);

    if (S_ISLNK(what->mode))
        return disk_call(home, symlink, what->target, dir, name);
    if (S_ISDIR(what->mode))
        return disk_call(home, mkdir, dir, name, what->mode & 07777);
    return disk_call(home, mknod, dir, name, what->mode, what->dev);
}

static int make_as(struct fs *fs, struct inode *parent, const char *name, const struct making *what,
                   const struct cred *cred, struct inode **ret_inode, struct stat *ret_stat)
{
    const struct disk *home = fs_home(fs);
    int dir, r;

    if (fs->read_only)
        return -EROFS;
    r = inode_open(fs->inodes, parent, &dir);
    if (r < 0)
        return r;
    r = disk_call(home, assume, cred);
    if (r == 0) {
        r = make(fs, dir, name, what);
        home->ops->resume(home->ctx);
    }
    if (r == 0)
        r = enter(fs, parent, dir, name, ret_inode, ret_stat);
    inode_close(fs->inodes, parent);
    return r;
}

int tree_mkdir(struct fs *fs, struct inode *parent, const char *name, mode_t mode, const struct cred *cred,
               struct inode **ret_inode, struct stat *ret_stat)
{
    struct making what = { .mode = S_IFDIR | (mode & 07777) };

    return make_as(fs, parent, name, &what, cred, ret_inode, ret_stat);
}

int tree_mknod(struct fs *fs, struct inode *parent, const char *name, mode_t mode, dev_t dev, const struct cred *cred,
               struct inode **ret_inode, struct stat *ret_stat)
{
    struct making what = { .mode = mode, .dev = dev };

    if (S_ISREG(mode) || (mode & S_IFMT) == 0)
        return tree_create(fs, parent, name, mode & 07777, cred, ret_inode, ret_stat, NULL);
    return make_as(fs, parent, name, &what, cred, ret_inode, ret_stat);
}

int tree_symlink(struct fs *fs, struct inode *parent, const char *name, const char *target, const struct cred *cred,
                 struct inode **ret_inode, struct stat *ret_stat)
{
    struct making what = { .mode = S_IFLNK, .target = target };

    return make_as(fs, parent, name, &what, cred, ret_inode, ret_stat);
}

int tree_link(struct fs *fs, struct inode *inode, struct inode *parent, const char *name, struct stat *ret_stat)
{
    int fd, dir, r = fs->read_only ? -EROFS : inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = inode_open(fs->inodes, parent, &dir);
    if (r == 0) {
        r = disk_call(fs_home(fs), link, fd, "", dir, name);
        inode_close(fs->inodes, parent);
    }
    inode_close(fs->inodes, inode);
    if (r < 0)
        return r;
    inode_renamed(fs->inodes, inode, parent, name);
    return tree_stat(fs, inode, ret_stat);
}

/* -- the rest about names -- */

ssize_t tree_read_link(struct fs *fs, struct inode *inode, char *buf, size_t size)
{
    ssize_t n;
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    n = disk_call(fs_home(fs), read_link, fd, "", buf, size);
    inode_close(fs->inodes, inode);
    return n;
}

int tree_open_dir(struct fs *fs, struct inode *inode, int *ret_fd)
{
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), open, fd, ".", O_RDONLY | O_DIRECTORY, 0);
    inode_close(fs->inodes, inode);
    if (r < 0)
        return r;
    *ret_fd = r;
    return 0;
}

int tree_sync_dir(struct fs *fs, struct inode *inode)
{
    int fd, r = tree_open_dir(fs, inode, &fd);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), sync, fd, SYNC_ALL);
    disk_close(fs_home(fs), &fd);
    return r;
}
