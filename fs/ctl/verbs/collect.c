/* SPDX-License-Identifier: MIT */
/* fallsctl collect: what somebody who looks for a bug would ask for, as one archive.
 *
 *     a sheet      a text file of the archive; commands add to it, each behind a line that says what it is
 *     a command    a process that runs a program or copies a file; one that hangs or says too much is ended
 *
 * Nothing is taken from disks or files of the volume but what the mount itself tells below .falls. Where root collects,
 * mounts and daemons may be anybody's: texts of a mount are opened without following a link or leaving it, and what a
 * process logs to is looked at only if it is a process of who collects. */
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_SECONDS 10
#define MAX_SHEET   (8 << 20) /* bytes */
#define MAX_SHEETS  8
#define MAX_LOG     (1 << 20) /* bytes of a file that a daemon logs to: the last ones */

static const char help[] =
    "usage: fallsctl collect [-o FILE] [--json] [MOUNTPOINT...]\n"
    "\n"
    "Makes one archive, a tar.gz, for a bug report: status, configuration, versions, logs and mounts of all fallsfs\n"
    "volumes on this machine, or of those that are named. It asks mounts and disks, and changes nothing; who does not\n"
    "answer within 10 seconds is left out. Run it as root, or as who mounted, to have the logs and all of the status.\n"
    "\n"
    "There is no byte of any file in it, but names are: of disks, mount points, users' numbers and, in logs and jobs, of\n"
    "files. Look through it before you give it away; only you can read it.\n"
    "\n"
    "  -o FILE   where to write it; fallsfs-DATE-TIME.tar.gz here unless told. Never replaces a file\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl collect\n"
    "  fallsctl collect -o /tmp/slow.tar.gz /fast\n";

struct sheet {
    const char *name, *what;
    int fd;
};

struct collection {
    char dir[PATH_MAX]; /* of ours alone, with one directory, which is what is packed */
    char name[64];      /* of that one */
    int dir_fd;
    struct sheet sheet[MAX_SHEETS];
    size_t n_sheets;
};

/* -- commands -- */

/* What a process for a command does: it runs a program or copies a file; returns its exit status. */
typedef int become_fn(void *arg);

static void limit_size(void)
{
    const struct rlimit most = { MAX_SHEET, MAX_SHEET };

    (void) setrlimit(RLIMIT_FSIZE, &most);
}

/* Waits for a process, and kills it after MAX_SECONDS; false: it was killed. What hangs in the kernel does not end even
 * then, and is left behind. */
static bool await(pid_t pid, int *ret_status)
{
    uint64_t until = clock_in_ms(MAX_SECONDS * 1000);
    bool is_killed = false;

    while (waitpid(pid, ret_status, WNOHANG) != pid) {
        if (clock_ms() >= until) {
            if (is_killed)
                return false;
            (void) kill(-pid, SIGKILL);
            is_killed = true;
            until = clock_in_ms(1000);
        }
        usleep(5000);
    }
    return !is_killed;
}

/* Runs become in a process and a process group of its own, with all output to out. Returns its exit status, 127 when
 * the program it should run is not there, or -errno. */
static int run(int out, become_fn *become, void *arg)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void) setpgid(0, 0);
        if (dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
            _exit(126);
        _exit(become(arg));
    }
    if (pid < 0)
        return -errno;
    (void) setpgid(pid, pid);
    if (!await(pid, &status))
        return -ETIMEDOUT;
    return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGXFSZ ? -EFBIG : -EINTR;
}

/* Adds a command to a sheet, behind its title. False: there was no answer in time. */
static bool add(const struct sheet *sheet, const char *title, become_fn *become, void *arg)
{
    int r;

    dprintf(sheet->fd, "$ %s\n", title);
    r = run(sheet->fd, become, arg);
    if (r == -ETIMEDOUT)
        dprintf(sheet->fd, "(no answer within %d seconds)\n", MAX_SECONDS);
    else if (r == 127)
        dprintf(sheet->fd, "(is not installed)\n");
    else if (r == -EFBIG && ftruncate(sheet->fd, MAX_SHEET - 100) == 0)
        dprintf(sheet->fd, "\n(too long: the rest is left out)\n");
    else if (r != 0)
        dprintf(sheet->fd, "(ended with %d)\n", r);
    dprintf(sheet->fd, "\n");
    return r != -ETIMEDOUT;
}

/* -- programs -- */

static int become_program(void *arg)
{
    char **word = arg;

    limit_size();
    (void) setenv("LC_ALL", "C.UTF-8", 1);
    (void) setenv("PAGER", "cat", 1);
    if (strcmp(word[0], "fallsctl") == 0)
        execv("/proc/self/exe", word);
    execvp(word[0], word);
    return errno == ENOENT ? 127 : 126;
}

/* Adds to a sheet what a program prints; its words go up to a NULL. */
static void add_program(const struct sheet *sheet, const char *const word[])
{
    char title[2 * PATH_MAX] = "";

    for (size_t i = 0, len = 0; word[i] != NULL && len < sizeof title; i++)
        len += (size_t) snprintf(title + len, sizeof title - len, i == 0 ? "%s" : " %s", word[i]);
    (void) add(sheet, title, become_program, drop_const(word));
}

#define ADD(sheet, ...) add_program(sheet, (const char *const[]){ __VA_ARGS__, NULL })

/* -- texts of mounts -- */

struct falls_text {
    const char *mountpoint, *name;
};

static int copy_out(int fd)
{
    char buffer[65536];
    ssize_t n;

    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        if (write(STDOUT_FILENO, buffer, (size_t) n) != n)
            return 1;
    return n < 0;
}

static int become_text(void *arg)
{
    const struct falls_text *text = arg;
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
    int mount, fd;

    limit_size();
    mount = open(text->mountpoint, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = mount < 0 ? -1 : (int) syscall(SYS_openat2, mount, text->name, &how, sizeof how);
    if (fd < 0) {
        dprintf(STDOUT_FILENO, "%s\n", strerror(errno));
        return 1;
    }
    return copy_out(fd);
}

static bool add_text(const struct sheet *sheet, const char *mountpoint, const char *name)
{
    struct falls_text text = { .mountpoint = mountpoint, .name = name };
    char title[PATH_MAX + 64];

    snprintf(title, sizeof title, "cat %s/%s", mountpoint, name);
    return add(sheet, title, become_text, &text);
}

/* -- daemons -- */

struct daemon {
    int proc; /* its directory */
    const char *name;
};

static int become_proc_text(void *arg)
{
    const struct daemon *daemon = arg;
    int fd = openat(daemon->proc, daemon->name, O_RDONLY | O_CLOEXEC);

    limit_size();
    return fd < 0 ? 1 : copy_out(fd);
}

/* Copies the end of what a daemon logs to, if that is a file. */
static int become_log(void *arg)
{
    const struct daemon *daemon = arg;
    struct stat st;
    int fd = openat(daemon->proc, "fd/2", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    limit_size();
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        dprintf(STDOUT_FILENO, "standard error is no file that can be read\n");
        return 0;
    }
    if (st.st_size > MAX_LOG && lseek(fd, -MAX_LOG, SEEK_END) < 0)
        return 1;
    return copy_out(fd);
}

static bool is_daemon(int proc)
{
    char name[32] = "";
    int fd = openat(proc, "comm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name - 1);

    if (fd >= 0)
        close(fd);
    return n > 0 && strcmp(name, "fallsfs\n") == 0;
}

static void add_daemon(const struct sheet *daemons, const struct sheet *logs, int proc, const char *pid)
{
    static const char *const names[] = { "cmdline", "status", "limits" };
    struct daemon daemon = { .proc = proc };
    char title[64];
    struct stat st;

    if (fstat(proc, &st) < 0 || !is_daemon(proc))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        daemon.name = names[i];
        snprintf(title, sizeof title, "cat /proc/%s/%s", pid, names[i]);
        (void) add(daemons, title, become_proc_text, &daemon);
    }
    if (st.st_uid != geteuid())
        return;
    snprintf(title, sizeof title, "tail /proc/%s/fd/2", pid);
    (void) add(logs, title, become_log, &daemon);
}

static void add_daemons(const struct sheet *daemons, const struct sheet *logs)
{
    DIR *procs = opendir("/proc");
    const struct dirent *entry;

    while (procs != NULL && (entry = readdir(procs)) != NULL) {
        int proc = strspn(entry->d_name, "0123456789") == strlen(entry->d_name)
                       ? openat(dirfd(procs), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                       : -1;

        if (proc < 0)
            continue;
        add_daemon(daemons, logs, proc, entry->d_name);
        close(proc);
    }
    if (procs != NULL)
        closedir(procs);
}

/* -- sheets -- */

static const struct sheet *begin(struct collection *collection, const char *name, const char *what)
{
    struct sheet *sheet = &collection->sheet[collection->n_sheets++];

    *sheet = (struct sheet){ .name = name, .what = what };
    sheet->fd = openat(collection->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    return sheet;
}

static void add_versions(struct collection *collection)
{
    const struct sheet *sheet = begin(collection, "versions.txt", "of fallsfs, fuse, the kernel and the system");

    ADD(sheet, "fallsctl", "--version");
    ADD(sheet, "fallsfs", "--version");
    ADD(sheet, "fusermount3", "--version");
    ADD(sheet, "uname", "-a");
    ADD(sheet, "cat", "/etc/os-release");
    ADD(sheet, "date", "--iso-8601=seconds");
    ADD(sheet, "id");
}

static void add_status(struct collection *collection, const char *const target[], size_t n)
{
    const struct sheet *sheet =
        begin(collection, "status.txt", "volumes, their disks and what these do, jobs and groups");
    static const char *const verbs[] = { "status", "df", "jobs", "groups", "iostat" };

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        for (size_t j = 0; j < n; j++)
            ADD(sheet, "fallsctl", verbs[i], "--", target[j]);
    for (size_t j = 0; j < n; j++)
        ADD(sheet, "fallsctl", "status", "--json", "--", target[j]);
}

static void add_config(struct collection *collection, const char *const target[], size_t n)
{
    const struct sheet *sheet =
        begin(collection, "config.txt", "and figures of each mount; of fuse, and what /etc says of fallsfs");
    static const char *const texts[] = { ".falls/config", ".falls/kernel", ".falls/disks", ".falls/stats.json",
                                         ".falls/costs.json" };
    glob_t found = { 0 };

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < ARRAY_SIZE(texts) && add_text(sheet, target[i], texts[j]); j++)
            continue;
    if (glob("/etc/fallsfs/*.conf", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            ADD(sheet, "cat", "--", found.gl_pathv[i]);
    globfree(&found);
    ADD(sheet, "cat", "/etc/fuse.conf");
    ADD(sheet, "grep", "fallsfs", "/etc/fstab");
}

static void add_mounts(struct collection *collection)
{
    const struct sheet *sheet = begin(collection, "mounts.txt", "all that this machine has mounted");

    ADD(sheet, "cat", "/proc/self/mountinfo");
}

static void add_logs(struct collection *collection)
{
    const struct sheet *logs = begin(collection, "logs.txt", "of the daemons: names of files are in it"),
                       *daemons = begin(collection, "daemons.txt", "how they were started, what they may use");

    ADD(logs, "journalctl", "-q", "--no-pager", "-o", "short-iso", "-n", "5000", "-t", "fallsfs");
    ADD(logs, "grep", "-a", "-s", "fallsfs", "/var/log/syslog", "/var/log/daemon.log", "/var/log/messages");
    add_daemons(daemons, logs);
}

/* -- the archive -- */

static int make_dir(struct collection *collection)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX + 80];

    if (snprintf(collection->dir, sizeof collection->dir, "%s/fallsctl.XXXXXX",
                 tmp != NULL && *tmp != 0 ? tmp : "/tmp") >= (int) sizeof collection->dir)
        return -ENAMETOOLONG;
    if (mkdtemp(collection->dir) == NULL) {
        collection->dir[0] = 0;
        return -errno;
    }
    snprintf(path, sizeof path, "%s/%s", collection->dir, collection->name);
    if (mkdir(path, 0700) < 0)
        return -errno;
    collection->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return collection->dir_fd < 0 ? -errno : 0;
}

static void remove_dir(struct collection *collection)
{
    char path[PATH_MAX + 80];

    for (size_t i = 0; i < collection->n_sheets; i++) {
        (void) unlinkat(collection->dir_fd, collection->sheet[i].name, 0);
        if (collection->sheet[i].fd >= 0)
            close(collection->sheet[i].fd);
    }
    if (collection->dir_fd >= 0)
        close(collection->dir_fd);
    if (collection->dir[0] == 0)
        return;
    snprintf(path, sizeof path, "%s/%s", collection->dir, collection->name);
    (void) rmdir(path);
    (void) rmdir(collection->dir);
}

static int become_tar(void *arg)
{
    struct collection *collection = arg;
    const char *const word[] = { "tar", "-C", collection->dir, "-czf", "-", collection->name, NULL };

    (void) dup2(STDIN_FILENO, STDERR_FILENO); /* what tar complains of is no part of the archive */
    execvp(word[0], drop_const(word));
    return 127;
}

/* Packs the sheets into a new file; 0, or why there is no archive. Nothing is ever replaced. */
static int pack(struct collection *collection, const char *file)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r;

    if (fd < 0)
        return -errno;
    r = run(fd, become_tar, collection);
    if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
        r = -errno;
    close(fd);
    if (r != 0)
        (void) unlink(file);
    return r == 127 ? -ENOEXEC : r > 0 ? -EIO : r;
}

static void tell(const struct collection *collection, const char *file, bool as_json)
{
    struct json json;
    struct stat st;

    if (as_json) {
        json_begin(&json, stdout);
        json_string(&json, "file", file);
        json_open(&json, "parts", '[');
    } else {
        utf8_print_line(stdout, file, false);
        puts(" has, for a bug report:");
    }
    for (size_t i = 0; i < collection->n_sheets; i++) {
        const struct sheet *sheet = &collection->sheet[i];
        uint64_t size = fstat(sheet->fd, &st) == 0 ? (uint64_t) st.st_size : 0;

        if (!as_json) {
            printf("  %-14s %s\n", sheet->name, sheet->what);
            continue;
        }
        json_open(&json, NULL, '{');
        json_string(&json, "name", sheet->name);
        json_string(&json, "what", sheet->what);
        json_u64(&json, "size", size);
        json_close(&json, '}');
    }
    if (as_json) {
        json_close(&json, ']');
        json_end(&json);
    } else {
        puts("No byte of a file is in it, but names are: of disks, mount points and, in logs and jobs, of files.\n"
             "Look through it before you give it away; only you can read it.");
    }
}

static enum ctl_status collect(const char *file, const char *const target[], size_t n, bool as_json)
{
    struct collection collection = { .dir_fd = -1 };
    enum ctl_status status = CTL_ERROR;
    char usual[sizeof collection.name + 8];
    time_t now = time(NULL);
    struct tm tm;
    int r;

    strftime(collection.name, sizeof collection.name, "fallsfs-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    snprintf(usual, sizeof usual, "%s.tar.gz", collection.name);
    if (file == NULL)
        file = usual;
    r = make_dir(&collection);
    if (r < 0) {
        report(as_json, "cannot make a directory to collect in: %s; TMPDIR says where", strerror(-r));
    } else {
        add_versions(&collection);
        add_mounts(&collection);
        add_status(&collection, target, n);
        add_config(&collection, target, n);
        add_logs(&collection);
        r = pack(&collection, file);
        if (r == -ENOEXEC)
            report(as_json, "cannot run tar: is it installed?");
        else if (r < 0)
            report(as_json, "cannot write %s: %s", file, strerror(-r));
        else
            tell(&collection, file, as_json);
        status = r < 0 ? CTL_ERROR : CTL_OK;
    }
    remove_dir(&collection);
    return status;
}

enum ctl_status ctl_collect(int argc, char **argv)
{
    const char *file = NULL;
    bool as_json = false;
    const struct arg arg[] = { { .name = "-o", .other = "--output", .value = &file },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "collect", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) const char **target = NULL;
    enum ctl_status status;
    size_t n;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (mounts_read(&mounts) < 0)
        return report(as_json, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    n = args.n > 0 ? (size_t) args.n : mounts.n;
    target = calloc(MAX(n, 1), sizeof *target);
    if (target == NULL)
        return report(as_json, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct mount_place *place = args.n > 0 ? mounts_at(&mounts, args.word[i]) : &mounts.place[i];

        if (place == NULL)
            return report(as_json, "%s: no fallsfs is mounted there; 'fallsctl status' lists those that are",
                          args.word[i]);
        target[i] = place->target;
    }
    return collect(file, target, n, as_json);
}
