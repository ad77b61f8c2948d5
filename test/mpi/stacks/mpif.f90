! SPDX-License-Identifier: MIT
! Blocks of columns, as Fortran has them, and every second element of memory. mpif FILE
program columns
    implicit none
    include 'mpif.h'
    integer, parameter :: rows = 40, mine = 6
    integer :: rank, n_ranks, error, i, j, file, kind, memory, status(MPI_STATUS_SIZE), n
    integer :: block(2, rows * mine), again(2, rows * mine)
    integer(kind=MPI_OFFSET_KIND) :: at
    character(len=1024) :: path

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
    call get_command_argument(1, path)
    do i = 1, rows * mine
        do j = 1, 2
            block(j, i) = i * 2 + j + rank * 1000
        end do
    end do
    call MPI_Type_create_subarray(2, [rows * n_ranks, mine], [rows, mine], [rows * rank, 0], MPI_ORDER_FORTRAN, &
        MPI_INTEGER, kind, error)
    call MPI_Type_commit(kind, error)
    call MPI_Type_vector(rows * mine, 1, 2, MPI_INTEGER, memory, error)
    call MPI_Type_commit(memory, error)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, error)
    if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    at = 8
    call MPI_File_set_view(file, at, MPI_INTEGER, kind, 'native', MPI_INFO_NULL, error)
    call MPI_File_write_all(file, block, 1, memory, status, error)
    call MPI_Get_count(status, MPI_INTEGER, n, error)
    if (n /= rows * mine) call MPI_Abort(MPI_COMM_WORLD, 2, error)
    again = -1
    at = 0
    call MPI_File_read_at_all(file, at, again, 1, memory, MPI_STATUS_IGNORE, error)
    if (any(again(1, :) /= block(1, :)) .or. any(again(2, :) /= -1)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
    call MPI_File_get_position(file, at, error)
    if (at /= rows * mine) call MPI_Abort(MPI_COMM_WORLD, 4, error)
    call MPI_File_close(file, error)
    call MPI_Finalize(error)
end program
