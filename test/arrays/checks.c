/* SPDX-License-Identifier: MIT */
/* What programs expect of slabs and PASSION's calls, on a mount and elsewhere: checks DIRECTORY [NAME]. */
#include "test/mount/posix.h"

#include "layout/clock.h"

#include <fallsfs_slabs.h>
#include <fcntl.h>
#include <passion.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ROWS    64
#define COLUMNS 4096

static const struct fallsfs_array matrix = { 2, FALLSFS_ROW_MAJOR, sizeof(int), 0, { ROWS, COLUMNS } };

static bool is_mounted(void)
{
    return getxattr(".", "user.falls.layout.json", NULL, 0) >= 0;
}

/* A file of the matrix, whose elements are their numbers. */
static int matrix_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int row[COLUMNS];

    EXPECT(fd >= 0);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            row[j] = i * COLUMNS + j;
        EXPECT(pwrite(fd, row, sizeof row, (off_t) sizeof row * i) == sizeof row);
    }
    return fd;
}

static int element(int fd, int i)
{
    int x;

    EXPECT(pread(fd, &x, sizeof x, (off_t) sizeof x * i) == sizeof x);
    return x;
}

static struct fallsfs_slabs_array of(int fd, uint32_t access)
{
    return (struct fallsfs_slabs_array){ .fd = fd, .access = access, .array = &matrix };
}

/* -- slabs -- */

static void slabs_are_read_ahead(void)
{
    const struct fallsfs_slabs_array array = of(matrix_file("matrix"), FALLSFS_SLABS_READ);
    const struct fallsfs_slabs_walk walk = { .tile = { 4 } };
    struct fallsfs_slabs_stats stats;
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;

    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    while (fallsfs_slabs_next(slabs, &slab) == 1)
        pause_ms(20);
    fallsfs_slabs_stats(slabs, &stats);
    EXPECT(stats.rounds == 16 && stats.bytes_read == ROWS * COLUMNS * sizeof(int));
    EXPECT(stats.n_ready >= 8);
    EXPECT(stats.waited_read_ns < UINT64_C(160) * 1000000);
    EXPECT(fallsfs_slabs_close(slabs) == 0);
}

/* A walk that cannot be is told so before anything is computed. */
static void walks_want_the_right_descriptor(void)
{
    const struct fallsfs_slabs_walk walk = { .tile = { 4 } };
    struct fallsfs_slabs_array array;
    struct fallsfs_slabs *slabs;

    close(matrix_file("matrix"));
    array = of(open("matrix", O_RDONLY | O_CLOEXEC), FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == -EBADF);
    array = of(open("matrix", O_WRONLY | O_CLOEXEC), FALLSFS_SLABS_READ);
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == -EBADF);
    array.access = FALLSFS_SLABS_WRITE;
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0 && fallsfs_slabs_close(slabs) == 0);
    array.array = NULL;
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == -EINVAL);
}

/* What fails later: the descriptor becomes another one. */
static void replace(int fd, int flags)
{
    int other = open("matrix", flags | O_CLOEXEC);

    EXPECT(other >= 0 && dup2(other, fd) == fd && close(other) == 0);
}

static void errors_of_writing_are_told(void)
{
    int fd = matrix_file("matrix"), r;
    const struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    const struct fallsfs_slabs_walk walk = { .tile = { 4 } };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;
    char words[512];

    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    replace(fd, O_RDONLY);
    while ((r = fallsfs_slabs_next(slabs, &slab)) == 1)
        memset(slab.bytes, 0, 4 * COLUMNS * sizeof(int));
    EXPECT(r == -EBADF);
    snprintf(words, sizeof words, "%s", fallsfs_strerror_last());
    EXPECT(PASSION_malloc_OCAD(0) == NULL && strcmp(words, fallsfs_strerror_last()) != 0);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == -EBADF && strcmp(words, fallsfs_strerror_last()) == 0);
    EXPECT(fallsfs_slabs_close(slabs) == -EBADF && strcmp(words, fallsfs_strerror_last()) == 0);
    EXPECT(element(fd, 5) == 5);
}

/* The last slab is written when next has no more to give. */
static void an_error_at_the_end_is_told(void)
{
    int fd = matrix_file("matrix");
    const struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_WRITE);
    const struct fallsfs_slabs_walk walk = { .tile = { ROWS } };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;

    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    replace(fd, O_RDONLY);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == 1);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == -EBADF);
    EXPECT(fallsfs_slabs_close(slabs) == -EBADF);
    close(fd);
}

static void errors_of_reading_are_told(void)
{
    int fd = matrix_file("matrix");
    const struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_READ);
    const struct fallsfs_slabs_walk walk = { .tile = { 4 } };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;

    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    replace(fd, O_WRONLY);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == -EBADF);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == -EBADF);
    EXPECT(fallsfs_slabs_close(slabs) == 0);
}

static void slabs_in_hand_are_not_written(void)
{
    int fd = matrix_file("matrix");
    const struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    const struct fallsfs_slabs_walk walk = { .tile = { 4 }, .prefetch = 3 };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;

    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(fallsfs_slabs_next(slabs, &slab) == 1);
        memset(slab.bytes, 0, 4 * COLUMNS * sizeof(int));
    }
    EXPECT(fallsfs_slabs_close(slabs) == 0);
    EXPECT(element(fd, 4 * COLUMNS - 1) == 0);
    EXPECT(element(fd, 4 * COLUMNS) == 4 * COLUMNS);
}

/* What O_DIRECT wants of offsets, lengths and memory is no matter for who asks for sections, on no file system. */
static void direct_files_have_sections(void)
{
    const struct fallsfs_range odd[] = { { 3, 60, 7 }, { 5, 4000, 13 } };
    int n = 0, fd, found[9 * 308] = { 0 };

    close(matrix_file("matrix"));
    fd = open("matrix", O_RDWR | O_DIRECT | O_CLOEXEC);
    if (fd < 0)
        return; /* a file system that has none */
    EXPECT(fallsfs_read_section(fd, &matrix, odd, found) == 0);
    for (int i = 3; i <= 60; i += 7)
        for (int j = 5; j <= 4000; j += 13)
            EXPECT(found[n++] == i * COLUMNS + j);
    EXPECT(n == ARRAY_SIZE(found));
    memset(found, 0, sizeof found);
    EXPECT(fallsfs_write_section(fd, &matrix, odd, found) == 0);
    EXPECT(close(fd) == 0);
    fd = open("matrix", O_RDWR | O_CLOEXEC);
    EXPECT(element(fd, 10 * COLUMNS + 18) == 0 && element(fd, 10 * COLUMNS + 19) == 10 * COLUMNS + 19);
    EXPECT(ftruncate(fd, 3) == 0);
    close(fd);
    fd = open("matrix", O_RDONLY | O_DIRECT | O_CLOEXEC);
    EXPECT(fallsfs_read_section(fd, &matrix, odd, found) == 0 && found[0] == 0);
    EXPECT(fallsfs_write_section(fd, &matrix, odd, found) == -EBADF);
    close(fd);
}

/* O_APPEND is for write(2). A section lies where it lies. */
static void appending_files_have_sections(void)
{
    const struct fallsfs_range row[] = { { 1, 1, 1 }, { 0, COLUMNS - 1, 1 } };
    static const int zeros[COLUMNS];
    struct stat st;
    int fd;

    close(matrix_file("matrix"));
    fd = open("matrix", O_RDWR | O_APPEND | O_CLOEXEC);
    EXPECT(fallsfs_write_section(fd, &matrix, row, zeros) == 0);
    EXPECT(fstat(fd, &st) == 0 && st.st_size == ROWS * COLUMNS * (off_t) sizeof(int));
    EXPECT(element(fd, COLUMNS) == 0 && element(fd, COLUMNS - 1) == COLUMNS - 1);
    close(fd);
}

/* What was asked for before a fork is the parent's, whatever the child does. */
static void children_have_no_requests(void)
{
    const struct fallsfs_range all[] = { { 0, ROWS - 1, 1 }, { 0, COLUMNS - 1, 1 } };
    int fd = matrix_file("matrix"), status;
    const struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_READ);
    const struct fallsfs_slabs_walk walk = { .tile = { 4 } };
    int *found = calloc(2 * ROWS * COLUMNS, sizeof(int));
    struct fallsfs_ticket *ticket, *other;
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;
    bool done;
    pid_t pid;

    EXPECT(found != NULL && fallsfs_iread_section(fd, &matrix, all, found, &ticket) == 0);
    EXPECT(fallsfs_iread_section(fd, &matrix, all, found + ROWS * COLUMNS, &other) == 0);
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0 && fallsfs_slabs_next(slabs, &slab) == 1);
    pid = fork();
    if (pid == 0) {
        EXPECT(fallsfs_wait(ticket) == -EPERM);
        EXPECT(fallsfs_test(other, &done) == -EPERM && done);
        EXPECT(fallsfs_slabs_next(slabs, &slab) == -EPERM);
        EXPECT(fallsfs_slabs_close(slabs) == -EPERM);
        _exit(0);
    }
    EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(fallsfs_wait(ticket) == 0 && found[77] == 77);
    EXPECT(fallsfs_wait(other) == 0 && found[ROWS * COLUMNS + 77] == 77);
    for (int i = 1; i < 16; i++)
        EXPECT(fallsfs_slabs_next(slabs, &slab) == 1 && *(int *) slab.bytes == i * 4 * COLUMNS);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == 0 && fallsfs_slabs_close(slabs) == 0);
    free(found);
    close(fd);
}

static int refused(const struct fallsfs_slabs_walk *walk, const struct fallsfs_slabs_array *arrays, uint32_t n)
{
    struct fallsfs_slabs *slabs = NULL;
    int r = fallsfs_slabs_open(walk, arrays, n, &slabs);

    EXPECT(r < 0 && slabs == NULL);
    return r;
}

static void what_makes_no_sense_is_refused(void)
{
    int fd = matrix_file("matrix");
    const struct fallsfs_slabs_walk plain = { .axis = 0 };
    const struct fallsfs_range behind[] = { { 0, ROWS, 1 }, { 0, 0, 1 } }, strides[] = { { 0, 1, 2 }, { 0, 0, 1 } };
    struct fallsfs_array other = matrix;
    struct fallsfs_slabs_array two[] = { of(fd, FALLSFS_SLABS_READ), of(fd, FALLSFS_SLABS_WRITE) };
    struct fallsfs_slabs_array many[16];
    struct fallsfs_group *group;
    uint8_t token[16];

    for (int i = 0; i < 16; i++)
        many[i] = of(fd, FALLSFS_SLABS_READ);
    EXPECT(refused(&plain, many, 16) == -EINVAL);
    EXPECT(refused(&plain, two, 0) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .axis = 2 }, two, 1) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .prefetch = 14 }, two, 1) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .grid = { 1, 1 } }, two, 1) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .part = behind }, two, 1) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .part = strides }, two, 1) == -EINVAL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .memory = COLUMNS * sizeof(int) }, two, 1) == -ENOMEM);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .memory = COLUMNS * sizeof(int), .tile = { 2 } }, two, 1) == -ENOMEM);
    other.size[1]--;
    two[1].array = &other;
    EXPECT(refused(&plain, two, 2) == -EINVAL);
    two[1].array = &matrix;
    two[1].halo[0][0] = 1;
    EXPECT(refused(&plain, two, 2) == -EINVAL);
    two[1].access = 4;
    EXPECT(refused(&plain, two, 2) == -EINVAL);
    two[1].access = FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE;
    EXPECT(fallsfs_token(token) == 0 && fallsfs_join(fd, token, 0, 1, NULL, &group) == 0);
    two[1].group = group;
    EXPECT(refused(&plain, two, 2) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "two arrays in step") != NULL);
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .grid = { 2, 1 } }, &two[1], 1) == -EINVAL);
    two[1].halo[0][0] = 0;
    EXPECT(refused(&(struct fallsfs_slabs_walk){ .grid = { 2, 1 } }, &two[1], 1) == -EINVAL);
    EXPECT(fallsfs_leave(group) == 0);
}

/* -- a process dies -- */

/* Adds a million to each element, slowly, with a halo that it does not need. */
static void add_million(int fd)
{
    struct fallsfs_slabs_array array = of(fd, FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    const struct fallsfs_slabs_walk walk = { .tile = { 3 }, .prefetch = 2 };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;

    array.halo[0][0] = array.halo[0][1] = 2;
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    while (fallsfs_slabs_next(slabs, &slab) == 1) {
        int *x = slab.bytes;

        for (uint64_t i = 0; i < slab.n[0] * COLUMNS; i++)
            x[i] += 1000000;
        pause_ms(1);
    }
    EXPECT(fallsfs_slabs_close(slabs) == 0);
}

/* Slabs are written one after the other: first those that are new, then at most one that is both, then old ones. */
static void look_at_what_is_left(int fd)
{
    static int all[ROWS * COLUMNS];
    bool seen_old = false;

    EXPECT(pread(fd, all, sizeof all, 0) == sizeof all);
    for (int first = 0; first < ROWS; first += 3) {
        int n = MIN(3, ROWS - first) * COLUMNS, n_new = 0;

        for (int i = first * COLUMNS; i < first * COLUMNS + n; i++) {
            EXPECT(all[i] == i || all[i] == i + 1000000);
            n_new += all[i] != i;
        }
        EXPECT(n_new == 0 || !seen_old);
        seen_old |= n_new < n;
    }
}

static void one_that_is_killed_leaves_old_or_new(void)
{
    for (unsigned ms = 1; ms < 25; ms += 3) {
        int fd = matrix_file("matrix"), status;
        pid_t pid = fork();

        EXPECT(pid >= 0);
        if (pid == 0) {
            add_million(open("matrix", O_RDWR | O_CLOEXEC));
            _exit(0);
        }
        pause_ms(ms);
        EXPECT(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
        look_at_what_is_left(fd);
        close(fd);
    }
}

/* Each rank's walk ends with an error soon, and closing works. */
static void walk_until_one_dies(int rank, const uint8_t token[16], atomic_int *dead)
{
    int fd = open("matrix", O_RDWR | O_CLOEXEC), r;
    const struct fallsfs_slabs_walk walk = { .tile = { 1 } };
    struct fallsfs_slabs_array array = of(-1, FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE);
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;
    int n = 0;

    EXPECT(fallsfs_join(fd, token, (uint32_t) rank, 3, NULL, &array.group) == 0);
    EXPECT(fallsfs_slabs_open(&walk, &array, 1, &slabs) == 0);
    while ((r = fallsfs_slabs_next(slabs, &slab)) == 1)
        if (++n == 5 && rank == 1) {
            atomic_store(dead, 1);
            raise(SIGKILL);
        }
    EXPECT(r == -ECANCELED && atomic_load(dead) == 1);
    EXPECT(fallsfs_slabs_next(slabs, &slab) == -ECANCELED);
    (void) fallsfs_slabs_close(slabs);
    EXPECT(fallsfs_leave(array.group) == 0);
}

static void ranks_learn_of_one_that_is_killed(void)
{
    atomic_int *dead = mmap(NULL, sizeof *dead, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t began = clock_ms();
    uint8_t token[16];
    pid_t pid[3];

    if (!is_mounted()) /* ranks know nothing of each other there */
        return;
    close(matrix_file("matrix"));
    EXPECT(dead != MAP_FAILED && fallsfs_token(token) == 0);
    for (int rank = 0; rank < 3; rank++) {
        pid[rank] = fork();
        EXPECT(pid[rank] >= 0);
        if (pid[rank] == 0) {
            walk_until_one_dies(rank, token, dead);
            _exit(0);
        }
    }
    for (int rank = 0; rank < 3; rank++) {
        int status;

        EXPECT(waitpid(pid[rank], &status, 0) == pid[rank]);
        EXPECT(rank == 1 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT(clock_ms() - began < 10000);
}

/* -- PASSION -- */

static OCAD *rows_of(int n_procs)
{
    int size[] = { ROWS, COLUMNS }, distribution[][2] = { { PASSION_BLOCK, 0 }, { PASSION_NONE, 0 } };
    int nprocs[] = { n_procs, 1 };
    OCAD *ocad = PASSION_malloc_OCAD(2);

    EXPECT(ocad != NULL);
    EXPECT(PASSION_fill_OCAD(ocad, size, distribution, nprocs, NULL, NULL, NULL, sizeof(int), ROW_MAJOR) == 0);
    return ocad;
}

static PFILE *open_as(const char *name, unsigned header)
{
    char copy[64];
    PFILE *file;

    snprintf(copy, sizeof copy, "%s", name);
    file = PASSION_open(copy, header);
    EXPECT(file != NULL);
    return file;
}

/* Each in words, and none by a signal. */
static void what_is_missing_is_told(void)
{
    const struct fallsfs_range all[] = { { 0, ROWS - 1, 1 }, { 0, COLUMNS - 1, 1 } };
    const struct fallsfs_list none = { .bytes = 5 }, lost = { .n = 3, .bytes = 5 };
    int fd = matrix_file("matrix"), bound[2][3] = { { 0, 0, 1 }, { 0, 0, 1 } }, size[] = { 4, 4 };
    char bytes[64];
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *file = open_as("matrix", 0), *brief = open_as("brief", 100);

    EXPECT(fallsfs_read_section(fd, NULL, all, bytes) == -EINVAL);
    EXPECT(fallsfs_read_section(fd, &matrix, NULL, bytes) == -EINVAL);
    EXPECT(fallsfs_read_section(fd, &matrix, all, NULL) == -EFAULT);
    EXPECT(fallsfs_read_falls(fd, 0, NULL, bytes) == -EINVAL);
    EXPECT(fallsfs_read_falls(fd, 0, "{(0,3,8,2),(2,5,8,2)}", bytes) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "overlap") != NULL);
    EXPECT(fallsfs_read_list(fd, &none, bytes) == -EINVAL && fallsfs_read_list(fd, &lost, bytes) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "NULL") != NULL);
    EXPECT(fallsfs_slabs_close(NULL) == 0);
    EXPECT(PASSION_fill_OCAD(NULL, size, NULL, NULL, NULL, NULL, NULL, 4, ROW_MAJOR) == -1 && errno == EINVAL);
    EXPECT(PASSION_fill_OCAD(ocad, NULL, NULL, NULL, NULL, NULL, NULL, 4, ROW_MAJOR) == -1 && errno == EINVAL);
    EXPECT(PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, NULL, NULL, 4, ROW_MAJOR) == 0);
    EXPECT(PASSION_open(NULL, 0) == NULL && errno == EINVAL);
    EXPECT(PASSION_read(NULL, ocad, bytes) == -1 && PASSION_read(file, NULL, bytes) == -1);
    EXPECT(PASSION_read(file, ocad, NULL) == -1 && PASSION_write(file, ocad, NULL) == -1 && errno == EINVAL);
    EXPECT(PASSION_read_section(NULL, ocad, bytes, NULL, bound) == -1);
    EXPECT(PASSION_read_section(file, NULL, bytes, NULL, bound) == -1);
    EXPECT(PASSION_read_section(file, ocad, NULL, NULL, bound) == -1);
    EXPECT(PASSION_write_section(file, ocad, bytes, NULL, NULL) == -1 && errno == EINVAL);
    EXPECT(PASSION_global_read(NULL, ocad, bytes, NULL, bound, 1) == -1);
    EXPECT(PASSION_global_read(file, NULL, bytes, NULL, bound, 1) == -1);
    EXPECT(PASSION_global_write(file, ocad, NULL, NULL, bound, 1) == -1);
    EXPECT(PASSION_global_write(file, ocad, bytes, NULL, NULL, 1) == -1 && errno == EINVAL);
    EXPECT(PASSION_read_header(NULL, bytes) == -1 && PASSION_write_header(NULL, bytes) == -1);
    EXPECT(PASSION_read_header(brief, NULL) == -1 && errno == EINVAL); /* behind its end, no kernel looks */
    EXPECT(PASSION_write_header(brief, NULL) == -1 && errno == EINVAL);
    EXPECT(PASSION_close(brief) == 0);
    EXPECT(PASSION_read_prefetch(NULL, ocad, bytes, NULL, bound) == NULL);
    EXPECT(PASSION_read_prefetch(file, ocad, NULL, NULL, bound) == NULL);
    EXPECT(PASSION_read_prefetch(file, ocad, bytes, NULL, NULL) == NULL && errno == EINVAL);
    EXPECT(PASSION_prefetch_wait(NULL) == -1 && PASSION_reuse_init(NULL, ocad, 0) == NULL);
    EXPECT(PASSION_reuse_init(file, NULL, 0) == NULL && PASSION_read_reuse(NULL, bytes) == -1 && errno == EINVAL);
    EXPECT(fallsfs_passion_to_global(NULL, file, ocad) == -EINVAL);
    EXPECT(fallsfs_passion_to_local(file, NULL, ocad) == -EINVAL);
    EXPECT(fallsfs_passion_to_local(file, file, NULL) == -EINVAL);
    EXPECT(PASSION_close(NULL) == -1 && errno == EINVAL);
    EXPECT(PASSION_close(file) == 0 && close(fd) == 0);
    PASSION_free_OCAD(ocad);
}

/* A name with a colon that says nothing makes no file beside the one that is meant. */
static void views_that_are_not_there(void)
{
    static const char *const names[] = { "matrix:mistyped", "matrix:-1", "matrix:", "matrix:99999999999" };

    close(matrix_file("matrix"));
    for (size_t i = 0; i < ARRAY_SIZE(names) && is_mounted(); i++) {
        char name[40];

        snprintf(name, sizeof name, "%s", names[i]);
        EXPECT(PASSION_open(name, 0) == NULL && errno == ENOENT);
        EXPECT(access(names[i], F_OK) < 0);
    }
}

static void a_new_file_lies_as_it_is_dealt_out(void)
{
    OCAD *ocad = rows_of(2);
    PFILE *part = open_as("matrix:1", 8);
    int *rows = calloc(ROWS / 2 * COLUMNS, sizeof(int));
    char text[300], layout[300];
    struct stat st;
    ssize_t n;

    rows[0] = 42;
    EXPECT(PASSION_write(part, ocad, (char *) rows) == 0);
    EXPECT(PASSION_write_header(part, text) == 0);
    EXPECT(PASSION_close(part) == 0);
    EXPECT(fallsfs_passion_layout(ocad, 8, text, sizeof text) == (int) strlen(text));
    EXPECT(fallsfs_passion_layout(ocad, 8, layout, strlen(text)) == -ERANGE);
    if (is_mounted()) {
        int fd = open("matrix", O_RDONLY | O_CLOEXEC), x = 0;

        n = getxattr("matrix", "user.falls.layout", layout, sizeof layout - 1);
        EXPECT(n > 0);
        layout[n] = 0;
        EXPECT(strstr(layout, "dist=(block,*)") != NULL && strstr(layout, "grid=2x1") != NULL);
        EXPECT(pread(fd, &x, sizeof x, 8 + ROWS / 2 * COLUMNS * (off_t) sizeof x) == sizeof x && x == 42);
        EXPECT(stat("matrix:1", &st) < 0);
    } else {
        EXPECT(stat("matrix", &st) < 0);
        EXPECT(stat("matrix:1", &st) == 0 && st.st_size == 8 + ROWS / 2 * COLUMNS * (off_t) sizeof(int));
    }
    free(rows);
    PASSION_free_OCAD(ocad);
}

static void a_name_can_be_a_view(void)
{
    const char *text = "array(shape=64x4096, elem=4, dist=(block,*), grid=4x1) element 2";
    int size[] = { ROWS / 4, COLUMNS }, row[COLUMNS], access[][3] = { { 3, 3, 1 }, { 0, COLUMNS - 1, 1 } };
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *view;

    if (!is_mounted())
        return;
    close(matrix_file("matrix"));
    EXPECT(setxattr("matrix", "user.falls.view.third", text, strlen(text), 0) == 0);
    EXPECT(PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, NULL, NULL, sizeof(int), ROW_MAJOR) == 0);
    view = open_as("matrix:third", 0);
    EXPECT(PASSION_read_section(view, ocad, (char *) row, NULL, access) == 0);
    EXPECT(row[7] == (ROWS / 4 * 2 + 3) * COLUMNS + 7);
    EXPECT(PASSION_close(view) == 0);
    close(open("matrix:2", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    view = open_as("matrix:2", 0); /* a file that is called so */
    EXPECT(PASSION_read_section(view, ocad, (char *) row, NULL, access) == -1 && errno == EINVAL);
    EXPECT(PASSION_close(view) == 0);
    PASSION_free_OCAD(ocad);
}

/* One file, dealt out in two ways at a time. */
static void a_part_is_whose_the_ocad_says(void)
{
    OCAD *halves = rows_of(2), *quarters = rows_of(4);
    int row[COLUMNS], access[][3] = { { 5, 5, 1 }, { 0, COLUMNS - 1, 1 } };
    PFILE *part;

    if (!is_mounted())
        return;
    close(matrix_file("matrix"));
    part = open_as("matrix:1", 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(PASSION_read_section(part, halves, (char *) row, NULL, access) == 0);
        EXPECT(row[0] == (ROWS / 2 + 5) * COLUMNS);
        EXPECT(PASSION_read_section(part, quarters, (char *) row, NULL, access) == 0);
        EXPECT(row[0] == (ROWS / 4 + 5) * COLUMNS);
    }
    EXPECT(PASSION_close(part) == 0);
    PASSION_free_OCAD(halves);
    PASSION_free_OCAD(quarters);
}

static void sizes_are_told(void)
{
    int size[] = { 7, 100 }, dist[][2] = { { PASSION_CYCLIC, 2 }, { PASSION_BLOCK, 0 } }, nprocs[] = { 3, 2 };
    int icla[][2] = { { 0, 0 }, { 10, 0 } }, overlap[][2] = { { 1, 2 }, { 3, 0 } };
    int64_t part[2] = { -1, -1 }, memory[2];
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *file = open_as("dealt:1", 0);

    EXPECT(fallsfs_passion_sizes(file, ocad, part, memory) == -EINVAL && part[0] == -1);
    EXPECT(PASSION_fill_OCAD(ocad, size, dist, nprocs, NULL, icla, overlap, sizeof(int), ROW_MAJOR) == 0);
    EXPECT(fallsfs_passion_sizes(file, ocad, part, memory) == 0);
    EXPECT(part[0] == 3 && part[1] == 50);
    EXPECT(fallsfs_passion_sizes(file, ocad, NULL, memory) == -EINVAL);
    EXPECT(fallsfs_passion_sizes(file, ocad, part, NULL) == -EINVAL);
    EXPECT(memory[0] == 3 + 3 && memory[1] == 10 + 3);
    EXPECT(PASSION_close(file) == 0);
    PASSION_free_OCAD(ocad);
}

static void indexes_have_64_bits(void)
{
    const int64_t size[] = { INT64_C(1) << 33, 3 }, far = (INT64_C(1) << 33) - 2;
    int64_t access[][3] = { { far - 2, far, 2 }, { 1, 2, 1 } };
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *file = PASSION_open_64((char[]){ "large" }, 5);
    char out[4] = "abcd", in[4] = "";
    PREFETCH *prefetch;
    struct stat st;

    EXPECT(PASSION_fill_OCAD_64(ocad, size, NULL, NULL, NULL, (int64_t[][2]){ { 2, 2 }, { 2, 2 } }, NULL, 1,
                                COLUMN_MAJOR) == 0);
    EXPECT(PASSION_write_section_64(file, ocad, out, NULL, access) == 0);
    EXPECT(stat("large", &st) == 0 && st.st_size == 5 + 2 * (INT64_C(1) << 33) + far + 1);
    EXPECT(PASSION_read_section_64(file, ocad, in, NULL, access) == 0 && memcmp(in, out, 4) == 0);
    memset(in, 0, sizeof in);
    EXPECT(PASSION_global_read_64(file, ocad, in, NULL, access, 1) == 0 && memcmp(in, out, 4) == 0);
    memset(in, 0, sizeof in);
    prefetch = PASSION_read_prefetch_64(file, ocad, in, NULL, access);
    EXPECT(prefetch != NULL);
    EXPECT(PASSION_close(file) == 0); /* what is under way is over then */
    EXPECT(memcmp(in, out, 4) == 0);
    EXPECT(PASSION_prefetch_wait(prefetch) == 0);
    PASSION_free_OCAD(ocad);
}

static void who_may_read_reads(void)
{
    OCAD *ocad = rows_of(1);
    int *all = malloc(ROWS * COLUMNS * sizeof(int));
    PFILE *file;

    EXPECT(all != NULL);
    close(matrix_file("matrix"));
    EXPECT(chmod("matrix", 0444) == 0);
    become(1000, 1000, 0);
    file = open_as("matrix", 0);
    EXPECT(PASSION_read(file, ocad, (char *) all) == 0 && all[77] == 77);
    EXPECT(PASSION_write(file, ocad, (char *) all) == -1 && errno == EBADF);
    EXPECT(PASSION_close(file) == 0);
    errno = 0;
    EXPECT(PASSION_open((char[]){ "no/file" }, 0) == NULL && errno == ENOENT);
    PASSION_free_OCAD(ocad);
    free(all);
}

static void local_files_may_be_larger(void)
{
    int size[] = { 10 }, distribution[][2] = { { PASSION_CYCLIC, 3 } }, nprocs[] = { 3 }, ocla[] = { 4 },
        small[] = { 3 };
    char part[3] = "xyz", back[4] = "...!";
    struct stat st;
    OCAD *ocad = PASSION_malloc_OCAD(1);
    uint8_t token[16] = { 0 };
    PFILE *file;

    EXPECT(fallsfs_passion_init(2, 3, token) == 0); /* it has 3 of the 10 */
    EXPECT(PASSION_fill_OCAD(ocad, size, distribution, nprocs, ocla, NULL, NULL, 1, ROW_MAJOR) == 0);
    file = open_as("local", 0);
    EXPECT(PASSION_write(file, ocad, part) == 0);
    EXPECT(stat("local", &st) == 0 && st.st_size == 3); /* what memory has behind the part does not go there */
    EXPECT(PASSION_read(file, ocad, back) == 0 && memcmp(back, "xyz!", 4) == 0);
    EXPECT(PASSION_close(file) == 0);
    EXPECT(fallsfs_passion_init(0, 3, token) == 0); /* it has 4 */
    EXPECT(PASSION_fill_OCAD(ocad, size, distribution, nprocs, small, NULL, NULL, 1, ROW_MAJOR) == 0);
    file = open_as("local", 0);
    EXPECT(PASSION_write(file, ocad, back) == -1 && errno == EINVAL);
    EXPECT(PASSION_close(file) == 0);
    PASSION_free_OCAD(ocad);
}

static void ocads_are_checked(void)
{
    int size[] = { 4, 4 }, wrong_size[] = { 4, 0 }, nprocs[] = { 2, 2 }, none[] = { 0, 1 };
    int two[][2] = { { PASSION_BLOCK, 0 }, { PASSION_NONE, 0 } }, kind[][2] = { { 7, 0 }, { PASSION_BLOCK, 0 } };
    int icla[][2] = { { 4, 5 }, { 4, 4 } }, overlap[][2] = { { 1, 1 }, { 0, 0 } },
        negative[][2] = { { 0, 0 }, { 0, -1 } };
    OCAD *ocad = PASSION_malloc_OCAD(2);
    PFILE *file = open_as("file", 0);
    char memory[16];

    EXPECT(PASSION_malloc_OCAD(0) == NULL && errno == EINVAL);
    EXPECT(PASSION_malloc_OCAD(17) == NULL && errno == EINVAL);
    EXPECT(PASSION_read(file, ocad, memory) == -1 && errno == EINVAL); /* it says nothing yet */
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, wrong_size, NULL, NULL, NULL, NULL, NULL, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, two, nprocs, NULL, NULL, NULL, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, two, none, NULL, NULL, NULL, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, kind, NULL, NULL, NULL, NULL, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, icla, overlap, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, NULL, negative, 1, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, NULL, NULL, 0, ROW_MAJOR));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD(ocad, size, NULL, NULL, NULL, NULL, NULL, 1, 2));
    EXPECT_ERROR(EINVAL, PASSION_fill_OCAD_64(
                             ocad, (int64_t[]){ 4, 4 }, NULL, NULL, NULL, (int64_t[][2]){ { 1, INT64_MAX }, { 1, 1 } },
                             (int64_t[][2]){ { INT64_MAX / 2, INT64_MAX / 2 }, { 0, 0 } }, 1, ROW_MAJOR));
    EXPECT(PASSION_close(file) == 0);
    PASSION_free_OCAD(ocad);
}

/* -- who processes are -- */

static int read_as_the_environment_says(void)
{
    OCAD *ocad = rows_of(2);
    int row[COLUMNS], access[][3] = { { 1, 1, 1 }, { 0, COLUMNS - 1, 1 } };
    PFILE *file = open_as("matrix", 0);
    bool failed = PASSION_global_read(file, ocad, (char *) row, NULL, access, 2) != 0 || row[3] != COLUMNS + 3;

    EXPECT(PASSION_global_read(file, ocad, (char *) row, NULL, access, 3) == -1 && errno == EINVAL);
    EXPECT(PASSION_close(file) == 0);
    PASSION_free_OCAD(ocad);
    return failed;
}

static void the_environment_says_who_one_is(void)
{
    pid_t pid;
    int status;

    close(matrix_file("matrix"));
    EXPECT(setenv("FALLSFS_SIZE", "2", 1) == 0);
    EXPECT(setenv("FALLSFS_TOKEN", "00112233445566778899aabbccddEEFF", 1) == 0);
    pid = fork();
    EXPECT(pid >= 0);
    EXPECT(setenv("FALLSFS_RANK", pid == 0 ? "0" : "1", 1) == 0);
    if (pid == 0)
        _exit(read_as_the_environment_says());
    EXPECT(read_as_the_environment_says() == 0);
    EXPECT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void what_the_environment_says_makes_sense(void)
{
    static const char *const wrong[][3] = { { "2", "2", "00112233445566778899aabbccddeeff" },
                                            { "0", "2", NULL },
                                            { "0", "2", "0011" },
                                            { "0", "2", "00112233445566778899aabbccddeefg" },
                                            { "x", "2", "00112233445566778899aabbccddeeff" },
                                            { "0", NULL, "00112233445566778899aabbccddeeff" } };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        static const char *const names[] = { "FALLSFS_RANK", "FALLSFS_SIZE", "FALLSFS_TOKEN" };

        for (int j = 0; j < 3; j++)
            EXPECT((wrong[i][j] != NULL ? setenv(names[j], wrong[i][j], 1) : unsetenv(names[j])) == 0);
        errno = 0;
        EXPECT(PASSION_open((char[]){ "file" }, 0) == NULL && errno == EINVAL);
    }
    EXPECT(fallsfs_passion_init(3, 3, (const uint8_t[16]){ 0 }) == -EINVAL);
    EXPECT(fallsfs_passion_init(0, 2, NULL) == -EINVAL);
    EXPECT(fallsfs_passion_init(0, 1, NULL) == 0);
    EXPECT(PASSION_close(open_as("file", 0)) == 0);
}

#define CHECK(name) \
    {               \
#name, name \
    }

static const struct check checks[] = { CHECK(slabs_are_read_ahead),
                                       CHECK(walks_want_the_right_descriptor),
                                       CHECK(direct_files_have_sections),
                                       CHECK(appending_files_have_sections),
                                       CHECK(children_have_no_requests),
                                       CHECK(what_is_missing_is_told),
                                       CHECK(views_that_are_not_there),
                                       CHECK(errors_of_writing_are_told),
                                       CHECK(an_error_at_the_end_is_told),
                                       CHECK(errors_of_reading_are_told),
                                       CHECK(slabs_in_hand_are_not_written),
                                       CHECK(what_makes_no_sense_is_refused),
                                       CHECK(one_that_is_killed_leaves_old_or_new),
                                       CHECK(ranks_learn_of_one_that_is_killed),
                                       CHECK(a_new_file_lies_as_it_is_dealt_out),
                                       CHECK(a_name_can_be_a_view),
                                       CHECK(a_part_is_whose_the_ocad_says),
                                       CHECK(sizes_are_told),
                                       CHECK(indexes_have_64_bits),
                                       CHECK(who_may_read_reads),
                                       CHECK(local_files_may_be_larger),
                                       CHECK(ocads_are_checked),
                                       CHECK(the_environment_says_who_one_is),
                                       CHECK(what_the_environment_says_makes_sense),
                                       { NULL, NULL } };

const struct check *const all_checks[] = { checks, NULL };
