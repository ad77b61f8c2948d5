/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/content.h"

#include "ioctl/client/bench/pieces.h"
#include "layout/base.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (UINT64_C(1) << 20)

static uint32_t word_at(uint64_t index, uint32_t generation)
{
    uint64_t x = (index + 1) * UINT64_C(0x9E3779B97F4A7C15) + generation * UINT64_C(0xD1B54A32D192ED03);

    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t) (x >> 32);
}

/* Words that the range shares with its neighbours are made apart. */
void content_fill(void *buf, uint64_t file_off, uint64_t len, uint32_t generation)
{
    uint8_t *out = buf;

    while (len > 0) {
        uint32_t word = word_at(file_off / 4, generation);
        uint64_t skip = file_off % 4, n = MIN(4 - skip, len);

        if (n == 4)
            memcpy(out, &word, 4);
        else
            memcpy(out, (const uint8_t *) &word + skip, n);
        out += n;
        file_off += n;
        len -= n;
    }
}

static uint64_t first_difference(const uint8_t *a, const uint8_t *b, uint64_t len)
{
    uint64_t i = 0;

    if (memcmp(a, b, len) == 0)
        return UINT64_MAX;
    while (a[i] == b[i])
        i++;
    return i;
}

static uint64_t check(const uint8_t *buf, uint64_t file_off, uint64_t len, uint32_t generation)
{
    uint8_t want[4096];

    for (uint64_t done = 0; done < len; done += sizeof want) {
        uint64_t n = MIN(len - done, sizeof want), at;

        content_fill(want, file_off + done, n, generation);
        at = first_difference(buf + done, want, n);
        if (at != UINT64_MAX)
            return file_off + done + at;
    }
    return UINT64_MAX;
}

void content_fill_section(void *buf, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          uint32_t generation)
{
    uint8_t *out = buf;
    struct pieces pieces;
    struct pieces_line line;

    pieces_init(&pieces, array, section);
    while (pieces_next(&pieces, &line))
        for (uint64_t i = 0; i < line.n; i++, out += line.len)
            content_fill(out, line.file_off + i * line.stride, line.len, generation);
}

uint64_t content_check_section(const void *buf, const struct fallsfs_array *array, const struct fallsfs_range section[],
                               uint32_t generation)
{
    const uint8_t *in = buf;
    struct pieces pieces;
    struct pieces_line line;

    pieces_init(&pieces, array, section);
    while (pieces_next(&pieces, &line))
        for (uint64_t i = 0; i < line.n; i++, in += line.len) {
            uint64_t wrong = check(in, line.file_off + i * line.stride, line.len, generation);

            if (wrong != UINT64_MAX)
                return wrong;
        }
    return UINT64_MAX;
}

/* -- files -- */

static void closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int content_make_file(const char *path, const struct fallsfs_array *array)
{
    cleanup(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    cleanup(freep) uint8_t *chunk = malloc(CHUNK);
    uint64_t bytes = pieces_file_bytes(array);

    if (fd < 0)
        return -errno;
    if (chunk == NULL)
        return -ENOMEM;
    for (uint64_t off = 0; off < bytes;) {
        uint64_t n = MIN(bytes - off, CHUNK);
        ssize_t done;

        content_fill(chunk, off, n, 0);
        done = pwrite(fd, chunk, n, (off_t) off);
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        off += (uint64_t) done;
    }
    return ftruncate(fd, (off_t) bytes) < 0 ? -errno : 0;
}

/* The file as it should be. */
static uint8_t *image_new(const struct fallsfs_array *array, const struct deal *deal, uint32_t nranks,
                          uint32_t generation)
{
    uint64_t bytes = pieces_file_bytes(array);
    uint8_t *image = malloc(bytes);

    if (image == NULL)
        return NULL;
    content_fill(image, 0, bytes, 0);
    for (uint32_t rank = 0; rank < nranks; rank++) {
        struct fallsfs_range section[FALLSFS_MAX_DIMS];
        struct pieces pieces;
        struct pieces_line line;

        deal_section(deal, array, rank, nranks, section);
        pieces_init(&pieces, array, section);
        while (pieces_next(&pieces, &line))
            for (uint64_t i = 0; i < line.n; i++) {
                uint64_t off = line.file_off + i * line.stride;

                content_fill(image + off, off, line.len, generation);
            }
    }
    return image;
}

int content_check_file(const char *path, const struct fallsfs_array *array, const struct deal *deal, uint32_t nranks,
                       uint32_t generation, uint64_t *ret_wrong)
{
    cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup(freep) uint8_t *chunk = malloc(CHUNK);
    cleanup(freep) uint8_t *image = image_new(array, deal, nranks, generation);
    uint64_t bytes = pieces_file_bytes(array), off = 0;

    if (fd < 0)
        return -errno;
    if (chunk == NULL || image == NULL)
        return -ENOMEM;
    for (;;) {
        ssize_t n = pread(fd, chunk, CHUNK, (off_t) off);
        uint64_t common = n > 0 ? MIN((uint64_t) n, bytes - off) : 0, at;

        if (n < 0)
            return -errno;
        at = first_difference(chunk, image + off, common);
        if (at == UINT64_MAX && common < (uint64_t) n)
            at = common; /* bytes behind the array */
        if (at == UINT64_MAX && n == 0 && off < bytes)
            at = 0; /* the file ends too early */
        if (at != UINT64_MAX) {
            *ret_wrong = off + at;
            return -EIO;
        }
        if (n == 0)
            return 0;
        off += (uint64_t) n;
    }
}
