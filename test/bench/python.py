# SPDX-License-Identifier: MIT
"""What Python adds to the calls of C: python.py BENCH_PYTHON FILE ROUNDS; exit 1 when a bar is missed.

Rounds of a few calls each, in turn: fallsfs from Python into a new array, and the C call into memory that nobody has
touched. The bar is of medians: Python takes at most 1.2 times as long, and 20 microseconds.
"""
import statistics
import subprocess
import sys
import time

import fallsfs
import numpy as np

ROWS, COLUMNS = 8192, 8192
CALLS_A_ROUND = 5
CASES = [
    ("[::2, :100]", np.s_[::2, :100], (0, ROWS - 2, 2, 0, 99, 1)),
    ("[:, 5]", np.s_[:, 5], (0, ROWS - 1, 1, 5, 5, 1)),
    ("[10:20, ::2]", np.s_[10:20, ::2], (10, 19, 1, 0, COLUMNS - 2, 2)),
    ("[:512]", np.s_[:512], (0, 511, 1, 0, COLUMNS - 1, 1)),
]


def time_read(a, index):
    begun = time.perf_counter_ns()
    a[index]
    return time.perf_counter_ns() - begun


def main(program, path, rounds):
    a = fallsfs.create(path, (ROWS, COLUMNS), "f8", overwrite=True)
    for slab in fallsfs.slabs(a, access="w"):
        slab[0].data[...] = 1
    missed = False
    print("| a matrix of doubles, 8192 x 8192 | µs: C | Python | Python / C | bar |\n|---|---|---|---|---|")
    with subprocess.Popen(
        [program, path, str(ROWS), str(COLUMNS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as c:
        for name, index, section in CASES:
            times = {"c": [], "python": []}
            for _ in range(rounds):
                print(*section, CALLS_A_ROUND, file=c.stdin, flush=True)
                times["c"] += map(int, c.stdout.readline().split())
                times["python"] += [time_read(a, index) for _ in range(CALLS_A_ROUND)]
            by_c, by_python = (statistics.median(times[who]) / 1000 for who in ("c", "python"))
            is_met = by_python <= 1.2 * by_c + 20
            missed = missed or not is_met
            print(
                f"| `a{name}` | {by_c:.1f} | {by_python:.1f} | {by_python / by_c:.2f} |"
                f" {1.2 * by_c + 20:.1f} {'met' if is_met else 'MISSED'} |"
            )
        c.stdin.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
