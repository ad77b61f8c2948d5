/* SPDX-License-Identifier: MIT */
#include "test/bench/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static void write_word(const char *path, const char *word)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, word, strlen(word)) != (ssize_t) strlen(word) || close(fd) < 0)
        fail("%s: %s", path, strerror(errno));
}

void cold_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && (fsync(fd) < 0 || close(fd) < 0))
        fail("%s: %s", path, strerror(errno));
}

/* drop_caches lets mapped pages stay. */
void cold_process(pid_t pid)
{
    char path[64], *line = NULL;
    size_t size = 0;
    FILE *maps;
    int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);

    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    maps = fopen(path, "re");
    if (pidfd < 0 || maps == NULL)
        fail("%s: %s", path, strerror(errno));
    while (getline(&line, &size, maps) > 0) {
        uintptr_t from, to;
        struct iovec range;

        if (strstr(line, "/.fallsfs/obj/") == NULL || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2)
            continue;
        range = (struct iovec){ (void *) from, to - from }; /* NOLINT(performance-no-int-to-ptr): not in this process */
        if (syscall(SYS_process_madvise, pidfd, &range, 1, MADV_PAGEOUT, 0) < 0)
            fail("what process %d has mapped does not leave memory: %s", pid, strerror(errno));
    }
    free(line);
    fclose(maps);
    close(pidfd);
}

void cold_system(void)
{
    write_word("/proc/sys/vm/drop_caches", "3");
}

void cold_pages(void)
{
    write_word("/proc/sys/vm/drop_caches", "1");
}

void cold_disk(const char *model)
{
    write_word(model, "park");
}
