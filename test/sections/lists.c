/* SPDX-License-Identifier: MIT */
/* Lists of pieces and tiles through the mount: alone and in groups, of any form, with the size that a round saw; lists
 * that are changed while they are asked for; groups without a deadline. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEALS      (F_SEAL_SHRINK | F_SEAL_GROW)
#define MAX_PIECES 300
#define ROOM       (1u << 18) /* bytes of the file that are looked at */

/* A random view of the file, said as pieces and as FALLS alike, and where its bytes are. */
struct view {
    struct fallsfs_ioc_piece piece[MAX_PIECES];
    char falls[FALLSFS_MAX_TEXT];
    struct fallsfs_list list; /* which of the two: at random */
    uint32_t at[ROOM];
};

static void say_in_falls(struct view *view, uint64_t n)
{
    size_t at = 1;

    strcpy(view->falls, "{");
    for (uint64_t i = 0; i < n; i++)
        at += (size_t) snprintf(view->falls + at, sizeof view->falls - at, "%s(%llu,%llu,%llu,1)", i > 0 ? "," : "",
                                view->piece[i].off, view->piece[i].off + view->piece[i].len - 1, view->piece[i].len);
    EXPECT(at + 1 < sizeof view->falls);
    strcpy(view->falls + at, "}");
}

static void look_at_every_byte(struct view *view, uint64_t n)
{
    const struct fallsfs_list *list = &view->list;
    uint64_t k = 0, end = list->skip + list->bytes;

    for (uint64_t tile = 0; k < end; tile++)
        for (uint64_t i = 0; i < n; i++)
            for (uint64_t b = 0; b < view->piece[i].len && k < end; b++, k++)
                if (k >= list->skip)
                    view->at[k - list->skip] = (uint32_t) (list->disp + tile * list->extent + view->piece[i].off + b);
}

static void random_view(struct view *view, struct rng *rng)
{
    bool is_short = rng_chance(rng, 50);
    uint64_t n = rng_between(rng, 1, is_short ? 20 : MAX_PIECES), end = rng_below(rng, 50), size = 0, tiles;

    memset(view, 0, sizeof *view);
    for (uint64_t i = 0; i < n; i++) {
        view->piece[i].off = end + rng_below(rng, rng_chance(rng, 5) ? 3000 : 20);
        view->piece[i].len = rng_between(rng, 1, rng_chance(rng, 5) ? 3000 : 20);
        end = view->piece[i].off + view->piece[i].len;
        size += view->piece[i].len;
        if (end > ROOM / 4)
            n = i + 1;
    }
    view->list = (struct fallsfs_list){ .disp = rng_below(rng, 5000), .pieces = view->piece, .n = n };
    view->list.extent = rng_chance(rng, 70) ? end - view->piece[0].off + rng_below(rng, 50) : 0;
    tiles = view->list.extent == 0 ? 1 : rng_between(rng, 1, MIN(ROOM / 2 / view->list.extent, 20) + 1);
    view->list.skip = rng_chance(rng, 30) ? 0 : rng_below(rng, tiles * size);
    view->list.bytes = rng_between(rng, 1, tiles * size - view->list.skip);
    look_at_every_byte(view, n);
    if (is_short && rng_chance(rng, 50)) {
        say_in_falls(view, n);
        view->list.falls = view->falls;
    }
}

static uint8_t *memory_for(struct rng *rng, uint64_t len, bool *ret_shown)
{
    uint8_t *memory;

    *ret_shown = rng_chance(rng, 50);
    memory = *ret_shown ? fallsfs_alloc(len) : malloc(len);
    EXPECT(memory != NULL);
    return memory;
}

static void free_memory(uint8_t *memory, bool shown)
{
    if (shown)
        fallsfs_free(memory);
    else
        free(memory);
}

static uint64_t size_of(int fd)
{
    struct stat st;

    EXPECT(fstat(fd, &st) == 0);
    return (uint64_t) st.st_size;
}

static void expect_ok(int r)
{
    if (r == 0)
        return;
    errno = -r;
    missed(__FILE__, __LINE__, fallsfs_strerror_last());
}

/* -- alone -- */

/* Against a model of the file: what is written is there and nothing else is; what is read is what is there. */
static void alone(void)
{
    static uint8_t model[2 * ROOM], found[2 * ROOM];
    static struct view view;

    for (struct rng rng = rng_from_env(150); rng_next(&rng);) {
        uint64_t size = rng_below(&rng, ROOM), end;
        int fd = open_shared(O_RDWR);
        bool shown, pieces_shown = false;
        uint8_t *buf, *pieces = NULL;

        random_view(&view, &rng);
        if (view.list.falls == NULL) { /* its own memory, of either kind */
            pieces = memory_for(&rng, view.list.n * sizeof view.piece[0], &pieces_shown);
            memcpy(pieces, view.piece, view.list.n * sizeof view.piece[0]);
            view.list.pieces = (const struct fallsfs_ioc_piece *) (const void *) pieces;
            view.list.id = rng_chance(&rng, 50) ? rng_u64(&rng) : 0;
        }
        buf = memory_for(&rng, view.list.bytes, &shown);
        memset(model, 0, sizeof model);
        for (uint64_t i = 0; i < size; i++)
            model[i] = (uint8_t) rng_u64(&rng);
        EXPECT(ftruncate(fd, 0) == 0 && pwrite(fd, model, size, 0) == (ssize_t) size);

        expect_ok(fallsfs_read_list(fd, &view.list, buf));
        EXPECT(fallsfs_size_last() == size);
        for (uint64_t k = 0; k < view.list.bytes; k++)
            EXPECT(buf[k] == model[view.at[k]]);
        for (uint64_t k = 0; k < view.list.bytes; k++)
            model[view.at[k]] = buf[k] = (uint8_t) rng_u64(&rng);
        end = MAX(size, (uint64_t) view.at[view.list.bytes - 1] + 1);
        expect_ok(fallsfs_write_list(fd, &view.list, buf));
        EXPECT(fallsfs_size_last() == end && size_of(fd) == end);
        EXPECT(pread(fd, found, sizeof found, 0) == (ssize_t) end && memcmp(found, model, end) == 0);
        free_memory(buf, shown);
        if (view.list.falls == NULL)
            free_memory(pieces, pieces_shown);
        close(fd);
    }
}

/* -- in a group -- */

static uint8_t value(uint64_t at, uint64_t round)
{
    return (uint8_t) (at * 31 + round * 101 + (at >> 8));
}

/* Each byte of [0, ROOM) is one rank's, in pieces of 1 to 16 bytes; the ranks draw the same lots. */
static uint64_t deal(struct rng rng, uint32_t rank, uint32_t nranks, bool has_holes, struct fallsfs_ioc_piece piece[])
{
    uint64_t n = 0, at = 0;

    while (at < ROOM) {
        uint64_t whose = rng_below(&rng, nranks), len = MIN(rng_between(&rng, 1, 16), ROOM - at);

        if (whose == rank)
            piece[n++] = (struct fallsfs_ioc_piece){ at, len };
        at += len + (has_holes ? rng_below(&rng, 5) : 0);
    }
    return n;
}

static void fill(uint8_t *buf, const struct fallsfs_ioc_piece piece[], uint64_t n, uint64_t round)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t b = 0; b < piece[i].len; b++)
            *buf++ = value(piece[i].off + b, round);
}

static int ask(struct fallsfs_group *group, const struct fallsfs_list *list, bool write, bool later, void *buf)
{
    struct fallsfs_ticket *ticket;
    int r;

    if (!later)
        return write ? fallsfs_write_list_all(group, list, buf) : fallsfs_read_list_all(group, list, buf);
    r = write ? fallsfs_iwrite_list_all(group, list, buf, &ticket) : fallsfs_iread_list_all(group, list, buf, &ticket);
    return r < 0 ? r : fallsfs_wait(ticket);
}

static int take_part(struct stage *stage, uint32_t rank, const struct rng *rng, bool has_holes)
{
    struct fallsfs_ioc_piece *piece = fallsfs_alloc((ROOM + 1) * sizeof *piece);
    uint8_t *buf = fallsfs_alloc(ROOM), *want = malloc(ROOM);
    struct rng own = rng_from_seed(rng->seed + 1000 * (rank + 1)), common = rng_from_seed(rng->seed);
    struct fallsfs_group *group = join_as(stage, rank);
    const struct fallsfs_list nothing = { .n = 0 };
    int r = 0;

    EXPECT(piece != NULL && buf != NULL && want != NULL);
    for (uint64_t round = 0; round < 8 && r == 0; round++) {
        bool write = round % 2 == 0, later = rng_chance(&common, 20);
        /* a list comes four times */
        uint64_t n = deal(rng_from_seed(rng->seed + round / 4), rank, stage->n, has_holes, piece);
        struct fallsfs_list list = { .pieces = piece, .n = n, .id = rng_chance(&own, 50) ? round / 4 + 1 : 0 };
        for (uint64_t i = 0; i < n; i++)
            list.bytes += piece[i].len;
        fill(want, piece, n, round - round % 2);
        if (write)
            memcpy(buf, want, list.bytes);
        else
            memset(buf, 0, ROOM);
        r = ask(group, &list, write, later, buf);
        if (r == 0 && memcmp(buf, want, list.bytes) != 0)
            r = -EBADMSG;
        if (r == 0 && fallsfs_size_last() != size_of(open_shared(O_RDONLY)))
            r = -ERANGE;
        /* Ranks that the daemon cannot reach read after their round, and write before the next one. */
        if (r == 0)
            r = fallsfs_read_list_all(group, &nothing, NULL);
    }
    (void) fallsfs_leave(group);
    return r;
}

static void in_a_group(void)
{
    for (struct rng rng = rng_from_env(6); rng_next(&rng);) {
        struct stage *stage = stage_new((uint32_t) rng_between(&rng, 2, 9), 0);
        bool has_holes = rng_chance(&rng, 50);
        pid_t pid[MAX_RANKS];

        for (uint32_t i = 0; i < stage->n; i++) {
            pid[i] = fork();
            EXPECT(pid[i] >= 0);
            if (pid[i] == 0) {
                tell(stage, i, take_part(stage, i, &rng, has_holes));
                _exit(0);
            }
        }
        for (uint32_t i = 0; i < stage->n; i++) {
            until_ended(pid[i]);
            if (atomic_load(&stage->told[i].result) != 0) {
                errno = -atomic_load(&stage->told[i].result);
                missed(__FILE__, __LINE__, stage->told[i].words);
            }
        }
        EXPECT(unlink("shared") == 0);
    }
}

/* A list, a section, a set of FALLS and nothing, in one round; behind the end of the file all are told where it is. */
static int ask_in_some_form(struct fallsfs_group *group, uint32_t rank, uint8_t *buf)
{
    const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, 0, { 4096 } };
    const struct fallsfs_range section[] = { { 1, 4095, 4 } };
    const struct fallsfs_ioc_piece piece = { 0, 1 };
    const struct fallsfs_list list = { .pieces = &piece, .n = 1, .extent = 4, .bytes = 1024 };
    const struct fallsfs_list nothing = { .n = 0 };

    switch (rank) {
    case 0:
        return fallsfs_read_list_all(group, &list, buf);
    case 1:
        return fallsfs_read_all(group, &array, section, buf);
    case 2:
        return fallsfs_read_falls_all(group, 2, "{(0,0,4,1024)}", buf);
    default:
        return fallsfs_read_list_all(group, &nothing, NULL);
    }
}

static void forms_together(void)
{
    const uint64_t size = 2001;
    struct stage *stage = stage_new(4, 0);
    int fd = open_shared(O_RDWR);
    pid_t pid[4];

    for (uint64_t i = 0; i < size; i++)
        EXPECT(pwrite(fd, &(uint8_t){ value(i, 7) }, 1, (off_t) i) == 1);
    for (uint32_t rank = 0; rank < 4; rank++) {
        pid[rank] = fork();
        EXPECT(pid[rank] >= 0);
        if (pid[rank] == 0) {
            struct fallsfs_group *group = join_as(stage, rank);
            uint8_t *buf = calloc(1, 1024);

            for (int round = 0; round < 5; round++) {
                expect_ok(ask_in_some_form(group, rank, buf));
                EXPECT(fallsfs_size_last() == size);
                for (uint64_t k = 0; rank < 3 && k < 1024; k++)
                    EXPECT(buf[k] == (4 * k + rank < size ? value(4 * k + rank, 7) : 0));
            }
            _exit(0);
        }
    }
    for (uint32_t rank = 0; rank < 4; rank++)
        until_ended(pid[rank]);
}

/* -- lists that are none, or change -- */

struct shared {
    uint8_t *bytes;
    uint32_t buffer;
};

static struct shared show(int fd, uint64_t len)
{
    struct fallsfs_ioc_buffer buffer = { .version = FALLSFS_IOCTL_VERSION, .len = len };
    struct shared shared;

    buffer.fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    EXPECT(buffer.fd >= 0 && ftruncate(buffer.fd, (off_t) len) == 0 && fcntl(buffer.fd, F_ADD_SEALS, SEALS) == 0);
    shared.bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.fd, 0);
    EXPECT(shared.bytes != MAP_FAILED && ioctl(fd, FALLSFS_IOC_BUFFER, &buffer) == 0);
    shared.buffer = buffer.buffer;
    return shared;
}

struct changing {
    struct fallsfs_ioc_piece *piece;
    uint64_t n;
    atomic_bool stop;
};

static void *keep_changing(void *arg)
{
    struct changing *changing = arg;
    struct rng rng = rng_from_seed(77);

    while (!atomic_load(&changing->stop)) {
        struct fallsfs_ioc_piece *piece = &changing->piece[rng_below(&rng, changing->n)];
        uint64_t off = piece->off;

        piece->off = rng_chance(&rng, 50) ? rng_u64(&rng) : off + 1;
        piece->len = rng_chance(&rng, 50) ? rng_u64(&rng) : 0;
        piece->off = off;
        piece->len = 4;
    }
    return NULL;
}

/* What is read lies in the memory that is meant, whatever the list says from one moment to the next. */
static void changed_meanwhile(void)
{
    const uint64_t n = 20000, len = 1 << 20, before = 4096, bytes = n * 4;
    int fd = open_shared(O_RDWR);
    struct shared lists = show(fd, len), data = show(fd, len);
    struct changing changing = { .piece = (struct fallsfs_ioc_piece *) (void *) lists.bytes, .n = n };
    struct fallsfs_ioc_list list = {
        .request = { .version = FALLSFS_IOCTL_VERSION, .buffer = data.buffer, .buf_off = before },
        .n = n,
        .list_buffer = lists.buffer,
        .bytes = bytes
    };
    uint32_t n_refused = 0;
    pthread_t thread;

    memset(data.bytes, 'x', len);
    for (uint64_t i = 0; i < n; i++)
        changing.piece[i] = (struct fallsfs_ioc_piece){ i * 9, 4 };
    EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0);
    EXPECT(pthread_create(&thread, NULL, keep_changing, &changing) == 0);
    for (uint64_t until = now_ms() + 2000; now_ms() < until;) {
        int r = ioctl(fd, FALLSFS_IOC_LIST, &list);

        EXPECT(r == 0 || errno == EINVAL || errno == EOVERFLOW);
        n_refused += r < 0;
        for (uint64_t i = 0; i < 4096; i++)
            EXPECT(data.bytes[i] == 'x' && data.bytes[before + bytes + i] == 'x');
    }
    atomic_store(&changing.stop, true);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(n_refused > 0 && ioctl(fd, FALLSFS_IOC_LIST, &list) == 0);
}

/* A list that nobody has written yet is one of empty pieces; one whose pages are given back meanwhile is that, too. */
static void of_holes(void)
{
    const uint64_t n = 20000, len = 1 << 20;
    int fd = open_shared(O_RDWR);
    struct shared lists = show(fd, len), data = show(fd, len);
    struct fallsfs_ioc_piece *piece = (struct fallsfs_ioc_piece *) (void *) lists.bytes;
    struct fallsfs_ioc_list list = { .request = { .version = FALLSFS_IOCTL_VERSION, .buffer = data.buffer },
                                     .n = n,
                                     .list_buffer = lists.buffer,
                                     .bytes = 4 };

    memset(data.bytes, 'x', len);
    EXPECT_ERROR(EINVAL, ioctl(fd, FALLSFS_IOC_LIST, &list));
    for (uint64_t i = 0; i < n; i++)
        piece[i] = (struct fallsfs_ioc_piece){ i * 9, 4 };
    EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT(madvise(lists.bytes + i * 8192, 4096, MADV_REMOVE) == 0);
        EXPECT_ERROR(EINVAL, ioctl(fd, FALLSFS_IOC_LIST, &list));
        for (uint64_t k = i * 512; k < i * 512 + 256; k++)
            piece[k] = (struct fallsfs_ioc_piece){ k * 9, 4 };
        EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0);
    }
}

/* With an id, it need not be looked at again; and what was taken under it stays. */
static void known_by_its_id(void)
{
    int fd = open_shared(O_RDWR);
    struct shared lists = show(fd, 4096), data = show(fd, 4096);
    struct fallsfs_ioc_piece *piece = (struct fallsfs_ioc_piece *) (void *) lists.bytes;
    struct fallsfs_ioc_list list = { .request = { .version = FALLSFS_IOCTL_VERSION, .buffer = data.buffer },
                                     .n = 2,
                                     .list_buffer = lists.buffer,
                                     .list_id = 99,
                                     .bytes = 4 };

    EXPECT(pwrite(fd, "0123456789abcdef", 16, 0) == 16);
    piece[0] = (struct fallsfs_ioc_piece){ 1, 2 };
    piece[1] = (struct fallsfs_ioc_piece){ 8, 2 };
    EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0 && memcmp(data.bytes, "1289", 4) == 0);
    EXPECT(list.request.file_size == 16 && list.request.bytes == 4 && list.request.accepted == 1);
    piece[1].len = 0;
    EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0 && memcmp(data.bytes, "1289", 4) == 0);
    list.list_id = 98;
    EXPECT_ERROR(EINVAL, ioctl(fd, FALLSFS_IOC_LIST, &list));
    piece[1] = (struct fallsfs_ioc_piece){ 10, 2 };
    EXPECT(ioctl(fd, FALLSFS_IOC_LIST, &list) == 0 && memcmp(data.bytes, "12ab", 4) == 0);
}

/* Why not, in words; what was refused has done nothing, and the group's round is still to come. */
static void refused_in_words(void)
{
    static uint8_t buf[64];
    const struct fallsfs_ioc_piece overlap[] = { { 0, 4 }, { 2, 4 } }, good[] = { { 0, 4 }, { 8, 4 } };
    struct fallsfs_list list = { .pieces = overlap, .n = 2, .bytes = 8 };
    struct stage *stage = stage_new(1, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    int fd = open_shared(O_RDWR), pipes[2];

    EXPECT(fallsfs_write_list(fd, &list, buf) == -EINVAL);
    EXPECT(strstr(fallsfs_strerror_last(), "ascend and do not overlap") != NULL);
    EXPECT(fallsfs_write_list_all(group, &list, buf) == -EINVAL && size_of(fd) == 0);
    list.n = UINT64_C(1) << 40;
    EXPECT(fallsfs_read_list_all(group, &list, buf) == -E2BIG);
    EXPECT(strstr(fallsfs_strerror_last(), "16777216") != NULL);
    list = (struct fallsfs_list){ .falls = "{(0,3,4,1", .bytes = 4 };
    EXPECT(fallsfs_read_list(fd, &list, buf) == -EINVAL && strstr(fallsfs_strerror_last(), "column") != NULL);
    list = (struct fallsfs_list){ .falls = "{(0,3,8,2)}", .extent = 8, .bytes = 4 };
    EXPECT(fallsfs_read_list(fd, &list, buf) == -EINVAL && strstr(fallsfs_strerror_last(), "extent") != NULL);
    list = (struct fallsfs_list){ .pieces = good, .n = 2, .bytes = 8 };
    EXPECT(fallsfs_write_list_all(group, &list, buf) == 0 && size_of(fd) == 12 && fallsfs_size_last() == 12);
    EXPECT(pipe(pipes) == 0 && fallsfs_read_list(pipes[0], &list, buf) == -ESPIPE);
    EXPECT(strstr(fallsfs_strerror_last(), "no file") != NULL);
}

/* -- what the mount says of itself -- */

static void who_is_who(void)
{
    int fd = open_shared(O_RDWR), again = open_shared(O_RDONLY), other = open("other", O_RDWR | O_CREAT, 0666);
    struct fallsfs_ioc_info info, same, another;
    const uint8_t none[16] = { 0 };
    struct stat st;

    EXPECT(fallsfs_info(fd, &info) == 0 && fallsfs_info(again, &same) == 0 && fallsfs_info(other, &another) == 0);
    EXPECT(fstat(fd, &st) == 0 && info.inode == st.st_ino && same.inode == info.inode && another.inode != info.inode);
    EXPECT(memcmp(info.volume, none, 16) != 0 && memcmp(info.volume, another.volume, 16) == 0);
    EXPECT(info.life != 0 && info.life == same.life && info.life == another.life);
    EXPECT(info.supports ==
           (FALLSFS_SUPPORTS_LIST | FALLSFS_SUPPORTS_TILES | FALLSFS_SUPPORTS_NO_DEADLINE | FALLSFS_SUPPORTS_FILE_SIZE |
            FALLSFS_SUPPORTS_VIEWS | FALLSFS_SUPPORTS_HINTS | FALLSFS_SUPPORTS_SIEVE_EACH));
    EXPECT(info.max_pieces == 16777216);
    EXPECT(fallsfs_info(STDIN_FILENO, &info) < 0);
}

/* -- no deadline -- */

/* The group that waits for a rank; false: none does. */
static bool find_waiting(int fd, struct fallsfs_ioc_groups *ret_shown)
{
    uint64_t after = 0;

    do {
        *ret_shown = (struct fallsfs_ioc_groups){ .version = FALLSFS_IOCTL_VERSION, .after = after };
        EXPECT(ioctl(fd, FALLSFS_IOC_GROUPS, ret_shown) == 0);
        after = ret_shown->group;
    } while (after != 0 && ret_shown->state != FALLSFS_GROUP_WAITS);
    return after != 0;
}

/* A rank that has asked, and waits for the other one. */
static void rank_waits(struct stage *stage, struct fallsfs_ioc_groups *ret_shown)
{
    int fd = open_shared(O_RDONLY);

    (void) start_rank(stage, 0, false);
    until_asking(stage, 1);
    for (uint64_t until = now_ms() + 20000; !find_waiting(fd, ret_shown); pause_ms(20))
        EXPECT(now_ms() < until);
}

static void no_deadline(void)
{
    struct stage *stage = stage_new(2, FALLSFS_TIMEOUT_NONE);
    struct fallsfs_ioc_groups shown;
    static int rows[SIDE * SIDE];
    pid_t pid;

    rank_waits(stage, &shown);
    EXPECT(shown.ns_left == FALLSFS_NO_DEADLINE && shown.n_missing == 1);
    EXPECT(read_rows(stage, join_as(stage, 1), 1, rows) == 0);

    stage = stage_new(2, FALLSFS_TIMEOUT_NONE); /* a rank that dies is missed all the same */
    rank_waits(stage, &shown);
    pid = start_rank(stage, 1, true);
    until_joined(stage, 2);
    EXPECT(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    for (uint64_t until = now_ms() + 20000; atomic_load(&stage->told[0].result) == NOT_YET; pause_ms(20))
        EXPECT(now_ms() < until);
    EXPECT(atomic_load(&stage->told[0].result) == -ECANCELED);
}

const struct check checks_of_lists[] = {
    { "alone", alone },
    { "in_a_group", in_a_group },
    { "forms_together", forms_together },
    { "changed_meanwhile", changed_meanwhile },
    { "of_holes", of_holes },
    { "known_by_its_id", known_by_its_id },
    { "refused_in_words", refused_in_words },
    { "who_is_who", who_is_who },
    { "no_deadline", no_deadline },
    { NULL, NULL },
};
