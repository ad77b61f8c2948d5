/* SPDX-License-Identifier: MIT */
/* A malloc that fails when told to. Link with failmalloc.c and its --wrap options (CMake target failmalloc).
 *
 *     for (unsigned n = 1; ; n++) {        a constructor survives its n-th allocation failing, for every n
 *         failmalloc_arm(n, false);
 *         r = constructor(&thing);
 *         if (!failmalloc_disarm())
 *             break;                       it got by with less than n
 *     } */
#ifndef FALLSFS_TEST_SUPPORT_FAILMALLOC_H
#define FALLSFS_TEST_SUPPORT_FAILMALLOC_H

#include <stdbool.h>

/* Arms the n-th allocation from here on and, if persistent, all that follow it; 0 disarms. */
void failmalloc_arm(unsigned n, bool persistent);

/* Disarms; whether an allocation was refused since it was armed. */
bool failmalloc_disarm(void);

#endif
