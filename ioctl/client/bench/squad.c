/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/squad.h"

#include "layout/base.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct outcome {
    pid_t pid;
    double start, end;
    int error;
    char why[SQUAD_TEXT];
    struct fallsfs_ioc_stats stats;
};

/* What all processes see. Futexes are the atomics. */
struct common {
    uint32_t nranks;
    _Atomic uint32_t turn; /* of the order; grows when there is a new one */
    _Atomic uint32_t n_ready, ready_turn;
    _Atomic uint32_t n_unready; /* who cannot: nobody acts */
    _Atomic uint32_t n_done;
    bool dismissed;
    struct squad_order order;
    struct outcome outcome[SQUAD_MAX];
};

struct squad {
    struct common *common;
    pid_t leader;
    pid_t child[SQUAD_MAX];
    uint32_t n_children;
};

/* -- waiting -- */

static void wait_while(_Atomic uint32_t *word, uint32_t value, unsigned ms)
{
    const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

    (void) syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    (void) syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static double now(void)
{
    return (double) clock_ns() * 1e-9;
}

/* -- making one -- */

static int map_common(int fd, struct squad **ret_squad)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    cleanup(freep) struct squad *squad = calloc(1, sizeof *squad);

    if (squad == NULL)
        return -ENOMEM;
    squad->common = mmap(NULL, sizeof *squad->common, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (squad->common == MAP_FAILED)
        return -errno;
    *ret_squad = steal(squad);
    return 0;
}

int squad_new(const char *path, uint32_t nranks, struct squad **ret_squad)
{
    int r, fd = -1;

    if (nranks == 0 || nranks > SQUAD_MAX)
        return -ERANGE;
    if (path != NULL) {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
            return -errno;
        if (ftruncate(fd, sizeof(struct common)) < 0) {
            r = -errno;
            close(fd);
            return r;
        }
    }
    r = map_common(fd, ret_squad);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        return r;
    (*ret_squad)->common->nranks = nranks;
    (*ret_squad)->leader = getpid();
    return 0;
}

int squad_attach(const char *path, struct squad **ret_squad)
{
    int r, fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    r = map_common(fd, ret_squad);
    close(fd);
    return r;
}

/* Who does not go is sent. */
static void wait_for_children(struct squad *squad)
{
    const struct timespec moment = { .tv_nsec = 10000000 };

    for (unsigned tries = 0; squad->n_children > 0; tries++) {
        pid_t pid = squad->child[squad->n_children - 1];

        if (waitpid(pid, NULL, WNOHANG) != 0)
            squad->n_children--;
        else if (tries == 500)
            for (uint32_t i = 0; i < squad->n_children; i++)
                kill(squad->child[i], SIGKILL);
        else
            nanosleep(&moment, NULL);
    }
}

void squad_free(struct squad *squad)
{
    if (squad == NULL)
        return;
    if (squad->leader == getpid()) {
        squad->common->dismissed = true;
        atomic_fetch_add(&squad->common->turn, 1);
        wake(&squad->common->turn);
        wait_for_children(squad);
    }
    munmap(squad->common, sizeof *squad->common);
    free(squad);
}

void squad_freep(struct squad **squad)
{
    squad_free(*squad);
}

uint32_t squad_nranks(const struct squad *squad)
{
    return squad->common->nranks;
}

pid_t squad_pid(const struct squad *squad, uint32_t rank)
{
    return squad->common->outcome[rank].pid;
}

void squad_adopt(struct squad *squad, pid_t pid)
{
    squad->child[squad->n_children++] = pid;
}

int squad_fork(struct squad *squad, void (*member)(void *ctx, struct squad *squad, uint32_t rank), void *ctx)
{
    fflush(NULL); /* or each would print what is not printed yet */
    for (uint32_t rank = 0; rank < squad->common->nranks; rank++) {
        pid_t pid = fork();

        if (pid < 0)
            return -errno;
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == squad->leader)
                member(ctx, squad, rank);
            _exit(0);
        }
        squad_adopt(squad, pid);
    }
    return 0;
}

/* -- members -- */

/* True when all ranks can act. */
static bool meet(struct common *common, bool is_ready)
{
    uint32_t turn = atomic_load(&common->ready_turn);

    if (!is_ready)
        atomic_fetch_add(&common->n_unready, 1);
    if (atomic_fetch_add(&common->n_ready, 1) + 1 == common->nranks) {
        atomic_store(&common->n_ready, 0);
        atomic_fetch_add(&common->ready_turn, 1);
        wake(&common->ready_turn);
    }
    while (atomic_load(&common->ready_turn) == turn)
        wait_while(&common->ready_turn, turn, 1000);
    return atomic_load(&common->n_unready) == 0;
}

static void obey_once(struct common *common, uint32_t rank, const struct squad_duty *duty)
{
    const struct squad_order *order = &common->order;
    struct outcome *outcome = &common->outcome[rank];
    int r = duty->prepare(duty->ctx, order, outcome->why);

    if (meet(common, r == 0)) {
        outcome->start = now();
        r = duty->act(duty->ctx, order, outcome->why);
        outcome->end = now();
        (void) meet(common, true); /* who is done takes no time from the others */
        duty->tell(duty->ctx, order, &outcome->stats);
        if (r == 0 && order->check)
            r = duty->check(duty->ctx, order, outcome->why);
    }
    outcome->error = r;
    if (atomic_fetch_add(&common->n_done, 1) + 1 == common->nranks)
        wake(&common->n_done);
}

void squad_obey(struct squad *squad, uint32_t rank, const struct squad_duty *duty)
{
    struct common *common = squad->common;

    common->outcome[rank].pid = getpid();
    for (uint32_t turn = 0;; turn++) {
        while (atomic_load(&common->turn) == turn)
            wait_while(&common->turn, turn, 1000);
        if (common->dismissed)
            return;
        obey_once(common, rank, duty);
    }
}

/* -- the leader -- */

void squad_start(struct squad *squad, const struct squad_order *order)
{
    struct common *common = squad->common;

    common->order = *order;
    atomic_store(&common->n_done, 0);
    atomic_store(&common->n_unready, 0);
    for (uint32_t rank = 0; rank < common->nranks; rank++) {
        common->outcome[rank].error = 0;
        common->outcome[rank].why[0] = 0;
    }
    atomic_fetch_add(&common->turn, 1);
    wake(&common->turn);
}

/* Whoever ends before the others is forgotten, and the squad with it. */
static bool lost_one(struct squad *squad)
{
    for (uint32_t i = 0; i < squad->n_children; i++)
        if (waitpid(squad->child[i], NULL, WNOHANG) != 0) {
            squad->child[i] = squad->child[--squad->n_children];
            return true;
        }
    return false;
}

static void sum_up(const struct common *common, struct squad_result *ret_result)
{
    double start = common->outcome[0].start, end = common->outcome[0].end;
    const struct outcome *failed = NULL;

    for (uint32_t rank = common->nranks; rank-- > 0;) {
        start = MIN(start, common->outcome[rank].start);
        end = MAX(end, common->outcome[rank].end);
        if (common->outcome[rank].error < 0)
            failed = &common->outcome[rank];
    }
    *ret_result = (struct squad_result){ .seconds = end - start, .stats = common->outcome[0].stats };
    if (failed != NULL) {
        ret_result->error = failed->error;
        snprintf(ret_result->why, sizeof ret_result->why, "process %td: %.170s", failed - common->outcome,
                 failed->why[0] != 0 ? failed->why : strerror(-failed->error));
    }
}

int squad_wait(struct squad *squad, unsigned ms, struct squad_result *ret_result)
{
    struct common *common = squad->common;
    uint32_t n_done = atomic_load(&common->n_done);
    double deadline = now() + ms * 1e-3;

    while (n_done < common->nranks) {
        double left = deadline - now();

        if (lost_one(squad))
            return -ECHILD;
        if (left <= 0)
            return -EAGAIN;
        wait_while(&common->n_done, n_done, (unsigned) MIN(left * 1e3 + 1, 200));
        n_done = atomic_load(&common->n_done);
    }
    sum_up(common, ret_result);
    return 0;
}
