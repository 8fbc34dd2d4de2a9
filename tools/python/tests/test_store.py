# tools/python/tests/test_store.py - a store from import to purge, against dense references and the command line.
import contextlib
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import unweave


def test_five_lines_from_edge_index_to_embeddings(sample, tmp_path):
    store = unweave.import_store(tmp_path / "s", sample.edge_index, sample.x)
    store.propagate(hops=2)
    rows = store.embeddings()
    assert np.abs(rows - sample.hop(2)).max() < 1e-5


def test_embeddings_are_a_read_only_map_or_rows_in_memory(store, tmp_path):
    everything = store.embeddings()
    assert isinstance(everything, np.memmap) and not everything.flags.writeable and everything.dtype == np.float32
    assert not [path for path in store.path.parent.iterdir() if path.name.startswith(".embeddings")]
    some = store.embeddings([7, 3, 7])
    assert np.array_equal(some, everything[[7, 3, 7]])
    mask = np.zeros(400, bool)
    mask[[3, 9]] = True
    assert np.array_equal(store.embeddings(mask), everything[[3, 9]])
    named = store.embeddings(out=tmp_path / "Z.npy")
    assert np.array_equal(named, everything) and (tmp_path / "Z.npy").exists()
    assert store.embeddings([]).shape == (0, 12)


def test_rows_of_a_model_are_those_of_its_program(store, sample, program, tmp_path):
    with pytest.raises(unweave.UsageError, match="train"):
        store.rows()
    store.train("exact")
    trained = np.flatnonzero(sample.train)
    assert np.array_equal(store.rows(), store.embeddings(trained))  # of levels alone
    store.train("exact", name="wide", rows_of="stack,degree,labels", lift=64)
    with pytest.raises(unweave.UsageError, match="wide"):
        store.rows()
    rows = store.rows(name="wide")
    assert rows.dtype == np.float32 and rows.shape == (250, 3 * 12 + 3 + 32 + 128)
    file = tmp_path / "rows.npy"
    subprocess.run([program, "export", store.path, "--rows", file, "--name", "wide"], check=True, capture_output=True)
    assert np.array_equal(rows, np.load(file))
    named = store.rows([7, 3, 7], name="wide", out=tmp_path / "some.npy")
    assert isinstance(named, np.memmap) and np.array_equal(named, rows[[7, 3, 7]])
    assert np.array_equal(store.rows(np.arange(400) == 3, name="wide"), rows[[3]])
    assert store.rows([], name="wide").shape == (0, rows.shape[1])
    counts = np.zeros(3)
    neighbours = np.flatnonzero(sample.adjacency()[3])
    for node in neighbours[neighbours != 3]:
        counts[sample.y[node]] += sample.train[node]
    shares = rows[3, 36:39] / rows[3, 36:39].sum()  # the row is divided by its norm, and by sqrt(2)
    assert np.allclose(shares, counts / counts.sum())
    for nodes, match in (([400], "399"), ("wide", "nodes"), ([1.5], "float64")):
        with pytest.raises(unweave.UsageError, match=match):
            store.rows(nodes, name="wide")
    with pytest.raises(unweave.UsageError, match="narrow"):
        store.rows(name="narrow")
    with store.stream("exact", name="wide") as stream:
        stream.remove_edges([(3, int(neighbours[neighbours != 3][0]))])
    assert not np.array_equal(store.rows([3], name="wide"), rows[[3]])
    with pytest.warns(UserWarning, match="outdated"):
        store.rows(name="exact")
    store.propagate(hops=1, rows="all")
    with pytest.raises(unweave.DataError, match="wide"):
        store.rows(name="wide")


def test_rows_that_are_kept_in_place_of_sums_are_those_of_the_sums(store):
    wanted = store.embeddings()
    hop = store.embeddings(weights=[0, 1, 0])
    assert store.info().keep == "state"
    planned = store.plan(hops=2, rows="all", keep="embedding")
    store.propagate(hops=2, rows="all", keep="embedding")
    info = store.info()
    assert (info.keep, info.keep_type, info.keep_exponent) == ("embedding", "f32", 0)
    assert planned.state_bytes == info.bytes["state"]
    assert np.array_equal(store.embeddings(), wanted)
    with pytest.raises(unweave.UsageError, match="keep"):
        store.embeddings(weights=[0, 1, 0])
    store.train("exact")
    assert dict(store.certificates(solver="exact")[-1].rows) == {"keep": "embedding", "type": "f32", "exponent": 0}
    with pytest.raises(unweave.UsageError, match="keep"):
        with store.stream() as stream:
            stream.remove_nodes([3])
    store.propagate(hops=2, rows="all", keep="hops", keep_type="f16", keep_exponent=3)
    halves = (hop * np.float32(8)).astype(np.float16).astype(np.float32) / np.float32(8)
    assert np.array_equal(store.embeddings(weights=[0, 1, 0]), halves)
    assert store.verify().ok
    for options in ({"keep": "rows"}, {"keep_type": "f16"}, {"keep_exponent": 1}, {"keep": "hops", "keep_exponent": 1},
                    {"keep": "hops", "keep_type": "f64"}):
        with pytest.raises(unweave.UsageError):
            store.propagate(**options)


def test_nodes_without_a_row_are_told(sample, tmp_path):
    y = sample.y.copy()
    y[350:] = -1
    store = unweave.import_store(tmp_path / "g.store", sample.edge_index, sample.x, y, train=sample.train)
    store.propagate(hops=2)
    store.train("exact")
    asked = [store.embeddings, lambda: store.embeddings(out=tmp_path / "Z.npy"), store.predict, store.predict_proba, store.scores]
    for ask in asked:
        with pytest.warns(unweave.MissingRowsWarning, match=r"^50 of 400 nodes have no row of Z.*embedded\(\)") as told:
            assert len(ask()) == 350
        assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(store.embedded(), np.arange(350))
        whole = store.embeddings(missing="nan")
        assert len(whole) == 400 and np.isnan(whole[350:]).all() and not np.isnan(whole[:350]).any()
        assert np.array_equal(store.embeddings(store.embedded(), out=tmp_path / "Z.npy"), whole[:350])
        assert len(store.predict(store.embedded())) == 350 and sum(len(ids) for ids, _ in store.batches()) == 350
        assert store.evaluate()[0].metrics.train.rows == 250  # a node with a label has a row
    with pytest.warns(unweave.RemarkWarning, match="must be trained again: exact"):
        store.propagate(hops=2, rows="all")
    assert len(store.embeddings()) == 400


@pytest.mark.parametrize(("options", "message"), [
    ({"hidden": [3]}, "hidden is for head='mlp'"), ({"activation": "smelu"}, "activation is for head='mlp'"), ({"epsilon": 0.5}, "exact draws no noise"),
    ({"delta": 0.1}, "exact draws no noise"), ({"tau": 1e-3}, "exact has no use for tau"), ({"alpha": 2.0}, "exact has no use for alpha"),
    ({"solver": "newton", "alpha": 2.0}, "newton has no use for alpha")])
def test_options_that_say_nothing_to_a_solver_are_refused(store, options, message):
    with pytest.raises(unweave.UsageError, match=message):
        store.train(**options)


def test_what_takes_models_away_or_leaves_them_behind_is_warned_of(store):
    store.train("exact", head="softmax")
    store.train("newton")
    with pytest.warns(unweave.RemarkWarning, match="replaces the model exact: head softmax -> logistic"):
        store.train("exact")
    with pytest.warns(unweave.RemarkWarning, match="do not follow the stream.*: exact, newton"), store.stream() as stream:
        stream.send(["node 3"])
    with pytest.warns(unweave.RemarkWarning, match="the model newton is outdated: it has absorbed 0 of 1 requests"):
        store.predict(name="newton")
    with pytest.warns(unweave.RemarkWarning, match="removes these models.*: newton"):
        store.purge()


def test_a_stream_that_is_left_while_others_send_ends_between_their_batches(store, tmp_path):
    """A thread in send() met descriptors that were closed under it, and wrote into files that were opened since."""
    lines = [f"edge {node} {node + 1}" for node in range(300)]
    for trial in range(20):
        outcomes = []

        def send(stream=None, outcomes=outcomes):
            try:
                while True:
                    outcomes.append(stream.send(lines))
            except unweave.UsageError as error:
                outcomes.append(str(error))

        threads = []
        with contextlib.suppress(ZeroDivisionError), store.stream() as stream:
            threads = [threading.Thread(target=send, args=(stream,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            time.sleep(0.001 * trial)
            raise ZeroDivisionError
        files = [tmp_path / f"own{number}" for number in range(20)]
        with contextlib.ExitStack() as opened:
            for file in files:
                opened.enter_context(file.open("wb")).write(b"precious")
            for thread in threads:
                thread.join()
        assert all(file.read_bytes() == b"precious" for file in files)
        assert outcomes.count("the stream is closed; open another one") == 2
    assert store.verify().ok


def test_edges_and_labels_come_back(store, sample, tmp_path):
    u, v = np.sort(sample.edge_index, axis=0)
    wanted = np.unique(np.stack([u, v], axis=1)[u != v], axis=0)
    assert np.array_equal(store.edges(), wanted) and np.array_equal(store.labels(), sample.y)
    mapped = store.edges(out=tmp_path / "edges.npy")
    assert isinstance(mapped, np.memmap) and np.array_equal(mapped, wanted)


def test_batches_cover_all_rows_once_and_hops_are_the_levels(store, sample):
    seen = []
    for ids, rows in store.batches(size=150, shuffle=3, hops=True):
        assert rows.shape == (len(ids), 3, 12) and rows.dtype == np.float32
        for level in range(3):
            assert np.abs(rows[:, level] - sample.hop(level)[ids]).max() < 1e-5
        seen.append(ids)
    assert [len(ids) for ids in seen] == [150, 150, 100]
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(400))
    again = [ids for ids, _ in store.batches(size=150, shuffle=3)]
    assert np.array_equal(np.concatenate(again), np.concatenate(seen))


def test_unlearning_equals_training_anew(store, sample, tmp_path):
    trained = store.train("exact")
    assert trained.certified and trained.claim == "T0" and trained.accuracy_test > 0.5
    removed = store.edges()[:40]
    with store.stream("exact") as stream:
        first = stream.remove_edges(removed)
        second = stream.send([("node", 12), "feature 3", ("edge", 5, 5), ("node", 12)])
        assert stream.accuracy().train > 0.5
    assert first.applied == 40 and first.certified
    assert second.statuses == ["applied", "applied", "self-loop", "repeated"]

    kept = store.edges()
    x, y = sample.x.copy(), sample.y.copy()
    x[[12, 3]], y[[12, 3]] = 0, -1  # without features a node has no place among the training rows
    anew = unweave.import_store(tmp_path / "anew", kept, x, y, train=sample.train, test=sample.test, nodes=400)
    anew.propagate(hops=2, rows="all")
    anew.train("exact")
    assert np.array_equal(anew.embeddings(), store.embeddings())
    one, other = (s.export_model(tmp_path / name) for s, name in ((store, "a.npy"), (anew, "b.npy")))
    assert np.array_equal(np.load(one), np.load(other))
    assert np.array_equal(store.predict(np.arange(400)), anew.predict(np.arange(400)))
    assert store.verify(rebuild=True).ok
    purged = store.purge()
    assert purged.models_kept == ["exact"] and not purged.models_uncertified
    assert store.info(digest=True).digest == anew.info(digest=True).digest
    assert store.certificates()[0].certified


def test_several_models_follow_one_stream(store):
    for name in ("one", "two"):
        store.train("exact", name=name, lambda_=0.01 if name == "one" else 0.02)
    store.train("newton")
    with store.stream(name=["one", "two", "newton"]) as stream:
        assert "one, two, newton" in repr(stream)
        outcome = stream.send([("node", 3)])
        assert [model["name"] for model in outcome.models] == ["one", "two", "newton"]
        assert outcome.models[1]["certified"] and outcome.claim == outcome.models[0]["claim"]
    assert [store.certificates(name=name)[0].release for name in ("one", "two", "newton")] == [2, 2, 2]
    with store.stream(name="one") as stream:
        assert "models" not in stream.send([("node", 4)])
    for wrong in ({"solver": ["exact", "newton"], "name": "one"}, {"solver": ["exact"], "name": ["one"]}, {"name": []}):
        with pytest.raises(unweave.UsageError, match="name"):
            store.stream(**wrong)


def test_a_mask_of_numbers_removes_nobody(store):
    mask = np.zeros(400, int)
    mask[[5, 6]] = 1
    wrong = [mask, mask.astype(np.uint8), mask.tolist(), [True, False], True, np.zeros(401, bool), np.ma.array([5, 6], mask=[0, 1])]
    with store.stream() as stream:
        for nodes in wrong:
            for call in (stream.remove_nodes, stream.remove_features, store.embeddings):
                with pytest.raises(unweave.UsageError, match="mask"):
                    call(nodes)
        assert stream.remove_nodes(mask.astype(bool)).applied == 2
    assert store.info().acknowledged == 2


def test_a_graph_of_networkx_is_told(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_edge(0, 1)
    with pytest.raises(unweave.UsageError, match="to_scipy_sparse_array"):
        unweave.import_store(tmp_path / "n", graph)
    assert unweave.import_store(tmp_path / "n", networkx.to_scipy_sparse_array(graph)).num_nodes == 6


def test_weights_of_the_levels_are_chosen_on_the_validation_split(sample, tmp_path):
    store = unweave.import_store(tmp_path / "v.store", sample.edge_index, sample.x, sample.y, train=sample.train, valid=sample.test)
    store.propagate(hops=2)
    report = store.train("exact", weights="auto")
    best = max(trial["accuracy_valid"] for trial in report.level_weights_trials)
    assert report.accuracy_valid == best and report.level_weights_chosen.startswith("validation at version")
    with pytest.raises(unweave.UsageError, match="neither numbers nor 'auto'"):
        store.train("exact", weights="often")


def test_what_requests_set_is_what_an_import_of_the_changed_data_holds(store, sample, tmp_path):
    x, y, train = sample.x.copy(), sample.y.copy(), sample.train.copy()
    x[7], x[8] = 0.125, 0
    x[8, 3] = -0.5
    y[9], train[10], train[260] = (y[9] + 1) % 3, False, True
    with store.stream() as stream:
        outcome = stream.send([("set-feature", 7, *[np.float64(0.125)] * 12), "set-feature 8 3:-0.5", ("set-label", 9, int(y[9])),
                               ("move-split", 10, "none"), "move-split 260 train", ("set-label", 9, int(y[9])), "edge 400 1"])
        assert outcome.statuses == ["applied"] * 5 + ["repeated", "id-outside"]
        assert (outcome.features_set, outcome.labels_set, outcome.splits_moved) == (2, 1, 2)
        with pytest.raises(unweave.UsageError, match="request 1: not a request: 'set-label 3 x'"):
            stream.send(["node 1", "set-label 3 x"])
    anew = unweave.import_store(tmp_path / "anew", sample.edge_index, x, y, train=train, test=sample.test)
    anew.propagate(hops=2, rows="all")
    assert store.info(digest=True).digest == anew.info(digest=True).digest


def test_a_number_with_a_fraction_is_no_id(store):
    with store.stream() as stream:
        for bad in [("node", 1.9), ("feature", 3.999), ("insert-edge", 20, 21.5), ("node", True), ("node", float("nan")), ("node", float("inf"))]:
            with pytest.raises(unweave.UsageError, match="whole numbers"):
                stream.send([bad])
        for bad in (5, (), "", [("set-feature", 1.9, *[0.5] * 12)]):
            with pytest.raises(unweave.UsageError):
                stream.send([bad] if not isinstance(bad, list) else bad)
        assert stream.send([("feature", 3.0), ("feature", np.float64(4)), "feature 5 id=F5"]).applied == 3
        assert stream.send([("feature", 6, "id=F6"), ("feature", 6, "id=F6"), ("insert-edge", 20, 21, "id=E1")]).statuses[1] == "known-id"
        assert stream.send("node 7").applied == 1
        before = {tuple(edge) for edge in store.edges().tolist()}
        for change in (stream.remove_edges, stream.insert_edges):
            with pytest.raises(unweave.UsageError, match="in rows or in columns"):
                change([[8, 9], [10, 11]])
        assert {tuple(edge) for edge in store.edges().tolist()} == before
        some = sorted(before - {edge for edge in before if {7, 3, 4, 5} & set(edge)})[:2]
        assert stream.remove_edges(some).edges_removed == 2
    assert {tuple(edge) for edge in store.edges().tolist()} == before - set(some)
    fitted = unweave.ForgettingClassifier()
    for bad in (dict(nodes=[12.9]), dict(features=[1.5]), dict(edges=[[1.5, 2]]), dict(edges=[[1, 2], [3, 4]])):
        with pytest.raises(unweave.UsageError, match="where|in rows or in columns"):
            fitted.forget(**bad)


def test_edges_go_when_their_time_has_come(store):
    edges = [tuple(edge) for edge in store.edges().tolist()]
    zone = datetime.timezone(datetime.timedelta(hours=2))
    with store.stream() as stream:
        outcome = stream.send([("edge", *edges[0], "expires", "2001-01-01"),
                               ("edge", *edges[1], "expires", datetime.datetime(2002, 1, 1, 1, tzinfo=zone)),
                               ("edge", *edges[2], "expires", datetime.datetime(2003, 1, 1, tzinfo=datetime.timezone.utc)),
                               ("edge", *edges[3], "expires", datetime.date(2999, 1, 1)),
                               f"edge {edges[4][0]} {edges[4][1]} expires never"])
        assert outcome.statuses == ["applied"] * 4 + ["same-expiry"] and outcome.expiries_set == 4
        gone = stream.remove_expired(datetime.datetime(2001, 12, 31, 23, 0, tzinfo=datetime.timezone.utc))
        assert [one.edges_removed for one in gone] == [2]
        assert stream.remove_expired("2002-12-31") == []
        assert [one.edges_removed for one in stream.remove_expired(batch=1)] == [1]
        with pytest.raises(unweave.UsageError, match="moment"):
            stream.remove_expired("soon")
    assert {tuple(edge) for edge in store.edges().tolist()} == set(edges[3:])
    assert store.info().expiries == 1 and store.info().next_expiry == "2999-01-01T00:00:00.000Z"


def test_room_for_new_nodes_is_that_of_an_import(store, sample, tmp_path):
    report = store.purge(nodes=410)
    assert report.nodes_added == 10
    with store.stream() as stream:
        outcome = stream.send([("insert-node", 405, *[0.25] * 12), ("insert-node", 405, *[0.25] * 12), ("insert-edge", 405, 3), "insert-node 3 0:1"])
        assert outcome.statuses == ["applied", "repeated", "applied", "present-node"] and outcome.nodes_inserted == 1
    x = np.zeros((410, 12), dtype=sample.x.dtype)
    x[:400], x[405] = sample.x, 0.25
    y = np.full(410, -1)
    y[:400] = sample.y
    edges = np.concatenate([sample.edge_index, [[405], [3]]], axis=1)
    anew = unweave.import_store(tmp_path / "anew", edges, x, y, train=np.flatnonzero(sample.train), test=np.flatnonzero(sample.test), nodes=410)
    anew.propagate(hops=2, rows="all")
    assert store.info(digest=True).digest == anew.info(digest=True).digest
    with pytest.raises(unweave.UsageError, match="never given again"):
        store.purge(nodes=400)


def test_inserted_edges_and_abandoned_streams_stay(store):
    before = {tuple(edge) for edge in store.edges().tolist()}
    new = next((u, v) for u in range(400) for v in range(u + 1, 400) if (u, v) not in before)
    with pytest.raises(ZeroDivisionError):
        with store.stream() as stream:
            assert stream.insert_edges(np.array([[new[0]], [new[1]]])).edges_inserted == 1
            raise ZeroDivisionError
    assert {tuple(edge) for edge in store.edges().tolist()} == before | {new}
    with pytest.raises(unweave.UsageError, match="closed"):
        stream.send(["node 1"])


def test_the_command_line_says_the_same(store, program, tmp_path):
    store.train("exact")
    seen = json.loads(subprocess.run([program, "info", store.path, "--json"], check=True, capture_output=True).stdout)
    info = store.info(digest=True)
    for key in ("nodes", "edges", "features", "classes", "digest", "hops", "weights", "rows", "train", "test", "targets"):
        assert info[key] == seen[key], key
    file = tmp_path / "Z.npy"
    subprocess.run([program, "export", store.path, "--embeddings", file], check=True, capture_output=True)
    assert np.array_equal(np.load(file), store.embeddings())
    failed = subprocess.run([program, "info", tmp_path / "absent"], capture_output=True, text=True)
    assert failed.returncode == 2
    with pytest.raises(unweave.DataError) as error:
        unweave.Store(tmp_path / "absent").info()
    assert str(error.value).split(";")[0] in failed.stderr


def test_models_are_evaluated_as_on_the_command_line(store, program):
    store.train("exact")
    store.train("newton", name="noisy", epsilon=1.0)
    said = {one["name"]: one for one in map(json.loads, subprocess.run([program, "evaluate", store.path, "--json"], check=True,
                                                                       capture_output=True, text=True).stdout.splitlines())}
    found = store.evaluate()
    assert [one.name for one in found] == list(said)
    for one in found:
        for split in ("train", "valid", "test"):
            assert one[f"accuracy_{split}"] == said[one.name][f"accuracy_{split}"]
            assert one.metrics[split] == said[one.name]["metrics"][split]
    assert [one.name for one in store.evaluate(name="noisy", solver="newton")] == ["noisy"] and len(store.evaluate(solver="exact")) == 1
    with pytest.raises(unweave.UsageError, match="absent"):
        store.evaluate(name="absent")


def test_messages_name_what_python_has(store, sample, tmp_path):
    for call, kind, message, options in (
            (lambda: store.train(lambda_=-1.0), unweave.UsageError, r"\blambda_\b", ["lambda_"]),
            (lambda: store.propagate(hops=2, scheme="chebyshev", scale_bits=3), unweave.UsageError, r"\bscale_bits\b", ["scale_bits"]),
            (lambda: store.predict(), unweave.UsageError, r"`store\.train\(\)`", []),
            (lambda: store.predict("exact"), unweave.UsageError, "solver= or name= chooses a model", ["nodes"]),
            (lambda: store.train("langevin", parameters={"sigma": -1.0}), unweave.UsageError, r"parameters=\{'sigma'", ["parameters"])):
        with pytest.raises(kind, match=message) as error:
            call()
        assert "--" not in str(error.value) and "`unweave" not in str(error.value), error.value
        assert [one for one in options if one not in error.value.options] == []
    store.propagate(hops=2, rows="labelled")
    with store.stream() as stream:
        stream.send("node 3")
    with pytest.raises(unweave.UsageError, match=r"give `?missing='nan'`? for a row of NaN, or run `store\.propagate\(rows='all'\)` for"):
        store.embeddings([3])


def test_marks_become_arguments_and_calls():
    def option(key, value=None):
        return f"\x01{key}" + ("" if value is None else f"\x02{value}") + "\x03"

    def operation(words):
        return f"\x04{words}\x05"

    for message, text in (
            ("raise " + option("memory"), "raise memory"),
            (option("lambda", "auto") + ", " + option("scale-bits", "40"), "lambda_='auto', scale_bits=40"),
            (option("set", "sigma=0.5") + ", " + option("set", "sigma") + ", " + option("set"), "parameters={'sigma': 0.5}, parameters={'sigma': ...}, parameters"),
            ("leave " + option("no-intercept") + " away", "leave intercept=False away"),
            (operation("propagate a b.store " + option("rows", "all")), "`store.propagate(rows='all')`"),
            (operation("repair x " + option("cut-journal")), "`store.repair(cut_journal=True)`"),
            (operation("stream x " + option("requests", "/dev/null") + " " + option("solver", "exact")), "`with store.stream(solver='exact'): pass`"),
            (operation("import x " + option("edges", "FILE")), "`unweave.import_store()`"),
            (operation("export STORE " + option("model", "F")), "`store.export_model()`"),
            (operation("export x " + option("all", "DIR")), "`unweave export x --all DIR`"),
            (operation("doctor x"), "`unweave doctor x`"), (option("split", "train=F"), "train=F"), ("\x01 \x04 --", r"\x01 \x04 --")):
        assert unweave.errors.text_of(message) == text
    assert [unweave.errors.argument_of(key) for key in ("lambda", "scale-bits", "non-adaptive", "rows")] == ["lambda_", "scale_bits", "adaptive", "rows"]


def test_errors_have_types_and_name_arguments(store, tmp_path):
    with pytest.raises(unweave.UsageError, match="sgd"):
        store.train("sgd")
    with pytest.raises(unweave.UsageError) as error:
        store.propagate(rows="some")
    assert error.value.options == ["rows"] and isinstance(error.value, ValueError)
    with pytest.raises(unweave.UsageError, match="node 400 is not in the store"):
        store.embeddings([400])
    with pytest.raises(unweave.UsageError, match="'8 G'"):
        unweave.Store(store.path, memory="8 G")
    with pytest.raises(unweave.UsageError, match="at least 16M"):
        unweave.Store(store.path, memory="1M")
    with store.stream():
        with pytest.raises(unweave.ResourceError):
            unweave.Store(store.path).train()
    manifest = store.path / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:100])
    with pytest.raises(unweave.DataError, match="manifest.json"):
        store.info()


def test_progress_is_told_and_may_stop_the_work(store):
    told = []
    watched = unweave.Store(store.path, progress=lambda *one: told.append(one))
    watched.propagate(hops=3)
    assert told and all(len(one) == 4 and one[1] <= one[2] for one in told if one[2])

    def refuse(*_):
        raise KeyError("enough")

    # Progress is told every tenth of a second at most: work that is shorter is told at its end.
    with pytest.raises(KeyError):
        unweave.Store(store.path, progress=refuse).propagate(hops=2)
    assert store.verify().ok


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_ends_long_work_and_leaves_the_store_whole(tmp_path):
    store = unweave.generate_store(tmp_path / "long", scale=16, features=64)
    before = threading.active_count()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        store.propagate(hops=1000, rows="all")  # minutes of work
    timer.join()
    assert time.monotonic() - started < 60 and threading.active_count() <= before
    assert store.info().hops is None
    store.propagate(hops=1, rows="all", restart=True)  # some levels may be finished and kept for the former options
    assert store.verify().ok


def test_jobs_give_what_one_process_does(store, tmp_path):
    shutil.copytree(store.path, tmp_path / "jobs")
    jobs = unweave.Store(tmp_path / "jobs")
    store.propagate(hops=2)
    first = jobs.propagate(hops=2, tile=(0, 2))
    assert first.jobs_done == 1 and len(first.columns) == 1 and len(first.missing) == 1
    assert jobs.propagate(hops=2, tiles=2).missing == []
    assert jobs.propagate(hops=2, assemble=True).tiles == 2
    assert jobs.info(digest=True).digest == store.info(digest=True).digest
    for wrong in ({"tile": (2, 2)}, {"tiles": 0}, {"tile": (0, 2), "tiles": 2}, {"tile": (0, 2), "assemble": True}):
        with pytest.raises(unweave.UsageError):
            jobs.propagate(hops=2, **wrong)


def test_another_thread_runs_meanwhile(tmp_path):
    """The interpreter's lock is free while the library works."""
    store = unweave.generate_store(tmp_path / "large", scale=14, features=64)
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before, started = counted, time.monotonic()
    store.propagate(hops=60, rows="all")
    during, seconds = counted - before, time.monotonic() - started
    done.set()
    thread.join()
    assert during > 20 * seconds  # a thread that waits for the lock would count once or twice


def test_solvers_and_version():
    names = [solver.name for solver in unweave.solvers()]
    assert names[0] == "exact" and "newton" in names
    assert unweave.__version__.count(".") == 2


def test_requests_with_an_id_are_applied_once_and_told(store):
    u, v = (int(end) for end in store.edges()[0])
    with store.stream() as stream:
        assert stream.send([f"edge {u} {v} id=T1", f"node 0 id=T2"]).applied == 2
        again = stream.send([f"edge {u} {v} id=T1"])
        assert again.statuses == ["known-id"]
    first, second = store.requests()
    assert (first.id, first.kind, first.status, first.sequence, first.purged, first.settled) == ("T1", "edge", "applied", 1, False, False)
    assert first.time.endswith("Z") and second.id == "T2"
    store.purge()
    assert store.requests("T1")[0].settled and store.requests("T9") == []


def test_an_id_stands_for_one_request(store):
    (u, v), (x, y) = (tuple(int(end) for end in edge) for edge in store.edges()[:2])
    with store.stream() as stream:
        assert stream.send([("edge", u, v, "id=T1")]).applied == 1
        for other in (("edge", x, y, "id=T1"), ("node", u, "id=T1"), f"insert-edge {u} {v} id=T1"):
            with pytest.raises(unweave.UsageError, match=r"request 1 of the batch: the id T1 stands for another request already: request 1 \(edge\)"):
                stream.send([("node", 9, "id=T9"), other])
        with pytest.raises(unweave.UsageError, match="the id T2 stands for request 0 of the same batch"):
            stream.send([("node", 9, "id=T2"), ("node", 10, "id=T2")])
        assert stream.send([("edge", v, u, "id=T1"), ("edge", u, v, "id=again")]).statuses == ["known-id", "absent-edge"]
    assert [one.id for one in store.requests()] == ["T1", "again"]
    again = store.requests("again")[0]
    assert (again.earlier.id, again.earlier.sequence, again.settled) == ("T1", 1, False)
    store.purge()
    assert store.requests("again")[0].settled
    with store.stream() as stream:
        assert stream.send([("edge", u, v, "id=T1")]).statuses == ["known-id"]
        with pytest.raises(unweave.UsageError, match="of which a purge has left nothing"):
            stream.send([("edge", x, y, "id=T1")])


def test_nodes_and_features_expire_too(store):
    with store.stream() as stream:
        outcome = stream.send([("node", 3, "expires", "2001-01-01", "id=N"), ("feature", 4, "expires", datetime.date(2002, 1, 1)), "node 5 expires 2999-01-01"])
        assert outcome.statuses == ["applied"] * 3 and outcome.expiries_set == 3
        gone = stream.remove_expired()
        assert [(one.nodes_removed, one.features_removed) for one in gone] == [(1, 1)]
    assert [(one.id, one.kind, one.get("expired", False)) for one in store.requests()] == [("N", "expires", False), ("N", "node", True)]
    assert store.info().expiries == 1


def test_texts_that_a_terminal_obeys_are_not_taken_and_not_said(store, tmp_path):
    assert str(unweave.DataError("a\x1b[2J\x85\u202e\udcff\ud800é😀")) == "a\\x1B[2J\\xC2\\x85\\xE2\\x80\\xAE\\xFF\\xED\\xA0\\x80é😀"
    with store.stream() as stream:
        for text, said in (("T\x9b2J", r"'id=T\\xC2\\x9B2J' is no id: it has a control character, at byte 1"), ("\u202eT", "changes the direction of writing, at byte 0"),
                           ("\u2028", "a separator of lines"), ("\ufeffT", "a byte order mark"), ("T\x7f", "a control character")):
            for request in (f"node 3 id={text}", ("node", 3, f"id={text}")):
                with pytest.raises(unweave.UsageError, match=said) as caught:
                    stream.send([request])
                assert str(caught.value).isprintable()
        for request in ("node 3 id=\udcff", ("node", 3, "id=\udcff")):
            with pytest.raises(unweave.UsageError, match="a surrogate is no character"):
                stream.send([request])
        assert stream.send(["node 3 id=Tü\u200d😀\"\\"]).applied == 1
    assert [one.id for one in store.requests()] == ["Tü\u200d😀\"\\"]
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/p\xff\x1b[2J\xe2\x80\xae")
    with pytest.raises(unweave.DataError) as caught:
        unweave.Store(odd).info()
    assert r"p\xFF\x1B[2J\xE2\x80\xAE" in str(caught.value) and str(caught.value).isprintable()


def test_what_a_killed_import_left_is_removed(sample, tmp_path):
    np.save(tmp_path / "edges.npy", sample.edge_index.T)
    left = tmp_path / "left"
    (left / "graph" / "by-ids").mkdir(parents=True)
    (left / "unfinished").write_text("A store of unweave is being built here.\n")
    (left / "graph" / "by-ids" / "half.shard").write_text("half of a shard")
    store = unweave.import_store(left, tmp_path / "edges.npy", nodes=400)
    assert store.info().nodes == 400
    assert sorted(path.name for path in left.rglob("*") if not path.stem.startswith("0")) == ["graph", "lock", "manifest.json"]


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_ctrl_c_ends_a_long_import_and_leaves_nothing(tmp_path):
    edges = np.random.default_rng(1).integers(0, 1 << 18, (2_000_000, 2), dtype=np.uint32)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        unweave.import_store(tmp_path / "ended", edges, order="auto")  # seconds of work
    timer.join()
    assert not (tmp_path / "ended").exists()


def test_no_link_in_a_store_is_followed(store, tmp_path):
    user = tmp_path / "user"
    user.mkdir()
    (user / "thesis").write_text("years of work")
    (store.path / "tiles").symlink_to(user)
    for change in (lambda: store.propagate(hops=1), lambda: store.train("exact"), store.purge, lambda: store.stream("exact").__enter__()):
        with pytest.raises(unweave.DataError, match="tiles: it is a link"):
            change()
    assert (user / "thesis").read_text() == "years of work"
    (store.path / "tiles").unlink()
    (tmp_path / "own").symlink_to(store.path)  # a link to a store is the user's own
    assert unweave.Store(tmp_path / "own").info().nodes == 400


def test_a_model_that_is_no_text_is_told_beside_other_threads(store):
    """A dict of options is Python's, and is read while Python's lock is held."""
    store.train("exact")
    for wrong in ({"solver": 0}, {"name": ()}):
        for read in (store.predict, store.scores):
            with pytest.raises((TypeError, ValueError, unweave.Error)):
                read(**wrong)
    expected, found = store.scores(), []
    threads = [threading.Thread(target=lambda: [found.append(store.scores()) for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        {str(number): [number] for number in range(100)}
    for thread in threads:
        thread.join()
    assert len(found) == 40 and all(np.array_equal(one, expected) for one in found)


def test_a_call_from_within_a_call_is_refused_and_a_fork_cannot_write(store, tmp_path):
    told = []

    def look(*_):
        try:
            told.append(watched.info())
        except unweave.UsageError as error:
            told.append(str(error))

    watched = unweave.Store(store.path, progress=look)
    watched.train("retrain", head="mlp", parameters={"epochs": 2000})
    assert any("in the midst of a call" in str(one) for one in told)  # the last look comes when the call is over
    assert watched.info().nodes == 400
    store.train("exact")
    with store.stream("exact", receipts=tmp_path / "receipts") as stream:
        child = os.fork()
        if child == 0:
            try:
                stream.send(["node 3"])
                os._exit(1)
            except unweave.UsageError as error:
                os._exit(0 if "of which this one is a fork" in str(error) else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert stream.send(["node 4"]).applied == 1
        with pytest.raises(unweave.Error, match="another stream or service writes its receipts there"):
            copy = shutil.copytree(store.path, tmp_path / "copy")
            unweave.Store(copy).stream("exact", receipts=tmp_path / "receipts")
    assert store.verify().ok and store.info().acknowledged == 1


def test_arrays_of_edges_beside_a_writer_are_those_of_one_moment(tmp_path):
    store = unweave.import_store(tmp_path / "s", np.stack([np.arange(3000), np.arange(1, 3001)]))
    edges = store.edges()
    states = {np.asarray(edges).tobytes(), np.asarray(edges[1500:]).tobytes()}
    code = f"""
import unweave, warnings
warnings.simplefilter("ignore")
store = unweave.Store({str(tmp_path / 's')!r})
some = store.edges()[:1500]
for _ in range(15):
    with store.stream() as stream: stream.remove_edges(some)
    with store.stream() as stream: stream.insert_edges(some)
"""
    writer = subprocess.Popen([sys.executable, "-c", code])
    reads = 0
    while writer.poll() is None or reads == 0:
        read, weights = np.asarray(store.edges()), np.asarray(store.edge_weights())
        assert read.tobytes() in states, (read.shape, read[-3:])
        assert len(weights) in (1500, 3000) and np.all(weights == 1)
        reads += 1
    assert writer.returncode == 0
