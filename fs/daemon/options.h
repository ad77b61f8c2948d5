/* SPDX-License-Identifier: MIT */
/* What the user asked for, on the command line and in a configuration file; the command line wins. */
#ifndef FALLSFS_FS_DAEMON_OPTIONS_H
#define FALLSFS_FS_DAEMON_OPTIONS_H

#include "layout/base.h"

struct options {
    char **disk; /* each a path */
    uint32_t n_disks;
    char *mountpoint;
    char *config; /* path */
    char *layout; /* for new files */
    char *fuse;   /* what is left for libfuse and the kernel: "allow_other,max_read=..." */
    bool read_only, degraded, direct_io;
    uint32_t wait_disks; /* seconds to wait for disks that are not there yet */
    uint32_t threads;    /* that serve the kernel; 0: chosen by the number of disks */
    bool foreground, debug, single_thread;
    bool help, version;
};

struct options_error {
    char why[1024];
};

/* Notes why, gives -EINVAL back. */
PRINTF_LIKE(2, 3) int options_fail(struct options_error *error, const char *fmt, ...);

/* Reads the command line: DISK... MOUNTPOINT, or -c FILE [MOUNTPOINT], or DISK:DISK MOUNTPOINT as mount(8) passes it.
 * -EINVAL says why. */
int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error);
void options_done(struct options *options);

int options_add_disk(struct options *options, const char *path);

extern const char options_help[];

#endif
