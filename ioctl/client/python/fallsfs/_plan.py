# SPDX-License-Identifier: MIT
"""What an index asks of a file, and how that becomes the result.

    a[8:2:-2, None, :100]    Part: the section (4, 2, 3), (0, 1, 100)    key: [::-1, None, :]
    a[[7, 3, 3]]             Part: the section (3, 4, 2)                 Points: rows 1, 0, 0 of what is read

    Plan: parts to ask for ──> a dense array ──> the result; for a write the other way round
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._c import Range

NdArray = np.ndarray[Any, Any]


class Flat(NamedTuple):
    """Elements of the dense array, as they lie in memory."""

    start: int
    end: int


class Part(NamedTuple):
    """One request: a section or pieces, and which part of the dense array it fills, in the order of its bytes."""

    section: Optional[Sequence[Range]]
    pieces: Optional[NdArray]  # of (offset, length) rows behind the header, ascending
    where: Any  # a Flat, or slices; None: all of it
    order: Optional[NdArray]  # which of where's elements come first, second, ... in the file; None: as they are
    extent: int = 0  # the pieces are there again every so many bytes; 0: once

    def _place(self, dense: NdArray) -> NdArray:
        if isinstance(self.where, Flat):
            return dense.reshape(-1)[self.where.start : self.where.end]
        place: NdArray = dense if self.where is None else dense[self.where]
        return place

    def begin(self, dense: NdArray, write: bool) -> NdArray:
        """Memory for the request, contiguous as the file has it: the place, or a copy. To write, with the bytes."""
        place = self._place(dense)
        if self.order is not None:
            return place[self.order]
        if place.flags.f_contiguous if dense.flags.f_contiguous else place.flags.c_contiguous:
            return place
        return place.copy("F" if dense.flags.f_contiguous else "C") if write else np.empty_like(place)

    def end(self, dense: NdArray, memory: NdArray) -> None:
        """Puts what was read where it belongs, unless it is there."""
        place = self._place(dense)
        if self.order is not None:
            place[self.order] = memory
        elif not np.may_share_memory(place, memory):
            place[...] = memory


class Plan:
    """What is asked for, and how it becomes the result."""

    __slots__ = ("parts", "dense_shape", "dense_order", "key", "points")

    def __init__(
        self,
        parts: list[Part],
        dense_shape: Tuple[int, ...],
        dense_order: str,
        key: Any,
        points: Optional[Points] = None,
    ):
        self.parts = parts
        self.dense_shape = dense_shape
        self.dense_order: Any = dense_order
        self.key = key  # from dense to result; None: it is
        self.points = points

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type of what is moved, of an array of such elements."""
        return dtype

    def empty(self, dtype: np.dtype[Any]) -> NdArray:
        return np.empty(self.dense_shape, dtype, self.dense_order)

    def result(self, dense: NdArray) -> Any:
        if self.points is not None:
            return self.points.gather(dense)
        return dense if self.key is None else dense[self.key]

    def result_shape(self) -> Tuple[int, ...]:
        if self.points is not None:
            return self.points.shape
        return np.shape(self.result(np.broadcast_to(np.empty((), bool), self.dense_shape)))

    def fill(self, dtype: np.dtype[Any], value: Any) -> NdArray:
        """The dense array that an assignment of this value writes; the value itself, where it is one."""
        if self.key is None and self.points is None and isinstance(value, np.ndarray) and value.dtype == dtype:
            flags = value.flags
            contiguous = flags.c_contiguous if self.dense_order == "C" else flags.f_contiguous
            if contiguous and value.shape == self.dense_shape:
                return value
        dense = self.empty(dtype)
        if self.points is not None:
            self.points.scatter(dense, value)
        elif self.key is None:
            dense[...] = value
        else:
            # Not of a single element: numpy would have Python convert what is assigned.
            dense[self.key if Ellipsis in self.key else self.key + (Ellipsis,)] = value
        return dense

    def lands_in(self, out: NdArray) -> bool:
        """Whether this array can be the dense one, so that nothing is copied."""
        if self.key is not None or self.points is not None:
            return False
        return bool(out.flags.c_contiguous if self.dense_order == "C" else out.flags.f_contiguous)


class Geometry(NamedTuple):
    """An array in a file, as far as indexes go."""

    shape: Tuple[int, ...]
    order: str
    elem: int

    def file_axes(self) -> list[int]:
        """Axes, the slowest in the file first."""
        axes = list(range(len(self.shape)))
        return axes if self.order == "C" else axes[::-1]

    def strides(self) -> list[int]:
        strides = [0] * len(self.shape)
        stride = self.elem
        for axis in reversed(self.file_axes()):
            strides[axis] = stride
            stride *= self.shape[axis]
        return strides


class FieldPlan(Plan):
    """One field of all elements, which are structures: its bytes are asked for, and no others.

        a["x"]    elements of 12 bytes, x at byte 4 of each    the piece (4, 4), again every 12 bytes

    The dense array has the elements as they come in the file, whatever the order, and of each the field's own shape.
    """

    __slots__ = ("field", "axes")

    def __init__(self, geometry: Geometry, field: np.dtype[Any], offset: int):
        file_axes = geometry.file_axes()
        n = len(file_axes)
        pieces = np.array([(offset, field.itemsize)], np.uint64)
        shape = tuple(geometry.shape[axis] for axis in file_axes) + field.shape
        super().__init__([Part(None, pieces, None, None, geometry.elem)], shape, "C", None)
        self.field = field.base
        self.axes = [file_axes.index(axis) for axis in range(n)] + list(range(n, len(shape)))

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        return self.field

    def result(self, dense: NdArray) -> Any:
        return dense.transpose(self.axes)

    def fill(self, dtype: np.dtype[Any], value: Any) -> NdArray:
        dense = self.empty(dtype)
        self.result(dense)[...] = value
        return dense

    def lands_in(self, out: NdArray) -> bool:
        return self.axes == sorted(self.axes) and bool(out.flags.c_contiguous)


class Points:
    """How the points of a dense array, which have axes of their own there, become the result of lists and masks.

    Points first: the dense array with the axes of its points in front, then the others. rows are those of the points,
    flattened, that the index names, one after the other; last is where each of the points is named last.
    """

    __slots__ = ("axes", "n_point_axes", "n_points", "rows", "last", "named", "at", "flips", "shape")

    def __init__(
        self, axes: list[int], n_point_axes: int, n_points: int, rows: Optional[NdArray], last: Optional[NdArray]
    ):
        self.axes = axes  # of the dense array: points first
        self.n_point_axes = n_point_axes
        self.n_points = n_points
        self.rows = rows  # None: all of them, as they are
        self.last = last
        self.named: Tuple[int, ...] = ()  # the shape that the index gives the points
        self.at = 0  # where it stands among the axes of the result
        self.flips: Tuple[Any, ...] = ()  # of the other axes, with new ones
        self.shape: Tuple[int, ...] = ()

    def gather(self, dense: NdArray) -> NdArray:
        first = dense.transpose(self.axes)
        flat = first.reshape((self.n_points,) + first.shape[self.n_point_axes :])
        if self.rows is not None:
            flat = flat[self.rows]
        result = flat.reshape(self.named + flat.shape[1:])
        result = result[(slice(None),) * len(self.named) + self.flips]
        return np.moveaxis(result, range(len(self.named)), range(self.at, self.at + len(self.named)))

    def scatter(self, dense: NdArray, value: Any) -> None:
        value = np.asarray(value)
        while value.ndim > len(self.shape) and value.shape[0] == 1:
            value = value[0]
        n = len(self.named)
        value = np.moveaxis(np.broadcast_to(value, self.shape), range(self.at, self.at + n), range(n))
        value = value[(slice(None),) * n + tuple(0 if flip is None else flip for flip in self.flips)]
        first = dense.transpose(self.axes)
        others = first.shape[self.n_point_axes :]
        value = value.reshape((math.prod(self.named),) + others)
        if self.last is not None:
            value = value[self.last]
        first[...] = value.reshape(first.shape)
