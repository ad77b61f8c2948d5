/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/kept_costs.h"

#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mount_text.h"

void kept_costs_done(struct kept_costs *kept)
{
    free(kept->disk);
    *kept = (struct kept_costs){ 0 };
}

static bool read_side(const struct json_object *in, struct costs_of *of)
{
    return json_number(json_member(in, "call_ns"), &of->call) && json_number(json_member(in, "seek_ns"), &of->seek) &&
           json_number(json_member(in, "bytes_per_second"), &of->rate) && of->rate > 0 && of->call <= COSTS_MAX_NS &&
           of->seek <= COSTS_MAX_NS;
}

static bool read_small(const struct json_object *in, uint32_t *ret)
{
    uint64_t number;

    if (!json_number(in, &number) || number > INT32_MAX)
        return false;
    *ret = (uint32_t) number;
    return true;
}

static bool read_chunk(const struct json_object *in, struct costs_chunk *chunk)
{
    return read_small(json_member(in, "bytes"), &chunk->bytes) && chunk->bytes > 0 &&
           json_number(json_member(in, "read"), &chunk->read) &&
           json_number(json_member(in, "read_apart"), &chunk->read_apart) &&
           json_number(json_member(in, "write"), &chunk->write) &&
           json_number(json_member(in, "write_apart"), &chunk->write_apart);
}

static bool read_costs(const struct json_object *in, struct costs *costs)
{
    const struct json_object *chunks = json_member(in, "chunks");

    costs->direct = json_is_true(json_member(in, "direct"));
    if (!json_number(json_member(in, "measured"), &costs->measured) ||
        !read_small(json_member(in, "spread"), &costs->spread) || !read_side(json_member(in, "read"), &costs->read) ||
        !read_side(json_member(in, "write"), &costs->write) || json_count(chunks) > COSTS_MAX_CHUNKS)
        return false;
    for (size_t i = 0; i < json_count(chunks); i++)
        if (!read_chunk(json_at(chunks, i), &costs->chunk[costs->n_chunks++]))
            return false;
    return true;
}

int kept_costs_read(const char *text, struct kept_costs *ret_kept)
{
    cleanup(json_read_done) struct json_object *all = NULL;
    const struct json_object *disks;
    struct kept_costs kept = { 0 };
    int r = json_read_long(text, &all);

    if (r < 0)
        return r;
    disks = json_member(all, "disks");
    kept.disk = calloc(MAX(json_count(disks), 1), sizeof *kept.disk);
    if (kept.disk == NULL)
        return -ENOMEM;
    for (kept.n = 0; kept.n < json_count(disks); kept.n++) {
        const struct json_object *disk = json_at(disks, kept.n);
        const char *why = json_text(json_member(disk, "why"));
        struct kept_cost *one = &kept.disk[kept.n];

        one->is_there = json_is_true(json_member(disk, "calibrated")) && read_costs(disk, &one->costs);
        (void) attrs_refuse(one->why, 0, "%s", why != NULL ? why : "what the mount tells of it makes no sense");
    }
    *ret_kept = kept;
    return 0;
}

int kept_costs_get(const char *target, struct kept_costs *ret_kept, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    int r = mount_text_get(target, "costs.json", JSON_READ_LONG, &text, ret_why);

    if (r < 0)
        return r;
    r = kept_costs_read(text, ret_kept);
    return r < 0 ? attrs_refuse(ret_why, r, "%s: what it says of its disks' costs cannot be read: %s", target,
                                strerror(-r))
                 : 0;
}
