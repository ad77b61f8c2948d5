/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/typemap.h"

#include "layout/copy.h"

#include <stdarg.h>
#include <stdio.h>

/* -- memory -- */

#define CHUNK 2048

struct typemap_chunk {
    struct typemap_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

void typemap_draft_done(struct typemap_draft *draft)
{
    while (draft->chunks != NULL) {
        struct typemap_chunk *next = draft->chunks->next;

        free(draft->chunks);
        draft->chunks = next;
    }
}

void *typemap_alloc(struct typemap_draft *draft, uint64_t n, size_t size)
{
    struct typemap_chunk *chunk = draft->chunks;
    uint64_t len = 0;

    if (draft->error < 0)
        return NULL;
    if (mul_overflows(n, size, &len) || len >= (uint64_t) TYPEMAP_LIMIT) {
        draft->error = -EOVERFLOW;
        return NULL;
    }
    len = (len + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (chunk == NULL || chunk->size - chunk->used < len) {
        size_t room = MAX(len, CHUNK);

        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL) {
            draft->error = -ENOMEM;
            return NULL;
        }
        *chunk = (struct typemap_chunk){ .next = draft->chunks, .size = room };
        draft->chunks = chunk;
    }
    chunk->used += len;
    return (uint8_t *) chunk->bytes + (chunk->used - len);
}

/* -- arithmetic that may not overflow -- */

static const struct typemap_node nothing = { .kind = TYPEMAP_RUN, .ascends = true };

static int64_t checked(struct typemap_draft *draft, bool overflow, int64_t value)
{
    if (draft->error == 0 && (overflow || value >= TYPEMAP_LIMIT || value <= -TYPEMAP_LIMIT))
        draft->error = -EOVERFLOW;
    return draft->error == 0 ? value : 0;
}

static int64_t plus(struct typemap_draft *draft, int64_t a, int64_t b)
{
    int64_t sum;
    bool overflow = __builtin_add_overflow(a, b, &sum);

    return checked(draft, overflow, sum);
}

static int64_t times(struct typemap_draft *draft, uint64_t n, int64_t a)
{
    int64_t product;
    bool overflow = n >= (uint64_t) TYPEMAP_LIMIT || __builtin_mul_overflow((int64_t) n, a, &product);

    return checked(draft, overflow, overflow ? 0 : product);
}

/* -- nodes -- */

struct typemap_node typemap_run(uint64_t len)
{
    struct typemap_node node = nothing;

    node.size = len;
    node.hi = (int64_t) len;
    return node;
}

static struct typemap_node run_at(int64_t off, uint64_t len)
{
    struct typemap_node node = typemap_run(len);

    node.off = off;
    return node;
}

/* The same but for where they are. */
static bool alike(const struct typemap_node *a, const struct typemap_node *b)
{
    return a->kind == b->kind && a->size == b->size && a->n == b->n && a->stride == b->stride && a->inner == b->inner &&
           a->run == b->run;
}

struct typemap_node typemap_loop(struct typemap_draft *draft, uint64_t n, int64_t stride, struct typemap_node inner)
{
    struct typemap_node node = { .kind = TYPEMAP_LOOP, .off = inner.off, .n = n, .stride = stride };
    int64_t far;

    if (n == 0 || inner.size == 0)
        return nothing;
    node.size = (uint64_t) times(draft, n, (int64_t) inner.size);
    far = times(draft, n - 1, stride);
    node.lo = plus(draft, inner.lo, MIN(far, 0));
    node.hi = plus(draft, inner.hi, MAX(far, 0));
    if (draft->error < 0)
        return nothing;
    if (n == 1)
        return inner;
    if (inner.kind == TYPEMAP_RUN && stride == (int64_t) inner.size)
        return run_at(node.off, node.size);
    node.ascends = inner.ascends && stride >= inner.hi - inner.lo;
    if (inner.kind == TYPEMAP_LOOP && stride == times(draft, inner.n, inner.stride)) {
        node.n *= inner.n;
        node.stride = inner.stride;
        node.inner = inner.inner;
        node.ascends = inner.ascends;
        return node;
    }
    inner.off = 0;
    node.inner = typemap_alloc(draft, 1, sizeof inner);
    if (node.inner == NULL)
        return nothing;
    memcpy(drop_const(node.inner), &inner, sizeof inner);
    return node;
}

/* Bounds and order of a list, one item after the other. */
static void take_in(struct typemap_draft *draft, struct typemap_node *list, int64_t lo, int64_t hi, uint64_t size,
                    bool ascends)
{
    bool first = list->size == 0;

    list->ascends = ascends && (first || (list->ascends && lo >= list->hi));
    list->lo = first ? lo : MIN(list->lo, lo);
    list->hi = first ? hi : MAX(list->hi, hi);
    list->size = (uint64_t) plus(draft, (int64_t) list->size, (int64_t) size);
}

static bool is_progression(uint64_t n, const struct typemap_run runs[])
{
    for (uint64_t i = 1; i < n; i++)
        if (runs[i].len != runs[0].len || runs[i].off - runs[i - 1].off != runs[1].off - runs[0].off)
            return false;
    return true;
}

static struct typemap_node freeze_runs(struct typemap_draft *draft, uint64_t n, struct typemap_run *runs)
{
    struct typemap_node node = { .kind = TYPEMAP_RUNS, .n = n, .run = runs };
    uint64_t *before;

    if (n == 0)
        return nothing;
    if (n == 1)
        return run_at(runs[0].off, runs[0].len);
    if (is_progression(n, runs))
        return typemap_loop(draft, n, runs[1].off - runs[0].off, run_at(runs[0].off, runs[0].len));
    before = typemap_alloc(draft, n / TYPEMAP_STEP + 1, sizeof *before);
    for (uint64_t i = 0; i < n && draft->error == 0; i++) {
        if (i % TYPEMAP_STEP == 0)
            before[i / TYPEMAP_STEP] = node.size;
        take_in(draft, &node, runs[i].off, plus(draft, runs[i].off, (int64_t) runs[i].len), runs[i].len, true);
    }
    node.before = before;
    return draft->error == 0 ? node : nothing;
}

/* A run that begins where the one before it ends is a part of it. */
static void append_run(struct typemap_run *runs, uint64_t *n, int64_t off, uint64_t len)
{
    if (len == 0)
        return;
    if (*n > 0 && runs[*n - 1].off + (int64_t) runs[*n - 1].len == off)
        runs[*n - 1].len += len;
    else
        runs[(*n)++] = (struct typemap_run){ off, len };
}

/* None moves up beyond where it was. */
struct typemap_node typemap_runs(struct typemap_draft *draft, uint64_t n, struct typemap_run runs[])
{
    uint64_t n_own = 0;

    for (uint64_t i = 0; i < n; i++) {
        (void) plus(draft, runs[i].off, times(draft, 1, (int64_t) runs[i].len));
        if (draft->error < 0)
            return nothing;
        append_run(runs, &n_own, runs[i].off, runs[i].len);
    }
    return draft->error < 0 ? nothing : freeze_runs(draft, n_own, runs);
}

static struct typemap_node list_of_runs(struct typemap_draft *draft, uint64_t n, const struct typemap_node items[])
{
    struct typemap_run *runs = typemap_alloc(draft, n, sizeof *runs);
    uint64_t n_runs = 0;

    for (uint64_t i = 0; i < n && runs != NULL; i++)
        append_run(runs, &n_runs, items[i].off, items[i].size);
    return runs == NULL ? nothing : freeze_runs(draft, n_runs, runs);
}

/* Items that are alike and equally far apart are a loop. */
static bool is_loop(uint64_t n, const struct typemap_node items[])
{
    for (uint64_t i = 1; i < n; i++)
        if (!alike(&items[i], &items[0]) || items[i].off - items[i - 1].off != items[1].off - items[0].off)
            return false;
    return true;
}

struct typemap_node typemap_list(struct typemap_draft *draft, uint64_t n, const struct typemap_node items[])
{
    struct typemap_node node = { .kind = TYPEMAP_LIST }, *own;
    uint64_t *before;
    bool all_runs = true;

    own = typemap_alloc(draft, n, sizeof *own);
    before = typemap_alloc(draft, n, sizeof *before);
    for (uint64_t i = 0; i < n && draft->error == 0; i++) {
        const struct typemap_node *item = &items[i];

        if (item->size == 0)
            continue;
        all_runs &= item->kind == TYPEMAP_RUN;
        own[node.n] = *item;
        before[node.n++] = node.size;
        take_in(draft, &node, plus(draft, item->off, item->lo), plus(draft, item->off, item->hi), item->size,
                item->ascends);
    }
    if (draft->error < 0 || node.n == 0)
        return nothing;
    if (node.n == 1)
        return own[0];
    if (all_runs)
        return list_of_runs(draft, node.n, own);
    if (is_loop(node.n, own))
        return typemap_loop(draft, node.n, own[1].off - own[0].off, own[0]);
    node.inner = own;
    node.before = before;
    return node;
}

/* -- typemaps -- */

/* How many fit below the limit. */
static uint64_t how_many(const struct typemap_node *one, int64_t extent)
{
    uint64_t limit = (uint64_t) TYPEMAP_LIMIT / 2, step = (uint64_t) (extent < 0 ? -extent : extent);

    return MAX(limit / MAX(MAX(one->size, step), 1), 1);
}

int typemap_new(struct typemap_draft *draft, struct typemap_node one, int64_t extent, struct typemap **ret_typemap)
{
    struct typemap *typemap = draft->error == 0 ? malloc(sizeof *typemap) : NULL;

    if (typemap == NULL)
        return draft->error < 0 ? draft->error : -ENOMEM;
    *typemap = (struct typemap){ .refs = 1, .extent = extent, .one = one };
    typemap->stream = typemap_loop(draft, how_many(&one, extent), extent, one);
    if (draft->error < 0) {
        free(typemap);
        return draft->error;
    }
    typemap->memory = *draft;
    *draft = (struct typemap_draft){ .chunks = NULL };
    *ret_typemap = typemap;
    return 0;
}

struct typemap *typemap_ref(struct typemap *typemap)
{
    __atomic_fetch_add(&typemap->refs, 1, __ATOMIC_RELAXED);
    return typemap;
}

void typemap_put(struct typemap *typemap)
{
    if (typemap == NULL || __atomic_sub_fetch(&typemap->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    typemap_draft_done(&typemap->memory);
    free(typemap);
}

static bool nodes_equal(const struct typemap_node *a, const struct typemap_node *b)
{
    if (a->kind != b->kind || a->off != b->off || a->size != b->size || a->n != b->n || a->stride != b->stride)
        return false;
    switch (a->kind) {
    case TYPEMAP_RUN:
        return true;
    case TYPEMAP_LOOP:
        return a->inner == b->inner || nodes_equal(a->inner, b->inner);
    case TYPEMAP_LIST:
        for (uint64_t i = 0; i < a->n; i++)
            if (!nodes_equal(&a->inner[i], &b->inner[i]))
                return false;
        return true;
    case TYPEMAP_RUNS:
        return a->run == b->run || memcmp(a->run, b->run, a->n * sizeof a->run[0]) == 0;
    }
    return false;
}

bool typemap_equal(const struct typemap *a, const struct typemap *b)
{
    return a == b || (a->extent == b->extent && nodes_equal(&a->one, &b->one));
}

/* -- walking along a stream -- */

struct walk {
    typemap_tell *tell;
    void *arg;
};

/* The last of a list with before <= k. */
static uint64_t find_before(const uint64_t before[], uint64_t n, uint64_t k)
{
    uint64_t lo = 0, hi = n;

    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (before[mid] <= k)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The run that has the byte k, which becomes the byte's place in it. */
static uint64_t find_run(const struct typemap_node *node, uint64_t *k)
{
    uint64_t step = find_before(node->before, (node->n - 1) / TYPEMAP_STEP + 1, *k), i = step * TYPEMAP_STEP;

    for (*k -= node->before[step]; *k >= node->run[i].len; i++)
        *k -= node->run[i].len;
    return i;
}

static void walk_runs(const struct walk *walk, const struct typemap_node *node, int64_t at, uint64_t from, uint64_t len)
{
    uint64_t i = find_run(node, &from);

    for (; len > 0; i++) {
        uint64_t part = MIN(node->run[i].len - from, len);

        walk->tell(walk->arg, at + node->run[i].off + (int64_t) from, part, 0, 1);
        len -= part;
        from = 0;
    }
}

static void walk_node(const struct walk *walk, const struct typemap_node *node, int64_t at, uint64_t from,
                      uint64_t len);

static void walk_loop(const struct walk *walk, const struct typemap_node *node, int64_t at, uint64_t from, uint64_t len)
{
    const struct typemap_node *inner = node->inner;
    uint64_t size = inner->size, i = from / size;

    for (from %= size; len > 0; i++) {
        uint64_t part = MIN(size - from, len);

        if (inner->kind == TYPEMAP_RUN && part == size) {
            walk->tell(walk->arg, at + (int64_t) i * node->stride, size, node->stride, len / size);
            i += len / size - 1;
            len %= size;
            continue;
        }
        walk_node(walk, inner, at + (int64_t) i * node->stride, from, part);
        len -= part;
        from = 0;
    }
}

static void walk_list(const struct walk *walk, const struct typemap_node *node, int64_t at, uint64_t from, uint64_t len)
{
    uint64_t i = find_before(node->before, node->n, from);

    for (from -= node->before[i]; len > 0; i++) {
        uint64_t part = MIN(node->inner[i].size - from, len);

        walk_node(walk, &node->inner[i], at, from, part);
        len -= part;
        from = 0;
    }
}

/* Bytes [from, from + len) of the node, whose off counts from at; len is more than 0. */
static void walk_node(const struct walk *walk, const struct typemap_node *node, int64_t at, uint64_t from, uint64_t len)
{
    at += node->off;
    switch (node->kind) {
    case TYPEMAP_RUN:
        walk->tell(walk->arg, at + (int64_t) from, len, 0, 1);
        break;
    case TYPEMAP_LOOP:
        walk_loop(walk, node, at, from, len);
        break;
    case TYPEMAP_LIST:
        walk_list(walk, node, at, from, len);
        break;
    case TYPEMAP_RUNS:
        walk_runs(walk, node, at, from, len);
        break;
    }
}

void typemap_walk(const struct typemap *typemap, uint64_t from, uint64_t len, typemap_tell *tell, void *arg)
{
    const struct walk walk = { tell, arg };

    if (len > 0)
        walk_node(&walk, &typemap->stream, 0, from, len);
}

/* -- what can be asked -- */

static void tell_place(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    (void) len;
    (void) stride;
    (void) n;
    *(int64_t *) arg = off;
}

int64_t typemap_offset(const struct typemap *typemap, uint64_t k)
{
    int64_t off = 0;

    typemap_walk(typemap, k, 1, tell_place, &off);
    return off;
}

bool typemap_is_run(const struct typemap *typemap, uint64_t from, uint64_t len, int64_t *ret_off)
{
    const struct typemap_node *stream = &typemap->stream;
    uint64_t size;

    if (stream->kind == TYPEMAP_RUN) {
        *ret_off = stream->off + (int64_t) from;
        return true;
    }
    size = typemap->one.size;
    if (typemap->one.kind != TYPEMAP_RUN || from / size != (from + MAX(len, 1) - 1) / size)
        return false;
    *ret_off = typemap->one.off + (int64_t) (from / size) * typemap->extent + (int64_t) (from % size);
    return true;
}

/* -- moving bytes -- */

struct move {
    uint8_t *base, *packed;
    const struct copy_loops *loops;
};

static void tell_gather(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct move *move = arg;
    const uint8_t *from = typemap_place(move->base, off);

    if (n > 1 && stride >= (int64_t) len) {
        move->loops->gather(move->packed, from, len, (size_t) stride, n);
        move->packed += n * len;
        return;
    }
    for (uint64_t i = 0; i < n; i++, from += stride, move->packed += len)
        memcpy(move->packed, from, len);
}

static void tell_scatter(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct move *move = arg;
    uint8_t *to = typemap_place(move->base, off);

    if (n > 1 && stride >= (int64_t) len) {
        move->loops->scatter(to, move->packed, len, (size_t) stride, n);
        move->packed += n * len;
        return;
    }
    for (uint64_t i = 0; i < n; i++, to += stride, move->packed += len)
        memcpy(to, move->packed, len);
}

void typemap_gather(const struct typemap *typemap, const void *base, uint64_t from, uint64_t len, void *packed)
{
    struct move move = { drop_const(base), packed, copy_loops_best() };

    typemap_walk(typemap, from, len, tell_gather, &move);
}

void typemap_scatter(const struct typemap *typemap, void *base, uint64_t from, uint64_t len, const void *packed)
{
    struct move move = { base, drop_const(packed), copy_loops_best() };

    typemap_walk(typemap, from, len, tell_scatter, &move);
}

/* -- text -- */

struct text {
    char *at;
    size_t left;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = text->full ? 0 : vsnprintf(text->at, text->left, fmt, args);
    va_end(args);
    if (n < 0 || (size_t) n >= text->left) {
        text->full = true;
        return;
    }
    text->at += n;
    text->left -= (size_t) n;
}

/* off: of the node's origin from the block that the text is in. */
static void put_node(struct text *text, const struct typemap_node *node, int64_t off);

static void put_loop(struct text *text, const struct typemap_node *node, int64_t off)
{
    const struct typemap_node *inner = node->inner;
    int64_t l = off + inner->lo, r = off + inner->hi - 1;

    put(text, "(%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64, l, r, node->stride, node->n);
    if (inner->kind != TYPEMAP_RUN) {
        put(text, ",{");
        put_node(text, inner, -inner->lo);
        put(text, "}");
    }
    put(text, ")");
}

static void put_run(struct text *text, int64_t off, uint64_t len)
{
    put(text, "(%" PRId64 ",%" PRId64 ",%" PRIu64 ",1)", off, off + (int64_t) len - 1, len);
}

static void put_node(struct text *text, const struct typemap_node *node, int64_t off)
{
    off += node->off;
    if (node->kind == TYPEMAP_LOOP)
        put_loop(text, node, off);
    else if (node->kind == TYPEMAP_RUN)
        put_run(text, off, node->size);
    for (uint64_t i = 0; node->kind >= TYPEMAP_LIST && i < node->n && !text->full; i++) {
        if (i > 0)
            put(text, ",");
        if (node->kind == TYPEMAP_LIST)
            put_node(text, &node->inner[i], off);
        else
            put_run(text, off + node->run[i].off, node->run[i].len);
    }
}

bool typemap_text(const struct typemap *typemap, char *text, size_t size)
{
    struct text out = { .at = text, .left = size };

    put(&out, "{");
    if (typemap->one.size > 0)
        put_node(&out, &typemap->one, 0);
    put(&out, "}");
    return !out.full;
}

/* -- pieces -- */

static uint64_t count_node(const struct typemap_node *node)
{
    uint64_t n = 0, each;

    switch (node->kind) {
    case TYPEMAP_RUN:
        return node->size > 0;
    case TYPEMAP_LOOP:
        each = count_node(node->inner);
        return mul_overflows(node->n, each, &n) ? UINT64_MAX / 2 : n;
    case TYPEMAP_LIST:
        for (uint64_t i = 0; i < node->n; i++)
            if (add_overflows(n, count_node(&node->inner[i]), &n))
                return UINT64_MAX / 2;
        return n;
    case TYPEMAP_RUNS:
        return node->n;
    }
    return 0;
}

uint64_t typemap_count(const struct typemap *typemap)
{
    return count_node(&typemap->one);
}

struct listing {
    struct fallsfs_ioc_piece *pieces;
    uint64_t n;
};

static void tell_piece(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n)
{
    struct listing *listing = arg;

    for (uint64_t i = 0; i < n; i++, off += stride) {
        struct fallsfs_ioc_piece *last = listing->n > 0 ? &listing->pieces[listing->n - 1] : NULL;

        if (last != NULL && last->off + last->len == (uint64_t) off)
            last->len += len;
        else
            listing->pieces[listing->n++] = (struct fallsfs_ioc_piece){ (uint64_t) off, len };
    }
}

uint64_t typemap_pieces(const struct typemap *typemap, struct fallsfs_ioc_piece pieces[])
{
    struct listing listing = { .pieces = pieces };
    const struct walk walk = { tell_piece, &listing };

    if (typemap->one.size > 0)
        walk_node(&walk, &typemap->one, 0, 0, typemap->one.size);
    return listing.n;
}
