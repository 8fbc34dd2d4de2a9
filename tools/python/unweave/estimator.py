"""An estimator in the manner of scikit-learn, whose models forget."""
from __future__ import annotations

import inspect
import pathlib
import tempfile
from typing import Any, Sequence

import numpy as np

from . import arrays
from .errors import UsageError
from .records import Record
from .store import Store, import_store

__all__ = ["ForgettingClassifier"]


class ForgettingClassifier:
    """A linear classifier over propagated features: fit, predict, forget.

        model = ForgettingClassifier(hops=2).fit(X, y, graph=edge_index, train=train_mask)
        model.predict(nodes)
        model.forget(nodes=[12], edges=[(4, 7)])     # the weights are those of training anew without them

    ``store``: the folder of the store; a temporary one by default, which goes with the estimator. Other parameters are those of
    :meth:`unweave.Store.propagate` and :meth:`unweave.Store.train`. Rows of X are nodes: predict() takes their numbers.
    """

    _estimator_type = "classifier"

    def __init__(self, *, hops: int = 2, weights: Sequence[float] | None = None, scheme: str | None = None, solver: str = "exact",
                 head: str | None = None, lam: float | str | None = None, epsilon: float | None = None, delta: float | None = None,
                 store: Any = None, memory: int | str | None = None, threads: int = 0, max_weight: int | None = None,
                 ignore_weights: bool = False) -> None:
        self.hops = hops
        self.weights = weights
        self.scheme = scheme
        self.solver = solver
        self.head = head
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.store = store
        self.memory = memory
        self.threads = threads
        self.max_weight = max_weight
        self.ignore_weights = ignore_weights

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As scikit-learn's clone() and searches read it."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> ForgettingClassifier:
        for name, value in params.items():
            if name not in self._names():
                raise UsageError(f"there is no parameter {name!r}; there are {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"ForgettingClassifier({', '.join(given)})"

    def fit(self, X: Any, y: Any, *, graph: Any = None, train: Any = None, valid: Any = None, test: Any = None) -> ForgettingClassifier:
        """Builds the store, propagates and trains. ``y``: classes 0, 1, .., with -1 or NaN for none. ``train``: the training nodes; all
        with a class by default. Without a graph the rows are learnt as they are."""
        labels = arrays.array_of(y, "y")
        if train is None:
            train = labels >= 0
        self._folder = None if self.store is not None else tempfile.TemporaryDirectory(prefix="unweave-")
        path = pathlib.Path(self.store if self._folder is None else self._folder.name) / ("" if self._folder is None else "store")
        self.store_: Store = import_store(path, graph, X, labels, train=train, valid=valid, test=test, memory=self.memory,
                                          threads=self.threads, progress=False, max_weight=self.max_weight, ignore_weights=self.ignore_weights)
        self.store_.propagate(self.hops if graph is not None else 0, weights=self.weights if graph is not None else None,
                              scheme=self.scheme if graph is not None else None, rows="all")
        self.report_: Record = self.store_.train(self.solver, head=self.head, lam=self.lam, epsilon=self.epsilon, delta=self.delta)
        self.classes_ = np.arange(self.store_.info().classes)
        return self

    def _fitted(self) -> Store:
        if not hasattr(self, "store_"):
            raise UsageError("call fit() first")
        return self.store_

    def predict(self, nodes: Any = None) -> np.ndarray:
        """Classes of nodes, ids or a mask; of all by default."""
        return self._fitted().predict(nodes)

    def predict_proba(self, nodes: Any = None) -> np.ndarray:
        return self._fitted().predict_proba(nodes)

    def decision_function(self, nodes: Any = None) -> np.ndarray:
        return self._fitted().scores(nodes)

    def score(self, nodes: Any, y: Any) -> float:
        """The share of right predictions."""
        return float(np.mean(self.predict(nodes) == arrays.array_of(y, "y")))

    def forget(self, *, nodes: Any = None, edges: Any = None, features: Any = None, purge: bool = False) -> Record:
        """Removes nodes, edges and features of nodes in one batch, and lets the model forget them. ``purge`` erases them from the
        files, too. Returns what became of the batch; ``model`` is what the release claims."""
        requests: list[tuple[Any, ...]] = []
        if edges is not None:
            requests += [("edge", int(u), int(v)) for u, v in arrays.pairs_of(edges)]
        requests += [("feature", int(node)) for node in _list(features)] + [("node", int(node)) for node in _list(nodes)]
        with self._fitted().stream(self.solver) as stream:
            outcome = stream.send(requests)
        if purge:
            self.store_.purge()
        return outcome

    def coef(self) -> tuple[np.ndarray, np.ndarray]:
        """Published weights [classes, features] and intercepts [classes], as scikit-learn's coef_ and intercept_."""
        with tempfile.TemporaryDirectory() as folder:
            with np.load(self._fitted().export_model(pathlib.Path(folder) / "model.npz", solver=self.solver)) as file:
                return file["coef_"], file["intercept_"]


def _list(nodes: Any) -> list[int]:
    ids = arrays.node_ids(nodes)
    return [] if ids is None else ids.tolist()
