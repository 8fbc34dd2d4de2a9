# tools/python/tests/test_names.py - stores whose nodes have names: imports, requests, what comes back.
import numpy as np
import pytest

import unweave


@pytest.fixture
def named(sample, tmp_path):
    names = [None if node == 7 else f"person-{node}" for node in range(sample.nodes)]
    made = unweave.import_store(tmp_path / "n.store", sample.edge_index, sample.x, sample.y, train=sample.train, test=sample.test,
                                ids=names)
    made.propagate(hops=2, rows="all")
    return made, names


def test_names_come_back_and_change_nothing_else(named, store):
    made, names = named
    assert made.imported.named == 399
    assert made.ids() == names
    assert store.ids() is None
    assert np.array_equal(made.embeddings(), store.embeddings())
    assert list(made.numbers(["person-3", "person-399"])) == [3, 399]
    with pytest.raises(unweave.UsageError, match="nobody"):
        made.numbers(["nobody"])


def test_requests_by_name_and_by_number(named, store):
    made, names = named
    made.train()
    with made.stream("exact") as stream:
        outcome = stream.send(["node person-4", ("feature", "person-9"), ("node", 7), ("node", "nobody"), "node person-4"])
    assert list(outcome.statuses) == ["applied", "applied", "applied", "id-outside", "repeated"]
    made.purge()
    left = made.ids()
    assert left[4] is None and left[9] == "person-9"
    with store.stream() as stream:
        assert list(stream.send(["node 4", ("feature", "9"), ("node", 7)]).statuses) == ["applied"] * 3
    assert np.array_equal(made.embeddings(), store.embeddings())


def test_integers_and_files_name_nodes(sample, tmp_path):
    numbers = np.arange(2**60, 2**60 + sample.nodes, dtype=np.uint64)
    made = unweave.import_store(tmp_path / "i.store", sample.edge_index, sample.x, ids=numbers)
    assert made.ids()[5] == str(2**60 + 5)
    (tmp_path / "ids.txt").write_text("a\nb\n\n")
    (tmp_path / "edges.txt").write_text("a b\n")
    files = unweave.import_store(tmp_path / "f.store", tmp_path / "edges.txt", ids=tmp_path / "ids.txt")
    assert files.ids() == ["a", "b", None]
    assert files.edges().tolist() == [[0, 1]]


@pytest.mark.parametrize("names, error", [(["a"] * 400, unweave.DataError), (["a", "b"], unweave.DataError),
                                          ([1.5] * 400, unweave.UsageError), (["a b"] + [None] * 399, unweave.DataError)])
def test_names_that_do_not_fit_are_refused(sample, tmp_path, names, error):
    with pytest.raises(error):
        unweave.import_store(tmp_path / "x.store", sample.edge_index, sample.x, ids=names)
    assert not (tmp_path / "x.store").exists()
