# tools/python/tests/test_names.py - stores whose nodes have names: imports, requests, what comes back.
import numpy as np
import pytest

import unweave
from meaning import advised


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
    assert list(outcome.statuses) == ["applied", "applied", "applied", "id-outside", "id-outside"]
    before = made.ids()
    with pytest.raises(unweave.UsageError, match="person-4"):
        made.numbers(["person-4"])  # before a purge as after it
    made.purge()
    left = made.ids()
    assert left == before
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
                                          ([1.5] * 400, unweave.UsageError), (["a\nb"] + [None] * 399, unweave.DataError)])
def test_names_that_do_not_fit_are_refused(sample, tmp_path, names, error):
    with pytest.raises(error):
        unweave.import_store(tmp_path / "x.store", sample.edge_index, sample.x, ids=names)
    assert not (tmp_path / "x.store").exists()


def test_names_stand_wherever_numbers_do(named, store):
    made, names = named
    made.train()
    store.train()
    asked = ["person-5", "person-3"]
    for kind in (list, np.array, lambda texts: np.array(texts, dtype=object), lambda texts: pytest.importorskip("pandas").Series(texts)):
        assert np.array_equal(made.predict(kind(asked)), store.predict([5, 3]))
        assert np.array_equal(made.embeddings(kind(asked)), store.embeddings([5, 3]))
    assert np.array_equal(made.predict_proba(asked), store.predict_proba([5, 3])) and np.array_equal(made.scores(asked), store.scores([5, 3]))
    assert np.array_equal(next(made.batches(asked))[1], store.embeddings([5, 3]))
    with pytest.raises(unweave.UsageError, match="no node has the name 'nobody'"):
        made.predict(["nobody"])
    with pytest.raises(unweave.UsageError, match="element 1 is 4 among texts"):
        made.predict(["person-3", 4])
    with pytest.raises(unweave.UsageError, match="numbers alone"):
        store.predict(["person-3"])
    with made.stream("exact") as stream, store.stream("exact") as other:
        stream.remove_nodes(["person-4"])
        stream.remove_features(["person-6"])
        stream.remove_edges([("person-0", names[int(made.edges()[0, 1])])])
        stream.insert_edges([("person-1", "person-2")])
        other.remove_nodes([4])
        other.remove_features([6])
        other.remove_edges([tuple(store.edges()[0])])
        other.insert_edges([(1, 2)])
    assert np.array_equal(made.embeddings(), store.embeddings())


def test_edges_and_splits_of_names(sample, store, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"person-{node}" for node in range(sample.nodes)]
    words = np.array(names)[sample.edge_index]
    graphs = [words, words.T, words.astype(object), (words[0], words[1].tolist()), list(map(tuple, words.T.tolist())), words.T.tolist(),
              pandas.DataFrame({"follower": words[0], "followee": words[1], "since": 2020})]
    for number, graph in enumerate(graphs):
        made = unweave.import_store(tmp_path / f"{number}.store", graph, sample.x, sample.y, ids=names, ignore_weights=True,
                                    train=[names[node] for node in np.flatnonzero(sample.train)], test=np.array(names)[sample.test])
        assert np.array_equal(made.edges(), store.edges()), number
        assert np.array_equal(made.splits.train, np.flatnonzero(sample.train)) and np.array_equal(made.splits.test, np.flatnonzero(sample.test))
    for graph, ids, said in ((words, names[:-1], "no node has the name 'person-399'"), (np.array([["a", "b", "b"], ["c", "d", "a"]]), None, "ids names all nodes"),
                             ((words[0], sample.edge_index[1]), names, "one column of names and one of numbers")):
        with pytest.raises(unweave.UsageError, match=said):
            unweave.import_store(tmp_path / "bad", graph, sample.x, ids=ids)
        assert not (tmp_path / "bad").exists()
    with pytest.raises(unweave.UsageError, match="the nodes have none"):
        unweave.import_store(tmp_path / "bad", sample.edge_index, sample.x, sample.y, train=names[:5])


def test_names_alone_are_the_nodes(tmp_path):
    made = unweave.import_store(tmp_path / "f.store", np.array([["pat", "kim"], ["kim", "ann"], ["kim", "lee"]]))
    assert made.ids() == ["ann", "kim", "lee", "pat"]
    assert made.edges().tolist() == [[0, 1], [1, 2], [1, 3]]


def test_a_missing_value_is_no_name(pandas, tmp_path):
    """NumPy makes the text "nan" of it where a list of texts becomes an array, so that a person was called so."""
    path, three = np.array([[0, 1, 2], [1, 2, 3]]), ["Ann", "Bob", "Cyd"]
    nan, remedy = float("nan"), r"give (\[name if isinstance.*?\])"
    for number, ids in enumerate(([*three, nan], (*three, nan), [*three, np.float64(nan)], [*three, pandas.NA], [*three, pandas.NaT],
                                  np.array([*three, nan], object), pandas.Series([*three, nan]), pandas.Series([*three, None], dtype="string"),
                                  pandas.array([*three, None], dtype="string"), pandas.Categorical([*three, None]))):
        with pytest.raises(unweave.UsageError, match="^ids: (nan|<NA>|NaT) of node 3 is no name: a text is wanted, or None") as caught:
            unweave.import_store(tmp_path / "bad", path, ids=ids)
        assert caught.value.options == ["ids"] and not (tmp_path / "bad").exists()
        made = unweave.import_store(tmp_path / f"s{number}", path, ids=advised(caught, remedy, ids=ids))
        assert made.ids() == [*three, None]
    for wrong, said in (([*three, 3], r"3 of node 3 is no name.*give (\[str\(name\) for name in ids\])"), ([10, 11, 12, None], "10 of node 0"),
                        ([*three, True], "True of node 3"), ([*three, "\udcff"], "of node 3 is no name"), ([*three, b"\xff"], "of node 3 is no name"),
                        (pandas.array([10, 11, 12, None], dtype="Int64"), "10 of node 0"), ([three, [nan] * 3], "one name a node")):
        with pytest.raises(unweave.UsageError, match=f"^ids: .*{said}") as caught:
            unweave.import_store(tmp_path / "bad", path, ids=wrong)
        if "str(name)" in said:
            assert unweave.import_store(tmp_path / "t", path, ids=advised(caught, said, ids=wrong)).ids() == [*three, "3"]
    whole = pandas.array([10, 11, 12, 13], dtype="Int64")
    assert unweave.import_store(tmp_path / "w", path, ids=whole).ids() == ["10", "11", "12", "13"]
    assert unweave.import_store(tmp_path / "b", path, ids=[b"Ann", np.str_("Bob"), "", None]).ids() == ["Ann", "Bob", None, None]


def test_a_missing_value_is_no_word_of_a_request(pandas, tmp_path):
    """("set-label", 0, None) took the class whose name is "None"."""
    store = unweave.import_store(tmp_path / "s", np.array([[0, 1], [1, 2]]), np.eye(3), ["a", "None", "a"], classes=["None", "a"])
    with store.stream() as stream:
        for missing in (None, float("nan"), pandas.NA, pandas.NaT, np.datetime64("NaT")):
            with pytest.raises(unweave.UsageError, match='is a missing value, where one word is wanted; "none" takes|is no moment'):
                stream.send([("set-label", 0, missing)])
            with pytest.raises(unweave.UsageError, match="is a missing value, where one word is wanted$|is no moment$"):
                stream.send([("node", 0, "expires", missing)])
        assert stream.send([("set-label", 0, "none")]).applied == 1
    assert store.labels().tolist() == [None, "None", "a"]


@pytest.mark.parametrize("lost", ["None", "nan", "<NA>"])
def test_ends_that_missing_values_have_become_are_asked_about(tmp_path, lost):
    edges = [("ann", "bob"), ("bob", lost)]
    with pytest.raises(unweave.UsageError, match="may be the name of a node, or what a missing value"):
        unweave.import_store(tmp_path / "s", edges)
    assert unweave.import_store(tmp_path / "s", edges, ids=["ann", "bob", lost]).ids() == ["ann", "bob", lost]


def test_ends_whose_indexes_are_of_another_order(tmp_path):
    pandas = pytest.importorskip("pandas")
    u, v = pandas.Series([0, 1, 2]), pandas.Series([3, 4, 5], index=[2, 1, 0])
    with pytest.raises(unweave.UsageError, match=r"graph\[1\]: its index has the rows of graph\[0\] in another order"):
        unweave.import_store(tmp_path / "s", (u, v))
    assert unweave.import_store(tmp_path / "s", (u, v.loc[u.index])).edges().tolist() == [[0, 5], [1, 4], [2, 3]]


def test_a_forget_set_of_numbers_that_a_store_has_given(tmp_path):
    """Where integers are names, 0 is another node as a name than as a number."""
    for ids_are in ("names", None):
        given = {"ids": [3, 1, 2, 0, 5, 4], "ids_are": "names"} if ids_are else {"nodes": 6}
        made = unweave.import_store(tmp_path / f"{ids_are}", [(3, 1), (2, 0), (5, 4)], labels=[0, 1, 0, 1, 0, 1], train=[3] if ids_are else [0], **given)
        removed = unweave.ForgetSet("node", made.splits.train)
        with made.stream() as stream:
            assert stream.send(removed.requests()).applied == 1
        assert made.edges().tolist() == ([[2, 3], [4, 5]] if ids_are else [[1, 3], [4, 5]])
