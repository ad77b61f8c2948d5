/* SPDX-License-Identifier: MIT */
#include "ioctl/client/board.h"

#include "ioctl/client/client.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FORM     3                  /* of what follows; ranks of other forms do not meet */
#define PATIENCE UINT64_C(10000000) /* ns; who waits longer lets the daemon know */
#define ROOM     (FALLSFS_BOARD_SLOT - FALLSFS_BOARD_REQUEST)

/* The start of the board. The gate has how many are there in its upper half, and in its lower one, which is waited on,
 * the round and how it stands. */
struct head {
    uint8_t key[16];
    uint32_t form;
    _Atomic uint32_t n_ready; /* ranks that see the board */
    _Atomic uint64_t gate;
    _Atomic uint64_t first_ns; /* when the first one came */
    _Atomic uint32_t done;     /* the last round that went well */
    /* How long the file was in that round. It is written before the round is done, and no other can be done before all
     * who wait for this one have asked again: so they read what belongs to it. */
    _Atomic uint64_t file_size;
    /* The last even and the last odd round in which some rank had that to tell the others: none asks for the round
     * after the next before all have asked for the next one, and so have read what was told in this one. */
    _Atomic uint64_t told[BOARD_N_WORDS][2];
};

_Static_assert(sizeof(struct head) <= FALLSFS_BOARD_HEAD, "the head is before the slots");

struct board {
    int fd; /* the file's */
    uint64_t group;
    uint32_t rank, nranks;
    pid_t owner; /* a child that goes its own way is not the rank */
    int memfd;
    struct head *head;
};

/* -- the gate -- */

enum state { OPEN, ASKED, CLOSED, DONE };

static uint32_t low(uint64_t seq, enum state state)
{
    return (uint32_t) (seq << 2) | state;
}

static uint64_t gate_of(uint64_t seq, enum state state, uint32_t n)
{
    return n * (UINT64_C(1) << 32) + low(seq, state);
}

static enum state state_of(uint64_t gate)
{
    return gate & 3;
}

static uint32_t n_of(uint64_t gate)
{
    return (uint32_t) (gate >> 32);
}

/* How many rounds the gate is ahead of that one. */
static int32_t ahead(uint64_t gate, uint64_t seq)
{
    return (int32_t) ((uint32_t) gate - (uint32_t) (seq << 2)) >> 2;
}

static uint32_t *futex_of(struct head *head)
{
    uint8_t *gate = (uint8_t *) head + offsetof(struct head, gate);

    return (uint32_t *) (void *) gate + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static void wake_all(struct head *head)
{
    (void) syscall(SYS_futex, futex_of(head), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wait_while(struct head *head, uint32_t value, uint64_t ns)
{
    const struct timespec time = { (time_t) (ns / 1000000000), (long) (ns % 1000000000) };

    (void) syscall(SYS_futex, futex_of(head), FUTEX_WAIT, value, &time, NULL, 0);
}

/* -- a round -- */

/* True when the rank is among those who wait, or the last of them. */
static bool come_in(struct board *board, uint64_t seq, bool *ret_last)
{
    struct head *head = board->head;
    uint64_t gate = atomic_load(&head->gate), next;

    do {
        int32_t rounds = ahead(gate, seq);
        uint32_t n = rounds < 0 ? 1 : n_of(gate) + 1;

        if (rounds > 0 || (rounds == 0 && state_of(gate) != OPEN))
            return false;
        if (n == 1)
            atomic_store_explicit(&head->first_ns, clock_ns(), memory_order_relaxed);
        *ret_last = n == board->nranks;
        next = gate_of(seq, *ret_last ? ASKED : OPEN, n);
    } while (!atomic_compare_exchange_weak(&head->gate, &gate, next));
    return true;
}

static void leave_request(struct board *board, unsigned long cmd, const void *message)
{
    uint8_t *slot = (uint8_t *) board->head + FALLSFS_BOARD_HEAD + (size_t) board->rank * FALLSFS_BOARD_SLOT;
    const uint32_t number = (uint32_t) cmd;

    memcpy(slot, &number, sizeof number);
    memcpy(slot + FALLSFS_BOARD_REQUEST, message, MIN(_IOC_SIZE(number), ROOM));
}

/* Whether the round that was waited for went well, or each must ask for itself. */
static bool went_well(struct head *head, uint64_t gate, uint64_t seq)
{
    return ahead(gate, seq) == 0 ? state_of(gate) == DONE : atomic_load(&head->done) == (uint32_t) seq;
}

static bool wait_for_others(struct board *board, uint64_t seq)
{
    struct head *head = board->head;
    uint64_t until = clock_ns() + PATIENCE, gate = atomic_load(&head->gate);

    while (ahead(gate, seq) == 0 && (state_of(gate) == OPEN || state_of(gate) == ASKED)) {
        uint64_t time = clock_ns();

        if (time >= until) {
            board_pass(board, seq);
            return false;
        }
        wait_while(head, (uint32_t) gate, until - time);
        gate = atomic_load(&head->gate);
    }
    return went_well(head, gate, seq);
}

/* Who did not want to wait for us may have gone on to the next round: that one's gate is theirs. */
static int ask_for_all(struct board *board, uint64_t seq)
{
    struct head *head = board->head;
    struct fallsfs_ioc_round round = { .version = FALLSFS_IOCTL_VERSION, .group = board->group, .seq = seq };
    uint64_t gate = gate_of(seq, ASKED, board->nranks);
    int r;

    round.ns_wait = clock_ns() - atomic_load_explicit(&head->first_ns, memory_order_relaxed);
    r = call(board->fd, FALLSFS_IOC_ROUND, &round);
    if (r == 0) {
        atomic_store(&head->file_size, round.file_size);
        atomic_store(&head->done, (uint32_t) seq);
    }
    if (atomic_compare_exchange_strong(&head->gate, &gate, gate_of(seq, r == 0 ? DONE : CLOSED, 0)))
        wake_all(head);
    return r == 0 || round.accepted != 0 ? r : -EAGAIN;
}

int board_ask(struct board *board, uint64_t seq, unsigned long cmd, const void *message, uint64_t *ret_file_size)
{
    bool last;
    int r;

    if (board->owner != getpid() || atomic_load(&board->head->n_ready) < board->nranks ||
        (cmd == FALLSFS_IOC_FALLS && strlen(((const struct fallsfs_ioc_falls *) message)->text) >=
                                         ROOM - offsetof(struct fallsfs_ioc_falls, text))) {
        board_pass(board, seq);
        return -EAGAIN;
    }
    leave_request(board, cmd, message);
    if (!come_in(board, seq, &last))
        return -EAGAIN;
    r = last ? ask_for_all(board, seq) : wait_for_others(board, seq) ? 0 : -EAGAIN;
    if (r == 0)
        *ret_file_size = atomic_load(&board->head->file_size);
    return r;
}

/* A round that is being asked for is not to be stopped. */
void board_pass(struct board *board, uint64_t seq)
{
    struct head *head = board->head;
    uint64_t gate = atomic_load(&head->gate);

    if (board->owner != getpid())
        return;
    do {
        int32_t rounds = ahead(gate, seq);

        if (rounds > 0 || (rounds == 0 && state_of(gate) != OPEN))
            return;
    } while (!atomic_compare_exchange_weak(&head->gate, &gate, gate_of(seq, CLOSED, 0)));
    wake_all(head);
}

void board_tell(struct board *board, uint64_t seq, unsigned words)
{
    for (unsigned i = 0; i < BOARD_N_WORDS; i++)
        if ((words & 1U << i) != 0)
            atomic_store(&board->head->told[i][seq % 2], seq);
}

unsigned board_told(struct board *board, uint64_t seq)
{
    unsigned words = 0;

    for (unsigned i = 0; i < BOARD_N_WORDS; i++)
        if (atomic_load(&board->head->told[i][seq % 2]) == seq)
            words |= 1U << i;
    return words;
}

/* -- making one -- */

static bool make(struct board *board, uint64_t size)
{
    board->head = memory_new(size, &board->memfd);
    if (board->head == NULL)
        return false;
    board->head->form = FORM;
    return getrandom(board->head->key, sizeof board->head->key, 0) == sizeof board->head->key;
}

/* Another process has it. What its descriptor is need not be what it was: only memory is opened, of the right size. */
static bool find(struct board *board, const struct fallsfs_ioc_board *told, uint64_t size)
{
    char path[64];
    struct stat st;
    void *addr;

    snprintf(path, sizeof path, "/proc/%" PRIu32 "/fd/%d", told->pid, told->fd);
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t) st.st_size < size)
        return false;
    board->memfd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (board->memfd < 0)
        return false;
    addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, board->memfd, 0);
    if (addr == MAP_FAILED) {
        close(board->memfd);
        return false;
    }
    board->head = addr;
    return board->head->form == FORM && memcmp(board->head->key, told->key, sizeof told->key) == 0;
}

/* What make or find left. */
static void let_go(struct board *board, uint64_t size)
{
    if (board->head != NULL)
        memory_free(board->head, size, board->memfd);
    board->head = NULL;
}

/* The group's, or one of our own, which may be too late to become that. */
static bool agree(struct board *board, uint64_t size)
{
    struct fallsfs_ioc_board asked = {
        .version = FALLSFS_IOCTL_VERSION, .fd = -1, .group = board->group, .nranks = board->nranks
    };
    int r = call(board->fd, FALLSFS_IOC_BOARD, &asked);

    if (r == 0)
        return find(board, &asked, size);
    if (r != -ENOENT || !make(board, size))
        return false;
    asked.fd = board->memfd;
    asked.pid = (uint32_t) board->owner;
    memcpy(asked.key, board->head->key, sizeof asked.key);
    if (call(board->fd, FALLSFS_IOC_BOARD, &asked) < 0)
        return false;
    if (memcmp(asked.key, board->head->key, sizeof asked.key) == 0)
        return true;
    let_go(board, size);
    return find(board, &asked, size);
}

struct board *board_open(int fd, uint64_t group, uint32_t rank, uint32_t nranks)
{
    struct board *board = nranks > 1 ? malloc(sizeof *board) : NULL;
    const uint64_t size = FALLSFS_BOARD_SIZE(nranks);

    if (board == NULL)
        return NULL;
    *board = (struct board){ .fd = fd, .group = group, .rank = rank, .nranks = nranks, .owner = getpid() };
    if (!agree(board, size)) {
        let_go(board, size);
        free(board);
        return NULL;
    }
    atomic_fetch_add(&board->head->n_ready, 1);
    return board;
}

void board_close(struct board *board)
{
    if (board == NULL)
        return;
    let_go(board, FALLSFS_BOARD_SIZE(board->nranks));
    free(board);
}
