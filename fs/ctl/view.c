/* SPDX-License-Identifier: MIT */
#include "fs/ctl/view.h"

#include "fs/core/layouts.h"
#include "fs/core/space.h"

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
    char **action = realloc(view->action, (view->n_actions + 1) * sizeof(char *)), *text;
    va_list list;
    int n;

    if (action == NULL)
        return;
    view->action = action;
    va_start(list, fmt);
    n = vasprintf(&text, fmt, list);
    va_end(list);
    if (n >= 0)
        action[view->n_actions++] = text;
}

static bool is_newest(const struct view *view, const struct stamp *stamp)
{
    return stamp->epoch == view->stamp->epoch || stamp->next == view->stamp->epoch;
}

/* Where in the list that counts the disk with this stamp is; UINT32_MAX: it is not, or has left. */
static uint32_t place_in_list(const struct view *view, const struct stamp *stamp)
{
    const struct stamp *list = view->stamp;
    uint32_t i = stamp->index;

    return i < list->n_disks && memcmp(stamp->disk[i].uuid, list->disk[i].uuid, DISK_UUID_SIZE) == 0 &&
                   list->disk[i].standing != DISK_GONE
               ? i
               : UINT32_MAX;
}

/* What was named and is no disk that can be looked at. */
static void advise_on_named(struct view *view, uint32_t i)
{
    const struct probe *probe = &view->probe[i];
    const char *path = view->path[i];

    if (probe->state == PROBE_SILENT)
        advise(view, "%s does not answer: is its server up? Files with bytes there wait until it does", path);
    else if (probe->state == PROBE_DAMAGED)
        advise(view, "the stamp of %s is damaged: unmount the volume and run fsck.fallsfs -y on its disks", path);
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
           "' moves what is left there, with --stop it stays",
           index, view->place != NULL ? view->place->target : "MOUNTPOINT", index);
}

static void advise_on_disk(struct view *view, uint32_t index)
{
    const struct view_disk *disk = &view->disk[index];

    if (disk->standing == DISK_LEAVING)
        advise_on_leaving(view, index);
    if (!view_shows(view, index) || (disk->probe == NULL && view->n == stamp_n_members(view->stamp)))
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
    else if (disk->probe->state == PROBE_FULL)
        advise(view,
               "disk d%" PRIu32 " is full: remove files, or make room on its file system; files with bytes there "
               "cannot grow",
               index);
    else if (disk->probe->state == PROBE_READ_ONLY && (view->place == NULL || !view->place->read_only))
        advise(view,
               "disk d%" PRIu32 " is read-only: dmesg says why if nobody wanted that. Unmount the volume, then mount "
               "what holds %s for writing, repaired if it had errors",
               index, disk->path);
}

static void advise_on_mount(struct view *view)
{
    bool served = false;

    for (uint32_t i = 0; i < view->n; i++)
        served |= view->probe[i].in_use;
    if (view->place != NULL && !served && !view->place->read_only)
        advise(view,
               "the daemon that served %s is gone: umount %s, then mount the volume again; nothing that was "
               "synced is lost",
               view->place->target, view->place->target);
}

static void advise_on_all(struct view *view)
{
    for (uint32_t i = 0; i < view->n; i++)
        if (!probe_answered(&view->probe[i]))
            advise_on_named(view, i);
        else if (view->stamp != NULL)
            advise_on_stamp(view, i);
    for (uint32_t i = 0; view->stamp != NULL && i < view->stamp->n_disks; i++)
        advise_on_disk(view, i);
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
        /* What cannot be resolved is asked as it is, and fails with a reason. */
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

/* Where the kernel had no room to list all disks of a mount, or others have joined since, the stamps know them. */
static int resolve_listed(struct view *view, const struct mounts *mounts)
{
    uint32_t n = 0;
    char **path = calloc(view->stamp->n_disks, sizeof *path);
    int r = path == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < view->stamp->n_disks; i++)
        if (view->stamp->disk[i].standing != DISK_GONE && (path[n++] = strdup(view->stamp->disk[i].path)) == NULL)
            r = -ENOMEM;
    if (r == 0) {
        forget_probes(view);
        r = resolve(view, mounts, path, n);
        find_stamp(view);
    }
    for (uint32_t i = 0; path != NULL && i < n; i++)
        free(path[i]);
    free(path);
    return r;
}

/* One that gives no answer is known by the place where it was last. */
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

/* A disk of the volume may be in use at a mount that lists it. */
static void find_place(struct view *view, const struct mounts *mounts)
{
    for (uint32_t i = 0; view->place == NULL && i < mounts->n; i++)
        for (uint32_t j = 0; j < mounts->place[i].n_disks; j++)
            for (uint32_t d = 0; d < view->stamp->n_disks; d++)
                if (view->disk[d].probe != NULL && strcmp(mounts->place[i].disk[j], view->disk[d].path) == 0)
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

static int measure(struct view *view, const char *text)
{
    struct layouts *layouts = NULL;
    struct choice choice;
    struct layout_error why;
    struct statvfs st = { 0 };
    int r = layouts_new(view->volume, &layouts);

    if (r < 0)
        return volume_fail(&view->error, r, "out of memory");
    r = layouts_add(layouts, text, &choice.layout, &choice.rotates, &why);
    if (r < 0)
        volume_fail(&view->error, r, "layout '%s', column %zu: %s", text, why.column, why.why);
    if (r == 0) {
        r = space_of_choice(view->volume, &choice, &st, &view->limit);
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

int view_init(struct view *view, const struct mounts *mounts, const struct mount_place *place, char *const path[],
              uint32_t n, const char *layout)
{
    int r;

    *view = (struct view){ .place = place, .layout = layout, .limit = UINT32_MAX };
    volume_fail(&view->error, 0, "out of memory");
    r = resolve(view, mounts, path, n);
    if (r < 0)
        return r;
    find_stamp(view);
    if (view->stamp != NULL && place != NULL && (place->has_more || view->stamp->changes > 0))
        r = resolve_listed(view, mounts);
    if (r == 0 && view->stamp != NULL)
        r = place_disks(view, mounts);
    if (r < 0)
        return r;
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
