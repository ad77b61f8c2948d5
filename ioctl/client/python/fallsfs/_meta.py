# SPDX-License-Identifier: MIT
"""What a file says of its array, and of its layout.

    user.falls.array   "shape=8192x8192 elem=8 type=f8 order=row header=512"      kept with the file
    FILE.npy           a header that numpy has written                            before the bytes
    user.numpy         "{'descr': [('x', '<i4')], 'shape': (), ...}"              of what the first cannot say
    user.falls.layout  "array(shape=8192x8192, elem=8, dist=(block,*), grid=4x1) on d0-d3"

The first is for all programs and languages: it has no structures, no sizes of 0, and no arrays without dimensions.
"""
from __future__ import annotations

import ast
import ctypes
import errno
import math
import os
import re
from typing import Any, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _c
from ._c import check, lib
from ._slabs import parse_size

_npy: Any = np.lib.format  # it has no types of its own
PREFIX = "user.falls."
OURS = "user.numpy"
NO_ATTRIBUTE = (errno.ENODATA, errno.ENOTSUP, errno.ENOENT)


class Meaning(NamedTuple):
    """What the bytes of a file are; None: it does not say."""

    shape: Optional[Tuple[int, ...]]
    dtype: Optional[np.dtype[Any]]
    elem: int
    order: str
    header: int


# -- attributes --


def get_attribute(fd: int, name: str) -> Optional[str]:
    """None: there is no such thing, as with files that are in no mount."""
    try:
        return os.getxattr(fd, PREFIX + name).decode()
    except OSError as error:
        if error.errno in NO_ATTRIBUTE:
            return None
        raise


def is_on_mount(fd: int) -> bool:
    """Elsewhere these names may be ordinary attributes, which mean nothing. No copy takes this one along."""
    return get_attribute(fd, "layout.json") is not None


def need_mount(fd: int, path: str) -> None:
    if not is_on_mount(fd):
        raise OSError(errno.ENOTSUP, "it lies in no mounted fallsfs: see what findmnt -T says of it", path)


def set_attribute(fd: int, name: str, value: Optional[str], path: str) -> None:
    """None removes it. The mount says why it refuses something."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{PREFIX}{name} is text, and {value!r} is none")
    need_mount(fd, path)
    try:
        if value is None:
            os.removexattr(fd, PREFIX + name)
        else:
            os.setxattr(fd, PREFIX + name, value.encode())
    except OSError as error:
        why = get_attribute(fd, "lasterror")
        raise OSError(error.errno, why or error.strerror, path) from None


# -- arrays --


def order_of(order: str) -> str:
    """Only "C" or "F"."""
    if order not in ("C", "F"):
        raise ValueError(f"order {order!r} is not possible: it is 'C' (rows) or 'F' (columns)")
    return order


def _noted_meaning(fd: int, path: str) -> Optional[Meaning]:
    """What the attribute says; None: there is none."""
    array, kind = _c.Array(), ctypes.create_string_buffer(_c.TYPE_SIZE)
    result = lib.fallsfs_array_of(fd, ctypes.byref(array), kind)
    if -result in NO_ATTRIBUTE:
        return None
    check(result, path)
    dtype = None
    try:
        dtype = np.dtype(kind.value.decode()) if kind.value else None
    except TypeError:
        dtype = None  # another program's name for it
    if dtype is not None and dtype.itemsize != array.elem:
        dtype = None
    shape = tuple(array.size[: array.ndims])
    return Meaning(shape, dtype, array.elem, "C" if array.order == _c.ROW else "F", array.header)


def _is_inherited(fd: int) -> bool:
    """Whether a directory above says what the attribute says, and not the file itself: then it is not listed."""
    return PREFIX + "array" not in os.listxattr(fd)


def _our_meaning(fd: int) -> Optional[Meaning]:
    """What create has noted besides; None: it has not, or somebody has changed it."""
    try:
        said = ast.literal_eval(os.getxattr(fd, OURS).decode())
        dtype: np.dtype[Any] = _npy.descr_to_dtype(said["descr"])
        shape = tuple(int(n) for n in said["shape"])
        return Meaning(shape, dtype, dtype.itemsize, "F" if said["fortran_order"] else "C", int(said["header"]))
    except (OSError, ValueError, TypeError, KeyError, SyntaxError):
        return None


def _npy_meaning(fd: int, path: str) -> Optional[Meaning]:
    """What a header says that numpy has written; None: there is none."""
    if os.pread(fd, 6, 0) != b"\x93NUMPY":
        return None
    try:
        mapped = _npy.open_memmap(f"/proc/self/fd/{int(fd)}", mode="r")
    except ValueError as error:
        raise ValueError(f"{path}: what its .npy header says is no array that can be opened: {error}") from None
    order = "F" if mapped.flags.f_contiguous and not mapped.flags.c_contiguous else "C"
    return Meaning(mapped.shape, mapped.dtype, mapped.dtype.itemsize, order, int(mapped.offset))


def _is_said_less(noted: Meaning, known: Meaning) -> bool:
    """Whether they are the same array, of which the attribute does not have the type."""
    if noted.dtype is not None:
        return False
    return (noted.shape, noted.elem, noted.header) == (known.shape, known.elem, known.header)


def read_meaning(fd: int, path: str) -> Optional[Meaning]:
    """The attribute's, unless it leaves open what type it is, or is a directory's: then what the file says otherwise,
    in our attribute or in a header that numpy has written. None: it says nothing."""
    noted = _noted_meaning(fd, path)
    if noted is not None and noted.dtype is not None and not _is_inherited(fd):
        return noted
    known = _our_meaning(fd) or _npy_meaning(fd, path)
    if noted is None or (known is not None and (_is_inherited(fd) or _is_said_less(noted, known))):
        return known
    return noted


def _set_plainly(fd: int, name: str, text: str) -> bool:
    """False: the file system keeps no such thing, or not so much."""
    try:
        os.setxattr(fd, name, text.encode())
        return True
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EPERM, errno.E2BIG, errno.ENOSPC, errno.ERANGE):
            raise
        return False


def _type_name(dtype: np.dtype[Any]) -> Optional[str]:
    """How the attribute has it; None: it cannot say it."""
    name: str = dtype.str.lstrip("<|=")
    return name if dtype.kind in "biufcSUMm" and len(name) < _c.TYPE_SIZE else None


def _npy_words(shape: Tuple[int, ...], dtype: np.dtype[Any], order: str) -> dict[str, Any]:
    return {"descr": _npy.dtype_to_descr(dtype), "fortran_order": order == "F", "shape": shape}


def _note_ours(fd: int, shape: Tuple[int, ...], dtype: np.dtype[Any], order: str, header: int) -> bool:
    try:
        words = {**_npy_words(shape, dtype, order), "header": header}
    except ValueError:  # fields that overlap, or come in another order than their bytes
        return False
    return _set_plainly(fd, OURS, repr(words))


def note_meaning(
    fd: int, shape: Tuple[int, ...], dtype: np.dtype[Any], order: str, header: int, is_npy: bool
) -> bool:
    """Has the file say what it is, in as many attributes as that takes, beside a header of numpy's if it has one.
    False: it cannot."""
    kind = _type_name(dtype)
    is_noted = False
    if len(shape) > 0 and 0 not in shape:
        text = f"shape={'x'.join(map(str, shape))} elem={dtype.itemsize}"
        rest = f" order={'row' if order == 'C' else 'col'} header={header}"
        is_noted = kind is not None and _set_plainly(fd, PREFIX + "array", f"{text} type={kind}{rest}")
        if not is_noted:
            _set_plainly(fd, PREFIX + "array", text + rest)
    return is_noted or is_npy or _note_ours(fd, shape, dtype, order, header)


def write_npy_header(fd: int, shape: Tuple[int, ...], dtype: np.dtype[Any], order: str) -> int:
    """Returns how long it is."""
    with os.fdopen(os.dup(fd), "wb") as file:
        _npy.write_array_header_2_0(file, _npy_words(shape, dtype, order))
        return file.tell()


# -- layouts --

LEAST_CHUNK, MOST_CHUNK = 16 << 20, 128 << 20


def _without_comments(layout: str) -> str:
    return re.sub(r"#.*", "", layout)


def _array_keys(layout: str) -> Optional[dict[str, str]]:
    """What array(...) says, by its keys, without blanks. None: the layout is of another kind."""
    text = re.sub(r"\s+", "", _without_comments(layout))
    if not text.startswith("array("):
        return None
    depth, words = 0, [""]
    for letter in text[len("array(") :]:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def complete_layout(layout: str, shape: Sequence[int], dtype: np.dtype[Any], order: str) -> str:
    """array(dist=..., grid=...) of an array that is known need not say its shape."""
    if not isinstance(layout, str):
        raise TypeError(f"a layout is text, as in 'stripe(1M)', and {layout!r} is none")
    keys = _array_keys(layout)
    if keys is None or "shape" in keys:
        return layout
    known = {"shape": "x".join(map(str, shape)), "elem": str(dtype.itemsize)}
    if order == "F":
        known["order"] = "col"
    kind, _, rest = _without_comments(layout).partition("(")
    missing = [f"{key}={value}, " for key, value in known.items() if key not in keys]
    return f"{kind}({''.join(missing)}{rest.lstrip()}"


def _extents(text: str) -> list[int]:
    """The numbers of 8Kx100."""
    return [parse_size(word) for word in text.split("x")]


def _block_of(how: str, n: int, parts: int) -> int:
    """How many of n indexes a subfile has in a row, of so many along the axis."""
    if how == "block":
        return -(-n // parts)
    dealt = re.fullmatch(r"cyclic(?:\((\w+)\))?", how)
    if dealt is not None:
        return min(parse_size(dealt[1] or 1), n)
    return n


def _blocks_of(layout: str, shape: Sequence[int]) -> Optional[list[int]]:
    """How many indexes of each axis a subfile has in a row. None: the layout is no distribution of this array."""
    keys = _array_keys(layout)
    if keys is None or "dist" not in keys or _extents(keys.get("shape", "0")) != list(shape):
        return None
    parts = _extents(keys["grid"]) if "grid" in keys else [1] * len(shape)
    return [_block_of(*axis) for axis in zip(keys["dist"][1:-1].split(","), shape, parts)]


def chunks_of(layout: Optional[str], shape: Sequence[int], elem: int, order: str) -> Tuple[int, ...]:
    """Blocks of the layout, several of them or parts of one, of a size that is worth a task."""
    slow_first = range(len(shape)) if order == "C" else range(len(shape))[::-1]
    chunk = (_blocks_of(layout, shape) if layout is not None else None) or [max(n, 1) for n in shape]
    for axis in reversed(slow_first):
        size = math.prod(chunk) * elem
        if 0 < size < LEAST_CHUNK:
            chunk[axis] = min(chunk[axis] * -(-LEAST_CHUNK // size), max(shape[axis], 1))
    for axis in slow_first:
        size = math.prod(chunk) * elem
        if size > MOST_CHUNK:
            chunk[axis] = max(chunk[axis] // -(-size // MOST_CHUNK), 1)
    return tuple(chunk)
