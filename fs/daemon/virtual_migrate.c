/* SPDX-License-Identifier: MIT */
/* user.falls.migrate: another layout for a file that is in use, and how far that is; user.falls.jobs, of any directory,
 * is the list of all that goes on.
 *
 *     setfattr -n user.falls.migrate -v 'stripe(4M)' FILE           also restripe, auto, leave; limit=100M before any
 *     setfattr -n user.falls.migrate -v restripe DIRECTORY          all files in it and below
 *     setfattr -n user.falls.migrate -v pause FILE                  resume, cancel
 *     getfattr -n user.falls.leave.d2 --only-values FILE            the layout it would get if d2 left, or ENODATA
 *     getfattr -n user.falls.migrate --only-values FILE             job=3 state=running done=... total=... */
#include "fs/core/defaults.h"
#include "fs/core/file.h"
#include "fs/core/jobs.h"
#include "fs/core/members.h"
#include "fs/core/tree.h"
#include "fs/daemon/tours.h"
#include "fs/daemon/virtual.h"

#include <limits.h>
#include <string.h>

#define LIMIT    "limit="
#define MAX_LIST 60000 /* bytes: a value has room for so many, and then a line */

/* -- telling -- */

static const char *state_name(enum job_state state)
{
    static const char *const name[] = {
        [JOB_WAITS] = "waiting", [JOB_RUNS] = "running",        [JOB_PAUSED] = "paused", [JOB_ENDS] = "ending",
        [JOB_DONE] = "done",     [JOB_CANCELLED] = "cancelled", [JOB_FAILED] = "failed",
    };

    return name[state];
}

static void print_view(FILE *out, const struct job_view *view)
{
    fprintf(out,
            "job=%" PRIu64 " state=%s done=%" PRIu64 " total=%" PRIu64 " rate=%" PRIu64 " limit=%" PRIu64 " ms=%" PRIu64
            " error=%d",
            view->number, state_name(view->state), view->done, view->total, view->rate, view->limit, view->ms,
            -view->error);
}

int migrate_get(const struct virtual_call *call, FILE *out)
{
    struct tour_view tour;
    struct job_view view;
    bool is_dir = call->inode->fmt == S_IFDIR;

    if (is_dir ? !tours_of(call->tours, call->inode, &tour) : !jobs_of(call->fs->jobs, call->inode, &view))
        return -ENODATA;
    if (is_dir)
        view = tour.job;
    print_view(out, &view);
    if (view.error != 0)
        fprintf(out, " %s", strerror(-view.error));
    if (is_dir)
        fprintf(out, " files=%" PRIu64 " failed=%" PRIu64, tour.files, tour.failed);
    return 0;
}

/* Jobs are told of to who owns the file, and to root. */
static bool may_see(const struct virtual_call *call, struct inode *inode)
{
    struct stat st;

    return call->cred.uid == 0 || (tree_stat(call->fs, inode, &st) == 0 && st.st_uid == call->cred.uid);
}

/* A line each; the name is last, since it may have any bytes but a newline is shown as '?'. */
static void print_job(FILE *out, const struct virtual_call *call, const struct job_view *view, struct inode *inode)
{
    cleanup(freep) char *path = NULL;

    print_view(out, view);
    fputc(' ', out);
    if (inode_path(call->fs->inodes, inode, &path) == 0)
        for (const char *at = path; *at != 0; at++)
            fputc(*at == '\n' ? '?' : *at, out);
    fputc('\n', out);
}

/* Those after that number, until out has so many bytes. */
static void list_jobs(const struct virtual_call *call, FILE *out, uint64_t after, long max)
{
    struct job_view view;
    struct inode *inode;

    while (ftell(out) < max && jobs_next(call->fs->jobs, after, &view, &inode)) {
        if (may_see(call, inode))
            print_job(out, call, &view, inode);
        inode_unref(call->fs->inodes, inode);
        after = view.number;
    }
}

int jobs_get(const struct virtual_call *call, FILE *out)
{
    uint64_t after;

    if (layout_parse_size(call->rest, &after) < 0)
        return -ENODATA;
    list_jobs(call, out, after, MAX_LIST);
    return 0;
}

int jobs_get_all(const struct virtual_call *call, FILE *out)
{
    list_jobs(call, out, 0, LONG_MAX);
    return 0;
}

/* -- orders -- */

static int find_order(const char *word, enum job_order *ret_order)
{
    static const char *const name[] = { [JOB_PAUSE] = "pause", [JOB_RESUME] = "resume", [JOB_CANCEL] = "cancel" };

    for (size_t i = 0; i < ARRAY_SIZE(name); i++)
        if (strcmp(word, name[i]) == 0) {
            *ret_order = (enum job_order) i;
            return 0;
        }
    return -EINVAL;
}

static int give_order(const struct virtual_call *call, uint64_t number, enum job_order order)
{
    int r = jobs_order(call->fs->jobs, number, order);

    return r == -ENOENT ? virtual_refuse(call, -EINVAL, "there is no such job, or it is over") : r;
}

/* "cancel 3" */
int jobs_set(const struct virtual_call *call, const char *value, size_t len)
{
    struct job_view view = { .number = 0 };
    struct inode *inode;
    enum job_order order;
    char word[16];
    uint64_t number;
    int used = 0, r;

    (void) len;
    if (sscanf(value, "%15s %" SCNu64 "%n", word, &number, &used) != 2 || value[used] != 0 ||
        find_order(word, &order) < 0 || number == 0)
        return virtual_refuse(call, -EINVAL, "say pause, resume or cancel and the number of a job, as 'cancel 3'");
    if (!jobs_next(call->fs->jobs, number - 1, &view, &inode) || view.number != number) {
        if (view.number > 0)
            inode_unref(call->fs->inodes, inode);
        return virtual_refuse(call, -EINVAL, "there is no job %" PRIu64, number);
    }
    r = may_see(call, inode) ? give_order(call, number, order)
                             : virtual_refuse(call, -EPERM, "only who owns the file, and root, may say so");
    inode_unref(call->fs->inodes, inode);
    return r;
}

/* -- beginning -- */

/* What a file made there now would have. */
static int choose_default(const struct virtual_call *call, struct choice *choice)
{
    cleanup(freep) char *path = NULL;
    struct inode *dir = inode_parent(call->fs->inodes, call->inode);
    const char *name;
    int r = inode_path(call->fs->inodes, call->inode, &path);

    if (r == 0 && dir == NULL)
        r = -ESTALE;
    if (r == 0) {
        name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
        r = defaults_choose(call->fs, dir, name, choice);
    }
    inode_unref(call->fs->inodes, dir);
    return r;
}

static int choose_text(const struct virtual_call *call, const char *text, struct choice *choice)
{
    struct layout_error error = { 0 };
    struct file_layout *planned;
    int r = layouts_plan(call->fs->layouts, text, &planned, &choice->rotates, &error);

    if (r == 0)
        r = layouts_keep_if_there(call->fs->layouts, planned, &choice->layout, &error);
    return r < 0 ? virtual_refuse_text(call, r, &error) : 0;
}

static int choose_restriped(const struct virtual_call *call, struct choice *choice)
{
    cleanup(freep) char *text = NULL;
    struct file_layout *layout;
    struct record record;
    struct file *file;
    int r = file_get(call->fs, call->inode, &file);

    if (r < 0)
        return r;
    layout = file_look(call->fs, file, &record);
    file_put(call->fs, file);
    text = layout_without_disks(layout->layout); /* over those there are now */
    layouts_put(call->fs->layouts, layout);
    return text != NULL ? choose_text(call, text, choice) : -ENOMEM;
}

static int choose_to_leave(const struct virtual_call *call, struct choice *choice)
{
    struct layout_error error = { 0 };
    int r = members_choose(call->fs, call->inode, choice, &error);

    return r < 0 ? virtual_refuse_text(call, r, &error) : 0;
}

/* "d2" */
int leave_get(const struct virtual_call *call, FILE *out)
{
    cleanup(freep) char *text = NULL;
    uint64_t disk;
    int r;

    if (call->rest[0] != 'd' || layout_parse_size(call->rest + 1, &disk) < 0 || disk >= call->fs->volume->n_disks)
        return -ENODATA;
    r = members_text_without(call->fs, call->inode, (uint32_t) disk, &text);
    if (r == 0 && text != NULL)
        fputs(text, out);
    return r == 0 && text == NULL ? -ENODATA : r;
}

static int choose(const struct virtual_call *call, const char *word, struct choice *choice)
{
    if (strcmp(word, "leave") == 0)
        return choose_to_leave(call, choice);
    if (strcmp(word, "restripe") == 0)
        return choose_restriped(call, choice);
    if (strcmp(word, "auto") == 0)
        return choose_default(call, choice);
    return choose_text(call, word, choice);
}

static int begin(const struct virtual_call *call, const char *word, uint64_t limit)
{
    struct choice choice = { .layout = NULL };
    uint64_t number;
    int r = choose(call, word, &choice);

    if (r < 0 || choice.layout == NULL)
        return r;
    r = jobs_add(call->fs->jobs, call->inode, choice.layout, choice.rotates, limit, &number);
    layouts_put(call->fs->layouts, choice.layout);
    if (r == -EBUSY)
        return virtual_refuse(call, r, "the file is on its way to another layout: wait, or set this to cancel first");
    if (r == -ENOSPC)
        return virtual_refuse(call, r,
                              "both layouts need room until the change is over, and a disk has not enough of it: "
                              "'fallsctl df' tells of each");
    return MIN(r, 0);
}

/* The word behind "limit=100M ", and how much that is. */
static int read_limit(const struct virtual_call *call, const char **word, uint64_t *ret_limit)
{
    cleanup(freep) char *size = NULL;
    size_t len;

    *ret_limit = 0;
    if (strncmp(*word, LIMIT, strlen(LIMIT)) != 0)
        return 0;
    *word += strlen(LIMIT);
    len = strcspn(*word, " ");
    size = strndup(*word, len);
    if (size == NULL)
        return -ENOMEM;
    if (layout_parse_size(size, ret_limit) < 0)
        return virtual_refuse(call, -EINVAL, "column %zu: a limit is bytes a second, as limit=100M", strlen(LIMIT) + 1);
    *word += len + strspn(*word + len, " ");
    return 0;
}

/* What a text means for a file that has no layout yet: whether it means anything. */
static int check_word(const struct virtual_call *call, const char *word)
{
    struct layout_error error = { 0 };
    struct file_layout *planned;
    bool rotates;
    int r;

    if (strcmp(word, "restripe") == 0 || strcmp(word, "auto") == 0 || strcmp(word, "leave") == 0)
        return 0;
    r = layouts_plan(call->fs->layouts, word, &planned, &rotates, &error);
    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    file_layout_free(planned);
    return 0;
}

/* A file on the way of a tour, which has looked at the word. */
static int begin_below(const struct virtual_call *call, const char *word, uint64_t limit)
{
    int r = virtual_check_may_lay_out(call);

    return r < 0 ? r : begin(call, word, limit);
}

static int start_tour(const struct virtual_call *call, const char *word, uint64_t limit)
{
    int r = check_word(call, word);

    if (r == 0)
        r = tours_start(call->tours, call, word, limit, begin_below);
    if (r == -EBUSY)
        return virtual_refuse(call, r,
                              "files of the directory, or of many others, are on their way to other layouts: "
                              "wait, or set this to cancel first");
    return r;
}

static int order(const struct virtual_call *call, enum job_order order)
{
    struct job_view view;

    if (call->inode->fmt == S_IFDIR) {
        if (tours_order(call->tours, call->inode, order) == -ENOENT)
            return virtual_refuse(call, -EINVAL, "nothing goes on that was begun for this directory");
        return 0;
    }
    if (!jobs_of(call->fs->jobs, call->inode, &view))
        return virtual_refuse(call, -EINVAL, "the file is not on its way to another layout");
    return give_order(call, view.number, order);
}

int migrate_set(const struct virtual_call *call, const char *value, size_t len)
{
    enum job_order wanted;
    uint64_t limit = 0;
    int r = virtual_check_may_lay_out(call);

    (void) len;
    if (r == 0)
        r = read_limit(call, &value, &limit);
    if (r < 0)
        return r;
    if (find_order(value, &wanted) == 0)
        return order(call, wanted);
    return call->inode->fmt == S_IFDIR ? start_tour(call, value, limit) : begin(call, value, limit);
}
