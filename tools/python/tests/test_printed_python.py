# tools/python/tests/test_printed_python.py - what warnings and errors print is Python that does what they say.
import re
import warnings

import numpy as np
import pytest

import unweave
from meaning import advised
from unweave.errors import text_of

EDGES = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])


def kinds_of(rows):
    """The same rows as objects of several packages, those that are installed."""
    yield "array", rows
    yield "lists", rows.tolist()
    for name, make in (("pandas", lambda package: package.DataFrame(rows, columns=[f"c{place}" for place in range(rows.shape[1])])),
                       ("polars", lambda package: package.DataFrame(rows, schema=[f"c{place}" for place in range(rows.shape[1])])),
                       ("pyarrow", lambda package: package.table({f"c{place}": rows[:, place] for place in range(rows.shape[1])})),
                       ("scipy.sparse", lambda package: package.sparse.csr_matrix(rows)), ("scipy.sparse", lambda package: package.sparse.csc_matrix(rows)),
                       ("scipy.sparse", lambda package: package.sparse.coo_matrix(rows))):
        try:
            package = __import__(name)
        except ImportError:
            continue
        yield name, make(package)


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_large_column_is_left_out_by_what_the_warning_says(place, tmp_path):
    rows = np.round(np.random.default_rng(0).normal(size=(40, 5)), 3)
    rows[:, place] = 1e6 + 3 * np.arange(40)[::-1]
    want = np.delete(rows, place, axis=1) / 1024
    for number, (kind, features) in enumerate(kinds_of(rows)):
        with pytest.warns(unweave.RemarkWarning, match="of the squared norm") as caught:
            unweave.import_store(tmp_path / f"a{number}", nodes=40, features=features)
        remark = next(str(one.message) for one in caught if "of the squared norm" in str(one.message))
        assert remark.startswith("features: column"), remark
        less = eval(re.search("leave it out by (.*), take logarithms", remark)[1], {"numpy": np, "features": features})  # noqa: S307
        store = unweave.import_store(tmp_path / f"b{number}", nodes=40, features=less, scale=1024)
        store.propagate(0, rows="all")
        assert np.allclose(store.embeddings(), want, atol=1e-4), (kind, remark)


def test_names_of_models_are_texts(store, tmp_path):
    for name in "e3", "1", "A", "exact":
        store.train("exact", name=name)
    with pytest.warns(unweave.RemarkWarning, match="do not follow"), store.stream() as stream:
        stream.send(["node 3"])
    for name in "e3", "1", "A":
        with pytest.warns(unweave.RemarkWarning, match=f"the model {name} is outdated") as caught:
            store.predict([5], name=name)
        line = re.search("`(with .*?: pass)`", str(caught[0].message))[1]
        assert f"name='{name}'" in line
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(line, {"store": store})  # noqa: S102
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store.predict([5], name=name)


@pytest.mark.parametrize("solver, options, printed", [
    ("exact", {"weights": [1, 1, 1]}, "weights=[1, 1, 1]"),
    ("exact", {"weights": [-1, 0.5, 1e-7]}, "weights=[-1, 0.5, 1e-07]"),
    ("exact", {"lift": 64}, "name='m', lift=64"),
    ("exact", {"lift": "64,key=3,bias=0.5", "scale_rows": "clip"}, "scale_rows='clip', lift='64,key=3,bias=0.5'"),
    ("exact", {"rows_of": "stack,labels", "scale_rows": "unit"}, "rows_of='stack,labels', scale_rows='unit'"),
    ("exact", {"lambda_": 0.001, "intercept": False}, "intercept=False, lambda_=0.001"),
    ("newton", {"epsilon": 2.0, "tau": 1e-7}, "tau=1e-07, epsilon=2"),
    ("finetune", {"head": "mlp", "hidden": [8]}, "head='mlp', hidden=[8], activation='tanh'"),
    ("finetune", {"head": "mlp", "hidden": [8, 4], "activation": "smelu"}, "hidden=[8, 4], activation='smelu'"),
    ("langevin", {"parameters": {"epochs": 3, "order-key": 2}}, "parameters={'epochs': 3, 'order-key': 2}")])
def test_the_training_of_an_outdated_model_runs_as_printed(store, solver, options, printed):
    store.train(solver, name="m", **options)
    lines = []
    for node in 3, 7:
        with pytest.warns(unweave.RemarkWarning, match="do not follow"), store.stream() as stream:
            stream.send([f"node {node}"])
        with pytest.warns(unweave.RemarkWarning, match="the model m is outdated") as caught:
            store.predict([5], name="m")
        lines.append(re.search("so does `(.*?)`$", str(caught[0].message))[1])
        assert printed in lines[-1]
        exec(lines[-1], {"store": store})  # noqa: S102
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            store.predict([5], name="m")
    assert lines[0] == lines[1]  # the model that it made is of the same options


def test_names_of_files_are_texts_in_what_is_printed():
    def of(key, value):
        return f"\x01{key}\x02{value}\x03"

    for marked, printed in ((of("changes", "7"), "changes='7'"), (of("key", "7"), "key='7'"), (of("weights", "1"), "weights=[1]"),
                            (of("weights", "auto"), "weights='auto'"), (of("hidden", "8"), "hidden=[8]"), (of("hops", "0"), "hops=0"),
                            (of("set", "epochs=..."), "parameters={'epochs': ...}"), (of("set", "sigma"), "parameters={'sigma': ...}"),
                            (f"\x04train s {of('set', 'a-b=1')} {of('tau', '1e-06')} {of('set', 'c=0.5')}\x05",
                             "`store.train(tau=1e-06, parameters={'a-b': 1, 'c': 0.5})`")):
        assert text_of(marked) == printed


def test_a_model_that_is_outdated_is_not_given_away_without_a_word(store, tmp_path):
    store.train("exact")
    store.export_model(tmp_path / "m.npz")
    with pytest.warns(unweave.RemarkWarning, match="do not follow"), store.stream() as stream:
        stream.send(["node 3"])
    with pytest.warns(unweave.RemarkWarning, match="the model exact is outdated: it has absorbed 0 of 1 requests"):
        store.export_model(tmp_path / "old.npz")
    with store.stream(name="exact"):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.export_model(tmp_path / "new.npz")


def test_models_that_a_purge_takes_are_in_its_report(store):
    store.train("exact")
    store.train("newton")
    store.train("newton", name="behind")
    with pytest.warns(unweave.RemarkWarning, match="do not follow"), store.stream(name=["exact", "newton"]) as stream:
        stream.send(["node 3"])
    with pytest.warns(unweave.RemarkWarning, match="removes these models"):
        report = store.purge()
    assert report.models_kept == ["exact"] and sorted(one.name for one in report.models_lost) == ["behind", "newton"]
    for lost in report.models_lost:
        exec(re.search("`(.*)`", lost.text)[1], {"store": store})  # noqa: S102
    assert sorted(one.name for one in store.info().models) == ["behind", "exact", "newton"]


def test_a_removed_node_that_has_a_row_is_told(store):
    store.train("exact")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.predict()
    with store.stream("exact") as stream:
        stream.send(["node 3", "node 7"])
    with pytest.warns(unweave.RemarkWarning, match="^node 3 has no edges, features and label: it was removed, or never had any"):
        store.predict([3, 4])
    with pytest.warns(unweave.RemarkWarning, match="^node 3 and 1 more have no edges"):
        store.predict_proba()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.predict([4, 5])


def test_minus_one_beside_classes():
    rows, y = np.eye(6), np.array([-1, 0, 1, -1, 0, 1])
    with pytest.warns(unweave.RemarkWarning, match="^y: 2 rows have -1, which stands for no class with a graph; if it is a class"):
        model = unweave.ForgettingClassifier(hops=1).fit(rows, y, graph=EDGES)
    assert model.classes_.tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (y + 1, y.astype(str), [None, "0", "1", None, "0", "1"], [np.nan, 0, 1, np.nan, 0, 1]):
            unweave.ForgettingClassifier(hops=1).fit(rows, other, graph=EDGES)
    nodes = np.arange(6).reshape(-1, 1)
    with pytest.raises(unweave.UsageError, match="^y: 2 of the nodes of X have -1, which may be a class, or stand for none; leave these nodes out of X"):
        unweave.ForgettingClassifier(hops=1, graph=EDGES, features=rows).fit(nodes, y)
    assert unweave.ForgettingClassifier(hops=1, graph=EDGES, features=rows).fit(nodes, y + 1).classes_.tolist() == [0, 1, 2]
    assert unweave.ForgettingClassifier(hops=1, graph=EDGES, features=rows).fit(nodes[y >= 0], y[y >= 0]).classes_.tolist() == [0, 1]


def test_minus_one_beside_classes_of_an_import(tmp_path):
    with pytest.warns(unweave.RemarkWarning, match="^labels: 2 nodes have -1, which stands for no class"):
        unweave.import_store(tmp_path / "a", EDGES, labels=[-1, 0, 1, -1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, labels in enumerate(([np.nan, 0, 1, np.nan, 0, 1], [-1, -1, -1, -1, -1, 0], [-1, 0, 0, 1, 1, 1])):
            unweave.import_store(tmp_path / f"b{number}", EDGES, labels=labels)


def test_an_edge_alone_is_no_list_of_edges(four, store):
    for graph, edge in ((four, ("ann", "bob")), (store, (1, 2)), (store, [1, 2])):
        with graph.stream() as stream:
            with pytest.raises(unweave.UsageError, match="^edges: .* seems to be one edge, where a list of edges is wanted") as caught:
                stream.remove_edges(edge)
            assert advised(caught, "give (.*)$") == [tuple(edge)]
            stream.remove_edges(advised(caught, "give (.*)$"))


def test_a_frame_that_has_a_name_twice(pandas, tmp_path):
    frame = pandas.DataFrame([[0, 0, 1], [1, 1, 2]], columns=["u", "u", "v"])
    with pytest.raises(unweave.UsageError, match="^graph: two columns of the table are called 'u'") as caught:
        unweave.import_store(tmp_path / "bad", frame)
    made = unweave.import_store(tmp_path / "s", advised(caught, "give (.*), which", graph=frame))
    assert made.edges().tolist() == [[0, 1], [1, 2]]


def test_weights_of_zero_do_not_say_where_numbers_begin(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unweave.import_store(tmp_path / "s", np.array([[0, 1], [1, 2], [2, 3], [1, 3]]), edge_weights=[0, 1, 1, 1], max_weight=2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_multigraph_of_networkx(weighted, tmp_path):
    networkx = pytest.importorskip("networkx")
    for number, (a, b, c) in enumerate(((0, 1, 2), ("x", "y", "z"))):
        graph = networkx.MultiGraph([(a, b, {"weight": 2} if weighted else {}), (a, b, {"weight": 3} if weighted else {}), (b, c)])
        with pytest.raises(unweave.UsageError, match="a graph of networkx") as caught:
            unweave.import_store(tmp_path / "bad", graph)
        matrix = advised(caught, r"give (networkx\.to_scipy_sparse_array\(.*?nodelist=(?:list|sorted)\(G\)\))", G=graph, networkx=networkx)
        names = {"ids": ["x", "y", "z"]} if number else {}
        store = unweave.import_store(tmp_path / f"s{number}", matrix, max_weight=9 if weighted else None, **names)
        assert store.edges().tolist() == [[0, 1], [1, 2]] and store.edge_weights().tolist() == ([5, 1] if weighted else [1, 1])
