"""A stream of requests to a store: batches, each durable when it is answered."""
from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Iterable

import numpy as np

from . import _native, arrays
from .errors import UsageError
from .records import Record
from .request_lines import Request, batch_of, has_id, has_value, line_of, time_text, whole_id

if TYPE_CHECKING:
    from .store import Store

__all__ = ["Stream"]


class Stream:
    """Requests to a store, batch after batch, each durable when :meth:`send` returns.

        with store.stream("exact") as stream:
            outcome = stream.send([("edge", 4, 7), ("node", 12), ("feature", 3)])

    A block that ends closes the stream; one that ends by an exception leaves all that was acknowledged, as a killed process would.
    Ctrl-C during a batch waits for its end.
    """

    def __init__(self, store: Store, options: dict[str, Any]) -> None:
        self._native = _native.Stream(store._machine, store._watcher(), store.path, options)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._native.abandon()

    def send(self, requests: Iterable[Request]) -> Record:
        """One batch: lines as in a file of requests ("edge 4 7"; a single one may stand alone), or tuples ("edge", 4, 7), ("node", 12), ("feature", 3),
        ("insert-edge", 4, 7). Where nodes have names, texts are names and integers numbers: ("node", "alice"). Requests that set
        something are lines or tuples as well: "set-feature 3 0.5 0 0.25" with all values, "set-feature 3 0:0.5 2:0.25",
        ("set-feature", 3, 0.5, 0, 0.25), ("set-label", 3, 1), ("set-label", 3, "none"), ("move-split", 3, "valid"),
        ("insert-node", 3, 0.5, 0, 0.25), ("insert-edge", 4, 7, "weight", 3), ("set-weight", 4, 7, 3), ("edge", 4, 7, "expires", "2027-01-31"),
        or a datetime, or "never". A line or a tuple may end in
        "id=NAME": a request with an id that was sent before is not applied again. ``statuses`` says of each whether it was applied, or why not."""
        requests = batch_of(requests)
        named = self._native.named()
        if any(has_id(request) for request in requests) or any(has_value(request) for request in requests):
            return Record.of(self._native.send_lines([request if isinstance(request, str) else line_of(request, named) for request in requests]))
        kinds: list[str] = []
        u: list[Any] = []
        v: list[Any] = []
        for number, request in enumerate(requests):
            parts = request.split() if isinstance(request, str) else list(request)
            wanted = 3 if parts and str(parts[0]).endswith("edge") else 2
            try:
                words = [part if named and isinstance(part, str) else f"#{whole_id(part)}" for part in parts[1:]]
                ids = [0 if not word.startswith("#") else int(word[1:]) for word in words]
            except (TypeError, ValueError, OverflowError):
                ids = []
            if len(parts) != wanted or len(ids) != wanted - 1 or min(ids) < 0 or max(ids) >= 2**64:
                raise UsageError(f"request {number}, {request!r}: write ('edge', u, v), ('node', u), ('feature', u), ('insert-edge', u, v), ('insert-edge', u, v, 'weight', w) or ('set-weight', u, v, w), ids as whole numbers")
            kinds.append(str(parts[0]))
            u.append(words[0] if named else ids[0])
            v.append((words[1] if named else ids[1]) if wanted == 3 else "#0" if named else 0)
        return Record.of(self._native.send_names(kinds, u, v) if named else self._native.send(kinds, u, v))

    def remove_edges(self, edges: Any) -> Record:
        """One batch that removes edges, an array (m, 2) or (2, m), or a list of tuples (u, v). What an array (2, 2) means nobody can
        tell, and it is a UsageError."""
        return self._send_pairs("edge", edges)

    def insert_edges(self, edges: Any, weights: Any = None) -> Record:
        """One batch that inserts edges, given as :meth:`remove_edges` takes them, of weight 1 or of ``weights``, one number an edge."""
        if weights is None:
            return self._send_pairs("insert-edge", edges)
        pairs, weights = arrays.pairs_of(edges), arrays.array_of(weights, "weights").reshape(-1)
        if len(pairs) != len(weights):
            raise UsageError(f"{len(pairs)} edges and {len(weights)} weights")
        if np.any(weights != weights.astype(np.int64)):
            raise UsageError("weights: whole numbers are wanted", ["weights"])
        return self.send([("insert-edge", u, v, "weight", weight) for (u, v), weight in zip(pairs.tolist(), weights.astype(np.int64).tolist())])

    def remove_nodes(self, nodes: Any) -> Record:
        """One batch that removes nodes: their edges, features, labels and places in splits."""
        return Record.of(self._native.send_all("node", self._unsigned(arrays.node_ids(nodes))))

    def remove_features(self, nodes: Any) -> Record:
        """One batch that removes the features of nodes, and with them their labels and places in splits."""
        return Record.of(self._native.send_all("feature", self._unsigned(arrays.node_ids(nodes))))

    def _send_pairs(self, kind: str, edges: Any) -> Record:
        return Record.of(self._native.send_all(kind, self._unsigned(arrays.pairs_of(edges))))

    @staticmethod
    def _unsigned(ids: np.ndarray | None) -> np.ndarray:
        assert ids is not None
        if ids.size and ids.min() < 0:
            raise UsageError(f"node {ids.min()} is not in the store")
        return np.ascontiguousarray(ids, dtype=np.uint64)

    def remove_expired(self, until: str | datetime.datetime | datetime.date | None = None, batch: int = 100) -> list[Record]:
        """Removes the edges whose time has come by ``until``, a moment or None for now, in batches; their outcomes."""
        if isinstance(until, datetime.date):
            until = time_text(until)
        outcomes = []
        while outcome := self._native.send_expired(until or "", batch):
            outcomes.append(Record.of(outcome))
        return outcomes

    def accuracy(self) -> Record:
        """How often the model that follows is right on each split."""
        return Record.of(self._native.accuracies())

    def close(self) -> Record:
        """Does what batches have put off. The stream takes no more."""
        return Record.of(self._native.close())
