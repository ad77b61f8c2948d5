/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/trace.h"

#include "ioctl/mpi/real.h"
#include "ioctl/trace/trace_write.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define WRITTEN_AT (64 << 10)           /* bytes that wait to be written, at most, about */
#define REACH      (UINT64_C(1) << 61)  /* of the tiles of a view that are told */
#define MAX_TEXT   (TRACE_MAX_ITEM / 2) /* of a pattern: what has more pieces is told in part */
#define KNOWN      8                    /* texts of patterns that are remembered */

/* The part of this process. */
static struct {
    pthread_mutex_t lock; /* of all of it */
    int fd;               /* -1: it has not begun, or has ended */
    bool is_over;
    pid_t pid;
    char name[PATH_MAX];
    FILE *items; /* what is not written yet */
    char *text;
    size_t len;
    uint64_t began; /* steady */
    uint32_t n_files, n_opened, n_patterns;
    struct {
        char *text;
        uint32_t number;
    } known[KNOWN];
} part = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *directory; /* NULL: no trace is wanted */

static void look(void)
{
    const char *value = getenv("FALLSFS_MPI_TRACE");

    directory = value != NULL && value[0] != 0 ? value : NULL;
}

bool mtrace_is_wanted(void)
{
    (void) pthread_once(&once, look);
    return directory != NULL && !__atomic_load_n(&part.is_over, __ATOMIC_RELAXED);
}

uint64_t mtrace_now(void)
{
    return mtrace_is_wanted() ? clock_ns() : 0;
}

/* -- the part as a file -- */

/* Tells the user once, and ends the part: what was written before stays. */
static void give_up(int error, const char *what)
{
    fprintf(stderr, "fallsfs: %s: %s: %s\n", part.name, strerror(error), what);
    if (part.fd >= 0)
        close(part.fd);
    part.fd = -1;
    __atomic_store_n(&part.is_over, true, __ATOMIC_RELAXED);
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        len -= (size_t) n;
    }
    return 0;
}

/* Writes what waits. */
static void flush(void)
{
    int r;

    if (part.fd < 0)
        return;
    r = fflush(part.items) == 0 ? write_all(part.fd, part.text, part.len) : -ENOMEM;
    rewind(part.items);
    if (r < 0)
        give_up(-r, "the trace of this rank ends here");
}

/* A child that a rank has forked has a copy of what waits, which is not its own. */
__attribute__((destructor)) static void end_part(void)
{
    if (part.pid != getpid())
        return;
    pthread_mutex_lock(&part.lock);
    flush();
    if (part.fd >= 0)
        close(part.fd);
    part.fd = -1;
    if (part.items != NULL)
        fclose(part.items);
    free(part.text);
    for (size_t i = 0; i < KNOWN; i++)
        free(part.known[i].text);
    __atomic_store_n(&part.is_over, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&part.lock);
}

/* When this process has started, as proc(5) has it; 0: nobody knows. */
static uint64_t started(void)
{
    char line[1024], *at;
    FILE *in = fopen("/proc/self/stat", "re");
    uint64_t start = 0;

    if (in == NULL)
        return 0;
    at = fgets(line, sizeof line, in) != NULL ? strrchr(line, ')') : NULL;
    for (unsigned field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at != NULL)
        start = strtoull(at, NULL, 10);
    fclose(in);
    return start;
}

/* The rank in MPI_COMM_WORLD, and how many there are. Without that world, as with sessions, the file's. */
static void whole_world(const struct file *file, int *ret_rank, int *ret_n)
{
    int is_there = 0;

    *ret_rank = file->rank;
    *ret_n = file->n_ranks;
    if (PMPI_Initialized(&is_there) == MPI_SUCCESS && is_there) {
        (void) PMPI_Comm_rank(MPI_COMM_WORLD, ret_rank);
        (void) PMPI_Comm_size(MPI_COMM_WORLD, ret_n);
    }
}

static void write_beginning(int rank, int n_ranks)
{
    const struct timespec now = clock_read(CLOCK_REALTIME);
    const struct trace_head head = { .began = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec,
                                     .flags = TRACE_EVERY | TRACE_BY_MPI,
                                     .n_ranks = (uint32_t) n_ranks };
    const struct trace_process process = {
        .number = 1, .uid = geteuid(), .tgid = (uint32_t) getpid(), .ranked = (uint32_t) rank + 1, .start = started()
    };

    part.began = clock_ns();
    trace_write_head(part.items, &head);
    trace_write_process(part.items, &process, program_invocation_short_name);
}

/* Makes the part when the first file is opened. One that is there already is of another run, and stays as it is. */
static void begin_part(const struct file *file)
{
    int rank, n_ranks;

    if (part.fd >= 0 || part.is_over)
        return;
    whole_world(file, &rank, &n_ranks);
    part.pid = getpid();
    snprintf(part.name, sizeof part.name, "%s", directory);
    if (mkdir(part.name, 0777) < 0 && errno != EEXIST) {
        give_up(errno, "no trace is written: the directory above it is to be there, and writable");
        return;
    }
    snprintf(part.name, sizeof part.name, "%s/rank.%d", directory, rank);
    part.fd = open(part.name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (part.fd < 0) {
        give_up(errno, errno == EEXIST ? "this rank is not traced: remove what another run has left, or name another "
                                         "directory in FALLSFS_MPI_TRACE"
                                       : "this rank is not traced");
        return;
    }
    part.items = open_memstream(&part.text, &part.len);
    if (part.items == NULL)
        give_up(ENOMEM, "this rank is not traced");
    else
        write_beginning(rank, n_ranks);
}

/* -- files -- */

static void write_file(struct file *file, const char *path)
{
    char whole[PATH_MAX], layout[65536] = "";
    struct trace_file told = { .number = ++part.n_files };
    struct stat st;

    if (stat(path, &st) == 0) {
        told.inode = st.st_ino;
        told.size = (uint64_t) st.st_size;
    }
    if (getxattr(path, "user.falls.layout", layout, sizeof layout - 1) < 0)
        layout[0] = 0;
    trace_write_file(part.items, &told, realpath(path, whole) != NULL ? whole : path, layout);
    file->traced = told.number;
    file->opened = ++part.n_opened;
}

void mtrace_open(struct file *file, const char *path)
{
    pthread_mutex_lock(&part.lock);
    begin_part(file);
    if (part.fd >= 0)
        write_file(file, path);
    pthread_mutex_unlock(&part.lock);
}

void mtrace_close(struct file *file)
{
    pthread_mutex_lock(&part.lock);
    if (file->traced != 0)
        flush();
    pthread_mutex_unlock(&part.lock);
}

/* -- views as patterns -- */

/* The pieces of a tile, as many as there is room for. */
static void print_pieces(FILE *out, const struct tile *tile)
{
    fputs("pieces=", out);
    for (uint64_t i = 0; i < tile->n_pieces; i++) {
        if (ftell(out) > (long) MAX_TEXT) {
            fputs(",...", out);
            return;
        }
        fprintf(out, "%s(%" PRIu64 ",%" PRIu64 ")", i > 0 ? "," : "", (uint64_t) tile->pieces[i].off,
                (uint64_t) tile->pieces[i].len);
    }
}

/* The tiles of a view, as many as reach far enough, or the only one. To be freed; NULL without memory. */
static char *view_text(const struct view *view)
{
    const struct typemap *typemap = view->tile->typemap;
    const bool repeats = typemap->extent > 0 && typemap->stream.ascends;
    const uint64_t extent = repeats ? (uint64_t) typemap->extent : 0;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    fprintf(out, "disp=%" PRIu64 " extent=%" PRIu64 " skip=0 bytes=%" PRIu64 " ", (uint64_t) view->disp, extent,
            typemap->one.size * (repeats ? MAX(REACH / extent, 1) : 1));
    if (view->tile->pieces == NULL)
        fputs(view->tile->text, out);
    else
        print_pieces(out, view->tile);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* The number of a view's pattern, which is written when it is new; 0: there is no memory. Programs set the same few
 * views in turn. */
static uint32_t pattern_of(struct view *view)
{
    char *text;

    if (view->traced != 0)
        return view->traced;
    text = view_text(view);
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < KNOWN && view->traced == 0; i++)
        if (part.known[i].text != NULL && strcmp(part.known[i].text, text) == 0)
            view->traced = part.known[i].number;
    if (view->traced != 0) {
        free(text);
        return view->traced;
    }
    view->traced = ++part.n_patterns;
    trace_write_pattern(part.items, view->traced, text);
    free(part.known[view->traced % KNOWN].text);
    part.known[view->traced % KNOWN].text = text;
    part.known[view->traced % KNOWN].number = view->traced;
    return view->traced;
}

/* -- accesses -- */

struct mtrace_call mtrace_begin_theirs(struct file *file, unsigned how, MPI_Offset offset)
{
    struct mtrace_call call = { .began = mtrace_now() };
    const bool at = (how & ACCESS_AT) != 0;
    MPI_Offset to = offset;

    if (call.began == 0 || (how & ACCESS_SHARED) != 0 ||
        (!at && REAL(MPI_File_get_position, file->handle, &to) != MPI_SUCCESS))
        return call;
    pthread_mutex_lock(&file->lock);
    if (file->view != NULL && to >= 0 && !mul_overflows((uint64_t) to, file->view->etype_size, &call.at)) {
        call.view = file->view;
        __atomic_fetch_add(&call.view->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&file->lock);
    return call;
}

/* Says where the bytes are: a run of the file, or part of a view, whose tiles do not interleave so far. False: nobody
 * knows. */
static bool place(const struct mtrace_call *call, struct trace_access *access)
{
    const struct typemap *typemap = call->view != NULL ? call->view->tile->typemap : NULL;
    uint64_t end;
    int64_t off;

    if (typemap == NULL || typemap->one.size == 0 || add_overflows(call->at, access->len, &end) ||
        end >= (uint64_t) TYPEMAP_LIMIT / 2 || !typemap_ascends(typemap, end))
        return false;
    if (typemap_is_run(typemap, call->at, access->len, &off)) {
        access->offset = (uint64_t) (call->view->disp + off);
        return true;
    }
    access->how = TRACE_BY_VIEW;
    access->offset = call->at;
    access->pattern = pattern_of(call->view);
    return access->pattern != 0;
}

static void write_access(const struct mtrace_call *call, struct trace_access *access)
{
    const uint64_t began = MAX(call->began, part.began), took = (clock_ns() - began) / 1000;

    access->at = began - part.began;
    access->took = (uint32_t) MIN(took, UINT32_MAX);
    if (place(call, access))
        trace_write_access(part.items, access);
    else
        trace_write_dropped(part.items, 1);
    if (ftell(part.items) > WRITTEN_AT)
        flush();
}

void mtrace_end(struct file *file, struct mtrace_call *call, unsigned how, uint64_t bytes, bool failed)
{
    struct trace_access access = { .process = 1, .handle = file->opened, .file = file->traced, .len = bytes };

    if ((how & ACCESS_WRITE) != 0)
        access.flags |= TRACE_WRITES;
    if (failed)
        access.flags |= TRACE_FAILED;
    if ((how & ACCESS_ALL) != 0 && file->n_ranks > 1) {
        access.flags |= TRACE_IN_GROUP;
        access.group = file->group_number;
        access.rank = (uint32_t) file->rank;
    }
    if (call->began != 0 && bytes > 0) {
        pthread_mutex_lock(&part.lock);
        if (part.fd >= 0 && file->traced != 0)
            write_access(call, &access);
        pthread_mutex_unlock(&part.lock);
    }
    mview_put(call->view);
    call->view = NULL;
}
