# tools/python/tests/test_forget_sets.py - forget sets as JSON, as OpenGU's text and as lines of requests: each becomes the other.
import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import unweave
from unweave import ForgetSet, read_forget_set

ABOUT = {"dataset": "cora", "ratio": 0.05, "seed": 42, "selection": "random_train"}
SETS = [ForgetSet("node", np.array([12, 3, 7]), **ABOUT), ForgetSet("edge", np.array([[4, 7], [7, 4], [0, 9]]), **ABOUT),
        ForgetSet("feature", np.array([5, 6]), **ABOUT), ForgetSet("edge", np.empty((0, 2), np.int64), **ABOUT),
        ForgetSet("feature", np.array([5, 6]), unit="column", rest={"protocol": {"candidate_count": 1433}}, **ABOUT)]


@pytest.mark.parametrize("forget", SETS, ids=lambda forget: f"{forget.kind}-{forget.unit}-{len(forget)}")
def test_json_there_and_back(forget, tmp_path):
    file = forget.write_json(tmp_path / "a.json")
    found = read_forget_set(file)
    if forget.kind == "feature":
        unit = found.rest["protocol"].pop("request_unit")
        assert unit == ("node" if forget.unit == "node" else "global_feature_dimension")
        assert dataclasses.replace(found, rest={}) == dataclasses.replace(forget, rest={})
        assert found.rest["protocol"] == forget.rest.get("protocol", {})
    else:
        assert found == forget
    assert list(json.loads(file.read_text()))[:6] == ["dataset", "unlearning_type", "ratio", "seed", "selection", "targets"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("forget", SETS[:4], ids=lambda forget: f"{forget.kind}-{len(forget)}")
def test_opengu_there_and_back(forget, tmp_path):
    file = forget.write_opengu(tmp_path / "data/unlearning_task/transductive/imbalanced", both_directions=False)
    assert file.name == f"unlearning_{'edges' if forget.kind == 'edge' else 'nodes'}_0.05_cora_0.txt"
    if len(forget):  # as OpenGU reads it
        assert np.array_equal(np.loadtxt(file, dtype=int), forget.targets)
    found = read_forget_set(file, "feature" if forget.kind == "feature" else None)
    assert found == dataclasses.replace(forget, seed=None, selection=None, run=0)
    if forget.kind == "edge":
        both = read_forget_set(forget.write_opengu(tmp_path))
        arcs = set(map(tuple, both.targets.tolist()))
        assert arcs == {(v, u) for u, v in arcs} and arcs >= set(map(tuple, forget.targets.tolist()))
        assert both.requests() == forget.requests()


def test_files_as_opengu_writes_them(tmp_path):
    """By numpy.savetxt, with fmt="%d" and without, and under the names of its later versions."""
    nodes, edges = np.array([3, 1, 2]), np.array([[1, 2], [2, 1], [5, 3]])
    for name in ("unlearning_nodes_0.1_ogbn-arxiv_3.txt", "unlearning_nodes_0.1_ogbn-arxiv_3_nodes_3.txt",
                 "unlearning_nodes_copy_0.1_ogbn-arxiv_3_nodes_3.txt"):
        np.savetxt(tmp_path / name, nodes, fmt="%d")
        found = read_forget_set(tmp_path / name)
        assert found == ForgetSet("node", nodes, dataset="ogbn-arxiv", ratio=0.1, run=3)
        assert found.requests() == ["node 3", "node 1", "node 2"]
        assert read_forget_set(tmp_path / name, "feature").requests() == ["feature 3", "feature 1", "feature 2"]
    np.savetxt(tmp_path / "unlearning_edges_0.1_roman_empire_0.txt", edges)
    found = read_forget_set(tmp_path / "unlearning_edges_0.1_roman_empire_0.txt")
    assert (found.dataset, found.run) == ("roman_empire", 0) and np.array_equal(found.targets, edges)
    assert found.requests() == ["edge 1 2", "edge 3 5"]
    assert found.requests(named=True) == ["edge #1 #2", "edge #3 #5"]


@pytest.mark.parametrize("fields, kind, targets", [
    ({"unlearning_type": "edge", "targets": [[1, 2], "3-4", "5,6", "7 : 8"]}, "edge", [[1, 2], [3, 4], [5, 6], [7, 8]]),
    ({"type": "edges", "edges": [[1, 2], [3, 4]]}, "edge", [[1, 2], [3, 4]]),
    ({"nodes": [1, "2", 3.0]}, "node", [1, 2, 3]),
    ({"unlearn_task": "feature", "nodes": [1]}, "feature", [1]),
    ({"unlearning_type": "feature", "targets": [1], "protocol": {"request_unit": "node"}}, "feature", [1]),
    ({"task": "node", "forget_nodes": []}, "node", [])])
def test_other_names_are_read(tmp_path, fields, kind, targets):
    (tmp_path / "f.json").write_text(json.dumps({"dataset_name": "cora", "unlearn_ratio": 1, "random_seed": 2, "note": "kept", **fields}))
    found = read_forget_set(tmp_path / "f.json")
    assert (found.kind, found.targets.tolist(), found.dataset, found.ratio, found.seed) == (kind, targets, "cora", 1.0, 2)
    assert found.rest["note"] == "kept" and json.loads(found.json())["note"] == "kept"


@pytest.mark.parametrize("text, said", [
    ("", "line 1, column 1"), ("{", "line 1"), ("[1]", "object"), ("[" * 100000, "levels"), ('{"nodes": [1], "edges": [[1, 2]]}', "nodes and edges"),
    ('{"type": "node"}', "no targets"), ('{"targets": [1]}', "nothing says"), ('{"type": "graph", "targets": [1]}', "'graph'"),
    ('{"type": "edge", "nodes": [1]}', "edges, and nodes"), ('{"nodes": [1.5]}', r"nodes\[0\]"), ('{"nodes": [1, true]}', r"nodes\[1\]"),
    ('{"nodes": [-1]}', "from 0"), ('{"nodes": [9223372036854775808]}', "from 0"), ('{"nodes": 7}', "list"), ('{"edges": [[1, 2, 3]]}', r"edges\[0\]"),
    ('{"edges": [[1, 2, 3], [4, 5, 6, 7]]}', "two lists of 3 and 4"), ('{"nodes": [1], "ratio": "x"}', "ratio"), ('{"nodes": [1], "dataset": 3}', "dataset"),
    ('{"nodes": [1], "ratio": 0.1, "forget_ratio": 0.2}', "different"), ('{"nodes": [1e300]}', "from 0"), ('{"nodes": [1], "seed": 1.5}', "seed"),
    ('{"type": "feature", "nodes": [1], "protocol": {"request_unit": "column"}}', "nodes and to be columns")])
def test_json_that_cannot_be_meant_names_its_place(tmp_path, text, said):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(unweave.DataError, match=said) as caught:
        read_forget_set(tmp_path / "f.json")
    assert str(tmp_path / "f.json") in str(caught.value)


def test_text_that_cannot_be_meant_names_its_line(tmp_path):
    file = tmp_path / "unlearning_nodes_0.1_cora_0.txt"
    for text, said in (("1\n2 3\n", "line 2"), ("1\nx\n", "line 2: 'x'"), ("-1\n", "line 1"), ("1.5\n", "line 1"), ("\xff", "one id")):
        file.write_text(text)
        with pytest.raises(unweave.DataError, match=said):
            read_forget_set(file)
    file.write_bytes(b"1\n\xff\n")
    with pytest.raises(unweave.DataError, match="byte 2"):
        read_forget_set(file)
    file.write_text("1\n")
    with pytest.raises(unweave.UsageError, match="the name says nodes"):
        read_forget_set(file, "edge")
    (tmp_path / "list.txt").write_text("1\n2\n")
    with pytest.raises(unweave.UsageError, match="kind='node'"):
        read_forget_set(tmp_path / "list.txt")
    assert read_forget_set(tmp_path / "list.txt", "node").targets.tolist() == [1, 2]
    with pytest.raises(unweave.DataError, match="cannot be read"):
        read_forget_set(tmp_path / "absent.txt")


def test_columns_of_features_are_never_taken_for_nodes(tmp_path):
    (tmp_path / "f.json").write_text('{"unlearning_type": "feature", "targets": [1, 2]}')
    with pytest.raises(unweave.UsageError, match="unit='node' or 'column'"):
        read_forget_set(tmp_path / "f.json")
    assert read_forget_set(tmp_path / "f.json", unit="node").requests() == ["feature 1", "feature 2"]
    columns = read_forget_set(tmp_path / "f.json", unit="column")
    for refused in (columns.requests, lambda: dataclasses.replace(columns, **ABOUT).write_opengu(tmp_path)):
        with pytest.raises(unweave.UsageError, match="columns"):
            refused()


def test_lines_of_requests_there_and_back(tmp_path):
    for forget in SETS[:3]:
        file = forget.write_requests(tmp_path / "r.txt")
        found = ForgetSet.of_requests(file.read_text().splitlines(), **ABOUT)
        assert found.kind == forget.kind and found.requests() == forget.requests()
    assert ForgetSet.of_requests(["# about", "", "edge 1,2 id=t-1", "edge\t#3 #4"]).targets.tolist() == [[1, 2], [3, 4]]
    for lines, said in ((["node 1", "edge 1 2"], "line 2"), (["insert-edge 1 2"], "line 1"), (["node alice"], "line 1"), ([], "no requests")):
        with pytest.raises(unweave.DataError, match=said):
            ForgetSet.of_requests(lines)


def test_a_store_takes_what_is_read(store, tmp_path):
    edges = store.edges()[:5]
    ForgetSet("edge", np.concatenate([edges, edges[:, ::-1]]), dataset="sample", ratio=0.01).write_opengu(tmp_path)
    with store.stream(strict=True) as stream:
        outcome = stream.send(read_forget_set(tmp_path / "unlearning_edges_0.01_sample_0.txt").requests())
    assert outcome.applied == 5
    assert not set(map(tuple, edges.tolist())) & set(map(tuple, store.edges().tolist()))


@pytest.mark.parametrize("fields", ['"seed": NaN', '"seed": 1e999', '"seed": 1.5', '"ratio": "a"', '"run": true', f'"ratio": 1{"0" * 400}'])
def test_numbers_that_are_none(tmp_path, fields):
    (tmp_path / "f.json").write_text('{"nodes": [1], %s}' % fields)
    with pytest.raises(unweave.DataError, match="where a number is wanted"):
        read_forget_set(tmp_path / "f.json")


def test_features_without_a_protocol(tmp_path):
    (tmp_path / "f.json").write_text('{"unlearning_type": "feature", "nodes": [1], "protocol": null}')
    assert json.loads(read_forget_set(tmp_path / "f.json").json())["protocol"] == {"request_unit": "node"}


def test_command_line(tmp_path):
    (tmp_path / "f.json").write_text('{"edges": [[2, 1], [1, 2]], "dataset": "cora"}')

    def told(*arguments):
        return subprocess.run([sys.executable, "-B", "-m", "unweave", "forget-set", *arguments], cwd=tmp_path, capture_output=True, text=True)

    assert told("f.json").stdout == "edge 1 2\n"
    assert told("f.json", "--to", "text").stdout == "2 1\n1 2\n"
    assert json.loads(told("f.json", "--to", "json").stdout)["targets"] == [[2, 1], [1, 2]]
    (tmp_path / "bad.json").write_text("{")
    ended = told("bad.json")
    assert ended.returncode == 2 and ended.stderr.startswith("unweave: bad.json: line 1")
    (tmp_path / "list.txt").write_text("1\n")
    assert told("list.txt").returncode == 1 and told("list.txt", "--kind", "node").stdout == "node 1\n"
