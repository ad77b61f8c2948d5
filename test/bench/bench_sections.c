/* SPDX-License-Identifier: MIT */
/* The sections of the extended two-phase paper, by us and by others. test/bench/sections.sh mounts and calls this:
 *
 *     bench_sections cases [WORD...]                         the cases that the words name: a table, or table/case
 *     bench_sections run SIZE SAMPLES RANKS TARGET... [cold] [park=MODEL...] [programs] [mpi=COMMAND] [ompi=COMMAND]
 *                                            -- CASE...      measures; appends the samples
 *     bench_sections report SAMPLES REMARK [JSON]            the tables; exit status 1 when a bar is missed
 *
 * SIZE is quick or full; TARGET is name,directory,pid with the names plain (the bound, the direct method and MPI-IO are
 * measured), falls (our methods, direct, MPI-IO) and others (our static and dynamic). COMMAND is mpiexec and all its
 * words up to romio_sections; cold: nothing is cached when a call is made, and the arms of the slow disks whose models
 * are named are parked, or each method would find them where the one before it left them. Where MPI programs are the
 * subject (programs), memory is ordinary, as theirs is, and nobody takes part but MPI's files and what they are
 * compared with. All are measured in turns within one case. */
#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/method.h"
#include "ioctl/client/bench/paper.h"
#include "ioctl/client/bench/pieces.h"
#include "ioctl/client/bench/trial.h"
#include "layout/base.h"
#include "test/bench/cold.h"
#include "test/bench/romio.h"
#include "test/bench/sections_report.h"

#include <fallsfs.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_TARGETS    8
#define MAX_CONTENDERS 48
#define MAX_MODELS     8
#define SIDES          2 /* 4096 and 16384 */

struct target {
    char *name, *dir;
    pid_t pid;
    uint64_t memory;   /* KiB of the daemon before it has done anything */
    char *path[SIDES]; /* of the arrays */
    bool is_made[SIDES];
};

struct bench {
    bool quick, cold, programs;
    uint32_t nranks;
    FILE *out;
    struct target target[MAX_TARGETS];
    uint32_t n_targets;
    const char *model[MAX_MODELS]; /* of slow disks */
    uint32_t n_models;
    char *mpi, *ompi; /* NULL: none */
    struct squad *ours, *mpis, *ompis;
    const char *paths[MAX_TARGETS * SIDES];
};

PRINTF_LIKE(1, 2) __attribute__((noreturn)) static void fail(const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    va_start(args, fmt);
    fprintf(stderr, "bench_sections: ");
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

/* -- who takes part -- */

enum way { BOUND, DIRECT, INDEPENDENT, STATIC, DYNAMIC, CYCLIC, DISK };

static const struct method *const methods[] = {
    [BOUND] = &method_bound,   [DIRECT] = &method_direct,   [INDEPENDENT] = &method_independent,
    [STATIC] = &method_static, [DYNAMIC] = &method_dynamic, [CYCLIC] = &method_cyclic,
    [DISK] = &method_disk
};

static const char *const romio_names[] = {
    [ROMIO_PLAIN] = "romio_plain", [ROMIO_SIEVE] = "romio_sieve", [ROMIO_DEFAULT] = "romio_default",
    [ROMIO_ONE] = "romio_one",     [ROMIO_FOUR] = "romio_four",   [ROMIO_ALL] = "romio_all",
};

static bool takes_part(const struct bench *bench, const struct target *target, enum way way)
{
    if (bench->programs)
        return way == DYNAMIC && strcmp(target->name, "falls") == 0;
    if (strcmp(target->name, "plain") == 0)
        return way == DIRECT || (way == BOUND && !bench->cold); /* what is mapped stays cached */
    if (strcmp(target->name, "falls") == 0)
        return way != BOUND;
    return way == STATIC || way == DYNAMIC;
}

/* Where the library serves a file, hints of ROMIO's mean little. */
static bool has_mpi(const struct bench *bench, const struct target *target, enum romio_way way)
{
    return strcmp(target->name, "plain") == 0 ||
           (strcmp(target->name, "falls") == 0 && (!bench->programs || way == ROMIO_DEFAULT));
}

/* Open MPI's own way has no such settings. */
static bool has_ompi(const struct bench *bench, const struct target *target)
{
    return bench->ompis != NULL && strcmp(target->name, "plain") == 0;
}

static const char *name_of(const struct bench *bench, const struct contender *c)
{
    if (c->squad == bench->ours)
        return methods[c->method]->name;
    return c->squad == bench->ompis ? "ompio" : romio_names[c->method];
}

static const struct target *target_of(const struct bench *bench, const struct contender *c)
{
    return &bench->target[c->file / SIDES];
}

static uint32_t find_contenders(const struct bench *bench, uint32_t side, struct contender contender[])
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < bench->n_targets; t++) {
        const struct target *target = &bench->target[t];
        struct contender c = {
            .squad = bench->ours, .file = t * SIDES + side, .path = target->path[side], .daemon = target->pid
        };

        for (c.method = 0; c.method < ARRAY_SIZE(methods); c.method++)
            if (takes_part(bench, target, (enum way) c.method))
                contender[n++] = c;
        c.squad = bench->mpis;
        for (c.method = 0; c.squad != NULL && c.method < ROMIO_WAYS; c.method++)
            if (has_mpi(bench, target, (enum romio_way) c.method))
                contender[n++] = c;
        c.squad = bench->ompis;
        c.method = ROMIO_DEFAULT;
        if (has_ompi(bench, target))
            contender[n++] = c;
    }
    return n;
}

/* -- memory -- */

/* KiB of a process that are its own or shared memory; pages of files can be had back at any time. Shared ones count in
 * parts. */
static uint64_t memory_of(pid_t pid)
{
    char path[64], line[256];
    uint64_t sum = 0;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int) pid);
    in = fopen(path, "re");
    if (in == NULL)
        fail("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, in) != NULL)
        if (strncmp(line, "Pss_Anon:", 9) == 0 || strncmp(line, "Pss_Shmem:", 10) == 0)
            sum += strtoull(strchr(line, ':') + 1, NULL, 10);
    fclose(in);
    return sum;
}

static uint64_t memory_of_members(const struct contender *c)
{
    uint64_t sum = 0;

    for (uint32_t rank = 0; rank < squad_nranks(c->squad); rank++)
        sum += memory_of(squad_pid(c->squad, rank));
    return sum;
}

static uint64_t memory_of_all(const struct contender *c)
{
    return memory_of_members(c) + (c->daemon != 0 ? memory_of(c->daemon) : 0);
}

static void wait_until_done(struct squad *squad, uint64_t *peak, const struct contender *c, struct squad_result *result)
{
    int r;

    while ((r = squad_wait(squad, 1, result)) == -EAGAIN)
        if (peak != NULL)
            *peak = MAX(*peak, memory_of_all(c));
    if (r < 0)
        fail("a process has died while memory was looked at");
}

/* Looks as often as it can while some calls are made, the first of which sets everything up. */
static void look_at_memory(struct bench *bench, const char *id, struct trial *trial, uint32_t contender)
{
    struct contender *c = &trial->contender[contender];
    struct squad_order order;
    struct squad_result result;
    uint64_t before, peak, data = 0;

    if (getrandom(c->token, sizeof c->token, 0) < 0)
        fail("no random numbers: %s", strerror(errno));
    trial_order(trial, contender, false, &order);
    order.method = SQUAD_NOTHING;
    order.task = trial->task - 1;
    squad_start(c->squad, &order);
    wait_until_done(c->squad, NULL, c, &result);
    peak = before = memory_of_members(c) + target_of(bench, c)->memory;
    trial_order(trial, contender, false, &order);
    for (int i = 0; i < 3; i++) {
        squad_start(c->squad, &order);
        wait_until_done(c->squad, &peak, c, &result);
        peak = MAX(peak, memory_of_all(c));
    }
    if (result.error < 0)
        return; /* as will be seen when it is measured */
    for (uint32_t rank = 0; rank < bench->nranks; rank++) {
        struct fallsfs_range section[FALLSFS_MAX_DIMS];

        deal_section(&trial->deal, &trial->array, rank, bench->nranks, section);
        data += pieces_bytes(&trial->array, section);
    }
    fprintf(bench->out, "memory %s %s %s 0 %.6g %.6g\n", id, target_of(bench, c)->name, name_of(bench, c),
            (double) (peak - before) / 1024, (double) data / (1024 * 1024));
}

/* -- cases -- */

static void cool_down(void *ctx)
{
    const struct bench *bench = ctx;

    for (uint32_t i = 0; i < bench->n_targets * SIDES; i++)
        cold_file(bench->paths[i]);
    for (uint32_t i = 0; i < bench->n_targets; i++)
        if (bench->target[i].pid > 0)
            cold_process(bench->target[i].pid);
    cold_system();
    for (uint32_t i = 0; i < bench->n_models; i++)
        cold_disk(bench->model[i]);
}

static void make_files(struct bench *bench, const struct fallsfs_array *array, uint32_t side)
{
    for (uint32_t t = 0; t < bench->n_targets; t++) {
        struct target *target = &bench->target[t];
        int r = target->is_made[side] ? 0 : content_make_file(target->path[side], array);

        if (r < 0)
            fail("%s: cannot be written: %s", target->path[side], strerror(-r));
        target->is_made[side] = true;
    }
}

static void tell_deeds(FILE *out, const char *id, const char *target, const char *name,
                       const struct fallsfs_ioc_stats *stats)
{
    const uint64_t deed[DEEDS] = {
        [NS_WAIT] = stats->ns_wait,      [NS_PLAN] = stats->ns_plan,
        [NS_IO] = stats->ns_io,          [NS_EXCHANGE] = stats->ns_exchange,
        [NS_TOTAL] = stats->ns_total,    [DOMAINS] = stats->domains,
        [WINDOWS] = stats->windows,      [REQUESTS] = stats->requests,
        [BYTES_READ] = stats->disk_read, [BYTES_WRITTEN] = stats->disk_written,
        [BYTES_MAPPED] = stats->mapped,  [BYTES_REREAD] = stats->reread,
    };

    for (int i = 0; stats->calls > 0 && i < DEEDS; i++)
        fprintf(out, "did %s %s %s %d %" PRIu64 " 0\n", id, target, name, i, deed[i]);
}

static void tell(struct bench *bench, const char *id, const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->n_contenders; i++) {
        const struct contender *c = &trial->contender[i];
        const char *target = target_of(bench, c)->name, *name = name_of(bench, c);

        for (uint32_t k = 0; k < c->n_samples; k++)
            fprintf(bench->out, "time %s %s %s %" PRIu32 " %.9g %.9g\n", id, target, name, k, c->seconds[k], c->cpu[k]);
        tell_deeds(bench->out, id, target, name, &c->stats);
        if (c->error < 0) {
            fprintf(bench->out, "failed %s %s %s 0 %d 0\n", id, target, name, -c->error);
            fprintf(stderr, "\n%s: %s on %s: %s\n", id, name, target, c->why);
        }
    }
    fflush(bench->out);
}

static void describe(struct bench *bench, const char *id, const struct trial *trial)
{
    struct fallsfs_range section[FALLSFS_MAX_DIMS];
    uint64_t pieces, bytes;

    deal_section(&trial->deal, &trial->array, 0, bench->nranks, section);
    pieces = pieces_count(&trial->array, section);
    bytes = pieces_bytes(&trial->array, section);
    fprintf(bench->out, "size %s - - 0 %" PRIu64 " %" PRIu64 "\n", id, pieces, pieces > 0 ? bytes / pieces : 0);
}

static void run_case(struct bench *bench, const struct paper_case *c, uint32_t task, bool only_memory)
{
    struct contender contender[MAX_CONTENDERS];
    uint32_t side = c->table == 8;
    struct trial trial = { .array = paper_array(c),
                           .write = c->write,
                           .task = task,
                           .n_rounds = bench->quick ? 3 : 7,
                           .budget = bench->quick ? 2 : 8,
                           .before = bench->cold ? cool_down : NULL,
                           .ctx = bench,
                           .contender = contender };
    const char *bad;
    char id[24];
    int r;

    snprintf(id, sizeof id, "%" PRIu32 "/%s", c->table, c->name);
    if (deal_parse(c->section, &trial.deal, &bad) < 0)
        fail("%s: '%s' is no section", id, c->section);
    make_files(bench, &trial.array, side);
    trial.n_contenders = find_contenders(bench, side, contender);
    if (only_memory) {
        for (uint32_t i = 0; i < trial.n_contenders; i++)
            look_at_memory(bench, id, &trial, i);
        return;
    }
    describe(bench, id, &trial);
    r = trial_run(&trial);
    tell(bench, id, &trial);
    if (r < 0)
        fail("%s: %s", id, r == -ECHILD ? "a process has died, or mpiexec has ended" : strerror(-r));
    fputs(id, stderr);
    fputc(' ', stderr);
}

static bool is_named(const struct paper_case *c, int n, char **words)
{
    for (int i = 0; i < n; i++)
        if (paper_is_named(c, words[i]))
            return true;
    return false;
}

/* -- setting up -- */

static void read_target(struct bench *bench, char *text)
{
    struct target *target = &bench->target[bench->n_targets];
    char *pid;

    if (bench->n_targets == MAX_TARGETS)
        fail("too many targets");
    target->name = strsep(&text, ",");
    target->dir = strsep(&text, ",");
    pid = strsep(&text, ",");
    if (pid == NULL)
        fail("'%s' is no target: it is name,directory,pid", target->name);
    target->pid = (pid_t) strtol(pid, NULL, 10);
    target->memory = target->pid != 0 ? memory_of(target->pid) : 0;
    for (uint32_t side = 0; side < SIDES; side++) {
        if (asprintf(&target->path[side], "%s/sections.%s", target->dir, side == 0 ? "4096" : "16384") < 0)
            fail("no memory");
        bench->paths[bench->n_targets * SIDES + side] = target->path[side];
    }
    bench->n_targets++;
}

/* mpiexec and its words, then what romio_sections wants to know. */
static struct squad *start_mpi(const struct bench *bench, char *command)
{
    enum { MAX_WORDS = 64 };
    const char *words[MAX_WORDS];
    char *rest = command, *word, meeting[64];
    struct squad *squad;
    size_t n = 0;
    pid_t pid;
    int r;

    snprintf(meeting, sizeof meeting, "/dev/shm/fallsfs-squad.%d", (int) getpid());
    r = squad_new(meeting, bench->nranks, &squad);
    if (r < 0)
        fail("%s: %s", meeting, strerror(-r));
    while ((word = strsep(&rest, " ")) != NULL && n < MAX_WORDS - 4 - (size_t) MAX_TARGETS * SIDES)
        words[n++] = word;
    words[n++] = "serve";
    words[n++] = meeting;
    for (uint32_t i = 0; i < bench->n_targets * SIDES; i++)
        words[n++] = bench->paths[i];
    words[n] = NULL;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execvp(words[0], drop_const(words));
        fail("%s: %s", words[0], strerror(errno));
    }
    if (pid < 0)
        fail("fork: %s", strerror(errno));
    squad_adopt(squad, pid);
    /* Once all have obeyed, nobody needs the name any more. */
    squad_start(squad, &(struct squad_order){ .task = 1, .method = SQUAD_NOTHING });
    r = squad_wait(squad, 120000, &(struct squad_result){ 0 });
    unlink(meeting);
    if (r < 0)
        fail("MPI does not start: %s", words[0]);
    return squad;
}

static int run(int argc, char **argv)
{
    struct bench bench = { .quick = strcmp(argv[0], "quick") == 0,
                           .out = fopen(argv[1], "ae"),
                           .nranks = (uint32_t) strtoul(argv[2], NULL, 10) };
    struct method_set set = { methods, ARRAY_SIZE(methods), bench.paths, 0, fallsfs_alloc, fallsfs_free };
    uint32_t task = 10;
    int i, r;

    if (bench.out == NULL)
        fail("%s: %s", argv[1], strerror(errno));
    for (i = 3; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "mpi=", 4) == 0)
            bench.mpi = argv[i] + 4;
        else if (strncmp(argv[i], "ompi=", 5) == 0)
            bench.ompi = argv[i] + 5;
        else if (strcmp(argv[i], "programs") == 0)
            bench.programs = true;
        else if (strcmp(argv[i], "cold") == 0)
            bench.cold = true;
        else if (strncmp(argv[i], "park=", 5) == 0 && bench.n_models < MAX_MODELS)
            bench.model[bench.n_models++] = argv[i] + 5;
        else
            read_target(&bench, argv[i]);
    i = MIN(i + 1, argc);
    set.n_paths = bench.n_targets * SIDES;
    if (bench.programs) {
        set.alloc = malloc;
        set.release = free;
    }
    r = squad_new(NULL, bench.nranks, &bench.ours);
    if (r == 0)
        r = squad_fork(bench.ours, method_member, &set);
    if (r < 0)
        fail("%" PRIu32 " processes: %s", bench.nranks, strerror(-r));
    if (bench.mpi != NULL)
        bench.mpis = start_mpi(&bench, bench.mpi);
    if (bench.ompi != NULL)
        bench.ompis = start_mpi(&bench, bench.ompi);
    fprintf(bench.out, "ranks - - - 0 %" PRIu32 " %d\n", bench.nranks, bench.cold);
    /* Memory first, while nobody has any that he keeps for later. */
    for (int memory = 1; memory >= 0; memory--)
        for (size_t k = 0; k < paper_n_cases; k++)
            if (is_named(&paper_cases[k], argc - i, argv + i) &&
                (memory == 0 || paper_is_named(&paper_cases[k], "5/I")))
                run_case(&bench, &paper_cases[k], task += 2, memory != 0);
    fputc('\n', stderr);
    squad_free(bench.ours);
    squad_free(bench.mpis);
    squad_free(bench.ompis);
    for (uint32_t t = 0; t < bench.n_targets; t++)
        for (uint32_t side = 0; side < SIDES; side++) {
            if (bench.target[t].is_made[side])
                unlink(bench.target[t].path[side]);
            free(bench.target[t].path[side]);
        }
    return fclose(bench.out) == 0 ? 0 : 2;
}

static int print_cases(int n, char **words)
{
    for (int i = 0; i < n; i++) {
        bool is_known = false;

        for (size_t k = 0; k < paper_n_cases; k++)
            is_known = is_known || paper_is_named(&paper_cases[k], words[i]);
        if (!is_known)
            fail("there is no table or case %s; tables are 1 to 8, cases for example 5/III", words[i]);
    }
    for (size_t k = 0; k < paper_n_cases; k++)
        if (n == 0 ? paper_cases[k].table < 7 : is_named(&paper_cases[k], n, words))
            printf("%" PRIu32 "/%s\n", paper_cases[k].table, paper_cases[k].name);
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "cases") == 0)
        return print_cases(argc - 2, argv + 2);
    if (strcmp(verb, "run") == 0 && argc > 5)
        return run(argc - 2, argv + 2);
    if (strcmp(verb, "report") == 0 && (argc == 4 || argc == 5))
        return sections_report(argv[2], argv[3], argc == 5 ? argv[4] : NULL) ? 0 : 1;
    fail("test/bench/sections.sh knows how to call this");
}
