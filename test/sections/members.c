/* SPDX-License-Identifier: MIT */
/* What becomes of a group when one of its members does not do as it should: the others hear of it, soon, and what. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 4
#define SOON  1000 /* ms */

static const struct fallsfs_array line = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 4096 } };
static const struct fallsfs_range whole_line[] = { { 0, 4095, 1 } };

static void kill_rank(pid_t pid)
{
    int status;

    EXPECT(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

/* The process ends by itself, the rank was told that, not later than then. */
static void expect_told(const struct stage *stage, pid_t pid, uint32_t rank, int result, uint64_t latest)
{
    const struct told *told = &stage->told[rank];

    until_ended(pid);
    errno = -atomic_load(&told->result);
    EXPECT(atomic_load(&told->result) == result);
    EXPECT(atomic_load(&told->when) <= latest);
}

static void expect_words(const struct stage *stage, uint32_t rank, const char *words)
{
    if (strstr(stage->told[rank].words, words) == NULL)
        missed(__FILE__, __LINE__, stage->told[rank].words);
}

/* Rank 0 ends in some way before the last rank asks; whether it has asked itself or not, the others are told. */
static void run_ending(bool has_asked, void (*end)(pid_t pid))
{
    struct stage *stage = stage_new(RANKS, 0);
    pid_t pid[RANKS];
    uint64_t since;

    for (uint32_t i = 0; i < RANKS; i++)
        pid[i] = start_rank(stage, i, i == RANKS - 1 || (i == 0 && !has_asked));
    until_joined(stage, RANKS);
    until_asking(stage, has_asked ? RANKS - 1 : RANKS - 2);
    since = now_ms();
    end(pid[0]);
    for (uint32_t i = 1; i < RANKS - 1; i++) {
        expect_told(stage, pid[i], i, -ECANCELED, since + SOON);
        expect_words(stage, i, "rank 0 of 4 died, closed the file or left");
    }
    atomic_store(&stage->go, true);
    expect_told(stage, pid[RANKS - 1], RANKS - 1, -ECANCELED, now_ms() + SOON);
}

static void killed_before_it_asks(void)
{
    run_ending(false, kill_rank);
}

static void killed_while_it_waits(void)
{
    run_ending(true, kill_rank);
}

/* A rank that dies before the others have come keeps them no longer than one that dies later. */
static void killed_before_the_others_come(void)
{
    struct stage *stage = stage_new(2, FALLSFS_TIMEOUT_NONE);
    struct fallsfs_group *group = NULL;
    int rows[SIDE * SIDE], fd = open_shared(O_RDWR), r;
    pid_t pid = fork();

    if (pid == 0) {
        (void) join_as(stage, 0);
        for (;;)
            pause();
    }
    until_joined(stage, 1);
    kill_rank(pid);
    pause_ms(SOON); /* by then the daemon has most likely heard of it, and nobody is left in the group */
    r = fallsfs_join(fd, stage->token, 1, 2, &stage->hints, &group);
    if (r == 0)
        r = read_rows(stage, group, 1, rows);
    EXPECT(r == -ECANCELED);
    EXPECT(close(fd) == 0);
}

/* A member whose child lives on with its files open is as dead as any other. */
static void killed_with_a_child(void)
{
    struct stage *stage = stage_new(2, 0);
    pid_t pid = fork(), child, other;
    uint64_t since;

    if (pid == 0) {
        (void) join_as(stage, 0);
        child = fork();
        if (child == 0) {
            alarm(20);
            while (!atomic_load(&stage->go))
                pause_ms(10);
            _exit(0);
        }
        for (;;)
            pause();
    }
    EXPECT(pid > 0);
    until_joined(stage, 1);
    other = start_rank(stage, 1, false);
    until_asking(stage, 1);
    since = now_ms();
    kill_rank(pid);
    expect_told(stage, other, 1, -ECANCELED, since + SOON);
    atomic_store(&stage->go, true);
}

static void closes_its_file(void)
{
    struct stage *stage = stage_new(2, 0);
    struct fallsfs_group *group = NULL;
    pid_t other = start_rank(stage, 1, false); /* before: a child would keep the file open */
    int fd = open_shared(O_RDWR);
    uint64_t since;

    EXPECT(fallsfs_join(fd, stage->token, 0, 2, &stage->hints, &group) == 0);
    until_asking(stage, 1);
    since = now_ms();
    EXPECT(close(fd) == 0);
    expect_told(stage, other, 1, -ECANCELED, since + SOON);
    EXPECT(fallsfs_leave(group) == -EBADF);
}

static void leaves(void)
{
    struct stage *stage = stage_new(2, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    pid_t other = start_rank(stage, 1, false);
    uint64_t since;

    until_asking(stage, 1);
    since = now_ms();
    EXPECT(fallsfs_leave(group) == 0);
    expect_told(stage, other, 1, -ECANCELED, since + SOON);
}

/* What it asked for stands while it is stopped; the others are served, and so is it when it goes on. */
static void stopped_while_it_waits(void)
{
    struct stage *stage = stage_new(2, 1000);
    pid_t pid = start_rank(stage, 0, false), other;

    until_asking(stage, 1);
    EXPECT(kill(pid, SIGSTOP) == 0);
    pause_ms(100);
    other = start_rank(stage, 1, false);
    expect_told(stage, other, 1, 0, now_ms() + SOON);
    pause_ms(1500); /* the deadline is for those who have not asked */
    EXPECT(kill(pid, SIGCONT) == 0);
    expect_told(stage, pid, 0, 0, UINT64_MAX);
}

static void stopped_before_it_asks(void)
{
    struct stage *stage = stage_new(3, 1000);
    pid_t pid[3];
    uint64_t since;

    pid[0] = start_rank(stage, 0, true);
    until_joined(stage, 1);
    EXPECT(kill(pid[0], SIGSTOP) == 0);
    atomic_store(&stage->go, true);
    since = now_ms();
    for (uint32_t i = 1; i < 3; i++)
        pid[i] = start_rank(stage, i, false);
    for (uint32_t i = 1; i < 3; i++) {
        expect_told(stage, pid[i], i, -ETIMEDOUT, since + 3000);
        EXPECT(atomic_load(&stage->told[i].when) >= since + 1000);
        expect_words(stage, i, "rank 0 of 3 did not ask for anything in round 1 within 1000 ms");
    }
    EXPECT(kill(pid[0], SIGCONT) == 0);
    expect_told(stage, pid[0], 0, -ETIMEDOUT, UINT64_MAX);
}

static void never_come(void)
{
    struct stage *stage = stage_new(20, 1000);
    pid_t pid = start_rank(stage, 5, false);

    expect_told(stage, pid, 5, -ETIMEDOUT, UINT64_MAX);
    expect_words(stage, 5, "ranks 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more of 20");
}

static void two_of_one_rank(void)
{
    struct stage *stage = stage_new(2, 0);
    struct fallsfs_group *group = NULL;
    pid_t pid = start_rank(stage, 0, false), other;

    until_asking(stage, 1);
    EXPECT(fallsfs_join(open_shared(O_RDWR), stage->token, 0, 2, &stage->hints, &group) == -EEXIST);
    EXPECT(strstr(fallsfs_strerror_last(), "rank 0 has joined already") != NULL);
    other = start_rank(stage, 1, false);
    expect_told(stage, other, 1, 0, UINT64_MAX);
    expect_told(stage, pid, 0, 0, UINT64_MAX);
}

/* One writes where the others read: nobody gets anything, and the file is as it was. */
static void at_cross_purposes(void)
{
    struct stage *stage = stage_new(3, 0);
    int rows[SIDE * SIDE] = { 1 };
    pid_t pid[2];
    struct fallsfs_group *group;

    for (uint32_t i = 0; i < 2; i++)
        pid[i] = start_rank(stage, i, false);
    until_asking(stage, 2);
    group = join_as(stage, 2);
    EXPECT(write_rows(stage, group, 2, rows) == -EPROTO);
    EXPECT(strstr(fallsfs_strerror_last(), "rank 2 of 3 asked for something else") != NULL);
    for (uint32_t i = 0; i < 2; i++)
        expect_told(stage, pid[i], i, -EPROTO, UINT64_MAX);
    EXPECT(lseek(open_shared(O_RDONLY), 0, SEEK_END) == 0);
}

/* A request that is none does not count: the rank may ask again. */
static void asks_for_what_is_none(void)
{
    struct stage *stage = stage_new(2, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    const struct fallsfs_range outside[] = { { 0, 4096, 1 } };
    pid_t other = start_rank(stage, 1, false);
    int rows[SIDE * SIDE];

    until_asking(stage, 1);
    EXPECT(fallsfs_read_all(group, &line, outside, rows) == -ERANGE);
    EXPECT(read_rows(stage, group, 0, rows) == 0);
    expect_told(stage, other, 1, 0, UINT64_MAX);
}

static void child_acts_as_the_rank(void)
{
    struct stage *stage = stage_new(1, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    int rows[SIDE * SIDE];
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        EXPECT(read_rows(stage, group, 0, rows) == -EPERM);
        EXPECT(strstr(fallsfs_strerror_last(), "belongs to another process") != NULL);
        EXPECT(fallsfs_leave(group) == -EPERM);
        _exit(0);
    }
    until_ended(pid);
    EXPECT(read_rows(stage, group, 0, rows) == 0);
}

/* Another thread of it is no other process. */
static void *read_in_thread(void *group)
{
    char bytes[4096];
    int r = fallsfs_read_all(group, &line, whole_line, bytes);

    return r == 0 ? NULL : group;
}

static void threads_act_as_the_rank(void)
{
    struct fallsfs_group *group = join_as(stage_new(1, 0), 0);
    pthread_t thread;
    void *result;

    for (int i = 0; i < 20; i++) {
        EXPECT(pthread_create(&thread, NULL, read_in_thread, group) == 0 && pthread_join(thread, &result) == 0);
        EXPECT(result == NULL);
    }
}

static atomic_uint n_signals;

static void note_signal(int number)
{
    (void) number;
    atomic_fetch_add(&n_signals, 1);
}

static void interrupted_by_signals(void)
{
    struct stage *stage = stage_new(2, 0);
    const struct sigaction action = { .sa_handler = note_signal };
    struct fallsfs_group *group = join_as(stage, 0);
    pid_t self = getpid(), pest = fork(), other;
    int rows[SIDE * SIDE];

    EXPECT(pest >= 0);
    if (pest == 0) {
        pause_ms(50);
        for (int i = 0; i < 200; i++) {
            (void) kill(self, SIGUSR1);
            pause_ms(2);
        }
        atomic_store(&stage->go, true);
        _exit(0);
    }
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    other = start_rank(stage, 1, true);
    EXPECT(read_rows(stage, group, 0, rows) == 0);
    EXPECT(atomic_load(&n_signals) > 20);
    expect_told(stage, other, 1, 0, UINT64_MAX);
}

/* However often, and however long it takes; afterwards nobody touches memory or file for it any more. */
static void interrupted_alone(void)
{
    const struct sigaction action = { .sa_handler = note_signal };
    const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = { { 0, 0 }, { 0, 0 } };
    const size_t n = 16u << 20;
    const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, 0, { n } };
    const struct fallsfs_range all[] = { { 0, n - 1, 1 } };
    char *bytes = fallsfs_alloc(n), *back = malloc(n);
    int fd = open_shared(O_RDWR);

    EXPECT(bytes != NULL && back != NULL && sigaction(SIGALRM, &action, NULL) == 0);
    for (int round = 0; round < 4; round++) {
        bool writes = round % 2 == 0;
        char during = (char) ('a' + round / 2), after = 'z';

        memset(bytes, writes ? during : '-', n);
        EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
        EXPECT((writes ? fallsfs_write_section(fd, &array, all, bytes)
                       : fallsfs_read_section(fd, &array, all, bytes)) == 0);
        EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
        if (!writes)
            memcpy(back, bytes, n);
        memset(bytes, after, n);
        pause_ms(100);
        if (writes)
            EXPECT(pread(fd, back, n, 0) == (ssize_t) n);
        for (size_t i = 0; i < n; i++)
            EXPECT(back[i] == during && bytes[i] == after);
    }
    EXPECT(atomic_load(&n_signals) > 4);
    fallsfs_free(bytes);
    free(back);
}

/* -- work that nobody is left for -- */

#define ENDLESS (UINT64_C(16) << 30)

static uint64_t in_memory(int memfd)
{
    struct stat st;

    EXPECT(fstat(memfd, &st) == 0);
    return (uint64_t) st.st_blocks * 512;
}

/* Asks for a file's holes, alone or as the only rank of a group, into memory that has no pages yet. */
static void ask_for_too_much(int memfd, bool in_group, uint32_t flags)
{
    int fd = open_shared(O_RDWR);
    struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION, .fd = memfd, .len = ENDLESS };
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION, .nranks = 1 };
    struct fallsfs_ioc_section section = { .request = { .version = FALLSFS_IOCTL_VERSION, .flags = flags },
                                           .ndims = 1,
                                           .elem = 1,
                                           .size = { ENDLESS },
                                           .range = { { 0, ENDLESS - 1, 1 } } };

    EXPECT(fallsfs_token(join.token) == 0 && ioctl(fd, FALLSFS_IOC_BUFFER, &show) == 0);
    section.request.buffer = show.buffer;
    if (in_group) {
        EXPECT(ioctl(fd, FALLSFS_IOC_JOIN, &join) == 0);
        section.request.group = join.group;
        section.request.seq = 1;
    }
    (void) ioctl(fd, FALLSFS_IOC_SECTION, &section);
    for (;;)
        pause();
}

static void killed_at_work(void)
{
    EXPECT(ftruncate(open_shared(O_RDWR), ENDLESS) == 0);
    for (unsigned way = 0; way < 4; way++) {
        int memfd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
        uint64_t before;
        pid_t pid;

        EXPECT(memfd >= 0 && ftruncate(memfd, ENDLESS) == 0 &&
               fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
        pid = fork();
        EXPECT(pid >= 0);
        if (pid == 0)
            ask_for_too_much(memfd, way % 2 != 0, way / 2 == 0 ? 0 : FALLSFS_NOWAIT);
        while (in_memory(memfd) < 1u << 20)
            pause_ms(1);
        kill_rank(pid);
        pause_ms(SOON);
        before = in_memory(memfd);
        pause_ms(200);
        EXPECT(in_memory(memfd) == before);
        EXPECT(close(memfd) == 0);
    }
}

/* -- tickets -- */

static void tickets_and_poll(void)
{
    struct stage *stage = stage_new(2, 0);
    int fd = open_shared(O_RDWR);
    struct pollfd at = { .fd = fd, .events = POLLIN };
    struct fallsfs_group *group = NULL;
    struct fallsfs_ticket *ticket = NULL, *second = NULL;
    char bytes[4096], more[4096];
    bool done = true;
    pid_t pid;

    EXPECT(pwrite(fd, "falls", 5, 0) == 5);
    EXPECT(poll(&at, 1, 0) == 1); /* as any file */
    EXPECT(fallsfs_join(fd, stage->token, 0, 2, &stage->hints, &group) == 0);
    EXPECT(fallsfs_iread_all(group, &line, whole_line, bytes, &ticket) == 0);
    EXPECT(fallsfs_iread_all(group, &line, whole_line, more, &second) == 0);
    EXPECT(fallsfs_test(ticket, &done) == 0 && !done);
    EXPECT(poll(&at, 1, 100) == 0);
    pid = fork();
    if (pid == 0) {
        struct fallsfs_group *mine = join_as(stage, 1);
        char nothing[4096];

        pause_ms(200);
        EXPECT(fallsfs_read_all(mine, &line, whole_line, nothing) == 0);
        pause_ms(200);
        EXPECT(fallsfs_read_all(mine, &line, whole_line, nothing) == 0);
        _exit(0);
    }
    EXPECT(poll(&at, 1, 10000) == 1 && at.revents == POLLIN);
    EXPECT(fallsfs_test(ticket, &done) == 0 && done);
    EXPECT(memcmp(bytes, "falls", 6) == 0);
    EXPECT(fallsfs_wait(second) == 0);
    EXPECT(memcmp(more, "falls", 6) == 0);
    EXPECT(poll(&at, 1, 0) == 1);
    until_ended(pid);
}

static void several_groups_of_one_file(void)
{
    struct stage *stage[3];
    pid_t pid[3][2];

    for (int i = 0; i < 3; i++) {
        stage[i] = stage_new(2, 0);
        pid[i][0] = start_rank(stage[i], 0, false);
    }
    for (int i = 0; i < 3; i++)
        until_asking(stage[i], 1);
    for (int i = 2; i >= 0; i--) {
        pid[i][1] = start_rank(stage[i], 1, false);
        for (uint32_t rank = 0; rank < 2; rank++)
            expect_told(stage[i], pid[i][rank], rank, 0, UINT64_MAX);
    }
}

/* A program may have several ranks, each with a file of its own. */
static void several_ranks_of_one_process(void)
{
    struct stage *stage = stage_new(3, 0);
    struct fallsfs_group *group[3];
    struct fallsfs_ticket *ticket[3];
    char bytes[3][4096];

    for (uint32_t i = 0; i < 3; i++)
        group[i] = join_as(stage, i);
    for (uint32_t i = 0; i < 3; i++)
        EXPECT(fallsfs_iread_all(group[i], &line, whole_line, bytes[i], &ticket[i]) == 0);
    for (uint32_t i = 0; i < 3; i++)
        EXPECT(fallsfs_wait(ticket[i]) == 0);
}

/* -- whatever happens -- */

/* One run of n ranks that ask a few times, with something done to one of them at some moment: every rank ends by
 * itself or by our hand, and hears of what there is to hear. */
static void run_anything(struct rng *rng)
{
    uint32_t n = (uint32_t) rng_between(rng, 2, 8), victim = (uint32_t) rng_below(rng, n);
    struct stage *stage = stage_new(n, 1000);
    unsigned event = (unsigned) rng_below(rng, 4), after = (unsigned) rng_below(rng, 20);
    pid_t pid[MAX_RANKS] = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] == 0) {
            struct fallsfs_group *group = join_as(stage, i);
            static int rows[SIDE * SIDE];
            int r = 0;

            for (int round = 0; round < 300 && r == 0; round++)
                r = round % 2 == 0 ? write_rows(stage, group, i, rows) : read_rows(stage, group, i, rows);
            tell(stage, i, r);
            _exit(0);
        }
    }
    until_joined(stage, n);
    pause_ms(after);
    if (event == 0)
        (void) kill(pid[victim], SIGKILL);
    else if (event == 1)
        (void) kill(pid[victim], SIGSTOP);
    for (uint32_t i = 0; i < n; i++) {
        int r;

        if (i == victim && event <= 1)
            continue;
        until_ended(pid[i]);
        r = atomic_load(&stage->told[i].result);
        EXPECT(r == 0 || (event == 0 && r == -ECANCELED) || (event == 1 && r == -ETIMEDOUT) ||
               (event == 1 && r == -ECANCELED));
    }
    if (event <= 1) {
        (void) kill(pid[victim], SIGKILL);
        EXPECT(waitpid(pid[victim], NULL, 0) == pid[victim]);
    }
    EXPECT(munmap(stage, sizeof *stage) == 0);
}

static void anything_may_happen(void)
{
    for (struct rng rng = rng_from_env(30); rng_next(&rng);)
        run_anything(&rng);
}

/* Each ticket is told of its own round, not of the last one asked for. */
static void tickets_that_fail(void)
{
    struct stage *stage = stage_new(2, 1000);
    struct fallsfs_group *group = join_as(stage, 0);
    struct fallsfs_ticket *ticket[2];
    char bytes[4096];

    for (size_t i = 0; i < 2; i++)
        EXPECT(fallsfs_iread_all(group, &line, whole_line, bytes, &ticket[i]) == 0);
    EXPECT(fallsfs_wait(ticket[0]) == -ETIMEDOUT);
    EXPECT(strstr(fallsfs_strerror_last(), "rank 1 of 2 did not ask for anything in round 1 ") != NULL);
    EXPECT(fallsfs_wait(ticket[1]) == -ETIMEDOUT);
    EXPECT(strstr(fallsfs_strerror_last(), "in round 2 ") != NULL);
    EXPECT(fallsfs_leave(group) == 0);
}

const struct check checks_of_members[] = {
    { "killed_before_it_asks", killed_before_it_asks },
    { "killed_while_it_waits", killed_while_it_waits },
    { "killed_before_the_others_come", killed_before_the_others_come },
    { "killed_with_a_child", killed_with_a_child },
    { "closes_its_file", closes_its_file },
    { "leaves", leaves },
    { "stopped_while_it_waits", stopped_while_it_waits },
    { "stopped_before_it_asks", stopped_before_it_asks },
    { "never_come", never_come },
    { "two_of_one_rank", two_of_one_rank },
    { "at_cross_purposes", at_cross_purposes },
    { "asks_for_what_is_none", asks_for_what_is_none },
    { "child_acts_as_the_rank", child_acts_as_the_rank },
    { "threads_act_as_the_rank", threads_act_as_the_rank },
    { "interrupted_by_signals", interrupted_by_signals },
    { "interrupted_alone", interrupted_alone },
    { "killed_at_work", killed_at_work },
    { "tickets_and_poll", tickets_and_poll },
    { "tickets_that_fail", tickets_that_fail },
    { "several_groups_of_one_file", several_groups_of_one_file },
    { "several_ranks_of_one_process", several_ranks_of_one_process },
    { "anything_may_happen", anything_may_happen },
    { NULL, NULL },
};
