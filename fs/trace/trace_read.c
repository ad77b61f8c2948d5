/* SPDX-License-Identifier: MIT */
#include "fs/trace/trace_read.h"

#include <endian.h>
#include <stdarg.h>

#define MAX_HEAD 4096

struct reader {
    FILE *in;
    struct trace *trace;
    char *why;
    uint64_t at;        /* where the item begins */
    char *item;         /* with its head */
    uint32_t len, room; /* of the item, of its memory */
    size_t fixed;       /* bytes of its struct: texts follow */
};

PRINTF_LIKE(2, 3) static int damaged(const struct reader *reader, const char *fmt, ...)
{
    char what[160];
    va_list list;

    va_start(list, fmt);
    vsnprintf(what, sizeof what, fmt, list);
    va_end(list);
    return trace_refuse(reader->why, -EBADMSG, "damaged at byte %" PRIu64 ": %s", reader->at, what);
}

static int read_failed(const struct reader *reader)
{
    return trace_refuse(reader->why, -EIO, "cannot be read at byte %" PRIu64, reader->at);
}

/* Reads exactly so many bytes: 1, 0 when the file ends before, or -EIO. */
static int take(struct reader *reader, void *buf, size_t len)
{
    if (fread(buf, 1, len, reader->in) == len)
        return 1;
    return ferror(reader->in) ? read_failed(reader) : 0;
}

static int pass_over(struct reader *reader, uint64_t len)
{
    char buf[4096];
    int r = 1;

    while (r > 0 && len > 0) {
        size_t part = (size_t) MIN(len, sizeof buf);

        r = take(reader, buf, part);
        len -= part;
    }
    return r;
}

/* -- items -- */

/* Copies the struct of an item; false when the item is too short for it. */
static bool item_struct(struct reader *reader, void *ret_struct, size_t size)
{
    if (reader->len < size)
        return false;
    memcpy(ret_struct, reader->item, size);
    reader->fixed = size;
    return true;
}

/* Copies the text that begins at a byte behind the item's struct; NULL: it does not end within the item, or there is no
 * memory, as *ret_r says. */
static char *item_text(const struct reader *reader, uint64_t at, int *ret_r)
{
    size_t room = reader->len - reader->fixed;
    const char *text = reader->item + reader->fixed;
    char *copy;

    if (at >= room || strnlen(text + at, room - at) == room - at) {
        *ret_r = damaged(reader, "a text does not end");
        return NULL;
    }
    copy = strdup(text + at);
    if (copy == NULL)
        *ret_r = -ENOMEM;
    return copy;
}

static int read_file(struct reader *reader)
{
    struct trace_file item;
    struct traced_file file;
    int r = 0;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "a file takes more bytes");
    file = (struct traced_file){ .number = le32toh(item.number),
                                 .inode = le64toh(item.inode),
                                 .size = le64toh(item.size),
                                 .path = item_text(reader, 0, &r),
                                 .layout = item_text(reader, le32toh(item.layout_at), &r) };
    if (r < 0) {
        free(file.path);
        free(file.layout);
        return r;
    }
    return trace_add_file(reader->trace, file);
}

static int read_process(struct reader *reader)
{
    struct trace_process item;
    struct traced_process process;
    int r = 0;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "a process takes more bytes");
    process = (struct traced_process){ .number = le32toh(item.number),
                                       .uid = le32toh(item.uid),
                                       .tgid = le32toh(item.tgid),
                                       .ranked = le32toh(item.ranked),
                                       .start = le64toh(item.start),
                                       .name = item_text(reader, 0, &r) };
    return r < 0 ? r : trace_add_process(reader->trace, process);
}

static int read_pattern(struct reader *reader)
{
    struct trace_pattern item;
    struct traced_pattern pattern;
    int r = 0;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "a pattern takes more bytes");
    pattern = (struct traced_pattern){ .number = le32toh(item.number), .text = item_text(reader, 0, &r) };
    return r < 0 ? r : trace_add_pattern(reader->trace, pattern);
}

static int read_access(struct reader *reader)
{
    struct trace_access item;
    struct traced_access access;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "an access takes more bytes");
    access = (struct traced_access){ .offset = le64toh(item.offset),
                                     .len = le64toh(item.len),
                                     .at = le64toh(item.at),
                                     .process = le32toh(item.process),
                                     .file = le32toh(item.file),
                                     .pattern = le32toh(item.pattern),
                                     .took = le32toh(item.took),
                                     .group = le32toh(item.group),
                                     .rank = le32toh(item.rank),
                                     .how = le16toh(item.how),
                                     .flags = le16toh(item.flags),
                                     .sampled = le16toh(item.item.sampled) };
    if (access.offset > FALLS_LIMIT || access.len > FALLS_LIMIT - access.offset)
        return damaged(reader, "an access reaches past 2^62");
    if (access.how > TRACE_BY_LIST)
        return damaged(reader, "nobody knows accesses of the kind %u", access.how);
    return trace_add_access(reader->trace, &access);
}

static int read_dropped(struct reader *reader)
{
    struct trace_dropped item;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "a number takes more bytes");
    return add_overflows(reader->trace->dropped, le64toh(item.n), &reader->trace->dropped)
               ? damaged(reader, "more accesses are missing than there can be")
               : 0;
}

static int read_open(struct reader *reader)
{
    struct trace_open item;

    if (!item_struct(reader, &item, sizeof item))
        return damaged(reader, "a number takes more bytes");
    reader->trace->open_already += le32toh(item.n);
    return 0;
}

static int (*const read_known[])(struct reader *reader) = {
    [TRACE_FILE] = read_file,     [TRACE_PROCESS] = read_process, [TRACE_PATTERN] = read_pattern,
    [TRACE_ACCESS] = read_access, [TRACE_DROPPED] = read_dropped, [TRACE_OPEN] = read_open,
};

/* Reads what follows the head of an item that is known: 1, 0 the file ends, or an error. */
static int read_body(struct reader *reader, const struct trace_item *head)
{
    int r;

    if (reader->len > TRACE_MAX_ITEM)
        return damaged(reader, "an item of %" PRIu32 " bytes is too long", reader->len);
    if (reader->len > reader->room) {
        char *item = realloc(reader->item, reader->len);

        if (item == NULL)
            return -ENOMEM;
        reader->item = item;
        reader->room = reader->len;
    }
    memcpy(reader->item, head, sizeof *head);
    r = take(reader, reader->item + sizeof *head, reader->len - sizeof *head);
    if (r > 0)
        r = read_known[le16toh(head->type)](reader);
    else
        return r;
    return r < 0 ? r : 1;
}

/* Reads one item: 1, 0 the file ends within it or before it, or an error. */
static int read_item(struct reader *reader)
{
    struct trace_item head;
    size_t got = fread(&head, 1, sizeof head, reader->in);
    uint16_t type;
    int r;

    if (got < sizeof head) {
        reader->trace->cut = got > 0;
        return ferror(reader->in) ? read_failed(reader) : 0;
    }
    type = le16toh(head.type);
    reader->len = le32toh(head.len);
    if (reader->len < sizeof head || reader->len % 8 != 0)
        return damaged(reader, "an item of %" PRIu32 " bytes", reader->len);
    if (type < ARRAY_SIZE(read_known) && read_known[type] != NULL)
        r = read_body(reader, &head);
    else
        r = pass_over(reader, reader->len - sizeof head);
    reader->trace->cut = r == 0;
    reader->at += reader->len;
    return r;
}

static int read_head(struct reader *reader)
{
    struct trace_head head;
    uint32_t len;
    int r = take(reader, &head, sizeof head);

    if (r < 0)
        return r;
    if (r == 0 || memcmp(head.magic, TRACE_MAGIC, sizeof head.magic) != 0)
        return trace_refuse(reader->why, -EBADMSG, "is no trace: neither fallsfs nor strace -f -ttt -yy wrote it");
    if (le32toh(head.version) == 0 || le32toh(head.version) > TRACE_VERSION)
        return trace_refuse(reader->why, -EBADMSG,
                            "is a trace of version %" PRIu32 ", and this program reads up to %d: use a newer fallsctl",
                            le32toh(head.version), TRACE_VERSION);
    len = le32toh(head.len);
    if (len < sizeof head || len > MAX_HEAD)
        return damaged(reader, "a head of %" PRIu32 " bytes", len);
    reader->trace->began = le64toh(head.began);
    reader->trace->flags = le32toh(head.flags);
    reader->trace->n_ranks = le32toh(head.n_ranks);
    reader->at = len;
    r = pass_over(reader, len - sizeof head);
    reader->trace->cut = r == 0;
    return r;
}

int trace_read(FILE *in, struct trace *trace, char ret_why[static TRACE_WHY])
{
    struct reader reader = { .in = in, .trace = trace, .why = ret_why };
    int r;

    trace_refuse(ret_why, 0, "out of memory");
    r = read_head(&reader);
    while (r > 0)
        r = read_item(&reader);
    free(reader.item);
    if (r == -E2BIG)
        return trace_refuse(ret_why, r, "has more than %u accesses: trace fewer files, or for a shorter time",
                            TRACE_MAX_ACCESSES);
    return r;
}
