/* SPDX-License-Identifier: MIT */
/* HDF5: blocks of columns, collectively, and every second element of them. hdf5 FILE */
#include <hdf5.h>
#include <mpi.h>
#include <string.h>

enum { ROWS = 60, MINE = 20 };

int main(int argc, char **argv)
{
    static double block[ROWS][MINE], again[ROWS][MINE], half[ROWS][MINE / 2];
    int rank, n_ranks, wrong = 0;
    hsize_t size[2] = { ROWS }, start[2] = { 0 }, count[2] = { ROWS, MINE }, stride[2] = { 1, 2 };
    hsize_t halves[2] = { ROWS, MINE / 2 };
    hid_t access, transfer, file, space, memory, data;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    size[1] = (hsize_t) (MINE * n_ranks);
    start[1] = (hsize_t) (rank * MINE);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE; j++)
            block[i][j] = i * MINE * n_ranks + rank * MINE + j;
    access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    space = H5Screate_simple(2, size, NULL);
    data = H5Dcreate2(file, "values", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    memory = H5Screate_simple(2, count, NULL);
    wrong += H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, block) < 0;
    H5Dclose(data);
    H5Fclose(file);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
    data = H5Dopen2(file, "values", H5P_DEFAULT);
    wrong += H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, again) < 0;
    wrong += memcmp(block, again, sizeof block) != 0;
    H5Sclose(memory);
    memory = H5Screate_simple(2, halves, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, halves, NULL);
    wrong += H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, half) < 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE / 2; j++)
            wrong += half[i][j] != block[i][2 * j];
    H5Dclose(data);
    H5Sclose(memory);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(transfer);
    H5Pclose(access);
    MPI_Finalize();
    return wrong != 0;
}
