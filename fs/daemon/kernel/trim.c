/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/trim.h"

#include <malloc.h>
#include <stdatomic.h>

#define DUE (UINT64_C(4) << 20)

static atomic_uint_least64_t n_freed;

void trim_note(uint64_t bytes)
{
    atomic_fetch_add_explicit(&n_freed, bytes, memory_order_relaxed);
}

void trim_if_due(void)
{
    if (atomic_load_explicit(&n_freed, memory_order_relaxed) < DUE)
        return;
    atomic_store_explicit(&n_freed, 0, memory_order_relaxed);
    (void) malloc_trim(0);
}
