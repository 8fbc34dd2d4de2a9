"""Columns out of an Arrow C stream, over its own memory, and rows into one.

Arrow C data and stream interfaces: https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html. Whatever has
``__arrow_c_stream__`` (pyarrow, polars, DuckDB, pandas from 2.2) works, and none of them is needed.
"""
from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence, Union

import numpy as np

from .errors import DataError, UsageError
from .names import told_as


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p)]
_Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))), ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))), ("private_data", ctypes.c_void_p)]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    # A pointer to a text, which a callback of ctypes can return as a number alone.
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("private_data", ctypes.c_void_p)]

_TYPES = {b"c": "i1", b"C": "u1", b"s": "<i2", b"S": "<u2", b"i": "<i4", b"I": "<u4", b"l": "<i8", b"L": "<u8", b"e": "<f2",
          b"f": "<f4", b"g": "<f8"}


class _Batch:
    """A batch that is released when nobody reads its memory any more."""

    def __init__(self) -> None:
        self.array = _Array()

    def __del__(self) -> None:
        if self.array.release:
            self.array.release(ctypes.byref(self.array))


@dataclass(frozen=True)
class Column:
    """A column of a batch: numbers [rows], lists of one length [rows, length], or texts. ``missing``: booleans [rows] that say which
    values there are not; what stands in their place means nothing. It is None where all are there."""

    values: Union[np.ndarray, list[bytes]]
    missing: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)


def _memory(batch: _Batch, address: int, count: int) -> Any:
    """Bytes of a batch, which keep it."""
    memory: Any = (ctypes.c_char * count).from_address(address)
    memory.batch = batch
    return memory


def _bits(batch: _Batch, address: int, offset: int, length: int) -> np.ndarray:
    raw = np.frombuffer(_memory(batch, address, (offset + length + 7) // 8), np.uint8)
    return np.unpackbits(raw, count=offset + length, bitorder="little")[offset:].astype(bool)


def _numbers(batch: _Batch, array: _Array, offset: int, length: int, kind: np.dtype[Any]) -> np.ndarray:
    if length == 0 or not array.buffers[1]:
        return np.empty(0, kind)
    return np.frombuffer(_memory(batch, array.buffers[1] + offset * kind.itemsize, length * kind.itemsize), kind)


def _texts(batch: _Batch, array: _Array, offset: int, length: int, form: bytes) -> list[bytes]:
    if length == 0:
        return []
    ends = _numbers(batch, array, offset, length + 1, np.dtype("<i4" if form in b"uz" else "<i8")).tolist()
    content = ctypes.string_at(array.buffers[2] + ends[0], ends[-1] - ends[0]) if ends[-1] > ends[0] else b""
    return [content[first - ends[0]:end - ends[0]] for first, end in zip(ends, ends[1:])]


def _lists(batch: _Batch, array: _Array, offset: int, length: int, form: bytes, kind: np.dtype[Any], name: str) -> np.ndarray:
    child = array.children[0].contents
    if form.startswith(b"+w:"):
        width, first = int(form[3:]), offset * int(form[3:])
    elif length == 0:
        return np.empty((0, 0), kind)
    else:
        ends = _numbers(batch, array, offset, length + 1, np.dtype("<i4" if form == b"+l" else "<i8"))
        width, first = int(ends[1] - ends[0]), int(ends[0])
        if np.any(np.diff(ends) != width):
            raise DataError(f"{name}: lists of {int(np.diff(ends).min())} to {int(np.diff(ends).max())} values, where all rows have as many")
    if child.null_count > 0 or (child.null_count < 0 and child.buffers[0]):
        raise DataError(f"{name}: lists with missing values; fill them first")
    return _numbers(batch, child, child.offset + first, length * width, kind).reshape(length, width)


class Batches:
    """The batches of a stream: iterating gives of each batch the columns that are wanted, in their order.

    ``source`` has ``__arrow_c_stream__``; ``name`` is for messages. ``wanted``: names of columns, all by default. Columns are numbers,
    booleans, texts, and lists of numbers; others are a UsageError. A stream of one array is a table of one column.
    """

    def __init__(self, source: Any, name: str, wanted: Sequence[str] | None = None) -> None:
        self._name = name
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        with told_as(name, source):
            self._capsule = source.__arrow_c_stream__()
            self._stream = _Stream.from_address(get(self._capsule, b"arrow_array_stream"))
        schema = _Schema()
        self._require(self._stream.get_schema(ctypes.byref(self._stream), ctypes.byref(schema)), "schema")
        try:
            self._is_table = schema.format == b"+s"
            fields = [schema.children[i].contents for i in range(schema.n_children)] if self._is_table else [schema]
            all_names = [(field.name or b"").decode() for field in fields]
            absent = [column for column in wanted or () if column not in all_names]
            if absent:
                raise UsageError(f"{name}: there is no column {absent[0]!r}; there are {', '.join(map(repr, all_names))}")
            self._places = list(range(len(fields))) if wanted is None else [all_names.index(column) for column in wanted]
            self.names = [all_names[place] for place in self._places]
            self._forms = [self._form_of(fields[place], name) for place in self._places]
        finally:
            if schema.release:
                schema.release(ctypes.byref(schema))

    def _require(self, code: int, what: str) -> None:
        if code != 0:
            last = self._stream.get_last_error
            address = last(ctypes.byref(self._stream)) if last else None
            error = ctypes.string_at(address).decode(errors="replace") if address else f"error {code}"
            raise DataError(f"{self._name}: the Arrow stream gave no {what}: {error}")

    @staticmethod
    def _form_of(field: _Schema, name: str) -> tuple[bytes, np.dtype[Any] | None]:
        """Arrow's format, and the type of numbers in it; None for texts."""
        form = bytes(field.format)
        is_list = form.startswith(b"+w:") or form in (b"+l", b"+L")
        inner = bytes(field.children[0].contents.format) if is_list else form
        if field.dictionary or not (inner in _TYPES or (not is_list and form in (b"b", b"u", b"U", b"z", b"Z"))):
            raise UsageError(f"{name}: column {(field.name or b'').decode()!r} of Arrow's type {form.decode()!r}, where numbers are wanted")
        return form, np.dtype(_TYPES[inner]) if inner in _TYPES else np.dtype(bool) if form == b"b" else None

    @property
    def kinds(self) -> list[np.dtype[Any] | None]:
        """Types of the columns' numbers; None for texts."""
        return [kind for _, kind in self._forms]

    @property
    def are_lists(self) -> list[bool]:
        return [form.startswith(b"+") for form, _ in self._forms]

    def _column(self, batch: _Batch, array: _Array, offset: int, length: int, place: int) -> Column:
        form, kind = self._forms[place]
        offset += array.offset
        # A stream need not count: -1 says that the bits must be read.
        missing = None
        if array.null_count != 0 and array.buffers[0]:
            missing = ~_bits(batch, array.buffers[0], offset, length)
        elif array.null_count > 0:
            missing = np.ones(length, bool)
        if missing is not None and not missing.any():
            missing = None
        name = f"{self._name}: column {self.names[place]!r}"
        if kind is None:
            return Column(_texts(batch, array, offset, length, form), missing)
        if form == b"b":
            return Column(_bits(batch, array.buffers[1], offset, length) if length else np.empty(0, bool), missing)
        if form.startswith(b"+"):
            return Column(_lists(batch, array, offset, length, form, kind, name), missing)
        return Column(_numbers(batch, array, offset, length, kind), missing)

    def __iter__(self) -> Iterator[list[Column]]:
        while True:
            batch = _Batch()
            self._require(self._stream.get_next(ctypes.byref(self._stream), ctypes.byref(batch.array)), "batch")
            if not batch.array.release:
                return
            if self._is_table:
                yield [self._column(batch, batch.array.children[at].contents, batch.array.offset, batch.array.length, place)
                       for place, at in enumerate(self._places)]
            else:
                yield [self._column(batch, batch.array, 0, batch.array.length, 0)]


def columns(source: Any, name: str) -> list[tuple[str, list[np.ndarray]]]:
    """Names of the columns of a stream, and of each its chunks, which lie in the memory of the stream's batches."""
    batches = Batches(source, name)
    for column, kind, is_list in zip(batches.names, batches.kinds, batches.are_lists):
        if kind is None or is_list:
            raise UsageError(f"{name}: column {column!r} of {'lists' if is_list else 'texts'}, where numbers are wanted")
    found: list[tuple[str, list[np.ndarray]]] = [(column, []) for column in batches.names]
    for batch in batches:
        for (_, chunks), column in zip(found, batch):
            if column.missing is not None:
                raise UsageError(f"{name}: a column with missing values; fill them first")
            chunks.append(np.asarray(column.values))
    return [(column, chunks or [np.empty(0, kind)]) for (column, chunks), kind in zip(found, batches.kinds)]


# The other way: what programs in this process take without a copy. What the consumer has yet to release is kept here, by the number
# in private_data; the callbacks are never freed, since a consumer may hold them longer than anything else.
_kept: dict[int, Any] = {}
_numbers_of_kept = itertools.count(1)
_NULLABLE = 2  # ARROW_FLAG_NULLABLE


def _keep(thing: Any) -> int:
    number = next(_numbers_of_kept)
    _kept[number] = thing
    return number


def _release(pointer: Any) -> None:
    one = pointer.contents
    if isinstance(one, (_Schema, _Array)):
        for i in range(one.n_children):
            child = one.children[i]
            if child.contents.release:  # else the consumer has moved it
                child.contents.release(child)
    _kept.pop(one.private_data, None)
    one.release = type(one.release)()


def _callback_type(structure: Any, name: str) -> Any:
    return dict(structure._fields_)[name]


_release_schema = _callback_type(_Schema, "release")(_release)
_release_array = _callback_type(_Array, "release")(_release)
_release_stream = _callback_type(_Stream, "release")(_release)
_FORMS = {np.dtype(kind): form for form, kind in _TYPES.items()}


def _pointers(kind: Any, things: Sequence[Any]) -> Any:
    return (ctypes.POINTER(kind) * len(things))(*map(ctypes.pointer, things)) if things else None


def _schema_of(name: str, kind: np.dtype[Any] | None, width: int | None) -> _Schema:
    children = [] if width is None else [_schema_of("item", kind, None)]
    form = b"u" if kind is None else b"b" if kind == bool else _FORMS[kind]
    kept = [form if width is None else b"+w:%d" % width, name.encode(), children, _pointers(_Schema, children)]
    return _Schema(format=kept[0], name=kept[1], flags=_NULLABLE, n_children=len(children), children=kept[3], release=_release_schema,
                   private_data=_keep(kept))


def _array_of(length: int, buffers: list[np.ndarray | None], children: list[_Array], nulls: int = 0) -> _Array:
    addresses = (ctypes.c_void_p * len(buffers))(*(None if buffer is None else buffer.ctypes.data for buffer in buffers))
    kept = [buffers, addresses, children, _pointers(_Array, children)]
    return _Array(length=length, null_count=nulls, n_buffers=len(buffers), n_children=len(children), buffers=addresses, children=kept[3],
                  release=_release_array, private_data=_keep(kept))


def _array_of_column(column: Column) -> _Array:
    length, missing = len(column), column.missing
    validity = None if missing is None else np.packbits(~missing, bitorder="little")
    nulls = 0 if missing is None else int(missing.sum())
    if isinstance(column.values, list):
        ends = np.concatenate([[0], np.cumsum([len(text) for text in column.values])]).astype("<i4")
        return _array_of(length, [validity, ends, np.frombuffer(b"".join(column.values) or b"\0", np.uint8)], [], nulls)
    if column.values.dtype == bool:
        return _array_of(length, [validity, np.packbits(column.values, bitorder="little")], [], nulls)
    values = np.ascontiguousarray(column.values)
    if values.ndim == 1:
        return _array_of(length, [validity, values], [], nulls)
    return _array_of(length, [validity], [_array_of(values.size, [None, values.reshape(-1)], [])], nulls)


class Exported:
    """A table as a stream of Arrow, ``__arrow_c_stream__``, for any package that takes such: pyarrow.table(it), polars.DataFrame(it),
    DuckDB. Each call begins anew.

    ``fields``: of each column its name, the type of its numbers (None for texts), and the length of its lists (None for no lists).
    ``batches``: gives iterators over batches of these columns.
    """

    def __init__(self, fields: Sequence[tuple[str, np.dtype[Any] | None, int | None]], batches: Callable[[], Iterator[list[Column]]]) -> None:
        self._fields, self._batches = list(fields), batches

    def __repr__(self) -> str:
        return f"<unweave table with the columns {', '.join(name for name, _, _ in self._fields)}, for pyarrow.table() and others>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        stream = _Stream(get_schema=_get_schema, get_next=_get_next, get_last_error=_get_last_error, release=_release_stream)
        stream.private_data = _keep([self._fields, self._batches(), b""])
        address = ctypes.addressof(stream)
        _kept[-address] = stream
        return _new_capsule(address, b"arrow_array_stream", _drop_capsule)


def _get_schema_of(pointer: Any, out: Any) -> int:
    children = [_schema_of(*field) for field in _kept[pointer.contents.private_data][0]]
    kept = [b"+s", b"", children, _pointers(_Schema, children)]
    out[0] = _Schema(format=kept[0], name=kept[1], n_children=len(children), children=kept[3], release=_release_schema, private_data=_keep(kept))
    return 0


def _get_next_of(pointer: Any, out: Any) -> int:
    state = _kept[pointer.contents.private_data]
    try:
        batch = next(state[1], None)
        if batch is None:
            out[0] = _Array()
        else:
            children = [_array_of_column(column) for column in batch]
            out[0] = _array_of(len(batch[0]), [None], children)
        return 0
    except BaseException as error:  # noqa: B036  nothing may pass through C
        state[2] = f"{type(error).__name__}: {error}".encode()
        return 5  # EIO


def _get_last_error_of(pointer: Any) -> int:
    return ctypes.cast(ctypes.c_char_p(_kept[pointer.contents.private_data][2]), ctypes.c_void_p).value or 0


_get_schema = _callback_type(_Stream, "get_schema")(_get_schema_of)
_get_next = _callback_type(_Stream, "get_next")(_get_next_of)
_get_last_error = _callback_type(_Stream, "get_last_error")(_get_last_error_of)


def _dropped(capsule: int) -> None:
    """The end of a capsule, which must not be touched as an object any more."""
    address = _capsule_pointer(capsule, b"arrow_array_stream")
    stream = _kept.pop(-address)
    if stream.release:
        stream.release(ctypes.byref(stream))


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(("PyCapsule_New", ctypes.pythonapi))
_drop_capsule = _Destructor(_dropped)
