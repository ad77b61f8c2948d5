/* SPDX-License-Identifier: MIT */
#include "fs/daemon/keeper.h"

#include "fs/core/reap.h"
#include "fs/daemon/log.h"

#include <string.h>

#define RETRY      8                     /* looks between two tries at what a disk refused */
#define TICK       250                   /* ms between two looks */
#define MAX_PARKED (UINT64_C(256) << 20) /* bytes to be written that may be parked */

/* What a thread serves. turn is odd while it serves something; whoever makes it even replies. */
struct seat {
    atomic_uint_least64_t turn;
    _Atomic(fuse_req_t) req;
    atomic_uint_least64_t deadline;
    struct seat *next;
};

struct keeper {
    struct fs *fs;
    uint64_t timeout; /* ms; 0: for ever */
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t stop_now;
    bool stop;              /* lock */
    struct request *parked; /* lock */
    uint64_t parked_bytes;  /* lock */
    struct seat *seats;     /* lock; of all threads that ever served */
};

static _Thread_local struct seat *own;
static _Thread_local uint64_t own_turn;

/* -- seats -- */

static struct seat *take_seat(struct keeper *keeper)
{
    struct seat *seat = calloc(1, sizeof *seat);

    if (seat == NULL)
        return NULL;
    pthread_mutex_lock(&keeper->lock);
    seat->next = keeper->seats;
    keeper->seats = seat;
    pthread_mutex_unlock(&keeper->lock);
    return seat;
}

void keeper_begin(struct keeper *keeper, fuse_req_t req)
{
    if (own == NULL && (own = take_seat(keeper)) == NULL)
        return; /* without memory for a seat, without deadline */
    atomic_store(&own->req, req);
    atomic_store(&own->deadline, keeper->timeout > 0 ? watch_now() + keeper->timeout : UINT64_MAX);
    own_turn = atomic_fetch_add(&own->turn, 1) + 1;
}

bool keeper_may_reply(void)
{
    uint64_t turn = own_turn;

    return own == NULL || (turn % 2 == 1 && atomic_compare_exchange_strong(&own->turn, &turn, turn + 1));
}

/* Answers for threads that are late. */
static void look_at_seats(struct keeper *keeper, uint64_t now)
{
    for (struct seat *seat = keeper->seats; seat != NULL; seat = seat->next) {
        uint64_t turn = atomic_load(&seat->turn);
        fuse_req_t req = atomic_load(&seat->req);

        if (turn % 2 == 1 && now > atomic_load(&seat->deadline) &&
            atomic_compare_exchange_strong(&seat->turn, &turn, turn + 1)) {
            log_warning("a disk has not answered for %" PRIu64 " s: the request fails", keeper->timeout / 1000);
            fuse_reply_err(req, EIO);
        }
    }
}

/* -- parked requests -- */

struct retry {
    struct job job;
    struct keeper *keeper;
    struct request *request;
};

static void free_request(struct request *request)
{
    handle_put(request->handle);
    free(request->data);
    free(request);
}

static struct request *copy_of(const struct request *request)
{
    struct request *copy = malloc(sizeof *copy);

    if (copy == NULL)
        return NULL;
    *copy = *request;
    copy->again = true;
    if (request->data != NULL) {
        copy->data = malloc(request->size);
        if (copy->data == NULL) {
            free(copy);
            return NULL;
        }
        memcpy(copy->data, request->data, request->size);
    }
    handle_ref(copy->handle);
    return copy;
}

/* False when there is no room for it. */
static bool park(struct keeper *keeper, struct request *request)
{
    uint64_t bytes = request->data != NULL ? request->size : 0;
    bool room;

    pthread_mutex_lock(&keeper->lock);
    room = keeper->runs && keeper->parked_bytes + bytes <= MAX_PARKED;
    if (room) {
        keeper->parked_bytes += bytes;
        request->next = keeper->parked;
        keeper->parked = request;
    }
    pthread_mutex_unlock(&keeper->lock);
    return room;
}

static void run_again(struct job *job)
{
    struct retry *retry = (struct retry *) job;
    struct keeper *keeper = retry->keeper;
    struct request *request = retry->request;
    ssize_t result;

    free(retry);
    keeper_begin(keeper, request->req);
    if (own != NULL)
        atomic_store(&own->deadline, request->deadline);
    result = request->act(request);
    if (!keeper_may_reply()) {
        free_request(request);
        return;
    }
    if (result == -ETIMEDOUT && park(keeper, request))
        return;
    request->answer(request, result == -ETIMEDOUT ? -EIO : result);
    free_request(request);
}

static bool run_elsewhere(struct keeper *keeper, struct request *request)
{
    struct retry *retry = calloc(1, sizeof *retry);

    if (retry == NULL)
        return false;
    *retry = (struct retry){ .job = { .run = run_again, .settles = true }, .keeper = keeper, .request = request };
    workers_later(keeper->fs->workers, &retry->job);
    return true;
}

/* Each gets another chance, unless its time is up or nobody waits for it any more. */
static void look_at_parked(struct keeper *keeper, struct request *request, uint64_t now)
{
    int error = fuse_req_interrupted(request->req) ? -EINTR : now > request->deadline ? -EIO : 0;

    if (error == 0 && run_elsewhere(keeper, request))
        return;
    request->answer(request, error != 0 ? error : -ENOMEM);
    free_request(request);
}

void keeper_run(struct keeper *keeper, struct request *request)
{
    struct request *copy;
    ssize_t result;

    request->deadline = keeper->timeout > 0 ? watch_now() + keeper->timeout : UINT64_MAX;
    result = request->act(request);
    if (keeper_may_reply()) {
        if (result == -ETIMEDOUT || result == REQUEST_ELSEWHERE) {
            copy = copy_of(request);
            if (copy != NULL && (result == -ETIMEDOUT ? park(keeper, copy) : run_elsewhere(keeper, copy))) {
                handle_put(request->handle);
                return;
            }
            if (copy != NULL)
                free_request(copy);
            result = -EIO;
        }
        request->answer(request, result);
    }
    handle_put(request->handle);
}

/* -- life -- */

static void look(struct keeper *keeper)
{
    uint64_t now = watch_now();
    struct request *parked;

    pthread_mutex_lock(&keeper->lock);
    parked = steal(keeper->parked);
    keeper->parked_bytes = 0;
    look_at_seats(keeper, now);
    pthread_mutex_unlock(&keeper->lock);
    while (parked != NULL) {
        struct request *next = parked->next;

        look_at_parked(keeper, parked, now);
        parked = next;
    }
}

static void *keep(void *arg)
{
    struct keeper *keeper = arg;
    bool stop = false;

    for (unsigned tick = 0; !stop; tick++) {
        struct timespec when;

        clock_gettime(CLOCK_MONOTONIC, &when);
        when.tv_nsec += TICK * 1000000L;
        when.tv_sec += when.tv_nsec / 1000000000L;
        when.tv_nsec %= 1000000000L;
        pthread_mutex_lock(&keeper->lock);
        if (!keeper->stop)
            pthread_cond_timedwait(&keeper->stop_now, &keeper->lock, &when);
        stop = keeper->stop;
        pthread_mutex_unlock(&keeper->lock);
        look(keeper);
        if (tick % RETRY == 0)
            reaper_retry(keeper->fs->reaper);
    }
    return NULL;
}

int keeper_new(struct fs *fs, uint32_t timeout, struct keeper **ret_keeper)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    pthread_condattr_t attr;

    if (keeper == NULL)
        return -ENOMEM;
    keeper->fs = fs;
    keeper->timeout = (uint64_t) timeout * 1000;
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->stop_now, &attr);
    pthread_condattr_destroy(&attr);
    *ret_keeper = keeper;
    return 0;
}

int keeper_start(struct keeper *keeper)
{
    int r = pthread_create(&keeper->thread, NULL, keep, keeper);

    keeper->runs = r == 0;
    return -r;
}

void keeper_free(struct keeper *keeper)
{
    if (keeper == NULL)
        return;
    if (keeper->runs) {
        pthread_mutex_lock(&keeper->lock);
        keeper->stop = true;
        keeper->runs = false;
        pthread_cond_signal(&keeper->stop_now);
        pthread_mutex_unlock(&keeper->lock);
        pthread_join(keeper->thread, NULL);
    }
    workers_drain(keeper->fs->workers); /* those that are run again now */
    while (keeper->seats != NULL) {
        struct seat *next = keeper->seats->next;

        free(keeper->seats);
        keeper->seats = next;
    }
    own = NULL;
    pthread_cond_destroy(&keeper->stop_now);
    pthread_mutex_destroy(&keeper->lock);
    free(keeper);
}
