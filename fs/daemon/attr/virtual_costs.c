/* SPDX-License-Identifier: MIT */
/* .falls/costs.json: what 'fallsctl calibrate' has kept with the disks. It is read of them anew each time, and told to
 * everybody: who asks which layout is best may not look at the disks himself. */
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/json/costs_json.h"

#include <string.h>

/* Reads the costs of a disk; NULL: they are there, else why there are none. A disk that does not answer just now is not
 * waited for. */
static const char *read_costs(struct disk *disk, struct costs *costs)
{
    int r;

    if (!disk_is_present(disk))
        return "the disk is absent";
    if (disk->watch != NULL && !watch_is_prompt(disk->watch))
        return "the disk does not answer";
    r = costs_read(disk, disk->uuid, costs);
    if (r == 0)
        costs_learn(disk, costs); /* somebody has just measured it, mostly */
    switch (-r) {
    case 0:
        return NULL;
    case ENOENT:
        return "it has not been calibrated";
    case EUCLEAN:
        return "what was measured is damaged";
    case EXDEV:
        return "what was measured is of another disk";
    case EPROTONOSUPPORT:
        return "a newer fallsfs has measured it";
    default:
        return strerror(-r);
    }
}

int costs_json_get(const struct virtual_call *call, FILE *out)
{
    struct volume *volume = call->fs->volume;
    struct json json;

    json_begin(&json, out);
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        struct disk *disk = &volume->disk[i];
        struct costs costs;
        const char *why = disk->standing != DISK_GONE ? read_costs(disk, &costs) : "the disk has left";
        char name[16];

        snprintf(name, sizeof name, "d%" PRIu32, i);
        json_open(&json, NULL, '{');
        json_string(&json, "disk", name);
        json_bool(&json, "calibrated", why == NULL);
        if (why == NULL)
            costs_json(&json, &costs);
        else
            json_string(&json, "why", why);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
    return 0;
}
