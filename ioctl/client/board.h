/* SPDX-License-Identifier: MIT */
/* Where the ranks of a group meet without a call each, on the board that FALLSFS_IOC_BOARD speaks of. All leave their
 * requests there; the last one to come asks for all, and tells the others when it is done:
 *
 *     rank 0    slot ──> waits ........................................> done
 *     rank 1         slot ──> waits ...................................> done
 *     rank 2                            slot ──> last: ROUND ──> tells ──> done
 *
 * Only what goes well goes this way. Whoever has waited for some milliseconds, or cannot take part, closes the board
 * for this round; then each rank asks the daemon for itself, which knows what to do when ranks die, differ or do not
 * come. A round's number makes that safe at any moment: a request that has been made already is only waited for again.
 */
#ifndef FALLSFS_IOCTL_CLIENT_BOARD_H
#define FALLSFS_IOCTL_CLIENT_BOARD_H

#include <stdbool.h>
#include <stdint.h>

struct board;

/* The board of a group that was just joined; NULL: it has none that this process can see, and each asks for itself. */
struct board *board_open(int fd, uint64_t group, uint32_t rank, uint32_t nranks);
void board_close(struct board *board);

/* Asks with all others; cmd and message are those of the ioctl. -EAGAIN: ask for yourself. Else the round's result, and
 * with 0 how long the file was, as the daemon has told the last one to come. */
int board_ask(struct board *board, uint64_t seq, unsigned long cmd, const void *message, uint64_t *ret_file_size);

#define BOARD_N_WORDS 3

/* Before a round a rank may tell the others something, a bit each; once the round is over, and until the rank asks for
 * the next one, it learns what any of them has told. */
void board_tell(struct board *board, uint64_t seq, unsigned words);
unsigned board_told(struct board *board, uint64_t seq);

/* This rank asks for itself in that round. */
void board_pass(struct board *board, uint64_t seq);

#endif
