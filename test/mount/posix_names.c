/* SPDX-License-Identifier: MIT */
/* Names: links, renames, unlinking what is in use, directories. */
#include "test/mount/posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct stat stat_of(const char *name)
{
    struct stat st;

    EXPECT(lstat(name, &st) == 0);
    return st;
}

/* -- rename -- */

static bool has(const char *name, const char *bytes)
{
    char buf[64] = "";
    int fd = open(name, O_RDONLY);

    if (fd < 0 || read(fd, buf, sizeof buf - 1) < 0)
        return false;
    close(fd);
    return strcmp(buf, bytes) == 0;
}

static void rename_replaces(void)
{
    int old = make_file("b", 0644, "old");
    char buf[8] = "";

    close(make_file("a", 0644, "new"));
    EXPECT(rename("a", "b") == 0);
    EXPECT_ERROR(ENOENT, access("a", F_OK));
    EXPECT(has("b", "new"));
    EXPECT(pread(old, buf, sizeof buf, 0) == 3 && strcmp(buf, "old") == 0);
}

static void rename_noreplace(void)
{
    close(make_file("a", 0644, "a"));
    close(make_file("b", 0644, "b"));
    EXPECT_ERROR(EEXIST, renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE));
    EXPECT(has("a", "a") && has("b", "b"));
    EXPECT(renameat2(AT_FDCWD, "a", AT_FDCWD, "c", RENAME_NOREPLACE) == 0);
    EXPECT(has("c", "a"));
}

static void rename_exchange(void)
{
    close(make_file("a", 0644, "a"));
    EXPECT(mkdir("d", 0755) == 0);
    close(make_file("d/b", 0644, "b"));
    EXPECT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d/b", RENAME_EXCHANGE) == 0);
    EXPECT(has("a", "b") && has("d/b", "a"));
    EXPECT(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE) == 0);
    EXPECT(S_ISDIR(stat_of("a").st_mode) && has("d", "b") && has("a/b", "a"));
    EXPECT_ERROR(ENOENT, renameat2(AT_FDCWD, "a", AT_FDCWD, "none", RENAME_EXCHANGE));
    EXPECT_ERROR(EINVAL, renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE | RENAME_NOREPLACE));
}

static void rename_of_directories(void)
{
    EXPECT(mkdir("d", 0755) == 0 && mkdir("d/e", 0755) == 0 && mkdir("f", 0755) == 0);
    close(make_file("d/e/x", 0644, "x"));
    close(make_file("file", 0644, ""));
    EXPECT_ERROR(EINVAL, rename("d", "d/e/inside"));
    EXPECT_ERROR(ENOTEMPTY, rename("f", "d"));
    EXPECT_ERROR(ENOTDIR, rename("f", "file"));
    EXPECT_ERROR(EISDIR, rename("file", "f"));
    EXPECT(rename("d", "f") == 0);
    EXPECT(has("f/e/x", "x"));
    EXPECT(stat_of("f").st_nlink == 3);
    EXPECT(rename("f/e", "e") == 0);
    EXPECT(stat_of("f").st_nlink == 2 && has("e/x", "x"));
}

static void rename_to_another_link(void)
{
    close(make_file("a", 0644, "a"));
    EXPECT(link("a", "b") == 0);
    EXPECT(rename("a", "b") == 0);
    EXPECT(access("a", F_OK) == 0 && access("b", F_OK) == 0 && stat_of("a").st_nlink == 2);
    close(make_file("c", 0644, "c"));
    EXPECT(rename("c", "b") == 0);
    EXPECT(stat_of("a").st_nlink == 1 && has("a", "a") && has("b", "c"));
}

static void rename_of_what_is_open(void)
{
    int fd = make_file("a", 0644, "a");

    EXPECT(mkdir("d", 0755) == 0 && rename("a", "d/b") == 0);
    EXPECT(write(fd, "bc", 2) == 2 && fsync(fd) == 0);
    EXPECT(has("d/b", "abc"));
    EXPECT(rename("d", "e") == 0);
    EXPECT(write(fd, "d", 1) == 1);
    EXPECT(has("e/b", "abcd"));
}

/* -- links -- */

static void many_hard_links(void)
{
    char name[32];

    close(make_file("l0", 0644, "linked"));
    for (int i = 1; i < 1000; i++) {
        snprintf(name, sizeof name, "l%d", i);
        EXPECT(link("l0", name) == 0);
    }
    EXPECT(stat_of("l0").st_nlink == 1000 && stat_of("l999").st_nlink == 1000);
    for (int i = 0; i < 999; i++) {
        snprintf(name, sizeof name, "l%d", i);
        EXPECT(unlink(name) == 0);
    }
    EXPECT(stat_of("l999").st_nlink == 1 && has("l999", "linked"));
}

static void links_of_what_is_no_file(void)
{
    EXPECT(symlink("nowhere", "s") == 0 && mkfifo("p", 0644) == 0 && mkdir("d", 0755) == 0);
    EXPECT(link("s", "s2") == 0 && S_ISLNK(stat_of("s2").st_mode) && stat_of("s").st_nlink == 2);
    EXPECT(link("p", "p2") == 0 && stat_of("p").st_nlink == 2);
    EXPECT_ERROR(EPERM, link("d", "d2"));
    EXPECT_ERROR(EEXIST, link("p", "s"));
    EXPECT_ERROR(ENOENT, linkat(AT_FDCWD, "s", AT_FDCWD, "x", AT_SYMLINK_FOLLOW));
}

static void link_sees_all_changes(void)
{
    int fd = make_file("a", 0644, "a");

    EXPECT(link("a", "b") == 0 && chmod("b", 0600) == 0);
    EXPECT(stat_of("a").st_mode == (S_IFREG | 0600));
    EXPECT(write(fd, "bcd", 3) == 3 && stat_of("b").st_size == 4 && stat_of("a").st_size == 4);
    EXPECT(truncate("b", 2) == 0 && stat_of("a").st_size == 2);
    EXPECT(stat_of("a").st_ino == stat_of("b").st_ino);
}

static void symbolic_links(void)
{
    char target[PATH_MAX], back[PATH_MAX + 1];

    memset(target, 'x', sizeof target);
    target[PATH_MAX - 1] = 0;
    EXPECT(symlink(target, "long") == 0);
    EXPECT(readlink("long", back, sizeof back) == PATH_MAX - 1 && memcmp(back, target, PATH_MAX - 1) == 0);
    EXPECT(stat_of("long").st_size == PATH_MAX - 1);
    EXPECT(symlink("b", "a") == 0 && symlink("a", "b") == 0);
    EXPECT_ERROR(ELOOP, open("a", O_RDONLY));
    EXPECT(readlink("long", back, 3) == 3);
    EXPECT_ERROR(ENOENT, symlink("", "empty"));
    EXPECT_ERROR(EEXIST, symlink("x", "a"));
}

/* -- unlinked, in use -- */

static void unlinked_file_works(void)
{
    int fd = make_file("a", 0644, "one");
    char path[64], buf[8] = "";
    struct stat st;

    EXPECT(unlink("a") == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 3);
    EXPECT(pwrite(fd, "two", 3, 3) == 3 && fsync(fd) == 0);
    EXPECT(pread(fd, buf, sizeof buf, 0) == 6 && strcmp(buf, "onetwo") == 0);
    EXPECT(ftruncate(fd, 1) == 0 && fchmod(fd, 0600) == 0 && fchown(fd, 1000, 1000) == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_size == 1 && st.st_mode == (S_IFREG | 0600) && st.st_uid == 1000);
    EXPECT(fsetxattr(fd, "user.x", "y", 1, 0) == 0 && fgetxattr(fd, "user.x", buf, sizeof buf) == 1);
    EXPECT(flistxattr(fd, buf, sizeof buf) == 7 && fremovexattr(fd, "user.x") == 0);
    EXPECT(flock(fd, LOCK_EX) == 0 && lockf(fd, F_TLOCK, 0) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR);

    EXPECT(again >= 0 && write(again, "three", 5) == 5);
    memset(buf, 0, sizeof buf);
    EXPECT(pread(fd, buf, sizeof buf, 0) == 5 && strcmp(buf, "three") == 0);
    EXPECT_ERROR(ENOENT, linkat(AT_FDCWD, path, AT_FDCWD, "back", AT_SYMLINK_FOLLOW));
    close(fd);
    EXPECT(ftruncate(again, 0) == 0 && write(again, "4", 1) == 1);
}

static void unlinked_name_is_free(void)
{
    int fd = make_file("a", 0644, "old"), other;
    char buf[8] = "";

    EXPECT(unlink("a") == 0);
    other = make_file("a", 0644, "new");
    EXPECT(pread(fd, buf, sizeof buf, 0) == 3 && strcmp(buf, "old") == 0);
    EXPECT(pread(other, buf, sizeof buf, 0) == 3 && strcmp(buf, "new") == 0);
    EXPECT(rmdir("../unlinked_name_is_free") < 0 && errno == ENOTEMPTY);
}

static void removed_directory(void)
{
    struct stat st;
    int fd;

    EXPECT(mkdir("d", 0755) == 0);
    fd = open("d", O_RDONLY | O_DIRECTORY);
    EXPECT(fd >= 0 && rmdir("d") == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_nlink == 0);
    EXPECT_ERROR(ENOENT, openat(fd, "x", O_RDWR | O_CREAT, 0644));
    EXPECT_ERROR(ENOENT, mkdirat(fd, "x", 0755));
    EXPECT_ERROR(ENOENT, fstatat(fd, "x", &st, 0));
    EXPECT(fchdir(fd) == 0);
}

static void rmdir_errors(void)
{
    EXPECT(mkdir("d", 0755) == 0);
    close(make_file("d/x", 0644, ""));
    EXPECT_ERROR(ENOTEMPTY, rmdir("d"));
    EXPECT_ERROR(ENOTDIR, rmdir("d/x"));
    EXPECT_ERROR(EISDIR, unlink("d"));
    EXPECT_ERROR(EINVAL, rmdir("d/."));
    EXPECT_ERROR(ENOTEMPTY, rmdir("d/.."));
}

/* -- names as such -- */

static void long_and_odd_names(void)
{
    static const char *const odd[] = { "a\nb", " ", "\xff\xfe", "-rf", "a\\b", "*?[", ".hidden", "..." };
    char name[NAME_MAX + 2];
    char const *const *one;

    memset(name, 'n', sizeof name);
    name[NAME_MAX] = 0;
    close(make_file(name, 0644, "long"));
    EXPECT(has(name, "long"));
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = 0;
    EXPECT_ERROR(ENAMETOOLONG, open(name, O_RDWR | O_CREAT, 0644));
    EXPECT_ERROR(ENAMETOOLONG, mkdir(name, 0755));
    close(make_file("short", 0644, ""));
    EXPECT_ERROR(ENAMETOOLONG, rename("short", name));
    for (one = odd; one < odd + ARRAY_SIZE(odd); one++) {
        close(make_file(*one, 0644, *one));
        EXPECT(has(*one, *one) && unlink(*one) == 0);
    }
}

static void dots(void)
{
    struct stat up, here, st;

    EXPECT(mkdir("d", 0755) == 0 && stat("..", &up) == 0 && stat(".", &here) == 0);
    EXPECT(stat("d/..", &st) == 0 && st.st_ino == here.st_ino);
    EXPECT(stat("d/.", &st) == 0 && st.st_ino == stat_of("d").st_ino);
    EXPECT(here.st_nlink == 3);
    EXPECT(chdir("d") == 0 && stat("../..", &st) == 0 && st.st_ino == up.st_ino);
}

static void exclusive_and_nofollow(void)
{
    close(make_file("a", 0644, "a"));
    EXPECT(symlink("a", "s") == 0 && symlink("new", "dangling") == 0 && mkdir("d", 0755) == 0);
    EXPECT_ERROR(EEXIST, open("a", O_RDWR | O_CREAT | O_EXCL, 0644));
    EXPECT_ERROR(EEXIST, open("dangling", O_RDWR | O_CREAT | O_EXCL, 0644));
    EXPECT_ERROR(ELOOP, open("s", O_RDWR | O_NOFOLLOW));
    EXPECT_ERROR(ENOTDIR, open("a", O_RDONLY | O_DIRECTORY));
    EXPECT_ERROR(EISDIR, open("d", O_RDWR));
    EXPECT_ERROR(ENOTDIR, open("a/b", O_RDWR | O_CREAT, 0644));
    EXPECT(open("dangling", O_RDWR | O_CREAT, 0644) >= 0 && access("new", F_OK) == 0);
}

/* -- directories -- */

#define N_NAMES 3000

static void make_names(int from, int to)
{
    char name[32];

    for (int i = from; i < to; i++) {
        snprintf(name, sizeof name, "d/n%d", i);
        close(make_file(name, 0644, ""));
    }
}

static void telldir_and_seekdir(void)
{
    static long at[N_NAMES + 2];
    static char name[N_NAMES + 2][32];
    int n = 0;
    DIR *dir;

    EXPECT(mkdir("d", 0755) == 0);
    make_names(0, N_NAMES);
    dir = opendir("d");
    EXPECT(dir != NULL);
    for (;;) {
        long here = telldir(dir);
        struct dirent *entry = readdir(dir);

        if (entry == NULL)
            break;
        EXPECT(n < N_NAMES + 2);
        at[n] = here;
        strcpy(name[n++], entry->d_name);
    }
    EXPECT(n == N_NAMES + 2);
    for (int i = n - 1; i >= 0; i -= 37) {
        seekdir(dir, at[i]);
        struct dirent *entry = readdir(dir);

        EXPECT(entry != NULL && strcmp(entry->d_name, name[i]) == 0);
    }
    rewinddir(dir);
    EXPECT(readdir(dir) != NULL);
    closedir(dir);
}

/* What is there from beginning to end is listed once, whatever comes and goes. */
static void listing_while_it_changes(void)
{
    static unsigned char seen[N_NAMES];
    char name[32];
    int change = N_NAMES;
    DIR *dir;

    EXPECT(mkdir("d", 0755) == 0);
    make_names(0, N_NAMES);
    dir = opendir("d");
    EXPECT(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int i;

        if (sscanf(entry->d_name, "n%d", &i) == 1 && i < N_NAMES)
            EXPECT(seen[i]++ == 0);
        if (change < N_NAMES + 500) {
            make_names(change, change + 1);
            if (change % 2 == 0) {
                snprintf(name, sizeof name, "d/n%d", change);
                EXPECT(unlink(name) == 0);
            }
            change++;
        }
    }
    closedir(dir);
    for (int i = 0; i < N_NAMES; i++)
        EXPECT(seen[i] == 1);
}

static void rewinddir_sees_changes(void)
{
    DIR *dir = opendir(".");
    int n = 0;

    EXPECT(dir != NULL);
    while (readdir(dir) != NULL)
        n++;
    EXPECT(n == 2);
    close(make_file("new", 0644, ""));
    rewinddir(dir);
    for (n = 0; readdir(dir) != NULL;)
        n++;
    EXPECT(n == 3);
    closedir(dir);
}

static void listing_tells_types_and_numbers(void)
{
    DIR *dir;

    close(make_file("f", 0644, ""));
    EXPECT(mkdir("d", 0755) == 0 && symlink("f", "s") == 0 && mkfifo("p", 0644) == 0);
    dir = opendir(".");
    EXPECT(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat st = stat_of(entry->d_name);

        EXPECT(entry->d_type == (st.st_mode & S_IFMT) >> 12);
        EXPECT(strcmp(entry->d_name, "..") == 0 || entry->d_ino == st.st_ino);
    }
    closedir(dir);
}

/* -- what is neither file nor directory -- */

static int write_to_pipe(void)
{
    int fd = open("p", O_WRONLY);

    return fd >= 0 && write(fd, "piped", 5) == 5 ? 0 : 1;
}

static void fifo_joins_processes(void)
{
    char buf[8] = "";
    pid_t pid;
    int fd;

    EXPECT(mkfifo("p", 0644) == 0);
    pid = fork();
    if (pid == 0)
        _exit(write_to_pipe());
    fd = open("p", O_RDONLY);
    EXPECT(fd >= 0 && read(fd, buf, sizeof buf) == 5 && strcmp(buf, "piped") == 0);
    EXPECT(waitpid(pid, NULL, 0) == pid);
}

static void socket_can_be_connected(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "sock" };
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

    EXPECT(bind(server, (struct sockaddr *) &address, sizeof address) == 0 && listen(server, 1) == 0);
    EXPECT(S_ISSOCK(stat_of("sock").st_mode));
    EXPECT(connect(client, (struct sockaddr *) &address, sizeof address) == 0);
}

static void device_nodes_can_be_kept(void)
{
    EXPECT(mknod("null", S_IFCHR | 0666, makedev(1, 3)) == 0);
    EXPECT(stat_of("null").st_rdev == makedev(1, 3) && S_ISCHR(stat_of("null").st_mode));
}

static void mknod_of_a_file(void)
{
    int fd;

    EXPECT(mknod("f", S_IFREG | 0640, 0) == 0 && stat_of("f").st_mode == (S_IFREG | 0640));
    fd = open("f", O_RDWR);
    EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
    EXPECT_ERROR(EEXIST, mknod("f", S_IFREG | 0640, 0));
}

/* -- handles, as NFS servers use them -- */

static void file_handles(void)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } one = { .handle.handle_bytes = MAX_HANDLE_SZ };
    int fd = make_file("a", 0644, "handle"), mount_id, again, top = open(".", O_RDONLY);
    char buf[8] = "";

    EXPECT(name_to_handle_at(AT_FDCWD, "a", &one.handle, &mount_id, 0) == 0);
    again = open_by_handle_at(top, &one.handle, O_RDONLY);
    EXPECT(again >= 0 && read(again, buf, sizeof buf) == 6 && strcmp(buf, "handle") == 0);
    close(again);
    EXPECT(rename("a", "b") == 0);
    again = open_by_handle_at(top, &one.handle, O_RDONLY);
    EXPECT(again >= 0);
    close(again);
    close(fd);
    EXPECT(unlink("b") == 0);
    /* FUSE tells of a close some time after it: until then the file is one that is open and has no name. */
    for (int i = 0; i < 100 && (again = open_by_handle_at(top, &one.handle, O_RDONLY)) >= 0; i++) {
        close(again);
        usleep(10000);
    }
    EXPECT_ERROR(ESTALE, open_by_handle_at(top, &one.handle, O_RDONLY));
}

const struct check checks_of_names[] = {
    { "rename_replaces", rename_replaces },
    { "rename_noreplace", rename_noreplace },
    { "rename_exchange", rename_exchange },
    { "rename_of_directories", rename_of_directories },
    { "rename_to_another_link", rename_to_another_link },
    { "rename_of_what_is_open", rename_of_what_is_open },
    { "many_hard_links", many_hard_links },
    { "links_of_what_is_no_file", links_of_what_is_no_file },
    { "link_sees_all_changes", link_sees_all_changes },
    { "symbolic_links", symbolic_links },
    { "unlinked_file_works", unlinked_file_works },
    { "unlinked_name_is_free", unlinked_name_is_free },
    { "removed_directory", removed_directory },
    { "rmdir_errors", rmdir_errors },
    { "long_and_odd_names", long_and_odd_names },
    { "dots", dots },
    { "exclusive_and_nofollow", exclusive_and_nofollow },
    { "telldir_and_seekdir", telldir_and_seekdir },
    { "listing_while_it_changes", listing_while_it_changes },
    { "rewinddir_sees_changes", rewinddir_sees_changes },
    { "listing_tells_types_and_numbers", listing_tells_types_and_numbers },
    { "fifo_joins_processes", fifo_joins_processes },
    { "socket_can_be_connected", socket_can_be_connected },
    { "device_nodes_can_be_kept", device_nodes_can_be_kept },
    { "mknod_of_a_file", mknod_of_a_file },
    { "file_handles", file_handles },
    { NULL, NULL },
};
