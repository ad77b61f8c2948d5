/* SPDX-License-Identifier: MIT */
/* Ioctls that ask for sections, as fallsfs_ioctl.h defines them. A request that waits for other ranks is parked: its
 * thread goes on, and whoever ends the waiting answers it. */
#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/group/collect.h"
#include "fs/daemon/kernel/trim.h"
#include "fs/daemon/ops/ops_ioctl.h"

#include <fcntl.h>

/* -- parked requests -- */

struct parked {
    struct waiter waiter;
    fuse_req_t req;
    uint64_t began;                             /* clock_ns */
    struct view *view;                          /* whose bytes its sizes count, with a reference; NULL: the file's */
    enum { A_REQUEST, A_TICKET, A_ROUND } what; /* which struct is sent back */
    union {
        struct fallsfs_ioc_request request;
        struct fallsfs_ioc_ticket ticket;
        struct fallsfs_ioc_round round;
    };
};

static void answer_parked(struct waiter *waiter)
{
    struct parked *parked = (struct parked *) waiter;
    uint64_t size = parked->view != NULL ? view_len(parked->view, waiter->file_size) : waiter->file_size;

    switch (parked->what) {
    case A_REQUEST:
        parked->request.bytes = waiter->bytes;
        parked->request.ticket = waiter->ticket;
        parked->request.file_size = size;
        parked->request.accepted = waiter->accepted;
        reply_waiter(parked->req, parked->began, waiter->result, &parked->request, sizeof parked->request);
        break;
    case A_TICKET:
        parked->ticket.bytes = waiter->bytes;
        parked->ticket.file_size = size;
        reply_waiter(parked->req, parked->began, waiter->result, &parked->ticket, sizeof parked->ticket);
        break;
    case A_ROUND:
        parked->round.file_size = size;
        parked->round.accepted = waiter->accepted;
        reply_waiter(parked->req, parked->began, waiter->result, &parked->round, sizeof parked->round);
        break;
    }
    view_put(parked->view);
    free(parked);
}

/* Interrupts a parked request. The kernel may do so at any time, even when the request has been answered: so it is
 * given the waiter's number, not its address. */
static void interrupt(fuse_req_t req, void *number)
{
    (void) req;
    groups_interrupt(the_mount->groups, (uintptr_t) number);
}

/* Makes a waiter of a request, which this thread no longer answers then. NULL: the request has been answered already.
 * It can be interrupted before anybody knows the waiter. */
static struct parked *park(const struct call *call)
{
    fuse_req_t req = call->req;
    struct parked *parked;
    uintptr_t number;

    if (!deadlines_may_reply())
        return NULL;
    parked = calloc(1, sizeof *parked);
    if (parked == NULL) {
        request_ends(req, -ENOMEM);
        reply_error(req, ENOMEM);
        return NULL;
    }
    parked->waiter.answer = answer_parked;
    parked->req = req;
    parked->began = request_now()->began;
    if (call->handle->file_view != NULL)
        parked->view = view_ref(drop_const(file_view_view(call->handle->file_view)));
    number = groups_expect(the_mount->groups, &parked->waiter);
    fuse_req_interrupt_func(req, interrupt, (void *) number); // NOLINT(performance-no-int-to-ptr)
    return parked;
}

/* -- asking -- */

/* Finds the program's memory for an ask. -ENXIO: no such buffer; -EFAULT: the section does not fit into it. */
static int find_memory(struct sections *sections, const struct fallsfs_ioc_request *request, struct collect_ask *ask)
{
    uint64_t size = wanted_size(ask->ask.wanted);

    if (size == 0)
        return 0;
    ask->buffer = sections_buffer(sections, request->buffer);
    if (ask->buffer == NULL)
        return -ENXIO;
    if (request->buf_off > ask->buffer->len || size > ask->buffer->len - request->buf_off)
        return -EFAULT;
    ask->ask.buf = ask->buffer->addr + request->buf_off;
    ask->ask.ready = buffer_ready;
    ask->ask.memory = ask->buffer;
    return 0;
}

static int check_mode(const struct handle *handle, bool write)
{
    int mode = handle->flags & O_ACCMODE;

    return mode == O_RDWR || mode == (write ? O_WRONLY : O_RDONLY) ? 0 : -EBADF;
}

/* Makes an ask of a checked request, which cmd has the words of. It takes over the reference on wanted, also when it
 * fails. */
static int make_ask(fuse_req_t req, struct handle *handle, const struct fallsfs_ioc_request *request, unsigned cmd,
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
                                 .cred = cred_of(req),
                                 .cmd = cmd,
                                 .began = request_now()->is_noted ? request_now()->began : 0 };
    ask->ask.hints = sections_hints(atomic_load(&handle->sections));
    r = find_memory(atomic_load(&handle->sections), request, ask);
    if (r < 0)
        collect_drop(&ask->ask);
    else
        *ret_ask = ask;
    return r;
}

/* -- lists -- */

static int charge_list(void *ctx, uint32_t uid, uint64_t bytes)
{
    return accounts_charge(ctx, uid, ACCOUNT_LIST_BYTES, bytes);
}

static void discharge_list(void *ctx, uint32_t uid, uint64_t bytes)
{
    accounts_discharge(ctx, uid, ACCOUNT_LIST_BYTES, bytes);
    trim_note(bytes);
}

/* Copies a list of pieces, and charges its user. When the user has too much already, all lists and plans that are only
 * remembered are forgotten first, whoever they are for. */
static int copy_list(struct sections *sections, const struct fallsfs_ioc_list *list, const struct list_source *from,
                     uint32_t uid, struct wanted **ret_wanted)
{
    const struct payer payer = { charge_list, discharge_list, the_mount->accounts, uid };
    int r = wanted_list(&sections->wanted, list, from, &payer, ret_wanted);

    if (r != -EUSERS)
        return r;
    handles_each_sections(the_mount->handles, sections_forget_lists);
    groups_forget_plans(the_mount->groups);
    return wanted_list(&sections->wanted, list, from, &payer, ret_wanted);
}

/* Finds or copies the list of pieces that is asked for. -ENXIO: no such buffer; -EFAULT: the buffer does not hold the
 * whole list. */
static int find_list(fuse_req_t req, struct sections *sections, const struct fallsfs_ioc_list *list,
                     struct wanted **ret_wanted)
{
    uint32_t number = list->list_buffer != 0 ? list->list_buffer : list->request.buffer;
    struct list_source from = { .n = list->n, .ready = buffer_ready };
    struct buffer *buffer;
    int r = request_check_list(list);

    if (r < 0)
        return r;
    if (list->bytes == 0)
        return wanted_list(&sections->wanted, list, &from, NULL, ret_wanted);
    if (list->n > LIST_MAX_PIECES)
        return -E2BIG;
    buffer = sections_buffer(sections, number);
    if (buffer == NULL)
        return -ENXIO;
    if (list->list_off > buffer->len || list->n * sizeof(struct fallsfs_ioc_piece) > buffer->len - list->list_off) {
        r = -EFAULT;
    } else {
        from.at = buffer->addr + list->list_off;
        from.memory = buffer;
        r = copy_list(sections, list, &from, cred_of(req).uid, ret_wanted);
    }
    buffer_put(buffer);
    return r;
}

/* -- any of them -- */

static void ask_or_fail(struct call *call, unsigned cmd, const struct fallsfs_ioc_request *request, int r,
                        struct wanted *wanted)
{
    bool ticket = (request->flags & FALLSFS_NOWAIT) != 0;
    struct collect_ask *ask = NULL;
    struct parked *parked;
    struct caller caller;

    if (r == 0)
        r = make_ask(call->req, call->handle, request, cmd, wanted, &ask);
    if (r < 0) {
        reply_status(call->req, r);
        return;
    }
    caller = call_caller(call);
    parked = park(call);
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

void ioctl_section(struct call *call)
{
    const struct fallsfs_ioc_section *section = call->in;
    struct wanted *wanted = NULL;
    int r = check_request(call->handle, &section->request);

    if (r == 0)
        r = wanted_section(&atomic_load(&call->handle->sections)->wanted, section, &wanted);
    ask_or_fail(call, FALLSFS_IOC_SECTION, &section->request, r, wanted);
}

void ioctl_falls(struct call *call)
{
    const struct fallsfs_ioc_falls *falls = call->in;
    struct wanted *wanted = NULL;
    int r = check_request(call->handle, &falls->request);

    if (r == 0)
        r = wanted_falls(&atomic_load(&call->handle->sections)->wanted, falls, &wanted);
    ask_or_fail(call, FALLSFS_IOC_FALLS, &falls->request, r, wanted);
}

void ioctl_list(struct call *call)
{
    const struct fallsfs_ioc_list *list = call->in;
    struct wanted *wanted = NULL;
    int r = check_request(call->handle, &list->request);

    if (r == 0)
        r = find_list(call->req, atomic_load(&call->handle->sections), list, &wanted);
    ask_or_fail(call, FALLSFS_IOC_LIST, &list->request, r, wanted);
}

/* -- asking for all ranks of a board -- */

static int wanted_on_board(fuse_req_t req, struct sections *sections, const struct board_request *found,
                           struct wanted **ret_wanted)
{
    switch (found->cmd) {
    case FALLSFS_IOC_SECTION:
        return wanted_section(&sections->wanted, &found->section, ret_wanted);
    case FALLSFS_IOC_LIST:
        return find_list(req, sections, &found->list, ret_wanted);
    default:
        return wanted_falls(&sections->wanted, &found->falls, ret_wanted);
    }
}

/* Makes the ask that a rank has left on the board, as if the rank had asked through its own open file. */
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
        r = wanted_on_board(req, atomic_load(&handle->sections), &found, &wanted);
    if (r == 0)
        r = make_ask(req, handle, &found.request, (unsigned) found.cmd, wanted, &ask);
    if (r == 0) {
        ask->cred.pid = sections_member(atomic_load(&handle->sections));
        *ret_ask = &ask->ask;
    }
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
            return -EAGAIN; /* the rank whose ask is wrong is told why when it asks by itself */
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

void ioctl_round(struct call *call)
{
    const struct fallsfs_ioc_round *round = call->in;
    cleanup(gathering_done) struct gathering gathering = { 0 };
    cleanup(freep) struct ask **ask = NULL;
    struct caller caller = call_caller(call);
    struct parked *parked;
    int r = request_check_round(round);

    if (r == 0)
        r = gather_asks(call, &caller, round, &gathering, &ask);
    if (r < 0) {
        reply_status(call->req, r);
        return;
    }
    parked = park(call);
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
    caller = call_caller(call);
    parked = park(call);
    if (parked == NULL)
        return;
    parked->what = A_TICKET;
    parked->ticket = *ticket;
    groups_wait(the_mount->groups, &caller, ticket->ticket, patient, &parked->waiter);
}

void ioctl_wait(struct call *call)
{
    fetch(call, true);
}

void ioctl_test(struct call *call)
{
    fetch(call, false);
}
