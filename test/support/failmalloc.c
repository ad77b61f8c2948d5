/* SPDX-License-Identifier: MIT */
#include "test/support/failmalloc.h"

#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *mem, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *mem, size_t size);

static unsigned left; /* allocations until the one that fails */
static bool stays, refused;

void failmalloc_arm(unsigned n, bool persistent)
{
    left = n;
    stays = persistent;
    refused = false;
}

bool failmalloc_disarm(void)
{
    left = 0;
    stays = false;
    return refused;
}

static bool fails(void)
{
    if (left > 0 && --left == 0)
        refused = true;
    else if (!(refused && stays))
        return false;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *mem, size_t size)
{
    return fails() ? NULL : __real_realloc(mem, size);
}
