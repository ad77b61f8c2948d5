/* SPDX-License-Identifier: MIT */
/* Writing behind: which disks are told to begin to write, and who learns of an error that was found by that. */
#include "test/core/local.h"

#include <criterion/criterion.h>

#define MIB (UINT64_C(1) << 20)

static struct disk_ops ops;
static atomic_int n_begun, n_waited, wait_error;

static int counted_sync(void *ctx, int fd, enum disk_sync how)
{
    n_begun += how == SYNC_START;
    n_waited += how == SYNC_WAIT;
    return how == SYNC_WAIT && wait_error != 0 ? wait_error : disk_local_ops.sync(ctx, fd, how);
}

static void begin(struct local *local, unsigned n_disks)
{
    local_init(local, n_disks, "stripe(1M)");
    cr_assert_eq(volume_watch(local->fs->volume, 60, NULL), 0);
    ops = disk_local_ops;
    ops.sync = counted_sync;
    for (unsigned i = 0; i < n_disks; i++)
        local->fs->volume->disk[i].ops = &ops;
}

static void write_mib(struct local *local, unsigned n)
{
    static char bytes[MIB];

    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(file_write(local->fs, local->file, bytes, sizeof bytes, i * MIB), (ssize_t) sizeof bytes);
    workers_drain(local->fs->workers);
}

/* A disk known to be as quick as memory is not told to begin to write; a slow one is, and one that nobody knows yet. */
Test(behind, a_quick_disk_is_left_alone)
{
    struct local local;
    struct watch *quick;

    begin(&local, 2);
    quick = local.fs->volume->disk[0].watch;
    cr_assert(watch_begin_measure(quick));
    watch_end_measure(quick, UINT64_C(1) << 40, 1000);
    write_mib(&local, 12);
    cr_expect_eq(n_begun, 0, "nothing is long yet");
    write_mib(&local, 18);
    cr_expect_eq(n_begun, 1, "one is slow: %d", n_begun);
    cr_expect_eq(n_waited, 1, "and measured");
    cr_expect_gt(local.fs->volume->disk[1].watch->speed, 0);
    cr_expect_eq(file_sync(local.fs, local.file, false), 0);
    watch_end_measure(quick, 1, 1000000);
    write_mib(&local, 16);
    cr_expect_gt(n_begun, 1, "not quick any more: %d", n_begun);
    local_done(&local);
}

Test(behind, an_error_is_the_next_fsyncs)
{
    struct local local;

    begin(&local, 1);
    wait_error = -ENOSPC;
    write_mib(&local, 9);
    cr_expect_eq(n_waited, 1);
    wait_error = 0;
    cr_expect_eq(local.fs->volume->disk[0].watch->speed, 0, "that says nothing of the disk");
    cr_expect_eq(file_sync(local.fs, local.file, false), -ENOSPC);
    cr_expect_eq(file_errors(local.file), 1);
    cr_expect_eq(file_sync(local.fs, local.file, false), 0, "told once");
    local_done(&local);
}
