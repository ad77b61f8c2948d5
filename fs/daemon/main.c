/* SPDX-License-Identifier: MIT */
/* fallsfs: options → volume → mount → loop → exit status. */
#include "fs/core/change/jobs.h"
#include "fs/core/change/refill.h"
#include "fs/core/change/room_watch.h"
#include "fs/core/disk/disk_list.h"
#include "fs/core/disk/random.h"
#include "fs/core/fs.h"
#include "fs/daemon/bounds/memory.h"
#include "fs/daemon/closing.h"
#include "fs/daemon/config/disks.h"
#include "fs/daemon/config/options.h"
#include "fs/daemon/group/collect.h"
#include "fs/daemon/group/sections.h"
#include "fs/daemon/kernel/connection_guard.h"
#include "fs/daemon/kernel/kernel_io.h"
#include "fs/daemon/kernel/mountpoint.h"
#include "fs/daemon/kernel/pipes.h"
#include "fs/daemon/kernel/trim.h"
#include "fs/daemon/metrics/metrics_file.h"
#include "fs/daemon/metrics/snapshot.h"
#include "fs/daemon/mover/mover.h"
#include "fs/daemon/ops/open_texts.h"
#include "fs/daemon/ops/ops.h"
#include "fs/daemon/say/last_errors.h"
#include "fs/daemon/say/log.h"
#include "fs/daemon/say/troubles.h"
#include "fs/daemon/serve/mount.h"
#include "fs/daemon/serve/requests.h"
#include "fs/daemon/trace/tracing.h"
#include "fs/daemon/view/view_nodes.h"
#include "fs/daemon/view/views.h"
#include "ioctl/guard.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SOURCE   1000    /* bytes that the disks take in the mount's source: the kernel takes PATH_MAX */
#define MAX_THREADS  1024    /* serving the kernel: more are started when all are busy, as when disks stall */
#define FOR_EVER     86400.0 /* seconds the kernel may keep what it was told */
#define LARGE_MEMORY (256 << 10)
#define OPEN_TEXTS   (8 << 20) /* bytes of open texts that one user may have: each has some tens of KiB */

/* -- the volume -- */

static uint32_t n_descriptors(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint32_t) MIN(limit.rlim_cur, 1 << 20) : 1024;
}

/* Raises the limit of descriptors as far as allowed, and returns it. Inodes may take a half of them, jobs a quarter; of
 * the rest, which is for what users have open, one user may have an eighth of all. */
static uint32_t raise_limits(void)
{
    struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = 1 << 20 };

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
    return n_descriptors();
}

static int open_fs(struct options *options, struct troubles *troubles, struct fs **ret_fs, struct volume_error *error)
{
    struct volume *volume = NULL;
    struct fs_options fs_options;
    uint32_t n_fds;
    int r = disks_open(options, &volume, error);

    if (r == 0 && (r = volume_watch(volume, options->timeout, troubles_listener(troubles))) < 0)
        volume_free(volume);
    if (r < 0)
        return r;
    n_fds = raise_limits();
    fs_options = (struct fs_options){ .layout = options->layout != NULL ? options->layout : DEFAULT_LAYOUT,
                                      .where = options->layout_where,
                                      .reserve = options->reserve,
                                      .rule = options->rule,
                                      .n_rules = options->n_rules,
                                      .max_fds = MIN(n_fds / 2, 16384),
                                      .max_job_fds = n_fds / 4,
                                      .n_threads = 16 * volume->n_disks + 8,
                                      .noatime = options->noatime,
                                      .nodiratime = options->nodiratime };
    return fs_new(volume, &fs_options, ret_fs, error);
}

/* -- the mount -- */

static void op_init(void *data, struct fuse_conn_info *conn)
{
    const struct mount *mount = data;
    const uint64_t want = FUSE_CAP_ASYNC_READ | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_DONT_MASK |
                          FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL | FUSE_CAP_ASYNC_DIO | FUSE_CAP_READDIRPLUS |
                          FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_SPLICE_WRITE;
    /* Why not: SPLICE_READ and SPLICE_MOVE, since writes were never faster through pipes. WRITEBACK_CACHE, since the
     * kernel would decide on sizes and times. ATOMIC_O_TRUNC, since O_TRUNC as a setattr lets the kernel clear
     * set-user-ID bits. AUTO_INVAL_DATA, since a kernel that drops a file's pages whenever its mtime has moved may read
     * them again before a write that is on its way; we tell it ourselves what to forget. */
    const uint64_t do_not_want = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE |
                                 FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA;

    conn->max_read = mount->max_read;
    kernel_io_agree(conn, want, do_not_want, mount->options->mountpoint, mount->options->read_ahead);
    conn->max_write = MAX_REQUEST;
    /* Background requests: so many that reads which wait for a stalled disk leave room for all others. */
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
    ops_add_trace(&ops);
    ops_add_requests(&ops);
    return ops;
}

/* Prints an option's value with commas and backslashes escaped, as libfuse wants them. */
static void print_value(FILE *out, const char *value)
{
    for (; *value != 0; value++)
        fprintf(out, *value == ',' || *value == '\\' ? "\\%c" : "%c", *value);
}

/* Chooses the bytes of one read request; 0: as many as the kernel likes. The kernel reads ahead by many requests at
 * once, so each may be small enough for a pipe. With direct I/O a program waits for one request after the other, and
 * each had better be long, so that all disks of a stripe work for it. */
static uint32_t max_read_of(const struct options *options)
{
    return options->max_read > 0 || options->direct_io ? options->max_read : MAX_PIPED;
}

/* Makes the arguments of libfuse: who we are, what the kernel is to check, what the user said. */
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
    (void) ctx;
    return clock_ns();
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
    trim_note(jobs_take_freed(mount->fs->jobs));
    trim_note(layouts_take_freed());
    trim_if_due();
}

static void ask_ended(const struct collect_ask *ask, const struct round *round, uint32_t rank, int result)
{
    tracing_note_ask(the_mount->tracing, ask, round, rank, result);
}

static void inode_gone(const struct inode *inode)
{
    tracing_inode_gone(the_mount->tracing, inode);
    nodes_inode_gone(the_mount->nodes, inode);
}

static uint32_t serving_threads(const struct options *options)
{
    return options->single_thread ? 1 : options->threads != 0 ? options->threads : MAX_THREADS;
}

static uint64_t description_memory(const struct options *options)
{
    return options->limit_descriptions > 0 ? options->limit_descriptions : memory_there_is() / 16;
}

static int collectives_new(const struct options *options, struct mount *mount)
{
    static const struct groups_ops groups_ops = { now, start_round, drop_ask, group_failed };
    static const struct processes_ops processes_ops = { process_ended, tick };
    struct groups_limits limits = groups_usual_limits;
    uint32_t serving = serving_threads(options);
    int r = guard_init();

    limits.patience = (uint64_t) options->timeout * 1000000000;
    limits.groups = options->limit_groups;
    limits.wanted = description_memory(options);
    if (r == 0)
        r = groups_new(&groups_ops, mount, &limits, &mount->groups);
    if (r == 0)
        r = collect_new(mount->fs, serving, options->window, ask_ended, &mount->collect);
    if (r == 0)
        r = buffers_new(mount->accounts, &mount->buffers);
    if (r == 0)
        r = processes_new(&processes_ops, mount, n_descriptors() / 16, &mount->processes);
    return r;
}

/* Ends groups and their rounds. Who still waits is answered first, while the connection is there. */
static void collectives_end(struct mount *mount)
{
    processes_free(steal(mount->processes));
    if (mount->collect != NULL)
        collect_give_up(mount->collect);
    groups_free(steal(mount->groups));
    collect_free(steal(mount->collect));
}

/* -- serving -- */

/* Logs which disks are absent. It is a warning only: who mounted has asked for a mount without them. */
static void warn_of_absent(const struct volume *volume)
{
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (!disk_is_present(&volume->disk[i]) && volume->disk[i].standing != DISK_GONE)
            log_warning("d%" PRIu32 " (%s) is not here: files with bytes there cannot be read whole", i,
                        volume->disk[i].path);
}

static int serve_mount(const struct options *options, struct fuse_session *session, struct mount *mount)
{
    struct closing *closing = NULL;
    struct metrics_file *metrics_file = NULL;
    int r;

    if (fuse_set_signal_handlers(session) != 0)
        return -EIO;
    if (fuse_session_mount(session, options->mountpoint) != 0) {
        fuse_remove_signal_handlers(session);
        log_error("cannot mount at %s, for the reason above; a wrong -o option may be one", options->mountpoint);
        return -EIO;
    }
    if (geteuid() == 0)
        mountpoint_name_helper(options->mountpoint);
    if (options->nosymfollow && (r = mountpoint_follow_no_links(options->mountpoint)) < 0) {
        log_error("-o nosymfollow: %s; root may ask for it, of Linux 5.14 or newer", strerror(-r));
        fuse_session_unmount(session);
        fuse_remove_signal_handlers(session);
        return r;
    }
    kernel_io_use(session);
    r = fuse_daemonize(options->foreground);
    if (r == 0) {
        if (!options->foreground)
            log_to_system();
        warn_of_absent(mount->fs->volume);
        r = connection_guard_start(options->mountpoint, &mount->guard);
    }
    if (r == 0)
        r = closing_start(session, mount->collect, &mount->guard, options->timeout, &closing);
    if (r == 0) {
        workers_start(mount->fs->workers);
        mount->fs->resized = kernel_forgets_attributes;
        r = deadlines_start(mount->deadlines);
        r = r == 0 ? processes_start(mount->processes) : r;
        r = r == 0 ? jobs_start(mount->fs->jobs) : r;
        r = r == 0 ? refills_start(mount->fs->refills) : r;
        r = r == 0 ? room_start(mount->fs->room) : r;
    }
    if (r == 0)
        r = metrics_file_start(options->metrics, &metrics_file);
    if (r == 0)
        mover_resume(mount->mover);
    if (r == 0)
        r = loop(options, session);
    refills_stop(mount->fs->refills); /* it tells the kernel of blocks */
    mount->fs->resized = NULL;
    closing_end(closing);
    metrics_file_end(metrics_file);
    if (kernel_forgets_no_more()) /* a thread still tells the kernel, and waits for what nobody serves now */
        connection_guard_act(&mount->guard);
    fuse_session_unmount(session);
    volume_note_ending(mount->fs->volume);
    fuse_remove_signal_handlers(session);
    return MIN(r, 0);
}

/* Chooses the generation that the kernel puts into NFS file handles beside an inode's number: a handle must be good for
 * nothing in another mount. A mount that writes has an epoch of its own. Mounts that only read have that of the last
 * one that wrote, so they draw a number that no epoch gets to. */
static int choose_generation(const struct fs *fs, uint32_t *ret_generation)
{
    uint32_t drawn = 0;
    int r = fs->read_only ? random_bytes(&drawn, sizeof drawn) : 0;

    *ret_generation = fs->read_only ? UINT32_C(1) << 31 | drawn : (uint32_t) fs->volume->epoch;
    return r;
}

static struct accounts_limits limits_of(const struct options *options)
{
    struct accounts_limits limits = { .of = { [ACCOUNT_VIEWS] = options->limit_views } };
    uint32_t there_are = n_descriptors();

    limits.of[ACCOUNT_DESCRIPTORS] = options->limit_descriptors > 0 ? options->limit_descriptors : there_are / 8;
    limits.of[ACCOUNT_VIEW_BYTES] = options->limit_view_memory;
    limits.of[ACCOUNT_BUFFERS] = BUFFERS_MAX_NUMBER;
    limits.of[ACCOUNT_BUFFER_BYTES] = memory_there_is();
    limits.of[ACCOUNT_HOLE_BYTES] = options->limit_hole_memory;
    limits.of[ACCOUNT_LIST_BYTES] = description_memory(options);
    limits.of[ACCOUNT_TEXT_BYTES] = OPEN_TEXTS;
    return limits;
}

/* Lets go of what a handle has of a view, and of its node last: the view counts in there (struct handle_ends). */
static void end_view(struct held_view *held, struct node *node)
{
    held_view_put(held);
    node_put(the_mount->nodes, node);
}

/* Makes what records accesses; with -o trace it does so from the first one on. */
static int trace_new(const struct options *options, struct mount *mount)
{
    int r = tracing_new(mount->fs, mount->handles, options, geteuid(), &mount->tracing);

    if (r < 0)
        return r;
    requests_tell(tracing_note, mount->tracing);
    if (!options->trace)
        return 0;
    return tracing_start(mount->tracing, inodes_root(mount->fs->inodes), geteuid(), false,
                         (uint16_t) options->trace_sample);
}

static int mount_fs(const struct options *options, struct troubles *troubles, struct fs *fs, bool *ret_usage_is_wrong)
{
    struct mount mount = { .fs = fs,
                           .troubles = troubles,
                           .options = options,
                           .timeout = FOR_EVER,
                           .direct_io = options->direct_io,
                           .max_waiting = serving_threads(options) / 4,
                           .max_read = max_read_of(options),
                           .layout_allow = options->layout_allow,
                           .layout_gid = options->layout_gid };
    static const struct handle_ends ends = { sections_free, end_view };
    const struct accounts_limits limits = limits_of(options);
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    const struct fuse_lowlevel_ops ops = all_ops();
    struct fuse_session *session = NULL;
    int r = accounts_new(&limits, geteuid(), &mount.accounts);

    pipes_limit(n_descriptors() / 16);
    the_mount = &mount;
    snapshot_init();
    fs->gone = inode_gone;
    if (r == 0)
        r = choose_generation(fs, &mount.generation);
    while (r == 0 && mount.life == 0)
        r = random_bytes(&mount.life, sizeof mount.life);
    if (r == 0)
        r = last_errors_new(&mount.last_errors);
    if (r == 0)
        r = mover_new(fs, &mount.mover);
    if (r == 0)
        r = nodes_new(fs, kernel_forgets_name, &mount.nodes);
    if (r == 0)
        r = handles_new(mount.accounts, &ends, options->direct_io, &mount.handles);
    if (r == 0)
        r = trace_new(options, &mount);
    if (r == 0)
        r = views_new(fs, mount.accounts, &mount.views);
    if (r == 0)
        r = deadlines_new(fs, mount.handles, troubles, options->timeout, &mount.deadlines);
    if (r == 0)
        r = collectives_new(options, &mount);
    if (r == 0)
        r = fuse_words(options, &args);
    if (r == 0) {
        session = fuse_session_new(&args, &ops, sizeof ops, &mount);
        if (session == NULL)
            log_error("an option is wrong, as said above: 'fallsfs --help' and mount.fuse3(8) list what -o takes");
        mount.session = session;
        *ret_usage_is_wrong = session == NULL;
        r = session != NULL ? serve_mount(options, session, &mount) : -EINVAL;
    }
    mover_free(mount.mover);
    collectives_end(&mount);
    connection_guard_end(&mount.guard);
    deadlines_free(mount.deadlines);
    if (session != NULL)
        fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    handles_free(mount.handles);
    tracing_free(mount.tracing);
    nodes_free(mount.nodes);
    last_errors_free(mount.last_errors);
    buffers_free(mount.buffers);
    views_free(mount.views);
    open_texts_free();
    accounts_free(mount.accounts);
    fs->gone = NULL;
    return r;
}

/* Makes paths absolute, so that they stay right when the daemon changes its directory to /. */
static int resolve_paths(struct options *options, struct volume_error *error)
{
    int r = mountpoint_resolve(&options->mountpoint);

    if (r == -EPERM)
        return volume_fail(error, r,
                           "%s still has the mount of a fallsfs that was killed, and it cannot be unmounted: ask who "
                           "mounted it, or root, to umount it",
                           options->mountpoint);
    if (r < 0)
        return volume_fail(error, r, "cannot mount at %s: %s%s", options->mountpoint, strerror(-r),
                           r == -ENOENT ? "; make it first, with mkdir" : "");
    r = disks_resolve(options, error);
    return r < 0 ? r : metrics_file_resolve(&options->metrics, options->mountpoint, error);
}

static int run(struct options *options)
{
    struct volume_error error;
    struct troubles *troubles = NULL;
    struct fs *fs = NULL;
    bool usage_is_wrong = false;
    int r = resolve_paths(options, &error), end;

    if (r == 0 && (r = troubles_new(options->mountpoint, &troubles)) < 0)
        volume_fail(&error, r, "out of memory");
    if (r == 0)
        r = open_fs(options, troubles, &fs, &error);
    if (r < 0) {
        log_error("%s", error.why);
        troubles_free(troubles);
        return 1;
    }
    if (options->asks_for_suid)
        log_warning("-o suid,dev: set-user-ID bits and device files never work in a fallsfs mount; going on without");
    r = mount_fs(options, troubles, fs, &usage_is_wrong);
    troubles_say_last(troubles, fs);
    end = fs_free(fs);
    troubles_say_last(troubles, NULL);
    troubles_free(troubles);
    if (end < 0)
        log_error("the volume did not end well (%s): the next mount looks at the files again", strerror(-end));
    return usage_is_wrong ? 2 : r < 0 || end < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    struct options_error error;
    int status, r;

    umask(0);
    log_init();
    /* Large memory gets mappings of its own, which go back to the system when freed: threads come and go with megabytes
     * of buffers and windows, which would otherwise leave holes between small things. */
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
