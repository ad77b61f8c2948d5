/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/types.h"

#include <pthread.h>

#define MAX_DEPTH 512 /* types in types; who nests deeper does it to exhaust the stack */

/* -- what MPI tells of a type -- */

/* What it was made of. Where it was made with large counts, counts has what integers and addresses have else. */
struct contents {
    int combiner;
    MPI_Count n_ints, n_addresses, n_counts, n_types;
    int *ints;
    MPI_Aint *addresses;
    MPI_Count *counts;
    MPI_Datatype *types;
};

static bool envelope(MPI_Datatype type, struct contents *contents)
{
    *contents = (struct contents){ .combiner = MPI_COMBINER_NAMED };
#if MPI_VERSION >= 4
    return PMPI_Type_get_envelope_c(type, &contents->n_ints, &contents->n_addresses, &contents->n_counts,
                                    &contents->n_types, &contents->combiner) == MPI_SUCCESS;
#else
    int n_ints = 0, n_addresses = 0, n_types = 0;
    int r = PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &contents->combiner);

    contents->n_ints = n_ints;
    contents->n_addresses = n_addresses;
    contents->n_types = n_types;
    return r == MPI_SUCCESS;
#endif
}

static bool is_predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

bool types_is_predefined(MPI_Datatype type)
{
    struct contents contents;

    return envelope(type, &contents) && is_predefined(contents.combiner);
}

/* The types it was made of are handles of our own, but for predefined ones. */
static void contents_done(struct contents *contents)
{
    for (MPI_Count i = 0; contents->types != NULL && i < contents->n_types; i++) {
        struct contents inner;

        if (envelope(contents->types[i], &inner) && !is_predefined(inner.combiner))
            (void) PMPI_Type_free(&contents->types[i]);
    }
    free(contents->ints);
    free(contents->addresses);
    free(contents->counts);
    free(contents->types);
}

static int fetch(MPI_Datatype type, struct contents *contents)
{
    MPI_Datatype *types = calloc((size_t) contents->n_types + 1, sizeof(MPI_Datatype));

    contents->ints = calloc((size_t) contents->n_ints + 1, sizeof *contents->ints);
    contents->addresses = calloc((size_t) contents->n_addresses + 1, sizeof *contents->addresses);
    contents->counts = calloc((size_t) contents->n_counts + 1, sizeof *contents->counts);
    if (types == NULL || contents->ints == NULL || contents->addresses == NULL || contents->counts == NULL) {
        free(types);
        return -ENOMEM;
    }
#if MPI_VERSION >= 4
    int r = PMPI_Type_get_contents_c(type, contents->n_ints, contents->n_addresses, contents->n_counts,
                                     contents->n_types, contents->ints, contents->addresses, contents->counts, types);
#else
    int r = PMPI_Type_get_contents(type, (int) contents->n_ints, (int) contents->n_addresses, (int) contents->n_types,
                                   contents->ints, contents->addresses, types);
#endif
    if (r != MPI_SUCCESS) {
        free(types);
        return -EINVAL;
    }
    contents->types = types;
    return 0;
}

/* The i-th of the counts, blocklengths, and displacements in elements. */
static int64_t count_at(const struct contents *contents, int64_t i)
{
    return contents->n_counts > 0 ? contents->counts[i] : contents->ints[i];
}

/* The i-th displacement in bytes; with large counts, they come behind n_before others. */
static int64_t bytes_at(const struct contents *contents, int64_t n_before, int64_t i)
{
    return contents->n_counts > 0 ? contents->counts[n_before + i] : contents->addresses[i];
}

/* -- nodes -- */

static struct typemap_node parse(struct typemap_draft *draft, MPI_Datatype type, unsigned depth);

/* What is repeated: a node, and how far apart two of it are when they follow each other. */
struct element {
    struct typemap_node node;
    int64_t extent;
};

static void fail(struct typemap_draft *draft, int error)
{
    if (draft->error == 0)
        draft->error = error;
}

static int64_t times(struct typemap_draft *draft, int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product) || product >= TYPEMAP_LIMIT || product <= -TYPEMAP_LIMIT) {
        fail(draft, -EOVERFLOW);
        return 0;
    }
    return product;
}

static struct typemap_node shift(struct typemap_draft *draft, struct typemap_node node, int64_t by)
{
    if (__builtin_add_overflow(node.off, by, &node.off) || node.off >= TYPEMAP_LIMIT || node.off <= -TYPEMAP_LIMIT) {
        fail(draft, -EOVERFLOW);
        node.off = 0;
    }
    return node;
}

static int64_t extent_of(struct typemap_draft *draft, MPI_Datatype type)
{
    MPI_Count lb = 0, extent = 0;

    if (PMPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS || extent == MPI_UNDEFINED)
        fail(draft, -EOVERFLOW);
    return extent;
}

static struct element element_of(struct typemap_draft *draft, MPI_Datatype type, unsigned depth)
{
    struct element element = { .node = parse(draft, type, depth + 1) };

    element.extent = extent_of(draft, type);
    return element;
}

static struct typemap_node block(struct typemap_draft *draft, const struct element *element, int64_t n)
{
    return typemap_loop(draft, (uint64_t) n, element->extent, element->node);
}

/* n blocks of that length, stride bytes apart. */
static struct typemap_node vector(struct typemap_draft *draft, const struct element *element, int64_t n, int64_t length,
                                  int64_t stride)
{
    return typemap_loop(draft, (uint64_t) n, stride, block(draft, element, length));
}

/* Blocks where nothing is regular. Those of elements that are runs are runs, and there may be very many of them. */
struct blocks {
    struct typemap_draft *draft;
    struct typemap_node *node;
    struct typemap_run *run; /* instead of nodes; the draft's */
    uint64_t n;
};

static bool is_dense(const struct element *element)
{
    return element->node.kind == TYPEMAP_RUN && element->extent == (int64_t) element->node.size;
}

static struct blocks blocks_begin(struct typemap_draft *draft, int64_t n, bool dense)
{
    struct blocks blocks = { .draft = draft };

    if (dense) {
        blocks.run = typemap_alloc(draft, (uint64_t) n, sizeof *blocks.run);
        return blocks;
    }
    blocks.node = calloc((size_t) n + 1, sizeof *blocks.node);
    if (blocks.node == NULL)
        fail(draft, -ENOMEM);
    return blocks;
}

static void blocks_add(struct blocks *blocks, const struct element *element, int64_t length, int64_t off)
{
    if (blocks->draft->error < 0 || length == 0)
        return;
    if (blocks->run != NULL)
        blocks->run[blocks->n++] =
            (struct typemap_run){ shift(blocks->draft, element->node, off).off,
                                  (uint64_t) times(blocks->draft, length, (int64_t) element->node.size) };
    else
        blocks->node[blocks->n++] = shift(blocks->draft, block(blocks->draft, element, length), off);
}

static struct typemap_node blocks_end(struct blocks *blocks)
{
    struct typemap_node node = typemap_run(0);

    if (blocks->draft->error == 0)
        node = blocks->run != NULL ? typemap_runs(blocks->draft, blocks->n, blocks->run)
                                   : typemap_list(blocks->draft, blocks->n, blocks->node);
    free(blocks->node);
    return node;
}

/* INDEXED, HINDEXED, and those with blocks of one length. */
static struct typemap_node indexed(struct typemap_draft *draft, const struct contents *contents, unsigned depth)
{
    const int combiner = contents->combiner;
    const bool same = combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const bool in_bytes = combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const struct element element = element_of(draft, contents->types[0], depth);
    const int64_t n = count_at(contents, 0), n_before = same ? 2 : 1 + n;
    struct blocks blocks = blocks_begin(draft, n, is_dense(&element));

    for (int64_t i = 0; i < n && draft->error == 0; i++) {
        int64_t off =
            in_bytes ? bytes_at(contents, n_before, i) : times(draft, count_at(contents, n_before + i), element.extent);

        blocks_add(&blocks, &element, count_at(contents, same ? 1 : 1 + i), off);
    }
    return blocks_end(&blocks);
}

static struct typemap_node structure(struct typemap_draft *draft, const struct contents *contents, unsigned depth)
{
    const int64_t n = count_at(contents, 0);
    struct blocks blocks = blocks_begin(draft, n, false);

    for (int64_t i = 0; i < n && draft->error == 0; i++) {
        const struct element element = element_of(draft, contents->types[i], depth);

        blocks_add(&blocks, &element, count_at(contents, 1 + i), bytes_at(contents, 1 + n, i));
    }
    return blocks_end(&blocks);
}

/* -- arrays, dimension by dimension, from the one whose elements lie together -- */

struct array_type {
    int64_t ndims;
    bool fortran;
};

static int64_t dim_at(const struct array_type *array, int64_t i)
{
    return array->fortran ? i : array->ndims - 1 - i;
}

static struct typemap_node subarray(struct typemap_draft *draft, const struct contents *contents, unsigned depth)
{
    const bool large = contents->n_counts > 0;
    const int64_t ndims = contents->ints[0], sizes = large ? 0 : 1;
    const struct array_type array = { ndims, contents->ints[large ? 1 : 1 + 3 * ndims] == MPI_ORDER_FORTRAN };
    const struct element element = element_of(draft, contents->types[0], depth);
    struct typemap_node node = element.node;
    int64_t stride = element.extent;

    for (int64_t i = 0; i < ndims; i++) {
        const int64_t dim = sizes + dim_at(&array, i);

        node = typemap_loop(draft, (uint64_t) count_at(contents, dim + ndims), stride, node);
        node = shift(draft, node, times(draft, count_at(contents, dim + 2 * ndims), stride));
        stride = times(draft, stride, count_at(contents, dim));
    }
    return node;
}

/* What one process has of a dimension: so many blocks, that many apart, and the rest of one more. */
struct share {
    int64_t first, length, n, period, rest;
};

static struct share share_of(int64_t size, int dist, int64_t arg, int64_t n_procs, int64_t coord)
{
    struct share share = { .length = size, .n = 1, .period = size };

    if (dist == MPI_DISTRIBUTE_NONE)
        return share;
    if (dist == MPI_DISTRIBUTE_BLOCK)
        share.length = arg == MPI_DISTRIBUTE_DFLT_DARG ? (size + n_procs - 1) / n_procs : arg;
    else
        share.length = arg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arg;
    share.first = coord * share.length;
    share.period = n_procs * share.length;
    share.n = size - share.first < share.length ? 0 : (size - share.first - share.length) / share.period + 1;
    share.rest = MAX(MIN(size - share.first - share.n * share.period, share.length), 0);
    return share;
}

static struct typemap_node distribute(struct typemap_draft *draft, struct typemap_node node, int64_t stride,
                                      const struct share *share)
{
    const int64_t period = times(draft, share->period, stride);
    struct typemap_node parts[2] = {
        typemap_loop(draft, (uint64_t) share->n, period, typemap_loop(draft, (uint64_t) share->length, stride, node)),
        typemap_loop(draft, (uint64_t) share->rest, stride, node),
    };

    parts[1] = shift(draft, parts[1], times(draft, share->n, period));
    return shift(draft, typemap_list(draft, ARRAY_SIZE(parts), parts), times(draft, share->first, stride));
}

static struct typemap_node darray(struct typemap_draft *draft, const struct contents *contents, unsigned depth)
{
    const bool large = contents->n_counts > 0;
    const int64_t ndims = contents->ints[2], dists = large ? 3 : 3 + ndims;
    const struct array_type array = { ndims, contents->ints[dists + 3 * ndims] == MPI_ORDER_FORTRAN };
    const struct element element = element_of(draft, contents->types[0], depth);
    struct typemap_node node = element.node;
    int64_t stride = element.extent;

    for (int64_t i = 0; i < ndims; i++) {
        const int64_t dim = dim_at(&array, i), size = large ? contents->counts[dim] : contents->ints[3 + dim];
        int64_t coord = contents->ints[1];
        struct share share;

        for (int64_t later = ndims - 1; later > dim; later--) /* processes are numbered as C has arrays, always */
            coord /= contents->ints[dists + 2 * ndims + later];
        coord %= contents->ints[dists + 2 * ndims + dim];
        share = share_of(size, contents->ints[dists + dim], contents->ints[dists + ndims + dim],
                         contents->ints[dists + 2 * ndims + dim], coord);
        node = distribute(draft, node, stride, &share);
        stride = times(draft, stride, size);
    }
    return node;
}

/* -- all of them -- */

/* Pairs of C structures have the holes of these. */
static struct typemap_node predefined(struct typemap_draft *draft, MPI_Datatype type)
{
    struct pair {
        short value;
        int index;
    };
    MPI_Count size = 0;
    struct typemap_run *parts;

    if (type == MPI_SHORT_INT && (parts = typemap_alloc(draft, 2, sizeof *parts)) != NULL) {
        parts[0] = (struct typemap_run){ offsetof(struct pair, value), sizeof(short) };
        parts[1] = (struct typemap_run){ offsetof(struct pair, index), sizeof(int) };
        return typemap_runs(draft, 2, parts);
    }
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        fail(draft, -EINVAL);
    return typemap_run((uint64_t) size);
}

static struct typemap_node make(struct typemap_draft *draft, const struct contents *contents, unsigned depth)
{
    struct element element;

    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return parse(draft, contents->types[0], depth + 1);
    case MPI_COMBINER_CONTIGUOUS:
        element = element_of(draft, contents->types[0], depth);
        return block(draft, &element, count_at(contents, 0));
    case MPI_COMBINER_VECTOR:
        element = element_of(draft, contents->types[0], depth);
        return vector(draft, &element, count_at(contents, 0), count_at(contents, 1),
                      times(draft, count_at(contents, 2), element.extent));
    case MPI_COMBINER_HVECTOR:
        element = element_of(draft, contents->types[0], depth);
        return vector(draft, &element, count_at(contents, 0), count_at(contents, 1), bytes_at(contents, 2, 0));
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed(draft, contents, depth);
    case MPI_COMBINER_STRUCT:
        return structure(draft, contents, depth);
    case MPI_COMBINER_SUBARRAY:
        return subarray(draft, contents, depth);
    case MPI_COMBINER_DARRAY:
        return darray(draft, contents, depth);
    default:
        fail(draft, -EINVAL);
        return typemap_run(0);
    }
}

static struct typemap_node parse(struct typemap_draft *draft, MPI_Datatype type, unsigned depth)
{
    struct contents contents;
    struct typemap_node node = typemap_run(0);
    int r;

    if (draft->error == 0 && (depth > MAX_DEPTH || !envelope(type, &contents)))
        fail(draft, -EINVAL);
    if (draft->error < 0)
        return node;
    if (is_predefined(contents.combiner))
        return predefined(draft, type);
    r = fetch(type, &contents);
    if (r < 0)
        fail(draft, r);
    else
        node = make(draft, &contents, depth);
    contents_done(&contents);
    return node;
}

int types_parse(MPI_Datatype type, struct typemap **ret_typemap)
{
    struct typemap_draft draft = { .chunks = NULL };
    struct typemap_node one;
    int r;

    if (type == MPI_DATATYPE_NULL)
        return -EINVAL;
    one = parse(&draft, type, 0);
    r = typemap_new(&draft, one, extent_of(&draft, type), ret_typemap);
    typemap_draft_done(&draft);
    return r;
}

/* -- remembering them -- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval = MPI_KEYVAL_INVALID;

/* Predefined types are never freed, so what is remembered of them goes when MPI ends. */
#define MAX_KEPT 128
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Datatype kept[MAX_KEPT]; /* lock */
static size_t n_kept;               /* lock */

static int forget(MPI_Datatype type, int key, void *typemap, void *state)
{
    (void) type;
    (void) key;
    (void) state;
    typemap_put(typemap);
    return MPI_SUCCESS;
}

/* MPI_Finalize takes the attributes of MPI_COMM_SELF away before it does anything else. */
static int free_keyval(MPI_Comm comm, int key, void *value, void *state)
{
    (void) comm, (void) key, (void) state;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_kept; i++) {
        int found = 0;

        if (PMPI_Type_get_attr(kept[i], keyval, &value, &found) == MPI_SUCCESS && found)
            (void) PMPI_Type_delete_attr(kept[i], keyval);
    }
    n_kept = 0;
    pthread_mutex_unlock(&lock);
    return PMPI_Type_free_keyval(&keyval);
}

static void make_keyval(void)
{
    int at_end;

    if (PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, NULL) != MPI_SUCCESS) {
        keyval = MPI_KEYVAL_INVALID;
        return;
    }
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_keyval, &at_end, NULL) != MPI_SUCCESS)
        return;
    (void) PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, NULL);
    (void) PMPI_Comm_free_keyval(&at_end); /* once the attribute is gone */
}

/* Whether the type may keep what it is: of predefined ones, those that there is room to note. */
static bool may_keep(MPI_Datatype type)
{
    bool may;

    if (keyval == MPI_KEYVAL_INVALID)
        return false;
    if (!types_is_predefined(type))
        return true;
    pthread_mutex_lock(&lock);
    may = n_kept < MAX_KEPT;
    if (may)
        kept[n_kept++] = type;
    pthread_mutex_unlock(&lock);
    return may;
}

int types_get(MPI_Datatype type, struct typemap **ret_typemap)
{
    struct typemap *typemap;
    int found = 0, r;

    if (type == MPI_DATATYPE_NULL)
        return -EINVAL;
    (void) pthread_once(&once, make_keyval);
    if (keyval != MPI_KEYVAL_INVALID && PMPI_Type_get_attr(type, keyval, &typemap, &found) == MPI_SUCCESS && found) {
        *ret_typemap = typemap_ref(typemap);
        return 0;
    }
    r = types_parse(type, &typemap);
    if (r < 0)
        return r;
    if (may_keep(type) && PMPI_Type_set_attr(type, keyval, typemap_ref(typemap)) != MPI_SUCCESS)
        typemap_put(typemap);
    *ret_typemap = typemap;
    return 0;
}

void types_share(MPI_Datatype type, struct typemap *typemap)
{
    struct typemap *own;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID || PMPI_Type_get_attr(type, keyval, &own, &found) != MPI_SUCCESS || !found ||
        own == typemap)
        return;
    if (PMPI_Type_set_attr(type, keyval, typemap_ref(typemap)) != MPI_SUCCESS)
        typemap_put(typemap);
}
