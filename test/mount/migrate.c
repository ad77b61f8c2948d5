/* SPDX-License-Identifier: MIT */
/* What programs do with files that are being given other layouts:
 *
 *     migrate append FILE N SECONDS     N processes append records; each finds its own, in order, none is torn
 *     migrate read FILE SECONDS         bytes that nobody writes are the same at any moment, however they are read
 *     migrate write FILE SECONDS SEED   random writes, cuts, holes; each read is what was written last */
#include "layout/clock.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD 100
#define SPAN   (3u << 20) /* of the file that is written at random */

PRINTF_LIKE(1, 2) static void die(const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vprintf(fmt, list);
    va_end(list);
    printf(" (%s)\n", strerror(errno));
    exit(1);
}

static double seconds(void)
{
    return (double) clock_ns() * 1e-9;
}

static int open_or_die(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd < 0)
        die("cannot open %s", path);
    return fd;
}

/* -- append -- */

static void append_until(const char *path, unsigned who, double end)
{
    int fd = open_or_die(path, O_WRONLY | O_APPEND | O_CREAT);

    for (unsigned seq = 0; seconds() < end; seq++) {
        char record[RECORD + 32];

        snprintf(record, sizeof record, "%4u %10u %083u\n", who, seq, seq * who);
        if (write(fd, record, RECORD) != RECORD)
            die("cannot append");
    }
    exit(0);
}

static int check_appended(const char *path, unsigned n)
{
    unsigned *next = calloc(n, sizeof *next), seq, who, product;
    FILE *in = fopen(path, "r");
    char line[2 * RECORD];
    unsigned long total = 0;

    if (in == NULL || next == NULL)
        die("cannot open %s", path);
    for (; fgets(line, sizeof line, in) != NULL; total++)
        if (strlen(line) != RECORD || sscanf(line, "%u %u %u", &who, &seq, &product) != 3 || who >= n ||
            seq != next[who]++ || product != seq * who)
            die("record %lu is torn, lost or in the wrong place: %s", total, line);
    fclose(in);
    free(next);
    printf("%lu records\n", total);
    return total < n;
}

static int append(const char *path, unsigned n, double duration)
{
    double end = seconds() + duration;
    int status, failed = 0;

    for (unsigned who = 0; who < n; who++)
        if (fork() == 0)
            append_until(path, who, end);
    while (wait(&status) > 0)
        failed |= status;
    return failed != 0 ? 1 : check_appended(path, n);
}

/* -- read -- */

static uint8_t *read_all(int fd, uint8_t *buf, size_t size, bool direct)
{
    size_t step = direct ? 1 << 18 : 100000;

    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, buf + at, size - at < step ? size - at : step, (off_t) at);

        if (n <= 0)
            die("cannot read at %zu", at);
        at += (size_t) n;
    }
    return buf;
}

static int read_again_and_again(const char *path, double duration)
{
    int fd = open_or_die(path, O_RDONLY), direct = open_or_die(path, O_RDONLY | O_DIRECT);
    double end = seconds() + duration;
    uint8_t *first, *again;
    struct stat st;
    size_t size;

    fstat(fd, &st);
    size = (size_t) st.st_size;
    first = read_all(fd, malloc(size), size, false);
    again = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    while (seconds() < end) {
        uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED)
            die("cannot map");
        if (memcmp(first, map, size) != 0)
            die("mapped memory has changed");
        munmap(map, size);
        if (memcmp(first, read_all(direct, again, size, true), size) != 0)
            die("bytes read directly have changed");
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (memcmp(first, read_all(fd, again, size, false), size) != 0)
            die("bytes have changed");
    }
    free(first);
    free(again);
    return 0;
}

/* -- write -- */

static uint8_t model[SPAN], found[SPAN];

static void check(int fd, size_t size, size_t off, size_t len, const char *what)
{
    size_t want = off >= size ? 0 : size - off < len ? size - off : len;
    ssize_t n = pread(fd, found, len, (off_t) off);

    if (n != (ssize_t) want)
        die("%s: %zd bytes at %zu, not %zu", what, n, off, want);
    for (size_t i = 0; i < want; i++)
        if (found[i] != model[off + i])
            die("%s: byte %zu of %zu is %u, not %u", what, off + i, size, found[i], model[off + i]);
}

static size_t write_some(int fd, struct rng *rng, size_t size, size_t off, size_t len)
{
    memset(model + off, (int) rng_between(rng, 1, 255), len);
    if (pwrite(fd, model + off, len, (off_t) off) != (ssize_t) len)
        die("cannot write %zu bytes at %zu", len, off);
    return off + len > size ? off + len : size;
}

static size_t write_mapped(int fd, struct rng *rng, size_t size, size_t off, size_t len)
{
    uint8_t *map;

    if (off >= size)
        return size;
    len = size - off < len ? size - off : len;
    memset(model + off, (int) rng_between(rng, 1, 255), len);
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        die("cannot map");
    memcpy(map + off, model + off, len);
    if (rng_chance(rng, 50) && msync(map, size, MS_SYNC) < 0)
        die("cannot msync");
    munmap(map, size);
    return size;
}

static size_t punch(int fd, size_t size, size_t off, size_t len)
{
    memset(model + off, 0, len);
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) off, (off_t) len) < 0)
        die("cannot punch");
    return size;
}

static size_t cut(int fd, size_t size, size_t to)
{
    if (to < size)
        memset(model + to, 0, size - to);
    if (ftruncate(fd, (off_t) to) < 0)
        die("cannot truncate");
    return to;
}

static size_t step(int fd, int direct, struct rng *rng, size_t size)
{
    size_t off = rng_below(rng, SPAN - 1), len = rng_between(rng, 1, (SPAN - off) / (rng_chance(rng, 80) ? 16 : 1) + 1);

    len = len < SPAN - off ? len : SPAN - off;
    switch (rng_below(rng, 12)) {
    case 0:
        return cut(fd, size, rng_chance(rng, 20) ? 0 : off);
    case 1:
        return punch(fd, size, off, len);
    case 2:
        return write_mapped(fd, rng, size, off, len);
    case 3:
        if (fsync(fd) < 0)
            die("cannot fsync");
        return size;
    case 4:
    case 5:
        check(direct, size, 0, SPAN, "direct");
        return size;
    case 6:
    case 7:
        check(fd, size, off, len, "read");
        return size;
    default:
        return write_some(rng_chance(rng, 30) ? direct : fd, rng, size, off, len);
    }
}

static int write_at_random(const char *path, double duration, uint64_t seed)
{
    int fd = open_or_die(path, O_RDWR | O_CREAT | O_TRUNC), direct = open_or_die(path, O_RDWR);
    struct rng rng = rng_from_seed(seed);
    double end = seconds() + duration;
    unsigned long n = 0;
    size_t size = 0;

    for (; seconds() < end; n++)
        size = step(fd, direct, &rng, size);
    check(fd, size, 0, SPAN, "at the end");
    printf("%lu steps\n", n);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "append") == 0)
        return append(argv[2], (unsigned) strtoul(argv[3], NULL, 10), strtod(argv[4], NULL));
    if (argc == 4 && strcmp(argv[1], "read") == 0)
        return read_again_and_again(argv[2], strtod(argv[3], NULL));
    if (argc == 5 && strcmp(argv[1], "write") == 0)
        return write_at_random(argv[2], strtod(argv[3], NULL), strtoull(argv[4], NULL, 10));
    return 2;
}
