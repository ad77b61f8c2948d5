# SPDX-License-Identifier: MIT
"""Indexes mean what they mean to numpy: random ones, read and assigned, on a mount and off it, beside numpy itself.

FALLSFS_SEED does a single array's again.
"""
import os
import random
import unittest

import fallsfs
import numpy as np
import places
from fallsfs import _pick, _plan, _points

TYPES = ["u1", "<i2", ">i4", "f8", "c16", "S3", "V5", [("a", "i4"), ("b", "f8")], "?"]
INDEXES_OF_AN_ARRAY = 40


def random_slice(rng, n):
    def bound():
        return rng.choice([None, rng.randint(-n - 2, n + 2)])

    return slice(bound(), bound(), rng.choice([None, 1, 1, 2, 3, -1, -2, n + 1, -n - 1]))


def random_integers(rng, n):
    if n == 0:
        return np.zeros(0, int)
    shape = rng.choice([(rng.randint(0, 6),), (rng.randint(1, 3), rng.randint(1, 3)), (1,), (rng.randint(0, 2), 1)])
    array = np.array([rng.randint(-n, n - 1) for _ in range(int(np.prod(shape)))], int).reshape(shape)
    if rng.random() < 0.2:
        array = np.sort(array % n, axis=None).reshape(shape)
    if rng.random() < 0.2:
        array = np.arange(n)[random_slice(rng, n)]
    return array.tolist() if rng.random() < 0.5 and array.size > 0 else array


def random_word(rng, shape):
    """A word, and how many axes it takes."""
    n = shape[0]
    kind = rng.random()
    if kind < 0.25:
        return (rng.randint(-n, n - 1) if n > 0 and rng.random() < 0.97 else rng.choice([n, -n - 1])), 1
    if kind < 0.6:
        return random_slice(rng, n), 1
    if kind < 0.8:
        return random_integers(rng, n), 1
    if kind < 0.9:
        k = rng.randint(1, min(2, len(shape)))
        mask = np.array([rng.random() < 0.4 for _ in range(int(np.prod(shape[:k])))], bool).reshape(shape[:k])
        return (mask.tolist() if k == 1 and n > 0 and rng.random() < 0.3 else mask), k
    if kind < 0.92 and n > 0:
        return np.array(rng.randrange(n)), 1
    if kind < 0.94 and n > 0:
        return np.int16(rng.randrange(n)), 1
    return slice(None), 1


def random_index(rng, shape):
    words, axis = [], 0
    n_taken = rng.randint(0, len(shape))
    while axis < n_taken:
        word, k = random_word(rng, shape[axis:])
        words.append(word)
        axis += k
    if axis < len(shape) and rng.random() < 0.4:  # the last axes instead of the first
        left = len(shape) - axis
        words.append(Ellipsis)
        tail = []
        for i in range(rng.randint(0, left)):
            tail.append(random_word(rng, shape[len(shape) - 1 - i : len(shape) - i])[0])
        words += tail[::-1]
    elif rng.random() < 0.1:
        words.insert(rng.randint(0, len(words)), Ellipsis)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        words.insert(rng.randint(0, len(words)), None)
    if rng.random() < 0.03:
        words.insert(rng.randint(0, len(words)), rng.random() < 0.5)
    if rng.random() < 0.05:
        mask = np.array([rng.random() < 0.3 for _ in range(int(np.prod(shape)))], bool).reshape(shape)
        return mask
    if len(words) == 1 and rng.random() < 0.7:
        return words[0]
    return tuple(words)


def random_bytes_array(rng, shape, dtype, order):
    bits = np.frombuffer(rng.randbytes(int(np.prod(shape)) * dtype.itemsize), np.uint8).copy()
    if dtype == bool:
        bits &= 1
    return np.ndarray(shape, dtype, bits.tobytes(), order=order).copy(order)


def random_value(rng, shape, dtype):
    """Something that can be assigned to a result of this shape."""
    shape = list(shape)
    while shape and rng.random() < 0.15:
        shape.pop(0)
    shape = [1 if rng.random() < 0.1 else n for n in shape]
    if rng.random() < 0.15:
        shape = [1] + shape
    value = random_bytes_array(rng, tuple(shape), dtype, rng.choice("CF"))
    if value.ndim == 0 and dtype.names is None:
        return value[()]
    return value[::-1] if value.ndim > 0 and rng.random() < 0.3 else value


def same_bits(a, b):
    """Numbers by themselves have the machine's byte order."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=") and a.tobytes() == b.astype(a.dtype).tobytes()


class Model:
    """An array of numpy, of which equal indexes in an assignment leave the last value."""

    def __init__(self, content):
        self.content = content
        self.places = np.arange(content.size).reshape(content.shape)

    def write(self, index, value):
        places = np.asarray(self.places[index])
        given = np.empty(places.shape, self.content.dtype)
        given[...] = value
        flat = self.content.reshape(-1).copy()
        for place, element in zip(places.reshape(-1), given.reshape(-1)):
            flat[place] = element
        self.content = flat.reshape(self.content.shape)


class Index(places.Case):
    def compare_read(self, rng, a, model, index):
        try:
            want = model.content[index]
        except (IndexError, DeprecationWarning):  # numpy's word for what will be an error
            with self.assertRaises(IndexError):
                a[index]
            return False
        if np.size(want) == 0:  # of which numpy may not have looked at every index
            try:
                a[index]
            except IndexError:
                return False
        if rng.random() < 0.1:
            out = np.empty(np.shape(want), a.dtype, rng.choice("CF"))
            self.assertIs(a.read(index, out=out), out)
            got, want = out, np.asarray(want, a.dtype)  # a single text has forgotten how long it could be
        else:
            got = a[index]
            self.assertIs(type(got), type(want))
        self.assertEqual(np.shape(got), np.shape(want))
        self.assertTrue(same_bits(got, want), "other elements")
        return True

    def compare_write(self, rng, a, model, index):
        shape = np.shape(model.places[index])
        value = random_value(rng, shape, a.dtype)
        model.write(index, value)
        a[index] = value
        self.assertTrue(same_bits(a[...], model.content), f"after = {value!r}")

    def compare(self, seed, n):
        rng = random.Random(seed)
        ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4])
        shape = tuple(rng.choice([rng.randint(1, 9), rng.randint(1, 4), 1] + [0] * (rng.random() < 0.05))
                      for _ in range(ndim))
        dtype = np.dtype(rng.choice(TYPES))
        order, header = rng.choice("CF"), rng.choice([0, 0, 7, 512])
        path = os.path.join(self.dir, f"a{seed}")
        _points.POINTS_AT_ONCE = rng.choice([1 << 18, 5, 1])  # so that some lists are several
        _points.PIECES_OF_A_SECTION = rng.choice([1000, 1000, 3])  # and some points sections
        with fallsfs.create(path, shape, dtype, order, header) as a:
            model = Model(random_bytes_array(rng, shape, dtype, "C"))
            a[...] = model.content
            for i in range(n):
                index = random_index(rng, shape)
                with self.subTest(seed=seed, i=i, shape=shape, dtype=dtype, order=order, index=index):
                    if self.compare_read(rng, a, model, index) and rng.random() < 0.5:
                        self.compare_write(rng, a, model, index)
        os.unlink(path)

    def test_random_indexes_are_numpys(self):
        self.addCleanup(setattr, _points, "POINTS_AT_ONCE", _points.POINTS_AT_ONCE)
        self.addCleanup(setattr, _points, "PIECES_OF_A_SECTION", _points.PIECES_OF_A_SECTION)
        if "FALLSFS_SEED" in os.environ:
            self.compare(int(os.environ["FALLSFS_SEED"]), INDEXES_OF_AN_ARRAY)
            return
        for seed in range(places.cases(10000) // INDEXES_OF_AN_ARRAY):
            self.compare(seed, INDEXES_OF_AN_ARRAY)


class IndexOffTheMount(Index):
    top = places.PLAIN


class Refused(places.Case):
    def test_what_is_no_index(self):
        a = fallsfs.create("a", (4, 5), "i4")
        for index in ["a", 1.5, [1.5], (0, 0, 0), (Ellipsis, Ellipsis), np.ones((3, 5), bool), [4], ([0, 1], [0, 1, 2]),
                      {}, slice(None, None, 0), np.ones(2), (0, -6)]:
            with self.subTest(index=index):
                try:
                    np.zeros((4, 5))[index]
                except (IndexError, ValueError, TypeError) as error:
                    with self.assertRaises((IndexError, type(error))):
                        a[index]
                else:
                    self.fail("numpy knows it")

    def test_values_that_do_not_fit(self):
        a = fallsfs.create("a", (4, 5), "i4")
        for index, value in [(np.s_[0], [1, 2]), (np.s_[[0, 1]], np.ones((3, 5))), (np.s_[:, [1, 2]], [1, 2, 3])]:
            with self.subTest(index=index), self.assertRaises(ValueError):
                a[index] = value
        self.assertFalse(np.any(a[...]))

    def test_out_that_does_not_fit(self):
        a = fallsfs.create("a", (4, 5), "i4")
        with self.assertRaises(ValueError):
            a.read(np.s_[:2], out=np.empty((2, 4), "i4"))
        with self.assertRaises(ValueError):
            a.read(np.s_[:2], out=np.empty((2, 5), "i8"))
        with self.assertRaises(ValueError):
            a.read(np.s_[:2], out=np.broadcast_to(np.int32(1), (2, 5)))
        with self.assertRaises(TypeError):
            a.read(np.s_[:2], out=[0] * 10)


class Fields(places.Case):
    """The name of a field, of arrays of structures."""

    RECORD = np.dtype({"names": ["a", "b", "far", "m"], "formats": ["i1", ">f8", "S3", ("<u2", (2, 3))],
                       "offsets": [0, 3, 14, 20], "itemsize": 40})  # fmt: skip

    def check_fields(self, shape, order, header):
        rng = np.random.default_rng(7)
        n = int(np.prod(shape))
        model = np.frombuffer(rng.bytes(n * 40), self.RECORD).reshape(shape, order=order).copy(order)
        a = fallsfs.create("a", shape, self.RECORD, order=order, header=header, overwrite=True)
        a[...] = model
        for name in self.RECORD.names:
            with self.subTest(shape=shape, order=order, name=name):
                found = a[name]
                self.assertEqual((found.dtype, found.shape), (model[name].dtype, model[name].shape))
                self.assertEqual(found.tobytes(), model[name].tobytes())
                out = np.empty(model[name].shape, model[name].dtype)
                self.assertIs(a.read(name, out=out), out)
                self.assertEqual(out.tobytes(), model[name].tobytes())
                self.assertEqual(a.iread(name).wait().tobytes(), model[name].tobytes())
                value = np.frombuffer(rng.bytes(out.nbytes), out.dtype).reshape(out.shape)
                a[name] = model[name] = value
                self.assertEqual(a[...].tobytes("A"), model.tobytes("A"))
        a["b"] = model["b"] = 2.5
        self.assertEqual(a[...].tobytes("A"), model.tobytes("A"))
        a.iwrite("a", 3).wait()
        model["a"] = 3
        with a.group(fallsfs.token(), 0, 1) as g:
            self.assertEqual(g["far"].tobytes(), model["far"].tobytes())
            g["far"] = model["far"] = b"xyz"
        self.assertEqual(a[...].tobytes("A"), model.tobytes("A"))  # between the fields, too

    def test_fields_are_those_of_numpy(self):
        for top in (places.MOUNT, places.PLAIN):
            os.chdir(top)
            for shape in [(7,), (3, 5), (2, 3, 4), (0, 3), ()]:
                for order in "CF":
                    for header in (0, 100):
                        self.check_fields(shape, order, header)
            os.unlink("a")

    def test_what_is_no_field(self):
        a = fallsfs.create("a", (4,), self.RECORD)
        with self.assertRaisesRegex(ValueError, "no field of name c"):
            a["c"]
        with self.assertRaisesRegex(IndexError, "stands alone"):
            a["a", 2]
        with self.assertRaises(IndexError):
            fallsfs.create("b", (4,), "f8")["a"]


class Requests(places.Case):
    """How much is asked for, not only what."""

    @staticmethod
    def parts(shape, index, order="C", single=False):
        return _pick.make_plan(_plan.Geometry(shape, order, 8), index, single).parts

    def test_slices_are_one_section(self):
        for index in [np.s_[10:, ::2, 3], np.s_[...], np.s_[::-2, None, 5], np.s_[..., -1]]:
            (part,) = self.parts((100, 100, 100), index)
            self.assertIsNone(part.pieces)

    def test_evenly_spaced_lists_are_one_section(self):
        every_third = np.zeros(100, bool)
        every_third[::3] = True
        for index in [np.s_[[1, 3, 5]], np.s_[:, [7, 6, 5, 5]], np.s_[every_third, :50], np.ix_([1, 2], [3, 7], [9])]:
            (part,) = self.parts((100, 100, 100), index)
            self.assertIsNone(part.pieces)

    def test_few_large_rows_are_a_section_each(self):
        parts = self.parts((1000, 10000), np.s_[[3, 10, 500], ::2])
        self.assertEqual([len(parts), parts[0].pieces], [2, None])

    def test_other_points_are_one_list(self):
        (part,) = self.parts((1000, 1000), np.s_[[1, 4, 9], [1, 2, 3]])
        self.assertEqual(part.pieces.tolist(), [[8008, 8], [32016, 8], [72024, 8]])
        (part,) = self.parts((1000, 1000), np.s_[[1, 2, 3, 500]], single=True)
        self.assertEqual(part.pieces.tolist(), [[8000, 24000], [4000000, 8000]])

    def test_a_point_is_asked_for_once(self):
        (part,) = self.parts((1000,), [5, 5, 5, 5, 900, 5, 17])
        self.assertEqual(int(part.pieces[:, 1].sum()), 24)


if __name__ == "__main__":
    unittest.main()
