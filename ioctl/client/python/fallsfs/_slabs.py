# SPDX-License-Identifier: MIT
"""Walking arrays that are larger than memory.

    for slab in a.slabs(axis=0, memory="1G", halo=1):       one array
        total += slab.inner.sum()                           slab.data has the halo, slab.inner has not

    for old, new in fallsfs.slabs(a, b, access=("r", "w"), halo=1):     several in step
        new.data[...] = (old.data[:-2] + old.data[2:]) / 2

The library reads the next slabs while the program computes on one, reads each byte once whatever the halo, and writes
slabs back behind the program: fallsfs_slabs_open(3).
"""
from __future__ import annotations

import ctypes
import errno
import re
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c
from ._c import check, lib
from ._own import Handle
from ._plan import NdArray
from ._sections import Sections

if TYPE_CHECKING:
    from ._array import Array
    from ._group import Group

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_NO_PREFETCH = 0xFFFFFFFF
_MOST = (1 << 64) - 1
_ACCESS = {"r": 1, "w": 2, "r+": 3}

Halo = Union[int, Tuple[int, int], list[Any]]


def parse_size(size: Union[int, str]) -> int:
    """Bytes: a number, or one with K, M, G or T behind it.

    >>> fallsfs.parse_size("64M")
    67108864
    """
    if not isinstance(size, str):
        return _c.number(size, "a size in bytes", 0, _MOST)
    found = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)\s*", size, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{size!r} is no size: it is a number, or one with K, M, G or T behind it, as in '64M'")
    return _c.number(int(found[1]) << _UNITS[found[2].upper()], "a size in bytes", 0, _MOST)


def _pair_of(halo: Any) -> Tuple[int, int]:
    """Below and above, of one axis."""
    pair = halo if isinstance(halo, (tuple, list)) else (halo, halo)
    if len(pair) != 2:
        raise ValueError(f"a halo of an axis is a number, or a pair (below, above), and not {halo!r}")
    below, above = (_c.number(n, "a halo", 0, _MOST) for n in pair)
    return below, above


def _halo_of(halo: Halo, is_cut: Sequence[bool]) -> list[Tuple[int, int]]:
    """Below and above, of each axis; a number or a pair is that of each axis that is cut."""
    if isinstance(halo, list):
        if len(halo) != len(is_cut):
            raise ValueError(f"a list of halos has one for each axis, {len(is_cut)}, and not {len(halo)}")
        return [_pair_of(both) for both in halo]
    if isinstance(halo, tuple) and any(isinstance(n, (tuple, list)) for n in halo):
        raise ValueError(f"halos of several axes are a list, {list(halo)!r}; a tuple is a pair (below, above) of one")
    pair = _pair_of(halo)
    return [pair if cut else (0, 0) for cut in is_cut]


def _numbers_of_axes(given: Optional[Sequence[int]], what: str, ndim: int) -> list[int]:
    """A number for each axis; 0 where nothing is given."""
    if given is None:
        return [0] * ndim
    try:
        n_given = len(given)
    except TypeError:
        raise TypeError(f"a {what} has a number for each axis, and {given!r} is no sequence") from None
    if n_given != ndim:
        raise ValueError(f"a {what} has a number for each axis, {ndim}, and not {n_given}")
    return [_c.number(n, f"what a {what} says of an axis", 0, _MOST) for n in given]


class Slab:
    """A part of an array in memory. It is the program's until the next one; what is kept of it is to be copied.

    data has the halo, as far as the array goes; inner is data without it, and array[index] in the file.
    """

    __slots__ = ("data", "inner", "index", "__weakref__")

    def __init__(self, data: NdArray, first: Sequence[int], lower: Sequence[int], size: Sequence[int]):
        self.data = data
        self.index = tuple(slice(low, low + n) for low, n in zip(lower, size))
        self.inner: NdArray = data[tuple(slice(low - start, low - start + n)
                                         for start, low, n in zip(first, lower, size))]

    def __repr__(self) -> str:
        return f"<fallsfs slab {', '.join(f'{part.start}:{part.stop}' for part in self.index)}>"

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NdArray:
        """Its data, for functions of numpy."""
        if copy:
            return self.data.astype(self.data.dtype if dtype is None else dtype, copy=True)
        return self.data if dtype is None else self.data.astype(dtype, copy=False)


class Slabs:
    """A walk, which is iterated over once. Left early, in a with statement or by close(), it ends there.

    What of a slab is still looked at stays in memory; what lies there is the walk's.
    """

    def __init__(self, arrays: Sequence[Sections], walk: _c.SlabsWalk, parts: Any, keep: Any, is_single: bool):
        self._arrays = arrays
        self._is_single = is_single
        self._slab = (_c.Slab * len(arrays))()
        self._handle: Optional[Handle] = None
        self._is_over = any(0 in array._geometry.shape for array in arrays)
        if self._is_over:
            return
        handle = Handle(lib.fallsfs_slabs_close, keep)
        check(lib.fallsfs_slabs_open(ctypes.byref(walk), parts, len(arrays), ctypes.byref(handle)), arrays[0].path)
        self._handle = handle

    def __iter__(self) -> Iterator[Any]:
        return self

    def _data_of(self, array: Sections, slab: _c.Slab, walk: Handle) -> Slab:
        ndim = len(array._geometry.shape)
        shape = tuple(slab.n[:ndim])
        length = max(int(np.prod(shape)) * array.dtype.itemsize, 1)
        memory: Any = (ctypes.c_char * length).from_address(slab.bytes) if slab.bytes else bytearray(length)
        if slab.bytes:
            memory.walk = walk  # which frees it
        order: Any = array._geometry.order
        data: NdArray = np.ndarray(shape, array.dtype, memory, order=order)
        return Slab(data, slab.first[:ndim], slab.lower[:ndim], slab.size[:ndim])

    def __next__(self) -> Any:
        handle = self._handle
        if self._is_over or handle is None:
            raise StopIteration
        if handle.is_inherited():
            raise PermissionError(
                errno.EPERM, "the walk belongs to the process that this one was forked from: begin another one here",
                self._arrays[0].path)
        result = lib.fallsfs_slabs_next(handle, self._slab)
        if result <= 0:
            self._is_over = True
            check(result, self._arrays[0].path)
            handle.let_go()  # all is written
            raise StopIteration
        slabs = tuple(self._data_of(array, slab, handle) for array, slab in zip(self._arrays, self._slab))
        return slabs[0] if self._is_single else slabs

    @property
    def stats(self) -> dict[str, int]:
        """What it has done so far, see fallsfs_slabs_stats(3).

        >>> a = fallsfs.create("walked", (100, 10), "f8")
        >>> walk = a.slabs(memory="8K", halo=1)
        >>> total = sum(float(slab.inner.sum()) for slab in walk)
        >>> walk.stats["bytes_read"] == a.nbytes
        True
        """
        stats = _c.SlabsStats()
        handle = self._handle
        if handle is not None:
            lib.fallsfs_slabs_stats(handle, ctypes.byref(stats))
        return {name: getattr(stats, name) for name, *_ in _c.SlabsStats._fields_ if name != "reserved"}

    def close(self) -> None:
        """Ends it, wherever it is. Slabs before the one in hand are written; that one is not.

        As long as something of a slab is looked at, it ends later.
        """
        self._is_over = True
        handle, self._handle = self._handle, None
        if handle is not None:
            ended = handle.ended
            del handle
            check(min(ended, default=0), self._arrays[0].path)

    def __enter__(self) -> Slabs:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()


def slabs(
    *arrays: Union[Array, Group],
    access: Union[str, Sequence[str]] = "r",
    axis: int = 0,
    memory: Union[int, str] = "64M",
    halo: Halo = 0,
    prefetch: int = 1,
    tile: Optional[Sequence[int]] = None,
    grid: Optional[Sequence[int]] = None,
) -> Slabs:
    """Walks arrays of one shape in step, slab by slab along an axis: a tuple of slabs each time.

    access is "r", "w" or "r+", one for all or one for each. memory is what all of the walk may take. halo is how many
    indexes of its neighbours a slab shows where it is read, as the file had them before the walk. A number or (below,
    above) is that of each axis that is cut: of the walk's, and of those that a tile or a grid divides; a list has one
    of these for each axis. prefetch slabs are read ahead. tile is the shape of a slab, with 0 for as much as fits along
    the walk's axis, and for all of the others. Groups are walked by all ranks, in a block each: of the axis, or of a
    grid of ranks; all make as many rounds. An array of a group is not read and written with a halo: others would see it
    written.

    >>> a = fallsfs.create("before", (100, 10), "f8")
    >>> b = fallsfs.create("after", (100, 10), "f8")
    >>> a[50] = 1
    >>> for old, new in fallsfs.slabs(a, b, access=("r", "w"), halo=1, memory="8K"):
    ...     padded = np.pad(old.data, ((old.index[0].start == 0, old.index[0].stop == 100), (0, 0)))
    ...     new.data[...] = (padded[:-2] + padded[2:]) / 2
    >>> b[48:53, 0].tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    """
    return walk_of(arrays, access, axis, memory, halo, prefetch, tile, grid, False)


def walk_of(
    arrays: Sequence[Sections],
    access: Union[str, Sequence[str]],
    axis: int,
    memory: Union[int, str],
    halo: Halo,
    prefetch: int,
    tile: Optional[Sequence[int]],
    grid: Optional[Sequence[int]],
    is_single: bool,
) -> Slabs:
    for array in arrays:
        if not isinstance(array, Sections):
            raise TypeError(f"arrays of fallsfs.open and groups of them are walked, and no {type(array).__name__}")
    ways = [access] * len(arrays) if isinstance(access, str) else list(access)
    if not arrays or len(ways) != len(arrays) or any(way not in _ACCESS for way in ways):
        raise ValueError("each array is walked with access 'r', 'w' or 'r+'")
    shape = arrays[0]._geometry.shape
    ndim = len(shape)
    if ndim == 0:
        raise ValueError("an array without dimensions cannot be walked")
    axis = _c.number(axis, "axis", -ndim, ndim - 1) % ndim
    if any(array._geometry.shape != shape for array in arrays):
        raise ValueError("arrays that are walked in step have the same shape")
    tiles, grids = _numbers_of_axes(tile, "tile", ndim), _numbers_of_axes(grid, "grid", ndim)
    is_cut = [i == axis or 0 < tiles[i] < shape[i] or grids[i] > 1 for i in range(ndim)]
    halos = _halo_of(halo, is_cut)
    ahead = _c.number(prefetch, "prefetch", 0, _NO_PREFETCH - 1)
    walk = _c.SlabsWalk(axis=axis, prefetch=ahead or _NO_PREFETCH, memory=parse_size(memory))
    walk.tile[:ndim], walk.grid[:ndim] = tiles, grids
    parts = (_c.SlabsArray * len(arrays))()
    keep = [(array._handle(), array._descriptor()) for array in arrays]
    for part, (handle, descriptor), array, way in zip(parts, keep, arrays, ways):
        part.fd = descriptor
        part.group = handle.value if array._asks_once else None
        part.access = _ACCESS[way]
        part.array = ctypes.pointer(array._c_array)
        for i, pair in enumerate(halos if "r" in way else []):
            part.halo[i][:] = pair
    return Slabs(arrays, walk, parts, keep, is_single)
