/* SPDX-License-Identifier: MIT */
#include "fs/core/change/room_watch.h"

#include "fs/core/disk/mutex.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/volume/room.h"
#include "fs/core/volume/space.h"

#include <fcntl.h>
#include <pthread.h>

#define PERIOD 1000 /* ms */

/* -- asking all disks at once -- */

#define PATIENCE 250 /* ms: of a disk that answers later, what it said before counts */

/* One asking of all disks, shared by who waits and by those who ask; whoever is last frees it. */
struct round {
    struct mutex lock;
    struct cond answered;
    uint32_t left, refs; /* lock */
};

struct question {
    struct chore chore;
    const struct fs *fs;
    const struct disk *disk;
    struct round *round;
};

static void put_round(struct round *round)
{
    bool last;

    mutex_lock(&round->lock);
    last = --round->refs == 0;
    mutex_unlock(&round->lock);
    if (!last)
        return;
    cond_done(&round->answered);
    mutex_done(&round->lock);
    free(round);
}

/* Notes whether a disk may be written, by opening a file for writing: a file system that has found an error may refuse
 * that, and say so nowhere else. */
static void ask_whether_writable(const struct disk *disk)
{
    int fd = disk_ask(disk, open, disk->root, STAMP_NAME, O_RDWR | O_NONBLOCK, 0);

    if (fd >= 0 || fd == -EROFS)
        watch_note_read_only(disk->watch, fd == -EROFS);
    disk_close(disk, &fd);
}

/* Asks a disk for its space, and whether it may be written; it may take long to answer. */
static void ask_disk(const struct fs *fs, const struct disk *disk)
{
    struct statvfs st;

    if (disk_call(disk, statfs, disk->root, &st) == 0)
        watch_note_space(disk->watch, &st);
    if (!fs->read_only && disk->watch != NULL)
        ask_whether_writable(disk);
}

static void run_question(struct chore *chore)
{
    struct question *question = (struct question *) chore;
    struct round *round = question->round;

    ask_disk(question->fs, question->disk);
    atomic_fetch_sub(&question->disk->watch->n_asked, 1);
    mutex_lock(&round->lock);
    round->left--;
    cond_signal(&round->answered);
    mutex_unlock(&round->lock);
    put_round(round);
    free(question);
}

static void ask_in_background(struct fs *fs, const struct disk *disk, struct round *round)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        return;
    atomic_fetch_add(&disk->watch->n_asked, 1);
    *question = (struct question){ .chore = { .run = run_question }, .fs = fs, .disk = disk, .round = round };
    mutex_lock(&round->lock);
    round->left++;
    round->refs++;
    mutex_unlock(&round->lock);
    workers_later(fs->workers, &question->chore);
}

static void ask_all(struct fs *fs, bool once)
{
    struct round *round = calloc(1, sizeof *round);
    uint64_t until;
    bool go_on = true;

    if (round == NULL)
        return;
    round->refs = 1;
    mutex_init(&round->lock);
    cond_init(&round->answered);
    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];

        if (disk_is_present(disk) && disk->watch != NULL && watch_is_prompt(disk->watch) &&
            !(once && atomic_load(&disk->watch->n_asked) > 0))
            ask_in_background(fs, disk, round);
    }
    until = clock_in_ms(PATIENCE);
    mutex_lock(&round->lock);
    while (go_on && round->left > 0)
        go_on = cond_wait_until_ms(&round->answered, &round->lock, until);
    mutex_unlock(&round->lock);
    put_round(round);
}

static void ask_each(struct fs *fs)
{
    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];

        if (disk_is_present(disk))
            ask_disk(fs, disk);
    }
}

/* -- each second -- */

struct room {
    struct fs *fs;
    struct room_rule rule;
    pthread_t thread;
    struct mutex lock; /* one at a time looks at what disks have said */
    struct cond changed;
    atomic_uint_least64_t written;      /* bytes that were written to files since the disks were last asked */
    atomic_uint_least64_t due, overdue; /* bytes after which the thread asks, and after which the writer does */
    atomic_bool is_due;
    bool has_thread, stop; /* lock */
};

void room_note(struct room *room)
{
    struct room_budget budget;

    mutex_lock(&room->lock);
    budget = room_look(room->fs->volume, &room->rule);
    atomic_store(&room->due, budget.due);
    atomic_store(&room->overdue, budget.overdue);
    mutex_unlock(&room->lock);
}

static void ask(struct room *room, bool once)
{
    atomic_store(&room->written, 0);
    atomic_store(&room->is_due, false);
    ask_all(room->fs, once);
    room_note(room);
}

uint64_t room_kept_back(const struct room *room, uint64_t size, bool is_home)
{
    return room_reserve(&room->rule, size, is_home);
}

void room_ask(struct room *room)
{
    ask(room, false);
}

void room_note_written(struct room *room, uint64_t bytes)
{
    uint64_t written = atomic_fetch_add_explicit(&room->written, bytes, memory_order_relaxed) + bytes;

    if (written < atomic_load_explicit(&room->due, memory_order_relaxed))
        return;
    if (written >= atomic_load(&room->overdue)) { /* the thread is late, so the writer asks */
        room_ask(room);
        return;
    }
    if (atomic_exchange(&room->is_due, true))
        return;
    mutex_lock(&room->lock);
    cond_signal(&room->changed);
    mutex_unlock(&room->lock);
}

int room_new(struct fs *fs, const struct room_rule *rule, struct room **ret_room)
{
    struct room *room = calloc(1, sizeof *room);

    if (room == NULL)
        return -ENOMEM;
    room->fs = fs;
    room->rule = *rule;
    mutex_init(&room->lock);
    cond_init(&room->changed);
    ask_each(fs);
    room_note(room);
    *ret_room = room;
    return 0;
}

void room_free(struct room *room)
{
    if (room == NULL)
        return;
    cond_done(&room->changed);
    mutex_done(&room->lock);
    free(room);
}

/* Waits until the disks are to be asked again. False: the thread is to end. */
static bool wait_for_next(struct room *room)
{
    uint64_t until = clock_in_ms(PERIOD);
    bool stop, go_on = true;

    mutex_lock(&room->lock);
    while (!room->stop && !atomic_load(&room->is_due) && go_on)
        go_on = cond_wait_until_ms(&room->changed, &room->lock, until);
    stop = room->stop;
    mutex_unlock(&room->lock);
    return !stop;
}

static void *run(void *arg)
{
    struct room *room = arg;

    while (wait_for_next(room))
        ask(room, true);
    return NULL;
}

int room_start(struct room *room)
{
    int r = -pthread_create(&room->thread, NULL, run, room);

    room->has_thread = r == 0;
    return r;
}

void room_stop(struct room *room)
{
    if (!room->has_thread)
        return;
    mutex_lock(&room->lock);
    room->stop = true;
    cond_signal(&room->changed);
    mutex_unlock(&room->lock);
    pthread_join(room->thread, NULL);
    room->has_thread = false;
}

/* -- how much there is -- */

int room_statfs(struct room *room, struct inode *inode, struct statvfs *ret_statfs)
{
    struct fs *fs = room->fs;
    struct inode *dir = inode != NULL && inode->fmt == S_IFDIR ? inode : inodes_root(fs->inodes);
    struct chosen_layout choice;
    int r;

    room_ask(room);
    r = defaults_plan(fs, dir, &choice);
    if (r < 0)
        return r;
    r = space_of_chosen(fs->volume, &choice, ret_statfs, NULL);
    file_layout_free(choice.layout);
    return r;
}

/* Finds the first disk that nobody may write to of those that a file which lies so uses; NULL: there is none. */
static const struct disk *find_read_only(const struct volume *volume, const struct placed_layout *laying)
{
    for (uint32_t slot = 0; slot < file_layout_slots(laying->layout); slot++) {
        const struct disk *disk = &volume->disk[file_layout_disk(laying->layout, volume->home, laying->rotate, slot)];

        if (disk_is_read_only(disk))
            return disk;
    }
    return NULL;
}

int room_check(struct room *room, const struct placed_layout *from, const struct placed_layout *to, uint64_t bytes)
{
    const struct disk *read_only = find_read_only(room->fs->volume, to);

    if (read_only != NULL)
        return trouble_tell(read_only, TROUBLE_CALL, -EROFS);
    ask_all(room->fs, false);
    return space_fits(room->fs->volume, from, to, bytes) ? 0 : -ENOSPC;
}

bool *room_full_disks(const struct fs *fs, uint64_t low)
{
    cleanup(freep) bool *full = calloc(STAMP_MAX_DISKS, sizeof *full);
    bool any = false;

    for (uint32_t i = 0; full != NULL && i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];
        struct statvfs st;

        full[i] = disk_is_present(disk) && watch_is_prompt(disk->watch) &&
                  disk_call(disk, statfs, disk->root, &st) == 0 && st.f_bavail * st.f_frsize < low;
        any |= full[i];
    }
    return any ? steal(full) : NULL;
}
