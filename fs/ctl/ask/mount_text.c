/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/mount_text.h"

#include "fs/ctl/ask/inquiry.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE 65536

/* What is asked of the mount; whoever gives it up leaves it to its thread. */
struct question {
    char *path;
    size_t max;
    char *text;
    int r;
};

static void question_free(struct question *question)
{
    free(question->path);
    free(question->text);
    free(question);
}

static int read_all(int fd, size_t max, char **ret_text)
{
    cleanup(freep) char *text = NULL;
    size_t len = 0;

    for (;;) {
        char *more = len <= max ? realloc(text, len + PIECE + 1) : NULL;
        ssize_t n;

        if (more == NULL)
            return len <= max ? -ENOMEM : -EFBIG;
        text = more;
        n = read(fd, text + len, PIECE);
        if (n < 0)
            return -errno;
        len += (size_t) n;
        text[len] = 0;
        if (n == 0)
            break;
    }
    *ret_text = steal(text);
    return 0;
}

static void ask(void *arg)
{
    struct question *question = arg;
    int fd = open(question->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    question->r = fd >= 0 ? read_all(fd, question->max, &question->text) : -errno;
    if (fd >= 0)
        close(fd);
}

static int refuse(const char *target, int r, char why[static ATTRS_WHY])
{
    if (r == -ENOENT)
        return attrs_refuse(why, r, "%s tells no figures: is its daemon as new as fallsctl?", target);
    return attrs_refuse(why, r, "%s: %s", target, attrs_strerror(r));
}

int mount_text_get(const char *target, const char *name, size_t max, char **ret_text, char ret_why[static ATTRS_WHY])
{
    struct question *question = calloc(1, sizeof *question);
    struct inquiry *inquiry = NULL;
    struct timespec until;
    int r = question != NULL ? 0 : -ENOMEM;

    if (r == 0)
        question->max = max;
    if (r == 0 && asprintf(&question->path, "%s/.falls/%s", target, name) < 0)
        r = -ENOMEM;
    if (r == 0 && (inquiry = inquiry_put(ask, question)) == NULL)
        r = -ENOMEM;
    if (r < 0) {
        if (question != NULL)
            question_free(question);
        return attrs_refuse(ret_why, r, "out of memory");
    }
    until = inquiry_patience();
    if (!inquiry_await(inquiry, &until))
        return attrs_refuse(ret_why, -ETIMEDOUT, "%s does not answer: its daemon is stopped or hangs", target);
    r = question->r;
    if (r == 0)
        *ret_text = steal(question->text);
    question_free(question);
    return r < 0 ? refuse(target, r, ret_why) : 0;
}
