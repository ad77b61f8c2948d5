/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"
#include "ioctl/tile.h"
#include "layout/layout.h"
#include "layout/section.h"

#include <string.h>
#include <sys/resource.h>

/* -- decoded -- */

static int section_nest(const struct fallsfs_array *array, const struct fallsfs_range section[], struct nest **ret_nest)
{
    struct array what = { .ndims = array->ndims, .order = array->order, .elem = array->elem, .header = array->header };
    struct range range[ARRAY_MAX_DIMS];

    for (uint32_t i = 0; i < MIN(array->ndims, ARRAY_MAX_DIMS); i++) {
        what.size[i] = array->size[i];
        range[i] = (struct range){ section[i].lower, section[i].upper, section[i].stride };
    }
    return section_new(&what, range, ret_nest);
}

static int parse(const char *falls, struct nest **ret_nest)
{
    struct layout_error error;

    return nest_parse(falls, strlen(falls), ret_nest, &error);
}

static int falls_nest(uint64_t disp, const char *falls, struct nest **ret_nest)
{
    struct nest *nest;
    int r = parse(falls, &nest);

    if (r < 0)
        return r;
    r = nest_shift(nest, disp);
    if (r < 0)
        nest_free(nest);
    else
        *ret_nest = nest;
    return r;
}

static int tiles_nest(const struct fallsfs_list *list, struct nest **ret_nest)
{
    cleanup(nest_freep) struct nest *tile = NULL;
    cleanup(nest_freep) struct nest *nest = NULL;
    int r = parse(list->falls, &tile);

    if (r == 0)
        r = nest_tile(tile, list->extent, list->skip, list->bytes, &nest);
    if (r == 0)
        r = nest_shift(nest, list->disp);
    if (r == 0)
        *ret_nest = steal(nest);
    return r;
}

static int decode_pieces(const struct fallsfs_list *list, struct wish_bytes *ret_bytes)
{
    static const struct payer nobody;
    const struct list_source from = { .at = (const uint8_t *) list->pieces, .n = list->n };
    struct wish_bytes bytes = { .nest = NULL };
    int r = list->n > 0 ? pieces_copy(&from, &nobody, &bytes.pieces) : -EINVAL;

    if (r == 0)
        r = list_init(&bytes.list, bytes.pieces, list->disp, list->extent, list->skip, list->bytes);
    if (r < 0)
        pieces_put(bytes.pieces);
    else
        *ret_bytes = bytes;
    return r;
}

int wish_decode(const struct wish *wish, struct wish_bytes *ret_bytes)
{
    if (wish->array != NULL)
        return section_nest(wish->array, wish->section, &ret_bytes->nest);
    if (wish->list == NULL)
        return falls_nest(wish->disp, wish->falls, &ret_bytes->nest);
    if (wish->list->bytes == 0)
        return falls_nest(0, "{}", &ret_bytes->nest);
    return wish->list->falls != NULL ? tiles_nest(wish->list, &ret_bytes->nest) : decode_pieces(wish->list, ret_bytes);
}

void wish_bytes_done(struct wish_bytes *bytes)
{
    nest_free(bytes->nest);
    pieces_put(bytes->pieces);
    *bytes = (struct wish_bytes){ .nest = NULL };
}

struct asked wish_asked(const struct wish_bytes *bytes)
{
    return (struct asked){ .nest = bytes->nest, .list = bytes->pieces != NULL ? &bytes->list : NULL };
}

/* -- how much -- */

static bool has_limit(rlim_t *ret_limit)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    *ret_limit = limit.rlim_cur;
    return true;
}

bool wish_is_said(const struct wish *wish)
{
    if (wish->array != NULL)
        return wish->section != NULL;
    if (wish->list == NULL)
        return wish->falls != NULL;
    return wish->list->falls != NULL || wish->list->bytes == 0 || (wish->list->pieces != NULL && wish->list->n > 0);
}

/* Where a list ends takes long to find out, so only who has a limit does. */
int wish_measure(const struct wish *wish, uint64_t *ret_bytes)
{
    struct wish_bytes bytes = { .nest = NULL };
    struct asked asked;
    rlim_t limit = 0;
    bool is_limited = wish->write && has_limit(&limit);
    uint64_t last;
    int r;

    if (!wish_is_said(wish))
        return -EINVAL;
    if (wish->list != NULL && wish->list->falls == NULL && wish->list->n > LIST_MAX_PIECES)
        return -E2BIG;
    if (wish->list != NULL && !is_limited) {
        *ret_bytes = wish->list->bytes;
        return 0;
    }
    r = wish_decode(wish, &bytes);
    if (r < 0)
        return r;
    asked = wish_asked(&bytes);
    /* No file of this process's may be written behind that, as write() has it; but for the signal. */
    if (is_limited && asked_prev(&asked, UINT64_MAX, &last) && last >= limit)
        r = -EFBIG;
    else
        *ret_bytes = asked_size(&asked);
    wish_bytes_done(&bytes);
    return r;
}

uint64_t fallsfs_section_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    const struct wish wish = { .array = array, .section = section };
    uint64_t bytes;

    return wish_measure(&wish, &bytes) == 0 ? bytes : 0;
}

uint64_t wish_list_len(const struct wish *wish)
{
    return wish->array == NULL && wish->list != NULL && wish->list->falls == NULL
               ? wish->list->n * sizeof(struct fallsfs_ioc_piece)
               : 0;
}

/* -- what is said too long -- */

/* Counts the pieces, or stores them, too. */
static uint64_t each_piece(const struct nest *nest, struct fallsfs_ioc_piece piece[])
{
    uint64_t n = 0, end = 0, len;

    for (uint64_t k = 0; k < nest->size && n <= LIST_MAX_PIECES; k += len) {
        uint64_t off = nest_select_run(nest, k, &len);

        if (k == 0 || off > end) {
            if (piece != NULL)
                piece[n] = (struct fallsfs_ioc_piece){ off, 0 };
            n++;
        }
        if (piece != NULL)
            piece[n - 1].len += len;
        end = off + len;
    }
    return n;
}

static int spell(const struct nest *nest, struct spelled *spelled)
{
    uint64_t n = each_piece(nest, NULL);

    if (n > LIST_MAX_PIECES)
        return -E2BIG;
    spelled->piece = fallsfs_alloc(MAX(n, 1) * sizeof *spelled->piece);
    if (spelled->piece == NULL)
        return -ENOMEM;
    spelled->list.n = each_piece(nest, spelled->piece);
    spelled->list.pieces = spelled->piece;
    return 0;
}

int wish_spell(struct wish *wish, struct spelled *spelled)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    const char *falls = wish->array != NULL ? NULL : wish->list != NULL ? wish->list->falls : wish->falls;
    int r;

    if (falls == NULL || strlen(falls) < FALLSFS_MAX_TEXT)
        return 0;
    r = parse(falls, &nest);
    if (r == 0)
        r = spell(nest, spelled);
    if (r < 0)
        return r;
    if (wish->list != NULL) {
        spelled->list.disp = wish->list->disp;
        spelled->list.extent = wish->list->extent;
        spelled->list.skip = wish->list->skip;
        spelled->list.bytes = wish->list->bytes;
    } else {
        spelled->list.disp = wish->disp;
        spelled->list.bytes = nest->size;
    }
    wish->list = &spelled->list;
    return 0;
}

void spelled_done(struct spelled *spelled)
{
    fallsfs_free(spelled->piece);
    *spelled = (struct spelled){ .piece = NULL };
}

/* -- as the daemon takes it -- */

static unsigned long section_message(const struct wish *wish, struct fallsfs_ioc_section *section)
{
    *section = (struct fallsfs_ioc_section){ .ndims = wish->array->ndims,
                                             .order = wish->array->order,
                                             .elem = wish->array->elem,
                                             .header = wish->array->header };
    for (uint32_t i = 0; i < MIN(wish->array->ndims, FALLSFS_MAX_DIMS); i++) {
        const struct fallsfs_range *range = &wish->section[i];

        section->size[i] = wish->array->size[i];
        section->range[i] = (struct fallsfs_ioc_range){ range->lower, range->upper, range->stride };
    }
    return FALLSFS_IOC_SECTION;
}

static unsigned long falls_message(uint64_t disp, const char *falls, struct fallsfs_ioc_falls *message)
{
    *message = (struct fallsfs_ioc_falls){ .disp = disp };
    strncpy(message->text, falls, sizeof message->text - 1);
    return FALLSFS_IOC_FALLS;
}

unsigned long wish_message(const struct wish *wish, union message *message)
{
    const struct fallsfs_list *list = wish->list;

    if (wish->array != NULL)
        return section_message(wish, &message->section);
    if (list == NULL)
        return falls_message(wish->disp, wish->falls, &message->falls);
    if (list->falls != NULL && list->bytes == 0)
        return falls_message(0, "{}", &message->falls);
    if (list->falls != NULL) {
        (void) falls_message(list->disp, list->falls, &message->falls);
        message->falls.extent = list->extent;
        message->falls.skip = list->skip;
        message->falls.bytes = list->bytes;
        return FALLSFS_IOC_FALLS;
    }
    message->list = (struct fallsfs_ioc_list){ .disp = list->disp,
                                               .n = list->n,
                                               .list_id = list->id,
                                               .extent = list->extent,
                                               .skip = list->skip,
                                               .bytes = list->bytes };
    return FALLSFS_IOC_LIST;
}

void wish_forget(struct wish *wish)
{
    wish->array = NULL;
    wish->section = NULL;
    wish->list = NULL;
    wish->falls = NULL;
}
