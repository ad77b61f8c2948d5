/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/inquiry.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "fallsctl: looks at and makes fallsfs volumes, shapes layouts\n"
    "\n"
    "usage: fallsctl VERB ... [--json]\n"
    "       fallsctl VERB --help\n"
    "       fallsctl --help | --version\n"
    "\n"
    "  format    makes a volume of empty directories\n"
    "  status    how a volume is, and what needs somebody's attention\n"
    "  df        how much room there is, how much of it one new file can take\n"
    "  map       which subfiles on which disks have the bytes of a file\n"
    "  extract   copies files out of a volume without mounting it\n"
    "  umount    unmounts, and waits until all is written\n"
    "  groups    which groups of processes wait for whom\n"
    "  iostat    what each disk does: rates, how long calls take, queue, errors\n"
    "  top       what a mount does, live: disks, requests, open files, jobs\n"
    "  calibrate what requests cost each disk: a call, a seek, the rate of bytes\n"
    "  why-slow  what makes a file or a process slow just now, and what helps\n"
    "  bench     how fast processes get sections of arrays, alone and together\n"
    "  layout    set, get, unset: of files and directories; check, map, unmap, runs, intersect,\n"
    "            match, show: layouts alone\n"
    "  array     set, get, unset: which array a file holds, as its header says\n"
    "  create    makes empty files with a layout\n"
    "  find      files by their layouts, by disks, by how well they fit\n"
    "  where     on which disk single bytes and elements of arrays lie\n"
    "  explain   what reading a part of a file takes, and which layout would be best\n"
    "  trace     start, stop, status, export, record: who reads and writes what\n"
    "  profile   what programs did with a file, from a trace, and which layouts fit that\n"
    "  recommend which layout would be best for that, and whether going there pays\n"
    "  migrate   gives files that have bytes another layout, while they are in use\n"
    "  replica   add, list, drop: files lie in further layouts, too\n"
    "  repair    makes files whole that have lost a part, from what is left\n"
    "  disk      add, drain, balance: disks join a mounted volume and leave it\n"
    "  jobs      how far that is; pause, resume, cancel, wait\n"
    "  collect   makes one archive for a bug report\n"
    "\n"
    "examples:\n"
    "  fallsctl format /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fallsctl status /fast\n"
    "  fallsctl layout set -S 4M /fast/runs\n"
    "\n"
    "exit status: 0 fine, 1 error, 2 wrong usage, 3 some of it failed\n";

static const struct {
    const char *name;
    enum ctl_status (*run)(int argc, char **argv);
} verbs[] = {
    { "bench", ctl_bench },
    { "create", ctl_create },
    { "disk", ctl_disk },
    { "explain", ctl_explain },
    { "find", ctl_find },
    { "where", ctl_where },
    { "df", ctl_df },
    { "extract", ctl_extract },
    { "format", ctl_format },
    { "groups", ctl_groups },
    { "jobs", ctl_jobs },
    { "layout", ctl_layout },
    { "map", ctl_map },
    { "migrate", ctl_migrate },
    { "repair", ctl_repair },
    { "replica", ctl_replica },
    { "status", ctl_status },
    { "umount", ctl_umount },
    { "collect", ctl_collect },
    { "array", ctl_array },
    { "profile", ctl_profile },
    { "recommend", ctl_recommend },
    { "trace", ctl_trace },
    { "iostat", ctl_iostat },
    { "top", ctl_top },
    { "calibrate", ctl_calibrate },
    { "why-slow", ctl_why_slow },
};

static enum ctl_status run(int argc, char **argv)
{
    if (argc < 2) {
        fputs(help, stderr);
        return CTL_USAGE;
    }
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 2, argv + 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return CTL_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("fallsctl " FALLSFS_VERSION);
        return CTL_OK;
    }
    utf8_complain("fallsctl: unknown verb '%s'; 'fallsctl --help' lists them", argv[1]);
    return CTL_USAGE;
}

int main(int argc, char **argv)
{
    enum ctl_status status;

    (void) setlocale(LC_CTYPE, "C.UTF-8"); /* names are shown as UTF-8 everywhere, in columns as wide as they are */
    status = run(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        utf8_complain("fallsctl: cannot write the output: %s", strerror(errno));
        status = CTL_ERROR;
    }
    if (inquiry_was_given_up())
        _exit((int) status); /* what runs at exit could wait for such a thread */
    return (int) status;
}
