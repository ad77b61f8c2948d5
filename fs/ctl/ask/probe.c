/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/probe.h"

#include "fs/core/volume/space.h"
#include "fs/core/volume/volume.h"
#include "fs/ctl/ask/inquiry.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct question {
    char *path;
    struct probe probe;
    struct inquiry *inquiry;
};

void probe_done(struct probe *probe)
{
    stamp_done(&probe->stamp);
}

const char *probe_state_name(enum probe_state state)
{
    static const char *const name[] = { "online",  "full",    "no-inodes", "read-only",
                                        "missing", "damaged", "newer",     "unknown" };

    return name[state];
}

static int ask_space(const struct disk *disk, struct probe *probe)
{
    struct statvfs st = { 0 };
    struct stat root = { 0 };
    int r = disk_call(disk, statfs, disk->root, &st);

    if (r == 0)
        r = disk_call(disk, stat, disk->root, "", &root);
    if (r < 0)
        return r;
    probe->dev = root.st_dev;
    probe->space = st;
    probe->size = (uint64_t) st.f_blocks * st.f_frsize;
    probe->free = (uint64_t) st.f_bfree * st.f_frsize;
    probe->avail = (uint64_t) st.f_bavail * st.f_frsize;
    probe->state = (st.f_flag & ST_RDONLY) != 0 ? PROBE_READ_ONLY
                   : space_lacks_inodes(&st)    ? PROBE_NO_INODES
                   : probe->avail < SPACE_FULL  ? PROBE_FULL
                                                : PROBE_ONLINE;
    return 0;
}

static void ask(const char *path, struct probe *probe)
{
    struct disk disk = { .ops = &disk_local_ops, .root = -1 };
    int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = dir < 0 ? -errno : 0;

    if (r == 0)
        disk.root = r = disk_call(&disk, open, dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (r >= 0)
        r = stamp_read(&disk, &probe->stamp);
    if (r == 0)
        r = ask_space(&disk, probe);
    if (r == 0)
        probe->in_use = member_is_locked(&disk);
    if (r < 0) {
        probe->error = r;
        probe->state = r == -EUCLEAN ? PROBE_DAMAGED : r == -EPROTONOSUPPORT ? PROBE_NEWER : PROBE_MISSING;
    }
    disk_close_root(&disk);
    if (dir >= 0)
        close(dir);
}

static void run(void *arg)
{
    struct question *question = arg;

    ask(question->path, &question->probe);
}

static struct question *put(const char *path)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        return NULL;
    question->path = strdup(path);
    if (question->path != NULL)
        question->inquiry = inquiry_put(run, question);
    if (question->inquiry == NULL) {
        free(question->path);
        free(question);
        return NULL;
    }
    return question;
}

static void await(struct question *question, const struct timespec *until, struct probe *ret_probe)
{
    if (inquiry_await(question->inquiry, until)) {
        *ret_probe = question->probe;
        free(question->path);
        free(question);
    } else {
        *ret_probe = (struct probe){ .state = PROBE_SILENT, .error = -ETIMEDOUT };
    }
}

int probe_all(char *const path[], uint32_t n, struct probe ret_probe[])
{
    cleanup(freep) struct question **question = calloc(n, sizeof(struct question *));
    struct timespec until;
    int r = 0;

    if (question == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        question[i] = put(path[i]);
    until = inquiry_patience();
    for (uint32_t i = 0; i < n; i++) {
        ret_probe[i] = (struct probe){ .state = PROBE_MISSING, .error = -ENOMEM };
        if (question[i] != NULL)
            await(question[i], &until, &ret_probe[i]);
        else
            r = -ENOMEM;
    }
    return r;
}
