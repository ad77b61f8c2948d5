#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the examples checkpoint and sort have made, beside Python: records.py checkpoint FILE COUNT STEPS, or
records.py sort FROM TO RECORD KEY."""
import struct
import sys

HEADER = 4096


def check_checkpoint(path, count, steps):
    with open(path, "rb") as file:
        data = file.read()
    assert len(data) == HEADER + 8 * count, f"{len(data)} bytes"
    assert struct.unpack_from("<16sQ", data) == (b"checkpoint 1\n\0\0\0", steps)
    elements = struct.unpack_from(f"<{count}Q", data, HEADER)
    for number, element in enumerate(elements):
        expected = number
        for _ in range(steps):
            expected = (expected * 6364136223846793005 + 1442695040888963407) % 2**64
        assert element == expected, f"element {number} is {element}, not {expected}"


def check_sort(before, after, record, key):
    with open(before, "rb") as file:
        data = file.read()
    records = [data[at:at + record] for at in range(0, len(data), record)]
    with open(after, "rb") as file:
        found = file.read()
    assert found == b"".join(sorted(records, key=lambda one: one[:key])), "the order is another one"


if sys.argv[1] == "checkpoint":
    check_checkpoint(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    check_sort(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
