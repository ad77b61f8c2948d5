/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/scratch.h"

#include "fs/core/disk/random.h"
#include "fs/core/volume/costs.h"
#include "fs/core/volume/stamp.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MIB       (UINT64_C(1) << 20)
#define PAGE      4096
#define FOLLOWING (64 * MIB) /* bytes of the first part, at most */
#define SPOTS     64         /* at most */
#define STRIDE    (4 * MIB)  /* at least: farther than what is near on any disk, and than disks read ahead */

/* -- the file -- */

/* Opens a file that nobody finds: one that never had a name, or, on NFS, has lost it at once. */
static int open_nameless(const struct disk *disk, int flags)
{
    int fd = disk_call(disk, open, disk->root, ".", O_TMPFILE | O_RDWR | flags, 0600);

    if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -ENOENT)
        return fd;
    fd = disk_call(disk, open, disk->root, COSTS_SCRATCH, O_RDWR | O_CREAT | O_TRUNC | flags, 0600);
    if (fd >= 0)
        (void) disk_call(disk, unlink, disk->root, COSTS_SCRATCH, 0);
    return fd;
}

static int ask_disk(struct scratch *scratch, enum scratch_how how, uint64_t off, uint32_t bytes)
{
    struct iovec iov = { scratch->buffer, bytes };
    ssize_t n = how == SCRATCH_READ ? disk_call(&scratch->disk, preadv, scratch->fd, &iov, 1, off, false)
                                    : disk_call(&scratch->disk, pwritev, scratch->fd, &iov, 1, off);

    return n < 0 ? (int) n : n == (ssize_t) bytes ? 0 : -EIO;
}

static int sync_all(struct scratch *scratch)
{
    return disk_call(&scratch->disk, sync, scratch->fd, SYNC_DATA);
}

/* Finds the smallest request that goes past the cache; false: none does. */
static bool find_unit(struct scratch *scratch)
{
    for (scratch->unit = 512; scratch->unit <= PAGE; scratch->unit *= 2)
        if (ask_disk(scratch, SCRATCH_WRITE, scratch->unit, scratch->unit) == 0 &&
            ask_disk(scratch, SCRATCH_READ, scratch->unit, scratch->unit) == 0)
            return true;
    return false;
}

/* Without direct I/O whole pages are read and written, none of them ahead. */
static int open_file(struct scratch *scratch)
{
    scratch->fd = open_nameless(&scratch->disk, O_DIRECT);
    scratch->direct = scratch->fd >= 0 && find_unit(scratch);
    if (scratch->direct)
        return 0;
    disk_close(&scratch->disk, &scratch->fd);
    scratch->fd = open_nameless(&scratch->disk, 0);
    scratch->unit = PAGE;
    if (scratch->fd < 0)
        return scratch->fd;
    return -posix_fadvise(scratch->fd, 0, 0, POSIX_FADV_RANDOM);
}

/* How large it may be; 0: there is too little room. */
static uint64_t size_of(uint64_t avail, uint64_t most)
{
    uint64_t size = MIN(most, avail / SCRATCH_SHARE) / MIB * MIB;

    return size >= SCRATCH_LEAST ? size : 0;
}

/* Some file systems cannot set room aside: there the file has holes, and its spots lie as they come. */
static int set_size(struct scratch *scratch)
{
    int r = disk_call(&scratch->disk, allocate, scratch->fd, 0, 0, scratch->size);

    return r == -EOPNOTSUPP || r == -EINVAL ? disk_call(&scratch->disk, truncate, scratch->fd, scratch->size) : r;
}

static uint64_t spot_at(const struct scratch *scratch, uint32_t spot)
{
    return scratch->size / 4 + spot * scratch->stride;
}

/* Writes a MiB in each of n places, from on and step apart, as many as the time is enough for, but no fewer than least.
 */
static int fill(struct scratch *scratch, uint64_t from, uint64_t step, uint64_t least, uint64_t ns, uint64_t *n)
{
    uint64_t until = clock_ns() + ns;
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < *n; i++) {
        if (i >= least && clock_ns() > until) {
            *n = i;
            break;
        }
        r = ask_disk(scratch, SCRATCH_WRITE, from + i * step, SCRATCH_REQUEST);
        if (r == 0 && !scratch->direct)
            r = sync_all(scratch); /* else memory would tell how quick it is */
    }
    return r == 0 ? sync_all(scratch) : r;
}

static int fill_all(struct scratch *scratch, uint64_t ns)
{
    uint64_t n_following = MIN(scratch->size / 4, FOLLOWING) / MIB;
    uint64_t n_spots = MIN((scratch->size - scratch->size / 4) / STRIDE, SPOTS);
    int r = fill(scratch, 0, MIB, 4, ns / 2, &n_following);

    scratch->stride = (scratch->size - scratch->size / 4) / n_spots / MIB * MIB;
    if (r == 0)
        r = fill(scratch, spot_at(scratch, 0), scratch->stride, 2, ns / 2, &n_spots);
    scratch->following = n_following * MIB;
    scratch->n_spots = (uint32_t) n_spots;
    return r;
}

/* -- the disk -- */

/* Opens the disk, and acts as its owner from then on. */
static int open_disk(struct scratch *scratch, const char *path, char why[static ATTRS_WHY])
{
    struct disk *disk = &scratch->disk;
    int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int r = dir < 0 ? -errno : 0;

    if (r == 0)
        disk->root = r = disk_call(disk, open, dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (dir >= 0)
        close(dir);
    if (r >= 0)
        r = disk_call(disk, stat, disk->root, "", &st);
    if (r < 0)
        return attrs_refuse(why, r, "cannot open %s/" STAMP_DIR ": %s", path, strerror(-r));
    if (flock(disk->root, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) /* some file systems cannot */
        return attrs_refuse(why, -EBUSY, "%s is being measured by somebody else", path);
    scratch->owner = (struct cred){ .uid = st.st_uid, .gid = st.st_gid, .umask = 077 };
    r = disk_call(disk, assume, &scratch->owner);
    scratch->is_owner = r == 0;
    return r < 0 ? attrs_refuse(why, r, "%s: cannot act as user %u, whose it is: %s", path, (unsigned) st.st_uid,
                                strerror(-r))
                 : 0;
}

static int make(struct scratch *scratch, uint64_t most, uint64_t ns, char why[static ATTRS_WHY])
{
    const char *path = scratch->path;
    struct statvfs st;
    int r = disk_call(&scratch->disk, statfs, scratch->disk.root, &st);

    if (r < 0)
        return attrs_refuse(why, r, "%s: %s", path, strerror(-r));
    if ((st.f_flag & ST_RDONLY) != 0)
        return attrs_refuse(why, -EROFS, "%s is read-only: what is to be measured has to be written first", path);
    scratch->size = size_of((uint64_t) st.f_bavail * st.f_frsize, most);
    if (scratch->size == 0)
        return attrs_refuse(why, -ENOSPC,
                            "%s has too little room: %" PRIu64 " MiB must be free, of which measuring takes %" PRIu64
                            " for a moment",
                            path, SCRATCH_SHARE * SCRATCH_LEAST / MIB, SCRATCH_LEAST / MIB);
    r = open_file(scratch);
    if (r == 0)
        r = set_size(scratch);
    if (r == 0)
        r = fill_all(scratch, ns);
    return r < 0 ? attrs_refuse(why, r, "%s: cannot write what is to be measured: %s", path, strerror(-r)) : 0;
}

int scratch_init(struct scratch *scratch, const char *path, uint64_t most, uint64_t ns, char ret_why[static ATTRS_WHY])
{
    int r;

    *scratch = (struct scratch){ .path = path, .disk = { .ops = &disk_local_ops, .root = -1, .lock = -1 }, .fd = -1 };
    scratch->buffer = aligned_alloc(PAGE, SCRATCH_REQUEST);
    r = scratch->buffer == NULL ? -ENOMEM : random_bytes(scratch->buffer, SCRATCH_REQUEST);
    if (r < 0) {
        free(scratch->buffer);
        return attrs_refuse(ret_why, r, "%s", strerror(-r));
    }
    r = open_disk(scratch, path, ret_why);
    if (r == 0)
        r = make(scratch, most, ns, ret_why);
    if (r < 0)
        scratch_done(scratch);
    return r;
}

void scratch_done(struct scratch *scratch)
{
    disk_close(&scratch->disk, &scratch->fd);
    disk_close_root(&scratch->disk);
    if (scratch->is_owner)
        scratch->disk.ops->resume(scratch->disk.ctx);
    free(scratch->buffer);
    scratch->buffer = NULL;
}

/* -- requests -- */

/* Finds the places of n requests apart: never the spot of the one before, and anywhere in it. */
static int find_apart(struct scratch *scratch, uint32_t bytes, uint32_t n, uint64_t off[])
{
    uint32_t random[2 * SCRATCH_REQUESTS];
    int r = random_bytes(random, sizeof random);

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        uint64_t places = SCRATCH_REQUEST / bytes;

        scratch->spot = (scratch->spot + 1 + random[2 * i] % (scratch->n_spots - 1)) % scratch->n_spots;
        off[i] = spot_at(scratch, scratch->spot) + random[2 * i + 1] % places * bytes;
    }
    return r;
}

/* Finds the places of n requests that follow each other, and makes one in front of them: so the disk is there. */
static int find_following(struct scratch *scratch, enum scratch_how how, uint32_t bytes, uint32_t n, uint64_t off[])
{
    uint64_t len = (uint64_t) (n + 1) * bytes, first;

    scratch->next = (scratch->next + bytes - 1) / bytes * bytes;
    if (scratch->next + len > scratch->following)
        scratch->next = 0;
    first = scratch->next;
    for (uint32_t i = 0; i < n; i++)
        off[i] = first + (uint64_t) (i + 1) * bytes;
    scratch->next += len;
    return ask_disk(scratch, how, first, bytes);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* Makes requests until the time is over: how many there were, and the median of what each took. */
static int time_requests(struct scratch *scratch, enum scratch_how how, uint32_t bytes, const uint64_t off[],
                         uint64_t until, uint32_t *n, uint64_t *ret_median)
{
    uint64_t took[SCRATCH_REQUESTS], began = clock_ns();
    uint32_t done = 0;
    int r = 0;

    while (r == 0 && done < *n && (done == 0 || began < until)) {
        uint64_t before = began;

        r = ask_disk(scratch, how, off[done], bytes);
        began = clock_ns();
        took[done++] = began - before;
    }
    qsort(took, done, sizeof took[0], by_size);
    *n = done;
    *ret_median = took[done / 2];
    return r;
}

int scratch_ask(struct scratch *scratch, enum scratch_how how, uint32_t bytes, bool apart, uint64_t ns, uint32_t *ret_n,
                uint64_t *ret_ns)
{
    uint32_t n = (uint32_t) MIN(SCRATCH_REQUESTS, scratch->following / bytes - 1);
    uint64_t off[SCRATCH_REQUESTS], median = 0, began;
    int r = 0;

    if (!scratch->direct)
        r = -posix_fadvise(scratch->fd, 0, 0, POSIX_FADV_DONTNEED);
    if (r == 0)
        r = apart ? find_apart(scratch, bytes, n, off) : find_following(scratch, how, bytes, n, off);
    if (r == 0)
        r = time_requests(scratch, how, bytes, off, clock_ns() + ns, &n, &median);
    began = clock_ns();
    if (r == 0 && how == SCRATCH_WRITE)
        r = sync_all(scratch);
    if (r < 0)
        return r;
    *ret_n = n;
    *ret_ns = n * median + (how == SCRATCH_WRITE ? clock_ns() - began : 0);
    return 0;
}
