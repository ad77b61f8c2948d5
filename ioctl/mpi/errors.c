/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/file.h"

int error_class(int r)
{
    switch (r) {
    case 0:
        return MPI_SUCCESS;
    case -ENOSPC:
        return MPI_ERR_NO_SPACE;
    case -EDQUOT:
        return MPI_ERR_QUOTA;
    case -EROFS:
        return MPI_ERR_READ_ONLY;
    case -EACCES:
    case -EPERM:
        return MPI_ERR_ACCESS;
    case -ENOMEM:
        return MPI_ERR_NO_MEM;
    case -EOPNOTSUPP:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
        return MPI_ERR_IO;
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int shared = MPI_ERR_UNSUPPORTED_OPERATION;

static void make_shared(void)
{
    int code;

    if (PMPI_Add_error_code(MPI_ERR_UNSUPPORTED_OPERATION, &code) != MPI_SUCCESS)
        return;
    (void) PMPI_Add_error_string(code, "fallsfs: a shared file pointer behind a view that was set wants the hint "
                                       "fallsfs_shared=true at MPI_File_open, or a collective call of its kind before");
    shared = code;
}

int error_shared(void)
{
    (void) pthread_once(&once, make_shared);
    return shared;
}
