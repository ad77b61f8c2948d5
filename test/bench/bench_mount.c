/* SPDX-License-Identifier: MIT */
/* The mount beside its peers. test/bench/mount.sh mounts them all and calls this:
 *
 *     bench_mount groups [WORD...]                       which groups of rows the words ask for: their names, or rows'
 *     bench_mount run GROUP SIZE FILE TARGET... [-- WORD...]     measures; appends the samples to FILE
 *     bench_mount many SIZE FILE DIR PID                 many files, and what the daemon needs for them
 *     bench_mount start SIZE FILE FALLSFS MOUNTPOINT DISK...     how long the next start takes
 *     bench_mount report FILE REMARK [JSON]              the tables; exit status 1 when a bar is missed
 *
 * SIZE is quick or full; TARGET is name,directory,pid,disk:disk[,o_direct][,scale=N]. In each round every target has
 * its turn, another one first each time, so that what disturbs the machine disturbs all alike. */
#include "test/bench/mount_ops.h"
#include "test/bench/mount_report.h"
#include "test/bench/samples.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TARGETS 16
#define FUSE_MAGIC  0x65735546
#define MIB         (UINT64_C(1) << 20)

/* -- rows -- */

enum before {
    NEW,   /* the file is not there yet */
    COLD,  /* the mount has nothing cached, the disks everything */
    WARM,  /* the mount has everything cached, if it keeps anything */
    CLEAN, /* the file is there, and nothing of it waits to be written */
    DISK,  /* nothing is cached, so the disks work */
    FRESH, /* an empty directory */
    NAMES, /* a directory full of files, nothing cached */
    FULL   /* the same, just listed, as rm -r does */
};

struct row {
    const char *group, *id, *targets;
    unsigned n_jobs;
    enum before before;
    job_act *act;
    struct work work;
};

#define ALL     "plain merger pass passnc falls before"
#define DIRECT  "passd fallsd fallso befored"
#define DEFAULT "plain pass falls before"
#define NAMED   "plain merger pass falls before"

/* clang-format off */
static const struct row rows[] = {
    { "seq",    "write.1",    ALL,     1, NEW,   act_move, { "one", MIB, 256 * MIB, WRITES, 1 } },
    { "seq",    "read.1",     ALL,     1, COLD,  act_move, { "one", MIB, 256 * MIB, 0, 1 } },
    { "seq",    "kept.1",     ALL,     1, WARM,  act_move, { "one", MIB, 256 * MIB, 0, 4 } },
    { "seq",    "write.4",    ALL,     4, NEW,   act_move, { "four", MIB, 64 * MIB, WRITES, 1 } },
    { "seq",    "read.4",     ALL,     4, COLD,  act_move, { "four", MIB, 64 * MIB, 0, 1 } },
    { "seq",    "kept.4",     ALL,     4, WARM,  act_move, { "four", MIB, 64 * MIB, 0, 4 } },

    { "direct", "direct_write.1",  DIRECT,  1, NEW,   act_move, { "one", MIB, 256 * MIB, WRITES, 1 } },
    { "direct", "direct_read.1",   DIRECT,  1, COLD,  act_move, { "one", MIB, 256 * MIB, 0, 2 } },
    { "direct", "direct_write.4",  DIRECT,  4, NEW,   act_move, { "four", MIB, 64 * MIB, WRITES, 1 } },
    { "direct", "direct_read.4",   DIRECT,  4, COLD,  act_move, { "four", MIB, 64 * MIB, 0, 2 } },

    { "shared", "shared.1",   DIRECT,  1, CLEAN, act_move, { "shared", MIB, 256 * MIB, WRITES | ONE_FILE, 2 } },
    { "shared", "shared.4",   DIRECT,  4, CLEAN, act_move, { "shared", MIB, 64 * MIB, WRITES | ONE_FILE, 2 } },

    { "cold",   "cold_read.1",     DEFAULT, 1, DISK,  act_move, { "one", MIB, 256 * MIB, 0, 1 } },
    { "cold",   "cold_read.4",     DEFAULT, 4, DISK,  act_move, { "four", MIB, 64 * MIB, 0, 1 } },
    { "cold",   "fsync.1",    DEFAULT, 1, NEW,   act_move, { "one", MIB, 256 * MIB, WRITES | FSYNCS, 1 } },

    { "random", "random_read.1",    ALL,     1, COLD,  act_move, { "one", 4096, 256 * MIB, RANDOM | ONE_FILE, 20000 } },
    { "random", "random_read.4",    ALL,     4, COLD,  act_move, { "one", 4096, 256 * MIB, RANDOM | ONE_FILE, 5000 } },
    { "random", "random_write.1",   ALL,     1, CLEAN, act_move, { "one", 4096, 256 * MIB, RANDOM | ONE_FILE | WRITES, 8000 } },
    { "random", "random_write.4",   ALL,     4, CLEAN, act_move, { "one", 4096, 256 * MIB, RANDOM | ONE_FILE | WRITES, 2000 } },

    { "names",  "create",     NAMED,   1, FRESH, act_create, { "names", .n = 3000 } },
    { "names",  "stat",       NAMED,   1, NAMES, act_stat, { "names", .n = 3000 } },
    { "names",  "list",       NAMED,   1, NAMES, act_list, { "names", .n = 3000 } },
    { "small",  "small",      NAMED,   1, FRESH, act_small, { "small", .n = 1000 } },
    /* Last of those on ext4: for minutes it looks at the inodes of deleted files whenever it makes new ones. */
    { "unlink", "unlink",     NAMED,   1, FULL,  act_unlink, { "names", .n = 3000 } },

    { "many",   "memory",     "", 1, FRESH, NULL, { .n = 100000 } },
    { "many",   "start",      "", 1, FRESH, NULL, { .n = 5 } },

    { "disks",  "slow_read",  "n1 n2 n4 n8", 1, DISK, act_move, { "one", MIB, 60 * MIB, 0, 1 } },
    { "disks",  "slow_write", "n1 n2 n4 n8", 1, NEW,  act_move, { "one", MIB, 60 * MIB, WRITES | FSYNCS, 1 } },

    { "seeks",  "seek.1",     "one quarters four", 1, DISK, act_move, { "one", MIB, 448 * MIB, TIMED | ONE_FILE, 2500 } },
    { "seeks",  "seek.32",    "one units",        32, DISK, act_move, { "one", MIB, 448 * MIB, TIMED | ONE_FILE, 2500 } },
};
/* clang-format on */

/* Words name groups and rows; no words, all of them. */
static bool is_wanted(const struct row *row, int n_words, char **words)
{
    for (int i = 0; i < n_words; i++)
        if (strcmp(words[i], row->group) == 0 || strcmp(words[i], row->id) == 0)
            return true;
    return n_words == 0;
}

static int print_groups(int n_words, char **words)
{
    const char *last = "";

    for (int i = 0; i < n_words; i++) {
        bool known = false;

        for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
            known = known || is_wanted(&rows[k], 1, &words[i]);
        if (!known)
            fail("there is no row '%s'", words[i]);
    }
    for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
        if (is_wanted(&rows[k], n_words, words) && strcmp(rows[k].group, last) != 0)
            puts(last = rows[k].group);
    return 0;
}

static bool names_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    const char *at = list;

    while ((at = strstr(at, word)) != NULL) {
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == 0))
            return true;
        at += len;
    }
    return false;
}

/* -- rounds -- */

struct plan {
    bool quick;
    FILE *out;
    unsigned n_targets;
    struct target target[MAX_TARGETS];
};

static void prepare(const struct target *target, const struct row *row, const struct work *work, unsigned round)
{
    switch (row->before) {
    case NEW:
        files_remove(target, work, row->n_jobs);
        break;
    case CLEAN:
        files_make(target, work, row->n_jobs);
        break;
    case COLD:
        files_make(target, work, row->n_jobs);
        files_warm(target, work, row->n_jobs);
        files_drop(target, work, row->n_jobs);
        break;
    case WARM:
        files_make(target, work, row->n_jobs);
        files_warm(target, work, row->n_jobs);
        break;
    case DISK:
        files_make(target, work, row->n_jobs);
        files_drop(target, work, row->n_jobs);
        disks_drop(target);
        break;
    case FRESH:
        names_fresh(target, work, round);
        drop_caches(2); /* the pass-through keeps a descriptor for each name that the kernel knows */
        break;
    case NAMES:
        names_make(target, work, round);
        drop_caches(2);
        break;
    case FULL:
        names_make(target, work, round);
        drop_caches(2);
        names_list(target, work, round);
        break;
    }
    settle(target->pid);
}

/* Bytes count in GB, so that speed and CPU are per GB; names count one by one. */
static double units_of(const struct row *row, const struct sample *sample)
{
    if (row->act != act_move)
        return (double) sample->n_done;
    return (row->work.how & RANDOM) != 0 ? (double) sample->n_done / 4096 : (double) sample->n_done * 1e-9;
}

static struct sample run_once(const struct target *target, const struct row *row, const struct work *work,
                              unsigned round)
{
    prepare(target, row, work, round);
    return measure(target, work, row->n_jobs, round, row->act);
}

static void run_row(const struct plan *plan, const struct row *row)
{
    const struct target *target[MAX_TARGETS];
    struct work work = row->work;
    bool on_disks = row->before == DISK || (row->work.how & FSYNCS) != 0;
    unsigned n = 0, n_rounds = plan->quick ? 3 : 9;

    if (on_disks)
        n_rounds = plan->quick ? 2 : 5;
    if (plan->quick && row->act != act_move)
        work.n /= 5;
    for (unsigned i = 0; i < plan->n_targets; i++)
        if (names_word(row->targets, plan->target[i].name))
            target[n++] = &plan->target[i];
    fprintf(stderr, "%s%s", row->id, n > 0 ? "" : ": nobody to measure");
    if (row->act == act_move && !on_disks)
        for (unsigned i = 0; i < n; i++)
            (void) run_once(target[i], row, &work, 0); /* memory nobody has used yet is slow */
    for (unsigned round = 0; round < n_rounds && n > 0; round++) {
        for (unsigned i = 0; i < n; i++) {
            const struct target *t = target[(round + i) % n];
            struct sample sample = run_once(t, row, &work, round);
            double units = units_of(row, &sample);

            if (units <= 0)
                fail("%s: %s did nothing", row->id, t->name);
            samples_add(plan->out, row->id, t->name, round, units / sample.seconds, sample.client / units,
                        sample.daemon / units);
        }
        fputc('.', stderr);
    }
    fputc('\n', stderr);
}

static int run(int argc, char **argv)
{
    struct plan plan = { .quick = strcmp(argv[1], "quick") == 0, .out = samples_open(argv[2]) };
    int i;

    for (i = 3; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (plan.n_targets == MAX_TARGETS)
            fail("too many targets");
        plan.target[plan.n_targets++] = target_parse(argv[i]);
    }
    i = MIN(i + 1, argc);
    for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
        if (strcmp(rows[k].group, argv[0]) == 0 && is_wanted(&rows[k], argc - i, argv + i))
            run_row(&plan, &rows[k]);
    return fclose(plan.out) == 0 ? 0 : 2;
}

/* -- many files -- */

static unsigned n_many(const char *size)
{
    return strcmp(size, "quick") == 0 ? 10000 : 100000;
}

static double resident_mib(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib = 0;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/status", (int) pid);
    in = fopen(path, "re");
    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    if (in != NULL)
        fclose(in);
    if (kib == 0)
        fail("the memory of %d is not known", (int) pid);
    return (double) kib / 1024;
}

static void many_path(char *path, size_t size, const char *dir, unsigned i, bool is_dir)
{
    if (is_dir)
        snprintf(path, size, "%s/dir%03u", dir, i / 1000);
    else
        snprintf(path, size, "%s/dir%03u/file%05u", dir, i / 1000, i);
}

static void many_make(const char *dir, unsigned n)
{
    char path[512];

    for (unsigned i = 0; i < n; i++) {
        int fd;

        many_path(path, sizeof path, dir, i, true);
        if (i % 1000 == 0 && mkdir(path, 0755) < 0 && errno != EEXIST)
            fail("%s: %s", path, strerror(errno));
        many_path(path, sizeof path, dir, i, false);
        fd = open(path, O_WRONLY | O_CREAT, 0644);
        if (fd < 0 || close(fd) < 0)
            fail("%s: %s", path, strerror(errno));
        if (i % 10000 == 9999)
            fputc('.', stderr);
    }
}

static void many_stat(const char *dir, unsigned n)
{
    char path[512];
    struct stat st;

    for (unsigned i = 0; i < n; i++) {
        many_path(path, sizeof path, dir, i, false);
        if (stat(path, &st) < 0)
            fail("%s: %s", path, strerror(errno));
    }
}

/* Each has its own file, so the files are made by one daemon and looked up by another. */
static int many(char **argv)
{
    unsigned n = n_many(argv[0]);
    FILE *out = samples_open(argv[1]);
    pid_t pid = (pid_t) strtol(argv[3], NULL, 10);

    fprintf(stderr, "memory");
    many_make(argv[2], n);
    samples_add(out, "memory.made", "falls", 0, resident_mib(pid), 0, n);
    drop_caches(2);
    settle(pid);
    many_stat(argv[2], n);
    samples_add(out, "memory", "falls", 0, resident_mib(pid), 0, n);
    fputc('\n', stderr);
    return fclose(out) == 0 ? 0 : 2;
}

/* -- starts -- */

enum end { CLEAN_END, KILLED, KILLED_COLD };

struct starting {
    char **words; /* of the command, and where it mounts */
    const char *mountpoint, *file;
    double deadline;
};

/* Seconds until the mount answers. */
static double start_once(const struct starting *s, pid_t *ret_pid)
{
    const struct timespec moment = { .tv_nsec = 500000 };
    double start = now();
    struct statfs fs;
    struct stat st;
    pid_t pid = fork();

    if (pid == 0) {
        execv(s->words[0], s->words);
        _exit(127);
    }
    if (pid < 0)
        fail("fork: %s", strerror(errno));
    while (statfs(s->mountpoint, &fs) < 0 || fs.f_type != FUSE_MAGIC || stat(s->file, &st) < 0) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            fail("%s does not start", s->words[0]);
        if (now() - start > 60) {
            kill(pid, SIGKILL);
            fail("%s does not start within a minute", s->words[0]);
        }
        nanosleep(&moment, NULL);
    }
    *ret_pid = pid;
    return now() - start;
}

/* Something for the next start to find: files half written, others just removed. */
static void leave_unfinished(const char *mountpoint)
{
    static const char content[65536];
    char path[512];

    for (unsigned i = 0; i < 50; i++) {
        int fd;

        snprintf(path, sizeof path, "%s/unfinished%02u", mountpoint, i);
        if (i % 2 == 0)
            (void) unlink(path);
        fd = open(path, O_WRONLY | O_CREAT, 0644);
        if (fd < 0 || write(fd, content, sizeof content) < 0)
            fail("%s: %s", path, strerror(errno));
        close(fd);
    }
}

static void end_mount(const char *mountpoint, pid_t pid, enum end end)
{
    if (end == CLEAN_END) {
        if (umount2(mountpoint, 0) < 0)
            fail("umount %s: %s", mountpoint, strerror(errno));
    } else {
        leave_unfinished(mountpoint);
        kill(pid, SIGKILL);
    }
    waitpid(pid, NULL, 0);
    if (end == KILLED_COLD) {
        sync();
        drop_caches(3);
    }
}

/* start SIZE FILE FALLSFS MOUNTPOINT DISK... */
static int start(int argc, char **argv)
{
    static const char *const ids[] = { "start.clean", "start.killed", "start.cold" };
    unsigned n_rounds = strcmp(argv[0], "quick") == 0 ? 3 : 5;
    FILE *out = samples_open(argv[1]);
    char **words = calloc((size_t) argc + 2, sizeof *words), path[512];
    struct starting s = { .words = words, .mountpoint = argv[3], .file = path };
    pid_t pid = 0;
    int n = 0;

    words[n++] = argv[2];
    words[n++] = (char[]){ "-f" };
    for (int i = 4; i < argc; i++)
        words[n++] = argv[i];
    words[n++] = argv[3];
    many_path(path, sizeof path, argv[3], n_many(argv[0]) - 1, false);
    fprintf(stderr, "start");
    (void) start_once(&s, &pid);
    for (unsigned round = 0; round < n_rounds; round++) {
        for (unsigned end = CLEAN_END; end <= KILLED_COLD; end++) {
            end_mount(argv[3], pid, (enum end) end);
            samples_add(out, ids[end], "falls", round, start_once(&s, &pid), 0, 0);
        }
        fputc('.', stderr);
    }
    end_mount(argv[3], pid, CLEAN_END);
    fputc('\n', stderr);
    free(words);
    return fclose(out) == 0 ? 0 : 2;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* nobody measures without the script */
    if (strcmp(verb, "groups") == 0)
        return print_groups(argc - 2, argv + 2);
    if (strcmp(verb, "run") == 0 && argc > 5)
        return run(argc - 2, argv + 2);
    if (strcmp(verb, "many") == 0 && argc == 6)
        return many(argv + 2);
    if (strcmp(verb, "start") == 0 && argc > 6)
        return start(argc - 2, argv + 2);
    if (strcmp(verb, "report") == 0 && (argc == 4 || argc == 5))
        return mount_report(argv[2], argv[3], argc == 5 ? argv[4] : NULL) ? 0 : 1;
    fail("see the head of test/bench/bench_mount.c for what it takes");
}
