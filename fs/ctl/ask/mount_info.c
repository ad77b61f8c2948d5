/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/mount_info.h"

#include "fs/core/volume/space.h"
#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/ask/inquiry.h"
#include "fs/ctl/ask/json_read.h"
#include "fs/json/utf8.h"

#include <stdio.h>
#include <string.h>

#define SOONER 4 /* seconds less than others wait: there is an answer without the mount, too */

/* Reads an attribute in JSON. A mount whose attribute is no JSON is none of ours, which is an error. */
static int ask_json(const struct mount_info *mount, const char *name, struct json_object **ret_said)
{
    cleanup(freep) char *json = NULL;
    int r = attrs_get(mount->mountpoint, name, &json);

    return r < 0 ? r : json_read(json, ret_said);
}

static int ask_room(struct mount_info *mount, struct json_object **ret_said)
{
    struct statvfs st;
    int r = statvfs(mount->mountpoint, &st) < 0 ? -errno : 0;

    if (r == 0)
        r = ask_json(mount, "layout.json", ret_said);
    if (r < 0)
        return r;
    mount->one_file = (uint64_t) st.f_bavail * st.f_frsize;
    mount->layout = json_copy(json_member(*ret_said, "layout"));
    return mount->layout != NULL ? 0 : -ENOMEM;
}

static int ask_disks(struct mount_info *mount, const struct json_object *said)
{
    char why[ATTRS_WHY];
    int r = volume_disks_init(&mount->disks, mount->mountpoint, why);

    if (r < 0)
        return r;
    mount->space = calloc(MAX(mount->disks.n, 1), sizeof mount->space[0]);
    mount->left_out = calloc(MAX(mount->disks.n, 1), sizeof mount->left_out[0]);
    mount->is_read_only = calloc(MAX(mount->disks.n, 1), sizeof mount->is_read_only[0]);
    mount->wants_room = calloc(MAX(mount->disks.n, 1), sizeof mount->wants_room[0]);
    if (mount->space == NULL || mount->left_out == NULL || mount->is_read_only == NULL || mount->wants_room == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < mount->disks.n; i++) {
        mount->left_out[i] = file_info_lists(said, "left_out", i);
        mount->wants_room[i] = mount->left_out[i];
    }
    for (uint32_t i = 0; i < mount->disks.n; i++)
        if (statvfs(mount->disks.disk[i].path, &mount->space[i]) < 0)
            mount->space[i] = (struct statvfs){ .f_blocks = 0 };
    return 0;
}

/* Takes the disk's path from JSON, since in lines its newlines are replaced. JSON is text, though: a path with
 * replacement characters has bytes there that are no text, and the one from the lines stays. */
static void take_path(struct volume_disk *disk, const struct json_object *said)
{
    const char *path = json_text(json_member(said, "path"));
    char *copy = path != NULL && strstr(path, UTF8_REPLACEMENT) == NULL ? strdup(path) : NULL;

    if (copy == NULL)
        return;
    free(disk->path);
    disk->path = copy;
}

static void take_actions(struct mount_info *mount, const struct json_object *said)
{
    const struct json_object *actions = json_member(said, "actions");
    size_t len;
    FILE *out = json_count(actions) > 0 ? open_memstream(&mount->actions, &len) : NULL;

    for (size_t i = 0; out != NULL && i < json_count(actions); i++) {
        const char *text = json_text(json_at(actions, i));

        if (text != NULL)
            fprintf(out, "%s\n", text);
    }
    if (out != NULL)
        fclose(out);
}

/* Adds a note on files whose replicas are to be filled, where there are some. */
static void note_to_fill(struct mount_info *mount, const struct json_object *said)
{
    char *notes;
    uint64_t n;

    if (!json_number(json_member(said, "files_to_fill"), &n) || n == 0)
        return;
    if (asprintf(
            &notes,
            "%s%s%" PRIu64 " file%s replicas to be filled, some seconds after the last change: 'fallsctl replica list "
            "FILE' shows how far each is",
            mount->notes != NULL ? mount->notes : "",
            mount->notes != NULL && mount->notes[0] != 0 && mount->notes[strlen(mount->notes) - 1] != '\n' ? "\n" : "",
            n, n == 1 ? " has" : "s have") < 0)
        return;
    free(mount->notes);
    mount->notes = notes;
}

/* Whether the home disk has no room for names; not, if its place cannot be asked. */
static bool has_no_names(const struct statvfs *space)
{
    return space->f_blocks > 0 && (space->f_bavail == 0 || space_lacks_inodes(space));
}

/* Asks which disks have had errors, and what is to be done; an older fallsfs does not tell, which is no failure. */
static int ask_errors(struct mount_info *mount)
{
    cleanup(json_read_done) struct json_object *said = NULL;
    const struct json_object *disks;

    mount->n_errors = calloc(MAX(mount->disks.n, 1), sizeof mount->n_errors[0]);
    if (mount->n_errors == NULL)
        return -ENOMEM;
    if (ask_json(mount, "disks.json", &said) < 0)
        return 0;
    mount->volume = json_copy(json_member(said, "volume"));
    disks = json_member(said, "disks");
    for (uint32_t i = 0; i < mount->disks.n && i < json_count(disks); i++) {
        const struct json_object *disk = json_at(disks, i);

        (void) json_number(json_member(disk, "errors"), &mount->n_errors[i]);
        mount->is_read_only[i] = json_is_true(json_member(disk, "read_only"));
        if (mount->is_read_only[i] || (json_is_true(json_member(disk, "home")) && has_no_names(&mount->space[i])))
            mount->wants_room[i] = false;
        take_path(&mount->disks.disk[i], disk);
    }
    take_actions(mount, said);
    note_to_fill(mount, said);
    return 0;
}

/* Reads what the daemon and the kernel could not agree on; a mount of an older fallsfs has no such file. */
static void ask_notes(struct mount_info *mount)
{
    cleanup(freep) char *path = NULL;
    size_t size = 0;
    FILE *in = asprintf(&path, "%s/.falls/kernel", mount->mountpoint) >= 0 ? fopen(path, "re") : NULL;

    if (in == NULL)
        return;
    if (getdelim(&mount->notes, &size, 0, in) < 0) {
        free(mount->notes);
        mount->notes = NULL;
    }
    fclose(in);
}

static void ask(void *arg)
{
    cleanup(json_read_done) struct json_object *said = NULL;
    struct mount_info *mount = arg;

    ask_notes(mount);
    mount->error = ask_room(mount, &said);
    if (mount->error == 0)
        mount->error = ask_disks(mount, said);
    if (mount->error == 0)
        mount->error = ask_errors(mount);
}

struct mount_info *mount_info_ask(const char *mountpoint)
{
    struct mount_info *mount = calloc(1, sizeof *mount);
    struct inquiry *inquiry = NULL;
    struct timespec until;

    if (mount != NULL && (mount->mountpoint = strdup(mountpoint)) != NULL)
        inquiry = inquiry_put(ask, mount);
    if (inquiry == NULL) {
        mount_info_free(mount);
        return NULL;
    }
    until = inquiry_patience();
    until.tv_sec -= SOONER;
    return inquiry_await(inquiry, &until) ? mount : NULL;
}

bool mount_info_sizes(const struct mount_info *mount, uint32_t disk, struct mount_info_sizes *ret_sizes)
{
    const struct statvfs *space = &mount->space[disk];
    uint64_t unit = space->f_frsize;

    if (space->f_blocks == 0)
        return false;
    *ret_sizes = (struct mount_info_sizes){ .size = space->f_blocks * unit,
                                            .used = (space->f_blocks - MIN(space->f_bfree, space->f_blocks)) * unit,
                                            .avail = space->f_bavail * unit };
    return true;
}

void mount_info_free(struct mount_info *mount)
{
    if (mount == NULL)
        return;
    volume_disks_done(&mount->disks);
    free(mount->space);
    free(mount->left_out);
    free(mount->is_read_only);
    free(mount->wants_room);
    free(mount->actions);
    free(mount->n_errors);
    free(mount->volume);
    free(mount->layout);
    free(mount->notes);
    free(mount->mountpoint);
    free(mount);
}
