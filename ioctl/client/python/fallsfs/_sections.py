# SPDX-License-Identifier: MIT
"""Reading and writing what an index says: of an array alone, and of a group of processes.

    index ──make_plan──> parts ──_ask──> the library ──> a dense array ──> the result

One request after the other where a single process asks; exactly one where a group does, and for a ticket.
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

from . import _c
from ._c import check, lib
from ._own import Descriptor
from ._pick import Index, make_field_plan, make_plan
from ._plan import Geometry, NdArray, Part, Plan
from ._ticket import Request, Ticket


class Calls(NamedTuple):
    """The library's calls of one kind, by what they do."""

    sections: Tuple[Callable[..., int], Callable[..., int]]  # read, write
    lists: Tuple[Callable[..., int], Callable[..., int]]
    later_sections: Tuple[Callable[..., int], Callable[..., int]]
    later_lists: Tuple[Callable[..., int], Callable[..., int]]


ALONE = Calls(
    (lib.fallsfs_read_section, lib.fallsfs_write_section),
    (lib.fallsfs_read_list, lib.fallsfs_write_list),
    (lib.fallsfs_iread_section, lib.fallsfs_iwrite_section),
    (lib.fallsfs_iread_list, lib.fallsfs_iwrite_list),
)
TOGETHER = Calls(
    (lib.fallsfs_read_all, lib.fallsfs_write_all),
    (lib.fallsfs_read_list_all, lib.fallsfs_write_list_all),
    (lib.fallsfs_iread_all, lib.fallsfs_iwrite_all),
    (lib.fallsfs_iread_list_all, lib.fallsfs_iwrite_list_all),
)


class Sections:
    """What can be asked of an array: read, write, iread, iwrite."""

    _calls = ALONE
    _asks_once = False  # also for nothing: the others of a group wait for it

    path: str
    dtype: np.dtype[Any]
    _geometry: Geometry
    _c_array: _c.Array

    # Who has what these return has it to the end, whatever another thread closes meanwhile: no frame that an error
    # keeps should be among these, so that calls take it at once.

    def _handle(self) -> Any:
        """What the library's calls take first."""
        raise NotImplementedError

    def _descriptor(self) -> Descriptor:
        """What poll() tells of tickets."""
        raise NotImplementedError

    # -- requests --

    def _plan(self, index: Index, single: bool) -> Plan:
        if isinstance(index, str) and self.dtype.names is not None:
            return make_field_plan(self._geometry, self.dtype, index)
        return make_plan(self._geometry, index, single)

    def _list_of(self, pieces: NdArray, extent: int, n_bytes: int) -> _c.List:
        return _c.List(
            disp=self._c_array.header,
            pieces=pieces.__array_interface__["data"][0],
            n=len(pieces),
            extent=extent,
            bytes=n_bytes,
        )

    def _request(self, part: Part, memory: NdArray) -> Tuple[bool, Any, Any]:
        """Whether it is a list, what says so, and what must stay until the library has it."""
        if part.pieces is not None and len(part.pieces) > 0 and memory.nbytes > 0:
            request = self._list_of(part.pieces, part.extent, memory.nbytes)
            return True, ctypes.byref(request), (request, part.pieces)
        ranges = part.section
        if ranges is None:
            ranges = [(0, 1, 0)] * len(self._geometry.shape)
        section = _c.pack_section(ranges or [(0, 1, 1)])
        return False, section, section

    def _ask(self, part: Part, memory: NdArray, write: bool) -> None:
        if memory.size == 0 and not self._asks_once:
            return
        is_list, request, _keep = self._request(part, memory)
        address = memory.__array_interface__["data"][0]
        if is_list:
            result = self._calls.lists[write](self._handle(), request, address)
        else:
            result = self._calls.sections[write](self._handle(), self._c_array, request, address)
        if result < 0:
            check(result, self.path)

    def _ask_later(self, part: Part, memory: NdArray, write: bool, end: Callable[[], Any]) -> Ticket:
        is_list, what, keep = self._request(part, memory)
        address = memory.__array_interface__["data"][0]
        request = Request(self._handle(), self._descriptor(), self.path, end, (keep, memory))
        if is_list:
            return request.begin(self._calls.later_lists[write], what, address)
        return request.begin(self._calls.later_sections[write], self._c_array, what, address)

    # -- reading --

    def _dense_for(self, plan: Plan, out: Optional[NdArray]) -> NdArray:
        dtype = plan.dtype(self.dtype)
        if out is None:
            return plan.empty(dtype)
        if not isinstance(out, np.ndarray):
            raise TypeError("out is no array of numpy")
        if out.dtype != dtype:
            raise ValueError(f"out has type {out.dtype}, and what is read {dtype}: they must be the same")
        if out.shape != plan.result_shape():
            raise ValueError(f"out has shape {out.shape}, and what is read {plan.result_shape()}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        return out if plan.lands_in(out) else plan.empty(dtype)

    @staticmethod
    def _into(plan: Plan, dense: NdArray, out: Optional[NdArray]) -> Any:
        if out is None:
            return plan.result(dense)
        if dense is not out:
            out[...] = plan.result(dense)
        return out

    def read(self, index: Index = Ellipsis, out: Optional[NdArray] = None) -> Any:
        """What a[index] is of an array of numpy; into out, if it is given. Of structures, a name is that field of all.

        >>> a = fallsfs.create("read", (4, 6), "i4")
        >>> a[...] = np.arange(24).reshape(4, 6)
        >>> a.read(np.s_[::2, 1])
        array([ 1, 13], dtype=int32)
        >>> rows = fallsfs.empty((2, 6), "i4")
        >>> a.read(np.s_[2:], out=rows) is rows
        True
        """
        plan = self._plan(index, self._asks_once)
        dense = self._dense_for(plan, out)
        for part in plan.parts:
            memory = part.begin(dense, False)
            self._ask(part, memory, False)
            part.end(dense, memory)
        return self._into(plan, dense, out)

    def write(self, index: Index, value: Any) -> None:
        """a[index] = value. Of points that are named several times, the last one stays.

        >>> a = fallsfs.create("write", (3, 3), "i4")
        >>> a.write(np.s_[[0, 2, 0]], [[1], [2], [3]])
        >>> a[...].tolist()
        [[3, 3, 3], [0, 0, 0], [2, 2, 2]]
        """
        plan = self._plan(index, self._asks_once)
        dense = plan.fill(plan.dtype(self.dtype), value)
        for part in plan.parts:
            self._ask(part, part.begin(dense, True), True)

    def iread(self, index: Index = Ellipsis, out: Optional[NdArray] = None) -> Ticket:
        """Begins to read and returns a ticket, whose wait() has the result.

        >>> a = fallsfs.create("iread", (4, 6), "i4")
        >>> ticket = a.iread(np.s_[:, 2])
        >>> ticket.wait()
        array([0, 0, 0, 0], dtype=int32)
        """
        plan = self._plan(index, True)
        dense = self._dense_for(plan, out)
        (part,) = plan.parts
        memory = part.begin(dense, False)

        def end() -> Any:
            part.end(dense, memory)
            return self._into(plan, dense, out)

        return self._ask_later(part, memory, False, end)

    def iwrite(self, index: Index, value: Any) -> Ticket:
        """Begins to write and returns a ticket. The value is looked at until it is over: it is not to be changed."""
        plan = self._plan(index, True)
        dense = plan.fill(plan.dtype(self.dtype), value)
        (part,) = plan.parts
        memory = part.begin(dense, True)
        return self._ask_later(part, memory, True, lambda: None)

    def __getitem__(self, index: Index) -> Any:
        return self.read(index)

    def __setitem__(self, index: Index, value: Any) -> None:
        self.write(index, value)
