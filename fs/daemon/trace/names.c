/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/names.h"

int names_init(struct names *names, uint32_t max, size_t max_bytes)
{
    *names = (struct names){ .max = max,
                             .max_bytes = max_bytes,
                             .free_place = calloc(max, sizeof(uint32_t)),
                             .at = calloc((size_t) max + 1, sizeof(struct name *)),
                             .bucket = calloc(NAMES_BUCKETS, sizeof(struct name *)) };
    if (names->free_place != NULL && names->at != NULL && names->bucket != NULL)
        return 0;
    names_done(names);
    return -ENOMEM;
}

void names_done(struct names *names)
{
    for (uint32_t i = 1; i <= names->n_places; i++)
        free(names->at[i]);
    free(names->free_place);
    free(names->at);
    free(names->bucket);
    *names = (struct names){ .max = 0 };
}

/* Eight bytes at a time: a record of a section has a key of half a KiB. */
static uint64_t hash_of(const void *key, size_t len)
{
    const char *at = key;
    uint64_t hash = len, word;

    for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, at, len);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static struct name **bucket_of(const struct names *names, uint64_t hash)
{
    return &names->bucket[hash % NAMES_BUCKETS];
}

uint32_t names_find(const struct names *names, const struct name_words *words)
{
    uint64_t hash = hash_of(words->key, words->key_len);
    const struct name *name = *bucket_of(names, hash);

    while (name != NULL && (name->hash != hash || name->key_len != words->key_len ||
                            memcmp(name_key(name), words->key, words->key_len) != 0))
        name = name->next;
    return name != NULL ? name->place : 0;
}

/* -- those that nobody uses, in the order in which they came to that -- */

static void begin_waiting(struct names *names, struct name *name)
{
    name->older = names->newest;
    name->newer = NULL;
    *(names->newest != NULL ? &names->newest->newer : &names->oldest) = name;
    names->newest = name;
}

static void end_waiting(struct names *names, struct name *name)
{
    *(name->older != NULL ? &name->older->newer : &names->oldest) = name->newer;
    *(name->newer != NULL ? &name->newer->older : &names->newest) = name->older;
}

void names_use(struct names *names, uint32_t place)
{
    if (names->at[place]->n_uses++ == 0)
        end_waiting(names, names->at[place]);
}

void names_unuse(struct names *names, uint32_t place)
{
    if (--names->at[place]->n_uses == 0)
        begin_waiting(names, names->at[place]);
}

static size_t bytes_of(size_t key_len, size_t text_len)
{
    return sizeof(struct name) + key_len + text_len;
}

static void forget_oldest(struct names *names)
{
    struct name *name = names->oldest, **at = bucket_of(names, name->hash);

    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
    end_waiting(names, name);
    names->at[name->place] = NULL;
    names->free_place[names->n_free++] = name->place;
    assert(names->bytes >= bytes_of(name->key_len, name->text_len));
    names->bytes -= bytes_of(name->key_len, name->text_len);
    free(name);
}

uint32_t names_add(struct names *names, const struct name_words *words)
{
    size_t bytes = bytes_of(words->key_len, words->text_len);
    struct name *name, **bucket;

    while (names->oldest != NULL &&
           (names->bytes + bytes > names->max_bytes || (names->n_free == 0 && names->n_places == names->max)))
        forget_oldest(names);
    if (names->bytes + bytes > names->max_bytes || (names->n_free == 0 && names->n_places == names->max))
        return 0;
    name = malloc(bytes);
    if (name == NULL)
        return 0;
    *name = (struct name){ .number = ++names->last_number,
                           .place = names->n_free > 0 ? names->free_place[--names->n_free] : ++names->n_places,
                           .size = words->size,
                           .hash = hash_of(words->key, words->key_len),
                           .key_len = words->key_len,
                           .text_len = words->text_len };
    memcpy(name->bytes, words->key, words->key_len);
    memcpy(name->bytes + words->key_len, words->text, words->text_len);
    bucket = bucket_of(names, name->hash);
    name->next = *bucket;
    *bucket = name;
    names->at[name->place] = name;
    names->bytes += bytes;
    begin_waiting(names, name);
    return name->place;
}
