# tools/python/tests/test_arrays.py - graphs, features, labels and splits of every kind make the same store.
import ctypes
import re
import subprocess
import sys

import numpy as np
import pytest

import unweave
from unweave import _arrow, arrays, graphs


def digest(tmp_path, *args, **kwargs):
    path = tmp_path / f"s{len(list(tmp_path.iterdir()))}"
    return unweave.import_store(path, *args, **kwargs).info(digest=True).digest


@pytest.mark.parametrize("kind", ["i4", "i8", "u2", "u4", "u8", ">i4", ">i8"])
@pytest.mark.parametrize("shape", ["rows", "pairs", "fortran", "strided"])
def test_edge_index_of_any_type_and_order(sample, tmp_path, kind, shape):
    edges = sample.edge_index.astype(kind)
    form = {"rows": edges, "pairs": np.ascontiguousarray(edges.T), "fortran": np.asfortranarray(edges),
            "strided": np.repeat(edges, 2, axis=1)[:, ::2]}[shape]
    assert digest(tmp_path, form, nodes=400) == digest(tmp_path, sample.edge_index, nodes=400)


def test_an_array_of_two_edges_may_have_them_in_rows_or_in_columns(tmp_path):
    square = np.array([[0, 1], [5, 6]])
    for one in (square, square.tolist(), np.array([["a", "b"], ["c", "d"]])):
        with pytest.raises(unweave.UsageError, match=r"in rows or in columns; give a list of tuples \(u, v\), or the pair"):
            unweave.import_store(tmp_path / "s", one, ids=list("abcd") if one is not square and not isinstance(one, list) else None)
    assert unweave.import_store(tmp_path / "p", [tuple(edge) for edge in square.tolist()]).edges().tolist() == [[0, 1], [5, 6]]
    assert unweave.import_store(tmp_path / "q", (square[0], square[1])).edges().tolist() == [[0, 5], [1, 6]]
    assert unweave.import_store(tmp_path / "r", np.array([[0, 1], [1, 0]])).edges().tolist() == [[0, 1]]
    assert unweave.import_store(tmp_path / "t", [[0, 5], [1, 6], [2, 7]]).edges().tolist() == [[0, 5], [1, 6], [2, 7]]


def test_graphs_of_other_packages(sample, tmp_path):
    wanted = digest(tmp_path, sample.edge_index, nodes=400)
    u, v = sample.edge_index
    assert digest(tmp_path, (u.astype("i4"), v), nodes=400) == wanted

    class DGLGraph:  # as dgl.DGLGraph documents edges(), num_nodes() and ndata
        ndata = {"feat": sample.x, "label": sample.y, "train_mask": sample.train}

        def edges(self):
            return u, v

        def num_nodes(self):
            return 400

    assert digest(tmp_path, DGLGraph()) == digest(tmp_path, sample.edge_index, sample.x, sample.y, train=sample.train)

    class Data:  # as torch_geometric.data.Data documents its attributes
        edge_index, x, y, train_mask, val_mask, test_mask, num_nodes = sample.edge_index, sample.x, sample.y, sample.train, None, sample.test, 400

    assert digest(tmp_path, Data()) == digest(tmp_path, sample.edge_index, sample.x, sample.y, train=sample.train, test=sample.test)
    assert digest(tmp_path, Data(), test=[399]) != digest(tmp_path, Data())


def test_sparse_matrices(sample, tmp_path):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    adjacency = scipy_sparse.csr_matrix(sample.adjacency())
    assert digest(tmp_path, adjacency) == digest(tmp_path, sample.edge_index, nodes=400)
    sparse_x = np.where(sample.x > 0.1, sample.x, 0)
    for form in (scipy_sparse.csr_matrix, scipy_sparse.csc_matrix, scipy_sparse.coo_matrix):
        assert digest(tmp_path, adjacency, form(sparse_x)) == digest(tmp_path, adjacency, scipy_sparse.csr_matrix(sparse_x))
    with pytest.raises(unweave.UsageError, match="square"):
        unweave.import_store(tmp_path / "bad", scipy_sparse.csr_matrix(sample.x))


def test_tables_of_pandas(sample, tmp_path):
    pandas = pytest.importorskip("pandas")
    u, v = sample.edge_index
    edges = pandas.DataFrame({"from": u, "to": v.astype("i4"), "weight": 1.0})
    frame = pandas.DataFrame(sample.x)
    assert (digest(tmp_path, edges, frame, pandas.Series(sample.y), train=pandas.Series(sample.train)) ==
            digest(tmp_path, sample.edge_index, sample.x, sample.y, train=sample.train))


class ArrowTable:
    """A stand-in for what pyarrow, polars and DuckDB hand over: a stream of batches with columns, through the C interface."""

    FORMATS = {"int32": b"i", "int64": b"l", "float32": b"f", "float64": b"g", "uint32": b"I", "uint8": b"C"}

    def __init__(self, columns, rows_of_batches, nulls=0):
        self.columns, self.rows, self.nulls, self.released, self.keep = columns, rows_of_batches, nulls, 0, []

    def __arrow_c_stream__(self, requested_schema=None):
        rest = []
        first = 0
        for count in self.rows:
            rest.append((first, count))
            first += count

        def schema(_, out):
            children = (ctypes.POINTER(_arrow._Schema) * len(self.columns))()
            for i, (name, array) in enumerate(self.columns.items()):
                child = _arrow._Schema(format=self.FORMATS[array.dtype.name], name=name.encode(), release=self.release_schema)
                self.keep.append(child)
                children[i] = ctypes.pointer(child)
            self.keep.append(children)
            out[0] = _arrow._Schema(format=b"+s", name=b"", n_children=len(self.columns), children=children, release=self.release_schema)
            return 0

        def following(_, out):
            if not rest:
                out[0] = _arrow._Array()
                return 0
            first, count = rest.pop(0)
            children = (ctypes.POINTER(_arrow._Array) * len(self.columns))()
            for i, array in enumerate(self.columns.values()):
                buffers = (ctypes.c_void_p * 2)(None, array.ctypes.data)
                child = _arrow._Array(length=count, null_count=self.nulls, offset=first, n_buffers=2, buffers=buffers, release=self.release_array)
                self.keep += [buffers, child]
                children[i] = ctypes.pointer(child)
            self.keep.append(children)
            out[0] = _arrow._Array(length=count, n_children=len(self.columns), children=children, release=self.release_array)
            return 0

        def release_array(pointer):
            self.released += 1
            pointer.contents.release = type(pointer.contents.release)()

        def release_schema(pointer):
            pointer.contents.release = type(pointer.contents.release)()

        types = {name: kind for name, kind in _arrow._Stream._fields_}
        self.release_array = dict(_arrow._Array._fields_)["release"](release_array)
        self.release_schema = dict(_arrow._Schema._fields_)["release"](release_schema)
        stream = _arrow._Stream(get_schema=types["get_schema"](schema), get_next=types["get_next"](following))
        self.keep.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)


def test_arrow_streams_are_read_where_they_lie(sample, tmp_path):
    u, v = (np.ascontiguousarray(end) for end in sample.edge_index.astype("i4"))
    table = ArrowTable({"u": u, "v": v}, [1000, 0, len(u) - 1000])
    found = graphs.edges_of(table)["edges"]
    filled = [piece for piece in found["pieces"] if piece.size]
    assert [piece.ctypes.data for piece in filled] == [u.ctypes.data, u.ctypes.data + 4000, v.ctypes.data, v.ctypes.data + 4000]
    assert digest(tmp_path, table, nodes=400) == digest(tmp_path, sample.edge_index, nodes=400)
    del found, filled
    assert table.released == 6  # batches of both readings
    features = ArrowTable({f"f{i}": np.ascontiguousarray(sample.x[:, i]) for i in range(12)}, [400])
    labels = ArrowTable({"y": sample.y}, [100, 300])
    assert digest(tmp_path, sample.edge_index, features, labels) == digest(tmp_path, sample.edge_index, sample.x, sample.y)
    with pytest.raises(unweave.UsageError, match="missing values"):
        graphs.edges_of(ArrowTable({"u": u, "v": v}, [len(u)], nulls=1))


def test_tensors_by_dlpack(sample, tmp_path):
    class Tensor:  # as the protocol has it: no __array__
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    seen = arrays.array_of(Tensor(sample.x), "x")
    assert seen.ctypes.data == sample.x.ctypes.data
    assert (digest(tmp_path, Tensor(sample.edge_index), Tensor(sample.x), Tensor(sample.y)) ==
            digest(tmp_path, sample.edge_index, sample.x, sample.y))


def test_nothing_is_copied_that_lies_in_order(sample):
    piece = graphs.edges_of(sample.edge_index)["edges"]["pieces"][0]
    assert np.shares_memory(piece, sample.edge_index)
    assert np.shares_memory(arrays.features_of(sample.x)["features"]["pieces"][0], sample.x)


def test_what_cannot_be_meant_is_refused(sample, tmp_path):
    for graph, text in ((np.zeros((2, 3)), "integers"), (np.zeros((3, 3), int), r"\(3, 3\)"), ("absent.txt", "absent.txt"),
                        (np.array([["a", "b", "c"]]), r"\(1, 3\)"), ((np.arange(3), np.arange(4)), "3 sources and 4 targets")):
        with pytest.raises(unweave.Error, match=text):
            unweave.import_store(tmp_path / "bad", graph)
        assert not (tmp_path / "bad").exists()
    with pytest.raises(unweave.DataError, match="graph.*-1"):
        unweave.import_store(tmp_path / "bad", np.array([[0, -1, 1], [1, 2, 2]]))
    with pytest.raises(unweave.DataError, match="features.*NaN"):
        unweave.import_store(tmp_path / "bad", sample.edge_index, np.full((400, 2), np.nan))
    with pytest.raises(unweave.UsageError, match=r"labels: element 3 is 7 among texts"):
        unweave.import_store(tmp_path / "bad", sample.edge_index, sample.x, np.array(["a", "b", "c", 7] * 100, dtype=object))


def advised(error, pattern, **given):
    return eval(re.search(pattern, str(error.value))[1], {"numpy": np, **given})  # noqa: S307  what the error advises


def test_what_is_no_list_is_told_how_to_become_one(tmp_path):
    edges, y = [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 0, 1, 1]
    want = {"graph": digest(tmp_path, edges), "labels": digest(tmp_path, edges, labels=y),
            "train": digest(tmp_path, edges, labels=y, train=[0, 3])}
    halves = {0: 0.5, 3: 0.5}
    for argument, wrong in (
            ("graph", set(edges)), ("graph", iter(edges)), ("graph", zip([0, 1, 2, 3], [1, 2, 3, 4])), ("graph", dict.fromkeys(edges, 2)),
            ("graph", {0: [1], 1: [2], 2: [3], 3: [4]}), ("graph", np.array(edges, object)), ("graph", np.array(edges, [("u", "i4"), ("v", "i4")])),
            ("labels", (one for one in y)), ("labels", dict(enumerate(y)).values()), ("labels", np.array(y, object)), ("train", {0, 3}),
            ("train", halves), ("train", halves.keys()), ("train", iter([0, 3])), ("train", np.array([0, 3], object)),
            ("train", np.array([True, False, False, True, False], object)), ("train", np.array([(0,), (3,)], [("node", "i8")]))):
        given = {"graph": edges, "labels": None if argument == "graph" else y, argument: wrong}
        with pytest.raises(unweave.UsageError, match=f"^{argument}: .* wanted; give|^{argument}: a set") as caught:
            unweave.import_store(tmp_path / "bad", **given)
        pattern = r"(?:give|as in|list, as|field, as) ((?:list|sorted|numpy|\[|\(|graph|labels|train).*?)(?: for its keys.*)?$"
        assert digest(tmp_path, **{**given, argument: advised(caught, pattern, **{argument: wrong})}) == want[argument]
    for argument in ("features", "labels", "ids"):
        with pytest.raises(unweave.UsageError, match=f"^{argument}: a set, which has no order; give a list, one for each node"):
            unweave.import_store(tmp_path / "bad", edges, **{argument: {"a", "b"}})


def test_numbers_of_pandas_that_may_be_missing(tmp_path):
    pandas = pytest.importorskip("pandas")
    edges, y = [(0, 1), (1, 2), (2, 3), (3, 4)], [0, 1, 0, 1, 1]
    x = pandas.DataFrame({"a": [0.5, 0.25, 0, 0, 1], "b": [1, 0, 1, 0, 0]})
    boxed = x.astype({"a": "Float64", "b": "Int64"})
    mask = pandas.Series([True, False, True, False, True])
    given = pandas.DataFrame(edges, dtype="Int64"), boxed, pandas.Series(y, dtype="Int64")
    assert digest(tmp_path, *given, train=mask.astype("boolean")) == digest(tmp_path, edges, x, y, train=mask)
    with_gap = pandas.array([0, 1, None, 1, 1], dtype="Int64")
    assert digest(tmp_path, edges, labels=with_gap) == digest(tmp_path, edges, labels=[0, 1, -1, 1, 1])
    graph = pandas.DataFrame({"a": [0, 1, None], "b": [1, 2, 3]}, dtype="Int64")
    with pytest.raises(unweave.UsageError, match="^graph: .*values are missing") as caught:
        unweave.import_store(tmp_path / "bad", graph)
    assert digest(tmp_path, advised(caught, r"give (graph\.dropna\(\))", graph=graph)) == digest(tmp_path, [(0, 1), (1, 2)])
    with pytest.raises(unweave.UsageError, match=r"^train: .*give train.fillna\(VALUE\)"):
        unweave.import_store(tmp_path / "bad", edges, labels=y, train=pandas.Series([True, None, True, True, True], dtype="boolean"))
    with pytest.raises(unweave.UsageError, match=r"features.select_dtypes\('number'\) leaves out columns of texts") as caught:
        unweave.import_store(tmp_path / "bad", edges, x.assign(kind=list("abcde")))
    unweave.import_store(tmp_path / "numbers", edges, advised(caught, "; (.*?) leaves out", features=x.assign(kind=list("abcde"))))
    frame = pandas.DataFrame({"class": list("abcab")})
    with pytest.raises(unweave.UsageError, match="^labels: .* give one column") as caught:
        unweave.import_store(tmp_path / "bad", edges, labels=frame)
    unweave.import_store(tmp_path / "column", edges, labels=advised(caught, "as (.*)", labels=frame))


def test_modules_of_others_are_not_needed():
    program = "import sys, unweave; print({'torch', 'pandas', 'scipy', 'sklearn', 'tqdm', 'pyarrow'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def test_files_of_scipy(sample, tmp_path):
    """What SciPy itself writes."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    adjacency = scipy_sparse.csr_matrix(sample.adjacency() - np.eye(400))
    wanted = digest(tmp_path, sample.edge_index, sample.x, sample.y, nodes=400)
    np.savez(tmp_path / "rest.npz", x=sample.x, y=sample.y)
    for form in ("csr", "csc", "coo"):
        for compressed in (False, True):
            file = tmp_path / "adjacency.npz"
            scipy_sparse.save_npz(file, adjacency.asformat(form), compressed=compressed)
            rest = str(tmp_path / "rest.npz")
            assert digest(tmp_path, file, f"{rest}[x]", f"{rest}[y]") == wanted
