/* SPDX-License-Identifier: MIT */
#include "ioctl/list.h"

#include "ioctl/guard.h"
#include "ioctl/piece_move.h"
#include "layout/falls.h"

#include <string.h>

#define CHUNK 1024 /* pieces that are looked at at once */

static uint64_t bytes_of(uint64_t n)
{
    return sizeof(struct pieces) + (n + 1) * sizeof(struct list_piece);
}

/* -- from a program's memory -- */

struct fetch {
    const uint8_t *from;
    size_t len;
    struct fallsfs_ioc_piece *to;
};

static void run_fetch(void *arg)
{
    const struct fetch *fetch = arg;

    memcpy(fetch->to, fetch->from, fetch->len);
}

/* A copy that nobody else can change. */
static int fetch_chunk(const struct list_source *from, uint64_t first, uint64_t n, struct fallsfs_ioc_piece chunk[])
{
    struct fetch fetch = { from->at + first * sizeof *chunk, n * sizeof *chunk, chunk };
    int r = from->ready != NULL ? from->ready(from->memory, fetch.from, fetch.len, false) : 0;

    if (r == 0 && guard_run(run_fetch, &fetch) < 0) {
        r = from->ready != NULL ? from->ready(from->memory, fetch.from, fetch.len, true) : -EFAULT;
        if (r == 0)
            r = guard_run(run_fetch, &fetch);
    }
    return r;
}

/* -- making them -- */

static int add_piece(struct pieces *pieces, const struct fallsfs_ioc_piece *given)
{
    struct list_piece *end = &pieces->piece[pieces->n]; /* where the last one ends */

    if (given->len == 0 || (pieces->n > 0 && given->off < end->off))
        return -EINVAL;
    if (given->off >= FALLS_LIMIT || given->len > FALLS_LIMIT - given->off)
        return -EOVERFLOW;
    if (pieces->n == 0 || given->off > end->off) {
        *end = (struct list_piece){ given->off, pieces->size };
        end++;
        pieces->n++;
    }
    pieces->size += given->len;
    *end = (struct list_piece){ given->off + given->len, pieces->size };
    pieces->longest = MAX(pieces->longest, end->before - end[-1].before);
    return 0;
}

static int add_pieces(struct pieces *pieces, const struct list_source *from)
{
    struct fallsfs_ioc_piece chunk[CHUNK];
    int r = 0;

    for (uint64_t at = 0; r == 0 && at < from->n; at += CHUNK) {
        uint64_t n = MIN(from->n - at, CHUNK);

        r = fetch_chunk(from, at, n, chunk);
        for (uint64_t i = 0; r == 0 && i < n; i++)
            r = add_piece(pieces, &chunk[i]);
    }
    return r;
}

/* Pieces that touch have left room. */
static void give_back(struct pieces **pieces)
{
    uint64_t need = bytes_of((*pieces)->n), spare = (*pieces)->charged - need;
    struct pieces *less;

    if (spare == 0 || (less = realloc(*pieces, need)) == NULL)
        return;
    *pieces = less;
    less->charged = need;
    if (less->payer.charge != NULL)
        less->payer.discharge(less->payer.ctx, less->payer.uid, spare);
}

static int make_room(uint64_t n, const struct payer *payer, struct pieces **ret_pieces)
{
    uint64_t bytes = bytes_of(n);
    int r = payer->charge != NULL ? payer->charge(payer->ctx, payer->uid, bytes) : 0;
    struct pieces *pieces;

    if (r < 0)
        return r;
    pieces = malloc(bytes);
    if (pieces == NULL) {
        if (payer->charge != NULL)
            payer->discharge(payer->ctx, payer->uid, bytes);
        return -ENOMEM;
    }
    *pieces = (struct pieces){ .payer = *payer, .charged = bytes, .n_given = n };
    atomic_init(&pieces->refs, 1);
    *ret_pieces = pieces;
    return 0;
}

int pieces_copy(const struct list_source *from, const struct payer *payer, struct pieces **ret_pieces)
{
    struct pieces *pieces = NULL;
    int r = from->n > LIST_MAX_PIECES ? -E2BIG : make_room(from->n, payer, &pieces);

    if (r == 0)
        r = add_pieces(pieces, from);
    if (r < 0) {
        pieces_put(pieces);
        return r;
    }
    give_back(&pieces);
    *ret_pieces = pieces;
    return 0;
}

struct pieces *pieces_ref(struct pieces *pieces)
{
    atomic_fetch_add(&pieces->refs, 1);
    return pieces;
}

void pieces_put(struct pieces *pieces)
{
    struct payer payer;
    uint64_t charged;

    if (pieces == NULL || atomic_fetch_sub(&pieces->refs, 1) > 1)
        return;
    payer = pieces->payer;
    charged = pieces->charged;
    free(pieces);
    if (payer.charge != NULL)
        payer.discharge(payer.ctx, payer.uid, charged);
}

/* -- comparing them -- */

/* How far a comparison has come: what is left of a piece, from off on; len 0: the next piece comes. */
struct progress {
    uint64_t next; /* piece */
    uint64_t off, len;
};

static bool go_on(const struct pieces *pieces, struct progress *progress, const struct fallsfs_ioc_piece *given)
{
    if (progress->len == 0) {
        const struct list_piece *piece = &pieces->piece[progress->next];

        if (progress->next++ == pieces->n)
            return false;
        progress->off = piece->off;
        progress->len = piece[1].before - piece->before;
    }
    if (given->off != progress->off || given->len > progress->len || given->len == 0)
        return false;
    progress->off += given->len;
    progress->len -= given->len;
    return true;
}

int pieces_are(const struct pieces *pieces, const struct list_source *from)
{
    struct fallsfs_ioc_piece chunk[CHUNK];
    struct progress progress = { 0 };

    if (pieces->n_given != from->n)
        return 0;
    for (uint64_t at = 0; at < from->n; at += CHUNK) {
        uint64_t n = MIN(from->n - at, CHUNK);
        int r = fetch_chunk(from, at, n, chunk);

        if (r != 0)
            return r;
        for (uint64_t i = 0; i < n; i++)
            if (!go_on(pieces, &progress, &chunk[i]))
                return 0;
    }
    return progress.next == pieces->n && progress.len == 0;
}

bool pieces_equal(const struct pieces *a, const struct pieces *b)
{
    return a == b ||
           (a->n == b->n && a->size == b->size && memcmp(a->piece, b->piece, (a->n + 1) * sizeof a->piece[0]) == 0);
}

/* -- what is wanted -- */

int list_init(struct list *list, const struct pieces *pieces, uint64_t disp, uint64_t extent, uint64_t skip,
              uint64_t bytes)
{
    uint64_t span = pieces->piece[pieces->n].off - pieces->piece[0].off, base, end, tiles, reach;

    if (add_overflows(skip, bytes, &end))
        return -EOVERFLOW;
    if (extent == 0 ? end > pieces->size : extent < span)
        return -EINVAL;
    tiles = (end - 1) / pieces->size; /* before the last one */
    if (add_overflows(disp, pieces->piece[0].off, &base) || mul_overflows(tiles, extent, &reach) ||
        add_overflows(base, reach, &reach) || add_overflows(reach, span, &reach) || reach > FALLS_LIMIT)
        return -EOVERFLOW;
    *list = (struct list){
        .pieces = pieces, .base = base, .extent = extent > 0 ? extent : UINT64_MAX, .skip = skip, .size = bytes
    };
    return 0;
}

/* The last piece that starts at or before off, which none does before the first. */
static const struct list_piece *piece_at(const struct pieces *pieces, uint64_t off)
{
    const struct list_piece *piece = pieces->piece;

    for (uint64_t n = pieces->n; n > 1; n -= n / 2)
        if (piece[n / 2].off <= off)
            piece += n / 2;
    return piece;
}

/* The piece that has the k-th byte. */
static const struct list_piece *piece_with(const struct pieces *pieces, uint64_t k)
{
    const struct list_piece *piece = pieces->piece;

    for (uint64_t n = pieces->n; n > 1; n -= n / 2)
        if (piece[n / 2].before <= k)
            piece += n / 2;
    return piece;
}

static uint64_t len_of(const struct list_piece *piece)
{
    return piece[1].before - piece->before;
}

uint64_t list_rank(const struct list *list, uint64_t x)
{
    const struct pieces *pieces = list->pieces;
    const struct list_piece *piece;
    uint64_t tile, off, rank;

    if (x <= list->base)
        return 0;
    tile = (x - list->base) / list->extent;
    off = (x - list->base) % list->extent + pieces->piece[0].off;
    piece = piece_at(pieces, off);
    rank = tile * pieces->size + piece->before + MIN(off - piece->off, len_of(piece));
    return rank <= list->skip ? 0 : MIN(rank - list->skip, list->size);
}

uint64_t list_select_run(const struct list *list, uint64_t k, uint64_t *ret_len)
{
    const struct pieces *pieces = list->pieces;
    uint64_t tile = (list->skip + k) / pieces->size, rank = (list->skip + k) % pieces->size;
    const struct list_piece *piece = piece_with(pieces, rank);

    *ret_len = MIN(piece[1].before - rank, list->size - k);
    return list->base + tile * list->extent + (piece->off - pieces->piece[0].off) + (rank - piece->before);
}

/* -- from piece to piece -- */

/* Only so far as there is something of the list: skip and size cut the first tile and the last. */
static bool clip(const struct list *list, uint64_t *lo, uint64_t *hi)
{
    uint64_t len;

    *lo = MAX(*lo, list_select_run(list, 0, &len));
    *hi = MIN(*hi, list_select_run(list, list->size - 1, &len) + 1);
    return *lo < *hi;
}

/* The pieces of one tile that reach into [lo, hi); the first one and the last one may do so in part. */
struct stretch {
    const struct list_piece *piece, *end;
    uint64_t tile_off; /* where offsets of pieces count from; may be less than 0, and wraps back */
};

static struct stretch stretch_of(const struct list *list, uint64_t tile, uint64_t lo, uint64_t hi)
{
    const struct pieces *pieces = list->pieces;
    const uint64_t first = pieces->piece[0].off, tile_off = list->base + tile * list->extent - first;
    const struct list_piece *piece = piece_at(pieces, lo > tile_off + first ? lo - tile_off : first);

    if (tile_off + piece->off + len_of(piece) <= lo)
        piece++;
    return (struct stretch){ piece, piece_at(pieces, hi - 1 - tile_off) + 1, tile_off };
}

typedef void stretch_visit(void *arg, const struct list *list, const struct stretch *stretch, uint64_t lo, uint64_t hi);

static void each_stretch(const struct list *list, uint64_t lo, uint64_t hi, stretch_visit *visit, void *arg)
{
    uint64_t tile, last;

    if (!clip(list, &lo, &hi))
        return;
    last = (hi - 1 - list->base) / list->extent;
    for (tile = (lo - list->base) / list->extent; tile <= last; tile++) {
        const struct stretch stretch = stretch_of(list, tile, lo, hi);

        if (stretch.piece < stretch.end)
            visit(arg, list, &stretch, lo, hi);
    }
}

struct runs_visit {
    list_visit *visit;
    void *arg;
};

static void visit_runs(void *arg, const struct list *list, const struct stretch *stretch, uint64_t lo, uint64_t hi)
{
    const struct runs_visit *runs = arg;

    (void) list;
    for (const struct list_piece *piece = stretch->piece; piece < stretch->end; piece++) {
        uint64_t off = stretch->tile_off + piece->off, end = MIN(off + len_of(piece), hi);

        off = MAX(off, lo);
        runs->visit(runs->arg, off, end - off);
    }
}

void list_each_run(const struct list *list, uint64_t lo, uint64_t hi, list_visit *visit, void *arg)
{
    each_stretch(list, lo, hi, visit_runs, &(struct runs_visit){ visit, arg });
}

/* -- moving the bytes -- */

/* Of the two, spread has holes, and its first byte is that at lo in the file. */
struct transfer {
    uint8_t *spread, *packed;
    uint64_t lo;
    size_t moved;
};

/* A stretch as it is moved: its offsets, from the first byte that is moved on, are places in the two. */
struct places {
    uint64_t off, before;
    uint8_t *spread, *packed;
    uint64_t spread_len, packed_len;
};

static struct places places_of(const struct transfer *t, const struct stretch *stretch, uint64_t lo, uint64_t hi)
{
    const struct list_piece *first = stretch->piece, *last = stretch->end - 1;
    const uint64_t begin = MAX(stretch->tile_off + first->off, lo);
    const uint64_t end = MIN(stretch->tile_off + last->off + len_of(last), hi);
    const uint64_t before = first->before + (begin - stretch->tile_off - first->off);

    return (struct places){ .off = begin - stretch->tile_off,
                            .before = before,
                            .spread = t->spread + (begin - t->lo),
                            .packed = t->packed + t->moved,
                            .spread_len = end - begin,
                            .packed_len = last->before + (end - stretch->tile_off - last->off) - before };
}

/* Whole pieces, each with some bytes too many, which the next one's take the place of. Stops where these would be
 * beyond what is moved. */
__attribute__((always_inline)) static inline const struct list_piece *
gather_wide(const struct places *places, const struct list_piece *piece, const struct list_piece *end, size_t width)
{
    const struct places p = *places;

    for (; piece < end; piece++) {
        const uint64_t off = piece->off - p.off, before = piece->before - p.before;

        if (off + width > p.spread_len || before + width > p.packed_len)
            break;
        piece_move_wide(p.packed + before, p.spread + off, width);
    }
    return piece;
}

static const struct list_piece *gather_some(const struct places *places, const struct list_piece *piece,
                                            const struct list_piece *end, uint64_t longest)
{
    if (longest <= 16)
        return gather_wide(places, piece, end, 16);
    if (longest <= 32)
        return gather_wide(places, piece, end, 32);
    if (longest <= 64)
        return gather_wide(places, piece, end, 64);
    if (longest <= 96)
        return gather_wide(places, piece, end, 96);
    return longest <= 128 ? gather_wide(places, piece, end, 128) : piece;
}

/* How much of the first piece is moved. */
static uint64_t first_len(const struct places *places, const struct list_piece *piece)
{
    return MIN(piece[1].before - places->before, places->packed_len);
}

static uint64_t last_len(const struct places *places, const struct list_piece *piece)
{
    return MIN(len_of(piece), places->before + places->packed_len - piece->before);
}

static void gather_stretch(void *arg, const struct list *list, const struct stretch *stretch, uint64_t lo, uint64_t hi)
{
    struct transfer *t = arg;
    const struct places p = places_of(t, stretch, lo, hi);
    const struct list_piece *piece = stretch->piece;

    piece_move_exact(p.packed, p.spread, first_len(&p, piece));
    piece = gather_some(&p, piece + 1, stretch->end, list->pieces->longest);
    for (; piece < stretch->end; piece++)
        piece_move_exact(p.packed + (piece->before - p.before), p.spread + (piece->off - p.off), last_len(&p, piece));
    t->moved += p.packed_len;
}

/* Between the pieces lies what is others'. */
static void scatter_stretch(void *arg, const struct list *list, const struct stretch *stretch, uint64_t lo, uint64_t hi)
{
    struct transfer *t = arg;
    const struct places p = places_of(t, stretch, lo, hi);
    const struct list_piece *piece = stretch->piece, *last = stretch->end - 1;

    (void) list;
    piece_move_exact(p.spread, p.packed, first_len(&p, piece));
    for (piece++; piece < last; piece++)
        piece_move_exact(p.spread + (piece->off - p.off), p.packed + (piece->before - p.before), len_of(piece));
    if (piece == last)
        piece_move_exact(p.spread + (piece->off - p.off), p.packed + (piece->before - p.before), last_len(&p, piece));
    t->moved += p.packed_len;
}

size_t list_gather(const struct list *list, uint64_t lo, uint64_t hi, const void *spread, void *packed)
{
    struct transfer t = { .spread = drop_const(spread), .packed = packed, .lo = lo };

    each_stretch(list, lo, hi, gather_stretch, &t);
    return t.moved;
}

size_t list_scatter(const struct list *list, uint64_t lo, uint64_t hi, void *spread, const void *packed)
{
    struct transfer t = { .spread = spread, .packed = drop_const(packed), .lo = lo };

    each_stretch(list, lo, hi, scatter_stretch, &t);
    return t.moved;
}
