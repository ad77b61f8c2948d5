/* SPDX-License-Identifier: MIT */
#include "ioctl/request.h"

#include "ioctl/collective.h"
#include "ioctl/tile.h"
#include "layout/compose.h"
#include "layout/layout.h"
#include "layout/section.h"

#include <string.h>

static bool is_zero(const void *bytes, size_t n)
{
    const uint8_t *byte = bytes;

    for (size_t i = 0; i < n; i++)
        if (byte[i] != 0)
            return false;
    return true;
}

#define IS_ZERO(field) is_zero(&(field), sizeof(field))

/* -- what is wanted -- */

struct wanted *wanted_ref(struct wanted *wanted)
{
    atomic_fetch_add(&wanted->refs, 1);
    return wanted;
}

static void lens_put(const struct lens *lens)
{
    if (lens->nest != NULL)
        lens->put(lens->owner);
}

void wanted_put(struct wanted *wanted)
{
    if (wanted == NULL || atomic_fetch_sub(&wanted->refs, 1) > 1)
        return;
    nest_free(wanted->nest);
    pieces_put(wanted->pieces);
    lens_put(&wanted->lens);
    free(wanted);
}

static bool has_key(const struct wanted *wanted, const void *key, size_t len)
{
    return wanted->key_len == len && memcmp(wanted->key, key, len) == 0;
}

static bool lists_equal(const struct list *a, const struct list *b)
{
    return a->base == b->base && a->extent == b->extent && a->skip == b->skip && a->size == b->size &&
           pieces_equal(a->pieces, b->pieces);
}

bool wanted_equal(const struct wanted *a, const struct wanted *b)
{
    if (a->lens.nest != b->lens.nest)
        return false;
    if (a == b || a->pieces == NULL || b->pieces == NULL)
        return a == b || (a->pieces == b->pieces && has_key(a, b->key, b->key_len));
    return lists_equal(&a->list, &b->list);
}

/* What is regular in both is so in the file: no lens is needed then. */
static int compose(const struct nest *view, struct wanted *wanted)
{
    struct nest *composed;
    int r = nest_compose(view, wanted->nest, &composed);

    if (r < 0)
        return r;
    wanted->cost += nest_bytes(composed);
    wanted->cost -= nest_bytes(wanted->nest);
    nest_free(wanted->nest);
    wanted->nest = composed;
    return 0;
}

int wanted_look_through(const struct wanted_cache *cache, struct wanted *wanted)
{
    const struct nest *view = cache->lens.nest;
    const struct asked asked = wanted_asked(wanted);
    uint64_t last;

    if (view == NULL)
        return 0;
    if (asked_prev(&asked, UINT64_MAX, &last) && (last >= view->size || nest_select(view, last) >= FALLS_LIMIT))
        return -EOVERFLOW;
    if (wanted->array_end > 0)
        wanted->array_end = nest_select(view, MIN(wanted->array_end, view->size) - 1) + 1;
    if (wanted->nest != NULL) {
        int r = compose(view, wanted);

        if (r != -E2BIG)
            return r;
    }
    cache->lens.ref(cache->lens.owner);
    wanted->lens = cache->lens;
    wanted->cost += cache->lens.bytes;
    return 0;
}

/* Takes the nest over. */
static int wanted_new(const struct wanted_cache *cache, struct nest *nest, uint64_t array_end, const void *key,
                      size_t len, struct wanted **ret_wanted)
{
    struct wanted *wanted = malloc(sizeof *wanted + len);
    int r;

    if (wanted == NULL) {
        nest_free(nest);
        return -ENOMEM;
    }
    *wanted = (struct wanted){ .nest = nest, .array_end = array_end, .key_len = len };
    wanted->cost = sizeof *wanted + len + sizeof *nest + nest->n_nodes * sizeof nest->node[0];
    atomic_init(&wanted->refs, 1);
    memcpy(wanted->key, key, len);
    r = wanted_look_through(cache, wanted);
    if (r < 0)
        wanted_put(wanted);
    else
        *ret_wanted = wanted;
    return r;
}

void wanted_cache_init(struct wanted_cache *cache, const struct lens *lens)
{
    *cache = (struct wanted_cache){ .next = 0 };
    if (lens != NULL) {
        lens->ref(lens->owner);
        cache->lens = *lens;
    }
    pthread_mutex_init(&cache->lock, NULL);
}

void wanted_cache_done(struct wanted_cache *cache)
{
    wanted_cache_forget_lists(cache);
    for (uint32_t i = 0; i < WANTED_REMEMBERED; i++)
        wanted_put(cache->last[i]);
    lens_put(&cache->lens);
    pthread_mutex_destroy(&cache->lock);
}

static struct wanted *recall(struct wanted_cache *cache, const void *key, size_t len)
{
    struct wanted *found = NULL;

    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < WANTED_REMEMBERED && found == NULL; i++)
        if (cache->last[i] != NULL && has_key(cache->last[i], key, len))
            found = wanted_ref(cache->last[i]);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static void remember(struct wanted_cache *cache, struct wanted *wanted)
{
    struct wanted *old;

    pthread_mutex_lock(&cache->lock);
    old = cache->last[cache->next];
    cache->last[cache->next] = wanted_ref(wanted);
    cache->next = (cache->next + 1) % WANTED_REMEMBERED;
    pthread_mutex_unlock(&cache->lock);
    wanted_put(old);
}

static int decode_section(const struct fallsfs_ioc_section *section, struct nest **ret_nest, uint64_t *ret_end)
{
    struct array array = {
        .ndims = section->ndims, .order = section->order, .elem = section->elem, .header = section->header
    };
    struct range range[ARRAY_MAX_DIMS];
    uint64_t bytes;
    int r;

    for (uint32_t i = 0; i < ARRAY_MAX_DIMS; i++) {
        array.size[i] = section->size[i];
        range[i] = (struct range){ section->range[i].lower, section->range[i].upper, section->range[i].stride };
    }
    r = array_bytes(&array, &bytes);
    if (r < 0)
        return r;
    *ret_end = array.header + bytes;
    return section_new(&array, range, ret_nest);
}

int wanted_section(struct wanted_cache *cache, const struct fallsfs_ioc_section *section, struct wanted **ret_wanted)
{
    const size_t from = offsetof(struct fallsfs_ioc_section, ndims);
    const uint8_t *key = (const uint8_t *) section + from;
    struct wanted *wanted = recall(cache, key, sizeof *section - from);
    struct nest *nest;
    uint64_t end;
    int r;

    if (wanted == NULL) {
        uint32_t n = MIN(section->ndims, FALLSFS_MAX_DIMS);

        if (!IS_ZERO(section->reserved) ||
            !is_zero(&section->size[n], (FALLSFS_MAX_DIMS - n) * sizeof section->size[0]) ||
            !is_zero(&section->range[n], (FALLSFS_MAX_DIMS - n) * sizeof section->range[0]))
            return -EINVAL;
        r = decode_section(section, &nest, &end);
        if (r == 0)
            r = wanted_new(cache, nest, end, key, sizeof *section - from, &wanted);
        if (r < 0)
            return r;
        remember(cache, wanted);
    }
    *ret_wanted = wanted;
    return 0;
}

int wanted_falls(struct wanted_cache *cache, const struct fallsfs_ioc_falls *falls, struct wanted **ret_wanted)
{
    const size_t from = offsetof(struct fallsfs_ioc_falls, disp);
    const size_t text_at = offsetof(struct fallsfs_ioc_falls, text) - from;
    const uint8_t *key = (const uint8_t *) falls + from;
    const size_t len = strnlen(falls->text, sizeof falls->text);
    struct wanted *wanted;
    struct nest *nest;
    struct layout_error error;
    int r;

    if (len == sizeof falls->text || !IS_ZERO(falls->reserved) ||
        (falls->bytes == 0 && (falls->extent != 0 || falls->skip != 0)))
        return -EINVAL;
    wanted = recall(cache, key, text_at + len);
    if (wanted == NULL) {
        r = nest_parse(falls->text, len, &nest, &error);
        if (r < 0)
            return r;
        if (falls->bytes > 0) {
            struct nest *one = nest;

            r = nest_tile(one, falls->extent, falls->skip, falls->bytes, &nest);
            nest_free(one);
            if (r < 0)
                return r;
        }
        r = nest_shift(nest, falls->disp);
        if (r < 0) {
            nest_free(nest);
            return r;
        }
        r = wanted_new(cache, nest, 0, key, text_at + len, &wanted);
        if (r < 0)
            return r;
        remember(cache, wanted);
    }
    *ret_wanted = wanted;
    return 0;
}

/* -- what is well-formed -- */

static int valid(bool is)
{
    return is ? 0 : -EINVAL;
}

int request_check(const struct fallsfs_ioc_request *request)
{
    return valid(request->version == FALLSFS_IOCTL_VERSION && request->direction <= FALLSFS_WRITE &&
                 (request->flags & ~FALLSFS_NOWAIT) == 0 && (request->group == 0) == (request->seq == 0) &&
                 IS_ZERO(request->reserved));
}

int request_check_list(const struct fallsfs_ioc_list *list)
{
    return valid(list->reserved32 == 0 && IS_ZERO(list->reserved) && list->list_off % sizeof(uint64_t) == 0 &&
                 (list->n > 0 || list->bytes == 0));
}

static bool is_sieve(uint32_t sieve)
{
    const uint32_t reads = sieve & 3, writes = sieve >> 4 & 3;

    return sieve <= FALLSFS_SIEVE_OFF ||
           (sieve == FALLSFS_SIEVE_EACH(reads, writes) && reads <= FALLSFS_SIEVE_OFF && writes <= FALLSFS_SIEVE_OFF);
}

static bool are_hints(const struct fallsfs_ioc_hints *hints)
{
    return hints->domains <= FALLSFS_DOMAINS_DISK && is_sieve(hints->sieve) && hints->window <= COLLECTIVE_MAX_WINDOW &&
           hints->workers <= COLLECTIVE_MAX_WORKERS && IS_ZERO(hints->reserved);
}

int request_check_hint(const struct fallsfs_ioc_hint *hint)
{
    return valid(hint->version == FALLSFS_IOCTL_VERSION && hint->reserved32 == 0 && are_hints(&hint->hints) &&
                 hint->hints.timeout_ms == 0 && IS_ZERO(hint->reserved));
}

int request_check_join(const struct fallsfs_ioc_join *join)
{
    uint32_t timeout_ms = join->hints.timeout_ms;

    return valid(join->version == FALLSFS_IOCTL_VERSION && join->nranks > 0 && join->nranks <= FALLSFS_MAX_RANKS &&
                 join->rank < join->nranks && join->reserved32 == 0 && are_hints(&join->hints) &&
                 (timeout_ms == 0 || timeout_ms == FALLSFS_TIMEOUT_NONE ||
                  (timeout_ms >= REQUEST_MIN_TIMEOUT && timeout_ms <= REQUEST_MAX_TIMEOUT)) &&
                 IS_ZERO(join->reserved));
}

int request_check_buffer(const struct fallsfs_ioc_buffer *buffer)
{
    return valid(buffer->version == FALLSFS_IOCTL_VERSION && buffer->fd >= -1 &&
                 (buffer->fd == -1 || buffer->len > 0) && buffer->reserved32 == 0 && IS_ZERO(buffer->reserved));
}

int request_check_ticket(const struct fallsfs_ioc_ticket *ticket)
{
    return valid(ticket->version == FALLSFS_IOCTL_VERSION && ticket->reserved32 == 0 && IS_ZERO(ticket->reserved));
}

int request_check_leave(const struct fallsfs_ioc_leave *leave)
{
    return valid(leave->version == FALLSFS_IOCTL_VERSION && leave->reserved32 == 0 && IS_ZERO(leave->reserved));
}

int request_check_stats(const struct fallsfs_ioc_stats *stats)
{
    return valid(stats->version == FALLSFS_IOCTL_VERSION && stats->reserved32 == 0 && IS_ZERO(stats->reserved));
}

int request_check_groups(const struct fallsfs_ioc_groups *groups)
{
    return valid(groups->version == FALLSFS_IOCTL_VERSION && IS_ZERO(groups->reserved));
}

int request_check_board(const struct fallsfs_ioc_board *board)
{
    return valid(board->version == FALLSFS_IOCTL_VERSION && board->fd >= -1 && board->nranks > 0 &&
                 board->nranks <= FALLSFS_MAX_RANKS && IS_ZERO(board->reserved));
}

int request_check_round(const struct fallsfs_ioc_round *round)
{
    return valid(round->version == FALLSFS_IOCTL_VERSION && round->reserved32 == 0 && IS_ZERO(round->reserved));
}

int request_check_view(const struct fallsfs_ioc_view *view)
{
    return valid(view->version == FALLSFS_IOCTL_VERSION && view->reserved32 == 0 && IS_ZERO(view->reserved) &&
                 IS_ZERO(view->path) && memchr(view->text, 0, sizeof view->text) != NULL);
}
