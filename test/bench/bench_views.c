/* SPDX-License-Identifier: MIT */
/* Table 1 of Isaila and Tichy, Mapping functions and data redistribution for parallel files: a matrix of n x n bytes,
 * stored on four subfiles as column blocks, square blocks or row blocks, is written and read by four processes, each
 * through the view of a block of rows.
 *
 *     bench_views run SIZE FILE DIR PLAIN PID      measures in the mount DIR of that daemon, and in a plain directory
 *     bench_views report FILE REMARK [JSON]        the tables; exit status 1 when a bar is missed
 *
 * SIZE is quick or full. Every byte is checked before anything is timed. */
#include "fs/core/file/plan.h"
#include "fs/core/view/view.h"
#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/method.h"
#include "layout/map.h"
#include "test/bench/mount_ops.h"
#include "test/bench/samples.h"
#include "test/bench/views_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define REQUEST  (UINT64_C(1) << 20) /* the kernel asks for no more at once */
#define REQUESTS 64                  /* to be counted */
#define TURNS    31                  /* to set a view, and to do its arithmetic */

struct bench {
    bool quick;
    FILE *out;
    pid_t daemon;
    struct squad *squad;
    uint32_t task;
    char path[VIEWS_SIZES][VIEWS_STORED + 1][512]; /* of the file so large that is stored so; the last one is plain */
};

static const char *const dealt[VIEWS_STORED] = { [VIEWS_COLUMNS] = "dist=(*,block), grid=1x4",
                                                 [VIEWS_SQUARES] = "dist=(block,block), grid=2x2",
                                                 [VIEWS_ROWS] = "dist=(block,*), grid=4x1" };

struct text {
    char s[128];
};

static struct text array_text(uint64_t n, enum views_stored stored)
{
    struct text text;

    snprintf(text.s, sizeof text.s, "array(shape=%" PRIu64 "x%" PRIu64 ", %s)", n, n, dealt[stored]);
    return text;
}

static struct text view_text(uint64_t n, uint32_t rank)
{
    struct text text, array = array_text(n, VIEWS_ROWS);

    snprintf(text.s, sizeof text.s, "%.100s element %" PRIu32, array.s, rank);
    return text;
}

static struct text row_name(const char *what, uint64_t n)
{
    struct text text;

    snprintf(text.s, sizeof text.s, "%s.%" PRIu64, what, n);
    return text;
}

/* -- how a process gets at its rows -- */

enum way { VIEW, VIEW_SYNCED, PLAIN, PLAIN_SYNCED };

struct access {
    int fd;
    uint64_t at; /* where its bytes begin, for the descriptor */
};

static uint64_t side_of(uint64_t bytes)
{
    uint64_t n = 1;

    while (n * n < bytes)
        n *= 2;
    return n;
}

static int plain_open(const struct method_request *request, void **ret_state)
{
    struct access *access = malloc(sizeof *access);

    if (access == NULL)
        return -ENOMEM;
    *access =
        (struct access){ open(request->path, request->order->write ? O_RDWR : O_RDONLY), request->section[0].lower };
    if (access->fd < 0) {
        free(access);
        return -errno;
    }
    *ret_state = access;
    return 0;
}

static void access_close(void *state)
{
    struct access *access = state;

    close(access->fd);
    free(access);
}

static int view_open(const struct method_request *request, void **ret_state)
{
    struct text text = view_text(side_of(request->order->array.size[0]), request->rank);
    struct access *access;
    int r = plain_open(request, ret_state);

    if (r < 0)
        return r;
    access = *ret_state;
    access->at = 0;
    r = fallsfs_view(access->fd, text.s);
    if (r < 0) {
        snprintf(request->why, SQUAD_TEXT, "%.150s", fallsfs_strerror_last());
        access_close(steal(*ret_state));
    }
    return r;
}

static int move_bytes(int fd, bool write, uint8_t *buf, uint64_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = write ? pwrite(fd, buf, len, (off_t) off) : pread(fd, buf, len, (off_t) off);

        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        buf += n;
        len -= (uint64_t) n;
        off += (uint64_t) n;
    }
    return 0;
}

static int access_move(void *state, const struct method_request *request)
{
    const struct access *access = state;

    return move_bytes(access->fd, request->order->write, request->buf, request->bytes, access->at);
}

static int access_move_synced(void *state, const struct method_request *request)
{
    const struct access *access = state;
    int r = access_move(state, request);

    return r < 0 ? r : fsync(access->fd) < 0 ? -errno : 0;
}

static const struct method method_view = { "view", view_open, access_move, access_close, NULL };
static const struct method method_view_synced = { "view_synced", view_open, access_move_synced, access_close, NULL };
static const struct method method_whole = { "plain", plain_open, access_move, access_close, NULL };
static const struct method method_whole_synced = { "plain_synced", plain_open, access_move_synced, access_close, NULL };

static const struct method *const methods[] = { [VIEW] = &method_view,
                                                [VIEW_SYNCED] = &method_view_synced,
                                                [PLAIN] = &method_whole,
                                                [PLAIN_SYNCED] = &method_whole_synced };

/* -- writing and reading, by four at once -- */

static struct fallsfs_array bytes_of(uint64_t n)
{
    return (struct fallsfs_array){ 1, FALLSFS_ROW_MAJOR, 1, 0, { n * n } };
}

static void time_trial(struct bench *bench, unsigned size, const char *what, bool write, bool synced)
{
    const uint64_t n = views_size[size];
    struct contender contender[VIEWS_STORED + 1];
    struct trial trial = { .array = bytes_of(n),
                           .write = write,
                           .task = ++bench->task,
                           .n_rounds = bench->quick ? 5 : 15,
                           .budget = bench->quick ? 2 : 10,
                           .contender = contender,
                           .n_contenders = VIEWS_STORED + 1 };
    const char *bad;
    char deal[96];
    int r;

    snprintf(deal, sizeof deal, "(1+%" PRIu64 "p:%" PRIu64 "+%" PRIu64 "p)", n * n / 4, n * n / 4, n * n / 4);
    if (deal_parse(deal, &trial.deal, &bad) < 0)
        fail("'%s' is no section", deal);
    for (uint32_t i = 0; i <= VIEWS_STORED; i++)
        contender[i] = (struct contender){ .squad = bench->squad,
                                           .method = i < VIEWS_STORED ? (synced ? VIEW_SYNCED : VIEW)
                                                                      : (synced ? PLAIN_SYNCED : PLAIN),
                                           .file = size * (VIEWS_STORED + 1) + i,
                                           .path = bench->path[size][i],
                                           .daemon = i < VIEWS_STORED ? bench->daemon : 0 };
    r = trial_run(&trial);
    if (r < 0)
        fail("%s, n = %" PRIu64 ": %s", what, n, strerror(-r));
    for (uint32_t i = 0; i <= VIEWS_STORED; i++) {
        if (contender[i].error < 0)
            fail("%s, n = %" PRIu64 ", %s: %s", what, n, views_stored_name[i], contender[i].why);
        for (uint32_t k = 0; k < contender[i].n_samples; k++)
            samples_add(bench->out, row_name(what, n).s, views_stored_name[i], k, contender[i].seconds[k], 0,
                        contender[i].cpu[k]);
    }
}

/* -- setting a view -- */

static int open_or_fail(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    if (fd < 0)
        fail("%s: %s", path, strerror(errno));
    return fd;
}

/* What lies where is worked out at the first access: it belongs to that. */
static void time_setting(struct bench *bench, unsigned size, enum views_stored stored, unsigned turn)
{
    const uint64_t n = views_size[size];
    struct text text = view_text(n, turn % 4);
    int fd = open_or_fail(bench->path[size][stored], O_RDONLY), r;
    double start = now();
    char byte;

    r = fallsfs_view(fd, text.s);
    if (r < 0)
        fail("%s: %s", text.s, fallsfs_strerror_last());
    if (pread(fd, &byte, 1, 0) != 1)
        fail("%s: nothing to be read: %s", text.s, strerror(errno));
    samples_add(bench->out, row_name("set", n).s, views_stored_name[stored], turn, now() - start, 0, 0);
    close(fd);
}

/* -- the arithmetic -- */

static struct layout *parse(const char *text)
{
    struct layout_error error;
    struct layout *layout = NULL;

    if (layout_parse(text, strlen(text), 0, &layout, &error) < 0)
        fail("%s: %s", text, error.why);
    return layout;
}

static volatile uint64_t sink; /* keeps what is measured from being optimised away */

/* The first and the last byte of pieces of a view, in their subfiles. */
static void time_mapping(struct bench *bench, uint64_t n, enum views_stored stored, const struct view *view,
                         const struct layout *layout, unsigned turn)
{
    enum { PIECES = 1000 };
    const uint64_t len = n * n / 4;
    double start = now();
    struct place place;

    for (uint64_t i = 0; i < PIECES; i++) {
        uint64_t lo = i * 2654435761U % len, hi = lo + (len - lo) / 2;

        (void) pattern_map_between(view->layout->pattern, view->element, lo, layout->pattern, &place);
        sink += place.sub_off;
        (void) pattern_map_between(view->layout->pattern, view->element, hi, layout->pattern, &place);
        sink += place.sub_off;
    }
    samples_add(bench->out, row_name("map", n).s, views_stored_name[stored], turn, (now() - start) / PIECES, 0, 0);
}

/* What the daemon does to write a view, but for the calls to disks: a plan for each request, and the bytes put in
 * order for the subfiles. */
static void time_gathering(struct bench *bench, uint64_t n, enum views_stored stored, const struct view *view,
                           const struct layout *layout, uint8_t *buf, unsigned turn)
{
    struct file_layout file_layout = { .pattern = layout->pattern };
    const uint64_t len = n * n / 4;
    double start = now();

    for (uint64_t off = 0; off < len; off += REQUEST) {
        struct view_piece piece;
        struct plan plan;

        if (view_next(view, off, MIN(REQUEST, len - off), &piece) < 0 ||
            plan_init(&plan, &file_layout, piece.file_off, piece.len, buf + off) < 0)
            fail("no plan for %" PRIu64 " x %" PRIu64, n, n);
        plan_gather(&plan);
        sink += plan.n_shares;
        plan_done(&plan);
    }
    samples_add(bench->out, row_name("gather", n).s, views_stored_name[stored], turn, now() - start, 0, 0);
}

static void time_arithmetic(struct bench *bench, uint64_t n)
{
    struct layout *layout[VIEWS_STORED];
    struct layout_error error;
    struct view *view[4];
    uint8_t *buf = malloc(n * n / 4);

    if (buf == NULL)
        fail("no memory");
    memset(buf, 1, n * n / 4);
    for (uint32_t rank = 0; rank < 4; rank++) {
        struct text text = view_text(n, rank);

        if (view_parse(text.s, strlen(text.s), 4, &view[rank], &error) < 0)
            fail("%s: %s", text.s, error.why);
    }
    for (uint32_t stored = 0; stored < VIEWS_STORED; stored++)
        layout[stored] = parse(array_text(n, (enum views_stored) stored).s);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (uint32_t i = 0; i < VIEWS_STORED; i++) {
            enum views_stored stored = (enum views_stored)((turn + i) % VIEWS_STORED);

            time_mapping(bench, n, stored, view[turn % 4], layout[stored], turn);
            if (stored != VIEWS_ROWS) /* there the view is the subfile, and nothing of this is done */
                time_gathering(bench, n, stored, view[turn % 4], layout[stored], buf, turn);
        }
    for (uint32_t stored = 0; stored < VIEWS_STORED; stored++)
        layout_free(layout[stored]);
    for (uint32_t rank = 0; rank < 4; rank++)
        view_put(view[rank]);
    free(buf);
}

/* -- how the daemon served it -- */

struct served {
    uint64_t subfile, runs, gathered; /* accesses, as the view counts them */
    uint64_t calls;                   /* of the daemon, that read or write anything */
};

static uint64_t calls_of(pid_t pid)
{
    char path[64], line[128];
    uint64_t sum = 0;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/io", (int) pid);
    in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (strncmp(line, "syscr:", 6) == 0 || strncmp(line, "syscw:", 6) == 0)
            sum += strtoull(line + 6, NULL, 10);
    if (in == NULL || fclose(in) != 0)
        fail("%s: %s", path, strerror(errno));
    return sum;
}

static struct served look(int fd, pid_t daemon)
{
    struct served served = { 0 };
    char text[256] = "";

    if (fgetxattr(fd, "user.falls.stats", text, sizeof text - 1) < 0 ||
        sscanf(text, "subfile=%" SCNu64 " runs=%" SCNu64 " gathered=%" SCNu64, &served.subfile, &served.runs,
               &served.gathered) != 3)
        fail("a view does not say how it was served: '%s'", text);
    settle(daemon);
    served.calls = calls_of(daemon);
    return served;
}

/* Again and again, until that is what the numbers tell of. */
static void move_many(int fd, bool write, uint8_t *buf, uint64_t len)
{
    for (uint64_t moved = 0; moved < REQUESTS * REQUEST; moved += MAX(len, REQUEST))
        if (move_bytes(fd, write, buf, len, 0) < 0)
            fail("a view: %s", strerror(errno));
}

/* One process reads, or writes, the whole of its view. */
static void count(struct bench *bench, unsigned size, enum views_stored stored, bool write)
{
    const uint64_t n = views_size[size], len = n * n / 4;
    struct text text = view_text(n, 1), row;
    int fd = open_or_fail(bench->path[size][stored], O_RDWR);
    const char *verb = write ? "write" : "read", *name = views_stored_name[stored];
    uint8_t *buf = aligned_alloc(4096, len);
    struct served before, after;

    if (buf == NULL || fallsfs_view(fd, text.s) < 0)
        fail("%s: %s", text.s, fallsfs_strerror_last());
    content_fill(buf, len, len, 0); /* what is there */
    move_many(fd, write, buf, len);
    before = look(fd, bench->daemon);
    move_many(fd, write, buf, len);
    after = look(fd, bench->daemon);
    snprintf(row.s, sizeof row.s, "%s.served.%" PRIu64, verb, n);
    samples_add(bench->out, row.s, name, 0, (double) (after.subfile - before.subfile),
                (double) (after.runs - before.runs), (double) (after.gathered - before.gathered));
    snprintf(row.s, sizeof row.s, "%s.calls.%" PRIu64, verb, n);
    samples_add(bench->out, row.s, name, 0,
                (double) (after.calls - before.calls) / (double) (after.subfile + after.runs + after.gathered -
                                                                  before.subfile - before.runs - before.gathered),
                0, 0);
    free(buf);
    close(fd);
}

/* -- all of it -- */

static void make_file(struct bench *bench, unsigned size, unsigned stored)
{
    struct fallsfs_array array = bytes_of(views_size[size]);
    const char *path = bench->path[size][stored];
    int r;

    if (stored < VIEWS_STORED) {
        struct text text = array_text(views_size[size], (enum views_stored) stored);

        close(open_or_fail(path, O_WRONLY | O_CREAT | O_EXCL));
        if (setxattr(path, "user.falls.layout", text.s, strlen(text.s), 0) < 0)
            fail("%s: %s: %s", path, text.s, strerror(errno));
    }
    r = content_make_file(path, &array);
    if (r < 0)
        fail("%s: %s", path, strerror(-r));
}

static bool is_wanted(const struct bench *bench, unsigned size)
{
    return !bench->quick || size % 2 == 0;
}

static void run_all(struct bench *bench)
{
    for (unsigned size = 0; size < VIEWS_SIZES; size++)
        for (unsigned stored = 0; stored <= VIEWS_STORED && is_wanted(bench, size); stored++)
            make_file(bench, size, stored);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned size = 0; size < VIEWS_SIZES; size++)
            for (uint32_t i = 0; i < VIEWS_STORED && is_wanted(bench, size); i++)
                time_setting(bench, size, (enum views_stored)((turn + i) % VIEWS_STORED), turn);
    for (unsigned size = 0; size < VIEWS_SIZES; size++) {
        if (!is_wanted(bench, size))
            continue;
        time_arithmetic(bench, views_size[size]);
        for (uint32_t stored = 0; stored < VIEWS_STORED; stored++)
            for (int write = 0; write < 2; write++)
                count(bench, size, (enum views_stored) stored, write != 0);
        time_trial(bench, size, "write", true, false);
        time_trial(bench, size, "synced", true, true);
        time_trial(bench, size, "read", false, false);
        fprintf(stderr, "%" PRIu64 " ", views_size[size]);
    }
    fputc('\n', stderr);
}

static int run(char **argv)
{
    struct bench bench = { .quick = strcmp(argv[0], "quick") == 0,
                           .out = samples_open(argv[1]),
                           .daemon = (pid_t) strtol(argv[4], NULL, 10) };
    const char *path[VIEWS_SIZES * (VIEWS_STORED + 1)];
    struct method_set set = { methods, ARRAY_SIZE(methods), path, ARRAY_SIZE(path), malloc, free };
    int r;

    for (unsigned i = 0; i < ARRAY_SIZE(path); i++) {
        unsigned size = i / (VIEWS_STORED + 1), stored = i % (VIEWS_STORED + 1);

        path[i] = bench.path[size][stored];
        snprintf(bench.path[size][stored], sizeof bench.path[0][0], "%s/%s.%" PRIu64,
                 stored < VIEWS_STORED ? argv[2] : argv[3], views_stored_name[stored], views_size[size]);
    }
    r = squad_new(NULL, 4, &bench.squad);
    if (r == 0)
        r = squad_fork(bench.squad, method_member, &set);
    if (r < 0)
        fail("four processes: %s", strerror(-r));
    run_all(&bench);
    squad_free(bench.squad);
    return fclose(bench.out) == 0 ? 0 : 2;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "run") == 0 && argc == 7)
        return run(argv + 2);
    if (strcmp(verb, "report") == 0 && (argc == 4 || argc == 5))
        return views_report(argv[2], argv[3], argc == 5 ? argv[4] : NULL) ? 0 : 1;
    fail("test/bench/views.sh knows how to call this");
}
