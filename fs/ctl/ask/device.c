/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/device.h"

#include "layout/base.h"

#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

dev_t device_of(dev_t dev)
{
    unsigned major, minor;
    char path[64];
    dev_t whole = dev;
    FILE *in;

    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(dev), minor(dev));
    if (access(path, F_OK) != 0)
        return dev;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/../dev", major(dev), minor(dev));
    in = fopen(path, "re");
    if (in == NULL)
        return dev;
    if (fscanf(in, "%u:%u", &major, &minor) == 2) /* the kernel's. NOLINT(cert-err34-c) */
        whole = makedev(major, minor);
    fclose(in);
    return whole;
}
