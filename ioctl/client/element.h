/* SPDX-License-Identifier: MIT */
/* Elements of layouts, as programs name them: a text and a number. */
#ifndef FALLSFS_IOCTL_CLIENT_ELEMENT_H
#define FALLSFS_IOCTL_CLIENT_ELEMENT_H

#include "layout/layout.h"

/* The layout, which has such an element. The error has been said in words. */
int element_find(const char *text, uint32_t element, struct layout **ret_layout);

#endif
