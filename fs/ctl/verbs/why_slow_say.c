/* SPDX-License-Identifier: MIT */
/* What fallsctl why-slow says of each cause: a sentence with its figures, and what helps. */
#include "fs/ctl/show/table.h"
#include "fs/ctl/verbs/report_times.h"
#include "fs/ctl/verbs/why_slow.h"
#include "fs/json/utf8.h"

#include <math.h>

/* What one file is told of by. */
struct saying {
    FILE *out;
    const struct slow_mount *mount;
    const struct slow_target *target;
    const struct slow_finding *finding;
};

static long percent(double share)
{
    return lround(100 * share);
}

static const struct slow_disk *disk_of(const struct saying *saying)
{
    return &saying->target->figures.disk[saying->finding->disk];
}

static double mean_size(const struct slow_figures *figures)
{
    return figures->accesses > 0 ? (double) figures->bytes / (double) figures->accesses : 0;
}

static void put_bytes(FILE *out, double bytes)
{
    char text[SIZE_TEXT];

    fputs(size_text((uint64_t) bytes, false, text), out);
}

static void put_time(FILE *out, double seconds)
{
    char text[TIME_TEXT];

    fputs(time_text(seconds, text), out);
}

/* -- why -- */

static void why_failing(const struct saying *saying)
{
    const struct slow_disk *disk = disk_of(saying);

    if (disk->is_up)
        fprintf(saying->out, "%s failed %" PRIu64 " calls meanwhile, and %" PRIu64 " were not made", disk->name,
                disk->errors, disk->refused);
    else
        fprintf(saying->out, "%s does not answer; %" PRIu64 " calls were not made", disk->name, disk->refused);
}

static void why_locks(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;

    fprintf(saying->out, "programs waited %" PRIu64 " times, ", figures->range_waits);
    put_time(saying->out, figures->range_waited);
    fputs(" in all of ", saying->out);
    put_time(saying->out, figures->waited);
    fputs(", for others that change the same part of the file", saying->out);
}

static void why_migration(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;

    if (saying->target->job.number > 0)
        fprintf(saying->out, "the file is on its way to another layout, by job %" PRIu64 ": ",
                saying->target->job.number);
    else
        fprintf(saying->out, "other files are on their way to other layouts, by %" PRIu64 " job%s: ", figures->jobs,
                figures->jobs == 1 ? "" : "s");
    put_bytes(saying->out, (double) figures->background_bytes);
    fprintf(saying->out, " were moved for that, and the file's disks were busy up to %ld %%",
            percent(saying->target->verdict.disks_busy));
}

/* The kind of calls that the disk has spent most time with. */
static enum watch_kind main_kind(const struct slow_disk *disk)
{
    enum watch_kind main = WATCH_READS;

    for (enum watch_kind kind = 0; kind < WATCH_KINDS; kind++)
        if (disk->kind[kind].ns > disk->kind[main].ns)
            main = kind;
    return main;
}

static void why_slow(const struct saying *saying)
{
    static const char *const name[WATCH_KINDS] = { "reads", "writes", "syncs", "other calls" };
    const struct slow_disk *disk = disk_of(saying);
    enum watch_kind kind = main_kind(disk);

    fprintf(saying->out, "%s takes %.1f times as long as the others for the same: 99 of 100 of its %s took up to ",
            disk->name, saying->finding->ratio, name[kind]);
    put_time(saying->out, tally_percentile(&disk->kind[kind], 0.99));
    fprintf(saying->out, "; it was busy %ld %%", percent(slow_busy_share(&saying->target->figures, disk)));
}

static void why_hot(const struct saying *saying)
{
    const struct slow_disk *disk = disk_of(saying);

    fprintf(saying->out, "%s was busy %ld %% of the time, the others %ld %% on average; of what it moved, ", disk->name,
            percent(slow_busy_share(&saying->target->figures, disk)), percent(saying->finding->ratio));
    put_bytes(saying->out, (double) disk->bytes);
    fputs(", this file was ", saying->out);
    put_bytes(saying->out, (double) MIN(disk->file_bytes, disk->bytes));
}

static void why_layout(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;
    const struct slow_advice *advice = &saying->target->advice;

    fprintf(saying->out,
            "what is read and written lies badly: match degree %.2f, with %s it would be %.2f, and the disks "
            "%.1f times as fast",
            advice->degree, advice->layout, advice->best_degree,
            (double) figures->layout_now / (double) MAX(figures->layout_best, 1));
}

static void why_holes(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;

    put_bytes(saying->out, (double) figures->reread);
    fputs(" were read so that the holes between what was written, ", saying->out);
    put_bytes(saying->out, (double) figures->bytes_written);
    fputs(", keep their bytes", saying->out);
}

static void why_small(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;

    fprintf(saying->out, "%" PRIu64 " requests, ", figures->accesses);
    put_bytes(saying->out, mean_size(figures));
    fputs(" each, took ", saying->out);
    put_time(saying->out, figures->waited / (double) MAX(figures->accesses, 1));
    fputs(" each: that is for being requests more than for their bytes", saying->out);
}

static void why_unaligned(const struct saying *saying)
{
    const struct slow_figures *figures = &saying->target->figures;

    fprintf(saying->out, "%" PRIu64 " of %" PRIu64 " requests reach over a border of the stripe units, ",
            figures->crossing, figures->accesses);
    put_bytes(saying->out, (double) figures->unit);
    fputs(", and ask two disks, though each would fit into one unit", saying->out);
}

/* -- what helps -- */

/* fallsctl and a verb with its options, then the mount, then what stands behind it; NULL: nothing. */
static void command_on_mount(const struct saying *saying, const char *verb, const char *behind)
{
    fprintf(saying->out, "fallsctl %s ", verb);
    utf8_print_word(saying->out, saying->mount->target);
    if (behind != NULL)
        fprintf(saying->out, " %s", behind);
}

static void command_migrate(const struct saying *saying, const char *layout)
{
    fputs("fallsctl migrate -L ", saying->out);
    utf8_print_word(saying->out, layout);
    fputc(' ', saying->out);
    utf8_print_word(saying->out, saying->target->path);
}

static void command_failing(const struct saying *saying)
{
    command_on_mount(saying, "status", NULL);
}

static void command_drain(const struct saying *saying)
{
    command_on_mount(saying, "disk drain", disk_of(saying)->name);
}

static void command_jobs(const struct saying *saying)
{
    char order[64];

    snprintf(order, sizeof order, "jobs pause %" PRIu64, saying->target->job.number);
    command_on_mount(saying, saying->target->job.number > 0 ? order : "jobs", NULL);
}

/* Whether it is this file that keeps the disk busy. */
static bool is_this_file(const struct saying *saying)
{
    const struct slow_disk *disk = disk_of(saying);

    return disk->file_bytes * 2 >= disk->bytes;
}

static void command_hot(const struct saying *saying)
{
    if (!is_this_file(saying))
        command_on_mount(saying, "top", NULL);
    else if (saying->target->advice.layout != NULL)
        command_migrate(saying, saying->target->advice.layout);
    else
        command_on_mount(saying, "disk balance", NULL);
}

static void command_layout(const struct saying *saying)
{
    command_migrate(saying, saying->target->advice.layout);
}

/* Units so large that few requests cross their borders. */
#define LARGER 16

static void command_unaligned(const struct saying *saying)
{
    const struct layout *layout = saying->target->info.layout;

    if (layout->kind != LAYOUT_STRIPE)
        return;
    fputs("fallsctl migrate -L 'stripe(", saying->out);
    layout_print_size(saying->out, layout->unit * LARGER);
    fprintf(saying->out, ",%" PRIu32 ")' ", layout->pattern->n_elements);
    utf8_print_word(saying->out, saying->target->path);
}

static const struct {
    void (*why)(const struct saying *saying);
    void (*command)(const struct saying *saying); /* NULL: no command helps */
    const char *advice;
} causes[SLOW_CAUSES] = {
    [SLOW_FAILING_DISK] = { why_failing, command_failing,
                            "that says what is wrong with it; 'fallsctl disk drain' takes files off it while it can be "
                            "read" },
    [SLOW_LOCK_WAITS] = { why_locks, NULL,
                          "let processes write parts that lie apart, or all together as a group: "
                          "man 3 fallsfs_write_all" },
    [SLOW_MIGRATION] = { why_migration, command_jobs, "or migrate with --limit: man fallsctl" },
    [SLOW_DISK] = { why_slow, command_drain,
                    "takes all files off it; before that, 'fallsctl iostat 5' shows whether it stays so" },
    [SLOW_HOT_DISK] = { why_hot, command_hot, "spreads the work" },
    [SLOW_LAYOUT] = { why_layout, command_layout,
                      "'fallsctl recommend' has more to choose from, and tells when it pays" },
    [SLOW_HOLES] = { why_holes, NULL,
                     "write what lies together, or all together as a group, whose ranks fill each other's holes: "
                     "man 3 fallsfs_write_all" },
    [SLOW_SMALL_REQUESTS] = { why_small, NULL,
                              "ask for more at a time, 1M or more; leave it to the kernel's cache, without O_DIRECT and "
                              "-o direct_io; or ask for sections: man 3 libfallsfs" },
    [SLOW_UNALIGNED] = { why_unaligned, command_unaligned, "or let requests begin at multiples of the unit" },
};

static const char *advice_of(const struct saying *saying)
{
    if (saying->finding->cause == SLOW_HOT_DISK && !is_this_file(saying))
        return "shows which other files are in use; 'fallsctl disk balance' spreads them";
    return causes[saying->finding->cause].advice;
}

/* -- without a cause -- */

static void say_disks(FILE *out, const struct slow_target *target)
{
    const struct slow_figures *figures = &target->figures;

    fprintf(out, "nothing stands out: its disks are evenly busy, up to %ld %%, and give what they can, ",
            percent(target->verdict.disks_busy));
    put_bytes(out, (double) figures->bytes / figures->seconds);
    fputs(" a second", out);
}

static void say_elsewhere(FILE *out, const struct slow_target *target)
{
    const struct slow_figures *figures = &target->figures;

    fprintf(out, "nothing stands out: its disks were busy up to %ld %% of the time that programs waited for it; ",
            percent(target->verdict.disks_busy));
    if (figures->waited_in_groups * 2 > figures->waited)
        fputs("ranks of a group waited for each other, which 'fallsctl groups' tells of, or ", out);
    fputs("the rest goes to the kernel, the daemon and the processors", out);
}

static void say_limit(FILE *out, const struct slow_target *target, const struct slow_watch *watch)
{
    const struct slow_figures *figures = &target->figures;

    switch (target->verdict.limit) {
    case SLOW_IDLE:
        fputs(watch->pid != 0 ? "that process did nothing with it, or " : "nothing was done with it, or ", out);
        fputs("the kernel's cache answered, which is not slow", out);
        break;
    case SLOW_NOT_FILE:
        fprintf(out, "not slow: programs waited for it %ld %% of the time",
                percent(figures->active / figures->seconds));
        break;
    case SLOW_DISKS:
        say_disks(out, target);
        break;
    case SLOW_ELSEWHERE:
        say_elsewhere(out, target);
        break;
    }
}

/* -- the texts, whole -- */

/* Runs what prints a text, and gives the text; NULL without memory. */
static char *text_of(struct saying saying, void (*put)(const struct saying *saying))
{
    char *text = NULL;
    size_t len;

    saying.out = open_memstream(&text, &len);
    if (saying.out == NULL)
        return NULL;
    put(&saying);
    if (fclose(saying.out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void print_shown(FILE *out, const char *text)
{
    utf8_print_line(out, text != NULL ? text : "out of memory", false);
}

static void print_finding(FILE *out, const struct saying *saying, uint32_t i)
{
    cleanup(freep) char *why = text_of(*saying, causes[saying->finding->cause].why);
    void (*command)(const struct saying *saying) = causes[saying->finding->cause].command;
    cleanup(freep) char *order = command != NULL ? text_of(*saying, command) : NULL;

    fprintf(out, "%" PRIu32 ". %s, %ld %%: ", i + 1, slow_cause_name(saying->finding->cause),
            percent(saying->finding->share));
    print_shown(out, why);
    fputc('\n', out);
    if (order != NULL && order[0] != 0) {
        fputs("     ", out);
        print_shown(out, order);
        fputc('\n', out);
    }
    fprintf(out, "     %s\n", advice_of(saying));
}

static void print_head(FILE *out, const struct slow_watch *watch, const struct slow_target *target)
{
    const struct slow_figures *figures = &target->figures;

    utf8_print_line(out, target->path, false);
    fprintf(out, ": in %.1f s ", figures->seconds);
    if (watch->pid != 0)
        fprintf(out, "process %d made ", (int) watch->pid);
    fprintf(out, "%" PRIu64 " requests, ", figures->accesses);
    put_bytes(out, (double) figures->bytes);
    fprintf(out, ", waited for %ld %% of the time\n", percent(figures->active / figures->seconds));
}

void slow_print(FILE *out, const struct slow_watch *watch, const struct slow_target *target)
{
    const struct slow_mount *mount = &watch->mount[target->mount];

    if (target->refused != NULL) {
        print_shown(out, target->path);
        fputs(": ", out);
        print_shown(out, target->refused);
        fputc('\n', out);
        return;
    }
    print_head(out, watch, target);
    for (uint32_t i = 0; i < target->verdict.n; i++) {
        const struct saying saying = { out, mount, target, &target->verdict.finding[i] };

        print_finding(out, &saying, i);
    }
    if (target->verdict.n == 0) {
        say_limit(out, target, watch);
        fputc('\n', out);
    }
    if (mount->tap.was_stopped)
        fputs(
            "somebody has stopped a trace meanwhile that this went along with: what came after that is missing here\n",
            out);
    if (mount->trace.dropped > 0)
        fprintf(out, "%" PRIu64 " accesses came faster than they could be taken: they are missing here\n",
                mount->trace.dropped);
}

/* -- JSON -- */

static void json_finding(struct json *json, const struct saying *saying)
{
    cleanup(freep) char *why = text_of(*saying, causes[saying->finding->cause].why);
    void (*command)(const struct saying *saying) = causes[saying->finding->cause].command;
    cleanup(freep) char *order = command != NULL ? text_of(*saying, command) : NULL;
    bool is_of_disk = saying->finding->cause == SLOW_FAILING_DISK || saying->finding->cause == SLOW_DISK ||
                      saying->finding->cause == SLOW_HOT_DISK;

    json_open(json, NULL, '{');
    json_string(json, "cause", slow_cause_name(saying->finding->cause));
    json_real(json, "share", saying->finding->share);
    if (is_of_disk)
        json_string(json, "disk", disk_of(saying)->name);
    json_string(json, "why", why);
    json_string(json, "command", order != NULL && order[0] != 0 ? order : NULL);
    json_string(json, "advice", advice_of(saying));
    json_close(json, '}');
}

static void json_disks(struct json *json, const struct slow_figures *figures)
{
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < figures->n_disks; i++) {
        const struct slow_disk *disk = &figures->disk[i];

        json_open(json, NULL, '{');
        json_string(json, "disk", disk->name);
        json_bool(json, "has_file", disk->has_file);
        json_bool(json, "up", disk->is_up);
        json_seconds(json, "busy", disk->busy);
        json_u64(json, "bytes", disk->bytes);
        json_u64(json, "file_bytes", disk->file_bytes);
        json_u64(json, "errors", disk->errors);
        json_u64(json, "refused", disk->refused);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_figures(struct json *json, const struct slow_figures *figures)
{
    json_seconds(json, "seconds", figures->seconds);
    json_u64(json, "accesses", figures->accesses);
    json_u64(json, "failed", figures->failed);
    json_u64(json, "bytes", figures->bytes);
    json_u64(json, "written", figures->bytes_written);
    json_seconds(json, "active", figures->active);
    json_seconds(json, "waited", figures->waited);
    json_u64(json, "crossing", figures->crossing);
    json_u64(json, "range_waits", figures->range_waits);
    json_seconds(json, "range_waited", figures->range_waited);
    json_u64(json, "reread", figures->reread);
    json_u64(json, "jobs", figures->jobs);
    json_u64(json, "background_bytes", figures->background_bytes);
    json_disks(json, figures);
}

void slow_json(struct json *json, const struct slow_watch *watch, const struct slow_target *target)
{
    const struct slow_mount *mount = &watch->mount[target->mount];

    json_string(json, "file", target->path);
    if (target->refused != NULL) {
        json_string(json, "error", target->refused);
        return;
    }
    json_string(json, "mountpoint", mount->target);
    json_open(json, "causes", '[');
    for (uint32_t i = 0; i < target->verdict.n; i++)
        json_finding(json, &(struct saying){ NULL, mount, target, &target->verdict.finding[i] });
    json_close(json, ']');
    json_string(json, "limit", slow_limit_name(target->verdict.limit));
    json_u64(json, "dropped", mount->trace.dropped);
    json_bool(json, "trace_stopped", mount->tap.was_stopped);
    json_figures(json, &target->figures);
}
