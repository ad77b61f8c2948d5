#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sections through MPI_File_* with the library: mpi_report.py SAMPLES REMARK

A line for each case: MPI_File_*_all on the mount, which the library serves; libfallsfs itself on the same file, from
ordinary memory as well; the best setting of ROMIO on a plain directory, and Open MPI's own way there, which has no bar.
Medians of interleaved rounds, in ms. Exit 1 when a bar is missed.
"""
import collections
import math
import statistics
import sys

ALLOWED = 1.3, 0.0002   # times libfallsfs, and seconds more
BETTER = 3              # times the best ROMIO, in the geometric mean
LONG_RUNS = "1/VI", "2/IV"
ROMIO = "romio_plain", "romio_sieve", "romio_default", "romio_one", "romio_four", "romio_all"

times = collections.defaultdict(list)
failed = []
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        kind, case, target, method, _, value, *_ = line.split()
        if kind == "time":
            times[case, target, method].append(float(value))
        elif kind == "failed":
            failed.append(line.strip())

mids = {key: statistics.median(values) for key, values in times.items()}
print(f"{sys.argv[2]}\n")
print("| case | MPI, served | libfallsfs | of that | best ROMIO, plain | which | times as fast | OMPIO, plain |")
print("|---|---|---|---|---|---|---|---|")
gains, costs, missed = [], [], list(failed)
for case in dict.fromkeys(key[0] for key in mids):
    ours, own = mids.get((case, "falls", "romio_default")), mids.get((case, "falls", "dynamic"))
    romio = {m: mids[case, "plain", m] for m in ROMIO if (case, "plain", m) in mids}
    if ours is None or own is None or not romio:
        continue
    best = min(romio, key=romio.get)
    gain = romio[best] / ours
    gains.append(gain)
    costs.append(ours / own)
    ompio = mids.get((case, "plain", "ompio"))
    print(
        f"| {case} | {ours * 1e3:.2f} | {own * 1e3:.2f} | {ours / own:.2f} | {romio[best] * 1e3:.2f} | {best[6:]} "
        f"| {gain:.2f} | {'' if ompio is None else f'{ompio * 1e3:.2f}'} |"
    )
    if ours > ALLOWED[0] * own + ALLOWED[1]:
        missed.append(f"{case}: {ours * 1e3:.2f} ms, more than {ALLOWED[0]} of libfallsfs' {own * 1e3:.2f} ms and 0.2 ms")
    if gain < (0.25 if case in LONG_RUNS else 1):
        missed.append(f"{case}: {gain:.2f} times as fast as ROMIO")


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


if gains:
    print(f"| geometric mean | | | {geometric(costs):.2f} | | | {geometric(gains):.2f} | |")
    if len(gains) > 1 and geometric(gains) < BETTER:
        missed.append(f"{geometric(gains):.2f} times as fast as ROMIO in the mean, not {BETTER}")
print("\nBars: " + ("all hold." if not missed else "; ".join(missed) + "."))
print()
sys.exit(1 if missed else 0)
