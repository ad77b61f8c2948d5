/* SPDX-License-Identifier: MIT */
/* fallsctl umount: unmounts, and is over when the disks can be taken away.
 *
 *     umount(2)         the kernel forgets the mount, and goes on
 *     the daemon        writes what is left, says on the disks that all is well, lets go of their locks, ends
 *     fallsctl umount   waits for the locks */
#include "fs/core/volume/stamp.h"
#include "fs/ctl/ask/mount_info.h"
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl umount [-f | -l] [--json] MOUNTPOINT\n"
    "\n"
    "Unmounts a fallsfs, and waits until its daemon has written everything and has let go of the disks, which umount(8)\n"
    "alone does not: then they can be unmounted, too. Where fallsfs is installed below /usr/local or /usr, umount(8) does\n"
    "it so by itself. As who mounted it, or as root.\n"
    "\n"
    "  -f   unmounts even if the daemon does not answer\n"
    "  -l   takes the mount away now, and unmounts when nothing in it is used any more\n"
    "       With either, nothing is waited for\n"
    "  --json  machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl umount /fast\n"
    "  fallsctl umount /fast && umount /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fallsctl umount -l /fast\n";

#define PAUSE   20000 /* us between two looks */
#define PATIENT 2000  /* ms, after which it is said what is waited for */

struct request {
    bool force, lazy, as_json;
    char *target;
    int *lock; /* the disks' lock files */
    uint32_t n_locks;
};

static void request_done(struct request *request)
{
    for (uint32_t i = 0; i < request->n_locks; i++)
        close(request->lock[i]);
    free(request->lock);
    free(request->target);
}

/* -- the disks' locks -- */

static void open_locks(struct request *request, const struct volume_disks *disks)
{
    request->lock = calloc(MAX(disks->n, 1), sizeof request->lock[0]);
    for (uint32_t i = 0; request->lock != NULL && i < disks->n; i++) {
        cleanup(freep) char *path = NULL;
        int fd = asprintf(&path, "%s/" STAMP_DIR "/lock", disks->disk[i].path) >= 0
                     ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                     : -1;

        if (fd >= 0)
            request->lock[request->n_locks++] = fd;
    }
}

static bool is_held(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool any_is_held(const struct request *request)
{
    for (uint32_t i = 0; i < request->n_locks; i++)
        if (is_held(request->lock[i]))
            return true;
    return false;
}

/* Waits as long as it takes for the daemon to let go of the disks; one that is killed does that, too. */
static void wait_for_daemon(const struct request *request)
{
    bool is_said = false;

    for (uint64_t waited = 0; any_is_held(request); waited += PAUSE) {
        if (!is_said && waited / 1000 >= PATIENT) {
            utf8_complain("%s is unmounted; waiting until all is written", request->target);
            is_said = true;
        }
        usleep(PAUSE);
    }
}

/* -- unmounting -- */

/* Unmounts with umount; with fusermount3 for an ordinary user, whose mounts it alone may undo. With -i umount(8) does
 * not call its helper, which would be us. */
static int run_umount(const struct request *request)
{
    const bool as_root = geteuid() == 0;
    const char *word[] = { as_root ? "umount" : "fusermount3", as_root ? "-i" : "-u", NULL, NULL, NULL, NULL };
    size_t n = 2;
    int status;
    pid_t pid;

    if (request->force && as_root)
        word[n++] = "-f";
    if (request->lazy)
        word[n++] = as_root ? "-l" : "-z";
    word[n] = request->target;
    pid = fork();
    if (pid == 0) {
        execvp(word[0], drop_const(word));
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -errno;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        utf8_complain("cannot run %s: is it installed?", word[0]);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

/* Whether another mount of it is left, in any namespace: the kernel keeps the device as long as there is one. */
static bool is_mounted_elsewhere(const struct mount_place *place)
{
    char path[64];

    snprintf(path, sizeof path, "/sys/class/bdi/%u:%u", major(place->dev), minor(place->dev));
    return access(path, F_OK) == 0;
}

/* Tells what was done. disks_are_free: the daemon has let go of the disks, so they can be unmounted, too. */
static void tell(const struct request *request, bool disks_are_free)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "mountpoint", request->target);
    json_bool(&json, "disks_are_free", disks_are_free);
    json_end(&json);
}

static enum ctl_status run(struct request *request, const char *word)
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(mount_info_freep) struct mount_info *mount = NULL;
    const struct mount_place *place = mounts_read(&mounts) == 0 ? mounts_at(&mounts, word) : NULL;
    bool is_waiting;

    if (place == NULL)
        return report(request->as_json, "%s: no fallsfs is mounted there; 'fallsctl status' lists those that are",
                      word);
    request->target = strdup(place->target);
    if (request->target == NULL)
        return report(request->as_json, "out of memory");
    if (!request->force && !request->lazy) {
        mount = mount_info_ask(request->target);
        if (mount == NULL)
            utf8_complain("%s: its daemon does not answer: nothing is waited for", request->target);
        else if (mount->error == 0) /* an error means that the daemon is gone */
            open_locks(request, &mount->disks);
    }
    if (run_umount(request) < 0)
        return report(request->as_json, "%s is not unmounted, for the reason above", request->target);
    is_waiting = request->n_locks > 0 && !is_mounted_elsewhere(place);
    if (request->n_locks > 0 && !is_waiting)
        utf8_complain(
            "%s is unmounted, but also mounted elsewhere, in another place or namespace: its disks stay in use",
            request->target);
    else
        wait_for_daemon(request);
    if (request->as_json)
        tell(request, is_waiting);
    return CTL_OK;
}

enum ctl_status ctl_umount(int argc, char **argv)
{
    cleanup(request_done) struct request request = { .target = NULL };
    const struct arg arg[] = { { .name = "-f", .other = "--force", .set = &request.force },
                               { .name = "-l", .other = "--lazy", .set = &request.lazy },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "umount", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n != 1)
        return args_complain("umount", "which mount?", NULL);
    return run(&request, args.word[0]);
}
