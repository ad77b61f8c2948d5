/* SPDX-License-Identifier: MIT */
#include "ioctl/board.h"

#include <string.h>

#define ROOM (FALLSFS_BOARD_SLOT - FALLSFS_BOARD_REQUEST)

_Static_assert(sizeof(struct fallsfs_ioc_section) <= ROOM, "a section fits into a slot");
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

bool board_read(const struct board *board, uint32_t rank, uint64_t group, uint64_t seq,
                struct board_request *ret_request)
{
    const uint8_t *slot = board->addr + FALLSFS_BOARD_HEAD + (size_t) rank * FALLSFS_BOARD_SLOT;
    struct fallsfs_ioc_request *request = &ret_request->request;

    memcpy(&ret_request->cmd, slot, sizeof ret_request->cmd);
    if (ret_request->cmd == FALLSFS_IOC_SECTION) {
        memcpy(&ret_request->section, slot + FALLSFS_BOARD_REQUEST, sizeof ret_request->section);
    } else if (ret_request->cmd == FALLSFS_IOC_FALLS) {
        memcpy(&ret_request->falls, slot + FALLSFS_BOARD_REQUEST, ROOM);
        memset((uint8_t *) &ret_request->falls + ROOM, 0, sizeof ret_request->falls - ROOM);
    } else {
        return false;
    }
    return request->group == group && request->seq == seq && request->flags == 0;
}
