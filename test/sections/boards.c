/* SPDX-License-Identifier: MIT */
/* Groups whose ranks meet on a board: by hand, with everything on it that should not be there; and through the library,
 * by ranks that come late, or do not take part every time. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#define N     2 /* ranks, by hand */
#define LEN   16

static const char content[] = "0123456789abcdefghijklmnopqrstuv";

/* -- by hand -- */

struct hand {
    int fd[N];
    uint64_t group;
    uint32_t buffer[N];
    uint8_t *memory[N], *board;
    uint64_t seq;
};

static int memory_of(uint64_t len, int seals, uint8_t **ret_bytes)
{
    int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);

    EXPECT(fd >= 0 && ftruncate(fd, (off_t) len) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0);
    *ret_bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(*ret_bytes != MAP_FAILED);
    return fd;
}

static struct fallsfs_ioc_board offer(const struct hand *hand, int memfd)
{
    return (struct fallsfs_ioc_board){ .version = FALLSFS_IOCTL_VERSION,
                                       .fd = memfd,
                                       .group = hand->group,
                                       .pid = 4711,
                                       .nranks = N,
                                       .key = "the key of this" };
}

/* Two ranks of this process, each with a page of x; both open the file so. */
static struct hand ranks_by_hand(int flags)
{
    struct hand hand = { .seq = 1 };
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION, .nranks = N };
    int fd = open_shared(O_RDWR);

    EXPECT(pwrite(fd, content, sizeof content - 1, 0) == sizeof content - 1);
    EXPECT(fallsfs_token(join.token) == 0);
    for (uint32_t i = 0; i < N; i++) {
        struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION, .len = 4096 };

        hand.fd[i] = open_shared(i == 1 ? flags : O_RDWR);
        join.rank = i;
        EXPECT(ioctl(hand.fd[i], FALLSFS_IOC_JOIN, &join) == 0);
        show.fd = memory_of(4096, SEALS, &hand.memory[i]);
        EXPECT(ioctl(hand.fd[i], FALLSFS_IOC_BUFFER, &show) == 0);
        hand.buffer[i] = show.buffer;
        memset(hand.memory[i], 'x', 4096);
    }
    hand.group = join.group;
    return hand;
}

static void show_board(struct hand *hand)
{
    struct fallsfs_ioc_board board = offer(hand, memory_of(FALLSFS_BOARD_SIZE(N), SEALS, &hand->board));

    EXPECT(ioctl(hand->fd[0], FALLSFS_IOC_BOARD, &board) == 0);
}

static struct fallsfs_ioc_section request_of(const struct hand *hand, uint32_t rank, uint32_t direction)
{
    return (struct fallsfs_ioc_section){
        .request = { .version = FALLSFS_IOCTL_VERSION,
                     .direction = direction,
                     .group = hand->group,
                     .seq = hand->seq,
                     .buffer = hand->buffer[rank] },
        .ndims = 1,
        .elem = 1,
        .size = { 2 * LEN },
        .range = { { rank, 2 * LEN - 1, N } },
    };
}

static void leave(struct hand *hand, uint32_t rank, uint32_t cmd, const void *request, size_t len)
{
    uint8_t *slot = hand->board + FALLSFS_BOARD_HEAD + (size_t) rank * FALLSFS_BOARD_SLOT;

    memcpy(slot, &cmd, sizeof cmd);
    memcpy(slot + FALLSFS_BOARD_REQUEST, request, len);
}

static void leave_good(struct hand *hand, uint32_t direction)
{
    for (uint32_t i = 0; i < N; i++) {
        struct fallsfs_ioc_section section = request_of(hand, i, direction);

        leave(hand, i, FALLSFS_IOC_SECTION, &section, sizeof section);
    }
}

static int ask_for_all(const struct hand *hand, uint32_t rank)
{
    struct fallsfs_ioc_round round = { .version = FALLSFS_IOCTL_VERSION, .group = hand->group, .seq = hand->seq };
    int r = ioctl(hand->fd[rank], FALLSFS_IOC_ROUND, &round);

    EXPECT(round.accepted == (r == 0));
    return r;
}

static void expect_untouched(const struct hand *hand)
{
    char file[sizeof content];

    EXPECT(pread(hand->fd[0], file, sizeof file, 0) == sizeof content - 1 &&
           memcmp(file, content, sizeof content - 1) == 0);
    for (uint32_t i = 0; i < N; i++)
        for (size_t k = 0; k < 4096; k++)
            EXPECT(hand->memory[i][k] == 'x');
}

static void boards_are_offered(void)
{
    struct hand hand = ranks_by_hand(O_RDWR);
    struct fallsfs_ioc_board board = offer(&hand, -1);
    uint8_t *bytes;
    int good = memory_of(FALLSFS_BOARD_SIZE(N), SEALS, &bytes);

    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 0));
    EXPECT_ERROR(ENOENT, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board.fd = memory_of(FALLSFS_BOARD_SIZE(N), 0, &bytes); /* it could shrink */
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board.fd = memory_of(FALLSFS_BOARD_SIZE(N) - 1, SEALS, &bytes);
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board.fd = hand.fd[0];
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board.fd = good;
    board.nranks = N - 1;
    EXPECT_ERROR(ENOENT, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board.nranks = FALLSFS_MAX_RANKS + 1;
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board = offer(&hand, good);
    board.group++;
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board = offer(&hand, good);
    board.reserved[3] = 1;
    EXPECT_ERROR(EINVAL, ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board));
    board = offer(&hand, good);
    EXPECT_ERROR(EINVAL, ioctl(open_shared(O_RDWR), FALLSFS_IOC_BOARD, &board));

    EXPECT(ioctl(hand.fd[0], FALLSFS_IOC_BOARD, &board) == 0 && board.fd == good && board.pid == 4711);
    memset(board.key, 0, sizeof board.key); /* another one comes too late */
    board.pid = 1;
    EXPECT(ioctl(hand.fd[1], FALLSFS_IOC_BOARD, &board) == 0 && board.fd == good && board.pid == 4711 &&
           memcmp(board.key, "the key of this", 16) == 0);
}

static void rounds_by_hand(void)
{
    struct hand hand = ranks_by_hand(O_RDWR);
    struct fallsfs_ioc_section again;
    char file[sizeof content];

    show_board(&hand);
    leave_good(&hand, FALLSFS_READ);
    EXPECT(ask_for_all(&hand, 1) == 0);
    EXPECT(memcmp(hand.memory[0], "02468acegikmoqsux", LEN + 1) == 0);
    EXPECT(memcmp(hand.memory[1], "13579bdfhjlnprtvx", LEN + 1) == 0);
    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 0));
    again = request_of(&hand, 0, FALLSFS_READ); /* the one that was not told */
    EXPECT(ioctl(hand.fd[0], FALLSFS_IOC_SECTION, &again) == 0 && again.request.bytes == LEN);

    hand.seq = 2;
    memset(hand.memory[0], 'A', LEN);
    memset(hand.memory[1], 'B', LEN);
    leave_good(&hand, FALLSFS_WRITE);
    EXPECT(ask_for_all(&hand, 0) == 0);
    EXPECT(pread(hand.fd[0], file, sizeof file, 0) == sizeof content - 1);
    for (size_t i = 0; i < 2 * LEN; i++)
        EXPECT(file[i] == "AB"[i % 2]);
}

struct wrong {
    const char *why;
    size_t at, size; /* of the field */
    uint64_t value;
};

#define FIELD(field) offsetof(struct fallsfs_ioc_section, field), sizeof(((struct fallsfs_ioc_section *) NULL)->field)

static const struct wrong wrongs[] = {
    { "no version", FIELD(request.version), 0 },
    { "another direction", FIELD(request.direction), FALLSFS_WRITE },
    { "no direction", FIELD(request.direction), 9 },
    { "alone", FIELD(request.group), 0 },
    { "another group", FIELD(request.group), 4711 },
    { "another round", FIELD(request.seq), 2 },
    { "a ticket", FIELD(request.flags), FALLSFS_NOWAIT },
    { "no buffer", FIELD(request.buffer), 0 },
    { "behind the buffer", FIELD(request.buf_off), 4081 },
    { "far behind the buffer", FIELD(request.buf_off), UINT64_MAX - 3 },
    { "reserved", FIELD(request.reserved[1]), 1 },
    { "no dimension", FIELD(ndims), 0 },
    { "too many dimensions", FIELD(ndims), 17 },
    { "no element", FIELD(elem), 0 },
    { "no stride", FIELD(range[0].stride), 0 },
    { "out of the array", FIELD(range[0].upper), 2 * LEN },
    { "reserved", FIELD(reserved[0]), 1 },
};

/* Nothing happens; who then asks for itself is told, or served. */
static void wrong_slots(void)
{
    struct hand hand = ranks_by_hand(O_RDWR);
    struct fallsfs_ioc_falls falls = { .request = request_of(&hand, 1, FALLSFS_READ).request };

    show_board(&hand);
    for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
        struct fallsfs_ioc_section section = request_of(&hand, 1, FALLSFS_READ);

        leave_good(&hand, FALLSFS_READ);
        memcpy((uint8_t *) &section + wrongs[i].at, &wrongs[i].value, wrongs[i].size);
        leave(&hand, 1, FALLSFS_IOC_SECTION, &section, sizeof section);
        if (ask_for_all(&hand, 0) >= 0 || errno != EAGAIN)
            missed(__FILE__, __LINE__, wrongs[i].why);
        expect_untouched(&hand);
    }
    leave_good(&hand, FALLSFS_READ);
    leave(&hand, 1, FALLSFS_IOC_LEAVE, &falls, 8);
    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 0));
    memset(falls.text, '(', sizeof falls.text); /* that has no end */
    leave(&hand, 1, FALLSFS_IOC_FALLS, &falls, FALLSFS_BOARD_SLOT - FALLSFS_BOARD_REQUEST);
    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 0));
    expect_untouched(&hand);
    leave_good(&hand, FALLSFS_READ);
    EXPECT(ask_for_all(&hand, 0) == 0);
}

/* The board is no way around how a rank has opened the file. */
static void open_to_read(void)
{
    struct hand hand = ranks_by_hand(O_RDONLY);

    show_board(&hand);
    leave_good(&hand, FALLSFS_WRITE);
    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 0));
    EXPECT_ERROR(EAGAIN, ask_for_all(&hand, 1));
    expect_untouched(&hand);
}

/* Whatever is in the slots, the daemon answers, and touches nothing but what ranks have shown it. */
static void anything_on_the_board(void)
{
    for (struct rng rng = rng_from_env(1); rng_next(&rng);) {
        struct hand hand = ranks_by_hand(O_RDWR);

        show_board(&hand);
        for (int i = 0; i < 500; i++) {
            int r;

            leave_good(&hand, FALLSFS_READ);
            for (uint64_t n = rng_between(&rng, 1, 8); n > 0; n--)
                hand.board[FALLSFS_BOARD_HEAD + rng_below(&rng, N * (uint64_t) FALLSFS_BOARD_SLOT)] ^=
                    (uint8_t) (1u << rng_below(&rng, 8));
            r = ask_for_all(&hand, (uint32_t) rng_below(&rng, N));
            EXPECT(r == 0 || errno == EAGAIN);
            hand.seq += r == 0;
        }
    }
}

/* -- through the library -- */

/* A board is a file, too: who may not make one of that size meets at the daemon. */
static void no_room_for_a_board(void)
{
    const struct rlimit little = { 1000, RLIM_INFINITY };
    struct stage *stage = stage_new(2, 0);
    struct fallsfs_group *group[2];
    pid_t pid;
    static int rows[SIDE * SIDE];

    EXPECT(setrlimit(RLIMIT_FSIZE, &little) == 0);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        group[1] = join_as(stage, 1);
        EXPECT(read_rows(stage, group[1], 1, rows) == 0);
        _exit(0);
    }
    group[0] = join_as(stage, 0);
    EXPECT(read_rows(stage, group[0], 0, rows) == 0);
    until_ended(pid);
}

#define ROUNDS 60

/* What a rank writes in a round, and the others find. */
static int value_of(uint32_t rank, int round, size_t i)
{
    return (int) (rank * 1000003 + (uint32_t) round * 1009 + i);
}

static size_t n_of(const struct stage *stage, uint32_t rank)
{
    return (SIDE - rank + stage->n - 1) / stage->n * SIDE;
}

/* Writes, then reads, always its own rows: in time or late, through memory the daemon sees or not. */
static int take_part(struct stage *stage, uint32_t rank, struct rng *rng)
{
    static const struct fallsfs_array square = { 2, FALLSFS_ROW_MAJOR, sizeof(int), 0, { SIDE, SIDE } };
    const struct fallsfs_range section[] = { { rank, SIDE - 1, stage->n }, { 0, SIDE - 1, 1 } };
    static int staged[SIDE * SIDE];
    int *shown = fallsfs_alloc(SIDE * SIDE * sizeof *shown), r = 0;
    struct fallsfs_group *group = join_as(stage, rank);
    struct fallsfs_ticket *ticket;

    EXPECT(shown != NULL);
    for (int round = 0; round < ROUNDS && r == 0; round++) {
        int *rows = rng_chance(rng, 20) ? staged : shown;

        if (rng_chance(rng, 10))
            pause_ms((unsigned) rng_below(rng, 30));
        for (size_t i = 0; i < n_of(stage, rank); i++)
            rows[i] = value_of(rank, round, i);
        if (!rng_chance(rng, 10))
            r = write_rows(stage, group, rank, rows);
        else if ((r = fallsfs_iwrite_all(group, &square, section, rows, &ticket)) == 0)
            r = fallsfs_wait(ticket);
        memset(rows, 0, SIDE * SIDE * sizeof *rows);
        if (r == 0)
            r = read_rows(stage, group, rank, rows);
        for (size_t i = 0; r == 0 && i < n_of(stage, rank); i++)
            if (rows[i] != value_of(rank, round, i))
                r = -EBADMSG;
    }
    return r;
}

static void some_come_late(void)
{
    for (struct rng rng = rng_from_env(4); rng_next(&rng);) {
        struct stage *stage = stage_new((uint32_t) rng_between(&rng, 2, 9), 0);
        pid_t pid[MAX_RANKS];

        for (uint32_t i = 0; i < stage->n; i++) {
            pid[i] = fork();
            EXPECT(pid[i] >= 0);
            if (pid[i] == 0) {
                for (uint32_t k = 0; k <= i; k++)
                    (void) rng_below(&rng, 2); /* each its own ways */
                tell(stage, i, take_part(stage, i, &rng));
                _exit(0);
            }
        }
        for (uint32_t i = 0; i < stage->n; i++) {
            until_ended(pid[i]);
            if (atomic_load(&stage->told[i].result) != 0)
                missed(__FILE__, __LINE__, stage->told[i].words);
        }
        EXPECT(unlink("shared") == 0);
    }
}

const struct check checks_of_boards[] = {
    { "boards_are_offered", boards_are_offered },
    { "rounds_by_hand", rounds_by_hand },
    { "wrong_slots", wrong_slots },
    { "open_to_read", open_to_read },
    { "anything_on_the_board", anything_on_the_board },
    { "no_room_for_a_board", no_room_for_a_board },
    { "some_come_late", some_come_late },
    { NULL, NULL },
};
