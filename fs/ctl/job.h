/* SPDX-License-Identifier: MIT */
/* What a mount tells of its jobs (user.falls.migrate and user.falls.jobs), read and shown. */
#ifndef FALLSFS_FS_CTL_JOB_H
#define FALLSFS_FS_CTL_JOB_H

#include "fs/ctl/json.h"

struct job_told {
    uint64_t number, done, total, rate, limit, ms;
    int error;
    char state[16];
    const char *path; /* in the text that was read, up to the end of the line; empty: nobody knows */
    size_t path_len;
};

/* The next of a text with a line for each; *at goes on behind it. False: there is none. */
bool job_next(const char **at, struct job_told *ret_job);

bool job_is_open(const struct job_told *job); /* neither done, cancelled nor failed */

/* Milliseconds until it is done, at the rate it has; UINT64_MAX: nobody can say. */
uint64_t job_left(uint64_t done, uint64_t total, uint64_t rate);

/* "4m10s" */
#define JOB_TIME 32
const char *job_time(uint64_t ms, char text[static JOB_TIME]);

/* The members of an object that is open. */
void job_json(struct json *json, const struct job_told *job);

/* A line that moves, on a terminal; last: it stays. */
struct job_bar {
    bool shown;
};
void job_bar(struct job_bar *bar, uint64_t done, uint64_t total, uint64_t rate, uint32_t n_open, bool last);

#endif
