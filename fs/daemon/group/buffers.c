/* SPDX-License-Identifier: MIT */
#include "fs/daemon/group/buffers.h"

#include "fs/core/disk/mutex.h"
#include "fs/core/disk/random.h"
#include "fs/daemon/group/trap.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define N_BUCKETS 1024
#define PAGES     1024 /* that are looked at by one call */

/* What a user has shown, maybe several times: to each of several open files. */
struct memory {
    uid_t uid;
    dev_t dev;
    ino_t ino;
    uint64_t len;
    uint8_t *addr;
    bool is_trapped;     /* its holes are not filled by a touch */
    uint32_t n_buffers;  /* buffers->lock */
    struct memory *next; /* buffers->lock */
};

struct buffers {
    struct accounts *accounts;
    uint64_t page;
    int trap;
    struct mutex filling; /* of holes; leaf but for the accounts' */
    struct mutex lock;
    struct memory *bucket[N_BUCKETS]; /* lock; by ino */
};

int buffers_new(struct accounts *accounts, struct buffers **ret_buffers)
{
    struct buffers *buffers = calloc(1, sizeof *buffers);

    if (buffers == NULL)
        return -ENOMEM;
    buffers->accounts = accounts;
    buffers->page = (uint64_t) sysconf(_SC_PAGESIZE);
    buffers->trap = trap_open();
    mutex_init(&buffers->filling);
    mutex_init(&buffers->lock);
    *ret_buffers = buffers;
    return 0;
}

void buffers_free(struct buffers *buffers)
{
    if (buffers == NULL)
        return;
    mutex_done(&buffers->lock);
    if (buffers->trap >= 0)
        close(buffers->trap);
    mutex_done(&buffers->filling);
    free(buffers);
}

/* -- opening -- */

/* What the descriptor is, without opening it: that could wait, or do something. */
static int look_at(pid_t tid, int fd, int *ret_path_fd)
{
    char path[64];
    int path_fd;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int) tid, fd);
    path_fd = open(path, O_PATH | O_CLOEXEC);
    if (path_fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? -EBADF : errno == EPERM ? -EACCES : -errno;
    *ret_path_fd = path_fd;
    return 0;
}

/* Only memory, of one's own: whoever owns a memfd may open it to write anyway, whatever the descriptor is for. */
static int check_memory(int path_fd, uid_t uid, uint64_t len, struct stat *ret_st)
{
    struct statfs fs;

    if (fstat(path_fd, ret_st) < 0 || fstatfs(path_fd, &fs) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode) || fs.f_type != TMPFS_MAGIC || ret_st->st_uid != uid ||
        len > (uint64_t) ret_st->st_size)
        return -EINVAL;
    return 0;
}

/* Files in a tmpfs have all seals that are not set on a memfd made for sealing, none of these. */
static int check_seals(int fd)
{
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & needed) == needed && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) == 0 ? 0
                                                                                                           : -EINVAL;
}

static int map(int path_fd, uint64_t len, uint8_t **ret_addr)
{
    char path[64];
    void *addr;
    int fd, r;

    snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    r = check_seals(fd);
    if (r == 0) {
        addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (addr == MAP_FAILED)
            r = -errno;
        else
            *ret_addr = addr;
    }
    close(fd);
    return r;
}

/* -- memory -- */

static struct memory **bucket_of(struct buffers *buffers, ino_t ino)
{
    return &buffers->bucket[ino % N_BUCKETS];
}

/* The mapping of a file that the user has shown before, with one more buffer counted; NULL: it is not mapped. */
static struct memory *find_memory(struct buffers *buffers, uid_t uid, const struct stat *st, uint64_t len)
{
    struct memory *memory;

    mutex_lock(&buffers->lock);
    memory = *bucket_of(buffers, st->st_ino);
    while (memory != NULL &&
           (memory->uid != uid || memory->dev != st->st_dev || memory->ino != st->st_ino || memory->len != len))
        memory = memory->next;
    if (memory != NULL)
        memory->n_buffers++;
    mutex_unlock(&buffers->lock);
    return memory;
}

static uint64_t whole_pages(const struct buffers *buffers, uint64_t len)
{
    return (len + buffers->page - 1) / buffers->page * buffers->page;
}

/* Two threads may map the same at a time: then it is charged for twice, and mapped twice. */
static int new_memory(struct buffers *buffers, int path_fd, uid_t uid, const struct stat *st, uint64_t len,
                      struct memory **ret_memory)
{
    struct memory *memory = calloc(1, sizeof *memory);
    int r = memory != NULL ? accounts_charge(buffers->accounts, uid, ACCOUNT_BUFFER_BYTES, len) : -ENOMEM;

    if (r == 0) {
        *memory = (struct memory){ .uid = uid, .dev = st->st_dev, .ino = st->st_ino, .len = len, .n_buffers = 1 };
        r = map(path_fd, len, &memory->addr);
        if (r == 0)
            memory->is_trapped = trap_set(buffers->trap, memory->addr, whole_pages(buffers, len));
        else
            accounts_discharge(buffers->accounts, uid, ACCOUNT_BUFFER_BYTES, len);
    }
    if (r < 0) {
        free(memory);
        return r;
    }
    mutex_lock(&buffers->lock);
    memory->next = *bucket_of(buffers, st->st_ino);
    *bucket_of(buffers, st->st_ino) = memory;
    mutex_unlock(&buffers->lock);
    *ret_memory = memory;
    return 0;
}

static void put_memory(struct buffers *buffers, struct memory *memory)
{
    struct memory **at;
    bool unused;

    mutex_lock(&buffers->lock);
    assert(memory->n_buffers > 0);
    unused = --memory->n_buffers == 0;
    if (unused) {
        for (at = bucket_of(buffers, memory->ino); *at != memory; at = &(*at)->next)
            ;
        *at = memory->next;
    }
    mutex_unlock(&buffers->lock);
    if (!unused)
        return;
    (void) munmap(memory->addr, memory->len);
    accounts_discharge(buffers->accounts, memory->uid, ACCOUNT_BUFFER_BYTES, memory->len);
    free(memory);
}

static int open_memory(struct buffers *buffers, pid_t tid, uid_t uid, int fd, uint64_t len, struct memory **ret_memory)
{
    struct stat st;
    int path_fd = -1, r = look_at(tid, fd, &path_fd);

    if (r < 0)
        return r;
    r = check_memory(path_fd, uid, len, &st);
    if (r == 0) {
        *ret_memory = find_memory(buffers, uid, &st, len);
        r = *ret_memory != NULL ? 0 : new_memory(buffers, path_fd, uid, &st, len, ret_memory);
    }
    close(path_fd);
    return r;
}

/* -- buffers -- */

int buffers_open(struct buffers *buffers, pid_t tid, uid_t uid, int fd, uint64_t len, struct buffer **ret_buffer)
{
    struct memory *memory = NULL;
    struct buffer *buffer;
    int r;

    if (tid <= 0)
        return -EACCES; /* in a pid namespace that is not below ours */
    if (len > accounts_bound(buffers->accounts, uid, ACCOUNT_BUFFER_BYTES))
        return -EUSERS; /* whatever it is */
    r = accounts_charge(buffers->accounts, uid, ACCOUNT_BUFFERS, 1);
    if (r < 0)
        return r;
    buffer = calloc(1, sizeof *buffer);
    r = buffer != NULL ? open_memory(buffers, tid, uid, fd, len, &memory) : -ENOMEM;
    if (r < 0) {
        accounts_discharge(buffers->accounts, uid, ACCOUNT_BUFFERS, 1);
        free(buffer);
        return r;
    }
    *buffer = (struct buffer){ .addr = memory->addr, .len = len, .uid = uid, .buffers = buffers, .memory = memory };
    atomic_init(&buffer->refs, 1);
    (void) random_bytes(&buffer->number, sizeof buffer->number); /* without, it has no number: 0 */
    *ret_buffer = buffer;
    return 0;
}

void buffer_ref(struct buffer *buffer)
{
    atomic_fetch_add(&buffer->refs, 1);
}

void buffer_put(struct buffer *buffer)
{
    if (buffer == NULL || atomic_fetch_sub(&buffer->refs, 1) > 1)
        return;
    put_memory(buffer->buffers, buffer->memory);
    accounts_discharge(buffer->buffers->accounts, buffer->uid, ACCOUNT_BUFFERS, 1);
    free(buffer);
}

/* -- holes -- */

/* The system's own name for the memory at an address, by which it can be opened; -1: only for who may look at that. */
static int open_mapped(const struct buffer *buffer)
{
    uint64_t end = whole_pages(buffer->buffers, buffer->len);
    char path[100];

    snprintf(path, sizeof path, "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, (uintptr_t) buffer->addr,
             (uintptr_t) buffer->addr + end);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* What is swapped out is there. Without such a look it counts as holes. */
static uint64_t holes_in(const struct buffer *buffer, uint64_t off, uint64_t len)
{
    off_t at = (off_t) off, end = (off_t) (off + len), hole, data;
    uint64_t holes = 0;
    int fd = open_mapped(buffer);

    if (fd < 0)
        return len;
    while (at < end) {
        hole = lseek(fd, at, SEEK_HOLE);
        if (hole < 0 || hole >= end)
            break;
        data = lseek(fd, hole, SEEK_DATA);
        at = data < 0 ? end : MIN(data, end);
        holes += (uint64_t) (at - hole);
    }
    close(fd);
    return holes;
}

/* Whether each of so many pages is in memory. */
static bool are_there(const uint8_t *addr, uint64_t len, uint64_t page)
{
    unsigned char there[PAGES];

    if (mincore(drop_const(addr), len, there) < 0)
        return false;
    for (uint64_t i = 0; i < len / page; i++)
        if ((there[i] & 1) == 0)
            return false;
    return true;
}

/* Kernels before 5.14 fill it when it is touched. */
static int populate(const struct buffer *buffer, uint8_t *addr, uint64_t len)
{
    if (buffer->memory->is_trapped)
        return trap_fill(buffer->buffers->trap, addr, len, buffer->buffers->page);
    return madvise(addr, len, MADV_POPULATE_WRITE) < 0 && errno != EINVAL ? -EFAULT : 0;
}

/* What is charged for is filled at once, or two threads that look would charge for it twice. */
static int fill(const struct buffer *buffer, uint64_t off, uint64_t len)
{
    struct buffers *buffers = buffer->buffers;
    uint8_t *addr = buffer->addr + off;
    int r = 0;

    mutex_lock(&buffers->filling);
    if (!are_there(addr, len, buffers->page)) {
        r = accounts_charge(buffers->accounts, buffer->uid, ACCOUNT_HOLE_BYTES, holes_in(buffer, off, len));
        if (r == 0)
            r = populate(buffer, addr, len);
    }
    mutex_unlock(&buffers->filling);
    return r;
}

int buffer_ready(void *memory, const uint8_t *at, uint64_t len, bool missed)
{
    const struct buffer *buffer = memory;
    uint64_t page = buffer->buffers->page;
    uint64_t off = (uint64_t) (at - buffer->addr) / page * page;
    uint64_t end = ((uint64_t) (at - buffer->addr) + len + page - 1) / page * page;
    int r = 0;

    if (!missed && buffer->memory->is_trapped)
        return 0;
    for (; r == 0 && off < end; off += MIN(end - off, PAGES * page)) {
        uint64_t part = MIN(end - off, PAGES * page);

        if (!are_there(buffer->addr + off, part, page))
            r = fill(buffer, off, part);
    }
    return r < 0 ? -EFAULT : 0;
}
