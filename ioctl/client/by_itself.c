/* SPDX-License-Identifier: MIT */
#include "ioctl/client/by_itself.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x00000020
#endif

/* -- a file as the engine sees it -- */

struct plain {
    int fd;
    int again;    /* the same file without O_DIRECT and O_APPEND, once they stood in the way; -1 */
    bool appends; /* fd does: it must be told each time that it shall not */
};

static int fd_of(const void *ctx)
{
    return ((const struct plain *) ctx)->fd;
}

/* O_DIRECT wants offsets, lengths and memory as the disk has its blocks; sections have them as they come. O_APPEND
 * writes where the file ends, unless the kernel knows better, as it does since Linux 6.9. Opens the file once more,
 * without either. false: neither is why the call failed, or the file cannot be opened. */
static bool open_again(struct plain *plain)
{
    int error = errno, flags = fcntl(plain->fd, F_GETFL);
    bool in_the_way = (error == EINVAL && (flags & O_DIRECT) != 0) || (error == EOPNOTSUPP && plain->appends);
    char path[32];

    if (plain->again >= 0 || flags < 0 || !in_the_way) {
        errno = error;
        return false;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", plain->fd);
    plain->again = open(path, (flags & O_ACCMODE) | O_CLOEXEC);
    plain->appends = false;
    return plain->again >= 0;
}

static int fd_in_use(const struct plain *plain)
{
    return plain->again >= 0 ? plain->again : plain->fd;
}

static ssize_t write_at(const struct plain *plain, const void *bytes, size_t len, off_t at)
{
    const struct iovec iov = { drop_const(bytes), len };

    return plain->appends ? pwritev2(plain->fd, &iov, 1, at, RWF_NOAPPEND) : pwrite(fd_in_use(plain), bytes, len, at);
}

static int store_read(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    struct plain *plain = ctx;
    uint8_t *at = buf;

    (void) only;

    while (len > 0) {
        ssize_t n = pread(fd_in_use(plain), at, len, (off_t) file_off);

        if (n < 0 && (errno == EINTR || open_again(plain)))
            continue;
        if (n < 0)
            return -errno;
        if (n == 0) {
            memset(at, 0, len); /* behind the end of the file */
            return 0;
        }
        at += n;
        file_off += (uint64_t) n;
        len -= (size_t) n;
    }
    return 0;
}

static int store_write(void *ctx, const void *buf, size_t len, uint64_t file_off)
{
    struct plain *plain = ctx;
    const uint8_t *at = buf;

    while (len > 0) {
        ssize_t n = write_at(plain, at, len, (off_t) file_off);

        if (n < 0 && (errno == EINTR || open_again(plain)))
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        file_off += (uint64_t) n;
        len -= (size_t) n;
    }
    return 0;
}

uint64_t itself_size(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 ? (uint64_t) st.st_size : FALLSFS_SIZE_UNKNOWN;
}

static uint64_t store_size(void *ctx)
{
    return itself_size(fd_of(ctx));
}

static size_t store_map(void *ctx, size_t len, uint64_t file_off, bool writes, void **ret_addr)
{
    (void) ctx, (void) len, (void) file_off, (void) writes, (void) ret_addr;
    return 0;
}

static void store_unmap(void *ctx, size_t changed, uint64_t file_off)
{
    (void) ctx, (void) changed, (void) file_off;
}

static void store_prefetch(void *ctx, uint64_t len, uint64_t file_off, const struct selection *only)
{
    (void) only;
    (void) posix_fadvise(fd_of(ctx), (off_t) file_off, (off_t) len, POSIX_FADV_WILLNEED);
}

/* Nobody else would heed a lock. What is written goes piece by piece, so that nothing is written back. */
static int store_lock(void *ctx, uint64_t file_off, uint64_t len)
{
    (void) ctx, (void) file_off, (void) len;
    return -EOPNOTSUPP;
}

static void store_unlock(void *ctx, uint64_t file_off, uint64_t len)
{
    (void) ctx, (void) file_off, (void) len;
}

static uint32_t store_disk(void *ctx, uint64_t file_off, uint64_t *ret_len)
{
    (void) ctx, (void) file_off;
    *ret_len = UINT64_MAX;
    return 0;
}

static void run_each(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    (void) ctx;
    for (uint32_t i = 0; i < n; i++)
        run(arg, i);
}

int itself_move(int fd, bool write, const struct asked *asked, struct collective_stats *ret_stats)
{
    static const struct store_ops ops = { .read = store_read,
                                          .write = store_write,
                                          .size = store_size,
                                          .map = store_map,
                                          .unmap = store_unmap,
                                          .prefetch = store_prefetch,
                                          .lock = store_lock,
                                          .unlock = store_unlock,
                                          .disk = store_disk };
    static const struct executor executor = { .each = run_each, .n_threads = 1 };
    const struct collective_hints hints = { .sieve = write ? SIEVE_OFF : SIEVE_AUTO };
    struct plain plain = { .fd = fd, .again = -1, .appends = write && (fcntl(fd, F_GETFL) & O_APPEND) != 0 };
    const struct store store = {
        .ops = &ops, .ctx = &plain, .n_disks = 1, .cost = { .read_call = 50000, .read_kib = 300, .write_call = 4000 }
    };
    struct collective_plan *plan;
    int r;

    *ret_stats = (struct collective_stats){ .asked = 0 };
    if (asked_size(asked) == 0)
        return 0;
    r = collective_plan_new(asked, 1, write, 0, &hints, &store, 1, &plan);
    if (r < 0)
        return r;
    r = collective_run(plan, asked, &store, &executor, ret_stats);
    collective_plan_free(plan);
    if (plain.again >= 0)
        close(plain.again);
    return r;
}

/* -- one after the other -- */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t served;
    pid_t owner;                   /* a child has none of the threads that serve it */
    uint64_t n_given, n_served;    /* lock */
    uint64_t n_calls;              /* lock; that went well */
    struct collective_stats stats; /* lock; of the last one */
};

struct queue *queue_new(void)
{
    struct queue *queue = calloc(1, sizeof *queue);

    if (queue == NULL)
        return NULL;
    queue->owner = getpid();
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->served, NULL);
    return queue;
}

bool queue_is_own(const struct queue *queue)
{
    return queue->owner == getpid();
}

void queue_free(struct queue *queue)
{
    if (queue == NULL || !queue_is_own(queue))
        return;
    pthread_mutex_lock(&queue->lock);
    while (queue->n_served < queue->n_given)
        pthread_cond_wait(&queue->served, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    pthread_cond_destroy(&queue->served);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static uint64_t queue_up(struct queue *queue)
{
    uint64_t number;

    pthread_mutex_lock(&queue->lock);
    number = queue->n_given++;
    pthread_mutex_unlock(&queue->lock);
    return number;
}

static void queue_wait(struct queue *queue, uint64_t number)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->n_served < number)
        pthread_cond_wait(&queue->served, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

/* Nobody waits for the queue's end before this has let go of it. */
static void queue_next(struct queue *queue, int r, const struct collective_stats *stats)
{
    pthread_mutex_lock(&queue->lock);
    queue->n_served++;
    queue->n_calls += r == 0;
    queue->stats = *stats;
    pthread_cond_broadcast(&queue->served);
    pthread_mutex_unlock(&queue->lock);
}

void queue_stats(struct queue *queue, struct fallsfs_ioc_stats *ret_stats)
{
    const struct sieve_stats *sieve = &queue->stats.sieve;

    pthread_mutex_lock(&queue->lock);
    ret_stats->calls = queue->n_calls;
    ret_stats->asked = queue->stats.asked;
    ret_stats->disk_read = sieve->disk_read;
    ret_stats->disk_written = sieve->disk_written;
    ret_stats->windows = sieve->windows;
    ret_stats->windows_list = sieve->windows_list;
    ret_stats->requests = sieve->requests;
    ret_stats->domains = queue->stats.workers;
    ret_stats->ns_io = sieve->ns_io;
    ret_stats->ns_exchange = sieve->ns_exchange;
    ret_stats->ns_total = queue->stats.ns_total;
    pthread_mutex_unlock(&queue->lock);
}

/* -- requests -- */

struct itself {
    int fd;
    bool write;
    struct wish_bytes bytes;
    uint8_t *buf;
    struct queue *queue; /* NULL: it waits for nobody */
    uint64_t number;     /* in it */
    int result;
    uint64_t file_size;
    pid_t owner; /* a child has not got the thread */
    bool has_thread;
    pthread_t thread;
    int over_fd; /* becomes readable; -1: it is over from the start */
};

static void work(struct itself *itself)
{
    struct asked asked = wish_asked(&itself->bytes);
    struct collective_stats stats;

    asked.buf = itself->buf;
    if (itself->queue != NULL)
        queue_wait(itself->queue, itself->number);
    itself->file_size = itself_size(itself->fd);
    itself->result = itself_move(itself->fd, itself->write, &asked, &stats);
    if (itself->write)
        itself->file_size = itself_size(itself->fd);
    if (itself->queue != NULL)
        queue_next(itself->queue, itself->result, &stats);
}

static void *run(void *arg)
{
    const uint64_t one = 1;
    struct itself *itself = arg;

    work(itself);
    while (write(itself->over_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* The thread takes no signals: they are the program's. False: there is none to be had. */
static bool start(struct itself *itself)
{
    sigset_t all, before;
    int r;

    itself->over_fd = eventfd(0, EFD_CLOEXEC);
    if (itself->over_fd < 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&itself->thread, NULL, run, itself);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        return true;
    close(itself->over_fd);
    itself->over_fd = -1;
    return false;
}

int itself_begin(const struct wish *wish, struct wish_bytes *bytes, struct queue *queue, bool nowait,
                 struct itself **ret_itself)
{
    struct itself *itself = calloc(1, sizeof *itself);

    if (itself == NULL)
        return -ENOMEM;
    *itself = (struct itself){ .fd = wish->fd,
                               .write = wish->write,
                               .bytes = *bytes,
                               .buf = wish->buf,
                               .queue = queue,
                               .owner = getpid(),
                               .over_fd = -1 };
    *bytes = (struct wish_bytes){ .nest = NULL };
    if (queue != NULL)
        itself->number = queue_up(queue);
    itself->has_thread = nowait && start(itself);
    if (!itself->has_thread)
        work(itself);
    *ret_itself = itself;
    return 0;
}

int itself_fd(const struct itself *itself)
{
    return itself->over_fd;
}

bool itself_is_over(const struct itself *itself)
{
    struct pollfd poll_fd = { .fd = itself->over_fd, .events = POLLIN };

    return !itself->has_thread || itself->owner != getpid() || poll(&poll_fd, 1, 0) > 0;
}

int itself_end(struct itself *itself, uint64_t *ret_file_size)
{
    int r = itself->owner == getpid() ? 0 : -EPERM;

    if (r == 0 && itself->has_thread)
        pthread_join(itself->thread, NULL);
    if (r == 0) {
        r = itself->result;
        *ret_file_size = itself->file_size;
    }
    if (itself->over_fd >= 0)
        close(itself->over_fd);
    wish_bytes_done(&itself->bytes);
    free(itself);
    return r;
}
