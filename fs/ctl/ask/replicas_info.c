/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/replicas_info.h"

static uint64_t number_of(const struct json_object *said, const char *name, uint64_t otherwise)
{
    uint64_t number;

    return json_number(json_member(said, name), &number) ? number : otherwise;
}

static struct replica_info read_one(struct json_object *said)
{
    return (struct replica_info){ .said = said,
                                  .number = number_of(said, "number", 0),
                                  .layout = json_text(json_member(said, "layout")),
                                  .on_write = json_text(json_member(said, "on_write")),
                                  .state = json_text(json_member(said, "state")),
                                  .error = json_text(json_member(said, "error")),
                                  .offset = number_of(said, "offset", 0),
                                  .length = number_of(said, "length", UINT64_MAX),
                                  .bytes = number_of(said, "bytes", 0),
                                  .has = number_of(said, "has", 0),
                                  .durable = number_of(said, "durable", 0),
                                  .room = number_of(said, "room", 0),
                                  .is_copy = json_is_true(json_member(said, "is_copy")) };
}

int replicas_info_init(struct replicas_info *info, const char *path, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *layout = NULL, *text = NULL;
    const struct json_object *list;
    int r = attrs_check(path, &layout, ret_why);

    *info = (struct replicas_info){ 0 };
    if (r < 0)
        return r;
    r = attrs_get(path, "replicas.json", &text);
    if (r == 0)
        r = json_read(text, &info->said);
    if (r == -ENODATA)
        return attrs_refuse(ret_why, r, "is no file, or its mount is of a fallsfs that knows no replicas");
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s", attrs_strerror(r));
    list = json_member(info->said, "replicas");
    for (size_t i = 0; i < json_count(list) && info->n < REPLICAS_INFO_MAX; i++)
        info->replica[info->n++] = read_one(json_at(list, i));
    return 0;
}

void replicas_info_done(struct replicas_info *info)
{
    json_read_done(&info->said);
}

const struct replica_info *replicas_info_find(const struct replicas_info *info, uint64_t number)
{
    for (uint32_t i = 0; i < info->n; i++)
        if (info->replica[i].number == number)
            return &info->replica[i];
    return NULL;
}

uint32_t replica_info_percent(const struct replica_info *replica)
{
    return replica->has >= replica->bytes ? 100 : (uint32_t) ((double) replica->has * 100 / (double) replica->bytes);
}

int replicas_info_add(const char *path, const char *layout, const char *only, const char *on_write,
                      char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *order = NULL;

    if (asprintf(&order, "add %s%s%s%s%s%s%s", only != NULL ? "only=" : "", only != NULL ? only : "",
                 only != NULL ? " " : "", on_write != NULL ? "on-write=" : "", on_write != NULL ? on_write : "",
                 on_write != NULL ? " " : "", layout) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    return attrs_set(path, "replicas", order, ret_why);
}
