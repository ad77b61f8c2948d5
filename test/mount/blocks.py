# SPDX-License-Identifier: MIT
"""blocks.py FILE ORIGINAL [BLOCK]: a letter for each block of the original, read from the file in order, one by one.

o  as it was        z  zeros        x  other bytes        -  nothing: the file is shorter
E  EIO              U  EUCLEAN      !  another error
"""
import errno
import os
import sys

file, original = sys.argv[1:3]
block = int(sys.argv[3]) if len(sys.argv) > 3 else 4096
with open(original, "rb") as f:
    want = f.read()


def letter(fd, off):
    expected = want[off : off + block]
    try:
        got = os.pread(fd, len(expected), off)
    except OSError as e:
        return {errno.EIO: "E", errno.EUCLEAN: "U"}.get(e.errno, "!")
    if got == expected:
        return "o"
    if not got:
        return "-"
    return "z" if not any(got) else "x"


try:
    fd = os.open(file, os.O_RDONLY)
except OSError as e:
    print("open: " + errno.errorcode[e.errno])
    sys.exit(0)
print("".join(letter(fd, off) for off in range(0, len(want), block)))
