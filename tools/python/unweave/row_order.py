"""The rows of pandas, whose index may say that they stand in another order than they are read in."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .errors import UsageError
from .names import NameTable

__all__ = ["index_of", "is_default", "require_nodes_as_values", "require_one_order", "require_order", "require_unmoved"]

#: What pandas and people call a Series of how often its index occurs.
_COUNTS = ("count", "counts", "size", "n", "freq", "frequency")


def require_order(value: Any, name: str, table: NameTable | None = None, count: int | None = None) -> None:
    """Row i is that of node i, whatever pandas calls it: a UsageError for a Series or a DataFrame whose index is neither 0, 1, 2, .. nor,
    with ``table``, the names of the nodes in their order, or that of a Series of these. ``count``: of the nodes of a store, where there is
    one already."""
    if not hasattr(value, "iloc") or is_default(value.index):
        return
    if table is not None and table.index is not None and value.index.equals(table.index):
        return
    index = index_of(value)
    places = np.full(len(value.index), -1) if table is None or index is None else table.places(index.tolist())
    named = places >= 0
    if table is not None and len(table) > 0 and np.count_nonzero(named) == len(np.unique(places[named])) == len(table):
        if np.array_equal(places[named], np.flatnonzero(named)):
            return
        what, remedies = "has the names of the nodes in another order than ids", [f"{name}.loc[ids]"] if table.are_all_named else []
    elif index is not None and index.dtype.kind in "iuf" and _counts(np.sort(index)):
        if _counts(index):
            return
        what, remedies = "numbers the rows in another order than they stand in", [f"{name}.sort_index()"]
    elif named.any() and not named.all():
        what, remedies = f"has {value.index[int(np.argmin(named))]!r}, which is no name in ids", []
    else:
        place = 0 if index is None or index.dtype.kind not in "iuf" else int(np.argmax(index != np.arange(len(index))))
        what = f"has {value.index[place]!r} for row {place}"
        remedies = _other_readings(value, name, index, count, table is None and count is None)
    remedies.append(f"{name}.reset_index(drop=True) where the rows are right")
    raise UsageError(f"{name}: its index {what}, and row i is taken for that of node i; give {', or '.join(remedies)}", [name])


def _other_readings(value: Any, name: str, index: np.ndarray | None, count: int | None, may_have_names: bool) -> list[str]:
    """What to give where an index of numbers or texts has the nodes of the rows."""
    if index is None or not value.index.is_unique:
        return []
    readings = []
    if index.dtype.kind in "iu" and index.min() >= 0:
        fill = ", fill_value=False" if getattr(value, "dtype", None) == bool else "" if name in ("labels", "y") else ", fill_value=0"
        nodes = "N" if count is None else str(count)
        readings.append(f"{name}.reindex(range({nodes}){fill}) where it has the numbers of the {nodes} nodes")
    if may_have_names and index.dtype.kind != "f":
        readings.append(f"ids=list({name}.index) where it has the names of the nodes")
    return readings


def require_nodes_as_values(value: Any, name: str, may_be_nodes: Callable[[np.ndarray], bool]) -> None:
    """A UsageError for a Series where nodes are wanted, whose index may have them, and its values count something, as those of value_counts()
    do. An index that rows have by default, or where some rows of a table were chosen, is none. ``may_be_nodes``: whether all of these
    numbers or texts may be nodes."""
    if not hasattr(value, "iloc") or hasattr(value, "columns") or len(value) == 0 or type(value.index).__name__ == "RangeIndex":
        return
    index, is_called = value.index, any(one is not None for one in value.index.names)
    elements, are_counts = index_of(value), isinstance(value.name, str) and value.name.strip().lower() in _COUNTS
    if elements is None or value.tolist() == elements.tolist() or not may_be_nodes(elements):
        if are_counts and not is_default(index):
            raise UsageError(f"{name}: a Series that is called {value.name!r}, as how often something occurs; give {name}.to_numpy() where its values are "
                             "the nodes", [name])
        return
    if elements.dtype.kind in "iuf" and not (are_counts or is_called):
        # Chosen rows of a table keep their order; those of counts may have it, too, and repeat from the largest on.
        values = np.asarray(value)
        repeat = values.dtype.kind in "iu" and len(set(values.tolist())) < len(values) and index.is_unique and bool(np.all(values[1:] <= values[:-1]))
        if np.all(elements[1:] > elements[:-1]) and not repeat:
            return
    whole = ".astype(int)" if elements.dtype.kind == "f" else ""
    raise UsageError(f"{name}: a Series whose index may have the nodes, and its values count something, or the other way round; give "
                     f"list({name}.index{whole}) where the index has them, or {name}.to_numpy() where the values are the nodes", [name])


def require_unmoved(value: Any, name: str) -> None:
    """A UsageError for a Series of what is no row of a node, as a weight, whose index numbers its rows in another order than theirs."""
    index = index_of(value) if hasattr(value, "iloc") else None
    if index is not None and index.dtype.kind in "iuf" and not _counts(index) and _counts(np.sort(index)):
        require_order(value, name)


def require_one_order(**values: Any) -> None:
    """A UsageError for two Series or DataFrames, by the names of their arguments, whose indexes have the same rows in another order."""
    tables = {name: value.index for name, value in values.items() if hasattr(value, "iloc") and getattr(value.index, "nlevels", 1) == 1}
    for name, index in tables.items():
        for other, others in tables.items():
            if other == name:
                break
            if len(index) == len(others) and index.is_unique and not index.equals(others) and index.dtype == others.dtype and index.isin(others).all():
                raise UsageError(f"{name}: its index has the rows of {other} in another order, and row i of both belongs together here; give "
                                 f"{name}.loc[{other}.index], or {name}.to_numpy() where the rows are right", [name.partition("[")[0]])


def _counts(index: np.ndarray) -> bool:
    return np.array_equal(index, np.arange(len(index)))


def is_default(index: Any) -> bool:
    """Whether it is the index that rows have where nobody gave them one."""
    return type(index).__name__ == "RangeIndex" and (len(index) == 0 or (index.start == 0 and index.step == 1))


def index_of(value: Any) -> np.ndarray | None:
    """The numbers or texts of an index of pandas; None for the one that rows have where nobody gave them one, and for several levels, dates and
    the like."""
    index = value.index
    if is_default(index) or getattr(index, "nlevels", 1) != 1:
        return None
    array = np.asarray(index.to_numpy() if hasattr(index, "to_numpy") else index)
    if array.dtype.kind == "O" and all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in array):
        array = np.array(array.tolist())  # integers that may be missing, and are not
    return array if array.dtype.kind in "iufOUS" else None
