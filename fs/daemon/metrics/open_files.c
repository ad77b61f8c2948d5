/* SPDX-License-Identifier: MIT */
#include "fs/daemon/metrics/open_files.h"

#include "fs/daemon/serve/mount.h"
#include "fs/json/json.h"

#include <unistd.h>

#define MAX_TOLD 256

static void print_handle(struct json *json, const struct handle_told *told)
{
    cleanup(held_done) struct held held = hold(told->nodeid);
    cleanup(freep) char *path = NULL;

    if (held.inode == NULL)
        return; /* it has been closed meanwhile */
    if (inode_path(held.inodes, held.inode, &path) < 0)
        path = NULL; /* it has no name any more */
    json_open(json, NULL, '{');
    json_u64(json, "handle", told->number);
    json_string(json, "file", path);
    json_u64(json, "inode", held.inode->ino);
    json_bool(json, "view", told->is_view);
    json_u64(json, "uid", told->uid);
    json_u64(json, "pid", (uint64_t) told->pid);
    json_u64(json, "reads", told->n_reads);
    json_u64(json, "read", told->read);
    json_u64(json, "writes", told->n_writes);
    json_u64(json, "written", told->written);
    json_close(json, '}');
}

int open_files_print(uid_t uid, FILE *out)
{
    cleanup(freep) struct handle_told *told = calloc(MAX_TOLD, sizeof *told);
    struct json json;
    uint32_t n;

    if (told == NULL)
        return -ENOMEM;
    n = handles_busiest(the_mount->handles, uid, uid == 0 || uid == geteuid(), told, MAX_TOLD);
    json_begin(&json, out);
    json_open(&json, "open", '[');
    for (uint32_t i = 0; i < n; i++)
        print_handle(&json, &told[i]);
    json_close(&json, ']');
    json_end(&json);
    return 0;
}
