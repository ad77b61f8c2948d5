/* SPDX-License-Identifier: MIT */
/* What users have of the daemon. Whoever makes an object for a user charges it, and discharges it when it is gone; at
 * the bound nothing more is made. fs/BOUNDS.md lists all objects, also those that are bounded elsewhere. */
#ifndef FALLSFS_FS_DAEMON_BOUNDS_ACCOUNTS_H
#define FALLSFS_FS_DAEMON_BOUNDS_ACCOUNTS_H

#include "layout/base.h"

#include <sys/types.h>

enum account {
    ACCOUNT_DESCRIPTORS,  /* the daemon's, for what the user has open */
    ACCOUNT_VIEWS,        /* descriptors that have a view */
    ACCOUNT_VIEW_BYTES,   /* memory that views take */
    ACCOUNT_BUFFERS,      /* buffers of programs, which the daemon has mapped */
    ACCOUNT_BUFFER_BYTES, /* bytes in those buffers */
    ACCOUNT_HOLE_BYTES,   /* holes of those buffers which the daemon has filled */
    ACCOUNT_LIST_BYTES,   /* lists of pieces that are asked for, planned for or remembered */
    ACCOUNT_TEXT_BYTES,   /* texts below .falls that are open, and stay as they were then */
    N_ACCOUNTS,
};

#define ACCOUNTS_ROOT 4 /* root, and the owner, may have so many times as much as others */

/* What one user may have of each. */
struct accounts_limits {
    uint64_t of[N_ACCOUNTS];
};

struct accounts;

/* Makes accounts with nothing in them; owner is the user who mounted, and may have as much as root. */
int accounts_new(const struct accounts_limits *limits, uid_t owner, struct accounts **ret_accounts);
void accounts_free(struct accounts *accounts);

/* Charges a user for n more of something, or discharges him. -EUSERS: that would be more than he may have. */
int accounts_charge(struct accounts *accounts, uid_t uid, enum account account, uint64_t n);
void accounts_discharge(struct accounts *accounts, uid_t uid, enum account account, uint64_t n);

/* How much all users together have of each. */
void accounts_sum(struct accounts *accounts, uint64_t ret_sum[static N_ACCOUNTS]);

/* How much a user has of something, and how much he may have. */
uint64_t accounts_has(struct accounts *accounts, uid_t uid, enum account account);
uint64_t accounts_bound(const struct accounts *accounts, uid_t uid, enum account account);

#endif
