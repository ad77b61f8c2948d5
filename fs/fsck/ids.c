/* SPDX-License-Identifier: MIT */
#include "fs/fsck/ids.h"

#include <string.h>

#define FIRST_SLOTS 1024

void ids_init(struct ids *ids, struct layouts *layouts)
{
    *ids = (struct ids){ .layouts = layouts };
}

static void owner_done(struct ids *ids, const struct owner *owner)
{
    for (uint32_t i = 0; owner->replicas != NULL && i < owner->replicas->n; i++)
        layouts_put(ids->layouts, owner->replicas->replica[i].layout);
    free(owner->replicas);
    layouts_put(ids->layouts, owner->layout);
}

void ids_done(struct ids *ids)
{
    for (size_t i = 0; i < ids->n_slots; i++)
        if (ids->slot[i] != NULL) {
            owner_done(ids, ids->slot[i]);
            free(ids->slot[i]);
        }
    free(ids->slot);
    *ids = (struct ids){ 0 };
}

/* Ids are random: any part of one is a good hash. */
static struct owner **place_of(const struct ids *ids, const uint8_t id[ID_SIZE])
{
    uint64_t hash;
    size_t i;

    memcpy(&hash, id + ID_SIZE - sizeof hash, sizeof hash);
    for (i = hash & (ids->n_slots - 1); ids->slot[i] != NULL; i = (i + 1) & (ids->n_slots - 1))
        if (memcmp(ids->slot[i]->id, id, ID_SIZE) == 0)
            break;
    return &ids->slot[i];
}

const struct owner *ids_find(const struct ids *ids, const uint8_t id[ID_SIZE])
{
    return ids->n_slots > 0 ? *place_of(ids, id) : NULL;
}

static int grow(struct ids *ids)
{
    struct ids more = { .layouts = ids->layouts, .n_slots = MAX(2 * ids->n_slots, FIRST_SLOTS), .n = ids->n };

    more.slot = calloc(more.n_slots, sizeof(struct owner *));
    if (more.slot == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < ids->n_slots; i++)
        if (ids->slot[i] != NULL)
            *place_of(&more, ids->slot[i]->id) = ids->slot[i];
    free(ids->slot);
    *ids = more;
    return 0;
}

int ids_add(struct ids *ids, const struct owner *owner)
{
    struct owner *copy = malloc(sizeof *copy);

    if (copy == NULL || (2 * (ids->n + 1) > ids->n_slots && grow(ids) < 0)) {
        free(copy);
        owner_done(ids, owner);
        return -ENOMEM;
    }
    *copy = *owner;
    *place_of(ids, owner->id) = copy;
    ids->n++;
    return 0;
}
