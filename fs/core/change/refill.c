/* SPDX-License-Identifier: MIT */
#include "fs/core/change/refill.h"

#include "fs/core/change/give_way.h"
#include "fs/core/change/refill_scan.h"
#include "fs/core/file/file_replicas.h"
#include "fs/core/file/replicas.h"

#include <pthread.h>

#define AGAIN 60000 /* ms until a file is tried again that could not be filled */
#define QUIET 10    /* ms between two looks whether users still want the disks */
#define YIELD 4     /* so many times as long as a window took, users have the disks to themselves */

struct listed {
    struct listed *next;
    struct inode *inode; /* with a reference */
    uint64_t due;        /* clock_ms */
};

struct refills {
    struct fs *fs;
    pthread_t thread;
    struct mutex lock;
    struct cond changed;
    struct listed *first;      /* lock */
    uint32_t n;                /* lock */
    bool scans;                /* of the thread; files that nobody remembers are to be looked for */
    bool has_left;             /* of the thread; a file could not be filled */
    bool has_thread, stop;     /* lock */
    uint32_t n_room, n_served; /* lock; how often room was asked for, and of these, how often replicas have given way */
    /* lock; clock_ms; when the disks were last gone through for nothing; 0: never, or some replica has changed since */
    uint64_t walked_at;
};

int refills_new(struct fs *fs, struct refills **ret_refills)
{
    struct refills *refills = calloc(1, sizeof *refills);

    if (refills == NULL)
        return -ENOMEM;
    refills->fs = fs;
    refills->scans = refill_scan_is_due(fs);
    mutex_init(&refills->lock);
    cond_init(&refills->changed);
    *ret_refills = refills;
    return 0;
}

static bool is_stopped(struct refills *refills)
{
    bool stop;

    mutex_lock(&refills->lock);
    stop = refills->stop;
    mutex_unlock(&refills->lock);
    return stop;
}

static void let_go(struct refills *refills, struct listed *listed)
{
    inode_unref(refills->fs->inodes, listed->inode);
    free(listed);
}

void refills_free(struct refills *refills)
{
    if (refills == NULL)
        return;
    for (struct listed *listed = refills->first, *next; listed != NULL; listed = next) {
        next = listed->next;
        let_go(refills, listed);
    }
    cond_done(&refills->changed);
    mutex_done(&refills->lock);
    free(refills);
}

/* Lists a file again, or anew; what it has may give way where a disk is full. */
static void list(struct refills *refills, struct listed *listed, uint64_t due)
{
    mutex_lock(&refills->lock);
    refills->walked_at = 0;
    listed->due = due;
    listed->next = refills->first;
    refills->first = listed;
    atomic_store(&refills->fs->n_followed, ++refills->n);
    cond_broadcast(&refills->changed);
    mutex_unlock(&refills->lock);
}

/* Each write comes here: one to a file that is listed takes no lock. */
static void note(struct refills *refills, struct inode *inode, uint64_t after)
{
    struct listed *listed;

    if (refills->fs->read_only || atomic_load(&inode->is_followed) || is_stopped(refills) ||
        atomic_exchange(&inode->is_followed, true))
        return;
    listed = calloc(1, sizeof *listed);
    if (listed == NULL) {
        atomic_store(&inode->is_followed, false);
        return;
    }
    inode_ref(refills->fs->inodes, inode);
    listed->inode = inode;
    list(refills, listed, clock_ms() + after);
}

void refills_note(struct refills *refills, struct inode *inode)
{
    note(refills, inode, REFILL_AFTER);
}

uint32_t refills_count(struct refills *refills)
{
    uint32_t n;

    mutex_lock(&refills->lock);
    n = refills->n;
    mutex_unlock(&refills->lock);
    return n;
}

/* Takes the file off the list that is due first, by now at the latest; NULL: none is. */
static struct listed *take(struct refills *refills, uint64_t now) REQUIRES(refills->lock)
{
    struct listed **found = NULL, *listed;

    for (struct listed **at = &refills->first; *at != NULL; at = &(*at)->next)
        if ((*at)->due <= now && (found == NULL || (*at)->due < (*found)->due))
            found = at;
    if (found == NULL)
        return NULL;
    listed = *found;
    *found = listed->next;
    atomic_store(&refills->fs->n_followed, --refills->n);
    return listed;
}

/* -- work -- */

/* Whether something else is to be done first. */
static bool is_interrupted(struct refills *refills)
{
    bool stop;

    mutex_lock(&refills->lock);
    stop = refills->stop || refills->n_served != refills->n_room;
    mutex_unlock(&refills->lock);
    return stop;
}

static bool users_work(const struct fs *fs, uint64_t n_io)
{
    return atomic_load(&fs->n_io) != n_io || atomic_load(&fs->n_io_over) != n_io;
}

/* Leaves the disks to users for a while, as long as they want something of them. */
static void yield_to_users(struct refills *refills, uint64_t took)
{
    uint64_t until = clock_ms() + MAX(YIELD * took, 1);
    bool go_on = true;

    while (go_on && clock_ms() < until) {
        uint64_t n_io = atomic_load(&refills->fs->n_io);

        mutex_lock(&refills->lock);
        if (!refills->stop)
            (void) cond_wait_until_ms(&refills->changed, &refills->lock, clock_in_ms(QUIET));
        go_on = !refills->stop && refills->n_served == refills->n_room;
        mutex_unlock(&refills->lock);
        go_on = go_on && users_work(refills->fs, n_io);
    }
}

/* Fills all wrong windows of a file. The result is the first error: the replicas behind are filled anyway. */
static int fill(struct refills *refills, struct file *file)
{
    uint64_t cursor = 0;
    int r = 1, first = 0;

    while (r != 0 && !is_interrupted(refills)) {
        uint64_t began = clock_ms(), n_io = atomic_load(&refills->fs->n_io);

        r = replicas_fill(refills->fs, file, REPLICAS_ALL, &cursor);
        if (r < 0)
            cursor = replicas_fill_next(cursor);
        if (r > 0 && users_work(refills->fs, n_io))
            yield_to_users(refills, clock_ms() - began);
        first = first != 0 ? first : MIN(r, 0);
    }
    return first;
}

static bool is_due(struct file *file)
{
    bool is;

    pthread_rwlock_rdlock(&file->io);
    is = replicas_are_due(file);
    pthread_rwlock_unlock(&file->io);
    return is;
}

/* Does all that is to be done for a file; true when nothing is left. */
static bool work_on(struct refills *refills, struct file *file)
{
    struct fs *fs = refills->fs;
    int r = replicas_verify(fs, file), synced;

    if (r == 0)
        r = fill(refills, file);
    synced = file_sync_replicas(fs, file);

    if (synced == 0)
        (void) file_tidy_replicas(fs, file);
    (void) file_count_blocks(fs, file);
    return r == 0 && synced == 0 && !is_due(file);
}

/* Whether the stub of an inode can be reached: one may have a name that nobody has looked up. */
static bool has_name(struct fs *fs, struct inode *inode)
{
    int fd, r = inode_is_gone(fs->inodes, inode) ? -ESTALE : inode_open(fs->inodes, inode, &fd);

    if (r == 0)
        inode_close(fs->inodes, inode);
    return r == 0;
}

/* When a file is to be worked on: some time after its last change. */
static uint64_t due_of(const struct file *file)
{
    return file->replicas != NULL ? atomic_load(&file->replicas->changed_at) + REFILL_AFTER : 0;
}

/* Works on a file that was taken off the list. Who changes it from here on lists it again. */
static void work_on_listed(struct refills *refills, struct listed *listed, bool waits)
{
    struct fs *fs = refills->fs;
    uint64_t due = 0;
    struct file *file;
    int r = has_name(fs, listed->inode) ? file_get(fs, listed->inode, &file) : -ESTALE;

    if (r == 0 && waits && due_of(file) > clock_ms()) {
        due = due_of(file);
        file_put(fs, file);
        list(refills, listed, due);
        return;
    }
    atomic_store(&listed->inode->is_followed, false);
    if (r == 0) {
        bool is_done = work_on(refills, file);

        refills->has_left |= !is_done;
        if (!is_done && waits && !inode_is_gone(fs->inodes, listed->inode))
            note(refills, listed->inode, AGAIN);
        file_put(fs, file);
    }
    let_go(refills, listed);
}

bool refills_step(struct refills *refills)
{
    struct listed *listed;

    mutex_lock(&refills->lock);
    listed = take(refills, UINT64_MAX);
    mutex_unlock(&refills->lock);
    if (listed != NULL)
        work_on_listed(refills, listed, false);
    return listed != NULL;
}

#define AT_ONCE 64 /* files that a scan lists before it works on them */

static bool take_found(void *arg, struct inode *inode)
{
    struct refills *refills = arg;

    note(refills, inode, 0);
    while (refills_count(refills) > AT_ONCE && !is_stopped(refills))
        (void) refills_step(refills);
    return !is_stopped(refills);
}

void refills_scan(struct refills *refills)
{
    if (refills->scans && refill_scan(refills->fs, take_found, refills))
        refills->scans = false;
}

/* -- room -- */

#define WALK_AGAIN 60000 /* ms, after the disks were gone through for nothing */

void refills_make_room(struct refills *refills)
{
    uint64_t until = clock_in_ms(WATCH_STALL);
    uint32_t number;

    mutex_lock(&refills->lock);
    if (refills->has_thread) {
        number = ++refills->n_room;
        cond_broadcast(&refills->changed);
        while (!refills->stop && (int32_t) (refills->n_served - number) < 0 &&
               cond_wait_until_ms(&refills->changed, &refills->lock, until)) {
        }
    }
    mutex_unlock(&refills->lock);
}

static void serve_room(struct refills *refills)
{
    uint64_t now = clock_ms();
    uint32_t number, n;
    bool walks;

    mutex_lock(&refills->lock);
    number = refills->n_room;
    walks = refills->walked_at == 0 || now > refills->walked_at + WALK_AGAIN;
    mutex_unlock(&refills->lock);
    n = replicas_give_way(refills->fs, walks);
    mutex_lock(&refills->lock);
    if (n > 0)
        refills->walked_at = 0;
    else if (walks)
        refills->walked_at = now;
    refills->n_served = number;
    cond_broadcast(&refills->changed);
    mutex_unlock(&refills->lock);
}

static void *work(void *arg)
{
    struct refills *refills = arg;
    bool go_on = true;

    refills_scan(refills);
    while (go_on) {
        struct listed *listed;
        bool room;

        mutex_lock(&refills->lock);
        room = refills->n_served != refills->n_room;
        listed = refills->stop || room ? NULL : take(refills, clock_ms());
        if (listed == NULL && !refills->stop && !room)
            (void) cond_wait_until_ms(&refills->changed, &refills->lock, clock_in_ms(REFILL_AFTER / 10));
        go_on = !refills->stop;
        mutex_unlock(&refills->lock);
        if (room && go_on)
            serve_room(refills);
        if (listed != NULL)
            work_on_listed(refills, listed, true);
    }
    return NULL;
}

int refills_start(struct refills *refills)
{
    int r;

    if (refills->fs->read_only)
        return 0;
    r = pthread_create(&refills->thread, NULL, work, refills);
    refills->has_thread = r == 0;
    return -r;
}

void refills_stop(struct refills *refills)
{
    mutex_lock(&refills->lock);
    refills->stop = true;
    cond_broadcast(&refills->changed);
    mutex_unlock(&refills->lock);
    if (refills->has_thread)
        pthread_join(refills->thread, NULL);
    refills->has_thread = false;
    while (refills_step(refills)) {
    }
    if (!refills->fs->read_only && volume_has_replicas(refills->fs->volume))
        refill_scan_note(refills->fs, refills->scans || refills->has_left);
}
