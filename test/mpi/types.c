/* SPDX-License-Identifier: MIT */
/* Typemaps of random datatypes beside the same types byte by byte. Ends with 0 or 1. */
#include "ioctl/mpi/types.h"
#include "layout/layout.h"
#include "test/mpi/type_maker.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_COUNT 3
#define MARGIN    ((MAX_COUNT + 1) * MADE_MAX_REACH) /* bytes on both sides of where a type's origin is put */

static uint8_t memory[2 * MARGIN], expected[2 * MARGIN], packed[MAX_COUNT * MADE_MAX_BYTES];
static struct fallsfs_ioc_piece pieces[MADE_MAX_BYTES];
static uint64_t n_views, n_back, n_memory, n_texts, n_lists, n_packed, n_pack_differs;

#define CHECK(what, ...)                               \
    do {                                               \
        if (!(what)) {                                 \
            fprintf(stderr, "%s: ", #what);            \
            fprintf(stderr, __VA_ARGS__);              \
            fprintf(stderr, ", of %s\n", made->words); \
            return false;                              \
        }                                              \
    } while (0)

/* Where a byte of the stream is. */
static int64_t truth(const struct made *made, uint64_t k)
{
    return (int64_t) (k / made->n) * made->extent + made->off[k % made->n];
}

static bool check_places(const struct made *made, const struct typemap *typemap)
{
    int64_t off;

    CHECK(typemap->one.size == made->n, "%zu bytes", made->n);
    CHECK(typemap->extent == made->extent, "extent %" PRId64, made->extent);
    for (uint64_t k = 0; k < MAX_COUNT * made->n; k++) {
        CHECK(typemap_offset(typemap, k) == truth(made, k), "byte %" PRIu64, k);
        if (typemap_is_run(typemap, k, 2, &off))
            CHECK(off == truth(made, k) && truth(made, k + 1) == off + 1, "run at %" PRIu64, k);
    }
    return true;
}

static void fill(struct rng *rng, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t) rng_u64(rng);
}

/* Parts of it to and from memory; the rest of memory stays. */
static bool check_moves(struct rng *rng, const struct made *made, const struct typemap *typemap)
{
    const uint64_t total = MAX_COUNT * made->n, from = rng_below(rng, total + 1),
                   len = rng_below(rng, total - from + 1);
    const size_t lo = 0, hi = sizeof memory;

    for (uint64_t k = from; k < from + len; k++)
        memory[MARGIN + truth(made, k)] = (uint8_t) rng_u64(rng);
    typemap_gather(typemap, memory + MARGIN, from, len, packed);
    for (uint64_t k = 0; k < len; k++)
        CHECK(packed[k] == memory[MARGIN + truth(made, from + k)], "gathered byte %" PRIu64, from + k);
    memcpy(expected + lo, memory + lo, hi - lo);
    fill(rng, packed, len);
    for (uint64_t k = 0; k < len; k++)
        expected[MARGIN + truth(made, from + k)] = packed[k];
    typemap_scatter(typemap, memory + MARGIN, from, len, packed);
    CHECK(memcmp(memory + lo, expected + lo, hi - lo) == 0, "scattered %" PRIu64 " from %" PRIu64, len, from);
    return true;
}

static bool packs_alike(const struct made *made)
{
    int size = 0;

    if (MPI_Pack(memory + MARGIN, 1, made->type, packed, sizeof packed, &size, MPI_COMM_SELF) != MPI_SUCCESS ||
        (size_t) size != made->n)
        return false;
    for (size_t k = 0; k < made->n; k++)
        if (packed[k] != memory[MARGIN + made->off[k]])
            return false;
    return true;
}

/* What MPI itself makes of the type. A difference is listed, not blamed on us: both MPIs have types that they pack
 * wrongly, or fall over. So this is done in a child. */
static void compare_pack(const struct made *made)
{
    pid_t child = fork();
    int status = 1;

    if (child == 0) {
        for (int i = 1; i < NSIG; i++)
            (void) signal(i, SIG_DFL);
        _exit(packs_alike(made) ? 0 : 1);
    }
    n_packed++;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return;
    n_pack_differs++;
    printf("MPI_Pack %s: %s\n", WIFSIGNALED(status) ? "crashes" : "differs", made->words);
}

static bool check_text(const struct made *made, const struct typemap *typemap)
{
    char text[FALLSFS_MAX_TEXT];
    struct layout_error error;
    struct nest *nest;
    int r;

    if (!typemap_text(typemap, text, sizeof text))
        return true;
    n_texts++;
    r = nest_parse(text, strlen(text), &nest, &error);
    CHECK(r == 0, "%s: %s", text, error.why);
    CHECK(nest->size == made->n, "%s", text);
    for (size_t k = 0; k < made->n; k++)
        CHECK(nest_select(nest, k) == (uint64_t) made->off[k], "%s at %zu", text, k);
    nest_free(nest);
    return true;
}

static bool check_pieces(const struct made *made, const struct typemap *typemap)
{
    uint64_t count = typemap_count(typemap), n, k = 0;

    CHECK(count <= made->n, "%" PRIu64 " pieces", count);
    n = typemap_pieces(typemap, pieces);
    n_lists++;
    CHECK(n <= count, "%" PRIu64 " pieces", n);
    for (uint64_t i = 0; i < n; i++) {
        CHECK(pieces[i].len > 0, "piece %" PRIu64, i);
        CHECK(i == 0 || pieces[i].off > pieces[i - 1].off + pieces[i - 1].len, "piece %" PRIu64, i);
        for (uint64_t j = 0; j < pieces[i].len; j++, k++)
            CHECK(k < made->n && pieces[i].off + j == (uint64_t) made->off[k], "piece %" PRIu64, i);
    }
    CHECK(k == made->n, "%" PRIu64 " bytes in pieces", k);
    return true;
}

static bool check_below(struct rng *rng, const struct made *made, const struct typemap *typemap)
{
    for (int i = 0; i < 20; i++) {
        int64_t off = (int64_t) rng_below(rng, (uint64_t) (MAX_COUNT * made->extent) + 2);
        uint64_t k = 0;

        while (k < 2 * MAX_COUNT * made->n && truth(made, k) < off)
            k++;
        if (k < 2 * MAX_COUNT * made->n)
            CHECK(typemap_below(typemap, off) == k, "below %" PRId64 ": %" PRIu64 " or %" PRIu64, off,
                  typemap_below(typemap, off), k);
    }
    return true;
}

static bool check(struct rng *rng, const struct made *made, enum made_for what_for, const struct typemap *typemap)
{
    if (!check_places(made, typemap) || !check_moves(rng, made, typemap))
        return false;
    if (rng_chance(rng, 1))
        compare_pack(made);
    if (what_for == MADE_FOR_MEMORY) {
        n_memory++;
        return true;
    }
    n_views++;
    if (what_for == MADE_FOR_READING) {
        n_back += !typemap_ascends(typemap, MAX_COUNT * made->n);
        CHECK(typemap_is_sorted(typemap), "is not sorted");
        return made->n == 0 || check_below(rng, made, typemap);
    }
    CHECK(typemap_ascends(typemap, MAX_COUNT * made->n), "does not ascend");
    return check_text(made, typemap) && check_pieces(made, typemap) &&
           (made->n == 0 || check_below(rng, made, typemap));
}

static bool run(struct rng *rng)
{
    static struct made storage;
    struct made *made = &storage;
    const enum made_for what_for = (enum made_for) rng_below(rng, MADE_TAME);
    struct typemap *typemap = NULL, *again = NULL;
    bool right;
    int r;

    made_make(rng, 5, what_for, made);
    r = types_parse(made->type, &typemap);
    right = r == 0 && check(rng, made, what_for, typemap);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", made->words, strerror(-r));
    if (right)
        right = types_get(made->type, &again) == 0 && typemap_equal(typemap, again);
    if (right) {
        typemap_put(again);
        right = types_get(made->type, &again) == 0 && typemap_equal(typemap, again);
    }
    made_free(made);
    typemap_put(typemap);
    typemap_put(again);
    return right;
}

int main(int argc, char **argv)
{
    int failed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (struct rng rng = rng_from_env(50000); failed == 0 && rng_next(&rng);)
        if (!run(&rng)) {
            fprintf(stderr, "the case " RNG_SEED "\n", rng.seed);
            failed = 1;
        }
    printf("%" PRIu64 " views (%" PRIu64 " texts, %" PRIu64 " lists, %" PRIu64 " go back), %" PRIu64
           " of memory; MPI_Pack differs in %" PRIu64 " of %" PRIu64 "\n",
           n_views, n_texts, n_lists, n_back, n_memory, n_pack_differs, n_packed);
    MPI_Finalize();
    return failed;
}
