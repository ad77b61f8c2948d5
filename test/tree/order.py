#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms of the tree stand on each other in one order. order.py BUILD-DIR

Says which file includes, or calls, what it must not, and which modules of one room need each other in a ring that is too
long to be understood. Includes are looked at as well as objects: functions in headers hide calls from the linker, and
calls through declarations of one's own hide them from includes.
"""
import collections
import json
import os
import re
import subprocess
import sys

MAX_RING = 6

# A room may use those above it in this list, and itself. Who stands in two lists may use what either allows.
ORDERS = [
    ["layout", "ioctl", "ioctl/trace", "fs/core/disk", "fs/core/volume", "fs/core/stub", "fs/core/file", "fs/core/tree",
     "fs/core/change", "fs/core/view", "fs/core", "fs/json", "fs/trace", "fs/daemon/say", "fs/daemon/config", "fs/daemon/bounds",
     "fs/daemon/kernel", "fs/daemon/serve", "fs/daemon/group", "fs/daemon/trace", "fs/daemon/view", "fs/daemon/mover",
     "fs/daemon/metrics", "fs/daemon/attr",
     "fs/daemon/ops", "fs/daemon"],
    ["layout", "fs/core/disk", "fs/core/volume", "fs/core/stub", "fs/json", "fs/fsck"],
    ["layout", "ioctl", "ioctl/trace", "ioctl/client", "ioctl/mpi"],
    ["layout", "ioctl", "ioctl/client", "ioctl/client/slabs", "ioctl/client/passion"],
    ["ioctl/client", "ioctl/client/slabs", "ioctl/client/examples"],
    ["layout", "ioctl", "ioctl/trace", "ioctl/client", "ioctl/client/bench", "fs/core/disk", "fs/core/volume", "fs/core/stub",
     "fs/core/file", "fs/core/tree", "fs/core/change", "fs/core/view", "fs/core", "fs/json", "fs/trace", "fs/learn",
     "fs/ctl/talk", "fs/ctl/show", "fs/ctl/ask", "fs/ctl/think", "fs/ctl/verbs", "fs/ctl"],
]

allowed = collections.defaultdict(set)
for order in ORDERS:
    for i, room in enumerate(order):
        allowed[room].update(order[: i + 1])
rooms = set(allowed)

# Of these a list says too much: rooms of the core, and what traces teach, know nothing of programs' libraries nor of tools.
ENGINE = {"layout", "ioctl"}
for room in rooms:
    if room.startswith("fs/core"):
        allowed[room] &= ENGINE | {other for other in rooms if other.startswith("fs/core")}
    elif room in ("fs/trace", "fs/learn"):
        allowed[room] &= {"layout", "ioctl/trace", "fs/trace", "fs/learn"}


def room_of(path):
    folder = os.path.dirname(path)
    return folder if folder in rooms else None


def module_of(path):
    return os.path.splitext(path)[0]


def sources():
    for top in ("layout", "ioctl", "fs"):
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


def includes(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r'^#include "((?:layout|ioctl|fs)/[^"]+)"', file.read(), re.M)


def objects(build):
    """Each source that was compiled, with its object: of several, any."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    here = os.getcwd()
    found = {}
    for command in commands:
        path = os.path.relpath(os.path.realpath(os.path.join(command["directory"], command["file"])), here)
        out = re.search(r" -o (\S+\.o) ", command["command"])
        if out is not None and os.path.exists(os.path.join(command["directory"], out[1])):
            found[path] = os.path.join(command["directory"], out[1])
    return found


def symbols(path):
    defined, used = set(), set()
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind == "U":
            used.add(name)
        elif kind in "TDBRV":
            defined.add(name)
    return defined, used


def rings(nodes, edges):
    """Strongly connected sets of modules, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            ring = []
            while not ring or ring[-1] != node:
                ring.append(stack.pop())
            found.append(ring)

    for node in nodes:
        if node not in index:
            visit(node)
    return found


def main():
    uses = collections.defaultdict(dict)  # module -> module -> how
    paths = list(sources())
    failed = 0
    for path in paths:
        if room_of(path) is None:
            print(f"{path}: lies in no room that test/tree/order.py knows")
            failed = 1
        for other in includes(path):
            uses[module_of(path)].setdefault(module_of(other), f"{path} includes {other}")
    compiled = objects(sys.argv[1])
    home, wanted = {}, {}
    for path in paths:
        if path in compiled:
            defined, wanted[path] = symbols(compiled[path])
            for name in defined:
                home.setdefault(name, path)
    if len(wanted) < 100:
        print(f"only {len(wanted)} objects of the tree are below {sys.argv[1]}: build it first")
        failed = 1
    for path, names in wanted.items():
        for name in sorted(names & home.keys()):
            uses[module_of(path)].setdefault(module_of(home[name]), f"{path} uses {name} of {home[name]}")
    for module, others in sorted(uses.items()):
        for other, how in sorted(others.items()):
            above, below = room_of(module), room_of(other)
            if above is not None and below is not None and below not in allowed[above]:
                print(f"against the order: {how}")
                failed = 1
    for room in sorted(rooms):
        inside = [module for module in uses if room_of(module) == room]
        edges = {module: [other for other in uses[module] if room_of(other) == room and other in uses] for module in inside}
        for ring in rings(inside, edges):
            if len(ring) > MAX_RING:
                print(f"{room}: {len(ring)} modules need each other: {' '.join(sorted(map(os.path.basename, ring)))}")
                failed = 1
    return failed


sys.exit(main())
