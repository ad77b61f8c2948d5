/* SPDX-License-Identifier: MIT */
/* What a mount tells of its jobs (user.falls.migrate and user.falls.jobs), read and shown. */
#ifndef FALLSFS_FS_CTL_ASK_JOB_H
#define FALLSFS_FS_CTL_ASK_JOB_H

#include "fs/json/json.h"

struct job_info {
    uint64_t number, done, total, rate, limit, ms;
    int error;
    char state[16];
    const char *path; /* in the text that was read, up to the end of the line; empty: nobody knows */
    size_t path_len;
};

/* Reads the next job of a text that has a line for each, and moves *at behind that line. False: there is none left. */
bool job_next(const char **at, struct job_info *ret_job);

bool job_is_open(const struct job_info *job); /* neither done, cancelled nor failed */

/* Milliseconds until a job is done at this rate; UINT64_MAX: it does not move, so nobody can say. */
uint64_t job_left(uint64_t done, uint64_t total, uint64_t rate);

/* A time for people, as "4m10s"; "?" stands for UINT64_MAX. */
#define JOB_TIME 32
const char *job_time(uint64_t ms, char text[static JOB_TIME]);

/* Writes a job as members of the JSON object that is open. */
void job_json(struct json *json, const struct job_info *job);

/* A bar of progress in one line of the terminal, which each call of job_bar writes over; last leaves it there. Where
 * standard error is no terminal nothing is written. */
struct job_bar {
    bool shown;
};
void job_bar(struct job_bar *bar, uint64_t done, uint64_t total, uint64_t rate, uint32_t n_open, bool last);

#endif
