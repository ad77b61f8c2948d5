/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/file.h"
#include "ioctl/mpi/real.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int mfile_size(const struct file *file, MPI_Offset *ret_size)
{
    struct stat st;

    if (fstat(file->fd, &st) < 0)
        return -errno;
    *ret_size = st.st_size;
    return 0;
}

int mfile_get_size(struct file *file, MPI_Offset *size)
{
    return size == NULL ? FILE_THEIRS : error_class(mfile_size(file, size));
}

/* The MPIs read and write back what is there, which undoes what others write meanwhile. */
int mfile_preallocate(struct file *file, MPI_Offset size)
{
    if (size < 0 || (file->amode & MPI_MODE_RDONLY) != 0)
        return FILE_THEIRS;
    if (size == 0)
        return MPI_SUCCESS;
    return error_class(fallocate(file->fd, 0, 0, size) < 0 ? -errno : 0);
}

/* ROMIO syncs what was written through its own handle only. */
int mfile_sync(struct file *file)
{
    int r = fsync(file->fd) < 0 ? -errno : 0, theirs = REAL(MPI_File_sync, file->handle);

    return r < 0 ? error_class(r) : theirs;
}
