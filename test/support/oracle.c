/* SPDX-License-Identifier: MIT */
#include "test/support/oracle.h"

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

/* Writes what a stretch has of the owner: as one FALLS, or a repeated list of segments as one FALLS for each of them,
 * and these interleave. */
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
    oracle->copies = oracle->n_elements > 1 && rng_chance(rng, 20) ? 2 : 1;
    if (oracle->copies > 1 || rng_chance(rng, 5))
        add(oracle, " copies %" PRIu32, oracle->copies);
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

/* Makes a FALLS that stands for n_elements: by a suffix of its own, by an inner set, or by both. */
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

/* Counts the bytes that element k of a set covers; the block around the set starts at base. */
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
