/* SPDX-License-Identifier: MIT */
#include "fs/daemon/metrics/snapshot.h"

#include "fs/core/change/refill.h"
#include "fs/daemon/serve/mount.h"

#include <string.h>

const char *snapshot_kind_name(enum watch_kind kind)
{
    static const char *const name[WATCH_KINDS] = {
        [WATCH_READS] = "read", [WATCH_WRITES] = "write", [WATCH_SYNCS] = "sync", [WATCH_OTHERS] = "other"
    };

    return name[kind];
}

const char *snapshot_direction_name(bool writes)
{
    return writes ? "write" : "read";
}

const char *snapshot_by_name(bool by_group)
{
    return by_group ? "group" : "process";
}

/* When the mount began, on both clocks. */
static struct {
    uint64_t wall, steady;
} began;

void snapshot_init(void)
{
    struct timespec wall = clock_wall();

    began.wall = (uint64_t) wall.tv_sec * 1000000000 + (uint64_t) wall.tv_nsec;
    began.steady = clock_ns();
}

static struct disk_snapshot look_at_disk(uint32_t index, const struct disk *disk)
{
    struct watch *watch = disk->watch;
    struct disk_snapshot snapshot = { .index = index,
                                      .is_present = disk_is_present(disk),
                                      .is_leaving = disk->standing == DISK_LEAVING,
                                      .is_read_only = disk_is_read_only(disk) };
    struct statvfs space;

    if (watch == NULL)
        return snapshot;
    snapshot.queue = watch_queue(watch);
    snapshot.oldest_ms = watch_oldest(watch);
    snapshot.busy_ns = watch_busy(watch);
    snapshot.n_refused = atomic_load(&watch->n_refused);
    snapshot.n_troubles = atomic_load(&watch->n_troubles);
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        snapshot.kind[kind] = tally_look(&watch->tally[kind]);
    if (watch_last_space(watch, &space)) {
        snapshot.size = (uint64_t) space.f_blocks * space.f_frsize;
        snapshot.available = (uint64_t) space.f_bavail * space.f_frsize;
    }
    return snapshot;
}

static int look_at_disks(const struct volume *volume, struct snapshot *snapshot)
{
    uint32_t n = volume->n_disks;

    snapshot->disk = calloc(MAX(n, 1), sizeof snapshot->disk[0]);
    if (snapshot->disk == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        if (volume->disk[i].standing != DISK_GONE)
            snapshot->disk[snapshot->n_disks++] = look_at_disk(i, &volume->disk[i]);
    return 0;
}

static void look_at_figures(struct snapshot *snapshot)
{
    for (int i = 0; i < N_OPERATIONS; i++)
        snapshot->operation[i] = tally_look(&figures.operation[i]);
    for (int i = 0; i < 4; i++)
        snapshot->round[i / 2][i % 2] = tally_look(&figures.round[i / 2][i % 2]);
    for (int i = 0; i < N_WORKS; i++)
        snapshot->work[i] = atomic_load(&figures.work[i]);
    for (int i = 0; i < N_FORGOTTEN; i++)
        snapshot->forgotten[i] = atomic_load(&figures.forgotten[i]);
    snapshot->n_failed = atomic_load(&figures.n_failed);
    snapshot->n_late = atomic_load(&figures.n_late);
}

int snapshot_take(struct snapshot *ret_snapshot)
{
    const struct mount *mount = the_mount;
    struct snapshot snapshot = { .began_ns = began.wall, .ns = clock_ns() - began.steady };
    int r = look_at_disks(mount->fs->volume, &snapshot);

    if (r < 0)
        return r;
    hex_print(mount->fs->volume->uuid, DISK_UUID_SIZE, snapshot.volume);
    look_at_figures(&snapshot);
    snapshot.range_waits = tally_look(&mount->fs->range_waits);
    deadlines_count(mount->deadlines, &snapshot.n_parked, &snapshot.parked_bytes);
    handles_count(mount->handles, &snapshot.n_files, &snapshot.n_directories);
    jobs_count(mount->fs->jobs, snapshot.n_jobs);
    snapshot.n_to_fill = refills_count(mount->fs->refills);
    accounts_sum(mount->accounts, snapshot.accounts);
    snapshot.groups = groups_count(mount->groups);
    *ret_snapshot = snapshot;
    return 0;
}

void snapshot_done(struct snapshot *snapshot)
{
    free(snapshot->disk);
    *snapshot = (struct snapshot){ 0 };
}
