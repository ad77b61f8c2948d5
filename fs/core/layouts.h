/* SPDX-License-Identifier: MIT */
/* The layouts of files. A file's record names its layout by the hash of a text that lies in layout/ on every disk and
 * never changes. The text is explicit: it says how many elements there are and lists their disks, so that disks that
 * join later change nothing about files that are there.
 *
 *     config, xattr    stripe(1M)                     what a user writes
 *     layout/<hash>    stripe(1M) on d0-d3            what files are laid out by
 *
 * Element i lives on disk list[(rotate + i) mod n]; rotate is the file's own. Layouts are immutable and shared. */
#ifndef FALLSFS_FS_CORE_LAYOUTS_H
#define FALLSFS_FS_CORE_LAYOUTS_H

#include "fs/core/record.h"
#include "fs/core/volume.h"
#include "layout/layout.h"

struct file_layout {
    uint8_t hash[HASH_SIZE];
    struct layout *layout;
    const struct pattern *pattern;
    uint32_t n_list;
    const uint32_t *list;
    uint32_t refs;
    struct file_layout *next;
};

/* What a file that is made is laid out by. */
struct choice {
    struct file_layout *layout;
    bool rotates; /* each file starts on a disk of its own */
};

struct layouts;

int layouts_new(struct volume *volume, struct layouts **ret_layouts);
void layouts_free(struct layouts *layouts);

/* The layout with this hash. -EUCLEAN when its text is damaged on every disk, -EIO when there is none. */
int layouts_get(struct layouts *layouts, const uint8_t hash[HASH_SIZE], struct file_layout **ret_layout);

/* The layout a user's text asks for on this volume, written to all disks when it is new and they may be written, and
 * whether files had better start on different disks: the user named none, or more than there are elements. -EINVAL and
 * others as layout_parse; -ENODEV the volume has no such disk or pool. */
int layouts_add(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                struct layout_error *ret_error);

/* The same in two steps, for who wants to know first what a text means: as layouts_plan makes it, nobody else has it;
 * layouts_keep takes it, gives the one that all share, and writes its text where it is new. */
int layouts_plan(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                 struct layout_error *ret_error);
int layouts_keep(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout);

/* The same, when the disks it names are there to be written to; else -ENXIO, ret_error says which is not. */
int layouts_keep_if_there(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout,
                          struct layout_error *ret_error);
void file_layout_free(struct file_layout *layout);
void file_layout_freep(struct file_layout **layout);

/* Whether the layout has a disk in its list, or for an element. The header's does not count. */
bool file_layout_names(const struct file_layout *layout, uint32_t disk);

/* A disk that has joined gets the texts of all layouts, as far as it takes them: others have them, too. */
void layouts_spread(struct layouts *layouts, const struct disk *disk);

/* Whether they put the same bytes on the same disks, however they are written. */
bool file_layout_equals(const struct file_layout *a, const struct file_layout *b);

/* Files with this record will lie as the layout says; rotates: each starts on a disk of its own. */
void record_lay_out(struct record *record, const struct file_layout *layout, bool rotates);

#define LAYOUT_PATH (sizeof "layout/" + 2 * HASH_SIZE)

/* Where below .fallsfs the text with this hash lies, on every disk. */
void layouts_text_path(const uint8_t hash[HASH_SIZE], char ret_path[static LAYOUT_PATH]);

/* The text from the first disk that has it whole; -EIO no disk has it, -EUCLEAN all that do have it damaged. */
int layouts_read_text(struct layouts *layouts, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len);

struct file_layout *layouts_ref(struct layouts *layouts, struct file_layout *layout);
void layouts_put(struct layouts *layouts, struct file_layout *layout);

/* Elements of a layout, the header last: slots 0 .. n_slots-1. */
static inline uint32_t file_layout_slots(const struct file_layout *layout)
{
    return layout->pattern->n_elements + (layout->pattern->disp > 0);
}

static inline uint32_t file_layout_slot(const struct file_layout *layout, uint32_t element)
{
    return element == ELEMENT_HEADER ? layout->pattern->n_elements : element;
}

static inline uint32_t file_layout_element(const struct file_layout *layout, uint32_t slot)
{
    return slot == layout->pattern->n_elements ? ELEMENT_HEADER : slot;
}

/* Where a file with this id starts when the volume chose the disks; 0 when the user did. */
uint16_t file_layout_rotate(const struct file_layout *layout, bool rotates, const uint8_t id[ID_SIZE]);

/* The disk of a slot; the header's is the home disk. */
uint32_t file_layout_disk(const struct file_layout *layout, uint32_t home, uint16_t rotate, uint32_t slot);

/* How one file lies, or lay. */
struct laying {
    const struct file_layout *layout;
    uint16_t rotate;
};

/* The slot of from whose subfile has the same bytes on the same disk as this one of to has, as far as that is easily
 * told; UINT32_MAX: there is none. */
uint32_t laying_same(const struct laying *from, const struct laying *to, uint32_t home, uint32_t slot);

/* How long the subfile of a slot is when the file has this size. */
uint64_t file_layout_len(const struct file_layout *layout, uint32_t slot, uint64_t size);

#define OBJECT_PATH 96

/* obj/XX/ID.GEN.I, the header's with h for I; obj/XX alone with slot OBJECT_DIR. */
#define OBJECT_DIR UINT32_MAX
void object_path(const struct volume *volume, const uint8_t id[ID_SIZE], uint64_t gen, uint32_t slot,
                 const struct file_layout *layout, char ret_path[static OBJECT_PATH]);

#endif
