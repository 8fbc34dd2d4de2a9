# tools/python/tests/test_records.py - Python's records have the fields that --json of the same command prints.
import json
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import unweave

#: What a command measures of its own process, which does one thing; a process of Python has its own.
PROCESS = {"peak_anonymous_bytes", "peak_file_bytes", "disk_bytes_read", "major_faults"}


@pytest.fixture
def cli(program):
    """The lines that a command prints with --json; its exit code is left to the test."""

    def run(*words, input=None):
        ended = subprocess.run([program, *map(str, words), "--json", "--quiet"], capture_output=True, text=True, input=input)
        assert ended.stdout, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]

    return run


@pytest.fixture
def twin(store, tmp_path):
    """A copy of the store, for the command line."""
    shutil.copytree(store.path, tmp_path / "twin.store")
    return tmp_path / "twin.store"


def same(record, said, *, without=frozenset(), extra=frozenset(), measured=frozenset()):
    """`measured`: fields of a command's process that other commands have for something else."""
    assert set(record) - set(extra) == set(said) - PROCESS - set(measured) - set(without), set(record) ^ set(said)
    for key in set(record) & set(said):
        if isinstance(record[key], unweave.Record) and isinstance(said[key], dict):
            assert set(record[key]) == set(said[key]), key
        if isinstance(record[key], list) and record[key] and isinstance(record[key][0], unweave.Record):
            assert set(record[key][0]) == set(said[key][0]), key
        assert (record[key] is None) == (said[key] is None) or key in ("seconds_predicted", "predicted", "arc_features_per_second"), key


MEASURED = {"bytes_read", "bytes_written"}


def test_import_and_generate(sample, cli, tmp_path):
    np.savez(tmp_path / "a.npz", edges=sample.edge_index, x=sample.x, y=sample.y)
    np.save(tmp_path / "train.npy", sample.train)
    made = unweave.import_store(tmp_path / "p.store", sample.edge_index, sample.x, sample.y, train=sample.train, order="degree").imported
    [said] = cli("import", tmp_path / "c.store", "--edges", f"{tmp_path}/a.npz[edges]", "--features", f"{tmp_path}/a.npz[x]", "--labels",
                 f"{tmp_path}/a.npz[y]", "--split", f"train={tmp_path}/train.npy", "--order", "degree")
    same(made, said, measured=MEASURED)
    assert made.splits == said["splits"] and made.scale == said["scale"] == "rows" and made.arcs == said["arcs"]
    weighted = unweave.import_store(tmp_path / "w.store", sample.edge_index[:, :20], max_weight=3, edge_weights=np.arange(20) * 0 + 2).imported
    assert weighted.max_weight == 3 and weighted.weight_sum == 2 * weighted.edges and made.weight_sum is None


def test_info(store, twin, cli):
    store.train()
    cli("train", twin)
    [said] = cli("info", twin)
    same(store.info(digest=True), said)
    assert store.info(digest=True).digest == said["digest"] and store.info().digest is None
    assert store.info().levels == said["levels"] and store.info().scale == said["scale"]
    for keep in ("embedding", "hops"):
        store.propagate(keep=keep, keep_type="f16")
        cli("propagate", twin, "--keep", keep, "--keep-type", "f16")
        [said] = cli("info", twin)
        same(store.info(digest=True), said)


def test_propagate_and_tiles(store, twin, cli):
    [said] = cli("propagate", twin, "--hops", 2, "--rows", "labelled")
    same(store.propagate(2, rows="labelled"), said, measured=MEASURED)
    [said] = cli("propagate", twin, "--hops", 1, "--tile", "0/2")
    same(store.propagate(1, tile=(0, 2)), said, measured=MEASURED)


@pytest.mark.parametrize("options", [{}, {"lambda": "auto"}, {"solver": "newton", "epsilon": 1.0}, {"head": "mlp", "solver": "retrain"}])
def test_train(sample, cli, tmp_path, options):
    store = unweave.import_store(tmp_path / "t.store", sample.edge_index, sample.x, sample.y, train=np.arange(200), valid=np.arange(200, 300),
                                 test=sample.test)
    store.propagate()
    shutil.copytree(store.path, tmp_path / "twin.store")
    [said] = cli("train", tmp_path / "twin.store", *(word for key, value in options.items() for word in (f"--{key}", value)))
    report = store.train(**{"lambda_" if key == "lambda" else key: value for key, value in options.items()})
    same(report, said, measured=MEASURED)
    assert report["lambda"] == report.lambda_ == said["lambda"] and (report.residual_bound is None) == (said["residual_bound"] is None)
    assert "lambda_" in dir(report) and report.head == said["head"]


def test_batches(store, twin, cli, tmp_path):
    store.train()
    cli("train", twin)
    lines = ["node 3", "edge 0 0", "feature 5", "set-label 7 1", "node 3"]
    (tmp_path / "r.txt").write_text("\n".join(lines) + "\n")
    [said] = cli("stream", twin, "--requests", tmp_path / "r.txt", "--solver", "exact", "--changes", tmp_path / "c.changes")
    with store.stream("exact", changes=tmp_path / "p.changes") as stream:
        outcome = stream.send(lines)
    # accuracies are computed by stream.accuracy(), rejections are in statuses
    same(outcome, said, without={"accuracy_train", "accuracy_valid", "accuracy_test", "rejections"}, extra={"refused", "statuses"})
    assert outcome.plan == said["plan"] and outcome.pushes == said["pushes"] and set(outcome.terms) == set(said["terms"])
    assert [one["reason"] for one in said["rejections"]] == [status for status in outcome.statuses if status != "applied"]
    [said] = cli("stream", twin, "--requests", "-", input="node 9\n")
    with store.stream() as stream:
        same(stream.send("node 9"), said, without={"rejections"}, extra={"refused", "statuses"})


def test_a_batch_of_several_models(store, twin, cli):
    accuracies = {"accuracy_train", "accuracy_valid", "accuracy_test"}
    for solver in ("exact", "newton"):
        store.train(solver)
        cli("train", twin, "--solver", solver)
    [said] = cli("stream", twin, "--requests", "-", "--solver", "exact", "--solver", "newton", input="node 3\n")
    with store.stream(["exact", "newton"]) as stream:
        outcome = stream.send("node 3")
    assert set(outcome) - {"refused", "statuses"} == set(said) - accuracies - {"rejections"}
    for one, other in zip(outcome.models, said["models"], strict=True):
        same(one, other, without=accuracies)
        assert (one.name, one.solver, set(one.terms)) == (other["name"], other["solver"], set(other["terms"]))


def test_upgrade(store, twin, cli):
    [said] = cli("upgrade", twin)
    same(store.upgrade(), said)
    assert said["upgraded"] is False


def test_grow(store, twin, cli):
    nodes = store.info().nodes
    [said] = cli("grow", twin, "--nodes", str(nodes + 5))
    same(store.grow(nodes + 5), said, measured=MEASURED)
    assert said["nodes_added"] == 5 and store.info().nodes == nodes + 5
    with store.stream() as stream:
        assert stream.send(f"insert-edge {nodes + 4} 1").applied == 1
    with pytest.raises(unweave.UsageError, match="never given again"):
        store.grow(nodes)


def test_purge(store, twin, cli):
    [said] = cli("purge", twin)
    same(store.purge(), said)
    assert said["purged"] is False
    store.train()
    cli("train", twin)
    cli("stream", twin, "--requests", "-", "--solver", "exact", input="node 9\nedge 4 5\n")
    with store.stream("exact") as stream:
        stream.send(["node 9", "edge 4 5"])
    [said] = cli("purge", twin)
    report = store.purge()
    same(report, said, measured={"bytes_read", "bytes_written"})
    assert report.digest == said["digest"] and report.models_kept == ["exact"]


def test_verify_and_repair(store, twin, cli):
    store.train()
    cli("train", twin)
    for options in ([], ["--rebuild"]):
        [said] = cli("verify", twin, *options)
        same(store.verify(rebuild=bool(options)), said)
    for path in (store.path, twin):
        part = next((path / "state").glob("*"))
        part.write_bytes(part.read_bytes()[:-1] + b"!")
    [said] = cli("verify", twin)
    report = store.verify()
    same(report, said)
    assert not report.ok and len(report.errors) == len(said["errors"])
    [said] = cli("repair", twin)
    same(store.repair(), said)
    assert said["files"]


@pytest.mark.parametrize("options", [[], ["--retrain"]])
def test_evaluate(store, twin, cli, options):
    store.train()
    cli("train", twin)
    [said] = cli("evaluate", twin, *options)
    [record] = store.evaluate(retrain=bool(options))
    same(record, said)
    for split in ("train", "valid", "test"):
        assert set(record.metrics[split]) == set(said["metrics"][split])
    assert set(record.metrics.test.classes[0]) == set(said["metrics"]["test"]["classes"][0]) and record.metrics.test.confusion == said["metrics"]["test"]["confusion"]


def test_requests_and_certificates(store, twin, cli):
    store.train()
    cli("train", twin)
    lines = ["node 9 id=A", "node 9 id=B"]
    cli("stream", twin, "--requests", "-", "--solver", "exact", input="\n".join(lines) + "\n")
    with store.stream("exact") as stream:
        stream.send(lines)
    said = cli("requests", twin)
    for one, other in zip(store.requests(), said):
        same(one, other)


def test_certify_audit_and_plans(store, twin, cli, tmp_path):
    np.save(tmp_path / "W.npy", np.zeros((3, 13)))
    [said] = cli("certify", twin, "--model", tmp_path / "W.npy")
    same(store.certify(tmp_path / "W.npy"), said, measured=MEASURED)
    [said] = cli("plan", twin, "--hops", 1)
    same(store.plan(1), said)
    [said] = cli("plan", twin, "--requests", "-", input="node 4\n")
    same(store.plan(requests=["node 4"]), said)
    [said] = cli("plan", twin, "--purge")
    same(store.plan(purge=True), said)
    said = cli("audit", twin, "--trials", 20, "--canary", "hub", "--seed", 1)
    for one, other in zip(store.audit(trials=20, canary="hub", seed=1), said, strict=True):
        same(one, other)
    [said] = cli("audit", twin, "--one-run", 20, "--seed", 1)
    [audit] = store.audit(one_run=20, seed=1)
    same(audit, said)
    assert audit.trials == said["trials"] == 1 and audit.guesses == said["guesses"]


def test_records_are_plain_and_shown():
    record = unweave.Record.of({"lambda": 1, "nodes": [{"a": 2}]})
    assert repr(record) == "Record(lambda_=1, nodes=[Record(a=2)])" and record.lambda_ == record["lambda"]
    assert pickle.loads(pickle.dumps(record)) == record
    with pytest.raises(AttributeError, match="lambda_, nodes"):
        record.absent
    with pytest.raises(AttributeError):
        record.nodes_
