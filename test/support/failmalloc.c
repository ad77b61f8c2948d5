/* SPDX-License-Identifier: MIT */
#include "test/support/failmalloc.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *mem, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
FILE *__real_open_memstream(char **ret_text, size_t *ret_len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *mem, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);
FILE *__wrap_open_memstream(char **ret_text, size_t *ret_len);

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
    errno = ENOMEM;
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

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return fails() ? NULL : __real_strndup(text, n);
}

FILE *__wrap_open_memstream(char **ret_text, size_t *ret_len)
{
    return fails() ? NULL : __real_open_memstream(ret_text, ret_len);
}
