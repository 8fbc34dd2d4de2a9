# tools/python/tests/conftest.py - a small graph with classes, and a dense reference of what a propagation computes.
import os
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "standins"))


class Sample:
    """400 nodes in three classes, whose features tell them apart a little."""

    nodes, classes = 400, 3

    def __init__(self):
        rng = np.random.default_rng(5)
        self.y = rng.integers(0, self.classes, self.nodes)
        drawn = rng.integers(0, self.nodes, (2, 3000))
        near = self.y[drawn[0]] == self.y[drawn[1]]
        self.edge_index = drawn[:, near | (rng.random(3000) < 0.3)]
        self.x = (rng.standard_normal((self.nodes, 12)) + 0.8 * np.eye(3, 12)[self.y]).astype(np.float32)
        self.x /= np.maximum(1, np.linalg.norm(self.x, axis=1, keepdims=True)) * 1.01
        self.train = np.arange(self.nodes) < 250
        self.test = np.arange(self.nodes) >= 300

    def adjacency(self, edge_index=None):
        dense = np.zeros((self.nodes, self.nodes))
        u, v = self.edge_index if edge_index is None else edge_index
        dense[u, v] = dense[v, u] = 1
        np.fill_diagonal(dense, 1)
        return dense

    def hop(self, levels, x=None, edge_index=None):
        """P^levels X by dense products in float64."""
        a = self.adjacency(edge_index)
        d = a.sum(1) ** -0.5
        p, out = d[:, None] * a * d[None, :], (self.x if x is None else x).astype(float)
        for _ in range(levels):
            out = p @ out
        return out


@pytest.fixture(scope="session")
def sample():
    return Sample()


@pytest.fixture
def store(sample, tmp_path):
    import unweave

    made = unweave.import_store(tmp_path / "g.store", sample.edge_index, sample.x, sample.y, train=sample.train, test=sample.test)
    made.propagate(hops=2, rows="all")
    return made


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def four(tmp_path):
    """A path of four nodes that have names."""
    import unweave
    from meaning import NAMES, PATH

    return unweave.import_store(tmp_path / "four", PATH, ids=NAMES)


@pytest.fixture(scope="session")
def program():
    """The command line of the same build; tests that compare with it are left out where there is none."""
    path = os.environ.get("UNWEAVE_BINARY")
    if not path:
        pytest.skip("UNWEAVE_BINARY names no program")
    return path
