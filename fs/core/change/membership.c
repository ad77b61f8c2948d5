/* SPDX-License-Identifier: MIT */
#include "fs/core/change/membership.h"

#include "fs/core/change/relocation.h"
#include "fs/core/change/room_watch.h"
#include "fs/core/disk/walk.h"
#include "fs/core/file/file.h"
#include "fs/core/file/file_replicas.h"
#include "fs/core/stub/stub.h"
#include "fs/core/tree/defaults.h"

#define THREADS_PER_DISK 16 /* workers that each disk which joins makes room for */

int membership_add(struct fs *fs, const struct member *member, uint32_t *ret_index, struct volume_error *ret_error)
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
    room_note(fs->room);
    workers_allow(fs->workers, THREADS_PER_DISK);
    layouts_spread(fs->layouts, disk);
    (void) defaults_refresh(fs, &ignored); /* with a disk more, all defaults are possible that were before */
    return 0;
}

int membership_set_leaving(struct fs *fs, uint32_t index, bool leaves, struct volume_error *ret_error)
{
    struct volume_error ignored;
    int r = volume_set_leaving(fs->volume, index, leaves, ret_error);

    if (r < 0)
        return r;
    room_note(fs->room);
    r = defaults_refresh(fs, ret_error);
    if (r < 0 && leaves) {
        (void) volume_set_leaving(fs->volume, index, false, &ignored);
        room_note(fs->room);
        (void) defaults_refresh(fs, &ignored);
    }
    return leaves ? r : 0;
}

/* -- leaving for good -- */

static int uses(struct fs *fs, const uint8_t hash[static HASH_SIZE], uint32_t disk, bool *ret_uses)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, hash, &layout);

    *ret_uses = false;
    if (r == -EIO || r == -EUCLEAN)
        return 0; /* the layout is lost, so nobody can use the file: fsck tells of it */
    if (r < 0)
        return r;
    *ret_uses = file_layout_names(layout, disk);
    layouts_put(fs->layouts, layout);
    return 0;
}

/* Adds 1 to *n when a stub's file has a layout that uses the disk, or is on its way to one. */
static int check_stub(struct fs *fs, const struct walk_entry *entry, uint32_t disk, uint64_t *n)
{
    struct record record;
    bool now, later = false;
    int r = stub_read_record(fs->volume, entry->dir, entry->name, &record);

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
        r = walk_lost_it(&entry) ? 0 : entry.error;
        if (entry.error == 0 && S_ISREG(entry.st.st_mode))
            r = check_stub(fs, &entry, disk, n);
    }
    return r;
}

/* Checks that no layout of a file uses the disk. It is not enough that no subfile lies there: a hole of a file has
 * none, but a write to it would make one. No names change while they are gone through. */
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
        return volume_fail(error, r, "cannot look at all files: %s", volume_strerror(-r));
    return n == 0 ? 0 : volume_fail(error, -EBUSY, "%" PRIu64 " files have layouts with d%" PRIu32, n, index);
}

int membership_drop(struct fs *fs, uint32_t index, const struct member *member, uint64_t *ret_left,
                    struct volume_error *ret_error)
{
    int r = 0;

    *ret_left = 0;
    if (index < fs->volume->n_disks && fs->volume->disk[index].standing == DISK_LEAVING) {
        r = defaults_refresh(fs, ret_error); /* this may have failed when the disk began to leave */
        if (r == 0)
            r = check_unused(fs, index, ret_left, ret_error);
    }
    return r < 0 ? r : volume_drop_disk(fs->volume, index, member, ret_left, ret_error);
}

/* -- one file -- */

static bool is_on_leaving(const struct volume *volume, const struct file_layout *layout)
{
    bool is = false;

    for (uint32_t i = 0; !is && i < volume->n_disks; i++)
        is = !volume_takes(volume, i) && file_layout_names(layout, i);
    return is;
}

static int drop_replicas(struct fs *fs, struct file *file, bool *ret_stays)
{
    struct replica_view view[REPLICAS_MAX];
    uint32_t n = file_view_replicas(fs, file, view);
    int r = 0;

    for (uint32_t i = 0; i < n; i++) {
        bool is = view[i].layout != NULL && is_on_leaving(fs->volume, view[i].layout);

        if (r == 0 && is && (view[i].flags & REPLICA_COPY) == 0)
            r = file_drop_replica(fs, file, view[i].number);
        else
            *ret_stays |= is;
        replica_view_done(fs, &view[i]);
    }
    return r == -ENOENT ? 0 : r;
}

int membership_drop_replicas(struct fs *fs, struct inode *inode, bool *ret_stays)
{
    struct file *file;
    int r = file_get(fs, inode, &file);

    *ret_stays = false;
    if (r < 0)
        return r;
    r = drop_replicas(fs, file, ret_stays);
    if (r == 0)
        *ret_stays |= file_has_ended_replicas(file);
    file_put(fs, file);
    return r;
}

static int relocate(struct fs *fs, struct inode *inode, uint32_t thought, struct relocation *ret, uint64_t *ret_lacking)
{
    cleanup(relocation_forget) struct placement placement = { 0 };
    struct file_layout *layout;
    struct record record;
    struct file *file;
    int r = file_get(fs, inode, &file);

    *ret = (struct relocation){ .text = NULL };
    if (r < 0)
        return r;
    layout = file_look(fs, file, &record);
    record.blocks = file_blocks(file);
    file_put(fs, file);
    r = relocation_look(fs, thought, &placement);
    if (r == 0)
        r = relocation_leave(&placement, layout, &record, ret, ret_lacking);
    layouts_put(fs->layouts, layout);
    return r;
}

int membership_text_without(struct fs *fs, struct inode *inode, uint32_t disk, char **ret_text)
{
    cleanup(relocation_done) struct relocation relocation = { .text = NULL };
    uint64_t lacking;
    int r = relocate(fs, inode, disk, &relocation, &lacking);

    *ret_text = steal(relocation.text);
    return MIN(r, 0);
}

int membership_lay_out(struct fs *fs, const struct relocation *relocation, struct file_layout **ret_layout,
                       struct layout_error *ret_error)
{
    struct file_layout *planned;
    bool rotates;
    int r = relocation->is_typed ? layouts_plan(fs->layouts, relocation->text, &planned, &rotates, ret_error)
                                 : layouts_plan_chosen(fs->layouts, relocation->text, &planned, &rotates, ret_error);

    return r < 0 ? r : layouts_keep_if_there(fs->layouts, planned, ret_layout, ret_error);
}

int membership_choose(struct fs *fs, struct inode *inode, struct file_layout **ret_layout, uint32_t *ret_start,
                      struct layout_error *ret_error)
{
    cleanup(relocation_done) struct relocation relocation = { .text = NULL };
    uint64_t lacking;
    int r = relocate(fs, inode, RELOCATION_NONE, &relocation, &lacking);

    *ret_layout = NULL;
    if (r <= 0)
        return r;
    *ret_start = relocation.start;
    return membership_lay_out(fs, &relocation, ret_layout, ret_error);
}
