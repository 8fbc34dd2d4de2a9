# tools/python/tests/test_planetoid.py - files of Planetoid's layout, as Python 2 pickled them, become the graph that they describe;
# pickles that would run something do not.
import collections
import io
import os
import pathlib
import pickle
import struct
import time
import tracemalloc

import numpy as np
import pytest

import unweave

scipy_sparse = pytest.importorskip("scipy.sparse")


class Python2Pickler(pickle._Pickler):
    """Protocol 2 as Python 2 wrote it: texts and bytes are one type, by the opcode of its strings; modules have their old names."""

    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, protocol=2, fix_imports=True)

    def save_string(self, value):
        content = value if isinstance(value, bytes) else value.encode("ascii")
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(value)

    dispatch[bytes] = dispatch[str] = save_string


def pickled(value):
    file = io.BytesIO()
    Python2Pickler(file).dump(value)
    return file.getvalue().replace(b"cscipy.sparse._csr\n", b"cscipy.sparse.csr\n")


class Sample:
    """Twelve nodes: 2 labelled, 6 in allx, and of the six after them 6, 8, 9 and 11 in test.index, in another order."""

    test, nodes, columns = [9, 6, 11, 8], 12, 5

    def __init__(self):
        rng = np.random.default_rng(2)
        self.x = np.where(rng.random((self.nodes, self.columns)) < 0.5, rng.random((self.nodes, self.columns)), 0).astype("f4")
        self.y = rng.integers(0, 3, self.nodes)
        self.isolated = [7, 10]
        self.x[self.isolated], self.y[self.isolated] = 0, -1
        self.graph = collections.defaultdict(list, {0: [1, 2, 2], 1: [0], 2: [0, 2, 9], 9: [2, 11], 11: [9], 7: [], 10: []})

    def files(self):
        one_hot = np.eye(3, dtype="i4")[self.y]
        sparse = lambda rows: scipy_sparse.csr_matrix(self.x[rows])  # noqa: E731
        return {"x": sparse(range(2)), "allx": sparse(range(6)), "tx": sparse(self.test), "y": one_hot[:2], "ally": one_hot[:6],
                "ty": one_hot[self.test], "graph": self.graph}

    def write(self, folder, **instead):
        for part, value in self.files().items():
            (folder / f"ind.tiny.{part}").write_bytes(instead.get(part, None) or pickled(value))
        (folder / "ind.tiny.test.index").write_text(instead.get("index", "".join(f"{node}\n" for node in self.test)))
        return folder


@pytest.fixture
def tiny():
    return Sample()


def test_the_test_pickles_are_those_of_python_2(tiny):
    text = pickled(tiny.files()["x"])
    assert text[:2] == b"\x80\x02" and b"cscipy.sparse.csr\ncsr_matrix\n" in text
    assert b"_codecs" not in text and b"cnumpy.core.multiarray\n_reconstruct\n" in text
    assert b"c__builtin__\nlist\n" in pickled(tiny.graph)


@pytest.mark.parametrize("pickle_of", [pickled, *(lambda value, p=p: pickle.dumps(value, p) for p in range(5))], ids=["2.7", *"01234"])
def test_a_data_set_is_read_as_its_users_read_it(tiny, tmp_path, pickle_of):
    graph = unweave.read_planetoid(tiny.write(tmp_path, **{part: pickle_of(value) for part, value in tiny.files().items()}), "tiny")
    assert graph.num_nodes == 12
    assert np.array_equal(graph.x.toarray(), tiny.x)
    assert np.array_equal(graph.y, tiny.y)
    assert [np.flatnonzero(mask).tolist() for mask in (graph.train_mask, graph.val_mask, graph.test_mask)] == [[0, 1], [2, 3, 4, 5], [6, 8, 9, 11]]
    arcs = [(u, v) for u, ends in tiny.graph.items() for v in ends]
    assert sorted(map(tuple, graph.edge_index.T.tolist())) == sorted(arcs)


def test_as_kipf_reads_it(tiny, tmp_path):
    """The recipe of Kipf's GCN, with its extended rows for the nodes that test.index lacks."""
    files, order = tiny.files(), np.array(tiny.test)
    ranged = np.sort(order)
    extended = scipy_sparse.lil_matrix((order.max() - order.min() + 1, tiny.columns), dtype="f4")
    extended[ranged - order.min(), :] = files["tx"]
    features = scipy_sparse.vstack((files["allx"], extended)).tolil()
    features[order, :] = features[ranged, :]
    graph = unweave.read_planetoid(tiny.write(tmp_path), "tiny")
    assert np.array_equal(graph.x.toarray(), features.toarray())


def test_a_store_takes_it(tiny, tmp_path):
    store = unweave.import_store(tmp_path / "s", unweave.read_planetoid(tiny.write(tmp_path), "tiny"))
    assert store.edges().tolist() == [[0, 1], [0, 2], [2, 9], [9, 11]]
    assert np.array_equal(store.labels(), tiny.y)
    wanted = unweave.import_store(tmp_path / "t", [[0, 0, 2, 9], [1, 2, 9, 11]], scipy_sparse.csr_matrix(tiny.x), tiny.y, train=[0, 1],
                                  valid=[2, 3, 4, 5], test=[6, 8, 9, 11])
    assert store.info(digest=True).digest == wanted.info(digest=True).digest


class Attack:
    """Writes a file when it is unpickled."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def raw(*opcodes):
    return b"\x80\x02" + b"".join(opcodes) + b"."


HOSTILE = {
    "system": lambda mark: pickle.dumps(Attack(os.system, f"touch {mark}"), 2),
    "eval": lambda mark: pickle.dumps(Attack(eval, f"open({str(mark)!r}, 'w')"), 2),
    "open": lambda mark: pickle.dumps(Attack(io.open, str(mark), "w"), 2),
    "inside an array": lambda mark: pickle.dumps(np.array([Attack(os.system, f"touch {mark}")], dtype=object), 2),
    "inside a graph": lambda mark: pickle.dumps(collections.defaultdict(list, {0: [Attack(os.system, f"touch {mark}")]}), 2),
    "dotted name": lambda mark: b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__class__\x93.",
    "numpy's own loader": lambda mark: raw(b"cnumpy\nload\n", b"X\x01\x00\x00\x00a", b"\x85R"),
    "an object": lambda mark: raw(b"ccopy_reg\n_reconstructor\n", b"c__builtin__\nobject\n", b"c__builtin__\nobject\n", b"N\x87R"),
    "an array of a list": lambda mark: raw(b"cnumpy.core.multiarray\n_reconstruct\n", b"c__builtin__\nlist\n", b"K\x00\x85", b"U\x01b", b"\x87R"),
    "a persistent id": lambda mark: raw(b"X\x01\x00\x00\x00a", b"Q"),
    "a changed function": lambda mark: raw(b"c_codecs\nencode\n", b"N}X\x01\x00\x00\x00aK\x01s\x86b"),
    "a changed class": lambda mark: raw(b"cnumpy\nndarray\n", b"N}X\x01\x00\x00\x00aK\x01s\x86b"),
    "an extension": lambda mark: raw(b"\x82\x01"),
}


@pytest.mark.parametrize("part", ["x", "y", "graph"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_runs_nothing(tiny, tmp_path, name, part):
    mark = tmp_path / "ran"
    with pytest.raises(unweave.DataError, match=rf"ind\.tiny\.{part}: ") as caught:
        unweave.read_planetoid(tiny.write(tmp_path, **{part: HOSTILE[name](mark)}), "tiny")
    assert not mark.exists()
    if name in ("system", "eval", "open", "inside an array", "inside a graph"):
        assert "refused" in str(caught.value)


def nested(times, first=b")"):
    """A tuple of tuples, twice in each: as long to write down as 2 to the power of ``times``."""
    return first + b"".join(b"q" + bytes([place]) + b"h" + bytes([place]) + b"\x86" for place in range(times))


def a_dtype(state):
    return b"cnumpy\ndtype\nX\x02\x00\x00\x00f4K\x00K\x01\x87R" + state + b"b"


def an_array(shape, content=b"C\x00", kind=a_dtype(b"(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t")):
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    return made + b"(K\x01" + shape + kind + b"\x89" + content + b"tb"


# Each takes a few hundred bytes, or a megabyte, and took seconds, gigabytes or a message of hundreds of megabytes, or would have.
LARGE = {
    "the state of a type": raw(a_dtype(nested(26))),
    "the code of a type": raw(b"cnumpy\ndtype\n", nested(26), b"\x85R"),
    "a shape": raw(an_array(nested(26))),
    "a key of a dictionary": raw(b"}", nested(40), b"Ns"),
    "a key of a dictionary at once": raw(b"(", nested(40), b"Nd"),
    "a neighbour": raw(b"}K\x00]", nested(26), b"as"),
    "a node": raw(b"}", nested(26), b"]s"),
    "a number of many digits": raw(b"}K\x00]\x8b\xe8\x03\x00\x00" + b"\x7f" * 1000 + b"as"),
    "a shape of long numbers": raw(an_array((b"\x8b\x40\x42\x0f\x00" + b"\xff" * 999_999 + b"\x7f") * 2 + b"\x86")),
    "a number that is written out": raw(b"}K\x00]L" + b"9" * 1_000_000 + b"L\nas"),
    "another one": raw(b"}K\x00]I" + b"9" * 1_000_000 + b"\nas"),
    "a place that is written out": raw(b"Ng" + b"9" * 1_000_000 + b"\n"),
    "a name of many letters": raw(b"c" + b"m" * 100_000 + b"\n" + b"n" * 100_000 + b"\n"),
    "an array without elements": raw(an_array(b"J\x00\xca\x9a\x3bK\x00\x86")),
    "a place in the memo": raw(b"Nr\xff\xff\xff\x0f"),
    "bytes that are not there": raw(b"B\xff\xff\xff\x7f"),
    "bytes made many times": raw(b"X\x00\x10\x00\x00" + b"a" * 4096 + b"q\x00](" + b"c_codecs\nencode\nh\x00\x85R" * 2000 + b"e"),
    "neighbours of many nodes": raw(b"](" + b"K\x01" * 5000 + b"eq\x00}(" + b"".join(b"M" + struct.pack("<H", node) + b"h\x00" for node in range(5000)) + b"u"),
    "copies of a list": raw(b"](" + b"K\x01" * 5000 + b"eq\x00](" + b"c__builtin__\nlist\nh\x00\x85R" * 2000 + b"e"),
}


@pytest.mark.parametrize("part", ["x", "y", "graph"])
@pytest.mark.parametrize("name", LARGE)
def test_a_small_pickle_takes_little_time_memory_and_room_for_its_message(tiny, tmp_path, name, part):
    tracemalloc.start()
    started = time.monotonic()
    try:
        with pytest.raises(unweave.DataError, match=rf"ind\.tiny\.{part}: ") as caught:
            unweave.read_planetoid(tiny.write(tmp_path, **{part: LARGE[name]}), "tiny")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 1000 + len(str(tmp_path))
    assert time.monotonic() - started < 5


def test_what_would_run_does_run_elsewhere(tmp_path):
    """The attacks above are attacks."""
    for name in ("system", "eval"):
        mark = tmp_path / f"ran-{name}"
        pickle.loads(HOSTILE[name](mark))
        assert mark.exists()


def test_damaged_files_are_named(tiny, tmp_path):
    whole = pickled(tiny.files()["allx"])
    for cut in range(0, len(whole), 7):
        with pytest.raises(unweave.DataError, match=r"ind\.tiny\.allx"):
            unweave.read_planetoid(tiny.write(tmp_path, allx=whole[:cut] or b"\n"), "tiny")
    rng = np.random.default_rng(0)
    for _ in range(300):  # either an error of ours, or a data set
        bad = bytearray(whole)
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        try:
            unweave.read_planetoid(tiny.write(tmp_path, allx=bytes(bad)), "tiny")
        except unweave.DataError as error:
            assert "ind.tiny." in str(error)


@pytest.mark.parametrize("instead, said", [
    ({"y": pickled([1, 2])}, "ind.tiny.y"), ({"x": pickled(np.zeros(3))}, "ind.tiny.x"), ({"graph": pickled([1])}, "ind.tiny.graph"),
    ({"graph": pickled({0: [12]})}, "12 is no node"), ({"graph": pickled({0: 1})}, "no list"), ({"index": "6\nx\n8\n9\n"}, "line 2"),
    ({"index": "6\n6\n8\n9\n"}, "test.index"), ({"index": "7\n8\n9\n10\n"}, "test.index"), ({"index": "6\n8\n"}, "test.index"), ({"index": "6\n8\n9\n99999999\n"}, "test.index"),
    ({"y": pickled(np.zeros((3, 3)))}, "one data set")])
def test_files_that_do_not_fit_are_refused(tiny, tmp_path, instead, said):
    with pytest.raises(unweave.DataError, match=said):
        unweave.read_planetoid(tiny.write(tmp_path, **instead), "tiny")


def test_absent_files_are_named(tmp_path):
    with pytest.raises(unweave.DataError, match=r"ind\.cora\.x.*eight files"):
        unweave.read_planetoid(tmp_path, "cora")


@pytest.mark.parametrize("name, nodes, classes", [("cora", 2708, 7), ("citeseer", 3327, 6), ("pubmed", 19717, 3)])
def test_originals(tmp_path, name, nodes, classes):
    folder = pathlib.Path(os.environ.get("UNWEAVE_DATA", "/absent"))
    found = next((file.parent for file in folder.glob(f"**/ind.{name}.allx")), None)
    if found is None:
        pytest.skip(f"UNWEAVE_DATA names no folder with ind.{name}.*")
    graph = unweave.read_planetoid(found, name)
    assert graph.num_nodes == nodes and graph.y.max() + 1 == classes and graph.test_mask.sum() == 1000 and graph.val_mask.sum() == 500
    assert graph.train_mask.sum() == 20 * classes
