/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/requests.h"

#include "fs/daemon/say/last_errors.h"
#include "fs/daemon/say/log.h"
#include "fs/daemon/say/troubles.h"
#include "fs/daemon/serve/mount.h"
#include "fs/daemon/serve/reply.h"

#include <stdio.h>
#include <string.h>

/* What this thread serves, and what has come of it so far; trace is filled only while somebody reads the log of
 * requests. */
static _Thread_local struct {
    const struct request *request;
    struct footprint footprint;
    bool has_begun, has_ended, is_explained, is_parked;
    ssize_t result;
    size_t done;
} now;

const struct request *request_now(void)
{
    return now.request;
}

bool request_can_wait(void)
{
    return now.request != NULL &&
           (now.request->kind == REQUEST_REPEATS || (now.request->kind == REQUEST_ONCE && !now.has_begun));
}

void request_set_done(size_t n)
{
    now.done = n;
}

size_t request_done(void)
{
    return now.done;
}

bool request_is_again(void)
{
    return now.request != NULL && now.request->again;
}

void request_is_explained(void)
{
    now.is_explained = true;
}

/* -- who wants to know -- */

atomic_bool requests_noted;

static struct {
    void (*note)(void *ctx, const struct request *request, ssize_t r);
    void *ctx;
} listener; /* set before anything is served */

void requests_note(bool is_wanted)
{
    atomic_store(&requests_noted, is_wanted);
}

void requests_tell(void (*note)(void *ctx, const struct request *request, ssize_t r), void *ctx)
{
    listener.note = note;
    listener.ctx = ctx;
}

/* An operation that there is not is no access: the kernel does something else in its place. */
static void note(const struct request *request, ssize_t r)
{
    if (request->is_noted && request->access != REQUEST_NEITHER && r != -EOPNOTSUPP)
        listener.note(listener.ctx, request, r);
}

void request_is_parked(void)
{
    now.is_parked = true;
}

void request_is_given_up(const struct request *request, int r)
{
    note(request, r);
}

/* -- failures -- */

/* Whether an error may be a disk's fault, so that there is more to say than its number; others say what was wrong with
 * the request. */
static bool has_reason(int error)
{
    return error == -EIO || error == -EUCLEAN || error == -EPROTONOSUPPORT || error == -ENOSPC || error == -EDQUOT ||
           (error == -EROFS && !the_mount->fs->read_only);
}

static void note_reason(fuse_req_t req, uint64_t nodeid, const char *why)
{
    const struct cred cred = cred_of(req);
    cleanup(held_done) struct held held = hold(nodeid);

    if (held.inode == NULL)
        return;
    const struct asker asker = { cred.uid, cred.pid, held.inode->ino };

    last_errors_note(the_mount->last_errors, &asker, why);
}

static void tell_why(fuse_req_t req, const struct request *request, int error)
{
    char why[TROUBLE_TEXT];

    if (troubles_why(the_mount->troubles, the_mount->fs, request->ino, error, why)) {
        note_reason(req, request->ino, why);
        return;
    }
    snprintf(why, sizeof why, "%s%s%s has failed: %s", operation_name(request->operation),
             request->name != NULL ? " of " : "", request->name != NULL ? request->name : "", volume_strerror(-error));
    troubles_failed(the_mount->troubles, the_mount->fs, request->ino, why);
}

void request_is_late(fuse_req_t req, enum operation operation, uint64_t nodeid, uint64_t seconds)
{
    cleanup(freep) char *silent = troubles_silent(the_mount->fs);
    char why[TROUBLE_TEXT];

    snprintf(why, sizeof why, "%s fails, since %s not answered for %" PRIu64 " s: is its server up?",
             operation_name(operation), silent != NULL ? silent : "a disk has", seconds);
    troubles_failed(the_mount->troubles, the_mount->fs, nodeid, why);
    note_reason(req, nodeid, why);
    figures_add(&figures.n_late, 1);
    figures_add(&figures.n_failed, 1);
    if (operation < N_OPERATIONS)
        figures_note_request(operation, clock_ns() - seconds * 1000000000, -EIO);
}

void request_is_answered(void)
{
    now.has_ended = true;
}

void request_ends(fuse_req_t req, ssize_t r)
{
    now.result = r;
    if (now.request != NULL) {
        figures_note_request(now.request->operation, now.request->began, r);
        note(now.request, r);
    }
    if (r < 0 && has_reason((int) r))
        figures_add(&figures.n_failed, 1);
    if (r < 0 && now.request != NULL && !now.is_explained && has_reason((int) r))
        tell_why(req, now.request, (int) r);
}

/* -- the log of requests -- */

static void print_disks(FILE *out, uint64_t disks)
{
    const char *before = " on";

    for (uint32_t i = 0; i < 64; i++)
        if ((disks >> i & 1) != 0) {
            fprintf(out, "%s d%" PRIu32, before, i);
            before = ",";
        }
}

static void print_what(FILE *out, const struct request *request)
{
    cleanup(held_done) struct held held = hold(request->ino);
    cleanup(freep) char *path = NULL;

    fprintf(out, "%s %" PRIu64, operation_name(request->operation), (uint64_t) request->ino);
    if (held.inode != NULL && inode_path(held.inodes, held.inode, &path) == 0)
        fprintf(out, " /%s", path);
    if (request->name != NULL)
        fprintf(out, " %s", request->name);
    if (request->size > 0 || request->off != 0)
        fprintf(out, " %zu at %" PRId64, request->size, (int64_t) request->off);
}

static void print_line(const struct request *request, uint64_t us)
{
    cleanup(freep) char *line = NULL;
    size_t len;
    FILE *out = open_memstream(&line, &len);

    if (out == NULL)
        return;
    print_what(out, request);
    if (now.footprint.n_subfiles > 0)
        fprintf(out, ": %" PRIu32 " runs in %" PRIu32 " subfiles", now.footprint.n_runs, now.footprint.n_subfiles);
    print_disks(out, now.footprint.disks);
    if (!now.has_ended)
        fputs(": waits", out);
    else if (now.result < 0)
        fprintf(out, ": %s", strerror((int) -now.result));
    else
        fprintf(out, ": %zd", now.result);
    fprintf(out, ", %" PRIu64 " us", us);
    if (fclose(out) == 0)
        log_debug("%s", line);
}

static void run(const struct request *request)
{
    bool is_once = request->kind == REQUEST_ONCE;

    if (is_once && watch_refuses(fs_home(the_mount->fs)->watch) == -ETIMEDOUT) {
        deadlines_begin(the_mount->deadlines, request->req);
        reply_status(request->req, -ETIMEDOUT);
        return;
    }
    now.has_begun = true;
    watch_be_patient(is_once);
    request->run(request);
    watch_be_patient(false);
}

static void run_logged(const struct request *request)
{
    uint64_t began = clock_us();

    now.footprint = (struct footprint){ 0 };
    errand.footprint = &now.footprint;
    run(request);
    print_line(request, clock_us() - began);
}

void request_run(const struct request *request)
{
    now.request = request;
    now.has_begun = now.has_ended = now.is_explained = now.is_parked = false;
    now.result = 0;
    now.done = request->done;
    (void) errand_at(request->ino, NO_SUBFILE);
    if (log_has_debug())
        run_logged(request);
    else
        run(request);
    if (!now.has_ended && !now.is_parked)
        note(request, -EIO); /* its program was told so, since it took too long */
    errand = NO_ERRAND;
    now.request = NULL;
}

void request_serve(const struct request *request)
{
    struct request own = *request;

    own.cred = cred_of(request->req);
    own.began = clock_ns();
    own.is_noted = requests_are_noted();
    request_run(&own);
    deadlines_end(the_mount->deadlines);
}
