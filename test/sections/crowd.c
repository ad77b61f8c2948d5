/* SPDX-License-Identifier: MIT */
/* crowd DIRECTORY: several groups of one file at once, and others who read and write it beside them, as many times as
 * the environment says (see rng.h). In one dimension of a random array every n-th index is one party's: none writes
 * what another one does, all write into each other's holes. Afterwards every byte is what it must be.
 *
 *     n = 4        index   0 1 2 3 4 5 6 7 8 ...
 *                  party   A B w - A B w - A            groups A and B, somebody who writes alone, nobody */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES   40000 /* of the array */
#define MAX_FILE    (MAX_BYTES + 1000)
#define MOST        32 /* ranks of a group */
#define MOST_GROUPS 3
#define ROUNDS      2

struct asker {
    struct crowd *crowd;
    struct party *party;
    uint32_t rank;
    struct fallsfs_range section[8];
    uint32_t at[MAX_BYTES], n;
    bool ticket, staged;
    pthread_t thread;
};

struct party {
    uint8_t token[16];
    struct fallsfs_hints hints;
    uint32_t n;
    struct asker asker[MOST];
};

struct crowd {
    uint64_t seed;
    struct fallsfs_array array;
    uint32_t dim, n_lanes;
    uint32_t size; /* before */
    uint32_t n_groups;
    struct party party[MOST_GROUPS];
    struct asker writer, reader;
    uint8_t winner[MAX_FILE]; /* 0: nobody; 1 + rank in whose party it is, 255: the writer */
    uint8_t image[MAX_FILE];
};

_Noreturn static void wrong(const struct crowd *crowd, const char *what, uint64_t at, uint64_t is, uint64_t want)
{
    printf(RNG_SEED ": %s %" PRIu64 ": %" PRIu64 ", not %" PRIu64 "\n", crowd->seed, what, at, is, want);
    fflush(stdout);
    _exit(1);
}

/* -- what is asked for -- */

static void random_array(struct rng *rng, struct fallsfs_array *array)
{
    static const uint64_t elems[] = { 1, 2, 3, 4, 8, 16 };
    uint64_t left = MAX_BYTES;

    *array = (struct fallsfs_array){ .ndims = (uint32_t) rng_between(rng, 1, 8),
                                     .order = rng_chance(rng, 50) ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR,
                                     .elem = elems[rng_below(rng, ARRAY_SIZE(elems))],
                                     .header = rng_chance(rng, 50) ? 0 : rng_below(rng, 1000) };
    left /= array->elem;
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t most = i + 1 < array->ndims ? MIN(left, array->ndims > 2 ? 12 : 200) : MIN(left, 3000);

        array->size[i] = rng_between(rng, 1, MAX(most, 1));
        left = MAX(left / array->size[i], 1);
    }
}

/* Anything in the other dimensions; now and then nothing. */
static void random_section(struct rng *rng, const struct crowd *crowd, uint32_t lane, struct asker *asker)
{
    const struct fallsfs_array *array = &crowd->array;

    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t lower = rng_below(rng, array->size[i]);

        asker->section[i] = (struct fallsfs_range){ lower, rng_between(rng, lower, array->size[i] - 1),
                                                    rng_chance(rng, 50) ? 1 : rng_between(rng, 1, 5) };
    }
    asker->section[crowd->dim] = (struct fallsfs_range){ lane, array->size[crowd->dim] - 1, crowd->n_lanes };
    if (rng_chance(rng, 5))
        asker->section[crowd->dim] = (struct fallsfs_range){ 1, 0, 1 };
    if (lane >= array->size[crowd->dim])
        asker->section[crowd->dim] = (struct fallsfs_range){ 1, 0, 1 };
    asker->n = list_bytes(array, asker->section, asker->at);
}

static uint8_t value(const struct crowd *crowd, uint32_t who, uint32_t at, unsigned round)
{
    uint64_t x = crowd->seed * UINT64_C(0x9e3779b97f4a7c15) + who * UINT64_C(0xbf58476d1ce4e5b9) + at * 4 + round;

    x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb);
    return (uint8_t) (x >> 56);
}

/* -- asking -- */

static int open_file(void)
{
    return open("crowd", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

static int move(struct asker *asker, struct fallsfs_group *group, bool write, uint8_t *buf)
{
    const struct fallsfs_array *array = &asker->crowd->array;
    struct fallsfs_ticket *ticket;
    int r;

    if (!asker->ticket)
        return write ? fallsfs_write_all(group, array, asker->section, buf)
                     : fallsfs_read_all(group, array, asker->section, buf);
    r = write ? fallsfs_iwrite_all(group, array, asker->section, buf, &ticket)
              : fallsfs_iread_all(group, array, asker->section, buf, &ticket);
    return r < 0 ? r : fallsfs_wait(ticket);
}

/* Writes, and reads back: its party wrote there, and nobody else. */
static void *be_rank(void *arg)
{
    struct asker *asker = arg;
    struct crowd *crowd = asker->crowd;
    uint8_t *buf = asker->staged ? malloc(asker->n + 1) : fallsfs_alloc(asker->n + 1);
    struct fallsfs_group *group;
    int fd = open_file();
    int r = fallsfs_join(fd, asker->party->token, asker->rank, asker->party->n, &asker->party->hints, &group);

    for (unsigned round = 1; r == 0 && round <= ROUNDS; round++) {
        for (uint32_t k = 0; k < asker->n; k++)
            buf[k] = value(crowd, asker->rank + 1, asker->at[k], round);
        r = move(asker, group, true, buf);
        if (r == 0)
            r = move(asker, group, false, buf);
        for (uint32_t k = 0; r == 0 && k < asker->n; k++)
            if (buf[k] != value(crowd, crowd->winner[asker->at[k]], asker->at[k], round))
                wrong(crowd, "read back, byte", asker->at[k], buf[k],
                      value(crowd, crowd->winner[asker->at[k]], asker->at[k], round));
    }
    if (r < 0)
        missed(__FILE__, __LINE__, fallsfs_strerror_last());
    (void) fallsfs_leave(group);
    (void) close(fd);
    if (asker->staged)
        free(buf);
    else
        fallsfs_free(buf);
    return NULL;
}

static void *write_alone(void *arg)
{
    struct asker *asker = arg;
    int fd = open_file();

    for (unsigned round = 1; round <= ROUNDS; round++)
        for (uint32_t k = 0, n; k < asker->n; k += n) {
            uint8_t bytes[64];

            for (n = 0; n < 64 && k + n < asker->n && asker->at[k + n] == asker->at[k] + n; n++)
                bytes[n] = value(asker->crowd, 255, asker->at[k + n], round);
            EXPECT(pwrite(fd, bytes, n, asker->at[k]) == (ssize_t) n);
        }
    EXPECT(close(fd) == 0);
    return NULL;
}

/* What nobody writes is as it was, all the time. */
static void *read_alone(void *arg)
{
    struct crowd *crowd = ((struct asker *) arg)->crowd;
    static uint8_t bytes[MAX_FILE];
    int fd = open_file();

    for (int i = 0; i < 3; i++) {
        ssize_t n = pread(fd, bytes, sizeof bytes, 0);

        EXPECT(n >= (ssize_t) crowd->size);
        for (uint32_t at = 0; at < n; at++)
            if (crowd->winner[at] == 0 && bytes[at] != crowd->image[at])
                wrong(crowd, "nobody writes byte", at, bytes[at], crowd->image[at]);
    }
    EXPECT(close(fd) == 0);
    return NULL;
}

/* -- a case -- */

static void plan_party(struct rng *rng, struct crowd *crowd, uint32_t lane)
{
    struct party *party = &crowd->party[lane];

    EXPECT(fallsfs_token(party->token) == 0);
    party->hints = (struct fallsfs_hints){ .domains = (uint32_t) rng_below(rng, 5),
                                           .sieve = (uint32_t) rng_below(rng, 3),
                                           .window = rng_chance(rng, 50) ? 0 : rng_between(rng, 1000, 20000),
                                           .workers = (uint32_t) rng_below(rng, 4) };
    party->n = (uint32_t) rng_between(rng, 1, rng_chance(rng, 80) ? 4 : MOST);
    for (uint32_t i = 0; i < party->n; i++) {
        struct asker *asker = &party->asker[i];

        *asker = (struct asker){ .crowd = crowd, .party = party, .rank = i };
        asker->ticket = rng_chance(rng, 30);
        asker->staged = rng_chance(rng, 50);
        random_section(rng, crowd, lane, asker);
        for (uint32_t k = 0; k < asker->n; k++)
            crowd->winner[asker->at[k]] = (uint8_t) (i + 1);
    }
}

static void plan(struct rng *rng, struct crowd *crowd)
{
    int fd = open_file();

    crowd->seed = rng->seed;
    random_array(rng, &crowd->array);
    crowd->dim = (uint32_t) rng_below(rng, crowd->array.ndims);
    crowd->n_groups = (uint32_t) rng_between(rng, 1, MOST_GROUPS);
    crowd->n_lanes = crowd->n_groups + 2;
    crowd->size = (uint32_t) rng_below(rng, MAX_FILE);
    memset(crowd->winner, 0, sizeof crowd->winner);
    memset(crowd->image, 0, sizeof crowd->image);
    for (uint32_t i = 0; i < crowd->size; i++)
        crowd->image[i] = (uint8_t) rng_u64(rng);
    EXPECT(fd >= 0 && ftruncate(fd, 0) == 0);
    EXPECT(pwrite(fd, crowd->image, crowd->size, 0) == (ssize_t) crowd->size && close(fd) == 0);
    for (uint32_t i = 0; i < crowd->n_groups; i++)
        plan_party(rng, crowd, i);
    crowd->writer = crowd->reader = (struct asker){ .crowd = crowd };
    random_section(rng, crowd, crowd->n_groups, &crowd->writer);
    for (uint32_t k = 0; k < crowd->writer.n; k++)
        crowd->winner[crowd->writer.at[k]] = 255;
}

static void start(struct asker *asker, void *(*be)(void *arg))
{
    pthread_attr_t small;

    EXPECT(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 256 << 10) == 0);
    EXPECT(pthread_create(&asker->thread, &small, be, asker) == 0);
    pthread_attr_destroy(&small);
}

static void compare(struct crowd *crowd)
{
    static uint8_t bytes[MAX_FILE + 1];
    uint32_t size = crowd->size;
    int fd = open_file();
    ssize_t n = read(fd, bytes, sizeof bytes);

    for (uint32_t at = 0; at < MAX_FILE; at++) {
        if (crowd->winner[at] == 0)
            continue;
        crowd->image[at] = value(crowd, crowd->winner[at], at, ROUNDS);
        size = MAX(size, at + 1);
    }
    if (n != (ssize_t) size)
        wrong(crowd, "the size", 0, (uint64_t) n, size);
    for (uint32_t at = 0; at < size; at++)
        if (bytes[at] != crowd->image[at])
            wrong(crowd, "byte", at, bytes[at], crowd->image[at]);
    EXPECT(close(fd) == 0);
}

static void run(struct crowd *crowd)
{
    for (uint32_t g = 0; g < crowd->n_groups; g++)
        for (uint32_t i = 0; i < crowd->party[g].n; i++)
            start(&crowd->party[g].asker[i], be_rank);
    start(&crowd->writer, write_alone);
    start(&crowd->reader, read_alone);
    for (uint32_t g = 0; g < crowd->n_groups; g++)
        for (uint32_t i = 0; i < crowd->party[g].n; i++)
            pthread_join(crowd->party[g].asker[i].thread, NULL);
    pthread_join(crowd->writer.thread, NULL);
    pthread_join(crowd->reader.thread, NULL);
    compare(crowd);
}

int main(int argc, char **argv)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);

    if (argc != 2 || crowd == NULL || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    for (struct rng rng = rng_from_env(1000); rng_next(&rng);) {
        plan(&rng, crowd);
        run(crowd);
    }
    free(crowd);
    return 0;
}
