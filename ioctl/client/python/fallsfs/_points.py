# SPDX-License-Identifier: MIT
"""Points of an array, as lists and masks name them, as requests: each once, in file order.

    evenly spaced along each axis        one section
    few runs that are, of much each      a section for each
    anything else                        lists of pieces, points that follow each other in one
"""
from __future__ import annotations

import math
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from ._c import MAX_PIECES, Range
from ._plan import Flat, Geometry, NdArray, Part, Plan, Points

# A section costs about as much as this many pieces of a list.
PIECES_OF_A_SECTION = 1000
# So many points are put into one list, unless it must be a single one: lists take memory.
POINTS_AT_ONCE = 1 << 18


def _unique(line: NdArray) -> Tuple[NdArray, Optional[NdArray], Optional[NdArray]]:
    """Ascending, each once; which of these is each, and where each of these is last; None: they were so."""
    if line.size < 2 or bool(np.all(line[1:] > line[:-1])):
        return line, None, None
    unique, rows = np.unique(line, return_inverse=True)
    _, from_end = np.unique(line[::-1], return_index=True)
    return unique, rows.reshape(-1), line.size - 1 - from_end


def _progressions(line: NdArray) -> Optional[list[Range]]:
    """Ascending numbers as (first, step, count), greedily. None: so many of these that nobody wants them."""
    if line.size < 2:
        return [(int(number), 1, 1) for number in line]
    steps = np.diff(line)
    ends = np.append(np.flatnonzero(steps[1:] != steps[:-1]) + 1, steps.size)
    if ends.size > PIECES_OF_A_SECTION:
        return None
    found: list[Range] = []
    i = 0
    while i < line.size:
        end = int(ends[np.searchsorted(ends, i, "right")]) if i < steps.size else i
        found.append((int(line[i]), int(steps[i]) if end > i else 1, end - i + 1))
        i = end + 1
    return found


def plan_points(
    geometry: Geometry,
    axes: list[int],
    coordinates: list[NdArray],
    n_named: int,
    basic: dict[int, Range],
    single: bool,
) -> Tuple[Plan, Points]:
    """The points in file order, each once, and the requests for them and all that basic indexes have of each."""
    sizes = [geometry.shape[axis] for axis in axes]
    slow_first = list(range(len(axes))) if geometry.order == "C" else list(range(len(axes)))[::-1]
    line = np.zeros(n_named, np.intp)
    for i in slow_first:
        line = line * sizes[i] + coordinates[i]
    unique, rows, last = _unique(line)
    grid = _grid_of(unique, [sizes[i] for i in slow_first])
    if grid is not None:
        point_axes = [axes[i] for i in slow_first]
        plan = _grid_plan(geometry, dict(zip(point_axes, grid)), basic, single)
        if plan is not None:
            others = sorted(basic)
            plan.points = Points(point_axes + others, len(point_axes), unique.size, rows, last)
            return plan, plan.points
    plan = _list_plan(geometry, [axes[i] for i in slow_first], unique, basic, single)
    assert plan.points is not None
    plan.points.rows, plan.points.last = rows, last
    return plan, plan.points


def _grid_of(unique: NdArray, sizes: list[int]) -> Optional[list[NdArray]]:
    """The indexes along each axis, where points are all combinations of these."""
    if not sizes:
        return [] if unique.size == 1 else None
    if len(sizes) == 1:
        return [unique]
    if unique.size == 0:
        return [unique] * len(sizes)
    along = [np.unique(line) for line in np.unravel_index(unique, tuple(sizes))]
    return along if math.prod(line.size for line in along) == unique.size else None


def _grid_plan(
    geometry: Geometry, grid: dict[int, NdArray], basic: dict[int, Range], single: bool
) -> Optional[Plan]:
    """As sections, along the axes of the grid one after the other; None: as pieces it is less work."""
    runs = {axis: _progressions(line) for axis, line in grid.items()}
    counts = tuple(
        grid[axis].size if axis in grid else basic[axis][2] for axis in range(len(geometry.shape))
    )
    n_sections = math.prod(len(found) if found is not None else 1 << 40 for found in runs.values())
    if n_sections > 1 and (single or n_sections * PIECES_OF_A_SECTION > math.prod(counts)):
        return None
    parts = []
    for ranges, where in _sections(geometry, runs, basic):
        parts.append(Part(ranges, None, None if n_sections <= 1 else where, None))
    if not parts:
        ranges = [basic.get(axis, (0, 1, 0)) for axis in range(len(geometry.shape))]
        parts = [Part(ranges, None, None, None)]
    return Plan(parts, counts, geometry.order, None)


def _sections(
    geometry: Geometry, runs: dict[int, Any], basic: dict[int, Range]
) -> Iterator[Tuple[list[Range], Tuple[slice, ...]]]:
    """Every combination of progressions: its section, and its place in the dense array."""

    def along(axis: int) -> Iterator[Tuple[list[Range], Tuple[slice, ...]]]:
        if axis == len(geometry.shape):
            yield [], ()
            return
        at = 0
        for found in runs.get(axis, [basic.get(axis)]):
            for ranges, where in along(axis + 1):
                yield [found] + ranges, (slice(at, at + found[2]),) + where
            at += found[2]

    return along(0)


def _list_plan(
    geometry: Geometry, axes: list[int], unique: NdArray, basic: dict[int, Range], single: bool
) -> Plan:
    """As lists of pieces. The dense array has the points along one axis, where the first of theirs is in the file, and
    the others in file order; where others lie between theirs, the points come first, and each list sorts its bytes."""
    file_axes = geometry.file_axes()
    places = sorted(file_axes.index(axis) for axis in axes)
    is_sorted = not places or places[-1] - places[0] == len(places) - 1
    first = places[0] if places and is_sorted else 0
    strides = geometry.strides()
    offsets = np.zeros(unique.size, np.int64)
    if axes:
        for axis, along in zip(axes, np.unravel_index(unique, tuple(geometry.shape[axis] for axis in axes))):
            offsets += along.astype(np.int64) * strides[axis]
    others = [axis for axis in file_axes if axis not in axes]
    lines = [np.arange(n, dtype=np.int64) * (step * strides[axis]) + low * strides[axis]
             for axis in others for low, step, n in [basic[axis]]]
    lines.insert(first, offsets)
    shape = tuple(line.size for line in lines)
    order = [first] + [(i if i < first else i + 1) for i in sorted(range(len(others)), key=lambda i: others[i])]
    points = Points(order, 1, unique.size, None, None)
    parts = list(_list_parts(lines, geometry.elem, is_sorted, single))
    return Plan(parts, shape, "C", None, points)


def _list_parts(lines: list[NdArray], elem: int, is_sorted: bool, single: bool) -> Iterator[Part]:
    """The lists for all combinations of these offsets. Elements that follow each other in innermost lines are runs."""
    shape = tuple(line.size for line in lines)
    n_points = math.prod(shape)
    if n_points == 0:
        yield Part(None, np.empty((0, 2), np.uint64), None, None)
        return
    inner = elem
    outer = len(lines)
    while outer > 0 and is_sorted and bool(np.all(np.diff(lines[outer - 1]) == inner)):
        inner *= lines[outer - 1].size
        outer -= 1
    base = sum(int(line[0]) for line in lines[outer:])
    run_shape = shape[:outer]
    n_runs = math.prod(run_shape)
    at_once = n_runs if single else POINTS_AT_ONCE
    for start in range(0, n_runs, at_once):
        runs = np.arange(start, min(start + at_once, n_runs))
        offsets = np.full(runs.size, base, np.int64)
        if run_shape:
            for line, along in zip(lines, np.unravel_index(runs, run_shape)):
                offsets += line[along]
        order = None
        if not is_sorted and runs.size > 1 and bool(np.any(offsets[1:] < offsets[:-1])):
            order = np.argsort(offsets, kind="stable")
            offsets = offsets[order]
        n_elements = inner // elem
        pieces = _merge(offsets, inner)
        if len(pieces) > MAX_PIECES:
            raise IndexError(
                f"the index names {len(pieces)} pieces of the file, and one request has room for {MAX_PIECES}: "
                "ask for fewer at a time"
            )
        yield Part(None, pieces, Flat(start * n_elements, (start + runs.size) * n_elements), order)


def _merge(offsets: NdArray, length: int) -> NdArray:
    """Runs that touch are one piece."""
    breaks = np.flatnonzero(offsets[1:] != offsets[:-1] + length) + 1
    firsts = np.append(0, breaks)
    ends = np.append(breaks, offsets.size)
    pieces = np.empty((firsts.size, 2), np.uint64)
    pieces[:, 0] = offsets[firsts]
    pieces[:, 1] = (ends - firsts) * length
    return pieces
