/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/array_header.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HDF5_SIGNATURE "\211HDF\r\n\032\n"
#define HDF5_LAST      (1u << 20) /* where a signature is still looked for */

int array_header_check(struct array_header *header, char ret_why[static ATTRS_WHY])
{
    struct array *array = &header->array;
    uint64_t bytes;

    if (array->ndims == 0) { /* a number alone */
        array->ndims = 1;
        array->size[0] = 1;
    }
    if (array->elem == 0)
        return attrs_refuse(ret_why, -EINVAL, "its elements have no bytes");
    for (uint32_t i = 0; i < array->ndims; i++)
        if (array->size[i] == 0)
            return attrs_refuse(ret_why, -EINVAL, "it has no elements: a dimension is 0");
    if (array_bytes(array, &bytes) < 0)
        return attrs_refuse(ret_why, -EINVAL, "the array reaches past byte 2^62");
    return 0;
}

int array_header_read(FILE *file, const char *dataset, struct array_header *ret_header, char ret_why[static ATTRS_WHY])
{
    char start[6] = "";
    size_t n = fread(start, 1, sizeof start, file);

    if (ferror(file))
        return attrs_refuse(ret_why, -errno, "%s", strerror(errno));
    rewind(file);
    if (n >= 3 && memcmp(start, "CDF", 3) == 0)
        return array_header_netcdf(file, dataset, ret_header, ret_why);
    if (n < 6 || memcmp(start, "\x93NUMPY", 6) != 0)
        return attrs_refuse(
            ret_why, -EOPNOTSUPP,
            "has no header that is known: .npy, netCDF and HDF5 are; what it holds is to be said by hand, "
            "setfattr -n user.falls.array -v 'shape=8192x8192 type=f8' FILE");
    if (dataset != NULL)
        return attrs_refuse(ret_why, -EINVAL, "a .npy file has one array, without a name");
    return array_header_npy(file, ret_header, ret_why);
}

/* -- HDF5, by another program: libhdf5 believes files more than a tool of root's should -- */

/* Whether it has the signature, which may come behind a block of a user's own. */
static bool is_hdf5(FILE *file)
{
    char start[sizeof HDF5_SIGNATURE - 1];

    for (off_t at = 0; at <= HDF5_LAST; at = at == 0 ? 512 : 2 * at)
        if (fseeko(file, at, SEEK_SET) == 0 && fread(start, 1, sizeof start, file) == sizeof start &&
            memcmp(start, HDF5_SIGNATURE, sizeof start) == 0)
            return true;
    return false;
}

/* Where that program is: with us, wherever we have been installed. */
static int find_helper(char ret_path[static PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
    char *slash;

    if (n < 0)
        return -errno;
    ret_path[n] = 0;
    slash = strrchr(ret_path, '/');
    if (slash == NULL || (size_t) (slash + 1 - ret_path) + sizeof FALLSCTL_HDF5 > PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(slash + 1, FALLSCTL_HDF5, sizeof FALLSCTL_HDF5);
    return access(ret_path, X_OK) < 0 ? -errno : 0;
}

/* Becomes the program; what it says, also of errors, goes to the pipe. */
static void run_helper(int out, const char *helper, const char *path, const char *dataset)
{
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
        execl(helper, helper, path, dataset, (char *) NULL);
    _exit(127);
}

static size_t read_to_end(int fd, char *text, size_t size)
{
    size_t at = 0;
    ssize_t n;

    while (at < size && (n = read(fd, text + at, size - at)) != 0)
        if (n > 0)
            at += (size_t) n;
        else if (errno != EINTR)
            break;
    return at;
}

static int ask_helper(const char *helper, const char *path, const char *dataset, char text[static ATTRS_WHY],
                      int *ret_status)
{
    int ends[2], r = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
    pid_t pid;

    if (r < 0)
        return r;
    pid = fork();
    if (pid == 0)
        run_helper(ends[1], helper, path, dataset);
    r = pid < 0 ? -errno : 0;
    close(ends[1]);
    text[read_to_end(ends[0], text, ATTRS_WHY - 1)] = 0;
    close(ends[0]);
    text[strcspn(text, "\n")] = 0;
    while (r == 0 && waitpid(pid, ret_status, 0) < 0)
        r = errno == EINTR ? 0 : -errno;
    return r;
}

static int read_hdf5(const char *path, const char *dataset, struct array_header *ret_header,
                     char ret_why[static ATTRS_WHY])
{
    char helper[PATH_MAX], text[ATTRS_WHY];
    struct layout_error error;
    int status = 0, r = find_helper(helper);

    if (r < 0)
        return attrs_refuse(ret_why, -EOPNOTSUPP, "it is an HDF5 file, and fallsfs was built without libhdf5");
    r = ask_helper(helper, path, dataset, text, &status);
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s: %s", helper, strerror(-r));
    if (!WIFEXITED(status))
        return attrs_refuse(ret_why, -EINVAL, "libhdf5 has died of it: the file is damaged");
    if (WEXITSTATUS(status) != 0)
        return attrs_refuse(ret_why, -EINVAL, "%s", text[0] != 0 ? text : "libhdf5 cannot read it");
    r = layout_parse_array(text, strlen(text), &ret_header->array, ret_header->type, &error);
    return r < 0 ? attrs_refuse(ret_why, -EINVAL, "libhdf5 says '%s': %s", text, error.why) : 0;
}

/* -- FILE or FILE:DATASET -- */

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Divides the word at the last colon with a file before it; without any, it is a path. */
static int divide(const char *word, char **ret_path, const char **ret_dataset)
{
    cleanup(freep) char *path = strdup(word);

    for (size_t at = strlen(word); path != NULL && at > 0 && !is_file(path); at--)
        if (word[at - 1] == ':')
            path[at - 1] = 0;
    if (path == NULL)
        return -ENOMEM;
    *ret_dataset = is_file(path) && strlen(path) < strlen(word) ? word + strlen(path) + 1 : NULL;
    *ret_path = *ret_dataset != NULL ? steal(path) : strdup(word);
    return *ret_path != NULL ? 0 : -ENOMEM;
}

int array_header_of(const char *word, char **ret_path, struct array_header *ret_header, char ret_why[static ATTRS_WHY])
{
    struct array_header header = { 0 };
    cleanup(freep) char *path = NULL;
    const char *dataset;
    FILE *file;
    int r = divide(word, &path, &dataset);

    if (r < 0)
        return attrs_refuse(ret_why, r, "out of memory");
    if (access(path, F_OK) == 0 && !is_file(path))
        return attrs_refuse(ret_why, -EINVAL, "is no regular file");
    file = fopen(path, "re");
    if (file == NULL)
        return attrs_refuse(ret_why, -errno, "%s", strerror(errno));
    r = array_header_read(file, dataset, &header, ret_why);
    if (r == -EOPNOTSUPP && is_hdf5(file))
        r = read_hdf5(path, dataset, &header, ret_why);
    (void) fclose(file);
    if (r == 0) {
        *ret_header = header;
        *ret_path = steal(path);
    }
    return r;
}
