/* SPDX-License-Identifier: MIT */
#include "ioctl/client/slabs/route.h"

#include "ioctl/client/client.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fallsfs_slabs {
    struct route route;
    uint64_t round;         /* the next one that is handed out */
    uint64_t n_asked;       /* rounds that have been asked for */
    bool in_hand;           /* the one before round */
    int error, write_error; /* the walk's end; the first of what was to be written */
    char why[512], write_why[512];
    struct fallsfs_slabs_stats stats;
    pid_t owner;
    uint32_t n;
    struct track track[];
};

/* Whether this process began the walk; one that was forked has a copy, and its parent's requests are not its own. */
static bool is_own(const struct fallsfs_slabs *slabs)
{
    return slabs->owner == getpid();
}

static int words_other(void)
{
    return words(-EPERM, "the walk belongs to another process: a child that was forked begins one of its own");
}

/* -- errors: each is told again and again -- */

static int end_with(struct fallsfs_slabs *slabs, int r)
{
    if (r < 0 && slabs->error == 0) {
        slabs->error = r;
        snprintf(slabs->why, sizeof slabs->why, "%s", fallsfs_strerror_last());
    }
    return r;
}

static int end_with_write(struct fallsfs_slabs *slabs, int r)
{
    if (r < 0 && slabs->write_error == 0) {
        slabs->write_error = r;
        snprintf(slabs->write_why, sizeof slabs->write_why, "%s", fallsfs_strerror_last());
    }
    return end_with(slabs, r);
}

/* -- a round -- */

static int flush_all(struct fallsfs_slabs *slabs)
{
    int r = 0;

    for (uint32_t i = 0; i < slabs->n; i++)
        if (end_with_write(slabs, track_flush(&slabs->track[i])) < 0)
            r = slabs->write_error;
    return r;
}

/* One round is written at a time, so that two of them never share what lies between their pieces in the file. */
static int give_all(struct fallsfs_slabs *slabs)
{
    int r = flush_all(slabs);

    for (uint32_t i = 0; i < slabs->n && r == 0; i++)
        r = end_with_write(slabs, track_give(&slabs->track[i], slabs->round - 1));
    slabs->in_hand = false;
    return r;
}

static int ask_all(struct fallsfs_slabs *slabs)
{
    uint64_t end = slabs->round + 1 + slabs->route.n_ahead;
    int r = 0;

    for (; slabs->n_asked < MIN(end, slabs->route.n_rounds) && r == 0; slabs->n_asked++)
        for (uint32_t i = 0; i < slabs->n && r == 0; i++)
            r = end_with(slabs, track_ask(&slabs->track[i], slabs->n_asked));
    return r;
}

static int take_all(struct fallsfs_slabs *slabs, struct fallsfs_slab slab[])
{
    bool all_ready = true, ready;
    int r = 0;

    for (uint32_t i = 0; i < slabs->n && r == 0; i++) {
        r = end_with(slabs, track_take(&slabs->track[i], slabs->round, &slab[i], &ready));
        all_ready &= r == 0 && ready;
    }
    if (r < 0)
        return r;
    slabs->stats.n_ready += all_ready;
    slabs->stats.rounds = ++slabs->round;
    slabs->in_hand = true;
    return 1;
}

int fallsfs_slabs_next(struct fallsfs_slabs *slabs, struct fallsfs_slab slab[])
{
    int r = slabs->error;

    if (!is_own(slabs))
        return words_other();
    if (r < 0)
        return words(r, "%s", slabs->why);
    if (slabs->in_hand)
        r = give_all(slabs);
    if (r == 0)
        r = ask_all(slabs);
    if (r == 0 && slabs->round == slabs->route.n_rounds)
        return flush_all(slabs);
    return r == 0 ? take_all(slabs, slab) : r;
}

/* -- beginning and ending -- */

static void slabs_free(struct fallsfs_slabs *slabs)
{
    for (uint32_t i = 0; i < slabs->n; i++)
        track_done(&slabs->track[i]);
    free(slabs);
}

int fallsfs_slabs_open(const struct fallsfs_slabs_walk *walk, const struct fallsfs_slabs_array arrays[],
                       uint32_t n_arrays, struct fallsfs_slabs **ret_slabs)
{
    struct fallsfs_slabs *slabs = calloc(1, sizeof *slabs + n_arrays * sizeof slabs->track[0]);
    int r;

    if (slabs == NULL)
        return words(-ENOMEM, "there is not enough memory");
    slabs->owner = getpid();
    r = route_init(&slabs->route, walk, arrays, n_arrays, slabs->track);
    if (r == 0)
        slabs->n = n_arrays;
    for (uint32_t i = 0; i < n_arrays && r == 0; i++) {
        r = track_begin(&slabs->track[i], &slabs->route.walk, &slabs->stats);
        slabs->stats.memory += slabs->track[i].memory_len;
    }
    if (r < 0)
        slabs_free(slabs);
    else
        *ret_slabs = slabs;
    return r;
}

int fallsfs_slabs_close(struct fallsfs_slabs *slabs)
{
    char why[sizeof slabs->write_why];
    int r;

    if (slabs == NULL)
        return 0;
    if (!is_own(slabs)) {
        free(slabs);
        return words_other();
    }
    (void) flush_all(slabs);
    r = slabs->write_error;
    memcpy(why, slabs->write_why, sizeof why);
    slabs_free(slabs);
    return r == 0 ? 0 : words(r, "%s", why);
}

void fallsfs_slabs_stats(const struct fallsfs_slabs *slabs, struct fallsfs_slabs_stats *ret_stats)
{
    *ret_stats = slabs->stats;
}
