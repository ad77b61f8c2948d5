/* SPDX-License-Identifier: MIT */
#include "fs/core/view/file_view.h"

#include "fs/core/file/file_store.h"
#include "fs/core/file/touched.h"
#include "layout/gather.h"
#include "layout/map.h"
#include "layout/overlap.h"

#include <string.h>
#include <unistd.h>

#define NO_SLOT    UINT32_MAX
#define SEEK_STEPS 64

struct file_view {
    struct fs *fs;
    struct view *view;
    struct mutex lock;
    uint8_t matched[HASH_SIZE]; /* lock; the layout that slot was looked for in, if has_matched */
    bool has_matched;           /* lock */
    uint32_t slot;              /* lock; the subfile that has the view's bytes and no others, or NO_SLOT */
    struct file_view_counters *counters;
};

int file_view_new(struct fs *fs, struct view *view, struct file_view_counters *counters,
                  struct file_view **ret_file_view)
{
    struct file_view *file_view = calloc(1, sizeof *file_view);

    if (file_view == NULL)
        return -ENOMEM;
    file_view->fs = fs;
    file_view->view = view_ref(view);
    file_view->slot = NO_SLOT;
    file_view->counters = counters;
    mutex_init(&file_view->lock);
    *ret_file_view = file_view;
    return 0;
}

void file_view_free(struct file_view *file_view)
{
    if (file_view == NULL)
        return;
    mutex_done(&file_view->lock);
    view_put(file_view->view);
    free(file_view);
}

const struct view *file_view_view(const struct file_view *file_view)
{
    return file_view->view;
}

struct file_view_counts file_view_counts(struct file_view_counters *counters)
{
    return (struct file_view_counts){ .as_subfile = atomic_load(&counters->as_subfile),
                                      .as_runs = atomic_load(&counters->as_runs),
                                      .gathered = atomic_load(&counters->gathered) };
}

/* -- whether the view is a subfile -- */

static bool are_same_bytes(const struct pattern *a, uint32_t i, const struct pattern *b, uint32_t j)
{
    uint64_t lo, period, common, runs;

    if (a->disp != b->disp || overlap_period(a, b, &lo, &period) < 0)
        return false;
    if (a->element[i].once->size * (period / a->size) != b->element[j].once->size * (period / b->size))
        return false;
    return overlap_count(a->element[i].file, b->element[j].file, lo, period, &common, &runs) == 0 &&
           common == a->element[i].once->size * (period / a->size);
}

/* Finds the slot of a layout whose subfile has the view's bytes and no others, or NO_SLOT. Only the element that has
 * the view's first byte can be the one. */
static uint32_t match(const struct view *view, const struct file_layout *layout)
{
    struct place place;

    if (pattern_map(layout->pattern, nest_select(view->nest, 0), &place) < 0 || place.element == ELEMENT_HEADER ||
        !are_same_bytes(view->layout->pattern, view->element, layout->pattern, place.element))
        return NO_SLOT;
    return file_layout_slot(layout, place.element);
}

/* The slot of the layout that the file has now whose subfile the view is, or NO_SLOT. A migration may give the file
 * another layout after this: file_read_subfile and file_write_subfile then say -EAGAIN. */
static uint32_t slot_of(struct file_view *file_view, struct file *file, struct file_layout **ret_layout)
{
    struct record record;
    struct file_layout *layout = file_look(file_view->fs, file, &record);
    uint32_t slot;

    mutex_lock(&file_view->lock);
    if (!file_view->has_matched || memcmp(file_view->matched, layout->hash, HASH_SIZE) != 0) {
        memcpy(file_view->matched, layout->hash, HASH_SIZE);
        file_view->has_matched = true;
        file_view->slot = match(file_view->view, layout);
    }
    slot = file_view->slot;
    mutex_unlock(&file_view->lock);
    *ret_layout = layout;
    return slot;
}

/* -- reading -- */

/* Disks that have nothing of the view are not asked. */
static ssize_t gather(struct file_view *file_view, struct file *file, const struct view_piece *piece, void *buf)
{
    cleanup(file_store_done) struct file_store file_store = { .fs = file_view->fs, .file = file };
    struct store store = file_store_of(&file_store);
    struct nest_selection wanted = nest_selection_of(file_view->view->nest);
    cleanup(freep) uint8_t *spread = malloc(piece->span);
    int r =
        spread == NULL ? -ENOMEM : store.ops->read(store.ctx, spread, piece->span, piece->file_off, &wanted.selection);

    if (r < 0)
        return r;
    atomic_fetch_add(&file_view->counters->gathered, 1);
    return (ssize_t) nest_gather(file_view->view->nest, piece->file_off, piece->file_off + piece->span, spread, buf);
}

static ssize_t read_run(struct file_view *file_view, struct file *file, const struct view_piece *piece, void *buf)
{
    ssize_t n = file_read(file_view->fs, file, buf, piece->len, piece->file_off);

    if (n >= 0 && (uint64_t) n < piece->len)
        memset((uint8_t *) buf + n, 0, piece->len - (uint64_t) n); /* the file was cut meanwhile */
    atomic_fetch_add(&file_view->counters->as_runs, 1);
    return n < 0 ? n : (ssize_t) piece->len;
}

ssize_t file_view_read(struct file_view *file_view, struct file *file, void *buf, size_t len, uint64_t off)
{
    uint64_t view_end = view_len(file_view->view, file_size(file));
    struct file_layout *layout;
    uint32_t slot;
    ssize_t n = 0;
    size_t done = 0;

    if (off >= view_end)
        return 0;
    len = MIN(len, view_end - off);
    slot = slot_of(file_view, file, &layout);
    if (slot != NO_SLOT) {
        n = file_read_subfile(file_view->fs, file, layout, slot, buf, len, off);
        atomic_fetch_add(&file_view->counters->as_subfile, n != -EAGAIN);
    }
    layouts_put(file_view->fs->layouts, layout);
    if (slot != NO_SLOT && n != -EAGAIN)
        return n;
    for (n = 0; n >= 0 && done < len; done += (size_t) n) {
        struct view_piece piece;
        int r = view_next(file_view->view, off + done, len - done, &piece);

        if (r < 0)
            return r;
        n = piece.len == piece.span ? read_run(file_view, file, &piece, (uint8_t *) buf + done)
                                    : gather(file_view, file, &piece, (uint8_t *) buf + done);
        if (n < 0)
            return n;
    }
    return (ssize_t) done;
}

/* -- writing -- */

static ssize_t scatter(struct file_view *file_view, struct file *file, const struct view_piece *piece, const void *buf)
{
    cleanup(file_store_done) struct file_store file_store = { .fs = file_view->fs, .file = file };
    struct store store = file_store_of(&file_store);
    cleanup(freep) uint8_t *spread = malloc(piece->span);
    int r = spread == NULL ? -ENOMEM : store.ops->lock(store.ctx, piece->file_off, piece->span);

    if (r < 0)
        return r;
    r = store.ops->read(store.ctx, spread, piece->span, piece->file_off, NULL);
    atomic_fetch_add_explicit(&file->reread, piece->span, memory_order_relaxed);
    if (r == 0) {
        (void) nest_scatter(file_view->view->nest, piece->file_off, piece->file_off + piece->span, spread, buf);
        r = store.ops->write(store.ctx, spread, piece->span, piece->file_off);
    }
    store.ops->unlock(store.ctx, piece->file_off, piece->span);
    atomic_fetch_add(&file_view->counters->gathered, 1);
    return r < 0 ? r : (ssize_t) piece->len;
}

static ssize_t write_pieces(struct file_view *file_view, struct file *file, const uint8_t *buf, size_t len,
                            uint64_t off)
{
    size_t done = 0;
    ssize_t n = 0;

    while (n >= 0 && done < len) {
        struct view_piece piece;

        n = view_next(file_view->view, off + done, len - done, &piece);
        if (n == 0 && piece.len == piece.span) {
            n = file_write(file_view->fs, file, buf + done, piece.len, piece.file_off);
            atomic_fetch_add(&file_view->counters->as_runs, 1);
        } else if (n == 0) {
            n = scatter(file_view, file, &piece, buf + done);
        }
        if (n > 0)
            done += (size_t) n;
    }
    return done > 0 && n != -ETIMEDOUT ? (ssize_t) done : n;
}

ssize_t file_view_write(struct file_view *file_view, struct file *file, const void *buf, size_t len, uint64_t off)
{
    struct file_layout *layout;
    uint32_t slot;
    ssize_t n;

    if (len == 0)
        return file_write(file_view->fs, file, buf, 0, 0);
    slot = slot_of(file_view, file, &layout);
    n = slot == NO_SLOT ? -EAGAIN : file_write_subfile(file_view->fs, file, layout, slot, buf, len, off);
    layouts_put(file_view->fs->layouts, layout);
    if (n == -EAGAIN)
        return write_pieces(file_view, file, buf, len, off);
    atomic_fetch_add(&file_view->counters->as_subfile, 1);
    return n;
}

/* -- lengths -- */

int file_view_grow(struct fs *fs, const struct view *view, struct file *file, uint64_t len)
{
    uint64_t now = view_len(view, file_size(file)), size;
    int r = len < now ? -EINVAL : 0;

    if (r < 0 || len == now)
        return r;
    r = view_file_size(view, len, &size);
    return r < 0 ? r : file_grow(fs, file, size);
}

void file_view_range(const struct file_view *file_view, uint64_t off, uint64_t len, uint64_t *ret_lo, uint64_t *ret_hi)
{
    const struct nest *nest = file_view->view->nest;
    uint64_t end;

    *ret_lo = *ret_hi = 0;
    if (off >= nest->size || len == 0)
        return;
    len = MIN(len, nest->size - off);
    *ret_lo = nest_select(nest, off);
    *ret_hi = view_file_size(file_view->view, off + len, &end) < 0 ? FALLS_LIMIT : end;
}

/* Looks for a byte that is in the view and, in the file, data or in a hole, by turns: from a byte of the view to the
 * next such byte of the file, and from there to the next one of the view. */
int64_t file_view_seek(struct file_view *file_view, struct file *file, uint64_t off, int whence)
{
    const struct nest *nest = file_view->view->nest;
    uint64_t end = view_len(file_view->view, file_size(file)), byte;

    if (off >= end)
        return -ENXIO;
    byte = nest_select(nest, off);
    for (int i = 0; i < SEEK_STEPS; i++) {
        int64_t at = file_seek(file_view->fs, file, byte, whence);

        if (at < 0)
            return at;
        if ((uint64_t) at == byte)
            return (int64_t) nest_rank(nest, byte);
        if (!nest_next(nest, (uint64_t) at, &byte) || nest_rank(nest, byte) >= end)
            return whence == SEEK_HOLE ? (int64_t) end : -ENXIO;
    }
    return (int64_t) (whence == SEEK_HOLE ? end : nest_rank(nest, byte));
}
