/* SPDX-License-Identifier: MIT */
/* Gives a file without bytes so many layouts that nobody has had, one after the other: setter N FILE */
#include "layout/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

int main(int argc, char **argv)
{
    long n = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    struct timespec now = clock_wall();

    if (n <= 0)
        return 2;
    for (long i = 0; i < n; i++) {
        char text[64];

        snprintf(text, sizeof text, "stripe(%ld)",
                 1000 + (now.tv_sec % 1000000 * 1000000 + now.tv_nsec / 1000) % 1000000000 + i);
        if (setxattr(argv[2], "user.falls.layout", text, strlen(text), 0) < 0) {
            perror(argv[2]);
            return 1;
        }
    }
    return 0;
}
