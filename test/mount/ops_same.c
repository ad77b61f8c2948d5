/* SPDX-License-Identifier: MIT */
/* Whether two files, or two trees, are the same. */
#include "test/mount/ops_equal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CHUNK   65536
#define AROUND  5000
#define RECENT  1000 /* seconds: a time so near is the clock's, not one that was set */
#define MAX_SET 64

PRINTF_LIKE(1, 2) static bool differs(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vprintf(fmt, list);
    va_end(list);
    putchar('\n');
    return false;
}

/* Times that were set are kept exactly; the clock's may be a little apart. */
static bool same_time(const struct timespec *mount, const struct timespec *plain)
{
    time_t now = time(NULL);

    if (plain->tv_sec > now - RECENT && plain->tv_sec < now + RECENT)
        return mount->tv_sec > plain->tv_sec - 60 && mount->tv_sec < plain->tv_sec + 60;
    return mount->tv_sec == plain->tv_sec && mount->tv_nsec == plain->tv_nsec;
}

bool same_stat(const char *what, const struct stat *mount, const struct stat *plain)
{
    bool has_size = S_ISREG(plain->st_mode) || S_ISLNK(plain->st_mode);

    if (mount->st_mode != plain->st_mode)
        return differs("%s: mode %o, expected %o", what, mount->st_mode, plain->st_mode);
    if (mount->st_uid != plain->st_uid || mount->st_gid != plain->st_gid)
        return differs("%s: owner %u:%u, expected %u:%u", what, mount->st_uid, mount->st_gid, plain->st_uid,
                       plain->st_gid);
    if (mount->st_nlink != plain->st_nlink)
        return differs("%s: nlink %lu, expected %lu", what, (unsigned long) mount->st_nlink,
                       (unsigned long) plain->st_nlink);
    if (has_size && mount->st_size != plain->st_size)
        return differs("%s: size %jd, expected %jd", what, (intmax_t) mount->st_size, (intmax_t) plain->st_size);
    if (mount->st_rdev != plain->st_rdev)
        return differs("%s: rdev %lx, expected %lx", what, (unsigned long) mount->st_rdev,
                       (unsigned long) plain->st_rdev);
    if (!S_ISFIFO(plain->st_mode) && !same_time(&mount->st_mtim, &plain->st_mtim))
        return differs("%s: mtime %jd.%09ld, expected %jd.%09ld", what, (intmax_t) mount->st_mtim.tv_sec,
                       mount->st_mtim.tv_nsec, (intmax_t) plain->st_mtim.tv_sec, plain->st_mtim.tv_nsec);
    return true;
}

/* -- contents -- */

static bool same_chunk(const char *what, int mount, int plain, uint64_t off, uint64_t len)
{
    static uint8_t a[CHUNK], b[CHUNK];

    for (uint64_t end = off + len; off < end;) {
        size_t want = (size_t) MIN(end - off, CHUNK);
        ssize_t n = pread(mount, a, want, (off_t) off), m;

        if (n < 0)
            return differs("%s: cannot read at %" PRIu64 ": %s", what, off, strerror(errno));
        m = pread(plain, b, want, (off_t) off);
        if (n != m)
            return differs("%s: read %zd bytes at %" PRIu64 ", expected %zd", what, n, off, m);
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            if (a[i] != b[i])
                return differs("%s: byte %" PRIu64 " is %#x, expected %#x", what, off + (uint64_t) i, a[i], b[i]);
        off += (uint64_t) n;
    }
    return true;
}

/* What one side calls data is read on both. */
static bool same_data_of(const char *what, int walked, int mount, int plain, uint64_t size)
{
    off_t at = 0;

    while ((at = lseek(walked, at, SEEK_DATA)) >= 0) {
        if (!same_chunk(what, mount, plain, (uint64_t) at, MIN(CHUNK, size - (uint64_t) at)))
            return false;
        at += CHUNK;
    }
    return errno == ENXIO || differs("%s: SEEK_DATA: %s", what, strerror(errno));
}

/* A byte that is not zero is not in a hole. */
static bool holes_are_empty(const char *what, int mount, int plain)
{
    uint8_t byte;

    for (off_t at = 0; (at = lseek(plain, at, SEEK_DATA)) >= 0; at += 1 + (1 << 20)) {
        if (pread(plain, &byte, 1, at) != 1 || byte == 0)
            continue;
        off_t data = lseek(mount, at, SEEK_DATA), hole = lseek(mount, at, SEEK_HOLE);

        if (data != at || hole <= at)
            return differs("%s: byte %jd is data, yet SEEK_DATA says %jd and SEEK_HOLE %jd", what, (intmax_t) at,
                           (intmax_t) data, (intmax_t) hole);
    }
    return true;
}

/* With descriptors whose offset nobody else uses. */
static bool same_contents(const char *what, int mount, int plain)
{
    off_t size = lseek(plain, 0, SEEK_END);

    if (lseek(mount, 0, SEEK_END) != size)
        return differs("%s: SEEK_END differs", what);
    if (size <= MAX_IO)
        return same_chunk(what, mount, plain, 0, (uint64_t) size) && holes_are_empty(what, mount, plain);
    return same_data_of(what, plain, mount, plain, (uint64_t) size) &&
           same_data_of(what, mount, mount, plain, (uint64_t) size) && holes_are_empty(what, mount, plain);
}

/* -- descriptors and paths -- */

static bool is_readable_file(int fd, const struct stat *st)
{
    int flags = fcntl(fd, F_GETFL);

    return S_ISREG(st->st_mode) && (flags & O_ACCMODE) != O_WRONLY && (flags & (O_DIRECT | O_PATH)) == 0;
}

/* What lies about the place of an operation, and the ends. */
static bool same_around(const char *what, int mount, int plain, uint64_t size, uint64_t off, uint64_t len)
{
    uint64_t from = off > AROUND ? off - AROUND : 0;

    return same_chunk(what, mount, plain, 0, AROUND) && same_chunk(what, mount, plain, from, len + 2 * (off - from)) &&
           same_chunk(what, mount, plain, size > AROUND ? size - AROUND : 0, 2 * AROUND);
}

bool same_fds(struct side side[2], const struct op *op)
{
    const unsigned fds[] = { op->fd, op->fd2 };

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        int mount = side[0].fd[fds[i]], plain = side[1].fd[fds[i]];
        struct stat st[2];
        char what[32];

        if (plain < 0)
            continue;
        snprintf(what, sizeof what, "fd %u", fds[i]);
        if (fstat(mount, &st[0]) < 0 || fstat(plain, &st[1]) < 0)
            return differs("%s: %s", what, strerror(errno));
        if (!same_stat(what, &st[0], &st[1]))
            return false;
        if (lseek(mount, 0, SEEK_CUR) != lseek(plain, 0, SEEK_CUR) && !S_ISDIR(st[0].st_mode))
            return differs("%s: at another offset", what);
        if (is_readable_file(plain, &st[1]) &&
            !same_around(what, mount, plain, (uint64_t) st[1].st_size, i == 0 ? op->off : op->off2, op->len))
            return false;
    }
    return true;
}

/* Where others ask about a directory while it changes, the kernel may believe for a second what they were told. */
static bool same_dir_soon(struct side side[2], const char *path, const struct stat *plain)
{
    struct stat st;

    if (!migrates || !S_ISDIR(plain->st_mode))
        return false;
    usleep(1100000);
    return fstatat(side[0].root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && same_stat(path, &st, plain);
}

bool same_path(struct side side[2], const char *path, const struct op *op)
{
    struct stat st[2];
    int e[2];

    for (int i = 0; i < 2; i++)
        e[i] = fstatat(side[i].root, path, &st[i], AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
    if (e[0] != e[1])
        return differs("%s: %s, expected %s", path, strerror(e[0]), strerror(e[1]));
    (void) op;
    return e[0] != 0 || same_stat(path, &st[0], &st[1]) || same_dir_soon(side, path, &st[1]);
}

/* -- trees -- */

struct names {
    char list[8192];
    char *name[256];
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static void names_sort(struct names *names, ssize_t len)
{
    names->n = 0;
    for (char *at = names->list; at < names->list + len && names->n < ARRAY_SIZE(names->name); at += strlen(at) + 1)
        names->name[names->n++] = at;
    qsort(names->name, names->n, sizeof names->name[0], by_name);
}

static bool same_names(const char *what, const struct names *mount, const struct names *plain)
{
    for (size_t i = 0; i < MAX(mount->n, plain->n); i++) {
        int order = i == mount->n ? 1 : i == plain->n ? -1 : strcmp(mount->name[i], plain->name[i]);

        if (order != 0)
            return differs("%s: %s '%s'", what, order < 0 ? "has an unexpected" : "lacks",
                           order < 0 ? mount->name[i] : plain->name[i]);
    }
    return true;
}

static bool same_attrs(const char *what, char path[2][PATH_MAX])
{
    struct names names[2];
    char value[2][512];

    for (int i = 0; i < 2; i++)
        names_sort(&names[i], llistxattr(path[i], names[i].list, sizeof names[i].list));
    if (!same_names(what, &names[0], &names[1]))
        return false;
    for (size_t n = 0; n < names[0].n; n++) {
        ssize_t len[2];

        for (int i = 0; i < 2; i++)
            len[i] = lgetxattr(path[i], names[i].name[n], value[i], sizeof value[i]);
        if (len[0] != len[1] || (len[0] > 0 && memcmp(value[0], value[1], (size_t) len[0]) != 0))
            return differs("%s: attribute %s differs", what, names[0].name[n]);
    }
    return true;
}

static void list_dir(int dir, struct names *names)
{
    size_t used = 0;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fdopendir(fd);

    for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;)
        if (used + strlen(entry->d_name) < sizeof names->list)
            used += strlen(strcpy(names->list + used, entry->d_name)) + 1;
    names_sort(names, (ssize_t) used);
    closedir(listing);
}

static bool same_entry(int mount, int plain, const char *name, const char *path);

bool same_tree(int mount, int plain, const char *path)
{
    struct names names[2];

    list_dir(mount, &names[0]);
    list_dir(plain, &names[1]);
    if (!same_names(path, &names[0], &names[1]))
        return false;
    for (size_t i = 0; i < names[1].n; i++) {
        const char *name = names[1].name[i];
        char below[PATH_MAX];

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, name);
        if (!same_entry(mount, plain, name, below))
            return false;
    }
    return true;
}

static bool same_links(const char *what, int mount, int plain, const char *name)
{
    char target[2][PATH_MAX + 1] = { "", "" };

    if (readlinkat(mount, name, target[0], PATH_MAX) != readlinkat(plain, name, target[1], PATH_MAX) ||
        strcmp(target[0], target[1]) != 0)
        return differs("%s: link to %s, expected %s", what, target[0], target[1]);
    return true;
}

static bool same_entry(int mount, int plain, const char *name, const char *path)
{
    char proc[2][PATH_MAX];
    struct stat st[2];
    int fd[2];
    bool same;

    if (fstatat(mount, name, &st[0], AT_SYMLINK_NOFOLLOW) < 0 || fstatat(plain, name, &st[1], AT_SYMLINK_NOFOLLOW) < 0)
        return differs("%s: %s", path, strerror(errno));
    snprintf(proc[0], sizeof proc[0], "/proc/self/fd/%d/%s", mount, name);
    snprintf(proc[1], sizeof proc[1], "/proc/self/fd/%d/%s", plain, name);
    if (!same_stat(path, &st[0], &st[1]) || !same_attrs(path, proc))
        return false;
    if (S_ISLNK(st[1].st_mode))
        return same_links(path, mount, plain, name);
    if (!S_ISREG(st[1].st_mode) && !S_ISDIR(st[1].st_mode))
        return true;
    fd[0] = openat(mount, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd[0] < 0)
        return differs("%s: open: %s", path, strerror(errno));
    fd[1] = openat(plain, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    same = S_ISDIR(st[1].st_mode) ? same_tree(fd[0], fd[1], path) : same_contents(path, fd[0], fd[1]);
    close(fd[0]);
    close(fd[1]);
    return same;
}
