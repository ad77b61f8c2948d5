# SPDX-License-Identifier: MIT
"""What an index of numpy means.

    a[8:2:-2, None, :100]     basic: one section, and a view that puts it the way it was asked
    a[:, [7, 3, 3]]           lists and masks: the points that are named, then a gather from these
    a["x"]                    a field of all elements, where these are structures

Points are asked for once however often they are named; of equal ones in an assignment the last one is written. Nothing
is ever read in order to be written back.
"""
from __future__ import annotations

import math
import operator
from typing import Any, Sequence, Tuple

import numpy as np

from ._c import Range
from ._plan import FieldPlan, Geometry, NdArray, Part, Plan
from ._points import plan_points

Index = Any  # whatever numpy takes between brackets

# -- the words of an index --


def _integer(index: int, axis: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index + size if index < 0 else index


def _slice_range(index: slice, size: int) -> Tuple[Range, bool]:
    """Its indexes in ascending order, and whether it has them the other way round."""
    start, stop, step = index.indices(size)
    count = len(range(start, stop, step))
    if step > 0:
        return (start, step, count), False
    return (start + step * (count - 1) if count > 0 else 0, -step, count), count > 1


def _as_array(word: Any) -> NdArray:
    """A list, array or mask of an index; of integers or of bool."""
    array = np.asarray(word)
    if array.dtype == object or not (array.dtype == bool or np.issubdtype(array.dtype, np.integer)):
        if array.size == 0 and not isinstance(word, np.ndarray):
            return array.astype(np.intp)
        if isinstance(word, str) or (array.dtype.kind in "US"):
            raise IndexError(
                "only integers, slices, ellipsis, newaxis, and arrays of integers or bool are indexes; "
                "of a structured type, a['field'] stands alone, or is taken of what was read: a[2:5]['field']"
            )
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def _classify(word: Any) -> Any:
    """An int, a slice, Ellipsis, None, or an array of integers or bool."""
    if word is None or word is Ellipsis or isinstance(word, slice):
        return word
    if isinstance(word, (bool, np.bool_)):
        return np.asarray(word)
    if isinstance(word, np.ndarray):
        return _as_array(word)
    try:
        return operator.index(word)
    except TypeError:
        return _as_array(word)


def _n_axes(word: Any) -> int:
    if word is None or word is Ellipsis:
        return 0
    return word.ndim if isinstance(word, np.ndarray) and word.dtype == bool else 1


def _spread(words: list[Any], ndim: int) -> list[Any]:
    """With all axes taken: what is not named is all of it."""
    taken = sum(map(_n_axes, words))
    ellipses = sum(word is Ellipsis for word in words)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {taken} were indexed")
    if ellipses == 0 and taken < ndim:
        words = words + [Ellipsis]
    spread: list[Any] = []
    for word in words:
        if word is Ellipsis:
            spread += [word] + [slice(None)] * (ndim - taken)
        else:
            spread.append(word)
    return spread


def _mask_arrays(mask: NdArray, axis: int, shape: Tuple[int, ...]) -> list[NdArray]:
    for i, n in enumerate(mask.shape):
        if n != shape[axis + i]:
            raise IndexError(
                f"boolean index did not match indexed array along dimension {axis + i}; "
                f"dimension is {shape[axis + i]} but corresponding boolean dimension is {n}"
            )
    if mask.ndim == 0:
        return [np.zeros(1 if mask else 0, np.intp)]
    return list(np.nonzero(mask))


def _integer_array(array: NdArray, axis: int, size: int) -> NdArray:
    if array.size > 0:
        least, most = int(array.min()), int(array.max())
        _integer(most, axis, size)
        if _integer(least, axis, size) != least:
            return np.where(array < 0, array.astype(np.intp) + size, array.astype(np.intp))
    return array.astype(np.intp)


# -- basic indexes --


def make_plan(geometry: Geometry, index: Index, single: bool = False) -> Plan:
    """What an index asks of such an array. single: in one request, or IndexError."""
    words = index if type(index) is tuple else (index,)
    ranges: list[Range] = []
    key: list[Any] = []
    plain = True
    shape = geometry.shape
    for word in words:  # the way of most indexes, without lists of words
        kind = type(word)
        if len(ranges) == len(shape) or (kind is not slice and kind is not int):
            return _any_plan(geometry, words, single)
        size = shape[len(ranges)]
        if kind is slice:
            within, is_reversed = _slice_range(word, size)
            ranges.append(within)
            key.append(slice(None, None, -1) if is_reversed else slice(None))
            plain = plain and not is_reversed
        else:
            ranges.append((_integer(word, len(ranges), size), 1, 1))
            key.append(0)
            plain = False
    ranges += [(0, 1, size) for size in shape[len(ranges) :]]
    return _section_plan(geometry, ranges, None if plain and shape else tuple(key))


def _section_plan(geometry: Geometry, ranges: list[Range], key: Any) -> Plan:
    counts = tuple([count for _, _, count in ranges])
    return Plan([Part(ranges, None, None, None)], counts, geometry.order, key)


def _any_plan(geometry: Geometry, index: Sequence[Any], single: bool) -> Plan:
    words = _spread([_classify(word) for word in index], len(geometry.shape))
    if any(isinstance(word, np.ndarray) and not _is_scalar(word) for word in words):
        return _points_plan(geometry, words, single)
    ranges: list[Range] = []
    key: list[Any] = []
    for word in words:
        if word is None or word is Ellipsis:
            key.append(word)
        elif isinstance(word, slice):
            within, is_reversed = _slice_range(word, geometry.shape[len(ranges)])
            ranges.append(within)
            key.append(slice(None, None, -1) if is_reversed else slice(None))
        else:
            ranges.append((_integer(int(word), len(ranges), geometry.shape[len(ranges)]), 1, 1))
            key.append(0)
    return _section_plan(geometry, ranges, tuple(key))


def _is_scalar(word: Any) -> bool:
    """Whether it is an integer, as an array without dimensions, too."""
    return not isinstance(word, np.ndarray) or (word.ndim == 0 and word.dtype != bool)


def make_field_plan(geometry: Geometry, dtype: np.dtype[Any], name: str) -> FieldPlan:
    """What the name of a field asks for."""
    if dtype.fields is None or name not in dtype.fields:
        raise ValueError(f"no field of name {name}")
    field, offset = dtype.fields[name][:2]
    return FieldPlan(geometry, field, offset)


# -- lists and masks --


def _points_plan(geometry: Geometry, words: list[Any], single: bool) -> Plan:
    shape = geometry.shape
    arrays: list[NdArray] = []  # of the axes that points are named by
    axes: list[int] = []
    masks: list[NdArray] = []  # 0-d ones: they have no axis
    basic: dict[int, Range] = {}
    rest: list[Any] = []  # of the result's axes other than the points': new, or which way it goes
    at = -1  # how many of these come before the points
    kinds = ""
    axis = 0
    for word in words:
        kinds += "." if word is None or word is Ellipsis or isinstance(word, slice) else "p"
        if word is None:
            rest.append(None)
        elif isinstance(word, slice):
            basic[axis], is_reversed = _slice_range(word, shape[axis])
            rest.append(slice(None, None, -1) if is_reversed else slice(None))
            axis += 1
        elif word is not Ellipsis:
            at = len(rest) if at < 0 else at
            axis = _take_points(word, axis, shape, arrays, axes, masks)
    if "." in kinds.strip("."):  # something stands between the words that name points
        at = 0
    try:
        together = np.broadcast_arrays(*arrays, *masks)
    except ValueError:
        shapes = " ".join(str(array.shape) for array in arrays + masks)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        ) from None
    named = together[0].shape
    coordinates = [array.reshape(-1) for array in together[: len(arrays)]]
    plan, points = plan_points(geometry, axes, coordinates, math.prod(named), basic, single)
    points.named = named
    points.at = at
    points.flips = tuple(rest)
    others = [basic[axis][2] for axis in sorted(basic)]
    sizes = [1 if word is None else others.pop(0) for word in rest]
    points.shape = tuple(sizes[:at]) + named + tuple(sizes[at:])
    return plan


def _take_points(
    word: Any, axis: int, shape: Tuple[int, ...], arrays: list[NdArray], axes: list[int], masks: list[NdArray]
) -> int:
    """Adds what a list, mask or integer names; returns the axis behind it."""
    if isinstance(word, np.ndarray) and word.dtype == bool:
        found = _mask_arrays(word, axis, shape)
        (arrays if word.ndim > 0 else masks).extend(found)
        axes += range(axis, axis + word.ndim)
        return axis + word.ndim
    arrays.append(_integer_array(np.asarray(word), axis, shape[axis]))
    axes.append(axis)
    return axis + 1
