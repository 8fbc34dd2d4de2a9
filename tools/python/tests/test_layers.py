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


def test_kinds_of_edges_have_directions_each(tmp_path):
    kinds = {"cites": ARCS, "writes": np.array([[0, 2, 4], [1, 2, 5]])}
    store = unweave.import_store(tmp_path / "s", None, X, relations=kinds, subsets=[("cites", "writes")], directed=True)
    info = store.info()
    assert info.directed and info.relations == ["cites", "writes"] and info.subsets == [["cites", "writes"]]
    store.propagate(1, weights=[0, 1], rho=1.0)
    together = np.hstack([kinds["cites"], kinds["writes"]])
    np.testing.assert_allclose(store.embeddings(), np.hstack([means(arcs[::way]) for arcs in (kinds["cites"], kinds["writes"], together)
                                                              for way in (1, -1)]), atol=1e-6)
    with store.stream() as stream:
        stream.remove_edges([(1, 0), (2, 2)], relation="writes")  # there is 0 -> 1 alone
        stream.insert_edges([(5, 4)], relation="writes")
    assert sorted(map(tuple, store.edges(relation="writes").tolist())) == [(0, 1), (4, 5), (5, 4)]
    assert {tuple(arc) for arc in store.edges(relation="cites")} == set(map(tuple, ARCS.T))


def test_requests_keep_to_the_kinds_of_nodes_that_a_relation_joins(tmp_path):
    for directed in (False, True):
        store = unweave.import_store(tmp_path / str(directed), None, {"paper": PAPERS}, [1, 0, 1], relations={"writes": WRITES, "cites": CITES},
                                     types={"paper": 3, "author": 2}, ends={"writes": ("author", "paper")}, labels_of="paper", directed=directed)
        assert store.info().ends == [["author", "paper"], []]
        store.propagate(1, rho=1.0)
        with store.stream() as stream:
            outcome = stream.send([("insert-edge", 3, 1, "writes"), ("insert-edge", 0, 4, "writes"), ("insert-edge", 3, 4, "writes"),
                                   ("insert-edge", 3, 4, "cites")])
        back = "other-types" if directed else "applied"
        assert list(outcome.statuses) == ["applied", back, "other-types", "applied"]


def test_what_makes_no_sense_is_refused(tmp_path):
    for options in ({"max_weight": 3}, {"subsets": [("a", "b")]}, {"subsets": ["a"]}):
        with pytest.raises(unweave.UsageError):
            unweave.import_store(tmp_path / "s", None, X, relations={"a": ARCS}, **options)
    with pytest.raises(unweave.UsageError, match="subsets"):
        unweave.import_store(tmp_path / "s", ARCS, X, subsets=[("a", "b")])
    with pytest.raises(unweave.UsageError):
        unweave.import_store(tmp_path / "s", None, X, relations={"expires": ARCS})
    with pytest.raises(unweave.UsageError, match="relations and graph"):
        unweave.import_store(tmp_path / "s", ARCS, X, relations={"a": ARCS})
    assert not (tmp_path / "s").exists()


PAPERS = np.array([[0.5, 0.25], [0.0, -1.0], [0.125, 0.5]], dtype=np.float32)
WRITES = np.array([[0, 0, 1], [0, 2, 1]])  # author, paper
CITES = np.array([[0, 1], [1, 2]])


def digest_of(store):
    return store.info(digest=True).digest


def joint_store(path):
    """The store over numbers of all nodes: three papers, then two authors."""
    features = np.vstack([np.hstack([PAPERS, np.zeros((3, 1), np.float32)]), [[0, 0, 1], [0, 0, 0.5]]]).astype(np.float32)
    relations = {"writes": WRITES + np.array([[3], [0]]), "cites": CITES}
    return unweave.import_store(path, None, features, [1, 0, 1, -1, -1], relations=relations, train=[0, 2], nodes=5)


def test_kinds_of_nodes_have_ranges_and_columns_of_their_own(tmp_path):
    joint = joint_store(tmp_path / "joint")
    features = {"author": np.array([[1.0], [0.5]], dtype=np.float32), "paper": PAPERS}
    ends = {"writes": ("author", "paper"), "cites": ("paper", "paper")}
    relations = {"writes": WRITES, "cites": CITES}
    store = unweave.import_store(tmp_path / "typed", None, features, [1, 0, 1], relations=relations, train=[0, 2], ends=ends,
                                 types={"paper": 3, "author": 2}, labels_of="paper")
    assert digest_of(store) == digest_of(joint)
    assert [(one.name, one.first, one.nodes) for one in store.info().types] == [("paper", 0, 3), ("author", 3, 2)]
    assert joint.info().types is None
    files = {name: tmp_path / f"{name}.npy" for name in features}
    for name, path in files.items():
        np.save(path, features[name])
    again = unweave.import_store(tmp_path / "files", None, files, [1, 0, 1], relations=relations, train=[0, 2], ends=ends,
                                 types={"paper": 3, "author": 2}, labels_of="paper")
    assert digest_of(again) == digest_of(joint)


class Kind:
    """Stands in for what a heterogeneous graph of PyG holds of one kind."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


class Hetero(dict):
    node_types = ["author", "paper"]
    edge_types = [("author", "writes", "paper"), ("paper", "cites", "paper")]


def hetero():
    return Hetero({"author": Kind(x=np.array([[1.0], [0.5]], dtype=np.float32), num_nodes=2),
                   "paper": Kind(x=PAPERS, num_nodes=3, y=np.array([1, 0, 1]), train_mask=np.array([True, False, True])),
                   ("author", "writes", "paper"): Kind(edge_index=WRITES), ("paper", "cites", "paper"): Kind(edge_index=CITES)})


def test_a_heterogeneous_graph_of_pyg_is_its_kinds(tmp_path):
    store = unweave.import_store(tmp_path / "s", hetero())
    assert store.info().relations == ["writes", "cites"] and store.info().train == 2
    # PyG's order of kinds but for papers, which have labels: columns of papers come first.
    features = np.vstack([np.hstack([PAPERS, np.zeros((3, 1), np.float32)]), [[0, 0, 1], [0, 0, 0.5]]]).astype(np.float32)
    np.testing.assert_array_equal(np.sort(joint_store(tmp_path / "j").edges(relation="writes"), 0), np.sort(store.edges(relation="writes"), 0))
    assert digest_of(store) == digest_of(joint_store(tmp_path / "joint")) and features.shape == (5, 3)
    graph = hetero()
    graph["author"].y = np.array([0, 1])
    with pytest.raises(unweave.UsageError, match="models learn those of one"):
        unweave.import_store(tmp_path / "t", graph)


def test_kinds_of_nodes_that_make_no_sense_are_refused(tmp_path):
    relations, types = {"writes": WRITES, "cites": CITES}, {"paper": 3, "author": 2}
    refused = [({"types": {"paper": 0}}, "types"), ({"types": ["paper"]}, "types"), ({"types": types, "nodes": 6}, "nodes"),
               ({"labels_of": "paper"}, "types"), ({"ends": {"writes": ("author", "paper")}}, "types"),
               ({"types": types, "ends": {"writes": ("author", "book")}}, "book"), ({"types": types, "ends": {"write": ("author", "paper")}}, "writes, cites"),
               ({"types": types, "ends": {"writes": "paper"}}, "two kinds"), ({"types": types, "features": {"book": PAPERS}}, "book"),
               ({"types": types, "features": {"paper": PAPERS[:2]}}, "2 nodes"),
               ({"types": types, "ends": {"writes": ("paper", "author")}}, "none of the 2 of type author"),
               ({"types": types, "features": {"paper": sparse.csr_matrix(PAPERS)}}, "save_npz"), ({"features": {"paper": PAPERS}}, "a dict, where a list is wanted"),
               ({"types": types, "labels_of": "author", "labels": [0, 1, 1]}, "3 nodes")]
    for options, message in refused:
        with pytest.raises(ValueError, match=message):
            unweave.import_store(tmp_path / "s", None, relations=relations, **options)
        assert not (tmp_path / "s").exists()
