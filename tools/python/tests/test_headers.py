# tools/python/tests/test_headers.py - first lines of texts that may name their columns: what an import asks, and how it is told.
import re

import numpy as np
import pytest

import unweave
from meaning import PATH
from unweave import _native


def advised(error, reading):
    """The header that the error advises for a reading."""
    return re.search(rf"header='([a-z]+={reading})'", str(error.value))[1]


@pytest.mark.parametrize("name, data, also, seen", [
    ("graph", "0,1\n1,2\n", {}, lambda store: store.info().edges),
    ("graph", "source,target\nann,bob\n", {"ids": ["ann", "bob", "source", "target"]}, lambda store: store.info().edges),
    ("ids", "id\nbob\ncid\ndan\n", {"graph": "edges"}, lambda store: len(store.ids())),
    ("labels", "0\n1\n0\n1\n", {"graph": "three"}, lambda store: len(store.labels()))])
def test_a_header_is_said_as_the_error_advises(tmp_path, name, data, also, seen):
    (tmp_path / "given.csv").write_text(data)
    (tmp_path / "edges.csv").write_text("bob,cid\n")
    (tmp_path / "ids.txt").write_text("ann\nbob\nsource\ntarget\n")
    given = {**also, name: tmp_path / "given.csv"}
    if "ids" in also:
        given["ids"] = tmp_path / "ids.txt"
    if name == "labels":
        given["graph"] = [(0, 1), (1, 2)]
    elif name == "ids":
        given["graph"] = tmp_path / "edges.csv"
    with pytest.raises(unweave.DataError, match="say which by header=") as caught:
        unweave.import_store(tmp_path / "bad", **given)
    found = {}
    for reading in ("yes", "no"):
        header = advised(caught, reading)
        key = header.partition("=")[0]
        for number, form in enumerate((header, {key: reading})):
            found[reading] = seen(unweave.import_store(tmp_path / f"{reading}{number}", **given, header=form))
    assert found["no"] == found["yes"] + 1


def test_what_is_said_of_headers_comes_to_the_files(tmp_path, monkeypatch):
    handed = []
    monkeypatch.setattr(_native, "import_arrays", lambda machine, progress, store, options: handed.append(options["headers"]) or {"remarks": []})
    files = {name: str(tmp_path / f"{name}.csv") for name in ("graph", "labels", "train")}

    def headers(header, **given):
        unweave.import_store(tmp_path / "s", **given, header=header)
        return handed.pop()

    assert headers(None, **files) == {}
    assert headers("yes", **files) == {"edges": True, "labels": True, "train": True}
    assert headers("no", graph=PATH, labels=files["labels"]) == {"labels": False}
    for form in ("edges=no,labels=yes", "edges=no, labels=yes", {"edges": "no", "labels": "yes"}):
        assert headers(form, **files) == {"edges": False, "labels": True}
    for wrong, said in (("maybe", "'maybe' is neither"), ("edges=maybe", "'maybe' is neither"), ("edges=", "'' is neither"), ({"edges": True}, "True is neither"),
                        ("features=no", "there is no text file of features; there are those of edges, labels, train"), ("graph=no", "there is no text file of graph"),
                        ("edges=no,edges=yes", "edges is given twice"), (True, "True is neither"), ({}, "{} is neither"), ("edges=no,", "'' is neither")):
        with pytest.raises(unweave.UsageError, match=f"^header: {said}") as caught:
            headers(wrong, **files)
        assert caught.value.options == ["header"]
    with pytest.raises(unweave.UsageError, match="^header: there is no text file; no argument is the path of one"):
        headers("no", graph=PATH)
