#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Heat that spreads in a box: steps of a 7-point stencil over an array of three dimensions that is larger than memory.

    python3 stencil.py [--steps 10] [--processes 4] [--memory 64M] FIELD

Every element becomes the mean of its six neighbours; those on the faces of the box stay. FIELD is changed, and FIELD.next
lies beside it meanwhile. Each process walks a block of the box, slab by slab, with a halo of one: it reads what the others
have written in the step before. The program's page is fallsfs-stencil(7).
"""
import argparse
import multiprocessing
import os

import fallsfs
import numpy as np


def relax(old, new, shape):
    """One slab: new.data from old.data, which has a plane more on either side where the box goes on."""
    new.data[...] = old.inner
    if old.inner.size == 0:
        return
    planes = old.data
    first, end = max(old.index[0].start, 1), min(old.index[0].stop, shape[0] - 1)
    if end <= first:
        return
    at = first - (old.index[0].start - (1 if old.index[0].start > 0 else 0))  # of the first plane that has both neighbours
    below, here, above = (planes[at + i : at + i + end - first] for i in (-1, 0, 1))
    inside = np.s_[:, 1:-1, 1:-1]
    total = below[inside] + above[inside]
    total += here[:, :-2, 1:-1]
    total += here[:, 2:, 1:-1]
    total += here[:, 1:-1, :-2]
    total += here[:, 1:-1, 2:]
    start = first - old.index[0].start
    new.data[start : start + end - first, 1:-1, 1:-1] = total / 6


def walk(team, fields, steps, memory, meet):
    """What each process does; all of them have ended a step before any begins the next."""
    for step in range(steps):
        a, b = fields[step % 2], fields[1 - step % 2]
        with team.group(a, timeout=None) as old, team.group(b, timeout=None) as new:
            for here, there in fallsfs.slabs(old, new, access=("r", "w"), halo=1, memory=memory):
                relax(here, there, a.shape)
        meet.wait()


def main():
    parser = argparse.ArgumentParser(description="steps of a 7-point stencil over an array of three dimensions")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--memory", default="64M", help="what slabs may take in each process, 64M unless told")
    parser.add_argument("field", metavar="FIELD")
    words = parser.parse_args()
    beside = words.field + ".next"
    with fallsfs.open(words.field) as field:
        if field.ndim != 3 or field.dtype.kind != "f":
            parser.error(f"{words.field} is no array of floating-point numbers in three dimensions")
        with fallsfs.create(beside, field.shape, field.dtype, field.order, field.header) as other:
            meet = multiprocessing.get_context("fork").Barrier(words.processes)
            fallsfs.run(walk, words.processes, [field, other], words.steps, words.memory, meet)
    if words.steps % 2 == 1:
        os.replace(beside, words.field)
    else:
        os.unlink(beside)
    print(f"{words.field}: {words.steps} steps by {words.processes} processes")


if __name__ == "__main__":
    main()
