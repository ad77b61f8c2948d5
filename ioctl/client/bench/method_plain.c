/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/method.h"
#include "ioctl/client/bench/pieces.h"
#include "layout/base.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_file(const struct method_request *request)
{
    int fd = open(request->path, request->order->write ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* -- the bound -- */

struct mapping {
    uint8_t *mem;
    size_t len;
};

static int bound_open(const struct method_request *request, void **ret_state)
{
    cleanup(freep) struct mapping *mapping = calloc(1, sizeof *mapping);
    int fd = open_file(request), r = 0;

    if (fd < 0)
        return fd;
    if (mapping != NULL) {
        mapping->len = pieces_file_bytes(&request->order->array);
        mapping->mem =
            mmap(NULL, mapping->len, PROT_READ | (request->order->write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
        r = mapping->mem == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    if (mapping == NULL)
        return -ENOMEM;
    if (r == 0)
        *ret_state = steal(mapping);
    return r;
}

static void bound_close(void *state)
{
    struct mapping *mapping = state;

    munmap(mapping->mem, mapping->len);
    free(mapping);
}

/* n pieces of len bytes; the compiler makes a loop of its own of each known length. */
static inline void copy_pieces(uint8_t *to, uint64_t to_stride, const uint8_t *from, uint64_t from_stride, uint64_t len,
                               uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        memcpy(to + i * to_stride, from + i * from_stride, len);
}

static void copy_line(uint8_t *to, uint64_t to_stride, const uint8_t *from, uint64_t from_stride, uint64_t len,
                      uint64_t n)
{
    switch (len) {
    case 4:
        copy_pieces(to, to_stride, from, from_stride, 4, n);
        break;
    case 8:
        copy_pieces(to, to_stride, from, from_stride, 8, n);
        break;
    case 64:
        copy_pieces(to, to_stride, from, from_stride, 64, n);
        break;
    default:
        copy_pieces(to, to_stride, from, from_stride, len, n);
    }
}

static int bound_move(void *state, const struct method_request *request)
{
    const struct mapping *mapping = state;
    uint8_t *buf = request->buf;
    struct pieces pieces;
    struct pieces_line line;

    pieces_init(&pieces, &request->order->array, request->section);
    for (; pieces_next(&pieces, &line); buf += line.n * line.len)
        if (request->order->write)
            copy_line(mapping->mem + line.file_off, line.stride, buf, line.len, line.len, line.n);
        else
            copy_line(buf, line.len, mapping->mem + line.file_off, line.stride, line.len, line.n);
    return 0;
}

const struct method method_bound = { "bound", bound_open, bound_move, bound_close, NULL };

/* -- piece by piece -- */

static int direct_open(const struct method_request *request, void **ret_state)
{
    int fd = open_file(request);

    if (fd < 0)
        return fd;
    *ret_state = malloc(sizeof fd);
    if (*ret_state == NULL) {
        close(fd);
        return -ENOMEM;
    }
    memcpy(*ret_state, &fd, sizeof fd);
    return 0;
}

static void direct_close(void *state)
{
    close(*(int *) state);
    free(state);
}

static int move_piece(int fd, bool write, uint8_t *buf, uint64_t len, uint64_t file_off)
{
    while (len > 0) {
        ssize_t n = write ? pwrite(fd, buf, len, (off_t) file_off) : pread(fd, buf, len, (off_t) file_off);

        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        buf += n;
        len -= (uint64_t) n;
        file_off += (uint64_t) n;
    }
    return 0;
}

static int direct_move(void *state, const struct method_request *request)
{
    uint8_t *buf = request->buf;
    struct pieces pieces;
    struct pieces_line line;
    int r = 0;

    pieces_init(&pieces, &request->order->array, request->section);
    while (r == 0 && pieces_next(&pieces, &line))
        for (uint64_t i = 0; r == 0 && i < line.n; i++, buf += line.len)
            r = move_piece(*(int *) state, request->order->write, buf, line.len, line.file_off + i * line.stride);
    return r;
}

const struct method method_direct = { "direct", direct_open, direct_move, direct_close, NULL };
