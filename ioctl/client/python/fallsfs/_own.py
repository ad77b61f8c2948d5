# SPDX-License-Identifier: MIT
"""Descriptors and handles of the library, each of which an object has that gives it back when it goes.

    a.close()    a lets go of its Descriptor ──┐
    thread 1     a[::2] has it until it ends ──┼──> the last of them closes it
    thread 2     a ticket has it, too ─────────┘

Who uses one has a reference to its object meanwhile, which is all that close() has to know: Python counts them. They
are made within single calls, so that a signal's handler that raises finds either nothing, or an object that has it.
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional


class Descriptor(int):
    """An open file's number, which is closed when nobody has this object any more.

    errors is where an error of that goes to; None: nobody asks.
    """

    errors: Optional[list[OSError]] = None

    def __del__(self) -> None:
        try:
            os.close(self)
        except OSError as error:
            if self.errors is None:
                raise
            self.errors.append(error)

    @classmethod
    def open(cls, path: str, flags: int, mode: int = 0o666) -> Descriptor:
        """As os.open. map makes the object in C: no handler runs between the file's opening and that."""
        return next(map(cls, map(os.open, (path,), (flags | os.O_CLOEXEC,), (mode,))))


class Handle(ctypes.c_void_p):
    """Where a function of the library puts a handle, which free gives back when nobody has this object any more.

    keep stays as long; ended is what free has said. A child that was forked frees nothing of its parent's.
    """

    def __init__(self, free: Callable[[Any], int], keep: Any):
        super().__init__()
        self.ended: list[int] = []
        self._free = free
        self._keep = keep
        self._pid = os.getpid()

    def is_inherited(self) -> bool:
        """Whether another process has made it, which forked this one."""
        return self._pid != os.getpid()

    def let_go(self) -> None:
        """What is kept is needed no longer."""
        self._keep = None

    def __del__(self) -> None:
        if self.value is not None and not self.is_inherited():
            self.ended.append(self._free(self))
