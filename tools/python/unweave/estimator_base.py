"""What an estimator takes from scikit-learn where it is installed, and stand-ins of the same names where it is not."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import errors

__all__ = ["BaseEstimator", "ClassifierMixin", "HAS_SKLEARN", "NotFittedError", "checked_rows", "checked_rows_and_classes"]

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import NotFittedError as _NotFittedError
    from sklearn.utils.multiclass import check_classification_targets

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

if HAS_SKLEARN:
    try:
        from sklearn.utils.validation import validate_data as _validate_data  # from 1.6 on
    except ImportError:

        def _validate_data(estimator: Any, *arguments: Any, **options: Any) -> Any:
            return estimator._validate_data(*arguments, **options)

    class NotFittedError(errors.NotFittedError, _NotFittedError):
        """An estimator that was not fitted yet."""

    _HOW = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}

    def checked_rows(estimator: Any, rows: Any, *, reset: bool) -> Any:
        """Rows of features as scikit-learn checks them. ``reset``: those of a fit, which tell how many columns there are."""
        return _validate_data(estimator, rows, reset=reset, **_HOW)

    def checked_rows_and_classes(estimator: Any, rows: Any, classes: Any) -> tuple[Any, np.ndarray]:
        """Rows and the class of each as scikit-learn checks them."""
        rows, classes = _validate_data(estimator, rows, classes, reset=True, **_HOW)
        check_classification_targets(classes)
        return rows, classes

else:

    class NotFittedError(errors.NotFittedError):  # type: ignore[no-redef]
        """An estimator that was not fitted yet."""

    class ClassifierMixin:  # type: ignore[no-redef]
        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            right = self.predict(X) == np.asarray(y)  # type: ignore[attr-defined]
            return float(np.average(right, weights=sample_weight))

    class BaseEstimator:  # type: ignore[no-redef]
        @classmethod
        def _names(cls) -> list[str]:
            return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params: Any) -> Any:
            for name, value in params.items():
                if name not in self._names():
                    raise errors.UsageError(f"there is no parameter {name!r}; there are {', '.join(self._names())}", [name])
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = {name: one.default for name, one in inspect.signature(type(self).__init__).parameters.items()}
            given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
            return f"{type(self).__name__}({', '.join(given)})"

        def __getstate__(self) -> dict[str, Any]:
            return self.__dict__.copy()

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__.update(state)

    def checked_rows(estimator: Any, rows: Any, *, reset: bool) -> Any:
        rows = rows.tocsr() if hasattr(rows, "tocsr") else np.asarray(rows)
        if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
            raise errors.UsageError(f"X: an array of shape {rows.shape}, where rows of features (n, F) are wanted", ["X"])
        values = rows.data if hasattr(rows, "tocsr") else rows
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise errors.UsageError("X: elements that are no finite numbers", ["X"])
        if reset:
            estimator.n_features_in_ = rows.shape[1]
        elif rows.shape[1] != estimator.n_features_in_:
            raise errors.UsageError(f"X: {rows.shape[1]} columns, and {estimator.n_features_in_} when it was fitted", ["X"])
        return rows

    def checked_rows_and_classes(estimator: Any, rows: Any, classes: Any) -> tuple[Any, np.ndarray]:
        rows, classes = checked_rows(estimator, rows, reset=True), np.asarray(classes)
        if classes.shape not in ((rows.shape[0],), (rows.shape[0], 1)):
            raise errors.UsageError(f"y: an array of shape {classes.shape}, where one class of each of {rows.shape[0]} rows is wanted", ["y"])
        if classes.dtype.kind == "f" and (not np.isfinite(classes).all() or (classes != np.floor(classes)).any()):
            raise errors.UsageError("y: numbers with a fraction are no classes", ["y"])
        return rows, classes.reshape(-1)
