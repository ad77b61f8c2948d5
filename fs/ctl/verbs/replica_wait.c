/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/replica.h"

#include "fs/ctl/ask/job.h"
#include "layout/clock.h"

#include <stdlib.h>
#include <unistd.h>

#define LOOK 50000 /* us between two looks */

enum waiting { WAITS, FILLED, FAILED };

/* Looks how far one is, and adds what it has and is to have. */
static enum waiting look(const char *path, uint64_t number, uint64_t *done, uint64_t *total, char why[static ATTRS_WHY])
{
    cleanup(replicas_info_done) struct replicas_info info = { 0 };
    const struct replica_info *replica;

    if (replicas_info_init(&info, path, why) < 0)
        return FAILED;
    replica = replicas_info_find(&info, number);
    if (replica == NULL) {
        attrs_refuse(why, 0, "replica %" PRIu64 " was dropped meanwhile", number);
        return FAILED;
    }
    *done += replica->has;
    *total += replica->bytes;
    if (replica_info_is(replica, "filled"))
        return FILLED;
    if (!replica_info_is(replica, "lost") && !replica_info_is(replica, "failing"))
        return WAITS;
    attrs_refuse(why, 0, "replica %" PRIu64 " is not filled: %s%s", number,
                 replica->error != NULL ? replica->error : "its layout is lost",
                 replica_info_is(replica, "lost") ? "; drop it, and add it again"
                                                  : "; that is tried again now and then");
    return FAILED;
}

void replica_wait(char *const path[], const uint64_t number[], int n, void (*tell)(void *ctx, int i, const char *why),
                  void *ctx)
{
    cleanup(freep) bool *over = calloc((size_t) n + 1, sizeof *over);
    struct job_bar bar = { .shown = false };
    const uint64_t began = clock_ms();
    uint32_t n_open = 1;

    for (int i = 0; over == NULL && i < n; i++)
        if (number[i] != 0)
            tell(ctx, i, "it has begun, but cannot be waited for: out of memory");
    while (over != NULL && n_open > 0) {
        uint64_t done = 0, total = 0;

        n_open = 0;
        for (int i = 0; i < n; i++) {
            char why[ATTRS_WHY];
            enum waiting waiting = number[i] != 0 && !over[i] ? look(path[i], number[i], &done, &total, why) : WAITS;

            over[i] |= number[i] == 0 || waiting != WAITS;
            n_open += !over[i];
            if (waiting != WAITS)
                tell(ctx, i, waiting == FAILED ? why : NULL);
        }
        job_bar(&bar, done, total, done * 1000 / MAX(clock_ms() - began, 1), n_open, n_open == 0);
        if (n_open > 0)
            usleep(LOOK);
    }
}
