#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the examples in Python do, directly: plain reads and writes of the pieces, one after the other.

    direct.py transpose MEMORY FROM TO ROWS COLUMNS
    direct.py stencil STEPS PROCESSES MEMORY FIELD X Y Z
    direct.py statistics MEMORY FILE X Y Z SECTION

Elements are 8-byte reals, row by row. What is computed of the pieces is the examples' own.
"""
import collections
import multiprocessing
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../ioctl/client/python/examples"))
import section_statistics  # noqa: E402
import stencil             # noqa: E402

ELEM = 8
Slab = collections.namedtuple("Slab", "data inner index")


def read(fd, memory, off):
    if os.preadv(fd, [memory], off) != memory.nbytes:
        raise OSError("the file ends too early")


def write(fd, memory, off):
    if os.pwrite(fd, memory, off) != memory.nbytes:
        raise OSError("less was written than there was")


def transpose(memory, source, target, rows, columns):
    """Square tiles, of which memory holds one as it is and one that is turned."""
    memory, rows, columns = int(memory), int(rows), int(columns)
    edge = int((memory / 2 / ELEM) ** 0.5)
    a, b = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
    for top in range(0, rows, edge):
        for left in range(0, columns, edge):
            tile = np.empty((min(edge, rows - top), min(edge, columns - left)))
            for i, row in enumerate(tile):
                read(a, row, ((top + i) * columns + left) * ELEM)
            for j, row in enumerate(np.ascontiguousarray(tile.T)):
                write(b, row, ((left + j) * rows + top) * ELEM)


def walk_block(rank, processes, memory, paths, shape, steps, meet):
    """A process of the stencil: its block of planes, as many at a time as memory holds, before and after."""
    plane = shape[1] * shape[2] * ELEM
    thick = max(memory // plane // 2 - 1, 1)
    share = -(-shape[0] // processes)
    first, end = min(rank * share, shape[0]), min((rank + 1) * share, shape[0])
    fds = [os.open(path, os.O_RDWR) for path in paths]
    for step in range(steps):
        for start in range(first, end, thick):
            stop = min(start + thick, end)
            below, above = max(start - 1, 0), min(stop + 1, shape[0])
            data = np.empty((above - below, *shape[1:]))
            read(fds[step % 2], data, below * plane)
            index = (slice(start, stop), slice(0, shape[1]), slice(0, shape[2]))
            old = Slab(data, data[start - below : stop - below], index)
            new = Slab(np.empty((stop - start, *shape[1:])), None, index)
            stencil.relax(old, new, shape)
            write(fds[1 - step % 2], new.data, start * plane)
        meet.wait()


def run_stencil(steps, processes, memory, field, *shape):
    steps, processes, memory, shape = int(steps), int(processes), int(memory), tuple(map(int, shape))
    beside = field + ".next"
    os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666))
    fork = multiprocessing.get_context("fork")
    meet = fork.Barrier(processes)
    team = [fork.Process(target=walk_block, args=(rank, processes, memory, [field, beside], shape, steps, meet))
            for rank in range(processes)]
    for process in team:
        process.start()
    for process in team:
        process.join()
    if any(process.exitcode != 0 for process in team):
        sys.exit(1)
    if steps % 2 == 1:
        os.replace(beside, field)
    else:
        os.unlink(beside)


def read_part(fd, part, shape):
    """Of each row the section has, what lies between its first and its last element."""
    x, y, z = (range(*one.indices(n)) for one, n in zip(part, shape))
    rows = np.empty((len(x), len(y), z[-1] - z[0] + 1))
    for i, plane in enumerate(x):
        for j, row in enumerate(y):
            read(fd, rows[i, j], ((plane * shape[1] + row) * shape[2] + z[0]) * ELEM)
    return rows[:, :, :: z.step]


def statistics(memory, path, *words):
    shape, section = tuple(map(int, words[:3])), words[3]
    slices = section_statistics.parse_section(section, 3)
    ranges = [range(*one.indices(n)) for one, n in zip(slices, shape)]
    fd, moments = os.open(path, os.O_RDONLY), section_statistics.Moments()
    for part in section_statistics.parts_of(ranges, ELEM * slices[2].step, int(memory) // 3):
        moments.add(read_part(fd, part, shape))
    print(f"n {moments.n}\nmean {moments.mean:.12g}")


if __name__ == "__main__":
    {"transpose": transpose, "stencil": run_stencil, "statistics": statistics}[sys.argv[1]](*sys.argv[2:])
