/* SPDX-License-Identifier: MIT */
#include "test/support/oracle.h"

#include "layout/gather.h"
#include "layout/map.h"
#include "layout/match.h"

#include <stdarg.h>
#include <string.h>

/* -- making patterns -- */

PRINTF_LIKE(2, 3)
static void add(struct oracle *oracle, const char *fmt, ...)
{
    size_t len = strlen(oracle->text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(oracle->text + len, sizeof oracle->text - len, fmt, args);
    va_end(args);
}

/* A stretch of bytes: a segment with one owner, or a list of stretches, n times over. */
struct stretch {
    uint64_t len, n;
    uint32_t owner;
    struct stretch *first, *next;
};

struct stretches {
    struct stretch pool[512];
    unsigned used;
};

static struct stretch *random_stretches(struct stretches *all, struct rng *rng, uint32_t n_elements, unsigned depth,
                                        uint64_t room, uint64_t *ret_len)
{
    struct stretch *first = NULL, **last = &first;
    uint64_t count = rng_between(rng, 1, 4);

    *ret_len = 0;
    for (uint64_t i = 0; i < count && all->used < ARRAY_SIZE(all->pool) && *ret_len < room; i++) {
        struct stretch *s = &all->pool[all->used++];
        uint64_t left = room - *ret_len;

        *s = (struct stretch){ .n = 1, .owner = (uint32_t) rng_below(rng, n_elements) };
        if (depth > 1 && left >= 4 && all->used < ARRAY_SIZE(all->pool) - 8 && rng_chance(rng, 60)) {
            s->n = rng_between(rng, 2, MIN(left / 2, 6));
            s->first = random_stretches(all, rng, n_elements, depth - 1, left / s->n, &s->len);
        } else {
            s->len = rng_between(rng, 1, MIN(left, 8));
        }
        *ret_len += s->len * s->n;
        *last = s;
        last = &s->next;
    }
    return first;
}

static void fill_owners(struct oracle *oracle, const struct stretch *s, uint64_t at)
{
    for (; s != NULL; s = s->next)
        for (uint64_t i = 0; i < s->n; i++, at += s->len) {
            if (s->first != NULL)
                fill_owners(oracle, s->first, at);
            else
                memset(oracle->owner + at, (int) s->owner, s->len);
        }
}

static bool holds(const struct stretch *s, uint32_t owner)
{
    for (; s != NULL; s = s->next)
        if (s->first != NULL ? holds(s->first, owner) : s->owner == owner)
            return true;
    return false;
}

static void add_list(struct oracle *oracle, struct rng *rng, const struct stretch *s, uint64_t at, uint32_t owner,
                     bool *follows);

/* One stretch as one FALLS, or a repeated list of segments as one FALLS for each of them: these interleave. */
static void add_stretch(struct oracle *oracle, struct rng *rng, const struct stretch *s, uint64_t at, uint32_t owner,
                        bool *follows)
{
    uint64_t inner_at = at;
    bool flat = true, inner_follows = false;

    if (s->first == NULL) {
        add(oracle, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1)", *follows ? ", " : "", at, at + s->len - 1,
            s->len + rng_below(rng, 3));
        *follows = true;
        return;
    }
    for (const struct stretch *in = s->first; in != NULL; in = in->next)
        flat = flat && in->first == NULL;
    if (flat && rng_chance(rng, 40)) {
        for (const struct stretch *in = s->first; in != NULL; inner_at += in->len, in = in->next)
            if (in->owner == owner) {
                add(oracle, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", *follows ? "," : "", inner_at,
                    inner_at + in->len - 1, s->len, s->n);
                *follows = true;
            }
        return;
    }
    add(oracle, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",{", *follows ? "," : "", at, at + s->len - 1,
        s->len, s->n);
    add_list(oracle, rng, s->first, 0, owner, &inner_follows);
    add(oracle, "})");
    *follows = true;
}

static void add_list(struct oracle *oracle, struct rng *rng, const struct stretch *s, uint64_t at, uint32_t owner,
                     bool *follows)
{
    const struct stretch *order[8];
    uint64_t offset[8];
    unsigned n = 0;

    for (; s != NULL; at += s->len * s->n, s = s->next)
        if (s->first != NULL ? holds(s->first, owner) : s->owner == owner) {
            order[n] = s;
            offset[n++] = at;
        }
    for (unsigned i = 0; i < n; i++) {
        unsigned pick = rng_chance(rng, 30) ? (unsigned) rng_between(rng, i, n - 1) : i;
        const struct stretch *s_pick = order[pick];
        uint64_t at_pick = offset[pick];

        order[pick] = order[i];
        offset[pick] = offset[i];
        add_stretch(oracle, rng, s_pick, at_pick, owner, follows);
    }
}

static void random_falls(struct oracle *oracle, struct rng *rng)
{
    struct stretches all = { .used = 0 };
    uint64_t room = rng_chance(rng, 20) ? ORACLE_MAX_SIZE : rng_between(rng, 1, 400);
    struct stretch *list;

    oracle->n_elements = (uint32_t) rng_between(rng, 1, ORACLE_MAX_ELEMENTS);
    list = random_stretches(&all, rng, oracle->n_elements, (unsigned) rng_between(rng, 1, 5), room, &oracle->size);
    fill_owners(oracle, list, 0);
    add(oracle, "{");
    for (uint32_t e = 0; e < oracle->n_elements; e++) {
        bool follows = false;

        add(oracle, "%s", e > 0 ? " ; " : "");
        if (holds(list, e))
            add_list(oracle, rng, list, 0, e, &follows);
        else
            add(oracle, "()");
    }
    add(oracle, "}");
}

/* One dimension of a random array. */
struct dimension {
    uint64_t size, grid, k;
    unsigned kind; /* 0 *, 1 block, 2 cyclic(k) */
};

static uint64_t process_of(const struct dimension *d, uint64_t index)
{
    if (d->kind == 0)
        return 0;
    if (d->kind == 1)
        return index / ((d->size + d->grid - 1) / d->grid);
    return index / d->k % d->grid;
}

static void random_array(struct oracle *oracle, struct rng *rng)
{
    struct dimension dim[4];
    unsigned n = (unsigned) rng_between(rng, 1, 4);
    uint64_t elem = rng_chance(rng, 50) ? 1 : rng_between(rng, 1, 9), cells = 1;
    bool columns = rng_chance(rng, 40);

    oracle->n_elements = 1;
    for (unsigned i = 0; i < n; i++) {
        uint64_t grid_room = ORACLE_MAX_ELEMENTS / oracle->n_elements, room = ORACLE_MAX_SIZE / elem / cells;

        dim[i].size = rng_between(rng, 1, MIN(n == 1 ? 100 : n == 2 ? 30 : 8, room));
        dim[i].kind = (unsigned) rng_below(rng, 3);
        dim[i].grid = dim[i].kind == 0 ? 1 : rng_between(rng, 1, MIN(grid_room, 5));
        dim[i].k = rng_between(rng, 1, 4);
        cells *= dim[i].size;
        oracle->n_elements *= (uint32_t) dim[i].grid;
    }
    oracle->size = cells * elem;
    for (uint64_t cell = 0; cell < cells; cell++) {
        uint64_t rest = cell, index[4], element = 0;

        for (unsigned pace = 0; pace < n; pace++) {
            unsigned i = columns ? pace : n - 1 - pace;

            index[i] = rest % dim[i].size;
            rest /= dim[i].size;
        }
        for (unsigned i = 0; i < n; i++)
            element = element * dim[i].grid + process_of(&dim[i], index[i]);
        memset(oracle->owner + cell * elem, (int) element, elem);
    }
    add(oracle, "array(shape=");
    for (unsigned i = 0; i < n; i++)
        add(oracle, "%s%" PRIu64, i > 0 ? "x" : "", dim[i].size);
    add(oracle, ", elem=%" PRIu64 ", order=%s, dist=(", elem, columns ? "col" : "row");
    for (unsigned i = 0; i < n; i++) {
        add(oracle, "%s%s", i > 0 ? "," : "", dim[i].kind == 0 ? "*" : dim[i].kind == 1 ? "block" : "cyclic");
        if (dim[i].kind == 2 && (dim[i].k > 1 || rng_chance(rng, 50)))
            add(oracle, "(%" PRIu64 ")", dim[i].k);
    }
    add(oracle, "), grid=");
    for (unsigned i = 0; i < n; i++)
        add(oracle, "%s%" PRIu64, i > 0 ? "x" : "", dim[i].grid);
    add(oracle, ")");
}

static void random_named(struct oracle *oracle, struct rng *rng)
{
    uint64_t kind = rng_below(rng, 4), unit = rng_between(rng, 1, 40), at = 0;
    uint32_t n = (uint32_t) rng_between(rng, 1, ORACLE_MAX_ELEMENTS);

    oracle->n_elements = kind == 0 ? 1 : n;
    if (kind == 0) {
        oracle->size = 1;
        add(oracle, "one");
    } else if (kind == 1) {
        for (at = 0; at < unit * n; at++)
            oracle->owner[at] = (uint8_t) (at / unit);
        oracle->size = at;
        add(oracle, "stripe(%" PRIu64 ",%" PRIu32 ")", unit, n);
    } else if (kind == 2) {
        add(oracle, "var(");
        for (uint32_t e = 0; e < n; e++, at += unit) {
            unit = rng_between(rng, 1, 60);
            memset(oracle->owner + at, (int) e, unit);
            add(oracle, "%s%" PRIu64, e > 0 ? "," : "", unit);
        }
        oracle->size = at;
        add(oracle, ")");
    } else {
        uint64_t groups = rng_between(rng, 1, n), factor = rng_between(rng, 1, 8), per_group = n / groups;

        for (uint64_t g = 0; g < groups; g++)
            for (uint64_t turn = 0; turn < factor; turn++)
                for (uint64_t e = g * per_group; e < (g + 1 == groups ? n : (g + 1) * per_group); e++, at += unit)
                    memset(oracle->owner + at, (int) e, unit);
        oracle->size = at;
        add(oracle, "twod(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", unit, groups, factor);
    }
}

void oracle_random(struct oracle *oracle, struct rng *rng)
{
    uint64_t kind = rng_below(rng, 10);

    memset(oracle->bytes, 0, sizeof oracle->bytes);
    memset(oracle->owner, 0, sizeof oracle->owner);
    oracle->text[0] = 0;
    if (kind < 6)
        random_falls(oracle, rng);
    else if (kind < 9)
        random_array(oracle, rng);
    else
        random_named(oracle, rng);
    oracle->disp = rng_chance(rng, 50) ? 0 : rng_between(rng, 1, 100);
    if (oracle->disp > 0)
        add(oracle, " disp %" PRIu64, oracle->disp);
    if (strncmp(oracle->text, "twod", 4) == 0)
        add(oracle, " on d%u-d%" PRIu32, 7, 6 + oracle->n_elements);
    for (uint64_t x = 0; x < oracle->size; x++)
        oracle->rank[x] = (uint32_t) oracle->bytes[oracle->owner[x]]++;
}

/* -- making anything -- */

#define ANY_SPAN 200 /* bytes that random sets lie in */

/* A FALLS as a generator sees it. */
struct any {
    uint64_t l, len, s, n, d, p, n_elements;
    struct any *inner, *next;
};

struct any_pool {
    struct any any[64];
    unsigned used;
};

static struct any *any_set(struct any_pool *pool, struct rng *rng, unsigned depth, uint64_t room, uint64_t n_elements);

/* Standing for n_elements: itself with a suffix, or with the rest of them inside. */
static struct any *any_falls(struct any_pool *pool, struct rng *rng, unsigned depth, uint64_t room, uint64_t n_elements)
{
    struct any *a = &pool->any[pool->used++];

    *a = (struct any){ .n = 1, .p = 1, .n_elements = n_elements };
    a->len = rng_between(rng, 1, MIN(room, 12));
    a->s = a->len + (rng_chance(rng, 60) ? 0 : rng_below(rng, 6));
    a->n = rng_chance(rng, 50) ? 1 : rng_between(rng, 1, MIN((room - a->len) / a->s + 1, 8));
    if (n_elements > 1 && (depth <= 1 || pool->used > 48 || rng_chance(rng, 70))) {
        a->p = n_elements;
        a->d = rng_chance(rng, 70) ? a->len : rng_below(rng, 8);
    }
    while (a->n > 1 && (a->n - 1) * a->s + a->len + (a->p - 1) * a->d > room)
        a->n--;
    while (a->d > 0 && (a->n - 1) * a->s + a->len + (a->p - 1) * a->d > room)
        a->d--;
    a->l = rng_chance(rng, 50) ? 0 : rng_below(rng, room - ((a->n - 1) * a->s + a->len + (a->p - 1) * a->d) + 1);
    if (depth > 1 && pool->used < 48 && (a->p < n_elements || rng_chance(rng, 40)))
        a->inner = any_set(pool, rng, depth - 1, a->len, n_elements / a->p);
    else if (a->p < n_elements)
        a->p = n_elements; /* no room to nest: they all lie on each other */
    return a;
}

static struct any *any_set(struct any_pool *pool, struct rng *rng, unsigned depth, uint64_t room, uint64_t n_elements)
{
    struct any *first = NULL;

    for (uint64_t i = rng_chance(rng, 70) ? 1 : 2; i > 0 && pool->used < 60; i--) {
        struct any *a = any_falls(pool, rng, depth, room, n_elements);

        a->next = first;
        first = a;
    }
    return first;
}

static void add_any(char *text, const struct any *a)
{
    for (; a != NULL; a = a->next) {
        char *at = text + strlen(text);

        at += sprintf(at, "(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, a->l, a->l + a->len - 1, a->s, a->n);
        if (a->p > 1)
            at += sprintf(at, ";%" PRIu64 ",%" PRIu64, a->d, a->p);
        if (a->inner != NULL) {
            strcpy(at, ",{");
            add_any(text, a->inner);
            strcat(text, "}");
        }
        strcat(text, a->next != NULL ? ")," : ")");
    }
}

/* Element k of the set, whose block starts at base. */
static void cover_any(struct oracle_sets *sets, const struct any *a, uint64_t base, uint64_t k, uint32_t owner)
{
    for (; a != NULL; a = a->next) {
        uint64_t below = a->n_elements / a->p;

        for (uint64_t i = 0; i < a->n; i++) {
            uint64_t block = base + a->l + k / below * a->d + i * a->s;

            if (a->inner != NULL) {
                cover_any(sets, a->inner, block, k % below, owner);
                continue;
            }
            for (uint64_t x = block; x < block + a->len; x++) {
                sets->count[x] = (uint8_t) MIN(sets->count[x] + 1, 2);
                sets->owner[x] = owner;
                sets->end = MAX(sets->end, x + 1);
            }
        }
    }
}

void oracle_random_sets(struct oracle_sets *sets, struct rng *rng)
{
    uint64_t specs = rng_between(rng, 1, 4);

    memset(sets->count, 0, sizeof sets->count);
    sets->end = 0;
    sets->n_elements = 0;
    strcpy(sets->text, "{");
    for (uint64_t i = 0; i < specs; i++) {
        static const uint64_t numbers[] = { 1, 1, 1, 2, 3, 4, 6 };
        struct any_pool pool = { .used = 0 };
        uint64_t n = numbers[rng_below(rng, ARRAY_SIZE(numbers))];
        struct any *set = any_set(&pool, rng, (unsigned) rng_between(rng, 1, 4), rng_between(rng, 1, ANY_SPAN), n);

        if (i > 0)
            strcat(sets->text, ";");
        add_any(sets->text, set);
        for (uint64_t k = 0; k < n; k++)
            cover_any(sets, set, 0, k, sets->n_elements++);
    }
    strcat(sets->text, "}");
}

struct oracle_place oracle_map(const struct oracle *oracle, uint64_t file_off)
{
    uint64_t x, turn;
    uint32_t owner;

    if (file_off < oracle->disp)
        return (struct oracle_place){ ELEMENT_HEADER, file_off };
    x = (file_off - oracle->disp) % oracle->size;
    turn = (file_off - oracle->disp) / oracle->size;
    owner = oracle->owner[x];
    return (struct oracle_place){ owner, turn * oracle->bytes[owner] + oracle->rank[x] };
}

/* -- comparing -- */

PRINTF_LIKE(2, 3)
static void differ(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    if (verdict->why[0] != 0)
        return;
    va_start(args, fmt);
    vsnprintf(verdict->why, sizeof verdict->why, fmt, args);
    va_end(args);
}

/* Three turns of the pattern: enough to see it begin, go on and repeat. */
static uint64_t span_of(const struct oracle *oracle)
{
    return oracle->disp + 2 * oracle->size + oracle->size / 2 + 1;
}

void check_map(const struct oracle *oracle, const struct pattern *pattern, struct verdict *verdict)
{
    if (pattern->size != oracle->size && oracle->size % pattern->size != 0)
        differ(verdict, "period %" PRIu64 ", expected %" PRIu64, pattern->size, oracle->size);
    if (pattern->n_elements != oracle->n_elements)
        differ(verdict, "%" PRIu32 " elements, expected %" PRIu32, pattern->n_elements, oracle->n_elements);
    for (uint64_t x = 0; x < span_of(oracle) && verdict->why[0] == 0; x++) {
        struct oracle_place want = oracle_map(oracle, x);
        struct place got;
        uint64_t back;

        if (pattern_map(pattern, x, &got) < 0 || got.element != want.element || got.sub_off != want.sub_off)
            differ(verdict, "map %" PRIu64 " is %" PRIu32 " %" PRIu64 ", expected %" PRIu32 " %" PRIu64, x, got.element,
                   got.sub_off, want.element, want.sub_off);
        else if (pattern_unmap(pattern, want.element, want.sub_off, &back) < 0 || back != x)
            differ(verdict, "unmap %" PRIu32 " %" PRIu64 " is not %" PRIu64, want.element, want.sub_off, x);
    }
}

void check_next_prev(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng,
                     struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    const struct nest *nest = pattern_element(pattern, e);
    uint64_t span = span_of(oracle), next = UINT64_MAX, rank = 0, prev = UINT64_MAX;
    uint64_t *want_next = malloc(span * sizeof want_next[0]);

    for (uint64_t x = span; x-- > 0;) {
        if (oracle_map(oracle, x).element == e)
            next = x;
        want_next[x] = next;
    }
    for (uint64_t x = 0; x < span && verdict->why[0] == 0; x++) {
        bool member = oracle_map(oracle, x).element == e, found;
        uint64_t got = 0;

        if (member)
            prev = x;
        found = nest_next(nest, x, &got);
        if (want_next[x] != UINT64_MAX && (!found || got != want_next[x]))
            differ(verdict, "next of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e, got,
                   want_next[x]);
        found = nest_prev(nest, x, &got);
        if (found != (prev != UINT64_MAX) || (found && got != prev))
            differ(verdict, "prev of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e, got, prev);
        if (nest_rank(nest, x) != rank || nest_contains(nest, x) != member)
            differ(verdict, "rank of %" PRIu64 " in %" PRIu32 " is %" PRIu64 ", expected %" PRIu64, x, e,
                   nest_rank(nest, x), rank);
        rank += member;
    }
    free(want_next);
}

void check_runs(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint64_t span = span_of(oracle), x = rng_below(rng, span), end = x + rng_below(rng, span - x + 1);
    struct runs runs;
    struct run run;

    if (runs_init(&runs, pattern, x, end - x) < 0)
        differ(verdict, "runs of %" PRIu64 " + %" PRIu64 " fail", x, end - x);
    while (verdict->why[0] == 0 && runs_next(&runs, &run)) {
        struct oracle_place want = oracle_map(oracle, x);
        uint64_t stop = x + 1;

        while (stop < end && oracle_map(oracle, stop).element == want.element)
            stop++;
        if (x >= end || run.file_off != x || run.element != want.element || run.sub_off != want.sub_off ||
            run.len != stop - x)
            differ(verdict,
                   "run %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 ", expected %" PRIu64 " %" PRIu32 " %" PRIu64
                   " %" PRIu64,
                   run.file_off, run.element, run.sub_off, run.len, x, want.element, want.sub_off, stop - x);
        x = stop;
    }
    if (verdict->why[0] == 0 && x != end)
        differ(verdict, "runs end at %" PRIu64 ", expected %" PRIu64, x, end);
}

void check_cut(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    uint64_t lo = rng_below(rng, span_of(oracle)), hi = lo + rng_below(rng, span_of(oracle)), n = 0;
    cleanup(nest_freep) struct nest *cut = NULL;

    if (nest_cut(pattern_element(pattern, e), lo, hi, &cut) < 0) {
        differ(verdict, "cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " fails", e, lo, hi);
        return;
    }
    for (uint64_t x = lo; x < hi; x++) {
        if (oracle_map(oracle, x).element != e)
            continue;
        if (n >= cut->size || nest_select(cut, n) != x - lo) {
            differ(verdict,
                   "byte %" PRIu64 " of the cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " is not %" PRIu64, n, e,
                   lo, hi, x - lo);
            return;
        }
        n++;
    }
    if (n != cut->size)
        differ(verdict,
               "the cut of %" PRIu32 " from %" PRIu64 " to %" PRIu64 " has %" PRIu64 " bytes, expected %" PRIu64, e, lo,
               hi, cut->size, n);
}

void check_gather(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict)
{
    uint32_t e = (uint32_t) rng_below(rng, oracle->n_elements);
    uint64_t lo = rng_below(rng, span_of(oracle)), len = rng_below(rng, span_of(oracle)), n = 0;
    unsigned char *spread = malloc(len + 1), *packed = malloc(len + 1), *back = malloc(len + 1);
    const struct nest *nest = pattern_element(pattern, e);

    for (uint64_t i = 0; i < len; i++)
        spread[i] = (unsigned char) rng_u64(rng);
    memset(back, 0xaa, len + 1);
    memset(packed, 0xaa, len + 1);
    if (nest_gather(nest, lo, lo + len, spread, packed) != nest_scatter(nest, lo, lo + len, back, packed))
        differ(verdict, "gather and scatter move different numbers of bytes");
    for (uint64_t i = 0; i < len; i++) {
        bool member = oracle_map(oracle, lo + i).element == e;

        if ((member && (packed[n] != spread[i] || back[i] != spread[i])) || (!member && back[i] != 0xaa))
            differ(verdict,
                   "gather or scatter of %" PRIu32 " from %" PRIu64 ", %" PRIu64 " bytes, is wrong at byte %" PRIu64, e,
                   lo, len, lo + i);
        n += member;
    }
    if (packed[n] != 0xaa || nest_gather(nest, lo, lo + len, spread, packed) != n)
        differ(verdict, "gather of %" PRIu32 " from %" PRIu64 " moves other than %" PRIu64 " bytes", e, lo, n);
    free(spread);
    free(packed);
    free(back);
}

static char *printed(const struct layout *layout)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    layout_print(out, layout);
    fclose(out);
    return text;
}

void check_print(const struct oracle *oracle, const struct layout *layout, struct verdict *verdict)
{
    cleanup(layout_freep) struct layout *again = NULL;
    cleanup(freep) char *text = printed(layout);
    cleanup(freep) char *text_again = NULL;
    struct layout_error error;

    if (layout_parse(text, strlen(text), 0, &again, &error) < 0) {
        differ(verdict, "its canonical form is refused: column %zu: %s: %.200s", error.column, error.why, text);
        return;
    }
    text_again = printed(again);
    if (strcmp(text, text_again) != 0)
        differ(verdict, "printed %.200s, parsed and printed again %.200s", text, text_again);
    check_map(oracle, again->pattern, verdict);
}

static uint64_t common_period(const struct oracle *a, const struct oracle *b)
{
    return a->size / gcd_u64(a->size, b->size) * b->size;
}

/* Runs of the common bytes of two elements; where out is given, also every byte held against the overlap. */
static uint64_t compare_overlap(const struct oracle *a, uint32_t i, const struct oracle *b, uint32_t j,
                                const struct overlap *overlap, struct verdict *verdict)
{
    uint64_t lo = MAX(a->disp, b->disp), n = 0, runs = 0, rank_a = 0, rank_b = 0, last_a = 0, last_b = 0;

    for (uint64_t x = lo; x < lo + common_period(a, b); x++) {
        bool in_a = oracle_map(a, x).element == i, in_b = oracle_map(b, x).element == j;

        if (in_a && in_b) {
            if (overlap != NULL &&
                (n >= overlap->size || nest_select(overlap->common, n) != x - lo ||
                 nest_select(overlap->on_a, n) != rank_a || nest_select(overlap->on_b, n) != rank_b)) {
                differ(verdict,
                       "common byte %" PRIu64 " of %" PRIu32 " and %" PRIu32 " is not %" PRIu64 " %" PRIu64 " %" PRIu64,
                       n, i, j, x - lo, rank_a, rank_b);
                return 0;
            }
            runs += n == 0 || last_a + 1 != rank_a || last_b + 1 != rank_b;
            last_a = rank_a;
            last_b = rank_b;
            n++;
        }
        rank_a += in_a;
        rank_b += in_b;
    }
    if (overlap != NULL && (n != overlap->size || overlap->on_a->size != n || overlap->on_b->size != n ||
                            overlap->size_a != rank_a || overlap->size_b != rank_b))
        differ(verdict, "%" PRIu32 " and %" PRIu32 " have %" PRIu64 " bytes in common, expected %" PRIu64, i, j,
               overlap->size, n);
    if (overlap != NULL && overlap->runs != runs)
        differ(verdict, "%" PRIu32 " and %" PRIu32 " meet in %" PRIu64 " runs, expected %" PRIu64, i, j, overlap->runs,
               runs);
    return runs;
}

void check_overlap(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                   const struct pattern *pattern_b, struct rng *rng, struct verdict *verdict)
{
    uint32_t i = (uint32_t) rng_below(rng, a->n_elements), j = (uint32_t) rng_below(rng, b->n_elements);
    cleanup(overlap_done) struct overlap overlap = { 0 };
    int r = overlap_of_elements(pattern_a, i, pattern_b, j, &overlap);

    if (r < 0)
        differ(verdict, "the intersection of %" PRIu32 " and %" PRIu32 " fails: %d", i, j, r);
    else
        (void) compare_overlap(a, i, b, j, &overlap, verdict);
}

void check_match(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                 const struct pattern *pattern_b, struct verdict *verdict)
{
    cleanup(match_freep) struct match *match = NULL;
    uint64_t all = 0, least = 0;
    int r = match_new(pattern_a, pattern_b, &match);

    if (r < 0) {
        differ(verdict, "match fails: %d", r);
        return;
    }
    for (uint32_t j = 0; j < b->n_elements; j++) {
        uint64_t runs = 0;

        for (uint32_t i = 0; i < a->n_elements; i++)
            runs += compare_overlap(a, i, b, j, NULL, verdict);
        if (runs != match->row[j].runs)
            differ(verdict, "element %" PRIu32 " needs %" PRIu64 " runs, expected %" PRIu64, j, match->row[j].runs,
                   runs);
        all += runs;
        least += b->bytes[j] > 0;
    }
    if (all != match->runs || least != match->least)
        differ(verdict, "match of %" PRIu64 " over %" PRIu64 ", expected %" PRIu64 " over %" PRIu64, match->runs,
               match->least, all, least);
}
