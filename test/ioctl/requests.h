/* SPDX-License-Identifier: MIT */
/* What the ranks of a random group ask for: sections of one array, or elements of a random pattern, or lists of
 * pieces; or some this and some that. */
#ifndef FALLSFS_TEST_IOCTL_REQUESTS_H
#define FALLSFS_TEST_IOCTL_REQUESTS_H

#include "ioctl/fad.h"
#include "layout/section.h"
#include "test/support/rng.h"

#define REQUESTS_MAX 32

struct requests {
    uint32_t n;
    struct asked asked[REQUESTS_MAX]; /* their memory holds random bytes, one more than asked for */
    struct nest *nest[REQUESTS_MAX];  /* NULL: a list */
    struct pieces *pieces[REQUESTS_MAX];
    struct list list[REQUESTS_MAX];
};

/* Makes random requests. Nothing is asked for at or behind byte room of the file, which is at least 8192. */
void requests_random(struct requests *requests, uint64_t room, struct rng *rng);

/* Makes one: a section. */
void requests_one(struct requests *requests, const struct array *array, const struct range range[], struct rng *rng);

/* Makes random requests, however many there are then, of which no two have a byte in common. */
void requests_apart(struct requests *requests, uint64_t room, struct rng *rng);
void requests_done(struct requests *requests);

#endif
