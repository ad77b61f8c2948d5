/* SPDX-License-Identifier: MIT */
#include "test/mount/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

struct writer writer_new(unsigned number, const char *top, uint64_t seed)
{
    struct writer writer = { .number = number, .top = top, .rng = rng_from_seed(seed * N_WRITERS + number) };

    for (int i = 0; i < N_FILES; i++)
        writer.fd[i] = -1;
    return writer;
}

bool writer_open(struct writer *writer, unsigned file)
{
    struct name name;

    if (writer->fd[file] < 0)
        writer->fd[file] = open(name_of(&name, writer->top, writer->number, file, ""), O_RDWR | O_CLOEXEC);
    return writer->fd[file] >= 0;
}

void writer_close(struct writer *writer, unsigned file)
{
    if (writer->fd[file] >= 0)
        close(writer->fd[file]);
    writer->fd[file] = -1;
}
