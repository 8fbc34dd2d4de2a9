# tools/python/tests/meaning.py - a graph with names, and the advice of an error, for the tests of what inputs mean.
import re

import numpy as np

PATH = np.array([[0, 1, 2], [1, 2, 3]])
NAMES = ["ann", "bob", "cid", "dan"]


def advised(error, pattern, **given):
    """What the error advises behind a word, as Python has it: a call or an index of what was given."""
    found = re.search(pattern, str(error.value))
    assert found, str(error.value)
    return eval(found[1], {"numpy": np, **given})  # noqa: S307
