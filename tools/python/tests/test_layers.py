"""Edges with directions, and edges of several kinds: what Python gives is what a loop over the arcs gives."""
import numpy as np
import pytest
from scipy import sparse

import unweave

NODES = 6
ARCS = np.array([[0, 1, 2, 3, 3, 4, 1], [1, 2, 0, 3, 4, 0, 0]])  # a loop at 3; 0 -> 1 and 1 -> 0
X = np.arange(NODES * 2, dtype=np.float32).reshape(NODES, 2) / 32


def means(arcs):
    """For each node the mean over itself and where its arcs lead."""
    return np.array([np.mean([X[u], *X[arcs[1, arcs[0] == u]]], axis=0) for u in range(NODES)])


def test_rows_have_means_over_arcs_out_and_in(tmp_path):
    matrix = sparse.coo_matrix((np.ones(ARCS.shape[1]), (ARCS[0], ARCS[1])), shape=(NODES, NODES))
    for number, graph in enumerate((ARCS, ARCS.T.copy(), (ARCS[0], ARCS[1]), matrix)):
        store = unweave.import_store(tmp_path / str(number), graph, X, nodes=NODES, directed=True)
        assert store.imported.directed and store.imported.edges == ARCS.shape[1] and store.info().directed
        assert {tuple(arc) for arc in store.edges()} == set(map(tuple, ARCS.T))
        store.propagate(1, weights=[0, 1], rho=1.0)
        rows = store.embeddings()
        assert rows.shape == (NODES, 4)
        np.testing.assert_allclose(rows, np.hstack([means(ARCS), means(ARCS[::-1])]), atol=1e-6)


def test_requests_are_about_one_arc(tmp_path):
    store = unweave.import_store(tmp_path / "s", ARCS, X, directed=True)
    store.propagate(1, weights=[0, 1], rho=1.0)
    with store.stream() as stream:
        stream.remove_edges([(0, 1)])
        stream.insert_edges([(5, 2)])
    left = np.array([arc for arc in ARCS.T if tuple(arc) != (0, 1)] + [[5, 2]]).T
    assert {tuple(arc) for arc in store.edges()} == set(map(tuple, left.T))
    np.testing.assert_allclose(store.embeddings(), np.hstack([means(left), means(left[::-1])]), atol=1e-6)


def test_kinds_of_edges_have_blocks_of_their_own(tmp_path):
    kinds = {"cites": np.array([[0, 1, 2], [1, 2, 3]]), "writes": np.array([[0, 2], [1, 2], [4, 5]])}
    store = unweave.import_store(tmp_path / "s", None, X, relations=kinds, subsets=[("cites", "writes")])
    info = store.info()
    assert info.relations == ["cites", "writes"] and info.subsets == [["cites", "writes"]]
    both = {name: np.hstack([ends, ends[::-1]]) for name, ends in (("cites", kinds["cites"]), ("writes", kinds["writes"].T))}
    store.propagate(1, weights=[0, 1], rho=1.0)
    together = np.hstack([both["cites"], both["writes"]])
    np.testing.assert_allclose(store.embeddings(), np.hstack([means(both["cites"]), means(both["writes"]), means(together)]), atol=1e-6)
    assert store.edges(relation="writes").tolist() == [[0, 2], [1, 2], [4, 5]]
    with pytest.raises(unweave.UsageError, match="relation"):
        store.edges()
    with store.stream() as stream:
        stream.remove_edges([(1, 2)], relation="writes")
        stream.send([("insert-edge", 0, 3, "cites")])
        stream.send(["edge 0 3 cites"])
        with pytest.raises(unweave.UsageError, match="relation"):
            stream.remove_edges([(0, 1)])
    assert store.edges(relation="writes").tolist() == [[0, 2], [4, 5]] and store.edges(relation="cites").tolist() == [[0, 1], [1, 2], [2, 3]]
    with pytest.raises(unweave.UsageError, match="cites"), store.stream() as stream:
        stream.send(["edge 0 2"])


def test_what_makes_no_sense_is_refused(tmp_path):
    for options in ({"directed": True}, {"max_weight": 3}, {"subsets": [("a", "b")]}, {"subsets": ["a"]}):
        with pytest.raises(unweave.UsageError):
            unweave.import_store(tmp_path / "s", None, X, relations={"a": ARCS}, **options)
    with pytest.raises(unweave.UsageError, match="subsets"):
        unweave.import_store(tmp_path / "s", ARCS, X, subsets=[("a", "b")])
    with pytest.raises(unweave.UsageError):
        unweave.import_store(tmp_path / "s", None, X, relations={"expires": ARCS})
    with pytest.raises(unweave.UsageError, match="relations and graph"):
        unweave.import_store(tmp_path / "s", ARCS, X, relations={"a": ARCS})
    assert not (tmp_path / "s").exists()
