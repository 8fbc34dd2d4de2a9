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
from .whole_files import read_file, replace_file, require_file

__all__ = ["Change", "Changes"]


@dataclass(frozen=True)
class Change:
    """What one batch changed. ``complete``: these are all rows, in the place of everything before.

    ``entry``: its number in the feed. ``sequence``: how many requests the store had acknowledged. ``ids``: int64 [rows]; ``rows``: float32 [rows, columns]; ``removed``: int64, nodes that have no row any more. As a stream of Arrow
    (``pyarrow.table(change)``) it has the columns node and z, a list of one length; z is missing for a node that was removed.
    """

    entry: int
    sequence: int
    complete: bool
    ids: np.ndarray
    rows: np.ndarray
    removed: np.ndarray

    def __repr__(self) -> str:
        return (f"unweave.Change(entry={self.entry}, sequence={self.sequence}, complete={self.complete}, {len(self.ids)} rows, "
                f"{len(self.removed)} removed)")

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

    ``folder``: where the stream writes them; without a feed it is a DataError. ``name``: of this reader, letters, digits, - and _.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise UsageError(f"name: {name!r} has other characters than letters, digits, - and _", ["name"])
        self.folder = pathlib.Path(folder)
        self._file = self.folder / "readers" / name
        if not os.path.lexists(self.folder / "changes.jsonl"):
            raise DataError(f"{self.folder}: no feed of changes here (changes.jsonl is missing); begin one with `store.stream(changes=folder)`")
        if not os.path.lexists(self._file):
            self._write(0)

    def __repr__(self) -> str:
        return f"unweave.Changes({str(self.folder)!r}, {self._file.name!r})"

    def _write(self, entry: int) -> None:
        replace_file(self._file, f"{entry}\n", beside=self.folder, link=False)  # in readers/ what is not whole would be taken for a reader

    @property
    def taken(self) -> int:
        """The last entry that this reader has taken."""
        text = read_file(self._file)
        if not re.fullmatch(r"[0-9]{1,19}\n", text):
            raise DataError(f"{self._file}: no number of an entry is in it; remove it, and this reader begins anew")
        return int(text)

    def __iter__(self) -> Iterator[Change]:
        lines = [json.loads(line) for line in read_file(self.folder / "changes.jsonl").splitlines()]
        taken, end = self.taken, lines[-1]["entry"] if lines else 0
        if taken > end:
            raise DataError(f"{self._file}: this reader has taken entry {taken}, and the feed ends at entry {end}: it was begun anew, or is an older copy; "
                            "remove this file, and begin anew")
        waiting = [line for line in lines if line["entry"] > taken]
        # Nothing before the last complete entry matters.
        complete = [i for i, line in enumerate(waiting) if line["complete"]]
        for line in waiting[complete[-1] if complete else 0:]:
            parts = [self.folder / f"{line['entry']}.{what}.npy" for what in ("ids", "rows", "removed")]
            if not all(os.path.lexists(part) for part in parts):
                raise DataError(f"{self.folder}: entry {line['entry']} has gone before the reader {self._file.name} had it; "
                                "remove state.json, and the next stream begins with a complete entry")
            ids, rows, removed = (np.load(part, mmap_mode="r" if require_file(part).st_size > 2**20 else None) for part in parts)
            yield Change(line["entry"], line["sequence"], line["complete"], ids, rows, removed)

    def take(self, change: Change) -> None:
        """This reader needs the change no more.

        ``change``: it, and all before it.
        """
        self._write(change.entry)
