/* SPDX-License-Identifier: MIT */
/* Who may do what to a file or directory of which mode: prints a line for each, to be compared between two places.
 *
 *     rights DIRECTORY
 *     file 640 uid 2000: open-r=EACCES ... */
#include "test/mount/posix.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *file, *line_of;

_Noreturn void missed(const char *in, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s: %s: %s\n", in, line, line_of != NULL ? line_of : "", what, strerror(errno));
    exit(2);
}

struct who {
    const char *name;
    uid_t uid;
    gid_t gid, group;
};

static const struct who everybody[] = {
    { "root", 0, 0, 0 },
    { "owner", 1000, 1000, 1000 },
    { "in the group", 2000, 2000, 1000 },
    { "stranger", 2000, 2000, 2000 },
};

struct deed {
    const char *name;
    int (*run)(void);
};

static int close_it(int fd)
{
    return fd < 0 ? -1 : close(fd);
}

static int open_to_read(void)
{
    return close_it(open(file, O_RDONLY));
}

static int open_to_write(void)
{
    return close_it(open(file, O_WRONLY));
}

static int open_both(void)
{
    return close_it(open(file, O_RDWR));
}

static int cut(void)
{
    return truncate(file, 1);
}

static int run_it(void)
{
    return access(file, X_OK);
}

static int change_mode(void)
{
    return chmod(file, 0604);
}

static int change_owner(void)
{
    return chown(file, 2000, (gid_t) -1);
}

static int change_group(void)
{
    return chown(file, (uid_t) -1, 1000);
}

static int touch_now(void)
{
    return utimensat(AT_FDCWD, file, NULL, 0);
}

static int touch_then(void)
{
    const struct timespec times[2] = { { 1, 0 }, { 2, 0 } };

    return utimensat(AT_FDCWD, file, times, 0);
}

static int set_attribute(void)
{
    return setxattr(file, "user.x", "y", 1, 0);
}

static int get_attribute(void)
{
    char value[8];

    return (int) MIN(getxattr(file, "user.is", value, sizeof value), 0);
}

static int remove_acl(void)
{
    return removexattr(file, "system.posix_acl_access");
}

static int link_it(void)
{
    return link(file, "another");
}

static int move_it(void)
{
    return rename(file, "elsewhere");
}

static int remove_it(void)
{
    return remove(file);
}

static int list_it(void)
{
    return close_it(open(file, O_RDONLY | O_DIRECTORY));
}

static int enter_it(void)
{
    return chdir(file);
}

static char below[300];

static const char *in_it(const char *name)
{
    snprintf(below, sizeof below, "%s/%s", file, name);
    return below;
}

static int stat_in_it(void)
{
    struct stat st;

    return stat(in_it("old"), &st);
}

static int create_in_it(void)
{
    return close_it(open(in_it("new"), O_RDWR | O_CREAT | O_EXCL, 0644));
}

static int make_dir_in_it(void)
{
    return mkdir(in_it("newdir"), 0755);
}

static int remove_in_it(void)
{
    return unlink(in_it("old"));
}

static int move_in_it(void)
{
    char old[300];

    strcpy(old, in_it("old"));
    return rename(old, in_it("renamed"));
}

static const struct deed deeds_to_files[] = {
    { "read", open_to_read },
    { "write", open_to_write },
    { "both", open_both },
    { "truncate", cut },
    { "exec", run_it },
    { "chmod", change_mode },
    { "chown", change_owner },
    { "chgrp", change_group },
    { "touch-now", touch_now },
    { "touch-then", touch_then },
    { "set-attr", set_attribute },
    { "get-attr", get_attribute },
    { "remove-acl", remove_acl },
    { "link", link_it },
    { "rename", move_it },
    { "unlink", remove_it },
};

static const struct deed deeds_to_dirs[] = {
    { "list", list_it },           { "enter", enter_it },          { "stat-in", stat_in_it },
    { "create-in", create_in_it }, { "mkdir-in", make_dir_in_it }, { "unlink-in", remove_in_it },
    { "rename-in", move_in_it },   { "chmod", change_mode },       { "set-attr", set_attribute },
    { "get-attr", get_attribute }, { "rename", move_it },
};

static const mode_t modes[] = { 0000, 0100, 0200, 0400, 0600, 0700, 0070, 0007,  0040,  0004,
                                0020, 0002, 0644, 0755, 0750, 0711, 0777, 01777, 02770, 04755 };

/* In a child, so that nobody becomes somebody for good. */
static const char *outcome_of(const struct who *who, const struct deed *deed)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        gid_t group = who->group;

        EXPECT(setgroups(1, &group) == 0 && setresgid(who->gid, who->gid, who->gid) == 0);
        EXPECT(setresuid(who->uid, who->uid, who->uid) == 0);
        errno = 0;
        _exit(deed->run() == 0 ? 0 : errno);
    }
    EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status) == 0 ? "ok" : strerrorname_np(WEXITSTATUS(status));
}

static void set_up(bool is_dir, mode_t mode, bool with_acl)
{
    static const struct {
        uint32_t version;
        struct {
            uint16_t tag, rights;
            uint32_t id;
        } entry[5];
    } acl = {
        2, { { 1, 6, UINT32_MAX }, { 2, 5, 2000 }, { 4, 0, UINT32_MAX }, { 16, 7, UINT32_MAX }, { 32, 4, UINT32_MAX } }
    };

    file = "victim";
    if (is_dir) {
        EXPECT(mkdir(file, 0755) == 0);
        close(make_file(in_it("old"), 0644, "x"));
    } else {
        close(make_file(file, 0644, "abc"));
    }
    EXPECT(setxattr(file, "user.is", "1", 1, 0) == 0);
    EXPECT(chown(file, 1000, 1000) == 0 && chmod(file, mode) == 0);
    if (with_acl)
        EXPECT(setxattr(file, "system.posix_acl_access", &acl, sizeof acl, 0) == 0);
}

int make_file(const char *name, mode_t mode, const char *bytes)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, mode);

    EXPECT(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t) strlen(bytes));
    return fd;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw;
    return remove(path);
}

static void try_all(bool is_dir, mode_t mode, bool with_acl, mode_t parent)
{
    const struct deed *deeds = is_dir ? deeds_to_dirs : deeds_to_files;
    size_t n_deeds = is_dir ? ARRAY_SIZE(deeds_to_dirs) : ARRAY_SIZE(deeds_to_files);

    for (const struct who *who = everybody; who < everybody + ARRAY_SIZE(everybody); who++) {
        printf("%s %04o%s in %04o, %s:", is_dir ? "directory" : "file", mode, with_acl ? "+" : "", parent, who->name);
        for (const struct deed *deed = deeds; deed < deeds + n_deeds; deed++) {
            EXPECT(mkdir("place", 0700) == 0 && chdir("place") == 0);
            set_up(is_dir, mode, with_acl);
            EXPECT(chmod(".", parent) == 0);
            fflush(stdout);
            printf(" %s=%s", deed->name, outcome_of(who, deed));
            EXPECT(chdir("..") == 0 && nftw("place", remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    umask(0);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        for (int is_dir = 0; is_dir < 2; is_dir++)
            try_all(is_dir != 0, modes[i], false, i % 3 == 0 ? 01777 : 0777);
    try_all(false, 0640, true, 0777);
    try_all(true, 0750, true, 0755);
    return 0;
}
