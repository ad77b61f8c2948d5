/* SPDX-License-Identifier: MIT */
/* For programs that are one check. */
#include "test/mount/posix.h"

#include <unistd.h>

void missed(const char *file, int line, const char *what)
{
    printf("%s:%d: %s (%s)\n", strrchr(file, '/') + 1, line, what, strerror(errno));
    fflush(stdout);
    _exit(1);
}

void pause_ms(unsigned ms)
{
    const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}
