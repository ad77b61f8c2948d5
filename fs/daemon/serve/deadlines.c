/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/deadlines.h"

#include "fs/core/change/jobs.h"
#include "fs/core/tree/reap.h"
#include "fs/daemon/say/troubles.h"
#include "fs/daemon/serve/reply.h"
#include "fs/daemon/serve/requests.h"

#include <string.h>

#define RETRY      8                     /* looks between two tries to do again what a disk refused */
#define TICK       250                   /* ms between two looks */
#define MAX_PARKED (UINT64_C(256) << 20) /* bytes to be written that may be parked */

/* What a thread serves. turn is odd while it serves something; whoever makes turn even, the thread itself or the thread
 * of the deadlines, is the one who replies. */
struct seat {
    atomic_uint_least64_t turn;
    _Atomic(fuse_req_t) req;
    atomic_uint operation; /* enum operation; N_OPERATIONS: it is not known */
    atomic_uint_least64_t nodeid;
    atomic_uint_least64_t deadline;
    struct seat *next;
};

struct deadlines {
    struct fs *fs;
    struct handles *handles;
    struct troubles *troubles;
    uint64_t timeout; /* ms; 0: for ever */
    pthread_t thread;
    bool runs;
    struct mutex lock;
    struct cond stop_now;
    bool stop;             /* lock */
    struct parked *parked; /* lock */
    uint64_t n_parked;     /* lock; parked requests, and those that workers are to run again */
    uint64_t parked_bytes; /* lock; of all these */
    struct seat *seats;    /* lock; of all threads that ever served */
};

static _Thread_local struct seat *own;
static _Thread_local uint64_t own_turn;

/* -- seats -- */

static struct seat *take_seat(struct deadlines *deadlines)
{
    struct seat *seat = calloc(1, sizeof *seat);

    if (seat == NULL)
        return NULL;
    mutex_lock(&deadlines->lock);
    seat->next = deadlines->seats;
    deadlines->seats = seat;
    mutex_unlock(&deadlines->lock);
    return seat;
}

/* Says when a request has to be answered. One that runs again gets at least a tick more, so that it finds its handles
 * and inodes before it is answered: the kernel may drop them then. */
static uint64_t deadline_of(const struct deadlines *deadlines, const struct request *request)
{
    if (request != NULL && request->deadline > 0)
        return MAX(request->deadline, clock_ms() + TICK);
    return deadlines->timeout > 0 ? clock_ms() + deadlines->timeout : UINT64_MAX;
}

void deadlines_begin(struct deadlines *deadlines, fuse_req_t req)
{
    const struct request *request = request_now();

    if (own == NULL && (own = take_seat(deadlines)) == NULL)
        return; /* without memory for a seat the request has no deadline */
    atomic_store(&own->req, req);
    atomic_store(&own->operation, request != NULL ? request->operation : N_OPERATIONS);
    atomic_store(&own->nodeid, request != NULL ? request->ino : 0);
    atomic_store(&own->deadline, deadline_of(deadlines, request));
    own_turn = atomic_fetch_add(&own->turn, 1) + 1;
}

bool deadlines_may_reply(void)
{
    uint64_t turn = own_turn;
    bool may = own == NULL || (turn % 2 == 1 && atomic_compare_exchange_strong(&own->turn, &turn, turn + 1));

    if (may)
        request_is_answered();
    return may;
}

/* Answers requests whose threads are late. */
static void look_at_seats(struct deadlines *deadlines, uint64_t now) REQUIRES(deadlines->lock)
{
    for (struct seat *seat = deadlines->seats; seat != NULL; seat = seat->next) {
        uint64_t turn = atomic_load(&seat->turn);
        fuse_req_t req = atomic_load(&seat->req);

        if (turn % 2 == 1 && now > atomic_load(&seat->deadline) &&
            atomic_compare_exchange_strong(&seat->turn, &turn, turn + 1)) {
            request_is_late(req, atomic_load(&seat->operation), atomic_load(&seat->nodeid), deadlines->timeout / 1000);
            reply_error(req, EIO);
        }
    }
}

/* -- parked requests -- */

/* A copy of a request and of all it points to, with references to its handles and inodes: the kernel may let go of them
 * in the meantime. */
struct parked {
    struct chore chore;
    struct deadlines *deadlines;
    struct request request;
    struct fuse_file_info fi, other_fi;
    struct stat attr;
    struct inode *inode, *other_inode;
    size_t bytes;
    struct parked *next;
    char text[]; /* names and data */
};

/* What this thread has parked, to be handed over when its operation has returned; at once: to a worker, else when the
 * deadlines' thread looks next. */
static _Thread_local struct parked *leaving;
static _Thread_local bool leaves_at_once;

static void free_parked(struct parked *parked)
{
    struct inodes *inodes = parked->deadlines->fs->inodes;

    if (parked->request.handle != NULL)
        handle_put(parked->request.handle);
    if (parked->request.other_handle != NULL)
        handle_put(parked->request.other_handle);
    inode_unref(inodes, parked->inode);
    inode_unref(inodes, parked->other_inode);
    free(parked);
}

static struct parked *parked_of(const struct request *request)
{
    return (struct parked *) ((char *) drop_const(request) - offsetof(struct parked, request));
}

static const void *copy_bytes(char **at, const void *bytes, size_t n)
{
    void *copy = *at;

    if (bytes == NULL)
        return NULL;
    memcpy(copy, bytes, n);
    *at += n;
    return copy;
}

static size_t text_len(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static struct handle *handle_in(const struct deadlines *deadlines, const struct fuse_file_info *fi)
{
    return fi != NULL && fi->fh != 0 ? handles_get(deadlines->handles, fi->fh) : NULL;
}

static struct parked *copy_of(struct deadlines *deadlines, const struct request *request)
{
    size_t n_data = request->data != NULL ? request->size : 0;
    size_t n = n_data + text_len(request->name) + text_len(request->other_name);
    struct parked *parked = calloc(1, sizeof *parked + n);
    char *at;

    if (parked == NULL)
        return NULL;
    at = parked->text;
    parked->deadlines = deadlines;
    parked->bytes = sizeof *parked + n;
    parked->request = *request;
    parked->request.again = true;
    parked->request.deadline = own != NULL ? atomic_load(&own->deadline) : UINT64_MAX;
    parked->request.data = copy_bytes(&at, request->data, n_data);
    parked->request.name = copy_bytes(&at, request->name, text_len(request->name));
    parked->request.other_name = copy_bytes(&at, request->other_name, text_len(request->other_name));
    if (request->fi != NULL) {
        parked->fi = *request->fi;
        parked->request.fi = &parked->fi;
    }
    if (request->other_fi != NULL) {
        parked->other_fi = *request->other_fi;
        parked->request.other_fi = &parked->other_fi;
    }
    if (request->attr != NULL) {
        parked->attr = *request->attr;
        parked->request.attr = &parked->attr;
    }
    parked->request.handle = handle_in(deadlines, request->fi);
    parked->request.other_handle = handle_in(deadlines, request->other_fi);
    parked->inode = inodes_find(deadlines->fs->inodes, request->ino);
    parked->other_inode = inodes_find(deadlines->fs->inodes, request->other_ino);
    return parked;
}

/* Counts bytes as parked. False: there is no room for them. */
static bool reserve(struct deadlines *deadlines, size_t bytes)
{
    bool room;

    mutex_lock(&deadlines->lock);
    room = deadlines->runs && deadlines->parked_bytes + bytes <= MAX_PARKED;
    if (room) {
        deadlines->n_parked++;
        deadlines->parked_bytes += bytes;
    }
    mutex_unlock(&deadlines->lock);
    return room;
}

static void release(struct deadlines *deadlines, size_t bytes)
{
    mutex_lock(&deadlines->lock);
    deadlines->n_parked--;
    assert(deadlines->parked_bytes >= bytes);
    deadlines->parked_bytes -= bytes;
    mutex_unlock(&deadlines->lock);
}

void deadlines_count(struct deadlines *deadlines, uint64_t *ret_n, uint64_t *ret_bytes)
{
    mutex_lock(&deadlines->lock);
    *ret_n = deadlines->n_parked;
    *ret_bytes = deadlines->parked_bytes;
    mutex_unlock(&deadlines->lock);
}

bool deadlines_park(struct deadlines *deadlines, int r)
{
    const struct request *request = request_now();
    struct parked *parked;

    if ((r != -ETIMEDOUT && r != REQUEST_ELSEWHERE) || !request_can_wait())
        return false;
    parked = request->again ? parked_of(request) : copy_of(deadlines, request);
    if (parked == NULL)
        return false;
    if (!reserve(deadlines, parked->bytes)) {
        if (!request->again)
            free_parked(parked);
        return false;
    }
    parked->request.done = request_done();
    request_is_parked();
    leaving = parked;
    leaves_at_once = r == REQUEST_ELSEWHERE;
    return true;
}

static void run_again(struct chore *chore)
{
    struct parked *parked = (struct parked *) chore;
    struct deadlines *deadlines = parked->deadlines;

    release(deadlines, parked->bytes);
    request_run(&parked->request);
    if (leaving != parked)
        free_parked(parked);
    deadlines_end(deadlines);
}

static void run_elsewhere(struct deadlines *deadlines, struct parked *parked)
{
    parked->chore = (struct chore){ .run = run_again, .waits = true };
    workers_later(deadlines->fs->workers, &parked->chore);
}

void deadlines_end(struct deadlines *deadlines)
{
    struct parked *parked = leaving;

    leaving = NULL;
    if (parked == NULL)
        return;
    if (leaves_at_once) {
        run_elsewhere(deadlines, parked);
        return;
    }
    mutex_lock(&deadlines->lock);
    parked->next = deadlines->parked;
    deadlines->parked = parked;
    mutex_unlock(&deadlines->lock);
}

struct handle *deadlines_handle(struct deadlines *deadlines, const struct fuse_file_info *fi)
{
    const struct request *request = request_now();
    struct handle *handle = NULL;

    if (request != NULL && request->again)
        handle = fi == request->fi ? request->handle : fi == request->other_fi ? request->other_handle : NULL;
    if (handle == NULL)
        return handles_get(deadlines->handles, fi->fh);
    handle_ref(handle);
    return handle;
}

/* Has a parked request run again, unless its time is up or its program has been interrupted; then it is answered. What
 * it holds is let go before that: the kernel may close the file as soon as it has the answer, and the last one who
 * closes it waits for its disks. */
static void look_at_parked(struct deadlines *deadlines, struct parked *parked, uint64_t now)
{
    const struct request *request = &parked->request;
    int error = fuse_req_interrupted(request->req) ? EINTR : now > request->deadline ? EIO : 0;
    fuse_req_t req = request->req;

    if (error == 0) {
        run_elsewhere(deadlines, parked);
        return;
    }
    release(deadlines, parked->bytes);
    if (error == EIO)
        request_is_late(request->req, request->operation, request->ino, deadlines->timeout / 1000);
    else
        figures_note_request(request->operation, request->began, -error);
    request_is_given_up(request, -error);
    free_parked(parked);
    reply_error(req, error);
}

/* -- life -- */

static void look(struct deadlines *deadlines)
{
    uint64_t now = clock_ms();
    struct parked *parked;

    mutex_lock(&deadlines->lock);
    parked = steal(deadlines->parked);
    look_at_seats(deadlines, now);
    mutex_unlock(&deadlines->lock);
    while (parked != NULL) {
        struct parked *next = parked->next;

        look_at_parked(deadlines, parked, now);
        parked = next;
    }
}

static void *keep(void *arg)
{
    struct deadlines *deadlines = arg;
    bool stop = false;

    for (unsigned tick = 0; !stop; tick++) {
        uint64_t next = clock_in_ms(TICK);

        mutex_lock(&deadlines->lock);
        if (!deadlines->stop)
            (void) cond_wait_until_ms(&deadlines->stop_now, &deadlines->lock, next);
        stop = deadlines->stop;
        mutex_unlock(&deadlines->lock);
        look(deadlines);
        if (troubles_look(deadlines->troubles, deadlines->fs))
            jobs_retry(deadlines->fs->jobs);
        troubles_say(deadlines->troubles, deadlines->fs);
        if (tick % RETRY == 0) {
            reaper_retry(deadlines->fs->reaper);
            layouts_tidy(deadlines->fs->layouts);
        }
    }
    return NULL;
}

int deadlines_new(struct fs *fs, struct handles *handles, struct troubles *troubles, uint32_t timeout,
                  struct deadlines **ret_deadlines)
{
    struct deadlines *deadlines = calloc(1, sizeof *deadlines);

    if (deadlines == NULL)
        return -ENOMEM;
    deadlines->fs = fs;
    deadlines->handles = handles;
    deadlines->troubles = troubles;
    deadlines->timeout = (uint64_t) timeout * 1000;
    mutex_init(&deadlines->lock);
    cond_init(&deadlines->stop_now);
    *ret_deadlines = deadlines;
    return 0;
}

int deadlines_start(struct deadlines *deadlines)
{
    int r = pthread_create(&deadlines->thread, NULL, keep, deadlines);

    deadlines->runs = r == 0;
    return -r;
}

void deadlines_free(struct deadlines *deadlines)
{
    if (deadlines == NULL)
        return;
    if (deadlines->runs) {
        mutex_lock(&deadlines->lock);
        deadlines->stop = true;
        deadlines->runs = false;
        cond_signal(&deadlines->stop_now);
        mutex_unlock(&deadlines->lock);
        pthread_join(deadlines->thread, NULL);
    }
    workers_drain(deadlines->fs->workers); /* requests that are run again just now */
    while (deadlines->parked != NULL) {
        struct parked *parked = deadlines->parked;
        fuse_req_t req = parked->request.req;

        deadlines->parked = parked->next;
        free_parked(parked);
        reply_error(req, EIO);
    }
    while (deadlines->seats != NULL) {
        struct seat *next = deadlines->seats->next;

        free(deadlines->seats);
        deadlines->seats = next;
    }
    own = NULL;
    cond_done(&deadlines->stop_now);
    mutex_done(&deadlines->lock);
    free(deadlines);
}
