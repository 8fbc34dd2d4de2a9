"""Planetoid's files of Cora, CiteSeer and PubMed (Yang, Cohen and Salakhutdinov 2016), read without running anything in them.

    import unweave
    store = unweave.import_store("cora.store", unweave.read_planetoid("planetoid/data", "cora"))

The files are pickles of Python 2. A pickle may name any function to be called as it is read; here it may name arrays of numbers,
sparse matrices of SciPy in rows, dictionaries and lists, and everything else is refused before it is called. What stands for them is
code of this module, so that neither NumPy's nor SciPy's own readers of pickles see a byte, and SciPy need not be there.
"""
from __future__ import annotations

import io
import os
import pathlib
import pickle
import struct
from dataclasses import dataclass
from typing import Any, Callable, Union

import numpy as np

from .errors import DataError

__all__ = ["GraphData", "SparseRows", "read_planetoid"]

Path = Union[str, "os.PathLike[str]"]

MOST_ISOLATED = 1000  # nodes that test.index passes over; CiteSeer has 15
VALIDATION = 500  # nodes after the labelled ones, as Planetoid's users have it
MOST_EMPTY = 1 << 20  # rows or columns of an array without elements, which takes no byte of its file
MOST_DIGITS = 64  # of a number that is written out, which takes the longer the more it has
MOST_SHOWN = 60  # characters of a file in a message
_TYPES = {kind + str(size) for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8))) for size in sizes} | {"b1"}


@dataclass(frozen=True)
class SparseRows:
    """A sparse matrix by rows: those of row r are ``indices[indptr[r]:indptr[r + 1]]``, ascending, with as many of ``data``."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    shape: tuple[int, ...]
    has_sorted_indices = True

    def tocsr(self) -> SparseRows:
        return self

    def toarray(self) -> np.ndarray:
        dense = np.zeros(self.shape, self.data.dtype)
        dense[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return dense


@dataclass(frozen=True)
class GraphData:
    """A graph with features, labels and splits, under the names that ``Data`` of PyG has: ``edge_index`` int64 [2, arcs], ``x``
    [N, F], ``y`` int64 [N] with -1 for none, masks of booleans [N]."""

    edge_index: np.ndarray
    x: Any
    y: np.ndarray
    train_mask: np.ndarray
    val_mask: np.ndarray
    test_mask: np.ndarray

    @property
    def num_nodes(self) -> int:
        return len(self.y)


class _Refused(pickle.UnpicklingError):
    """The pickle asks for something that no file of Planetoid's has."""


def _shown(value: Any) -> str:
    """A value of a pickle for a message, in a few characters and a short time: some lines of a pickle nest and repeat without end."""
    if isinstance(value, str):
        return repr(value[:MOST_SHOWN]) + ("..." if len(value) > MOST_SHOWN else "")
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else f"a number of {value.bit_length()} bits"
    return f"a {type(value).__name__.lstrip('_')}"


class _Type:
    """numpy.dtype: a code such as "f4", and the order of its bytes."""

    def __init__(self, code: Any, *_: Any) -> None:
        if not isinstance(code, str) or code.lstrip("<>|=") not in _TYPES:
            raise _Refused(f"elements of type {_shown(code)}")
        self.code, self.order = code.lstrip("<>|="), "<"

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise _Refused("a type with a state of another form")
        self.order = state[1]


class _Array:
    """numpy.ndarray: its state is (version, shape, type, whether in Fortran order, bytes)."""

    values: np.ndarray | None = None

    def __init__(self, reader: _Unpickler) -> None:
        self.reader = reader

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise _Refused("an array of another form")
        _, shape, kind, fortran, content = state
        content = self.reader.encoded(content) if isinstance(content, str) else content
        if not isinstance(kind, _Type) or not isinstance(content, bytes) or not isinstance(shape, tuple) or len(shape) > 2:
            raise _Refused("an array of other things than numbers")
        dtype, count = np.dtype(kind.order + kind.code), 1
        for length in shape:
            if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length < 1 << 63:
                raise _Refused(f"an array with a length of {_shown(length)}")
            count *= length
        if count * dtype.itemsize != len(content):
            raise _Refused(f"an array of {_shown(count)} elements in {len(content)} bytes")
        if count == 0 and max(shape) > MOST_EMPTY:
            raise _Refused(f"an array of length {_shown(max(shape))} without elements")
        self.values = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


class _Matrix:
    """scipy.sparse.csr_matrix: its state is a dictionary."""

    state: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise _Refused("a sparse matrix of another form")
        self.state = state


def _reconstructor(kind: Any, *_: Any) -> _Matrix:
    if kind is not _Matrix:
        raise _Refused("an object of another kind")
    return _Matrix()


def _dictionary(*_: Any) -> dict[Any, Any]:
    return {}


def _refuse(*_: Any) -> None:
    raise _Refused("it calls what a pickle only names")


class _Call:
    """A function that a pickle may call and not change, as it could change the attributes of a plain one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise _Refused("it changes a function")


_KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "defaultdict"): _Call(_dictionary), ("numpy", "ndarray"): _Array, ("numpy", "dtype"): _Type}
for _module in ("scipy.sparse.csr", "scipy.sparse._csr"):
    _KNOWN[_module, "csr_matrix"] = _Matrix
for _module in ("__builtin__", "builtins"):
    _KNOWN[_module, "list"] = _KNOWN[_module, "object"] = _Call(_refuse)
for _module in ("copy_reg", "copyreg"):
    _KNOWN[_module, "_reconstructor"] = _Call(_reconstructor)


class _Steps(dict):  # type: ignore[type-arg]
    """What is done for each opcode; all others are refused."""

    def __missing__(self, opcode: int) -> Callable[..., None]:
        raise _Refused(f"it has the opcode {bytes([opcode])!r}")


_OPCODES = (pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.INT, pickle.BININT,
            pickle.BININT1, pickle.BININT2, pickle.LONG, pickle.LONG1, pickle.LONG4, pickle.FLOAT, pickle.BINFLOAT, pickle.STRING, pickle.BINSTRING,
            pickle.SHORT_BINSTRING, pickle.UNICODE, pickle.BINUNICODE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE8, pickle.BINBYTES,
            pickle.SHORT_BINBYTES, pickle.BINBYTES8, pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3,
            pickle.EMPTY_LIST, pickle.LIST, pickle.APPEND, pickle.APPENDS, pickle.EMPTY_DICT, pickle.DICT, pickle.SETITEM, pickle.SETITEMS,
            pickle.GLOBAL, pickle.STACK_GLOBAL, pickle.REDUCE, pickle.NEWOBJ, pickle.BUILD, pickle.GET, pickle.BINGET, pickle.LONG_BINGET, pickle.PUT,
            pickle.BINPUT, pickle.LONG_BINPUT, pickle.MEMOIZE)


def _short(step: Callable[..., None]) -> Callable[..., None]:
    """A step that reads a number, or a place, from a line: a long one would take the square of its length."""
    def take(reader: Any) -> None:
        readline = reader.readline

        def short_line() -> bytes:
            line: bytes = readline()
            if len(line) > MOST_DIGITS:
                raise _Refused("a number of many digits")
            return line

        reader.readline = short_line
        try:
            step(reader)
        finally:
            reader.readline = readline
    return take


def _number(step: Callable[..., None]) -> Callable[..., None]:
    """A step that makes a number: those that count or are counted have 64 bits, and what is done with longer ones takes its time."""
    def take(reader: Any) -> None:
        step(reader)
        if reader.stack[-1].bit_length() > 64:
            raise _Refused(_shown(reader.stack[-1]))
    return take


class _Unpickler(pickle._Unpickler):  # type: ignore[name-defined,misc]
    """The reader of pickles that is written in Python: each of its steps can be taken out or bounded. What it makes takes no more memory
    than some bytes for each byte of the file."""

    dispatch = _Steps({opcode[0]: pickle._Unpickler.dispatch[opcode[0]] for opcode in _OPCODES})  # type: ignore[attr-defined]

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1", fix_imports=False)
        self.left = len(content)  # bytes that encoded() may still make

    def encoded(self, text: Any, encoding: Any = "latin1") -> bytes:
        """How Python 3 writes bytes into a pickle that Python 2 can read. Each text of the file is one array."""
        if not isinstance(text, str) or encoding != "latin1":
            raise _Refused("bytes of another form")
        self.left -= len(text)
        if self.left < 0:
            raise _Refused("it makes more bytes than it has")
        return text.encode("latin1")

    def _reconstruct(self, kind: Any, *_: Any) -> _Array:
        if kind is not _Array:
            raise _Refused("an array of another kind")
        return _Array(self)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _Call(self.encoded)
        if (module, name) in (("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")):
            return _Call(self._reconstruct)
        if (module, name) not in _KNOWN:
            raise _Refused(f"it asks for {module[:MOST_SHOWN]}.{name[:MOST_SHOWN]}, which may do anything")
        return _KNOWN[module, name]

    def _set_items(self, items: list[Any]) -> None:
        """A key is a number or a text: the hash of tuples in tuples may take for ever."""
        if not isinstance(self.stack[-1], dict) or len(items) % 2 or any(type(key) not in (int, str) for key in items[::2]):
            raise _Refused("a dictionary of another form")
        self.stack[-1].update(zip(items[::2], items[1::2]))

    def _load_dictionary(self) -> None:
        items = self.pop_mark()
        self.append({})
        self._set_items(items)

    def _load_item(self) -> None:
        items = [self.stack.pop(), self.stack.pop()]
        self._set_items(items[::-1])

    def _load_items(self) -> None:
        self._set_items(self.pop_mark())

    for _opcode in (pickle.INT, pickle.LONG, pickle.FLOAT, pickle.GET, pickle.PUT):
        dispatch[_opcode[0]] = _short(dispatch[_opcode[0]])
    for _opcode in (pickle.INT, pickle.LONG, pickle.LONG1, pickle.LONG4):
        dispatch[_opcode[0]] = _number(dispatch[_opcode[0]])
    dispatch[pickle.DICT[0]], dispatch[pickle.SETITEM[0]], dispatch[pickle.SETITEMS[0]] = _load_dictionary, _load_item, _load_items


def _load(path: pathlib.Path) -> Any:
    try:
        return _Unpickler(path.read_bytes()).load()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; a data set of Planetoid's has eight files ind.NAME.*") from error
    except _Refused as error:
        raise DataError(f"{path}: this pickle is refused: {error}; files of Planetoid's hold arrays, sparse matrices and lists alone") from error
    # A damaged pickle makes its reader fail in any of these ways.
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError, MemoryError, OverflowError,
            RecursionError, struct.error) as error:
        raise DataError(f"{path}: no pickle, or a damaged one ({str(error)[:MOST_SHOWN]}); fetch the file again") from error


def _array(path: pathlib.Path) -> np.ndarray:
    """A matrix of numbers, [rows, classes]."""
    found = _load(path)
    if not isinstance(found, _Array) or found.values is None or found.values.ndim != 2:
        raise DataError(f"{path}: it holds no array of two dimensions, one row a node and one column a class")
    return found.values


def _rows(path: pathlib.Path) -> SparseRows:
    """A sparse matrix, or one that is dense in the file."""
    found = _load(path)
    if isinstance(found, _Array) and found.values is not None and found.values.ndim == 2:
        rows, columns = np.nonzero(found.values)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=found.values.shape[0]))])
        return SparseRows(indptr, columns, found.values[rows, columns], found.values.shape)
    if not isinstance(found, _Matrix):
        raise DataError(f"{path}: it holds neither a sparse matrix by rows nor an array of two dimensions")
    parts = [found.state.get(name) for name in ("indptr", "indices", "data")]
    shape = found.state.get("_shape", found.state.get("shape"))
    if not all(isinstance(part, _Array) and part.values is not None and part.values.ndim == 1 for part in parts) or not (
            isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(length, int) and length >= 0 for length in shape)):
        raise DataError(f"{path}: a sparse matrix without shape, indptr, indices or data")
    indptr, indices, data = (part.values for part in parts)  # type: ignore[union-attr]
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise DataError(f"{path}: a sparse matrix whose indices are no integers")
    indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    if (len(indptr) != shape[0] + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0) or indptr[-1] != len(indices) or
            len(indices) != len(data) or (len(indices) and (indices.min() < 0 or indices.max() >= shape[1]))):
        raise DataError(f"{path}: a sparse matrix whose indices contradict its shape ({_shown(shape[0])}, {_shown(shape[1])})")
    order = np.lexsort((indices, np.repeat(np.arange(shape[0]), np.diff(indptr))))
    return SparseRows(indptr, indices[order], data[order], shape)


def _placed(first: SparseRows, second: SparseRows, places: np.ndarray, nodes: int) -> SparseRows:
    """``first``, then row i of ``second`` as row places[i], of ``nodes`` rows in all; the others are empty."""
    counts = np.zeros(nodes, np.int64)
    counts[:first.shape[0]] = np.diff(first.indptr)
    counts[places] = np.diff(second.indptr)
    order = np.argsort(places, kind="stable")
    lengths = np.diff(second.indptr)[order]
    # Where the values of second lie once its rows are in the order of their places.
    taken = np.repeat(second.indptr[order] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())
    return SparseRows(np.concatenate([[0], np.cumsum(counts)]), np.concatenate([first.indices, second.indices[taken]]),
                      np.concatenate([first.data, second.data[taken]]), (nodes, first.shape[1]))


def _classes(one_hot: np.ndarray) -> np.ndarray:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def read_planetoid(folder: Path, name: str) -> GraphData:
    """Reads ``ind.NAME.x``, ``.y``, ``.tx``, ``.ty``, ``.allx``, ``.ally``, ``.graph`` and ``.test.index`` of ``folder``, NAME being ``name``: "cora".

    Row i of tx and ty is node test.index[i]. Nodes between the least and the largest of these ids that are not in test.index, which
    CiteSeer has, stay as nodes without features, without a label and in no split. (Kipf's GCN and PyG give them rows of zeros, too;
    PyG's label of them is class 0, the argmax of nothing.) The labelled nodes of x train, the 500 after them validate, those of
    test.index test. Edges are as in the file, with repetitions and self loops, which an import drops and counts.

    Wrong, damaged or hostile files are a DataError that names the file.
    """
    def path(part: str) -> pathlib.Path:
        return pathlib.Path(folder) / f"ind.{name}.{part}"

    x, tx, allx = _rows(path("x")), _rows(path("tx")), _rows(path("allx"))
    y, ty, ally = _array(path("y")), _array(path("ty")), _array(path("ally"))
    test = _test_index(path("test.index"))
    for part, features, labels in (("x", x, y), ("tx", tx, ty), ("allx", allx, ally)):
        if features.shape[0] != len(labels) or features.shape[1] != allx.shape[1] or labels.shape[1] != ally.shape[1]:
            raise DataError(f"{path(part)}: shape {features.shape} with labels of shape {labels.shape}, beside allx of shape {allx.shape} "
                            f"with labels of shape {ally.shape}; fetch the eight files of one data set")
    known = allx.shape[0]
    if len(test) != tx.shape[0] or len(np.unique(test)) != len(test) or (len(test) and test.min() != known) or x.shape[0] > known:
        raise DataError(f"{path('test.index')}: {len(test)} ids from {test.min() if len(test) else '-'}, where tx has {tx.shape[0]} rows, and allx "
                        f"ends before node {known}; fetch the eight files of one data set")
    nodes = known if len(test) == 0 else int(test.max()) + 1
    if nodes - known > 2 * len(test) + MOST_ISOLATED:  # memory is taken for each of them
        raise DataError(f"{path('test.index')}: id {nodes - 1}, with {len(test)} ids from {known} on; fetch the file again")
    labels = np.full(nodes, -1, np.int64)
    labels[:known], labels[test] = _classes(ally), _classes(ty)
    masks = np.zeros((3, nodes), bool)
    masks[0, :x.shape[0]] = masks[1, x.shape[0]:min(x.shape[0] + VALIDATION, known)] = masks[2, test] = True
    return GraphData(_edges(path("graph"), nodes), _placed(allx, tx, test, nodes), labels, *masks)


def _test_index(path: pathlib.Path) -> np.ndarray:
    try:
        lines = path.read_text(encoding="ascii").split()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; a data set of Planetoid's has eight files ind.NAME.*") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start}: no text; it holds an id a line") from error
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or len(line) > 9:
            raise DataError(f"{path}: line {number}: {line[:40]!r} is no id")
    return np.array(lines, dtype=np.int64)


def _edges(path: pathlib.Path, nodes: int) -> np.ndarray:
    lists = _load(path)
    if not isinstance(lists, dict):
        raise DataError(f"{path}: it holds no dictionary of lists of neighbours")
    lengths, ends, most = [], [], path.stat().st_size  # a list may stand for many nodes at once
    for node, neighbours in lists.items():
        if not isinstance(neighbours, list):
            raise DataError(f"{path}: node {_shown(node)}: no list of neighbours")
        if len(ends) + len(neighbours) > most:
            raise DataError(f"{path}: node {_shown(node)}: more neighbours than the file has bytes; fetch the file again")
        for end in (node, *neighbours):
            if not isinstance(end, int) or isinstance(end, bool) or not 0 <= end < nodes:
                raise DataError(f"{path}: node {_shown(node)}: {_shown(end)} is no node; there are {nodes}, counted from 0")
        lengths.append(len(neighbours))
        ends.extend(neighbours)
    return np.array([np.repeat(np.array(list(lists), dtype=np.int64), lengths), ends], dtype=np.int64)
