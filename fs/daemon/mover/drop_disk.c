/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/drop_disk.h"

#include "fs/core/change/membership.h"
#include "fs/core/fs.h"
#include "fs/core/tree/reap.h"
#include "fs/daemon/say/log.h"

#include <stdio.h>
#include <string.h>

int drop_disk(struct fs *fs, uint32_t index, char ret_why[static LAST_ERROR_SIZE])
{
    struct volume_error error;
    struct member member;
    uint64_t left;
    int r = member_open(fs->volume->disk[index].path, &member);

    if (r < 0) {
        snprintf(ret_why, LAST_ERROR_SIZE, "cannot open %s: %s", fs->volume->disk[index].path, strerror(-r));
        return r;
    }
    reaper_wait(fs->reaper); /* what was moved away is removed in the background */
    r = membership_drop(fs, index, &member, &left, &error);
    member_close(&member);
    if (r < 0)
        snprintf(ret_why, LAST_ERROR_SIZE, "%.*s", LAST_ERROR_SIZE - 1, error.why);
    else if (error.why[0] != 0)
        log_warning("%s", error.why);
    else
        log_note("d%" PRIu32 " has left the volume", index);
    return r;
}
