/* SPDX-License-Identifier: MIT */
/* The layouts of files. A file's record names its layout by the hash of a text that lies in layout/ on every disk and
 * never changes. The text is explicit: it says how many elements there are and lists their disks, so that disks that
 * join later change nothing about files that are there.
 *
 *     config, xattr    stripe(1M)                     what a user writes
 *     layout/<hash>    stripe(1M) on d0-d3            what files are laid out by
 *
 * A list of disks that somebody typed is kept to the letter, one that the volume chose need not be. A blank at the end
 * of the text, which means nothing to who parses it, tells them apart; it is not shown. Texts of earlier versions have
 * none: their lists count as chosen.
 *
 *     stripe(1M) on d0,d2     stripe(1M) on d0,d2_           typed, with the blank
 *
 * Element i lives on disk list[(rotate + i) mod n]; rotate is the file's own, kept in its record. With copies 2 the
 * second copy of what lies at a place of the list lies at the next one that is another disk:
 *
 *     stripe(1M) on d0-d3 copies 2     element  0  1  2  3       stripe(1M) on d0,d1,d1 copies 2     element  0  1  2
 *                                      is on   d0 d1 d2 d3                                           is on   d0 d1 d1
 *                                      and on  d1 d2 d3 d0                                           and on  d1 d0 d0
 *
 * Layouts are immutable and shared. */
#ifndef FALLSFS_FS_CORE_VOLUME_FILE_LAYOUTS_H
#define FALLSFS_FS_CORE_VOLUME_FILE_LAYOUTS_H

#include "fs/core/volume/record.h"
#include "fs/core/volume/volume.h"
#include "layout/layout.h"

struct file_layout {
    uint8_t hash[HASH_SIZE];
    bool is_typed; /* its list of disks */
    struct layout *layout;
    const struct pattern *pattern;
    uint32_t n_list;
    const uint32_t *list;
    size_t bytes; /* of memory that it takes with all this */

    /* layouts->lock guards all from here on */
    uint32_t refs;
    bool born;                  /* no disk had the text before this mount, but for those that are unasked */
    struct record_bits unasked; /* disks that did not answer at once when the text was new */
    bool owes;                  /* a disk that did not answer is still to get the text */
    bool busy;                  /* its text is being written, read or removed */
    uint64_t n_named; /* of a born one: the records that name it, stored or such as a crash could bring back */
    uint64_t n_unsynced, n_syncing; /* those of n_named that are stored no more and wait for a sync of the home disk */
    struct file_layout *next, *ripe_next, **ripe_before, *syncing_next;
    struct file_layout *unused_next, **unused_before; /* among those that nobody uses, the oldest first */
};

/* The layout that a new file gets. */
struct chosen_layout {
    struct file_layout *layout;
    bool rotates; /* each file starts on a disk that is drawn for it; else on the first of the list */
};

struct layouts;

int layouts_new(struct volume *volume, struct layouts **ret_layouts);

/* Removes the texts that nobody needs, and frees the layouts. */
void layouts_free(struct layouts *layouts);

/* Has workers remove the texts that nobody needs, from layouts_begin to layouts_end. is_synced: the disks were synced
 * since the last change of any record. */
struct workers;
void layouts_begin(struct layouts *layouts, struct workers *workers);
void layouts_end(struct layouts *layouts, bool is_synced);

/* The texts of what is born in this mount go with their last user: in memory, who holds a reference; on disk, records.
 * A record holds what it names from before it is stored, while the caller has a reference, until it has been given up
 * and the sync of its stub, or of the home disk, makes sure that no crash brings it back. Whoever syncs the stub may
 * say so with the moment that layouts_give_up has told; records that are held and never given up keep their texts. */
void layouts_hold(struct layouts *layouts, const struct record *record);
uint64_t layouts_give_up(struct layouts *layouts, const struct record *record);
void layouts_given_up(struct layouts *layouts, const struct record *record, uint64_t moment);

/* Notes which layouts are used, for prune.c, which removes texts that were there before this mount and that nobody
 * needs. From the beginning of the notes on those are noted that have users in memory, and those that records of moved
 * files name; layouts_note_moved with NULL: a directory has moved. -EBUSY: notes are being taken already. */
int layouts_begin_notes(struct layouts *layouts);
void layouts_end_notes(struct layouts *layouts);
bool layouts_are_noted(struct layouts *layouts);
void layouts_note_moved(struct layouts *layouts, const struct record *record);

/* Removes the text with this hash if nobody has noted it: 1 removed, 0 somebody needs it, -EAGAIN a directory has
 * moved, -ENOMEM, -EIO. */
int layouts_remove_unused(struct layouts *layouts, const uint8_t hash[HASH_SIZE]);

/* Is called now and then: syncs the home disk if texts wait for that, and removes them; writes the texts that disks
 * have not got to those that answer again. */
void layouts_tidy(struct layouts *layouts);

/* Finds the layout with this hash, with a reference. -EUCLEAN: its text is damaged on every disk; -EIO: no disk has it.
 */
int layouts_get(struct layouts *layouts, const uint8_t hash[HASH_SIZE], struct file_layout **ret_layout);

/* A number that grows whenever a text that names no disks may mean other disks than before: those that have room and
 * may be written. */
uint32_t layouts_turn(const struct layouts *layouts);

/* Finds the layout that a user's text asks for on this volume, and writes its text to all disks when it is new and they
 * may be written. *ret_rotates: files had better start on different disks, as the user named none, or more than there
 * are elements. -EINVAL and others as layout_parse; -ENODEV the volume has no such disk or pool. */
int layouts_add(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                struct layout_error *ret_error);

/* layouts_add in two steps, for who wants to know first what a text means. layouts_plan makes a layout that nobody else
 * has; layouts_keep takes it, returns the one that all share, and writes its text where it is new. */
int layouts_plan(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                 struct layout_error *ret_error);
int layouts_keep(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout);

/* Plans like layouts_plan a text whose list of disks the volume has chosen: nobody typed it. */
int layouts_plan_chosen(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                        struct layout_error *ret_error);

/* Plans like layouts_plan, but as if all disks had room. */
int layouts_plan_over_all(struct layouts *layouts, const char *text, struct file_layout **ret_layout, bool *ret_rotates,
                          struct layout_error *ret_error);

/* Keeps like layouts_keep, but fails with -EAGAIN where a new text would have to be written to a disk that does not
 * answer promptly. */
int layouts_keep_promptly(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout);

/* Keeps like layouts_keep, if the disks that the layout names can be written to: else -ENXIO, and ret_error says which
 * cannot; -ETIMEDOUT: one may answer later. */
int layouts_keep_if_there(struct layouts *layouts, struct file_layout *planned, struct file_layout **ret_layout,
                          struct layout_error *ret_error);

/* Makes the text of a layout as it lies on disks, to be freed; NULL without memory. */
char *layouts_stored_text(const struct file_layout *layout);

/* How many bytes of layouts were freed since this was last asked. */
uint64_t layouts_take_freed(void);

/* Frees what a layout's text means, and keeps the layout. */
void file_layout_empty(struct file_layout *layout);

void file_layout_free(struct file_layout *layout);
void file_layout_freep(struct file_layout **layout);

/* The bytes of the file that the subfile of a slot has. */
const struct nest *file_layout_nest(const struct file_layout *layout, uint32_t slot);

/* The disk that a slot is on, of a file that starts there. */
const struct disk *file_layout_on(const struct file_layout *layout, const struct volume *volume, uint16_t rotate,
                                  uint32_t slot);

/* Whether the layout has a disk in its list, or for an element. The disk of the header does not count. */
bool file_layout_names(const struct file_layout *layout, uint32_t disk);

/* Writes the texts of all layouts to a disk that has joined, as far as it takes them: other disks have them, too. */
void layouts_spread(struct layouts *layouts, const struct disk *disk);

/* Whether two layouts put the same bytes on the same disks, however they are written. */
bool file_layout_equals(const struct file_layout *a, const struct file_layout *b);

/* Makes a record name a layout and a rotation. */
void record_lay_out(struct record *record, const struct file_layout *layout, uint16_t rotate);

#define LAYOUT_PATH (sizeof "layout/" + 2 * HASH_SIZE)

/* The path below .fallsfs of the text with this hash, the same on every disk. */
void layouts_text_path(const uint8_t hash[HASH_SIZE], char ret_path[static LAYOUT_PATH]);

/* Reads the text with this hash from the first disk that has it whole. -EIO: no disk has it; -EUCLEAN: all that have it
 * have it damaged. */
int layouts_read_text(struct layouts *layouts, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len);

struct file_layout *layouts_ref(struct layouts *layouts, struct file_layout *layout);
void layouts_put(struct layouts *layouts, struct file_layout *layout);

/* How many slots a layout has, one for each element and the last for the header, if there is one. */
static inline uint32_t file_layout_slots(const struct file_layout *layout)
{
    return layout->pattern->n_elements + (layout->pattern->disp > 0);
}

/* How much a file with this layout weighs that somebody has open: a descriptor for each slot, or, where that is more,
 * one for each 2 KiB that the layout takes in memory. */
static inline uint32_t file_layout_weight(const struct file_layout *layout)
{
    return MAX(file_layout_slots(layout), (uint32_t) (layout->bytes >> 11));
}

static inline uint32_t file_layout_slot(const struct file_layout *layout, uint32_t element)
{
    return element == ELEMENT_HEADER ? layout->pattern->n_elements : element;
}

static inline uint32_t file_layout_element(const struct file_layout *layout, uint32_t slot)
{
    return slot == layout->pattern->n_elements ? ELEMENT_HEADER : slot;
}

/* A rotation with this bit is that of a copy, whose header does not lie on the home disk. */
#define ROTATE_COPY 0x8000U
_Static_assert(FALLS_MAX_NODES < ROTATE_COPY, "a start in a list of disks has the bit of copies");

/* The rotation of the second copy of a file with this rotation: one further on in the list. */
uint16_t file_layout_copy_rotate(const struct file_layout *layout, uint16_t rotate);

/* The place of a list of n disks where the copy of what lies at this place lies: the next one that is another disk, or
 * the place itself, if there is none. */
uint32_t disks_next_other(const uint32_t list[], uint32_t n, uint32_t at);

/* The disk that the subfile of a slot lies on; that of the header is the home disk. That of a copy is the next in the
 * list, of the header the one that follows the home disk there, or the start where the list does not have that: always
 * another disk than that of the same slot in the file. */
uint32_t file_layout_disk(const struct file_layout *layout, uint32_t home, uint16_t rotate, uint32_t slot);

/* How one file lies, or lay: in which layout, and from which disk of its list on. */
struct placed_layout {
    const struct file_layout *layout;
    uint16_t rotate;
};

/* The slot of from whose subfile has the same bytes on the same disk as the subfile of this slot of to; UINT32_MAX:
 * there is none, as far as that is easily told. */
uint32_t placed_layout_same(const struct placed_layout *from, const struct placed_layout *to, uint32_t home,
                            uint32_t slot);

/* How long the subfile of a slot is when the file has size bytes. */
uint64_t file_layout_len(const struct file_layout *layout, uint32_t slot, uint64_t size);

#define OBJECT_PATH 96

/* A replica of a file has a number of its own instead of a generation's; it is told from one by this bit. */
#define REPLICA_GEN (UINT64_C(1) << 63)

/* The path of a subfile, obj/XX/ID.GEN.I with h for I of the header, and rK for GEN of replica K; or with slot
 * OBJECT_DIR of its directory, obj/XX. */
#define OBJECT_DIR UINT32_MAX
void object_path(const struct volume *volume, const uint8_t id[ID_SIZE], uint64_t gen, uint32_t slot,
                 const struct file_layout *layout, char ret_path[static OBJECT_PATH]);

/* Unlinks an object. A disk that is read-only is not asked to, so that whoever tries again and again makes no trouble.
 */
int object_remove(const struct disk *disk, const char *path);

#endif
