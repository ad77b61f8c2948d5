/* SPDX-License-Identifier: MIT */
#include "fs/learn/habit_pass.h"

#include "fs/learn/fold.h"

/* -- the array that a pass walks through -- */

struct box {
    uint64_t lo[HABIT_MAX_DIMS], hi[HABIT_MAX_DIMS]; /* both included */
};

/* All ranks of a group in one pass. */
struct learning {
    const struct split *split;
    uint32_t n_ranks;
    uint32_t *rank;        /* of all, those of the group */
    struct course *course; /* of each of them */
    struct box *box;
    uint64_t stride[HABIT_MAX_DIMS]; /* the distances that come again, the longest first */
    uint32_t n_strides;
    uint64_t lowest; /* byte that is touched */
};

static void learning_done(struct learning *learning)
{
    free(learning->rank);
    free(learning->course);
    free(learning->box);
}

static int learning_init(struct learning *learning, const struct split *split, uint32_t group, uint32_t n_ranks,
                         uint32_t pass)
{
    *learning = (struct learning){ .split = split,
                                   .rank = calloc(n_ranks, sizeof *learning->rank),
                                   .course = calloc(n_ranks, sizeof *learning->course),
                                   .box = calloc(n_ranks, sizeof *learning->box),
                                   .lowest = UINT64_MAX };
    if (learning->rank == NULL || learning->course == NULL || learning->box == NULL)
        return -ENOMEM;
    for (uint32_t rank = 0; learning->n_ranks < n_ranks; rank++)
        if (split->group[rank] == group) {
            struct course course = course_of(split, rank, pass);

            learning->lowest = MIN(learning->lowest, touch_at(split, course.first)->off);
            learning->course[learning->n_ranks] = course;
            learning->rank[learning->n_ranks++] = rank;
        }
    return 0;
}

/* Keeps strides in order, each once. False: there are too many. */
static bool add_stride(uint64_t stride[], uint32_t *n, uint64_t add)
{
    uint32_t i = 0;

    while (i < *n && stride[i] > add)
        i++;
    if (i < *n && stride[i] == add)
        return true;
    if (*n == HABIT_MAX_DIMS - 1)
        return false;
    memmove(&stride[i + 1], &stride[i], (*n - i) * sizeof stride[0]);
    stride[i] = add;
    (*n)++;
    return true;
}

/* Finds the distances that come again in the accesses of a rank. -EDOM: it has no regular pattern. */
static int find_strides(struct learning *learning, uint32_t i)
{
    struct course course = learning->course[i];
    cleanup(freep) struct segment *segment = malloc(course.n * sizeof *segment);
    cleanup(fold_freep) struct fold *fold = NULL;
    struct falls level[FOLD_MAX_DEPTH];
    size_t n;
    int r;

    if (segment == NULL)
        return -ENOMEM;
    for (size_t k = 0; k < course.n; k++) {
        const struct touch *touch = touch_at(learning->split, course.first + k);

        segment[k] = (struct segment){ touch->off, touch->end };
    }
    r = fold_new(segment, course.n, 1, &fold);
    if (r < 0)
        return r == -E2BIG ? -EDOM : r;
    n = fold_levels(fold, level);
    for (size_t k = 0; k < n; k++)
        if (level[k].n > 1 && !add_stride(learning->stride, &learning->n_strides, level[k].s))
            return -EDOM;
    return n > 0 ? 0 : -EDOM;
}

/* Whether n * stride is a whole dimension of the array, with all that vary faster. */
static bool is_of_array(const struct array *array, uint64_t bytes)
{
    uint64_t stride = array->elem;

    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        stride *= array->size[array_dim(array, pace)];
        if (stride == bytes)
            return true;
    }
    return false;
}

/* Makes the dimensions: one for each stride, and the bytes, or elements, that the last one is made of. */
static int set_dims(const struct learning *learning, const struct array *array, uint64_t size, struct habit_pass *pass)
{
    uint64_t stride[HABIT_MAX_DIMS], of_array = array != NULL ? array->elem : 1, data = size - pass->base;
    uint32_t n = learning->n_strides;

    memcpy(stride, learning->stride, sizeof stride);
    if (!add_stride(stride, &n, of_array))
        return -EDOM;
    for (uint32_t pace = 0; array != NULL && pace + 1 < array->ndims; pace++) {
        of_array *= array->size[array_dim(array, pace)];
        if (!add_stride(stride, &n, of_array))
            return -EDOM;
    }
    pass->by_array = array != NULL;
    pass->end = data;
    pass->n_dims = n;
    for (uint32_t d = 0; d < n; d++) {
        struct habit_dim *dim = &pass->dim[d];

        *dim = (struct habit_dim){ .stride = stride[d], .grid = 1 };
        dim->n = d > 0 ? stride[d - 1] / stride[d] : (data + stride[d] - 1) / stride[d];
        if (d > 0 && stride[d - 1] % stride[d] != 0)
            return -EDOM;
        dim->is_real = d == 0 || (array != NULL && is_of_array(array, stride[d - 1]));
    }
    return 0;
}

static uint64_t digit(const struct habit_pass *pass, uint32_t d, uint64_t byte)
{
    return (byte - pass->base) / pass->dim[d].stride % (d > 0 ? pass->dim[d].n : UINT64_MAX);
}

/* Finds the box of a rank by its first byte and its last. The last row of all may be where the file ends already: who
 * has nothing there would have it. */
static void set_box(const struct learning *learning, const struct habit_pass *pass, uint32_t i)
{
    struct course course = learning->course[i];
    const struct touch *first = touch_at(learning->split, course.first);
    const struct touch *last = touch_at(learning->split, course.first + course.n - 1);
    struct box *box = &learning->box[i];
    uint64_t next = 0;

    for (uint32_t d = 0; d < pass->n_dims; d++) {
        box->lo[d] = digit(pass, d, first->off);
        box->hi[d] = digit(pass, d, last->end - 1);
        next += (d > 0 ? box->lo[d] : box->hi[d] + 1) * pass->dim[d].stride;
    }
    if (pass->n_dims > 1 && box->hi[0] + 2 == pass->dim[0].n && next >= pass->end)
        box->hi[0]++;
}

/* Makes the last dimension one of larger steps where its parts, which are not all alike, are all multiples of them. */
static void find_unit(const struct learning *learning, struct habit_pass *pass)
{
    struct habit_dim *dim = &pass->dim[pass->n_dims - 1];
    uint32_t d = pass->n_dims - 1;
    uint64_t unit = dim->n, first = learning->box[0].hi[d] + 1 - learning->box[0].lo[d];
    bool is_even = true;

    for (uint32_t i = 0; i < learning->n_ranks; i++) {
        unit = gcd_u64(gcd_u64(unit, learning->box[i].lo[d]), learning->box[i].hi[d] + 1);
        is_even &= learning->box[i].hi[d] + 1 - learning->box[i].lo[d] == first;
    }
    if (is_even || unit < 2)
        return;
    dim->n /= unit;
    dim->stride *= unit;
    for (uint32_t i = 0; i < learning->n_ranks; i++) {
        learning->box[i].lo[d] /= unit;
        learning->box[i].hi[d] /= unit;
    }
}

/* -- who has which part -- */

struct part_of {
    uint64_t lo, hi;
};

static int by_place(const void *a, const void *b)
{
    const struct part_of *x = a, *y = b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Finds how the parts come from a division. False: they do not. */
static bool find_rounding(struct habit_dim *dim, const struct part_of part[])
{
    unsigned fits = 0;

    for (unsigned rounding = HABIT_ROUNDINGS; rounding-- > 0;) {
        bool is_it = true;
        struct habit_dim tried = *dim;

        tried.rounding = (enum habit_rounding) rounding;
        for (uint32_t c = 0; c < dim->grid; c++)
            is_it &= habit_part(&tried, c) == part[c].lo && habit_part_end(&tried, c) == part[c].hi + 1;
        if (is_it)
            *dim = tried;
        fits |= (unsigned) is_it << rounding;
    }
    dim->roundings = fits;
    return fits != 0;
}

/* Finds the parts of a dimension that ranks have. part has room for all ranks. */
static int divide(const struct learning *learning, struct habit_pass *pass, uint32_t d, struct part_of part[])
{
    struct habit_dim *dim = &pass->dim[d];
    uint32_t n = 0;

    for (uint32_t i = 0; i < learning->n_ranks; i++)
        part[i] = (struct part_of){ learning->box[i].lo[d], learning->box[i].hi[d] };
    qsort(part, learning->n_ranks, sizeof part[0], by_place);
    for (uint32_t i = 0; i < learning->n_ranks; i++)
        if (n == 0 || by_place(&part[n - 1], &part[i]) != 0)
            part[n++] = part[i];
    dim->grid = n;
    dim->from = part[0].lo;
    dim->to = part[n - 1].hi + 1;
    if (n > 1 && part[0].hi >= part[1].lo)
        dim->overlap = part[0].hi + 1 - part[1].lo;
    return find_rounding(dim, part) ? 0 : -EDOM;
}

/* The last part that begins at a step or before it. */
static uint32_t part_at(const struct habit_dim *dim, uint64_t step)
{
    uint32_t lo = 0, hi = dim->grid - 1;

    while (lo < hi) {
        uint32_t mid = hi - (hi - lo) / 2;

        if (habit_part(dim, mid) <= step)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* The number that a rank of the group has as its place in the grid says. */
static uint32_t number_of(const struct learning *learning, const struct habit_pass *pass, uint32_t i)
{
    uint32_t number = 0;

    for (uint32_t k = 0; k < pass->n_dims; k++) {
        uint32_t d = pass->reversed ? pass->n_dims - 1 - k : k;

        number = number * pass->dim[d].grid + part_at(&pass->dim[d], learning->box[i].lo[d]);
    }
    return number;
}

/* Whether a rank does exactly what the rule says of it. */
static bool is_so(const struct learning *learning, const struct habit_pass *pass, uint32_t i)
{
    struct course course = learning->course[i];
    struct habit_walk walk;
    uint64_t off, end;
    size_t k = 0;

    habit_walk_init(&walk, pass, number_of(learning, pass, i));
    for (; habit_walk_next(&walk, &off, &end); k++)
        if (k == course.n || touch_at(learning->split, course.first + k)->off != off ||
            touch_at(learning->split, course.first + k)->end != end)
            return false;
    return k == course.n;
}

/* Numbers ranks by the grid, the last dimension first or, if that is how they are numbered, the first. Each place must
 * be taken as often. */
static int number_ranks(const struct learning *learning, struct habit_pass *pass)
{
    cleanup(freep) uint32_t *taken = calloc(learning->n_ranks, sizeof *taken);
    uint64_t places = 1;

    if (taken == NULL)
        return -ENOMEM;
    for (uint32_t d = 0; d < pass->n_dims; d++)
        if (mul_overflows(places, pass->dim[d].grid, &places) || places > learning->n_ranks)
            return -EDOM;
    pass->copies = learning->n_ranks / (uint32_t) places;
    for (uint32_t i = 0; i < learning->n_ranks; i++)
        if (taken[number_of(learning, pass, i)]++ == pass->copies)
            return -EDOM;
    if (learning->n_ranks % places != 0)
        return -EDOM;
    pass->reversed = true;
    for (uint32_t i = 0; i < learning->n_ranks; i++)
        if (number_of(learning, pass, i) != i % places)
            pass->reversed = false;
    return 0;
}

/* Tries how much of the array one access has: all of the dimensions from some on. */
static int find_whole(const struct learning *learning, struct habit_pass *pass)
{
    for (uint32_t whole = pass->n_dims; whole-- > 0;) {
        bool is_it = true;

        pass->whole = whole;
        for (uint32_t i = 0; i < learning->n_ranks && is_it; i++)
            is_it = is_so(learning, pass, i);
        if (is_it)
            return 0;
        if (learning->box[0].lo[whole] > 0 || learning->box[0].hi[whole] + 1 < pass->dim[whole].n)
            break; /* less than all of it: what is beyond does not follow */
    }
    return -EDOM;
}

static int try_array(const struct learning *learning, const struct array *array, uint64_t base, uint64_t size,
                     struct habit_pass *pass)
{
    cleanup(freep) struct part_of *part = calloc(learning->n_ranks, sizeof *part);
    int r;

    if (part == NULL)
        return -ENOMEM;
    if (base > learning->lowest)
        return -EDOM;
    pass->base = base;
    r = set_dims(learning, array, size, pass);
    for (uint32_t i = 0; r == 0 && i < learning->n_ranks; i++)
        set_box(learning, pass, i);
    if (r == 0 && array == NULL)
        find_unit(learning, pass);
    for (uint32_t d = 0; r == 0 && d < pass->n_dims; d++)
        r = divide(learning, pass, d, part);
    if (r == 0)
        r = number_ranks(learning, pass);
    return r < 0 ? r : find_whole(learning, pass);
}

/* Tries the array that was said, one that begins where the file does, and one that begins where the first byte is
 * touched. */
static int find_array(const struct learning *learning, const struct array *array, uint64_t size,
                      struct habit_pass *pass)
{
    const struct habit_pass empty = { .writes = touch_at(learning->split, learning->course[0].first)->writes };
    int r = -EDOM;

    for (int way = array != NULL ? 0 : 1; r == -EDOM && way < 3; way++) {
        uint64_t base = way == 0 ? array->header : way == 1 ? 0 : learning->lowest;

        *pass = empty;
        r = try_array(learning, way == 0 ? array : NULL, base, size, pass);
    }
    return r;
}

/* -- cells -- */

/* Dimensions that may be made of cells: one of layers, and one or two that are divided in each. */
struct cells {
    uint32_t turn, dim[2], n, side;
};

static void divide_into_cells(struct habit_pass *pass, const struct cells *cells, unsigned ways,
                              enum habit_rounding rounding)
{
    pass->turn = cells->turn;
    pass->turns = cells->side;
    pass->dim[cells->turn].rounding = rounding;
    for (uint32_t i = 0; i < cells->n; i++) {
        struct habit_dim *dim = &pass->dim[cells->dim[i]];

        dim->grid = cells->side;
        dim->rounding = rounding;
        dim->way = (ways >> i & 1) != 0 ? -1 : 1;
    }
}

/* All ways to go on from layer to layer, and all roundings. */
static int try_cells(const struct learning *learning, const struct cells *cells, struct habit_pass *pass)
{
    struct habit_pass found = *pass;
    unsigned fits = 0;

    for (unsigned ways = 0; fits == 0 && ways < 1u << cells->n; ways++)
        for (unsigned rounding = HABIT_ROUNDINGS; rounding-- > 0;) {
            struct habit_pass tried = *pass;
            int r;

            divide_into_cells(&tried, cells, ways, (enum habit_rounding) rounding);
            r = number_ranks(learning, &tried);
            if (r == 0)
                r = find_whole(learning, &tried);
            if (r == -ENOMEM)
                return r;
            if (r == 0)
                found = tried;
            fits |= (unsigned) (r == 0) << rounding;
        }
    if (fits == 0)
        return -EDOM;
    found.is_either_way = cells->side == 2;
    found.dim[cells->turn].roundings = fits;
    for (uint32_t i = 0; i < cells->n; i++)
        found.dim[cells->dim[i]].roundings = fits;
    *pass = found;
    return 0;
}

/* Whether so many ranks have such cells; how many of them lie in a row. */
static bool is_side(const struct habit_pass *pass, struct cells *cells, uint32_t n_ranks)
{
    uint32_t side = 2;

    while (cells->n == 2 ? side * side < n_ranks : side < n_ranks)
        side++;
    cells->side = side;
    return (cells->n == 2 ? side * side : side) == n_ranks && side <= pass->dim[cells->turn].n &&
           side <= pass->dim[cells->dim[0]].n && side <= pass->dim[cells->dim[1]].n;
}

/* Tries each dimension of an array that was said for layers, and the faster ones for what is divided in them. */
static int find_cells(struct learning *learning, const struct array *array, uint64_t size, struct habit_pass *pass)
{
    int r;

    *pass = (struct habit_pass){ .writes = touch_at(learning->split, learning->course[0].first)->writes,
                                 .base = array->header };
    if (array->header > learning->lowest)
        return -EDOM;
    learning->n_strides = 0; /* the distances between cells are none of the array */
    r = set_dims(learning, array, size, pass);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < learning->n_ranks; i++)
        set_box(learning, pass, i);
    for (uint32_t d = 0; d < pass->n_dims; d++)
        pass->dim[d].to = pass->dim[d].n;
    r = -EDOM;
    for (uint32_t turn = 0; turn + 1 < pass->n_dims; turn++)
        for (uint32_t a = turn + 1; a < pass->n_dims; a++)
            for (uint32_t b = a; b < pass->n_dims && r == -EDOM; b++) {
                struct cells cells = { turn, { a, b }, a == b ? 1 : 2, 0 };

                if (is_side(pass, &cells, learning->n_ranks))
                    r = try_cells(learning, &cells, pass);
            }
    return r;
}

int habit_learn_pass(const struct split *split, uint32_t group, uint32_t n_ranks, uint32_t index,
                     const struct array *array, uint64_t size, struct habit_pass *ret_pass)
{
    cleanup(learning_done) struct learning learning = { 0 };
    int r = learning_init(&learning, split, group, n_ranks, index);

    for (uint32_t i = 0; r == 0 && i < learning.n_ranks; i++)
        r = find_strides(&learning, i);
    if (r == 0)
        r = find_array(&learning, array, size, ret_pass);
    return r == -EDOM && array != NULL ? find_cells(&learning, array, size, ret_pass) : r;
}
