/* SPDX-License-Identifier: MIT */
/* posix DIRECTORY [NAME]: runs all checks there, or one; 0 when none misses anything. */
#include "test/mount/posix.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 90 /* seconds for one check */

static const char *current;

void missed(const char *file, int line, const char *what)
{
    int error = errno;

    printf("%s: %s:%d: %s (%s)\n", current, strrchr(file, '/') + 1, line, what, strerror(error));
    fflush(stdout);
    _exit(1);
}

void become(uid_t uid, gid_t gid, int n_groups)
{
    static const gid_t groups[] = { 3000, 3001, 3002 };

    EXPECT(setgroups((size_t) n_groups, groups) == 0);
    EXPECT(setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0);
}

int make_file(const char *name, mode_t mode, const char *bytes)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    EXPECT(fd >= 0);
    EXPECT(write(fd, bytes, strlen(bytes)) == (ssize_t) strlen(bytes));
    return fd;
}

int in_child(int (*run)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(run());
    EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void pause_ms(unsigned ms)
{
    const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw;
    return remove(path);
}

static bool run_check(const struct check *check)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        current = check->name;
        alarm(PATIENCE);
        umask(022);
        EXPECT(mkdir(check->name, 0755) == 0 && chmod(check->name, 0777) == 0 && chdir(check->name) == 0);
        check->run();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return false;
    if (WIFSIGNALED(status))
        printf("%s: %s\n", check->name, WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
    if (nftw(check->name, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        printf("%s: what it made cannot be removed: %s\n", check->name, strerror(errno));
        return false;
    }
    return status == 0;
}

int main(int argc, char **argv)
{
    unsigned n = 0, n_missed = 0;

    if (argc < 2 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY [NAME]\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; all_checks[i] != NULL; i++)
        for (const struct check *check = all_checks[i]; check->name != NULL; check++)
            if (argc < 3 || strcmp(argv[2], check->name) == 0) {
                n++;
                n_missed += !run_check(check);
            }
    printf("%u of %u checks missed something\n", n_missed, n);
    return n_missed > 0 || n == 0;
}
