/* SPDX-License-Identifier: MIT */
#include "test/trace/written.h"

#include <endian.h>
#include <stdio.h>

static void append(struct written *to, const void *bytes, size_t len)
{
    char *grown = realloc(to->bytes, to->len + len);

    if (grown == NULL)
        abort();
    to->bytes = grown;
    memcpy(to->bytes + to->len, bytes, len);
    to->len += len;
}

void written_head(struct written *to, uint32_t len)
{
    struct trace_head head = { .version = htole32(TRACE_VERSION), .len = htole32(len), .flags = htole32(TRACE_EVERY) };

    memcpy(head.magic, TRACE_MAGIC, sizeof head.magic);
    append(to, &head, sizeof head);
}

void written_item(struct written *to, uint16_t type, const void *body, size_t len)
{
    static const char zeros[8];
    size_t padding = -len % 8;
    struct trace_item item = { .type = htole16(type), .len = htole32((uint32_t) (sizeof item + len + padding)) };

    append(to, &item, sizeof item);
    append(to, body, len);
    append(to, zeros, padding);
    to->n_items++;
}

/* A struct that begins with its item, and texts behind it. */
static void append_texts(struct written *to, uint16_t type, const void *whole, size_t size, const char *a,
                         const char *b)
{
    char body[512];
    size_t len = size - sizeof(struct trace_item);

    memcpy(body, (const char *) whole + sizeof(struct trace_item), len);
    memcpy(body + len, a, strlen(a) + 1);
    len += strlen(a) + 1;
    if (b != NULL) {
        memcpy(body + len, b, strlen(b) + 1);
        len += strlen(b) + 1;
    }
    written_item(to, type, body, len);
}

void written_file(struct written *to, uint32_t number, const char *path, const char *layout)
{
    struct trace_file file = { .number = htole32(number), .layout_at = htole32((uint32_t) strlen(path) + 1) };

    append_texts(to, TRACE_FILE, &file, sizeof file, path, layout);
}

void written_process(struct written *to, uint32_t number, uint32_t uid, const char *name)
{
    struct trace_process process = { .number = htole32(number), .uid = htole32(uid) };

    append_texts(to, TRACE_PROCESS, &process, sizeof process, name, NULL);
}

void written_pattern(struct written *to, uint32_t number, const char *text)
{
    struct trace_pattern pattern = { .number = htole32(number) };

    append_texts(to, TRACE_PATTERN, &pattern, sizeof pattern, text, NULL);
}

void written_access(struct written *to, const struct trace_access *access)
{
    struct trace_access item = { .process = htole32(access->process),
                                 .file = htole32(access->file),
                                 .pattern = htole32(access->pattern),
                                 .offset = htole64(access->offset),
                                 .len = htole64(access->len),
                                 .at = htole64(access->at),
                                 .how = htole16(access->how),
                                 .flags = htole16(access->flags) };

    written_item(to, TRACE_ACCESS, (const char *) &item + sizeof item.item, sizeof item - sizeof item.item);
}

void written_unknown(struct written *to, size_t len)
{
    char body[512] = { 0 };

    written_item(to, 999, body, MIN(len, sizeof body));
}

void written_dropped(struct written *to, uint64_t n)
{
    n = htole64(n);
    written_item(to, TRACE_DROPPED, &n, sizeof n);
}

void written_open(struct written *to, uint32_t file, uint32_t n)
{
    const uint32_t body[2] = { htole32(file), htole32(n) };

    written_item(to, TRACE_OPEN, body, sizeof body);
}
