/* SPDX-License-Identifier: MIT */
/* Questions to what may not answer, as an NFS mount whose server is gone or a daemon that is stopped: each is asked by
 * a thread of its own, and waited for only so long.
 *
 *     struct inquiry *inquiry = inquiry_put(ask, question);
 *     struct timespec until = inquiry_patience();
 *
 *     if (inquiry_await(inquiry, &until))
 *         ... question has its answer, and is the caller's again
 *     else
 *         ... the thread may still be at it: question must stay, and is nobody's */
#ifndef FALLSFS_FS_CTL_ASK_INQUIRY_H
#define FALLSFS_FS_CTL_ASK_INQUIRY_H

#include <stdbool.h>
#include <time.h>

struct inquiry;

/* Calls ask(question) in a thread of its own; NULL: there was no memory or no thread for it. */
struct inquiry *inquiry_put(void (*ask)(void *question), void *question);

/* Until when to wait for questions that are put now, by the steady clock. */
struct timespec inquiry_patience(void);

/* Waits for the answer, no longer than until; false: there was none in time. Takes the inquiry either way. */
bool inquiry_await(struct inquiry *inquiry, const struct timespec *until);

/* Whether any inquiry was given up: its thread may be where nothing but the end of the process gets it out. */
bool inquiry_was_given_up(void);

#endif
