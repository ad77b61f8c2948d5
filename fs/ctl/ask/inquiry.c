/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/inquiry.h"

#include "layout/clock.h"

#include <pthread.h>
#include <stdlib.h>

#define PATIENCE 5 /* seconds */

struct inquiry {
    void (*ask)(void *question);
    void *question;
    bool answered; /* lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answer = PTHREAD_COND_INITIALIZER;
static bool given_up; /* lock */

static void *run(void *arg)
{
    struct inquiry *inquiry = arg;

    inquiry->ask(inquiry->question);
    pthread_mutex_lock(&lock);
    inquiry->answered = true;
    pthread_cond_broadcast(&answer);
    pthread_mutex_unlock(&lock);
    return NULL;
}

struct inquiry *inquiry_put(void (*ask)(void *question), void *question)
{
    struct inquiry *inquiry = malloc(sizeof *inquiry);
    pthread_attr_t attr;
    pthread_t thread;
    int r;

    if (inquiry == NULL)
        return NULL;
    *inquiry = (struct inquiry){ .ask = ask, .question = question };
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attr, run, inquiry);
    pthread_attr_destroy(&attr);
    if (r != 0) {
        free(inquiry);
        return NULL;
    }
    return inquiry;
}

struct timespec inquiry_patience(void)
{
    struct timespec until = clock_read(CLOCK_MONOTONIC);

    until.tv_sec += PATIENCE;
    return until;
}

bool inquiry_await(struct inquiry *inquiry, const struct timespec *until)
{
    bool answered;
    int r = 0;

    pthread_mutex_lock(&lock);
    while (!inquiry->answered && r == 0)
        r = pthread_cond_clockwait(&answer, &lock, CLOCK_MONOTONIC, until);
    answered = inquiry->answered;
    given_up |= !answered;
    pthread_mutex_unlock(&lock);
    if (answered)
        free(inquiry);
    return answered;
}

bool inquiry_was_given_up(void)
{
    bool was;

    pthread_mutex_lock(&lock);
    was = given_up;
    pthread_mutex_unlock(&lock);
    return was;
}
