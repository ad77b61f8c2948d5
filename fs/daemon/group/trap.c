/* SPDX-License-Identifier: MIT */
#include "fs/daemon/group/trap.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

int trap_open(void)
{
    struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM };
    int trap = (int) syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

    if (trap >= 0 && ioctl(trap, UFFDIO_API, &api) < 0) {
        close(trap);
        return -1;
    }
    return trap;
}

bool trap_set(int trap, const uint8_t *addr, uint64_t len)
{
    struct uffdio_register range = { .range = { (uintptr_t) addr, len }, .mode = UFFDIO_REGISTER_MODE_MISSING };

    return trap >= 0 && ioctl(trap, UFFDIO_REGISTER, &range) == 0;
}

int trap_fill(int trap, const uint8_t *addr, uint64_t len, uint64_t page)
{
    uint64_t at = 0;

    while (at < len) {
        struct uffdio_zeropage zero = { .range = { (uintptr_t) addr + at, len - at } };

        if (ioctl(trap, UFFDIO_ZEROPAGE, &zero) == 0)
            return 0;
        if (zero.zeropage > 0)
            at += (uint64_t) zero.zeropage; /* as far as it came */
        else if (errno == EEXIST)
            at += page;
        else if (errno != EAGAIN)
            return -EFAULT;
    }
    return 0;
}
