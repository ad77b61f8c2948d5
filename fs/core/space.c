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

static uint32_t pool_of(const struct pool pool[], uint32_t n, dev_t dev)
{
    uint32_t i = 0;

    while (i < n && pool[i].dev != dev)
        i++;
    return i;
}

/* Where disks are watched, what they last said counts: they were asked by threads that may wait. */
static int ask(const struct disk *disk, struct statvfs *ret_statfs)
{
    if (disk->watch != NULL)
        return watch_last_space(disk->watch, ret_statfs) ? 0 : -EIO;
    return disk_call(disk, statfs, disk->root, ret_statfs);
}

#define NO_POOL UINT32_MAX

/* Of the first n_disks disks. One that is to leave has no room for anything. */
static int find_pools(const struct volume *volume, uint32_t n_disks, struct pool pool[], uint32_t *ret_n,
                      uint32_t ret_pool_of_disk[])
{
    *ret_n = 0;
    for (uint32_t i = 0; i < n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r;

        ret_pool_of_disk[i] = NO_POOL;
        if (!disk_is_present(disk) || !volume_takes(volume, i))
            continue;
        ret_pool_of_disk[i] = pool_of(pool, *ret_n, disk->dev);
        if (ret_pool_of_disk[i] < *ret_n)
            continue;
        pool[*ret_n] = (struct pool){ .dev = disk->dev };
        r = ask(disk, &pool[*ret_n].st);
        if (r < 0)
            return r;
        ++*ret_n;
    }
    return 0;
}

/* What there is to be shared, in so many pools. */
struct pools {
    uint32_t n_disks, n;
    struct pool *pool;
    uint32_t *of_disk; /* NO_POOL: none */
};

static void pools_done(struct pools *pools)
{
    free(pools->pool);
    free(pools->of_disk);
}

static int pools_init(struct pools *pools, const struct volume *volume)
{
    *pools = (struct pools){ .n_disks = volume->n_disks };
    pools->pool = calloc(pools->n_disks, sizeof *pools->pool);
    pools->of_disk = calloc(pools->n_disks, sizeof *pools->of_disk);
    if (pools->pool == NULL || pools->of_disk == NULL)
        return -ENOMEM;
    return find_pools(volume, pools->n_disks, pools->pool, &pools->n, pools->of_disk);
}

/* Of a file that lies so. What stays where it is, when from is not NULL, needs no room. */
static void set_shares(const struct volume *volume, const struct laying *from, const struct laying *to,
                       struct pools *pools)
{
    const struct pattern *pattern = to->layout->pattern;

    for (uint32_t i = 0; i < pools->n; i++)
        pools->pool[i].share = 0;
    for (uint32_t i = 0; i < pattern->n_elements; i++) {
        uint32_t disk = file_layout_disk(to->layout, volume->home, to->rotate, i);
        struct pool *here;

        if (disk >= pools->n_disks || pools->of_disk[disk] == NO_POOL ||
            (from != NULL && laying_same(from, to, volume->home, i) != UINT32_MAX))
            continue;
        here = &pools->pool[pools->of_disk[disk]];
        if (here->share == 0)
            here->disk = disk;
        here->share += (double) pattern->element[i].once->size / (double) pattern->size;
    }
}

/* Bytes that such a file can take, if they are fewer. */
static void note_least(const struct pools *pools, double *avail, uint32_t *limit)
{
    for (uint32_t i = 0; i < pools->n; i++) {
        const struct pool *pool = &pools->pool[i];
        double here = (double) pool->st.f_bavail * (double) pool->st.f_frsize;

        if (pool->share <= 0)
            continue;
        here /= pool->share;
        if (*avail < 0 || here < *avail) {
            *avail = here;
            *limit = pool->disk;
        }
    }
}

/* Of new files with this layout, wherever they start, the one that can take the least. */
int space_of_choice(const struct volume *volume, const struct choice *choice, struct statvfs *ret_statfs,
                    uint32_t *ret_limit)
{
    uint32_t n_starts = choice->rotates ? choice->layout->n_list : 1, limit = UINT32_MAX;
    cleanup(pools_done) struct pools pools;
    double avail = -1;
    struct statvfs st;
    int r = pools_init(&pools, volume);

    if (r == 0)
        r = ask(&volume->disk[volume->home], &st);
    if (r < 0)
        return r;
    *ret_statfs = (struct statvfs){ .f_bsize = UNIT,
                                    .f_frsize = UNIT,
                                    .f_files = st.f_files,
                                    .f_ffree = st.f_ffree,
                                    .f_favail = st.f_favail,
                                    .f_namemax = st.f_namemax };
    for (uint32_t i = 0; i < pools.n; i++) {
        const struct statvfs *here = &pools.pool[i].st;

        ret_statfs->f_blocks += (fsblkcnt_t) ((double) here->f_blocks * (double) here->f_frsize / UNIT);
        ret_statfs->f_bfree += (fsblkcnt_t) ((double) here->f_bfree * (double) here->f_frsize / UNIT);
    }
    for (uint32_t i = 0; i < n_starts; i++) {
        const struct laying laying = { choice->layout, (uint16_t) i };

        set_shares(volume, NULL, &laying, &pools);
        note_least(&pools, &avail, &limit);
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
    r = space_of_choice(fs->volume, &choice, ret_statfs, NULL);
    layouts_put(fs->layouts, choice.layout);
    return r;
}

bool space_has_room(struct fs *fs, const struct laying *from, const struct laying *to, uint64_t bytes)
{
    cleanup(pools_done) struct pools pools;
    uint32_t limit;
    double avail = -1;

    ask_all(fs);
    if (pools_init(&pools, fs->volume) < 0)
        return true;
    set_shares(fs->volume, from, to, &pools);
    note_least(&pools, &avail, &limit);
    return avail < 0 || (double) bytes <= avail;
}

uint64_t space_left(const struct disk *disk)
{
    struct statvfs st;

    return ask(disk, &st) < 0 ? 0 : (uint64_t) st.f_bavail * st.f_frsize;
}
