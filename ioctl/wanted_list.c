/* SPDX-License-Identifier: MIT */
/* What a LIST wants, and the lists that an open file remembers. */
#include "ioctl/request.h"

/* -- what is remembered -- */

/* With a reference; NULL: the i-th is none of so many pieces and that id. Without id, each may be the one. */
static struct pieces *recall(struct wanted_cache *cache, uint32_t i, uint64_t id, uint64_t n)
{
    const struct remembered_pieces *remembered = &cache->pieces[i];
    struct pieces *pieces = NULL;

    pthread_mutex_lock(&cache->lock);
    if (remembered->pieces != NULL && remembered->pieces->n_given == n && remembered->id == id)
        pieces = pieces_ref(remembered->pieces);
    pthread_mutex_unlock(&cache->lock);
    return pieces;
}

/* Long ones have a place of their own, so that short ones stay, and are not forgotten for short ones. */
static uint32_t place_for(struct wanted_cache *cache, const struct pieces *pieces)
{
    uint32_t i = cache->next_pieces;

    if (pieces->charged > WANTED_REMEMBERED_BYTES)
        return WANTED_REMEMBERED;
    cache->next_pieces = (i + 1) % WANTED_REMEMBERED;
    return i;
}

static void remember(struct wanted_cache *cache, uint64_t id, struct pieces *pieces)
{
    struct remembered_pieces *at;
    struct pieces *old;

    pthread_mutex_lock(&cache->lock);
    at = &cache->pieces[place_for(cache, pieces)];
    old = at->pieces;
    *at = (struct remembered_pieces){ id, pieces_ref(pieces) };
    pthread_mutex_unlock(&cache->lock);
    pieces_put(old);
}

void wanted_cache_forget_lists(struct wanted_cache *cache)
{
    struct pieces *old[ARRAY_SIZE(cache->pieces)];

    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < ARRAY_SIZE(old); i++)
        old[i] = steal(cache->pieces[i].pieces);
    pthread_mutex_unlock(&cache->lock);
    for (uint32_t i = 0; i < ARRAY_SIZE(old); i++)
        pieces_put(old[i]);
}

/* One that is known by its id, or that looks the same. -ENOENT: there is none. */
static int find_pieces(struct wanted_cache *cache, uint64_t id, const struct list_source *from,
                       struct pieces **ret_pieces)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(cache->pieces); i++) {
        struct pieces *pieces = recall(cache, i, id, from->n);
        int r;

        if (pieces == NULL)
            continue;
        r = id != 0 ? 1 : pieces_are(pieces, from);
        if (r > 0) {
            *ret_pieces = pieces;
            return 0;
        }
        pieces_put(pieces);
        if (r < 0)
            return r;
    }
    return -ENOENT;
}

static int get_pieces(struct wanted_cache *cache, uint64_t id, const struct list_source *from,
                      const struct payer *payer, struct pieces **ret_pieces)
{
    int r = find_pieces(cache, id, from, ret_pieces);

    if (r != -ENOENT)
        return r;
    r = pieces_copy(from, payer, ret_pieces);
    if (r == 0)
        remember(cache, id, *ret_pieces);
    return r;
}

/* -- what is wanted -- */

static int wanted_nothing(struct wanted **ret_wanted)
{
    struct wanted *wanted = calloc(1, sizeof *wanted);
    int r = wanted != NULL ? nest_new(NULL, &wanted->nest) : -ENOMEM;

    if (r < 0) {
        free(wanted);
        return r;
    }
    atomic_init(&wanted->refs, 1);
    wanted->cost = sizeof *wanted + nest_bytes(wanted->nest);
    *ret_wanted = wanted;
    return 0;
}

int wanted_list(struct wanted_cache *cache, const struct fallsfs_ioc_list *list, const struct list_source *from,
                const struct payer *payer, struct wanted **ret_wanted)
{
    struct wanted *wanted;
    int r;

    if (list->bytes == 0)
        return wanted_nothing(ret_wanted);
    wanted = calloc(1, sizeof *wanted);
    if (wanted == NULL)
        return -ENOMEM;
    atomic_init(&wanted->refs, 1);
    wanted->cost = sizeof *wanted;
    r = get_pieces(cache, list->list_id, from, payer, &wanted->pieces);
    if (r == 0)
        r = list_init(&wanted->list, wanted->pieces, list->disp, list->extent, list->skip, list->bytes);
    if (r == 0)
        r = wanted_look_through(cache, wanted);
    if (r < 0) {
        wanted_put(wanted);
        return r;
    }
    *ret_wanted = wanted;
    return 0;
}
