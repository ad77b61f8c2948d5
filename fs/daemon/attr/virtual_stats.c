/* SPDX-License-Identifier: MIT */
/* user.falls.stats: what programs have waited for each other in a file, and what was read only to be kept, since
 * somebody has it in use.
 *
 *     getfattr -n user.falls.stats --only-values FILE       range_waits=3 range_wait_ns=81234 reread=65536
 */
#include "fs/core/file/file.h"
#include "fs/daemon/attr/virtual_rows.h"

static uint64_t look(const atomic_uint_least64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

int counts_get(const struct virtual_call *call, FILE *out)
{
    struct file *file;
    int r = file_get(call->fs, call->inode, &file);

    if (r < 0)
        return r;
    fprintf(out, "range_waits=%" PRIu64 " range_wait_ns=%" PRIu64 " reread=%" PRIu64 "\n", look(&file->ranges.n_waits),
            look(&file->ranges.waited_ns), look(&file->reread));
    file_put(call->fs, file);
    return 0;
}
