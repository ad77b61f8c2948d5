/* SPDX-License-Identifier: MIT */
#include "fs/daemon/metrics/exposition.h"

#include "fs/daemon/metrics/snapshot.h"

#define LABELS 64 /* bytes that the labels of a sample take at most */

/* -- the format -- */

static void family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP fallsfs_%s %s\n# TYPE fallsfs_%s %s\n", name, help, name, type);
}

static void sample(FILE *out, const char *name, const char *labels, uint64_t value)
{
    fprintf(out, "fallsfs_%s%s%s%s %" PRIu64 "\n", name, *labels != 0 ? "{" : "", labels, *labels != 0 ? "}" : "",
            value);
}

/* A family with one sample, which has no labels. */
static void only(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
    family(out, name, type, help);
    sample(out, name, "", value);
}

static void sample_seconds(FILE *out, const char *name, const char *labels, uint64_t ns)
{
    fprintf(out, "fallsfs_%s%s%s%s %" PRIu64 ".%09" PRIu64 "\n", name, *labels != 0 ? "{" : "", labels,
            *labels != 0 ? "}" : "", ns / 1000000000, ns % 1000000000);
}

/* The samples of a histogram: a bucket counts those before it, too. */
static void histogram(FILE *out, const char *name, const char *labels, const struct tally_view *tally)
{
    const char *comma = *labels != 0 ? "," : "";
    uint64_t n = 0;
    char text[64];

    for (uint32_t i = 0; i + 1 < TALLY_BUCKETS; i++) {
        n += tally->bucket[i];
        fprintf(out, "fallsfs_%s_bucket{%s%sle=\"%.6f\"} %" PRIu64 "\n", name, labels, comma, tally_bound(i), n);
    }
    fprintf(out, "fallsfs_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, tally->n);
    snprintf(text, sizeof text, "%s_sum", name);
    sample_seconds(out, text, labels, tally->ns);
    snprintf(text, sizeof text, "%s_count", name);
    sample(out, text, labels, tally->n);
}

/* -- disks -- */

static uint64_t up_of(const struct disk_snapshot *disk)
{
    return disk_snapshot_is_up(disk);
}

static uint64_t read_only_of(const struct disk_snapshot *disk)
{
    return disk->is_read_only;
}

static uint64_t queue_of(const struct disk_snapshot *disk)
{
    return disk->queue;
}

static uint64_t refused_of(const struct disk_snapshot *disk)
{
    return disk->n_refused;
}

static uint64_t troubles_of(const struct disk_snapshot *disk)
{
    return disk->n_troubles;
}

static uint64_t size_of(const struct disk_snapshot *disk)
{
    return disk->size;
}

static uint64_t available_of(const struct disk_snapshot *disk)
{
    return disk->available;
}

/* What there is one of for each disk. */
static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const struct disk_snapshot *disk);
} of_disks[] = {
    { "disk_up", "gauge", "Whether the disk is there and answers.", up_of },
    { "disk_read_only", "gauge", "Whether the disk takes no writes.", read_only_of },
    { "disk_size_bytes", "gauge", "Size of the disk's file system, as it last said; 0: it has not said.", size_of },
    { "disk_available_bytes", "gauge", "Free bytes of the disk's file system, as it last said.", available_of },
    { "disk_queue", "gauge", "Calls that the disk has not answered yet.", queue_of },
    { "disk_refused_calls_total", "counter", "Calls that the disk was not asked, since it did not answer others.",
      refused_of },
    { "disk_troubles_total", "counter", "Calls that failed by the disk's fault, and subfiles that it has lost.",
      troubles_of },
};

static const char *disk_label(const struct disk_snapshot *disk, char labels[static LABELS])
{
    snprintf(labels, LABELS, "disk=\"d%" PRIu32 "\"", disk->index);
    return labels;
}

static const char *kind_labels(const struct disk_snapshot *disk, unsigned kind, char labels[static LABELS])
{
    snprintf(labels, LABELS, "disk=\"d%" PRIu32 "\",kind=\"%s\"", disk->index, snapshot_kind_name(kind));
    return labels;
}

static void print_disks(FILE *out, const struct snapshot *snapshot)
{
    char labels[LABELS];

    for (size_t k = 0; k < ARRAY_SIZE(of_disks); k++) {
        family(out, of_disks[k].name, of_disks[k].type, of_disks[k].help);
        for (uint32_t i = 0; i < snapshot->n_disks; i++)
            sample(out, of_disks[k].name, disk_label(&snapshot->disk[i], labels),
                   of_disks[k].value(&snapshot->disk[i]));
    }
    family(out, "disk_oldest_call_seconds", "gauge", "How long the oldest call that is not answered has waited.");
    for (uint32_t i = 0; i < snapshot->n_disks; i++)
        sample_seconds(out, "disk_oldest_call_seconds", disk_label(&snapshot->disk[i], labels),
                       snapshot->disk[i].oldest_ms * 1000000);
    family(out, "disk_busy_seconds_total", "counter", "How long at least one call to the disk was under way.");
    for (uint32_t i = 0; i < snapshot->n_disks; i++)
        sample_seconds(out, "disk_busy_seconds_total", disk_label(&snapshot->disk[i], labels),
                       snapshot->disk[i].busy_ns);
}

static void print_calls(FILE *out, const struct snapshot *snapshot)
{
    const uint32_t n = snapshot->n_disks * WATCH_KINDS;
    char labels[LABELS];

    family(out, "disk_call_seconds", "histogram", "How long the disk's calls took.");
    for (uint32_t i = 0; i < n; i++)
        histogram(out, "disk_call_seconds", kind_labels(&snapshot->disk[i / WATCH_KINDS], i % WATCH_KINDS, labels),
                  &snapshot->disk[i / WATCH_KINDS].kind[i % WATCH_KINDS]);
    family(out, "disk_call_errors_total", "counter", "Calls that failed by the disk's fault.");
    for (uint32_t i = 0; i < n; i++)
        sample(out, "disk_call_errors_total", kind_labels(&snapshot->disk[i / WATCH_KINDS], i % WATCH_KINDS, labels),
               snapshot->disk[i / WATCH_KINDS].kind[i % WATCH_KINDS].errors);
    family(out, "disk_bytes_total", "counter", "Bytes that calls have read from the disk and written to it.");
    for (uint32_t i = 0; i < n; i++)
        if (i % WATCH_KINDS == WATCH_READS || i % WATCH_KINDS == WATCH_WRITES)
            sample(out, "disk_bytes_total", kind_labels(&snapshot->disk[i / WATCH_KINDS], i % WATCH_KINDS, labels),
                   snapshot->disk[i / WATCH_KINDS].kind[i % WATCH_KINDS].bytes);
}

/* -- requests -- */

static const char *operation_label(unsigned operation, char labels[static LABELS])
{
    snprintf(labels, LABELS, "operation=\"%s\"", operation_name(operation));
    return labels;
}

static void print_requests(FILE *out, const struct snapshot *snapshot)
{
    static const enum operation moving[] = { OPERATION_READ, OPERATION_WRITE, OPERATION_COPY_FILE_RANGE };
    char labels[LABELS];

    family(out, "request_seconds", "histogram", "How long the kernel waited for the answers to its requests.");
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        if (snapshot->operation[i].n > 0)
            histogram(out, "request_seconds", operation_label(i, labels), &snapshot->operation[i]);
    family(out, "request_errors_total", "counter", "Requests that were answered with an error, whoever is to blame.");
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        sample(out, "request_errors_total", operation_label(i, labels), snapshot->operation[i].errors);
    family(out, "request_bytes_total", "counter", "Bytes of files that requests have moved.");
    for (size_t i = 0; i < ARRAY_SIZE(moving); i++)
        sample(out, "request_bytes_total", operation_label(moving[i], labels), snapshot->operation[moving[i]].bytes);
    only(out, "requests_failed_total", "counter", "Requests that failed for what may be a disk's fault.",
         snapshot->n_failed);
    only(out, "requests_late_total", "counter", "Requests that failed since a disk took longer than the timeout.",
         snapshot->n_late);
    only(out, "requests_parked", "gauge", "Requests that wait for a disk without a thread.", snapshot->n_parked);
    only(out, "requests_parked_bytes", "gauge", "Memory of requests that wait for a disk without a thread.",
         snapshot->parked_bytes);
    family(out, "range_wait_seconds", "histogram",
           "How long programs waited for others that change the same part of a file.");
    histogram(out, "range_wait_seconds", "", &snapshot->range_waits);
}

/* -- groups -- */

static const char *round_labels(unsigned round, char labels[static LABELS])
{
    snprintf(labels, LABELS, "by=\"%s\",direction=\"%s\"", snapshot_by_name(round / 2 == 1),
             snapshot_direction_name(round % 2 == 1));
    return labels;
}

static void print_rounds(FILE *out, const struct snapshot *snapshot)
{
    char labels[LABELS];

    family(out, "collective_seconds", "histogram", "How long rounds of groups, and sections of one process, took.");
    for (unsigned i = 0; i < 4; i++)
        histogram(out, "collective_seconds", round_labels(i, labels), &snapshot->round[i / 2][i % 2]);
    family(out, "collective_errors_total", "counter", "Rounds that failed.");
    for (unsigned i = 0; i < 4; i++)
        sample(out, "collective_errors_total", round_labels(i, labels), snapshot->round[i / 2][i % 2].errors);
    family(out, "collective_bytes_total", "counter", "Bytes that rounds were asked for and have moved.");
    for (unsigned i = 0; i < 4; i++)
        sample(out, "collective_bytes_total", round_labels(i, labels), snapshot->round[i / 2][i % 2].bytes);
    only(out, "collective_disk_read_bytes_total", "counter", "Bytes that rounds have read from disks by calls.",
         snapshot->work[WORK_DISK_READ]);
    only(out, "collective_disk_written_bytes_total", "counter", "Bytes that rounds have written to disks by calls.",
         snapshot->work[WORK_DISK_WRITTEN]);
    only(out, "collective_mapped_bytes_total", "counter",
         "Bytes that rounds have copied from and to mapped files: no call to a disk has them.",
         snapshot->work[WORK_MAPPED]);
    only(out, "collective_reread_bytes_total", "counter", "Bytes that rounds have read only to write them again.",
         snapshot->work[WORK_REREAD]);
    only(out, "collective_windows_total", "counter", "Windows that rounds were worked on in.",
         snapshot->work[WORK_WINDOWS]);
    only(out, "groups", "gauge", "Groups of processes.", snapshot->groups.groups);
    only(out, "group_ranks", "gauge", "Ranks that have joined groups.", snapshot->groups.ranks);
    only(out, "group_requests", "gauge", "Requests of ranks, and of single processes, that are not fetched yet.",
         snapshot->groups.asks);
    only(out, "group_waiters", "gauge", "Requests of ranks, and of single processes, that wait for their answers.",
         snapshot->groups.waiters);
}

/* -- jobs, users, the kernel -- */

static void print_jobs(FILE *out, const struct snapshot *snapshot)
{
    char labels[LABELS];

    family(out, "jobs", "gauge", "Jobs that are not over, by state.");
    for (unsigned state = 0; state < JOB_DONE; state++) {
        snprintf(labels, sizeof labels, "state=\"%s\"", job_state_name(state));
        sample(out, "jobs", labels, snapshot->n_jobs[state]);
    }
    family(out, "jobs_ended_total", "counter", "Jobs that are over, by how they ended.");
    for (unsigned state = JOB_DONE; state < JOB_STATES; state++) {
        snprintf(labels, sizeof labels, "state=\"%s\"", job_state_name(state));
        sample(out, "jobs_ended_total", labels, snapshot->n_jobs[state]);
    }
    only(out, "files_to_fill", "gauge", "Files whose replicas are to be filled.", snapshot->n_to_fill);
}

/* What users have of the daemon, of accounts.h. */
static const struct {
    const char *name, *help;
} of_accounts[N_ACCOUNTS] = {
    [ACCOUNT_DESCRIPTORS] = { "users_descriptors", "Descriptors of the daemon for what users have open." },
    [ACCOUNT_VIEWS] = { "users_views", "Descriptors of users that have a view." },
    [ACCOUNT_VIEW_BYTES] = { "users_view_bytes", "Memory that views of users take." },
    [ACCOUNT_BUFFERS] = { "users_buffers", "Buffers of programs that the daemon has mapped." },
    [ACCOUNT_BUFFER_BYTES] = { "users_buffer_bytes", "Bytes in buffers of programs that the daemon has mapped." },
    [ACCOUNT_HOLE_BYTES] = { "users_hole_bytes", "Holes in buffers of programs that the daemon has filled." },
    [ACCOUNT_LIST_BYTES] = { "users_list_bytes", "Memory that lists of pieces take." },
    [ACCOUNT_TEXT_BYTES] = { "users_text_bytes", "Memory that open texts below .falls take." },
};

static void print_users(FILE *out, const struct snapshot *snapshot)
{
    only(out, "open_files", "gauge", "Open files.", snapshot->n_files);
    only(out, "open_directories", "gauge", "Open directories.", snapshot->n_directories);
    for (unsigned i = 0; i < N_ACCOUNTS; i++)
        only(out, of_accounts[i].name, "gauge", of_accounts[i].help, snapshot->accounts[i]);
}

static void print_forgotten(FILE *out, const struct snapshot *snapshot)
{
    static const char *const what[N_FORGOTTEN] = {
        [FORGOTTEN_PAGES] = "pages", [FORGOTTEN_NAMES] = "names", [FORGOTTEN_ATTRIBUTES] = "attributes"
    };
    char labels[LABELS];

    family(out, "kernel_forgets_total", "counter", "How often the kernel was told to forget what it caches.");
    for (unsigned i = 0; i < N_FORGOTTEN; i++) {
        snprintf(labels, sizeof labels, "what=\"%s\"", what[i]);
        sample(out, "kernel_forgets_total", labels, snapshot->forgotten[i]);
    }
}

int exposition_print(FILE *out)
{
    cleanup(snapshot_done) struct snapshot snapshot = { 0 };
    char labels[128];
    int r = snapshot_take(&snapshot);

    if (r < 0)
        return r;
    family(out, "info", "gauge", "Version of the daemon, and its volume.");
    snprintf(labels, sizeof labels, "version=\"%s\",volume=\"%s\"", FALLSFS_VERSION, snapshot.volume);
    sample(out, "info", labels, 1);
    family(out, "start_time_seconds", "gauge", "When the mount began, in seconds since 1970.");
    sample_seconds(out, "start_time_seconds", "", snapshot.began_ns);
    print_disks(out, &snapshot);
    print_calls(out, &snapshot);
    print_requests(out, &snapshot);
    print_rounds(out, &snapshot);
    print_jobs(out, &snapshot);
    print_users(out, &snapshot);
    print_forgotten(out, &snapshot);
    return 0;
}
