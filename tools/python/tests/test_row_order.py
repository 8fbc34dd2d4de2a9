# tools/python/tests/test_row_order.py - which row is whose: indexes of pandas, masks, and columns that number the rows.
import re

import numpy as np
import pytest

import unweave
from meaning import NAMES, PATH, advised


def test_rows_whose_index_numbers_them_otherwise(pandas, sample, tmp_path):
    x, y, train = pandas.DataFrame(sample.x), pandas.Series(sample.y), pandas.Series(sample.train)
    order = np.random.default_rng(3).permutation(400)
    want = unweave.import_store(tmp_path / "want", sample.edge_index, x, y, train=train).info(digest=True).digest
    plain = {"features": x, "labels": y, "train": train}
    for number, (argument, wrong) in enumerate((("features", x.iloc[order]), ("labels", y.iloc[order]), ("train", train.iloc[order]),
                                                ("labels", y.iloc[order].to_frame()), ("labels", y.map("c{}".format).iloc[order]), ("features", x.iloc[::-1]),
                                                ("labels", y.set_axis(np.arange(400.0)).iloc[order]))):
        with pytest.raises(unweave.UsageError, match=rf"^{argument}: its index numbers the rows .*; give {argument}.sort_index\(\)") as caught:
            unweave.import_store(tmp_path / "bad", sample.edge_index, **{**plain, argument: wrong})
        assert caught.value.options == [argument] and not (tmp_path / "bad").exists()
        if wrong.ndim == 1 and wrong.dtype == object:
            continue
        assert unweave.import_store(tmp_path / f"s{number}", sample.edge_index, **{**plain, argument: wrong.sort_index()}).info(digest=True).digest == want
    unweave.import_store(tmp_path / "positions", sample.edge_index, x.iloc[order].to_numpy(), y)


def test_an_index_that_is_not_that_of_the_rows(pandas, tmp_path):
    x, y, train = np.eye(5, 3) * 0.5, [0, 1, 0, 1, 1], np.array([True, False, True, False, True])
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    want = unweave.import_store(tmp_path / "want", edges, x, y, train=train).info(digest=True).digest
    dates, levels = pandas.date_range("2020-01-01", periods=5), pandas.MultiIndex.from_arrays([[0, 0, 1, 1, 2], [0, 1, 2, 3, 4]])
    rows = {"features": pandas.DataFrame(x), "labels": pandas.Series(y), "train": pandas.Series(train)}
    stores = 0
    for index in ([50, 10, 30, 20, 40], [4, 0, 7, 1, 2], [1, 1, 2, 3, 4], [1, 2, 3, 4, 5], list("edcba"), [0, 1, 2, 3, 9], [0.5, 1, 2, 3, 4],
                  dates, levels, pandas.RangeIndex(0, 10, 2), pandas.RangeIndex(5, 10)):
        for argument, value in rows.items():
            wrong = value.set_axis(index, axis=0)
            with pytest.raises(unweave.UsageError, match=f"^{argument}: its index has .* and row i is taken for that of node i") as caught:
                unweave.import_store(tmp_path / "bad", edges, **{**rows, argument: wrong})
            assert caught.value.options == [argument] and not (tmp_path / "bad").exists()
            mended = advised(caught, r"(\S+\.reset_index\(drop=True\)) where the rows are right", **{argument: wrong})
            if argument == "train":
                assert unweave.import_store(tmp_path / f"s{stores}", edges, **{**rows, argument: mended}).info(digest=True).digest == want
                stores += 1
            if "ids=" in str(caught.value) and isinstance(index, list) and isinstance(index[0], str):
                ids = advised(caught, r"ids=(\S+\)) where it has the names", **{argument: wrong})
                assert unweave.import_store(tmp_path / f"{argument}.s", edges, **{**rows, argument: wrong}, ids=ids).ids() == index
    unweave.import_store(tmp_path / "same", edges, rows["features"].set_axis(np.arange(5), axis=0), rows["labels"].set_axis(np.arange(5.0)))


def test_rows_by_an_index_of_numbers(pandas, store, tmp_path):
    """Rows that were filtered, or that stand in any order, are those of the numbers in their index, or the first ones."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    frame = pandas.DataFrame({"x": [0.5, 0.25, 1.0, 0.125, 0.75], "y": [0, 1, 0, 1, 1], "train": [True, False, True, True, False]})
    some = frame[frame.x > 0.3].iloc[[2, 0, 1]]
    for argument, wrong, filled in (("features", some[["x"]], [0.5, 0, 1, 0, 0.75]), ("labels", some["y"], [0, -1, 0, -1, 1]),
                                    ("train", some["train"], [0, 2])):
        given = {"features": frame[["x"]], "labels": frame["y"], argument: wrong}
        with pytest.raises(unweave.UsageError, match=r"N nodes, or .*reset_index\(drop=True\)") as caught:
            unweave.import_store(tmp_path / "bad", edges, **given)
        mended = advised(caught, r"give (.+?) where it has the numbers", **{argument: wrong}, N=5)
        made = unweave.import_store(tmp_path / argument, edges, **{**given, argument: mended})
        if argument == "features":
            made.propagate(0)
            assert np.abs(made.embeddings().reshape(-1) - filled).max() < 1e-6
        else:
            assert (made.labels() if argument == "labels" else made.splits.train).tolist() == filled
    mask = pandas.Series(True, index=[7, 3])
    with pytest.raises(unweave.UsageError, match="its index has 7 for row 0") as caught:
        store.predict(mask)
    assert "ids=" not in str(caught.value)
    assert store._nodes(advised(caught, r"give (.+?) where it has", nodes=mask)).tolist() == [3, 7]


def test_an_index_beside_ids(pandas, tmp_path):
    x, ids = np.eye(5, 2) * 0.5, list("abcde")
    edges = [("a", "b"), ("b", "c"), ("d", "e")]
    for index, said in ((list("edcbz"), "has 'z', which is no name in ids"), ([4, 0, 1, 2, 3], "numbers the rows in another order"),
                        ([5, 6, 7, 8, 9], "has 5 for row 0")):
        with pytest.raises(unweave.UsageError, match=f"^features: its index {said}"):
            unweave.import_store(tmp_path / "bad", edges, pandas.DataFrame(x, index=index), ids=ids)
    people = pandas.DataFrame({"name": ids, "x": 0.5}, index=[9, 4, 7, 1, 3])  # one frame: row i of each is that of node i
    unweave.import_store(tmp_path / "one", edges, people[["x"]], ids=people["name"])
    unweave.import_store(tmp_path / "default", edges, pandas.DataFrame(x), ids=ids)


def test_an_index_of_names_in_another_order_than_ids(pandas, four, tmp_path):
    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75, 1.0], "y": [0, 1, 0, 1], "train": [True, False, True, False]}, index=["dan", "bob", "ann", "cid"])
    ids, features, labels, train = NAMES, frame[["x"]], frame["y"], frame["train"]
    given = {"features": features.loc[ids], "labels": labels.loc[ids], "train": train.loc[ids]}
    want = unweave.import_store(tmp_path / "want", PATH, np.array([[0.75], [0.5], [1], [0.25]]), [0, 1, 1, 0], train=[0, 3], ids=ids).info(digest=True).digest
    for number, (argument, wrong) in enumerate((("features", features), ("labels", labels), ("train", train))):
        with pytest.raises(unweave.UsageError, match=f"^{argument}: its index has the names of the nodes in another order than ids") as caught:
            unweave.import_store(tmp_path / "bad", PATH, **{**given, argument: wrong}, ids=ids)
        remedy = re.search(r"give (\S+), or", str(caught.value))[1]
        mended = eval(remedy, {argument: wrong, "ids": ids})  # noqa: S307  what the error advises
        assert unweave.import_store(tmp_path / f"s{number}", PATH, **{**given, argument: mended}, ids=ids).info(digest=True).digest == want
    # Nodes without a name may have any row.
    some = ["ann", None, "cid", "dan"]
    unweave.import_store(tmp_path / "gap", PATH, features.set_axis(["ann", "eve", "cid", "dan"], axis=0), ids=some)
    with pytest.raises(unweave.UsageError, match="another order than ids"):
        unweave.import_store(tmp_path / "bad", PATH, features.set_axis(["dan", "eve", "cid", "ann"], axis=0), ids=some)
    # Integers that are names.
    with pytest.raises(unweave.UsageError, match="another order than ids"):
        unweave.import_store(tmp_path / "bad", PATH, features.set_axis([13, 11, 10, 12], axis=0), ids=[10, 11, 12, 13], ids_are="positions")


def test_rows_that_were_filtered_are_too_few(pandas, sample, tmp_path):
    x, y, train = pandas.DataFrame(sample.x), pandas.Series(sample.y), pandas.Series(sample.train)
    for argument, wrong in (("features", x[x[0] > 0]), ("labels", y[y > 0]), ("train", train[y > 0])):
        given = {"features": x, "labels": y, "train": train, argument: wrong.reset_index(drop=True)}
        with pytest.raises(unweave.Error, match=rf"{argument}.*({len(wrong)}|400)"):
            unweave.import_store(tmp_path / "bad", sample.edge_index, **given, nodes=400)
        assert not (tmp_path / "bad").exists()


def test_masks_of_pandas_choose_by_their_index(pandas, four, store):
    mask = pandas.Series([True, False, True], index=["dan", "bob", "ann"])
    with four.stream() as stream:
        assert stream.remove_nodes(mask).statuses == ["applied", "applied"]
    assert sorted(four.edges().tolist()) == [[1, 2]]
    with pytest.raises(unweave.UsageError, match=r"^nodes: a mask whose index .*'eve'; give nodes.to_numpy\(\)"):
        four._nodes(pandas.Series([True], index=["eve"]))
    with pytest.raises(unweave.UsageError, match="whose index has no name"):
        four._nodes(pandas.Series([True, True], index=["bob", None]))
    assert four._nodes(pandas.Series([True, False], index=["bob", None])).tolist() == [1]
    numbered = pandas.Series(np.arange(400) < 2)
    assert store._nodes(numbered).tolist() == [0, 1]
    with pytest.raises(unweave.UsageError, match=r"give nodes.sort_index\(\)"):
        store.predict(numbered.sort_values())
    with pytest.raises(unweave.UsageError, match="a mask of shape .* 400 nodes"):
        store._nodes(numbered[:50])
    named = numbered.set_axis([f"n{i}" for i in range(400)])
    with pytest.raises(unweave.UsageError, match=r"numbers alone; give nodes.to_numpy\(\)"):
        store._nodes(named)
    assert store._nodes(named.to_numpy()).tolist() == [0, 1]
    # A list of nodes has no rows, so that an index that numbers the rows of a table is nothing.
    assert store._nodes(pandas.Series([5, 3, 9], index=[0, 2, 7])).tolist() == [5, 3, 9]
    assert store.embeddings(pandas.Series([2, 0, 1])[::-1]).shape == (3, 12)


def test_rows_of_an_estimator(pandas, sample):
    x, y = pandas.DataFrame(sample.x), pandas.Series(sample.y)
    order = np.random.default_rng(3).permutation(400)
    make = unweave.ForgettingClassifier
    for argument, rows, classes in (("X", x.iloc[order], y), ("y", x, y.iloc[order])):
        with pytest.raises(unweave.UsageError, match=rf"^{argument}: its index .* {argument}.sort_index\(\)"):
            make(hops=1).fit(rows, classes, graph=sample.edge_index)
    with pytest.raises(unweave.UsageError, match="^features: its index"):
        make(hops=1, graph=sample.edge_index, features=x.iloc[order]).fit(np.arange(400), y)
    fitted = make(hops=1).fit(x, y, graph=sample.edge_index)
    with pytest.raises(unweave.UsageError, match=r"^X: its index .* X.sort_index\(\)"):
        fitted.predict(pandas.Series(sample.train).iloc[order])
    placed = make(hops=1, graph=sample.edge_index, features=x).fit(np.arange(400), y)
    with pytest.raises(unweave.UsageError, match=r"^X: its index .* X.sort_index\(\)"):
        placed.predict(pandas.Series(sample.train).iloc[order])
    assert np.array_equal(placed.predict(pandas.Series(sample.train)), placed.predict(np.flatnonzero(sample.train)))
    # Without a graph rows are samples in any order, and a mask that has their index is theirs.
    part, train = x.iloc[order], pandas.Series(sample.train).iloc[order]
    assert np.array_equal(make().fit(part, y.iloc[order], train=train).coef_, make().fit(part.to_numpy(), y.to_numpy()[order], train=train.to_numpy()).coef_)


def test_tables_that_number_their_rows_otherwise_than_each_other(pandas, tmp_path):
    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75, 1.0], "y": [0, 1, 0, 1], "train": [True, False, True, False]}, index=[1001, 1005, 1003, 1007])
    other, ids = frame.loc[[1005, 1001, 1003, 1007]], frame.index.tolist()
    want = unweave.import_store(tmp_path / "want", PATH, frame[["x"]], frame["y"], train=frame["train"], ids=ids).info(digest=True).digest
    for number, argument in enumerate(("labels", "train")):
        given = {"features": frame[["x"]], "labels": frame["y"], "train": frame["train"]}
        wrong = {"labels": other["y"], "train": other["train"]}[argument]
        with pytest.raises(unweave.UsageError, match=f"^{argument}: its index has the names of the nodes in another order than ids") as caught:
            unweave.import_store(tmp_path / "bad", PATH, **{**given, argument: wrong}, ids=ids)
        mended = advised(caught, r"give (\S+), or", **{argument: wrong}, ids=ids)
        assert unweave.import_store(tmp_path / f"s{number}", PATH, **{**given, argument: mended}, ids=ids).info(digest=True).digest == want
    # Names of nodes in a table that was sorted, and weights of edges.
    with pytest.raises(unweave.UsageError, match="^ids: its index numbers the rows in another order"):
        unweave.import_store(tmp_path / "bad", PATH, ids=pandas.Series(NAMES).iloc[[2, 0, 1, 3]])
    edges = pandas.DataFrame({"u": [0, 1, 2], "v": [1, 2, 3], "w": [3, 1, 2]})
    moved = edges.iloc[[2, 0, 1]]
    want = unweave.import_store(tmp_path / "weighted", edges, max_weight=3).info(digest=True).digest
    for graph, weights in ((edges, moved["w"]), (moved[["u", "v"]], edges["w"]), ((edges["u"], edges["v"]), moved["w"])):
        with pytest.raises(unweave.UsageError, match="^edge_weights: its index"):
            unweave.import_store(tmp_path / "bad", graph[["u", "v"]] if graph is edges else graph, edge_weights=weights, max_weight=3)
    for number, graph in enumerate((edges, moved)):
        store = unweave.import_store(tmp_path / f"w{number}", graph[["u", "v"]], edge_weights=graph["w"], max_weight=3)
        assert store.info(digest=True).digest == want


def test_features_whose_first_column_has_ids(pandas, tmp_path):
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    right = np.linspace(0.1, 0.9, 10).reshape(5, 2)
    order, said = [3, 1, 4, 0, 2], "^features: column 0 (numbers the rows|has the names of the nodes) in another order"
    for number, (first, ids) in enumerate(((0, None), (1, None), (100, [100, 101, 102, 103, 104]))):
        x = np.column_stack([np.array(order) + first, right[order]])
        for kind, given in enumerate((x, x.tolist(), pandas.DataFrame(x))):
            with pytest.warns(unweave.RemarkWarning, match=said) as caught:
                unweave.import_store(tmp_path / f"s{number}.{kind}", edges, given, ids=ids)
            leaves_out, sorts = re.search(r"; (\S+, 1:\]) leaves it out, and (.+, 1:\]) also brings", str(caught[0].message)).groups()
            names = {"numpy": np, "features": given, "ids": ids}
            assert np.array_equal(eval(leaves_out, names), right[order])  # noqa: S307  what the remark advises
            assert np.array_equal(eval(sorts, names), right)  # noqa: S307
    for number, first in enumerate((np.arange(5), [3, 1, 4, 0, 0.5], [3, 1, 4, 0, 1], [0, 1, 0, 1, 1], [3, 1, 4, 0, -2], [3, 1, 4, 0, 9])):
        store = unweave.import_store(tmp_path / f"h{number}", edges, np.column_stack([first, right]))
        assert not [one for one in store.imported.remarks if re.match(said, one)]


def test_splits_that_may_be_masks(pandas, tmp_path):
    edges, y = [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 0, 1, 1]
    frame = pandas.DataFrame({"y": [1, 0]}, index=[3, 4])
    with pytest.raises(unweave.UsageError, match="^train: a table, whose index may have the nodes, or a column") as caught:
        unweave.import_store(tmp_path / "bad", edges, labels=y, train=frame)
    nodes, column = advised(caught, r"or (list\(.*\))", train=frame), advised(caught, r"column, (\S+), or", train=frame)
    assert unweave.import_store(tmp_path / "s", edges, labels=y, train=nodes).splits.train.tolist() == [3, 4]
    for wrong, size in ((column, 2), ([1, 0, 1], 3), (np.array([1, 0, 1, 0, 1]), 5)):
        with pytest.raises(unweave.UsageError, match=f"^train: {size} numbers that are all 0 or 1 seem to be a mask") as caught:
            unweave.import_store(tmp_path / "bad", edges, labels=y, train=wrong)
        if size == 5:
            mask = advised(caught, "give (.+?), or", train=wrong)
            assert unweave.import_store(tmp_path / "m", edges, labels=y, train=mask).splits.train.tolist() == [0, 2, 4]
    assert unweave.import_store(tmp_path / "ids", edges, labels=y, train=[1, 0]).splits.train.tolist() == [0, 1]


def test_rows_of_a_fit_are_no_labels_of_pandas(pandas):
    pytest.importorskip("sklearn")
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(8, 3)))
    some = X.sample(frac=0.75, random_state=3)
    model = unweave.ForgettingClassifier().fit(some, pandas.Series([0, 1] * 4)[some.index])
    with pytest.raises(unweave.UsageError, match=r"X\.index\.get_indexer\(nodes\)"):
        model.forget(nodes=some.index[[2]])
    for given in ([int(some.index[2])], np.array([int(some.index[2])]), pandas.Series([int(some.index[2])])):  # also as a list
        with pytest.raises(unweave.UsageError, match="may be its labels") as caught:
            model.forget(nodes=given)
        rows = advised(caught, r"give (unweave.*?) for labels", nodes=given, X=some, unweave=unweave)
        assert rows.tolist() == [2]
    assert model.forget(nodes=rows).applied == 1 and model.forgotten_.tolist() == [2]
    assert model.forget(nodes=advised(caught, r"fit, or (.*) for rows", nodes=[1], unweave=unweave)).applied == 1
    with pytest.raises(unweave.UsageError, match="index has the rows of X in another order"):
        unweave.ForgettingClassifier().fit(some, pandas.Series([0, 1] * 4)[some.index].sort_index())
    numbers = pandas.DataFrame(np.random.default_rng(0).integers(0, 6, size=(8, 3)))
    whole = unweave.ForgettingClassifier().fit(numbers, [0, 1] * 4)
    with pytest.raises(unweave.UsageError, match="may be one row, or the numbers of rows"):
        whole.predict([2, 1, 4])
    assert len(whole.predict([[2, 1, 4]])) == 1 and len(whole.predict(unweave.NodeNumbers([2, 1, 4]))) == 3


def test_rows_of_a_fit_are_no_labels_of_its_classes_either(pandas):
    pytest.importorskip("sklearn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(8, 3)))
    y = pandas.Series([0, 1] * 4)
    some = X.sample(frac=0.75, random_state=3)
    model = make_pipeline(StandardScaler(), unweave.ForgettingClassifier()).fit(some, y[some.index])[-1]
    for given in (some.index[:2], pandas.Series(some.index[:2])):
        with pytest.raises(unweave.UsageError, match=r"y\.index\.get_indexer\(nodes\)"):
            model.forget(nodes=given)
    assert model.forget(nodes=unweave.NodeNumbers([0])).applied == 1
    plain = unweave.ForgettingClassifier().fit(some.to_numpy(), y[some.index].to_numpy())
    for name in ("nodes", "features"):
        with pytest.raises(unweave.UsageError, match=rf"X\.index\.get_indexer\({name}\).*{name}\.to_numpy\(\)"):
            plain.forget(**{name: some.index[:2]})
    assert plain.forget(nodes=pandas.RangeIndex(1)).applied == plain.forget(nodes=np.array([3])).applied == 1
    usual = make_pipeline(StandardScaler(), unweave.ForgettingClassifier()).fit(X, y)[-1]
    assert usual.forget(nodes=X.index[[2]]).applied == 1


def test_classes_of_nodes_in_another_order_than_the_nodes(pandas):
    pytest.importorskip("sklearn")
    y = pandas.Series(np.arange(20) % 2).sample(14, random_state=1)
    edges = np.stack([np.arange(19), np.arange(1, 20)])
    for X in (y.index, y.index.to_series(), pandas.DataFrame({"node": y.index}, index=y.index)):
        with pytest.raises(unweave.UsageError, match="in another order") as caught:
            unweave.ForgettingClassifier(graph=edges, features=np.eye(20)).fit(X, y.sort_index())
        right = advised(caught, r"give (y\.loc\[.*?\])", X=X, y=y.sort_index())
        unweave.ForgettingClassifier(graph=edges, features=np.eye(20)).fit(X, right)
        unweave.ForgettingClassifier(graph=edges, features=np.eye(20)).fit(X, y)


def test_remedies_of_columns_are_those_of_python(tmp_path):
    (tmp_path / "l.csv").write_text("id,cls\n2,0\n0,1\n1,1\n")
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    with pytest.raises(unweave.DataError, match="numbers the lines, in another order") as caught:
        unweave.import_store(tmp_path / "s", tmp_path / "e.csv", labels=f"{tmp_path}/l.csv[cls]", header={"edges": "no"})
    ids = re.search(r"ids=('.*?') and ids_are='names'", str(caught.value))[1]
    assert eval(ids) == f"{tmp_path}/l.csv[id]"  # noqa: S307  what the error advises
    rows = np.c_[np.arange(700000, 700008)[::-1] * 3 % 1000 + 700000, np.linspace(0, 1, 32).reshape(8, 4)]
    with pytest.warns(unweave.RemarkWarning, match=r"leave it out by features\[:, 1:\]"):
        unweave.import_store(tmp_path / "t", [(0, 1), (1, 2)], rows)
