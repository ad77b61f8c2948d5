# SPDX-License-Identifier: MIT
"""Processes that read and write together, on a mount and off it."""
import gc
import os
import random
import signal
import threading
import types
import unittest

import fallsfs
import numpy as np
import places
from test_index import Model, random_index, random_value, same_bits


def counted(a):
    a[...] = np.arange(a.size).reshape(a.shape)
    return a


class Groups(places.Case):
    def test_each_rank_has_its_part(self):
        a = counted(fallsfs.create("a", (12, 10), "i4"))
        b = fallsfs.create("b", (12, 10), "i4")

        def work(team):
            out = fallsfs.empty((12 // team.size, 10), "i4")
            with team.group(a) as g:
                mine = g[:, team.rank :: team.size]
                g.read(np.s_[team.rank :: team.size], out=out)
            with team.group(b) as g:
                g[team.rank :: team.size] = -out
                return mine, g.stats["asked"]

        for rank, (mine, asked) in enumerate(fallsfs.run(work, 4)):
            self.assertEqual(mine.tolist(), np.arange(120).reshape(12, 10)[:, rank::4].tolist())
            self.assertEqual(asked, 480 if self.top == places.MOUNT else 120)  # elsewhere each is served alone
        self.assertEqual(b[...].tolist(), (-np.arange(120).reshape(12, 10)).tolist())

    def test_any_indexes_are_one_round(self):
        """Ranks that ask for nothing, for sections and for lists at once meet, and get what numpy has."""
        a = counted(fallsfs.create("a", (7, 5, 4), "i8"))
        content = a[...]

        def work(team):
            rng = random.Random(team.rank)
            with team.group(a) as g:
                for i in range(places.cases(60)):
                    index = random_index(rng, a.shape)
                    try:
                        want = content[index]
                    except IndexError:
                        index, want = np.s_[0:0], content[0:0]
                    if not same_bits(g[index], want):
                        return f"round {i}: {index!r}"
            return ""

        self.assertEqual(fallsfs.run(work, 3), [""] * 3)

    def test_any_indexes_are_written(self):
        """Each rank in rows of its own: what is there at the end is what every one of them wrote."""
        a = fallsfs.create("a", (3, 6, 5), "i8")

        def work(team):
            rng = random.Random(100 + team.rank)
            model = Model(np.zeros((6, 5), "i8"))
            with team.group(a) as g:
                for _ in range(places.cases(60)):
                    index = random_index(rng, (6, 5))
                    index = index if isinstance(index, tuple) else (index,)
                    try:
                        shape = np.shape(model.content[index])
                        alike = np.shape(np.zeros(a.shape, bool)[(slice(0, 1),) + index])
                    except IndexError:
                        shape, alike = None, None
                    if shape is None or alike != (1,) + shape:  # numpy has the points' axes elsewhere then
                        g[0:0] = 0
                        continue
                    value = random_value(rng, shape, np.dtype("i8"))
                    model.write(index, value)
                    g[(slice(team.rank, team.rank + 1),) + index] = value
            return model.content

        want = fallsfs.run(work, 3)
        self.assertTrue(same_bits(a[...], np.array(want)))
        self.assertTrue(a[...].any())

    def test_over_memory_and_without_dimensions(self):
        for shape in [(), (0, 3)]:
            a = fallsfs.create("a", shape, "f8", overwrite=True)

            def work(team):
                with team.group(a) as g:
                    g[...] = team.rank
                    return g[...]

            for got in fallsfs.run(work, 2):
                self.assertEqual(got.shape, shape)
            last = [1.0] if self.top == places.MOUNT else [0.0, 1.0]  # elsewhere any rank may be the last one
            self.assertIn(a[...].tolist(), last if shape == () else [[]])

    def test_tickets_of_a_group(self):
        a = counted(fallsfs.create("a", (8, 8), "i4"))

        def work(team):
            with team.group(a) as g:
                tickets = [g.iread(np.s_[team.rank :: 2, i]) for i in range(8)]
                read = [ticket.wait().tolist() for ticket in tickets]
                g.iwrite(np.s_[[team.rank, team.rank + 4, team.rank + 2]], team.rank).wait()
                return read

        for rank, read in enumerate(fallsfs.run(work, 2)):
            self.assertEqual(read, [[8 * j + i for j in range(rank, 8, 2)] for i in range(8)])
        self.assertEqual(a[:, 0].tolist(), [0, 1, 0, 1, 0, 1, 48, 56])

    def test_hints_and_what_is_none(self):
        a = fallsfs.create("a", (4, 4), "i4")
        with a.group(fallsfs.token(), 0, 1, timeout=None, domains="static", sieve="off", workers=1) as g:
            g[...] = 3
            self.assertEqual(int(g[...].sum()), 48)
        for wrong in [dict(domains="x"), dict(sieve=1)]:
            with self.assertRaises((ValueError, TypeError)):
                a.group(fallsfs.token(), 0, 1, **wrong)
        with self.assertRaises(ValueError):
            a.group(b"short", 0, 1)
        with self.assertRaisesRegex(OSError, "rank 3 of 2"):
            a.group(fallsfs.token(), 3, 2)
        g.leave()
        with self.assertRaisesRegex(ValueError, "left"):
            g[0]

    def test_numbers_are_whole_and_have_room(self):
        a = fallsfs.create("a", (4, 4), "i4")
        for error, words, rank, n, hints in [
            (ValueError, "rank is a number from 0", -1, 2, {}),
            (ValueError, "rank is", 2**32, 2, {}),
            (ValueError, "how many ranks", 0, 2**32 + 1, {}),
            (ValueError, "how many ranks", 0, 0, {}),
            (TypeError, "rank is a whole number", 0.0, 1, {}),
            (ValueError, "window", 0, 1, dict(window=-1)),
            (ValueError, "workers", 0, 1, dict(workers=2**32)),
            (ValueError, "timeout is more than 0 s", 0, 1, dict(timeout=0)),
            (ValueError, "timeout", 0, 1, dict(timeout=-5)),
            (ValueError, "timeout", 0, 1, dict(timeout=1e12)),
            (ValueError, "timeout", 0, 1, dict(timeout=float("nan"))),
            (TypeError, "timeout is a number of seconds", 0, 1, dict(timeout="5")),
        ]:
            with self.subTest(rank=rank, n=n, hints=hints), self.assertRaisesRegex(error, words):
                a.group(fallsfs.token(), rank, n, **hints)
        with self.assertRaisesRegex(TypeError, "a token is bytes"):
            a.group("x" * 16, 0, 1)
        with self.assertRaisesRegex(ValueError, "how many processes"):
            fallsfs.run(int, -1)

    def test_left_while_others_ask(self):
        """Their requests are answered, or told that it was left."""
        a = counted(fallsfs.create("a", (64, 64), "i4"))
        content = a[...]
        wrong = []

        def read(g):
            try:
                while (g[::2] == content[::2]).all():
                    pass
                wrong.append("other bytes")
            except ValueError as error:
                if "left" not in str(error):
                    wrong.append(str(error))

        for _ in range(places.cases(20)):
            g = a.group(fallsfs.token(), 0, 1)
            ticket = g.iread(np.s_[::3])
            thread = threading.Thread(target=read, args=(g,))
            thread.start()
            g.leave()
            thread.join()
            self.assertEqual(ticket.wait().tolist(), content[::3].tolist())
        self.assertEqual(wrong, [])

    def test_mpi_hands_the_token_round(self):
        a = counted(fallsfs.create("a", (4, 4), "i4"))
        said = []
        comm = types.SimpleNamespace(rank=0, size=1, bcast=lambda what, root: said.append(what) or what)
        with fallsfs.group_from_mpi(comm, a) as g:
            self.assertEqual(g[1].tolist(), [4, 5, 6, 7])
        self.assertEqual([len(token) for token in said], [16])


class GroupsOffTheMount(Groups):
    top = places.PLAIN


class OddError(Exception):
    """Made of two words, and pickled as one."""

    def __init__(self, first, second):
        super().__init__(first)


def fails_oddly(team):
    if team.rank == 1:
        raise OddError("odd", 2)


def returns_oddly(team):
    return OddError("odd", 2) if team.rank == 1 else None


class Failures(places.Case):
    def test_a_rank_that_dies_ends_it_for_the_others(self):
        a = fallsfs.create("a", (4, 4), "i4")

        def work(team):
            with team.group(a) as g:
                g[...]
                if team.rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                g[...]

        with self.assertRaisesRegex(fallsfs.RankError, "rank 1: the process was killed by SIGKILL"):
            fallsfs.run(work, 3)

    def test_the_others_are_told(self):
        a = fallsfs.create("a", (4, 4), "i4")

        def work(team):
            with team.group(a, timeout=None) as g:
                g[0:0]  # who leaves before another one has come is not known to that one
                if team.rank == 1:
                    return ""
                try:
                    g[...]
                except OSError as error:
                    return str(error)

        self.assertIn("rank 1 of 2 died, closed the file or left", fallsfs.run(work, 2)[0])

    def test_who_waits_for_one_that_failed_is_not_waited_for(self):
        a = fallsfs.create("a", (4, 4), "i4")

        def work(team):
            if team.rank == 1:
                raise ValueError("before it joined")
            with team.group(a, timeout=None) as g:
                g[...]

        with self.assertRaisesRegex(fallsfs.RankError, "rank 1: before it joined"):
            fallsfs.run(work, 3)

    def test_a_rank_that_does_not_come_is_a_timeout(self):
        a = fallsfs.create("a", (4, 4), "i4")
        with a.group(fallsfs.token(), 0, 2, timeout=1) as g:
            with self.assertRaisesRegex(TimeoutError, "rank 1 of 2 did not ask"):
                g[...]

    def test_an_error_is_told_with_its_place(self):
        def work(team, what):
            if team.rank == 2:
                raise what
            return team.rank

        with self.assertRaisesRegex(fallsfs.RankError, "(?s)rank 2: because.*in work") as caught:
            fallsfs.run(work, 3, ValueError("because"))
        self.assertIsInstance(caught.exception.__cause__, ValueError)
        with self.assertRaisesRegex(fallsfs.RankError, "cannot be sent"):
            fallsfs.run(lambda team: lambda: 0, 2)
        with self.assertRaisesRegex(fallsfs.RankError, "ended with 3"):
            fallsfs.run(lambda team: os._exit(3), 1)

    def test_an_error_that_cannot_be_unpickled_is_told(self):
        for work, words in [(fails_oddly, "odd"), (returns_oddly, "result cannot be unpickled")]:
            with self.assertRaisesRegex(fallsfs.RankError, f"(?s)rank 1: .*{words}") as caught:
                fallsfs.run(work, 2)
            self.assertEqual(caught.exception.rank, 1)
            self.assertIsInstance(caught.exception.__cause__, RuntimeError)

    def test_an_error_keeps_no_descriptors(self):
        def work(team):
            raise KeyError("x")

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        n = self.open_files()
        kept = []
        for _ in range(3):
            try:
                fallsfs.run(work, 2)
            except fallsfs.RankError as error:
                kept.append(error)
        self.assertEqual((self.open_files(), len(kept)), (n, 3))

    def test_a_group_is_not_inherited(self):
        a = fallsfs.create("a", (4, 4), "i4")
        with a.group(fallsfs.token(), 0, 1) as g:
            if (pid := os.fork()) == 0:
                try:
                    g[...]
                except PermissionError as error:
                    os._exit(0 if "belongs to another process" in str(error) else 2)
                os._exit(1)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            g[...] = 1
        self.assertEqual(int(a[...].sum()), 16)

    def test_a_child_that_forgets_it_leaves_nothing(self):
        a = fallsfs.create("a", (4, 4), "i4")
        g = a.group(fallsfs.token(), 0, 1)
        if (pid := os.fork()) == 0:
            del g
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(int(g[...].sum()), 0)
        g.leave()


def rows_of(team, a):
    with team.group(a) as g:
        return g[team.rank].tolist()


class Starts(places.Case):
    def test_processes_begun_anyhow(self):
        a = counted(fallsfs.create(os.path.join(self.dir, "a"), (3, 4), "i4"))
        for start in ["fork", "spawn"]:
            self.assertEqual(fallsfs.run(rows_of, 3, a, start=start), a[...].tolist())


if __name__ == "__main__":
    unittest.main()
