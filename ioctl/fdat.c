/* SPDX-License-Identifier: MIT */
#include "ioctl/fdat.h"

#define PAGE UINT64_C(4096)

/* Looking for holes costs some of what finding none saves. */
#define MAX_LOOKS 4096

/* How far a member's bytes have been given out. */
struct cursor {
    uint64_t rank; /* of the first byte at or behind the last window */
    uint64_t next; /* that byte; UINT64_MAX: none is left */
};

struct fdat {
    const struct fad *fad;
    const struct domain *domain;
    const struct store *store;
    uint64_t size, pos;
    struct window window;
    struct cursor *cursor;
};

int fdat_new(const struct fad *fad, const struct domain *domain, const struct store *store, uint64_t size,
             struct fdat **ret_fdat)
{
    struct fdat *fdat = calloc(1, sizeof *fdat);

    if (fdat == NULL)
        return -ENOMEM;
    *fdat = (struct fdat){ .fad = fad, .domain = domain, .store = store, .size = size, .pos = domain->lo };
    fdat->cursor = calloc(fad->n, sizeof *fdat->cursor);
    fdat->window.portion = calloc(fad->n, sizeof *fdat->window.portion);
    if (fdat->cursor == NULL || fdat->window.portion == NULL) {
        fdat_free(fdat);
        return -ENOMEM;
    }
    *ret_fdat = fdat;
    return 0;
}

void fdat_free(struct fdat *fdat)
{
    if (fdat == NULL)
        return;
    free(fdat->window.portion);
    free(fdat->cursor);
    free(fdat);
}

static void move_cursor(struct cursor *cursor, const struct nest *nest, uint64_t pos)
{
    cursor->rank = nest_rank(nest, pos);
    cursor->next = cursor->rank < nest->size ? nest_select(nest, cursor->rank) : UINT64_MAX;
}

/* The first byte at or after pos that somebody asks for; UINT64_MAX when there is none. */
static uint64_t first_asked(struct fdat *fdat, uint64_t pos)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < fdat->fad->n; i++) {
        const struct nest *nest = fdat->fad->asked[i].nest;
        struct cursor *cursor = &fdat->cursor[i];

        if (nest->size > 0 && (pos == fdat->domain->lo || cursor->next < pos))
            move_cursor(cursor, nest, pos);
        if (nest->size > 0)
            first = MIN(first, cursor->next);
    }
    return first;
}

/* Whose bytes lie in [lo, hi); the window ends behind the last of them. */
static void fill(struct fdat *fdat, uint64_t lo, uint64_t hi)
{
    struct window *window = &fdat->window;
    uint64_t end = lo;

    window->n = 0;
    window->lo = lo;
    window->useful = 0;
    for (uint32_t i = 0; i < fdat->fad->n; i++) {
        const struct nest *nest = fdat->fad->asked[i].nest;
        const struct cursor *cursor = &fdat->cursor[i];
        uint64_t len;

        if (nest->size == 0 || cursor->next >= hi)
            continue;
        len = nest_rank(nest, hi) - cursor->rank;
        end = MAX(end, nest_select(nest, cursor->rank + len - 1) + 1);
        window->portion[window->n++] = (struct portion){ .member = i, .len = len, .packed_off = cursor->rank };
        window->useful += len;
    }
    window->hi = end;
}

/* Where a window from lo on has to end. */
static uint64_t end_of(const struct fdat *fdat, uint64_t lo, uint64_t hi)
{
    uint64_t end;

    if (hi - lo <= fdat->size)
        return hi;
    end = lo + fdat->size;
    return fdat->size > PAGE ? end - end % PAGE : end;
}

const struct window *fdat_next(struct fdat *fdat)
{
    uint64_t lo, hi, first;

    while (domain_next(fdat->domain, fdat->store, fdat->pos, &lo, &hi)) {
        first = first_asked(fdat, lo);
        if (first == UINT64_MAX)
            return NULL;
        if (first >= hi) {
            fdat->pos = first; /* not of this range */
            continue;
        }
        hi = end_of(fdat, first, hi);
        fill(fdat, first, hi);
        fdat->pos = hi;
        return &fdat->window;
    }
    return NULL;
}

/* -- within a window -- */

/* The member's first byte at or after x, and the end of the bytes that follow it without a hole. */
static bool next_run(const struct nest *nest, uint64_t x, uint64_t *ret_lo, uint64_t *ret_hi)
{
    uint64_t rank = nest_rank(nest, x), len;

    if (rank == nest->size)
        return false;
    *ret_lo = nest_select_run(nest, rank, &len);
    *ret_hi = *ret_lo + len;
    return true;
}

/* The end of what somebody asks for without a hole from x on; x when nobody asks for x. */
static uint64_t covered_to(const struct fad *fad, const struct window *window, uint64_t x)
{
    uint64_t end = x, lo, hi;

    for (uint32_t i = 0; i < window->n; i++)
        if (next_run(fad->asked[window->portion[i].member].nest, x, &lo, &hi) && lo == x)
            end = MAX(end, hi);
    return end;
}

static uint64_t first_in(const struct fad *fad, const struct window *window, uint64_t x)
{
    uint64_t first = window->hi, byte;

    for (uint32_t i = 0; i < window->n && first > x; i++)
        if (nest_next(fad->asked[window->portion[i].member].nest, x, &byte))
            first = MIN(first, byte);
    return first;
}

/* The last byte below end that somebody asks for; below everything: 0. */
static uint64_t last_before(const struct fad *fad, const struct window *window, uint64_t end)
{
    uint64_t last = 0, byte;

    for (uint32_t i = 0; i < window->n && last + 1 < end; i++)
        if (nest_prev(fad->asked[window->portion[i].member].nest, end - 1, &byte))
            last = MAX(last, byte);
    return last;
}

/* From piece to piece in steps of the gap, however many pieces lie between. */
bool window_piece(const struct fad *fad, const struct window *window, uint64_t x, uint64_t gap, uint64_t *ret_lo,
                  uint64_t *ret_hi)
{
    uint64_t lo = x < window->hi ? first_in(fad, window, x) : window->hi, hi, further;

    if (lo >= window->hi)
        return false;
    if (gap >= window->hi - lo) {
        *ret_lo = lo;
        *ret_hi = window->hi;
        return true;
    }
    hi = lo;
    while (hi < window->hi) {
        uint64_t end = covered_to(fad, window, hi);

        if (end > hi) {
            hi = end;
            continue;
        }
        further = gap > 0 ? last_before(fad, window, MIN(window->hi, hi + gap + 1)) : 0;
        if (further < hi)
            break;
        hi = further;
    }
    *ret_lo = lo;
    *ret_hi = MIN(hi, window->hi);
    return true;
}

bool window_is_covered(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi)
{
    uint32_t looks = 0;

    if (window->useful < hi - lo)
        return false;
    while (lo < hi) {
        uint64_t end = looks < MAX_LOOKS ? covered_to(fad, window, lo) : lo;

        if (end == lo)
            return false;
        lo = end;
        looks += window->n;
    }
    return true;
}
