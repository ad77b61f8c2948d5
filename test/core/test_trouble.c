/* SPDX-License-Identifier: MIT */
/* What core tells of calls to disks that fail, and for which file they were made. */
#include "fs/core/disk/disk.h"
#include "fs/core/disk/workers.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

static struct trouble heard;
static uint32_t n_heard;

static void hear(void *ctx, const struct trouble *trouble)
{
    (void) ctx;
    heard = *trouble;
    n_heard++;
}

static const struct listener listener = { hear, NULL };

static int answer; /* what a call to the disk returns */

static int fake_close(void *ctx, int fd)
{
    (void) ctx, (void) fd;
    return answer;
}

static const struct disk_ops fake_ops = { .close = fake_close };

static struct disk made_disk(void)
{
    struct disk disk = { .ops = &fake_ops, .index = 7 };

    cr_assert_eq(watch_new(0, &listener, &disk.watch), 0);
    return disk;
}

struct call_case {
    char why[40];
    int answer;
    bool is_told;
    enum trouble_kind kind;
    uint32_t n_counted;
};

ParameterizedTestParameters(trouble, of_calls)
{
    static struct call_case rows[] = {
        { "a call that went well", 0, false, TROUBLE_CALL, 0 },
        { "a name that is not there", -ENOENT, false, TROUBLE_CALL, 0 },
        { "a right that lacks", -EACCES, false, TROUBLE_CALL, 0 },
        { "a device that fails", -EIO, true, TROUBLE_CALL, 1 },
        { "one that has become read-only", -EROFS, true, TROUBLE_CALL, 1 },
        { "no room is nobody's fault", -ENOSPC, true, TROUBLE_FULL, 0 },
        { "nor is a quota", -EDQUOT, true, TROUBLE_FULL, 0 },
    };

    return cr_make_param_array(struct call_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct call_case *row, trouble, of_calls)
{
    struct disk disk = made_disk();

    answer = row->answer;
    cr_expect_eq(disk_call(&disk, close, 3), row->answer, "%s", row->why);
    cr_expect_eq(n_heard, row->is_told, "%s", row->why);
    cr_expect_eq(atomic_load(&disk.watch->n_troubles), row->n_counted, "%s", row->why);
    if (row->is_told)
        cr_expect(heard.kind == row->kind && heard.error == row->answer && heard.disk == &disk &&
                      strcmp(heard.call, "close") == 0,
                  "%s", row->why);
    watch_free(disk.watch);
}

struct failing_job {
    struct chore chore;
    const struct disk *disk;
};

static void run_failing(struct chore *chore)
{
    (void) disk_call(((struct failing_job *) chore)->disk, close, 3);
}

/* A trouble is told with the file that the one who waits for a batch is at, whichever thread does the work. */
Test(trouble, a_batch_has_the_errand_of_who_waits)
{
    struct disk disk = made_disk();
    struct workers *workers;
    struct failing_job failing[2] = { { { .run = run_failing }, &disk }, { { .run = run_failing }, &disk } };
    struct chore *chore[] = { &failing[0].chore };

    answer = -EIO;
    cr_assert_eq(workers_new(1, &workers), 0);
    workers_start(workers);
    {
        cleanup(errand_leave) struct errand before = errand_at(42, 3);
        struct chore *both[] = { &failing[0].chore, &failing[1].chore };

        workers_run(workers, both, 1);
        cr_expect(heard.nodeid == 42 && heard.slot == 3);
        workers_run(workers, both, 2);
        cr_expect(n_heard == 3 && heard.nodeid == 42 && heard.slot == 3);
    }
    workers_run(workers, chore, 1);
    cr_expect(heard.nodeid == 0 && heard.slot == NO_SUBFILE, "nobody is at anything any more");
    workers_free(workers);
    watch_free(disk.watch);
}
