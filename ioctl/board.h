/* SPDX-License-Identifier: MIT */
/* Memory that the ranks of a group share and leave their requests in, FALLSFS_IOC_BOARD has the form. All of them write
 * there at any time: what is found is copied once, and then checked like all that comes in. */
#ifndef FALLSFS_IOCTL_BOARD_H
#define FALLSFS_IOCTL_BOARD_H

#include "ioctl/fallsfs_ioctl.h"
#include "layout/base.h"

#include <stdatomic.h>

#define BOARD_KEY sizeof(((struct fallsfs_ioc_board *) NULL)->key)

struct board {
    atomic_uint refs;
    void (*free)(struct board *board); /* with the last reference */
    const uint8_t *addr;
    uint32_t nranks;
    uint32_t pid; /* what its owner called it */
    int32_t fd;
    uint8_t key[BOARD_KEY];
};

/* A request as a rank left it. */
struct board_request {
    uint32_t cmd; /* FALLSFS_IOC_SECTION, _FALLS or _LIST, nothing else */
    union {
        struct fallsfs_ioc_request request; /* all begin with it */
        struct fallsfs_ioc_section section;
        struct fallsfs_ioc_falls falls;
        struct fallsfs_ioc_list list;
    };
};

void board_ref(struct board *board);
void board_put(struct board *board);

/* False: no request of that round can be there. */
bool board_read(const struct board *board, uint32_t rank, uint64_t group, uint64_t seq,
                struct board_request *ret_request);

#endif
