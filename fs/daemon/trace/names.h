/* SPDX-License-Identifier: MIT */
/* Files, processes and patterns that records name, each in a bounded table. A record has the place; who reads the trace
 * is told the number, which is never another's:
 *
 *     record ── place 3 ──> name { number 17, key: inode 1234 of user 1000, text: "run7/a.dat" }    used by 5 records
 *
 * A name that no record uses stays, to be found again, until there is need of its place or of its memory: then the one
 * goes that has been unused for longest. Who calls sees to it that one thread at a time does. */
#ifndef FALLSFS_FS_DAEMON_TRACE_NAMES_H
#define FALLSFS_FS_DAEMON_TRACE_NAMES_H

#include "layout/base.h"

/* What a name is found by, and what there is to say of it. */
struct name_words {
    const void *key;
    const char *text; /* NULL: nobody has made it yet */
    size_t key_len, text_len;
    uint64_t size; /* of a file */
};

struct name {
    uint32_t number, place;
    uint32_t n_uses;
    uint32_t owner; /* for who has the table */
    uint64_t size, hash;
    size_t key_len, text_len;
    struct name *next;          /* in its bucket */
    struct name *older, *newer; /* among those that nobody uses */
    char bytes[];               /* the key, then the text */
};

#define NAMES_BUCKETS 16384

struct names {
    uint32_t max, n_places; /* places from 1 */
    size_t max_bytes, bytes;
    uint32_t last_number;
    uint32_t *free_place; /* a stack of places that were in use */
    uint32_t n_free;
    struct name **at; /* by place */
    struct name **bucket;
    struct name *oldest, *newest; /* nobody uses them */
};

/* max: how many there may be; max_bytes: of memory, for keys and texts. */
int names_init(struct names *names, uint32_t max, size_t max_bytes);
void names_done(struct names *names);

/* The place of a name; 0: there is none with this key. */
uint32_t names_find(const struct names *names, const struct name_words *words);

/* Adds one that is not there yet; 0: all are in use, or there is no memory. */
uint32_t names_add(struct names *names, const struct name_words *words);

/* One more record has the name, one fewer. */
void names_use(struct names *names, uint32_t place);
void names_unuse(struct names *names, uint32_t place);

static inline const void *name_key(const struct name *name)
{
    return name->bytes;
}

static inline const char *name_text(const struct name *name)
{
    return name->bytes + name->key_len;
}

#endif
