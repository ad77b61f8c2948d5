! SPDX-License-Identifier: MIT
! HDF5 from Fortran: slabs of the last dimension, collectively. hdf5 FILE
program slabs
    use mpi
    use hdf5
    implicit none
    integer, parameter :: rows = 30, mine = 7
    integer :: rank, n_ranks, error, i, j
    integer(hid_t) :: access, transfer, file, space, memory, data
    integer(hsize_t) :: total(2), start(2), count(2)
    integer :: block(rows, mine), again(rows, mine)
    character(len=1024) :: path

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
    call get_command_argument(1, path)
    do j = 1, mine
        do i = 1, rows
            block(i, j) = i + rows * (rank * mine + j)
        end do
    end do
    total = [int(rows, hsize_t), int(mine * n_ranks, hsize_t)]
    start = [0_hsize_t, int(rank * mine, hsize_t)]
    count = [int(rows, hsize_t), int(mine, hsize_t)]
    call h5open_f(error)
    call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
    call h5pset_fapl_mpio_f(access, MPI_COMM_WORLD, MPI_INFO_NULL, error)
    call h5pcreate_f(H5P_DATASET_XFER_F, transfer, error)
    call h5pset_dxpl_mpio_f(transfer, H5FD_MPIO_COLLECTIVE_F, error)
    call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, error, access_prp=access)
    call h5screate_simple_f(2, total, space, error)
    call h5dcreate_f(file, 'values', H5T_NATIVE_INTEGER, space, data, error)
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, error)
    call h5screate_simple_f(2, count, memory, error)
    call h5dwrite_f(data, H5T_NATIVE_INTEGER, block, count, error, memory, space, transfer)
    if (error /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    again = 0
    call h5dread_f(data, H5T_NATIVE_INTEGER, again, count, error, memory, space, transfer)
    if (error /= 0 .or. any(again /= block)) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    call h5dclose_f(data, error)
    call h5fclose_f(file, error)
    call h5pclose_f(transfer, error)
    call h5pclose_f(access, error)
    call h5close_f(error)
    call MPI_Finalize(error)
end program
