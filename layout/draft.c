/* SPDX-License-Identifier: MIT */
#include "layout/draft.h"

#include <stdalign.h>

#define CHUNK_SIZE ((size_t) 16 << 10)

struct draft_chunk {
    struct draft_chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char mem[];
};

void draft_done(struct draft *draft)
{
    while (draft->chunks != NULL) {
        struct draft_chunk *chunk = draft->chunks;

        draft->chunks = chunk->next;
        free(chunk);
    }
}

void *draft_alloc(struct draft *draft, size_t size)
{
    struct draft_chunk *chunk = draft->chunks;
    void *mem;

    if (draft->error != 0)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = MAX(size, CHUNK_SIZE);

        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL) {
            draft->error = -ENOMEM;
            return NULL;
        }
        *chunk = (struct draft_chunk){ .next = draft->chunks, .size = room };
        draft->chunks = chunk;
    }
    mem = chunk->mem + chunk->used;
    chunk->used += size;
    return mem;
}

struct part *draft_part(struct draft *draft, struct falls f, struct part *inner)
{
    struct part *part = draft_alloc(draft, sizeof *part);

    if (part == NULL)
        return NULL;
    if (++draft->n_parts > DRAFT_MAX_PARTS) {
        draft->error = -E2BIG;
        return NULL;
    }
    *part = (struct part){ .f = f, .inner = inner };
    return part;
}

struct part *draft_copy(struct draft *draft, const struct part *part, uint64_t shift)
{
    struct part *copy = draft_part(draft, part->f, part->inner);

    if (copy == NULL)
        return NULL;
    copy->f.l += shift;
    copy->f.r += shift;
    copy->owner = part->owner;
    copy->origin = part->origin;
    copy->swept = part->swept;
    return copy;
}

bool draft_work(struct draft *draft, size_t steps)
{
    draft->work += steps;
    if (draft->error == 0 && draft->work > DRAFT_MAX_WORK + draft->more_work)
        draft->error = -E2BIG;
    return draft->error == 0;
}

void parts_append(struct parts *parts, struct part *part)
{
    if (part == NULL)
        return;
    if (parts->last != NULL)
        parts->last->next = part;
    else
        parts->first = part;
    parts->last = part;
}

/* A copy of the list with shift taken off all its positions: the block around it now starts that much later. */
static struct part *parts_shifted_down(struct draft *draft, const struct part *first, uint64_t shift)
{
    struct parts moved = { 0 };

    for (const struct part *p = first; p != NULL; p = p->next)
        parts_append(&moved, draft_copy(draft, p, -shift));
    return moved.first;
}

/* Takes one step towards the simplest form of p; false when there is none left. The inner list of p is reduced and in
 * order. */
static bool reduce_step(struct draft *draft, struct part *p)
{
    struct part *q = p->inner;
    uint64_t lo, hi, span;

    if (q == NULL) {
        if (p->f.n > 1 && p->f.s == falls_len(&p->f)) {
            p->f = (struct falls){ p->f.l, p->f.r + (p->f.n - 1) * p->f.s, 0, 1 };
            return true;
        }
        return false;
    }
    if (q->next == NULL) {
        bool only_repeats = p->f.n > 1 && q->f.n > 1;

        if (only_repeats && (mul_overflows(q->f.s, q->f.n, &span) || span != p->f.s))
            goto hull;
        p->f.l += q->f.l;
        p->f.r = p->f.l + falls_len(&q->f) - 1;
        if (q->f.n > 1)
            p->f.s = q->f.s;
        p->f.n *= q->f.n;
        p->inner = q->inner;
        p->owner = q->owner;
        p->swept = q->swept;
        return true;
    }
hull:
    lo = q->f.l;
    hi = parts_end(q);
    if (lo == 0 && hi == falls_len(&p->f))
        return false;
    p->f.r = p->f.l + hi - 1;
    p->f.l += lo;
    if (lo > 0)
        p->inner = parts_shifted_down(draft, q, lo);
    return draft->error == 0;
}

void parts_reduce(struct draft *draft, struct parts *out, const struct part *part)
{
    struct part *p = draft_copy(draft, part, 0);

    if (p == NULL)
        return;
    while (reduce_step(draft, p))
        ;
    if (p->f.n > 1 || p->inner == NULL) {
        if (p->f.n == 1)
            p->f.s = falls_len(&p->f);
        parts_append(out, p);
        return;
    }
    for (const struct part *q = p->inner; q != NULL; q = q->next)
        parts_append(out, draft_copy(draft, q, p->f.l));
}

/* Whether both select the same bytes of one of their blocks, wherever the blocks lie. */
static bool same_block(const struct part *a, const struct part *b)
{
    if (falls_len(&a->f) != falls_len(&b->f) || (a->inner == NULL) != (b->inner == NULL))
        return false;
    return a->inner == NULL ? a->owner == b->owner : parts_equal(a->inner, b->inner);
}

static bool same_family(const struct part *a, const struct part *b)
{
    return a->f.n == b->f.n && (a->f.n == 1 || a->f.s == b->f.s) && same_block(a, b);
}

bool parts_equal(const struct part *a, const struct part *b)
{
    if (a == b)
        return true;
    for (; a != NULL && b != NULL; a = a->next, b = b->next)
        if (a->f.l != b->f.l || !same_family(a, b))
            return false;
    return a == b;
}

/* Makes one segment of last and p when both are single segments of one owner and p starts where last ends. */
static bool join_touching(struct part *last, const struct part *p)
{
    if (last->inner != NULL || p->inner != NULL || last->f.n > 1 || p->f.n > 1 || last->owner != p->owner ||
        last->f.r + 1 != p->f.l)
        return false;
    last->f.r = p->f.r;
    last->f.s = falls_len(&last->f);
    return true;
}

/* Adds the blocks of p to the family last when they are the same blocks, and go on at the same distance. */
static bool join_blocks(struct part *last, const struct part *p)
{
    uint64_t step = last->f.n > 1 ? last->f.s : p->f.n > 1 ? p->f.s : p->f.l - last->f.l;

    if ((p->f.n > 1 && p->f.s != step) || p->f.l != last->f.l + last->f.n * step || !same_block(last, p))
        return false;
    last->f.s = step;
    last->f.n += p->f.n;
    return true;
}

/* Makes a family of families of last and p, or adds p to it, when p is the same family as last, or as the one that last
 * repeats. */
static bool join_families(struct draft *draft, struct part *last, const struct part *p)
{
    struct part *one = last->inner;

    if (one != NULL && one->next == NULL && same_family(one, p) && p->f.l == last->f.l + last->f.n * last->f.s) {
        last->f.n++;
        return true;
    }
    if (p->f.n == 1 || !same_family(last, p) || falls_end(&last->f) > p->f.l)
        return false;
    one = draft_copy(draft, last, -last->f.l);
    if (one == NULL)
        return false;
    last->f = (struct falls){ last->f.l, falls_end(&last->f) - 1, p->f.l - last->f.l, 2 };
    last->inner = one;
    last->swept = true;
    return true;
}

struct part *parts_tidy(struct draft *draft, struct part *first)
{
    bool changed;

    do {
        struct parts touching = { 0 }, out = { 0 };
        struct part *p, *next;

        changed = false;
        for (p = first; p != NULL; p = next) {
            next = p->next;
            p->next = NULL;
            if (touching.last != NULL && join_touching(touching.last, p))
                changed = true;
            else
                parts_append(&touching, p);
        }
        for (p = touching.first; p != NULL; p = next) {
            next = p->next;
            p->next = NULL;
            if (out.last != NULL && (join_blocks(out.last, p) || join_families(draft, out.last, p)))
                changed = true;
            else
                parts_append(&out, p);
        }
        first = out.first;
    } while (changed && draft->error == 0);
    return first;
}

/* Appends p in simplest form when its inner list is in order, else as it is: the sweep that orders it will reduce
 * it. */
static void append_cut(struct draft *draft, struct parts *out, const struct part *p)
{
    if (p->inner == NULL || p->swept)
        parts_reduce(draft, out, p);
    else
        parts_append(out, draft_copy(draft, p, 0));
}

/* Appends what one block of p, starting at block_off, selects of [lo, hi). */
static void cut_block(struct draft *draft, struct parts *out, const struct part *p, uint64_t block_off, uint64_t lo,
                      uint64_t hi)
{
    uint64_t len = falls_len(&p->f), from = MAX(lo, block_off), to = MIN(hi, block_off + len);
    struct part cut = *p;

    if (from >= to)
        return;
    if (p->inner != NULL) {
        cut.inner = parts_cut(draft, p->inner, from - block_off, to - block_off);
        if (cut.inner == NULL)
            return;
    }
    cut.f = (struct falls){ from - lo, to - lo - 1, to - from, 1 };
    append_cut(draft, out, &cut);
}

struct part *parts_cut(struct draft *draft, const struct part *first, uint64_t lo, uint64_t hi)
{
    struct parts out = { 0 };

    for (const struct part *p = first; p != NULL && draft->error == 0; p = p->next) {
        uint64_t head = lo <= p->f.l ? 0 : MIN((lo - p->f.l - 1) / p->f.s + 1, p->f.n); /* first block after lo */
        uint64_t tail = falls_blocks_before(&p->f, hi);                                 /* first one that hi cuts */

        if (head > 0 && head - 1 < tail)
            cut_block(draft, &out, p, p->f.l + (head - 1) * p->f.s, lo, hi);
        if (head < tail) {
            struct part whole = *p;

            whole.f.l = p->f.l + head * p->f.s - lo;
            whole.f.r = whole.f.l + falls_len(&p->f) - 1;
            whole.f.n = tail - head;
            append_cut(draft, &out, &whole);
        }
        if (tail < p->f.n)
            cut_block(draft, &out, p, p->f.l + tail * p->f.s, lo, hi);
    }
    return out.first;
}

bool parts_next(const struct part *first, uint64_t x, uint64_t *ret_byte, const struct part **ret_part)
{
    const struct part *found = NULL;
    uint64_t best = UINT64_MAX;

    for (const struct part *p = first; p != NULL; p = p->next) {
        uint64_t block = falls_blocks_before(&p->f, x);

        for (uint64_t last = MIN(block + 1, p->f.n - 1); block <= last; block++) { /* it, or the one after it */
            uint64_t block_off = p->f.l + block * p->f.s, byte = x > block_off ? x - block_off : 0;
            const struct part *inner_part;

            if (p->inner != NULL && !parts_next(p->inner, byte, &byte, &inner_part))
                continue;
            if (block_off + byte < best) {
                best = block_off + byte;
                found = p;
            }
            break;
        }
    }
    if (found == NULL)
        return false;
    *ret_byte = best;
    *ret_part = found;
    return true;
}

uint64_t parts_end(const struct part *first)
{
    uint64_t end = 0;

    for (const struct part *p = first; p != NULL; p = p->next) {
        uint64_t in_block = p->inner != NULL ? parts_end(p->inner) : falls_len(&p->f);

        end = MAX(end, p->f.l + (p->f.n - 1) * p->f.s + in_block);
    }
    return end;
}
