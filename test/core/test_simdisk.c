/* SPDX-License-Identifier: MIT */
/* The simulated disk itself: it does what a real file system does, and loses what one may lose, and no more. */
#include "test/support/simstep.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <stdarg.h>
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
    char may[200]; /* all trees that may be left, between bars */
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

/* Crashes the machine, and uses its disk again. */
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
        cr_assert(r >= 0 || stage->sim->n_failed > 0 || stage->sim->down, "%s: %s: %s", script, command,
                  strerrorname_np(-r));
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

/* Writes down the tree that is there: the names that scripts use, in order. */
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

/* Splits a text at bars into trees; how many. */
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
        { "a rename comes with the directory it goes to", "m m; S; c a; s a; r a m/b; s m", "m/ m/b=" },
        { "and with the one it comes from", "m m; c m/b; S; r m/b a; s m", "a= m/" },
        { "what it replaced included", "c a; c b; w a 0 1 x; S; o b; r a b; s b", "b=x" },
        { "what a failed sync lost", "c a; w a 0 1 x; S; w a 0 1 y; e; s a; E; s a", "a=x | a=y" },
        { "but not what was written since", "c a; w a 0 1 x; S; w a 0 1 y; e; s a; E; w a 0 1 z; s a", "a=z" },
        { "a file that grew by what was lost is as long", "c a; S; w a 0 1 y; e; s a; E; s a", "a=. | a=y" },
    };

    return cr_make_param_array(struct crash_case, rows, ARRAY_SIZE(rows));
}

/* After a script and a crash each of the trees that the row names turns up for some seed, and no other one. */
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

/* -- random steps, then a crash: the tree is one that was there, and no older than what was synced -- */

#define TREE_CASES 300
#define TREE_STEPS 80
#define TREE_TRIES 6

struct history {
    char *trees[TREE_STEPS + 1]; /* trees[i]: after i steps, without */
    enum sim_call calls[TREE_STEPS + 1];
    int64_t clocks[TREE_STEPS + 1];
    unsigned n;
    unsigned floor; /* the tree with this number, or a later one, survives */
};

static void history_add(struct history *history, struct stage *stage, enum sim_call call)
{
    history->trees[history->n] = side_tree(&stage->side, false);
    history->calls[history->n] = call;
    history->clocks[history->n++] = stage->sim->clock;
}

static void history_done(struct history *history)
{
    for (unsigned i = 0; i < history->n; i++)
        free(history->trees[i]);
}

/* Finds the step that changed a file or directory last, by its ctime. 0 if that was a write, which does not change the
 * tree, or a change that this sync may leave out. */
static unsigned last_change(const struct history *history, struct side *side, int fd, enum disk_sync how)
{
    const uint32_t lazy = SIM_MASK(SIM_CHMOD) | SIM_MASK(SIM_CHOWN) | SIM_MASK(SIM_SET_TIMES) |
                          SIM_MASK(SIM_SET_XATTR) | SIM_MASK(SIM_REMOVE_XATTR);
    struct stat st = { 0 };
    unsigned i = 0;
    int64_t ctime;

    (void) sim_ops.stat(side->ctx, fd, "", &st);
    ctime = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
    while (i + 1 < history->n && history->clocks[i] < ctime)
        i++;
    if (history->calls[i] == SIM_PWRITEV || (how == SYNC_DATA && (lazy & SIM_MASK(history->calls[i])) != 0))
        return 0;
    return i;
}

static void sync_something(struct history *history, struct stage *stage, struct rng *rng)
{
    int fd = stage->side.fds[rng_below(rng, STEP_SLOTS)];
    enum disk_sync how = (enum disk_sync) rng_below(rng, 5);

    if (fd < 0 || how == SYNC_START || how == SYNC_WAIT || sim_ops.sync(stage->side.ctx, fd, how) < 0)
        return;
    history->floor =
        MAX(history->floor, how == SYNC_DISK ? history->n - 1 : last_change(history, &stage->side, fd, how));
}

static void check_tree(const struct rng *rng, const struct history *history, struct stage *stage, struct rng *crash)
{
    struct stage again = { .sim = sim_clone(stage->sim), .side = { .ops = &sim_ops } };
    cleanup(freep) char *tree = NULL;
    unsigned i = history->n;

    again.side.ctx = sim_disk(again.sim, 0);
    stage_restart(&again, crash);
    tree = side_tree(&again.side, false);
    while (i > history->floor && strcmp(history->trees[i - 1], tree) != 0)
        i--;
    if (i == history->floor)
        cr_assert(strcmp(history->trees[i], tree) == 0, RNG_SEED ": never was, since step %u\n%s", rng->seed, i, tree);
    sim_free(again.sim);
}

Test(simdisk, leaves_a_tree_that_was)
{
    for (struct rng rng = rng_from_env(TREE_CASES); rng_next(&rng);) {
        const struct step_limits limits = { .zero_range = true };
        cleanup(history_done) struct history history = { .n = 0 };
        cleanup(stage_done) struct stage stage = stage_new();
        unsigned n = (unsigned) rng_between(&rng, 1, TREE_STEPS);

        history_add(&history, &stage, SIM_PWRITEV);
        while (history.n <= n) {
            struct outcome outcome;
            struct step step;

            step_random(&rng, &limits, &step);
            step_run(&stage.side, &step, &outcome);
            history_add(&history, &stage, step.call);
            if (rng_chance(&rng, 15))
                sync_something(&history, &stage, &rng);
        }
        check_tree(&rng, &history, &stage, NULL);
        for (unsigned i = 0; i < TREE_TRIES; i++)
            check_tree(&rng, &history, &stage, &rng);
    }
}

/* -- a file: each sector is one that it had since the last sync, its length between the least and the most -- */

#define FILE_BYTES  12288
#define FILE_STATES 24
#define FILE_CASES  1500
#define FILE_TRIES  12

struct file_state {
    size_t len;
    char bytes[FILE_BYTES]; /* zeros behind len */
};

struct file_states {
    struct file_state at[FILE_STATES]; /* the first one is durable */
    unsigned n;
};

static void remember(struct file_states *states, struct sim_disk *disk)
{
    size_t len = 0;
    cleanup(freep) char *content = sim_peek(disk, "f", &len);
    struct file_state *state = &states->at[states->n++];

    cr_assert_not_null(content);
    state->len = len;
    memset(state->bytes, 0, sizeof state->bytes);
    memcpy(state->bytes, content, len);
}

static void change_file(struct rng *rng, struct sim_disk *disk, int fd)
{
    static const int spaces[] = { FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE, 0,
                                  FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE };
    uint64_t off = rng_below(rng, FILE_BYTES - 1), len = rng_between(rng, 1, FILE_BYTES - off);
    char bytes[FILE_BYTES];
    struct iovec iov = { .iov_base = bytes, .iov_len = len };

    switch (rng_below(rng, 4)) {
    case 0:
        cr_assert_eq(sim_ops.truncate(disk, fd, off), 0);
        break;
    case 1:
        cr_assert_eq(sim_ops.allocate(disk, fd, spaces[rng_below(rng, ARRAY_SIZE(spaces))], off, len), 0);
        break;
    default:
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char) rng_u64(rng);
        cr_assert_eq(sim_ops.pwritev(disk, fd, &iov, 1, off), (ssize_t) len);
        break;
    }
}

/* Whether a sector, as far as the file goes, has bytes that it had in some state. */
static bool had_sector(const struct file_states *states, const char *content, size_t len, size_t at)
{
    for (unsigned i = 0; i < states->n; i++)
        if (memcmp(states->at[i].bytes + at, content + at, MIN(512, len - at)) == 0)
            return true;
    return false;
}

static void check_file(const struct rng *rng, const struct file_states *states, struct sim_disk *disk)
{
    size_t len = 0, least = SIZE_MAX, most = 0;
    cleanup(freep) char *content = sim_peek(disk, "f", &len);

    cr_assert_not_null(content, RNG_SEED ": the file is gone", rng->seed);
    for (unsigned i = 0; i < states->n; i++) {
        least = MIN(least, states->at[i].len);
        most = MAX(most, states->at[i].len);
    }
    cr_assert(least <= len && len <= most, RNG_SEED ": %zu long, expected %zu to %zu", rng->seed, len, least, most);
    for (size_t at = 0; at < len; at += 512)
        cr_assert(had_sector(states, content, len, at), RNG_SEED ": byte %zu of %zu never was so", rng->seed, at, len);
}

/* Syncs another file: that moves the disk's journal forward, while the file under test has bytes that are not
 * synced. */
static void disturb(struct rng *rng, struct sim_disk *disk, int root)
{
    int fd = sim_ops.open(disk, root, "other", O_CREAT | O_RDWR, 0600);

    (void) sim_ops.truncate(disk, fd, rng_below(rng, 1000));
    (void) sim_ops.sync(disk, fd, SYNC_ALL);
    (void) sim_ops.close(disk, fd);
}

static void run_file(struct rng *rng)
{
    static struct file_states states;
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    int fd = sim_ops.open(disk, stage.side.fds[0], "f", O_CREAT | O_RDWR, 0600);

    (void) sim_ops.sync(disk, fd, SYNC_ALL);
    states.n = 0;
    remember(&states, disk);
    for (uint64_t n = rng_between(rng, 1, FILE_STATES - 1); n > 0 && states.n < FILE_STATES; n--) {
        change_file(rng, disk, fd);
        if (rng_chance(rng, 25)) {
            (void) sim_ops.sync(disk, fd, rng_chance(rng, 50) ? SYNC_ALL : SYNC_DATA);
            states.n = 0;
        } else if (rng_chance(rng, 25)) {
            disturb(rng, disk, stage.side.fds[0]);
        }
        remember(&states, disk);
    }
    for (unsigned i = 0; i < FILE_TRIES; i++) {
        cleanup(sim_freep) struct sim *again = sim_clone(stage.sim);

        sim_crash(again, i == 0 ? NULL : rng);
        check_file(rng, &states, sim_disk(again, 0));
    }
}

Test(simdisk, leaves_sectors_that_were)
{
    for (struct rng rng = rng_from_env(FILE_CASES); rng_next(&rng);)
        run_file(&rng);
}

/* -- the machine: disks, descriptors, faults -- */

static int make_file(struct sim_disk *disk, int root, const char *path)
{
    int fd = sim_ops.open(disk, root, path, O_CREAT | O_RDWR, 0600);

    return fd < 0 ? fd : sim_ops.close(disk, fd);
}

static bool exists(struct sim_disk *disk, const char *path)
{
    size_t len;
    cleanup(freep) char *content = sim_peek(disk, path, &len);

    return content != NULL;
}

Test(simdisk, disks_are_in_no_order)
{
    cleanup(sim_freep) struct sim *sim = sim_new(2, 1);
    unsigned seen = 0;

    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(make_file(sim_disk(sim, i), sim_root(sim_disk(sim, i)), "a"), 0);
    for (uint64_t seed = 1; seed < 100; seed++) {
        cleanup(sim_freep) struct sim *again = sim_clone(sim);
        struct rng rng = rng_from_seed(seed);

        sim_crash(again, &rng);
        seen |= 1U << (exists(sim_disk(again, 0), "a") + 2 * exists(sim_disk(again, 1), "a"));
    }
    cr_expect_eq(seen, 15);
}

Test(simdisk, a_kill_loses_descriptors_alone)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    uint64_t empty = sim_disk_used(disk), used;
    struct state before, after;
    struct stat st;
    int fd;

    run_script(&stage, "c a; w a 0 2 x; x a 1; m m; c m/b");
    before = state_of(&stage);
    used = sim_disk_used(disk);
    run_script(&stage, "T; W 1 0 5 y");
    fd = sim_ops.open(disk, stage.side.fds[0], "a", O_RDWR, 0);
    cr_expect_eq(sim_ops.lock(disk, fd), 0);
    cr_expect_eq(sim_n_open(stage.sim), 3);
    sim_kill(stage.sim);
    cr_expect_eq(sim_n_open(stage.sim), 0);
    cr_expect_eq(sim_ops.stat(disk, fd, "", &st), -EBADF);
    cr_expect_eq(sim_ops.close(disk, fd), -EBADF);
    stage.side.fds[0] = sim_root(disk);
    after = state_of(&stage);
    cr_expect_str_eq(before.s, after.s);
    cr_expect_eq(sim_disk_used(disk), used, "a file without a name goes");
    fd = sim_ops.open(disk, stage.side.fds[0], "a", O_RDWR, 0);
    cr_expect_eq(sim_ops.lock(disk, fd), 0, "its lock is gone");
    (void) sim_ops.close(disk, fd);
    for (unsigned i = 0; i < 4; i++)
        cr_expect_eq(sim_delete(disk, ((const char *[]){ "a", "m/b", "m", "." })[i]), i < 3 ? 0 : -EINVAL);
    cr_expect_eq(sim_disk_used(disk), empty);
}

Test(simdisk, descriptors_are_not_given_out_twice)
{
    cleanup(sim_freep) struct sim *sim = sim_new(2, 1);
    int roots[2] = { sim_root(sim_disk(sim, 0)), sim_root(sim_disk(sim, 1)) }, first, second;
    struct sim_disk *disk = sim_disk(sim, 0);
    struct stat st, again;

    first = sim_ops.open(disk, roots[0], "a", O_CREAT | O_RDWR, 0600);
    cr_expect_eq(sim_ops.stat(disk, first, "", &st), 0);
    cr_expect_eq(sim_ops.close(disk, first), 0);
    second = sim_ops.open(disk, roots[0], "a", O_RDWR, 0);
    cr_expect_neq(first, second);
    cr_expect_eq(sim_ops.close(disk, first), -EBADF);
    cr_expect_eq(sim_ops.stat(sim_disk(sim, 1), second, "", &st), -EBADF, "descriptors are a disk's");
    cr_expect_eq(sim_ops.rename(disk, roots[0], "a", roots[1], "b", 0), -EXDEV);
    cr_expect_eq(sim_ops.link(disk, roots[0], "a", roots[1], "b"), -EXDEV);
    (void) sim_ops.close(disk, second);
    cr_expect_eq(sim_ops.unlink(disk, roots[0], "a", 0), 0);
    cr_expect_eq(make_file(disk, roots[0], "b"), 0);
    cr_expect_eq(sim_ops.stat(disk, roots[0], "b", &again), 0);
    cr_expect_eq(st.st_ino, again.st_ino, "inode numbers are");
}

Test(simdisk, stops_at_any_call)
{
    static const char script[] = "c a; w a 0 2 x; s a; m m; r a m/b; s m; s .; l m/b n";
    cleanup(stage_done) struct stage whole = stage_new();
    uint64_t n_calls;

    run_script(&whole, script);
    n_calls = whole.sim->calls;
    for (uint64_t n = 1; n <= n_calls; n++) {
        cleanup(stage_done) struct stage stage = stage_new();
        struct sim_disk *disk = sim_disk(stage.sim, 0);
        int root = stage.side.fds[0];
        struct stat st;

        sim_crash_at(stage.sim, n);
        run_script(&stage, script);
        cr_expect(stage.sim->down, "call %" PRIu64, n);
        cr_expect_eq(sim_ops.mkdir(disk, root, "c", 0700), -EIO);
        sim_kill(stage.sim);
        cr_expect_eq(sim_ops.stat(disk, sim_root(disk), "c", &st), -ENOENT, "call %" PRIu64 " did something", n);
        cr_expect_eq(exists(disk, "n"), false, "call %" PRIu64 " of %" PRIu64, n, n_calls);
    }
}

Test(simdisk, fails_the_call_it_is_told_to)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    struct iovec iov = { .iov_base = (char[]){ "0123456789" }, .iov_len = 10 };
    int root = stage.side.fds[0], fd;
    struct stat st;

    sim_fail(stage.sim, 1, EIO, false, -1);
    cr_expect_eq(make_file(disk, root, "a"), -EIO);
    cr_expect_eq(make_file(disk, root, "a"), 0, "once");
    sim_heal(stage.sim);
    sim_fail(stage.sim, 1, ENOSPC, true, 0);
    cr_expect_eq(sim_ops.stat(disk, root, "a", &st), 0, "looking needs no space");
    cr_expect_eq(sim_ops.mkdir(disk, root, "m", 0700), -ENOSPC);
    cr_expect_eq(sim_ops.mkdir(disk, root, "m", 0700), -ENOSPC, "persistently");
    cr_expect_eq(sim_ops.unlink(disk, root, "a", 0), 0, "nor does deleting");
    sim_heal(stage.sim);
    sim_fail(stage.sim, 1, EIO, true, 1);
    cr_expect_eq(sim_ops.mkdir(disk, root, "m", 0700), 0, "another disk's fault");
    sim_heal(stage.sim);
    fd = sim_ops.open(disk, root, "a", O_CREAT | O_RDWR, 0600);
    sim_fail(stage.sim, stage.sim->calls + 1, 0, false, -1);
    cr_expect_eq(sim_ops.pwritev(disk, fd, &iov, 1, 0), 5, "half of it");
    cr_expect_eq(sim_ops.pwritev(disk, fd, &iov, 1, 0), 10);
    sim_fail(stage.sim, stage.sim->calls + 1, 0, false, -1);
    cr_expect_eq(sim_ops.preadv(disk, fd, &iov, 1, 0, false), 5);
    sim_fail(stage.sim, 1, EIO, true, -1);
    cr_expect_eq(sim_ops.close(disk, fd), 0, "closing always works");
    cr_expect_eq(stage.sim->n_failed, 5);
}

Test(simdisk, fills_up)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    static char bytes[40960];
    struct iovec iov = { .iov_base = bytes, .iov_len = sizeof bytes };
    int root = stage.side.fds[0], fd = sim_ops.open(disk, root, "a", O_CREAT | O_RDWR, 0600);
    struct statvfs fs;

    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.x", bytes, 256, 0), 0);
    sim_disk_capacity(disk, sim_disk_used(disk) + 3 * 4096 + 100);
    cr_expect_eq(sim_ops.statfs(disk, root, &fs), 0);
    cr_expect_eq(fs.f_bavail, 3);
    cr_expect_eq(sim_ops.pwritev(disk, fd, &iov, 1, 4000), 96 + 2 * 4096, "what fits");
    cr_expect_eq(sim_ops.pwritev(disk, fd, &iov, 1, 12288), -ENOSPC);
    cr_expect_eq(sim_ops.pwritev(disk, fd, &iov, 1, 0), 12288, "what is there is there");
    cr_expect_eq(make_file(disk, root, "b"), -ENOSPC);
    cr_expect_eq(sim_ops.allocate(disk, fd, 0, 0, 12289), -ENOSPC);
    cr_expect_eq(sim_ops.allocate(disk, fd, 0, 0, UINT64_C(1) << 61), -ENOSPC);
    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.x", bytes, 256, 0), 0, "as long as the old one");
    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.x", bytes, 2560, 0), -ENOSPC);
    cr_expect_eq(sim_ops.truncate(disk, fd, 0), 0);
    cr_expect_eq(make_file(disk, root, "b"), 0);
    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.y", bytes, 4000, 0), -ENOSPC, "a file's own limit");
    sim_disk_xattr_room(disk, 65536);
    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.y", bytes, 4000, 0), 0);
}

Test(simdisk, is_less_than_it_was)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    int root = stage.side.fds[0], fd;
    struct stat st;

    run_script(&stage, "c a; w a 0 1 x");
    sim_disk_read_only(disk, true);
    cr_expect_eq(make_file(disk, root, "b"), -EROFS);
    cr_expect_eq(sim_ops.open(disk, root, "a", O_RDWR, 0), -EROFS);
    cr_expect_eq(sim_ops.unlink(disk, root, "a", 0), -EROFS);
    cr_expect_eq(sim_poke(disk, "a", 0, "y", 1), 0, "meddling is above that");
    sim_disk_read_only(disk, false);
    sim_disk_lacks(disk, SIM_LACKS_TMPFILE | SIM_LACKS_RENAME_FLAGS | SIM_LACKS_XATTR | SIM_LACKS_SPACE);
    cr_expect_eq(sim_ops.open(disk, root, "", O_TMPFILE | O_RDWR, 0600), -EOPNOTSUPP);
    cr_expect_eq(sim_ops.rename(disk, root, "a", root, "b", RENAME_NOREPLACE), -EINVAL);
    cr_expect_eq(sim_ops.set_xattr(disk, root, "a", "user.x", "1", 1, 0), -EOPNOTSUPP);
    sim_disk_lacks(disk, 0);
    fd = sim_ops.open(disk, root, "a", O_RDWR, 0);
    sim_disk_absent(disk, true);
    cr_expect_eq(sim_root(disk), -ENOENT);
    cr_expect_eq(sim_ops.stat(disk, root, "a", &st), -EIO);
    cr_expect_eq(sim_ops.close(disk, fd), 0);
    sim_disk_absent(disk, false);
    cr_expect_eq(sim_ops.stat(disk, root, "a", &st), 0);
}

Test(simdisk, can_be_meddled_with)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct sim_disk *disk = sim_disk(stage.sim, 0);
    uint64_t calls;
    struct state state;

    run_script(&stage, "c a; w a 0 1 a; x a 1; c b; S");
    calls = stage.sim->calls;
    for (uint64_t byte = 0; byte < 512; byte++)
        cr_expect_eq(sim_flip(disk, "a", byte * 8), 0);
    cr_expect_eq(sim_flip_xattr(disk, "a", "user.x", 1), 0);
    cr_expect_eq(sim_poke(disk, "c", 512, "x", 1), 0);
    cr_expect_eq(sim_cut(disk, "c", 1024), 0);
    cr_expect_eq(sim_delete(disk, "b"), 0);
    cr_expect_eq(sim_delete(disk, "b"), -ENOENT);
    cr_expect_eq(sim_flip(disk, "a", 4096), -ERANGE);
    cr_expect_eq(stage.sim->calls, calls);
    stage_restart(&stage, NULL);
    state = state_of(&stage);
    cr_expect_str_eq(state.s, "a=`[3] c=.?");
}

/* Where more is written than a kernel would hold back, it reaches the disk without a sync, and stays whole. */
Test(simdisk, writes_back_in_time)
{
    cleanup(stage_done) struct stage stage = stage_new();
    struct state last;

    run_script(&stage, "c a; s a; m m");
    for (unsigned i = 0; i < 20000; i++)
        run_script(&stage, i % 2 ? "w a 0 1 x; x a 1" : "w a 0 1 y; x a 2; c b; u b");
    run_script(&stage, "w a 1 1 z; s m; d a");
    stage_restart(&stage, NULL);
    last = state_of(&stage);
    cr_expect_eq(strncmp(last.s, "a=xz", 4), 0, "%s", last.s);
}

static void *run_thread(void *arg)
{
    struct side *side = arg;
    struct rng rng = rng_from_seed((uint64_t) side->fds[0]);
    const struct step_limits limits = { .zero_range = true };

    for (unsigned i = 0; i < 3000; i++) {
        struct outcome outcome;
        struct step step;

        step_random(&rng, &limits, &step);
        step_run(side, &step, &outcome);
    }
    side_close(side);
    return NULL;
}

Test(simdisk, serves_threads)
{
    cleanup(sim_freep) struct sim *sim = sim_new(2, 1);
    struct side sides[4];
    pthread_t threads[4];

    for (unsigned i = 0; i < 4; i++) {
        sides[i] = (struct side){ .ops = &sim_ops, .ctx = sim_disk(sim, i % 2) };
        for (unsigned slot = 0; slot < STEP_SLOTS; slot++)
            sides[i].fds[slot] = slot == 0 ? sim_root(sim_disk(sim, i % 2)) : -1;
    }
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, run_thread, &sides[i]), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(sim_n_open(sim), 4);
    sim_crash(sim, &(struct rng){ .state = 1 });
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
    (void) sim_ops.assume(sim_disk(twin->sim, 0), &(struct cred){ .uid = geteuid(), .gid = getegid() });
    cr_assert_eq(fchmod(twin->real.fds[0], 0777), 0);
    cr_assert_eq(sim_ops.chmod(sim_disk(twin->sim, 0), twin->simulated.fds[0], "", 0777), 0);
    cr_assert_eq(sim_ops.chown(sim_disk(twin->sim, 0), twin->simulated.fds[0], "", geteuid(), getegid()), 0);
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

/* Finds what the real file system cannot do, so that it is not tried. */
static struct step_limits probe(struct twin *twin)
{
    struct step_limits limits = { .skip = 0, .root = geteuid() == 0 };
    struct statfs fs;
    int fd = openat(twin->real.fds[0], "probe", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

    cr_assert_geq(fd, 0);
    if (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC)
        limits.skip |= SIM_MASK(SIM_SEEK); /* tmpfs makes data of holes that were allocated */
    if (!limits.root)
        limits.skip |= SIM_MASK(SIM_CHOWN);
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
