/* SPDX-License-Identifier: MIT */
/* A file system on simulated disks beside a model of what it may hold: random programs run on both, the machine crashes
 * or its daemon is killed anywhere, and what comes back must be something the model allows.
 *
 *     program ──> fs/core on sim disks ──> crash at call n ──> mount again ──> read all
 *        └──────> model: names in a row of states; for each byte and size, what it may be ──┘
 *
 * The model is of the invariants: synced bytes are there exactly (I1); any other byte is one that was written there or
 * zero (I2); names are those of one moment, not before the last one synced (I4); a size is one the file had (I6). When
 * part of a file is taken away, what was durable once is an error (I3). */
#ifndef FALLSFS_TEST_CORE_WORLD_H
#define FALLSFS_TEST_CORE_WORLD_H

#include "fs/core/change/jobs.h"
#include "fs/core/fs.h"
#include "test/support/rng.h"
#include "test/support/simdisk.h"

#define WORLD_SPAN   1800 /* bytes of the longest file */
#define WORLD_NAMES  6    /* a b c, and the same in the directory d */
#define WORLD_FILES  64   /* files made in one program, at most */
#define WORLD_STATES 64   /* states of names since the last durable one, at most */
#define WORLD_VALUES 32   /* values that bytes have; 0 is a hole's */

struct world_file {
    uint64_t ino;
    uint64_t size;
    uint8_t now[WORLD_SPAN];
    uint32_t may[WORLD_SPAN]; /* a bit for each value a byte may have after a crash */
    bool may_size[WORLD_SPAN + 1];
    uint64_t kept_size;    /* durable once, and nobody has cut the file shorter since */
    bool kept[WORLD_SPAN]; /* bytes that were durable once, and that nobody has cut off or punched out since */
    bool unseen;           /* nobody has used it since a mount ended badly: no record tells what it has */
    struct inode *inode;   /* while the model has it open */
    struct file *file;
    bool open;
};

/* How a world is made: a row in a test's list of them. */
struct world_shape {
    unsigned n_disks;
    const char *layout;
    unsigned home_lacks; /* enum sim_lack */
};

/* Which file each name leads to; -1: none. */
struct world_names {
    int file[WORLD_NAMES];
};

struct world {
    struct sim *sim;
    unsigned n_disks;
    const char *layout;
    uint64_t reserve; /* the option of mounts */
    struct fs *fs;
    struct inode *dir;
    struct world_file *file;
    int n_files;
    struct world_names state[WORLD_STATES]; /* states that may come back; the current one is the last */
    int n_states;
    unsigned next_value, n_links;
    bool migrates;      /* files are given other layouts meanwhile */
    bool replicates;    /* and replicas */
    bool copies;        /* all that the program lays out has copies 2 */
    bool changes_disks; /* and disks join the volume, and leave it */
    bool in[8];         /* for each disk: it is in the volume */
    int unsure;         /* a disk that may be in it or not; -1: none */
    bool faulty;        /* errors are expected */
    int only_error;     /* the only error expected; 0: any */
    char why[512];      /* the first thing that was wrong; empty: nothing */
    char program[4096]; /* what was done, a line each */
};

#define WORLD_SPARE 2 /* disks of the machine that are not formatted with the others */

extern const struct job_asker world_asker; /* of jobs: root, who may have as many as he likes */

/* Formats the disks of a fresh machine; home_lacks: what its home disk cannot do, of enum sim_lack. */
int world_init(struct world *world, unsigned n_disks, const char *layout, unsigned home_lacks, uint64_t seed);
void world_done(struct world *world);

int world_mount(struct world *world);

/* Ends a mount well: everything is durable then. */
void world_unmount(struct world *world);

/* Stops using a machine that is down; then sim_crash or sim_kill, and world_mount. */
void world_abandon(struct world *world);

/* What happens besides what programs ask for. */
enum world_kind {
    PLAIN,      /* nothing */
    MIGRATIONS, /* files are given other layouts meanwhile */
    DISKS,      /* and disks join the volume, and leave it */
    REPLICAS,   /* files get other layouts and replicas, which come and go */
};

static inline void world_set_kind(struct world *world, enum world_kind kind)
{
    world->migrates = kind != PLAIN;
    world->changes_disks = kind == DISKS;
    world->replicates = kind == REPLICAS;
}

/* Runs random programs in n_mounts mounts, each of which ends well, or is killed, or loses power. Afterwards the
 * machine is up, and the volume is not mounted. */
void world_live(struct world *world, struct rng *rng, unsigned n_mounts);

/* A part of a file that was taken away. */
struct world_lost {
    int name;            /* of the file: an index of world_name */
    unsigned disk;       /* where the subfile was */
    char subfile[64];    /* its name */
    uint64_t len;        /* bytes left of it; 0: nothing, not even the name */
    uint64_t n_promised; /* bytes of the file that were durable once and were in it, when they were last read */
};

/* Removes or cuts a subfile of some file, of a volume that is not mounted; false: there is none. */
bool world_lose(struct world *world, struct rng *rng, struct world_lost *ret_lost);

/* Takes a disk from a volume that is mounted, on which all files have copies 2: it fails, or has lost all subfiles.
 * What was durable once must be there. */
void world_lose_disk(struct world *world, struct rng *rng);

/* Checks that reading gives an error for each lost byte that was durable once, and that all other bytes can be read. */
void world_check_lost(struct world *world, struct world_lost *lost);

/* Does one random operation. */
void world_step(struct world *world, struct rng *rng);

/* Checks that every byte and size is what the model has now. */
void world_check_same(struct world *world);

/* Runs jobs until all migrations that can end have ended. */
void world_finish_jobs(struct world *world);

/* Checks that names, sizes and bytes are such as the model allows; afterwards the model is what was found. */
void world_check(struct world *world);

#endif
