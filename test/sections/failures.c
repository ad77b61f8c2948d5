/* SPDX-License-Identifier: MIT */
/* failures DIRECTORY TEAMS: runs of groups in which something happens to one rank, the victim, at some moment: as many
 * as the environment says (see rng.h), by so many teams at once, half of them in one file. Whatever happens, every rank
 * is told what there is to tell, soon; the file has what rounds wrote that all ranks asked for, and no other bytes.
 *
 *     leader ──forks──> ranks 0..n-1, each with a gate: it asks for round k when the gate is beyond k
 *            ──waits──> the moment ──lets happen──> the event ──opens gates──> all end ──> compares the file */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS   3
#define SOON     1000 /* ms until the others know */
#define TICK     250  /* ms between two looks of the daemon at its clock */
#define TIMEOUT  2000 /* ms, of groups that somebody does not come to */
#define PATIENCE 60   /* seconds */
#define LITTLE   64   /* rows and columns: 16 KiB */
#define LARGE    1024

enum moment { JOINED, WAITING, AT_WORK, BETWEEN, AHEAD, N_MOMENTS };

static const char *const moments[] = { "joined", "waiting", "at work", "between two rounds", "ahead, with tickets" };

enum event {
    /* the group goes on as if nothing had been */
    CONTINUED,
    DUPLICATED,
    OTHER_TERMS,
    FORKED,
    SIGNALLED,
    MALFORMED,
    /* it ends: -ECANCELED */
    KILLED,
    KILLED_WITH_CHILD,
    CLOSED,
    LEFT,
    EXITED,
    REPLACED,
    /* -ETIMEDOUT */
    STOPPED,
    MISSING,
    /* -EPROTO */
    CROSSED,
    N_EVENTS,
};

static const char *const events[] = { "stopped and continued",
                                      "a second one of that rank",
                                      "one with other terms",
                                      "its child acts as the rank",
                                      "signals",
                                      "malformed requests",
                                      "killed",
                                      "killed, and its child lives",
                                      "closes its file",
                                      "leaves",
                                      "exits",
                                      "executes something else",
                                      "stopped",
                                      "never comes",
                                      "goes the other way" };

struct run {
    uint64_t seed;
    enum event event;
    enum moment moment;
    uint32_t n, victim, straggler; /* which asks last */
    uint32_t side;
    bool writes[ROUNDS];
    bool staged; /* memory of malloc's */
    unsigned pause_us;
    const char *path;
    struct fallsfs_array array;
};

/* Shared by the ranks and the leader of a run. */
struct board {
    uint8_t token[16];
    struct fallsfs_hints hints;
    atomic_uint n_joined, n_asking;
    atomic_uint gate[MAX_RANKS];  /* rounds that may be asked for */
    atomic_uint asked[MAX_RANKS]; /* rounds that have been, or are being */
    atomic_uint done[MAX_RANKS];  /* rounds that worked */
    atomic_uint_least64_t asked_at[MAX_RANKS];
    struct told told[MAX_RANKS];
    atomic_bool ready, go, acted, over; /* the victim, to it; it has; all */
    atomic_uint_least64_t acted_at;
};

static struct run run;
static struct board *board;

_Noreturn static void wrong(const char *what, uint32_t rank)
{
    printf(RNG_SEED ": rank %u of %u (straggler %u), victim %u: %s, %s: %s: result %d, %u rounds, %lld ms: %s\n",
           run.seed, rank, run.n, run.straggler, run.victim, events[run.event], moments[run.moment], what,
           atomic_load(&board->told[rank].result), atomic_load(&board->done[rank]),
           (long long) (atomic_load(&board->told[rank].when) - atomic_load(&board->acted_at)), board->told[rank].words);
    fflush(stdout);
    _exit(1);
}

/* -- what is asked for: of the rank's rows, every second column -- */

static uint64_t mix(uint64_t x)
{
    struct rng rng = rng_from_seed(x);

    return rng_u64(&rng);
}

/* What a round puts into a cell. */
static uint32_t value(unsigned round, uint64_t cell)
{
    return (uint32_t) mix(run.seed * ROUNDS + round + (cell << 32));
}

static uint64_t n_cells(uint32_t rank)
{
    return ((uint64_t) run.side - rank + run.n - 1) / run.n * (run.side / 2);
}

static void fill(uint32_t rank, unsigned round, uint32_t *cells)
{
    for (uint64_t row = rank, k = 0; row < run.side; row += run.n)
        for (uint64_t column = 0; column < run.side; column += 2)
            cells[k++] = value(round, row * run.side + column);
}

static void section_of(uint32_t rank, struct fallsfs_range section[2])
{
    section[0] = (struct fallsfs_range){ rank, run.side - 1, run.n };
    section[1] = (struct fallsfs_range){ 0, run.side - 1, 2 };
}

/* -- a rank -- */

static void until_set(const atomic_bool *flag)
{
    while (!atomic_load(flag))
        pause_ms(1);
}

struct rank {
    uint32_t number;
    int fd;
    struct fallsfs_group *group;
    uint32_t *cells[ROUNDS];
    struct fallsfs_ticket *ticket[ROUNDS]; /* NULL: has been waited for */
    unsigned n_asked, n_done;
};

static void become_rank(struct rank *rank, uint32_t number)
{
    int r;

    *rank = (struct rank){ .number = number, .fd = open(run.path, O_RDWR | O_CLOEXEC) };
    EXPECT(rank->fd >= 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t len = n_cells(number) * sizeof *rank->cells[i];

        rank->cells[i] = run.staged ? malloc(len) : fallsfs_alloc(len);
        EXPECT(rank->cells[i] != NULL);
    }
    r = fallsfs_join(rank->fd, board->token, number, run.n, &board->hints, &rank->group);
    if (r < 0)
        missed(__FILE__, __LINE__, fallsfs_strerror_last());
    atomic_fetch_add(&board->n_joined, 1);
}

static void tell_result(uint32_t rank, int r)
{
    struct told *told = &board->told[rank];

    snprintf(told->words, sizeof told->words, "%s", fallsfs_strerror_last());
    atomic_store(&told->when, now_ms());
    atomic_store(&told->result, r);
}

static int note_done(struct rank *rank, int r)
{
    if (r == 0)
        atomic_store(&board->done[rank->number], ++rank->n_done);
    return r;
}

static void note_asking(struct rank *rank)
{
    atomic_store(&board->asked_at[rank->number], now_ms());
    atomic_store(&board->asked[rank->number], ++rank->n_asked);
    atomic_fetch_add(&board->n_asking, 1);
}

static int ask(struct rank *rank, bool write)
{
    unsigned round = rank->n_asked;
    struct fallsfs_range section[2];

    section_of(rank->number, section);
    if (write)
        fill(rank->number, round, rank->cells[round]);
    note_asking(rank);
    return note_done(rank, write ? fallsfs_write_all(rank->group, &run.array, section, rank->cells[round])
                                 : fallsfs_read_all(rank->group, &run.array, section, rank->cells[round]));
}

static int ask_ahead(struct rank *rank)
{
    unsigned round = rank->n_asked;
    struct fallsfs_range section[2];

    section_of(rank->number, section);
    if (run.writes[round])
        fill(rank->number, round, rank->cells[round]);
    note_asking(rank);
    return run.writes[round]
               ? fallsfs_iwrite_all(rank->group, &run.array, section, rank->cells[round], &rank->ticket[round])
               : fallsfs_iread_all(rank->group, &run.array, section, rank->cells[round], &rank->ticket[round]);
}

/* Until all rounds are done, or one is not. */
static int go_on(struct rank *rank)
{
    int r = 0;

    while (r == 0 && rank->n_done < rank->n_asked)
        r = note_done(rank, fallsfs_wait(rank->ticket[rank->n_done]));
    while (r == 0 && rank->n_asked < ROUNDS) {
        while (atomic_load(&board->gate[rank->number]) <= rank->n_asked)
            pause_ms(1);
        r = ask(rank, run.writes[rank->n_asked]);
    }
    return r;
}

static void be_other(uint32_t number)
{
    struct rank rank;

    become_rank(&rank, number);
    tell_result(number, go_on(&rank));
    until_set(&board->go); /* there is a group as long as somebody is there */
}

/* -- the victim -- */

/* It does the event itself, and so must not be stuck in a call. */
static bool acts_itself(void)
{
    return run.event == FORKED || run.event == MALFORMED || run.event == KILLED_WITH_CHILD ||
           (run.event >= CLOSED && run.event <= REPLACED) || run.event == CROSSED;
}

/* Up to the moment. */
static int come_to_moment(struct rank *rank)
{
    unsigned n = run.moment == AHEAD ? 2 : run.moment == JOINED ? 0 : 1;
    bool blocks = run.moment == BETWEEN || (run.moment != AHEAD && !acts_itself());
    int r = 0;

    if (n > 0 && blocks)
        r = ask(rank, run.writes[0]);
    for (unsigned i = 0; r == 0 && !blocks && i < n; i++)
        r = ask_ahead(rank);
    return r;
}

static void child_of_victim(struct rank *rank)
{
    struct fallsfs_range section[2];
    pid_t pid = fork();

    EXPECT(pid >= 0);
    section_of(rank->number, section);
    if (pid == 0) {
        EXPECT(fallsfs_read_all(rank->group, &run.array, section, rank->cells[ROUNDS - 1]) == -EPERM);
        if (rank->n_done < rank->n_asked)
            EXPECT(fallsfs_wait(rank->ticket[rank->n_done]) == -EPERM);
        EXPECT(fallsfs_leave(rank->group) == -EPERM);
        _exit(0);
    }
    until_ended(pid);
}

static void ask_malformed(struct rank *rank)
{
    struct fallsfs_range outside[2] = { { 0, run.side, 1 }, { 0, 0, 1 } }, none[2] = { { 0, 0, 0 }, { 0, 0, 1 } };

    EXPECT(fallsfs_read_all(rank->group, &run.array, outside, rank->cells[0]) == -ERANGE);
    EXPECT(fallsfs_write_all(rank->group, &run.array, none, rank->cells[0]) == -EINVAL);
    EXPECT(fallsfs_read_falls_all(rank->group, 0, "{(0,7,4,2)}", rank->cells[0]) < 0);
}

/* It has the victim's files open. */
static void leave_child_behind(void)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid > 0)
        return;
    alarm(PATIENCE);
    while (!atomic_load(&board->over))
        pause_ms(5);
    _exit(0);
}

static void note_acted(void)
{
    atomic_store(&board->acted_at, now_ms());
    atomic_store(&board->acted, true);
}

/* The event. 0: the rank goes on. */
static int act(struct rank *rank)
{
    int r = 0;

    switch (run.event) {
    case FORKED:
        child_of_victim(rank);
        break;
    case MALFORMED:
        ask_malformed(rank);
        break;
    case KILLED_WITH_CHILD:
        leave_child_behind();
        note_acted();
        (void) raise(SIGKILL);
        break;
    case CLOSED:
        note_acted();
        EXPECT(close(rank->fd) == 0);
        r = rank->n_done < rank->n_asked ? fallsfs_wait(rank->ticket[rank->n_done]) : ask(rank, true);
        EXPECT(r < 0); /* the number may be another file's by now */
        r = -ECANCELED;
        break;
    case LEFT:
        note_acted();
        EXPECT(fallsfs_leave(rank->group) == 0);
        r = -ECANCELED;
        break;
    case EXITED:
        note_acted();
        _exit(0);
    case REPLACED:
        note_acted();
        (void) execlp("sleep", "sleep", "60", NULL);
        break;
    case CROSSED:
        note_acted();
        r = ask(rank, !run.writes[rank->n_asked]);
        break;
    default:
        break;
    }
    note_acted();
    return r;
}

static void ignore(int number)
{
    (void) number;
}

static void be_victim(void)
{
    const struct sigaction action = { .sa_handler = ignore }; /* calls are interrupted */
    struct rank rank;
    int r;

    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    become_rank(&rank, run.victim);
    if (run.moment == JOINED || acts_itself() || run.moment == AHEAD) {
        r = come_to_moment(&rank);
        atomic_store(&board->ready, true);
    } else {
        atomic_store(&board->ready, true);
        r = come_to_moment(&rank);
    }
    while (r == 0 && (acts_itself() || run.moment == JOINED) && !atomic_load(&board->go))
        pause_ms(1);
    if (r == 0 && acts_itself())
        r = act(&rank);
    if (r == 0)
        r = go_on(&rank);
    tell_result(run.victim, r);
    until_set(&board->go);
}

/* -- the leader -- */

static void until(const atomic_uint *count, uint32_t n)
{
    while (atomic_load(count) < n)
        pause_ms(1);
}

static void open_gates(uint32_t but)
{
    for (uint32_t i = 0; i < run.n; i++)
        if (i != but)
            atomic_store(&board->gate[i], ROUNDS);
}

static void start_all(pid_t pid[])
{
    for (uint32_t i = 0; i < run.n; i++) {
        if (run.event == MISSING && i == run.victim)
            continue;
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] > 0)
            continue;
        alarm(PATIENCE);
        if (i == run.victim)
            be_victim();
        else
            be_other(i);
        _exit(0);
    }
}

/* Whether somebody has yet to come for what is said to be going on. */
static bool is_held_up(void)
{
    return run.moment == WAITING || run.moment == AHEAD;
}

static void bring_about_moment(void)
{
    uint32_t n = run.n - 1; /* without the victim */

    until(&board->n_joined, run.event == MISSING ? n : run.n);
    if (run.moment == BETWEEN)
        open_gates(run.victim);
    if (run.event != MISSING)
        until_set(&board->ready);
    if (run.moment == BETWEEN) {
        until(&board->done[run.victim], 1);
    } else if (run.moment == AT_WORK) {
        open_gates(run.straggler);
        until(&board->n_asking, n);
        open_gates(UINT32_MAX);
    } else {
        open_gates(is_held_up() ? run.straggler : UINT32_MAX);
        until(&board->n_asking, n - is_held_up());
    }
    usleep(run.pause_us);
}

static void bother_victim(pid_t pid)
{
    for (int i = 0; i < 20; i++) {
        (void) kill(pid, SIGUSR1);
        usleep(run.pause_us / 10);
    }
}

static void join_beside(uint32_t rank, uint32_t n, const struct fallsfs_hints *hints, int error)
{
    struct fallsfs_group *group;
    int fd = open(run.path, O_RDWR | O_CLOEXEC);

    EXPECT(fd >= 0 && fallsfs_join(fd, board->token, rank, n, hints, &group) == error && close(fd) == 0);
}

static void join_with_other_terms(void)
{
    struct fallsfs_hints hints = board->hints;

    hints.window = 12345;
    join_beside(run.victim, run.n, &hints, -EPROTO);
    join_beside(run.victim, run.n + 1, &board->hints, -EPROTO);
}

static void bring_about_event(pid_t pid)
{
    atomic_store(&board->acted_at, now_ms());
    switch (run.event) {
    case CONTINUED:
        EXPECT(kill(pid, SIGSTOP) == 0);
        usleep(5 * run.pause_us);
        EXPECT(kill(pid, SIGCONT) == 0);
        break;
    case DUPLICATED:
        join_beside(run.victim, run.n, &board->hints, -EEXIST);
        break;
    case OTHER_TERMS:
        join_with_other_terms();
        break;
    case SIGNALLED:
        bother_victim(pid);
        break;
    case KILLED:
        EXPECT(kill(pid, SIGKILL) == 0);
        break;
    case STOPPED:
        EXPECT(kill(pid, SIGSTOP) == 0);
        break;
    default:
        break;
    }
    atomic_store(&board->go, true);
    if (acts_itself())
        until_set(&board->acted);
}

/* -- what they are told -- */

static int expected_result(void)
{
    return run.event < KILLED ? 0 : run.event < STOPPED ? -ECANCELED : run.event < CROSSED ? -ETIMEDOUT : -EPROTO;
}

static bool is_early_enough(uint32_t rank)
{
    uint64_t since = MAX(atomic_load(&board->acted_at), atomic_load(&board->asked_at[rank]));
    uint64_t wait = expected_result() == -ETIMEDOUT ? TIMEOUT + TICK : 0;

    return atomic_load(&board->told[rank].when) <= since + wait + SOON;
}

static void expect_told(uint32_t rank)
{
    const struct told *told = &board->told[rank];
    int r = atomic_load(&told->result), want = expected_result();
    char words[64];

    if (r == 0) {
        /* It may have been too late for the victim to spoil anything. */
        if (atomic_load(&board->done[rank]) < ROUNDS || (want != 0 && atomic_load(&board->asked[run.victim]) < ROUNDS))
            wrong("it is told that all is done", rank);
        return;
    }
    if (r != want)
        wrong("it is told something else", rank);
    if (!is_early_enough(rank))
        wrong("it is told late", rank);
    snprintf(words, sizeof words, "rank %u of %u ", run.victim, run.n);
    if (want != -EPROTO && strncmp(told->words, words, strlen(words)) != 0)
        wrong("it is not told who", rank);
}

static void expect_all_told(const pid_t pid[])
{
    for (uint32_t i = 0; i < run.n; i++) {
        int status;

        if (i == run.victim)
            continue;
        if (waitpid(pid[i], &status, 0) != pid[i] || status != 0)
            wrong(WIFSIGNALED(status) ? "it hangs" : "it fails", i);
        expect_told(i);
    }
}

static void expect_victim(pid_t pid)
{
    int status, r = atomic_load(&board->told[run.victim].result), want = expected_result();

    if (run.event == MISSING)
        return;
    if (run.event == REPLACED)
        EXPECT(kill(pid, SIGKILL) == 0);
    if (run.event == STOPPED)
        EXPECT(kill(pid, SIGCONT) == 0);
    EXPECT(waitpid(pid, &status, 0) == pid);
    if (run.event == KILLED || run.event == KILLED_WITH_CHILD || run.event == REPLACED || run.event == EXITED) {
        if (status != 0 && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
            wrong("the victim fails", run.victim);
        return;
    }
    r = atomic_load(&board->told[run.victim].result);
    if (status != 0 || (r != want && r != 0))
        wrong(WIFSIGNALED(status) ? "the victim hangs" : "the victim fails", run.victim);
}

/* -- what is in the file -- */

static uint32_t *was, *is; /* of the team's part of the file */

static int open_region(void)
{
    int fd = open(run.path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    EXPECT(fd >= 0);
    return fd;
}

static void read_region(uint32_t *cells)
{
    size_t len = (size_t) run.side * run.side * sizeof *cells;
    int fd = open_region();

    EXPECT(pread(fd, cells, len, (off_t) run.array.header) == (ssize_t) len && close(fd) == 0);
}

/* The rounds that may have written, and those that must have. */
static void rounds_written(unsigned *ret_least, unsigned *ret_most)
{
    unsigned least = 0, most = ROUNDS;

    for (uint32_t i = 0; i < run.n; i++) {
        most = MIN(most, atomic_load(&board->asked[i]));
        least = MAX(least, atomic_load(&board->done[i]));
    }
    *ret_least = least;
    *ret_most = most;
}

static bool is_cell_right(uint64_t cell, unsigned least, unsigned most)
{
    bool asked_for = cell % run.side % 2 == 0, may_be_old = true;

    for (unsigned round = most; asked_for && round > 0; round--) {
        if (!run.writes[round - 1])
            continue;
        if (is[cell] == value(round - 1, cell))
            return true;
        if (round <= least) {
            may_be_old = false;
            break;
        }
    }
    return may_be_old && is[cell] == was[cell];
}

static void compare_region(void)
{
    unsigned least, most;

    rounds_written(&least, &most);
    read_region(is);
    for (uint64_t cell = 0; cell < (uint64_t) run.side * run.side; cell++)
        if (!is_cell_right(cell, least, most)) {
            printf("cell %" PRIu64 " is %08x and was %08x; rounds %u to %u have written\n", cell, is[cell], was[cell],
                   least, most);
            wrong("the file has what it should not have", run.victim);
        }
}

/* -- runs -- */

static void plan_run(struct rng *rng, unsigned team)
{
    run.seed = rng->seed;
    run.event = (enum event) rng_below(rng, N_EVENTS);
    run.moment = run.event == MISSING ? JOINED : (enum moment) rng_below(rng, N_MOMENTS);
    run.n = (uint32_t) rng_between(rng, 2, rng_chance(rng, 80) ? 5 : rng_chance(rng, 80) ? 16 : 64);
    run.victim = (uint32_t) rng_below(rng, run.n);
    run.straggler = (run.victim + 1 + (uint32_t) rng_below(rng, run.n - 1)) % run.n;
    run.side = rng_chance(rng, run.moment == AT_WORK ? 20 : 2) ? LARGE : LITTLE;
    run.staged = rng_chance(rng, 30);
    run.pause_us = (unsigned) rng_below(rng, 3000);
    for (unsigned i = 0; i < ROUNDS; i++)
        run.writes[i] = rng_chance(rng, 70);
    run.array = (struct fallsfs_array){ .ndims = 2,
                                        .order = FALLSFS_ROW_MAJOR,
                                        .elem = sizeof(uint32_t),
                                        .header = (uint64_t) team * LARGE * LARGE * sizeof(uint32_t),
                                        .size = { run.side, run.side } };
}

static void set_up_board(struct rng *rng)
{
    memset(board, 0, sizeof *board);
    EXPECT(fallsfs_token(board->token) == 0);
    board->hints = (struct fallsfs_hints){ .domains = (uint32_t) rng_below(rng, 5),
                                           .sieve = (uint32_t) rng_below(
                                               rng, run.side == LARGE ? 2 : 3), /* off: each cell by a call */
                                           .workers = (uint32_t) rng_below(rng, 4),
                                           .timeout_ms = expected_result() == -ETIMEDOUT ? TIMEOUT : PATIENCE * 1000 };
    for (uint32_t i = 0; i < run.n; i++)
        atomic_store(&board->told[i].result, NOT_YET);
}

/* With a background in it, whatever it was before. */
static void prepare_region(struct rng *rng)
{
    size_t len = (size_t) run.side * run.side * sizeof *was;
    int fd = open_region();

    for (uint64_t i = 0; i < (uint64_t) run.side * run.side; i++)
        was[i] = (uint32_t) rng_u64(rng);
    EXPECT(pwrite(fd, was, len, (off_t) run.array.header) == (ssize_t) len && close(fd) == 0);
}

static void run_once(struct rng *rng, unsigned team)
{
    pid_t pid[MAX_RANKS] = { 0 };

    plan_run(rng, team);
    set_up_board(rng);
    prepare_region(rng);
    start_all(pid);
    bring_about_moment();
    bring_about_event(pid[run.victim]);
    open_gates(UINT32_MAX);
    expect_all_told(pid);
    expect_victim(pid[run.victim]);
    atomic_store(&board->over, true);
    while (waitpid(-1, NULL, 0) > 0) /* a child of the victim's */
        ;
    compare_region();
}

static void run_team(unsigned team, unsigned n_teams)
{
    size_t room = (size_t) LARGE * LARGE * sizeof *was;
    char path[32] = "shared";

    if (team % 2 == 1)
        snprintf(path, sizeof path, "of%u", team);
    run.path = path;
    EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    was = malloc(room);
    is = malloc(room);
    EXPECT(board != MAP_FAILED && was != NULL && is != NULL);
    for (struct rng rng = rng_shard_from_env(2000, team, n_teams); rng_next(&rng);)
        run_once(&rng, team);
    free(was);
    free(is);
}

int main(int argc, char **argv)
{
    unsigned n_teams = argc == 3 ? (unsigned) strtoul(argv[2], NULL, 10) : 0;
    int status, all = 0;

    if (n_teams == 0 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY TEAMS\n", argv[0]);
        return 2;
    }
    for (unsigned i = 0; i < n_teams; i++) {
        pid_t pid = fork();

        EXPECT(pid >= 0);
        if (pid == 0) {
            run_team(i, n_teams);
            _exit(0);
        }
    }
    while (wait(&status) > 0)
        all |= status;
    return all != 0;
}
