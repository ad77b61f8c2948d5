/* SPDX-License-Identifier: MIT */
/* What the user asked for, on the command line and in a configuration file; the command line wins. */
#ifndef FALLSFS_FS_DAEMON_CONFIG_OPTIONS_H
#define FALLSFS_FS_DAEMON_CONFIG_OPTIONS_H

#include "fs/core/tree/defaults.h"
#include "fs/core/volume/room.h"

#define DEFAULT_LAYOUT "stripe(1M)"

/* Who may give files and directories layouts, besides root and who mounted. */
enum layout_allow {
    ALLOW_OWNER,
    ALLOW_GROUP, /* owners in the group layout_gid */
    ALLOW_ADMIN, /* nobody else */
};

struct options {
    char **disk; /* each a path */
    uint32_t n_disks;
    char *mountpoint;
    char *config;       /* path */
    char *metrics;      /* path of a file that gets them; NULL: none does */
    char *layout;       /* for new files; checked but for what depends on the volume */
    char *layout_where; /* where layout was named, as in struct layout_rule */
    enum layout_allow layout_allow;
    uint32_t layout_gid;      /* UINT32_MAX: nobody has named one */
    struct layout_rule *rule; /* for files whose directory has no layout; the first that fits counts */
    uint32_t n_rules;
    char *fuse; /* what is left for libfuse and the kernel: "allow_other,noatime" */
    bool read_only, degraded, direct_io;
    bool trace;                  /* all accesses are recorded from the start */
    uint32_t trace_sample;       /* of these one of so many; 1: all */
    uint32_t trace_ring;         /* bytes of what is recorded that are kept */
    bool missing_readonly;       /* when a disk is missing, go on as with ro,degraded */
    uint32_t wait_disks;         /* seconds to wait for disks that are not there yet */
    uint32_t threads;            /* threads that serve the kernel; 0: chosen by the number of disks */
    uint32_t timeout;            /* seconds a disk may take for an answer; 0: for ever */
    uint32_t read_ahead;         /* bytes the kernel reads ahead */
    uint64_t reserve;            /* bytes of each disk that new files leave free; ROOM_USUAL */
    uint32_t window;             /* bytes of memory that a thread at work for a group uses */
    uint32_t limit_descriptors;  /* the daemon's, for what one user has open; 0: an eighth of all */
    uint32_t limit_views;        /* descriptors with views that one user may have */
    uint32_t limit_view_memory;  /* bytes that the views of one user may take */
    uint32_t limit_hole_memory;  /* bytes of holes in memory of programs, that the daemon fills */
    uint32_t limit_groups;       /* of processes that one user may have */
    uint32_t limit_jobs;         /* of one user, that are not over */
    uint64_t limit_descriptions; /* bytes that what they ask for may take in here; 0: a sixteenth of what there is */
    uint32_t max_read;           /* bytes of one read request; 0: as many as the kernel likes */
    bool noatime, nodiratime;    /* reading files, or directories, moves no atime; noatime is in fuse as well */
    bool nosymfollow;            /* the kernel follows no symlinks of the mount */
    bool asks_for_suid;          /* somebody has typed suid or dev, which nobody gets */
    bool foreground, debug, single_thread;
    bool help, version;
};

struct options_error {
    char why[1024];
};

/* Writes the words of an error, and returns -EINVAL. */
PRINTF_LIKE(2, 3) int options_fail(struct options_error *error, const char *fmt, ...);

/* Reads the command line: DISK... MOUNTPOINT, or -c FILE [MOUNTPOINT], or DISK:DISK MOUNTPOINT as mount(8) passes it;
 * and the configuration it names. -EINVAL wrong usage, -EBADMSG a configuration that cannot be read or is wrong,
 * -ENOMEM; ret_error says why. */
int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error);
void options_done(struct options *options);

/* Sets all options to what holds where nobody says otherwise. */
void options_init(struct options *options);

/* Sets one option to what a text says: "true", "30", "4M". -EINVAL says what the value ought to be. */
int options_set(struct options *options, const char *name, const char *value, struct options_error *error);

/* Sets options as -o takes them: words with commas between them. */
int options_add_words(struct options *options, const char *words, struct options_error *error);

int options_add_disk(struct options *options, const char *path);

/* Adds a rule: new files whose names match get this layout. -EINVAL: match is no pattern, or layout is no layout. */
int options_add_rule(struct options *options, const char *match, const char *layout, struct options_error *error);

extern const char options_help[];

#endif
