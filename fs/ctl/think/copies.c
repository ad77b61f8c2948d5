/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/copies.h"

#include "fs/core/volume/file_layouts.h"
#include "fs/ctl/ask/device.h"

#include <stdio.h>
#include <sys/sysmacros.h>

/* Finds the device of a disk, which the mount tells as "8:17"; false: it does not tell. */
static bool find_device(const struct file_info *info, uint32_t disk, dev_t *ret_device)
{
    const char *text = json_text(json_at(json_member(info->said, "devices"), disk));
    unsigned major, minor;

    if (text == NULL || sscanf(text, "%u:%u", &major, &minor) != 2) /* the daemon's. NOLINT(cert-err34-c) */
        return false;
    *ret_device = device_of(makedev(major, minor));
    return true;
}

static bool are_on_one(const struct file_info *info, uint32_t a, uint32_t b)
{
    dev_t device_a, device_b;

    return find_device(info, a, &device_a) && find_device(info, b, &device_b) && device_a == device_b;
}

bool copies_share_device(const struct file_info *info, char ret_why[static COPIES_WHY])
{
    bool lists = info->layout->disks == DISKS_LIST;
    const uint32_t *list = lists ? info->layout->disk : info->disk;
    uint32_t n = lists ? info->layout->n_disks : (uint32_t) json_count(json_member(info->said, "disks"));

    for (uint32_t i = 0; info->layout->copies > 1 && i < n; i++) {
        uint32_t a = list[i], b = list[disks_next_other(list, n, i)];

        if (are_on_one(info, a, b)) {
            snprintf(ret_why, COPIES_WHY,
                     "d%" PRIu32 " and d%" PRIu32
                     " lie on one device: when it fails, both copies of what they have are lost. List disks so that "
                     "neighbours lie on different devices",
                     MIN(a, b), MAX(a, b));
            return true;
        }
    }
    return false;
}
