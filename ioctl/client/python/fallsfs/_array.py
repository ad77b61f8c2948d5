# SPDX-License-Identifier: MIT
"""An array in a file.

    fallsfs.open("/fast/matrix")     what it is: an attribute of the file, a header of numpy's, or the caller's words
      .read .write .iread .iwrite    _sections.py
      .group                         _group.py
      .slabs                         _slabs.py
      .layout .migrate .views        attributes of the mount
"""
from __future__ import annotations

import errno
import math
import operator
import os
import time
import warnings
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from . import _c, _meta
from ._memory import Shape, shape_of
from ._own import Descriptor
from ._plan import Geometry, NdArray
from ._sections import Sections
from ._slabs import Halo, Slabs, walk_of

if TYPE_CHECKING:
    from ._group import Group

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_FLAGS = {"r": os.O_RDONLY, "r+": os.O_RDWR}


def check_array(shape: Tuple[int, ...], dtype: np.dtype[Any], header: int) -> None:
    """Raises what is wrong with an array of a file."""
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"{dtype} is no type that elements of a file can have: give one with a fixed size")
    if dtype.subdtype is not None:
        raise TypeError(f"{dtype} is an array itself: give its dimensions to the shape, and the type of its elements")
    if len(shape) > _c.MAX_DIMS:
        raise ValueError(f"{len(shape)} dimensions are more than there may be, {_c.MAX_DIMS}")
    if min(shape, default=0) < 0 or header < 0:
        raise ValueError(f"neither a size nor the header's length can be negative: shape {shape}, header {header}")
    if header + math.prod(shape) * dtype.itemsize > _c.MOST_BYTES or max(shape, default=0) > _c.MOST_BYTES:
        raise ValueError(f"an array of shape {shape} and {dtype} reaches past byte 2**62 of its file")


class Array(Sections):
    """An array in a file, read and written by numpy's indexes. fallsfs.open and fallsfs.create make these."""

    def __init__(
        self,
        path: str,
        file: Descriptor,
        shape: Tuple[int, ...],
        dtype: np.dtype[Any],
        order: str,
        header: int,
        mode: str,
    ):
        check_array(shape, dtype, header)
        self.path = path
        self._absolute_path = os.path.abspath(path)
        self.shape = shape
        self.dtype = dtype
        self.order = order
        self.header = header
        self.mode = mode
        self._geometry = Geometry(shape, order, dtype.itemsize)
        self._c_array = _c.make_array(shape, dtype.itemsize, _c.ROW if order == "C" else _c.COLUMN, header)
        self._file: Optional[Descriptor] = file

    def _descriptor(self) -> Descriptor:
        if self._file is None:
            raise ValueError(f"{self.path}: the array is closed")
        return self._file

    _handle = _descriptor

    # -- what it is --

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes of the file it is."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Row by row, as numpy does, a request for each: slabs() is what large arrays want."""
        for i in range(len(self)):
            yield self[i]

    def __repr__(self) -> str:
        return (
            f"<fallsfs array {self.path!r}, shape {self.shape}, {self.dtype}, order {self.order!r}, "
            f"{'closed' if self._file is None else self.mode}>"
        )

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NdArray:
        """All of it, for functions of numpy. There is no such array without a copy."""
        if copy is False:
            raise ValueError("what is in a file is no array in memory without a copy: ask without copy=False")
        whole: NdArray = np.asarray(self.read(Ellipsis))
        return whole if dtype is None else whole.astype(dtype, copy=False)

    # -- its file --

    def fileno(self) -> int:
        """The descriptor of its file, for functions of os."""
        return int(self._descriptor())

    def flush(self) -> None:
        """What was written is on the disks when it returns, as with fsync(2)."""
        os.fsync(self._descriptor())

    def close(self) -> None:
        """Nothing is asked of it from here on. The file is closed once what is under way is over."""
        file, self._file = self._file, None
        if file is not None:
            errors: list[OSError] = []
            file.errors = errors
            del file
            for error in errors:
                raise error

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        """Another process opens the file for itself, by its path. What was written is in the file: nothing is sent."""
        return (
            open,
            (self._absolute_path, self.shape, self.dtype, self.order, self.header, self.mode),
        )

    # -- its layout --

    @property
    def layout(self) -> str:
        """How the file's bytes are spread over disks, in the notation of fallsfs-layout(7).

        Set to another layout, the mount begins to move the file and the program goes on; of an empty file it is the
        layout at once. migrate() can wait.
        """
        fd = self._descriptor()
        _meta.need_mount(fd, self.path)
        return _meta.get_attribute(fd, "layout") or ""

    @layout.setter
    def layout(self, layout: str) -> None:
        fd = self._descriptor()
        layout = _meta.complete_layout(layout, self.shape, self.dtype, self.order)
        _meta.set_attribute(fd, "migrate" if os.fstat(fd).st_size > 0 else "layout", layout, self.path)

    def migrate(
        self, layout: str, wait: bool = True, progress: Optional[Callable[[int, int], None]] = None
    ) -> None:
        """Gives the file another layout while it is in use. progress(done, total) is told of bytes now and then.

        >>> a = fallsfs.create("migrate", (64, 64), "f8", layout="stripe(4K)")
        >>> a.migrate("array(dist=(block,*), grid=2x1)")
        >>> a.layout.startswith("array(shape=64x64, elem=8, dist=(block,*), grid=2x1)")
        True
        """
        self.layout = layout
        pause = 0.005
        while wait:
            state = dict(
                word.split("=", 1)
                for word in (_meta.get_attribute(self._descriptor(), "migrate") or "").split(" error=")[0].split()
            )
            if progress is not None and "total" in state:
                progress(int(state["done"]), int(state["total"]))
            if state.get("state", "done") not in ("waiting", "running", "paused", "ending"):
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.5)
        if wait:
            self._raise_failed_migration()

    def _raise_failed_migration(self) -> None:
        text = _meta.get_attribute(self._descriptor(), "migrate") or ""
        head, _, why = text.partition(" error=")
        if "state=done" in head.split() or not head:
            return
        number, _, words = why.partition(" ")
        raise OSError(int(number or 0) or errno.ECANCELED, words.strip() or f"the migration ended as {head}", self.path)

    @property
    def views(self) -> Views:
        """Its views by name, as a dictionary of texts: a.views["left"] = "array(...) element 0"."""
        return Views(self)

    @property
    def chunks(self) -> Tuple[int, ...]:
        """What dask should take at a time: blocks of the layout, 16 to 128 MiB where the array is so large.

            dask.array.from_array(a, chunks=a.chunks)
        """
        fd = self._descriptor()
        layout = _meta.get_attribute(fd, "layout") if _meta.is_on_mount(fd) else None
        return _meta.chunks_of(layout, self.shape, self.dtype.itemsize, self.order)

    # -- larger than memory --

    def slabs(
        self,
        axis: int = 0,
        memory: Union[int, str] = "64M",
        halo: Halo = 0,
        prefetch: int = 1,
        write: bool = False,
        tile: Optional[Sequence[int]] = None,
    ) -> Slabs:
        """Walks it slab by slab; with write, what the program makes of a slab is written back, without the halo.

        memory is what the walk may take, halo how many indexes of its neighbours a slab shows, as the file had them
        before the walk, prefetch how many slabs are read ahead: see fallsfs.slabs, which walks several arrays in step.

        >>> a = fallsfs.create("slabs", (1000, 10), "i8")
        >>> for slab in a.slabs(memory="16K", write=True):
        ...     slab.inner[...] = np.arange(slab.index[0].start, slab.index[0].stop)[:, None]
        >>> sum(int(slab.inner.sum()) for slab in a.slabs(axis=1, memory="64K"))
        4995000
        """
        return walk_of([self], "r+" if write else "r", axis, memory, halo, prefetch, tile, None, True)

    # -- with others --

    def group(self, token: bytes, rank: int, n: int, **hints: Any) -> Group:
        """Takes a rank in a group of n processes: what all of them ask for is read or written at once.

        token is fallsfs.token() of one of them; each has a rank of its own, from 0. hints are timeout in seconds
        (None: as long as it takes), window, workers, domains, sieve; all give the same. The group opens the file anew.

        >>> a = fallsfs.create("group", (4, 6), "i4")
        >>> with a.group(fallsfs.token(), rank=0, n=1) as g:
        ...     g[1:3] = 7
        ...     g[:, 0].tolist()
        [0, 7, 7, 0]
        """
        from ._group import Group

        return Group(self, token, rank, n, **hints)

    def reopen(self) -> Descriptor:
        """Another open file of the same file, whatever its name is by now."""
        file = self._descriptor()
        return Descriptor.open(f"/proc/self/fd/{file}", _FLAGS[self.mode])


class Views(MutableMapping[str, str]):
    """The views of a file: parts that are files of their own, see fallsfs-views(7).

    >>> a = fallsfs.create("viewed", (4, 6), "i4")
    >>> a.views["left"] = "array(shape=4x6, elem=4, dist=(*,block), grid=1x2) element 0"
    >>> list(a.views)
    ['left']
    >>> int(np.fromfile(a.views.path("left"), "i4").size)
    12
    >>> del a.views["left"]
    """

    def __init__(self, array: Array):
        self._array = array

    def _folder(self) -> str:
        """Where the mount shows them: at its top, by the file's path below it."""
        path = os.path.realpath(f"/proc/self/fd/{self._array._descriptor()}")
        device = os.stat(path).st_dev
        top = os.path.dirname(path)
        while top != "/" and os.stat(os.path.dirname(top)).st_dev == device:
            top = os.path.dirname(top)
        return os.path.join(top, ".falls/views", os.path.relpath(path, top))

    def path(self, name: str) -> str:
        """The view as a file."""
        return os.path.join(self._folder(), name)

    def __getitem__(self, name: str) -> str:
        fd = self._array._descriptor()
        text = _meta.get_attribute(fd, f"view.{name}") if _meta.is_on_mount(fd) else None
        if text is None:
            raise KeyError(name)
        return text

    def __setitem__(self, name: str, text: str) -> None:
        if not name:
            raise ValueError("a view has a name, and this one is empty")
        _meta.set_attribute(self._array._descriptor(), f"view.{name}", text, self._array.path)

    def __delitem__(self, name: str) -> None:
        self[name]
        _meta.set_attribute(self._array._descriptor(), f"view.{name}", None, self._array.path)

    def __iter__(self) -> Iterator[str]:
        try:
            return iter(sorted(os.listdir(self._folder())))
        except (FileNotFoundError, NotADirectoryError):
            return iter(())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def open(
    path: PathLike,
    shape: Optional[Shape] = None,
    dtype: Any = None,
    order: Optional[str] = None,
    header: Optional[int] = None,
    mode: str = "r+",
) -> Array:
    """Opens an array that is in a file, on a mount or not.

    What it is, its file says: fallsfs.create or fallsctl has set user.falls.array, which counts more, or numpy.save has
    written a header. What is given here counts most. With a type alone, all of the file is one axis, and has to be a
    whole number of elements, as numpy.memmap wants it.
    mode is "r+", to read and write, or "r". What lies behind the end of the file is read as zeros.

    >>> np.save("saved.npy", np.arange(6.0).reshape(2, 3))
    >>> a = fallsfs.open("saved.npy")
    >>> a.shape, a[:, 1].tolist()
    ((2, 3), [1.0, 4.0])
    """
    name = os.fsdecode(path)
    if mode not in _FLAGS:
        raise ValueError(f"mode {mode!r} is not possible: it is 'r' or 'r+'")
    file = Descriptor.open(name, _FLAGS[mode])
    said = _meta.read_meaning(file, name) if shape is None or dtype is None else None
    known = said or _meta.Meaning(None, None, 0, "C", 0)
    kind = np.dtype(dtype) if dtype is not None else known.dtype
    if kind is None:
        raise ValueError(
            f"{name}: the file does not say what type its elements have: give shape and dtype"
            + (f", of {known.elem} bytes" if known.elem > 0 else "")
        )
    start = operator.index(header) if header is not None else known.header if shape is None else 0
    way = _meta.order_of(order) if order is not None else known.order if shape is None else "C"
    sizes = shape_of(shape) if shape is not None else _known_shape(name, file, known, kind, start)
    return Array(name, file, sizes, kind, way, start, mode)


def _known_shape(
    path: str, file: Descriptor, known: _meta.Meaning, dtype: np.dtype[Any], header: int
) -> Tuple[int, ...]:
    """What the file says, or one axis of all that is in it."""
    if known.shape is None:
        n, rest = divmod(max(os.fstat(file).st_size - header, 0), max(dtype.itemsize, 1))
        if rest > 0:
            raise ValueError(
                f"{path}: behind a header of {header} bytes, it has no whole number of elements of {dtype}, but {n} "
                f"and {rest} bytes more: give a shape"
            )
        return (n,)
    if known.elem != dtype.itemsize:
        raise ValueError(
            f"{path}: its elements have {known.elem} bytes, and {dtype} has {dtype.itemsize}: give a shape"
        )
    return known.shape


def create(
    path: PathLike,
    shape: Shape,
    dtype: Any = "f8",
    order: str = "C",
    header: int = 0,
    layout: Optional[str] = None,
    overwrite: bool = False,
) -> Array:
    """Makes a file with an array of zeros, which says what it is, and opens it.

    layout is one of fallsfs-layout(7); "array(dist=(block,*), grid=4x1)" takes shape and element from here. A name with
    .npy at its end gets the header that numpy.load looks for. A file that is there is an error, or gone with overwrite.
    A UserWarning tells where the file cannot say what it is: its file system keeps no attributes, or the type's fields
    overlap.

    >>> a = fallsfs.create("matrix", (4, 6), "f8")
    >>> a[1:, ::2] = 1
    >>> float(a[...].sum())
    9.0
    >>> fallsfs.open("matrix").shape
    (4, 6)
    """
    name = os.fsdecode(path)
    sizes, kind, order = shape_of(shape), np.dtype(dtype), _meta.order_of(order)
    header = operator.index(header)
    check_array(sizes, kind, header)
    if overwrite and os.path.exists(name):
        os.unlink(name)
    file = Descriptor.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        if layout is not None:
            _meta.set_attribute(file, "layout", _meta.complete_layout(layout, sizes, kind, order), name)
        is_npy = name.endswith(".npy")
        if is_npy:
            header = _meta.write_npy_header(file, sizes, kind, order)
        array = Array(name, file, sizes, kind, order, header, "r+")
        os.ftruncate(file, header + array.nbytes)
        if not _meta.note_meaning(file, sizes, kind, order, header, is_npy):
            warnings.warn(
                f"{name}: the file cannot say what it is, since its file system keeps no attributes, or the type has "
                "no description: who opens it has to give shape, dtype, order and header",
                stacklevel=2,
            )
        return array
    except BaseException:
        os.unlink(name)
        raise
