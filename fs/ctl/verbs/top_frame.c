/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/top_frame.h"

#include "fs/ctl/ask/job.h"
#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mount_text.h"
#include "fs/ctl/show/screen.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/think/rates.h"
#include "fs/ctl/verbs/groups_rows.h"
#include "fs/ctl/verbs/report_times.h"
#include "fs/json/utf8.h"

#include <string.h>

#define MAX_JOBS       5
#define MAX_OPERATIONS 8
#define MAX_GROUPS     8

const char *top_order_name(enum top_order order)
{
    static const char *const name[TOP_ORDERS] = {
        [TOP_BY_BYTES] = "bytes", [TOP_BY_CALLS] = "calls", [TOP_BY_TIME] = "time", [TOP_BY_NAME] = "name"
    };

    return name[order];
}

/* -- looking -- */

static bool has_jobs(const struct stats *stats)
{
    return stats->jobs_waiting + stats->jobs_running + stats->jobs_paused > 0;
}

int top_look(const char *target, struct top_look *ret_look, char ret_why[static ATTRS_WHY])
{
    struct top_look look = { .jobs = NULL };
    char ignored[ATTRS_WHY];
    int r = stats_get(target, &look.stats, ret_why);

    if (r == 0)
        r = open_files_get(target, &look.files, ret_why);
    if (r == 0 && has_jobs(&look.stats) && mount_text_get(target, "jobs", JSON_READ_LONG, &look.jobs, ignored) < 0)
        look.jobs = NULL;
    if (r == 0 && look.stats.groups > 0 && groups_get(target, &look.groups, ignored) < 0)
        look.groups = (struct groups){ 0 };
    if (r < 0)
        top_look_done(&look);
    else
        *ret_look = look;
    return r;
}

void top_look_done(struct top_look *look)
{
    stats_done(&look->stats);
    open_files_done(&look->files);
    groups_done(&look->groups);
    free(look->jobs);
    *look = (struct top_look){ .jobs = NULL };
}

/* -- what comes first -- */

struct item {
    double key[TOP_ORDERS];
    const char *name;
    uint32_t i;
};

static int compare(const void *a, const void *b, void *order)
{
    const struct item *x = a, *y = b;
    enum top_order by = *(const enum top_order *) order;
    double dx = x->key[by], dy = y->key[by];

    return by == TOP_BY_NAME || dx == dy ? strcmp(x->name, y->name) : dx < dy ? 1 : -1;
}

static void sort(struct item *item, uint32_t n, enum top_order order)
{
    qsort_r(item, n, sizeof *item, compare, &order);
}

static bool passes(const struct top_view *view, const char *text)
{
    return text != NULL && strcasestr(text, view->filter) != NULL;
}

/* -- the parts of a frame -- */

/* A frame as it is made: so many rows are left. */
struct frame {
    const struct top_view *view;
    FILE *out;
    uint32_t rows;
};

static void add_line(struct frame *frame, const char *look, const char *line, size_t len)
{
    if (frame->rows == 0)
        return;
    fprintf(frame->out, "%s%.*s\n", look, (int) len, line);
    if (frame->rows != TOP_ALL)
        frame->rows--;
}

/* Prints a table with its headings, at most so many rows of it, and an empty line. */
static void add_table(struct frame *frame, struct table *table, uint32_t max)
{
    cleanup(freep) char *text = NULL;
    const char *look = SCREEN_HEADING;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return;
    (void) table_print(table, out);
    if (fclose(out) != 0)
        return;
    for (const char *at = text; *at != 0 && max > 0; look = "", max--) {
        size_t n = strcspn(at, "\n");

        add_line(frame, look, at, n);
        at += n + (at[n] == '\n');
    }
    add_line(frame, "", "", 0);
}

static void add_bytes(struct table *table, const struct frame *frame, double bytes)
{
    char text[SIZE_TEXT];

    table_add(table, size_text((uint64_t) bytes, frame->view->raw, text));
}

static void add_time(struct table *table, double seconds)
{
    char text[TIME_TEXT];

    table_add(table, seconds > 0 ? time_text(seconds, text) : "-");
}

/* What the mount is at, and what is wrong with it, in a few lines. */
static void add_summary(struct frame *frame, const struct top_look *look)
{
    const struct stats *stats = &look->stats;
    char line[512], time[JOB_TIME];

    snprintf(line, sizeof line,
             "%s  mounted %s, %" PRIu64 " files open, %" PRIu64 " groups of %" PRIu64 " ranks, %" PRIu64
             " of them wait, %" PRIu64 " jobs",
             frame->view->target, job_time(stats->mounted_ns / 1000000, time), stats->files, stats->groups,
             stats->ranks, stats->waiters, stats->jobs_waiting + stats->jobs_running + stats->jobs_paused);
    utf8_tame(line);
    add_line(frame, "", line, strlen(line));
    if (stats->failed + stats->late + stats->parked + stats->jobs_failed > 0) {
        snprintf(line, sizeof line,
                 "%" PRIu64 " requests wait for disks, %" PRIu64 " have failed for disks, %" PRIu64
                 " of them late, %" PRIu64 " jobs have failed",
                 stats->parked, stats->failed, stats->late, stats->jobs_failed);
        add_line(frame, stats->parked > 0 ? SCREEN_ALARM : "", line, strlen(line));
    }
    for (uint32_t i = 0; i < stats->n_disks; i++)
        if (!stats->disk[i].is_up) {
            snprintf(line, sizeof line, "%s %s", stats->disk[i].name,
                     stats->disk[i].is_absent ? "is absent" : "does not answer");
            add_line(frame, SCREEN_ALARM, line, strlen(line));
        }
    add_line(frame, "", "", 0);
}

static void add_disks(struct frame *frame, const struct top_look *before, const struct top_look *now)
{
    static const struct column columns[] = {
        { "DISK", COLUMN_LEFT },       { "READS/s", COLUMN_RIGHT },   { "READ/s", COLUMN_RIGHT },
        { "P50", COLUMN_RIGHT },       { "P99", COLUMN_RIGHT },       { "WRITES/s", COLUMN_RIGHT },
        { "WRITTEN/s", COLUMN_RIGHT }, { "P50", COLUMN_RIGHT },       { "P99", COLUMN_RIGHT },
        { "SYNCS/s", COLUMN_RIGHT },   { "QUEUE", COLUMN_RIGHT },     { "WAITING", COLUMN_RIGHT },
        { "ERRORS", COLUMN_RIGHT },    { "AVAILABLE", COLUMN_RIGHT },
    };
    struct table table;

    table_init(&table, columns, ARRAY_SIZE(columns), NULL, NULL);
    for (uint32_t i = 0; i < now->stats.n_disks; i++) {
        const struct stats_disk *disk = &now->stats.disk[i];
        struct rates rates = rates_of(before != NULL ? &before->stats : NULL, &now->stats, disk);

        table_add(&table, disk->name);
        for (int kind = WATCH_READS; kind <= WATCH_WRITES; kind++) {
            table_addf(&table, "%.0f", rates.calls[kind]);
            add_bytes(&table, frame, rates.bytes[kind]);
            add_time(&table, rates.median[kind]);
            add_time(&table, rates.percentile[kind]);
        }
        table_addf(&table, "%.0f", rates.calls[WATCH_SYNCS]);
        table_addf(&table, "%.2f", rates.n_waiting);
        table_addf(&table, "%" PRIu64, disk->queue);
        table_addf(&table, "%" PRIu64, disk->errors);
        add_bytes(&table, frame, (double) disk->available);
    }
    add_table(frame, &table, UINT32_MAX);
    table_done(&table);
}

static void add_operation(struct table *table, const struct frame *frame, const char *name,
                          const struct tally_view *did, double seconds)
{
    table_add(table, name);
    table_addf(table, "%.0f", (double) did->n / seconds);
    add_bytes(table, frame, (double) did->bytes / seconds);
    add_time(table, tally_percentile(did, 0.5));
    add_time(table, tally_percentile(did, 0.99));
    table_addf(table, "%.2f", (double) did->ns / 1e9 / seconds);
    table_addf(table, "%" PRIu64, did->errors);
}

static void add_operations(struct frame *frame, const struct top_look *before, const struct top_look *now)
{
    static const struct column columns[] = {
        { "OPERATION", COLUMN_LEFT }, { "REQUESTS/s", COLUMN_RIGHT }, { "BYTES/s", COLUMN_RIGHT },
        { "P50", COLUMN_RIGHT },      { "P99", COLUMN_RIGHT },        { "AT-ONCE", COLUMN_RIGHT },
        { "ERRORS", COLUMN_RIGHT },
    };
    const struct stats *was = before != NULL ? &before->stats : NULL;
    double seconds = rates_seconds(was, &now->stats);
    uint32_t n = now->stats.n_operations, n_items = 0;
    cleanup(freep) struct item *item = calloc(MAX(n, 1), sizeof *item);
    cleanup(freep) struct tally_view *did = calloc(MAX(n, 1), sizeof *did);
    struct table table;

    if (item == NULL || did == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const struct stats_operation *operation = &now->stats.operation[i];

        did[i] = rates_operation(was, &now->stats, operation);
        if (did[i].n > 0 && passes(frame->view, operation->name))
            item[n_items++] = (struct item){ .key = { (double) did[i].bytes, (double) did[i].n, (double) did[i].ns },
                                             .name = operation->name,
                                             .i = i };
    }
    sort(item, n_items, frame->view->order);
    table_init(&table, columns, ARRAY_SIZE(columns), NULL, NULL);
    for (uint32_t i = 0; i < n_items; i++)
        add_operation(&table, frame, item[i].name, &did[item[i].i], seconds);
    add_table(frame, &table, frame->rows == TOP_ALL ? UINT32_MAX : 1 + MAX_OPERATIONS);
    table_done(&table);
}

/* What was moved by an open file between the looks. */
static struct open_file moved(const struct top_look *before, const struct open_file *file)
{
    const struct open_file *was = before != NULL ? open_files_find(&before->files, file->handle) : NULL;
    struct open_file did = *file;

    if (was != NULL && was->inode == file->inode) {
        did.reads -= MIN(was->reads, did.reads);
        did.read -= MIN(was->read, did.read);
        did.writes -= MIN(was->writes, did.writes);
        did.written -= MIN(was->written, did.written);
    }
    return did;
}

static void add_file(struct table *table, const struct frame *frame, const struct open_file *did, double seconds)
{
    char user[GROUPS_USER];

    if (did->pid > 0)
        table_addf(table, "%d", (int) did->pid);
    else
        table_add(table, "-");
    table_add(table, groups_user(did->uid, user));
    table_add(table, did->command[0] != 0 ? did->command : "-");
    table_addf(table, "%.0f", (double) did->reads / seconds);
    add_bytes(table, frame, (double) did->read / seconds);
    table_addf(table, "%.0f", (double) did->writes / seconds);
    add_bytes(table, frame, (double) did->written / seconds);
    table_addf(table, "%s%s", did->file != NULL ? did->file : "(removed)", did->is_view ? " (a view)" : "");
}

static void add_files(struct frame *frame, const struct top_look *before, const struct top_look *now)
{
    static const struct column columns[] = {
        { "PID", COLUMN_RIGHT },       { "USER", COLUMN_LEFT },    { "COMMAND", COLUMN_LEFT },
        { "READS/s", COLUMN_RIGHT },   { "READ/s", COLUMN_RIGHT }, { "WRITES/s", COLUMN_RIGHT },
        { "WRITTEN/s", COLUMN_RIGHT }, { "FILE", COLUMN_LEFT },
    };
    double seconds = rates_seconds(before != NULL ? &before->stats : NULL, &now->stats);
    uint32_t n = now->files.n, n_items = 0;
    cleanup(freep) struct item *item = calloc(MAX(n, 1), sizeof *item);
    cleanup(freep) struct open_file *did = calloc(MAX(n, 1), sizeof *did);
    struct table table;

    if (item == NULL || did == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const struct open_file *file = &now->files.file[i];
        double bytes;
        char user[GROUPS_USER];

        did[i] = moved(before, file);
        bytes = (double) (did[i].read + did[i].written);
        if (passes(frame->view, file->file) || passes(frame->view, file->command) ||
            passes(frame->view, groups_user(file->uid, user)))
            item[n_items++] = (struct item){ .key = { bytes, (double) (did[i].reads + did[i].writes), bytes },
                                             .name = file->file != NULL ? file->file : "",
                                             .i = i };
    }
    sort(item, n_items, frame->view->order);
    table_init(&table, columns, ARRAY_SIZE(columns), NULL, NULL);
    for (uint32_t i = 0; i < n_items; i++)
        add_file(&table, frame, &did[item[i].i], seconds);
    add_table(frame, &table, UINT32_MAX);
    table_done(&table);
}

/* By time those come first that have been at a round for longest; by bytes and calls, those with most ranks. */
static void add_groups(struct frame *frame, const struct groups *groups)
{
    cleanup(freep) struct item *item = calloc(MAX(groups->n, 1), sizeof *item);
    uint32_t n_items = 0;
    struct table table;

    if (item == NULL || groups->n == 0)
        return;
    for (size_t i = 0; i < groups->n; i++) {
        const struct fallsfs_ioc_groups *group = &groups->group[i];
        char user[GROUPS_USER];

        if (passes(frame->view, group->path) || passes(frame->view, groups_user(group->uid, user)))
            item[n_items++] = (struct item){ .key = { group->nranks, group->nranks, (double) group->ns_since },
                                             .name = group->path,
                                             .i = (uint32_t) i };
    }
    sort(item, n_items, frame->view->order);
    table_init(&table, groups_columns, GROUPS_COLUMNS, GROUPS_USUAL, NULL);
    for (uint32_t i = 0; i < n_items; i++)
        groups_add_row(&table, frame->view->target, &groups->group[item[i].i]);
    add_table(frame, &table, frame->rows == TOP_ALL ? UINT32_MAX : 1 + MAX_GROUPS);
    table_done(&table);
}

static void add_jobs(struct frame *frame, const char *jobs)
{
    static const struct column columns[] = {
        { "JOB", COLUMN_RIGHT },  { "STATE", COLUMN_LEFT }, { "DONE", COLUMN_RIGHT },
        { "RATE", COLUMN_RIGHT }, { "LEFT", COLUMN_RIGHT }, { "FILE", COLUMN_LEFT },
    };
    struct job_info job;
    struct table table;

    table_init(&table, columns, ARRAY_SIZE(columns), NULL, NULL);
    while (job_next(&jobs, &job)) {
        char time[JOB_TIME];

        if (!job_is_open(&job))
            continue;
        table_addf(&table, "%" PRIu64, job.number);
        table_add(&table, job.state);
        table_addf(&table, "%" PRIu64 "%%", job.total == 0 ? 100 : job.done * 100 / job.total);
        add_bytes(&table, frame, (double) job.rate);
        table_add(&table, job_time(job_left(job.done, job.total, job.rate), time));
        table_addf(&table, "%.*s", (int) job.path_len, job.path);
    }
    add_table(frame, &table, frame->rows == TOP_ALL ? UINT32_MAX : 1 + MAX_JOBS);
    table_done(&table);
}

void top_frame(const struct top_view *view, const struct top_look *before, const struct top_look *now, uint32_t rows,
               FILE *out)
{
    struct frame frame = { view, out, rows };

    add_summary(&frame, now);
    if (view->shows_disks)
        add_disks(&frame, before, now);
    if (now->jobs != NULL)
        add_jobs(&frame, now->jobs);
    if (view->shows_operations)
        add_operations(&frame, before, now);
    if (view->shows_groups)
        add_groups(&frame, &now->groups);
    if (view->shows_files)
        add_files(&frame, before, now);
}
