/* SPDX-License-Identifier: MIT */
/* Makes a trace of what strace has written about any program on any file system:
 *
 *     strace -f -ttt -yy -s 0 -o TRACE -e 'trace=TRACE_STRACE_CALLS' PROGRAM
 *
 *     100 ... openat(AT_FDCWD</>, "f", O_RDWR) = 3</f>          3 is at byte 0
 *     100 ... read(3</f>, ""..., 4096) = 4096           ──>     process 100 reads /f, 0 to 4095
 *     101 ... pwrite64(3</f>, ""..., 8, 512) = 8        ──>     process 101 writes /f, 512 to 519
 *
 * Calls that read or write where the descriptor stands are placed by following open, lseek, dup and fork. Where a
 * descriptor stands that was open before strace began nobody knows: it is thought to be at the beginning, and counted
 * in open_already. Where several processes fork at once, what their calls return, further on, tells whose child it is
 * that is new. Lines that are too long are left out and counted as dropped. Memory maps leave no trace. */
#ifndef FALLSFS_FS_TRACE_TRACE_STRACE_H
#define FALLSFS_FS_TRACE_TRACE_STRACE_H

#include "fs/trace/trace.h"

/* What must be traced; '?' stands before calls that not every machine has. */
#define TRACE_STRACE_CALLS                                                                                             \
    "read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,?open,openat,?openat2,?creat,lseek,dup," \
    "?dup2,dup3,fcntl,?fork,?vfork,clone,?clone3,close,?close_range,ftruncate,copy_file_range,sendfile,execve,exit_group"

/* Adds the accesses to a trace, which then has numbers as after trace_read. -EBADMSG no line of strace is in it, or its
 * options were others; -E2BIG, -ENOMEM, -EIO: ret_why says what. */
int trace_read_strace(FILE *in, struct trace *trace, char ret_why[static TRACE_WHY]);

#endif
