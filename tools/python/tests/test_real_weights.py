# tools/python/tests/test_real_weights.py - real weights of edges: from arrays, matrices and graphs of other packages, and back; requests
# that change them; embeddings against dense references.
import types

import numpy as np
import pytest

import unweave

EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]])
WEIGHTS = np.array([0.35, 1.0, 2.5, 1 / 512, 7.25])
NODES = 5
UNIT = 2.0**-10


def weighted_edges(store):
    return {(int(u), int(v)): float(w) for (u, v), w in zip(store.edges(), store.edge_weights())}


def wanted():
    return {(min(u, v), max(u, v)): float(np.rint(w / UNIT) * UNIT) for (u, v), w in zip(EDGES.tolist(), WEIGHTS)}


@pytest.mark.parametrize("kind", ["array", "sparse", "pyg"])
def test_weights_come_as_multiples_of_the_unit(kind, tmp_path):
    graph, options = EDGES.T, {}
    if kind == "array":
        options = {"edge_weights": WEIGHTS}
    elif kind == "sparse":
        sparse = pytest.importorskip("scipy.sparse")
        graph = sparse.coo_matrix((WEIGHTS, EDGES.T), shape=(NODES, NODES)).tocsr()
    else:
        graph = types.SimpleNamespace(edge_index=EDGES.T, edge_weight=WEIGHTS, x=None, y=None, num_nodes=NODES)
    store = unweave.import_store(tmp_path / "s", graph, nodes=NODES, weights="unit=2^-10", **options)
    assert store.edge_weights().dtype == np.float64 and weighted_edges(store) == wanted()
    assert store.info().weight_unit == UNIT and store.info().self_weight == 1024


def test_what_contradicts_real_weights(tmp_path):
    for options in ({"weights": "unit=0.3"}, {"weights": "unit=2^-10", "max_weight": 9}, {"self_weight": 5}):
        with pytest.raises(unweave.UsageError):
            unweave.import_store(tmp_path / "s", EDGES, edge_weights=WEIGHTS, **options)
    with pytest.raises(unweave.DataError):
        unweave.import_store(tmp_path / "s", EDGES, edge_weights=WEIGHTS, weights="unit=1")


@pytest.mark.parametrize("kind", ["array", "sparse", "hetero"])
def test_edges_of_several_kinds_have_real_weights(kind, tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    kinds = {"a": (EDGES, WEIGHTS), "b": (EDGES[1:4], WEIGHTS[:3])}
    features = np.eye(NODES, 3)
    if kind == "array":
        options = {"relations": {name: edges for name, (edges, _) in kinds.items()},
                   "edge_weights": {name: weights for name, (_, weights) in kinds.items()}, "nodes": NODES}
    elif kind == "sparse":
        options = {"relations": {name: sparse.coo_matrix((weights, edges.T), shape=(NODES, NODES)) for name, (edges, weights) in kinds.items()}}
    else:
        triplets = {("node", name, "node"): types.SimpleNamespace(edge_index=edges.T, edge_weight=weights) for name, (edges, weights) in kinds.items()}
        whole = {"node": types.SimpleNamespace(num_nodes=NODES), **triplets}
        options = {"graph": type("Hetero", (), {"node_types": ["node"], "edge_types": list(triplets), "__getitem__": lambda _, key: whole[key]})()}
    subsets = [] if kind == "hetero" else [("a", "b")]
    store = unweave.import_store(tmp_path / "s", features=features, subsets=subsets, weights="unit=2^-10", **options)
    rounded = {name: np.rint(weights / UNIT) * UNIT for name, (_, weights) in kinds.items()}

    def dense():
        out = []
        for name in kinds:
            matrix = np.zeros((NODES, NODES))
            for (u, v), weight in zip(store.edges(relation=name), store.edge_weights(relation=name)):
                matrix[u, v] = matrix[v, u] = weight
            out.append(matrix)
        return out + [sum(out)] * len(subsets)

    def means():
        return np.hstack([(matrix + np.eye(NODES)) @ features / (matrix.sum(1) + 1)[:, None] for matrix in dense()])

    for name, (edges, _) in kinds.items():
        found = {tuple(sorted(map(int, edge))): weight for edge, weight in zip(store.edges(relation=name), store.edge_weights(relation=name))}
        assert found == {tuple(sorted(edge)): weight for edge, weight in zip(edges.tolist(), rounded[name])}
    store.propagate(1, weights=[0, 1], rho=1.0)
    np.testing.assert_allclose(store.embeddings(), means(), atol=1e-6)
    with store.stream() as stream:
        stream.insert_edges([(0, 4), (2, 4)], [0.5, 1.25], relation="b")
        assert list(stream.send([("set-weight", 0, 1, "a", 0.75), "edge 1 2 a"]).statuses) == ["applied", "applied"]
        with pytest.raises(unweave.UsageError, match="relation"):
            stream.insert_edges([(0, 2)], [0.5])
    assert dense()[1][2, 4] == 1.25 and dense()[0][0, 1] == 0.75 and dense()[0][1, 2] == 0
    np.testing.assert_allclose(store.embeddings(), means(), atol=1e-6)


def test_weights_of_several_kinds_are_real_and_of_kinds_that_there_are(tmp_path):
    for options, said in (({"max_weight": 9}, "unit=1"), ({"edge_weights": {"a": WEIGHTS}}, "unit=1"),
                          ({"edge_weights": {"b": WEIGHTS}, "weights": "unit=2^-10"}, "by the names of relations"),
                          ({"edge_weights": WEIGHTS, "weights": "unit=2^-10"}, "by the names of relations")):
        with pytest.raises(unweave.UsageError, match=said):
            unweave.import_store(tmp_path / "s", relations={"a": EDGES}, nodes=NODES, **options)


def test_edges_that_are_held_keep_their_weights(tmp_path):
    store = unweave.import_store(tmp_path / "s", EDGES, nodes=NODES, edge_weights=WEIGHTS, weights="unit=2^-10", pairs="valid=.4,test=.4")
    assert store.info().held_edges > 0 and weighted_edges(store) == wanted()
