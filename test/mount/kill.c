/* SPDX-License-Identifier: MIT */
/* The daemon is killed, again and again, while processes write. What was done before must be there afterwards, whether
 * an fsync asked for it or not: the disks were not hurt. What was being done is there, or not, or in part.
 *
 *     kill FALLSFS MOUNTPOINT DISK...               as many cycles as the environment says (see rng.h)
 *
 * Writers keep a model of each file, and the one operation under way, in memory that outlives the daemon. */
#include "test/mount/crash.h"
#include "test/mount/writer.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum kind { NOTHING, WRITE, TRUNCATE, PUNCH, REPLACE, REMOVE, CREATE };

static const char *const kind_names[] = { "nothing", "write", "truncate", "punch", "replace", "remove", "create" };

/* A file as all finished operations made it, and as the one under way would make it. */
struct model {
    struct content is, will;
    enum kind doing;
    uint64_t off, len; /* of a write or hole under way */
    uint64_t seq;
};

struct shared {
    struct model model[N_WRITERS][N_FILES];
    volatile bool killed; /* errors are no failures from now on */
    volatile bool failed;
};

static struct shared *shared;
static const char *top; /* of the mount */
static uint64_t seed;   /* of what writers do in this cycle */

/* -- writers -- */

/* Bytes that tell whose they are, when there is something to find out. */
static void stamp(uint8_t *to, size_t len, unsigned writer, unsigned file, uint64_t seq)
{
    const uint8_t word[8] = { 0xfa, (uint8_t) ('A' + writer),  (uint8_t) ('0' + file),
                              0x01, (uint8_t) (seq >> 16 | 1), (uint8_t) (seq >> 8 | 1),
                              0x02, (uint8_t) (seq | 1) };

    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t) (word[i % 8] + i / 8 % 5);
}

/* False when the daemon is gone. */
static bool worked(struct writer *writer, unsigned file, bool ok)
{
    struct model *model = &shared->model[writer->number][file];
    int error = errno;

    if (ok)
        return true;
    if (!shared->killed) {
        printf("writer %u, file %u: %s failed: %s\n", writer->number, file, kind_names[model->doing], strerror(error));
        shared->failed = true;
    }
    return false;
}

static void begin(struct model *model, enum kind kind)
{
    model->will = model->is;
    model->will.there = true;
    model->seq++;
    model->doing = kind;
}

static bool end(struct writer *writer, unsigned file, bool ok)
{
    struct model *model = &shared->model[writer->number][file];

    if (!worked(writer, file, ok))
        return false;
    model->is = model->will;
    model->doing = NOTHING;
    return true;
}

static bool do_write(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct rng *rng = &writer->rng;
    uint64_t off = rng_chance(rng, 40) ? model->is.size : rng_below(rng, MAX_SIZE);
    uint64_t len = 1 + rng_below(rng, rng_chance(rng, 50) ? 200 : MAX_WRITE);
    uint8_t *data = model->will.data + off;

    if (off >= MAX_SIZE)
        return true;
    len = MIN(len, MAX_SIZE - off);
    begin(model, WRITE);
    model->off = off;
    model->len = len;
    stamp(data, len, writer->number, file, model->seq);
    model->will.size = MAX(model->is.size, off + len);
    return end(writer, file, pwrite(writer->fd[file], data, len, (off_t) off) == (ssize_t) len);
}

static bool do_truncate(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    uint64_t size = rng_chance(&writer->rng, 20) ? 0 : rng_below(&writer->rng, MAX_SIZE);

    begin(model, TRUNCATE);
    if (size < model->will.size)
        memset(model->will.data + size, 0, model->will.size - size);
    model->will.size = size;
    return end(writer, file, ftruncate(writer->fd[file], (off_t) size) == 0);
}

static bool do_punch(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    uint64_t off = rng_below(&writer->rng, MAX_SIZE), len = 1 + rng_below(&writer->rng, MAX_SIZE - off);

    begin(model, PUNCH);
    memset(model->will.data + off, 0, len);
    model->off = off;
    model->len = len;
    return end(writer, file,
               fallocate(writer->fd[file], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) off, (off_t) len) == 0);
}

/* A new file takes the place of the old one, with or without an fsync before. */
static bool do_replace(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name, temporary;
    int fd;
    bool ok;

    begin(model, REPLACE);
    memset(model->will.data, 0, MAX_SIZE);
    model->will.size = rng_below(&writer->rng, MAX_WRITE);
    stamp(model->will.data, model->will.size, writer->number, file, model->seq);
    fd = open(name_of(&temporary, writer->top, writer->number, file, ".new"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
              0600);
    ok = fd >= 0 && write(fd, model->will.data, model->will.size) == (ssize_t) model->will.size &&
         (rng_chance(&writer->rng, 50) || fsync(fd) == 0);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary.s, name_of(&name, writer->top, writer->number, file, "")) == 0;
    writer_close(writer, file);
    return end(writer, file, ok);
}

static bool do_remove(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name;

    begin(model, REMOVE);
    model->will = (struct content){ .there = false };
    if (rng_chance(&writer->rng, 50))
        writer_close(writer, file); /* else while it is open */
    if (!end(writer, file, unlink(name_of(&name, writer->top, writer->number, file, "")) == 0))
        return false;
    writer_close(writer, file);
    return true;
}

static bool do_create(struct writer *writer, unsigned file)
{
    struct model *model = &shared->model[writer->number][file];
    struct name name;

    begin(model, CREATE);
    writer->fd[file] =
        open(name_of(&name, writer->top, writer->number, file, ""), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return end(writer, file, writer->fd[file] >= 0);
}

static bool do_something(struct writer *writer)
{
    unsigned file = (unsigned) rng_below(&writer->rng, N_FILES);
    uint64_t what = rng_below(&writer->rng, 100);

    if (!shared->model[writer->number][file].is.there)
        return do_create(writer, file);
    if (!worked(writer, file, writer_open(writer, file)))
        return false;
    if (what < 55)
        return do_write(writer, file);
    if (what < 67)
        return do_truncate(writer, file);
    if (what < 72)
        return do_punch(writer, file);
    if (what < 80)
        return do_replace(writer, file);
    if (what < 83)
        return do_remove(writer, file);
    if (what < 90)
        writer_close(writer, file);
    else
        return worked(writer, file, (what < 95 ? fsync(writer->fd[file]) : fdatasync(writer->fd[file])) == 0);
    return true;
}

static void write_until_killed(unsigned number)
{
    struct writer writer = writer_new(number, top, seed);

    while (do_something(&writer))
        ;
}

/* -- what is there now -- */

static bool complain(const struct model *model, unsigned writer, unsigned file, const char *what, uint64_t at)
{
    printf("writer %u, file %u, %s of (%" PRIu64 ", %" PRIu64 ") under way, size %" PRIu64 " -> %" PRIu64
           ": %s %" PRIu64 "\n",
           writer, file, kind_names[model->doing], model->off, model->len, model->is.size, model->will.size, what, at);
    return false;
}

static bool size_is_right(const struct model *model, uint64_t size)
{
    if (size == model->is.size || (model->doing != NOTHING && size == model->will.size))
        return true;
    return model->doing == WRITE && size > model->is.size && size < model->will.size;
}

/* A byte is as it was, or as it was to be; behind the old end also not yet there. */
static bool data_is_right(const struct model *model, const struct content *found, uint64_t *ret_at)
{
    bool in_part = model->doing == WRITE || model->doing == PUNCH;

    for (uint64_t at = 0; at < found->size; at++) {
        bool under_way = in_part && at >= model->off && at < model->off + model->len;

        if (found->data[at] != model->is.data[at] && !(under_way && found->data[at] == model->will.data[at])) {
            *ret_at = at;
            return false;
        }
    }
    return true;
}

static bool is_all_done(const struct model *model, const struct content *found)
{
    return model->doing != NOTHING && found->there == model->will.there && found->size == model->will.size &&
           memcmp(found->data, model->will.data, found->size) == 0;
}

static bool check_content(struct model *model, unsigned writer, unsigned file, const struct content *found)
{
    uint64_t at = 0;

    if (is_all_done(model, found))
        return true;
    if (found->there != model->is.there)
        return complain(model, writer, file, found->there ? "unexpected, size" : "lost", found->size);
    if (!found->there)
        return true;
    if (!size_is_right(model, found->size))
        return complain(model, writer, file, "has size", found->size);
    if (!data_is_right(model, found, &at)) {
        complain(model, writer, file, "differs at", at);
        printf("    found %02x, was %02x, was to be %02x\n", found->data[at], model->is.data[at], model->will.data[at]);
        return false;
    }
    return true;
}

/* Compares all files with their models; from now on they are as they were found. */
static bool check_all(void)
{
    static struct content found;
    bool good = true;

    for (unsigned w = 0; w < N_WRITERS; w++)
        for (unsigned f = 0; f < N_FILES; f++) {
            struct model *model = &shared->model[w][f];
            struct name name;

            if (!content_read(name_of(&name, top, w, f, ""), &found)) {
                good = complain(model, w, f, strerror(errno), found.size);
                continue;
            }
            good = check_content(model, w, f, &found) && good;
            model->is = found;
            model->doing = NOTHING;
            (void) unlink(name_of(&name, top, w, f, ".new"));
        }
    return good;
}

/* -- cycles -- */

static bool begin_cycle(const struct daemon *daemon, struct rng *rng)
{
    top = daemon->top;
    seed = rng_u64(rng) >> 4;
    shared->killed = false;
    return check_all();
}

static void allow_errors(void)
{
    shared->killed = true;
}

static bool has_none_failed(void)
{
    return !shared->failed;
}

static const char *const layouts[] = {
    "layout=stripe(1M)", "layout=stripe(4K)", "layout=stripe(7,3)",
    "layout=stripe(1)",  "layout=one",        "layout={(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2",
};

int main(int argc, char **argv)
{
    const struct crash_test test = {
        .layout = layouts,
        .n_layouts = ARRAY_SIZE(layouts),
        .early = 10,
        .n_programs = N_WRITERS,
        .begin = begin_cycle,
        .work = write_until_killed,
        .doom = allow_errors,
        .over = has_none_failed,
    };

    shared = crash_share(sizeof *shared);
    return crash_main(argc, argv, 500, &test);
}
