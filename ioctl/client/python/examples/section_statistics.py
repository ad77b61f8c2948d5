#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Number, mean, deviation, least and most of a section of an array, which may be larger than memory.

    python3 section_statistics.py [--memory 64M] FILE '::10, 100:200, ::2'

The section is read in parts along its longest axis, one sieved request each; the next part is read while one is counted.
The program's page is fallsfs-statistics(7).
"""
import argparse
import math

import fallsfs
import numpy as np


def parse_section(text, ndim):
    """Slices as Python writes them, one for each axis."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    if len(words) > ndim:
        raise ValueError(f"{len(words)} slices are more than the array has dimensions, {ndim}")
    slices = []
    for word in words + [":"] * (ndim - len(words)):
        parts = [int(part) if part.strip() else None for part in word.split(":")]
        slices.append(slice(parts[0], parts[0] + 1 or None) if len(parts) == 1 else slice(*parts))
    return slices


def parts_of(ranges, elem, memory):
    """The section in parts of so many bytes, as tuples of slices."""
    counts = [len(r) for r in ranges]
    longest = counts.index(max(counts))
    thick = max(memory // (math.prod(counts) // max(counts[longest], 1) * elem or 1), 1)
    for start in range(0, counts[longest], thick):
        part = [*ranges]
        part[longest] = ranges[longest][start : start + thick]
        yield tuple(slice(r.start, r.start + (len(r) - 1) * r.step + 1, r.step) for r in part)


class Moments:
    """Number, mean and sum of squared deviations, of parts that are counted one after the other."""

    def __init__(self):
        self.n, self.mean, self.squares = 0, 0.0, 0.0
        self.least, self.most = math.inf, -math.inf

    def add(self, part):
        if part.size == 0:
            return
        mean = float(part.mean(dtype="f8"))
        squares = float(np.square(part - mean, dtype="f8").sum())
        n = self.n + part.size
        apart = mean - self.mean
        self.squares += squares + apart * apart * self.n * part.size / n
        self.mean += apart * part.size / n
        self.n = n
        self.least, self.most = min(self.least, float(part.min())), max(self.most, float(part.max()))


def moments_of(a, slices, memory):
    ranges = [range(*part.indices(n)) for part, n in zip(slices, a.shape)]
    if any(r.step < 0 for r in ranges):
        raise ValueError("steps are 1 or more here")
    moments, reading = Moments(), None
    if all(map(len, ranges)):
        for part in parts_of(ranges, a.dtype.itemsize, memory // 5):  # one ahead, one in hand, and what counting takes
            ahead = a.iread(part)
            if reading is not None:
                moments.add(reading.wait())
            reading = ahead
        moments.add(reading.wait())
    return moments


def main():
    parser = argparse.ArgumentParser(description="statistics of a section of an array")
    parser.add_argument("--memory", default="64M", help="what parts may take, 64M unless told")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("section", metavar="SECTION", nargs="?", default="", help="slices: '::10, 100:200, ::2'")
    words = parser.parse_args()
    with fallsfs.open(words.file, mode="r") as a:
        try:
            moments = moments_of(a, parse_section(words.section, a.ndim), fallsfs.parse_size(words.memory))
        except ValueError as error:
            parser.error(str(error))
    deviation = math.sqrt(moments.squares / moments.n) if moments.n > 0 else math.nan
    print(f"n {moments.n}\nmean {moments.mean:.12g}\ndeviation {deviation:.12g}")
    print(f"least {moments.least:.12g}\nmost {moments.most:.12g}")


if __name__ == "__main__":
    main()
