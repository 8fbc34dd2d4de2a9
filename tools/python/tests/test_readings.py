# tools/python/tests/test_readings.py - objects of pandas, NumPy and networkx that may be read in two ways, and the remedies that are
# printed, which are run.
import shutil
import tempfile
import warnings

import numpy as np
import pytest

import unweave
from meaning import NAMES, PATH, advised

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]


@pytest.fixture
def eight(tmp_path):
    made = unweave.import_store(tmp_path / "eight", RING, np.eye(8), [0, 1] * 4, train=range(8))
    made.propagate(1)
    made.train()
    return made


def calls_of(store):
    """Everything that takes a list of nodes, by the name of the argument; each returns the numbers of the nodes that it took."""
    def of_split(given):
        with tempfile.TemporaryDirectory() as folder:
            return unweave.import_store(folder, RING, np.eye(8), [0, 1] * 4, train=given).splits.train.tolist()

    def forgotten(given):
        model = unweave.ForgettingClassifier(hops=1).fit(np.eye(8), [0, 1] * 4, graph=RING)
        model.forget(nodes=given)
        return model.forgotten_.tolist()

    def removed(given):
        with tempfile.TemporaryDirectory() as folder:
            copy = unweave.Store(shutil.copytree(store.path, folder, dirs_exist_ok=True))
            with copy.stream() as stream:
                stream.remove_features(given)
            return np.flatnonzero(copy.labels() < 0).tolist()

    def embedded(given):
        return [int(np.argmax((store.embeddings() == row).all(1))) for row in store.embeddings(given)]

    return {"train": of_split, "nodes": forgotten, "nodes ": embedded, "nodes  ": removed}


def test_a_series_whose_index_may_have_the_nodes(pandas, eight):
    log = pandas.Series([5, 5, 5, 3, 3, 7], name="node")
    frame = pandas.DataFrame({"node": log, "event": "click"})
    for number, given in enumerate((log.value_counts(), log.rename(None).value_counts(), log.rename("count").value_counts().sort_index(),
                                    frame.groupby("node").event.count(), frame.groupby("node").size(),
                                    pandas.Series([3, 2, 1], index=[3, 5, 7], name="Count"))):
        for called, call in calls_of(eight).items():
            name = called.strip()
            with pytest.raises(unweave.UsageError, match=f"^{name}: a Series whose index may have the nodes") as caught:
                call(given)
            by_index, by_values = (advised(caught, pattern, **{name: given}) for pattern in (r"give (list\(.*?\)) where", r"or (\S+\.to_numpy\(\)) where"))
            assert sorted(by_index) == [3, 5, 7] and sorted(by_values) == [1, 2, 3], number
            assert sorted(call(by_index)) == [3, 5, 7]
            assert sorted(call(by_values)) == [1, 2, 3]


def test_a_series_of_chosen_rows_has_the_nodes_in_its_values(pandas, eight):
    frame = pandas.DataFrame({"node": [5, 3, 7, 2], "score": [1, 9, 8, 3]})
    for given in (frame.node, frame.loc[frame.score > 2, "node"], frame.node[::-1], frame.node.iloc[1:], frame.set_index(["score", "node"]).assign(n=2).n.reset_index(
            drop=True), frame.set_index("node", drop=False).node, frame.set_index(pandas.date_range("2027-01-01", periods=4)).node,
            pandas.Series([6, 2], index=["row a", "row b"]), frame.node.set_axis([0.5, 1.5, 2.5, 3.5])):
        for called, call in calls_of(eight).items():
            assert set(call(given)) == set(given.tolist())


def test_a_series_of_names_whose_index_has_names(pandas, four):
    log = pandas.Series(["bob", "bob", "dan"])
    for given, values in ((log.value_counts(), [1, 2]), (pandas.Series(["ann", "cid"], index=["bob", "dan"]), ["ann", "cid"])):
        with four.stream() as stream:
            with pytest.raises(unweave.UsageError, match="a Series whose index may have the nodes") as caught:
                stream.remove_features(given)
        index = advised(caught, r"give (list\(.*?\)) where", nodes=given)
        assert sorted(index) == ["bob", "dan"] and sorted(advised(caught, r"or (\S+\.to_numpy\(\)) where", nodes=given)) == values
    assert four._nodes(pandas.Series(["ann", "cid"], index=["x", "y"])).tolist() == [0, 2]  # which no node is called
    assert four._nodes(pandas.Series(["ann", "cid"], index=[0, 2])).tolist() == [0, 2]
    with pytest.raises(unweave.UsageError, match="^train: a Series whose index may have the nodes"):
        unweave.import_store(four.path.parent / "bad", PATH, ids=NAMES, labels=[0, 1, 0, 1], train=pandas.Series(["ann"], index=["bob"]))


def test_a_pair_of_series_whose_rows_stand_in_two_orders(pandas, eight):
    u, v = pandas.Series([0, 1, 2]), pandas.Series([3, 2, 1], index=[2, 1, 0])
    model = unweave.ForgettingClassifier(hops=1).fit(np.eye(8), [0, 1] * 4, graph=RING)
    with eight.stream() as stream:
        for call in (stream.remove_edges, stream.insert_edges, lambda given: model.forget(edges=given)):
            with pytest.raises(unweave.UsageError, match=r"^edges\[1\]: its index has the rows of edges\[0\] in another order") as caught:
                call((u, v))
            mended = advised(caught, r"give (\S+),", edges=(u, v))
            assert mended.tolist() == [1, 2, 3]
            assert call((u, mended)).requests == 3
        with pytest.raises(unweave.UsageError, match="weights: its index has the rows of edges in another order"):
            stream.insert_edges(pandas.DataFrame({"u": [0, 1], "v": [5, 6]}, index=[4, 9]), weights=pandas.Series([1, 1], index=[9, 4]))
    assert eight.edges().tolist() == [list(edge) for edge in RING]


@pytest.mark.parametrize("missing", [-1, np.nan, None])
def test_a_score_leaves_out_what_has_no_class(missing):
    rows, y = np.eye(8), np.array([0, 1] * 4)
    given = [missing if node in (2, 5) else int(label) for node, label in enumerate(y)]
    given = given if missing is None else np.array(given)
    as_texts = [missing if node in (2, 5) else "ab"[label] for node, label in enumerate(y)]
    for labels in (given, as_texts) if missing is None else (given,):
        labels = labels if missing is not None or labels is as_texts else np.array([-1 if one is None else one for one in labels])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = unweave.ForgettingClassifier(hops=0).fit(rows, labels, graph=RING)
        right = model.predict() == np.array([None if one is None else one for one in labels])
        kept = np.array([node not in (2, 5) for node in range(8)])
        with pytest.warns(unweave.RemarkWarning, match="^y: 2 of 8 rows have no class"):
            assert model.score(None, labels) == right[kept].mean() > 0.5
        weights = np.arange(8.0)
        with pytest.warns(unweave.RemarkWarning, match="left out of the score"):
            assert model.score(range(8), labels, sample_weight=weights) == pytest.approx(np.average(right[kept], weights=weights[kept]))
        with pytest.raises(unweave.UsageError, match="^y: no row has a class"):
            model.score([2, 5], [-1, np.nan])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score([0, 1], [model.predict([0])[0], "c"] if isinstance(labels, list) else [model.predict([0])[0], 7]) == 0.5
        signs = unweave.ForgettingClassifier().fit(rows, 2 * y - 1)  # of which -1 is a class
        assert signs.score(rows, 2 * y - 1) == 1 or signs.classes_.tolist() == [-1, 1]


HEADERS = {"session,user,friend": "user,friend", "user,time,friend": "user,friend", "session,user,item": None, "row_id,user1,user2": "user1,user2",
           "ts,sender,receiver": "sender,receiver", "date,payer,payee": "payer,payee", "num,person_a,person_b": "person_a,person_b",
           "duration,caller,callee": "caller,callee", "pred,subj,obj": "subj,obj", "doc,author1,author2": "author1,author2", "idx,i,j": "i,j",
           "amount,sender,recipient": "sender,recipient", "prob,x,y": None, "score,protein1,protein2": "protein1,protein2", "no,parent,child": "parent,child",
           "group,follower,followee": "follower,followee", "cost,origin,dest": "origin,dest", "len,start,end": "start,end", "line,head,tail": "head,tail",
           "relation,head,tail": "head,tail", "index,node1,node2": "node1,node2"}


@pytest.mark.parametrize("header", HEADERS)
def test_a_first_column_that_is_no_end(pandas, tmp_path, header):
    frame = pandas.DataFrame([[9, 0, 1], [8, 1, 2], [9, 2, 3], [7, 3, 4]], columns=header.split(","))
    if header == "user,time,friend":
        frame = frame.iloc[:, [1, 0, 2]].set_axis(header.split(","), axis=1)
    for options in ({}, {"ignore_weights": True}, {"max_weight": 9}):
        with pytest.raises(unweave.UsageError, match="^graph: ") as caught:
            unweave.import_store(tmp_path / "bad", frame, **options)
        proposed = "[[" in str(caught.value)
        assert proposed == (HEADERS[header] is not None), str(caught.value)
        if proposed:
            store = unweave.import_store(tmp_path / f"s{len(options)}{'max_weight' in options}", advised(caught, r"give (graph\[\[.*?\]\])", graph=frame))
            assert store.edges().tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    called = frame.set_axis(["source", "target", header.split(",")[0]], axis=1)
    assert len(unweave.import_store(tmp_path / "called", called, ignore_weights=True, nodes=10).edges()) == 4


@pytest.mark.parametrize("header", ["source,target,x", "user,item,rating", "a,b,weight", "citing,cited,year", "from_user,to_user,text", "p,q,count", "u_id,v_id,z",
                                    "user1,user2,since", "node_i,node_j,w", "paper_citing,paper_cited,n", "Sender ID,Receiver ID,note", "p,q,edge_type"])
def test_first_columns_that_are_the_ends(pandas, tmp_path, header):
    frame = pandas.DataFrame([[0, 5, 2], [3, 7, 3]], columns=header.split(","))
    assert unweave.import_store(tmp_path / "s", frame, ignore_weights=True).edges().tolist() == [[0, 5], [3, 7]]


def test_a_zero_in_a_column_of_no_weights(pandas, tmp_path):
    for third in ("time", "Type", "edge_id", "sign", "date", "label"):
        frame = pandas.DataFrame([[0, 1, 0], [1, 2, 3]], columns=["src", "dst", third])
        with pytest.warns(UserWarning, match=f"'{third}', is not read; give graph") as caught:
            plain = unweave.import_store(tmp_path / f"p{third}", frame)
        assert "ignore_weights" not in str(caught[0].message) and len(plain.edges()) == 2
        for options in ({"ignore_weights": True}, {"max_weight": 5}):
            with pytest.raises(unweave.UsageError, match=f"^graph: 0 in the column '{third}', which is not called as weights are") as caught:
                unweave.import_store(tmp_path / "bad", frame, **options)
        store = unweave.import_store(tmp_path / third, advised(caught, r"give (.*?) for the edges", graph=frame))
        assert store.edges().tolist() == [[0, 1], [1, 2]]
    frame = pandas.DataFrame([[0, 1, 0], [1, 2, 3]], columns=["src", "dst", "strength"])
    with pytest.warns(unweave.RemarkWarning, match="^graph: 1 edge has the weight 0, which is no edge, and was left out"):
        store = unweave.import_store(tmp_path / "s", frame, ignore_weights=True)
    assert store.edges().tolist() == [[1, 2]] and len(store.imported.remarks) == 1


@pytest.mark.parametrize("name", ["z.txt", "z.csv", "z.npz", "z.parquet", "z.npy.gz"])
def test_an_array_is_written_under_a_name_of_arrays(eight, tmp_path, name):
    for write in (lambda place: eight.edges(out=place), lambda place: eight.embeddings(out=place), lambda place: eight.embeddings([1], out=place)):
        with pytest.raises(unweave.UsageError, match="^out: .* would hold a NumPy array, whatever its name says; give") as caught:
            write(tmp_path / name)
        assert not (tmp_path / name).exists()
        write(advised(caught, "give ('.*?')"))
    if name != "z.npz":
        with pytest.raises(unweave.UsageError, match="^file: .* would hold a NumPy array") as caught:
            eight.export_model(tmp_path / name)
        assert np.load(eight.export_model(advised(caught, "give ('.*?')"))).ndim == 2
    assert np.load(eight.export_model(tmp_path / "bare")).ndim == 2  # promises nothing


def test_dictionaries_are_read_by_their_keys(tmp_path):
    x = np.eye(8)
    labels = {node: node % 3 for node in (3, 0, 7, 1, 2, 6, 5, 4)}
    mask = {node: node in (0, 6) for node in labels}
    rows = {node: x[node] for node in labels}
    for name, given in (("labels", labels), ("features", rows), ("train", mask)):
        others = {"features": x, "labels": [node % 3 for node in range(8)], name: given}
        with pytest.raises(unweave.UsageError, match=f"^{name}: a dict, where a list is wanted; give") as caught:
            unweave.import_store(tmp_path / "bad", RING, **others)
        store = unweave.import_store(tmp_path / name, RING, **{**others, name: advised(caught, "give (.*)$", **{name: given})})
        store.propagate(0, rows="all")
        assert store.labels().tolist() == [node % 3 for node in range(8)] and np.array_equal(store.embeddings(), x)
        assert name != "train" or store.splits.train.tolist() == [0, 6]
    some = {6: 1, 2: 0}
    with pytest.raises(unweave.UsageError, match="^labels: a dict") as caught:
        unweave.import_store(tmp_path / "bad", RING, labels=some)
    store = unweave.import_store(tmp_path / "some", RING, labels=advised(caught, r"give (\[.*\]) of N nodes", labels=some, N=8))
    assert store.labels().tolist() == [-1, -1, 0, -1, -1, -1, 1, -1]


def test_dictionaries_of_names(tmp_path):
    labels, mask, words = {"dan": 1, "ann": 0, "cid": 1}, {"dan": True, "bob": False, "ann": True}, {"cid": "b", "ann": "a"}
    for number, given in enumerate((labels, words)):
        with pytest.raises(unweave.UsageError, match="^labels: a dict") as caught:
            unweave.import_store(tmp_path / "bad", PATH, ids=NAMES, labels=given)
        read = advised(caught, r"give (\[.*?\]), where ids", labels=given, ids=NAMES)
        store = unweave.import_store(tmp_path / f"l{number}", PATH, ids=NAMES, labels=read)
        assert store.labels().tolist() == ([0, -1, 1, 1] if number == 0 else ["a", None, "b", None])
    with pytest.raises(unweave.UsageError, match="^train: a dict") as caught:
        unweave.import_store(tmp_path / "bad", PATH, ids=NAMES, labels=[0, 1, 0, 1], train=mask)
    store = unweave.import_store(tmp_path / "m", PATH, ids=NAMES, labels=[0, 1, 0, 1], train=advised(caught, "give (.*)$", train=mask))
    assert store.splits.train.tolist() == [0, 3]


def test_dictionaries_of_edges(tmp_path):
    networkx = pytest.importorskip("networkx")
    moved = networkx.Graph()
    moved.add_nodes_from([2, 0, 1, 3])
    moved.add_edges_from([(2, 0), (0, 1)])
    named = networkx.Graph([("b", "a"), ("a", "c d")])
    for number, (given, want) in enumerate((
            ({"source": [0, 1], "target": [1, 2]}, [[0, 1], [1, 2]]), ({"time": [9, 9], "src": [0, 1], "dst": [1, 2]}, [[0, 1], [1, 2]]),
            ({0: [1], 1: [2]}, [[0, 1], [1, 2]]), (networkx.node_link_data(moved), [[0, 1], [0, 2]]), (networkx.node_link_data(named), [["a", "b"], ["a", "c d"]]))):
        with pytest.raises(unweave.UsageError, match="^graph: a dict, where a list is wanted; give") as caught:
            unweave.import_store(tmp_path / "bad", given)
        said = str(caught.value)
        more = {"nodes": advised(caught, r"nodes=(\d+)")} if "nodes=" in said else {}
        more |= {"ids": advised(caught, r"ids=(\[.*\])", graph=given)} if "ids=" in said else {}
        store = unweave.import_store(tmp_path / f"s{number}", advised(caught, r"give (.*?)(?:, with .*)?$", graph=given), **more)
        names = store.ids()
        assert [sorted(names[end] for end in edge) if names else edge for edge in store.edges().tolist()] == want
        assert number != 3 or store.num_nodes == 4


def test_records_of_pandas(pandas, tmp_path):
    frame = pandas.DataFrame({"source": [0, 1], "target": [1, 2]}, index=[7, 8])
    rows = pandas.DataFrame(np.eye(3), columns=list("abc"))
    with pytest.raises(unweave.UsageError, match="^graph: .*, without 'index', which is the index of a frame") as caught:
        unweave.import_store(tmp_path / "bad", frame.to_records())
    store = unweave.import_store(tmp_path / "s", advised(caught, r"as in (\(.*?\)),", graph=frame.to_records()))
    assert store.edges().tolist() == [[0, 1], [1, 2]]
    with pytest.raises(unweave.UsageError, match="^features: .*, without 'index', which") as caught:
        unweave.import_store(tmp_path / "bad", frame[["source", "target"]], rows.to_records())
    store = unweave.import_store(tmp_path / "t", frame.reset_index(drop=True), advised(caught, r"give (numpy.*?\(\)\)),", features=rows.to_records()))
    assert store.info().features == 3
    labels = pandas.DataFrame({"y": [0, 1, 0]}).to_records()
    with pytest.raises(unweave.UsageError, match="^labels: ") as caught:
        unweave.import_store(tmp_path / "bad", RING[:2], labels=labels)
    assert advised(caught, r"field, as (\S+),", labels=labels).tolist() == [0, 1, 0]
    called = np.array([(9, 0, 1)], [("index", "i8"), ("session", "i8"), ("user", "i8")]), np.array([(9, 0, 1)], [("s", "i8"), ("t", "i8"), ("u", "i8")])
    for given, said in zip(called, (r"\('session'\], graph\['user'\]|graph\['session'\], graph\['user'\]", r"graph\['SOURCE'\], graph\['TARGET'\]")):
        with pytest.raises(unweave.UsageError, match=said):
            unweave.import_store(tmp_path / "bad", given)


def test_labels_of_one_class_and_none(tmp_path):
    with pytest.warns(unweave.RemarkWarning, match="no node has class 0; labels that count from 1"):
        store = unweave.import_store(tmp_path / "s", RING, labels=[1, np.nan, 1, np.nan, 1, 1, 1, 1])
    assert store.labels().tolist() == [1, -1, 1, -1, 1, 1, 1, 1]
    with pytest.raises(unweave.DataError, match="labels that are all -1 or 1"):
        unweave.import_store(tmp_path / "bad", RING, labels=[1, -1, 1, -1, 1, 1, 1, 1])


def test_weights_of_edges_that_are_inserted_from_a_table(pandas, tmp_path):
    store = unweave.import_store(tmp_path / "s", pandas.DataFrame({"source": [0], "target": [1], "weight": [2]}), nodes=4, max_weight=9)
    more = pandas.DataFrame({"source": [1, 2], "target": [2, 3], "weight": [3, 4]})
    with store.stream() as stream:
        with pytest.raises(unweave.UsageError, match="^edges: a table of 3 columns") as caught:
            stream.insert_edges(more)
        edges, weights = (advised(caught, pattern, edges=more) for pattern in (r"alone, (edges\[\[.*?\]\])", r"weights=(edges\['weight'\])"))
        assert stream.insert_edges(edges, weights=weights).applied == 2
    assert store.edge_weights().tolist() == [2, 3, 4]


def test_a_series_of_tuples_is_a_list_of_edges(pandas, tmp_path):
    for number, (edges, given) in enumerate(((RING, {}), ([("ann", "bob"), ("bob", "cid"), ("cid", "dan")], {"ids": NAMES}))):
        series = pandas.Series(edges)
        with pytest.raises(unweave.UsageError, match="^graph: elements of type object") as caught:
            unweave.import_store(tmp_path / "bad", series, **given)
        assert len(unweave.import_store(tmp_path / f"s{number}", advised(caught, r"give (\S+)$", graph=series), **given).edges()) == len(edges)
    series = pandas.Series([[0.5, 0.25], [0.5, 0.5]])
    with pytest.raises(unweave.UsageError, match="^features: elements of type object") as caught:
        unweave.import_store(tmp_path / "bad", [(0, 1)], series)
    assert unweave.import_store(tmp_path / "f", [(0, 1)], advised(caught, r"give (\S+)$", features=series)).info().features == 2


@pytest.mark.parametrize("attribute, said", [("weight", "those of the attribute 'weight'"), ("value", "weight='value' among its arguments"),
                                             ("time", "no edge has the attribute 'weight'"), (None, "no edge has the attribute 'weight'")])
def test_the_weights_of_networkx(attribute, said, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edges_from([(0, 1, {attribute: 2} if attribute else {}), (1, 2, {attribute: 3} if attribute else {})])
    with pytest.raises(unweave.UsageError, match=said) as caught:
        unweave.import_store(tmp_path / "bad", graph)
    assert ("weight='" in str(caught.value)) == (attribute == "value")
    matrix = advised(caught, r"give (networkx\.to_scipy_sparse_array\(.*?\)\))", G=graph, networkx=networkx)
    assert matrix.sum() == (10 if attribute == "weight" else 4)
    if attribute == "value":
        matrix = networkx.to_scipy_sparse_array(graph, nodelist=sorted(graph), weight=advised(caught, r"weight=('.*?')"))
        assert unweave.import_store(tmp_path / "s", matrix, max_weight=9).edge_weights().tolist() == [2, 3]


def test_the_store_of_an_estimator_that_went():
    store = unweave.ForgettingClassifier(hops=1).fit(np.eye(8), [0, 1] * 4, graph=RING).store_
    assert store.info().nodes == 8 and len(store.predict()) == 8
    path = store.path
    del store
    assert not path.exists()


def test_classes_as_columns():
    hot = np.eye(2)[[0, 1] * 4]
    with pytest.raises(unweave.UsageError, match=r"^y: an array of shape \(8, 2\), where one class a row is wanted") as caught:
        unweave.ForgettingClassifier(hops=1).fit(np.eye(8), hot, graph=RING)
    model = unweave.ForgettingClassifier(hops=1).fit(np.eye(8), advised(caught, r"give (numpy.*?) where", y=hot), graph=RING)
    assert model.classes_.tolist() == [0, 1]


def test_a_number_that_no_node_can_have(eight):
    for call in (eight.predict, eight.embeddings):
        with pytest.raises(unweave.UsageError, match=f"^nodes: no node has the number {2**64 - 1}"):
            call(np.array([3, 2**64 - 1], np.uint64))


def test_a_moment_that_has_passed(eight):
    with eight.stream() as stream:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stream.send(["node 1 expires 2999-01-31", "node 2 expires never", "node 6"])
        with pytest.warns(unweave.RemarkWarning, match="^1 of these requests names a moment that has passed; nothing is removed yet, and `(.*)`") as caught:
            stream.send([("node", 3, "expires", "2020-01-01"), "node 4 expires 2999-01-01"])
        line = str(caught[0].message).split("`")[1]
        assert line == "stream.remove_expired()" and [one.applied for one in eval(line, {"stream": stream})] == [1]  # noqa: S307
    assert 3 not in eight.edges() and 4 in eight.edges()
