# SPDX-License-Identifier: MIT
"""Memory that the daemon can reach.

    program's memory    numpy.empty    daemon ──> a copy in the library ──> the array
    fallsfs.empty                      daemon ──────────────────────────> the array
"""
from __future__ import annotations

import ctypes
import math
import operator
import sys
from typing import Any, Sequence, Tuple, Union

import numpy as np

from ._c import lib

Shape = Union[int, Sequence[int]]


def shape_of(shape: Shape) -> Tuple[int, ...]:
    try:
        return (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(operator.index(n) for n in shape)  # type: ignore[union-attr]


def empty(shape: Shape, dtype: Any = float, order: Any = "C") -> np.ndarray[Any, Any]:
    """An array like numpy.empty's, of zeros, in memory that sections are read into and written from without a copy.

    The memory is shared: a child that is forked sees what its parent writes there, and the other way round, where it
    would have a copy of other memory. It is given back when the last array that uses it is gone.

    >>> buffer = fallsfs.empty((2, 3), "f8")
    >>> buffer[:] = 1.5
    >>> float(buffer.sum())
    9.0
    """
    dtype = np.dtype(dtype)
    sizes = shape_of(shape)
    if dtype.hasobject:
        raise TypeError("objects of Python are nothing that a file has: give a type with a fixed size")
    if min(sizes, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    length = max(math.prod(sizes) * dtype.itemsize, 1)
    owner = lib.fallsfs_alloc(length) if length <= sys.maxsize else None
    if owner is None or owner.value is None:
        raise MemoryError(f"there is no memory of {length} bytes that could be shared")
    memory: Any = (ctypes.c_char * length).from_address(owner.value)
    memory.owner = owner
    whole: np.ndarray[Any, Any] = np.ndarray(sizes, dtype, memory, order=order)
    return whole
