/* SPDX-License-Identifier: MIT */
/* Attributes of names: mode, owner, times, and the extended ones. */
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* The stub of an inode, open to be changed, from on_stub_init to on_stub_done. In between nobody may wait for
 * inode->lock or above: whoever has that may wait for the stub's descriptor. -EROFS: nothing can be changed. */
struct on_stub {
    struct fs *fs;
    struct inode *inode;
    int fd;
};

static int on_stub_init(struct on_stub *on, struct fs *fs, struct inode *inode)
{
    *on = (struct on_stub){ .fs = fs, .inode = inode };
    return fs->read_only ? -EROFS : inode_open(fs->inodes, inode, &on->fd);
}

static void on_stub_done(struct on_stub *on)
{
    inode_close(on->fs->inodes, on->inode);
}

/* Makes the record hide those bits that *mode has not and the stub must keep, for a daemon without privileges, and adds
 * them to *mode. */
static int hide_mode(struct fs *fs, struct inode *inode, mode_t *mode)
{
    struct file *file;
    int r;

    if (fs->privileged || inode->fmt != S_IFREG)
        return 0;
    r = file_get(fs, inode, &file);
    if (r < 0)
        return r;
    mutex_lock(&file->meta);
    file->record.hidden_mode = (uint16_t) (0600 & ~*mode);
    r = file_store(fs, file);
    mutex_unlock(&file->meta);
    file_put(fs, file);
    *mode |= 0600;
    return r;
}

int tree_chmod(struct fs *fs, struct inode *inode, mode_t mode)
{
    struct on_stub on;
    int r;

    if (fs->read_only)
        return -EROFS;
    mode &= 07777;
    r = hide_mode(fs, inode, &mode);
    if (r < 0)
        return r;
    r = on_stub_init(&on, fs, inode);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), chmod, on.fd, "", mode);
    atomic_store(&inode->attr.has_no_privileges, false);
    on_stub_done(&on);
    return r;
}

/* -- privileges that do not outlive a change -- */

#define CAPABILITY_XATTR "security.capability"

/* The mode of a file after this caller has changed it. A set-group-ID bit without group execution is for locking: who
 * is in the group keeps it. */
static mode_t mode_without(mode_t mode, gid_t gid, const struct cred *cred)
{
    if (cred->uid == 0)
        return mode;
    mode &= ~(mode_t) S_ISUID;
    if ((mode & S_IXGRP) != 0 || gid != cred->gid)
        mode &= ~(mode_t) S_ISGID;
    return mode;
}

int tree_drop_privileges(struct fs *fs, struct inode *inode, const struct cred *cred)
{
    const struct disk *home = fs_home(fs);
    bool has_capability, changes_mode;
    struct stat st;
    int fd, r;

    if (inode->fmt != S_IFREG || atomic_load(&inode->attr.has_no_privileges))
        return 0;
    r = inode_open(fs->inodes, inode, &fd);
    if (r < 0)
        return r;
    atomic_store(&inode->attr.has_no_privileges, true); /* set before looking: whoever adds some clears it again */
    has_capability = disk_call(home, get_xattr, fd, "", CAPABILITY_XATTR, NULL, 0) >= 0;
    r = disk_call(home, stat, fd, "", &st);
    changes_mode = r == 0 && mode_without(st.st_mode, st.st_gid, cred) != st.st_mode;
    if (changes_mode)
        r = disk_call(home, chmod, fd, "", mode_without(st.st_mode, st.st_gid, cred) & 07777);
    else if (r == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0)
        atomic_store(&inode->attr.has_no_privileges, false);
    if (r == 0 && has_capability)
        r = disk_call(home, remove_xattr, fd, "", CAPABILITY_XATTR);
    inode_close(fs->inodes, inode);
    return r < 0 && r != -ENODATA ? r : has_capability || changes_mode;
}

int tree_chown(struct fs *fs, struct inode *inode, uid_t uid, gid_t gid)
{
    struct on_stub on;
    int r = on_stub_init(&on, fs, inode);

    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), chown, on.fd, "", uid, gid);
    on_stub_done(&on);
    return r;
}

/* Stores the times of a file in use: those of writes reach the stub late, and must not come after the ones that are
 * about to be set. */
static int settle_times(struct fs *fs, struct inode *inode)
{
    struct file *file;
    int r;

    mutex_lock(&inode->lock);
    file = inode->file;
    r = file != NULL ? file_settle(fs, file) : 0;
    mutex_unlock(&inode->lock);
    return r;
}

/* Notes whether the next read is to move the atime, as relatime has it. */
static void look_at_atime(struct fs *fs, struct inode *inode, int fd)
{
    struct stat st;
    time_t now;

    atomic_store(&inode->attr.was_read, false);
    if (disk_call(fs_home(fs), stat, fd, "", &st) < 0)
        return;
    now = clock_wall().tv_sec;
    atomic_store(&inode->attr.atime_is_old, st.st_atim.tv_sec < st.st_mtim.tv_sec || st.st_atim.tv_sec < now - 86400);
}

int tree_set_times(struct fs *fs, struct inode *inode, const struct timespec times[2])
{
    struct on_stub on;
    int r = fs->read_only ? -EROFS : settle_times(fs, inode);

    if (r < 0)
        return r;
    r = on_stub_init(&on, fs, inode);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), set_times, on.fd, "", times);
    if (r == 0)
        look_at_atime(fs, inode, on.fd);
    on_stub_done(&on);
    return r;
}

void tree_note_read(struct fs *fs, struct inode *inode)
{
    const struct disk *home = fs_home(fs);
    char byte;
    struct iovec iov = { &byte, 1 };
    int fd, stub;

    if (fs->read_only || fs->noatime || atomic_exchange(&inode->attr.was_read, true))
        return;
    atomic_store(&inode->attr.atime_is_old, false);
    if (inode_open(fs->inodes, inode, &fd) < 0)
        return;
    /* Reading the empty stub moves its atime as its file system's options say, and leaves its ctime alone. */
    stub = disk_call(home, open, fd, "", O_RDONLY, 0);
    if (stub >= 0)
        (void) disk_call(home, preadv, stub, &iov, 1, 0, false);
    disk_close(home, &stub);
    inode_close(fs->inodes, inode);
}

/* -- extended attributes -- */

#define VIRTUAL_PREFIX "user.falls."

enum access {
    FORWARDED,
    HIDDEN,  /* the record, and texts that we keep with files */
    VIRTUAL, /* user.falls.*, which the daemon answers */
    UNKNOWN,
};

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_acl(const char *name)
{
    return strcmp(name, "system.posix_acl_access") == 0 || strcmp(name, "system.posix_acl_default") == 0;
}

static enum access access_to(const char *name)
{
    if (strcmp(name, RECORD_XATTR) == 0 || starts(name, HIDDEN_PREFIX))
        return HIDDEN;
    if (starts(name, VIRTUAL_PREFIX))
        return VIRTUAL;
    if (starts(name, "user.") || starts(name, "security.") || starts(name, "trusted.") || is_acl(name))
        return FORWARDED;
    return UNKNOWN;
}

ssize_t tree_get_xattr(struct fs *fs, struct inode *inode, const char *name, void *value, size_t size)
{
    enum access access = access_to(name);
    ssize_t n;
    int fd, r;

    if (access != FORWARDED)
        return access == UNKNOWN ? -EOPNOTSUPP : -ENODATA;
    r = inode_open(fs->inodes, inode, &fd);
    if (r < 0)
        return r;
    n = disk_call(fs_home(fs), get_xattr, fd, "", name, value, size);
    inode_close(fs->inodes, inode);
    /* Where there are no ACLs no file has one; the kernel takes any other error for a refusal. */
    return n == -EOPNOTSUPP && is_acl(name) ? -ENODATA : n;
}

static int check_change(const char *name)
{
    enum access access = access_to(name);

    return access == FORWARDED ? 0 : access == HIDDEN ? -EPERM : -EOPNOTSUPP;
}

/* Whether an attribute is an ACL that the file's owner sets: that is done as the owner, since the home disk's file
 * system then clears the set-group-ID bit of a file whose group he is not in. Others who may set it have a right to,
 * which is not looked at here. */
static bool sets_own_acl(struct fs *fs, int fd, const char *name, const struct cred *cred)
{
    struct stat st;

    return cred->uid != 0 && is_acl(name) && disk_call(fs_home(fs), stat, fd, "", &st) == 0 && st.st_uid == cred->uid;
}

int tree_set_xattr(struct fs *fs, struct inode *inode, const char *name, const void *value, size_t size, int flags,
                   const struct cred *cred)
{
    const struct disk *home = fs_home(fs);
    struct on_stub on;
    bool assumed;
    int r = check_change(name);

    if (r == 0)
        r = on_stub_init(&on, fs, inode);
    if (r < 0)
        return r;
    assumed = sets_own_acl(fs, on.fd, name, cred);
    if (assumed)
        r = disk_call(home, assume, cred);
    if (r == 0) {
        r = disk_call(home, set_xattr, on.fd, "", name, value, size, flags);
        if (assumed)
            home->ops->resume(home->ctx);
    }
    atomic_store(&inode->attr.has_no_privileges, false);
    on_stub_done(&on);
    return r;
}

int tree_remove_xattr(struct fs *fs, struct inode *inode, const char *name)
{
    struct on_stub on;
    int r = check_change(name);

    if (r == 0)
        r = on_stub_init(&on, fs, inode);
    if (r < 0)
        return r;
    r = disk_call(fs_home(fs), remove_xattr, on.fd, "", name);
    on_stub_done(&on);
    return r;
}

/* -- texts of ours -- */

#define MAX_TEXT 65536

static void hidden_name(const char *name, char ret_name[static 64])
{
    snprintf(ret_name, 64, HIDDEN_PREFIX "%s", name);
}

int tree_get_text(struct fs *fs, struct inode *inode, const char *name, char **ret_text)
{
    cleanup(freep) char *text = malloc(MAX_TEXT + 1);
    char hidden[64];
    ssize_t n;
    int fd, r = text != NULL ? inode_open(fs->inodes, inode, &fd) : -ENOMEM;

    if (r < 0)
        return r;
    hidden_name(name, hidden);
    n = disk_call(fs_home(fs), get_xattr, fd, "", hidden, text, MAX_TEXT);
    inode_close(fs->inodes, inode);
    if (n < 0)
        return n == -EOPNOTSUPP ? -ENODATA : (int) n;
    text[n] = 0;
    *ret_text = steal(text);
    return 0;
}

/* Whether the home disk has room: then it is the attributes of one file that have none. */
static bool has_room(struct fs *fs)
{
    const struct disk *home = fs_home(fs);
    struct statvfs st;

    return disk_call(home, statfs, home->root, &st) == 0 && space_takes_names(home, &st);
}

int tree_set_text(struct fs *fs, struct inode *inode, const char *name, const char *text)
{
    struct on_stub on;
    char hidden[64];
    int r = on_stub_init(&on, fs, inode);

    if (r < 0)
        return r;
    hidden_name(name, hidden);
    if (text != NULL)
        r = disk_call(fs_home(fs), set_xattr, on.fd, "", hidden, text, strlen(text), 0);
    else
        r = disk_call(fs_home(fs), remove_xattr, on.fd, "", hidden);
    on_stub_done(&on);
    return r == -ERANGE || (r == -ENOSPC && has_room(fs)) ? -E2BIG : r;
}

/* Takes out of a list of names what is not the caller's to see: the record, and what only root sees. */
static size_t without_hidden(char *list, size_t len, bool is_root)
{
    size_t kept = 0;

    for (size_t at = 0; at < len;) {
        size_t n = strlen(list + at) + 1;

        if (access_to(list + at) == FORWARDED && (is_root || !starts(list + at, "trusted."))) {
            memmove(list + kept, list + at, n);
            kept += n;
        }
        at += n;
    }
    return kept;
}

#define MAX_LIST 65536

ssize_t tree_list_xattr(struct fs *fs, struct inode *inode, bool is_root, char *list, size_t size)
{
    cleanup(freep) char *all = malloc(MAX_LIST);
    ssize_t n;
    int fd, r = all != NULL ? inode_open(fs->inodes, inode, &fd) : -ENOMEM;

    if (r < 0)
        return r;
    n = disk_call(fs_home(fs), list_xattr, fd, "", all, MAX_LIST);
    inode_close(fs->inodes, inode);
    if (n <= 0)
        return n;
    n = (ssize_t) without_hidden(all, (size_t) n, is_root);
    if (size == 0)
        return n;
    if ((size_t) n > size)
        return -ERANGE;
    memcpy(list, all, (size_t) n);
    return n;
}
