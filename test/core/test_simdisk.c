/* SPDX-License-Identifier: MIT */
/* The simulated disk itself: it does what a real file system does, and loses what one may lose, and no more. */
#include "test/support/simstep.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* -- what a crash may leave: scripts of one-letter commands --
 *
 *     c FILE        create                        w FILE AT N X    write N sectors of X from sector AT on
 *     m DIR         mkdir                         t FILE N         truncate to N sectors
 *     r FROM TO     rename                        p FILE AT N      punch
 *     l FROM TO     link                          x FILE X         set an attribute to X
 *     u FILE        unlink                        s PATH, d PATH   sync all of it, sync data
 *     o FILE        open and keep open            S, D PATH        sync the disk, start to sync
 *     T SLOT        make without a name           L PATH TO        link what is open, where T or o left it
 *     e             syncs fail from here on       E                and no longer
 *
 * A tree is written as its names in order, each with a character a sector, '.' for zeros, and [X] for the attribute. */

#define CASE_TRIES 400
#define MAX_STATES 64

struct crash_case {
    char why[56];
    char script[120];
    char may[200]; /* all trees that may be left, with bars between */
};

struct state {
    char s[128];
};

/* One machine with one disk that a script runs on. */
struct stage {
    struct sim *sim;
    struct side side;
};

static struct stage stage_new(void)
{
    struct stage stage = { .sim = sim_new(1, 1) };

    stage.side = (struct side){ .ops = &sim_ops, .ctx = sim_disk(stage.sim, 0) };
    stage.side.fds[0] = sim_root(sim_disk(stage.sim, 0));
    for (unsigned i = 1; i < STEP_SLOTS; i++)
        stage.side.fds[i] = -1;
    return stage;
}

static void stage_done(struct stage *stage)
{
    sim_free(stage->sim);
}

/* Again, after a crash. */
static void stage_restart(struct stage *stage, struct rng *rng)
{
    sim_crash(stage->sim, rng);
    stage->side.fds[0] = sim_root(sim_disk(stage->sim, 0));
}

static int fill(struct side *side, int fd, const char *args)
{
    char sectors[16 * 512], what = 0;
    struct iovec iov = { .iov_base = sectors };
    uint64_t at = 0;

    sscanf(args, "%" SCNu64 " %zu %c", &at, &iov.iov_len, &what);
    iov.iov_len *= 512;
    memset(sectors, what, sizeof sectors);
    return (int) side->ops->pwritev(side->ctx, fd, &iov, 1, at * 512);
}

static int on_file(struct side *side, char verb, const char *path, const char *args)
{
    int fd = side->ops->open(side->ctx, side->fds[0], path, verb == 's' || verb == 'd' ? O_RDONLY : O_RDWR, 0), r = 0;
    uint64_t a = 0, b = 0;

    sscanf(args, "%" SCNu64 " %" SCNu64, &a, &b);
    switch (verb) {
    case 'w':
        r = fill(side, fd, args);
        break;
    case 't':
        r = side->ops->truncate(side->ctx, fd, a * 512);
        break;
    case 'p':
        r = side->ops->allocate(side->ctx, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, a * 512, b * 512);
        break;
    case 's':
    case 'd':
    case 'D':
        r = side->ops->sync(side->ctx, fd, verb == 's' ? SYNC_ALL : verb == 'd' ? SYNC_DATA : SYNC_START);
        break;
    default:
        cr_assert_fail("no command %c", verb);
    }
    (void) side->ops->close(side->ctx, fd);
    return r;
}

static int run_command(struct stage *stage, char verb, const char *path, const char *args)
{
    struct side *side = &stage->side;
    int root = side->fds[0];

    switch (verb) {
    case 'c':
        return sim_ops.close(side->ctx, sim_ops.open(side->ctx, root, path, O_CREAT | O_EXCL | O_RDWR, 0600));
    case 'm':
        return sim_ops.mkdir(side->ctx, root, path, 0700);
    case 'r':
        return sim_ops.rename(side->ctx, root, path, root, args, 0);
    case 'X':
        return sim_ops.rename(side->ctx, root, path, root, args, RENAME_EXCHANGE);
    case 'l':
        return sim_ops.link(side->ctx, root, path, root, args);
    case 'u':
        return sim_ops.unlink(side->ctx, root, path, 0);
    case 'x':
        return sim_ops.set_xattr(side->ctx, root, path, "user.x", args, 1, 0);
    case 'o':
        return side->fds[1] = sim_ops.open(side->ctx, root, path, O_RDWR, 0);
    case 'T':
        return side->fds[1] = sim_ops.open(side->ctx, root, "", O_RDWR | O_TMPFILE, 0600);
    case 'L':
        return sim_ops.link(side->ctx, side->fds[1], "", root, path);
    case 'W':
        return fill(side, side->fds[1], args);
    case 'S':
        return sim_ops.sync(side->ctx, root, SYNC_DISK);
    case 'e':
        sim_fail_calls(stage->sim, &(struct sim_fault){ .at = stage->sim->calls + 1,
                                                        .error = EIO,
                                                        .persistent = true,
                                                        .disk = -1,
                                                        .calls = SIM_MASK(SIM_SYNC) });
        return 0;
    case 'E':
        sim_heal(stage->sim);
        return 0;
    default:
        return on_file(side, verb, path, args);
    }
}

static void run_script(struct stage *stage, const char *script)
{
    char text[256], *save = NULL;

    snprintf(text, sizeof text, "%s", script);
    for (char *command = strtok_r(text, ";", &save); command != NULL; command = strtok_r(NULL, ";", &save)) {
        char verb = 0, path[16] = ".", args[16] = "";
        int r;

        sscanf(command, " %c %15s %15[^;]", &verb, path, args);
        r = run_command(stage, verb, path, args);
        cr_assert(r >= 0 || stage->sim->n_failed > 0, "%s: %s: %s", script, command, strerrorname_np(-r));
    }
}

static void append(struct state *state, const char *format, ...) PRINTF_LIKE(2, 3);
static void append(struct state *state, const char *format, ...)
{
    size_t n = strlen(state->s);
    va_list ap;

    va_start(ap, format);
    vsnprintf(state->s + n, sizeof state->s - n, format, ap);
    va_end(ap);
}

static void append_file(struct state *state, struct sim_disk *disk, int root, const char *path)
{
    char value = 0;
    size_t len = 0;
    cleanup(freep) char *content = sim_peek(disk, path, &len);

    append(state, "%s%s", state->s[0] != 0 ? " " : "", path);
    if (content == NULL) {
        append(state, "/");
        return;
    }
    append(state, "=");
    for (size_t at = 0; at < len; at += 512) {
        bool whole = len - at >= 512 && memcmp(content + at, content + at + 1, 511) == 0;

        append(state, "%c", !whole ? '?' : content[at] != 0 ? content[at] : '.');
    }
    if (sim_ops.get_xattr(disk, root, path, "user.x", &value, 1) == 1)
        append(state, "[%c]", value);
}

/* The names that scripts use, in order. */
static struct state state_of(struct stage *stage)
{
    static const char *const paths[] = { "a", "b", "c", "m", "m/a", "m/b", "n" };
    struct sim_disk *disk = sim_disk(stage->sim, 0);
    struct state state = { { 0 } };
    struct stat st;

    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++)
        if (sim_ops.stat(disk, stage->side.fds[0], paths[i], &st) == 0)
            append_file(&state, disk, stage->side.fds[0], paths[i]);
    return state;
}

static bool is_among(const struct state *states, unsigned n, const char *s, size_t len)
{
    for (unsigned i = 0; i < n; i++)
        if (strlen(states[i].s) == len && memcmp(states[i].s, s, len) == 0)
            return true;
    return false;
}

/* Splits at bars. */
static unsigned states_of(const char *may, struct state *states)
{
    unsigned n = 0;

    for (const char *at = may;; at++) {
        size_t len = strcspn(at, "|");

        while (len > 0 && *at == ' ') {
            at++;
            len--;
        }
        memcpy(states[n].s, at, len);
        while (len > 0 && at[len - 1] == ' ')
            len--;
        states[n++].s[len] = 0;
        at += strcspn(at, "|");
        if (*at == 0)
            return n;
    }
}

ParameterizedTestParameters(simdisk, crash)
{
    static struct crash_case rows[] = {
        { "a name nobody synced", "c a", "| a=" },
        { "fsync of a new file keeps its name", "c a; s a", "a=" },
        { "and of its directory too", "c a; s .", "a=" },
        { "names come in order", "c a; c b; c c", "| a= | a= b= | a= b= c=" },
        { "a sync covers what came before", "c a; c b; s a; c c", "a= | a= b= | a= b= c=" },
        { "mkdir and what is in it", "m m; c m/a", "| m/ | m/ m/a=" },
        { "a directory's sync knows its names only", "m m; S; c m/a; c a; s m", "m/ m/a= | a= m/ m/a=" },
        { "rename is whole", "c a; S; r a b", "a= | b=" },
        { "rename over another one is whole", "c a; w a 0 1 x; c b; w b 0 1 y; S; r a b", "a=x b=y | b=x" },
        { "exchange is whole", "c a; w a 0 1 x; c b; S; X a b", "a=x b= | a= b=x" },
        { "unlink", "c a; S; u a", "a= |" },
        { "an unlinked file that is open is gone", "c a; S; o a; u a; s .", "" },
        { "a file without a name is gone", "T; W 1 0 1 x; S", "" },
        { "a file without a name is given one", "T; W 1 0 1 x; S; L a", "| a=x" },
        { "its content comes with a sync of it", "T; L a; w a 0 1 x; s a", "a=x" },
        { "data nobody synced", "c a; S; w a 0 1 x", "a= | a=. | a=x | a=?" },
        { "data behind a sync", "c a; w a 0 2 x; s a", "a=xx" },
        { "data behind a sync of data", "c a; w a 0 2 x; d a", "a=xx" },
        { "starting to sync promises nothing", "c a; w a 0 1 x; S; w a 0 1 y; D a", "a=x | a=y" },
        { "sectors tear", "c a; w a 0 2 x; S; w a 0 2 y", "a=xx | a=xy | a=yx | a=yy" },
        { "the last write wins where both are there", "c a; w a 0 1 x; S; w a 0 1 y; w a 0 1 z", "a=x | a=y | a=z" },
        { "a file's sync is that file's", "c a; c b; S; w a 0 1 x; w b 0 1 y; s b",
          "a= b=y | a=. b=y | a=x b=y | a=? b=y" },
        { "truncate is whole", "c a; w a 0 3 x; S; t a 1", "a=xxx | a=x" },
        { "truncate removes what was written before", "c a; w a 0 2 x; t a 0; s a", "a=" },
        { "and not what is written behind it", "c a; w a 0 2 x; t a 0; w a 0 1 y; s a", "a=y" },
        { "growing is whole", "c a; S; t a 2", "a= | a=.." },
        { "cut, then grown: cut bytes do not return", "c a; w a 0 2 x; S; t a 1; t a 2; s a", "a=x." },
        { "synced by another's sync: truncate in order", "c a; w a 0 2 x; S; t a 1; c b; s b", "a=x b=" },
        { "punch is whole", "c a; w a 0 3 x; S; p a 1 1", "a=xxx | a=x.x" },
        { "punch removes what was written before", "c a; w a 0 3 x; p a 1 1; s a", "a=x.x" },
        { "attributes need no sync to be in order", "c a; x a 1; c b", "| a= | a=[1] | a=[1] b=" },
        { "an attribute changes whole", "c a; x a 1; S; x a 2", "a=[1] | a=[2]" },
        { "a sync of data may leave out attributes", "c a; x a 1; S; x a 2; d a", "a=[1] | a=[2]" },
        { "a sync of all does not", "c a; x a 1; S; x a 2; s a", "a=[2]" },
        { "not behind a change of length", "c a; x a 1; S; x a 2; t a 1; d a", "a=.[2]" },
        { "a link", "c a; S; l a b", "a= | a= b=" },
        { "a link outlives the first name", "c a; w a 0 1 x; l a b; u a; s b", "b=x" },
        { "over names between directories", "m m; c m/a; S; r m/a a; r a m/b", "m/ m/a= | a= m/ | m/ m/b=" },
        { "what a failed sync lost", "c a; w a 0 1 x; S; w a 0 1 y; e; s a; E; s a", "a=x | a=y" },
        { "but not what was written since", "c a; w a 0 1 x; S; w a 0 1 y; e; s a; E; w a 0 1 z; s a", "a=z" },
        { "a file that grew by what was lost is as long", "c a; S; w a 0 1 y; e; s a; E; s a", "a=. | a=y" },
    };

    return cr_make_param_array(struct crash_case, rows, ARRAY_SIZE(rows));
}

/* Each tree that is named turns up, and no other one. */
ParameterizedTest(struct crash_case *row, simdisk, crash)
{
    cleanup(stage_done) struct stage stage = stage_new();
    static struct state may[MAX_STATES], seen[MAX_STATES];
    unsigned n_may = states_of(row->may, may), n_seen = 0;

    run_script(&stage, row->script);
    for (uint64_t seed = 0; seed < CASE_TRIES; seed++) {
        struct stage again = { .sim = sim_clone(stage.sim) };
        struct rng rng = rng_from_seed(seed);
        struct state state;

        stage_restart(&again, seed == 0 ? NULL : &rng);
        state = state_of(&again);
        cr_expect(is_among(may, n_may, state.s, strlen(state.s)), "%s: seed %" PRIu64 " left '%s'", row->why, seed,
                  state.s);
        if (!is_among(seen, n_seen, state.s, strlen(state.s)) && n_seen < MAX_STATES)
            seen[n_seen++] = state;
        sim_free(again.sim);
    }
    for (unsigned i = 0; i < n_may; i++)
        cr_expect(is_among(seen, n_seen, may[i].s, strlen(may[i].s)), "%s: never left '%s'", row->why, may[i].s);
}

/* -- the same steps on a real file system -- */

#define TWIN_CASES 600
#define TWIN_STEPS 60

struct twin {
    struct sim *sim;
    struct side simulated, real;
    char path[256];
};

static void twin_init(struct twin *twin, uint64_t seed)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(twin->path, sizeof twin->path, "%s/simdisk-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(twin->path));
    twin->sim = sim_new(1, seed);
    sim_trace(twin->sim, getenv("FALLSFS_TRACE") != NULL ? stderr : NULL);
    twin->simulated = (struct side){ .ops = &sim_ops, .ctx = sim_disk(twin->sim, 0) };
    twin->real = (struct side){ .ops = &disk_local_ops };
    for (unsigned i = 1; i < STEP_SLOTS; i++)
        twin->simulated.fds[i] = twin->real.fds[i] = -1;
    twin->simulated.fds[0] = sim_root(sim_disk(twin->sim, 0));
    twin->real.fds[0] = open(twin->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    umask(0);
    cr_assert_eq(fchmod(twin->real.fds[0], 0777), 0);
    cr_assert_eq(sim_ops.chmod(sim_disk(twin->sim, 0), twin->simulated.fds[0], "", 0777), 0);
    cr_assert_eq(sim_ops.chown(sim_disk(twin->sim, 0), twin->simulated.fds[0], "", getuid(), getgid()), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st;
    (void) type;
    (void) ftw;
    return remove(path);
}

static int open_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) ftw;
    return S_ISDIR(st->st_mode) || type == FTW_DNR ? chmod(path, 0700) : 0;
}

static void remove_tree(const char *path)
{
    (void) nftw(path, open_one, 16, FTW_PHYS);
    (void) nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static void twin_done(struct twin *twin)
{
    side_close(&twin->simulated);
    side_close(&twin->real);
    close(twin->real.fds[0]);
    remove_tree(twin->path);
    sim_free(twin->sim);
}

/* What the file system at hand cannot do is not tried. */
static struct step_limits probe(struct twin *twin)
{
    struct step_limits limits = { .skip = 0, .root = geteuid() == 0 };
    struct statfs fs;
    int fd = openat(twin->real.fds[0], "probe", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

    cr_assert_geq(fd, 0);
    if (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
        limits.skip |= SIM_MASK(SIM_SEEK); /* it makes data of holes that were allocated */
    limits.zero_range = fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096) == 0;
    if (disk_local_ops.set_xattr(NULL, fd, "", "user.x", "1", 1, 0) < 0)
        limits.skip |=
            SIM_MASK(SIM_GET_XATTR) | SIM_MASK(SIM_SET_XATTR) | SIM_MASK(SIM_LIST_XATTR) | SIM_MASK(SIM_REMOVE_XATTR);
    close(fd);
    unlinkat(twin->real.fds[0], "probe", 0);
    return limits;
}

static void fail_step(const struct rng *rng, unsigned n, const struct step *step, const struct outcome *simulated,
                      const struct outcome *real)
{
    char text[2048];
    FILE *out = fmemopen(text, sizeof text, "w");

    step_print(step, out);
    fclose(out);
    cr_assert_fail(RNG_SEED " step %u: %s\nsimulated %s\nreal      %s", rng->seed, n, text, simulated->s, real->s);
}

static void run_twins(struct rng *rng)
{
    struct twin twin;
    struct step_limits limits;

    twin_init(&twin, rng->seed);
    limits = probe(&twin);
    for (unsigned i = 0; i < TWIN_STEPS; i++) {
        struct outcome simulated, real;
        struct step step;

        step_random(rng, &limits, &step);
        step_run(&twin.simulated, &step, &simulated);
        step_run(&twin.real, &step, &real);
        if (strcmp(simulated.s, real.s) != 0)
            fail_step(rng, i, &step, &simulated, &real);
        if (step.call == SIM_ALLOCATE && (step.flags & FALLOC_FL_PUNCH_HOLE) == 0)
            limits.skip |= SIM_MASK(SIM_SEEK); /* ext4 may make data of what was allocated, when some of it is */
    }
    {
        cleanup(freep) char *simulated = side_tree(&twin.simulated, true);
        cleanup(freep) char *real = side_tree(&twin.real, true);

        cr_assert_str_eq(simulated, real, RNG_SEED "\nsimulated\n%sreal\n%s", rng->seed, simulated, real);
    }
    twin_done(&twin);
}

Test(simdisk, does_what_a_real_one_does)
{
    for (struct rng rng = rng_from_env(TWIN_CASES); rng_next(&rng);)
        run_twins(&rng);
}
