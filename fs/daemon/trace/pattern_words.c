/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/pattern_words.h"

#include "layout/layout.h"

#include <stdio.h>

/* -- keys -- */

/* What a list's key has in place of its pieces, of which there may be millions. */
struct list_key {
    uint64_t base, extent, skip, size, n, hash;
};

static uint64_t hash_pieces(const struct pieces *pieces)
{
    uint64_t hash = pieces->n;

    for (uint64_t i = 0; i <= pieces->n; i++) {
        hash = (hash ^ pieces->piece[i].off) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 32 ^ pieces->piece[i].before) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 29;
    }
    return hash;
}

static struct list_key key_of(const struct list *list)
{
    return (struct list_key){ list->base, list->extent,    list->skip,
                              list->size, list->pieces->n, hash_pieces(list->pieces) };
}

static const char *view_text(const struct collect_ask *ask)
{
    return ask->handle->file_view != NULL ? file_view_view(ask->handle->file_view)->text : "";
}

int pattern_key(const struct collect_ask *ask, enum trace_how how, void **ret_key, size_t *ret_len)
{
    const struct wanted *wanted = ask->ask.wanted;
    const uint32_t kind = how;
    const char *view = view_text(ask);
    struct list_key list = { .n = 0 };
    const void *words = wanted->pieces != NULL ? (const void *) &list : wanted->key;
    size_t len = wanted->pieces != NULL ? sizeof list : wanted->key_len, view_len = strlen(view) + 1;
    char *key;

    if (len == 0) {
        *ret_len = 0; /* an empty list, of which nothing is kept */
        return 0;
    }
    if (wanted->pieces != NULL)
        list = key_of(&wanted->list);
    key = malloc(sizeof kind + len + view_len);
    if (key == NULL)
        return -ENOMEM;
    memcpy(key, &kind, sizeof kind);
    memcpy(key + sizeof kind, words, len);
    memcpy(key + sizeof kind + len, view, view_len);
    *ret_key = key;
    *ret_len = sizeof kind + len + view_len;
    return 0;
}

/* -- texts -- */

static void print_section(FILE *out, const struct wanted *wanted)
{
    struct fallsfs_ioc_section section = { .ndims = 0 };
    const size_t from = offsetof(struct fallsfs_ioc_section, ndims);
    struct array array = { 0 };

    memcpy((uint8_t *) &section + from, wanted->key, MIN(wanted->key_len, sizeof section - from));
    array = (struct array){
        .ndims = section.ndims, .order = section.order, .elem = section.elem, .header = section.header
    };
    for (uint32_t i = 0; i < section.ndims && i < ARRAY_MAX_DIMS; i++)
        array.size[i] = section.size[i];
    layout_print_array(out, &array, "");
    for (uint32_t i = 0; i < section.ndims && i < ARRAY_MAX_DIMS; i++)
        fprintf(out, "%s%" PRIu64 ":%" PRIu64 ":%" PRIu64, i == 0 ? " section=" : ",",
                (uint64_t) section.range[i].lower, (uint64_t) section.range[i].upper,
                (uint64_t) section.range[i].stride);
}

static void print_falls(FILE *out, const struct wanted *wanted)
{
    const size_t from = offsetof(struct fallsfs_ioc_falls, disp);
    const size_t text_at = offsetof(struct fallsfs_ioc_falls, text) - from;
    struct fallsfs_ioc_falls falls = { .disp = 0 };

    memcpy((uint8_t *) &falls + from, wanted->key, text_at);
    fprintf(out, "disp=%" PRIu64, (uint64_t) falls.disp);
    if (falls.bytes > 0)
        fprintf(out, " extent=%" PRIu64 " skip=%" PRIu64 " bytes=%" PRIu64, (uint64_t) falls.extent,
                (uint64_t) falls.skip, (uint64_t) falls.bytes);
    fprintf(out, " %.*s", (int) (wanted->key_len - text_at), (const char *) wanted->key + text_at);
}

static void print_list(FILE *out, const struct list *list)
{
    const struct list_piece *piece = list->pieces->piece;
    uint64_t n = MIN(list->pieces->n, PATTERN_MAX_PIECES);

    fprintf(out, "disp=%" PRIu64 " extent=%" PRIu64 " skip=%" PRIu64 " bytes=%" PRIu64 " pieces=", list->base,
            list->extent == UINT64_MAX ? 0 : list->extent, list->skip, list->size);
    for (uint64_t i = 0; i < n; i++)
        fprintf(out, "%s(%" PRIu64 ",%" PRIu64 ")", i > 0 ? "," : "", piece[i].off,
                piece[i + 1].before - piece[i].before);
    if (n < list->pieces->n)
        fputs(",...", out);
}

int pattern_text(const struct collect_ask *ask, enum trace_how how, char **ret_text)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return -ENOMEM;
    if (how == TRACE_BY_SECTION)
        print_section(out, ask->ask.wanted);
    else if (how == TRACE_BY_FALLS)
        print_falls(out, ask->ask.wanted);
    else
        print_list(out, &ask->ask.wanted->list);
    if (ask->handle->file_view != NULL)
        fprintf(out, " of view %s", view_text(ask));
    if (fclose(out) != 0)
        return -ENOMEM;
    *ret_text = steal(text);
    return 0;
}
