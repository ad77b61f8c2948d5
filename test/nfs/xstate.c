/* SPDX-License-Identifier: MIT */
/* Preloaded into user-mode-linux. It keeps the floating-point and vector registers of its processes in as many bytes as
 * processors once had; since there are processors with matrix registers, the kernel takes them as a whole or not at all
 * (EFAULT), and no process gets started. Here they are made whole.
 *
 *     user-mode-linux   [ x87, SSE, AVX, AVX-512 ]
 *     kernel            [ x87, SSE, AVX, AVX-512 | matrices ... ]      what we do not know of stays as it is
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

#define MAX_XSTATE 65536

typedef long (*ptrace_fn)(enum __ptrace_request request, pid_t pid, void *addr, void *data);

long ptrace(enum __ptrace_request request, ...);

static long set_registers(ptrace_fn next, pid_t pid, void *kind, const struct iovec *some)
{
    static _Alignas(64) char bytes[MAX_XSTATE]; /* one thread of the program traces */
    struct iovec all = { bytes, sizeof bytes };

    if (next(PTRACE_GETREGSET, pid, kind, &all) < 0)
        return -1;
    memcpy(bytes, some->iov_base, some->iov_len < all.iov_len ? some->iov_len : all.iov_len);
    return next(PTRACE_SETREGSET, pid, kind, &all);
}

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_fn next;
    void *addr, *data;
    va_list args;
    pid_t pid;

    va_start(args, request);
    pid = va_arg(args, pid_t);
    addr = va_arg(args, void *);
    data = va_arg(args, void *);
    va_end(args);
    if (next == NULL)
        *(void **) &next = dlsym(RTLD_NEXT, "ptrace");
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (request == PTRACE_SETREGSET && (unsigned long) addr == NT_X86_XSTATE)
        return set_registers(next, pid, addr, data);
    return next(request, pid, addr, data);
}
