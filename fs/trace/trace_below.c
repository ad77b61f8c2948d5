/* SPDX-License-Identifier: MIT */
#include "fs/trace/trace_below.h"

#include "ioctl/trace/trace_format.h"
#include "layout/base.h"

#include <endian.h>
#include <search.h>

/* A file that is wanted, or a process or pattern: bytes is its item, until it is told. */
struct known {
    uint16_t type;
    uint32_t number;
    char *bytes; /* NULL: it is told */
    size_t len;
};

struct trace_below {
    char *path;
    size_t path_len;
    bool has_head;
    void *known; /* a tree of tsearch */
    char *rest;  /* the beginning of what is not whole yet */
    size_t rest_len;
};

static int by_number(const void *a, const void *b)
{
    const struct known *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void known_free(void *of)
{
    struct known *known = of;

    if (known != NULL)
        free(known->bytes);
    free(known);
}

int trace_below_new(const char *path, struct trace_below **ret_below)
{
    struct trace_below *below = calloc(1, sizeof *below);

    if (below == NULL || (below->path = strdup(path)) == NULL) {
        free(below);
        return -ENOMEM;
    }
    below->path_len = strlen(path);
    *ret_below = below;
    return 0;
}

void trace_below_free(struct trace_below *below)
{
    if (below == NULL)
        return;
    tdestroy(below->known, known_free);
    free(below->rest);
    free(below->path);
    free(below);
}

static struct known *find(const struct trace_below *below, uint16_t type, uint32_t number)
{
    const struct known key = { .type = type, .number = number };
    struct known *const *found = tfind(&key, &below->known, by_number);

    return found != NULL ? *found : NULL;
}

/* Remembers an item by its number, with a copy of its bytes unless it is told already. */
static int remember(struct trace_below *below, uint16_t type, uint32_t number, const void *item, size_t len)
{
    struct known *known = calloc(1, sizeof *known), **place;

    if (known == NULL || (item != NULL && (known->bytes = malloc(len)) == NULL)) {
        free(known);
        return -ENOMEM;
    }
    known->type = type;
    known->number = number;
    known->len = len;
    if (item != NULL)
        memcpy(known->bytes, item, len);
    place = tsearch(known, &below->known, by_number);
    if (place == NULL || *place != known)
        known_free(known);
    return place == NULL ? -ENOMEM : 0;
}

static bool is_below(const struct trace_below *below, const char *path)
{
    return strncmp(path, below->path, below->path_len) == 0 &&
           (path[below->path_len] == 0 || path[below->path_len] == '/');
}

static int take_file(struct trace_below *below, const char *item, size_t len, FILE *out)
{
    struct trace_file file;
    const char *path = item + sizeof file;

    if (len < sizeof file || strnlen(path, len - sizeof file) == len - sizeof file)
        return -EBADMSG;
    memcpy(&file, item, sizeof file);
    if (!is_below(below, path))
        return 0;
    fwrite(item, 1, len, out);
    return remember(below, TRACE_FILE, le32toh(file.number), NULL, 0);
}

static int take_name(struct trace_below *below, uint16_t type, const char *item, size_t len)
{
    uint32_t number; /* stands first in both */

    if (len < sizeof(struct trace_item) + sizeof number)
        return -EBADMSG;
    memcpy(&number, item + sizeof(struct trace_item), sizeof number);
    return remember(below, type, le32toh(number), item, len);
}

static void tell(const struct trace_below *below, uint16_t type, uint32_t number, FILE *out)
{
    struct known *known = find(below, type, number);

    if (known == NULL || known->bytes == NULL)
        return;
    fwrite(known->bytes, 1, known->len, out);
    free(steal(known->bytes));
}

static int take_access(const struct trace_below *below, const char *item, size_t len, FILE *out)
{
    struct trace_access access;

    if (len < sizeof access)
        return -EBADMSG;
    memcpy(&access, item, sizeof access);
    if (find(below, TRACE_FILE, le32toh(access.file)) == NULL)
        return 0;
    tell(below, TRACE_PROCESS, le32toh(access.process), out);
    tell(below, TRACE_PATTERN, le32toh(access.pattern), out);
    fwrite(item, 1, len, out);
    return 0;
}

static int take_open(const struct trace_below *below, const char *item, size_t len, FILE *out)
{
    struct trace_open open;

    if (len < sizeof open)
        return -EBADMSG;
    memcpy(&open, item, sizeof open);
    if (find(below, TRACE_FILE, le32toh(open.file)) != NULL)
        fwrite(item, 1, len, out);
    return 0;
}

static int take_item(struct trace_below *below, const char *item, size_t len, FILE *out)
{
    struct trace_item head;
    uint16_t type;

    memcpy(&head, item, sizeof head);
    type = le16toh(head.type);
    switch (type) {
    case TRACE_FILE:
        return take_file(below, item, len, out);
    case TRACE_PROCESS:
    case TRACE_PATTERN:
        return take_name(below, type, item, len);
    case TRACE_ACCESS:
        return take_access(below, item, len, out);
    case TRACE_OPEN:
        return take_open(below, item, len, out);
    default:
        fwrite(item, 1, len, out);
        return 0;
    }
}

/* How long the head, or the item, is that bytes begin with; 0: that is not to be seen yet. */
static int length_of(const struct trace_below *below, const char *bytes, size_t len, size_t *ret_len)
{
    struct trace_head head;
    struct trace_item item;

    *ret_len = 0;
    if (!below->has_head) {
        if (len < sizeof head)
            return 0;
        memcpy(&head, bytes, sizeof head);
        *ret_len = le32toh(head.len);
        return memcmp(head.magic, TRACE_MAGIC, sizeof head.magic) == 0 && *ret_len >= sizeof head ? 0 : -EBADMSG;
    }
    if (len < sizeof item)
        return 0;
    memcpy(&item, bytes, sizeof item);
    *ret_len = le32toh(item.len);
    return *ret_len >= sizeof item && *ret_len % 8 == 0 && *ret_len <= TRACE_MAX_ITEM ? 0 : -EBADMSG;
}

int trace_below_take(struct trace_below *below, const void *bytes, size_t len, FILE *out)
{
    char *all = realloc(below->rest, below->rest_len + len + 1);
    size_t end = below->rest_len + len, at = 0, part;
    int r;

    if (all == NULL)
        return -ENOMEM;
    memcpy(all + below->rest_len, bytes, len);
    below->rest = all;
    below->rest_len = end;
    while ((r = length_of(below, all + at, end - at, &part)) == 0 && part > 0 && part <= end - at) {
        if (below->has_head)
            r = take_item(below, all + at, part, out);
        else
            fwrite(all + at, 1, part, out);
        if (r < 0)
            return r;
        below->has_head = true;
        at += part;
    }
    memmove(all, all + at, end - at);
    below->rest_len = end - at;
    return r;
}
