/* SPDX-License-Identifier: MIT */
#include "fs/core/members.h"

#include "fs/core/defaults.h"
#include "fs/core/file.h"
#include "fs/core/space.h"
#include "fs/core/walk.h"

#include <string.h>

#define SPARE            (UINT64_C(1) << 20)
#define THREADS_PER_DISK 16 /* as many more as one that joins makes of use */

int members_add(struct fs *fs, const struct member *member, uint32_t *ret_index, struct volume_error *ret_error)
{
    struct volume_error ignored;
    struct disk *disk;
    struct statvfs st;
    int r = volume_add_disk(fs->volume, member, ret_index, ret_error);

    if (r < 0)
        return r;
    disk = &fs->volume->disk[*ret_index];
    if (disk_call(disk, statfs, disk->root, &st) == 0)
        watch_note_space(disk->watch, &st);
    workers_allow(fs->workers, THREADS_PER_DISK);
    layouts_spread(fs->layouts, disk);
    (void) defaults_refresh(fs, &ignored); /* what was possible before still is */
    return 0;
}

int members_set_leaving(struct fs *fs, uint32_t index, bool leaves, struct volume_error *ret_error)
{
    struct volume_error ignored;
    int r = volume_set_leaving(fs->volume, index, leaves, ret_error);

    if (r < 0)
        return r;
    r = defaults_refresh(fs, ret_error);
    if (r < 0 && leaves) {
        (void) volume_set_leaving(fs->volume, index, false, &ignored);
        (void) defaults_refresh(fs, &ignored);
    }
    return leaves ? r : 0;
}

/* -- files -- */

static bool takes(const struct fs *fs, uint32_t thought, uint32_t disk)
{
    return disk != thought && volume_takes(fs->volume, disk);
}

/* Whether a file that lies so has, or may get, bytes on such a disk. */
static bool must_move(const struct fs *fs, const struct laying *laying, uint32_t thought)
{
    const uint32_t *fixed = laying->layout->layout->element_disk;

    for (uint32_t i = 0; i < laying->layout->n_list; i++)
        if (!takes(fs, thought, laying->layout->list[i]))
            return true;
    for (uint32_t i = 0; fixed != NULL && i < laying->layout->pattern->n_elements; i++)
        if (fixed[i] != LAYOUT_ANY_DISK && !takes(fs, thought, fixed[i]))
            return true;
    return false;
}

/* -- leaving for good -- */

static int uses(struct fs *fs, const uint8_t hash[static HASH_SIZE], uint32_t disk, bool *ret_uses)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, hash, &layout);

    *ret_uses = false;
    if (r == -EIO || r == -EUCLEAN)
        return 0; /* nobody can use the file; fsck tells */
    if (r < 0)
        return r;
    *ret_uses = file_layout_names(layout, disk);
    layouts_put(fs->layouts, layout);
    return 0;
}

/* Whether a stub is of a file with a layout, or on its way to one, that has the disk. */
static int check_stub(struct fs *fs, const struct walk_entry *entry, uint32_t disk, uint64_t *n)
{
    struct record record;
    bool now, later = false;
    int r = file_read_record(fs, entry->dir, entry->name, &record);

    if (r == -ENOENT || r == -EUCLEAN)
        return 0;
    if (r == 0)
        r = uses(fs, record.layout, disk, &now);
    if (r == 0 && record_migrates(&record))
        r = uses(fs, record.target_layout, disk, &later);
    if (r == 0)
        *n += now || later;
    return r;
}

static int count_users(struct fs *fs, int dir, uint32_t disk, uint64_t *n)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(fs_home(fs), dir, &walk);

    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        r = entry.error == -ENOENT ? 0 : entry.error;
        if (r == 0 && S_ISREG(entry.st.st_mode))
            r = check_stub(fs, &entry, disk, n);
    }
    return r;
}

/* Holes on the disk are no subfiles, but what is written to them would be. Names stay as long as they are looked at. */
static int check_unused(struct fs *fs, uint32_t index, uint64_t *ret_left, struct volume_error *error)
{
    uint64_t n = 0;
    int r;

    inodes_naming_begin(fs->inodes);
    r = count_users(fs, fs->volume->ns, index, &n);
    if (r == 0)
        r = count_users(fs, fs->volume->todo, index, &n);
    inodes_naming_end(fs->inodes);
    *ret_left = n;
    if (r < 0)
        return volume_fail(error, r, "cannot look at all files: %s", strerror(-r));
    return n == 0 ? 0 : volume_fail(error, -EBUSY, "%" PRIu64 " files have layouts with d%" PRIu32, n, index);
}

int members_drop(struct fs *fs, uint32_t index, const struct member *member, uint64_t *ret_left,
                 struct volume_error *ret_error)
{
    int r = 0;

    *ret_left = 0;
    if (index < fs->volume->n_disks && fs->volume->disk[index].standing == DISK_LEAVING) {
        r = defaults_refresh(fs, ret_error); /* it may have failed when the disk began to leave */
        if (r == 0)
            r = check_unused(fs, index, ret_left, ret_error);
    }
    return r < 0 ? r : volume_drop_disk(fs->volume, index, member, ret_left, ret_error);
}

/* -- where files go -- */

/* What is decided for one file. */
struct move {
    const struct fs *fs;
    const uint8_t *id;
    uint32_t thought;      /* likewise to leave */
    uint32_t n;            /* disks there were at the beginning */
    bool *is_used;         /* by the file, for each disk */
    struct layout *layout; /* its own, to be changed and printed */
};

static bool can_take(const struct move *move, uint32_t disk, const char *pool)
{
    const struct volume *volume = move->fs->volume;

    return takes(move->fs, move->thought, disk) && disk_is_present(&volume->disk[disk]) && !move->is_used[disk] &&
           (pool[0] == 0 || strcmp(volume->disk[disk].pool, pool) == 0);
}

/* Of those with about the most room each file takes another. UINT32_MAX: there is none that it does not use. */
static uint32_t find_other(const struct move *move, const char *pool)
{
    const struct disk *disk = move->fs->volume->disk;
    uint32_t n = 0, nth;
    uint64_t most = 0;

    for (uint32_t i = 0; i < move->n; i++)
        if (can_take(move, i, pool))
            most = MAX(most, space_left(&disk[i]));
    for (uint32_t i = 0; i < move->n; i++)
        n += can_take(move, i, pool) && space_left(&disk[i]) >= most - most / 8;
    nth = n > 0 ? (move->id[3] * 256U + move->id[4]) % n : 0;
    for (uint32_t i = 0; i < move->n; i++)
        if (can_take(move, i, pool) && space_left(&disk[i]) >= most - most / 8 && nth-- == 0)
            return i;
    return UINT32_MAX;
}

static uint32_t find_replacement(struct move *move, uint32_t disk)
{
    uint32_t other = find_other(move, move->fs->volume->disk[disk].pool);

    if (other == UINT32_MAX)
        other = find_other(move, "");
    if (other != UINT32_MAX)
        move->is_used[other] = true;
    return other;
}

/* Where a place in the list has no replacement it goes; false when one was left out. */
static bool replace_in_list(struct move *move)
{
    struct layout *layout = move->layout;
    uint32_t n = 0, before = layout->n_disks;

    for (uint32_t i = 0; i < layout->n_disks; i++) {
        uint32_t disk = layout->disk[i];

        if (!takes(move->fs, move->thought, disk))
            disk = find_replacement(move, disk);
        if (disk != UINT32_MAX)
            layout->disk[n++] = disk;
    }
    layout->n_disks = n;
    return n == before;
}

/* Each element stays where it is, or goes to a disk of the list in turn. */
static int fix_elements(struct move *move, const struct laying *laying)
{
    struct layout *layout = move->layout;
    uint32_t n = layout->pattern->n_elements, next = move->id[5];

    if (layout->n_disks == 0)
        return -ENODEV;
    if (layout->element_disk == NULL && (layout->element_disk = calloc(n, sizeof *layout->element_disk)) == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t disk = file_layout_disk(laying->layout, move->fs->volume->home, laying->rotate, i);

        layout->element_disk[i] = takes(move->fs, move->thought, disk) ? disk : layout->disk[next++ % layout->n_disks];
    }
    return 0;
}

/* Its text, as it was typed but for the disks where those are not in the midst of it. */
static char *print(const struct move *move, bool is_fixed)
{
    cleanup(freep) char *bare = NULL, *whole = layout_canonical(move->layout);
    char *list = whole != NULL ? strstr(whole, " on d") : NULL, *text;

    if (is_fixed || whole == NULL)
        return steal(whole);
    bare = layout_without_disks(move->layout);
    if (bare == NULL || list == NULL ||
        asprintf(&text, "%s%s%s", bare, strchr(bare, '#') != NULL ? "\n" : "", list) < 0)
        return NULL;
    return text;
}

static void note_used(struct move *move, const struct laying *laying)
{
    const struct file_layout *layout = laying->layout;

    for (uint32_t i = 0; i < layout->n_list; i++)
        if (layout->list[i] < move->n)
            move->is_used[layout->list[i]] = true;
    for (uint32_t i = 0; i < layout->pattern->n_elements; i++) {
        uint32_t disk = file_layout_disk(layout, move->fs->volume->home, laying->rotate, i);

        if (disk < move->n)
            move->is_used[disk] = true;
    }
}

/* Whether dealing the bytes anew over fewer disks has room, with something to spare for others meanwhile. */
static bool has_room(struct fs *fs, const struct laying *laying, const char *text, uint64_t bytes)
{
    struct file_layout *planned;
    struct layout_error error;
    struct laying to;
    bool rotates, has;

    if (layouts_plan(fs->layouts, text, &planned, &rotates, &error) < 0)
        return false;
    to = (struct laying){ planned, (uint16_t) (laying->rotate % planned->n_list) };
    has = space_has_room(fs, laying, &to, bytes + bytes / 8 + SPARE);
    file_layout_free(planned);
    return has;
}

static char *move_text(struct move *move, struct fs *fs, const struct laying *laying, uint64_t bytes)
{
    bool is_fixed = move->layout->element_disk != NULL, is_whole;
    char *text;

    note_used(move, laying);
    is_whole = replace_in_list(move);
    if (!is_fixed) {
        text = print(move, false);
        if (text == NULL || is_whole || has_room(fs, laying, text, bytes))
            return text;
        free(text);
    }
    if (move->layout->n_disks == 0) /* elements alone said where they are: any disk of the volume is as good */
        for (uint32_t i = 0; i < move->n && move->layout->n_disks == 0; i++)
            if (takes(fs, move->thought, i))
                move->layout->disk[move->layout->n_disks++] = i;
    return fix_elements(move, laying) < 0 ? NULL : print(move, true);
}

static char *text_without(struct fs *fs, const struct laying *laying, uint32_t thought, const struct record *record,
                          uint64_t bytes)
{
    struct move move = { .fs = fs, .id = record->id, .thought = thought, .n = fs->volume->n_disks };
    const char *text = laying->layout->layout->text;
    struct layout_error error;
    char *moved = NULL;

    move.is_used = calloc(move.n, sizeof *move.is_used);
    if (move.is_used != NULL && layout_parse(text, strlen(text), 0, &move.layout, &error) == 0)
        moved = move_text(&move, fs, laying, bytes);
    layout_free(move.layout);
    free(move.is_used);
    return moved;
}

static int find_text(struct fs *fs, struct inode *inode, uint32_t thought, struct record *ret_record, char **ret_text)
{
    struct file_layout *layout;
    struct laying laying;
    struct file *file;
    int r = file_get(fs, inode, &file);

    *ret_text = NULL;
    if (r < 0)
        return r;
    layout = file_look(fs, file, ret_record);
    laying = (struct laying){ layout, ret_record->rotate };
    if (must_move(fs, &laying, thought)) {
        *ret_text = text_without(fs, &laying, thought, ret_record, MIN(ret_record->size, file_blocks(file) * 512));
        r = *ret_text == NULL ? -ENOMEM : 0;
    }
    file_put(fs, file);
    layouts_put(fs->layouts, layout);
    return r;
}

int members_text_without(struct fs *fs, struct inode *inode, uint32_t disk, char **ret_text)
{
    struct record record;

    return find_text(fs, inode, disk, &record, ret_text);
}

int members_choose(struct fs *fs, struct inode *inode, struct choice *ret_choice, struct layout_error *ret_error)
{
    cleanup(freep) char *text = NULL;
    struct file_layout *planned = NULL;
    struct record record;
    int r = find_text(fs, inode, UINT32_MAX, &record, &text);

    ret_choice->layout = NULL;
    if (r < 0 || text == NULL)
        return r;
    r = layouts_plan(fs->layouts, text, &planned, &ret_choice->rotates, ret_error);
    if (r == 0)
        r = layouts_keep_if_there(fs->layouts, planned, &ret_choice->layout, ret_error);
    ret_choice->rotates = record.rotate != 0; /* each element stays on its disk, where the list is as long as before */
    return r;
}
