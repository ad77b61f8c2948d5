#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both solvers beside numpy: solvers.py GAXPY LAPLACE DIRECTORY METHOD...

Products are of whole numbers that are small enough for every sum to be exact; Jacobi's means are made of the same
operations in the same order. So nothing but equality will do.
"""
import os
import re
import subprocess
import sys

import numpy

gaxpy, laplace, directory = sys.argv[1:4]
rng = numpy.random.default_rng(int(os.environ.get("FALLSFS_SEED", 1)))
#        side, processes, slabs or blocks of each
CASES = [(64, 4, 4), (61, 7, 3), (5, 8, 5), (1, 2, 1), (130, 16, 5)]
if os.environ.get("FALLSFS_FULL"):
    CASES += [(1000, 16, 4), (1024, 128, 4), (257, 3, 40)]


def path(name):
    return os.path.join(directory, name)


def put(name, array):
    array.T.tofile(path(name))


def get(name, side):
    return numpy.fromfile(path(name), numpy.float32).reshape(side, side).T


def run(program, method, *words):
    words = [program, *(["-d"] if method == "direct" else []), *map(str, words)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    match = re.match(rf"{method}: \d+ processes of ([\d.]+) KiB, [\d.]+ MiB read, [\d.]+ MiB written, "
                     r"I/O ([\d.]+) ms, in calls ([\d.]+) ms, all ([\d.]+) ms\n", done.stdout)
    assert match and 0 < float(match[3]) <= float(match[2]) <= float(match[4]), (words, done.stdout)
    return done.stdout


def check_gaxpy(method, side, processes, slabs):
    a, b = (rng.integers(-8, 9, (side, side)).astype(numpy.float32) for _ in range(2))
    put("A", a)
    put("B", b)
    run(gaxpy, method, "-p", processes, "-s", slabs, side, path("A"), path("B"), path("C"))
    assert numpy.array_equal(get("C", side), a @ b), ("gaxpy", method, side, processes, slabs)


def jacobi(old):
    new = old.copy()
    new[1:-1, 1:-1] = ((old[:-2, 1:-1] + old[2:, 1:-1]) + (old[1:-1, :-2] + old[1:-1, 2:])) * numpy.float32(0.25)
    return new, abs(new - old).max()


def check_laplace(method, side, processes, blocks, n, more):
    array = rng.random((side, side), numpy.float32)
    put("old", array)
    said = run(laplace, method, "-p", processes, "-b", blocks, *more, side, path("old"), path("new"))
    for _ in range(n):
        array, change = jacobi(array)
    name = "new" if n % 2 else "old"
    case = ("laplace", method, side, processes, blocks, n, more)
    assert numpy.array_equal(get(name, side), array), case
    assert f"\niteration {n} changed elements by {change:.6g} at most; it is in {path(name)}\n" in said, (case, said)


def iterations_to(tolerance, array):
    n, change = 0, numpy.inf
    while change > tolerance:
        array, change = jacobi(array)
        n += 1
    return n


for method in sys.argv[4:]:
    for side, processes, size in CASES:
        check_gaxpy(method, side, processes, size)
        if side < processes * size:
            size = 1    # there are no blocks without elements
        if side < processes:
            continue
        for exchange in [], ["-x"]:
            for n in 1, 2, 5:
                check_laplace(method, side, processes, size, n, ["-k", n, *exchange])

    # Until it converges: as many iterations as it takes, and no more.
    array = numpy.zeros((40, 40), numpy.float32)
    array[0] = 1
    put("old", array)
    n = iterations_to(0.002, array)
    said = run(laplace, method, "-k", 1000, "-t", 0.002, 40, path("old"), path("new"))
    assert 10 < n < 1000 and f"iteration {n} changed" in said, (n, said)
