/* SPDX-License-Identifier: MIT */
#include "test/core/churn.h"

#include "fs/core/change/jobs.h"
#include "fs/core/change/refill.h"
#include "fs/core/file/file_replicas.h"
#include "fs/core/fs.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define SPAN 300000 /* bytes that replicas of a part of the file lie within */

static void must(int r, const char *what)
{
    if (r == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(-r));
    abort();
}

/* Adds the layout to those of the volume. */
static struct file_layout *layout_of(const struct churn *churn, const char *text, bool *ret_rotates)
{
    struct layout_error error = { 0 };
    struct file_layout *layout;
    int r = layouts_add(churn->fs->layouts, text, &layout, ret_rotates, &error);

    must(r, text);
    return layout;
}

/* -- replicas -- */

static void add(struct churn *churn, struct file *file, struct rng *rng)
{
    static const char *const text[] = { "one",
                                        "stripe(4K)",
                                        "stripe(64) disp 10",
                                        "stripe(1000,3)",
                                        "array(shape=64x64, elem=8, dist=(*,block), grid=1x3)",
                                        "stripe(64K) on d0" };
    struct replica_asked asked = { .hi = UINT64_MAX, .updates = rng_chance(rng, 50) };
    uint32_t number;
    bool rotates;
    int r;

    if (rng_chance(rng, 30)) {
        asked.lo = rng_below(rng, SPAN);
        asked.hi = asked.lo + 1 + rng_below(rng, SPAN);
    }
    asked.rotate = (uint16_t) rng_below(rng, 3);
    asked.layout = layout_of(churn, text[rng_below(rng, ARRAY_SIZE(text))], &rotates);
    r = file_add_replica(churn->fs, file, &asked, &number);
    layouts_put(churn->fs->layouts, asked.layout);
    churn->n_added += r == 0;
    must(r == -EUSERS || r == -EBUSY ? 0 : r, "a replica is added");
}

static void drop(const struct churn *churn, struct file *file, struct rng *rng)
{
    struct replica_view view[REPLICAS_MAX];
    uint32_t n = file_view_replicas(churn->fs, file, view), number = 0;
    int r = 0;

    if (n > 0)
        number = view[rng_below(rng, n)].number;
    for (uint32_t i = 0; i < n; i++)
        replica_view_done(churn->fs, &view[i]);
    if (n > 0)
        r = file_drop_replica(churn->fs, file, number);
    must(r == -EPERM || r == -ENOENT ? 0 : r, "a replica is dropped");
}

/* Who waits a little leaves others the locks: they are not fair. */
static void rest(struct rng *rng)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long) rng_below(rng, 3000000) }, NULL);
}

static void *come_and_go(void *arg)
{
    struct churn *churn = arg;
    struct rng rng = rng_from_seed(churn->seed + 1);

    while (!churn->stop) {
        struct file *file;

        must(file_get(churn->fs, churn->inode, &file), "the file is used");
        if (rng_chance(&rng, 60))
            add(churn, file, &rng);
        else
            drop(churn, file, &rng);
        file_put(churn->fs, file);
        rest(&rng);
    }
    return NULL;
}

static void *fill(void *arg)
{
    struct churn *churn = arg;
    struct rng rng = rng_from_seed(churn->seed + 2);

    while (!churn->stop)
        if (!refills_step(churn->fs->refills))
            rest(&rng);
    return NULL;
}

/* -- layouts -- */

static void *migrate(void *arg)
{
    static const char *const text[] = { "stripe(4K)", "stripe(4K) copies 2", "one copies 2", "stripe(1000,3) copies 2",
                                        "stripe(64) disp 100" };
    static const struct job_asker asker = { 0, UINT64_MAX };
    struct churn *churn = arg;
    struct rng rng = rng_from_seed(churn->seed + 3);

    while (!churn->stop) {
        bool rotates;
        struct file_layout *layout = layout_of(churn, text[rng_below(&rng, ARRAY_SIZE(text))], &rotates);
        uint64_t number;
        int r = jobs_add(churn->fs->jobs, churn->inode, layout, job_start(rotates), 0, &asker, &number);

        layouts_put(churn->fs->layouts, layout);
        churn->n_migrated += r == 0;
        must(r == -EBUSY || r == 1 ? 0 : r, "a job begins");
        for (uint64_t steps = rng_below(&rng, 30); steps > 0 && jobs_step(churn->fs->jobs); steps--)
            ;
        if (r == 0 && rng_chance(&rng, 10))
            (void) jobs_order(churn->fs->jobs, number, JOB_CANCEL);
        rest(&rng);
    }
    while (jobs_step(churn->fs->jobs))
        ;
    return NULL;
}

/* -- life -- */

static void begin(struct churn *churn, void *(*work)(void *) )
{
    must(-pthread_create(&churn->thread[churn->n++], NULL, work, churn), "a thread");
}

void churn_start(struct churn *churn, struct fs *fs, struct inode *inode, uint64_t seed, bool migrates)
{
    struct volume_error error = { "" };

    must(volume_begin_replicas(fs->volume, &error), "replicas");
    *churn = (struct churn){ .fs = fs, .inode = inode, .seed = seed, .migrates = migrates };
    begin(churn, come_and_go);
    begin(churn, fill);
    if (migrates)
        begin(churn, migrate);
}

void churn_stop(struct churn *churn)
{
    churn->stop = true;
    for (unsigned i = 0; i < churn->n; i++)
        pthread_join(churn->thread[i], NULL);
    while (refills_step(churn->fs->refills))
        ;
}
