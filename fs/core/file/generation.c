/* SPDX-License-Identifier: MIT */
#include "fs/core/file/generation.h"

#include "fs/core/stub/objects.h"

#include <string.h>

struct generation *generation_new(const struct inode *inode, struct file_layout *layout, const struct record *record,
                                  struct mutex *meta, struct cond *opened)
{
    struct generation *generation = calloc(1, sizeof *generation);
    uint32_t n_slots = file_layout_slots(layout);

    if (generation == NULL)
        return NULL;
    *generation = (struct generation){ .nodeid = inode->nodeid,
                                       .number = record->gen,
                                       .rotate = record->rotate,
                                       .layout = layout,
                                       .n_slots = n_slots,
                                       .sub = calloc(n_slots, sizeof(struct subfile)),
                                       .bits = record->bits,
                                       .dirty = record->dirty,
                                       .durable = record->durable,
                                       .may_be_linked = object_may_be_linked(record),
                                       .meta = meta,
                                       .opened = opened };
    memcpy(generation->id, record->id, ID_SIZE);
    if (generation->sub == NULL) {
        free(generation);
        return NULL;
    }
    for (uint32_t slot = 0; slot < n_slots; slot++)
        generation->sub[slot] = (struct subfile){ .fd = -1, .len = SUBFILE_LEN_UNKNOWN };
    return generation;
}

void generation_free(struct fs *fs, struct generation *generation)
{
    if (generation == NULL)
        return;
    layouts_put(fs->layouts, generation->layout);
    free(generation->sub);
    free(generation);
}

void generation_has_none(struct generation *generation)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++)
        generation->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
}

uint64_t generation_must_have(const struct generation *generation, uint32_t slot)
{
    return bits_has(&generation->strict_bits, slot) ? file_layout_len(generation->layout, slot, generation->strict) : 0;
}

void generation_demand(struct generation *generation, uint64_t size)
{
    generation->strict = size;
    generation->strict_bits = generation->bits;
}
