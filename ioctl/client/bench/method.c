/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/method.h"

#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/pieces.h"
#include "layout/base.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#define UNFILLED UINT32_MAX /* no generation */

struct member {
    const struct method_set *set;
    uint32_t rank, nranks;
    uint32_t task; /* that the rest is for */
    struct fallsfs_range section[FALLSFS_MAX_DIMS];
    uint64_t bytes;
    void *buf;
    uint32_t generation; /* that buf is filled with */
    void **state;        /* of each method on each file, NULL: none yet */
};

static void **state_of(const struct member *member, const struct squad_order *order)
{
    return &member->state[order->method * member->set->n_paths + order->file];
}

static void drop_task(struct member *member)
{
    const struct method_set *set = member->set;

    for (uint32_t i = 0; i < set->n_methods * set->n_paths; i++)
        if (member->state[i] != NULL) {
            set->method[i / set->n_paths]->close(member->state[i]);
            member->state[i] = NULL;
        }
    if (member->buf != NULL)
        set->release(steal(member->buf));
}

static int take_task(struct member *member, const struct squad_order *order)
{
    drop_task(member);
    member->task = order->task;
    member->generation = UNFILLED;
    if (order->method == SQUAD_NOTHING) {
        malloc_trim(0); /* or it would look as if the next one needed less */
        return 0;
    }
    deal_section(&order->deal, &order->array, member->rank, member->nranks, member->section);
    member->bytes = pieces_bytes(&order->array, member->section);
    member->buf = member->set->alloc(MAX(member->bytes, 1));
    return member->buf != NULL ? 0 : -ENOMEM;
}

static struct method_request request_of(const struct member *member, const struct squad_order *order, char *why)
{
    return (struct method_request){ member->set->path[order->file],
                                    member->rank,
                                    member->nranks,
                                    order,
                                    member->section,
                                    member->buf,
                                    member->bytes,
                                    why };
}

/* A read that is checked must not find the bytes of the one before. */
static void fill_buffer(struct member *member, const struct squad_order *order)
{
    if (!order->write && order->check) {
        memset(member->buf, 0xA5, member->bytes);
    } else if (order->write && member->generation != order->generation) {
        content_fill_section(member->buf, &order->array, member->section, order->generation);
        member->generation = order->generation;
    }
}

static int prepare(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    struct member *member = ctx;
    struct method_request request;
    int r = member->task != order->task ? take_task(member, order) : 0;

    if (r < 0 || order->method == SQUAD_NOTHING)
        return r;
    request = request_of(member, order, why);
    fill_buffer(member, order);
    if (*state_of(member, order) == NULL)
        r = member->set->method[order->method]->open(&request, state_of(member, order));
    return r;
}

static int act(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    struct member *member = ctx;
    struct method_request request;

    if (order->method == SQUAD_NOTHING)
        return 0;
    request = request_of(member, order, why);
    return member->set->method[order->method]->move(*state_of(member, order), &request);
}

/* What was written is checked in the file, by the leader. */
static int check(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    const struct member *member = ctx;
    uint64_t wrong = order->write || order->method == SQUAD_NOTHING
                         ? UINT64_MAX
                         : content_check_section(member->buf, &order->array, member->section, 0);

    if (wrong == UINT64_MAX)
        return 0;
    snprintf(why, SQUAD_TEXT, "got a wrong byte for byte %" PRIu64 " of the file", wrong);
    return -EIO;
}

static void tell(void *ctx, const struct squad_order *order, struct fallsfs_ioc_stats *ret_stats)
{
    struct member *member = ctx;

    *ret_stats = (struct fallsfs_ioc_stats){ 0 };
    if (order->method != SQUAD_NOTHING && member->set->method[order->method]->tell != NULL)
        member->set->method[order->method]->tell(*state_of(member, order), ret_stats);
}

void method_member(void *set, struct squad *squad, uint32_t rank)
{
    struct member member = { .set = set, .rank = rank, .nranks = squad_nranks(squad) };
    const struct squad_duty duty = { prepare, act, check, tell, &member };

    member.state = calloc((size_t) member.set->n_methods * member.set->n_paths, sizeof(void *));
    if (member.state == NULL)
        return;
    squad_obey(squad, rank, &duty);
    drop_task(&member);
    free(member.state);
}
