# SPDX-License-Identifier: MIT
"""libfallsfs as ctypes sees it: its structures, its functions, its errors.

    array = Array(ndims=2, order=ROW, elem=8, size=(4, 6))       the structures of fallsfs.h, field by field
    section = pack_section([(0, 2, 2), (1, 1, 3)])               (first, step, count) of each axis, as bytes
    check(lib.fallsfs_read_section(fd, byref(array), section, address), path)

ctypes lets other threads run while a call waits. test/python/test_structs.py holds every structure against the
compiler's offsets.
"""
from __future__ import annotations

import ctypes
import operator
import os
import struct
from ctypes import POINTER, Structure, c_bool, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any, Iterable, Optional, Tuple

ROW, COLUMN = 0, 1
MAX_DIMS = 16
MAX_PIECES = 1 << 24
TYPE_SIZE = 16
SIZE_UNKNOWN = (1 << 64) - 1
MOST_BYTES = 1 << 62  # of a file, its header included

Range = Tuple[int, int, int]  # first index, step, how many


class Array(Structure):
    """struct fallsfs_array"""

    _fields_ = [
        ("ndims", c_uint32),
        ("order", c_uint32),
        ("elem", c_uint64),
        ("header", c_uint64),
        ("size", c_uint64 * MAX_DIMS),
    ]


class Hints(Structure):
    """struct fallsfs_hints"""

    _fields_ = [
        ("domains", c_uint32),
        ("sieve", c_uint32),
        ("window", c_uint64),
        ("workers", c_uint32),
        ("timeout_ms", c_uint32),
    ]


class Piece(Structure):
    """struct fallsfs_ioc_piece"""

    _fields_ = [("off", c_uint64), ("len", c_uint64)]


class List(Structure):
    """struct fallsfs_list"""

    _fields_ = [
        ("disp", c_uint64),
        ("falls", c_char_p),
        ("pieces", c_void_p),
        ("n", c_uint64),
        ("id", c_uint64),
        ("extent", c_uint64),
        ("skip", c_uint64),
        ("bytes", c_uint64),
    ]


class Stats(Structure):
    """struct fallsfs_ioc_stats"""

    _fields_ = [
        ("version", c_uint32),
        ("reserved32", c_uint32),
        ("group", c_uint64),
        ("calls", c_uint64),
        ("asked", c_uint64),
        ("disk_read", c_uint64),
        ("disk_written", c_uint64),
        ("mapped", c_uint64),
        ("reread", c_uint64),
        ("windows", c_uint64),
        ("windows_mapped", c_uint64),
        ("windows_list", c_uint64),
        ("requests", c_uint64),
        ("domains", c_uint32),
        ("plan_reused", c_uint32),
        ("ns_wait", c_uint64),
        ("ns_plan", c_uint64),
        ("ns_io", c_uint64),
        ("ns_exchange", c_uint64),
        ("ns_total", c_uint64),
        ("error", c_uint32),
        ("n_culprits", c_uint32),
        ("culprit", c_uint32 * 15),
        ("more_reserved32", c_uint32 * 2),
        ("by_itself", c_uint32),
        ("reserved", c_uint64 * 7),
    ]


class SlabsArray(Structure):
    """struct fallsfs_slabs_array"""

    _fields_ = [
        ("fd", c_int),
        ("access", c_uint32),
        ("group", c_void_p),
        ("array", POINTER(Array)),
        ("halo", (c_uint64 * 2) * MAX_DIMS),
        ("reserved", c_uint64 * 4),
    ]


class SlabsWalk(Structure):
    """struct fallsfs_slabs_walk"""

    _fields_ = [
        ("axis", c_uint32),
        ("prefetch", c_uint32),
        ("memory", c_uint64),
        ("tile", c_uint64 * MAX_DIMS),
        ("grid", c_uint64 * MAX_DIMS),
        ("part", c_void_p),
        ("rounds", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class Slab(Structure):
    """struct fallsfs_slab"""

    _fields_ = [
        ("bytes", c_void_p),
        ("first", c_uint64 * MAX_DIMS),
        ("n", c_uint64 * MAX_DIMS),
        ("lower", c_uint64 * MAX_DIMS),
        ("size", c_uint64 * MAX_DIMS),
    ]


class SlabsStats(Structure):
    """struct fallsfs_slabs_stats"""

    _fields_ = [
        ("rounds", c_uint64),
        ("bytes_read", c_uint64),
        ("bytes_kept", c_uint64),
        ("bytes_written", c_uint64),
        ("n_ready", c_uint64),
        ("waited_read_ns", c_uint64),
        ("waited_written_ns", c_uint64),
        ("memory", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class Memory(c_void_p):
    """Memory of fallsfs_alloc, which is given back when nobody has this object any more."""

    def __del__(self) -> None:
        if self.value is not None:
            lib.fallsfs_free(self)


# By name: what it returns, what it takes. Addresses of memory, of sections and of handles are c_void_p.
_SECTION = [c_int, POINTER(Array), c_char_p, c_void_p]
_SECTION_ALL = [c_void_p, POINTER(Array), c_char_p, c_void_p]
_LIST = [c_int, POINTER(List), c_void_p]
_LIST_ALL = [c_void_p, POINTER(List), c_void_p]
_TICKET = [POINTER(c_void_p)]
_FUNCTIONS: dict[str, Tuple[Any, list[Any]]] = {
    "fallsfs_alloc": (Memory, [c_size_t]),
    "fallsfs_free": (None, [c_void_p]),
    "fallsfs_token": (c_int, [c_uint8 * 16]),
    "fallsfs_array_of": (c_int, [c_int, POINTER(Array), c_char_p]),
    "fallsfs_join": (c_int, [c_int, c_char_p, c_uint32, c_uint32, POINTER(Hints), POINTER(c_void_p)]),
    "fallsfs_leave": (c_int, [c_void_p]),
    "fallsfs_stats": (c_int, [c_void_p, POINTER(Stats), POINTER(c_uint64)]),
    "fallsfs_strerror_last": (c_char_p, []),
    "fallsfs_size_last": (c_uint64, []),
    "fallsfs_wait": (c_int, [c_void_p]),
    "fallsfs_test": (c_int, [c_void_p, POINTER(c_bool)]),
    "fallsfs_ticket_fd": (c_int, [c_void_p]),
    "fallsfs_read_section": (c_int, _SECTION),
    "fallsfs_write_section": (c_int, _SECTION),
    "fallsfs_read_list": (c_int, _LIST),
    "fallsfs_write_list": (c_int, _LIST),
    "fallsfs_iread_section": (c_int, _SECTION + _TICKET),
    "fallsfs_iwrite_section": (c_int, _SECTION + _TICKET),
    "fallsfs_iread_list": (c_int, _LIST + _TICKET),
    "fallsfs_iwrite_list": (c_int, _LIST + _TICKET),
    "fallsfs_read_all": (c_int, _SECTION_ALL),
    "fallsfs_write_all": (c_int, _SECTION_ALL),
    "fallsfs_read_list_all": (c_int, _LIST_ALL),
    "fallsfs_write_list_all": (c_int, _LIST_ALL),
    "fallsfs_iread_all": (c_int, _SECTION_ALL + _TICKET),
    "fallsfs_iwrite_all": (c_int, _SECTION_ALL + _TICKET),
    "fallsfs_iread_list_all": (c_int, _LIST_ALL + _TICKET),
    "fallsfs_iwrite_list_all": (c_int, _LIST_ALL + _TICKET),
    "fallsfs_slabs_open": (c_int, [POINTER(SlabsWalk), POINTER(SlabsArray), c_uint32, POINTER(c_void_p)]),
    "fallsfs_slabs_next": (c_int, [c_void_p, POINTER(Slab)]),
    "fallsfs_slabs_close": (c_int, [c_void_p]),
    "fallsfs_slabs_stats": (None, [c_void_p, POINTER(SlabsStats)]),
}


def _load() -> ctypes.CDLL:
    """FALLSFS_LIBRARY names another library than the one that is installed."""
    name = os.environ.get("FALLSFS_LIBRARY", "libfallsfs.so.0")
    try:
        loaded = ctypes.CDLL(name)
        for function, (result, arguments) in _FUNCTIONS.items():
            pointer = getattr(loaded, function)
            pointer.restype = result
            pointer.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"{error}: fallsfs needs its C library, {name}, of this version: install it and run ldconfig, "
            "or set FALLSFS_LIBRARY to its path"
        ) from error
    return loaded


lib: Any = _load()


def error_of(result: int, path: Optional[str] = None) -> OSError:
    """What -errno says, with the library's words: OSError, or the class that Python has for that number."""
    words = lib.fallsfs_strerror_last().decode("utf-8", "replace")
    return OSError(-result, words, path) if path is not None else OSError(-result, words)


def check(result: int, path: Optional[str] = None) -> int:
    """Raises the error that a result is."""
    if result < 0:
        raise error_of(result, path)
    return result


def number(value: Any, what: str, least: int, most: int) -> int:
    """The value as an integer, for a field that has room for these; TypeError and ValueError say what it is."""
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a whole number, and {value!r} is none") from None
    if not least <= n <= most:
        raise ValueError(f"{what} is a number from {least} to {most}, and not {n}")
    return n


_PACKERS = [struct.Struct(f"{3 * n}Q") for n in range(MAX_DIMS + 1)]


def pack_section(ranges: Iterable[Range]) -> bytes:
    """struct fallsfs_range for each axis; an axis without indexes makes the section empty."""
    words: list[int] = []
    for first, step, count in ranges:
        words += (first, first + step * (count - 1), step) if count > 0 else (1, 0, 1)
    return _PACKERS[len(words) // 3].pack(*words)


def make_array(shape: Tuple[int, ...], elem: int, order: int, header: int) -> Array:
    """The library knows neither arrays without dimensions nor sizes of 0: for these, of size 1, nothing is asked."""
    size = [max(n, 1) for n in shape] or [1]
    return Array(len(size), order, elem, header, (c_uint64 * MAX_DIMS)(*size))


def new_token() -> bytes:
    token = (c_uint8 * 16)()
    check(lib.fallsfs_token(token))
    return bytes(token)
