# SPDX-License-Identifier: MIT
"""What docstrings and the manual page show is what happens."""
import doctest
import importlib
import os
import pkgutil
import re
import unittest

import fallsfs
import numpy as np
import places

PAGE = os.path.join(os.path.dirname(__file__), "../../etc/man/fallsfs-python.7")
ROFF = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\e": "\\", r"\&": "", r"\(ti": "~", r"\(ha": "^"}


def examples_of(page):
    """The examples of a manual page, as they are read there, one after the other."""
    with open(page, encoding="utf-8") as file:
        parts = re.findall(r"^\.EX\n(.*?)^\.EE$", file.read(), re.MULTILINE | re.DOTALL)
    shown = [re.sub(r"\\(\(..|.)", lambda found: ROFF[found[0]], part) for part in parts]
    return "\n".join(part for part in shown if ">>>" in part)


class Examples(places.Case):
    def run_examples(self, examples, name):
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(examples, out=said.append)
        self.assertEqual(runner.failures, 0, f"{name}:\n{''.join(said)}")
        return runner.tries


class Docs(Examples):
    def test_docstrings(self):
        n = 0
        modules = [fallsfs] + [
            importlib.import_module(f"fallsfs.{found.name}") for found in pkgutil.iter_modules(fallsfs.__path__)
        ]
        for module in modules:
            for examples in doctest.DocTestFinder().find(module, extraglobs={"fallsfs": fallsfs, "np": np}):
                n += self.run_examples(examples, examples.name)
        self.assertGreater(n, 30)

    def test_every_name_is_explained(self):
        for name in fallsfs.__all__:
            thing = getattr(fallsfs, name)
            self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{member}")




class Page(Examples):
    def test_page(self):
        examples = doctest.DocTestParser().get_doctest(examples_of(PAGE), {}, "fallsfs-python.7", PAGE, 0)
        self.assertGreater(self.run_examples(examples, "fallsfs-python.7"), 20)


if __name__ == "__main__":
    unittest.main()
