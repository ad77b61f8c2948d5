/* SPDX-License-Identifier: MIT */
/* Programs that write and note what an fsync has confirmed, until the mount dies; and whether all of that is there:
 *
 *     confirmed write DIRECTORY RECORD SEED      ends when its calls fail; RECORD.busy appears once it is well under
 * way     confirmed check DIRECTORY RECORD
 *
 * A file is a row of slots. Each change of a slot has a number, which its bytes tell of; what is found in a slot are
 * bytes of changes from the last one confirmed on. RECORD lies on no disk of the volume. */
#include "test/support/rng.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_WRITERS 3
#define N_FILES   2  /* of each */
#define N_SLOTS   64 /* of each */
#define SLOT      6000
#define BUSY      10 /* syncs of each writer until something is to be lost */

struct slot {
    uint32_t changed, confirmed; /* numbers of changes; 0: none */
};

struct length {
    unsigned now, kept; /* slots that the file has, and those that were confirmed and not cut off since */
};

struct record {
    uint64_t n_syncs[N_WRITERS];
    struct length length[N_WRITERS][N_FILES];
    struct slot slot[N_WRITERS][N_FILES][N_SLOTS];
};

static struct record *record_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct record *record = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof *record) == 0)
        record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (record == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    (void) close(fd);
    return record;
}

/* Every fourth change makes a hole. */
static bool digs(uint32_t change)
{
    return change % 4 == 0;
}

static uint8_t byte_of(uint32_t change, unsigned slot, unsigned at)
{
    return digs(change) ? 0 : (uint8_t) (1 + (change * 37 + slot * 11 + at) % 255);
}

static const char *name_of(unsigned writer, unsigned file)
{
    static char name[32];

    snprintf(name, sizeof name, "w%uf%u", writer, file);
    return name;
}

/* -- writing -- */

struct writer {
    struct record *record;
    struct rng rng;
    unsigned number;
    int fd[N_FILES];
};

static bool write_slots(const struct writer *writer, unsigned file, unsigned from, unsigned to)
{
    static uint8_t bytes[N_SLOTS * SLOT];
    struct length *length = &writer->record->length[writer->number][file];
    struct slot *slot = writer->record->slot[writer->number][file];
    ssize_t n;

    for (unsigned i = from; i < to; i++) {
        slot[i].changed += digs(slot[i].changed + 1) ? 2 : 1;
        for (unsigned at = 0; at < SLOT; at++)
            bytes[(i - from) * SLOT + at] = byte_of(slot[i].changed, i, at);
    }
    length->now = MAX(length->now, to);
    n = pwrite(writer->fd[file], bytes, (to - from) * SLOT, (off_t) from * SLOT);
    return n == (to - from) * SLOT;
}

/* By a cut, or in the middle. */
static bool dig_slots(const struct writer *writer, unsigned file, unsigned from, unsigned to, bool cuts)
{
    struct length *length = &writer->record->length[writer->number][file];
    struct slot *slot = writer->record->slot[writer->number][file];

    for (unsigned i = from; i < (cuts ? N_SLOTS : to); i++)
        slot[i].changed = slot[i].changed / 4 * 4 + 4;
    if (cuts) {
        length->now = from;
        length->kept = MIN(length->kept, from);
        return ftruncate(writer->fd[file], (off_t) from * SLOT) == 0;
    }
    return fallocate(writer->fd[file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) from * SLOT,
                     (off_t) (to - from) * SLOT) == 0;
}

static bool sync_slots(const struct writer *writer, unsigned file, bool data_only)
{
    struct length *length = &writer->record->length[writer->number][file];
    struct slot *slot = writer->record->slot[writer->number][file];

    if ((data_only ? fdatasync(writer->fd[file]) : fsync(writer->fd[file])) < 0)
        return false;
    for (unsigned i = 0; i < N_SLOTS; i++)
        slot[i].confirmed = slot[i].changed;
    length->kept = length->now;
    writer->record->n_syncs[writer->number]++;
    return true;
}

static bool do_something(struct writer *writer)
{
    unsigned file = (unsigned) rng_below(&writer->rng, N_FILES);
    unsigned from = (unsigned) rng_below(&writer->rng, N_SLOTS);
    unsigned to = from + 1 + (unsigned) rng_below(&writer->rng, MIN(N_SLOTS - from, 20));
    uint64_t what = rng_below(&writer->rng, 100);

    if (what < 65)
        return write_slots(writer, file, from, rng_chance(&writer->rng, 70) ? from + 1 : to);
    if (what < 72)
        return dig_slots(writer, file, rng_chance(&writer->rng, 20) ? 0 : from, to, true);
    if (what < 80)
        return dig_slots(writer, file, from, to, false);
    return sync_slots(writer, file, rng_chance(&writer->rng, 50));
}

/* Slots of which nobody knows which change they have, as a mount has died meanwhile, are written again. */
static bool begin(struct writer *writer)
{
    bool good = true;

    for (unsigned file = 0; good && file < N_FILES; file++) {
        const struct slot *slot = writer->record->slot[writer->number][file];

        writer->fd[file] = open(name_of(writer->number, file), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        good = writer->fd[file] >= 0;
        for (unsigned i = 0; good && i < N_SLOTS; i++)
            if (slot[i].changed != slot[i].confirmed)
                good = write_slots(writer, file, i, i + 1);
    }
    return good;
}

static void write_on(struct record *record, unsigned number, uint64_t seed)
{
    struct writer writer = { record, rng_from_seed(seed * N_WRITERS + number), number, { -1, -1 } };
    bool good = begin(&writer);

    while (good)
        good = do_something(&writer);
}

static bool are_busy(const struct record *record)
{
    bool are = true;

    for (unsigned i = 0; i < N_WRITERS; i++)
        are = are && *(const volatile uint64_t *) &record->n_syncs[i] >= BUSY;
    return are;
}

static int write_all(struct record *record, const char *path, uint64_t seed)
{
    char busy[4096];

    memset(record->n_syncs, 0, sizeof record->n_syncs);
    snprintf(busy, sizeof busy, "%s.busy", path);
    for (unsigned i = 0; i < N_WRITERS; i++)
        if (fork() == 0) {
            write_on(record, i, seed);
            _exit(0);
        }
    if (fork() == 0) {
        for (int i = 0; i < 60000 && !are_busy(record); i++)
            usleep(1000);
        (void) close(open(busy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

/* -- what is there -- */

static bool can_be(const struct slot *slot, unsigned i, unsigned at, uint8_t byte)
{
    if (byte == 0 && slot->changed / 4 > (slot->confirmed - 1) / 4)
        return true; /* there is a hole, or was one since */
    for (uint32_t change = slot->confirmed; change <= slot->changed; change++)
        if (byte == byte_of(change, i, at))
            return true;
    return false;
}

/* What the fsync confirmed is there whole, whatever has happened to the slot since. Where nothing was confirmed bytes
 * may be lost. */
static bool check_slot(const struct slot *slot, bool is_kept, int fd, const char *name, unsigned i)
{
    uint8_t bytes[SLOT] = { 0 };

    if (fd < 0 || pread(fd, bytes, SLOT, (off_t) i * SLOT) < 0) {
        if (is_kept)
            printf("%s, slot %u, change %u was confirmed: %s\n", name, i, slot->confirmed, strerror(errno));
        return !is_kept;
    }
    for (unsigned at = 0; slot->confirmed > 0 && at < SLOT; at++)
        if (!can_be(slot, i, at, bytes[at])) {
            printf("%s, slot %u: byte %u is %u, confirmed was %u of change %u, the last change was %u\n", name, i, at,
                   bytes[at], byte_of(slot->confirmed, i, at), slot->confirmed, slot->changed);
            return false;
        }
    return true;
}

static int check_all(const struct record *record)
{
    unsigned n_kept = 0;
    bool good = true;

    for (unsigned writer = 0; writer < N_WRITERS; writer++)
        for (unsigned file = 0; file < N_FILES; file++) {
            int fd = open(name_of(writer, file), O_RDONLY | O_CLOEXEC);

            n_kept += record->length[writer][file].kept;
            for (unsigned i = 0; i < N_SLOTS; i++)
                good = check_slot(&record->slot[writer][file][i], i < record->length[writer][file].kept, fd,
                                  name_of(writer, file), i) &&
                       good;
            if (fd >= 0)
                (void) close(fd);
        }
    if (n_kept == 0)
        printf("nothing was confirmed\n");
    return good && n_kept > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct record *record;

    if (argc < 4 || (argc < 5 && strcmp(argv[1], "check") != 0)) {
        fprintf(stderr, "usage: %s write|check DIRECTORY RECORD [SEED]\n", argv[0]);
        return 2;
    }
    record = record_map(argv[3]);
    if (chdir(argv[2]) < 0) {
        perror(argv[2]);
        return 1;
    }
    return strcmp(argv[1], "check") == 0 ? check_all(record) : write_all(record, argv[3], strtoull(argv[4], NULL, 10));
}
