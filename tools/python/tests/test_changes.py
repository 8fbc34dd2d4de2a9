# tools/python/tests/test_changes.py - an index of vectors that follows the feed of changes has the rows of the store, whatever happened.
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import unweave


class Index(dict):
    """Rows by id, kept in step as an index of vectors would be."""

    def follow(self, changes):
        seen = 0
        for change in changes:
            if change.complete:
                self.clear()
            for node in [*change.ids, *change.removed]:
                self.pop(int(node), None)
            self.update(zip(change.ids.tolist(), np.asarray(change.rows).tolist()))
            changes.take(change)
            seen += 1
        return seen

    def check(self, store):
        ids = store.embedded()
        assert sorted(self) == ids.tolist()
        assert np.array_equal(np.array([self[int(node)] for node in ids], np.float32), store.embeddings(ids))


def requests(store, rng):
    edges = store.edges()
    drawn = edges[rng.choice(len(edges), 3, replace=False)]
    return [*(("edge", u, v) for u, v in drawn.tolist()), ("node", int(rng.integers(400))), ("feature", int(rng.integers(400))),
            ("insert-edge", int(rng.integers(400)), int(rng.integers(400)))]


@pytest.mark.parametrize("order", ["none", "bfs"])
@pytest.mark.parametrize("rows", ["all", "labelled"])
@pytest.mark.parametrize("solver", [None, "exact"])
def test_an_index_stays_in_step(sample, tmp_path, order, rows, solver):
    store = unweave.import_store(tmp_path / "s", sample.edge_index, sample.x, sample.y, train=sample.train, order=order)
    store.propagate(2, rows=rows)
    if solver:
        store.train(solver)
    rng, index, feed = np.random.default_rng(1), Index(), tmp_path / "feed"
    for session in range(3):
        with store.stream(solver, changes=feed, plan="push") as stream:
            for batch in range(3):
                outcome = stream.send(requests(store, rng))
                assert outcome.changes_entry == 1 + 3 * session + batch + 1
                changes = unweave.Changes(feed, "index")
                index.follow(changes)
        index.check(store)
    lines = [json.loads(line) for line in (feed / "changes.jsonl").read_text().splitlines()]
    assert [line["complete"] for line in lines] == [True] + 9 * [False]
    if rows == "all":
        assert max(line["rows"] for line in lines[1:]) < 400  # changes, not everything again
    assert not list(feed.glob("*.npy"))[3:], "entries that every reader has taken are gone but for the last"


def test_what_went_on_without_the_feed_is_made_up_for(store, tmp_path):
    rng, index, feed = np.random.default_rng(2), Index(), tmp_path / "feed"
    with store.stream(changes=feed, plan="push") as stream:
        stream.send(requests(store, rng))
    index.follow(unweave.Changes(feed, "index"))
    index.check(store)
    with store.stream() as stream:
        stream.send(requests(store, rng))
    with store.stream(changes=feed, plan="push"):
        pass
    index.follow(unweave.Changes(feed, "index"))
    index.check(store)
    store.purge()
    with store.stream(changes=feed, plan="push") as stream:
        stream.send(requests(store, rng))
    index.follow(unweave.Changes(feed, "index"))
    index.check(store)
    store.propagate(1, rows="all")
    with store.stream(changes=feed, plan="push"):
        pass
    index.follow(unweave.Changes(feed, "index"))
    index.check(store)
    assert [json.loads(line)["complete"] for line in (feed / "changes.jsonl").read_text().splitlines()] == [
        True, False, True, True, False, True]


def test_a_killed_stream_leaves_a_feed_that_goes_on(store, tmp_path):
    """After kill -9 between batches, the next stream brings the feed into step."""
    feed = tmp_path / "feed"
    program = f"""
import os, signal, unweave
store = unweave.Store({str(store.path)!r})
with store.stream(changes={str(feed)!r}, plan="push") as stream:
    for node in range(5):
        stream.send([("node", node)])
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-B", "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.returncode == -signal.SIGKILL
    index = Index()
    with store.stream(changes=feed, plan="push") as stream:
        stream.send([("node", 7)])
    index.follow(unweave.Changes(feed, "index"))
    index.check(store)


def test_readers_keep_their_entries_and_bad_folders_are_named(store, tmp_path):
    feed = tmp_path / "feed"
    with store.stream(changes=feed, plan="push") as stream:
        slow, quick = unweave.Changes(feed, "slow"), unweave.Changes(feed, "quick")
        for node in range(4):
            stream.send([("node", node)])
            for change in quick:
                quick.take(change)
    assert quick.taken == 5 and slow.taken == 0
    assert [change.entry for change in slow] == [1, 2, 3, 4, 5]
    with pytest.raises(unweave.UsageError, match="name"):
        unweave.Changes(feed, "../x")
    with pytest.raises(unweave.DataError, match=r"store.stream\(changes=folder\)"):
        unweave.Changes(tmp_path, "x")
    with pytest.raises(unweave.UsageError, match="other files"):
        store.stream(changes=tmp_path)


def test_faiss_follows(store, tmp_path):
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexIDMap2(faiss.IndexFlatL2(12))
    feed, rng = tmp_path / "feed", np.random.default_rng(3)
    with store.stream(changes=feed, plan="push") as stream:
        for _ in range(4):
            stream.send(requests(store, rng))
            changes = unweave.Changes(feed, "faiss")
            for change in changes:
                if change.complete:
                    index.reset()
                index.remove_ids(np.concatenate([change.ids, change.removed]))
                index.add_with_ids(np.ascontiguousarray(change.rows), np.ascontiguousarray(change.ids))
                changes.take(change)
    ids, z = store.embedded(), store.embeddings()
    assert index.ntotal == len(ids)
    assert np.array_equal(np.stack([index.reconstruct(int(node)) for node in ids]), z)


def test_a_purge_asks_whether_readers_have_followed(store, tmp_path):
    folder = tmp_path / "feed"
    u, v = (int(end) for end in store.edges()[0])
    with store.stream(changes=folder) as stream:
        stream.send([("edge", u, v)])
    changes = unweave.Changes(folder, "index")
    assert any("the reader index has yet to take entries 1 to 2" in remark for remark in store.verify().remarks)
    with pytest.raises(unweave.DataError, match="the reader index has yet to take"):
        store.purge()
    for change in changes:
        changes.take(change)
    assert not any("reader" in remark for remark in store.verify().remarks)
    with store.stream() as stream:
        stream.send([("node", 3)])
    with pytest.raises(unweave.DataError, match="the feed of changes ends at request 1, and the store at 2"):
        store.purge()
    assert store.purge(without_feeds=True).purged
    with store.stream() as stream:
        stream.send([("node", 5)])
    assert store.purge().purged  # nothing is known of feeds any more
