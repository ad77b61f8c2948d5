/* SPDX-License-Identifier: MIT */
/* Texts of layouts that go: how many records name one, and how it is removed when none does any more. */
#include "fs/core/volume/layout_texts.h"
#include "fs/core/volume/layouts_known.h"

#define SYNC_FOR 64 /* so many texts that wait for a sync of the home disk do not wait for layouts_tidy as well */

/* -- texts that go -- */

static bool is_ripe(const struct file_layout *layout)
{
    return layout->born && bits_none(&layout->unasked) && layout->refs == 0 &&
           layout->n_named == layout->n_unsynced + layout->n_syncing;
}

static bool can_go(const struct file_layout *layout)
{
    return is_ripe(layout) && layout->n_named == 0 && !layout->busy;
}

static void list_ripe(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    layout->ripe_before = &layouts->ripe;
    layout->ripe_next = layouts->ripe;
    if (layouts->ripe != NULL)
        layouts->ripe->ripe_before = &layout->ripe_next;
    layouts->ripe = layout;
    layouts->n_ripe++;
}

static void unlist_ripe(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    *layout->ripe_before = layout->ripe_next;
    if (layout->ripe_next != NULL)
        layout->ripe_next->ripe_before = layout->ripe_before;
    layout->ripe_before = NULL;
    layouts->n_ripe--;
}

bool layout_note_users(struct layouts *layouts, struct file_layout *layout)
{
    if (is_ripe(layout) && layout->ripe_before == NULL)
        list_ripe(layouts, layout);
    else if (!is_ripe(layout) && layout->ripe_before != NULL)
        unlist_ripe(layouts, layout);
    return can_go(layout) || layouts->n_ripe >= SYNC_FOR;
}

/* -- users on disk -- */

void layouts_hold(struct layouts *layouts, const struct record *record)
{
    const uint8_t *hash[RECORD_LAYOUTS];
    unsigned n = record_layouts(record, hash);

    mutex_lock(&layouts->lock);
    for (unsigned i = 0; i < n; i++) {
        struct file_layout *layout = layouts_find(layouts, hash[i]);

        if (layout == NULL || !layout->born)
            continue;
        layout->n_named++;
        (void) layout_note_users(layouts, layout);
    }
    mutex_unlock(&layouts->lock);
}

uint64_t layouts_give_up(struct layouts *layouts, const struct record *record)
{
    const uint8_t *hash[RECORD_LAYOUTS];
    unsigned n = record_layouts(record, hash);
    bool untidy = false;
    uint64_t moment;

    mutex_lock(&layouts->lock);
    moment = layouts->n_syncs;
    for (unsigned i = 0; i < n; i++) {
        struct file_layout *layout = layouts_find(layouts, hash[i]);

        if (layout == NULL || !layout->born)
            continue;
        layout->n_unsynced++;
        untidy |= layout_note_users(layouts, layout);
    }
    mutex_unlock(&layouts->lock);
    if (untidy)
        layouts_tidy_later(layouts);
    return moment;
}

/* When a sync of the home disk has begun since that moment, the sync has counted this record, and its end gives the
 * layouts up. */
void layouts_given_up(struct layouts *layouts, const struct record *record, uint64_t moment)
{
    const uint8_t *hash[RECORD_LAYOUTS];
    unsigned n = record_layouts(record, hash);
    bool untidy = false;

    mutex_lock(&layouts->lock);
    for (unsigned i = 0; moment == layouts->n_syncs && i < n; i++) {
        struct file_layout *layout = layouts_find(layouts, hash[i]);

        if (layout == NULL || !layout->born)
            continue;
        layout->n_unsynced--;
        layout->n_named--;
        untidy |= layout_note_users(layouts, layout);
    }
    mutex_unlock(&layouts->lock);
    if (untidy)
        layouts_tidy_later(layouts);
}

/* -- tidying up -- */

/* Removes a text from the disks, and its layout from memory. When a disk fails, the layout stays without its meaning:
 * the text is removed later, or written anew for whoever wants the layout before. */
static int remove_text(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    int r;

    layout_begin_work(layouts, layout);
    r = layout_text_remove(layouts->volume, layout->hash);
    layout_end_work(layouts, layout);
    if (r < 0) {
        layout_forget_meaning(layouts, layout);
        return r;
    }
    unlist_ripe(layouts, layout);
    layouts_drop(layouts, layout);
    return 0;
}

void layouts_remove_texts(struct layouts *layouts)
{
    struct file_layout *layout = layouts->ripe;

    while (layout != NULL)
        if (!can_go(layout))
            layout = layout->ripe_next;
        else if (remove_text(layouts, layout) == 0)
            layout = layouts->ripe; /* the list may have changed while the lock was given up */
        else
            return;
}

/* Syncs the home disk: after that no crash brings back a record that had been given up before. */
static void sync_home(struct layouts *layouts) REQUIRES(layouts->lock)
{
    const struct disk *home = volume_home(layouts->volume);
    struct file_layout *first = NULL;
    int r;

    layouts->n_syncs++;
    for (struct file_layout *layout = layouts->ripe; layout != NULL; layout = layout->ripe_next) {
        layout->n_syncing = layout->n_unsynced;
        layout->n_unsynced = 0;
        layout->syncing_next = first;
        first = layout;
    }
    mutex_unlock(&layouts->lock);
    r = disk_call(home, sync, home->root, SYNC_DISK);
    mutex_lock(&layouts->lock);
    while (first != NULL) {
        struct file_layout *layout = first;

        first = layout->syncing_next;
        if (r == 0)
            layout->n_named -= layout->n_syncing;
        else
            layout->n_unsynced += layout->n_syncing;
        layout->n_syncing = 0;
        (void) layout_note_users(layouts, layout);
    }
}

bool layouts_write_promptly(const struct volume *volume)
{
    for (uint32_t i = 0; (volume->flags & VOLUME_READ_ONLY) == 0 && i < volume->n_disks; i++)
        if (disk_is_present(&volume->disk[i]) && !watch_is_prompt(volume->disk[i].watch))
            return false;
    return true;
}

void layout_note_debt(struct layouts *layouts, struct file_layout *layout, bool owes)
{
    layouts->n_owed += owes;
    layouts->n_owed -= layout->owes;
    layout->owes = owes;
}

/* Tries again to write a layout's text to the disks that have not got it. */
static void pay(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    cleanup(file_layout_freep) struct file_layout *meaning = NULL;
    cleanup(freep) char *text = NULL;
    struct record_bits unasked = layout->unasked;
    bool owes = false, was_there = false;
    struct layout_error error;
    size_t len;
    int r;

    layout_begin_work(layouts, layout);
    r = layout_text_read(layouts->volume, layout->hash, &text, &len);
    if (r == 0)
        r = layouts_build(layouts->volume, text, len, &meaning, &error);
    if (r == 0)
        (void) layout_text_write(layouts->volume, meaning, &unasked, &owes, &was_there);
    layout_end_work(layouts, layout);
    layout->unasked = unasked;
    layout->born = layout->born && !was_there;
    (void) layout_note_users(layouts, layout);
    layout_note_debt(layouts, layout, owes || r == -ETIMEDOUT);
}

static struct file_layout *find_owed(const struct layouts *layouts) REQUIRES(layouts->lock)
{
    for (size_t i = 0; i < layouts->n_buckets; i++)
        for (struct file_layout *layout = layouts->bucket[i]; layout != NULL; layout = layout->next)
            if (layout->owes && !layout->busy)
                return layout;
    return NULL;
}

/* Writes texts that disks are still to get. It tries as often as there are such texts, so that it ends when a disk
 * still does not answer. */
static void pay_all(struct layouts *layouts) REQUIRES(layouts->lock)
{
    struct file_layout *layout;

    for (uint32_t n = layouts->n_owed; n > 0 && layouts_write_promptly(layouts->volume); n--)
        if ((layout = find_owed(layouts)) != NULL)
            pay(layouts, layout);
}

void layouts_run_tidying(struct chore *chore)
{
    struct layouts *layouts = (struct layouts *) ((char *) chore - offsetof(struct layouts, tidying));

    mutex_lock(&layouts->lock);
    layouts_remove_texts(layouts);
    if (layouts->n_ripe >= SYNC_FOR || (layouts->shall_sync && layouts->n_ripe > 0)) {
        sync_home(layouts);
        layouts_remove_texts(layouts);
    }
    pay_all(layouts);
    layouts->at_work = layouts->shall_sync = false;
    mutex_unlock(&layouts->lock);
}

void layouts_tidy_later(struct layouts *layouts)
{
    struct workers *workers;

    mutex_lock(&layouts->lock);
    workers = layouts->at_work ? NULL : layouts->workers;
    layouts->at_work |= workers != NULL;
    mutex_unlock(&layouts->lock);
    if (workers != NULL)
        workers_later(workers, &layouts->tidying);
}

void layouts_tidy(struct layouts *layouts)
{
    bool any;

    mutex_lock(&layouts->lock);
    any = layouts->n_ripe > 0 || layouts->n_owed > 0;
    layouts->shall_sync = layouts->n_ripe > 0;
    mutex_unlock(&layouts->lock);
    if (any)
        layouts_tidy_later(layouts);
}
