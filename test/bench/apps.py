#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples that are whole programs, directly on a plain directory and together on a mount; apps.sh calls this.

A line for each size of the matrix and number of processes, as in Tables 9 and 10 of the extended two-phase paper, with what
it says its method gains. Medians of interleaved rounds. Exit 1 when a bar is missed.
"""
import argparse
import glob
import math
import os
import re
import statistics
import subprocess
import sys

# Seconds of the direct method and of the paper's, by side and processes.
GAXPY = {
    1024: {8: (44.65, 34.77), 16: (39.88, 24.78), 32: (37.80, 18.88), 64: (50.65, 17.66), 128: (161.0, 24.76)},
    2048: {8: (103.4, 80.43), 16: (94.37, 69.87), 32: (108.6, 76.36), 64: (168.8, 122.8), 128: (377.1, 218.1)},
    4096: {8: (589.0, 416.8), 16: (465.9, 326.8), 32: (536.4, 354.5), 64: (814.2, 501.1), 128: (1562, 909.3)},
}
LAPLACE = {
    1024: {8: (27.15, 25.03), 16: (17.06, 15.27), 32: (18.59, 13.29), 64: (19.20, 14.80), 128: (31.40, 18.16)},
    2048: {8: (72.34, 68.00), 16: (61.96, 54.65), 32: (50.27, 43.63), 64: (49.15, 42.06), 128: (64.67, 53.10)},
    4096: {8: (387.1, 356.7), 16: (434.0, 294.3), 32: (448.3, 273.3), 64: (383.6, 280.0), 128: (508.5, 334.4)},
}
SAID = re.compile(r"\w+: \d+ processes of (?P<memory>[\d.]+) KiB, .* I/O (?P<io>[\d.]+) ms, in calls (?P<calls>[\d.]+) ms, "
                  r"all (?P<all>[\d.]+) ms\n")
MEAN, MOST, COLD = 0.5, 1.1, 0.25   # of the direct method
BUDGET = 10000                      # ms, after which a line has samples enough

parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=["quick", "full"])
parser.add_argument("--sides", type=lambda text: [int(n) for n in text.split(",")])
parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")])
parser.add_argument("--remark")
parser.add_argument("--cool", help="a command that empties caches; files are added to it")
parser.add_argument("--model", help="the slow disks")
parser.add_argument("programs")
parser.add_argument("plain")
parser.add_argument("falls")
parser.add_argument("words", nargs="+")
args = parser.parse_args()

rounds = 3 if args.size == "quick" or args.cool else 5
iterations = 2 if args.cool else 10
slabs = 2 if args.cool else 4
#        heading, program, its words, the paper's table
KINDS = [("GAXPY", "gaxpy", ["-s", slabs], GAXPY, 9),
         ("Laplace, edges read", "laplace", ["-k", iterations], LAPLACE, 10),
         ("Laplace, edges exchanged", "laplace", ["-x", "-k", iterations], LAPLACE, 10)]


def slow_down(words):
    for model in glob.glob(os.path.join(args.model or "/nowhere", "*", "model")):
        with open(model, "w", encoding="ascii") as file:
            file.write(words)


def make_matrix(path, side):
    with open(path, "wb") as file:
        for _ in range(side):
            file.write(os.urandom(4 * side))


def measure(program, words, directory, together, cool, side, ranks):
    names = ["A", "B", "C"] if program == "gaxpy" else ["A", "B"]
    files = [os.path.join(directory, f"{name}.{side}") for name in names]
    command = [os.path.join(args.programs, f"apps_{program}"), "-i", "-p", ranks, *words]
    if not together:
        command.append("-d")
    if cool:
        command += ["-c", cool + " " + " ".join(f"file={file}" for file in files)]
    done = subprocess.run([str(word) for word in [*command, side, *files]], stdout=subprocess.PIPE, text=True, check=True)
    match = SAID.match(done.stdout)
    return {name: float(value) for name, value in match.groupdict().items()}


def measure_both(program, words, side, ranks):
    """Each once to begin with, for what is only had the first time; then in turns, until that takes too long."""
    arms = [(args.plain, False), (args.falls, True)]
    samples = [[], []]
    for arm in arms:
        measure(program, words, *arm, None, side, ranks)
    for n in range(rounds):
        for i in (0, 1) if n % 2 else (1, 0):
            samples[i].append(measure(program, words, *arms[i], args.cool, side, ranks))
        if sum(sample["all"] for arm in samples for sample in arm) > BUDGET:
            break
    return [{name: statistics.median(sample[name] for sample in arm) for name in arm[0]} for arm in samples]


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def print_kind(heading, program, words, paper, table):
    """Prints the lines of a kind; gives what share of the direct method's time each took."""
    print(f"{heading}\n")
    print("| side | processes | KiB of each | direct | together | of that | better by | Table %d | in calls: direct | together |"
          " program: direct | together |" % table)
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    shares = {}
    for side in args.sides:
        for ranks in args.ranks:
            direct, together = measure_both(program, words, side, ranks)
            shares[f"{heading} {side} on {ranks}"] = share = together["io"] / direct["io"]
            before, after = paper.get(side, {}).get(ranks, (None, None))
            said = f"{100 * (1 - after / before):.1f} %" if before else ""
            print(f"| {side} | {ranks} | {together['memory']:.0f} | {direct['io']:.1f} | {together['io']:.1f} | {share:.2f} | "
                  f"{100 * (1 - share):.1f} % | {said} | {direct['calls']:.1f} | {together['calls']:.1f} | "
                  f"{direct['all']:.0f} | {together['all']:.0f} |", flush=True)
    print(f"| geometric mean | | | | | {geometric(shares.values()):.2f} | | | | | | |\n")
    return shares


def judge(shares):
    missed = [f"{name}: {share:.2f} of the direct method's time, not {MOST}" for name, share in shares.items() if share > MOST]
    if args.cool:
        missed = [f"{name}: {share:.2f}, not {COLD}" for name, share in shares.items() if share > COLD]
    mean = geometric(shares.values())
    if mean > (COLD if args.cool else MEAN):
        missed.append(f"the geometric mean of all is {mean:.2f}, not {COLD if args.cool else MEAN}")
    print(f"Geometric mean of all: {mean:.2f}. Bars: " + ("all hold." if not missed else "; ".join(missed) + "."))
    return not missed


# They stay open: finding a file in its directories is not what the programs' clocks are for.
matrices = [os.path.join(directory, f"{name}.{side}")
            for directory in (args.plain, args.falls) for side in args.sides for name in "ABC"]
for matrix in matrices:
    make_matrix(matrix, int(matrix.rpartition(".")[2]))
kept = [os.open(matrix, os.O_RDWR) for matrix in matrices]
if args.cool:
    os.sync()
    slow_down("100 12000")
print(f"{args.remark}\n\nMilliseconds.\n")
all_shares = {}
for kind in KINDS:
    if kind[1] in args.words:
        all_shares |= print_kind(*kind)
for fd in kept:
    os.close(fd)
sys.exit(0 if judge(all_shares) else 1)
