/* SPDX-License-Identifier: MIT */
/* The layouts that are known, and the life of their texts.
 *
 *     keep ──> born ──> held by records that are stored ──> given up by all of them, durably ──> removed
 *              no disk had it before                        and nobody uses it in memory
 *
 * A text that was there before this mount may be named by records that nobody has looked at: it stays. So does one
 * that cannot be proven to be given up. One text is busy while its file is written, read or removed: who wants that one
 * waits, nobody else does. */
#include "fs/core/volume/layouts_known.h"
#include "fs/core/volume/layout_texts.h"

#include <string.h>

#define FIRST_BUCKETS 64

/* Of layouts that nobody uses so many are remembered, and so many bytes: a short text may mean some MiB, and finding
 * that out again takes milliseconds. */
#define KEEP_UNUSED       64
#define KEEP_UNUSED_BYTES (UINT64_C(4) << 20)

/* -- the table -- */

static struct file_layout **bucket_of(const struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    uint64_t key;

    memcpy(&key, hash, sizeof key);
    return &layouts->bucket[key & (layouts->n_buckets - 1)];
}

struct file_layout *layouts_find(const struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    struct file_layout *layout = layouts->n > 0 ? *bucket_of(layouts, hash) : NULL;

    while (layout != NULL && memcmp(layout->hash, hash, HASH_SIZE) != 0)
        layout = layout->next;
    return layout;
}

static int grow(struct layouts *layouts) REQUIRES(layouts->lock)
{
    struct layouts more = { .n_buckets = MAX(2 * layouts->n_buckets, FIRST_BUCKETS) };

    more.bucket = calloc(more.n_buckets, sizeof(struct file_layout *));
    if (more.bucket == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < layouts->n_buckets; i++)
        while (layouts->bucket[i] != NULL) {
            struct file_layout *layout = layouts->bucket[i], **at = bucket_of(&more, layout->hash);

            layouts->bucket[i] = layout->next;
            layout->next = *at;
            *at = layout;
        }
    free(layouts->bucket);
    layouts->bucket = more.bucket;
    layouts->n_buckets = more.n_buckets;
    return 0;
}

struct file_layout *layouts_insert(struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    struct file_layout *layout, **at;

    if (layouts->n >= layouts->n_buckets && grow(layouts) < 0)
        return NULL;
    layout = calloc(1, sizeof *layout);
    if (layout == NULL)
        return NULL;
    memcpy(layout->hash, hash, HASH_SIZE);
    at = bucket_of(layouts, hash);
    layout->next = *at;
    *at = layout;
    layouts->n++;
    return layout;
}

/* -- those that nobody uses, the oldest first -- */

static void list_unused(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    if (layout->unused_before != NULL)
        return;
    layout->unused_next = NULL;
    layout->unused_before = layouts->unused_end;
    *layouts->unused_end = layout;
    layouts->unused_end = &layout->unused_next;
    layouts->n_unused++;
    layouts->unused_bytes += layout->bytes;
}

static void unlist_unused(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    if (layout->unused_before == NULL)
        return;
    *layout->unused_before = layout->unused_next;
    if (layout->unused_next != NULL)
        layout->unused_next->unused_before = layout->unused_before;
    else
        layouts->unused_end = layout->unused_before;
    layout->unused_before = NULL;
    layouts->n_unused--;
    layouts->unused_bytes -= layout->bytes;
}

/* -- what texts mean -- */

/* Moves what a text means from a layout that nobody else has to one of the table. */
static void take_meaning(struct layouts *layouts, struct file_layout *layout, struct file_layout *from)
    REQUIRES(layouts->lock)
{
    layout->layout = steal(from->layout);
    layout->is_typed = from->is_typed;
    layout->pattern = from->pattern;
    layout->list = from->list;
    layout->n_list = from->n_list;
    layout->bytes = from->bytes;
    from->bytes = 0;
    layouts->n_bytes += layout->bytes;
}

void layout_forget_meaning(struct layouts *layouts, struct file_layout *layout)
{
    unlist_unused(layouts, layout);
    layouts->n_bytes -= layout->bytes;
    file_layout_empty(layout);
}

void layouts_drop(struct layouts *layouts, struct file_layout *layout)
{
    struct file_layout **at = bucket_of(layouts, layout->hash);

    while (*at != layout)
        at = &(*at)->next;
    *at = layout->next;
    layout_forget_meaning(layouts, layout);
    layouts->n--;
    layouts->n_owed -= layout->owes;
    file_layout_free(layout);
}

/* -- busy texts -- */

struct file_layout *layouts_find_idle(struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    struct file_layout *layout;

    while ((layout = layouts_find(layouts, hash)) != NULL && layout->busy)
        cond_wait(&layouts->idle, &layouts->lock);
    return layout;
}

void layout_begin_work(struct layouts *layouts, struct file_layout *layout)
{
    layout->busy = true;
    unlist_unused(layouts, layout);
    mutex_unlock(&layouts->lock);
    pthread_rwlock_rdlock(&layouts->spreading);
}

void layout_end_work(struct layouts *layouts, struct file_layout *layout)
{
    pthread_rwlock_unlock(&layouts->spreading);
    mutex_lock(&layouts->lock);
    layout->busy = false;
    if (layout->refs == 0 && layout->layout != NULL)
        list_unused(layouts, layout);
    cond_broadcast(&layouts->idle);
}

/* -- users in memory -- */

static struct file_layout *use(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    unlist_unused(layouts, layout);
    layout->refs++;
    (void) layout_note_users(layouts, layout);
    if (layouts->is_noting)
        layouts->notes_are_lost |= hashes_add(&layouts->noted, layout->hash) < 0;
    return layout;
}

/* Notes that nobody uses a layout in memory any more. Those that were used last stay, for the next who asks. Of the
 * others one that was born in this mount, or that a disk is still to get, keeps its name in the table. */
static void leave_unused(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    list_unused(layouts, layout);
    while (layouts->n_unused > KEEP_UNUSED || layouts->unused_bytes > KEEP_UNUSED_BYTES) {
        struct file_layout *oldest = layouts->unused;

        if (oldest->born || oldest->owes)
            layout_forget_meaning(layouts, oldest);
        else
            layouts_drop(layouts, oldest);
    }
}

struct file_layout *layouts_ref(struct layouts *layouts, struct file_layout *layout)
{
    mutex_lock(&layouts->lock);
    use(layouts, layout);
    mutex_unlock(&layouts->lock);
    return layout;
}

void layouts_put(struct layouts *layouts, struct file_layout *layout)
{
    bool untidy = false;

    if (layout == NULL)
        return;
    mutex_lock(&layouts->lock);
    assert(layout->refs > 0);
    if (--layout->refs == 0) {
        untidy = layout_note_users(layouts, layout);
        leave_unused(layouts, layout);
    }
    mutex_unlock(&layouts->lock);
    if (untidy)
        layouts_tidy_later(layouts);
}

/* Gives a layout whose text was just read or written its meaning, and a first user in memory. */
static struct file_layout *use_first(struct layouts *layouts, struct file_layout *layout, struct file_layout *meaning)
    REQUIRES(layouts->lock)
{
    take_meaning(layouts, layout, meaning);
    return use(layouts, layout);
}

static int load(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock)
{
    cleanup(file_layout_freep) struct file_layout *meaning = NULL;
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    size_t len;
    int r;

    layout_begin_work(layouts, layout);
    r = layout_text_read(layouts->volume, layout->hash, &text, &len);
    if (r == 0)
        r = layouts_build(layouts->volume, text, len, &meaning, &error);
    layout_end_work(layouts, layout);
    if (r == 0)
        (void) use_first(layouts, layout, meaning);
    else if (!layout->born)
        layouts_drop(layouts, layout);
    return r;
}

int layouts_get(struct layouts *layouts, const uint8_t hash[HASH_SIZE], struct file_layout **ret_layout)
{
    struct file_layout *layout;
    int r = 0;

    mutex_lock(&layouts->lock);
    layout = layouts_find_idle(layouts, hash);
    if (layout != NULL && layout->layout != NULL)
        use(layouts, layout);
    else if (layout != NULL || (layout = layouts_insert(layouts, hash)) != NULL)
        r = load(layouts, layout);
    else
        r = -ENOMEM;
    mutex_unlock(&layouts->lock);
    if (r == 0)
        *ret_layout = layout;
    return r == 0 || r == -EIO || r == -ENOMEM || r == -ETIMEDOUT ? r : -EUCLEAN;
}

int layouts_read_text(struct layouts *layouts, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len)
{
    return layout_text_read(layouts->volume, hash, ret_text, ret_len);
}

/* Writes the text of a planned layout, and gives the layout its first user in memory. What a failure leaves on disks of
 * a new text is named by no record. */
static int write_text(struct layouts *layouts, struct file_layout *layout, struct file_layout *planned)
    REQUIRES(layouts->lock)
{
    bool is_new = layout->born, owes = false, was_there = false;
    struct record_bits unasked = layout->unasked;
    struct volume_error error;
    int r = 0;

    if ((layouts->volume->flags & VOLUME_READ_ONLY) != 0)
        goto done;
    layout_begin_work(layouts, layout);
    if (planned->layout->copies > 1 && (r = volume_begin_replicas(layouts->volume, &error)) < 0) {
        layout_end_work(layouts, layout);
        goto done;
    }
    is_new = is_new || layout_text_is_new(layouts->volume, layout->hash, &unasked);
    r = layout_text_write(layouts->volume, planned, &unasked, &owes, &was_there);
    if (r < 0 && is_new && !layout->born && !was_there && bits_none(&unasked))
        (void) layout_text_remove(layouts->volume, layout->hash);
    layout_end_work(layouts, layout);
done:
    if (r == 0) {
        layout->born = is_new && !was_there;
        layout->unasked = unasked;
        layout_note_debt(layouts, layout, owes);
        (void) use_first(layouts, layout, planned);
    } else if (!layout->born) {
        layouts_drop(layouts, layout);
    }
    return r;
}

static int keep(struct layouts *layouts, struct file_layout *planned, bool may_wait, struct file_layout **ret_layout)
{
    cleanup(file_layout_freep) struct file_layout *meaning = planned;
    struct file_layout *layout;
    int r = 0;

    mutex_lock(&layouts->lock);
    layout = may_wait ? layouts_find_idle(layouts, planned->hash) : layouts_find(layouts, planned->hash);
    if (layout != NULL && layout->layout != NULL && !layout->busy)
        use(layouts, layout);
    else if (!may_wait && ((layout != NULL && layout->busy) || !layouts_write_promptly(layouts->volume)))
        r = -EAGAIN;
    else if (layout != NULL || (layout = layouts_insert(layouts, planned->hash)) != NULL)
        r = write_text(layouts, layout, meaning);
    else
        r = -ENOMEM;
    mutex_unlock(&layouts->lock);
    if (r == 0)
        *ret_layout = layout;
    return r;
}

int layouts_keep(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout)
{
    return keep(layouts, planned, true, ret_layout);
}

int layouts_keep_promptly(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout)
{
    return keep(layouts, planned, false, ret_layout);
}

/* -- all of them -- */

void layouts_spread(struct layouts *layouts, const struct disk *disk)
{
    pthread_rwlock_wrlock(&layouts->spreading);
    layout_texts_spread(layouts->volume, disk);
    pthread_rwlock_unlock(&layouts->spreading);
}

int layouts_new(struct volume *volume, struct layouts **ret_layouts)
{
    struct layouts *layouts = calloc(1, sizeof *layouts);

    if (layouts == NULL)
        return -ENOMEM;
    layouts->volume = volume;
    layouts->unused_end = &layouts->unused;
    layouts->tidying = (struct chore){ .run = layouts_run_tidying };
    pthread_rwlock_init(&layouts->spreading, NULL);
    mutex_init(&layouts->lock);
    cond_init(&layouts->idle);
    *ret_layouts = layouts;
    return 0;
}

void layouts_begin(struct layouts *layouts, struct workers *workers)
{
    layouts->workers = workers;
}

void layouts_end(struct layouts *layouts, bool is_synced)
{
    mutex_lock(&layouts->lock);
    layouts->workers = NULL;
    for (size_t i = 0; is_synced && i < layouts->n_buckets; i++)
        for (struct file_layout *layout = layouts->bucket[i]; layout != NULL; layout = layout->next) {
            layout->n_named -= layout->n_unsynced;
            layout->n_unsynced = 0;
            (void) layout_note_users(layouts, layout);
        }
    mutex_unlock(&layouts->lock);
}

void layouts_free(struct layouts *layouts)
{
    if (layouts == NULL)
        return;
    mutex_lock(&layouts->lock);
    layouts_remove_texts(layouts);
    for (size_t i = 0; i < layouts->n_buckets; i++)
        while (layouts->bucket[i] != NULL)
            layouts_drop(layouts, layouts->bucket[i]);
    mutex_unlock(&layouts->lock);
    free(layouts->bucket);
    hashes_done(&layouts->noted);
    cond_done(&layouts->idle);
    mutex_done(&layouts->lock);
    pthread_rwlock_destroy(&layouts->spreading);
    free(layouts);
}
