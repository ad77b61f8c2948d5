/* SPDX-License-Identifier: MIT */
/* fallsctl iostat: what each disk of a mount does, since the mount began and then from time to time. */
#include "fs/ctl/ask/stats.h"
#include "fs/ctl/ask/which_mount.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/think/rates.h"
#include "fs/ctl/verbs/report_times.h"
#include "fs/ctl/verbs/verbs.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl iostat [-n COUNT] [-b] " TABLE_USAGE " [--json] [SECONDS] [MOUNTPOINT]\n"
    "\n"
    "Tells what each disk of a mount does, as the mount counts it: first since it was mounted, then, with SECONDS, what\n"
    "came in each so many of them, until it is interrupted. Without MOUNTPOINT the only mount there is.\n"
    "\n"
    "  DISK            d0 and so on\n"
    "  STATE           up; silent: it does not answer; absent; read-only\n"
    "  READS/s WRITES/s SYNCS/s OTHERS/s\n"
    "                  calls a second; others are about names, attributes and room\n"
    "  READ/s WRITTEN/s\n"
    "                  bytes a second\n"
    "  READ-P50 READ-P99 WRITE-P50 WRITE-P99 SYNC-P50 SYNC-P99\n"
    "                  what half of the calls, and 99 of 100, took at most; between powers of two it is a guess\n"
    "  BUSY            how much of the time at least one call was under way\n"
    "  QUEUE           calls that waited at the same time, on average\n"
    "  WAITING         calls that wait just now\n"
    "  ERRORS          calls that failed by the disk's fault, and what it has lost\n"
    "  REFUSED         calls that were not made, since the disk did not answer others\n"
    "\n"
    "  -n COUNT        so many reports; without SECONDS one second apart\n"
    "  -b              bytes in full; else in powers of 1024\n" TABLE_HELP
    "  --json          an object on a line for each report\n"
    "\n"
    "examples:\n"
    "  fallsctl iostat 5 /fast\n"
    "  fallsctl iostat -n 3 -o DISK,READ/s,READ-P99 1\n"
    "  fallsctl iostat --json /fast | jq '.disks[] | select(.errors > 0) | .disk'\n";

static const struct column columns[] = {
    { "DISK", COLUMN_LEFT },      { "STATE", COLUMN_LEFT },      { "READS/s", COLUMN_RIGHT },
    { "WRITES/s", COLUMN_RIGHT }, { "SYNCS/s", COLUMN_RIGHT },   { "OTHERS/s", COLUMN_RIGHT },
    { "READ/s", COLUMN_RIGHT },   { "WRITTEN/s", COLUMN_RIGHT }, { "READ-P50", COLUMN_RIGHT },
    { "READ-P99", COLUMN_RIGHT }, { "WRITE-P50", COLUMN_RIGHT }, { "WRITE-P99", COLUMN_RIGHT },
    { "SYNC-P50", COLUMN_RIGHT }, { "SYNC-P99", COLUMN_RIGHT },  { "BUSY", COLUMN_RIGHT },
    { "QUEUE", COLUMN_RIGHT },    { "WAITING", COLUMN_RIGHT },   { "ERRORS", COLUMN_RIGHT },
    { "REFUSED", COLUMN_RIGHT },
};

#define USUAL \
    "DISK,STATE,READS/s,READ/s,READ-P50,READ-P99,WRITES/s,WRITTEN/s,WRITE-P50,WRITE-P99,SYNCS/s,BUSY,QUEUE,WAITING,ERRORS"

struct request {
    bool raw, as_json;
    const char *count;
    struct table_options options;
};

/* -- for people -- */

static const char *state_of(const struct stats_disk *disk)
{
    return disk->is_absent ? "absent" : !disk->is_up ? "silent" : disk->is_read_only ? "read-only" : "up";
}

static void add_bytes(struct table *table, double bytes, bool raw)
{
    char text[SIZE_TEXT];

    table_add(table, size_text((uint64_t) bytes, raw, text));
}

static void add_time(struct table *table, double seconds)
{
    char text[TIME_TEXT];

    table_add(table, seconds > 0 ? time_text(seconds, text) : "-");
}

static void add_row(struct table *table, const struct stats_disk *disk, const struct rates *rates, bool raw)
{
    table_add(table, disk->name);
    table_add(table, state_of(disk));
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        table_addf(table, "%.1f", rates->calls[kind]);
    add_bytes(table, rates->bytes[WATCH_READS], raw);
    add_bytes(table, rates->bytes[WATCH_WRITES], raw);
    for (int kind = 0; kind < WATCH_OTHERS; kind++) {
        add_time(table, rates->median[kind]);
        add_time(table, rates->percentile[kind]);
    }
    table_addf(table, "%.0f%%", 100 * rates->busy);
    table_addf(table, "%.2f", rates->n_waiting);
    table_addf(table, "%" PRIu64, disk->queue);
    table_addf(table, "%" PRIu64, rates->errors);
    table_addf(table, "%" PRIu64, rates->refused);
}

static void print(const struct request *request, const struct stats *before, const struct stats *now)
{
    struct table table;

    table_init(&table, columns, ARRAY_SIZE(columns), USUAL, &request->options);
    for (uint32_t i = 0; i < now->n_disks; i++) {
        struct rates rates = rates_of(before, now, &now->disk[i]);

        add_row(&table, &now->disk[i], &rates, request->raw);
    }
    if (before != NULL && !table_is_alone(&request->options))
        putchar('\n');
    (void) table_print(&table, stdout);
    table_done(&table);
}

/* -- for programs -- */

static void json_kind(struct json *json, const char *name, const struct rates *rates, enum watch_kind kind)
{
    json_open(json, name, '{');
    json_real(json, "calls_per_second", rates->calls[kind]);
    if (kind == WATCH_READS || kind == WATCH_WRITES)
        json_real(json, "bytes_per_second", rates->bytes[kind]);
    json_seconds(json, "p50", rates->median[kind]);
    json_seconds(json, "p99", rates->percentile[kind]);
    json_close(json, '}');
}

static void print_json(const char *target, const struct stats *before, const struct stats *now)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "mountpoint", target);
    json_seconds(&json, "seconds", rates_seconds(before, now));
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < now->n_disks; i++) {
        const struct stats_disk *disk = &now->disk[i];
        struct rates rates = rates_of(before, now, disk);

        json_open(&json, NULL, '{');
        json_string(&json, "disk", disk->name);
        json_string(&json, "state", state_of(disk));
        json_kind(&json, "reads", &rates, WATCH_READS);
        json_kind(&json, "writes", &rates, WATCH_WRITES);
        json_kind(&json, "syncs", &rates, WATCH_SYNCS);
        json_kind(&json, "others", &rates, WATCH_OTHERS);
        json_real(&json, "busy", rates.busy);
        json_real(&json, "mean_queue", rates.n_waiting);
        json_u64(&json, "queue", disk->queue);
        json_u64(&json, "errors", rates.errors);
        json_u64(&json, "refused", rates.refused);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

/* -- again and again -- */

static enum ctl_status show(const struct request *request, const struct report_times *times, const char *target)
{
    cleanup(stats_done) struct stats before = { 0 };
    cleanup(stats_done) struct stats now = { 0 };
    char why[ATTRS_WHY];

    for (uint64_t i = 0; report_times_wait(times, i); i++) {
        if (stats_get(target, &now, why) < 0)
            return report(request->as_json, "fallsctl iostat: %s", why);
        if (request->as_json)
            print_json(target, i > 0 ? &before : NULL, &now);
        else
            print(request, i > 0 ? &before : NULL, &now);
        if (fflush(stdout) != 0)
            return CTL_ERROR;
        stats_done(&before);
        before = now;
        now = (struct stats){ 0 };
    }
    return CTL_OK;
}

enum ctl_status ctl_iostat(int argc, char **argv)
{
    struct request request = { 0 };
    struct arg arg[3 + TABLE_ARGS] = { { .name = "--json", .set = &request.as_json },
                                       { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "-n", .value = &request.count } };
    struct args args = { .verb = "iostat", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(freep) char *target = NULL;
    struct report_times times;
    enum ctl_status status;
    char why[ATTRS_WHY];
    const char *place;

    table_args(&request.options, arg + 3);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&request.options, "iostat", columns, ARRAY_SIZE(columns), &status) ||
        !report_times_read(&args, request.count, 1, 1, &times, &place, &status))
        return status;
    if (which_mount(place, &target, why) < 0)
        return report(request.as_json, "fallsctl iostat: %s", why);
    return show(&request, &times, target);
}
