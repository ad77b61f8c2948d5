/* SPDX-License-Identifier: MIT */
/* fallsfs: options → volume → mount → loop → exit status. */
#include "fs/daemon/log.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/options.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LAYOUT "stripe(1M)"
#define READ_AHEAD     (4 << 20)
#define FOR_EVER       86400.0 /* seconds the kernel may keep what it was told */

/* -- the volume -- */

static int open_members(const struct options *options, struct member member[], struct volume_error *error)
{
    for (uint32_t i = 0; i < options->n_disks; i++) {
        int r = member_open(options->disk[i], &member[i]);

        if (r < 0)
            return volume_fail(error, r, "cannot open the disk %s: %s", options->disk[i], strerror(-r));
    }
    return 0;
}

static int open_volume_once(const struct options *options, struct volume **ret_volume, struct volume_error *error)
{
    enum volume_flags flags = (options->read_only ? VOLUME_READ_ONLY : 0) | (options->degraded ? VOLUME_DEGRADED : 0);
    cleanup(freep) struct member *member = calloc(options->n_disks, sizeof *member);
    int r;

    if (member == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < options->n_disks; i++)
        member[i].dir = -1;
    r = open_members(options, member, error);
    if (r == 0)
        r = volume_open(member, options->n_disks, flags, ret_volume, error);
    for (uint32_t i = 0; i < options->n_disks; i++)
        member_close(&member[i]);
    return r;
}

/* Disks that are mounted late at boot show as directories without a stamp. */
static int open_volume(const struct options *options, struct volume **ret_volume, struct volume_error *error)
{
    int r = open_volume_once(options, ret_volume, error);

    for (uint32_t i = 0; (r == -ENODEV || r == -ENOENT) && i < options->wait_disks; i++) {
        const struct timespec second = { .tv_sec = 1 };

        nanosleep(&second, NULL);
        r = open_volume_once(options, ret_volume, error);
    }
    return r;
}

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

static int open_fs(const struct options *options, struct fs **ret_fs, struct volume_error *error)
{
    struct volume *volume;
    struct fs_options fs_options;
    int r = open_volume(options, &volume, error);

    if (r < 0)
        return r;
    fs_options = (struct fs_options){ .layout = options->layout != NULL ? options->layout : DEFAULT_LAYOUT,
                                      .max_fds = MIN(raise_limits() / 2, 16384),
                                      .n_threads = 4 * volume->n_disks + 4 };
    return fs_new(volume, &fs_options, ret_fs, error);
}

/* -- the mount -- */

static void op_init(void *data, struct fuse_conn_info *conn)
{
    const unsigned want = FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_DONT_MASK |
                          FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL | FUSE_CAP_ASYNC_DIO | FUSE_CAP_READDIRPLUS |
                          FUSE_CAP_READDIRPLUS_AUTO;

    (void) data;
    /* Copies through pipes were never faster, and a cache that writes late would own sizes and times. */
    conn->want =
        (conn->want | want) & conn->capable &
        ~(unsigned) (FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE);
    conn->max_write = MAX_REQUEST;
    conn->max_background = 64;
    conn->congestion_threshold = 48;
}

static struct fuse_lowlevel_ops all_ops(void)
{
    struct fuse_lowlevel_ops ops = { .init = op_init };

    ops_add_names(&ops);
    ops_add_attr(&ops);
    ops_add_data(&ops);
    ops_add_dir(&ops);
    return ops;
}

/* The words libfuse reads: who we are, what the kernel shall check, what the user said. */
static int fuse_words(const struct options *options, struct fuse_args *args)
{
    cleanup(freep) char *words = NULL;
    size_t len;
    FILE *out = open_memstream(&words, &len);

    if (out == NULL)
        return -ENOMEM;
    fputs("default_permissions,subtype=fallsfs,fsname=", out);
    for (uint32_t i = 0; i < options->n_disks; i++) {
        if (i > 0)
            fputc(':', out);
        for (const char *c = options->disk[i]; *c != 0; c++)
            fprintf(out, *c == ',' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    if (geteuid() == 0)
        fputs(",allow_other", out);
    if (options->read_only)
        fputs(",ro", out);
    if (options->fuse != NULL)
        fprintf(out, ",%s", options->fuse);
    if (fclose(out) != 0 || fuse_opt_add_arg(args, "fallsfs") < 0 || fuse_opt_add_arg(args, "-o") < 0 ||
        fuse_opt_add_arg(args, words) < 0 || (options->debug && fuse_opt_add_arg(args, "-d") < 0))
        return -ENOMEM;
    return 0;
}

static int loop(const struct options *options, struct fuse_session *session, const struct fs *fs)
{
    struct fuse_loop_config *config;
    uint32_t threads = options->threads != 0 ? options->threads : 16 * fs->volume->n_disks + 16;
    int r;

    if (options->single_thread)
        return fuse_session_loop(session);
    config = fuse_loop_cfg_create();
    if (config == NULL)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, MIN(threads, 1024));
    fuse_loop_cfg_set_idle_threads(config, 16);
    r = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return r;
}

static int serve(const struct options *options, struct fuse_session *session, struct fs *fs)
{
    int r;

    if (fuse_set_signal_handlers(session) != 0)
        return -EIO;
    if (fuse_session_mount(session, options->mountpoint) != 0) {
        fuse_remove_signal_handlers(session);
        return -EIO; /* libfuse has said why */
    }
    mountpoint_set_read_ahead(options->mountpoint, READ_AHEAD);
    r = fuse_daemonize(options->foreground);
    if (r == 0) {
        if (!options->foreground)
            log_to_system();
        r = loop(options, session, fs);
    }
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    return MIN(r, 0);
}

static int mount_fs(const struct options *options, struct fs *fs)
{
    struct mount mount = { .fs = fs, .timeout = FOR_EVER, .direct_io = options->direct_io };
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    const struct fuse_lowlevel_ops ops = all_ops();
    struct fuse_session *session = NULL;
    int r = handles_new(&mount.handles);

    if (r == 0)
        r = fuse_words(options, &args);
    if (r == 0) {
        session = fuse_session_new(&args, &ops, sizeof ops, &mount);
        r = session != NULL ? serve(options, session, fs) : -EINVAL;
    }
    if (session != NULL)
        fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    handles_free(mount.handles);
    return r;
}

/* Paths that stay right when the daemon leaves for /. */
static int make_absolute(char **path, const char *what, struct options_error *error)
{
    char *real = realpath(*path, NULL);

    if (real == NULL)
        return options_fail(error, "%s %s: %s", what, *path, strerror(errno));
    free(*path);
    *path = real;
    return 0;
}

static int check_paths(struct options *options, struct options_error *error)
{
    int r = mountpoint_clean(options->mountpoint);

    if (r < 0)
        return options_fail(error,
                            "%s still has the mount of a fallsfs that was killed, and it cannot be unmounted: %s",
                            options->mountpoint, strerror(-r));
    r = make_absolute(&options->mountpoint, "cannot mount at", error);
    for (uint32_t i = 0; r == 0 && i < options->n_disks; i++) {
        if (options->wait_disks == 0 || access(options->disk[i], F_OK) == 0)
            r = make_absolute(&options->disk[i], "cannot use the disk", error);
        if (r == 0 && strcmp(options->disk[i], options->mountpoint) == 0)
            r = options_fail(error, "%s is a disk: mount elsewhere, the last word is the mount point",
                             options->mountpoint);
    }
    return r;
}

static int run(struct options *options)
{
    struct options_error why;
    struct volume_error error;
    struct fs *fs;
    int r = check_paths(options, &why), end;

    if (r < 0) {
        log_error("%s", why.why);
        return 1;
    }
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
    int status;

    umask(0);
    if (options_parse(argc, argv, &options, &error) < 0) {
        log_error("%s", error.why);
        return 2;
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
