"""Whole graphs: what Python gives is what plain loops over the nodes of each graph give."""
from types import SimpleNamespace

import numpy as np
import pytest

import unweave

SIZES = [3, 3, 4, 4, 5, 2]
GRAPHS = np.repeat(np.arange(6), SIZES)
LABELS = np.array([0, 1, 0, 1, 1, 0])
FIRST = np.concatenate([[0], np.cumsum(SIZES)])
EDGES = np.array([(FIRST[g] + i, FIRST[g] + (i + 1) % n) for g, n in enumerate(SIZES) for i in range(n - (g % 2))]).T
X = (np.arange(len(GRAPHS) * 3, dtype=np.float32).reshape(-1, 3) % 7) / 16


def store_in(folder, **changed):
    given = {"graphs": GRAPHS, "graph_labels": LABELS, "graph_train": [2, 0, 1, 3], "graph_test": np.array([False] * 4 + [True] * 2)} | changed
    store = unweave.import_store(folder, EDGES, X, **given)
    store.propagate(1, rho=1.0)
    return store


def pooled(store, numbers):
    """Means of rows, of whole numbers of 2^-24."""
    rows = store.embeddings().astype(float)
    return np.array([(np.rint(rows[GRAPHS == g] * 2.0**24).sum(axis=0) * 2.0**-24 / (GRAPHS == g).sum()) for g in numbers], np.float32)


def test_rows_predictions_and_requests(tmp_path):
    store = store_in(tmp_path / "s")
    info = store.info()
    assert (info.graphs, info.labelled_graphs, info.train, info.test, info.classes) == (6, 6, 4, 2, 2) and store.imported.graphs == 6
    report = store.train(pool="mean")
    assert report.certified and report.accuracy_test is not None
    np.testing.assert_array_equal(store.rows(), pooled(store, [0, 1, 2, 3]))
    said = store.predict()
    assert said.shape == (6,) and store.predict(graphs=[4, 1]).tolist() == [said[4], said[1]]
    assert store.predict_proba(graphs=np.array([True] + [False] * 5)).shape == (1, 2)
    for wrong in ({"nodes": [1]}, {"graphs": [6]}):
        with pytest.raises(unweave.UsageError):
            store.predict(**wrong)
    with store.stream("exact") as stream:
        outcome = stream.remove_graphs([1])
        assert (outcome.graphs_removed, outcome.applied) == (1, 1)
        outcome = stream.send([("set-graph-label", 0, 1), "move-graph-split 4 train", ("insert-node", 3, 0.5, 0, 0, "graph=1"), ("insert-edge", 0, 9)])
        assert (outcome.graph_labels_set, outcome.graph_splits_moved, outcome.nodes_inserted, outcome.rejected) == (1, 1, 1, 1)
        assert list(outcome.statuses) == ["applied"] * 3 + ["joins-graphs"]
    assert store.predict().shape == (6,) and store.verify().ok


def test_arrays_and_files_give_the_same_store(tmp_path):
    np.save(tmp_path / "g.npy", GRAPHS)
    np.savetxt(tmp_path / "y.txt", LABELS, "%d", header="labels")
    want = store_in(tmp_path / "a").info(digest=True).digest
    files = store_in(tmp_path / "b", graphs=tmp_path / "g.npy", graph_labels=tmp_path / "y.txt")
    assert files.info(digest=True).digest == want
    named = store_in(tmp_path / "c", graph_labels=np.array(["a", "b"])[LABELS])
    assert named.class_names() == ["a", "b"]
    named.train(pool="root")
    assert set(named.predict()) <= {"a", "b"}


@pytest.mark.parametrize("changed, match", [({"labels": np.zeros(21, int)}, "one of both"), ({"graphs": np.where(GRAPHS == 5, 4, GRAPHS) * 2}, "graph"),
                                            ({"graphs": None}, "graphs"), ({"graph_labels": None}, "graph_labels|graph_train|graph_split"),
                                            ({"graphs": np.arange(21) % 6}, "joins a node of graph"), ({"number_of_graphs": 7}, "number_of_graphs"),
                                            ({"directed": True}, "exclude each other"), ({"attribute_bound": 2}, "needs tu")])
def test_what_makes_no_sense_is_refused(tmp_path, changed, match):
    with pytest.raises(unweave.Error, match=match):
        store_in(tmp_path / "s", **changed)
    assert not (tmp_path / "s" / "manifest.json").exists()


def data_of_each():
    return [SimpleNamespace(edge_index=EDGES[:, GRAPHS[EDGES[0]] == g] - FIRST[g], x=X[GRAPHS == g], y=LABELS[g:g + 1], num_nodes=n)
            for g, n in enumerate(SIZES)]


def test_graphs_of_pyg(tmp_path):
    want = store_in(tmp_path / "want").info(digest=True).digest
    batch = SimpleNamespace(edge_index=EDGES, x=X, y=LABELS, batch=GRAPHS, num_nodes=len(GRAPHS), num_graphs=6)
    for name, graph in (("list", data_of_each()), ("batch", batch)):
        splits = {"graph_train": [0, 1, 2, 3], "graph_test": [4, 5]}
        store = unweave.import_store(tmp_path / name, graph, **splits)
        store.propagate(1, rho=1.0)
        assert store.info(digest=True).digest == want


def test_a_data_set_of_tudataset(tmp_path):
    for part, lines in {"A": (EDGES + 1).T, "graph_indicator": GRAPHS + 1, "graph_labels": LABELS * 2 - 1, "node_labels": np.arange(21) % 3 * 5,
                        "node_attributes": X}.items():
        np.savetxt(tmp_path / f"D_{part}.txt", lines, fmt="%g", delimiter=", ")
    rows = np.hstack([np.eye(3)[np.arange(21) % 3], X / 4])
    want = unweave.import_store(tmp_path / "a", EDGES, rows, graphs=GRAPHS, graph_labels=LABELS)
    store = unweave.import_store(tmp_path / "b", tu=tmp_path / "D", attribute_bound=4)
    assert store.info(digest=True).digest == want.info(digest=True).digest
    with pytest.raises(unweave.UsageError, match="attribute_bound"):
        unweave.import_store(tmp_path / "c", tu=tmp_path / "D")


@pytest.mark.parametrize("changed, match", [({"y": np.array([1, 0])}, "y of graph 2 has 2 values"), ({"y": None}, "graph 2 of the list has no y"),
                                            ({"x": None}, "graph 2 of the list has no x"), ({"x": X[:4, :2]}, "x of graph 2 has the shape"),
                                            ({"edge_index": np.array([[0, 4], [1, 5]])}, "edge_index of graph 2 names node 5"),
                                            ({"edge_index": np.array([[0], [-1]])}, "names node -1"),
                                            ({"edge_index": np.array([[0, 1, 2]])}, "edge_index of graph 2 has the shape")])
def test_graphs_of_pyg_that_do_not_fit_together_are_named(tmp_path, changed, match):
    several = data_of_each()
    for name, value in changed.items():
        setattr(several[2], name, value)
    with pytest.raises(unweave.UsageError, match=match):
        unweave.import_store(tmp_path / "s", several, graph_train=[0, 1])
    assert not (tmp_path / "s").exists()


def test_splits_and_numbers_of_graphs_are_not_those_of_nodes(tmp_path):
    with pytest.raises(unweave.UsageError, match="graph_train"):
        unweave.import_store(tmp_path / "s", data_of_each(), train=[0, 1])
    store = store_in(tmp_path / "t")
    store.train(pool="mean")
    for wrong in ([6], [-1]):
        with pytest.raises(unweave.UsageError, match="there is no graph .*the store has the graphs 0 to 5"):
            store.predict(graphs=wrong)
