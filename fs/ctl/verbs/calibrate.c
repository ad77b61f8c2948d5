/* SPDX-License-Identifier: MIT */
/* fallsctl calibrate: what requests cost each disk of a mounted volume. */
#include "fs/core/volume/record.h"
#include "fs/ctl/ask/device.h"
#include "fs/ctl/ask/inquiry.h"
#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/ask/probe.h"
#include "fs/ctl/ask/scratch.h"
#include "fs/ctl/ask/volume_disks.h"
#include "fs/ctl/ask/which_mount.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/think/calibrating.h"
#include "fs/ctl/verbs/calibrate_show.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/clock.h"
#include "layout/layout.h"

#include <string.h>
#include <unistd.h>

#define SECONDS      10
#define MAX_SECONDS  3600
#define SLOW_SECONDS 60 /* that a disk may hang in single requests */

static const char help[] =
    "usage: fallsctl calibrate [--seconds N] [--size SIZE] [-b] [--json] [MOUNTPOINT [DISK...]]\n"
    "       fallsctl calibrate --show [-b] [--json] [MOUNTPOINT [DISK...]]\n"
    "\n"
    "Measures what requests cost each disk of a mounted volume, or those that are named, as d2 or by their paths, one\n"
    "after the other: a call, a seek, and the rate of bytes, for reading and for writing, and how many bytes a second it\n"
    "moves in chunks of several sizes. The disk is asked past the system's cache, by a file that has no name and goes\n"
    "with the end of this program, whatever ends it. What was measured is kept with the disk, and 'fallsctl recommend'\n"
    "goes by it. For root and who owns the disks. Others' use of a disk makes it slower, here as ever: measure when it\n"
    "is idle. Without MOUNTPOINT the only mount there is.\n"
    "\n"
    "  --show         only shows what is kept; for everybody\n"
    "  --seconds N    for each disk, 10 unless told; one that is very slow may take twice as long\n"
    "  --size SIZE    bytes of the file, 4G unless told; never more than an eighth of what is free\n"
    "  -b             bytes in full; else in powers of 1024\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl calibrate /fast\n"
    "  fallsctl calibrate --seconds 60 /fast d2\n"
    "  fallsctl calibrate --show --json /fast | jq '.disks[] | .read.seek_ns'\n";

struct request {
    bool is_showing, raw, as_json;
    const char *seconds_text, *size_text;
    uint32_t seconds;
    uint64_t size;
    char *target;
    struct volume_disks disks;
    uint8_t volume[DISK_UUID_SIZE];
    struct shown_cost *shown; /* of each disk */
};

static void request_done(struct request *request)
{
    free(request->target);
    free(request->shown);
    volume_disks_done(&request->disks);
}

/* -- one disk -- */

/* What a thread of its own finds out; whoever gives it up leaves it to that thread. */
struct question {
    struct calibrating calibrating;
    char *path;
    int r;
    struct kept_cost kept;
};

static void question_free(struct question *question)
{
    free(question->path);
    free(question);
}

static void run(void *arg)
{
    struct question *question = arg;

    question->r = calibrate(&question->calibrating, &question->kept.costs, question->kept.why);
    question->kept.is_there = question->r == 0;
}

static struct question *put(const struct request *request, const char *path, const struct stamp *stamp,
                            struct inquiry **ret_inquiry)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        return NULL;
    question->path = strdup(path);
    question->calibrating =
        (struct calibrating){ .path = question->path, .most = request->size, .seconds = request->seconds };
    memcpy(question->calibrating.uuid, stamp->disk[stamp->index].uuid, DISK_UUID_SIZE);
    *ret_inquiry = question->path != NULL ? inquiry_put(run, question) : NULL;
    if (*ret_inquiry == NULL) {
        question_free(question);
        return NULL;
    }
    return question;
}

static void measure(const struct request *request, const char *path, const struct stamp *stamp, struct kept_cost *kept)
{
    struct inquiry *inquiry;
    struct question *question = put(request, path, stamp, &inquiry);
    struct timespec until = clock_wall_in_ms((UINT64_C(3) * request->seconds + SLOW_SECONDS) * 1000);

    if (question == NULL) {
        (void) attrs_refuse(kept->why, -ENOMEM, "out of memory");
    } else if (inquiry_await(inquiry, &until)) {
        *kept = question->kept;
        question_free(question);
    } else {
        (void) attrs_refuse(kept->why, -ETIMEDOUT, "%s has stopped answering while it was measured", path);
    }
}

/* -- all of them -- */

/* Says why a disk cannot be measured, or not be found; true: it can. */
static bool check(const struct request *request, uint32_t index, const struct probe *probe, char why[static ATTRS_WHY])
{
    const char *path = request->disks.disk[index].path;

    if (probe->state == PROBE_SILENT)
        (void) attrs_refuse(why, -ETIMEDOUT, "%s does not answer", path);
    else if (probe->error == -EACCES || probe->error == -EPERM)
        (void) attrs_refuse(why, probe->error, "%s may not be looked into: measuring is for root and who owns the disk",
                            path);
    else if (!probe_answered(probe))
        (void) attrs_refuse(why, probe->error, "%s cannot be looked into (%s): %s", path,
                            probe_state_name(probe->state), strerror(-probe->error));
    else if (memcmp(probe->stamp.volume, request->volume, DISK_UUID_SIZE) != 0 || probe->stamp.index != index)
        (void) attrs_refuse(why, -ENODEV, "%s is not d%" PRIu32 " of this volume any more: something else is there",
                            path, index);
    else if (probe->state == PROBE_READ_ONLY)
        (void) attrs_refuse(why, -EROFS, "%s is read-only: what is to be measured has to be written first", path);
    else
        return true;
    return false;
}

static void measure_one(const struct request *request, uint32_t index, const struct probe *probe,
                        struct shown_cost *shown)
{
    const char *path = request->disks.disk[index].path;

    if (!check(request, index, probe, shown->kept.why))
        return;
    if (isatty(STDERR_FILENO) && !request->as_json)
        utf8_complain("measuring d%" PRIu32 ", %s ...", index, path);
    measure(request, path, &probe->stamp, &shown->kept);
}

/* Finds which disks lie on one device. */
static void find_shares(const struct probe probe[], uint32_t n, struct shown_cost shown[])
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i && shown[i].shares == i; j++)
            if (probe_answered(&probe[i]) && probe_answered(&probe[j]) &&
                device_of(probe[i].dev) == device_of(probe[j].dev))
                shown[i].shares = j;
}

static int measure_all(struct request *request)
{
    uint32_t n = request->disks.n;
    cleanup(freep) struct probe *probe = calloc(MAX(n, 1), sizeof *probe);
    cleanup(freep) char **path = calloc(MAX(n, 1), sizeof *path);

    if (probe == NULL || path == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        path[i] = request->disks.disk[i].path;
    (void) probe_all(path, n, probe); /* each says itself when it could not be asked */
    find_shares(probe, n, request->shown);
    for (uint32_t i = 0; i < n; i++)
        if (request->shown[i].is_asked)
            measure_one(request, i, &probe[i], &request->shown[i]);
    for (uint32_t i = 0; i < n; i++)
        probe_done(&probe[i]);
    return 0;
}

/* -- which -- */

/* Reads which volume it is. */
static int ask_volume(struct request *request, char why[static ATTRS_WHY])
{
    cleanup(json_read_done) struct json_object *said = NULL;
    cleanup(freep) char *text = NULL;
    const char *hex;
    int r = attrs_get(request->target, "disks.json", &text);

    if (r == 0)
        r = json_read(text, &said);
    hex = json_text(json_member(said, "volume"));
    if (r == 0 && (hex == NULL || strlen(hex) != 2 * DISK_UUID_SIZE || hex_parse(hex, DISK_UUID_SIZE, request->volume)))
        r = -EINVAL;
    return r < 0 ? attrs_refuse(why, r, "%s does not tell which volume it is: %s", request->target, strerror(-r)) : 0;
}

/* Marks the disks that are named, or all that are in the volume. */
static int mark(struct request *request, char *const word[], int n_words, char why[static ATTRS_WHY])
{
    for (uint32_t i = 0; i < request->disks.n; i++)
        request->shown[i] =
            (struct shown_cost){ .is_asked = n_words == 0 && strcmp(request->disks.disk[i].state, "gone") != 0,
                                 .shares = i };
    for (int i = 0; i < n_words; i++) {
        uint32_t index = volume_disks_find(&request->disks, word[i]);

        if (index == UINT32_MAX)
            return attrs_refuse(why, -ENODEV, "%s has no disk %s: 'fallsctl df %s' lists them", request->target,
                                word[i], request->target);
        request->shown[index].is_asked = true;
    }
    return 0;
}

/* A volume that is mounted to be read is not written to. */
static int check_mount(const struct request *request, char why[static ATTRS_WHY])
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    const struct mount_place *place;

    if (mounts_read(&mounts) < 0)
        return attrs_refuse(why, -EIO, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    place = mounts_at(&mounts, request->target);
    return place != NULL && place->read_only
               ? attrs_refuse(why, -EROFS, "%s is mounted read-only: measuring writes to the disks", request->target)
               : 0;
}

static int find(struct request *request, char *const word[], int n_words, char why[static ATTRS_WHY])
{
    int r = which_mount(n_words > 0 ? word[0] : NULL, &request->target, why);

    if (r == 0)
        r = volume_disks_init(&request->disks, request->target, why);
    if (r < 0)
        return r;
    request->shown = calloc(MAX(request->disks.n, 1), sizeof *request->shown);
    if (request->shown == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    return mark(request, word + 1, MAX(n_words - 1, 0), why);
}

/* -- both verbs -- */

static int show_kept(struct request *request, char why[static ATTRS_WHY])
{
    struct kept_costs kept;
    int r = kept_costs_get(request->target, &kept, why);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < request->disks.n; i++) {
        if (i < kept.n)
            request->shown[i].kept = kept.disk[i];
        else
            (void) attrs_refuse(request->shown[i].kept.why, 0, "the mount does not tell");
    }
    kept_costs_done(&kept);
    return 0;
}

static int fill_in(struct request *request, char why[static ATTRS_WHY])
{
    int r = 0;

    if (request->is_showing)
        return show_kept(request, why);
    r = check_mount(request, why);
    if (r == 0)
        r = ask_volume(request, why);
    if (r < 0)
        return r;
    r = measure_all(request);
    return r < 0 ? attrs_refuse(why, r, "out of memory") : 0;
}

/* Reads the numbers. False: one of them is none that can be meant, which it says. */
static bool read_numbers(struct request *request, enum ctl_status *ret_status)
{
    uint64_t seconds = SECONDS;

    request->size = SCRATCH_MOST;
    if (request->seconds_text != NULL &&
        (layout_parse_size(request->seconds_text, &seconds) < 0 || seconds < 1 || seconds > MAX_SECONDS)) {
        *ret_status =
            args_complain("calibrate", "--seconds takes whole seconds, from 1 to 3600", request->seconds_text);
        return false;
    }
    request->seconds = (uint32_t) seconds;
    if (request->size_text != NULL &&
        (layout_parse_size(request->size_text, &request->size) < 0 || request->size < SCRATCH_LEAST)) {
        *ret_status = args_complain("calibrate", "--size takes bytes, 16M at least", request->size_text);
        return false;
    }
    return true;
}

enum ctl_status ctl_calibrate(int argc, char **argv)
{
    cleanup(request_done) struct request request = { 0 };
    const struct arg arg[] = { { .name = "--show", .set = &request.is_showing },
                               { .name = "--seconds", .value = &request.seconds_text },
                               { .name = "--size", .value = &request.size_text },
                               { .name = "-b", .other = "--bytes", .set = &request.raw },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "calibrate", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    char why[ATTRS_WHY];

    if (!args_read(&args, argc, argv, &status) || !read_numbers(&request, &status))
        return status;
    if (find(&request, args.word, args.n, why) < 0 || fill_in(&request, why) < 0)
        return report(request.as_json, "fallsctl calibrate: %s", why);
    status = request.as_json ? costs_show_json(request.target, request.shown, request.disks.n)
                             : costs_show(request.shown, request.disks.n, request.raw);
    if (request.is_showing && status != CTL_OK)
        utf8_complain("'fallsctl calibrate %s%s' measures disks, and keeps that with them", request.target,
                      status == CTL_PARTIAL ? " DISK..." : "");
    return status;
}
