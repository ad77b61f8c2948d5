#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs programs on slow disks in one layout and another, and keeps what came of it, a line of JSON each; for profile.sh.

A disk moves 100 MB/s and needs 12 ms to get anywhere, or seeks for nothing, and takes what waits in its own order; and
time goes twice as many times slower as there are disks: together they always move 50 MB/s, which two processors keep up
with.
"""
import argparse
import glob
import json
import os
import random
import subprocess
import sys
import time

RATE, SEEK, STRETCH = 100e6, 0.012, 2        # bytes a second, seconds
KINDS = {"seeking": SEEK, "throttled": 0.0}
ROMIO_PATIENCE = 20                         # seconds
PAIRS, PAIR_BYTES = 200, 4 << 20

parser = argparse.ArgumentParser()
parser.add_argument("verb", choices=["layouts", "candidates", "degree"])
parser.add_argument("--size", choices=["quick", "full"])
parser.add_argument("--procs", type=int)
parser.add_argument("--build")
parser.add_argument("--base")
parser.add_argument("--mount")
parser.add_argument("--kinds", type=str.split)
parser.add_argument("--daemon", type=int)
parser.add_argument("--samples")
parser.add_argument("words", nargs="*")
args = parser.parse_intermixed_args()

procs = args.procs
quick = args.size == "quick"
slowness = STRETCH * procs
asked = (32 if quick else 64) * 1000000
fallsctl = os.path.join(args.build, "fs/ctl/fallsctl")
programs = os.path.join(args.build, "test/bench")
models = sorted(glob.glob(os.path.join(args.base, "slowdisk", "*", "model")))
mount = os.path.join(args.base, "falls")
trace = os.path.join(args.base, "trace")


def call(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def note(**what):
    with open(args.samples, "a", encoding="utf-8") as file:
        file.write(json.dumps({"mount": args.mount, "procs": procs} | what) + "\n")
    print(what, file=sys.stderr, flush=True)


# -- disks --

def set_models(text):
    for model in models:
        with open(model, "w", encoding="ascii") as file:
            file.write(text)


def work_done():
    """Seconds of the disk that had most to do, and what all did, since their numbers were set."""
    done = []
    for model in models:
        with open(model, encoding="ascii") as file:
            done.append([int(word) for word in file.read().split()])
    return {"busy": max(disk[0] for disk in done) / 1e6, "requests": sum(disk[1] for disk in done),
            "seeks": sum(disk[2] for disk in done), "moved": sum(disk[3] for disk in done)}


def on_slow_disks(kind, path, act, slower=slowness, near=1 << 20):
    """What act gives, while disks are slow and have to read the file; and what they did."""
    for disk in glob.glob(os.path.join(args.base, "disk", "*")):
        call("sync", "-f", disk)
    call(os.path.join(programs, "cool"), f"file={path}", f"pid={args.daemon}", "pages")
    set_models("park")
    set_models(f"{RATE / slower / 1e6:.6f} {KINDS[kind] * slower * 1e6:.0f} {near} sorted")
    try:
        return act() | work_done()
    finally:
        set_models("0 0")


# -- programs --

def run(workload, path, *phases, seed=1, tracing=(), n_bytes=asked):
    said = call(*tracing, os.path.join(programs, "bench_profile"), "run", workload, procs, n_bytes, seed, path, *phases)
    lines = [line.split() for line in said.splitlines()]
    return {words[0]: {"seconds": float(words[1]), "bytes": int(words[2])}
            for words in lines if words and words[0] in phases}


def run_romio(workload, path, phase, seed):
    """MPI-IO's ranks wait without sleeping; the shim makes them yield. None: that took too long."""
    words = ["mpiexec.mpich", "-n", procs, "-genv", "LD_PRELOAD", os.path.join(programs, "libyield.so"),
             os.path.join(programs, "romio_profile"), workload, asked, seed, path, phase]
    try:
        said = call(*words, timeout=ROMIO_PATIENCE).split()
    except subprocess.TimeoutExpired:
        return {"seconds": None, "bytes": 0}
    return {"seconds": float(said[0]), "bytes": int(said[1])}


def size_of(workload):
    return int(call(os.path.join(programs, "bench_profile"), "size", workload, procs, asked))


def has_romio():
    return os.path.exists(os.path.join(programs, "romio_profile"))


# -- advice --

def costs(kind):
    return ["--seek", f"{KINDS[kind] * slowness * 1e3:.6g}", "--rate", f"{RATE / slowness:.0f}"]


def advice(kind, *words):
    return json.loads(call(fallsctl, "recommend", "--json", *costs(kind), *words))


def record(workload, path):
    """A trace of the program, which both writes and reads the file."""
    with open(path, "w", encoding="ascii"):
        pass
    run(workload, path, "write", "check", tracing=(fallsctl, "trace", "record", "-o", trace, "--every", path, "--"))


def foretold(kind, path):
    """Busy seconds of the slowest disk by phase and layout."""
    return {phase: {candidate["layout"]: candidate["busy"]
                    for candidate in advice(kind, "--for", phase, trace, os.path.basename(path))["candidates"]}
            for phase in ("read", "write")}


def make_anew(path, layout):
    """An empty file. What it had is gone by the time that somebody writes: removing it moves heads, too."""
    if os.path.exists(path):
        os.unlink(path)
    call(fallsctl, "create", "-L", layout, path)
    time.sleep(1)


# -- the default and the recommended layout --

def compare(kind, workload):
    default, better = (os.path.join(mount, f"{workload}.{name}") for name in ("default", "better"))
    run(workload, default, "write", "check", "whole")
    record(workload, better)
    began = time.monotonic()
    told = advice(kind, trace, os.path.basename(better))
    now = next(candidate["layout"] for candidate in told["candidates"] if candidate["is_now"])
    layouts = {"default": now, "recommended": told["candidates"][0]["layout"] if told["gain"] else now}
    busy = foretold(kind, better)
    call(fallsctl, "recommend", "--json", "--apply", *costs(kind), trace, better)
    call(fallsctl, "jobs", "wait", mount)
    note(what="advice", kind=kind, workload=workload, seconds=time.monotonic() - began)
    run(workload, better, "check", "whole")
    for number in range(1 if quick or procs > 4 else 2):
        for phase in ("write", "read"):
            for target, path in (("default", default), ("recommended", better)):
                layout = layouts[target]
                if phase == "write":
                    make_anew(path, layout)
                sample = on_slow_disks(kind, path, lambda: run(workload, path, phase, seed=100 + number)[phase])
                note(what="time", kind=kind, workload=workload, phase=phase, target=target, size=size_of(workload),
                     gain=told["gain"], layout=layout, foretold=busy[phase].get(layout), **sample)
    if has_romio():
        for phase in ("write", "read"):
            if phase == "write":
                make_anew(default, now)
            sample = on_slow_disks(kind, default, lambda: run_romio(workload, default, phase, 200))
            note(what="time", kind=kind, workload=workload, phase=phase, target="romio", size=size_of(workload), **sample)
    os.unlink(default)
    os.unlink(better)


# -- all candidates, really run --

def is_tried(place, candidate):
    """All; or the best, those that give processes their own bytes, and what anybody might try."""
    usual = ["one"] + [f"stripe({unit},{procs})" for unit in ("16K", "64K", "256K", "4M")]
    return not quick or place < 3 or candidate["is_now"] or candidate["layout"][0] == "{" or candidate["layout"] in usual


def try_candidates(kind, workload):
    path = os.path.join(mount, workload)
    record(workload, path)
    told = advice(kind, trace, workload)
    busy = foretold(kind, path)
    os.unlink(path)
    for place, candidate in enumerate(told["candidates"]):
        if not is_tried(place, candidate):
            continue
        layout = candidate["layout"]
        make_anew(path, layout)
        run(workload, path, "write", "whole")
        for phase in ("write", "read"):
            if phase == "write":
                make_anew(path, layout)
            sample = on_slow_disks(kind, path, lambda: run(workload, path, phase, seed=100)[phase])
            note(what="candidate", kind=kind, workload=workload, phase=phase, place=place, layout=layout,
                 is_now=candidate["is_now"], gain=told["gain"], foretold=busy[phase].get(layout), **sample)
        os.unlink(path)


# -- the match degree --

def random_parts(order):
    """A distribution of an array of 1 MiB to 4 MiB over as many elements as there are processes, as text."""
    pieces = [64, 256, 1024, 4096, 16384, 65536, 262144]
    if order.random() < 0.3:
        return f"stripe({order.choice(pieces[2:])},{procs})"
    rows = 1 << order.randint(6, 12)
    columns = PAIR_BYTES // rows // 16
    grid = order.choice([(procs, 1), (1, procs)] + [(n, procs // n) for n in range(2, procs) if procs % n == 0])
    words = []
    for parts, length in zip(grid, (rows, columns)):
        most = length // parts
        words.append("*" if parts == 1 else order.choice(["block", f"cyclic({1 << order.randint(0, most.bit_length() - 1)})"]))
    return f"array(shape={rows}x{columns}, elem=16, dist=({words[0]},{words[1]}), grid={grid[0]}x{grid[1]})"


def measure_pairs():
    order, done = random.Random(17), 0
    path = os.path.join(mount, "pair")
    while done < (PAIRS // 10 if quick else PAIRS):
        stored, wanted = random_parts(order), random_parts(order)
        degree = json.loads(call(fallsctl, "layout", "match", "--json", stored, wanted))
        if degree["runs"] * PAIR_BYTES / degree["period"] > 20000:
            continue        # the processors would be measured
        call(fallsctl, "create", "-L", stored, path)
        run(wanted, path, "write", "check", n_bytes=PAIR_BYTES)
        for kind in args.kinds:
            sample = on_slow_disks(kind, path, lambda: run(wanted, path, "read", n_bytes=PAIR_BYTES)["read"], procs, 1 << 16)
            note(what="pair", kind=kind, stored=stored, wanted=wanted, degree=degree["degree"], **sample)
        os.unlink(path)
        done += 1


if args.verb == "degree":
    measure_pairs()
for disks in args.kinds if args.verb != "degree" else ():
    for word in args.words:
        (compare if args.verb == "layouts" else try_candidates)(disks, word)
