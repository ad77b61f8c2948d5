/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/calibrate_show.h"

#include "fs/ctl/show/table.h"
#include "fs/ctl/verbs/report_times.h"
#include "fs/json/costs_json.h"
#include "fs/json/utf8.h"

#include <time.h>

#define MANY_PERCENT 50 /* that like requests lie apart: others were there */

static const struct column cost_column[] = {
    { "DISK", COLUMN_LEFT },        { "READ-CALL", COLUMN_RIGHT },  { "READ-SEEK", COLUMN_RIGHT },
    { "READ-RATE", COLUMN_RIGHT },  { "WRITE-CALL", COLUMN_RIGHT }, { "WRITE-SEEK", COLUMN_RIGHT },
    { "WRITE-RATE", COLUMN_RIGHT }, { "SPREAD", COLUMN_RIGHT },     { "MEASURED", COLUMN_LEFT },
};

/* -- what they cost -- */

static void add_time(struct table *table, uint64_t ns)
{
    char text[TIME_TEXT];

    table_add(table, ns > 0 ? time_text((double) ns / 1e9, text) : "0");
}

static void add_side(struct table *table, const struct costs_of *of, bool raw)
{
    char text[SIZE_TEXT];

    add_time(table, of->call);
    add_time(table, of->seek);
    table_add(table, size_text(of->rate, raw, text));
}

static void add_cost(struct table *table, uint32_t index, const struct costs *costs, bool raw)
{
    time_t measured = (time_t) costs->measured;
    char date[32] = "";
    struct tm tm;

    table_addf(table, "d%" PRIu32, index);
    add_side(table, &costs->read, raw);
    add_side(table, &costs->write, raw);
    table_addf(table, "%" PRIu32 "%%", costs->spread);
    if (localtime_r(&measured, &tm) != NULL)
        (void) strftime(date, sizeof date, "%F %H:%M", &tm);
    table_add(table, date);
}

static int print_costs(const struct shown_cost disk[], uint32_t n, bool raw)
{
    struct table table;
    int r;

    table_init(&table, cost_column, ARRAY_SIZE(cost_column), NULL, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (disk[i].is_asked && disk[i].kept.is_there)
            add_cost(&table, i, &disk[i].kept.costs, raw);
    r = table_print(&table, stdout);
    table_done(&table);
    return r;
}

/* -- bandwidth by chunk size -- */

/* The sizes that any of the disks was asked for, in order. */
struct sizes {
    uint32_t n, bytes[COSTS_MAX_CHUNKS];
};

static void add_size(struct sizes *sizes, uint32_t bytes)
{
    uint32_t at = 0;

    while (at < sizes->n && sizes->bytes[at] < bytes)
        at++;
    if (sizes->n == COSTS_MAX_CHUNKS || (at < sizes->n && sizes->bytes[at] == bytes))
        return;
    memmove(&sizes->bytes[at + 1], &sizes->bytes[at], (sizes->n++ - at) * sizeof sizes->bytes[0]);
    sizes->bytes[at] = bytes;
}

static struct sizes sizes_of(const struct shown_cost disk[], uint32_t n)
{
    struct sizes sizes = { 0 };

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; disk[i].is_asked && disk[i].kept.is_there && j < disk[i].kept.costs.n_chunks; j++)
            add_size(&sizes, disk[i].kept.costs.chunk[j].bytes);
    return sizes;
}

static const char *const operation[] = { "read", "read apart", "write", "write apart" };

static uint64_t bandwidth_of(const struct costs_chunk *chunk, size_t op)
{
    const uint64_t of[] = { chunk->read, chunk->read_apart, chunk->write, chunk->write_apart };

    return of[op];
}

static void add_row(struct table *table, const struct sizes *sizes, const struct costs *costs, size_t op, bool raw)
{
    for (uint32_t i = 0; i < sizes->n; i++) {
        const struct costs_chunk *chunk = NULL;
        char text[SIZE_TEXT];

        for (uint32_t j = 0; j < costs->n_chunks; j++)
            if (costs->chunk[j].bytes == sizes->bytes[i])
                chunk = &costs->chunk[j];
        table_add(table, chunk != NULL ? size_text(bandwidth_of(chunk, op), raw, text) : "");
    }
}

static int print_chunks(const struct shown_cost disk[], uint32_t n, bool raw)
{
    struct column column[2 + COSTS_MAX_CHUNKS] = { { "DISK", COLUMN_LEFT }, { "OPERATION", COLUMN_LEFT } };
    char name[COSTS_MAX_CHUNKS][SIZE_TEXT];
    struct sizes sizes = sizes_of(disk, n);
    struct table table;
    int r;

    for (uint32_t i = 0; i < sizes.n; i++)
        column[2 + i] = (struct column){ size_text(sizes.bytes[i], raw, name[i]), COLUMN_RIGHT };
    table_init(&table, column, 2 + sizes.n, NULL, NULL);
    for (uint32_t i = 0; i < n; i++)
        for (size_t op = 0; disk[i].is_asked && disk[i].kept.is_there && op < ARRAY_SIZE(operation); op++) {
            table_addf(&table, "d%" PRIu32, i);
            table_add(&table, operation[op]);
            add_row(&table, &sizes, &disk[i].kept.costs, op, raw);
        }
    puts("\nbytes a second, in chunks of so many bytes, each behind the one before or apart from it:");
    r = table_print(&table, stdout);
    table_done(&table);
    return r;
}

/* -- both -- */

static enum ctl_status status_of(const struct shown_cost disk[], uint32_t n)
{
    uint32_t n_asked = 0, n_there = 0;

    for (uint32_t i = 0; i < n; i++) {
        n_asked += disk[i].is_asked;
        n_there += disk[i].is_asked && disk[i].kept.is_there;
    }
    return n_there == n_asked ? CTL_OK : n_there > 0 ? CTL_PARTIAL : CTL_ERROR;
}

/* Says of which disks there is nothing to show, and why. */
static void complain(const struct shown_cost disk[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (disk[i].is_asked && !disk[i].kept.is_there)
            utf8_complain("d%" PRIu32 ": %s", i, disk[i].kept.why);
}

static void print_note(uint32_t index, const struct shown_cost *disk)
{
    if (disk->shares != index)
        printf("d%" PRIu32 " lies on the same device as d%" PRIu32 ": what both do at once takes longer\n", index,
               disk->shares);
    if (!disk->kept.costs.direct)
        printf("d%" PRIu32 " has no direct I/O: what its file system keeps in memory counts, too\n", index);
    if (disk->kept.costs.spread > MANY_PERCENT)
        printf("d%" PRIu32 ": like requests took very different times: others used it; measure again when it is idle\n",
               index);
}

enum ctl_status costs_show(const struct shown_cost disk[], uint32_t n, bool raw)
{
    enum ctl_status status = status_of(disk, n);
    int r = 0;

    if (status != CTL_ERROR)
        r = print_costs(disk, n, raw);
    if (status != CTL_ERROR && r == 0)
        r = print_chunks(disk, n, raw);
    for (uint32_t i = 0; i < n; i++)
        if (disk[i].is_asked && disk[i].kept.is_there)
            print_note(i, &disk[i]);
    complain(disk, n);
    if (r < 0)
        utf8_complain("out of memory");
    return r < 0 ? CTL_ERROR : status;
}

enum ctl_status costs_show_json(const char *target, const struct shown_cost disk[], uint32_t n)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "mountpoint", target);
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < n; i++) {
        const struct kept_cost *kept = &disk[i].kept;
        char name[16];

        if (!disk[i].is_asked)
            continue;
        snprintf(name, sizeof name, "d%" PRIu32, i);
        json_open(&json, NULL, '{');
        json_string(&json, "disk", name);
        json_bool(&json, "calibrated", kept->is_there);
        if (kept->is_there)
            costs_json(&json, &kept->costs);
        else
            json_string(&json, "why", kept->why);
        if (disk[i].shares != i) {
            snprintf(name, sizeof name, "d%" PRIu32, disk[i].shares);
            json_string(&json, "device_of", name);
        }
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
    complain(disk, n);
    return status_of(disk, n);
}
