/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"

#include <string.h>
#include <unistd.h>

#define WINDOW (UINT64_C(1) << 20)

/* A run that is so long is read where it belongs. */
#define LONG_RUN (WINDOW / 4)

/* Bytes of the section from the k-th on that follow each other in the file. */
static uint64_t run_at(const struct nest *nest, uint64_t k, uint64_t *ret_len)
{
    uint64_t len, more, x = nest_select_run(nest, k, &len);

    while (k + len < nest->size && len < WINDOW && nest_select_run(nest, k + len, &more) == x + len)
        len += more;
    *ret_len = MIN(len, nest->size - k);
    return x;
}

/* All of it, zeros behind the end of the file. */
static int read_all(int fd, uint8_t *buf, uint64_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pread(fd, buf, len, (off_t) off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0) {
            memset(buf, 0, len);
            return 0;
        }
        buf += n;
        off += (uint64_t) n;
        len -= (uint64_t) n;
    }
    return 0;
}

static int write_all(int fd, const uint8_t *buf, uint64_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, buf, len, (off_t) off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        buf += n;
        off += (uint64_t) n;
        len -= (uint64_t) n;
    }
    return 0;
}

/* Short runs come through a window: *at, the next byte of the section, moves behind those that lie in it. */
static int read_window(int fd, const struct nest *nest, uint8_t *buf, uint8_t *window, uint64_t *at)
{
    uint64_t k = *at, last, len, lo, x = run_at(nest, k, &len), hi;
    int r;

    (void) nest_prev(nest, UINT64_MAX, &last);
    lo = x;
    hi = MIN(lo + WINDOW, last + 1);
    r = read_all(fd, window, hi - lo, lo);
    while (r == 0 && x < hi) {
        len = MIN(len, hi - x);
        memcpy(buf + k, window + (x - lo), len);
        k += len;
        if (k == nest->size)
            break;
        x = run_at(nest, k, &len);
    }
    *at = k;
    return r;
}

int pieces_read(int fd, const struct nest *nest, uint8_t *buf)
{
    cleanup(freep) uint8_t *window = malloc(WINDOW);
    uint64_t k = 0;
    int r = window == NULL ? -ENOMEM : 0;

    while (r == 0 && k < nest->size) {
        uint64_t len, x = run_at(nest, k, &len);

        if (len >= LONG_RUN) {
            r = read_all(fd, buf + k, len, x);
            k += len;
        } else {
            r = read_window(fd, nest, buf, window, &k);
        }
    }
    return r;
}

/* Run by run: what lies between is others' to write. */
int pieces_write(int fd, const struct nest *nest, const uint8_t *buf)
{
    int r = 0;

    for (uint64_t k = 0, len; r == 0 && k < nest->size; k += len) {
        uint64_t x = run_at(nest, k, &len);

        r = write_all(fd, buf + k, len, x);
    }
    return r;
}
