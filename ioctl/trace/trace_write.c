/* SPDX-License-Identifier: MIT */
#include "ioctl/trace/trace_write.h"

#include <endian.h>
#include <string.h>

_Static_assert(sizeof(struct trace_head) % 8 == 0 && sizeof(struct trace_file) % 8 == 0 &&
                   sizeof(struct trace_process) % 8 == 0 && sizeof(struct trace_pattern) % 8 == 0 &&
                   sizeof(struct trace_access) % 8 == 0 && sizeof(struct trace_dropped) % 8 == 0 &&
                   sizeof(struct trace_open) % 8 == 0,
               "what follows a struct begins at a multiple of 8");

static size_t padding(size_t len)
{
    return (8 - len % 8) % 8;
}

/* The head of an item whose struct has size bytes, with len bytes of texts behind it. */
static struct trace_item item_of(enum trace_item_type type, size_t size, size_t len)
{
    return (struct trace_item){ .type = htole16(type), .len = htole32((uint32_t) (size + len + padding(len))) };
}

static void pad(FILE *out, size_t len)
{
    static const char zeros[8];

    fwrite(zeros, 1, padding(len), out);
}

void trace_write_head(FILE *out, const struct trace_head *head)
{
    struct trace_head told = { .version = htole32(TRACE_VERSION),
                               .len = htole32(sizeof told),
                               .began = htole64(head->began),
                               .flags = htole32(head->flags),
                               .n_ranks = htole32(head->n_ranks) };

    memcpy(told.magic, TRACE_MAGIC, sizeof told.magic);
    memcpy(told.volume, head->volume, sizeof told.volume);
    fwrite(&told, sizeof told, 1, out);
}

void trace_write_file(FILE *out, const struct trace_file *file, const char *path, const char *layout)
{
    size_t path_len = strlen(path) + 1, layout_len = strlen(layout) + 1, len = path_len + layout_len;
    const struct trace_file told = { .item = item_of(TRACE_FILE, sizeof told, len),
                                     .number = htole32(file->number),
                                     .layout_at = htole32((uint32_t) path_len),
                                     .inode = htole64(file->inode),
                                     .size = htole64(file->size) };

    fwrite(&told, sizeof told, 1, out);
    fwrite(path, 1, path_len, out);
    fwrite(layout, 1, layout_len, out);
    pad(out, len);
}

void trace_write_process(FILE *out, const struct trace_process *process, const char *name)
{
    size_t len = strlen(name) + 1;
    const struct trace_process told = { .item = item_of(TRACE_PROCESS, sizeof told, len),
                                        .number = htole32(process->number),
                                        .uid = htole32(process->uid),
                                        .tgid = htole32(process->tgid),
                                        .ranked = htole32(process->ranked),
                                        .start = htole64(process->start) };

    fwrite(&told, sizeof told, 1, out);
    fwrite(name, 1, len, out);
    pad(out, len);
}

void trace_write_pattern(FILE *out, uint32_t number, const char *text)
{
    size_t len = strlen(text) + 1;
    const struct trace_pattern told = { .item = item_of(TRACE_PATTERN, sizeof told, len), .number = htole32(number) };

    fwrite(&told, sizeof told, 1, out);
    fwrite(text, 1, len, out);
    pad(out, len);
}

void trace_write_access(FILE *out, const struct trace_access *access)
{
    struct trace_access told = { .item = item_of(TRACE_ACCESS, sizeof told, 0),
                                 .process = htole32(access->process),
                                 .file = htole32(access->file),
                                 .handle = htole32(access->handle),
                                 .pattern = htole32(access->pattern),
                                 .offset = htole64(access->offset),
                                 .len = htole64(access->len),
                                 .at = htole64(access->at),
                                 .took = htole32(access->took),
                                 .group = htole32(access->group),
                                 .rank = htole32(access->rank),
                                 .how = htole16(access->how),
                                 .flags = htole16(access->flags) };

    told.item.sampled = htole16(access->item.sampled);
    fwrite(&told, sizeof told, 1, out);
}

void trace_write_dropped(FILE *out, uint64_t n)
{
    const struct trace_dropped told = { .item = item_of(TRACE_DROPPED, sizeof told, 0), .n = htole64(n) };

    fwrite(&told, sizeof told, 1, out);
}

void trace_write_open(FILE *out, uint32_t file, uint32_t n)
{
    const struct trace_open told = { .item = item_of(TRACE_OPEN, sizeof told, 0),
                                     .file = htole32(file),
                                     .n = htole32(n) };

    fwrite(&told, sizeof told, 1, out);
}
