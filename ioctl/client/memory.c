/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MAX_KEPT      8                    /* copies' memory, for the next one */
#define MAX_KEPT_SIZE (UINT64_C(16) << 20) /* of one of them */
#define CHUNK         (UINT64_C(64) << 10) /* of memory that is had from the system at once */
#define SEALS         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Who has been shown an arena. */
struct shown {
    int fd;
    uint32_t buffer;
    struct shown *next;
};

struct arena {
    uint8_t *addr;
    uint64_t len;
    int memfd;
    pid_t owner;         /* who made it; a child sees its parent's, too */
    atomic_uchar *there; /* a bit for each CHUNK of it that is */
    bool busy;           /* of a copy */
    struct shown *shown; /* lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena **arenas; /* lock, with the others; what was allocated, by address */
static size_t n_arenas, max_arenas;
static struct arena *copies[MAX_KEPT];

static uint64_t page_align(uint64_t len)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);

    return (MAX(len, 1) + page - 1) / page * page;
}

/* A file that is too large for this process's limit would be the end of it. */
static bool is_allowed(uint64_t len)
{
    struct rlimit limit;

    return len <= INT64_MAX / 2 && (getrlimit(RLIMIT_FSIZE, &limit) < 0 || page_align(len) <= limit.rlim_cur);
}

void *memory_new(uint64_t len, int *ret_memfd)
{
    void *addr = MAP_FAILED;
    int memfd;

    if (!is_allowed(len))
        return NULL;
    memfd = memfd_create("fallsfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memfd >= 0 && ftruncate(memfd, (off_t) page_align(len)) == 0 && fcntl(memfd, F_ADD_SEALS, SEALS) == 0)
        addr = mmap(NULL, page_align(len), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    if (addr == MAP_FAILED) {
        if (memfd >= 0)
            close(memfd);
        return NULL;
    }
    *ret_memfd = memfd;
    return addr;
}

void memory_free(void *addr, uint64_t len, int memfd)
{
    (void) munmap(addr, page_align(len));
    close(memfd);
}

static struct arena *arena_new(uint64_t len)
{
    struct arena *arena = calloc(1, sizeof *arena);
    uint64_t n_chunks = page_align(len) / CHUNK + 1;

    if (arena != NULL)
        arena->there = calloc(n_chunks / 8 + 1, 1);
    if (arena == NULL || arena->there == NULL || (arena->addr = memory_new(len, &arena->memfd)) == NULL) {
        if (arena != NULL)
            free(arena->there);
        free(arena);
        return NULL;
    }
    arena->len = page_align(len);
    arena->owner = getpid();
    return arena;
}

/* Forgets an arena and the memory of this process in it. Daemons that were shown it are told so, by the descriptor it
 * was shown by: if that is another file by now, the buffer's number is none of that file's, and the call does no harm.
 * A child that was forked has the memory of its parent, and tells nobody. */
static void arena_free(struct arena *arena)
{
    bool own = arena->owner == getpid();

    while (arena->shown != NULL) {
        struct shown *shown = arena->shown;
        struct fallsfs_ioc_buffer forget = { .version = FALLSFS_IOCTL_VERSION, .fd = -1, .buffer = shown->buffer };

        arena->shown = shown->next;
        if (own)
            (void) call(shown->fd, FALLSFS_IOC_BUFFER, &forget);
        free(shown);
    }
    memory_free(arena->addr, arena->len, arena->memfd);
    free(arena->there);
    free(arena);
}

/* -- having it from the system --
 *
 * Memory that nobody has touched is not there yet. The daemon would have it from the system then, at its own expense,
 * and does so for a little of it only. */

static bool is_there(const struct arena *arena, uint64_t chunk)
{
    return (atomic_load_explicit(&arena->there[chunk / 8], memory_order_relaxed) >> chunk % 8 & 1) != 0;
}

/* Kernels before 5.14 have it only for who touches it. Others may be writing there. */
static void touch(uint8_t *addr, uint64_t len)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);

    for (uint64_t off = 0; off < len; off += page)
        (void) __atomic_fetch_or(addr + off, 0, __ATOMIC_RELAXED);
}

static int populate(struct arena *arena, uint64_t first, uint64_t end)
{
    uint8_t *addr = arena->addr + first * CHUNK;
    uint64_t len = MIN(end * CHUNK, arena->len) - first * CHUNK;

    while (madvise(addr, len, MADV_POPULATE_WRITE) < 0) {
        if (errno == EINVAL) {
            touch(addr, len);
            break;
        }
        if (errno != EINTR && errno != EAGAIN)
            return -ENOMEM;
    }
    for (uint64_t chunk = first; chunk < end; chunk++)
        atomic_fetch_or(&arena->there[chunk / 8], (unsigned char) (1U << chunk % 8));
    return 0;
}

int place_populate(const struct place *place, uint64_t len)
{
    struct arena *arena = place->arena;
    uint64_t chunk = place->off / CHUNK, end = (place->off + len + CHUNK - 1) / CHUNK;
    int r = 0;

    if (arena == NULL || len == 0)
        return 0;
    while (r == 0 && chunk < end) {
        uint64_t first = chunk;

        while (chunk < end && !is_there(arena, chunk))
            chunk++;
        if (chunk > first)
            r = populate(arena, first, chunk);
        else
            chunk++;
    }
    return r;
}

/* -- allocated -- */

/* How many arenas begin at or before addr. lock is held. */
static size_t arenas_before(const uint8_t *addr)
{
    size_t lo = 0, hi = n_arenas;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (arenas[mid]->addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool enter(struct arena *arena)
{
    size_t i;

    if (n_arenas == max_arenas) {
        size_t max = MAX(2 * max_arenas, 16);
        struct arena **more = realloc(arenas, max * sizeof(struct arena *));

        if (more == NULL)
            return false;
        arenas = more;
        max_arenas = max;
    }
    i = arenas_before(arena->addr);
    memmove(&arenas[i + 1], &arenas[i], (n_arenas++ - i) * sizeof(struct arena *));
    arenas[i] = arena;
    return true;
}

void *fallsfs_alloc(size_t len)
{
    struct arena *arena = arena_new(len);
    bool entered;

    if (arena == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    entered = enter(arena);
    pthread_mutex_unlock(&lock);
    if (entered)
        return arena->addr;
    arena_free(arena);
    return NULL;
}

void fallsfs_free(void *mem)
{
    struct arena *arena = NULL;
    size_t i;

    if (mem == NULL)
        return;
    pthread_mutex_lock(&lock);
    i = arenas_before(mem);
    if (i > 0 && arenas[i - 1]->addr == mem) {
        arena = arenas[i - 1];
        memmove(&arenas[i - 1], &arenas[i], (n_arenas-- - i) * sizeof(struct arena *));
    }
    if (n_arenas == 0) {
        free(steal(arenas));
        max_arenas = 0;
    }
    pthread_mutex_unlock(&lock);
    if (arena != NULL)
        arena_free(arena);
}

/* -- copies -- */

static struct arena *take_copy(uint64_t len)
{
    struct arena *copy = NULL;
    pid_t self = getpid();

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_KEPT && copy == NULL; i++)
        if (copies[i] != NULL && !copies[i]->busy && copies[i]->owner == self && copies[i]->len >= len)
            copy = copies[i];
    if (copy != NULL)
        copy->busy = true;
    pthread_mutex_unlock(&lock);
    if (copy == NULL && (copy = arena_new(len)) != NULL)
        copy->busy = true;
    return copy;
}

/* Whether a copy may give way to another one: a smaller one that is not in use, or the parent's. */
static bool may_go(const struct arena *copy, uint64_t len)
{
    return copy == NULL || copy->owner != getpid() || (!copy->busy && copy->len < len);
}

/* Keeps it for the next one, or frees it, or what gives way to it. */
static void keep_copy(struct arena *copy)
{
    struct arena **place = NULL, *unused = copy;

    pthread_mutex_lock(&lock);
    copy->busy = false;
    for (size_t i = 0; i < MAX_KEPT && unused != NULL; i++) {
        if (copies[i] == copy)
            unused = NULL;
        else if (may_go(copies[i], copy->len))
            place = &copies[i];
    }
    if (unused != NULL && place != NULL && copy->len <= MAX_KEPT_SIZE) {
        unused = *place;
        *place = copy;
    }
    pthread_mutex_unlock(&lock);
    if (unused != NULL)
        arena_free(unused);
}

__attribute__((destructor)) static void forget_copies(void)
{
    for (size_t i = 0; i < MAX_KEPT; i++)
        if (copies[i] != NULL)
            arena_free(steal(copies[i]));
}

/* -- places -- */

int place_find(const void *buf, uint64_t len, struct place *ret_place)
{
    struct place place = { .staged = false };
    size_t i;

    if (len > 0) {
        pthread_mutex_lock(&lock);
        i = arenas_before(buf);
        if (i > 0) {
            place.off = (uint64_t) ((const uint8_t *) buf - arenas[i - 1]->addr);
            if (place.off < arenas[i - 1]->len && len <= arenas[i - 1]->len - place.off)
                place.arena = arenas[i - 1];
        }
        pthread_mutex_unlock(&lock);
        if (place.arena == NULL) {
            place = (struct place){ .arena = take_copy(len), .staged = true };
            if (place.arena == NULL)
                return -ENOMEM;
        }
    }
    *ret_place = place;
    return 0;
}

uint8_t *place_bytes(const struct place *place)
{
    return place->arena->addr + place->off;
}

void place_done(struct place *place)
{
    if (place->staged)
        keep_copy(place->arena);
    *place = (struct place){ .staged = false };
}

static struct shown **find_shown(struct arena *arena, int fd)
{
    struct shown **at = &arena->shown;

    while (*at != NULL && (*at)->fd != fd)
        at = &(*at)->next;
    return at;
}

int place_show(const struct place *place, int fd, uint32_t *ret_buffer)
{
    struct arena *arena = place->arena;
    struct fallsfs_ioc_buffer show = { .version = FALLSFS_IOCTL_VERSION };
    struct shown *shown;
    int r = 0;

    *ret_buffer = 0;
    if (arena == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    shown = *find_shown(arena, fd);
    if (shown != NULL)
        *ret_buffer = shown->buffer;
    pthread_mutex_unlock(&lock);
    if (shown != NULL)
        return 0;
    show.fd = arena->memfd;
    show.len = arena->len;
    r = call(fd, FALLSFS_IOC_BUFFER, &show);
    shown = r == 0 ? malloc(sizeof *shown) : NULL;
    if (r == 0 && shown == NULL) {
        show.fd = -1;
        (void) call(fd, FALLSFS_IOC_BUFFER, &show);
        r = -ENOMEM;
    }
    if (r < 0)
        return r;
    *ret_buffer = show.buffer;
    pthread_mutex_lock(&lock);
    *shown = (struct shown){ fd, show.buffer, arena->shown };
    arena->shown = shown;
    pthread_mutex_unlock(&lock);
    return 0;
}

void place_forget(const struct place *place, int fd)
{
    struct shown **at, *shown;

    if (place->arena == NULL)
        return;
    pthread_mutex_lock(&lock);
    at = find_shown(place->arena, fd);
    shown = *at;
    if (shown != NULL)
        *at = shown->next;
    pthread_mutex_unlock(&lock);
    free(shown);
}
