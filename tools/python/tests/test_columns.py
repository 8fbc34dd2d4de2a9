# tools/python/tests/test_columns.py - Parquet and Arrow files make the store that their arrays make, by either reader and in bounded
# memory. Neither reader is among Debian's packages, so that these are stand-ins of what is used of them; the real ones are tested where
# they are installed.
import importlib
import pathlib
import sys
import threading
import time

import numpy as np
import pytest

import unweave
from unweave import Columns, _arrow
from unweave.columns import Piped

STANDINS = str(pathlib.Path(__file__).parent / "standins" / "columnar")
MODULES = ("pyarrow", "pyarrow.dataset", "pyarrow.ipc", "duckdb", "columnar_files")


@pytest.fixture
def bare(monkeypatch):
    """Neither reader is there, whatever is installed."""
    for module in MODULES[:4]:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.fixture(params=["pyarrow", "duckdb"])
def reader(request, monkeypatch):
    """One of the stand-ins, and not the other. Returns what writes its files."""
    monkeypatch.syspath_prepend(STANDINS)
    for module in MODULES:
        monkeypatch.delitem(sys.modules, module, raising=False)
    if request.param == "pyarrow":
        monkeypatch.setitem(sys.modules, "duckdb", None)
    else:
        for module in MODULES[:3]:
            monkeypatch.setitem(sys.modules, module, None)
    importlib.import_module(request.param)
    yield importlib.import_module("columnar_files").write
    for module in MODULES:
        sys.modules.pop(module, None)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("unweave reads")]


def digest(tmp_path, *args, **kwargs):
    return unweave.import_store(tmp_path / f"s{len(list(tmp_path.iterdir()))}", *args, **kwargs).info(digest=True).digest


def chunks_of(options, name):
    return list(options[name]._chunks())


def columns_of_features(sample):
    return {f"f{i:02}": sample.x[:, i] for i in range(12)}


def test_edges(reader, sample, tmp_path):
    u, v = sample.edge_index
    wanted = digest(tmp_path, sample.edge_index, nodes=400)
    for kind in ("i4", "i8", "u4", "u8", "u2"):
        file = reader(tmp_path / f"{kind}.parquet", {"src": u.astype(kind), "dst": v.astype(kind), "weight": np.ones(len(u))}, [700, 1, len(u) - 701])
        assert digest(tmp_path, file, nodes=400) == wanted  # a path: the first two columns
        assert digest(tmp_path, Columns(file, ["dst", "src"], batch=100), nodes=400, order="bfs") == digest(tmp_path, sample.edge_index, nodes=400, order="bfs")


def test_parts_in_their_order(reader, sample, tmp_path):
    (tmp_path / "parts").mkdir()
    parts = np.array_split(sample.x, [150, 151])
    for number, part in enumerate(parts):
        reader(tmp_path / f"parts/{number}.parquet", {f"f{i}": part[:, i] for i in range(12)}, [len(part)])
    wanted = digest(tmp_path, sample.edge_index, sample.x)
    for given in (tmp_path / "parts", tmp_path / "parts/*.parquet", [tmp_path / f"parts/{n}.parquet" for n in range(3)]):
        assert digest(tmp_path, sample.edge_index, Columns(given)) == wanted
    assert digest(tmp_path, sample.edge_index, Columns([tmp_path / f"parts/{n}.parquet" for n in (2, 1, 0)])) != wanted


def test_features_labels_and_splits(reader, sample, tmp_path):
    y = sample.y.copy()
    y[[3, 399]] = -1
    nodes = reader(tmp_path / "nodes.parquet", {**columns_of_features(sample), "x": sample.x, "y": y.astype("i4"), "train": sample.train,
                                                "test": sample.test}, [123, 277], {"y": y < 0})
    reader(tmp_path / "test.parquet", {"id": np.flatnonzero(sample.test)}, [100])
    wanted = digest(tmp_path, sample.edge_index, sample.x, y, train=sample.train, test=sample.test)
    for x in (Columns(nodes, list(columns_of_features(sample))), Columns(nodes, ["x"])):
        assert digest(tmp_path, sample.edge_index, x, Columns(nodes, ["y"]), train=Columns(nodes, ["train"]), test=tmp_path / "test.parquet") == wanted
    double = reader(tmp_path / "double.parquet", {"x": sample.x.astype("f8")}, [400])
    assert digest(tmp_path, sample.edge_index, double, standardize=True) == digest(tmp_path, sample.edge_index, sample.x.astype("f8"), standardize=True)
    assert not list(tmp_path.glob(".columns-*"))


def test_names_as_texts(reader, sample, tmp_path):
    names = np.array([f"person-{node}" for node in range(400)], dtype=object)
    u, v = sample.edge_index
    ids = reader(tmp_path / "ids.parquet", {"name": names}, [100, 300], {"name": np.arange(400) == 7})
    whole = reader(tmp_path / "whole.parquet", {"name": names}, [400])
    edges = reader(tmp_path / "edges.parquet", {"from": names[u], "to": names[v]}, [1000, len(u) - 1000])
    made = unweave.import_store(tmp_path / "named", edges, ids=whole)
    assert made.ids() == names.tolist()
    assert np.array_equal(made.edges(), unweave.import_store(tmp_path / "numbered", sample.edge_index, nodes=400).edges())
    assert unweave.import_store(tmp_path / "gap", sample.edge_index, ids=Columns(ids)).ids() == [None if n == 7 else f"person-{n}" for n in range(400)]
    numbers = reader(tmp_path / "numbers.parquet", {"id": np.arange(400) + 2**40}, [400])
    assert unweave.import_store(tmp_path / "n", sample.edge_index, ids=numbers).ids()[5] == str(2**40 + 5)


def test_only_what_is_read_is_in_memory(reader, tmp_path):
    """Never more than a group of rows, and what the pipe holds."""
    groups = 60
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 1000, (2, groups * 20000))
    file = reader(tmp_path / "many.parquet", {"u": edges[0], "v": edges[1]}, [20000] * groups)
    most = max(len(chunk) for chunk in chunks_of(Columns(file, batch=20000).edges(), "edges"))
    assert most == 20000 * 16
    assert digest(tmp_path, Columns(file, batch=20000), nodes=1000) == digest(tmp_path, edges, nodes=1000)


def test_a_pipe_waits_for_its_reader():
    """What is read ahead is what the pipe holds, and two chunks: one on its way, one that is made."""
    made, chunk, count = [], bytes(range(256)) * 1024, 64

    def chunks():
        for number in range(count):
            made.append(number)
            yield chunk

    one = Piped("e.parquet", chunks)
    with open(one.open(), "rb", buffering=0) as opened:
        wait_until_still(made)
        ahead = 2**20 // len(chunk) + 2
        assert 1 <= len(made) <= ahead
        read = bytearray()
        while len(read) < 32 * len(chunk):
            read += opened.read(len(chunk))
        wait_until_still(made)
        assert 32 <= len(made) <= 32 + ahead
        while more := opened.read(2**20):
            read += more
    one.close()
    assert bytes(read) == chunk * count and one.error is None


def wait_until_still(made):
    before = -1
    while before != len(made):
        before = len(made)
        time.sleep(0.2)


def test_only_wanted_columns_are_read(reader, sample, tmp_path):
    file = reader(tmp_path / "wide.parquet", {"u": sample.edge_index[0], "v": sample.edge_index[1], "note": np.full(sample.edge_index.shape[1], "x", object)},
                  [sample.edge_index.shape[1]])
    assert digest(tmp_path, file, nodes=400) == digest(tmp_path, sample.edge_index, nodes=400)
    if sys.modules["pyarrow"] is not None:
        assert sys.modules["pyarrow"].read_batches[-1] == ["u", "v"]


BAD = {
    "a name that is not there": (lambda write, path: Columns(write(path, {"u": np.arange(3), "v": np.arange(3)}, [3]), ["u", "w"]), "no column 'w'; there are 'u', 'v'"),
    "one column": (lambda write, path: Columns(write(path, {"u": np.arange(3)}, [3])), "1 columns"),
    "floats": (lambda write, path: Columns(write(path, {"u": np.zeros(3), "v": np.arange(3)}, [3])), "'u' of type float64"),
    "texts and numbers": (lambda write, path: Columns(write(path, {"u": np.array(["a"], object), "v": np.arange(1)}, [1])), "'u' of texts"),
    "a missing end": (lambda write, path: Columns(write(path, {"u": np.arange(4), "v": np.arange(4)}, [2, 2], {"v": np.arange(4) == 3})), "row 3: column 'v' has no value"),
    "a negative id": (lambda write, path: Columns(write(path, {"u": np.arange(3), "v": np.arange(3) - 1}, [3])), r"bad\.parquet.*-1"),
    "an enormous id": (lambda write, path: Columns(write(path, {"u": np.arange(3, dtype="u8") + np.uint64(2**63), "v": np.arange(3)}, [3])), "above 2"),
    "a name with a blank": (lambda write, path: Columns(write(path, {"u": np.array(["a b"], object), "v": np.array(["c"], object)}, [1])), "row 0.*one word"),
    "a name that would be a comment": (lambda write, path: Columns(write(path, {"u": np.array(["x", "#a"], object), "v": np.array(["c", "d"], object)}, [2])), "row 1.*#"),
    "no file": (lambda write, path: Columns(path), "no such file"),
    "no file of a pattern": (lambda write, path: Columns(path.parent / "none" / "*.parquet"), "no file of Parquet"),
    "another kind of file": (lambda write, path: Columns(path.with_suffix(".csv").write_text("") or [path.with_suffix(".csv")]), "by its name"),
    "no Parquet inside": (lambda write, path: path.write_bytes(b"hello") and Columns(path), r"bad\.parquet.*says"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_meant_is_refused(reader, tmp_path, name):
    make, said = BAD[name]
    with pytest.raises(unweave.Error, match=said) as caught:
        unweave.import_store(tmp_path / "s", make(reader, tmp_path / "bad.parquet"))
    assert "/proc/self" not in str(caught.value) and not (tmp_path / "s").exists()


def test_other_inputs_that_cannot_be_meant(reader, sample, tmp_path):
    texts = reader(tmp_path / "t.parquet", {"t": np.array(["a"] * 400, object)}, [400])
    gaps = reader(tmp_path / "g.parquet", {"x": sample.x[:, 0]}, [400], {"x": np.arange(400) == 250})
    nan = reader(tmp_path / "nan.parquet", {"x": np.full(400, np.nan)}, [400])
    for kwargs, said in (({"features": texts}, "'t' of texts"), ({"features": gaps}, "row 250: column 'x'"), ({"features": nan}, r"nan\.parquet.*NaN"),
                         ({"labels": texts, "classes": 2}, "the labels are names"), ({"train": gaps, "labels": sample.y}, "row 250"), ({"ids": Columns(gaps, ["x", "x"])}, "2 columns"),
                         ({"features": gaps, "standardize": True}, "row 250")):
        with pytest.raises(unweave.Error, match=said):
            unweave.import_store(tmp_path / "s", sample.edge_index, **{"features": sample.x, **kwargs})
        assert not (tmp_path / "s").exists() and not list(tmp_path.glob(".columns-*"))
    with pytest.raises(unweave.UsageError, match="list of names"):
        Columns(gaps, "x")


def test_an_import_that_fails_ends_its_readers(reader, sample, tmp_path):
    """Another input is wrong, while the pipe is full and nobody reads it any more; the fixture looks for threads that were left."""
    many = reader(tmp_path / "many.parquet", {"u": np.arange(10**6) % 400, "v": np.arange(10**6) % 399}, [10**5] * 10)
    with pytest.raises(unweave.Error, match="absent"):
        unweave.import_store(tmp_path / "s", many, tmp_path / "absent.npy")
    with pytest.raises(unweave.Error):
        unweave.import_store(tmp_path / "s", many, nodes=10)


def test_files_and_streams_of_arrow(reader, sample, tmp_path):
    u, v = sample.edge_index
    wanted = digest(tmp_path, sample.edge_index, nodes=400)
    for suffix in (".arrow", ".feather", ".arrows"):
        file = reader(tmp_path / f"e{suffix}", {"u": u, "note": np.full(len(u), "x", object), "v": v}, [500, len(u) - 500])
        if sys.modules["pyarrow"] is None:
            with pytest.raises(unweave.UsageError, match="Arrow files are read by pyarrow, which.*install it"):
                digest(tmp_path, file)
        else:
            assert digest(tmp_path, Columns([file], ["u", "v"]), nodes=400) == wanted
    if sys.modules["pyarrow"] is not None:
        with pytest.raises(unweave.UsageError, match="of one kind"):
            digest(tmp_path, Columns([file, reader(tmp_path / "e.parquet", {"u": u, "v": v}, [len(u)])]))


def test_without_a_reader_the_error_says_what_to_do(bare, tmp_path):
    for name, said in (("e.parquet", "Parquet is read by pyarrow or DuckDB.*install it.*pipe"), ("e.arrow", "Arrow files are read by pyarrow, which.*install it")):
        (tmp_path / name).write_bytes(b"PAR1")
        with pytest.raises(unweave.UsageError, match=said):
            unweave.import_store(tmp_path / "s", tmp_path / name)


def test_files_that_change_while_they_are_read(reader, sample, tmp_path):
    u, v = sample.edge_index
    file = reader(tmp_path / "e.parquet", {"u": u, "v": v}, [len(u)])
    options = Columns(file).edges()
    for rows in (len(u) - 5, len(u)):
        reader(file, {"u": np.resize(u, rows + 3), "v": np.resize(v, rows + 3)}, [rows, 3])
        with pytest.raises(unweave.DataError, match="changed while they were read"):
            chunks_of(options, "edges")


def test_the_real_pyarrow(sample, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    u, v = sample.edge_index
    edges = pyarrow.table({"u": u, "v": v.astype("i4")})
    nodes = pyarrow.table({"x": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(sample.x.reshape(-1)), 12), "y": sample.y, "train": sample.train})
    pyarrow.parquet.write_table(edges, tmp_path / "e.parquet", row_group_size=500)
    pyarrow.parquet.write_table(nodes, tmp_path / "n.parquet", row_group_size=100)
    pyarrow.feather.write_feather(edges, tmp_path / "e.feather")
    with pyarrow.ipc.new_stream(tmp_path / "e.arrows", edges.schema) as stream:
        stream.write_table(edges, max_chunksize=300)
    wanted = digest(tmp_path, sample.edge_index, sample.x, sample.y, train=sample.train)
    for file in ("e.parquet", "e.feather", "e.arrows"):
        assert digest(tmp_path, tmp_path / file, Columns(tmp_path / "n.parquet", ["x"]), Columns(tmp_path / "n.parquet", ["y"]),
                      train=Columns(tmp_path / "n.parquet", ["train"])) == wanted


def test_the_real_duckdb(sample, tmp_path, monkeypatch):
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    u, v = sample.edge_index
    frames = {"e": pandas.DataFrame({"u": u, "v": v}), "n": pandas.DataFrame({**columns_of_features(sample)}), "y": pandas.DataFrame({"y": sample.y})}
    connection = duckdb.connect()
    for name, frame in frames.items():
        connection.register(name, frame)
        connection.execute(f"COPY (SELECT * FROM {name}) TO '{tmp_path / name}.parquet' (FORMAT parquet)")
    assert digest(tmp_path, *(tmp_path / f"{name}.parquet" for name in "eny")) == digest(tmp_path, sample.edge_index, sample.x, sample.y)


# The other way

def fields_and_batches():
    fields = [("node", np.dtype("i8"), None), ("z", np.dtype("f4"), 2), ("name", None, None), ("mask", np.dtype(bool), None)]

    def batches():
        yield [_arrow.Column(np.arange(3)), _arrow.Column(np.arange(6, dtype="f4").reshape(3, 2), np.array([False, True, False])),
               _arrow.Column([b"a", b"", "ü".encode()]), _arrow.Column(np.array([True, False, True]))]
        yield [_arrow.Column(np.arange(1)), _arrow.Column(np.ones((1, 2), "f4")), _arrow.Column([b"x"], np.array([True])), _arrow.Column(np.array([False]))]

    return fields, batches


def test_a_stream_gives_what_went_into_it_and_frees_it():
    kept = len(_arrow._kept)
    fields, batches = fields_and_batches()
    exported = _arrow.Exported(fields, batches)
    for _ in range(2):
        found = _arrow.Batches(exported, "t")
        assert (found.names, found.kinds, found.are_lists) == (["node", "z", "name", "mask"], [field[1] for field in fields], [False, True, False, False])
        for batch, wanted in zip(found, batches()):
            for column, other in zip(batch, wanted):
                assert np.array_equal(column.values, other.values)
                assert (column.missing is None) == (other.missing is None) and np.array_equal(column.missing, other.missing)
        del found, batch, column
    capsule = exported.__arrow_c_stream__()
    del capsule
    assert len(_arrow._kept) == kept

    def failing():
        yield next(batches())
        raise ValueError("the disk is gone")

    with pytest.raises(unweave.DataError, match="the disk is gone"):
        list(_arrow.Batches(_arrow.Exported(fields, failing), "t"))


def test_a_store_and_a_change_are_streams_of_arrow(store, tmp_path):
    with store.stream(changes=tmp_path / "feed", plan="push") as stream:
        stream.send([("node", 3), ("edge", *map(int, store.edges()[0]))])
    batches = list(_arrow.Batches(store.arrow(size=150), "z"))
    assert [len(batch[0]) for batch in batches] == [150, 150, 100]
    assert np.array_equal(np.concatenate([batch[0].values for batch in batches]), store.embedded())
    assert np.array_equal(np.concatenate([batch[1].values for batch in batches]), store.embeddings())
    rows, gone = {}, []
    for change in unweave.Changes(tmp_path / "feed", "arrow"):
        [[node, z]] = _arrow.Batches(change, "change")
        missing = np.zeros(len(node), bool) if z.missing is None else z.missing
        for number, row, no_row in zip(node.values.tolist(), z.values.tolist(), missing.tolist()):
            rows.pop(number, None) if no_row else rows.update({number: row})
        gone += node.values[missing].tolist()
    assert sorted(rows) == store.embedded().tolist()
    assert np.array_equal(np.array([rows[node] for node in sorted(rows)], "f4"), store.embeddings())


def test_the_real_pyarrow_takes_a_store(store):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(store.arrow(size=100))
    assert np.array_equal(np.array(table["z"].to_pylist(), "f4"), store.embeddings())


def test_rows_of_texts_are_no_headers(reader, tmp_path):
    """They went to the import as lines, of which the first was asked about."""
    names = ["id", "ann", "source", "target"]
    reader(tmp_path / "e.parquet", {"a": np.array(["source", "ann"], object), "b": np.array(["target", "source"], object)}, [2])
    reader(tmp_path / "n.parquet", {"name": np.array(names, object)}, [4])
    given = {"graph": tmp_path / "e.parquet", "ids": tmp_path / "n.parquet"}
    store = unweave.import_store(tmp_path / "s", **given)
    assert store.ids() == names and store.edges().tolist() == [[1, 2], [2, 3]]
    with pytest.raises(unweave.UsageError, match="^header: there is no text file"):
        unweave.import_store(tmp_path / "bad", **given, header="no")
