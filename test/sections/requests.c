/* SPDX-License-Identifier: MIT */
/* What must not be: requests that are malformed, memory that is not what it should be, files that are open for
 * something else, other users. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* -- each wrong field -- */

union message {
    struct fallsfs_ioc_join join;
    struct fallsfs_ioc_buffer buffer;
    struct fallsfs_ioc_section section;
    struct fallsfs_ioc_falls falls;
    struct fallsfs_ioc_ticket ticket;
    struct fallsfs_ioc_leave leave;
    struct fallsfs_ioc_stats stats;
    struct fallsfs_ioc_groups groups;
    struct fallsfs_ioc_view view;
    struct fallsfs_ioc_list list;
    struct fallsfs_ioc_board board;
    struct fallsfs_ioc_round round;
    uint8_t bytes[16384];
};

struct wrong {
    const char *why;
    unsigned long cmd;
    size_t at, size; /* of the field */
    uint64_t value;
    int error;
};

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *) NULL)->field)

static const struct wrong wrongs[] = {
    { "version", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, version), 2, EINVAL },
    { "no version", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, version), 0, EINVAL },
    { "a rank too many", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, rank), 4, EINVAL },
    { "no ranks", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, nranks), 0, EINVAL },
    { "too many ranks", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, nranks), FALLSFS_MAX_RANKS + 1, EINVAL },
    { "reserved32", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, reserved32), 1, EINVAL },
    { "reserved", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, reserved[3]), 1, EINVAL },
    { "domains", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.domains), 5, EINVAL },
    { "sieve", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.sieve), 3, EINVAL },
    { "sieve of each", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.sieve), FALLSFS_SIEVE_EACH(3, 0), EINVAL },
    { "sieve of none", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.sieve), FALLSFS_SIEVE_EACH(0, 4), EINVAL },
    { "window", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.window), UINT64_C(1) << 40, EINVAL },
    { "workers", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.workers), 100000, EINVAL },
    { "timeout, short", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.timeout_ms), 999, EINVAL },
    { "timeout, long", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.timeout_ms), 3600001, EINVAL },
    { "hints' reserved", FALLSFS_IOC_JOIN, FIELD(fallsfs_ioc_join, hints.reserved[1]), 1, EINVAL },
    { "version", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, version), 2, EINVAL },
    { "length", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, len), 0, EINVAL },
    { "length too large", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, len), 8193, EINVAL },
    { "length out of this world", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, len), UINT64_MAX, EUSERS },
    { "descriptor", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, fd), (uint32_t) -2, EINVAL },
    { "not open", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, fd), 999, EBADF },
    { "nothing to forget", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, fd), (uint32_t) -1, ENXIO },
    { "reserved32", FALLSFS_IOC_BUFFER, FIELD(fallsfs_ioc_buffer, reserved32), 1, EINVAL },
    { "version", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.version), 9, EINVAL },
    { "direction", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.direction), 2, EINVAL },
    { "flags", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.flags), 2, EINVAL },
    { "group without seq", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.group), 1, EINVAL },
    { "seq without group", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.seq), 1, EINVAL },
    { "no such buffer", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.buffer), 0, ENXIO },
    { "behind the buffer", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.buf_off), 8193, EFAULT },
    { "out of the buffer", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.buf_off), 8177, EFAULT },
    { "far behind the buffer", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.buf_off), UINT64_MAX - 8,
      EFAULT },
    { "reserved", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, request.reserved[0]), 1, EINVAL },
    { "reserved", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, reserved[3]), 1, EINVAL },
    { "no dimension", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, ndims), 0, EINVAL },
    { "too many dimensions", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, ndims), 17, EINVAL },
    { "order", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, order), 2, EINVAL },
    { "no element", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, elem), 0, EINVAL },
    { "large element", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, elem), UINT64_MAX, EOVERFLOW },
    { "header", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, header), UINT64_MAX, EOVERFLOW },
    { "no size", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, size[0]), 0, EINVAL },
    { "size of no dimension", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, size[1]), 1, EINVAL },
    { "range of no dimension", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, range[15].stride), 1, EINVAL },
    { "no stride", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, range[0].stride), 0, EINVAL },
    { "out of the array", FALLSFS_IOC_SECTION, FIELD(fallsfs_ioc_section, range[0].upper), 16, ERANGE },
    { "reserved", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, reserved[0]), 1, EINVAL },
    { "notation", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, text[0]), 'x', EINVAL },
    { "out of the file", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, disp), UINT64_MAX - 4, EOVERFLOW },
    { "behind what a file can be", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, disp), UINT64_C(1) << 62, EOVERFLOW },
    { "extent without bytes", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, extent), 16, EINVAL },
    { "skip without bytes", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, skip), 1, EINVAL },
    { "more than a tile has", FALLSFS_IOC_FALLS, FIELD(fallsfs_ioc_falls, bytes), 17, EINVAL },
    { "reserved", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, request.reserved[0]), 1, EINVAL },
    { "reserved", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, reserved[3]), 1, EINVAL },
    { "reserved32", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, reserved32), 1, EINVAL },
    { "no such buffer", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, request.buffer), 1, ENXIO },
    { "no such buffer", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, list_buffer), 1, ENXIO },
    { "no pieces", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, n), 0, EINVAL },
    { "too many pieces", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, n), (1u << 24) + 1, E2BIG },
    { "out of this world", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, n), UINT64_MAX, E2BIG },
    { "more than the buffer has", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, n), 257, EFAULT },
    { "an empty piece", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, n), 2, EINVAL },
    { "behind the buffer", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, list_off), 8192, EFAULT },
    { "far behind the buffer", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, list_off), UINT64_MAX - 7, EFAULT },
    { "not in its place", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, list_off), 4097, EINVAL },
    { "another list", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, list_off), 4104, EINVAL },
    { "tiles that interleave", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, extent), 15, EINVAL },
    { "more than a tile has", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, bytes), 17, EINVAL },
    { "skip", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, skip), 1, EINVAL },
    { "skip around", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, skip), UINT64_MAX, EOVERFLOW },
    { "out of the file", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, disp), UINT64_MAX, EOVERFLOW },
    { "out of the memory", FALLSFS_IOC_LIST, FIELD(fallsfs_ioc_list, request.buf_off), 8177, EFAULT },
    { "no such ticket", FALLSFS_IOC_WAIT, FIELD(fallsfs_ioc_ticket, ticket), 77, EINVAL },
    { "no ticket", FALLSFS_IOC_TEST, FIELD(fallsfs_ioc_ticket, ticket), 0, EINVAL },
    { "reserved", FALLSFS_IOC_WAIT, FIELD(fallsfs_ioc_ticket, reserved[0]), 1, EINVAL },
    { "no such group", FALLSFS_IOC_LEAVE, FIELD(fallsfs_ioc_leave, group), 77, EINVAL },
    { "version", FALLSFS_IOC_LEAVE, FIELD(fallsfs_ioc_leave, version), 0, EINVAL },
    { "no such group", FALLSFS_IOC_STATS, FIELD(fallsfs_ioc_stats, group), 77, EINVAL },
    { "reserved32", FALLSFS_IOC_STATS, FIELD(fallsfs_ioc_stats, reserved32), 1, EINVAL },
    { "version", FALLSFS_IOC_GROUPS, FIELD(fallsfs_ioc_groups, version), 2, EINVAL },
    { "reserved", FALLSFS_IOC_GROUPS, FIELD(fallsfs_ioc_groups, reserved[7]), 1, EINVAL },
    { "version", FALLSFS_IOC_VIEW, FIELD(fallsfs_ioc_view, version), 0, EINVAL },
    { "reserved32", FALLSFS_IOC_VIEW, FIELD(fallsfs_ioc_view, reserved32), 1, EINVAL },
    { "reserved", FALLSFS_IOC_VIEW, FIELD(fallsfs_ioc_view, reserved[3]), 1, EINVAL },
    { "where it is, from outside", FALLSFS_IOC_VIEW, FIELD(fallsfs_ioc_view, path[63]), 1, EINVAL },
    { "notation", FALLSFS_IOC_VIEW, FIELD(fallsfs_ioc_view, text[0]), 'x', EINVAL },
    { "version", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, version), 2, EINVAL },
    { "reserved32", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, reserved32), 1, EINVAL },
    { "reserved", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, reserved[3]), 1, EINVAL },
    { "domains", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.domains), 5, EINVAL },
    { "sieve", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.sieve), 3, EINVAL },
    { "window", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.window), UINT64_C(1) << 40, EINVAL },
    { "workers", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.workers), 65, EINVAL },
    { "a deadline", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.timeout_ms), 1000, EINVAL },
    { "hints' reserved", FALLSFS_IOC_HINT, FIELD(fallsfs_ioc_hint, hints.reserved[1]), 1, EINVAL },
};

static int make_memory(uint64_t len, unsigned flags, int seals)
{
    int fd = memfd_create("test", flags | MFD_ALLOW_SEALING | MFD_CLOEXEC);

    EXPECT(fd >= 0 && ftruncate(fd, (off_t) len) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

static int show_memory(int fd, int memfd, uint64_t len, uint32_t *ret_buffer)
{
    struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION, .fd = memfd, .len = len };
    int r = ioctl(fd, FALLSFS_IOC_BUFFER, &show);

    *ret_buffer = show.buffer;
    return r;
}

/* A request that is right. */
static union message message_for(unsigned long cmd, int memfd, uint32_t buffer)
{
    union message message = { .bytes = { 0 } };
    const struct fallsfs_ioc_request request = { .version = FALLSFS_IOCTL_VERSION, .buffer = buffer };

    message.leave.version = FALLSFS_IOCTL_VERSION; /* where all have it */
    if (cmd == FALLSFS_IOC_JOIN)
        message.join = (struct fallsfs_ioc_join){ .version = FALLSFS_IOCTL_VERSION, .nranks = 4, .token = "wrong" };
    else if (cmd == FALLSFS_IOC_BUFFER)
        message.buffer = (struct fallsfs_ioc_buffer){ .version = FALLSFS_IOCTL_VERSION, .fd = memfd, .len = 8192 };
    else if (cmd == FALLSFS_IOC_SECTION)
        message.section = (struct fallsfs_ioc_section){
            .request = request, .ndims = 1, .elem = 1, .size = { 16 }, .range = { { 0, 15, 1 } }
        };
    else if (cmd == FALLSFS_IOC_FALLS)
        message.falls = (struct fallsfs_ioc_falls){ .request = request, .text = "{(0,15,16,1)}" };
    else if (cmd == FALLSFS_IOC_LIST)
        message.list = (struct fallsfs_ioc_list){ .request = request, .n = 1, .list_off = 4096, .bytes = 16 };
    else if (cmd == FALLSFS_IOC_BOARD)
        message.board = (struct fallsfs_ioc_board){
            .version = FALLSFS_IOCTL_VERSION, .fd = memfd, .pid = (__u32) getpid(), .nranks = 1
        };
    else if (cmd == FALLSFS_IOC_ROUND)
        message.round = (struct fallsfs_ioc_round){ .version = FALLSFS_IOCTL_VERSION, .seq = 1 };
    else if (cmd == FALLSFS_IOC_VIEW)
        message.view = (struct fallsfs_ioc_view){ .version = FALLSFS_IOCTL_VERSION, .text = "stripe(1M,4)element 2" };
    return message;
}

/* Of this process, in pages of shared memory. */
static uint64_t shared_memory(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    uint64_t kib = 0;
    char line[256];

    EXPECT(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssShmem: %" SCNu64, &kib) == 1)
            break;
    fclose(file);
    return kib << 10;
}

/* Memory is had from the system by who asks, as much as is asked for: what nobody uses is not there, and what the
 * daemon is to fill is. */
static void memory_is_there(void)
{
    const uint64_t size = UINT64_C(1) << 30, part = UINT64_C(4) << 20;
    const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, 0, { part } };
    const struct fallsfs_range section[] = { { 0, part - 1, 1 } };
    int fd = open_shared(O_RDWR);
    uint64_t before = shared_memory();
    uint8_t *memory = fallsfs_alloc(size);

    EXPECT(memory != NULL && ftruncate(fd, (off_t) part) == 0 && shared_memory() < before + part / 4);
    EXPECT(fallsfs_read_section(fd, &array, section, memory + size / 2) == 0);
    EXPECT(shared_memory() >= before + part && shared_memory() < before + part + part / 4);
    EXPECT(memory[size / 2] == 0 && memory[size / 2 + part - 1] == 0);
    fallsfs_free(memory);
    EXPECT(close(fd) == 0);
}

static void each_wrong_field(void)
{
    int fd = open_shared(O_RDWR), memfd = make_memory(8192, 0, SEALS);
    const struct fallsfs_ioc_piece piece = { 0, 16 };
    uint32_t buffer;

    EXPECT(show_memory(fd, memfd, 8192, &buffer) == 0 && pwrite(memfd, &piece, sizeof piece, 4096) == sizeof piece);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];
        union message message = message_for(wrong->cmd, memfd, buffer), as_it_was;
        int r;

        memcpy(&message.bytes[wrong->at], &wrong->value, wrong->size);
        as_it_was = message;
        r = ioctl(fd, wrong->cmd, &message);
        if (r == 0 || errno != wrong->error)
            missed(__FILE__, __LINE__, wrong->why);
        EXPECT(memcmp(&message, &as_it_was, sizeof message) == 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        union message message = message_for(wrongs[i].cmd, memfd, buffer);
        bool is_right = wrongs[i].cmd == FALLSFS_IOC_SECTION || wrongs[i].cmd == FALLSFS_IOC_FALLS ||
                        wrongs[i].cmd == FALLSFS_IOC_BUFFER || wrongs[i].cmd == FALLSFS_IOC_LIST ||
                        wrongs[i].cmd == FALLSFS_IOC_STATS || wrongs[i].cmd == FALLSFS_IOC_GROUPS ||
                        wrongs[i].cmd == FALLSFS_IOC_VIEW || wrongs[i].cmd == FALLSFS_IOC_HINT;

        EXPECT(!is_right || ioctl(fd, wrongs[i].cmd, &message) == 0); /* it was that field */
    }
}

static void text_without_end(void)
{
    int fd = open_shared(O_RDWR);
    union message message = message_for(FALLSFS_IOC_FALLS, -1, 0);

    memset(message.falls.text, ' ', sizeof message.falls.text);
    EXPECT_ERROR(EINVAL, ioctl(fd, FALLSFS_IOC_FALLS, &message));
    message = message_for(FALLSFS_IOC_VIEW, -1, 0);
    memset(message.view.text, ' ', sizeof message.view.text);
    EXPECT_ERROR(EINVAL, ioctl(fd, FALLSFS_IOC_VIEW, &message));
}

/* The size is a part of the number. */
static void other_sizes_and_numbers(void)
{
    int fd = open_shared(O_RDWR), dir = open(".", O_RDONLY | O_DIRECTORY);
    union message message = message_for(FALLSFS_IOC_JOIN, -1, 0);
    struct fallsfs_ioc_info info;

    for (unsigned number = 0; number < 32; number++) {
        EXPECT_ERROR(ENOTTY, ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, FALLSFS_IOC_MAGIC, number, 8), &message));
        EXPECT_ERROR(ENOTTY, ioctl(fd, _IOC(_IOC_NONE, FALLSFS_IOC_MAGIC, number, 0), &message));
    }
    EXPECT_ERROR(ENOTTY, ioctl(dir, FALLSFS_IOC_INFO, &info));
    EXPECT(ioctl(fd, FALLSFS_IOC_INFO, &info) == 0);
    EXPECT(info.version == FALLSFS_IOCTL_VERSION && info.n_disks == 3 && info.n_elements == 3);
    EXPECT(strncmp(info.layout, "stripe(", 7) == 0 && info.max_ranks == FALLSFS_MAX_RANKS);
}

/* Anything at all: it is refused or does what it says; the mount goes on. */
static void random_requests(void)
{
    static const unsigned long cmds[] = { FALLSFS_IOC_INFO,   FALLSFS_IOC_JOIN, FALLSFS_IOC_BUFFER, FALLSFS_IOC_SECTION,
                                          FALLSFS_IOC_FALLS,  FALLSFS_IOC_TEST, FALLSFS_IOC_LEAVE,  FALLSFS_IOC_STATS,
                                          FALLSFS_IOC_GROUPS, FALLSFS_IOC_VIEW, FALLSFS_IOC_LIST,   FALLSFS_IOC_BOARD,
                                          FALLSFS_IOC_ROUND,  FALLSFS_IOC_WAIT, FALLSFS_IOC_HINT };
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION, .nranks = 1, .token = "alone" };
    const struct fallsfs_ioc_piece piece = { 0, 16 };
    int fd = open_shared(O_RDWR), memfd = make_memory(8192, 0, SEALS);
    uint32_t buffer;
    struct stat st;

    EXPECT(show_memory(fd, memfd, 8192, &buffer) == 0 && pwrite(memfd, &piece, sizeof piece, 4096) == sizeof piece);
    EXPECT(ioctl(fd, FALLSFS_IOC_JOIN, &join) == 0);
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        unsigned long cmd = cmds[rng_below(&rng, ARRAY_SIZE(cmds))];
        union message message = message_for(cmd, memfd, buffer);
        uint64_t n = rng_below(&rng, 6);

        for (uint64_t i = 0; i < n; i++) {
            size_t at = rng_below(&rng, rng_chance(&rng, 50) ? 96 : _IOC_SIZE(cmd));

            message.bytes[at] = rng_chance(&rng, 50) ? (uint8_t) rng_below(&rng, 4) : (uint8_t) rng_u64(&rng);
        }
        /* Nobody would come to a larger group. */
        if (cmd == FALLSFS_IOC_SECTION || cmd == FALLSFS_IOC_FALLS)
            message.section.request.group = 0, message.section.request.seq = 0;
        if (cmd == FALLSFS_IOC_SECTION || cmd == FALLSFS_IOC_FALLS)
            message.section.request.direction = FALLSFS_READ;
        if (cmd == FALLSFS_IOC_BOARD && rng_chance(&rng, 90))
            message.board.group = join.group;
        if (cmd == FALLSFS_IOC_ROUND && rng_chance(&rng, 90)) {
            uint64_t slot[8]; /* what the board asks for, and it never asks for much */

            for (size_t i = 0; i < ARRAY_SIZE(slot); i++)
                slot[i] = rng_below(&rng, 3);
            slot[0] = cmds[rng_below(&rng, ARRAY_SIZE(cmds))];
            EXPECT(pwrite(memfd, slot, sizeof slot, FALLSFS_BOARD_HEAD) == sizeof slot);
            message.round.group = join.group;
        }
        (void) ioctl(fd, cmd, &message);
    }
    EXPECT(fstat(fd, &st) == 0 && st.st_size == 0);
}

/* -- memory -- */

static void memory_that_is_none(void)
{
    int fd = open_shared(O_RDWR), memfd, pipes[2], own;
    char name[] = "/dev/shm/fallsfs.XXXXXX";
    uint32_t buffer;

    EXPECT(show_memory(fd, make_memory(4096, 0, SEALS), 4096, &buffer) == 0);
    EXPECT(show_memory(fd, make_memory(4096, 0, SEALS | F_SEAL_SEAL), 4096, &buffer) == 0);
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(4096, 0, 0), 4096, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(4096, 0, F_SEAL_SHRINK), 4096, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(4096, 0, F_SEAL_GROW), 4096, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(4096, 0, SEALS | F_SEAL_WRITE), 4096, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(4096, 0, SEALS), 4097, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, make_memory(0, 0, SEALS), 1, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, fd, 1, &buffer));
    EXPECT(pipe(pipes) == 0);
    EXPECT_ERROR(EINVAL, show_memory(fd, pipes[0], 1, &buffer));
    EXPECT_ERROR(EINVAL, show_memory(fd, open("/dev/zero", O_RDWR), 4096, &buffer));
    EXPECT(mkfifo("fifo", 0600) == 0 && (own = open("fifo", O_RDWR)) >= 0);
    EXPECT_ERROR(EINVAL, show_memory(fd, own, 4096, &buffer)); /* it would wait for a reader */
    EXPECT_ERROR(EINVAL, show_memory(fd, socket(AF_UNIX, SOCK_STREAM, 0), 4096, &buffer));
    memfd = mkstemp(name);
    if (memfd >= 0) {
        EXPECT(unlink(name) == 0 && ftruncate(memfd, 4096) == 0);
        EXPECT_ERROR(EINVAL, show_memory(fd, memfd, 4096, &buffer));
    }
    memfd = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING);
    if (memfd >= 0)
        EXPECT_ERROR(EINVAL, show_memory(fd, memfd, 4096, &buffer));
}

/* Another user's, even when we have it open: its owner might not want it written to. */
static int show_as_user(void)
{
    int fd, memfd = make_memory(4096, 0, SEALS);
    uint32_t buffer;

    become(1000, 1000, 0);
    fd = open_shared(O_RDWR);
    EXPECT_ERROR(EINVAL, show_memory(fd, memfd, 4096, &buffer));
    return 0;
}

static void memory_of_another_user(void)
{
    EXPECT(in_child(show_as_user) == 0);
}

/* Numbers are those of one open file, and gone when they are forgotten. */
static void numbers_of_buffers(void)
{
    int fd = open_shared(O_RDWR), other = open_shared(O_RDWR), memfd = make_memory(8192, 0, SEALS);
    union message message;
    struct fallsfs_ioc_buffer forget;
    uint32_t buffer;

    EXPECT(show_memory(fd, memfd, 8192, &buffer) == 0);
    message = message_for(FALLSFS_IOC_SECTION, memfd, buffer);
    EXPECT(ioctl(fd, FALLSFS_IOC_SECTION, &message) == 0);
    EXPECT_ERROR(ENXIO, ioctl(other, FALLSFS_IOC_SECTION, &message));
    forget = (struct fallsfs_ioc_buffer){ .version = FALLSFS_IOCTL_VERSION, .fd = -1, .buffer = buffer };
    EXPECT_ERROR(ENXIO, ioctl(other, FALLSFS_IOC_BUFFER, &forget));
    EXPECT(ioctl(fd, FALLSFS_IOC_BUFFER, &forget) == 0);
    EXPECT_ERROR(ENXIO, ioctl(fd, FALLSFS_IOC_SECTION, &message));
}

/* What lies around a section in memory stays as it is. */
static void no_other_bytes(void)
{
    int fd = open_shared(O_RDWR), memfd = make_memory(8192, 0, SEALS);
    union message message;
    uint8_t *bytes = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    uint32_t buffer;

    EXPECT(bytes != MAP_FAILED && pwrite(fd, "0123456789abcdef", 16, 0) == 16);
    memset(bytes, 'x', 8192);
    EXPECT(show_memory(fd, memfd, 8192, &buffer) == 0);
    message = message_for(FALLSFS_IOC_SECTION, memfd, buffer);
    message.section.range[0] = (struct fallsfs_ioc_range){ 1, 14, 3 };
    message.section.request.buf_off = 4000;
    EXPECT(ioctl(fd, FALLSFS_IOC_SECTION, &message) == 0 && message.section.request.bytes == 5);
    EXPECT(memcmp(bytes + 4000, "147ad", 5) == 0);
    for (size_t i = 0; i < 8192; i++)
        EXPECT((i >= 4000 && i < 4005) || bytes[i] == 'x');
}

/* -- who may -- */

static void open_for_something_else(void)
{
    const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 16 } };
    const struct fallsfs_range all[] = { { 0, 15, 1 } };
    struct fallsfs_ioc_info info;
    char buf[16] = "untouched";
    int fd = open_shared(O_RDWR);

    EXPECT(pwrite(fd, "0123456789abcdef", 16, 0) == 16);
    EXPECT(fallsfs_write_section(open_shared(O_RDONLY), &bytes, all, buf) == -EBADF);
    EXPECT(fallsfs_read_section(open_shared(O_WRONLY), &bytes, all, buf) == -EBADF);
    EXPECT(memcmp(buf, "untouched", 10) == 0);
    EXPECT(fallsfs_read_section(open_shared(O_RDONLY), &bytes, all, buf) == 0 &&
           memcmp(buf, "0123456789abcdef", 16) == 0);
    memset(buf, 'w', 16);
    EXPECT(fallsfs_write_section(open_shared(O_WRONLY), &bytes, all, buf) == 0);
    EXPECT(pread(fd, buf, 16, 0) == 16 && buf[7] == 'w');
    EXPECT(fallsfs_info(open("/dev/null", O_RDWR), &info) == -ENOTTY);
    EXPECT(strstr(fallsfs_strerror_last(), "not a regular file on a fallsfs mount") != NULL);
}

static struct stage *stage_of_user;

static int join_as_user(void)
{
    struct fallsfs_group *group;
    int fd;

    become(1000, 1000, 0);
    fd = open_shared(O_RDWR);
    EXPECT(fallsfs_join(fd, stage_of_user->token, 1, 2, &stage_of_user->hints, &group) == -EACCES);
    EXPECT(fallsfs_join(fd, stage_of_user->token, 0, 3, NULL, &group) == -EACCES); /* and learns no more */
    return 0;
}

static void another_user(void)
{
    struct fallsfs_group *group;

    stage_of_user = stage_new(2, 0);
    EXPECT(fchmod(open_shared(O_RDWR), 0666) == 0);
    (void) join_as(stage_of_user, 0);
    EXPECT(in_child(join_as_user) == 0);
    /* Nor does another file. */
    EXPECT(fallsfs_join(open("other", O_RDWR | O_CREAT, 0666), stage_of_user->token, 1, 2, &stage_of_user->hints,
                        &group) == -EACCES);
    (void) join_as(stage_of_user, 1);
}

static int guess(void)
{
    uint8_t token[16];
    struct fallsfs_group *group;
    unsigned n_groups = 0;

    become(1000, 1000, 0);
    for (int i = 0; i < 500; i++) {
        int r;

        EXPECT(fallsfs_token(token) == 0);
        r = fallsfs_join(open_shared(O_RDWR), token, 1, 2, NULL, &group);
        n_groups += r == 0;
        EXPECT(r == 0 || r == -EUSERS);
    }
    EXPECT(n_groups == 64); /* all of them one's own */
    return 0;
}

static void guessing(void)
{
    EXPECT(fchmod(open_shared(O_RDWR), 0666) == 0);
    (void) join_as(stage_new(2, 0), 0);
    EXPECT(in_child(guess) == 0);
}

static int write_as_user(void)
{
    const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 16 } };
    const struct fallsfs_range all[] = { { 0, 15, 1 } };
    char buf[16] = "written";

    become(1000, 1000, 0);
    EXPECT(fallsfs_write_section(open_shared(O_RDWR), &bytes, all, buf) == 0);
    return 0;
}

static void set_user_id_goes(void)
{
    int fd = open_shared(O_RDWR);
    struct stat st;

    EXPECT(fchmod(fd, 06777) == 0 && in_child(write_as_user) == 0);
    EXPECT(stat("shared", &st) == 0 && (st.st_mode & 07777) == 0777 && st.st_size == 16);
}

/* Rank 0 is in the file's group and may keep the bit, which is for locking; rank 1 is not. */
static struct stage *stage_of_groups;

static int write_as(uint32_t rank, gid_t gid)
{
    int rows[SIDE * SIDE] = { 0 };

    become(1000, gid, 0);
    return write_rows(stage_of_groups, join_as(stage_of_groups, rank), rank, rows);
}

static int write_in_group(void)
{
    return write_as(0, 2000) != 0;
}

static int write_out_of_group(void)
{
    return write_as(1, 2001) != 0;
}

static mode_t mode_after(uint32_t n)
{
    struct stat st;
    pid_t pid;

    EXPECT(chmod("shared", 02666) == 0);
    stage_of_groups = stage_new(n, 0);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0)
        _exit(write_in_group());
    EXPECT(n == 1 || in_child(write_out_of_group) == 0);
    until_ended(pid);
    EXPECT(stat("shared", &st) == 0);
    return st.st_mode & 07777;
}

static void each_writer_counts(void)
{
    EXPECT(fchown(open_shared(O_RDWR), 1000, 2000) == 0);
    EXPECT(mode_after(1) == 02666);
    EXPECT(mode_after(2) == 0666);
}

static void limit_of_file_size(void)
{
    const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 9600, { 1000 } };
    const struct fallsfs_range up_to[] = { { 0, 399, 2 } }, behind[] = { { 0, 401, 2 } }, none[] = { { 1, 0, 1 } };
    const struct rlimit limit = { 10000, RLIM_INFINITY }, little = { 500, RLIM_INFINITY };
    static char big[9600];
    char buf[1000] = { 0 };
    int fd = open_shared(O_RDWR);
    struct stat st;

    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EXPECT(fallsfs_write_section(fd, &bytes, behind, buf) == -EFBIG);
    EXPECT(strstr(fallsfs_strerror_last(), "ulimit -f") != NULL);
    EXPECT(fallsfs_write_falls(fd, 9999, "{(0,1,2,1)}", buf) == -EFBIG);
    EXPECT(fstat(fd, &st) == 0 && st.st_size == 0);
    EXPECT(fallsfs_write_section(fd, &bytes, up_to, buf) == 0 && fallsfs_write_section(fd, &bytes, none, buf) == 0);
    EXPECT(fallsfs_write_falls(fd, 9999, "{(0,0,1,1)}", "x") == 0);
    EXPECT(fallsfs_read_section(fd, &bytes, behind, buf) == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_size == 10000);
    /* Memory that the daemon can reach is a file, too. */
    EXPECT(setrlimit(RLIMIT_FSIZE, &little) == 0);
    EXPECT(fallsfs_alloc(4096) == NULL);
    EXPECT(fallsfs_write_falls(fd, 490, "{(0,9,10,1)}", "0123456789") == 0);
    EXPECT(fallsfs_read_falls(fd, 491, "{(0,9508,9509,1)}", big) == 0 && big[0] == '1' && big[9507] == 0 &&
           big[9508] == 'x');
}

/* -- the kernel's cache -- */

static void mapped_files_see_it(void)
{
    const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 16384 } };
    const struct fallsfs_range odd[] = { { 1, 16383, 2 } };
    static char buf[8192], all[16384];
    int fd = open_shared(O_RDWR);
    char *map;

    EXPECT(ftruncate(fd, 16384) == 0);
    map = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(map != MAP_FAILED);
    for (int round = 0; round < 20; round++) {
        /* What was written through the mapping is what a section has, and the other way round. */
        for (size_t i = 0; i < 16384; i++)
            map[i] = (char) ('a' + (i + (size_t) round) % 23);
        EXPECT(fallsfs_read_section(fd, &bytes, odd, buf) == 0);
        for (size_t i = 0; i < 8192; i++)
            EXPECT(buf[i] == (char) ('a' + (2 * i + 1 + (size_t) round) % 23));
        memset(buf, 'A' + round, sizeof buf);
        EXPECT(fallsfs_write_section(fd, &bytes, odd, buf) == 0);
        EXPECT(pread(fd, all, 16384, 0) == 16384);
        for (size_t i = 0; i < 16384; i++) {
            char want = i % 2 == 1 ? (char) ('A' + round) : (char) ('a' + (i + (size_t) round) % 23);

            EXPECT(map[i] == want && all[i] == want);
        }
    }
}

/* Behind the end of the file are zeros; a write ends it where its last byte ends. */
static void the_end_of_the_file(void)
{
    const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 100, { 16384 } };
    const struct fallsfs_range all[] = { { 0, 999, 1 } }, some[] = { { 3000, 3010, 2 } }, none[] = { { 1, 0, 1 } };
    static char buf[16384];
    int fd = open_shared(O_RDWR);
    struct stat st;

    memset(buf, 'x', sizeof buf);
    EXPECT(pwrite(fd, "abc", 3, 99) == 3);
    EXPECT(fallsfs_read_section(fd, &bytes, all, buf) == 0 && memcmp(buf, "bc\0\0", 4) == 0 && buf[999] == 0 &&
           buf[1000] == 'x');
    EXPECT(fallsfs_write_section(fd, &bytes, none, buf) == 0 && fstat(fd, &st) == 0 && st.st_size == 102);
    EXPECT(fallsfs_write_section(fd, &bytes, some, "uvwxyz") == 0 && fstat(fd, &st) == 0 && st.st_size == 3111);
    EXPECT(pread(fd, buf, 16384, 0) == 3111 && memcmp(buf + 3100, "u\0v\0w\0x\0y\0z", 11) == 0);
}

/* Pieces of two bytes with nothing regular about them, so many; where they are. */
static size_t say_pieces(uint64_t n, char *text, size_t size, uint64_t at[])
{
    uint64_t off = 0;
    size_t len = 1;

    text[0] = '{';
    for (uint64_t i = 0; i < n; i++) {
        off += 3 + i * i % 7;
        at[i] = off;
        len += (size_t) snprintf(text + len, size - len, "%s(%" PRIu64 ",%" PRIu64 ",2,1)", i == 0 ? "" : ",", off,
                                 off + 1);
    }
    EXPECT(len + 1 < size);
    strcpy(text + len, "}");
    return len + 1;
}

/* As many as fit into a request, more than that, and more than there is a way to say. */
static void sets_of_many_pieces(void)
{
    static const uint64_t counts[] = { 20, 400, 520, 700, 2500, 5000 };
    static char text[200000];
    static uint8_t buf[10000], back[10000], file[60000];
    static uint64_t at[5000];
    int fd = open_shared(O_RDWR);

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        uint64_t n = counts[i];
        size_t len = say_pieces(n, text, sizeof text, at);
        const struct fallsfs_list list = { .disp = 5, .falls = text, .skip = 1, .bytes = 2 * n - 2 };

        for (uint64_t k = 0; k < 2 * n; k++)
            buf[k] = (uint8_t) (k * 7 + n);
        if (n == 5000) { /* nor is this notation at all */
            EXPECT(fallsfs_read_falls(fd, 0, text, back) == -E2BIG);
            EXPECT(strstr(fallsfs_strerror_last(), "in parts") != NULL);
            continue;
        }
        EXPECT(len < FALLSFS_MAX_TEXT || n > 500);
        EXPECT(ftruncate(fd, 0) == 0 && fallsfs_write_falls(fd, 5, text, buf) == 0);
        EXPECT(pread(fd, file, sizeof file, 0) == (ssize_t) (5 + at[n - 1] + 2));
        for (uint64_t k = 0; k < 2 * n; k++)
            EXPECT(file[5 + at[k / 2] + k % 2] == buf[k]);
        EXPECT(fallsfs_read_falls(fd, 5, text, back) == 0 && memcmp(back, buf, 2 * n) == 0);
        EXPECT(fallsfs_read_list(fd, &list, back) == 0 && memcmp(back, buf + 1, 2 * n - 2) == 0);
    }
    EXPECT(fallsfs_read_falls(fd, UINT64_C(1) << 62, "{(0,1,2,1)}", back) == -EOVERFLOW);
    EXPECT(strstr(fallsfs_strerror_last(), "does not fit into a file") != NULL);
}

static void hints_that_are_none(void)
{
    static const struct {
        struct fallsfs_hints hints;
        const char *words;
    } row[] = {
        { { .window = 64 << 20 }, "a window of 67108864 bytes is more than there may be, 4194304" },
        { { .workers = 65 }, "65 workers are more than there may be, 64" },
        { { .timeout_ms = 999 }, "a timeout of 999 ms is not possible: it is 1000 to 3600000" },
        { { .domains = 9 }, "domains 9 or sieve 0 is no hint" },
        { { .sieve = 9 }, "domains 0 or sieve 9 is no hint" },
    };
    int fd = open_shared(O_RDWR);
    struct fallsfs_group *group;
    uint8_t token[16];

    EXPECT(fallsfs_token(token) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
        EXPECT(fallsfs_join(fd, token, 0, 1, &row[i].hints, &group) == -EINVAL);
        if (strstr(fallsfs_strerror_last(), row[i].words) == NULL)
            missed(__FILE__, __LINE__, fallsfs_strerror_last());
    }
    EXPECT(fallsfs_join(fd, token, 2, 2, NULL, &group) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "rank 2 of 2 is not possible") != NULL);
}

const struct check checks_of_requests[] = {
    { "memory_is_there", memory_is_there },
    { "each_wrong_field", each_wrong_field },
    { "text_without_end", text_without_end },
    { "other_sizes_and_numbers", other_sizes_and_numbers },
    { "random_requests", random_requests },
    { "memory_that_is_none", memory_that_is_none },
    { "memory_of_another_user", memory_of_another_user },
    { "numbers_of_buffers", numbers_of_buffers },
    { "no_other_bytes", no_other_bytes },
    { "open_for_something_else", open_for_something_else },
    { "another_user", another_user },
    { "guessing", guessing },
    { "set_user_id_goes", set_user_id_goes },
    { "sets_of_many_pieces", sets_of_many_pieces },
    { "hints_that_are_none", hints_that_are_none },
    { "each_writer_counts", each_writer_counts },
    { "limit_of_file_size", limit_of_file_size },
    { "mapped_files_see_it", mapped_files_see_it },
    { "the_end_of_the_file", the_end_of_the_file },
    { NULL, NULL },
};
