/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"

#include "ioctl/client/board.h"
#include "layout/layout.h"
#include "layout/section.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#define DEFAULT_TIMEOUT 30000 /* ms, the daemon's */

struct fallsfs_group {
    struct words_group who; /* seq is the last round's */
    struct board *board;    /* NULL: it meets at the daemon */
    pthread_mutex_t lock;   /* one call at a time */
    uint64_t staged;        /* lock; of the last request, bytes that were copied in this process */
};

/* A request: what is wanted, of which file, and where it is to be. */
struct wish {
    int fd;
    struct fallsfs_group *group; /* NULL: alone */
    uint64_t seq;                /* of the group's rounds, once it has been asked for */
    bool write;
    const struct fallsfs_array *array; /* with its section; NULL: a set of FALLS */
    const struct fallsfs_range *section;
    uint64_t disp;
    const char *falls;
    uint8_t *buf;
    uint64_t bytes;
};

/* A request on its way. */
struct fallsfs_ticket {
    struct wish wish;
    struct place place;
    struct nest *pieces; /* the daemon cannot reach our memory: what is to be read without it */
    uint64_t ticket;
    bool accepted; /* the round's result, or a part in it: its number is used up */
};

/* -- the size of what is wanted -- */

static int section_nest(const struct fallsfs_array *array, const struct fallsfs_range section[], struct nest **ret_nest)
{
    struct array what = { .ndims = array->ndims, .order = array->order, .elem = array->elem, .header = array->header };
    struct range range[ARRAY_MAX_DIMS];

    for (uint32_t i = 0; i < MIN(array->ndims, ARRAY_MAX_DIMS); i++) {
        what.size[i] = array->size[i];
        range[i] = (struct range){ section[i].lower, section[i].upper, section[i].stride };
    }
    return section_new(&what, range, ret_nest);
}

static int wish_nest(const struct wish *wish, struct nest **ret_nest)
{
    struct layout_error error;

    return wish->array != NULL ? section_nest(wish->array, wish->section, ret_nest)
                               : nest_parse(wish->falls, strlen(wish->falls), ret_nest, &error);
}

/* No file of this process's may be written behind that, as write() has it; but for the signal. */
static int check_file_size(const struct wish *wish, const struct nest *nest)
{
    struct rlimit limit;
    uint64_t last;

    if (!wish->write || getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        !nest_prev(nest, UINT64_MAX, &last))
        return 0;
    return last < limit.rlim_cur && wish->disp < limit.rlim_cur - last ? 0 : -EFBIG;
}

static int wish_bytes(const struct wish *wish, uint64_t *ret_bytes)
{
    struct nest *nest;
    int r = wish_nest(wish, &nest);

    if (r < 0)
        return r;
    r = check_file_size(wish, nest);
    if (r == 0)
        *ret_bytes = nest->size;
    nest_free(nest);
    return r;
}

uint64_t fallsfs_section_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    const struct wish wish = { .array = array, .section = section };
    uint64_t bytes;

    return wish_bytes(&wish, &bytes) == 0 ? bytes : 0;
}

/* -- requests as the daemon takes them -- */

union message {
    struct fallsfs_ioc_request request;
    struct fallsfs_ioc_section section;
    struct fallsfs_ioc_falls falls;
};

/* Without bytes, the same request for nothing: it counts as this rank's all the same. */
static unsigned long write_message(const struct wish *wish, union message *message)
{
    if (wish->array != NULL) {
        struct fallsfs_ioc_section *section = &message->section;

        *section = (struct fallsfs_ioc_section){ .ndims = wish->array->ndims,
                                                 .order = wish->array->order,
                                                 .elem = wish->array->elem,
                                                 .header = wish->array->header };
        for (uint32_t i = 0; i < MIN(wish->array->ndims, FALLSFS_MAX_DIMS); i++) {
            const struct fallsfs_range *range = &wish->section[i];

            section->size[i] = wish->array->size[i];
            section->range[i] = (struct fallsfs_ioc_range){ range->lower, range->upper, range->stride };
        }
        return FALLSFS_IOC_SECTION;
    }
    message->falls = (struct fallsfs_ioc_falls){ .disp = wish->disp };
    strncpy(message->falls.text, wish->falls, sizeof message->falls.text - 1);
    return FALLSFS_IOC_FALLS;
}

/* For a rank whose memory the daemon cannot reach: nothing, so that the others need not wait. */
static unsigned long write_nothing(union message *message)
{
    message->falls = (struct fallsfs_ioc_falls){ .text = "{}" };
    return FALLSFS_IOC_FALLS;
}

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
    r = board_ask(group->board, message->request.seq, cmd, message);
    ticket->accepted = r != -EAGAIN;
    return r;
}

static int fetch(struct fallsfs_ticket *ticket, unsigned long cmd)
{
    struct fallsfs_ioc_ticket fetch = { .version = FALLSFS_IOCTL_VERSION, .ticket = ticket->ticket };

    return call(ticket->wish.fd, cmd, &fetch);
}

/* A signal ends what is asked for alone, so that signals could keep it from ever being done: not with a ticket. */
static int send_alone(struct fallsfs_ticket *ticket, unsigned long cmd, union message *message)
{
    int r = call_once(ticket->wish.fd, cmd, message);

    if (r != -EINTR)
        return r;
    message->request.flags |= FALLSFS_NOWAIT;
    r = call(ticket->wish.fd, cmd, message);
    ticket->ticket = message->request.ticket;
    return r < 0 ? r : fetch(ticket, FALLSFS_IOC_WAIT);
}

static int send_message(struct fallsfs_ticket *ticket, bool nowait, uint32_t buffer)
{
    const struct wish *wish = &ticket->wish;
    union message message;
    unsigned long cmd = ticket->pieces == NULL ? write_message(wish, &message) : write_nothing(&message);
    int r;

    write_request(wish, nowait, buffer, ticket->place.off, &message.request);
    if (wish->group == NULL)
        return send_alone(ticket, cmd, &message);
    r = send_together(ticket, cmd, &message);
    if (r != -EAGAIN)
        return r;
    r = call(wish->fd, cmd, &message);
    ticket->ticket = message.request.ticket;
    ticket->accepted = message.request.accepted != 0;
    return r;
}

/* The daemon forgets memory with the file it was shown through. */
static int send_with_memory(struct fallsfs_ticket *ticket, bool nowait)
{
    uint32_t buffer = 0;
    int r = 0;

    for (int i = 0; i < 2; i++) {
        r = ticket->pieces == NULL ? place_show(&ticket->place, ticket->wish.fd, &buffer) : 0;
        if (r < 0)
            return r;
        r = send_message(ticket, nowait, buffer);
        if (r != -ENXIO)
            return r;
        place_forget(&ticket->place, ticket->wish.fd);
    }
    return r;
}

/* Whether there is memory that the daemon can be shown for a request; if not, pieces says what is to be moved without
 * it. */
static int reach(struct fallsfs_ticket *ticket)
{
    struct wish *wish = &ticket->wish;
    uint32_t buffer;
    int r = place_find(wish->buf, wish->bytes, &ticket->place);

    if (r == 0)
        r = place_show(&ticket->place, wish->fd, &buffer);
    if (r != -EACCES && r != -EUSERS && r != -EINVAL && r != -ENOMEM)
        return r;
    r = wish_nest(wish, &ticket->pieces);
    if (r < 0)
        return r;
    for (uint32_t i = 0; wish->array == NULL && i < ticket->pieces->n_top; i++) {
        ticket->pieces->node[i].f.l += wish->disp;
        ticket->pieces->node[i].f.r += wish->disp;
    }
    place_done(&ticket->place);
    return 0;
}

static int begin(struct fallsfs_ticket *ticket, bool nowait)
{
    struct wish *wish = &ticket->wish;
    int r = wish_bytes(wish, &wish->bytes);

    if (r == 0)
        r = reach(ticket);
    if (r == 0 && wish->write && ticket->pieces != NULL)
        r = pieces_write(wish->fd, ticket->pieces, wish->buf);
    if (r == 0 && wish->write && ticket->place.staged)
        memcpy(place_bytes(&ticket->place), wish->buf, wish->bytes);
    if (r == 0 && (ticket->pieces == NULL || wish->group != NULL))
        r = send_with_memory(ticket, nowait);
    if (wish->group != NULL) {
        wish->group->staged = ticket->place.staged || ticket->pieces != NULL ? wish->bytes : 0;
        wish->group->who.seq += ticket->accepted;
        wish->seq = wish->group->who.seq;
    }
    return r;
}

/* What is left to do once the daemon has done its part. */
static int end(struct fallsfs_ticket *ticket, int r)
{
    struct wish *wish = &ticket->wish;

    if (r == 0 && !wish->write && ticket->pieces != NULL)
        r = pieces_read(wish->fd, ticket->pieces, wish->buf);
    if (r == 0 && !wish->write && ticket->place.staged)
        memcpy(wish->buf, place_bytes(&ticket->place), wish->bytes);
    place_done(&ticket->place);
    nest_free(ticket->pieces);
    ticket->pieces = NULL;
    return r;
}

static int explain(const struct wish *wish, int r)
{
    struct words_group who = { .fd = wish->fd };

    if (r == 0)
        return 0;
    if (wish->group != NULL)
        who = wish->group->who;
    who.seq = wish->seq;
    return words_request(r, &who, wish->write, wish->array == NULL ? wish->falls : NULL);
}

static int run(const struct wish *wish)
{
    struct fallsfs_ticket ticket = { .wish = *wish };
    int r;

    if (wish->group != NULL)
        pthread_mutex_lock(&wish->group->lock);
    r = end(&ticket, begin(&ticket, false));
    if (wish->group != NULL)
        pthread_mutex_unlock(&wish->group->lock);
    return explain(&ticket.wish, r);
}

/* It is over: says why, if it failed, and frees it. */
static int finish(struct fallsfs_ticket *ticket, int r)
{
    r = explain(&ticket->wish, end(ticket, r));
    free(ticket);
    return r;
}

static int run_later(const struct wish *wish, struct fallsfs_ticket **ret_ticket)
{
    struct fallsfs_ticket *ticket = calloc(1, sizeof *ticket);
    int r;

    if (ticket == NULL)
        return explain(wish, -ENOMEM);
    ticket->wish = *wish;
    pthread_mutex_lock(&wish->group->lock);
    r = begin(ticket, true);
    pthread_mutex_unlock(&wish->group->lock);
    if (r < 0)
        return finish(ticket, r);
    *ret_ticket = ticket;
    return 0;
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

int fallsfs_join(int fd, const uint8_t token[16], uint32_t rank, uint32_t nranks, const struct fallsfs_hints *hints,
                 struct fallsfs_group **ret_group)
{
    const struct fallsfs_hints defaults = { .domains = FALLSFS_DOMAINS_DEFAULT };
    const struct fallsfs_hints *use = hints != NULL ? hints : &defaults;
    struct fallsfs_ioc_join join = {
        .version = FALLSFS_IOCTL_VERSION,
        .rank = rank,
        .nranks = nranks,
        .hints = { use->domains, use->sieve, use->window, use->workers, use->timeout_ms, { 0 } },
    };
    struct fallsfs_group *group = calloc(1, sizeof *group);
    int r;

    if (group == NULL)
        return words(-ENOMEM, "there is not enough memory");
    group->who = (struct words_group){
        .fd = fd, .rank = rank, .nranks = nranks, .timeout_ms = use->timeout_ms > 0 ? use->timeout_ms : DEFAULT_TIMEOUT
    };
    memcpy(join.token, token, sizeof join.token);
    r = call(fd, FALLSFS_IOC_JOIN, &join);
    if (r < 0) {
        words_join(r, &group->who);
        free(group);
        return r;
    }
    group->who.id = join.group;
    group->board = board_open(fd, join.group, rank, nranks);
    pthread_mutex_init(&group->lock, NULL);
    *ret_group = group;
    return 0;
}

int fallsfs_leave(struct fallsfs_group *group)
{
    struct fallsfs_ioc_leave leave = { .version = FALLSFS_IOCTL_VERSION, .group = group->who.id };
    int r = call(group->who.fd, FALLSFS_IOC_LEAVE, &leave);

    if (r < 0)
        words(r, "%s", r == -EPERM ? "the rank belongs to another process: who joined leaves" : strerror(-r));
    board_close(group->board);
    pthread_mutex_destroy(&group->lock);
    free(group);
    return r;
}

int fallsfs_stats(struct fallsfs_group *group, struct fallsfs_ioc_stats *ret_stats, uint64_t *ret_staged)
{
    int r;

    *ret_stats = (struct fallsfs_ioc_stats){ .version = FALLSFS_IOCTL_VERSION, .group = group->who.id };
    r = call(group->who.fd, FALLSFS_IOC_STATS, ret_stats);
    if (r < 0)
        return words(r, "%s", strerror(-r));
    if (ret_staged != NULL) {
        pthread_mutex_lock(&group->lock);
        *ret_staged = group->staged;
        pthread_mutex_unlock(&group->lock);
    }
    return 0;
}

/* -- requests -- */

/* Interfaces take what is written as const; a request has one pointer for both ways. */
static uint8_t *bytes(const void *buf)
{
    return drop_const(buf);
}

int fallsfs_read_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                     const struct fallsfs_range section[], void *buf)
{
    return run(&(struct wish){ .fd = group->who.fd, .group = group, .array = array, .section = section, .buf = buf });
}

int fallsfs_write_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], const void *buf)
{
    return run(&(struct wish){
        .fd = group->who.fd, .group = group, .write = true, .array = array, .section = section, .buf = bytes(buf) });
}

int fallsfs_read_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, void *buf)
{
    return run(&(struct wish){ .fd = group->who.fd, .group = group, .disp = disp, .falls = falls, .buf = buf });
}

int fallsfs_write_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, const void *buf)
{
    return run(&(struct wish){
        .fd = group->who.fd, .group = group, .write = true, .disp = disp, .falls = falls, .buf = bytes(buf) });
}

int fallsfs_iread_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], void *buf, struct fallsfs_ticket **ret_ticket)
{
    return run_later(
        &(struct wish){ .fd = group->who.fd, .group = group, .array = array, .section = section, .buf = buf },
        ret_ticket);
}

int fallsfs_iwrite_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                       const struct fallsfs_range section[], const void *buf, struct fallsfs_ticket **ret_ticket)
{
    return run_later(
        &(struct wish){
            .fd = group->who.fd, .group = group, .write = true, .array = array, .section = section, .buf = bytes(buf) },
        ret_ticket);
}

int fallsfs_wait(struct fallsfs_ticket *ticket)
{
    return finish(ticket, fetch(ticket, FALLSFS_IOC_WAIT));
}

int fallsfs_test(struct fallsfs_ticket *ticket, bool *ret_done)
{
    int r = fetch(ticket, FALLSFS_IOC_TEST);

    *ret_done = r != -EAGAIN;
    return *ret_done ? finish(ticket, r) : 0;
}

int fallsfs_read_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf)
{
    return run(&(struct wish){ .fd = fd, .array = array, .section = section, .buf = buf });
}

int fallsfs_write_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          const void *buf)
{
    return run(&(struct wish){ .fd = fd, .write = true, .array = array, .section = section, .buf = bytes(buf) });
}

int fallsfs_read_falls(int fd, uint64_t disp, const char *falls, void *buf)
{
    return run(&(struct wish){ .fd = fd, .disp = disp, .falls = falls, .buf = buf });
}

int fallsfs_write_falls(int fd, uint64_t disp, const char *falls, const void *buf)
{
    return run(&(struct wish){ .fd = fd, .write = true, .disp = disp, .falls = falls, .buf = bytes(buf) });
}
