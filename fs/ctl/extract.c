/* SPDX-License-Identifier: MIT */
/* fallsctl extract: files out of a volume that nobody needs to mount. */
#include "fs/core/salvage.h"
#include "fs/core/tree.h"
#include "fs/core/walk.h"
#include "fs/ctl/answer.h"
#include "fs/ctl/args.h"
#include "fs/ctl/view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl extract [-r] [-o OUT] [--partial] [--json] DISK... PATH\n"
    "\n"
    "Copies the file PATH, counted from the volume's root, out of the volume on these disks, to standard output or to the\n"
    "new file OUT. No mount is needed and nothing on the disks is changed. Disks may be left out, except the home disk,\n"
    "which has the names; a byte that was on a missing disk is an error that names it. Leave the volume unmounted, or\n"
    "files that are being written come out as they happen to be.\n"
    "\n"
    "  -r          PATH is a directory: with all that is in it into the directory OUT, with modes, times and symlinks, and\n"
    "              owners when root does it. Hard links become files of their own\n"
    "  -o OUT      where to; never replaces a file\n"
    "  --partial   fills bytes that are lost with zeros, says which on standard error, and goes on; exit status 3\n"
    "  --json      says what was done in JSON; needs -o\n"
    "\n"
    "examples:\n"
    "  fallsctl extract /mnt/d0 /mnt/d1 /mnt/d2 results/a.dat > a.dat\n"
    "  fallsctl extract -r -o rescued /mnt/d0 /mnt/d1 /mnt/d2 /\n"
    "  fallsctl extract --partial -o a.dat /mnt/d0 /mnt/d2 a.dat\n";

#define CHUNK       (1 << 20)
#define MAX_TOLD    16 /* lost ranges of a file that are told one by one */
#define MAX_OPEN    512
#define COPY_PREFIX 0700 /* a directory while it is being filled */

struct request {
    bool recursive, partial, as_json;
    const char *out;
    struct json json;
    char **disk;
    uint32_t n_disks;
    struct fs *fs;
    uint8_t *buf;
    uint64_t files, failed, lost_bytes;
};

/* A file on its way out. */
struct copy {
    struct request *request;
    const char *path;
    struct file *file;
    uint64_t n_lost, lost_bytes;
    uint64_t first_off, first_len; /* of the lost ranges */
};

PRINTF_LIKE(3, 4) static int fail(struct request *request, int r, const char *fmt, ...)
{
    char why[PATH_MAX + 512];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    fprintf(stderr, "%s\n", why);
    if (request->as_json)
        json_string(&request->json, NULL, why);
    request->failed++;
    return r;
}

/* -- bytes -- */

static void note_lost(void *arg, uint64_t off, uint64_t len, int error)
{
    struct copy *copy = arg;

    if (copy->n_lost == 0) {
        copy->first_off = off;
        copy->first_len = len;
    }
    copy->n_lost++;
    copy->lost_bytes += len;
    if (copy->request->partial && copy->n_lost <= MAX_TOLD)
        fprintf(stderr, "%s: bytes %" PRIu64 " to %" PRIu64 " are lost (%s): zeros in their place\n", copy->path, off,
                off + len - 1, error == -EIO ? "missing, or on a missing disk" : strerror(-error));
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Into a file holes go as holes. */
static int put(int fd, const uint8_t *bytes, size_t len, uint64_t off, bool seekable)
{
    if (seekable && is_zero(bytes, len))
        return 0;
    while (len > 0) {
        ssize_t n = seekable ? pwrite(fd, bytes, len, (off_t) off) : write(fd, bytes, len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            off += (uint64_t) n;
            len -= (size_t) n;
        }
    }
    return 0;
}

static int copy_bytes(struct copy *copy, int fd, bool seekable)
{
    const struct salvage salvage = { note_lost, copy };
    struct request *request = copy->request;
    uint64_t off = 0;
    ssize_t n;

    while ((n = salvage_read(request->fs, copy->file, request->buf, CHUNK, off, &salvage)) > 0) {
        int r;

        if (copy->n_lost > 0 && !request->partial)
            return fail(request, -EIO,
                        "%s: bytes %" PRIu64 " to %" PRIu64 " are lost, on a missing disk or missing there; --partial "
                        "puts zeros in their place",
                        copy->path, copy->first_off, copy->first_off + copy->first_len - 1);
        r = put(fd, request->buf, (size_t) n, off, seekable);
        if (r < 0)
            return fail(request, r, "cannot write what %s has: %s", copy->path, strerror(-r));
        off += (uint64_t) n;
    }
    if (n < 0)
        return fail(request, (int) n, "cannot read %s: %s", copy->path, strerror((int) -n));
    if (seekable && ftruncate(fd, (off_t) off) < 0)
        return fail(request, -errno, "cannot write what %s has: %s", copy->path, strerror(errno));
    return 0;
}

static int copy_inode(struct request *request, struct inode *inode, const char *path, int fd, bool seekable)
{
    struct copy copy = { .request = request, .path = path };
    int r = file_get(request->fs, inode, &copy.file);

    if (r < 0)
        return fail(request, r, "cannot read %s: %s", path,
                    r == -EUCLEAN ? "its record or layout is damaged; fsck.fallsfs may have a copy" : strerror(-r));
    r = copy_bytes(&copy, fd, seekable);
    file_put(request->fs, copy.file);
    if (r == 0 && copy.n_lost > 0) {
        fail(request, 0, "%s: %" PRIu64 " bytes in %" PRIu64 " pieces are lost", path, copy.lost_bytes, copy.n_lost);
        request->lost_bytes += copy.lost_bytes;
    }
    request->files += r == 0;
    return r;
}

/* -- names -- */

/* The inode at a path below the volume's root, with a reference. */
static int look_up(struct fs *fs, const char *path, struct inode **ret_inode, struct stat *ret_stat)
{
    struct inode *inode = inodes_root(fs->inodes);
    int r;

    inode_ref(fs->inodes, inode);
    r = tree_stat(fs, inode, ret_stat);
    while (r == 0 && *path != 0) {
        size_t len = strcspn(path, "/");
        struct inode *child;
        char name[NAME_MAX + 1];

        snprintf(name, sizeof name, "%.*s", (int) MIN(len, NAME_MAX), path);
        path += len + (path[len] == '/');
        if (len == 0 || strcmp(name, ".") == 0)
            continue;
        r = len > NAME_MAX ? -ENAMETOOLONG : strcmp(name, "..") == 0 ? -EINVAL : 0;
        if (r == 0)
            r = S_ISDIR(ret_stat->st_mode) ? tree_lookup(fs, inode, name, &child, ret_stat) : -ENOTDIR;
        if (r == 0) {
            inode_unref(fs->inodes, inode);
            inode = child;
        }
    }
    if (r < 0)
        inode_unref(fs->inodes, inode);
    else
        *ret_inode = inode;
    return r;
}

/* Owner first: changing it takes setuid bits away. */
static int dress(int dir, const char *name, const struct stat *st)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };

    if (geteuid() == 0 && fchownat(dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISLNK(st->st_mode) && fchmodat(dir, name, st->st_mode & 07777, 0) < 0)
        return -errno;
    return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* A new file, never one that is there; a device or a pipe may be. */
static int open_out(int dir, const char *name, bool *ret_made)
{
    struct stat st;
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    *ret_made = fd >= 0;
    if (fd < 0 && errno == EEXIST && fstatat(dir, name, &st, 0) == 0 && !S_ISREG(st.st_mode))
        fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    else if (fd < 0 && errno == EEXIST)
        return -EEXIST;
    return fd < 0 ? -errno : fd;
}

/* On failure nothing is left that could be taken for the file. */
static int copy_to_name(struct request *request, const char *path, int dir, const char *name)
{
    struct inode *inode;
    struct stat st;
    bool made;
    int fd, r = look_up(request->fs, path, &inode, &st);

    if (r < 0)
        return fail(request, r, "%s: %s", path, strerror(-r));
    fd = S_ISREG(st.st_mode) ? open_out(dir, name, &made) : -EISDIR;
    if (fd < 0) {
        inode_unref(request->fs->inodes, inode);
        return fail(request, fd,
                    fd == -EISDIR ? "%s is no file: -r and -o take a directory with what is in it"
                                  : "%s: cannot make the file to copy it to: %s",
                    path, strerror(-fd));
    }
    r = copy_inode(request, inode, path, fd, made);
    inode_unref(request->fs->inodes, inode);
    if (close(fd) < 0 && r == 0)
        r = fail(request, -errno, "cannot write what %s has: %s", path, strerror(errno));
    if (made && r < 0)
        (void) unlinkat(dir, name, 0);
    else if (made && dress(dir, name, &st) < 0)
        fail(request, 0, "%s: cannot give the copy its owner, mode and times: %s", path, strerror(errno));
    return r;
}

static int copy_to_stdout(struct request *request, const char *path)
{
    struct inode *inode;
    struct stat st;
    int r = look_up(request->fs, path, &inode, &st);

    if (r < 0)
        return fail(request, r, "%s: %s", path, strerror(-r));
    if (S_ISREG(st.st_mode))
        r = copy_inode(request, inode, path, STDOUT_FILENO, false);
    else
        r = fail(request, -EISDIR, "%s is no file: -r and -o take a directory with what is in it", path);
    inode_unref(request->fs->inodes, inode);
    return r;
}

/* -- trees -- */

/* Directories of the copy, from OUT down. */
struct tree {
    struct request *request;
    const struct disk *home;
    const char *root; /* in the volume; empty or with a slash at its end */
    int dir[WALK_MAX_DEPTH + 1];
    struct stat top;
};

static void copy_link(struct tree *tree, const struct walk_entry *entry)
{
    int dir = tree->dir[entry->depth];
    char target[PATH_MAX + 1];
    ssize_t n = disk_call(tree->home, read_link, entry->dir, entry->name, target, sizeof target - 1);

    if (n >= 0) {
        target[n] = 0;
        n = symlinkat(target, dir, entry->name) < 0 ? -errno : dress(dir, entry->name, &entry->st);
    }
    if (n < 0)
        fail(tree->request, 0, "%s%s: cannot copy the symlink: %s", tree->root, entry->path, strerror((int) -n));
}

static void enter(struct tree *tree, const struct walk_entry *entry, struct walk *walk)
{
    int dir = tree->dir[entry->depth], fd = -1;

    if (entry->depth + 1 < ARRAY_SIZE(tree->dir) && (mkdirat(dir, entry->name, COPY_PREFIX) == 0 || errno == EEXIST))
        fd = openat(dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        walk_skip(walk);
        fail(tree->request, 0, "%s%s: cannot make the directory: %s", tree->root, entry->path, strerror(errno));
        return;
    }
    tree->dir[entry->depth + 1] = fd;
}

static void leave(struct tree *tree, const struct walk_entry *entry)
{
    if (entry->error < 0)
        fail(tree->request, 0, "%s%s: cannot read the directory: %s", tree->root, entry->path, strerror(-entry->error));
    if (entry->name[0] == 0)
        return;
    close(tree->dir[entry->depth + 1]);
    if (dress(tree->dir[entry->depth], entry->name, &entry->st) < 0)
        fail(tree->request, 0, "%s%s: cannot give the copy its owner, mode and times: %s", tree->root, entry->path,
             strerror(errno));
}

static void copy_file(struct tree *tree, const struct walk_entry *entry)
{
    cleanup(freep) char *path = NULL;

    if (asprintf(&path, "%s%s", tree->root, entry->path) < 0) {
        path = NULL;
        fail(tree->request, 0, "out of memory");
        return;
    }
    (void) copy_to_name(tree->request, path, tree->dir[entry->depth], entry->name);
}

static void copy_entry(struct tree *tree, const struct walk_entry *entry, struct walk *walk)
{
    if (entry->leaving)
        leave(tree, entry);
    else if (entry->error < 0)
        fail(tree->request, 0, "%s%s: %s", tree->root, entry->path, strerror(-entry->error));
    else if (S_ISDIR(entry->st.st_mode))
        enter(tree, entry, walk);
    else if (S_ISLNK(entry->st.st_mode))
        copy_link(tree, entry);
    else if (S_ISREG(entry->st.st_mode))
        copy_file(tree, entry);
    else
        fail(tree->request, 0, "%s%s: is left out, it is neither file, directory nor symlink", tree->root, entry->path);
}

/* Where the walk begins in the volume. */
static int start_walk(struct tree *tree, const char *path, struct walk **ret_walk)
{
    struct fs *fs = tree->request->fs;
    struct inode *inode;
    int fd, r = look_up(fs, path, &inode, &tree->top);

    if (r < 0)
        return r;
    r = S_ISDIR(tree->top.st_mode) ? tree_open_dir(fs, inode, &fd) : -ENOTDIR;
    inode_unref(fs->inodes, inode);
    if (r < 0)
        return r;
    r = walk_new(tree->home, fd, ret_walk);
    disk_close(tree->home, &fd);
    return r;
}

static int copy_tree(struct request *request, const char *path)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    cleanup(freep) struct tree *tree = calloc(1, sizeof *tree);
    cleanup(freep) char *root = NULL;
    struct walk_entry entry;
    int r;

    if (tree == NULL || asprintf(&root, "%s%s", path, *path != 0 ? "/" : "") < 0)
        return fail(request, -ENOMEM, "out of memory");
    *tree = (struct tree){ .request = request, .home = fs_home(request->fs), .root = root };
    r = start_walk(tree, path, &walk);
    if (r < 0)
        return fail(request, r, "%s: %s", *path != 0 ? path : "/", strerror(-r));
    if (mkdir(request->out, COPY_PREFIX) < 0 && errno != EEXIST)
        return fail(request, -errno, "cannot make the directory %s: %s", request->out, strerror(errno));
    tree->dir[0] = open(request->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->dir[0] < 0)
        return fail(request, -errno, "cannot open the directory %s: %s", request->out, strerror(errno));
    while ((r = walk_next(walk, &entry)) > 0)
        copy_entry(tree, &entry, walk);
    close(tree->dir[0]);
    if (r == 0 && dress(AT_FDCWD, request->out, &tree->top) < 0)
        fail(request, 0, "%s: cannot give it owner, mode and times: %s", request->out, strerror(errno));
    return r;
}

/* -- the volume -- */

static int open_volume(const struct request *request, struct volume **ret_volume, struct volume_error *error)
{
    cleanup(freep) struct member *member = calloc(request->n_disks, sizeof *member);
    uint32_t n = 0;
    int r = member == NULL ? volume_fail(error, -ENOMEM, "out of memory") : 0;

    while (r == 0 && n < request->n_disks) {
        r = member_open(request->disk[n], &member[n]);
        if (r < 0)
            volume_fail(error, r, "cannot open the disk %s: %s; the last word is the path in the volume",
                        request->disk[n], strerror(-r));
        else
            n++;
    }
    if (r == 0)
        r = volume_open(member, n, VOLUME_PEEK | VOLUME_READ_ONLY | VOLUME_DEGRADED, ret_volume, error);
    for (uint32_t i = 0; i < n; i++)
        member_close(&member[i]);
    return r;
}

static int open_fs(struct request *request, struct volume_error *error)
{
    const struct fs_options options = { .layout = VIEW_LAYOUT, .max_fds = MAX_OPEN };
    struct rlimit limit;
    struct volume *volume = NULL;
    int r = open_volume(request, &volume, error);

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* a deep tree holds many */
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
    return r < 0 ? r : fs_new(volume, &options, &request->fs, error);
}

static void begin(struct request *request)
{
    if (!request->as_json)
        return;
    json_begin(&request->json, stdout);
    json_open(&request->json, "errors", '[');
}

static enum ctl_status end(struct request *request)
{
    if (request->as_json) {
        json_close(&request->json, ']');
        json_u64(&request->json, "files", request->files);
        json_u64(&request->json, "failed", request->failed);
        json_u64(&request->json, "lost_bytes", request->lost_bytes);
        json_end(&request->json);
    }
    return request->failed == 0 ? CTL_OK : request->files > 0 ? CTL_PARTIAL : CTL_ERROR;
}

static enum ctl_status extract(struct request *request, const char *path)
{
    struct volume_error error = { 0 };

    begin(request);
    request->buf = malloc(CHUNK);
    if (request->buf == NULL)
        fail(request, 0, "out of memory");
    else if (open_fs(request, &error) < 0)
        fail(request, 0, "%s", error.why);
    else if (request->recursive)
        (void) copy_tree(request, path);
    else if (request->out != NULL)
        (void) copy_to_name(request, path, AT_FDCWD, request->out);
    else
        (void) copy_to_stdout(request, path);
    if (request->fs != NULL)
        (void) fs_free(request->fs);
    free(request->buf);
    return end(request);
}

enum ctl_status ctl_extract(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "-r", .other = "--recursive", .set = &request.recursive },
                               { .name = "--partial", .set = &request.partial },
                               { .name = "--json", .set = &request.as_json },
                               { .name = "-o", .other = "--output", .value = &request.out } };
    struct args args = { .verb = "extract", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    char *path;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 2)
        return args_complain("extract", "which disks, and which path in the volume?", NULL);
    if (request.out == NULL && (request.recursive || request.as_json))
        return args_complain("extract", "-r and --json need -o OUT", NULL);
    request.disk = args.word;
    request.n_disks = (uint32_t) args.n - 1;
    path = args.word[args.n - 1];
    path += strspn(path, "/");
    for (size_t len = strlen(path); len > 0 && path[len - 1] == '/'; len--)
        path[len - 1] = 0;
    return extract(&request, path);
}
