/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/dress.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_VALUE 65536

struct dressing {
    struct fs *fs;
    struct inode *original;
    const struct stat *st;
    int dir;
    const char *name;
    char *path;  /* of the copy, for calls that take no directory */
    char *value; /* room for one attribute */
    int first;
    char *why;
};

/* Notes that the copy is without something; errno says why. What does not fit behind the others is not told. */
static void lack(struct dressing *dressing, const char *what)
{
    size_t at = dressing->first == 0 ? 0 : strlen(dressing->why);

    snprintf(dressing->why + at, DRESS_WHY - at, "%s%s: %s", at > 0 ? "; " : "", what, strerror(errno));
    dressing->first = dressing->first == 0 ? -errno : dressing->first;
}

static bool is_acl(const char *name)
{
    return strcmp(name, XATTR_NAME_POSIX_ACL_ACCESS) == 0 || strcmp(name, XATTR_NAME_POSIX_ACL_DEFAULT) == 0;
}

static ssize_t get(struct dressing *dressing, const char *name)
{
    return tree_get_xattr(dressing->fs, dressing->original, name, dressing->value, MAX_VALUE);
}

static void copy_attribute(struct dressing *dressing, const char *name)
{
    ssize_t n = get(dressing, name);

    if (n < 0 || lsetxattr(dressing->path, name, dressing->value, (size_t) n, 0) < 0) {
        errno = n < 0 ? (int) -n : errno;
        lack(dressing, name);
    }
}

static void copy_attributes(struct dressing *dressing)
{
    cleanup(freep) char *names = malloc(MAX_VALUE);
    ssize_t len =
        names != NULL ? tree_list_xattr(dressing->fs, dressing->original, geteuid() == 0, names, MAX_VALUE) : -ENOMEM;

    if (len < 0 && len != -EOPNOTSUPP) {
        errno = (int) -len;
        lack(dressing, "extended attributes");
    }
    for (ssize_t at = 0; at < len; at += (ssize_t) strlen(names + at) + 1)
        if (!is_acl(names + at))
            copy_attribute(dressing, names + at);
}

/* What the owning group itself may do. Where a file has an ACL, the group's bits of its mode are the ACL's mask
 * instead. */
static mode_t group_mode(const char *acl, ssize_t len)
{
    const struct posix_acl_xattr_entry *entry = (const void *) (acl + sizeof(struct posix_acl_xattr_header));
    ssize_t n = (len - (ssize_t) sizeof(struct posix_acl_xattr_header)) / (ssize_t) sizeof *entry;
    mode_t group = 0, mask = 7;

    for (ssize_t i = 0; i < n; i++)
        if (le16toh(entry[i].e_tag) == ACL_GROUP_OBJ)
            group = le16toh(entry[i].e_perm);
        else if (le16toh(entry[i].e_tag) == ACL_MASK)
            mask = le16toh(entry[i].e_perm);
    return group & mask & 7;
}

/* Gives the copy its mode and ACLs, and takes away those it may have got from the directory that it was made in. */
static void set_mode(struct dressing *dressing)
{
    ssize_t n = get(dressing, XATTR_NAME_POSIX_ACL_ACCESS);
    mode_t mode = dressing->st->st_mode & 07777;
    bool has_acl = n > 0;

    if (has_acl)
        mode = (mode & ~(mode_t) 070) | group_mode(dressing->value, n) << 3;
    (void) lremovexattr(dressing->path, XATTR_NAME_POSIX_ACL_ACCESS);
    if (fchmodat(dressing->dir, dressing->name, mode, 0) < 0)
        lack(dressing, "its mode");
    if (has_acl)
        copy_attribute(dressing, XATTR_NAME_POSIX_ACL_ACCESS);
    if (S_ISDIR(dressing->st->st_mode)) {
        (void) lremovexattr(dressing->path, XATTR_NAME_POSIX_ACL_DEFAULT);
        if (get(dressing, XATTR_NAME_POSIX_ACL_DEFAULT) > 0)
            copy_attribute(dressing, XATTR_NAME_POSIX_ACL_DEFAULT);
    }
}

int dress(struct fs *fs, struct inode *original, const struct stat *st, int dir, const char *name,
          char ret_why[static DRESS_WHY])
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    cleanup(freep) char *path = NULL, *value = malloc(MAX_VALUE);
    struct dressing dressing = { fs, original, st, dir, name, NULL, value, 0, ret_why };

    if (value == NULL ||
        (dir == AT_FDCWD ? asprintf(&path, "%s", name) : asprintf(&path, "/proc/self/fd/%d/%s", dir, name)) < 0) {
        path = NULL;
        errno = ENOMEM;
        lack(&dressing, "owner, mode and times");
        return dressing.first;
    }
    dressing.path = path;
    /* Owner first: changing it takes set-user-ID bits and capabilities away. */
    if (geteuid() == 0 && fchownat(dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        lack(&dressing, "its owner");
    copy_attributes(&dressing);
    if (!S_ISLNK(st->st_mode))
        set_mode(&dressing);
    if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        lack(&dressing, "its times");
    return dressing.first;
}
