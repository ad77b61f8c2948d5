/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/table.h"
#include "fs/ctl/verbs/profile_say.h"
#include "fs/ctl/verbs/recommend.h"

void replicas_print(const struct recommendation *found)
{
    bool is_first = true;

    for (size_t i = 0; i < ARRAY_SIZE(found->replica); i++) {
        const struct replica *replica = &found->replica[i];
        char bytes[SIZE_TEXT], room[SIZE_TEXT];

        if (replica->bytes == 0 || replica->most >= replica->without)
            continue;
        if (is_first)
            puts("replicas: not made by this version; one for each further reader would be");
        printf("  %s: %s in %" PRIu64 " chunk%s, %s more room, %s: busy for %.3g s, not %.3g s\n",
               profile_class_names[replica->class], size_text(replica->bytes, false, bytes), replica->chunks,
               replica->chunks == 1 ? "" : "s", size_text(replica->room, false, room),
               replica->class == CHUNK_READ ? "dropped by a write" : "updated by a write", (double) replica->most / 1e9,
               (double) replica->without / 1e9);
        is_first = false;
    }
}

void replicas_json(struct json *json, const struct recommendation *found)
{
    json_bool(json, "makes_replicas", false);
    json_open(json, "replicas", '[');
    for (size_t i = 0; i < ARRAY_SIZE(found->replica); i++) {
        const struct replica *replica = &found->replica[i];

        if (replica->bytes == 0)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "class", profile_class_names[replica->class]);
        json_string(json, "on_write", replica->class == CHUNK_READ ? "drop" : "update");
        json_u64(json, "bytes", replica->bytes);
        json_u64(json, "chunks", replica->chunks);
        json_u64(json, "room", replica->room);
        json_seconds(json, "busy", (double) replica->most / 1e9);
        json_seconds(json, "busy_without", (double) replica->without / 1e9);
        json_close(json, '}');
    }
    json_close(json, ']');
}
