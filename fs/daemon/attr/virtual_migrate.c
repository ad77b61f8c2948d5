/* SPDX-License-Identifier: MIT */
/* user.falls.migrate: another layout for a file that is in use, and how far that is; user.falls.jobs, of any directory,
 * is the list of all that goes on.
 *
 *     setfattr -n user.falls.migrate -v 'stripe(4M)' FILE           also restripe, auto, leave; limit=100M before any
 *     setfattr -n user.falls.migrate -v restripe DIRECTORY          all files in it and below; start=d2 restripe: there
 *     getfattr -n user.falls.jobs.json --only-values DIRECTORY      what is moved in bulk, and what could not be
 *     setfattr -n user.falls.migrate -v pause FILE                  resume, cancel
 *     getfattr -n user.falls.leave.d2 --only-values FILE            the layout it would get if d2 left, or ENODATA
 *     getfattr -n user.falls.migrate --only-values FILE             job=3 state=running done=... total=... */
#include "fs/core/change/jobs.h"
#include "fs/core/change/membership.h"
#include "fs/core/change/relocation.h"
#include "fs/core/change/repair.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/defaults.h"
#include "fs/core/tree/tree.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/mover/mover.h"
#include "fs/json/utf8.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define START    "start=d"
#define MAX_LIST 60000 /* bytes: a value has room for these and one more line */

/* -- telling -- */

static void print_view(FILE *out, const struct job_view *view)
{
    fprintf(out,
            "job=%" PRIu64 " state=%s done=%" PRIu64 " total=%" PRIu64 " rate=%" PRIu64 " limit=%" PRIu64 " ms=%" PRIu64
            " error=%d",
            view->number, job_state_name(view->state), view->done, view->total, view->rate, view->limit, view->ms,
            -view->error);
}

int migrate_get(const struct virtual_call *call, FILE *out)
{
    struct move_view moved;
    struct job_view view;
    bool is_dir = call->inode->fmt == S_IFDIR;

    if (is_dir ? !mover_of(call->mover, call->inode, &moved) : !jobs_of(call->fs->jobs, call->inode, &view))
        return -ENODATA;
    if (is_dir)
        view = moved.job;
    print_view(out, &view);
    if (view.error != 0)
        fprintf(out, " %s", strerror(-view.error));
    if (is_dir)
        fprintf(out, " order=%" PRIu64 " files=%" PRIu64 " failed=%" PRIu64, moved.number, moved.files, moved.failed);
    return 0;
}

/* Whether the caller may see the job of a file: its owner and root may. */
static bool may_see(const struct virtual_call *call, struct inode *inode)
{
    struct stat st;

    return call->cred.uid == 0 || (tree_stat(call->fs, inode, &st) == 0 && st.st_uid == call->cred.uid);
}

/* Who reads a list of jobs: programs get the bytes of a file's name as they are, people get them so that they do
 * nothing to a terminal. */
enum reader { PROGRAMS, PEOPLE };

static void print_name(FILE *out, const char *path, enum reader reader)
{
    if (reader == PEOPLE)
        utf8_print_line(out, path, false);
    else
        for (; *path != 0; path++)
            fputc(*path == '\n' ? '?' : *path, out); /* each job has one line */
}

/* Prints a job's line; the name is last, since it may have blanks. */
static void print_job(FILE *out, const struct virtual_call *call, const struct job_view *view, struct inode *inode,
                      enum reader reader)
{
    cleanup(freep) char *path = NULL;

    print_view(out, view);
    fputc(' ', out);
    if (inode_path(call->fs->inodes, inode, &path) == 0)
        print_name(out, path, reader);
    fputc('\n', out);
}

/* Prints the jobs with numbers above after, until out has max bytes. */
static void list_jobs(const struct virtual_call *call, FILE *out, uint64_t after, long max, enum reader reader)
{
    struct job_view view;
    struct inode *inode;

    while (ftell(out) < max && jobs_next(call->fs->jobs, after, &view, &inode)) {
        if (may_see(call, inode))
            print_job(out, call, &view, inode, reader);
        inode_unref(call->fs->inodes, inode);
        after = view.number;
    }
}

int jobs_get(const struct virtual_call *call, FILE *out)
{
    uint64_t after;

    if (layout_parse_size(call->rest, &after) < 0)
        return -ENODATA;
    list_jobs(call, out, after, MAX_LIST, PROGRAMS);
    return 0;
}

int jobs_get_orders(const struct virtual_call *call, FILE *out)
{
    mover_print(call->mover, call->cred.uid, out);
    return 0;
}

int jobs_get_all(const struct virtual_call *call, FILE *out)
{
    list_jobs(call, out, 0, LONG_MAX, PEOPLE);
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

static bool is_admin(const struct virtual_call *call)
{
    return call->cred.uid == 0 || call->cred.uid == geteuid();
}

static int give_order(const struct virtual_call *call, const struct job_view *view, enum job_order order)
{
    int r;

    if (view->is_hurried && !is_admin(call) && !job_is_over(view))
        return virtual_refuse(call, -EPERM, "root moves the file for the sake of a disk, and waits for it");
    r = jobs_order(call->fs->jobs, view->number, order);
    return r == -ENOENT ? virtual_refuse(call, -EINVAL, "there is no such job, or it is over") : r;
}

/* Gives an order to what is moved in bulk, which has numbers as jobs have. */
static int order_mover(const struct virtual_call *call, uint64_t number, enum job_order order)
{
    int r = mover_order_number(call->mover, number, order, call->cred.uid);

    if (r == -ENOENT)
        return virtual_refuse(call, -EINVAL, "there is no job %" PRIu64 ", or it is over", number);
    return r == -EPERM ? virtual_refuse(call, r, "only who has given the order, and root, may say so") : r;
}

/* Carries out an order to a job by its number, such as "cancel 3". */
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
        return order_mover(call, number, order);
    }
    r = may_see(call, inode) ? give_order(call, &view, order)
                             : virtual_refuse(call, -EPERM, "only who owns the file, and root, may say so");
    inode_unref(call->fs->inodes, inode);
    return r;
}

/* -- beginning -- */

/* The layout that a file is to get, and on which of its disks the file starts. */
struct aim {
    struct file_layout *layout; /* with a reference; NULL: the file keeps its layout */
    uint32_t start;
};

/* Aims at the layout that a new file of this name would get in this directory now. */
static int aim_at_default(const struct virtual_call *call, struct aim *aim)
{
    struct chosen_layout choice;
    cleanup(freep) char *path = NULL;
    struct inode *dir = inode_parent(call->fs->inodes, call->inode);
    const char *name;
    int r = inode_path(call->fs->inodes, call->inode, &path);

    if (r == 0 && dir == NULL)
        r = -ESTALE;
    if (r == 0) {
        name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
        r = defaults_choose(call->fs, dir, name, &choice);
    }
    inode_unref(call->fs->inodes, dir);
    if (r == 0)
        *aim = (struct aim){ choice.layout, job_start(choice.rotates) };
    return r;
}

static int aim_at_text(const struct virtual_call *call, const char *text, struct aim *aim)
{
    bool rotates;
    int r = virtual_keep_layout(call, text, &aim->layout, &rotates);

    if (r == 0)
        aim->start = job_start(rotates);
    return r;
}

static int aim_at_restriped(const struct virtual_call *call, struct aim *aim)
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
    text = relocation_bare(layout->layout); /* without disks: those there are now are meant */
    layouts_put(call->fs->layouts, layout);
    return text != NULL ? aim_at_text(call, text, aim) : -ENOMEM;
}

static int refuse_no_room(const struct virtual_call *call, int r)
{
    if (r == -ENOSPC)
        return virtual_refuse(call, r, "no other disk has room for what lies there: 'fallsctl df' tells of each");
    return virtual_refuse(call, -ENOSPC,
                          "it has copies 2, and the only other disk with room has the second copy: 'fallsctl disk add' "
                          "one, or migrate it to a layout without copies");
}

static int aim_to_leave(const struct virtual_call *call, struct aim *aim)
{
    struct layout_error error = { 0 };
    int r = membership_choose(call->fs, call->inode, &aim->layout, &aim->start, &error);

    if (r == -ENOSPC || r == -EEXIST)
        return refuse_no_room(call, r);
    return r < 0 ? virtual_refuse_text(call, r, &error) : 0;
}

static int aim_to_repair(const struct virtual_call *call, struct aim *aim)
{
    struct layout_error error = { 0 };
    int r = repair_choose(call->fs, call->inode, &aim->layout, &aim->start, &error);

    if (r == -ENOSPC || r == -EEXIST)
        return refuse_no_room(call, r);
    return r < 0 ? virtual_refuse_text(call, r, &error) : 0;
}

/* Gives the layout that the file would get if the disk in call->rest, such as "d2", left. -ENODATA: none of it lies
 * there. */
int leave_get(const struct virtual_call *call, FILE *out)
{
    cleanup(freep) char *text = NULL;
    uint64_t disk;
    int r;

    if (call->rest[0] != 'd' || layout_parse_size(call->rest + 1, &disk) < 0 || disk >= call->fs->volume->n_disks)
        return -ENODATA;
    r = membership_text_without(call->fs, call->inode, (uint32_t) disk, &text);
    if (r == 0 && text != NULL)
        fputs(text, out);
    return r == 0 && text == NULL ? -ENODATA : r == -EEXIST ? -ENOSPC : r;
}

static int aim_at_word(const struct virtual_call *call, const char *word, struct aim *aim)
{
    if (strcmp(word, "leave") == 0)
        return aim_to_leave(call, aim);
    if (strcmp(word, "repair") == 0)
        return aim_to_repair(call, aim);
    if (strcmp(word, "restripe") == 0)
        return aim_at_restriped(call, aim);
    if (strcmp(word, "auto") == 0)
        return aim_at_default(call, aim);
    return aim_at_text(call, word, aim);
}

/* Reads "start=d2 ", and moves word behind it; *ret_disk is UINT32_MAX where the text does not begin so. */
static int read_start(const struct virtual_call *call, const char **word, uint32_t *ret_disk)
{
    const char *at = *word + strlen(START);
    int used = 0;

    *ret_disk = UINT32_MAX;
    if (strncmp(*word, START, strlen(START)) != 0)
        return 0;
    if (*at < '0' || *at > '9' || sscanf(at, "%9" SCNu32 " %n", ret_disk, &used) != 1 || used == 0 ||
        at[used - 1] != ' ')
        return virtual_refuse(call, -EINVAL,
                              "say on which disk files start and what they get, as in 'start=d2 restripe'");
    *word = at + used;
    return 0;
}

static int start_on(const struct virtual_call *call, struct aim *aim, uint32_t disk)
{
    for (uint32_t i = 0; i < aim->layout->n_list; i++)
        if (aim->layout->list[i] == disk) {
            aim->start = i;
            return 0;
        }
    layouts_put(call->fs->layouts, steal(aim->layout));
    return virtual_refuse(call, -EINVAL, "no file can start on d%" PRIu32 ", it is not among the disks of the layout",
                          disk);
}

static int find_aim(const struct virtual_call *call, const char *word, struct aim *aim)
{
    uint32_t disk;
    int r = read_start(call, &word, &disk);

    if (r == 0)
        r = aim_at_word(call, word, aim);
    return r < 0 || disk == UINT32_MAX || aim->layout == NULL ? r : start_on(call, aim, disk);
}

static int charge(const struct virtual_call *call, const struct file_layout *layout)
{
    struct file *file;
    int r = file_get(call->fs, call->inode, &file);

    if (r < 0)
        return r;
    r = virtual_charge(call, file, layout);
    file_put(call->fs, file);
    return r;
}

/* Says why the jobs of a file, or of all of a user's files, would be too much. */
static int refuse_more(const struct virtual_call *call, int r, const struct job_asker *asker)
{
    if (r == -EUSERS)
        return virtual_refuse(call, r,
                              "%" PRIu64
                              " files of this user are on their way to other layouts, as many as may be: wait for "
                              "them or cancel some, 'fallsctl jobs' shows them, give one order for a whole directory, "
                              "or ask for more, limits.jobs in fallsfs.conf",
                              asker->most);
    return virtual_refuse(
        call, -EUSERS,
        "to give the file this layout takes more descriptors of the daemon than all such changes may "
        "have together, a quarter of its own: choose a layout with fewer elements, or have the daemon "
        "started with more (LimitNOFILE)");
}

/* most: jobs that an ordinary user may have. */
static int begin(const struct virtual_call *call, const char *word, uint64_t limit, uint64_t most)
{
    const bool may_more = is_admin(call) && most < UINT64_MAX;
    const struct job_asker asker = { call->cred.uid, may_more ? ACCOUNTS_ROOT * most : most };
    struct aim aim = { .layout = NULL };
    uint64_t number;
    int r = find_aim(call, word, &aim);

    if (r < 0 || aim.layout == NULL)
        return r;
    r = charge(call, aim.layout);
    if (r == 0)
        r = jobs_add(call->fs->jobs, call->inode, aim.layout, aim.start, limit, &asker, &number);
    layouts_put(call->fs->layouts, aim.layout);
    if (r == -EBUSY)
        return virtual_refuse(call, r, "the file is on its way to another layout: wait, or set this to cancel first");
    if (r == -EUSERS || r == -EMFILE)
        return refuse_more(call, r, &asker);
    if (r == -ENOSPC)
        return virtual_refuse(call, r,
                              "both layouts need room until the change is over, and a disk has not enough of it: "
                              "'fallsctl df' tells of each");
    return MIN(r, 0);
}

/* Checks an order for a whole directory before any file is looked at: the text must mean some layout on this volume. */
static int check_word(const struct virtual_call *call, const char *word)
{
    struct layout_error error = { 0 };
    struct file_layout *planned;
    uint32_t disk;
    bool rotates;
    int r = read_start(call, &word, &disk);

    if (r < 0)
        return r;
    if (strcmp(word, "restripe") == 0 || strcmp(word, "auto") == 0 || strcmp(word, "leave") == 0 ||
        strcmp(word, "repair") == 0)
        return 0;
    r = layouts_plan(call->fs->layouts, word, &planned, &rotates, &error);
    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    file_layout_free(planned);
    return 0;
}

/* Begins the migration of one file that the mover has come to; ctx is the call that was about the directory. */
static int begin_below(void *ctx, struct inode *inode, const char *word, uint64_t limit,
                       char ret_why[static LAST_ERROR_SIZE])
{
    struct virtual_call call = *(const struct virtual_call *) ctx;
    int r;

    call.inode = inode;
    call.why = ret_why;
    r = virtual_check_may_lay_out(&call);
    return r < 0 ? r : begin(&call, word, limit, UINT64_MAX); /* the mover has few of them at a time */
}

static int move_all_below(const struct virtual_call *call, const char *word, uint64_t limit)
{
    struct move_order order = { .kind = MOVE_BELOW,
                                .disk = UINT32_MAX,
                                .limit = limit,
                                .user = call->cred.uid,
                                .dir = call->inode,
                                .word = word,
                                .begin = begin_below };
    struct virtual_call *copy;
    int r = check_word(call, word);

    if (r < 0)
        return r;
    copy = malloc(sizeof *copy);
    if (copy == NULL)
        return -ENOMEM;
    *copy = *call;
    order.ctx = copy;
    return mover_start(call->mover, &order, call->why);
}

static int order(const struct virtual_call *call, enum job_order order)
{
    struct job_view view;

    if (call->inode->fmt == S_IFDIR) {
        if (mover_order(call->mover, call->inode, order) == -ENOENT)
            return virtual_refuse(call, -EINVAL, "nothing goes on that was begun for this directory");
        return 0;
    }
    if (!jobs_of(call->fs->jobs, call->inode, &view))
        return virtual_refuse(call, -EINVAL, "the file is not on its way to another layout");
    return give_order(call, &view, order);
}

int migrate_set(const struct virtual_call *call, const char *value, size_t len)
{
    enum job_order wanted;
    uint64_t limit = 0;
    int r = virtual_check_may_lay_out(call);

    (void) len;
    if (r == 0)
        r = virtual_read_limit(call, &value, &limit);
    if (r < 0)
        return r;
    if (find_order(value, &wanted) == 0)
        return order(call, wanted);
    return call->inode->fmt == S_IFDIR ? move_all_below(call, value, limit) : begin(call, value, limit, call->max_jobs);
}
