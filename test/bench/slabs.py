# SPDX-License-Identifier: MIT
"""Walks through arrays larger than memory: slabs.py BENCH_SLABS FILE MIB THROTTLED-FILE|- MIB ROUNDS; exit 1 when a bar is missed.

Cold, in turns with dd: what a walk reads a second. On disks that give so many bytes a second, one process: what reading
ahead hides of the smaller of reading and computing, and that no byte comes twice with a halo.
"""
import statistics
import subprocess
import sys
import time


def cool():
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as caches:
        caches.write("3")


def walk(program, path, mib, memory, halo=0, compute=0, prefetch=1):
    """(milliseconds, slabs, bytes asked for, milliseconds waited)"""
    cool()
    words = [program, path, *map(str, (mib, memory, halo, compute, prefetch))]
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return float(said[0]), int(said[1]), int(said[2]), float(said[3])


def dd(path):
    cool()
    begun = time.perf_counter()
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4M", "status=none"], check=True)
    return 1000 * (time.perf_counter() - begun)


def judge(what, value, bar, met):
    print(f"| {what} | {value} | {bar} | {'ok' if met else 'MISSED'} |")
    return met


def main(program, path, mib, slow, slow_mib, rounds):
    mib, slow_mib, rounds = int(mib), int(slow_mib), int(rounds)
    walks, copies = [], []
    for _ in range(rounds):
        walks.append(walk(program, path, mib, 32, prefetch=2)[0])
        copies.append(dd(path))
    ours, theirs = statistics.median(walks), statistics.median(copies)
    print("| what | value | bar | |\n|---|---|---|---|")
    met = judge(f"a walk over {mib} MiB, 32 MiB of memory, cold; dd bs=4M takes {theirs:.0f} ms",
                f"{theirs / ours:.2f} of dd's rate", "≥ 0.9", theirs / ours >= 0.9)
    if slow != "-":
        hidden = []
        for _ in range(rounds):
            reading, slabs, _, _ = walk(program, slow, slow_mib, 12, prefetch=2)
            each = reading * 1000 / slabs
            both, slabs, _, _ = walk(program, slow, slow_mib, 12, compute=int(each), prefetch=2)
            computing = slabs * each / 1000
            hidden.append((reading + computing - both) / min(reading, computing))
        share = statistics.median(hidden)
        met &= judge(f"throttled disks, {slow_mib} MiB read in {reading:.0f} ms, as long computed: hidden of the smaller",
                     f"{share:.2f}", "≥ 0.9", share >= 0.9)
        asked = walk(program, slow, slow_mib, 12, halo=3)[2]
        met &= judge("with a halo of 3 rows on each side, bytes read", f"{asked / (slow_mib << 20):.3f} of the array",
                     "≤ 1", asked <= slow_mib << 20)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
