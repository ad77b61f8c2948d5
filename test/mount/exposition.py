#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a text is what Prometheus' text format allows, and more: what promtool would only advise is demanded.

exposition.py FILE: prints each sample as NAME{LABELS} VALUE, labels in alphabetic order, or says what is wrong
"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
PARTS = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


class Wrong(Exception):
    pass


def demand(holds, why):
    if not holds:
        raise Wrong(why)


def read_labels(text):
    labels, at = {}, 0
    while at < len(text or ""):
        match = LABEL.match(text, at)
        demand(match, f"labels {text}")
        demand(match[1] not in labels, f"label {match[1]} stands twice")
        demand(match[3] == "" or match.end() < len(text), "a comma behind the last label")
        labels[match[1]] = match[2]
        at = match.end()
    return labels


def key_of(labels):
    return ",".join(f'{name}="{labels[name]}"' for name in sorted(labels))


class Family:
    def __init__(self, name, kind):
        demand(kind in PARTS, f"{name}: type {kind}")
        demand((kind == "counter") == name.endswith("_total"), f"{name}: counters, and no others, end with _total")
        demand(name.startswith("fallsfs_"), f"{name}: does not begin with fallsfs_")
        self.name, self.kind, self.samples = name, kind, {}

    def add(self, name, labels, text):
        part = name[len(self.name):]
        demand(name.startswith(self.name) and part in PARTS[self.kind], f"{name} in the family {self.name}")
        demand(("le" in labels) == (part == "_bucket"), f"{name}: le")
        demand((name, key_of(labels)) not in self.samples, f"{name}{{{key_of(labels)}}} stands twice")
        value = float(text)
        demand(value >= 0 and re.fullmatch(r"[0-9]+(\.[0-9]+)?", text), f"{name}: {text}")
        self.samples[name, key_of(labels)] = (labels, value)

    def end(self):
        if self.kind == "histogram":
            self.end_histogram()

    def end_histogram(self):
        series = {}
        for (name, _), (labels, value) in self.samples.items():
            rest = {label: labels[label] for label in labels if label != "le"}
            one = series.setdefault(key_of(rest), {"bucket": []})
            if name.endswith("_bucket"):
                one["bucket"].append((float(labels["le"]), value))
            else:
                one[name.rsplit("_", 1)[1]] = value
        for key, one in series.items():
            where = f"{self.name}{{{key}}}"
            bounds = [bound for bound, _ in one["bucket"]]
            counts = [count for _, count in one["bucket"]]
            demand(bounds and bounds == sorted(set(bounds)), f"{where}: bounds of buckets do not grow")
            demand(bounds[-1] == float("inf"), f"{where}: the last bucket is not +Inf")
            demand(counts == sorted(counts), f"{where}: a bucket has less than the one before")
            demand("sum" in one and one.get("count") == counts[-1], f"{where}: count is not that of +Inf")
            demand(one["count"] > 0 or one["sum"] == 0, f"{where}: the sum of nothing")


def check(text):
    demand(text.endswith("\n"), "the last line does not end")
    families, family, helped = {}, None, None
    for number, line in enumerate(text[:-1].split("\n"), 1):
        try:
            if line.startswith("# HELP "):
                name, _, words = line[len("# HELP "):].partition(" ")
                demand(re.fullmatch(NAME, name) and words and "\\" not in words, "HELP")
                demand(name not in families, f"{name} comes again")
                helped = name
            elif line.startswith("# TYPE "):
                name, kind = line[len("# TYPE "):].split(" ")
                demand(name == helped, "TYPE without its HELP in front")
                if family is not None:
                    family.end()
                family = families[name] = Family(name, kind)
            else:
                match = SAMPLE.fullmatch(line)
                demand(match, "neither a comment nor a sample")
                demand(family is not None and helped == family.name, "a sample without its family in front")
                family.add(match[1], read_labels(match[2]), match[3])
        except (Wrong, ValueError) as wrong:
            raise Wrong(f"line {number}: {wrong}: {line}") from None
    demand(family is not None, "no families at all")
    family.end()
    return families


def main():
    with open(sys.argv[1], encoding="ascii", newline="") as file:
        text = file.read()
    try:
        families = check(text)
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    for family in families.values():
        for (name, key), (_, value) in family.samples.items():
            print(f"{name}{{{key}}}" if key else name, f"{value:.9f}".rstrip("0").rstrip("."))
    return 0


sys.exit(main())
