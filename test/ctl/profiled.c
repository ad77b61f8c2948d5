/* SPDX-License-Identifier: MIT */
/* A program to be traced: profiled FILE ROWS PROCESSES VALUE. It writes a matrix of ROWS x ROWS numbers of 8 bytes, row
 * by row, all of VALUE, by a descriptor that stands where it stands; then, one after the other, processes each read
 * their block of columns, half of them with lseek and readv and half with pread, and all read the first row. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ROWS 1024

static double row[MAX_ROWS];

static void require(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static void write_matrix(int fd, size_t rows, double value)
{
    for (size_t i = 0; i < rows; i++)
        row[i] = value;
    for (size_t i = 0; i < rows; i++)
        require(write(fd, row, rows * sizeof row[0]) == (ssize_t) (rows * sizeof row[0]), "write");
}

static void read_columns(int fd, size_t rows, size_t rank, size_t processes)
{
    size_t len = rows / processes * sizeof row[0];
    struct iovec half[2] = { { row, len / 2 }, { (char *) row + len / 2, len - len / 2 } };

    for (size_t i = 0; i < rows; i++) {
        off_t off = (off_t) (i * rows * sizeof row[0] + rank * len);

        if (rank % 2 == 0) {
            require(lseek(fd, off, SEEK_SET) == off, "lseek");
            require(readv(fd, half, 2) == (ssize_t) len, "readv");
        } else {
            require(pread(fd, row, len, off) == (ssize_t) len, "pread");
        }
    }
}

int main(int argc, char **argv)
{
    size_t rows = argc == 5 ? strtoul(argv[2], NULL, 10) : 0, processes = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    int fd, status;

    require(rows > 0 && rows <= MAX_ROWS && processes > 0, "usage: profiled FILE ROWS PROCESSES VALUE");
    fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    require(fd >= 0, argv[1]);
    write_matrix(fd, rows, strtod(argv[4], NULL));
    for (size_t rank = 0; rank < processes; rank++) {
        if (fork() == 0) {
            read_columns(fd, rows, rank, processes);
            require(pread(fd, row, rows * sizeof row[0], 0) > 0, "pread");
            _exit(0);
        }
        require(wait(&status) > 0 && status == 0, "wait");
    }
    return 0;
}
