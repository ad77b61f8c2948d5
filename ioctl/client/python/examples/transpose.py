#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Transposes a matrix that is larger than memory.

    python3 transpose.py [--memory 64M] FROM TO

FROM says what it is; TO is made. The matrix is walked in square tiles: the next one is read, and the one before written,
while one is turned. The program's page is fallsfs-transpose(7).
"""
import argparse

import fallsfs

TILES_IN_MEMORY = 8  # read ahead, in hand, turned, being written, and copies on their way


def transpose(source, target, memory):
    """Writes source's transpose into target; memory is what tiles may take, in bytes."""
    edge = max(int((memory / TILES_IN_MEMORY / source.dtype.itemsize) ** 0.5), 1)
    writing = None
    for tile in source.slabs(tile=[min(edge, n) for n in source.shape], memory=memory):
        turned = target.iwrite(tile.index[::-1], tile.data.T)
        if writing is not None:
            writing.wait()
        writing = turned
    if writing is not None:
        writing.wait()


def main():
    parser = argparse.ArgumentParser(description="transposes a matrix that is larger than memory")
    parser.add_argument("--memory", default="64M", help="what tiles may take, 64M unless told")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO")
    words = parser.parse_args()
    with fallsfs.open(words.source, mode="r") as source:
        if source.ndim != 2:
            parser.error(f"{words.source} has {source.ndim} dimensions: a matrix has 2")
        with fallsfs.create(words.target, source.shape[::-1], source.dtype, source.order) as target:
            transpose(source, target, fallsfs.parse_size(words.memory))
            print(f"{words.target}: {target.shape[0]} x {target.shape[1]}, {target.nbytes} bytes")


if __name__ == "__main__":
    main()
