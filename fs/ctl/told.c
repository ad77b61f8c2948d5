/* SPDX-License-Identifier: MIT */
#include "fs/ctl/told.h"

#include "fs/ctl/inquiry.h"
#include "fs/ctl/json_read.h"

#include <string.h>

#define SOONER 4 /* seconds: there is an answer without it, too */

static int ask_room(struct told *told)
{
    cleanup(freep) char *json = NULL;
    struct statvfs st;
    int r = statvfs(told->mountpoint, &st) < 0 ? -errno : 0;

    if (r == 0)
        r = attrs_get(told->mountpoint, "layout.json", &json);
    if (r < 0)
        return r;
    told->one_file = (uint64_t) st.f_bavail * st.f_frsize;
    told->layout = json_read_string(json_find(json, "layout"));
    return told->layout != NULL ? 0 : -ENOMEM;
}

static int ask_disks(struct told *told)
{
    char why[ATTRS_WHY];
    int r = volume_disks_init(&told->disks, told->mountpoint, why);

    if (r < 0)
        return r;
    told->space = calloc(MAX(told->disks.n, 1), sizeof told->space[0]);
    if (told->space == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < told->disks.n; i++)
        if (statvfs(told->disks.disk[i].path, &told->space[i]) < 0)
            told->space[i] = (struct statvfs){ .f_blocks = 0 };
    return 0;
}

static void ask(void *arg)
{
    struct told *told = arg;

    told->error = ask_room(told);
    if (told->error == 0)
        told->error = ask_disks(told);
}

struct told *told_ask(const char *mountpoint)
{
    struct told *told = calloc(1, sizeof *told);
    struct inquiry *inquiry = NULL;
    struct timespec until;

    if (told != NULL && (told->mountpoint = strdup(mountpoint)) != NULL)
        inquiry = inquiry_put(ask, told);
    if (inquiry == NULL) {
        told_free(told);
        return NULL;
    }
    until = inquiry_patience();
    until.tv_sec -= SOONER;
    return inquiry_await(inquiry, &until) ? told : NULL;
}

void told_free(struct told *told)
{
    if (told == NULL)
        return;
    volume_disks_done(&told->disks);
    free(told->space);
    free(told->layout);
    free(told->mountpoint);
    free(told);
}
