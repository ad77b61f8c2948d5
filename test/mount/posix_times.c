/* SPDX-License-Identifier: MIT */
/* Which call moves which time. */
#include "test/mount/posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TICKS 20 /* ms: the clock of a file system moves in steps */

static struct stat stat_of(const char *name)
{
    struct stat st;

    EXPECT(lstat(name, &st) == 0);
    return st;
}

static bool later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static bool equal(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static void times_are_set_exactly(void)
{
    static const time_t seconds[] = { 0, 1, 1000000000, 2147483647, 2147483648, 4294967295, 5000000000, -1, -100000 };
    int fd = make_file("a", 0644, "");

    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
        struct timespec times[2] = { { seconds[i], 123456789 }, { seconds[i], 987654321 } };
        struct stat st;

        EXPECT(futimens(fd, times) == 0);
        st = stat_of("a");
        EXPECT(equal(st.st_atim, times[0]) && equal(st.st_mtim, times[1]));
    }
}

static void omit_and_now(void)
{
    struct timespec set[2] = { { 1000, 1 }, { 2000, 2 } }, times[2];
    int fd = make_file("a", 0644, "");
    struct stat st;

    EXPECT(futimens(fd, set) == 0);
    times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    times[1] = (struct timespec){ 3000, 3 };
    EXPECT(futimens(fd, times) == 0);
    st = stat_of("a");
    EXPECT(equal(st.st_atim, set[0]) && equal(st.st_mtim, times[1]));
    times[0] = (struct timespec){ .tv_nsec = UTIME_NOW };
    times[1] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    EXPECT(futimens(fd, times) == 0);
    st = stat_of("a");
    EXPECT(st.st_atim.tv_sec > 1000000000 && st.st_mtim.tv_sec == 3000);
    times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
    EXPECT(futimens(fd, times) == 0);
    EXPECT(symlink("a", "s") == 0 && utimensat(AT_FDCWD, "s", set, AT_SYMLINK_NOFOLLOW) == 0);
    EXPECT(stat_of("s").st_mtim.tv_sec == 2000 && stat_of("a").st_mtim.tv_sec == 3000);
}

static int touch_as_writer(void)
{
    struct timespec set[2] = { { 1000, 0 }, { 1000, 0 } };

    become(1000, 1000, 0);
    if (utimensat(AT_FDCWD, "a", NULL, 0) < 0)
        return 1;
    if (utimensat(AT_FDCWD, "a", set, 0) == 0 || errno != EPERM)
        return 2;
    return utimensat(AT_FDCWD, "b", NULL, 0) < 0 && errno == EACCES ? 0 : 3;
}

static void who_may_set_times(void)
{
    close(make_file("a", 0644, ""));
    close(make_file("b", 0644, ""));
    EXPECT(chmod("a", 0666) == 0);
    EXPECT(in_child(touch_as_writer) == 0);
}

/* Set times last, also when bytes written before have not been settled. */
static void set_times_stay_set(void)
{
    struct timespec set[2] = { { 1000, 5 }, { 2000, 6 } };
    int fd = make_file("a", 0644, "abc");
    struct stat st;

    EXPECT(write(fd, "d", 1) == 1 && futimens(fd, set) == 0);
    st = stat_of("a");
    EXPECT(equal(st.st_atim, set[0]) && equal(st.st_mtim, set[1]));
    EXPECT(fsync(fd) == 0 && close(fd) == 0);
    pause_ms(TICKS);
    st = stat_of("a");
    EXPECT(equal(st.st_atim, set[0]) && equal(st.st_mtim, set[1]));
}

static void writing_moves_mtime_and_ctime(void)
{
    int fd = make_file("a", 0644, "abc");
    struct stat before, after;

    before = stat_of("a");
    pause_ms(TICKS);
    EXPECT(write(fd, "d", 1) == 1);
    after = stat_of("a");
    EXPECT(later(after.st_mtim, before.st_mtim) && later(after.st_ctim, before.st_ctim));
    pause_ms(TICKS);
    EXPECT(ftruncate(fd, 1) == 0);
    before = stat_of("a");
    EXPECT(later(before.st_mtim, after.st_mtim) && later(before.st_ctim, after.st_ctim));
}

/* What make(1) goes by: a later change has no earlier time, whoever made it and however soon. */
/* A name is made in a directory after a file was written, and a file is written after that; nobody looks at them
 * meanwhile. */
static void what_is_made_later_is_not_older(void)
{
    static const char *const kinds[] = { "d", "l", "p", "f", "in" };

    for (int i = 0; i < 60; i++) {
        char before[16], made[16], after[16];
        const char *kind = kinds[i % 5];

        snprintf(before, sizeof before, "before%d", i);
        snprintf(made, sizeof made, "%s%d", kind, i);
        snprintf(after, sizeof after, "after%d", i);
        if (i % 5 == 4)
            EXPECT(mkdir(made, 0755) == 0);
        close(make_file(before, 0644, "x"));
        if (i % 5 == 0) {
            EXPECT(mkdir(made, 0755) == 0);
        } else if (i % 5 == 1) {
            EXPECT(symlink("x", made) == 0);
        } else if (i % 5 == 2) {
            EXPECT(mkfifo(made, 0644) == 0);
        } else if (i % 5 == 3) {
            close(make_file(made, 0644, ""));
        } else {
            char name[32];

            snprintf(name, sizeof name, "%s/x", made);
            EXPECT(mkdir(name, 0755) == 0);
        }
        close(make_file(after, 0644, "x"));
    }
    for (int i = 0; i < 60; i++) {
        char before[16], made[16], after[16];

        snprintf(before, sizeof before, "before%d", i);
        snprintf(made, sizeof made, "%s%d", kinds[i % 5], i);
        snprintf(after, sizeof after, "after%d", i);
        EXPECT(!later(stat_of(before).st_mtim, stat_of(made).st_mtim));
        EXPECT(!later(stat_of(made).st_mtim, stat_of(after).st_mtim));
        EXPECT(!later(stat_of(before).st_mtim, stat_of(before).st_ctim));
    }
}

static void later_changes_are_not_older(void)
{
    int source = make_file("source", 0644, "");

    for (int i = 0; i < 200; i++) {
        struct timespec touched, written;
        char name[16];

        EXPECT(futimens(source, NULL) == 0);
        touched = stat_of("source").st_mtim;
        EXPECT(pwrite(source, "x", 1, 0) == 1);
        written = stat_of("source").st_mtim;
        EXPECT(!later(touched, written));
        snprintf(name, sizeof name, "%d", i);
        close(make_file(name, 0644, ""));
        EXPECT(!later(written, stat_of(name).st_mtim));
        EXPECT(pwrite(source, "x", 1, 0) == 1);
        written = stat_of("source").st_mtim;
        EXPECT(utimensat(AT_FDCWD, name, NULL, 0) == 0);
        EXPECT(!later(written, stat_of(name).st_mtim));
    }
}

static void mapping_moves_mtime(void)
{
    int fd = make_file("a", 0644, "abc");
    struct stat before = stat_of("a");
    char *map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    EXPECT(map != MAP_FAILED);
    pause_ms(TICKS);
    map[0] = 'x';
    EXPECT(msync(map, 3, MS_SYNC) == 0);
    EXPECT(later(stat_of("a").st_mtim, before.st_mtim));
}

static void what_moves_ctime_only(void)
{
    struct stat before, after;

    close(make_file("a", 0644, "abc"));
#define MOVES_CTIME(name, call)                                                             \
    do {                                                                                    \
        before = stat_of("a");                                                              \
        pause_ms(TICKS);                                                                    \
        EXPECT((call) == 0);                                                                \
        after = stat_of(name);                                                              \
        if (!later(after.st_ctim, before.st_ctim) || !equal(after.st_mtim, before.st_mtim)) \
            missed(__FILE__, __LINE__, #call);                                              \
    } while (0)
    MOVES_CTIME("a", chmod("a", 0600));
    MOVES_CTIME("a", chown("a", 1000, 1000));
    MOVES_CTIME("a", link("a", "b"));
    MOVES_CTIME("a", unlink("b"));
    MOVES_CTIME("a", setxattr("a", "user.x", "y", 1, 0));
    MOVES_CTIME("a", removexattr("a", "user.x"));
    MOVES_CTIME("b", rename("a", "b"));
}

static void what_moves_no_ctime(void)
{
    int fd = make_file("a", 0644, "abc");
    struct stat before, after;
    char buf[8];

    EXPECT(fsync(fd) == 0);
    before = stat_of("a");
#define MOVES_NOTHING(call)                                                                 \
    do {                                                                                    \
        pause_ms(TICKS);                                                                    \
        EXPECT((call) >= 0);                                                                \
        after = stat_of("a");                                                               \
        if (!equal(after.st_ctim, before.st_ctim) || !equal(after.st_mtim, before.st_mtim)) \
            missed(__FILE__, __LINE__, #call " moves a time");                              \
    } while (0)
    MOVES_NOTHING(fsync(fd));
    MOVES_NOTHING(pread(fd, buf, sizeof buf, 0));
    MOVES_NOTHING(close(fd));
    MOVES_NOTHING(fd = open("a", O_RDWR));
    MOVES_NOTHING(pread(fd, buf, sizeof buf, 0));
    MOVES_NOTHING(write(fd, buf, 0));
    MOVES_NOTHING(fdatasync(fd));
    MOVES_NOTHING(close(fd));
    MOVES_NOTHING(access("a", R_OK));
}

/* Also when the bytes that were written have not been synced: no later close or fsync is a change. */
static void closing_moves_no_ctime(void)
{
    int fd = make_file("a", 0644, "abc");
    struct stat before, after;

    before = stat_of("a");
    pause_ms(TICKS);
    EXPECT(fsync(fd) == 0 && close(fd) == 0);
    after = stat_of("a");
    EXPECT(equal(after.st_mtim, before.st_mtim));
    EXPECT(equal(after.st_ctim, before.st_ctim));
}

/* Nor when there are holes to be made. */
static void closing_a_sparse_file_moves_no_ctime(void)
{
    int fd = make_file("a", 0644, "abc");
    struct stat before, after;

    EXPECT(ftruncate(fd, 1000000) == 0 && pwrite(fd, "x", 1, 2000000) == 1 && ftruncate(fd, 5000000) == 0);
    before = stat_of("a");
    pause_ms(TICKS);
    EXPECT(close(fd) == 0);
    pause_ms(TICKS);
    after = stat_of("a");
    EXPECT(equal(after.st_mtim, before.st_mtim));
    EXPECT(equal(after.st_ctim, before.st_ctim));
}

static void names_move_times_of_directories(void)
{
    struct stat before, after;

    EXPECT(mkdir("d", 0755) == 0);
#define MOVES_DIR(call)                                                                     \
    do {                                                                                    \
        before = stat_of("d");                                                              \
        pause_ms(TICKS);                                                                    \
        EXPECT((call) >= 0);                                                                \
        after = stat_of("d");                                                               \
        if (!later(after.st_ctim, before.st_ctim) || !later(after.st_mtim, before.st_mtim)) \
            missed(__FILE__, __LINE__, #call " does not move the directory's times");       \
    } while (0)
    MOVES_DIR(open("d/a", O_RDWR | O_CREAT, 0644));
    MOVES_DIR(mkdir("d/e", 0755));
    MOVES_DIR(symlink("x", "d/s"));
    MOVES_DIR(link("d/a", "d/l"));
    MOVES_DIR(rename("d/a", "d/b"));
    MOVES_DIR(rename("d/b", "d/s"));
    MOVES_DIR(rename("d/l", "out"));
    MOVES_DIR(unlink("d/s"));
    MOVES_DIR(rmdir("d/e"));
}

static void reading_moves_atime(void)
{
    struct timespec set[2] = { { 1000, 0 }, { 2000, 0 } };
    int fd = make_file("a", 0644, "abc");
    char buf[8];

    EXPECT(futimens(fd, set) == 0 && fsync(fd) == 0);
    EXPECT(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    EXPECT(pread(fd, buf, sizeof buf, 0) == 3);
    EXPECT(stat_of("a").st_atim.tv_sec > 1000000000);
    EXPECT(stat_of("a").st_mtim.tv_sec == 2000);
}

static void reading_what_is_cached_moves_atime(void)
{
    struct timespec set[2] = { { 1000, 0 }, { 2000, 0 } };
    int fd = make_file("a", 0644, "abc");
    char buf[8];

    /* Who opens the file after that; a descriptor that goes on reading the kernel's cache is not noticed. */
    EXPECT(pread(fd, buf, sizeof buf, 0) == 3 && futimens(fd, set) == 0 && close(fd) == 0);
    fd = open("a", O_RDONLY);
    EXPECT(pread(fd, buf, sizeof buf, 0) == 3);
    EXPECT(stat_of("a").st_atim.tv_sec > 1000000000);
    close(fd);
}

static void listing_moves_atime(void)
{
    struct timespec set[2] = { { 1000, 0 }, { 2000, 0 } };
    char buf[1024];
    int fd;

    EXPECT(mkdir("d", 0755) == 0 && utimensat(AT_FDCWD, "d", set, 0) == 0);
    fd = open("d", O_RDONLY | O_DIRECTORY);
    EXPECT(fd >= 0 && getdents64(fd, buf, sizeof buf) > 0);
    EXPECT(stat_of("d").st_atim.tv_sec > 1000000000);
}

const struct check checks_of_times[] = {
    { "times_are_set_exactly", times_are_set_exactly },
    { "omit_and_now", omit_and_now },
    { "who_may_set_times", who_may_set_times },
    { "set_times_stay_set", set_times_stay_set },
    { "writing_moves_mtime_and_ctime", writing_moves_mtime_and_ctime },
    { "later_changes_are_not_older", later_changes_are_not_older },
    { "what_is_made_later_is_not_older", what_is_made_later_is_not_older },
    { "mapping_moves_mtime", mapping_moves_mtime },
    { "what_moves_ctime_only", what_moves_ctime_only },
    { "what_moves_no_ctime", what_moves_no_ctime },
    { "closing_moves_no_ctime", closing_moves_no_ctime },
    { "closing_a_sparse_file_moves_no_ctime", closing_a_sparse_file_moves_no_ctime },
    { "names_move_times_of_directories", names_move_times_of_directories },
    { "reading_moves_atime", reading_moves_atime },
    { "reading_what_is_cached_moves_atime", reading_what_is_cached_moves_atime },
    { "listing_moves_atime", listing_moves_atime },
    { NULL, NULL },
};
