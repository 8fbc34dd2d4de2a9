# tools/python/tests/test_adapters.py - PyG's FeatureStore and GraphStore, against stand-ins of their interface.
import numpy as np
import pytest

import unweave


def test_feature_store(store, sample):
    from unweave.pyg import FeatureStore

    features = FeatureStore(store)
    z = store.embeddings()
    assert {attr.attr_name for attr in features.get_all_tensor_attrs()} == {"x", "y"}
    assert features.get_tensor_size("node", "x") == (400, 12) and features.get_tensor_size("node", "y") == (400,)
    assert features.get_tensor_size("paper", "x") is None
    assert np.array_equal(features.get_tensor("node", "x", None), z)
    assert np.array_equal(features.get_tensor("node", "x", np.array([4, 2])), z[[4, 2]])
    assert np.array_equal(features.get_tensor("node", "x", slice(10, 13)), z[10:13])
    assert np.array_equal(features.get_tensor("node", "x", 5), z[[5]])
    assert np.array_equal(features.get_tensor("node", "x", sample.test), z[sample.test])
    assert np.array_equal(features.get_tensor("node", "y", None), sample.y)
    with pytest.raises(unweave.UsageError, match="stream"):
        features.put_tensor(z, "node", "x", None)


def test_graph_store(store, sample):
    from unweave.pyg import EDGE, GraphStore

    graph = GraphStore(store)
    dense = sample.adjacency() - np.eye(400)
    layouts = {attr.layout.value: attr for attr in graph.get_all_edge_attrs()}
    assert set(layouts) == {"coo", "csr", "csc"} and layouts["coo"].size == (400, 400)
    row, col = graph.get_edge_index(EDGE, "coo")
    assert np.all(np.diff(col) >= 0)
    for layout in layouts:
        first, second = graph.get_edge_index(EDGE, layout)
        if layout == "csr":
            first = np.repeat(np.arange(400), np.diff(first))
        if layout == "csc":
            second = np.repeat(np.arange(400), np.diff(second))
        made = np.zeros_like(dense)
        made[first, second] = 1
        assert np.array_equal(made, dense), layout
    with pytest.raises(KeyError):
        graph.get_edge_index(("a", "to", "b"), "coo")
