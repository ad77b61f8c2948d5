/* SPDX-License-Identifier: MIT */
/* Texts that were there before this mount and that nobody needs: layouts in use are noted while somebody looks at all
 * records, and the texts that nobody noted are removed. */
#include "fs/core/volume/layout_texts.h"
#include "fs/core/volume/layouts_known.h"

int layouts_begin_notes(struct layouts *layouts)
{
    int r = 0;

    mutex_lock(&layouts->lock);
    if (layouts->is_noting)
        r = -EBUSY;
    for (size_t i = 0; r == 0 && i < layouts->n_buckets; i++)
        for (struct file_layout *layout = layouts->bucket[i]; r == 0 && layout != NULL; layout = layout->next)
            if (layout->refs > 0)
                r = hashes_add(&layouts->noted, layout->hash);
    if (r == 0)
        layouts->is_noting = true;
    else if (r != -EBUSY)
        hashes_done(&layouts->noted);
    mutex_unlock(&layouts->lock);
    return r;
}

void layouts_end_notes(struct layouts *layouts)
{
    mutex_lock(&layouts->lock);
    hashes_done(&layouts->noted);
    layouts->is_noting = layouts->notes_are_lost = layouts->dir_moved = false;
    mutex_unlock(&layouts->lock);
}

bool layouts_are_noted(struct layouts *layouts)
{
    bool are;

    mutex_lock(&layouts->lock);
    are = layouts->is_noting;
    mutex_unlock(&layouts->lock);
    return are;
}

void layouts_note_moved(struct layouts *layouts, const struct record *record)
{
    mutex_lock(&layouts->lock);
    if (record == NULL)
        layouts->dir_moved = true;
    else if (layouts->is_noting)
        layouts->notes_are_lost |= hashes_add_record(&layouts->noted, record) < 0;
    mutex_unlock(&layouts->lock);
}

/* Removes a text that nobody has noted, unless its layout is in use, or was born in this mount: such a text goes with
 * its last user. */
static int remove_unused(struct layouts *layouts, const uint8_t hash[HASH_SIZE]) REQUIRES(layouts->lock)
{
    struct file_layout *layout = layouts_find_idle(layouts, hash);
    int r;

    if (hashes_has(&layouts->noted, hash) || (layout != NULL && (layout->refs > 0 || layout->born)))
        return 0;
    if (layouts->notes_are_lost)
        return -ENOMEM;
    if (layouts->dir_moved)
        return -EAGAIN;
    if (layout == NULL && (layout = layouts_insert(layouts, hash)) == NULL)
        return -ENOMEM;
    layout_begin_work(layouts, layout);
    r = layout_text_remove(layouts->volume, hash);
    layout_end_work(layouts, layout);
    layouts_drop(layouts, layout);
    return r < 0 ? r : 1;
}

int layouts_remove_unused(struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    int r;

    mutex_lock(&layouts->lock);
    r = remove_unused(layouts, hash);
    mutex_unlock(&layouts->lock);
    return r;
}
