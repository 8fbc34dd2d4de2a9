"""The feed of changes of a store, for an index of vectors that follows it."""
from __future__ import annotations

import json
import os
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Iterator

import numpy as np

from ._arrow import Column, Exported
from .errors import DataError, UsageError

__all__ = ["Change", "Changes"]


@dataclass(frozen=True)
class Change:
    """What one batch changed. ``complete``: these are all rows, in the place of everything before.

    ``ids``: int64 [rows]; ``rows``: float32 [rows, columns]; ``removed``: int64, nodes that have no row any more. As a stream of Arrow
    (``pyarrow.table(change)``) it has the columns node and z, a list of one length; z is missing for a node that was removed.
    """

    entry: int
    sequence: int
    complete: bool
    ids: np.ndarray
    rows: np.ndarray
    removed: np.ndarray

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        width = int(self.rows.shape[1])

        def batches() -> Iterator[list[Column]]:
            yield [Column(np.concatenate([self.ids, self.removed])),
                   Column(np.concatenate([self.rows, np.zeros((len(self.removed), width), np.float32)]),
                          np.arange(len(self.ids) + len(self.removed)) >= len(self.ids))]

        return Exported([("node", np.dtype(np.int64), None), ("z", np.dtype(np.float32), width)], batches).__arrow_c_stream__()


class Changes:
    """Reads the folder that ``store.stream(changes=folder)`` or ``unweave stream --changes`` writes, as the reader ``name``.

        changes = unweave.Changes("demo.changes", "faiss")
        for change in changes:                 # what this reader has not taken yet
            if change.complete:
                index.reset()
            index.remove_ids(numpy.concatenate([change.ids, change.removed]))
            index.add_with_ids(change.rows, change.ids)
            changes.take(change)               # durable: it does not come again, and its files go when all readers have it

    A reader that was registered keeps entries until it has taken them.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise UsageError(f"name: {name!r} has other characters than letters, digits, - and _", ["name"])
        self.folder = pathlib.Path(folder)
        self._file = self.folder / "readers" / name
        if not (self.folder / "changes.jsonl").exists():
            raise DataError(f"{self.folder}: no feed of changes here (changes.jsonl is missing); begin one with `store.stream(changes=folder)`")
        if not self._file.exists():
            self._write(0)

    def _write(self, entry: int) -> None:
        beside = self.folder / f".{self._file.name}.new"  # in readers/ it would be taken for one
        with open(beside, "w", encoding="ascii") as file:
            file.write(f"{entry}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._file)

    @property
    def taken(self) -> int:
        """The last entry that this reader has taken."""
        return int(self._file.read_text())

    def __iter__(self) -> Iterator[Change]:
        lines = [json.loads(line) for line in (self.folder / "changes.jsonl").read_text().splitlines()]
        waiting = [line for line in lines if line["entry"] > self.taken]
        # Nothing before the last complete entry matters.
        complete = [i for i, line in enumerate(waiting) if line["complete"]]
        for line in waiting[complete[-1] if complete else 0:]:
            parts = [self.folder / f"{line['entry']}.{what}.npy" for what in ("ids", "rows", "removed")]
            if not all(part.exists() for part in parts):
                raise DataError(f"{self.folder}: entry {line['entry']} has gone before the reader {self._file.name} had it; "
                                "remove state.json, and the next stream begins with a complete entry")
            ids, rows, removed = (np.load(part, mmap_mode="r" if part.stat().st_size > 2**20 else None) for part in parts)
            yield Change(line["entry"], line["sequence"], line["complete"], ids, rows, removed)

    def take(self, change: Change) -> None:
        """This reader needs the change no more."""
        self._write(change.entry)
