/* SPDX-License-Identifier: MIT */
/* Processes that walk by slabs together, and that make PASSION's calls together, beside a model: groups DIRECTORY. */
#include "test/arrays/shot.h"
#include "test/arrays/walker.h"

#include "layout/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RANKS 4

static bool is_mount;

/* Runs it in a process for each rank, which all have to end well. */
static void in_ranks(uint32_t n, void (*run)(void *ctx, uint32_t rank), void *ctx)
{
    pid_t pid[MAX_RANKS];

    for (uint32_t rank = 0; rank < n; rank++) {
        pid[rank] = fork();
        EXPECT(pid[rank] >= 0);
        if (pid[rank] == 0) {
            EXPECT(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* one that fails leaves the others waiting */
            run(ctx, rank);
            exit(0);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        int status;

        EXPECT(waitpid(-1, &status, 0) > 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* -- slabs -- */

struct walks {
    struct fallsfs_array shape;
    struct fallsfs_slabs_walk walk;
    struct fallsfs_slabs_array of[MAX_ARRAYS];
    struct model model[MAX_ARRAYS];
    struct fallsfs_range part[MAX_RANKS][FALLSFS_MAX_DIMS]; /* if ranks name theirs */
    bool has_parts;
    uint32_t n, n_ranks;
    uint8_t token[MAX_ARRAYS][16];
    uint64_t *rounds; /* of each rank; shared */
    uint8_t *walked;  /* shared */
    uint64_t seed;
};

static void walk_as(void *ctx, uint32_t rank)
{
    struct walks *walks = ctx;
    struct fallsfs_slabs_walk walk = walks->walk;
    struct walker walker = {
        .walk = &walk, .model = walks->model, .n = walks->n, .walked = walks->walked, .seed = walks->seed + rank
    };

    if (walks->has_parts)
        walk.part = walks->part[rank];
    for (uint32_t i = 0; i < walks->n; i++) {
        int fd = files_open_again(walks->model[i].fd, O_RDWR);

        walker.of[i] = walks->of[i];
        EXPECT(fallsfs_join(fd, walks->token[i], rank, walks->n_ranks, NULL, &walker.of[i].group) == 0);
    }
    walker_run(&walker);
    walks->rounds[rank] = walker.rounds;
    for (uint32_t i = 0; i < walks->n; i++)
        EXPECT(fallsfs_leave(walker.of[i].group) == 0);
}

/* Cuts an axis at random, so that some ranks may have nothing, and counts the rounds. */
static void cut_parts(struct walks *walks, struct rng *rng)
{
    uint32_t axis = walks->walk.axis;
    uint64_t lower = 0;

    walks->walk.rounds = 0;
    for (uint32_t d = 0; d < walks->shape.ndims; d++)
        if (d != axis)
            walks->walk.tile[d] = 0;
    if (walks->walk.tile[axis] == 0)
        walks->walk.tile[axis] = 1;
    walks->walk.memory = 0;
    memset(walks->walk.grid, 0, sizeof walks->walk.grid);
    for (uint32_t rank = 0; rank < walks->n_ranks; rank++) {
        uint64_t left = walks->shape.size[axis] - lower;
        uint64_t n = rank + 1 < walks->n_ranks ? rng_below(rng, left + 1) : left;

        for (uint32_t d = 0; d < walks->shape.ndims; d++)
            walks->part[rank][d] = (struct fallsfs_range){ 0, walks->shape.size[d] - 1, 1 };
        walks->part[rank][axis] =
            n > 0 ? (struct fallsfs_range){ lower, lower + n - 1, 1 } : (struct fallsfs_range){ 1, 0, 1 };
        lower += n;
        walks->walk.rounds = MAX(walks->walk.rounds, (n + walks->walk.tile[axis] - 1) / walks->walk.tile[axis]);
    }
}

static void some_grid(struct walks *walks, struct rng *rng)
{
    uint32_t left = walks->n_ranks;

    for (uint32_t d = 0; d < walks->shape.ndims; d++) {
        uint32_t n = d + 1 == walks->shape.ndims ? left : (uint32_t) rng_between(rng, 1, left);

        while (left % n != 0)
            n--;
        walks->walk.grid[d] = n;
        left /= n;
    }
}

static void walk_together(struct rng *rng)
{
    struct walks walks = { .seed = rng_u64(rng) };
    struct walker sizes = { .model = walks.model };
    uint64_t elements;

    walks.n_ranks = (uint32_t) rng_between(rng, 1, MAX_RANKS);
    walks.n = (uint32_t) rng_between(rng, 1, 2);
    walks.shape = files_array(rng, (uint32_t) rng_between(rng, 1, 3));
    walks.walk = some_walk(rng, &walks.shape);
    walks.shape.elem = 1;
    elements = files_array_bytes(&walks.shape);
    if (rng_chance(rng, 50))
        some_grid(&walks, rng);
    walks.has_parts = rng_chance(rng, 30);
    if (walks.has_parts)
        cut_parts(&walks, rng);
    for (uint32_t i = 0; i < walks.n; i++) {
        char name[16];

        snprintf(name, sizeof name, "array%u", i);
        model_make(&walks.model[i], rng, &walks.shape, name);
        walks.of[i].array = &walks.model[i].array;
        some_access(rng, &walks.of[i], &walks.shape, false);
        EXPECT(fallsfs_token(walks.token[i]) == 0);
        sizes.of[i] = walks.of[i];
    }
    walks.rounds = files_shared(MAX_RANKS * sizeof *walks.rounds);
    walks.walked = files_shared(elements);
    in_ranks(walks.n_ranks, walk_as, &walks);
    for (uint32_t rank = 1; rank < walks.n_ranks; rank++)
        EXPECT(walks.rounds[rank] == walks.rounds[0]);
    for (uint64_t i = 0; i < elements; i++)
        EXPECT(walks.walked[i] == 1);
    for (uint32_t i = 0; i < walks.n; i++) {
        note_size(&sizes, i, NULL);
        model_check(&walks.model[i]);
    }
    files_unshare(walks.rounds, MAX_RANKS * sizeof *walks.rounds);
    files_unshare(walks.walked, elements);
}

/* -- PASSION -- */

struct run {
    struct dealt dealt;
    const char *directory;
    uint8_t token[16];
    uint64_t seed;
    uint8_t *whole; /* the model of each process, which plays what all of them do */
    size_t len;
    pthread_barrier_t *barrier; /* shared; off a mount, where calls of a group do not wait for each other */
};

static void wait_for_all(struct run *run)
{
    if (!is_mount)
        (void) pthread_barrier_wait(run->barrier);
}

static uint8_t *cell_of_whole(void *ctx, const uint64_t index[])
{
    const struct run *run = ctx;

    return run->whole + files_element(&run->dealt.array, run->dealt.array.size, index);
}

/* One call of the first n processes. Off a mount each has its turn, as who is to win is not promised there. */
static void call_together(struct run *run, struct rng *rng, uint32_t self, PFILE *global, OCAD *ocad)
{
    uint32_t n = rng_chance(rng, 70) ? run->dealt.n : (uint32_t) rng_between(rng, 1, run->dealt.n);
    bool write = rng_chance(rng, 50), is_asked = self < n;
    struct shot own = { .is_empty = true };

    for (uint32_t rank = 0; rank < n; rank++) {
        struct shot shot = shot_global(&run->dealt, rng);

        if (write)
            shot_move(&shot, cell_of_whole, run, true);
        if (rank == self)
            own = shot;
        else
            shot_check(&shot);
    }
    for (uint32_t turn = 0; turn < MIN(self, n); turn++)
        wait_for_all(run);
    if (!is_asked)
        return;
    if (!write)
        shot_move(&own, cell_of_whole, run, false);
    EXPECT((write ? PASSION_global_write : PASSION_global_read)(global, ocad, (char *) own.bytes, own.index, own.access,
                                                                (int) n) == 0);
    for (uint32_t turn = self; turn < n; turn++)
        wait_for_all(run);
    shot_check(&own);
}

static void wrong_together(struct run *run, uint32_t self, PFILE *global, OCAD *ocad)
{
    int index[DEALT_MAX_DIMS] = { 0 }, access[DEALT_MAX_DIMS][3] = { { 0 } };
    char none = 0;
    int r;

    /* One asks for what makes no sense; the others, for nothing, and need not wait. */
    for (uint32_t d = 0; d < run->dealt.array.ndims; d++)
        access[d][2] = self == 0 ? 0 : 1;
    access[0][0] = self == 0 ? 0 : 1;
    r = PASSION_global_read(global, ocad, &none, index, access, (int) run->dealt.n);
    EXPECT(r == (self == 0 ? -1 : 0));
}

/* One that cannot take part does not keep the others waiting; all of them come to the next call. */
static void wrong_placement(const struct run *run, uint32_t self, PFILE *global, OCAD *ocad)
{
    OCAD *unfilled = PASSION_malloc_OCAD(1);
    uint64_t began = clock_ms();
    char name[300];
    PFILE *local;
    int r;

    snprintf(name, sizeof name, "%s/own.%u", run->directory, self);
    local = PASSION_open(name, 7);
    EXPECT(unfilled != NULL && local != NULL);
    r = fallsfs_passion_to_global(local, global, self == 0 ? unfilled : ocad);
    EXPECT(r == (self == 0 ? -EINVAL : -ECANCELED));
    EXPECT(clock_ms() - began < 20000); /* they would wait for 30 s */
    EXPECT(PASSION_close(local) == 0);
    PASSION_free_OCAD(unfilled);
}

/* What each process' own local file has after it was made of the global one, and the global one after local changes. */
static void change_placement(struct run *run, struct rng *rng, uint32_t self, PFILE *global, OCAD *ocad)
{
    const struct fallsfs_array *array = &run->dealt.array;
    bool is_own = !is_mount || rng_chance(rng, 50);
    uint8_t *other = malloc(run->len);
    char name[300];
    PFILE *local;

    EXPECT(other != NULL);
    snprintf(name, sizeof name, is_own ? "%s/own.%u" : "%s/whole:%u", run->directory, self);
    local = PASSION_open(name, is_own ? 7 : (unsigned) array->header);
    EXPECT(local != NULL);
    EXPECT(fallsfs_passion_to_local(local, global, ocad) == 0);
    files_fill(rng, other, run->len);
    for (uint32_t rank = 0; rank < run->dealt.n; rank++) {
        const struct part *part = &run->dealt.part[rank];
        uint64_t zero[DEALT_MAX_DIMS] = { 0 }, at[DEALT_MAX_DIMS] = { 0 }, index[DEALT_MAX_DIMS];
        size_t len = array->elem;
        uint8_t *bytes;

        for (uint32_t d = 0; d < array->ndims; d++)
            len *= part->size[d];
        if (rank != self || len == 0)
            continue;
        bytes = malloc(len);
        EXPECT(bytes != NULL && PASSION_read(local, ocad, (char *) bytes) == 0);
        do {
            uint8_t *element = bytes + files_element(array, part->size, at);

            for (uint32_t d = 0; d < array->ndims; d++)
                index[d] = part->whole[d][at[d]];
            EXPECT(memcmp(element, cell_of_whole(run, index), array->elem) == 0);
            memcpy(element, other + files_element(array, array->size, index), array->elem);
        } while (files_step(array->ndims, zero, part->size, at));
        EXPECT(PASSION_write(local, ocad, (char *) bytes) == 0);
        free(bytes);
    }
    EXPECT(fallsfs_passion_to_global(local, global, ocad) == 0);
    EXPECT(PASSION_close(local) == 0);
    free(run->whole);
    run->whole = other;
}

/* Waits for all: on a mount by a round of nothing. */
static void meet(struct run *run, PFILE *global, OCAD *ocad)
{
    int index[DEALT_MAX_DIMS] = { 0 }, access[DEALT_MAX_DIMS][3];
    char none = 0;

    for (uint32_t d = 0; d < run->dealt.array.ndims; d++)
        memcpy(access[d], (int[]){ 1, 0, 1 }, sizeof access[d]);
    EXPECT(PASSION_global_read(global, ocad, &none, index, access, (int) run->dealt.n) == 0);
    wait_for_all(run);
}

static void play_as(void *ctx, uint32_t rank)
{
    struct run *run = ctx;
    struct rng rng = rng_from_seed(run->seed);
    OCAD *ocad = dealt_ocad(&run->dealt);
    char path[300];
    PFILE *global;

    EXPECT(fallsfs_passion_init((int) rank, (int) run->dealt.n, run->token) == 0);
    snprintf(path, sizeof path, "%s/whole", run->directory);
    for (int opened = 0; opened < 2; opened++) {
        global = PASSION_open(path, (unsigned) run->dealt.array.header);
        EXPECT(global != NULL);
        for (uint64_t n = rng_between(&rng, 1, 4); n > 0; n--) {
            uint64_t what = rng_below(&rng, 10);

            if (what == 0 && is_mount)
                wrong_together(run, rank, global, ocad);
            else if (what == 1 && is_mount && run->dealt.n > 1)
                wrong_placement(run, rank, global, ocad);
            else if (what < 4)
                change_placement(run, &rng, rank, global, ocad);
            else
                call_together(run, &rng, rank, global, ocad);
            meet(run, global, ocad);
        }
        EXPECT(PASSION_close(global) == 0);
    }
    PASSION_free_OCAD(ocad);
}

static pthread_barrier_t *shared_barrier(uint32_t n)
{
    pthread_barrier_t *barrier = mmap(NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;

    EXPECT(barrier != MAP_FAILED);
    pthread_barrierattr_init(&attr);
    EXPECT(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
    EXPECT(pthread_barrier_init(barrier, &attr, n) == 0);
    pthread_barrierattr_destroy(&attr);
    return barrier;
}

static void play_together(struct rng *rng, const char *directory)
{
    struct run run = { .directory = directory, .seed = rng_u64(rng) };
    struct fallsfs_array *array = &run.dealt.array;
    char path[300];
    int fd;

    dealt_make_for(&run.dealt, rng, (uint32_t) rng_between(rng, 1, MAX_RANKS));
    run.barrier = shared_barrier(run.dealt.n);
    run.len = files_array_bytes(array);
    run.whole = malloc(run.len);
    EXPECT(run.whole != NULL);
    EXPECT(fallsfs_token(run.token) == 0);
    files_fill(rng, run.whole, run.len);
    snprintf(path, sizeof path, "%s/whole", directory);
    (void) unlink(path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    EXPECT(fd >= 0 && pwrite(fd, run.whole, run.len, (off_t) array->header) == (ssize_t) run.len);
    close(fd);
    in_ranks(run.dealt.n, play_as, &run);
    free(run.whole);
    EXPECT(munmap(run.barrier, sizeof *run.barrier) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    files_in(argv[1]);
    is_mount = files_are_on_mount();
    for (struct rng rng = rng_from_env(is_mount ? 60 : 300); rng_next(&rng);) {
        files_case(&rng);
        walk_together(&rng);
        play_together(&rng, argv[1]);
    }
    return 0;
}
