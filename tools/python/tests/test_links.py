"""Links: pairs of nodes from an import to predictions, as the command line has them."""
import numpy as np
import pytest

import unweave

NODES = 60
RANDOM = np.random.default_rng(4)
EDGES = np.array([(u, v) for u in range(NODES) for v in range(u + 1, NODES) if RANDOM.random() < (.3 if u % 2 == v % 2 else .04)])
X = RANDOM.random((NODES, 4), dtype=np.float32) + 3 * np.eye(4, dtype=np.float32)[np.arange(NODES) % 2]


def test_links_are_learnt_and_predicted(tmp_path):
    store = unweave.import_store(tmp_path / "s", EDGES, X, nodes=NODES, pairs={"valid": .2, "test": .2, "negatives": 2})
    assert store.imported.pairs == "valid=0.2,test=0.2,share=1,negatives=2"
    assert store.imported.edges + store.imported.held_edges == len(EDGES)
    assert np.array_equal(store.edges(), EDGES)
    store.propagate(rho=1.0)
    store.train(pair="hadamard,by=16", scale_rows="unit")
    pairs = store.pairs("test")
    present = set(map(tuple, EDGES.tolist()))
    assert all(((min(u, v), max(u, v)) in present) == bool(edge) for u, v, edge in pairs.tolist())
    said = store.predict_pairs(pairs[:, :2])
    assert np.array_equal(store.predict_pairs(pairs[:, :2].T), said)  # an edge_label_index
    assert said.shape == (len(pairs),) and said[pairs[:, 2] == 1].mean() > said[pairs[:, 2] == 0].mean()
    evaluation = store.evaluate()[0]
    assert evaluation.links["test"]["auc"] > .7
    audits = store.audit(canary="planted", trials=16)
    assert [(one.canary, one.refuted) for one in audits] == [("planted", False)]
    best, probabilities = store.predict_links([3, 8], top=5)
    assert best.shape == (10, 2) and set(best[:5, 0].tolist()) == {3} and np.all(np.diff(probabilities[:5]) <= 0)
    assert not any((min(u, v), max(u, v)) in present for u, v in best.tolist())
    with store.stream(solver="exact") as stream:
        outcome = stream.remove_edges(pairs[pairs[:, 2] == 1][:3, :2])
        assert outcome.edges_held == 3
    assert len(store.edges()) == len(EDGES) - 3


def test_links_with_directions(tmp_path):
    arcs = np.concatenate([EDGES, EDGES[::3, ::-1], [[7, 7]]])
    store = unweave.import_store(tmp_path / "s", arcs, X, nodes=NODES, directed=True, pairs={"valid": .2, "test": .2})
    assert store.imported.edges + store.imported.held_edges == len(arcs)
    present = set(map(tuple, arcs.tolist()))
    assert set(map(tuple, store.edges().tolist())) == present
    store.propagate(rho=1.0)
    store.train(pair="both,by=16", scale_rows="unit")
    pairs = store.pairs("test")
    assert all(((u, v) in present) == bool(edge) for u, v, edge in pairs.tolist())
    there, back, loop = store.predict_pairs([(2, 9), (9, 2), (4, 4)])
    assert there != back and 0 < loop < 1
    best, _ = store.predict_links([3], top=5)
    assert set(best[:, 0].tolist()) == {3} and not any((u, v) in present or u == v for u, v in best.tolist())
    u, v = next((u, v) for u, v, edge in pairs.tolist() if edge and (v, u) not in present)
    with store.stream(solver="exact") as stream:
        assert stream.send([("edge", v, u), ("edge", u, v)]).statuses == ["absent-edge", "applied"]
    assert len(store.edges()) == len(arcs) - 1
    assert store.verify().ok


def test_what_makes_no_sense_names_its_argument(tmp_path):
    for pairs in (7, {}, "", {"valid": "x"}, {"valid": True}, {"apart": 1}, "valid=2"):
        with pytest.raises(unweave.UsageError, match="pairs"):
            unweave.import_store(tmp_path / "t", EDGES, X, nodes=NODES, pairs=pairs)
    store = unweave.import_store(tmp_path / "s", EDGES, X, nodes=NODES, pairs="valid=.2,test=.2")
    store.propagate(rho=1.0)
    with pytest.raises(unweave.UsageError, match="pair"):
        store.train(pair=3)
    store.train(pair="hadamard,by=16", scale_rows="unit")
    for pairs in ([1, 2], np.zeros((3, 3), int), np.zeros((3, 2))):
        with pytest.raises(unweave.UsageError, match="pairs"):
            store.predict_pairs(pairs)
    with pytest.raises(unweave.UsageError, match="60"):
        store.predict_pairs([(0, 60)])
    with pytest.raises(unweave.UsageError, match="itself"):
        store.predict_pairs([(4, 4)])
    with pytest.raises(unweave.UsageError, match="top"):
        store.predict_links([1], top=0)
    with pytest.raises(unweave.UsageError, match=r"`store.predict_pairs\(\)` or `store.predict_links\(\)`"):
        store.predict()


def test_links_of_a_removed_node_are_told(tmp_path):
    store = unweave.import_store(tmp_path / "s", EDGES, X, nodes=NODES, pairs="valid=.2,test=.2")
    store.propagate(rho=1.0)
    store.train(pair="hadamard,by=16", scale_rows="unit")
    with store.stream(solver="exact") as stream:
        stream.remove_nodes([5])
    with pytest.warns(unweave.RemarkWarning, match="^node 5 has no edges, features and label"):
        store.predict_links([1, 5], top=2)
    with pytest.warns(unweave.RemarkWarning, match="^node 5 has no edges, features and label"):
        store.predict_pairs([(5, 1), (2, 5), (1, 5)])
