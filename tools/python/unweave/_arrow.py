"""Columns of numbers out of an Arrow C stream, over its own memory.

Arrow C data and stream interfaces: https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html. Whatever has
``__arrow_c_stream__`` (pyarrow, polars, DuckDB, pandas from 2.2) works, and none of them is needed.
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .errors import DataError, UsageError


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
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
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


def _column(batch: _Batch, array: _Array, offset: int, length: int, form: bytes, name: str) -> np.ndarray:
    if array.null_count > 0 or (array.null_count < 0 and array.buffers[0]):
        raise UsageError(f"{name}: a column with missing values; fill them first")
    kind = np.dtype(_TYPES[form])
    offset += array.offset
    if length == 0 or not array.buffers[1]:
        return np.empty(0, kind)
    address = array.buffers[1] + offset * kind.itemsize
    memory = (ctypes.c_char * (length * kind.itemsize)).from_address(address)
    memory.batch = batch  # the array's base keeps it, and so the batch
    return np.frombuffer(memory, kind)


def columns(source: Any, name: str) -> list[tuple[str, list[np.ndarray]]]:
    """Names of the columns of a stream, and of each its chunks, which lie in the memory of the stream's batches."""
    capsule = source.__arrow_c_stream__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = _Stream.from_address(get(capsule, b"arrow_array_stream"))

    def require(code: int, what: str) -> None:
        if code != 0:
            error = stream.get_last_error(ctypes.byref(stream)) if stream.get_last_error else None
            raise DataError(f"{name}: the Arrow stream gave no {what}: {(error or b'error ' + str(code).encode()).decode()}")

    schema = _Schema()
    require(stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)), "schema")
    try:
        is_table = schema.format == b"+s"
        fields = [schema.children[i].contents for i in range(schema.n_children)] if is_table else [schema]
        forms = [bytes(field.format) for field in fields]
        found: list[tuple[str, list[np.ndarray]]] = [((field.name or b"").decode(), []) for field in fields]
        for field, form in zip(fields, forms):
            if form not in _TYPES or field.dictionary:
                raise UsageError(f"{name}: column {(field.name or b'').decode()!r} of Arrow's type {form.decode()!r}, where numbers are wanted")
        while True:
            batch = _Batch()
            require(stream.get_next(ctypes.byref(stream), ctypes.byref(batch.array)), "batch")
            if not batch.array.release:
                break
            if is_table:
                for i, form in enumerate(forms):
                    child = batch.array.children[i].contents
                    found[i][1].append(_column(batch, child, batch.array.offset, batch.array.length, form, name))
            else:
                found[0][1].append(_column(batch, batch.array, 0, batch.array.length, forms[0], name))
    finally:
        if schema.release:
            schema.release(ctypes.byref(schema))
        del capsule
    return [(column, chunks or [np.empty(0, _TYPES[form])]) for (column, chunks), form in zip(found, forms)]
