"""A stream of requests to a store: batches, each durable when it is answered."""
from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Iterable

import numpy as np

from . import _native, arrays, graphs, row_order
from .errors import UsageError
from .names import NodeNumbers
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
    Ctrl-C during a batch waits for its end. :meth:`Store.stream` makes it; nodes are numbers, or names where the store has names, as
    :class:`Store` reads them. A number that no node ever had is a UsageError where nodes are removed, as a name of nobody is.

    What :meth:`send` and its like return has the fields of ``unweave stream --json``: ``applied``, ``rejected``, ``rows_touched``, ``certified`` and
    ``claim`` of the model that follows, and more; ``time`` is None where the batch was empty or refused. ``statuses`` says of each request "applied"
    or why it was rejected, and ``refused`` whether a strict stream has refused the batch. Wrong requests are a UsageError before anything is sent.

    ``store``: it is open for writing until :meth:`close`. ``options``: the arguments of :meth:`Store.stream`.
    """

    def __init__(self, store: Store, options: dict[str, Any]) -> None:
        self._store, self._batches, self._closed = store, 0, False
        followers = [options, *options.get("more_models", [])]
        self._model = ", ".join(filter(None, (one.get("name") or one.get("solver") for one in followers)))
        self._native = _native.Stream(store._machine, store._watcher(), store.path, options)
        self._are_names: bool | None = None
        self._count: int | None = None

    def __repr__(self) -> str:
        model = f", model {self._model!r}" if self._model else ""
        return f"<unweave.Stream to {str(self._store.path)!r}{model}, {self._batches} batches sent, {'closed' if self._closed else 'open'}>"

    def _sent(self, outcome: dict[str, Any]) -> Record:
        self._batches += 1
        if not outcome["requests"] or outcome["refused"]:
            outcome["time"] = None  # nothing became durable
        return Record.of(outcome)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True
            self._native.abandon()

    def send(self, requests: Iterable[Request]) -> Record:
        """One batch.

        ``requests``: lines as in a file of requests ("edge 4 7"; a single one may stand alone), or tuples ("edge", 4, 7), ("node", 12),
        ("feature", 3), ("insert-edge", 4, 7). Where nodes have names, texts are names, ("node", "alice"), "#17" is number 17, and integers
        are numbers; but names in a store of ``ids_are="names"``, where integers that may be either are a UsageError. Requests that
        set something are lines or tuples as well: "set-feature 3 0.5 0 0.25" with all values, "set-feature 3 0:0.5 2:0.25",
        ("set-feature", 3, 0.5, 0, 0.25), ("set-label", 3, 1) or, where classes have names, ("set-label", 3, "cat"), ("set-label", 3, "none"),
        ("move-split", 3, "valid"), ("graph", 5), ("set-graph-label", 5, 1), ("move-graph-split", 5, "test"), ("insert-node", 3, 0.5, 0, 0.25), ("insert-edge", 4, 7, "weight", 3), ("set-weight", 4, 7, 3),
        ("edge", 4, 7, "expires", "2027-01-31"), ("node", 12, "expires", "2027-01-31"), ("feature", 3, "expires", "2027-01-31"), ("graph", 5, "expires", "2027-01-31"), or a datetime
        with its zone, or "never". A line or a tuple may end in "id=NAME": a request that was sent before with its id is not applied again, and another
        one with an id that is known is a UsageError, of which nothing is done. In a store of several kinds of edges the kind stands behind the
        nodes: "edge 4 7 cites", ("edge", 4, 7, "cites"). ``statuses`` says of each whether it was applied, or why not.
        """
        requests = batch_of(requests)
        named = self._native.named()
        are_names = self._numbers_are_names()
        if named:
            self._store._require_one_meaning(requests, are_names)
        # Lines are read as those of a file: what is a number, and what parts words, is said in one place.
        if self._relations() or any(isinstance(request, str) or has_id(request) or has_value(request) for request in requests):
            named_classes = self._native.named_classes()
            return self._sent(self._native.send_lines([request if isinstance(request, str) else line_of(request, named, named_classes, are_names)
                                                       for request in requests]))
        kinds: list[str] = []
        u: list[Any] = []
        v: list[Any] = []
        for number, request in enumerate(requests):
            parts = list(request)
            wanted = 3 if parts and str(parts[0]).endswith("edge") else 2
            try:
                words = [part if named and isinstance(part, str) else str(whole_id(part)) if are_names and not isinstance(part, NodeNumbers)
                         else f"#{whole_id(part)}" for part in parts[1:]]
                ids = [0 if not word.startswith("#") else whole_id(word[1:]) for word in words]
            except (TypeError, ValueError, OverflowError):
                ids = []
            if len(parts) != wanted or len(ids) != wanted - 1 or min(ids) < 0 or max(ids) >= 2**64:
                raise UsageError(f"request {number}, {request!r}: write ('edge', u, v), ('node', u), ('feature', u), ('insert-edge', u, v), ('insert-edge', u, v, 'weight', w) or ('set-weight', u, v, w), ids as whole numbers from 0")
            kinds.append(str(parts[0]))
            u.append(words[0] if named else ids[0])
            v.append((words[1] if named else ids[1]) if wanted == 3 else "#0" if named else 0)
        return self._sent(self._native.send_names(kinds, u, v) if named else self._native.send(kinds, u, v))

    def remove_edges(self, edges: Any, *, relation: str | None = None) -> Record:
        """One batch that removes edges.

        ``edges``: an array (m, 2) or (2, m), a list of tuples (u, v), a pair (u, v) of arrays, or a table of two columns, of numbers or names. An
        array (2, 2), whose edges may be its rows or its columns, is a UsageError. ``relation``: their kind, in a store of several.
        """
        return self._send_pairs("edge", edges, relation)

    def insert_edges(self, edges: Any, weights: Any = None, *, relation: str | None = None) -> Record:
        """One batch that inserts edges.

        ``edges``, ``relation``: as :meth:`remove_edges` takes them. ``weights``: one number an edge, whole where the store has no
        real weights, each 1 by default.
        """
        if weights is None:
            return self._send_pairs("insert-edge", edges, relation)
        self._require_relation(relation)
        row_order.require_one_order(edges=edges, weights=weights)
        if not hasattr(edges, "iloc"):
            row_order.require_unmoved(weights, "weights")
        pairs, weights = self._pairs(edges, "insert-edge"), arrays.array_of(weights, "weights").reshape(-1)
        if len(pairs) != len(weights):
            raise UsageError(f"{len(pairs)} edges and {len(weights)} weights")
        are_real = self._store.info().weight_unit is not None
        if not are_real and np.any(weights != weights.astype(np.int64)):
            raise UsageError("weights: whole numbers are wanted", ["weights"])
        mark = "#" if self._native.named() else ""
        numbers = weights.astype(np.float64 if are_real else np.int64).tolist()
        kind = [] if relation is None else [relation]
        return self.send([("insert-edge", f"{mark}{u}", f"{mark}{v}", *kind, "weight", weight) for (u, v), weight in zip(pairs.tolist(), numbers)])

    def remove_nodes(self, nodes: Any) -> Record:
        """One batch that removes nodes: their edges, features, labels and places in splits.

        ``nodes``: numbers, names or a mask.
        """
        return self._sent(self._native.send_all("node", self._there(self._nodes(nodes), "nodes")))

    def remove_graphs(self, graphs: Any) -> Record:
        """One batch that removes whole graphs: all their nodes, labels and places in splits.

        ``graphs``: their numbers, or a mask.
        """
        numbers = arrays.node_ids(graphs, "graphs", count=lambda: int(self._store.info().graphs or 0))
        return self._sent(self._native.send_all("graph", self._there(numbers, "graphs")))

    def remove_features(self, nodes: Any) -> Record:
        """One batch that removes the features of nodes, and with them their labels and places in splits.

        ``nodes``: numbers, names or a mask.
        """
        return self._sent(self._native.send_all("feature", self._there(self._nodes(nodes), "nodes")))

    def _numbers_are_names(self) -> bool:
        """Whether integers are names of nodes, as the import said."""
        if self._are_names is None:
            self._are_names = self._native.named() and self._store.info().ids_are == "names"
        return self._are_names

    def _nodes(self, nodes: Any) -> np.ndarray | None:
        return arrays.node_ids(nodes, "nodes", self._store.numbers, self._numbers_are_names(), self._num_nodes)

    def _pairs(self, edges: Any, kind: str) -> np.ndarray:
        return graphs.pairs_of(edges, self._store.numbers, self._numbers_are_names(), self._num_nodes, kind == "insert-edge")

    def _num_nodes(self) -> int:
        """How many nodes there are, which no request changes."""
        if self._count is None:
            self._count = self._store.num_nodes
        return self._count

    def _relations(self) -> list[str]:
        """Kinds of edges; none where there is one."""
        return self._native.relations()

    def _require_relation(self, relation: str | None) -> None:
        if (relation is not None) != bool(self._relations()):
            raise UsageError(f"relation: edges of this store are of the kinds {', '.join(self._relations())}; name one" if relation is None else
                             f"relation: {relation!r}, and edges of this store are of one kind; leave it out", ["relation"])

    def _send_pairs(self, kind: str, edges: Any, relation: str | None) -> Record:
        pairs = self._pairs(edges, kind)
        self._require_relation(relation)
        if relation is not None:
            mark = "#" if self._native.named() else ""
            return self.send([(kind, f"{mark}{u}", f"{mark}{v}", relation) for u, v in self._there(pairs, "edges").tolist()])
        return self._sent(self._native.send_all(kind, self._there(pairs, "edges") if kind == "edge" else self._unsigned(pairs)))

    def _there(self, ids: np.ndarray | None, name: str) -> np.ndarray:
        """Numbers of nodes that there are, or were; a UsageError for one that no node ever had."""
        if ids is None:
            raise UsageError(f"{name}: None, where the nodes of requests are wanted", [name])
        outside = (ids < 0) | (ids >= self._num_nodes())
        if np.any(outside):
            raise UsageError(f"{name}: no node has the number {ids[outside][0]}; numbers are 0 to {self._num_nodes() - 1}. "
                             "Nothing was sent", [name])
        return self._unsigned(ids)

    @staticmethod
    def _unsigned(ids: np.ndarray | None) -> np.ndarray:
        assert ids is not None
        if ids.size and ids.min() < 0:
            raise UsageError(f"node {ids.min()} is not in the store")
        return np.ascontiguousarray(ids, dtype=np.uint64)

    def remove_expired(self, until: str | datetime.datetime | datetime.date | np.datetime64 | None = None, batch: int = 100) -> list[Record]:
        """Removes the edges, nodes and features whose time has come, and returns the outcomes of the batches.

        ``until``: a datetime with its zone, a date or a text as "2027-01-31T12:00Z"; None for now. ``batch``: most removals of a batch.
        """
        if isinstance(until, (datetime.date, np.datetime64)):
            until = time_text(until)
        elif until is not None and not (isinstance(until, str) and until):
            raise UsageError(f"until: {until!r} is no moment; give a datetime with its zone, a date, or a text as \"2027-01-31T12:00Z\"", ["until"])
        batch = arrays.whole_number(batch, "batch", 1)
        outcomes = []
        while outcome := self._native.send_expired(until or "", batch):
            outcomes.append(self._sent(outcome))
        return outcomes

    def accuracy(self) -> Record:
        """How often the model that follows is right on each split: ``train``, ``valid`` and ``test``, 0 to 1, None for one without nodes."""
        return Record.of(self._native.accuracies())

    def close(self) -> Record:
        """Does what batches have put off, and returns ``seconds`` and ``rows_touched``. The stream takes no more."""
        self._closed = True
        return Record.of(self._native.close())
