/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/file_stats.h"

#include <stdio.h>

int file_stats_get(const char *path, struct file_stats *ret_stats)
{
    cleanup(freep) char *text = NULL;
    struct file_stats stats;
    int r = attrs_get(path, "stats", &text);

    if (r < 0)
        return r;
    /* No daemon sends numbers that do not fit. NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "range_waits=%" SCNu64 " range_wait_ns=%" SCNu64 " reread=%" SCNu64, &stats.range_waits,
               &stats.range_wait_ns, &stats.reread) != 3)
        return -EPROTO;
    *ret_stats = stats;
    return 0;
}

struct file_stats file_stats_since(const struct file_stats *before, const struct file_stats *now)
{
    bool goes_on = now->range_waits >= before->range_waits && now->range_wait_ns >= before->range_wait_ns &&
                   now->reread >= before->reread;

    if (!goes_on)
        return *now;
    return (struct file_stats){ now->range_waits - before->range_waits, now->range_wait_ns - before->range_wait_ns,
                                now->reread - before->reread };
}
