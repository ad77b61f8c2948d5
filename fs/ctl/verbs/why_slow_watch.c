/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/think/rates.h"
#include "fs/ctl/verbs/why_slow.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE 0.1 /* seconds, before the trace is emptied: the mount keeps what comes meanwhile */

/* -- which files -- */

/* Finds a mount among those that are watched already, or adds it. -ENOMEM. */
static int find_mount(struct slow_watch *watch, const char *target, uint32_t *ret_mount)
{
    for (uint32_t i = 0; i < watch->n_mounts; i++)
        if (strcmp(watch->mount[i].target, target) == 0) {
            *ret_mount = i;
            return 0;
        }
    if (!array_grow(watch->mount, watch->n_mounts))
        return -ENOMEM;
    watch->mount[watch->n_mounts] = (struct slow_mount){ .target = strdup(target) };
    if (watch->mount[watch->n_mounts].target == NULL)
        return -ENOMEM;
    *ret_mount = watch->n_mounts++;
    return 0;
}

#define VIEWS ".falls/views/"

/* What is asked about when somebody names a path: of a view by name, MOUNT/.falls/views/PATH/NAME, the file. NULL: no
 * memory. */
static char *file_of(const char *path, const char *target, const char *below)
{
    const char *file = below + strlen(VIEWS), *name = strrchr(below, '/');
    char *text = NULL;

    if (strncmp(below, VIEWS, strlen(VIEWS)) != 0 || name <= file)
        return strdup(path);
    return asprintf(&text, "%s/%.*s", target, (int) (name - file), file) < 0 ? NULL : text;
}

/* Finds the mount that a path lies in, and the file there. */
static int find_place(struct slow_watch *watch, const char *path, uint32_t *ret_mount, char **ret_path,
                      char why[static ATTRS_WHY])
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *full = NULL;
    const struct mount_place *place = NULL;
    const char *below;
    int r = mounts_read(&mounts);

    if (r == 0)
        r = mounts_resolve(&mounts, path, &full);
    if (r < 0)
        return attrs_refuse(why, r, "%s", strerror(-r));
    place = mounts_around(&mounts, full, &below);
    if (place == NULL)
        return attrs_refuse(why, -ENODATA, "lies in no mounted fallsfs; 'fallsctl status' lists those");
    *ret_path = file_of(path, place->target, below);
    if (*ret_path == NULL || find_mount(watch, place->target, ret_mount) < 0)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    return 0;
}

static bool is_watched(const struct slow_watch *watch, uint32_t mount, uint64_t inode)
{
    for (uint32_t i = 0; i < watch->n_targets; i++)
        if (watch->target[i].mount == mount && watch->target[i].inode == inode)
            return true;
    return false;
}

static void target_done(struct slow_target *target)
{
    if (target->held >= 0)
        close(target->held);
    file_info_done(&target->info);
    slow_advice_done(&target->advice);
    free(target->figures.disk);
    free(target->refused);
    free(target->path);
}

int slow_watch_add(struct slow_watch *watch, const char *path, char ret_why[static ATTRS_WHY])
{
    struct slow_target target = { .held = -1 };
    struct stat st;
    int r = find_place(watch, path, &target.mount, &target.path, ret_why);

    if (r == 0 && stat(target.path, &st) < 0)
        r = attrs_refuse(ret_why, -errno, "%s", strerror(errno));
    if (r == 0 && !S_ISREG(st.st_mode))
        r = attrs_refuse(ret_why, -ENODATA, "is no regular file");
    if (r == 0 && is_watched(watch, target.mount, st.st_ino))
        r = attrs_refuse(ret_why, -ENODATA, "is named twice");
    if (r == 0)
        r = file_info_init(&target.info, target.path, ret_why);
    if (r == 0 && !array_grow(watch->target, watch->n_targets))
        r = attrs_refuse(ret_why, -ENOMEM, "out of memory");
    if (r < 0) {
        target_done(&target);
        return r;
    }
    target.inode = st.st_ino;
    target.held = open(target.path, O_RDONLY | O_CLOEXEC | O_NOATIME | O_NONBLOCK);
    watch->target[watch->n_targets++] = target;
    return 0;
}

void slow_watch_done(struct slow_watch *watch)
{
    for (uint32_t i = 0; i < watch->n_mounts; i++) {
        trace_tap_done(&watch->mount[i].tap);
        trace_done(&watch->mount[i].trace);
        stats_done(&watch->mount[i].before);
        stats_done(&watch->mount[i].after);
        free(watch->mount[i].target);
    }
    for (uint32_t i = 0; i < watch->n_targets; i++)
        target_done(&watch->target[i]);
    free(watch->mount);
    free(watch->target);
    *watch = (struct slow_watch){ 0 };
}

/* -- watching -- */

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int signal)
{
    (void) signal;
    is_interrupted = 1;
}

void slow_watch_notice_interrupts(void)
{
    const struct sigaction action = { .sa_handler = note_interrupt };

    (void) sigaction(SIGINT, &action, NULL);
    (void) sigaction(SIGTERM, &action, NULL);
    (void) sigaction(SIGHUP, &action, NULL);
}

static void look_at_job(struct slow_target *target)
{
    cleanup(freep) char *text = NULL;
    const char *at;
    struct job_info job;

    if (attrs_get(target->path, "migrate", &text) < 0)
        return;
    at = text;
    if (job_next(&at, &job) && strcmp(job.state, "running") == 0) {
        target->job = job;
        target->job.path = ""; /* the text goes */
        target->job.path_len = 0;
    }
}

/* Has the files traced that the user may trace. */
static int begin_traces(struct slow_watch *watch, char why[static ATTRS_WHY])
{
    uint32_t n = 0;
    int r = 0;

    for (uint32_t i = 0; r != -ENOMEM && i < watch->n_targets; i++) {
        struct slow_target *target = &watch->target[i];

        r = trace_tap_add(&watch->mount[target->mount].tap, target->path, why);
        n += r == 0;
        if (r < 0 && (target->refused = strdup(why)) == NULL)
            r = -ENOMEM;
    }
    return n > 0 && r != -ENOMEM ? 0 : r;
}

static int begin(struct slow_watch *watch, char why[static ATTRS_WHY])
{
    int r = begin_traces(watch, why);

    for (uint32_t i = 0; r == 0 && i < watch->n_mounts; i++) {
        r = trace_tap_begin(&watch->mount[i].tap, watch->mount[i].target, why);
        if (r == 0)
            r = stats_get(watch->mount[i].target, &watch->mount[i].before, why);
    }
    for (uint32_t i = 0; r == 0 && i < watch->n_targets; i++) {
        (void) file_stats_get(watch->target[i].path, &watch->target[i].before);
        look_at_job(&watch->target[i]);
    }
    return r;
}

static int wait_and_take(struct slow_watch *watch, char why[static ATTRS_WHY])
{
    uint64_t until = clock_ns() + (uint64_t) (watch->seconds * 1e9);
    int r = 0;

    while (r == 0 && is_interrupted == 0 && clock_ns() < until) {
        double left = (double) (until - MIN(clock_ns(), until)) / 1e9, pause = MIN(left, PAUSE);
        const struct timespec t = { 0, (long) (pause * 1e9) };

        (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
        for (uint32_t i = 0; r == 0 && i < watch->n_mounts; i++)
            r = trace_tap_take(&watch->mount[i].tap, why);
    }
    return r;
}

static int end(struct slow_watch *watch, char why[static ATTRS_WHY])
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < watch->n_mounts; i++) {
        r = stats_get(watch->mount[i].target, &watch->mount[i].after, why);
        if (r == 0)
            r = trace_tap_end(&watch->mount[i].tap, &watch->mount[i].trace, why);
    }
    for (uint32_t i = 0; r == 0 && i < watch->n_targets; i++) {
        watch->target[i].after = watch->target[i].before;
        (void) file_stats_get(watch->target[i].path, &watch->target[i].after);
        if (watch->target[i].job.number == 0)
            look_at_job(&watch->target[i]);
    }
    return r;
}

/* -- figures -- */

static bool lies_on(const struct file_info *info, const char *name)
{
    uint32_t n = info->layout->pattern != NULL ? info->layout->pattern->n_elements : 0;
    char disk[STATS_NAME];

    for (uint32_t i = 0; i <= n; i++) {
        if (i == n && info->layout->disp == 0)
            break;
        snprintf(disk, sizeof disk, "d%" PRIu32, file_info_disk(info, i < n ? i : ELEMENT_HEADER));
        if (strcmp(disk, name) == 0)
            return true;
    }
    return false;
}

static struct slow_disk compare_disk(const struct slow_mount *mount, const struct stats_disk *now)
{
    static const struct stats_disk nothing = { .name = "" };
    const struct stats_disk *was = stats_disk(&mount->before, now->name);
    struct slow_disk disk = { .is_up = now->is_up };

    was = was != NULL ? was : &nothing;
    memcpy(disk.name, now->name, sizeof disk.name);
    disk.busy = (double) (now->busy_ns - MIN(was->busy_ns, now->busy_ns)) / 1e9;
    disk.errors = now->errors - MIN(was->errors, now->errors);
    disk.refused = now->refused - MIN(was->refused, now->refused);
    for (int kind = 0; kind < WATCH_KINDS; kind++) {
        disk.kind[kind] = tally_since(&was->kind[kind], &now->kind[kind]);
        disk.bytes += disk.kind[kind].bytes;
    }
    return disk;
}

/* Disks that are there, and those that the file should be on. */
static int add_disks(struct slow_figures *figures, const struct slow_mount *mount, const struct file_info *info)
{
    figures->disk = calloc(MAX(mount->after.n_disks, 1), sizeof *figures->disk);
    if (figures->disk == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < mount->after.n_disks; i++) {
        struct slow_disk disk = compare_disk(mount, &mount->after.disk[i]);

        disk.has_file = lies_on(info, disk.name);
        if (disk.has_file || (!mount->after.disk[i].is_absent && !mount->after.disk[i].is_leaving))
            figures->disk[figures->n_disks++] = disk;
    }
    return 0;
}

/* Bytes that programs have asked for, of disks: what is copied is read and written. */
static uint64_t asked_for(const struct slow_mount *mount)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < mount->after.n_operations; i++) {
        const struct stats_operation *operation = &mount->after.operation[i];
        bool is_copy = strcmp(operation->name, "copy_file_range") == 0;

        bytes += rates_operation(&mount->before, &mount->after, operation).bytes * (is_copy ? 2 : 1);
    }
    for (int writes = 0; writes < 2; writes++)
        bytes += tally_since(&mount->before.round[writes], &mount->after.round[writes]).bytes;
    return bytes;
}

static void add_background(struct slow_figures *figures, const struct slow_mount *mount)
{
    uint64_t moved = 0, asked = asked_for(mount);

    for (uint32_t i = 0; i < figures->n_disks; i++)
        moved += figures->disk[i].bytes;
    figures->jobs = MAX(mount->before.jobs_running, mount->after.jobs_running);
    figures->background_bytes = moved - MIN(moved, asked);
}

static int judge(const struct slow_watch *watch, struct slow_target *target)
{
    struct slow_mount *mount = &watch->mount[target->mount];
    const struct slow_file file = { target->inode, (uint32_t) watch->pid, &target->info, target->path };
    const struct file_stats did = file_stats_since(&target->before, &target->after);
    struct slow_figures *figures = &target->figures;
    uint32_t index;
    int r;

    figures->seconds = rates_seconds(&mount->before, &mount->after);
    figures->range_waits = did.range_waits;
    figures->range_waited = (double) did.range_wait_ns / 1e9;
    figures->reread = did.reread;
    r = add_disks(figures, mount, &target->info);
    if (r < 0)
        return r;
    add_background(figures, mount);
    r = slow_trace_gather(&mount->trace, &file, &index);
    if (r == 0)
        r = slow_trace_look(figures, &mount->trace, index, &file, &target->advice);
    if (r == -ENOMEM)
        return r;
    figures->active = MIN(figures->active, figures->seconds);
    target->verdict = slow_judge(figures);
    return 0;
}

int slow_watch_run(struct slow_watch *watch, char ret_why[static ATTRS_WHY])
{
    int r = begin(watch, ret_why);

    if (r == 0)
        r = wait_and_take(watch, ret_why);
    if (r == 0)
        r = end(watch, ret_why);
    for (uint32_t i = 0; r == 0 && i < watch->n_targets; i++)
        if (watch->target[i].refused == NULL)
            r = judge(watch, &watch->target[i]);
    return r == -ENOMEM ? attrs_refuse(ret_why, r, "out of memory") : r;
}
