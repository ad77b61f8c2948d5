/* SPDX-License-Identifier: MIT */
#include "test/mount/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546

const char *name_of(struct name *name, const char *top, unsigned writer, unsigned file, const char *suffix)
{
    snprintf(name->s, sizeof name->s, "%s/w%uf%u%s", top, writer, file, suffix);
    return name->s;
}

bool content_read(const char *path, struct content *content)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint64_t done = 0;
    ssize_t n = 1;

    memset(content, 0, sizeof *content);
    if (fd < 0)
        return errno == ENOENT;
    content->there = true;
    if (fstat(fd, &st) < 0 || st.st_size > MAX_SIZE) {
        close(fd);
        return false;
    }
    content->size = (uint64_t) st.st_size;
    while (n > 0 && done < content->size) {
        n = read(fd, content->data + done, content->size - done);
        if (n > 0)
            done += (uint64_t) n;
    }
    close(fd);
    return n >= 0 && done == content->size;
}

void sleep_us(uint64_t us)
{
    const struct timespec time = { (time_t) (us / 1000000), (long) (us % 1000000 * 1000) };

    nanosleep(&time, NULL);
}

pid_t daemon_start(const struct daemon *daemon, const char *layout)
{
    char *argv[MAX_DISKS + 6] = { daemon->fallsfs, drop_const("-f"), drop_const("-o"), drop_const(layout) };
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < daemon->n_disks; i++)
        argv[4 + i] = daemon->disk[i];
    argv[4 + daemon->n_disks] = daemon->top;
    execv(daemon->fallsfs, argv);
    _exit(127);
}

bool daemon_wait(const struct daemon *daemon, pid_t pid)
{
    struct statfs st;

    for (int i = 0; i < 20000; i++) {
        int status;

        if (statfs(daemon->top, &st) == 0 && (unsigned long) st.f_type == FUSE_MAGIC)
            return true;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            printf("the daemon ended with status %d instead of mounting\n", status);
            return false;
        }
        sleep_us(1000);
    }
    printf("the daemon does not mount\n");
    return false;
}

void daemon_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
