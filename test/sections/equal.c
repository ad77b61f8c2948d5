/* SPDX-License-Identifier: MIT */
/* Groups read and write at random; every byte of the file and of what they read is what a plain list of offsets says.
 */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_BYTES 40000 /* of the array */
#define MAX_FILE  (MAX_BYTES + 1000)

/* What one rank asks for, and where the bytes of that are in the file, in order. */
struct part {
    bool is_falls;
    struct fallsfs_range range[4];
    uint64_t disp;
    char falls[200];
    uint32_t n;
    uint32_t at[MAX_BYTES];
};

enum memory { OWN, STAGED, INSIDE, N_MEMORIES };

struct world {
    struct fallsfs_array array;
    uint32_t n_ranks;
    uint64_t seed;
    struct part writes[16], reads[16];
    enum memory memory[16];
    bool tickets[16];
    uint32_t size;
    uint8_t image[MAX_FILE];
};

/* -- what is asked for -- */

static void random_array(struct rng *rng, struct fallsfs_array *array)
{
    static const uint64_t elems[] = { 1, 2, 3, 4, 8, 16 };
    uint64_t bytes;

    do {
        array->ndims = (uint32_t) rng_between(rng, 1, 4);
        array->order = rng_chance(rng, 50) ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR;
        array->elem = bytes = elems[rng_below(rng, ARRAY_SIZE(elems))];
        array->header = rng_chance(rng, 50) ? 0 : rng_below(rng, 300);
        for (uint32_t i = 0; i < array->ndims; i++) {
            array->size[i] = rng_between(rng, 1, array->ndims == 1 ? 3000 : array->ndims == 2 ? 90 : 12);
            bytes *= array->size[i];
        }
    } while (bytes > MAX_BYTES);
}

static void random_section(struct rng *rng, const struct fallsfs_array *array, struct part *part)
{
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t lower = rng_below(rng, array->size[i]);

        part->range[i] = (struct fallsfs_range){ lower, rng_between(rng, lower, array->size[i] - 1),
                                                 rng_chance(rng, 40) ? 1 : rng_between(rng, 1, 5) };
    }
    if (rng_chance(rng, 5))
        part->range[0] = (struct fallsfs_range){ 1, 0, 1 }; /* nothing */
    part->n = list_bytes(array, part->range, part->at);
}

/* n blocks of len, every stride; of each block, m pieces of piece, every step. */
static void random_falls(struct rng *rng, struct part *part)
{
    uint64_t piece = rng_between(rng, 1, 9), step = piece + rng_below(rng, 9), m = rng_between(rng, 1, 6);
    uint64_t len = (m - 1) * step + piece, stride = len + rng_below(rng, 50), n = rng_between(rng, 1, 40);

    part->is_falls = true;
    part->disp = rng_below(rng, 1000);
    snprintf(part->falls, sizeof part->falls,
             "{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")})}", len - 1, stride, n,
             piece - 1, step, m);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < m; j++)
            for (uint64_t k = 0; k < piece; k++)
                part->at[part->n++] = (uint32_t) (part->disp + i * stride + j * step + k);
}

static void random_part(struct rng *rng, const struct fallsfs_array *array, struct part *part)
{
    part->n = 0;
    part->is_falls = false;
    if (rng_chance(rng, 15))
        random_falls(rng, part);
    else
        random_section(rng, array, part);
}

/* Without the daemon's help nobody decides who wins: then nobody writes what another one writes. */
static bool piecewise(void)
{
    return getenv("FALLSFS_STAGED") != NULL;
}

static void keep_apart(struct world *world)
{
    static bool taken[MAX_FILE];

    memset(taken, 0, sizeof taken);
    for (uint32_t i = 0; i < world->n_ranks; i++) {
        struct part *part = &world->writes[i];
        bool overlaps = false;

        for (uint32_t k = 0; k < part->n; k++)
            overlaps |= taken[part->at[k]];
        if (overlaps) {
            part->is_falls = false;
            for (uint32_t dim = 0; dim < world->array.ndims; dim++)
                part->range[dim] = (struct fallsfs_range){ 1, 0, 1 };
            part->n = 0;
        }
        for (uint32_t k = 0; k < part->n; k++)
            taken[part->at[k]] = true;
    }
}

static uint8_t written(const struct world *world, uint32_t rank, uint32_t k)
{
    return (uint8_t) (1 + (world->seed * 7 + rank * 53 + k * 31) % 251);
}

/* -- asking -- */

static void *memory_for(enum memory memory, uint32_t n)
{
    uint8_t *bytes = memory == STAGED ? malloc(MAX(n, 1)) : fallsfs_alloc(n + 100);

    EXPECT(bytes != NULL);
    return memory == INSIDE ? bytes + 37 : bytes;
}

static int move_part(const struct world *world, struct fallsfs_group *group, uint32_t rank, bool write, uint8_t *buf)
{
    const struct part *part = write ? &world->writes[rank] : &world->reads[rank];
    struct fallsfs_ticket *ticket = NULL;
    int r;

    if (part->is_falls)
        return write ? fallsfs_write_falls_all(group, part->disp, part->falls, buf)
                     : fallsfs_read_falls_all(group, part->disp, part->falls, buf);
    EXPECT(fallsfs_section_bytes(&world->array, part->range) == part->n);
    if (!world->tickets[rank])
        return write ? fallsfs_write_all(group, &world->array, part->range, buf)
                     : fallsfs_read_all(group, &world->array, part->range, buf);
    r = write ? fallsfs_iwrite_all(group, &world->array, part->range, buf, &ticket)
              : fallsfs_iread_all(group, &world->array, part->range, buf, &ticket);
    return r < 0 ? r : fallsfs_wait(ticket);
}

static void expect_worked(int r, uint64_t seed)
{
    if (r < 0) {
        printf(RNG_SEED ": ", seed);
        missed(__FILE__, __LINE__, fallsfs_strerror_last());
    }
}

static void act(const struct world *world, struct stage *stage, uint32_t rank)
{
    const struct part *writes = &world->writes[rank], *reads = &world->reads[rank];
    struct fallsfs_group *group = join_as(stage, rank);
    uint8_t *out = memory_for(world->memory[rank], writes->n), *in = memory_for(world->memory[rank], reads->n);
    struct fallsfs_ioc_stats stats;
    uint64_t staged;

    for (uint32_t k = 0; k < writes->n; k++)
        out[k] = written(world, rank, k);
    expect_worked(move_part(world, group, rank, true, out), world->seed);
    expect_worked(move_part(world, group, rank, false, in), world->seed);
    for (uint32_t k = 0; k < reads->n; k++)
        if (in[k] != (reads->at[k] < world->size ? world->image[reads->at[k]] : 0)) {
            printf(RNG_SEED ": rank %u reads %u at byte %u\n", world->seed, rank, in[k], reads->at[k]);
            missed(__FILE__, __LINE__, "every byte read is what the list says");
        }
    EXPECT(fallsfs_stats(group, &stats, &staged) == 0 && stats.calls == 2);
    EXPECT(staged == (world->memory[rank] == STAGED || piecewise() ? reads->n : 0));
    /* Leaving early would end it for those who have not been answered yet: they have. */
    EXPECT(fallsfs_leave(group) == 0);
}

static void fill_file(struct rng *rng, struct world *world)
{
    int fd = open_shared(O_RDWR | O_TRUNC);

    world->size = (uint32_t) rng_below(rng, MAX_FILE);
    memset(world->image, 0, sizeof world->image);
    for (uint32_t i = 0; i < world->size; i++)
        world->image[i] = (uint8_t) rng_u64(rng);
    EXPECT(pwrite(fd, world->image, world->size, 0) == (ssize_t) world->size && close(fd) == 0);
}

static void compare_file(const struct world *world)
{
    static uint8_t bytes[MAX_FILE + 1];
    int fd = open_shared(O_RDONLY);
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n != (ssize_t) world->size) {
        printf(RNG_SEED ": %zd bytes, not %u\n", world->seed, n, world->size);
        missed(__FILE__, __LINE__, "the file ends where the last byte asked for does");
    }
    for (uint32_t i = 0; i < world->size; i++)
        if (bytes[i] != world->image[i]) {
            printf(RNG_SEED ": byte %u is %u, not %u\n", world->seed, i, bytes[i], world->image[i]);
            missed(__FILE__, __LINE__, "every byte of the file is what the list says");
        }
    EXPECT(close(fd) == 0);
}

static void run_group(struct rng *rng, struct world *world)
{
    struct stage *stage;
    pid_t pid[16];

    world->seed = rng->seed;
    world->n_ranks = (uint32_t) (rng_chance(rng, 80) ? rng_between(rng, 1, 5) : rng_between(rng, 6, 16));
    random_array(rng, &world->array);
    fill_file(rng, world);
    for (uint32_t i = 0; i < world->n_ranks; i++) {
        random_part(rng, &world->array, &world->writes[i]);
        random_part(rng, &world->array, &world->reads[i]);
        world->memory[i] = (enum memory) rng_below(rng, N_MEMORIES);
        world->tickets[i] = rng_chance(rng, 30);
    }
    if (piecewise())
        keep_apart(world);
    for (uint32_t i = 0; i < world->n_ranks; i++) {
        for (uint32_t k = 0; k < world->writes[i].n; k++) { /* the highest rank wins */
            world->image[world->writes[i].at[k]] = written(world, i, k);
            world->size = MAX(world->size, world->writes[i].at[k] + 1);
        }
    }
    stage = stage_new(world->n_ranks, 0);
    stage->hints.domains = (uint32_t) rng_below(rng, 5);
    stage->hints.sieve = (uint32_t) rng_below(rng, 3);
    stage->hints.window = rng_chance(rng, 50) ? 0 : rng_between(rng, 4096, 20000);
    stage->hints.workers = (uint32_t) rng_below(rng, 4);
    for (uint32_t i = 0; i < world->n_ranks; i++) {
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] == 0) {
            act(world, stage, i);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < world->n_ranks; i++)
        until_ended(pid[i]);
    compare_file(world);
    EXPECT(munmap(stage, sizeof *stage) == 0);
}

static void random_groups(void)
{
    struct world *world = calloc(1, sizeof *world);

    EXPECT(world != NULL);
    for (struct rng rng = rng_from_env(60); rng_next(&rng);)
        run_group(&rng, world);
    free(world);
}

/* Alone, as one after the other. */
static void random_sections_alone(void)
{
    struct world *world = calloc(1, sizeof *world);

    EXPECT(world != NULL);
    for (struct rng rng = rng_from_env(60); rng_next(&rng);) {
        struct part *part = &world->writes[0];
        uint8_t *bytes = memory_for((enum memory) rng_below(&rng, N_MEMORIES), MAX_BYTES);
        int fd = open_shared(O_RDWR), r;

        world->seed = rng.seed;
        random_array(&rng, &world->array);
        fill_file(&rng, world);
        random_part(&rng, &world->array, part);
        for (uint32_t k = 0; k < part->n; k++) {
            world->image[part->at[k]] = bytes[k] = written(world, 0, k);
            world->size = MAX(world->size, part->at[k] + 1);
        }
        r = part->is_falls ? fallsfs_write_falls(fd, part->disp, part->falls, bytes)
                           : fallsfs_write_section(fd, &world->array, part->range, bytes);
        expect_worked(r, world->seed);
        compare_file(world);
        random_part(&rng, &world->array, part);
        r = part->is_falls ? fallsfs_read_falls(fd, part->disp, part->falls, bytes)
                           : fallsfs_read_section(fd, &world->array, part->range, bytes);
        expect_worked(r, world->seed);
        for (uint32_t k = 0; k < part->n; k++)
            EXPECT(bytes[k] == (part->at[k] < world->size ? world->image[part->at[k]] : 0));
        EXPECT(close(fd) == 0);
    }
    free(world);
}

/* -- beside others -- */

#define N_NEIGHBOURS 4
#define SLOT         100 /* bytes */
#define N_SLOTS      10  /* of each, in pages that they share */

/* Writes its own slots and reads them back; the first as sections, until it is killed. */
static void be_neighbour(unsigned i, unsigned rounds)
{
    struct rng rng = rng_from_seed(i + 1);
    const struct fallsfs_range all[] = { { 0, SLOT - 1, 1 } };
    uint8_t slot[SLOT], back[SLOT];
    int fd = open_shared(O_RDWR);

    for (unsigned round = 0; i == 0 || round < rounds; round++) {
        uint64_t off = (rng_below(&rng, N_SLOTS) * N_NEIGHBOURS + i) * SLOT;
        const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, off, { SLOT } };

        memset(slot, (int) round, SLOT);
        if (i == 0)
            EXPECT(fallsfs_write_section(fd, &array, all, slot) == 0);
        else
            EXPECT(pwrite(fd, slot, SLOT, (off_t) off) == SLOT);
        EXPECT(pread(fd, back, SLOT, (off_t) off) == SLOT && memcmp(back, slot, SLOT) == 0);
    }
}

/* Pages are forgotten and read again while writes to them are on their way. */
static void ordinary_writers_close_by(void)
{
    pid_t pid[N_NEIGHBOURS];

    EXPECT(ftruncate(open_shared(O_RDWR), N_NEIGHBOURS * N_SLOTS * SLOT) == 0);
    for (unsigned i = 0; i < N_NEIGHBOURS; i++) {
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] == 0) {
            EXPECT(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
            be_neighbour(i, getenv("FALLSFS_FULL") != NULL ? 20000 : 6000);
            _exit(0);
        }
    }
    for (unsigned i = 1; i < N_NEIGHBOURS; i++)
        until_ended(pid[i]);
    EXPECT(waitpid(pid[0], NULL, WNOHANG) == 0);
    EXPECT(kill(pid[0], SIGKILL) == 0 && waitpid(pid[0], NULL, 0) == pid[0]);
}

#define TAIL 10 /* bytes that are looked at */

/* Makes the file longer by sections, and cuts it to nothing now and then; n_told is how long it is, as others may know,
 * and odd while it is cut. */
static void grow(atomic_uint_least64_t *n_told, unsigned rounds)
{
    const struct fallsfs_array line = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 1 << 30 } };
    struct rng rng = rng_from_seed(1);
    static uint8_t bytes[6000];
    int fd = open_shared(O_RDWR);
    uint64_t end = 0;

    memset(bytes, 1, sizeof bytes);
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t n = 2 * rng_between(&rng, TAIL, sizeof bytes / 2);
        const struct fallsfs_range range = { end, end + n - 1, 1 };

        EXPECT(fallsfs_write_section(fd, &line, &range, bytes) == 0);
        atomic_store(n_told, end += n);
        if (round % 500 == 499) {
            atomic_store(n_told, 1);
            EXPECT(ftruncate(fd, 0) == 0);
            atomic_store(n_told, end = 0);
        }
    }
}

/* What a section has written behind the end is there for who has heard of it, while others go on. */
static void the_tail_of_a_growing_file(void)
{
    atomic_uint_least64_t *n_told =
        mmap(NULL, sizeof *n_told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t n_reads = 0, n_short = 0;
    uint8_t tail[TAIL];
    int fd = open_shared(O_RDWR);
    pid_t pid = fork();
    int status = 1;

    EXPECT(n_told != MAP_FAILED && pid >= 0);
    if (pid == 0) {
        EXPECT(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
        grow(n_told, getenv("FALLSFS_FULL") != NULL ? 20000 : 4000);
        _exit(0);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        uint64_t end = atomic_load(n_told);
        ssize_t n = end % 2 == 0 && end > 0 ? pread(fd, tail, TAIL, (off_t) (end - TAIL)) : 0;

        if (end % 2 != 0 || end == 0 || atomic_load(n_told) < end)
            continue; /* it may have been cut meanwhile */
        n_reads++;
        n_short += n != TAIL || tail[0] != 1 || tail[TAIL - 1] != 1;
    }
    EXPECT(status == 0);
    EXPECT(n_reads > 0);
    if (n_short > 0)
        missed(__FILE__, __LINE__, "reads ended before the end");
    EXPECT(munmap(n_told, sizeof *n_told) == 0);
    EXPECT(close(fd) == 0);
}

const struct check checks_of_equality[] = {
    { "the_tail_of_a_growing_file", the_tail_of_a_growing_file },
    { "random_groups", random_groups },
    { "random_sections_alone", random_sections_alone },
    { "ordinary_writers_close_by", ordinary_writers_close_by },
    { NULL, NULL },
};
