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
