/* SPDX-License-Identifier: MIT */
#include "fs/core/change/prune.h"

#include "fs/core/stub/census.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/volume/layout_texts.h"

#include <string.h>

#define TRIES 3 /* how often it is tried: where directories move, files in them may be missed */

static int list(struct fs *fs, struct hashes *names)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < fs->volume->n_disks; i++)
        if (disk_is_present(&fs->volume->disk[i]))
            r = layout_texts_list(&fs->volume->disk[i], names);
    return r;
}

int texts_count(struct fs *fs, uint64_t *ret_n)
{
    struct hashes names = { 0 };
    int r = layout_texts_list(fs_home(fs), &names);

    *ret_n = names.n;
    hashes_done(&names);
    return r;
}

/* What somebody needs, as names are gone through. */
struct needed {
    struct fs *fs;
    struct hashes hashes;
};

static int note_record(void *arg, const struct record *record)
{
    struct needed *needed = arg;
    int r = hashes_add_record(&needed->hashes, record);

    return r < 0 ? r : replicas_add_layouts(needed->fs->volume, needed->fs->layouts, record, &needed->hashes);
}

static int note_copy(void *arg, const struct copy *copy)
{
    return note_record(arg, &copy->record);
}

/* Finds the layouts that records and maps of replicas name. Whoever is renaming something just now may not note it for
 * us, as the notes have just begun: he is waited for before names are gone through. */
static int find_needed(struct needed *needed, struct volume_error *error)
{
    const struct census census = { note_record, note_copy, needed };
    struct fs *fs = needed->fs;

    inodes_naming_begin(fs->inodes);
    inodes_naming_end(fs->inodes);
    return census_take(fs->volume, &census, error);
}

static int remove_others(struct fs *fs, const struct hashes *names, const struct hashes *needed, uint64_t *ret_n)
{
    const uint8_t *hash;
    size_t at = 0;
    int r = 0;

    while (r >= 0 && (hash = hashes_next(names, &at)) != NULL)
        if (!hashes_has(needed, hash) && (r = layouts_remove_unused(fs->layouts, hash)) > 0)
            ++*ret_n;
    return MIN(r, 0);
}

static int prune(struct fs *fs, uint64_t *ret_n, struct volume_error *error)
{
    struct needed needed = { .fs = fs };
    struct hashes names = { 0 };
    int r = list(fs, &names);

    if (r < 0)
        r = volume_fail(error, r, "cannot list the texts of layouts: %s", strerror(-r));
    else
        r = find_needed(&needed, error);
    if (r == 0) {
        r = remove_others(fs, &names, &needed.hashes, ret_n);
        if (r == -EAGAIN)
            r = volume_fail(error, r, "directories are being moved all the time: try again later");
        else if (r < 0)
            r = volume_fail(error, r, "cannot remove a text from all disks: %s: see 'fallsctl status'", strerror(-r));
    }
    hashes_done(&names);
    hashes_done(&needed.hashes);
    return r;
}

int texts_prune(struct fs *fs, uint64_t *ret_n, struct volume_error *ret_error)
{
    int r = -EAGAIN;

    *ret_n = 0;
    if (fs->read_only)
        return volume_fail(ret_error, -EROFS, "the volume is mounted read-only");
    for (int i = 0; r == -EAGAIN && i < TRIES; i++) {
        r = layouts_begin_notes(fs->layouts);
        if (r == -EBUSY)
            return volume_fail(ret_error, r, "somebody else removes texts of layouts just now");
        if (r < 0)
            return volume_fail(ret_error, r, "out of memory");
        r = prune(fs, ret_n, ret_error);
        layouts_end_notes(fs->layouts);
    }
    return r;
}
