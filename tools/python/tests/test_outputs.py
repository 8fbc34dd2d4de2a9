# tools/python/tests/test_outputs.py - no output takes the place of a file of the store, whatever leads there.
import os

import numpy as np
import pytest

import unweave


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("argument, write", [
    ("out", lambda store, place: store.edges(out=place)), ("out", lambda store, place: store.embeddings(out=place)),
    ("out", lambda store, place: store.embeddings([1, 2], out=place)),
    ("out", lambda store, place: store.rows(out=place)), ("file", lambda store, place: store.export_model(place)),
    ("receipts", lambda store, place: store.stream("exact", receipts=place)), ("changes", lambda store, place: store.stream(changes=place))])
def test_an_output_in_the_store_is_refused_before_anything_is_written(store, tmp_path, monkeypatch, argument, write):
    store.train("exact")
    inside = store.path
    (tmp_path / "link").symlink_to(inside)
    (tmp_path / "dangling").symlink_to(inside / "new.npy")
    (tmp_path / "side").mkdir()
    monkeypatch.chdir(tmp_path)
    before = contents(inside)
    for place in (inside / "manifest.json", str(inside / "new.npy"), inside / "new" / "below" / "z.npy", inside, tmp_path / "link" / "z.npy", "dangling",
                  f"{inside.name}/z.npy", f"side/../{inside.name}/z.npy", os.fsencode(inside / "z.npy").decode()):
        with pytest.raises(unweave.UsageError, match=f"^{argument}: .* name a place outside the store") as caught:
            write(store, place)
        assert caught.value.options == [argument]
        with pytest.raises(unweave.UsageError, match="outside the store"):
            write(unweave.Store("link"), place)
    assert contents(inside) == before
    with pytest.raises(unweave.UsageError, match=f"^{argument}: .* is no path"):
        write(store, "a\0b")


def test_outputs_beside_the_store_are_written(store, tmp_path):
    store.train("exact")
    assert len(store.embeddings(out=tmp_path / "Z.npy")) == 400 and len(np.load(tmp_path / "Z.npy")) == 400
    assert store.export_model(str(store.path) + ".npz").is_file()  # its name begins as that of the store
    with store.stream("exact", receipts=tmp_path / "r.jsonl", changes=tmp_path / "feed") as stream:
        stream.send([("node", 3)])
    assert (tmp_path / "r.jsonl").read_text().count("\n") == 1 and (tmp_path / "feed" / "changes.jsonl").is_file()
