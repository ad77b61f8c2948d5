/* SPDX-License-Identifier: MIT */
/* A disk that seeks: one FUSE file, "disk", whose requests are served one after the other, each in
 *
 *     (seek, unless it is near where the last one ended) + bytes / rate
 *
 *     slowdisk IMAGE MOUNTPOINT          in the foreground; echo "MB/s us" > MOUNTPOINT/model; 0 0 is no delay, as at
 * first; a third number is how many bytes are near, 1 MiB unless told; the word sorted behind it lets requests that
 * wait overtake others that lie further on, as disks with a queue of their own do; echo park > MOUNTPOINT/model moves
 * the arm to where no byte is, so that whoever comes next has to seek
 *
 * Reading MOUNTPOINT/model tells what was done since the numbers were set, "busy-us requests seeks bytes".
 *
 * The bytes live in IMAGE, best on tmpfs. Under losetup --direct-io=on with a file system on top it tells requests that
 * are under way at once from those sent one by one, which a throttled disk does not. */
#define FUSE_USE_VERSION 312
#include "layout/base.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = FUSE_ROOT_ID, DISK, MODEL };

#define FOR_EVER  1e6
#define MAX_BYTES (1 << 20) /* of a request */
#define NEAR      (1 << 20) /* bytes; threads may take the parts of one large request in any order */
#define PARKED    (-(INT64_C(1) << 60))

/* A request that waits for the arm. */
struct waiting {
    off_t off;
    size_t len;
    double came_at;
    pthread_cond_t chosen;
    struct waiting *next;
};

static int image;
static off_t image_size;

/* All below: under lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double seconds_per_byte, seek_seconds;
static off_t near_bytes = NEAR;
static bool is_sorted, is_serving;
static struct waiting *queue; /* when it is sorted: who has not been chosen yet */
static double free_at;        /* when the arm has done what was asked of it so far */
static off_t arm_at;
static struct {
    double busy; /* seconds */
    uint64_t requests, seeks, bytes;
} done_so_far;

/* In seconds, with the arm at its end then. */
static double serve_at(off_t off, size_t len, double came_at)
{
    bool seeks = llabs((long long) (off - arm_at)) > near_bytes;
    double takes = (double) len * seconds_per_byte + (seeks ? seek_seconds : 0);

    arm_at = off + (off_t) len;
    free_at = MAX(came_at, free_at) + takes;
    done_so_far.busy += takes;
    done_so_far.requests++;
    done_so_far.seeks += seeks;
    done_so_far.bytes += len;
    return free_at;
}

/* The next one in the arm's way to the end, else the first from the beginning. */
static struct waiting *choose(void)
{
    struct waiting *ahead = NULL, *first = NULL;

    for (struct waiting *w = queue; w != NULL; w = w->next) {
        if (w->off >= arm_at && (ahead == NULL || w->off < ahead->off))
            ahead = w;
        if (first == NULL || w->off < first->off)
            first = w;
    }
    return ahead != NULL ? ahead : first;
}

static void leave_queue(const struct waiting *waiting)
{
    struct waiting **at = &queue;

    while (*at != waiting)
        at = &(*at)->next;
    *at = waiting->next;
}

static void sleep_until(double seconds)
{
    double whole = (double) (time_t) seconds;
    struct timespec t = { (time_t) seconds, (long) ((seconds - whole) * 1e9) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* Whoever is served chooses the next one when he is done; who waited then is not later for that. */
static void wait_in_queue(struct waiting *mine)
{
    double done;

    pthread_cond_init(&mine->chosen, NULL);
    mine->next = queue;
    queue = mine;
    while (is_serving || choose() != mine)
        pthread_cond_wait(&mine->chosen, &lock);
    leave_queue(mine);
    is_serving = true;
    done = serve_at(mine->off, mine->len, mine->came_at);
    pthread_mutex_unlock(&lock);
    sleep_until(done);
    pthread_mutex_lock(&lock);
    is_serving = false;
    if (queue != NULL)
        pthread_cond_signal(&choose()->chosen);
    pthread_cond_destroy(&mine->chosen);
}

static void wait_turn(off_t off, size_t len)
{
    struct waiting mine = { .off = off, .len = len, .came_at = (double) clock_ns() * 1e-9 };
    double done = 0;

    pthread_mutex_lock(&lock);
    if (is_sorted)
        wait_in_queue(&mine);
    else
        done = serve_at(off, len, mine.came_at);
    pthread_mutex_unlock(&lock);
    sleep_until(done);
}

static struct stat attributes(fuse_ino_t ino)
{
    return (struct stat){ .st_ino = ino,
                          .st_nlink = 1,
                          .st_mode = ino == ROOT ? S_IFDIR | 0755 : S_IFREG | 0600,
                          .st_size = ino == DISK ? image_size : 0 };
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
    (void) data;
    conn->want &= ~(unsigned) (FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
    conn->max_write = MAX_BYTES;
    conn->max_background = 256;
    conn->congestion_threshold = 256;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = { .attr_timeout = FOR_EVER, .entry_timeout = FOR_EVER };

    (void) parent;
    entry.ino = strcmp(name, "disk") == 0 ? DISK : strcmp(name, "model") == 0 ? MODEL : 0;
    entry.attr = attributes(entry.ino);
    if (entry.ino == 0)
        fuse_reply_err(req, ENOENT);
    else
        fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st = attributes(ino);

    (void) fi;
    fuse_reply_attr(req, &st, FOR_EVER);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *fi)
{
    (void) st, (void) what;
    op_getattr(req, ino, fi);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fi->direct_io = ino == MODEL;
    fuse_reply_open(req, fi);
}

/* Each read tells anew, from its own offset on. */
static ssize_t tell(char *buffer, size_t size, off_t off)
{
    char text[128];
    int n;

    pthread_mutex_lock(&lock);
    n = snprintf(text, sizeof text, "%.0f %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", done_so_far.busy * 1e6,
                 done_so_far.requests, done_so_far.seeks, done_so_far.bytes);
    pthread_mutex_unlock(&lock);
    if (off >= n)
        return 0;
    size = MIN(size, (size_t) (n - off));
    memcpy(buffer, text + off, size);
    return (ssize_t) size;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    char *buffer = malloc(size);
    ssize_t n = buffer == NULL ? 0 : ino == DISK ? pread(image, buffer, size, off) : tell(buffer, size, off);

    (void) fi;
    if (n > 0 && ino == DISK)
        wait_turn(off, (size_t) n);
    if (n < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_buf(req, buffer, (size_t) n);
    free(buffer);
}

static void set_model(const char *data, size_t size)
{
    char text[64] = "", *end;
    double mb;

    memcpy(text, data, MIN(size, sizeof text - 1));
    pthread_mutex_lock(&lock);
    if (strncmp(text, "park", 4) == 0) {
        arm_at = PARKED;
    } else {
        mb = strtod(text, &end);
        seconds_per_byte = mb > 0 ? 1e-6 / mb : 0;
        seek_seconds = strtod(end, &end) * 1e-6;
        near_bytes = *end == ' ' ? (off_t) strtoll(end, &end, 10) : NEAR;
        is_sorted = strncmp(end, " sorted", 7) == 0;
        memset(&done_so_far, 0, sizeof done_so_far);
    }
    if (!is_serving && queue != NULL)
        pthread_cond_signal(&choose()->chosen);
    pthread_mutex_unlock(&lock);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    ssize_t n = (ssize_t) size;

    (void) fi;
    if (ino == MODEL) {
        set_model(data, size);
    } else {
        wait_turn(off, size);
        n = pwrite(image, data, size, off);
    }
    if (n < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_write(req, (size_t) n);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void) ino, (void) datasync, (void) fi;
    fuse_reply_err(req, 0);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    (void) ino, (void) fi;
    fuse_reply_err(req, fallocate(image, mode, off, len) == 0 ? 0 : errno);
}

static const struct fuse_lowlevel_ops ops = { .init = op_init,
                                              .lookup = op_lookup,
                                              .getattr = op_getattr,
                                              .setattr = op_setattr,
                                              .open = op_open,
                                              .read = op_read,
                                              .write = op_write,
                                              .fsync = op_fsync,
                                              .fallocate = op_fallocate };

static int serve(struct fuse_session *session)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    int r;

    fuse_loop_cfg_set_max_threads(config, 128); /* one for each request that waits its turn */
    fuse_loop_cfg_set_idle_threads(config, 128);
    r = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return r;
}

int main(int argc, char **argv)
{
    char *words[] = { argv[0], (char[]){ "-oallow_other,fsname=slowdisk" }, NULL };
    struct fuse_args args = FUSE_ARGS_INIT(2, words);
    struct fuse_session *session;
    struct stat st;
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: slowdisk IMAGE MOUNTPOINT\n");
        return 2;
    }
    image = open(argv[1], O_RDWR | O_CLOEXEC);
    if (image < 0 || fstat(image, &st) < 0) {
        perror(argv[1]);
        return 1;
    }
    image_size = st.st_size;
    session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    if (session == NULL || fuse_set_signal_handlers(session) != 0 || fuse_session_mount(session, argv[2]) != 0)
        return 1;
    r = serve(session);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return r != 0;
}
