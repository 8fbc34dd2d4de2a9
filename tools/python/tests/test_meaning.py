# tools/python/tests/test_meaning.py - what could mean two things is an error that names both, and what the error advises is done.
import datetime
import decimal
import re
import warnings

import numpy as np
import pytest

import unweave
from meaning import NAMES, PATH, advised
from unweave import ForgetSet, read_forget_set


@pytest.mark.parametrize("word", ["1_5", "\u0661\u0664", "\uff11\uff15", " 15", "15 ", "+15", "-15", "0x0f", "1e1", "15.0", "", "\xa015"])
def test_a_text_is_a_node_by_digits_of_ascii_alone(store, word):
    with store.stream() as stream:
        for request in (("node", word), ("edge", 1, word), ("feature", word, "expires", "never"), ("set-label", word, 1), ("insert-edge", word, 2, "weight", 1),
                        ("node", word, "id=A")):
            with pytest.raises(unweave.UsageError, match="whole numbers from 0"):
                stream.send([request])
        if word.strip(" ") != "15":
            for line in (f"node {word}", f"edge 1 {word}", f"feature {word} id=B"):
                with pytest.raises(unweave.UsageError, match="request 1: not a request"):
                    stream.send(["node 7", line])
    assert store.info().pending_requests == 0 and store.requests() == []


def test_numbers_of_every_kind_are_nodes(store):
    with store.stream() as stream:
        said = stream.send([("feature", "15"), ("feature", np.uint8(16)), ("feature", np.array(17)), ("feature", decimal.Decimal(18)), "feature 019", "feature\t20",
                            "feature,21", ("feature", np.str_("22"), "id=A")])
        assert said.statuses == ["applied"] * 8
        for wrong in (b"15", decimal.Decimal("1.5"), 1j, None, [15], -1, np.float64(-1), np.timedelta64(5), "9" * 5000):
            with pytest.raises(unweave.UsageError, match="whole numbers"):
                stream.send([("feature", wrong)])


@pytest.mark.parametrize("request_", [
    ("set-label", 9, "1 id=evil"), ("set-label", 9, "1,id=evil"), ("set-label", 9, "1\tid=evil"), ("set-label", 9, "1\nnode 3"), ("set-label", 9, ""),
    ("set-feature", 9, "0.5 0.25"), ("set-feature", 9, "0:0.5 1:0.25"), ("set-feature", 9, "", *[0.5] * 12), ("set-feature", 9, [0.5, 0.25]),
    ("insert-node", 9, "0.5,0.25"), ("move-split", 9, "valid id=evil"), ("set-weight", 1, 2, "3 id=evil"), ("insert-edge", 1, 2, "weight", "3 id=evil"),
    ("edge", 1, 2, "expires", "2027-01-31 id=evil"), ("node", 9, "expires", "2027-01-31 12:00"), ("node", 9, "id=A B"), ("node", 9, "id=A\0"),
    ("node 5", 9, "id=A"), ("feature", 9, "expires", "never\x1f")])
def test_a_part_of_a_tuple_is_one_word(store, request_):
    with store.stream() as stream:
        with pytest.raises(unweave.UsageError, match="where one word is wanted"):
            stream.send([("node", 7), request_])
    with pytest.raises(unweave.UsageError, match="where one word is wanted"):
        store.plan(requests=[request_])
    assert store.info().pending_requests == 0 and store.requests() == []


def test_names_of_nodes_are_quoted_whatever_they_hold(tmp_path):
    names = ["a b", 'say "hi"', "c, id=evil", "7", "d expires never"]
    store = unweave.import_store(tmp_path / "s", np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), np.eye(5), ids=names, ids_are="positions")
    with store.stream() as stream:
        said = stream.send([("feature", name, f"id=N{place}") for place, name in enumerate(names)])
        assert said.statuses == ["applied"] * 5
        assert stream.send([("edge", "c, id=evil", "7", "expires", "2999-01-31"), ("node", "#4", "id=last")]).statuses == ["applied"] * 2
        for wrong in ("#1_5", "#4 id=evil", "#", "#+4", "#\u0664"):
            for rest in ((), ("id=A",), ("expires", "never")):
                with pytest.raises(unweave.UsageError, match="whole numbers from 0"):
                    stream.send([("node", wrong, *rest)])
    assert [one.id for one in store.requests()] == [f"N{place}" for place in range(5)] + ["last"]


def test_forget_sets_have_digits_of_ascii(tmp_path):
    for wrong in ("1_5", "\u0661\u0664", "+15", "nan", "inf", "1_0.0", "0x1f"):
        (tmp_path / "a.txt").write_text(f"3\n{wrong}\n", encoding="utf-8")
        with pytest.raises(unweave.DataError, match="line 2"):
            read_forget_set(tmp_path / "a.txt", "node")
        (tmp_path / "a.json").write_text('{"nodes": [3, "%s"]}' % wrong, encoding="utf-8")
        with pytest.raises(unweave.DataError, match=r"nodes\[1\]"):
            read_forget_set(tmp_path / "a.json")
        with pytest.raises(unweave.DataError, match="line 1"):
            ForgetSet.of_requests([f"node {wrong}"])
    for wrong in ("node 99999999999999999999", "node\xa015", "node 15\u2003"):
        with pytest.raises(unweave.DataError, match="line 1"):
            ForgetSet.of_requests([wrong])
    (tmp_path / "a.txt").write_text("3\n15\n1.600000000000000000e+01\n17.0\n")
    assert read_forget_set(tmp_path / "a.txt", "node").targets.tolist() == [3, 15, 16, 17]


def test_a_tile_is_two_whole_numbers(store):
    for wrong in (("0", "2"), (0.5, 2), (0,), 3, "02"):
        with pytest.raises(unweave.UsageError, match="^tile"):
            store.propagate(tile=wrong)


def test_masked_arrays_are_refused_with_what_fills_them(sample, tmp_path):
    gaps = np.arange(400) % 7 == 0
    given = {"features": sample.x, "labels": sample.y, "train": sample.train}
    names = np.array(["a", "b", "c"])[sample.y]
    for argument, wrong, said in (
            ("labels", np.ma.array(sample.y, mask=gaps), "labels.filled(-1)"), ("labels", np.ma.array(sample.y, float, mask=gaps), "labels.filled(numpy.nan)"),
            ("labels", np.ma.array(sample.y, np.uint8, mask=gaps), "labels.astype(int).filled(-1)"), ("labels", np.ma.array(names, mask=gaps), "labels.tolist()"),
            ("features", np.ma.array(sample.x, mask=sample.x > 0.2), "features.filled(VALUE)"), ("train", np.ma.array(sample.train, mask=gaps), "train.filled(False)"),
            ("graph", np.ma.array(sample.edge_index, mask=False), "graph.filled(VALUE)"), ("ids", np.ma.array(np.arange(400) + 400, mask=gaps), "ids.filled(VALUE)")):
        with pytest.raises(unweave.UsageError, match=f"^{argument}: a masked array.*{re.escape(said)}"):
            unweave.import_store(tmp_path / "bad", **{"graph": sample.edge_index, **given, argument: wrong})
        assert not (tmp_path / "bad").exists()
        if argument == "labels":
            mended = eval(said, {"labels": wrong, "numpy": np})  # noqa: S307  what the error advises
            store = unweave.import_store(tmp_path / f"s{len(list(tmp_path.iterdir()))}", sample.edge_index, sample.x, mended)
            assert np.array_equal(store.labels(numbers=True), np.where(gaps, -1, sample.y))
    for rows, classes in ((np.ma.array(sample.x, mask=False), sample.y), (sample.x, np.ma.array(sample.y, mask=gaps))):
        for graph in (None, sample.edge_index):
            with pytest.raises(unweave.UsageError, match="^[Xy]: a masked array"):
                unweave.ForgettingClassifier(hops=1).fit(rows, classes, graph=graph)


def test_numbers_of_what_is_no_name(four):
    for wrong in ([2], ["ann", None], "ann", 2, None, ["\udcff"], [["ann"]]):
        with pytest.raises(unweave.UsageError, match="^names: "):
            four.numbers(wrong)
    assert four.numbers(name for name in ("bob", np.str_("dan"), "#0", b"cid")).tolist() == [1, 3, 0, 2]
    assert four.numbers([]).tolist() == []


class Hostile:
    def __array__(self, dtype=None):
        raise RuntimeError("no array today")


class HostileStream:
    def __arrow_c_stream__(self, requested_schema=None):
        raise OSError("no stream today")


class NoCapsule:
    def __arrow_c_stream__(self, requested_schema=None):
        return 5


class HostileColumn:
    def to_numpy(self):
        raise KeyError("no column today")


@pytest.mark.parametrize("wrong, said", [(Hostile(), "no array today"), (HostileStream(), "no stream today"), (NoCapsule(), "NoCapsule"), (HostileColumn(), "no column today")],
                         ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("argument", ["graph", "features", "labels", "train", "edge_weights"])
def test_objects_that_raise(sample, tmp_path, wrong, said, argument):
    given = {"graph": sample.edge_index, "features": sample.x, "labels": sample.y, argument: wrong, "max_weight": 3 if argument == "edge_weights" else None}
    with pytest.raises(unweave.UsageError, match=f"^{argument}: .*{said}") as caught:
        unweave.import_store(tmp_path / "bad", **given)
    assert caught.value.options == [argument] and not (tmp_path / "bad").exists()


def test_columns_of_features_that_are_called_as_ids(pandas, tmp_path):
    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75, 1.0], "Node_ID": [2, 0, 3, 1]})
    with pytest.raises(unweave.UsageError, match="^features: the column 'Node_ID' may have the ids of nodes, or be a feature; give the others alone") as caught:
        unweave.import_store(tmp_path / "bad", PATH, frame)
    assert caught.value.options == ["features"]
    unweave.import_store(tmp_path / "s", PATH, frame[["x"]])
    unweave.import_store(tmp_path / "t", PATH, frame.rename(columns={"Node_ID": "visits"}))


def test_columns_of_features_that_are_called_as_labels(pandas, tmp_path):
    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75, 1.0], " Label": [0, 1, 0, 1], "train_mask": [True, False, True, True]})
    with pytest.warns(unweave.RemarkWarning, match="called as labels or splits") as caught:
        store = unweave.import_store(tmp_path / "s", PATH, frame, frame[" Label"])
    assert [re.search("column '(.*?)'", str(one.message))[1] for one in caught] == [" Label", "train_mask"]
    assert store.imported.remarks == [str(one.message) for one in caught]
    with pytest.warns(unweave.RemarkWarning, match="called as labels or splits"):
        unweave.import_store(tmp_path / "without", PATH, frame)  # nobody said which are the labels
    assert unweave.import_store(tmp_path / "apart", PATH, frame[["x"]], frame[" Label"]).imported.remarks == []


def test_a_tuple_of_two_edges_is_not_taken_for_sources_and_targets(tmp_path):
    store = unweave.import_store(tmp_path / "s", [("ann", "bob"), ("cyd", "dan"), ("ann", "cyd"), ("bob", "dan")])
    numbered = unweave.import_store(tmp_path / "n", [(0, 1), (2, 3), (0, 2), (1, 3)])
    for one, pair in ((store, (("ann", "bob"), ("cyd", "dan"))), (numbered, ((0, 1), (2, 3)))):
        with one.stream() as stream:
            for call in (stream.remove_edges, stream.insert_edges):
                with pytest.raises(unweave.UsageError, match="may be two edges, or the sources and the targets") as caught:
                    call(pair)
            assert stream.remove_edges(advised(caught, r"give (list\(edges\)) for edges", edges=pair)).statuses == ["applied"] * 2
            assert stream.remove_edges(advised(caught, r"lists, (.*), for sources", edges=pair)).statuses == ["applied"] * 2
            assert stream.remove_edges([]).statuses == [] == stream.insert_edges([]).statuses
        assert len(one.edges()) == 0
    for graph in (((0, 1), (2, 3)), ((0, 1, 2), (2, 3, 4))):
        with pytest.raises(unweave.UsageError, match="^graph: a tuple of two tuples"):
            unweave.import_store(tmp_path / "bad", graph)
    assert unweave.import_store(tmp_path / "empty", [], nodes=3).info().edges == 0


def test_kinds_and_features_of_edges_are_told(tmp_path):
    class Data:
        edge_index = np.array([[0, 1, 2], [1, 2, 3]])
        edge_type = np.array([0, 1, 0])
        edge_attr = np.ones((3, 2))

    data = Data()
    with pytest.raises(unweave.UsageError, match="edge_type says that there are several kinds") as caught:
        unweave.import_store(tmp_path / "s", data)
    data.edge_type = None
    assert "graph.edge_type = None" in str(caught.value)
    with pytest.warns(unweave.RemarkWarning, match="edge_attr has 2 values an edge"):
        unweave.import_store(tmp_path / "s", data)


def test_tables_that_are_no_edges(pandas, tmp_path):
    with pytest.raises(unweave.UsageError, match="'label' is called as labels are; give a table with both ends"):
        unweave.import_store(tmp_path / "s", pandas.DataFrame({"id": [0, 1], "label": [1, 0]}))


def test_targets_of_regression_and_classes_below_zero_are_no_classes(tmp_path):
    edges, rows = [(0, 1), (1, 2), (2, 3)], np.eye(4)
    with pytest.raises(unweave.UsageError, match="Unknown label type: continuous"):
        unweave.ForgettingClassifier().fit(rows, [23.5, 41.0, 18.9, 60.1], graph=edges)
    with pytest.raises(unweave.UsageError, match="-1 stands for no class with a graph, and -2 is one"):
        unweave.ForgettingClassifier().fit(rows, [-2, -1, 0, 0], graph=edges)
    with pytest.raises(unweave.UsageError, match="needs two at least; -1 stands for none"):
        unweave.ForgettingClassifier().fit(rows, [-1, 1, 1, -1], graph=edges)
    with pytest.raises(unweave.UsageError, match="an empty text"):
        unweave.import_store(tmp_path / "s", edges, labels=["a", "", "b", "a"])


def test_forget_sets_that_could_mean_two_things(tmp_path):
    mask = tmp_path / "unlearning_nodes_0.1_cora_0.txt"
    mask.write_text("0\n0\n0\n1\n1\n0\n")
    with pytest.raises(unweave.DataError, match="unlearning_nodes_0.1_cora_0.txt: targets: 6 numbers that are all 0 or 1 seem to be a mask"):
        unweave.read_forget_set(mask)
    for text, said in (('{"unlearning_type": "node", "targets": [0, 1, 1, 0, 0]}', "seem to be a mask"),
                       ('{"unlearning_type": "edge", "targets": [[4, 7, 0], [9, 8, 1]]}', "two lists of 3 and 3 seem to be the sources and the targets"),
                       ('{"unlearning_type": "node", "targets": [3], "targets": [4]}', "'targets' stands there twice")):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(unweave.DataError, match=said):
            unweave.read_forget_set(tmp_path / "f.json")


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
def test_labels_that_are_the_largest_of_their_type(pandas, kind, tmp_path):
    labels = np.array([0, 1, 0, 1, -1]).astype(kind)
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    for number, given in enumerate((labels, pandas.Series(labels))):
        with pytest.raises(unweave.UsageError, match=f"^labels: {labels.max()}, the largest number of type uint.* for no label, or") as caught:
            unweave.import_store(tmp_path / "bad", edges, labels=given)
        mended = advised(caught, "give (.+?) for none", labels=given)
        assert unweave.import_store(tmp_path / f"s{number}", edges, labels=mended).labels().tolist() == [0, 1, 0, 1, -1]
    if kind == "u1":
        as_class = advised(caught, "or (labels.*?) for the class", labels=given)
        assert unweave.import_store(tmp_path / "c", edges, labels=as_class).labels().tolist() == [0, 1, 0, 1, 255]
    with pytest.raises(unweave.UsageError, match="^y: .* may stand for no label"):
        unweave.ForgettingClassifier(hops=1).fit(np.eye(5), labels, graph=edges)


def test_a_moment_without_a_zone_is_none(tmp_path):
    now = datetime.datetime.now()
    store = unweave.import_store(tmp_path / "s", PATH, np.eye(4), [0, 1, 0, 1])
    store.propagate(1)
    with store.stream() as stream:
        for moment in (now, np.datetime64(now).item()):
            with pytest.raises(unweave.UsageError, match="a moment without a zone may be one of UTC or of where this runs"):
                stream.send([("node", 0, "expires", moment)])
            with pytest.raises(unweave.UsageError, match="without a zone"):
                stream.remove_expired(moment)
        late = now.astimezone() + datetime.timedelta(hours=2)
        assert stream.send([("node", 0, "expires", late)]).applied == 1
        assert stream.remove_expired() == [] and len(stream.remove_expired(late.astimezone(datetime.timezone(datetime.timedelta(hours=9))))) == 1


def test_weights_and_masks_of_other_packages(tmp_path):
    class Data:  # as torch_geometric.data.Data has it
        edge_index, edge_attr = np.array(PATH).T, np.array([0.5, 0.5, 0.5])

    with pytest.raises(unweave.DataError, match="a value other than 1, as of a weight, 0.5"):
        unweave.import_store(tmp_path / "bad", Data())
    Data.edge_attr = np.ones((3, 2))
    unweave.import_store(tmp_path / "s", Data())
    masks = np.zeros((4, 2), bool)
    masks[[0, 3], 0] = True
    with pytest.raises(unweave.UsageError, match=r"give one of these masks, train\[:, 0\]"):
        unweave.import_store(tmp_path / "bad", PATH, np.eye(4), [0, 1, 0, 1], train=masks)
    assert unweave.import_store(tmp_path / "t", PATH, np.eye(4), [0, 1, 0, 1], train=masks[:, 0]).splits.train.tolist() == [0, 3]


def test_remarks_of_an_import_are_warnings(tmp_path):
    with pytest.warns(unweave.RemarkWarning, match="no node has class 0"):
        unweave.import_store(tmp_path / "s", PATH, np.eye(4), [1, 2, 1, 2])


def test_a_class_with_a_number_as_its_name(tmp_path):
    store = unweave.import_store(tmp_path / "s", PATH, np.eye(4), ["3", "1", "2", "3"], classes=["1", "2", "3"])
    store.propagate(1)
    with store.stream() as stream:
        outcome = stream.send([("set-label", 0, 1), "set-label 0 1", ("set-label", 0, "1"), "set-label 3 #1"])
        assert outcome.statuses == ["number-or-name", "number-or-name", "applied", "applied"]
    assert store.labels().tolist() == ["1", "1", "2", "2"]


def test_moments_of_numpy(tmp_path):
    store = unweave.import_store(tmp_path / "s", PATH, np.eye(4), [0, 1, 0, 1])
    with store.stream() as stream:
        for node, unit in enumerate(("m", "s", "ms", "ns")):
            moment = np.datetime64("2001-01-31T12:00", unit)
            for call in (stream.remove_expired, lambda moment: stream.send([("node", 0, "expires", moment)])):
                with pytest.raises(unweave.UsageError, match=f"^numpy.datetime64.*{re.escape(str(moment)[:16])}.* a moment without a zone may be one of UTC") as caught:
                    call(moment)
            for pattern in (r"give (\.astype.*?), or", r"or (\.astype.*?), which"):
                mended = eval(f"moment{re.search(pattern, str(caught.value))[1]}", {"moment": moment, "datetime": datetime})  # noqa: S307
                assert mended.replace(tzinfo=None) == datetime.datetime(2001, 1, 31, 12) and stream.remove_expired(mended) == []
        for moment in (np.datetime64("2001-01-31"), np.datetime64("2001-01")):
            assert stream.remove_expired(moment) == []
        assert stream.send([("node", 0, "expires", np.datetime64("2001-01-31"))]).applied == 1
        assert stream.remove_expired(np.datetime64("2001-01-30")) == [] and len(stream.remove_expired(np.datetime64("2001-01-31"))) == 1
        for wrong in (np.datetime64("NaT"), 5, 1.5, datetime.time(1), b"2027", ""):
            with pytest.raises(unweave.UsageError, match="is no moment"):
                stream.remove_expired(wrong)
        for wrong in (0, -1, 1.5, "x"):
            with pytest.raises(unweave.UsageError, match="^batch: "):
                stream.remove_expired(batch=wrong)


def test_a_batch_of_nothing_has_no_time(store, sample):
    """It had that of 1 January 1970."""
    with store.stream(strict=True) as stream:
        assert stream.send([]).time is None and stream.remove_nodes([]).time is None
        refused = stream.send([("node", 400)])
        assert refused.refused and refused.time is None
        assert stream.send([("node", 3)]).time > "2026"
        with pytest.raises(unweave.UsageError, match="^nodes: None"):
            stream.remove_nodes(None)
    model = unweave.ForgettingClassifier(hops=1).fit(sample.x, sample.y, graph=sample.edge_index)
    with pytest.raises(unweave.UsageError, match="^nothing is asked for; give nodes, edges or features that are to be forgotten$"):
        model.forget()
    with pytest.raises(unweave.UsageError, match=r"nothing is asked for; .*; store_.purge\(\) erases what was forgotten before"):
        model.forget(purge=True)
    assert model.forget(nodes=[]).time is None and model.forget(nodes=[3]).time > "2026"
    model.store_.purge()


def test_rows_that_are_longer_than_the_scale_are_told(tmp_path):
    rows = np.array([[3.0, 4], [1, 0], [0, 2], [0.5, 0.5]])
    with pytest.warns(unweave.RemarkWarning, match="^features: 1 of 4 rows are longer than scale=2 and were divided by their norm") as caught:
        store = unweave.import_store(tmp_path / "s", PATH, rows, scale=2)
    assert store.imported.rows_scaled == 1 and store.imported.remarks == [str(caught[0].message)]
    scale = float(re.search(r"such as scale=(\d+)", str(caught[0].message))[1])
    mended = unweave.import_store(tmp_path / "t", PATH, rows, scale=scale)
    assert mended.imported.rows_scaled == 0 and mended.imported.remarks == []
    mended.propagate(0, rows="all")
    assert np.allclose(mended.embeddings() * scale, rows)
    assert unweave.import_store(tmp_path / "r", PATH, rows).imported.remarks == []  # the default does so by its name
    for given, longer in ((1, "X: 2 of 4 rows are longer than 1"), ("rows", "X: 2 of 4 rows are longer than 1"), (2, "1 of 4 rows are longer than scale=2")):
        with pytest.warns(unweave.RemarkWarning) as caught:
            unweave.ForgettingClassifier(scale=given).fit(rows, [0, 1, 0, 1], graph=PATH)
        assert [longer in str(one.message) for one in caught if one.category is unweave.RemarkWarning] == [True]


@pytest.mark.parametrize("how", ["rows", "graph", "features"])
def test_columns_of_an_estimator_that_are_called_as_ids_and_labels(pandas, how):
    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75, 0.1], "z": [0.5, 0.25, 0.1, 0.75], "node_id": [2, 0, 3, 1],
                              "label": [0.0, 0.1, 0.0, 0.1], "train": [0.1] * 4})
    name = "features" if how == "features" else "X"

    def fitted(table):
        if how == "features":
            return unweave.ForgettingClassifier(graph=PATH, features=table).fit([0, 1, 2, 3], [0, 1, 0, 1])
        return unweave.ForgettingClassifier().fit(table, [0, 1, 0, 1], **({"graph": PATH} if how == "graph" else {}))

    with pytest.raises(unweave.UsageError, match=f"^{name}: the column 'node_id' may have the ids of nodes, or be a feature; give the others alone") as caught:
        fitted(frame)
    assert caught.value.options == [name]
    for table in (frame.drop(columns="node_id"), frame.rename(columns={"node_id": "visits"}).assign(visits=0.5)):
        with pytest.warns(unweave.RemarkWarning) as caught:
            fitted(table)
        told = [str(one.message) for one in caught if "called as labels or splits are" in str(one.message)]
        assert [re.search(f"^{name}: the column '(.*?)'", one)[1] for one in told] == ["label", "train"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(frame[["x", "z"]])


INDEXES = [[13, 11, 10, 12], [3, 1, 0, 2], list("dbac")]


@pytest.mark.parametrize("index", INDEXES)
def test_masks_with_the_index_of_a_fit(pandas, index):
    X = pandas.DataFrame({"a": [0.1, 0.2, 0.3, 0.4], "b": [0.4, 0.3, 0.1, 0.2]}, index=index)
    y = pandas.Series([0, 1, 0, 1], index=index)
    first = pandas.Series([True, False, False, False], index=index)
    for of, rows, classes in (("X", X, y), ("y", X.to_numpy(), y), (None, X.to_numpy(), y.to_numpy())):
        for mask in (first, first.sort_index()):
            for call in ("forget", "features", "predict"):
                model = unweave.ForgettingClassifier().fit(rows, classes)
                expected = model.predict(unweave.NodeNumbers([0])).tolist()
                ask = {"forget": lambda given: model.forget(nodes=given), "features": lambda given: model.forget(features=given),
                       "predict": model.predict}[call]
                name, table = {"forget": "nodes", "features": "features", "predict": "X"}[call], "T" if call == "predict" else of or "X"
                with pytest.raises(unweave.UsageError, match=f"^{name}: a mask with an index") as caught:
                    ask(mask)
                given = {name: mask, table: y if of == "y" else X}
                by_index = advised(caught, r"give (\S+\.reindex\(.*?\)\.to_numpy\(\))", **{table: given[table], **given})
                assert by_index.tolist() == [True, False, False, False]
                as_it_stands = advised(caught, r"or (\w+\.to_numpy\(\)) where", **{name: mask})
                assert as_it_stands.tolist() == mask.tolist()
                done = ask(by_index)
                assert done.tolist() == expected if call == "predict" else done.statuses == ["applied"]
                assert call != "forget" or model.forgotten_.tolist() == [0]
    # One that numbers its rows is a mask of the rows, but where the labels of the fit are these numbers as well.
    model, mask = unweave.ForgettingClassifier().fit(X, y), first.reset_index(drop=True)
    if sorted(map(str, index)) == ["0", "1", "2", "3"]:
        with pytest.raises(unweave.UsageError, match="^nodes: a mask with an index") as caught:
            model.forget(nodes=mask)
        assert advised(caught, r"give (\S+\.reindex\(.*?\)\.to_numpy\(\))", nodes=mask, X=X).tolist() == [False, False, True, False]
    else:
        assert model.forget(nodes=mask).statuses == ["applied"] and model.forgotten_.tolist() == [0]


@pytest.mark.parametrize("index", INDEXES)
def test_training_rows_with_the_index_of_a_fit(pandas, index):
    X = pandas.DataFrame({"a": [0.1, 0.2, 0.3, 0.4], "b": [0.4, 0.3, 0.1, 0.2]}, index=index)
    y, mask = pandas.Series([0, 1, 0, 1], index=index), pandas.Series([True, True, True, False], index=index)

    def trained(rows, classes, train):
        model = unweave.ForgettingClassifier().fit(rows, classes, train=train)
        return model.store_.splits.train.tolist()

    whole = pandas.concat([mask, pandas.Series([True], index=["e" if index[0] == "d" else 99])])
    for of, rows in (("X", X), ("y", X.to_numpy())):
        assert trained(rows, y, mask) == trained(rows, y, mask.to_numpy()) == [0, 1, 2]
        for given in (mask.sort_index(), whole):
            with pytest.raises(unweave.UsageError, match=f"^train: its index is not that of {of}, and row i of both belongs together") as caught:
                trained(rows, y, given)
            assert trained(rows, y, advised(caught, r"give (\S+)[,;]", train=given, X=X, y=y)) == [0, 1, 2]
            assert advised(caught, r"or (train\.to_numpy\(\)) where", train=given).tolist() == given.tolist()
        with pytest.raises(unweave.UsageError, match="^train: the rows of the fit had an index other than 0, 1, 2") as caught:
            trained(rows, y, index[:3])
        labels = {"train": mask.index[:3], "X": X, "y": y, "unweave": unweave}
        assert trained(rows, y, advised(caught, r"give (unweave.*?) for labels", **labels)) == [0, 1, 2]
        assert trained(rows, y, advised(caught, r"fit, or (.*) for rows", train=[0, 1, 3], unweave=unweave)) == [0, 1, 3]
    # Arrays have no index, and a mask with one is read as it stands alone.
    with pytest.raises(unweave.UsageError, match="^train: its index is not that of X") as caught:
        trained(X.to_numpy(), y.to_numpy(), mask)
    assert trained(X.to_numpy(), y.to_numpy(), advised(caught, r"give (train\.to_numpy\(\)) where", train=mask)) == [0, 1, 2]


def test_a_score_of_classes_in_another_order(pandas):
    index = list("dbac")
    X = pandas.DataFrame({"a": [0.1, 0.9, 0.1, 0.9], "b": [0.9, 0.1, 0.9, 0.1]}, index=index)
    y, weights = pandas.Series([0, 1, 0, 1], index=index), pandas.Series([1.0, 2, 3, 4], index=index)
    rows = unweave.ForgettingClassifier().fit(X, y)
    graph = unweave.ForgettingClassifier(hops=0).fit(X, y, graph=PATH, ids=index)
    nodes = unweave.ForgettingClassifier(hops=0, graph=PATH, features=X.to_numpy(), ids=index).fit(index, y.tolist())
    some, mask = pandas.Series(["d", "b"]), pandas.Series([True, True, False, False], index=index)
    for model, given, classes, remedy in ((rows, X, y, r"X\.index"), (graph, X, y, r"X\.index"), (graph, X.to_numpy(), y, "ids"), (graph, None, y, "ids"),
                                          (graph, some, y[:2], "X"), (graph, mask, y[:2], r"X\.index\[X\]"), (nodes, some, y[:2], "X")):
        assert model.score(given, classes) == 1
        for name, value in (("y", classes), ("sample_weight", weights[classes.index])):
            beside = {"y": classes, "sample_weight": weights[classes.index]}
            moved = value.sort_index()
            with pytest.raises(unweave.UsageError, match=rf"^{name}: .*give {name}\.loc\[{remedy}\], or") as caught:
                model.score(given, **{**beside, name: moved})
            mended = advised(caught, r"give (\S+), or", X=given, ids=index, **{name: moved})
            assert mended.index.tolist() == classes.index.tolist() and model.score(given, **{**beside, name: mended}) == 1
            as_it_stands = advised(caught, r"or (\S+) where", **{name: moved})
            share = np.average(as_it_stands == classes.to_numpy(), weights=beside["sample_weight"]) if name == "y" else 1
            assert model.score(given, **{**beside, name: as_it_stands}) == pytest.approx(share)
    numbers = pandas.Series([0, 1], index=[2, 0])  # those of the nodes, in the order of a mask
    plain = unweave.ForgettingClassifier(hops=0).fit(X.to_numpy(), y.to_numpy(), graph=PATH)
    with pytest.raises(unweave.UsageError, match=r"y\.loc\[numpy\.flatnonzero\(X\)\]"):
        plain.score(np.array([True, False, True, False]), numbers)
    with pytest.raises(unweave.NotFittedError):
        unweave.ForgettingClassifier().score(X, y)


@pytest.mark.parametrize("named", [True, False])
def test_tables_of_edges_whose_index_may_be_an_end(pandas, named, tmp_path):
    pairs = [("ann", "bob"), ("cyd", "dan"), ("ann", "cyd"), ("bob", "dan")] if named else [(0, 1), (2, 3), (0, 2), (1, 3)]
    frame = pandas.DataFrame(pairs[:2], columns=["src", "dst"])
    other = frame.rename(columns={"src": "a", "dst": "b"})
    cases = [frame.set_index("src"), frame.set_index("dst"), frame.set_index(["src", "dst"]), frame.assign(w=2).set_index("src"),
             frame.assign(w=2).set_index("dst"), frame.assign(weight=2).set_index(["src", "dst"]), frame.assign(w=2, z=7).set_index("src"),
             other.assign(id=[5, 6]).set_index("id"), other.set_index("a", drop=False),
             *([frame.set_index("src").rename_axis(None)] if named else [])]
    for number, table in enumerate(cases):
        store = unweave.import_store(tmp_path / f"s{number}", pairs)
        with store.stream() as stream:
            for call, edges in ((stream.remove_edges, 2), (stream.insert_edges, 4)):
                with pytest.raises(unweave.UsageError, match="^edges: its index .* may be an end of the edges; give edges") as caught:
                    call(table)
                assert call(advised(caught, r"give (edges.*?\)(?:\[\[.*?\]\])?)(?:,| where|$)", edges=table)).statuses == ["applied"] * 2
        assert len(store.edges()) == 4
        for weighted in ({}, {"max_weight": 3}) if table.shape[1] + table.index.nlevels > 2 and "b" not in table.columns else ({},):
            with pytest.raises(unweave.UsageError, match="^graph: its index .* may be an end of the edges; give graph") as caught:
                unweave.import_store(tmp_path / "bad", table, **weighted)
            mended = advised(caught, r"give (graph.*?\)(?:\[\[.*?\]\])?)(?:,| where|$)", graph=table)
            read = unweave.import_store(tmp_path / f"i{number}{len(weighted)}", mended, **weighted)
            assert {frozenset(read.ids()[end] if named else end for end in pair) for pair in read.edges().tolist()} == set(map(frozenset, pairs[:2]))
            assert read.info().weight_sum == (4 if weighted else None)
    store = unweave.import_store(tmp_path / "plain", pairs)
    with store.stream() as stream:
        for table in (frame.assign(w=2), frame.assign(w=2, z=[4, 5]).set_index("z")):
            with pytest.raises(unweave.UsageError, match="^edges: a table of 3 columns, where the two ends are wanted; give these alone, edges") as caught:
                stream.remove_edges(table)
            assert stream.remove_edges(advised(caught, r"alone, (.*)$", edges=table)).requests == 2
        with pytest.raises(unweave.UsageError, match="^edges: a table of 1 columns, where the two ends are wanted; give a table with both$"):
            stream.remove_edges(frame[["src"]])
    assert len(unweave.import_store(tmp_path / "called", frame.assign(id=[5, 6]).set_index("id")).edges()) == 2  # both ends are called so


def test_tables_where_nodes_are_wanted(pandas, tmp_path):
    store = unweave.import_store(tmp_path / "s", PATH, np.eye(4), [0, 1, 0, 1], ids=NAMES, train=NAMES)
    store.propagate(1)
    store.train()
    table = pandas.DataFrame({"who": ["bob"], "why": ["asked"]}, index=["dan"])
    model = unweave.ForgettingClassifier(hops=0).fit(np.eye(4), [0, 1, 0, 1], graph=PATH, ids=NAMES)
    with store.stream() as stream:
        calls = {"nodes": [store.predict, store.embeddings, stream.remove_features, stream.remove_nodes, lambda given: model.forget(nodes=given)],
                 "features": [lambda given: model.forget(features=given)]}
        for name, call in [(name, call) for name in ("features", "nodes") for call in calls[name]]:
            said = f"^{name}: a table, whose index may have the nodes, or a column their numbers or a mask; give a column"
            with pytest.raises(unweave.UsageError, match=said) as caught:
                call(table)
            column, index = advised(caught, r"column, (\S+\(\)), or", **{name: table}), advised(caught, r"or (list\(.*\))", **{name: table})
            assert column.tolist() == ["bob"] and index == ["dan"]
            with pytest.raises(unweave.UsageError, match=rf"give a column, {name}\['who'\]$"):  # rows that are numbered have no nodes in their index
                call(table.reset_index(drop=True))
            assert len(call(column)) > 0
    assert store.edges().tolist() == [[2, 3]] and model.forgotten_.tolist() == [1]


def test_names_that_are_numbers_as_texts(tmp_path):
    names, pairs = ["138", "7", "12", "x"], [("138", "7"), ("7", "12"), ("12", "138")]
    store = unweave.import_store(tmp_path / "s", pairs, np.eye(4), [0, 1, 0, 1], ids=names, train=names)
    store.propagate(1)
    store.train()
    said = 'no node has the number 138; numbers are 0 to 3, and names are texts here, of which "138" is one; give'
    for given in ([138], np.array([138, 7])):
        for call in (store.predict, store.predict_proba, store.scores, store.embeddings, lambda nodes: next(store.batches(nodes))[1]):
            with pytest.raises(unweave.UsageError, match=f"^nodes: {said}") as caught:
                call(given)
            assert np.array_equal(call(advised(caught, "give (.*) for names", nodes=given)), call(unweave.NodeNumbers([0, 1][:len(given)])))
    for requests in ([("node", 138)], [("edge", 138, 7)], [("node", 138, "id=T1")], [("set-label", 138, 1)]):
        with store.stream() as stream, pytest.raises(unweave.UsageError, match=f"^requests: {said} them in quotes"):
            stream.send(requests)
    for call in (store.plan, store.audit):
        with pytest.raises(unweave.UsageError, match=f"^requests: {said} them in quotes"):
            call(requests=[("node", 138)])
    assert store.plan(requests=[("node", "138")]).applied == 1
    with store.stream() as stream:
        assert stream.send([("edge", 0, 2), ("insert-edge", "138", "12")]).statuses == ["applied"] * 2  # numbers of nodes
        for given in ([(138, 7)], np.array([[138, 7]]), ([138], [7])):
            for call in (stream.remove_edges, stream.insert_edges):
                with pytest.raises(unweave.UsageError, match=f"^edges: {said}") as caught:
                    call(given)
                assert call(advised(caught, "give (.*) for names", edges=given)).statuses == ["applied"]
        for call in (stream.remove_features, stream.remove_nodes):
            with pytest.raises(unweave.UsageError, match=f"^nodes: {said}") as caught:
                call([138])
            assert call(advised(caught, "give (.*) for names", nodes=[138])).statuses == ["applied"]
            with pytest.raises(unweave.UsageError, match="^nodes: no node has the number 139; numbers are 0 to 3. Nothing was sent"):
                call([139])
    for given in ({"train": [138, 7]}, {"graph": [(138, 7), (7, 12), (12, 138)]}):
        options = {"graph": pairs, "features": np.eye(4), "labels": [0, 1, 0, 1], "ids": names, **given}
        with pytest.raises(unweave.DataError, match="outside the graph") as caught:
            unweave.import_store(tmp_path / "bad", **options)
        ids_are = re.search(r'give ids_are="(.*)"', str(caught.value))[1]
        read = unweave.import_store(tmp_path / f"t{len(given)}{next(iter(given))}", **options, ids_are=ids_are)
        assert read.edges().tolist() == [[0, 1], [0, 2], [1, 2]] and ("train" not in given or read.splits.train.tolist() == [0, 1])
    model = unweave.ForgettingClassifier(hops=0, graph=pairs, features=np.eye(4), ids=names)
    with pytest.raises(unweave.UsageError, match=f"^X: {said}") as caught:
        model.fit([138, 7], [0, 1])
    model.fit(advised(caught, "give (.*) for names", X=[138, 7]), [0, 1])
    for ask, name, given in ((model.predict, "X", [138]), (lambda given: model.forget(edges=given), "edges", [(138, 7)]),
                             (lambda given: model.forget(nodes=given), "nodes", [138])):
        with pytest.raises(unweave.UsageError, match=f"^{name}: {said}") as caught:
            ask(given)
        assert len(ask(advised(caught, "give (.*) for names", **{name: given}))) > 0
    assert model.forgotten_.tolist() == [0]
