/* SPDX-License-Identifier: MIT */
#include "fs/daemon/buffers.h"

#include "fs/core/random.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOT 4

struct owner {
    uid_t uid;
    uint32_t n;
    uint64_t bytes;
    struct owner *next;
};

struct buffers {
    pthread_mutex_t lock;
    struct owner *owners; /* lock; of those who have any */
};

int buffers_new(struct buffers **ret_buffers)
{
    struct buffers *buffers = calloc(1, sizeof *buffers);

    if (buffers == NULL)
        return -ENOMEM;
    pthread_mutex_init(&buffers->lock, NULL);
    *ret_buffers = buffers;
    return 0;
}

void buffers_free(struct buffers *buffers)
{
    if (buffers == NULL)
        return;
    pthread_mutex_destroy(&buffers->lock);
    free(buffers);
}

/* -- what a user may have -- */

static struct owner **find_owner(struct buffers *buffers, uid_t uid)
{
    struct owner **at = &buffers->owners;

    while (*at != NULL && (*at)->uid != uid)
        at = &(*at)->next;
    return at;
}

static int charge(struct buffers *buffers, uid_t uid, uint64_t len)
{
    uint32_t share = uid == 0 ? ROOT : 1;
    struct owner **at, *owner;
    int r = 0;

    pthread_mutex_lock(&buffers->lock);
    at = find_owner(buffers, uid);
    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL)
        (*at)->uid = uid;
    owner = *at;
    if (owner == NULL) {
        r = -ENOMEM;
    } else if (owner->n >= share * BUFFERS_MAX_NUMBER || len > share * BUFFERS_MAX_BYTES - owner->bytes) {
        r = -EUSERS;
    } else {
        owner->n++;
        owner->bytes += len;
    }
    if (owner != NULL && owner->n == 0) {
        *at = owner->next;
        free(owner);
    }
    pthread_mutex_unlock(&buffers->lock);
    return r;
}

static void discharge(struct buffers *buffers, uid_t uid, uint64_t len)
{
    struct owner **at, *owner;

    pthread_mutex_lock(&buffers->lock);
    at = find_owner(buffers, uid);
    owner = *at;
    owner->bytes -= len;
    if (--owner->n == 0) {
        *at = owner->next;
        free(owner);
    }
    pthread_mutex_unlock(&buffers->lock);
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
static int check_memory(int path_fd, uid_t uid, uint64_t len)
{
    struct statfs fs;
    struct stat st;

    if (fstat(path_fd, &st) < 0 || fstatfs(path_fd, &fs) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || fs.f_type != TMPFS_MAGIC || st.st_uid != uid || len > (uint64_t) st.st_size)
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

static int open_memory(pid_t tid, uid_t uid, int fd, uint64_t len, uint8_t **ret_addr)
{
    int path_fd = -1, r = look_at(tid, fd, &path_fd);

    if (r < 0)
        return r;
    r = check_memory(path_fd, uid, len);
    if (r == 0)
        r = map(path_fd, len, ret_addr);
    close(path_fd);
    return r;
}

int buffers_open(struct buffers *buffers, pid_t tid, uid_t uid, int fd, uint64_t len, struct buffer **ret_buffer)
{
    struct buffer *buffer;
    uint8_t *addr = NULL;
    int r;

    if (tid <= 0)
        return -EACCES; /* in a pid namespace that is not below ours */
    r = charge(buffers, uid, len);
    if (r < 0)
        return r;
    r = open_memory(tid, uid, fd, len, &addr);
    buffer = r == 0 ? calloc(1, sizeof *buffer) : NULL;
    if (r == 0 && buffer == NULL) {
        (void) munmap(addr, len);
        r = -ENOMEM;
    }
    if (r < 0) {
        discharge(buffers, uid, len);
        return r;
    }
    *buffer = (struct buffer){ .addr = addr, .len = len, .uid = uid, .buffers = buffers };
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
    (void) munmap(buffer->addr, buffer->len);
    discharge(buffer->buffers, buffer->uid, buffer->len);
    free(buffer);
}
