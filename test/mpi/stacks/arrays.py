# SPDX-License-Identifier: MIT
"""mpi4py: blocks of columns, by a view and all ranks; shared and independent reads beside them. arrays.py FILE"""
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
rows, mine = 64, 16
whole = numpy.arange(rows * mine * ranks, dtype="i4").reshape(rows, mine * ranks)
block = numpy.ascontiguousarray(whole[:, rank * mine:(rank + 1) * mine])

kind = MPI.INT32_T.Create_subarray([rows, mine * ranks], [rows, mine], [0, rank * mine]).Commit()
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_view(0, MPI.INT32_T, kind)
status = MPI.Status()
file.Write_all(block, status)
assert status.Get_count(MPI.INT32_T) == block.size
again = numpy.zeros_like(block)
file.Read_at_all(0, again, status)
assert status.Get_count(MPI.INT32_T) == block.size and (again == block).all()
assert file.Get_position() == block.size
again[:] = 0
request = file.Iread_at(0, again)
request.Wait(status)
assert (again == block).all() and status.Get_count(MPI.INT32_T) == block.size
file.Set_view(0, MPI.INT32_T, MPI.INT32_T)
everything = numpy.zeros_like(whole)
file.Read_at(0, everything)
assert (everything == whole).all()
try:
    file.Read_at(-1, everything)
    raise SystemExit("a negative offset is read")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_ARG
assert file.info.get("fallsfs") == "yes"
file.Close()
kind.Free()
