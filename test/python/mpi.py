# SPDX-License-Identifier: MIT
"""Ranks of mpi4py write their rows as a group, and read all: mpi.py FILE"""
import sys

import fallsfs
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    fallsfs.create(sys.argv[1], (4 * comm.size, 5), "i4").close()
comm.barrier()
with fallsfs.open(sys.argv[1]) as a, fallsfs.group_from_mpi(comm, a) as g:
    g[comm.rank :: comm.size] = comm.rank
    rows = g[:, 2].tolist()
if rows != list(range(comm.size)) * 4:
    sys.exit(f"rank {comm.rank} reads {rows}")
