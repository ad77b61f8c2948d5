/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"

#include "ioctl/client/board.h"
#include "ioctl/client/by_itself.h"
#include "ioctl/request.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT 30000 /* ms, the daemon's */

struct fallsfs_group {
    struct words_group who; /* seq is the last round's */
    struct board *board;    /* NULL: it meets at the daemon */
    bool reads_first;       /* as group_read_first has it */
    struct queue *queue;    /* of a rank by itself, off any mount; else NULL */
    pthread_mutex_t lock;   /* one call at a time */
    uint64_t staged;        /* lock; of the last request, bytes that were copied in this process */
};

/* A request on its way. */
struct fallsfs_ticket {
    struct wish wish;
    struct words_group who; /* as it was when it was asked for: the group may have been left */
    struct spelled spelled; /* until the request is taken */
    struct place place;
    struct place list;        /* of the pieces, until the daemon has taken the request */
    bool apart;               /* the daemon cannot reach our memory: what is wanted is moved beside the round */
    struct wish_bytes pieces; /* that, then */
    struct itself *itself;    /* the daemon has nothing to do with it; NULL: it has */
    uint64_t ticket, file_size;
    bool accepted; /* the round's result, or a part in it: its number is used up */
    pid_t owner;
};

static _Thread_local uint64_t last_size = FALLSFS_SIZE_UNKNOWN;

uint64_t fallsfs_size_last(void)
{
    return last_size;
}

int fallsfs_info(int fd, struct fallsfs_ioc_info *ret_info)
{
    struct fallsfs_ioc_info info;
    int r = call(fd, FALLSFS_IOC_INFO, &info);

    if (r < 0)
        return words_info(r);
    *ret_info = info;
    return 0;
}

/* A daemon that does not know sizes has left 0 there. */
static void note_size(int fd, uint64_t file_size)
{
    struct fallsfs_ioc_info info;

    if (file_size == 0 && (call(fd, FALLSFS_IOC_INFO, &info) < 0 || (info.supports & FALLSFS_SUPPORTS_FILE_SIZE) == 0))
        file_size = FALLSFS_SIZE_UNKNOWN;
    last_size = file_size;
}

/* -- requests as the daemon takes them -- */

/* For a rank whose memory the daemon cannot reach: nothing, so that the others need not wait. */
static unsigned long write_nothing(union message *message)
{
    message->falls = (struct fallsfs_ioc_falls){ .text = "{}" };
    return FALLSFS_IOC_FALLS;
}

/* Without bytes, the same request for nothing: it counts as this rank's all the same. */
static void write_request(const struct wish *wish, bool nowait, uint32_t buffer, uint64_t off,
                          struct fallsfs_ioc_request *request)
{
    *request = (struct fallsfs_ioc_request){ .version = FALLSFS_IOCTL_VERSION,
                                             .direction = wish->write ? FALLSFS_WRITE : FALLSFS_READ,
                                             .flags = nowait ? FALLSFS_NOWAIT : 0,
                                             .buffer = buffer,
                                             .buf_off = off };
    if (wish->group != NULL) {
        request->group = wish->group->who.id;
        request->seq = wish->group->who.seq + 1;
    }
}

/* -- sending -- */

/* With the others, if they can be met. -EAGAIN: they cannot. */
static int send_together(struct fallsfs_ticket *ticket, unsigned long cmd, const union message *message)
{
    const struct fallsfs_group *group = ticket->wish.group;
    int r;

    if (group->board == NULL)
        return -EAGAIN;
    if ((message->request.flags & FALLSFS_NOWAIT) != 0) {
        board_pass(group->board, message->request.seq);
        return -EAGAIN;
    }
    r = board_ask(group->board, message->request.seq, cmd, message, &ticket->file_size);
    ticket->accepted = r != -EAGAIN;
    return r;
}

static int fetch(struct fallsfs_ticket *ticket, unsigned long cmd)
{
    struct fallsfs_ioc_ticket fetch = { .version = FALLSFS_IOCTL_VERSION, .ticket = ticket->ticket };

    int r = call(ticket->wish.fd, cmd, &fetch);

    ticket->file_size = fetch.file_size;
    return r;
}

/* The daemon gives the ticket at once, so that no signal comes between. */
static int send_for_ticket(struct fallsfs_ticket *ticket, unsigned long cmd, union message *message)
{
    int r;

    message->request.flags |= FALLSFS_NOWAIT;
    r = call(ticket->wish.fd, cmd, message);
    ticket->ticket = message->request.ticket;
    return r;
}

/* A signal ends what is asked for alone, so that signals could keep it from ever being done: not with a ticket. */
static int send_alone(struct fallsfs_ticket *ticket, unsigned long cmd, union message *message)
{
    int r;

    if ((message->request.flags & FALLSFS_NOWAIT) != 0)
        return send_for_ticket(ticket, cmd, message);
    r = ioctl_once(ticket->wish.fd, cmd, message);
    ticket->file_size = message->request.file_size;
    if (r != -EINTR)
        return r;
    message->request.file_size = 0;
    r = send_for_ticket(ticket, cmd, message);
    return r < 0 ? r : fetch(ticket, FALLSFS_IOC_WAIT);
}

static int send_message(struct fallsfs_ticket *ticket, bool nowait, uint32_t buffer, uint32_t list_buffer)
{
    const struct wish *wish = &ticket->wish;
    union message message;
    unsigned long cmd = ticket->apart ? write_nothing(&message) : wish_message(wish, &message);
    int r;

    if (cmd == FALLSFS_IOC_LIST) {
        message.list.list_buffer = list_buffer;
        message.list.list_off = ticket->list.off;
    }
    write_request(wish, nowait, buffer, ticket->place.off, &message.request);
    if (wish->group == NULL)
        return send_alone(ticket, cmd, &message);
    r = send_together(ticket, cmd, &message);
    if (r != -EAGAIN)
        return r;
    r = call(wish->fd, cmd, &message);
    ticket->ticket = message.request.ticket;
    ticket->file_size = message.request.file_size;
    ticket->accepted = message.request.accepted != 0;
    return r;
}

/* The daemon forgets memory with the file it was shown through. */
static int send_with_memory(struct fallsfs_ticket *ticket, bool nowait)
{
    uint32_t buffer = 0, list = 0;
    int r = 0;

    for (int i = 0; i < 2; i++) {
        r = place_show(&ticket->place, ticket->wish.fd, &buffer);
        if (r == 0)
            r = place_show(&ticket->list, ticket->wish.fd, &list);
        if (r < 0)
            return r;
        r = send_message(ticket, nowait, buffer, list);
        if (r != -ENXIO)
            return r;
        place_forget(&ticket->place, ticket->wish.fd);
        place_forget(&ticket->list, ticket->wish.fd);
    }
    return r;
}

/* Has memory found for so many bytes, or a copy of them, and shows it to the daemon. */
static int reach_memory(const void *buf, uint64_t len, int fd, struct place *place)
{
    uint32_t buffer;
    int r = place_find(buf, len, place);

    if (r == 0)
        r = place_show(place, fd, &buffer);
    return r == 0 ? place_populate(place, len) : r;
}

/* Whether there is memory that the daemon can be shown for a request. */
static int reach(struct fallsfs_ticket *ticket)
{
    struct wish *wish = &ticket->wish;
    uint64_t list_len = wish->bytes > 0 ? wish_list_len(wish) : 0;
    int r = reach_memory(wish->buf, wish->bytes, wish->fd, &ticket->place);

    if (r == 0 && list_len > 0) {
        r = reach_memory(wish->list->pieces, list_len, wish->fd, &ticket->list);
        if (r == 0 && ticket->list.staged)
            memcpy(place_bytes(&ticket->list), wish->list->pieces, list_len);
    }
    return r;
}

static bool cannot_be_reached(int r)
{
    return r == -EACCES || r == -EUSERS || r == -EINVAL || r == -ENOMEM;
}

static bool reads_first(const struct wish *wish)
{
    return wish->group != NULL && wish->group->reads_first;
}

/* -- without the daemon's help -- */

static int begin_by_itself(struct fallsfs_ticket *ticket, bool nowait)
{
    struct wish *wish = &ticket->wish;
    struct queue *queue = wish->group != NULL ? wish->group->queue : NULL;
    int r = queue == NULL || queue_is_own(queue) ? wish_decode(wish, &ticket->pieces) : -EPERM;

    return r < 0 ? r : itself_begin(wish, &ticket->pieces, queue, nowait, &ticket->itself);
}

static int move_apart(const struct fallsfs_ticket *ticket)
{
    const struct wish *wish = &ticket->wish;
    struct asked asked = wish_asked(&ticket->pieces);
    struct collective_stats stats;

    asked.buf = wish->buf;
    return itself_move(wish->fd, wish->write, &asked, &stats);
}

/* The others are not kept waiting: the daemon is told of a request for nothing, and what is wanted is written before
 * that, or read after it, or before it by who asked for that. */
static int begin_apart(struct fallsfs_ticket *ticket)
{
    const struct wish *wish = &ticket->wish;
    int r = wish_decode(wish, &ticket->pieces);

    ticket->apart = r == 0;
    return r == 0 && (wish->write || reads_first(wish)) ? move_apart(ticket) : r;
}

static int end_apart(const struct fallsfs_ticket *ticket)
{
    const struct wish *wish = &ticket->wish;

    return wish->write || reads_first(wish) ? 0 : move_apart(ticket);
}

/* -- a request -- */

static int begin_at_daemon(struct fallsfs_ticket *ticket, bool nowait)
{
    struct wish *wish = &ticket->wish;
    int r = reach(ticket);

    if (cannot_be_reached(r)) {
        place_done(&ticket->place);
        place_done(&ticket->list);
        r = wish->group != NULL ? begin_apart(ticket) : -ENOTTY;
    }
    if (r == 0 && wish->write && ticket->place.staged)
        memcpy(place_bytes(&ticket->place), wish->buf, wish->bytes);
    if (r == 0)
        r = send_with_memory(ticket, nowait);
    place_done(&ticket->list);
    return r;
}

/* What the daemon did not take, and a rank of another daemon's group may not do without it. */
static int begin(struct fallsfs_ticket *ticket, bool nowait)
{
    struct wish *wish = &ticket->wish;
    struct fallsfs_group *group = wish->group;
    int r = wish_spell(wish, &ticket->spelled);

    if (r == 0)
        r = wish_measure(wish, &wish->bytes);
    if (r == 0 && wish->bytes > 0 && wish->buf == NULL)
        r = -EFAULT;
    if (r == 0)
        r = group != NULL && group->queue != NULL ? -ENOTTY : begin_at_daemon(ticket, nowait);
    if (r == -ENOTTY && (group == NULL || group->queue != NULL)) {
        place_done(&ticket->place);
        r = begin_by_itself(ticket, nowait);
    }
    spelled_done(&ticket->spelled);
    if (group != NULL) {
        group->staged = ticket->place.staged || ticket->apart ? wish->bytes : 0;
        group->who.seq += ticket->accepted || ticket->itself != NULL;
    }
    ticket->who = group != NULL ? group->who : (struct words_group){ .fd = wish->fd };
    return r;
}

/* What is left to do once the daemon has done its part, or a thread of ours. */
static int end(struct fallsfs_ticket *ticket, int r)
{
    struct wish *wish = &ticket->wish;
    bool by_itself = ticket->itself != NULL;

    if (by_itself)
        r = itself_end(steal(ticket->itself), &ticket->file_size);
    else if (r == 0 && ticket->apart)
        r = end_apart(ticket);
    else if (r == 0 && !wish->write && ticket->place.staged)
        memcpy(wish->buf, place_bytes(&ticket->place), wish->bytes);
    place_done(&ticket->place);
    wish_bytes_done(&ticket->pieces);
    if (r == 0 && by_itself)
        last_size = ticket->file_size;
    else if (r == 0)
        note_size(wish->fd, ticket->file_size);
    return r;
}

static void lock_group(const struct wish *wish)
{
    if (wish->group != NULL)
        pthread_mutex_lock(&wish->group->lock);
}

static void unlock_group(const struct wish *wish)
{
    if (wish->group != NULL)
        pthread_mutex_unlock(&wish->group->lock);
}

int wish_run(const struct wish *wish)
{
    struct fallsfs_ticket ticket = { .wish = *wish };
    int r;

    lock_group(wish);
    r = end(&ticket, begin(&ticket, false));
    unlock_group(wish);
    return r < 0 ? words_request(r, &ticket.who, wish) : 0;
}

int wish_begin(const struct wish *wish, struct fallsfs_ticket **ret_ticket)
{
    struct fallsfs_ticket *ticket = calloc(1, sizeof *ticket);
    int r;

    if (ticket == NULL)
        return words(-ENOMEM, "there is not enough memory");
    ticket->wish = *wish;
    ticket->owner = getpid();
    lock_group(wish);
    r = begin(ticket, true);
    if (r < 0)
        r = end(ticket, r);
    unlock_group(wish);
    if (r < 0) {
        words_request(r, &ticket->who, wish);
        free(ticket);
        return r;
    }
    wish_forget(&ticket->wish);
    *ret_ticket = ticket;
    return 0;
}

/* It is over: says why, if it failed, and frees it. */
static int finish(struct fallsfs_ticket *ticket, int r)
{
    r = end(ticket, r);
    if (r < 0)
        words_ticket(r, &ticket->who, &ticket->wish);
    free(ticket);
    return r;
}

/* A child that was forked has a copy of its parent's ticket: what belongs to the request is left to the parent. */
static int let_be(struct fallsfs_ticket *ticket)
{
    int r = words_ticket(-EPERM, &ticket->who, &ticket->wish);

    free(ticket);
    return r;
}

int fallsfs_wait(struct fallsfs_ticket *ticket)
{
    if (ticket->owner != getpid())
        return let_be(ticket);
    return finish(ticket, ticket->itself != NULL ? 0 : fetch(ticket, FALLSFS_IOC_WAIT));
}

static int test(struct fallsfs_ticket *ticket)
{
    if (ticket->itself == NULL)
        return fetch(ticket, FALLSFS_IOC_TEST);
    return itself_is_over(ticket->itself) ? 0 : -EAGAIN;
}

int fallsfs_test(struct fallsfs_ticket *ticket, bool *ret_done)
{
    int r;

    if (ticket->owner != getpid()) {
        *ret_done = true;
        return let_be(ticket);
    }
    r = test(ticket);
    *ret_done = r != -EAGAIN;
    return *ret_done ? finish(ticket, r) : 0;
}

int fallsfs_ticket_fd(const struct fallsfs_ticket *ticket)
{
    return ticket->itself != NULL ? itself_fd(ticket->itself) : ticket->wish.fd;
}

/* -- groups -- */

int fallsfs_token(uint8_t token[16])
{
    ssize_t n;

    do
        n = getrandom(token, 16, 0);
    while (n < 0 && errno == EINTR);
    return n == 16 ? 0 : words(-EIO, "the system has no random numbers to give");
}

/* Whether the file lies on a mount, whatever its daemon knows. */
static bool is_on_mount(int fd)
{
    struct fallsfs_ioc_groups groups = { .version = FALLSFS_IOCTL_VERSION };

    return call(fd, FALLSFS_IOC_GROUPS, &groups) != -ENOTTY;
}

static struct fallsfs_ioc_hints hints_of(const struct fallsfs_hints *hints)
{
    static const struct fallsfs_hints defaults;
    const struct fallsfs_hints *use = hints != NULL ? hints : &defaults;

    return (struct fallsfs_ioc_hints){ use->domains, use->sieve, use->window, use->workers, use->timeout_ms, { 0 } };
}

int fallsfs_hint(int fd, const struct fallsfs_hints *hints)
{
    struct fallsfs_ioc_hint hint = { .version = FALLSFS_IOCTL_VERSION, .hints = hints_of(hints) };
    int r;

    hint.hints.timeout_ms = 0;
    r = request_check_hint(&hint);
    if (r == 0)
        r = call(fd, FALLSFS_IOC_HINT, &hint);
    if (r == -ENOTTY && !is_on_mount(fd))
        r = 0;
    return r < 0 ? words_hint(r, &hint.hints) : 0;
}

/* Off any mount nobody knows of the others: what a rank says of itself is checked. */
static int join_by_itself(struct fallsfs_group *group, const struct fallsfs_ioc_join *join)
{
    int r = request_check_join(join);

    if (r == 0 && is_on_mount(group->who.fd))
        r = -ENOTTY;
    if (r == 0 && (group->queue = queue_new()) == NULL)
        r = -ENOMEM;
    return r;
}

static int join_at_daemon(struct fallsfs_group *group, struct fallsfs_ioc_join *join)
{
    int r = call(group->who.fd, FALLSFS_IOC_JOIN, join);

    if (r == 0) {
        group->who.id = join->group;
        group->board = board_open(group->who.fd, join->group, join->rank, join->nranks);
    }
    return r;
}

int fallsfs_join(int fd, const uint8_t token[16], uint32_t rank, uint32_t nranks, const struct fallsfs_hints *hints,
                 struct fallsfs_group **ret_group)
{
    struct fallsfs_ioc_join join = {
        .version = FALLSFS_IOCTL_VERSION, .rank = rank, .nranks = nranks, .hints = hints_of(hints)
    };
    struct fallsfs_group *group = calloc(1, sizeof *group);
    int r;

    if (group == NULL)
        return words(-ENOMEM, "there is not enough memory");
    group->who = (struct words_group){
        .fd = fd,
        .rank = rank,
        .nranks = nranks,
        .timeout_ms = join.hints.timeout_ms > 0 ? join.hints.timeout_ms : DEFAULT_TIMEOUT,
    };
    memcpy(join.token, token, sizeof join.token);
    r = join_at_daemon(group, &join);
    if (r == -ENOTTY)
        r = join_by_itself(group, &join);
    if (r < 0) {
        words_join(r, &group->who, &join);
        free(group);
        return r;
    }
    pthread_mutex_init(&group->lock, NULL);
    *ret_group = group;
    return 0;
}

static int leave(const struct words_group *who)
{
    struct fallsfs_ioc_leave leave = { .version = FALLSFS_IOCTL_VERSION, .group = who->id };

    return call(who->fd, FALLSFS_IOC_LEAVE, &leave);
}

static int leave_daemon(const struct fallsfs_group *group)
{
    int r = leave(&group->who);

    if (r < 0)
        words(r, "%s", r == -EPERM ? "the rank belongs to another process: who joined leaves" : strerror(-r));
    return r;
}

int fallsfs_leave(struct fallsfs_group *group)
{
    int r = group->queue == NULL ? leave_daemon(group) : 0;

    queue_free(group->queue);
    board_close(group->board);
    pthread_mutex_destroy(&group->lock);
    free(group);
    return r;
}

int group_fd(const struct fallsfs_group *group)
{
    return group->who.fd;
}

void group_place(const struct fallsfs_group *group, uint32_t *ret_rank, uint32_t *ret_nranks)
{
    *ret_rank = group->who.rank;
    *ret_nranks = group->who.nranks;
}

bool group_has_board(const struct fallsfs_group *group)
{
    return group->board != NULL;
}

uint64_t group_rounds(struct fallsfs_group *group)
{
    return group->who.seq;
}

void group_tell(struct fallsfs_group *group, unsigned words)
{
    board_tell(group->board, group->who.seq + 1, words);
}

unsigned group_told(struct fallsfs_group *group)
{
    return board_told(group->board, group->who.seq);
}

void group_give_up(struct fallsfs_group *group)
{
    (void) leave(&group->who);
}

void group_read_first(struct fallsfs_group *group)
{
    group->reads_first = true;
}

int fallsfs_stats(struct fallsfs_group *group, struct fallsfs_ioc_stats *ret_stats, uint64_t *ret_staged)
{
    int r = 0;

    *ret_stats = (struct fallsfs_ioc_stats){ .version = FALLSFS_IOCTL_VERSION, .group = group->who.id };
    if (group->queue != NULL) {
        ret_stats->by_itself = 1;
        queue_stats(group->queue, ret_stats);
    } else {
        r = call(group->who.fd, FALLSFS_IOC_STATS, ret_stats);
    }
    if (r < 0)
        return words(r, "%s", strerror(-r));
    if (ret_staged != NULL) {
        pthread_mutex_lock(&group->lock);
        *ret_staged = group->staged;
        pthread_mutex_unlock(&group->lock);
    }
    return 0;
}
