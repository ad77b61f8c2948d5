# SPDX-License-Identifier: MIT
"""Replicas and second copies, measured: replicas.py matrix | settle | readers | writes ...; exit 1 when a bar is missed.

Times are from the moment when all processes begin to the moment when the last has ended, the medians of rounds in turn, with
nothing cached before each.
"""
import os
import re
import statistics
import subprocess
import sys
import time

import fallsfs

RANKS = 4


def cool():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
        f.write("3")


def block_of(rank, side, by):
    lo, hi = rank * side // RANKS, (rank + 1) * side // RANKS
    return (slice(lo, hi), slice(None)) if by == "rows" else (slice(None), slice(lo, hi))


def read_block(team, path, side, by, together, begin):
    with fallsfs.open(path, shape=(side, side), dtype="f8") as a:
        reader = team.group(a) if together else a
        time.sleep(max(0, begin - time.time()))
        start = time.time()
        reader[block_of(team.rank, side, by)]
        return start, time.time()


def time_blocks(path, side, by, together):
    cool()
    times = fallsfs.run(read_block, RANKS, path, side, by, together, time.time() + 0.5)
    return max(end for _, end in times) - min(start for start, _ in times)


def matrix(disks, base, side, rounds):
    side, missed = int(side), False
    print(f"\n| {disks} disks, 4 processes, a matrix of {side * side >> 17} MiB | rows | columns | rows, and a replica by columns | of the better | bar |")
    print("|---|---|---|---|---|---|")
    for together in (False, True):
        for by in ("rows", "columns"):
            times = {name: [] for name in ("rows", "columns", "both")}
            for _ in range(int(rounds)):
                for name, some in times.items():
                    some.append(time_blocks(f"{base}/{name}/matrix", side, by, together))
            of = {name: statistics.median(some) for name, some in times.items()}
            ratio = min(of["rows"], of["columns"]) / of["both"]
            missed = missed or ratio < 0.9
            words = f"{by} by {'a group' if together else 'sections'}"
            print(
                f"| {words} | {of['rows']:.2f} s | {of['columns']:.2f} s | {of['both']:.2f} s | {ratio:.2f} |"
                f" 0.9 {'met' if ratio >= 0.9 else 'MISSED'} |",
                flush=True,
            )
    return missed


def settle(*paths):
    """Waits until the disks have second copies of these files in full."""
    for path in paths:
        while b"filled" not in os.getxattr(path, "user.falls.replicas"):
            time.sleep(0.2)
    return False


def read_whole(team, paths, begin):
    time.sleep(max(0, begin - time.time()))
    start, n = time.time(), 0
    with open(paths[team.rank], "rb", buffering=0) as f:
        while part := f.read(1 << 20):
            n += len(part)
    return start, time.time(), n


def readers(a, b, rounds, rate):
    rates = []
    for _ in range(int(rounds)):
        cool()
        times = fallsfs.run(read_whole, 2, (a, b), time.time() + 0.5)
        rates.append(sum(t[2] for t in times) / (max(t[1] for t in times) - min(t[0] for t in times)))
    ratio = statistics.median(rates) / int(rate)
    print(f"\n| two readers of two files, two disks, `copies 2` | {statistics.median(rates) / 1e6:.0f} MB/s | of one disk {ratio:.2f} | 1.9 {'met' if ratio >= 1.9 else 'MISSED'} |")
    return ratio < 1.9


def write(path, mib):
    start = time.time()
    with open(path, "r+b" if os.path.exists(path) else "wb", buffering=0) as f:
        for _ in range(mib):
            f.write(b"z" * (1 << 20))
        os.fsync(f.fileno())
    return time.time() - start


def count_map_syncs(pid, work):
    """How often the daemon syncs a map while work goes on."""
    with subprocess.Popen(
        ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-p", pid], stderr=subprocess.PIPE, text=True
    ) as tracer:
        time.sleep(1)
        work()
        tracer.terminate()
        return len(re.findall(r"\.r>", tracer.stderr.read()))


def writes(base, mib, rounds, pid, fallsctl):
    mib, missed, times = int(mib), False, {1: [], 2: []}
    for copies in times:
        os.mkdir(f"{base}/{copies}")
        subprocess.run(
            [fallsctl, "layout", "set", "-L", f"stripe(1M) copies {copies}", f"{base}/{copies}"], check=True, stderr=subprocess.DEVNULL
        )
    for i in range(int(rounds)):
        for copies, some in times.items():
            cool()
            some.append(write(f"{base}/{copies}/f{i}", mib))
            if i > 0:
                os.remove(f"{base}/{copies}/f{i}")
    ratio = statistics.median(times[1]) / statistics.median(times[2])
    missed = ratio < 0.45
    print(f"\n| {mib} MiB in order and an fsync, four throttled disks | without copies {statistics.median(times[1]):.2f} s | `copies 2` {statistics.median(times[2]):.2f} s | {ratio:.2f} | 0.45 {'met' if ratio >= 0.45 else 'MISSED'} |")
    settle(f"{base}/2/f0")
    n = count_map_syncs(pid, lambda: write(f"{base}/2/f0", mib))
    most = 2 * ((mib + 63) // 64) + 2  # of two maps; and those that the fsync takes
    print(f"| these MiB written again: syncs of maps | {n} | at most {most} {'met' if n <= most else 'MISSED'} |")
    return missed or n > most


if __name__ == "__main__":
    sys.exit(1 if globals()[sys.argv[1]](*sys.argv[2:]) else 0)
