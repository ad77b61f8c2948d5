/* SPDX-License-Identifier: MIT */
/* Programs that walk a file, to be traced, and to be timed in one layout and another. test/bench/profile.py calls this:
 *
 *     bench_profile list                                          the workloads, a line each
 *     bench_profile size WORKLOAD PROCS BYTES                     of the file
 *     bench_profile run WORKLOAD PROCS BYTES SEED FILE PHASE...   prints "PHASE SECONDS BYTES" for each
 *
 * WORKLOAD may be a layout, too, whose elements processes have. Phases are write, as a new file; read, as the workload
 * does; check, which reads likewise and looks at each byte; and whole, all bytes of the file. The same processes do one
 * after the other. The time of a phase is from when all may begin to when the last one is done; when all have written,
 * the first one syncs the file, and all wait for it. */
#include "ioctl/client/bench/content.h"
#include "layout/clock.h"
#include "test/bench/workloads.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCS   256
#define MAX_THREADS 16
#define GENERATION  1
#define WHOLE_STEP  (UINT64_C(1) << 20)

enum phase { WRITE, READ, CHECK, WHOLE, N_PHASES };

static const char *const phase_name[] = { "write", "read", "check", "whole" };

/* What processes share. */
struct common {
    pthread_barrier_t barrier;
    uint64_t begin[MAX_PROCS], end[MAX_PROCS]; /* ns */
    uint64_t bytes[MAX_PROCS];
    bool failed;
};

struct process {
    const struct program *program;
    const char *path;
    struct common *common;
    uint32_t rank;
    enum phase phase;
    int fd;
};

/* A thread of a process does every n-th step. */
struct walker {
    const struct process *process;
    uint32_t index, n;
    uint64_t bytes;
    pthread_t thread;
};

/* The others wait for a process that ends: so it goes on, and says so at the end. */
static void fail(const struct process *process, const char *what, int r)
{
    fprintf(stderr, "%s: process %" PRIu32 ": %s: %s\n", process->path, process->rank, what,
            r == 0 ? "wrong bytes" : strerror(-r));
    process->common->failed = true;
}

/* -- steps -- */

static int move_range(int fd, void *buf, const struct step *step, bool writes)
{
    uint8_t *at = buf;
    uint64_t done = 0;

    while (done < step->len) {
        off_t off = (off_t) (step->off + done);
        ssize_t n = writes ? pwrite(fd, at + done, step->len - done, off) : pread(fd, at + done, step->len - done, off);

        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        done += (uint64_t) n;
    }
    return 0;
}

static int move(const struct process *process, void *buf, const struct step *step, bool writes)
{
    const struct fallsfs_array *array = &process->program->array;

    if (!step->is_section)
        return move_range(process->fd, buf, step, writes);
    return writes ? fallsfs_write_section(process->fd, array, step->section, buf)
                  : fallsfs_read_section(process->fd, array, step->section, buf);
}

static void fill(const struct process *process, void *buf, const struct step *step)
{
    if (step->is_section)
        content_fill_section(buf, &process->program->array, step->section, GENERATION);
    else
        content_fill(buf, step->off, step->len, GENERATION);
}

static bool is_right(const struct process *process, const void *buf, const struct step *step)
{
    cleanup(freep) void *want = NULL;

    if (step->is_section)
        return content_check_section(buf, &process->program->array, step->section, GENERATION) == UINT64_MAX;
    want = malloc(step->len);
    if (want == NULL)
        return false;
    content_fill(want, step->off, step->len, GENERATION);
    return memcmp(buf, want, step->len) == 0;
}

static uint64_t n_steps(const struct process *process)
{
    uint64_t all = (process->program->bytes + WHOLE_STEP - 1) / WHOLE_STEP;

    if (process->phase != WHOLE)
        return program_count(process->program, process->rank, process->phase == WRITE);
    return (all + process->program->n_procs - 1 - process->rank) / process->program->n_procs;
}

static struct step step_of(const struct process *process, uint64_t i)
{
    uint64_t off = (i * process->program->n_procs + process->rank) * WHOLE_STEP;

    if (process->phase != WHOLE)
        return program_step(process->program, process->rank, process->phase == WRITE, i);
    return (struct step){ .off = off, .len = MIN(WHOLE_STEP, process->program->bytes - off) };
}

static void *walk(void *arg)
{
    struct walker *walker = arg;
    const struct process *process = walker->process;
    bool writes = process->phase == WRITE, checks = process->phase == CHECK || process->phase == WHOLE;
    cleanup(freep) void *buf = NULL;
    uint64_t room = 0, n = n_steps(process);
    int r = 0;

    for (uint64_t i = walker->index; r == 0 && i < n; i += walker->n) {
        struct step step = step_of(process, i);

        if (step.len > room) {
            free(buf);
            room = step.len;
            buf = malloc(room);
        }
        if (buf == NULL)
            r = -ENOMEM;
        else if (writes)
            fill(process, buf, &step);
        if (r == 0)
            r = move(process, buf, &step, writes);
        if (r == 0 && checks && !is_right(process, buf, &step))
            fail(process, phase_name[process->phase], 0);
        walker->bytes += step.len;
    }
    if (r < 0)
        fail(process, phase_name[process->phase], r);
    return NULL;
}

/* -- phases -- */

static void walk_all(struct process *process)
{
    struct walker walker[MAX_THREADS];
    uint32_t n = process->phase == WRITE ? 1 : process->program->workload->n_threads;

    for (uint32_t i = 0; i < n; i++) {
        walker[i] = (struct walker){ .process = process, .index = i, .n = n };
        if (n > 1 && pthread_create(&walker[i].thread, NULL, walk, &walker[i]) != 0)
            fail(process, "a thread", -EAGAIN);
    }
    if (n == 1)
        walk(&walker[0]);
    for (uint32_t i = 0; i < n; i++) {
        if (n > 1)
            pthread_join(walker[i].thread, NULL);
        process->common->bytes[process->rank] += walker[i].bytes;
    }
}

static void meet(const struct process *process)
{
    pthread_barrier_wait(&process->common->barrier);
}

static void run_phase(struct process *process)
{
    struct common *common = process->common;
    bool writes = process->phase == WRITE;

    process->fd = open(process->path, writes ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
    if (process->fd < 0 || (writes && process->rank == 0 && ftruncate(process->fd, 0) < 0))
        fail(process, "open", -errno);
    common->bytes[process->rank] = 0;
    meet(process);
    common->begin[process->rank] = clock_ns();
    walk_all(process);
    if (writes) {
        meet(process);
        if (process->rank == 0 && fsync(process->fd) < 0)
            fail(process, "fsync", -errno);
    }
    common->end[process->rank] = clock_ns();
    if (close(process->fd) < 0)
        fail(process, "close", -errno);
    meet(process);
}

static void print_phase(const struct process *process)
{
    const struct common *common = process->common;
    uint64_t begin = UINT64_MAX, end = 0, bytes = 0;

    for (uint32_t rank = 0; rank < process->program->n_procs; rank++) {
        begin = MIN(begin, common->begin[rank]);
        end = MAX(end, common->end[rank]);
        bytes += common->bytes[rank];
    }
    printf("%s %.6f %" PRIu64 "\n", phase_name[process->phase], (double) (end - begin) * 1e-9, bytes);
    fflush(stdout);
}

static void run_process(struct process *process, int n_phases, char **phases)
{
    for (int i = 0; i < n_phases; i++) {
        process->phase = WRITE;
        while (strcmp(phases[i], phase_name[process->phase]) != 0)
            process->phase++;
        run_phase(process);
        if (process->rank == 0)
            print_phase(process);
        meet(process);
    }
}

static struct common *make_common(uint32_t n_procs)
{
    struct common *common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;

    if (common == MAP_FAILED)
        return NULL;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    return pthread_barrier_init(&common->barrier, &attr, n_procs) == 0 ? common : NULL;
}

static int run(const struct program *program, const char *path, int n_phases, char **phases)
{
    struct common *common = make_common(program->n_procs);
    bool failed = common == NULL;

    for (uint32_t rank = 0; !failed && rank < program->n_procs; rank++) {
        pid_t pid = fork();

        if (pid == 0) {
            struct process process = { .program = program, .path = path, .common = common, .rank = rank };

            run_process(&process, n_phases, phases);
            _exit(0);
        }
        failed = pid < 0;
    }
    while (!failed && wait(NULL) > 0) {
    }
    return failed || common->failed ? 1 : 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_profile list | size WORKLOAD PROCS BYTES | run WORKLOAD PROCS BYTES SEED FILE "
                    "write|read|check|whole...\n");
    return 2;
}

static bool are_phases(int n, char **words)
{
    for (int i = 0; i < n; i++) {
        int phase = WRITE;

        while (phase < N_PHASES && strcmp(words[i], phase_name[phase]) != 0)
            phase++;
        if (phase == N_PHASES)
            return false;
    }
    return n > 0;
}

/* words: WORKLOAD PROCS BYTES, and maybe SEED */
static int find_program(struct program *program, char **words)
{
    const struct workload *workload = workload_find(words[0]);
    unsigned long n_procs = strtoul(words[1], NULL, 10);
    uint64_t bytes = strtoull(words[2], NULL, 10), seed = words[3] != NULL ? strtoull(words[3], NULL, 10) : 0;

    if (n_procs == 0 || n_procs > MAX_PROCS)
        return -EINVAL;
    return workload != NULL ? program_init(program, workload, (uint32_t) n_procs, bytes, seed)
                            : program_init_elements(program, words[0], (uint32_t) n_procs, bytes);
}

int main(int argc, char **argv)
{
    cleanup(program_done) struct program program = { 0 };
    bool runs = argc > 7 && strcmp(argv[1], "run") == 0 && are_phases(argc - 7, argv + 7);

    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; workload_at(i) != NULL; i++)
            puts(workload_at(i)->name);
        return 0;
    }
    if (!runs && (argc != 5 || strcmp(argv[1], "size") != 0))
        return usage();
    if (find_program(&program, argv + 2) < 0) {
        fprintf(stderr, "%s by %s processes and %s bytes makes no sense\n", argv[2], argv[3], argv[4]);
        return 2;
    }
    if (runs)
        return run(&program, argv[6], argc - 7, argv + 7);
    printf("%" PRIu64 "\n", program.bytes);
    return 0;
}
