"""Columns of Parquet files and of Arrow's files and streams, as inputs of an import, a batch of rows at a time.

    import unweave
    edges = unweave.Columns("edges/*.parquet", ["src", "dst"])
    store = unweave.import_store("demo.store", edges, unweave.Columns("nodes.parquet", ["x"]), unweave.Columns("nodes.parquet", ["y"]))

They are read by pyarrow, or, Parquet alone, by DuckDB: whichever is there. Batches go to the import through a pipe as it reads, so that
a file of any size takes the memory of some groups of its rows.
"""
from __future__ import annotations

import contextlib
import fcntl
import glob
import importlib
import io
import itertools
import os
import pathlib
import re
import tempfile
import threading
from typing import Any, Callable, Iterable, Iterator, Sequence, Union

import numpy as np

from . import _native
from ._arrow import Batches, Column
from .column_names import are_ends, begin_with_ends, ends_elsewhere, is_index
from .errors import DataError, Error, UsageError

__all__ = ["Columns"]

Path = Union[str, "os.PathLike[str]"]
Chunk = Union[bytes, memoryview]

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc", ".arrows")
_PIPE_BYTES = 2**20


class EndKinds:
    """Edges of a table whose columns may number two kinds of nodes, as user and item do: the number 7 would be one node, which is both."""

    def __init__(self, table: str, first: Any, second: Any) -> None:
        self._table, self._names = table, (first, second)
        self._are_two = isinstance(first, str) and isinstance(second, str) and _native.name_two_kinds(first, second)
        self._ranges: list[tuple[int, int] | None] = [None, None]

    def see(self, end: int, ids: np.ndarray) -> None:
        """Some ids of the first (0) or the second (1) ends."""
        if self._are_two and len(ids):
            least, most = self._ranges[end] or (int(ids[0]), int(ids[0]))
            self._ranges[end] = min(least, int(ids.min())), max(most, int(ids.max()))

    def require_apart(self) -> None:
        """A UsageError where the numbers of one kind reach into those of the other."""
        first, second = self._ranges
        if first is None or second is None or first[1] < second[0] or second[1] < first[0]:
            return
        raise UsageError(f"{self._table}: the columns {self._names[0]!r} and {self._names[1]!r} seem to number two kinds of nodes, and both have the same "
                         f"numbers, each of which would be one node; add {first[1] + 1} to the second, or, if both number the same nodes, call the "
                         "columns source and target", ["graph"])


def require_no_ids(columns: Iterable[Any], name: str) -> None:
    """A UsageError for a column of features that is called as ids are: it would be a feature, and rows be taken in their order."""
    for column in columns:
        if isinstance(column, str) and _native.names_ids(column):
            raise UsageError(f"{name}: the column {column!r} may have the ids of nodes, or be a feature; give the others alone, where row i is that "
                             "of node i, or call it otherwise if it is a feature", ["X" if name == "X" else "features"])


def is_columnar(value: Any) -> bool:
    """Whether it is a path or a pattern of such files, by its ending."""
    return isinstance(value, (str, os.PathLike)) and pathlib.PurePath(value).suffix.lower() in PARQUET + ARROW


class Piped:
    """An input that a thread writes into a pipe while the import reads it. ``chunks`` gives its bytes, from the beginning at each call."""

    def __init__(self, name: str, chunks: Callable[[], Iterator[Chunk]]) -> None:
        self.name, self.error = name, None  # type: str, BaseException | None
        self._chunks = chunks
        self._reader = -1
        self._thread: threading.Thread | None = None
        self._file: Any = None
        self.path = ""

    def open(self) -> str:
        """A path that can be opened once."""
        self._reader, writer = os.pipe()
        with contextlib.suppress(OSError):  # the limit of a user may be lower
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ if hasattr(fcntl, "F_SETPIPE_SZ") else 1031, _PIPE_BYTES)
        self.path = f"/proc/self/fd/{self._reader}"
        self._thread = threading.Thread(target=self._write, args=(writer,), name=f"unweave reads {self.name}", daemon=True)
        self._thread.start()
        return self.path

    def spool(self, store: pathlib.Path) -> str:
        """A path that can be opened again and again: all of it, in a file beside ``store`` that goes with close()."""
        folder = store.absolute().parent
        self._file = tempfile.NamedTemporaryFile(prefix=".columns-", suffix=".npy", dir=folder if folder.is_dir() else None)
        for chunk in self._chunks():
            self._file.write(chunk)
        self._file.flush()
        self.path = self._file.name
        return self.path

    def _write(self, writer: int) -> None:
        try:
            for chunk in self._chunks():
                rest = memoryview(chunk).cast("B")
                while rest:
                    rest = rest[os.write(writer, rest):]
        except BrokenPipeError:
            pass  # the import has failed, or wants no more
        except BaseException as error:  # noqa: B036  the import sees the end of the pipe, and who called it sees this
            self.error = error
        finally:
            os.close(writer)

    def close(self) -> None:
        if self._reader >= 0:
            os.close(self._reader)  # a thread that still writes ends by it
            self._reader = -1
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._file is not None:
            self._file.close()
            self._file = None


@contextlib.contextmanager
def piped(options: dict[str, Any], store: pathlib.Path, spooled: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The options of an import with paths in the place of pipes; those named in ``spooled`` are read twice, and become files beside
    ``store`` first. Errors name the files of the user."""
    inputs = [value for value in options.values() if isinstance(value, Piped)]
    try:
        try:
            given = {}
            for name, value in options.items():
                given[name] = value if not isinstance(value, Piped) else value.spool(store) if name in spooled else value.open()
            yield given
        finally:
            for one in inputs:
                one.close()
    except Error as error:
        for one in inputs:
            if one.error is not None:  # a pipe that ended early is what follows from it
                raise one.error from None
        text = str(error)
        for one in inputs:
            if one.path:
                text = text.replace(one.path, one.name)
        raise type(error)(text, error.options) from None
    for one in inputs:
        if one.error is not None:
            raise one.error


class Columns:
    """Columns of one or more files of one kind, one after another.

    ``files``: a path, a pattern such as "edges/*.parquet", a folder, or a list of paths, read in the order of the list, else of their
    names. ``columns``: their names; by default the first two for edges, the first one for names, labels and splits, and all for
    features. ``batch``: rows at a time.

    An import takes them as edges (two columns of integers, or of texts where ``ids`` names the nodes), features (columns of numbers, or
    one of lists of one length), labels (missing values are nodes without one), splits (ids, or booleans as a mask) and names. A
    UsageError says what to install where neither pyarrow nor DuckDB is there.
    """

    def __init__(self, files: Path | Iterable[Path], columns: Sequence[str] | None = None, *, batch: int = 65536) -> None:
        if isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
            raise UsageError(f"batch: {batch!r} is no whole number from 1", ["batch"])
        if isinstance(columns, str):
            raise UsageError(f"columns: {columns!r}, where a list of names is wanted", ["columns"])
        self._given, self._columns, self._batch = files, None if columns is None else list(columns), batch

    def __repr__(self) -> str:
        return f"unweave.Columns({self._given!r}, {self._columns!r})"

    def _files(self) -> list[pathlib.Path]:
        given = self._given
        if isinstance(given, (str, os.PathLike)):
            path = pathlib.Path(given)
            if path.is_dir():
                files = sorted((file for file in path.iterdir() if file.suffix.lower() in PARQUET + ARROW), key=_name_order)
            elif not path.exists() and glob.has_magic(str(path)):
                files = sorted(map(pathlib.Path, glob.glob(str(path), recursive=True)), key=_name_order)
            else:
                files = [path]
            if not files:
                raise DataError(f"{path}: no file of Parquet or Arrow there")
        else:
            files = [pathlib.Path(file) for file in given]
            if not files:
                raise UsageError("files: an empty list")
        for file in files:
            if not file.is_file():
                raise DataError(f"{file}: no such file")
            if file.suffix.lower() not in PARQUET + ARROW:
                raise UsageError(f"{file}: neither Parquet ({', '.join(PARQUET)}) nor Arrow ({', '.join(ARROW)}) by its name")
        if len({file.suffix.lower() in PARQUET for file in files}) > 1:
            raise UsageError(f"{files[0]} and others: files of Parquet and of Arrow; give those of one kind")
        return files

    def _open(self, most: int | None) -> _Table:
        """``most``: columns where nobody has named them."""
        files = self._files()
        name = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        parquet = files[0].suffix.lower() in PARQUET
        reader = _read_by_pyarrow if _has("pyarrow") else _read_by_duckdb if parquet and _has("duckdb") else None
        if reader is None:
            what = "Parquet is read by pyarrow or DuckDB" if parquet else "Arrow files are read by pyarrow"
            raise UsageError(f"{name}: {what}, which Python does not find here; install it (python3 -m pip install pyarrow), or convert the file "
                             "on the way, by a pipe (tools/guide/how-to/parquet-and-arrow.md)")
        try:
            return reader(name, files, self._columns, most, self._batch)
        except Error:
            raise
        except Exception as error:  # what the packages raise is theirs
            raise DataError(f"{name}: {type(error).__module__.partition('.')[0]} says: {error}") from error

    # What an import takes

    def names_of_all(self) -> list[str]:
        """The names of all columns, where nobody has chosen some; else an empty list."""
        return self._open(None).names if self._columns is None else []

    def edges(self) -> dict[str, Any]:
        """Options of an import for the edges."""
        table = self._open(2)
        if len(table.names) != 2:
            raise UsageError(f"{table.name}: {len(table.names)} columns, where the two ends of the edges are wanted", ["graph"])
        if all(kind is None for kind in table.kinds):
            return {"edges": Piped(table.name, lambda: _text_lines(table, b"\t"))}
        for column, kind, is_list in zip(table.names, table.kinds, table.are_lists):
            if kind is None or kind.kind not in "iu" or is_list:
                raise UsageError(f"{table.name}: column {column!r} of {_told(kind, is_list)}, where ids are wanted, integers (or names in both columns)")

        def chunks() -> Iterator[Chunk]:
            kinds = EndKinds(table.name, *table.names)

            def batches() -> Iterator[list[Column]]:
                for batch in table:
                    for end, column in enumerate(batch):
                        kinds.see(end, np.asarray(column.values))
                    yield batch
                kinds.require_apart()

            yield from _array_chunks(table, (table.rows, 2), np.dtype("<i8"), batches())

        return {"edges": Piped(table.name, chunks)}

    def features(self) -> dict[str, Any]:
        """Options of an import for the features."""
        table = self._open(None)
        if self._columns is None:
            require_no_ids(table.names, table.name)
        for column, kind in zip(table.names, table.kinds):
            if kind is None:
                raise UsageError(f"{table.name}: column {column!r} of texts, where features are wanted; name the columns of numbers")
        stored = np.dtype("<f8" if any(one is not None and one.itemsize > 4 for one in table.kinds) else "<f4")

        def chunks() -> Iterator[Chunk]:
            batches = iter(table)
            first = next(batches, None)
            width = len(table.names) if first is None else sum(np.atleast_2d(column.values).shape[1] if is_list else 1
                                                               for column, is_list in zip(first, table.are_lists))
            yield from _array_chunks(table, (table.rows, width), stored, [] if first is None else itertools.chain([first], batches))

        return {"features": Piped(table.name, chunks)}

    def vector(self, name: str, *, missing: float | None = None) -> Any:
        """One column of numbers or booleans, [rows], for the argument ``name``; ``missing`` stands for values that there are not."""
        table = self._open(1)
        [kind], [is_list] = table.kinds[:1], table.are_lists[:1]
        if len(table.names) != 1 or kind is None or is_list:
            raise UsageError(f"{table.name}: {', '.join(map(repr, table.names))}: {_told(kind, is_list)}, where one column of numbers is wanted", [name])
        stored = np.dtype("?" if kind.kind == "b" else "<f8" if kind.kind == "f" else "<i8")
        return Piped(table.name, lambda: _array_chunks(table, (table.rows,), stored, missing=missing))

    def texts(self, *, missing: bool = False) -> list[str | None] | None:
        """One column of texts, in memory; None where it has numbers. ``missing``: whether values may be missing, which come as None."""
        table = self._open(1)
        if len(table.names) != 1 or table.kinds[0] is not None:
            return None
        texts: list[str | None] = []
        for [column] in table:
            values: list[str | None] = [text.decode() for text in column.values]
            if column.missing is not None:
                if not missing:
                    raise DataError(f"{table.name}: row {len(texts) + int(np.argmax(column.missing))}: column {table.names[0]!r} has no value; "
                                    "fill it or leave the row out")
                values = [None if gone else text for text, gone in zip(values, column.missing.tolist())]
            texts += values
        return texts

    def names(self) -> dict[str, Any]:
        """Options of an import for the names of nodes: texts, missing for a node without a name, or integers."""
        table = self._open(1)
        if len(table.names) != 1:
            raise UsageError(f"{table.name}: {len(table.names)} columns, where one of names is wanted", ["ids"])
        if table.kinds[0] is not None:
            return {"ids": self.vector("ids")}
        return {"ids": Piped(table.name, lambda: _text_lines(table, b""))}


class _Table:
    """Rows of files that are known by number; iterating reads them from the beginning."""

    def __init__(self, name: str, rows: int, names: list[str], kinds: list[np.dtype[Any] | None], are_lists: list[bool],
                 batches: Callable[[], Iterator[list[Column]]]) -> None:
        self.name, self.rows, self.names, self.kinds, self.are_lists, self._batches = name, rows, names, kinds, are_lists, batches

    def __iter__(self) -> Iterator[list[Column]]:
        rows = 0
        try:
            for batch in self._batches():
                rows += len(batch[0])
                if rows > self.rows:
                    break
                yield batch
        except Error:
            raise
        except Exception as error:
            raise DataError(f"{self.name}: after row {rows}: {type(error).__module__.partition('.')[0]} says: {error}") from error
        if rows != self.rows:
            raise DataError(f"{self.name}: {rows} rows, and {self.rows} before: the files changed while they were read; run it again")


def _name_order(file: pathlib.Path) -> list[tuple[int, int, str]]:
    """A key that sorts part-2 before part-10, folder by folder."""
    return [(1, int(piece), "") if piece.isdecimal() else (0, 0, piece) for piece in re.split("([0-9]+)", str(file)) if piece]


def _has(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _told(kind: np.dtype[Any] | None, is_list: bool) -> str:
    return "texts" if kind is None else f"lists of {kind}" if is_list else f"type {kind}"


def _read_by_pyarrow(name: str, files: list[pathlib.Path], columns: list[str] | None, most: int | None, batch: int) -> _Table:
    pyarrow = importlib.import_module("pyarrow")
    if not hasattr(pyarrow.RecordBatchReader, "__arrow_c_stream__"):
        raise UsageError(f"{name}: pyarrow {pyarrow.__version__} has no __arrow_c_stream__, which came with version 14; install a later one")
    streams = [file for file in files if file.suffix.lower() in ARROW and not _begins(file, b"ARROW1")]
    if streams:
        # A stream says how many rows it has at its end alone, so that they are counted first.
        readers = importlib.import_module("pyarrow.ipc")
        open_all: Callable[[], Iterator[Any]] = lambda: (readers.open_stream(pyarrow.memory_map(str(file), "r")) for file in files)  # noqa: E731
        rows = sum(part.num_rows for stream in open_all() for part in stream)
        all_names = list(next(open_all()).schema.names)
    else:
        data = importlib.import_module("pyarrow.dataset").dataset(list(map(str, files)),
                                                                  format="parquet" if files[0].suffix.lower() in PARQUET else "ipc")
        open_all = lambda: iter([data.scanner(columns=wanted, batch_size=batch, batch_readahead=2, fragment_readahead=1).to_reader()])  # noqa: E731
        rows, all_names = int(data.count_rows()), list(data.schema.names)
    wanted = _wanted(name, columns, all_names, most)
    first = Batches(next(open_all()), name, wanted)
    return _Table(name, rows, wanted, first.kinds, first.are_lists, lambda: (batch for stream in open_all() for batch in Batches(stream, name, wanted)))


def _begins(file: pathlib.Path, magic: bytes) -> bool:
    with open(file, "rb") as opened:
        return opened.read(len(magic)) == magic


def _wanted(name: str, columns: list[str] | None, there: list[str], most: int | None) -> list[str]:
    for column in columns or ():
        if column not in there:
            raise UsageError(f"{name}: there is no column {column!r}; there are {', '.join(map(repr, there))}", ["columns"])
    if columns is None and most == 2 and (ends := ends_elsewhere(there)) is not None:
        raise UsageError(f"{name}: its first two columns, {there[0]!r} and {there[1]!r}, would be the ends of the edges, and {ends[0]!r} and {ends[1]!r} "
                         f"seem to be; name the columns, unweave.Columns(files, [{ends[0]!r}, {ends[1]!r}])", ["graph", "columns"])
    if columns is None and most == 2 and (not begin_with_ends(there) or len(there) > 3 or (len(there) == 3 and is_index(there[0]))):
        ends = f"unweave.Columns(files, {there[:2]})" if are_ends(*there[:2]) else "unweave.Columns(files, [SOURCE, TARGET]) with their names"
        raise UsageError(f"{name}: {len(there)} columns, {', '.join(map(repr, there))}, of which it is not clear which are the ends of the "
                         f"edges; name these, {ends}", ["graph", "columns"])
    return there[:most] if columns is None else columns


def _read_by_duckdb(name: str, files: list[pathlib.Path], columns: list[str] | None, most: int | None, batch: int) -> _Table:
    duckdb = importlib.import_module("duckdb")
    given = [list(map(str, files))]
    connection = duckdb.connect()
    try:
        described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", given).fetchall()
        rows = connection.execute("SELECT count(*) FROM read_parquet(?)", given).fetchone()[0]
    finally:
        connection.close()
    types = {str(row[0]): str(row[1]) for row in described}
    wanted = _wanted(name, columns, list(types), most)
    kinds = [_kind_in_duckdb(name, column, types[column]) for column in wanted]
    are_lists = [types[column].endswith("]") for column in wanted]
    query = "SELECT " + ", ".join('"' + column.replace('"', '""') + '"' for column in wanted) + " FROM read_parquet(?)"

    def batches() -> Iterator[list[Column]]:
        connection = duckdb.connect()
        try:
            found = connection.execute(query, given)
            while True:
                some = found.fetchmany(batch)
                if not some:
                    return
                yield [_column_of(f"{name}: column {column!r}", values, kind, is_list)
                       for column, values, kind, is_list in zip(wanted, zip(*some), kinds, are_lists)]
        finally:
            connection.close()

    return _Table(name, rows, wanted, kinds, are_lists, batches)


_DUCKDB = {"TINYINT": "i1", "SMALLINT": "i2", "INTEGER": "i4", "BIGINT": "i8", "UTINYINT": "u1", "USMALLINT": "u2", "UINTEGER": "u4", "UBIGINT": "u8",
           "FLOAT": "f4", "DOUBLE": "f8", "BOOLEAN": "?"}


def _kind_in_duckdb(name: str, column: str, given: str) -> np.dtype[Any] | None:
    inner = given.partition("[")[0] if given.endswith("]") else given
    if given in ("VARCHAR", "BLOB"):
        return None
    if inner not in _DUCKDB:
        raise UsageError(f"{name}: column {column!r} of DuckDB's type {given}, where numbers are wanted")
    return np.dtype(_DUCKDB[inner])


def _column_of(name: str, values: Sequence[Any], kind: np.dtype[Any] | None, is_list: bool) -> Column:
    there = [value is not None for value in values]
    missing = None if all(there) else ~np.array(there)
    if kind is None:
        return Column([b"" if value is None else value.encode() if isinstance(value, str) else bytes(value) for value in values], missing)
    if not is_list:
        return Column(np.array([0 if value is None else value for value in values], dtype=kind), missing)
    lengths = {len(value) for value in values if value is not None}
    if len(lengths) > 1:
        raise DataError(f"{name}: lists of {min(lengths)} to {max(lengths)} values, where all rows have as many")
    width = lengths.pop() if lengths else 0
    if any(one is None for value in values for one in value or ()):
        raise DataError(f"{name}: lists with missing values; fill them first")
    return Column(np.array([[0] * width if value is None else value for value in values], dtype=kind).reshape(len(values), width), missing)


def _array_chunks(table: _Table, shape: tuple[int, ...], kind: np.dtype[Any], batches: Iterable[list[Column]] | None = None, *,
                  missing: float | None = None) -> Iterator[Chunk]:
    """A .npy file of all columns beside each other."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": kind.str, "fortran_order": False, "shape": shape})
    yield header.getvalue()
    row = 0
    for batch in table if batches is None else batches:
        parts = []
        for column, name in zip(batch, table.names):
            values = np.asarray(column.values)
            if column.missing is not None:
                if missing is None:
                    raise DataError(f"{table.name}: row {row + int(np.argmax(column.missing))}: column {name!r} has no value; fill it or leave the row out")
                values = np.where(column.missing, np.nan if kind.kind == "f" else missing, values)
            if kind.kind == "i" and values.dtype.kind == "u" and values.dtype.itemsize == 8 and len(values) and int(values.max()) >= 2**63:
                raise DataError(f"{table.name}: row {row + int(np.argmax(values))}: column {name!r}: {int(values.max())} is above 2^63 - 1")
            parts.append(values)
        rows = len(parts[0])
        if len(shape) == 1:
            joined = parts[0].astype(kind)
        else:
            joined = np.column_stack(parts).astype(kind, copy=False) if rows else np.empty((0, shape[1]), kind)
            if joined.shape[1] != shape[1]:
                raise DataError(f"{table.name}: after row {row}: {joined.shape[1]} values a row, and {shape[1]} before")
        row += rows
        if rows:
            yield np.ascontiguousarray(joined).data.cast("B")


def _text_lines(table: _Table, separator: bytes) -> Iterator[Chunk]:
    """Texts, one row a line. ``separator`` is empty for names of nodes, one a line, empty where missing."""
    row = 0
    for batch in table:
        columns = []
        for column, name in zip(batch, table.names):
            assert isinstance(column.values, list)
            texts = column.values
            if column.missing is not None:
                if separator:
                    raise DataError(f"{table.name}: row {row + int(np.argmax(column.missing))}: column {name!r} has no value; leave the row out")
                texts = [b"" if gone else text for text, gone in zip(texts, column.missing.tolist())]
            # What parts words, or makes a comment, would read as something else.
            for number, text in enumerate(texts):
                if (separator and not text) or text.startswith(b"#") or len(text.split()) > 1 or b"," in text or text.strip() != text:
                    raise DataError(f"{table.name}: row {row + number}: column {name!r}: {text[:40]!r} is no name of a node: one word without commas, "
                                    "not begun by #")
            columns.append(texts)
        row += len(columns[0])
        yield b"".join(separator.join(words) + b"\n" for words in zip(*columns))
