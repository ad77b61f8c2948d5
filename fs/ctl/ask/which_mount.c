/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/which_mount.h"

#include "fs/ctl/ask/mounts.h"

#include <string.h>

static int take(const struct mount_place *place, char **ret_target)
{
    *ret_target = strdup(place->target);
    return *ret_target != NULL ? 0 : -ENOMEM;
}

static int the_only(const struct mounts *mounts, char **ret_target, char why[static ATTRS_WHY])
{
    if (mounts->n == 1)
        return take(&mounts->place[0], ret_target);
    return mounts->n == 0 ? attrs_refuse(why, -ENOENT, "no fallsfs is mounted")
                          : attrs_refuse(why, -EINVAL, "%u are mounted: say which; 'fallsctl status' lists them",
                                         (unsigned) mounts->n);
}

int which_mount(const char *path, char **ret_target, char ret_why[static ATTRS_WHY])
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *full = NULL;
    const struct mount_place *place;
    const char *below;
    int r;

    if (mounts_read(&mounts) < 0)
        return attrs_refuse(ret_why, -EIO,
                            "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    if (path == NULL)
        return the_only(&mounts, ret_target, ret_why);
    r = mounts_resolve(&mounts, path, &full);
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s: %s", path, attrs_strerror(r));
    place = mounts_around(&mounts, full, &below);
    return place != NULL
               ? take(place, ret_target)
               : attrs_refuse(ret_why, -ENOENT, "%s lies in no mounted fallsfs; 'fallsctl status' lists those", path);
}
