/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/method.h"
#include "layout/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct access {
    int fd;
    struct fallsfs_group *group; /* NULL: alone */
};

static int explain(const struct method_request *request, int r)
{
    if (r < 0)
        snprintf(request->why, SQUAD_TEXT, "%s", fallsfs_strerror_last());
    return r;
}

static void access_close(void *state)
{
    struct access *access = state;

    if (access->group != NULL)
        (void) fallsfs_leave(access->group);
    close(access->fd);
    free(access);
}

static int access_open(const struct method_request *request, struct access **ret_access)
{
    cleanup(freep) struct access *access = calloc(1, sizeof *access);

    if (access == NULL)
        return -ENOMEM;
    access->fd = open(request->path, request->order->write ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
    if (access->fd < 0)
        return -errno;
    *ret_access = steal(access);
    return 0;
}

/* -- alone -- */

static int alone_open(const struct method_request *request, void **ret_state)
{
    struct access *access = NULL;
    int r = access_open(request, &access);

    if (r == 0)
        *ret_state = access;
    return r;
}

static int alone_move(void *state, const struct method_request *request)
{
    const struct access *access = state;
    const struct fallsfs_array *array = &request->order->array;

    return explain(request, request->order->write
                                ? fallsfs_write_section(access->fd, array, request->section, request->buf)
                                : fallsfs_read_section(access->fd, array, request->section, request->buf));
}

const struct method method_independent = { "independent", alone_open, alone_move, access_close, NULL };

/* -- together -- */

static int join(const struct method_request *request, uint32_t domains, void **ret_state)
{
    const struct fallsfs_hints hints = { .domains = domains };
    struct access *access = NULL;
    int r = access_open(request, &access);

    if (r < 0)
        return r;
    r = explain(request, fallsfs_join(access->fd, request->order->token, request->rank, request->nranks, &hints,
                                      &access->group));
    if (r < 0)
        access_close(access);
    else
        *ret_state = access;
    return r;
}

static int static_open(const struct method_request *request, void **ret_state)
{
    return join(request, FALLSFS_DOMAINS_STATIC, ret_state);
}

static int dynamic_open(const struct method_request *request, void **ret_state)
{
    return join(request, FALLSFS_DOMAINS_DYNAMIC, ret_state);
}

static int cyclic_open(const struct method_request *request, void **ret_state)
{
    return join(request, FALLSFS_DOMAINS_CYCLIC, ret_state);
}

static int disk_open(const struct method_request *request, void **ret_state)
{
    return join(request, FALLSFS_DOMAINS_DISK, ret_state);
}

static int together_move(void *state, const struct method_request *request)
{
    struct access *access = state;
    const struct fallsfs_array *array = &request->order->array;

    return explain(request, request->order->write
                                ? fallsfs_write_all(access->group, array, request->section, request->buf)
                                : fallsfs_read_all(access->group, array, request->section, request->buf));
}

static void together_tell(void *state, struct fallsfs_ioc_stats *ret_stats)
{
    const struct access *access = state;
    uint64_t staged;

    if (fallsfs_stats(access->group, ret_stats, &staged) < 0)
        *ret_stats = (struct fallsfs_ioc_stats){ 0 };
}

const struct method method_static = { "static", static_open, together_move, access_close, together_tell };
const struct method method_dynamic = { "dynamic", dynamic_open, together_move, access_close, together_tell };
const struct method method_cyclic = { "cyclic", cyclic_open, together_move, access_close, together_tell };
const struct method method_disk = { "disk", disk_open, together_move, access_close, together_tell };
