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

static void move_cursor(struct cursor *cursor, const struct asked *asked, uint64_t pos)
{
    cursor->rank = asked_rank(asked, pos);
    cursor->next = cursor->rank < asked_size(asked) ? asked_select(asked, cursor->rank) : UINT64_MAX;
}

/* The first byte at or after pos that somebody asks for; UINT64_MAX when there is none. */
static uint64_t first_asked(struct fdat *fdat, uint64_t pos)
{
    uint64_t first = UINT64_MAX;

    for (uint32_t i = 0; i < fdat->fad->n; i++) {
        const struct asked *asked = &fdat->fad->asked[i];
        struct cursor *cursor = &fdat->cursor[i];

        if (asked_size(asked) == 0)
            continue;
        if (pos == fdat->domain->lo || cursor->next < pos)
            move_cursor(cursor, asked, pos);
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
        const struct asked *asked = &fdat->fad->asked[i];
        const struct cursor *cursor = &fdat->cursor[i];
        uint64_t len;

        if (asked_size(asked) == 0 || cursor->next >= hi)
            continue;
        len = asked_rank(asked, hi) - cursor->rank;
        end = MAX(end, asked_select(asked, cursor->rank + len - 1) + 1);
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

static const struct asked *asked_in(const struct fad *fad, const struct window *window, uint32_t i)
{
    return &fad->asked[window->portion[i].member];
}

/* The member's first byte at or after x, and the end of the bytes that follow it without a hole. */
static bool next_run(const struct asked *asked, uint64_t x, uint64_t *ret_lo, uint64_t *ret_hi)
{
    uint64_t rank = asked_rank(asked, x), len;

    if (rank == asked_size(asked))
        return false;
    *ret_lo = asked_select_run(asked, rank, &len);
    *ret_hi = *ret_lo + len;
    return true;
}

/* The end of what somebody asks for without a hole from x on; x when nobody asks for x. */
static uint64_t covered_to(const struct fad *fad, const struct window *window, uint64_t x)
{
    uint64_t end = x, lo, hi;

    for (uint32_t i = 0; i < window->n; i++)
        if (next_run(asked_in(fad, window, i), x, &lo, &hi) && lo == x)
            end = MAX(end, hi);
    return end;
}

static uint64_t first_in(const struct fad *fad, const struct window *window, uint64_t x)
{
    uint64_t first = window->hi, byte;

    for (uint32_t i = 0; i < window->n && first > x; i++)
        if (asked_next(asked_in(fad, window, i), x, &byte))
            first = MIN(first, byte);
    return first;
}

/* The last byte below end that somebody asks for; below everything: 0. */
static uint64_t last_before(const struct fad *fad, const struct window *window, uint64_t end)
{
    uint64_t last = 0, byte;

    for (uint32_t i = 0; i < window->n && last + 1 < end; i++)
        if (asked_prev(asked_in(fad, window, i), end - 1, &byte))
            last = MAX(last, byte);
    return last;
}

/* From piece to piece in steps of the gap, however many pieces lie between. */
bool window_piece(const struct fad *fad, const struct window *window, uint64_t x, uint64_t gap, uint64_t *ret_lo,
                  uint64_t *ret_hi)
{
    uint64_t lo = x < window->hi ? first_in(fad, window, x) : window->hi, hi, further, end;

    if (lo >= window->hi)
        return false;
    if (gap >= window->hi - lo) {
        *ret_lo = lo;
        *ret_hi = window->hi;
        return true;
    }
    hi = lo;
    while (hi < window->hi) {
        further = gap > 0 ? last_before(fad, window, MIN(window->hi, hi + gap + 1)) : hi;
        if (further < hi)
            break;
        end = covered_to(fad, window, further);
        if (end == hi)
            break;
        hi = end;
    }
    *ret_lo = lo;
    *ret_hi = MIN(hi, window->hi);
    return true;
}

/* From run to run of all members. */
static bool runs_cover(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi)
{
    uint32_t looks = 0;

    while (lo < hi) {
        uint64_t end = looks < MAX_LOOKS ? covered_to(fad, window, lo) : lo;

        if (end == lo)
            return false;
        lo = end;
        looks += window->n;
    }
    return true;
}

/* -- lists: pieces too many to go from one to the next in all of them -- */

#define MARKS 32768 /* bytes of a window that are looked at at once */

/* Bits first .. end of the marks. */
static void mark(uint64_t marks[], uint64_t first, uint64_t end)
{
    while (first < end) {
        uint64_t n = MIN(end - first, 64 - first % 64);

        marks[first / 64] |= (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX) << first % 64;
        first += n;
    }
}

struct marks {
    uint64_t lo; /* the first mark's byte */
    uint64_t bits[MARKS / 64];
};

static void mark_run(void *arg, uint64_t file_off, uint64_t len)
{
    struct marks *marks = arg;

    mark(marks->bits, file_off - marks->lo, file_off - marks->lo + len);
}

static void mark_member(const struct asked *asked, uint64_t hi, struct marks *marks)
{
    uint64_t lo, end;

    if (asked->list != NULL && asked->through == NULL) {
        list_each_run(asked->list, marks->lo, hi, mark_run, marks);
        return;
    }
    for (uint64_t x = marks->lo; next_run(asked, x, &lo, &end) && lo < hi; x = end)
        mark_run(marks, lo, MIN(end, hi) - lo);
}

static bool marks_cover(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi)
{
    struct marks marks = { .lo = lo };

    for (uint32_t i = 0; i < window->n; i++)
        mark_member(asked_in(fad, window, i), hi, &marks);
    for (uint64_t i = 0; i < (hi - lo) / 64; i++)
        if (marks.bits[i] != UINT64_MAX)
            return false;
    return (hi - lo) % 64 == 0 || marks.bits[(hi - lo) / 64] == (UINT64_C(1) << (hi - lo) % 64) - 1;
}

static bool has_list(const struct fad *fad, const struct window *window)
{
    for (uint32_t i = 0; i < window->n; i++)
        if (asked_in(fad, window, i)->list != NULL)
            return true;
    return false;
}

bool window_is_covered(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi)
{
    if (window->useful < hi - lo)
        return false;
    if (!has_list(fad, window))
        return runs_cover(fad, window, lo, hi);
    for (; lo < hi; lo += MIN(hi - lo, MARKS))
        if (!marks_cover(fad, window, lo, MIN(lo + MARKS, hi)))
            return false;
    return true;
}

unsigned window_look(const struct fad *fad, const struct window *window, uint64_t lo, uint64_t hi)
{
    if (first_in(fad, window, lo) >= hi)
        return NOT_SELECTED;
    return window_is_covered(fad, window, lo, hi) ? SELECTED : SELECTED | NOT_SELECTED;
}
