#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables and bars of what profile.py has measured: profile_report.py VERB SAMPLES REMARK [JSON]. Exit 1 when a bar is missed.

Of several rounds the quickest counts: what else the machine does can only make one slower.
"""
import json
import math
import statistics
import sys

RATE, SEEK, STRETCH, NEAR, PAGE = 100e6, 0.012, 2, 1 << 20, 4096     # as profile.py and slowdisk.c have them
BOUND, SLOWER, FASTER, MUCH, CLOSE = 0.8, 1.05, 3.0, 4.0, 1.1
PAPER = {"bt": (32.8, 17.8), "seismic": (31.7, 3.7), "tiles": (15.7, 5.1), "perf": (24.6, 7.7), "mandelbrot": (37.8, 20.7)}


def bound(row):
    """Seconds that the disks need at least: the bytes at their rates together; the head of each disk moves once to read, twice to
    write, to the bytes and to the journal. Records at random are pages, in the order of the disk: a move for each MiB."""
    seek, rate = SEEK * STRETCH * row["procs"] if row["kind"] == "seeking" else 0, RATE / STRETCH
    if row["workload"] == "database" and row["phase"] == "read":
        records = row["bytes"] / 100
        return records * PAGE / rate + min(records, row["size"] / NEAR) / row["procs"] * seek
    return row["size"] / rate + (2 if row["phase"] == "write" else 1) * seek


class Judge:
    def __init__(self):
        self.bars = []

    def bar(self, what, value, word, limit, met):
        self.bars.append({"what": what, "value": value, word: limit, "met": met})

    def at_least(self, what, value, limit):
        self.bar(what, value, "at_least", limit, value >= limit)

    def at_most(self, what, value, limit):
        self.bar(what, value, "at_most", limit, value <= limit)

    def end(self, rows, path, remark):
        missed = [bar for bar in self.bars if not bar["met"]]
        print(f"\n{len(self.bars)} bars, {len(missed)} missed.\n")
        for bar in missed:
            word = "at least" if "at_least" in bar else "at most"
            print(f"- {bar['what']}: {bar['value']:.2f}, not {word} {bar.get('at_least', bar.get('at_most'))}")
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"remark": remark, "bars": self.bars, "measured": rows}, file, indent=1)
        return 1 if missed else 0


def quickest(rows, **like):
    found = [row for row in rows if all(row[key] == value for key, value in like.items()) and row["seconds"]]
    return min(found, key=lambda row: row["seconds"], default=None)


def unique(rows, *keys):
    return list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def report_layouts(rows, judge):
    times = [row for row in rows if row["what"] == "time"]
    print("Seconds. The bound is what disks need at least; of it: that over the time in the recommended layout, and over the "
          "time in which its busiest disk was at work.\n")
    print("| disks | workload | P | | bound | default | recommended | of the bound | busy | faster | ROMIO | over ROMIO | paper |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for kind, workload, procs, phase in unique(times, "kind", "workload", "procs", "phase"):
        like = {"kind": kind, "workload": workload, "procs": procs, "phase": phase}
        default, better, romio = (quickest(times, **like, target=name) for name in ("default", "recommended", "romio"))
        if default is None or better is None:
            continue        # it did not come so far
        least, name = bound(default), f"{workload}, {phase}, {procs} {kind} disks"
        share, gain = least / better["seconds"], default["seconds"] / better["seconds"]
        judge.at_least(f"{name}: of the bound", share, BOUND)
        judge.at_most(f"{name}: times the default stripe's time", 1 / gain, SLOWER)
        if default["seconds"] >= MUCH * least:
            judge.at_least(f"{name}: times faster, where the default takes {default['seconds'] / least:.1f} times the bound", gain, FASTER)
        paper = PAPER.get(workload, (None, None))[phase == "write"]
        print(f"| {kind} | {workload} | {procs} | {phase} | {least:.2f} | {default['seconds']:.2f} | {better['seconds']:.2f}"
              f"{'' if better['gain'] else ' (kept)'} | {share:.2f} | "
              f"{least / better['busy']:.2f} | {gain:.2f} | {number(romio and romio['seconds'])} | "
              f"{number(romio and romio['seconds'] / better['seconds'])} | {number(paper, 1)} |")
    report_foretold(times)


def report_foretold(times):
    print("\nBusy seconds of the disk that had most to do: foretold over measured.\n")
    print("| disks | workload | P | | default: foretold | measured | ratio | recommended: foretold | measured | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    errors = {"default": [], "recommended": []}
    for kind, workload, procs, phase in unique(times, "kind", "workload", "procs", "phase"):
        cells = []
        for target in errors:
            row = quickest(times, kind=kind, workload=workload, procs=procs, phase=phase, target=target)
            if row is None:
                cells += ["", "", ""]
                continue
            ratio = row["foretold"] / row["busy"] if row["foretold"] and row["busy"] else None
            if ratio:
                errors[target].append(abs(math.log(ratio)))
            cells += [number(row["foretold"], 3), number(row["busy"], 3), number(ratio)]
        print(f"| {kind} | {workload} | {procs} | {phase} | " + " | ".join(cells) + " |")
    for target, found in errors.items():
        if found:
            print(f"\nOff by a factor of {math.exp(statistics.median(found)):.2f} in the median of all for the {target} layout, "
                  f"{math.exp(max(found)):.2f} at most.")


def report_candidates(rows, judge):
    print("Busy seconds of the disk that had most to do, writing and reading together, really run.\n")
    print("| disks | workload | P | layouts | recommended | best | default | over the best | rank correlation with foretold | the best |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for kind, workload, procs in unique(rows, "kind", "workload", "procs"):
        mine = [row for row in rows if (row["kind"], row["workload"], row["procs"]) == (kind, workload, procs)]
        busy, foretold = {}, {}
        for row in mine:
            busy[row["layout"]] = busy.get(row["layout"], 0) + row["busy"]
            foretold[row["layout"]] = foretold.get(row["layout"], 0) + (row["foretold"] or 0)
        now = next((row["layout"] for row in mine if row["is_now"]), None)
        if now is None:
            continue        # it did not come so far
        chosen = min(mine, key=lambda row: row["place"])["layout"] if mine[0]["gain"] else now
        best = min(busy, key=busy.get)
        judge.at_most(f"{workload}, {procs} {kind} disks: recommended over the best of {len(busy)}", busy[chosen] / busy[best], CLOSE)
        agree = spearman([foretold[layout] for layout in busy], list(busy.values()))
        print(f"| {kind} | {workload} | {procs} | {len(busy)} | {busy[chosen]:.3f} | {busy[best]:.3f} | {busy[now]:.3f} | "
              f"{busy[chosen] / busy[best]:.2f} | {number(agree)} | {best if len(best) < 60 else best[:57] + '...'} |")


# -- correlation --

def ranks(values):
    """Equal values share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for place in order[at:end]:
            found[place] = (at + end - 1) / 2
        at = end
    return found


def pearson(x, y):
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return statistics.correlation(x, y)


def spearman(x, y):
    return pearson(ranks(x), ranks(y))


def report_degree(rows, _judge):
    print("How the match degree of layout and access goes with what was measured: 1 is always together, 0 not at all.\n")
    print("| mount | disks | pairs | degrees | Spearman: time | busy | seeks | requests | Pearson of logarithms: time | busy | seeks | requests |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for mount, kind in unique(rows, "mount", "kind"):
        mine = [row for row in rows if (row["mount"], row["kind"]) == (mount, kind)]
        degree = [row["degree"] for row in mine]
        measured = [[max(row[name], 1e-6) for row in mine] for name in ("seconds", "busy", "seeks", "requests")]
        cells = [number(spearman(degree, values)) for values in measured]
        cells += [number(pearson(list(map(math.log, degree)), list(map(math.log, values)))) for values in measured]
        print(f"| {mount} | {kind} | {len(mine)} | {min(degree):.0f} to {max(degree):.0f} | " + " | ".join(cells) + " |")


def main():
    verb, samples, remark = sys.argv[1:4]
    with open(samples, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if not rows:
        sys.exit("nothing was measured")
    judge = Judge()
    print(f"{remark}, mount: {', '.join(sorted({row['mount'] for row in rows}))}\n")
    {"layouts": report_layouts, "candidates": report_candidates, "degree": report_degree}[verb](rows, judge)
    return judge.end(rows, sys.argv[4] if len(sys.argv) > 4 else None, remark)


sys.exit(main())
