/* SPDX-License-Identifier: MIT */
/* What was measured of a disk, as the daemon and fallsctl both tell it. */
#ifndef FALLSFS_FS_JSON_COSTS_JSON_H
#define FALLSFS_FS_JSON_COSTS_JSON_H

#include "fs/core/volume/costs.h"
#include "fs/json/json.h"

/* Writes the costs as members of the object that is open. */
void costs_json(struct json *json, const struct costs *costs);

#endif
