"""A classifier of scikit-learn whose models forget. It works where scikit-learn is not installed, too."""
from __future__ import annotations

import hashlib
import io
import pathlib
import tarfile
import tempfile
import warnings
from typing import Any, Sequence

import numpy as np

from . import _native, arrays, graphs, row_order
from .errors import RemarkWarning, UsageError
from .estimator_base import BaseEstimator, ClassifierMixin, NotFittedError, checked_rows, checked_rows_and_classes
from .imports import import_store
from .names import NameTable, NodeNumbers, missing_as_text, require_no_texts, texts_of
from .records import Record
from .request_lines import is_digits
from .store import Store

__all__ = ["ForgettingClassifier", "NotFittedError"]

class ForgettingClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier over propagated features: fit, predict, forget.

        model = ForgettingClassifier(hops=2).fit(X, y, graph=edge_index, train=train_mask)
        model.predict(nodes)
        model.forget(nodes=[12], edges=[(4, 7)])     # the weights are those of training anew without them, with the same lambda

    It is a classifier of scikit-learn, where that is installed: ``clone``, ``Pipeline``, ``GridSearchCV``, ``pickle``. What X is depends on
    what it is given:

    - without a graph, rows are samples, as in any classifier: ``fit(X, y)``, ``predict(X)``;
    - ``fit(X, y, graph=...)``: rows of X are all nodes of the graph, and ``predict`` takes nodes, their numbers, names or a mask, or the rows
      of the fit, all of them, which are all nodes. Other rows have no place in the graph, and are an error;
    - ``ForgettingClassifier(graph=..., features=...)``: X is a column of nodes, (n, 1) or (n,): numbers or names. So a search may part
      the nodes: each part is learnt, and the others are predicted where they stand in the graph.

    ``hops``, ``weights``, ``scheme``, ``rho``: as :meth:`unweave.Store.propagate` has them, ``weights`` also "auto" as :meth:`unweave.Store.train`
    has it; without a graph of no use. ``rows_of``, ``scale_rows``, ``lift``: what rows of nodes are made of, as :meth:`unweave.Store.train` has
    them; without a graph they are an error, but for "levels" and "clip", the defaults. ``solver``, ``head``, ``lambda_``,
    ``epsilon``, ``delta``: as :meth:`unweave.Store.train` has them; the default of ``lambda_`` is 0.1 / N of the fit, and stays when something is
    forgotten. ``scale``: as :func:`unweave.import_store` has it: rows above norm 1 are divided by their norm, with a warning, or all by a public
    number that you give. ``coef_`` is that of the rows as they were scaled; with ``rows_of``, ``scale_rows`` or ``lift`` it is that of the
    program's rows, which :meth:`unweave.Store.rows` gives, and has a column for each of their numbers. ``graph``, ``directed``, ``max_weight``, ``ignore_weights``:
    as :func:`unweave.import_store` has them. ``features``: [N, F], the rows of all nodes, where X is a column of nodes. ``ids``, ``ids_are``: names of
    the nodes, as it has them; a search parts what its own ``fit`` gets by samples, so that they are given here for it. ``store``: a new folder
    for the store, which stays; by default a temporary one, which goes with it and ``store_``. ``memory``, ``threads``: as
    :class:`unweave.Store` has them.

    After ``fit``: ``classes_`` [C]; ``coef_`` [C, F] and ``intercept_`` [C], of two classes [1, F] and [1], not of networks;
    ``n_features_in_``; ``store_``, the store; ``report_``, that of the training; ``forgotten_``, numbers of forgotten nodes. A pickle holds
    a copy of a temporary store, and the path of another: what is forgotten here afterwards is still in the copy. Once something was
    forgotten, a pickle leaves out ``graph``, ``features`` and ``ids``, which hold it still; the arrays themselves are yours, and so is what
    is in them.
    """

    def __init__(self, *, hops: int = 2, weights: Sequence[float] | str | None = None, scheme: str | None = None, solver: str = "exact",
                 head: str | None = None, lambda_: float | str | None = None, epsilon: float | None = None, delta: float | None = None,
                 graph: Any = None, features: Any = None, store: Any = None, memory: int | str | None = None, threads: int = 0,
                 max_weight: int | None = None, ignore_weights: bool = False, ids: Any = None, ids_are: str | None = None,
                 scale: float | str = "rows", rho: float = 0.5, rows_of: str | Sequence[str] | None = None, scale_rows: str | None = None,
                 lift: int | str | None = None, directed: bool = False) -> None:
        self.scale = scale
        self.rho = rho
        self.rows_of = rows_of
        self.scale_rows = scale_rows
        self.lift = lift
        self.hops = hops
        self.weights = weights
        self.scheme = scheme
        self.solver = solver
        self.head = head
        self.lambda_ = lambda_
        self.epsilon = epsilon
        self.delta = delta
        self.graph = graph
        self.directed = directed
        self.features = features
        self.store = store
        self.memory = memory
        self.threads = threads
        self.max_weight = max_weight
        self.ignore_weights = ignore_weights
        self.ids = ids
        self.ids_are = ids_are

    # scikit-learn asks these: whether it was fitted, since lambda_ has the underscore of Python's words, not of what a fit has found, and
    # whether X may be sparse.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "store_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, *, graph: Any = None, train: Any = None, valid: Any = None, test: Any = None,
            ids: Any = None, ids_are: str | None = None, header: str | dict[str, str] | None = None) -> ForgettingClassifier:
        """Builds the store, propagates and trains.

        ``X``: rows of features [n, F], dense or sparse, or where the estimator has ``features`` a column of nodes. ``y``: the class of
        each, whole numbers or texts; with a graph and rows -1, None or NaN for none. ``graph``: of the rows, as :func:`unweave.import_store`
        takes it, in the place of the estimator's. ``train``, ``valid``, ``test``: numbers, names or masks of rows; all with a class are
        training rows by default. ``ids``, ``ids_are``: names of the nodes, and what integers of nodes mean where these are whole numbers, as
        :func:`unweave.import_store` has them, in the place of the estimator's. ``header``: of files of text, as it has it; X is ``features`` there.

        Wrong rows, classes or options are a ValueError, most of them a :class:`unweave.UsageError`.
        """
        arrays.require_flags(directed=self.directed, ignore_weights=self.ignore_weights)
        graph = self.graph if graph is None else graph
        ids, ids_are = self.ids if ids is None else ids, self.ids_are if ids_are is None else ids_are
        for name, value in (("X", X), ("y", y), ("features", self.features)):
            arrays.require_unmasked(value, name)
        if getattr(self, "_left_out", False) and graph is None and self.features is None:
            raise UsageError("graph, features, ids: a pickle has left them out, since something in them was forgotten; give them by set_params()",
                             ["graph", "features", "ids"])
        slips = arrays.remarks_on_rows(X, "X") if self.features is None else arrays.remarks_on_rows(self.features, "features")
        self._index_of: str | None = None
        self._saw_index, self._has_moved = True, False
        if self.features is not None:
            for name, value in (("train", train), ("valid", valid), ("test", test)):
                if value is not None:
                    raise UsageError(f"{name}: X are the training nodes where the estimator has features; leave it out", [name, "features"])
            rows, labels, train = self._of_nodes(X, y, ids, ids_are)
            self._places = "nodes"
        elif graph is not None:
            table = arrays.table_of(ids)
            row_order.require_order(X, "X", table)
            row_order.require_order(y, "y", table)
            rows = X if arrays.is_path(X) or arrays.columns_of(X) is not None else checked_rows(self, X, reset=True)
            labels = self._with_missing(y)
            slips += self._remarks_on_minus_ones(labels)
            self._places = "graph"
        else:
            for name, value in arrays.row_words(self.rows_of, self.scale_rows, self.lift).items():
                if value not in (None, "levels", ["levels"], "clip"):
                    raise UsageError(f"{name}: it says what rows of the nodes of a graph are made of, and there is no graph; leave it out, or give graph=",
                                     [name, "graph"])
            tables = {name: value for name, value in (("X", X), ("y", y)) if hasattr(value, "iloc")}
            row_order.require_one_order(X=X, y=y)
            self._index_of = next((name for name, value in tables.items() if value.index.tolist() != list(range(len(value)))), None)
            self._has_moved = self._index_of is not None and set(tables[self._index_of].index) == set(range(len(tables[self._index_of])))
            self._saw_index = bool(tables)
            train, valid, test = (self._beside(one, name, X, y) for name, one in (("train", train), ("valid", valid), ("test", test)))
            rows, labels = checked_rows_and_classes(self, X, y)
            self.classes_, labels = np.unique(labels, return_inverse=True)
            self._places = "rows"
        if len(self.classes_) < 2:
            no_class = "; -1 stands for none with a graph: give texts if it is one" if np.any(labels < 0) else ""
            raise UsageError(f"y: {len(self.classes_)} class, and a classifier needs two at least{no_class}", ["y"])
        if train is None:
            train = labels >= 0
        if (lost := missing_as_text(self.classes_.tolist())) is not None:
            remedy = "leave out its rows" if self._places == "rows" else "give None for rows without a class"
            warnings.warn(f"y: the text {lost!r} is learnt as a class, and may be what a missing value has become as a text; {remedy} if it is",
                          RemarkWarning, stacklevel=2)
        for slip in slips:
            warnings.warn(slip, RemarkWarning, stacklevel=2)
        names = [str(one) for one in self.classes_] if self.classes_.dtype.kind in "OU" else []
        if not all(map(_may_name_a_class, names)):
            names = []
        folder = None if self.store is not None else tempfile.TemporaryDirectory(prefix="unweave-")
        path = pathlib.Path(self.store) if folder is None else pathlib.Path(folder.name) / "store"
        store = import_store(path, graph, rows, labels, train=train, valid=valid, test=test, ids=ids, ids_are=ids_are,
                             classes=names or len(self.classes_), memory=self.memory, threads=self.threads, progress=False,
                             directed=self.directed, max_weight=self.max_weight, ignore_weights=self.ignore_weights, header=header,
                             scale=self.scale)
        if (scaled := store.imported.rows_scaled) and store.imported.scale == "rows":  # of a number the import has told it
            warnings.warn(f"X: {scaled} of {len(rows) if not arrays.is_path(rows) else 'the'} rows are longer than 1 and were divided by their norm, so that they keep their direction "
                          "alone; where lengths matter, standardise the columns and give scale=B, a number above the longest row that is not computed from "
                          "rows that may be forgotten", RemarkWarning, stacklevel=2)
        hops, weights, scheme = (self.hops, self.weights, self.scheme) if graph is not None else (0, None, None)
        chosen = weights if isinstance(weights, str) else None  # "auto": from the levels, once they are there
        store.propagate(hops, weights=None if chosen else weights, scheme=scheme, rho=self.rho, rows="all")
        self.report_: Record = self._train(store, chosen)
        self.store_: Store = store
        self._folder = store._folder = folder  # which goes when nobody has either
        self.n_features_in_ = 1 if self._places == "nodes" else int(store.info().features)
        self.forgotten_ = np.empty(0, np.int64)
        self._has_forgotten = self._left_out = False
        self._rows = _digest(rows) if self._places == "graph" else None
        self._take_weights()
        return self

    def _train(self, store: Store, weights: str | None = None) -> Record:
        """The model by the estimator's options. ``weights``: "auto", where those of the levels are to be chosen."""
        return store.train(self.solver, head=self.head, lambda_=self.lambda_, epsilon=self.epsilon, delta=self.delta, weights=weights,
                           rows_of=self.rows_of, scale_rows=self.scale_rows, lift=self.lift)

    def _with_missing(self, y: Any) -> np.ndarray:
        """Numbers of classes, -1 for a row without one; sets classes_."""
        self._minus_ones = 0
        texts, there = texts_of(y, "y", missing=True), _has_class(y)
        if texts is not None:
            if "" in texts:
                raise UsageError(f"y: element {texts.index('')} is an empty text, which may be a class or none; give None for none", ["y"])
            values = np.array([text or "" for text in texts], dtype=object)
        else:
            values = arrays.array_of(y, "y").reshape(-1)
            arrays.require_no_largest(values, "y", y)
            if values.dtype.kind == "f" and (part := next((one for one in values[there] if not float(one).is_integer()), None)) is not None:
                raise UsageError(f"y: Unknown label type: continuous, as {part}; a classifier learns classes: give whole numbers, or texts", ["y"])
            if values.dtype.kind in "if" and np.any(values[there] < 0) and not np.all(there):
                raise UsageError(f"y: -1 stands for no class with a graph, and {values[there].min():g} is one: the -1 may be one, too; give None or NaN for no class, and "
                                 "classes from 0, or texts", ["y"])
            self._minus_ones = int(np.sum(values == -1)) if values.dtype.kind in "if" else 0
        self.classes_, codes = np.unique(values[there], return_inverse=True)
        if self.classes_.dtype.kind == "f" and np.array_equal(self.classes_, self.classes_.astype(np.int64)):
            self.classes_ = self.classes_.astype(np.int64)  # a column with NaN is one of floats
        labels = np.full(len(values), -1, np.int64)
        labels[there] = codes
        return labels

    def _remarks_on_minus_ones(self, labels: np.ndarray) -> list[str]:
        """That -1 stands for no class, where it is about as frequent as the classes and so may be one."""
        counts = np.bincount(labels[labels >= 0])
        if not self._minus_ones or not len(counts) or not counts.mean() <= 2 * self._minus_ones <= 4 * counts.max():
            return []
        return [f"y: {self._minus_ones} rows have -1, which stands for no class with a graph; if it is a class, give classes from 0, or texts"]

    def _of_nodes(self, X: Any, y: Any, ids: Any, ids_are: str | None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows of all nodes, their classes, -1 where none is given, and the training nodes."""
        rows = self.features if hasattr(self.features, "tocsr") else np.asarray(self.features)
        if getattr(rows, "ndim", 2) != 2:
            raise UsageError(f"features: an array of shape {rows.shape}, where rows of all nodes [N, F] are wanted", ["features"])
        table = arrays.table_of(ids)
        if table is not None and len(ids) != rows.shape[0]:
            raise UsageError(f"ids: {len(ids)} names of {rows.shape[0]} nodes; a search of scikit-learn cuts what fit() gets to the samples of a "
                             "fold, and leaves ids whole where they are given as ForgettingClassifier(ids=...)", ["ids", "features"])
        row_order.require_order(self.features, "features", table)
        _require_one_order(X, y)
        nodes = arrays.node_ids(_column(X), "X", None if table is None else lambda words: table(words, "X"), ids_are == "names")
        assert nodes is not None
        if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < rows.shape[0]:
            if table is not None and not isinstance(X, NodeNumbers):
                require_no_texts(nodes, "X", lambda words: table(words, "X"), lambda: rows.shape[0])
            raise UsageError(f"X: node {int(nodes.max() if nodes.max() >= rows.shape[0] else nodes.min())} has no row of features, which has {rows.shape[0]}", ["X", "features"])
        given = self._with_missing(y)
        if self._minus_ones:
            raise UsageError(f"y: {self._minus_ones} of the nodes of X have -1, which may be a class, or stand for none; leave these nodes out of X if they have none, or give "
                             "classes from 0, or texts, if it is one", ["X", "y"])
        if len(given) != len(nodes):
            raise UsageError(f"y: {len(given)} classes of {len(nodes)} nodes", ["X", "y"])
        labels = np.full(rows.shape[0], -1, np.int64)
        labels[nodes] = given
        if np.any(labels[nodes] != given):
            raise UsageError("X: a node stands there twice, with two classes", ["X", "y"])
        return rows, labels, NodeNumbers(np.unique(nodes[given >= 0]))

    def _take_weights(self) -> None:
        """coef_ and intercept_ of the present release, which a network has not."""
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        if self.head == "mlp":
            return
        with tempfile.TemporaryDirectory() as folder:
            with np.load(self.store_.export_model(pathlib.Path(folder) / "model.npz", solver=self.solver)) as file:
                coef, intercept = file["coef_"], file["intercept_"]
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _fitted(self) -> Store:
        if not hasattr(self, "store_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit() first")
        return self.store_

    def _said(self, X: Any, what: str) -> np.ndarray:
        """Scores of nodes, or of rows that stand in no graph, float64 [n, C]."""
        store = self._fitted()
        nodes = X
        if X is not None and self._places == "nodes":
            nodes = _column(X)
        elif self._places == "rows" and X is not None and not isinstance(X, NodeNumbers) and _may_be_a_row(X, self.n_features_in_):
            raise UsageError(f"X: {self.n_features_in_} integers may be one row, or the numbers of rows of the fit; give [X] for a row, or "
                             "unweave.NodeNumbers(X) for rows of the fit", ["X"])
        elif X is not None and not _are_nodes(X):
            rows = checked_rows(self, X, reset=False)
            if self._places == "rows":
                return self._of_rows(rows, what)
            if self._rows is None:
                raise UsageError("X: rows of the fit are not those of the store any more, since something was forgotten; give the nodes, their numbers, names "
                                 "or a mask", ["X"])
            if self._rows != _digest(rows):
                raise UsageError("X: rows that are not all rows of the fit, in their order, have no place in the graph; give the nodes, their numbers, names or a "
                                 "mask, or make the estimator with graph and features, and X a column of nodes", ["X", "graph", "features"])
            nodes = None
        elif self._places == "rows":
            self._require_no_labels(X, "X")
        numbers = NodeNumbers(np.arange(store.num_nodes) if nodes is None else store._nodes(nodes, "X"))
        gone = np.intersect1d(numbers, self.forgotten_)
        if gone.size:
            raise UsageError(f"X: node {gone[0]}{f' and {gone.size - 1} more' if gone.size > 1 else ''} was forgotten, and nothing is said of it; "
                             "leave out forgotten_", ["X"])
        return store.predict_proba(numbers) if what == "probabilities" else store.scores(numbers)

    def _of_rows(self, rows: Any, what: str) -> np.ndarray:
        store = self.store_
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rows.npy"
            whole = np.ascontiguousarray(rows.toarray() if hasattr(rows, "toarray") else rows)
            if not isinstance(self.scale, str):  # as the import has divided those of the fit; longer ones than 1 are clipped to it
                whole = (whole / float(self.scale)).astype(np.float32)
            np.save(file, whole)
            return _native.predict_rows(store._machine, None, store.path, {"solver": self.solver, "name": None}, file, what)

    def predict(self, X: Any = None) -> np.ndarray:
        """The classes of rows or nodes, [n], as ``classes_`` has them.

        ``X``: what the class says of it; all nodes by default. A forgotten node is a UsageError.
        """
        margins = self._said(X, "margins")
        return self.classes_[np.argmax(margins, axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How often :meth:`predict` is right, 0 to 1.

        ``X``: as :meth:`predict` takes it. ``y``: the class of each; with a graph rows of -1, None or NaN, which have none, are left out with a
        warning, as :meth:`fit` leaves them out. ``sample_weight``: how much each counts, by default the same. A Series whose
        index has the rows, or the nodes, of X in another order is a UsageError, as it is in :meth:`fit`.
        """
        store = self._fitted()
        are_all = self._places != "rows" and (X is None or (self._places == "graph" and not _are_nodes(X)))  # in the order of the nodes
        table = NameTable(store.ids() or []) if are_all and store.info().named is not None else None
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if X is not None:
                _require_one_order(X, value, name)
            if are_all:
                row_order.require_order(value, name, table)
        row_order.require_one_order(y=y, sample_weight=sample_weight)
        there = None if self._places == "rows" else _has_class(y)
        if there is None or there.all():
            return super().score(X, y, sample_weight)
        if not there.any():
            raise UsageError("y: no row has a class, only -1, None or NaN, so that there is nothing to compare with", ["y"])
        said = self.predict(X)
        weights = np.ones(len(there)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        for name, count in (("y", len(there)), ("sample_weight", len(weights))):
            if count != len(said):
                raise UsageError(f"{name}: {count} elements of {len(said)} rows", [name])
        warnings.warn(f"y: {int(np.sum(~there))} of {len(there)} rows have no class (-1, None or NaN), and are left out of the score", RemarkWarning,
                      stacklevel=2)
        return float(np.average(said[there] == np.asarray(y).reshape(-1)[there], weights=weights[there]))

    def predict_proba(self, X: Any = None) -> np.ndarray:
        """Probabilities, float64 [n, C], in the order of ``classes_``.

        ``X``: as :meth:`predict` takes it.
        """
        return self._said(X, "probabilities")

    def decision_function(self, X: Any = None) -> np.ndarray:
        """Margins, float64 [n, C], the largest of which is the prediction; of two classes [n], that of the second less that of the first.

        ``X``: as :meth:`predict` takes it.
        """
        margins = self._said(X, "margins")
        return margins[:, 1] - margins[:, 0] if len(self.classes_) == 2 else margins

    def forget(self, *, nodes: Any = None, edges: Any = None, features: Any = None, purge: bool = False) -> Record:
        """Removes nodes, edges and features of nodes in one batch, and lets the model forget them. Returns what :meth:`unweave.Stream.send` does:
        ``certified`` and ``claim`` say what the release claims.

        ``nodes``, ``features``: numbers, names or masks. ``edges``: (m, 2), (2, m) or tuples (u, v), of numbers or names. ``purge``: True
        erases them from the files, too. Without a graph the rows of the fit are the nodes, from 0. A node that never was there is a
        UsageError, and nothing is forgotten then.
        """
        arrays.require_flags(purge=purge)
        if nodes is None and edges is None and features is None:
            before = "; store_.purge() erases what was forgotten before" if purge else ""
            raise UsageError(f"nothing is asked for; give nodes, edges or features that are to be forgotten{before}", ["nodes", "edges", "features"])

        def numbers(names: Sequence[str]) -> np.ndarray:
            return self._fitted().numbers(names)

        def count() -> int:
            return self._fitted().num_nodes

        for name, value in (("nodes", nodes), ("features", features)):
            arrays.require_no_table(value, name)
            self._require_no_labels(value, name)
        are_names = hasattr(self, "store_") and self.store_.info().ids_are == "names"
        ends = None if edges is None else graphs.pairs_of(edges, numbers, are_names, count)
        gone = arrays.node_ids(nodes, "nodes", numbers, are_names, count)
        without = arrays.node_ids(features, "features", numbers, are_names, count)
        store = self._fitted()
        info = store.info()
        for name, asked in (("edges", ends), ("features", without), ("nodes", gone)):
            if asked is not None and np.any(outside := (asked < 0) | (asked >= info.nodes)):
                raise UsageError(f"{name}: no node has the number {asked[outside][0]}; numbers are 0 to {info.nodes - 1}. "
                                 "Nothing was forgotten", [name])

        def word(node: Any) -> Any:
            return int(node) if info.named is None else f"#{node}"

        requests: list[tuple[Any, ...]] = [("edge", word(u), word(v)) for u, v in ([] if ends is None else ends)]
        requests += [("feature", word(node)) for node in ([] if without is None else without)]
        requests += [("node", word(node)) for node in ([] if gone is None else gone)]
        with store.stream(self.solver) as stream:
            outcome = stream.send(requests)
        # From here on it is durable: what is told waits until all of it has followed, also where warnings are errors.
        self._has_forgotten = True
        if gone is not None:
            self.forgotten_ = np.union1d(self.forgotten_, np.asarray(gone))
        if gone is not None or without is not None:
            self._rows = None  # the rows of the fit are not those of the store any more
        told: list[Any] = []
        try:
            if purge:
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    store.purge()
                    if all(one.name != self.solver for one in store.info().models):  # its certificate rested on what is erased
                        self.report_ = self._train(store, self.weights if isinstance(self.weights, str) and self._places != "rows" else None)
                        outcome = Record({**outcome, **{name: self.report_[name] for name in ("certified", "claim")}})
        finally:
            self._take_weights()
        if outcome.rejected:
            warnings.warn(f"{outcome.rejected} of {outcome.requests} things to forget were not there and changed nothing; the record that is returned has "
                          "their statuses", RemarkWarning, stacklevel=2)
        for one in told:
            warnings.warn(one.message, one.category, stacklevel=2)
        return outcome

    def _require_no_labels(self, nodes: Any, name: str) -> None:
        """A UsageError for what may be labels of the rows of the fit, and is read as numbers of rows, or as a mask in their order."""
        if nodes is None or isinstance(nodes, NodeNumbers) or arrays.is_path(nodes) or arrays.columns_of(nodes) is not None:
            return
        of, saw_index = getattr(self, "_index_of", None), getattr(self, "_saw_index", True)
        table, where = of or "X", "," if of else ", where X is the table that the arrays are of,"
        if name == "X":
            table, where = "T", f", where T is the {of or 'table'} of the fit,"
        if getattr(nodes, "dtype", None) == bool or np.asarray(nodes).dtype.kind == "b":
            if not hasattr(nodes, "iloc") or (of is None and saw_index) or (row_order.is_default(nodes.index) and not getattr(self, "_has_moved", False)):
                return
            had = "another one than 0, 1, 2, .." if of else "none"
            raise UsageError(f"{name}: a mask with an index, and the rows of the fit had {had}, so that it may say whose its rows are, or they may stand in the "
                             f"order of the fit; give {name}.reindex({table}.index, fill_value=False).to_numpy() by the "
                             f"index{where} or {name}.to_numpy() where the rows are right", [name])
        if of is not None:
            raise UsageError(f"{name}: the rows of the fit had an index other than 0, 1, 2, .., so that these may be its labels, or "
                             f"numbers of rows; give unweave.NodeNumbers({table}.index.get_indexer({name})) for labels of the {of} of the fit{where} or "
                             f"unweave.NodeNumbers({name}) for rows", [name])
        if hasattr(nodes, "get_indexer") and not saw_index and not row_order.is_default(nodes):
            raise UsageError(f"{name}: an index of pandas, and the fit saw arrays, which have none, so that these may be labels, or "
                             f"numbers of rows; give {table}.index.get_indexer({name}) for labels{where} "
                             f"or {name}.to_numpy() for rows", [name])

    def _beside(self, rows: Any, name: str, X: Any, y: Any) -> Any:
        """Numbers or a mask of the samples, without an index, which must be that of X, or of y where X has none."""
        if not hasattr(rows, "iloc") or getattr(rows, "dtype", None) != bool:
            self._require_no_labels(rows, name)
            return rows
        of, index = next(((one, value.index) for one, value in (("X", X), ("y", y)) if hasattr(value, "iloc")), ("X", None))
        has_all = index is not None and bool(index.isin(rows.index).all())
        if (index is not None and rows.index.equals(index)) or (row_order.is_default(rows.index) and not has_all):
            return rows.to_numpy()
        by_index = f"{name}.loc[{of}.index].to_numpy(), or " if has_all and rows.index.is_unique else ""
        raise UsageError(f"{name}: its index is not that of {of}, and row i of both belongs together here; give {by_index}{name}.to_numpy() where the rows "
                         "are right", [name])

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        folder = state.pop("_folder", None)
        if state.get("_has_forgotten") and any(state[name] is not None for name in ("graph", "features", "ids")):
            state["graph"] = state["features"] = state["ids"] = None
            state["_left_out"] = True
        if folder is not None:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(folder.name, arcname=".")
            state["_packed"] = packed.getvalue()
            del state["store_"]
        elif "store_" in state:
            state["_release"] = self._release()
        return state

    def _release(self) -> str | None:
        """The id of the newest release of the model; None where the store has none any more."""
        return next((one.id for one in self.store_.info().models if one.solver == self.solver and one.name == self.solver), None)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        packed, release = state.pop("_packed", None), state.pop("_release", None)
        folder = None
        if packed is not None:
            folder = tempfile.TemporaryDirectory(prefix="unweave-")
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(folder.name)  # noqa: S202  a pickle is trusted altogether or not at all
            state["store_"] = Store(pathlib.Path(folder.name) / "store", memory=state["memory"], threads=state["threads"], progress=False)
        super().__setstate__(state)
        if hasattr(self, "store_"):
            self._folder = self.store_._folder = folder
            if packed is None and self._release() != release:
                self._take_weights()
                warnings.warn("the store has gone on since this estimator was pickled: coef_ and intercept_ are those of the store's present model, and "
                              "forgotten_ does not have what was forgotten meanwhile", RemarkWarning, stacklevel=2)


def _has_class(y: Any) -> np.ndarray:
    """Whether each of these classes is one, where -1, None and NaN stand for none."""
    texts = texts_of(y, "y", missing=True)
    if texts is not None:
        return np.array([text is not None for text in texts])
    values = arrays.array_of(y, "y")
    if values.ndim > 1 and values.shape[1] != 1:
        raise UsageError(f"y: an array of shape {values.shape}, where one class a row is wanted; give numpy.argmax(y, axis=1) where each column is a class",
                         ["y"])
    values = values.reshape(-1)
    return ~np.isnan(values) & (values != -1) if values.dtype.kind == "f" else values != -1 if values.dtype.kind == "i" else np.ones(len(values), bool)


def _may_name_a_class(text: str) -> bool:
    """Whether a store takes it (storage/types/class_names.h); other classes have numbers there."""
    return (text not in ("", "-1", "nan", "NaN", "none") and text.isprintable() and text.strip() == text and len(text.encode()) <= 255 and
            not is_digits(text.lstrip("-")))


def _column(X: Any) -> Any:
    """The elements of a column, as scikit-learn has it, or of what has one dimension."""
    if hasattr(X, "iloc") and getattr(X, "dtype", None) != bool:  # a list of nodes has no rows, and a mask has
        X = X.to_numpy()
    if isinstance(X, list) and X and isinstance(X[0], (list, tuple)):
        X = np.array(X, dtype=object if any(isinstance(one, str) for row in X for one in row) else None)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        return X.reshape(-1)
    if isinstance(X, np.ndarray) and X.ndim != 1:
        raise UsageError(f"X: an array of shape {X.shape}, where a column of nodes is wanted: the estimator has features, the rows of all nodes", ["X", "features"])
    return X


def _require_one_order(X: Any, y: Any, name: str = "y") -> None:
    """A UsageError for classes, or weights of samples, whose index has the nodes of X, or the rows of X, in another order."""
    if not hasattr(y, "iloc") or getattr(y.index, "nlevels", 1) != 1:
        return
    row_order.require_one_order(**{"X": X, name: y})
    nodes = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    nodes = nodes.reshape(-1) if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
    chosen = "X"
    if nodes.dtype.kind == "b" and nodes.ndim == 1:
        chosen = "X.index[X]" if hasattr(X, "iloc") else "numpy.flatnonzero(X)"
        nodes = np.asarray(X.index)[nodes] if hasattr(X, "iloc") else np.flatnonzero(nodes)
    index = y.index.to_numpy()
    if nodes.shape == index.shape and y.index.is_unique and set(nodes.tolist()) == set(index.tolist()) and nodes.tolist() != index.tolist():
        raise UsageError(f"{name}: its index has the nodes of X in another order, and row i of both belongs together here; give {name}.loc[{chosen}], or "
                         f"{name}.to_numpy() where the rows are right", [name])


def _may_be_a_row(X: Any, features: int) -> bool:
    """Whether as many integers as a row has may be one, and numbers of rows as well."""
    array = None if isinstance(X, (str, bytes)) or hasattr(X, "tocsr") else np.asarray(X)
    return array is not None and array.ndim == 1 and array.dtype.kind in "iu" and array.size == features


def _are_nodes(X: Any) -> bool:
    """Whether these are numbers, names or a mask of nodes, and not rows."""
    if isinstance(X, (str, bytes)):
        return True  # which says what is wrong
    if hasattr(X, "tocsr"):
        return False
    array = np.asarray(X)
    return array.ndim == 1 and (array.dtype.kind in "iub" or array.size == 0 or texts_of(X, "X") is not None)


def _digest(rows: Any) -> bytes | None:
    """Tells rows apart; None for those of a file."""
    if arrays.is_path(rows) or not (hasattr(rows, "dtype") or hasattr(rows, "tocsr")):
        return None
    digest = hashlib.blake2b(digest_size=16)
    for part in (rows.indptr, rows.indices, rows.data) if hasattr(rows, "indptr") else (rows,):
        digest.update(f"{part.dtype} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()
