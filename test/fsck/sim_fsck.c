/* SPDX-License-Identifier: MIT */
#include "test/fsck/sim_fsck.h"

#include <stdio.h>

void hear_all(void *arg, const struct finding *finding)
{
    struct heard *heard = arg;

    if (heard->left[0] == 0)
        snprintf(heard->left, sizeof heard->left, "%s (%s): %s", finding->kind,
                 finding->path != NULL     ? finding->path
                 : finding->object != NULL ? finding->object
                                           : "",
                 finding->what);
}

void hear(void *arg, const struct finding *finding)
{
    if (finding->fate == FINDING_LEFT)
        hear_all(arg, finding);
}

void hear_unsound(void *arg, const struct finding *finding)
{
    if (finding->fate != FINDING_NOTE)
        hear_all(arg, finding);
}

void open_members(struct sim *sim, const unsigned *list, unsigned n_disks, struct member ret_member[])
{
    static const char *const path[] = { "d0", "d1", "d2", "d3", "d4", "d5" };

    for (unsigned i = 0; i < n_disks; i++) {
        unsigned index = list != NULL ? list[i] : i;
        struct sim_disk *disk = sim_disk(sim, index);

        ret_member[i] = (struct member){ .ops = &sim_ops, .ctx = disk, .dir = sim_root(disk), .path = path[index] };
    }
}

void close_members(struct member member[], unsigned n_disks)
{
    for (unsigned i = 0; i < n_disks; i++)
        if (member[i].dir >= 0)
            (void) sim_ops.close(member[i].ctx, member[i].dir);
}

int open_volume(struct sim *sim, unsigned n_disks, enum volume_flags flags, struct volume **ret_volume)
{
    struct member member[SIM_FSCK_DISKS] = { 0 };
    struct volume_error error;
    int r;

    open_members(sim, NULL, n_disks, member);
    r = volume_open(member, n_disks, flags, ret_volume, &error);
    close_members(member, n_disks);
    return r;
}

int check_and_close(struct check *check, struct volume *volume)
{
    int r = check_volume(check, volume);

    if (r == 0 && check->repair)
        r = volume_sync(volume);
    if (r == 0)
        r = volume_end_epoch(volume);
    volume_free(volume);
    return r;
}

int run_fsck(struct sim *sim, unsigned n_disks, struct check *check)
{
    struct volume *volume;
    int r = open_volume(sim, n_disks, check->repair ? 0 : VOLUME_READ_ONLY, &volume);

    return r < 0 ? r : check_and_close(check, volume);
}

char *print_all(struct sim *sim, unsigned n_disks)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (unsigned i = 0; i < n_disks; i++)
        sim_print(sim_disk(sim, i), out);
    fclose(out);
    return text;
}
