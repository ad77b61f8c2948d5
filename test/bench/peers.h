/* SPDX-License-Identifier: MIT */
/* What one would write by hand instead of using layout/: round-robin striping with div and mod, strided copies whose
 * constant strides let the compiler vectorise. Built with everything the machine at hand offers. */
#ifndef FALLSFS_TEST_BENCH_PEERS_H
#define FALLSFS_TEST_BENCH_PEERS_H

#include "layout/base.h"

struct peer_run {
    uint64_t element, sub_off, len;
};

struct peer_run peer_next_run(uint64_t off, uint64_t end, uint64_t unit, uint64_t n);
struct peer_run peer_map(uint64_t off, uint64_t unit, uint64_t n);
uint64_t peer_unmap(uint64_t element, uint64_t sub_off, uint64_t unit, uint64_t n);

/* Twice: as the compiler vectorises for any machine, and for this one. Neither is always the faster. */
typedef void peer_copy(unsigned char *to, const unsigned char *from, size_t len, size_t stride, size_t n);

peer_copy peer_gather_any, peer_scatter_any, peer_gather_native, peer_scatter_native;

#endif
