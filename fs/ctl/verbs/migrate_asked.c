/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/migrate_asked.h"

#include "fs/core/change/relocation.h"
#include "fs/json/utf8.h"

#include <search.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int migration_layout(struct migration_asked *request, const char *path, const struct file_info *info, char **ret_layout,
                     char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *array = NULL;

    *ret_layout = NULL;
    if (request->by_default)
        return 0;
    if (!request->restripe)
        return layout_options_find(&request->asked, path, ret_layout, &array, ret_why);
    *ret_layout = relocation_bare(info->layout);
    if (*ret_layout != NULL)
        return 0;
    snprintf(ret_why, ATTRS_WHY, "out of memory");
    return -ENOMEM;
}

const char *migration_word(const struct migration_asked *request, const char *layout)
{
    return request->restripe ? "restripe" : request->by_default ? "auto" : layout;
}

void migration_tell(struct migration_asked *request, const char *path, const char *layout, const char *state,
                    const struct moves *moves)
{
    struct json *json = &request->paths.json;

    request->paths.done++;
    if (request->paths.as_json) {
        json_open(json, NULL, '{');
        json_string(json, "file", path);
        json_string(json, "layout", layout);
        json_string(json, "state", state);
        if (moves != NULL) {
            json_u64(json, "bytes", moves->total);
            json_u64(json, "bytes_that_stay", moves->stays);
            moves_json(json, moves);
        }
        json_close(json, '}');
    } else if (request->dry) {
        fputs("would migrate ", stdout);
        utf8_print_line(stdout, path, false);
        fputs(" to ", stdout);
        utf8_print_line(stdout, layout != NULL ? layout : "what new files have", false);
        putchar('\n');
    }
}

bool migration_may(uid_t owner)
{
    return geteuid() == 0 || geteuid() == owner;
}

void migration_refuse(struct migration_asked *request, const char *path, uid_t owner)
{
    paths_fail(&request->paths, path, "only the owner, user %u, and root may set this: ask them", (unsigned) owner);
}

struct identity {
    dev_t dev;
    ino_t ino;
};

static int compare_identities(const void *x, const void *y)
{
    const struct identity *a = x, *b = y;

    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    return a->ino < b->ino ? -1 : a->ino > b->ino;
}

bool migration_was_seen(struct migration_asked *request, const struct stat *st)
{
    struct identity *identity = st->st_nlink > 1 ? malloc(sizeof *identity) : NULL;
    void **found;

    if (identity == NULL)
        return false;
    *identity = (struct identity){ st->st_dev, st->st_ino };
    found = tsearch(identity, &request->seen, compare_identities);
    if (found != NULL && *found == identity)
        return false;
    free(identity);
    return found != NULL;
}
