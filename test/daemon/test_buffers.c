/* SPDX-License-Identifier: MIT */
/* What an open file knows of the memory of programs. */
#include "fs/daemon/sections.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static struct buffer *open_buffer(struct buffers *buffers, uint32_t number)
{
    struct buffer *buffer = NULL;
    int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    cr_assert(fd >= 0 && ftruncate(fd, 4096) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    cr_assert_eq(buffers_open(buffers, gettid(), getuid(), fd, 4096, &buffer), 0);
    close(fd);
    buffer->number = number;
    return buffer;
}

/* Numbers are taken at random, and two may be the same: what is meant for one must not go to the other. */
Test(buffers, numbers_are_one_buffer_each)
{
    static const uint32_t drawn[] = { 7, 7, 8, 7, UINT32_MAX, UINT32_MAX, 0 };
    struct buffer *buffer[ARRAY_SIZE(drawn)];
    uint32_t number[ARRAY_SIZE(drawn)];
    struct sections *sections = sections_new();
    struct buffers *buffers;

    cr_assert(sections != NULL && buffers_new(&buffers) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(drawn); i++) {
        buffer[i] = open_buffer(buffers, drawn[i]);
        number[i] = sections_add_buffer(sections, buffer[i]);
        cr_expect_neq(number[i], 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(drawn); i++) {
        struct buffer *found = sections_buffer(sections, number[i]);

        cr_expect_eq(found, buffer[i], "the one drawn as %u", drawn[i]);
        buffer_put(found);
    }
    sections_free(sections);
    buffers_free(buffers);
}
