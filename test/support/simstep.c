/* SPDX-License-Identifier: MIT */
#include "test/support/simstep.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_IO             20000
#define MAX_DEPTH          64
#define MAX_XATTRS         4096
#define SOMEBODY           1234
#define CHOSEN(rng, array) ((array)[rng_below((rng), ARRAY_SIZE(array))])

/* -- a random step -- */

static const char *const names[] = { "a", "a", "b", "b", "c", "d", "e" };
static const char *const odd[] = { ".", "a/..", "a/.", "b/../a", "a//b", "./c" };
static const char *const targets[] = { "a", "b", "b/c", "nowhere", "e", "a/b/c" };
static const char *const xattrs[] = { "user.x", "user.x", "user.y", "user.longer", "user.", "x", "", "nonsense.x" };

static void random_path(struct rng *rng, char *path)
{
    unsigned n = (unsigned) CHOSEN(rng, ((unsigned[]){ 1, 1, 1, 2, 2, 3 }));

    path[0] = 0;
    if (rng_chance(rng, 8)) {
        strcpy(path, CHOSEN(rng, odd));
    } else if (rng_chance(rng, 3)) {
        size_t len = rng_between(rng, 254, 256);

        memset(path, 'n', len);
        path[len] = 0;
    } else {
        for (unsigned i = 0; i < n; i++) {
            strcat(path, i > 0 ? "/" : "");
            strcat(path, CHOSEN(rng, names));
        }
    }
}

static int random_open_flags(struct rng *rng)
{
    int flags = CHOSEN(rng, ((int[]){ O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_RDWR }));

    if (rng_chance(rng, 10))
        return O_PATH | (rng_chance(rng, 30) ? O_DIRECTORY : 0);
    if (rng_chance(rng, 10))
        return O_TMPFILE | flags | (rng_chance(rng, 20) ? O_EXCL : 0);
    if (rng_chance(rng, 20))
        return O_RDONLY | O_DIRECTORY;
    flags |= rng_chance(rng, 60) ? O_CREAT : 0;
    flags |= rng_chance(rng, 15) ? O_EXCL : 0;
    flags |= rng_chance(rng, 10) ? O_TRUNC : 0;
    flags |= rng_chance(rng, 5) ? O_APPEND : 0;
    flags |= rng_chance(rng, 3) ? O_DIRECTORY : 0;
    return (flags & O_CREAT) != 0 || (flags & O_EXCL) == 0 ? flags : flags & ~O_EXCL;
}

static int random_space(struct rng *rng, const struct step_limits *limits)
{
    static const int modes[] = { 0,
                                 FALLOC_FL_KEEP_SIZE,
                                 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 FALLOC_FL_PUNCH_HOLE,
                                 FALLOC_FL_ZERO_RANGE,
                                 FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE };

    return modes[rng_below(rng, ARRAY_SIZE(modes) - (limits->zero_range ? 0 : 2))];
}

/* A mode that is never sticky: who may open what in such a directory is the system's policy (fs.protected_regular). */
static unsigned random_mode(struct rng *rng, const struct step_limits *limits)
{
    unsigned mode = (unsigned) rng_below(rng, 010000) & ~01000U;

    return limits->root ? mode : (mode & 0777) | 0700;
}

static enum sim_call random_call(struct rng *rng, uint32_t skip)
{
    static const enum sim_call calls[] = {
        SIM_OPEN,       SIM_OPEN,         SIM_OPEN,   SIM_OPEN,      SIM_OPEN,      SIM_OPEN,      SIM_CLOSE,
        SIM_CLOSE,      SIM_PREADV,       SIM_PREADV, SIM_PWRITEV,   SIM_PWRITEV,   SIM_PWRITEV,   SIM_TRUNCATE,
        SIM_ALLOCATE,   SIM_SEEK,         SIM_SYNC,   SIM_LOCK,      SIM_STAT,      SIM_STAT,      SIM_READ_DIR,
        SIM_READ_DIR,   SIM_READ_LINK,    SIM_LINK,   SIM_LINK,      SIM_RENAME,    SIM_RENAME,    SIM_RENAME,
        SIM_UNLINK,     SIM_UNLINK,       SIM_UNLINK, SIM_MKDIR,     SIM_MKDIR,     SIM_MKDIR,     SIM_SYMLINK,
        SIM_MKNOD,      SIM_CHMOD,        SIM_CHOWN,  SIM_SET_TIMES, SIM_GET_XATTR, SIM_SET_XATTR, SIM_SET_XATTR,
        SIM_LIST_XATTR, SIM_REMOVE_XATTR,
    };
    enum sim_call call;

    do
        call = CHOSEN(rng, calls);
    while ((skip & SIM_MASK(call)) != 0);
    return call;
}

/* An offset, half of the time that of a whole page: there holes begin and end. */
static uint64_t random_place(struct rng *rng, uint64_t most)
{
    uint64_t x = rng_below(rng, most);

    if (rng_chance(rng, 2))
        return (UINT64_C(1) << 33) + x;
    return rng_chance(rng, 50) ? x / 4096 * 4096 : x;
}

static void random_flags(struct rng *rng, const struct step_limits *limits, struct step *step)
{
    switch (step->call) {
    case SIM_OPEN:
        step->flags = random_open_flags(rng);
        break;
    case SIM_ALLOCATE:
        step->flags = random_space(rng, limits);
        break;
    case SIM_SEEK:
        step->flags = CHOSEN(rng, ((int[]){ SEEK_SET, SEEK_DATA, SEEK_HOLE }));
        break;
    case SIM_SYNC:
        step->flags = CHOSEN(rng, ((int[]){ SYNC_START, SYNC_WAIT, SYNC_DATA, SYNC_ALL }));
        break;
    case SIM_RENAME:
        step->flags = CHOSEN(rng, ((int[]){ 0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, 3 }));
        break;
    case SIM_UNLINK:
        step->flags = rng_chance(rng, 30) ? AT_REMOVEDIR : 0;
        break;
    case SIM_SET_XATTR:
        step->flags = CHOSEN(rng, ((int[]){ 0, 0, 0, XATTR_CREATE, XATTR_REPLACE }));
        step->len = rng_chance(rng, 90) ? rng_below(rng, 200) : rng_chance(rng, 50) ? 70000 : 0;
        break;
    case SIM_GET_XATTR:
    case SIM_LIST_XATTR:
        step->len = CHOSEN(rng, ((uint64_t[]){ 0, 5, 400 }));
        break;
    case SIM_MKNOD:
        step->mode |= CHOSEN(rng, ((unsigned[]){ 0, S_IFREG, S_IFIFO, S_IFSOCK, S_IFDIR, S_IFLNK, S_IFCHR }));
        if (!limits->root && S_ISCHR(step->mode))
            step->mode ^= S_IFCHR ^ S_IFIFO;
        break;
    default:
        break;
    }
}

static bool takes_empty_path(enum sim_call call)
{
    return SIM_MASK(call) & (SIM_MASK(SIM_OPEN) | SIM_MASK(SIM_STAT) | SIM_MASK(SIM_LINK) | SIM_MASK(SIM_CHMOD) |
                             SIM_MASK(SIM_CHOWN) | SIM_MASK(SIM_SET_TIMES) | SIM_MASK(SIM_GET_XATTR) |
                             SIM_MASK(SIM_SET_XATTR) | SIM_MASK(SIM_LIST_XATTR) | SIM_MASK(SIM_REMOVE_XATTR));
}

static bool takes_path(enum sim_call call)
{
    return call == SIM_OPEN || (call >= SIM_STAT && call != SIM_STATFS && call != SIM_READ_DIR && call < SIM_N_CALLS);
}

void step_random(struct rng *rng, const struct step_limits *limits, struct step *ret_step)
{
    *ret_step = (struct step){ .call = random_call(rng, limits->skip) };
    ret_step->slot = (unsigned) rng_below(rng, STEP_SLOTS);
    ret_step->to_slot = rng_chance(rng, 75) ? 0 : (unsigned) rng_below(rng, STEP_SLOTS);
    ret_step->mode = random_mode(rng, limits);
    ret_step->off = random_place(rng, 2 * MAX_IO);
    ret_step->len = rng_chance(rng, 95) ? random_place(rng, MAX_IO) % MAX_IO + 1 : 0;
    ret_step->fill = (unsigned char) rng_between(rng, 1, 255);
    ret_step->xattr = CHOSEN(rng, xattrs);
    random_path(rng, ret_step->path);
    random_path(rng, ret_step->to);
    random_flags(rng, limits, ret_step);
    if (takes_empty_path(ret_step->call) && rng_chance(rng, 25))
        ret_step->path[0] = 0;
    else if (takes_path(ret_step->call) && rng_chance(rng, 75))
        ret_step->slot = 0;
    if (ret_step->call == SIM_SYMLINK)
        strcpy(ret_step->to, CHOSEN(rng, targets));
    ret_step->as_user = limits->root && rng_chance(rng, 20) && strspn(ret_step->path, "abcde") == 1 &&
                        ret_step->path[1] == 0 &&
                        (SIM_MASK(ret_step->call) & (SIM_MASK(SIM_MKDIR) | SIM_MASK(SIM_SYMLINK)));
    if (ret_step->as_user)
        ret_step->slot = 0;
}

void step_print(const struct step *step, FILE *out)
{
    fprintf(out, "call %u slot %u \"%s\" slot %u \"%s\" %s flags %#x mode %#o off %" PRIu64 " len %" PRIu64 "%s",
            step->call, step->slot, step->path, step->to_slot, step->to, step->xattr, (unsigned) step->flags,
            step->mode, step->off, step->len, step->as_user ? " as somebody" : "");
}

/* -- running it -- */

PRINTF_LIKE(2, 3)
static void say(struct outcome *outcome, const char *format, ...)
{
    size_t n = strlen(outcome->s);
    va_list ap;

    va_start(ap, format);
    vsnprintf(outcome->s + n, sizeof outcome->s - n, format, ap);
    va_end(ap);
}

static void say_result(struct outcome *outcome, int64_t r)
{
    if (r < 0)
        say(outcome, "%s", strerrorname_np((int) -r));
    else
        say(outcome, "%" PRId64, r);
}

static uint64_t hash(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void say_stat(struct outcome *outcome, const struct stat *st)
{
    say(outcome, " %#o links %ju owner %u:%u", st->st_mode, (uintmax_t) st->st_nlink, st->st_uid, st->st_gid);
    if (!S_ISDIR(st->st_mode))
        say(outcome, " size %jd", (intmax_t) st->st_size);
    if (S_ISCHR(st->st_mode))
        say(outcome, " rdev %ju", (uintmax_t) st->st_rdev);
}

static int run_open(struct side *side, const struct step *step)
{
    const struct disk_ops *ops = side->ops;
    unsigned slot = step->to_slot != 0 ? step->to_slot : 1 + (unsigned) step->fill % (STEP_SLOTS - 1);
    struct stat st;
    int r = ops->stat(side->ctx, side->fds[step->slot], step->path, &st);

    if (r == 0 && (step->flags & O_PATH) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
        return 0; /* a pipe would wait */
    if (r == 0 && st.st_nlink == 0 && (step->flags & O_TMPFILE) == O_TMPFILE)
        return 0; /* in a directory that is gone: no two agree */
    r = ops->open(side->ctx, side->fds[step->slot], step->path, step->flags, step->mode);
    if (r < 0)
        return r;
    if (side->fds[slot] >= 0)
        (void) ops->close(side->ctx, side->fds[slot]);
    side->fds[slot] = r;
    return 0;
}

static int run_close(struct side *side, unsigned slot)
{
    int r;

    if (slot == 0)
        return 0;
    r = side->ops->close(side->ctx, side->fds[slot]);
    side->fds[slot] = -1;
    return r;
}

/* The bytes in three pieces, one of them empty. */
static void cut_in_three(struct iovec iov[3], unsigned char *bytes, size_t len)
{
    iov[0] = (struct iovec){ .iov_base = bytes, .iov_len = len / 3 };
    iov[1] = (struct iovec){ .iov_base = bytes, .iov_len = 0 };
    iov[2] = (struct iovec){ .iov_base = bytes + len / 3, .iov_len = len - len / 3 };
}

static void run_io(struct side *side, const struct step *step, struct outcome *outcome)
{
    static _Thread_local unsigned char bytes[MAX_IO];
    struct iovec iov[3];
    int fd = side->fds[step->slot];
    ssize_t r;

    cut_in_three(iov, bytes, (size_t) step->len);
    for (size_t i = 0; i < step->len; i++)
        bytes[i] = step->call == SIM_PWRITEV ? (unsigned char) (step->fill + i / 64) : 0;
    if (step->call == SIM_PWRITEV)
        r = side->ops->pwritev(side->ctx, fd, iov, 3, step->off);
    else
        r = side->ops->preadv(side->ctx, fd, iov, 3, step->off, false);
    say_result(outcome, r);
    if (r > 0)
        say(outcome, " %016" PRIx64, hash(bytes, (size_t) r));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

struct listing {
    char *names[256];
    size_t n;
};

static void listing_done(struct listing *listing)
{
    for (size_t i = 0; i < listing->n; i++)
        free(listing->names[i]);
}

/* Lists a directory, few names at a time; each read goes on from where the last entry before it says. */
static int list(struct side *side, int fd, struct listing *ret)
{
    _Alignas(struct dirent64) char buf[600];
    int64_t r = side->ops->seek(side->ctx, fd, 0, SEEK_SET);

    while (r >= 0 && (r = side->ops->read_dir(side->ctx, fd, buf, sizeof buf)) > 0) {
        off64_t next = 0;

        for (char *at = buf; at < buf + r;) {
            const struct dirent64 *entry = (const struct dirent64 *) (void *) at;

            if (ret->n == ARRAY_SIZE(ret->names))
                return -EOVERFLOW;
            ret->names[ret->n++] = strdup(entry->d_name);
            next = entry->d_off;
            at += entry->d_reclen;
        }
        r = side->ops->seek(side->ctx, fd, (uint64_t) next, SEEK_SET);
    }
    qsort(ret->names, ret->n, sizeof ret->names[0], by_name);
    return (int) r;
}

static void run_read_dir(struct side *side, int fd, struct outcome *outcome)
{
    cleanup(listing_done) struct listing listing = { .n = 0 };
    int r = list(side, fd, &listing);

    say_result(outcome, r);
    for (size_t i = 0; r == 0 && i < listing.n; i++)
        say(outcome, " %.20s", listing.names[i]);
}

static void say_xattrs(struct side *side, int dir, const char *path, struct outcome *outcome)
{
    char text[MAX_XATTRS], *found[MAX_XATTRS / 2];
    ssize_t r = side->ops->list_xattr(side->ctx, dir, path, text, sizeof text);
    size_t n = 0;

    for (char *at = text; r > 0 && at < text + r; at += strlen(at) + 1)
        if (strncmp(at, "user.", 5) == 0)
            found[n++] = at;
    qsort(found, n, sizeof found[0], by_name);
    for (size_t i = 0; i < n; i++) {
        char value[MAX_XATTRS];
        ssize_t len = side->ops->get_xattr(side->ctx, dir, path, found[i], value, sizeof value);

        say(outcome, " %s=%zd:%016" PRIx64, found[i], len, hash(value, len > 0 ? (size_t) len : 0));
    }
}

static void run_xattr(struct side *side, const struct step *step, struct outcome *outcome)
{
    static _Thread_local char value[70000];
    int dir = side->fds[step->slot];
    ssize_t r;

    memset(value, step->fill, sizeof value);
    switch (step->call) {
    case SIM_SET_XATTR:
        r = side->ops->set_xattr(side->ctx, dir, step->path, step->xattr, value, (size_t) step->len, step->flags);
        break;
    case SIM_GET_XATTR:
        r = side->ops->get_xattr(side->ctx, dir, step->path, step->xattr, value, (size_t) step->len);
        break;
    case SIM_REMOVE_XATTR:
        r = side->ops->remove_xattr(side->ctx, dir, step->path, step->xattr);
        break;
    default:
        r = side->ops->list_xattr(side->ctx, dir, step->path, value, (size_t) step->len);
        break;
    }
    say_result(outcome, r);
    say_xattrs(side, dir, step->path, outcome);
}

static int run_set_times(struct side *side, const struct step *step)
{
    const struct timespec times[2] = { { .tv_sec = 1000, .tv_nsec = (long) step->off },
                                       { .tv_sec = 2000, .tv_nsec = step->fill % 2 ? UTIME_NOW : UTIME_OMIT } };

    return side->ops->set_times(side->ctx, side->fds[step->slot], step->path, times);
}

static int run_chmod(struct side *side, const struct step *step)
{
    int dir = side->fds[step->slot];
    struct stat st;

    if (side->ops->stat(side->ctx, dir, step->path, &st) == 0 && S_ISLNK(st.st_mode))
        return 0; /* through /proc, the real one follows it */
    return side->ops->chmod(side->ctx, dir, step->path, step->mode);
}

/* Seeks, but not for data in directories, of which each file system has an opinion of its own. */
static int64_t run_seek(struct side *side, const struct step *step)
{
    int fd = side->fds[step->slot];
    struct stat st;

    if (step->flags != SEEK_SET && side->ops->stat(side->ctx, fd, "", &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return side->ops->seek(side->ctx, fd, step->off, step->flags);
}

static int64_t run_plain(struct side *side, const struct step *step)
{
    const struct disk_ops *ops = side->ops;
    int fd = side->fds[step->slot], to_fd = side->fds[step->to_slot];
    uid_t uid = step->fill % 3 == 0 ? (uid_t) -1 : step->fill;
    gid_t gid = step->fill % 4 == 0 ? (gid_t) -1 : step->fill;

    switch (step->call) {
    case SIM_OPEN:
        return run_open(side, step);
    case SIM_CLOSE:
        return run_close(side, step->slot);
    case SIM_TRUNCATE:
        return ops->truncate(side->ctx, fd, step->off);
    case SIM_ALLOCATE:
        return ops->allocate(side->ctx, fd, step->flags, step->off, step->len);
    case SIM_SEEK:
        return run_seek(side, step);
    case SIM_SYNC:
        return ops->sync(side->ctx, fd, (enum disk_sync) step->flags);
    case SIM_LOCK:
        return ops->lock(side->ctx, fd);
    case SIM_LINK:
        return ops->link(side->ctx, fd, step->path, to_fd, step->to);
    case SIM_RENAME:
        return ops->rename(side->ctx, fd, step->path, to_fd, step->to, (unsigned) step->flags);
    case SIM_UNLINK:
        return ops->unlink(side->ctx, fd, step->path, step->flags);
    case SIM_MKDIR:
        return ops->mkdir(side->ctx, fd, step->path, step->mode);
    case SIM_SYMLINK:
        return ops->symlink(side->ctx, step->to, fd, step->path);
    case SIM_MKNOD:
        return ops->mknod(side->ctx, fd, step->path, step->mode, makedev(1, 3));
    case SIM_CHMOD:
        return run_chmod(side, step);
    case SIM_CHOWN:
        return ops->chown(side->ctx, fd, step->path, uid, gid);
    case SIM_SET_TIMES:
        return run_set_times(side, step);
    default:
        return -ENOSYS;
    }
}

static void run_look(struct side *side, const struct step *step, struct outcome *outcome)
{
    char target[32] = "";
    struct stat st = { 0 };
    int64_t r;

    if (step->call == SIM_STAT)
        r = side->ops->stat(side->ctx, side->fds[step->slot], step->path, &st);
    else
        r = side->ops->read_link(side->ctx, side->fds[step->slot], step->path, target, step->fill % 2 ? 3 : 31);
    say_result(outcome, r);
    if (r >= 0 && step->call == SIM_STAT)
        say_stat(outcome, &st);
    say(outcome, " %s", target);
}

/* Makes this thread somebody who may make names in the root, since permissions are not what is tested. */
static void be_somebody(struct side *side)
{
    struct cred somebody = { .uid = SOMEBODY, .gid = SOMEBODY + 1, .umask = 027 };
    struct stat st = { 0 };

    (void) side->ops->stat(side->ctx, side->fds[0], "", &st);
    (void) side->ops->chmod(side->ctx, side->fds[0], "", (st.st_mode & 07777) | 0777);
    (void) side->ops->assume(side->ctx, &somebody);
}

void step_run(struct side *side, const struct step *step, struct outcome *ret_outcome)
{
    bool opens = step->call == SIM_OPEN || step->call == SIM_CLOSE;

    ret_outcome->s[0] = 0;
    if (side->fds[step->slot] < 0 || (!opens && side->fds[step->to_slot] < 0))
        return;
    if (step->as_user)
        be_somebody(side);
    switch (step->call) {
    case SIM_PREADV:
    case SIM_PWRITEV:
        run_io(side, step, ret_outcome);
        break;
    case SIM_READ_DIR:
        run_read_dir(side, side->fds[step->slot], ret_outcome);
        break;
    case SIM_STAT:
    case SIM_READ_LINK:
        run_look(side, step, ret_outcome);
        break;
    case SIM_GET_XATTR:
    case SIM_SET_XATTR:
    case SIM_LIST_XATTR:
    case SIM_REMOVE_XATTR:
        run_xattr(side, step, ret_outcome);
        break;
    default:
        say_result(ret_outcome, run_plain(side, step));
        break;
    }
    if (step->as_user)
        side->ops->resume(side->ctx);
}

void side_close(struct side *side)
{
    for (unsigned slot = 1; slot < STEP_SLOTS; slot++) {
        if (side->fds[slot] >= 0)
            (void) side->ops->close(side->ctx, side->fds[slot]);
        side->fds[slot] = -1;
    }
}

/* -- the tree -- */

static uint64_t hash_content(struct side *side, int dir, const char *name)
{
    static _Thread_local unsigned char bytes[1 << 16];
    int fd = side->ops->open(side->ctx, dir, name, O_RDONLY, 0);
    int64_t at = 0, r = 1;
    uint64_t h = 0;

    while (r > 0 && (at = side->ops->seek(side->ctx, fd, (uint64_t) at, SEEK_DATA)) >= 0) {
        struct iovec iov = { .iov_base = bytes, .iov_len = sizeof bytes };

        r = side->ops->preadv(side->ctx, fd, &iov, 1, (uint64_t) at, false);
        for (int64_t i = 0; i < r; i++) /* zeros say nothing, wherever holes may be */
            h += bytes[i] != 0 ? hash(&(uint64_t[]){ (uint64_t) (at + i), bytes[i] }, 16) : 0;
        at += MAX(r, 0);
    }
    (void) side->ops->close(side->ctx, fd);
    return h;
}

static void print_one(struct side *side, int dir, const char *name, bool content, FILE *out, mode_t *ret_mode)
{
    struct outcome outcome = { { 0 } };
    struct stat st;

    *ret_mode = 0;
    if (side->ops->stat(side->ctx, dir, name, &st) < 0)
        return;
    *ret_mode = st.st_mode;
    if (!content && S_ISREG(st.st_mode))
        st.st_size = 0;
    say_stat(&outcome, &st);
    say_xattrs(side, dir, name, &outcome);
    fputs(outcome.s, out);
    if (content && S_ISREG(st.st_mode))
        fprintf(out, " sum %016" PRIx64, hash_content(side, dir, name));
    if (S_ISLNK(st.st_mode)) {
        char target[64] = "";

        (void) side->ops->read_link(side->ctx, dir, name, target, sizeof target - 1);
        fprintf(out, " -> %s", target);
    }
    fputc('\n', out);
}

static void print_tree(struct side *side, int dir, bool content, unsigned depth, FILE *out)
{
    cleanup(listing_done) struct listing listing = { .n = 0 };
    int r = list(side, dir, &listing);

    if (r < 0)
        fprintf(out, "%d\n", r);
    for (size_t i = 0; i < listing.n; i++) {
        const char *name = listing.names[i];
        mode_t mode;
        int fd;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        fprintf(out, "%*s%s", (int) depth, "", name);
        print_one(side, dir, name, content, out, &mode);
        if (!S_ISDIR(mode) || depth >= MAX_DEPTH)
            continue;
        fd = side->ops->open(side->ctx, dir, name, O_RDONLY | O_DIRECTORY, 0);
        print_tree(side, fd, content, depth + 1, out);
        (void) side->ops->close(side->ctx, fd);
    }
}

char *side_tree(struct side *side, bool content)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    mode_t mode;

    if (out == NULL)
        abort();
    print_one(side, side->fds[0], "", content, out, &mode);
    print_tree(side, side->fds[0], content, 0, out);
    fclose(out);
    return text;
}
