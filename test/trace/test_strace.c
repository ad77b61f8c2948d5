/* SPDX-License-Identifier: MIT */
/* What strace writes: lines a reader would ask about, and random programs whose accesses are known. */
#include "fs/trace/trace_strace.h"

#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <unistd.h>

static int load(const char *text, struct trace *ret_trace, char why[static TRACE_WHY])
{
    FILE *in = fmemopen(drop_const(text), strlen(text), "r");
    int r;

    cr_assert(in != NULL);
    r = trace_load(in, ret_trace, why);
    fclose(in);
    return r;
}

/* The accesses of a trace as "r/w OFFSET+LEN PATH@PROCESS", a line each. */
static char *told(const struct trace *trace)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct traced_access *access = &trace->access[i];

        fprintf(out, "%c %" PRIu64 "+%" PRIu64 " %s@%" PRIu32 "\n", (access->flags & TRACE_WRITES) != 0 ? 'w' : 'r',
                access->offset, access->len, trace->file[access->file].path, trace->process[access->process].tgid);
    }
    fclose(out);
    return text;
}

struct line_case {
    char why[48];
    char lines[600]; /* without "PID TIME " where they begin with a name */
    char want[200];
};

ParameterizedTestParameters(strace, lines)
{
    static struct line_case rows[] = {
        { "reads one after the other", "read(3</f>, \"\"..., 10) = 10\nread(3</f>, \"\"..., 20) = 5\n",
          "r 0+10 /f@1\nr 10+5 /f@1\n" },
        { "failed and empty ones are none",
          "read(3</f>, \"\", 10) = 0\nread(3</f>, 0x7ffd7a0615f0, 10) = -1 EIO (Input/output error)\n"
          "write(3</f>, \"x\", 1) = ?\n",
          "" },
        { "at an offset the position stays",
          "pread64(3</f>, \"\"..., 8, 100) = 8\npwrite64(3</f>, \"\"..., 8, 1099511627776) = 8\nread(3</f>, \"\", 1) = 1\n",
          "r 100+8 /f@1\nw 1099511627776+8 /f@1\nr 0+1 /f@1\n" },
        { "vectors",
          "readv(3</f>, [{iov_base=\"a,)\", iov_len=3}, {iov_base=\"b\", iov_len=1}], 2) = 4\n"
          "preadv(3</f>, [{iov_base=\"789\\\"<\", iov_len=5}], 1, 40) = 5\npwritev(3</f>, [...], 2, 50) = 7\n",
          "r 0+4 /f@1\nr 40+5 /f@1\nw 50+7 /f@1\n" },
        { "preadv2 with -1 moves the position",
          "preadv2(3</f>, [...], 1, -1, 0) = 4\npwritev2(3</f>, [...], 1, 9, RWF_DSYNC) = 4\n"
          "read(3</f>, \"\", 1) = 1\n",
          "r 0+4 /f@1\nw 9+4 /f@1\nr 4+1 /f@1\n" },
        { "lseek says where it is", "lseek(3</f>, -5, SEEK_END) = 95\nread(3</f>, \"\", 9) = 5\n", "r 95+5 /f@1\n" },
        { "names with everything in them",
          "openat(AT_FDCWD</tmp/a,b>, \"f<\\\"x\", O_RDWR) = 3</tmp/a,b(c\\76d \\303\\251/f\\74\\\"x>\n"
          "write(3</tmp/a,b(c\\76d \\303\\251/f\\74\\\"x>, \"0\\\"<unfinished ...>\", 27) = 27\n",
          "w 0+27 /tmp/a,b(c>d \303\251/f<\"x@1\n" },
        { "dup shares the position",
          "read(3</f>, \"\", 4) = 4\ndup2(3</f>, 7) = 7</f>\nread(7</f>, \"\", 4) = 4\n"
          "fcntl(3</f>, F_DUPFD_CLOEXEC, 0) = 5</f>\nread(5</f>, \"\", 4) = 4\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 4+4 /f@1\nr 8+4 /f@1\nr 12+4 /f@1\n" },
        { "open begins again",
          "read(3</f>, \"\", 4) = 4\nclose(3</f>) = 0\nopen(\"f\", O_RDONLY) = 3</f>\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 0+4 /f@1\n" },
        { "what appends writes at the end",
          "openat(AT_FDCWD</>, \"f\", O_WRONLY|O_CREAT|O_TRUNC|O_APPEND, 0666) = 3</f>\nwrite(3</f>, \"\", 4) = 4\n"
          "pwrite64(4</f>, \"\", 4, 10) = 4\nwrite(3</f>, \"\", 4) = 4\nftruncate(3</f>, 2) = 0\nwrite(3</f>, \"\", 4) = 4\n",
          "w 0+4 /f@1\nw 10+4 /f@1\nw 14+4 /f@1\nw 2+4 /f@1\n" },
        { "removed files, no files",
          "write(4</g>(deleted), \"abc\", 3) = 3\nwrite(1</dev/null<char 1:3>>, \"\", 4) = 4\n"
          "read(5<TCP:[1.2.3.4:5->6.7.8.9:10]>, \"\", 4) = 4\nread(6<pipe:[7]>, \"\", 4) = 4\n",
          "w 0+3 /g@1\n" },
        { "copies inside the kernel",
          "copy_file_range(3</f>, [5], 4</g>, NULL, 7, 0) = 7\nsendfile(4</g>, 3</f>, [2] => [6], 4) = 4\n"
          "sendfile(4</g>, 3</f>, NULL, 4) = 4\n",
          "r 5+7 /f@1\nw 0+7 /g@1\nw 7+4 /g@1\nr 2+4 /f@1\nw 11+4 /g@1\nr 0+4 /f@1\n" },
        { "children share what was open",
          "read(3</f>, \"\", 4) = 4\nfork() = 2\n2 9.5 read(3</f>, \"\", 4) = 4\nread(3</f>, \"\", 4) = 4\n"
          "2 9.6 close(3</f>) = 0\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 4+4 /f@2\nr 8+4 /f@1\nr 12+4 /f@1\n" },
        { "a child may come before its fork returns",
          "read(3</f>, \"\", 4) = 4\nvfork( <unfinished ...>\n2 9.5 read(3</f>, \"\", 4) = 4\n2 9.6 +++ exited with 0 +++\n"
          "<... vfork resumed>) = 2\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 4+4 /f@2\nr 8+4 /f@1\n" },
        { "what ends before its fork returns is over",
          "read(3</f>, \"\", 4) = 4\nvfork( <unfinished ...>\n2 9.5 read(3</f>, \"\", 4) = 4\n2 9.6 +++ exited with 0 +++\n"
          "<... vfork resumed>) = 2\n2 9.7 read(3</f>, \"\", 4) = 4\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 4+4 /f@2\nr 0+4 /f@2\nr 8+4 /f@1\n" },
        { "whose child it is tells what forks return",
          "2 9.4 read(3</f>, \"\", 9) = 9\nread(3</f>, \"\", 4) = 4\nfork( <unfinished ...>\n2 9.5 fork( <unfinished ...>\n"
          "4 9.6 read(3</f>, \"\", 1) = 1\n3 9.6 read(3</f>, \"\", 1) = 1\n2 9.7 <... fork resumed>) = 4\n"
          "<... fork resumed>) = 3\n",
          "r 0+9 /f@2\nr 0+4 /f@1\nr 9+1 /f@4\nr 4+1 /f@3\n" },
        { "or whose fork does not return",
          "2 9.4 read(3</f>, \"\", 9) = 9\nread(3</f>, \"\", 4) = 4\nfork( <unfinished ...>\n2 9.5 vfork( <unfinished ...>\n"
          "4 9.6 read(3</f>, \"\", 1) = 1\n3 9.6 read(3</f>, \"\", 1) = 1\n<... fork resumed>) = 3\n",
          "r 0+9 /f@2\nr 0+4 /f@1\nr 9+1 /f@4\nr 4+1 /f@3\n" },
        { "threads are one process and share descriptors",
          "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, child_tid=0x7f} => {parent_tid=[2]}, 88) = 2\n"
          "2 9.5 openat(AT_FDCWD</>, \"f\", O_RDONLY) = 3</f>\n2 9.6 read(3</f>, \"\", 4) = 4\nread(3</f>, \"\", 4) = 4\n",
          "r 0+4 /f@1\nr 4+4 /f@1\n" },
        { "interrupted by others",
          "read(3</f>,  <unfinished ...>\n[pid 2] 9.5 read(3</f>, \"\", 4) = 4\n<... read resumed>\"\"..., 4) = 3\n",
          "r 0+4 /f@2\nr 0+3 /f@1\n" },
        { "what else may stand there",
          "--- SIGCHLD {si_signo=SIGCHLD} ---\nstrace: Process 13771 attached\nwrite(\nread(3</f>, \"\n)\n<... read resumed>x) = 3\n"
          "read() = 4\npread64(3</f>) = 5\nread(3</f>, \"\", 1) = 1\n",
          "r 0+5 /f@1\nr 5+1 /f@1\n" },
    };

    return cr_make_param_array(struct line_case, rows, ARRAY_SIZE(rows));
}

/* Puts "1 9.123 " before lines that begin with a name or a mark. */
static char *complete(const char *lines)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    while (*lines != 0) {
        size_t line = strcspn(lines, "\n") + 1;

        fprintf(out, "%s%.*s",
                *lines >= '0' && *lines <= '9' ? ""
                : *lines == '['                ? ""
                                               : "1 9.123456 ",
                (int) line, lines);
        lines += line;
    }
    fclose(out);
    return text;
}

ParameterizedTest(struct line_case *row, strace, lines)
{
    cleanup(freep) char *text = complete(row->lines), *found = NULL;
    char why[TRACE_WHY] = "";
    struct trace trace;

    cr_assert_eq(load(text, &trace, why), 0, "%s: %s", row->why, why);
    found = told(&trace);
    cr_expect_str_eq(found, row->want, "%s: %s", row->why, found);
    trace_done(&trace);
}

Test(strace, says_what_is_no_trace)
{
    char why[TRACE_WHY];
    struct trace trace;

    cr_expect_eq(load("hello\n", &trace, why), -EBADMSG);
    cr_expect(strstr(why, "is no trace") != NULL, "%s", why);
    cr_expect_eq(load("100 12:00:01 read(3</f>, \"\", 1) = 1\n", &trace, why), -EBADMSG);
    cr_expect(strstr(why, "-ttt") != NULL, "%s", why);
    cr_expect_eq(load("100 9.5 read(3, \"\", 1) = 1\n", &trace, why), -EBADMSG);
    cr_expect(strstr(why, "-yy") != NULL, "%s", why);
}

Test(strace, tells_when_and_how_long)
{
    char why[TRACE_WHY];
    struct trace trace;

    cr_assert_eq(
        load("5 100.5 read(3</f>,  <unfinished ...>\n6 100.6 close(9) = 0\n5 100.75 <... read resumed>\"\", 1) = 1\n"
             "5 101.000001 read(3</f>, \"\", 1) = 1\n",
             &trace, why),
        0);
    cr_assert_eq(trace.n_accesses, 2);
    cr_expect(trace.began == 100500000000 && trace.access[0].at == 0 && trace.access[0].took == 250000);
    cr_expect(trace.access[1].at == 500001000 && trace.access[1].took == 0);
    cr_expect_eq(trace.flags, TRACE_EVERY | TRACE_IMPORTED);
    trace_done(&trace);
}

/* Tells of descriptors that were open before; a seek finds them again. */
Test(strace, knows_what_it_does_not_know)
{
    char why[TRACE_WHY];
    struct trace trace;

    cr_assert_eq(
        load("5 1.5 read(3</f>, \"\", 1) = 1\n5 1.6 lseek(4</g>, 0, SEEK_SET) = 0\n5 1.7 read(4</g>, \"\", 1) = 1\n"
             "5 1.8 pread64(5</h>, \"\", 1, 7) = 1\n",
             &trace, why),
        0);
    cr_expect_eq(trace.open_already, 1);
    trace_done(&trace);
}

Test(strace, leaves_out_lines_that_are_too_long)
{
    cleanup(freep) char *text = malloc(200000);
    char why[TRACE_WHY];
    struct trace trace;

    cr_assert(text != NULL);
    memset(text, 'x', 200000);
    memcpy(text, "5 1.5 read(3</f>, \"", 19);
    strcpy(text + 150000, "\n5 1.6 read(3</f>, \"\", 2) = 2\n");
    cr_assert_eq(load(text, &trace, why), 0);
    cr_expect(trace.n_accesses == 1 && trace.dropped == 1);
    trace_done(&trace);
}

/* -- random programs -- */

#define MAX_TASKS 9
#define MAX_FDS   6
#define MAX_OPEN  200

/* The model: where each open file description stands, who refers to it. */
struct model {
    uint64_t pos[MAX_OPEN];
    unsigned file[MAX_OPEN], n_open;
    int fd[MAX_TASKS][MAX_FDS]; /* a description, -1: closed */
    unsigned n_tasks;
    FILE *lines, *want;
};

static void access_file(struct model *model, unsigned task, unsigned open, uint64_t offset, uint64_t len, bool writes)
{
    fprintf(model->want, "%c %" PRIu64 "+%" PRIu64 " /f%u@%u\n", writes ? 'w' : 'r', offset, len, model->file[open],
            100 + task);
}

static void step_data(struct model *model, struct rng *rng, unsigned task, unsigned fd)
{
    unsigned open = (unsigned) model->fd[task][fd];
    uint64_t len = rng_between(rng, 1, 99), offset = rng_below(rng, 1000);
    bool writes = rng_chance(rng, 50), at = rng_chance(rng, 40), interrupted = rng_chance(rng, 20);

    fprintf(model->lines, "%u 7.%06" PRIu64 " %s(%u</f%u>, ", 100 + task, rng_below(rng, 1000000),
            at       ? (writes ? "pwrite64" : "pread64")
            : writes ? "write"
                     : "read",
            fd, model->file[open]);
    if (interrupted)
        fprintf(model->lines, " <unfinished ...>\n99 7.5 close(3) = 0\n%u 8.5 <... x resumed>", 100 + task);
    fprintf(model->lines, "\"ab)\\\"\"..., %" PRIu64, len);
    if (at)
        fprintf(model->lines, ", %" PRIu64, offset);
    fprintf(model->lines, ") = %" PRIu64 "\n", len);
    access_file(model, task, open, at ? offset : model->pos[open], len, writes);
    model->pos[open] += at ? 0 : len;
}

static void step_open(struct model *model, struct rng *rng, unsigned task, unsigned fd)
{
    unsigned file = (unsigned) rng_below(rng, 3);

    fprintf(model->lines, "%u 7.5 openat(AT_FDCWD</x>, \"f\", O_RDWR) = %u</f%u>\n", 100 + task, fd, file);
    model->file[model->n_open] = file;
    model->pos[model->n_open] = 0;
    model->fd[task][fd] = (int) model->n_open++;
}

static void step_dup(struct model *model, struct rng *rng, unsigned task, unsigned fd)
{
    unsigned to = (unsigned) rng_below(rng, MAX_FDS), file = model->file[model->fd[task][fd]];

    fprintf(model->lines, "%u 7.5 dup2(%u</f%u>, %u) = %u</f%u>\n", 100 + task, fd, file, to, to, file);
    model->fd[task][to] = model->fd[task][fd];
}

static void step_fork(struct model *model, struct rng *rng, unsigned task)
{
    unsigned child = model->n_tasks++;

    memcpy(model->fd[child], model->fd[task], sizeof model->fd[child]);
    if (rng_chance(rng, 50)) {
        fprintf(model->lines, "%u 7.5 clone(child_stack=NULL, flags=SIGCHLD) = %u\n", 100 + task, 100 + child);
        return;
    }
    fprintf(model->lines,
            "%u 7.5 vfork( <unfinished ...>\n%u 7.5 lseek(77<pipe:[1]>, 0, SEEK_CUR) = -1 ESPIPE\n"
            "%u 7.6 <... vfork resumed>) = %u\n",
            100 + task, 100 + child, 100 + task, 100 + child);
}

/* Two tasks fork at the same moment, and their children are at work before either fork has returned. */
static void step_forks(struct model *model, struct rng *rng, unsigned task)
{
    unsigned other = (task + 1) % model->n_tasks, first = (unsigned) rng_below(rng, 2);
    const unsigned maker[2] = { task, other }, child[2] = { model->n_tasks, model->n_tasks + 1 };

    model->n_tasks += 2;
    for (unsigned i = 0; i < 2; i++) {
        memcpy(model->fd[child[i]], model->fd[maker[i]], sizeof model->fd[0]);
        fprintf(model->lines, "%u 7.5 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n", 100 + maker[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        unsigned born = child[(i + first) % 2], fd = (unsigned) rng_below(rng, MAX_FDS);

        if (model->fd[born][fd] >= 0)
            step_data(model, rng, born, fd);
        else
            fprintf(model->lines, "%u 7.5 close(77) = -1 EBADF (Bad file descriptor)\n", 100 + born);
    }
    first = (unsigned) rng_below(rng, 2);
    for (unsigned i = 0; i < 2; i++)
        fprintf(model->lines, "%u 7.6 <... clone resumed>) = %u\n", 100 + maker[(i + first) % 2],
                100 + child[(i + first) % 2]);
}

static void step(struct model *model, struct rng *rng)
{
    unsigned task = (unsigned) rng_below(rng, model->n_tasks), fd = (unsigned) rng_below(rng, MAX_FDS);
    uint64_t what = rng_below(rng, 100), pos = rng_below(rng, 500);

    if (model->fd[task][fd] < 0) {
        if (model->n_open < MAX_OPEN)
            step_open(model, rng, task, fd);
    } else if (what < 60) {
        step_data(model, rng, task, fd);
    } else if (what < 70) {
        fprintf(model->lines, "%u 7.5 lseek(%u</f%u>, 1, SEEK_CUR) = %" PRIu64 "\n", 100 + task, fd,
                model->file[model->fd[task][fd]], pos);
        model->pos[model->fd[task][fd]] = pos;
    } else if (what < 80) {
        step_dup(model, rng, task, fd);
    } else if (what < 90) {
        fprintf(model->lines, "%u 7.5 close(%u</f%u>) = 0\n", 100 + task, fd, model->file[model->fd[task][fd]]);
        model->fd[task][fd] = -1;
    } else if (what < 95 && model->n_tasks < MAX_TASKS) {
        step_fork(model, rng, task);
    } else if (model->n_tasks > 1 && model->n_tasks + 1 < MAX_TASKS) {
        step_forks(model, rng, task);
    }
}

Test(strace, follows_random_programs)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        cleanup(freep) char *lines = NULL, *want = NULL, *found = NULL;
        struct model model = { .n_tasks = 1 };
        char why[TRACE_WHY] = "";
        struct trace trace;
        size_t len;

        memset(model.fd, -1, sizeof model.fd);
        model.lines = open_memstream(&lines, &len);
        model.want = open_memstream(&want, &len);
        fputs("99 7.0 close(3) = 0\n100 7.0 close(99) = 0\n", model.lines);
        for (uint64_t n = rng_below(&rng, 200); n > 0; n--)
            step(&model, &rng);
        fclose(model.lines);
        fclose(model.want);
        cr_assert_eq(load(lines, &trace, why), 0, RNG_SEED ": %s", rng.seed, why);
        found = told(&trace);
        cr_assert_str_eq(found, want, RNG_SEED "\n%s", rng.seed, lines);
        trace_done(&trace);
    }
}

/* A large file that is something else is not read to its end. */
Test(strace, what_is_no_trace_is_soon_known)
{
    FILE *in = tmpfile();
    struct trace trace = { 0 };
    char why[TRACE_WHY];

    cr_assert_not_null(in);
    cr_assert_eq(ftruncate(fileno(in), (off_t) 1 << 36), 0);
    cr_expect_eq(trace_load(in, &trace, why), -EBADMSG);
    cr_expect_lt(ftell(in), 256 << 20);
    fclose(in);
}
