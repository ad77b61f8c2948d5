/* SPDX-License-Identifier: MIT */
/* Sections, FALLS and lists of what a view is, in its bytes: by descriptor and by name, alone and in groups. The oracle
 * says which byte of the file each byte of the view is. */
#include "test/sections/ranks.h"
#include "test/support/oracle.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ROOM 20000 /* bytes of the file that are looked at, and more that may be written */

/* A view: element of a random pattern. */
struct seen {
    struct oracle oracle;
    uint32_t element;
    uint32_t *at; /* in the file, of each byte of the view */
    uint64_t n;   /* so many, as far as ROOM goes */
    char text[FALLSFS_MAX_TEXT];
};

static bool choose_view(struct seen *seen, struct rng *rng)
{
    struct oracle *oracle = &seen->oracle;

    oracle_random(oracle, rng);
    seen->element = (uint32_t) rng_below(rng, oracle->n_elements);
    if (oracle->bytes[seen->element] == 0 || (size_t) snprintf(seen->text, sizeof seen->text, "%s element %u",
                                                               oracle->text, seen->element) >= sizeof seen->text)
        return false;
    seen->n = 0;
    for (uint32_t off = 0; off < ROOM; off++)
        if (oracle_map(oracle, off).element == seen->element)
            seen->at[seen->n++] = off;
    return seen->n > 20;
}

/* -- what is asked for: bytes of the view, as the file shows them -- */

struct want {
    int form; /* section, FALLS, list */
    struct fallsfs_array array;
    struct fallsfs_range range[3];
    uint64_t disp;
    char falls[200];
    struct fallsfs_ioc_piece piece[200];
    struct fallsfs_list list;
    uint32_t n, at[ROOM]; /* of the view */
};

static void want_section(struct want *want, struct rng *rng, uint64_t room)
{
    struct fallsfs_array *array = &want->array;
    uint64_t left;

    *array = (struct fallsfs_array){ .ndims = (uint32_t) rng_between(rng, 1, 3),
                                     .order = rng_chance(rng, 50) ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR,
                                     .elem = rng_between(rng, 1, 8),
                                     .header = rng_below(rng, 5) };
    left = MAX(1, (room - MIN(array->header, room - 1)) / array->elem);
    if (array->header + array->elem > room)
        *array = (struct fallsfs_array){ .ndims = 1, .elem = 1 };
    for (uint32_t i = 0; i < array->ndims; i++) {
        array->size[i] = rng_between(rng, 1, i + 1 == array->ndims ? left : MIN(left, 30));
        left = MAX(1, left / array->size[i]);
        want->range[i].lower = rng_below(rng, array->size[i]);
        want->range[i].upper = rng_between(rng, want->range[i].lower, array->size[i] - 1);
        want->range[i].stride = rng_between(rng, 1, 4);
    }
    want->n = list_bytes(array, want->range, want->at);
}

static void want_falls(struct want *want, struct rng *rng, uint64_t room)
{
    uint64_t len = rng_between(rng, 1, MIN(room, 9)), stride = len + rng_below(rng, 50);
    uint64_t n = rng_between(rng, 1, (room - len) / stride + 1);

    want->disp = rng_below(rng, room - ((n - 1) * stride + len) + 1);
    snprintf(want->falls, sizeof want->falls, "{(0,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")}", len - 1, stride, n);
    want->n = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < len; k++)
            want->at[want->n++] = (uint32_t) (want->disp + i * stride + k);
}

static void want_list(struct want *want, struct rng *rng, uint64_t room)
{
    uint64_t end = 0, n = 0;

    want->n = 0;
    while (n < ARRAY_SIZE(want->piece)) {
        uint64_t off = end + rng_below(rng, 40), len = rng_between(rng, 1, 12);

        if (off + len > room)
            break;
        want->piece[n++] = (struct fallsfs_ioc_piece){ off, len };
        for (uint64_t k = 0; k < len; k++)
            want->at[want->n++] = (uint32_t) (off + k);
        end = off + len;
    }
    want->list = (struct fallsfs_list){ .pieces = want->piece, .n = n, .bytes = want->n };
}

static void choose(struct want *want, struct rng *rng, uint64_t room)
{
    want->form = (int) rng_below(rng, 3);
    if (want->form == 0)
        want_section(want, rng, room);
    else if (want->form == 1)
        want_falls(want, rng, room);
    else
        want_list(want, rng, room);
}

static int ask(const struct want *want, int fd, bool write, uint8_t *buf)
{
    if (want->form == 0)
        return write ? fallsfs_write_section(fd, &want->array, want->range, buf)
                     : fallsfs_read_section(fd, &want->array, want->range, buf);
    if (want->form == 1)
        return write ? fallsfs_write_falls(fd, want->disp, want->falls, buf)
                     : fallsfs_read_falls(fd, want->disp, want->falls, buf);
    return write ? fallsfs_write_list(fd, &want->list, buf) : fallsfs_read_list(fd, &want->list, buf);
}

static int ask_together(const struct want *want, struct fallsfs_group *group, bool write, uint8_t *buf)
{
    if (want->form == 0)
        return write ? fallsfs_write_all(group, &want->array, want->range, buf)
                     : fallsfs_read_all(group, &want->array, want->range, buf);
    if (want->form == 1)
        return write ? fallsfs_write_falls_all(group, want->disp, want->falls, buf)
                     : fallsfs_read_falls_all(group, want->disp, want->falls, buf);
    return write ? fallsfs_write_list_all(group, &want->list, buf) : fallsfs_read_list_all(group, &want->list, buf);
}

static void expect_ok(int r)
{
    if (r == 0)
        return;
    errno = -r;
    missed(__FILE__, __LINE__, fallsfs_strerror_last());
}

static void expect_file(int fd, const uint8_t *model, uint64_t size)
{
    static uint8_t found[ROOM + 1];

    EXPECT(pread(fd, found, sizeof found, 0) == (ssize_t) size && memcmp(found, model, size) == 0);
}

static uint64_t len_of_view(const struct seen *seen, uint64_t size)
{
    uint64_t n = 0;

    while (n < seen->n && seen->at[n] < size)
        n++;
    return n;
}

/* The view by the name below .falls/views that it gets for this; a check's directory lies in the mount's root. */
static int open_by_name(int file, const char *check, const char *text)
{
    char path[200];

    EXPECT(fsetxattr(file, "user.falls.view.seen", text, strlen(text), 0) == 0);
    snprintf(path, sizeof path, "../.falls/views/%s/shared/seen", check);
    return open(path, O_RDWR);
}

/* -- alone -- */

static void of_views(void)
{
    static struct seen seen;
    static struct want want;
    static uint8_t model[ROOM], buf[ROOM];
    int file = open_shared(O_RDWR);

    seen.at = malloc(ROOM * sizeof *seen.at);
    for (struct rng rng = rng_from_env(150); rng_next(&rng);) {
        uint64_t size = rng_below(&rng, ROOM / 2), end = size;
        int fd;

        if (!choose_view(&seen, &rng))
            continue;
        memset(model, 0, sizeof model);
        for (uint64_t i = 0; i < size; i++)
            model[i] = (uint8_t) rng_u64(&rng);
        EXPECT(ftruncate(file, 0) == 0 && pwrite(file, model, size, 0) == (ssize_t) size);
        if (strlen(seen.text) < 1000 && rng_chance(&rng, 20)) {
            fd = open_by_name(file, "of_views", seen.text);
        } else {
            fd = open_shared(O_RDWR);
            expect_ok(fallsfs_view(fd, seen.text));
        }
        EXPECT(fd >= 0);
        for (int i = 0; i < 4; i++) {
            choose(&want, &rng, MIN(seen.n, i == 0 ? 50 : ROOM / 4));
            expect_ok(ask(&want, fd, false, buf));
            EXPECT(fallsfs_size_last() == len_of_view(&seen, end));
            for (uint32_t k = 0; k < want.n; k++)
                EXPECT(buf[k] == model[seen.at[want.at[k]]]);
            for (uint32_t k = 0; k < want.n; k++)
                model[seen.at[want.at[k]]] = buf[k] = (uint8_t) rng_u64(&rng);
            expect_ok(ask(&want, fd, true, buf));
            end = MAX(end, (uint64_t) seen.at[want.at[want.n - 1]] + 1);
            EXPECT(fallsfs_size_last() == len_of_view(&seen, end));
            expect_file(file, model, end);
        }
        EXPECT(close(fd) == 0);
    }
    free(seen.at);
}

/* What the descriptor may do is what counts, and what it is: the file's own bytes are nobody's business here. */
static void within_its_rights(void)
{
    struct fallsfs_ioc_stats stats = { .version = FALLSFS_IOCTL_VERSION };
    struct fallsfs_ioc_info info, of_file;
    struct stat st;
    uint8_t bytes[10] = "untouched";
    int file = open_shared(O_RDWR), fd = open_shared(O_RDONLY);

    EXPECT(pwrite(file, "aabbccaabbcc", 12, 0) == 12);
    EXPECT(fallsfs_view(fd, "stripe(2,3) element 1") == 0);
    EXPECT(fallsfs_write_falls(fd, 0, "{(0,1,2,1)}", bytes) == -EBADF);
    EXPECT(fallsfs_read_falls(fd, 0, "{(0,0,2,4)}", bytes) == 0 && memcmp(bytes, "bb\0\0", 4) == 0);
    EXPECT(fallsfs_size_last() == 4);
    EXPECT(ioctl(fd, FALLSFS_IOC_STATS, &stats) == 0 && stats.calls == 1); /* the daemon's work */
    EXPECT(fallsfs_info(fd, &info) == 0 && fallsfs_info(file, &of_file) == 0 && fstat(fd, &st) == 0);
    EXPECT(info.inode == st.st_ino && of_file.inode != info.inode && info.life == of_file.life);
    EXPECT((info.supports & FALLSFS_SUPPORTS_VIEWS) != 0 && (of_file.supports & FALLSFS_SUPPORTS_HINTS) != 0);
    EXPECT(close(fd) == 0);
    /* Behind the last byte that a view can have. */
    fd = open_shared(O_RDWR);
    EXPECT(fallsfs_view(fd, "stripe(2,3) element 1") == 0);
    EXPECT(fallsfs_write_falls(fd, UINT64_C(1) << 61, "{(0,0,1,1)}", bytes) == -EOVERFLOW);
    EXPECT(strstr(fallsfs_strerror_last(), "does not fit into a file") != NULL);
    EXPECT(fstat(file, &st) == 0 && st.st_size == 12);
    EXPECT(fallsfs_write_falls(fd, 9, "{(0,0,1,1)}", bytes) == 0 && fstat(file, &st) == 0 && st.st_size == 28);
    EXPECT(close(fd) == 0 && close(file) == 0);
}

/* -- in a group: each through a view of its own, or as it is -- */

#define RANKS 4

struct plan {
    struct seen seen[RANKS];
    struct want writes[RANKS], reads[RANKS];
    bool is_view[RANKS];
    uint64_t size; /* after all is written */
    uint8_t model[ROOM];
};

static uint32_t at_file(const struct plan *plan, uint32_t rank, uint32_t byte)
{
    return plan->is_view[rank] ? plan->seen[rank].at[byte] : byte;
}

static uint8_t value(uint64_t seed, uint32_t rank, uint32_t k)
{
    return (uint8_t) (seed * 7 + rank * 101 + k * 31 + (k >> 8));
}

static void take_part(struct stage *stage, const struct plan *plan, uint32_t rank, uint64_t seed)
{
    const struct want *writes = &plan->writes[rank], *reads = &plan->reads[rank];
    uint8_t *buf = rank % 2 == 0 ? fallsfs_alloc(ROOM) : malloc(ROOM);
    struct fallsfs_group *group;
    int fd = open_shared(O_RDWR);

    EXPECT(buf != NULL);
    if (plan->is_view[rank])
        expect_ok(fallsfs_view(fd, plan->seen[rank].text));
    expect_ok(fallsfs_join(fd, stage->token, rank, RANKS, &stage->hints, &group));
    for (uint32_t k = 0; k < writes->n; k++)
        buf[k] = value(seed, rank, k);
    expect_ok(ask_together(writes, group, true, buf));
    EXPECT(fallsfs_size_last() == (plan->is_view[rank] ? len_of_view(&plan->seen[rank], plan->size) : plan->size));
    for (int i = 0; i < 2; i++) {
        memset(buf, 0xEE, ROOM);
        expect_ok(ask_together(reads, group, false, buf));
        for (uint32_t k = 0; k < reads->n; k++)
            EXPECT(buf[k] == plan->model[at_file(plan, rank, reads->at[k])]);
    }
    EXPECT(fallsfs_leave(group) == 0);
}

static void in_groups_of_views(void)
{
    struct plan *plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int file = open_shared(O_RDWR);

    EXPECT(plan != MAP_FAILED);
    for (uint32_t i = 0; i < RANKS; i++)
        plan->seen[i].at = malloc(ROOM * sizeof(uint32_t));
    for (struct rng rng = rng_from_env(25); rng_next(&rng);) {
        struct stage *stage = stage_new(RANKS, 0);
        pid_t pid[RANKS];

        memset(plan->model, 0, sizeof plan->model);
        plan->size = 0;
        EXPECT(ftruncate(file, 0) == 0);
        for (uint32_t i = 0; i < RANKS; i++) {
            plan->is_view[i] = rng_chance(&rng, 70) && choose_view(&plan->seen[i], &rng);
            choose(&plan->writes[i], &rng, plan->is_view[i] ? MIN(plan->seen[i].n, 3000) : 3000);
            choose(&plan->reads[i], &rng, plan->is_view[i] ? plan->seen[i].n : 3000);
            for (uint32_t k = 0; k < plan->writes[i].n; k++) { /* the highest rank wins */
                uint32_t at = at_file(plan, i, plan->writes[i].at[k]);

                plan->model[at] = value(rng.seed, i, k);
                plan->size = MAX(plan->size, at + UINT64_C(1));
            }
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            pid[i] = fork();
            EXPECT(pid[i] >= 0);
            if (pid[i] == 0) {
                take_part(stage, plan, i, rng.seed);
                _exit(0);
            }
        }
        for (uint32_t i = 0; i < RANKS; i++)
            until_ended(pid[i]);
        expect_file(file, plan->model, plan->size);
        EXPECT(munmap(stage, sizeof *stage) == 0);
    }
}

/* -- elements of layouts -- */

static void take_element(struct stage *stage, const struct oracle *oracle, uint32_t rank, bool write)
{
    struct fallsfs_group *group = join_as(stage, rank);
    uint64_t n = fallsfs_element_bytes(oracle->text, rank);
    uint8_t *buf = malloc(n + 1);

    EXPECT(buf != NULL && n == oracle->bytes[rank]);
    for (uint32_t k = 0; k < n; k++)
        buf[k] = value(stage->n, rank, k);
    if (write) {
        expect_ok(fallsfs_write_element_all(group, oracle->text, rank, buf));
    } else {
        memset(buf, 0xEE, n);
        expect_ok(fallsfs_read_element_all(group, oracle->text, rank, buf));
        for (uint32_t k = 0; k < n; k++)
            EXPECT(buf[k] == value(stage->n, rank, k));
    }
    EXPECT(fallsfs_leave(group) == 0);
}

static void run_elements(const struct oracle *oracle, bool write)
{
    struct stage *stage = stage_new(oracle->n_elements, 0);
    pid_t pid[ORACLE_MAX_ELEMENTS];

    for (uint32_t i = 0; i < oracle->n_elements; i++) {
        pid[i] = fork();
        EXPECT(pid[i] >= 0);
        if (pid[i] == 0) {
            take_element(stage, oracle, i, write);
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < oracle->n_elements; i++)
        until_ended(pid[i]);
    EXPECT(munmap(stage, sizeof *stage) == 0);
}

static void elements_of_layouts(void)
{
    static struct oracle oracle;
    static uint8_t found[ROOM];
    int file = open_shared(O_RDWR);

    for (struct rng rng = rng_from_env(15); rng_next(&rng);) {
        oracle_random(&oracle, &rng);
        EXPECT(ftruncate(file, 0) == 0);
        run_elements(&oracle, true);
        EXPECT(pread(file, found, sizeof found, 0) == (ssize_t) MIN(oracle.disp + oracle.size, sizeof found));
        for (uint32_t k = 0; k < oracle.size && oracle.disp + k < sizeof found; k++)
            EXPECT(found[oracle.disp + k] == value(oracle.n_elements, oracle.owner[k], oracle.rank[k]));
        run_elements(&oracle, false);
    }
}

static void wrong_elements(void)
{
    struct stage *stage = stage_new(1, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    uint8_t byte;

    EXPECT(fallsfs_element_bytes("array(shape=10x10, elem=8, dist=(cyclic(3),block), grid=2x2)", 1) == 240);
    EXPECT(fallsfs_element_bytes("stripe(64K)", 0) == 0 && fallsfs_element_bytes("stripe(64K,2)", 2) == 0);
    EXPECT(fallsfs_read_element_all(group, "stripe(64K)", 0, &byte) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "how many elements") != NULL);
    EXPECT(fallsfs_read_element_all(group, "stripe(0)", 0, &byte) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "column 8") != NULL);
    EXPECT(fallsfs_read_element_all(group, "stripe(1,2)", 2, &byte) == -ENOENT);
    EXPECT(strstr(fallsfs_strerror_last(), "2 elements") != NULL);
    EXPECT(fallsfs_read_element_all(group, "stripe(1,2)", 1, &byte) == 0 && byte == 0);
}

/* -- hints for requests alone -- */

static uint64_t requests_of(int fd, const struct fallsfs_hints *hints)
{
    struct fallsfs_ioc_stats stats = { .version = FALLSFS_IOCTL_VERSION };
    static uint8_t bytes[5000];

    EXPECT(fallsfs_hint(fd, hints) == 0);
    EXPECT(fallsfs_write_falls(fd, 0, "{(0,7,40000,5)}", bytes) == 0);
    EXPECT(ioctl(fd, FALLSFS_IOC_STATS, &stats) == 0);
    return stats.windows;
}

static void hints_alone(void)
{
    const struct fallsfs_hints small = { .window = 4096 }, off = { .sieve = FALLSFS_SIEVE_OFF };
    const struct fallsfs_hints wrong[] = { { .sieve = 9 }, { .window = UINT64_MAX }, { .domains = 9 } };
    int fd = open_shared(O_RDWR), other = open_shared(O_RDWR);
    uint64_t usual = requests_of(fd, NULL);

    EXPECT(requests_of(fd, &small) > usual);
    EXPECT(requests_of(other, NULL) == usual);
    EXPECT(requests_of(fd, &off) == usual && requests_of(fd, NULL) == usual);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        EXPECT(fallsfs_hint(fd, &wrong[i]) == -EINVAL && strstr(fallsfs_strerror_last(), "hint") != NULL);
    EXPECT(fallsfs_hint(-1, NULL) == -EBADF);
    EXPECT(fallsfs_hint(open("/dev/null", O_RDWR), &small) == 0);
}

const struct check checks_through_views[] = {
    { "of_views", of_views },
    { "within_its_rights", within_its_rights },
    { "in_groups_of_views", in_groups_of_views },
    { "elements_of_layouts", elements_of_layouts },
    { "wrong_elements", wrong_elements },
    { "hints_alone", hints_alone },
    { NULL, NULL },
};
