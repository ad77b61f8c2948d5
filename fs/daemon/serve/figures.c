/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/figures.h"

#include "layout/clock.h"

struct figures figures;

const char *operation_name(enum operation operation)
{
    static const char *const name[N_OPERATIONS] = {
        [OPERATION_LOOKUP] = "lookup",
        [OPERATION_GETATTR] = "getattr",
        [OPERATION_SETATTR] = "setattr",
        [OPERATION_READLINK] = "readlink",
        [OPERATION_MKNOD] = "mknod",
        [OPERATION_MKDIR] = "mkdir",
        [OPERATION_UNLINK] = "unlink",
        [OPERATION_RMDIR] = "rmdir",
        [OPERATION_SYMLINK] = "symlink",
        [OPERATION_RENAME] = "rename",
        [OPERATION_LINK] = "link",
        [OPERATION_OPEN] = "open",
        [OPERATION_READ] = "read",
        [OPERATION_WRITE] = "write",
        [OPERATION_FLUSH] = "flush",
        [OPERATION_RELEASE] = "release",
        [OPERATION_FSYNC] = "fsync",
        [OPERATION_OPENDIR] = "opendir",
        [OPERATION_READDIR] = "readdir",
        [OPERATION_READDIRPLUS] = "readdirplus",
        [OPERATION_RELEASEDIR] = "releasedir",
        [OPERATION_FSYNCDIR] = "fsyncdir",
        [OPERATION_STATFS] = "statfs",
        [OPERATION_SETXATTR] = "setxattr",
        [OPERATION_GETXATTR] = "getxattr",
        [OPERATION_LISTXATTR] = "listxattr",
        [OPERATION_REMOVEXATTR] = "removexattr",
        [OPERATION_CREATE] = "create",
        [OPERATION_IOCTL] = "ioctl",
        [OPERATION_POLL] = "poll",
        [OPERATION_FALLOCATE] = "fallocate",
        [OPERATION_LSEEK] = "lseek",
        [OPERATION_COPY_FILE_RANGE] = "copy_file_range",
    };

    return operation < N_OPERATIONS ? name[operation] : "a request";
}

void figures_note_request(enum operation operation, uint64_t began, ssize_t r)
{
    bool moves = operation == OPERATION_READ || operation == OPERATION_WRITE || operation == OPERATION_COPY_FILE_RANGE;
    struct tally *tally = &figures.operation[operation];

    tally_note(tally, clock_ns() - began, moves && r > 0 ? (uint64_t) r : 0);
    if (r < 0)
        tally_note_error(tally);
}
