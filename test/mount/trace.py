#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads traces as fallsfs-trace(5) has them, knowing nothing of the daemon's sources.

trace.py items TRACE       each item as a line
trace.py accesses TRACE    each access as trace.c prints it: TGID HOW r|w OFFSET LEN RANK PATTERN
trace.py dropped TRACE     how many are said to be missing
"""
import signal
import struct
import sys

FILE, PROCESS, PATTERN, ACCESS, DROPPED, OPEN = range(1, 7)
HOW = ["plain", "view", "section", "falls", "list"]


def text(data):
    end = data.index(b"\0")
    return data[:end].decode()


def items(data):
    magic, version, length, began, _volume, flags, ranks, *reserved = struct.unpack_from("<8sIIQ16sII4I", data)
    assert magic == b"FALLSTRC" and version == 2 and length == 64 and not any(reserved), "not the head of a trace"
    assert (ranks > 0) == (flags & 4 != 0), "ranks, and not of MPI"
    assert began > 1_500_000_000 * 10**9, "time began long ago"
    yield "head", dict(flags=flags)
    at = length
    while at + 8 <= len(data):
        kind, sampled, length = struct.unpack_from("<HHI", data, at)
        assert length >= 8 and length % 8 == 0 and (sampled == 0 or kind == ACCESS), f"an item of {length} bytes"
        if at + length > len(data):
            break
        yield kind, data[at : at + length]
        at += length


def decoded(data):
    """Each item as (kind, dict); numbers are checked to have been introduced, once."""
    known = {FILE: {0}, PROCESS: {0}, PATTERN: {0}}
    for kind, body in items(data):
        if kind == "head":
            yield kind, body
        elif kind == FILE:
            number, layout_at, inode, size = struct.unpack_from("<IIQQ", body, 8)
            row = dict(number=number, inode=inode, size=size, path=text(body[32:]), layout=text(body[32 + layout_at :]))
        elif kind == PROCESS:
            number, uid, tgid, ranked, start = struct.unpack_from("<IIIIQ", body, 8)
            row = dict(number=number, uid=uid, tgid=tgid, start=start, name=text(body[32:]), ranked=ranked)
        elif kind == PATTERN:
            number, _ = struct.unpack_from("<II", body, 8)
            row = dict(number=number, text=text(body[16:]))
        elif kind == ACCESS:
            names = "process file handle pattern offset len at took group rank how flags".split()
            row = dict(zip(names, struct.unpack_from("<IIIIQQQIIIHH", body, 8)))
            row["sampled"] = struct.unpack_from("<H", body, 2)[0]
            assert row["file"] > 0
            for other, name in ((FILE, "file"), (PROCESS, "process"), (PATTERN, "pattern")):
                assert row[name] in known[other], f"{name} {row[name]} was not introduced"
        elif kind == DROPPED:
            row = dict(n=struct.unpack_from("<Q", body, 8)[0])
        elif kind == OPEN:
            row = dict(zip(("file", "n"), struct.unpack_from("<II", body, 8)))
            assert row["file"] in known[FILE]
        else:
            raise AssertionError(f"an item of kind {kind}")
        if kind in known:
            assert row["number"] not in known[kind], "introduced twice"
            known[kind].add(row["number"])
        if kind != "head":
            yield kind, row


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # grep -q reads no more than it needs
    what, path = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    process, pattern, dropped = {0: dict(tgid=0)}, {0: "-"}, 0
    names = ["", "file", "process", "pattern", "access", "dropped", "open"]
    for kind, row in decoded(data):
        if what == "items":
            print(kind if kind == "head" else names[kind], *(f"{key}={value}" for key, value in row.items()))
        if kind == PROCESS:
            process[row["number"]] = row
        elif kind == PATTERN:
            pattern[row["number"]] = row["text"]
        elif kind == DROPPED:
            dropped += row["n"]
        elif kind == ACCESS and what == "accesses":
            rank = row["rank"] if row["flags"] & 4 else "-"
            print(process[row["process"]]["tgid"], HOW[row["how"]], "rw"[row["flags"] & 1], row["offset"], row["len"], rank,
                  pattern[row["pattern"]])
    if what == "dropped":
        print(dropped)


main()
