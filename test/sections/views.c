/* SPDX-License-Identifier: MIT */
/* Descriptors that become views of their file. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SIZE 30000

/* What stripe(10,3) has of the file as element 1 is every third ten bytes. */
#define ROWS "stripe(10,3) element 1"

static uint64_t row_at(uint64_t off)
{
    return off / 10 * 30 + 10 + off % 10;
}

/* Other bytes all along. */
static void fill_file(uint8_t bytes[static SIZE])
{
    struct rng rng = rng_from_seed(7);
    int fd = open_shared(O_WRONLY);

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t) rng_u64(&rng);
    EXPECT(pwrite(fd, bytes, SIZE, 0) == SIZE && close(fd) == 0);
}

static void expect_file(const uint8_t *bytes, size_t size)
{
    uint8_t *now = malloc(size + 1);
    int fd = open_shared(O_RDONLY);

    EXPECT(now != NULL && pread(fd, now, size + 1, 0) == (ssize_t) size && memcmp(now, bytes, size) == 0);
    EXPECT(close(fd) == 0);
    free(now);
}

static void reads_and_writes(void)
{
    static uint8_t bytes[SIZE + 20], part[SIZE];
    int fd = open_shared(O_RDWR), twin = dup(fd);
    struct stat of_file, st;
    uint8_t byte;

    fill_file(bytes);
    EXPECT(fstat(fd, &of_file) == 0 && fallsfs_view(fd, ROWS) == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_size == SIZE / 3 && st.st_ino != of_file.st_ino);
    EXPECT(lseek(fd, 0, SEEK_CUR) == 0 && lseek(fd, 0, SEEK_END) == SIZE / 3);
    EXPECT(pread(fd, part, sizeof part, 0) == SIZE / 3);
    for (uint64_t i = 0; i < SIZE / 3; i++)
        EXPECT(part[i] == bytes[row_at(i)]);
    EXPECT(pread(twin, part, 30, 0) == 30 && memcmp(part, bytes, 30) == 0); /* the copy is the file still */

    memset(part, 0xEE, 55);
    EXPECT(lseek(fd, 1003, SEEK_SET) == 1003 && write(fd, part, 55) == 55 && lseek(fd, 0, SEEK_CUR) == 1058);
    for (uint64_t i = 1003; i < 1058; i++)
        bytes[row_at(i)] = 0xEE;
    expect_file(bytes, SIZE);
    EXPECT(pread(twin, &byte, 1, (off_t) row_at(1003)) == 1 && byte == 0xEE);

    /* Written behind its end, it makes the file longer. */
    EXPECT(pwrite(fd, part, 10, SIZE / 3) == 10);
    memset(bytes + SIZE + 10, 0xEE, 10);
    expect_file(bytes, SIZE + 20);
    EXPECT_ERROR(EINVAL, ftruncate(fd, 5));
    EXPECT(close(fd) == 0 && close(twin) == 0);
}

static void one_after_the_other(void)
{
    static uint8_t bytes[SIZE], back[SIZE];
    int fd = open_shared(O_RDONLY | O_CLOEXEC);

    fill_file(bytes);
    EXPECT(fallsfs_view(fd, ROWS) == 0 && pread(fd, back, 1, 0) == 1 && back[0] == bytes[10]);
    EXPECT(fallsfs_view(fd, "stripe(10,3) element 2") == 0 && pread(fd, back, 1, 0) == 1 && back[0] == bytes[20]);
    EXPECT(fallsfs_view(fd, "one") == 0 && pread(fd, back, SIZE, 0) == SIZE && memcmp(bytes, back, SIZE) == 0);
    EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    EXPECT(close(fd) == 0);
    fd = open_shared(O_RDWR | O_APPEND);
    EXPECT(fcntl(fd, F_SETFD, 0) == 0 && fallsfs_view(fd, ROWS) == 0);
    EXPECT(fcntl(fd, F_GETFD) == 0 && (fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND)) == (O_RDWR | O_APPEND));
    EXPECT(write(fd, "last", 4) == 4);
    EXPECT(close(fd) == 0);
    fd = open_shared(O_RDONLY);
    EXPECT(lseek(fd, 0, SEEK_END) == SIZE + 14 && pread(fd, back, 4, SIZE + 10) == 4 && memcmp(back, "last", 4) == 0);
}

/* What a descriptor cannot do, its view cannot; and what it can, whatever the file's mode says now. */
static void rights(void)
{
    uint8_t bytes[SIZE], byte = 0;
    char path[64];
    int fd;

    fill_file(bytes);
    fd = open_shared(O_RDONLY);
    EXPECT(fchmod(fd, 0666) == 0 && fallsfs_view(fd, ROWS) == 0);
    EXPECT_ERROR(EBADF, pwrite(fd, &byte, 1, 0));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT_ERROR(EACCES, open(path, O_RDWR));
    EXPECT_ERROR(EPERM, fchmod(fd, 0777));
    EXPECT_ERROR(EPERM, futimens(fd, NULL));
    EXPECT(close(fd) == 0);

    fd = open_shared(O_RDWR);
    EXPECT(fchmod(fd, 0600) == 0);
    become(1000, 1000, 0);
    EXPECT_ERROR(EACCES, open("shared", O_RDONLY));
    EXPECT(fallsfs_view(fd, ROWS) == 0);
    EXPECT(pread(fd, &byte, 1, 0) == 1 && byte == bytes[10] && pwrite(fd, "x", 1, 0) == 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT_ERROR(EPERM, futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }));
    EXPECT(close(fd) == 0);
}

static int open_below(const char *path)
{
    char name[200];

    snprintf(name, sizeof name, "../%s", path); /* a check's directory lies in the mount's root */
    return open(name, O_RDONLY);
}

/* The kernel tells the daemon of a close when it has time. */
static void until_gone(const char *path)
{
    int fd;

    for (unsigned i = 0; i < 500 && (fd = open_below(path)) >= 0; i++) {
        EXPECT(close(fd) == 0);
        pause_ms(10);
    }
    EXPECT_ERROR(ENOENT, open_below(path));
}

static void tickets_are_for_once(void)
{
    struct fallsfs_ioc_view view = { .version = FALLSFS_IOCTL_VERSION, .text = ROWS }, other = view;
    int fd = open_shared(O_RDWR), opened;

    EXPECT(ioctl(fd, FALLSFS_IOC_VIEW, &view) == 0 && strncmp(view.path, ".falls/open/", 12) == 0);
    opened = open_below(view.path);
    EXPECT(opened >= 0);
    EXPECT_ERROR(ENOENT, open_below(view.path));
    EXPECT(ioctl(fd, FALLSFS_IOC_VIEW, &other) == 0 && strcmp(view.path, other.path) != 0);
    EXPECT(close(opened) == 0);

    view = (struct fallsfs_ioc_view){ .version = FALLSFS_IOCTL_VERSION, .text = ROWS };
    EXPECT(ioctl(fd, FALLSFS_IOC_VIEW, &view) == 0);
    EXPECT_ERROR(ENOENT, open_below(other.path)); /* another one was asked for */
    other = view;
    other.path[12 + 20] ^= 1;
    EXPECT_ERROR(ENOENT, open_below(other.path)); /* nobody guesses */
    EXPECT_ERROR(ENOENT, open_below(".falls/open/x"));
    EXPECT(close(fd) == 0);
    until_gone(view.path); /* who asked is */
}

static void refused(void)
{
    int fd = open_shared(O_RDWR), dir = open(".", O_RDONLY | O_DIRECTORY), null = open("/dev/null", O_RDWR);

    EXPECT(fallsfs_view(fd, "stripe(0)") == -EINVAL && strstr(fallsfs_strerror_last(), "column 8") != NULL);
    EXPECT(fallsfs_view(fd, "stripe(10,3) element 3") == -EINVAL && strstr(fallsfs_strerror_last(), "column") != NULL);
    EXPECT(fallsfs_view(fd, "{(0,1,3,1);(1,2,3,1)}") == -EINVAL);
    EXPECT(fallsfs_view(dir, ROWS) == -ENOTTY && fallsfs_view(null, ROWS) == -ENOTTY &&
           fallsfs_view(-1, ROWS) == -EBADF);
    EXPECT(fallsfs_view(fd, ROWS) == 0);
    EXPECT_ERROR(ENOTTY, ioctl(fd, FALLSFS_IOC_BOARD, &(struct fallsfs_ioc_board){ 0 }));
    EXPECT(close(fd) == 0 && close(dir) == 0 && close(null) == 0);
}

static void be_writer(unsigned i, unsigned n)
{
    uint8_t bytes[997];
    char text[100];
    int fd = open_shared(O_RDWR);

    snprintf(text, sizeof text, "stripe(7,%u) element %u", n, i);
    EXPECT(fallsfs_view(fd, text) == 0);
    memset(bytes, (int) i + 1, sizeof bytes);
    for (unsigned k = 0; k < 20; k++)
        EXPECT(write(fd, bytes, sizeof bytes) == (ssize_t) sizeof bytes);
    EXPECT(close(fd) == 0);
}

/* Dovetailed, by several processes at once. */
static void several_processes(void)
{
    static uint8_t bytes[5 * 20 * 997];
    const unsigned n = 5;
    pid_t pid[5];
    int fd;

    for (unsigned i = 0; i < n; i++) {
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] == 0) {
            be_writer(i, n);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < n; i++)
        until_ended(pid[i]);
    fd = open_shared(O_RDONLY);
    EXPECT(pread(fd, bytes, sizeof bytes, 0) >= (ssize_t) sizeof bytes - 7 * 5);
    for (size_t i = 0; i + 7 * n < sizeof bytes; i++)
        EXPECT(bytes[i] == i / 7 % n + 1);
}

/* What is a subfile is read as that, at once. */
static void as_a_subfile(void)
{
    char layout[300], text[400], counts[100] = "";
    static uint8_t bytes[100000];
    int fd = open_shared(O_RDWR);
    ssize_t n = fgetxattr(fd, "user.falls.layout", layout, sizeof layout - 1);

    EXPECT(n > 0 && pwrite(fd, bytes, sizeof bytes, 0) == (ssize_t) sizeof bytes);
    layout[n] = 0;
    *strstr(layout, " on ") = 0;
    /* "stripe(4K)" over three disks is "stripe(4K,3)" */
    if (strstr(layout, " disp") != NULL)
        return;
    layout[strlen(layout) - 1] = 0;
    snprintf(text, sizeof text, "%s,3) element 2", layout);
    EXPECT(fallsfs_view(fd, text) == 0 && pread(fd, bytes, sizeof bytes, 0) > 30000);
    n = fgetxattr(fd, "user.falls.stats", counts, sizeof counts - 1);
    EXPECT(n > 0 && strcmp(counts, "subfile=1 runs=0 gathered=0") == 0);
}

const struct check checks_of_views[] = {
    { "reads_and_writes", reads_and_writes },
    { "one_after_the_other", one_after_the_other },
    { "rights", rights },
    { "tickets_are_for_once", tickets_are_for_once },
    { "refused", refused },
    { "several_processes", several_processes },
    { "as_a_subfile", as_a_subfile },
    { NULL, NULL },
};
