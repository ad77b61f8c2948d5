/* SPDX-License-Identifier: MIT */
#include "fs/core/tree/tree.h"

#include "fs/core/disk/random.h"
#include "fs/core/file/file.h"
#include "fs/core/stub/census.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/copier.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/volume/promise.h"
#include "fs/core/volume/room.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

bool tree_hides(const struct fs *fs, const char *name)
{
    /* Such a name is .nfs, the number of the file in 16 digits, and a counter in 8. */
    return !fs_home(fs)->nameless && strncmp(name, ".nfs", 4) == 0 && strspn(name + 4, "0123456789abcdef") == 24 &&
           name[28] == 0;
}

/* -- what users see of a stub -- */

/* Whether what a record says can be believed without a look at the subfiles. */
static bool is_settled(const struct fs *fs, const struct record *record)
{
    return !record_may_be_behind(fs->volume, record) && record->state != RECORD_TRUNC &&
           record->oldest_gen == record->gen;
}

static void show(const struct record *record, struct stat *st)
{
    st->st_size = (off_t) record->size;
    st->st_blocks = (blkcnt_t) record->blocks;
    st->st_mode &= ~(mode_t) record->hidden_mode;
}

/* Gets the attributes of a file in use: memory knows its size better than the stub, whose times are brought up to date
 * first. */
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
    mutex_lock(&file->meta);
    show(&file->record, st);
    mutex_unlock(&file->meta);
    st->st_nlink -= (nlink_t) atomic_load(&file->inode->has_spare) + atomic_load(&file->inode->is_listed);
    st->st_blocks = (blkcnt_t) file_blocks(file);
    return r;
}

/* Begins to use the file of an inode, as file_put ends it, if it is in use already; else NULL. */
static struct file *loaded(struct fs *fs, struct inode *inode)
{
    struct file *file;

    mutex_lock(&inode->lock);
    file = inode->file;
    if (file != NULL) {
        file->n_users++;
        inode_ref(fs->inodes, inode);
    }
    mutex_unlock(&inode->lock);
    return file;
}

/* Completes what stat told of the stub at dir, path, as far as its record can; *ret_complete false: the file must be
 * asked. */
static int complete_from_record(struct fs *fs, int dir, const char *path, struct stat *st, bool *ret_complete)
{
    struct record record;
    int r = stub_read_record(fs->volume, dir, path, &record);

    *ret_complete = true;
    if (r == -EUCLEAN) {
        st->st_size = st->st_blocks = 0; /* a file with a damaged record can still be seen, and removed */
        return 0;
    }
    if (r < 0)
        return r;
    show(&record, st);
    *ret_complete = is_settled(fs, &record);
    return 0;
}

static int complete_from_file(struct fs *fs, struct file *file, struct stat *st)
{
    int r = stat_loaded(fs, file, st);

    file_put(fs, file);
    return r;
}

/* Completes what stat told of a stub, whose record cannot tell all, by beginning to use its file. */
static int complete_by_loading(struct fs *fs, struct inode *inode, struct stat *st)
{
    struct file *file;
    int r = file_get(fs, inode, &file);

    if (file_is_lost(r))
        return 0; /* who opens the file hears that it is lost */
    return r < 0 ? r : complete_from_file(fs, file, st);
}

/* Completes what stat told of the stub at dir, path. */
static int complete(struct fs *fs, struct inode *inode, int dir, const char *path, struct stat *st)
{
    struct file *file;
    bool complete;
    int r;

    if (!S_ISREG(st->st_mode))
        return 0;
    file = loaded(fs, inode);
    if (file != NULL)
        return complete_from_file(fs, file, st);
    r = complete_from_record(fs, dir, path, st, &complete);
    st->st_nlink -= atomic_load(&inode->is_listed);
    return r < 0 || complete ? r : complete_by_loading(fs, inode, st);
}

/* Gets the attributes of an inode whose file nobody uses; *ret_complete false: the file must be asked. */
static int stat_stub(struct fs *fs, struct inode *inode, struct stat *st, bool *ret_complete)
{
    int fd, r = inode_open(fs->inodes, inode, &fd);

    if (r < 0)
        return r;
    *ret_complete = true;
    r = disk_call(fs_home(fs), stat, fd, "", st);
    st->st_nlink -= atomic_load(&inode->is_listed);
    if (r == 0 && S_ISREG(st->st_mode))
        r = complete_from_record(fs, fd, "", st, ret_complete);
    inode_close(fs->inodes, inode);
    return r;
}

/* Gets the attributes of any inode. The file is asked once the stub's descriptor has been given back: inode_withhold
 * waits for that, under inode->lock. */
static int stat_any(struct fs *fs, struct inode *inode, struct stat *st)
{
    struct file *file = loaded(fs, inode);
    bool complete;
    int r;

    if (file != NULL)
        return complete_from_file(fs, file, st);
    r = stat_stub(fs, inode, st, &complete);
    return r < 0 || complete ? r : complete_by_loading(fs, inode, st);
}

int tree_stat(struct fs *fs, struct inode *inode, struct stat *ret_stat)
{
    int r = stat_any(fs, inode, ret_stat);

    if (!inode_is_gone(fs->inodes, inode))
        return r;
    if (r == -ESTALE)
        r = inode_last_stat(fs->inodes, inode, ret_stat);
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
    if (!fs->read_only && atomic_load(&inode->copy.lacks_name) && atomic_exchange(&inode->copy.lacks_name, false))
        copier_take(fs->copier, inode);
    *ret_inode = inode;
    return 0;
}

int tree_lookup(struct fs *fs, struct inode *parent, const char *name, struct inode **ret_inode, struct stat *ret_stat)
{
    int dir, r = tree_hides(fs, name) ? -ENOENT : inode_open(fs->inodes, parent, &dir);

    if (r < 0)
        return r;
    r = enter(fs, parent, dir, name, ret_inode, ret_stat);
    inode_close(fs->inodes, parent);
    return r;
}

/* -- making -- */

/* Makes the record of a new file, and finds its layout, with a reference: the layout must have one until the record is
 * stored. */
static int new_record(struct fs *fs, struct inode *parent, const char *name, struct record *record,
                      struct file_layout **ret_layout)
{
    struct chosen_layout choice;
    uint64_t bits;
    int r;

    *record = (struct record){ .epoch = fs->volume->epoch, .born = fs->volume->epoch, .padded = true };
    if (random_bytes(record->id, ID_SIZE) < 0)
        return -EIO;
    r = defaults_choose(fs, parent, name, &choice);
    if (r < 0)
        return r;
    memcpy(&bits, record->id + ID_SIZE - sizeof bits, sizeof bits); /* those of the id are as random as any */
    record_lay_out(record, choice.layout, choice.rotates ? room_draw_start(fs->volume, choice.layout, bits) : 0);
    layouts_hold(fs->layouts, record);
    *ret_layout = choice.layout;
    return 0;
}

/* Adds the owner's bits to the mode of a stub, for the daemon of an ordinary user, which could not read its own records
 * behind a mode that forbids it. The record hides them from users. */
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

void tree_see_time(struct fs *fs, int dir)
{
    struct stat st;

    (void) disk_call(fs_home(fs), stat, dir, "", &st);
}

/* Makes a stub without a name, in the directory where it will have one, so that it inherits from there. */
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
        r = stub_write_record(fs->volume, fd, "", record, XATTR_CREATE);
    if (r == 0)
        r = disk_call(home, link, fd, "", dir, name);
    if (r < 0)
        disk_close(home, &fd);
    *ret_fd = fd;
    return r;
}

/* Moves a stub from tmp/ to its name. A link would leave a name in tmp/: when one of an open file is removed, NFS keeps
 * it as another. Nobody else makes the new name meanwhile: the kernel sees to that. */
static int move_out(struct fs *fs, const char *temporary, int dir, const char *name)
{
    struct stat st;
    int r = disk_call(fs_home(fs), stat, dir, name, &st);

    if (r == 0)
        return -EEXIST;
    return r == -ENOENT ? disk_call(fs_home(fs), rename, fs->volume->tmp, temporary, dir, name, 0) : r;
}

/* Makes a stub where files cannot be made without a name (NFS): in tmp/, and gives it what it would have inherited. */
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
        r = stub_write_record(fs->volume, fd, "", record, XATTR_CREATE);
    if (r == 0)
        r = move_out(fs, temporary, dir, name);
    if (r < 0) {
        disk_close(home, &fd);
        (void) disk_call(home, unlink, fs->volume->tmp, temporary, 0); /* else the next mount removes it */
    }
    *ret_fd = fd;
    return r;
}

/* Remembers a stub that was just made; takes its descriptor. */
static int enter_made(struct fs *fs, struct inode *parent, const char *name, int fd, const struct record *record,
                      struct inode **ret_inode, struct stat *ret_stat)
{
    const struct disk *home = fs_home(fs);
    int r = disk_call(home, stat, fd, "", ret_stat);

    if (r == 0)
        r = inodes_enter(fs->inodes, parent, name, ret_stat, ret_inode);
    if (r < 0) {
        disk_close(home, &fd);
        return r;
    }
    show(record, ret_stat);
    if (home->nameless)
        inode_adopt_fd(fs->inodes, *ret_inode, fd);
    else
        disk_close(home, &fd); /* it is not one of O_PATH: closing it asks the NFS server */
    inode_name_is_new(fs->inodes, *ret_inode);
    return 0;
}

int tree_create(struct fs *fs, struct inode *parent, const char *name, mode_t mode, const struct cred *cred,
                struct inode **ret_inode, struct stat *ret_stat, struct file **ret_file)
{
    struct file_layout *layout = NULL;
    struct inode *inode = NULL;
    struct record record;
    int dir, fd = -1,
             r = fs->read_only          ? -EROFS
                 : tree_hides(fs, name) ? -EPERM
                                        : new_record(fs, parent, name, &record, &layout);

    if (r < 0)
        return r;
    r = inode_open(fs->inodes, parent, &dir);
    if (r == 0) {
        r = fs_home(fs)->nameless ? create_unnamed(fs, dir, name, mode, cred, &record, &fd)
                                  : create_in_tmp(fs, dir, name, mode, cred, &record, &fd);
        inode_close(fs->inodes, parent);
    }
    if (r < 0)
        (void) layouts_give_up(fs->layouts, &record);
    layouts_put(fs->layouts, layout);
    if (r < 0)
        return r;
    r = enter_made(fs, parent, name, fd, &record, &inode, ret_stat);
    if (r == 0 && ret_file != NULL)
        r = file_get_made(fs, inode, &record, ret_file);
    if (r < 0) {
        inode_unref(fs->inodes, inode);
        (void) tree_unlink(fs, parent, name); /* nobody has seen the name */
        return r;
    }
    *ret_inode = inode;
    return 0;
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
    r = tree_hides(fs, name) ? -EPERM : inode_open(fs->inodes, parent, &dir);
    if (r < 0)
        return r;
    r = disk_call(home, assume, cred);
    if (r == 0) {
        r = make(fs, dir, name, what);
        home->ops->resume(home->ctx);
    }
    if (r == 0) {
        r = enter(fs, parent, dir, name, ret_inode, ret_stat);
        if (r == 0 && S_ISDIR(what->mode))
            inode_is_new_dir(fs->inodes, *ret_inode);
        if (r < 0) /* nobody has seen the name */
            (void) disk_call(home, unlink, dir, name, S_ISDIR(what->mode) ? AT_REMOVEDIR : 0);
        tree_see_time(fs, dir);
    }
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

/* Gets the attributes of an inode after a link was made. When that fails, nobody can be told of the new name, which is
 * removed again. */
static int stat_linked(struct fs *fs, struct inode *inode, struct inode *parent, const char *name,
                       struct stat *ret_stat)
{
    int r = tree_stat(fs, inode, ret_stat);

    if (r < 0)
        (void) tree_unlink(fs, parent, name);
    return r;
}

int tree_link(struct fs *fs, struct inode *inode, struct inode *parent, const char *name, struct stat *ret_stat)
{
    cleanup(freep) char *copy = strdup(name);
    int fd, dir, r = fs->read_only ? -EROFS : tree_hides(fs, name) ? -EPERM : copy == NULL ? -ENOMEM : 0;

    if (r == 0)
        r = inode_open(fs->inodes, parent, &dir);
    if (r < 0)
        return r;
    r = inode_open(fs->inodes, inode, &fd);
    if (r == 0) {
        inodes_naming_begin(fs->inodes);
        census_note_move(fs->volume, fs->layouts, fd, "", inode->fmt);
        r = disk_call(fs_home(fs), link, fd, "", dir, name);
        inodes_naming_end(fs->inodes);
        inode_close(fs->inodes, inode);
    }
    if (r == 0)
        r = stat_linked(fs, inode, parent, name, ret_stat);
    tree_see_time(fs, dir);
    inode_close(fs->inodes, parent);
    if (r == 0)
        inode_renamed(fs->inodes, inode, parent, steal(copy));
    return r;
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
    r = disk_call(fs_home(fs), open, fd, ".", O_RDONLY | O_DIRECTORY | (fs->nodiratime ? O_NOATIME : 0), 0);
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
