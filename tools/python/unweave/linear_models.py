"""Linear models of other programs, as files that ``certify`` reads (storage/input/linear_model.h)."""
from __future__ import annotations

import pathlib
from typing import Any, Callable

import numpy as np

from . import arrays
from .errors import UsageError
from .names import class_codes, texts_of

__all__ = ["linear_model_files"]


def _numbers(value: Any, name: str) -> np.ndarray:
    array = arrays.array_of(value.toarray() if hasattr(value, "toarray") else value, name)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _classes(model: Any, class_names: Callable[[], list[str] | None]) -> np.ndarray:
    """The number of the class of each row of a model, int64."""
    classes = np.asarray(model.classes_)
    if (texts := texts_of(model.classes_, "weights")) is not None:
        names = class_names()
        if names is None:
            raise UsageError(f"weights: the classes of {type(model).__name__} are names, {classes.tolist()[:3]} .., and those of the store numbers; "
                             "train it on Store.labels()", ["weights"])
        return class_codes(texts, names, "weights")[0]
    if classes.dtype.kind not in "biuf" or not np.array_equal(classes, classes.astype(np.int64)):
        raise UsageError(f"weights: the classes of {type(model).__name__} are {classes.tolist()[:3]} .., where the store's are wanted, "
                         "integers from 0; train it on Store.labels()", ["weights"])
    return classes.astype(np.int64)


def linear_model_files(weights: Any, intercepts: Any, folder: pathlib.Path,
                       class_names: Callable[[], list[str] | None] = lambda: None) -> tuple[pathlib.Path, pathlib.Path | None]:
    """The file of the weights and, where it lies beside them, that of the intercepts; what is no path yet is written to ``folder``."""
    if arrays.is_path(weights):
        if intercepts is None or arrays.is_path(intercepts):
            return pathlib.Path(weights), None if intercepts is None else pathlib.Path(intercepts)
        beside = folder / "intercepts.npy"
        np.save(beside, _numbers(intercepts, "intercepts"))
        return pathlib.Path(weights), beside
    if arrays.is_path(intercepts):
        raise UsageError("intercepts: a path belongs beside a path of weights; load it with numpy.load()", ["intercepts"])
    members: dict[str, np.ndarray] = {}
    for coefficients, bias in (("coef_", "intercept_"), ("weight", "bias")):
        if getattr(weights, coefficients, None) is None:
            continue
        if intercepts is not None:
            raise UsageError(f"intercepts: {type(weights).__name__} has its own in {bias}", ["intercepts"])
        members[coefficients] = np.atleast_2d(_numbers(getattr(weights, coefficients), "weights"))
        if getattr(weights, bias, None) is not None:
            members[bias] = np.atleast_1d(_numbers(getattr(weights, bias), "intercepts"))
        if coefficients == "coef_" and hasattr(weights, "classes_"):
            classes = members["classes_"] = _classes(weights, class_names)
            if len(members["coef_"]) == 1 and classes.tolist() == [1, 0]:  # one row speaks for the second class, and a file's for class 1
                members = {name: -values for name, values in members.items() if name != "classes_"} | {"classes_": classes[::-1]}
        break
    if not members and not hasattr(weights, "__array__") and not hasattr(weights, "__dlpack__") and not isinstance(weights, (list, tuple)):
        raise UsageError(f"weights: {type(weights).__name__} is no fitted linear model: it has neither coef_ nor weight", ["weights"])
    if not members:
        array = _numbers(weights, "weights")
        if intercepts is None:
            np.save(folder / "weights.npy", array)
            return folder / "weights.npy", None
        members = {"coef": np.atleast_2d(array), "intercept": np.atleast_1d(_numbers(intercepts, "intercepts"))}
    np.savez(folder / "weights.npz", **members)
    return folder / "weights.npz", None
