# SPDX-License-Identifier: MIT
"""Processes that ask together.

    fallsfs.run(work, 4)          work(team) in four processes; team.rank, team.size
      with team.group(a) as g:    all of them, of the same array, in the same order
          mine = g[team.rank::4]  the last one to ask starts the work; all are answered together

A group is made of a token that all of its processes have been given: run and group_from_mpi hand it round.
"""
from __future__ import annotations

import ctypes
import errno
import hashlib
import multiprocessing
import os
import pickle
import signal
import traceback
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Tuple, Union

from . import _c
from ._c import check, lib
from ._own import Descriptor, Handle
from ._sections import TOGETHER, Sections
from ._slabs import Halo, Slabs, walk_of

if TYPE_CHECKING:
    from ._array import Array

_DOMAINS = {"default": 0, "static": 1, "dynamic": 2, "cyclic": 3, "disk": 4}
_SIEVE = {"auto": 0, "on": 1, "off": 2}
_NO_TIMEOUT = 0xFFFFFFFF
_MOST_RANKS = (1 << 32) - 1
_MOST_PROCESSES = 1 << 22  # that Linux has


def token() -> bytes:
    """What a group is found by: 16 random bytes, made by one process and given to the others.

    >>> len(fallsfs.token())
    16
    """
    return _c.new_token()


def _word(words: dict[str, int], word: str, what: str) -> int:
    if word not in words:
        raise ValueError(f"{what} {word!r} is not possible: it is one of {', '.join(words)}")
    return words[word]


def _milliseconds(timeout: Optional[float]) -> int:
    if timeout is None:
        return _NO_TIMEOUT
    if not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, or None, and {timeout!r} is neither")
    if not 0 < timeout < _NO_TIMEOUT / 1000 - 1:
        raise ValueError(f"timeout is more than 0 s and less than {_NO_TIMEOUT // 1000} s, or None, and not {timeout}")
    return max(round(timeout * 1000), 1)


class Group(Sections):
    """A rank of a group, as Array.group gives it: read, write, iread, iwrite and g[...], of all ranks at once.

    Every rank makes the same calls in the same order, each for what it wants; nothing at all, g[0:0], is a call, too.
    Of ranks that write the same elements, the highest stays. A rank that dies or leaves ends the group for the others.
    """

    _calls = TOGETHER
    _asks_once = True

    def __init__(
        self,
        array: Array,
        token: bytes,
        rank: int,
        n: int,
        timeout: Optional[float] = 30,
        window: int = 0,
        workers: int = 0,
        domains: str = "default",
        sieve: str = "auto",
    ):
        if not isinstance(token, bytes):
            raise TypeError(f"a token is bytes, and {token!r} is none: fallsfs.token() makes one")
        if len(token) != 16:
            raise ValueError("a token has 16 bytes: fallsfs.token() makes one")
        self.rank = _c.number(rank, "rank", 0, _MOST_RANKS - 1)
        self.size = _c.number(n, "n, how many ranks there are,", 1, _MOST_RANKS)
        self.path = array.path
        self.dtype = array.dtype
        self._geometry = array._geometry
        self._c_array = array._c_array
        hints = _c.Hints(
            _word(_DOMAINS, domains, "domains"),
            _word(_SIEVE, sieve, "sieve"),
            _c.number(window, "window", 0, (1 << 64) - 1),
            _c.number(workers, "workers", 0, (1 << 32) - 1),
            _milliseconds(timeout),
        )
        file = array.reopen()
        handle = Handle(lib.fallsfs_leave, file)
        result = lib.fallsfs_join(file, token, self.rank, self.size, ctypes.byref(hints), ctypes.byref(handle))
        check(result, self.path)
        self._file: Optional[Descriptor] = file
        self._group: Optional[Handle] = handle

    def __repr__(self) -> str:
        return f"<fallsfs group of {self.path!r}, rank {self.rank} of {self.size}>"

    def _handle(self) -> Handle:
        if self._group is None:
            raise ValueError(f"{self.path}: the group was left")
        return self._group

    def _descriptor(self) -> Descriptor:
        if self._file is None:
            raise ValueError(f"{self.path}: the group was left")
        return self._file

    @property
    def stats(self) -> dict[str, int]:
        """What the last request of all ranks did, see fallsfs_stats(3); staged: bytes that this process copied.

        >>> a = fallsfs.create("stats", (4, 6), "i4")
        >>> with a.group(fallsfs.token(), rank=0, n=1) as g:
        ...     g[...] = 1
        ...     g.stats["asked"]
        96
        """
        stats, staged = _c.Stats(), ctypes.c_uint64()
        check(lib.fallsfs_stats(self._handle(), ctypes.byref(stats), ctypes.byref(staged)), self.path)
        names = [name for name, *_ in _c.Stats._fields_ if name not in ("version", "culprit")]
        told = {name: getattr(stats, name) for name in names if "reserved" not in name}
        return {**told, "staged": staged.value}

    def slabs(
        self,
        axis: int = 0,
        memory: Union[int, str] = "64M",
        halo: Halo = 0,
        prefetch: int = 1,
        write: bool = False,
        tile: Optional[Sequence[int]] = None,
        grid: Optional[Sequence[int]] = None,
    ) -> Slabs:
        """As Array.slabs, of this rank's block: of the axis, or of a grid of ranks. All ranks get as many slabs, some
        of which may be empty, and have memory of their own."""
        return walk_of([self], "r+" if write else "r", axis, memory, halo, prefetch, tile, grid, True)

    def leave(self) -> None:
        """The group is over for all, once the requests and tickets of this rank that are under way are."""
        handle, self._group, self._file = self._group, None, None
        if handle is not None:
            ended = handle.ended
            del handle
            check(min(ended, default=0), self.path)

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.leave()


class Team:
    """One of the processes of fallsfs.run."""

    def __init__(self, rank: int, size: int, seed: bytes):
        self.rank = rank
        self.size = size
        self._seed = seed
        self._n_groups = 0

    def token(self) -> bytes:
        """Another one each time, and the same one for all processes that have called it as often."""
        self._n_groups += 1
        return hashlib.sha256(self._seed + self._n_groups.to_bytes(8, "little")).digest()[:16]

    def group(self, array: Array, **hints: Any) -> Group:
        """This process' rank in a group of all of them. They make the same groups in the same order."""
        return array.group(self.token(), self.rank, self.size, **hints)


def _pickled(what: Any) -> bytes:
    return bytes(ForkingPickler.dumps(what))


def _work(pipe: Connection, function: Callable[..., Any], team: Team, arguments: Tuple[Any, ...]) -> None:
    """What a process does. It sends whether it went well, its error in words, and its result or its error itself."""
    words = ""
    went_well = False
    try:
        answer: Any = function(team, *arguments)
        went_well = True
    except BaseException as error:  # noqa: B902: the parent raises it
        answer = error
        words = f"{_said_by(error)}\n{traceback.format_exc()}"
    try:
        sent = _pickled(answer)
    except Exception as error:  # whatever its class makes of it
        went_well = False
        words = f"its result or error cannot be sent: {error}\n{words}"
        sent = _pickled(None)
    pipe.send((went_well, words))
    pipe.send_bytes(sent)
    pipe.close()


def _said_by(error: BaseException) -> str:
    """Its words, or what it is called if it has none."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _received(pipe: Connection) -> Tuple[Any, Optional[BaseException], str]:
    """What a process sends: its result, or its error, with words. EOFError: it has ended without a word."""
    went_well, words = pipe.recv()
    sent = pipe.recv_bytes()
    try:
        answer = pickle.loads(sent)
    except Exception as error:  # its class cannot be made of what was pickled
        lost = f"its {'result' if went_well else 'error'} cannot be unpickled here: {error}"
        return None, RuntimeError(lost), words if not went_well else lost
    if went_well:
        return answer, None, ""
    return None, answer if isinstance(answer, BaseException) else RuntimeError(words.split("\n")[0]), words


class RankError(RuntimeError):
    """A process of fallsfs.run failed; its error is the cause of this one. rank says which."""

    def __init__(self, rank: int, words: str):
        super().__init__(f"rank {rank}: {words}")
        self.rank = rank


def run(function: Callable[..., Any], n: int, *arguments: Any, start: str = "fork") -> list[Any]:
    """Calls function(team, *arguments) in n processes at once and returns what they return, by rank.

    start is multiprocessing's way to begin processes; "fork" takes any function, "spawn" and "forkserver" those that
    can be pickled. An error is raised as RankError, of several the first that is not a group's about another rank; the
    processes that still run then are killed.

    >>> a = fallsfs.create("run", (8, 6), "i4")
    >>> def work(team, a):
    ...     with team.group(a) as g:
    ...         g[team.rank::team.size] = team.rank
    ...         return int(g[:, 0].sum())
    >>> fallsfs.run(work, 4, a)
    [12, 12, 12, 12]
    """
    n = _c.number(n, "n, how many processes there are,", 0, _MOST_PROCESSES)
    context: Any = multiprocessing.get_context(start)
    seed = token()
    pipes: list[Connection] = []
    processes: list[Any] = []
    try:
        for rank in range(n):
            here, there = context.Pipe(duplex=False)
            pipes.append(here)
            words = (there, function, Team(rank, n, seed), arguments)
            processes.append(context.Process(target=_work, args=words, name=f"fallsfs-rank-{rank}"))
            try:
                processes[rank].start()
            finally:
                there.close()
        return _collect(pipes, processes)
    finally:
        for process in processes:
            _end(process)
        for pipe in pipes:
            pipe.close()


def _end(process: Any) -> None:
    """With its descriptors, however long an error keeps what has begun it."""
    if process.pid is not None:
        if process.is_alive():
            process.kill()
        process.join()
    process.close()


def _is_echo(error: BaseException) -> bool:
    """Whether a group has told it of another rank's end."""
    return isinstance(error, OSError) and error.errno in (errno.ECANCELED, errno.ETIMEDOUT)


def _collect(pipes: list[Connection], processes: list[Any]) -> list[Any]:
    """What all return. Once one has failed the others have a second to say why they have, too."""
    results: list[Any] = [None] * len(pipes)
    failed: list[RankError] = []
    left = dict(zip(pipes, range(len(pipes))))
    while left:
        ready = wait(list(left), 1 if failed else None)
        if not ready:
            break
        for pipe in ready:
            assert isinstance(pipe, Connection)
            rank = left.pop(pipe)
            try:
                results[rank], error, words = _received(pipe)
            except EOFError:
                processes[rank].join()
                words = _how_ended(processes[rank].exitcode)
                error = ChildProcessError(words)
            if error is not None:
                failed.append(RankError(rank, words.rstrip()))
                failed[-1].__cause__ = error
    if failed:
        raise min(failed, key=lambda one: _is_echo(one.__cause__ or one))
    return results


def _how_ended(code: int) -> str:
    return f"the process was killed by {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"


def group_from_mpi(comm: Any, array: Array, **hints: Any) -> Group:
    """A group of the processes of a communicator of mpi4py, with its ranks; all of them call this.

        with fallsfs.group_from_mpi(MPI.COMM_WORLD, a) as g:
            mine = g[comm.rank :: comm.size]
    """
    shared = comm.bcast(token() if comm.rank == 0 else None, root=0)
    return array.group(shared, comm.rank, comm.size, **hints)
