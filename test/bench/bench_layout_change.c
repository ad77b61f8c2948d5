/* SPDX-License-Identifier: MIT */
/* Files on their way to another layout, and what a layout is worth. test/bench/layout_change.sh mounts and calls this:
 *
 *     bench_layout_change change SIZE FILE TAG DIR PID PLAIN     layouts changed in the mount DIR, cp in PLAIN
 *     bench_layout_change readers SIZE FILE TAG TARGET           readers of one file while another one changes
 *     bench_layout_change bands SIZE FILE TARGET...              one reader of a band of rows; targets are layouts
 *     bench_layout_change blocks SIZE FILE TARGET...             four readers of blocks in a band of rows each
 *     bench_layout_change report FILE REMARK [JSON]              the tables; exit status 1 when a bar is missed
 *
 * SIZE is quick or full, TAG begins the names of rows, TARGET is as bench_mount has it. Others take turns. */
#include "ioctl/client/bench/content.h"
#include "test/bench/layout_change_report.h"
#include "test/bench/mount_ops.h"
#include "test/bench/samples.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MIB         (UINT64_C(1) << 20)
#define MAX_TARGETS 8

struct text {
    char s[512];
};

/* -- migrations -- */

static void pause_ms(unsigned ms)
{
    const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

static void order(const char *path, const char *value)
{
    char why[256] = "";

    if (setxattr(path, "user.falls.migrate", value, strlen(value), 0) == 0)
        return;
    (void) getxattr(path, "user.falls.lasterror", why, sizeof why - 1);
    fail("%s: %s: %s", path, value, why[0] != 0 ? why : strerror(errno));
}

static bool is_over(const char *path, const char *how)
{
    char text[512] = "";

    if (getxattr(path, "user.falls.migrate", text, sizeof text - 1) < 0)
        fail("%s does not say how far it is: %s", path, strerror(errno));
    if (strstr(text, "state=failed") != NULL)
        fail("%s: %s", path, text);
    return strstr(text, how) != NULL || strstr(text, "state=done") != NULL;
}

static void await(const char *path, const char *how)
{
    while (!is_over(path, how))
        pause_ms(2);
}

static double change(const char *path, const char *layout)
{
    double start = now();

    order(path, layout);
    await(path, "state=done");
    return now() - start;
}

/* -- bytes that can be checked -- */

static struct fallsfs_array array_of(uint64_t bytes)
{
    return (struct fallsfs_array){ 1, FALLSFS_ROW_MAJOR, 1, 0, { bytes } };
}

static void make_file(const char *path, const char *layout, uint64_t bytes)
{
    struct fallsfs_array array = array_of(bytes);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), r;

    if (fd < 0)
        fail("%s: %s", path, strerror(errno));
    if (layout != NULL && fsetxattr(fd, "user.falls.layout", layout, strlen(layout), 0) < 0)
        fail("%s: %s: %s", path, layout, strerror(errno));
    r = content_make_file(path, &array);
    if (r < 0 || fsync(fd) < 0 || close(fd) < 0)
        fail("%s: %s", path, strerror(r < 0 ? -r : errno));
}

/* What the kernel has cached of it says nothing about the disks. */
static void check_file(const char *path, uint64_t bytes)
{
    struct fallsfs_array array = array_of(bytes);
    struct deal deal = { .ndims = 1 };
    uint64_t wrong = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC), r;

    if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0 || close(fd) < 0)
        fail("%s: %s", path, strerror(errno));
    r = content_check_file(path, &array, &deal, 0, 0, &wrong);
    if (r < 0)
        fail("%s: byte %" PRIu64 " is wrong after a change of layout: %s", path, wrong, strerror(-r));
}

/* -- against cp -- */

struct bench {
    bool quick;
    FILE *out;
    const char *tag, *dir, *plain;
    pid_t daemon;
};

struct pair {
    const char *row;
    const char *from, *to;
    uint64_t bytes, quick_bytes; /* of the file */
};

/* Arrays repeat as often as the file has room for them: many of small ones, so that it is their bytes that count. */
/* clang-format off */
#define COLUMNS "dist=(*,block), grid=1x4)"
#define ROWS    "dist=(block,*), grid=4x1)"
#define ARRAY(n, elem) "array(shape=" #n "x" #n ", elem=" #elem ", " COLUMNS, "array(shape=" #n "x" #n ", elem=" #elem ", " ROWS
static const struct pair pairs[] = {
    { "stripe",    "stripe(1M)", "stripe(64K)",  256 * MIB, 128 * MIB },
    { "2048x1",    ARRAY(2048, 1),               256 * MIB, 128 * MIB },
    { "4096x1",    ARRAY(4096, 1),               256 * MIB, 128 * MIB },
    { "8192x1",    ARRAY(8192, 1),               256 * MIB, 128 * MIB },
    { "16384x1",   ARRAY(16384, 1),              256 * MIB, 0 },
    { "2048x8",    ARRAY(2048, 8),               256 * MIB, 128 * MIB },
    { "4096x8",    ARRAY(4096, 8),               256 * MIB, 128 * MIB },
    { "8192x8",    ARRAY(8192, 8),               512 * MIB, 0 },
    { "alone",     ARRAY(2048, 1),               4 * MIB,   4 * MIB },
};
/* clang-format on */

static double cpu_of_children(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void copy(const char *from, const char *to)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execlp("cp", "cp", from, to, (char *) NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        fail("cp %s %s does not work", from, to);
}

/* cp alone, which leaves all to be written; and what a change of layout does, too: the copy is durable, and the file
 * before it is gone. */
static void time_copying(const struct bench *bench, const char *row, uint64_t bytes, unsigned round)
{
    double start, cpu = cpu_of_children(), gb = (double) bytes * 1e-9, seconds;
    struct text from, to;
    int fd;

    snprintf(from.s, sizeof from.s, "%s/source", bench->plain);
    snprintf(to.s, sizeof to.s, "%s/copy", bench->plain);
    sync();
    start = now();
    copy(from.s, to.s);
    seconds = now() - start;
    samples_add(bench->out, row, "cp", round, gb / seconds, (cpu_of_children() - cpu) / gb, 0);
    fd = open(to.s, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0 || close(fd) < 0 || rename(to.s, from.s) < 0)
        fail("%s: %s", to.s, strerror(errno));
    seconds = now() - start;
    samples_add(bench->out, row, "replace", round, gb / seconds, (cpu_of_children() - cpu) / gb, 0);
}

static void time_change(const struct bench *bench, const char *row, const char *path, const char *layout,
                        uint64_t bytes, unsigned round)
{
    double cpu, seconds, gb = (double) bytes * 1e-9;

    sync();
    settle(bench->daemon);
    cpu = cpu_of(bench->daemon);
    seconds = change(path, layout);
    samples_add(bench->out, row, "change", round, gb / seconds, 0, (cpu_of(bench->daemon) - cpu) / gb);
    if (round == 0)
        check_file(path, bytes);
}

static void run_pair(const struct bench *bench, const struct pair *pair)
{
    const uint64_t bytes = bench->quick ? pair->quick_bytes : pair->bytes;
    struct text path, source, row, back;

    if (bytes == 0)
        return;
    snprintf(row.s, sizeof row.s, "%s.%s", bench->tag, pair->row);
    snprintf(back.s, sizeof back.s, "%.32s.back", row.s);
    fputs(row.s, stderr);
    snprintf(path.s, sizeof path.s, "%s/%s", bench->dir, pair->row);
    snprintf(source.s, sizeof source.s, "%s/source", bench->plain);
    make_file(path.s, pair->from, bytes);
    make_file(source.s, NULL, bytes);
    for (unsigned round = 0; round < (bench->quick ? 3 : 7); round++) {
        time_copying(bench, row.s, bytes, round);
        time_change(bench, row.s, path.s, pair->to, bytes, round);
        time_copying(bench, back.s, bytes, round);
        time_change(bench, back.s, path.s, pair->from, bytes, round);
        fputc('.', stderr);
    }
    check_file(path.s, bytes);
    if (unlink(path.s) < 0 || unlink(source.s) < 0)
        fail("%s: %s", path.s, strerror(errno));
    fputc('\n', stderr);
}

/* -- readers meanwhile -- */

/* Blocks of a job's own part of the file, far from each other, none twice before all were read. */
static void act_blocks(struct job *job)
{
    const struct work *work = job->work;
    const uint64_t part = work->bytes / job->n_jobs, n_blocks = part / work->block;
    uint64_t at = (uint64_t) job->round * 2654435761U % n_blocks;
    uint8_t *buf = aligned_alloc(4096, work->block);
    const double end = now() + work->n * 1e-3;
    struct text path;
    int fd;

    snprintf(path.s, sizeof path.s, "%s/%s.0", job->target->dir, work->file);
    fd = open(path.s, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0 || buf == NULL)
        fail("%s: %s", path.s, strerror(errno));
    /* A step that has no factor in common with their number gets everywhere. */
    for (; now() < end; at = (at + 1234567) % n_blocks) {
        if (pread(fd, buf, work->block, (off_t) (job->index * part + at * work->block)) != (ssize_t) work->block)
            fail("%s: %s", path.s, strerror(errno));
        job->n_done += work->block;
    }
    close(fd);
    free(buf);
}

static void run_readers(const struct bench *bench, const struct target *target)
{
    const struct work work = { "one", MIB, 448 * MIB, ONE_FILE, 2400 };
    const bool is_cold = strcmp(bench->tag, "seeking") == 0;
    struct target readers = *target; /* which do not wait for the daemon to rest: it does not */
    struct text path;

    readers.pid = 0;
    snprintf(path.s, sizeof path.s, "%s/changing", target->dir);
    make_file(path.s, "stripe(1M)", 1024 * MIB);
    files_make(target, &work, 1);
    fprintf(stderr, "%s.readers", bench->tag);
    for (unsigned round = 0; round < (bench->quick ? 3 : 7); round++)
        for (int i = 0; i < 2; i++) {
            bool changes = (round + (unsigned) i) % 2 == 1;
            struct sample sample;
            struct text row;

            sync();
            if (is_cold)
                disks_drop(target);
            settle(target->pid);
            if (changes)
                order(path.s, "stripe(64K)");
            sample = measure(&readers, &work, is_cold ? 4 : 2, round, act_blocks);
            if (changes && is_over(path.s, "state=done"))
                fail("the change of layout was over before the readers were");
            if (changes) {
                order(path.s, "cancel");
                await(path.s, "state=cancelled");
            }
            snprintf(row.s, sizeof row.s, "%s.readers", bench->tag);
            samples_add(bench->out, row.s, changes ? "meanwhile" : "alone", round,
                        (double) sample.n_done * 1e-9 / sample.seconds, 0, 0);
            fputc('.', stderr);
        }
    fputc('\n', stderr);
}

/* -- layouts that match -- */

static void run_matches(const struct bench *bench, const char *row, const struct work *work, unsigned n_jobs,
                        job_act *act, const struct target target[], unsigned n)
{
    fputs(row, stderr);
    for (unsigned i = 0; i < n; i++)
        files_make(&target[i], work, 1);
    for (unsigned round = 0; round < (bench->quick ? 3 : 5); round++) {
        for (unsigned i = 0; i < n; i++) {
            const struct target *t = &target[(round + i) % n];
            struct sample sample;

            files_drop(t, work, 1);
            disks_drop(t);
            sample = measure(t, work, n_jobs, round, act);
            samples_add(bench->out, row, t->name, round, (double) sample.n_done * 1e-9 / sample.seconds, 0, 0);
        }
        fputc('.', stderr);
    }
    fputc('\n', stderr);
}

/* -- all of it -- */

static int run_targets(const char *verb, const struct bench *bench, int argc, char **argv)
{
    /* A quarter of a matrix of 8192 x 8192 bytes; and 7168 rows of 65536 bytes, each of which is a block. */
    const struct work bands = { "one", MIB, 16 * MIB, ONE_FILE, 1 };
    const struct work blocks = { "one", 64 << 10, 448 * MIB, ONE_FILE, 2500 };
    struct target target[MAX_TARGETS];
    unsigned n = 0;

    for (int i = 0; i < argc && n < MAX_TARGETS; i++)
        target[n++] = target_parse(argv[i]);
    if (strcmp(verb, "readers") == 0)
        run_readers(bench, &target[0]);
    else if (strcmp(verb, "bands") == 0)
        run_matches(bench, verb, &bands, 1, act_move, target, n);
    else
        run_matches(bench, verb, &blocks, 4, act_blocks, target, n);
    return fclose(bench->out) == 0 ? 0 : 2;
}

static int run_changes(const struct bench *bench)
{
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        run_pair(bench, &pairs[i]);
    return fclose(bench->out) == 0 ? 0 : 2;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    struct bench bench = { 0 };

    if (strcmp(verb, "report") == 0 && (argc == 4 || argc == 5))
        return layout_change_report(argv[2], argv[3], argc == 5 ? argv[4] : NULL) ? 0 : 1;
    if (argc < 5)
        fail("test/bench/layout_change.sh knows how to call this");
    bench = (struct bench){ .quick = strcmp(argv[2], "quick") == 0, .out = samples_open(argv[3]), .tag = argv[4] };
    if (strcmp(verb, "change") == 0 && argc == 8) {
        bench.dir = argv[5];
        bench.daemon = (pid_t) strtol(argv[6], NULL, 10);
        bench.plain = argv[7];
        return run_changes(&bench);
    }
    if (strcmp(verb, "readers") == 0)
        return run_targets(verb, &bench, argc - 5, argv + 5);
    return run_targets(verb, &bench, argc - 4, argv + 4);
}
