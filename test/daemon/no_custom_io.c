/* SPDX-License-Identifier: MIT */
/* Preloaded: libfuse as it is where it was built without custom I/O. */
#include <errno.h>

int fuse_session_custom_io(void);

int fuse_session_custom_io(void)
{
    return -ENOTSUP;
}
