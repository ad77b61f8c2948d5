/* SPDX-License-Identifier: MIT */
#include "test/support/simfs.h"

#include <fcntl.h>

#define FIRST_TIME (INT64_C(1700000000) * 1000000000)
#define CAPACITY   (UINT64_C(1) << 30)
#define XATTR_ROOM 4000 /* about what one block of ext4 holds */

/* -- the machine -- */

static struct sim *lock(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    return sim;
}

static void unlockp(struct sim **sim)
{
    pthread_mutex_unlock(&(*sim)->lock);
}

/* The machine's lock is held until the end of the scope. */
#define LOCKED(machine) cleanup(unlockp) __attribute__((unused)) struct sim *locked = lock(machine)

static struct sim *machine_new(unsigned n_disks)
{
    struct sim *sim = sim_alloc(sizeof *sim);

    *sim = (struct sim){ .n_disks = n_disks };
    sim->disks = sim_alloc(n_disks * sizeof sim->disks[0]);
    pthread_mutex_init(&sim->lock, NULL);
    return sim;
}

struct sim *sim_new(unsigned n_disks, uint64_t seed)
{
    struct sim *sim = machine_new(n_disks);
    struct rng rng = rng_from_seed(seed);

    sim->clock = FIRST_TIME;
    for (unsigned i = 0; i < n_disks; i++) {
        struct sim_disk *disk = &sim->disks[i];

        *disk = (struct sim_disk){
            .sim = sim,
            .index = i,
            .next_ino = SIM_ROOT_INO + 1,
            .n_numbers = 1,
            .capacity = CAPACITY,
            .xattr_room = XATTR_ROOM,
        };
        disk->numbers = sim_alloc(sizeof disk->numbers[0]);
        disk->numbers[0] = 1 | 1 << SIM_ROOT_INO;
        disk->durable = simimage_new(rng_u64(&rng), sim->clock);
        disk->now = simimage_clone(disk->durable);
    }
    return sim;
}

void sim_free(struct sim *sim)
{
    if (sim == NULL)
        return;
    for (unsigned i = 0; i < sim->n_disks; i++)
        simcrash_done(&sim->disks[i]);
    pthread_mutex_destroy(&sim->lock);
    free(sim->disks);
    free(sim->fds);
    free(sim);
}

struct sim *sim_clone(struct sim *sim)
{
    struct sim *clone = machine_new(sim->n_disks);
    LOCKED(sim);

    clone->calls = locked->calls;
    clone->clock = locked->clock;
    for (unsigned i = 0; i < locked->n_disks; i++) {
        clone->disks[i] = locked->disks[i];
        clone->disks[i].sim = clone;
        simcrash_clone(&clone->disks[i], &locked->disks[i]);
    }
    return clone;
}

struct sim_disk *sim_disk(struct sim *sim, unsigned i)
{
    return &sim->disks[i];
}

int sim_root(struct sim_disk *disk)
{
    LOCKED(disk->sim);

    return disk->absent ? -ENOENT : simpath_open(disk, SIM_ROOT_INO, O_RDONLY | O_DIRECTORY);
}

unsigned sim_n_open(struct sim *sim)
{
    LOCKED(sim);

    return simpath_n_open(locked);
}

static void restart(struct sim *sim)
{
    simpath_close_all(sim);
    simcall_resume();
    sim->down = false;
    sim->crash_at = 0;
}

void sim_crash(struct sim *sim, struct rng *rng)
{
    LOCKED(sim);

    restart(locked);
    for (unsigned i = 0; i < locked->n_disks; i++)
        simcrash_restart(&locked->disks[i], rng);
    if (locked->trace != NULL)
        fprintf(locked->trace, "%6" PRIu64 " -- crash --\n", locked->calls);
}

void sim_kill(struct sim *sim)
{
    LOCKED(sim);

    restart(locked);
    for (unsigned i = 0; i < locked->n_disks; i++)
        simcall_free_orphans(&locked->disks[i]);
    if (locked->trace != NULL)
        fprintf(locked->trace, "%6" PRIu64 " -- kill --\n", locked->calls);
}

void sim_crash_at(struct sim *sim, uint64_t n)
{
    LOCKED(sim);

    locked->crash_at = n;
}

/* -- faults -- */

uint32_t sim_failable(int error)
{
    const uint32_t adds = SIM_MASK(SIM_CREATE) | SIM_MASK(SIM_PWRITEV) | SIM_MASK(SIM_ALLOCATE) | SIM_MASK(SIM_SYNC) |
                          SIM_MASK(SIM_LINK) | SIM_MASK(SIM_RENAME) | SIM_MASK(SIM_MKDIR) | SIM_MASK(SIM_SYMLINK) |
                          SIM_MASK(SIM_MKNOD) | SIM_MASK(SIM_SET_XATTR);
    const uint32_t changes = adds | SIM_MASK(SIM_TRUNCATE) | SIM_MASK(SIM_UNLINK) | SIM_MASK(SIM_CHMOD) |
                             SIM_MASK(SIM_CHOWN) | SIM_MASK(SIM_SET_TIMES) | SIM_MASK(SIM_REMOVE_XATTR);
    const uint32_t all = (UINT32_C(1) << SIM_N_CALLS) - 1;

    switch (error) {
    case 0:
        return SIM_MASK(SIM_PREADV) | SIM_MASK(SIM_PWRITEV);
    case ENOSPC:
    case EDQUOT:
        return adds;
    case EROFS:
        return changes & ~SIM_MASK(SIM_SYNC);
    case EMFILE:
    case ENFILE:
        return SIM_MASK(SIM_OPEN) | SIM_MASK(SIM_CREATE);
    default:
        return all;
    }
}

void sim_fail_calls(struct sim *sim, const struct sim_fault *fault)
{
    LOCKED(sim);

    if (locked->n_faults == SIM_MAX_FAULTS)
        abort();
    locked->faults[locked->n_faults++] = *fault;
}

void sim_fail(struct sim *sim, uint64_t n, int error, bool persistent, int disk)
{
    sim_fail_calls(sim,
                   &(struct sim_fault){
                       .at = n, .error = error, .persistent = persistent, .disk = disk, .calls = sim_failable(error) });
}

void sim_heal(struct sim *sim)
{
    LOCKED(sim);

    locked->n_faults = 0;
}

void sim_disk_absent(struct sim_disk *disk, bool absent)
{
    LOCKED(disk->sim);

    disk->absent = absent;
}

void sim_disk_read_only(struct sim_disk *disk, bool read_only)
{
    LOCKED(disk->sim);

    disk->read_only = read_only;
}

void sim_disk_capacity(struct sim_disk *disk, uint64_t bytes)
{
    LOCKED(disk->sim);

    disk->capacity = bytes;
}

void sim_disk_leave_free(struct sim_disk *disk, uint64_t bytes)
{
    uint64_t whole;
    LOCKED(disk->sim);

    whole = disk->capacity + disk->taken;
    disk->capacity = MIN(whole, disk->now->used + bytes);
    disk->taken = whole - disk->capacity;
}

void sim_disk_xattr_room(struct sim_disk *disk, uint64_t bytes)
{
    LOCKED(disk->sim);

    disk->xattr_room = bytes;
}

void sim_disk_lacks(struct sim_disk *disk, unsigned lacks)
{
    LOCKED(disk->sim);

    disk->lacks = lacks;
}

uint64_t sim_disk_used(struct sim_disk *disk)
{
    LOCKED(disk->sim);

    return disk->now->used;
}

void sim_sleep(struct sim *sim, uint64_t seconds)
{
    LOCKED(sim);

    locked->clock += (int64_t) seconds * 1000000000;
}

void sim_trace(struct sim *sim, FILE *out)
{
    LOCKED(sim);

    locked->trace = out;
}
