# SPDX-License-Identifier: MIT
"""scaling.py SVG RESULT.SIDE.PROCESSES.json...: what sections took with ever more processes, as a table, and as curves in
an SVG: geometric means of the cases of a table that read, and of those that write. Both axes are logarithmic."""
import json, math, re, sys

METHODS = [("direct", "#c0392b"), ("independent", "#e08e0b"), ("static", "#2f6fb3"), ("dynamic", "#1d8a4e"), ("ROMIO", "#7d3fb0")]
WIDTH, HEIGHT, LEFT, TOP, GAP = 360, 260, 70, 60, 90


def read(paths):
    """[(table, direction)][method][processes] = ms, a geometric mean."""
    times = {}
    for path in paths:
        result = json.load(open(path))
        for row in result["measured"]:
            if row["target"] != "falls" or row["failed"] or not row["median"]:
                continue
            panel = row["case"].split("/")[0], "writes" if row["case"].endswith("w") else "reads"
            method = row["method"]
            if method.startswith("romio"):
                method = "ROMIO"
            case = times.setdefault(panel, {}).setdefault(method, {}).setdefault(result["processes"], {})
            case[row["case"]] = min(row["median"], case.get(row["case"], math.inf))  # of ROMIO's settings the best
    return {panel: {method: {n: 1e3 * math.exp(sum(map(math.log, case.values())) / len(case)) for n, case in by_n.items()}
                    for method, by_n in methods.items()} for panel, methods in times.items()}


def table(means):
    for panel in sorted(means):
        counts = sorted({n for by_n in means[panel].values() for n in by_n})
        print(f"| Table {panel[0]}, {panel[1]}, ms | " + " | ".join(map(str, counts)) + " |")
        print("|---" * (len(counts) + 1) + "|")
        for method, _ in METHODS:
            by_n = means[panel].get(method)
            if by_n:
                print(f"| {method} | " + " | ".join(f"{by_n[n]:.3g}" if n in by_n else "" for n in counts) + " |")
        print()


def curves(panel, methods, left, top):
    """One panel: axes, a line for each power of ten, a curve for each method."""
    counts = sorted({n for by_n in methods.values() for n in by_n})
    values = [ms for by_n in methods.values() for ms in by_n.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    first, last = math.log2(counts[0]), math.log2(counts[-1])
    x = lambda n: left + WIDTH * ((math.log2(n) - first) / (last - first) if last > first else 0.5)
    y = lambda ms: top + HEIGHT * (1 - (math.log10(ms) - low) / (high - low))
    out = [f'<text x="{left}" y="{top - 14}" font-weight="bold">Table {panel[0]}, {panel[1]}: ms, geometric means</text>']
    for power in range(low, high + 1):
        at = y(10 ** power)
        out.append(f'<line x1="{left}" y1="{at:.1f}" x2="{left + WIDTH}" y2="{at:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{10 ** power:g}</text>')
    for n in counts:
        out.append(f'<text x="{x(n):.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{n}</text>')
    for method, colour in METHODS:
        by_n = methods.get(method)
        if not by_n:
            continue
        points = " ".join(f"{x(n):.1f},{y(by_n[n]):.1f}" for n in sorted(by_n))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x(n):.1f}" cy="{y(by_n[n]):.1f}" r="3" fill="{colour}"/>' for n in by_n]
    return out


def picture(means, path):
    out = []
    for i, panel in enumerate(sorted(means)):
        out += curves(panel, means[panel], LEFT + i % 2 * (WIDTH + GAP), TOP + i // 2 * (HEIGHT + GAP))
    width, height = LEFT + 2 * (WIDTH + GAP), TOP + (len(means) + 1) // 2 * (HEIGHT + GAP) + 10
    for i, (method, colour) in enumerate(METHODS):
        out.append(f'<text x="{LEFT + 110 * i}" y="20" fill="{colour}" font-weight="bold">{method}</text>')
    out.append(f'<text x="{LEFT}" y="{height - 14}">processes, from left to right; each panel has a scale of its own</text>')
    with open(path, "w") as svg:
        svg.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
                  f'font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(out) + "\n</svg>\n")


means = read([path for path in sys.argv[2:] if re.search(r"\.\d+\.\d+\.json$", path)])
if not means:
    sys.exit("scaling.py: nothing was measured")
table(means)
picture(means, sys.argv[1])
