/* SPDX-License-Identifier: MIT */
/* fallsfs: options → volume → mount → loop → exit status. */
#include "fs/core/disk_list.h"
#include "fs/core/jobs.h"
#include "fs/daemon/closing.h"
#include "fs/daemon/collect.h"
#include "fs/daemon/disks.h"
#include "fs/daemon/kernel_io.h"
#include "fs/daemon/log.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/options.h"
#include "fs/daemon/pipes.h"
#include "fs/daemon/reasons.h"
#include "fs/daemon/sections.h"
#include "fs/daemon/tours.h"
#include "fs/daemon/view_nodes.h"
#include "fs/daemon/warden.h"
#include "ioctl/guard.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_SOURCE   1000    /* bytes of disks in the mount's source, which has room for PATH_MAX */
#define MAX_THREADS  1024    /* that serve the kernel: started when all others are busy, as when disks stall */
#define FOR_EVER     86400.0 /* seconds the kernel may keep what it was told */
#define LARGE_MEMORY (256 << 10)

/* -- the volume -- */

/* As many descriptors as there may be: inodes take a half, subfiles the rest. */
static uint32_t raise_limits(void)
{
    struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = 1 << 20 };

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint32_t) MIN(limit.rlim_cur, 1 << 20) : 1024;
}

static int open_fs(struct options *options, struct fs **ret_fs, struct volume_error *error)
{
    struct volume *volume = NULL;
    struct fs_options fs_options;
    int r = disks_open(options, &volume, error);

    if (r == 0 && (r = volume_watch(volume, options->timeout)) < 0)
        volume_free(volume);
    if (r < 0)
        return r;
    fs_options = (struct fs_options){ .layout = options->layout != NULL ? options->layout : DEFAULT_LAYOUT,
                                      .rule = options->rule,
                                      .n_rules = options->n_rules,
                                      .max_fds = MIN(raise_limits() / 2, 16384),
                                      .n_threads = 16 * volume->n_disks + 8 };
    return fs_new(volume, &fs_options, ret_fs, error);
}

/* -- the mount -- */

static void op_init(void *data, struct fuse_conn_info *conn)
{
    const struct mount *mount = data;
    const unsigned want = FUSE_CAP_ASYNC_READ | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_DONT_MASK |
                          FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL | FUSE_CAP_ASYNC_DIO | FUSE_CAP_READDIRPLUS |
                          FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_SPLICE_WRITE;
    /* What is written was never faster through pipes; a cache that writes late would own sizes and times; O_TRUNC as a
     * change of attributes lets the kernel clear set-user-ID bits with it. We say ourselves what is to be forgotten: a
     * kernel that drops a file's pages whenever its mtime moved may read them again before a write that is on its way.
     */
    const unsigned do_not_want = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE |
                                 FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA;

    conn->max_read = mount->max_read;
    conn->want = (conn->want | want) & conn->capable & ~do_not_want;
    conn->max_write = MAX_REQUEST;
    /* Reads that wait for a disk in vain must not take up the places of all others. */
    conn->max_background = 4096;
    conn->congestion_threshold = 3072;
}

static struct fuse_lowlevel_ops all_ops(void)
{
    struct fuse_lowlevel_ops ops = { .init = op_init };

    ops_add_names(&ops);
    ops_add_attr(&ops);
    ops_add_data(&ops);
    ops_add_dir(&ops);
    ops_add_ioctl(&ops);
    ops_add_views(&ops);
    ops_add_texts(&ops);
    return ops;
}

/* A value as libfuse reads it. */
static void print_value(FILE *out, const char *value)
{
    for (; *value != 0; value++)
        fprintf(out, *value == ',' || *value == '\\' ? "\\%c" : "%c", *value);
}

/* Bytes of one read, 0: as many as the kernel likes. What is read ahead is asked for in many reads at once, so they can
 * be such as fit into a pipe. Who reads directly waits for one after the other, and had better have all disks of a
 * stripe at work with each. */
static uint32_t max_read_of(const struct options *options)
{
    return options->max_read > 0 || options->direct_io ? options->max_read : MAX_PIPED;
}

/* The words libfuse reads: who we are, what the kernel shall check, what the user said. */
static int fuse_words(const struct options *options, struct fuse_args *args)
{
    cleanup(freep) char *source = disk_list_print(options->disk, options->n_disks, MAX_SOURCE), *words = NULL;
    size_t len;
    FILE *out = source != NULL ? open_memstream(&words, &len) : NULL;

    if (out == NULL)
        return -ENOMEM;
    fputs("default_permissions,subtype=fallsfs,fsname=", out);
    print_value(out, source);
    if (geteuid() == 0)
        fputs(",allow_other", out);
    if (options->read_only)
        fputs(",ro", out);
    if (max_read_of(options) > 0)
        fprintf(out, ",max_read=%" PRIu32, max_read_of(options));
    if (options->fuse != NULL)
        fprintf(out, ",%s", options->fuse);
    if (fclose(out) != 0 || fuse_opt_add_arg(args, "fallsfs") < 0 || fuse_opt_add_arg(args, "-o") < 0 ||
        fuse_opt_add_arg(args, words) < 0 || (options->debug && fuse_opt_add_arg(args, "-d") < 0))
        return -ENOMEM;
    return 0;
}

static int loop(const struct options *options, struct fuse_session *session)
{
    struct fuse_loop_config *config;
    int r;

    if (options->single_thread)
        return fuse_session_loop(session);
    config = fuse_loop_cfg_create();
    if (config == NULL)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, options->threads != 0 ? options->threads : MAX_THREADS);
    fuse_loop_cfg_set_idle_threads(config, 16);
    r = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return r;
}

/* -- collectives -- */

static uint64_t now(void *ctx)
{
    struct timespec time;

    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

static void start_round(void *ctx, struct round *round)
{
    const struct mount *mount = ctx;

    collect_start(mount->collect, mount->groups, round);
}

static void drop_ask(void *ctx, struct ask *ask)
{
    (void) ctx;
    collect_drop(ask);
}

static void group_failed(void *ctx, const char *why)
{
    (void) ctx;
    log_warning("%s", why);
}

static void process_ended(void *ctx, uint64_t process)
{
    groups_process_gone(((const struct mount *) ctx)->groups, process);
}

static void tick(void *ctx)
{
    const struct mount *mount = ctx;

    (void) groups_tick(mount->groups);
    collect_retry(mount->collect);
}

static uint32_t serving_threads(const struct options *options)
{
    return options->single_thread ? 1 : options->threads != 0 ? options->threads : MAX_THREADS;
}

static int collectives_new(const struct options *options, struct mount *mount)
{
    static const struct groups_ops groups_ops = { now, start_round, drop_ask, group_failed };
    static const struct processes_ops processes_ops = { process_ended, tick };
    struct groups_limits limits = groups_usual_limits;
    uint32_t serving = serving_threads(options);
    int r = guard_init();

    limits.patience = (uint64_t) options->timeout * 1000000000;
    if (r == 0)
        r = groups_new(&groups_ops, mount, &limits, &mount->groups);
    if (r == 0)
        r = collect_new(mount->fs, serving, options->window, &mount->collect);
    if (r == 0)
        r = buffers_new(&mount->buffers);
    if (r == 0)
        r = processes_new(&processes_ops, mount, &mount->processes);
    return r;
}

/* Who still waits is answered, while that can be done. */
static void collectives_end(struct mount *mount)
{
    processes_free(steal(mount->processes));
    if (mount->collect != NULL)
        collect_give_up(mount->collect);
    groups_free(steal(mount->groups));
    collect_free(steal(mount->collect));
}

/* -- serving -- */

static void set_read_ahead(void *arg)
{
    const struct options *options = arg;

    mountpoint_set_read_ahead(options->mountpoint, options->read_ahead);
}

static int serve_mount(const struct options *options, struct fuse_session *session, struct mount *mount)
{
    struct closing *closing = NULL;
    int r;

    if (fuse_set_signal_handlers(session) != 0)
        return -EIO;
    if (fuse_session_mount(session, options->mountpoint) != 0) {
        fuse_remove_signal_handlers(session);
        log_error("cannot mount at %s, for the reason above; a wrong -o option may be one", options->mountpoint);
        return -EIO;
    }
    kernel_io_use(session, set_read_ahead, drop_const(options));
    r = fuse_daemonize(options->foreground);
    if (r == 0) {
        if (!options->foreground)
            log_to_system();
        r = warden_start(options->mountpoint, &mount->warden);
    }
    if (r == 0)
        r = closing_start(session, mount->collect, &mount->warden, options->timeout, &closing);
    if (r == 0) {
        workers_start(mount->fs->workers);
        r = keeper_start(mount->keeper);
        r = r == 0 ? processes_start(mount->processes) : r;
        r = r == 0 ? jobs_start(mount->fs->jobs) : r;
    }
    if (r == 0)
        r = loop(options, session);
    closing_end(closing);
    if (kernel_forgets_no_more()) /* and waits for answers that nobody gives now */
        warden_act(&mount->warden);
    fuse_session_unmount(session);
    volume_note_ending(mount->fs->volume);
    fuse_remove_signal_handlers(session);
    return MIN(r, 0);
}

static int mount_fs(const struct options *options, struct fs *fs)
{
    struct mount mount = { .fs = fs,
                           .options = options,
                           .timeout = FOR_EVER,
                           .direct_io = options->direct_io,
                           .max_waiting = serving_threads(options) / 4,
                           .max_read = max_read_of(options),
                           .layout_allow = options->layout_allow,
                           .layout_gid = options->layout_gid };
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    const struct fuse_lowlevel_ops ops = all_ops();
    struct fuse_session *session = NULL;
    int r = handles_new(&mount.handles);

    the_mount = &mount;

    if (r == 0)
        r = reasons_new(&mount.reasons);
    if (r == 0)
        r = tours_new(fs, &mount.tours);
    if (r == 0)
        r = nodes_new(fs, &mount.nodes);
    if (r == 0)
        r = keeper_new(fs, options->timeout, &mount.keeper);
    if (r == 0)
        r = collectives_new(options, &mount);
    if (r == 0)
        r = fuse_words(options, &args);
    if (r == 0) {
        session = fuse_session_new(&args, &ops, sizeof ops, &mount);
        if (session == NULL)
            log_error("an option is wrong, as said above: 'fallsfs --help' and mount.fuse3(8) list what -o takes");
        mount.session = session;
        r = session != NULL ? serve_mount(options, session, &mount) : -EINVAL;
    }
    tours_free(mount.tours);
    collectives_end(&mount);
    warden_end(&mount.warden);
    if (session != NULL)
        fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    keeper_free(mount.keeper);
    handles_free(mount.handles);
    nodes_free(mount.nodes);
    reasons_free(mount.reasons);
    buffers_free(mount.buffers);
    return r;
}

/* Paths that stay right when the daemon leaves for /. */
static int resolve_paths(struct options *options, struct volume_error *error)
{
    int r = mountpoint_resolve(&options->mountpoint);

    if (r == 0)
        return disks_resolve(options, error);
    if (r == -EPERM)
        return volume_fail(error, r,
                           "%s still has the mount of a fallsfs that was killed, and it cannot be unmounted: ask who "
                           "mounted it, or root, to umount it",
                           options->mountpoint);
    return volume_fail(error, r, "cannot mount at %s: %s%s", options->mountpoint, strerror(-r),
                       r == -ENOENT ? "; make it first, with mkdir" : "");
}

static int run(struct options *options)
{
    struct volume_error error;
    struct fs *fs = NULL;
    int r = resolve_paths(options, &error), end;

    if (r == 0)
        r = open_fs(options, &fs, &error);
    if (r < 0) {
        log_error("%s", error.why);
        return 1;
    }
    r = mount_fs(options, fs);
    end = fs_free(fs);
    if (end < 0)
        log_error("the volume did not end well (%s): the next mount looks at the files again", strerror(-end));
    return r < 0 || end < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    struct options_error error;
    int status, r;

    umask(0);
    /* Threads come and go with buffers and windows of megabytes: what is freed goes back to the system, not into holes
     * between what is small. */
    (void) mallopt(M_MMAP_THRESHOLD, LARGE_MEMORY);
    r = options_parse(argc, argv, &options, &error);
    if (r < 0) {
        log_error("%s", error.why);
        return r == -EINVAL ? 2 : 1;
    }
    if (options.help || options.version) {
        fputs(options.help ? options_help : "fallsfs " FALLSFS_VERSION "\n", stdout);
        status = 0;
    } else {
        status = run(&options);
    }
    options_done(&options);
    return status;
}
