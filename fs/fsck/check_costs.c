/* SPDX-License-Identifier: MIT */
/* What 'fallsctl calibrate' keeps beside a stamp. Nobody loses anything with it, so nothing that is wrong with it is an
 * error: with repair it goes. */
#include "fs/core/volume/costs.h"
#include "fs/fsck/checking.h"

#include <string.h>

static void tell(struct checking *checking, const struct disk *disk, const char *name, const char *why)
{
    const struct spot spot = { .object = name, .disk = disk->index };
    int r = checking->check->repair ? disk_call(disk, unlink, disk->root, name, 0) : 0;

    if (r < 0)
        checking_tell_note(checking, "costs", &spot, "%s; cannot remove it: %s", why, strerror(-r));
    else
        checking_tell_note(checking, "costs", &spot, "%s: %s", why,
                           checking->check->repair ? "is removed" : "-y removes it");
}

/* Whoever was ended while he wrote or measured has left these. */
static void check_left_over(struct checking *checking, const struct disk *disk, const char *name)
{
    struct stat st;

    if (disk_call(disk, stat, disk->root, name, &st) == 0 && S_ISREG(st.st_mode))
        tell(checking, disk, name, "is left over of 'fallsctl calibrate'");
}

int check_costs(struct checking *checking)
{
    for (uint32_t i = 0; i < checking->volume->n_disks; i++) {
        const struct disk *disk = &checking->volume->disk[i];
        struct costs costs;
        int r;

        if (!disk_is_present(disk))
            continue;
        r = costs_read(disk, disk->uuid, &costs);
        if (r == -ENOMEM)
            return r;
        if (r == -EUCLEAN)
            tell(checking, disk, COSTS_NAME, "what was measured of the disk is damaged, and does not count");
        else if (r == -EXDEV)
            tell(checking, disk, COSTS_NAME, "was measured on another disk, and does not count");
        check_left_over(checking, disk, COSTS_NAME ".new");
        check_left_over(checking, disk, COSTS_SCRATCH);
    }
    return 0;
}
