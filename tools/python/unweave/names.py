"""Names in the places of numbers: texts in arrays, tables and lists, of nodes and of classes."""
from __future__ import annotations

import collections.abc
import contextlib
import os
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np

from .column_names import ends_among
from .errors import Error, UsageError

__all__ = ["NameTable", "NodeNumbers", "Numbers", "class_codes", "class_names_of", "is_missing", "missing_as_text", "nodes_called",
           "require_listed", "require_no_texts", "texts_of", "told_as"]

#: Numbers of nodes by their names; a UsageError for a name that no node has.
Numbers = Callable[[Sequence[str]], np.ndarray]


def is_missing(value: Any) -> bool:
    """Whether it stands for a value that there is not: None, NaN, and pandas' and NumPy's own."""
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def _elements(value: Any) -> list[Any] | None:
    """The elements of what may hold texts, one dimension; None for arrays of numbers and all else."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return None
    if isinstance(value, np.ndarray):
        return value.tolist() if value.ndim == 1 and value.dtype.kind in "OUST" else None
    if hasattr(value, "to_pylist"):  # pyarrow's arrays
        return value.to_pylist() if any(word in str(getattr(value, "type", "")) for word in ("string", "utf8", "dictionary", "binary")) else None
    if hasattr(value, "to_numpy"):
        return _elements(np.asarray(value.to_numpy()))
    if isinstance(value, (list, tuple)):
        return list(value)
    return None


@contextlib.contextmanager
def told_as(name: str, value: Any) -> Iterator[None]:
    """What an object of another package raises while its elements are asked for, as a UsageError that names the argument."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:
        raise UsageError(f"{name}: {type(value).__name__} gives no elements: {type(error).__name__}: {error}", [name]) from error


def require_listed(value: Any, name: str) -> None:
    """A UsageError for what has no order, or is read once alone: sets, dicts, generators and the like, of which NumPy makes one element."""
    if isinstance(value, (set, frozenset)):
        is_row_by_row = name in ("labels", "features", "ids", "X", "y")
        remedy = "one for each node" if is_row_by_row else f"as sorted({name})"
        raise UsageError(f"{name}: a set, which has no order; give a list, {remedy}", [name])
    if isinstance(value, collections.abc.Mapping):
        remedy = _edges_in(value, name) if name in ("graph", "edges") else _elements_in(value, name)
        raise UsageError(f"{name}: a {type(value).__name__}, where a list is wanted; give {remedy}", [name])
    if isinstance(value, collections.abc.MappingView) or (isinstance(value, collections.abc.Iterator) and not hasattr(value, "__array__")):
        raise UsageError(f"{name}: a {type(value).__name__}, where a list is wanted; give list({name})", [name])


def _edges_in(value: collections.abc.Mapping[Any, Any], name: str) -> str:
    """What gives the edges that a dict has: in two lists, as links of JSON, as its keys, or by the neighbours of its keys."""
    if (ends := ends_among(list(value))) is not None:
        return f"({name}[{ends[0]!r}], {name}[{ends[1]!r}])"
    links = next((one for one in ("links", "edges") if one in value), None)
    if "nodes" in value and links is not None:
        ids = [node.get("id") if isinstance(node, dict) else None for node in value["nodes"]]
        if set(ids) == set(range(len(ids))):
            return f"[(link['source'], link['target']) for link in {name}[{links!r}]], with nodes={len(ids)}"
        return (f"[(str(link['source']), str(link['target'])) for link in {name}[{links!r}]], with ids=[str(node['id']) for node in "
                f"{name}['nodes']]")
    if isinstance(next(iter(value), None), tuple):
        return f"list({name}) for its keys, or list({name}.values())"
    return f"[(u, v) for u in {name} for v in {name}[u]]"


def _elements_in(value: collections.abc.Mapping[Any, Any], name: str) -> str:
    """What gives the elements of a dict in the order of the nodes that are its keys: its own order is that in which they came."""
    keys, elements = list(value), list(value.values())
    are_labels = name in ("labels", "y")
    if not are_labels and name not in ("features", "X", "sample_weight"):
        are_flags = bool(elements) and all(isinstance(one, (bool, np.bool_)) for one in elements)
        return f"[node for node in {name} if {name}[node]]" if are_flags else f"list({name}) for its keys, or list({name}.values())"
    has_columns = all(isinstance(one, str) for one in keys) and all(hasattr(one, "__len__") and not isinstance(one, str) for one in elements)
    if are_labels and has_columns and keys:
        return f"{name}[{keys[0]!r}]"
    are_numbers = bool(keys) and all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in keys)
    if are_numbers and sorted(keys) == list(range(len(keys))):
        return f"[{name}[node] for node in sorted({name})]"
    none = ", -1" if not any(isinstance(one, str) for one in elements) else ""
    element = f"{name}.get(node{none})" if are_labels else f"{name}[node]"
    remedy = f"[{element} for node in range(N)] of N nodes" if are_numbers else f"[{element} for node in ids], where ids has the names of all nodes"
    return remedy + (f", or numpy.column_stack(list({name}.values())) where its keys are columns" if has_columns and keys else "")


def texts_of(value: Any, name: str, *, missing: bool = False) -> list[str | None] | None:
    """The texts of a list, an array or a column of texts; None for what has none. ``missing``: None and NaN may stand among them, and
    come as None. Texts and numbers beside each other are a UsageError, since nobody can tell whether the numbers are names."""
    with told_as(name, value):
        elements = _elements(value)
    if not elements or not any(isinstance(one, (str, bytes)) for one in elements):
        return None
    texts: list[str | None] = []
    for place, one in enumerate(elements):
        if isinstance(one, bytes):
            one = one.decode()
        if isinstance(one, str):
            texts.append(str(one))
        elif missing and is_missing(one):
            texts.append(None)
        else:
            raise UsageError(f"{name}: element {place} is {one!r} among texts; give names alone, or numbers alone", [name])
    return texts


class NodeNumbers(np.ndarray):
    """Numbers of nodes, as a store gives them. They stay numbers where they are given back, also in a store in which integers are names.
    Other packages make plain integers of them: ``unweave.NodeNumbers(numbers)`` says again that these are numbers.

    ``numbers``: integers, in a list, an array or a Series.
    """

    def __new__(cls, numbers: Any) -> NodeNumbers:
        require_listed(numbers, "numbers")
        array = np.asarray(numbers)
        if array.size and array.dtype.kind not in "iu":
            raise UsageError(f"numbers: elements of type {array.dtype}, where numbers of nodes are wanted", ["numbers"])
        return array.astype(np.int64).view(cls)


def _remedies(name: str) -> tuple[str, str]:
    """What gives a list of integers as names of nodes, and what as their numbers."""
    as_list = "numpy.asarray(X).astype(str)" if name == "X" else f"[str(node) for node in {name}]"  # X may be a column
    return as_list, f"unweave.NodeNumbers({name})"


def require_no_texts(array: np.ndarray, name: str, numbers: Numbers, count: Callable[[], int], remedies: tuple[str, str] | None = None) -> None:
    """A UsageError for integers of which one is no number of a node, and is the name of one as a text. ``count``, ``remedies``: as
    :func:`nodes_called` has them."""
    nodes = count() if array.size else 0
    outside = array[(array < 0) | (array >= nodes)]
    if not outside.size:
        return
    try:
        numbers([str(outside[0])])
    except UsageError:
        return  # no name either, which is told elsewhere
    raise UsageError(f"{name}: no node has the number {outside[0]}; numbers are 0 to {nodes - 1}, and names are texts here, of which \"{outside[0]}\" is "
                     f"one; give {(remedies or _remedies(name))[0]} for names", [name])


def nodes_called(array: np.ndarray, name: str, numbers: Numbers, count: Callable[[], int] | None = None,
                 among: np.ndarray | None = None, remedies: tuple[str, str] | None = None) -> np.ndarray:
    """The numbers of nodes whose names are these integers, in the array's shape. ``count``: of the nodes; then integers that may be numbers
    of other nodes as well are a UsageError. Without it somebody has declared that they are names. ``among``: integers that they are some
    of, which say more of what they may be. ``remedies``: what gives what the user gave as names, and as numbers; by default that of a list."""
    values, whole = array.reshape(-1), array if among is None else among
    nodes = count() if count is not None and array.size else 0
    may_be_numbers = nodes > 0 and int(whole.min()) >= 0 and int(whole.max()) < nodes
    as_names, as_numbers = remedies or _remedies(name)
    try:
        found = np.asarray(numbers([str(value) for value in values.tolist()]), np.int64)
    except UsageError as error:
        if not may_be_numbers:
            raise
        raise UsageError(f"{name}: {error}; integers are names in this store, and where these are numbers of nodes, give "
                         f"{as_numbers}", [name]) from None
    if may_be_numbers and not np.array_equal(found, values):
        value = values[int(np.argmax(found != values))]
        raise UsageError(f"{name}: {value} may be the name of a node, or the number of another one: all of these integers are names, "
                         f"and all are numbers of nodes, 0 to {nodes - 1}; give {as_names} for names, or {as_numbers} for numbers",
                         [name])
    return found.reshape(array.shape)


class NameTable:
    """The numbers of nodes by the names that an import gives them. ``index``: that of the names, where pandas has them."""

    def __init__(self, names: Sequence[Any], index: Any = None) -> None:
        self._numbers = {str(name): number for number, name in enumerate(names) if name is not None and name != ""}
        self.index = index
        self.are_all_named = len(self._numbers) == len(names)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def has_integers(self) -> bool:
        """Whether a name is a whole number."""
        return any(name.isascii() and name.isdigit() for name in self._numbers)

    def places(self, words: Iterable[Any]) -> np.ndarray:
        """The numbers of the nodes that have these names; -1 where none has."""
        return np.array([self._numbers.get(str(word), -1) for word in words], np.int64)

    def of_numbers(self, array: np.ndarray, name: str) -> np.ndarray:
        """The numbers of nodes whose names are these integers, in the array's shape."""
        values, places = np.unique(array, return_inverse=True)
        return self([str(value) for value in values.tolist()], name)[places].reshape(array.shape)

    def __call__(self, words: Sequence[str], name: str = "names") -> np.ndarray:
        found = np.fromiter((self._numbers.get(word, -1) for word in words), np.int64, len(words))
        if len(found) and int(found.min()) < 0:
            place = int(np.argmax(found < 0))
            raise UsageError(f"{name}: element {place}: no node has the name {words[place]!r}; ids has the names of all nodes", [name, "ids"])
        return found


def class_names_of(classes: Any) -> list[str]:
    """Names of classes as a list of texts, in the order of their numbers."""
    require_listed(classes, "classes")
    names = texts_of(classes, "classes")
    if not names or any(name is None for name in names):
        raise UsageError(f"classes: {classes!r} is neither a number nor a list of names", ["classes"])
    return [str(name) for name in names]


# What str() makes of missing values, and what files have for them.
MISSING_AS_TEXT = ("None", "nan", "NaN", "<NA>", "NaT", "NA", "N/A", "null", "NULL")


def missing_as_text(names: Iterable[Any]) -> str | None:
    """The first of these names of classes that may be what a missing value has become as a text; None where none is such."""
    return next((one for one in names if isinstance(one, str) and one in MISSING_AS_TEXT), None)


def class_codes(texts: Sequence[str | None], names: Sequence[str] | None, name: str = "labels") -> tuple[np.ndarray, list[str]]:
    """Numbers of classes by their names, -1 for a missing one, and all names: those that are given, else those that occur, sorted."""
    if names is None:
        names = sorted({text for text in texts if text})
        lost = missing_as_text(names)
        if lost is not None:
            raise UsageError(f"{name}: element {list(texts).index(lost)}: the text {lost!r} may be the name of a class, or what a missing value has become "
                             f"as a text; give None for nodes without a class, or say by classes=[...] that it is one", [name, "classes"])
    numbers = {one: number for number, one in enumerate(names)}
    codes = np.full(len(texts), -1, np.int64)
    for place, text in enumerate(texts):
        if not text:
            continue
        if text not in numbers:
            raise UsageError(f"{name}: element {place}: {text!r} is none of the classes {', '.join(map(repr, names[:10]))}"
                             f"{', ..' if len(names) > 10 else ''}; correct it, or add it to classes", [name, "classes"])
        codes[place] = numbers[text]
    return codes, list(names)
