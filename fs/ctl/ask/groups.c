/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/groups.h"

#include "fs/ctl/ask/inquiry.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void groups_done(struct groups *groups)
{
    free(groups->group);
    *groups = (struct groups){ 0 };
}

static int add_group(struct groups *groups, const struct fallsfs_ioc_groups *group)
{
    if (!array_grow(groups->group, groups->n))
        return -ENOMEM;
    groups->group[groups->n++] = *group;
    return 0;
}

/* Asks for the groups of the file with this inode; 0: for all groups. */
static int ask_for_all(int fd, uint64_t inode, struct groups *groups)
{
    uint64_t after = 0;
    int r = 0;

    while (r == 0) {
        struct fallsfs_ioc_groups group = { .version = FALLSFS_IOCTL_VERSION, .after = after };

        if (ioctl(fd, FALLSFS_IOC_GROUPS, &group) < 0)
            return -errno;
        if (group.group <= after)
            return 0;
        after = group.group;
        group.path[sizeof group.path - 1] = 0;
        if (inode == 0 || group.inode == inode)
            r = add_group(groups, &group);
    }
    return r;
}

int groups_ask(const char *path, struct groups *ret_groups)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), r = fd < 0 ? -errno : 0;
    struct groups groups = { 0 };
    struct stat st;

    if (r == 0 && fstat(fd, &st) < 0)
        r = -errno;
    if (r == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        r = -ENOTTY;
    if (r == 0)
        r = ask_for_all(fd, S_ISREG(st.st_mode) ? st.st_ino : 0, &groups);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        groups_done(&groups);
    else
        *ret_groups = groups;
    return r;
}

/* -- with patience -- */

struct question {
    char *path;
    struct groups groups;
    int r;
};

static void ask(void *arg)
{
    struct question *question = arg;

    question->r = groups_ask(question->path, &question->groups);
}

static void question_free(struct question *question)
{
    if (question == NULL)
        return;
    free(question->path);
    groups_done(&question->groups);
    free(question);
}

int groups_get(const char *target, struct groups *ret_groups, char ret_why[static ATTRS_WHY])
{
    struct question *question = calloc(1, sizeof *question);
    struct inquiry *inquiry = NULL;
    struct timespec until;
    int r;

    if (question != NULL && (question->path = strdup(target)) != NULL)
        inquiry = inquiry_put(ask, question);
    if (inquiry == NULL) {
        question_free(question);
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    }
    until = inquiry_patience();
    if (!inquiry_await(inquiry, &until))
        return attrs_refuse(ret_why, -ETIMEDOUT, "%s does not answer: its daemon is stopped or hangs", target);
    r = question->r;
    if (r == 0) {
        *ret_groups = question->groups;
        question->groups = (struct groups){ 0 };
    }
    question_free(question);
    return r < 0 ? attrs_refuse(ret_why, r, "%s: %s", target, attrs_strerror(r)) : 0;
}
