/* SPDX-License-Identifier: MIT */
/* How fallsctl ends; a verb that runs another program ends as that does, with any status. */
#ifndef FALLSFS_FS_CTL_TALK_CTL_STATUS_H
#define FALLSFS_FS_CTL_TALK_CTL_STATUS_H

#include "layout/base.h"

enum ctl_status {
    CTL_OK,
    CTL_ERROR,
    CTL_USAGE,
    CTL_PARTIAL,
};

#endif
