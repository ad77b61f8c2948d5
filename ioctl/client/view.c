/* SPDX-License-Identifier: MIT */
/* Views of descriptors. The daemon says where below the mount the view can be opened; it takes the place of the
 * descriptor then. */
#include "ioctl/client/client.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* -- where the mount is -- */

static void close_file(FILE **file)
{
    if (*file != NULL)
        (void) fclose(*file);
}

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void) close(*fd);
}

/* -1: nobody says. */
static int mount_of(int fd)
{
    char path[64], line[256];
    cleanup(close_file) FILE *file = NULL;
    int mount = -1;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    file = fopen(path, "re");
    while (file != NULL && mount < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "mnt_id:", strlen("mnt_id:")) == 0)
            mount = (int) strtol(line + strlen("mnt_id:"), NULL, 10);
    return mount;
}

/* Blanks and the like are written "\\040". */
static void decode(char *text)
{
    char *to = text;

    for (const char *at = text; *at != 0; at++)
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] != 0 && at[3] != 0) {
            *to++ = (char) ((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 3;
        } else {
            *to++ = *at;
        }
    *to = 0;
}

/* The fields of a line of mountinfo: its number, its parent's, device, what of the file system, where. */
static bool is_root_of(char *line, int mount, char **ret_where)
{
    char *rest = line, *field[5];

    for (size_t i = 0; i < ARRAY_SIZE(field); i++)
        if ((field[i] = strsep(&rest, " ")) == NULL)
            return false;
    if (strtol(field[0], NULL, 10) != mount || strcmp(field[3], "/") != 0)
        return false;
    decode(field[4]);
    *ret_where = field[4];
    return true;
}

/* The directory that is the root of the mount fd lies in; -1. */
static int open_root(int fd)
{
    cleanup(close_file) FILE *file = fopen("/proc/self/mountinfo", "re");
    cleanup(freep) char *line = NULL;
    int mount = mount_of(fd), root = -1;
    size_t size = 0;
    char *where;

    while (file != NULL && mount >= 0 && root < 0 && getline(&line, &size, file) > 0)
        if (is_root_of(line, mount, &where))
            root = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root;
}

/* -- the view -- */

static int explain(int r, int fd)
{
    char why[512];
    ssize_t n =
        r == -EINVAL || r == -E2BIG || r == -EUSERS ? fgetxattr(fd, "user.falls.lasterror", why, sizeof why) : -1;

    if (n > 0)
        return words(r, "%.*s", (int) n, why);
    return words_view(r);
}

/* What the old descriptor was told to do goes on: to append, to sync, to go with exec or not. */
static int replace(int fd, int root, const char *path)
{
    int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);
    cleanup(close_fd) int view = openat(root, path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOFOLLOW | O_CLOEXEC);

    if (view < 0)
        return -errno;
    return dup3(view, fd, (own & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) < 0 ? -errno : 0;
}

int fallsfs_view(int fd, const char *text)
{
    struct fallsfs_ioc_view view = { .version = FALLSFS_IOCTL_VERSION };
    cleanup(close_fd) int root = -1;
    int r;

    if (strlen(text) >= sizeof view.text)
        return words(-E2BIG, "a view is said in %zu bytes at most: write it shorter, as with array(...)",
                     sizeof view.text - 1);
    memcpy(view.text, text, strlen(text));
    r = call(fd, FALLSFS_IOC_VIEW, &view);
    if (r < 0)
        return explain(r, fd);
    root = open_root(fd);
    if (root < 0)
        return words(-EXDEV,
                     "the root of the mount that the file lies in is not to be reached from here, and views are "
                     "opened there: see what findmnt says; a part of the mount that is mounted elsewhere has none");
    r = replace(fd, root, view.path);
    return r < 0 ? words_view(r) : 0;
}
