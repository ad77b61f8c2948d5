/* SPDX-License-Identifier: MIT */
#include "test/support/simimage.h"

#include <assert.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INODE_COST 256
#define NAME_COST  16
#define NOWHERE    SIZE_MAX

void *sim_alloc(size_t size)
{
    return sim_realloc(NULL, size);
}

void *sim_realloc(void *old, size_t size)
{
    void *p =
        reallocarray(old, MAX(size, 1), 1); /* not one that failmalloc.h makes fail: this is no part of the test */

    if (p == NULL) {
        fprintf(stderr, "simulated disk: out of memory\n");
        abort();
    }
    return p;
}

/* -- shared things -- */

static void ref(atomic_uint *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

static bool unref(atomic_uint *refs)
{
    return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static bool shared(const atomic_uint *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) > 1;
}

struct sim_blob *sim_blob_new(const void *bytes, size_t len)
{
    struct sim_blob *blob = sim_alloc(sizeof *blob + len + 1);

    atomic_init(&blob->refs, 1);
    blob->len = len;
    if (bytes != NULL && len > 0)
        memcpy(blob->bytes, bytes, len);
    blob->bytes[len] = 0;
    return blob;
}

struct sim_blob *sim_blob_get(struct sim_blob *blob)
{
    if (blob != NULL)
        ref(&blob->refs);
    return blob;
}

void sim_blob_put(struct sim_blob *blob)
{
    if (blob != NULL && unref(&blob->refs))
        free(blob);
}

static void page_put(struct sim_page *page)
{
    if (page != NULL && unref(&page->refs))
        free(page);
}

struct sim_change *sim_change_new(enum sim_change_kind kind, uint32_t ino, int64_t stamp)
{
    struct sim_change *change = sim_alloc(sizeof *change);

    memset(change, 0, sizeof *change);
    atomic_init(&change->refs, 1);
    change->kind = kind;
    change->ino = ino;
    change->stamp = stamp;
    return change;
}

struct sim_change *sim_change_get(struct sim_change *change)
{
    ref(&change->refs);
    return change;
}

void sim_change_put(struct sim_change *change)
{
    if (!unref(&change->refs))
        return;
    sim_blob_put(change->name);
    sim_blob_put(change->to_name);
    sim_blob_put(change->data);
    free(change);
}

/* -- inodes -- */

static struct sim_inode *inode_new(const struct sim_attr *attr)
{
    struct sim_inode *inode = sim_alloc(sizeof *inode);

    memset(inode, 0, sizeof *inode);
    atomic_init(&inode->refs, 1);
    inode->attr = *attr;
    return inode;
}

static void inode_put(struct sim_inode *inode)
{
    if (inode == NULL || !unref(&inode->refs))
        return;
    for (size_t i = 0; i < inode->n_entries; i++)
        sim_blob_put(inode->entries[i].name);
    for (size_t i = 0; i < inode->n_slots; i++)
        page_put(inode->slots[i].page);
    for (size_t i = 0; i < inode->n_xattrs; i++) {
        sim_blob_put(inode->xattrs[i].name);
        sim_blob_put(inode->xattrs[i].value);
    }
    sim_blob_put(inode->target);
    free(inode->entries);
    free(inode->slots);
    free(inode->xattrs);
    free(inode);
}

static void *copied(const void *array, size_t size)
{
    return size == 0 ? NULL : memcpy(sim_alloc(size), array, size);
}

static struct sim_inode *inode_copy(const struct sim_inode *from)
{
    struct sim_inode *inode = inode_new(&from->attr);

    inode->number = from->number;
    inode->nlink = from->nlink;
    inode->linkable = from->linkable;
    inode->parent = from->parent;
    inode->size = from->size;
    inode->target = sim_blob_get(from->target);
    inode->n_entries = inode->room_entries = from->n_entries;
    inode->n_slots = inode->room_slots = from->n_slots;
    inode->n_xattrs = from->n_xattrs;
    inode->entries = copied(from->entries, from->n_entries * sizeof from->entries[0]);
    inode->slots = copied(from->slots, from->n_slots * sizeof from->slots[0]);
    inode->xattrs = copied(from->xattrs, from->n_xattrs * sizeof from->xattrs[0]);
    for (size_t i = 0; i < inode->n_entries; i++)
        sim_blob_get(inode->entries[i].name);
    for (size_t i = 0; i < inode->n_slots; i++)
        if (inode->slots[i].page != NULL)
            ref(&inode->slots[i].page->refs);
    for (size_t i = 0; i < inode->n_xattrs; i++) {
        sim_blob_get(inode->xattrs[i].name);
        sim_blob_get(inode->xattrs[i].value);
    }
    return inode;
}

const struct sim_inode *simimage_inode(const struct sim_image *image, uint32_t ino)
{
    return ino < image->n_inodes ? image->inodes[ino] : NULL;
}

/* An inode that may be changed: one that images share is copied for this image first. */
static struct sim_inode *own(struct sim_image *image, uint32_t ino)
{
    struct sim_inode *inode = image->inodes[ino];

    assert(inode != NULL);
    if (shared(&inode->refs)) {
        image->inodes[ino] = inode_copy(inode);
        inode_put(inode);
    }
    return image->inodes[ino];
}

static uint64_t cost(const struct sim_inode *inode)
{
    uint64_t bytes = INODE_COST + inode->n_slots * SIM_PAGE;

    for (size_t i = 0; i < inode->n_entries; i++)
        bytes += simimage_cost_of_name(inode->entries[i].name->len);
    for (size_t i = 0; i < inode->n_xattrs; i++)
        bytes += simimage_cost_of_xattr(inode->xattrs[i].name->len, inode->xattrs[i].value->len);
    return bytes;
}

uint64_t simimage_count_used(const struct sim_image *image)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < image->n_inodes; i++)
        used += image->inodes[i] != NULL ? cost(image->inodes[i]) : 0;
    return used;
}

uint64_t simimage_cost_of_name(size_t len)
{
    return NAME_COST + len;
}

uint64_t simimage_cost_of_inode(void)
{
    return INODE_COST;
}

uint64_t simimage_cost_of_xattr(size_t name_len, size_t value_len)
{
    return NAME_COST + name_len + value_len;
}

static void put_inode_at(struct sim_image *image, uint32_t ino, struct sim_inode *inode)
{
    while (image->n_inodes <= ino) {
        if ((image->n_inodes & (image->n_inodes - 1)) == 0)
            image->inodes = sim_realloc(image->inodes, (2 * image->n_inodes + 1) * sizeof image->inodes[0]);
        image->inodes[image->n_inodes++] = NULL;
    }
    assert(image->inodes[ino] == NULL);
    image->inodes[ino] = inode;
    image->used += INODE_COST;
}

static void drop_inode(struct sim_image *image, uint32_t ino)
{
    image->used -= cost(image->inodes[ino]);
    inode_put(image->inodes[ino]);
    image->inodes[ino] = NULL;
}

/* -- names -- */

/* Hashes as the directories of real file systems have: 63 bits, in no order that says anything. */
static uint64_t hash_name(uint64_t seed, const char *name, size_t len)
{
    uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char) name[i]) * UINT64_C(0x100000001b3);
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((h ^ (h >> 31)) >> 1 | 1024) & ~UINT64_C(1023);
}

size_t simimage_entry_behind(const struct sim_inode *inode, uint64_t cookie)
{
    size_t lo = 0, hi = inode->n_entries;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (inode->entries[mid].cookie <= cookie)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Names of one hash lie on cookies from the hash on, which the zeroed low bits leave room for. */
static size_t entry_named(const struct sim_inode *dir, uint64_t hash, const char *name, size_t len)
{
    for (size_t i = simimage_entry_behind(dir, hash - 1); i < dir->n_entries; i++) {
        if ((dir->entries[i].cookie ^ hash) >= 1024)
            break;
        if (dir->entries[i].name->len == len && memcmp(dir->entries[i].name->bytes, name, len) == 0)
            return i;
    }
    return NOWHERE;
}

uint32_t simimage_lookup(const struct sim_image *image, uint32_t dir, const char *name, size_t len)
{
    const struct sim_inode *inode = simimage_inode(image, dir);
    size_t at = entry_named(inode, hash_name(image->cookie_seed, name, len), name, len);

    return at == NOWHERE ? 0 : inode->entries[at].ino;
}

static void touch_dir(struct sim_inode *dir, int64_t stamp)
{
    dir->attr.mtime = dir->attr.ctime = stamp;
}

static void enter(struct sim_image *image, uint32_t dir_ino, struct sim_blob *name, uint32_t ino, int64_t stamp)
{
    struct sim_inode *dir = own(image, dir_ino);
    uint64_t cookie = hash_name(image->cookie_seed, name->bytes, name->len);
    size_t at = simimage_entry_behind(dir, cookie - 1);

    assert(entry_named(dir, cookie, name->bytes, name->len) == NOWHERE);
    for (; at < dir->n_entries && dir->entries[at].cookie == cookie; at++)
        cookie++;
    if (dir->n_entries == dir->room_entries) {
        dir->room_entries = 2 * dir->room_entries + 4;
        dir->entries = sim_realloc(dir->entries, dir->room_entries * sizeof dir->entries[0]);
    }
    memmove(&dir->entries[at + 1], &dir->entries[at], (dir->n_entries - at) * sizeof dir->entries[0]);
    dir->entries[at] = (struct sim_entry){ .cookie = cookie, .ino = ino, .name = sim_blob_get(name) };
    dir->n_entries++;
    touch_dir(dir, stamp);
    image->used += simimage_cost_of_name(name->len);
}

static struct sim_entry *entry_of(struct sim_image *image, struct sim_inode *dir, const struct sim_blob *name)
{
    size_t at = entry_named(dir, hash_name(image->cookie_seed, name->bytes, name->len), name->bytes, name->len);

    assert(at != NOWHERE);
    return &dir->entries[at];
}

static void leave(struct sim_image *image, uint32_t dir_ino, const struct sim_blob *name, int64_t stamp)
{
    struct sim_inode *dir = own(image, dir_ino);
    struct sim_entry *entry = entry_of(image, dir, name);

    image->used -= simimage_cost_of_name(name->len);
    sim_blob_put(entry->name);
    memmove(entry, entry + 1, (size_t) (&dir->entries[dir->n_entries] - (entry + 1)) * sizeof *entry);
    dir->n_entries--;
    touch_dir(dir, stamp);
}

/* Puts another inode behind a name that stays where it is. */
static void replace(struct sim_image *image, uint32_t dir_ino, const struct sim_blob *name, uint32_t ino, int64_t stamp)
{
    struct sim_inode *dir = own(image, dir_ino);

    entry_of(image, dir, name)->ino = ino;
    touch_dir(dir, stamp);
}

/* Takes a link from ino, whose name in dir is gone. */
static void lose_link(struct sim_image *image, uint32_t ino, uint32_t dir, int64_t stamp)
{
    struct sim_inode *inode = own(image, ino);

    inode->attr.ctime = stamp;
    if (S_ISDIR(inode->attr.mode)) {
        inode->nlink = 0;
        own(image, dir)->nlink--;
    } else {
        inode->nlink--;
    }
}

static void move_parent(struct sim_image *image, uint32_t ino, uint32_t from, uint32_t to, int64_t stamp)
{
    struct sim_inode *inode = own(image, ino);

    inode->attr.ctime = stamp;
    if (!S_ISDIR(inode->attr.mode) || from == to)
        return;
    inode->parent = to;
    own(image, from)->nlink--;
    own(image, to)->nlink++;
}

static void apply_make(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = inode_new(&change->attr);

    inode->number = change->number;
    inode->target = sim_blob_get(change->data);
    inode->size = change->data != NULL ? change->data->len : 0;
    inode->linkable = change->dir == 0 && change->mode == 0;
    inode->nlink = change->dir == 0 ? 0 : S_ISDIR(inode->attr.mode) ? 2 : 1;
    inode->parent = change->dir;
    put_inode_at(image, change->ino, inode);
    if (change->dir != 0)
        enter(image, change->dir, change->name, change->ino, change->stamp);
    if (change->dir != 0 && S_ISDIR(change->attr.mode))
        own(image, change->dir)->nlink++;
}

static void apply_link(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = own(image, change->ino);

    inode->nlink++;
    inode->linkable = false;
    inode->attr.ctime = change->stamp;
    enter(image, change->dir, change->name, change->ino, change->stamp);
}

static void apply_unlink(struct sim_image *image, const struct sim_change *change)
{
    leave(image, change->dir, change->name, change->stamp);
    lose_link(image, change->ino, change->dir, change->stamp);
}

static void apply_rename(struct sim_image *image, const struct sim_change *change)
{
    leave(image, change->dir, change->name, change->stamp);
    if (change->other != 0) {
        replace(image, change->to_dir, change->to_name, change->ino, change->stamp);
        lose_link(image, change->other, change->to_dir, change->stamp);
    } else {
        enter(image, change->to_dir, change->to_name, change->ino, change->stamp);
    }
    move_parent(image, change->ino, change->dir, change->to_dir, change->stamp);
}

static void apply_exchange(struct sim_image *image, const struct sim_change *change)
{
    replace(image, change->dir, change->name, change->other, change->stamp);
    replace(image, change->to_dir, change->to_name, change->ino, change->stamp);
    move_parent(image, change->ino, change->dir, change->to_dir, change->stamp);
    move_parent(image, change->other, change->to_dir, change->dir, change->stamp);
}

/* -- attributes -- */

const struct sim_xattr *simimage_xattr(const struct sim_inode *inode, const char *name)
{
    for (size_t i = 0; i < inode->n_xattrs; i++)
        if (strcmp(inode->xattrs[i].name->bytes, name) == 0)
            return &inode->xattrs[i];
    return NULL;
}

static void apply_xattr(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = own(image, change->ino);
    const struct sim_xattr *old = simimage_xattr(inode, change->name->bytes);
    size_t at = old != NULL ? (size_t) (old - inode->xattrs) : inode->n_xattrs;

    inode->attr.ctime = change->stamp;
    if (old != NULL) {
        image->used -= simimage_cost_of_xattr(old->name->len, old->value->len);
        sim_blob_put(inode->xattrs[at].name);
        sim_blob_put(inode->xattrs[at].value);
        inode->xattrs[at] = inode->xattrs[--inode->n_xattrs];
    }
    if (change->data == NULL)
        return;
    image->used += simimage_cost_of_xattr(change->name->len, change->data->len);
    inode->xattrs = sim_realloc(inode->xattrs, (inode->n_xattrs + 1) * sizeof inode->xattrs[0]);
    inode->xattrs[inode->n_xattrs++] =
        (struct sim_xattr){ .name = sim_blob_get(change->name), .value = sim_blob_get(change->data) };
}

/* -- content -- */

size_t simimage_slot(const struct sim_inode *inode, uint64_t index)
{
    size_t lo = 0, hi = inode->n_slots;

    if (hi > 0 && inode->slots[hi - 1].index < index)
        return hi;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (inode->slots[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* How much of a range that is walked page by page lies on the page of off. */
static size_t on_this_page(uint64_t off, uint64_t len)
{
    return (size_t) MIN(len, SIM_PAGE - off % SIM_PAGE);
}

void simimage_read(const struct sim_inode *inode, uint64_t off, void *buf, size_t len)
{
    unsigned char *to = buf;

    for (size_t at = simimage_slot(inode, off / SIM_PAGE); len > 0;) {
        size_t n = on_this_page(off, len);
        bool there = at < inode->n_slots && inode->slots[at].index == off / SIM_PAGE;

        if (there && inode->slots[at].page != NULL)
            memcpy(to, inode->slots[at].page->bytes + off % SIM_PAGE, n);
        else
            memset(to, 0, n);
        at += there;
        to += n;
        off += n;
        len -= n;
    }
}

uint64_t simimage_missing(const struct sim_inode *inode, uint64_t off, uint64_t end)
{
    uint64_t first = off / SIM_PAGE, last = (end - 1) / SIM_PAGE;

    return end <= off ? 0 : last - first + 1 - (simimage_slot(inode, last + 1) - simimage_slot(inode, first));
}

/* Makes slots, without pages, for the pages first to last that have none. */
static void fill_slots(struct sim_image *image, struct sim_inode *inode, uint64_t first, uint64_t last)
{
    uint64_t missing = simimage_missing(inode, first * SIM_PAGE, (last + 1) * SIM_PAGE);
    size_t from, to;

    if (missing == 0)
        return;
    if (inode->n_slots + missing > inode->room_slots) {
        inode->room_slots = inode->n_slots + missing + inode->n_slots / 2;
        inode->slots = sim_realloc(inode->slots, inode->room_slots * sizeof inode->slots[0]);
    }
    from = simimage_slot(inode, last + 1);
    to = from + missing;
    memmove(&inode->slots[to], &inode->slots[from], (inode->n_slots - from) * sizeof inode->slots[0]);
    inode->n_slots += missing;
    image->used += missing * SIM_PAGE;
    for (uint64_t index = last + 1; to > from;) { /* from the back, until the rest is where it was */
        index--;
        if (from > 0 && inode->slots[from - 1].index == index)
            inode->slots[--to] = inode->slots[--from];
        else
            inode->slots[--to] = (struct sim_slot){ .index = index };
    }
}

static void drop_slots(struct sim_image *image, struct sim_inode *inode, uint64_t first, uint64_t last)
{
    size_t from = simimage_slot(inode, first),
           to = last == UINT64_MAX ? inode->n_slots : simimage_slot(inode, last + 1);

    if (from == to)
        return;
    for (size_t i = from; i < to; i++)
        page_put(inode->slots[i].page);
    memmove(&inode->slots[from], &inode->slots[to], (inode->n_slots - to) * sizeof inode->slots[0]);
    inode->n_slots -= to - from;
    image->used -= (to - from) * SIM_PAGE;
}

/* The page of a slot, for changing: an empty one where nothing was written, a copy where images share it. */
static struct sim_page *own_page(struct sim_slot *slot)
{
    struct sim_page *old = slot->page;

    if (old != NULL && !shared(&old->refs))
        return old;
    slot->page = sim_alloc(sizeof *slot->page);
    atomic_init(&slot->page->refs, 1);
    if (old != NULL)
        memcpy(slot->page->bytes, old->bytes, SIM_PAGE);
    else
        memset(slot->page->bytes, 0, SIM_PAGE);
    page_put(old);
    return slot->page;
}

static void write_bytes(struct sim_image *image, struct sim_inode *inode, uint64_t off, const char *bytes, size_t len)
{
    size_t at;

    fill_slots(image, inode, off / SIM_PAGE, (off + len - 1) / SIM_PAGE);
    at = simimage_slot(inode, off / SIM_PAGE);
    for (size_t n; len > 0; at++) {
        n = on_this_page(off, len);
        memcpy(own_page(&inode->slots[at])->bytes + off % SIM_PAGE, bytes, n);
        bytes += n;
        off += n;
        len -= n;
    }
}

/* Writes zeros on one page, if anything was ever written there. */
static void zero_on_page(struct sim_inode *inode, uint64_t off, uint64_t end)
{
    size_t at = simimage_slot(inode, off / SIM_PAGE);

    if (off < end && at < inode->n_slots && inode->slots[at].index == off / SIM_PAGE && inode->slots[at].page != NULL)
        memset(own_page(&inode->slots[at])->bytes + off % SIM_PAGE, 0, (size_t) (end - off));
}

/* Drops whole pages; the pages at both ends keep the rest of what they hold. */
static void punch(struct sim_image *image, struct sim_inode *inode, uint64_t off, uint64_t end)
{
    uint64_t first = (off + SIM_PAGE - 1) / SIM_PAGE, last = end / SIM_PAGE;

    if (off / SIM_PAGE == end / SIM_PAGE) {
        zero_on_page(inode, off, end);
        return;
    }
    if (off % SIM_PAGE != 0)
        zero_on_page(inode, off, first * SIM_PAGE);
    if (end % SIM_PAGE != 0)
        zero_on_page(inode, last * SIM_PAGE, end);
    if (first < last)
        drop_slots(image, inode, first, last - 1);
}

/* Writes a sector whole, with all that the file had in it at the time of the change; the file grows to it if need
 * be. */
static void write_sector(struct sim_image *image, struct sim_inode *inode, uint64_t off, const char *bytes,
                         const struct sim_change *change)
{
    write_bytes(image, inode, off, bytes, SIM_SECTOR);
    inode->size = MAX(inode->size, MIN(off + SIM_SECTOR, change->size));
    inode->attr.mtime = inode->attr.ctime = change->stamp;
}

static bool is_written(const struct sim_inode *inode, uint64_t off)
{
    size_t at = simimage_slot(inode, off / SIM_PAGE);

    return at < inode->n_slots && inode->slots[at].index == off / SIM_PAGE && inode->slots[at].page != NULL;
}

/* Adds to the change the sector around the beginning (i 0) or the end (i 1) of what is cut, [off, end), as it is
 * then. */
static void add_edge(const struct sim_inode *inode, struct sim_change *change, unsigned i, uint64_t off, uint64_t end)
{
    uint64_t at = (i == 0 ? off : end) / SIM_SECTOR * SIM_SECTOR;
    char *sector = change->data->bytes + i * SIM_SECTOR;

    if ((i == 0 ? off : end) == at || !is_written(inode, at))
        return;
    simimage_read(inode, at, sector, SIM_SECTOR);
    off = MAX(off, at);
    end = MIN(end, at + SIM_SECTOR);
    memset(sector + (off - at), 0, (size_t) (end - off));
    change->edge[i] = at;
}

void simimage_add_edges(const struct sim_inode *inode, struct sim_change *change)
{
    bool cuts = change->kind == SIM_CHANGE_SIZE || (change->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;

    change->edge[0] = change->edge[1] = UINT64_MAX;
    if (!cuts)
        return;
    change->data = sim_blob_new(NULL, sizeof change->edge / sizeof change->edge[0] * SIM_SECTOR);
    if (change->kind == SIM_CHANGE_SIZE && change->size < inode->size)
        add_edge(inode, change, 0, change->size, UINT64_MAX);
    if (change->kind == SIM_CHANGE_SPACE) {
        change->size = inode->size;
        add_edge(inode, change, 0, change->off, change->off + change->len);
        add_edge(inode, change, 1, change->off, change->off + change->len);
    }
}

static void write_edges(struct sim_image *image, struct sim_inode *inode, const struct sim_change *change)
{
    for (unsigned i = 0; i < ARRAY_SIZE(change->edge); i++)
        if (change->edge[i] != UINT64_MAX)
            write_sector(image, inode, change->edge[i], change->data->bytes + i * SIM_SECTOR, change);
}

static void apply_size(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = own(image, change->ino);
    uint64_t size = change->size;

    inode->attr.mtime = inode->attr.ctime = change->stamp;
    if (size <= inode->size) {
        if (size % SIM_PAGE != 0)
            zero_on_page(inode, size, (size / SIM_PAGE + 1) * SIM_PAGE);
        drop_slots(image, inode, (size + SIM_PAGE - 1) / SIM_PAGE, UINT64_MAX);
    }
    inode->size = size;
    write_edges(image, inode, change);
}

static void apply_space(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = own(image, change->ino);
    uint64_t end = change->off + change->len;

    inode->attr.mtime = inode->attr.ctime = change->stamp;
    if ((change->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
        punch(image, inode, change->off, end);
    write_edges(image, inode, change);
    if ((change->mode & FALLOC_FL_PUNCH_HOLE) != 0)
        return;
    fill_slots(image, inode, change->off / SIM_PAGE, (end - 1) / SIM_PAGE);
    if ((change->mode & FALLOC_FL_KEEP_SIZE) == 0)
        inode->size = MAX(inode->size, end);
}

static void apply_write(struct sim_image *image, const struct sim_change *change)
{
    struct sim_inode *inode = own(image, change->ino);

    write_bytes(image, inode, change->off, change->data->bytes, change->data->len);
    inode->size = MAX(inode->size, MIN(change->off + change->data->len, change->size));
    inode->attr.mtime = inode->attr.ctime = change->stamp;
}

static void write_sectors(struct sim_image *image, struct sim_inode *inode, const struct sim_change *change,
                          struct rng *rng)
{
    static const unsigned char likely[] = { 0, 100, 50, 50, 10, 90 };
    unsigned percent = likely[rng_below(rng, sizeof likely)];

    for (size_t at = 0; at < change->data->len; at += SIM_SECTOR)
        if (rng_chance(rng, percent))
            write_sector(image, inode, change->off + at, change->data->bytes + at, change);
}

void simimage_apply_torn(struct sim_image *image, const struct sim_change *write, bool grows, struct rng *rng)
{
    struct sim_inode *inode = own(image, write->ino);

    if (rng != NULL)
        write_sectors(image, inode, write, rng);
    if (grows)
        inode->size = MAX(inode->size, write->end);
    else if (write->end > inode->size && rng_chance(rng, 50))
        inode->size = rng_chance(rng, 50) ? write->end : rng_between(rng, inode->size, write->end);
}

/* -- images -- */

struct sim_image *simimage_new(uint64_t cookie_seed, int64_t stamp)
{
    struct sim_image *image = sim_alloc(sizeof *image);
    struct sim_inode *root =
        inode_new(&(struct sim_attr){ .mode = S_IFDIR | 0755, .atime = stamp, .mtime = stamp, .ctime = stamp });

    *image = (struct sim_image){ .cookie_seed = cookie_seed };
    root->number = SIM_ROOT_INO;
    root->nlink = 2;
    root->parent = SIM_ROOT_INO;
    put_inode_at(image, SIM_ROOT_INO, root);
    return image;
}

struct sim_image *simimage_clone(const struct sim_image *image)
{
    struct sim_image *clone = sim_alloc(sizeof *clone);
    size_t room = 1;

    while (room < image->n_inodes)
        room *= 2;
    *clone = *image;
    clone->inodes = sim_alloc(room * sizeof image->inodes[0]);
    memcpy(clone->inodes, image->inodes, image->n_inodes * sizeof image->inodes[0]);
    for (uint32_t i = 0; i < clone->n_inodes; i++)
        if (clone->inodes[i] != NULL)
            ref(&clone->inodes[i]->refs);
    return clone;
}

void simimage_free(struct sim_image *image)
{
    if (image == NULL)
        return;
    for (uint32_t i = 0; i < image->n_inodes; i++)
        inode_put(image->inodes[i]);
    free(image->inodes);
    free(image);
}

void simimage_drop_orphans(struct sim_image *image)
{
    for (uint32_t i = 0; i < image->n_inodes; i++)
        if (image->inodes[i] != NULL && image->inodes[i]->nlink == 0)
            drop_inode(image, i);
}

void simimage_apply(struct sim_image *image, const struct sim_change *change)
{
    switch (change->kind) {
    case SIM_CHANGE_MAKE:
        apply_make(image, change);
        break;
    case SIM_CHANGE_LINK:
        apply_link(image, change);
        break;
    case SIM_CHANGE_UNLINK:
        apply_unlink(image, change);
        break;
    case SIM_CHANGE_RENAME:
        apply_rename(image, change);
        break;
    case SIM_CHANGE_EXCHANGE:
        apply_exchange(image, change);
        break;
    case SIM_CHANGE_ATTR:
        own(image, change->ino)->attr = change->attr;
        break;
    case SIM_CHANGE_XATTR:
        apply_xattr(image, change);
        break;
    case SIM_CHANGE_SIZE:
        apply_size(image, change);
        break;
    case SIM_CHANGE_SPACE:
        apply_space(image, change);
        break;
    case SIM_CHANGE_WRITE:
        apply_write(image, change);
        break;
    case SIM_CHANGE_FREE:
        drop_inode(image, change->ino);
        break;
    }
}
