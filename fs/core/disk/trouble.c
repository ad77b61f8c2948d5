/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/trouble.h"

#include "fs/core/disk/disk.h"

_Thread_local struct errand errand = { .slot = NO_SUBFILE };

struct errand errand_at(uint64_t nodeid, uint32_t slot)
{
    struct errand before = errand;

    errand.nodeid = nodeid;
    errand.slot = slot;
    return before;
}

static void tell(const struct disk *disk, enum trouble_kind kind, const char *call, int error)
{
    const struct trouble trouble = { kind, error, call, disk, errand.nodeid, errand.slot };

    if (disk->watch == NULL)
        return;
    if (kind != TROUBLE_FULL && kind != TROUBLE_ABSENT && kind != TROUBLE_JOB)
        atomic_fetch_add(&disk->watch->n_troubles, 1);
    if (disk->watch->listener != NULL)
        disk->watch->listener->hear(disk->watch->listener->ctx, &trouble);
}

int trouble_tell(const struct disk *disk, enum trouble_kind kind, int error)
{
    tell(disk, kind, NULL, error);
    return error;
}

bool trouble_of_call(const struct disk *disk, const char *call, int error, int seat)
{
    static const int of_disks[] = { EIO,     EROFS,     EUCLEAN,  EBADMSG,   EREMOTEIO,    ESHUTDOWN,   ENOTCONN,
                                    ENOLINK, EHOSTDOWN, ENETDOWN, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENODEV };

    if (seat == WATCH_STALLED)
        return false; /* the disk may answer yet */
    if (error == -EROFS && disk->watch != NULL)
        watch_note_read_only(disk->watch, true);
    if (seat == WATCH_DEAD)
        tell(disk, TROUBLE_DEAD, call, error);
    else if (error == -ENOSPC || error == -EDQUOT)
        tell(disk, TROUBLE_FULL, call, error);
    for (size_t i = 0; seat != WATCH_DEAD && i < ARRAY_SIZE(of_disks); i++)
        if (error == -of_disks[i]) {
            tell(disk, TROUBLE_CALL, call, error);
            return true;
        }
    return false;
}
