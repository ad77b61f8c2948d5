/* SPDX-License-Identifier: MIT */
/* Random operations, on the mount and on a plain directory side by side.
 *
 *     ops_equal run MOUNT PLAIN PROCESSES           cases from the environment (see rng.h), some are left there
 *     ops_equal share MOUNT PLAIN PROCESSES         one file, each process in regions of its own
 *     ops_equal check MOUNT PLAIN                   what is there now is the same, as after a remount
 *
 * OPS_MIGRATE=1: files get other layouts meanwhile, which moves their ctime. */
#include "test/mount/ops_equal.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPS_PER_CASE 120
#define TREE_EVERY   30
#define KEEP_EVERY   8
#define TWO_TICKS    8000 /* microseconds */

struct step {
    struct op op;
    int64_t r[2];
};

static struct step steps[OPS_PER_CASE];
bool migrates;

/* Those that did something, and the last. */
static void print_steps(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct outcome outcome[2] = { { .r = steps[i].r[0] }, { .r = steps[i].r[1] } };

        if (steps[i].r[0] >= 0 || i + 1 == n)
            op_print(&steps[i].op, outcome);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw;
    return remove(path);
}

static bool open_side(struct side *side, const char *name, const char *top, uint64_t seed)
{
    char path[PATH_MAX];

    *side = (struct side){ .name = name };
    for (int i = 0; i < N_FDS; i++)
        side->fd[i] = -1;
    snprintf(path, sizeof path, "%s/c%" PRIu64, top, seed);
    if (mkdir(path, 0777) < 0 || chmod(path, 0777) < 0) {
        printf("%s: %s\n", path, strerror(errno));
        return false;
    }
    side->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return side->root >= 0;
}

static bool close_side(struct side *side, const char *top, uint64_t seed, bool keep)
{
    char path[PATH_MAX];

    for (int i = 0; i < N_FDS; i++)
        if (side->fd[i] >= 0 && close(side->fd[i]) < 0) {
            printf("%s: close: %s\n", side->name, strerror(errno));
            return false;
        }
    close(side->root);
    snprintf(path, sizeof path, "%s/c%" PRIu64, top, seed);
    if (!keep && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        printf("%s: cannot be removed: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}

/* -- which times an operation moves -- */

#define N_WATCHED 5

struct watch {
    struct stat st[2][N_WATCHED];
    bool there[2][N_WATCHED];
};

static void parent_of(const char *path, char *ret)
{
    const char *slash = strrchr(path, '/');

    if (slash != NULL)
        snprintf(ret, PATH_MAX, "%.*s", (int) (slash - path), path);
    else
        strcpy(ret, ".");
}

/* Where others ask about a directory while it changes, the kernel may believe for a second what they were told: then
 * the file system itself is asked. */
static bool look(int dir, const char *path, struct stat *ret_st)
{
    const int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
    struct statx now;

    return (!migrates || statx(dir, path, flags, STATX_BASIC_STATS, &now) == 0) &&
           fstatat(dir, path, ret_st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void watch(struct side side[2], const struct op *op, struct watch *ret)
{
    char path[N_WATCHED - 1][PATH_MAX];

    strcpy(path[0], op_path(op->from));
    strcpy(path[1], op_path(op->to));
    parent_of(path[0], path[2]);
    parent_of(path[1], path[3]);
    for (int i = 0; i < 2; i++) {
        for (int n = 0; n < N_WATCHED - 1; n++)
            ret->there[i][n] = look(side[i].root, path[n], &ret->st[i][n]);
        ret->there[i][N_WATCHED - 1] = fstat(side[i].fd[op->fd], &ret->st[i][N_WATCHED - 1]) == 0;
    }
}

static bool moved(const struct timespec *before, const struct timespec *after)
{
    return before->tv_sec != after->tv_sec || before->tv_nsec != after->tv_nsec;
}

static bool same_moves(const struct watch *before, const struct watch *after)
{
    static const char *const what[] = { "from", "to", "parent of from", "parent of to", "fd" };

    for (int n = 0; n < N_WATCHED; n++) {
        bool mtime[2], ctime[2];

        if (!before->there[1][n] || !after->there[1][n] || before->st[1][n].st_ino != after->st[1][n].st_ino)
            continue;
        for (int i = 0; i < 2; i++) {
            mtime[i] = moved(&before->st[i][n].st_mtim, &after->st[i][n].st_mtim);
            ctime[i] = !migrates && moved(&before->st[i][n].st_ctim, &after->st[i][n].st_ctim);
        }
        if (mtime[0] != mtime[1] || ctime[0] != ctime[1]) {
            printf("%s: mtime %s (expected: %s), ctime %s (expected: %s)\n", what[n], mtime[0] ? "moved" : "stayed",
                   mtime[1] ? "moved" : "stayed", ctime[0] ? "moved" : "stayed", ctime[1] ? "moved" : "stayed");
            return false;
        }
    }
    return true;
}

/* -- a case -- */

static bool same_outcome(const struct op *op, const struct outcome outcome[2])
{
    (void) op;
    if (outcome[0].r != outcome[1].r) {
        printf("returned %" PRId64 " (%s), expected %" PRId64 " (%s)\n", outcome[0].r,
               outcome[0].r < 0 ? strerror((int) -outcome[0].r) : "", outcome[1].r,
               outcome[1].r < 0 ? strerror((int) -outcome[1].r) : "");
        return false;
    }
    if (outcome[0].len != outcome[1].len || memcmp(outcome[0].data, outcome[1].data, outcome[0].len) != 0) {
        printf("gave other data\n");
        return false;
    }
    return true;
}

static bool run_op(struct side side[2], const struct op *op, bool timed, struct outcome outcome[2])
{
    struct watch before, after;

    if (timed) {
        usleep(TWO_TICKS); /* the last close of something may still be on its way */
        watch(side, op, &before);
        usleep(TWO_TICKS);
    }
    for (int i = 0; i < 2; i++)
        op_run(&side[i], op, &outcome[i]);
    if (op_may_differ(side, op, outcome))
        return true;
    if (!same_outcome(op, outcome))
        return false;
    if (timed) {
        watch(side, op, &after);
        if (!same_moves(&before, &after))
            return false;
    }
    return same_path(side, op_path(op->from), op) && same_path(side, op_path(op->to), op) && same_fds(side, op);
}

static bool run_case(const char *top[2], uint64_t seed, struct rng rng)
{
    static uint8_t data[2][MAX_IO + 1];
    struct outcome outcome[2] = { { .data = data[0] }, { .data = data[1] } };
    struct side side[2];
    bool same = true;
    unsigned n;

    for (int i = 0; i < 2; i++)
        if (!open_side(&side[i], i == 0 ? "mount" : "plain", top[i], seed))
            return false;
    for (n = 0; same && n < OPS_PER_CASE; n++) {
        struct op op = n < N_FDS + 3 ? op_make_start(&rng, n) : op_make(&rng);

        same = run_op(side, &op, op_moves_times(&op) && rng_chance(&rng, 4), outcome);
        steps[n] = (struct step){ op, { outcome[0].r, outcome[1].r } };
        if (same && (n + 1) % TREE_EVERY == 0)
            same = same_tree(side[0].root, side[1].root, "tree");
    }
    if (!same) {
        printf("  " RNG_SEED " after\n", seed);
        print_steps(n);
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (!close_side(&side[i], top[i], seed, seed % KEEP_EVERY == 0)) {
            printf("  " RNG_SEED "\n", seed);
            return false;
        }
    return true;
}

static int run_shard(const char *top[2], uint64_t shard, uint64_t n_shards)
{
    bool all = getenv("FALLSFS_GO_ON") != NULL; /* do not end at the first that fails */
    int status = 0;

    for (struct rng rng = rng_shard_from_env(100, shard, n_shards); (status == 0 || all) && rng_next(&rng);)
        if (!run_case(top, rng.seed, rng))
            status = 1;
    fflush(stdout);
    return status;
}

/* -- processes -- */

/* Runs each in a process of its own; 0 when all return 0. */
static int in_processes(unsigned n, int (*run)(void *arg, unsigned i, unsigned n), void *arg)
{
    int status, all = 0;

    fflush(stdout);
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(run(arg, i, n));
        if (pid < 0)
            return 1;
    }
    while (wait(&status) > 0)
        all |= status;
    return all != 0;
}

struct request {
    const char *top[2];
};

static int run_one(void *arg, unsigned i, unsigned n)
{
    struct request *request = arg;

    return run_shard(request->top, i, n);
}

/* Regions that share pages and stripes: process i has every n-th. */
struct sharing {
    const char *name;
    size_t bytes; /* of a region; odd */
    uint64_t n_regions;
    unsigned rounds, syncs; /* in a hundred */
    int flags;              /* of every third process */
};

#define MAX_REGION 1009

static const struct sharing wide = { "shared", 1009, 300, 400, 2, O_SYNC };
static const struct sharing close_by = { "crowded", 101, 10, 10000, 0, 0 };

/* A region that holds the same byte throughout. */
static bool wrote_and_reads(int fd, const uint8_t *buf, size_t bytes, off_t off)
{
    uint8_t back[MAX_REGION];
    ssize_t wrote = pwrite(fd, buf, bytes, off), n = pread(fd, back, bytes, off);
    size_t good = 0;
    struct stat st;

    if (wrote == (ssize_t) bytes && n == (ssize_t) bytes && memcmp(buf, back, bytes) == 0)
        return true;
    while (n > 0 && good < (size_t) n && back[good] == buf[good])
        good++;
    (void) fstat(fd, &st);
    printf("at %jd: wrote %zd, read %zd bytes, of which the first %zu are right; size %jd\n", (intmax_t) off, wrote, n,
           good, (intmax_t) st.st_size);
    return false;
}

/* Writes what is process i's, cuts nothing, and reads its own back. */
static int share(const struct request *request, const struct sharing *sharing, unsigned i, unsigned n)
{
    struct rng rng = rng_from_seed(i + 1);
    uint8_t buf[MAX_REGION];
    int fd[2];

    for (int s = 0; s < 2; s++) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, "%s/%s", request->top[s], sharing->name);
        fd[s] = open(path, O_RDWR | O_CREAT | (i % 3 == 2 ? sharing->flags : 0), 0644);
        if (fd[s] < 0)
            return 1;
    }
    for (unsigned round = 0; round < sharing->rounds; round++) {
        off_t off = (off_t) ((rng_below(&rng, sharing->n_regions) * n + i) * sharing->bytes);

        memset(buf, (int) rng_below(&rng, 256), sizeof buf);
        for (int s = 0; s < 2; s++)
            if (!wrote_and_reads(fd[s], buf, sharing->bytes, off)) {
                printf("    process %u, round %u, on the %s\n", i, round, s == 0 ? "mount" : "plain directory");
                fflush(stdout);
                return 1;
            }
        if (rng_chance(&rng, sharing->syncs) && fsync(fd[0]) < 0)
            return 1;
    }
    return close(fd[0]) < 0 || close(fd[1]) < 0;
}

static int share_one(void *arg, unsigned i, unsigned n)
{
    return share(arg, &wide, i, n) != 0 || share(arg, &close_by, i, n) != 0;
}

static int check(const char *top[2])
{
    int fd[2];

    for (int i = 0; i < 2; i++) {
        fd[i] = open(top[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd[i] < 0)
            return 1;
    }
    return same_tree(fd[0], fd[1], "tree") ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct request request = { .top = { argc > 3 ? argv[2] : "", argc > 3 ? argv[3] : "" } };

    migrates = getenv("OPS_MIGRATE") != NULL;
    if (argc == 5 && strcmp(argv[1], "run") == 0)
        return in_processes((unsigned) strtoul(argv[4], NULL, 10), run_one, &request);
    if (argc == 5 && strcmp(argv[1], "share") == 0)
        return in_processes((unsigned) strtoul(argv[4], NULL, 10), share_one, &request) != 0 || check(request.top) != 0;
    if (argc == 4 && strcmp(argv[1], "check") == 0)
        return check(request.top);
    fprintf(stderr, "usage: %s run MOUNT PLAIN PROCESSES | share MOUNT PLAIN PROCESSES | check MOUNT PLAIN\n", argv[0]);
    return 2;
}
