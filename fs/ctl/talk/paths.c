/* SPDX-License-Identifier: MIT */
#include "fs/ctl/talk/paths.h"
#include "fs/json/utf8.h"

#include <stdarg.h>
#include <string.h>

void paths_begin(struct paths *paths, bool as_json)
{
    *paths = (struct paths){ .as_json = as_json };
    if (!as_json)
        return;
    json_begin(&paths->json, stdout);
    json_open(&paths->json, "files", '[');
}

void paths_fail(struct paths *paths, const char *path, const char *fmt, ...)
{
    char why[1024];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s: %s", path, why);
    if (paths->as_json) {
        json_open(&paths->json, NULL, '{');
        json_string(&paths->json, "file", path);
        json_string(&paths->json, "error", why);
        json_close(&paths->json, '}');
    }
    paths->failed++;
}

/* Hands over the directory of what lies too deep. fts keeps the paths of all entries in one text, of which the
 * directory's path is the beginning. */
static void leave_deep(struct paths *paths, const FTSENT *entry, void *ctx)
{
    cleanup(freep) char *directory = strndup(entry->fts_path, entry->fts_parent->fts_pathlen);

    if (directory == NULL)
        paths_fail(paths, entry->fts_path, "out of memory");
    else
        paths->too_deep(ctx, directory);
}

/* Whether somebody removed or renamed the entry meanwhile. What the caller named itself never counts as gone. */
static bool has_gone(const FTSENT *entry)
{
    return entry->fts_level > FTS_ROOTLEVEL && entry->fts_errno == ENOENT;
}

void paths_walk(struct paths *paths, char *path, void (*take)(void *ctx, const FTSENT *entry), void *ctx)
{
    char *const roots[] = { path, NULL };
    FTS *fts = fts_open(roots, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;

    if (fts == NULL) {
        paths_fail(paths, path, "%s", strerror(errno));
        return;
    }
    while ((entry = fts_read(fts)) != NULL) {
        paths->leave_out = false;
        if (entry->fts_errno == ENAMETOOLONG && paths->too_deep != NULL)
            leave_deep(paths, entry, ctx);
        else if (entry->fts_info != FTS_DNR && entry->fts_info != FTS_ERR && entry->fts_info != FTS_NS)
            take(ctx, entry);
        else if (!has_gone(entry))
            paths_fail(paths, entry->fts_path, "%s", strerror(entry->fts_errno));
        if (paths->leave_out)
            (void) fts_set(fts, entry, FTS_SKIP);
    }
    (void) fts_close(fts);
}

char *paths_directory(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? strdup(".") : strndup(path, MAX((size_t) (slash - path), 1));
}

enum ctl_status paths_end(struct paths *paths)
{
    if (paths->as_json) {
        json_close(&paths->json, ']');
        json_end(&paths->json);
    }
    return paths_status(paths);
}

enum ctl_status paths_status(const struct paths *paths)
{
    return paths->failed == 0 ? CTL_OK : paths->done > 0 ? CTL_PARTIAL : CTL_ERROR;
}
