# SPDX-License-Identifier: MIT
"""Handlers of signals that raise, as Ctrl-C's does, at any time: nothing is freed twice, and a request alone is lost.

Each is done in a process of its own, since what goes wrong may end it.
"""
import os
import random
import signal
import sys
import traceback
import unittest

import fallsfs
import numpy as np
import places
from fallsfs import _ticket


class Interrupt(Exception):
    pass


came = []


def interrupt(*_):
    came.append(True)
    raise Interrupt


class Interrupted(places.Case):
    def in_a_child(self, work):
        """Whether that goes well, without an error that Python could only ignore."""
        sys.stdout.flush()
        if (pid := os.fork()) == 0:
            status = 1
            try:
                ignored = []
                sys.unraisablehook = lambda what: ignored.append(what.exc_value)
                signal.signal(signal.SIGALRM, interrupt)
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
                # A handler may raise where an object is given back. Nothing else may be ignored.
                status = 0 if all(isinstance(error, Interrupt) for error in ignored) else 2
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)

    def interrupted(self, once, check=lambda: None):
        """Has it done again and again until a signal comes, and then all looked at."""
        rng = random.Random(1)

        def until_a_signal():
            """A function of its own: Python passes over a try around a loop where the loop turns back."""
            came.clear()
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.00005, 0.0006))
            while not came:
                once()

        def work():
            for _ in range(places.cases(150)):
                try:
                    until_a_signal()
                except Interrupt:
                    pass
                check()

        self.in_a_child(work)

    def setUp(self):
        super().setUp()
        self.a = fallsfs.create("a", (200, 80), "f8")
        self.content = np.arange(16000.0).reshape(200, 80)
        self.a[...] = self.content

    def check(self):
        if (self.a[...] != self.content).any():
            raise AssertionError("the file has changed")

    def test_tickets(self):
        kept = []

        def once():
            kept.append(self.a.iread(np.s_[::2]))
            if (self.a.iread(5).wait() != self.content[5]).any():
                raise AssertionError("other bytes were read")

        def check():
            """What was begun ends well, whatever was interrupted."""
            while kept:
                if (kept[-1].wait() != self.content[::2]).any():
                    raise AssertionError("other bytes were read")
                kept.pop()
            if _ticket._under_way:
                raise AssertionError("a request stays that nobody knows of")

        self.interrupted(once, check)

    def test_tickets_that_nobody_waits_for(self):
        def once():
            self.a.iread(np.s_[::3, ::2])
            ticket = self.a.iwrite(3, self.content[3])
            while not ticket.done:
                pass

        self.interrupted(once, self.check)

    def test_reads_and_writes(self):
        def once():
            self.a[::3, ::2] = self.content[::3, ::2]
            self.a[[5, 1, 9], [3, 3, 7]] = self.a[[5, 1, 9], [3, 3, 7]]

        self.interrupted(once, self.check)

    def test_walks(self):
        def once():
            for slab in self.a.slabs(memory="64K", write=True):
                slab.data[...] = self.content[slab.index]

        self.interrupted(once, self.check)

    def test_files_and_groups(self):
        def once():
            with fallsfs.open("a") as a, a.group(fallsfs.token(), 0, 1) as g:
                g[5]

        self.interrupted(once)

    def test_memory(self):
        def once():
            fallsfs.empty(1000)[:] = 1

        self.interrupted(once)


class InterruptedOffTheMount(Interrupted):
    top = places.PLAIN


if __name__ == "__main__":
    unittest.main()
