# SPDX-License-Identifier: MIT
"""Requests that are not waited for, alone: waited for later, asked about, awaited, let go."""
import asyncio
import gc
import os
import threading
import time
import unittest

import fallsfs
import numpy as np
import places


def counted(name="a", shape=(64, 64)):
    a = fallsfs.create(name, shape, "i4")
    a[...] = np.arange(a.size).reshape(shape)
    return a, a[...]


class Tickets(places.Case):
    def test_read_and_written(self):
        a, content = counted()
        rows = fallsfs.empty((32, 64), "i4")
        tickets = [(a.iread(index), content[index]) for index in
                   [np.s_[::2], np.s_[3, ::-1], np.s_[[5, 1, 1], :7], np.s_[...], np.s_[0:0], content % 3 == 0]]
        t = a.iread(np.s_[::2], out=rows)
        for ticket, want in tickets[::-1]:
            self.assertEqual(ticket.wait().tolist(), want.tolist())
            self.assertIs(ticket.wait(), ticket.wait())
        self.assertIs(t.wait(), rows)
        self.assertEqual(rows.tolist(), content[::2].tolist())
        writes = [a.iwrite(np.s_[i], -i) for i in range(64)] + [a.iwrite(np.s_[:, [3, 4, 60]], 7)]
        for write in writes[:64]:
            self.assertIsNone(write.wait())
        writes[64].wait()
        content[...] = -np.arange(64)[:, None]
        self.assertEqual(a[:, 5:60].tolist(), content[:, 5:60].tolist())

    def test_done_says_when(self):
        a, content = counted()
        ticket = a.iread(np.s_[:, 3])
        patience = time.monotonic() + 60
        while not ticket.done and time.monotonic() < patience:
            time.sleep(0.001)
        self.assertTrue(ticket.done)
        self.assertEqual(ticket.wait().tolist(), content[:, 3].tolist())
        self.assertIn("over", repr(ticket))

    def test_errors_come_with_the_ticket_each_time(self):
        counted()
        a = fallsfs.open("a", mode="r")
        with self.assertRaises(OSError):  # at once, or later
            ticket = a.iwrite(np.s_[0], 1)
            try:
                ticket.wait()
            except OSError as first:
                with self.assertRaises(OSError) as again:
                    ticket.wait()
                self.assertIs(again.exception, first)
                raise

    def test_awaited(self):
        a, content = counted()

        async def column(i):
            return (await a.iread(np.s_[:, i])).tolist()

        async def all_columns():
            return await asyncio.gather(*[column(i) for i in range(64)])

        self.assertEqual(asyncio.run(all_columns()), content.T.tolist())
        n = self.open_files()
        self.assertEqual(asyncio.run(all_columns()), content.T.tolist())
        self.assertEqual(self.open_files(), n)

    def test_a_loop_does_other_things_meanwhile(self):
        """Beside tickets that nobody awaits, which are over: the loop rests."""
        a, content = counted("a", (1024, 1024))

        async def main():
            forgotten = [a.iread(np.s_[i]) for i in range(4)]
            steps = 0
            ticket = a.iread(np.s_[:, ::2])

            async def count():
                nonlocal steps
                while not ticket.done:
                    steps += 1
                    await asyncio.sleep(0.0005)

            counting = asyncio.ensure_future(count())
            got, *_ = await asyncio.gather(ticket, counting)
            return got, [await t for t in forgotten]

        got, rows = asyncio.run(main())
        self.assertEqual(got.tolist(), content[:, ::2].tolist())
        self.assertEqual([row.tolist() for row in rows], content[:4].tolist())

    def test_waited_for_by_others_while_awaited(self):
        a, content = counted()

        async def main():
            ticket = a.iread()
            task = asyncio.ensure_future(self.await_it(ticket))
            await asyncio.sleep(0)
            thread = threading.Thread(target=ticket.wait)
            thread.start()
            got = await asyncio.wait_for(task, 60)
            thread.join()
            return got

        for _ in range(20):
            self.assertEqual(asyncio.run(main()).tolist(), content.tolist())

    @staticmethod
    async def await_it(ticket):
        return await ticket

    def test_cancelled_tasks_leave_the_ticket(self):
        a, content = counted()

        async def main():
            ticket = a.iread()
            task = asyncio.ensure_future(self.await_it(ticket))
            await asyncio.sleep(0)
            task.cancel()
            return await ticket

        for _ in range(20):
            self.assertEqual(asyncio.run(main()).tolist(), content.tolist())

    def test_let_go_it_is_waited_for(self):
        a, content = counted("a", (512, 512))
        gc.collect()
        n = self.open_files()
        for _ in range(20):
            a.iread(np.s_[:, ::2])
            a.iwrite(np.s_[1, ::2], 5)
        gc.collect()
        self.assertEqual(self.open_files(), n)
        self.assertEqual(a[1, ::2].tolist(), [5] * 256)

    def test_threads(self):
        a, content = counted()
        wrong = []

        def read(i):
            for j in range(30):
                row = (i * 7 + j) % 64
                if (a.iread(row).wait() != content[row]).any() or (a[:, row] != content[:, row]).any():
                    wrong.append((i, j))

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_childs_copy_is_no_ticket(self):
        a, content = counted()
        ticket = a.iread()
        if (pid := os.fork()) == 0:
            status = 1
            try:
                ticket.wait()
            except PermissionError as error:
                del ticket
                status = 0 if "belongs to" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(ticket.wait().tolist(), content.tolist())


class TicketsOffTheMount(Tickets):
    top = places.PLAIN


if __name__ == "__main__":
    unittest.main()
