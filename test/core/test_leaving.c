/* SPDX-License-Identifier: MIT */
/* A disk leaves, and the daemon or the machine is interrupted anywhere meanwhile. Whatever is left of the disk, opening
 * the volume with it says that it has left, or it is still in; without it, once it has left, the volume opens. */
#include "test/core/world.h"

#include "fs/core/disk/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N_DISKS 3
#define LEAVES  1

static struct member member_of(struct sim *sim, unsigned i)
{
    static const char *const path[N_DISKS] = { "/d0", "/d1", "/d2" };
    struct sim_disk *disk = sim_disk(sim, i);

    return (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = path[i] };
}

/* Opens the volume with all disks, or without the one that leaves. */
static int open_volume(struct sim *sim, bool all, enum volume_flags flags, struct volume **ret_volume,
                       struct volume_error *error)
{
    struct member member[N_DISKS];
    unsigned n = 0;
    int r;

    for (unsigned i = 0; i < N_DISKS; i++)
        if (all || i != LEAVES)
            member[n++] = member_of(sim, i);
    r = volume_open(member, n, flags, ret_volume, error);
    for (unsigned i = 0; i < n; i++)
        (void) sim_ops.close(member[i].ctx, member[i].dir);
    return r;
}

/* Makes a volume whose second disk is to leave. */
static struct sim *make(uint64_t seed)
{
    struct sim *sim = sim_new(N_DISKS, seed);
    struct member member[N_DISKS];
    struct volume_error error;
    struct volume *volume;

    random_from_seed(seed);
    for (unsigned i = 0; i < N_DISKS; i++)
        member[i] = member_of(sim, i);
    cr_assert_eq(volume_format(member, N_DISKS, 0, 4, &error), 0, "%s", error.why);
    for (unsigned i = 0; i < N_DISKS; i++)
        (void) sim_ops.close(member[i].ctx, member[i].dir);
    cr_assert_eq(open_volume(sim, true, 0, &volume, &error), 0, "%s", error.why);
    cr_assert_eq(volume_set_leaving(volume, LEAVES, true, &error), 0, "%s", error.why);
    volume_free(volume);
    return sim;
}

/* Lets the disk go, interrupted at that call, or never for 0; returns how many calls it took. */
static uint64_t drop(struct sim *sim, uint64_t at)
{
    struct volume_error error;
    struct volume *volume;
    uint64_t left, before;
    struct member member;

    cr_assert_eq(open_volume(sim, true, 0, &volume, &error), 0, "%s", error.why);
    member = member_of(sim, LEAVES);
    before = sim->calls;
    if (at > 0)
        sim_crash_at(sim, before + at);
    (void) volume_drop_disk(volume, LEAVES, &member, &left, &error);
    before = sim->calls - before;
    (void) sim_ops.close(member.ctx, member.dir);
    volume_free(volume);
    return before;
}

/* Opens the volume. 1: the disk has left, and opening with it says so; 0: it is still in the volume. */
static int look(struct sim *sim, enum volume_flags flags, uint64_t seed, uint64_t at)
{
    cleanup(volume_freep) struct volume *volume = NULL;
    struct volume_error error = { "" };
    int r = open_volume(sim, true, flags, &volume, &error);

    if (r == 0)
        return 0;
    cr_assert(r == -ENODEV && strstr(error.why, "/d1, once d1, has left the volume: leave it out") != NULL,
              RNG_SEED " interrupted at call %" PRIu64 ", flags %d: %s", seed, at, (int) flags, error.why);
    r = open_volume(sim, false, flags, &volume, &error);
    cr_assert_eq(r, 0, RNG_SEED " interrupted at call %" PRIu64 ", without it: %s", seed, at, error.why);
    return 1;
}

static void interrupt(uint64_t seed, uint64_t at, bool is_killed)
{
    cleanup(sim_freep) struct sim *sim = make(seed);
    struct rng rng = rng_from_seed(seed * 1000003 + at);
    bool is_last = drop(sim, at) < at;
    int left;

    if (is_killed)
        sim_kill(sim);
    else
        sim_crash(sim, &rng);
    left = look(sim, VOLUME_READ_ONLY | VOLUME_PEEK, seed, at);
    cr_expect_eq(look(sim, 0, seed, at), left, RNG_SEED " interrupted at call %" PRIu64, seed, at);
    cr_expect(left || !is_last, RNG_SEED ": it did not leave", seed);
}

Test(leaving, a_daemon_killed_anywhere)
{
    cleanup(sim_freep) struct sim *sim = make(1);
    uint64_t n_calls = drop(sim, 0);

    cr_assert_geq(n_calls, 30);
    for (uint64_t at = 1; at <= n_calls + 1; at++)
        interrupt(1, at, true);
}

Test(leaving, power_fails_anywhere)
{
    for (struct rng rng = rng_from_env(12); rng_next(&rng);) {
        cleanup(sim_freep) struct sim *sim = make(rng.seed);
        uint64_t n_calls = drop(sim, 0);

        for (uint64_t at = 1; at <= n_calls + 1; at++)
            interrupt(rng.seed, at, false);
    }
}

/* Lets the disk go, while a name on it goes between the reading of its directory and that call; false: that call looks
 * at no name. */
static bool lose_name(uint64_t at)
{
    cleanup(sim_freep) struct sim *sim = make(1);
    struct volume_error error = { "" };
    struct volume *volume;
    struct member member;
    uint64_t left;
    int r;

    cr_assert_eq(open_volume(sim, true, 0, &volume, &error), 0, "%s", error.why);
    member = member_of(sim, LEAVES);
    sim_fail_calls(sim, &(struct sim_fault){
                            .at = sim->calls + at, .error = ENOENT, .disk = LEAVES, .calls = SIM_MASK(SIM_STAT) });
    r = volume_drop_disk(volume, LEAVES, &member, &left, &error);
    cr_expect_eq(r, 0, "without the name at call %" PRIu64 ": %s", at, error.why);
    (void) sim_ops.close(member.ctx, member.dir);
    volume_free(volume);
    return sim->n_failed > 0;
}

/* Files may be removed while the disk leaves: a subfile that has gone does not keep the disk. */
Test(leaving, names_go_meanwhile)
{
    cleanup(sim_freep) struct sim *sim = make(1);
    uint64_t n_calls = drop(sim, 0);
    unsigned n_met = 0;

    for (uint64_t at = 1; at <= n_calls; at++)
        n_met += lose_name(at);
    cr_expect_geq(n_met, 10);
}
