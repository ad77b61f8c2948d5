/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/view.h"

#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/room.h"
#include "fs/core/volume/space.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void forget_probes(struct view *view)
{
    for (uint32_t i = 0; i < view->n; i++) {
        probe_done(&view->probe[i]);
        free(view->path[i]);
    }
    free(view->path);
    free(view->probe);
    view->path = NULL;
    view->probe = NULL;
    view->n = 0;
}

void view_done(struct view *view)
{
    for (uint32_t i = 0; view->disk != NULL && i < view->stamp->n_disks; i++)
        free(view->disk[i].fs_type);
    free(view->disk);
    free(view->left_out);
    free(view->wants_room);
    forget_probes(view);
    for (size_t i = 0; i < view->n_actions; i++)
        free(view->action[i]);
    free(view->action);
    volume_free(view->volume);
    *view = (struct view){ 0 };
}

const char *view_state(const struct view_disk *disk)
{
    if (disk->probe != NULL && disk->probe->state == PROBE_ONLINE && disk->standing == DISK_LEAVING)
        return "leaving";
    if (disk->probe != NULL)
        return probe_state_name(disk->probe->state);
    return probe_state_name(disk->silent ? PROBE_SILENT : PROBE_MISSING);
}

/* -- what to do about it -- */

PRINTF_LIKE(2, 3) static void advise(struct view *view, const char *fmt, ...)
{
    va_list list;
    char *text;
    int n;

    if (!array_grow(view->action, view->n_actions))
        return;
    va_start(list, fmt);
    n = vasprintf(&text, fmt, list);
    va_end(list);
    if (n >= 0)
        view->action[view->n_actions++] = text;
}

static bool is_newest(const struct view *view, const struct stamp *stamp)
{
    return stamp->epoch == view->stamp->epoch || stamp->next == view->stamp->epoch;
}

/* The index that the disk with this stamp has in the newest stamp's list; UINT32_MAX: the list does not have it, or it
 * has left. */
static uint32_t place_in_list(const struct view *view, const struct stamp *stamp)
{
    const struct stamp *list = view->stamp;
    uint32_t i = stamp->index;

    return i < list->n_disks && memcmp(stamp->disk[i].uuid, list->disk[i].uuid, DISK_UUID_SIZE) == 0 &&
                   list->disk[i].standing != DISK_GONE
               ? i
               : UINT32_MAX;
}

/* Advises on a path that cannot be looked at as a disk. */
static void advise_on_named(struct view *view, uint32_t i)
{
    const struct probe *probe = &view->probe[i];
    const char *path = view->path[i];

    if (probe->state == PROBE_SILENT)
        advise(view, "%s does not answer: is its server up? Files with bytes there wait until it does", path);
    else if (probe->state == PROBE_DAMAGED)
        advise(view, "the stamp of %s is damaged: unmount the volume and run fsck.fallsfs -y on its disks", path);
    else if (probe->state == PROBE_NEWER)
        advise(view, "the stamp of %s was made by a newer fallsfs: use that version, or a later one", path);
    else if (probe->error == -EACCES || probe->error == -EPERM)
        advise(view, "%s may not be looked at: ask as the user who mounted the volume, or as root", path);
    else if (probe->state == PROBE_MISSING && probe->error == -ENOENT && view->stamp == NULL)
        advise(view,
               "%s is no disk of a volume: mount what belongs there; 'fallsctl format DISK...' makes a new volume",
               path);
    else if (probe->state == PROBE_MISSING && probe->error == -ENOENT)
        advise(view, "%s is no disk of a volume now: mount what belongs there, then mount the volume again", path);
    else if (probe->state == PROBE_MISSING)
        advise(view, "%s cannot be read (%s): look for errors of that disk with dmesg", path, strerror(-probe->error));
}

static void advise_on_stamp(struct view *view, uint32_t i)
{
    const struct stamp *stamp = &view->probe[i].stamp;

    if (memcmp(stamp->volume, view->stamp->volume, DISK_UUID_SIZE) != 0)
        advise(view, "%s belongs to another volume: name the disks of one volume", view->path[i]);
    else if (!is_newest(view, stamp))
        advise(view,
               "%s is an old copy, it last saw epoch %" PRIu64 " of %" PRIu64 ": use the disk that was in the volume "
               "since",
               view->path[i], stamp->epoch, view->stamp->epoch);
    else if (place_in_list(view, stamp) == UINT32_MAX)
        advise(view, "%s is not in the volume, or not any more: leave it out; it may be added again", view->path[i]);
}

static void advise_on_leaving(struct view *view, uint32_t index)
{
    advise(view,
           "disk d%" PRIu32 " is to leave: 'fallsctl disk drain %s d%" PRIu32
           "' shows how far that is, or goes on with it; with --stop it stays",
           index, view->place != NULL ? view->place->target : "MOUNTPOINT", index);
}

static bool is_read_only(const struct view *view, uint32_t index)
{
    const struct probe *probe = view->disk[index].probe;

    if (view->place != NULL && view->place->read_only)
        return false; /* nobody wants to write */
    return (probe != NULL && probe->state == PROBE_READ_ONLY) ||
           (view->mount != NULL && mount_info_is_read_only(view->mount, index));
}

static void advise_on_space(struct view *view, uint32_t index)
{
    const struct space_of of = { .index = index,
                                 .is_home = index == view->stamp->home,
                                 .is_read_only = is_read_only(view, index),
                                 .space = &view->disk[index].probe->space };
    char text[SPACE_ADVICE];

    if (space_advice(&of, text))
        advise(view, "%s", text);
}

static void advise_on_disk(struct view *view, uint32_t index)
{
    const struct view_disk *disk = &view->disk[index];

    if (disk->standing == DISK_LEAVING)
        advise_on_leaving(view, index);
    if (!view_shows(view, index) || (disk->probe == NULL && view->n_named == stamp_n_members(view->stamp)))
        return; /* its path was named, and something said about it */
    if (disk->probe == NULL && index == view->stamp->home)
        advise(view,
               "the home disk d%" PRIu32 " is missing, and with it all names: mount it at %s; if it is lost, "
               "fsck.fallsfs --home-lost makes the names anew from the other disks",
               index, disk->path);
    else if (disk->probe == NULL)
        advise(view,
               "disk d%" PRIu32 " is missing: mount it at %s, or name the place where it is now; what the other disks "
               "have can be read with fallsfs -o ro,degraded or fallsctl extract --partial",
               index, disk->path);
    else
        advise_on_space(view, index);
}

static void advise_on_mount(struct view *view)
{
    if (view->place != NULL && !view->in_use && !view->place->read_only)
        advise(view,
               "the daemon that served %s is gone: umount %s, then mount the volume again; nothing that was "
               "synced is lost",
               view->place->target, view->place->target);
}

static void advise_on_errors(struct view *view)
{
    for (uint32_t i = 0; view->mount != NULL && i < view->mount->disks.n; i++)
        if (view->mount->n_errors[i] > 0)
            advise(view,
                   "disk d%" PRIu32 " has had %" PRIu64
                   " errors since the volume was mounted: the log of its daemon says which (journalctl -t fallsfs)",
                   i, view->mount->n_errors[i]);
}

static void advise_on_all(struct view *view)
{
    for (uint32_t i = 0; i < view->n; i++)
        if (!probe_answered(&view->probe[i]) && (i < view->n_named || view->probe[i].state == PROBE_SILENT))
            advise_on_named(view, i);
        else if (probe_answered(&view->probe[i]) && view->stamp != NULL)
            advise_on_stamp(view, i);
    for (uint32_t i = 0; view->stamp != NULL && i < view->stamp->n_disks; i++)
        advise_on_disk(view, i);
    advise_on_errors(view);
    if (view->stamp != NULL)
        advise_on_mount(view);
}

/* -- putting it together -- */

static int resolve(struct view *view, const struct mounts *mounts, char *const path[], uint32_t n)
{
    view->path = calloc(n, sizeof *view->path);
    view->probe = calloc(n, sizeof *view->probe);
    if (view->path == NULL || view->probe == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        /* A path that cannot be resolved is probed as it is, which fails with a reason. */
        if (view->place != NULL || mounts_resolve(mounts, path[i], &view->path[i]) < 0)
            view->path[i] = strdup(path[i]);
        if (view->path[i] == NULL)
            return -ENOMEM;
        view->n++;
    }
    return probe_all(view->path, n, view->probe);
}

static void find_stamp(struct view *view)
{
    view->stamp = NULL;
    for (uint32_t i = 0; i < view->n; i++)
        if (probe_answered(&view->probe[i]) &&
            (view->stamp == NULL || stamp_is_newer(&view->probe[i].stamp, view->stamp)))
            view->stamp = &view->probe[i].stamp;
}

/* Whether the disk at this index of the newest stamp's list is among those that have answered. */
static bool has_answered(const struct view *view, uint32_t index)
{
    for (uint32_t i = 0; i < view->n; i++)
        if (probe_answered(&view->probe[i]) &&
            memcmp(view->probe[i].stamp.volume, view->stamp->volume, DISK_UUID_SIZE) == 0 &&
            place_in_list(view, &view->probe[i].stamp) == index)
            return true;
    return false;
}

static bool was_asked(const struct view *view, const char *path)
{
    for (uint32_t i = 0; i < view->n; i++)
        if (strcmp(view->path[i], path) == 0)
            return true;
    return false;
}

/* Probes also disks that nobody named, that the kernel had no room to list, or that have joined since: the stamps know
 * where they were last. */
static int resolve_others(struct view *view, const struct mounts *mounts)
{
    uint32_t n = 0;
    char **path = calloc(view->stamp->n_disks + view->n, sizeof *path);
    int r = path == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < view->n; i++)
        r = (path[n++] = strdup(view->path[i])) != NULL ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < view->stamp->n_disks; i++)
        if (view->stamp->disk[i].standing != DISK_GONE && view->stamp->disk[i].path[0] == '/' &&
            !has_answered(view, i) && !was_asked(view, view->stamp->disk[i].path))
            r = (path[n++] = strdup(view->stamp->disk[i].path)) != NULL ? 0 : -ENOMEM;
    if (r == 0 && n > view->n_named) {
        forget_probes(view);
        r = resolve(view, mounts, path, n);
        find_stamp(view);
    }
    for (uint32_t i = 0; path != NULL && i < n; i++)
        free(path[i]);
    free(path);
    return r;
}

/* Probes the disks where the mount itself says they are, since the source that the kernel lists for it may be any
 * text. */
static int resolve_mount(struct view *view, const struct mounts *mounts)
{
    const struct volume_disks *disks = &view->mount->disks;
    cleanup(freep) char **path = calloc(MAX(disks->n, 1), sizeof *path);
    uint32_t n = 0;

    if (path == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < disks->n; i++)
        if (strcmp(disks->disk[i].state, "gone") != 0)
            path[n++] = disks->disk[i].path;
    return resolve(view, mounts, path, n);
}

/* Marks the disks that gave no answer: without a stamp, such a disk is known by the place where it was last. */
static void mark_silent(struct view *view)
{
    for (uint32_t i = 0; i < view->n; i++)
        for (uint32_t j = 0; view->probe[i].state == PROBE_SILENT && j < view->stamp->n_disks; j++)
            if (view->disk[j].probe == NULL && strcmp(view->disk[j].path, view->path[i]) == 0)
                view->disk[j].silent = true;
}

static int place_disks(struct view *view, const struct mounts *mounts)
{
    view->disk = calloc(view->stamp->n_disks, sizeof *view->disk);
    if (view->disk == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < view->stamp->n_disks; i++) {
        view->disk[i].path = view->stamp->disk[i].path;
        view->disk[i].standing = view->stamp->disk[i].standing;
    }
    for (uint32_t i = 0; i < view->n; i++) {
        struct probe *probe = &view->probe[i];
        struct view_disk *disk;

        if (!probe_answered(probe) || memcmp(probe->stamp.volume, view->stamp->volume, DISK_UUID_SIZE) != 0 ||
            place_in_list(view, &probe->stamp) == UINT32_MAX || !is_newest(view, &probe->stamp))
            continue;
        disk = &view->disk[probe->stamp.index];
        disk->path = view->path[i];
        disk->probe = probe;
        if (mounts_fs_has_failed(mounts, view->path[i]))
            probe->state = PROBE_READ_ONLY;
        if (disk->fs_type == NULL)
            disk->fs_type = strdup(mounts_fs_type(mounts, view->path[i]));
        if (disk->fs_type == NULL)
            return -ENOMEM;
    }
    mark_silent(view);
    return 0;
}

static bool is_listed(const struct view *view, const struct mount_place *place)
{
    for (uint32_t j = 0; j < place->n_disks; j++)
        for (uint32_t d = 0; d < view->stamp->n_disks; d++)
            if (view->disk[d].probe != NULL && strcmp(place->disk[j], view->disk[d].path) == 0)
                return true;
    return false;
}

static bool is_served_by(const struct view *view, const struct mount_place *place)
{
    cleanup(mount_info_freep) struct mount_info *mount = mount_info_ask(place->target);
    char hex[2 * DISK_UUID_SIZE + 1];

    hex_print(view->stamp->volume, DISK_UUID_SIZE, hex);
    return mount != NULL && mount->error == 0 && mount->volume != NULL && strcmp(mount->volume, hex) == 0;
}

/* Finds the mount that serves the volume: one that lists a disk of it, or, while some disk is in use, one that is shown
 * by another name and says itself which volume it serves. */
static void find_place(struct view *view, const struct mounts *mounts)
{
    for (uint32_t i = 0; view->place == NULL && i < mounts->n; i++)
        if (is_listed(view, &mounts->place[i]))
            view->place = &mounts->place[i];
    for (uint32_t i = 0; view->in_use && view->place == NULL && i < mounts->n; i++)
        if (is_served_by(view, &mounts->place[i]))
            view->place = &mounts->place[i];
}

static int open_volume(struct view *view)
{
    cleanup(freep) struct member *member = calloc(view->stamp->n_disks, sizeof *member);
    uint32_t n = 0;
    int r = member == NULL ? volume_fail(&view->error, -ENOMEM, "out of memory") : 0;

    for (uint32_t i = 0; r == 0 && i < view->stamp->n_disks; i++)
        if (view->disk[i].probe != NULL && (r = member_open(view->disk[i].path, &member[n])) == 0)
            n++;
    if (r == 0)
        r = volume_open(member, n, VOLUME_PEEK | VOLUME_READ_ONLY | VOLUME_DEGRADED, &view->volume, &view->error);
    for (uint32_t i = 0; i < n; i++)
        member_close(&member[i]);
    return r;
}

/* Whether this is the home disk and has no room for a name: another disk would not help against that. */
static bool keeps_names_out(const struct view *view, uint32_t index)
{
    return index == view->stamp->home && view->disk[index].probe != NULL &&
           !space_takes_names(&view->volume->disk[index], &view->disk[index].probe->space);
}

/* Finds which disks new files leave out: as the mount says, or, where it says nothing, as a mount of these disks
 * would. */
static int find_left_out(struct view *view)
{
    const struct room_rule rule = { .reserve = ROOM_USUAL, .unit = room_unit(view->layout) };
    struct volume *volume = view->volume;

    for (uint32_t i = 0; i < MIN(volume->n_disks, view->stamp->n_disks); i++)
        volume->disk[i].is_read_only = is_read_only(view, i);
    if (view->mount == NULL)
        (void) room_look(volume, &rule);
    for (uint32_t i = 0; view->mount != NULL && i < MIN(volume->n_disks, view->mount->disks.n); i++)
        volume->disk[i].is_tight = view->mount->left_out[i] && !view->mount->is_read_only[i];
    view->left_out = calloc(MAX(volume->n_disks, view->stamp->n_disks), sizeof view->left_out[0]);
    view->wants_room = calloc(MAX(volume->n_disks, view->stamp->n_disks), sizeof view->wants_room[0]);
    if (view->left_out == NULL || view->wants_room == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        view->left_out[i] = disk_is_left_out(&volume->disk[i]);
        view->wants_room[i] = volume->disk[i].is_tight && !keeps_names_out(view, i);
    }
    return 0;
}

static int measure(struct view *view, const char *text)
{
    struct layouts *layouts = NULL;
    struct chosen_layout choice;
    struct layout_error why;
    struct statvfs st = { 0 };
    int r = find_left_out(view);

    if (r == 0)
        r = layouts_new(view->volume, &layouts);

    if (r < 0)
        return volume_fail(&view->error, r, "out of memory");
    r = layouts_add(layouts, text, &choice.layout, &choice.rotates, &why);
    if (r < 0)
        volume_fail(&view->error, r, "layout '%s', column %zu: %s", text, why.column, why.why);
    if (r == 0) {
        r = space_of_chosen(view->volume, &choice, &st, &view->limit);
        layouts_put(layouts, choice.layout);
        if (r < 0)
            volume_fail(&view->error, r, "cannot ask the disks how much room they have: %s", strerror(-r));
    }
    layouts_free(layouts);
    if (r < 0)
        return r;
    view->writable = true;
    for (uint32_t i = 0; i < view->stamp->n_disks; i++)
        view->writable &= view->disk[i].probe != NULL || !view_shows(view, i);
    view->one_file = (uint64_t) st.f_bavail * st.f_frsize;
    return 0;
}

static void add_up(struct view *view)
{
    for (uint32_t i = 0; i < view->stamp->n_disks; i++) {
        const struct probe *probe = view->disk[i].probe;
        bool counted = probe == NULL;

        for (uint32_t j = 0; !counted && j < i; j++)
            counted = view->disk[j].probe != NULL && view->disk[j].probe->dev == probe->dev;
        if (counted)
            continue;
        view->size += probe->size;
        view->used += probe->size - probe->free;
        view->avail += probe->avail;
    }
}

int view_init(struct view *view, const struct mounts *mounts, const struct mount_place *place,
              const struct mount_info *mount, char *const path[], uint32_t n, const char *layout)
{
    int r;

    *view = (struct view){ .place = place, .mount = mount, .layout = layout, .limit = UINT32_MAX };
    volume_fail(&view->error, 0, "out of memory");
    r = mount != NULL ? resolve_mount(view, mounts) : resolve(view, mounts, path, n);
    if (r < 0)
        return r;
    find_stamp(view);
    view->n_named = view->n;
    if (view->stamp != NULL)
        r = resolve_others(view, mounts);
    if (r == 0 && view->stamp != NULL)
        r = place_disks(view, mounts);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < view->n; i++)
        view->in_use |= view->probe[i].in_use;
    if (view->stamp != NULL) {
        find_place(view, mounts);
        add_up(view);
        if (open_volume(view) == 0)
            r = measure(view, layout);
    }
    advise_on_all(view);
    if (view->stamp != NULL && view->volume == NULL && view->n_actions == 0)
        advise(view, "%s", view->error.why);
    return r;
}
