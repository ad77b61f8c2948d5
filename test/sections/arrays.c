/* SPDX-License-Identifier: MIT */
/* What a file is said to hold, as programs learn it from a descriptor. */
#include "test/sections/ranks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static void say(const char *path, const char *text)
{
    EXPECT(setxattr(path, "user.falls.array", text, strlen(text), 0) == 0);
}

static void of_files(void)
{
    struct fallsfs_array array = { .ndims = 99 };
    char type[FALLSFS_TYPE_SIZE] = "same";
    int fd, above;

    EXPECT(mkdir("said", 0777) == 0);
    fd = open("said/file", O_RDWR | O_CREAT, 0666);
    EXPECT(fd >= 0 && fallsfs_array_of(fd, &array, type) == -ENODATA);
    EXPECT(array.ndims == 99 && strcmp(type, "same") == 0);
    EXPECT(strstr(fallsfs_strerror_last(), "fallsctl array set") != NULL);

    say("said", "shape=4x5x6 type=i4");
    EXPECT(fallsfs_array_of(fd, &array, type) == 0);
    EXPECT(array.ndims == 3 && array.size[0] == 4 && array.size[1] == 5 && array.size[2] == 6 && array.size[3] == 0);
    EXPECT(array.elem == 4 && array.header == 0 && array.order == FALLSFS_ROW_MAJOR && strcmp(type, "i4") == 0);

    say("said/file", "shape=1Gx3 elem=8 type=>f8 order=col header=4K");
    EXPECT(fallsfs_array_of(fd, &array, NULL) == 0 && fallsfs_array_of(fd, &array, type) == 0);
    EXPECT(array.ndims == 2 && array.size[0] == 1 << 30 && array.size[1] == 3 && array.size[2] == 0);
    EXPECT(array.elem == 8 && array.header == 4096 && array.order == FALLSFS_COLUMN_MAJOR && strcmp(type, ">f8") == 0);

    above = open("said", O_RDONLY | O_DIRECTORY);
    EXPECT(above >= 0 && fallsfs_array_of(above, &array, type) == 0 && array.ndims == 3);
    EXPECT(close(fd) == 0 && close(above) == 0);
    EXPECT(unlink("said/file") == 0 && rmdir("said") == 0);
}

/* What a section is asked for with it, is what lies there. */
static void goes_with_sections(void)
{
    static const uint16_t bytes[] = { 0, 0, 10, 11, 12, 20, 21, 22 };
    const struct fallsfs_range column[] = { { 0, 1, 1 }, { 1, 1, 1 } };
    struct fallsfs_array array;
    uint16_t got[2];
    int fd = open_shared(O_RDWR);

    EXPECT(pwrite(fd, bytes, sizeof bytes, 0) == sizeof bytes);
    EXPECT(fsetxattr(fd, "user.falls.array", "shape=2x3 type=u2 header=4", 26, 0) == 0);
    EXPECT(fallsfs_array_of(fd, &array, NULL) == 0 && fallsfs_read_section(fd, &array, column, got) == 0);
    EXPECT(got[0] == 11 && got[1] == 21);
    EXPECT(fremovexattr(fd, "user.falls.array") == 0 && close(fd) == 0);
}

static void of_nothing(void)
{
    struct fallsfs_array array;
    int pipes[2];

    EXPECT(fallsfs_array_of(-1, &array, NULL) == -EBADF && fallsfs_strerror_last()[0] != 0);
    EXPECT(pipe(pipes) == 0 && fallsfs_array_of(pipes[0], &array, NULL) < 0 && fallsfs_strerror_last()[0] != 0);
    EXPECT(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

const struct check checks_of_arrays[] = {
    { "arrays_of_files", of_files },
    { "arrays_go_with_sections", goes_with_sections },
    { "arrays_of_nothing", of_nothing },
    { NULL, NULL },
};
