/* SPDX-License-Identifier: MIT */
#include "test/bench/mount_ops.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct common {
    pthread_barrier_t ready;
    atomic_uint next; /* block to take, where jobs share them */
    struct {
        double start, end, cpu;
        uint64_t n_done;
    } of[MAX_JOBS];
};

struct path {
    char s[512];
};

void fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

/* -- targets -- */

struct target target_parse(char *text)
{
    char *name = strsep(&text, ","), *dir = strsep(&text, ","), *pid = strsep(&text, ","),
         *backing = strsep(&text, ",");
    struct target target = { .name = name, .dir = dir, .backing = backing, .scale = 1 };
    const char *word;

    if (backing == NULL)
        fail("'%s' is no target", name);
    target.pid = (pid_t) strtol(pid, NULL, 10);
    while ((word = strsep(&text, ",")) != NULL)
        if (strcmp(word, "o_direct") == 0)
            target.o_direct = true;
        else if (strncmp(word, "scale=", 6) == 0)
            target.scale = (unsigned) strtoul(word + 6, NULL, 10);
        else
            fail("'%s' says nothing of a target", word);
    return target;
}

/* -- clocks -- */

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    if (clock_gettime(clock, &t) < 0)
        fail("a clock stands still: %s (has a daemon died?)", strerror(errno));
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

double now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* Its clock counts threads that have ended, too. */
double cpu_of(pid_t pid)
{
    clockid_t clock;

    if (pid == 0)
        return 0;
    if (clock_getcpuclockid(pid, &clock) != 0)
        fail("daemon %d is not there", (int) pid);
    return seconds_of(clock);
}

static void pause_ms(unsigned ms)
{
    const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

void settle(pid_t pid)
{
    double before = cpu_of(pid);

    for (unsigned i = 0; pid != 0 && i < 400; i++) {
        double after;

        pause_ms(5);
        after = cpu_of(pid);
        if (after - before < 20e-6)
            return;
        before = after;
    }
}

/* -- jobs -- */

static void run_job(struct job *job, job_act *act)
{
    double cpu;

    pthread_barrier_wait(&job->common->ready);
    job->common->of[job->index].start = now();
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    act(job);
    job->common->of[job->index].cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    job->common->of[job->index].end = now();
    job->common->of[job->index].n_done = job->n_done;
}

static struct common *common_new(unsigned n_jobs)
{
    struct common *common =
        mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    pthread_barrierattr_t attr;

    if (common == MAP_FAILED)
        fail("out of memory");
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&common->ready, &attr, n_jobs);
    return common;
}

struct sample measure(const struct target *target, const struct work *work, unsigned n_jobs, unsigned round,
                      job_act *act)
{
    struct common *common = common_new(n_jobs);
    struct sample sample = { 0 };
    double daemon, start, end;
    pid_t pid[MAX_JOBS];
    bool failed = false;

    settle(target->pid);
    daemon = cpu_of(target->pid);
    fflush(NULL);
    for (unsigned i = 0; i < n_jobs; i++) {
        pid[i] = fork();
        if (pid[i] < 0)
            fail("fork: %s", strerror(errno));
        if (pid[i] == 0) {
            struct job job = {
                .target = target, .work = work, .common = common, .index = i, .n_jobs = n_jobs, .round = round
            };

            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_job(&job, act);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < n_jobs; i++) {
        int status;

        if (waitpid(pid[i], &status, 0) < 0 || status != 0)
            failed = true;
    }
    if (failed)
        fail("a job on %s failed", target->name);
    settle(target->pid);
    sample.daemon = cpu_of(target->pid) - daemon;
    start = common->of[0].start;
    end = common->of[0].end;
    for (unsigned i = 0; i < n_jobs; i++) {
        start = MIN(start, common->of[i].start);
        end = MAX(end, common->of[i].end);
        sample.client += common->of[i].cpu;
        sample.n_done += common->of[i].n_done;
    }
    sample.seconds = end - start;
    munmap(common, sizeof *common);
    return sample;
}

/* -- bytes -- */

static const char *file_path(struct path *path, const struct target *target, const struct work *work, unsigned job)
{
    snprintf(path->s, sizeof path->s, "%s/%s.%u", target->dir, work->file, (work->how & ONE_FILE) != 0 ? 0 : job);
    return path->s;
}

static uint64_t file_size(const struct target *target, const struct work *work, unsigned n_jobs)
{
    return work->bytes * target->scale * ((work->how & (ONE_FILE | RANDOM | TIMED)) == ONE_FILE ? n_jobs : 1);
}

static unsigned n_files(const struct work *work, unsigned n_jobs)
{
    return (work->how & ONE_FILE) != 0 ? 1 : n_jobs;
}

static unsigned char *buffer_new(size_t len)
{
    unsigned char *buffer = aligned_alloc(4096, len);

    if (buffer == NULL)
        fail("out of memory");
    for (size_t i = 0; i < len; i++)
        buffer[i] = (unsigned char) (i * 2654435761U >> 13);
    return buffer;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void move(struct job *job, int fd, unsigned char *buffer, uint64_t off)
{
    size_t len = job->work->block;
    bool writes = (job->work->how & WRITES) != 0;
    ssize_t n = writes ? pwrite(fd, buffer, len, (off_t) off) : pread(fd, buffer, len, (off_t) off);

    if (n != (ssize_t) len)
        fail("%s: %s of %zu bytes at %" PRIu64 ": %s", job->target->name, writes ? "write" : "read", len, off,
             n < 0 ? strerror(errno) : "came short");
    job->n_done += len;
}

static void move_in_order(struct job *job, int fd, unsigned char *buffer)
{
    uint64_t len = job->work->bytes * job->target->scale;
    uint64_t start = (job->work->how & ONE_FILE) != 0 ? job->index * len : 0;

    for (uint64_t off = 0; off < len; off += job->work->block)
        move(job, fd, buffer, start + off);
}

static void move_at_random(struct job *job, int fd, unsigned char *buffer)
{
    uint64_t n_blocks = job->work->bytes / job->work->block;
    uint64_t state = job->round * MAX_JOBS + job->index;

    for (unsigned i = 0; i < job->work->n; i++)
        move(job, fd, buffer, next_random(&state) % n_blocks * job->work->block);
}

/* Every block is read from its disk: none twice. */
static void move_until(struct job *job, int fd, unsigned char *buffer)
{
    uint32_t n_blocks = (uint32_t) (job->work->bytes / job->work->block);
    uint32_t *order = calloc(n_blocks, sizeof *order), i;
    double end = now() + job->work->n * 1e-3;
    uint64_t state = job->round;

    if (order == NULL)
        fail("out of memory");
    for (i = 0; i < n_blocks; i++) {
        uint32_t j = (uint32_t) (next_random(&state) % (i + 1));

        order[i] = order[j];
        order[j] = i;
    }
    while (now() < end && (i = atomic_fetch_add(&job->common->next, 1)) < n_blocks)
        move(job, fd, buffer, order[i] * job->work->block);
    free(order);
}

void act_move(struct job *job)
{
    const struct work *work = job->work;
    unsigned char *buffer = buffer_new(work->block);
    int flags = (work->how & WRITES) != 0 ? O_RDWR | O_CREAT : O_RDONLY;
    unsigned passes = (work->how & (RANDOM | TIMED)) != 0 ? 1 : work->n;
    struct path path;

    if (job->target->o_direct)
        flags |= O_DIRECT;
    for (unsigned i = 0; i < passes; i++) {
        int fd = open(file_path(&path, job->target, work, job->index), flags, 0644);

        if (fd < 0)
            fail("%s: %s", path.s, strerror(errno));
        if ((work->how & TIMED) != 0)
            move_until(job, fd, buffer);
        else if ((work->how & RANDOM) != 0)
            move_at_random(job, fd, buffer);
        else
            move_in_order(job, fd, buffer);
        if ((work->how & FSYNCS) != 0 && fsync(fd) < 0)
            fail("fsync of %s: %s", path.s, strerror(errno));
        if (close(fd) < 0)
            fail("close of %s: %s", path.s, strerror(errno));
    }
    free(buffer);
}

static void file_make(const char *path, uint64_t size)
{
    const size_t block = 1 << 20;
    unsigned char *buffer;
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT, 0644);

    if (fd < 0 || fstat(fd, &st) < 0)
        fail("%s: %s", path, strerror(errno));
    if ((uint64_t) st.st_size != size) {
        buffer = buffer_new(block);
        for (uint64_t off = 0; off < size; off += block)
            if (pwrite(fd, buffer, MIN(block, size - off), (off_t) off) < 0)
                fail("%s: %s", path, strerror(errno));
        free(buffer);
        if (ftruncate(fd, (off_t) size) < 0)
            fail("%s: %s", path, strerror(errno));
    }
    if (fsync(fd) < 0 || close(fd) < 0)
        fail("%s: %s", path, strerror(errno));
}

void files_make(const struct target *target, const struct work *work, unsigned n_jobs)
{
    struct path path;

    for (unsigned i = 0; i < n_files(work, n_jobs); i++)
        file_make(file_path(&path, target, work, i), file_size(target, work, n_jobs));
}

void files_remove(const struct target *target, const struct work *work, unsigned n_jobs)
{
    struct path path;

    for (unsigned i = 0; i < n_files(work, n_jobs); i++)
        if (unlink(file_path(&path, target, work, i)) < 0 && errno != ENOENT)
            fail("%s: %s", path.s, strerror(errno));
    settle(target->pid);
}

void files_warm(const struct target *target, const struct work *work, unsigned n_jobs)
{
    unsigned char *buffer = buffer_new(1 << 20);
    struct path path;

    for (unsigned i = 0; i < n_files(work, n_jobs); i++) {
        int fd = open(file_path(&path, target, work, i), O_RDONLY);
        ssize_t n;

        if (fd < 0)
            fail("%s: %s", path.s, strerror(errno));
        while ((n = read(fd, buffer, 1 << 20)) > 0) {
        }
        if (n < 0)
            fail("%s: %s", path.s, strerror(errno));
        close(fd);
    }
    free(buffer);
}

/* -- caches -- */

/* The share of a file that is in the page cache, of the file system that shows it; 0 where that cannot be asked. */
static double cached_share(int fd, uint64_t size)
{
    size_t n_pages = (size_t) ((size + 4095) / 4096), n_cached = 0;
    unsigned char *is_cached = malloc(n_pages + 1);
    void *map = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

    if (map != MAP_FAILED && is_cached != NULL && mincore(map, size, is_cached) == 0)
        for (size_t i = 0; i < n_pages; i++)
            n_cached += is_cached[i] & 1;
    if (map != MAP_FAILED)
        munmap(map, size);
    free(is_cached);
    return n_pages > 0 ? (double) n_cached / (double) n_pages : 0;
}

static void file_drop(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        fail("%s: %s", path, strerror(errno));
    for (unsigned i = 0; i < 50; i++) {
        (void) fdatasync(fd);
        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (cached_share(fd, (uint64_t) st.st_size) < 0.01) {
            close(fd);
            return;
        }
        pause_ms(20);
    }
    fail("%s does not leave the page cache", path);
}

void files_drop(const struct target *target, const struct work *work, unsigned n_jobs)
{
    struct path path;

    if (target->backing[0] != 0)
        for (unsigned i = 0; i < n_files(work, n_jobs); i++)
            file_drop(file_path(&path, target, work, i));
}

static int drop_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) ftw;
    if (type == FTW_F && S_ISREG(st->st_mode) && st->st_size > 0)
        file_drop(path);
    return 0;
}

void drop_caches(int what)
{
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

    if (fd < 0 || dprintf(fd, "%d\n", what) < 0)
        fail("/proc/sys/vm/drop_caches: %s", strerror(errno));
    close(fd);
}

void disks_drop(const struct target *target)
{
    char *dirs = strdup(target->backing[0] != 0 ? target->backing : target->dir), *rest = dirs, *dir;

    while ((dir = strsep(&rest, ":")) != NULL)
        (void) nftw(dir, drop_one, 64, FTW_PHYS);
    free(dirs);
    drop_caches(3);
    settle(target->pid);
}

/* -- names -- */

static const char *names_dir(struct path *path, const struct target *target, const char *set, unsigned round)
{
    snprintf(path->s, sizeof path->s, "%s/%s.%u", target->dir, set, round);
    return path->s;
}

/* Whole paths, as programs use them. */
static const char *name_path(struct path *path, const struct job *job, unsigned i)
{
    snprintf(path->s, sizeof path->s, "%s/%s.%u/file%05u", job->target->dir, job->work->file, job->round, i);
    return path->s;
}

static void create_each(struct job *job, size_t len)
{
    static const char content[4096] = "a small file";
    struct path path;

    for (unsigned i = 0; i < job->work->n; i++) {
        int fd = open(name_path(&path, job, i), O_WRONLY | O_CREAT | O_EXCL, 0644);

        if (fd < 0 || (len > 0 && write(fd, content, len) != (ssize_t) len) || close(fd) < 0)
            fail("%s: %s", path.s, strerror(errno));
        job->n_done++;
    }
}

void act_create(struct job *job)
{
    create_each(job, 0);
}

void act_small(struct job *job)
{
    create_each(job, 4096);
}

void act_stat(struct job *job)
{
    struct path path;
    struct stat st;

    for (unsigned i = 0; i < job->work->n; i++) {
        if (stat(name_path(&path, job, i), &st) < 0)
            fail("%s: %s", path.s, strerror(errno));
        job->n_done++;
    }
}

void act_list(struct job *job)
{
    struct path path;
    DIR *dir = opendir(names_dir(&path, job->target, job->work->file, job->round));
    const struct dirent *entry;
    struct stat st;

    if (dir == NULL)
        fail("%s: %s", path.s, strerror(errno));
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            fail("%s/%s: %s", path.s, entry->d_name, strerror(errno));
        job->n_done++;
    }
    closedir(dir);
    if (job->n_done != job->work->n)
        fail("%s: %" PRIu64 " names instead of %u", path.s, job->n_done, job->work->n);
}

void act_unlink(struct job *job)
{
    struct path path;

    for (unsigned i = 0; i < job->work->n; i++) {
        if (unlink(name_path(&path, job, i)) < 0)
            fail("%s: %s", path.s, strerror(errno));
        job->n_done++;
    }
}

void names_fresh(const struct target *target, const struct work *work, unsigned round)
{
    struct path path;

    if (mkdir(names_dir(&path, target, work->file, round), 0755) < 0)
        fail("%s: %s", path.s, strerror(errno));
}

void names_make(const struct target *target, const struct work *work, unsigned round)
{
    struct job job = { .target = target, .work = work, .round = round };
    struct path path;

    if (access(names_dir(&path, target, work->file, round), F_OK) == 0)
        return;
    names_fresh(target, work, round);
    act_create(&job);
}

void names_list(const struct target *target, const struct work *work, unsigned round)
{
    struct job job = { .target = target, .work = work, .round = round };

    act_list(&job);
}
