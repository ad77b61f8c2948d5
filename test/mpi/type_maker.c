/* SPDX-License-Identifier: MIT */
#include "test/mpi/type_maker.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_BLOCKS 6
#define MAX_DIMS   3

__attribute__((format(printf, 2, 3))) static void say(struct made *made, const char *fmt, ...)
{
    size_t len = strlen(made->words);
    va_list args;

    va_start(args, fmt);
    vsnprintf(made->words + len, sizeof made->words - len, fmt, args);
    va_end(args);
}

static bool add(struct made *made, int64_t off)
{
    if (made->n == MADE_MAX_BYTES)
        return false;
    made->off[made->n++] = (int32_t) off;
    return true;
}

/* n of the inner type, one after the other, from there on. False: too many bytes. */
static bool add_block(struct made *made, const struct made *inner, int64_t n, int64_t at)
{
    for (int64_t i = 0; i < n; i++)
        for (size_t k = 0; k < inner->n; k++)
            if (!add(made, at + i * inner->extent + inner->off[k]))
                return false;
    return true;
}

static int64_t extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

/* -- predefined -- */

static void make_named(struct rng *rng, enum made_for what_for, struct made *made)
{
    static const size_t short_int[] = { 0, 1, 4, 5, 6, 7 };
    int size;

    *made = (struct made){ .predefined = true };
    switch (what_for == MADE_TAME ? rng_between(rng, 5, 7) : rng_below(rng, 7)) {
    case 0:
        made->type = MPI_SHORT;
        break;
    case 1:
    case 7:
        made->type = MPI_INT;
        break;
    case 2:
        made->type = MPI_DOUBLE;
        break;
    case 3:
        made->type = MPI_DOUBLE_INT;
        break;
    case 4:
        made->type = MPI_SHORT_INT;
        break;
    case 5:
        made->type = MPI_CHAR;
        break;
    default:
        made->type = MPI_BYTE;
        break;
    }
    MPI_Type_size(made->type, &size);
    for (int i = 0; i < size; i++)
        (void) add(made, made->type == MPI_SHORT_INT ? (int64_t) short_int[i] : i);
    made->extent = extent_of(made->type);
    say(made, "n%d", size);
}

/* -- derived: each makes the type and its bytes; false when there are too many -- */

typedef bool maker(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made);

static int small(struct rng *rng, int most)
{
    return (int) rng_below(rng, (uint64_t) most + 1);
}

/* How many extents lie between two things. For files, enough for the first. */
static int gap(struct rng *rng, enum made_for what_for, int least)
{
    if (what_for == MADE_FOR_READING)
        return small(rng, least + 3);
    return what_for != MADE_FOR_MEMORY ? least + small(rng, 3) : small(rng, 8) - 3;
}

/* Whether it is made with what MPI has for large counts; the same cases come of a seed where it has nothing. */
static bool is_large(struct rng *rng, enum made_for what_for, struct made *made)
{
    const bool large = rng_chance(rng, 25) && what_for != MADE_TAME;

    if (large && MPI_VERSION >= 4)
        say(made, "large ");
    return large && MPI_VERSION >= 4;
}

static bool make_contiguous(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    int n = small(rng, 4);

    (void) what_for;
    say(made, "contiguous(%d,", n);
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_contiguous_c(n, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_contiguous(n, inner->type, &made->type);
    return add_block(made, inner, n, 0);
}

static bool make_vector(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    int n = small(rng, 4), length = small(rng, 3), stride = gap(rng, what_for, length);
    bool fits = true;

    say(made, "vector(%d,%d,%d,", n, length, stride);
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_vector_c(n, length, stride, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_vector(n, length, stride, inner->type, &made->type);
    for (int i = 0; i < n && fits; i++)
        fits = add_block(made, inner, length, i * stride * inner->extent);
    return fits;
}

static bool make_hvector(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    int n = small(rng, 4), length = small(rng, 3);
    MPI_Aint stride = what_for == MADE_FOR_MEMORY ? small(rng, 60) - 20 : length * inner->extent + small(rng, 7);
    bool fits = true;

    if (what_for == MADE_FOR_READING)
        stride = small(rng, (int) stride);
    say(made, "hvector(%d,%d,%ld,", n, length, (long) stride);
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_hvector_c(n, length, stride, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_hvector(n, length, stride, inner->type, &made->type);
    for (int i = 0; i < n && fits; i++)
        fits = add_block(made, inner, length, i * stride);
    return fits;
}

/* Blocks of elements, at displacements in units. */
struct blocks {
    int n, length[MAX_BLOCKS], at[MAX_BLOCKS];
    MPI_Aint at_bytes[MAX_BLOCKS];
#if MPI_VERSION >= 4
    MPI_Count large_length[MAX_BLOCKS], large_at[MAX_BLOCKS], large_bytes[MAX_BLOCKS];
#endif
};

static struct blocks make_blocks(struct rng *rng, int64_t extent, enum made_for what_for, bool same)
{
    struct blocks blocks = { .n = small(rng, MAX_BLOCKS) };
    int at = 0;
    MPI_Aint at_bytes = 0;
    const int first = small(rng, 3), even = small(rng, 3);
    const bool regular = rng_chance(rng, 30);

    for (int i = 0; i < blocks.n; i++) {
        const int hole = regular ? even : small(rng, 3);
        const bool overlap = what_for == MADE_FOR_READING && rng_chance(rng, 50);

        blocks.length[i] = same || regular ? first : small(rng, 3);
        blocks.at[i] = what_for != MADE_FOR_MEMORY ? at + hole : small(rng, 16) - 4;
        blocks.at_bytes[i] = what_for != MADE_FOR_MEMORY ? at_bytes + hole : small(rng, 90) - 20;
        at = blocks.at[i] + (overlap ? 0 : blocks.length[i]);
        at_bytes = blocks.at_bytes[i] + (overlap ? 0 : blocks.length[i] * extent);
#if MPI_VERSION >= 4
        blocks.large_length[i] = blocks.length[i];
        blocks.large_at[i] = blocks.at[i];
        blocks.large_bytes[i] = blocks.at_bytes[i];
#endif
    }
    return blocks;
}

static bool add_blocks(struct made *made, const struct made *inner, const struct blocks *blocks, bool in_bytes)
{
    bool fits = true;

    say(made, "%d:", blocks->n);
    for (int i = 0; i < blocks->n && fits; i++) {
        say(made, "%d@%ld,", blocks->length[i], in_bytes ? (long) blocks->at_bytes[i] : (long) blocks->at[i]);
        fits =
            add_block(made, inner, blocks->length[i], in_bytes ? blocks->at_bytes[i] : blocks->at[i] * inner->extent);
    }
    return fits;
}

static bool make_indexed(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    struct blocks blocks = make_blocks(rng, inner->extent, what_for, false);

    say(made, "indexed(");
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_indexed_c(blocks.n, blocks.large_length, blocks.large_at, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_indexed(blocks.n, blocks.length, blocks.at, inner->type, &made->type);
    return add_blocks(made, inner, &blocks, false);
}

static bool make_hindexed(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    struct blocks blocks = make_blocks(rng, inner->extent, what_for, false);

    say(made, "hindexed(");
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_hindexed_c(blocks.n, blocks.large_length, blocks.large_bytes, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_hindexed(blocks.n, blocks.length, blocks.at_bytes, inner->type, &made->type);
    return add_blocks(made, inner, &blocks, true);
}

static bool make_indexed_block(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    struct blocks blocks = make_blocks(rng, inner->extent, what_for, true);

    say(made, "indexed_block(");
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_indexed_block_c(blocks.n, blocks.length[0], blocks.large_at, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_indexed_block(blocks.n, blocks.length[0], blocks.at, inner->type, &made->type);
    return add_blocks(made, inner, &blocks, false);
}

static bool make_hindexed_block(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    struct blocks blocks = make_blocks(rng, inner->extent, what_for, true);

    say(made, "hindexed_block(");
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_hindexed_block_c(blocks.n, blocks.length[0], blocks.large_bytes, inner->type, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_hindexed_block(blocks.n, blocks.length[0], blocks.at_bytes, inner->type, &made->type);
    return add_blocks(made, inner, &blocks, true);
}

/* Besides the inner type, doubles. */
static bool make_struct(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    struct blocks blocks = make_blocks(rng, MAX(inner->extent, 8), what_for, false);
    MPI_Datatype types[MAX_BLOCKS];
    struct made other;
    bool fits = true;

    make_named(rng, what_for, &other);
    other.extent = extent_of(other.type);
    say(made, "struct(%d:", blocks.n);
    for (int i = 0; i < blocks.n; i++) {
        const struct made *of = rng_chance(rng, 60) ? inner : &other;

        if (what_for != MADE_FOR_MEMORY && of == &other &&
            blocks.length[i] * other.extent > blocks.length[i] * MAX(inner->extent, 8))
            of = inner;
        types[i] = of->type;
        say(made, "%d@%ld%s,", blocks.length[i], (long) blocks.at_bytes[i], of == inner ? "" : other.words);
        fits = fits && add_block(made, of, blocks.length[i], blocks.at_bytes[i]);
    }
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_struct_c(blocks.n, blocks.large_length, blocks.large_bytes, types, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_struct(blocks.n, blocks.length, blocks.at_bytes, types, &made->type);
    return fits;
}

/* The place of an element, numbered as the array is stored. */
static int64_t place_of(int ndims, const int size[], const int at[], bool fortran)
{
    int64_t place = 0;

    for (int i = 0; i < ndims; i++) {
        int dim = fortran ? ndims - 1 - i : i;

        place = place * size[dim] + at[dim];
    }
    return place;
}

/* The next element in the order the array is stored in, of those from first on, so many in each dimension. */
static bool step(int ndims, const int n[], int index[], bool fortran)
{
    for (int i = 0; i < ndims; i++) {
        int dim = fortran ? i : ndims - 1 - i;

        if (++index[dim] < n[dim])
            return true;
        index[dim] = 0;
    }
    return false;
}

static bool make_subarray(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    const int ndims = 1 + small(rng, MAX_DIMS - 1);
    const bool fortran = rng_chance(rng, 50);
    int size[MAX_DIMS], sub[MAX_DIMS], start[MAX_DIMS], index[MAX_DIMS] = { 0 };
    bool fits = true;

    (void) what_for;
    say(made, "subarray%c(", fortran ? 'F' : 'C');
    for (int i = 0; i < ndims; i++) {
        size[i] = 1 + small(rng, 4);
        sub[i] = 1 + small(rng, size[i] - 1);
        start[i] = small(rng, size[i] - sub[i]);
        say(made, "%d/%d/%d,", size[i], sub[i], start[i]);
    }
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made)) {
        MPI_Count counts[3][MAX_DIMS];

        for (int i = 0; i < ndims; i++) {
            counts[0][i] = size[i];
            counts[1][i] = sub[i];
            counts[2][i] = start[i];
        }
        MPI_Type_create_subarray_c(ndims, counts[0], counts[1], counts[2], fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                                   inner->type, &made->type);
    } else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_subarray(ndims, size, sub, start, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, inner->type,
                                 &made->type);
    do {
        int at[MAX_DIMS];

        for (int i = 0; i < ndims; i++)
            at[i] = start[i] + index[i];
        fits = add_block(made, inner, 1, place_of(ndims, size, at, fortran) * inner->extent);
    } while (fits && step(ndims, sub, index, fortran));
    return fits;
}

static bool make_darray(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    static const int dists[] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE };
    const int ndims = 1 + small(rng, MAX_DIMS - 1);
    const bool fortran = rng_chance(rng, 50);
    int size[MAX_DIMS], dist[MAX_DIMS], arg[MAX_DIMS], procs[MAX_DIMS], coord[MAX_DIMS], index[MAX_DIMS] = { 0 };
    int n_procs = 1, rank, rest;
    bool fits = true;

    (void) what_for;
    for (int i = 0; i < ndims; i++) {
        size[i] = 1 + small(rng, 6);
        dist[i] = dists[rng_below(rng, ARRAY_SIZE(dists))];
        procs[i] = dist[i] == MPI_DISTRIBUTE_NONE ? 1 : 1 + small(rng, 2);
        arg[i] = MPI_DISTRIBUTE_DFLT_DARG;
        if (dist[i] == MPI_DISTRIBUTE_CYCLIC && rng_chance(rng, 60))
            arg[i] = 1 + small(rng, 2);
        if (dist[i] == MPI_DISTRIBUTE_BLOCK && rng_chance(rng, 30))
            arg[i] = (size[i] + procs[i] - 1) / procs[i] + small(rng, 2);
        n_procs *= procs[i];
    }
    rank = small(rng, n_procs - 1);
    rest = rank;
    for (int i = ndims - 1; i >= 0; i--) {
        coord[i] = rest % procs[i];
        rest /= procs[i];
    }
    say(made, "darray%c(%d/%d:", fortran ? 'F' : 'C', rank, n_procs);
    for (int i = 0; i < ndims; i++)
        say(made, "%d %s(%d)/%d,", size[i],
            dist[i] == MPI_DISTRIBUTE_BLOCK    ? "block"
            : dist[i] == MPI_DISTRIBUTE_CYCLIC ? "cyclic"
                                               : "none",
            arg[i] == MPI_DISTRIBUTE_DFLT_DARG ? -1 : arg[i], procs[i]);
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made)) {
        MPI_Count counts[MAX_DIMS];

        for (int i = 0; i < ndims; i++)
            counts[i] = size[i];
        MPI_Type_create_darray_c(n_procs, rank, ndims, counts, dist, arg, procs,
                                 fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, inner->type, &made->type);
    } else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_darray(n_procs, rank, ndims, size, dist, arg, procs, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                               inner->type, &made->type);
    do {
        bool mine = true;

        for (int i = 0; i < ndims; i++) {
            int block = arg[i];

            if (dist[i] == MPI_DISTRIBUTE_NONE)
                block = size[i];
            else if (arg[i] == MPI_DISTRIBUTE_DFLT_DARG)
                block = dist[i] == MPI_DISTRIBUTE_BLOCK ? (size[i] + procs[i] - 1) / procs[i] : 1;
            mine &= index[i] / block % procs[i] == coord[i];
        }
        if (mine)
            fits = add_block(made, inner, 1, place_of(ndims, size, index, fortran) * inner->extent);
    } while (fits && step(ndims, size, index, fortran));
    return fits;
}

static bool make_dup(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    (void) rng;
    (void) what_for;
    say(made, "dup(");
    MPI_Type_dup(inner->type, &made->type);
    return add_block(made, inner, 1, 0);
}

static int64_t end_of(const struct made *made)
{
    int64_t end = 0;

    for (size_t i = 0; i < made->n; i++)
        end = MAX(end, made->off[i] + 1);
    return end;
}

static bool make_resized(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    MPI_Aint lb = 0, extent = end_of(inner) + small(rng, 8);

    if (what_for == MADE_FOR_READING)
        extent = 1 + small(rng, (int) extent);
    if (what_for == MADE_FOR_MEMORY) {
        lb = small(rng, 6) - 3;
        extent = small(rng, 60) - 20;
    }
    say(made, "resized(%ld,%ld,", (long) lb, (long) extent);
#if MPI_VERSION >= 4
    if (is_large(rng, what_for, made))
        MPI_Type_create_resized_c(inner->type, lb, extent, &made->type);
    else
#else
    (void) is_large(rng, what_for, made);
#endif
        MPI_Type_create_resized(inner->type, lb, extent, &made->type);
    return add_block(made, inner, 1, 0);
}

/* The first of them for tame types, too. */
#define N_TAME 3

static maker *const makers[] = {
    make_contiguous,    make_vector,         make_indexed, make_subarray, make_hvector, make_hindexed,
    make_indexed_block, make_hindexed_block, make_struct,  make_darray,   make_dup,     make_resized,
};

/* Whether a view may have it: the standard wants file types that ascend, from 0 or more on. */
static bool may_be_viewed(const struct made *made)
{
    for (size_t i = 0; i < made->n; i++)
        if (made->off[i] < 0 || (i > 0 && made->off[i] <= made->off[i - 1]))
            return false;
    return made->n == 0 || made->off[made->n - 1] - made->off[0] < made->extent;
}

static bool may_be_read(const struct made *made)
{
    int64_t begin = 0; /* of the run */

    for (size_t i = 0; i < made->n; i++) {
        if (i > 0 && made->off[i] == made->off[i - 1] + 1)
            continue;
        if (made->off[i] < begin)
            return false;
        begin = made->off[i];
    }
    return made->extent > 0 || made->n == 0;
}

static bool may_be(const struct made *made, enum made_for what_for)
{
    if (what_for == MADE_FOR_READING)
        return may_be_read(made);
    return what_for == MADE_FOR_MEMORY || may_be_viewed(made);
}

static bool is_near(const struct made *made)
{
    for (size_t i = 0; i < made->n; i++)
        if (made->off[i] < -MADE_MAX_REACH || made->off[i] > MADE_MAX_REACH)
            return false;
    return made->extent >= -MADE_MAX_REACH && made->extent <= MADE_MAX_REACH;
}

static bool try_one(struct rng *rng, const struct made *inner, enum made_for what_for, struct made *made)
{
    bool fits;

    made->n = 0;
    made->predefined = false;
    made->words[0] = 0;
    made->type = MPI_DATATYPE_NULL; /* Open MPI refuses some: it stays so */
    fits = makers[rng_below(rng, what_for == MADE_TAME ? N_TAME : ARRAY_SIZE(makers))](rng, inner, what_for, made);
    if (made->type == MPI_DATATYPE_NULL)
        return false;
    made->extent = extent_of(made->type);
    say(made, "%s)", inner->words);
    if (fits && is_near(made) && may_be(made, what_for))
        return true;
    MPI_Type_free(&made->type);
    return false;
}

/* On top of each other; what would be too large, or no view, is tried again in another way. */
void made_make(struct rng *rng, unsigned depth, enum made_for what_for, struct made *ret_made)
{
    unsigned levels = (unsigned) rng_between(rng, 1, depth);
    struct made *inner = malloc(sizeof *inner), *outer = malloc(sizeof *outer);

    if (inner == NULL || outer == NULL)
        abort();
    make_named(rng, what_for, inner);
    for (unsigned i = 0; i < levels; i++) {
        struct made *other = outer;

        for (unsigned tries = 0; !try_one(rng, inner, what_for, outer); tries++)
            if (tries > 20)
                goto done;
        if (!inner->predefined)
            MPI_Type_free(&inner->type);
        outer = inner;
        inner = other;
    }
done:
    *ret_made = *inner;
    if (!ret_made->predefined)
        MPI_Type_commit(&ret_made->type);
    free(inner);
    free(outer);
}

void made_free(struct made *made)
{
    if (!made->predefined)
        MPI_Type_free(&made->type);
}
