#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples that move arrays and records: directly on a plain directory, and as they are on a mount; apps.sh calls this.

A line for each program: milliseconds of all of it but for what Python takes to begin, medians of interleaved rounds, after
one in which what both make is compared. The issue has no bars for these.
"""
import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import time

import fallsfs
import numpy as np

MIB = 1 << 20
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
EXAMPLES = os.path.join(TOP, "ioctl/client/python/examples")
DIRECT = os.path.join(TOP, "test/bench/direct.py")
# Runs a program and says how many milliseconds it took: modules that all of them need are there before.
TIMED = """import fallsfs, multiprocessing, numpy, os, runpy, sys, time
sys.argv = sys.argv[1:]
begun = time.perf_counter()
runpy.run_path(sys.argv[0], run_name="__main__")
print(1000 * (time.perf_counter() - begun), file=sys.stderr)"""

parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=["quick", "full"])
parser.add_argument("--remark")
parser.add_argument("programs")
parser.add_argument("plain")
parser.add_argument("falls")
parser.add_argument("words", nargs="+")
args = parser.parse_args()
quick = args.size == "quick"
rounds = 3 if quick else 7


def in_plain(name):
    return os.path.join(args.plain, name)


def in_falls(name):
    return os.path.join(args.falls, name)


def made_array(name, shape):
    """In both directories, and what it is said of the one on the mount."""
    with fallsfs.create(in_falls(name), shape, "f8", overwrite=True) as a:
        rng = np.random.default_rng(1)
        for (slab,) in fallsfs.slabs(a, access="w"):
            slab.data[...] = rng.random(slab.data.shape)
    shutil.copyfile(in_falls(name), in_plain(name))


def run(*words):
    """Milliseconds, and what it says."""
    begun = time.perf_counter()
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True)
    return 1000 * (time.perf_counter() - begun), done.stdout


def run_python(script, *words):
    done = subprocess.run([sys.executable, "-c", TIMED, script, *map(str, words)], check=True, capture_output=True, text=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    return float(done.stderr), done.stdout


class Checkpoint:
    """An array that was written in blocks of two dimensions is read, and written again, by columns eight at a time."""

    def __init__(self):
        self.shape = "256x256x64" if quick else "512x512x64"
        self.what = f"{self.shape}, 4 processes: read and written by columns"
        for directory, way in (args.plain, ["-d"]), (args.falls, []):
            run(self.program(), *way, "start", os.path.join(directory, "state"), self.shape, "(block,block,*)", "2x2x1")

    @staticmethod
    def program():
        return os.path.join(args.programs, "apps_checkpoint")

    def go_on(self, path, *way):
        return run(self.program(), *way, "continue", path, "(*,*,cyclic(8))", "1x1x4")

    def directly(self):
        return self.go_on(in_plain("state"), "-d")

    def by_fallsfs(self):
        return self.go_on(in_falls("state"))

    @staticmethod
    def is_same(_said):
        return filecmp.cmp(in_plain("state"), in_falls("state"), shallow=False)


class Sort:
    RECORD = 100

    def __init__(self):
        mib, self.memory = (64, "8M") if quick else (256, "16M")
        self.what = f"{mib} MiB of records of {self.RECORD} bytes, {self.memory} of memory"
        for start in range(mib):
            with open(in_falls("records"), "ab" if start else "wb") as file:
                file.write(os.urandom(MIB // self.RECORD * self.RECORD))
        shutil.copyfile(in_falls("records"), in_plain("records"))

    def sort(self, place, *way):
        words = ["-r", self.RECORD, "-k", 10, "-m", self.memory, place("records"), place("sorted")]
        return run(os.path.join(args.programs, "apps_sort"), *way, *words)

    def directly(self):
        return self.sort(in_plain, "-d")

    def by_fallsfs(self):
        return self.sort(in_falls)

    @staticmethod
    def is_same(_said):
        return filecmp.cmp(in_plain("sorted"), in_falls("sorted"), shallow=False)


class Transpose:
    def __init__(self):
        self.side, self.memory = (3072, 12 * MIB) if quick else (6144, 48 * MIB)
        self.what = f"{self.side} x {self.side}, {self.memory // MIB}M of memory"
        made_array("matrix", (self.side, self.side))

    def directly(self):
        return run_python(DIRECT, "transpose", self.memory, in_plain("matrix"), in_plain("turned"), self.side, self.side)

    def by_fallsfs(self):
        if os.path.exists(in_falls("turned")):
            os.unlink(in_falls("turned"))
        return run_python(os.path.join(EXAMPLES, "transpose.py"), "--memory", self.memory, in_falls("matrix"),
                          in_falls("turned"))

    @staticmethod
    def is_same(_said):
        return filecmp.cmp(in_plain("turned"), in_falls("turned"), shallow=False)


class Stencil:
    STEPS, PROCESSES = 4, 4

    def __init__(self):
        self.shape, self.memory = ((128, 160, 160), 4 * MIB) if quick else ((256, 256, 256), 16 * MIB)
        self.what = (f"{'x'.join(map(str, self.shape))}, {self.STEPS} steps by {self.PROCESSES} processes of "
                     f"{self.memory // MIB}M")
        made_array("field", self.shape)

    def directly(self):
        return run_python(DIRECT, "stencil", self.STEPS, self.PROCESSES, self.memory, in_plain("field"), *self.shape)

    def by_fallsfs(self):
        return run_python(os.path.join(EXAMPLES, "stencil.py"), "--steps", self.STEPS, "--processes", self.PROCESSES,
                          "--memory", self.memory, in_falls("field"))

    @staticmethod
    def is_same(_said):
        return filecmp.cmp(in_plain("field"), in_falls("field"), shallow=False)


class Statistics:
    SECTION = "::2, 1::2, ::5"

    def __init__(self):
        self.shape, self.memory = ((128, 500, 300), 8 * MIB) if quick else ((400, 500, 300), 16 * MIB)
        self.what = f"{'x'.join(map(str, self.shape))}, [{self.SECTION}], {self.memory // MIB}M of memory"
        made_array("series", self.shape)

    def directly(self):
        return run_python(DIRECT, "statistics", self.memory, in_plain("series"), *self.shape, self.SECTION)

    def by_fallsfs(self):
        return run_python(os.path.join(EXAMPLES, "section_statistics.py"), "--memory", self.memory, in_falls("series"),
                          self.SECTION)

    @staticmethod
    def is_same(said):
        one, other = (dict(line.split() for line in text.splitlines()) for text in said)
        return one["n"] == other["n"] and abs(float(one["mean"]) - float(other["mean"])) < 1e-9


KINDS = {kind.__name__.lower(): kind for kind in (Checkpoint, Sort, Transpose, Stencil, Statistics)}


def measure(kind):
    """What both ways make in the first round is compared, and not timed."""
    program = kind()
    ways, samples = [program.directly, program.by_fallsfs], [[], []]
    if not program.is_same([way()[1] for way in ways]):
        sys.exit(f"{program.what}: the direct way makes something else")
    for n in range(rounds):
        for i in (0, 1) if n % 2 else (1, 0):
            samples[i].append(ways[i]()[0])
    return program.what, *map(statistics.median, samples)


print(f"{args.remark}\n\nMilliseconds.\n")
print("| program | of | directly | by fallsfs | of that |\n|---|---|---|---|---|")
for word in KINDS:
    if word in args.words:
        what, direct, ours = measure(KINDS[word])
        print(f"| {word} | {what} | {direct:.0f} | {ours:.0f} | {ours / direct:.2f} |", flush=True)
print("\nThere are no bars for these.")
