# SPDX-License-Identifier: MIT
"""Arrays as objects: what they are made of, their files, layouts, views, copies in other processes."""
import copy
import errno
import gc
import multiprocessing
import os
import pathlib
import pickle
import threading
import unittest
from unittest import mock

import fallsfs
import numpy as np
import places
from fallsfs import _meta


def counted(shape, dtype="i4", order="C"):
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape, order=order)


def make(path, shape=(6, 8), dtype="i4", **how):
    a = fallsfs.create(path, shape, dtype, **how)
    a[...] = counted(shape, dtype)
    return a


class Opening(places.Case):
    def test_the_file_says_what_it_is(self):
        for dtype in ["f8", "<i2", ">u4", "c8", "?", "S5", "<U2", "M8[s]"]:
            for order in "CF":
                with self.subTest(dtype=dtype, order=order):
                    made = make("a", dtype=dtype, order=order, header=24, overwrite=True)
                    a = fallsfs.open("a")
                    self.assertEqual((a.shape, a.dtype, a.order, a.header), ((6, 8), np.dtype(dtype), order, 24))
                    self.assertEqual(a[...].tolist(), made[...].tolist())
                    self.assertEqual((a.ndim, a.size, a.nbytes, len(a)), (2, 48, 48 * a.dtype.itemsize, 6))

    def test_it_says_what_the_attribute_cannot(self):
        """Structures, sizes of 0 and arrays without dimensions, in .npy files and others."""
        pair = [("x", "i4"), ("y", ">f8", (2, 3)), ("ä", "S3")]
        types = [pair, np.dtype(pair, align=True), "V5", [("in", pair), ("n", "?")], "f8", "M8[25s]", "U1000000"]
        for name in ["a", "a.npy"]:
            for dtype in types:
                for shape in [(3,), (2, 3), (), (0, 4), (3, 0)]:
                    for order in "CF":
                        with self.subTest(name=name, dtype=dtype, shape=shape, order=order):
                            made = fallsfs.create(name, shape, dtype, order, overwrite=True, header=16)
                            if dtype == pair:
                                made["x"] = 7
                            a = fallsfs.open(name)
                            self.assertEqual((a.shape, a.dtype, a.header), (shape, np.dtype(dtype), made.header))
                            self.assertEqual(a.order if len(shape) > 1 and a.size > 0 else order, order)
                            self.assertEqual(a[...].tobytes(), made[...].tobytes())
                            if name.endswith(".npy"):
                                self.assertEqual(np.load(name).tobytes(), made[...].tobytes())

    def test_a_type_that_is_not_said_is_given(self):
        made = make("a", dtype=[("x", "i4"), ("y", "f8")])
        os.removexattr("a", "user.numpy")
        with self.assertRaisesRegex(ValueError, "12 bytes"):
            fallsfs.open("a")
        self.assertEqual(fallsfs.open("a", dtype=made.dtype).shape, (6, 8))
        os.setxattr("a", "user.numpy", b"what another program has written")
        with self.assertRaisesRegex(ValueError, "12 bytes"):
            fallsfs.open("a")

    def test_of_a_file_that_cannot_say_it_create_does(self):
        refusal = OSError(errno.ENOTSUP, "Operation not supported")
        with mock.patch("os.setxattr", side_effect=refusal):
            with self.assertWarnsRegex(UserWarning, "a: .* keeps no attributes.*shape, dtype"):
                fallsfs.create("a", (2, 3))
            fallsfs.create("b.npy", (), [("x", "i4")])
        self.assertEqual(fallsfs.open("b.npy").dtype.names, ("x",))
        overlapping = np.dtype({"names": ["x", "y"], "formats": ["i4", "i2"], "offsets": [0, 2]})
        with self.assertWarnsRegex(UserWarning, "c: .* no description"):
            fallsfs.create("c", (3,), overlapping)
        self.assertEqual(fallsfs.open("c", dtype=overlapping).shape, (3,))

    def test_an_attribute_counts_more_than_a_header_of_numpys(self):
        np.save("a.npy", np.zeros((3, 4), [("x", "i4"), ("y", "f8")]))
        self.assertEqual(fallsfs.open("a.npy").dtype.names, ("x", "y"))
        os.setxattr("a.npy", "user.falls.array", b"shape=3x4 elem=12 header=128")  # the same, but for the type
        self.assertEqual(fallsfs.open("a.npy").dtype.names, ("x", "y"))
        os.setxattr("a.npy", "user.falls.array", b"shape=6 type=f8 header=128")
        self.assertEqual((fallsfs.open("a.npy").shape, fallsfs.open("a.npy").dtype), ((6,), np.dtype("f8")))
        os.setxattr("a.npy", "user.falls.array", b"shape=12x1 elem=12 header=128")
        with self.assertRaisesRegex(ValueError, "12 bytes"):
            fallsfs.open("a.npy")

    def test_the_bytes_are_numpys(self):
        for order in "CF":
            a = make("a", order=order, header=16, overwrite=True)
            raw = np.fromfile("a", "i4", offset=16).reshape((6, 8), order=order)
            self.assertEqual(raw.tolist(), a[...].tolist())
            self.assertEqual(a[...].flags.f_contiguous, order == "F")

    def test_what_is_given_counts_more(self):
        make("a")
        a = fallsfs.open("a", shape=(4, 6), dtype="u2", order="F", header=8)
        self.assertEqual(a[...].tolist(), np.fromfile("a", "u2", 24, offset=8).reshape((4, 6), order="F").tolist())

    def test_of_a_plain_file_a_type_is_enough(self):
        counted(10, "f4").tofile("plain")
        self.assertEqual(fallsfs.open("plain", dtype="f4").shape, (10,))
        with self.assertRaisesRegex(ValueError, "does not say"):
            fallsfs.open("plain")

    def test_headers_of_numpy(self):
        for order in "CF":
            for shape in [(3, 4), (5,), (2, 0), ()]:
                content = np.asarray(counted(shape, "f8"), order=order)
                np.save("saved.npy", content)
                self.assertEqual(fallsfs.open("saved.npy", mode="r")[...].tolist(), content.tolist())
                make("made.npy", shape, "f8", order=order, overwrite=True)
                self.assertEqual(np.load("made.npy").tolist(), counted(shape, "f8").tolist())

    def test_what_cannot_be(self):
        make("a")
        for call in [
            lambda: fallsfs.open("a", mode="w"),
            lambda: fallsfs.open("a", order="X"),
            lambda: fallsfs.open("a", shape=(-1, 2), dtype="i4"),
            lambda: fallsfs.open("a", header=-1),
            lambda: fallsfs.open("a", dtype="f8"),
            lambda: fallsfs.open("a", shape=(1,) * 17, dtype="i4"),
        ]:
            with self.assertRaises(ValueError):
                call()
        for dtype in ["O", "S0", ("f8", (3,))]:
            with self.assertRaises(TypeError):
                fallsfs.create("b", (2,), dtype)
            self.assertFalse(os.path.exists("b"))
        for error, words, wrong in [
            (ValueError, "negative", dict(shape=(-1,))),
            (ValueError, "negative", dict(shape=(2,), header=-1)),
            (ValueError, "past byte", dict(shape=(2**40, 2**40))),
            (ValueError, "past byte", dict(shape=(2**70, 0))),
            (ValueError, "past byte", dict(shape=(2,), header=2**63)),
            (TypeError, "", dict(shape=(2,), header=1.5)),
            (TypeError, "layout is text", dict(shape=(2,), layout=3)),
        ]:
            with self.subTest(wrong=wrong), self.assertRaisesRegex(error, words):
                fallsfs.create("b", **wrong)
            self.assertFalse(os.path.exists("b"))
        with self.assertRaises(FileNotFoundError):
            fallsfs.open("none")
        with self.assertRaises(FileExistsError):
            fallsfs.create("a", (2,))

    def test_paths_of_any_kind(self):
        for path in [b"a", pathlib.Path("a"), "a"]:
            made = make(path, overwrite=True)
            self.assertEqual(made.path, "a")
            self.assertEqual(fallsfs.open(path)[...].tolist(), made[...].tolist())

    def test_files_that_hold_no_such_array(self):
        with open("seven", "wb") as file:
            file.write(bytes(7))
        with self.assertRaisesRegex(ValueError, "seven: .* no whole number .* of int32, but 1 and 3 bytes more"):
            fallsfs.open("seven", dtype="i4")
        self.assertEqual(fallsfs.open("seven", shape=(2,), dtype="i4")[...].tolist(), [0, 0])
        self.assertEqual(fallsfs.open("seven", dtype="i4", header=3).shape, (1,))
        np.save("objects.npy", np.array([None]))
        with self.assertRaisesRegex(ValueError, "objects.npy: .*objects in dtype"):
            fallsfs.open("objects.npy")

    def test_descriptors_are_given_back(self):
        gc.collect()
        n = self.open_files()
        for _ in range(3):
            with make("a", overwrite=True) as a:
                a.group(fallsfs.token(), 0, 1).leave()
            fallsfs.open("a")
        gc.collect()
        self.assertEqual(self.open_files(), n)


class OpeningOffTheMount(Opening):
    top = places.PLAIN


class Inheriting(places.Case):
    def test_what_a_file_says_counts_more_than_what_its_directory_does(self):
        os.setxattr(".", "user.falls.array", b"shape=2x2 type=i2")
        with open("plain", "wb") as file:
            file.write(bytes(8))
        self.assertEqual(fallsfs.open("plain").shape, (2, 2))
        for name, shape in [("a", ()), ("b", (0, 3)), ("c.npy", ()), ("d", (5,))]:
            fallsfs.create(name, shape, "f8").close()
            a = fallsfs.open(name)
            self.assertEqual((a.shape, a.dtype), (shape, np.dtype("f8")))


class Behaviour(places.Case):
    def test_numpys_functions_take_it(self):
        a = make("a")
        self.assertEqual(int(np.sum(a)), 48 * 47 // 2)
        self.assertEqual(np.asarray(a, dtype="f8").dtype, np.dtype("f8"))
        self.assertEqual([row.tolist() for row in a], counted((6, 8)).tolist())
        self.assertEqual(a.__array__(copy=True).tolist(), a[...].tolist())
        with self.assertRaises(ValueError):
            a.__array__(copy=False)

    def test_behind_the_end_are_zeros_and_writing_makes_it_longer(self):
        open("short", "wb").close()
        a = fallsfs.open("short", shape=(4, 4), dtype="i4")
        self.assertFalse(a[...].any())
        a[1, 1] = 5
        self.assertEqual(os.path.getsize("short"), 24)
        self.assertEqual(a[...].sum(), 5)

    def test_closed(self):
        a = make("a")
        a.close()
        a.close()
        for call in [lambda: a[0], a.flush, a.fileno, lambda: a.group(fallsfs.token(), 0, 1)]:
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_closed_while_others_read(self):
        """Each of their reads gives what is in the file, or says that the array is closed."""
        make("a", (256, 64))[...] = 1
        with open("other", "wb") as file:
            file.write(b"\xff" * 65536)
        wrong = []

        def read(a):
            try:
                while (a[::2] == 1).all() and (a[[3, 1, 200]] == 1).all() and (a.iread(5).wait() == 1).all():
                    pass
                wrong.append("bytes of another file")
            except ValueError as error:
                if "closed" not in str(error):
                    wrong.append(str(error))
            except Exception as error:
                wrong.append(repr(error))

        for _ in range(places.cases(40)):
            a = fallsfs.open("a")
            threads = [threading.Thread(target=read, args=(a,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            a.close()
            others = [open("other", "rb") for _ in range(3)]
            for thread in threads:
                thread.join()
            for other in others:
                other.close()
        self.assertEqual(wrong, [])

    def test_closed_with_requests_under_way(self):
        """Tickets and walks go on to their end, and the file is closed behind them."""
        content = make("a", (64, 64))[...]
        gc.collect()
        n = self.open_files()
        a = fallsfs.open("a")
        tickets = [a.iread(np.s_[i]) for i in range(64)] + [a.iwrite(np.s_[3], content[3])]
        walk = a.slabs(memory="8K")
        a.close()
        others = [os.open("a", os.O_RDONLY) for _ in range(3)]
        self.assertEqual([ticket.wait().tolist() for ticket in tickets[:64]], content.tolist())
        self.assertIsNone(tickets[64].wait())
        self.assertEqual([row for slab in walk for row in slab.data.tolist()], content.tolist())
        for other in others:
            os.close(other)
        del tickets, walk
        gc.collect()
        self.assertEqual(self.open_files(), n)

    def test_what_the_system_says_of_closing_is_told(self):
        a = make("a")
        os.close(a.fileno())
        with self.assertRaises(OSError):
            a.close()

    def test_read_only(self):
        make("a")
        a = fallsfs.open("a", mode="r")
        with self.assertRaises(OSError) as caught:
            a[0] = 1
        self.assertEqual(caught.exception.errno, errno.EBADF)
        self.assertIn("O_RDWR", str(caught.exception))
        self.assertIn("'a'", str(caught.exception))

    def test_pickled_it_is_opened_anew(self):
        a = make("a", order="F", header=8)
        os.chdir("/")
        for b in [pickle.loads(pickle.dumps(a)), copy.copy(a)]:
            self.assertNotEqual(b.fileno(), a.fileno())
            self.assertEqual(b[...].tolist(), a[...].tolist())
            self.assertEqual((b.order, b.header, b.mode), ("F", 8, "r+"))

    def test_in_another_process_begun_anyhow(self):
        a = fallsfs.create(os.path.join(self.dir, "a"), (6, 8), "i4")
        for i, start in enumerate(["fork", "spawn", "forkserver"]):
            with multiprocessing.get_context(start).Pool(1) as pool:
                pool.apply(a.write, (i, i + 1))
            self.assertEqual(a[i].tolist(), [i + 1] * 8)

    def test_memory_that_needs_no_copy(self):
        a = make("a")
        buffer = fallsfs.empty((3, 8), "i4")
        self.assertIs(a.read(np.s_[::2], out=buffer), buffer)
        self.assertEqual(buffer.tolist(), counted((6, 8))[::2].tolist())
        turned = fallsfs.empty((8, 6), "i4", order="F")
        self.assertTrue(turned.flags.f_contiguous)
        part = fallsfs.empty((4, 8), "i4")[1:3]
        a.read(np.s_[4:], out=part)
        self.assertEqual(part.tolist(), counted((6, 8))[4:].tolist())
        self.assertEqual(fallsfs.empty((0, 3)).size, 0)
        for huge in [(2**58,), (2**62, 2**62)]:
            with self.assertRaisesRegex(MemoryError, "no memory of [0-9]* bytes"):
                fallsfs.empty(huge)
        for wrong in [TypeError, "O"], [ValueError, (2, -1)]:
            with self.assertRaises(wrong[0]):
                fallsfs.empty(2 if wrong[1] == "O" else wrong[1], "O" if wrong[1] == "O" else "f8")

    def test_shared_memory_is_the_childs_too_and_given_back(self):
        buffer = fallsfs.empty(4, "i4")
        if (pid := os.fork()) == 0:
            buffer[1] = 7
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(buffer.tolist(), [0, 7, 0, 0])
        n = self.open_files(memory=True)
        view = fallsfs.empty(1 << 20, "u1")[5:9]
        self.assertEqual(self.open_files(memory=True), n + 1)
        gc.collect()
        view[:] = 1
        del view
        gc.collect()
        self.assertEqual(self.open_files(memory=True), n)

    def test_forked_both_go_on(self):
        a = make("a")
        if (pid := os.fork()) == 0:
            status = 1
            try:
                status = 0 if a[3].tolist() == counted((6, 8))[3].tolist() else 2
                a[4] = 44
            finally:
                os._exit(status)
        self.assertEqual(a[2].tolist(), counted((6, 8))[2].tolist())
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(a[4].tolist(), [44] * 8)


class BehaviourOffTheMount(Behaviour):
    top = places.PLAIN


class Layouts(places.Case):
    def test_created_with_one(self):
        a = make("a", layout="array(dist=(block,cyclic(2)), grid=2x2)", dtype="f8")
        self.assertTrue(a.layout.startswith("array(shape=6x8, elem=8, dist=(block,cyclic(2)), grid=2x2) on "), a.layout)
        a = make("b", layout="array(dist=(*,block), grid=1x2)", order="F")
        self.assertTrue(a.layout.startswith("array(shape=6x8, elem=4, order=col, dist=(*,block), grid=1x2)"), a.layout)
        with self.assertRaises(OSError) as caught:
            make("c", layout="strip(4K)")
        self.assertIn("column 1: expected", str(caught.exception))
        self.assertFalse(os.path.exists("c"))

    def test_set_it_migrates(self):
        a = make("a", (512, 512), layout="stripe(4K,2)")
        before = a[...]
        told = []
        a.migrate("stripe(8K,3)", progress=lambda done, total: told.append((done, total)))
        self.assertTrue(a.layout.startswith("stripe(8K,3)"), a.layout)
        self.assertTrue(told and all(total == a.nbytes for _, total in told), told)
        self.assertEqual(told[-1][0], a.nbytes)
        a.layout = "array(dist=(*,block), grid=1x2)"  # goes on, and is waited for
        a.migrate("array(dist=(*,block), grid=1x2)")
        self.assertIn("dist=(*,block)", a.layout)
        self.assertTrue((a[...] == before).all())
        with self.assertRaisesRegex(OSError, "column 1"):
            a.layout = "strip(4K)"
        with self.assertRaisesRegex(TypeError, "layout is text"):
            a.layout = 3

    def test_views(self):
        a = make("a")
        self.assertEqual((list(a.views), len(a.views)), ([], 0))
        text = "array(shape=6x8, elem=4, dist=(*,block), grid=1x2) element 1"
        a.views["right"] = text
        self.assertEqual(dict(a.views), {"right": text})
        right = np.fromfile(a.views.path("right"), "i4").reshape(6, 4)
        self.assertEqual(right.tolist(), a[:, 4:].tolist())
        with self.assertRaises(OSError):
            a.views["wrong"] = "array("
        with self.assertRaisesRegex(ValueError, "a view has a name"):
            a.views[""] = "one"
        with self.assertRaisesRegex(TypeError, "is text"):
            a.views["wrong"] = 3
        with self.assertRaises(KeyError):
            del a.views["left"]
        del a.views["right"]
        self.assertNotIn("right", a.views)

    def test_chunks(self):
        def chunks(layout, shape=(8192, 8192), elem=8, order="C"):
            return _meta.chunks_of(layout, shape, elem, order)

        self.assertEqual(chunks("array(shape=8192x8192, elem=8, dist=(block,block), grid=2x4) on d0-d3"), (4096, 2048))
        self.assertEqual(chunks("array(shape=8192x8192, elem=8, dist=(block,*), grid=2x1) on d0"), (2048, 8192))
        self.assertEqual(chunks("array(shape=8192x8192, elem=8, dist=(*,cyclic(16)), grid=1x2)"), (8192, 256))
        self.assertEqual(chunks("stripe(1M,4)"), (2048, 8192))
        self.assertEqual(chunks("stripe(1M,4)", order="F"), (8192, 2048))
        self.assertEqual(chunks(None, (10, 10)), (10, 10))
        self.assertEqual(chunks(None, (0, 10)), (1, 10))
        self.assertEqual(len(make("a").chunks), 2)

    def test_chunks_however_the_layout_is_written(self):
        for layout in [
            "array(dist=(*,block), grid=1x4)",
            "array(dist=(*,block),grid=1x4)",
            " array ( grid = 1 x 4 , dist = ( * , block ) )  # columns",
            "array(elem=8,grid=1x4,dist=(*,block),shape=8Kx8192)",
            "array(dist=(*,cyclic(2K)), order=row, grid=1x4)",
        ]:
            with self.subTest(layout=layout):
                a = fallsfs.create("a", (8192, 8192), "f8", layout=layout, overwrite=True)
                self.assertEqual(a.chunks, (8192, 2048))
        a = fallsfs.create("a", (8192, 8192), "f8", "F", layout="array(order=col, dist=(*,*))", overwrite=True)
        self.assertEqual(a.chunks, (8192, 2048))

    def test_off_the_mount_there_are_none(self):
        a = make(os.path.join(places.PLAIN, f"a{os.getpid()}"))
        self.addCleanup(os.unlink, a.path)
        for call in [lambda: a.layout, lambda: setattr(a, "layout", "one"), lambda: a.migrate("one"),
                     lambda: a.views.__setitem__("v", "one")]:
            with self.assertRaises(OSError) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.ENOTSUP)
            self.assertIn("no mounted fallsfs", str(caught.exception))
        self.assertEqual(list(a.views), [])
        self.assertEqual(a.chunks, (6, 8))


if __name__ == "__main__":
    unittest.main()
