/* SPDX-License-Identifier: MIT */
/* Something that each thread keeps for its next request, and that ends with the thread: memory that is new costs more
 * than what is done with it.
 *
 *     PER_THREAD(window_key, free)
 *
 *     memory = pthread_getspecific(window_key);         NULL: this thread has none yet
 *     pthread_setspecific(window_key, memory)           not 0: it cannot be kept, and stays the caller's
 *
 * The key is there before main, so that nobody has to ask whether it is. A program without keys ends: a system has a
 * thousand for each, and a key that is not there could be somebody else's. */
#ifndef FALLSFS_IOCTL_PER_THREAD_H
#define FALLSFS_IOCTL_PER_THREAD_H

#include "layout/base.h"

#include <pthread.h>

/* end is called with what a thread that ends has kept. */
#define PER_THREAD(key, end)                                  \
    static pthread_key_t key;                                 \
                                                              \
    static __attribute__((constructor)) void key##_make(void) \
    {                                                         \
        if (pthread_key_create(&(key), end) != 0)             \
            abort();                                          \
    }

#endif
