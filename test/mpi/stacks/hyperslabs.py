# SPDX-License-Identifier: MIT
"""h5py in parallel: hyperslabs, chunks, compression, points, ranks without a selection. hyperslabs.py FILE"""
import sys

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
n = 24 * ranks
whole = numpy.arange(n * n, dtype="f8").reshape(n, n)
mine = numpy.s_[:, rank * 24:(rank + 1) * 24]
strided = numpy.s_[rank::ranks, ::2]

with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as file:
    plain = file.create_dataset("plain", (n, n), "f8")
    chunked = file.create_dataset("chunked", (n, n), "f8", chunks=(10, 7))
    packed = file.create_dataset("packed", (n, n), "f8", chunks=(24, 24), compression="gzip")
    for data in (plain, chunked, packed):
        with data.collective:
            data[mine] = whole[mine]
    with plain.collective:
        plain[strided] = -whole[strided]
        space, memory = plain.id.get_space(), h5py.h5s.create_simple((2,))
        if rank == 0:  # h5py itself would not call HDF5 then, and the others would wait for ever
            space.select_none()
            memory.select_none()
        else:
            space.select_hyperslab((rank, 1), (1, 2))
        plain.id.write(memory, space, whole[rank, 1:3] + 0.5, dxpl=plain._dxpl)

expected = whole.copy()
for r in range(ranks):
    expected[r::ranks, ::2] = -whole[r::ranks, ::2]
for r in range(1, ranks):
    expected[r:r + 1, 1:3] = whole[r:r + 1, 1:3] + 0.5

with h5py.File(sys.argv[1], "r", driver="mpio", comm=comm) as file:
    out = numpy.zeros((n, 24))
    for name in ("plain", "chunked", "packed"):
        right = expected if name == "plain" else whole
        with file[name].collective:
            file[name].read_direct(out, mine)
        assert (out == right[mine]).all(), name
        assert (file[name][...] == right).all(), name
        rows = [1, 2, 5, 11, 17]
        with file[name].collective:
            assert (file[name][rows, rank * 24:(rank + 1) * 24] == right[rows][:, mine[1]]).all(), name
