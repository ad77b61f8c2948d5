/* SPDX-License-Identifier: MIT */
#include "test/bench/peers.h"

struct peer_run peer_map(uint64_t off, uint64_t unit, uint64_t n)
{
    uint64_t stripe = off / unit;

    return (struct peer_run){ stripe % n, stripe / n * unit + off % unit, 1 };
}

struct peer_run peer_next_run(uint64_t off, uint64_t end, uint64_t unit, uint64_t n)
{
    struct peer_run run = peer_map(off, unit, n);

    run.len = MIN(unit - off % unit, end - off);
    return run;
}

uint64_t peer_unmap(uint64_t element, uint64_t sub_off, uint64_t unit, uint64_t n)
{
    return (sub_off / unit * n + element) * unit + sub_off % unit;
}
