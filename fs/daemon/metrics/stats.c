/* SPDX-License-Identifier: MIT */
#include "fs/daemon/metrics/stats.h"

#include "fs/daemon/metrics/snapshot.h"
#include "fs/json/json.h"

/* Prints the fields of a tally; buckets ends with the last one that counted anything. */
static void tally_fields(struct json *json, const struct tally_view *tally)
{
    uint32_t n = TALLY_BUCKETS;

    while (n > 0 && tally->bucket[n - 1] == 0)
        n--;
    json_u64(json, "count", tally->n);
    json_u64(json, "errors", tally->errors);
    json_u64(json, "bytes", tally->bytes);
    json_u64(json, "ns", tally->ns);
    json_open(json, "buckets", '[');
    for (uint32_t i = 0; i < n; i++)
        json_u64(json, NULL, tally->bucket[i]);
    json_close(json, ']');
}

static void print_disk(struct json *json, const struct disk_snapshot *disk)
{
    char name[16];

    snprintf(name, sizeof name, "d%" PRIu32, disk->index);
    json_open(json, NULL, '{');
    json_string(json, "disk", name);
    json_bool(json, "up", disk_snapshot_is_up(disk));
    json_bool(json, "absent", !disk->is_present);
    json_bool(json, "leaving", disk->is_leaving);
    json_bool(json, "read_only", disk->is_read_only);
    json_u64(json, "size", disk->size);
    json_u64(json, "available", disk->available);
    json_u64(json, "queue", disk->queue);
    json_u64(json, "oldest_ms", disk->oldest_ms);
    json_u64(json, "busy_ns", disk->busy_ns);
    json_u64(json, "refused", disk->n_refused);
    json_u64(json, "errors", disk->n_troubles);
    json_open(json, "calls", '[');
    for (unsigned kind = 0; kind < WATCH_KINDS; kind++) {
        json_open(json, NULL, '{');
        json_string(json, "kind", snapshot_kind_name(kind));
        tally_fields(json, &disk->kind[kind]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void print_requests(struct json *json, const struct snapshot *snapshot)
{
    json_open(json, "requests", '{');
    json_u64(json, "failed", snapshot->n_failed);
    json_u64(json, "late", snapshot->n_late);
    json_u64(json, "parked", snapshot->n_parked);
    json_u64(json, "parked_bytes", snapshot->parked_bytes);
    json_close(json, '}');
    json_open(json, "operations", '[');
    for (unsigned i = 0; i < N_OPERATIONS; i++) {
        json_open(json, NULL, '{');
        json_string(json, "operation", operation_name(i));
        tally_fields(json, &snapshot->operation[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void print_waits(struct json *json, const struct snapshot *snapshot)
{
    json_open(json, "range_waits", '{');
    tally_fields(json, &snapshot->range_waits);
    json_close(json, '}');
}

static void print_collectives(struct json *json, const struct snapshot *snapshot)
{
    json_open(json, "collectives", '[');
    for (unsigned i = 0; i < 4; i++) {
        json_open(json, NULL, '{');
        json_string(json, "by", snapshot_by_name(i / 2 == 1));
        json_string(json, "direction", snapshot_direction_name(i % 2 == 1));
        tally_fields(json, &snapshot->round[i / 2][i % 2]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "collective_work", '{');
    json_u64(json, "disk_read", snapshot->work[WORK_DISK_READ]);
    json_u64(json, "disk_written", snapshot->work[WORK_DISK_WRITTEN]);
    json_u64(json, "mapped", snapshot->work[WORK_MAPPED]);
    json_u64(json, "reread", snapshot->work[WORK_REREAD]);
    json_u64(json, "windows", snapshot->work[WORK_WINDOWS]);
    json_close(json, '}');
    json_open(json, "groups", '{');
    json_u64(json, "groups", snapshot->groups.groups);
    json_u64(json, "ranks", snapshot->groups.ranks);
    json_u64(json, "requests", snapshot->groups.asks);
    json_u64(json, "waiters", snapshot->groups.waiters);
    json_close(json, '}');
}

static void print_rest(struct json *json, const struct snapshot *snapshot)
{
    json_open(json, "jobs", '{');
    for (unsigned state = 0; state < JOB_STATES; state++)
        json_u64(json, job_state_name(state), snapshot->n_jobs[state]);
    json_close(json, '}');
    json_u64(json, "files_to_fill", snapshot->n_to_fill);
    json_open(json, "open", '{');
    json_u64(json, "files", snapshot->n_files);
    json_u64(json, "directories", snapshot->n_directories);
    json_close(json, '}');
    json_open(json, "users", '{');
    json_u64(json, "descriptors", snapshot->accounts[ACCOUNT_DESCRIPTORS]);
    json_u64(json, "views", snapshot->accounts[ACCOUNT_VIEWS]);
    json_u64(json, "view_bytes", snapshot->accounts[ACCOUNT_VIEW_BYTES]);
    json_u64(json, "buffers", snapshot->accounts[ACCOUNT_BUFFERS]);
    json_u64(json, "buffer_bytes", snapshot->accounts[ACCOUNT_BUFFER_BYTES]);
    json_u64(json, "hole_bytes", snapshot->accounts[ACCOUNT_HOLE_BYTES]);
    json_u64(json, "list_bytes", snapshot->accounts[ACCOUNT_LIST_BYTES]);
    json_u64(json, "text_bytes", snapshot->accounts[ACCOUNT_TEXT_BYTES]);
    json_close(json, '}');
    json_open(json, "kernel_forgets", '{');
    json_u64(json, "pages", snapshot->forgotten[FORGOTTEN_PAGES]);
    json_u64(json, "names", snapshot->forgotten[FORGOTTEN_NAMES]);
    json_u64(json, "attributes", snapshot->forgotten[FORGOTTEN_ATTRIBUTES]);
    json_close(json, '}');
}

int stats_print(FILE *out)
{
    cleanup(snapshot_done) struct snapshot snapshot = { 0 };
    struct json json;
    int r = snapshot_take(&snapshot);

    if (r < 0)
        return r;
    json_begin(&json, out);
    json_string(&json, "version", FALLSFS_VERSION);
    json_string(&json, "volume", snapshot.volume);
    json_u64(&json, "began_ns", snapshot.began_ns);
    json_u64(&json, "mounted_ns", snapshot.ns);
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < snapshot.n_disks; i++)
        print_disk(&json, &snapshot.disk[i]);
    json_close(&json, ']');
    print_requests(&json, &snapshot);
    print_waits(&json, &snapshot);
    print_collectives(&json, &snapshot);
    print_rest(&json, &snapshot);
    json_end(&json);
    return 0;
}
