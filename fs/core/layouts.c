/* SPDX-License-Identifier: MIT */
#include "fs/core/layouts.h"

#include "fs/core/file_text.h"
#include "fs/core/walk.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MAX_TEXT    (65536 + 64 * 1024)
#define KEEP_UNUSED 64

struct layouts {
    struct volume *volume;
    pthread_mutex_t lock;
    struct file_layout *first; /* lock; few: files share them */
    uint32_t n_unused;         /* lock */
};

int layouts_new(struct volume *volume, struct layouts **ret_layouts)
{
    struct layouts *layouts = calloc(1, sizeof *layouts);

    if (layouts == NULL)
        return -ENOMEM;
    layouts->volume = volume;
    pthread_mutex_init(&layouts->lock, NULL);
    *ret_layouts = layouts;
    return 0;
}

void file_layout_free(struct file_layout *layout)
{
    if (layout == NULL)
        return;
    layout_free(layout->layout);
    free(layout);
}

void file_layout_freep(struct file_layout **layout)
{
    file_layout_free(*layout);
}

void layouts_free(struct layouts *layouts)
{
    if (layouts == NULL)
        return;
    while (layouts->first != NULL) {
        struct file_layout *layout = layouts->first;

        layouts->first = layout->next;
        file_layout_free(layout);
    }
    pthread_mutex_destroy(&layouts->lock);
    free(layouts);
}

/* -- those in memory -- */

static struct file_layout *find(struct layouts *layouts, const uint8_t hash[HASH_SIZE])
{
    for (struct file_layout *layout = layouts->first; layout != NULL; layout = layout->next)
        if (memcmp(layout->hash, hash, HASH_SIZE) == 0) {
            layouts->n_unused -= layout->refs++ == 0;
            return layout;
        }
    return NULL;
}

struct file_layout *layouts_ref(struct layouts *layouts, struct file_layout *layout)
{
    pthread_mutex_lock(&layouts->lock);
    layouts->n_unused -= layout->refs++ == 0;
    pthread_mutex_unlock(&layouts->lock);
    return layout;
}

void layouts_put(struct layouts *layouts, struct file_layout *layout)
{
    if (layout == NULL)
        return;
    pthread_mutex_lock(&layouts->lock);
    if (--layout->refs == 0 && ++layouts->n_unused > KEEP_UNUSED) {
        struct file_layout **at = &layouts->first;

        while (*at != layout)
            at = &(*at)->next;
        *at = layout->next;
        layouts->n_unused--;
        file_layout_free(layout);
    }
    pthread_mutex_unlock(&layouts->lock);
}

/* -- those on disk -- */

static void hash_text(const char *text, size_t len, uint8_t ret_hash[HASH_SIZE])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(text, len));
    memcpy(ret_hash, canonical.digest, HASH_SIZE);
}

void layouts_text_path(const uint8_t hash[HASH_SIZE], char ret_path[static LAYOUT_PATH])
{
    char hex[2 * HASH_SIZE + 1];

    hex_print(hash, HASH_SIZE, hex);
    snprintf(ret_path, LAYOUT_PATH, "layout/%s", hex);
}

int layouts_read_text(struct layouts *layouts, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len)
{
    char path[LAYOUT_PATH];
    int r = -EIO;

    layouts_text_path(hash, path);
    for (uint32_t i = 0; i < layouts->volume->n_disks; i++) {
        const struct disk *disk = &layouts->volume->disk[(layouts->volume->home + i) % layouts->volume->n_disks];
        cleanup(freep) char *text = NULL;
        uint8_t real[HASH_SIZE];
        size_t len;
        int error;

        if (!disk_is_present(disk))
            continue;
        error = file_text_read(disk, path, MAX_TEXT, &text, &len);
        if (error == -ENOMEM)
            return error;
        if (error < 0)
            continue;
        hash_text(text, len, real);
        if (memcmp(real, hash, HASH_SIZE) == 0) {
            *ret_text = steal(text);
            *ret_len = len;
            return 0;
        }
        r = -EUCLEAN;
    }
    return r;
}

/* Equal names are believed only for equal texts: -EEXIST another text has this one. */
static int write_text_on(const struct disk *disk, const struct file_layout *layout)
{
    const char *text = layout->layout->text;
    size_t len = strlen(text), old_len = 0;
    cleanup(freep) char *old = NULL;
    char path[LAYOUT_PATH];
    int r;

    layouts_text_path(layout->hash, path);
    r = file_text_read(disk, path, MAX_TEXT, &old, &old_len);
    if (r == -ENOMEM)
        return r;
    if (old != NULL && old_len == len && memcmp(old, text, len) == 0)
        return 0;
    if (old != NULL && old_len > 0) {
        uint8_t real[HASH_SIZE];

        hash_text(old, old_len, real);
        if (memcmp(real, layout->hash, HASH_SIZE) == 0)
            return -EEXIST;
    }
    return file_text_replace(disk, path, text, len);
}

bool file_layout_names(const struct file_layout *layout, uint32_t disk)
{
    const uint32_t *fixed = layout->layout->element_disk;

    for (uint32_t i = 0; i < layout->n_list; i++)
        if (layout->list[i] == disk)
            return true;
    for (uint32_t i = 0; fixed != NULL && i < layout->pattern->n_elements; i++)
        if (fixed[i] == disk)
            return true;
    return false;
}

/* A disk that is full or broken keeps nobody from laying out files on others. */
static int write_text(struct layouts *layouts, const struct file_layout *layout)
{
    for (uint32_t i = 0; i < layouts->volume->n_disks; i++) {
        const struct disk *disk = &layouts->volume->disk[i];
        int r = disk_is_present(disk) ? write_text_on(disk, layout) : 0;

        if (r < 0 && (r == -ENOMEM || r == -EEXIST || i == layouts->volume->home || file_layout_names(layout, i)))
            return r;
    }
    return 0;
}

/* -- building -- */

static int build(struct layouts *layouts, const char *text, size_t len, struct file_layout **ret_layout,
                 struct layout_error *error)
{
    struct file_layout *layout = calloc(1, sizeof *layout);
    int r = layout == NULL ? -ENOMEM : layout_parse(text, len, 0, &layout->layout, error);

    if (r < 0) {
        free(layout);
        return r;
    }
    layout->pattern = layout->layout->pattern;
    layout->n_list = layout->layout->n_disks;
    layout->list = layout->layout->disk;
    r = layout->pattern == NULL || layout->n_list == 0 ? -EUCLEAN : 0;
    for (uint32_t i = 0; r == 0 && i < layout->n_list; i++)
        if (layout->list[i] >= layouts->volume->n_disks)
            r = -ENODEV;
    for (uint32_t i = 0; r == 0 && layout->layout->element_disk != NULL && i < layout->pattern->n_elements; i++)
        if (layout->layout->element_disk[i] != LAYOUT_ANY_DISK &&
            layout->layout->element_disk[i] >= layouts->volume->n_disks)
            r = -ENODEV;
    if (r < 0) {
        file_layout_free(layout);
        return r;
    }
    hash_text(text, len, layout->hash);
    layout->refs = 1;
    *ret_layout = layout;
    return 0;
}

int layouts_get(struct layouts *layouts, const uint8_t hash[HASH_SIZE], struct file_layout **ret_layout)
{
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    size_t len;
    int r = 0;

    pthread_mutex_lock(&layouts->lock);
    *ret_layout = find(layouts, hash);
    if (*ret_layout == NULL) {
        r = layouts_read_text(layouts, hash, &text, &len);
        if (r == 0)
            r = build(layouts, text, len, ret_layout, &error);
        if (r == 0) {
            (*ret_layout)->next = layouts->first;
            layouts->first = *ret_layout;
        }
    }
    pthread_mutex_unlock(&layouts->lock);
    return r == 0 || r == -EIO || r == -ENOMEM ? r : -EUCLEAN;
}

static bool is_meant(const struct volume *volume, const struct layout *layout, uint32_t disk)
{
    return volume_takes(volume, disk) &&
           (layout->disks != DISKS_POOL || strcmp(volume->disk[disk].pool, layout->pool) == 0);
}

/* The disks of a layout that names none, all, or a pool: d0,d2-d5. */
static int print_disks(FILE *out, const struct volume *volume, const struct layout *layout)
{
    const char *before = " on ";

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        uint32_t last = i;

        if (!is_meant(volume, layout, i))
            continue;
        while (is_meant(volume, layout, last + 1))
            last++;
        fprintf(out, "%sd%" PRIu32, before, i);
        if (last > i)
            fprintf(out, "-d%" PRIu32, last);
        before = ",";
        i = last;
    }
    return *before == ',' ? 0 : -ENODEV;
}

/* A disk that is to leave, or has left: not one that never was. */
static bool is_no_more(const struct volume *volume, uint32_t disk)
{
    return disk < volume->n_disks && !volume_takes(volume, disk);
}

/* The disks of a list without those that are no more; -ENODEV when no other is left. */
static int print_rest(FILE *out, const struct volume *volume, const struct layout *layout)
{
    const char *before = " on d";

    for (uint32_t i = 0; i < layout->n_disks; i++) {
        if (is_no_more(volume, layout->disk[i]))
            continue;
        fprintf(out, "%s%" PRIu32, before, layout->disk[i]);
        before = ",d";
    }
    return *before == ',' ? 0 : -ENODEV;
}

static bool lists_no_more(const struct volume *volume, const struct layout *layout)
{
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++)
        if (is_no_more(volume, layout->disk[i]))
            return true;
    return false;
}

static int make_explicit(const struct volume *volume, const struct layout *layout, char **ret_text, size_t *ret_len)
{
    cleanup(freep) char *text = NULL, *bare = layout_without_disks(layout);
    FILE *out = bare != NULL ? open_memstream(&text, ret_len) : NULL;
    int r = 0;

    if (out == NULL)
        return -ENOMEM;
    if (layout->disks == DISKS_LIST && !lists_no_more(volume, layout)) {
        fputs(layout->text, out);
    } else {
        fputs(bare, out);
        if (strchr(bare, '#') != NULL)
            fputc('\n', out); /* what follows is not part of the comment */
        r = layout->disks == DISKS_LIST ? print_rest(out, volume, layout) : print_disks(out, volume, layout);
    }
    if (fclose(out) != 0)
        r = -ENOMEM;
    if (r == 0)
        *ret_text = steal(text);
    return r;
}

/* The first disk that an element is bound to and that takes nothing new; UINT32_MAX: none. */
static uint32_t find_fixed_no_more(const struct volume *volume, const struct file_layout *layout)
{
    const uint32_t *fixed = layout->layout->element_disk;

    for (uint32_t i = 0; fixed != NULL && i < layout->pattern->n_elements; i++)
        if (fixed[i] != LAYOUT_ANY_DISK && is_no_more(volume, fixed[i]))
            return fixed[i];
    return UINT32_MAX;
}

int layouts_plan(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                 struct layout_error *ret_error)
{
    cleanup(layout_freep) struct layout *typed = NULL;
    cleanup(freep) char *full = NULL;
    uint32_t no_more;
    size_t len;
    int r = layout_parse(text, strlen(text), 0, &typed, ret_error);

    if (r < 0)
        return r;
    *ret_error = (struct layout_error){ .column = typed->on_at + 1 };
    if (lists_no_more(layouts->volume, typed))
        snprintf(ret_error->why, sizeof ret_error->why,
                 "all disks it names leave the volume, or have left it: name others");
    else if (typed->disks == DISKS_POOL)
        snprintf(ret_error->why, sizeof ret_error->why,
                 "no disk of the volume is in a pool '%s': they are put into one when a volume is formatted",
                 typed->pool);
    else
        snprintf(ret_error->why, sizeof ret_error->why, "the volume has no such disks: it has d0 to d%" PRIu32,
                 layouts->volume->n_disks - 1);
    r = make_explicit(layouts->volume, typed, &full, &len);
    if (r == 0)
        r = build(layouts, full, len, ret_layout, ret_error);
    if (r == 0 && (no_more = find_fixed_no_more(layouts->volume, *ret_layout)) != UINT32_MAX) {
        file_layout_free(*ret_layout);
        snprintf(ret_error->why, sizeof ret_error->why,
                 "an element is for d%" PRIu32 ", which leaves the volume or has left", no_more);
        r = -ENODEV;
    }
    if (r < 0)
        return r;
    *ret_rotates = typed->disks != DISKS_LIST || (*ret_layout)->pattern->n_elements < (*ret_layout)->n_list;
    *ret_error = (struct layout_error){ 0 }; /* what fails later is no fault of the text */
    return 0;
}

static bool takes_nothing(const struct disk *disk)
{
    return !disk_is_present(disk) || (disk->watch != NULL && watch_refuses(disk->watch) < 0);
}

/* The first disk of a layout that takes nothing now; UINT32_MAX when all do. */
static uint32_t lacking_disk(const struct layouts *layouts, const struct file_layout *layout)
{
    const struct volume *volume = layouts->volume;
    const uint32_t *fixed = layout->layout->element_disk;

    for (uint32_t i = 0; i < layout->n_list; i++)
        if (takes_nothing(&volume->disk[layout->list[i]]))
            return layout->list[i];
    for (uint32_t i = 0; fixed != NULL && i < layout->pattern->n_elements; i++)
        if (fixed[i] != LAYOUT_ANY_DISK && takes_nothing(&volume->disk[fixed[i]]))
            return fixed[i];
    return UINT32_MAX;
}

int layouts_keep(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout)
{
    cleanup(file_layout_freep) struct file_layout *layout = planned;
    struct file_layout *known;
    int r = 0;

    pthread_mutex_lock(&layouts->lock);
    known = find(layouts, layout->hash);
    if (known == NULL && (layouts->volume->flags & VOLUME_READ_ONLY) == 0)
        r = write_text(layouts, layout);
    if (known == NULL && r == 0) {
        layout->next = layouts->first;
        layouts->first = layout;
        known = steal(layout);
    }
    pthread_mutex_unlock(&layouts->lock);
    if (r == 0)
        *ret_layout = known;
    return r;
}

/* A disk that is gone without the mount having been told. */
static bool is_loss(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EIO || r == -ESTALE || r == -ENODEV || r == -ENOTCONN;
}

int layouts_keep_if_there(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout,
                          struct layout_error *ret_error)
{
    uint32_t lacking = lacking_disk(layouts, planned);
    int r;

    if (lacking == UINT32_MAX) {
        r = layouts_keep(layouts, planned, ret_layout);
        if (!is_loss(r))
            return r;
        snprintf(ret_error->why, sizeof ret_error->why,
                 "a disk does not take the text of the layout (%s): see 'fallsctl status'", strerror(-r));
        return -ENXIO;
    }
    file_layout_free(planned);
    snprintf(ret_error->why, sizeof ret_error->why,
             "disk d%" PRIu32 " is offline or does not answer: see 'fallsctl status', or name others, as in 'on d0'",
             lacking);
    return -ENXIO;
}

int layouts_add(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                struct layout_error *ret_error)
{
    struct file_layout *planned = NULL;
    int r = layouts_plan(layouts, text, &planned, ret_rotates, ret_error);

    return r < 0 ? r : layouts_keep(layouts, planned, ret_layout);
}

static void spread_text(const struct disk *home, const struct disk *disk, const char *path)
{
    cleanup(freep) char *text = NULL, *old = NULL;
    size_t len, old_len;

    if (file_text_read(home, path, MAX_TEXT, &text, &len) == 0 &&
        file_text_read(disk, path, MAX_TEXT, &old, &old_len) == -ENOENT)
        (void) file_text_replace(disk, path, text, len);
}

void layouts_spread(struct layouts *layouts, const struct disk *disk)
{
    const struct disk *home = volume_home(layouts->volume);
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int dir = disk_call(home, open, home->root, "layout", O_RDONLY | O_DIRECTORY, 0);

    if (dir < 0)
        return;
    pthread_mutex_lock(&layouts->lock); /* who writes a new one writes it there, too */
    if (walk_new(home, dir, &walk) == 0)
        while (walk_next(walk, &entry) > 0) {
            char path[LAYOUT_PATH];

            walk_skip(walk);
            if (S_ISREG(entry.st.st_mode) && strlen(entry.name) == 2 * HASH_SIZE) {
                snprintf(path, sizeof path, "layout/%s", entry.name);
                spread_text(home, disk, path);
            }
        }
    pthread_mutex_unlock(&layouts->lock);
    disk_close(home, &dir);
}

/* Disks named before elements are in the canonical form, too. */
bool file_layout_equals(const struct file_layout *a, const struct file_layout *b)
{
    cleanup(freep) char *text_a = NULL, *text_b = NULL;

    if (memcmp(a->hash, b->hash, HASH_SIZE) == 0)
        return true;
    if (a->pattern->disp != b->pattern->disp || a->pattern->size != b->pattern->size ||
        a->pattern->n_elements != b->pattern->n_elements || a->n_list != b->n_list)
        return false;
    text_a = layout_canonical(a->layout);
    text_b = layout_canonical(b->layout);
    return text_a != NULL && text_b != NULL && strcmp(text_a, text_b) == 0;
}

/* -- where subfiles are -- */

uint16_t file_layout_rotate(const struct file_layout *layout, bool rotates, const uint8_t id[ID_SIZE])
{
    return rotates ? (uint16_t) ((id[1] * 256U + id[2]) % layout->n_list) : 0;
}

uint32_t file_layout_disk(const struct file_layout *layout, uint32_t home, uint16_t rotate, uint32_t slot)
{
    const uint32_t *fixed = layout->layout->element_disk;

    if (slot == layout->pattern->n_elements)
        return home;
    if (fixed != NULL && fixed[slot] != LAYOUT_ANY_DISK)
        return fixed[slot];
    return layout->list[(rotate + slot) % layout->n_list];
}

void record_lay_out(struct record *record, const struct file_layout *layout, bool rotates)
{
    memcpy(record->layout, layout->hash, HASH_SIZE);
    memcpy(record->old_layout, layout->hash, HASH_SIZE);
    record->rotate = record->old_rotate = file_layout_rotate(layout, rotates, record->id);
}

static const struct nest *nest_of(const struct file_layout *layout, uint32_t slot)
{
    return pattern_element(layout->pattern, file_layout_element(layout, slot));
}

uint32_t laying_same(const struct laying *from, const struct laying *to, uint32_t home, uint32_t slot)
{
    const struct nest *nest = nest_of(to->layout, slot);
    uint32_t disk = file_layout_disk(to->layout, home, to->rotate, slot);

    for (uint32_t i = 0; nest->size > 0 && i < file_layout_slots(from->layout); i++)
        if (file_layout_disk(from->layout, home, from->rotate, i) == disk &&
            nest_equals(nest_of(from->layout, i), nest))
            return i;
    return UINT32_MAX;
}

uint64_t file_layout_len(const struct file_layout *layout, uint32_t slot, uint64_t size)
{
    return nest_rank(pattern_element(layout->pattern, file_layout_element(layout, slot)), size);
}

void object_path(const struct volume *volume, const uint8_t id[ID_SIZE], uint64_t gen, uint32_t slot,
                 const struct file_layout *layout, char ret_path[static OBJECT_PATH])
{
    char hex[2 * ID_SIZE + 1];
    int n = snprintf(ret_path, OBJECT_PATH, "obj/%02x", id[0] % volume->fanout);

    if (slot == OBJECT_DIR)
        return;
    hex_print(id, ID_SIZE, hex);
    if (slot == layout->pattern->n_elements)
        snprintf(ret_path + n, OBJECT_PATH - (size_t) n, "/%s.%" PRIu64 ".h", hex, gen);
    else
        snprintf(ret_path + n, OBJECT_PATH - (size_t) n, "/%s.%" PRIu64 ".%" PRIu32, hex, gen, slot);
}
