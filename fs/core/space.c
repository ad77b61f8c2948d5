/* SPDX-License-Identifier: MIT */
#include "fs/core/space.h"

#include "fs/core/defaults.h"

#define UNIT 4096

/* One file system of the volume. */
struct pool {
    dev_t dev;
    uint32_t disk; /* one that has a share and lies here */
    double share;  /* of a file's bytes that go there */
    struct statvfs st;
};

static struct pool *pool_of(struct pool pool[], uint32_t n, dev_t dev)
{
    for (uint32_t i = 0; i < n; i++)
        if (pool[i].dev == dev)
            return &pool[i];
    return NULL;
}

/* Where disks are watched, what they last said counts: they were asked by threads that may wait. */
static int ask(const struct disk *disk, struct statvfs *ret_statfs)
{
    if (disk->watch != NULL)
        return watch_last_space(disk->watch, ret_statfs) ? 0 : -EIO;
    return disk_call(disk, statfs, disk->root, ret_statfs);
}

/* Of the first n_disks disks, in so many pools at most. One that is to leave has no room for anything. */
static int find_pools(const struct volume *volume, uint32_t n_disks, struct pool pool[], uint32_t *ret_n)
{
    *ret_n = 0;
    for (uint32_t i = 0; i < n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r;

        if (!disk_is_present(disk) || !volume_takes(volume, i) || pool_of(pool, *ret_n, disk->dev) != NULL)
            continue;
        pool[*ret_n] = (struct pool){ .dev = disk->dev };
        r = ask(disk, &pool[*ret_n].st);
        if (r < 0)
            return r;
        ++*ret_n;
    }
    return 0;
}

/* What stays where it is, when from is not NULL, needs no room. */
static void add_shares(const struct volume *volume, const struct laying *from, const struct laying *to,
                       struct pool pool[], uint32_t n)
{
    const struct pattern *pattern = to->layout->pattern;

    for (uint32_t i = 0; i < pattern->n_elements; i++) {
        double bytes = (double) pattern->element[i].once->size / (double) pattern->size;
        const struct disk *disk = &volume->disk[file_layout_disk(to->layout, volume->home, to->rotate, i)];
        struct pool *here;

        if (!disk_is_present(disk) || (from != NULL && laying_same(from, to, volume->home, i) != UINT32_MAX))
            continue;
        here = pool_of(pool, n, disk->dev);
        if (here == NULL)
            continue;
        if (here->share == 0)
            here->disk = disk->index;
        here->share += bytes;
    }
}

int space_of_layout(const struct volume *volume, const struct file_layout *layout, struct statvfs *ret_statfs,
                    uint32_t *ret_limit)
{
    const struct laying laying = { .layout = layout }; /* files start on all disks of the list in turn: on average so */
    uint32_t n_disks = volume->n_disks, n, limit = UINT32_MAX;
    cleanup(freep) struct pool *pool = calloc(n_disks, sizeof *pool);
    const struct disk *home = &volume->disk[volume->home];
    double avail = -1;
    struct statvfs st;
    int r = pool == NULL ? -ENOMEM : find_pools(volume, n_disks, pool, &n);

    if (r == 0)
        r = ask(home, &st);
    if (r < 0)
        return r;
    add_shares(volume, NULL, &laying, pool, n);
    *ret_statfs = (struct statvfs){ .f_bsize = UNIT,
                                    .f_frsize = UNIT,
                                    .f_files = st.f_files,
                                    .f_ffree = st.f_ffree,
                                    .f_favail = st.f_favail,
                                    .f_namemax = st.f_namemax };
    for (uint32_t i = 0; i < n; i++) {
        double unit = (double) pool[i].st.f_frsize;

        ret_statfs->f_blocks += (fsblkcnt_t) ((double) pool[i].st.f_blocks * unit / UNIT);
        ret_statfs->f_bfree += (fsblkcnt_t) ((double) pool[i].st.f_bfree * unit / UNIT);
        if (pool[i].share > 0) {
            double here = (double) pool[i].st.f_bavail * unit / pool[i].share;

            if (avail < 0 || here < avail) {
                avail = here;
                limit = pool[i].disk;
            }
        }
    }
    ret_statfs->f_bavail = avail < 0 ? 0 : (fsblkcnt_t) (avail / UNIT);
    if (ret_limit != NULL)
        *ret_limit = limit;
    return 0;
}

/* -- asking all disks at once -- */

#define PATIENCE 250 /* ms: a disk that answers later has what it last had */

/* One for each time the disks are asked; whoever comes last frees it. */
struct round {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    uint32_t left, refs; /* lock */
};

struct question {
    struct job job;
    const struct disk *disk;
    struct round *round;
};

static void put_round(struct round *round)
{
    bool last;

    pthread_mutex_lock(&round->lock);
    last = --round->refs == 0;
    pthread_mutex_unlock(&round->lock);
    if (!last)
        return;
    pthread_cond_destroy(&round->answered);
    pthread_mutex_destroy(&round->lock);
    free(round);
}

static void run_question(struct job *job)
{
    struct question *question = (struct question *) job;
    struct round *round = question->round;
    struct statvfs st;

    if (disk_call(question->disk, statfs, question->disk->root, &st) == 0)
        watch_note_space(question->disk->watch, &st);
    pthread_mutex_lock(&round->lock);
    round->left--;
    pthread_cond_signal(&round->answered);
    pthread_mutex_unlock(&round->lock);
    put_round(round);
    free(question);
}

static void ask_in_background(struct fs *fs, const struct disk *disk, struct round *round)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        return;
    *question = (struct question){ .job = { .run = run_question }, .disk = disk, .round = round };
    pthread_mutex_lock(&round->lock);
    round->left++;
    round->refs++;
    pthread_mutex_unlock(&round->lock);
    workers_later(fs->workers, &question->job);
}

static void ask_all(struct fs *fs)
{
    struct round *round = calloc(1, sizeof *round);
    struct timespec until;
    int r = 0;

    if (round == NULL)
        return;
    round->refs = 1;
    pthread_mutex_init(&round->lock, NULL);
    pthread_cond_init(&round->answered, NULL);
    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];

        if (disk_is_present(disk) && disk->watch != NULL && watch_is_prompt(disk->watch))
            ask_in_background(fs, disk, round);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&round->lock);
    while (r == 0 && round->left > 0)
        r = pthread_cond_timedwait(&round->answered, &round->lock, &until);
    pthread_mutex_unlock(&round->lock);
    put_round(round);
}

void space_note(struct fs *fs)
{
    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];
        struct statvfs st;

        if (disk_is_present(disk) && disk_call(disk, statfs, disk->root, &st) == 0)
            watch_note_space(disk->watch, &st);
    }
}

int space_statfs(struct fs *fs, struct inode *inode, struct statvfs *ret_statfs)
{
    struct inode *dir = inode != NULL && inode->fmt == S_IFDIR ? inode : inodes_root(fs->inodes);
    struct choice choice;
    int r = defaults_choose(fs, dir, NULL, &choice);

    if (r < 0)
        return r;
    ask_all(fs);
    r = space_of_layout(fs->volume, choice.layout, ret_statfs, NULL);
    layouts_put(fs->layouts, choice.layout);
    return r;
}

bool space_has_room(struct fs *fs, const struct laying *from, const struct laying *to, uint64_t bytes)
{
    uint32_t n_disks = fs->volume->n_disks, n;
    cleanup(freep) struct pool *pool = calloc(n_disks, sizeof *pool);

    ask_all(fs);
    if (pool == NULL || find_pools(fs->volume, n_disks, pool, &n) < 0)
        return true;
    add_shares(fs->volume, from, to, pool, n);
    for (uint32_t i = 0; i < n; i++)
        if ((double) bytes * pool[i].share > (double) pool[i].st.f_bavail * (double) pool[i].st.f_frsize)
            return false;
    return true;
}

uint64_t space_left(const struct disk *disk)
{
    struct statvfs st;

    return ask(disk, &st) < 0 ? 0 : (uint64_t) st.f_bavail * st.f_frsize;
}
