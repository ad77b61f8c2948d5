/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/stats.h"

#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mount_text.h"

#include <stdio.h>
#include <string.h>

/* -- out of a text -- */

static uint64_t number_of(const struct json_object *object, const char *name)
{
    uint64_t value = 0;

    (void) json_number(json_member(object, name), &value);
    return value;
}

static bool is_true(const struct json_object *object, const char *name)
{
    return json_is_true(json_member(object, name));
}

static void read_name(const struct json_object *object, const char *name, char ret_text[static STATS_NAME])
{
    const char *text = json_text(json_member(object, name));

    snprintf(ret_text, STATS_NAME, "%s", text != NULL ? text : "");
}

static struct tally_view tally_of(const struct json_object *object)
{
    const struct json_object *buckets = json_member(object, "buckets");
    struct tally_view tally = { .ns = number_of(object, "ns"),
                                .bytes = number_of(object, "bytes"),
                                .errors = number_of(object, "errors") };

    for (uint32_t i = 0; i < TALLY_BUCKETS; i++) {
        (void) json_number(json_at(buckets, i), &tally.bucket[i]);
        tally.n += tally.bucket[i];
    }
    return tally;
}

static void read_disk(const struct json_object *object, struct stats_disk *disk)
{
    static const char *const names[WATCH_KINDS] = {
        [WATCH_READS] = "read", [WATCH_WRITES] = "write", [WATCH_SYNCS] = "sync", [WATCH_OTHERS] = "other"
    };
    const struct json_object *calls = json_member(object, "calls");

    read_name(object, "disk", disk->name);
    disk->is_up = is_true(object, "up");
    disk->is_absent = is_true(object, "absent");
    disk->is_leaving = is_true(object, "leaving");
    disk->is_read_only = is_true(object, "read_only");
    disk->size = number_of(object, "size");
    disk->available = number_of(object, "available");
    disk->queue = number_of(object, "queue");
    disk->oldest_ms = number_of(object, "oldest_ms");
    disk->busy_ns = number_of(object, "busy_ns");
    disk->refused = number_of(object, "refused");
    disk->errors = number_of(object, "errors");
    for (size_t i = 0; i < json_count(calls); i++)
        for (int kind = 0; kind < WATCH_KINDS; kind++) {
            char name[STATS_NAME];

            read_name(json_at(calls, i), "kind", name);
            if (strcmp(name, names[kind]) == 0)
                disk->kind[kind] = tally_of(json_at(calls, i));
        }
}

static int read_lists(const struct json_object *all, struct stats *stats)
{
    const struct json_object *disks = json_member(all, "disks"), *operations = json_member(all, "operations");
    uint32_t n_disks = (uint32_t) json_count(disks), n_operations = (uint32_t) json_count(operations);

    stats->disk = calloc(MAX(n_disks, 1), sizeof stats->disk[0]);
    stats->operation = calloc(MAX(n_operations, 1), sizeof stats->operation[0]);
    if (stats->disk == NULL || stats->operation == NULL)
        return -ENOMEM;
    stats->n_disks = n_disks;
    stats->n_operations = n_operations;
    for (uint32_t i = 0; i < n_disks; i++)
        read_disk(json_at(disks, i), &stats->disk[i]);
    for (uint32_t i = 0; i < n_operations; i++) {
        read_name(json_at(operations, i), "operation", stats->operation[i].name);
        stats->operation[i].tally = tally_of(json_at(operations, i));
    }
    return 0;
}

static void add(struct tally_view *sum, const struct tally_view *one)
{
    for (uint32_t i = 0; i < TALLY_BUCKETS; i++)
        sum->bucket[i] += one->bucket[i];
    sum->n += one->n;
    sum->ns += one->ns;
    sum->bytes += one->bytes;
    sum->errors += one->errors;
}

static void read_rounds(const struct json_object *all, struct stats *stats)
{
    const struct json_object *rounds = json_member(all, "collectives");

    for (size_t i = 0; i < json_count(rounds); i++) {
        const char *direction = json_text(json_member(json_at(rounds, i), "direction"));
        struct tally_view tally = tally_of(json_at(rounds, i));

        add(&stats->round[direction != NULL && strcmp(direction, "write") == 0], &tally);
    }
}

static void read_numbers(const struct json_object *all, struct stats *stats)
{
    const struct json_object *groups = json_member(all, "groups"), *jobs = json_member(all, "jobs");
    const struct json_object *requests = json_member(all, "requests"), *open = json_member(all, "open");

    stats->began_ns = number_of(all, "began_ns");
    stats->mounted_ns = number_of(all, "mounted_ns");
    stats->groups = number_of(groups, "groups");
    stats->ranks = number_of(groups, "ranks");
    stats->waiters = number_of(groups, "waiters");
    stats->parked = number_of(requests, "parked");
    stats->late = number_of(requests, "late");
    stats->failed = number_of(requests, "failed");
    stats->files = number_of(open, "files");
    stats->directories = number_of(open, "directories");
    stats->jobs_waiting = number_of(jobs, "waiting");
    stats->jobs_running = number_of(jobs, "running");
    stats->jobs_paused = number_of(jobs, "paused");
    stats->jobs_failed = number_of(jobs, "failed");
}

int stats_read(const char *text, struct stats *ret_stats)
{
    cleanup(json_read_done) struct json_object *all = NULL;
    cleanup(stats_done) struct stats stats = { 0 };
    int r = json_read_long(text, &all);

    if (r == 0)
        r = read_lists(all, &stats);
    if (r < 0)
        return r;
    read_rounds(all, &stats);
    read_numbers(all, &stats);
    *ret_stats = stats;
    stats = (struct stats){ 0 };
    return 0;
}

int stats_get(const char *target, struct stats *ret_stats, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    int r = mount_text_get(target, "stats.json", JSON_READ_LONG, &text, ret_why);

    if (r < 0)
        return r;
    r = stats_read(text, ret_stats);
    return r < 0 ? attrs_refuse(ret_why, r, "%s: what it says of itself cannot be read: %s", target, strerror(-r)) : 0;
}

void stats_done(struct stats *stats)
{
    free(stats->disk);
    free(stats->operation);
    *stats = (struct stats){ 0 };
}

const struct stats_disk *stats_disk(const struct stats *stats, const char *name)
{
    for (uint32_t i = 0; i < stats->n_disks; i++)
        if (strcmp(stats->disk[i].name, name) == 0)
            return &stats->disk[i];
    return NULL;
}

const struct stats_operation *stats_operation(const struct stats *stats, const char *name)
{
    for (uint32_t i = 0; i < stats->n_operations; i++)
        if (strcmp(stats->operation[i].name, name) == 0)
            return &stats->operation[i];
    return NULL;
}
