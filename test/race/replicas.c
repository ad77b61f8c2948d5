/* SPDX-License-Identifier: MIT */
/* Threads that do everything to one file, whose replicas come and go and whose layout changes meanwhile:
 *
 *     bytes of the file     [ of writer 0 ][ of writer 1 ][ of writer 2 ][ of all ][ of who cuts and appends ...
 *
 * What a region has that one thread alone writes, this thread knows at every moment; when all have ended, replicas are
 * compared with the file. ThreadSanitizer watches, where the program is built with it. The rounds of one program begin
 * with what the one before has left. */
#include "test/core/local.h"

#include "fs/core/file/plan.h"
#include "fs/core/fs.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>

#define N_WRITERS 3
#define REGION    (UINT64_C(48) << 10) /* bytes of each */
#define SHARED    (N_WRITERS * REGION)
#define TAIL      (SHARED + REGION)
#define TAIL_MAX  (REGION / 2 * 3)
#define LONG      (UINT64_C(20) << 20) /* more than the smallest windows reach */

struct region {
    struct local *local;
    uint64_t steps;
    struct rng rng;
    uint64_t begin;
    uint64_t size;           /* bytes that the thread knows of; what lies behind them is behind the end of the file */
    uint8_t bytes[TAIL_MAX]; /* zero from size on */
    pthread_t thread;
};

struct everything {
    struct local local;
    struct region region[N_WRITERS + 1]; /* the last one cuts and appends */
    struct churn churn;
    atomic_bool stop;
    pthread_t other[3];
    uint64_t seed;
};

static void must(bool good, const char *what, int64_t r)
{
    if (good)
        return;
    fprintf(stderr, "%s: %" PRId64 "%s%s\n", what, r, r < 0 ? ", " : "", r < 0 ? strerror((int) -r) : "");
    exit(1);
}

/* -- bytes that one thread writes -- */

/* Large ones, and more often small ones. */
static uint64_t some_len(struct rng *rng, uint64_t most)
{
    return 1 + rng_below(rng, rng_chance(rng, 70) ? MIN(most, 300) : most);
}

/* Bytes [off, off + len) of the region have changed. */
static void note(struct region *region, uint64_t off, const uint8_t *bytes, uint64_t len)
{
    memcpy(region->bytes + off, bytes, len);
    region->size = MAX(region->size, off + len);
}

static void write_some(struct region *region, uint64_t off, uint64_t len)
{
    uint8_t bytes[TAIL_MAX];
    ssize_t n;

    memset(bytes, (int) rng_between(&region->rng, 1, 255), len);
    n = file_write(region->local->fs, region->local->file, bytes, len, region->begin + off);
    must(n == (ssize_t) len, "write", n);
    note(region, off, bytes, len);
}

/* All of one subfile between two bytes of the region, if it is one piece there. */
static void write_share(struct region *region, uint64_t off, uint64_t len)
{
    cleanup(plan_done) struct plan plan = { 0 };
    struct local *local = region->local;
    struct record record;
    struct file_layout *layout = file_look(local->fs, local->file, &record);
    uint8_t bytes[TAIL_MAX];
    ssize_t n = -EAGAIN;

    memcpy(bytes, region->bytes + off, len);
    must(plan_init(&plan, layout, region->begin + off, len, bytes) == 0, "plan", 0);
    if (!plan.packed && plan.n_shares > 0 && plan.share[0].n_iov == 1) {
        const struct share *share = &plan.share[0];

        memset(share->iov[0].iov_base, (int) rng_between(&region->rng, 1, 255), share->len);
        n = file_write_subfile(local->fs, local->file, layout, share->slot, share->iov[0].iov_base, share->len,
                               share->sub_off);
        must(n == (ssize_t) share->len || n == -EAGAIN, "write to a subfile", n);
    }
    if (n > 0)
        memcpy(region->bytes + off, bytes, len);
    layouts_put(local->fs->layouts, layout);
}

static void read_some(struct region *region, uint64_t off, uint64_t len)
{
    struct local *local = region->local;
    bool is_section = rng_chance(&region->rng, 40);
    uint64_t want = off < region->size ? MIN(len, region->size - off) : 0;
    uint8_t found[TAIL_MAX];
    ssize_t n = is_section ? file_read_only(local->fs, local->file, found, len, region->begin + off, NULL)
                           : file_read(local->fs, local->file, found, len, region->begin + off);

    must(n >= (ssize_t) want, "read", n);
    for (uint64_t i = 0; i < want; i++)
        if (found[i] != region->bytes[off + i]) {
            fprintf(stderr, "byte %" PRIu64 " is read as %u, not %u%s\n", region->begin + off + i, found[i],
                    region->bytes[off + i], is_section ? ", for a section" : "");
            exit(1);
        }
}

static void allocate(struct region *region, uint64_t off, uint64_t len)
{
    int mode = rng_chance(&region->rng, 70) ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : FALLOC_FL_ZERO_RANGE;
    int r;

    len = MIN(len, region->size - MIN(region->size, off)); /* within the file */
    if (len == 0)
        return;
    r = file_allocate(region->local->fs, region->local->file, mode, region->begin + off, len);
    must(r == 0, "fallocate", r);
    memset(region->bytes + off, 0, len);
}

static void sync_file(struct region *region)
{
    struct local *local = region->local;
    int r = rng_chance(&region->rng, 70) ? file_sync(local->fs, local->file, rng_chance(&region->rng, 50))
                                         : file_settle(local->fs, local->file);

    must(r == 0, "sync", r);
}

static void *write_region(void *arg)
{
    struct region *region = arg;

    for (uint64_t step = 0; step < region->steps; step++) {
        uint64_t off = rng_below(&region->rng, REGION), len = some_len(&region->rng, REGION - off);

        switch (rng_below(&region->rng, 10)) {
        case 0:
        case 1:
        case 2:
            write_some(region, off, len);
            break;
        case 3:
            write_share(region, off, len);
            break;
        case 4:
            allocate(region, off, len);
            break;
        case 5:
            sync_file(region);
            break;
        default:
            read_some(region, off, len);
            break;
        }
    }
    return NULL;
}

/* -- the end of the file -- */

static void cut(struct region *region)
{
    uint64_t size = rng_below(&region->rng, TAIL_MAX);
    int r = 0;

    if (rng_chance(&region->rng, 3)) /* windows become larger */
        r = file_truncate(region->local->fs, region->local->file,
                          region->begin + rng_between(&region->rng, size, LONG));
    if (r == 0)
        r = file_truncate(region->local->fs, region->local->file, region->begin + size);

    must(r == 0, "truncate", r);
    if (size < region->size)
        memset(region->bytes + size, 0, region->size - size);
    region->size = size;
}

static void *cut_and_append(void *arg)
{
    struct region *region = arg;

    for (uint64_t step = 0; step < region->steps; step++) {
        uint64_t off = rng_below(&region->rng, TAIL_MAX), len = some_len(&region->rng, TAIL_MAX - off);

        switch (rng_below(&region->rng, 10)) {
        case 0:
        case 1:
            cut(region);
            break;
        case 2:
        case 3:
        case 4:
            if (region->size < TAIL_MAX)
                write_some(region, region->size, some_len(&region->rng, TAIL_MAX - region->size));
            break;
        case 5:
            write_some(region, off, len);
            break;
        case 6:
            allocate(region, off, len);
            break;
        case 7:
            sync_file(region);
            break;
        default:
            read_some(region, off, len);
            must(file_size(region->local->file) == region->begin + region->size, "size",
                 (int64_t) file_size(region->local->file));
            break;
        }
    }
    return NULL;
}

/* -- what nobody knows -- */

/* Others, who write to the same bytes, and look at what is nobody's business. */
static void *do_anything(void *arg)
{
    struct everything *all = arg;
    static atomic_uint number;
    struct rng rng = rng_from_seed(all->seed * 8 + 100 + number++);
    struct fs *fs = all->local.fs;
    struct file *file = all->local.file;
    static _Thread_local uint8_t bytes[TAIL + TAIL_MAX];

    while (!all->stop) {
        uint64_t off = rng_below(&rng, REGION), len = some_len(&rng, REGION - off);
        static const char *const what[] = { "write", "punch", "read by all", "section", "sync replicas", "flush" };
        unsigned which = (unsigned) rng_below(&rng, ARRAY_SIZE(what));
        ssize_t n = 0;

        switch (which) {
        case 0:
            memset(bytes, (int) rng_below(&rng, 256), len);
            n = file_write(fs, file, bytes, len, SHARED + off);
            break;
        case 1:
            n = file_allocate(fs, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, SHARED + off, len);
            break;
        case 2:
            n = file_read(fs, file, bytes, sizeof bytes, 0);
            break;
        case 3:
            n = file_read_only(fs, file, bytes, len, rng_below(&rng, TAIL), NULL);
            break;
        case 4:
            n = file_sync_replicas(fs, file);
            break;
        default:
            (void) file_blocks(file);
            n = rng_chance(&rng, 50) ? file_flush(fs, file) : 0;
            break;
        }
        must(n >= 0, what[which], n);
    }
    return NULL;
}

/* -- rounds -- */

static void compare(struct everything *all)
{
    for (unsigned i = 0; i <= N_WRITERS; i++)
        read_some(&all->region[i], 0, i < N_WRITERS ? REGION : TAIL_MAX);
    local_check(&all->local);
}

static void begin(pthread_t *thread, void *(*work)(void *), void *arg)
{
    must(pthread_create(thread, NULL, work, arg) == 0, "a thread", 0);
}

static void play(struct everything *all)
{
    all->stop = false;
    churn_start(&all->churn, all->local.fs, all->local.inode, all->seed * 8, true);
    for (unsigned i = 0; i <= N_WRITERS; i++) {
        all->region[i].rng = rng_from_seed(all->seed * 8 + 10 + i);
        begin(&all->region[i].thread, i < N_WRITERS ? write_region : cut_and_append, &all->region[i]);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(all->other); i++)
        begin(&all->other[i], do_anything, all);
    for (unsigned i = 0; i <= N_WRITERS; i++)
        pthread_join(all->region[i].thread, NULL);
    all->stop = true;
    for (unsigned i = 0; i < ARRAY_SIZE(all->other); i++)
        pthread_join(all->other[i], NULL);
    churn_stop(&all->churn);
    compare(all);
}

/* Once the file is nothing, it is another generation, and so are its replicas. */
static void empty(struct everything *all)
{
    int r = file_truncate(all->local.fs, all->local.file, 0);

    if (r == 0)
        r = file_truncate(all->local.fs, all->local.file, TAIL);
    must(r == 0, "truncate", r);
    for (unsigned i = 0; i <= N_WRITERS; i++) {
        memset(all->region[i].bytes, 0, sizeof all->region[i].bytes);
        all->region[i].size = i < N_WRITERS ? REGION : 0;
    }
}

/* Disks that are quick, so that threads meet. */
static int no_sync(void *ctx, int fd, enum disk_sync how)
{
    (void) ctx, (void) fd, (void) how;
    return 0;
}

static void be_quick(struct volume *volume)
{
    static struct disk_ops ops;

    ops = disk_local_ops;
    ops.sync = no_sync;
    for (uint32_t i = 0; i < volume->n_disks; i++)
        volume->disk[i].ops = &ops;
}

int main(void)
{
    const uint64_t steps = getenv("FALLSFS_FULL") != NULL ? 20000 : 1000;
    static struct everything all;

    local_init(&all.local, 3, "stripe(4K)");
    be_quick(all.local.fs->volume);
    for (unsigned i = 0; i <= N_WRITERS; i++)
        all.region[i] =
            (struct region){ .local = &all.local, .steps = steps, .begin = i < N_WRITERS ? i * REGION : TAIL };
    empty(&all);
    for (struct rng rng = rng_from_env(4); rng_next(&rng);) {
        all.seed = rng.seed;
        fprintf(stderr, "begins with " RNG_SEED ": ", rng.seed);
        play(&all);
        fprintf(stderr, "%" PRIu64 " steps of each, %u replicas, %u layouts\n", steps, all.churn.n_added,
                all.churn.n_migrated);
        must(all.churn.n_added > 0 && all.churn.n_migrated > 0, "nothing has come", 0);
        if (rng_chance(&rng, 50))
            empty(&all);
    }
    local_done(&all.local);
    return 0;
}
