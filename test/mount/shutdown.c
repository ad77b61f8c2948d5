/* SPDX-License-Identifier: MIT */
/* Disks stop in the middle of things, as when the machine loses power: whatever their file systems had not made durable
 * is gone. After each time they are mounted again, the volume is, and every file must be one that can have been: what
 * an fsync has confirmed, with what was done later done, not done, or done in part.
 *
 *     shutdown FALLSFS MOUNTPOINT DEVICE:TYPE:DIRECTORY...     the disks, mounted; as many cycles as rng.h says
 *
 * A name has had lives: each is a file that was created or renamed there, or nothing. A crash may bring back one that
 * no fsync has ended.
 *
 *     life 0   base (confirmed) + changes          removed
 *     life 1   nothing                             created
 *     life 2   base (empty)     + changes          <- fsync: life 2 is what there is, its bytes are its base
 */
#include "test/mount/crash.h"
#include "test/mount/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#define N_LIVES       6
#define N_CHANGES     48
#define IOC_GOINGDOWN _IOR('X', 125, uint32_t) /* of XFS; ext4 and f2fs have it, too */

struct change {
    enum { WRITE, TRUNCATE, PUNCH } kind;
    uint64_t off, len; /* a truncate zeroes from off on */
    uint64_t old_size, size;
    uint64_t seq;
};

struct life {
    struct content base;
    struct change change[N_CHANGES];
    uint32_t n_changes;
};

struct model {
    struct life life[N_LIVES];
    uint32_t n_lives; /* the last is the present one */
    struct content now;
    uint64_t seq;
    bool failed; /* the last change may be in part */
};

struct shared {
    struct model model[N_WRITERS][N_FILES];
    volatile bool down; /* errors are no failures from now on */
    volatile bool stop;
    volatile bool failed;
    const char *how[MAX_DISKS]; /* the disks ended the last time */
};

struct disk {
    char *device, *type, *dir;
};

static struct shared *shared;
static const char *top; /* of the mount */
static uint64_t seed;   /* of what writers do in this cycle */

/* -- what was done -- */

static uint8_t stamp_at(const struct change *change, unsigned writer, unsigned file, uint64_t at)
{
    uint64_t i = at - change->off;
    const uint8_t word[8] = {
        (uint8_t) change->seq,    (uint8_t) (change->seq >> 8), (uint8_t) (change->seq >> 16 | 0x80),
        (uint8_t) ('A' + writer), (uint8_t) ('0' + file),       0xfa,
        (uint8_t) (i >> 3),       (uint8_t) (i >> 11 | 1)
    };

    return word[i % 8] != 0 ? word[i % 8] : 0xee; /* zeros would tell nothing */
}

static struct life *present(struct model *model)
{
    return &model->life[model->n_lives - 1];
}

static void begin_life(struct model *model, const struct content *base)
{
    struct life *life = &model->life[model->n_lives++];

    life->base = *base;
    life->n_changes = 0;
}

/* What is there now is all there can be after a crash. */
static void confirm(struct model *model)
{
    model->n_lives = 0;
    begin_life(model, &model->now);
}

/* The present life has begun for good. */
static void confirm_name(struct model *model)
{
    if (model->n_lives > 1)
        memmove(&model->life[0], present(model), sizeof model->life[0]);
    model->n_lives = 1;
}

static struct change *change(struct model *model, struct change c)
{
    struct life *life = present(model);

    c.old_size = model->now.size;
    c.seq = ++model->seq;
    life->change[life->n_changes] = c;
    return &life->change[life->n_changes++];
}

static void apply(struct model *model, const struct change *c, unsigned writer, unsigned file)
{
    struct content *now = &model->now;

    if (c->kind == WRITE)
        for (uint64_t at = c->off; at < c->off + c->len; at++)
            now->data[at] = stamp_at(c, writer, file, at);
    else
        memset(now->data + c->off, 0, MIN(c->len, MAX_SIZE - c->off));
    now->size = c->size;
}

/* -- writers -- */

/* An operation that failed leaves its file alone from then on. */
static bool worked(struct writer *writer, unsigned file, const char *what, bool ok)
{
    int error = errno;

    if (ok)
        return true;
    if (!shared->down) {
        printf("writer %u, file %u: %s failed: %s\n", writer->number, file, what, strerror(error));
        shared->failed = true;
    }
    shared->model[writer->number][file].failed = true;
    return false;
}

static void do_write(struct writer *writer, unsigned file)
{
    static uint8_t data[MAX_WRITE];
    struct model *model = &shared->model[writer->number][file];
    struct rng *rng = &writer->rng;
    uint64_t off = rng_chance(rng, 40) ? model->now.size : rng_below(rng, MAX_SIZE);
    uint64_t len = 1 + rng_below(rng, rng_chance(rng, 50) ? 200 : MAX_WRITE);
    struct change *c;

    if (off >= MAX_SIZE)
        return;
    len = MIN(len, MAX_SIZE - off);
    c = change(model, (struct change){ WRITE, off, len, 0, MAX(model->now.size, off + len), 0 });
    for (uint64_t i = 0; i < len; i++)
        data[i] = stamp_at(c, writer->number, file, off + i);
    if (worked(writer, file, "write", pwrite(writer->fd[file], data, len, (off_t) off) == (ssize_t) len))
        apply(model, c, writer->number, file);
}

static void do_truncate(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    uint64_t size = rng_chance(&writer->rng, 20) ? 0 : rng_below(&writer->rng, MAX_SIZE);
    const struct change *c = change(model, (struct change){ TRUNCATE, size, MAX_SIZE, 0, size, 0 });

    if (worked(writer, file, "truncate", ftruncate(writer->fd[file], (off_t) size) == 0))
        apply(model, c, writer->number, file);
}

static void do_punch(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    uint64_t off = rng_below(&writer->rng, MAX_SIZE), len = 1 + rng_below(&writer->rng, MAX_SIZE - off);
    const struct change *c = change(model, (struct change){ PUNCH, off, len, 0, model->now.size, 0 });

    if (worked(writer, file, "punch",
               fallocate(writer->fd[file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) off, (off_t) len) == 0))
        apply(model, c, writer->number, file);
}

/* A new file takes the place of the old one: it comes whole or not at all. */
static void do_replace(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name, temporary;
    struct change c = { WRITE, 0, rng_below(&writer->rng, MAX_WRITE), 0, 0, ++model->seq };
    int fd = open(name_of(&temporary, writer->top, writer->number, file, ".new"),
                  O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct content *now = &model->now;
    bool ok;

    memset(now, 0, sizeof *now);
    now->there = true;
    c.size = c.len;
    apply(model, &c, writer->number, file);
    ok = fd >= 0 && write(fd, now->data, now->size) == (ssize_t) now->size &&
         (rng_chance(&writer->rng, 50) || fsync(fd) == 0);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    writer_close(writer, file);
    begin_life(model, now);
    worked(writer, file, "replace",
           ok && rename(temporary.s, name_of(&name, writer->top, writer->number, file, "")) == 0);
}

static void do_remove(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name;

    memset(&model->now, 0, sizeof model->now);
    begin_life(model, &model->now);
    if (rng_chance(&writer->rng, 50))
        writer_close(writer, file); /* else while it is open */
    worked(writer, file, "unlink", unlink(name_of(&name, writer->top, writer->number, file, "")) == 0);
    writer_close(writer, file);
}

static void do_create(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name;

    model->now.there = true;
    begin_life(model, &model->now);
    writer->fd[file] =
        open(name_of(&name, writer->top, writer->number, file, ""), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    worked(writer, file, "create", writer->fd[file] >= 0);
}

static void do_fsync(struct writer *writer, unsigned file)
{
    bool data_only = rng_chance(&writer->rng, 50);
    int fd = writer->fd[file];

    if (worked(writer, file, "fsync", (data_only ? fdatasync(fd) : fsync(fd)) == 0))
        confirm(&shared->model[writer->number][file]);
}

static void do_fsync_dir(struct writer *writer, unsigned file)
{
    int fd = open(writer->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (worked(writer, file, "fsync of the directory", fd >= 0 && fsync(fd) == 0))
        confirm_name(&shared->model[writer->number][file]);
    if (fd >= 0)
        close(fd);
}

static void do_something(struct writer *writer, unsigned file)
{
    const struct model *model = &shared->model[writer->number][file];
    uint64_t what = rng_below(&writer->rng, 100);

    if (what < 4 || model->n_lives == N_LIVES)
        do_fsync_dir(writer, file);
    else if (!model->now.there)
        do_create(writer, file);
    else if (!worked(writer, file, "open", writer_open(writer, file)))
        return;
    else if (what < 16 || model->life[model->n_lives - 1].n_changes == N_CHANGES)
        do_fsync(writer, file);
    else if (what < 60)
        do_write(writer, file);
    else if (what < 75)
        do_truncate(writer, file);
    else if (what < 80)
        do_punch(writer, file);
    else if (what < 90)
        do_replace(writer, file);
    else if (what < 94)
        do_remove(writer, file);
    else
        writer_close(writer, file);
}

static void write_on(unsigned number)
{
    struct writer writer = writer_new(number, top, seed);

    while (!shared->stop) {
        unsigned file = (unsigned) rng_below(&writer.rng, N_FILES);

        if (!shared->model[number][file].failed)
            do_something(&writer, file);
        else
            sleep_us(100);
    }
}

/* -- what is there now -- */

static bool size_can_be(const struct life *life, uint64_t size)
{
    uint64_t lowest = life->base.size, highest = life->base.size;
    bool exact = size == life->base.size, written = false;

    for (uint32_t i = 0; i < life->n_changes; i++) {
        const struct change *c = &life->change[i];

        written = written || c->kind == WRITE;
        exact = exact || size == c->size;
        lowest = MIN(lowest, c->size);
        highest = MAX(highest, c->size);
    }
    return exact || (written && size >= lowest && size <= highest);
}

static bool byte_can_be(const struct life *life, unsigned writer, unsigned file, uint64_t at, uint8_t byte)
{
    if (byte == life->base.data[at])
        return true;
    for (uint32_t i = 0; i < life->n_changes; i++) {
        const struct change *c = &life->change[i];

        if (at >= c->off && at - c->off < c->len && byte == (c->kind == WRITE ? stamp_at(c, writer, file, at) : 0))
            return true;
    }
    return false;
}

/* Whether a life can have left this; if not, at which byte it shows. */
static bool can_be(const struct life *life, unsigned writer, unsigned file, const struct content *found,
                   uint64_t *ret_at)
{
    *ret_at = UINT64_MAX;
    if (found->there != life->base.there)
        return false;
    if (!size_can_be(life, found->size))
        return false;
    for (uint64_t at = 0; at < found->size; at++)
        if (!byte_can_be(life, writer, file, at, found->data[at])) {
            *ret_at = at;
            return false;
        }
    return true;
}

static void print_life(const struct life *life, uint64_t at)
{
    static const char *const names[] = { "write", "truncate", "punch" };

    if (!life->base.there)
        printf("    nothing\n");
    else
        printf("    size %" PRIu64 ", byte %02x\n", life->base.size, at < MAX_SIZE ? life->base.data[at] : 0);
    for (uint32_t i = 0; i < life->n_changes; i++) {
        const struct change *c = &life->change[i];

        printf("        %s (%" PRIu64 ", %" PRIu64 "), size %" PRIu64 "\n", names[c->kind], c->off, c->len, c->size);
    }
}

static bool check_found(const struct model *model, unsigned writer, unsigned file, const struct content *found)
{
    uint64_t at, worst = UINT64_MAX;

    for (uint32_t i = 0; i < model->n_lives; i++) {
        if (can_be(&model->life[i], writer, file, found, &at))
            return true;
        worst = MIN(worst, at);
    }
    if (!found->there)
        printf("writer %u, file %u: lost\n", writer, file);
    else if (worst == UINT64_MAX)
        printf("writer %u, file %u: cannot have size %" PRIu64 "\n", writer, file, found->size);
    else
        printf("writer %u, file %u: size %" PRIu64 ", byte %" PRIu64 " cannot be %02x\n", writer, file, found->size,
               worst, found->data[worst]);
    for (uint32_t i = 0; i < model->n_lives; i++) {
        uint64_t n = 0, last = 0;

        for (at = 0; at < found->size; at++)
            if (!byte_can_be(&model->life[i], writer, file, at, found->data[at]))
                n++, last = at;
        print_life(&model->life[i], worst);
        printf("    %" PRIu64 " bytes cannot be, up to %" PRIu64 "\n", n, last);
    }
    return false;
}

/* Compares all files with what they can be; from now on they are as they were found, for good: it came from disk. */
static bool check_all(void)
{
    bool good = true;

    for (unsigned w = 0; w < N_WRITERS; w++)
        for (unsigned f = 0; f < N_FILES; f++) {
            struct model *model = &shared->model[w][f];
            struct name name;

            if (!content_read(name_of(&name, top, w, f, ""), &model->now)) {
                printf("writer %u, file %u: cannot be read: %s\n", w, f, strerror(errno));
                for (uint32_t i = 0; i < model->n_lives; i++)
                    print_life(&model->life[i], UINT64_MAX);
                good = false;
                continue;
            }
            good = check_found(model, w, f, &model->now) && good;
            confirm(model);
            model->failed = false;
            (void) unlink(name_of(&name, top, w, f, ".new"));
        }
    return good;
}

/* -- disks and the daemon -- */

struct world {
    struct daemon daemon;
    struct disk disk[MAX_DISKS];
};

static const char *const layouts[] = { "layout=stripe(1M)", "layout=stripe(4K)", "layout=stripe(7,3)",
                                       "layout={(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2" };

static void kill_it(const struct world *world, pid_t pid)
{
    daemon_kill(pid);
    (void) umount2(world->daemon.top, MNT_DETACH);
}

/* As the log of the file system's changes is: flushed with all data, flushed alone, or not flushed. */
static bool shut_down(const struct disk *disk, uint32_t how)
{
    int fd = open(disk->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && ioctl(fd, IOC_GOINGDOWN, &how) == 0;

    if (!good)
        printf("cannot shut %s down: %s\n", disk->dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static bool mount_again(const struct disk *disk)
{
    int r = -1;

    for (int i = 0; i < 5000 && (r = umount2(disk->dir, 0)) < 0 && errno == EBUSY; i++)
        sleep_us(1000);
    if (r == 0)
        r = mount(disk->device, disk->dir, disk->type, 0, NULL);
    if (r < 0)
        printf("cannot mount %s again: %s\n", disk->device, strerror(errno));
    return r == 0;
}

static const char *const how_names[] = { "flushes all", "flushes its log", "flushes nothing" };

/* A thread that sleeps where signals do not reach it waits for a disk. */
static bool is_stopped(const char *stat_path)
{
    char line[256] = "", *state;
    FILE *in = fopen(stat_path, "re");

    if (in == NULL)
        return true; /* it ended */
    (void) !fgets(line, sizeof line, in);
    (void) fclose(in);
    state = strrchr(line, ')');
    return state == NULL || state[2] == 'T' || state[2] == 'Z';
}

/* Stops the daemon where no thread of it is inside a system call: an fsync under way when a file system is shut down
 * may say that all is well, as one under way when power fails cannot. */
static void stop_it(pid_t pid)
{
    char path[64], stat_path[512];
    bool stopped = false;

    kill(pid, SIGSTOP);
    snprintf(path, sizeof path, "/proc/%d/task", (int) pid);
    while (!stopped) {
        DIR *dir = opendir(path);
        const struct dirent *entry;

        stopped = true;
        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            snprintf(stat_path, sizeof stat_path, "%s/%s/stat", path, entry->d_name);
            if (entry->d_name[0] != '.' && !is_stopped(stat_path))
                stopped = false;
        }
        if (dir != NULL)
            closedir(dir);
        if (!stopped)
            sleep_us(100);
    }
}

/* One disk goes, and what is on others may go on for a while; or all go, and nobody sees it. */
static bool take_down(const struct world *world, pid_t pid, struct rng *rng)
{
    int only = rng_chance(rng, 40) ? (int) rng_below(rng, (uint64_t) world->daemon.n_disks) : -1;
    uint64_t after = rng_below(rng, 15000);
    bool good = true;

    shared->down = true;
    stop_it(pid);
    for (int i = 0; i < world->daemon.n_disks; i++) {
        uint32_t how = (uint32_t) rng_below(rng, 3);

        shared->how[i] = only < 0 || only == i ? how_names[how] : "stays";
        if (only < 0 || only == i)
            good = shut_down(&world->disk[i], how) && good;
    }
    if (only >= 0) {
        kill(pid, SIGCONT);
        sleep_us(after);
    }
    return good;
}

static bool cycle(void *arg, struct rng *rng)
{
    const struct world *world = arg;
    uint64_t delay = rng_below(rng, 40000);
    pid_t pid = daemon_start(&world->daemon, layouts[rng_below(rng, ARRAY_SIZE(layouts))]);
    struct programs writers;
    bool good;

    seed = rng_u64(rng) >> 4;
    if (!daemon_wait(&world->daemon, pid) || !check_all()) {
        kill_it(world, pid);
        return false;
    }
    shared->down = shared->stop = false;
    writers = programs_start(N_WRITERS, write_on);
    sleep_us(delay);
    good = take_down(world, pid, rng);
    shared->stop = true;
    kill_it(world, pid);
    good = programs_end(&writers) && good;
    for (int i = 0; i < world->daemon.n_disks; i++)
        good = mount_again(&world->disk[i]) && good;
    return good && !shared->failed;
}

static bool parse_disk(char *word, struct disk *ret_disk)
{
    char *rest = word;

    ret_disk->device = strsep(&rest, ":");
    ret_disk->type = strsep(&rest, ":");
    ret_disk->dir = rest;
    return rest != NULL;
}

int main(int argc, char **argv)
{
    struct world world = { .daemon = {
                               .fallsfs = argv[1], .top = argv[2], .n_disks = MIN(MAX(argc - 3, 0), MAX_DISKS) } };
    bool good = argc > 3;

    for (int i = 0; i < world.daemon.n_disks; i++)
        if ((good = parse_disk(argv[3 + i], &world.disk[i]) && good))
            world.daemon.disk[i] = world.disk[i].dir;
    if (!good) {
        fprintf(stderr, "usage: %s FALLSFS MOUNTPOINT DEVICE:TYPE:DIRECTORY...\n", argv[0]);
        return 2;
    }
    top = world.daemon.top;
    shared = crash_share(sizeof *shared);
    for (int i = 0; i < N_WRITERS * N_FILES; i++)
        confirm(&shared->model[i / N_FILES][i % N_FILES]);
    if (crash_repeat(50, cycle, &world))
        return 0;
    printf("before, the disks ended so:");
    for (int i = 0; i < world.daemon.n_disks; i++)
        printf(" %s,", shared->how[i] != NULL ? shared->how[i] : "not");
    putchar('\n');
    return 1;
}
