/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/migrate_below.h"

#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/ask/mover.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void migrate_below_done(struct migration_asked *request)
{
    free(request->directory);
    request->directory = NULL;
}

/* Waits for an order that was asked for and not waited for: the mount carries out one at a time. */
static void await_last_order(struct migration_asked *request)
{
    const struct mover_asked asked = { .path = request->directory, .is_below = true };
    struct mover_info info;
    char why[ATTRS_WHY];

    if (request->directory == NULL)
        return;
    if (mover_wait(&asked, request->number, &info, why) == 0)
        mover_done(&info);
    migrate_below_done(request);
}

/* An order that is over, or paused, whose files are told of. */
struct told {
    struct migration_asked *request;
    const struct mover_info *info;
    char **name;     /* of the failures that the mount names, as they are called here; or NULL */
    uint64_t untold; /* files that have failed and that nobody has named so far */
};

/* The path of a directory from the top of its mount on; NULL: nobody knows. */
static char *path_in_mount(const char *path)
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *full = NULL;
    const char *below;

    if (mounts_read(&mounts) < 0 || mounts_resolve(&mounts, path, &full) < 0 ||
        mounts_around(&mounts, full, &below) == NULL)
        return NULL;
    return strdup(below);
}

/* The mount names files from its top on: what is behind the directory stands here behind the path that was typed. */
static char *name_here(const char *path, const char *in_mount, const char *file)
{
    size_t len = in_mount != NULL ? strlen(in_mount) : 0;
    char *name;

    if (in_mount == NULL || strncmp(file, in_mount, len) != 0)
        return strdup(file);
    file += len + (file[len] == '/');
    return asprintf(&name, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", file) < 0 ? NULL : name;
}

static void tell_named_failures(struct told *told)
{
    cleanup(freep) char *in_mount = path_in_mount(told->request->directory);

    for (uint32_t i = 0; i < told->info->n_failures; i++) {
        const struct mover_failure *failure = &told->info->failure[i];

        if (failure->file == NULL)
            continue;
        told->name[i] = name_here(told->request->directory, in_mount, failure->file);
        paths_fail(&told->request->paths, told->name[i] != NULL ? told->name[i] : failure->file, "keeps its layout: %s",
                   failure->why != NULL ? failure->why : "nobody knows why");
        told->untold--;
    }
}

static bool is_told(const struct told *told, const char *path)
{
    for (uint32_t i = 0; i < told->info->n_failures; i++)
        if (told->name[i] != NULL && strcmp(told->name[i], path) == 0)
            return true;
    return false;
}

/* The mount only counts files of others, whose names the caller need not know: who sees them here may. */
static void tell_unnamed_failure(struct told *told, const char *path, uid_t owner)
{
    if (!migration_may(owner))
        migration_refuse(told->request, path, owner);
    else
        paths_fail(&told->request->paths, path, "keeps its layout: the order is %s", told->info->state);
    told->untold -= told->untold > 0;
}

static void tell_file_below(struct told *told, const char *path, uid_t owner)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    cleanup(freep) char *layout = NULL;
    char why[ATTRS_WHY];

    if (file_info_init(&info, path, why) < 0 || migration_layout(told->request, path, &info, &layout, why) < 0)
        paths_fail(&told->request->paths, path, "%s", why);
    else if (migration_may(owner) && begun_has_layout(path, layout))
        migration_tell(told->request, path, layout, "done", NULL);
    else
        tell_unnamed_failure(told, path, owner);
}

static void take_told(void *ctx, const FTSENT *entry)
{
    struct told *told = ctx;

    if (entry->fts_info == FTS_F && !migration_was_seen(told->request, entry->fts_statp) &&
        !is_told(told, entry->fts_path))
        tell_file_below(told, entry->fts_path, entry->fts_statp->st_uid);
}

/* Goes through the files as a look with -n does, unless there is nothing to be said of any. */
static void tell_order(struct migration_asked *request, const struct mover_info *info)
{
    struct told told = { request, info, calloc(MAX(info->n_failures, 1), sizeof(char *)), info->failed };
    bool is_done = strcmp(info->state, "done") == 0;

    if (told.name == NULL) {
        paths_fail(&request->paths, request->directory, "out of memory");
        return;
    }
    tell_named_failures(&told);
    if (strcmp(info->state, "paused") == 0)
        migration_tell(request, request->directory, NULL, info->state, NULL);
    else if (request->paths.as_json || told.untold > 0 || (!is_done && info->failed == 0))
        paths_walk(&request->paths, request->directory, take_told, &told);
    else
        request->paths.done += info->files > info->failed;
    if (told.untold > 0)
        paths_fail(&request->paths, request->directory, "%" PRIu64 " more files keep their layouts", told.untold);
    else if (info->error != NULL && info->failed == 0)
        paths_fail(&request->paths, request->directory, "%s", info->error);
    for (uint32_t i = 0; i < info->n_failures; i++)
        free(told.name[i]);
    free(told.name);
}

static int follow_order(struct migration_asked *request, const struct mover_asked *asked, char why[static ATTRS_WHY])
{
    struct mover_info info;
    int r = mover_wait(asked, request->number, &info, why);

    if (r < 0)
        return r;
    tell_order(request, &info);
    mover_done(&info);
    migrate_below_done(request);
    return 0;
}

/* Asks for an order about a directory. -EACCES, -EPERM: the caller may not, but perhaps for what is in it. */
static int ask_below(struct migration_asked *request, const char *path, char why[static ATTRS_WHY])
{
    cleanup(freep) char *json = NULL, *layout = NULL;
    struct mover_asked asked = { .path = path, .limit = request->limit, .is_below = true };
    int r = attrs_check(path, &json, why);

    if (r == 0 && !request->restripe)
        r = migration_layout(request, path, NULL, &layout, why);
    if (r < 0)
        return r;
    await_last_order(request);
    asked.order = migration_word(request, layout);
    r = mover_ask(&asked, &request->number, why);
    if (r < 0)
        return r;
    request->directory = strdup(path);
    if (request->directory == NULL)
        return attrs_refuse(why, -ENOMEM, "its order goes on, but cannot be waited for: out of memory");
    if (request->wait)
        return follow_order(request, &asked, why);
    migration_tell(request, path, layout, "running", NULL);
    return 0;
}

bool migrate_below(struct migration_asked *request, const char *path)
{
    char why[ATTRS_WHY];
    int r = ask_below(request, path, why);

    if (r == -EACCES || r == -EPERM)
        return false;
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    return true;
}
