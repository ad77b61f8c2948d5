/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/layout_texts.h"
#include "fs/core/volume/layouts_known.h"

#include <stdio.h>
#include <string.h>

uint32_t layouts_turn(const struct layouts *layouts)
{
    return atomic_load(&layouts->volume->room_turn);
}

static atomic_uint_least64_t n_freed;

uint64_t layouts_take_freed(void)
{
    return atomic_exchange_explicit(&n_freed, 0, memory_order_relaxed);
}

void file_layout_empty(struct file_layout *layout)
{
    atomic_fetch_add_explicit(&n_freed, layout->bytes, memory_order_relaxed);
    layout_free(layout->layout);
    layout->layout = NULL;
    layout->pattern = NULL;
    layout->list = NULL;
    layout->n_list = 0;
    layout->bytes = 0;
}

void file_layout_free(struct file_layout *layout)
{
    if (layout == NULL)
        return;
    file_layout_empty(layout);
    free(layout);
}

void file_layout_freep(struct file_layout **layout)
{
    file_layout_free(*layout);
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

/* -- building -- */

#define TYPED ' ' /* at the end of a text: somebody typed its list of disks */

enum planning {
    PLAN_TYPED,    /* a list of disks was typed */
    PLAN_CHOSEN,   /* the volume has chosen the list of disks */
    PLAN_OVER_ALL, /* as PLAN_TYPED; where disks are to be chosen, all count as having room */
};

int layouts_build(const struct volume *volume, const char *text, size_t len, struct file_layout **ret_layout,
                  struct layout_error *error)
{
    struct file_layout *layout = calloc(1, sizeof *layout);
    bool is_typed = len > 0 && text[len - 1] == TYPED;
    int r = layout == NULL ? -ENOMEM : layout_parse(text, len - is_typed, 0, &layout->layout, error);

    if (r < 0) {
        free(layout);
        return r;
    }
    layout->is_typed = is_typed;
    layout->pattern = layout->layout->pattern;
    layout->n_list = layout->layout->n_disks;
    layout->list = layout->layout->disk;
    layout->bytes = sizeof *layout + layout_bytes(layout->layout);
    r = layout->pattern == NULL || layout->n_list == 0 ? -EUCLEAN : 0;
    for (uint32_t i = 0; r == 0 && i < layout->n_list; i++)
        if (layout->list[i] >= volume->n_disks)
            r = -ENODEV;
    for (uint32_t i = 0; r == 0 && layout->layout->element_disk != NULL && i < layout->pattern->n_elements; i++)
        if (layout->layout->element_disk[i] != LAYOUT_ANY_DISK && layout->layout->element_disk[i] >= volume->n_disks)
            r = -ENODEV;
    if (r < 0) {
        file_layout_free(layout);
        return r;
    }
    layout_text_hash(text, len, layout->hash);
    *ret_layout = layout;
    return 0;
}

static bool is_meant(const struct volume *volume, const struct layout *layout, uint32_t disk)
{
    return volume_takes(volume, disk) &&
           (layout->disks != DISKS_POOL || strcmp(volume->disk[disk].pool, layout->pool) == 0);
}

static bool has_room(const struct volume *volume, const struct layout *layout, uint32_t disk)
{
    return is_meant(volume, layout, disk) && !disk_is_left_out(&volume->disk[disk]);
}

static bool is_writable(const struct volume *volume, const struct layout *layout, uint32_t disk)
{
    return is_meant(volume, layout, disk) && !disk_is_read_only(&volume->disk[disk]);
}

static uint32_t count_such(const struct volume *volume, const struct layout *layout,
                           bool (*is_such)(const struct volume *, const struct layout *, uint32_t))
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++)
        n += is_such(volume, layout, i);
    return n;
}

/* Prints the disks that is_such says yes to, as " on d0,d2-d5", for a layout that lists none. -ENODEV: there are none,
 * or fewer than each byte has copies. */
static int print_such(FILE *out, const struct volume *volume, const struct layout *layout,
                      bool (*is_such)(const struct volume *, const struct layout *, uint32_t))
{
    const char *before = " on ";

    if (count_such(volume, layout, is_such) < layout->copies)
        return -ENODEV;
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        uint32_t last = i;

        if (!is_such(volume, layout, i))
            continue;
        while (is_such(volume, layout, last + 1))
            last++;
        fprintf(out, "%sd%" PRIu32, before, i);
        if (last > i)
            fprintf(out, "-d%" PRIu32, last);
        before = ",";
        i = last;
    }
    return 0;
}

/* Prints the disks for a layout that names none, all of them, or a pool: of those that are meant, the ones that have
 * room; when none has, or too few for all copies, the ones that may be written; when none may, all. With all set it
 * prints all at once. */
static int print_disks(FILE *out, const struct volume *volume, const struct layout *layout, bool all)
{
    int r = all ? -ENODEV : print_such(out, volume, layout, has_room);

    if (r == -ENODEV && !all)
        r = print_such(out, volume, layout, is_writable);
    return r == -ENODEV ? print_such(out, volume, layout, is_meant) : r;
}

/* Whether a disk is to leave the volume, or has left it; not when it never was in it. */
static bool is_no_more(const struct volume *volume, uint32_t disk)
{
    return disk < volume->n_disks && !volume_takes(volume, disk);
}

/* Prints the disks that a layout lists, without those that are to leave or have left; -ENODEV: there are no others, or
 * one alone where each byte has two copies. */
static int print_rest(FILE *out, const struct volume *volume, const struct layout *layout)
{
    cleanup(freep) uint32_t *rest = calloc(layout->n_disks, sizeof *rest);
    uint32_t n = 0;

    if (rest == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < layout->n_disks; i++) {
        if (is_no_more(volume, layout->disk[i]))
            continue;
        fprintf(out, "%s%" PRIu32, n == 0 ? " on d" : ",d", layout->disk[i]);
        rest[n++] = layout->disk[i];
    }
    return n == 0 || (layout->copies > 1 && !layout_lists_two(rest, n)) ? -ENODEV : 0;
}

static bool lists_no_more(const struct volume *volume, const struct layout *layout)
{
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++)
        if (is_no_more(volume, layout->disk[i]))
            return true;
    return false;
}

static int make_explicit(const struct volume *volume, const struct layout *layout, enum planning how, char **ret_text,
                         size_t *ret_len)
{
    static const char typed[] = { TYPED, 0 };
    cleanup(freep) char *disks = NULL, *text = NULL;
    bool stays = layout->disks == DISKS_LIST && !lists_no_more(volume, layout);
    size_t len;
    FILE *out = open_memstream(&disks, &len);
    int r = 0, n;

    if (out == NULL)
        return -ENOMEM;
    if (!stays)
        r = layout->disks == DISKS_LIST ? print_rest(out, volume, layout)
                                        : print_disks(out, volume, layout, how == PLAN_OVER_ALL);
    if (fclose(out) != 0)
        r = -ENOMEM;
    if (r < 0)
        return r;
    text = stays ? strdup(layout->text) : layout_with_disks(layout, disks);
    if (text == NULL)
        return -ENOMEM;
    n = asprintf(ret_text, "%s%s", text, layout->disks == DISKS_LIST && how != PLAN_CHOSEN ? typed : "");
    if (n < 0)
        return -ENOMEM;
    *ret_len = (size_t) n;
    return 0;
}

/* How many disks of those that a layout means stay in the volume, as far as that says whether copies lie apart: a list
 * counts each of its disks each time. */
static uint32_t count_meant(const struct volume *volume, const struct layout *layout)
{
    uint32_t n = 0;

    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++)
        n += !is_no_more(volume, layout->disk[i]);
    return layout->disks == DISKS_LIST ? n : count_such(volume, layout, is_meant);
}

/* Says what is wrong where the volume has not the disks that a layout wants. */
static void say_lacking(const struct volume *volume, const struct layout *typed, struct layout_error *error)
{
    bool lists = lists_no_more(volume, typed), pools = typed->disks == DISKS_POOL;

    *error = (struct layout_error){ .column = typed->on_at + 1 };
    if (typed->copies > 1 && (lists || typed->disks != DISKS_LIST) && count_meant(volume, typed) > 0) {
        error->column = typed->copies_at + 1;
        snprintf(error->why, sizeof error->why,
                 "copies 2 puts each byte on two disks, and %s one that stays: name more disks, add one to the volume "
                 "('fallsctl disk add'), or leave out 'copies 2'",
                 lists   ? "the list names only"
                 : pools ? "the pool has only"
                         : "the volume has only");
    } else if (lists) {
        snprintf(error->why, sizeof error->why, "all disks it names leave the volume, or have left it: name others");
    } else if (pools) {
        snprintf(error->why, sizeof error->why,
                 "no disk of the volume is in a pool '%s': they are put into one when a volume is formatted",
                 typed->pool);
    } else {
        snprintf(error->why, sizeof error->why, "the volume has no such disks: it has d0 to d%" PRIu32,
                 volume->n_disks - 1);
    }
}

/* Finds the first disk that an element is bound to and that is to leave or has left; UINT32_MAX: there is none. */
static uint32_t find_fixed_no_more(const struct volume *volume, const struct file_layout *layout)
{
    const uint32_t *fixed = layout->layout->element_disk;

    for (uint32_t i = 0; fixed != NULL && i < layout->pattern->n_elements; i++)
        if (fixed[i] != LAYOUT_ANY_DISK && is_no_more(volume, fixed[i]))
            return fixed[i];
    return UINT32_MAX;
}

static int plan(struct layouts *layouts, const char *text, enum planning how, struct file_layout **ret_layout,
                bool *ret_rotates, struct layout_error *ret_error)
{
    cleanup(layout_freep) struct layout *typed = NULL;
    cleanup(freep) char *full = NULL;
    uint32_t no_more;
    size_t len;
    int r = layout_parse(text, strlen(text), 0, &typed, ret_error);

    if (r < 0)
        return r;
    say_lacking(layouts->volume, typed, ret_error);
    r = make_explicit(layouts->volume, typed, how, &full, &len);
    if (r == 0)
        r = layouts_build(layouts->volume, full, len, ret_layout, ret_error);
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

int layouts_plan(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                 struct layout_error *ret_error)
{
    return plan(layouts, text, PLAN_TYPED, ret_layout, ret_rotates, ret_error);
}

int layouts_plan_chosen(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                        struct layout_error *ret_error)
{
    return plan(layouts, text, PLAN_CHOSEN, ret_layout, ret_rotates, ret_error);
}

int layouts_plan_over_all(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                          struct layout_error *ret_error)
{
    return plan(layouts, text, PLAN_OVER_ALL, ret_layout, ret_rotates, ret_error);
}

char *layouts_stored_text(const struct file_layout *layout)
{
    size_t len = strlen(layout->layout->text);
    char *text = malloc(len + 2);

    if (text == NULL)
        return NULL;
    memcpy(text, layout->layout->text, len);
    text[len] = layout->is_typed ? TYPED : 0;
    text[len + 1] = 0;
    return text;
}

/* Whether a disk can be written to now: 0; -ENXIO: it is absent or dead; -ETIMEDOUT: it is stalled and may answer
 * later. */
static int ask_disk(const struct disk *disk)
{
    int r = disk_is_present(disk) ? watch_refuses(disk->watch) : -ENXIO;

    return r == -EIO ? -ENXIO : r;
}

/* Finds the first disk of a layout that cannot be written to now, and returns what ask_disk says of it; 0: all can. */
static int find_lacking(const struct layouts *layouts, const struct file_layout *layout, uint32_t *ret_disk)
{
    const struct volume *volume = layouts->volume;
    const uint32_t *fixed = layout->layout->element_disk;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < layout->n_list; i++)
        r = ask_disk(&volume->disk[ *ret_disk = layout->list[i]]);
    for (uint32_t i = 0; r == 0 && fixed != NULL && i < layout->pattern->n_elements; i++)
        if (fixed[i] != LAYOUT_ANY_DISK)
            r = ask_disk(&volume->disk[ *ret_disk = fixed[i]]);
    return r;
}

/* Whether an error tells that a disk has gone without the mount having been told. */
static bool is_loss(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EIO || r == -ESTALE || r == -ENODEV || r == -ENOTCONN;
}

int layouts_keep_if_there(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout,
                          struct layout_error *ret_error)
{
    uint32_t lacking;
    int r = find_lacking(layouts, planned, &lacking);

    if (r == 0) {
        r = layouts_keep(layouts, planned, ret_layout);
        if (is_loss(r)) {
            snprintf(ret_error->why, sizeof ret_error->why,
                     "a disk does not take the text of the layout (%s): see 'fallsctl status'", strerror(-r));
            r = -ENXIO;
        }
        return r;
    }
    file_layout_free(planned);
    if (r == -ENXIO)
        snprintf(ret_error->why, sizeof ret_error->why,
                 "disk d%" PRIu32
                 " is offline or does not answer: see 'fallsctl status', or name others, as in 'on d0'",
                 lacking);
    return r;
}

int layouts_add(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                struct layout_error *ret_error)
{
    struct file_layout *planned = NULL;
    int r = layouts_plan(layouts, text, &planned, ret_rotates, ret_error);

    return r < 0 ? r : layouts_keep(layouts, planned, ret_layout);
}

/* Canonical texts tell all there is to a layout, the disks of single elements, too. */
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

uint32_t disks_next_other(const uint32_t list[], uint32_t n, uint32_t at)
{
    uint32_t next = (at + 1) % n;

    while (next != at && list[next] == list[at])
        next = (next + 1) % n;
    return next;
}

uint16_t file_layout_copy_rotate(const struct file_layout *layout, uint16_t rotate)
{
    return (uint16_t) (((rotate & ~ROTATE_COPY) + 1U) % layout->n_list | ROTATE_COPY);
}

/* The disk where the copy of a header lies: the one that follows the home disk in the list. */
static uint32_t header_copy_disk(const struct file_layout *layout, uint32_t home, uint32_t start)
{
    for (uint32_t i = 0; i < layout->n_list; i++)
        if (layout->list[i] == home)
            return layout->list[disks_next_other(layout->list, layout->n_list, i)];
    return layout->list[start % MAX(layout->n_list, 1)];
}

uint32_t file_layout_disk(const struct file_layout *layout, uint32_t home, uint16_t rotate, uint32_t slot)
{
    const uint32_t *fixed = layout->layout->element_disk;
    bool is_copy = (rotate & ROTATE_COPY) != 0;
    uint32_t n = layout->n_list, start = rotate & ~ROTATE_COPY;

    if (slot == layout->pattern->n_elements)
        return is_copy ? header_copy_disk(layout, home, start) : home;
    if (fixed != NULL && fixed[slot] != LAYOUT_ANY_DISK)
        return fixed[slot];
    return layout->list[is_copy ? disks_next_other(layout->list, n, (start + slot + n - 1) % n) : (start + slot) % n];
}

void record_lay_out(struct record *record, const struct file_layout *layout, uint16_t rotate)
{
    memcpy(record->layout, layout->hash, HASH_SIZE);
    memcpy(record->old_layout, layout->hash, HASH_SIZE);
    record->rotate = record->old_rotate = rotate;
}

const struct nest *file_layout_nest(const struct file_layout *layout, uint32_t slot)
{
    return pattern_element(layout->pattern, file_layout_element(layout, slot));
}

const struct disk *file_layout_on(const struct file_layout *layout, const struct volume *volume, uint16_t rotate,
                                  uint32_t slot)
{
    return &volume->disk[file_layout_disk(layout, volume->home, rotate, slot)];
}

uint32_t placed_layout_same(const struct placed_layout *from, const struct placed_layout *to, uint32_t home,
                            uint32_t slot)
{
    const struct nest *nest = file_layout_nest(to->layout, slot);
    uint32_t disk = file_layout_disk(to->layout, home, to->rotate, slot);

    for (uint32_t i = 0; nest->size > 0 && i < file_layout_slots(from->layout); i++)
        if (file_layout_disk(from->layout, home, from->rotate, i) == disk &&
            nest_equals(file_layout_nest(from->layout, i), nest))
            return i;
    return UINT32_MAX;
}

uint64_t file_layout_len(const struct file_layout *layout, uint32_t slot, uint64_t size)
{
    return nest_rank(file_layout_nest(layout, slot), size);
}

void object_path(const struct volume *volume, const uint8_t id[ID_SIZE], uint64_t gen, uint32_t slot,
                 const struct file_layout *layout, char ret_path[static OBJECT_PATH])
{
    char hex[2 * ID_SIZE + 1];
    int n = snprintf(ret_path, OBJECT_PATH, "obj/%02x", id[0] % volume->fanout);

    if (slot == OBJECT_DIR)
        return;
    hex_print(id, ID_SIZE, hex);
    n += snprintf(ret_path + n, OBJECT_PATH - (size_t) n, "/%s.%s%" PRIu64, hex, (gen & REPLICA_GEN) != 0 ? "r" : "",
                  gen & ~REPLICA_GEN);
    if (slot == layout->pattern->n_elements)
        snprintf(ret_path + n, OBJECT_PATH - (size_t) n, ".h");
    else
        snprintf(ret_path + n, OBJECT_PATH - (size_t) n, ".%" PRIu32, slot);
}

int object_remove(const struct disk *disk, const char *path)
{
    struct stat st;

    if (!disk_is_read_only(disk))
        return disk_call(disk, unlink, disk->root, path, 0);
    return disk_call(disk, stat, disk->root, path, &st) == -ENOENT ? -ENOENT : -EROFS;
}
