/* SPDX-License-Identifier: MIT */
/* Sets of FALLS in memory: packed and unpacked, to and from files, and from one distribution to another. */
#include "test/sections/ranks.h"
#include "test/support/oracle.h"

#include <fcntl.h>
#include <unistd.h>

#define ROOM 8000

/* A set, and where its bytes are, in order. */
struct set {
    char falls[300];
    uint32_t n, at[ROOM];
};

/* n blocks of m pieces, from l on. */
static void random_set(struct set *set, struct rng *rng)
{
    uint64_t l = rng_below(rng, 300), piece = rng_between(rng, 1, 9), step = piece + rng_below(rng, 9);
    uint64_t m = rng_between(rng, 1, 6), len = (m - 1) * step + piece, stride = len + rng_below(rng, 50);
    uint64_t n = rng_between(rng, 1, 40);

    snprintf(set->falls, sizeof set->falls,
             "{(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")})}", l,
             l + len - 1, stride, n, piece - 1, step, m);
    set->n = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < m; j++)
            for (uint64_t k = 0; k < piece; k++)
                set->at[set->n++] = (uint32_t) (l + i * stride + j * step + k);
}

static void fill(uint8_t *bytes, size_t n, struct rng *rng)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t) rng_u64(rng);
}

static void packs_and_unpacks(void)
{
    static struct set set;
    static uint8_t spread[ROOM], packed[ROOM], want[ROOM];

    for (struct rng rng = rng_from_env(500); rng_next(&rng);) {
        random_set(&set, &rng);
        EXPECT(fallsfs_falls_bytes(set.falls) == set.n);
        fill(spread, ROOM, &rng);
        fill(packed, ROOM, &rng);
        memcpy(want, packed, ROOM);
        for (uint32_t k = 0; k < set.n; k++)
            want[k] = spread[set.at[k]];
        EXPECT(fallsfs_pack(set.falls, spread, packed) == 0 && memcmp(packed, want, ROOM) == 0);
        fill(packed, ROOM, &rng);
        memcpy(want, spread, ROOM);
        for (uint32_t k = 0; k < set.n; k++)
            want[set.at[k]] = packed[k];
        EXPECT(fallsfs_unpack(set.falls, packed, spread) == 0 && memcmp(spread, want, ROOM) == 0);
    }
    EXPECT(fallsfs_falls_bytes("{}") == 0 && fallsfs_pack("{}", spread, packed) == 0);
    EXPECT(fallsfs_falls_bytes("{(0,1") == 0 && fallsfs_unpack("{(0,1", packed, spread) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "column") != NULL);
}

/* Two sets of as many bytes. */
static void random_pair(struct set *a, struct set *b, struct rng *rng)
{
    random_set(a, rng);
    do
        random_set(b, rng);
    while (b->n < a->n);
    b->n = a->n;
    snprintf(b->falls, sizeof b->falls, "{(%" PRIu32 ",%" PRIu32 ",2,1)", b->at[0], b->at[0]);
    for (uint32_t k = 1; k < b->n; k++) {
        size_t len = strlen(b->falls);

        if (len + 40 > sizeof b->falls) {
            b->n = a->n = k;
            break;
        }
        snprintf(b->falls + len, sizeof b->falls - len, ",(%" PRIu32 ",%" PRIu32 ",2,1)", b->at[k], b->at[k]);
    }
    strcat(b->falls, "}");
    snprintf(a->falls, sizeof a->falls, "{(%" PRIu32 ",%" PRIu32 ",3,%" PRIu32 ")}", a->at[0], a->at[0], a->n);
    for (uint32_t k = 0; k < a->n; k++)
        a->at[k] = a->at[0] + 3 * k;
}

static void files_and_memory_with_holes(void)
{
    static struct set in_file, in_memory;
    static uint8_t model[ROOM], mem[ROOM], want[ROOM], found[2 * ROOM];
    int fd = open_shared(O_RDWR);

    for (struct rng rng = rng_from_env(40); rng_next(&rng);) {
        uint64_t disp = rng_below(&rng, 100);
        uint64_t end;

        if (rng_chance(&rng, 50))
            random_pair(&in_file, &in_memory, &rng);
        else
            random_pair(&in_memory, &in_file, &rng);
        memset(model, 0, ROOM);
        fill(model, ROOM / 2, &rng);
        EXPECT(ftruncate(fd, 0) == 0 && pwrite(fd, model, ROOM / 2, 0) == ROOM / 2);
        fill(mem, ROOM, &rng);
        memcpy(want, mem, ROOM);
        for (uint32_t k = 0; k < in_memory.n; k++)
            want[in_memory.at[k]] = model[disp + in_file.at[k]];
        EXPECT(fallsfs_read_falls_into(fd, disp, in_file.falls, in_memory.falls, mem) == 0);
        EXPECT(memcmp(mem, want, ROOM) == 0);
        fill(mem, ROOM, &rng);
        for (uint32_t k = 0; k < in_memory.n; k++)
            model[disp + in_file.at[k]] = mem[in_memory.at[k]];
        end = MAX(ROOM / 2, disp + in_file.at[in_file.n - 1] + 1);
        EXPECT(fallsfs_write_falls_from(fd, disp, in_file.falls, in_memory.falls, mem) == 0);
        EXPECT(pread(fd, found, sizeof found, 0) == (ssize_t) end && memcmp(found, model, end) == 0);
    }
    EXPECT(fallsfs_read_falls_into(fd, 0, "{(0,3,4,2)}", "{(0,0,2,9)}", mem) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "8 bytes in the file and 9 in memory") != NULL);
}

/* More than is on its way at once. */
static void much_memory_with_holes(void)
{
    const size_t n = 9000000;
    uint8_t *mem = calloc(n, 4);
    int fd = open_shared(O_RDWR);

    EXPECT(mem != NULL);
    for (size_t i = 0; i < n; i++) {
        mem[4 * i + 1] = (uint8_t) (i * 5);
        mem[4 * i + 2] = (uint8_t) (i >> 8);
    }
    EXPECT(fallsfs_write_falls_from(fd, 0, "{(0,17999999,18000000,1)}", "{(1,2,4,9000000)}", mem) == 0);
    memset(mem, 0xEE, 4 * n);
    EXPECT(fallsfs_read_falls_into(fd, 0, "{(0,17999999,18000000,1)}", "{(1,2,4,9000000)}", mem) == 0);
    for (size_t i = 0; i < n; i++)
        EXPECT(mem[4 * i] == 0xEE && mem[4 * i + 1] == (uint8_t) (i * 5) && mem[4 * i + 2] == (uint8_t) (i >> 8) &&
               mem[4 * i + 3] == 0xEE);
    free(mem);
}

/* The view's bytes are the set's. */
static void an_element_and_memory_with_holes(void)
{
    int fd = open_shared(O_RDWR);
    uint8_t bytes[] = "......";

    EXPECT(pwrite(fd, "aabbccaabbcc", 12, 0) == 12 &&
           fallsfs_view(fd, "{(0,1,6,1);(2,3,6,1);(4,5,6,1)} element 1") == 0);
    EXPECT(fallsfs_read_falls_into(fd, 0, "{(0,2,3,1)}", "{(0,0,2,3)}", bytes) == 0);
    EXPECT(memcmp(bytes, "b.b.b.", 6) == 0);
}

/* -- from one distribution to another -- */

static uint8_t value(uint64_t off)
{
    return (uint8_t) (off * 37 + (off >> 8) * 11);
}

static void elements_in_memory(void)
{
    static struct oracle a, b;
    static uint8_t from[4 * ORACLE_MAX_SIZE], to[4 * ORACLE_MAX_SIZE], want[4 * ORACLE_MAX_SIZE];

    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct fallsfs_held held_a = { .layout = a.text, .bytes = from }, held_b = { .layout = b.text, .bytes = to };
        uint64_t lo, len, n_a = 0, n_b = 0, both = 0, moved = 77;

        oracle_random(&a, &rng);
        oracle_random(&b, &rng);
        held_a.element = (uint32_t) rng_below(&rng, a.n_elements);
        held_b.element = (uint32_t) rng_below(&rng, b.n_elements);
        len = rng_chance(&rng, 50) ? rng_between(&rng, 1, sizeof from) : 0;
        lo = len > 0 ? rng_below(&rng, 10000) : a.disp;
        memset(to, 0xEE, sizeof to);
        memset(want, 0xEE, sizeof want);
        for (uint64_t x = lo; x < lo + (len > 0 ? len : a.size); x++) {
            bool in_a = oracle_map(&a, x).element == held_a.element;
            bool in_b = oracle_map(&b, x).element == held_b.element;

            if (in_a)
                from[n_a++] = value(x);
            if (in_a && in_b) {
                want[n_b] = value(x);
                both++;
            }
            n_b += in_b;
        }
        EXPECT(fallsfs_redistribute(&held_a, &held_b, len > 0 ? lo : rng_u64(&rng), len, &moved) == 0);
        EXPECT(moved == both && memcmp(to, want, sizeof to) == 0);
    }
}

/* Stripes that fit nowhere: more pieces than have a short description. */
static void stripes_that_fit_nowhere(void)
{
    const size_t len = 3000000;
    uint8_t *from = malloc(len), *to = calloc(1, len);
    struct fallsfs_held a = { "stripe(101,3)", 1, from }, b = { "stripe(97,2)", 1, to };
    uint64_t n_a = 0, n_b = 0, both = 0, moved;

    EXPECT(from != NULL && to != NULL);
    for (uint64_t x = 0; x < len; x++)
        if (x / 101 % 3 == 1)
            from[n_a++] = (uint8_t) (value(x) | 1);
    EXPECT(fallsfs_redistribute(&a, &b, 0, len, &moved) == 0);
    for (uint64_t x = 0; x < len; x++)
        if (x / 97 % 2 == 1) {
            EXPECT(to[n_b] == (x / 101 % 3 == 1 ? (uint8_t) (value(x) | 1) : 0));
            both += x / 101 % 3 == 1;
            n_b++;
        }
    EXPECT(moved == both);
    free(from);
    free(to);
}

static void wrong_distributions(void)
{
    uint8_t byte = 7;
    struct fallsfs_held good = { "stripe(1,2)", 1, &byte }, none = { "stripe(1,2)", 2, &byte };
    struct fallsfs_held open = { "stripe(1)", 0, &byte };

    EXPECT(fallsfs_redistribute(&good, &none, 0, 0, NULL) == -ENOENT);
    EXPECT(fallsfs_redistribute(&open, &good, 0, 0, NULL) == -EINVAL);
    EXPECT(fallsfs_redistribute(&good, &good, UINT64_C(1) << 62, 1, NULL) == -EOVERFLOW);
    EXPECT(strstr(fallsfs_strerror_last(), "last byte") != NULL && byte == 7);
}

const struct check checks_of_spread[] = {
    { "packs_and_unpacks", packs_and_unpacks },
    { "files_and_memory_with_holes", files_and_memory_with_holes },
    { "much_memory_with_holes", much_memory_with_holes },
    { "an_element_and_memory_with_holes", an_element_and_memory_with_holes },
    { "elements_in_memory", elements_in_memory },
    { "stripes_that_fit_nowhere", stripes_that_fit_nowhere },
    { "wrong_distributions", wrong_distributions },
    { NULL, NULL },
};
