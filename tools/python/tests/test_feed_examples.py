# tools/python/tests/test_feed_examples.py - the examples that follow a feed of changes: hnswlib (a C++ program that is compiled here), FAISS,
# and PostgreSQL, which is started here. After a stream with removals each holds exactly the rows of the embedding. Each is left out
# where its package is not installed.
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import unweave

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
HNSWLIB = pathlib.Path("/usr/include/hnswlib/hnswlib.h")


class Followed:
    """A store with rows of labelled nodes alone, so that nodes that are removed lose theirs, and a feed of it."""

    def __init__(self, sample, folder):
        self.store = unweave.import_store(folder / "s", sample.edge_index, sample.x, sample.y, train=sample.train)
        self.store.propagate(2, rows="labelled")
        self.feed = folder / "feed"
        self._random = np.random.default_rng(4)
        self.removed = []

    def stream(self, batches=2):
        with self.store.stream(changes=self.feed, plan="push") as stream:
            for _ in range(batches):
                nodes = self._random.choice(self.store.embedded(), 3, replace=False).tolist()
                self.removed += nodes
                edges = self.store.edges()
                drawn = edges[self._random.choice(len(edges), 3, replace=False)].tolist()
                stream.send([*(("node", node) for node in nodes), *(("edge", u, v) for u, v in drawn), ("insert-edge", 5, 6)])

    def states(self):
        """Comes to each state in which an example must be in step: the first, after more batches, after a purge and what follows it."""
        self.stream()
        yield
        self.stream()
        yield
        self.store.purge()
        self.stream()
        yield

    def rows(self):
        ids = self.store.embedded()
        assert not set(self.removed) & set(ids.tolist())
        return ids, self.store.embeddings(ids)


@pytest.fixture
def followed(sample, tmp_path):
    return Followed(sample, tmp_path)


def run(*words):
    ended = subprocess.run(list(map(str, words)), capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def kept_back(store):
    return any("has yet to take" in remark for remark in store.verify().remarks)


def follows(followed, step, check):
    """A reader that has registered holds a purge back until its copy is in step."""
    for number, _ in enumerate(followed.states()):
        if number > 0:
            assert kept_back(followed.store)
        step()
        assert not kept_back(followed.store)
        check(*followed.rows())
        step()  # nothing is left to do
        check(*followed.rows())
    assert len(followed.removed) == 18


@pytest.fixture(scope="session")
def hnswlib_program(tmp_path_factory):
    if not HNSWLIB.exists() or not shutil.which("g++"):
        pytest.skip("no g++, or no hnswlib (Debian's libhnswlib-dev)")
    program = tmp_path_factory.mktemp("hnswlib") / "follow_hnswlib"
    subprocess.run(["g++", "-std=c++17", "-O1", str(EXAMPLES / "follow_hnswlib.cpp"), "-o", str(program), "-pthread"], check=True)
    return program


def test_hnswlib_follows(hnswlib_program, followed, tmp_path):
    index = tmp_path / "index"

    def nearest(rows):
        np.save(tmp_path / "q.npy", np.ascontiguousarray(rows, np.float32))
        lines = [line.split() for line in run(hnswlib_program, "--nearest", index, tmp_path / "q.npy").splitlines()]
        return np.array([int(node) for node, _ in lines]), np.array([float(distance) for _, distance in lines])

    before = {}

    def check(ids, rows):
        place = {node: i for i, node in enumerate(ids.tolist())}
        found, distances = nearest(rows)
        assert np.all(distances == 0)
        # Nodes with equal rows stand for one another.
        assert np.array_equal(rows[[place[node] for node in found.tolist()]], rows)
        # A node that is gone is not found at its last row, nor anywhere.
        gone = [row for node, row in before.items() if node not in place]
        if gone:
            found, distances = nearest(gone)
            assert set(found.tolist()) <= set(place) and np.all(distances > 0)
        before.update(zip(ids.tolist(), rows.copy()))

    follows(followed, lambda: run(hnswlib_program, followed.feed, "hnsw", index), check)
    ended = subprocess.run([hnswlib_program, tmp_path, "hnsw", index], capture_output=True, text=True)
    assert ended.returncode == 2 and "no feed of changes here" in ended.stderr


def test_faiss_follows(followed, tmp_path):
    faiss = pytest.importorskip("faiss")
    file = tmp_path / "index"

    def check(ids, rows):
        index = faiss.read_index(str(file))
        assert index.ntotal == len(ids)
        assert np.array_equal(np.stack([index.reconstruct(int(node)) for node in ids]), rows)
        distances, found = index.search(rows, 1)
        place = {node: i for i, node in enumerate(ids.tolist())}
        # FAISS computes distances from products, so that those of equal rows are nearly 0.
        assert np.all(distances < 1e-5) and np.array_equal(rows[[place[node] for node in found[:, 0].tolist()]], rows)
        for node in followed.removed:
            with pytest.raises(RuntimeError):
                index.reconstruct(node)

    follows(followed, lambda: run(sys.executable, "-B", EXAMPLES / "follow_faiss.py", followed.feed, "faiss", file), check)


class Server:
    """PostgreSQL on a socket in a folder of its own. It does not run as root, so that root lends it the name of another user."""

    def __init__(self, programs, folder):
        self._programs, self._folder = programs, folder
        self._as = []
        if os.geteuid() == 0:
            user = next((name for name in ("postgres", "nobody") if name in {one.pw_name for one in pwd.getpwall()}), None)
            if user is None or not shutil.which("setpriv"):
                pytest.skip("root has no other user to run PostgreSQL as")
            shutil.chown(folder, user)
            self._as = ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]
        folder.chmod(0o755)
        self._run("initdb", "-D", folder / "data", "-U", "unweave", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        self._run("pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "-t", "60", "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "start")
        self.options = ["-h", str(folder), "-U", "unweave", "-d", "postgres"]

    def _run(self, program, *words):
        ended = subprocess.run([*self._as, str(self._programs / program), *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               cwd="/")
        assert ended.returncode == 0, ended.stderr

    def ask(self, query):
        return run("psql", "--no-psqlrc", "-tA", *self.options, "-c", query)

    def stop(self):
        self._run("pg_ctl", "-D", self._folder / "data", "-w", "-m", "immediate", "stop")


@pytest.fixture
def server():
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs or not shutil.which("psql"):
        pytest.skip("no PostgreSQL (Debian's postgresql)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unweave-pg-", dir="/tmp"))  # the path of a socket is short
    try:
        made = Server(programs[-1].parent, folder)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder)


def test_postgresql_follows(server, followed):
    def step():
        run(sys.executable, "-B", EXAMPLES / "follow_postgresql.py", followed.feed, "sql", *server.options)

    def check(ids, rows):
        lines = [line.split("|") for line in server.ask("SELECT node, z FROM embedding ORDER BY node").splitlines()]
        assert [int(node) for node, _ in lines] == ids.tolist()
        found = np.array([[np.float32(value) for value in z.strip("{}").split(",")] for _, z in lines])
        assert np.array_equal(found.view(np.int32), np.ascontiguousarray(rows).view(np.int32))  # bit for bit

    follows(followed, step, check)
    # As after a kill between the transaction and the receipt: the entry comes again, and the table has it.
    receipt = followed.feed / "readers" / "sql"
    receipt.write_text(f"{int(receipt.read_text()) - 1}\n")
    step()
    check(*followed.rows())
    assert int(server.ask("SELECT entry FROM unweave_feed WHERE reader = 'sql'")) == int(receipt.read_text())
    # A feed that was begun anew in the place of the old one counts from 1 again.
    shutil.rmtree(followed.feed)
    followed.stream(2)
    step()
    check(*followed.rows())
    # A transaction that fails leaves the table and the receipt as they were.
    before = receipt.read_text()
    followed.stream(1)
    server.ask("ALTER TABLE embedding ADD CHECK (cardinality(z) = 0) NOT VALID")
    ended = subprocess.run([sys.executable, "-B", EXAMPLES / "follow_postgresql.py", followed.feed, "sql", *server.options], capture_output=True,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.returncode != 0 and receipt.read_text() == before
    server.ask("ALTER TABLE embedding DROP CONSTRAINT embedding_z_check")
    step()
    check(*followed.rows())


def test_rows_for_pgvector(followed, tmp_path):
    """The extension is not among Debian's packages: what goes to psql is looked at, with a program that keeps it in its place."""
    psql = tmp_path / "bin" / "psql"
    psql.parent.mkdir()
    psql.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/options\ncat >> {tmp_path}/said\n")
    psql.chmod(0o755)
    followed.stream(1)
    subprocess.run([sys.executable, "-B", EXAMPLES / "follow_postgresql.py", followed.feed, "sql", "--vector", "-d", "vectors"], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": f"{psql.parent}:{os.environ['PATH']}"})
    said = (tmp_path / "said").read_text()
    assert "z vector(12) NOT NULL" in said and "CREATE TEMPORARY TABLE change (node bigint, z vector(12))" in said
    assert set((tmp_path / "options").read_text().splitlines()) == {"--no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 -d vectors"}
    lines = [line.split("\t") for line in said.splitlines() if "\t" in line]
    rows = {int(node): np.array([float(value) for value in z.strip("[]").split(",")], np.float32) for node, z in lines if z.startswith("[")}
    assert sorted(int(node) for node, z in lines if z == "\\N") == sorted(followed.removed)
    ids, z = followed.rows()
    for node, row in zip(ids.tolist(), z):
        assert np.array_equal(rows[node], row)
