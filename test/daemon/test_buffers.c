/* SPDX-License-Identifier: MIT */
/* What an open file knows of the memory of programs. */
#include "fs/daemon/group/sections.h"
#include "fs/daemon/group/trap.h"
#include "ioctl/board.h"
#include "ioctl/guard.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
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
    struct sections *sections = sections_new(NULL);
    struct accounts_limits limits = { .of = { [ACCOUNT_BUFFERS] = 8, [ACCOUNT_BUFFER_BYTES] = 1 << 20 } };
    struct accounts *accounts;
    struct buffers *buffers;

    cr_assert(sections != NULL && accounts_new(&limits, 0, &accounts) == 0 && buffers_new(accounts, &buffers) == 0);
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
    accounts_free(accounts);
}

/* The daemon fills so many holes for a user and no more; what is there costs nothing, nor what was filled before. */
Test(buffers, holes_are_filled_up_to_a_bound)
{
    const uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), n = 12;
    struct accounts_limits limits = {
        .of = { [ACCOUNT_BUFFERS] = 8, [ACCOUNT_BUFFER_BYTES] = 1 << 20, [ACCOUNT_HOLE_BYTES] = 4 * page }
    };
    struct accounts *accounts;
    struct buffers *buffers;
    struct buffer *buffer, *same;
    uid_t uid = getuid();
    uint8_t *own;
    int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    cr_assert(fd >= 0 && ftruncate(fd, (off_t) (n * page)) == 0 &&
              fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    own = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(own != MAP_FAILED);
    cr_assert(accounts_new(&limits, uid + 1, &accounts) == 0 && buffers_new(accounts, &buffers) == 0);
    cr_assert_eq(buffers_open(buffers, gettid(), uid, fd, n * page, &buffer), 0);
    cr_assert_eq(buffers_open(buffers, gettid(), uid, fd, n * page, &same), 0);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_BUFFER_BYTES), n * page, "what is shown twice is there once");
    cr_expect_eq(same->addr, buffer->addr);

    memset(own, 'x', 2 * page);
    cr_expect_eq(buffer_ready(buffer, buffer->addr, 2 * page, true), 0);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_HOLE_BYTES), 0);
    cr_expect_eq(buffer_ready(buffer, buffer->addr + page, 2 * page, true), 0);
    cr_expect_eq(buffer_ready(same, buffer->addr, 3 * page, true), 0);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_HOLE_BYTES), page);
    cr_expect_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) page), 0);
    cr_expect_eq(buffer_ready(buffer, buffer->addr + 8, 8, true), 0);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_HOLE_BYTES), 2 * page);

    cr_expect_eq(buffer_ready(buffer, buffer->addr, n * page, true), uid == 0 ? 0 : -EFAULT);
    cr_expect_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) (n * page)), 0);
    cr_expect_eq(buffer_ready(buffer, buffer->addr, n * page, true), -EFAULT);
    buffer_put(same);
    buffer_put(buffer);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_BUFFERS), 0);
    cr_expect_eq(accounts_has(accounts, uid, ACCOUNT_BUFFER_BYTES), 0);
    (void) munmap(own, n * page);
    close(fd);
    buffers_free(buffers);
    accounts_free(accounts);
}

static void touch(void *byte)
{
    *(volatile uint8_t *) byte = 'x';
}

static bool is_hole(int fd)
{
    return lseek(fd, 0, SEEK_DATA) < 0;
}

/* Nobody looks before each touch: holes stay holes until they are charged for, whatever the daemon does there. */
Test(buffers, a_touch_fills_no_hole)
{
    struct accounts_limits limits = {
        .of = { [ACCOUNT_BUFFERS] = 8, [ACCOUNT_BUFFER_BYTES] = 1 << 20, [ACCOUNT_HOLE_BYTES] = 1 << 20 }
    };
    const uint64_t len = FALLSFS_BOARD_SIZE(2);
    struct accounts *accounts;
    struct board_request request;
    struct board board = { .nranks = 2 };
    struct buffers *buffers;
    struct buffer *buffer;
    int trap = trap_open(), fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    if (trap < 0)
        cr_skip_test("no traps on this system");
    close(trap);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t) len) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    cr_assert(guard_init() == 0 && accounts_new(&limits, 0, &accounts) == 0 && buffers_new(accounts, &buffers) == 0);
    cr_assert_eq(buffers_open(buffers, gettid(), getuid(), fd, len, &buffer), 0);
    board.addr = buffer->addr;

    cr_expect_eq(buffer_ready(buffer, buffer->addr, 8, false), 0);
    cr_expect_eq(guard_run(touch, buffer->addr + 1), -EFAULT);
    cr_expect_not(board_read(&board, 1, 7, 1, &request), "nothing is on it");
    cr_expect(is_hole(fd));
    cr_expect_eq(accounts_has(accounts, getuid(), ACCOUNT_HOLE_BYTES), 0);

    cr_expect_eq(buffer_ready(buffer, buffer->addr, 8, true), 0);
    cr_expect_eq(accounts_has(accounts, getuid(), ACCOUNT_HOLE_BYTES), (uint64_t) sysconf(_SC_PAGESIZE));
    cr_expect_eq(guard_run(touch, buffer->addr + 1), 0);
    cr_expect_not(is_hole(fd));
    buffer_put(buffer);
    close(fd);
    buffers_free(buffers);
    accounts_free(accounts);
}
