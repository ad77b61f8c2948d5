/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/mover.h"
#include "fs/daemon/mover/moving.h"
#include "fs/json/json.h"

#include <string.h>
#include <unistd.h>

#define LONG_LIST 48000 /* bytes: a value has room for so many, and then one more order without names */

static void print_failures(struct json *json, const struct moving *moving)
{
    json_open(json, "failures", '[');
    for (uint32_t i = 0; i < moving->n_failures && ftell(json->out) < LONG_LIST; i++) {
        json_open(json, NULL, '{');
        json_string(json, "file", moving->failure[i].path);
        json_string(json, "why", moving->failure[i].why);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_loads(struct json *json, const struct moving *moving)
{
    char name[16];

    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < moving->n_loads; i++) {
        snprintf(name, sizeof name, "d%" PRIu32, i);
        json_open(json, NULL, '{');
        json_string(json, "disk", name);
        json_u64(json, "before", moving->load[i].before);
        json_u64(json, "after", moving->load[i].after);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_order(struct json *json, const struct moving *moving, bool all)
{
    static const char *const order[] = { [MOVE_BELOW] = "below", [MOVE_BALANCE] = "balance", [MOVE_LEAVE] = "leave" };
    cleanup(freep) char *path = NULL;
    struct move_view view;
    char disk[16];

    moving_look(moving, &view);
    json_open(json, NULL, '{');
    json_u64(json, "number", view.number);
    json_string(json, "order", order[moving->order.kind]);
    if (moving->order.disk != UINT32_MAX && moving->order.kind == MOVE_LEAVE) {
        snprintf(disk, sizeof disk, "d%" PRIu32, moving->order.disk);
        json_string(json, "disk", disk);
    }
    json_bool(json, "is_plan", moving->order.is_plan);
    json_string(json, "state", job_state_name(view.job.state));
    json_u64(json, "user", moving->order.user);
    if (all && moving->order.kind == MOVE_BELOW && inode_path(moving_fs(moving)->inodes, moving->dir, &path) == 0)
        json_string(json, "directory", path);
    if (all) {
        json_u64(json, "files", view.files);
        json_u64(json, "moved", moving->moved);
        json_u64(json, "failed", view.failed);
        json_u64(json, "open", moving->n_open);
        json_u64(json, "bytes", moving->bytes);
        json_u64(json, "done", view.job.done);
        json_u64(json, "total", view.job.total);
        json_u64(json, "rate", view.job.rate);
        json_u64(json, "limit", moving->limit);
        json_seconds(json, "seconds", (double) view.job.ms / 1000);
        if (view.job.error != 0)
            json_string(json, "error", strerror(-view.job.error));
        if (moving->result[0] != 0)
            json_string(json, "why", moving->result);
        if (moving->order.kind != MOVE_BELOW)
            print_loads(json, moving);
        print_failures(json, moving);
    }
    json_close(json, '}');
}

void mover_print(struct mover *mover, uid_t user, FILE *out)
{
    struct json json;

    json_begin(&json, out);
    json_open(&json, "orders", '[');
    mutex_lock(&mover->lock);
    for (const struct moving *moving = mover->first; moving != NULL && ftell(out) < LONG_LIST; moving = moving->next)
        print_order(&json, moving, user == 0 || user == geteuid() || user == moving->order.user);
    mutex_unlock(&mover->lock);
    json_close(&json, ']');
    json_end(&json);
}
