/* SPDX-License-Identifier: MIT */
/* Processes that do everything at once to the same few files, for a while: race DIRECTORY PROCESSES SECONDS. Nothing is
 * checked but that the calls end as they may; who watches is ThreadSanitizer, in the daemon. */
#include "test/support/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define N_NAMES  6
#define N_FDS    4
#define MAX_SIZE (300 << 10)
#define MAX_IO   (150 << 10)

struct one {
    struct rng rng;
    int fd[N_FDS];
    char path[2][32];
};

static const char *some_path(struct one *one, int i)
{
    static const char *const dirs[] = { "", "a/", "b/" };

    snprintf(one->path[i], sizeof one->path[i], "%s%c", dirs[rng_below(&one->rng, ARRAY_SIZE(dirs))],
             (int) ('p' + rng_below(&one->rng, N_NAMES)));
    return one->path[i];
}

static void reopen(struct one *one, unsigned i)
{
    static const int flags[] = {
        O_RDWR,           O_RDONLY, O_RDWR | O_CREAT, O_RDWR | O_CREAT, O_WRONLY | O_APPEND, O_RDWR | O_CREAT | O_TRUNC,
        O_RDWR | O_DIRECT
    };

    if (one->fd[i] >= 0)
        (void) close(one->fd[i]);
    one->fd[i] = open(some_path(one, 0), flags[rng_below(&one->rng, ARRAY_SIZE(flags))] | O_CLOEXEC | O_NONBLOCK, 0644);
}

/* To an open file, of which others have their own descriptors. */
static void to_file(struct one *one, int fd)
{
    static _Alignas(4096) char buf[MAX_IO];
    off_t off = (off_t) rng_below(&one->rng, MAX_SIZE);
    size_t len = 1 + (size_t) rng_below(&one->rng, MAX_IO - 1);
    struct stat st;

    switch (rng_below(&one->rng, 10)) {
    case 0:
    case 1:
        (void) !pread(fd, buf, len, off);
        break;
    case 2:
    case 3:
        (void) !pwrite(fd, buf, len, off);
        break;
    case 4:
        (void) !pread(fd, buf, len & ~UINT64_C(4095), off & ~(off_t) 4095);
        (void) !pwrite(fd, buf, len & ~UINT64_C(4095), off & ~(off_t) 4095);
        break;
    case 5:
        (void) !ftruncate(fd, rng_chance(&one->rng, 20) ? 0 : off);
        break;
    case 6:
        (void) !(rng_chance(&one->rng, 50) ? fsync(fd) : fdatasync(fd));
        break;
    case 7:
        (void) fstat(fd, &st);
        break;
    case 8:
        (void) fallocate(fd, rng_chance(&one->rng, 50) ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0, off,
                         (off_t) len);
        break;
    default:
        (void) lseek(fd, off, rng_chance(&one->rng, 50) ? SEEK_DATA : SEEK_HOLE);
        break;
    }
}

static void list(const char *path)
{
    DIR *dir = opendir(path);

    while (dir != NULL && readdir(dir) != NULL)
        ;
    if (dir != NULL)
        (void) closedir(dir);
}

/* Files have mostly bytes, which keep them from changing; so that is forgotten sometimes, while others write. */
static void lay_out(struct one *one, const char *path)
{
    static const char *const layout[] = { "one", "stripe(1K)", "stripe(512,7) disp 100", "var(100,4K)" };
    const char *text = layout[rng_below(&one->rng, ARRAY_SIZE(layout))];

    if (rng_chance(&one->rng, 20))
        (void) removexattr(path, "user.falls.layout");
    if (rng_chance(&one->rng, 50))
        (void) !truncate(path, 0);
    (void) setxattr(path, "user.falls.layout", text, strlen(text), 0);
}

/* To names, which others use and change. */
static void to_name(struct one *one)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = 1 } };
    char value[4096];
    struct stat st;
    struct statvfs space;
    const char *path = some_path(one, 0);

    switch (rng_below(&one->rng, 15)) {
    case 0:
        (void) rename(path, some_path(one, 1));
        break;
    case 1:
        (void) unlink(path);
        break;
    case 2:
        (void) !link(path, some_path(one, 1));
        break;
    case 3:
        (void) !symlink("p", path);
        break;
    case 4:
        (void) mkdir(path, 0755);
        break;
    case 5:
        (void) rmdir(path);
        break;
    case 6:
    case 7:
        (void) stat(path, &st);
        break;
    case 8:
        list(rng_chance(&one->rng, 50) ? "a" : ".");
        break;
    case 9:
        (void) chmod(path, 0600 | (mode_t) rng_below(&one->rng, 0200));
        break;
    case 10:
        (void) utimensat(AT_FDCWD, path, times, 0);
        break;
    case 11:
        (void) setxattr(path, "user.x", value, 10, 0);
        (void) listxattr(path, value, sizeof value);
        break;
    case 12:
        (void) getxattr(path, rng_chance(&one->rng, 50) ? "user.falls.layout.json" : "user.falls.map", value,
                        sizeof value);
        (void) statvfs(".", &space);
        break;
    case 13:
        lay_out(one, path);
        break;
    default:
        (void) !truncate(path, (off_t) rng_below(&one->rng, MAX_SIZE));
        break;
    }
}

static int run(unsigned number, time_t end)
{
    struct one one = { .rng = rng_from_seed(number + 1), .fd = { -1, -1, -1, -1 } };

    while (time(NULL) < end) {
        unsigned i = (unsigned) rng_below(&one.rng, N_FDS);

        if (one.fd[i] < 0 || rng_chance(&one.rng, 5))
            reopen(&one, i);
        else if (rng_chance(&one.rng, 70))
            to_file(&one, one.fd[i]);
        else
            to_name(&one);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned n = argc == 4 ? (unsigned) strtoul(argv[2], NULL, 10) : 0;
    int status, all = 0;
    time_t end;

    if (n == 0 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY PROCESSES SECONDS\n", argv[0]);
        return 2;
    }
    (void) mkdir("a", 0755);
    (void) mkdir("b", 0755);
    end = time(NULL) + strtol(argv[3], NULL, 10);
    for (unsigned i = 0; i < n; i++)
        if (fork() == 0)
            _exit(run(i, end));
    while (wait(&status) > 0)
        all |= status;
    return all != 0;
}
