/* SPDX-License-Identifier: MIT */
#include "fs/daemon/config/disks.h"

#include "fs/daemon/say/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MS         50
#define PAUSES_IN_SECOND (1000 / PAUSE_MS)

/* -- paths -- */

/* Makes a path absolute, also where nothing is there. */
static char *absolute(const char *path)
{
    cleanup(freep) char *here = getcwd(NULL, 0);
    char *joined = NULL;

    if (path[0] == '/' || here == NULL)
        return strdup(path);
    return asprintf(&joined, "%s/%s", here, path) < 0 ? NULL : joined;
}

/* Whether a directory is a disk of some volume: the last word of a command line may have been meant as one. */
static bool is_disk(const char *dir)
{
    cleanup(freep) char *path = NULL;

    return asprintf(&path, "%s/%s", dir, STAMP_DIR) >= 0 && access(path, F_OK) == 0;
}

int disks_resolve(struct options *options, struct volume_error *error)
{
    if (is_disk(options->mountpoint))
        return volume_fail(error, -EINVAL, "%s is a disk: mount elsewhere, the last word is the mount point",
                           options->mountpoint);
    for (uint32_t i = 0; i < options->n_disks; i++) {
        char *path = realpath(options->disk[i], NULL);

        if (path == NULL)
            path = absolute(options->disk[i]);
        if (path == NULL)
            return volume_fail(error, -ENOMEM, "out of memory");
        free(options->disk[i]);
        options->disk[i] = path;
        if (strcmp(path, options->mountpoint) == 0)
            return volume_fail(error, -EINVAL, "%s is named as a disk and as the mount point", path);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(path, options->disk[k]) == 0)
                return volume_fail(error, -EINVAL, "the disk %s is named twice", path);
    }
    return 0;
}

/* -- opening -- */

/* Whether an error means that a disk is not mounted, gone or broken; others are for the user to mend. */
static bool is_absence(int error)
{
    static const int absence[] = { ENOENT, ENOTDIR, EIO, ENXIO, ENODEV, ESTALE, ENOTCONN, ETIMEDOUT, EHOSTDOWN };

    for (size_t i = 0; i < ARRAY_SIZE(absence); i++)
        if (error == absence[i])
            return true;
    return false;
}

/* Whether a disk is there, not only the directory where it would be mounted. */
static bool is_there(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool there;

    if (dir < 0)
        return !is_absence(errno);
    there = faccessat(dir, STAMP_DIR, F_OK, 0) == 0 || !is_absence(errno);
    close(dir);
    return there;
}

static int open_members(const struct options *options, struct member member[], uint32_t *ret_n,
                        struct volume_error *error)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < options->n_disks; i++) {
        int r;

        if (options->degraded && !is_there(options->disk[i]))
            continue;
        r = member_open(options->disk[i], &member[n]);
        if (r < 0)
            return volume_fail(error, r, "cannot open the disk %s: %s", options->disk[i], strerror(-r));
        n++;
    }
    *ret_n = n;
    return n > 0 ? 0 : volume_fail(error, -ENODEV, "none of the disks is there");
}

static int open_once(const struct options *options, struct volume **ret_volume, struct volume_error *error)
{
    enum volume_flags flags = (options->read_only ? VOLUME_READ_ONLY : 0) | (options->degraded ? VOLUME_DEGRADED : 0);
    cleanup(freep) struct member *member = calloc(options->n_disks, sizeof *member);
    uint32_t n = 0;
    int r;

    if (member == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < options->n_disks; i++)
        member[i].dir = -1;
    r = open_members(options, member, &n, error);
    if (r == 0)
        r = volume_open(member, n, flags, ret_volume, error);
    for (uint32_t i = 0; i < options->n_disks; i++)
        member_close(&member[i]);
    return r;
}

static bool all_are_there(const struct options *options)
{
    for (uint32_t i = 0; i < options->n_disks; i++)
        if (!is_there(options->disk[i]))
            return false;
    return true;
}

/* Opens the volume, and tries again as long as options allow, while disks are missing: those that are mounted late at
 * boot do not exist yet, or are directories without a stamp. It also waits for a daemon that is about to end. */
static int open_in_time(const struct options *options, struct volume **ret_volume, struct volume_error *error)
{
    uint32_t busy = 0, missing = options->wait_disks * PAUSES_IN_SECOND;

    for (;;) {
        const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
        int r = open_once(options, ret_volume, error);

        if (volume_is_free_soon(r, busy * PAUSE_MS))
            busy++;
        else if (r < 0 && missing > 0 && !all_are_there(options))
            missing--;
        else
            return r;
        nanosleep(&pause, NULL);
    }
}

int disks_open(struct options *options, struct volume **ret_volume, struct volume_error *error)
{
    int r = open_in_time(options, ret_volume, error);

    if (r == 0 || !options->missing_readonly || options->degraded || all_are_there(options))
        return r;
    log_warning("%s. Going on read-only with the disks that are there, as missing=readonly asks for", error->why);
    options->read_only = options->degraded = true;
    return open_in_time(options, ret_volume, error);
}
