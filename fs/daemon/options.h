/* SPDX-License-Identifier: MIT */
/* What the user asked for, on the command line and in a configuration file; the command line wins. */
#ifndef FALLSFS_FS_DAEMON_OPTIONS_H
#define FALLSFS_FS_DAEMON_OPTIONS_H

#include "fs/core/defaults.h"

#define DEFAULT_LAYOUT "stripe(1M)"

/* Who may give files and directories layouts, besides root and who mounted. */
enum layout_allow {
    ALLOW_OWNER,
    ALLOW_GROUP, /* owners in the group layout_gid */
    ALLOW_ADMIN, /* nobody */
};

struct options {
    char **disk; /* each a path */
    uint32_t n_disks;
    char *mountpoint;
    char *config; /* path */
    char *layout; /* for new files; checked but for what depends on the volume */
    enum layout_allow layout_allow;
    uint32_t layout_gid;      /* UINT32_MAX: not said */
    struct layout_rule *rule; /* for files whose directory has no layout; the first that fits counts */
    uint32_t n_rules;
    char *fuse; /* what is left for libfuse and the kernel: "allow_other,noatime" */
    bool read_only, degraded, direct_io;
    bool missing_readonly; /* when a disk is missing, go on as with ro,degraded */
    uint32_t wait_disks;   /* seconds to wait for disks that are not there yet */
    uint32_t threads;      /* that serve the kernel; 0: chosen by the number of disks */
    uint32_t timeout;      /* seconds a disk may take for an answer; 0: for ever */
    uint32_t read_ahead;   /* bytes the kernel reads ahead */
    uint32_t window;       /* bytes of memory that a thread at work for a group uses */
    uint32_t max_read;     /* bytes of one read request; 0: as many as the kernel likes */
    bool foreground, debug, single_thread;
    bool help, version;
};

struct options_error {
    char why[1024];
};

/* Notes why, gives -EINVAL back. */
PRINTF_LIKE(2, 3) int options_fail(struct options_error *error, const char *fmt, ...);

/* Reads the command line: DISK... MOUNTPOINT, or -c FILE [MOUNTPOINT], or DISK:DISK MOUNTPOINT as mount(8) passes it;
 * and the configuration it names. -EINVAL wrong usage, -EBADMSG a configuration that cannot be read or is wrong,
 * -ENOMEM; ret_error says why. */
int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error);
void options_done(struct options *options);

/* What holds where nobody says otherwise. */
void options_init(struct options *options);

/* Sets one option to what a text says: "true", "30", "4M". -EINVAL says what the value ought to be. */
int options_set(struct options *options, const char *name, const char *value, struct options_error *error);

/* Options as -o takes them. */
int options_add_words(struct options *options, const char *words, struct options_error *error);

int options_add_disk(struct options *options, const char *path);

/* New files called so get this layout. -EINVAL when it is none. */
int options_add_rule(struct options *options, const char *match, const char *layout, struct options_error *error);

extern const char options_help[];

#endif
