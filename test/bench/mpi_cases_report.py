#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What mpi_cases measured, as mpi.sh has it: mpi_cases_report.py SAMPLES REMARK

A line of samples is CASE RANKS WHO NAME VALUE, where WHO is an MPI that the library serves (mpich, openmpi), a setting of
ROMIO's or OMPIO on a plain directory; medians of them. Without the shim (-spin) nothing has a bar. Exit 1 when one is missed.
"""
import collections
import statistics
import sys

BETTER = 3  # times the best ROMIO
FRESH, KNOWN = 5, 1  # microseconds of a view
MEMORY = 16, 32  # MiB beside the data, bytes for each piece
MIB = 1 << 20

samples = collections.defaultdict(list)
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        *key, value = line.split()
        samples[tuple(key)].append(float(value))
mids = {key: statistics.median(values) for key, values in samples.items()}
missed = []


def pick(case, ranks, who, name):
    return mids.get((case, ranks, who, name))


def show(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def cases_with(name):
    return dict.fromkeys((key[0], key[1]) for key in mids if key[3] == name)


def who_did(case, ranks):
    return list(dict.fromkeys(key[2] for key in mids if key[:2] == (case, ranks)))


def judge_speed(case, ranks, spin):
    romio = [w for w in who_did(case, ranks) if w.endswith(spin) and w.startswith(("sieve", "one", "all", "default"))]
    for name in "write", "read":
        ours = pick(case, ranks, "mpich" + spin, name)
        best = min((pick(case, ranks, who, name) for who in romio), default=None)
        if ours is None or best is None:
            continue
        print(f"| | | *times as fast as the best ROMIO, {name}* | {best / ours:.2f} | | | |")
        if not spin and best < BETTER * ours:
            missed.append(f"{case}, {name}: {best / ours:.2f} times as fast as ROMIO, not {BETTER}")


def judge_memory(case, ranks):
    used = pick(case, ranks, "mpich", "memory")
    if used is None:
        return
    bytes_, pieces = pick(case, ranks, "mpich", "bytes"), pick(case, ranks, "mpich", "pieces")
    allowed = bytes_ / MIB + MEMORY[0] + MEMORY[1] * pieces / MIB
    if used > allowed:
        missed.append(f"{case}: {used:.0f} MiB of memory, not {allowed:.0f}")


print(f"{sys.argv[2]}\n")
print("| case | ranks | who | ms: view | write | read | MiB more |")
print("|---|---|---|---|---|---|---|")
for case, ranks in cases_with("write"):
    for who in who_did(case, ranks):
        times = [show(pick(case, ranks, who, name)) for name in ("view", "write", "read")]
        print(f"| {case} | {ranks} | {who} | {' | '.join(times)} | {show(pick(case, ranks, who, 'memory'), 0)} |")
    judge_speed(case, ranks, "")
    judge_speed(case, ranks, "-spin")
    judge_memory(case, ranks)

print("\n| 64 rows of so many bytes | ranks | who | ms: a collective each | each rank alone | of that |")
print("|---|---|---|---|---|---|")
for case, ranks in cases_with("together"):
    for who in who_did(case, ranks):
        together, alone = pick(case, ranks, who, "together"), pick(case, ranks, who, "alone")
        print(f"| {case[5:]} | {ranks} | {who} | {together:.2f} | {alone:.2f} | {together / alone:.2f} |")
        if who == "mpich" and together > alone:
            missed.append(f"{case} by {ranks}: {together / alone:.2f} of what each alone takes")

print("\n| a view of a subarray | us: new | known |\n|---|---|---|")
for case, ranks in cases_with("fresh"):
    for who in who_did(case, ranks):
        fresh, known = pick(case, ranks, who, "fresh"), pick(case, ranks, who, "known")
        print(f"| {who} | {fresh:.2f} | {known:.2f} |")
        if fresh > FRESH or known > KNOWN:
            missed.append(f"views of {who}: {fresh:.2f} and {known:.2f} us, not {FRESH} and {KNOWN}")

print("\nBars: " + ("all hold." if not missed else "; ".join(missed) + ".") + "\n")
sys.exit(1 if missed else 0)
