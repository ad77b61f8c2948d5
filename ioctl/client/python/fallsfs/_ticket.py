# SPDX-License-Identifier: MIT
"""A request that was not waited for.

    t = a.iread(np.s_[::2, :100])      begun; the file is read while the program goes on
    t.done                             whether it is over
    block = t.wait()                   its result, or its error; block = await t in a coroutine

    Ticket ──> Request ──> the library's ticket, the memory, the descriptor
                  ^
    _under_way ───┘        until the library has said that it is over, whatever becomes of the Ticket

A signal's handler may raise wherever Python is. So what the library says is put down within the call that asks it, by
list.extend and map, which are C: a ticket that the library has freed is never one that seems to be under way. Nor has a
Ticket that is over anything to do when it goes, where Python would drop what a handler raises.

A loop learns from a descriptor that a ticket may be over: on a mount from the file's, which tells of all its tickets;
else from one that each ticket has. What is over is fetched at once, whoever awaits it: else the descriptor would be
ready all the time, and the loop busy.
"""
from __future__ import annotations

import asyncio
import atexit
import ctypes
import errno
import os
import threading
import weakref
from typing import Any, Callable, Generator, Optional

from ._c import check, error_of, lib
from ._own import Descriptor


class Request:
    """What the library does for a ticket, and all that it needs until it is over."""

    __slots__ = ("awaiters", "end", "error", "file", "handle", "keep", "lock", "owner", "path", "pid", "poll_fd",
                 "ticket", "_is_tested", "_tested", "_waited")

    def __init__(self, handle: Any, file: Descriptor, path: str, end: Callable[[], Any], keep: Any):
        self.ticket = ctypes.c_void_p()
        self.handle: Any = handle
        self.file: Optional[Descriptor] = file
        self.path = path
        self.end: Optional[Callable[[], Any]] = end
        self.keep = keep
        self.owner: Optional[weakref.ref[Ticket]] = None
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.poll_fd = -1
        self.error: Optional[OSError] = None
        self.awaiters: list[Callable[[], Any]] = []
        self._waited: list[int] = []  # what fallsfs_wait has said
        self._tested: list[int] = []  # what fallsfs_test has said, the last time of the end if _is_tested
        self._is_tested = ctypes.c_bool(False)

    def begin(self, call: Callable[..., int], *arguments: Any) -> Ticket:
        """The call gets the arguments between the handle and the place of its ticket."""
        try:
            _under_way.add(self)
            check(call(self.handle, *arguments, ctypes.byref(self.ticket)), self.path)
            self.poll_fd = lib.fallsfs_ticket_fd(self.ticket)
            ticket = Ticket(self)
            self.owner = weakref.ref(ticket, self._settle_without)
            return ticket
        except BaseException:
            self.settle()
            raise

    def is_ours(self) -> bool:
        """Whether this process has begun it, and none that it was forked from."""
        return self.pid == os.getpid()

    def _result(self) -> Optional[int]:
        """What the library has said of its end. None: it is under way."""
        if self._is_tested.value:
            return self._tested[-1]
        return self._waited[0] if self._waited else None

    def is_over(self) -> bool:
        """Whether the library has said so."""
        return self._result() is not None

    def test(self) -> bool:
        """Asks the library whether it is over."""
        with self.lock:
            if not self.is_over():
                del self._tested[:]
                self._tested.extend(map(lib.fallsfs_test, (self.ticket,), (ctypes.byref(self._is_tested),)))
            return self._note_end()

    def wait(self) -> None:
        """Returns when it is over."""
        with self.lock:
            if not self.is_over():
                self._waited.extend(map(lib.fallsfs_wait, (self.ticket,)))
            self._note_end()

    def _note_end(self) -> bool:
        """Lets go of what only the library needs, and tells who awaits it; again, where that was interrupted. The lock
        is held."""
        result = self._result()
        if result is None:
            return False
        if result < 0 and self.error is None:
            self.error = error_of(result, self.path)
        _under_way.discard(self)
        self.handle = self.file = self.owner = None
        while self.awaiters:
            self.awaiters[0]()
            del self.awaiters[0]
        return True

    def settle(self) -> None:
        """Nobody wants its result: waits until the memory is no longer the library's."""
        if self.is_ours():
            if self.ticket.value is not None:
                self.wait()
            _under_way.discard(self)
            self.handle = self.file = self.end = self.keep = None

    def _settle_without(self, _ticket: weakref.ref[Ticket]) -> None:
        """The ticket has gone."""
        self.settle()


_under_way: set[Request] = set()


@atexit.register
def _settle_all() -> None:
    for request in list(_under_way):
        request.settle()


class Ticket:
    """A read or a write under way, to which the memory belongs until it is over. To let go of it waits for it."""

    def __init__(self, request: Request):
        self._request = request
        self._result: Any = None

    def __repr__(self) -> str:
        return f"<fallsfs ticket of {self._request.path!r}, {'over' if self._request.handle is None else 'under way'}>"

    def _ours(self) -> Request:
        """Its request, which only the process that has begun it may ask about."""
        if not self._request.is_ours():
            raise PermissionError(
                errno.EPERM,
                "the ticket belongs to the process that this one was forked from: only that can wait for it",
                self._request.path,
            )
        return self._request

    @property
    def done(self) -> bool:
        """Whether it is over, well or not."""
        return self._ours().test()

    def wait(self) -> Any:
        """Waits until it is over: the array that was read, None of a write; raises its error, each time."""
        request = self._ours()
        request.wait()
        if request.error is not None:
            raise request.error
        with request.lock:
            if request.end is not None:
                self._result = request.end()
                request.end = request.keep = None
        return self._result

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done:
            yield from _Watch.of(self._request).add(self._request).__await__()
        return self.wait()


class _Watch:
    """Has a loop look at a descriptor as long as somebody awaits a request that it tells of."""

    _all: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, _Watch]] = weakref.WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop, request: Request):
        self._loop = loop
        self._poll_fd = request.poll_fd
        self._file = request.file  # whose number is nobody else's meanwhile
        self._fd = -1
        self._awaited: set[asyncio.Future[None]] = set()

    @classmethod
    def of(cls, request: Request) -> _Watch:
        loop = asyncio.get_running_loop()
        return cls._all.setdefault(loop, {}).get(request.poll_fd) or cls(loop, request)

    def add(self, request: Request) -> asyncio.Future[None]:
        over: asyncio.Future[None] = self._loop.create_future()
        with request.lock:
            if request.is_over():
                over.set_result(None)
            else:
                self._begin()
                self._awaited.add(over)
                request.awaiters.append(lambda: self._loop.call_soon_threadsafe(self._end, over))
        return over

    def _is_tickets(self) -> bool:
        """Whether the descriptor is one that the ticket alone has."""
        return self._poll_fd != self._file

    def _begin(self) -> None:
        """The request whose descriptor it is is under way."""
        if not self._awaited:
            # A ticket's own is closed when it is over, wherever that is noticed, and the number is another file's then.
            self._fd = os.dup(self._poll_fd) if self._is_tickets() else self._poll_fd
            self._loop.add_reader(self._fd, self._look)
            _Watch._all[self._loop][self._poll_fd] = self

    def _end(self, over: asyncio.Future[None]) -> None:
        if over not in self._awaited:
            return  # it was told before
        self._awaited.remove(over)
        if not self._awaited:
            self._loop.remove_reader(self._fd)
            if self._is_tickets():
                os.close(self._fd)
            _Watch._all[self._loop].pop(self._poll_fd, None)
        if not over.done():
            over.set_result(None)

    def _look(self) -> None:
        for request in list(_under_way):
            if request.poll_fd == self._poll_fd and request.is_ours():
                request.test()
