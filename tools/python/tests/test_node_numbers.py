# tools/python/tests/test_node_numbers.py - integers that are names of nodes or their numbers, and numbers that nobody has.
import numpy as np
import pytest

import unweave
from meaning import advised


def test_integers_that_are_names_are_so_in_a_plan(tmp_path):
    store = unweave.import_store(tmp_path / "s", np.array([[10, 11, 12], [11, 12, 13]]), np.eye(4), ids=[10, 11, 12, 13], ids_are="names")
    store.propagate(1)
    assert store.plan(requests=[("node", 12, "expires", "never")]).requests == store.plan(requests=["node 12"]).requests == 1
    assert store._lines([("node", 12)]) == ['node "12"']


def test_masks_choose_by_integers_that_are_names(pandas, tmp_path):
    store = unweave.import_store(tmp_path / "s", np.array([[10, 11, 12], [11, 12, 13]]), ids=[10, 11, 12, 13], ids_are="names")
    assert store._nodes(pandas.Series([True, False, True], index=[13, 11, 10])).tolist() == [3, 0]
    assert store._nodes(pandas.Series([True, False, True, False])).tolist() == [0, 2]


def test_numbers_that_a_store_gives_stay_numbers_where_integers_are_names(tmp_path):
    """They were taken for names, so that other nodes were removed than those of the split."""
    edges, x = np.array([[1, 2, 3, 4, 5], [2, 3, 4, 5, 0]]), np.eye(6, 3) * 0.5 + 0.05 * np.arange(6)[:, None]
    store = unweave.import_store(tmp_path / "s", edges, x, [0, 1, 2, 0, 1, 2], ids=[5, 4, 3, 2, 1, 0], ids_are="names", train=[5, 4, 3])
    store.propagate(rows="all")
    store.train("exact")
    rows = store.embeddings()
    assert np.array_equal(store.embeddings(store.embedded()), rows) and np.array_equal(store.predict(store.embedded()), store.predict())
    assert np.array_equal(store.embeddings(["5", "4"]), rows[:2])  # names
    assert all(np.array_equal(some, rows[ids]) for ids, some in store.batches(size=2, shuffle=1))
    assert all(np.array_equal(some, rows[ids]) for ids, some in store.batches(["0", "2"], size=2))
    other = unweave.import_store(tmp_path / "t", edges, x, [0, 1, 2, 0, 1, 2], ids=[5, 4, 3, 2, 1, 0], ids_are="names", train=store.splits.train)
    assert other.splits.train.tolist() == store.splits.train.tolist() == [0, 1, 2]
    with store.stream("exact") as stream:
        first = store.edges()[:1]
        assert stream.remove_edges(first).edges_removed == 1 and first.tolist()[0] not in store.edges().tolist()
        assert stream.remove_nodes(store.splits.train).nodes_removed == 3
    assert store.ids() == [None, None, None, "2", "1", "0"]


@pytest.fixture
def customers(tmp_path):
    """Customers 1 to 6, whose names are integers, at the numbers 0 to 5."""
    edges, x = np.array([[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]), np.eye(6, 3) * 0.5 + 0.05 * np.arange(6)[:, None]
    store = unweave.import_store(tmp_path / "s", edges, x, [0, 1, 2, 0, 1, 2], ids=np.arange(1, 7), ids_are="names", train=[2, 3, 4])
    store.propagate(1, rows="all")
    store.train("exact")
    return store


def test_integers_that_may_be_names_or_numbers_are_refused(pandas, customers):
    """Numbers that a store had given were names once pandas or a list had them: other customers were erased."""
    numbers, text = customers.splits.train, "may be the name of a node, or the number of another one"
    assert isinstance(numbers, unweave.NodeNumbers) and numbers.tolist() == [1, 2, 3]
    rows = customers.embeddings()
    mask = pandas.Series([True, False], index=[2, 3])
    with customers.stream("exact") as stream:
        for given in (numbers.tolist(), pandas.Series(numbers), np.concatenate([numbers, numbers[:1]]), np.flatnonzero([0, 1, 1]),
                      [numbers[0]]):
            for call in (customers.predict, customers.embeddings, stream.remove_nodes, stream.remove_features):
                with pytest.raises(unweave.UsageError, match=text) as caught:
                    call(given)
                positions = advised(caught, r"or (unweave\.Node.*\)) for", nodes=given, unweave=unweave)
                names = advised(caught, "give (.*) for names", nodes=given)
            assert np.array_equal(customers.embeddings(positions), rows[np.asarray(given)])
            assert np.array_equal(customers.embeddings(names), rows[np.asarray(given) - 1])
        for pairs in ([(1, 2)], np.array([[1, 2]]), (np.array([1]), np.array([2])), pandas.DataFrame({"u": [1], "v": [2]})):
            with pytest.raises(unweave.UsageError, match=text):
                stream.remove_edges(pairs)
        with pytest.raises(unweave.UsageError, match=text):
            customers.predict(mask)
        for one in (("node", 2), ("node", np.int64(2)), ("edge", 1, 2), ("node", 2, "id=A"), ("node", 2, "expires", "never"),
                    ("move-split", 2, "valid")):
            for batch in ([one], ["feature 6", one], [one, ("node", 0)]):
                with pytest.raises(unweave.UsageError, match='"([12])", or the number with its mark, "#\\1"'):
                    stream.send(batch)
        with pytest.raises(unweave.UsageError, match="may be the name"):
            customers.plan(requests=[("node", 2)])
        with pytest.raises(unweave.UsageError, match="no node has the name '0'.*NodeNumbers"):
            customers.predict([1, 0])
        assert customers._nodes([3, 6]).tolist() == [2, 5] and customers._nodes(["3"]).tolist() == [2]  # 6 is no number, 7 no name
        with pytest.raises(unweave.UsageError, match="no node has the name '7'"):
            customers.predict([6, 7])
        assert customers._nodes(pandas.Series([True] + [False] * 5, index=range(1, 7))).tolist() == [0]
        ends = (unweave.NodeNumbers([1]), unweave.NodeNumbers([2]))
        assert stream.remove_edges(ends).edges_removed == 1 and customers.edges().tolist() == [[0, 1], [2, 3], [3, 4], [4, 5]]
        stream.insert_edges(ends)
        assert stream.send([("node", "#5"), ("feature", 6), "node 1"]).statuses[0] == "applied"
        assert customers.ids() == [None, "2", "3", "4", "5", None]
    with pytest.raises(unweave.UsageError, match="numbers: elements of type float64"):
        unweave.NodeNumbers([0.5])


def test_edges_with_weights_are_inserted_at_their_numbers(tmp_path):
    store = unweave.import_store(tmp_path / "s", np.array([[1, 2], [2, 3]]), ids=[1, 2, 3, 4], ids_are="names", edge_weights=[1, 1],
                                 max_weight=9)
    with store.stream() as stream:
        assert stream.insert_edges(unweave.NodeNumbers([[0, 3]]), [5]).statuses == ["applied"]
    assert store.edges().tolist() == [[0, 1], [0, 3], [1, 2]]


def test_numbers_that_nobody_has_are_errors_where_nodes_are_removed(store, sample):
    with store.stream() as stream:
        for call, given in ((stream.remove_nodes, [3, 400]), (stream.remove_features, [-1]), (stream.remove_edges, [(3, 400)])):
            with pytest.raises(unweave.UsageError, match="no node has the number (400|-1); numbers are 0 to 399. Nothing was sent"):
                call(given)
        assert stream.remove_nodes([3]).statuses == ["applied"] and stream.remove_nodes([3]).statuses == ["empty-node"]
        assert stream.send([("node", 400)]).statuses == ["id-outside"]
    model = unweave.ForgettingClassifier(hops=1).fit(sample.x, sample.y, graph=sample.edge_index)
    for given in ({"nodes": [3, 999]}, {"features": [400]}, {"edges": [(3, 400)], "nodes": [3]}):
        with pytest.raises(unweave.UsageError, match="no node has the number (999|400); .*Nothing was forgotten"):
            model.forget(**given)
    assert model.store_.info().acknowledged == 0 and model.forgotten_.size == 0


def test_an_estimator_is_told_what_integers_are(tmp_path):
    edges, x, y = np.array([[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]), np.eye(6, 3) * 0.5, [0, 1, 0, 1, 0, 1]
    numbers = np.arange(1, 7)
    with pytest.raises(unweave.DataError, match="ids_are="):
        unweave.ForgettingClassifier(hops=1).fit(x, y, graph=edges, ids=numbers)
    for call in (lambda: unweave.ForgettingClassifier(hops=1).fit(x, y, graph=edges + 9, ids=numbers + 9),
                 lambda: unweave.import_store(tmp_path / "bad", edges + 9, x, ids=numbers + 9)):
        with pytest.raises(unweave.DataError, match='outside the graph.*give ids_are="names"'):
            call()
    model = unweave.ForgettingClassifier(hops=1).fit(x, y, graph=edges, ids=numbers, ids_are="names", train=[1, 2, 3, 4])
    assert model.store_.splits.train.tolist() == [0, 1, 2, 3]
    assert np.array_equal(model.predict(["1", "3"]), model.predict()[[0, 2]])
    with pytest.raises(unweave.UsageError, match="may be the name"):
        model.forget(nodes=[2])
    assert model.forget(nodes=["2"], edges=[(5, 6)]).applied == 2 and model.forgotten_.tolist() == [1] and model.store_.ids()[1] is None
    placed = unweave.ForgettingClassifier(hops=1, graph=edges, features=x).fit([1, 2, 6], [0, 1, 1], ids=numbers, ids_are="names")
    assert placed.store_.splits.train.tolist() == [0, 1, 5]


def test_edges_that_may_be_of_names_or_of_numbers_are_told_apart_as_they_were_given(pandas, tmp_path):
    """A list has no astype()."""
    every = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    for number, given in enumerate(([(1, 2)], [(1, 2), (2, 3)], [[1, 2], [2, 1]], [[1, 2], [2, 3], [3, 1]], [[1, 2, 3], [2, 3, 1]], np.array([[1, 2]]),
                                    np.array([[1, 2], [2, 1]]), ([1], [2]), ([1, 2], [2, 3]), (np.array([1, 2]), np.array([2, 3])),
                                    (pandas.Series([1, 2]), pandas.Series([2, 3])), ((1, 2), (2, 3), (3, 1)),
                                    pandas.DataFrame({"u": [1], "v": [2]}), pandas.DataFrame({"u": [1, 2], "v": [2, 1]}))):
        left = {}
        for meaning, pattern in (("names", "give (.*) for names"), ("numbers", "for names, or (.*) for numbers")):
            store = unweave.import_store(tmp_path / f"{number}.{meaning}", np.array(every).T + 1, ids=[1, 2, 3, 4], ids_are="names")
            with store.stream() as stream:
                with pytest.raises(unweave.UsageError, match="may be the name of a node, or the number of another one") as caught:
                    stream.remove_edges(given)
                stream.remove_edges(advised(caught, pattern, edges=given, unweave=unweave))
            left[meaning] = set(map(tuple, store.edges().tolist()))
        pairs = np.array(given)
        pairs = pairs.T if pairs.shape[1] != 2 or (isinstance(given, tuple) and len(given) == 2) else pairs
        for meaning, asked in (("numbers", pairs), ("names", pairs - 1)):
            assert left[meaning] == set(every) - {tuple(sorted(pair)) for pair in asked.tolist()}, (given, meaning)


def test_a_node_and_a_column_of_nodes_are_told_apart_as_they_were_given(customers):
    rows = customers.embeddings()
    with pytest.raises(unweave.UsageError, match="may be the name") as caught:
        customers.embeddings(3)
    assert np.array_equal(customers.embeddings(advised(caught, "give (.*) for names", nodes=3)), rows[[2]])
    assert np.array_equal(customers.embeddings(advised(caught, "names, or (.*) for numbers", nodes=3, unweave=unweave)), rows[[3]])
    edges, column = np.array([[1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]), [[1], [2], [5]]
    model = unweave.ForgettingClassifier(hops=1, graph=edges, features=np.eye(6, 3), ids=np.arange(1, 7), ids_are="names").fit([1, 2, 6], [0, 1, 1])
    for given in (column, np.array(column), [1, 2, 5]):
        with pytest.raises(unweave.UsageError, match="^X: . may be the name") as caught:
            model.predict_proba(given)
        said = model.predict_proba(advised(caught, "give (.*) for names", X=given))
        assert np.array_equal(said, model.predict_proba(["1", "2", "5"]))
        said = model.predict_proba(advised(caught, "names, or (.*) for numbers", X=given, unweave=unweave))
        assert np.array_equal(said, model.predict_proba(["2", "3", "6"]))
