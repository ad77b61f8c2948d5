/* SPDX-License-Identifier: MIT */
/* The command line of a verb: options anywhere, "--" before words that start with a dash. */
#ifndef FALLSFS_FS_CTL_TALK_ARGS_H
#define FALLSFS_FS_CTL_TALK_ARGS_H

#include "fs/ctl/talk/ctl_status.h"

/* The words behind an option that may come several times; the caller frees the list. */
struct arg_list {
    char **word;
    size_t n;
};

/* An option of a verb. Either set is given, for an option that is there or not, or value, for one with a word behind
 * it, or list, for one of which each counts. */
struct arg {
    const char *name, *other; /* other may be NULL */
    bool *set;
    const char **value;
    struct arg_list *list;
};

struct args {
    const char *verb, *help;
    const struct arg *arg;
    size_t n_args;
    char **word; /* what is no option */
    int n;
    int n_behind; /* of these, behind "--"; -1: there is none */
};

/* Takes the options out; the words stay in argv, in order. False: help or a complaint is printed, and *ret_status is
 * how the program ends. */
bool args_read(struct args *args, int argc, char **argv, enum ctl_status *ret_status);

/* Says what is wrong with the command line. word may be NULL. */
enum ctl_status args_complain(const char *verb, const char *why, const char *word);

#endif
