/* SPDX-License-Identifier: MIT */
/* An ordinary user who takes all there is of something: bounds OBJECT [N], in a directory of the mount. It says
 * "COUNT ERROR", how many there were and what the next one was refused with, keeps them until its input ends, and ends
 * with 0. N: how many it tries. And another user, who works meanwhile: bounds work MAX_MS, until its input ends; no
 * operation of his may fail, or take longer. */
#include "layout/base.h"
#include "layout/clock.h"

#include <errno.h>
#include <fallsfs_ioctl.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

static double now_ms(void)
{
    return (double) clock_ns() * 1e-6;
}

/* -- views -- */

/* Irregular, so that it takes memory; every number is another one. */
static void write_view(char text[static FALLSFS_MAX_TEXT], unsigned number)
{
    const unsigned n = 150;
    size_t at = 0, size = FALLSFS_MAX_TEXT;

    for (unsigned i = 0; i < n; i++)
        at += (size_t) snprintf(text + at, size - at, "%s(%u,%u,3000,1)", i > 0 ? "," : "{", i * 20, i * 20 + i % 7);
    for (unsigned i = 0; i < n; i++)
        at += (size_t) snprintf(text + at, size - at, "%s(%u,%u,3000,1)", i > 0 ? "," : ";", i * 20 + i % 7 + 1,
                                i * 20 + 19);
    snprintf(text + at, size - at, "} disp %u element 1", number);
}

static int ask_view(int fd, unsigned number, struct fallsfs_ioc_view *view)
{
    *view = (struct fallsfs_ioc_view){ .version = FALLSFS_IOCTL_VERSION };
    write_view(view->text, number);
    return ioctl(fd, FALLSFS_IOC_VIEW, view);
}

/* Where tickets are opened: the working directory is one below the root of the mount. */
static int open_view(const struct fallsfs_ioc_view *view)
{
    char path[100];

    snprintf(path, sizeof path, "../%s", view->path);
    return open(path, O_RDWR);
}

static bool take_view(unsigned i, bool same)
{
    struct fallsfs_ioc_view view;
    int fd = open("file", O_RDWR | O_CREAT, 0666), opened;

    EXPECT(fd >= 0);
    if (ask_view(fd, same ? 0 : i, &view) < 0)
        return false;
    opened = open_view(&view);
    EXPECT(opened >= 0 && close(fd) == 0);
    return true;
}

static bool take_same_view(unsigned i)
{
    return take_view(i, true);
}

static bool take_other_view(unsigned i)
{
    return take_view(i, false);
}

static bool take_ticket(unsigned i)
{
    struct fallsfs_ioc_view view;
    int fd = open("file", O_RDWR | O_CREAT, 0666);

    EXPECT(fd >= 0);
    return ask_view(fd, i % 2, &view) == 0;
}

/* What leaves nothing behind. */
static bool view_and_remove(unsigned i)
{
    struct fallsfs_ioc_view view;
    int fd = open("removed", O_RDWR | O_CREAT | O_EXCL, 0666), opened;
    char byte;

    EXPECT(fd >= 0 && write(fd, "twenty bytes, or more", 21) == 21);
    EXPECT(ask_view(fd, i % 3, &view) == 0 && (opened = open_view(&view)) >= 0);
    EXPECT(i % 2 == 0 || unlink("removed") == 0);
    EXPECT(pread(opened, &byte, 1, 0) == 1 && lseek(opened, 0, SEEK_END) > 0);
    EXPECT(close(opened) == 0 && close(fd) == 0);
    EXPECT(i % 2 != 0 || unlink("removed") == 0);
    return true;
}

static bool name_and_remove(unsigned i)
{
    const char *set = i % 2 == 0 ? "stripe(5,2) element 0" : "stripe(5,2) element 1";
    int fd = open("named", O_RDWR | O_CREAT | O_EXCL, 0666), opened;
    struct stat st;
    char byte;

    EXPECT(fd >= 0 && write(fd, "twenty bytes, or more", 21) == 21);
    EXPECT(fsetxattr(fd, "user.falls.view.v", set, strlen(set), 0) == 0);
    EXPECT((opened = open("../.falls/views/greedy/named/v", O_RDONLY)) >= 0);
    EXPECT(fstat(opened, &st) == 0 && st.st_size > 9 && read(opened, &byte, 1) == 1);
    EXPECT(close(fd) == 0 && unlink("named") == 0);
    EXPECT(fstat(opened, &st) == 0 && read(opened, &byte, 1) == 1 && close(opened) == 0);
    return true;
}

/* -- memory -- */

static int sealed_memory(uint64_t len)
{
    int fd = memfd_create("bounds", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    EXPECT(fd >= 0 && ftruncate(fd, (off_t) len) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    return fd;
}

static int show_memory(int file, int memfd, uint64_t len, uint32_t *ret_buffer)
{
    struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION, .fd = memfd, .len = len };
    int r = ioctl(file, FALLSFS_IOC_BUFFER, &show);

    *ret_buffer = show.buffer;
    return r;
}

/* 8 MiB of the file, which is all zeros, to that place of the buffer. */
#define PART (UINT64_C(8) << 20)

static int read_part(int file, uint32_t buffer, uint64_t off)
{
    struct fallsfs_ioc_falls falls = {
        .request = { .version = FALLSFS_IOCTL_VERSION, .buffer = buffer, .buf_off = off },
        .text = "{(0,8388607,8388608,1)}",
    };

    return ioctl(file, FALLSFS_IOC_FALLS, &falls);
}

/* Each time other memory, which is nothing but holes, and kept when the daemon has forgotten it. */
static bool take_holes(unsigned i)
{
    struct fallsfs_ioc_buffer forget = { .version = FALLSFS_IOCTL_VERSION, .fd = -1 };
    int file = open("sparse", O_RDWR | O_CREAT, 0666), memfd = sealed_memory(PART);
    bool taken;

    (void) i;
    EXPECT(file >= 0 && ftruncate(file, (off_t) PART) == 0);
    EXPECT(show_memory(file, memfd, PART, &forget.buffer) == 0);
    taken = read_part(file, forget.buffer, 0) == 0;
    EXPECT(taken || errno == EFAULT);
    if (taken)
        EXPECT(ioctl(file, FALLSFS_IOC_BUFFER, &forget) == 0 && close(file) == 0);
    return taken;
}

/* What is there already is nobody's to fill; what is shown twice is there once. */
static bool take_memory(unsigned i)
{
    static uint32_t buffer;
    static int file, memfd;
    void *memory;

    if (i == 0) {
        file = open("sparse", O_RDWR | O_CREAT, 0666);
        memfd = sealed_memory(16 * PART);
        memory = mmap(NULL, 16 * PART, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
        EXPECT(file >= 0 && ftruncate(file, (off_t) PART) == 0 && memory != MAP_FAILED);
        memset(memory, 'x', 16 * PART);
    }
    EXPECT(show_memory(file, memfd, 16 * PART, &buffer) == 0);
    return read_part(file, buffer, i % 16 * PART) == 0;
}

/* As much address space as one likes. */
static bool take_huge_memory(unsigned i)
{
    static int file;
    uint32_t buffer;

    if (i == 0)
        EXPECT((file = open("sparse", O_RDWR | O_CREAT, 0666)) >= 0);
    return show_memory(file, sealed_memory(UINT64_C(1) << 30), UINT64_C(1) << 30, &buffer) == 0;
}

/* -- what is open -- */

/* Each with bytes on all disks, so that the daemon has opened it there, too. */
static bool take_file(unsigned i)
{
    char name[32], bytes[32768] = "";
    int fd;

    snprintf(name, sizeof name, "open%u", i);
    fd = open(name, O_RDWR | O_CREAT, 0666);
    if (fd < 0)
        return false;
    EXPECT(write(fd, bytes, sizeof bytes) == sizeof bytes && pread(fd, bytes, sizeof bytes, 0) == sizeof bytes);
    return true;
}

static bool take_removed_file(unsigned i)
{
    char name[32];

    if (!take_file(i))
        return false;
    snprintf(name, sizeof name, "open%u", i);
    EXPECT(unlink(name) == 0);
    return true;
}

static bool take_directory(unsigned i)
{
    (void) i;
    return open(".", O_RDONLY | O_DIRECTORY) >= 0;
}

/* -- layouts -- */

/* A text of few bytes that means more than a MiB; every number is another one. What was told before so many others
 * still counts for a new file. */
static bool take_layout(unsigned i)
{
    char name[48], text[64];
    int len = snprintf(text, sizeof text, "stripe(%u,4096)", 4096 + i);

    snprintf(name, sizeof name, "dir%u", i);
    EXPECT(mkdir(name, 0777) == 0);
    if (setxattr(name, "user.falls.layout", text, (size_t) len, 0) < 0)
        return false;
    snprintf(name, sizeof name, "dir%u/file", i - 100);
    EXPECT(i < 100 || mknod(name, S_IFREG | 0644, 0) == 0);
    return true;
}

/* Opens a file, and then gives it a layout of few subfiles that takes 77 KB. */
static bool take_large_file(unsigned i)
{
    char name[32], text[512] = "{";
    int fd, len = 1;

    for (unsigned bit = 0; bit < 10; bit++)
        len += sprintf(text + len, "(%u,%u,%u,%u);", (1U << bit) - 1, (1U << bit) - 1, 2U << bit, 512U >> bit);
    len += sprintf(text + len, "(1023,1023,1024,1)} disp %u", i);
    snprintf(name, sizeof name, "large%u", i);
    EXPECT((fd = open(name, O_RDWR | O_CREAT, 0666)) >= 0);
    return fsetxattr(fd, "user.falls.layout", text, (size_t) len, 0) == 0;
}

/* -- groups -- */

static int shared_file(void)
{
    int fd = open("file", O_RDWR | O_CREAT, 0666);

    EXPECT(fd >= 0);
    return fd;
}

static bool take_group(unsigned i)
{
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION, .nranks = 2 };
    static int fd;

    if (i == 0)
        fd = shared_file();
    memcpy(join.token, &i, sizeof i);
    return ioctl(fd, FALLSFS_IOC_JOIN, &join) == 0;
}

/* Lists of a MiB each, no two alike, of groups that wait for a rank; between them, what is only remembered. */
static bool take_list(unsigned i)
{
    const uint64_t n = 65535;
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION, .nranks = 2 };
    struct fallsfs_ioc_list list = { .request = { .version = FALLSFS_IOCTL_VERSION }, .n = n, .bytes = 1 };
    static struct fallsfs_ioc_piece *piece;
    static uint32_t buffer;
    static int fd;

    if (i == 0) {
        struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION, .len = (n + 1) * sizeof *piece };

        fd = shared_file();
        show.fd = memfd_create("list", MFD_ALLOW_SEALING);
        EXPECT(ftruncate(show.fd, (off_t) show.len) == 0 &&
               fcntl(show.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
        piece = mmap(NULL, show.len, PROT_READ | PROT_WRITE, MAP_SHARED, show.fd, 0);
        EXPECT(piece != MAP_FAILED && ioctl(fd, FALLSFS_IOC_BUFFER, &show) == 0);
        buffer = show.buffer;
        for (uint64_t k = 0; k < n; k++)
            piece[k] = (struct fallsfs_ioc_piece){ 1000 + 3 * k, 1 };
    }
    memcpy(join.token, &i, sizeof i);
    join.token[15] = 1;
    list.request.buffer = buffer;
    list.request.buf_off = n * sizeof *piece;
    for (unsigned k = 0; k < 3; k++) {
        piece[0].off = 3 * i + k;
        if (ioctl(fd, FALLSFS_IOC_LIST, &list) < 0)
            return false;
    }
    EXPECT(ioctl(fd, FALLSFS_IOC_JOIN, &join) == 0);
    list.request.group = join.group;
    list.request.seq = 1;
    list.request.flags = FALLSFS_NOWAIT;
    return ioctl(fd, FALLSFS_IOC_LIST, &list) == 0;
}

/* Requests whose results nobody fetches. */
static bool take_request(unsigned i)
{
    struct fallsfs_ioc_falls falls = { .request = { .version = FALLSFS_IOCTL_VERSION, .flags = FALLSFS_NOWAIT },
                                       .text = "{}" };
    static int fd;

    if (i == 0)
        fd = shared_file();
    return ioctl(fd, FALLSFS_IOC_FALLS, &falls) == 0;
}

/* Orders that are refused with words. */
static bool take_reason(unsigned i)
{
    int fd = i == 0 ? shared_file() : -1;
    char name[32];

    if (fd >= 0)
        EXPECT(close(fd) == 0);
    snprintf(name, sizeof name, "reason%u", i % 100);
    fd = open(name, O_RDWR | O_CREAT, 0666);
    EXPECT(fd >= 0 && fsetxattr(fd, "user.falls.layout", "nonsense", 8, 0) < 0 && errno == EINVAL && close(fd) == 0);
    return true;
}

/* -- files on their way to other layouts -- */

/* Makes a file of so many bytes, which is then given another layout, for ever: it is copied at a byte a second. */
static bool move_file(unsigned i, size_t len, const char *order)
{
    static const char bytes[UINT32_C(1) << 18];
    char name[32];
    int fd;

    snprintf(name, sizeof name, "job%u", i);
    EXPECT((fd = open(name, O_RDWR | O_CREAT, 0666)) >= 0 && write(fd, bytes, len) == (ssize_t) len && close(fd) == 0);
    /* The kernel tells of a close a moment later, and until then the file counts as open, with both layouts. */
    for (unsigned tries = 0; tries < 2000; tries++) {
        if (setxattr(name, "user.falls.migrate", order, strlen(order), 0) == 0)
            return true;
        if (errno != ENFILE)
            return false;
        (void) usleep(5000);
    }
    return false;
}

static bool take_job(unsigned i)
{
    return move_file(i, 4096, "limit=1 stripe(1K)");
}

/* Each takes 200 descriptors while it is copied, and more. */
static bool take_wide_job(unsigned i)
{
    return move_file(i, UINT32_C(1) << 18, "limit=1 stripe(1K,200)");
}

static bool take_too_wide_job(unsigned i)
{
    return move_file(i, UINT32_C(1) << 18, "limit=1 stripe(1K,300)");
}

/* -- the user who works -- */

static double longest;

static void note_time(double since)
{
    double ms = now_ms() - since;

    longest = ms > longest ? ms : longest;
}

#define TIMED(condition)         \
    do {                         \
        double since = now_ms(); \
        EXPECT(condition);       \
        note_time(since);        \
    } while (0)

static void work_once(unsigned i)
{
    struct fallsfs_ioc_view view = { .version = FALLSFS_IOCTL_VERSION, .text = "stripe(5,2) element 1" };
    char name[32], bytes[4096] = "some bytes";
    struct stat st;
    int fd, opened;

    snprintf(name, sizeof name, "work%u", i % 50);
    TIMED((fd = open(name, O_RDWR | O_CREAT, 0666)) >= 0);
    TIMED(pwrite(fd, bytes, sizeof bytes, 0) == (ssize_t) sizeof bytes);
    TIMED(pread(fd, bytes, sizeof bytes, 0) == (ssize_t) sizeof bytes);
    TIMED(ioctl(fd, FALLSFS_IOC_VIEW, &view) == 0);
    TIMED((opened = open_view(&view)) >= 0);
    TIMED(pread(opened, bytes, 5, 0) == 5);
    EXPECT(close(opened) == 0 && close(fd) == 0);
    TIMED(stat(name, &st) == 0 && st.st_size == sizeof bytes);
    TIMED(rename(name, "renamed") == 0);
    TIMED(unlink("renamed") == 0);
}

static bool input_ended(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    return poll(&input, 1, 0) > 0;
}

static int work(double max_ms)
{
    unsigned n = 0;

    for (; !input_ended(); n++) {
        work_once(n);
        (void) poll(NULL, 0, 2);
    }
    printf("%u rounds, %.0f ms at most\n", n, longest);
    EXPECT(n > 0);
    return longest <= max_ms ? 0 : 1;
}

/* -- taking -- */

static const struct {
    const char *name;
    bool (*take)(unsigned i);
} objects[] = {
    { "same_views", take_same_view },
    { "views", take_other_view },
    { "tickets", take_ticket },
    { "files", take_file },
    { "removed_files", take_removed_file },
    { "directories", take_directory },
    { "layouts", take_layout },
    { "large_files", take_large_file },
    { "groups", take_group },
    { "jobs", take_job },
    { "wide_jobs", take_wide_job },
    { "too_wide_jobs", take_too_wide_job },
    { "lists", take_list },
    { "requests", take_request },
    { "reasons", take_reason },
    { "holes", take_holes },
    { "memory", take_memory },
    { "huge_memory", take_huge_memory },
    { "removed", view_and_remove },
    { "removed_names", name_and_remove },
};

static int take_all(bool (*take)(unsigned i), unsigned n)
{
    unsigned i = 0;
    char byte;

    errno = 0;
    while (i < n && take(i))
        i++;
    printf("%u %s\n", i, i < n ? strerrorname_np(errno) : "-");
    fflush(stdout);
    EXPECT(read(STDIN_FILENO, &byte, 1) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct rlimit limit;

    EXPECT(argc >= 2 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (strcmp(argv[1], "work") == 0)
        return work(argc > 2 ? strtod(argv[2], NULL) : 0);
    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        if (strcmp(argv[1], objects[i].name) == 0)
            return take_all(objects[i].take, argc > 2 ? (unsigned) strtoul(argv[2], NULL, 10) : 100000);
    fprintf(stderr, "no such object: %s\n", argv[1]);
    return 2;
}
