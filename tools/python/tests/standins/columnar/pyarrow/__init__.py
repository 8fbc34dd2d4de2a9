"""A stand-in for the part of pyarrow 14 and later that unweave.columns uses, over the files of columnar_files."""
import pathlib

import columnar_files
import numpy as np

from unweave import _arrow

__version__ = "14.0.0"
read_batches = []  # names of the columns of every batch that was read


class ArrowInvalid(ValueError):
    pass


class Batch:
    def __init__(self, group):
        self.group, self.num_rows = group, len(next(iter(group.values()))[0])


class Schema:
    def __init__(self, group):
        self.names = list(group)


class RecordBatchReader:
    def __init__(self, batches, wanted=None):
        self._batches = batches
        first = next(batches())
        self.schema = Schema(first)
        self._names = list(first) if wanted is None else wanted
        self._first = first

    def __iter__(self):
        return map(Batch, self._batches())

    def __arrow_c_stream__(self, requested_schema=None):
        fields = []
        for name in self._names:
            values, _ = self._first[name]
            fields.append((name, None if values.dtype == object else values.dtype, values.shape[1] if values.ndim == 2 else None))

        def batches():
            for group in self._batches():
                read_batches.append(self._names)
                yield [_arrow.Column([text.encode() for text in values] if values.dtype == object else values, missing)
                       for values, missing in (group[name] for name in self._names)]

        return _arrow.Exported(fields, batches).__arrow_c_stream__()


def memory_map(path, mode):
    return pathlib.Path(path)
