/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/profile_say.h"
#include "fs/ctl/verbs/recommend.h"

#include <string.h>
#include <sys/statvfs.h>

/* What disks have left for the file's owner, as df says it. */
static uint64_t bytes_left(const struct recommending *asked)
{
    struct statvfs st;

    if (asked->called == NULL || statvfs(asked->called, &st) < 0)
        return UINT64_MAX;
    return (uint64_t) st.f_bavail * st.f_frsize;
}

/* A replica is one, however many copies the file has. */
static char *without_copies(const char *text)
{
    static const char copies[] = " copies 2";
    size_t len = strlen(text), n = strlen(copies);

    return strndup(text, len >= n && strcmp(text + len - n, copies) == 0 ? len - n : len);
}

int proposed_init(struct proposed *proposed, const struct recommending *asked, const struct recommendation *found,
                  uint32_t i)
{
    const struct replica *replica = &found->replicas.replica[i];
    const uint64_t size = asked->profile->size, end = MIN(replica->hi, size);
    bool is_all = replica->lo == 0 && end == size;

    *proposed = (struct proposed){ .replica = replica,
                                   .layout = without_copies(found->candidate[replica->layout].text),
                                   .on_write = replica->updates ? "update" : NULL,
                                   .room = end - replica->lo,
                                   .left = bytes_left(asked) };
    proposed->has_room = proposed->room <= proposed->left;
    if (!is_all && asprintf(&proposed->only, "%" PRIu64 ":%" PRIu64, replica->lo, end - replica->lo) < 0)
        proposed->only = NULL;
    if (proposed->layout != NULL && (is_all || proposed->only != NULL))
        return 0;
    proposed_done(proposed);
    return -ENOMEM;
}

void proposed_done(struct proposed *proposed)
{
    free(proposed->layout);
    free(proposed->only);
    *proposed = (struct proposed){ 0 };
}

void proposed_to_do(const struct proposed *proposed, const struct recommending *asked)
{
    printf("to do: fallsctl replica add -L '%s' ", proposed->layout);
    if (proposed->only != NULL)
        printf("--only %s ", proposed->only);
    if (proposed->on_write != NULL)
        printf("--on-write %s ", proposed->on_write);
    recommend_print_file(asked);
    putchar('\n');
}

static void print_one(const struct proposed *proposed)
{
    const struct replica *replica = proposed->replica;
    char room[SIZE_TEXT], left[SIZE_TEXT];

    printf("replica: %s of %s%s, for %" PRIu64 " read%s; writes %s it; %s more room: %.3g s, not %.3g s\n",
           proposed->layout, proposed->only != NULL ? "bytes " : "all", proposed->only != NULL ? proposed->only : "",
           replica->reads, replica->reads == 1 ? "" : "s", replica->updates ? "update" : "drop",
           size_text(proposed->room, false, room), (double) replica->elapsed / 1e9, (double) replica->before / 1e9);
    if (!proposed->has_room)
        printf("note: there is no room for it: the disks have %s left\n", size_text(proposed->left, false, left));
}

enum ctl_status replicas_print(const struct recommending *asked, const struct recommendation *found, bool applies)
{
    if (found->replicas.is_plain)
        puts("no replicas: several share bytes, but nobody reads them by sections or views, which alone are read from "
             "replicas");
    for (uint32_t i = 0; i < found->replicas.n; i++) {
        cleanup(proposed_done) struct proposed proposed = { 0 };

        if (proposed_init(&proposed, asked, found, i) < 0)
            return report(false, "out of memory");
        print_one(&proposed);
        if (found->now != NULL && !applies && proposed.has_room)
            proposed_to_do(&proposed, asked);
    }
    return CTL_OK;
}

static void json_one(struct json *json, const struct proposed *proposed)
{
    const struct replica *replica = proposed->replica;

    json_open(json, NULL, '{');
    json_string(json, "layout", proposed->layout);
    json_string(json, "class", profile_class_names[replica->updates ? CHUNK_WRITTEN_ONE : CHUNK_READ]);
    json_string(json, "on_write", replica->updates ? "update" : "drop");
    json_string(json, "only", proposed->only);
    json_u64(json, "reads", replica->reads);
    json_u64(json, "room", proposed->room);
    json_bool(json, "has_room", proposed->has_room);
    json_seconds(json, "elapsed", (double) replica->elapsed / 1e9);
    json_seconds(json, "elapsed_without", (double) replica->before / 1e9);
    json_close(json, '}');
}

static void json_began(struct json *json, const struct recommendation *found)
{
    json_open(json, "began", '{');
    json_bool(json, "move", found->began.moves);
    json_open(json, "replicas", '[');
    for (uint32_t i = 0; i < found->replicas.n; i++)
        json_bool(json, NULL, found->began.replica[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void replicas_json(struct json *json, const struct recommending *asked, const struct recommendation *found)
{
    json_string(json, "best", found->chosen->text);
    json_bool(json, "replicas_need_sections", found->replicas.is_plain);
    json_open(json, "replicas", '[');
    for (uint32_t i = 0; i < found->replicas.n; i++) {
        cleanup(proposed_done) struct proposed proposed = { 0 };

        if (proposed_init(&proposed, asked, found, i) == 0)
            json_one(json, &proposed);
    }
    json_close(json, ']');
    if (found->began.is_asked)
        json_began(json, found);
}
