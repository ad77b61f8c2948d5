# SPDX-License-Identifier: MIT
"""Arrays in files: what numpy's indexes name is read and written in one request, alone or as a group of processes.

>>> a = fallsfs.create("example", (1000, 400), "f8")
>>> a[10:20, ::2] = 1
>>> float(a[::5, [0, 2, 3]].sum())
4.0

On a fallsfs mount the daemon reads and writes what is wanted in few large pieces; on other files the library does.
The tutorial is the manual page fallsfs-python(7). Errors are OSError, with the library's words, or what numpy raises.
"""
from ._array import Array, Views, create, open
from ._group import Group, RankError, Team, group_from_mpi, run, token
from ._memory import empty
from ._slabs import Slab, Slabs, parse_size, slabs
from ._ticket import Ticket

__all__ = [
    "Array",
    "Group",
    "RankError",
    "Slab",
    "Slabs",
    "Team",
    "Ticket",
    "Views",
    "create",
    "empty",
    "group_from_mpi",
    "open",
    "parse_size",
    "run",
    "slabs",
    "token",
]
