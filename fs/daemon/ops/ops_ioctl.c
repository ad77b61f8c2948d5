/* SPDX-License-Identifier: MIT */
/* Ioctls that are answered at once, and which one a number means. */
#include "fs/daemon/ops/ops_ioctl.h"
#include "fs/daemon/say/last_errors.h"
#include "fs/daemon/view/view_nodes.h"
#include "fs/daemon/view/views.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define DEFAULT_TIMEOUT 30000 /* ms */
#define MIN_WINDOW      4096  /* bytes: smaller windows only cost time */

_Static_assert(GROUP_TOKEN == sizeof((struct fallsfs_ioc_join *) NULL)->token, "tokens are of one size");
_Static_assert(FALLSFS_MAX_RANKS <= UINT32_MAX / 4, "root has more");

/* -- who calls -- */

static void ref_view(void *view)
{
    (void) view_ref(view);
}

static void put_view(void *view)
{
    view_put(view);
}

static struct lens lens_of(const struct file_view *file_view)
{
    const struct view *view = file_view_view(file_view);

    return (struct lens){
        .nest = view->nest, .bytes = view_bytes(view), .owner = drop_const(view), .ref = ref_view, .put = put_view
    };
}

static struct sections *make_sections(const struct handle *handle)
{
    struct lens lens;

    if (handle->file_view == NULL)
        return sections_new(NULL);
    lens = lens_of(handle->file_view);
    return sections_new(&lens);
}

/* Gives the sections of a handle; they are made when the first is asked for. NULL without memory. */
static struct sections *call_sections(struct handle *handle)
{
    struct sections *sections = atomic_load(&handle->sections), *none = NULL;

    if (sections != NULL || (sections = make_sections(handle)) == NULL)
        return sections;
    if (atomic_compare_exchange_strong(&handle->sections, &none, sections))
        return sections;
    sections_free(sections);
    return none;
}

struct caller call_caller(const struct call *call)
{
    const struct cred cred = cred_of(call->req);

    return (struct caller){ .file = call->handle->inode->nodeid,
                            .handle = call->number,
                            .process =
                                sections_process(atomic_load(&call->handle->sections), the_mount->processes, cred.pid),
                            .uid = cred.uid };
}

/* -- what is answered at once -- */

static void reply_struct(fuse_req_t req, int r, const void *out, size_t size)
{
    if (r < 0)
        reply_status(req, r);
    else
        reply_ioctl(req, out, size);
}

/* As stat says: a view has a number of its own. */
static uint64_t ino_of(const struct handle *handle)
{
    const struct node *node = handle->node;

    return node != NULL ? node_ino(node->kind, node->inode, node->name) : handle->inode->ino;
}

static void do_info(struct call *call)
{
    struct record record;
    struct file_layout *layout = file_look(the_mount->fs, call->handle->file, &record);
    struct fallsfs_ioc_info info = { .version = FALLSFS_IOCTL_VERSION,
                                     .n_elements = layout->pattern->n_elements,
                                     .n_disks = the_mount->fs->volume->n_disks,
                                     .max_ranks = FALLSFS_MAX_RANKS,
                                     .max_window = the_mount->options->window,
                                     .max_groups = the_mount->options->limit_groups,
                                     .life = the_mount->life,
                                     .inode = ino_of(call->handle),
                                     .supports = FALLSFS_SUPPORTS_LIST | FALLSFS_SUPPORTS_TILES |
                                                 FALLSFS_SUPPORTS_NO_DEADLINE | FALLSFS_SUPPORTS_FILE_SIZE |
                                                 FALLSFS_SUPPORTS_VIEWS | FALLSFS_SUPPORTS_HINTS |
                                                 FALLSFS_SUPPORTS_SIEVE_EACH,
                                     .max_pieces = LIST_MAX_PIECES };
    size_t len = strlen(layout->layout->text);

    _Static_assert(sizeof info.volume == DISK_UUID_SIZE, "a volume's id is all there");
    memcpy(info.volume, the_mount->fs->volume->uuid, sizeof info.volume);

    if (len < sizeof info.layout)
        memcpy(info.layout, layout->layout->text, len);
    layouts_put(the_mount->fs->layouts, layout);
    reply_struct(call->req, 0, &info, sizeof info);
}

static struct collective_hints hints_of(const struct fallsfs_ioc_hints *hints)
{
    return (struct collective_hints){ .domains = hints->domains,
                                      .sieve = hints->sieve,
                                      .window = hints->window > 0 ? MAX(hints->window, MIN_WINDOW) : 0,
                                      .workers = hints->workers };
}

static void do_hint(struct call *call)
{
    const struct fallsfs_ioc_hint *hint = call->in;
    int r = request_check_hint(hint);

    if (r == 0) {
        const struct collective_hints hints = hints_of(&hint->hints);

        sections_hint(atomic_load(&call->handle->sections), &hints);
    }
    reply_struct(call->req, r, NULL, 0);
}

static void do_join(struct call *call)
{
    struct fallsfs_ioc_join join = *(const struct fallsfs_ioc_join *) call->in;
    struct group_terms terms = { .nranks = join.nranks,
                                 .hints = hints_of(&join.hints),
                                 .timeout = join.hints.timeout_ms > 0 ? join.hints.timeout_ms : DEFAULT_TIMEOUT };
    int r = request_check_join(&join);

    if (r == 0) {
        struct caller caller = call_caller(call);

        r = groups_join(the_mount->groups, &caller, join.token, join.rank, &terms, (uint64_t *) &join.group);
    }
    if (r == 0)
        sections_note_member(atomic_load(&call->handle->sections), cred_of(call->req).pid);
    reply_struct(call->req, r, &join, sizeof join);
}

static void do_buffer(struct call *call)
{
    struct sections *sections = atomic_load(&call->handle->sections);
    struct fallsfs_ioc_buffer asked = *(const struct fallsfs_ioc_buffer *) call->in;
    const struct cred cred = cred_of(call->req);
    struct buffer *buffer = NULL;
    int r = request_check_buffer(&asked);

    if (r == 0 && asked.fd == -1) {
        r = sections_drop_buffer(sections, asked.buffer) ? 0 : -ENXIO;
    } else if (r == 0) {
        r = buffers_open(the_mount->buffers, cred.pid, cred.uid, asked.fd, asked.len, &buffer);
        if (r == 0)
            asked.buffer = sections_add_buffer(sections, buffer);
    }
    reply_struct(call->req, r, &asked, sizeof asked);
}

/* A board, and the memory of the program that it lies in. */
struct shown_board {
    struct board board;
    struct buffer *buffer;
};

static void free_board(struct board *board)
{
    struct shown_board *shown = (struct shown_board *) board;

    buffer_put(shown->buffer);
    free(shown);
}

static int open_board(const struct call *call, const struct fallsfs_ioc_board *offered, struct board **ret_board)
{
    const struct cred cred = cred_of(call->req);
    struct shown_board *shown = calloc(1, sizeof *shown);
    int r = shown == NULL ? -ENOMEM
                          : buffers_open(the_mount->buffers, cred.pid, cred.uid, offered->fd,
                                         FALLSFS_BOARD_SIZE(offered->nranks), &shown->buffer);

    if (r < 0) {
        free(shown);
        return r;
    }
    shown->board = (struct board){ .free = free_board,
                                   .addr = shown->buffer->addr,
                                   .nranks = offered->nranks,
                                   .pid = offered->pid,
                                   .fd = offered->fd };
    atomic_init(&shown->board.refs, 1);
    memcpy(shown->board.key, offered->key, sizeof offered->key);
    *ret_board = &shown->board;
    return 0;
}

static void do_board(struct call *call)
{
    struct fallsfs_ioc_board asked = *(const struct fallsfs_ioc_board *) call->in;
    struct board *offered = NULL, *board = NULL;
    int r = request_check_board(&asked);

    if (r == 0 && asked.fd >= 0)
        r = open_board(call, &asked, &offered);
    if (r == 0) {
        struct caller caller = call_caller(call);

        r = groups_board(the_mount->groups, &caller, asked.group, offered, &board);
    }
    if (r == 0) {
        asked.pid = board->pid;
        asked.fd = board->fd;
        memcpy(asked.key, board->key, sizeof asked.key);
    }
    reply_struct(call->req, r, &asked, sizeof asked);
    board_put(board);
}

static void do_leave(struct call *call)
{
    const struct fallsfs_ioc_leave *leave = call->in;
    int r = request_check_leave(leave);

    if (r == 0) {
        struct caller caller = call_caller(call);

        r = groups_leave(the_mount->groups, &caller, leave->group);
    }
    reply_struct(call->req, r, NULL, 0);
}

static void fill_stats(struct fallsfs_ioc_stats *stats, const struct group_stats *from)
{
    const struct sieve_stats *sieve = &from->last.sieve;

    stats->calls = from->calls;
    stats->asked = from->last.asked;
    stats->disk_read = sieve->disk_read;
    stats->disk_written = sieve->disk_written;
    stats->mapped = sieve->mapped;
    stats->reread = sieve->reread;
    stats->windows = sieve->windows;
    stats->windows_mapped = sieve->windows_mapped;
    stats->windows_list = sieve->windows_list;
    stats->requests = sieve->requests;
    stats->domains = from->last.workers;
    stats->plan_reused = from->plan_reused;
    stats->ns_wait = from->ns_wait;
    stats->ns_plan = from->ns_plan;
    stats->ns_io = sieve->ns_io;
    stats->ns_exchange = sieve->ns_exchange;
    stats->ns_total = from->last.ns_total;
    stats->error = (uint32_t) -from->error;
    stats->n_culprits = from->n_culprits;
    for (uint32_t i = 0; i < MIN(from->n_culprits, GROUP_CULPRITS); i++)
        stats->culprit[i] = from->culprit[i];
}

static void do_stats(struct call *call)
{
    struct fallsfs_ioc_stats stats = *(const struct fallsfs_ioc_stats *) call->in;
    struct fallsfs_ioc_stats answer = { .version = FALLSFS_IOCTL_VERSION, .group = stats.group };
    struct group_stats from = { 0 };
    int r = request_check_stats(&stats);

    if (r == 0 && stats.group == 0) {
        from = sections_alone(atomic_load(&call->handle->sections));
    } else if (r == 0) {
        struct caller caller = call_caller(call);

        r = groups_stats(the_mount->groups, &caller, stats.group, &from);
    }
    if (r == 0)
        fill_stats(&answer, &from);
    reply_struct(call->req, r, &answer, sizeof answer);
}

/* Fills in the file's inode number and its path of now, when it has one that is short enough. */
static void name_file(uint64_t nodeid, struct fallsfs_ioc_groups *shown)
{
    cleanup(held_done) struct held held = hold(nodeid);
    cleanup(freep) char *path = NULL;

    if (held.inode == NULL)
        return;
    shown->inode = held.inode->ino;
    if (inode_path(held.inodes, held.inode, &path) == 0 && strlen(path) < sizeof shown->path)
        memcpy(shown->path, path, strlen(path) + 1);
}

static void do_groups(struct call *call)
{
    const struct fallsfs_ioc_groups *asked = call->in;
    struct fallsfs_ioc_groups shown = { .version = FALLSFS_IOCTL_VERSION };
    int r = request_check_groups(asked);
    uint64_t file;

    if (r == 0 && groups_show(the_mount->groups, cred_of(call->req).uid, asked->after, &shown, &file))
        name_file(file, &shown);
    shown.after = asked->after;
    reply_struct(call->req, r, &shown, sizeof shown);
}

/* -- views -- */

void note_why(fuse_req_t req, const struct inode *inode, const char *why)
{
    const struct cred cred = cred_of(req);
    const struct asker asker = { cred.uid, cred.pid, inode->ino };

    last_errors_note(the_mount->last_errors, &asker, why);
}

/* Keeps why a view was refused, in the words of user.falls.view.NAME, for lasterror of the file. Returns the error of
 * the ioctl. */
static int refuse_view(const struct call *call, int r, const struct layout_error *error)
{
    char why[LAST_ERROR_SIZE];

    snprintf(why, sizeof why, "column %zu: %s", error->column, error->why);
    note_why(call->req, call->handle->inode, why);
    return r == -ERANGE || r == -EOVERFLOW ? -EINVAL : r;
}

void note_too_many_views(fuse_req_t req, const struct inode *inode)
{
    char why[LAST_ERROR_SIZE];

    views_explain(the_mount->views, cred_of(req).uid, why, sizeof why);
    note_why(req, inode, why);
}

static int make_ticket(const struct call *call, struct node **ret_node)
{
    static const mode_t mode[] = { [O_RDONLY] = 0400, [O_WRONLY] = 0200, [O_RDWR] = 0600 };
    const struct cred cred = cred_of(call->req);
    int how = call->handle->flags & O_ACCMODE;
    const struct ticket ticket = { .uid = cred.uid, .gid = cred.gid, .mode = mode[how], .can_open = how };

    return nodes_enter_ticket(the_mount->nodes, call->handle->inode, &ticket, ret_node);
}

static int make_view(const struct call *call, const char *text, struct node *node)
{
    struct layout_error error = { 0 };
    int r = views_hold(the_mount->views, node->ticket.uid, text, &node->counters, &node->held, &error);

    if (r == -EUSERS)
        note_too_many_views(call->req, call->handle->inode);
    return r < 0 && error.why[0] != 0 ? refuse_view(call, r, &error) : r;
}

static void do_view(struct call *call)
{
    struct fallsfs_ioc_view asked = *(const struct fallsfs_ioc_view *) call->in;
    struct node *node = NULL;
    int r = request_check_view(&asked);

    if (r == 0)
        r = make_ticket(call, &node);
    if (r == 0)
        r = make_view(call, asked.text, node);
    if (r == 0) {
        snprintf(asked.path, sizeof asked.path, ".falls/open/%s", node->name);
        node = atomic_exchange(&call->handle->ticket, node);
    }
    node_put(the_mount->nodes, node);
    reply_struct(call->req, r, &asked, sizeof asked);
}

/* -- which one -- */

struct ioctl {
    unsigned cmd;
    void (*act)(struct call *call);
};

static const struct ioctl ioctls[] = {
    { FALLSFS_IOC_INFO, do_info },          { FALLSFS_IOC_JOIN, do_join },      { FALLSFS_IOC_BUFFER, do_buffer },
    { FALLSFS_IOC_SECTION, ioctl_section }, { FALLSFS_IOC_FALLS, ioctl_falls }, { FALLSFS_IOC_WAIT, ioctl_wait },
    { FALLSFS_IOC_TEST, ioctl_test },       { FALLSFS_IOC_LEAVE, do_leave },    { FALLSFS_IOC_STATS, do_stats },
    { FALLSFS_IOC_GROUPS, do_groups },      { FALLSFS_IOC_BOARD, do_board },    { FALLSFS_IOC_ROUND, ioctl_round },
    { FALLSFS_IOC_VIEW, do_view },          { FALLSFS_IOC_LIST, ioctl_list },   { FALLSFS_IOC_HINT, do_hint },
};

/* Finds the ioctl that a handle takes; NULL: it takes none of this number. Any handle can ask about groups, files and
 * views take all others; but for boards, where all ranks are told one size of the file, and a view has another. */
static const struct ioctl *find_ioctl(unsigned cmd, const struct handle *handle)
{
    bool takes =
        handle->file != NULL ? cmd != FALLSFS_IOC_BOARD || handle->file_view == NULL : cmd == FALLSFS_IOC_GROUPS;

    for (size_t i = 0; takes && i < ARRAY_SIZE(ioctls); i++)
        if (ioctls[i].cmd == cmd)
            return &ioctls[i];
    return NULL;
}

static bool has_size(unsigned cmd, size_t in, size_t out)
{
    unsigned dir = _IOC_DIR(cmd);

    return in == ((dir & _IOC_WRITE) != 0 ? _IOC_SIZE(cmd) : 0) && out == ((dir & _IOC_READ) != 0 ? _IOC_SIZE(cmd) : 0);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg, struct fuse_file_info *fi, unsigned flags,
                     const void *in, size_t in_size, size_t out_size)
{
    serve(req);

    cleanup(handle_putp) struct handle *handle = handle_of(fi);
    const struct ioctl *ioctl = find_ioctl(cmd, handle);
    struct call call = { req, handle, fi->fh, in };

    (void) ino, (void) arg;
    if (ioctl == NULL)
        reply_status(req, -ENOTTY);
    else if (!has_size(cmd, in_size, out_size))
        reply_status(req, -EINVAL);
    else if ((flags & FUSE_IOCTL_DIR) == 0 && call_sections(handle) == NULL)
        reply_status(req, -ENOMEM);
    else
        ioctl->act(&call);
}

/* -- poll: whether a ticket can be fetched; files without tickets are always ready -- */

struct polled {
    struct waiter waiter;
    struct fuse_pollhandle *handle;
};

static void answer_polled(struct waiter *waiter)
{
    struct polled *polled = (struct polled *) waiter;

    if (waiter->result == 0)
        (void) fuse_lowlevel_notify_poll(polled->handle);
    fuse_pollhandle_destroy(polled->handle);
    free(polled);
}

static int poll_tickets(uint64_t number, struct fuse_pollhandle *handle)
{
    const struct caller caller = { .handle = number };
    struct polled *polled = handle != NULL ? calloc(1, sizeof *polled) : NULL;

    if (polled == NULL) {
        if (handle != NULL)
            fuse_pollhandle_destroy(handle);
        return groups_poll(the_mount->groups, &caller, NULL);
    }
    *polled = (struct polled){ .waiter = { .answer = answer_polled }, .handle = handle };
    return groups_poll(the_mount->groups, &caller, &polled->waiter);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *handle)
{
    serve(req);

    unsigned events = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;

    (void) ino;
    if (poll_tickets(fi->fh, handle) == GROUPS_PENDING)
        events = POLLOUT | POLLWRNORM;
    reply_poll(req, events);
}

void ops_add_ioctl(struct fuse_lowlevel_ops *ops)
{
    ops->ioctl = op_ioctl;
    ops->poll = op_poll;
}
