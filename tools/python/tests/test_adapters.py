# tools/python/tests/test_adapters.py - PyG's FeatureStore and GraphStore, against stand-ins of their interface; the estimator.
import numpy as np
import pytest

import unweave
from unweave import ForgettingClassifier


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


def test_estimator_fits_predicts_and_forgets(sample):
    model = ForgettingClassifier(hops=2).fit(sample.x, sample.y, graph=sample.edge_index, train=sample.train)
    nodes = np.flatnonzero(sample.test)
    assert model.score(nodes, sample.y[nodes]) > 0.5
    assert model.predict_proba(nodes).shape == (100, 3) and np.allclose(model.predict_proba(nodes).sum(1), 1)
    outcome = model.forget(nodes=[3, 5], edges=list(map(tuple, model.store_.edges()[:2].tolist())), features=[9], purge=True)
    assert outcome.applied + outcome.rejected == 5 and outcome.model.certified
    coef, intercept = model.coef()
    x, y = sample.x.copy(), sample.y.copy()
    x[[3, 5, 9]], y[[3, 5, 9]] = 0, -1
    kept = model.store_.edges()
    anew = ForgettingClassifier(hops=2).fit(x, y, graph=kept, train=sample.train & (y >= 0))
    assert np.array_equal(anew.coef()[0], coef) and np.array_equal(anew.coef()[1], intercept)
    assert np.array_equal(np.argmax(model.decision_function(nodes), 1), model.predict(nodes))


def test_estimator_without_a_graph_and_its_parameters(sample):
    model = ForgettingClassifier(lam=1e-3, solver="newton", epsilon=2.0)
    assert repr(model) == "ForgettingClassifier(solver='newton', lam=0.001, epsilon=2.0)"
    assert model.set_params(hops=1).get_params()["hops"] == 1
    with pytest.raises(unweave.UsageError, match="gamma"):
        model.set_params(gamma=1)
    with pytest.raises(unweave.UsageError, match="fit"):
        model.predict([1])
    model.fit(sample.x, sample.y, train=sample.train)
    assert model.report_.certified and model.report_.claim == "T1"
    sklearn_base = pytest.importorskip("sklearn.base")
    assert sklearn_base.clone(model).get_params() == model.get_params()
