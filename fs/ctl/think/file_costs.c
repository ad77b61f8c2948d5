/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/file_costs.h"

#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/ask/kept_costs.h"
#include "fs/ctl/ask/which_mount.h"
#include "fs/ctl/show/table.h"

#include <string.h>
#include <time.h>

/* -- which disks -- */

/* The disk that element i of the file lies on. Where it has none in its layout, further elements go on from the first
 * one's disk through those that take new bytes, as they would in a layout that names no disks. */
static uint32_t disk_of(const struct file_info *info, uint32_t i)
{
    uint32_t n_elements = MAX(info->layout->pattern->n_elements, 1), at = 0;

    if (i < n_elements || info->n_takes == 0)
        return info->disk[i % n_elements];
    while (at < info->n_takes && info->takes[at] != info->disk[0])
        at++;
    return info->takes[(at + i) % info->n_takes];
}

static struct disk_cost cost_of(const struct costs_of *of)
{
    return (struct disk_cost){ .seek = of->seek, .call = of->call, .rate = of->rate };
}

/* Takes over what was measured of the disks. Unless all of them were, nothing is comparable: then it is said why not.
 */
static bool take_kept(struct file_costs *costs, const struct file_info *info, const struct kept_costs *kept,
                      const char *target)
{
    for (uint32_t i = 0; i < costs->n; i++) {
        uint32_t disk = disk_of(info, i);
        const struct kept_cost *one = disk < kept->n ? &kept->disk[disk] : NULL;

        if (one == NULL || !one->is_there) {
            (void) attrs_refuse(costs->why, 0, "d%" PRIu32 ": %s; 'fallsctl calibrate %s' measures disks", disk,
                                one != NULL ? one->why : "the mount does not tell", target);
            return false;
        }
        costs->disk[i] = (struct disk_costs){ cost_of(&one->costs.read), cost_of(&one->costs.write) };
        costs->since = i == 0 ? one->costs.measured : MIN(costs->since, one->costs.measured);
    }
    return true;
}

/* Finds out what was measured of the file's disks; false: nothing can be had. */
static bool find_kept(struct file_costs *costs, const char *path)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    cleanup(kept_costs_done) struct kept_costs kept = { 0 };
    cleanup(freep) char *target = NULL;
    char why[ATTRS_WHY];

    if (path == NULL || which_mount(path, &target, why) < 0 || file_info_init(&info, path, why) < 0 || info.is_dir)
        return false;
    if (kept_costs_get(target, &kept, costs->why) < 0)
        return false;
    return take_kept(costs, &info, &kept, target);
}

/* -- what they cost -- */

static void assume(struct file_costs *costs)
{
    const struct disk_cost cost = { .seek = FILE_COSTS_SEEK, .call = FILE_COSTS_CALL, .rate = FILE_COSTS_RATE };

    for (uint32_t i = 0; i < costs->n; i++)
        costs->disk[i] = (struct disk_costs){ cost, cost };
}

static void override(struct disk_cost *cost, const struct costs_said *said)
{
    if (said->knows_seek)
        cost->seek = said->seek;
    if (said->rate > 0)
        cost->rate = said->rate;
}

int file_costs_init(struct file_costs *costs, const char *path, uint32_t n, const struct costs_said *said)
{
    *costs = (struct file_costs){ .n = n,
                                  .disk = calloc(n, sizeof *costs->disk),
                                  .is_said = said->knows_seek || said->rate > 0 };
    if (costs->disk == NULL)
        return -ENOMEM;
    costs->is_measured = (!said->knows_seek || said->rate == 0) && find_kept(costs, path);
    if (!costs->is_measured)
        assume(costs);
    for (uint32_t i = 0; i < n; i++) {
        override(&costs->disk[i].read, said);
        override(&costs->disk[i].write, said);
    }
    return 0;
}

void file_costs_done(struct file_costs *costs)
{
    free(costs->disk);
    *costs = (struct file_costs){ 0 };
}

/* -- telling -- */

static void date_of(const struct file_costs *costs, char ret_text[static 32])
{
    time_t since = (time_t) costs->since;
    struct tm tm;

    ret_text[0] = 0;
    if (localtime_r(&since, &tm) != NULL)
        (void) strftime(ret_text, 32, "%F", &tm);
}

/* The least and the most of what they cost, in either direction. */
struct range {
    uint64_t seek[2], rate[2];
};

static struct range range_of(const struct file_costs *costs)
{
    struct range range = { { UINT64_MAX, 0 }, { UINT64_MAX, 0 } };

    for (uint32_t i = 0; i < 2 * costs->n; i++) {
        const struct disk_cost *cost = i % 2 == 0 ? &costs->disk[i / 2].read : &costs->disk[i / 2].write;

        range.seek[0] = MIN(range.seek[0], cost->seek);
        range.seek[1] = MAX(range.seek[1], cost->seek);
        range.rate[0] = MIN(range.rate[0], cost->rate);
        range.rate[1] = MAX(range.rate[1], cost->rate);
    }
    return range;
}

void file_costs_print(const struct file_costs *costs, FILE *out)
{
    struct range range = range_of(costs);
    char date[32], least[SIZE_TEXT], most[SIZE_TEXT];

    date_of(costs, date);
    if (costs->is_measured)
        fprintf(out, "calibrated %s%s: ", date, costs->is_said ? ", but as said" : "");
    else
        fputs(costs->is_said ? "as said, " : "assumed ", out);
    if (range.seek[0] < range.seek[1])
        fprintf(out, "%.3g to ", (double) range.seek[0] / 1e6);
    (void) size_text(range.rate[0], false, least);
    (void) size_text(range.rate[1], false, most);
    fprintf(out, "%.3g ms a seek, %s%s%s a second", (double) range.seek[1] / 1e6, least,
            strcmp(least, most) != 0 ? " to " : "", strcmp(least, most) != 0 ? most : "");
}

static void json_side(struct json *json, const char *name, const struct disk_cost *cost)
{
    json_open(json, name, '{');
    json_u64(json, "call_ns", cost->call);
    json_u64(json, "seek_ns", cost->seek);
    json_u64(json, "bytes_per_second", cost->rate);
    json_close(json, '}');
}

void file_costs_json(const struct file_costs *costs, struct json *json)
{
    json_open(json, "costs", '{');
    json_bool(json, "calibrated", costs->is_measured);
    json_bool(json, "said", costs->is_said);
    if (costs->is_measured)
        json_u64(json, "measured", costs->since);
    else if (costs->why[0] != 0)
        json_string(json, "why", costs->why);
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < costs->n; i++) {
        json_open(json, NULL, '{');
        json_side(json, "read", &costs->disk[i].read);
        json_side(json, "write", &costs->disk[i].write);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}
