/* SPDX-License-Identifier: MIT */
/* What fallsctl migrate was asked for, and what it says of files, be they named one by one or below a directory. */
#ifndef FALLSFS_FS_CTL_VERBS_MIGRATE_ASKED_H
#define FALLSFS_FS_CTL_VERBS_MIGRATE_ASKED_H

#include "fs/ctl/ask/begun.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/think/layout_options.h"
#include "fs/ctl/think/moves.h"

struct migration_asked {
    struct layout_options asked;
    bool restripe, by_default, dry, wait, raw, from_stdin;
    const char *limit;
    uint64_t limit_bytes; /* of limit; 0: there is none */
    struct paths paths;
    struct moves moves; /* of all files together */
    void *seen;         /* tree of struct identity: files with several names */
    struct begun begun;
    char *directory; /* whose order has been asked for and not waited for so far; or NULL */
    uint64_t number; /* of this order */
};

/* Finds the layout that a file at this path is to get. NULL: only the daemon knows. info is what the file has, for
 * --restripe alone. */
int migration_layout(struct migration_asked *request, const char *path, const struct file_info *info, char **ret_layout,
                     char ret_why[static ATTRS_WHY]);

/* Finds the word that the mount is asked for that layout with. */
const char *migration_word(const struct migration_asked *request, const char *layout);

/* Says what becomes of a file, or of the files below a directory. */
void migration_tell(struct migration_asked *request, const char *path, const char *layout, const char *state,
                    const struct moves *moves);

/* Whether the caller may give a file of this owner another layout, as the mount has it: a look with -n says so, too. */
bool migration_may(uid_t owner);
void migration_refuse(struct migration_asked *request, const char *path, uid_t owner);

/* Whether a file has come by under another name. Without memory it has not. */
bool migration_was_seen(struct migration_asked *request, const struct stat *st);

#endif
