/* SPDX-License-Identifier: MIT */
/* Sections and groups, as fallsfs_ioctl.h has them. What waits for others is parked: its request is kept, the thread
 * goes on; who answers it is whoever ends the waiting. */
#include "fs/daemon/collect.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/reasons.h"
#include "fs/daemon/sections.h"
#include "fs/daemon/view_nodes.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define DEFAULT_TIMEOUT 30000 /* ms */
#define MIN_WINDOW      4096  /* bytes: less is work for nothing */

_Static_assert(GROUP_TOKEN == sizeof((struct fallsfs_ioc_join *) NULL)->token, "tokens are of one size");
_Static_assert(FALLSFS_MAX_RANKS <= UINT32_MAX / 4, "root has more");

/* An ioctl on its way: what came, what goes back. */
struct call {
    fuse_req_t req;
    struct handle *handle;
    uint64_t number; /* of the handle */
    const void *in;
};

/* -- parked requests -- */

struct parked {
    struct waiter waiter;
    fuse_req_t req;
    enum { A_REQUEST, A_TICKET, A_ROUND } what; /* goes back */
    union {
        struct fallsfs_ioc_request request;
        struct fallsfs_ioc_ticket ticket;
        struct fallsfs_ioc_round round;
    };
};

static void answer_parked(struct waiter *waiter)
{
    struct parked *parked = (struct parked *) waiter;

    switch (parked->what) {
    case A_REQUEST:
        parked->request.bytes = waiter->bytes;
        parked->request.ticket = waiter->ticket;
        parked->request.accepted = waiter->accepted;
        fuse_reply_ioctl(parked->req, waiter->result, &parked->request, sizeof parked->request);
        break;
    case A_TICKET:
        parked->ticket.bytes = waiter->bytes;
        fuse_reply_ioctl(parked->req, waiter->result, &parked->ticket, sizeof parked->ticket);
        break;
    case A_ROUND:
        parked->round.accepted = waiter->accepted;
        fuse_reply_ioctl(parked->req, waiter->result, &parked->round, sizeof parked->round);
        break;
    }
    free(parked);
}

/* The kernel may come with this at any time, even when the request is answered: a number is all that is safe to give
 * it. */
static void interrupt(fuse_req_t req, void *number)
{
    (void) req;
    groups_interrupt(the_mount->groups, (uintptr_t) number);
}

/* From here on the request is the waiter's, not this thread's; NULL: it has been answered. Interruptible before it is
 * known to anybody. */
static struct parked *park(fuse_req_t req)
{
    struct parked *parked;
    uintptr_t number;

    if (!keeper_may_reply())
        return NULL;
    parked = calloc(1, sizeof *parked);
    if (parked == NULL) {
        fuse_reply_err(req, ENOMEM);
        return NULL;
    }
    parked->waiter.answer = answer_parked;
    parked->req = req;
    number = groups_expect(the_mount->groups, &parked->waiter);
    fuse_req_interrupt_func(req, interrupt, (void *) number); // NOLINT(performance-no-int-to-ptr)
    return parked;
}

/* -- who calls -- */

static struct sections *sections_of(struct handle *handle)
{
    struct sections *sections = atomic_load(&handle->sections), *none = NULL;

    if (sections != NULL || (sections = sections_new()) == NULL)
        return sections;
    if (atomic_compare_exchange_strong(&handle->sections, &none, sections))
        return sections;
    sections_free(sections);
    return none;
}

static struct caller caller_of(const struct call *call)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(call->req);

    return (struct caller){ .file = call->handle->inode->nodeid,
                            .handle = call->number,
                            .process =
                                sections_process(atomic_load(&call->handle->sections), the_mount->processes, ctx->pid),
                            .uid = ctx->uid };
}

/* -- asking -- */

/* The buffer must hold the whole section. */
static int find_memory(struct sections *sections, const struct fallsfs_ioc_request *request, struct collect_ask *ask)
{
    uint64_t size = ask->ask.wanted->nest->size;

    if (size == 0)
        return 0;
    ask->buffer = sections_buffer(sections, request->buffer);
    if (ask->buffer == NULL)
        return -ENXIO;
    if (request->buf_off > ask->buffer->len || size > ask->buffer->len - request->buf_off)
        return -EFAULT;
    ask->ask.buf = ask->buffer->addr + request->buf_off;
    return 0;
}

static int check_mode(const struct handle *handle, bool write)
{
    int mode = handle->flags & O_ACCMODE;

    return mode == O_RDWR || mode == (write ? O_WRONLY : O_RDONLY) ? 0 : -EBADF;
}

/* Takes the reference on wanted. */
static int make_ask(fuse_req_t req, struct handle *handle, const struct fallsfs_ioc_request *request,
                    struct wanted *wanted, struct collect_ask **ret_ask)
{
    struct collect_ask *ask = calloc(1, sizeof *ask);
    int r;

    if (ask == NULL) {
        wanted_put(wanted);
        return -ENOMEM;
    }
    handle_ref(handle);
    *ask = (struct collect_ask){ .ask = { .write = request->direction == FALLSFS_WRITE, .wanted = wanted },
                                 .handle = handle,
                                 .cred = cred_of(req) };
    r = find_memory(atomic_load(&handle->sections), request, ask);
    if (r < 0)
        collect_drop(&ask->ask);
    else
        *ret_ask = ask;
    return r;
}

static void ask_or_fail(struct call *call, const struct fallsfs_ioc_request *request, int r, struct wanted *wanted)
{
    bool ticket = (request->flags & FALLSFS_NOWAIT) != 0;
    struct collect_ask *ask = NULL;
    struct parked *parked;
    struct caller caller;

    if (r == 0)
        r = make_ask(call->req, call->handle, request, wanted, &ask);
    if (r < 0) {
        reply_status(call->req, r);
        return;
    }
    caller = caller_of(call);
    parked = park(call->req);
    if (parked == NULL) {
        collect_drop(&ask->ask);
        return;
    }
    parked->request = *request;
    if (request->group == 0)
        groups_ask_alone(the_mount->groups, &caller, ticket, &ask->ask, &parked->waiter);
    else
        groups_ask(the_mount->groups, &caller, request->group, request->seq, ticket, &ask->ask, &parked->waiter);
}

static int check_request(const struct handle *handle, const struct fallsfs_ioc_request *request)
{
    int r = request_check(request);

    return r < 0 ? r : check_mode(handle, request->direction == FALLSFS_WRITE);
}

static void do_section(struct call *call)
{
    const struct fallsfs_ioc_section *section = call->in;
    struct wanted *wanted = NULL;
    int r = check_request(call->handle, &section->request);

    if (r == 0)
        r = wanted_section(&atomic_load(&call->handle->sections)->wanted, section, &wanted);
    ask_or_fail(call, &section->request, r, wanted);
}

static void do_falls(struct call *call)
{
    const struct fallsfs_ioc_falls *falls = call->in;
    struct wanted *wanted = NULL;
    int r = check_request(call->handle, &falls->request);

    if (r == 0)
        r = wanted_falls(&atomic_load(&call->handle->sections)->wanted, falls, &wanted);
    ask_or_fail(call, &falls->request, r, wanted);
}

/* -- asking for all ranks of a board -- */

static int wanted_on_board(struct sections *sections, const struct board_request *found, struct wanted **ret_wanted)
{
    return found->cmd == FALLSFS_IOC_SECTION ? wanted_section(&sections->wanted, &found->section, ret_wanted)
                                             : wanted_falls(&sections->wanted, &found->falls, ret_wanted);
}

/* What a rank has left on the board, through its own open file. */
static int ask_from_board(fuse_req_t req, const struct gathering *gathering, uint32_t rank,
                          const struct fallsfs_ioc_round *round, struct ask **ret_ask)
{
    cleanup(handle_putp) struct handle *handle = handles_get(the_mount->handles, gathering->handle[rank]);
    struct collect_ask *ask = NULL;
    struct wanted *wanted = NULL;
    struct board_request found;
    int r = -EAGAIN;

    if (handle != NULL && board_read(gathering->board, rank, round->group, round->seq, &found))
        r = check_request(handle, &found.request);
    if (r == 0)
        r = wanted_on_board(atomic_load(&handle->sections), &found, &wanted);
    if (r == 0)
        r = make_ask(req, handle, &found.request, wanted, &ask);
    if (r == 0)
        *ret_ask = &ask->ask;
    return r;
}

static int ask_from_all(fuse_req_t req, const struct gathering *gathering, const struct fallsfs_ioc_round *round,
                        struct ask *ask[])
{
    for (uint32_t i = 0; i < gathering->n; i++) {
        int r = ask_from_board(req, gathering, i, round, &ask[i]);

        if (r < 0) {
            while (i-- > 0)
                collect_drop(ask[i]);
            return -EAGAIN; /* the rank is told when it asks for itself */
        }
    }
    return 0;
}

static int gather_asks(struct call *call, const struct caller *caller, const struct fallsfs_ioc_round *round,
                       struct gathering *ret_gathering, struct ask ***ret_ask)
{
    int r = groups_gather(the_mount->groups, caller, round->group, round->seq, ret_gathering);

    if (r < 0)
        return r;
    *ret_ask = calloc(ret_gathering->n, sizeof(struct ask *));
    return *ret_ask == NULL ? -ENOMEM : ask_from_all(call->req, ret_gathering, round, *ret_ask);
}

static void do_round(struct call *call)
{
    const struct fallsfs_ioc_round *round = call->in;
    cleanup(gathering_done) struct gathering gathering = { 0 };
    cleanup(freep) struct ask **ask = NULL;
    struct caller caller = caller_of(call);
    struct parked *parked;
    int r = request_check_round(round);

    if (r == 0)
        r = gather_asks(call, &caller, round, &gathering, &ask);
    if (r < 0) {
        reply_status(call->req, r);
        return;
    }
    parked = park(call->req);
    if (parked == NULL) {
        for (uint32_t i = 0; i < gathering.n; i++)
            collect_drop(ask[i]);
        return;
    }
    parked->what = A_ROUND;
    parked->round = *round;
    groups_ask_all(the_mount->groups, &caller, round->group, round->seq, &gathering, ask, round->ns_wait,
                   &parked->waiter);
}

/* -- tickets -- */

static void fetch(struct call *call, bool patient)
{
    const struct fallsfs_ioc_ticket *ticket = call->in;
    struct parked *parked;
    struct caller caller;
    int r = request_check_ticket(ticket);

    if (r < 0) {
        reply_status(call->req, r);
        return;
    }
    caller = caller_of(call);
    parked = park(call->req);
    if (parked == NULL)
        return;
    parked->what = A_TICKET;
    parked->ticket = *ticket;
    groups_wait(the_mount->groups, &caller, ticket->ticket, patient, &parked->waiter);
}

static void do_wait(struct call *call)
{
    fetch(call, true);
}

static void do_test(struct call *call)
{
    fetch(call, false);
}

/* -- what is answered at once -- */

static void reply_struct(fuse_req_t req, int r, const void *out, size_t size)
{
    if (r < 0)
        reply_status(req, r);
    else if (keeper_may_reply())
        fuse_reply_ioctl(req, 0, out, size);
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
                                     .max_groups = groups_usual_limits.groups };

    size_t len = strlen(layout->layout->text);

    if (len < sizeof info.layout)
        memcpy(info.layout, layout->layout->text, len);
    layouts_put(the_mount->fs->layouts, layout);
    reply_struct(call->req, 0, &info, sizeof info);
}

static void do_join(struct call *call)
{
    struct fallsfs_ioc_join join = *(const struct fallsfs_ioc_join *) call->in;
    const struct fallsfs_ioc_hints *hints = &join.hints;
    struct group_terms terms = { .nranks = join.nranks,
                                 .hints = { .domains = hints->domains,
                                            .sieve = hints->sieve,
                                            .window = hints->window > 0 ? MAX(hints->window, MIN_WINDOW) : 0,
                                            .workers = hints->workers },
                                 .timeout = hints->timeout_ms > 0 ? hints->timeout_ms : DEFAULT_TIMEOUT };
    int r = request_check_join(&join);

    if (r == 0) {
        struct caller caller = caller_of(call);

        r = groups_join(the_mount->groups, &caller, join.token, join.rank, &terms, (uint64_t *) &join.group);
    }
    reply_struct(call->req, r, &join, sizeof join);
}

static void do_buffer(struct call *call)
{
    struct sections *sections = atomic_load(&call->handle->sections);
    struct fallsfs_ioc_buffer asked = *(const struct fallsfs_ioc_buffer *) call->in;
    const struct fuse_ctx *ctx = fuse_req_ctx(call->req);
    struct buffer *buffer = NULL;
    int r = request_check_buffer(&asked);

    if (r == 0 && asked.fd == -1) {
        r = sections_drop_buffer(sections, asked.buffer) ? 0 : -ENXIO;
    } else if (r == 0) {
        r = buffers_open(the_mount->buffers, ctx->pid, ctx->uid, asked.fd, asked.len, &buffer);
        if (r == 0)
            asked.buffer = sections_add_buffer(sections, buffer);
    }
    reply_struct(call->req, r, &asked, sizeof asked);
}

/* A board, as the daemon has it. */
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
    const struct fuse_ctx *ctx = fuse_req_ctx(call->req);
    struct shown_board *shown = calloc(1, sizeof *shown);
    int r = shown == NULL ? -ENOMEM
                          : buffers_open(the_mount->buffers, ctx->pid, ctx->uid, offered->fd,
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
        struct caller caller = caller_of(call);

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
        struct caller caller = caller_of(call);

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
        struct caller caller = caller_of(call);

        r = groups_stats(the_mount->groups, &caller, stats.group, &from);
    }
    if (r == 0)
        fill_stats(&answer, &from);
    reply_struct(call->req, r, &answer, sizeof answer);
}

/* What the file is called now. */
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

    if (r == 0 && groups_show(the_mount->groups, fuse_req_ctx(call->req)->uid, asked->after, &shown, &file))
        name_file(file, &shown);
    shown.after = asked->after;
    reply_struct(call->req, r, &shown, sizeof shown);
}

/* -- views -- */

/* As what setting user.falls.view.NAME says; asked for as lasterror of the file. */
static int refuse_view(const struct call *call, int r, const struct layout_error *error)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(call->req);
    const struct asker asker = { ctx->uid, ctx->pid, call->handle->inode->ino };
    char why[REASON_SIZE];

    snprintf(why, sizeof why, "column %zu: %s", error->column, error->why);
    reasons_note(the_mount->reasons, &asker, why);
    return r == -ERANGE || r == -EOVERFLOW ? -EINVAL : r;
}

static int make_view(const struct call *call, const char *text, struct file_view **ret_file_view)
{
    struct layout_error error = { 0 };
    struct fs *fs = the_mount->fs;
    struct view *view;
    int r = view_parse(text, strlen(text), fs->volume->n_disks, &view, &error);

    if (r < 0)
        return error.why[0] != 0 ? refuse_view(call, r, &error) : r;
    r = file_view_new(fs, view, ret_file_view);
    view_put(view);
    return r;
}

static int make_ticket(const struct call *call, struct file_view *file_view, struct node **ret_node)
{
    static const mode_t mode[] = { [O_RDONLY] = 0400, [O_WRONLY] = 0200, [O_RDWR] = 0600 };
    const struct fuse_ctx *ctx = fuse_req_ctx(call->req);
    int how = call->handle->flags & O_ACCMODE;
    const struct ticket ticket = { .uid = ctx->uid, .gid = ctx->gid, .mode = mode[how], .can_open = how };

    return nodes_enter_ticket(the_mount->nodes, call->handle->inode, file_view, &ticket, ret_node);
}

static void do_view(struct call *call)
{
    struct fallsfs_ioc_view asked = *(const struct fallsfs_ioc_view *) call->in;
    struct file_view *file_view;
    struct node *node;
    int r = request_check_view(&asked);

    if (r == 0)
        r = make_view(call, asked.text, &file_view);
    if (r == 0)
        r = make_ticket(call, file_view, &node);
    if (r == 0) {
        snprintf(asked.path, sizeof asked.path, ".falls/open/%s", node->name);
        node_put(the_mount->nodes, atomic_exchange(&call->handle->ticket, node));
    }
    reply_struct(call->req, r, &asked, sizeof asked);
}

/* -- which one -- */

struct ioctl {
    unsigned cmd;
    void (*act)(struct call *call);
};

static const struct ioctl ioctls[] = {
    { FALLSFS_IOC_INFO, do_info },       { FALLSFS_IOC_JOIN, do_join },   { FALLSFS_IOC_BUFFER, do_buffer },
    { FALLSFS_IOC_SECTION, do_section }, { FALLSFS_IOC_FALLS, do_falls }, { FALLSFS_IOC_WAIT, do_wait },
    { FALLSFS_IOC_TEST, do_test },       { FALLSFS_IOC_LEAVE, do_leave }, { FALLSFS_IOC_STATS, do_stats },
    { FALLSFS_IOC_GROUPS, do_groups },   { FALLSFS_IOC_BOARD, do_board }, { FALLSFS_IOC_ROUND, do_round },
    { FALLSFS_IOC_VIEW, do_view },
};

/* Directories have no bytes, so they can only be asked about the mount; sections are those of a file, not of a view. */
static const struct ioctl *find_ioctl(unsigned cmd, const struct handle *handle)
{
    bool has_views = handle->file != NULL, has_sections = has_views && handle->file_view == NULL;

    for (size_t i = 0; i < ARRAY_SIZE(ioctls); i++)
        if (ioctls[i].cmd == cmd && (cmd == FALLSFS_IOC_GROUPS || (cmd == FALLSFS_IOC_VIEW ? has_views : has_sections)))
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
    else if ((flags & FUSE_IOCTL_DIR) == 0 && sections_of(handle) == NULL)
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
    if (keeper_may_reply())
        fuse_reply_poll(req, events);
}

void ops_add_ioctl(struct fuse_lowlevel_ops *ops)
{
    ops->ioctl = op_ioctl;
    ops->poll = op_poll;
}
