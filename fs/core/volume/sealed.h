/* SPDX-License-Identifier: MIT */
/* Small texts on disks that people can read, in the notation of libconfig, and that end with a checksum of themselves:
 *
 *     format = 2;
 *     ...
 *     checksum = "8c0f...";
 *
 * What does not end so is damaged, and nobody parses it. Of any later format the first line and the last are the same:
 * so a text that a newer fallsfs wrote is told from one that is damaged. */
#ifndef FALLSFS_FS_CORE_VOLUME_SEALED_H
#define FALLSFS_FS_CORE_VOLUME_SEALED_H

#include "fs/core/disk/disk.h"

#include <stdio.h>

struct config_setting_t; /* libconfig's */

/* What such a text says: how it is printed, all but its end, and read again. */
struct sealed_kind {
    uint32_t format; /* the newest */
    void (*print)(FILE *out, const void *what);
    int (*read)(const struct config_setting_t *in, void *ret_what);
};

/* Prints a text with its end. -ENOMEM. */
int sealed_print(const struct sealed_kind *kind, const void *what, char **ret_text);

/* Reads a text into what; what a failed reading has put there is the caller's, too. -EUCLEAN: it is not whole, or not
 * what sealed_print would have written; -EPROTONOSUPPORT: it is whole, and of a later format; -ENOMEM. */
int sealed_parse(const struct sealed_kind *kind, const char *text, size_t len, void *what);

/* Setting by setting; what is looked up and not there, or something else, is false. A number that may be large is a
 * string: libconfig's have 32 bits. */
void sealed_print_id(FILE *out, const char *key, const uint8_t id[DISK_UUID_SIZE]);
bool sealed_id(const struct config_setting_t *in, const char *key, uint8_t ret[DISK_UUID_SIZE]);
bool sealed_number(const struct config_setting_t *in, const char *key, uint64_t *ret);
bool sealed_small(const struct config_setting_t *in, const char *key, uint32_t *ret);

#endif
