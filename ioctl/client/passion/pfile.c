/* SPDX-License-Identifier: MIT */
#include "ioctl/client/passion/pfile.h"

#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct view {
    struct view *next;
    int fd;
    char text[];
};

struct crew {
    struct crew *next;
    int n;
    struct fallsfs_group *group;
};

/* -- names -- */

/* "FILE:3" or "FILE:NAME". */
struct name {
    char *file;
    bool is_part, is_view;
    uint64_t process;
};

static bool is_on_mount(const char *path)
{
    char *copy = strdup(path);
    bool yes = copy != NULL && getxattr(dirname(copy), "user.falls.layout.json", NULL, 0) >= 0;

    free(copy);
    return yes;
}

static bool is_file_on_mount(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && is_on_mount(path);
}

/* Whether the file has a view of that name, whose text is given then. */
static char *view_of(const char *path, const char *name)
{
    char attr[300], text[FALLSFS_MAX_TEXT];
    ssize_t n;

    if (snprintf(attr, sizeof attr, "user.falls.view.%s", name) >= (int) sizeof attr)
        return NULL;
    n = getxattr(path, attr, text, sizeof text - 1);
    return n > 0 ? strndup(text, (size_t) n) : NULL;
}

/* A file that is called so is just that. */
static int name_parse(const char *path, struct name *ret_name, char **ret_view)
{
    struct name name = { .file = strdup(path) };
    struct stat st;
    char *colon;

    *ret_view = NULL;
    if (name.file == NULL)
        return words(-ENOMEM, "there is not enough memory");
    colon = strrchr(name.file, ':');
    if (colon != NULL && colon != name.file && strchr(colon, '/') == NULL) {
        bool is_there = lstat(path, &st) == 0;

        name.is_part = colon[1] != 0 && strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon + 1) < 10;
        name.process = name.is_part ? strtoull(colon + 1, NULL, 10) : 0;
        *colon = 0;
        if (!is_there) {
            name.is_view = name.is_part && is_on_mount(name.file);
            *ret_view = name.is_part ? NULL : view_of(name.file, colon + 1);
        }
        if (!is_there && !name.is_view && *ret_view == NULL && is_file_on_mount(name.file)) {
            free(name.file);
            return words(-ENOENT, "%s is neither a file, nor a process's part, nor a view that its file has", path);
        }
        if (!name.is_view && *ret_view == NULL)
            *colon = ':';
    }
    *ret_name = name;
    return 0;
}

/* -- opening -- */

/* Opens it for as much as is allowed, and makes it if there is none. */
static int open_file(const char *path, bool *ret_new)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    *ret_new = fd >= 0;
    if (fd < 0)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM))
        fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? words(-errno, "%s cannot be opened: %s", path, strerror(errno)) : fd;
}

static int pfile_open(const char *path, uint64_t header, PFILE *file)
{
    struct name name = { .file = NULL };
    char *view = NULL;
    int r = header <= FALLS_LIMIT ? who_am_i(&file->who) : words(-EINVAL, "no file has a header as large as that");

    if (path == NULL)
        r = words(-EINVAL, "there is no name of a file: NULL was given");
    if (r == 0)
        r = name_parse(path, &name, &view);
    if (r == 0)
        r = file->fd = open_file(name.file, &file->is_new);
    if (r >= 0 && view != NULL)
        r = fallsfs_view(file->fd, view);
    file->header = header;
    file->is_part = name.is_part;
    file->is_view = name.is_view;
    file->process = name.process;
    free(view);
    free(name.file);
    return MIN(r, 0);
}

PFILE *PASSION_open_64(char *FileName, uint64_t HeaderSize)
{
    PFILE *file = calloc(1, sizeof *file);
    int r = file != NULL ? 0 : words(-ENOMEM, "there is not enough memory");

    if (r == 0) {
        file->fd = -1;
        r = pfile_open(FileName, HeaderSize, file);
    }
    if (r == 0)
        return file;
    if (file != NULL && file->fd >= 0)
        close(file->fd);
    free(file);
    fail(r);
    return NULL;
}

PFILE *PASSION_open(char *FileName, unsigned int HeaderSize)
{
    return PASSION_open_64(FileName, HeaderSize);
}

int pfile_check(const PFILE *file)
{
    return file != NULL ? 0 : words(-EINVAL, "there is no file: NULL was given; PASSION_open gives it when it fails");
}

int PASSION_close(PFILE *PFilePtr)
{
    int r = pfile_check(PFilePtr);

    if (r < 0)
        return fail(r);
    prefetches_finish(PFilePtr);
    reuses_finish(PFilePtr);
    while (PFilePtr->crews != NULL) {
        struct crew *next = PFilePtr->crews->next;

        (void) fallsfs_leave(PFilePtr->crews->group);
        free(PFilePtr->crews);
        PFilePtr->crews = next;
    }
    while (PFilePtr->views != NULL) {
        struct view *next = PFilePtr->views->next;

        close(PFilePtr->views->fd);
        free(PFilePtr->views);
        PFilePtr->views = next;
    }
    fallsfs_free(PFilePtr->staging);
    r = close(PFilePtr->fd) < 0 ? words(-errno, "closing: %s", strerror(errno)) : 0;
    free(PFilePtr);
    return fail(r);
}

/* -- headers -- */

static int check_header(PFILE *file, const char *HBuf)
{
    int r = pfile_check(file);

    if (r == 0 && HBuf == NULL && file->header > 0)
        r = words(-EINVAL, "HBuf is NULL: it is memory for the header's %" PRIu64 " bytes", file->header);
    return r;
}

int PASSION_read_header(PFILE *PFilePtr, char *HBuf)
{
    uint64_t done = 0;
    int r = check_header(PFilePtr, HBuf);

    if (r < 0)
        return fail(r);
    while (done < PFilePtr->header) {
        ssize_t n = pread(PFilePtr->fd, HBuf + done, PFilePtr->header - done, (off_t) done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(words(-errno, "reading the header: %s", strerror(errno)));
        if (n == 0)
            break;
        done += (uint64_t) n;
    }
    memset(HBuf + done, 0, PFilePtr->header - done);
    return 0;
}

int PASSION_write_header(PFILE *PFilePtr, char *HBuf)
{
    int r = check_header(PFilePtr, HBuf);

    if (r < 0)
        return fail(r);
    for (uint64_t done = 0; done < PFilePtr->header;) {
        ssize_t n = pwrite(PFilePtr->fd, HBuf + done, PFilePtr->header - done, (off_t) done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(words(n < 0 ? -errno : -EIO, "writing the header: %s", strerror(n < 0 ? errno : EIO)));
        done += (uint64_t) n;
    }
    return 0;
}

/* -- the local array -- */

/* A descriptor of the file that is another open file. */
static int open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, (fcntl(fd, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
}

static int view_new(PFILE *file, const char *text, struct view **ret_view)
{
    struct view *view = malloc(sizeof *view + strlen(text) + 1);
    int r;

    if (view == NULL)
        return words(-ENOMEM, "there is not enough memory");
    memcpy(view->text, text, strlen(text) + 1);
    view->fd = open_again(file->fd);
    r = view->fd < 0 ? words(-errno, "opening the file once more: %s", strerror(errno)) : fallsfs_view(view->fd, text);
    if (r < 0) {
        if (view->fd >= 0)
            close(view->fd);
        free(view);
        return r;
    }
    view->next = file->views;
    file->views = *ret_view = view;
    return 0;
}

/* A file that was made just now lies as the array is dealt out, so that each part is a subfile. Where that cannot be,
 * it need not. */
static void lay_out(PFILE *file, const char *layout)
{
    if (file->is_new)
        (void) fsetxattr(file->fd, "user.falls.layout", layout, strlen(layout), 0);
    file->is_new = false;
}

static int find_view(PFILE *file, const OCAD *ocad, struct view **ret_view)
{
    char text[FALLSFS_MAX_TEXT];
    struct view *view = file->views;
    int n = fallsfs_passion_layout(ocad, file->header, text, sizeof text - 32);

    if (n < 0)
        return n;
    lay_out(file, text);
    snprintf(text + n, 32, " element %" PRIu64, file->process);
    while (view != NULL && strcmp(view->text, text) != 0)
        view = view->next;
    *ret_view = view;
    return view != NULL ? 0 : view_new(file, text, ret_view);
}

/* How many indexes of each dimension the file of a part has. */
static int find_room(const PFILE *file, const OCAD *ocad, const struct array *part, uint64_t ret_room[])
{
    for (uint32_t d = 0; d < part->ndims; d++) {
        if (ocad->ocla[d] != 0 && (ocad->ocla[d] < part->size[d] || (file->is_view && ocad->ocla[d] != part->size[d])))
            return words(-EINVAL,
                         "the part has %" PRIu64 " indexes of dimension %" PRIu32 ", not the OCLA's %" PRIu64
                         ": let ocla_size be 0",
                         part->size[d], d, ocad->ocla[d]);
        ret_room[d] = MAX(ocad->ocla[d], part->size[d]);
    }
    return 0;
}

/* There is no view of nothing. */
static bool is_empty(const struct array *part)
{
    bool empty = false;

    for (uint32_t d = 0; d < part->ndims; d++)
        empty |= part->size[d] == 0;
    return empty;
}

uint64_t pfile_process(const PFILE *file)
{
    return file->is_part ? file->process : file->who.rank;
}

int pfile_local(PFILE *file, const OCAD *ocad, struct local *ret_local)
{
    struct local local;
    struct view *view = NULL;
    int r = pfile_check(file);

    if (r == 0)
        r = ocad_check(ocad);

    if (r < 0)
        return r;
    if (file->is_part && file->process >= ocad_n_procs(ocad))
        return words(-EINVAL, "there is no part %" PRIu64 " of an array that %" PRIu64 " processes share",
                     file->process, ocad_n_procs(ocad));
    local.part = ocad_part(ocad, pfile_process(file));
    r = find_room(file, ocad, &local.part, local.room);
    if (r == 0 && file->is_view && !is_empty(&local.part))
        r = find_view(file, ocad, &view);
    if (r < 0)
        return r;
    local.part.header = file->is_view ? 0 : file->header;
    local.fd = view != NULL ? view->fd : file->fd;
    *ret_local = local;
    return 0;
}

int fallsfs_passion_sizes(PFILE *PFilePtr, OCAD *OCADptr, int64_t part[], int64_t memory[])
{
    struct local local = { .fd = -1 };
    struct box box;
    int r = part == NULL || memory == NULL
                ? words(-EINVAL, "part or memory is NULL: they take a size for each dimension")
                : pfile_local(PFilePtr, OCADptr, &local);

    if (r < 0)
        return r;
    box = ocad_memory(OCADptr, &local.part);
    for (uint32_t d = 0; d < local.part.ndims; d++) {
        part[d] = (int64_t) local.part.size[d];
        memory[d] = (int64_t) box.size[d];
    }
    return 0;
}

/* -- together -- */

static int crew_new(PFILE *file, int n, struct crew **ret_crew)
{
    struct crew *crew = calloc(1, sizeof *crew);
    uint8_t token[16];
    struct stat st;
    int r = crew != NULL ? 0 : words(-ENOMEM, "there is not enough memory");

    if (r == 0 && fstat(file->fd, &st) < 0)
        r = words(-errno, "looking at the file: %s", strerror(errno));
    if (r == 0)
        r = who_token(&file->who, (uint32_t) n, st.st_ino, token);
    if (r == 0)
        r = fallsfs_join(file->fd, token, file->who.rank, (uint32_t) n, NULL, &crew->group);
    if (r < 0) {
        free(crew);
        return r;
    }
    crew->n = n;
    crew->next = file->crews;
    file->crews = *ret_crew = crew;
    return 0;
}

int pfile_group(PFILE *file, int n, struct fallsfs_group **ret_group)
{
    struct crew *crew;
    int r = pfile_check(file);

    if (r < 0)
        return r;
    if (n < 1 || (uint32_t) n > file->who.n || file->who.rank >= (uint32_t) n)
        return words(-EINVAL, "process %" PRIu32 " of %" PRIu32 " is none of the first %d", file->who.rank, file->who.n,
                     n);
    *ret_group = NULL;
    if (n == 1)
        return 0;
    crew = file->crews;
    while (crew != NULL && crew->n != n)
        crew = crew->next;
    if (crew == NULL)
        r = crew_new(file, n, &crew);
    if (r == 0)
        *ret_group = crew->group;
    return r;
}

void pfile_leave(PFILE *file, int n)
{
    char why[512];

    snprintf(why, sizeof why, "%s", fallsfs_strerror_last());
    for (struct crew **at = &file->crews; *at != NULL; at = &(*at)->next)
        if ((*at)->n == n) {
            struct crew *crew = *at;

            *at = crew->next;
            (void) fallsfs_leave(crew->group);
            free(crew);
            break;
        }
    (void) words(0, "%s", why);
}

uint8_t *pfile_staging(PFILE *file, size_t len)
{
    if (len > file->staging_len) {
        fallsfs_free(file->staging);
        file->staging = fallsfs_alloc(len);
        file->staging_len = file->staging != NULL ? len : 0;
    }
    return file->staging;
}

bool pfile_is_same(const PFILE *a, const PFILE *b)
{
    struct stat sa, sb;

    return fstat(a->fd, &sa) == 0 && fstat(b->fd, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}
