/* SPDX-License-Identifier: MIT */
/* Sorts a file of records that does not fit into memory:
 *
 *     from     d a c | b b a | c d | a          slabs of what memory holds
 *     to       a c d | a b b | c d | a          each is sorted: a run
 *     part     a a b b c d | a c d              as many runs as memory has room to walk become one
 *     to       a a a b b c c d d                until there is one; records of equal keys stay in order
 *
 *     sort -r 100 -k 10 -m 1G /fast/from /fast/to
 *
 * All files are walked by fallsfs_slabs: what comes next is read, and what was done is written, while this process
 * sorts and merges. A merge walks each of its runs as a part of the file. To compare, there is the direct way (-d), one
 * block after the other. */
#include <fallsfs_slabs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_OF_WALK (64u << 10) /* bytes of memory, for calls that are worth it */
#define MAX_FAN_IN    256

/* From the record begin on, to end, which is none of it any more. */
struct run {
    uint64_t begin, end;
};

struct runs {
    struct run *run;
    uint64_t n;
};

static size_t record_bytes, key_bytes;
static uint64_t n_records, memory;
static bool direct;

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "sort: %s: %s\n", path, why);
    exit(1);
}

static void check(int r, const char *path)
{
    if (r < 0)
        fail(path, fallsfs_strerror_last());
}

static void *allocate(size_t bytes)
{
    void *mem = malloc(bytes > 0 ? bytes : 1);

    if (mem == NULL)
        fail("memory", strerror(ENOMEM));
    return mem;
}

/* Moves records from the file's record on, directly. */
static void move(int fd, bool write, uint8_t *mem, uint64_t record, uint64_t n, const char *path)
{
    size_t left = n * record_bytes;
    off_t off = (off_t) (record * record_bytes);

    while (left > 0) {
        ssize_t moved = write ? pwrite(fd, mem, left, off) : pread(fd, mem, left, off);

        if (moved <= 0)
            fail(path, moved < 0 ? strerror(errno) : "ends too early");
        mem += moved;
        off += moved;
        left -= (size_t) moved;
    }
}

static struct fallsfs_array records(void)
{
    return (struct fallsfs_array){ .ndims = 1, .elem = record_bytes, .size = { n_records } };
}

/* -- runs of what memory holds -- */

/* Records that are equal stay in order: the one that lies before the other comes before it. */
static int compare(const void *a, const void *b)
{
    const uint8_t *left = *(const uint8_t *const *) a, *right = *(const uint8_t *const *) b;
    int order = memcmp(left, right, key_bytes);

    return order != 0 ? order : left < right ? -1 : left > right;
}

static void sort_slab(const uint8_t *from, uint8_t *to, size_t n, const uint8_t **order)
{
    for (size_t i = 0; i < n; i++)
        order[i] = from + i * record_bytes;
    qsort(order, n, sizeof order[0], compare);
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * record_bytes, order[i], record_bytes);
}

static void add_run(struct runs *runs, uint64_t begin, uint64_t end)
{
    runs->run = realloc(runs->run, (runs->n + 1) * sizeof runs->run[0]);
    if (runs->run == NULL)
        fail("memory", strerror(ENOMEM));
    runs->run[runs->n++] = (struct run){ begin, end };
}

/* Walks both files in step; of memory, half is for what the walk holds, as much as it needs of the rest to sort by. */
static struct runs make_runs(int from, int to, const char *path)
{
    const struct fallsfs_array array = records();
    const struct fallsfs_slabs_walk walk = { .memory = memory / 2 };
    const struct fallsfs_slabs_array of[] = {
        { .fd = from, .access = FALLSFS_SLABS_READ, .array = &array },
        { .fd = to, .access = FALLSFS_SLABS_WRITE, .array = &array },
    };
    struct fallsfs_slab slab[2];
    struct fallsfs_slabs *slabs;
    const uint8_t **order = NULL;
    struct runs runs = { NULL, 0 };
    uint64_t room = 0;
    int r;

    check(fallsfs_slabs_open(&walk, of, 2, &slabs), path);
    while ((r = fallsfs_slabs_next(slabs, slab)) == 1) {
        uint64_t n = slab[0].size[0];

        if (n > room) {
            free(order);
            order = allocate((room = n) * sizeof order[0]);
        }
        sort_slab(slab[0].bytes, slab[1].bytes, n, order);
        add_run(&runs, slab[0].lower[0], slab[0].lower[0] + n);
    }
    check(r, path);
    check(fallsfs_slabs_close(slabs), path);
    free(order);
    return runs;
}

/* Blocks of a quarter of memory each, as they are and sorted. */
static struct runs make_runs_directly(int from, int to, const char *path)
{
    uint64_t most = memory / 4 / record_bytes;
    uint8_t *unsorted = allocate(most * record_bytes), *sorted = allocate(most * record_bytes);
    const uint8_t **order = allocate(most * sizeof order[0]);
    struct runs runs = { NULL, 0 };

    for (uint64_t at = 0; at < n_records; at += most) {
        uint64_t n = n_records - at < most ? n_records - at : most;

        move(from, false, unsorted, at, n, path);
        sort_slab(unsorted, sorted, n, order);
        move(to, true, sorted, at, n, path);
        add_run(&runs, at, at + n);
    }
    free(unsorted);
    free(sorted);
    free(order);
    return runs;
}

/* -- merging -- */

/* A file that is walked record by record. */
struct walk {
    struct fallsfs_slabs *slabs;
    uint8_t *at, *end; /* in the slab */
    const char *path;
    /* The same directly: a block, what of the file it is, and what comes behind it. */
    uint8_t *block;
    uint64_t begin, n, most, next, last;
    int fd;
    bool writes;
};

static struct walk walk_open(int fd, uint32_t access, struct run run, uint64_t bytes, const char *path)
{
    const struct fallsfs_array array = records();
    const struct fallsfs_range part = { run.begin, run.end - 1, 1 };
    const struct fallsfs_slabs_walk how = { .memory = bytes, .part = &part };
    const struct fallsfs_slabs_array of = { .fd = fd, .access = access, .array = &array };
    struct walk walk = { .path = path, .fd = fd, .writes = access == FALLSFS_SLABS_WRITE };

    if (direct) {
        walk.most = bytes > record_bytes ? bytes / record_bytes : 1;
        walk.block = allocate(walk.most * record_bytes);
        walk.next = run.begin;
        walk.last = run.end;
        return walk;
    }
    check(fallsfs_slabs_open(&how, &of, 1, &walk.slabs), path);
    return walk;
}

/* The next block, and the one before written where it shall be; false: there are no more. */
static bool next_block(struct walk *walk)
{
    if (walk->writes)
        move(walk->fd, true, walk->block, walk->begin, walk->n, walk->path);
    walk->begin = walk->next;
    walk->n = walk->last - walk->next < walk->most ? walk->last - walk->next : walk->most;
    walk->next += walk->n;
    if (!walk->writes)
        move(walk->fd, false, walk->block, walk->begin, walk->n, walk->path);
    walk->at = walk->block;
    walk->end = walk->at + walk->n * record_bytes;
    return walk->n > 0;
}

/* Sees to it that there is a record at walk->at; false: there are no more. */
static bool walk_has(struct walk *walk)
{
    struct fallsfs_slab slab;
    int r;

    if (walk->at < walk->end)
        return true;
    if (direct)
        return next_block(walk);
    r = fallsfs_slabs_next(walk->slabs, &slab);
    check(r, walk->path);
    if (r == 0)
        return false;
    walk->at = slab.bytes;
    walk->end = walk->at + slab.size[0] * record_bytes;
    return true;
}

static void walk_close(struct walk *walk)
{
    if (!direct)
        check(fallsfs_slabs_close(walk->slabs), walk->path);
    free(walk->block);
}

/* Of walks that have records, as a heap: the one with the least record comes first, of equal ones the one of the run
 * that lies first in the file. */
struct heap {
    struct walk **walk;
    size_t n;
};

static bool comes_first(const struct walk *a, const struct walk *b)
{
    int order = memcmp(a->at, b->at, key_bytes);

    return order != 0 ? order < 0 : a < b;
}

static void sink(struct heap *heap, size_t i)
{
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child < heap->n && child <= 2 * i + 2; child++)
            if (comes_first(heap->walk[child], heap->walk[least]))
                least = child;
        if (least == i)
            return;

        struct walk *other = heap->walk[i];

        heap->walk[i] = heap->walk[least];
        heap->walk[least] = other;
        i = least;
    }
}

/* Merges runs that follow each other into one, at the same place of the other file. */
static void merge(int from, int to, const struct run run[], size_t n, const char *path)
{
    uint64_t bytes = memory / (n + 1);
    struct walk *walk = allocate(n * sizeof *walk);
    struct heap heap = { allocate(n * sizeof(struct walk *)), 0 };
    struct walk out = walk_open(to, FALLSFS_SLABS_WRITE, (struct run){ run[0].begin, run[n - 1].end }, bytes, path);

    for (size_t i = 0; i < n; i++) {
        walk[i] = walk_open(from, FALLSFS_SLABS_READ, run[i], bytes, path);
        if (walk_has(&walk[i]))
            heap.walk[heap.n++] = &walk[i];
    }
    for (size_t i = heap.n; i-- > 0;)
        sink(&heap, i);
    while (heap.n > 0 && walk_has(&out)) {
        memcpy(out.at, heap.walk[0]->at, record_bytes);
        out.at += record_bytes;
        heap.walk[0]->at += record_bytes;
        if (!walk_has(heap.walk[0]))
            heap.walk[0] = heap.walk[--heap.n];
        sink(&heap, 0);
    }
    (void) walk_has(&out); /* takes back the last slab */
    walk_close(&out);
    for (size_t i = 0; i < n; i++)
        walk_close(&walk[i]);
    free(walk);
    free(heap.walk);
}

/* How many runs are merged at a time: all, if memory has room to walk them. */
static size_t fan_in(uint64_t n_runs)
{
    uint64_t least = record_bytes * 4 > LEAST_OF_WALK ? record_bytes * 4 : LEAST_OF_WALK;
    uint64_t n = memory / least;

    n = n < 3 ? 2 : n - 1 < MAX_FAN_IN ? n - 1 : MAX_FAN_IN;
    return (size_t) (n < n_runs ? n : n_runs);
}

static struct runs merge_all(int from, int to, struct runs runs, size_t n, const char *path)
{
    struct runs longer = { NULL, 0 };

    for (uint64_t i = 0; i < runs.n; i += n) {
        size_t here = (size_t) (runs.n - i < n ? runs.n - i : n);

        merge(from, to, runs.run + i, here, path);
        add_run(&longer, runs.run[i].begin, runs.run[i + here - 1].end);
    }
    free(runs.run);
    return longer;
}

/* -- files -- */

static int open_new(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        fail(path, strerror(errno));
    return fd;
}

static int usage(void)
{
    fputs("usage: sort [-d] -r BYTES [-k BYTES] [-m MEMORY] FROM TO\n"
          "       records of so many bytes, by their first bytes, in so much memory, 64M unless told\n",
          stderr);
    return 2;
}

/* Reads 100, 64K, 1G; 0: it is none. */
static uint64_t read_size(const char *text)
{
    static const char suffixes[] = "KMGT";
    char *end;
    uint64_t size = strtoull(text, &end, 10);
    const char *suffix = *end != 0 ? strchr(suffixes, *end) : NULL;

    if (suffix != NULL && end[1] == 0)
        return size << (10 * (suffix - suffixes + 1));
    return *end == 0 && text[0] != '-' ? size : 0;
}

int main(int argc, char **argv)
{
    char *part;
    struct runs runs;
    struct stat st;
    uint64_t n_runs;
    unsigned passes = 0;
    int option, from, fd[2];

    memory = 64 << 20;
    while ((option = getopt(argc, argv, "dr:k:m:")) != -1)
        switch (option) {
        case 'd':
            direct = true;
            break;
        case 'r':
            record_bytes = (size_t) read_size(optarg);
            break;
        case 'k':
            key_bytes = (size_t) read_size(optarg);
            break;
        case 'm':
            memory = read_size(optarg);
            break;
        default:
            return usage();
        }
    key_bytes = key_bytes > 0 ? key_bytes : record_bytes;
    if (argc - optind != 2 || record_bytes == 0 || key_bytes > record_bytes || memory < 16 * record_bytes)
        return usage();
    argv += optind;
    from = open(argv[0], O_RDONLY | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) < 0)
        fail(argv[0], strerror(errno));
    if ((uint64_t) st.st_size % record_bytes != 0)
        fail(argv[0], "is no file of such records: its last one is cut off");
    n_records = (uint64_t) st.st_size / record_bytes;
    if (n_records == 0)
        return close(open_new(argv[1])) < 0;
    part = allocate(strlen(argv[1]) + sizeof ".part");
    sprintf(part, "%s.part", argv[1]);
    fd[0] = open_new(part);
    fd[1] = open_new(argv[1]);

    /* Both files take turns; the one that has the last merge gets the name. */
    runs = direct ? make_runs_directly(from, fd[0], argv[1]) : make_runs(from, fd[0], argv[1]);
    n_runs = runs.n;
    for (; runs.n > 1; passes++)
        runs = merge_all(fd[passes % 2], fd[(passes + 1) % 2], runs, fan_in(runs.n), argv[1]);
    if (fsync(fd[passes % 2]) < 0)
        fail(argv[1], strerror(errno));
    if (passes % 2 == 0 ? rename(part, argv[1]) < 0 : unlink(part) < 0)
        fail(part, strerror(errno));
    printf("%" PRIu64 " records: %" PRIu64 " runs, merged in %u passes\n", n_records, n_runs, passes);
    free(runs.run);
    free(part);
    return 0;
}
