/* SPDX-License-Identifier: MIT */
#include "ioctl/board.h"

#include "ioctl/guard.h"

#include <string.h>

#define ROOM (FALLSFS_BOARD_SLOT - FALLSFS_BOARD_REQUEST)

_Static_assert(sizeof(struct fallsfs_ioc_section) <= ROOM, "a section fits into a slot");
_Static_assert(sizeof(struct fallsfs_ioc_list) <= ROOM, "what is said of a list fits into a slot");
_Static_assert(sizeof(struct fallsfs_ioc_falls) > ROOM, "a set of FALLS is cut");

void board_ref(struct board *board)
{
    atomic_fetch_add(&board->refs, 1);
}

void board_put(struct board *board)
{
    if (board != NULL && atomic_fetch_sub(&board->refs, 1) == 1)
        board->free(board);
}

struct copy {
    const uint8_t *slot;
    struct board_request *request;
};

static void copy_slot(void *arg)
{
    const struct copy *copy = arg;
    struct board_request *request = copy->request;

    memcpy(&request->cmd, copy->slot, sizeof request->cmd);
    if (request->cmd == FALLSFS_IOC_SECTION) {
        memcpy(&request->section, copy->slot + FALLSFS_BOARD_REQUEST, sizeof request->section);
    } else if (request->cmd == FALLSFS_IOC_LIST) {
        memcpy(&request->list, copy->slot + FALLSFS_BOARD_REQUEST, sizeof request->list);
    } else if (request->cmd == FALLSFS_IOC_FALLS) {
        memcpy(&request->falls, copy->slot + FALLSFS_BOARD_REQUEST, ROOM);
        memset((uint8_t *) &request->falls + ROOM, 0, sizeof request->falls - ROOM);
    }
}

bool board_read(const struct board *board, uint32_t rank, uint64_t group, uint64_t seq,
                struct board_request *ret_request)
{
    const struct fallsfs_ioc_request *request = &ret_request->request;
    struct copy copy = { board->addr + FALLSFS_BOARD_HEAD + (size_t) rank * FALLSFS_BOARD_SLOT, ret_request };

    if (guard_run(copy_slot, &copy) < 0 ||
        (ret_request->cmd != FALLSFS_IOC_SECTION && ret_request->cmd != FALLSFS_IOC_FALLS &&
         ret_request->cmd != FALLSFS_IOC_LIST))
        return false;
    return request->group == group && request->seq == seq && request->flags == 0;
}
