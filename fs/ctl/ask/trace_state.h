/* SPDX-License-Identifier: MIT */
/* What a mount says of the trace of a file or directory, and where what it has recorded is read. */
#ifndef FALLSFS_FS_CTL_ASK_TRACE_STATE_H
#define FALLSFS_FS_CTL_ASK_TRACE_STATE_H

#include "fs/ctl/ask/attrs.h"

struct trace_state {
    bool is_on, every;
    unsigned sample;           /* one of so many accesses is recorded */
    uint64_t n_open;           /* handles that were open already when every access was asked for */
    uint64_t records, dropped; /* that this user may see */
};

int trace_state_get(const char *path, struct trace_state *ret_state, char ret_why[static ATTRS_WHY]);

/* How a trace is to begin. */
struct trace_order {
    bool every;
    unsigned sample; /* one of so many accesses is to be recorded; 1: all */
};

/* Takes what the user has said of a sample; NULL: nothing. False: that is no number from 1 to 65535. */
bool trace_order_sample(struct trace_order *order, const char *sample);

/* Begins a trace; ends it. */
int trace_order_give(const struct trace_order *order, const char *path, char ret_why[static ATTRS_WHY]);
int trace_order_end(const char *path, char ret_why[static ATTRS_WHY]);

/* Whether a trace that goes on already has all that is ordered. */
bool trace_order_is_met(const struct trace_order *order, const struct trace_state *state);

/* Finds the stream of what is recorded, .falls/trace of the mount that a path lies in, and what the path is called
 * there; ret_below may be NULL. */
int trace_state_stream(const char *path, char **ret_stream, char **ret_below, char ret_why[static ATTRS_WHY]);

#endif
