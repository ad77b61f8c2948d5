/* SPDX-License-Identifier: MIT */
/* fsck of volumes on simulated disks. */
#ifndef FALLSFS_TEST_FSCK_SIM_FSCK_H
#define FALLSFS_TEST_FSCK_SIM_FSCK_H

#include "fs/fsck/check.h"
#include "test/support/simdisk.h"

#define SIM_FSCK_DISKS 4

/* The first thing that was found and should not have been, or was left. */
struct heard {
    char left[512];
};

/* What a check tells to; arg is a struct heard. hear_all notes anything, hear what is left, hear_unsound what is no
 * mere note. */
void hear_all(void *arg, const struct finding *finding);
void hear(void *arg, const struct finding *finding);
void hear_unsound(void *arg, const struct finding *finding);

/* Members that are the first disks of a machine, or those of a list; to be closed. */
void open_members(struct sim *sim, const unsigned *list, unsigned n_disks, struct member ret_member[]);
void close_members(struct member member[], unsigned n_disks);

int open_volume(struct sim *sim, unsigned n_disks, enum volume_flags flags, struct volume **ret_volume);

/* Checks a volume as main.c of fsck.fallsfs does: an open one, which is freed, or the one on the first disks. */
int check_and_close(struct check *check, struct volume *volume);
int run_fsck(struct sim *sim, unsigned n_disks, struct check *check);

/* Everything that is on the first disks, to be freed. */
char *print_all(struct sim *sim, unsigned n_disks);

#endif
