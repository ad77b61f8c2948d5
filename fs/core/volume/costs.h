/* SPDX-License-Identifier: MIT */
/* What requests cost a disk, as somebody has measured it; kept with the disk, .fallsfs/costs, beside its stamp:
 *
 *     format = 1;
 *     disk = "244264...";  measured = "1795153200";  direct = true;  spread = 4;
 *     read = { call = "92000"; seek = "7900000"; rate = "140000000"; };
 *     write = { ... };
 *     chunks = ( { bytes = 4096; read = "..."; read_apart = "..."; write = "..."; write_apart = "..."; }, ... );
 *     checksum = "...";
 *
 * It is advice, and no part of the volume: nothing is lost with it, and a fallsfs that does not know it leaves it
 * alone. */
#ifndef FALLSFS_FS_CORE_VOLUME_COSTS_H
#define FALLSFS_FS_CORE_VOLUME_COSTS_H

#include "fs/core/disk/disk.h"

#define COSTS_NAME       "costs"
#define COSTS_SCRATCH    "scratch" /* the file that is measured with; where files can, it has no name */
#define COSTS_MAX_CHUNKS 32
#define COSTS_MAX_NS     UINT64_C(1000000000000) /* of a call or a seek: no disk is that slow */

/* Of one direction. A request takes call, and its bytes at the rate, and a seek unless it follows the one before. */
struct costs_of {
    uint64_t call, seek; /* ns */
    uint64_t rate;       /* bytes a second, not 0 */
};

/* Bytes a second, when the disk is asked for chunks of so many bytes, each of which follows the one before, or lies
 * apart from it. */
struct costs_chunk {
    uint32_t bytes;
    uint64_t read, read_apart, write, write_apart;
};

struct costs {
    uint8_t disk[DISK_UUID_SIZE]; /* the one that was measured */
    uint64_t measured;            /* when: seconds since 1970 */
    bool direct;                  /* past the system's cache; else that was emptied before each reading */
    uint32_t spread;              /* percent: how far like requests lay apart, which others' use makes them do */
    struct costs_of read, write;
    uint32_t n_chunks;
    struct costs_chunk chunk[COSTS_MAX_CHUNKS];
};

/* Reads and prints the text. -EUCLEAN: costs_print did not write it; -EPROTONOSUPPORT: it is of a later format. */
int costs_parse(const char *text, size_t len, struct costs *ret_costs);
int costs_print(const struct costs *costs, char **ret_text);

/* Reads and writes the costs of a disk whose .fallsfs is open. -ENOENT: there are none; -EXDEV: they were measured on
 * another disk, of which somebody has made this one. Writing replaces them at once. */
int costs_read(const struct disk *disk, const uint8_t uuid[DISK_UUID_SIZE], struct costs *ret_costs);
int costs_write(const struct disk *disk, const struct costs *costs);

/* Has the choice between disks go by these costs of a disk from now on. */
void costs_learn(struct disk *disk, const struct costs *costs);

#endif
