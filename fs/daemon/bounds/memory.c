/* SPDX-License-Identifier: MIT */
#include "fs/daemon/bounds/memory.h"

#include "layout/base.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void close_file(FILE **file)
{
    if (*file != NULL)
        (void) fclose(*file);
}

/* Reads the number in a file; UINT64_MAX: it has none, as when it says "max". */
static uint64_t read_number(const char *path)
{
    cleanup(close_file) FILE *file = fopen(path, "re");
    unsigned long long number;

    return file != NULL && fscanf(file, "%llu", &number) == 1 ? number : UINT64_MAX;
}

/* Finds the smallest limit of a control group and all groups above it, up to where the hierarchy is mounted. */
static uint64_t smallest(const char *mount, const char *group, const char *limit)
{
    uint64_t least = UINT64_MAX;
    char below[PATH_MAX], path[2 * PATH_MAX + 64];

    snprintf(below, sizeof below, "%s", group);
    for (;;) {
        char *slash = strrchr(below, '/');
        uint64_t here;

        snprintf(path, sizeof path, "%s%s/%s", mount, below, limit);
        here = read_number(path);
        least = MIN(least, here);
        if (slash == NULL)
            return least;
        *slash = 0;
    }
}

/* Whether a line of /proc/self/mountinfo mounts control groups of that version which limit memory; where has the mount
 * point then. */
static bool is_hierarchy(const char *line, bool is_v2, char where[static PATH_MAX])
{
    const char *type = strstr(line, " - ");
    int len = 0;

    if (type == NULL || sscanf(line, "%*s %*s %*s %*s %4095s%n", where, &len) != 1)
        return false;
    if (is_v2)
        return strncmp(type, " - cgroup2 ", strlen(" - cgroup2 ")) == 0;
    return strncmp(type, " - cgroup ", strlen(" - cgroup ")) == 0 && strstr(type, "memory") != NULL;
}

static uint64_t limit_in(bool is_v2, const char *group)
{
    cleanup(close_file) FILE *file = fopen("/proc/self/mountinfo", "re");
    cleanup(freep) char *line = NULL;
    uint64_t least = UINT64_MAX;
    char where[PATH_MAX];
    size_t size = 0;

    while (file != NULL && getline(&line, &size, file) > 0)
        if (is_hierarchy(line, is_v2, where)) {
            uint64_t limit = smallest(where, group, is_v2 ? "memory.max" : "memory.limit_in_bytes");

            least = MIN(least, limit);
        }
    return least;
}

/* Finds the limit of the group that a line of /proc/self/cgroup names: "0::/GROUP" of version 2, "9:memory:/GROUP" of
 * version 1. UINT64_MAX: no limit. */
static uint64_t limit_by(char *line)
{
    char *which = strchr(line, ':'), *group = which != NULL ? strchr(which + 1, ':') : NULL;
    bool is_v2 = strncmp(line, "0::", 3) == 0;

    if (group == NULL)
        return UINT64_MAX;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    return is_v2 || strstr(which, "memory") != NULL ? limit_in(is_v2, group) : UINT64_MAX;
}

uint64_t memory_there_is(void)
{
    uint64_t least = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE);
    cleanup(close_file) FILE *file = fopen("/proc/self/cgroup", "re");
    cleanup(freep) char *line = NULL;
    size_t size = 0;

    while (file != NULL && getline(&line, &size, file) > 0) {
        uint64_t limit = limit_by(line);

        least = MIN(least, limit);
    }
    return least;
}
