/* SPDX-License-Identifier: MIT */
/* Views that are in use. A descriptor that has a view is its user's, who may have so many of them and so much memory
 * for them. What a text means is worked out once for each user, however many descriptors have it:
 *
 *     descriptor 5 ── held_view { file_view } ──┐
 *     descriptor 6 ── held_view { file_view } ──┴── known { uid 1000, "stripe(1M,4) element 2", view }
 */
#ifndef FALLSFS_FS_DAEMON_VIEW_VIEWS_H
#define FALLSFS_FS_DAEMON_VIEW_VIEWS_H

#include "fs/core/view/file_view.h"
#include "fs/daemon/bounds/accounts.h"

struct known_view;
struct views;

struct held_view {
    atomic_uint refs;
    uid_t uid;
    struct file_view *file_view;
    struct views *views;
    struct known_view *known;
};

/* Makes a table without views, which the accounts outlive. */
int views_new(struct fs *fs, struct accounts *accounts, struct views **ret_views);
void views_free(struct views *views);

/* Holds a view for a descriptor of that user. The counters outlive it. -EUSERS: the user has too many views, or too
 * much memory in them; other errors as view_parse. */
int views_hold(struct views *views, uid_t uid, const char *text, struct file_view_counters *counters,
               struct held_view **ret_held, struct layout_error *ret_error);
struct held_view *held_view_ref(struct held_view *held);
void held_view_put(struct held_view *held);

/* Gives the view that a text means, with a reference, charged to nobody: for who looks at a view that he does not open.
 */
int views_look(struct views *views, const char *text, struct view **ret_view);

/* Writes what the user has too much of, and what helps, for lasterror. */
void views_explain(struct views *views, uid_t uid, char *why, size_t size);

#endif
