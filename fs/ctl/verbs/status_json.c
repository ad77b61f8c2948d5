/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/status_json.h"

#include "fs/core/volume/record.h"
#include "fs/ctl/verbs/status_notes.h"

#include <string.h>

/* Writes lines as strings of an array, behind first, unless that is NULL. */
static void json_lines(struct json *json, const char *kinds, const char *first, const char *lines)
{
    json_open(json, kinds, '[');
    if (first != NULL)
        json_string(json, NULL, first);
    for (char *line; (line = next_line(&lines)) != NULL; free(line))
        json_string(json, NULL, line);
    json_close(json, ']');
}

static void json_left_out(struct json *json, const bool left_out[], uint32_t n)
{
    char name[16];

    json_open(json, "left_out", '[');
    for (uint32_t i = 0; left_out != NULL && i < n; i++)
        if (left_out[i])
            json_string(json, NULL, disk_name(i, name));
    json_close(json, ']');
}

/* -- as its disks tell -- */

static void json_disk(const struct view *view, uint32_t i, struct json *json)
{
    const struct view_disk *disk = &view->disk[i];
    char name[16];

    json_open(json, NULL, '{');
    json_string(json, "disk", disk_name(i, name));
    json_string(json, "path", disk->path);
    json_string(json, "fs", disk->fs_type);
    json_string(json, "state", view_state(disk));
    if (disk->probe != NULL) {
        json_u64(json, "size", disk->probe->size);
        json_u64(json, "used", disk->probe->size - disk->probe->free);
        json_u64(json, "free", disk->probe->avail);
    }
    json_string(json, "pool", view->stamp->disk[i].pool);
    json_bool(json, "home", i == view->stamp->home);
    if (view->mount != NULL && i < view->mount->disks.n)
        json_u64(json, "errors", view->mount->n_errors[i]);
    json_close(json, '}');
}

void status_json_view(struct json *json, const struct view *view, const char *notes)
{
    const char *mountpoint = view->place != NULL ? view->place->target : "MOUNTPOINT";
    cleanup(freep) char *note =
        view->stamp != NULL ? note_on_left_out(view->wants_room, view->stamp->n_disks, mountpoint) : NULL;
    char hex[2 * DISK_UUID_SIZE + 1], name[16];

    json_open(json, NULL, '{');
    if (view->stamp != NULL) {
        hex_print(view->stamp->volume, DISK_UUID_SIZE, hex);
        json_string(json, "volume", hex);
        json_string(json, "mountpoint", view->place != NULL ? view->place->target : NULL);
        json_bool(json, "read_only", view->place != NULL && view->place->read_only);
        json_bool(json, "in_use", view->in_use);
        json_bool(json, "clean", view->stamp->clean == view->stamp->epoch);
        json_u64(json, "epoch", view->stamp->epoch);
        json_open(json, "disks", '[');
        for (uint32_t i = 0; i < view->stamp->n_disks; i++)
            if (view_shows(view, i))
                json_disk(view, i, json);
        json_close(json, ']');
        json_u64(json, "size", view->size);
        json_u64(json, "used", view->used);
        json_u64(json, "free", view->avail);
    }
    if (view->writable) {
        json_string(json, "layout", view->layout);
        json_u64(json, "one_file", view->one_file);
        json_string(json, "limited_by", view->limit != UINT32_MAX ? disk_name(view->limit, name) : NULL);
        json_left_out(json, view->left_out, view->stamp->n_disks);
    }
    json_open(json, "actions", '[');
    for (size_t i = 0; i < view->n_actions; i++)
        json_string(json, NULL, view->action[i]);
    json_close(json, ']');
    json_lines(json, "notes", note, notes);
    json_close(json, '}');
}

/* -- as its mount tells -- */

void status_json_mount(struct json *json, const struct mount_info *mount)
{
    cleanup(freep) char *note = note_on_left_out(mount->wants_room, mount->disks.n, mount->mountpoint);
    struct mount_info_sizes sizes;
    char name[16];

    json_open(json, NULL, '{');
    json_string(json, "mountpoint", mount->mountpoint);
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < mount->disks.n; i++) {
        if (!mount_info_shows(mount, i))
            continue;
        json_open(json, NULL, '{');
        json_string(json, "disk", disk_name(i, name));
        json_string(json, "path", mount->disks.disk[i].path);
        json_string(json, "state", mount->disks.disk[i].state);
        if (mount_info_sizes(mount, i, &sizes)) {
            json_u64(json, "size", sizes.size);
            json_u64(json, "used", sizes.used);
            json_u64(json, "free", sizes.avail);
        }
        json_string(json, "pool", strcmp(mount->disks.disk[i].pool, "-") == 0 ? "" : mount->disks.disk[i].pool);
        json_u64(json, "errors", mount->n_errors[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_string(json, "layout", mount->layout);
    json_u64(json, "one_file", mount->one_file);
    json_left_out(json, mount->left_out, mount->disks.n);
    json_lines(json, "actions", NULL, mount->actions);
    json_lines(json, "notes", note, mount->notes);
    json_close(json, '}');
}
