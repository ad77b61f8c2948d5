/* SPDX-License-Identifier: MIT */
/* Any bytes as a history of ioctls: what programs ask for, in what order, and what happens to them meanwhile. What is
 * accepted makes sense; when all work is done and all time limits are over nobody waits; when all files are closed
 * nothing is left. A history is a line of these, each with bytes of its own behind it; an operand that is missing is 0.
 *
 *     j handle group rank nranks timeout      joins                         J  the same, a raw payload
 *     s handle group seq flags, section       asks                          S
 *     f handle group seq flags, text to \n    asks, in FALLS; * before the  F
 *                                             text and extent, skip, bytes: a tile
 *     m handle group seq flags, list          asks, for a list of pieces    M
 *     w t handle ticket                       waits, tests                  W T
 *     l i handle group                        leaves, reads statistics      L I
 *     p handle     polls                      c handle     closes           k handle     its process dies
 *     ! waiter     interrupts                 d round, result  work is done > seconds    time goes by
 *
 * Raw is a payload of so many bytes (two bytes say how many) at the start of a structure of zeros. */
#include "ioctl/group.h"
#include "layout/layout.h"
#include "layout/section.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

#define MAX_WAITERS 512
#define MAX_AT_WORK 512
#define MAX_LISTS   4096 /* bytes */
#define N_HANDLES   8
#define N_GROUPS    4
#define SECOND      UINT64_C(1000000000)
#define LONG        (UINT64_C(7200) * SECOND) /* longer than any time limit */

struct asking {
    struct waiter waiter;
    int n_answers;
    bool polls;
};

struct history {
    const uint8_t *data;
    size_t size;

    struct groups *groups;
    uint64_t now;
    struct wanted_cache cache[N_HANDLES]; /* as open files have them */
    uint64_t group[N_GROUPS];             /* as joined */
    uint64_t ticket[256];
    uint8_t n_tickets;
    uint64_t n_asks, n_dropped;
    uint64_t lists;       /* bytes of them */
    bool has_no_deadline; /* some group */
    struct round *at_work[MAX_AT_WORK];
    size_t n_at_work;
    struct asking asking[MAX_WAITERS];
    size_t n_asking;
};

/* -- handles of a view -- */

#define VIEW "array(shape=100x7, elem=3, dist=(cyclic(2),block), grid=3x2)"

static uint64_t n_lenses;

static void ref_lens(void *owner)
{
    (void) owner;
    n_lenses++;
}

static void put_lens(void *owner)
{
    (void) owner;
    REQUIRE(n_lenses > 0);
    n_lenses--;
}

/* The odd ones. */
static bool has_lens(uint64_t handle)
{
    return handle % 2 != 0;
}

static void init_caches(struct history *history)
{
    static struct layout *layout;
    struct layout_error error;
    struct lens lens = { .bytes = 1000, .ref = ref_lens, .put = put_lens };

    REQUIRE(layout != NULL || layout_parse(VIEW, strlen(VIEW), 0, &layout, &error) == 0);
    lens.nest = pattern_element(layout->pattern, 3);
    for (size_t i = 0; i < N_HANDLES; i++)
        wanted_cache_init(&history->cache[i], has_lens(i) ? &lens : NULL);
}

/* -- what groups are told -- */

static uint64_t history_now(void *ctx)
{
    return ((struct history *) ctx)->now;
}

static void history_start(void *ctx, struct round *round)
{
    struct history *history = ctx;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < round->n; i++) {
        REQUIRE(round->entry[i].ask != NULL && round->entry[i].ask->write == round->write);
        bytes += wanted_size(round->entry[i].ask->wanted);
    }
    REQUIRE(bytes == round->bytes);
    REQUIRE(history->n_at_work < MAX_AT_WORK);
    history->at_work[history->n_at_work++] = round;
}

static void history_drop(void *ctx, struct ask *ask)
{
    ((struct history *) ctx)->n_dropped++;
    wanted_put(ask->wanted);
    free(ask);
}

static void history_failed(void *ctx, const char *why)
{
    (void) ctx;
    REQUIRE(why[0] != 0);
}

static void note_answer(struct waiter *waiter)
{
    struct asking *asking = (struct asking *) waiter;

    REQUIRE(++asking->n_answers == 1);
    REQUIRE(waiter->result <= 0);
}

/* -- reading -- */

static uint8_t take(struct history *history)
{
    if (history->size == 0)
        return 0;
    history->size--;
    return *history->data++;
}

static void take_bytes(struct history *history, void *to, size_t room)
{
    size_t n = (size_t) take(history) << 8;

    n += take(history);
    n = MIN(MIN(n, history->size), room);
    memcpy(to, history->data, n);
    history->data += n;
    history->size -= n;
}

static void take_line(struct history *history, char *to, size_t room)
{
    size_t n = 0;

    while (history->size > 0 && *history->data != '\n') {
        if (n + 1 < room)
            to[n++] = (char) *history->data;
        (void) take(history);
    }
    (void) take(history);
    to[n] = 0;
}

/* A process each, files and users shared. */
static struct caller take_caller(struct history *history)
{
    uint64_t handle = take(history) % N_HANDLES;

    return (struct caller){ .file = handle / 6, .handle = handle, .process = 1 + handle, .uid = handle == 5 };
}

static uint64_t take_group(struct history *history)
{
    uint8_t i = take(history);

    return i < N_GROUPS ? history->group[i] : i;
}

static struct asking *next_asking(struct history *history)
{
    struct asking *asking = &history->asking[history->n_asking++];

    asking->waiter.answer = note_answer;
    return asking;
}

/* One that can be interrupted. */
static struct asking *expect(struct history *history)
{
    struct asking *asking = next_asking(history);

    (void) groups_expect(history->groups, &asking->waiter);
    return asking;
}

/* -- what happens -- */

static void join(struct history *history, bool raw)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_join join = { .version = FALLSFS_IOCTL_VERSION };
    struct group_terms terms;
    uint64_t group = 0;
    int r;

    if (raw) {
        take_bytes(history, &join, sizeof join);
    } else {
        join.token[0] = take(history) % N_GROUPS;
        join.rank = take(history);
        join.nranks = take(history);
        join.hints.timeout_ms = 1000 * (uint32_t) take(history);
        if (join.hints.timeout_ms == 255000)
            join.hints.timeout_ms = FALLSFS_TIMEOUT_NONE;
    }
    if (request_check_join(&join) < 0)
        return;
    REQUIRE(join.rank < join.nranks && join.nranks <= FALLSFS_MAX_RANKS &&
            (join.hints.timeout_ms <= 3600000 || join.hints.timeout_ms == FALLSFS_TIMEOUT_NONE));
    terms = (struct group_terms){ .nranks = join.nranks,
                                  .hints = { .domains = join.hints.domains,
                                             .sieve = join.hints.sieve,
                                             .window = join.hints.window,
                                             .workers = join.hints.workers },
                                  .timeout = join.hints.timeout_ms > 0 ? join.hints.timeout_ms : 30000 };
    history->has_no_deadline |= join.hints.timeout_ms == FALLSFS_TIMEOUT_NONE;
    r = groups_join(history->groups, &caller, join.token, join.rank, &terms, &group);
    REQUIRE(r <= 0 && (r < 0) == (group == 0));
    if (r == 0)
        history->group[join.token[0] % N_GROUPS] = group;
}

static void take_request(struct history *history, struct fallsfs_ioc_request *request)
{
    request->version = FALLSFS_IOCTL_VERSION;
    request->group = take_group(history);
    request->seq = take(history);
    request->flags = take(history) & 1;
    request->direction = take(history) & 1;
}

/* Takes the reference on wanted. */
static void ask(struct history *history, const struct caller *caller, const struct fallsfs_ioc_request *request,
                struct wanted *wanted)
{
    bool ticket = (request->flags & FALLSFS_NOWAIT) != 0;
    struct asking *asking = expect(history);
    struct ask *ask = calloc(1, sizeof *ask);

    REQUIRE(ask != NULL);
    *ask = (struct ask){ .write = request->direction == FALLSFS_WRITE, .wanted = wanted };
    history->n_asks++;
    if (request->group == 0)
        groups_ask_alone(history->groups, caller, ticket, ask, &asking->waiter);
    else
        groups_ask(history->groups, caller, request->group, request->seq, ticket, ask, &asking->waiter);
    REQUIRE(!ticket || asking->n_answers == 1);
    if (ticket && asking->waiter.result == 0)
        history->ticket[history->n_tickets++] = asking->waiter.ticket;
}

/* As many bytes as the section has elements, inside of the array. */
static void check_section(const struct fallsfs_ioc_section *section, const struct wanted *wanted)
{
    uint64_t bytes = section->elem, last;

    for (uint32_t i = 0; i < section->ndims; i++) {
        const struct fallsfs_ioc_range *range = &section->range[i];

        bytes *= range->lower > range->upper ? 0 : (range->upper - range->lower) / range->stride + 1;
    }
    REQUIRE(wanted->nest->size == bytes);
    REQUIRE(bytes == 0 || (nest_prev(wanted->nest, UINT64_MAX, &last) && last < wanted->array_end));
    REQUIRE(bytes == 0 || nest_select(wanted->nest, 0) >= section->header);
}

static void ask_section(struct history *history, bool raw)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_section section = { .ndims = 0 };
    struct wanted *wanted = NULL;

    if (raw) {
        take_bytes(history, &section, sizeof section);
    } else {
        take_request(history, &section.request);
        section.ndims = take(history) % (FALLSFS_MAX_DIMS + 2);
        section.order = take(history) % 3;
        section.elem = take(history);
        section.header = take(history);
        for (uint32_t i = 0; i < MIN(section.ndims, FALLSFS_MAX_DIMS); i++) {
            section.size[i] = take(history);
            section.range[i].lower = take(history);
            section.range[i].upper = take(history);
            section.range[i].stride = take(history);
        }
    }
    if (request_check(&section.request) < 0 || wanted_section(&history->cache[caller.handle], &section, &wanted) < 0)
        return;
    if (!has_lens(caller.handle))
        check_section(&section, wanted);
    ask(history, &caller, &section.request, wanted);
}

static void ask_falls(struct history *history, bool raw)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_falls falls = { .disp = 0 };
    struct wanted *wanted = NULL;
    uint64_t last;

    if (raw) {
        take_bytes(history, &falls, offsetof(struct fallsfs_ioc_falls, text));
    } else {
        take_request(history, &falls.request);
        falls.disp = take(history);
        if (history->size > 0 && *history->data == '*') { /* a tile */
            (void) take(history);
            falls.extent = take(history);
            falls.skip = take(history);
            falls.bytes = take(history);
        }
    }
    take_line(history, falls.text, sizeof falls.text);
    if (request_check(&falls.request) < 0 || wanted_falls(&history->cache[caller.handle], &falls, &wanted) < 0)
        return;
    REQUIRE(falls.bytes == 0 || wanted->nest->size == falls.bytes);
    REQUIRE(wanted->nest->size == 0 || nest_select(wanted->nest, 0) >= falls.disp);
    REQUIRE(wanted->nest->size == 0 || (nest_prev(wanted->nest, UINT64_MAX, &last) && last < FALLS_LIMIT));
    ask(history, &caller, &falls.request, wanted);
}

/* -- lists -- */

static int charge_list(void *ctx, uint32_t uid, uint64_t bytes)
{
    struct history *history = ctx;

    REQUIRE(uid == 7);
    if (bytes > MAX_LISTS - history->lists)
        return -EUSERS;
    history->lists += bytes;
    return 0;
}

static void discharge_list(void *ctx, uint32_t uid, uint64_t bytes)
{
    struct history *history = ctx;

    REQUIRE(uid == 7 && bytes <= history->lists);
    history->lists -= bytes;
}

/* Ascending, without overlap, and all of it in the file. */
static void check_list(const struct fallsfs_ioc_list *list, const struct wanted *wanted)
{
    const struct asked asked = wanted_asked(wanted);
    uint64_t before = 0, last = 0, len;

    REQUIRE(asked_size(&asked) == list->bytes);
    for (uint64_t k = 0; k < MIN(list->bytes, 200); k += len) {
        uint64_t at = asked_select_run(&asked, k, &len);

        REQUIRE(len > 0 && len <= list->bytes - k && at >= list->disp && (k == 0 || at >= before));
        REQUIRE(asked_rank(&asked, at) == k && asked_rank(&asked, at + len) == k + len);
        before = at + len;
    }
    REQUIRE(list->bytes == 0 || (asked_prev(&asked, UINT64_MAX, &last) && last < FALLS_LIMIT));
}

/* A number that is small, or the raw bytes of one. */
static uint64_t take_number(struct history *history, bool raw)
{
    uint64_t number = 0;

    if (!raw)
        return take(history);
    for (int i = 0; i < 8; i++)
        number = number << 8 | take(history);
    return number;
}

static void ask_list(struct history *history, bool raw)
{
    const struct payer payer = { charge_list, discharge_list, history, 7 };
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_list list = { .n = 0 };
    struct fallsfs_ioc_piece piece[64];
    struct list_source from = { .at = (const uint8_t *) piece };
    struct wanted *wanted = NULL;

    take_request(history, &list.request);
    list.disp = take_number(history, raw);
    list.extent = take_number(history, raw);
    list.skip = take_number(history, raw);
    list.bytes = take_number(history, raw);
    list.list_id = take(history) % 3;
    list.n = from.n = take(history) % (ARRAY_SIZE(piece) + 1);
    for (uint64_t i = 0; i < list.n; i++) {
        piece[i].off = take_number(history, raw);
        piece[i].len = take_number(history, raw);
    }
    if (request_check(&list.request) < 0 || request_check_list(&list) < 0 ||
        wanted_list(&history->cache[caller.handle], &list, &from, &payer, &wanted) < 0)
        return;
    check_list(&list, wanted);
    ask(history, &caller, &list.request, wanted);
}

static void fetch(struct history *history, bool raw, bool patient)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_ticket ticket = { .version = FALLSFS_IOCTL_VERSION };
    struct asking *asking;

    if (raw)
        take_bytes(history, &ticket, sizeof ticket);
    else
        ticket.ticket = history->ticket[take(history)];
    if (request_check_ticket(&ticket) < 0)
        return;
    asking = expect(history);
    groups_wait(history->groups, &caller, ticket.ticket, patient, &asking->waiter);
    REQUIRE(patient || asking->n_answers == 1);
}

static void leave(struct history *history, bool raw)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_leave leave = { .version = FALLSFS_IOCTL_VERSION };

    if (raw)
        take_bytes(history, &leave, sizeof leave);
    else
        leave.group = take_group(history);
    if (request_check_leave(&leave) == 0)
        REQUIRE(groups_leave(history->groups, &caller, leave.group) <= 0);
}

static void ask_stats(struct history *history, bool raw)
{
    struct caller caller = take_caller(history);
    struct fallsfs_ioc_stats stats = { .version = FALLSFS_IOCTL_VERSION };
    struct group_stats answer;

    if (raw)
        take_bytes(history, &stats, sizeof stats);
    else
        stats.group = take_group(history);
    if (request_check_stats(&stats) == 0 && groups_stats(history->groups, &caller, stats.group, &answer) == 0)
        REQUIRE(answer.error <= 0 && (answer.error < 0 || answer.n_culprits == 0));
}

static void poll_tickets(struct history *history)
{
    struct caller caller = take_caller(history);
    struct asking *asking = next_asking(history);
    int r;

    asking->polls = true;
    r = groups_poll(history->groups, &caller, &asking->waiter);
    REQUIRE(r == GROUPS_NO_TICKETS || r == GROUPS_PENDING || r == GROUPS_READY);
}

static void interrupt(struct history *history)
{
    uint8_t back = take(history);

    if (back < history->n_asking)
        groups_interrupt(history->groups, history->asking[history->n_asking - 1 - back].waiter.number);
}

static void finish(struct history *history, size_t i, int result)
{
    struct round *round = history->at_work[i];

    history->at_work[i] = history->at_work[--history->n_at_work];
    groups_done(history->groups, round, result);
}

static void finish_one(struct history *history)
{
    uint8_t i = take(history), result = take(history);

    if (i < history->n_at_work)
        finish(history, i, -result);
}

static void pass(struct history *history, uint64_t ns)
{
    history->now += ns;
    REQUIRE(groups_tick(history->groups) > history->now);
}

static void happen(struct history *history)
{
    uint8_t what = take(history);
    bool raw = what >= 'A' && what <= 'Z';

    switch (raw ? what - 'A' + 'a' : what) {
    case 'j':
        join(history, raw);
        break;
    case 's':
        ask_section(history, raw);
        break;
    case 'f':
        ask_falls(history, raw);
        break;
    case 'm':
        ask_list(history, raw);
        break;
    case 'w':
    case 't':
        fetch(history, raw, what == 'w' || what == 'W');
        break;
    case 'l':
        leave(history, raw);
        break;
    case 'i':
        ask_stats(history, raw);
        break;
    case 'p':
        poll_tickets(history);
        break;
    case 'c':
        groups_handle_gone(history->groups, take_caller(history).handle);
        break;
    case 'k':
        groups_process_gone(history->groups, take_caller(history).process);
        break;
    case '!':
        interrupt(history);
        break;
    case 'd':
        finish_one(history);
        break;
    case '>':
        pass(history, take(history) * SECOND);
        break;
    default:
        break;
    }
}

/* -- the end -- */

/* Work that is done may begin other work. */
static void finish_all(struct history *history)
{
    while (history->n_at_work > 0)
        finish(history, 0, 0);
}

static void end_all(struct history *history)
{
    struct groups_count count;

    finish_all(history);
    pass(history, LONG);
    finish_all(history);
    for (size_t i = 0; i < history->n_asking; i++)
        REQUIRE(history->asking[i].n_answers == 1 || history->asking[i].polls || history->has_no_deadline);
    for (uint64_t handle = 0; handle < N_HANDLES; handle++)
        groups_handle_gone(history->groups, handle);
    finish_all(history);
    for (size_t i = 0; i < history->n_asking; i++)
        REQUIRE(history->asking[i].n_answers == 1);
    REQUIRE(history->n_dropped == history->n_asks);
    count = groups_count(history->groups);
    REQUIRE(count.groups + count.ranks + count.asks + count.waiters + count.openers + count.users == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct groups_ops ops = { history_now, history_start, history_drop, history_failed };
    static const struct groups_limits limits = {
        .groups = 3, .ranks = 300, .asks = 20, .wanted = 65536, .patience = 10 * SECOND
    };
    struct history *history = calloc(1, sizeof *history);

    REQUIRE(history != NULL);
    history->data = data;
    history->size = size;
    history->now = 1000 * SECOND;
    init_caches(history);
    REQUIRE(groups_new(&ops, history, &limits, &history->groups) == 0);
    while (history->size > 0 && history->n_asking < MAX_WAITERS)
        happen(history);
    end_all(history);
    groups_free(history->groups);
    for (size_t i = 0; i < N_HANDLES; i++)
        wanted_cache_done(&history->cache[i]);
    REQUIRE(history->lists == 0 && n_lenses == 0);
    free(history);
    return 0;
}
